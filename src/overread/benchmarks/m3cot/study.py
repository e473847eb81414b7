"""A run as arrays under one edition: the items in the order of their index, what each reader and
judge said, and the study that measures are made of."""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray

from overread.benchmarks.importing import IMPORTED
from overread.benchmarks.m3cot.cases import WORDS, M3Case, StepType
from overread.benchmarks.m3cot.edition import Edition
from overread.benchmarks.tables import structs_in
from overread.measuring.arrays import RunArrays, Words, group_names
from overread.measuring.estimates import Mask, Resampling
from overread.measuring.specs import OUTCOMES, Codes, Condition

if TYPE_CHECKING:
    import polars as pl

    from overread.benchmarks.base import Tables

_ANSWERED, _BLANK, _REFUSED, _UNANSWERED, _NOT_ASKED, _NOT_JUDGED = range(len(OUTCOMES))


class Asking(NamedTuple):
    """What was asked about an item, the item aside."""

    mode: str
    image: str = "original"
    follow: str = ""

    @property
    def by(self) -> dict[str, str]:
        """The keys of a record: the mode, and what is not as in the paper."""
        keys = {"mode": self.mode}
        if self.image != "original":
            keys["image"] = self.image
        if self.follow:
            keys["follow"] = self.follow
        return keys

    @property
    def plain(self) -> bool:
        return self.image == "original" and not self.follow


DIRECT: Final = Asking("direct")
COT: Final = Asking("cot")


def asking_of(condition: Condition) -> Asking:
    """What was asked, by the keys of a record."""
    return Asking(**condition)


class Facts(msgspec.Struct, frozen=True):
    """The items, by ascending index. `patients` are codes; an item without one is its own."""

    cases: tuple[str, ...]
    index: NDArray[np.int64]
    tasks: NDArray[np.str_]
    kinds: NDArray[np.str_]
    steps: tuple[tuple[StepType, ...], ...]
    # The examination: as the set states it, or as the gold path has it; empty where unknown.
    modalities: NDArray[np.str_]
    patients: NDArray[np.int64]
    # Items of a set or of a workbook of types; the others are known from somebody's results alone.
    listed: Mask

    @property
    def n(self) -> int:
        return len(self.cases)


class Said(NamedTuple):
    """One reply of a reader."""

    text: str
    outcome: str
    seconds: float | None
    finish: str | None = None

    @property
    def silent(self) -> bool:
        """Nothing to judge: no reply, or a blank one."""
        return self.outcome == "unanswered" or not self.text.strip()

    @property
    def code(self) -> int:
        """What became of it: a place among `OUTCOMES`; a blank reply holds no answer."""
        said = _ANSWERED if self.text.strip() else _BLANK
        return {"unanswered": _UNANSWERED, "refused": _REFUSED}.get(self.outcome, said)


class Verdict(NamedTuple):
    """One verdict of a judge, read."""

    outcome: str
    how: str | None
    value: Any


