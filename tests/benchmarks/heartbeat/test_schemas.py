"""Columns of the tables."""

from __future__ import annotations

import subprocess
import sys

import polars as pl

from overread.benchmarks.heartbeat.answers import (
    ANSWER_COLUMNS,
    answer_schema,
    case_row,
    case_schema,
)
from overread.benchmarks.heartbeat.cases import HeartbeatCase


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
    rows = pl.DataFrame([case_row(case)], schema=dict(case_schema()), orient="row")
    found = rows.row(0, named=True)
    assert found.pop("case") == "c"
    kept = {name: found.pop(name) for name in list(found)[-6:]}
    volumes = ("frame_volumes", "volume_method", "volume_fault", "frame_areas")
    assert kept == dict.fromkeys((*volumes, "other_ed", "other_es"))
    assert all(found[name] == getattr(case, name) for name in found)
    assert {"case_id", *found} == set(HeartbeatCase.__struct_fields__)


def test_what_a_dataset_does_not_say_is_null():
    case = HeartbeatCase(case_id="c", clip="c.avi", frames=2, ed=0, es=1)
    rows = pl.DataFrame([case_row(case)], schema=dict(case_schema()), orient="row")
    assert rows.null_count().sum_horizontal().item() == len(case_schema()) - 5


def test_answers_hold_any_64_bit_number():
    schema = answer_schema()
    assert tuple(schema) == ANSWER_COLUMNS
    for column in ("pred_ed", "pred_es", "lenient_ed", "lenient_es"):
        assert schema[column] == pl.Int64


def test_no_table_library_is_loaded_until_a_schema_is_asked_for():
    code = (
        "import sys; import overread.benchmarks.heartbeat.schemas, "
        "overread.benchmarks.heartbeat.trials; "
        "sys.exit(any(name in sys.modules for name in ('polars', 'numpy', 'scipy')))"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
