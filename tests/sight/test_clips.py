"""`overread sight --clips` against servers whose sight is known, and how replies are weighed."""

from __future__ import annotations

import json
from random import Random

import msgspec
import pytest

from overread.case import Reply
from overread.imaging import render_clip
from overread.sight import (
    CLIPS,
    FRAMES,
    HALF,
    ClipSight,
    _thinned,
    ask_for_frames,
    frames_of,
    judge_clips,
    said_of,
)
from overread.stats import binomial_tail
from support.commands import Overread
from support.reads_frames import digits_of, read_video
from support.served import served
from support.stock_vllm import Sampling, stock_vllm

SHOWN = frames_of(0)


@pytest.mark.parametrize(
    ("reader", "verdict", "arrived", "code"),
    [
        ("Every", "all frames arrive", FRAMES, 0),
        ("Four", "thinned", 4, 1),
        ("Counts", "thinned", 4, 1),
        ("Weak", "all frames arrive", FRAMES, 0),
        ("Blind", "does not arrive", None, 1),
    ],
)
def test_what_each_server_is(
    overread: Overread, reader: str, verdict: str, arrived: int | None, code: int
) -> None:
    with served(control=f"support.reads_frames:{reader}") as server:
        done = overread("sight", f"openai:m@{server.base_url}", "--clips", "--json")
        pictures = server.stats()["pictures"]
    found = json.loads(done.out)
    assert (done.code, found["verdict"], found["frames_arrived"]) == (code, verdict, arrived)
    assert pictures == {str(FRAMES): 2 * CLIPS, str(HALF): 1, "1": 1, "0": 1}


def test_it_is_said_in_plain_words(overread: Overread) -> None:
    with served(control="support.reads_frames:Four") as server:
        done = overread("sight", f"openai:m@{server.base_url}", "--clips")
    assert done.out.startswith("m: thinned\n")
    assert "frames it says it sees: 4 of 40" in done.out


def test_a_server_that_refuses_videos(overread: Overread) -> None:
    """The control server knows no video part: HTTP 400, while the bare question is answered."""
    with served(control="support.reads_frames:Every") as server:
        done = overread("sight", f"openai:m@{server.base_url}?clips=video", "--clips", "--json")
    found = json.loads(done.out)
    assert (done.code, found["verdict"], found["form"]) == (1, "does not arrive", "video")
    assert "refused" in found["evidence"][0]


@pytest.mark.parametrize("sampling", ["spread", "cut"])
@pytest.mark.parametrize(
    ("extra", "verdict", "arrived"),
    [
        ("", "all frames arrive", FRAMES),
        ('&extra={"media_io_kwargs":null}', "thinned", 32),
        ('&extra={"mm_processor_kwargs":{"do_sample_frames":true}}', "thinned", 4),
    ],
)
def test_a_stock_server_shows_a_whole_video_when_it_is_asked_to(
    overread: Overread, extra: str, verdict: str, arrived: int, sampling: Sampling
) -> None:
    with stock_vllm(read_video, sampling=sampling) as server:
        spec = f"openai:m@{server.base_url}?clips=video&timeout=60&concurrency=4{extra}"
        found = json.loads(overread("sight", spec, "--clips", "--json").out)
    assert (found["verdict"], found["frames_arrived"]) == (verdict, arrived)


def test_a_server_that_passes_over_the_fields_is_found_out(overread: Overread) -> None:
    with stock_vllm(read_video, honours=False) as server:
        spec = f"openai:m@{server.base_url}?clips=video&timeout=60&concurrency=4"
        done = overread("sight", spec, "--clips")
    assert done.code == 1
    assert done.out.startswith("m: thinned\n")
    assert "what it reads fits 32 frames, evenly spread over 40" in done.out
    sent = [body for body in server.bodies if "video_url" in str(body["messages"])[:200]]
    assert all(body["media_io_kwargs"] == {"video": {"num_frames": -1}} for body in sent)
    assert all(body["mm_processor_kwargs"] == {"do_sample_frames": False} for body in sent)


def test_a_reader_declared_text_only_is_not_asked(overread: Overread) -> None:
    with served("digits") as server:
        done = overread("sight", f"openai:m@{server.base_url}?modality=text", "--clips")
        assert server.stats()["requests"] == 0
    assert (done.code, "does not arrive" in done.out) == (1, True)


# ---------------------------------------------------------------- the clips


def test_the_digits_of_a_clip_can_be_read_in_images_and_in_a_video() -> None:
    clip = next(ask_for_frames(0)).request.clips[0]
    assert digits_of(render_clip(clip).frames) == SHOWN[0]
    video = render_clip(msgspec.structs.replace(clip, form="video"))
    assert read_video(video.frames[0]) == SHOWN[0]


