"""What scores stand on: outcomes of replies, the image, the order of the options, leakage."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from overread.benchmarks.exhibits.cells import table
from overread.benchmarks.exhibits.dots import Panel, dots
from overread.benchmarks.exhibits.index import Index
from overread.benchmarks.exhibits.looks import cast_of, point_row, spoken, unfit_note
from overread.benchmarks.exhibits.numbers import NOT_ASKED, cell, tested
from overread.benchmarks.medcmr.edition import IMAGES
from overread.benchmarks.medcmr.exhibits.columns import (
    ACCURACY,
    groups_of,
    interval_notes,
    judged_notes,
    worded,
)
from overread.case import Figure, Measure, Table

__all__ = [
    "coverage_table",
    "image_exhibits",
    "leakage_table",
    "order_table",
    "sureness_table",
]


# ---------------------------------------------------------------- outcomes
# Replies that say nothing, cannot be read or break off; and verdicts that could be read.

_OUTCOME_KINDS: Final = {"mcq": "multiple choice", "open": "open", "reformulated": "reformulated"}
_RATES: Final = {
    "invalid_rate": "invalid",
    "refused_rate": "refused",
    "unanswered_rate": "unanswered",
    "cut_off_rate": "cut off",
}


def coverage_table(index: Index, signature: str) -> Table | None:
    """A row per reader and kind of item."""
    judges = list(
        dict.fromkeys(record.by["judge"] for record in index.all("judged_rate", "kind", "judge"))
    )
    rows = []
    for reader in index.readers:
        for kind, said in _OUTCOME_KINDS.items():
            found = [index.get(reader, name, kind=kind) for name in _RATES]
            judged = [index.get(reader, "judged_rate", kind=kind)]
            if len(judges) > 1:
                judged += [index.get(reader, "judged_rate", kind=kind, judge=j) for j in judges]
            if any(found) or any(judged):
                verdicts = [NOT_ASKED if kind == "mcq" else cell(one) for one in judged]
                rows.append((reader, said, *map(cell, found), *verdicts))
    each = [f"verdicts of {judge}" for judge in judges] if len(judges) > 1 else []
    return table(
        "coverage",
        "What of the replies could be used?",
        ("reader", "kind", *_RATES.values(), "verdicts read", *each),
        rows,
        signature,
        (
            "Where much is invalid, refused or cut off, a low score is one of format or of length "
            "and says little about medicine.",
            "Percent of what was asked. Invalid: no letter could be read, or no answer section; "
            "refused: it declined; unanswered: no reply came; cut off: it ran out of tokens. All "
            "but the last count as wrong in accuracy, and as 0 in judged scores where there is "
            "nothing to judge. Verdicts read: of replies to be judged, those with a verdict that "
            "could be read.",
            *interval_notes(index, *_RATES, "judged_rate"),
        ),
        facts=2,
    )


# ---------------------------------------------------------------- without the image
# Beyond the paper: what part of the score survives without the picture?

_OTHERS: Final = tuple(image for image in IMAGES if image != "original")
_IMAGE_NAMES: Final = {"blank": "black image", "swap": "other image", "text": "no image"}
_EXPLAINED: Final = (
    "Black image: the item's own, all black; other image: that of another item of the same "
    "dimension; no image: the words alone."
)
_ALL: Final = "all items"
_OWN: Final = "accuracy with the image"


def image_exhibits(index: Index, signature: str) -> Iterator[Table | Figure | None]:
    """The drawing, the table of accuracy, the table of judged scores."""
    yield _image_lanes(index, signature)
    yield _image_table(index, "accuracy", signature)
    yield _image_table(index, "score", signature)


def _conditions_asked(index: Index, measure: str) -> list[str]:
    return [image for image in _OTHERS if index.any(measure, condition=image)]


def _changed(
    index: Index, reader: str, name: str, image: str, by: dict[str, str]
) -> Measure | None:
    return index.get(reader, name, condition=image, versus="original", **by)


def _image_table(index: Index, measure: str, signature: str) -> Table | None:
    asked = _conditions_asked(index, measure)
    if not asked:
        return None
    choice = measure == "accuracy"
    groups: list[dict[str, str]] = [{}]
    groups += [{"dimension": name} for name in groups_of(index, "dimension")]
    rows = []
    for reader in index.readers:
        for by in groups:
            own = index.get(reader, measure, **by)
            others = [index.get(reader, measure, condition=image, **by) for image in asked]
            if not any(others):
                continue
            cells = [cell(own)]
            for image, other in zip(asked, others, strict=True):
                diff = _changed(index, reader, f"diff_{measure}", image, by)
                cells += [cell(other), NOT_ASKED if diff is None else tested(diff)]
                if choice:
                    cells.append(cell(_changed(index, reader, "survives", image, by)))
            rows.append((reader, by.get("dimension", _ALL), *cells))
    said = "accuracy" if choice else "S"
    parts = ("difference", "survives") if choice else ("difference",)
    heads = [
        head
        for image in asked
        for head in (
            f"{said}, {_IMAGE_NAMES[image]}",
            *(f"{part}, {_IMAGE_NAMES[image]}" for part in parts),
        )
    ]
    return table(
        "image_dependence" if choice else "image_dependence_open",
        "How much survives without the picture?"
        if choice
        else "Do the open answers depend on the picture?",
        ("reader", "dimension", f"{said}, own image", *heads),
        rows,
        signature,
        (
            "What a reader scores without the picture it did not read off the picture: only the "
            f"difference is evidence that it looks. {_EXPLAINED}",
            "Difference: without the image less with it, in points, on the same items; with p and "
            "q (Benjamini and Hochberg's)."
            + (" Survives: the former as a share of the latter." if choice else ""),
            *(() if choice else judged_notes(index)),
            *interval_notes(index, measure, f"diff_{measure}"),
        ),
        facts=2,
    )


def _image_lanes(index: Index, signature: str) -> Figure | None:
    asked = _conditions_asked(index, "accuracy")
    cast = cast_of(index, [ACCURACY])
    panels = [(_OWN, "")] + [(f"change, {_IMAGE_NAMES[image]}", image) for image in asked]
    lanes: list[tuple[str, dict[str, str]]] = [(_ALL, {})]
    lanes += [(worded(name), {"dimension": name}) for name in groups_of(index, "dimension")]
    rows = []
    for panel, image in panels:
        for lane, by in lanes:
            for reader, name in cast.names.items():
                record = (
                    _changed(index, reader, "diff_accuracy", image, by)
                    if image
                    else index.get(reader, "accuracy", **by)
                )
                if record is not None and record.value is not None:
                    rows.append(point_row(reader, name, panel, record, lane=lane, panel=panel))
    if not any(row["panel"] != _OWN for row in rows):
        return None
    kept = [lane for lane, _ in lanes if any(row["lane"] == lane for row in rows)]
    low, high = _bounds([row for row in rows if row["panel"] != _OWN])
    chance = index.known("", "chance")
    line = None if chance is None else 100 * (chance.value or 0)
    drawn = [Panel(_OWN, line=line)]
    drawn += [Panel(panel, "points", low, high, line=0) for panel, image in panels if image]
    return Figure(
        name="image_lanes",
        title="What changes without the picture",
        spec=dots(rows, kept, drawn, cast),
        alt=f"Accuracy in percent, and its change in points: {spoken(rows, 'lane', 'panel')}.",
        signature=signature,
        notes=(
            "Points on the dashed line at 0: the picture made no difference to the answers. "
            f"{_EXPLAINED}",
            *(["Dashed beside accuracy: an option drawn by lot."] if line is not None else []),
            *unfit_note(rows),
            *cast.notes,
            *interval_notes(index, "accuracy", "diff_accuracy"),
        ),
    )


def _bounds(rows: Sequence[dict[str, object]]) -> tuple[float, float]:
    """Tens around everything drawn, and 0."""
    ends = [
        float(end)
        for row in rows
        for name in ("value", "low", "high")
        if isinstance(end := row[name], int | float)
    ]
    return 10 * (min((0.0, *ends)) // 10), -10 * (-max((0.0, *ends)) // 10)


# ---------------------------------------------------------------- orders and probabilities
# Does the answer hang on where an option stands? And how sure is the reader of its letter?


def order_table(index: Index, signature: str) -> Table | None:
    """Accuracy under other orders of the options, and the letters a reader likes."""
    orders = sorted(index.groups("accuracy", "order"))
    positions = sorted(index.groups("position_share", "position"))
    columns: list[tuple[str, str, dict[str, str]]] = [
        ("accuracy, set's order", "accuracy", {}),
        *((f"accuracy, order {order}", "accuracy", {"order": order}) for order in orders),
        ("accuracy, mean of orders", "accuracy", {"condition": "permuted"}),
        ("right in every order", "accuracy_all_orders", {}),
        ("same option in every order", "order_consistency", {}),
        ("position bias", "position_bias", {}),
        *((f"says {letter}", "position_share", {"position": letter}) for letter in positions),
    ]
    if not any(index.any(name, **by) for _, name, by in columns[1:]):
        return None
    kept = [one for one in columns if any(index.get(r, one[1], **one[2]) for r in index.readers)]
    rows = [
        (reader, *(cell(index.get(reader, name, **by)) for _, name, by in kept))
        for reader in index.readers
    ]
    return table(
        "option_order",
        "Does the answer hang on the order of the options?",
        ("reader", *(heading for heading, _, _ in kept)),
        rows,
        signature,
        (
            "A reader that knows the answer gives it wherever it stands; one that is right in "
            "every order much more seldom than on average guesses, or likes a letter.",
            "Percent. Says: the share of letters given over all orders, in which the right option "
            "stands about equally often at each place. Position bias: how far these shares are "
            "from those of the right options; 0 is none.",
            *interval_notes(index, "accuracy", "order_consistency", "position_share"),
        ),
    )


def sureness_table(index: Index, signature: str) -> Table | None:
    """By the probabilities of the first token, for readers that give them."""
    names = {
        "accuracy": "accuracy, as read",
        "accuracy_logprobs": "accuracy, by probability",
        "ece": "calibration error",
        "brier": "Brier score",
    }
    some = [r for r in index.readers if any(index.known(r, name) for name in list(names)[1:])]
    return table(
        "sureness",
        "Is it as sure as it is right?",
        ("reader", *names.values()),
        [(reader, *(cell(index.get(reader, name)) for name in names)) for reader in some],
        signature,
        (
            "By probability: the option of the likeliest first token. Calibration error: how far "
            "the probability given is from the share that is right; lower is better, as is the "
            "Brier score. All x 100. A large error: do not take its confidence at its word.",
            *interval_notes(index, "accuracy_logprobs", "ece", "brier"),
        ),
    )


# ---------------------------------------------------------------- leakage
# Has a reader seen the reference answers? How alike are their words?

_LEAKAGE_KINDS: Final[tuple[tuple[str, dict[str, str]], ...]] = (
    ("MCQ-converted", {"kind": "reformulated"}),
    ("open", {"kind": "open"}),
    ("overall", {}),
)
_LEAKAGE_NAMES: Final = {"rouge_l": "ROUGE-L", "edit_similarity": "edit similarity"}


def leakage_table(index: Index, signature: str) -> Table | None:
    """The paper's Tables 4 and 5 side by side."""
    columns = [
        (f"{said}, {kind}", name, by)
        for name, said in _LEAKAGE_NAMES.items()
        for kind, by in _LEAKAGE_KINDS
    ]
    rows = [
        (reader, *(cell(index.get(reader, name, **by)) for _, name, by in columns))
        for reader in index.readers
        if any(index.get(reader, name, **by) for _, name, by in columns)
    ]
    return table(
        "leakage",
        "Does it repeat the reference answers?",
        ("reader", *(heading for heading, _, _ in columns)),
        rows,
        signature,
        (
            "High likeness in words would mean that a reader may have seen the answers; low "
            "likeness does not prove that it has not.",
            "From 0 to 100, the mean over replies. ROUGE-L: the most words in common in the "
            "same order, as an F-score; edit similarity: 100 less the share of characters to be "
            "changed. MCQ-converted: multiple-choice items asked without their options.",
            *interval_notes(index, *_LEAKAGE_NAMES),
        ),
    )
