"""Tables 1-7: both spreads, the guessers above the readers, the specialists below."""

from __future__ import annotations

import msgspec
import pytest

from overread.benchmarks.exhibits.index import Index
from overread.benchmarks.heartbeat.exhibits import exhibits
from overread.benchmarks.heartbeat.exhibits.settings import number

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
