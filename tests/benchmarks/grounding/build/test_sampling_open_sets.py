"""Drawing by lot: even over views, paired, one film per patient, whatever the order of the rows."""

from __future__ import annotations

from collections import Counter

import msgspec
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from overread.benchmarks.grounding.build import folder
from overread.benchmarks.grounding.build.films import BOX_SCHEMA, FilmsRead, film_frame
from overread.benchmarks.grounding.build.manifest import Built
from overread.benchmarks.grounding.build.nih_rsna import nih_films, rsna_films
from overread.benchmarks.grounding.build.sampling import (
    Sampling,
    boxed_probe_set,
    by_lot,
    paired,
    shares,
)
from overread.benchmarks.grounding.cases import truth
from overread.benchmarks.grounding.edition import CORRECTED
from overread.case import BadInput
from overread.imaging import irrelevant_boxes, rescale_box
from support.damage import refusal
from support.datasets import write_folder, write_nih, write_rsna

rooms = st.dictionaries(st.sampled_from(["", "AP", "PA", "LL"]), st.integers(0, 12), max_size=4)
rows = st.lists(
    st.tuples(
        st.sampled_from("abcdef"),
        st.sampled_from(["PA", "AP", None]),
        st.integers(0, 1),
        st.booleans(),
    ),
    max_size=30,
)


def lot_films(drawn: list[tuple[str, str | None, int, bool]]) -> pl.DataFrame:
    """Films numbered in order; only a film with the finding has a box."""
    return pl.DataFrame(
        {
            "image_path": [f"{n}.png" for n in range(len(drawn))],
            "patient": [row[0] for row in drawn],
            "view": [row[1] for row in drawn],
            "label": [row[2] for row in drawn],
            "boxed": [row[3] and row[2] == 1 for row in drawn],
        },
        schema_overrides={"patient": pl.String, "view": pl.String, "boxed": pl.Boolean},
    )


@given(st.integers(0, 40), rooms)
def test_shares_fill_what_there_is_and_differ_by_one_at_most_where_there_is_room(total, room):
    given_out = shares(total, room)
    assert sum(given_out.values()) == min(total, sum(room.values()))
    assert all(0 <= given_out[name] <= room[name] for name in room)
    with_room = [given_out[name] for name in room if given_out[name] < room[name]]
    if with_room:
        assert max(given_out.values()) - min(with_room) <= 1


@given(rows, st.integers(0, 9), st.randoms(use_true_random=False))
def test_a_patient_gives_one_film_a_boxed_one_if_there_is_one(drawn, seed, chance):
    frame = lot_films(drawn)
    lots = by_lot(frame, seed, "edema")
    assert sorted(lots["patient"]) == sorted(set(frame["patient"]))
    boxed = set(frame.filter(pl.col("boxed"))["patient"])
    assert set(lots.filter(pl.col("boxed"))["patient"]) == boxed
    order = list(range(frame.height))
    chance.shuffle(order)
    assert by_lot(frame[order], seed, "edema").equals(lots)


def test_lots_depend_on_the_seed_and_on_what_is_drawn_for():
    frame = lot_films([(str(n), "PA", 1, False) for n in range(40)])
    orders = {
        tuple(by_lot(frame, seed, about)["image_path"])
        for seed in range(5)
        for about in ("edema", "fracture")
    }
    assert len(orders) == 10


@given(rows, st.integers(0, 12))
def test_pairs_are_as_many_with_as_without_in_every_view_and_boxed_ones_come_on_top(drawn, most):
    frame = lot_films(drawn)
    pairs = paired(frame, most)
    view = dict(frame.select("image_path", "view").iter_rows())
    facts = {row["image_path"]: row for row in frame.iter_rows(named=True)}
    assert len(pairs.present) <= most
    assert len(set(pairs.present)) == len(pairs.present)
    assert all(facts[image]["label"] == 1 for image in pairs.present)
    assert all(facts[image]["label"] == 0 for image in pairs.absent)
    assert len(pairs.present) - pairs.unpaired == len(pairs.absent)
    # The absent ones of a view never outnumber the present ones, and what is over is boxed.
    extra = Counter(view[i] for i in pairs.present) - Counter(view[i] for i in pairs.absent)
    assert not Counter(view[i] for i in pairs.absent) - Counter(view[i] for i in pairs.present)
    assert extra.total() == pairs.unpaired
    # Nothing is left that could still be paired, or come on top.
    room = Counter(view[i] for i, f in facts.items() if f["label"] == 1 and i not in pairs.present)
    others = Counter(view[i] for i, f in facts.items() if f["label"] == 0 and i not in pairs.absent)
    if len(pairs.present) < most:
        assert not room & others
        assert not any(f["boxed"] and i not in pairs.present for i, f in facts.items())


