"""The tables: scores by reader and by group, reader against reader, and what these stand on."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from typing import Final

import msgspec

from overread.benchmarks.exhibits import tables as shared
from overread.benchmarks.exhibits.cells import (
    FEW_MARK,
    NOT_ASKED,
    cell,
    with_pooled,
    with_tests,
)
from overread.benchmarks.exhibits.index import Column, Index, wording_beside
from overread.benchmarks.exhibits.judges import (
    AGREEMENT,
    SENSITIVITY,
    SPECIFICITY,
    Part,
    notes_on_judges,
)
from overread.benchmarks.medcmr.cases import ABILITIES, DIMENSIONS, LABELS
from overread.benchmarks.medcmr.edition import IMAGES
from overread.benchmarks.medcmr.sentences import QUESTION
from overread.case import Measure, Table

# ---------------------------------------------------------------- columns and groups
# The columns that several exhibits have, the groups in their order, and what stands below.

ACCURACY: Final = Column("accuracy", "accuracy")
# The paper's abbreviations are those of its Table 2: Con, Coh, VA, GT.
COMPONENTS: Final = (
    Column("Con", "clarity"),
    Column("Coh", "coherence"),
    Column("VA", "visual"),
    Column("GT", "truth"),
)
SCORE: Final = Column("S", "score")
FEW: Final = 10
"""Groups of fewer items are marked."""

COMPONENT_WORDS: Final = {
    "clarity": "clarity",
    "coherence": "coherence",
    "visual": "visual accuracy",
    "truth": "agreement with the truth",
}
WORDING: Final = wording_beside(__file__, question=QUESTION, few=FEW, few_mark=FEW_MARK)
_GROUP_WORDS: Final = {"dimension": DIMENSIONS, "ability": ABILITIES}


def groups_of(index: Index, key: str) -> list[str]:
    """The groups under a key: those the paper names in its order, then a set's own by name."""
    found = {
        group
        for column in (ACCURACY, *COMPONENTS, SCORE)
        for group in index.groups(column.measure, key)
    }
    return in_order(key, found)


def dimensions_of(index: Index) -> list[dict[str, str]]:
    """The `by` of all items, then of each dimension."""
    return [{}, *({"dimension": name} for name in groups_of(index, "dimension"))]


def in_order(key: str, found: set[str]) -> list[str]:
    """Groups in the paper's order, a set's own after them by name."""
    known = [name for name in LABELS[key] if name in found]
    return known + sorted(found - set(known))


def spelled(key: str, groups: Sequence[str]) -> str:
    """`SOD small-object detection; FDD …`."""
    words = _GROUP_WORDS[key]
    return "; ".join(f"{group} {words[group]}" for group in groups if group in words)


def worded(name: str) -> str:
    """A dimension in words with its abbreviation; a set's own as it is."""
    return f"{DIMENSIONS[name]}, {name}" if name in DIMENSIONS else name


def parts_of(index: Index, *, every: bool = False) -> list[Part]:
    """What judges score; the questions without a caption too, where one was tried (or `every`)."""
    asked = {
        record.by.get("question")
        for name in (SENSITIVITY, SPECIFICITY, AGREEMENT)
        for record in index.every(name)
    }
    questions = [name for name in ("score", "score_uncaptioned") if every or name in asked]
    if not every:
        # Below other tables one line per component will do: that of the question most were asked.
        questions = questions[:1] or ["score"]
    return [
        Part(
            said if question == "score" else f"{said} (no description of the image)",
            component,
            {"question": question, "component": component},
        )
        for question in questions
        for component, said in COMPONENT_WORDS.items()
        if question == "score" or component != "visual"
    ]


def judged_notes(index: Index) -> Iterator[str]:
    """What the judged columns mean, and who judged; nothing where no open answer was asked for."""
    if not any(index.all(column.measure) for column in (*COMPONENTS, SCORE)):
        return
    yield index.note("open_scores")
    yield from notes_on_judges(index, parts_of(index))


def chance_line(index: Index) -> float | None:
    """What an option drawn by lot gets right of all items, in percent."""
    found = index.known("", "chance")
    return None if found is None else 100 * (found.value or 0)


def marked(name: str, n: int) -> str:
    """A group's name, with a star where it has few items."""
    return f"{name} {FEW_MARK}" if n < FEW else name


_cell = partial(cell, absent=NOT_ASKED)


# ---------------------------------------------------------------- summary
# The first table, and the paper's Tables 2 and 3: a row per reader.

