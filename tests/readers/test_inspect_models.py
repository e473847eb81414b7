"""`inspect:` readers: models of Inspect's providers, behind our guard, pace and retries."""

from __future__ import annotations

import importlib.util
from typing import Any

import pytest

from overread.case import (
    BadInput,
    Decoding,
    Prompt,
    PromptMessage,
    ReaderFailure,
    Shown,
    ShownClip,
)
from overread.readers import Guard, open_reader, parse_spec
from overread.readers.inspect_models import InspectReader, messages_of, reply_of
from overread.runs import run_async

pytestmark = pytest.mark.slow

SPEC = "inspect:mockllm/model"
FILM = Shown("image/png", b"\x89PNG")
PROMPT = Prompt(
    (
        PromptMessage("system", ("Be brief.",)),
        PromptMessage("user", ("What is it?", FILM, ShownClip((FILM, FILM), 2, "images"))),
    ),
    Decoding(max_tokens=7, temperature=0.0, top_logprobs=5, seed=3),
)


def opened(spec: str = SPEC, policy: Any = "open", share_with: tuple[str, ...] = ()) -> Any:
    return open_reader(
        spec, guard=Guard(policy, share_with), environment={"K": "key-key-key-key"}, controls={}
    )


def mocked(monkeypatch: pytest.MonkeyPatch, answer: Any, spec: str = SPEC) -> InspectReader:
    """A reader of Inspect's mock provider that answers with this, or with what this makes of
    (messages, tools, choice, config)."""
    from inspect_ai.model import get_model

    reader = opened(spec)
    made = reader._model
    reader.__dict__["_model"] = get_model(
        "mockllm/model", custom_outputs=answer, config=made.config, memoize=False
    )
    return reader


def output(text: str = "Yes", **changes: Any) -> Any:
    from inspect_ai.model import ModelOutput, ModelUsage

    made = ModelOutput.from_content("mock-1", text, **changes)
    made.usage = ModelUsage(input_tokens=9, output_tokens=2, total_tokens=11)
    return made


def test_a_prompt_becomes_messages_and_the_output_a_reply(monkeypatch: pytest.MonkeyPatch) -> None:
    seen = []

    def answer(messages: Any, tools: Any, choice: Any, config: Any) -> Any:
        seen.append((messages, tools, config))
        return output(stop_reason="max_tokens")

    reader = mocked(monkeypatch, answer, SPEC + '?extra={"top_k": 1}')
    reply = run_async(reader.reply(PROMPT))
    assert (reply.text, reply.finish, reply.model) == ("Yes", "length", "mock-1")
    assert (reply.tokens_in, reply.tokens_out, reply.logprobs) == (9, 2, None)
    ((messages, tools, config),) = seen
    assert tools == []
    assert (config.max_tokens, config.temperature, config.seed) == (7, 0.0, 3)
    assert (config.logprobs, config.top_logprobs, config.top_k) == (True, 5, 1)
    system, user = messages
    assert (system.role, system.content) == ("system", "Be brief.")
    assert [part.type for part in user.content] == ["text", "image", "image", "image"]
    assert user.content[1].image == "data:image/png;base64,iVBORw=="


def test_first_token_probabilities_and_reasoning_are_kept() -> None:
    from inspect_ai.model import ContentReasoning, ContentText, Logprob, Logprobs, TopLogprob

    made = output()
    top = [TopLogprob(token="Yes", logprob=-0.1), TopLogprob(token="No", logprob=-2.0)]
    made.choices[0].logprobs = Logprobs(
        content=[Logprob(token="Yes", logprob=-0.1, top_logprobs=top)]
    )
    made.choices[0].message.content = [
        ContentReasoning(reasoning="Hm."), ContentText(text="Yes"),
    ]  # fmt: skip
    reply = reply_of(made)
    assert reply.logprobs == (("Yes", -0.1), ("No", -2.0))
    assert (reply.text, reply.reasoning) == ("Yes", "Hm.")


def test_nothing_said_is_a_failure_and_no_empty_reply() -> None:
    made = output()
    made.choices = []
    with pytest.raises(ReaderFailure, match="no choice"):
        reply_of(made)


