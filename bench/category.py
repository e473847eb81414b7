"""How often the category of the grounding audit is wrong, by simulation through the real functions.

    python -m bench.category [TIMES]

A reader uses the image in a share of the cases: there the target mask and another patient's image
flip its answer. In every case, whatever is shown, it flips by chance in a further share, asking
again included. All cases are boxed, one of each patient, and answered right.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterator
from types import MappingProxyType
from typing import Any, Final, NamedTuple

import numpy as np

from overread.benchmarks.grounding.category import (
    IGNORES,
    INDETERMINATE,
    UNSTABLE,
    USES,
    Findings,
    category,
)
from overread.benchmarks.grounding.edition import CORRECTED
from overread.benchmarks.grounding.marks import Facts, Marks
from overread.benchmarks.grounding.rates import category_tests, premium
from overread.case import Measure
from overread.measuring.estimates import clustered_share

IMAGES: Final = ("swap", "target_mask", "irrelevant_mask", "matched_1", "repeat")
_USED: Final = frozenset({"swap", "target_mask"})


class Setting(NamedTuple):
    """Cases, the share of images used, the share flipped by chance, and readers in the run."""

    n: int
    uses: float
    noise: float
    readers: int = 1


GRID: Final = tuple(
    Setting(n, uses, noise)
    for n in (110, 400)
    for uses in (0.0, 0.01, 0.03, 0.10, 0.30)
    for noise in (0.0, 0.005, 0.02, 0.05, 0.10)
) + tuple(Setting(n, 0.0, noise, 10) for n in (110, 400) for noise in (0.02, 0.10))


def marks_of(name: str, at: Setting, draw: np.random.Generator, facts: Facts) -> Marks:
    """One simulated reader's answers to every image."""
    used = draw.random(at.n) < at.uses
    codes = {"original": np.ones(at.n, dtype=np.int8)}
    for image in IMAGES:
        flipped = draw.random(at.n) < at.noise
        if image in _USED:
            flipped |= used
        codes[image] = (~flipped).astype(np.int8)
    return Marks(
        reader=name,
        modality="multimodal",
        codes=MappingProxyType(codes),
        truth=facts.truth,
        p_yes=np.full(at.n, np.nan),
        facts=facts,
        order=np.arange(at.n),
    )


class _Run(NamedTuple):
    """As much of a study as `category_tests` asks for."""

    marks: tuple[Marks, ...]
    robust: bool = True


def words_of(at: Setting, draw: np.random.Generator) -> list[str]:
    """The word of every reader of one simulated run."""
    yes, no = np.ones(at.n, dtype=bool), np.zeros(at.n, dtype=bool)
    facts = Facts(
        truth=np.ones(at.n, dtype=np.int8),
        boxed=yes,
        has_swap=yes,
        swap_counts=yes,
        control_counts=yes,
        normal=no,
        sentence=no,
        patients=np.arange(at.n),
    )
    run: Any = _Run(tuple(marks_of(f"r{i}", at, draw, facts) for i in range(at.readers)))
    tests = category_tests(run)
    found = []
    for m in run.marks:

        def share(name: str, hits: Any, m: Marks = m) -> Measure:
            return clustered_share(Measure(reader=m.reader, measure=name), hits, facts.patients)

        stable = share("is", m.under("irrelevant_mask") == 1)
        given = Findings(
            share("cgr", m.target_mask == 0),
            share("uar", m.swap == 1),
            stable,
            stable,
            premium(run, m, "target_mask", ["irrelevant_mask"]),
            share("retest", m.under("repeat") == 1),
            tests[m.reader],
        )
        record = category(Measure(reader=m.reader, measure="category"), given, CORRECTED)
        found.append(record.label or "")
    return found


def characteristics(times: int = 400, seed: int = 0) -> Iterator[tuple[Setting, dict[str, float]]]:
    """Of each setting, the share of runs in which any reader gets each word."""
    for at in GRID:
        draw = np.random.default_rng(seed)
        counts = Counter(word for _ in range(times) for word in set(words_of(at, draw)))
        yield at, {word: counts[word] / times for word in (USES, IGNORES, UNSTABLE, INDETERMINATE)}


def main(times: int) -> None:
    """Print the table."""
    print("| cases | readers | uses | random flips | uses image | ignores image | indeterminate |")
    print("|---|---|---|---|---|---|---|")
    for at, found in characteristics(times):
        cells = (at.n, at.readers, f"{at.uses:.0%}", f"{at.noise:.1%}")
        shares = (f"{found[word]:.3f}" for word in (USES, IGNORES, INDETERMINATE))
        print("|", " | ".join(map(str, (*cells, *shares))), "|", flush=True)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 400)
