"""Trials: what a reader is asked about one clip."""

from __future__ import annotations

import time
from collections import Counter
from itertools import product

import msgspec
import pytest

from overread.benchmarks.heartbeat.authors.rules import t2_orders
from overread.benchmarks.heartbeat.cases import HeartbeatCase, Window
from overread.benchmarks.heartbeat.edition import (
    AUTHORS,
    CONTEXTS,
    CORRECTED,
    FORMATS,
    Options,
)
from overread.benchmarks.heartbeat.prompts import FAMILIES, Numbers, question
from overread.benchmarks.heartbeat.trials import trials
from overread.case import Clip, ClipMask, Source, Traits

CASE = HeartbeatCase(case_id="c", clip="Videos/c.avi", frames=90, ed=40, es=57, mask="masks/c.npz")
WINDOW = Window(start=36, count=24, stated=24, ed=4, es=21)
PLAIN = Traits()


def ask(case=CASE, window=WINDOW, place=0, traits=PLAIN, rules=CORRECTED, **options):
    return list(trials(case, window, place, traits, rules, Options(**options), "/data"))


def clip(trial) -> Clip:
    (found,) = [p for m in trial.request.messages for p in m.parts if isinstance(p, Clip)]
    return found


def text(trial) -> str:
    (found,) = [p for p in trial.request.messages[-1].parts if isinstance(p, str)]
    return found


def test_every_context_format_seed_and_pass_is_asked_once():
    options = Options()
    turns = [(s, p) for s in options.seeds for p in range(options.passes)]
    expected = [("t1", c, f, s, p) for c, f, (s, p) in product(CONTEXTS, FORMATS, turns)]
    expected += [("t2", c, f, s, p) for c, f, (s, p) in product(CONTEXTS, ("edv", "esv"), turns)]
    asked = ask()
    assert [tuple(t.condition.values()) for t in asked] == expected
    assert list(asked[0].condition) == ["task", "context", "format", "seed", "pass"]
    assert {t.case for t in asked} == {"c"}


def test_a_window_is_shown_whole_with_its_question():
    for rules, family in product((AUTHORS, CORRECTED), FAMILIES):
        for trial in ask(rules=rules, family=family, tasks=("t1",), seeds=(1,), passes=1):
            context, output = trial.condition["context"], trial.condition["format"]
            asked = question("t1", context, output, Numbers(24, 0, 23), family, rules.wording)
            system, user = trial.request.messages
            assert (system.role, system.parts) == ("system", (asked.system,))
            assert user.role == "user"
            shown = clip(trial)
            assert shown.source == Source("/data", "Videos/c.avi")
            assert shown.frames == tuple(range(36, 60))
            expected = (shown, asked.text) if asked.visual == "before" else (asked.text, shown)
            assert user.parts == expected


def test_an_overrunning_window_names_its_frames_and_its_range_as_the_authors_do():
    window = Window(start=70, count=20, stated=26, ed=5, es=15)
    (trial,) = ask(
        window=window,
        rules=AUTHORS,
        tasks=("t1",),
        contexts=("original",),
        formats=("edv",),
        seeds=(1,),
        passes=1,
    )
    assert "exactly 20 frames" in text(trial)
    assert "[0, 25]" in text(trial)
    assert clip(trial).frames == tuple(range(70, 90))


def test_masks_are_drawn_in_red_where_the_context_needs_them():
    for trial in ask(seeds=(1,), passes=1):
        expected = ClipMask(Source("/data", "masks/c.npz"), (255, 0, 0))
        assert clip(trial).mask == (None if trial.condition["context"] == "original" else expected)


def test_a_clip_without_masks_is_asked_in_the_original_context_only():
    bare = msgspec.structs.replace(CASE, mask=None)
    assert Counter(t.condition["context"] for t in ask(bare)) == {"original": 180}
    assert ask(bare, contexts=("segmented", "non_medical")) == []


@pytest.mark.parametrize("place", [0, 1, 57, 300])
def test_two_frames_stand_in_the_order_of_their_seed_and_place(place):
    asked = ask(place=place, tasks=("t2",))
    for trial in asked:
        position = t2_orders(place + 1, trial.condition["seed"])[place]
        frames = clip(trial).frames
        assert sorted(frames) == [40, 57]
        assert frames[position] == CASE.ed
    # Both orders come up, and the question never tells which.
    assert len({clip(t).frames for t in asked}) == 2
    assert len({text(t) for t in asked}) == len(CONTEXTS) * 2


@pytest.mark.parametrize(
    ("formats", "single"),
    [(FORMATS, ["edv", "esv"]), (("edv_esv", "esv"), ["esv"]), (("edv_esv",), ["edv", "esv"])],
)
def test_two_frames_are_asked_in_the_single_formats(formats, single):
    asked = ask(tasks=("t2",), formats=formats, contexts=("original",), seeds=(1,), passes=1)
    assert [t.condition["format"] for t in asked] == single


def test_sampling_is_the_servers_own_and_each_pass_has_its_seed():
    asked = ask(tasks=("t1",), contexts=("original",), formats=("edv",))
    decodings = [t.request.decoding for t in asked]
    assert {(d.max_tokens, d.temperature) for d in decodings} == {(30, None)}
    assert len({d.seed for d in decodings}) == len(asked) == 30
    assert len({t.repeat for t in asked}) == len(asked)
    assert [t.request.decoding.seed for t in asked if t.condition["pass"] == 0] == list(
        Options().seeds
    )
    (thought,) = {t.request.decoding.max_tokens for t in ask(traits=Traits(reasoning=True))}
    assert thought > 1000


def test_more_seeds_and_passes_leave_the_others_as_they_were():
    def turns(**options):
        return {
            (t.condition["seed"], t.condition["pass"]): (t.repeat, t.request)
            for t in ask(tasks=("t1",), contexts=("original",), formats=("edv",), **options)
        }

    few, many = turns(seeds=(2021, 2025), passes=2), turns(seeds=(7, *range(2020, 2030)), passes=5)
    assert few.items() <= many.items()


def test_greedy_decoding_asks_each_question_once():
    asked = ask(traits=Traits(temperature=0.0))
    questions = {(t.request, t.repeat) for t in asked}
    assert len(asked) == 540
    # T1 once per context and format; T2 once per context, format and order.
    assert len(questions) == len(CONTEXTS) * len(FORMATS) + len(CONTEXTS) * 2 * 2


def test_frames_clips_and_messages_are_the_same_objects_throughout():
    asked = ask()
    t1 = [t for t in asked if t.condition["task"] == "t1"]
    assert len({id(clip(t)) for t in t1}) == len(CONTEXTS)
    assert len({id(clip(t).frames) for t in t1}) == 1
    assert len({id(t.request.messages) for t in t1}) == len(CONTEXTS) * len(FORMATS)
    assert len({id(t.request.decoding) for t in asked}) == 30
    t2 = [t for t in asked if t.condition["task"] == "t2"]
    assert len({id(clip(t)) for t in t2}) == len(CONTEXTS) * 2


def test_a_whole_run_is_planned_in_no_time():
    # 100 videos x 3 contexts x 4 formats x 10 seeds x 3 passes.
    window = Window(start=10, count=40, stated=40, ed=10, es=27)
    cases = [msgspec.structs.replace(CASE, case_id=f"c{n}") for n in range(100)]
    options = Options(tasks=("t1",))
    began = time.perf_counter()
    total = sum(
        1
        for place, case in enumerate(cases)
        for _ in trials(case, window, place, PLAIN, AUTHORS, options, "/data")
    )
    assert total == 36_000
    assert time.perf_counter() - began < 5
