"""The questions as a reader gets them (M3COT 2): to the letter, or with the options once."""

from __future__ import annotations

import re
from typing import Final

from overread.benchmarks.m3cot.edition import Edition

__all__ = [
    "ANSWER_FIRST",
    "ANSWER_NOW",
    "INSTRUCTIONS",
    "REASONING_SO_FAR",
    "answer_first",
    "options_of",
    "question",
    "truncated",
]

# The strings of the published code, by mode; the paper prints slightly different ones.
INSTRUCTIONS: Final = {
    "direct": "Please directly provide the final answer without any other output.",
    "cot": (
        "Please generate a step by step answer, include all your intermediate reasoning process, "
        "and provide the final answer at the end."
    ),
}
# Beyond the paper, so the words are ours. A control knows by them what it is asked.
ANSWER_FIRST: Final = (
    "Please state the final answer first, in one line, and only then explain the reasoning behind "
    "it step by step."
)
REASONING_SO_FAR: Final = "Your reasoning so far:"
ANSWER_NOW: Final = (
    "Please stop here and provide the final answer now, from this reasoning, without any further "
    "reasoning."
)
_OPTION: Final = re.compile(r"[A-Z][.)]")


def question(text: str, mode: str, edition: Edition) -> str:
    """The prompt of a mode: the question, in `authors` its options a second time, the instruction.

    `text` is the question as the file has it: the authors look for options before they strip it.
    """
    return _joined(text, edition, INSTRUCTIONS[mode])


def options_of(text: str) -> dict[str, str]:
    """Options as the published code finds them: in all lines but the first of the whole cell.

    An option starts with a capital and a full stop or bracket; its text starts at the fourth
    character whatever the third is ("A.Liver" is "iver"), and "E. coli" is one too. A letter that
    comes again replaces the first.
    """
    lines = (line.strip() for line in text.split("\n")[1:])
    return {line[0]: line[3:].strip() for line in lines if _OPTION.match(line)}


def answer_first(text: str, edition: Edition) -> str:
    """The answer demanded before any reasoning."""
    return _joined(text, edition, ANSWER_FIRST)


def truncated(text: str, reasoning: str, edition: Edition) -> str:
    """The answer demanded after a part of the reader's own reasoning."""
    return _joined(text, edition, REASONING_SO_FAR, reasoning.strip(), ANSWER_NOW)


def _joined(text: str, edition: Edition, *rest: str) -> str:
    again = options_of(text) if edition.options == "repeated" else {}
    options = (f"{letter}. {option}" for letter, option in again.items())
    return "\n".join((text.strip(), *options, *rest))
