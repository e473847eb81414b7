"""Whatever is wrong with what a user gives: exit code 2, one line that names it, nothing written."""

from __future__ import annotations

import json
import os
import re
import shutil
import sqlite3
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import polars as pl
import pytest

from support.commands import GOLDEN, Overread, tree, write_manifest
from support.kept_runs import changed_on_purpose

RUN = ("run", "grounding")
PLAN = ("plan", "grounding")
CASES = ("--cases", "phantom:16")
LOOKS = ("--reader", "control:looks")
GOOD = (*RUN, *CASES, *LOOKS)
STUDY = """
[[run]]
benchmark = "grounding"
cases = "phantom:16"
[[reader]]
kind = "control"
model = "looks"
"""


@pytest.fixture(scope="module")
def clutter(tmp_path_factory: pytest.TempPathFactory, phantom_cache: Path) -> Path:
    """A folder with one good run, its store, and many things that are not what they should be."""
    import overread as ov

    place = tmp_path_factory.mktemp("clutter")
    ov.run(
        "grounding",
        "phantom:16",
        ["control:looks"],
        out=place / "run",
        store=place / "store.sqlite",
        limit=4,
    )
    (place / "file").write_text("words", encoding="utf-8")
    (place / "empty").touch()
    (place / "binary").write_bytes(bytes(range(256)) * 20)
    (place / "folder").mkdir()
    (place / "folder" / "kept").touch()
    (place / "nowhere").symlink_to("not-there")
    (place / "circle").symlink_to("circle")
    damaged = bytearray((place / "store.sqlite").read_bytes())
    (place / "cut.sqlite").write_bytes(damaged[: len(damaged) // 2])
    damaged[6000:26000] = b"\xff" * 20000
    (place / "damaged.sqlite").write_bytes(damaged)
    with sqlite3.connect(place / "foreign.sqlite") as other:
        other.execute("CREATE TABLE theirs (a)")
    other.close()
    return place


@pytest.fixture
def refused(
    clutter: Path, workspace: Path, overread: Overread, monkeypatch: pytest.MonkeyPatch
) -> Callable[..., str]:
    """Run a command in a copy of the clutter; it must be refused, and leave everything alone."""
    shutil.copytree(clutter, workspace, symlinks=True, dirs_exist_ok=True)
    scratch = workspace.parent / "scratch"
    scratch.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(scratch))

    def refuse(*words: object) -> str:
        before = tree(workspace, scratch)
        done = overread(*words)
        assert done.code == 2, done
        # SQLite's own lock files may come and go beside a database that is not ours.
        changed = {row for row in before ^ tree(workspace, scratch) if "sqlite-" not in row[0]}
        assert {row for row in changed if not Path(row[0]).is_dir()} == set()
        return done.complaint

    return refuse


# ---------------------------------------------------------------- usage


@pytest.mark.parametrize(
    ("words", "named"),
    [
        (("frob",), "frob"),
        (("--frob",), "--frob"),
        (("run",), "benchmark"),
        ((*GOOD, "--frob"), "--frob"),
        ((*GOOD, "more"), "more"),
        ((*GOOD, "--out"), "--out"),
        ((*RUN, *LOOKS), "--cases is missing"),
        ((*RUN, *CASES), "no reader"),
        ((*RUN, *CASES, *LOOKS, *LOOKS), "control:looks"),
        (("run", "frob", *CASES, *LOOKS), "frob"),
        (("run", "frob", "--cases", "file", *LOOKS), "grounding"),
        ((*GOOD, "--engine", "slurm"), "--engine slurm"),
        ((*GOOD, "--address", "auto"), "--address"),
        ((*GOOD, "--actors", "2"), "--actors"),
        ((*GOOD, "--judge", "control:looks"), "--judge"),
        ((*GOOD, "--edition", "first"), "corrected, authors"),
        ((*GOOD, "--edition", ""), "edition"),
        ((*GOOD, "--limit", "few"), "--limit"),
        ((*GOOD, "--limit", "1.5"), "--limit"),
        ((*GOOD, "--limit", "0"), "--limit 0"),
        ((*GOOD, "--limit", "-1"), "--limit -1"),
        ((*GOOD, "--concurrency", "0"), "--concurrency 0"),
        ((*GOOD, "--concurrency", "1000000000"), "--concurrency 1000000000"),
        ((*GOOD, "--concurrency", "many"), "--concurrency"),
        (PLAN, "--cases is missing"),
        ((*PLAN, *CASES), "no reader"),
        ((*PLAN, *CASES, *LOOKS, "--requests", "folder"), "--requests folder"),
        ((*PLAN, *CASES, *LOOKS, "--requests", "no/where"), "--requests no/where"),
        (("measure",), "run"),
        (("import",), "benchmark"),
        (("import", "grounding"), "--replies is missing"),
        (("import", "grounding", "--replies", "folder", "--out", "new"), "--cases is missing"),
        (("import", "grounding", *CASES), "--replies is missing"),
        (("import", "grounding", *CASES, "--replies", "folder"), "--out is missing"),
        (("sight",), "reader"),
        (("sight", "control:looks"), "by construction"),
        (("sight", "looks"), "looks"),
        (("sight", "recorded:nope"), "nope"),
        (("selfcheck", "--seed", "-1"), "--seed"),
        (("selfcheck", "--seed", "x"), "--seed"),
        (("doctor", "more"), "more"),
        (("demo", "more"), "more"),
        (("store", "frob"), "frob"),
        (("store", "forget"), "data set"),
        (("store", "forget", "nobody", "--store", "store.sqlite"), "phantom-chest@"),
    ],
    ids=" ".join,
)
def test_words(refused: Callable[..., str], words: tuple[str, ...], named: str) -> None:
    assert named in refused(*words)


@pytest.mark.parametrize(
    "setting",
    [
        "px", "=3", "px=", "px=x", "px=0", "px=99999999", "px=224=3", "frob=1", "normals=maybe",
        "conditions=", "conditions=swap", "root=", "root=/not/there", "wire=gif", "boot=-1",
    ],
)  # fmt: skip
def test_settings(refused: Callable[..., str], setting: str) -> None:
    assert f"--set {setting}" in refused(*GOOD, "--set", setting)


def test_a_setting_given_twice(refused: Callable[..., str]) -> None:
    assert "--set px is given twice" in refused(*GOOD, "--set", "px=224", "--set", "px=300")


# ---------------------------------------------------------------- cases


@pytest.mark.parametrize(
    "spec",
    [
        "phantom:", "phantom:x", "phantom:5", "phantom:0", "phantom:-1", "phantom:16.0",
        "phantom:16:", "phantom:16:-1", "phantom:1:2:3", "phantom:480:9999999999999",
        "phantom:999999999999999999999", "phantom:" + "9" * 5000, "phantom:٣", "phantom: 16",
    ],
)  # fmt: skip
def test_phantoms(refused: Callable[..., str], spec: str) -> None:
    words = refused(*RUN, "--cases", spec, *LOOKS)
    assert "phantom:" in words or "at least 16" in words


@pytest.mark.parametrize(
    ("path", "named"),
    [
        ("nope.csv", "nope.csv"),
        ("", "manifest.csv"),
        ("folder", "without manifest.csv"),
        ("/dev/null", "/dev/null"),
        ("empty", "is empty"),
        ("binary", "not UTF-8"),
        ("file", "no column case_id"),
        ("nowhere", "nowhere"),
        ("circle", "circle"),
        ("a b", "a b"),
        ("Röntgen.csv", "Röntgen.csv"),
        ("x" * 5000, "too long"),
        ("file/manifest.csv", "file/manifest.csv"),
    ],
)
def test_case_files(refused: Callable[..., str], path: str, named: str) -> None:
    assert named in refused(*RUN, "--cases", path, *LOOKS)
    assert named in refused(*PLAN, "--cases", path, *LOOKS)


BAD_ROWS = {
    "case_id": ("",),
    "source": ("",),
    "image_path": ("",),
    "finding": ("",),
    "label": ("", "2", "perhaps", "0.5", "nan"),
    "box_x": ("", "left", "inf", "1e9", "1.5"),
    "box_w": ("0", "-3"),
    "box_h": ("0",),
    "irrelevant_box_y": ("",),
    "age": ("-1", "old"),
}


@pytest.mark.parametrize(
    ("column", "value"), [(column, value) for column, row in BAD_ROWS.items() for value in row]
)
def test_rows_of_a_manifest(
    refused: Callable[..., str], workspace: Path, column: str, value: str
) -> None:
    write_manifest(workspace / "set", {}, {column: value})
    words = refused(*RUN, "--cases", "set", *LOOKS)
    assert "manifest.csv row 3" in words
    assert column in words


@pytest.mark.parametrize(
    ("damage", "named"),
    [
        (lambda text: text + b"one,two\r\n", "row 4"),
        (lambda text: text.replace(b"c1", b"c0"), 'the case "c0" stands in'),
        (lambda text: text.replace(b"edema", b"\xff"), "not UTF-8"),
        (lambda text: text.replace(b"edema", b"\0"), "NUL"),
        (lambda text: text.replace(b"edema", b'"edema', 1), "a quote that is never closed"),
        (lambda text: text.replace(b"label,", b"labels,", 1), "label"),
        (lambda text: text.replace(b"label,", b"finding,", 1), "label"),
        (lambda text: text.split(b"\r\n")[0], "no cases"),
        (lambda text: text.decode().encode("utf-16"), "not UTF-8"),
    ],
)
def test_manifests(
    refused: Callable[..., str], workspace: Path, damage: Callable[[bytes], bytes], named: str
) -> None:
    path = write_manifest(workspace / "set", {}, {})
    path.write_bytes(damage(path.read_bytes()))
    assert named in refused(*RUN, "--cases", path, *LOOKS)


def test_what_a_file_holds_does_not_steer_the_terminal(
    refused: Callable[..., str], workspace: Path
) -> None:
    path = write_manifest(workspace / "set", {"label": "\x1b[2J\u202e1"})
    words = refused(*RUN, "--cases", path, *LOOKS)
    assert words.isprintable()
    assert "label" in words


@pytest.mark.parametrize("card", [b"policy", b"policy = 'shared'", b"\xff", b"name = 3"])
def test_dataset_cards(refused: Callable[..., str], workspace: Path, card: bytes) -> None:
    path = write_manifest(workspace / "set", {})
    (path.parent / "dataset.toml").write_bytes(card)
    assert "dataset.toml" in refused(*RUN, "--cases", path, *LOOKS)


# ---------------------------------------------------------------- readers


@pytest.mark.parametrize(
    "spec",
    [
        "", "looks", "control", "control:", "control:nope", "control:lööks", "hf:x", "模型:x",
        "openai:", "openai:m", "openai:m@", "openai:m@host", "openai:@http://h", "openai:m@ftp://h",
        "openai:m@http://", "openai:m@http://h/v1?frob=1", "openai:m@http://h/v1?modality=smell",
        "openai:m@http://h/v1?max_tokens=0", "openai:m@http://h/v1?max_tokens=x",
        "openai:m@http://h/v1?temperature=hot", "openai:m@http://h/v1?concurrency=0",
        "openai:m@http://h/v1?timeout=nan", "openai:m@http://h/v1?extra=3",
        "openai:m@http://h/v1?extra={", "openai:m@http://h/v1?model=x",
        "openai:m@http://h/v1?reasoning=perhaps", "openai:m@http://h/v1?key_env=NOT_SET_ANYWHERE",
        "openai:m@http://h/v1?a b", "recorded:", "recorded:nope.jsonl", "recorded:folder",
        "recorded:binary", "recorded:file",
    ],
)  # fmt: skip
def test_readers(refused: Callable[..., str], spec: str) -> None:
    words = refused(*PLAN, *CASES, "--reader", spec)
    assert "reader" in words or spec.removeprefix("recorded:") in words


@pytest.mark.parametrize(
    "spec",
    [
        "openai:m@http://u:hunter2hunter2@h/v1",
        "openai:m@http://h/v1?key=hunter2hunter2",
        "openai:m@http://h/v1?api_key=sk-hunter2hunter2hunter2",
        "openai:m@http://h/v1?label=sk-hunter2hunter2hunter2",
    ],
)
def test_a_key_in_a_spec_is_refused_and_not_repeated(
    refused: Callable[..., str], spec: str
) -> None:
    words = refused(*PLAN, *CASES, "--reader", spec)
    assert "OPENAI_API_KEY" in words
    assert "hunter2" not in words


@pytest.mark.parametrize(
    ("text", "named"),
    [
        (b"{}", "line 1"),
        (b"[1]", "line 1"),
        (b'{"request": 1, "text": "Yes"}', "request"),
        (b'{"request": "a", "text": "Yes"}\n{"request": "a", "text": "No"}', "line 2"),
        (b'{"request": "a", "text": "\xff"}', "line 1"),
        (b'{"request": "a", "text": "Yes"', "line 1"),
    ],
)
def test_recorded_files(
    refused: Callable[..., str], workspace: Path, text: bytes, named: str
) -> None:
    (workspace / "replies.jsonl").write_bytes(text)
    assert named in refused(*RUN, *CASES, "--reader", "recorded:replies.jsonl")


# ---------------------------------------------------------------- places


@pytest.mark.parametrize("command", [GOOD, ("demo",)], ids=["run", "demo"])
@pytest.mark.parametrize(
    "out",
    ["file", "file/run", "folder", "nowhere", "circle", "x" * 300, "/dev/null", "/proc/not/run"],
)
def test_where_a_run_cannot_be_written(
    refused: Callable[..., str], command: tuple[str, ...], out: str
) -> None:
    assert f"--out {out}" in refused(*command, "--out", out)


@pytest.mark.parametrize(
    "command",
    [GOOD, (*PLAN, *CASES, *LOOKS), ("store", "list"), ("store", "forget", "phantom-chest")],
    ids=["run", "plan", "store list", "store forget"],
)
@pytest.mark.parametrize("store", ["folder", "binary", "cut.sqlite", "damaged.sqlite"])
def test_what_is_no_store(
    refused: Callable[..., str], command: tuple[str, ...], store: str
) -> None:
    assert "store" in refused(*command, "--store", store)


@pytest.mark.parametrize("store", ["not-there.sqlite", "file/store.sqlite"])
def test_a_store_that_is_not_there_has_nothing_to_list(
    refused: Callable[..., str], store: str
) -> None:
    assert store in refused("store", "list", "--store", store)


def test_somebody_elses_database_is_refused_and_left_alone(refused: Callable[..., str]) -> None:
    assert "not a reply store" in refused("store", "list", "--store", "foreign.sqlite")


@contextmanager
def nobody() -> Iterator[None]:
    """As a user without rights, also where the tests run as root."""
    if os.geteuid() != 0:
        yield
        return
    os.seteuid(65534)
    try:
        yield
    finally:
        os.seteuid(0)


def test_rights(overread: Overread, phantom_cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert overread(*GOOD, "--out", "warm", "--limit", "2").code == 0  # all modules are imported
    with tempfile.TemporaryDirectory() as place:
        # pytest's own folders are closed to others.
        monkeypatch.setenv("XDG_CONFIG_HOME", place)
        monkeypatch.setenv("OVERREAD_CACHE", f"{place}/phantoms")
        for made in phantom_cache.glob("phantom-chest-16-0-*"):
            shutil.copytree(made, f"{place}/phantoms/{made.name}")
        secret, closed = Path(place) / "secret.csv", Path(place) / "closed"
        secret.touch(0o000)
        closed.mkdir(0o555)
        (Path(place) / "open").mkdir()
        (Path(place) / "open").chmod(0o777)
        os.chmod(place, 0o755)
        monkeypatch.chdir(closed)
        store = ("--store", f"{place}/s/store.sqlite")
        commands = {
            "secret.csv": (*RUN, "--cases", secret, *LOOKS),
            f"--out {closed}": (*GOOD, "--out", closed / "run"),
            "--out runs": GOOD,  # the working folder is not writable
            "the reply store cannot be made": (
                *GOOD,
                "--out",
                Path(place) / "open" / "run",
                *store,
            ),
        }
        with nobody():
            for named, words in commands.items():
                done = overread(*words)
                assert (done.code, named in done.complaint) == (2, True), done
        assert list(closed.iterdir()) == []


# ---------------------------------------------------------------- studies and configuration


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("", "[[run]]"),
        ("run", "study.toml"),
        ("[[run]]\n", "benchmark"),
        (STUDY.partition("[[reader]]")[0], "reader"),
        ("reader = []\nrun = []\n", "at least one"),
        (STUDY.replace('"grounding"', '"frob"'), "frob"),
        (STUDY.replace("cases", "case"), "case"),
        (STUDY.replace('"phantom:16"', "5"), "cases"),
        (STUDY.replace('"phantom:16"', '"nope.csv"'), "nope.csv"),
        (STUDY.replace("looks", "nope"), "nope"),
        (STUDY.replace('"control"', '"frob"'), "frob"),
        (STUDY + "frob = 1\n", "frob"),
        ("limit = 3\n" + STUDY, "limit"),
        ("concurrency = 0\n" + STUDY, "concurrency"),
        ("store = 5\n" + STUDY, "store"),
        (STUDY.replace("[[reader]]", "limit = 0\n[[reader]]"), "limit"),
        (STUDY.replace("[[reader]]", 'set = {px = "x"}\n[[reader]]'), "px"),
        (STUDY.replace("[[reader]]", 'edition = "x"\n[[reader]]'), "edition"),
        (STUDY.replace("[[reader]]", 'out = "file"\n[[reader]]'), "file"),
        (STUDY.replace("[[reader]]", 'out = "a\\u0000b"\n[[reader]]'), "NUL"),
        (STUDY.replace("[[run]]", "[run]"), "run"),
        (STUDY + STUDY.partition("[[reader]]")[0], "same folder"),
        (STUDY + STUDY.partition("[[reader]]")[0].replace("phantom:16", "x") + 'out = "b"', "x:"),
    ],
)
def test_studies(refused: Callable[..., str], workspace: Path, text: str, named: str) -> None:
    (workspace / "study.toml").write_text(text, encoding="utf-8")
    assert named in refused("run", "study.toml")
    assert named in refused("plan", "study.toml")


