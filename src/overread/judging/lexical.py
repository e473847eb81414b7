"""`control:lexical-judge`: a judge that compares words, so that everything runs with no server.

It reads the material out of the frame and answers in the very JSON that each question asks for. It
knows no medicine beyond a small table of synonyms: its numbers are not comparable with published
ones, and every table says so.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any, Final

import msgspec

from overread.case import Limits, Prompt, Reply, Traits
from overread.judging.lexical_answer import same_answer
from overread.judging.lexical_steps import (
    CATEGORIES,
    STEP_TYPES,
    GoldStep,
    Said,
    gold_steps,
    matches,
    split_steps,
)
from overread.judging.lexicon import content, share
from overread.judging.rubric import asked_of, sections_of

__all__ = ["NOT_COMPARABLE", "QUESTIONS", "REVISION", "LexicalJudge", "judged"]

REVISION = 2
"""Raised whenever it may judge differently; it enters the key of every verdict."""

NOT_COMPARABLE: Final = "judged by shared words; not comparable with published numbers"
_LONGEST: Final = 100_000  # characters of a reply that are read
_RESTATED: Final = 0.8


class LexicalJudge(msgspec.Struct, frozen=True):
    """A reader that judges by words. `more` answers questions that others define."""

    more: Mapping[str, Callable[[Mapping[str, str]], Any]] = {}

    @property
    def name(self) -> str:
        return "control:lexical-judge"

    @property
    def identity(self) -> str:
        return f"{self.name}:{REVISION}"

    @property
    def traits(self) -> Traits:
        return Traits(modality="text", temperature=0.0)

    @property
    def limits(self) -> Limits:
        return Limits(concurrency=4)

    async def reply(self, prompt: Prompt) -> Reply:
        return Reply(judged(prompt.text, self.more), finish="stop", model=self.identity)

    async def close(self) -> None:
        pass


def judged(text: str, more: Mapping[str, Callable[[Mapping[str, str]], Any]] | None = None) -> str:
    """The verdict on a framed text; a plain sentence where it asks nothing known.

    As JSON; what a question answers with text is given out as it is.
    """
    known = {**QUESTIONS, **(more or {})}
    question, sections = asked_of(text), sections_of(text)
    if question not in known:
        return "I was not asked for a judgment."
    cut = {name: words[:_LONGEST] for name, words in sections.items()}
    said = known[question](cut)
    return said if isinstance(said, str) else json.dumps(said, ensure_ascii=False)


def _answer(sections: Mapping[str, str]) -> dict[str, Any]:
    asked, gold = sections.get("question", ""), sections.get("answer", "")
    match, final = same_answer(asked, gold, sections.get("reply", ""))
    return {"match": match, "final_answer": final}


def _yes_or_no(sections: Mapping[str, str]) -> str:
    return "Yes" if _answer(sections)["match"] else "No"


def _precision(sections: Mapping[str, str]) -> list[dict[str, str]]:
    gold, asked = gold_steps(sections.get("steps", "")), content(sections.get("question", ""))
    steps = []
    for said in _steps(sections):
        found = next((step for step in gold if matches(said.text, step)), None)
        if found is not None:
            kind, judgment = STEP_TYPES[found.category or said.category], "Match"
        elif _restates(said, asked):
            kind, judgment = "Restatement of the question", "N/A"
        else:
            kind, judgment = STEP_TYPES[said.category], "Wrong"
        steps.append({"step_type": kind, "Step information": said.text, "judgment": judgment})
    return steps


def _steps(sections: Mapping[str, str]) -> list[Said]:
    """Steps of reasoning, each once; the line that states the answer is judged elsewhere."""
    seen: dict[str, Said] = {}
    for said in split_steps(sections.get("reply", "")):
        if not said.final and content(said.text):
            seen.setdefault(said.text.casefold(), said)
    # A bare answer is no step of reasoning.
    lone = len(seen) == 1 and len(content(next(iter(seen)))) < 3 and "." not in next(iter(seen))
    return [] if lone else list(seen.values())


def _restates(said: Said, asked: frozenset[str]) -> bool:
    words = content(said.text)
    return len(words) > 2 and share(words, asked) >= _RESTATED and len(words) <= len(asked)


def _recall(sections: Mapping[str, str]) -> list[dict[str, Any]]:
    said = split_steps(sections.get("reply", ""))
    return [
        {
            "step_index": step.index,
            "step_type": STEP_TYPES[step.category or "others"],
            "judgment": "Matched" if _recalled(step, said) else "Unmatched",
        }
        for step in gold_steps(sections.get("steps", ""))
    ]


def _recalled(step: GoldStep, said: list[Said]) -> bool:
    return any(matches(one.text, step) for one in said)


def _order(sections: Mapping[str, str]) -> dict[str, Any]:
    """The rank of each category's first appearance, and the words it appears in."""
    words: dict[str, list[str]] = {kind: [] for kind in CATEGORIES}
    seen: list[str] = []
    for said in split_steps(sections.get("reply", "")):
        words[said.category].append(said.text)
        if said.category not in seen:
            seen.append(said.category)
    ranks = {kind: seen.index(kind) + 1 if kind in seen else 0 for kind in CATEGORIES}
    return {
        **{f"{kind}_order": ranks[kind] for kind in CATEGORIES},
        **{f"{kind}_subs": words[kind] for kind in CATEGORIES},
    }


QUESTIONS: Final[Mapping[str, Callable[[Mapping[str, str]], Any]]] = {
    "answer": _answer,
    "answer_yes_or_no": _yes_or_no,
    "precision": _precision,
    "recall": _recall,
    "order": _order,
}
"""What it can judge; a benchmark with other questions passes its own as `more`."""
