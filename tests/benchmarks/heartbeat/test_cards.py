"""Clips one by one: the index against the obvious, cards, and the frames as readers saw them."""

from __future__ import annotations

from math import ceil, sqrt

import msgspec
import numpy as np
import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from overread.benchmarks.base import ReaderRecord, Tables
from overread.benchmarks.heartbeat import Heartbeat
from overread.benchmarks.heartbeat.cases import FACETS
from overread.case import Clip, FrameMark
from overread.imaging import pixels, render_clip, render_frames
from support.heart_answers import rows, tables_of
from support.phantom_asked import phantom_asked
from support.timing import cpu_seconds

N = 12
# Two of the four clips fit no window of 20 frames, and are asked about in two frames alone.
FEW = {
    "seeds": "2020,2021",
    "passes": "1",
    "formats": "edv_esv",
    "contexts": "original",
    "frames": "20",
}


def bench(edition="corrected"):
    return Heartbeat.of_run("set@0", "open", edition)


def with_start(tables, start=5):
    answers = tables.answers.with_columns(start=pl.lit(start, pl.Int32))
    return msgspec.structs.replace(tables, answers=answers)


# ---------------------------------------------------------------- right or wrong


def slowly(votes, bits, edition):
    """By video: True where every seed with an answer is right, False where none is."""
    found = {}
    for video, seeds in enumerate(votes):
        hits = []
        for seed, passes in enumerate(seeds):
            truth = bits[video][seed]
            there = [vote for vote in passes if isinstance(vote, int)]
            if edition == "authors":
                if there:
                    hits.append(int(sum(there) / len(there)) == truth)
            elif any(vote != "unanswered" for vote in passes):
                others = max(there.count(1 - truth), len([v for v in there if v not in (0, 1)]))
                hits.append(there.count(truth) > others)
        found[f"v{video:03d}"] = None if len(set(hits)) != 1 else hits[0]
    return found


@pytest.mark.slow
@pytest.mark.parametrize("edition", ["corrected", "authors"])
@given(data=st.data())
@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_right_is_every_seed_and_wrong_is_none(edition, data):
    videos, seeds, passes = (data.draw(st.integers(1, 3)) for _ in range(3))
    vote = st.one_of(st.none(), st.just("unanswered"), st.integers(0, 2))
    line = st.lists(vote, min_size=passes, max_size=passes)
    block = st.lists(line, min_size=seeds, max_size=seeds)
    votes = data.draw(st.lists(block, min_size=videos, max_size=videos))
    bits = [[data.draw(st.integers(0, 1)) for _ in range(seeds)] for _ in range(videos)]
    tables = tables_of(rows(votes, bits, wanted="edv", task="t2"))
    made = bench(edition)
    index = made.card_index(tables)
    assert index.columns == ["case", "reader", "right", "flipped", *made.facets]
    assert dict(zip(index["case"], index["right"], strict=True)) == slowly(votes, bits, edition)
    assert index["flipped"].null_count() == index.height
    # A card alone says what the index of all says.
    for case in index["case"]:
        (card,) = made.cards(tables, [case])
        (said,) = card.said
        assert said.right == slowly(votes, bits, edition)[case]
        assert said.flipped is None


def test_finding_a_frame_is_neither_right_nor_wrong():
    tables = tables_of(rows([[[(3, 9)]]], [[(3, 9)]], wanted="edv_esv", count=N))
    assert bench().card_index(tables)["right"].to_list() == [None]


def test_facets_are_words_even_where_they_are_not_known():
    some = rows([[[1]], [[2]]], [[1], [2]], count=N)
    index = bench().card_index(tables_of(some, view=["A4C", None], sex=["F", "M"]))
    assert index.select(FACETS).rows() == [
        ("A4C", "F", "not known"),
        ("not known", "M", "not known"),
    ]
    assert bench().facets


def test_readers_stand_in_the_runs_order_and_only_where_they_were_asked():
    some = rows([[[1]], [[1]]], [[1], [1]], reader="z", count=N)
    some += rows([[[1]]], [[1]], reader="a", count=N)
    tables = msgspec.structs.replace(
        tables_of(some), readers=(ReaderRecord(name="z"), ReaderRecord(name="a"))
    )
    assert bench().card_index(tables).select("case", "reader").rows() == [
        ("v000", "z"),
        ("v000", "a"),
        ("v001", "z"),
    ]
    cards = list(bench().cards(tables, ["v001", "nobody", "v000", "v001"]))
    assert [card.case for card in cards] == ["v001", "v000"]
    assert [[said.reader for said in card.said] for card in cards] == [["z"], ["z", "a"]]


# ---------------------------------------------------------------- what is said


def test_lines_have_the_frames_named_and_how_far_off_they_are():
    said = [[[(3, 9), (3, 8)], [(5, 9), None]]]
    some = rows(said, [[(4, 9)] * 2], wanted="edv_esv", count=N)
    some += rows([[[0], [1]]], [[0, 0]], wanted="edv", task="t2")
    some += rows([[[0], [0]]], [[0, 0]], wanted="esv", task="t2")
    (card,) = bench().cards(with_start(tables_of(some, ef=[55.0])), ["v000"])
    assert dict(card.texts) == {
        "window": "12 frames from frame 5 of the clip, numbered from 0; end-diastole is 4, "
        "end-systole 9",
        "shown": "context original, format edv_esv",
        "ejection fraction": "55.00 %",
    }
    (one,) = card.said
    assert [(answer.asked, answer.text, answer.note) for answer in one.answers] == [
        ("end-diastole", "3 (2×), 5 (1×), unparsed (1×)", "1.00 frames off"),
        ("end-systole", "9 (2×), 8 (1×), unparsed (1×)", "0.25 frames off"),
    ]
    assert one.lines == (
        ("which of two frames is end-diastole", "right in 1 of 2 seeds"),
        ("which of two frames is end-systole", "right in 2 of 2 seeds"),
    )
    assert one.marks == (
        FrameMark("end-diastole", 3, 2),
        FrameMark("end-diastole", 5, 1),
        FrameMark("end-systole", 8, 1),
        FrameMark("end-systole", 9, 2),
    )
    assert one.right is None


