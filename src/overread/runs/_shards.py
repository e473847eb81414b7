"""A run in parts, on machines that share nothing: each asks its own cases into its own store.

A part is made of whole cases, by the digest of their names, and not of the keys of replies. What
follows from replies, and what judges are asked, is made of all replies to a case, so a part needs
nothing of another. A key holds the digests of its pictures, so every machine would have to read
every file to learn which trials are its own. And the conditions of a case open its pictures once.
The price: a question that several cases share word for word, without a picture, is asked once in
each part. Merging counts such replies and shows those that differ.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import msgspec

from overread.case import BadInput, Reader
from overread.runs import _asking, _opening
from overread.runs._engines import Engine
from overread.runs._environment import array_task, default_store
from overread.runs._opening import Tell

if TYPE_CHECKING:
    from overread.runs._running import Watch

_MOST: Final = 10_000
_WORDS: Final = re.compile(r"([0-9]{1,9})/([0-9]{1,9})")


class Part(msgspec.Struct, frozen=True):
    """The part of a run's cases with this number, counted from 1, of so many."""

    number: int
    of: int

    def has(self, case: str) -> bool:
        digest = blake2b(case.encode("utf-8", "surrogatepass"), digest_size=8).digest()
        return int.from_bytes(digest, "big") % self.of == self.number - 1

    def __str__(self) -> str:
        return f"{self.number}/{self.of}"


class PartAsked(msgspec.Struct, frozen=True, kw_only=True):
    """What became of a reader's or judge's questions in a part."""

    reader: str
    trials: int
    answered: int
    kept: int
    failed: int
    reasons: dict[str, int]


class PartDone(msgspec.Struct, frozen=True, kw_only=True):
    """A part that was asked: where its replies are, and who failed to answer. No measures."""

    benchmark: str
    part: str
    cases: int
    store: str
    asked: list[PartAsked]

    @property
    def failed(self) -> int:
        return sum(one.failed for one in self.asked)


def part_of(words: str | None, tell: Tell | None = None) -> Part | None:
    """The part that `--shard I/N` names, or else that of a task in a Slurm array; None for all."""
    if words is None:
        task = array_task()
        if task is None:
            return None
        if tell is not None:
            tell(
                f"a task of a Slurm array: asking part {task[0]} of {task[1]}. --shard 1/1 asks "
                "everything."
            )
        return Part(*task)
    found = _WORDS.fullmatch(words)
    number, of = (int(found[1]), int(found[2])) if found else (0, 0)
    if not 1 <= number <= of <= _MOST:
        raise BadInput(
            f"--shard {words}: expected I/N, part I of N parts, from 1/N to N/N and N at most "
            f"{_MOST:,}; as --shard 2/4."
        )
    return Part(number, of) if of > 1 else None


def store_of(part: Part, named: str | Path | None, usual: str | Path | None = None) -> str | Path:
    """Where a part keeps its replies: where the user says, or beside the usual store."""
    if named is not None:
        return named
    place = default_store(usual)
    if isinstance(place, str):  # a served store is for all parts
        return place
    return place.with_name(f"{place.stem}.shard-{part.number}-of-{part.of}{place.suffix}")


def run_part(
    benchmark: str,
    cases: str | Path,
    readers: Sequence[str | Mapping[str, Any] | Reader],
    *,
    part: Part,
    judges: Sequence[str | Mapping[str, Any] | Reader] = (),
    edition: str = "corrected",
    store: str | Path | None = None,
    limit: int | None = None,
    only: str | Path | None = None,
    settings: Mapping[str, str] | None = None,
    concurrency: int | None = None,
    fresh: bool = False,
    engine: str = "local",
    address: str | None = None,
    actors: int | None = None,
    watch: Watch | None = None,
    tell: Tell | None = None,
) -> PartDone:
    """Ask one part of a run, readers and judges, and keep the replies. Nothing is measured.

    When all parts are asked their stores are merged; then `run` finds everything answered.
    """
    from overread.runs._running import Asking, prepared

    chosen_engine = Engine(engine, address, actors)
    chosen_engine.check()

    ready = prepared(
        benchmark, cases, readers, judges,
        edition=edition, limit=limit, only=only, settings=settings, concurrency=concurrency,
    )  # fmt: skip
    bench, chosen = ready.bench, ready.chosen.cases
    who = _opening.enrolments(ready.seats)
    if tell is not None:
        for line in _opening.remarks_of(bench):
            tell(line)
    with _asking.work_on(bench, chosen, store_of(part, store), tell, part.has) as work:
        asking = Asking(work, ready.seats, engine=chosen_engine)
        asking.ask(who, watch, tell, fresh=fresh)
        asked = [
            PartAsked(
                reader=name,
                trials=tally.planned,
                answered=tally.answered,
                kept=tally.kept + tally.shared,
                failed=tally.failed,
                reasons=dict(tally.reasons),
            )
            for name, tally in asking.tallies.items()
        ]
        held = sum(
            part.has(case.case_id)
            for case in bench.cases()
            if chosen is None or case.case_id in chosen
        )
        return PartDone(
            benchmark=bench.name, part=str(part), cases=held, store=work.store.shown, asked=asked
        )
