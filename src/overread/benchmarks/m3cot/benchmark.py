"""The M3CoT benchmark: one edition of its rules over one set of questions."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

import msgspec

from overread.benchmarks.base import Benchmark, ComparedWords, Loaded, Phantoms, Recovered, Tables
from overread.benchmarks.m3cot.cases import FACETS, CaseRow, M3Case, case_row, cases_in
from overread.benchmarks.m3cot.edition import BOOK, MODES, Edition, Options
from overread.benchmarks.m3cot.judge_questions import questions
from overread.benchmarks.m3cot.loading import READER
from overread.benchmarks.m3cot.trials import (
    Answer,
    answer_of,
    follow_ups,
    swap_remarks,
    swaps,
    timed,
    timed_items,
    trials,
)
from overread.benchmarks.tables import cells_of
from overread.case import (
    BadInput,
    Card,
    Condition,
    Figure,
    Headline,
    Measure,
    Reader,
    Reply,
    Table,
    Traits,
    Trial,
)
from overread.judging.question import Question, judges_and_words, reread, with_own_words
from overread.measuring.units import declared

if TYPE_CHECKING:
    import polars as pl

    from overread.judging.sheet import Unit


class M3CoT(Benchmark):
    """Did it reason as a clinician would? Replies are judged, followed up and timed."""

    name = "m3cot"
    question = "Does it reason?"
    phantoms = Phantoms(maker="overread.phantoms.question:write_phantoms", size=60)
    metrics = "overread.benchmarks.m3cot.measures:METRICS"
    importer = "overread.benchmarks.m3cot.importing:import_results"
    published = "m3cot"
    pictures = True
    made_of = {"efficiency": ("accuracy", "f1", "precision", "recall")}  # noqa: RUF012
    drawn = ("varied",)
    compared = (
        ComparedWords.share(
            "accuracy_cot", "accuracy with reasoning", "is right after reasoning on"
        ),
        ComparedWords.share(
            "accuracy_direct", "accuracy without reasoning", "is right without reasoning on"
        ),
        ComparedWords.more("step_f1", "step F1"),
    )
    units_beside = declared(
        share="path_likeness verdicts_invalid verdicts_unanswered verdicts_rescued "
        "judge_sensitivity judge_specificity judge_shift judge_agreement",
        signed="judge_kappa",
    )
    book = BOOK
    sets = READER
    case_type = CaseRow
    answer_type = Answer
    rules: Edition
    options: Options

    def check_opened(self) -> None:
        _ = self.questions  # words that cannot be read are found before

    # ------------------------------------------------------------ cases

    @cached_property
    def _swapped(self) -> dict[str, M3Case]:
        return swaps(self.cases(), self.rules.seed) if "swap" in self.options.images else {}

    def case_row(self, case: M3Case) -> Sequence[Any]:
        return cells_of(case_row(case, self._swapped.get(case.case_id)))

    @property
    def remarks(self) -> Sequence[str]:
        """Images that are not there, and items without another image to be shown with."""
        alone = swap_remarks(self.cases(), self._swapped) if "swap" in self.options.images else ()
        return (*self.loaded.remarks, *alone)

    @cached_property
    def root(self) -> str:
        if self.path is None:  # judges and controls, who see no image, may be asked all the same
            return ""
        return str(READER.root_of(self.path, self.options.root).absolute())

    # ------------------------------------------------------------ asking

    def trials(self, case: M3Case, traits: Traits) -> Iterator[Trial]:
        swap = self._swapped.get(case.case_id)
        return trials(case, traits, self.rules, self.options, self.root, swap)

    @property
    def follows(self) -> bool:
        return bool(self.options.follow)

    def follow_ups(
        self, case: str, said: Sequence[tuple[Trial, Reply]], traits: Traits
    ) -> Iterator[Trial]:
        return follow_ups(self.by_id[case], said, traits, self.rules, self.options, self.root)

    @property
    def times(self) -> bool:
        return self.options.timing > 0

    def timed(self, chosen: frozenset[str] | None, traits: Traits) -> Iterator[Trial]:
        items = [c for c in self.cases() if chosen is None or c.case_id in chosen]
        for case in timed_items(items, self.options.timing, self.rules.seed):
            yield from timed(case, traits, self.rules, self.options, self.root)

    def answer(
        self, trial: Trial, reply: Reply | None, traits: Traits, reason: str = ""
    ) -> Sequence[Any]:
        return cells_of(answer_of(trial, reply, reason))

    # ------------------------------------------------------------ judging

    @cached_property
    def questions(self) -> tuple[Question, ...]:
        """All that judges are asked, in the user's own words where there are any."""
        return with_own_words(questions(self.rules), self.options.rubrics)

    @property
    def checks(self) -> Sequence[str]:
        """Controls whose replies judges judge first; none where nothing is to be checked."""
        from overread.benchmarks.m3cot.controls import CONTROLS

        return CONTROLS if self.options.checks else ()

    def judges(self) -> Mapping[str, Reader]:
        from overread.judging.lexical import LexicalJudge

        return {"lexical-judge": LexicalJudge()}

    def usual_length(self, condition: Condition) -> int:
        """Characters: a line, or the some 400 tokens that models reason for."""
        return 1600 if condition["mode"] == "cot" else 40

    def judge_over(self, tables: Tables) -> None:
        """Judges are asked about the questions of a run's tables; no image is needed for that."""
        cases = list(cases_in(tables.cases).values())
        bare = sum(not case.question.strip() for case in cases)
        if bare:
            raise BadInput(
                f"{bare} items of this run have no question, and judges need it. Import the "
                "results again with --cases."
            )
        self.loaded = Loaded(cases, [])
        _ = self.questions  # words that cannot be read are found before

    def units(self, tables: Tables) -> list[Unit]:
        """What judges judged in a run, for a person to judge too."""
        from overread.judging.sheet import units_of

        if tables.verdicts is None:
            return []
        return units_of(self.questions, cases_in(tables.cases), tables.answers, tables.verdicts)

    # ------------------------------------------------------------ measuring

    def reread(self, tables: Tables) -> Tables:
        """Verdicts read again under this edition; replies have nothing to be read."""
        if tables.verdicts is None:
            return tables
        verdicts = reread(self.questions, tables.verdicts, cases_in(tables.cases))
        return msgspec.structs.replace(tables, verdicts=verdicts)

    def measure(self, tables: Tables) -> list[Measure]:
        from overread.benchmarks.m3cot.measures import measure, measure_judged

        if tables.verdicts is None:
            return measure(tables, None, self.rules, veiled=self.policy != "open")
        veiled = self.policy != "open"
        return measure_judged(tables, tables.verdicts, self.questions, self.rules, veiled=veiled)

    def exhibits(self, measures: Sequence[Measure], signature: str) -> Iterator[Table | Figure]:
        from overread.benchmarks.m3cot.exhibits import exhibits

        return exhibits(measures, signature)

    def pictured(self, tables: Tables, signature: str) -> Iterator[Table | Figure]:
        """Gold steps beside a reader's own: who gets the page gets the questions."""
        from overread.benchmarks.m3cot.exhibits.case_view import case_views

        return case_views(tables, self.rules, signature)

    def controls(self) -> Mapping[str, Reader]:
        from overread.benchmarks.m3cot.controls import m3cot_controls

        return m3cot_controls(self.cases())

    def expected(self) -> Mapping[str, str]:
        from overread.benchmarks.m3cot.controls import EXPECTED

        return EXPECTED

    def recovered(self, measures: Sequence[Measure]) -> list[Recovered]:
        from overread.benchmarks.m3cot.controls import recovered

        return recovered(measures)

    def signature_parts(self, tables: Tables) -> Sequence[str]:
        answers = tables.answers
        return (
            f"modes:{','.join(mode for mode in MODES if mode in set(answers['mode']))}",
            f"images:{','.join(dict.fromkeys(answers['image']))}",
            f"px:{self.options.px}",
            f"judges:{judges_and_words(questions(self.rules), tables.verdicts)}",
        )

    # ------------------------------------------------------------ reporting

    def headlines(self, measures: Sequence[Measure]) -> Iterator[Headline]:
        from overread.benchmarks.m3cot.headline import headlines

        return headlines(measures, self.dataset)

    def methods(self, asked_under: str | None = None) -> Sequence[str]:
        from overread.benchmarks.m3cot.sentences import methods

        return methods(self.rules, self.options, asked_under)

    def limitations(self, measures: Sequence[Measure]) -> Sequence[str]:
        from overread.benchmarks.m3cot.sentences import limitations

        return limitations(measures, self.dataset)

    def per_case(self, tables: Tables) -> Mapping[str, pl.DataFrame]:
        from overread.benchmarks.m3cot.comparisons import per_case

        return per_case(tables, self.rules)

    @property
    def higher_is_better(self) -> Mapping[str, bool]:
        """Of the measures that `per_case` has."""
        from overread.benchmarks.m3cot.comparisons import COMPARED

        return {spec.name: spec.better == "higher" for spec in COMPARED}

    @property
    def facets(self) -> tuple[str, ...]:
        return FACETS

    def card_index(self, tables: Tables) -> pl.DataFrame:
        from overread.benchmarks.m3cot.cards import card_index

        return card_index(tables)

    def cards(self, tables: Tables, chosen: Sequence[str]) -> Iterator[Card]:
        """The cards of these cases; with what readers were shown, where the set was opened."""
        from overread.benchmarks.m3cot.cards import cards

        return cards(tables, chosen, None if self.path is None else self.shown_of)
