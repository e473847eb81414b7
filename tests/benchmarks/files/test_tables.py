"""Official csv files: read as text, strictly, and refused with the row at fault."""

from __future__ import annotations

import csv
import gzip
import io
from pathlib import Path

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from overread.benchmarks.files.tables import (
    FIX,
    Table,
    ages,
    codes,
    columns_of,
    distinct,
    filled,
    find_table,
    labels,
    matching,
    numbers,
    read_table,
)
from support.damage import DAMAGES, refusal

PLAIN = b"a,b,c\n1,x,\n2, y ,7\n3,,8\n"


@pytest.fixture
def table(tmp_path: Path):
    def make(data: bytes, needed: tuple[str, ...] = ("a", "b", "c")) -> Table:
        path = tmp_path / "list.csv"
        path.write_bytes(data)
        return read_table(path, needed, remedy=FIX)

    return make


def test_cells_are_text_without_outer_blanks_and_empty_ones_are_null(table) -> None:
    found = table(PLAIN)
    assert found.frame.rows() == [("1", "x", None), ("2", "y", "7"), ("3", None, "8")]
    assert set(found.frame.dtypes) == {pl.String}


def test_only_the_columns_asked_for_are_kept_and_optional_ones_may_be_missing(tmp_path) -> None:
    path = tmp_path / "list.csv"
    path.write_bytes(PLAIN)
    assert read_table(path, ("c",), ("a", "z")).frame.columns == ["c", "a"]
    assert columns_of(path) == ["a", "b", "c"]


@pytest.mark.parametrize(
    "data",
    [
        PLAIN.replace(b"\n", b"\r\n"),
        PLAIN.replace(b"\n", b"\r"),
        PLAIN.rstrip(b"\n"),
        b"\xef\xbb\xbf" + PLAIN,
        PLAIN.replace(b"\n2", b"\n\n2") + b"\n\n",
        b'"a","b","c"\n"1",x,""\n2," y ","7"\n"3",,8\n',
        PLAIN.replace(b"a,b,c", b" a ,b,c "),
        gzip.compress(PLAIN),
        b"a,b,c,,\n1,x,,,\n2,y,7\n3,,8,\n",
    ],
    ids=["crlf", "cr", "no last newline", "mark", "blank lines", "quotes", "blanks in header",
         "gzip", "unnamed columns at the end"],
)  # fmt: skip
def test_however_it_was_saved_the_table_is_the_same(table, data: bytes) -> None:
    assert table(data).frame.equals(table(PLAIN).frame)


@given(
    st.lists(
        st.tuples(*[st.text(st.sampled_from('x1 ,"\né'), max_size=6)] * 3).filter(
            lambda row: any(cell.strip() for cell in row)
        ),
        min_size=1,
        max_size=12,
    )
)
def test_reading_agrees_with_the_csv_module(tmp_path_factory, rows) -> None:
    text = io.StringIO(newline="")
    csv.writer(text, lineterminator="\n").writerows([("a", "b", "c"), *rows])
    path = tmp_path_factory.mktemp("csv") / "list.csv"
    path.write_bytes(text.getvalue().encode())
    found = read_table(path, ("a", "b", "c"))
    assert found.frame.rows() == [tuple(cell.strip() or None for cell in row) for row in rows]
    # Each row is named by the line it starts on.
    line, lines = 2, []
    for row in rows:
        lines.append(line)
        line += 1 + sum(cell.count("\n") for cell in row)
    assert [found.row(index) for index in range(len(rows))] == lines


@pytest.mark.parametrize("kind", DAMAGES)
@pytest.mark.parametrize("name", ["list.csv", "list.csv.gz"])
def test_a_damaged_file_is_refused_with_one_line_that_names_it(tmp_path, name, kind) -> None:
    damage, words = DAMAGES[kind]
    path = tmp_path / name
    path.write_bytes(gzip.compress(PLAIN) if name.endswith(".gz") else PLAIN)
    damage(path)
    refusal(lambda: read_table(path, ("a", "b", "c")), name, words)


def test_a_stray_quote_is_refused_and_no_row_is_swallowed(table) -> None:
    refusal(lambda: table(b'a,b,c\n1,x,2\n1,"x"y,3\n4,z,5\n'), "list.csv row 3: .* quote")


def test_a_file_that_is_not_there_or_a_folder_is_refused(tmp_path) -> None:
    refusal(lambda: read_table(tmp_path / "no.csv", ("a",)), "no.csv", "no such file")
    refusal(lambda: read_table(tmp_path, ("a",)), "is a folder and no file")


def test_a_gzip_name_without_gzip_content_is_read(tmp_path) -> None:
    path = tmp_path / "list.csv.gz"  # a browser unpacked it on the way
    path.write_bytes(PLAIN)
    assert read_table(path, ("a",)).frame.height == 3


# ---------------------------------------------------------------- finding a file


