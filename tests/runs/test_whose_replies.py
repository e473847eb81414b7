"""Whose replies a run stands on: new weights never get old replies without a word."""

from __future__ import annotations

import sqlite3
import time
import tomllib
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import polars as pl
import pytest

from overread.case import BadInput
from overread.runs import open_cases
from overread.runs._opening import enrolments, open_judges
from support.checkpoints import Checkpoint, checkpoint
from support.commands import Done, Overread
from support.m3_trees import Item, write_m3cot

pytestmark = pytest.mark.usefixtures("no_pages")

STORE = Path(".overread/store.sqlite")


@pytest.fixture
def server() -> Iterator[Checkpoint]:
    with checkpoint() as made:
        yield made


def run(overread: Overread, *words: object, out: str = "run", limit: int = 4) -> Done:
    cases = ("--cases", "phantom:16", "--limit", limit)
    return overread("run", "grounding", *cases, "--out", out, *words)


def record(folder: str = "run") -> dict:
    return tomllib.loads(Path(folder, "run.toml").read_text(encoding="utf-8"))


def said(folder: str = "run") -> Counter[str | None]:
    return Counter(pl.read_parquet(Path(folder, "answers.parquet"))["text"])


def lines(done: Done) -> list[str]:
    return [line for line in done.err.splitlines() if line.startswith("overread: ")]


# ---------------------------------------------------------------- new weights


def test_a_new_label_on_old_replies_is_refused_before_anything_is_asked(
    overread: Overread, server: Checkpoint
) -> None:
    assert run(overread, "--reader", server.spec(label="v1")).code == 0
    asked, server.says = server.asked, "No"
    for command in ("run", "plan"):
        words = (command, "grounding", "--cases", "phantom:16", "--reader", server.spec(label="v2"))
        refused = overread(*words, "--out", "new")
        assert refused.code == 2
        for part in ('"v2"', '"v1"', "revision=", "--fresh", "label=v1", time.strftime("%Y-")):
            assert part in refused.complaint
    assert server.asked == asked
    assert not Path("new").exists()


def test_the_three_remedies(overread: Overread, server: Checkpoint) -> None:
    run(overread, "--reader", server.spec(label="v1"))
    asked, server.says = server.asked, "No"
    assert run(overread, "--reader", server.spec(label="v1")).code == 0
    assert server.asked == asked
    assert set(said()) == {"Yes"}
    assert run(overread, "--reader", server.spec(label="v2", revision=2)).code == 0
    assert server.asked == 2 * asked
    assert set(said()) == {"No"}
    assert run(overread, "--reader", server.spec(label="v3"), "--fresh").code == 0
    assert server.asked == 3 * asked
    assert set(said()) == {"No"}


def test_what_a_reader_is_shown_may_have_its_own_label(
    overread: Overread, server: Checkpoint
) -> None:
    pair = ("--reader", server.spec(label="sees"))
    pair += ("--reader", server.spec(label="reads", modality="text"))
    for _ in range(2):
        assert run(overread, *pair).code == 0
    same = run(overread, *pair[:2], "--reader", server.spec(label="again"))
    assert same.code == 2
    assert '"sees" and "again" are the same model' in same.complaint


def test_readers_that_differ_by_a_default_alone_are_told_to_be_one(
    overread: Overread, server: Checkpoint
) -> None:
    pair = ("--reader", server.spec(label="a"), "--reader", server.spec(label="b", temperature=0))
    for _ in range(2):
        line, *_ = lines(run(overread, *pair))
        assert "a and b have the same replies" in line
    assert 2 * server.asked <= sum(said().values())
    other = run(overread, *pair[:2], "--reader", server.spec(label="c", temperature=0.5))
    assert "the same replies" not in other.err


