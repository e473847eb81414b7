"""Laws that every exhibit keeps, whoever the readers are and whatever is not known of them."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from overread.benchmarks.grounding.exhibits import exhibits
from overread.benchmarks.grounding.exhibits.dot_plot import Index
from overread.benchmarks.grounding.exhibits.tables import summary
from overread.case import Figure, Measure, Table
from support.every_exhibit import measured, nothing_known
from support.exhibited import SIGNATURE, rate

READERS = ["b model", "a model", "blind", "c model"]
RECORDS = measured(READERS, without_image="blind")


def made_of(measures):
    found = list(exhibits(measures, "signed"))
    assert len({exhibit.name for exhibit in found}) == len(found), "two exhibits of one name"
    return {exhibit.name: exhibit for exhibit in found}


ALL = made_of(RECORDS)


def figures(made):
    return [exhibit for exhibit in made.values() if isinstance(exhibit, Figure)]


def draws(figure):
    """The figure renders to a drawing with text in it and without numbers that are none."""
    drawn = figure.svg()
    assert re.search(r'<svg [^>]*width="[\d.]+" height="[\d.]+"', drawn), figure.name
    assert "<text" in drawn, figure.name
    assert "NaN" not in drawn, figure.name
    assert "undefined" not in drawn, figure.name


def test_the_summary_comes_first():
    assert next(iter(ALL.values())) == summary(Index(RECORDS, "signed"))


def test_rows_stand_in_the_order_of_the_run():
    by_rate_first = {"comparisons", "pairwise"}
    for name, table in ALL.items():
        if isinstance(table, Table) and name not in by_rate_first:
            assert list(dict.fromkeys(row[0] for row in table.rows)) == READERS, name


def test_every_figure_says_its_readers_and_numbers():
    for figure in figures(ALL):
        draws(figure)
        assert {row["reader"] for row in figure.rows} == set(READERS), figure.name
        assert all(reader in figure.alt for reader in READERS), figure.name
        assert re.search(r"\d", figure.alt), figure.name


def test_nothing_known_gives_a_summary_without_numbers():
    (only,) = made_of(nothing_known(RECORDS)).values()
    assert only.name == "summary"
    assert {cell for row in only.rows for cell in row[1:]} == {"n/a"}


@pytest.mark.parametrize(
    "reader", ["only", "<script>alert(1)</script>", "\x00\x1f\ufffe", "\u202e\u200f", "x" * 5000]
)
def test_one_reader_of_any_name_gives_all_but_comparisons(reader):
    found = made_of(measured([reader]))
    assert set(ALL) - set(found) == {"comparisons", "pairwise"}
    for figure in figures(found):
        draws(figure)


def test_what_is_not_known_of_one_reader_leaves_the_others_alone():
    part = nothing_known([r for r in RECORDS if r.reader == "a model"])
    found = made_of([*(r for r in RECORDS if r.reader != "a model"), *part])
    assert set(found) == set(ALL)
    for figure in figures(found):
        draws(figure)
        assert "None" not in figure.alt, figure.name
    before = [row for row in ALL["summary"].rows if row[0] != "a model"]
    assert [row for row in found["summary"].rows if row[0] != "a model"] == before


def test_records_about_all_readers_together_are_no_reader_and_no_group():
    every = [
        Measure(reader="", measure=record.measure, by=record.by, value=0.987, n=987, label="x")
        for record in RECORDS
        if record.measure != "rho"
    ]
    group = Measure(reader="", measure="parse_rate", by={"phrasing": "rude"}, value=0.987, n=987)
    assert made_of([*RECORDS, *every, group]) == ALL


# ---------------------------------------------------------------- documented
# docs/exhibits.md names every exhibit, what kind it is, and no other.


PAGE = Path(__file__).parents[4] / "docs" / "exhibits.md"


def test_the_page_names_every_exhibit(measured):
    measures = measured("corrected")
    reader = measures[0].reader
    further = [
        rate(reader, "cgr", 20, 100, condition="target_blur"),
        rate(reader, "cgr", 20, 100, coverage="accurate"),
        rate(reader, "cgr", 2, 10, coverage="accurate", finding="edema"),
    ]
    shown = {
        made.name: "figure" if isinstance(made, Figure) else "table"
        for made in exhibits([*measures, *further], SIGNATURE)
    }
    written = re.findall(r"^\| `(\w+)` \| (table|figure) \|", PAGE.read_text("utf-8"), re.M)
    assert len(written) == len(dict(written))
    assert dict(written) == shown
