"""Tiny models with random weights, built in code and saved as any checkpoint is: no download.

Letters are tokens, so that any text can be asked and said. The weights are drawn large enough that
what is shown moves what is said.
"""

from __future__ import annotations

import asyncio
import functools
from collections.abc import Callable
from pathlib import Path
from typing import Any

from overread.case import Decoding, Inline, Message, Picture, Prompt, Reply, Request, Trial
from overread.engine import Sources, Store, Studio, Tally, ask, read_back
from overread.readers import Altered, Guard, open_reader
from overread.sight import digit_picture

BRIEFLY = Decoding(max_tokens=6, top_logprobs=5)
TEMPLATE = (
    "{% for m in messages %}<|{{ m.role }}|>"
    "{% if m.content is string %}{{ m.content }}{% else %}"
    "{% for c in m.content %}{% if c.type == 'image' %}<image>"
    "{% elif c.type == 'text' %}{{ c.text }}{% endif %}{% endfor %}{% endif %}<|end|>"
    "{% endfor %}{% if add_generation_prompt %}<|assistant|>{% endif %}"
    "{% if shout is defined and shout %}!{% endif %}"
)
SPECIAL = ("<pad>", "<|end|>", "<|user|>", "<|system|>", "<|assistant|>", "<image>")
PX = 16
PATCH = 8


def tiny_tokenizer() -> Any:
    """One token a byte, and a few of its own."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers
    from transformers import PreTrainedTokenizerFast

    letters = sorted(pre_tokenizers.ByteLevel.alphabet())
    vocabulary = {token: number for number, token in enumerate((*SPECIAL, *letters))}
    made = Tokenizer(models.BPE(vocab=vocabulary, merges=[]))
    made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    made.decoder = decoders.ByteLevel()
    made.add_special_tokens(list(SPECIAL))
    return PreTrainedTokenizerFast(
        tokenizer_object=made,
        pad_token="<pad>",
        eos_token="<|end|>",
        additional_special_tokens=list(SPECIAL[2:]),
        chat_template=TEMPLATE,
    )


def _text_config(size: int) -> Any:
    from transformers import LlamaConfig

    return LlamaConfig(
        vocab_size=size,
        hidden_size=32,
        intermediate_size=48,
        num_hidden_layers=2,
        num_attention_heads=2,
        num_key_value_heads=2,
        max_position_embeddings=4096,
        eos_token_id=SPECIAL.index("<|end|>"),
        pad_token_id=0,
        bos_token_id=None,
        tie_word_embeddings=False,
    )


def _spread_out(model: Any, seed: int) -> None:
    """Weights of unit scale: with the usual small ones nothing moves anything."""
    import torch

    draw = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for name, weight in sorted(model.named_parameters()):
            if weight.ndim > 1:
                scale = 1.0 if "embed" in name else 1.2 / weight.shape[-1] ** 0.5
                weight.copy_(torch.randn(weight.shape, generator=draw) * scale)


def save_tiny_llava(folder: Path, seed: int = 0, **generation: Any) -> Path:
    """A vision-language model of 50,000 weights: four patches a picture, letters in and out."""
    from transformers import (
        CLIPImageProcessorPil,
        CLIPVisionConfig,
        GenerationConfig,
        LlavaConfig,
        LlavaForConditionalGeneration,
        LlavaProcessor,
    )

    tokenizer = tiny_tokenizer()
    seeing = CLIPVisionConfig(
        hidden_size=32, intermediate_size=48, num_hidden_layers=2, num_attention_heads=2,
        image_size=PX, patch_size=PATCH, projection_dim=32,
    )  # fmt: skip
    config = LlavaConfig(
        vision_config=seeing,
        text_config=_text_config(len(tokenizer)),
        image_token_index=SPECIAL.index("<image>"),
        image_seq_length=(PX // PATCH) ** 2,
    )
    model = LlavaForConditionalGeneration(config)
    _spread_out(model, seed)
    said = {"eos_token_id": SPECIAL.index("<|end|>"), "pad_token_id": 0}
    model.generation_config = GenerationConfig(**said, **generation)
    model.save_pretrained(folder)
    images = CLIPImageProcessorPil(
        size={"height": PX, "width": PX}, crop_size={"height": PX, "width": PX}
    )
    LlavaProcessor(
        image_processor=images, tokenizer=tokenizer, patch_size=PATCH, image_token="<image>",
        vision_feature_select_strategy="default", num_additional_image_tokens=1,
        chat_template=TEMPLATE,
    ).save_pretrained(folder)  # fmt: skip
    return folder


def save_tiny_llama(folder: Path, seed: int = 0) -> Path:
    """A text model of the same kind."""
    from transformers import LlamaForCausalLM

    tokenizer = tiny_tokenizer()
    model = LlamaForCausalLM(_text_config(len(tokenizer)))
    _spread_out(model, seed)
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


def digit_trials(many: int) -> list[Trial]:
    """So many questions about pictures of digits, each another."""
    return [
        Trial(
            str(n), {}, Request((Message("user", (_picture(n % 10), f"Which is {n}?")),), BRIEFLY)
        )
        for n in range(many)
    ]


@functools.cache
def _picture(digit: int) -> Picture:
    return Picture(Inline(digit_picture(str(digit), 32)))


def ask_digits(
    folder: Path, store: Path, many: int, told: Callable[[], object] = lambda: None
) -> tuple[Tally, list[Reply | None]]:
    """Ask a model in this process all of them; `told` is called after every reply."""
    reader = open_reader(f"hf:{folder}?batch=2", guard=Guard(), environment={}, controls={})
    trials = digit_trials(many)

    class Telling(Altered):
        async def reply(self, prompt: Prompt) -> Reply:
            found = await super().reply(prompt)
            told()
            return found

    async def work(kept: Store, studio: Studio) -> Tally:
        tally = await ask(lambda: trials, Telling(reader), kept, studio, dataset=1)
        await reader.close()
        return tally

    with Store(store) as kept:
        studio = Studio(Sources(kept, 1))
        tally = asyncio.run(work(kept, studio))
        said = [reply for _, reply, _ in read_back(lambda: trials, reader, kept, studio)]
        studio.close()
    return tally, said