def test_a_wrong_key_of_a_study_tells_the_right_ones(
    refused: Callable[..., str], workspace: Path
) -> None:
    (workspace / "study.toml").write_text(STUDY.replace("cases", "case"), encoding="utf-8")
    told = refused("run", "study.toml")
    for key in ("benchmark", "cases", "edition", "out", "limit", "set", "reader", "judge", "store"):
        assert key in told
    assert "docs/studies.md" in told


def test_a_study_is_planned_as_it_is_run(overread: Overread, workspace: Path) -> None:
    (workspace / "study.toml").write_text(STUDY + STUDY.partition("[[reader]]")[0] + 'out = "b"')
    done = overread("plan", "study.toml", "--json")
    assert done.code == 0, done
    planned = json.loads(done.out)
    assert [one["out"] for one in planned] == ["runs/study-grounding", "b"]
    assert [one["forecasts"][0]["reader"] for one in planned] == ["control:looks"] * 2
    assert overread("plan", "study.toml").out.count(" would ask (") == 2
    assert not (workspace / "runs").exists()
    refusal = overread("plan", "study.toml", "--requests", "x")
    assert "--requests does not go with a study" in refusal.complaint


@pytest.mark.parametrize(
    "more",
    [
        CASES, LOOKS, ("--out", "x"), ("--limit", "3"), ("--edition", "authors"),
        ("--set", "px=300"), ("--concurrency", "2"), ("--judge", "control:looks"),
    ],
)  # fmt: skip
def test_what_a_study_says_itself(
    refused: Callable[..., str], workspace: Path, more: tuple[str, ...]
) -> None:
    (workspace / "study.toml").write_text(STUDY, encoding="utf-8")
    for command in ("run", "plan"):
        assert f"{more[0]} does not go with a study" in refused(command, "study.toml", *more)


