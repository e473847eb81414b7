"""`overread judge`: a run that is there is judged later, as if it had been judged at once."""

from __future__ import annotations

import json
import shutil
import tomllib
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from overread.runs import run
from support.commands import Overread, tree
from support.kept_runs import kept_run
from support.m3_trees import Item, write_m3cot
from support.medcmr_sets import item, mcq, write_lines, write_release

pytestmark = pytest.mark.usefixtures("no_pages")

JUDGE = "control:lexical-judge"
THEIRS = f"{JUDGE}-theirs"
SET = ("--set", "boot=100", "--set", "checks=2")
RUNS = {"m3cot": ("clinician", "rambler"), "medcmr": ("oracle", "letter-a")}
FILES = ("measures.json", "verdicts.parquet", "answers.parquet", "cases.parquet")


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory, phantom_cache: Path) -> Path:
    """For each benchmark a run that nobody judged, and the same judged at once."""
    place = tmp_path_factory.mktemp("runs")
    for name, controls in RUNS.items():
        for judges in ([], [JUDGE]):
            run(
                name,
                "phantom:28",
                [f"control:{control}" for control in controls],
                judges=judges,
                settings={"boot": "100", "checks": "2"},
                store=place / "store.sqlite",
                out=place / f"{name}{'-judged' * bool(judges)}",
            )
    return place


@pytest.fixture
def here(made: Path, workspace: Path) -> Path:
    """Copies of these in the working folder."""
    for folder in made.iterdir():
        if folder.is_dir():
            shutil.copytree(folder, workspace / folder.name)
    return workspace


def record_of(folder: str) -> dict[str, Any]:
    """A run's record but for the times of replies, which are those of each asking."""
    record = tomllib.loads(Path(folder, "run.toml").read_text("utf-8"))
    for judge in record.get("judges", ()):
        for name in ("first_reply", "last_reply"):
            judge.pop(name, None)
    return record


def results(workspace: Path) -> tuple[str, ...]:
    """Replies to five questions that the authors' script wrote; the images are gone."""
    items = [Item(n, f"Specimen {n}: which organ?", "liver", size=(8, 8)) for n in range(1, 6)]
    write_m3cot(workspace / "set", items)
    shutil.rmtree(workspace / "set" / "images")
    said = [
        {"index": n, "prediction": f"1. CT\n2. a large brown organ\nFinal answer: {word}"}
        for n, word in enumerate(("liver", "liver", "spleen", "liver", "heart"), 1)
    ]
    Path(workspace, "results").mkdir()
    Path(workspace, "results", "m_cot.json").write_text(json.dumps(said), "utf-8")
    return ("import", "m3cot", "--cases", "set", "--replies", "results", *SET, "--out", "r")


@pytest.mark.slow
@pytest.mark.parametrize("name", RUNS)
@pytest.mark.usefixtures("pages")
def test_judged_later_is_judged_at_once(overread: Overread, here: Path, name: str) -> None:
    done = overread("judge", name, "--judge", JUDGE, "--json")
    assert done.code == 0
    assert done.out == Path(name, "measures.json").read_text("utf-8")
    for file in FILES:
        assert Path(name, file).read_bytes() == Path(f"{name}-judged", file).read_bytes()
    assert record_of(name) == record_of(f"{name}-judged")
    assert JUDGE in Path(name, "report.html").read_text("utf-8")
    # Once more: every verdict is kept, nothing changes.
    assert overread("judge", name, "--judge", JUDGE).code == 0
    assert record_of(name) == record_of(f"{name}-judged")
    assert Path(name, "measures.json").read_text("utf-8") == done.out


@pytest.mark.slow
def test_an_import_is_judged_though_its_images_are_gone(
    overread: Overread, workspace: Path
) -> None:
    words = results(workspace)
    assert overread(*words).code == 0
    assert record_of("r")["judges"] == []
    done = overread("judge", "r", "--judge", JUDGE, "--json")
    assert done.code == 0
    found = json.loads(done.out)
    assert f"judges:{JUDGE}@" in found["signature"]
    (right,) = (
        r for r in found["measures"]
        if r["measure"] == "accuracy" and r["by"] == {"mode": "cot"} and r["reader"] == "m"
    )  # fmt: skip
    assert (right["k"], right["n"]) == (3, 5)
    # The same at once, while it is imported.
    assert overread(*words[:-1], "at-once", "--judge", JUDGE).code == 0
    for file in FILES:
        assert Path("r", file).read_bytes() == Path("at-once", file).read_bytes()
    assert record_of("r") == record_of("at-once")


