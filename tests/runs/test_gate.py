"""Run folders held against policies, the one of the documentation among them."""

from __future__ import annotations

import os
from hashlib import sha256
from pathlib import Path
from threading import Thread

import msgspec
import pytest

from overread.benchmarks.registry import BENCHMARKS
from overread.case import BadInput, Measure
from overread.records import read_measures, write_measures
from overread.report import DISCLAIMER
from overread.report.gate import read_policy
from overread.runs import gate, run
from support.commands import ROOT
from support.gates import gated_run, share, write_run
from support.kept_runs import kept_run
from support.registered import metrics

EXAMPLE = ROOT / "docs" / "gate.example.toml"
HEART = {"task": "t1", "context": "original", "format": "edv_esv"}

IMAGE = """
title = "Does it look?"
[[rule]]
name = "the region matters"
why = "Covering the finding must matter."
benchmark = "grounding"
measure = "gsp"
at_least = 0.3
[[rule]]
name = "specific"
why = "Always saying Yes is no reading."
benchmark = "grounding"
measure = "specificity"
at_least = 0.5
"""
CATEGORY = """
[[rule]]
name = "category"
why = "It must use the image."
benchmark = "grounding"
measure = "category"
label = "uses image"
undecided = ["insufficient"]
"""


def grounding(n: int, *, looks: bool) -> list[Measure]:
    """What a reader that looks, or one that always says Yes, shows on n films, half with findings.

    Its name is "a", as that of every reader of this file.
    """
    half = n // 2
    hits = half if looks else 0
    word = "uses image" if looks else "ignores image"
    sexes = [share("accuracy", (half + hits) // 2, half, sex=sex) for sex in "FM"]
    return [
        *sexes,
        Measure(reader="a", measure="category", label=word, n=half),
        msgspec.structs.replace(share("gsp", hits, half), k=None),
        share("is", half, half),
        share("sensitivity", half, half),
        share("specificity", hits, half),
        share("parse_rate", n, n),
        Measure(reader="a", measure="ece", n=0, note="no answer came with a probability"),
    ]


def blank(n: int, value: float) -> Measure:
    """How much less often it is right on a blank picture."""
    by = {"condition": "blank", "versus": "original"}
    return Measure(
        reader="a",
        measure="diff_accuracy",
        by=by,
        value=value,
        low=value - 0.1,
        high=value + 0.1,
        n=n,
    )


def others(n: int) -> dict[str, list[Measure]]:
    """A reader that is right everywhere else."""
    return {
        "heartbeat": [
            *(share("skill", n, n, **HEART, phase=phase) for phase in ("ed", "es")),
            *(share("parsed", n, n, **HEART, phase=phase) for phase in ("ed", "es")),
            *(share("out_of_range", 0, n, **HEART, phase=phase) for phase in ("ed", "es")),
        ],
        "m3cot": [
            share("accuracy", n, n, mode="cot"),
            share("precision", n, n),
            share("recall", n, n),
            share("refused", 0, n, mode="cot"),
        ],
        "medcmr": [
            share("accuracy", n, n),
            blank(n, -0.8),
            share("invalid_rate", 0, n),
            share("truth", n, n),
        ],
    }


def folders(place: Path, n: int, *, looks: bool) -> list[Path]:
    measures = {"grounding": grounding(n, looks=looks)} | others(n)
    return [
        write_run(place / name, gated_run(made, benchmark=name)) for name, made in measures.items()
    ]


# ---------------------------------------------------------------- the documented policy


def test_the_example_is_about_every_benchmark_and_measures_there_are() -> None:
    policy = read_policy(EXAMPLE)
    known = {(name, metric.name) for name, metric in metrics()}
    assert {rule.benchmark for rule in policy.rule} == set(BENCHMARKS)
    for rule in policy.rule:
        assert (rule.benchmark, rule.measure) in known | {("grounding", "category")}, rule.name
        assert rule.why.endswith(".")


def test_a_reader_that_looks_passes_the_example(tmp_path: Path) -> None:
    found = gate(folders(tmp_path, 400, looks=True), EXAMPLE)
    assert (found.outcome, found.exit_code) == ("pass", 0)
    skipped = [one.measure for one in found.rulings if one.outcome == "skipped"]
    assert skipped == ["ece", "set_accuracy", "confusion"]
    assert found.counts == {
        "skipped": len(skipped),
        "pass": len(found.rulings) - len(skipped),
        "cannot tell": 0,
        "fail": 0,
    }
    assert found.disclaimer == DISCLAIMER


def test_one_that_always_says_yes_fails_it_on_the_image_alone(tmp_path: Path) -> None:
    found = gate(folders(tmp_path, 400, looks=False), EXAMPLE)
    assert (found.outcome, found.exit_code) == ("fail", 1)
    failed = {one.measure for one in found.rulings if one.outcome == "fail"}
    assert failed == {"category", "gsp", "specificity"}


@pytest.mark.parametrize(("value", "outcome"), [(0.2, "fail"), (0.0, "cannot tell")])
def test_who_is_as_good_without_the_picture_is_not_let_through(
    tmp_path: Path, value: float, outcome: str
) -> None:
    made = [share("accuracy", 400, 400), blank(400, value)]
    folder = write_run(tmp_path / "run", gated_run(made, benchmark="medcmr"))
    found = gate([folder], EXAMPLE)
    (ruling,) = (one for one in found.rulings if one.measure == "diff_accuracy")
    assert ruling.outcome == outcome


def test_too_few_cases_cannot_tell(tmp_path: Path) -> None:
    found = gate(folders(tmp_path, 60, looks=True), EXAMPLE)
    assert (found.outcome, found.exit_code) == ("cannot tell", 4)
    assert all(one.needed for one in found.rulings if one.outcome == "cannot tell")


def test_controls_that_were_really_asked(workspace: Path) -> None:
    """48 phantoms tell who looks; the category needs more, and says so."""
    run("grounding", "phantom:48", ["control:looks", "control:always-yes"], out="kept")
    Path("image.toml").write_text(IMAGE, "utf-8")
    found = gate(["kept"], "image.toml")
    assert {(one.reader, one.outcome) for one in found.rulings} == {
        ("control:looks", "pass"),
        ("control:always-yes", "fail"),
    }
    assert found.exit_code == 1
    assert gate(["kept"], "image.toml", readers=["control:looks"]).exit_code == 0
    Path("image.toml").write_text(IMAGE + CATEGORY, "utf-8")
    found = gate(["kept"], "image.toml", readers=["control:looks"])
    assert found.exit_code == 4
    assert "100 are needed" in found.rulings[-1].says
    assert {one.benchmark for one in found.rulings} == {"grounding"}


# ---------------------------------------------------------------- what is refused


def policy(place: Path) -> Path:
    path = place / "gate.toml"
    path.write_text(IMAGE, "utf-8")
    return path


def test_folders_that_are_no_runs_or_given_twice(tmp_path: Path) -> None:
    rules = policy(tmp_path)
    kept = kept_run(tmp_path / "kept", {"a": {"gsp": 0.9}})
    with pytest.raises(BadInput, match="not a run folder"):
        gate([tmp_path], rules)
    with pytest.raises(BadInput, match="given twice"):
        gate([kept, tmp_path / "kept" / ".." / "kept"], rules)
    with pytest.raises(BadInput, match="no run was given"):
        gate([], rules)
    (kept / "measures.json").unlink()
    with pytest.raises(BadInput, match=r"measures\.json"):
        gate([kept], rules)


def test_measures_of_another_measuring_are_refused(tmp_path: Path) -> None:
    kept = kept_run(tmp_path / "kept", {"a": {"gsp": 0.9}})
    found = read_measures(kept)
    write_measures(kept / "measures.json", msgspec.structs.replace(found, edition="authors"))
    with pytest.raises(BadInput, match="of different measurings"):
        gate([kept], policy(tmp_path))


def test_the_junit_file_never_replaces_what_is_judged(tmp_path: Path) -> None:
    rules = policy(tmp_path)
    kept = kept_run(tmp_path / "kept", {"a": {"gsp": 0.9}})
    for place in (rules, kept / "run.toml", kept / "measures.json"):
        before = place.read_bytes()
        with pytest.raises(BadInput, match="would replace what is judged"):
            gate([kept], rules, junit_file=place)
        assert place.read_bytes() == before
    with pytest.raises(BadInput, match="Give a file that can be written"):
        gate([kept], rules, junit_file=tmp_path / "nowhere" / "gate.xml")
    gate([kept], rules, junit_file=tmp_path / "gate.xml")
    assert (tmp_path / "gate.xml").read_bytes().startswith(b"<?xml")


@pytest.mark.parametrize("name", ["report.html", "answers.parquet", "verdicts.parquet"])
def test_nor_a_file_of_a_run_that_is_not_given(tmp_path: Path, name: str) -> None:
    kept = kept_run(tmp_path / "kept", {"a": {"gsp": 0.9}})
    other = kept_run(tmp_path / "other", {"a": {"gsp": 0.9}})
    for folder in (kept, other):
        with pytest.raises(BadInput, match="would replace what is judged"):
            gate([kept], policy(tmp_path), junit_file=folder / name)
        assert not (folder / name).exists()


@pytest.mark.parametrize("held", [b"my notes", b"", b"<?xml version='1.0'?><html/>"])
def test_the_junit_file_replaces_only_one_of_ours(tmp_path: Path, held: bytes) -> None:
    rules, place = policy(tmp_path), tmp_path / "gate.xml"
    kept = kept_run(tmp_path / "kept", {"a": {"gsp": 0.9}})
    place.write_bytes(held)
    with pytest.raises(BadInput, match="another file stands there"):
        gate([kept], rules, junit_file=place)
    assert place.read_bytes() == held
    place.unlink()
    gate([kept], rules, junit_file=place)
    made = place.read_bytes()
    gate([kept], rules, junit_file=place)
    assert place.read_bytes() == made
    assert {one.name for one in tmp_path.iterdir()} == {"gate.toml", "gate.xml", "kept"}
    (tmp_path / "plain").touch()
    assert place.stat().st_mode == (tmp_path / "plain").stat().st_mode


# ---------------------------------------------------------------- pipes


def test_a_policy_may_come_through_a_pipe_and_is_read_once(tmp_path: Path) -> None:
    kept = kept_run(tmp_path / "kept", {"a": {"gsp": 0.9}})
    rules, pipe = policy(tmp_path), tmp_path / "pipe"
    os.mkfifo(pipe)
    writer = Thread(target=pipe.write_bytes, args=(rules.read_bytes(),))
    writer.start()
    found = gate([kept], pipe)
    writer.join(5)
    assert found.policy_sha256 == sha256(rules.read_bytes()).hexdigest()
    assert found.rulings == gate([kept], rules).rulings


def test_a_pipe_without_another_end_does_not_hang(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("overread.report.gate.policy._PATIENCE", 0.1)
    kept = kept_run(tmp_path / "kept", {"a": {"gsp": 0.9}})
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    with pytest.raises(BadInput, match="nobody writes to this pipe"):
        gate([kept], pipe)
    with pytest.raises(BadInput, match="it is no file"):
        gate([kept], policy(tmp_path), junit_file=pipe)
    with pytest.raises(BadInput, match="is a device and no file"):
        gate([kept], "/dev/null")
