"""Drawing clips: the seed and the name decide, never the order of a list."""

from __future__ import annotations

import random
from collections import Counter

from hypothesis import given, settings
from hypothesis import strategies as st

from overread.benchmarks.base import Left
from overread.benchmarks.draws import lot
from overread.benchmarks.heartbeat.cases import HeartbeatCase, draw_cases

NAMES = [f"clip{number}" for number in range(40)]


def read(name: str) -> HeartbeatCase | Left:
    if name.endswith("7"):
        return Left(name, "bad")
    return HeartbeatCase(case_id=name, clip=name, frames=50, ed=3, es=20)


def ids(cases: list[HeartbeatCase]) -> list[str]:
    return [case.case_id for case in cases]


@settings(deadline=None)
@given(st.integers(0, 50), st.integers(0, 1000))
def test_a_sample_does_not_depend_on_the_order_of_the_list(videos: int, seed: int) -> None:
    shuffled = random.Random(seed).sample(NAMES, len(NAMES))
    cases, left = draw_cases(NAMES, read, videos, seed)
    others, missed = draw_cases(shuffled, read, videos, seed)
    assert set(ids(cases)) == set(ids(others))
    assert {each.case for each in left} == {each.case for each in missed}
    assert ids(cases) == [name for name in NAMES if name in ids(cases)]


def test_a_bad_clip_is_replaced_and_listed() -> None:
    cases, left = draw_cases(NAMES, read, 36, 0)
    assert len(cases) == 36
    assert [each.case for each in left] == ["clip7", "clip17", "clip27", "clip37"]


def test_clips_never_drawn_are_never_opened() -> None:
    opened: list[str] = []

    def watched(name: str) -> HeartbeatCase | Left:
        opened.append(name)
        return read(name)

    cases, left = draw_cases(NAMES, watched, 5, 0)
    assert len(opened) == len(cases) + len(left)
    assert len(cases) == 5


def test_every_clip_is_drawn_equally_often() -> None:
    often = Counter(
        name
        for seed in range(2000)
        for name in ids(draw_cases(["a", "b", "c", "d"], read, 1, seed)[0])
    )
    assert all(abs(count - 500) < 5 * (2000 * 0.25 * 0.75) ** 0.5 for count in often.values())
    assert len(often) == 4


def test_the_authors_take_the_first_names_and_replace_none() -> None:
    cases, left = draw_cases(["clip1", "clip1", "clip7", "clip2", "clip3"], read, 3, None)
    assert ids(cases) == ["clip1", "clip2"]
    assert left == [Left("clip7", "bad")]


def test_lots_of_one_purpose_say_nothing_of_another() -> None:
    assert lot("window", 0, "a") != lot("sample", 0, "a")
    # Pinned: samples made today can be made again.
    assert lot("sample", 0, "a") == 0x27FA8D4ACF55FA194F88DA9C6AFB0B8B
