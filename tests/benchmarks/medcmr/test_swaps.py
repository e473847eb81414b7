"""Whose images an item is shown in place of its own."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from overread.benchmarks.medcmr.cases import MedCase
from overread.benchmarks.medcmr.swaps import swap_remarks, swaps


def item(number, kind="mcq", dimension="SOD", images=None, patient=None):
    return MedCase(
        case_id=f"{kind}-{number}",
        index=number,
        kind=kind,
        question="?",
        images=(f"{number}.png",) if images is None else images,
        options=("x", "y") if kind == "mcq" else (),
        answer="A",
        dimension=dimension,
        patient=patient,
    )


CASES = st.lists(
    st.tuples(
        st.sampled_from(["mcq", "open"]),
        st.sampled_from(["SOD", "CR", None]),
        st.lists(st.integers(0, 9).map("{}.png".format), max_size=3, unique=True).map(tuple),
        st.sampled_from([None, None, "p", "q"]),
    ),
    max_size=25,
).map(lambda rows: [item(number, *row) for number, row in enumerate(rows)])
SEEDS = st.integers(0, 2**32 - 1)


@given(CASES, SEEDS)
def test_another_item_of_the_same_kind_and_dimension_and_no_image_in_common(cases, seed):
    for name, lender in swaps(cases, seed).items():
        (case,) = (case for case in cases if case.case_id == name)
        assert (lender.kind, lender.dimension) == (case.kind, case.dimension)
        assert lender.images
        assert not set(lender.images) & set(case.images)
        assert case.patient is None or lender.patient != case.patient


@given(CASES, SEEDS)
def test_every_item_with_an_image_and_a_stranger_has_one(cases, seed):
    lent = swaps(cases, seed)
    for case in cases:
        others = [
            other
            for other in cases
            if (other.kind, other.dimension) == (case.kind, case.dimension) and other.images
        ]
        if not case.images:
            assert case.case_id not in lent
        elif all(len(other.images) == 1 and other.patient is None for other in others):
            assert (case.case_id in lent) == any(other.images != case.images for other in others)


def test_each_item_lends_once_where_images_are_unique():
    cases = [item(n, kind, d) for n in range(60) for kind in ("mcq", "open") for d in ("TP", None)]
    cases = [item(place, case.kind, case.dimension) for place, case in enumerate(cases)]
    lent = swaps(cases, 0)
    assert sorted(lender.case_id for lender in lent.values()) == sorted(
        case.case_id for case in cases
    )


@given(CASES, SEEDS, st.randoms())
def test_the_draw_knows_no_order_and_the_seed_matters(cases, seed, random):
    assert swaps(random.sample(cases, len(cases)), seed) == swaps(cases, seed)
    many = [item(n) for n in range(40)]
    assert swaps(many, seed) != swaps(many, seed + 1)


def test_items_that_cannot_be_swapped_are_told():
    cases = [item(1), item(2), item(3, "open", "CR"), item(4, dimension=None)]
    (line,) = swap_remarks(cases, swaps(cases, 0))
    assert line.startswith("2 items have no other image in the same dimension (CR, none)")
    assert swap_remarks(cases[:2], swaps(cases[:2], 0)) == ()
    assert swap_remarks(cases[:3], swaps(cases[:3], 0))[0].startswith("1 item has")
