"""`python -m bench category`: how often the category of the grounding audit is wrong, by simulation
through the real functions. `python -m bench.category [TIMES]` prints the tables of
docs/statistics.md.

A reader uses the image in a share of the cases: there the target mask and another patient's image
flip its answer. Whatever is shown, asking again included, it flips by chance in a further share.
All cases are answered right. Of a patient with several cases each of these coins is shared by any
two of them with the probability `ALIKE`, which is then their correlation.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterable
from concurrent.futures import ProcessPoolExecutor
from math import sqrt
from types import MappingProxyType
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from overread.benchmarks.grounding.category import IGNORES, LEVEL, USES, Findings, category
from overread.benchmarks.grounding.edition import CORRECTED, Edition
from overread.benchmarks.grounding.marks import NO_ROW, Facts, Marks
from overread.benchmarks.grounding.rates import BY_NAME, category_tests, outcomes
from overread.case import Measure
from overread.measuring.estimates import clustered_share

TIMES: Final = 2_000
ALIKE: Final = 0.5
# What must hold: `uses image` for anybody of a run whose readers use nothing, and `ignores image`
# for a reader that uses this share of the images or more.
FALSE_USES, FALSE_IGNORES, USER = LEVEL, 0.05, 0.03
SIZES: Final = (110, 400)
USED: Final = (0.0, 0.01, 0.03, 0.10, 0.30)
FLIPS: Final = (0.0, 0.005, 0.02, 0.05, 0.10)
# The flips by chance at which each word is the likeliest to be wrong.
CRITICAL: Final = {0.0: (0.02, 0.05, 0.10), USER: (0.0, 0.005, 0.02)}
_BOXED: Final = ("target_mask", "irrelevant_mask", "matched_1")


class Setting(NamedTuple):
    """A run: its boxed cases, what its readers do, how many they are, and what they were asked.

    `each` cases a patient; `matched` boxes and a `retest`, or not. A reader that is `disturbed`
    flips in that share of cases under any box within the body, the target's and the matched, but
    not under one in a corner. `unboxed` cases stand beside the boxed, and `restless` is the share
    of them in which it flips by chance. One that `sees` the finding has the same answer to another
    patient's image, which has it too, and use shows under the target mask alone.
    """

    n: int
    uses: float
    noise: float
    readers: int = 1
    each: int = 1
    matched: bool = True
    retest: bool = True
    disturbed: float = 0.0
    unboxed: int = 0
    restless: float = 0.0
    sees: bool = False

    @property
    def false(self) -> str | None:
        """The word that would be wrong."""
        if not self.uses:
            return USES
        return IGNORES if self.uses >= USER else None


VARIANTS: Final[dict[str, dict[str, Any]]] = {
    "one model, matched boxes, retest": {},
    "2 films a patient": {"each": 2},
    "5 films a patient": {"each": 5},
    "no retest": {"retest": False},
    "no matched boxes": {"matched": False},
    "no matched boxes, no retest": {"matched": False, "retest": False},
    "disturbed by a black centre": {"disturbed": 0.33},
    "disturbed, no retest": {"disturbed": 0.33, "retest": False},
    "400 unboxed cases, a tenth of which flips": {"unboxed": 400, "restless": 0.1},
    "400 unboxed cases, use under the mask alone": {"unboxed": 400, "sees": True},
    "ten models": {"readers": 10},
    "ten models, no retest": {"readers": 10, "retest": False},
    "ten models, no retest, no matched boxes": {"readers": 10, "retest": False, "matched": False},
    "ten models, 2 films a patient": {"readers": 10, "each": 2},
}
"""Settings under which no word may be wrong too often, by what they are called."""
UNSEEN: Final = {"disturbed": 0.33, "matched": False}
"""One that no rule can tell from use of the image: there was no box but in the corner."""

_PLAIN: Final = next(iter(VARIANTS))
GRID: Final = {
    Setting(n, uses, noise): _PLAIN for n in SIZES for uses in USED for noise in FLIPS
} | {
    Setting(n, uses, noise, **more): name
    for name, more in VARIANTS.items()
    for n in SIZES
    for uses in ((0.0,) if "readers" in more else (0.0, USER))
    for noise in CRITICAL[uses]
}


def _coins(at: Setting, share: float, owners: NDArray[Any], draw: np.random.Generator) -> Any:
    """One for each case, heads in a share of them, alike within a patient."""
    own = draw.random(owners.size) < share
    if at.each == 1 or not share:
        return own
    shared = (draw.random(int(owners[-1]) + 1) < share)[owners]
    return np.where(draw.random(owners.size) < sqrt(ALIKE), shared, own)


def marks_of(name: str, at: Setting, draw: np.random.Generator, facts: Facts) -> Marks:
    """One simulated reader's answers to every image."""
    boxed, owners = facts.boxed, facts.patients
    used = _coins(at, at.uses, owners, draw) & boxed
    shaken = _coins(at, at.disturbed, owners, draw)
    codes = {"original": np.ones(facts.n, dtype=np.int8)}
    for image in ("swap", *_BOXED, "repeat"):
        if (image == "matched_1" and not at.matched) or (image == "repeat" and not at.retest):
            continue
        flipped = _coins(at, at.noise, owners, draw)
        if at.unboxed:
            flipped = np.where(boxed, flipped, _coins(at, at.restless, owners, draw))
        if image == "target_mask" or (image == "swap" and not at.sees):
            flipped |= used
        if image in ("target_mask", "matched_1"):
            flipped |= shaken
        unseen = ~boxed & (image in _BOXED)
        codes[image] = np.where(unseen, NO_ROW, ~flipped).astype(np.int8)
    return Marks(
        reader=name,
        modality="multimodal",
        codes=MappingProxyType(codes),
        truth=facts.truth,
        p_yes=np.full(facts.n, np.nan),
        facts=facts,
        order=np.arange(facts.n),
    )


