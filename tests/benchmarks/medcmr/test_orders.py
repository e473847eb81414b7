"""Orders of options: turned, distinct, drawn by seed."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from overread.benchmarks.medcmr.cases import MedCase
from overread.benchmarks.medcmr.orders import orders_of, shown_order


def item(n=5, name="mcq-1", options=None):
    texts = options or tuple(f"option {place}" for place in range(n))
    return MedCase(
        case_id=name, index=1, kind="mcq", question="?", images=(), options=texts, answer="A"
    )


SIZES = st.integers(2, 10)


def test_order_0_is_the_sets_own():
    assert shown_order(item(5), 0) == (0, 1, 2, 3, 4)


@given(SIZES)
def test_all_orders_put_every_option_once_in_each_place(n):
    orders = [shown_order(item(n), order) for order in range(n)]
    for places in (*orders, *zip(*orders, strict=True)):
        assert sorted(places) == list(range(n))


@pytest.mark.parametrize("order", [-1, 5, 9])
def test_there_are_as_many_orders_as_options(order):
    with pytest.raises(ValueError, match=f"order {order} of 5 options"):
        shown_order(item(5), order)


@given(SIZES, st.integers(0, 9), st.integers(0, 2**32 - 1), st.text(max_size=9))
def test_further_orders_are_distinct_and_more_hold_the_fewer(n, orders, seed, name):
    found = orders_of(item(n, name), orders, seed)
    assert found[0] == 0
    assert len(set(found)) == len(found) == min(orders, n - 1) + 1
    assert set(found) <= set(range(n))
    assert orders_of(item(n, name), orders + 1, seed)[: len(found)] == found


def test_which_orders_are_asked_is_drawn_for_each_item():
    first = [orders_of(item(name=f"mcq-{n}"), 1, 0)[1] for n in range(400)]
    assert {order: first.count(order) > 60 for order in set(first)} == dict.fromkeys(
        (1, 2, 3, 4), True
    )
    assert first != [orders_of(item(name=f"mcq-{n}"), 1, 1)[1] for n in range(400)]


@pytest.mark.parametrize(
    "text",
    [
        "None of the above",
        "all of these",
        "Both A and B",
        "A and C",
        "A, B",
        "both of the above",
        "A, B and D",
        "only A",
        "B only",
        "Options A and C",
        "Same as A",
        "Option B",
        "(A) & (C)",
        "Neither A nor B",
        "Both a and c",
        "A and B are correct",
        "All except C",
        "A和C",
        "All of them",
        "None of the other options",
        "none of the others",
        "All of the above.",
        "None of the choices",
        "All above",
        "以上都不是",
        "上述选项均正确",
    ],
)
def test_options_that_speak_of_others_stay_where_they_are(text):
    assert orders_of(item(options=("x", "y", text)), 2, 0) == (0,)


@pytest.mark.parametrize(
    "text",
    [
        "Hepatitis A and fever",
        "Vitamin B",
        "Both lungs",
        "Above it",
        "Hepatitis B and C",
        "Vitamin A and D deficiency",
        "Influenza A or B",
        "A",
        "I and II",
        "All of the lobes",
        "None",
        "Both above and below the diaphragm",
        "Only a cyst",
        "B-cell lymphoma",
        "Grade A or B",
        "膈肌以上",
    ],
)
def test_other_options_are_turned(text):
    assert len(orders_of(item(options=("x", "y", text)), 2, 0)) == 3
