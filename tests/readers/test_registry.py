"""One registry: a spec in, a reader out."""

from __future__ import annotations

import asyncio

import pytest

from overread.case import BadInput, Prompt, PromptMessage, ReaderFailure
from overread.readers import Guard, open_reader, unlisted
from support.answering import answering, response
from support.readers import Scripted

LOOKS = Scripted(name="control:looks")


def open_(spec: str, **environment: str):
    return open_reader(spec, guard=Guard(), environment=environment, controls={"looks": LOOKS})


def test_a_control_is_the_benchmarks_own() -> None:
    assert open_("control:looks") is LOOKS


def test_a_control_may_have_another_name_and_stays_itself() -> None:
    renamed = open_("control:looks?label=control:looks-again")
    assert renamed.name == "control:looks-again"
    assert renamed.identity == LOOKS.identity
    assert renamed.traits == LOOKS.traits


@pytest.mark.parametrize("option", ["modality=text", "concurrency=3", "temperature=1"])
def test_a_control_takes_no_other_option(option: str) -> None:
    with pytest.raises(BadInput, match="no option but label"):
        open_(f"control:looks?{option}")


def test_an_unknown_control_lists_the_known_ones() -> None:
    with pytest.raises(BadInput, match="looks"):
        open_("control:nothing")


SERVED = "openai:m@http://127.0.0.1:8000/v1"


def sent(**environment: str) -> bytes:
    """The head of a request as it goes over the wire."""
    asked: list[bytes] = []

    async def go() -> None:
        async with answering(lambda request: asked.append(request) or response(b"{}")) as url:
            reader = open_(f"openai:m@{url}", **environment)
            with pytest.raises(ReaderFailure, match="not a chat completion"):
                await reader.reply(Prompt((PromptMessage("user", ("q",)),)))
            await reader.close()

    asyncio.run(go())
    return asked[0].partition(b"\r\n\r\n")[0] + b"\r\n"


@pytest.mark.parametrize("key", ["hunter2\n", " hunter2\r\n", "\thunter2 "])
def test_the_line_break_at_the_end_of_a_key_is_no_part_of_it(key: str) -> None:
    assert b"\r\nAuthorization: Bearer hunter2\r\n" in sent(OPENAI_API_KEY=key)


@pytest.mark.parametrize("key", ["hun\nter2", "hun\r\nX-Other: ter2", "hun\x00ter2", "hun\x7fter2"])
def test_a_key_with_control_characters_is_refused_and_not_repeated(key: str) -> None:
    with pytest.raises(BadInput, match="OPENAI_API_KEY holds a control character") as caught:
        open_(SERVED, OPENAI_API_KEY=key)
    assert "ter2" not in str(caught.value)


def test_a_key_of_white_space_is_none() -> None:
    assert b"authorization" not in sent(OPENAI_API_KEY=" \n").lower()
    with pytest.raises(BadInput, match="MY_KEY named by key_env is not set"):
        open_(f"{SERVED}?key_env=MY_KEY", MY_KEY="\n")


@pytest.mark.parametrize(
    ("names", "says"),
    [
        ([], ""),
        (["qwen3-vl-8b"], ""),
        (["qwen3-vl-4b", "llama"], "but qwen3-vl-4b and 1 more;"),
        (["llama", "phi", "gemma", "yi"], "but llama, phi, gemma and 1 more;"),
    ],
)
def test_a_model_its_server_does_not_list(names: list[str], says: str) -> None:
    said = unlisted("qwen3-vl-8b", names)
    assert says in said
    assert bool(said) is bool(says)
