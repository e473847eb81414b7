"""Stores united by the keys of their replies; where two have the same key, the first given stays.

All or nothing, in one transaction of the store that they are merged into, which others may have
open meanwhile. What two stores were told for one question shows the noise of what served the model,
so equal keys are counted, and so are those whose texts differ. Keys do not tell how a reply was
decoded: sampled ones differ by nature, where two stores hold the same draw.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from itertools import islice
from pathlib import Path
from typing import Any, Final, NamedTuple, TypeAlias

import msgspec

from overread.case import BadInput, Reply
from overread.engine.store import Store, counts_from, insert, over

_BATCH: Final = 2000
_EXAMPLES: Final = 3
_LONGEST: Final = 60


class Example(msgspec.Struct, frozen=True):
    """A key with two texts: the one that stays first. Texts of sets that are not open are ""."""

    key: str
    stays: str
    goes: str


class Agreeing(msgspec.Struct, kw_only=True):
    """Replies of one reader that were in two stores: how many, and how many say something else."""

    reader: str
    equal: int = 0
    differing: int = 0
    examples: list[Example] = []


class Taken(msgspec.Struct, kw_only=True):
    """What came of one store.

    `older`: replies that count no more, for the reader was begun anew with --fresh since, there or
    in another of the stores. `damaged` could not be read.
    """

    store: str
    replies: int = 0
    taken: int = 0
    equal: int = 0
    older: int = 0
    damaged: int = 0


class Merged(msgspec.Struct, kw_only=True):
    """What came of merging: store by store, reader by reader, and how many replies there are."""

    into: str
    replies: int = 0
    stores: list[Taken] = []
    readers: list[Agreeing] = []


class _Row(NamedTuple):
    """A row of `readers`, in whichever store it is."""

    identity: str
    use: str
    label: str
    served: str


# A reader's row and a data set: how one stands to the other decides whether a reply counts.
_Pair: TypeAlias = tuple[int, int]


class _Source:
    """A store that is merged into another. A class, for its numbers mean something only in it."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self.taken = Taken(store=store.shown)
        self.sets = {number: row for number, *row in self.rows("SELECT * FROM datasets")}
        self.readers = {
            number: _Row(*map(str, row))
            for number, *row in self.rows("SELECT id, identity, use, label, served FROM readers")
        }
        # From which row on a reader's replies about a data set count, and for which data sets that
        # was said (None: for all).
        self.since: dict[tuple[str, int], int] = {}
        self.targets: dict[_Pair, int | None] = {}

    def rows(self, query: str) -> Iterator[Any]:
        return self.store.rows(query)

    def batches(self, query: str) -> Iterator[list[Any]]:
        rows = self.rows(query)
        while batch := list(islice(rows, _BATCH)):
            yield batch

    def pairs(self) -> list[_Pair]:
        """Who answered about what."""
        found = self.rows("SELECT DISTINCT reader, dataset FROM replies WHERE reader IS NOT NULL")
        return [(r, d) for r, d in found if r in self.readers and d in self.sets]

    def begins(self, pair: _Pair) -> int:
        """The first row whose replies count; 0 where none was begun anew."""
        identity = self.readers[pair[0]].identity
        named = identity, pair[1]
        if named not in self.since:
            self.since[named] = self.store.counts_from(identity, pair[1])
        return self.since[named]

    def labels(self) -> Iterator[tuple[tuple[str, str], str, bool]]:
        """The last label under which each (identity, use) answered; True if it was begun anew."""
        last: dict[tuple[str, str], tuple[int, str, bool]] = {}
        for pair in self.pairs():
            row, begins = self.readers[pair[0]], self.begins(pair)
            if pair[0] >= begins:
                one = (pair[0], row.label, begins > 0)
                last[row[:2]] = max(one, last.get(row[:2], one))
        for who, (_, label, anew) in last.items():
            yield who, label, anew


def merge(into: Store, paths: Sequence[Path]) -> Merged:
    """Take everything that counts in these stores into another.

    Raises BadInput, with nothing taken, for a file that is no store, and where a model answered
    under different labels.
    """
    given = {into.path.resolve()}
    for path in paths:
        if not path.exists():
            raise BadInput(f"{path}: there is no such reply store. Give the file of one.")
        if path.resolve() in given:
            raise BadInput(f"{path}: given twice, or merged into itself. Give each store once.")
        given.add(path.resolve())
    with ExitStack() as stack:
        sources = [_Source(stack.enter_context(Store(path))) for path in paths]
        _check_labels([_Source(into), *sources])
        with into.writing() as out:
            return _Merging(into, out, sources).merged()


