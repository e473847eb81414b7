"""Run folders: whole or not there, private where they must be, the same bytes every time."""

from __future__ import annotations

import json
import math
import os
import stat
import subprocess
import sys
from pathlib import Path

import polars as pl
import pytest

from overread.case import BadInput, Measure, Traits
from overread.records import (
    Measures,
    ReaderEntry,
    RunRecord,
    check_out,
    folder_being_written,
    read_frame,
    read_measures,
    read_record,
    write_measures,
    write_record,
    write_rows,
)
from support.kept_runs import kept_run

RECORD = RunRecord(
    benchmark="grounding",
    edition="corrected",
    answers_edition="corrected",
    cases="manifest.csv",
    dataset='"quoted" ü@1',
    policy="open",
    n_cases=3,
    limit=None,
    settings={"px": "300"},
    readers=(ReaderEntry(name="r", spec="s", identity="i", traits=Traits(modality="text")),),
)


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def names(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()}


# ---------------------------------------------------------------- folders


def test_a_whole_run_leaves_nothing_of_an_earlier_one_beside_it(tmp_path: Path) -> None:
    out = tmp_path / "run"
    for whole, written, left in (
        (True, ("run.toml", "answers.parquet", "verdicts.parquet", "left_out.csv"), ()),
        (False, ("run.toml",), ("answers.parquet", "verdicts.parquet", "left_out.csv")),
        (True, ("run.toml", "answers.parquet"), ()),
    ):
        with folder_being_written(out, "open", whole=whole) as scratch:
            for name in written:
                (scratch / name).write_text("x")
        (out / "notes.txt").write_text("the user's own")
        assert names(out) == {*written, *left, "notes.txt"}


@pytest.mark.parametrize(("policy", "folder", "file"), [("open", 0o755, 0o644), ("research", 0o755, 0o644), ("credentialed", 0o700, 0o600)])  # fmt: skip
def test_who_may_read_a_run(tmp_path: Path, policy, folder: int, file: int) -> None:
    before = os.umask(0o022)
    try:
        with folder_being_written(tmp_path / "a" / "run", policy) as scratch:
            assert mode(scratch) == 0o700
            (scratch / "run.toml").write_text("x")
    finally:
        os.umask(before)
    assert mode(tmp_path / "a" / "run") == folder
    assert mode(tmp_path / "a" / "run" / "run.toml") == file
    assert names(tmp_path / "a") == {"run"}


def fail_while_writing(out: Path) -> None:
    with folder_being_written(out, "open") as scratch:
        (scratch / "run.toml").write_text("second")
        _ = 1 / 0


def test_a_failure_leaves_nothing(tmp_path: Path) -> None:
    with pytest.raises(ZeroDivisionError):
        fail_while_writing(tmp_path / "run")
    assert names(tmp_path) == set()


def test_a_failure_leaves_an_earlier_run_as_it_was(tmp_path: Path) -> None:
    with folder_being_written(tmp_path / "run", "open") as scratch:
        (scratch / "run.toml").write_text("first")
    with pytest.raises(ZeroDivisionError):
        fail_while_writing(tmp_path / "run")
    assert names(tmp_path / "run") == {"run.toml"}
    assert (tmp_path / "run" / "run.toml").read_text() == "first"


