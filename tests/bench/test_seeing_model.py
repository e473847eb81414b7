"""The small model that looks, on a language model of a few hundred thousand weights, drawn at random: bright or dark?"""

from __future__ import annotations

import asyncio
import io
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from overread.case import Decoding, Prompt, PromptMessage, Reply, Shown
from overread.readers import Guard, open_reader
from support.installed import needs
from support.tiny_models import tiny_tokenizer

pytestmark = [pytest.mark.slow, needs("torch", "needs torch: it is not installed")]
QUESTION = "Bright?"
ANSWER = Decoding(max_tokens=1, top_logprobs=2)


def bright_or_dark(rng: np.random.Generator, n: int) -> tuple[Any, Any]:
    import torch
    from bench.seeing_model import SIDE, as_given

    bright = rng.integers(0, 2, n)
    grey = np.where(bright, rng.integers(150, 256, n), rng.integers(0, 100, n)).astype(np.uint8)
    pixels = np.broadcast_to(grey[:, None, None], (n, SIDE, SIDE))
    return as_given(pixels), torch.from_numpy(bright.astype(np.float32))


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    import torch
    from bench.seeing_model import Task, make
    from transformers import LlamaConfig, LlamaForCausalLM

    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    torch.manual_seed(0)
    folder, tokenizer = tmp_path_factory.mktemp("models"), tiny_tokenizer()
    config = LlamaConfig(
        vocab_size=len(tokenizer), hidden_size=128, intermediate_size=128, num_hidden_layers=2,
        num_attention_heads=4, eos_token_id=tokenizer.eos_token_id, bos_token_id=None,
    )  # fmt: skip
    model = LlamaForCausalLM(config).eval().requires_grad_(False)
    before = {name: weight.clone() for name, weight in model.named_parameters()}
    task = Task(bright_or_dark, [QUESTION], ("Y", "N"), tower_steps=20, line_steps=60)
    make(task, model, tokenizer, folder / "looks", folder / "cut")
    assert all(torch.equal(before[name], weight) for name, weight in model.named_parameters())
    torch.set_num_threads(threads)
    return folder


def ask(folder: Path, *greys: int) -> list[Reply]:
    from bench.seeing_model import SIDE

    def prompt(grey: int) -> Prompt:
        png = io.BytesIO()
        Image.new("L", (SIDE, SIDE), grey).save(png, "PNG")
        shown = Shown("image/png", png.getvalue())
        return Prompt((PromptMessage("user", (shown, QUESTION)),), ANSWER)

    async def work() -> list[Reply]:
        reader = open_reader(f"hf:{folder}", guard=Guard(), environment={}, controls={})
        found = [await reader.reply(prompt(grey)) for grey in greys]
        await reader.close()
        return found

    return asyncio.run(work())


def test_with_its_tower_it_says_what_it_sees_through_the_frozen_language_model(made: Path) -> None:
    said = ask(made / "looks", 240, 20, 200, 60)
    assert [reply.text for reply in said] == ["Y", "N", "Y", "N"]


def test_with_its_tower_cut_no_pixel_changes_anything(made: Path) -> None:
    said = ask(made / "cut", 240, 20, 200, 60)
    assert len({reply.logprobs for reply in said}) == 1


def test_halves_are_of_patients_who_were_not_learnt_from(tmp_path: Path) -> None:
    from bench.seeing_model import SIDE, of_halves

    rng = np.random.default_rng(0)
    lines = ["image,patient"]
    for k in range(8):
        pixels = rng.integers(100, 200, (60, 80)).astype(np.uint8)
        Image.fromarray(pixels).save(tmp_path / f"{k}.png")
        lines.append(f"{k}.png,{'abcd'[k % 4]}")
    (tmp_path / "manifest.csv").write_text("\n".join(lines))
    task = of_halves(tmp_path, tmp_path / "halves")
    rows = [line.split(",") for line in (tmp_path / "halves/pairs.csv").read_text().splitlines()]
    held_out = {row[-1] for row in rows[1:]}
    assert len(held_out) == 2
    assert len(rows) == 1 + 4
    assert {row[6:8] == ["Left", "Right"] for row in rows[1:]} == {True}
    left = np.asarray(Image.open(tmp_path / "halves" / rows[1][4]))
    assert not left[:, :40].any()
    assert left[:, 40:].all()
    given, is_left = task.batch(np.random.default_rng(0), 16)
    dark = (given[:, 0, :, : SIDE // 2] == -1).all(-1).all(-1)
    assert dark.tolist() == (is_left == 1).tolist()


def test_a_half_is_covered_to_the_middle() -> None:
    from bench.seeing_model import cover

    pixels = np.full((2, 5), 9, np.uint8)
    cover(pixels, "Right")
    assert pixels.tolist() == [[9, 9, 0, 0, 0]] * 2
