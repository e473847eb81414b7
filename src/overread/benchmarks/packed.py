"""Cases without their weight: a set stands in a file that has no name, and is read case by case.

Twenty thousand items with their texts are 40 MB of objects, and most of a command needs one of them
at a time.
"""

from __future__ import annotations

import os
from array import array
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from tempfile import TemporaryFile
from typing import Protocol, TypeVar, overload

import msgspec


class Named(Protocol):
    """A case, by its id."""

    @property
    def case_id(self) -> str: ...


C = TypeVar("C")
NamedCase = TypeVar("NamedCase", bound=Named)

# Cases that are read at once where all are wanted one after the other.
_TOGETHER = 64


class Packed(Sequence[C]):
    """Structs of one kind in the order they were added, unpacked when they are asked for.

    A class, for they share a file. Nobody else can open it, and it is gone with the process.
    """

    def __init__(self, kind: type[C], these: Iterable[C] = ()) -> None:
        self._kind = kind
        self._file = TemporaryFile()  # noqa: SIM115
        self._encode = msgspec.msgpack.Encoder().encode
        self._decode = msgspec.msgpack.Decoder(kind).decode
        self._starts, self._ends = array("q"), array("q")
        self._size = self._written = 0
        # What was asked for last is asked for again, for its next condition.
        self._last: tuple[int, C] | None = None
        for one in these:
            self.append(one)

    def __del__(self) -> None:
        self._file.close()

    def __reduce__(self) -> tuple[type[Packed[C]], tuple[type[C], list[C]]]:
        """Another process has a file of its own: a Ray actor is given a set's controls."""
        return type(self), (self._kind, list(self))

    def append(self, one: C) -> None:
        """Add a struct at the end."""
        data = self._encode(one)
        self._file.write(data)
        self._starts.append(self._size)
        self._size += len(data)
        self._ends.append(self._size)

    def __len__(self) -> int:
        return len(self._starts)

    @overload
    def __getitem__(self, place: int) -> C: ...
    @overload
    def __getitem__(self, place: slice) -> list[C]: ...
    def __getitem__(self, place: int | slice) -> C | list[C]:
        if isinstance(place, slice):
            return [self[at] for at in range(*place.indices(len(self)))]
        last = self._last
        if last is None or last[0] != place:
            start, end = self._starts[place], self._ends[place]
            last = self._last = place, self._decode(self._read(start, end))
        return last[1]

    def __iter__(self) -> Iterator[C]:
        for first in range(0, len(self), _TOGETHER):
            starts, ends = (some[first : first + _TOGETHER] for some in (self._starts, self._ends))
            data, before = memoryview(self._read(starts[0], ends[-1])), starts[0]
            for start, end in zip(starts, ends, strict=True):
                yield self._decode(data[start - before : end - before])

    def _read(self, start: int, end: int) -> bytes:
        if self._written < self._size:
            self._file.flush()
            self._written = self._size
        return os.pread(self._file.fileno(), end - start, start)


class ByName(Mapping[str, NamedCase]):
    """Cases by their ids, of several with one id the last; in the order of the set, or `ordered`
    by their ids. A class, for none is held but by the set.
    """

    def __init__(self, cases: Sequence[NamedCase], *, ordered: bool = False) -> None:
        self._cases = cases
        places = {case.case_id: place for place, case in enumerate(cases)}
        self._places = dict(sorted(places.items())) if ordered else places

    def __getitem__(self, name: str) -> NamedCase:
        return self._cases[self._places[name]]

    def only(self, names: Set[str]) -> Iterator[NamedCase]:
        """The cases of these names, in the order of all."""
        for name, place in self._places.items():
            if name in names:
                yield self._cases[place]

    def __contains__(self, name: object) -> bool:
        return name in self._places

    def __iter__(self) -> Iterator[str]:
        return iter(self._places)

    def __len__(self) -> int:
        return len(self._places)
