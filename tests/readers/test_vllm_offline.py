"""vLLM's offline engine, by a stand-in with its signatures: no GPU is here to run the real one."""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

import overread.readers.vllm_offline as offline
from overread.case import BadInput, Decoding, Prompt, PromptMessage, Reader, Shown, ShownClip
from overread.readers import Guard, open_reader
from overread.sight import digit_picture
from support.stand_in_vllm import LLM, install

PICTURE = Shown("image/png", digit_picture("1", 16))
FILM = ShownClip((Shown("video/mp4", b"film"),), 40, "video")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "config.json").write_text("{}")
    (tmp_path / "model.safetensors").write_bytes(b"weights")
    return tmp_path


@pytest.fixture
def vllm(monkeypatch: pytest.MonkeyPatch) -> type[LLM]:
    for name in offline._QUIET:
        monkeypatch.setenv(name, "0")  # and so put back afterwards
    monkeypatch.setattr(offline, "version", lambda name: "0.99")
    return install(monkeypatch)


def opened(folder: Path, options: str = "") -> Reader:
    return open_reader(f"vllm:{folder}?{options}", guard=Guard(), environment={}, controls={})


def answers(reader: Reader, prompts: Sequence[Prompt]) -> list[Any]:
    async def work() -> list[Any]:
        found = await asyncio.gather(*map(reader.reply, prompts), return_exceptions=True)
        await reader.close()
        return list(found)

    return asyncio.run(work())


def prompt(*parts: str | Shown | ShownClip, draw: str = "", **decoding: Any) -> Prompt:
    return Prompt((PromptMessage("user", parts),), Decoding(**decoding), draw=draw)


def test_it_is_asked_as_its_server_is(folder: Path, vllm: type[LLM]) -> None:
    (reply,) = answers(opened(folder), [prompt(PICTURE, "Which?", max_tokens=5, top_logprobs=2)])
    assert reply.text == "?hcihW by None"
    assert reply.logprobs == (("Yes", -0.1), ("No", -1.0))
    assert (reply.tokens_in, reply.tokens_out, reply.finish) == (10, 2, "stop")
    (asked,) = vllm.asked
    assert asked["messages"] == [
        [
            {
                "role": "user",
                "content": [
                    {
                        "type": "image_url",
                        "image_url": {"url": f"data:image/png;base64,{PICTURE.base64.decode()}"},
                    },
                    {"type": "text", "text": "Which?"},
                ],
            }
        ]
    ]
    assert asked["sampling_params"][0].temperature == 0
    assert asked["mm_processor_kwargs"] is None


def test_the_engine_is_told_to_keep_videos_whole_and_checkpoints_settings_out(
    folder: Path, vllm: type[LLM]
) -> None:
    answers(opened(folder, "clips=video&dtype=float16"), [prompt(FILM, "Which?")])
    (made,) = vllm.made
    assert made["media_io_kwargs"] == {"video": {"num_frames": -1}}
    assert (made["generation_config"], made["dtype"]) == ("vllm", "float16")
    assert made["model"] == str(folder)
    assert vllm.asked[0]["mm_processor_kwargs"] == {"do_sample_frames": False}


def test_nothing_is_reported_or_looked_up(folder: Path, vllm: type[LLM]) -> None:
    answers(opened(folder), [prompt("Which?")])
    assert os.environ["VLLM_NO_USAGE_STATS"] == "1"
    assert os.environ["HF_HUB_OFFLINE"] == "1"


def test_sampled_replies_have_seeds_of_their_own(folder: Path, vllm: type[LLM]) -> None:
    hot = [prompt("Which?", temperature=1.0, draw=lot) for lot in ("a", "b", "a")]
    first, second, again = answers(opened(folder), hot)
    assert first.text == again.text != second.text


def test_extra_goes_to_the_request_or_to_the_engine(folder: Path, vllm: type[LLM]) -> None:
    extra = {"top_k": 4, "max_model_len": 4096, "chat_template_kwargs": {"enable_thinking": False}}
    answers(opened(folder, f"extra={json.dumps(extra)}"), [prompt("Which?")])
    assert vllm.made[0]["max_model_len"] == 4096
    assert vllm.asked[0]["sampling_params"][0].top_k == 4
    assert vllm.asked[0]["chat_template_kwargs"] == {"enable_thinking": False}


def test_code_of_a_checkpoint_is_not_run(folder: Path, vllm: type[LLM]) -> None:
    with pytest.raises(BadInput, match="extra may not set trust_remote_code"):
        opened(folder, 'extra={"trust_remote_code": true}')


def test_without_it_the_line_says_what_to_install(folder: Path) -> None:
    with pytest.raises(BadInput, match=r"vllm: readers need vllm\. Run pip install vllm\."):
        opened(folder)