@pytest.mark.slow
def test_imported_scores_stay_beside_a_new_judge(overread: Overread, workspace: Path) -> None:
    lost = tuple(f"dataset/imgs/{n}.png" for n in range(5))
    write_release(workspace / "set", [mcq(1), mcq(2)], [item(3), item(4)], without=lost)
    scores = {"clarity": 1, "coherence": 0.5, "visual": 3, "truth": 4}
    rows = [
        {"index": 1, "kind": "mcq", "text": "B"},
        {"index": 2, "kind": "reformulated", "text": "Reasoning: a spot.\nAnswer: option c of 2"},
        {"index": 3, "kind": "open", "text": "Reasoning: a spot.\nAnswer: a cause 3",
         "scores": scores, "judge": THEIRS},
        {"index": 4, "kind": "open", "text": "Reasoning: a spot.\nAnswer: none",
         "scores": scores, "judge": THEIRS},
    ]  # fmt: skip
    write_lines(workspace / "replies" / "m.jsonl", rows)
    words = ("import", "medcmr", "--cases", "set", "--replies", "replies", *SET, "--out", "r")
    assert overread(*words).code == 0
    assert overread("judge", "r", "--judge", JUDGE).code == 0
    assert [judge["name"] for judge in record_of("r")["judges"]] == [THEIRS, JUDGE]
    verdicts = pl.read_parquet("r/verdicts.parquet").filter(~pl.col("check"))
    about = verdicts.select("judge", "case").sort("judge", "case").rows()
    assert about == [
        (JUDGE, "mcq-2"), (JUDGE, "open-3"), (JUDGE, "open-4"),
        (THEIRS, "open-3"), (THEIRS, "open-4"),
    ]  # fmt: skip
    before = tree(Path())
    done = overread("judge", "r", "--judge", f"{JUDGE}?label={THEIRS}")
    assert done.code == 2
    assert f"another judge of this run has that name (imported:{THEIRS})" in done.complaint
    assert tree(Path()) == before


@pytest.mark.slow
def test_roles_are_added_one_by_one(overread: Overread, here: Path) -> None:
    for role in ("answer", "steps", "order"):
        assert overread("judge", "m3cot", "--judge", f"{role}={JUDGE}").code == 0
    (judge,) = record_of("m3cot")["judges"]
    (whole,) = record_of("m3cot-judged")["judges"]
    assert judge == whole
    # The rows are those of all roles at once, in another order.
    keys = ["judge", "question", "reader", "case", "about", "check"]
    one, two = (pl.read_parquet(f"{name}/verdicts.parquet") for name in ("m3cot", "m3cot-judged"))
    assert one.sort(keys).equals(two.sort(keys))


@pytest.mark.slow
def test_what_judges_are_asked_may_be_set(overread: Overread, here: Path) -> None:
    assert overread("judge", "m3cot", "--judge", f"answer={JUDGE}", "--set", "checks=0").code == 0
    assert not pl.read_parquet("m3cot/verdicts.parquet")["check"].any()
    assert record_of("m3cot")["settings"] == {"boot": "100", "checks": "0"}
    assert "judge not checked" in Path("m3cot/measures.json").read_text("utf-8")


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("nowhere", "--judge", JUDGE), "nowhere: not a run folder"),
        (("other", "--judge", JUDGE), "other is a run of grounding, in which nobody judges"),
        (("m3cot",), "no judge was given"),
        (("m3cot", "--judge", "control:nobody"), "there is no such control"),
        (("m3cot", "--judge", f"score={JUDGE}"), "m3cot has no role score"),
        (("medcmr", "--judge", f"answer={JUDGE}"), "medcmr has no role answer"),
        (("m3cot", "--judge", JUDGE, "--set", "px=16"), "--set px: a run is judged as it was"),
        (("m3cot", "--judge", JUDGE, "--set", "rubrics=no"), "holds none of answer.txt"),
        (("m3cot", "--judge", JUDGE, "--concurrency", "0"), "--concurrency 0"),
        (("numbers", "--judge", JUDGE), "5 items of this run have no question"),
        (("cut", "--judge", JUDGE), "answers.parquet"),
    ],
)
def test_what_cannot_be_judged_is_one_line_and_nothing_written(
    overread: Overread, here: Path, words: tuple[str, ...], says: str
) -> None:
    kept_run(Path("other"), {"a": {"uar": 0.9}})
    results(here)
    if words[0] == "numbers":
        assert (
            overread("import", "m3cot", "--replies", "results", *SET, "--out", "numbers").code == 0
        )
    shutil.copytree("m3cot", "cut")
    Path("cut/answers.parquet").write_bytes(b"PAR1")
    before = tree(Path())
    done = overread("judge", *words)
    assert done.code == 2
    assert says in done.complaint
    assert tree(Path()) == before


@pytest.mark.parametrize(
    ("benchmark", "judge", "says"),
    [("grounding", JUDGE, "grounding asks no judge"), ("m3cot", "no:spec", "expected one of")],
)
def test_an_import_with_a_judge_that_cannot_be_writes_nothing(
    overread: Overread, workspace: Path, benchmark: str, judge: str, says: str
) -> None:
    golden = Path(__file__).parents[1] / "golden" / "grounding" / "mimic"
    words = results(workspace)
    if benchmark == "grounding":
        words = ("import", "grounding", "--cases", str(golden / "manifest.csv"), "--replies",
                 str(golden / "responses"), "--out", "r")  # fmt: skip
    before = tree(Path())
    done = overread(*words, "--judge", judge)
    assert done.code == 2
    assert says in done.err
    assert tree(Path()) == before


def test_texts_of_a_credentialed_run_do_not_leave_for_a_host_nobody_named(
    overread: Overread, here: Path
) -> None:
    record = Path("m3cot/run.toml")
    text = record.read_text("utf-8").replace('policy = "open"', 'policy = "credentialed"')
    record.write_text(text, "utf-8")
    before = {file: Path("m3cot", file).read_bytes() for file in FILES if "verdicts" not in file}
    spec = "openai:m@http://203.0.113.7/v1?attempts=1&timeout=2"
    done = overread("judge", "m3cot", "--judge", spec)
    assert done.code == 3
    assert "credentialed" in done.err
    assert "Nothing was sent" in done.err
    assert record.read_text("utf-8") == text
    assert {file: Path("m3cot", file).read_bytes() for file in before} == before
    assert not Path("m3cot/verdicts.parquet").exists()
