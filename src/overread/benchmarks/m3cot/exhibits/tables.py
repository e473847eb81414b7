"""Tables beside the summary: by task and step, with other images, readers against readers.

And can the judges be trusted: on replies of known truth, with each other, and to be read at all?
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from overread.benchmarks.exhibits.cells import p_value, table
from overread.benchmarks.exhibits.index import Index
from overread.benchmarks.exhibits.judges import agreement_table, fitness_table
from overread.benchmarks.exhibits.numbers import NOT_ASKED, cell, tested
from overread.benchmarks.m3cot.cases import STEPS
from overread.benchmarks.m3cot.edition import FOLLOWS, IMAGES, MODES
from overread.benchmarks.m3cot.exhibits.summary import COLUMNS, PARTS, notes_on_judges
from overread.case import Measure, Table

__all__ = [
    "follow_table",
    "image_table",
    "impact_table",
    "judge_tables",
    "kinds_table",
    "modalities_table",
    "pairs_table",
    "steps_table",
    "tasks_of",
    "tasks_table",
]

_FEW: Final = 10
_MOST_MODALITIES: Final = 24
_STEP_NAMES: Final = {
    "modality": "examination",
    "feature": "image features",
    "conclusion": "key conclusions",
    "analysis": "additional analysis",
}


def tasks_of(index: Index) -> list[str]:
    """The tasks by falling number of items."""
    sizes: dict[str, int] = {}
    for name in ("f1", "impact", "consistency"):
        for record in index.all(name, "task"):
            task = record.by["task"]
            sizes[task] = max(sizes.get(task, 0), record.n or 0)
    for record in index.all("accuracy", "mode", "task"):
        task = record.by["task"]
        sizes[task] = max(sizes.get(task, 0), record.n or 0)
    return sorted(sizes, key=lambda task: (-sizes[task], task))


def tasks_table(index: Index, signature: str) -> Table | None:
    """Every measure in every task."""
    return _grouped(
        index, signature, "task", tasks_of(index), "tasks", "Task by task: every measure"
    )


def kinds_table(index: Index, signature: str) -> Table | None:
    """The same by the kind of question: one option, several, true or false, in words."""
    kinds = sorted({record.by["kind"] for record in index.all("accuracy", "mode", "kind")})
    return _grouped(index, signature, "kind", kinds, "kinds", "By kind of question")


def _grouped(
    index: Index, signature: str, key: str, groups: list[str], name: str, title: str
) -> Table | None:
    columns = [
        column
        for column in COLUMNS[:7]
        if any(column.of(index, reader, **{key: g}) for reader in index.readers for g in groups)
    ]
    rows = [
        (group, reader, *(cell(column.of(index, reader, **{key: group})) for column in columns))
        for group in groups
        for reader in index.readers
    ]
    few = f"Groups of fewer than {_FEW} items say little; their intervals tell how little."
    return table(
        name,
        title,
        (key, "reader", *(column.heading for column in columns)),
        rows,
        signature,
        (
            few,
            *notes_on_judges(index, ("answer", "precision", "recall", "order")),
        ),
        facts=2,
    )


def modalities_table(index: Index, signature: str) -> Table | None:
    """Recall by the examination, the most frequent first."""
    sizes: dict[str, int] = {}
    for record in index.all("recall", "modality"):
        name = record.by["modality"]
        sizes[name] = max(sizes.get(name, 0), record.n or 0)
    named = sorted(sizes, key=lambda name: (-sizes[name], name))
    rows = [
        (name, reader, cell(index.get(reader, "recall", modality=name)))
        for name in named[:_MOST_MODALITIES]
        for reader in index.readers
    ]
    more = len(named) - _MOST_MODALITIES
    rest = [f"{more} less frequent examinations are in measures.json only."] if more > 0 else []
    return table(
        "modalities",
        "How much of the gold steps is there, by examination?",
        ("examination", "reader", "recall"),
        rows,
        signature,
        (
            "The examination as the set states it, or else as the gold step words it. Groups of "
            f"fewer than {_FEW} items say little; their intervals tell how little.",
            *rest,
            *notes_on_judges(index, ("recall",)),
        ),
        facts=2,
    )


def steps_table(index: Index, signature: str) -> Table | None:
    """Which kind of step is right, and which is there at all."""
    if not (index.all("precision", "step") or index.all("recall", "step")):
        return None
    rows = [
        (
            _STEP_NAMES[step],
            reader,
            *(
                cell(index.get(reader, name, step=step))
                for name in ("precision", "precision_no_na", "recall")
            ),
        )
        for step in STEPS
        for reader in index.readers
    ]
    return table(
        "steps",
        "Which steps are right, and which are there?",
        ("step", "reader", "precision", "precision without N/A", "recall"),
        rows,
        signature,
        (
            "Precision over replies with a step of this kind, recall over items with such a gold "
            "step. N/A: steps that a judge calls background; they count against precision.",
            *notes_on_judges(index, ("precision", "recall")),
        ),
        facts=2,
    )


_ASKED_FOR: Final = {
    "truncated": "after half of the reasoning",
    "answer_first": "before any reasoning",
}


def image_table(index: Index, signature: str) -> Table | None:
    """Accuracy with the item's image, a black one and another item's; and what words survive."""
    others = [image for image in IMAGES if image != "original"]
    asked = [
        image
        for image in others
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
            cells = [cell(own)]
            for image in asked:
                by = {"mode": mode, "image": image}
                effect = index.get(reader, "image_effect", **by)
                cells += [cell(index.get(reader, "accuracy", **by)), tested(effect)]
            if mode == "cot":
                words = [index.get(reader, "survives", image=image) for image in asked]
                cells += [cell(one) for one in (*words, index.get(reader, "survives_chance"))]
            else:
                cells += [NOT_ASKED] * (len(asked) + 1)
            rows.append((reader, "CoT" if mode == "cot" else mode, *cells))
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
            if kept is None:
                continue
            after = index.get(reader, "accuracy", **by)
            rows.append((reader, _ASKED_FOR[follow], cell(kept), cell(after), cell(whole)))
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


_DIFFERENCES: Final = {
    "diff_accuracy": "accuracy",
    "diff_precision": "precision",
    "diff_recall": "recall",
    "diff_f1": "F1",
    "diff_consistency": "consistency",
}


def pairs_table(index: Index, signature: str) -> Table | None:
    """Differences with their intervals and tests."""
    rows = [
        (record.reader, record.by["versus"], said, cell(record), p_value(record.p), _q(record))
        for record, said in _differences(index)
    ]
    return table(
        "pairs",
        "Who reasons better?",
        ("reader", "less", "measure", "difference", "p", "q"),
        rows,
        signature,
        (
            "Points of percent on the same items. p: accuracy by McNemar's exact test (one judge) "
            "or flips of sign, precision and recall by flips of sign, consistency by exchanging "
            "replies; F1 has its interval only. q: Benjamini and Hochberg's within a measure.",
            *notes_on_judges(index, ("answer", "precision", "recall", "order")),
        ),
        facts=3,
    )


def _differences(index: Index) -> Iterator[tuple[Measure, str]]:
    for name, said in _DIFFERENCES.items():
        for record in index.all(name, "versus"):
            yield record, said
        for record in index.all(name, "mode", "versus"):
            yield record, f"{said} {'CoT' if record.by['mode'] == 'cot' else record.by['mode']}"


def impact_table(index: Index, signature: str) -> Table | None:
    """Does reasoning help? By judge, for judges need not agree."""
    rows = [
        (reader, judge, cell(record), p_value(record.p), _q(record))
        for reader in index.readers
        for judge, record in _impacts(index, reader)
    ]
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


def _impacts(index: Index, reader: str) -> Iterator[tuple[str, Measure]]:
    judges = index.groups("impact", "judge")
    whole = index.known(reader, "impact")
    if whole is not None and len(judges) != 1:
        yield "mean of all", whole
    for judge in judges:
        record = index.known(reader, "impact", judge=judge)
        if record is not None:
            yield judge, record


def _q(record: Measure) -> str:
    return p_value(record.q)


_VERDICT_OUTCOMES: Final = (
    "verdicts_judged",
    "verdicts_rescued",
    "verdicts_invalid",
    "verdicts_unanswered",
)
_LONGEST: Final = 160
# The harmless changes of `judging.rubric`, as columns.
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
    for record in _verdict_records(index):
        by = record.by
        answered = index.get(record.reader, "answered", mode=by["mode"])
        found = [index.get(record.reader, name, **by) for name in _VERDICT_OUTCOMES]
        told = found[1].note if found[1] is not None and found[1].note else ""
        rows.append(
            (
                record.reader,
                "CoT" if by["mode"] == "cot" else by["mode"],
                _k_of_n(answered),
                by["judge"],
                PARTS[by["question"]].said,
                *map(_k_of_n, found),
                told if len(told) <= _LONGEST else f"{told[:_LONGEST]}…",
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


def _verdict_records(index: Index) -> list[Measure]:
    return index.all("verdicts_judged", "question", "mode", "judge")


def _k_of_n(record: Measure | None) -> str:
    if record is None or record.k is None:
        return cell(record)
    return f"{record.k}/{record.n}"
