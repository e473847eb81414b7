"""A written question set: reproducible, whole or absent, of all tasks and kinds, and true."""

from __future__ import annotations

import json
import re
import tomllib
from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image
from scipy import ndimage

from overread.benchmarks.m3cot.authors import options_of
from overread.benchmarks.m3cot.cases import KINDS, READER, STEPS, TASKS, kind_of
from overread.benchmarks.m3cot.edition import Options
from overread.benchmarks.m3cot.trials import swaps
from overread.phantoms.question import (
    BUILDERS,
    LEAST,
    asked,
    kinds_of,
    plan_questions,
    write_question_set,
)
from overread.phantoms.question_scenes import film_of, heart
from overread.phantoms.smear import SIDE, WHITE_CELLS, smear

N = LEAST + 4
SEEDS = st.integers(0, 2**32 - 1)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return write_question_set(tmp_path_factory.mktemp("question") / "set", N, seed=3).parent


@pytest.fixture(scope="module")
def cases(folder):
    loaded = READER.load(folder, Options())
    assert not loaded.left
    return loaded.cases


# ---------------------------------------------------------------- the plan


@given(st.integers(LEAST, 400), SEEDS)
def test_every_task_has_two_items_and_every_kind_is_asked(n, seed):
    orders = plan_questions(n, seed)
    assert len(orders) == n
    counts = Counter(order.task for order in orders)
    assert list(counts) == list(TASKS.values())
    assert min(counts.values()) >= 2
    assert {order.kind for order in orders} == set(KINDS)
    assert len({order.name for order in orders}) == len({order.record for order in orders}) == n
    if n >= 60:  # the large tasks of the published set are the large ones here
        assert counts["Diagnosis"] > counts["Action"] > counts["Symptom"]


def test_in_time_every_way_meets_every_kind():
    met = {(order.task, order.way, order.kind) for order in plan_questions(1000, 0)}
    for task, ways in BUILDERS.items():
        for way in range(len(ways)):
            assert {kind for kind in KINDS if (task, way, kind) in met} == set(kinds_of(task))


# ---------------------------------------------------------------- the set


def test_the_same_seed_gives_the_same_bytes_however_many_workers(tmp_path, folder):
    again = write_question_set(tmp_path / "one", N, seed=3, workers=1).parent
    files = sorted(p.relative_to(again) for p in again.rglob("*") if p.is_file())
    assert files == sorted(p.relative_to(folder) for p in folder.rglob("*") if p.is_file())
    assert len(files) == N + 2
    assert all((again / f).read_bytes() == (folder / f).read_bytes() for f in files)


def test_the_loader_reads_it_as_it_was_made(folder, cases):
    rows = [json.loads(line) for line in (folder / "questions.jsonl").read_text().splitlines()]
    assert [row["case_id"] for row in rows] == [f"question_{k:05d}" for k in range(N)]
    for row, case in zip(rows, cases, strict=True):
        assert (case.case_id, case.question, case.answer) == (
            row["case_id"],
            row["question"],
            row["answer"],
        )
        assert (case.kind, case.task, case.image) == (row["kind"], row["task"], row["image"])
        assert [(s.type, s.text) for s in case.steps] == [
            (s["type"], s["text"]) for s in row["steps"]
        ]
    assert READER.policy_at(folder, None) == "open"


def test_questions_are_of_the_kind_they_say_and_none_is_asked_twice(cases):
    assert len({case.question for case in cases}) == N
    assert all(kind_of(case.question) == case.kind for case in cases)
    assert {case.kind for case in cases} == set(KINDS)
    assert {case.task for case in cases} == set(TASKS.values())


def test_two_to_four_steps_in_the_gold_order_the_same_for_all_items_of_a_task(cases):
    paths: dict[str, set] = {}
    for case in cases:
        types = tuple(step.type for step in case.steps)
        assert types == STEPS[: len(types)]
        paths.setdefault(case.task, set()).add(types)
    assert all(len(found) == 1 for found in paths.values())
    assert {len(*found) for found in paths.values()} == {2, 3, 4}


def test_answers_have_the_form_their_kind_wants(cases):
    for case in cases:
        letters = set(options_of(case.question))
        if case.kind == "bool":
            assert case.answer in ("True", "False")
        elif case.kind == "short":
            assert case.answer
            assert not letters
        else:
            chosen = case.answer.split(", ")
            assert set(chosen) < letters
            assert chosen == sorted(chosen)
            assert len(chosen) == 1 or case.kind == "multiple"


def test_every_item_has_another_image_to_swap_with(cases):
    assert set(swaps(cases, 0)) == {case.case_id for case in cases}


def test_pictures_are_all_different_and_none_is_larger_than_is_shown(folder, cases):
    pictures = [(folder / case.image).read_bytes() for case in cases]
    assert len(set(pictures)) == N
    for case in cases:
        with Image.open(folder / case.image) as image:
            assert image.mode in ("L", "RGB")
            paired = case.task in ("Grading", "Image Quality")
            assert (image.width > image.height) is paired
            assert image.height <= 768


