"""Tables: numbers above what they stand on, long ones folded, everything escaped."""

from __future__ import annotations

import re

import pytest

from overread.report import report_html
from overread.report.markup import grid
from support.page import HOSTILE, run_of, seen_in, table_of


@pytest.mark.parametrize(("rows", "long"), [(24, False), (25, True), (300, True)])
def test_a_long_table_is_whole_and_can_be_filtered(rows: int, long: bool) -> None:
    page = report_html([run_of("word", table_of("first"), table_of("long", rows))])
    assert page.count('<div class="scroll long"') == long + 1  # the other is the whole record
    assert page.count("<td>r</td>") == rows - 1 + 1 + 1  # long, first, and the published one


def test_numbers_stand_to_the_right_and_words_do_not() -> None:
    rows = (("a", "1.5 [1.0, 2.0] n=3", "3.11.9"), ("b", "n/a", "1a"))
    made = grid(("reader", "rate", "version"), rows, "t")
    assert '<th scope="col">model</th><th scope="col" class="num">rate</th>' in made
    assert made.count('<td class="num">') == 2
    assert "<td>3.11.9</td>" in made


@pytest.mark.parametrize(
    ("cell", "parts"),
    [
        ("33.2 [28.7, 38.1] n=370", ["33.2", "[28.7, 38.1]", "n=370"]),
        ("27.3† [15.1, 44.2] 9/33", ["27.3†", "[15.1, 44.2]", "9/33"]),
        ("97.5 ± 5.7 n=123", ["97.5", "± 5.7", "n=123"]),
        ("+5.0 [-1.0, +9.0] n=9", ["+5.0", "[-1.0, +9.0]", "n=9"]),
        ("12.5", ["12.5"]),
        ("n/a", ["n/a"]),
        ("7 [model] n=3", ["7", "[model]", "n=3"]),
        ("33.2 [28.7, 38.1] n=37†", ["33.2", "[28.7, 38.1]", "n=37†"]),
        ("33.2 [28.7, 38.1]° n=37", ["33.2", "[28.7, 38.1]°", "n=37"]),
        ("0.0 [0.0, 35.4]° 0/7", ["0.0", "[0.0, 35.4]°", "0/7"]),
        ("33.2 [28.7, 38.1] n=37 †", ["33.2", "[28.7, 38.1]", "n=37", "†"]),
        ("33.2 [28.7, 38.1] n=37 judge unfit", ["33.2", "[28.7, 38.1]", "n=37", "judge unfit"]),
        ("50.00 judge unfit", ["50.00", "judge unfit"]),
        (
            "0.0 [-6.0, +6.0] n=60 p=1.000 q=1.000 judge unfit",
            ["0.0", "[-6.0, +6.0]", "n=60", "p=1.000", "q=1.000", "judge unfit"],
        ),
        (
            "+9.1 [1.0, 9.9] n=60 p<0.001 q=n/a†",
            ["+9.1", "[1.0, 9.9]", "n=60", "p&lt;0.001", "q=n/a†"],
        ),
        (
            "0.0* [0.0, 35.4] 0/7 judge unfit pooled 4.0 [0.0, 16.7]",
            ["0.0*", "[0.0, 35.4]", "0/7", "judge unfit", "pooled 4.0", "[0.0, 16.7]"],
        ),
        ("2 masses", ["2 masses"]),
        ("3.5 cm n=2 wide", ["3.5 cm n=2 wide"]),
        ("gpt-5 [x] n=3", ["gpt-5 [x] n=3"]),
    ],
)
def test_a_number_stands_above_what_it_stands_on(cell: str, parts: list[str]) -> None:
    body = grid(("c",), ((cell,),), "t").partition("<tbody>")[2].partition("</tbody>")[0]
    assert re.findall(r">([^<\n]+)<", body) == parts


SENTENCE = "The examination is a chest radiograph, upright, of both lungs."


@pytest.mark.parametrize(
    ("cell", "wraps"),
    [
        (SENTENCE, True),
        ("x" * 41, True),
        ("x" * 40, False),
        ("+10.0 [-16.0, +16.0] n=1060 p=1.000 q=1.000 judge unfit", False),
        ("", False),
    ],
)
def test_long_text_wraps_and_numbers_do_not(cell: str, wraps: bool) -> None:
    assert ('<td class="text">' in grid(("reader", "c"), (("r", cell),), "t")) is wraps


@pytest.mark.parametrize("word", HOSTILE)
def test_what_a_model_says_at_length_is_text(word: str) -> None:
    said = (SENTENCE, f"{SENTENCE} {word}", f"1.0 [{word}, 2] n=3", "1.0 [1, 2] n=3")
    tags = [seen_in(grid(("reader", "c"), (("r", one),), "t")).tags for one in said]
    assert tags[0] == tags[1]
    if "]" not in word:
        assert tags[2] == tags[3]


@pytest.mark.parametrize(("first", "numbered"), [("12", True), ("12a", False), ("", False)])
def test_a_column_of_numbers_takes_no_more_room_than_it_needs(first: str, numbered: bool) -> None:
    made = grid(("", "c"), (("1", "a"), (first, "b")), "t")
    assert ('class="sorts numbered"' in made) is numbered


def test_a_table_scrolls_by_itself_and_has_a_name() -> None:
    (region,) = seen_in(grid(("a",), (("b",),), 'the "table"')).all("div")
    assert region == {
        "class": "scroll", "tabindex": "0", "role": "region", "aria-label": 'the "table"',
    }  # fmt: skip