def test_a_judge_may_have_two_seats_of_its_own_names(workspace: Path, server: Checkpoint) -> None:
    bench = open_cases("m3cot", "phantom:26", "corrected", {})
    seat = {"kind": "openai", "model": "m", "base_url": server.base_url}
    seats = [seat | {"role": "answer", "label": "a"}, seat | {"role": "steps", "label": "b"}]
    labels = [one.label for one in enrolments(open_judges(bench, seats))]
    assert labels == ["a", "b"]
    again = open_judges(bench, [seats[0], seats[0] | {"label": "c"}])
    with pytest.raises(BadInput, match="the same model"):
        enrolments(again)


def test_asking_anew_that_is_broken_off_and_resumed_does_not_mix(
    overread: Overread, server: Checkpoint
) -> None:
    reader = ("--reader", server.spec(label="v1"))
    run(overread, *reader)
    asked, server.says = server.asked, "No"
    server.fails_after = asked + 3
    broken = run(overread, *reader, "--fresh")
    assert broken.code == 3
    assert "without --fresh to resume" in broken.err
    assert said() == {"No": 3, None: sum(said().values()) - 3}  # and not the old "Yes"
    server.fails_after = 10**6
    plan = overread("plan", "grounding", "--cases", "phantom:16", "--limit", 4, *reader, "--json")
    assert f'"calls":{asked - 3}' in plan.out
    assert run(overread, *reader).code == 0
    assert server.asked == 2 * asked
    assert set(said()) == {"No"}


def test_a_study_that_asks_anew_asks_once_and_begins_all_its_runs_anew_at_once(
    overread: Overread, server: Checkpoint
) -> None:
    part = '[[run]]\nbenchmark = "grounding"\ncases = "phantom:16"\nlimit = {}\nout = "{}"\n'
    table = f'[[reader]]\nkind = "openai"\nmodel = "m"\nbase_url = "{server.base_url}"\n'
    other = part.format(4, "c").replace("phantom:16", "phantom:16:7")
    Path("s.toml").write_text(part.format(4, "a") + part.format(4, "b") + other + table)
    assert overread("run", "s.toml").code == 0
    asked, server.says = server.asked, "No"
    server.fails_after = asked  # it breaks off in the first run
    broken = overread("run", "s.toml", "--fresh")
    assert broken.code == 3
    assert "Run the same command without --fresh to resume." in broken.err
    server.fails_after = 10**6
    assert overread("run", "s.toml").code == 0
    assert server.asked == 2 * asked
    assert set(said("a")) == set(said("b")) == set(said("c")) == {"No"}


# ---------------------------------------------------------------- what is said of kept replies


@pytest.mark.usefixtures("pages")
def test_a_run_that_asked_nothing_says_so_with_the_dates(
    overread: Overread, server: Checkpoint
) -> None:
    reader = ("--reader", server.spec(label="v1"), "--reader", "control:looks")
    assert "NOTHING" not in run(overread, *reader).err
    first = Path("run/run.toml").read_bytes(), Path("run/report.html").read_bytes()
    entry, control = record()["readers"]
    assert entry["first_reply"] <= entry["last_reply"]
    assert entry["first_reply"].startswith(time.strftime("%Y-", time.gmtime()))
    assert control["first_reply"]
    (line,) = lines(run(overread, *reader))
    for part in ("NOTHING WAS ASKED of v1 ", entry["first_reply"], "--fresh"):
        assert part in line
    assert (Path("run/run.toml").read_bytes(), Path("run/report.html").read_bytes()) == first
    assert f"<td>{entry['first_reply']}" in first[1].decode()
    with sqlite3.connect(STORE) as raw:
        raw.execute("UPDATE replies SET at=NULL")
    assert "an older Overread" in run(overread, *reader).err


def test_replies_from_before_are_counted_where_others_are_asked(
    overread: Overread, server: Checkpoint
) -> None:
    reader = ("--reader", server.spec(label="v1"), "--reader", "control:looks")
    run(overread, *reader)
    server.says = "No"
    with sqlite3.connect(STORE) as raw:
        raw.execute("UPDATE replies SET at=1000000000")
    (line,) = lines(run(overread, *reader, limit=8))
    answers = pl.read_parquet("run/answers.parquet").filter(pl.col("reader") == "v1")
    kept = answers.filter(pl.col("text") == "Yes").height
    assert 0 < kept < answers.height
    assert f"{kept} of {answers.height} replies of v1 were kept (given 2001-09-09 01:4" in line
    assert lines(run(overread, *reader, "--fresh", limit=8)) == []