@pytest.mark.parametrize("name", ["nope.toml", "folder.toml", "binary.toml"])
def test_study_files(refused: Callable[..., str], workspace: Path, name: str) -> None:
    (workspace / "folder.toml").mkdir()
    shutil.copy(workspace / "binary", workspace / "binary.toml")
    assert name in refused("run", name)


@pytest.mark.parametrize(
    "text", [b"x", b"frob = 1", b"share_with = 'h'", b"share_with = [1]", b"store = 3", b"\xff"]
)
def test_configurations(
    refused: Callable[..., str], workspace: Path, monkeypatch: pytest.MonkeyPatch, text: bytes
) -> None:
    (workspace / "config.toml").write_bytes(text)
    monkeypatch.setenv("OVERREAD_CONFIG", "config.toml")
    for words in (GOOD, ("store", "list"), ("sight", "openai:m@http://127.0.0.1:1/v1")):
        assert "share_with" in refused(*words)


@pytest.mark.parametrize("named", ["nope.toml", "folder"])
def test_a_configuration_that_is_named_must_be_there(
    refused: Callable[..., str], monkeypatch: pytest.MonkeyPatch, named: str
) -> None:
    monkeypatch.setenv("OVERREAD_CONFIG", named)
    assert f"OVERREAD_CONFIG={named}" in refused(*GOOD)