_INVALID: Final = Column("invalid", "invalid_rate")
_MACRO: Final = Column("macro", "accuracy_macro")
_SURVIVING: Final = tuple(
    Column(heading, "survives", (("condition", image), ("versus", "original")))
    for image, heading in (
        ("text", "survives without image"),
        ("blank", "survives black image"),
        ("swap", "survives other image"),
    )
)
_SUMMARY: Final = (ACCURACY, _MACRO, _INVALID, *_SURVIVING, *COMPONENTS, SCORE)
_SCORES: Final = (ACCURACY, _MACRO, _INVALID, *COMPONENTS, SCORE)
_FLUENT: Final = " High Con and Coh beside low VA and GT: it writes well about what is not there."


def summary(index: Index) -> Table:
    """What counts, in one row per reader; it is there even where nothing is known."""
    kept = shared.kept_columns(index, _SUMMARY) or list(_SCORES)
    rows = shared.reader_rows(index, kept, absent=NOT_ASKED)
    asked = [row for row in rows if set(row[1:]) != {NOT_ASKED}]
    headings = ("reader", *(column.heading for column in kept))
    notes = (
        *([index.note("survives")] if any(column in _SURVIVING for column in kept) else []),
        *judged_notes(index),
        *shared.remarks_on(index, (ACCURACY, SCORE)),
        *shared.interval_notes(index, *(column.measure for column in kept)),
    )
    asked += _chance_row(index, kept)
    return index.whole_table("summary", asked, *notes, columns=headings)


def _chance_row(index: Index, columns: Sequence[Column]) -> list[tuple[str, ...]]:
    """What an option drawn by lot has, under the columns of accuracy; nothing where not known."""
    cells = [NOT_ASKED] * len(columns)
    for at, column in enumerate(columns):
        found = index.known("", "chance", **dict(column.by))
        if found is not None and column.measure == "accuracy":
            cells[at] = f"{100 * (found.value or 0):.1f}"
    known = index.known("", "chance") is not None and set(cells) != {NOT_ASKED}
    return [("chance: an option by lot", *cells)] if known else []


def scores_table(index: Index) -> Table | None:
    """Table 2: accuracy in each dimension, and the judged components of open answers."""
    dimensions = groups_of(index, "dimension")
    accuracy = [Column(name, "accuracy", (("dimension", name),)) for name in dimensions]
    if index.all("accuracy"):
        accuracy += [Column("All (MCQ)", "accuracy"), _MACRO, _INVALID]
    judged = [*COMPONENTS, Column("All (open)", "score")]
    columns = accuracy + [column for column in judged if index.all(column.measure)]
    return shared.readers_table(
        index,
        "scores",
        columns,
        *judged_notes(index),
        *shared.interval_notes(index, "accuracy", "score"),
        absent=NOT_ASKED,
        only_asked=True,
        more=_chance_row(index, columns),
        dimensions=spelled("dimension", dimensions),
        fluent=_FLUENT if len(columns) > len(accuracy) else "",
    )


def abilities_table(index: Index) -> Table | None:
    """Table 3: accuracy by what the question asks of a physician."""
    abilities, chance = groups_of(index, "ability"), chance_line(index)
    return shared.readers_table(
        index,
        "abilities",
        [Column(name, "accuracy", (("ability", name),)) for name in abilities],
        *([index.note("chance", chance=chance)] if chance else []),
        *shared.interval_notes(index, "accuracy"),
        absent=NOT_ASKED,
        only_asked=True,
        abilities=spelled("ability", abilities),
    )


# ---------------------------------------------------------------- groups of items
# By modality, by body system and by subtype.

_COLUMNS: Final = (ACCURACY, *COMPONENTS, SCORE)


def group_table(index: Index, key: str, name: str) -> Table | None:
    """Every number by modality, or by body system."""
    groups, sizes = groups_of(index, key), shared.group_sizes(index, key, _COLUMNS)
    kept = shared.kept_columns(index, _COLUMNS, **{key: groups})
    return shared.groups_table(
        index,
        name,
        key,
        {group: marked(group, sizes.get(group, 0)) for group in groups},
        kept,
        *(judged_notes(index) if len(kept) > 1 else ()),
        *shared.interval_notes(index, *(column.measure for column in kept)),
        absent=NOT_ASKED,
    )


