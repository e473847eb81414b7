"""The Med-CMR benchmark: one edition of its rules over one set of items."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import msgspec

from overread.benchmarks.base import Benchmark, ComparedWords, ErrorSheet, Loaded, Phantoms
from overread.benchmarks.curated import Curated
from overread.benchmarks.medcmr import cards, controls, for_people, people_sheets
from overread.benchmarks.medcmr.answers import Answer, answer_of, reread
from overread.benchmarks.medcmr.cases import KINDS, CaseRow, MedCase, case_row, cases_in
from overread.benchmarks.medcmr.edition import BOOK, Edition, Options
from overread.benchmarks.medcmr.judged_questions import CHECKED, questions
from overread.benchmarks.medcmr.loading import SETS
from overread.benchmarks.medcmr.trials import reformulated_items, swap_remarks, swaps, trials
from overread.benchmarks.medcmr.verdict_parser import lexical_judge
from overread.benchmarks.packed import Packed
from overread.benchmarks.tables import cells_of
from overread.case import BadInput, Condition, Measure, Reader, Reply, Traits, Trial
from overread.judging.question import Question, judges_and_words, with_own_words
from overread.judging.question import reread as reread_verdicts
from overread.measuring.units import declared

if TYPE_CHECKING:
    import polars as pl

    from overread.benchmarks.base import ErrorRow, Recovered, Tables
    from overread.benchmarks.people import Decided, ForPeople
    from overread.case import Card, Figure, Table


class MedCMR(Benchmark):
    """Can it integrate evidence on hard cases? Open answers are judged."""

    name = "medcmr"
    question = "Can it integrate?"
    phantoms = Phantoms(maker="overread.phantoms.vignette:write_phantoms", size=84)
    metrics = "overread.benchmarks.medcmr.measures:METRICS"
    importer = "overread.benchmarks.medcmr.importing:import_results"
    exhibited = "overread.benchmarks.medcmr.exhibits:exhibits"
    curated = Curated.of("overread.benchmarks.medcmr.curated", "candidates", "row", "put", "LABELS")
    sentences = "overread.benchmarks.medcmr.sentences"
    asked_words = "overread.benchmarks.medcmr.sentences:asked"
    published = "medcmr"
    pictures = True
    drawn = ("varied", "_reformulated")
    rank_sheet = "ranks.csv"
    people_kinds = for_people.KINDS
    people_measured = for_people.MEASURED
    compared = (
        ComparedWords.share("accuracy", "accuracy", "is right on"),
        ComparedWords.more("score", "score"),
    )
    units_beside = declared(
        share="clarity_checked coherence_checked visual_checked truth_checked score_checked "
        "chance only_base only_medical error_share win_ratio win_ratio_gap judge_sensitivity "
        "judge_specificity judge_shift judge_agreement",
        signed="r rho judge_kappa",
        amount="params_b",
    )
    book = BOOK
    sets = SETS
    case_type = CaseRow
    owner_fields = ("patient", "images")
    answer_type = Answer
    left_in_files: ClassVar = {
        "cases": frozenset(("question", "images", "options", "caption", "language", "patient")),
        "answers": frozenset(Answer.__struct_fields__) - {"case"},
        "verdicts": frozenset(("attempts", "how", "text", "reason")),
    }
    facets = cards.FACETS
    checked = CHECKED
    rules: Edition
    options: Options

    # ------------------------------------------------------------ cases

    def check_opened(self) -> None:
        _ = self.questions  # words that cannot be read are found before
        _ = self._reformulated  # and so is a list of items

    def load(self) -> Loaded[MedCase]:
        """The items of the kinds asked for."""
        found = super().load()
        kinds = self.options.kinds
        if set(KINDS) <= set(kinds):
            return found
        kept = Packed(MedCase, (case for case in found.cases if case.kind in kinds))
        if not kept:
            told = ", ".join(kinds)
            raise BadInput(f"{self.path}: none of its items is of the kind {told}. See kinds=.")
        return found._replace(cases=kept)

    def digest(self) -> str:
        found = hashlib.sha256()
        for case in self.cases():
            found.update(msgspec.json.encode(case))
        return found.hexdigest()[:8]

    @cached_property
    def _swapped(self) -> dict[str, MedCase]:
        return swaps(self.cases(), self.rules.seed) if "swap" in self.options.images else {}

    @cached_property
    def _reformulated(self) -> frozenset[str]:
        cases, drawn = self.cases(), self.options.reformulate.isdecimal()
        if drawn and self._chosen is not None:
            cases = [case for case in cases if case.case_id in self._chosen]
        return reformulated_items(cases, self.options, self.rules.seed)

    def case_row(self, case: MedCase) -> Sequence[Any]:
        return cells_of(case_row(case, self._swapped.get(case.case_id)))

    def stratum(self, case: MedCase) -> tuple[str, ...]:
        return case.kind, case.dimension or ""

    @cached_property
    def remarks(self) -> Sequence[str]:
        """What the loader says, and items that none lends an image."""
        lines = tuple(self.loaded.remarks)
        if "original" not in self.options.images:
            images = ", ".join(self.options.images)
            lines += (f"no item is shown with its own images: all numbers are under {images}.",)
        if "swap" in self.options.images:
            lines += tuple(swap_remarks(self.cases(), self._swapped))
        return lines

    def look_ahead(self, readers: Sequence[str]) -> None:
        """Refuse pairs of readers that are not in the run, and sheets that are not there."""
        self.options.check_pairs(readers)
        self.options.check_sheets("errors", "ranks", "people")

    # ------------------------------------------------------------ asking

    def trials(self, case: MedCase, traits: Traits) -> Iterator[Trial]:
        swap, put_openly = self._swapped.get(case.case_id), case.case_id in self._reformulated
        return trials(case, traits, self.rules, self.options, self.root, swap, put_openly)

    def answer(
        self, trial: Trial, reply: Reply | None, traits: Traits, reason: str = ""
    ) -> Sequence[Any]:
        return cells_of(answer_of(trial, reply, self.rules, self.by_id[trial.case], reason))

    # ------------------------------------------------------------ judging

    @cached_property
    def questions(self) -> tuple[Question, ...]:
        """What judges are asked, with the user's own words where there are any."""
        return with_own_words(questions(self.rules), self.options.rubrics)

    def is_judged(self, case: MedCase) -> bool:
        """Whether an item is put as an open one."""
        return case.kind == "open" or case.case_id in self._reformulated

    def judges(self) -> Mapping[str, Reader]:
        return {"lexical-judge": lexical_judge()}

    def usual_length(self, condition: Condition) -> int:
        """Characters: the some 300 tokens that models reason for; no judge is sent a letter."""
        return 0 if condition["form"] == "mcq" else 1200

    def judge_over(self, tables: Tables) -> None:
        """Judges are asked about the items of a run's tables; no image is needed for that."""
        put = tables.answers.filter(tables.answers["form"] == "reformulated")
        self.loaded = Loaded(list(cases_in(tables.cases).values()), [])
        self._reformulated = frozenset(put["case"])
        _ = self.questions  # words that cannot be read are found before

    # ------------------------------------------------------------ measuring

    def reread(self, tables: Tables) -> Tables:
        """Replies and verdicts read again under this edition."""
        known, verdicts = self.cases_of(tables), tables.verdicts
        if verdicts is not None:
            verdicts = reread_verdicts(questions(self.rules), verdicts, known)
        answers = reread(tables.answers, known, self.rules)
        return msgspec.structs.replace(tables, answers=answers, verdicts=verdicts)

    def numbers(self, tables: Tables) -> list[Measure]:
        from overread.benchmarks.medcmr.measures import measure_run

        return measure_run(tables, self.rules, self.options, questions(self.rules))

    def pictured(self, tables: Tables, signature: str) -> Iterator[Table | Figure]:
        """Questions, options and replies side by side: who gets the page gets the questions."""
        return cards.case_views(tables, self.rules, signature)

    @classmethod
    def error_sheet(cls) -> ErrorSheet:
        """Wrong answers, each to be given the one word that says best why it is wrong."""
        return ErrorSheet(
            file="errors.csv",
            holds="errors to label",
            nothing="{reader} has no wrong answer{beside}; nothing to label.",
            words=dict(people_sheets.ERRORS.items()),
            spellings=people_sheets.SPELLINGS,
            beside=True,
        )

    def errors(
        self, tables: Tables, reader: str, n: int, seed: int, right_for: str | None
    ) -> Sequence[ErrorRow]:
        return people_sheets.sample_errors(tables, reader, n, seed, right_for)

    def write_errors(self, path: Path, rows: Sequence[ErrorRow]) -> None:
        people_sheets.write_error_sheet(path, rows)

    def write_ranks(
        self, path: Path, tables: Tables, readers: Sequence[str], n: int, seed: int
    ) -> tuple[int, int]:
        items = people_sheets.write_rank_sheet(path, tables, readers, n, seed)
        return items, items * len(set(readers))

    def for_people(
        self, kind: str, tables: Tables | None = None, readers: Sequence[str] = ()
    ) -> Iterator[ForPeople]:
        return for_people.for_people(self, kind, tables, readers)

    @classmethod
    def people_rows(cls, kind: str, decided: Sequence[Decided]) -> list[tuple[str, ...]]:
        return for_people.sheet_rows(kind, decided)

    def controls(self) -> Mapping[str, Reader]:
        return controls.medcmr_controls(self.cases(), self.rules.seed)

    def expected(self) -> Mapping[str, str]:
        return controls.EXPECTED

    def recovered(self, measures: Sequence[Measure]) -> list[Recovered]:
        return controls.recovered(measures)

    def signature_parts(self, tables: Tables) -> Sequence[str]:
        answers = tables.scan("answers")
        asked = answers.select("form", "image", "order").unique().collect()
        orders = asked.filter(asked["form"] == "mcq")["order"].n_unique()
        if orders > 1:  # the most orders of its options that any item was shown in
            shown = answers.filter(form="mcq").select("case", "order").unique().collect()
            orders = max(shown["case"].value_counts()["count"])
        return [
            f"forms:{','.join(asked['form'].unique().sort())}",
            f"images:{','.join(asked['image'].unique().sort())}",
            f"orders:{orders or 1}",
            f"px:{self.options.px or 'own'}",
            f"judges:{judges_and_words(questions(self.rules), tables.verdicts)}",
        ]

    # ------------------------------------------------------------ reporting

    def per_case(self, tables: Tables) -> Mapping[str, pl.DataFrame]:
        from overread.benchmarks.medcmr.measures import per_case

        return per_case(tables, self.rules, self.options)

    def card_index(self, tables: Tables) -> pl.DataFrame:
        return cards.card_index(tables)

    def cards(self, tables: Tables, chosen: Sequence[str]) -> Iterator[Card]:
        """The cards of these cases; with what readers were shown, where the set was opened."""
        return cards.cards(tables, chosen, None if self.path is None else self.shown_of)
