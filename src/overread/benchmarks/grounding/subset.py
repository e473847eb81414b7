"""The sub-sample that further resolutions and phrasings are asked of (GROUNDING 12, [D14], [D15]).

To ask everything again at every size and in every phrasing would cost a multiple of the audit; a
hundred cases show whether a number depends on either.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from hashlib import blake2b
from typing import Final, NamedTuple, TypeVar

import msgspec

from overread.benchmarks.grounding.cases import GroundingCase, boxed, truth
from overread.benchmarks.grounding.edition import Edition
from overread.benchmarks.grounding.prompts import SENTENCE_SOURCE

__all__ = ["Candidate", "Subset", "any_sample", "balanced_sample", "robustness_subset"]

# The authors' `random_state`, for both of their sub-samples.
_AUTHORS_SEED: Final = 42
_Key = TypeVar("_Key", int, str)


class Subset(msgspec.Struct, frozen=True):
    """Ids of the cases that are asked at further resolutions, and in further phrasings."""

    px: frozenset[str] = frozenset()
    phrasing: frozenset[str] = frozenset()


class Candidate(NamedTuple):
    """What a draw goes by."""

    case: str
    answer: int
    finding: str


def robustness_subset(
    cases: Iterable[GroundingCase], edition: Edition, n: int, seed: int = 0
) -> Subset:
    """n cases for further resolutions and n for further phrasings; all that qualify if n is 0.

    Resolutions are asked of boxed cases, for what they may change is whether a mask matters.
    Phrasings are asked of the same cases by the authors, all of them positive, so that always-Yes
    is always right; in `corrected`, of cases of both answers, whatever their source, unless the
    question is about a sentence [D14].
    """
    with_box, about_findings = [], []
    for case in cases:
        candidate = Candidate(case.case_id, truth(case, edition), case.finding or "")
        if boxed(case, edition):
            with_box.append(candidate)
        if case.source != SENTENCE_SOURCE and candidate.answer >= 0:
            about_findings.append(candidate)
    if edition.robustness == "boxed":
        both = frozenset(any_sample([c.case for c in with_box], n))
        return Subset(both, both)
    return Subset(
        frozenset(balanced_sample(with_box, n, seed)),
        frozenset(balanced_sample(about_findings, n, seed)),
    )


def any_sample(ids: Sequence[str], n: int) -> tuple[str, ...]:
    """n ids in the order drawn, as the authors' `DataFrame.sample(n, random_state=42)` gives."""
    import numpy as np

    if not 0 < n < len(ids):
        n = len(ids)
    chosen = np.random.RandomState(_AUTHORS_SEED).choice(len(ids), n, replace=False)
    return tuple(ids[k] for k in chosen)


def balanced_sample(candidates: Iterable[Candidate], n: int, seed: int = 0) -> tuple[str, ...]:
    """n ids: half of either answer, and within an answer as many of each finding as there can be.

    Where one runs short the others take its places. Within a stratum the draw goes by a digest of
    seed and id, so it does not depend on the order of the cases.
    """
    strata: dict[int, dict[str, list[str]]] = {}
    for case, answer, finding in candidates:
        strata.setdefault(answer, {}).setdefault(finding, []).append(case)
    held = {a: sum(map(len, findings.values())) for a, findings in strata.items()}
    chosen: list[str] = []
    for answer, share in _shares(n or sum(held.values()), held).items():
        findings = strata[answer]
        sizes = {finding: len(ids) for finding, ids in findings.items()}
        for finding, k in _shares(share, sizes).items():
            chosen += sorted(findings[finding], key=lambda case: _rank(seed, case))[:k]
    return tuple(chosen)


def _shares(n: int, sizes: Mapping[_Key, int]) -> dict[_Key, int]:
    """n places as evenly as sizes allow: the smallest first, each an equal part of what is left."""
    shares: dict[_Key, int] = {}
    for k, key in enumerate(sorted(sizes, key=lambda key: (sizes[key], key))):
        shares[key] = min(sizes[key], (n - sum(shares.values())) // (len(sizes) - k))
    return shares


def _rank(seed: int, case: str) -> bytes:
    return blake2b(f"{seed}:{case}".encode(), digest_size=16).digest()