def subtypes_table(index: Index) -> Table | None:
    """Five subtypes of each dimension."""
    both = (ACCURACY, SCORE)
    sizes: dict[tuple[str, str], int] = {}
    for column in both:
        for record in index.all(column.measure, "dimension", "subtype"):
            place = record.by["dimension"], record.by["subtype"]
            sizes[place] = max(sizes.get(place, 0), record.n or 0)
    order = list(DIMENSIONS)
    known = sorted(
        sizes, key=lambda one: (order.index(one[0]) if one[0] in order else len(order), *one)
    )
    rows, shown = [], []
    for dimension, subtype in known:
        for reader in index.readers:
            found = [c.of(index, reader, dimension=dimension, subtype=subtype) for c in both]
            shown += found
            said = (with_pooled(_cell(record), record) for record in found)
            rows.append((dimension, marked(subtype, sizes[dimension, subtype]), reader, *said))
    notes = (
        *judged_notes(index),
        *shared.interval_notes(index, "accuracy", "score"),
        *shared.many_groups(index, shown),
    )
    return index.table("subtypes", rows, *notes, first=3)


# ---------------------------------------------------------------- pairs of readers
# Every reader against every other, and base models against their medical descendants.

_COMPARED: Final = {"diff_accuracy": "accuracy", "diff_score": "S"}


def pairs_table(index: Index) -> Table | None:
    """Differences with their intervals and tests."""

    def said(name: str, kind: str) -> str | None:
        return f"{name}, reformulated" if kind == "reformulated" else None

    notes = (
        *(judged_notes(index) if index.every("diff_score") else ()),
        *shared.interval_notes(index, *_COMPARED),
    )
    found = shared.differences(index, _COMPARED, "kind", said)
    return index.table("pairs", shared.difference_rows(found), *notes, first=3)


def base_table(index: Index) -> Table | None:
    """Items that only the base model has right, and only the medical one; then as open items."""
    pairs = dict.fromkeys(
        (record.by["versus"], record.reader)
        for name in ("only_base", "only_medical")
        for record in index.all(name, "versus")
    )
    rows = []
    for base, medical in pairs:
        for by in dimensions_of(index):
            only = [
                index.get(medical, name, versus=base, **by)
                for name in ("only_base", "only_medical")
            ]
            if not any(only):
                continue
            own = [index.get(reader, "accuracy", **by) for reader in (base, medical)]
            tail = [NOT_ASKED] * 4
            if not by:
                score = [index.get(r, "score", kind="reformulated") for r in (base, medical)]
                tail = [
                    with_tests(_less(index, "diff_accuracy", medical, base)),
                    *map(_cell, score),
                    with_tests(_less(index, "diff_score", medical, base, kind="reformulated")),
                ]
            group = by.get("dimension", "all items")
            rows.append((medical, base, group, *map(_cell, (*own, *only)), *tail))
    notes = (
        *(judged_notes(index) if index.any("score", kind="reformulated") else ()),
        *shared.interval_notes(index, "only_base", "diff_accuracy"),
    )
    return index.table("base_against_medical", rows, *notes, first=3)


def _less(index: Index, name: str, reader: str, other: str, **by: str) -> Measure | None:
    """A reader less another; of the two orders records hold one."""
    found = index.get(reader, name, versus=other, **by)
    if found is not None:
        return found
    turned = index.get(other, name, versus=reader, **by)
    if turned is None or turned.value is None:
        return turned
    low, high = (None if end is None else -end for end in (turned.high, turned.low))
    return msgspec.structs.replace(turned, value=-turned.value, low=low, high=high)


# ---------------------------------------------------------------- outcomes
# Replies that say nothing, cannot be read or break off; and verdicts that could be read.

_OUTCOME_KINDS: Final = {"mcq": "multiple choice", "open": "open", "reformulated": "reformulated"}
_RATES: Final = {
    "invalid_rate": "invalid",
    "refused_rate": "refused",
    "unanswered_rate": "unanswered",
    "cut_off_rate": "cut off",
}


def coverage_table(index: Index) -> Table | None:
    """A row per reader and kind of item."""
    found = index.all("judged_rate", "kind", "judge")
    judges = list(dict.fromkeys(record.by["judge"] for record in found))
    rows = []
    for reader in index.readers:
        for kind, said in _OUTCOME_KINDS.items():
            rates = [index.get(reader, name, kind=kind) for name in _RATES]
            judged = [index.get(reader, "judged_rate", kind=kind)]
            if len(judges) > 1:
                judged += [index.get(reader, "judged_rate", kind=kind, judge=j) for j in judges]
            if any(rates) or any(judged):
                verdicts = [NOT_ASKED if kind == "mcq" else _cell(one) for one in judged]
                rows.append((reader, said, *map(_cell, rates), *verdicts))
    each = [f"verdicts of {judge}" for judge in judges] if len(judges) > 1 else []
    columns = ("reader", "kind", *_RATES.values(), "verdicts read", *each)
    notes = shared.interval_notes(index, *_RATES, "judged_rate")
    return index.table("coverage", rows, *notes, columns=columns, first=2)