def test_a_run_goes_through_a_link(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real")
    check_out(tmp_path / "link")
    with folder_being_written(tmp_path / "link", "open") as scratch:
        assert scratch.parent.resolve() == tmp_path / "real"  # one file system, also for a mount
        (scratch / "run.toml").write_text("x")
    assert names(tmp_path / "real") == {"run.toml"}


def test_where_a_run_may_go(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    (tmp_path / "killed" / ".unfinished.abc").mkdir(parents=True)
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "run.toml").touch()
    for place in ("new", "deep/er/new", "empty", "killed", "run"):
        check_out(tmp_path / place)
    assert names(tmp_path) == {"empty", "killed", "run"}
    assert names(tmp_path / "empty") == set()


def test_where_it_may_not(tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "thesis.docx").touch()
    (tmp_path / "nowhere").symlink_to("not-there")
    for place in ("other", "other/thesis.docx", "other/thesis.docx/run", "nowhere"):
        with pytest.raises(BadInput, match=place):
            check_out(tmp_path / place)
    assert names(tmp_path / "other") == {"thesis.docx"}


def test_a_run_cut_off_while_it_was_moved_is_not_read_and_may_be_written_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def write(out: Path) -> None:
        with folder_being_written(out, "open") as scratch:
            (scratch / "answers.parquet").touch()
            write_record(scratch / "run.toml", RECORD)

    def power_cut(source: Path, target: Path) -> None:
        if target.name == "run.toml":
            raise KeyboardInterrupt
        move(source, target)

    move = os.replace
    for before in ("nothing", "an earlier run"):
        out = tmp_path / before
        if before != "nothing":
            write(out)
        with monkeypatch.context() as patch:
            patch.setattr(os, "replace", power_cut)
            with pytest.raises(KeyboardInterrupt):
                write(out)
        assert ".unfinished.mark" in names(out)
        with pytest.raises(BadInput, match="cut off while it was written"):
            read_record(out)
        check_out(out)
        write(out)
        assert names(out) == {"answers.parquet", "run.toml"}
        assert read_record(out) == RECORD


# ---------------------------------------------------------------- tables


@pytest.mark.parametrize("rows", [0, 1, 4, 5, 12])
def test_rows_come_back_in_order_however_many_parts(tmp_path: Path, rows: int) -> None:
    given = [(str(n), n) for n in range(rows)]
    schema = {"a": pl.String, "b": pl.Int64}
    assert write_rows(tmp_path / "t.parquet", schema, iter(given), part=5) == rows
    frame = read_frame(tmp_path / "t.parquet", schema)
    assert frame.rows() == given
    assert dict(frame.schema) == schema
    assert names(tmp_path) == {"t.parquet"}


def test_how_long_the_parts_are_changes_no_byte(tmp_path: Path) -> None:
    schema = {"a": pl.String, "b": pl.List(pl.String)}
    given = [(f"text {n % 7}" * 50, [str(n), "x"]) for n in range(3_000)]
    for part in (5_000, 300):
        write_rows(tmp_path / f"{part}.parquet", schema, given, part=part)
    one, other = sorted(tmp_path.iterdir())
    assert one.read_bytes() == other.read_bytes()


def test_a_table_must_have_its_columns(tmp_path: Path) -> None:
    write_rows(tmp_path / "t.parquet", {"a": pl.Int64}, [(1,)])
    with pytest.raises(BadInput, match="no column b"):
        read_frame(tmp_path / "t.parquet", ("a", "b"))


# ---------------------------------------------------------------- records and measures


def test_a_record_comes_back(tmp_path: Path) -> None:
    write_record(tmp_path / "run.toml", RECORD)
    assert read_record(tmp_path) == RECORD


def test_a_record_saved_by_an_editor_of_another_world(tmp_path: Path) -> None:
    write_record(tmp_path / "run.toml", RECORD)
    text = (tmp_path / "run.toml").read_bytes().replace(b"\n", b"\r\n")
    (tmp_path / "run.toml").write_bytes(b"\xef\xbb\xbf" + text)
    assert read_record(tmp_path) == RECORD


def test_measures_are_strict_json_with_every_field(tmp_path: Path) -> None:
    odd = Measure(reader='r\n"ü\u2028', measure="accuracy", value=math.nan, low=math.inf)
    kept = Measures(overread="0", benchmark="b", edition="e", signature="s", measures=[odd, odd])
    path = tmp_path / "measures.json"
    write_measures(path, kept)

    def refuse(word: str) -> None:
        raise AssertionError(f"{word} is not JSON")

    found = json.loads(path.read_text(encoding="utf-8"), parse_constant=refuse)
    assert list(found) == ["overread", "benchmark", "edition", "signature", "measures"]
    assert set(found["measures"][0]) == set(Measure.__struct_fields__)
    assert found["measures"][0]["value"] is None
    assert found["measures"][0]["low"] is None
    assert found["measures"][0]["reader"] == odd.reader
    assert path.read_text(encoding="utf-8").count("\n") == 4  # a record a line
    assert read_measures(tmp_path).measures[0].reader == odd.reader


def test_no_measures_are_json_too(tmp_path: Path) -> None:
    none = Measures(overread="0", benchmark="b", edition="e", signature="s", measures=[])
    write_measures(tmp_path / "measures.json", none)
    assert read_measures(tmp_path) == none


@pytest.mark.parametrize("text", [None, b"", b"{", b"[]", b'{"overread": 1}'])
def test_measures_that_cannot_be_read(tmp_path: Path, text: bytes | None) -> None:
    if text is not None:
        (tmp_path / "measures.json").write_bytes(text)
    with pytest.raises(BadInput, match=r"measures\.json.*overread measure"):
        read_measures(tmp_path)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (b'"value":0.5', b'"value":1e308'),
        (b'"value":0.5', b'"value":-1e308'),
        (b'"value":0.5', b'"value":1e999'),
        (b'"value":0.5', b'"value":' + b"9" * 5000),
        (b'"n":100', b'"n":' + b"9" * 5000),
        (b"accuracy", b"acc\xffracy"),
        (b'"by":{}', b'"by":' + b"[" * 100_000),
    ],
)
def test_measures_that_no_run_wrote_are_one_line(tmp_path: Path, old: bytes, new: bytes) -> None:
    kept_run(tmp_path / "run", {"a": {"accuracy": 0.5}})
    path = tmp_path / "run" / "measures.json"
    assert old in path.read_bytes()
    path.write_bytes(path.read_bytes().replace(old, new))
    with pytest.raises(BadInput, match=r"measures\.json") as raised:
        read_measures(tmp_path / "run")
    assert "\n" not in str(raised.value)
    assert len(str(raised.value)) < 400


def test_a_disk_that_fills_while_a_table_is_written_is_one_line(tmp_path: Path) -> None:
    """In a process whose files may have 4 kB; the sizes are those of a disk, the words are ours."""
    code = (
        "import resource, signal, sys\n"
        "from pathlib import Path\n"
        "import polars as pl\n"
        "from overread.case import BadInput\n"
        "from overread.records import write_rows\n"
        "signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))\n"
        "try:\n"
        "    write_rows(Path(sys.argv[1]), {'a': pl.String}, ((f'{n ** 9}',) for n in range(20000)))\n"
        "except (BadInput, OSError) as error:\n"
        "    print(f'{type(error).__name__}: {error}')\n"
    )
    path = tmp_path / "answers.parquet"
    done = subprocess.run([sys.executable, "-c", code, str(path)], capture_output=True, text=True)
    assert done.stderr == ""
    assert done.stdout.count("\n") == 1
    assert done.stdout.startswith(
        ("BadInput: answers.parquet: the table cannot be written", "OSError")
    )
    assert list(tmp_path.iterdir()) == []
