"""What a benchmark is: a handful of small functions, all but `cases` pure.

A benchmark makes trials and reads replies; it never asks. The engine does that. `Benchmark` is a
base class: every member has a default that does nothing, `None` or empty says "does not", and a
benchmark overrides what is its own.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Generic, Literal, NamedTuple, Self, TypeVar

import msgspec

import overread
import overread.case as oc
from overread.benchmarks.curated import Curated
from overread.benchmarks.draws import lot
from overread.benchmarks.packed import ByName
from overread.benchmarks.rules import EditionRules, Rulebook
from overread.benchmarks.tables import cells_of, schema_of, structs_in
from overread.judging import Read, Role
from overread.judging import question as judged
from overread.judging.question import Question
from overread.plugins import at

if TYPE_CHECKING:
    import polars as pl

    from overread.benchmarks.files.layouts import SetReader
    from overread.benchmarks.people import Decided, ForPeople, PeopleMeasured
    from overread.judging.sheet import Unit as JudgedUnit
    from overread.measuring.arrays import RunArrays
    from overread.measuring.specs import Spec, SpokenFor
    from overread.measuring.units import Unit

C = TypeVar("C")


class ReaderRecord(msgspec.Struct, frozen=True, kw_only=True):
    """What the run's record says of one reader."""

    name: str
    traits: oc.Traits = oc.Traits()
    identity: str = ""
    # What the user declared: parameters in billions, and the group it belongs to.
    params_b: float | None = None
    group: str | None = None


class Tables(msgspec.Struct, frozen=True, kw_only=True):
    """Everything measures are made of: frames of cases and answers, and the readers."""

    cases: pl.DataFrame
    answers: pl.DataFrame
    # What judges said, where any were asked.
    verdicts: pl.DataFrame | None = None
    readers: tuple[ReaderRecord, ...]
    partial: bool = False
    # The digest of the cases that a user named, where one did.
    only: str = ""
    # The edition the readers were asked under; empty where somebody else asked them.
    asked_under: str = ""
    # The files of those tables of which columns that most measures do without were left there.
    files: Mapping[str, Path] = {}

    @property
    def part(self) -> list[str]:
        """How a signature ends where not all cases of the set were to be asked about."""
        return [f"only:{self.only}"] * bool(self.only) + ["partial"] * self.partial

    def scan(self, table: Literal["cases", "answers"]) -> pl.LazyFrame:
        """A table with all of its columns: what is asked of it is read, and held by nobody else."""
        import polars as pl

        held = self.cases if table == "cases" else self.answers
        file = self.files.get(table)
        return held.lazy() if file is None else pl.scan_parquet(file)


class Recovered(msgspec.Struct, frozen=True, kw_only=True):
    """A control: what it is by construction, what the measures take it for, whether they agree."""

    control: str
    expected: str
    found: str
    ok: bool
    note: str | None = None


class Left(NamedTuple):
    """An item that is not asked about: its case id, and why not; told with the run."""

    case: str
    reason: str


class Loaded(NamedTuple, Generic[C]):
    """Cases in the order of the set, items left out with their reasons, and what should be told.

    `left` is None of a benchmark that asks about everything in a set.
    """

    cases: Sequence[C]
    left: Sequence[tuple[str, str]] | None = None
    remarks: Sequence[str] = ()


class Phantoms(msgspec.Struct, frozen=True, kw_only=True):
    """Synthetic cases of a benchmark.

    `maker` is "module:function"; it takes (root, n, seed), writes a set into a folder of its own
    below `root` unless it is there, and returns what `open` takes. `size` is how many cases `demo`
    and `selfcheck` ask about; `settings` are those of `selfcheck`.
    """

    maker: str
    size: int
    settings: Mapping[str, str] = {}


class ComparedWords(msgspec.Struct, frozen=True):
    """What a compared measure is called, and what the reader with more of it does.

    `does` has the places {d} (the difference), {n} (cases) and {other} (the other reader); `unit`
    is that of amounts. Where `less` is said of a measure (an error), the sentence is about the
    reader with less.
    """

    measure: str
    noun: str
    does: str
    unit: str = "points"
    less: bool = False

    @property
    def in_shares(self) -> bool:
        """Whether values are shares of one, printed as points."""
        return self.unit == "points"

    @classmethod
    def share(cls, measure: str, noun: str, does: str) -> ComparedWords:
        """Of a share of the cases: `does` says what the reader with more of them does."""
        return cls(measure, noun, f"{does} {{d}} more of the same {{n}} cases than {{other}}")

    @classmethod
    def more(cls, measure: str, noun: str) -> ComparedWords:
        """Of whatever a reader has more or less of."""
        return cls(measure, noun, f"has {{d}} more {noun} on the same {{n}} cases than {{other}}")


