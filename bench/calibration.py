"""What a second is worth here: times as multiples of a loop that is run beside them.

A limit of N seconds on two idle cores of the machine that limits were set on is a limit of 10 N
beats everywhere. A slower machine, or one with other work to do, has slower beats.
"""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

# Turns of the loop in a tenth of a second, on the machine that limits were set on.
_TURNS = 1_600_000
BEATS_A_SECOND = 10


class Spent(NamedTuple):
    """What a command took: seconds, the same in beats, and the most memory it held in MB."""

    s: float
    beats: float
    mb: float

    def within(self, seconds: float) -> bool:
        """Whether it kept a limit given in seconds of the machine that limits were set on."""
        return self.beats <= BEATS_A_SECOND * seconds

    def told(self, seconds: float) -> dict[str, float]:
        """As the bench prints it, beside its limit."""
        return {
            "s": round(self.s, 2),
            "beats": round(self.beats, 1),
            "beats_allowed": BEATS_A_SECOND * seconds,
            "peak_mb": round(self.mb),
        }


def beat() -> float:
    """Seconds of one loop: what plain Python does with a dictionary and whole numbers."""
    began = time.perf_counter()
    tally: dict[int, int] = {}
    for turn in range(_TURNS):
        tally[turn & 1023] = tally.get(turn & 1023, 0) + turn
    return time.perf_counter() - began


def spent(command: Sequence[str | Path], times: int = 3, cwd: Path | None = None) -> Spent:
    """The best of some runs of a command, each against the beats right before and after it."""
    found = []
    before = beat()
    for _ in range(times):
        seconds, mb = once(command, cwd)
        after = beat()
        found.append(Spent(seconds, seconds / ((before + after) / 2), mb))
        before = after
    best = min(found, key=lambda one: one.beats)
    return best._replace(mb=max(one.mb for one in found))


# A child's peak begins with what its parent holds: so this small process is the parent.
_WATCH = """
import os, subprocess, sys, time
quiet = subprocess.DEVNULL
began = time.perf_counter()
child = subprocess.Popen(sys.argv[1:], stdout=quiet, stderr=quiet)
_, status, used = os.wait4(child.pid, 0)
print(time.perf_counter() - began, used.ru_maxrss / 1024, status)
"""


def once(command: Sequence[str | Path], cwd: Path | None = None) -> tuple[float, float]:
    """Seconds, and the most memory the process held, by the kernel's account of that child."""
    watched = [sys.executable, "-c", _WATCH, *map(str, command)]
    said = subprocess.run(watched, check=True, stdout=subprocess.PIPE, cwd=cwd).stdout
    seconds, mb, status = map(float, said.split())
    if status:
        raise RuntimeError(f"{' '.join(map(str, command))} ended with {status:.0f}")
    return seconds, mb