def test_a_cache_that_cannot_be_made(
    refused: Callable[..., str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OVERREAD_CACHE", "file")
    assert "OVERREAD_CACHE" in refused(*GOOD)


# ---------------------------------------------------------------- kept runs


@pytest.mark.parametrize(
    ("words", "named"),
    [
        (("nope",), "nope"),
        (("folder",), "not a run folder"),
        (("file",), "not a run folder"),
        (("run", "--edition", "x"), "corrected, authors"),
        (("run", "--set", "px"), "KEY=VALUE"),
        (("run", "--set", "px=300"), "px=300"),
    ],
)
def test_measuring(refused: Callable[..., str], words: tuple[str, ...], named: str) -> None:
    assert named in refused("measure", *words)


@pytest.mark.parametrize("file", ["run.toml", "cases.parquet", "answers.parquet"])
@pytest.mark.parametrize("damage", ["gone", "empty", "half", "garbled", "folder"])
def test_a_damaged_run(
    refused: Callable[..., str], workspace: Path, file: str, damage: str
) -> None:
    path = workspace / "run" / file
    whole = path.read_bytes()
    path.unlink()
    if damage == "folder":
        path.mkdir()
    elif damage != "gone":
        # Half a record ends within a word, not at the end of a line, where it might be whole.
        middle = len(whole) // 2
        end = whole.rindex(b" = ", 0, middle) + 3 if file == "run.toml" else middle
        path.write_bytes({"empty": b"", "half": whole[:end]}.get(damage, b"\xff\0x"))
    assert file in refused("measure", "run")


@pytest.mark.parametrize("file", ["cases.parquet", "answers.parquet"])
def test_a_table_of_something_else(refused: Callable[..., str], workspace: Path, file: str) -> None:
    pl.DataFrame({"a": [1]}).write_parquet(workspace / "run" / file)
    assert f"{file} is not the file that the run wrote" in refused("measure", "run")
    changed_on_purpose(workspace / "run")
    assert f"{file}: it has no column" in refused("measure", "run")


def test_tables_that_do_not_belong_together(refused: Callable[..., str], workspace: Path) -> None:
    answers = workspace / "run" / "answers.parquet"
    pl.read_parquet(answers).head(0).write_parquet(answers)
    changed_on_purpose(workspace / "run")
    assert "different readers" in refused("measure", "run")


@pytest.mark.parametrize("command", ["measure", "report", "compare"])
@pytest.mark.parametrize(
    ("file", "column", "value"),
    [
        ("answers.parquet", "image", None),
        ("answers.parquet", "px", "x"),
        ("cases.parquet", "label", None),  # else counted as something, without a word
        ("cases.parquet", "source", 7),
    ],
)
def test_a_table_with_other_values_than_the_run_wrote(
    refused: Callable[..., str],
    workspace: Path,
    command: str,
    file: str,
    column: str,
    value: object,
) -> None:
    path = workspace / "run" / file
    held = pl.read_parquet(path)
    kind = held[column].dtype if value is None else None
    held.with_columns(pl.lit(value, dtype=kind).alias(column)).write_parquet(path)
    assert f"{file} is not the file that the run wrote" in refused(command, "run")
    if value is not None:
        changed_on_purpose(workspace / "run")
        assert f"{file}: {column} holds" in refused(command, "run")


@pytest.mark.parametrize("size", ["100000", "100000:3", "9" * 5000, "x"])
def test_a_record_that_asks_for_more_phantoms_than_the_run_had(
    refused: Callable[..., str], workspace: Path, size: str
) -> None:
    """Nothing is drawn: the run had sixteen."""
    record = workspace / "run" / "run.toml"
    text = record.read_text("utf-8")
    changed = re.sub(r'cases = "phantom:[^"]*"', f'cases = "phantom:{size}"', text)
    assert changed != text
    record.write_text(changed, "utf-8")
    assert "run.toml: cases is phantom:" in refused("measure", "run")


@pytest.mark.parametrize("file", ["measures.json", "report.html"])
def test_what_can_be_made_again_is(overread: Overread, clutter: Path, file: str) -> None:
    shutil.copytree(clutter / "run", "run")
    Path("run", file).unlink()
    assert overread("measure", "run").code == 0
    assert Path("run", file).read_bytes() == (clutter / "run" / file).read_bytes()


# ---------------------------------------------------------------- imports


MIMIC = GOLDEN / "mimic"


@pytest.mark.parametrize(
    ("cases", "replies", "readers", "named"),
    [
        ("nope.csv", MIMIC / "responses", None, "nope.csv"),
        (MIMIC / "manifest.csv", "nope", None, "nope"),
        (MIMIC / "manifest.csv", "file", None, "not a folder"),
        (MIMIC / "manifest.csv", "folder", None, "original.csv"),
        (MIMIC / "manifest.csv", MIMIC / "responses", "nope.json", "nope.json"),
        (MIMIC / "manifest.csv", MIMIC / "responses", "folder", "folder"),
        (MIMIC / "manifest.csv", MIMIC / "responses", "file", "file"),
        ("phantom:16", MIMIC / "responses", None, "not in the manifest"),
    ],
)
def test_imports(
    refused: Callable[..., str], cases: object, replies: object, readers: str | None, named: str
) -> None:
    more = ("--readers", readers) if readers else ()
    words = ("import", "grounding", "--cases", cases, "--replies", replies, "--out", "made", *more)
    assert named in refused(*words)


@pytest.mark.parametrize(
    ("text", "named"),
    [
        (b"", "empty"),
        (b"a,b\n", "case_id"),
        (b"case_id,parsed_answer\nnobody,1\n", "nobody"),
        (b"case_id,parsed_answer\nc0,2\n", "parsed_answer"),
        (b"case_id,parsed_answer,confidence\nc0,1,sure\n", "confidence"),
        (b"case_id,raw_answer\nc0,Yes\nc0,No\n", "row 3"),
        (b"case_id,raw_answer\nc0,\xff\n", "UTF-8"),
        (b"case_id\nc0\n", "raw_answer"),
    ],
)
def test_result_files(
    refused: Callable[..., str], workspace: Path, text: bytes, named: str
) -> None:
    manifest = write_manifest(workspace / "set", {}, {})
    (workspace / "results" / "model").mkdir(parents=True)
    (workspace / "results" / "model" / "original.csv").write_bytes(text)
    words = ("--cases", manifest, "--replies", "results", "--out", "made")
    assert named in refused("import", "grounding", *words)


@pytest.mark.parametrize("models", [[], {"m": 1}, {"m": {"role": "x"}}])
def test_models_files(refused: Callable[..., str], workspace: Path, models: object) -> None:
    manifest = write_manifest(workspace / "set", {})
    (workspace / "results" / "m").mkdir(parents=True)
    (workspace / "results" / "m" / "original.csv").write_text("case_id,raw_answer\nc0,Yes\n")
    (workspace / "models.json").write_text(json.dumps(models))
    words = ("--replies", "results", "--readers", "models.json", "--out", "made")
    assert "models.json" in refused("import", "grounding", "--cases", manifest, *words)


@pytest.mark.parametrize("other", [("--margin", "0.1"), ("--run", "r"), ("--early",)])
def test_a_paper_s_sheets_are_counted_alone(
    refused: Callable[..., str], other: tuple[str, ...]
) -> None:
    """What is asked for beside them would be passed over in silence."""
    told = refused("study", "analyse", "run", "--sheets", "SZ=sheets", *other)
    assert f"{other[0]} is for a study of one's own" in told
