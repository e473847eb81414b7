"""A clip on the wire: every frame in its place, whatever form the reader takes."""

from __future__ import annotations

import asyncio
import base64
import json
from pathlib import Path
from typing import Any

import msgspec
import pytest

from overread.case import (
    BadInput,
    Clip,
    Inline,
    Message,
    Prompt,
    PromptMessage,
    Request,
    Shown,
    ShownClip,
    Trial,
)
from overread.engine import Sources, Store, Studio, ask
from overread.imaging import lossless_clip, render_clip
from overread.readers import Guard, open_reader, parse_spec
from overread.readers.openai_http import request_body
from support.clip_files import frame
from support.served import served

FRAMES = 11
CLIP = Clip(Inline(lossless_clip([frame(number) for number in range(20)])), tuple(range(5, 16)))
KIND = {"images": "image_url", "sheet": "image_url", "video": "video_url"}


def asked(spec: str, tmp_path: Path, *parts: str | Clip) -> str:
    reader = open_reader(spec, guard=Guard("open"), environment={}, controls={})
    trial = Trial("case", {}, Request((Message("user", parts),)))

    async def work(store: Store, studio: Studio) -> None:
        await ask(lambda: [trial], reader, store, studio, dataset=1)
        await reader.close()

    with Store(tmp_path / "store.sqlite") as store:
        studio = Studio(Sources(store, 1))
        asyncio.run(work(store, studio))
        studio.close()
        assert store.count() == 1
    return reader.name


@pytest.mark.parametrize("form", ["images", "sheet", "video"])
def test_what_arrives_is_what_was_rendered(tmp_path: Path, form: str) -> None:
    with served("instant", keep=1) as server:
        asked(f"openai:m@{server.base_url}?clips={form}", tmp_path, "before", CLIP, "after")
        (body,) = server.kept()
    rendered = render_clip(msgspec.structs.replace(CLIP, form=form))
    first, *shown, last = json.loads(body)["messages"][0]["content"]
    assert (first["text"], last["text"]) == ("before", "after")
    assert len(shown) == (FRAMES if form == "images" else 1)
    for part, frame_shown in zip(shown, rendered.frames, strict=True):
        kind = KIND[form]
        assert set(part) == {"type", kind}
        assert part["type"] == kind
        head, _, data = part[kind]["url"].partition(";base64,")
        assert head == f"data:{frame_shown.media_type}"
        assert base64.b64decode(data) == frame_shown.data


def test_images_are_the_default() -> None:
    assert parse_spec("openai:m@http://127.0.0.1:1/v1").traits.clips == "images"


def test_an_unknown_form_is_refused_in_one_line() -> None:
    with pytest.raises(BadInput, match='clips is "film"') as refused:
        parse_spec("openai:m@http://127.0.0.1:1/v1?clips=film")
    assert "\n" not in str(refused.value)


def test_a_text_reader_is_sent_no_frame(tmp_path: Path) -> None:
    with served("instant", keep=1) as server:
        asked(f"openai:m@{server.base_url}?modality=text", tmp_path, CLIP, "q")
        (body,) = server.kept()
    assert json.loads(body)["messages"][0]["content"] == "q"


def prompt(*frames: bytes) -> Prompt:
    shown = ShownClip(tuple(Shown("image/png", data) for data in frames), len(frames), "images")
    return Prompt((PromptMessage("user", (shown, "q")),))


def test_sent_names_every_frame_and_their_order(tmp_path: Path) -> None:
    async def sent(server_url: str, *prompts: Prompt) -> list[str]:
        reader = open_reader(
            f"openai:m@{server_url}", guard=Guard("open"), environment={}, controls={}
        )
        found = [(await reader.reply(one)).sent for one in prompts]
        await reader.close()
        return found

    with served("instant") as server:
        same, again, swapped, changed = asyncio.run(
            sent(
                server.base_url,
                prompt(b"a", b"b", b"c"),
                prompt(b"a", b"b", b"c"),
                prompt(b"a", b"c", b"b"),
                prompt(b"a", b"b", b"d"),
            )
        )
    assert same == again
    assert len({same, swapped, changed}) == 3


def test_two_clips_and_a_picture_keep_their_places() -> None:
    one, two = (
        ShownClip((Shown("image/png", b"%d" % n), Shown("image/png", b"%d'" % n)), 2, "images")
        for n in (1, 2)
    )
    lone = Shown("image/jpeg", b"3")
    made = Prompt((PromptMessage("user", (one, "x", lone, two)),))
    body = json.loads(request_body(made, parse_spec("openai:m@http://127.0.0.1:1/v1")))
    parts = body["messages"][0]["content"]
    data = [
        part["text"] if part["type"] == "text" else
        base64.b64decode(part["image_url"]["url"].partition(",")[2])
        for part in parts
    ]  # fmt: skip
    assert data == [b"1", b"1'", "x", b"3", b"2", b"2'"]


EVERY_FRAME = {
    "media_io_kwargs": {"video": {"num_frames": -1}},
    "mm_processor_kwargs": {"do_sample_frames": False},
}


def further(body: str) -> dict[str, Any]:
    known = {"model", "messages", "max_tokens", "temperature"}
    return {name: value for name, value in json.loads(body).items() if name not in known}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("extra", "fields"),
    [
        ({}, EVERY_FRAME),
        ({"top_k": 1}, {"top_k": 1, **EVERY_FRAME}),
        (
            {"mm_processor_kwargs": {"max_pixels": 99}, "media_io_kwargs": {"video": {"fps": 1}}},
            {
                "mm_processor_kwargs": {"do_sample_frames": False, "max_pixels": 99},
                "media_io_kwargs": {"video": {"num_frames": -1, "fps": 1}},
            },
        ),
        ({"mm_processor_kwargs": None, "media_io_kwargs": None}, {}),
    ],
)
def test_a_video_goes_with_the_wish_for_every_frame_of_it(
    tmp_path: Path, extra: dict[str, Any], fields: dict[str, Any]
) -> None:
    with served("instant", keep=2) as server:
        spec = f"openai:m@{server.base_url}?clips=video&extra={json.dumps(extra)}"
        asked(spec, tmp_path, CLIP, "q")
        asked(spec, tmp_path / "again", "no clip at all")
        filmed, bare = server.kept()
    assert further(filmed) == fields
    assert further(bare) == {k: v for k, v in extra.items() if k in json.loads(bare)}


def test_images_go_without(tmp_path: Path) -> None:
    with served("instant", keep=1) as server:
        asked(f"openai:m@{server.base_url}", tmp_path, CLIP, "q")
        assert further(server.kept()[0]) == {}


def test_the_wish_for_every_frame_is_part_of_the_key() -> None:
    def identity(options: str) -> str:
        spec = f"openai:m@http://127.0.0.1:1/v1{options}"
        return open_reader(spec, guard=Guard("open"), environment={}, controls={}).identity

    thinned = '?clips=video&extra={"media_io_kwargs":null}'
    said = [identity(options) for options in ("", "?clips=video", thinned)]
    assert len(set(said)) == 3
    assert "num_frames" in said[1]
    assert identity("?clips=video&modality=text") == said[0]
