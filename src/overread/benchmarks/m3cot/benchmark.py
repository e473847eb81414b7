"""The M3CoT benchmark: one edition of its rules over one set of questions."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

import overread.case as oc
from overread.benchmarks.base import Benchmark, ComparedWords, Loaded, Phantoms, Recovered, Tables
from overread.benchmarks.curated import Curated
from overread.benchmarks.m3cot import controls, for_people, trials
from overread.benchmarks.m3cot.cases import FACETS, READER, CaseRow, M3Case, case_row
from overread.benchmarks.m3cot.edition import BOOK, MODES, Edition, Options
from overread.benchmarks.m3cot.judge_questions import questions
from overread.benchmarks.tables import cells_of
from overread.judging.lexical import LexicalJudge
from overread.judging.question import Question, judges_and_words, with_own_words
from overread.measuring.units import declared

if TYPE_CHECKING:
    import polars as pl

    from overread.benchmarks.people import ForPeople


class M3CoT(Benchmark):
    """Did it reason as a clinician would? Replies are judged, followed up and timed."""

    name = "m3cot"
    question = "Does it reason?"
    phantoms = Phantoms(maker="overread.phantoms.question:write_phantoms", size=60)
    curated = Curated.of("overread.benchmarks.m3cot.curated", "candidates", "row", "put", "LABELS")
    metrics = "overread.benchmarks.m3cot.measures:METRICS"
    importer = "overread.benchmarks.m3cot.importing:import_results"
    exhibited = "overread.benchmarks.m3cot.exhibits:exhibits"
    sentences = "overread.benchmarks.m3cot.sentences"
    asked_words = "overread.benchmarks.m3cot.sentences:asked"
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
        share="accuracy_corrected accuracy_checked path_likeness verdicts_invalid "
        "verdicts_unanswered verdicts_rescued judge_sensitivity judge_specificity judge_shift "
        "judge_agreement",
        signed="judge_kappa",
    )
    book = BOOK
    sets = READER
    case_type = CaseRow
    owner_fields = ("patient",)
    answer_type = trials.Answer
    facets = FACETS
    checked = controls.CONTROLS
    people_kinds = for_people.KINDS
    rules: Edition
    options: Options

    def check_opened(self) -> None:
        _ = self.questions  # words that cannot be read are found before

    # ------------------------------------------------------------ cases

    @cached_property
    def _swapped(self) -> dict[str, M3Case]:
        asked = "swap" in self.options.images
        return trials.swaps(self.cases(), self.rules.seed) if asked else {}

    def case_row(self, case: M3Case) -> Sequence[Any]:
        return cells_of(case_row(case, self._swapped.get(case.case_id)))

    @property
    def remarks(self) -> Sequence[str]:
        """Images that are not there, and items without another image to be shown with."""
        if "swap" not in self.options.images:
            return self.loaded.remarks
        return (*self.loaded.remarks, *trials.swap_remarks(self.cases(), self._swapped))

    def look_ahead(self, readers: Sequence[str]) -> None:
        """Refuse sheets that are not there."""
        self.options.check_sheets("people")

    # ------------------------------------------------------------ asking

    def trials(self, case: M3Case, traits: oc.Traits) -> Iterator[oc.Trial]:
        swap = self._swapped.get(case.case_id)
        return trials.trials(case, traits, self.rules, self.options, self.root, swap)

    @property
    def follows(self) -> bool:
        return bool(self.options.follow)

    def follow_ups(
        self, case: str, said: Sequence[tuple[oc.Trial, oc.Reply]], traits: oc.Traits
    ) -> Iterator[oc.Trial]:
        own = self.by_id[case]
        return trials.follow_ups(own, said, traits, self.rules, self.options, self.root)

    @property
    def times(self) -> bool:
        return self.options.timing > 0

    def timed(self, chosen: frozenset[str] | None, traits: oc.Traits) -> Iterator[oc.Trial]:
        items = [c for c in self.cases() if chosen is None or c.case_id in chosen]
        for case in trials.timed_items(items, self.options.timing, self.rules.seed):
            yield from trials.timed(case, traits, self.rules, self.options, self.root)

    def answer(
        self, trial: oc.Trial, reply: oc.Reply | None, traits: oc.Traits, reason: str = ""
    ) -> Sequence[Any]:
        return cells_of(trials.answer_of(trial, reply, reason))

    # ------------------------------------------------------------ people

    def for_people(
        self, kind: str, tables: Tables | None = None, readers: Sequence[str] = ()
    ) -> Iterator[ForPeople]:
        return for_people.for_people(self, kind, tables, readers)

    # ------------------------------------------------------------ judging

    @cached_property
    def questions(self) -> tuple[Question, ...]:
        """All that judges are asked, in the user's own words where there are any."""
        return with_own_words(questions(self.rules), self.options.rubrics)

    def judges(self) -> Mapping[str, oc.Reader]:
        return {"lexical-judge": LexicalJudge()}

    def usual_length(self, condition: oc.Condition) -> int:
        """Characters: a line, or the some 400 tokens that models reason for."""
        return 1600 if condition["mode"] == "cot" else 40

    def judge_over(self, tables: Tables) -> None:
        """Judges are asked about the questions of a run's tables; no image is needed for that."""
        cases = list(self.cases_of(tables).values())
        bare = sum(not case.question.strip() for case in cases)
        if bare:
            raise oc.BadInput(
                f"{bare} items of this run have no question, and judges need it. Import the "
                "results again with --cases."
            )
        self.loaded = Loaded(cases, [])
        _ = self.questions  # words that cannot be read are found before

    # ------------------------------------------------------------ measuring

    def numbers(self, tables: Tables) -> list[oc.Measure]:
        from overread.benchmarks.m3cot.measures import measure_judged

        return measure_judged(
            tables,
            self.questions,
            self.rules,
            veiled=self.policy != "open",
            sheets=self.options.sheets("people"),
        )

    def pictured(self, tables: Tables, signature: str) -> Iterator[oc.Table | oc.Figure]:
        """Gold steps beside a reader's own: who gets the page gets the questions."""
        from overread.benchmarks.m3cot.cards import case_views

        return case_views(tables, self.rules, signature)

    def controls(self) -> Mapping[str, oc.Reader]:
        return controls.m3cot_controls(self.cases())

    def expected(self) -> Mapping[str, str]:
        return controls.EXPECTED

    def recovered(self, measures: Sequence[oc.Measure]) -> list[Recovered]:
        return controls.recovered(measures)

    def signature_parts(self, tables: Tables) -> Sequence[str]:
        answers = tables.answers
        return (
            f"modes:{','.join(mode for mode in MODES if mode in set(answers['mode']))}",
            f"images:{','.join(dict.fromkeys(answers['image']))}",
            f"px:{self.options.px}",
            f"judges:{judges_and_words(questions(self.rules), tables.verdicts)}",
        )

    # ------------------------------------------------------------ reporting

    def per_case(self, tables: Tables) -> Mapping[str, pl.DataFrame]:
        from overread.benchmarks.m3cot.measures import per_case

        return per_case(tables, self.rules)

    @property
    def higher_is_better(self) -> Mapping[str, bool]:
        return {words.measure: True for words in self.compared}

    def card_index(self, tables: Tables) -> pl.DataFrame:
        from overread.benchmarks.m3cot.cards import card_index

        return card_index(tables)

    def cards(self, tables: Tables, chosen: Sequence[str]) -> Iterator[oc.Card]:
        """The cards of these cases; with what readers were shown, where the set was opened."""
        from overread.benchmarks.m3cot.cards import cards

        return cards(tables, chosen, None if self.path is None else self.shown_of)
