"""The measures of a run, found by reader, name and group; and columns, which look them up.

And the words that stand around what is made of them, by the exhibit's name: code keeps only what is
computed. What an exhibit shows is said in one line, made of the measures its words declare: `of`
names the measures, and what each is called; `within` which of their records it goes by, and `by`
the groups it is about. Differences are counted, words are counted, and of numbers the lowest and
the highest are named. Among groups the pooled numbers decide, where there are any: raw ones at
either end are often there by chance.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

import msgspec

from overread.benchmarks.exhibits.cells import (
    NOT_KNOWN,
    ROUGH_MARK,
    cell,
    interval,
    printed,
    told_apart,
    unit_of,
)
from overread.case import Figure, Measure, Table
from overread.files import read_toml
from overread.measuring.notes import FEW_CLUSTERS, FLAGS
from overread.measuring.units import FRAMES, SKILL, Unit

UNITS: Final[Mapping[str, Unit]] = {"skill": SKILL, "frames": FRAMES}
"""Units that a measure's name does not tell, by what words may call them."""
_COMPARED: Final = frozenset({"versus", "comparison"})
_MOST: Final = 2
_MOST_WORDS: Final = 5


class Words(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What stands around one exhibit: `{name}` in a title, a note or `says` is a fact of the run.

    `says` tells a figure to those who do not see it; `{said}` are its numbers in words.
    `headline` are the columns of a table that tell most, the first of them first. The rest is what
    its one line goes by: measures and what each is called, which of their records, by
    which groups, in which unit.
    """

    title: str
    columns: tuple[str, ...] = ()
    says: str = ""
    notes: tuple[str, ...] = ()
    of: dict[str, str] = {}
    within: dict[str, str] = {}
    by: tuple[str, ...] = ()
    unit: str = ""
    headline: tuple[str, ...] = ()


class Wording(msgspec.Struct, frozen=True):
    """The words of all exhibits of a benchmark.

    `notes` are by name those that stand below several exhibits, or below one in some runs only;
    `facts` are what any of the words may name.
    """

    exhibits: Mapping[str, Words] = {}
    notes: Mapping[str, str] = {}
    facts: Mapping[str, object] = {}


def wording_beside(module: str, **facts: object) -> Wording:
    """The `words.toml` in the folder of a module: an exhibit by name, `notes` and `phrases`.

    A phrase is what several of the others name, as they name a fact.
    """
    found = read_toml(Path(module).with_name("words.toml"))
    notes, phrases = found.pop("notes", {}), found.pop("phrases", {})
    facts |= {name: words.format(**facts) for name, words in phrases.items()}
    return Wording(msgspec.convert(found, dict[str, Words]), notes, facts)


_SHARED: Final = wording_beside(__file__)


class Index:
    """The records by what they are about. A class because every exhibit looks the same ones up.

    It makes the exhibits too, with the signature of the run and the words of its benchmark.
    """

    def __init__(
        self, measures: Iterable[Measure], signature: str = "", wording: Wording | None = None
    ) -> None:
        self.signature: Final = signature
        self._wording: Final = wording or Wording()
        self._named: dict[str, dict[tuple[str, tuple[tuple[str, str], ...]], Measure]] = {}
        self._groups: dict[tuple[str, str], dict[str, None]] = {}
        readers: dict[str, None] = {}
        for record in measures:
            by = tuple(sorted(record.by.items()))
            self._named.setdefault(record.measure, {})[record.reader, by] = record
            if not record.reader:  # the empty name stands for all readers together
                continue
            readers.setdefault(record.reader)
            if len(by) == 1:
                ((key, group),) = by
                self._groups.setdefault((record.measure, key), {}).setdefault(group)
        self.readers: Final = tuple(readers)

    def get(self, reader: str, measure: str, **by: str) -> Measure | None:
        """The record with exactly this `by`."""
        return self._named.get(measure, {}).get((reader, tuple(sorted(by.items()))))

    def known(self, reader: str, measure: str, **by: str) -> Measure | None:
        """The same, where it has a value."""
        record = self.get(reader, measure, **by)
        return record if record is not None and record.value is not None else None

    def groups(self, measure: str, key: str) -> tuple[str, ...]:
        """The groups a measure is given by under one key, in the order of the records."""
        return tuple(self._groups.get((measure, key), ()))

    def all(self, measure: str, *keys: str) -> list[Measure]:
        """Every reader's records of a measure whose `by` has exactly these keys."""
        return [record for record in self._keyed(measure, keys) if record.reader]

    def together(self, measure: str, *keys: str) -> list[Measure]:
        """The same of the records about all readers together."""
        return [record for record in self._keyed(measure, keys) if not record.reader]

    def every(self, measure: str) -> list[Measure]:
        """Every record of a measure, whoever and whatever it is about."""
        return list(self._named.get(measure, {}).values())

    def _keyed(self, measure: str, keys: Sequence[str]) -> list[Measure]:
        wanted = set(keys)
        return [
            record
            for (_, by), record in self._named.get(measure, {}).items()
            if {key for key, _ in by} == wanted
        ]

    def any(self, measure: str, **by: str) -> bool:
        """Whether some reader has a value here."""
        return any(self.known(reader, measure, **by) for reader in self.readers)

    def ranked(self, measure: str, readers: Sequence[str] | None = None) -> list[str]:
        """Readers by falling value; those without one last, each in the run's order."""

        def key(reader: str) -> tuple[bool, float]:
            record = self.known(reader, measure)
            return record is None, -(record.value or 0.0) if record is not None else 0.0

        return sorted(self.readers if readers is None else readers, key=key)

    # ------------------------------------------------------------ exhibits

    def note(self, name: str, **facts: object) -> str:
        """The note of this name: the benchmark's own, or one that all share."""
        if name in self._wording.notes:
            return self._said(self._wording.notes[name], facts)
        return _SHARED.notes[name].format(**_SHARED.facts, **facts)

    def title(self, name: str, **facts: object) -> str:
        return self._said(self._wording.exhibits[name].title, facts)

    def figure(
        self, name: str, spec: dict[str, Any], said: str, *notes: str, of: str = "", **facts: object
    ) -> Figure:
        """The figure of this name, or `name_of`; `said` are its numbers in words.

        `notes` stand below those that it always has.
        """
        words = self._wording.exhibits[name]
        return Figure(
            name=f"{name}_{of}" if of else name,
            title=self._said(words.title, facts),
            spec=spec,
            alt=self._said(words.says, facts | {"said": said}),
            signature=self.signature,
            finding=self._finding(words, facts | {"of": of}),
            measures=tuple(words.of),
            notes=(
                *(self._said(note, facts) for note in words.notes),
                *notes,
                *_rough_note(ROUGH_MARK in str(spec)),
            ),
        )

    def whole_table(
        self,
        name: str,
        rows: Iterable[Sequence[str]],
        *notes: str,
        columns: Sequence[str] = (),
        of: str = "",
        **facts: object,
    ) -> Table:
        """The table of this name, or `name_of`, whether or not it says anything."""
        words = self._wording.exhibits[name]
        kept = tuple(map(tuple, rows))
        rough = any(ROUGH_MARK in text for row in kept for text in row)
        return Table(
            name=f"{name}_{of}" if of else name,
            title=self._said(words.title, facts),
            columns=tuple(columns or words.columns),
            rows=kept,
            headline=words.headline,
            signature=self.signature,
            finding=self._finding(words, facts | {"of": of}),
            measures=tuple(words.of),
            notes=(
                *(self._said(note, facts) for note in words.notes),
                *notes,
                *_rough_note(rough),
            ),
        )

    def table(
        self,
        name: str,
        rows: Iterable[Sequence[str]],
        *notes: str,
        first: int = 1,
        absent: str = NOT_KNOWN,
        **more: Any,
    ) -> Table | None:
        """The same, or None where no cell beyond the `first` of any row says anything."""
        kept = list(map(tuple, rows))
        silent = {"", NOT_KNOWN, absent}
        if all(text in silent for row in kept for text in row[first:]):
            return None
        return self.whole_table(name, kept, *notes, **more)

    def _finding(self, words: Words, facts: Mapping[str, object]) -> str:
        """The exhibit's one line; which records it goes by may hang on the facts."""
        within = {key: self._said(value, facts) for key, value in words.within.items()}
        return finding_of(self, msgspec.structs.replace(words, within=within))

    def _said(self, words: str, facts: Mapping[str, object]) -> str:
        return words.format(**self._wording.facts, **facts)


def _rough_note(rough: bool) -> tuple[str, ...]:
    """What the mark of a rough interval means, where it stands."""
    return (f"{ROUGH_MARK} {FLAGS[FEW_CLUSTERS]}.",) if rough else ()


class Column(NamedTuple):
    """A measure of one group, as it heads a column of a table, a lane or an axis.

    `unit` is what it is printed in, where that is not the unit of its measure.
    """

    heading: str
    measure: str
    by: tuple[tuple[str, str], ...] = ()
    unit: Unit | None = None

    def of(self, index: Index, reader: str, **more: str) -> Measure | None:
        return index.get(reader, self.measure, **dict(self.by), **more)

    def known(self, index: Index, reader: str, **more: str) -> Measure | None:
        """The record, where it has a value."""
        return index.known(reader, self.measure, **dict(self.by), **more)

    def stands(self, index: Index) -> bool:
        """Whether any reader has a value here."""
        return index.any(self.measure, **dict(self.by))


# ---------------------------------------------------------------- one line of each exhibit


def finding_of(index: Index, words: Words) -> str:
    """The line of an exhibit; empty where nothing that it declares was measured."""
    said = [
        line
        for measure, called in words.of.items()
        if (line := _line(called, _records(index, measure, words), words))
    ]
    return "; ".join(said[:_MOST])


def _records(index: Index, measure: str, words: Words) -> list[Measure]:
    """The records of a measure that have these groups, and nothing else to tell them apart."""
    within, by = words.within, set(words.by)
    return [
        record
        for record in index.every(measure)
        # What is said of all together is nobody's; what is said of a judge is his.
        if (record.reader or "judge" in record.by)
        and within.items() <= record.by.items()
        and set(record.by) - _COMPARED - within.keys() == by
    ]


def _line(called: str, records: Iterable[Measure], words: Words) -> str:
    found = list(records)
    labels = Counter(one.label for one in found if one.value is None and one.label)
    if labels:
        kinds = [f"{label} {count}" for label, count in labels.most_common(_MOST_WORDS)]
        return f"{called}: {', '.join(kinds)} of {labels.total()}"
    known = [one for one in found if one.value is not None]
    if not known:
        return ""
    if known[0].measure.startswith("diff_"):
        apart = sum(bool(told_apart(one)) for one in known)
        return f"{called}: {apart} of {len(known)} differences told apart (q < 0.05)"
    low, high = (choose(known, key=_worth) for choose in (min, max))
    unit = UNITS.get(words.unit)
    if len(known) > 1 and _worth(low) == _worth(high):
        return f"{called}: {printed(_worth(low), unit or unit_of(low))} in all {len(known)}"
    if len(known) == 1:
        return f"{called}: {_number(low, unit)}"
    ends = [
        f"{_number(one, unit)} ({_who(one, words)}"
        f"{f' and {alike} more' if (alike := _alike(one, known)) else ''})"
        for one in (low, high)
    ]
    return f"{called}: from {' to '.join(ends)}"


def _alike(one: Measure, among: Iterable[Measure]) -> int:
    """How many others have the same number."""
    return sum(_worth(other) == _worth(one) for other in among) - 1


def _worth(record: Measure) -> float:
    """What a record is ranked by."""
    value = record.value if record.pooled is None else record.pooled.value
    return 0.0 if value is None else value


def _number(record: Measure, unit: Unit | None) -> str:
    if record.pooled is None:
        return cell(record, unit=unit)
    held = record.pooled
    whole = msgspec.structs.replace(record, value=held.value, low=held.low, high=held.high)
    return f"pooled {printed(held.value, unit or unit_of(record))} {interval(whole, unit)}"


def _who(record: Measure, words: Words) -> str:
    groups = (record.by[key].replace("_", " ") for key in words.by)
    return ", ".join(filter(None, (record.reader, record.by.get("versus"), *groups)))
