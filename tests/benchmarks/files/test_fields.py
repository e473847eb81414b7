"""Rows of any file: a value of the kind asked for, or one line that names the row."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from overread.benchmarks.files.fields import Fields, fields_of, read_fields, refuse_twice
from overread.benchmarks.files.sheets import quoted
from overread.case import BadInput, Box
from support.m3_trees import write_sheet

SIDES = ("x", "y", "w", "h")


def row(**cells: object) -> Fields:
    return Fields("a.csv row 7", cells)


def refused(fields: Fields, name: str, *, how: str, **words: object) -> str:
    with pytest.raises(BadInput) as caught:
        getattr(fields, how)(name, **words)
    return str(caught.value)


def test_texts_are_given_as_they_are_or_bare() -> None:
    fields = row(a=" x ", b="", c=None, d=3, e=[1])
    assert (fields.text("a"), fields.fact("a"), fields.required("a")) == (" x ", "x", "x")
    assert (fields.text("b"), fields.fact("b"), fields.fact("nothing")) == ("", None, None)
    assert (fields.text("c"), fields.text("d"), fields.lenient("e")) == ("", "3", "")
    assert refused(fields, "e", how="text") == 'a.csv row 7: e is "[1]"; it is a text. Fix the row.'
    told = refused(fields, "b", how="required")
    assert told == 'a.csv row 7: b is ""; every row needs one. Fix the row.'


def test_one_of_some_words() -> None:
    assert row(kind=" mcq ").choice("kind", ("mcq", "open"), "it is mcq or open") == "mcq"
    assert row().choice("kind", ("mcq", "open"), "it is mcq or open") is None
    with pytest.raises(BadInput, match='kind is "x"; it is mcq or open'):
        row(kind="x").choice("kind", ("mcq", "open"), "it is mcq or open")


@pytest.mark.parametrize(
    ("given", "found"),
    [
        (["a ", "", "b"], ("a", "b")),
        ('["a", "b"]', ("a", "b")),
        ("a; b;", ("a", "b")),
        ("", ()),
        (None, ()),
    ],
)
def test_lists_of_names(given: object, found: tuple[str, ...]) -> None:
    assert row(images=given).texts("images") == found


def test_what_is_no_list_of_names_is_refused() -> None:
    assert "it is a list of names" in refused(row(images=[1]), "images", how="texts")
    assert "it is no JSON" in refused(row(images="[1"), "images", how="texts")


def test_numbers_have_bounds() -> None:
    fields = row(a=" 1.5", b="2", c="inf", d="", e="x")
    assert (fields.number("a"), fields.whole("b")) == (1.5, 2)
    assert fields.if_given("d", fields.number) is None
    assert fields.if_given("a", fields.number) == 1.5
    for name in "cde":
        assert "it is a number" in refused(fields, name, how="number")
    assert "it is a whole number" in refused(fields, "a", how="whole")
    assert "from 3" in refused(fields, "b", how="whole", need="it counts from 3", low=3)
    assert "0 to 1" in refused(fields, "a", how="number", need="it is 0 to 1", low=0, high=1)


@pytest.mark.parametrize(("word", "flag"), [("yes", 1), ("Absent", 0), ("1.0", 1), ("0", 0)])
def test_flags(word: str, flag: int) -> None:
    assert row(a=word).flag("a") == flag


def test_what_is_no_flag_is_refused() -> None:
    assert "it is 0 or 1" in refused(row(a="2"), "a", how="flag")


def test_boxes() -> None:
    assert row(x="1", y="2", w="3", h="4").box(SIDES) == Box(1, 2, 3, 4)
    assert row(x="").box(SIDES) is None
    assert row(b="1 2 3 4; 5 6 7 8;").boxes("b") == (Box(1, 2, 3, 4), Box(5, 6, 7, 8))
    assert row().boxes("b") == ()
    with pytest.raises(BadInput, match='y is ""; a box needs all of x, y, w, h, or none'):
        row(x="1").box(SIDES)
    with pytest.raises(BadInput, match='w is "-3"; a box needs a width above 0'):
        row(x="1", y="2", w="-3", h="4").box(SIDES)
    with pytest.raises(BadInput, match="below 100000"):
        row(x="1", y="2000000", w="3", h="4").box(SIDES)
    assert 'a box is "x y w h"' in refused(row(b="1 2 3"), "b", how="boxes")
    assert "sides are above 0" in refused(row(b="1 2 0 4"), "b", how="boxes")


def test_a_row_beside_says_what_this_one_leaves_empty() -> None:
    both = Fields(
        "a.csv row 7", {"fps": "", "age": "9"}, beside=Fields("m.csv row 2", {"fps": "x"})
    )
    assert (both.fact("fps"), both.fact("age"), both.fact("none")) == ("x", "9", None)
    assert refused(both, "fps", how="number").startswith('m.csv row 2: fps is "x"')
    assert refused(both, "none", how="number").startswith('a.csv row 7: none is ""')


@pytest.mark.slow
@given(st.text(), st.sampled_from(["text", "fact", "number", "whole", "flag", "texts", "boxes"]))
def test_a_cell_is_read_or_refused_in_one_line(cell: str, how: str) -> None:
    told = ""
    try:
        getattr(row(a=cell), how)("a")
    except BadInput as error:
        told = str(error)
    assert "\n" not in told
    assert not told or told.startswith('a.csv row 7: a is "')


def test_a_second_row_of_one_name_is_refused() -> None:
    taken: dict[str, str] = {}
    refuse_twice(taken, "c1", "a.csv row 2", "Give each its own.")
    refuse_twice(taken, "c2", "a.csv row 3", "Give each its own.")
    with pytest.raises(BadInput) as caught:
        refuse_twice(taken, "c1", "a.csv row 4", "Give each its own.")
    told = 'a.csv row 4: the case "c1" stands in a.csv row 2 already. Give each its own.'
    assert str(caught.value) == told


def test_every_kind_of_file_has_the_same_rows(tmp_path: Path) -> None:
    records = [{"name": "é", "n": "1"}, {"name": "b", "n": "2"}]
    (tmp_path / "a.csv").write_text("name,n\né,1\nb,2\n", "utf-8")
    (tmp_path / "s.csv").write_text("name;n\né;1\nb;2\n", "utf-8")
    (tmp_path / "a.jsonl").write_text('{"name": "é", "n": "1"}\n\n{"name": "b", "n": "2"}', "utf-8")
    (tmp_path / "a.json").write_text('[{"name": "é", "n": "1"}, {"name": "b", "n": "2"}]', "utf-8")
    pl.DataFrame(records).write_parquet(tmp_path / "a.parquet")
    write_sheet(tmp_path / "a.xlsx", ["name", "n"], [["é", "1"], ["b", "2"]])
    places = {
        "a.csv": ("row 2", "row 3"),
        "s.csv": ("row 2", "row 3"),
        "a.jsonl": ("line 1", "line 3"),
        "a.json": ("item 1", "item 2"),
        "a.parquet": ("row 0", "row 1"),
        "a.xlsx": ("row 2", "row 3"),
    }
    for name, where in places.items():
        found = list(read_fields(tmp_path / name, ("name",)))
        assert [dict(one.cells) for one in found] == records
        assert [one.where for one in found] == [f"{name} {place}" for place in where]
        if not name.endswith(".xlsx"):
            assert fields_of(tmp_path / name) == {"name", "n"}


def test_what_cannot_be_read_has_no_fields(tmp_path: Path) -> None:
    (tmp_path / "a.parquet").write_text("no")
    (tmp_path / "a.csv").write_bytes(b"\xff\xfe")
    for name in ("a.parquet", "a.csv", "gone.json"):
        assert fields_of(tmp_path / name) == frozenset()
    with pytest.raises(BadInput, match=r"cannot be read as parquet"):
        list(read_fields(tmp_path / "a.parquet"))


def test_a_quoted_value_is_short_and_one_line() -> None:
    assert quoted("a\n b") == "a b"
    assert quoted("x" * 41) == "x" * 40 + "…"
    assert quoted(None) == ""
