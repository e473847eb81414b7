"""A run refuses rather than measure clips of which frames were dropped on the way."""

from __future__ import annotations

import asyncio
from pathlib import Path
from types import SimpleNamespace

import pytest

from overread.case import Clip, Decoding, Inline, Message, ReaderFailure, Reply, Request, Trial
from overread.engine import Sources, Store, Studio, Tally, ask
from overread.imaging import lossless_clip
from overread.imaging._video import movie_frames
from overread.readers import Guard, WholeClips, open_reader
from overread.runs._opening import open_readers
from support.clip_files import frame
from support.stock_vllm import Stock, stock_vllm

FRAMES = 40
SOURCE = Inline(lossless_clip([frame(number % 20) for number in range(FRAMES)]))


def frames_in(video: object) -> str:
    return "x" * len(movie_frames(video.data))  # type: ignore[attr-defined]


def asked(reader: WholeClips, folder: Path, frames: int, trials: int = 10) -> tuple[Tally, int]:
    """So many questions about a clip; what happened, and how many replies were kept."""
    clip = Clip(SOURCE, tuple(range(frames)))
    plan = [
        Trial(str(n), {}, Request((Message("user", (clip, f"Question {n}?")),)))
        for n in range(trials)
    ]

    async def work(store: Store, studio: Studio) -> Tally:
        tally = await ask(lambda: plan, reader, store, studio, dataset=1)
        await reader.close()
        return tally

    with Store(folder / "store.sqlite") as store:
        studio = Studio(Sources(store, 1))
        tally = asyncio.run(work(store, studio))
        studio.close()
        return tally, store.count()


def opened(server: Stock, options: str = "") -> WholeClips:
    spec = f"openai:m@{server.base_url}?clips=video&attempts=1{options}"
    return WholeClips(open_reader(spec, guard=Guard("open"), environment={}, controls={}))


def test_whole_videos_are_asked_about_after_three_calls_of_one_token(tmp_path: Path) -> None:
    with stock_vllm(frames_in) as server:
        reader = opened(server)
        tally, kept = asked(reader, tmp_path, FRAMES)
    assert (tally.stopped, kept) == (None, 10)
    first = server.bodies[:3]
    assert [body["max_tokens"] for body in first] == [1, 1, 1]
    assert len(server.bodies) == 3 + 10
    assert reader.facts == {"video_of_40_frames": 40.0}
    assert reader.remarks == ()


@pytest.mark.parametrize(
    ("options", "honours", "arrives"),
    [
        ("", False, 32),
        ('&extra={"media_io_kwargs":null}', True, 32),
        ('&extra={"mm_processor_kwargs":null}', True, 8),
    ],
)
def test_thinned_videos_are_refused_and_nothing_is_kept(
    tmp_path: Path, options: str, honours: bool, arrives: int
) -> None:
    with stock_vllm(frames_in, honours=honours) as server:
        tally, kept = asked(opened(server, options), tmp_path, FRAMES)
    assert kept == 0
    assert f"a video of 40 frames costs the tokens of {arrives}, so the server thins it" in str(
        tally.stopped
    )
    assert len(server.bodies) == 3  # no question of the run was sent


def test_a_video_within_the_servers_limit_is_whole(tmp_path: Path) -> None:
    with stock_vllm(frames_in, honours=False) as server:
        tally, kept = asked(opened(server), tmp_path, 30)
    assert (tally.stopped, kept, len(server.bodies)) == (None, 10, 13)


def test_where_tokens_are_not_reported_it_is_said(tmp_path: Path) -> None:
    with stock_vllm(frames_in, counts=False) as server:
        reader = opened(server)
        _, kept = asked(reader, tmp_path, FRAMES)
    assert kept == 10
    assert reader.facts == {"video_of_40_frames": "tokens not reported"}
    assert "overread sight SPEC --clips" in reader.remarks[0]


def test_two_frames_are_not_looked_at(tmp_path: Path) -> None:
    with stock_vllm(frames_in) as server:
        asked(opened(server), tmp_path, 2)
        assert len(server.bodies) == 10


def test_a_look_that_fails_fails_its_trial_and_is_taken_again() -> None:
    class Falters:
        def __init__(self) -> None:
            self.calls = 0

        async def reply(self, prompt: object) -> Reply:
            self.calls += 1
            if self.calls == 1:
                raise ReaderFailure("HTTP 503: busy", heals=True)
            return Reply("yes", tokens_in=10 * self.calls)

    inner = Falters()
    reader = WholeClips(
        SimpleNamespace(  # type: ignore[arg-type]
            name="m", identity="m", traits=None, limits=None, reply=inner.reply
        )
    )

    async def work() -> float | None:
        with pytest.raises(ReaderFailure, match="busy"):
            await reader._look(16, Decoding())
        return await reader._look(16, Decoding())

    assert asyncio.run(work()) is not None


def test_runs_look_and_only_where_videos_go_out() -> None:
    bench = SimpleNamespace(policy="open")
    seats = open_readers(
        bench,  # type: ignore[arg-type]
        [
            "openai:a@http://127.0.0.1:9/v1?clips=video",
            "openai:b@http://127.0.0.1:9/v1",
            "openai:c@http://127.0.0.1:9/v1?clips=video&modality=text",
        ],
    )
    assert [isinstance(seat.reader, WholeClips) for seat in seats] == [True, False, False]
