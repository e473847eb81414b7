"""The sections of an open reply."""

from __future__ import annotations

from time import process_time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from overread.benchmarks.medcmr.sections import read_sections

PLAIN = ("round and dense", "a nodule")


@pytest.mark.parametrize(
    "text",
    [
        "Reasoning: round and dense\nAnswer: a nodule",
        "REASONING: round and dense\n\nANSWER: a nodule\n",
        "reasoning : round and dense\r\nanswer : a nodule",
        "**Reasoning:** round and dense\n**Answer:** a nodule",
        "**Reasoning**: round and dense\n**Answer**: a nodule",
        "**Reasoning: round and dense**\n**Answer: a nodule**",
        "*Reasoning:* round and dense\n_Answer:_ a nodule",
        "## Reasoning\nround and dense\n\n## Answer\na nodule",
        "### **Reasoning**\n\nround and dense\n\n### Final Answer:\n\na nodule",
        "**Reasoning**\nround and dense\n**Final answer**\n**a nodule**",
        "- Reasoning: round and dense\n- Answer: a nodule",
        "1. Reasoning: round and dense\n2. Answer: a nodule",
        "> Reasoning: round and dense\n> Answer: a nodule",
        "Reasoning：round and dense\nAnswer：a nodule",
        "Reasoning process: round and dense\nThe answer: a nodule",
        "<think>Answer: a cyst</think>\nReasoning: round and dense\nAnswer: a nodule",
        "Answer: a cyst</think>Reasoning: round and dense\nAnswer: a nodule",
        "Sure.\n\nReasoning: round and dense\nAnswer: a nodule",
        "Answer: a cyst\nReasoning: round and dense\nAnswer: a nodule",
        "Answer: a nodule\nReasoning: round and dense",
        "Reasoning: round and dense\nAnswer: a nodule\nAnswer:",
        "**Reasoning:** round and dense **Answer:** a nodule",
        "**Reasoning**: round and dense **Final answer**: a nodule",
        "Reasoning: round and dense _Answer:_ a nodule",
        "Reasoning: round and dense\n<answer>a nodule</answer>",
        "Reasoning: round and dense <answer>a nodule</answer> I hope this helps.",
        "<reasoning>round and dense</reasoning><ANSWER>\na nodule\n</ANSWER>",
        "Reasoning: round and dense\nAnswer: <answer>a nodule</answer>",
        "<answer>\nAnswer: a nodule\n</answer>\nReasoning: round and dense",
    ],
)
def test_both_sections(text):
    assert read_sections(text)[:2] == PLAIN


@pytest.mark.parametrize(
    ("text", "reasoning", "answer"),
    [
        ("Answer: a nodule", None, "a nodule"),
        ("It is round.\nAnswer: a nodule", None, "a nodule"),
        ("Reasoning: it is round", "it is round", None),
        ("Reasoning: the Answer: lies here", "the Answer: lies here", None),
        ("Reasoning: my answer is\nanswers to follow", "my answer is\nanswers to follow", None),
        ("Reasoning: so the\nanswer\nis here", "so the\nanswer\nis here", None),
        ("Reasoning: it is round. Answer: a nodule", "it is round.", "a nodule"),
        ("Reasoning: it is round! The answer: a nodule", "it is round!", "a nodule"),
        ('Reasoning: it is "round." **Answer**: a nodule', 'it is "round."', "a nodule"),
        ("Reasoning: 很圆。Answer：结节", "很圆。", "结节"),
        ("It is round. Answer: a nodule", None, "a nodule"),
        ("Reasoning: so. Answer: x. Answer: y", "so. Answer: x.", "y"),
        ("Round. Answer: x\nAnswer: y", None, "y"),
        ("<answer>a nodule</answer>", None, "a nodule"),
        ("<answer>a nodule", None, "a nodule"),
        ("Reasoning: then the answer: a nodule", "then the answer: a nodule", None),
        ("Reasoning: e.g. answer: x", "e.g. answer: x", None),
        ("Reasoning: a **round** answer: x", "a **round** answer: x", None),
        ("Reasoning: it is round. Answers: many", "it is round. Answers: many", None),
        ("a nodule", None, None),
        ("", None, None),
        ("Answer:", None, ""),
        ("Reasoning:\nAnswer: x", "", "x"),
        ("<think>Answer: a cyst", None, None),
        ("Answer: a cyst\n<think>or", None, None),
        ("Reasoning: a\nb\n\nc\nAnswer: x\ny", "a\nb\n\nc", "x\ny"),
        ("Answer: one\nAnswer: two\nAnswer: three", None, "three"),
        ("**Answer:** the *left* lobe", None, "the *left* lobe"),
    ],
)
def test_what_is_missing_and_what_is_no_section(text, reasoning, answer):
    assert read_sections(text)[:2] == (reasoning, answer)


WORDS = st.text(st.characters(categories=["L", "N"]), min_size=1, max_size=9).filter(
    lambda word: word.lower() not in ("reasoning", "answer")
)
LINES = st.lists(WORDS, min_size=1, max_size=6).map(" ".join)


@given(LINES, LINES, st.sampled_from(["{}:", "**{}:**", "## {}\n", "**{}**:"]))
def test_whatever_is_said_comes_back(reasoning, answer, form):
    text = f"{form.format('Reasoning')} {reasoning}\n{form.format('Answer')} {answer}"
    assert read_sections(text)[:2] == (reasoning, answer)


def test_words_before_the_first_name_are_kept_apart():
    assert read_sections("It is round.\nAnswer: a nodule").lead == "It is round."
    assert read_sections("Reasoning: round\nAnswer: a nodule").lead == ""
    assert read_sections("<think>Hm.</think>It is round.").lead == "It is round."


@given(st.text(st.characters(exclude_categories=())))
def test_never_raises(text):
    read_sections(text)
    read_sections(f"Answer:{text}\nReasoning{text}")


@pytest.mark.parametrize(
    "piece",
    [
        "*",
        " ",
        "#",
        "Answer",
        "Answer:",
        "Answer:\n",
        "\n",
        "- ",
        "Answer *",
        "1. ",
        "<answer>",
        "</answer>",
        ". Answer",
        ". Answer:",
        "**Answer:",
        ".   ",
        "**",
        ".'",
    ],
)
def test_time_is_in_proportion_to_the_text(piece):
    def seconds(size: int) -> float:
        text, best = piece * (size // len(piece)) + "§", 9.0
        for _ in range(3):
            begun = process_time()
            read_sections(text)
            best = min(best, process_time() - begun)
        return best

    assert seconds(64_000) < 80 * max(seconds(4_000), 2e-4)
