"""The first table, the one behind it, and those of the paper."""

from __future__ import annotations

import re

import msgspec
import pytest

from overread.benchmarks.exhibits.cells import printed
from overread.benchmarks.exhibits.index import Index
from overread.benchmarks.heartbeat.exhibits import exhibits
from overread.benchmarks.heartbeat.exhibits.settings import SIGNED_FRAMES, HeartIndex, number
from overread.benchmarks.heartbeat.exhibits.tables import summary
from overread.case import Measure

# -------------------------------- The first table: one row per reader, in one setting that it names

CELL = re.compile(r"-?[\d.e+]+ \[-?[\d.e+]+, -?[\d.e+]+\]°? n=\d+")


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
    shown = summary(HeartIndex(only))
    row = next(row for row in shown.rows if row[0] == "guesses")
    assert set(row[1:]) == {"-"}


def test_measures_of_no_setting_make_a_row_of_nothing():
    shown = summary(HeartIndex([Measure(reader="printed", measure="mae", value=4.0)]))
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
    assert printed(-0.001, SIGNED_FRAMES) == "0.00"


# ------------------ Tables 1-7: both spreads, the guessers above the readers, the specialists below

BY = {"task": "t1", "context": "original", "format": "edv_esv"}


def row_of(table, *start):
    row = next(row for row in table.rows if row[: len(start)] == start)
    return dict(zip(table.columns, row, strict=True))


def test_a_phase_that_was_not_asked_is_no_unknown(exhibited):
    row = row_of(exhibited()["frames_original"], "looks", "esv")
    assert (row["ED MAE"], row["ED R²"]) == ("-", "-")
    assert "±" in row["ES MAE"]


def test_guesses_and_the_best_constant_stand_above_the_readers(exhibited, measured):
    first, second, *_ = exhibited()["frames_original"].rows
    assert (first[0], second[0]) == ("Random", "Best constant")
    index = Index(measured())
    for row, name in ((first, "chance_mae"), (second, "constant_mae")):
        assert row[2].startswith(number(index.get("looks", name, phase="ed", **BY).value))


@pytest.mark.parametrize(
    ("table", "sd"), [("frames_original", "sd_seeds"), ("videos_original", "sd_videos")]
)
@pytest.mark.parametrize("edition", ["corrected", "authors"])
def test_each_table_prints_its_own_spread(exhibited, measured, edition, table, sd):
    index = Index(measured(edition))
    name = "mae_videos" if (edition, table) == ("authors", "videos_original") else "mae"
    record = index.get("guesses", name, phase="ed", **BY)
    shown = row_of(exhibited(edition)[table], "guesses", "edv_esv")["ED MAE"]
    assert shown.startswith(f"{number(record.value)} ± {number(getattr(record, sd))} [")
    assert shown.endswith(f" n={record.n}")


def test_the_ejection_fraction_of_a_reader_is_there(exhibited, measured):
    record = Index(measured()).get("looks", "ef_mae", **BY)
    shown = row_of(exhibited()["frames_original"], "looks", "edv_esv")["EF MAE"]
    assert shown.startswith(number(record.value))


def test_a_specialist_has_one_row_with_its_ejection_fraction(exhibited):
    found = exhibited()
    for table, text in (
        ("frames_original", "8.54 [5.00, 12.00] n=6"),
        ("videos_original", "8.54 ± 10.07 [5.00, 12.00] n=6"),
    ):
        *_, last = found[table].rows
        assert last[0] == "EchoCLIP"
        assert last[-1] == text
        assert set(last[1:-1]) == {"-"}
    assert found["frames_segmented"].rows[-1][0] == "guesses"


def test_a_specialist_of_a_context_stands_in_its_table(measured):
    one = next(m for m in measured() if m.measure == "ef_mae")
    by = {"task": "t1", "context": "segmented"}
    special = msgspec.structs.replace(one, reader="specialist:own", by=by)
    found = {x.name: x for x in exhibits([*measured(), special], "s")}
    assert found["frames_segmented"].rows[-1][0] == "own"
    assert found["frames_original"].rows[-1][0] == "guesses"


def test_table_3_says_what_edv_means_without_medicine(exhibited):
    assert "large_small" in " ".join(exhibited()["frames_non_medical"].notes)
    assert "large_small" not in " ".join(exhibited()["frames_original"].notes)


def test_coins_stand_below_table_4(exhibited):
    rows = exhibited()["accuracy_t2"].rows
    assert [row[0] for row in rows[-3:]] == ["a coin"] * 3
    assert {row[2][:5] for row in rows[-3:]} == {"0.500"}
