"""Queries are read strictly: odd ones are refused in one line that repeats nothing of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from urllib.parse import urlencode

import pytest
from hypothesis import given
from hypothesis import strategies as st

from overread.door import Refused
from overread.report.serving import Filter, cards_wanted, picture_wanted
from support.browsed import Row, browsable

RUNS = [
    browsable([Row("a/b&c=d é", "one reader+", True, None, "edema")]),
    None,
    browsable([Row("a", "r", True, None, "edema")], pictures=False),
]


def test_what_the_page_asks_is_understood() -> None:
    query = urlencode(
        {
            "run": 1,
            "page": 12,
            "reader": "one reader+",
            "right": "yes",
            "flipped": "no",
            "fact:finding": "a & b = <c>",
            "text": "no & focal",
        }
    )
    wanted = Filter(
        reader="one reader+",
        right=True,
        flipped=False,
        facts={"finding": "a & b = <c>"},
        text="no & focal",
    )
    named = urlencode({"run": 1, "case": "a/b&c=d é"})
    assert cards_wanted(named, RUNS) == (1, 0, Filter(case="a/b&c=d é"))
    assert cards_wanted(query, RUNS) == (1, 12, wanted)
    assert cards_wanted("run=1&page=0", RUNS) == (1, 0, Filter())
    assert picture_wanted(urlencode({"run": 1, "case": "a/b&c=d é", "n": 1}), RUNS) == (
        1,
        "a/b&c=d é",
        1,
    )


@pytest.mark.parametrize(
    ("query", "status"),
    [
        ("", 400),
        ("run=1", 400),
        ("page=0", 400),
        ("run=1&page=-1", 400),
        ("run=1&page=1e3", 400),
        ("run=1&page=%D9%A1", 400),  # a digit, of another script
        ("run=1&page=99999999", 400),
        ("run=1&page=0&page=1", 400),
        ("run=1&page=0&", 400),
        ("run=1&page=0&right=maybe", 400),
        ("run=1&case=nobody", 404),
        ("run=1&page=0&case=nobody", 400),
        ("run=2&case=a", 404),
        (f"run=1&page=0&text={'x' * 201}", 400),
        ("run=1&page=0&right=", 400),
        ("run=1&page=0&reader=nobody", 400),
        ("run=1&page=0&reader=%FF", 400),
        ("run=1&page=0&fact:case=a", 400),
        ("run=1&page=0&fact:=a", 400),
        ("run=1&page=0&path=/etc/passwd", 400),
        ("run=1&page=0" + "&x=1" * 100, 400),
        ("run=0&page=0", 404),
        ("run=4&page=0", 404),
        ("run=2&page=0", 404),
    ],
)
def test_odd_questions_for_cards(query: str, status: int) -> None:
    with pytest.raises(Refused) as refused:
        cards_wanted(query, RUNS)
    assert refused.value.status == status
    assert len(refused.value.line.splitlines()) == 1


@pytest.mark.parametrize(
    ("query", "status"),
    [
        ("run=1&n=0", 400),
        ("run=1&case=a", 400),
        ("run=1&case=a&n=-1", 400),
        ("run=1&case=a&n=0&size=9", 400),
        ("run=1&case=nobody&n=0", 404),
        ("run=1&case=../../etc/passwd&n=0", 404),
        ("run=1&case=%2e%2e%2f%00&n=0", 404),
        ("run=2&case=a&n=0", 404),
        ("run=3&case=a&n=0", 404),  # cases may be looked at, their pictures not
    ],
)
def test_odd_questions_for_pictures(query: str, status: int) -> None:
    with pytest.raises(Refused) as refused:
        picture_wanted(query, RUNS)
    assert refused.value.status == status


words = st.text(st.sampled_from("run=1&page0%fact:éxyes\x00+;?#"), max_size=40)


@given(words | st.text(max_size=60))
def test_whatever_is_asked_is_understood_or_refused(query: str) -> None:
    assert {_status(cards_wanted, query), _status(picture_wanted, query)} <= {200, 400, 404}


def _status(wanted: Callable[..., Any], query: str) -> int:
    try:
        wanted(query, RUNS)
    except Refused as refused:
        return refused.status
    return 200
