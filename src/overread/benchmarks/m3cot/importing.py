"""Results made with the authors' own scripts become the tables of a run; no model is asked.

What is read: predictions (<model>_cot.json, <model>_direct.json; predictions_cot.json of a
stand-alone script), totals of times (<model>_summary.json, timing_results/<model>.json), and what
judges said: the scripts' cache (<question>/<model>/<index>.json), their accuracies and orders,
judges/<judge>/<question>/<model>/<index>.txt, and JSON lines of {judge, question, model, mode,
index, reply}. `result_files` says what names and folders mean.

Without cases, items are known by their number alone: those of `type.xlsx` beside the results, which
says their tasks, or else those of a reader's own files. What others did is no matter. Recall is
over the gold steps, so that it needs the cases.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

from overread.benchmarks import importing as shared
from overread.benchmarks.base import Imported, Left, Tables
from overread.benchmarks.files.fields import read_fields
from overread.benchmarks.importing import IMPORTED, NOT_KEPT
from overread.benchmarks.m3cot import result_files
from overread.benchmarks.m3cot.authors import failed_text
from overread.benchmarks.m3cot.benchmark import M3CoT
from overread.benchmarks.m3cot.cases import (
    READER,
    TASK_COLUMN,
    CaseRow,
    M3Case,
    case_row,
    is_empty,
    task_of,
)
from overread.benchmarks.m3cot.edition import BOOK, MODES, Edition
from overread.benchmarks.m3cot.judge_questions import About, questions, read_verdict
from overread.benchmarks.m3cot.result_files import UNNAMED, Judgement, Prediction, Result, brief
from overread.benchmarks.m3cot.trials import Answer
from overread.benchmarks.tables import answers_frame, frame_of
from overread.case import BadInput, Policy
from overread.judging.question import about_of, by_name


class Items:
    """Cases by their index. A class, for it counts what is asked of it in vain."""

    def __init__(self, cases: Sequence[M3Case], left: Sequence[Left] = ()) -> None:
        self._cases = sorted(cases, key=lambda case: case.index)
        self._by_index = {case.index: case for case in cases}
        self._left = {one.case: one.reason for one in left}
        self._passed: Counter[int] = Counter()

    @classmethod
    def of_numbers(cls, indices: Iterable[int], types: Sequence[Path]) -> Items:
        """Items known by their number: all of a workbook of types, which says their tasks, and
        those of the files."""
        tasks = {index: task for path in types for index, task in _tasks_in(path)}
        return cls(
            [
                M3Case(
                    case_id=str(index),
                    index=index,
                    question="",
                    answer="",
                    kind="short",
                    task=tasks.get(index, ""),
                    image="",
                    steps=(),
                )
                for index in sorted({*tasks, *indices})
            ]
        )

    def case(self, index: int, where: str) -> M3Case | None:
        """The case of an index; None of an item that the set itself leaves out."""
        found = self._by_index.get(index)
        if found is None:
            if str(index) not in self._left:
                raise BadInput(f"{where}: index {index} is not among the cases. Give their set.")
            self._passed[index] += 1
        return found

    @property
    def rows(self) -> list[CaseRow]:
        return [case_row(case) for case in self._cases]

    def warnings(self) -> Iterator[str]:
        if self._passed:
            first = min(self._passed)
            yield (
                f"{self._passed.total()} results are of {len(self._passed)} items that the set "
                f"leaves out, such as {first} ({self._left[str(first)]})."
            )


def _tasks_in(path: Path) -> Iterator[tuple[int, str]]:
    for row in read_fields(path, ("index", TASK_COLUMN)):
        index, label = result_files.index_of(row.text("index")), row.text(TASK_COLUMN).strip()
        if index is None:
            row.wrong("index", "it is a number from 1")
        if not is_empty(label):
            yield index, task_of(label) or label


_SHARE_OF_TOTAL: Final = "seconds: a share of the total that the script kept"
# Durations are kept to four decimals, their total is not.
_ROUNDING: Final = 0.00005


class Collected:
    """Results as they come in. A class, for it grows; with `totals` these decide over times."""

    def __init__(self, *, totals: bool) -> None:
        self._totals = totals
        self.replies: Final[dict[tuple[str, str], dict[int, Prediction]]] = {}
        self.judgements: Final[list[Judgement]] = []
        self.warnings: Final[list[str]] = []
        self._summaries: dict[str, tuple[str, dict[str, float]]] = {}
        self._files: dict[tuple[str, str, int], str] = {}
        self._judged: dict[tuple[str, str, str, str, int], str] = {}

    def add(self, result: Result) -> None:
        """Take in one file."""
        if result.kind == "predictions":
            (model, mode), found = result_files.predictions_of(result)
            kept = self.replies.setdefault((model, mode), {})
            for one in found:
                first = self._files.setdefault((model, mode, one.item), result.shown)
                if one.item in kept:
                    raise BadInput(
                        f"{result.shown}: index {one.item} stands in {first} already. Keep one."
                    )
                kept[one.item] = one
        elif result.kind == "totals":
            model, totals = result_files.totals_of(result)
            first, _ = self._summaries.setdefault(model, (result.shown, totals))
            if first != result.shown:
                raise BadInput(f"{result.shown}: times of {model} stand in {first}. Keep one.")
        for said in result_files.judgements_of(result):
            first = self._judged.setdefault(
                (said.judge, said.question, said.model, said.mode, said.item), said.where
            )
            if first != said.where:
                raise BadInput(
                    f"{said.where}: {brief(said.judge)} said something on {said.question} of "
                    f"{brief(said.model)} {said.mode}, index {said.item}, in {first} already. "
                    "Keep one."
                )
            self.judgements.append(said)

    def timed(self, model: str, mode: str) -> bool:
        """Whether these replies have times: the authors time every call, one after another."""
        kept = self.replies.get((model, mode), {})
        return any(one.seconds is not None for one in kept.values())

    def finish(self) -> None:
        """What only shows when every file is there."""
        self.warnings.extend(self._oddities())
        self.warnings.extend(self._judged_texts())
        for model, (file, totals) in self._summaries.items():
            for mode, total in totals.items():
                self.warnings.extend(self._with_total(model, mode, total, f"{file}, {mode}"))
        unnamed = sum(one.judge == UNNAMED for one in self.judgements)
        if unnamed:
            self.warnings.append(
                f"{unnamed} verdicts have no judge's name and stand under {UNNAMED}. Put them "
                "below judges/<judge>/ to name it."
            )

    def _oddities(self) -> Iterator[str]:
        for (model, mode), kept in self.replies.items():
            failed = [one.item for one in kept.values() if one.text is None]
            searched = [one.item for one in kept.values() if one.searched]
            blank = [one.item for one in kept.values() if one.text is not None and not one.text]
            who = f"{model} {mode}"
            if failed:
                yield f"{who}: {_some_items(failed)} failed and have no reply."
            if searched:
                yield (
                    f"{who}: of these {_some_items(searched)} were thrown away for the word Error "
                    "or Failed in them; whether they were answers cannot be told."
                )
            if blank:
                yield f"{who}: {_some_items(blank)} have an empty reply."

    def _judged_texts(self) -> Iterator[str]:
        """Replies known from verdicts alone, and verdicts on other words than the reader's."""
        told: Counter[tuple[str, str]] = Counter()
        unknown: Counter[tuple[str, str]] = Counter()
        others: dict[tuple[str, str, str, str], list[int]] = {}
        given = {key: set(kept) for key, kept in self.replies.items()}
        for one in self.judgements:
            place = (one.model, one.mode)
            kept = self.replies.setdefault(place, {})
            known = one.item in given.get(place, ())
            if known and one.prediction is not None:
                words = kept[one.item].text
                # Blanks and capitals aside: judged tables have been through a table program.
                both = (
                    " ".join((said or "").split()).casefold() for said in (words, one.prediction)
                )
                if words is not None and len(set(both)) > 1:
                    key = (one.judge, one.question, *place)
                    others.setdefault(key, []).append(one.item)
            elif not known:
                before = kept.get(one.item)
                if one.prediction is not None and (before is None or before.text == NOT_KEPT):
                    said = one.prediction if one.prediction.strip() else None  # an empty cell
                    kept[one.item] = result_files.prediction_in(one.item, said)
                elif before is None and place not in given:
                    kept[one.item] = Prediction(one.item, NOT_KEPT)
                elif before is None:  # the predictions are there, and this one is not among them
                    kept[one.item] = result_files.prediction_in(one.item, None)
        for place, kept in self.replies.items():
            new = [kept[index].text for index in kept if index not in given.get(place, ())]
            unknown[place] = new.count(NOT_KEPT)
            told[place] = len(new) - new.count(NOT_KEPT) - new.count(None)
        for (model, mode), n in (+told).items():
            yield f"{model} {mode}: {n} replies are taken from the verdicts on them."
        for (model, mode), n in (+unknown).items():
            yield f"{model} {mode}: of {n} replies there are verdicts, and no words."
        for (judge, question, model, mode), indices in others.items():
            yield (
                f"{judge} on {question} of {model} {mode}: {_some_items(indices)} were judged by "
                "other words than the prediction's."
            )

    def _with_total(self, model: str, mode: str, total: float, who: str) -> Iterator[str]:
        """A total beside the items' own times; under the authors' rules they are made to fit it."""
        kept = self.replies.get((model, mode))
        if kept is None:
            yield f"{who}: there are no predictions it could be of; left out."
            return
        good = [one for one in kept.values() if one.text is not None]
        seconds = [one.seconds for one in good if one.seconds is not None]
        off = abs(sum(seconds) - total) > _ROUNDING * len(seconds) + 1e-6 * total
        if not seconds and not self._totals:
            yield (
                f"{who}: a total without any item's time counts under the authors' edition only; "
                "left out."
            )
        elif seconds and off:
            yield (
                f"{who}: the total is {total:.4f} s and the items' own times add up to "
                f"{sum(seconds):.4f}; {'the total counts' if self._totals else 'the latter count'}."
            )
        # What the authors' rules take for a failure has no part in it.
        counted = [one for one in good if not failed_text(one.text)]
        if not self._totals or not counted or total <= 0:
            return
        own = sum(one.seconds or 0.0 for one in counted)
        if not own:
            yield f"{who}: no item has its time; each gets an equal share of the total."
        for one in counted:
            share = total * (one.seconds or 0.0) / own if own else total / len(counted)
            kept[one.item] = one._replace(
                seconds=share, reason=_SHARE_OF_TOTAL if off else one.reason
            )