class ErrorRow(msgspec.Struct, frozen=True, kw_only=True):
    """One wrong answer; the fields are the columns of the sheet, the last two for the person."""

    case: str
    reader: str
    dimension: str
    question: str
    options: str
    images: str
    right: str
    given: str
    reply: str
    label: str = ""
    note: str = ""


class ErrorSheet(msgspec.Struct, frozen=True, kw_only=True):
    """The sheet that `error-sample` makes of a run: answers of a reader for a person to label.

    `holds` says what they are ("errors to label"). `words` are the labels with what each means;
    where there are any, the rows are `ErrorRow`s, a page that fills the sheet goes with it, and
    `spellings` are other words it takes for a label. `beside` says whether `--right-for` may name
    another reader. `nothing` ends the line that says there is no such answer; its places are
    {reader} and {beside}.
    """

    file: str
    holds: str
    nothing: str
    words: Mapping[str, str] = {}
    spellings: Mapping[str, str] = {}
    beside: bool = False


class Transferred(NamedTuple):
    """(reader, measure, its record in the first run, in the second), and correlations over them."""

    pairs: list[tuple[str, str, oc.Measure, oc.Measure]]
    correlations: list[oc.Measure]


class PlainRules(EditionRules, frozen=True, kw_only=True):
    """The rules of a benchmark that reads and counts alike in both editions."""

    seed: int = 0
    # How many resamples its intervals stand on; None where nothing is resampled.
    boot: int | None = None


