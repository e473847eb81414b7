"""Where the patient is on a film, and boxes of the target's size inside the patient."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image, ImageDraw

from overread.benchmarks.grounding.cases import load_cases
from overread.case import Box
from overread.imaging import overlap
from overread.imaging._body import Grey, Mask, body_mask, matched_boxes
from overread.phantoms.chest import write_chest_set

SIDE = 224


def film(path: Path) -> Grey:
    image = Image.open(path).convert("L").resize((SIDE, SIDE), Image.Resampling.BILINEAR)
    return np.asarray(image)


def share(mask: Mask, box: Box) -> float:
    return float(mask[max(0, box.y) : box.y + box.h, max(0, box.x) : box.x + box.w].mean())


# ---------------------------------------------------------------- the body of a drawn patient


def drawn(air: int = 8, tissue: int = 150, lung: int = 30) -> tuple[Grey, Mask]:
    """A trunk with shoulders and a neck, its two lungs as dark as air may be, and where it is."""
    trunk = Image.new("1", (SIDE, SIDE))
    pen = ImageDraw.Draw(trunk)
    pen.rounded_rectangle((30, 40, 193, 260), 30, fill=1)
    pen.rectangle((95, 0, 128, 60), fill=1)
    image = Image.new("L", (SIDE, SIDE), air)
    image.paste(tissue, mask=trunk)
    pen = ImageDraw.Draw(image)
    pen.ellipse((48, 60, 98, 180), fill=lung)
    pen.ellipse((126, 60, 176, 180), fill=lung)
    pen.rectangle((98, 60, 125, 223), fill=230)
    noise = np.random.default_rng(0).normal(0, 3, (SIDE, SIDE))
    grey = np.clip(np.asarray(image) + noise, 0, 255).astype(np.uint8)
    return grey, np.asarray(trunk)


def agreement(found: Mask, true: Mask) -> float:
    """The intersection over the union."""
    return float((found & true).sum() / (found | true).sum())


@pytest.mark.parametrize("lung", [8, 30, 80])
@pytest.mark.parametrize("air", [0, 8, 25])
def test_the_body_holds_its_lungs_and_no_air(air: int, lung: int) -> None:
    grey, true = drawn(air=air, lung=lung)
    assert agreement(body_mask(grey), true) > 0.95


def test_a_black_border_is_no_body() -> None:
    grey, true = drawn(air=20)
    grey[:, :25] = grey[:20] = 0
    true = true.copy()
    true[:20] = False
    found = body_mask(grey)
    assert agreement(found, true) > 0.93
    assert not found[:15].any()


@pytest.mark.parametrize("wide", [6, 20])
def test_a_white_border_is_no_body(wide: int) -> None:
    grey, true = drawn()
    inside = np.zeros_like(true)
    inside[wide:-wide, wide:-wide] = True
    found = body_mask(np.where(inside, grey, 250).astype(np.uint8))
    assert agreement(found, true & inside) > 0.9
    assert found[~inside].mean() < 0.05


def test_a_tilted_white_plate_is_no_body() -> None:
    grey, true = drawn()
    image = Image.fromarray(grey)
    ImageDraw.Draw(image).polygon([(0, 196), (SIDE, 206), (SIDE, SIDE), (0, SIDE)], fill=245)
    found = body_mask(np.asarray(image))
    assert not found[210:].any()
    assert agreement(found[:194], true[:194]) > 0.93


def test_letters_in_the_air_are_no_body_and_letters_on_it_are() -> None:
    grey, true = drawn()
    image = Image.fromarray(grey)
    pen = ImageDraw.Draw(image)
    for at in ((4, 20), (140, 10), (100, 200)):
        pen.text(at, "PORTABLE AP", fill=255)
    pen.rectangle((205, 60, 211, 75), fill=255)  # a lead marker
    found = body_mask(np.asarray(image))
    assert agreement(found, true) > 0.95
    assert not found[60:75, 205:211].any()
    assert found[200:212, 100:160].all()


def test_a_negative_has_the_body_of_its_film() -> None:
    grey, true = drawn()
    assert agreement(body_mask(255 - grey), true) > 0.95


def test_a_lung_cut_by_the_edge_of_the_film_is_body() -> None:
    grey, _ = drawn()
    close = Image.fromarray(grey[60:223, 52:172]).resize((SIDE, SIDE))
    assert body_mask(np.asarray(close)).mean() > 0.97


@pytest.mark.parametrize("tone", [0, 90, 255])
def test_a_film_of_one_tone_is_all_body(tone: int) -> None:
    assert body_mask(np.full((SIDE, SIDE), tone, np.uint8)).all()


@given(st.integers(0, 10**6), st.integers(32, 90), st.integers(32, 90))
def test_whatever_the_pixels_a_mask_of_their_shape_comes_back(seed: int, h: int, w: int) -> None:
    grey = np.random.default_rng(seed).integers(0, 256, (h, w), np.uint8)
    before = grey.copy()
    found = body_mask(grey)
    assert found.shape == grey.shape
    assert found.dtype == np.bool_
    assert (grey == before).all()


@pytest.mark.slow
def test_on_phantoms_every_finding_is_inside_and_the_corners_are_not(tmp_path: Path) -> None:
    cases = list(load_cases(write_chest_set(tmp_path / "set", n=16, seed=5)))
    boxed = [case for case in cases if case.box is not None]
    assert boxed
    for case in cases:
        found = body_mask(film(tmp_path / "set" / case.image_path))
        assert 0.4 < found.mean() < 0.95, case.case_id
        assert not found[:12, :12].any(), case.case_id
        assert not found[:12, -12:].any(), case.case_id
        if case.box is not None:
            assert share(found, case.box) > 0.95, case.case_id


@pytest.fixture(scope="module")
def films(shared: Path) -> Path:
    folder = shared / "data" / "cxr"
    if not folder.is_dir():
        pytest.skip("needs ../shared/data/cxr: not here")
    return folder


def real_boxes(films: Path) -> Iterator[tuple[str, str, Box]]:
    with (films / "boxes.csv").open(encoding="utf-8") as file:
        for row in csv.DictReader(file):
            across, down = SIDE / float(row["image_width"]), SIDE / float(row["image_height"])
            x, y, w, h = (float(row[side]) for side in "xywh")
            box = Box(round(x * across), round(y * down), round(w * across), round(h * down))
            yield row["image"], row["kind"], box


@pytest.mark.slow
def test_on_real_films_every_lung_and_every_finding_is_inside(films: Path) -> None:
    masks: dict[str, Mask] = {}
    outside: list[tuple[str, str]] = []
    for image, kind, box in real_boxes(films):
        if image not in masks:
            masks[image] = body_mask(film(films / image))
        if share(masks[image], box) < 0.95:
            outside.append((image, kind))
    assert masks
    assert not outside
    # Nor is everything body: most films show air at the shoulders.
    air = sum(not mask[:20, :20].all() or not mask[:20, -20:].all() for mask in masks.values())
    assert air > len(masks) / 2


# ---------------------------------------------------------------- matched boxes


def allowed_by_hand(box: Box, body: Mask, avoid: list[Box]) -> set[Box]:
    """Every place tried in turn."""
    height, width = body.shape
    found = set()
    for y in range(height - box.h + 1):
        for x in range(width - box.w + 1):
            at = Box(x, y, box.w, box.h)
            inside = int(body[y : y + box.h, x : x + box.w].sum())
            around = Box(x - 1, y - 1, box.w + 2, box.h + 2)
            if 100 * inside >= 95 * box.w * box.h and not any(
                overlap(around, other) for other in (box, *avoid)
            ):
                found.add(at)
    return found


box_sides = st.integers(1, 14)
small_boxes = st.builds(Box, st.integers(-2, 20), st.integers(-2, 20), box_sides, box_sides)


@given(
    small_boxes,
    st.lists(small_boxes, max_size=2),
    st.integers(0, 10**6),
    st.integers(1, 9),
)
def test_matched_boxes_are_among_the_places_allowed(
    box: Box, avoid: list[Box], seed: int, k: int
) -> None:
    y, x = np.ogrid[:24, :20]
    cut = seed % 12
    body = (x >= cut // 3) & (y >= cut) & (x + y < 40)
    allowed = allowed_by_hand(box, body, avoid)
    found = matched_boxes(box, body, k, np.random.default_rng(seed), avoid)
    assert set(found) <= allowed
    assert len(set(found)) == len(found) == min(k, len(allowed))
    assert found == matched_boxes(box, body, k, np.random.default_rng(seed), avoid)


def test_every_allowed_place_is_drawn_equally_often() -> None:
    body = np.ones((12, 12), np.bool_)
    target = Box(0, 0, 4, 4)
    allowed = allowed_by_hand(target, body, [])
    counts = dict.fromkeys(allowed, 0)
    rng = np.random.default_rng(1)
    draws = 200 * len(allowed)
    for _ in range(draws // 4):
        for box in matched_boxes(target, body, 4, rng):
            counts[box] += 1
    spread = np.array(list(counts.values()))
    # Binomial with mean 200: five standard deviations.
    assert abs(spread - draws / len(allowed)).max() < 5 * 200**0.5


def test_without_room_there_is_no_box() -> None:
    body = np.ones((SIDE, SIDE), np.bool_)
    rng = np.random.default_rng(0)
    assert matched_boxes(Box(40, 40, 140, 140), body, 5, rng) == ()
    assert matched_boxes(Box(0, 0, SIDE + 1, 60), body, 5, rng) == ()
    assert matched_boxes(Box(0, 0, 60, 60), ~body, 5, rng) == ()
    assert matched_boxes(Box(0, 0, 60, 60), body, 0, rng) == ()


@pytest.mark.slow
def test_on_real_films_matched_boxes_hide_the_patient(films: Path) -> None:
    some = [(image, box) for image, kind, box in real_boxes(films) if kind == "pathology"][:30]
    with_room = 0
    for image, box in some:
        body = body_mask(film(films / image))
        found = matched_boxes(box, body, 5, np.random.default_rng(0))
        with_room += len(found) == 5
        for each in found:
            assert (each.w, each.h) == (box.w, box.h)
            assert share(body, each) >= 0.95
            assert not overlap(each, box)
    assert with_room > len(some) / 2