def test_within_a_view_boxed_films_come_first():
    drawn = [("a", "PA", 1, True), ("b", "PA", 1, False), ("c", "PA", 0, False)]
    assert paired(lot_films(drawn), 5).present == ["0.png"]


# ---------------------------------------------------------------- probe sets
# Probe sets from films with boxes: balanced, by patient, and every loss accounted for.


FINDINGS = ("edema", "line_tip")
films = st.lists(
    st.fixed_dictionaries(
        {
            "patient": st.sampled_from(["p1", "p2", "p3", "p4", "p5", "p6", None]),
            "view": st.sampled_from(["PA", "AP", "AP", None, "LATERAL"]),
            "edema": st.sampled_from([0, 0, 1, 1, 2, 3, None]),
            "line_tip": st.sampled_from([0, 1]),
            "no_finding": st.sampled_from([0, 0, 1, None]),
            "boxes": st.lists(
                st.tuples(st.sampled_from(FINDINGS), st.integers(150, 500), st.integers(150, 500)),
                max_size=3,
                unique=True,
            ),
        }
    ),
    min_size=1,
    max_size=25,
)


def read_of(drawn: list[dict], order: list[int] | None = None) -> FilmsRead:
    """A dataset of made-up films; boxes start at 10, 20 in an image of 1000 x 800."""
    rows = [(f"film{n:02d}.png", row) for n, row in enumerate(drawn)]
    rows = rows if order is None else [rows[n] for n in order]
    column = {"subject_id": "patient", "view": "view", "edema": "edema", "no_finding": "no_finding"}
    kinds = {"subject_id": pl.String, "view": pl.String}
    frame = film_frame(
        {
            "image_path": pl.Series([name for name, _ in rows], dtype=pl.String),
            **{
                ours: pl.Series([row[theirs] for _, row in rows], dtype=kinds.get(ours, pl.Int8))
                for ours, theirs in column.items()
            },
            "line_tip": pl.Series([row["line_tip"] for _, row in rows], dtype=pl.Int8),
        }
    )
    boxes = pl.DataFrame(
        [
            (name, finding, finding, name, 10.0, 20.0, float(w), float(h), 1000.0, 800.0, finding)
            for name, row in rows
            for finding, w, h in row["boxes"]
        ],
        schema={**BOX_SCHEMA, "finding": pl.String},
        orient="row",
    )
    return FilmsRead(name="ward", policy="research", films=frame, boxes=boxes)


def boxed_set(read: FilmsRead, per_label: int = 100, **options) -> Built:
    return boxed_probe_set(read, Sampling(per_finding=2 * per_label, **options))


def built(read: FilmsRead, **options) -> Built | None:
    """The set, or None where the films give no case."""
    try:
        return boxed_set(read, **options)
    except BadInput as refused:
        if "no case can be drawn" not in str(refused):
            raise
        return None


def lost(made: Built, words: str) -> int:
    return sum(each.count for each in made.exclusions if words in each.reason)


@pytest.fixture(params=["nih", "rsna", "folder"])
def dataset(request, tmp_path) -> FilmsRead:
    if request.param == "nih":
        return nih_films(write_nih(tmp_path, patients=150))
    if request.param == "rsna":
        tree = write_rsna(tmp_path, films=90)
        return rsna_films(tree.root, tree.mapping)
    path = write_folder(tmp_path, films=60)
    return folder.read_folder(path, tmp_path)


# ---------------------------------------------------------------- what a set is


@settings(max_examples=60)
@given(films, st.integers(0, 3), st.integers(1, 6), st.sampled_from(["corrected", "authors"]))
def test_every_case_is_what_its_film_says(drawn, seed, cap, edition) -> None:
    read = read_of(drawn)
    made = built(read, seed=seed, per_label=cap, normals=cap, edition=edition)
    if made is None:
        return
    film_of = {row["image_path"]: row for row in read.films.iter_rows(named=True)}
    boxes = Counter((box["image_path"], box["finding"]) for box in read.boxes.iter_rows(named=True))
    assert [case.case_id for case in made.cases] == [
        f"ward_{n:05d}" for n in range(len(made.cases))
    ]
    assert (made.name, made.policy) == ("ward", "research")
    for case in made.cases:
        film = film_of[case.image_path]
        value = film[case.finding]
        assert case.source == "ward"
        assert case.label_value == value
        assert case.label == (value == 1)
        assert value in ((0, 1) if edition == "corrected" else (0, 1, 3))
        assert (case.view, case.subject_id) == (film["view"], film["subject_id"])
        assert case.view in ("PA", "AP", None)
        expected = 1 - case.label if case.finding == "no_finding" else case.label
        assert truth(case, CORRECTED) == expected
        if case.box is not None:
            assert value == 1
            own = boxes[case.image_path, case.finding] if edition == "corrected" else 1
            assert len(case.targets) == len(case.controls) == own
            assert case.controls == irrelevant_boxes(case.targets)
            assert [(b.w, b.h) for b in case.controls] == [(b.w, b.h) for b in case.targets]