def judged(overread: Overread, *words: object, out: str = "run") -> Done:
    """A run of m3cot, in which readers judge."""
    cases = ("--cases", "phantom:26", "--limit", 1, "--set", "boot=100", "--set", "checks=1")
    return overread("run", "m3cot", *cases, "--set", "modes=cot", *words, "--out", out)


def test_a_reader_that_judges_as_well_does_not_hide_behind_itself(
    overread: Overread, server: Checkpoint
) -> None:
    both = ("--reader", server.spec(), "--judge", server.spec())
    judged(overread, *both[:2])
    with sqlite3.connect(STORE) as raw:
        raw.execute("UPDATE replies SET at=1000000000")
    server.says = "new weights"
    (line,) = lines(judged(overread, *both))
    assert "NOTHING WAS ASKED of m (given 2001-09-09 01:46:40 UTC)" in line
    assert record()["readers"][0]["last_reply"].startswith("2001-")
    assert not record()["judges"][0]["first_reply"].startswith("2001-")
    assert judged(overread, "--reader", server.spec(label="tuned"), out="other").code == 2


def test_judging_later_says_what_was_kept_and_can_ask_anew(
    overread: Overread, server: Checkpoint
) -> None:
    server.entry = {"id": "m", "root": "/models/one"}
    judged(overread, "--reader", "control:clinician", "--judge", server.spec())
    asked, server.says = server.asked, "new weights"
    server.entry = {"id": "m", "root": "/models/two"}
    judge = ("judge", "run", "--judge", server.spec())
    for _ in range(2):  # as long as it has not answered as that
        listed, kept = lines(overread(*judge))
        assert "judge m: the server lists the model as id m, root /models/two" in listed
        assert "NOTHING WAS ASKED of judge m (given 20" in kept
    assert server.asked == asked
    refused = overread("judge", "run", "--judge", server.spec(label="other"))
    assert refused.code == 2
    assert "--fresh" in refused.complaint
    assert lines(overread(*judge, "--fresh")) == []
    assert server.asked > asked
    assert set(pl.read_parquet("run/verdicts.parquet")["text"]) == {"new weights"}
    assert record()["judges"][0]["listed"] == ["id m, root /models/two"]


def test_an_import_that_is_judged_says_what_was_kept_and_can_ask_anew(
    overread: Overread, server: Checkpoint
) -> None:
    write_m3cot(Path("set"), [Item(1, "Which organ?", "liver", size=(8, 8))])
    Path("x_cot.json").write_text('[{"index": 1, "prediction": "Final answer: liver"}]')
    words = ("import", "m3cot", "--cases", "set", "--replies", "x_cot.json", "--out", "run")
    words += ("--set", "checks=1", "--set", "boot=100")
    assert "--judge" in overread(*words, "--fresh").complaint
    words += ("--judge", server.spec())
    assert overread(*words).code == 0
    asked = server.asked
    assert "NOTHING WAS ASKED of judge m (given 20" in overread(*words).err
    assert server.asked == asked > 0
    assert "NOTHING" not in overread(*words, "--fresh").err
    assert server.asked == 2 * asked


def test_a_judge_of_one_role_more_keeps_where_its_other_verdicts_came_from(
    overread: Overread, server: Checkpoint
) -> None:
    server.fingerprint = "fp_1"
    words = ("--reader", "control:clinician", "--judge", f"order={server.spec()}")
    judged(overread, *words)
    with sqlite3.connect(STORE) as raw:
        raw.execute("UPDATE replies SET at=1000000000")
    judged(overread, *words)
    server.model, server.fingerprint = "m-2", "fp_2"
    assert overread("judge", "run", "--judge", f"steps={server.spec()}").code == 0
    (entry,) = record()["judges"]
    assert entry["roles"] == ["steps", "order"]
    assert entry["first_reply"] == "2001-09-09 01:46:40 UTC"
    assert entry["last_reply"] > "2020"
    assert entry["models"] == ["m", "m-2"]
    assert entry["fingerprints"] == ["fp_1", "fp_2"]
    other = overread("judge", "run", "--judge", f"answer={server.spec(rubric='yesno')}")
    assert other.code == 2
    assert "the usual rubric, and now the rubric yesno. Add ?label=" in other.complaint


