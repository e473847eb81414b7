"""`overread gate`: exit codes a registry can act on, and lines a person can read."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest

from overread.report import DISCLAIMER
from support.commands import Overread, tree
from support.gates import gated_run, share, write_run

POLICY = """
title = "A small gate"
[[rule]]
name = "right often enough"
why = "Below this it is of no use."
benchmark = "grounding"
measure = "accuracy"
at_least = 0.8
[[rule]]
name = "readable"
why = "What cannot be read cannot be right."
benchmark = "grounding"
measure = "parse_rate"
at_least = 0.9
"""
HOSTILE = "evil\x1b[31m\u202e<script>"


@pytest.fixture
def gate(overread: Overread, workspace: Path) -> Overread:
    """The command, in a folder with a policy and runs whose readers are right k times in 100."""
    Path("gate.toml").write_text(POLICY, "utf-8")
    for k, name in ((95, "good"), (85, "perhaps"), (50, "bad")):
        measures = [share("accuracy", k, 100), share("parse_rate", 100, 100)]
        write_run(Path(name), gated_run(measures, folder=name))
    named = [share("accuracy", 50, 100, HOSTILE), share("parse_rate", 99, 100, HOSTILE)]
    write_run(Path("hostile"), gated_run(named))
    return overread


@pytest.mark.parametrize(
    ("runs", "code", "verdict"),
    [
        (["good"], 0, "PASS: of 2 checks 2 passed."),
        (["bad"], 1, "FAIL: of 2 checks 1 failed, 1 passed."),
        (
            ["perhaps"],
            4,
            "THE DATA CANNOT TELL: of 2 checks 1 cannot be told from the data, 1 passed.",
        ),
        (
            ["perhaps", "bad", "good"],
            1,
            "FAIL: of 6 checks 1 failed, 1 cannot be told from the data, 4 passed.",
        ),
    ],
)
def test_the_exit_code_is_the_worst_outcome(
    gate: Overread, runs: list[str], code: int, verdict: str
) -> None:
    done = gate("gate", *runs, "--policy", "gate.toml")
    assert (done.code, done.err) == (code, "")
    first, title, *_ = done.out.splitlines()
    assert first == verdict
    assert title == f"A small gate. {DISCLAIMER}"


def test_each_rule_says_who_what_and_by_how_much(gate: Overread) -> None:
    done = gate("gate", "perhaps", "--policy", "gate.toml")
    _, _, _, about, head, unsure, sure, *notes, signature = done.out.splitlines()
    note = " ".join(line.strip() for line in notes)
    assert about == "a: perhaps, edition corrected"
    assert head.split() == ["outcome", "rule", "found", "margin", "demanded"]
    assert signature == "grounding|edition:corrected"
    for word in ("right often enough", "CANNOT TELL", "at least 0.8", "0.850 [0.767, 0.907] n=100"):
        assert word in unsure
    assert sure.startswith("pass ")
    assert "+0.063" in sure
    assert "n = 471 (371 more) would show with 80 % power that it is met" in note
    assert "Why the rule: Below this it is of no use." in note


def test_a_machine_reads_everything(gate: Overread) -> None:
    done = gate("gate", "bad", "--policy", "gate.toml", "--json")
    assert done.code == 1
    found = json.loads(done.out)
    assert (found["outcome"], found["exit_code"]) == ("fail", 1)
    assert found["disclaimer"] == DISCLAIMER
    assert found["counts"] == {"pass": 1, "fail": 1, "cannot tell": 0, "skipped": 0}
    first = found["rulings"][0]
    assert first["reader"] == "a"
    assert first["edition"] == "corrected"
    assert (first["value"], first["n"]) == (0.5, 100)
    assert first["margin"] == pytest.approx(first["high"] - 0.8)


def test_continuous_integration_reads_junit(gate: Overread) -> None:
    done = gate("gate", "good", "perhaps", "--policy", "gate.toml", "--junit", "gate.xml")
    assert done.code == 4
    root = ElementTree.parse("gate.xml").getroot()
    assert [suite.get("name") for suite in root] == ["good: a", "perhaps: a"]
    (failure,) = root.iter("failure")
    assert failure.get("type") == "cannot tell"


@pytest.mark.parametrize("json", [[], ["--json"]])
def test_who_stops_reading_does_not_open_the_gate(gate: Overread, json: list[str]) -> None:
    """`overread gate ... | head -1` under pipefail: elsewhere a broken pipe leaves 0."""
    reading, writing = os.pipe()
    os.close(reading)
    words = [sys.executable, "-m", "overread", "gate", "perhaps", "--policy", "gate.toml", *json]
    done = subprocess.run(words, stdout=writing, stderr=subprocess.PIPE, timeout=60, check=False)
    os.close(writing)
    assert (done.returncode, done.stderr) == (4, b"")


def test_a_name_does_not_steer_the_terminal(gate: Overread) -> None:
    done = gate("gate", "hostile", "--policy", "gate.toml", "--junit", "gate.xml")
    assert done.code == 1
    assert "\x1b" not in done.out
    assert "\u202e" not in done.out
    assert "evil" in done.out
    ElementTree.parse("gate.xml")
    assert json.loads(gate("gate", "hostile", "--policy", "gate.toml", "--json").out)


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("good",), "Missing option '--policy'"),
        (("--policy", "gate.toml"), "Missing argument 'RUN"),
        (("nowhere", "--policy", "gate.toml"), "nowhere: not a run folder"),
        (("good", "--policy", "nowhere.toml"), "--policy nowhere.toml: No such file"),
        (("good", "--policy", "good/run.toml"), "good/run.toml"),
        (("good", "good", "--policy", "gate.toml"), "given twice"),
        (("good", "--policy", "gate.toml", "--reader", "x"), "--reader x: no run has this reader"),
        (("good", "--policy", "gate.toml", "--junit", "good"), "--junit good: Is a directory"),
        (("good", "--policy", "gate.toml", "--junit", "no/x.xml"), "--junit no/x.xml: No such"),
        (("other", "--policy", "gate.toml"), "the policy matches no reader of these runs"),
    ],
)
def test_bad_input_is_one_line_and_nothing_written(
    gate: Overread, words: tuple[str, ...], says: str
) -> None:
    write_run(Path("other"), gated_run([share("accuracy", 9, 10)], benchmark="m3cot"))
    before = tree(Path())
    done = gate("gate", *words)
    assert done.code == 2
    assert says in done.complaint
    assert tree(Path()) == before
