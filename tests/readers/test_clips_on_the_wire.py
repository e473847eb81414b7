"""A clip on the wire: every frame in its place, whatever form the reader takes."""

from __future__ import annotations

import asyncio
import base64
import json
from pathlib import Path

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