@settings(max_examples=60)
@given(films, st.integers(0, 3), st.integers(1, 6))
def test_swaps_are_other_patients_of_the_same_label_and_of_the_opposite(drawn, seed, cap) -> None:
    read = read_of(drawn)
    made = built(read, seed=seed, per_label=cap, normals=cap)
    if made is None:
        return
    frontal = pl.col("view").is_in(["PA", "AP"]) | pl.col("view").is_null()
    pool = list(read.films.filter(frontal).iter_rows(named=True))
    film_of = {row["image_path"]: row for row in pool}

    def others(case):
        mine = case.subject_id
        return [f for f in pool if f["image_path"] != case.image_path
                and (mine is None or f["subject_id"] != mine)]  # fmt: skip

    for case in made.cases:
        same = [f for f in others(case) if f[case.finding] == case.label_value]
        opposite = [f for f in others(case) if f[case.finding] == 1 - case.label]
        if same:
            assert film_of[case.swap_image_path] in same
            assert case.swap_match == "label"
        elif others(case):
            assert film_of[case.swap_image_path] in others(case)
            assert case.swap_match == "any"
        else:
            assert case.swap_image_path is case.swap_match is None
        if opposite:
            assert film_of[case.opposite_image_path] in opposite
        else:
            assert case.opposite_image_path is None


@settings(max_examples=60)
@given(films, st.integers(0, 3), st.integers(1, 6))
def test_a_patient_occurs_once_per_finding_and_labels_are_balanced_within_views(
    drawn, seed, cap
) -> None:
    made = built(read_of(drawn), seed=seed, per_label=cap, normals=cap)
    if made is None:
        return
    for finding in FINDINGS:
        cases = [case for case in made.cases if case.finding == finding]
        patients = [case.subject_id for case in cases if case.subject_id]
        assert len(set(patients)) == len(patients)
        assert len({case.image_path for case in cases}) == len(cases)
        count = Counter((case.label, case.view) for case in cases)
        assert sum(case.label for case in cases) <= cap
        for view in ("PA", "AP", None):
            over = count[1, view] - count[0, view]
            assert over >= 0
            own = [case for case in cases if case.label == 1 and case.view == view]
            assert sum(case.box is not None for case in own) >= over


@settings(max_examples=60)
@given(films, st.sampled_from(["corrected", "authors"]))
def test_every_box_is_usable_or_counted_as_not(drawn, edition) -> None:
    read = read_of(drawn)
    made = built(read, edition=edition)
    if made is None:
        return
    usable = 0
    film_of = {row["image_path"]: row for row in read.films.iter_rows(named=True)}
    for (image, finding), boxes in _grouped(read).items():
        film = film_of[image]
        if film["view"] == "LATERAL" or film[finding] != 1:
            continue
        large = [rescale_box(10, 20, w, h, 1000, 800) is not None for w, h in boxes]
        usable += (len(boxes) if any(large) else 0) if edition == "corrected" else sum(large)
    assert read.boxes.height == usable + lost(made, "box")
    drawn_boxes = [
        (case.image_path, case.finding, box) for case in made.cases for box in case.targets
    ]
    assert len(drawn_boxes) <= usable
    for image, finding, box in drawn_boxes:
        sides = _grouped(read)[image, finding]
        scaled = [rescale_box(10, 20, w, h, 1000, 800, minimum_side=0) for w, h in sides]
        assert box in scaled


def _grouped(read: FilmsRead) -> dict[tuple[str, str], list[tuple[float, float]]]:
    found: dict[tuple[str, str], list[tuple[float, float]]] = {}
    for box in read.boxes.iter_rows(named=True):
        found.setdefault((box["image_path"], box["finding"]), []).append((box["w"], box["h"]))
    return found


@settings(max_examples=40)
@given(films, st.randoms(use_true_random=False))
def test_the_order_of_the_rows_does_not_matter(drawn, chance) -> None:
    order = list(range(len(drawn)))
    chance.shuffle(order)
    once, again = built(read_of(drawn)), built(read_of(drawn, order))
    assert (once is None) == (again is None)
    if once is not None and again is not None:
        assert once.cases == again.cases
        assert Counter(once.exclusions) == Counter(again.exclusions)


# ---------------------------------------------------------------- of the datasets


