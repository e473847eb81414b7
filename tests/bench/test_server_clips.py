"""Clips on the wire: the loopback server counts the frames that really arrived, and can lose some."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any

import pytest

from overread.imaging import lossless_clip, pixels
from overread.sight import CLIPS, FRAMES, HALF
from support.clip_files import frame, number_of, numbered, png, write
from support.commands import Overread
from support.served import SERVER, served

WINDOW = 12 + 2 * 8 + 1  # the authors' window of phases 12 frames apart


def body(*parts: tuple[str, str, bytes]) -> bytes:
    """A chat body of (kind, media type, bytes)."""
    content: list[dict[str, Any]] = [{"type": "text", "text": "How many?"}]
    for kind, media, data in parts:
        url = f"data:{media};base64,{base64.b64encode(data).decode()}"
        content.append({"type": kind, kind: {"url": url}})
    return json.dumps({"messages": [{"role": "user", "content": content}]}).encode()


@pytest.fixture
def wire(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(SERVER.parent))


# ---------------------------------------------------------------- counting


@pytest.mark.usefixtures("wire")
def test_pictures_and_frames_of_videos_are_counted_alike() -> None:
    from chat_server.clips import count_frames

    image = ("image_url", "image/png", png(frame(1)))
    video = ("video_url", "video/mp4", numbered(17, "mp4", "libx264"))
    other = ("video_url", "video/x-matroska", lossless_clip([frame(n) for n in range(5)]))
    assert count_frames(body()) == 0
    assert count_frames(body(image, image)) == 2
    assert count_frames(body(image, video, other)) == 1 + 17 + 5


@pytest.mark.usefixtures("wire")
def test_of_a_damaged_video_only_what_decodes_is_counted() -> None:
    from chat_server.clips import count_frames

    whole = numbered(20, "avi", "mjpeg")
    cut = count_frames(body(("video_url", "video/avi", whole[: len(whole) // 2])))
    assert 0 < cut < 20
    assert count_frames(body(("video_url", "video/mp4", b"no video"))) == 0


# ---------------------------------------------------------------- what a reader behind it sees


@pytest.mark.usefixtures("wire")
def test_a_video_becomes_its_frames_in_order_or_is_refused() -> None:
    from chat_server.wire import prompt_of

    asked = body(("video_url", "video/mp4", numbered(17, "mp4", "libx264")))
    (clip,) = prompt_of(asked, videos=True).clips
    assert [number_of(pixels(shown)[..., 0]) for shown in clip.frames] == list(range(17))
    with pytest.raises(ValueError, match="'video_url' is not understood"):
        prompt_of(asked)
    with pytest.raises(ValueError, match="cannot be decoded"):
        prompt_of(body(("video_url", "video/mp4", b"no video")), videos=True)


@pytest.mark.usefixtures("wire")
@pytest.mark.parametrize(
    ("most", "kept"), [(1, [0]), (2, [0, 9]), (4, [0, 3, 6, 9]), (10, [*range(10)])]
)
def test_thinning_spreads_evenly_and_keeps_the_text(most: int, kept: list[int]) -> None:
    from chat_server.clips import thinned
    from chat_server.wire import prompt_of

    images = [png(frame(n)) for n in range(10)]
    prompt = prompt_of(body(*(("image_url", "image/png", data) for data in images)))
    less = thinned(prompt, most)
    assert [shown.data for shown in less.pictures] == [images[n] for n in kept]
    assert (less.text, less.decoding) == (prompt.text, prompt.decoding)


# ---------------------------------------------------------------- the whole way


@pytest.mark.parametrize(
    ("thin", "verdict", "arrived", "code"),
    [(0, "all frames arrive", FRAMES, 0), (4, "thinned", 4, 1)],
)
def test_sight_notices_what_a_server_does_to_a_video_and_does_not_say(
    overread: Overread, thin: int, verdict: str, arrived: int, code: int
) -> None:
    """Every frame is sent; the reader behind the server reads whatever reaches it."""
    with served(control="support.reads_frames:Every", videos=True, thin=thin) as server:
        reader = f"openai:m@{server.base_url}?clips=video"
        done = overread("sight", reader, "--clips", "--json")
        frames = server.stats()["frames"]
    assert frames == {str(FRAMES): 2 * CLIPS, str(HALF): 1, "1": 1, "0": 1}
    found = json.loads(done.out)
    assert (done.code, found["verdict"], found["form"]) == (code, verdict, "video")
    assert found["frames_arrived"] == arrived


@pytest.mark.parametrize("form", ["images", "video"])
def test_every_frame_of_a_window_travels_in_every_request(
    overread: Overread, tmp_path: Path, form: str
) -> None:
    write(tmp_path, "set/a.avi", numbered(40))
    Path(tmp_path, "set/cases.csv").write_text("clip,ed,es\na.avi,10,22\n")
    with served("instant", tally=True) as server:
        reader = f"openai:m@{server.base_url}?clips={form}"
        cases = ("--cases", str(tmp_path / "set"), "--edition", "authors", "--reader", reader)
        asked = ("--set", "seeds=7", "--set", "passes=2", "--set", "formats=edv,esv")
        done = overread("run", "heartbeat", *cases, *asked, "--out", str(tmp_path / "run"))
        stats = server.stats()
    assert done.code == 0
    # Two formats and two passes of T1 with the whole window, as many of T2 with two frames.
    asked = {str(WINDOW): 4, "2": 4}
    if form == "video":  # and first three of noise, by whose tokens it is known that all arrive
        asked |= {"4": 1, "8": 1, str(WINDOW): 5}
    assert stats["frames"] == asked
    assert stats["bodies"] == sum(asked.values())
    if form == "video":
        assert stats["pictures"] == {"0": 11}
