"""Which clips are asked about: a seeded sample that knows no order, or the first of a list."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from hashlib import blake2b

from overread.benchmarks.heartbeat.cases import HeartbeatCase, Left

__all__ = ["Read", "draw", "lot", "take"]

# A clip read: the case, or why there is none.
Read = Callable[[str], HeartbeatCase | Left]


def lot(purpose: str, seed: int, name: str) -> int:
    """A number of 128 bits that depends on these three alone, on every machine."""
    text = f"{purpose}|{seed}|{name}".encode()
    return int.from_bytes(blake2b(text, digest_size=16).digest())


def draw(
    names: Sequence[str], read: Read, videos: int, seed: int
) -> tuple[list[HeartbeatCase], list[Left]]:
    """A sample of `videos` names, in their own order; a clip that cannot be read is replaced.

    Each name's lot depends on the name and the seed, so the sample does not change with the order
    of the list, and a longer list keeps most of it. Clips never drawn are never opened.
    """
    place = {name: number for number, name in enumerate(names)}
    cases: dict[str, HeartbeatCase] = {}
    left: dict[str, Left] = {}
    for name in sorted(place, key=lambda name: (lot("sample", seed, name), name)):
        if len(cases) == videos:
            break
        found = read(name)
        if isinstance(found, Left):
            left[name] = found
        else:
            cases[name] = found
    return (
        [cases[name] for name in sorted(cases, key=place.__getitem__)],
        [left[name] for name in sorted(left, key=place.__getitem__)],
    )


def take(names: Sequence[str], read: Read, videos: int) -> tuple[list[HeartbeatCase], list[Left]]:
    """The first `videos` distinct names, as the authors take them; none is replaced."""
    cases: list[HeartbeatCase] = []
    left: list[Left] = []
    for name in list(dict.fromkeys(names))[:videos]:
        found = read(name)
        if isinstance(found, Left):
            left.append(found)
        else:
            cases.append(found)
    return cases, left
