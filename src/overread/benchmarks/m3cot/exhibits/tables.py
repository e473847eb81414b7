"""Tables: what counts in a row per reader, by task and step, with other images, reader by reader.

And can the judges be trusted: on replies of known truth, with each other, and to be read at all?
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from typing import Final

from overread.benchmarks.exhibits import cells, judges
from overread.benchmarks.exhibits import tables as shared
from overread.benchmarks.exhibits.cells import NOT_ASKED, cell, table
from overread.benchmarks.exhibits.index import Column, Index
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
_INTERVAL: Final = "[95 % interval] over items (patients, where they are known)."
_FEW: Final = 10
_FEW_NOTE: Final = f"Groups of fewer than {_FEW} items say little; their intervals tell how little."


def notes_on_judges(index: Index, questions: Sequence[str] = ALL_QUESTIONS) -> Iterator[str]:
    """Who judged these, how fit each is, and what the marks mean."""
    return judges.notes_on_judges(index, [PARTS[question] for question in questions])


def _mode(name: str) -> str:
    return "CoT" if name == "cot" else name


# ---------------------------------------------------------------- the first table


def summary(index: Index, signature: str) -> Table:
    """What counts, in one row per reader; even where there is nothing."""
    kept = [column for column in COLUMNS if column.stands(index)] or list(_UNTIMED)
    return Table(
        name="summary",
        title=QUESTION,
        columns=("reader", *(column.heading for column in kept)),
        rows=tuple(shared.reader_rows(index, kept, absent=NOT_ASKED)),
        signature=signature,
        notes=tuple(_summary_notes(index, kept)),
    )


def _summary_notes(index: Index, kept: Sequence[Column]) -> Iterator[str]:
    yield from notes_on_judges(index)
    yield (
        "Percent; impact in points: accuracy with reasoning (CoT) less accuracy without. "
        "Precision: of a reply's steps those that match the gold steps; recall: of the gold steps "
        "those in the reply. Consistency: how alike the order of steps is within a task."
    )
    if any(column.measure in ("efficiency", "latency") for column in kept):
        yield (
            "Efficiency: gold steps matched a second of reasoning; latency: time with reasoning "
            "over time without. Times as they were recorded; not comparable across machines."
        )
    else:
        yield _no_times(index)
    yield from shared.remarks_on(index, _UNTIMED)
    yield _INTERVAL


def _no_times(index: Index) -> str:
    """Why there is neither efficiency nor latency."""
    records = [record for name in ("efficiency", "latency") for record in index.all(name)]
    left_out = "Efficiency and latency are left out"
    if any(record.n for record in records):
        return f"{left_out}: replies were timed, but no time was recorded (0 s)."
    said = {record.note for record in records if record.note}
    why = f" ({'; '.join(sorted(said))})" if said else ""
    return f"{left_out}{why}: a run with --set timing=N times N items."


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


def paper_tables(index: Index, signature: str) -> Iterator[Table | None]:
    """Tables 2 and A2, as the paper lays them out: two decimals, no intervals."""
    if any(column.stands(index) for column in _TABLE_2):
        yield shared.readers_table(
            index,
            signature,
            "table_2",
            "As in Table 2 of the paper",
            _TABLE_2,
            (
                "Laid out as the paper prints it, to be held beside it; the intervals are in "
                f'"{QUESTION}" The command overread published m3cot prints the paper\'s own rows.',
                *notes_on_judges(index),
            ),
            shows=_as_printed,
        )
    if any(column.stands(index) for column in _TABLE_A2):
        yield shared.readers_table(
            index,
            signature,
            "table_a2",
            "As in Table A2 of the paper: seconds of a question",
            _TABLE_A2,
            ("Mean seconds of a reply, as recorded; not comparable across machines.", _INTERVAL),
            absent=NOT_ASKED,
        )


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


def tasks_table(index: Index, signature: str) -> Table | None:
    """Every measure in every task."""
    return _grouped(index, signature, "task", tasks_of(index), "Task by task: every measure")


def kinds_table(index: Index, signature: str) -> Table | None:
    """The same by the kind of question: one option, several, true or false, in words."""
    kinds = sorted({record.by["kind"] for record in index.all("accuracy", "mode", "kind")})
    return _grouped(index, signature, "kind", kinds, "By kind of question")


def _grouped(index: Index, signature: str, key: str, groups: list[str], title: str) -> Table | None:
    columns = [
        column
        for column in _UNTIMED
        if any(column.of(index, reader, **{key: g}) for reader in index.readers for g in groups)
    ]
    notes = (_FEW_NOTE, *notes_on_judges(index))
    return _groups(index, signature, f"{key}s", title, key, groups, columns, notes)


_MOST_MODALITIES: Final = 24


def modalities_table(index: Index, signature: str) -> Table | None:
    """Recall by the examination, the most frequent first."""
    recall = Column("recall", "recall")
    named = _by_size(shared.group_sizes(index, "modality", [recall]))
    more = len(named) - _MOST_MODALITIES
    rest = [f"{more} less frequent examinations are in measures.json only."] if more > 0 else []
    notes = (
        f"The examination as the set states it, or else as the gold step words it. {_FEW_NOTE}",
        *rest,
        *notes_on_judges(index, ("recall",)),
    )
    return _groups(
        index,
        signature,
        "modalities",
        "How much of the gold steps is there, by examination?",
        "modality",
        named[:_MOST_MODALITIES],
        [recall],
        notes,
        heading="examination",
    )


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


def steps_table(index: Index, signature: str) -> Table | None:
    """Which kind of step is right, and which is there at all."""
    if not (index.all("precision", "step") or index.all("recall", "step")):
        return None
    return _groups(
        index,
        signature,
        "steps",
        "Which steps are right, and which are there?",
        "step",
        {step: _STEP_NAMES[step] for step in STEPS},
        _STEP_COLUMNS,
        (
            "Precision over replies with a step of this kind, recall over items with such a gold "
            "step. N/A: steps that a judge calls background; they count against precision.",
            *notes_on_judges(index, ("precision", "recall")),
        ),
    )


def paths_table(index: Index, signature: str) -> Table | None:
    """The most frequent path of each task, and the share of items that take it."""
    order = {task: place for place, task in enumerate(tasks_of(index))}
    records = sorted(
        index.all("mode_share", "task", "judge", "path"),
        key=lambda one: (order.get(one.by["task"], len(order)), one.by["task"]),
    )
    return table(
        "paths",
        "Which way does the reasoning go?",
        ("task", "reader", "judge", "most frequent path", "share"),
        [
            (one.by["task"], one.reader, one.by["judge"], one.by["path"], cell(one))
            for one in records
        ],
        signature,
        (
            "The order in which the kinds of content first appear: modality, feature, conclusion, "
            "others. The share is that of the task's paths that are this one.",
            *notes_on_judges(index, ("order",)),
        ),
        facts=4,
    )


# ---------------------------------------------------------------- beyond the paper

_ASKED_FOR: Final = {
    "truncated": "after half of the reasoning",
    "answer_first": "before any reasoning",
}


def image_table(index: Index, signature: str) -> Table | None:
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
    return table(
        "image_dependence",
        "Does the reasoning depend on the image?",
        (
            *("reader", "mode", "accuracy original", *heads),
            *(f"words kept, {image}" for image in asked),
            "words kept, by chance",
        ),
        rows,
        signature,
        (
            "blank: a black image; swap: another item's image of the same task. Effect: accuracy "
            "with the item's own image less that without it, in points, with p and q (Benjamini "
            "and Hochberg's, over readers, modes and images).",
            "Words kept: the share of the words of the reasoning that also stand in the reasoning "
            "without the image; by chance: in the reply to another item of the task. A reader "
            "that keeps its words says the same whatever it is shown.",
            *notes_on_judges(index, ("answer",)),
        ),
        facts=2,
    )


def follow_table(index: Index, signature: str) -> Table | None:
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
    return table(
        "answer_follows",
        "Does the answer follow from the reasoning?",
        ("reader", "answer asked for", "same answer", "accuracy then", "accuracy after all of it"),
        rows,
        signature,
        (
            "Same answer: how often it is the one given after all of the reasoning. Near 100: the "
            "answer does not wait for the reasoning.",
            *notes_on_judges(index, ("answer",)),
        ),
        facts=2,
    )


# ---------------------------------------------------------------- readers against readers

_DIFFERENCES: Final = {
    "diff_accuracy": "accuracy",
    "diff_precision": "precision",
    "diff_recall": "recall",
    "diff_f1": "F1",
    "diff_consistency": "consistency",
}


def pairs_table(index: Index, signature: str) -> Table | None:
    """Every reader against every other on the same items, with intervals and tests."""
    found = list(
        shared.differences(index, _DIFFERENCES, "mode", lambda said, mode: f"{said} {_mode(mode)}")
    )
    steps, f1 = "precision and recall", "; F1 has its interval only"
    if any(record.measure == "diff_f1" and record.p is not None for record, _ in found):
        steps, f1 = "precision, recall and F1", ""
    return table(
        "pairs",
        "Who reasons better?",
        ("reader", "less", "measure", "difference", "p", "q"),
        shared.difference_rows(found),
        signature,
        (
            "Points of percent on the same items. p: accuracy by McNemar's exact test (one judge) "
            f"or flips of sign, {steps} by flips of sign, consistency by exchanging "
            f"replies{f1}. q: Benjamini and Hochberg's within a measure.",
            *notes_on_judges(index),
        ),
        facts=3,
    )


def impact_table(index: Index, signature: str) -> Table | None:
    """Does reasoning help? By judge, for judges need not agree."""
    judges, rows = index.groups("impact", "judge"), []
    for reader in index.readers:
        found = {judge: index.known(reader, "impact", judge=judge) for judge in judges}
        if len(judges) != 1:
            found = {"mean of all": index.known(reader, "impact"), **found}
        for judge, one in found.items():
            if one is not None:
                rows.append((reader, judge, cell(one), cells.p_value(one.p), cells.p_value(one.q)))
    return table(
        "impact",
        "Does reasoning help?",
        ("reader", "judge", "impact", "p", "q"),
        rows,
        signature,
        (
            "Accuracy with reasoning less accuracy without, in points, on the same items. p of one "
            "judge: McNemar's exact test; of the mean of several: flips of sign.",
            *notes_on_judges(index, ("answer",)),
        ),
        facts=2,
    )


# ---------------------------------------------------------------- judges

_VERDICT_OUTCOMES: Final = (
    "verdicts_judged",
    "verdicts_rescued",
    "verdicts_invalid",
    "verdicts_unanswered",
)
_LONGEST: Final = 160
# The harmless changes of `judging.sensitivity`, as columns.
_CHANGE_COLUMNS: Final = {
    "sections": "changed by the parts' order",
    "steps": "changed by the gold steps' order",
    "length": "changed by length",
}
_SHIFT_NOTE: Final = (
    "Changed: of its verdicts on these replies, the share that is another when the parts of the "
    "prompt or the gold steps stand in reverse, or when polite words that say nothing go before "
    "the reply (the order then without others). Verdicts on one reply count as if they were "
    "independent."
)
_AGREEMENT_NOTE: Final = (
    "Kappa: Cohen's, agreement beyond that of judges who say as often what these say, but by lot; "
    "n/a where both said one thing only. Intervals: items are drawn again and again, each with all "
    "verdicts on its replies (a patient with all its items)."
)


def judge_tables(index: Index, signature: str) -> Iterator[Table | None]:
    """Fitness, agreement, and verdicts that could be read."""
    parts = list(PARTS.values())
    yield fitness_table(index, signature, parts, _CHANGE_COLUMNS, _SHIFT_NOTE)
    yield agreement_table(index, signature, parts, "task", _AGREEMENT_NOTE)
    yield _verdicts_table(index, signature)


def _verdicts_table(index: Index, signature: str) -> Table | None:
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
    return table(
        "verdicts",
        "Could replies and verdicts be read?",
        (
            *("reader", "mode", "replies", "judge", "judges what", "read", "of these rescued"),
            *("not readable", "no verdict", "how they were rescued"),
        ),
        rows,
        signature,
        (
            "k/n. Rescued: read after all, though not strict JSON in the words asked for. What is "
            "not readable was asked again first, as often as the edition says. Steps and order "
            "leave it out; accuracy counts it as wrong, or leaves it out in the authors' edition.",
        ),
        facts=5,
    )


def _k_of_n(record: Measure | None) -> str:
    if record is None or record.k is None:
        return _cell(record)
    return f"{record.k}/{record.n}"
