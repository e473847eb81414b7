"""A step's rounds are asked through the engine: resumed, nothing twice, one item at a time lost."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from tests.support import curated
from tests.support.readers import Scripted

from overread import runs
from overread.case import BadInput, Prompt, ReaderFailure, Reply
from overread.curate import folder as kept
from overread.curate.funnel import figure_of, funnel_of, table_of
from overread.curate.steps import STEPS
from overread.runs import Unfinished

Say = Callable[[Prompt], Reply | ReaderFailure]


@pytest.fixture(autouse=True)
def _explaining(monkeypatch: pytest.MonkeyPatch) -> None:
    """The example's step stands in the place of a step that asks."""
    monkeypatch.setitem(STEPS, "steps", "tests.support.curated:explain")


def _says(prompt: Prompt) -> Reply | ReaderFailure:
    if "shade 0" in str(prompt.messages):
        # Two lines at first, one when told.
        return Reply(text="one line" if len(prompt.messages) > 1 else "two\nlines")
    if "shade 1" in prompt.text:
        return Reply(text="", refusal="I cannot look at patients.")
    return Reply(text="it is grey") if "shade 2" in prompt.text else ReaderFailure("x", heals=False)


def test_a_round_follows_from_what_the_one_before_heard(tmp_path: Path) -> None:
    folder, writer = curated.set_folder(tmp_path / "set"), Scripted(_says)
    done = runs.curate_step(folder, "steps", models={"writer": writer})
    records = kept.read_step(folder, "steps")
    assert [(one.verdict, one.reason) for one in records] == [
        ("changed", ""), ("dropped", "refused"), ("changed", ""),
    ]  # fmt: skip
    assert [one.item.steps[0].text for one in records if one.passes and one.item] == [
        "one line", "it is grey",
    ]  # fmt: skip
    assert (done.stage.given, done.stage.passed, done.unanswered) == (3, 2, 0)
    assert [(one.name, one.seats, one.replies) for one in done.models] == [
        ("scripted", ("writer",), 4)
    ]


def test_a_step_run_again_asks_nothing_twice_and_writes_the_same_bytes(tmp_path: Path) -> None:
    folder, writer = curated.set_folder(tmp_path / "set"), Scripted(_says)
    runs.curate_step(folder, "steps", models={"writer": writer})
    before = kept.file_of(folder, "steps").read_bytes()
    runs.curate_step(folder, "steps", models={"writer": writer})
    assert kept.file_of(folder, "steps").read_bytes() == before
    assert writer.asked.total() == 4


def test_a_question_without_an_answer_costs_its_item_and_is_asked_again(tmp_path: Path) -> None:
    folder, writer = curated.set_folder(tmp_path / "set", n=4), Scripted(_says)
    done = runs.curate_step(folder, "steps", models={"writer": writer})
    assert (done.unanswered, done.stage.reasons["dropped"]) == (1, {"refused": 1, "unanswered": 1})
    mended = Scripted(lambda prompt: Reply(text="at last"))
    done = runs.curate_step(folder, "steps", models={"writer": mended})
    assert (mended.asked.total(), done.unanswered, done.stage.passed) == (1, 0, 3)


def test_a_server_that_is_down_leaves_nothing_written(tmp_path: Path) -> None:
    folder = curated.set_folder(tmp_path / "set", n=9)
    down = Scripted(lambda prompt: ReaderFailure("refused: nobody there", heals=False))
    with pytest.raises(Unfinished, match="failed alike"):
        runs.curate_step(folder, "steps", models={"writer": down})
    assert kept.steps_there(folder) == ["collect", "ask"]


def test_what_was_made_of_another_file_is_known(tmp_path: Path) -> None:
    folder, writer = curated.set_folder(tmp_path / "set"), Scripted(_says)
    runs.curate_step(folder, "steps", models={"writer": writer})
    assert kept.stale(folder) == []
    records = kept.read_step(folder, "ask")
    kept.write_step(folder, "ask", records[:2])
    assert [line.split(":")[0] for line in kept.stale(folder)] == [
        "steps.jsonl was not made of the ask.jsonl that is there"
    ]
    kept.file_of(folder, "ask").write_bytes(b"")
    assert kept.stale(folder, ["ask"]) == ["ask.jsonl was changed after `curate ask` wrote it"]


def test_the_funnel_counts_what_came_in_went_out_and_why(tmp_path: Path) -> None:
    folder = curated.set_folder(tmp_path / "set")
    runs.curate_step(folder, "steps", models={"writer": Scripted(_says)})
    table = table_of(funnel_of(folder), "made-up")
    assert table.rows == (
        ("collect", "3", "3", "3", "0", "0", "0", ""),
        ("ask", "3", "3", "0", "3", "0", "0", ""),
        ("steps", "3", "2", "0", "2", "0", "1", "refused 1"),
    )
    figure = figure_of(funnel_of(folder), "made-up")
    assert "steps: 3 in, 2 out (refused 1)" in figure.alt
    assert {row["verdict"]: row["n"] for row in figure.rows if row["step"] == "steps"} == {
        "changed": 2, "dropped": 1,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "name"),
        ('name = "a/b"', "without"),
        ('name = "a"\nseeds = 3', "seeds"),
        ('name = "a"\ntargets = ["x"]', 'targets has "x"; known are m3cot, medcmr'),
        ('name = "a"', r'names 0 under writer.*Write writer = "openai:MODEL@URL"'),
    ],
)
def test_a_set_that_says_too_little_is_told_what(tmp_path: Path, text: str, said: str) -> None:
    folder = curated.set_folder(tmp_path / "set", text=text)
    with pytest.raises(BadInput, match=said):
        runs.curate_step(folder, "steps", models={})
