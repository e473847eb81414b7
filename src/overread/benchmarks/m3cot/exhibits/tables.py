"""Tables: what counts in a row per reader, by task and step, with other images, reader by reader.

And can the judges be trusted: on replies of known truth, with each other, and to be read at all?
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from typing import Final

from overread.benchmarks.exhibits import cells, judges
from overread.benchmarks.exhibits import tables as shared
from overread.benchmarks.exhibits.cells import NOT_ASKED, cell
from overread.benchmarks.exhibits.index import Column, Index, wording_beside
from overread.benchmarks.exhibits.judges import Part, agreement_table, fitness_table
from overread.benchmarks.m3cot.cases import STEPS
from overread.benchmarks.m3cot.edition import FOLLOWS, IMAGES, MODES
from overread.benchmarks.m3cot.sentences import QUESTION
from overread.case import Measure, Table

PARTS: Final = {
    name: Part(said, measure, {"question": name}, keys)
    for name, said, measure, keys in (
        ("answer", "answers", "accuracy", ("mode",)),
        ("precision", "the reply's steps", "precision", ()),
        ("recall", "the gold steps", "recall", ()),
        ("order", "the order", "consistency", ()),
    )
}
"""What judges say of a reply's reasoning, by question."""
ALL_QUESTIONS: Final = tuple(PARTS)
_DIRECT: Final = (("mode", "direct"),)
_COT: Final = (("mode", "cot"),)
COLUMNS: Final = (
    Column("accuracy direct", "accuracy", _DIRECT),
    Column("accuracy CoT", "accuracy", _COT),
    Column("impact", "impact"),
    Column("precision", "precision"),
    Column("recall", "recall"),
    Column("F1", "f1"),
    Column("consistency", "consistency"),
    Column("efficiency", "efficiency"),
    Column("latency", "latency"),
)
_UNTIMED: Final = COLUMNS[:7]
_cell = partial(cell, absent=NOT_ASKED)
_groups = partial(shared.groups_table, absent=NOT_ASKED)
WORDING: Final = wording_beside(__file__, question=QUESTION, few=10)


def notes_on_judges(index: Index, questions: Sequence[str] = ALL_QUESTIONS) -> Iterator[str]:
    """Who judged these, how fit each is, and what the marks mean."""
    return judges.notes_on_judges(index, [PARTS[question] for question in questions])


def _mode(name: str) -> str:
    return "CoT" if name == "cot" else name


# ---------------------------------------------------------------- the first table


def summary(index: Index) -> Table:
    """What counts, in one row per reader; even where there is nothing."""
    kept = [column for column in COLUMNS if column.stands(index)] or list(_UNTIMED)
    headings = ("reader", *(column.heading for column in kept))
    rows = shared.reader_rows(index, kept, absent=NOT_ASKED)
    timed = any(column.measure in ("efficiency", "latency") for column in kept)
    notes = (
        *notes_on_judges(index),
        index.note("measures"),
        index.note("times") if timed else _no_times(index),
        *shared.remarks_on(index, _UNTIMED),
        index.note("intervals"),
    )
    return index.whole_table("summary", rows, *notes, columns=headings)


def _no_times(index: Index) -> str:
    """Why there is neither efficiency nor latency."""
    records = [record for name in ("efficiency", "latency") for record in index.all(name)]
    if any(record.n for record in records):
        return index.note("zero_times")
    said = {record.note for record in records if record.note}
    return index.note("no_times", why=f" ({'; '.join(sorted(said))})" if said else "")


# ---------------------------------------------------------------- as the paper has it

_TABLE_2: Final = (
    Column("F1", "f1"),
    Column("P", "precision"),
    Column("R", "recall"),
    Column("Acc direct", "accuracy", _DIRECT),
    Column("Acc step", "accuracy", _COT),
    Column("I", "impact"),
    Column("E", "efficiency"),
    Column("L", "latency"),
    Column("C path", "consistency"),
)
_TABLE_A2: Final = (
    Column("direct, s", "seconds", _DIRECT),
    Column("CoT, s", "seconds", _COT),
)


def paper_tables(index: Index) -> Iterator[Table | None]:
    """Tables 2 and A2, as the paper lays them out: two decimals, no intervals."""
    if any(column.stands(index) for column in _TABLE_2):
        notes = notes_on_judges(index)
        yield shared.readers_table(index, "table_2", _TABLE_2, *notes, shows=_as_printed)
    if any(column.stands(index) for column in _TABLE_A2):
        yield shared.readers_table(index, "table_a2", _TABLE_A2, absent=NOT_ASKED)