def test_one_answer_is_said_as_it_is():
    some = rows([[[7]]], [[5]], count=N) + rows([[[1]]], [[0]], wanted="edv", task="t2")
    (card,) = bench().cards(tables_of(some), ["v000"])
    (said,) = card.said
    assert [(answer.text, answer.note) for answer in said.answers] == [("7", "2.00 frames off")]
    assert said.lines == (("which of two frames is end-diastole", "wrong"),)
    assert said.right is False


@pytest.mark.parametrize("edition", ["corrected", "authors"])
@pytest.mark.parametrize("said", [None, "refused", "unanswered", 10**12, -4])
@pytest.mark.parametrize("start", [None, 5])
def test_odd_answers_never_raise(edition, said, start):
    some = rows([[[said]]], [[20]], count=N) + rows([[[said]]], [[0]], wanted="esv", task="t2")
    tables = with_start(tables_of(some), start)
    assert bench(edition).card_index(tables).height == 1
    (card,) = bench(edition).cards(tables, ["v000"])
    assert card.said[0].answers
    assert not any("nan " in answer.note for answer in card.said[0].answers)
    assert bench(edition).card_index(tables_of([])).is_empty()
    assert list(bench(edition).cards(tables_of([]), ["v000"])) == []


def test_words_that_could_not_be_read_are_kept():
    tables = tables_of(rows([[[None]]], [[1]], count=N))
    answers = tables.answers.with_columns(text=pl.lit("<script>" * 20_000))
    (card,) = bench().cards(msgspec.structs.replace(tables, answers=answers), ["v000"])
    assert card.said[0].text == "<script>" * 20_000


# ---------------------------------------------------------------- the frames


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    controls = ["area", "first-frame"]
    return phantom_asked("heartbeat", tmp_path_factory.mktemp("set"), 4, controls, words=FEW)


def test_the_slide_is_the_window_as_readers_saw_it_with_the_true_frames_marked(run):
    made, tables = run
    cases = {case.case_id: case for case in made.cases()}
    cards = [card for card in made.cards(tables, list(cases)) if card.slides]
    assert cards
    for card in cards:
        case, (slide,) = cases[card.case], card.slides
        assert isinstance(slide.picture, Clip)
        frames = slide.picture.frames
        true = {mark.phase: frames[mark.frame] for mark in slide.marks}
        assert true == {"end-diastole": case.ed, "end-systole": case.es}
        assert (slide.shown, card.conditions) == ("clip", (("clip", "clip"),))
    # Its frames are, pixel for pixel, those a reader got.
    whole = next(
        trial.request.clips[0]
        for trial in made.trials(cases[card.case], made.controls()["area"].traits)
    )
    sent = [pixels(shown) for shown in render_clip(whole).frames]
    sheet = pixels(render_frames(slide.picture))
    across = ceil(sqrt(len(frames)))
    height, width = sent[0].shape[:2]
    for place, frame in enumerate(frames):
        top, left = place // across * height, place % across * width
        tile = sheet[top : top + height, left : left + width]
        assert np.array_equal(tile, sent[whole.frames.index(frame)])


def test_a_clip_asked_in_two_frames_alone_has_no_slides(run):
    made, tables = run
    alone = set(tables.cases["case"]) - set(tables.answers.filter(task="t1")["case"])
    assert alone
    for card in made.cards(tables, sorted(alone)):
        assert card.slides == ()
        assert card.said


def test_a_run_without_its_cases_has_cards_without_slides(run):
    made, tables = run
    with_slides = list(made.cards(tables, tables.cases["case"]))
    without = list(bench().cards(tables, tables.cases["case"]))
    assert [msgspec.structs.replace(card, slides=()) for card in with_slides] == without


def test_who_sees_is_right_and_who_does_not_is_not(run):
    made, tables = run
    index = made.card_index(tables)
    assert index.filter(reader="control:area")["right"].all()
    # Who always names the first of two frames is right about one phase and wrong about the other.
    first = index.filter(reader="control:first-frame")
    assert first["right"].null_count() == first.height


def test_ten_times_the_answers_take_about_ten_times_as_long_to_index():
    said = [[[(3, 9)] * 2] * 5] * 1000
    some = pl.DataFrame(
        rows(said, [[(4, 9)] * 5] * 1000, wanted="edv_esv", count=N)
        + rows([[[0, 0]] * 5] * 1000, [[0] * 5] * 1000, wanted="edv", task="t2")
    )
    names = [f"r{k}" for k in range(10)]
    answers = pl.concat([some.with_columns(reader=pl.lit(name)) for name in names])
    cases = pl.DataFrame({"case": some["case"].unique().sort(), "patient": ["p"] * 1000})
    readers = tuple(ReaderRecord(name=name) for name in names)
    tables = Tables(cases=cases, answers=answers, readers=readers)
    assert tables.answers.height == 200_000
    tenth = Tables(cases=cases, answers=answers.filter(reader="r0"), readers=readers[:1])
    few, _ = cpu_seconds(lambda: bench().card_index(tenth), 3)
    many, index = cpu_seconds(lambda: bench().card_index(tables))
    cards = list(bench().cards(tables, [f"v{at:03d}" for at in range(20)]))
    assert index.height == 10_000
    assert len(cards) == 20
    assert many < 50 * few  # a comparison of all with all would take a hundred times as long