class Marks(msgspec.Struct, frozen=True):
    """What one reader said, and what judges said of it, by the item's place among the facts.

    `said` and `verdicts` hold the replies asked under load, or the timed ones where there are no
    others; `timed` and `timed_verdicts` those asked one at a time. `elsewhere`: the results were
    made by somebody else, and what has no reply cannot be asked again.
    """

    reader: str
    facts: Facts
    elsewhere: bool
    said: Mapping[Asking, Mapping[int, Said]]
    # Where there is no reply.
    mute: Mapping[Asking, Mask]
    timed: Mapping[str, Mapping[int, Said]]
    verdicts: Mapping[tuple[str, Asking], Mapping[str, Mapping[int, Verdict]]]
    timed_verdicts: Mapping[tuple[str, str], Mapping[str, Mapping[int, Verdict]]]

    def judges(self, question: str, *askings: Asking) -> list[str]:
        """Who judged replies to any of these, by name."""
        return sorted(
            {judge for asking in askings for judge in self.verdicts.get((question, asking), {})}
        )

    def items(self, asking: Asking) -> Mask:
        """The reader's items here: all of them as the paper asks, else those asked.

        Of results made elsewhere those of the set and of the reader's own files, whoever else is
        imported with it.
        """
        found = np.zeros(self.facts.n, dtype=bool)
        found[list(self.said.get(asking, {}))] = True
        if not asking.plain or not found.any():
            return found
        if not self.elsewhere:
            return np.ones(self.facts.n, dtype=bool)
        found[[place for at, rows in self.said.items() if at.plain for place in rows]] = True
        return found | self.facts.listed

    def asked(self, asking: Asking) -> Mask:
        """Items the reader had to answer; of results made elsewhere those that it did answer.

        There nobody knows whether the model or the script is to blame for what is missing.
        """
        found = self.items(asking)
        if self.elsewhere:
            rows = self.said.get(asking, {})
            there = [place for place, said in rows.items() if said.outcome != "unanswered"]
            found &= np.isin(np.arange(self.facts.n), there)
        return found

    def silent(self, asking: Asking) -> Mask:
        """Items without a reply."""
        found = self.mute.get(asking)
        return np.ones(self.facts.n, dtype=bool) if found is None else found

    def silent_at(self, asking: Asking, place: int) -> bool:
        return bool(self.silent(asking)[place])

    def outcomes(self, asking: Asking) -> Codes:
        """What became of each item: places among `OUTCOMES`."""
        found = np.where(self.items(asking), _UNANSWERED, _NOT_ASKED).astype(np.int8)
        for place, said in self.said.get(asking, {}).items():
            found[place] = said.code
        return found

    def outcomes_judged(self, question: str, asking: Asking, judges: Sequence[str]) -> Codes:
        """The same at each judge (items x judges), who may not have judged what was answered."""
        found = np.repeat(self.outcomes(asking)[:, None], len(judges), axis=1)
        for column, judge in enumerate(judges):
            own = found[:, column]
            own[(own == _ANSWERED) & self.missed(question, asking, judge)] = _NOT_JUDGED
            judged = [place for place, _ in self.given(question, asking, judge)]
            own[np.isin(np.arange(len(own)), judged) & (own == _REFUSED)] = _ANSWERED
        return found

    def given(self, question: str, asking: Asking, judge: str) -> Iterator[tuple[int, Any]]:
        """Verdicts that could be read: the item's place and the payload."""
        for place, verdict in self.verdicts.get((question, asking), {}).get(judge, {}).items():
            if verdict.outcome == "judged":
                yield place, verdict.value

    def judged_at(self, question: str, asking: Asking, place: int) -> dict[str, Any]:
        """What each judge that could be read said of one reply."""
        found = sorted(self.verdicts.get((question, asking), {}).items())
        read = {judge: rows[place] for judge, rows in found if place in rows}
        return {judge: one.value for judge, one in read.items() if one.outcome == "judged"}

    def readable(self, question: str, asking: Asking, judge: str) -> bool:
        """Whether this judge can be read at all, or there is nothing for it to judge."""
        given = next(self.given(question, asking, judge), None)
        return given is not None or bool(self.silent(asking).all())

    def missed(self, question: str, asking: Asking, judge: str) -> Mask:
        """Items with a reply that this judge did not judge; a refusal need not be judged."""
        found = self.asked(asking) & ~self.silent(asking)
        refused = [p for p, said in self.said.get(asking, {}).items() if said.outcome == "refused"]
        found[refused] = False
        rows = self.verdicts.get((question, asking), {}).get(judge, {})
        found[[place for place in rows if not self.silent_at(asking, place)]] = True
        found[[place for place, verdict in rows.items() if verdict.outcome == "judged"]] = False
        return found


def facts_of(cases: pl.DataFrame) -> Facts:
    """The items of `cases.parquet`, by their index."""
    items = sorted(structs_in(cases, M3Case), key=lambda case: (case.index, case.case_id))
    owners = [case.patient or f"\0{place}" for place, case in enumerate(items)]
    # Patients are numbered where they are first seen, so their names do not matter.
    codes = {owner: code for code, owner in enumerate(dict.fromkeys(owners))}
    told = [next((s.text for s in case.steps if s.type == "modality"), "") for case in items]
    stated = [case.modality or own for case, own in zip(items, told, strict=True)]
    return Facts(
        cases=tuple(case.case_id for case in items),
        index=np.array([case.index for case in items], dtype=np.int64),
        tasks=np.array([case.task for case in items], dtype=np.str_),
        kinds=np.array([case.kind for case in items], dtype=np.str_),
        steps=tuple(tuple(step.type for step in case.steps) for case in items),
        modalities=np.array(stated, dtype=np.str_),
        patients=np.array([codes[owner] for owner in owners], dtype=np.int64),
        listed=np.array([bool(case.question or case.task) for case in items], dtype=bool),
    )


def marks_of(
    readers: tuple[str, ...],
    facts: Facts,
    answers: pl.DataFrame,
    verdicts: pl.DataFrame | None,
    elsewhere: frozenset[str] = frozenset(),
) -> list[Marks]:
    """The marks of every reader, in the readers' order. Verdicts on controls' checks stay out.

    `elsewhere` are readers whose results somebody else made.
    """
    places = {case: place for place, case in enumerate(facts.cases)}
    said: dict[str, Any] = defaultdict(lambda: defaultdict(dict))
    for row in answers.iter_rows(named=True):
        if row["case"] in places:
            asking = Asking(row["mode"], row["image"], row["follow"] or "")
            one = Said(row["text"] or "", row["outcome"], row["seconds"], row["finish"])
            said[row["reader"]][asking, bool(row["timed"])][places[row["case"]]] = one
    judged: dict[str, Any] = defaultdict(lambda: defaultdict(lambda: defaultdict(dict)))
    for row in () if verdicts is None else verdicts.iter_rows(named=True):
        if row["check"] or row["case"] not in places:
            continue
        about = json.loads(row["about"])
        asking = Asking(about["mode"], about.get("image", "original"), about.get("follow") or "")
        value = None if row["payload"] is None else msgspec.json.decode(row["payload"])
        key = (row["question"], asking, bool(about.get("timed")))
        made = Verdict(row["outcome"], row["how"], value)
        judged[row["reader"]][key][row["judge"]][places[row["case"]]] = made
    return [
        _marks(reader, facts, said[reader], judged[reader], elsewhere=reader in elsewhere)
        for reader in readers
    ]