def _some_items(indices: list[int]) -> str:
    """`3 items (1, 5, 9)`."""
    shown = ", ".join(map(str, indices[:3])) + (", ..." if len(indices) > 3 else "")
    return f"{len(indices)} items ({shown})"


def import_results(
    cases: str | Path | None,
    replies: str | Path,
    readers: str | Path | None = None,
    edition: str = "corrected",
    words: Mapping[str, str] | None = None,
    reparse: bool = False,
    also: Sequence[str] = (),
) -> Imported:
    """Read the authors' results at `replies`, a file or a folder, and at the places of `also`.

    `cases` is a set of questions as for a run. `readers` is a models.json with their roles. What
    judges said is always read again under the edition, so that `reparse` changes nothing.
    """
    rules, options = BOOK.settings(edition, words)
    declared = shared.declared_readers(readers)
    found = [one for root in (replies, *also) for one in result_files.results_of(Path(root))]
    collected = Collected(totals=rules.error_text == "searched")
    for result in found:
        collected.add(result)
    collected.finish()
    models = sorted({model for model, _ in collected.replies})
    if not models:
        raise BadInput(f"{replies} holds no prediction and no verdict. Give the authors' results.")
    policy: Policy = "credentialed"
    if cases is not None:
        policy = READER.policy_at(cases, options.root)
        loaded = READER.load(cases, options, options.root, seen=False)
        items = Items(loaded.cases, [Left(*one) for one in loaded.left or ()])
    else:
        if any(one.question == "recall" for one in collected.judgements):
            raise BadInput("--cases is missing: recall is over the gold steps. Give the questions.")
        indices = {index for kept in collected.replies.values() for index in kept}
        tasks = [result.path for result in found if result.kind == "tasks"]
        items = Items.of_numbers(indices, tasks)
    tables = Tables(
        answers=answers_frame(
            Answer, ((model, row) for model in models for row in _answers(model, collected, items))
        ),
        verdicts=shared.verdicts_frame(_verdicts(collected, items, rules)),
        cases=frame_of(CaseRow, items.rows),
        readers=shared.reader_records(models, declared),
    )
    warnings = [*collected.warnings, *items.warnings(), *shared.without_results(models, declared)]
    strange = [result.shown for result in found if result.kind == "strange"]
    if strange:
        more = f" and {len(strange) - 3} more" if len(strange) > 3 else ""
        named = f"{', '.join(strange[:3])}{more}"
        warnings.append(f"left out, for it is no result that is known: {named}.")
    bench = shared.over_tables(M3CoT, tables, cases, policy, edition, words)
    return Imported(bench, tables, warnings, dict(words or {}))


