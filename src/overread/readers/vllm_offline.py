"""`vllm:` readers: vLLM's offline engine in this process, asked with the messages of its server.

vLLM batches by itself, so what waits in line is handed over together. It needs a GPU: so far this
ran against a stand-in with the same signatures, and never against vLLM itself.
"""

from __future__ import annotations

import os
import time
from collections.abc import Mapping, Sequence
from hashlib import blake2b
from importlib.metadata import version
from typing import Any, Final

import msgspec

from overread.case import BadInput, Decoding, Fact, Prompt, Reader, Reply, Shown, ShownClip
from overread.readers.guard import Guard
from overread.readers.huggingface import checkpoint, require, seed_of
from overread.readers.in_process import InProcessReader
from overread.readers.spec import ReaderSpec

_BATCH: Final = 64
# Fields of a request that a spec's `extra` may have, by the names they have on vLLM's server; all
# others are arguments of the engine (`tensor_parallel_size`, `max_model_len`, …).
_SAMPLING: Final = ("top_p", "top_k", "min_p", "repetition_penalty", "presence_penalty")
_ASKING: Final = ("chat_template_kwargs", "mm_processor_kwargs")
# Arguments that would run a checkpoint's own code, fetch something, or undo what is promised here.
_REFUSED: Final = frozenset({
    "allowed_local_media_path", "allowed_media_domains", "download_dir", "dtype",
    "generation_config", "hf_token", "logprobs_mode", "model", "quantization", "revision", "seed",
    "trust_remote_code",
})  # fmt: skip
# vLLM reports on itself, and looks models up, unless it is told not to.
_QUIET: Final = {"VLLM_NO_USAGE_STATS": "1", "DO_NOT_TRACK": "1", "HF_HUB_OFFLINE": "1"}


def open_reader(spec: ReaderSpec, guard: Guard, environment: Mapping[str, str]) -> Reader:
    """Find the checkpoint and say what it is; the engine is started by the first question."""
    require(spec, "vllm", ("vllm",))
    if clash := sorted(_REFUSED & spec.extra.keys()):
        raise BadInput(f"reader {spec.name}: extra may not set {', '.join(clash)}. Leave it out.")
    folder, called = checkpoint(spec)
    chosen = {"dtype": spec.dtype or "auto", "quantization": spec.quantisation}
    batch = spec.batch or _BATCH
    parts = ("vllm", spec.identity or called, spec.revision, chosen, batch, spec.extra)
    identity = msgspec.json.encode(parts, order="deterministic").decode()
    return InProcessReader(
        spec, identity, batch, lambda: OfflineEngine(str(folder), called, spec.extra, chosen)
    )


class OfflineEngine:
    """vLLM with a checkpoint in it."""

    def __init__(
        self, folder: str, called: str, extra: Mapping[str, Any], chosen: Mapping[str, Any]
    ) -> None:
        os.environ.update(_QUIET)
        import vllm

        own = {k: v for k, v in extra.items() if k not in (*_SAMPLING, *_ASKING)}
        # An MP4 is else sampled to 32 frames; `answer` keeps processors from sampling the rest.
        own["media_io_kwargs"] = {"video": {"num_frames": -1}} | own.get("media_io_kwargs", {})
        self._engine = vllm.LLM(
            model=folder, generation_config="vllm", logprobs_mode="raw_logprobs", **chosen, **own
        )
        self._params = vllm.SamplingParams
        self._extra = extra
        self._called = called
        self._version = f"vllm {version('vllm')}"
        self.facts: dict[str, Fact] = {"vllm": version("vllm"), "dtype": str(chosen["dtype"])}

    def stop(self) -> None:
        """Its calls cannot be broken off; whoever waits for them is told that they were."""

    def answer(self, prompts: Sequence[Prompt]) -> list[Reply]:
        began = time.monotonic()
        processing = self._extra.get("mm_processor_kwargs", {})
        if any(clip.form == "video" for prompt in prompts for clip in prompt.clips):
            processing = {"do_sample_frames": False} | processing
        outputs = self._engine.chat(
            [_messages(prompt) for prompt in prompts],
            [self._sampling(prompt) for prompt in prompts],
            use_tqdm=False,
            chat_template_kwargs=self._extra.get("chat_template_kwargs"),
            mm_processor_kwargs=processing or None,
        )
        seconds = round(time.monotonic() - began, 6)
        pairs = zip(prompts, outputs, strict=True)
        return [self._reply(prompt, output, seconds) for prompt, output in pairs]

    def _sampling(self, prompt: Prompt) -> Any:
        decoding = prompt.decoding
        fields = {name: self._extra[name] for name in _SAMPLING if name in self._extra}
        if decoding.temperature is not None:
            fields["temperature"] = decoding.temperature
        if decoding.top_logprobs:
            fields["logprobs"] = decoding.top_logprobs
        if not decoding.greedy:
            fields["seed"] = seed_of(prompt)
        return self._params(max_tokens=decoding.max_tokens, **fields)

    def _reply(self, prompt: Prompt, output: Any, seconds: float) -> Reply:
        said = output.outputs[0]
        sent = blake2b(repr(list(output.prompt_token_ids)).encode(), digest_size=16)
        for shown in prompt.pictures:
            sent.update(shown.digest)
        return Reply(
            text=said.text,
            logprobs=_alternatives(said.logprobs, prompt.decoding),
            finish=said.finish_reason,
            tokens_in=len(output.prompt_token_ids),
            tokens_out=len(said.token_ids),
            seconds=seconds,
            sent=sent.hexdigest(),
            model=self._called,
            fingerprint=self._version,
        )


def _alternatives(given: Any, decoding: Decoding) -> tuple[tuple[str, float], ...] | None:
    """Those of the first token by rank; the token that was drawn may be one more."""
    if not given or not decoding.top_logprobs:
        return None
    ranked = sorted(given[0].values(), key=lambda one: one.rank)[: decoding.top_logprobs]
    return tuple((str(one.decoded_token or ""), float(one.logprob)) for one in ranked)


def _messages(prompt: Prompt) -> list[dict[str, Any]]:
    return [
        {"role": m.role, "content": [slot for part in m.parts for slot in _slots(part)]}
        for m in prompt.messages
    ]


def _slots(part: str | Shown | ShownClip) -> list[dict[str, Any]]:
    if isinstance(part, str):
        return [{"type": "text", "text": part}]
    slots = []
    for shown in part.frames if isinstance(part, ShownClip) else (part,):
        kind = "video_url" if shown.media_type.startswith("video/") else "image_url"
        url = f"data:{shown.media_type};base64,{shown.base64.decode()}"
        slots.append({"type": kind, kind: {"url": url}})
    return slots
