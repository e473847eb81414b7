"""Not worse than another reader, or than a baseline run, by more than a margin: case by case."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from overread.case import BadInput
from overread.runs import compare, gate, run

pytestmark = pytest.mark.usefixtures("no_pages")

RULE = """
title = "Nightly"
[[rule]]
name = "no worse"
why = "A checkpoint must not lose what the last one had."
benchmark = "grounding"
measure = "accuracy"
edition = "corrected+boot=200"
margin = {margin}
{more}
"""


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory, phantom_cache: Path) -> Path:
    place = tmp_path_factory.mktemp("nightly")
    for name, cases, readers in (
        ("before", "phantom:48", ["looks"]),
        ("after", "phantom:48", ["looks", "always-yes"]),
        ("fewer", "phantom:36", ["looks"]),
    ):
        run(
            "grounding", cases, [f"control:{one}" for one in readers], settings={"boot": "200"},
            store=place / "store.sqlite", out=place / name,
        )  # fmt: skip
    return place


@pytest.fixture
def policy(kept: Path, workspace: Path):  # type: ignore[no-untyped-def]
    for name in ("before", "after", "fewer"):
        shutil.copytree(kept / name, workspace / name)

    def written(margin: object = 0.1, more: str = "") -> Path:
        place = Path("gate.toml")
        place.write_text(RULE.format(margin=margin, more=more), "utf-8")
        return place

    return written


def test_a_checkpoint_is_held_against_the_same_reader_of_another_run(policy) -> None:  # type: ignore[no-untyped-def]
    found = gate(["after"], policy(), readers=["control:looks"], baselines=["before"])
    (ruling,) = found.rulings
    assert (found.exit_code, ruling.value, ruling.n) == (0, 0.0, 48)
    assert ruling.demanded == ("accuracy not worse than control:looks of before by more than 0.1")
    narrow = gate(["after"], policy(0.01), readers=["control:looks"], baselines=["before"])
    assert narrow.exit_code == 4  # 48 cases cannot show so little


def test_a_reader_is_held_against_another_of_its_run_and_of_the_baseline(policy) -> None:  # type: ignore[no-untyped-def]
    against = policy(0.1, 'versus = "control:looks"')
    for baselines in ([], ["before"]):
        found = gate(["after"], against, readers=["control:always-yes"], baselines=baselines)
        (ruling,) = found.rulings
        assert (found.exit_code, ruling.outcome) == (1, "fail")
        (own,) = compare(["after"], measures=["accuracy"])[0].differences
        assert own.low is not None
        assert own.value == pytest.approx(-(ruling.value or 0))
        assert own.low == pytest.approx(-(ruling.high or 0))
    assert [one.reader for one in gate(["after"], against).rulings] == ["control:always-yes"]


def test_who_is_not_in_the_baseline_was_not_measured(policy) -> None:  # type: ignore[no-untyped-def]
    found = gate(["after"], policy(), readers=["control:always-yes"], baselines=["before"])
    assert found.exit_code == 1
    assert "was not measured case by case of control:always-yes" in found.rulings[0].says


@pytest.mark.parametrize(
    ("margin", "more", "baselines", "says"),
    [
        (0.1, "", [], "rule no worse: margin needs somebody to be held against"),
        (0.1, "", ["fewer"], "are over different cases"),
        (0.1, "", ["after"], "--baseline after: it is the run that is held against it"),
        (0.1, "", ["nowhere"], "nowhere: not a run folder"),
        (0, "", ["before"], "margin is 0.0; give a number above 0"),
        ("nan", "", ["before"], "margin is nan; give a number above 0"),
        (5, "", ["before"], "For 5 points write 0.05"),
        (0.1, "at_least = 0.5", ["before"], "give exactly one of at_least, at_most"),
        (0.1, 'by = { finding = "nodule" }', ["before"], "Leave by out"),
    ],
)
def test_what_cannot_be_held_is_one_line(policy, margin, more, baselines, says) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(BadInput) as told:
        gate(["after"], policy(margin, more), baselines=baselines)
    assert says in str(told.value)
    assert "\n" not in str(told.value)
