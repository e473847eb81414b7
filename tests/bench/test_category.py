"""A small part of the simulation: no word of the category is wrong more often than it may be.

`python -m bench category` does all of it. 150 runs leave some points open.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from bench.category import (
    GRID,
    SIZES,
    UNSEEN,
    USED,
    VARIANTS,
    Setting,
    limit_of,
    share_of_words,
)

from overread.benchmarks.grounding.category import IGNORES, USES

TIMES = 150


@pytest.mark.slow
@pytest.mark.parametrize("name", VARIANTS)
def test_the_operating_characteristics(name: str) -> None:
    """Nobody who uses nothing uses the image, and nobody who uses 3 % ignores it."""
    more = VARIANTS[name]
    times = TIMES // 3 if "readers" in more else TIMES
    nothing = share_of_words(Setting(400, 0.0, 0.02, **more), times)
    assert nothing.uses <= limit_of(USES, times)
    if "readers" not in more:
        assert share_of_words(Setting(400, 0.03, 0.0, **more), times).ignores <= limit_of(
            IGNORES, times
        )


@pytest.mark.slow
def test_what_a_reader_does_is_found() -> None:
    assert share_of_words(Setting(400, 0.1, 0.0), TIMES).uses >= 0.95
    assert share_of_words(Setting(400, 0.0, 0.0), TIMES).ignores == 1
    # Noise on unboxed cases alone takes no use of the image away.
    restless = Setting(400, 0.1, 0.0, unboxed=400, restless=0.1)
    assert share_of_words(restless, TIMES).uses >= 0.95


def test_only_a_box_within_the_body_tells_a_black_centre_from_a_finding() -> None:
    """Why matched boxes are asked unasked."""
    assert share_of_words(Setting(400, 0.0, 0.0, **UNSEEN), 20).uses == 1
    assert share_of_words(Setting(400, 0.0, 0.0, disturbed=0.33), 20).uses == 0


def test_the_grid_has_every_size_use_and_variant() -> None:
    assert {(at.n, at.uses) for at in GRID} == {(n, uses) for n in SIZES for uses in USED}
    assert set(GRID.values()) == set(VARIANTS)
    for name in VARIANTS:
        assert {at.n for at, of in GRID.items() if of == name and at.false == USES} == set(SIZES)


def test_the_document_has_a_row_of_every_setting() -> None:
    page = Path(__file__).parents[2] / "docs" / "statistics.md"
    rows = [line.split(" | ")[:2] for line in page.read_text(encoding="utf-8").splitlines()]
    for name in (*VARIANTS, "disturbed, no matched boxes"):
        for n in SIZES:
            assert [f"| {name}", str(n)] in rows
    for n in SIZES:
        for uses in USED:
            assert [f"| {n}", f"{100 * uses:g} %"] in rows
