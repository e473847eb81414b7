"""A module with vLLM's own call signatures and no model: what `vllm:` does is tried against it.

Names and order of arguments are those of vLLM's `LLM.__init__`, `LLM.chat` and `SamplingParams` (2026);
anything else raises, as there.
"""

from __future__ import annotations

import importlib.machinery
import sys
from dataclasses import dataclass
from types import ModuleType
from typing import Any

import pytest


@dataclass
class Logprob:
    logprob: float
    rank: int | None = None
    decoded_token: str | None = None


@dataclass
class CompletionOutput:
    text: str
    token_ids: list[int]
    logprobs: list[dict[int, Logprob]] | None
    finish_reason: str | None


@dataclass
class RequestOutput:
    prompt_token_ids: list[int]
    outputs: list[CompletionOutput]


@dataclass
class SamplingParams:
    n: int = 1
    presence_penalty: float = 0.0
    frequency_penalty: float = 0.0
    repetition_penalty: float = 1.0
    temperature: float = 1.0
    top_p: float = 1.0
    top_k: int = 0
    min_p: float = 0.0
    seed: int | None = None
    stop: str | list[str] | None = None
    max_tokens: int | None = 16
    logprobs: int | None = None


class LLM:
    made: list[dict[str, Any]]
    asked: list[dict[str, Any]]

    def __init__(
        self, model: str, *, dtype: str = "auto", quantization: str | None = None,
        generation_config: str = "auto", logprobs_mode: str = "raw_logprobs",
        media_io_kwargs: dict[str, Any] | None = None, max_model_len: int | None = None,
        tensor_parallel_size: int = 1,
    ) -> None:  # fmt: skip
        LLM.made.append(dict(locals()))

    def chat(
        self,
        messages: list[list[dict[str, Any]]],
        sampling_params: list[SamplingParams] | None = None,
        use_tqdm: bool = True,
        lora_request: object = None,
        chat_template: str | None = None,
        chat_template_content_format: str = "auto",
        add_generation_prompt: bool = True,
        continue_final_message: bool = False,
        tools: object = None,
        chat_template_kwargs: dict[str, Any] | None = None,
        tokenization_kwargs: dict[str, Any] | None = None,
        mm_processor_kwargs: dict[str, Any] | None = None,
    ) -> list[RequestOutput]:
        LLM.asked.append(dict(locals()))
        assert sampling_params is not None
        assert len(sampling_params) == len(messages)
        return [_said(*both) for both in zip(messages, sampling_params, strict=True)]


def _said(messages: list[dict[str, Any]], params: SamplingParams) -> RequestOutput:
    parts = [part for message in messages for part in message["content"]]
    text = "".join(part["text"] for part in parts if part["type"] == "text")
    first = {
        7: Logprob(-2.0, 3, "drawn"), 8: Logprob(-0.1, 1, "Yes"), 9: Logprob(-1.0, 2, "No")
    }  # fmt: skip
    many = None if params.logprobs is None else [first]
    said = CompletionOutput(f"{text[::-1]} by {params.seed}", [7, 1], many, "stop")
    return RequestOutput(list(range(len(text) + 4 * (len(parts) - 1))), [said])


def install(monkeypatch: pytest.MonkeyPatch) -> type[LLM]:
    module = ModuleType("vllm")
    module.__spec__ = importlib.machinery.ModuleSpec("vllm", None)
    LLM.made, LLM.asked = [], []
    module.LLM, module.SamplingParams = LLM, SamplingParams  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "vllm", module)
    return LLM
