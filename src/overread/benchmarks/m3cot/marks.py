"""A run as arrays: the items in the order of their index, and what each reader and judge said."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeAlias

import msgspec
import numpy as np
from numpy.typing import NDArray

from overread.benchmarks.m3cot.cases import StepType

if TYPE_CHECKING:
    import polars as pl

__all__ = [
    "COT",
    "DIRECT",
    "IMPORTED",
    "Cell",
    "Facts",
    "Floats",
    "Marks",
    "Mask",
    "Said",
    "Verdict",
    "facts_of",
    "gold_counts",
    "marks_of",
]

# The identity of a reader whose results somebody else made.
IMPORTED: Final = "imported"
Floats: TypeAlias = NDArray[np.float64]
Mask: TypeAlias = NDArray[np.bool_]


class Cell(NamedTuple):
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


DIRECT: Final = Cell("direct")
COT: Final = Cell("cot")


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

    @property
    def alone(self) -> bool:
        """Whether no patient comes twice."""
        return int(np.unique(self.patients).size) == self.n


class Said(NamedTuple):
    """One reply of a reader."""

    text: str
    outcome: str
    seconds: float | None

    @property
    def silent(self) -> bool:
        """Nothing to judge: no reply, or a blank one."""
        return self.outcome == "unanswered" or not self.text.strip()


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
    said: Mapping[Cell, Mapping[int, Said]]
    # Where there is no reply, by cell.
    mute: Mapping[Cell, Mask]
    timed: Mapping[str, Mapping[int, Said]]
    verdicts: Mapping[tuple[str, Cell], Mapping[str, Mapping[int, Verdict]]]
    timed_verdicts: Mapping[tuple[str, str], Mapping[str, Mapping[int, Verdict]]]

    def judges(self, question: str, *cells: Cell) -> list[str]:
        """Who judged replies of any of these cells, by name."""
        return sorted(
            {judge for cell in cells for judge in self.verdicts.get((question, cell), {})}
        )

    def items(self, cell: Cell) -> Mask:
        """The reader's items here: all of them as the paper asks, else those asked.

        Of results made elsewhere those of the set and of the reader's own files, whoever else is
        imported with it.
        """
        found = np.zeros(self.facts.n, dtype=bool)
        found[list(self.said.get(cell, {}))] = True
        if not cell.plain or not found.any():
            return found
        if not self.elsewhere:
            return np.ones(self.facts.n, dtype=bool)
        found[[place for at, rows in self.said.items() if at.plain for place in rows]] = True
        return found | self.facts.listed

    def asked(self, cell: Cell) -> Mask:
        """Items the reader had to answer; of results made elsewhere those that it did answer.

        There nobody knows whether the model or the script is to blame for what is missing.
        """
        found = self.items(cell)
        if self.elsewhere:
            rows = self.said.get(cell, {})
            there = [place for place, said in rows.items() if said.outcome != "unanswered"]
            found &= np.isin(np.arange(self.facts.n), there)
        return found

    def left_out(self, cell: Cell) -> str | None:
        """A note on the reader's items that count neither as right nor as wrong."""
        n = int((self.items(cell) & ~self.asked(cell)).sum())
        return f"{n} unanswered left out" if n else None

    def silent(self, cell: Cell) -> Mask:
        """Items without a reply."""
        found = self.mute.get(cell)
        return np.ones(self.facts.n, dtype=bool) if found is None else found

    def given(self, question: str, cell: Cell, judge: str) -> Iterator[tuple[int, Any]]:
        """Verdicts that could be read: the item's place and the payload."""
        for place, verdict in self.verdicts.get((question, cell), {}).get(judge, {}).items():
            if verdict.outcome == "judged":
                yield place, verdict.value

    def heard(self, question: str, cell: Cell, judge: str) -> bool:
        """Whether this judge can be read at all, or there is nothing for it to judge."""
        given = next(self.given(question, cell, judge), None)
        return given is not None or bool(self.silent(cell).all())

    def missed(self, question: str, cell: Cell, judge: str) -> Mask:
        """Items with a reply that this judge did not judge; a refusal need not be judged."""
        found = self.asked(cell) & ~self.silent(cell)
        refused = [p for p, said in self.said.get(cell, {}).items() if said.outcome == "refused"]
        found[refused] = False
        asked = self.verdicts.get((question, cell), {}).get(judge, {})
        found[[place for place, verdict in asked.items() if not self.silent_at(cell, place)]] = True
        found[[place for place, verdict in asked.items() if verdict.outcome == "judged"]] = False
        return found

    def silent_at(self, cell: Cell, place: int) -> bool:
        found = self.mute.get(cell)
        return found is None or bool(found[place])


