"""The stages of a run: first trials, then what follows from the replies, then what is timed."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from overread.benchmarks.m3cot.benchmark import M3CoT
from overread.case import Limits, Prompt, Reply, Trial
from overread.engine import Plan, Sources, Store, Studio, ask
from overread.readers import Altered
from overread.runs import run, run_async
from overread.runs._asking import Stage, Work
from support.m3_trees import Item, write_m3cot
from support.readers import Scripted

ITEMS = 5
CHOSEN = frozenset({"1", "3"})


@pytest.fixture(scope="module")
def cases(tmp_path_factory: pytest.TempPathFactory) -> Path:
    items = [
        Item(
            index,
            question=f"Specimen {index}: which organ? (Select one option)\nA. Liver\nB. Spleen",
            size=(8, 8),
        )
        for index in range(1, ITEMS + 1)
    ]
    return write_m3cot(tmp_path_factory.mktemp("set"), items)


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with Store(tmp_path / "store.sqlite") as opened:
        yield opened


@pytest.fixture
def studio(store: Store) -> Iterator[Studio]:
    made = Studio(Sources(store, 1))
    yield made
    made.close()


def thinker(**options: Any) -> Scripted:
    """It reasons in two sentences; directly it says one word."""

    def say(prompt: Prompt) -> Reply:
        number = prompt.text.split()[1].rstrip(":")
        if "directly" in prompt.text:
            return Reply("A")
        return Reply(f"It is a CT of {number}. It is brown. So it is the liver. Final answer: A")

    return Scripted(say, name="thinker", **options)


def answered(plan: Plan, reader: Scripted, store: Store, studio: Studio) -> int:
    tally = run_async(ask(plan, reader, store, studio, dataset=1))
    return tally.answered


def told(trials: Iterator[Trial]) -> list[tuple[str, str, str, bool]]:
    found = []
    for trial in trials:
        how = trial.condition
        found.append((trial.case, str(how["mode"]), str(how["follow"]), bool(how["timed"])))
    return found


def stages(
    cases: Path, reader: Scripted, store: Store, studio: Studio, **words: str
) -> list[Stage]:
    bench = M3CoT.open(cases, "corrected", words)
    return Work(bench, None, store, studio, 1).stages(reader)


def test_there_is_no_stage_that_nobody_asked_for(cases: Path, store: Store, studio: Studio) -> None:
    (only,) = stages(cases, thinker(), store, studio)
    assert (only.name, only.alone) == ("trials", False)
    assert len(told(iter(only.plan()))) == 2 * ITEMS


def test_stages_come_in_their_order_and_only_timing_is_alone(
    cases: Path, store: Store, studio: Studio
) -> None:
    words = {"follow": "truncated,answer_first", "timing": "2"}
    found = stages(cases, thinker(), store, studio, **words)
    assert [(stage.name, stage.alone) for stage in found] == [
        ("trials", False),
        ("follow-ups", False),
        ("timing", True),
    ]


def test_follow_ups_are_known_when_the_trials_are_answered(
    cases: Path, store: Store, studio: Studio
) -> None:
    reader = thinker()
    trials, follow = stages(cases, reader, store, studio, follow="truncated")
    assert not list(follow.plan()), "nothing was said yet"
    assert answered(trials.plan, reader, store, studio) == 2 * ITEMS
    found = told(iter(follow.plan()))
    assert found == [(str(i), "cot", "truncated", False) for i in range(1, ITEMS + 1)]
    # Each goes on from what was said of its own item, and from the first half of it.
    for number, trial in enumerate(follow.plan(), start=1):
        text = trial.request.messages[-1].parts[-1]
        assert isinstance(text, str)
        assert f"It is a CT of {number}. It is brown." in text
        assert "So it is the liver" not in text
    # The plan is made anew at every call: a resumed run is no special case.
    assert [t.request for t in follow.plan()] == [t.request for t in follow.plan()]


def test_what_is_timed_is_asked_anew_and_once(cases: Path, store: Store, studio: Studio) -> None:
    reader = thinker()
    trials, timing = stages(cases, reader, store, studio, timing="3")
    answered(trials.plan, reader, store, studio)
    planned = told(iter(timing.plan()))
    assert len(planned) == 2 * 3
    assert all(timed for *_, timed in planned)
    # Both modes of an item stand together.
    for one, other in zip(planned[::2], planned[1::2], strict=True):
        assert one[0] == other[0]
        assert {one[1], other[1]} == {"direct", "cot"}
    assert answered(timing.plan, reader, store, studio) == 6
    assert answered(timing.plan, reader, store, studio) == 0, "timed a second time"
    requests = {trial.request for trial in trials.plan()}
    assert all(trial.request in requests and trial.repeat for trial in timing.plan())


def test_only_chosen_items_are_in_any_stage(cases: Path, store: Store, studio: Studio) -> None:
    reader = thinker()
    bench = M3CoT.open(cases, "corrected", {"follow": "answer_first", "timing": "9"})
    found = Work(bench, CHOSEN, store, studio, 1).stages(reader)
    answered(found[0].plan, reader, store, studio)
    for stage in found:
        assert {trial.case for trial in stage.plan()} == CHOSEN, stage.name


def test_the_whole_plan_is_every_stage_in_order(cases: Path, store: Store, studio: Studio) -> None:
    reader = thinker()
    bench = M3CoT.open(cases, "corrected", {"follow": "truncated", "timing": "2"})
    work = Work(bench, None, store, studio, 1)
    found = work.stages(reader)
    answered(found[0].plan, reader, store, studio)
    whole = list(work.whole_plan(reader)())
    assert whole == [trial for stage in found for trial in stage.plan()]
    assert len(whole) == 2 * ITEMS + ITEMS + 4


def test_alone_asks_one_at_a_time_and_changes_nothing_else(
    cases: Path, store: Store, studio: Studio
) -> None:
    reader = thinker(delay=0.005, limits=Limits(concurrency=8))
    crowd, timing = stages(cases, reader, store, studio, timing=str(ITEMS))
    answered(crowd.plan, reader, store, studio)
    assert reader.most_at_once > 1
    reader.most_at_once = 0
    alone = Altered(reader, concurrency=1)
    assert (alone.name, alone.identity, alone.traits) == (
        reader.name,
        reader.identity,
        reader.traits,
    )
    run_async(ask(timing.plan, alone, store, studio, dataset=1))
    assert reader.most_at_once == 1


def test_nobody_else_is_asked_while_one_is_timed(cases: Path, tmp_path: Path) -> None:
    """Two readers of one server would wait for each other."""
    at_once = most = 0
    timing = False
    seen: set[str] = set()

    class Watched(Scripted):
        async def reply(self, prompt: Prompt) -> Reply:
            nonlocal at_once, most, timing
            key = f"{self.name} {prompt.text}"
            timing = timing or key in seen
            seen.add(key)
            at_once += 1
            most = max(most, at_once) if timing else 0
            try:
                return await super().reply(prompt)
            finally:
                at_once -= 1

    def make(name: str) -> Watched:
        limits = Limits(concurrency=8)
        return Watched(lambda p: Reply("A. B. C."), name=name, delay=0.005, limits=limits)

    readers = [make("one"), make("two")]
    folders: dict[str, Any] = {"out": tmp_path / "run", "store": tmp_path / "kept.sqlite"}
    words = {"timing": str(ITEMS), "boot": "100"}
    run("m3cot", cases, readers, settings=words, **folders)
    assert timing
    assert most == 1
    assert all(count == 2 for reader in readers for count in reader.asked.values())
    again = run("m3cot", cases, readers, settings=words, **folders)
    assert all(count == 2 for reader in readers for count in reader.asked.values())
    assert again.unanswered == 0
