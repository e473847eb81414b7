"""The measures of a run, found by reader, name and group; and columns, which look them up."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple

from overread.case import Measure
from overread.measuring.units import Unit


class Index:
    """The records by what they are about. A class because every exhibit looks the same ones up."""

    def __init__(self, measures: Iterable[Measure]) -> None:
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