@pytest.mark.usefixtures("pages")
def test_a_model_that_changed_under_its_name_is_told(
    overread: Overread, server: Checkpoint
) -> None:
    reader = ("--reader", server.spec(label="v1"))
    server.fingerprint = "fp_1"
    assert lines(run(overread, *reader)) == []
    server.model, server.fingerprint = "m-2", "fp_2"
    _, *told = lines(run(overread, *reader, limit=8))
    assert len(told) == 2
    assert "v1: the server's model is not the same for all replies: m × " in told[0]
    assert "m-2 × " in told[0]
    assert "fp_1 × " in told[1]
    assert "fp_2 × " in told[1]
    (entry,) = record()["readers"]
    assert entry["models"] == ["m", "m-2"]
    assert entry["fingerprints"] == ["fp_1", "fp_2"]
    assert "<td>m, m-2</td>" in Path("run/report.html").read_text(encoding="utf-8")


def test_a_server_that_lists_the_model_otherwise_is_told_before_it_is_asked(
    overread: Overread, server: Checkpoint
) -> None:
    reader = ("--reader", server.spec(label="v1"))
    now = int(time.time())
    server.entry = {"id": "m", "root": "/models/one", "created": now}  # as some servers say always
    assert lines(run(overread, *reader)) == []
    server.entry["created"] = now + 60
    assert all("were kept" in line for line in lines(run(overread, *reader, limit=5)))
    assert record()["readers"][0]["listed"] == ["id m, root /models/one"]
    server.entry["root"] = "/models/two"
    asked, server.fails_after = server.asked, 0
    line, *_ = lines(run(overread, *reader, limit=6))  # broken off before it answers
    server.fails_after = asked + 1
    told = lines(run(overread, *reader, limit=6))  # broken off when it has
    server.fails_after = 10**6
    for one in (line, told[0]):
        assert "/models/one" in one
        assert "/models/two" in one
        assert "revision=" in one
    for one in (told[-2], lines(run(overread, *reader, limit=6))[-1]):
        assert "list of models is not the same for all replies: id m, root /models/one × " in one
        assert "root /models/two × " in one
    assert len(record()["readers"][0]["listed"]) == 2
    server.entry = None
    assert "/models/" not in run(overread, *reader, limit=4, out="few").err


def test_a_damaged_reply_is_asked_for_again_and_that_is_said(
    overread: Overread, server: Checkpoint
) -> None:
    reader = ("--reader", server.spec(label="v1"))
    run(overread, *reader)
    asked = server.asked
    measures = Path("run/measures.json").read_bytes()
    with sqlite3.connect(STORE) as raw:
        raw.execute("UPDATE replies SET reply='damaged' WHERE rowid <= 2")
    line, _ = lines(run(overread, *reader))
    assert "2 kept replies were damaged, and were asked for again" in line
    assert server.asked == asked + 2
    assert Path("run/measures.json").read_bytes() == measures


def test_a_reader_is_listed_and_forgotten(overread: Overread, server: Checkpoint) -> None:
    run(overread, "--reader", server.spec(label="v1"), "--reader", "control:looks")
    listed = overread("store", "list").out
    assert "v1" in listed
    assert "control:looks" in listed
    assert time.strftime("%Y-", time.gmtime()) in listed
    assert overread("store", "forget").code == 2
    assert "holds: control:looks, v1" in overread("store", "forget", "--reader", "v9").complaint
    forgotten = overread("store", "forget", "--reader", "v1")
    assert forgotten.out == f"forgot v1: {server.asked} replies deleted\n"
    assert run(overread, "--reader", server.spec(label="v2")).code == 0  # the name is free again
