"""What importers share: files, readers, oddities, verdicts."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from overread.benchmarks.base import ReaderRecord, Tables
from overread.benchmarks.importing import (
    JudgedRow,
    Oddities,
    declared_readers,
    judged_row,
    over_tables,
    reader_records,
    result_files,
    verdicts_frame,
    without_results,
)
from overread.benchmarks.m3cot.benchmark import M3CoT
from overread.benchmarks.tables import schema_of
from overread.case import BadInput, Traits
from overread.judging import VERDICT_COLUMNS, Read


def write_models(folder: Path, **models: object) -> Path:
    path = folder / "models.json"
    path.write_bytes(msgspec.json.encode(models))
    return path


def test_a_readers_file_says_what_each_is(tmp_path: Path) -> None:
    path = write_models(
        tmp_path,
        a={"role": "text_only", "reasoning_parser": True, "params_b": 7, "group": " medical "},
        b={},
    )
    declared = declared_readers(path)
    assert declared["a"].traits == Traits(modality="text", reasoning=True)
    assert (declared["a"].params_b, declared["a"].group) == (7.0, "medical")
    assert declared["b"] == ReaderRecord(name="b", identity="imported")
    assert declared_readers(None) == {}
    records = reader_records(["a", "c"], declared)
    assert [one.name for one in records] == ["a", "c"]
    assert records[1].identity == "imported"
    assert without_results(["a", "c"], declared) == ["b of the readers file has no results."]


@pytest.mark.parametrize(
    ("model", "told"),
    [
        ({"role": "both"}, 'a has role "both"; the roles are multimodal, text_only, vision_only'),
        ({"reasoning_parser": "yes"}, 'a has reasoning_parser "yes"; it is true or false'),
        ({"params_b": True}, "a has params_b true; it is billions of parameters"),
        ({"params_b": -1}, "a has params_b -1"),
        ({"group": 3}, "a has group 3; it is a text"),
    ],
)
def test_a_readers_file_with_something_odd_is_refused(tmp_path, model, told) -> None:
    with pytest.raises(BadInput) as caught:
        declared_readers(write_models(tmp_path, a=model))
    assert told in str(caught.value)


def test_a_readers_file_that_is_none_is_refused(tmp_path: Path) -> None:
    (tmp_path / "models.json").write_text("[1]")
    with pytest.raises(BadInput, match="is not an object of models"):
        declared_readers(tmp_path / "models.json")


def test_files_of_results(tmp_path: Path) -> None:
    for name in ("b.jsonl", "a.JSONL", "c.csv"):
        (tmp_path / name).write_text("")
    assert [path.name for path in result_files(tmp_path, ".jsonl", expected="x")] == [
        "a.JSONL",
        "b.jsonl",
    ]
    assert result_files(tmp_path / "c.csv", ".jsonl", expected="x") == [tmp_path / "c.csv"]
    with pytest.raises(BadInput, match="there is no such file or folder. Give the replies"):
        result_files(tmp_path / "gone", ".jsonl", expected="the replies")
    with pytest.raises(BadInput, match="holds no .txt. Give the replies"):
        result_files(tmp_path, ".txt", expected="the replies")


def test_oddities_are_counted_with_the_first() -> None:
    odd = Oddities()
    for why, where in (
        ("have no text", "a line 2"),
        ("have no text", "a line 5"),
        ("are odd", "b"),
    ):
        odd.add(why, where)
    assert list(odd.told()) == [
        "2 lines have no text (the first is a line 2).",
        "1 line is odd (the first is b).",
    ]


def test_verdicts_of_others() -> None:
    assert tuple(schema_of(JudgedRow)) == VERDICT_COLUMNS
    facts = {"judge": "j", "role": "score", "question": "q", "reader": "r", "case": "c"}
    good = judged_row(Read({"a": 1}, "strict"), text="x", reason=None, about="{}", **facts)
    bad = judged_row(Read(fault="no number"), text="y", reason=None, about="{}", **facts)
    none = judged_row(Read({"a": 1}, "strict"), text=None, reason="no reply", about="{}", **facts)
    assert [one.outcome for one in (good, bad, none)] == ["judged", "invalid", "invalid"]
    assert (good.payload, good.how, bad.reason, none.how, none.reason) == (
        '{"a":1}',
        "strict",
        "no number",
        None,
        "no reply",
    )
    frame = verdicts_frame([good, bad])
    assert frame is not None
    assert frame.height == 2
    assert verdicts_frame([]) is None


def test_a_run_is_called_after_its_set(tmp_path: Path) -> None:
    import polars as pl

    tables = Tables(cases=pl.DataFrame({"case": ["a"]}), answers=pl.DataFrame(), readers=())
    named = over_tables(M3CoT, tables, tmp_path, "open", "authors", None)
    assert named.dataset.startswith(f"{tmp_path.name}@")
    assert (named.policy, named.edition) == ("open", "authors")
    bare = over_tables(M3CoT, tables, None, "credentialed", "corrected", None)
    assert bare.dataset == f"imported@{named.dataset.partition('@')[2]}"