def _answers(model: str, collected: Collected, items: Items) -> Iterator[Answer]:
    """The rows of one reader, mode by mode, by index."""
    for mode in MODES:
        timed = collected.timed(model, mode)
        for index, said in sorted(collected.replies.get((model, mode), {}).items()):
            case = items.case(index, f"{model} {mode}")
            if case is not None:
                yield Answer(
                    case=case.case_id,
                    mode=mode,
                    image="original",
                    follow="",
                    timed=timed,
                    outcome="unanswered" if said.text is None else "answered",
                    text=said.text,
                    seconds=said.seconds,
                    reason=said.reason or None,
                )


def _verdicts(collected: Collected, items: Items, rules: Edition) -> Iterator[shared.JudgedRow]:
    known = by_name(questions(rules))
    for one in collected.judgements:
        case = items.case(one.item, one.where)
        if case is None:
            continue
        reply = {"follow": "", "image": "original", "mode": one.mode}
        yield shared.judged_row(
            read_verdict(one.question, one.reply, rules, len(case.steps)),
            text=one.reply,
            reason=one.reason,
            judge=one.judge,
            role=known[one.question].role,
            question=one.question,
            reader=one.model,
            case=case.case_id,
            about=about_of(About, reply | {"timed": collected.timed(one.model, one.mode)}),
            prompt=IMPORTED,
        )