def _as_printed(record: Measure | None) -> str:
    if record is None:
        return NOT_ASKED
    if record.value is None:
        return cells.NOT_KNOWN
    if record.measure in ("efficiency", "latency"):
        return f"{record.value:.2f}{cells.worth(record)}"
    return cells.plain(record, decimals=2) + cells.worth(record)


# ---------------------------------------------------------------- groups of items


def tasks_of(index: Index) -> list[str]:
    """The tasks by falling number of items."""
    return _by_size(shared.group_sizes(index, "task", _UNTIMED))


def _by_size(sizes: dict[str, int]) -> list[str]:
    return sorted(sizes, key=lambda name: (-sizes[name], name))


def tasks_table(index: Index) -> Table | None:
    """Every measure in every task."""
    return _grouped(index, "task", tasks_of(index))


def kinds_table(index: Index) -> Table | None:
    """The same by the kind of question: one option, several, true or false, in words."""
    kinds = sorted({record.by["kind"] for record in index.all("accuracy", "mode", "kind")})
    return _grouped(index, "kind", kinds)


def _grouped(index: Index, key: str, groups: list[str]) -> Table | None:
    columns = [
        column
        for column in _UNTIMED
        if any(column.of(index, reader, **{key: g}) for reader in index.readers for g in groups)
    ]
    return _groups(index, f"{key}s", key, groups, columns, *notes_on_judges(index))


_MOST_MODALITIES: Final = 24


def modalities_table(index: Index) -> Table | None:
    """Recall by the examination, the most frequent first."""
    recall = Column("recall", "recall")
    named = _by_size(shared.group_sizes(index, "modality", [recall]))
    more = len(named) - _MOST_MODALITIES
    notes = (
        *([index.note("more_modalities", more=more)] if more > 0 else []),
        *notes_on_judges(index, ("recall",)),
    )
    some = named[:_MOST_MODALITIES]
    return _groups(index, "modalities", "modality", some, [recall], *notes, heading="examination")


_STEP_NAMES: Final = {
    "modality": "examination",
    "feature": "image features",
    "conclusion": "key conclusions",
    "analysis": "additional analysis",
}
_STEP_COLUMNS: Final = (
    Column("precision", "precision"),
    Column("precision without N/A", "precision_no_na"),
    Column("recall", "recall"),
)


def steps_table(index: Index) -> Table | None:
    """Which kind of step is right, and which is there at all."""
    if not (index.all("precision", "step") or index.all("recall", "step")):
        return None
    steps: dict[str, str] = {step: _STEP_NAMES[step] for step in STEPS}
    notes = notes_on_judges(index, ("precision", "recall"))
    return _groups(index, "steps", "step", steps, _STEP_COLUMNS, *notes)


def paths_table(index: Index) -> Table | None:
    """The most frequent path of each task, and the share of items that take it."""
    order = {task: place for place, task in enumerate(tasks_of(index))}
    records = sorted(
        index.all("mode_share", "task", "judge", "path"),
        key=lambda one: (order.get(one.by["task"], len(order)), one.by["task"]),
    )
    rows = (
        (one.by["task"], one.reader, one.by["judge"], one.by["path"], cell(one)) for one in records
    )
    return index.table("paths", rows, *notes_on_judges(index, ("order",)), first=4)


# ---------------------------------------------------------------- beyond the paper

_ASKED_FOR: Final = {
    "truncated": "after half of the reasoning",
    "answer_first": "before any reasoning",
}