class Benchmark:
    """One benchmark under one edition of its rules, over one set of cases.

    A benchmark has at least `name`, the two schemas, `load`, `case_row`, `trials`, `answer` and
    `measure`. Members that the class alone declares are known before any set is opened.
    """

    # ------------------------------------------------------------ declared

    name: ClassVar[str] = ""
    """What it is called on the command line and on every table."""
    book: ClassVar[Rulebook[Any, Any] | None] = None
    """Its rules and options; None where both editions read and count alike, and nothing is set."""
    question: ClassVar[str] = ""
    """What the report asks of each reader, as "Did it look?"; its name where it has none."""
    units_beside: ClassVar[Mapping[str, Unit]] = {}
    """What its measures that no `Spec` makes are counted in, by their names."""
    share_right: ClassVar[str] = "accuracy"
    """The measure that says how often a reader is right; of its groups the page names the worst."""
    diagnostic: ClassVar[tuple[str, ...]] = ()
    """Its measures of diagnostic accuracy beside that one, for which reporting guidelines ask."""
    steady: ClassVar[str] = ""
    """The measure of how often the same was answered when it was asked again."""
    metrics: ClassVar[str] = ""
    """Where its registered metrics stand, "module:METRICS"; the law tests run over them."""
    exhibited: ClassVar[str] = ""
    """What makes tables and figures of (measures, signature), "module:function"."""
    sentences: ClassVar[str] = ""
    """The module of what it says in words: headlines and limitations by (measures, dataset), and
    methods by (rules, options, asked_under)."""
    asked_words: ClassVar[str] = ""
    """The function that gives those of its methods that say what was asked and shown, by (rules,
    options, asked_under): "module:function"."""
    phantoms: ClassVar[Phantoms | None] = None
    """Its synthetic cases; with them it joins `demo` and `selfcheck`."""
    published: ClassVar[str] = ""
    """The name of the paper's figures in `overread.published`."""
    importer: ClassVar[str] = ""
    """What reads results made with the paper's own scripts, "module:function".

    It takes (cases or None, replies, readers or None, edition, settings, reparse, also) and returns
    an `Imported`.
    """
    sets: ClassVar[SetReader[Any] | None] = None
    """The layouts of sets that it reads; None of one that loads them itself."""
    case_type: ClassVar[type[msgspec.Struct]] = msgspec.Struct
    answer_type: ClassVar[type[msgspec.Struct]] = msgspec.Struct
    """A case and an answer as structs, whose fields are the columns of the two tables."""
    left_in_files: ClassVar[Mapping[str, frozenset[str]]] = {}
    """By table (cases, answers, verdicts), columns that measuring does not hold: no measure looks
    at them, or it reads them by `Tables.scan`, a reader's at a time."""
    right_by: ClassVar[tuple[str, str]] = ("accuracy", "")
    """Measures by case: a case is right whose first is 1, and flipped whose second is 0."""
    owner_fields: ClassVar[tuple[str, ...]] = ()
    """Fields of a case that name its patients or images: cases that share one are alike."""
    topics: ClassVar[tuple[str, ...]] = ()
    """What readers that take no words may be asked about by name (`Request.topic`)."""
    patient_field: ClassVar[str] = ""
    """The field of a case that names its patient."""
    curated: ClassVar[Curated] = Curated()
    """What it has for making new items: the pictures its sets offer, and an item as a row."""
    builder: ClassVar[str] = ""
    """What makes its sets of official files, a module with `Recipe` and `build`."""
    word_power: ClassVar[str] = ""
    """The module that says how many cases a word it gives readers needs, for `overread power`."""
    checked: ClassVar[tuple[str, ...]] = ()
    """Controls whose replies show whether a judge is fit."""
    made_of: ClassVar[Mapping[str, tuple[str, ...]]] = {}
    """Measures that are made of others and have no record judge by judge, with those others."""
    compared: ClassVar[tuple[ComparedWords, ...]] = ()
    """The measures of `per_case`, by which readers are compared, in words."""
    drawn: ClassVar[tuple[str, ...]] = ()
    """Cached properties that are drawn from the cases a run has."""
    transfers: ClassVar[bool] = False
    """Whether two runs of the same readers over different sets can be compared (`transferred`)."""
    pictures: ClassVar[bool] = False
    """Whether some exhibits or cards show the cases' own pictures or texts."""
    people_kinds: ClassVar[Mapping[str, str]] = {}
    """What a reader study may ask people about its cases, with what each kind is."""
    people_measured: ClassVar[Mapping[str, PeopleMeasured]] = {}
    """Of these kinds, those whose answers are a sheet that measuring takes (`people_rows`)."""
    people_sheets: ClassVar[str] = ""
    """What counts sheets that the paper's readers filled, "module:function" of tables and folders
    by reader: edition `authors` of a reader study."""
    people_settings: ClassVar[Mapping[str, str]] = {}
    """Settings that people's screens differ by from what models are sent."""
    rank_sheet: ClassVar[str] = ""
    """The file that `rank-sample` writes; empty where replies are not ranked by people."""

    # ------------------------------------------------------------ opening

    dataset: str
    """What the cases are called, `NAME@DIGEST`."""
    policy: oc.Policy
    """Who may see them; a set that declares no policy is `credentialed`."""
    path: Path | None
    """Where they stand; None of kept tables."""
    rules: Any
    """The edition: its `name`, its `label` with every changed rule, its `seed`, and what else."""
    options: Any
    """Every other setting."""

    def __init__(
        self,
        *,
        dataset: str,
        policy: oc.Policy,
        path: Path | None,
        edition: str = "corrected",
        words: Mapping[str, str] | None = None,
    ) -> None:
        self.dataset = dataset
        self.policy = policy
        self.path = path
        self.rules, self.options = self.settings(edition, words)
        self._chosen: frozenset[str] | None = None
        self._checkable: tuple[frozenset[str] | None, list[str]] | None = None

    @classmethod
    def settings(cls, edition: str, words: Mapping[str, str] | None) -> tuple[Any, Any]:
        """Rules and options of an edition with these words of `--set`."""
        if cls.book is not None:
            return cls.book.settings(edition, words)
        if words or edition not in ("corrected", "authors"):
            raise oc.BadInput(
                f"{cls.name} has the editions corrected and authors, and nothing to --set."
            )
        return PlainRules(name="authors" if edition == "authors" else "corrected"), None

    @classmethod
    def absolute(cls, words: Mapping[str, str] | None) -> dict[str, str]:
        """The words of `--set` with every path absolute: a record is read from whatever folder."""
        return dict(words or {}) if cls.book is None else cls.book.absolute(words or {})

    @property
    def shows(self) -> frozenset[str]:
        """Settings that say what readers are shown: measuring again keeps those."""
        return frozenset() if self.book is None else self.book.shows

    @property
    def for_judges(self) -> frozenset[str]:
        """Settings that say what judges are asked, and nothing else."""
        return frozenset() if self.book is None else self.book.for_judges

    @classmethod
    def open(
        cls, path: str | Path, edition: str = "corrected", words: Mapping[str, str] | None = None
    ) -> Self:
        """The benchmark over a set of cases, ready to ask."""
        opened = cls(
            dataset="", policy="credentialed", path=Path(path), edition=edition, words=words
        )
        opened.dataset = opened.dataset_at(Path(path))
        opened.policy = opened.policy_opened()
        opened.check_opened()
        return opened

    @classmethod
    def of_run(
        cls,
        dataset: str,
        policy: oc.Policy,
        edition: str = "corrected",
        words: Mapping[str, str] | None = None,
    ) -> Self:
        """The benchmark over kept tables: it can measure, not ask. The cases may be gone."""
        return cls(dataset=dataset, policy=policy, path=None, edition=edition, words=words)

    @property
    def edition(self) -> str:
        """The edition as it is printed; a changed rule is part of it: `corrected+rule=value`."""
        return str(self.rules.label)

    def dataset_at(self, path: Path) -> str:
        """What the set at a path is called: its folder's name, and the digest of what is asked."""
        folder = path if path.is_dir() else path.parent
        return f"{folder.absolute().name}@{self.digest()}"

    def digest(self) -> str:
        """Of what is asked about: every case's facts, in their order, as a list in JSON.

        Case by case: a large set need not be held twice.
        """
        found, before = hashlib.sha256(), b"["
        for case in self.cases():
            found.update(before)
            found.update(msgspec.json.encode(case))
            before = b","
        found.update(b"]" if before == b"," else b"[]")
        return found.hexdigest()[:8]

    def policy_at(self, path: str | Path) -> oc.Policy:
        """Who may see a set by its cards, though its images may be gone."""
        if self.sets is None:
            return "credentialed"
        return self.sets.policy_at(path, self.options.root)

    def policy_opened(self) -> oc.Policy:
        """Who may see the set that was opened, all images of its cases looked at."""
        if self.sets is None:
            return self.policy_at(self.kept_path)
        images = [name for case in self.cases() for name in self.sets.images(case)]
        return self.sets.policy_at(self.kept_path, self.options.root, images)

    def check_opened(self) -> None:
        """Refuse settings whose files cannot be read: better known now than after asking."""

    @property
    def kept_path(self) -> Path:
        """Where the cases stand, which must be there."""
        if self.path is None:
            raise oc.BadInput("this run was opened from its tables. Give --cases to ask again.")
        return self.path

    # ------------------------------------------------------------ cases

    @property
    def case_schema(self) -> Mapping[str, Any]:
        """The columns of `cases.parquet`; the first is `case`."""
        return schema_of(self.case_type)

    @property
    def answer_schema(self) -> Mapping[str, Any]:
        """The columns of `answers.parquet` but `reader`."""
        return schema_of(self.answer_type)

    def load(self) -> Loaded[Any]:
        """The set at `kept_path`, checked: a bad row raises `BadInput` that names file and row."""
        assert self.sets is not None, f"{self.name} declares no sets"
        return self.sets.load(self.kept_path, self.options, self.options.root)

    @cached_property
    def root(self) -> str:
        """What the images of the set stand below; nothing of kept tables, whose judges see none."""
        assert self.sets is not None, f"{self.name} declares no sets"
        if self.path is None:
            return ""
        return str(self.sets.root_of(self.path, self.options.root).absolute())

    @cached_property
    def loaded(self) -> Loaded[Any]:
        """The set, loaded once, when it is first needed."""
        return self.load()

    @cached_property
    def by_id(self) -> ByName[Any]:
        return ByName(self.cases())

    def cases(self) -> Sequence[Any]:
        """What is asked about; every case has a `case_id`."""
        return self.loaded.cases

    def case_row(self, case: Any) -> Sequence[Any]:
        """One case as a row of `case_schema`."""
        return cells_of(case)

    def stratum(self, case: Any) -> tuple[str, ...]:
        """What `--limit` keeps in proportion; the facets, where a case is a struct."""
        return tuple(str(getattr(case, name, "") or "") for name in self.facets)

    def sample_from(self, chosen: frozenset[str]) -> None:
        """Draw whatever is asked of a sub-sample from these cases only."""
        self._chosen, self._checkable = chosen, None
        for name in self.drawn:
            self.__dict__.pop(name, None)

    @property
    def left_out(self) -> Sequence[tuple[str, str]] | None:
        """What in the set cannot be asked about, with the reason; it loads the set.

        None of a benchmark that asks about everything.
        """
        return self.loaded.left

    @property
    def remarks(self) -> Sequence[str]:
        """Further lines that a user should see before anybody is asked."""
        return self.loaded.remarks

    def can_show(
        self, cases: Sequence[Any], effect: Callable[[Sequence[Any]], float]
    ) -> Iterator[str]:
        """Sentences on what these cases can show beside shares and differences of readers.

        `effect` is the design effect of some of them.
        """
        return iter(())

    def stands_on(self, cases: Sequence[Any]) -> Mapping[str, Sequence[Any]]:
        """By the name of a rate, the cases it stands on at most: those it could ever count."""
        return {"a share of all cases": cases}

    def look_ahead(self, readers: Sequence[str]) -> None:
        """Refuse readers and files that measuring will name, before anybody is asked."""

    # ------------------------------------------------------------ asking

    def trials(self, case: Any, traits: oc.Traits) -> Iterator[oc.Trial]:
        """Every condition of one case, for a reader of these traits."""
        raise NotImplementedError

    @property
    def follows(self) -> bool:
        """Whether readers are asked again with what they said."""
        return False

    def follow_ups(
        self, case: str, said: Sequence[tuple[oc.Trial, oc.Reply]], traits: oc.Traits
    ) -> Iterator[oc.Trial]:
        """What follows from a reader's replies to one case."""
        return iter(())

    @property
    def times(self) -> bool:
        """Whether some questions are asked one at a time, to time them."""
        return False

    def timed(self, chosen: frozenset[str] | None, traits: oc.Traits) -> Iterator[oc.Trial]:
        """The questions that are timed."""
        return iter(())

    def answer(
        self, trial: oc.Trial, reply: oc.Reply | None, traits: oc.Traits, reason: str = ""
    ) -> Sequence[Any]:
        """A reply as a row of `answer_schema`; of None, where it went unanswered, with the reason.

        Never raises on odd text, and keeps the text.
        """
        raise NotImplementedError

    def shown_of(self, name: str) -> Sequence[oc.Trial]:
        """The trials of a case for a reader that sees; none of a case the set has not."""
        case = self.by_id.get(name)
        return () if case is None else tuple(self.trials(case, oc.Traits()))

    # ------------------------------------------------------------ judging

    @property
    def questions(self) -> tuple[Question, ...]:
        """What judges are asked; whatever else is said of judging follows from that."""
        return ()

    @property
    def roles(self) -> tuple[Role, ...]:
        """What judges may judge; empty where nobody judges."""
        return judged.roles_of(self.questions)

    def judges(self) -> Mapping[str, oc.Reader]:
        """Its own offline judges by name."""
        return {}

    @property
    def other_rubrics(self) -> Mapping[Role, tuple[str, ...]]:
        """Rubrics that a judge may be asked with in place of the usual one."""
        return judged.other_rubrics(self.questions)

    @property
    def checks(self) -> Sequence[str]:
        """Those of `checked` that judges judge first, over `check_cases`; none if none is to be."""
        return self.checked if self.checked and self.options.checks else ()

    def check_cases(self, chosen: frozenset[str] | None) -> frozenset[str]:
        """A seeded sample of the items that judges are checked on."""
        return frozenset(self.checkable(chosen)[: self.options.checks])

    def checkable(self, chosen: frozenset[str] | None) -> list[str]:
        """All items that judges may be checked on, in the order of their lots."""
        if self._checkable is None or self._checkable[0] != chosen:
            among = [case.case_id for case in self.cases() if self.is_judged(case)]
            among = [name for name in among if chosen is None or name in chosen]
            lots = sorted(among, key=lambda name: lot("check", self.rules.seed, name))
            self._checkable = chosen, lots
        return self._checkable[1]

    def is_judged(self, case: Any) -> bool:
        """Whether replies to a case are judged."""
        return True

    @cached_property
    def varied(self) -> frozenset[str]:
        """The first of the items that judges are checked on: their variants are judged too."""
        most = self.options.variants
        return frozenset(self.checkable(self._chosen)[:most] if most else ())

    def usual_length(self, condition: oc.Condition) -> int:
        """Characters of a usual reply, for forecasts; 0 where no judge is sent it."""
        return 0

    def judge_trials(
        self, row: Mapping[str, Any], role: Role, rubric: str = ""
    ) -> Iterator[oc.Trial]:
        """The questions about one row of answers, which has the columns reader and check too.

        Each is a condition of role, question, reader, about, check and prompt.
        """
        varied = bool(row["check"]) and row["case"] in self.varied
        case = self.by_id[row["case"]]
        questions = self.questions
        return judged.question_trials(questions, row, role, case, rubric=rubric, varied=varied)

    def reask(self, condition: oc.Condition) -> int:
        """How often a judge that cannot be read is asked again."""
        return judged.by_name(self.questions)[str(condition["question"])].reask

    def again(self, trial: oc.Trial, attempt: int) -> oc.Trial:
        """A question to a judge once more."""
        return judged.again(self.questions, trial, attempt)

    def read_verdict(self, case: str, condition: oc.Condition, text: str) -> Read:
        """A judge's words; never raises."""
        asked = judged.by_name(self.questions)[str(condition["question"])]
        return asked.read(text, self.by_id[case], condition)

    def judge_over(self, tables: Tables) -> None:
        """Judge these from now on, where the benchmark was opened from a run's tables."""

    @property
    def choices(self) -> Mapping[str, tuple[str, ...]]:
        """The words that judge and person have for each question; empty: no person is asked."""
        return judged.choices_of(self.questions)

    def units(self, tables: Tables) -> list[JudgedUnit]:
        """The things judged in a run's tables, checks left out, for a person to judge too."""
        from overread.judging.sheet import units_of

        if tables.verdicts is None:
            return []
        return units_of(self.questions, self.cases_of(tables), tables.answers, tables.verdicts)

    def cases_of(self, tables: Tables) -> Mapping[str, Any]:
        """The cases of a run's tables by their names."""
        cases = tables.scan("cases").collect()
        return dict(zip(cases["case"], structs_in(cases, self.case_type), strict=True))

    # ------------------------------------------------------------ measuring

    def reread(self, tables: Tables) -> Tables:
        """Kept rows read again under this edition; what cannot be read again stays as it is.

        By default what judges said, where it was kept.
        """
        if tables.verdicts is None:
            return tables
        found = judged.reread(self.questions, tables.verdicts, self.cases_of(tables))
        return msgspec.structs.replace(tables, verdicts=found)

    @classmethod
    def specs(cls) -> tuple[Spec, ...]:
        """Its measures, as `metrics` declares them."""
        from overread.measuring.specs import Spec

        found = at(cls.metrics) if cls.metrics else ()
        every = found.values() if isinstance(found, Mapping) else found
        return tuple(one for one in every if isinstance(one, Spec))

    @classmethod
    def unit_of(cls, measure: str) -> Unit | None:
        """What a measure is counted in; None of one that it does not declare."""
        from overread.measuring.specs import difference_unit

        units = {**cls.units_beside, **{spec.name: spec.unit for spec in cls.specs()}}
        of = measure.removeprefix("diff_")
        if measure not in units and of in units:
            return difference_unit(units[of])
        return units.get(measure)

    def arrays(self, tables: Tables) -> tuple[RunArrays, Sequence[SpokenFor]]:
        """The run as arrays, and what each reader said of its cases: what the specs are given."""
        raise NotImplementedError

    def measure(self, tables: Tables) -> list[oc.Measure]:
        """Tables to numbers, and beside those of many groups what pooling makes of them."""
        from overread.measuring.specs import with_pooled

        records = self.numbers(tables)
        return with_pooled(records, self.specs()) if self.rules.robust else records

    def numbers(self, tables: Tables) -> list[oc.Measure]:
        """Every number with its n and interval; nothing undefined gets one."""
        from overread.measuring.specs import measure

        return measure(*self.arrays(tables), self.specs())

    def exhibits(
        self, measures: Sequence[oc.Measure], signature: str
    ) -> Iterator[oc.Table | oc.Figure]:
        """Numbers to tables and figures, with the signature of what they stand on.

        Where nothing makes them, those that follow from declared measures.
        """
        if self.exhibited:
            yield from at(self.exhibited)(measures, signature)
            return
        from overread.benchmarks.exhibits.tables import exhibits_of

        yield from exhibits_of(self.specs(), measures, signature, self.question or self.name)

    def pictured(self, tables: Tables, signature: str) -> Iterator[oc.Table | oc.Figure]:
        """Exhibits with the cases' own pictures or texts, made where these may be shown."""
        return iter(())

    def controls(self) -> Mapping[str, oc.Reader]:
        """Readers known by construction, by name."""
        return {}

    def expected(self) -> Mapping[str, str]:
        """What each control must be found to be."""
        return {}

    def recovered(self, measures: Sequence[oc.Measure]) -> list[Recovered]:
        """What a run's measures take the controls it holds for."""
        return []

    def signature(self, tables: Tables) -> str:
        """One line that says whether two numbers may be compared."""
        return self.signed(tables, self.signature_parts(tables))

    def signature_parts(self, tables: Tables) -> Sequence[str]:
        """What of its own changes a number, as `px:224`."""
        return ()

    def signed(
        self,
        tables: Tables,
        parts: Sequence[str],
        then: Sequence[str] = (),
        last: Sequence[str] = (),
    ) -> str:
        """A signature: these parts among those that every benchmark has.

        `then` follow the version; `last` follow the edition that the readers were asked under,
        where that is not this one, for what was shown is that one's.
        """
        boot = self.rules.boot
        every = [
            self.name,
            f"edition:{self.edition}",
            f"cases:{tables.cases.height}@{self.dataset.rpartition('@')[2]}",
            *parts,
            *([] if boot is None else [f"boot:{boot}:{self.rules.seed}"]),
            f"overread:{overread.__version__}",
            *then,
        ]
        asked = tables.asked_under.partition("+")[0]
        if asked and asked != self.rules.name:
            every.append(f"shown:{asked}")
        return "|".join([*every, *last, *tables.part])

    # ------------------------------------------------------------ reporting

    def headlines(self, measures: Sequence[oc.Measure]) -> Iterator[oc.Headline]:
        """What was found of each reader, in a word and a sentence."""
        return self._sentences("headlines", measures, self.dataset)

    def methods(self, asked_under: str | None = None) -> Sequence[str]:
        """What was asked and how it was counted, in whole sentences that an author may paste.

        `asked_under` is the edition that readers were asked under, if not this one. Empty where
        somebody else asked them.
        """
        return tuple(self._sentences("methods", self.rules, self.options, asked_under))

    def asked(self, asked_under: str | None = None) -> Sequence[str]:
        """Those sentences of `methods` that say what was asked and shown.

        None where it is not known (`asked_under` is empty), nor of a benchmark that has none apart.
        """
        if not self.asked_words or asked_under == "":
            return ()
        return tuple(at(self.asked_words)(self.rules, self.options, asked_under))

    def limitations(self, measures: Sequence[oc.Measure]) -> Sequence[str]:
        """What limits the numbers, as far as the benchmark and these measures give cause."""
        return tuple(self._sentences("limitations", measures, self.dataset))

    def _sentences(self, name: str, *about: Any) -> Iterator[Any]:
        return iter(at(f"{self.sentences}:{name}")(*about) if self.sentences else ())

    @property
    def higher_is_better(self) -> Mapping[str, bool]:
        """Of the measures that `per_case` has, those of which it can be said."""
        return {
            spec.name: spec.better == "higher"
            for spec in self.specs()
            if spec.by_case and spec.better is not None
        }

    @classmethod
    def words_of(cls, measure: str) -> ComparedWords:
        """What is said of a compared measure; of one without words, that a reader has more."""
        declared = (words for words in cls.compared if words.measure == measure)
        return next(declared, ComparedWords.more(measure, measure.replace("_", " ")))

    def per_case(self, tables: Tables) -> Mapping[str, pl.DataFrame]:
        """For each compared measure a frame of reader, case, cluster and value."""
        from overread.measuring.specs import values

        compared = [spec for spec in self.specs() if spec.by_case]
        return values(*self.arrays(tables), compared) if compared else {}

    @property
    def facets(self) -> tuple[str, ...]:
        """The facts to filter cases by, in order; empty where cases are not looked at."""
        return ()

    def card_index(self, tables: Tables) -> pl.DataFrame:
        """A row for each case and reader: case, reader, right, flipped and the facets.

        The two are null where neither can be said. Worked out in columns, for a run may have
        200,000 answers. By default they follow from the measures of a case that `right_by` names.
        """
        from overread.benchmarks.cards import facet_values, index_of, told_by_values

        right, same = self.right_by
        facets = facet_values(tables.cases, {name: name for name in self.facets})
        return index_of(tables, facets, told_by_values(self.per_case(tables), right, same))

    def cards(self, tables: Tables, chosen: Sequence[str]) -> Iterator[oc.Card]:
        """The cards of these cases in this order.

        They have slides where the benchmark was opened over its cases. By default a card is made of
        the case's struct, by `card_title`, `card_texts`, `card_options`, `card_conditions`,
        `card_slides` and `card_answers`.
        """
        from overread.benchmarks.cards import about_cases, deal, facet_values, rows_by_reader

        if not self.facets:
            return
        own = about_cases(tables, chosen)
        rows = rows_by_reader(own.answers, tuple(self.answer_schema))

        def said(case: Any, reader: str, right: bool | None, flipped: bool | None) -> oc.Said:
            answers = tuple(self.card_answers(case, rows[case.case_id, reader]))
            return oc.Said(reader=reader, answers=answers, right=right, flipped=flipped)

        yield from deal(
            chosen,
            self.cases_of(own),
            self.card_index(own),
            facet_values(own.cases, {name: name for name in self.facets}),
            title=self.card_title,
            texts=self.card_texts,
            slides=lambda case: self.card_slides(case) if self.path else (),
            said=said,
            conditions=self.card_conditions,
            options=self.card_options,
        )

    def card_title(self, case: Any) -> str:
        """What heads a card."""
        return str(case.case_id)

    def card_texts(self, case: Any) -> Iterable[tuple[str, str]]:
        """Labelled texts of a case, such as its question."""
        return ()

    def card_slides(self, case: Any) -> Iterable[oc.Slide]:
        """The pictures of a case, as readers were shown them."""
        return ()

    def card_options(self, case: Any) -> Iterable[oc.CardOption]:
        """The options of a case's question."""
        return ()

    def card_conditions(self, case: Any) -> Mapping[str, str]:
        """What is shown of a case, by the names that slides and answers use, in words."""
        return {}

    def card_answers(self, case: Any, rows: Sequence[Mapping[str, Any]]) -> Iterable[oc.CardAnswer]:
        """What one reader answered to a case, by its rows of answers."""
        return ()

    # ------------------------------------------------------------ two sets of cases

    def transferred(
        self, first: Sequence[oc.Measure], second: Sequence[oc.Measure], vision_only: frozenset[str]
    ) -> Transferred:
        """The readers of two runs side by side."""
        raise NotImplementedError

    def transfer_table(
        self, found: Transferred, names: tuple[str, str], signature: str
    ) -> oc.Table:
        """One row for each reader and measure, under the names of the two sets."""
        raise NotImplementedError

    def transfer_figure(self, found: Transferred, names: tuple[str, str]) -> oc.Figure:
        """Each reader in the one run against the other."""
        raise NotImplementedError

    # ------------------------------------------------------------ people

    def for_people(
        self, kind: str, tables: Tables | None = None, readers: Sequence[str] = ()
    ) -> Iterator[ForPeople]:
        """Screens of one of `people_kinds`; those about models' answers need a run's tables."""
        return iter(())

    def people_as_published(
        self, kind: str, tables: Tables | None, readers: Sequence[str], cases: int
    ) -> Iterator[ForPeople] | None:
        """The same as the paper's readers had them, in its sessions and its order: the screens of
        `cases` cases, or of as many as there were where it is 0. None where it drew none.
        """
        return None

    def people_packets(
        self,
        kind: str,
        tables: Tables | None,
        readers: Sequence[str],
        cases: int,
        given: Sequence[Decided],
        *,
        second: bool,
    ) -> Mapping[str, Sequence[Mapping[str, str]]] | None:
        """The paper's own sheets, filled with what a reader said of the screens of
        `people_as_published` in their order; by path. `second` is whoever is not the first."""
        return None

    @classmethod
    def people_rows(cls, kind: str, decided: Sequence[Decided]) -> list[tuple[str, ...]]:
        """Header and rows of the sheet that a kind of `people_measured` becomes."""
        raise NotImplementedError

    @classmethod
    def error_sheet(cls) -> ErrorSheet | None:
        """The answers that people may label; None where there is no such sheet."""
        return None

    def errors(
        self, tables: Tables, reader: str, n: int, seed: int, right_for: str | None
    ) -> Sequence[Any]:
        """At most `n` such answers of a reader in each group.

        Only those that another reader got right, if one is named.
        """
        return ()

    def write_errors(self, path: Path, rows: Sequence[Any]) -> None:
        """A csv of them."""
        raise NotImplementedError

    def write_ranks(
        self, path: Path, tables: Tables, readers: Sequence[str], n: int, seed: int
    ) -> tuple[int, int]:
        """A csv of the readers' replies to `n` items; says how many items and rows it has."""
        raise NotImplementedError


class Imported(NamedTuple):
    """What an importer makes of results that somebody else's scripts wrote.

    `warnings` has a line for everything passed over; `settings` are those given and those the files
    themselves call for.
    """

    benchmark: Benchmark
    tables: Tables
    warnings: list[str]
    settings: dict[str, str]