def _marks(
    reader: str,
    facts: Facts,
    said: Mapping[tuple[Asking, bool], Mapping[int, Said]],
    judged: Mapping[tuple[str, Asking, bool], Mapping[str, Mapping[int, Verdict]]],
    *,
    elsewhere: bool,
) -> Marks:
    untimed = {asking for asking, timed in said if not timed}
    # Results made elsewhere may be timed throughout: then the timed replies are the replies.
    main = {asking: said[asking, asking not in untimed] for asking, _ in said}
    mute = {asking: np.ones(facts.n, dtype=bool) for asking in main}
    for asking, rows in main.items():
        mute[asking][[place for place, one in rows.items() if not one.silent]] = False
    return Marks(
        reader=reader,
        facts=facts,
        elsewhere=elsewhere,
        said=main,
        mute=mute,
        timed={
            asking.mode: rows for (asking, timed), rows in said.items() if timed and asking.plain
        },
        verdicts={
            (question, asking): rows
            for (question, asking, timed), rows in judged.items()
            if timed == (asking in main and asking not in untimed)
        },
        timed_verdicts={
            (question, asking.mode): rows
            for (question, asking, timed), rows in judged.items()
            if timed and asking.plain
        },
    )


# ---------------------------------------------------------------- the study

_TOLD_OF: Final = 5  # patients
_OTHER: Final = "other"


class Study(RunArrays):
    """The readers of a run. Items are grouped by task, kind of question and examination.

    Of a set that is not open (`veiled`), an examination in free words that only few patients have
    is `other`.
    """

    def __init__(
        self,
        tables: Tables,
        verdicts: pl.DataFrame | None,
        edition: Edition,
        labels: Mapping[tuple[str, str], str | None] | None = None,
        *,
        veiled: bool = False,
    ) -> None:
        facts = facts_of(tables.cases)
        modalities, order = _examinations(facts, edition, veiled=veiled)
        super().__init__(
            facts.cases,
            facts.patients,
            tables.readers,
            Resampling(facts.patients, boot=edition.boot, seed=edition.seed, robust=edition.robust),
            columns={"task": facts.tasks, "kind": facts.kinds, "modality": modalities},
            orders={"modality": order},
            labels=labels,
        )
        self.edition: Final = edition
        self.facts: Final = facts
        elsewhere = frozenset(one.name for one in tables.readers if one.identity == IMPORTED)
        self.marks: Final = marks_of(self.readers, facts, tables.answers, verdicts, elsewhere)

    @property
    def tasks(self) -> list[str]:
        return group_names(self.facts.tasks)

    def judges(self, marks: Marks, question: str, asking: Asking = COT) -> list[str]:
        """Who judged the reader here; where it said nothing at all, whoever judges others.

        A silent reader's replies are sent to nobody, and are wrong all the same (M3COT 10). Of
        results made elsewhere nothing hangs on what others are imported.
        """
        own = marks.judges(question, asking)
        if own or marks.elsewhere or asking not in marks.said or not marks.silent(asking).all():
            return own
        every = {at for other in self.marks for _, at in other.verdicts}
        return sorted({judge for other in self.marks for judge in other.judges(question, *every)})

    def both_judge(self, question: str, *places: tuple[Marks, Asking]) -> list[str]:
        """The judges that all of these have in common."""
        found = [set(self.judges(marks, question, asking)) for marks, asking in places]
        return sorted(set.intersection(*found))


def _examinations(facts: Facts, edition: Edition, *, veiled: bool) -> tuple[Words, list[str]]:
    """The examination of each item by its first spelling (as published, by letter); their order."""
    names = facts.modalities.tolist()
    keys = names
    if edition.step_types == "folded":
        keys = [" ".join(name.split()).casefold().strip(" .") for name in names]
    if veiled:
        known = set(WORDS["examinations"].split())
        patients: dict[str, set[int]] = defaultdict(set)
        for key, patient in zip(keys, facts.patients.tolist(), strict=True):
            patients[key].add(patient)
        for place, (name, key) in enumerate(zip(names, keys, strict=True)):
            words = set(re.findall(r"[^\W_]+", name.casefold()))
            if key and len(patients[key]) < _TOLD_OF and not (words and words <= known):
                names[place] = keys[place] = _OTHER
    shown = dict(zip(reversed(keys), reversed(names), strict=True))
    shown[""] = ""
    column = np.array([shown[key] for key in keys], dtype=np.str_)
    return column, [shown[key] for key in sorted(shown)]
