"""What a reply says: rows of the answers table, and the columns of both tables."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from overread.benchmarks.heartbeat.answers import (
    Answer,
    AnswerReading,
    Truth,
    answer_of,
    read_text,
    reread,
    truth_of,
)
from overread.benchmarks.heartbeat.authors.rules import t2_orders
from overread.benchmarks.heartbeat.cases import CaseRow, HeartbeatCase, Window, row_of
from overread.benchmarks.heartbeat.edition import AUTHORS, CORRECTED
from overread.benchmarks.tables import cells_of, schema_of
from overread.case import Reply, Request, Trial

# ----------------------------------------------------- What a reply says: rows of the answers table

GOLDEN = json.loads(
    (Path(__file__).parents[2] / "golden" / "heartbeat" / "echo_parsing.json").read_text("utf-8")
)
TRUTH = Truth(truth_ed=4, truth_es=21, start=36, count=24, stated=24)


def trial(output="edv_esv", context="original", task="t1", seed=2020, number=1):
    condition = {"task": task, "context": context, "format": output, "seed": seed, "pass": number}
    return Trial("c", condition, Request(()))


def row(reply, rules=CORRECTED, truth=TRUTH, reason="", **where):
    reply = Reply(reply) if isinstance(reply, str) else reply
    made = answer_of(trial(**where), reply, truth, rules, reason)
    return dict(zip(schema_of(Answer), cells_of(made), strict=True))


def table(*rows):
    return pl.DataFrame(
        [tuple(r.values()) for r in rows], schema=dict(schema_of(Answer)), orient="row"
    )


def test_an_answer_stands_beside_the_truth():
    assert row("Frame: EDV=5, ESV=20.") == {
        "case": "c",
        "task": "t1",
        "context": "original",
        "format": "edv_esv",
        "seed": 2020,
        "pass": 1,
        "outcome": "answered",
        "pred_ed": 5,
        "pred_es": 20,
        "lenient_ed": 5,
        "lenient_es": 20,
        "truth_ed": 4,
        "truth_es": 21,
        "start": 36,
        "count": 24,
        "stated": 24,
        "out_of_range": False,
        "text": "Frame: EDV=5, ESV=20.",
        "reasoning": None,
        "refused": False,
        "note": None,
        "recorded": False,
        "cut_off": None,
    }


def test_the_lenient_reading_stands_apart_and_never_makes_an_answer():
    found = row("ESV: 20; EDV: 5")
    assert (found["outcome"], found["pred_ed"], found["pred_es"]) == ("unparsed", None, None)
    assert (found["lenient_ed"], found["lenient_es"]) == (5, 20)
    assert found["out_of_range"] is None


@pytest.mark.parametrize(
    ("text", "outside"),
    [("EDV=23", False), ("EDV=24", True), ("EDV=-1", True), ("EDV=7538123", True), ("", None)],
)
def test_numbers_out_of_range_are_kept_and_flagged(text, outside):
    found = row(text, output="edv")
    assert found["out_of_range"] is outside
    assert found["pred_ed"] == (int(text[4:]) if text else None)
    assert found["outcome"] == ("answered" if text else "unparsed")


def test_out_of_range_is_beyond_the_frames_shown_whatever_the_question_offered():
    overrun = Truth(truth_ed=5, truth_es=15, start=70, count=20, stated=26)
    assert row("EDV=19", output="edv", truth=overrun)["out_of_range"] is False
    assert row("EDV=20", output="edv", truth=overrun)["out_of_range"] is True


def test_refused_unanswered_and_unparsed_are_three_things():
    refused = row(Reply("EDV=5, ESV=20", refusal="I will not"))
    assert (refused["outcome"], refused["pred_ed"], refused["lenient_ed"]) == (
        "refused",
        None,
        None,
    )
    assert refused["refused"]
    assert refused["note"] == "refusal: I will not"
    missing = row(None, reason="timed out")
    assert (missing["outcome"], missing["text"], missing["note"]) == (
        "unanswered",
        None,
        "timed out",
    )
    assert (missing["truth_ed"], missing["count"]) == (4, 24)
    assert row("no idea")["outcome"] == "unparsed"
    cut = row(Reply("EDV", finish="length", reasoning="hm \ud800"))
    assert (cut["note"], cut["reasoning"]) == ("cut off at the token limit", "hm ?")


def test_a_number_no_table_can_hold_is_kept_as_the_largest_with_a_note():
    found = row(f"EDV={2**63}, ESV=3")
    assert (found["outcome"], found["pred_ed"], found["pred_es"]) == ("answered", 2**63 - 1, 3)
    assert found["out_of_range"] is True
    assert "64 bits" in found["note"]
    assert table(row(f"EDV={2**63 - 1}", output="edv"))["pred_ed"].item() == 2**63 - 1


def test_thinking_is_read_by_the_authors_only():
    text = "<think>EDV=1, ESV=2</think> EDV=12, ESV=30"
    assert row(text, AUTHORS)["pred_ed"] == 1
    assert row(text, CORRECTED)["pred_ed"] == 12
    assert row("<think>EDV=1, ESV=2", CORRECTED)["outcome"] == "unparsed"


def test_the_truth_of_a_window_is_local():
    window = Window(start=36, count=24, stated=25, ed=4, es=21)
    assert truth_of(trial().condition, window, 3) == Truth(4, 21, 36, 24, 25)


def test_the_truth_of_two_frames_is_their_order():
    window = Window(start=36, count=24, stated=24, ed=4, es=21)
    for place, position in enumerate(t2_orders(40, 2023)):
        for output in ("edv", "esv"):
            found = truth_of(trial(output, task="t2", seed=2023).condition, window, place)
            assert found == Truth(position, 1 - position, None, 2, 2)


def test_golden_replies_make_rows_as_the_authors_read_them():
    for case in GOLDEN["cases"]:
        for vocabulary in ("medical", "non_medical"):
            context = "segmented" if vocabulary == "medical" else vocabulary
            for output, expected in case[vocabulary].items():
                found = row(case["output"], AUTHORS, output=output, context=context)
                assert [found["pred_ed"], found["pred_es"]] == expected
                answered = expected != [None, None]
                assert found["outcome"] == ("answered" if answered else "unparsed")


# ---------------------------------------------------------------- reading again

TEXTS = [
    "EDV=5, ESV=20",
    "<think>EDV=1, ESV=2</think> EDV=12, ESV=30",
    "EDV: 5; ESV: 20",
    f"<think>EDV={10**30}, ESV=1</think> EDV=3, ESV=4",
    "",
]


def rows_under(rules):
    rows = [row(text, rules) for text in TEXTS]
    rows.append(row(None, rules, reason="timed out"))
    rows.append(row(Reply("EDV=1, ESV=2", refusal="no"), rules))
    rows.append(row(Reply(TEXTS[3], finish="length"), rules))
    return table(*rows)


def test_kept_text_reads_as_if_it_had_been_asked_under_the_other_edition():
    for this, other in ((AUTHORS, CORRECTED), (CORRECTED, AUTHORS), (AUTHORS, AUTHORS)):
        assert reread(rows_under(this), other).equals(rows_under(other))


def test_a_kept_answer_is_out_of_range_by_the_frames_shown_when_read_again():
    overrun = Truth(truth_ed=5, truth_es=15, start=70, count=20, stated=26)
    for frame, outside in ((19, False), (20, True)):
        kept = table(row(f"EDV={frame}", output="edv", truth=overrun))
        assert reread(kept, CORRECTED)["out_of_range"].item() is outside


def test_recorded_answers_stay_unless_they_are_to_be_read_again():
    rows = table(row("EDV=5, ESV=20")).with_columns(
        recorded=pl.lit(True), pred_ed=pl.lit(9, pl.Int64), count=pl.lit(None, pl.Int32)
    )
    assert reread(rows, CORRECTED).equals(rows)
    again = reread(rows, CORRECTED, reparse=True)
    assert again["pred_ed"].item() == 5
    assert again["out_of_range"].item() is False
    assert reread(rows.clear(), CORRECTED).equals(rows.clear())


@settings(deadline=None)
@given(st.text(), st.sampled_from(["edv_esv", "edv"]), st.sampled_from([AUTHORS, CORRECTED]))
def test_any_text_makes_a_row_the_table_can_hold(text, output, rules):
    found = row(text, rules, output=output)
    kept = table(found)
    assert reread(kept, rules).equals(kept)
    reading = read_text(
        text=text,
        task="t1",
        context="original",
        output=output,
        shown=24,
        refused=False,
        edition=rules,
    )
    read = [name for name in schema_of(AnswerReading) if name != "note"]
    assert [getattr(reading, name) for name in read] == [found[name] for name in read]


# ---------------------------------------------------------------- Columns of the tables


def test_a_case_fills_its_row():
    case = HeartbeatCase(
        case_id="c",
        clip="c.avi",
        frames=90,
        ed=40,
        es=57,
        fps=50.0,
        width=112,
        height=112,
        patient="p",
        view="A4C",
        sex="F",
        age=61.0,
        split="VAL",
        ef=58.3,
        ed_volume=101.5,
        es_volume=42.3,
        mask="c.npz",
        volumes="c.csv",
    )
    rows = pl.DataFrame([cells_of(row_of(case))], schema=dict(schema_of(CaseRow)), orient="row")
    found = rows.row(0, named=True)
    assert found.pop("case") == "c"
    kept = {name: found.pop(name) for name in list(found)[-6:]}
    volumes = ("frame_volumes", "volume_method", "volume_fault", "frame_areas")
    assert kept == dict.fromkeys((*volumes, "other_ed", "other_es"))
    assert all(found[name] == getattr(case, name) for name in found)
    assert {"case_id", *found} == set(HeartbeatCase.__struct_fields__)


def test_what_a_dataset_does_not_say_is_null():
    case = HeartbeatCase(case_id="c", clip="c.avi", frames=2, ed=0, es=1)
    rows = pl.DataFrame([cells_of(row_of(case))], schema=dict(schema_of(CaseRow)), orient="row")
    assert rows.null_count().sum_horizontal().item() == len(schema_of(CaseRow)) - 5


def test_answers_hold_any_64_bit_number():
    schema = schema_of(Answer)
    for column in ("pred_ed", "pred_es", "lenient_ed", "lenient_es"):
        assert schema[column] == pl.Int64


def test_no_table_library_is_loaded_until_a_schema_is_asked_for():
    code = (
        "import sys; import overread.benchmarks.heartbeat.answers, "
        "overread.benchmarks.heartbeat.trials; "
        "sys.exit(any(name in sys.modules for name in ('polars', 'numpy', 'scipy')))"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
