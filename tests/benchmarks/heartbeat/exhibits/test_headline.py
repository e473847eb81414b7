"""The first table: one row per reader, in one setting that it names."""

from __future__ import annotations

import re

import msgspec
import pytest

from overread.benchmarks.exhibits.index import Index
from overread.benchmarks.heartbeat.exhibits import exhibits, summary
from overread.benchmarks.heartbeat.exhibits.settings import number
from overread.case import Measure

CELL = re.compile(r"-?[\d.e+]+ \[-?[\d.e+]+, -?[\d.e+]+\] n=\d+")


def column(table, title):
    place = table.columns.index(title)
    return {row[0]: row[place] for row in table.rows}


def test_a_row_per_reader_and_the_guessers_below(exhibited):
    names = [row[0] for row in exhibited()["summary"].rows]
    assert names[:2] == ["looks", "guesses"]
    assert names[2:]
    assert all(name.startswith("baseline:") for name in names[2:])


def test_every_cell_of_a_reader_has_its_interval_and_its_n(exhibited):
    for row in exhibited()["summary"].rows[:2]:
        assert all(CELL.fullmatch(cell) for cell in row[1:]), row


def test_the_cells_are_those_of_the_setting_the_note_names(exhibited, measured):
    shown = exhibited()["summary"]
    assert any("context original, format edv_esv" in note for note in shown.notes)
    by = {"task": "t1", "context": "original", "format": "edv_esv", "phase": "es"}
    record = Index(measured()).get("looks", "mae", **by)
    assert column(shown, "MAE ES")["looks"].startswith(f"{number(record.value)} [")
    by = {"task": "t2", "context": "original", "format": "esv", "phase": "es"}
    record = Index(measured()).get("looks", "accuracy", **by)
    assert column(shown, "T2 ES")["looks"].startswith(f"{record.value:.3f} [")


@pytest.mark.parametrize(
    ("run", "words"),
    [
        ({"contexts": ("segmented", "non_medical")}, "context segmented, format edv_esv"),
        ({"formats": ("esv_edv", "edv")}, "context original, format esv_edv"),
        ({"formats": ("edv", "esv")}, "context original, formats edv and esv"),
    ],
)
def test_the_first_context_and_pair_format_that_were_asked_stand_there(exhibited, run, words):
    assert words in " ".join(exhibited(**run)["summary"].notes)


def test_a_phase_nobody_was_asked_for_has_no_column(exhibited):
    columns = exhibited(formats=("esv",), tasks=("t1",))["summary"].columns
    assert [name for name in columns if "ES" in name] == ["skill ES", "MAE ES"]
    assert not [name for name in columns if "ED" in name]


def test_of_two_frames_alone_there_is_no_skill(exhibited):
    shown = exhibited(tasks=("t2",))["summary"]
    assert shown.columns == ("reader", "T2 ED", "T2 ES", "parsed %", "out of range %")
    assert "skill" not in " ".join(shown.notes).lower()
    assert "coin has 0.5" in " ".join(shown.notes)


def test_beneath_stands_what_is_to_be_beaten(exhibited, measured):
    note = next(n for n in exhibited()["summary"].notes if n.startswith("To be beaten"))
    by = {"task": "t1", "context": "original", "format": "edv_esv", "phase": "ed"}
    for name in ("constant_mae", "chance_mae"):
        assert f"ED {number(Index(measured()).get('looks', name, **by).value)} [" in note


def test_parsed_and_out_of_range_are_the_worse_of_the_two_phases(measured):
    by = {"task": "t1", "context": "original", "format": "edv_esv"}
    index = {("parsed", "ed"): 0.9, ("parsed", "es"): 0.5, ("out_of_range", "ed"): 0.25}
    index[("out_of_range", "es")] = 0.0
    changed = [
        msgspec.structs.replace(m, value=index[m.measure, m.by["phase"]])
        if (m.measure, m.by.get("phase")) in index
        and m.reader == "looks"
        and m.by == by | {"phase": m.by["phase"]}
        else m
        for m in measured()
    ]
    shown = next(iter(exhibits(changed, "s")))
    assert column(shown, "parsed %")["looks"].startswith("50.0 ")
    assert column(shown, "out of range %")["looks"].startswith("25.0 ")


def test_a_reader_not_asked_there_is_no_unknown(measured):
    only = [m for m in measured() if m.reader != "guesses" or m.by.get("context") != "original"]
    shown = summary(Index(only), "s")
    row = next(row for row in shown.rows if row[0] == "guesses")
    assert set(row[1:]) == {"-"}


def test_measures_of_no_setting_make_a_row_of_nothing():
    shown = summary(Index([Measure(reader="printed", measure="mae", value=4.0)]), "s")
    assert [set(row[1:]) for row in shown.rows] == [{"-"}]


def test_the_long_table_has_every_setting(exhibited):
    shown = exhibited()["skills"]
    assert len(shown.rows) == 2 * 3 * 4
    assert {row[:3] for row in shown.rows} >= {("guesses", "non-medical", "esv")}


def test_one_answer_for_all_has_no_correlation(exhibited):
    shown = exhibited(readers=("steady", "looks"))["skills"]
    row = next(row for row in shown.rows if row[:3] == ("steady", "original", "edv_esv"))
    found = dict(zip(shown.columns, row, strict=True))
    assert found["r ED"] == found["r ES"] == "n/a"
    assert CELL.fullmatch(found["skill ED"])


def test_numbers_keep_their_width():
    assert [number(x) for x in (None, 4.138, 7538.39, 6.7e9)] == [
        "n/a",
        "4.14",
        "7538.39",
        "6.70e+09",
    ]
    assert number(-0.001, signed=True) == "0.00"