# ---------------------------------------------------------------- without the image
# Beyond the paper: what part of the score survives without the picture?

_OTHERS: Final = tuple(image for image in IMAGES if image != "original")
IMAGE_NAMES: Final = {"blank": "black image", "swap": "other image", "text": "no image"}
_ALL: Final = "all items"


def conditions_asked(index: Index, measure: str) -> list[str]:
    return [image for image in _OTHERS if index.any(measure, condition=image)]


def _changed(
    index: Index, reader: str, name: str, image: str, by: dict[str, str]
) -> Measure | None:
    return index.get(reader, name, condition=image, versus="original", **by)


def image_table(index: Index, measure: str) -> Table | None:
    asked = conditions_asked(index, measure)
    if not asked:
        return None
    choice = measure == "accuracy"
    rows = []
    for reader in index.readers:
        for by in dimensions_of(index):
            own = index.get(reader, measure, **by)
            others = [index.get(reader, measure, condition=image, **by) for image in asked]
            if not any(others):
                continue
            cells = [_cell(own)]
            for image, other in zip(asked, others, strict=True):
                diff = _changed(index, reader, f"diff_{measure}", image, by)
                cells += [_cell(other), with_tests(diff)]
                if choice:
                    cells.append(_cell(_changed(index, reader, "survives", image, by)))
            rows.append((reader, by.get("dimension", _ALL), *cells))
    said = "accuracy" if choice else "S"
    parts = ("difference", "survives") if choice else ("difference",)
    heads = [
        head
        for image in asked
        for head in (
            f"{said}, {IMAGE_NAMES[image]}",
            *(f"{part}, {IMAGE_NAMES[image]}" for part in parts),
        )
    ]
    return index.table(
        "image_dependence" if choice else "image_dependence_open",
        rows,
        *(() if choice else judged_notes(index)),
        *shared.interval_notes(index, measure, f"diff_{measure}"),
        columns=("reader", "dimension", f"{said}, own image", *heads),
        first=2,
    )


# ---------------------------------------------------------------- orders and probabilities
# Does the answer hang on where an option stands? And how sure is the reader of its letter?


def order_table(index: Index) -> Table | None:
    """Accuracy under other orders of the options, and the letters a reader likes."""
    own = Column("accuracy, set's order", "accuracy")
    orders = sorted(index.groups("accuracy", "order"))
    letters = sorted(index.groups("position_share", "position"))
    changed = [
        *(Column(f"accuracy, order {one}", "accuracy", (("order", one),)) for one in orders),
        Column("accuracy, mean of orders", "accuracy", (("condition", "permuted"),)),
        Column("right in every order", "accuracy_all_orders"),
        Column("same option in every order", "order_consistency"),
        Column("position bias", "position_bias"),
        *(Column(f"says {one}", "position_share", (("position", one),)) for one in letters),
    ]
    if not shared.kept_columns(index, changed):
        return None
    columns = [c for c in (own, *changed) if any(c.of(index, reader) for reader in index.readers)]
    notes = shared.interval_notes(index, "accuracy", "order_consistency", "position_share")
    return shared.readers_table(index, "option_order", columns, *notes, absent=NOT_ASKED)


def sureness_table(index: Index) -> Table | None:
    """By the probabilities of the first token, for readers that give them."""
    sure = (
        Column("accuracy, by probability", "accuracy_logprobs"),
        Column("calibration error", "ece"),
        Column("Brier score", "brier"),
    )
    return shared.readers_table(
        index,
        "sureness",
        (Column("accuracy, as read", "accuracy"), *sure),
        *shared.interval_notes(index, *(column.measure for column in sure)),
        readers=[r for r in index.readers if any(column.known(index, r) for column in sure)],
        absent=NOT_ASKED,
    )


# ---------------------------------------------------------------- leakage
# Has a reader seen the reference answers? How alike are their words?

_LEAKAGE_KINDS: Final = {
    "MCQ-converted": (("kind", "reformulated"),),
    "open": (("kind", "open"),),
    "overall": (),
}
_LEAKAGE_NAMES: Final = {"rouge_l": "ROUGE-L", "edit_similarity": "edit similarity"}


def leakage_table(index: Index) -> Table | None:
    """The paper's Tables 4 and 5 side by side."""
    columns = [
        Column(f"{said}, {kind}", name, by)
        for name, said in _LEAKAGE_NAMES.items()
        for kind, by in _LEAKAGE_KINDS.items()
    ]
    notes = shared.interval_notes(index, *_LEAKAGE_NAMES)
    return shared.readers_table(
        index, "leakage", columns, *notes, absent=NOT_ASKED, only_asked=True
    )