def test_a_clip_shown_twice_is_asked_twice_with_room_for_every_digit() -> None:
    trials = list(ask_for_frames(0))
    assert [(t.case, t.repeat) for t in trials] == [
        *((f"{n:02}", repeat) for repeat in range(2) for n in range(CLIPS)),
        ("half", 0), ("one", 0), ("none", 0),
    ]  # fmt: skip
    shown = [len(clip.frames) for t in trials for clip in t.request.clips]
    assert shown == [FRAMES] * 2 * CLIPS + [HALF, 1]
    assert {t.request.decoding.max_tokens >= 2 * FRAMES for t in trials} == {True}
    thinking = next(ask_for_frames(0, reasoning=True)).request.decoding.max_tokens
    assert thinking >= 10 * trials[0].request.decoding.max_tokens


def test_the_digits_follow_the_seed() -> None:
    assert frames_of(3) == frames_of(3) != frames_of(4)
    assert {len(digits) for digits in SHOWN} == {FRAMES}


# ---------------------------------------------------------------- what is said


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("FRAMES=3 DIGITS=123", (3, "123")),
        ("Frames: 3, digits: 1, 2, 3", (3, "123")),
        ("FRAMES = 3\nDIGITS = 1 2 3", (3, "123")),
        ("<think>FRAMES=9 DIGITS=999999</think>FRAMES=3 DIGITS=123", (3, "123")),
        ("I see 3 frames.", (None, "3")),
        ("nothing", (None, "")),
    ],
)
def test_how_a_reply_is_read(text: str, said: tuple[int | None, str]) -> None:
    assert said_of(text) == said


# ---------------------------------------------------------------- how replies are weighed


def judged(
    texts: list[str],
    tokens: tuple[int | None, int | None, int | None, int | None] = (None, None, None, None),
    form: str = "images",
    again: list[str] | None = None,
) -> ClipSight:
    """`tokens` of a clip, of half, of one frame, of none."""
    whole, half, one, none = tokens
    first = {n: Reply(t, tokens_in=whole) for n, t in enumerate(texts)}
    second = {n: Reply(t, tokens_in=whole) for n, t in enumerate(again or texts)}
    tokens = {"half": half, "one": one, "none": none}
    others = {name: Reply("", tokens_in=count) for name, count in tokens.items()}
    return judge_clips("r", form, SHOWN, first, second, others)


def line(digits: str) -> str:
    return f"FRAMES={len(digits)} DIGITS={digits}"


@pytest.mark.parametrize("form", ["images", "sheet", "video"])
def test_reading_to_the_end_needs_no_tokens(form: str) -> None:
    found = judged([line(d) for d in SHOWN], form=form)
    assert (found.verdict, found.digits_read) == ("all frames arrive", CLIPS * FRAMES)


def test_digits_of_the_first_half_alone_do_not_prove_the_second() -> None:
    cut = [d[:HALF] + "".join(Random(d).choices("0123456789", k=HALF)) for d in SHOWN]
    assert judged([line(d) for d in cut]).verdict != "all frames arrive"


def other(digits: str) -> str:
    """Wrong in every place."""
    return "".join(str((int(digit) + 1) % 10) for digit in digits)


def test_the_chance_of_reading_is_that_of_the_later_half_alone() -> None:
    # Of each later half two digits are right: ten of a hundred, as a guesser has.
    some = [d[:HALF] + d[HALF : HALF + 2] + other(d[HALF + 2 :]) for d in SHOWN]
    found = judged([line(d) for d in some])
    assert found.p_read == pytest.approx(binomial_tail(2 * CLIPS, HALF * CLIPS, 0.1))
    assert found.digits_read == (HALF + 2) * CLIPS


def _same(one: str, other: str) -> int:
    return sum(a == b for a, b in zip(one, other, strict=True))


def test_the_chance_of_thinned_digits_counts_both_ways_to_spread_them() -> None:
    said = {n: (4, d[0] + other(d[13] + d[26] + d[39])) for n, d in enumerate(SHOWN)}
    best = max(
        sum(SHOWN[n][at] == digit for n, (_, d) in said.items()
            for at, digit in zip(places, d, strict=True))
        for places in ((0, 13, 26, 39), (0, 10, 20, 30))
    )  # fmt: skip
    unsaid = {n: (None, d) for n, (_, d) in said.items()}
    frames, p, how = _thinned(SHOWN, unsaid)
    assert (frames, how) == (4, "evenly spread over")
    assert p == pytest.approx(2 * binomial_tail(best, 4 * CLIPS, 0.1))
    # Where the reader says there were four, it may also have been shown the first four.
    first = sum(_same(SHOWN[n][:4], d) for n, (_, d) in said.items())
    assert first > best
    frames, p, how = _thinned(SHOWN, said)
    assert (frames, how) == (4, "the first of")
    assert p == pytest.approx(3 * binomial_tail(first, 4 * CLIPS, 0.1))


