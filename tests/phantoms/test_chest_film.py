"""One film: what a finding changes is exactly what its box says."""

from __future__ import annotations

import numpy as np
import pytest
from PIL import Image

from overread.phantoms.chest_film import CHANGED, FINDINGS, film

# The least side of a box in source pixels: 50 of 224 (GROUNDING 2.2).
LEAST = 229


def _pair(finding, seed, view):
    """The same patient without and with the finding: both draws start from one seed."""
    well = film(np.random.default_rng(seed), view=view)
    sick = film(np.random.default_rng(seed), view=view, finding=finding)
    assert well.person == sick.person
    return well, sick


@pytest.mark.parametrize("view", ["PA", "AP"])
@pytest.mark.parametrize("finding", list(FINDINGS))
def test_the_box_is_tight_around_what_changed(finding, view):
    well, sick = _pair(finding, 7, view)
    box = sick.box
    changed = np.abs(sick.pixels.astype(int) - well.pixels) > CHANGED
    rows, columns = np.nonzero(changed)
    assert (box.x, box.y) == (columns.min(), rows.min())
    assert (box.x + box.w, box.y + box.h) == (columns.max() + 1, rows.max() + 1)
    assert box.w >= LEAST
    assert box.h >= LEAST


@pytest.mark.parametrize("finding", list(FINDINGS))
def test_a_finding_survives_resizing(finding):
    well, sick = _pair(finding, 8, "AP")
    small = [
        np.asarray(Image.fromarray(f.pixels).resize((224, 224), Image.Resampling.BILINEAR), int)
        for f in (well, sick)
    ]
    assert (np.abs(small[1] - small[0]) > 15).sum() > 250


def test_findings_vary_in_place_and_size():
    boxes = [
        film(np.random.default_rng(s), view="PA", finding="lung_opacity").box for s in range(6)
    ]
    assert len({box.x // 40 for box in boxes}) > 1
    assert len({box.y // 40 for box in boxes}) > 1
    assert len({box.h // 20 for box in boxes}) > 1


def test_only_the_marker_is_white():
    plain = film(np.random.default_rng(9), view="AP")
    marked = film(np.random.default_rng(9), view="AP", marker=True)
    assert plain.at is None
    assert plain.pixels.max() < 225
    assert plain.pixels.min() > 6
    x, y = marked.at
    white = marked.pixels > 238
    assert white.sum() > 1000
    assert white[y : y + 84, x : x + 84].sum() == white.sum()


def test_patients_differ():
    people = [film(np.random.default_rng(s), view="PA").person for s in range(4)]
    assert len({person.exposure for person in people}) == 4
    assert len({person.heart.wide for person in people}) == 4
