"""The figures: lanes with intervals of capabilities, groups and images; the radar; and size."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from math import log10
from typing import Any, Final

from overread.benchmarks.exhibits import style
from overread.benchmarks.exhibits.cells import NOT_KNOWN, coefficient, p_value
from overread.benchmarks.exhibits.figures import Lane, Panel, dot_figure, lane_rows, radar_figure
from overread.benchmarks.exhibits.index import Column, Index
from overread.benchmarks.exhibits.style import BLUE, Spec, cast_of
from overread.benchmarks.exhibits.tables import group_sizes, interval_notes, kept_columns
from overread.benchmarks.medcmr.exhibits import tables
from overread.case import Figure, Measure, Table

_MCQ, _OPEN = "multiple choice: accuracy", "open answers: judged"


# ---------------------------------------------------------------- capabilities side by side

_JUDGED_TOO: Final = ", and the judged components of open answers"
_JUDGED_WORDS: Final = {"visual": "visual accuracy", "truth": "truth", "score": "all together"}


def profile_figures(index: Index) -> Iterator[Figure | None]:
    """Lanes with intervals, then the radar."""
    dimensions = [
        Column(name, "accuracy", (("dimension", name),))
        for name in tables.groups_of(index, "dimension")
    ]
    choice, judged = kept_columns(index, dimensions), kept_columns(index, tables.COMPONENTS)
    yield _profile(index, choice, judged)
    yield radar_figure(
        index,
        {_MCQ: choice, _OPEN: judged},
        after=lambda webs: (
            tables.judged_notes(index) if any(w.title == _OPEN for w in webs) else ()
        ),
        profile=index.title("profile"),
        dimensions=tables.spelled("dimension", [column.heading for column in choice]),
    )


def _profile(index: Index, choice: Sequence[Column], judged: Sequence[Column]) -> Figure | None:
    head = (
        [Column("all multiple-choice items", "accuracy")] if tables.ACCURACY.stands(index) else []
    )
    tail = [Column("S", tables.SCORE.measure)] if judged else []
    lanes = [Lane(tables.worded(column.heading), column=column) for column in (*choice, *head)]
    for column in (*judged, *tail):
        words = _JUDGED_WORDS.get(column.measure, column.measure)
        lanes.append(Lane(f"open: {words}, {column.heading}", column=column))
    if len(lanes) < 2:
        return None
    cast = cast_of(index, [*choice, *head, *judged, *tail])
    panels = [Panel("all items", axis="0 to 100")]
    return dot_figure(
        index,
        "profile",
        lane_rows(index, lanes, panels, cast),
        panels,
        cast,
        keys=("lane",),
        after=[
            *(tables.judged_notes(index) if judged else ()),
            *interval_notes(index, "accuracy", "score"),
        ],
        judged=_JUDGED_TOO if judged else "",
    )


# ---------------------------------------------------------------- groups of items

_KINDS: Final = {"accuracy": "multiple-choice", "S": "open"}


def group_lanes(index: Index, key: str) -> Figure | None:
    """By modality, or by body system."""
    groups, both = tables.groups_of(index, key), (tables.ACCURACY, tables.SCORE)
    cast, names = cast_of(index, both), style.shown(groups)
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
        Panel(_MCQ, "percent", line=tables.chance_line(index), column=column)
        if column == tables.ACCURACY
        else Panel("open answers: S", "0 to 100", column=column)
        for column in drawn
    ]
    rows = lane_rows(index, lanes, panels, cast)
    if len({row["lane"] for row in rows}) < 2:
        return None
    return dot_figure(
        index,
        f"{key}_lanes",
        rows,
        panels,
        cast,
        keys=(key, "measure"),
        before=[] if tables.chance_line(index) is None else [index.note("dashed_chance")],
        after=[
            *(tables.judged_notes(index) if tables.SCORE in drawn else ()),
            *interval_notes(index, *(column.measure for column in drawn)),
        ],
        kinds=" + ".join(_KINDS[column.heading] for column in drawn),
    )


def _counted(group: str, sizes: Iterable[dict[str, int]]) -> str:
    """How many items a group has in each panel; few are starred."""
    counts = [own.get(group, 0) for own in sizes]
    return " + ".join(f"{n}*" if n < tables.FEW else str(n) for n in counts)


# ---------------------------------------------------------------- without the image

_OWN: Final = "accuracy with the image"


def image_lanes(index: Index) -> Figure | None:
    """What changes without the picture, in all items and by dimension."""
    cast, line = cast_of(index, [tables.ACCURACY]), tables.chance_line(index)
    lanes = [Lane("all items")]
    lanes += [
        Lane(tables.worded(name), {"dimension": name})
        for name in tables.groups_of(index, "dimension")
    ]
    own = Panel(_OWN, line=line, column=Column(_OWN, "accuracy"))
    changes = [
        Panel(
            f"change, {tables.IMAGE_NAMES[image]}",
            "points",
            line=0,
            column=Column(
                f"change, {tables.IMAGE_NAMES[image]}",
                "diff_accuracy",
                (("condition", image), ("versus", "original")),
            ),
        )
        for image in tables.conditions_asked(index, "accuracy")
    ]
    rows = lane_rows(index, lanes, [own, *changes], cast, by_panel=True)
    changed = [row for row in rows if row["panel"] != _OWN]
    if not changed:
        return None
    low, high = _bounds(changed)
    return dot_figure(
        index,
        "image_lanes",
        rows,
        [own, *(panel._replace(low=low, high=high) for panel in changes)],
        cast,
        keys=("lane", "panel"),
        before=[] if line is None else [index.note("dashed_beside")],
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


# ---------------------------------------------------------------- correlations
# How each score goes with the number of parameters, over readers.

TITLES: Final = {
    "accuracy": "accuracy, percent",
    "clarity": "clarity (Con)",
    "coherence": "coherence (Coh)",
    "visual": "visual accuracy (VA)",
    "truth": "truth (GT)",
    "score": "all together (S)",
    "accuracy_macro": "accuracy, macro",
    "score_macro": "all together (S), macro",
}


def _correlation(index: Index, name: str, of: str, **by: str) -> Measure | None:
    return index.get("", name, of=of, **{"with": "log_params"}, **by)


def correlated(index: Index, of: str) -> str:
    """`r 0.81, rho 0.79`."""
    said = [
        f"{name} {record.value:.2f}"
        for name in ("r", "rho")
        if (record := _correlation(index, name, of)) is not None and record.value is not None
    ]
    return ", ".join(said) or "r, rho n/a"


def correlations_table(index: Index) -> Table | None:
    rows = []
    for measure, words in TITLES.items():
        for by in tables.dimensions_of(index):
            found = [_correlation(index, name, measure, **by) for name in ("r", "rho")]
            if any(found):
                group = by.get("dimension", "all items")
                r, rho = found
                n = next((str(one.n) for one in found if one and one.n is not None), NOT_KNOWN)
                tests = map(p_value, (rho.p, rho.q) if rho else (None, None))
                rows.append((words, group, coefficient(r), coefficient(rho), *tests, n))
    return index.table("size_correlations", rows, *interval_notes(index, "r"), first=2)


# ---------------------------------------------------------------- figure

_SIZED: Final = (tables.ACCURACY, *tables.COMPONENTS, tables.SCORE)
_SIDE: Final = 190
_TICKS: Final = (0.1, 0.3, 1, 3, 10, 30, 100, 300, 1000, 3000)
# A number beside its point: how far, how wide, how high; and how far a point reaches.
_OFF, _WIDE, _HIGH, _POINT = 6.0, 13.0, 11.0, 5.0
# Where it may stand, the best place first: which side, and how much lower.
_PLACES: Final = tuple((side, low) for low in (0, 8, -8, 16, -16, 24, -24) for side in (1, -1))


def _sizes(index: Index) -> dict[str, float]:
    """Billions of parameters of the readers that declare them, the smallest first."""
    found = {
        reader: record.value
        for reader in index.readers
        if (record := index.known(reader, "params_b")) is not None
        and record.value is not None
        and record.value > 0
    }
    return dict(sorted(found.items(), key=lambda one: one[1]))


def size_figure(index: Index) -> Figure | None:
    sizes = _sizes(index)
    some = [r for r in sizes if any(column.known(index, r) for column in _SIZED)]
    if len(some) < 2:
        return None
    names = style.shown(some)
    numbers = {reader: str(number) for number, reader in enumerate(some, start=1)}
    # A little around all sizes, the smallest of which stands first; also where they are one.
    bounds = sizes[some[0]] / 1.6, sizes[some[-1]] * 2.2
    rows: list[Spec] = []
    kept: list[Column] = []
    for column in _SIZED:
        own: list[Spec] = []
        for reader in some:
            record = column.known(index, reader)
            if record is not None:
                place = {
                    "params_b": sizes[reader],
                    "size": f"{sizes[reader]:g} B",
                    "number": numbers[reader],
                }
                row = style.point_row(reader, names[reader], column.heading, record, **place)
                own.append(row | {"of": column.measure})
        if len(own) > 1:
            kept.append(column)
            rows += _apart(own, bounds)
    if not rows:
        return None
    panels = [_size_panel(index, column, bounds) for column in kept]
    wide = min(3, len(panels))
    key = [f"{numbers[reader]}  {names[reader]}, {sizes[reader]:g} B" for reader in some]
    spec = style.figure_spec(
        rows, hconcat=[{"concat": panels, "columns": wide, "spacing": 25}, _key(key)], spacing=20
    )
    said = "; ".join(f"{column.measure} {correlated(index, column.measure)}" for column in kept)
    unknown, drawn = len(index.readers) - len(sizes), style.spoken(rows, "size", "of")
    notes = (
        *([index.note("no_size", unknown=unknown)] if unknown else []),
        *style.unfit_note(rows),
        *(tables.judged_notes(index) if len(kept) > 1 else ()),
        *interval_notes(index, *(column.measure for column in kept)),
    )
    return index.figure("size", spec, f"{drawn}. {said}", *notes)


def _apart(rows: list[Spec], bounds: tuple[float, float]) -> list[Spec]:
    """The rows with the side and the height of the number beside the point, none on another."""
    span = log10(bounds[1]) - log10(bounds[0])
    points = [
        (
            _SIDE * (log10(row["params_b"]) - log10(bounds[0])) / span,
            _SIDE * (1 - row["value"] / 100),
        )
        for row in rows
    ]
    taken: list[tuple[float, float]] = []
    for row, (x, y) in zip(rows, points, strict=True):

        def free(place: tuple[int, int], x: float = x, y: float = y) -> bool:
            middle, height = x + place[0] * (_OFF + _WIDE / 2), y + place[1]
            clear = all(
                abs(a - middle) >= _WIDE / 2 + _POINT or abs(b - height) >= _HIGH / 2 + _POINT
                for a, b in points
                if (a, b) != (x, y)
            )
            return clear and all(
                abs(a - middle) >= _WIDE or abs(b - height) >= _HIGH for a, b in taken
            )

        side, low = next((place for place in _PLACES if free(place)), _PLACES[0])
        taken.append((x + side * (_OFF + _WIDE / 2), y + low))
        row |= {"side": side, "beside": 100 * (1 - (y + low) / _SIDE)}
    return rows


def _size_panel(index: Index, column: Column, bounds: tuple[float, float]) -> Spec:
    here = f"datum.of === '{column.measure}'"
    x: Spec = {
        "field": "params_b",
        "type": "quantitative",
        "scale": {"type": "log", "domain": list(bounds), "nice": False},
        "axis": {
            "title": "parameters, billions",
            "values": [at for at in _TICKS if bounds[0] <= at <= bounds[1]],
            "format": "~g",
        },
    }
    y = style.number_axis("value", None, 0, 100)
    place = {"x": x, "y": y}
    point: Spec = {"type": "point", "size": 55, "opacity": 1, "strokeWidth": 1.5, "color": BLUE}

    def layer(mark: Spec, test: str, **more: Spec) -> Spec:
        return {
            "transform": [{"filter": f"{here} && {test}"}],
            "mark": mark,
            "encoding": {**place, **more},
        }

    bar = layer({"type": "rule", "color": BLUE}, "isValid(datum.low)", y2={"field": "high"})
    bar["encoding"]["y"] = {**y, "field": "low"}
    texts = []
    for side, align in ((1, "left"), (-1, "right")):
        label: Spec = {"type": "text", "align": align, "dx": side * _OFF, "fontSize": 10}
        text = layer(label, f"datum.side === {side}", text={"field": "number", "type": "nominal"})
        text["encoding"]["y"] = {**y, "field": "beside"}
        texts.append(text)
    title = [TITLES[column.measure], correlated(index, column.measure)]
    return {
        "title": {"text": title, "frame": "group"},
        "width": _SIDE,
        "height": _SIDE,
        "layer": [
            bar,
            layer({**point, "filled": True}, "!datum.unfit"),
            layer({**point, "filled": False, "fill": style.PAPER}, "datum.unfit"),
            *texts,
        ],
    }


def _key(lines: Sequence[str]) -> Spec:
    """Which number is whose."""
    values = [{"line": line, "at": at} for at, line in enumerate(lines)]
    return {
        "data": {"values": values},
        "width": style.label_room(lines),
        "height": 18 * len(lines),
        "mark": {"type": "text", "align": "left", "fontSize": 12},
        "encoding": {
            "x": {"value": 0},
            "y": {
                "field": "at",
                "type": "ordinal",
                "axis": None,
                "scale": {"domain": list(range(len(lines)))},
            },
            "text": {"field": "line"},
        },
    }