def test_the_wording_is_not_all_alike(cases):
    bare = [re.sub(r"\d+", "#", case.question.split("\n")[0]) for case in cases]
    assert len(set(bare)) > 0.7 * N
    assert len({case.steps[0].text for case in cases}) >= 5


def test_features_name_no_examination(cases):
    for case in cases:
        look = case.steps[1].text.casefold()
        assert not re.search(r"x-ray|radiograph|echo|ultraso|smear|microscop", look)


def test_the_set_says_what_it_is(folder):
    found = tomllib.loads((folder / "dataset.toml").read_text())
    assert found == {
        "name": "phantom-question",
        "policy": "open",
        "licence": "Apache-2.0",
        "seed": 3,
        "n": N,
        "generator": write_question_set.revision,
    }


# ---------------------------------------------------------------- truth


@pytest.mark.parametrize("kind", KINDS)
def test_a_question_of_any_kind_has_the_answer_that_is_true(kind):
    _, truth = BUILDERS["Symptom"][0](np.random.default_rng(7))
    for seed in range(40):
        question, answer = asked(np.random.default_rng(seed), truth, kind, "Record 1.")
        offered = options_of(question)
        if kind == "bool":
            stated = question.rsplit(": ", 1)[1].rstrip(".")
            right = {text.casefold() for text in truth.right}
            assert answer == str(stated.casefold() in right)
        elif kind == "short":
            assert answer == truth.right[0]
        else:
            right = {letter for letter, text in offered.items() if text in truth.right}
            assert set(answer.split(", ")) == right
            assert len(right) == (1 if kind == "single" else len(truth.right))


@pytest.mark.parametrize("task", list(BUILDERS))
def test_what_is_right_is_never_offered_as_wrong(task):
    for way in BUILDERS[task]:
        _, truth = way(np.random.default_rng(11))
        assert truth.wrong
        assert not set(truth.right) & set(truth.wrong)


def test_the_side_of_a_finding_is_where_the_film_changed():
    sides = set()
    for seed in range(6):
        shown = film_of(np.random.default_rng(seed), "pleural_effusion")
        base = shown.pixels[400:470].astype(float)
        # Fluid is bright at one base; the patient's right is on the left of the film.
        brighter = "right" if base[:, 100:220].mean() > base[:, 420:540].mean() else "left"
        assert shown.side == brighter
        sides.add(shown.side)
    assert sides == {"left", "right"}


def test_the_boxes_of_a_heart_lie_in_dark_cavities():
    for seed in range(4):
        shown = heart(np.random.default_rng(seed))
        for left, top, right, bottom in shown.chambers.values():
            inside = shown.pixels[round(top) : round(bottom), round(left) : round(right)]
            assert inside.size > 400
            assert np.median(inside) < 60
        boxes = shown.chambers
        assert boxes["left ventricle"][0] > boxes["right ventricle"][2]
        assert boxes["left atrium"][1] > boxes["left ventricle"][3]


def test_a_dilated_ventricle_is_wider_than_any_that_is_not():
    def share(seed, dilated):
        person = heart(np.random.default_rng(seed), dilated=dilated).person
        return person.radius / person.length

    assert min(share(s, True) for s in range(3)) > 1.25 * max(share(s, False) for s in range(3))


# ---------------------------------------------------------------- blood


@settings(max_examples=8, deadline=None)
@given(
    SEEDS,
    st.lists(st.sampled_from(sorted(WHITE_CELLS)), max_size=6),
    st.integers(0, 9),
    st.integers(0, 8),
)
def test_a_smear_holds_the_very_cells_asked_for(seed, whites, platelets, sickled):
    field = smear(
        np.random.default_rng(seed), whites=whites, platelets=platelets, reds=50, sickled=sickled
    )
    assert field.pixels.shape == (SIDE, SIDE, 3)
    counts = Counter(cell.kind for cell in field.cells)
    for kind in WHITE_CELLS:
        assert counts[kind] == whites.count(kind)
    assert counts["platelet"] == platelets
    assert counts["sickle"] == sickled
    assert counts["normal"] <= 50 - sickled
    for cell in field.cells:
        if cell.kind not in ("normal", "pale"):
            assert 0 < cell.x - cell.radius / 2 < cell.x + cell.radius / 2 < SIDE


def test_nuclei_can_be_counted_in_the_pixels():
    for seed, count in ((0, 1), (1, 4)):
        whites = ["lymphocyte"] * count
        field = smear(np.random.default_rng(seed), whites=whites, platelets=5)
        dark = ndimage.binary_opening(field.pixels[..., 0] < 130, iterations=4)
        assert ndimage.label(dark)[1] == count
        red, _, blue = np.moveaxis(field.pixels.astype(int), 2, 0)
        violet = (blue > red + 12) & ~ndimage.binary_dilation(dark, iterations=14)
        assert ndimage.label(ndimage.binary_opening(violet, iterations=2))[1] == 5


def test_pale_cells_are_paler():
    normal, pale = (
        smear(np.random.default_rng(1), reds=60, red=kind).pixels.mean()
        for kind in ("normal", "pale")
    )
    assert pale > normal + 5