def gold_counts(cases: pl.DataFrame) -> dict[str, int]:
    """How many gold steps each case has."""
    facts = facts_of(cases)
    return {case: len(steps) for case, steps in zip(facts.cases, facts.steps, strict=True)}


def facts_of(cases: pl.DataFrame) -> Facts:
    """The items of `cases.parquet`, by their index."""
    rows = sorted(cases.iter_rows(named=True), key=lambda row: (row["index"], row["case"]))
    owners = [row.get("patient") or f"\0{place}" for place, row in enumerate(rows)]
    # Patients are numbered where they are first seen, so their names do not matter.
    codes = {owner: code for code, owner in enumerate(dict.fromkeys(owners))}
    return Facts(
        cases=tuple(row["case"] for row in rows),
        index=np.array([row["index"] for row in rows], dtype=np.int64),
        tasks=np.array([row["task"] or "" for row in rows], dtype=np.str_),
        kinds=np.array([row["kind"] for row in rows], dtype=np.str_),
        steps=tuple(tuple(step["type"] for step in _steps(row["steps"])) for row in rows),
        modalities=np.array([_modality(row) for row in rows], dtype=np.str_),
        patients=np.array([codes[owner] for owner in owners], dtype=np.int64),
        listed=np.array([bool(row["question"] or row["task"]) for row in rows], dtype=bool),
    )


def _modality(row: Mapping[str, Any]) -> str:
    told = (step["text"] for step in _steps(row["steps"]) if step["type"] == "modality")
    return row.get("modality") or next(told, "")


def _steps(cell: Any) -> list[dict[str, Any]]:
    """The gold steps of a case, kept as structs or as their JSON."""
    return list(json.loads(cell) if isinstance(cell, str) else cell or ())


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
    said: dict[str, dict[tuple[Cell, bool], dict[int, Said]]] = defaultdict(_nested)
    for row in answers.iter_rows(named=True):
        if row["case"] in places:
            cell = Cell(row["mode"], row["image"], row["follow"] or "")
            one = Said(row["text"] or "", row["outcome"], row["seconds"])
            said[row["reader"]][cell, bool(row["timed"])][places[row["case"]]] = one
    judged: dict[str, dict[tuple[str, Cell, bool], Any]] = defaultdict(_deeply_nested)
    for row in () if verdicts is None else verdicts.iter_rows(named=True):
        if row["check"] or row["case"] not in places:
            continue
        about = json.loads(row["about"])
        cell = Cell(about["mode"], about.get("image", "original"), about.get("follow") or "")
        value = None if row["payload"] is None else msgspec.json.decode(row["payload"])
        made = Verdict(row["outcome"], row["how"], value)
        key = (row["question"], cell, bool(about.get("timed")))
        judged[row["reader"]][key][row["judge"]][places[row["case"]]] = made
    return [
        _marks(reader, facts, said[reader], judged[reader], elsewhere=reader in elsewhere)
        for reader in readers
    ]


def _nested() -> dict[Any, dict[int, Said]]:
    return defaultdict(dict)


def _deeply_nested() -> dict[Any, dict[str, dict[int, Verdict]]]:
    return defaultdict(lambda: defaultdict(dict))


def _marks(
    reader: str,
    facts: Facts,
    said: Mapping[tuple[Cell, bool], Mapping[int, Said]],
    judged: Mapping[tuple[str, Cell, bool], Mapping[str, Mapping[int, Verdict]]],
    *,
    elsewhere: bool,
) -> Marks:
    cells = {cell for cell, timed in said if not timed}
    # Results made elsewhere may be timed throughout: then the timed replies are the replies.
    main = {cell: (cell, cell not in cells) for cell, _ in said}
    return Marks(
        reader=reader,
        facts=facts,
        elsewhere=elsewhere,
        said={cell: said[key] for cell, key in main.items()},
        mute={cell: _mute(said[key], facts.n) for cell, key in main.items()},
        timed={cell.mode: rows for (cell, timed), rows in said.items() if timed and cell.plain},
        verdicts={
            (question, cell): rows
            for (question, cell, timed), rows in judged.items()
            if timed == main.get(cell, (cell, False))[1]
        },
        timed_verdicts={
            (question, cell.mode): rows
            for (question, cell, timed), rows in judged.items()
            if timed and cell.plain
        },
    )


def _mute(said: Mapping[int, Said], n: int) -> Mask:
    found = np.ones(n, dtype=bool)
    found[[place for place, one in said.items() if not one.silent]] = False
    return found
