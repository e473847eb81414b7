"""The published categories follow from the published numbers, by the benchmark's own rule too."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from overread.benchmarks.grounding.category import published_rule
from overread.published import figures
from published.arithmetic.grounding_claims import category

FOUND = figures("grounding")
SYSTEMS = {system.name: system.category for system in FOUND.systems}
PERCENT = st.none() | st.sampled_from([0.0, 0.1, 50.0, 69.9, 70.0, 89.9, 90.0, 99.9, 100.0])


def numbers(reader: str) -> tuple[float | None, float | None, float | None, float | None]:
    """CGR, its lower bound, UAR and IS in percent, as Table 1 prints them."""
    cgr, uar, stable = (FOUND.find(reader, name) for name in ("cgr", "uar", "is"))
    assert cgr is not None
    assert uar is not None
    assert stable is not None
    printed = (cgr.record.value, cgr.record.low, uar.record.value, stable.record.value)
    first, second, third, fourth = (None if x is None else round(100 * x, 6) for x in printed)
    return first, second, third, fourth


@pytest.mark.parametrize(("reader", "word"), SYSTEMS.items())
def test_the_benchmarks_rule_gives_the_published_category(reader: str, word: str) -> None:
    """GROUNDING 9"""
    assert published_rule(*numbers(reader)) == word


@pytest.mark.parametrize("reader", SYSTEMS)
@pytest.mark.parametrize("threshold", [50, 60, 70, 80, 90])
def test_the_sweep_of_the_threshold_of_stability(reader: str, threshold: int) -> None:
    """Supplementary Table 13, but for one word: with 50 the stated rule has none for Mistral."""
    printed = FOUND.find(reader, "category", {"unstable_below": f"{threshold / 100:.2f}"})
    assert printed is not None
    word = category(*numbers(reader), threshold=threshold)
    if (reader, threshold) == ("Mistral-Small-4-119B", 50):
        assert (printed.record.label, word) == ("uses image", "indeterminate")
    else:
        assert printed.record.label == word


@given(PERCENT, PERCENT, PERCENT, PERCENT)
def test_the_rule_here_is_that_of_the_benchmark(
    cgr: float | None, low: float | None, uar: float | None, stable: float | None
) -> None:
    assert category(cgr, low, uar, stable) == published_rule(cgr, low, uar, stable)
