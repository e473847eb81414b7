"""`overread judge-sample`: a sheet goes out, is filled, and comes back as agreement."""

from __future__ import annotations

import csv
import json
import shutil
from pathlib import Path

import pytest

from overread.phantoms.question import LEAST
from overread.runs import run
from support.commands import Overread, tree
from support.kept_runs import kept_run

pytestmark = pytest.mark.usefixtures("no_pages")

JUDGE = "control:lexical-judge"
SETTINGS = {"boot": "100", "checks": "2", "variants": "1"}


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory, phantom_cache: Path) -> Path:
    """One judged run for all tests of this file."""
    place = tmp_path_factory.mktemp("judged")
    run(
        "m3cot",
        f"phantom:{LEAST}",
        ["control:contradicts", "control:rambler"],
        judges=[JUDGE],
        settings=SETTINGS,
        store=place / "store.sqlite",
        out=place / "run",
    )
    return place / "run"


@pytest.fixture
def judged(kept: Path, workspace: Path) -> Path:
    """The run, in the working folder."""
    shutil.copytree(kept, workspace / "judged")
    return Path("judged")


def rows_of(path: str) -> list[dict[str, str]]:
    with Path(path).open(encoding="utf-8-sig", newline="") as file:
        return list(csv.DictReader(file))


def fill(said: dict[str, str], sheet: str = "sample/sheet.csv") -> None:
    rows = rows_of(sheet)
    with Path(sheet).open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(row | {"person": said.get(row["id"], "")} for row in rows)


def verdicts(key: str = "sample/key.csv") -> dict[str, str]:
    return {row["id"]: row["verdict"] for row in rows_of(key)}


def compare(overread: Overread, *words: str) -> list[dict[str, object]]:
    done = overread(
        "judge-sample", "judged", "--filled", "sample/sheet.csv", "--key", "sample/key.csv",
        "--json", *words,
    )  # fmt: skip
    assert done.code == 0, done.err
    found: list[dict[str, object]] = json.loads(done.out)["found"]
    return found


def test_the_sheet_says_nothing_of_judge_or_reader(overread: Overread, judged: Path) -> None:
    done = overread("judge-sample", judged, "--n", 12, "--out", "sample")
    assert (done.code, done.err) == (0, "")
    assert "12 rows" in done.out
    assert {path.name for path in Path("sample").iterdir()} == {"sheet.csv", "key.csv"}
    sheet, key = rows_of("sample/sheet.csv"), rows_of("sample/key.csv")
    assert [row["id"] for row in sheet] == [row["id"] for row in key]
    assert {row["judge"] for row in key} == {JUDGE}
    # Replies to checks are the controls' too, but the clinician is no reader of this run.
    assert {row["reader"] for row in key} == {"control:contradicts", "control:rambler"}
    assert "control:" not in Path("sample/sheet.csv").read_text("utf-8-sig")
    asked = [row["question"] for row in sheet]
    assert {name: asked.count(name) for name in asked} == dict.fromkeys(
        ("answer", "precision", "recall"), 4
    )
    said = verdicts()
    for row in sheet:
        assert row["person"] == ""
        assert said[row["id"]] in row["choices"].split(" / ")


def test_the_same_seed_draws_the_same_rows(overread: Overread, judged: Path) -> None:
    for out, seed in (("a", 1), ("b", 1), ("c", 2)):
        assert overread("judge-sample", judged, "--n", 9, "--out", out, "--seed", seed).code == 0
    a, b, c = (Path(out, "sheet.csv").read_bytes() for out in "abc")
    assert a == b
    assert a != c


def test_a_run_with_less_gives_all_it_has_and_says_so(overread: Overread, judged: Path) -> None:
    done = overread("judge-sample", judged, "--n", 100_000, "--out", "sample", "--json")
    made = json.loads(done.out)
    assert made == {"sheet": "sample/sheet.csv", "key": "sample/key.csv", "rows": made["rows"]}
    assert len(rows_of("sample/sheet.csv")) == made["rows"]
    assert f"the run has {made['rows']} things judged" in done.err


def test_who_says_what_the_judge_said_agrees_with_it(overread: Overread, judged: Path) -> None:
    overread("judge-sample", judged, "--n", 60, "--out", "sample")
    fill(verdicts())
    for one in compare(overread):
        assert (one["first"], one["second"]) == ("person", JUDGE)
        assert one["percent"]["point"] == 1  # type: ignore[index]
        assert (one["n"], one["missing"]) == (20, 0)
    done = overread(
        "judge-sample", judged, "--filled", "sample/sheet.csv", "--key", "sample/key.csv", "--wide"
    )
    assert (done.code, done.err) == (0, "")
    lines = done.out.splitlines()
    assert lines[0] == "Do the judges agree with the person?"
    for question in ("answer", "precision", "recall"):
        (line,) = (line for line in lines if line.startswith(JUDGE) and f" {question} " in line)
        assert "100.0 [83.9, 100.0]" in line
    assert lines[-1].startswith("m3cot|edition:corrected")


