"""A run in parts, on machines that share nothing: each asks its own questions into its own store.

A question is in the part of what is shown, by the name of its first picture or clip: so each file
is opened in one part only, and questions that are the same (a picture swapped in is another case's
own) are asked in one. Without a picture it is in the part of its words. Names, and not digests of
files: no part reads the files of another, and roots differ from host to host.

Where something follows from replies (further questions, timing, what judges are asked) all of it is
made of the replies to one case, so there a part is made of whole cases and needs nothing of the
others. The price: what several of these cases ask word for word is asked in each of their parts.
Merging counts such replies, and shows those that differ.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from hashlib import blake2b
from pathlib import Path
from typing import Final

import msgspec

from overread.benchmarks.base import Benchmark
from overread.case import BadInput, Clip, Inline, Picture, Request, Traits, Trial
from overread.runs._environment import array_task, default_store
from overread.runs._opening import Tell

_MOST: Final = 10_000
_WORDS: Final = re.compile(r"([0-9]{1,9})/([0-9]{1,9})")


class Part(msgspec.Struct, frozen=True):
    """The part of a run with this number, counted from 1, of so many."""

    number: int
    of: int

    def __str__(self) -> str:
        return f"{self.number}/{self.of}"

    def chooser(self, bench: Benchmark, traits: Traits) -> Callable[[Trial], bool]:
        """Whether a trial is asked in this part, of a reader with these traits."""
        if bench.follows or bench.times or bench.roles:
            return lambda trial: self._has(_bytes(trial.case))
        return lambda trial: self._has(_what_is_shown(trial.request.for_reader(traits)))

    def _has(self, name: bytes) -> bool:
        digest = blake2b(name, digest_size=8).digest()
        return int.from_bytes(digest, "big") % self.of == self.number - 1


def _what_is_shown(request: Request) -> bytes:
    shown: list[Picture | Clip] = [*request.pictures, *request.clips]
    if shown:
        source = shown[0].source
        return source.data if isinstance(source, Inline) else _bytes(source.name)
    words = (part for message in request.messages for part in message.parts)
    return _bytes("\n".join(part for part in words if isinstance(part, str)) + request.topic)


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


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
