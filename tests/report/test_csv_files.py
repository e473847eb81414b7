"""Tables, figures and measures as csv: every number is there, and no cell is a formula."""

from __future__ import annotations

import csv
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from overread.case import Measure, Table
from overread.report.exports import (
    CONTENTS,
    earlier,
    is_ours,
    write_contents,
    write_csv_files,
)
from overread.typeset import csv_cell
from support.reported import SIGNATURE, bars, reported_of

EVIL = '=HYPERLINK("http://x","y")'


def rows_of(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def test_measures_are_flat_with_a_column_for_each_group_key(tmp_path: Path) -> None:
    measures = [
        Measure(reader=EVIL, measure="gsp", value=-0.1 - 0.2, n=370, low=-0.5, high=0.25),
        Measure(reader="b", measure="uar", by={"finding": "-edema", "view": "PA"}, note="none"),
    ]
    write_csv_files(tmp_path, [reported_of(measures=measures), reported_of(measures=measures[:1])])
    rows = rows_of(tmp_path / "measures.csv")
    assert [row["run"] for row in rows] == ["1", "1", "2"]
    first, second, _ = rows
    assert first["reader"] == f"'{EVIL}"
    assert float(first["value"]) == measures[0].value  # every digit
    assert (first["n"], first["low"], first["by_finding"]) == ("370", "-0.5", "")
    assert (second["by_finding"], second["by_view"], second["value"]) == ("'-edema", "PA", "")
    assert {row["signature"] for row in rows} == {SIGNATURE}
    assert {row["edition"] for row in rows} == {"corrected"}


def test_each_table_and_each_figures_numbers_are_a_file_with_the_signature(tmp_path: Path) -> None:
    table = Table(
        name="Sum mary/../x",
        title="T",
        columns=("reader", "gsp"),
        rows=((EVIL, "+1.2 [0.3, 2.1] n=3"), ("b", "-3.1")),
        signature=SIGNATURE,
    )
    figure = bars("bars", [{"reader": "a", "value": 0.1 + 0.2}, {"reader": "b", "p": [1, 2]}])
    written = write_csv_files(tmp_path, [reported_of([table, figure])])
    assert [one.file for one in written] == [
        "measures.csv", "grounding-sum-mary-x.csv", "grounding-bars.csv",
    ]  # fmt: skip
    assert rows_of(tmp_path / "grounding-sum-mary-x.csv") == [
        {"reader": f"'{EVIL}", "gsp": "'+1.2 [0.3, 2.1] n=3", "signature": SIGNATURE},
        {"reader": "b", "gsp": "-3.1", "signature": SIGNATURE},
    ]
    a, b = rows_of(tmp_path / "grounding-bars.csv")
    assert float(a["value"]) == 0.1 + 0.2
    assert (b["value"], b["p"], b["signature"]) == ("", "[1,2]", SIGNATURE)


def test_two_exhibits_of_one_name_are_two_files(tmp_path: Path) -> None:
    table = Table(name="a", title="T", columns=("x",), rows=(("1",),))
    written = write_csv_files(tmp_path, [reported_of([table, table]), reported_of([table])])
    names = [one.file for one in written][1:]
    assert names == ["grounding-a.csv", "grounding-a-2.csv", "grounding-2-a.csv"]


@given(st.text(max_size=50))
def test_no_cell_begins_like_a_formula_unless_it_is_a_plain_number(text: str) -> None:
    cell = csv_cell(text)
    if cell.strip()[:1] in tuple("=+-@"):
        float(cell)


def test_a_picture_inside_a_drawing_is_not_spelt_out() -> None:
    assert csv_cell("data:image/png;base64,iVBORw0KGgo=") == "a picture"


def test_a_folder_is_known_by_its_list_and_no_name_leads_out_of_it(tmp_path: Path) -> None:
    place = tmp_path / "out"
    place.mkdir()
    assert not is_ours(place)
    written = write_csv_files(place, [reported_of()])
    write_contents(place, written)
    assert is_ours(place)
    (tmp_path / "mine.csv").touch()
    with (place / CONTENTS).open("a", encoding="utf-8") as file:
        file.write("../mine.csv,,,,\n/etc/passwd,,,,\ngone.csv,,,,\n")
    assert earlier(place) == [place / "measures.csv"]
