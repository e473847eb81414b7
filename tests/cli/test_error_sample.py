"""`overread error-sample`: wrong answers go out, are labelled, and come back as shares."""

from __future__ import annotations

import csv
import json
import shutil
from collections import Counter
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from overread.benchmarks.medcmr.people_sheets import COLUMNS, ERRORS
from overread.runs import run
from support.commands import Overread, tree
from support.kept_runs import kept_run
from support.medcmr_sets import item, mcq, write_release

pytestmark = pytest.mark.usefixtures("no_pages")

WRONG, RIGHT = "control:longest-option", "control:oracle"
LABELS = tuple(ERRORS)
N_MCQ, N_OPEN = 42, 7


@pytest.fixture(scope="module")
def cases(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Items of all dimensions; E is the longest option and right for every fifth."""
    folder = tmp_path_factory.mktemp("set")
    mcqs = [mcq(n, E=f"the longest option of all, of {n}") for n in range(N_MCQ)]
    (folder / "dataset.toml").write_text('policy = "open"\n')
    return write_release(folder, mcqs, [item(n) for n in range(N_OPEN)])


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory, cases: Path) -> Path:
    """One run for all tests of this file."""
    place = tmp_path_factory.mktemp("asked")
    run(
        "medcmr",
        cases,
        [RIGHT, WRONG, "control:letter-a", "control:format-breaker"],
        settings={"boot": "100"},
        store=place / "store.sqlite",
        out=place / "run",
    )
    return place / "run"


@pytest.fixture
def asked(kept: Path, workspace: Path) -> Path:
    """The run, in the working folder."""
    shutil.copytree(kept, workspace / "asked")
    return Path("asked")


def rows_of(path: str | Path) -> list[dict[str, str]]:
    with Path(path).open(encoding="utf-8-sig", newline="") as file:
        return list(csv.DictReader(file))


def fill(sheet: str, label: Any) -> list[dict[str, str]]:
    """Label every row with what `label` makes of its number; what was filled."""
    rows = [row | {"label": label(number)} for number, row in enumerate(rows_of(sheet))]
    with Path(sheet).open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
    return rows


def shares(folder: Path) -> dict[tuple[str, str, str], dict[str, Any]]:
    found = json.loads((folder / "measures.json").read_text())["measures"]
    return {
        (m["reader"], m["by"].get("dimension", ""), m["by"]["error"]): m
        for m in found
        if m["measure"] == "error_share"
    }


def test_the_sheet_and_the_page_hold_the_errors_and_nothing_else(
    overread: Overread, asked: Path
) -> None:
    done = overread("error-sample", asked, "--reader", WRONG, "--out", "out")
    assert (done.code, done.err) == (0, "")
    assert {path.name for path in Path("out").iterdir()} == {"errors.csv", "errors.html"}
    rows = rows_of("out/errors.csv")
    assert tuple(rows[0]) == COLUMNS
    answers = pl.read_parquet(asked / "answers.parquet").filter(reader=WRONG, form="mcq")
    truth = pl.read_parquet(asked / "cases.parquet").select("case", truth="answer")
    wrong = answers.join(truth, on="case").filter(pl.col("choice") != pl.col("truth"))
    assert {row["case"] for row in rows} == set(wrong["case"])
    assert f"{len(rows)} errors to label" in done.out
    assert "overread measure asked --set errors=out/errors.csv" in done.out
    for row in rows:
        assert row["reader"] == WRONG
        assert row["right"] != row["given"]
        assert {row["right"], row["given"]} <= set(row["options"].splitlines())
        assert (row["label"], row["note"]) == ("", "")
    page = Path("out/errors.html").read_text(encoding="utf-8")
    assert all(row["case"] in page for row in rows)
    assert "<script" in page
    assert "http://" not in page.replace("http://www.w3.org", "")
    assert "https://" not in page


@pytest.mark.usefixtures("pages")
def test_labels_come_back_as_shares(overread: Overread, asked: Path) -> None:
    overread("error-sample", asked, "--reader", WRONG, "--out", "out")
    filled = fill("out/errors.csv", lambda number: LABELS[number % 3] if number % 7 else "")
    done = overread("measure", asked, "--set", "errors=out/errors.csv")
    assert done.code == 0, done.err
    found = shares(asked)
    assert {reader for reader, _, _ in found} == {WRONG}
    labelled = [row for row in filled if row["label"]]
    for dimension in ("", *{row["dimension"] for row in filled}):
        own = [row for row in labelled if not dimension or row["dimension"] == dimension]
        counts = Counter(row["label"] for row in own)
        left = len(filled) - len(labelled)
        for error in LABELS:
            one = found[WRONG, dimension, error]
            assert one["n"] == len(own)
            if own:
                assert one["value"] == pytest.approx(counts[error] / len(own))
            else:
                assert one["value"] is None
        if not dimension:
            assert f"{left} not labelled" in found[WRONG, "", LABELS[0]]["note"]
    assert sum(found[WRONG, "", error]["value"] for error in LABELS) == pytest.approx(1)
    assert "error" in (asked / "report.html").read_text(encoding="utf-8").lower()
    # Measured without the sheet they are gone.
    assert overread("measure", asked).code == 0
    assert shares(asked) == {}


def test_sheets_of_several_readers_are_read_together(overread: Overread, asked: Path) -> None:
    readers = (WRONG, "control:letter-a", "control:format-breaker")
    for number, reader in enumerate(readers):
        assert overread("error-sample", asked, "--reader", reader, "--out", f"{number}").code == 0
        fill(f"{number}/errors.csv", lambda _, number=number: LABELS[number])
    sheets = ",".join(f"{number}/errors.csv" for number in range(3))
    assert overread("measure", asked, "--set", f"errors={sheets}").code == 0
    found = shares(asked)
    for number, reader in enumerate(readers):
        assert found[reader, "", LABELS[number]]["value"] == 1


def test_a_reply_that_cannot_be_read_is_an_error_too(overread: Overread, asked: Path) -> None:
    overread("error-sample", asked, "--reader", "control:format-breaker", "--out", "out")
    rows = rows_of("out/errors.csv")
    assert len(rows) == pl.read_parquet(asked / "cases.parquet").filter(kind="mcq").height
    assert all(row["given"] == "" and row["reply"] for row in rows)


def test_the_same_seed_draws_the_same_and_fewer_are_a_part_of_more(
    overread: Overread, asked: Path
) -> None:
    words = ("error-sample", asked, "--reader", "control:format-breaker", "--out")
    for out, seed, most in (("a", 1, 2), ("b", 1, 2), ("c", 2, 2), ("d", 1, 3)):
        assert overread(*words, out, "--seed", seed, "--per-dimension", most).code == 0
    a, _, c, d = ({row["case"] for row in rows_of(f"{out}/errors.csv")} for out in "abcd")
    assert Path("a/errors.csv").read_bytes() == Path("b/errors.csv").read_bytes()
    assert a != c
    assert a < d
    assert set(Counter(row["dimension"] for row in rows_of("a/errors.csv")).values()) == {2}


def test_only_what_another_reader_got_right(overread: Overread, asked: Path) -> None:
    words = ("error-sample", asked, "--reader", WRONG, "--json")
    alone = json.loads(overread(*words, "--out", "a").out)
    beside = json.loads(overread(*words, "--out", "b", "--right-for", RIGHT).out)
    assert alone["rows"] == beside["rows"] == len(rows_of("a/errors.csv"))
    assert (alone["sheet"], alone["page"]) == ("a/errors.csv", "a/errors.html")
    both = json.loads(overread(*words, "--out", "c", "--right-for", "control:letter-a").out)
    assert 0 < both["rows"] < alone["rows"]
    done = overread("error-sample", asked, "--reader", RIGHT, "--out", "d")
    assert done.code == 2
    assert "control:oracle has no wrong answer; nothing to label" in done.complaint
    done = overread("error-sample", asked, "--reader", WRONG, "--right-for", "control:format-breaker", "--out", "d")  # fmt: skip
    assert "no wrong answer that control:format-breaker got right" in done.complaint
    assert not Path("d").exists()


def test_errors_can_be_asked_again_as_open_questions(
    overread: Overread, asked: Path, cases: Path
) -> None:
    """What a medical model lost, without its options."""
    overread("error-sample", asked, "--reader", WRONG, "--per-dimension", "1", "--out", "out")
    named = {row["case"] for row in rows_of("out/errors.csv")}
    assert len(named) == 7
    words = ("medcmr", "--cases", cases, "--reader", WRONG, "--set", "reformulate=out/errors.csv")
    (forecast,) = json.loads(overread("plan", *words, "--json").out)
    assert forecast["trials"] == N_MCQ + N_OPEN + len(named)
    done = overread("run", *words, "--set", "boot=100", "--out", "r")
    assert done.code == 0, done.err
    answers = pl.read_parquet("r/answers.parquet")
    assert set(answers.filter(form="reformulated")["case"]) == named


def test_a_sample_of_a_credentialed_set_is_the_users_alone(overread: Overread, asked: Path) -> None:
    record = asked / "run.toml"
    text = record.read_text("utf-8")
    assert 'policy = "open"' in text
    record.write_text(text.replace('policy = "open"', 'policy = "credentialed"'), "utf-8")
    assert overread("error-sample", asked, "--reader", WRONG, "--out", "out").code == 0
    modes = {path.name: path.stat().st_mode & 0o777 for path in Path("out").iterdir()}
    assert modes == {"errors.csv": 0o600, "errors.html": 0o600}
    assert Path("out").stat().st_mode & 0o777 == 0o700


def test_what_is_there_is_never_replaced(overread: Overread, asked: Path) -> None:
    words = ("error-sample", asked, "--reader", WRONG, "--out", "out")
    overread(*words)
    fill("out/errors.csv", lambda _: "reasoning")
    before = tree(Path())
    done = overread(*words)
    assert done.code == 2
    assert "out/errors.csv is there already" in done.complaint
    assert tree(Path()) == before
    Path("out/errors.csv").rename("mine.csv")
    assert "out/errors.html is there already" in overread(*words).complaint
    assert not Path("out/errors.csv").exists()


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("nowhere", "--reader", WRONG), "nowhere: not a run folder"),
        (("other", "--reader", WRONG), "other/answers.parquet: there is no such file"),
        (("asked", "--reader", "gpt"), 'reader is "gpt"; the readers of this run are control:ora'),
        (("asked", "--reader", WRONG, "--right-for", "gpt"), 'reader is "gpt"; the readers of'),
        (("asked", "--reader", WRONG, "--per-dimension", "0"), "give 1 or more"),
        (("asked", "--reader", WRONG, "--out", "note.txt"), "note.txt: a file stands there"),
    ],
)
def test_what_cannot_be_is_one_line_and_nothing_written(
    overread: Overread, asked: Path, words: tuple[str, ...], says: str
) -> None:
    kept_run(Path("other"), {"a": {"uar": 0.9}})
    Path("note.txt").touch()
    before = tree(Path())
    out = () if "--out" in words else ("--out", "out")
    done = overread("error-sample", *words, *out)
    assert done.code == 2
    assert says in done.complaint
    assert tree(Path()) == before


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ("reasoning", "laziness", 'errors.csv row 2: label is "laziness"; expected recognition'),
        (WRONG, "gpt", 'errors.csv row 2: reader is "gpt"'),
        ("mcq-", "mcq-9", "errors.csv row 2: case is"),
    ],
)
def test_a_sheet_that_does_not_fit_is_one_line_and_changes_no_number(
    overread: Overread, asked: Path, old: str, new: str, says: str
) -> None:
    overread("error-sample", asked, "--reader", WRONG, "--out", "out")
    fill("out/errors.csv", lambda _: "reasoning")
    sheet = Path("out/errors.csv")
    sheet.write_text(sheet.read_text("utf-8").replace(old, new), "utf-8")
    before = tree(asked)
    done = overread("measure", asked, "--set", f"errors={sheet}")
    assert done.code == 2
    assert says in done.complaint
    assert tree(asked) == before


# ---------------------------------------------------------------- grounding


def test_of_grounding_it_is_a_sheet_of_right_answers_that_stayed(
    overread: Overread, workspace: Path
) -> None:
    words = ("run", "grounding", "--cases", "phantom:16", "--reader", "control:always-yes")
    assert overread(*words, "--set", "boot=100", "--out", "looked").code == 0
    asked = ("error-sample", "looked", "--reader", "control:always-yes", "--out", "review")
    done = overread(*asked)
    assert done.code == 0, done
    rows = rows_of("review/ungrounded.csv")
    assert (
        done.out
        == f"{len(rows)} right answers stayed with their finding hidden: review/ungrounded.csv\n"
    )
    answers = pl.read_parquet("looked/answers.parquet")
    assert len(rows) == answers.filter(pl.col("image") == "target_mask").height
    again = overread(*asked)
    assert (again.code, "is there already" in again.err) == (2, True)
    other = overread(*asked[:-1], "b", "--right-for", "control:looks")
    assert (
        other.code,
        "--right-for: the sheet of grounding goes by one reader alone" in other.err,
    ) == (2, True)