def _check_labels(stores: Sequence[_Source]) -> None:
    """Refuse what a store would: the same model at the same address under two labels.

    Other weights may stand behind it. Where it was begun anew under one, the other counts no more.
    """
    found: dict[tuple[str, str], list[tuple[str, bool, str]]] = {}
    for one in stores:
        for who, label, anew in one.labels():
            found.setdefault(who, []).append((label, anew, one.store.shown))
    for given in found.values():
        counting = [one for one in given if one[1]] or given
        first = counting[0]
        for label, _, place in counting[1:]:
            if label != first[0]:
                raise BadInput(
                    f'{place}: "{label}" is the same model at the same address that answered as '
                    f'"{first[0]}" in {first[2]}, and other weights may stand behind it. Nothing '
                    "was merged. Leave one out, or have one forgotten with overread store forget "
                    "--reader LABEL --store FILE."
                )


class _Merging:
    """One merge under way, inside its transaction. A class, for every step needs all of it."""

    def __init__(self, into: Store, out: sqlite3.Connection, sources: Sequence[_Source]) -> None:
        self._into, self._out, self._sources = into, out, sources
        self._decode = msgspec.msgpack.Decoder(Reply).decode
        self._sets: dict[tuple[object, ...], int] = {}
        self._since: dict[tuple[str, int], int] = {}
        self._names: dict[int | None, tuple[str, str]] = {}
        rows = out.execute("SELECT id FROM datasets WHERE policy='open'")
        self._open = {number for (number,) in rows}
        self._agreeing: dict[str, Agreeing] = {}

    def merged(self) -> Merged:
        for source in self._sources:
            for number in source.sets:
                self._set(source, number)
        # Readers begun anew first: then it is known whose older replies count no more.
        pairs = [(source, pair) for source in self._sources for pair in source.pairs()]
        for source, pair in sorted(pairs, key=lambda one: one[0].begins(one[1]) == 0):
            source.targets[pair] = self._target(source, pair)
        for source in self._sources:
            self._take_replies(source)
            self._take_failures(source)
            self._take_sources(source)
        self._out.execute("DELETE FROM failures WHERE key IN (SELECT key FROM replies)")
        query = "SELECT max(coalesce(at, 0)), reader FROM replies GROUP BY reader"
        answered = self._out.execute(f"{query} HAVING reader IS NOT NULL").fetchall()
        self._out.executemany("UPDATE readers SET last=? WHERE id=?", answered)
        (total,) = self._out.execute("SELECT count(*) FROM replies").fetchone()
        return Merged(
            into=self._into.shown,
            replies=total,
            stores=[source.taken for source in self._sources],
            readers=sorted(self._agreeing.values(), key=lambda one: one.reader),
        )

    # ------------------------------------------------------------ numbers of one store in another

    def _set(self, source: _Source, number: int) -> int:
        """The number of a data set; its policy is part of what it is."""
        row = tuple(source.sets[number])
        if row not in self._sets:
            query = "INSERT OR IGNORE INTO datasets (benchmark, dataset, policy) VALUES (?,?,?)"
            self._out.execute(query, row)
            query = "SELECT id FROM datasets WHERE benchmark=? AND dataset=? AND policy=?"
            self._sets[row] = self._out.execute(query, row).fetchone()[0]
            self._open |= {self._sets[row]} if row[2] == "open" else set()
        return self._sets[row]

    def _target(self, source: _Source, pair: _Pair) -> int | None:
        """The row of a reader in the store that is merged into; None where it counts no more."""
        begins = source.begins(pair)
        if pair[0] < begins:
            return None
        row, dataset = source.readers[pair[0]], self._set(source, pair[1])
        named = (row.identity, dataset)
        if named not in self._since:
            self._since[named] = counts_from(self._out, row.identity, (), dataset)
        since = self._since[named]
        if since and not begins:
            return None
        anew = bool(begins and not since)
        query = (
            "SELECT max(id) FROM readers WHERE identity=? AND use=? AND label=? AND served=? "
            "AND id>=?"
        )
        found = None if anew else self._out.execute(query, (*row, since)).fetchone()[0]
        if found is None:
            query = (
                "INSERT INTO readers (identity, use, label, served, since, dataset, last) "
                "VALUES (?,?,?,?,0,?,0)"
            )
            made = self._out.execute(query, (*row, dataset if anew else None))
            found = int(made.lastrowid or 0)
            if anew:
                self._out.execute("UPDATE readers SET since=id WHERE id=?", (found,))
                self._since[named] = found
        return int(found)

    # ------------------------------------------------------------ replies

    def _take_replies(self, source: _Source) -> None:
        for batch in source.batches("SELECT key, dataset, reply, reader, at FROM replies"):
            self._take_batch(source, batch)

    def _take_batch(self, source: _Source, batch: Sequence[Any]) -> None:
        query = "SELECT key, dataset, reply, reader, at FROM replies WHERE key IN"
        there = {row[0]: row for row in over(self._out, query, [row[0] for row in batch])}
        new, better = [], []
        told = source.taken
        for key, dataset, value, reader, at in batch:
            told.replies += 1
            target, pair = None, (reader, dataset)
            if reader in source.readers and dataset in source.sets:
                if pair not in source.targets:  # whoever asks there has just begun
                    source.targets[pair] = self._target(source, pair)
                target = source.targets[pair]
                if target is None:
                    told.older += 1
                    continue
            if dataset not in source.sets or self._read(value) is None:
                told.damaged += 1
                continue
            row = (key, self._set(source, dataset), value, target, at)
            if key not in there:
                new.append(row)
                told.taken += 1
            elif self._stays(source, there[key], row):
                told.equal += 1
            else:
                better.append((*row[1:], key))
                told.taken += 1
        insert(self._out, "INSERT INTO replies VALUES", new)
        self._out.executemany(
            "UPDATE replies SET dataset=?, reply=?, reader=?, at=? WHERE key=?", better
        )

    def _read(self, value: Any) -> Reply | None:
        return self._into.decoded(value)

    def _stays(self, source: _Source, kept: Any, other: Any) -> bool:
        """Whether what is kept of a key stays; what both say is compared if both count."""
        key, dataset, value, reader, at = kept
        target = other[3]
        old = self._read(value)
        if old is None:
            return False
        if target is not None:
            since = self._since.get((self._named(target)[0], other[1]), 0)
            if (reader or 0) < since:
                return False  # what is kept was said before the reader was begun anew
        stays = _when(at) <= _when(other[4])
        new = self._read(other[2])
        assert new is not None
        first, second = (old, new) if stays else (new, old)
        open_ = dataset in self._open and other[1] in self._open
        self._compare(key, self._named(target or reader)[1], first, second, open_=open_)
        return stays

    def _compare(self, key: bytes, label: str, stays: Reply, goes: Reply, *, open_: bool) -> None:
        found = self._agreeing.setdefault(label, Agreeing(reader=label))
        found.equal += 1
        if stays.text == goes.text:
            return
        found.differing += 1
        if len(found.examples) < _EXAMPLES:
            texts = [_short(one.text) if open_ else "" for one in (stays, goes)]
            found.examples.append(Example(key.hex()[:12], *texts))

    def _named(self, reader: int | None) -> tuple[str, str]:
        """The identity and label of a reader's row."""
        if reader not in self._names:
            query = "SELECT identity, label FROM readers WHERE id=?"
            row = self._out.execute(query, (reader,)).fetchone() or ("", "")
            self._names[reader] = str(row[0]), str(row[1])
        return self._names[reader]

    # ------------------------------------------------------------ failures and digests

    def _take_failures(self, source: _Source) -> None:
        for batch in source.batches("SELECT key, dataset, reason, reader FROM failures"):
            rows = [
                (key, self._set(source, dataset), reason, source.targets.get((reader, dataset)))
                for key, dataset, reason, reader in batch
                if dataset in source.sets
            ]
            insert(self._out, "INSERT OR REPLACE INTO failures VALUES", rows)

    def _take_sources(self, source: _Source) -> None:
        """Digests of files; where two stores say otherwise of one file, it is read again."""
        for batch in source.batches("SELECT path, size, mtime_ns, digest, dataset FROM sources"):
            query = "SELECT path, size, mtime_ns, digest FROM sources WHERE path IN"
            there = {row[0]: row[1:] for row in over(self._out, query, [row[0] for row in batch])}
            torn, kept = [], []
            for path, size, mark, digest, dataset in batch:
                known = there.get(path)
                if known is not None and known[:2] == (size, mark) and known[2] != digest:
                    torn.append(path)
                elif dataset in source.sets:
                    kept.append((path, size, mark, digest, self._set(source, dataset)))
            insert(self._out, "INSERT OR REPLACE INTO sources VALUES", kept)
            over(self._out, "DELETE FROM sources WHERE path IN", torn)


def _when(at: object) -> int:
    """A time of a file, which somebody may have damaged; 0 for none."""
    return at if type(at) is int else 0


def _short(text: str) -> str:
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"
