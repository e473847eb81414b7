"""The M3CoT benchmark: one edition of its rules over one set of questions."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

import overread
from overread.benchmarks.base import Benchmark, ComparedWords, Left, Recovered, Tables
from overread.benchmarks.draws import lot
from overread.benchmarks.m3cot.authors import TRIES
from overread.benchmarks.m3cot.cases import M3Case, case_row, case_schema, cases_in
from overread.benchmarks.m3cot.edition import BOOK, MODES, Edition, Options
from overread.benchmarks.m3cot.judge_questions import (
    OTHERS,
    QUESTIONS_OF,
    ROLES,
    RUBRICS,
    judge_trials,
    reminded,
    rubrics_at,
)
from overread.benchmarks.m3cot.loading import load, policy_at, root_of
from overread.benchmarks.m3cot.trials import (
    answer_row,
    answer_schema,
    follow_ups,
    swap_remarks,
    swaps,
    timed,
    timed_items,
    trials,
)
from overread.benchmarks.m3cot.verdicts import read_verdict, reread
from overread.benchmarks.ranges import declared
from overread.case import (
    BadInput,
    Card,
    Condition,
    Figure,
    Headline,
    Measure,
    Policy,
    Reader,
    Reply,
    Table,
    Traits,
    Trial,
)
from overread.judging import Read, Role

if TYPE_CHECKING:
    import polars as pl

    from overread.judging.sheet import Unit

__all__ = ["M3CoT"]


class M3CoT(Benchmark):
    """Did it reason as a clinician would? Replies are judged, followed up and timed."""

    name = "m3cot"
    question = "Does it reason?"
    metrics = "overread.benchmarks.m3cot.measures:METRICS"
    importer = "overread.benchmarks.m3cot.importing:import_results"
    published = "m3cot"
    pictures = True
    roles = ROLES
    drawn = ("_varied",)
    compared = (
        ComparedWords.share(
            "accuracy_cot", "accuracy with reasoning", "is right after reasoning on"
        ),
        ComparedWords.share(
            "accuracy_direct", "accuracy without reasoning", "is right without reasoning on"
        ),
        ComparedWords.more("step_f1", "step F1"),
    )
    ranges = declared(
        share="accuracy precision precision_no_na recall f1 consistency consistency_medoid "
        "consistency_items mode_share path_likeness survives survives_chance answer_kept answered "
        "refused empty truncated "
        "verdicts_judged verdicts_invalid verdicts_unanswered verdicts_rescued judge_sensitivity "
        "judge_specificity judge_shift judge_agreement",
        signed="impact image_effect diff_accuracy diff_precision diff_recall diff_f1 "
        "diff_consistency judge_kappa",
        amount="efficiency latency seconds",
    )

    book = BOOK
    rules: Edition
    options: Options

    @classmethod
    def open(
        cls, path: str | Path, edition: str = "corrected", words: Mapping[str, str] | None = None
    ) -> M3CoT:
        """The benchmark over the published set's folder, or over a csv or jsonl of one's own."""
        place = Path(path)
        opened = cls(dataset="", policy="credentialed", path=place, edition=edition, words=words)
        folder = place if place.is_dir() else place.parent
        opened.dataset = f"{folder.absolute().name}@{opened._digest()}"
        opened.policy = policy_at(place, opened.options, (case.image for case in opened.cases()))
        rubrics_at(opened.options.rubrics)  # words that cannot be read are found before
        return opened

    def policy_at(self, path: str | Path) -> Policy:
        return policy_at(path, self.options)

    @property
    def case_schema(self) -> Mapping[str, Any]:
        return case_schema()

    @property
    def answer_schema(self) -> Mapping[str, Any]:
        return answer_schema()

    # ------------------------------------------------------------ cases

    @cached_property
    def _loaded(self) -> tuple[list[M3Case], list[Left]]:
        return load(self._kept_path(), self.options)

    @cached_property
    def _by_id(self) -> dict[str, M3Case]:
        return {case.case_id: case for case in self._loaded[0]}

    @cached_property
    def _swapped(self) -> dict[str, M3Case]:
        return swaps(self._loaded[0], self.rules.seed) if "swap" in self.options.images else {}

    def cases(self) -> Iterable[M3Case]:
        return self._loaded[0]

    def case_row(self, case: M3Case) -> Sequence[Any]:
        return case_row(case, self._swapped.get(case.case_id))

    def stratum(self, case: M3Case) -> tuple[str, ...]:
        return case.task, case.kind

    @property
    def left_out(self) -> Sequence[tuple[str, str]]:
        return self._loaded[1]

    @cached_property
    def remarks(self) -> Sequence[str]:
        """Items without another image to be shown with."""
        cases = self._loaded[0]
        return swap_remarks(cases, self._swapped) if "swap" in self.options.images else ()

    @cached_property
    def root(self) -> str:
        if self.path is None:  # judges and controls, who see no image, may be asked all the same
            return ""
        return str(root_of(self.path, self.options).absolute())

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
        return follow_ups(self._by_id[case], said, traits, self.rules, self.options, self.root)

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
        return answer_row(trial, reply, reason)

    # ------------------------------------------------------------ judging

    def reask(self, condition: Condition) -> int:
        """How often a judge that cannot be read is asked again; the authors' order judge is."""
        if self.rules.verdicts == "published":
            return max(self.rules.reask, TRIES[str(condition["question"])] - 1)
        return self.rules.reask

    @property
    def checks(self) -> Sequence[str]:
        """Controls whose replies judges judge first; none where nothing is to be checked."""
        from overread.benchmarks.m3cot.controls import CONTROLS

        return CONTROLS if self.options.checks else ()

    def check_cases(self, chosen: frozenset[str] | None) -> frozenset[str]:
        """A seeded sample of the items."""
        return frozenset(self._checkable(chosen)[: self.options.checks])

    def _checkable(self, chosen: frozenset[str] | None) -> list[str]:
        among = [case.case_id for case in self.cases()]
        among = [name for name in among if chosen is None or name in chosen]
        return sorted(among, key=lambda name: lot("check", self.rules.seed, name))

    @cached_property
    def _varied(self) -> frozenset[str]:
        """The first of the items that judges are checked on."""
        most = self.options.variants
        return frozenset(self._checkable(self._chosen)[:most] if most else ())

    def judges(self) -> Mapping[str, Reader]:
        from overread.judging.lexical import LexicalJudge

        return {"lexical-judge": LexicalJudge()}

    @cached_property
    def _rubrics(self) -> Any:
        return rubrics_at(self.options.rubrics)

    def again(self, trial: Trial, attempt: int) -> Trial:
        """The same question; in `corrected` with a word on what was wrong."""
        if self.rules.verdicts == "published":
            return msgspec.structs.replace(trial, repeat=attempt)
        return reminded(trial, attempt)

    def usual_length(self, condition: Condition) -> int:
        """Characters: a line, or the some 400 tokens that models reason for."""
        return 1600 if condition["mode"] == "cot" else 40

    @property
    def other_rubrics(self) -> Mapping[Role, tuple[str, ...]]:
        return OTHERS

    def judge_trials(self, row: Mapping[str, Any], role: Role, rubric: str = "") -> Iterator[Trial]:
        varied = bool(row["check"]) and row["case"] in self._varied
        case = self._by_id[row["case"]]
        return judge_trials(row, role, case, self._rubrics, other=rubric, varied=varied)

    def read_verdict(self, case: str, condition: Condition, text: str) -> Read:
        gold = len(self._by_id[case].steps)
        rubric = str(condition.get("rubric", ""))
        return read_verdict(str(condition["question"]), text, self.rules, gold, rubric)

    def judge_over(self, tables: Tables) -> None:
        """Judges are asked about the questions of a run's tables; no image is needed for that."""
        cases = cases_in(tables.cases)
        bare = sum(not case.question.strip() for case in cases)
        if bare:
            raise BadInput(
                f"{bare} items of this run have no question, and judges need it. Import the "
                "results again with --cases."
            )
        self._loaded = (cases, [])
        _ = self._rubrics  # words that cannot be read are found before

    @property
    def choices(self) -> Mapping[str, tuple[str, ...]]:
        from overread.benchmarks.m3cot.judge_questions import CHOICES

        return CHOICES

    def units(self, tables: Tables) -> list[Unit]:
        """What judges judged in a run, for a person to judge too."""
        from overread.benchmarks.m3cot.judge_questions import units_of

        return units_of(tables)

    # ------------------------------------------------------------ measuring

    def reread(self, tables: Tables) -> Tables:
        """Verdicts read again under this edition; replies have nothing to be read."""
        if tables.verdicts is None:
            return tables
        gold = {case.case_id: len(case.steps) for case in cases_in(tables.cases)}
        verdicts = reread(tables.verdicts, gold, self.rules)
        return msgspec.structs.replace(tables, verdicts=verdicts)

    def measure(self, tables: Tables) -> list[Measure]:
        from overread.benchmarks.m3cot.judge_fitness import (
            agreement_measures,
            fitness_in,
            labels_of,
            shift_measures,
        )
        from overread.benchmarks.m3cot.measures import measure
        from overread.benchmarks.reporting import unseeing_noted
        from overread.judging.fitness import fitness_measures

        verdicts, veiled = tables.verdicts, self.policy != "open"
        if verdicts is None:
            records = measure(tables, None, self.rules, self.options, veiled=veiled)
            return unseeing_noted(records, tables.readers, "answered")
        known = {case.case_id: case for case in cases_in(tables.cases)}
        found = fitness_in(verdicts, known)
        judged = verdicts.filter(~verdicts["check"])
        labels = labels_of(judged, found)
        records = measure(tables, judged, self.rules, self.options, labels=labels, veiled=veiled)
        records = unseeing_noted(records, tables.readers, "answered")
        agreed = agreement_measures(tables.cases, judged, self.rules)
        shifted = shift_measures(verdicts, known)
        return [*records, *fitness_measures(found), *shifted, *agreed]

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

    def signature(self, tables: Tables) -> str:
        """One line that says whether two numbers may be compared."""
        rules, options, answers = self.rules, self.options, tables.answers
        parts = [
            "m3cot",
            f"edition:{self.edition}",
            f"cases:{tables.cases.height}@{self.dataset.rpartition('@')[2]}",
            f"modes:{','.join(mode for mode in MODES if mode in set(answers['mode']))}",
            f"images:{','.join(dict.fromkeys(answers['image']))}",
            f"px:{options.px}",
            f"judges:{self._judged_by(tables)}",
            f"boot:{rules.boot}:{rules.seed}",
            f"overread:{overread.__version__}",
        ]
        asked = tables.asked_under.partition("+")[0]
        if asked and asked != rules.name:
            parts.append(f"shown:{asked}")
        return "|".join(parts + tables.part)

    def _judged_by(self, tables: Tables) -> str:
        """Each judge, and the words all of them got: every word for the roles that were asked.

        Which kinds of question come up decides which words are sent, and must not show here.
        """
        if tables.verdicts is None or tables.verdicts.is_empty():
            return "none"
        names = sorted(set(tables.verdicts["judge"]))
        sent = tables.verdicts.select("role", "question", "prompt").drop_nulls().unique()
        if sent.is_empty():
            return f"{','.join(names)}@theirs"
        by_question: dict[str, set[str]] = {}
        for role in set(sent["role"]):
            for question in QUESTIONS_OF[role]:
                found = set(sent.filter(sent["question"] == question)["prompt"])
                others = OTHERS.get(role, ()) if question == role else ()
                ours = [
                    {rubric.digest for rubric in RUBRICS[name].values()}
                    for name in (question, *others)
                ]
                used = set().union(*(own for own in ours if own & found)) or ours[0]
                # A user's own words are the same for every kind of question.
                by_question[question] = used if found <= used else found
        prompts = "".join(sorted(set().union(*by_question.values())))
        digest = hashlib.sha256(prompts.encode()).hexdigest()[:6]
        return f"{','.join(names)}@{digest}"

    def _digest(self) -> str:
        """Of what is asked about: every case's facts, in their order."""
        return hashlib.sha256(msgspec.json.encode(self._loaded[0])).hexdigest()[:8]

    def _kept_path(self) -> Path:
        if self.path is None:
            raise BadInput("this run was opened from its tables. Give --cases to ask again.")
        return self.path

    # ------------------------------------------------------------ reporting

    def headlines(self, measures: Sequence[Measure]) -> Iterator[Headline]:
        from overread.benchmarks.m3cot.headline import headlines

        return headlines(measures, self.dataset)

    def methods(self, asked_under: str | None = None) -> Sequence[str]:
        """`asked_under` is the edition that readers were asked under, if not this one.

        Empty where somebody else asked them.
        """
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
        from overread.benchmarks.m3cot.comparisons import HIGHER

        return HIGHER

    @property
    def facets(self) -> tuple[str, ...]:
        from overread.benchmarks.m3cot.cards import FACETS

        return FACETS

    def card_index(self, tables: Tables) -> pl.DataFrame:
        from overread.benchmarks.m3cot.cards import card_index

        return card_index(tables)

    def cards(self, tables: Tables, chosen: Sequence[str]) -> Iterator[Card]:
        """The cards of these cases; with what readers were shown, where the set was opened."""
        from overread.benchmarks.m3cot.cards import cards

        return cards(tables, chosen, None if self.path is None else self._shown_of)

    def _shown_of(self, name: str) -> Sequence[Trial]:
        """The trials of a case for a reader that sees; none of a case the set has not."""
        case = self._by_id.get(name)
        return () if case is None else tuple(self.trials(case, Traits()))