def test_a_file_is_found_plain_or_gzipped_and_two_versions_are_refused(tmp_path) -> None:
    (tmp_path / "x-2.0.0-y.csv.gz").write_bytes(gzip.compress(PLAIN))
    assert find_table(tmp_path, "x-*-y.csv").name == "x-2.0.0-y.csv.gz"
    (tmp_path / "x-2.0.0-y.csv").write_bytes(PLAIN)
    assert find_table(tmp_path, "x-*-y.csv").name == "x-2.0.0-y.csv"
    (tmp_path / "x-2.1.0-y.csv.gz").write_bytes(gzip.compress(PLAIN))
    refusal(lambda: find_table(tmp_path, "x-*-y.csv"), "2.0.0", "2.1.0", "Keep one")
    refusal(lambda: find_table(tmp_path, "z.csv"), "z.csv")
    refusal(lambda: find_table(tmp_path / "no", "z.csv"), "not a folder")


# ---------------------------------------------------------------- columns


def test_codes_numbers_and_ages(table) -> None:
    found = table(b"a,b,c\nyes,1.5,058Y\n,,6M\nno,-2,\nyes,3,40\n")
    assert codes(found, "a", {"yes": 1, "no": 0}, "", pl.Int8).to_list() == [1, None, 0, 1]
    assert numbers(found, "b", "").to_list() == [1.5, None, -2.0, 3.0]
    assert ages(found, "c").to_list() == [58.0, 0.5, None, 40.0]


def test_labels_become_the_codes_of_a_film(table) -> None:
    found = table(b"a,b,c\n1.0,0.0,-1.0\n1,0,-1\n,1.0,\n")
    read = labels(found, {"edema": "a", "fracture": "b", "pneumonia": "c"})
    assert read.columns == ["edema", "fracture", "pneumonia"]
    assert read.rows() == [(1, 0, 2), (1, 0, 2), (3, 1, 3)]


@pytest.mark.parametrize(
    ("check", "words"),
    [
        (lambda t: codes(t, "b", {"x": 1}, "it is x", pl.Int8), 'row 3: b is "y"; it is x. Fix the'),
        (lambda t: numbers(t, "b", "it is a number"), 'row 2: b is "x"; it is a number'),
        (lambda t: numbers(t, "a", "it is 2 or more", least=2), 'row 2: a is "1"; it is 2 or more'),
        (lambda t: filled(t, "a", "c"), 'row 2: c is ""; every row needs one'),
        (lambda t: matching(t, "a", "[12]", "it is 1 or 2"), 'row 4: a is "3"'),
        (lambda t: ages(t, "b"), 'row 2: b is "x"; an age is'),
        (lambda t: labels(t, {"edema": "a"}), 'row 3: a is "2"; a label is 1.0, 0.0, -1.0 or empty'),
    ],
)  # fmt: skip
def test_a_bad_cell_is_named_with_its_row_and_value(table, check, words) -> None:
    found = table(PLAIN)
    refusal(lambda: check(found), f"^list.csv {words}")


@pytest.mark.parametrize("value", ["inf", "nan", "1e999", "0x10", "1,5"])
def test_what_is_no_finite_number_is_refused(table, value: str) -> None:
    found = table(f'a,b,c\n1,x,"{value}"\n'.encode())
    refusal(lambda: numbers(found, "c", "it is a number"), "row 2: c is")


def test_rows_that_agree_are_named_both(table) -> None:
    found = table(b"a,b,c\n1,x,1\n1,y,2\n2,x,3\n1,y,4\n")
    distinct(found, "c")
    refusal(lambda: distinct(found, "a", "b"), 'row 5: a "1" and b "y" stands in row 3 already')


def test_a_long_value_with_line_breaks_still_gives_one_short_line(table) -> None:
    found = table(('a,b,c\n1,"' + "x\ny" * 100 + '",\n').encode())
    line = refusal(lambda: numbers(found, "b", "it is a number"), "row 2: b is")
    assert len(line) < 150


@pytest.mark.parametrize(("mark", "name"), [(b"\t", "tabs"), (b"|", "bars")])
def test_cells_between_other_marks_are_known_for_what_they_are(table, mark, name) -> None:
    refusal(lambda: table(PLAIN.replace(b",", mark)), f"between {name}. Save it as csv with commas")


@pytest.mark.parametrize("ends", [b"\n", b"\r\n"])
def test_cells_between_semicolons_are_read_as_those_between_commas(table, ends) -> None:
    plain = PLAIN.replace(b"\n", ends)
    assert table(plain.replace(b",", b";")).frame.equals(table(plain).frame)
    quoted = b'a;b;c\n1;"x; y";3\n'
    assert table(quoted).frame.row(0) == ("1", "x; y", "3")
    refusal(lambda: table(b"a;b;c\n1;2;3\n1;2\n"), "row 3: it has 2 cells and the header 3")
    # A header with both has commas between its cells.
    assert table(b"a,b,c,d;e\n1,2,3,4\n").frame.columns == ["a", "b", "c"]