def test_agreement_is_counted_over_what_the_person_filled(overread: Overread, judged: Path) -> None:
    overread("judge-sample", judged, "--n", 60, "--out", "sample")
    other = {"Matched": "Unmatched", "Unmatched": "matched"}
    asked = {row["id"]: row["question"] for row in rows_of("sample/sheet.csv")}
    gold = [name for name, question in asked.items() if question == "recall"]
    said = {name: verdicts()[name] for name in gold[:10]}
    said |= {name: other[word] for name, word in list(said.items())[:4]}
    fill(said)
    by = {one["group"]: one for one in compare(overread)}
    assert (by["recall"]["n"], by["recall"]["missing"]) == (10, 10)
    assert by["recall"]["percent"]["point"] == 0.6  # type: ignore[index]
    assert (by["answer"]["n"], by["answer"]["missing"]) == (0, 20)
    assert by["answer"]["percent"]["point"] is None  # type: ignore[index]


def test_a_sample_of_a_credentialed_set_is_the_users_alone(
    overread: Overread, judged: Path
) -> None:
    record = judged / "run.toml"
    text = record.read_text("utf-8")
    assert 'policy = "open"' in text
    record.write_text(text.replace('policy = "open"', 'policy = "credentialed"'), "utf-8")
    assert overread("judge-sample", judged, "--n", 3, "--out", "sample").code == 0
    modes = {path.name: path.stat().st_mode & 0o777 for path in Path("sample").iterdir()}
    assert modes == {"sheet.csv": 0o600, "key.csv": 0o600}
    assert Path("sample").stat().st_mode & 0o777 == 0o700


def test_what_is_there_is_never_replaced(overread: Overread, judged: Path) -> None:
    overread("judge-sample", judged, "--n", 3, "--out", "sample")
    fill(verdicts())
    before = tree(Path())
    done = overread("judge-sample", judged, "--n", 3, "--out", "sample")
    assert done.code == 2
    assert "sample/sheet.csv is there already" in done.complaint
    Path("sample/sheet.csv").rename("mine.csv")
    assert "sample/key.csv is there already" in overread(
        "judge-sample", judged, "--out", "sample"
    ).complaint  # fmt: skip
    Path("mine.csv").rename("sample/sheet.csv")
    assert {one[0] for one in tree(Path())} == {one[0] for one in before}


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("nowhere", "--out", "s"), "nowhere: not a run folder"),
        (("other", "--out", "s"), "other is a run of grounding, in which nobody judges"),
        (("silent", "--out", "s"), "silent has no verdicts: nobody judged"),
        (("judged", "--out", "s", "--n", "0"), "--n 0: it must be 1 or more"),
        (("judged", "--out", "note.txt"), "note.txt: a file stands there"),
        (("judged",), "give --out FOLDER"),
        (("judged", "--filled", "sample/sheet.csv"), "--filled SHEET and --key KEY"),
        (("judged", "--out", "s", "--filled", "sample/sheet.csv"), "Give one of the two"),
        (("judged", "--filled", "no.csv", "--key", "sample/key.csv"), "no.csv: there is no such"),
        (
            ("judged", "--filled", "sample/sheet.csv", "--key", "sample/key.csv"),
            "no row has anything in the column person",
        ),
    ],
)
def test_what_cannot_be_is_one_line_and_nothing_written(
    overread: Overread, judged: Path, words: tuple[str, ...], says: str
) -> None:
    overread("judge-sample", judged, "--n", 3, "--out", "sample")
    kept_run(Path("other"), {"a": {"uar": 0.9}})
    shutil.copytree(judged, "silent")
    record = Path("silent/run.toml")
    record.write_text(record.read_text("utf-8").partition("[[judges]]")[0], "utf-8")
    Path("note.txt").touch()
    before = tree(Path())
    done = overread("judge-sample", *words)
    assert done.code == 2
    assert says in done.complaint
    assert tree(Path()) == before


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        (JUDGE, "someone-else", "has the judge someone-else, which judged has not"),
        ('"recall"', '"style"', 'question is "style"; expected answer, precision, recall'),
    ],
)
def test_a_key_of_another_run_is_refused(
    overread: Overread, judged: Path, old: str, new: str, says: str
) -> None:
    overread("judge-sample", judged, "--n", 6, "--out", "sample")
    fill(verdicts())
    key = Path("sample/key.csv")
    key.write_text(key.read_text("utf-8").replace(old, new), "utf-8")
    done = overread("judge-sample", judged, "--filled", "sample/sheet.csv", "--key", key)
    assert done.code == 2
    assert says in done.complaint
