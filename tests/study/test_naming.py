"""A reply does not say whose it is."""

from __future__ import annotations

import msgspec
import pytest

from overread.study.naming import MASK, unnamed
from support.studies import screens

LABELS = ("model-a", "base", "openai:own-net", "looks")


def masked(text: str) -> tuple[str, int]:
    named: list[int] = []
    (screen,) = screens(1)[:1]
    screen = msgspec.structs.replace(screen, texts=(("Reply A", text),))
    (shown,) = unnamed([screen], LABELS, lambda: named.append(1))
    return shown.texts[0][1], len(named)


@pytest.mark.parametrize(
    ("said", "shown"),
    [
        ("As GPT-5, I see a nodule", f"As {MASK}, I see a nodule"),
        ("I am Qwen3-VL-32B-Instruct, made", f"I am {MASK}, made"),
        ("Gemini 2.5 Pro thinks that 3 ribs", f"{MASK} thinks that 3 ribs"),
        ("By Claude 3.5 Sonnet, in 4 days", f"By {MASK}, in 4 days"),
        ("DeepSeek-V3.2-Exp. Answer: A", f"{MASK}. Answer: A"),
        ("chatgpt\nAnswer: B", f"{MASK}\nAnswer: B"),
        ("As GPT-4o, or GPT4o-mini", f"As {MASK}, or {MASK}"),
        ("I am GPT\u20115.1 and gpt-4o-mini", f"I am {MASK} and {MASK}"),
        ("o4-mini here, and Sonnet 4.5; Phi-4", f"{MASK} here, and {MASK}; {MASK}"),
        ("Med-Gemma 27B or Med Gemini", f"{MASK} or {MASK}"),
        ("model-a says, own-net too", f"{MASK} says, {MASK} too"),
    ],
)
def test_a_model_s_name_is_taken_out_with_its_version(said, shown):
    assert masked(said) == (shown, 1)


@pytest.mark.parametrize(
    "said",
    [
        "GPT 45 U/L at the base of the lung",
        "a glomerular claudication, grokked",
        "the phi angle at O3 and O2, a command to cohere",
        "the alveolar-capillary membrane looks thick",
    ],
)
def test_words_of_medicine_and_plain_words_stay(said):
    assert masked(said) == (said, 0)