def image_table(index: Index) -> Table | None:
    """Accuracy with the item's image, a black one and another item's; and what words survive."""
    asked = [
        image
        for image in IMAGES[1:]
        if any(index.get(r, "accuracy", mode=m, image=image) for r in index.readers for m in MODES)
        or index.any("survives", image=image)
    ]
    if not asked:
        return None
    rows = []
    for reader in index.readers:
        for mode in MODES:
            own = index.get(reader, "accuracy", mode=mode)
            if own is None:
                continue
            row = [cell(own)]
            for image in asked:
                by = {"mode": mode, "image": image}
                effect = index.get(reader, "image_effect", **by)
                found = index.get(reader, "accuracy", **by)
                row += [_cell(found), cells.with_tests(effect)]
            words = [index.get(reader, "survives", image=image) for image in asked]
            words.append(index.get(reader, "survives_chance"))
            reasoned = mode == "cot"
            row += [_cell(one if reasoned else None) for one in words]
            rows.append((reader, _mode(mode), *row))
    heads = [word for image in asked for word in (f"accuracy {image}", f"effect of {image}")]
    columns = (
        *("reader", "mode", "accuracy original", *heads),
        *(f"words kept, {image}" for image in asked),
        "words kept, by chance",
    )
    notes = notes_on_judges(index, ("answer",))
    return index.table("image_dependence", rows, *notes, columns=columns, first=2)


def follow_table(index: Index) -> Table | None:
    """Whether the answer waits for the reasoning."""
    rows = []
    for reader in index.readers:
        whole = index.get(reader, "accuracy", mode="cot")
        for follow in FOLLOWS:
            by = {"mode": "cot", "follow": follow}
            kept = index.get(reader, "answer_kept", **by)
            if kept is not None:
                found = (kept, index.get(reader, "accuracy", **by), whole)
                rows.append((reader, _ASKED_FOR[follow], *map(_cell, found)))
    return index.table("answer_follows", rows, *notes_on_judges(index, ("answer",)), first=2)


# ---------------------------------------------------------------- readers against readers

_DIFFERENCES: Final = {
    "diff_accuracy": "accuracy",
    "diff_precision": "precision",
    "diff_recall": "recall",
    "diff_f1": "F1",
    "diff_consistency": "consistency",
}


def pairs_table(index: Index) -> Table | None:
    """Every reader against every other on the same items, with intervals and tests."""
    found = list(
        shared.differences(index, _DIFFERENCES, "mode", lambda said, mode: f"{said} {_mode(mode)}")
    )
    steps, f1 = "precision and recall", "; F1 has its interval only"
    if any(record.measure == "diff_f1" and record.p is not None for record, _ in found):
        steps, f1 = "precision, recall and F1", ""
    rows, judges = shared.difference_rows(found), notes_on_judges(index)
    return index.table("pairs", rows, *judges, first=3, steps=steps, f1=f1)


def impact_table(index: Index) -> Table | None:
    """Does reasoning help? By judge, for judges need not agree."""
    judges, rows = index.groups("impact", "judge"), []
    for reader in index.readers:
        found = {judge: index.known(reader, "impact", judge=judge) for judge in judges}
        if len(judges) != 1:
            found = {"mean of all": index.known(reader, "impact"), **found}
        for judge, one in found.items():
            if one is not None:
                rows.append((reader, judge, cell(one), cells.p_value(one.p), cells.p_value(one.q)))
    return index.table("impact", rows, *notes_on_judges(index, ("answer",)), first=2)


# ---------------------------------------------------------------- judges

_VERDICT_OUTCOMES: Final = (
    "verdicts_judged",
    "verdicts_rescued",
    "verdicts_invalid",
    "verdicts_unanswered",
)
_LONGEST: Final = 160


def judge_tables(index: Index) -> Iterator[Table | None]:
    """Fitness, agreement, and verdicts that could be read."""
    parts = list(PARTS.values())
    yield fitness_table(index, parts)
    yield agreement_table(index, parts, "task")
    yield _verdicts_table(index)


def _verdicts_table(index: Index) -> Table | None:
    """Replies that were there, and verdicts that could be read."""
    rows = []
    for record in index.all("verdicts_judged", "question", "mode", "judge"):
        by = record.by
        answered = index.get(record.reader, "answered", mode=by["mode"])
        found = [index.get(record.reader, name, **by) for name in _VERDICT_OUTCOMES]
        saved = found[1].note if found[1] is not None and found[1].note else ""
        rows.append(
            (
                record.reader,
                _mode(by["mode"]),
                _k_of_n(answered),
                by["judge"],
                PARTS[by["question"]].said,
                *map(_k_of_n, found),
                saved if len(saved) <= _LONGEST else f"{saved[:_LONGEST]}…",
            )
        )
    return index.table("verdicts", rows, first=5)


def _k_of_n(record: Measure | None) -> str:
    if record is None or record.k is None:
        return _cell(record)
    return f"{record.k}/{record.n}"