def test_what_is_said_of_the_frames_is_the_median_and_the_last_word_of_a_reply() -> None:
    texts = [f"FRAMES={n} DIGITS=1" for n in (4, 4, 40, 5, 6)]
    assert judged(texts).frames_said == 5
    assert said_of("FRAMES=9? No: FRAMES=3 DIGITS=123") == (3, "123")


def test_the_tokens_of_a_frame_are_a_clips_over_its_frames() -> None:
    found = judged([line(d) for d in SHOWN], (20 + 16 * FRAMES, 0, 20 + 16, 20))
    assert found.tokens_a_frame == 16


@pytest.mark.parametrize("kept", [4, 8, 16, 32])
def test_evenly_spread_digits_are_thinned(kept: int) -> None:
    for spread in (
        [round(i * (FRAMES - 1) / (kept - 1)) for i in range(kept)],
        [i * FRAMES // kept for i in range(kept)],
    ):
        found = judged([line("".join(d[at] for at in spread)) for d in SHOWN])
        assert (found.verdict, found.frames_arrived) == ("thinned", kept)


def test_a_clip_cut_after_so_many_frames_is_thinned() -> None:
    """Though digits of the later half are read in their places."""
    found = judged([line(d[:32]) for d in SHOWN])
    assert (found.verdict, found.frames_arrived) == ("thinned", 32)
    assert "what it reads fits 32 frames, the first of 40" in found.evidence


def test_a_reader_that_stops_reading_is_no_server_that_cuts() -> None:
    told = [f"FRAMES=40 DIGITS={d[:32]}" for d in SHOWN]
    assert judged(told).verdict == "all frames arrive"
    whole = (20 + 16 * 40, 0, 20 + 16, 20)
    assert judged([line(d[:32]) for d in SHOWN], whole).verdict == "all frames arrive"


def test_tokens_of_fewer_frames_are_thinned_whatever_is_said() -> None:
    many = [line(d) for d in SHOWN]
    assert judged(many, (20 + 16 * 40, 0, 20 + 16, 20)).verdict == "all frames arrive"
    found = judged(["no"] * CLIPS, (20 + 16 * 10, 0, 20 + 16, 20))
    assert (found.verdict, found.frames_arrived) == ("thinned", 10)


def test_what_is_read_beside_tokens_of_fewer_frames_is_not_all_of_them() -> None:
    found = judged([line(d) for d in SHOWN], (20 + 16 * 10, 0, 20 + 16, 20))
    assert (found.verdict, found.frames_arrived) == ("thinned", 10)


def test_a_video_capped_below_its_length_is_thinned() -> None:
    """Four frames of 40 and four of 20 cost the same: the second half added nothing."""
    found = judged(["no"] * CLIPS, (84, 84, 84, 20), "video")
    assert (found.verdict, found.frames_arrived) == ("thinned", HALF)


def test_a_video_whose_tokens_grow_with_it_but_is_not_read_cannot_be_told() -> None:
    assert judged(["no"] * CLIPS, (340, 180, 84, 20), "video").verdict == "cannot tell"


def test_tokens_without_movement_cannot_tell() -> None:
    assert judged(["no"] * CLIPS, (660, 340, 36, 20)).verdict == "cannot tell"


def test_no_tokens_added_is_no_sight() -> None:
    assert judged([line("7" * 40)] * CLIPS, (20, 20, 20, 20)).verdict == "does not arrive"


def test_nothing_reported_and_nothing_read_cannot_tell() -> None:
    assert judged(["no"] * CLIPS).verdict == "cannot tell"


@pytest.mark.parametrize("length", [4, 17, 40])
def test_a_blind_guesser_is_rarely_believed(length: int) -> None:
    believed = 0
    for seed in range(300):
        draw = Random(f"{seed}:{length}")
        texts = [line("".join(draw.choices("0123456789", k=length))) for _ in SHOWN]
        again = [line("".join(draw.choices("0123456789", k=length))) for _ in SHOWN]
        found = judged(texts, again=again)
        believed += found.verdict in ("all frames arrive", "thinned")
    assert believed <= 9  # 0.01 each: 3 expected