def test_each_dataset_gives_a_set_the_same_every_time_and_another_with_another_seed(
    dataset,
) -> None:
    first, again = (boxed_set(dataset, seed=1, per_label=8, normals=5) for _ in range(2))
    assert first == again
    other = boxed_set(dataset, seed=2, per_label=8, normals=5)
    assert other.cases != first.cases
    boxed = [case for case in first.cases if case.box is not None]
    assert boxed
    assert {case.label for case in first.cases} == {0, 1}
    assert all(case.swap_image_path and case.swap_match == "label" for case in first.cases)
    assert first.provenance[: len(dataset.provenance)] == dataset.provenance


def test_a_cap_of_none_gives_no_case(dataset) -> None:
    finding = dataset.boxes["finding"][0]
    made = [case for case in boxed_set(dataset, per_label=3).cases if case.finding == finding]
    assert 0 < sum(case.label == 1 for case in made) <= 3
    refusal(lambda: boxed_set(dataset, per_label=0, normals=0), "no case can be drawn")


def test_films_without_boxes_still_give_swaps(dataset) -> None:
    made = boxed_set(msgspec.structs.replace(dataset, boxes=None), per_label=5)
    assert all(case.box is None for case in made.cases)


def test_without_patients_each_film_counts_as_one_and_it_is_said(tmp_path) -> None:
    tree = write_rsna(tmp_path, films=90)
    made = boxed_set(rsna_films(tree.root), per_label=10)
    assert all(case.swap_image_path != case.image_path for case in made.cases)
    assert any("whose patient is not known" in line for line in made.provenance)
    assert any("whose view is not known" in line for line in made.provenance)


# ---------------------------------------------------------------- the editions


def _film(patient: str, edema: int, *boxes: tuple[int, int]) -> dict:
    return {"patient": patient, "view": "PA", "edema": edema, "line_tip": 0, "no_finding": None,
            "boxes": [("edema", w, h) for w, h in boxes]}  # fmt: skip


def test_two_boxes_of_one_finding_are_masked_together_but_by_the_authors_one_by_one() -> None:
    read = read_of([_film("a", 1, (300, 300), (400, 400), (9, 9)), _film("b", 0)])
    (present, _) = boxed_set(read).cases
    assert [(box.w, box.h) for box in present.targets] == [(90, 112), (67, 84), (2, 3)]
    assert lost(boxed_set(read), "box") == 0
    authors = boxed_set(read, edition="authors")
    assert [len(case.targets) for case in authors.cases] == [1, 1, 0]


def test_what_another_minimum_would_keep_can_be_counted() -> None:
    read = read_of([_film("a", 1, (300, 300), (90, 90)), _film("b", 1, (90, 90)), _film("c", 0)])
    made = boxed_set(read)
    assert sorted(made.sides) == pytest.approx([90 * 0.224, 300 * 0.224])
    assert lost(made, "box below 50 pixels of 224 [D12]") == 1


def test_films_that_do_not_mention_a_finding_are_absent_to_the_authors_alone() -> None:
    read = read_of([_film("a", 1), _film("b", 3), _film("c", 3)])
    assert built(read) is None
    cases = boxed_set(read, edition="authors").cases
    assert [(case.label, case.label_value) for case in cases] == [(1, 1), (0, 3)]


def test_boxed_films_come_in_without_a_counterpart() -> None:
    read = read_of([_film("a", 1, (300, 300)), _film("b", 1), _film("c", 1, (400, 400))])
    made = boxed_set(read)
    assert sorted(case.subject_id or "" for case in made.cases) == ["a", "c"]
    assert any("no film without the finding in the same view: 2 of 2" in x for x in made.provenance)


def test_a_smaller_least_side_lets_smaller_boxes_in() -> None:
    read = read_of([_film("a", 1, (200, 160)), _film("b", 0)])
    assert lost(boxed_set(read), "[D12]") == 1
    small = boxed_set(read, minimum_side=30).cases[0]
    assert small.box is not None
    assert (small.box.w, small.box.h) == (45, 45)


def test_a_box_that_leaves_the_film_by_a_hair_is_masked_as_far_as_the_film_goes() -> None:
    """Else the target mask would black fewer pixels than the irrelevant one [D11]."""
    read = read_of([_film("a", 1, (300, 300)), _film("b", 0)])
    assert read.boxes is not None
    out = msgspec.structs.replace(read, boxes=read.boxes.with_columns(x=-10.0, w=300.0))
    (present, _) = boxed_set(out).cases
    (authors, _) = boxed_set(out, edition="authors").cases
    assert present.box is not None
    assert authors.box is not None
    assert authors.box.x < 0
    assert (present.box.x, present.box.w) == (0, authors.box.w + authors.box.x)
    assert present.irrelevant_box is not None
    assert present.irrelevant_box.w == present.box.w
