"""Boxes against the authors' own, and what must hold of any box."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from overread.case import Box
from overread.imaging import (
    at_resolution,
    closed,
    irrelevant_box,
    irrelevant_boxes,
    overlap,
    overlap_fraction,
    rescale_box,
    within_square,
)

boxes = st.builds(
    Box, st.integers(-3, 224), st.integers(-3, 224), st.integers(1, 226), st.integers(1, 226)
)


GOLDEN = Path(__file__).parents[1] / "golden" / "grounding"


def load(name):
    return json.loads((GOLDEN / "protocol_bits" / f"{name}.json").read_text("utf-8"))


def test_rescaling_as_the_authors():
    for entry in load("box_rescale"):
        given_, out = entry["input"], entry.get("output")
        box = rescale_box(*(given_[k] for k in ("x", "y", "w", "h", "image_width", "image_height")))
        if entry["kept"]:
            assert box == Box(*(out[f"box_{k}"] for k in "xywh"))
            assert irrelevant_box(box) == Box(*(out[f"irrelevant_box_{k}"] for k in "xywh"))
        elif given_["category_name"] in ("Edema", "Pleural Effusion"):
            assert box is None  # the other rows were dropped for reasons that are not the box's


def test_irrelevant_boxes_as_the_authors():
    for entry in load("irrelevant_box"):
        box = Box(*(entry[f"box_{k}"] for k in "xywh"))
        assert irrelevant_box(box) == Box(*(entry[f"irrelevant_box_{k}"] for k in "xywh"))
        assert overlap(box, irrelevant_box(box)) == entry["overlap_px_half_open"]


def test_masked_pixels_as_the_authors():
    for entry in load("mask_pixels"):
        px = entry["resolution"]
        box = at_resolution(Box(*entry["box224"]), px)
        assert box == Box(*entry["box_at_resolution_truncated"])
        black = closed(box)
        columns = [c for c in range(px) if black.x <= c < black.x + black.w]
        rows = [r for r in range(px) if black.y <= r < black.y + black.h]
        assert len(columns) * len(rows) == entry["black_pixels"]
        assert [columns[0], columns[-1]] == entry["black_x_min_max_inclusive"]
        assert [rows[0], rows[-1]] == entry["black_y_min_max_inclusive"]


def test_half_open_masks_have_equal_areas_where_closed_ones_do_not():
    """[D11] The control is meant to differ from the target in place only."""
    target = Box(60, 60, 50, 50)
    control = irrelevant_box(target)

    def area(box):
        return overlap(box, Box(0, 0, 224, 224))

    assert area(target) == area(control) == 2500
    assert area(closed(target)) == 2601
    assert area(closed(control)) == 2500


@pytest.mark.parametrize(("side", "kept"), [(49.999, False), (50.0, True), (50.2, True)])
def test_a_side_of_fifty_is_kept_before_rounding(side, kept):
    """[D12]"""
    assert (rescale_box(0, 0, side, 60, 224, 224) is not None) is kept
    assert (rescale_box(0, 0, 60, side, 224, 224) is not None) is kept


def test_rounding_is_half_to_even():
    assert rescale_box(1, 3, 101, 103, 448, 448) == Box(0, 2, 50, 52)


def test_an_image_without_size_is_refused():
    with pytest.raises(ValueError, match="no box"):
        rescale_box(0, 0, 60, 60, 0, 224)


@given(boxes)
def test_the_irrelevant_box_is_the_farthest_corner_by_brute_force(box):
    found = irrelevant_box(box)
    corners = [(x, y) for y in (0, 224 - box.h) for x in (0, 224 - box.w)]

    def distance(corner):
        dx = (corner[0] + box.w / 2) - (box.x + box.w / 2)
        dy = (corner[1] + box.h / 2) - (box.y + box.h / 2)
        return dx * dx + dy * dy

    best = max(distance(corner) for corner in corners)
    first = next(corner for corner in corners if distance(corner) == best)
    assert (found.x, found.y) == (max(0, first[0]), max(0, first[1]))
    assert (found.w, found.h) == (box.w, box.h)


@given(boxes, boxes)
def test_overlap_counts_shared_pixels(a, b):
    def cells(box):
        return range(box.x, box.x + box.w), range(box.y, box.y + box.h)

    shared = len(set(cells(a)[0]) & set(cells(b)[0])) * len(set(cells(a)[1]) & set(cells(b)[1]))
    assert overlap(a, b) == overlap(b, a) == shared
    assert 0 <= overlap_fraction([a], [b]) <= 1


some = st.lists(
    st.builds(
        Box, st.integers(-5, 20), st.integers(-5, 20), st.integers(1, 12), st.integers(1, 12)
    ),
    min_size=1,
    max_size=3,
)


@given(some, some)
def test_the_share_that_is_covered_counts_every_pixel_once(targets, controls):
    def cells(some):
        return {
            (x, y)
            for box in some
            for x in range(box.x, box.x + box.w)
            for y in range(box.y, box.y + box.h)
        }

    covered = len(cells(targets) & cells(controls)) / len(cells(targets))
    assert overlap_fraction(targets, controls) == covered


def test_each_of_several_boxes_has_one_of_its_size_in_a_free_corner():
    targets = [Box(20, 60, 60, 70), Box(150, 60, 50, 60)]
    found = irrelevant_boxes(targets)
    assert found == (Box(164, 154, 60, 70), Box(0, 164, 50, 60))
    assert overlap_fraction(targets, found) == 0
    assert irrelevant_boxes(targets[:1]) == (irrelevant_box(targets[0]),)
    # Where there is no room the control covers something, and is counted as doing so.
    wide = [Box(0, 0, 200, 100), Box(0, 110, 200, 100)]
    assert overlap_fraction(wide, irrelevant_boxes(wide)) > 0


@given(boxes, st.integers(16, 1024))
def test_scaling_truncates_toward_zero(box, px):
    found = at_resolution(box, px)
    assert found.x == int(box.x * px / 224)
    assert found.w == int(box.w * px / 224)


def test_a_box_that_overhangs_is_cut_to_the_square_and_no_other():
    assert within_square(Box(150, 160, 75, 65)) == Box(150, 160, 74, 64)
    assert within_square(Box(-1, 0, 60, 60)) == Box(0, 0, 59, 60)
    assert within_square(Box(10, 20, 60, 70)) == Box(10, 20, 60, 70)