class _Run(NamedTuple):
    """As much of a study as the rates and `category_tests` ask for."""

    marks: tuple[Marks, ...]
    edition: Edition = CORRECTED
    robust: bool = True


def words_of(at: Setting, draw: np.random.Generator) -> list[str]:
    """The word of every reader of one simulated run."""
    n = at.n + at.unboxed
    yes, no = np.ones(n, dtype=bool), np.zeros(n, dtype=bool)
    facts = Facts(
        truth=np.ones(n, dtype=np.int8),
        boxed=np.arange(n) < at.n,
        has_swap=yes,
        swap_counts=yes,
        control_counts=yes,
        normal=no,
        sentence=no,
        patients=np.arange(n) // at.each,
    )
    run: Any = _Run(tuple(marks_of(f"r{i}", at, draw, facts) for i in range(at.readers)))
    tests = category_tests(run)
    found = []
    for m in run.marks:

        def rate(name: str, m: Marks = m) -> Measure:
            of = BY_NAME[name].of
            assert of is not None
            marks = outcomes(of(run, m, {}))
            there = ~np.isnan(marks)
            record = Measure(reader=m.reader, measure=name)
            return clustered_share(record, marks[there] == 1, facts.patients[there])

        names = ("cgr", "uar", "is", "is_all")
        gsp = Measure(reader=m.reader, measure="gsp")
        given = Findings(*map(rate, names), gsp, tests=tests[m.reader])
        record = category(Measure(reader=m.reader, measure="category"), given, CORRECTED)
        found.append(record.label or "")
    return found


class Share(NamedTuple):
    """Of so many simulated runs, the shares in which anybody got each of the two words."""

    times: int
    uses: float
    ignores: float

    def of(self, word: str) -> float:
        return self.uses if word == USES else self.ignores


def share_of_words(at: Setting, times: int, seed: int = 0) -> Share:
    """How often a setting gives each word."""
    draw = np.random.default_rng(seed)
    runs = [words_of(at, draw) for _ in range(times)]
    return Share(times, *(sum(word in run for run in runs) / times for word in (USES, IGNORES)))


def limit_of(word: str, times: int) -> float:
    """How often a word may be wrong, and twice the error that so many runs leave open."""
    limit = FALSE_USES if word == USES else FALSE_IGNORES
    return limit + 2 * sqrt(limit * (1 - limit) / times)


def characteristics(settings: Iterable[Setting], times: int = TIMES) -> dict[Setting, Share]:
    """Every setting on both cores; those in which no word is wrong with a quarter of the runs."""
    chosen = list(settings)
    counts = [times if at.false else max(1, times // 4) for at in chosen]
    with ProcessPoolExecutor(2) as pool:
        return dict(zip(chosen, pool.map(share_of_words, chosen, counts), strict=True))


def of_every_setting(times: int = TIMES) -> dict[str, Any]:
    """Whether any word is wrong more often than it may be, and the worst of each variant."""
    found = characteristics(GRID, times)
    worst: dict[str, dict[str, float]] = {}
    beyond = []
    for at, share in found.items():
        if at.false is None:
            continue
        wrong = share.of(at.false)
        of = worst.setdefault(GRID[at], {})
        of[at.false] = max(of.get(at.false, 0.0), wrong)
        if wrong > limit_of(at.false, share.times):
            beyond.append({"setting": at._asdict(), "word": at.false, "share": wrong})
    return {
        "ok": not beyond,
        "runs": times,
        "limits": {word: round(limit_of(word, times), 4) for word in (USES, IGNORES)},
        "settings": len(found),
        "worst": worst,
        "beyond": beyond,
    }


def _cell(share: float) -> str:
    return f"{share:.3f}".lstrip("0") if 0 < share < 1 else f"{share:.0f}"


def main() -> None:
    """Print both tables."""
    parser = argparse.ArgumentParser(prog="python -m bench.category", description=__doc__)
    parser.add_argument("times", nargs="?", type=int, default=TIMES)
    found = characteristics([*GRID, *_unseen()], parser.parse_args().times)
    print("| n | uses |", " | ".join(f"{100 * noise:g} %" for noise in FLIPS), "|")
    print("|---" * (2 + len(FLIPS)) + "|")
    for n in SIZES:
        for uses in USED:
            row = [found[Setting(n, uses, noise)] for noise in FLIPS]
            cells = [f"{_cell(one.uses)} / {_cell(one.ignores)}" for one in row]
            print("|", " | ".join((str(n), f"{100 * uses:g} %", *cells)), "|")
    print("\n| setting | n | `uses image`, uses nothing | `ignores image`, uses 3 % |")
    print("|---|---|---|---|")
    for name, more in (*VARIANTS.items(), ("disturbed, no matched boxes", UNSEEN)):
        for n in SIZES:
            cells = []
            for uses in (0.0, USER):
                at = [Setting(n, uses, noise, **more) for noise in CRITICAL[uses]]
                shares = [found[one].of(one.false or "") for one in at if one in found]
                cells.append(_cell(max(shares)) if shares else "–")
            print("|", " | ".join((name, str(n), *cells)), "|")


def _unseen() -> list[Setting]:
    return [Setting(n, 0.0, noise, **UNSEEN) for n in SIZES for noise in CRITICAL[0.0]]


if __name__ == "__main__":
    main()
