"""The figures: lanes with intervals of capabilities, groups and images; and the radar."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final

from overread.benchmarks.exhibits.dot_plot import Lane, Panel, dot_figure, lane_rows
from overread.benchmarks.exhibits.index import Column, Index
from overread.benchmarks.exhibits.radar import radar_figure
from overread.benchmarks.exhibits.style import cast_of, shown
from overread.benchmarks.exhibits.tables import group_sizes, interval_notes, kept_columns
from overread.benchmarks.medcmr.exhibits.columns import (
    ACCURACY,
    COMPONENTS,
    FEW,
    SCORE,
    chance_line,
    groups_of,
    judged_notes,
    spelled,
    worded,
)
from overread.benchmarks.medcmr.exhibits.tables import (
    EXPLAINED,
    FEW_ITEMS,
    GROUPS_SAY,
    IMAGE_NAMES,
    conditions_asked,
)
from overread.case import Figure

_MCQ, _OPEN = "multiple choice: accuracy", "open answers: judged"


# ---------------------------------------------------------------- capabilities side by side

_LANES: Final = "Where is it strong, where weak?"
_JUDGED_TOO: Final = ", and the judged components of open answers"
_JUDGED_WORDS: Final = {"visual": "visual accuracy", "truth": "truth", "score": "all together"}


def profile_figures(index: Index, signature: str) -> Iterator[Figure | None]:
    """Lanes with intervals, then the radar."""
    dimensions = [
        Column(name, "accuracy", (("dimension", name),)) for name in groups_of(index, "dimension")
    ]
    choice, judged = kept_columns(index, dimensions), kept_columns(index, COMPONENTS)
    yield _profile(index, choice, judged, signature)
    yield radar_figure(
        index,
        signature,
        {_MCQ: choice, _OPEN: judged},
        title="Capabilities around a circle",
        says="A radar chart, centre 0 and rim 100:",
        before=(
            "Without intervals. The area depends on the order of the axes and means nothing; "
            f'"{_LANES}" has the same numbers with their intervals.',
            f"{spelled('dimension', [column.heading for column in choice])}.",
        ),
        after=lambda webs: judged_notes(index) if any(w.title == _OPEN for w in webs) else (),
    )


def _profile(
    index: Index, choice: Sequence[Column], judged: Sequence[Column], signature: str
) -> Figure | None:
    head = [Column("all multiple-choice items", "accuracy")] if ACCURACY.stands(index) else []
    tail = [Column("S", SCORE.measure)] if judged else []
    lanes = [Lane(worded(column.heading), column=column) for column in (*choice, *head)]
    for column in (*judged, *tail):
        words = _JUDGED_WORDS.get(column.measure, column.measure)
        lanes.append(Lane(f"open: {words}, {column.heading}", column=column))
    if len(lanes) < 2:
        return None
    cast = cast_of(index, [*choice, *head, *judged, *tail])
    panels = [Panel("all items", axis="0 to 100")]
    return dot_figure(
        "profile",
        _LANES,
        lane_rows(index, lanes, panels, cast),
        panels,
        cast,
        signature,
        says="From 0 to 100:",
        keys=("lane",),
        before=[
            f"Accuracy in multiple-choice items{_JUDGED_TOO if judged else ''}. Where two readers' "
            "intervals overlap far, do not call one the better."
        ],
        after=[
            *(judged_notes(index) if judged else ()),
            *interval_notes(index, "accuracy", "score"),
        ],
    )


# ---------------------------------------------------------------- groups of items

_KINDS: Final = {"accuracy": "multiple-choice", "S": "open"}


def group_lanes(index: Index, key: str, signature: str) -> Figure | None:
    """By modality, or by body system."""
    groups, both = groups_of(index, key), (ACCURACY, SCORE)
    cast, names = cast_of(index, both), shown(groups)
    drawn = [
        column
        for column in both
        if any(column.known(index, r, **{key: group}) for r in cast.names for group in groups)
    ]
    sizes = [group_sizes(index, key, [column]) for column in drawn]
    lanes = [
        Lane(f"{names[group]} ({_counted(group, sizes)})", {key: group}, facts={key: group})
        for group in groups
    ]
    panels = [
        Panel(_MCQ, "percent", line=chance_line(index), column=column)
        if column == ACCURACY
        else Panel("open answers: S", "0 to 100", column=column)
        for column in drawn
    ]
    rows = lane_rows(index, lanes, panels, cast)
    if len({row["lane"] for row in rows}) < 2:
        return None
    said = "body system" if key == "system" else key
    lot = "Dashed: the accuracy of an option drawn by lot."
    kinds = " + ".join(_KINDS[column.heading] for column in drawn)
    return dot_figure(
        f"{key}_lanes",
        f"By {said}, side by side",
        rows,
        panels,
        cast,
        signature,
        says=f"By {said}, from 0 to 100:",
        keys=(key, "measure"),
        before=[
            f"{GROUPS_SAY[key]} In brackets the items, {kinds}; {FEW_ITEMS}",
            *([] if chance_line(index) is None else [lot]),
        ],
        after=[
            *(judged_notes(index) if SCORE in drawn else ()),
            *interval_notes(index, *(column.measure for column in drawn)),
        ],
    )


def _counted(group: str, sizes: Iterable[dict[str, int]]) -> str:
    """How many items a group has in each panel; few are starred."""
    counts = [own.get(group, 0) for own in sizes]
    return " + ".join(f"{n}*" if n < FEW else str(n) for n in counts)


# ---------------------------------------------------------------- without the image

_OWN: Final = "accuracy with the image"


def image_lanes(index: Index, signature: str) -> Figure | None:
    """What changes without the picture, in all items and by dimension."""
    cast, line = cast_of(index, [ACCURACY]), chance_line(index)
    lanes = [Lane("all items")]
    lanes += [Lane(worded(name), {"dimension": name}) for name in groups_of(index, "dimension")]
    own = Panel(_OWN, line=line, column=Column(_OWN, "accuracy"))
    changes = [
        Panel(
            f"change, {IMAGE_NAMES[image]}",
            "points",
            line=0,
            column=Column(
                f"change, {IMAGE_NAMES[image]}",
                "diff_accuracy",
                (("condition", image), ("versus", "original")),
            ),
        )
        for image in conditions_asked(index, "accuracy")
    ]
    rows = lane_rows(index, lanes, [own, *changes], cast, by_panel=True)
    changed = [row for row in rows if row["panel"] != _OWN]
    if not changed:
        return None
    low, high = _bounds(changed)
    return dot_figure(
        "image_lanes",
        "What changes without the picture",
        rows,
        [own, *(panel._replace(low=low, high=high) for panel in changes)],
        cast,
        signature,
        says="Accuracy in percent, and its change in points:",
        keys=("lane", "panel"),
        before=[
            "Points on the dashed line at 0: the picture made no difference to the answers. "
            f"{EXPLAINED}",
            *(["Dashed beside accuracy: an option drawn by lot."] if line is not None else []),
        ],
        after=interval_notes(index, "accuracy", "diff_accuracy"),
    )


def _bounds(rows: Sequence[dict[str, Any]]) -> tuple[float, float]:
    """Tens around everything drawn, and 0."""
    ends = [
        float(row[name])
        for row in rows
        for name in ("value", "low", "high")
        if row[name] is not None
    ]
    return 10 * (min((0.0, *ends)) // 10), -10 * (-max((0.0, *ends)) // 10)