def test_what_a_provider_raises_is_a_failure_of_its_kind(monkeypatch: pytest.MonkeyPatch) -> None:
    def answer(*_: Any) -> Any:
        raise ValueError("two\nlines, and key-key-key-key")

    reader = mocked(monkeypatch, answer, SPEC + "?key_env=K")
    with pytest.raises(ReaderFailure) as failed:
        run_async(reader.reply(PROMPT))
    assert failed.value.reason == "ValueError: two lines, and ****"
    assert not failed.value.heals
    run_async(reader.close())


def test_a_model_that_never_answers_times_out(monkeypatch: pytest.MonkeyPatch) -> None:
    async def answer(*_: Any) -> Any:
        import asyncio

        await asyncio.Event().wait()

    reader = mocked(monkeypatch, answer, SPEC + "?timeout=0.01")
    with pytest.raises(ReaderFailure, match=r"timeout: no reply within 0\.01 s"):
        run_async(reader.reply(PROMPT))


def test_text_messages_are_plain_strings() -> None:
    (message,) = messages_of(Prompt((PromptMessage("user", ("a", "b")),)))
    assert message.content == "a\nb"


@pytest.mark.parametrize(
    ("spec", "share_with", "refused"),
    [
        ("inspect:anthropic/m", (), True),
        ("inspect:anthropic/m", ("anthropic",), False),
        ("inspect:anthropic/m", ("api.anthropic.com",), True),
        ("inspect:vllm/m?base_url=http://127.0.0.1:8000/v1", (), False),
        ("inspect:vllm/m?base_url=http://gpu.example.org/v1", (), True),
        ("inspect:vllm/m?base_url=http://gpu.example.org/v1", ("vllm",), True),
        ("inspect:vllm/m?base_url=http://gpu.example.org/v1", ("gpu.example.org",), False),
    ],
)
def test_a_provider_is_a_public_host_unless_it_is_declared(
    spec: str, share_with: tuple[str, ...], refused: bool
) -> None:
    assert opened(spec).identity != ""  # of an open set anybody may be asked
    if refused:
        with pytest.raises(BadInput, match=r"credentialed .* Nothing was sent"):
            opened(spec, "credentialed", share_with)
    else:
        opened(spec, "credentialed", share_with)


def test_identity_is_provider_model_address_and_extras_but_no_label() -> None:
    plain = opened().identity
    assert opened(SPEC + "?label=x&concurrency=3").identity == plain
    others = {
        opened(SPEC + query).identity
        for query in ("?revision=2", "?base_url=http://127.0.0.1:1/v1", '?extra={"top_k": 1}')
    }
    assert len(others | {plain}) == 4


@pytest.mark.parametrize(
    ("spec", "why"),
    [
        ("inspect:model", "expected inspect:PROVIDER/MODEL"),
        ("inspect:mockllm/", "expected inspect:PROVIDER/MODEL"),
        ("inspect:mockllm/m?base_url=elsewhere", "the base URL is"),
        ("inspect:mockllm/m?key_env=NOT_SET", "NOT_SET named by key_env is not set"),
    ],
)
def test_what_is_no_such_reader(spec: str, why: str) -> None:
    with pytest.raises(BadInput, match=why):
        opened(spec)


@pytest.mark.parametrize(
    ("spec", "why"),
    [
        ("inspect:no-such/m", "no-such"),
        ('inspect:mockllm/m?extra={"top_q": 1}', "top_q, which is no field"),
    ],
)
def test_what_inspect_does_not_know_is_one_line_when_it_is_asked(spec: str, why: str) -> None:
    with pytest.raises(BadInput, match=why) as refused:
        run_async(opened(spec).reply(PROMPT))
    assert "\n" not in str(refused.value)


def test_without_the_extra_it_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        "overread.readers.inspect_models.find_spec",
        lambda name: None if name == "inspect_ai" else importlib.util.find_spec(name),
    )
    with pytest.raises(BadInput, match=r"pip install 'overread\[inspect\]'"):
        opened()
    assert parse_spec(SPEC).name == SPEC
