"""Readers of hard cases behind HTTP: `--control chat_server.letters:NAME`.

A question with options gets a letter and an open one both sections, drawn by the words of the
question, of which no set need be known. A framed prompt is scored as `control:lexical-judge` does.
One server plays readers and judges.

draws     answers and scores
spoils    the same, and then spoils its scores as the question says: `(judge: off-grid)`
"""

from __future__ import annotations

import hashlib
import math
import re
from collections import Counter
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from overread.case import Limits, Prompt, Reply, Traits

_OPTION = re.compile(r"^([A-J])\) ", re.MULTILINE)
_SPOIL = re.compile(r"\(judge: ([a-z-]+)\)")
_FINDINGS = ("an effusion", "a fracture", "a bright nodule", "nothing of note")


class Letters:
    """A reader that answers by lot and, where a prompt is framed, scores by `verdict`."""

    name = identity = "bench:letters"

    def __init__(self, verdict: Callable[[str], Reply]) -> None:
        from overread.case import Limits, Traits

        self._verdict = verdict
        self.traits: Traits = Traits(temperature=0.0)
        self.limits: Limits = Limits()

    async def reply(self, prompt: Prompt) -> Reply:
        from overread.judging.rubric import asked_of

        framed = next((m.parts[0] for m in prompt.messages[::-1] if m.role == "user"), "")
        if isinstance(framed, str) and asked_of(framed) is not None:
            return self._verdict(framed)
        return _answer(prompt)

    async def close(self) -> None:
        pass


def _answer(prompt: Prompt) -> Reply:
    from overread.case import Reply

    drawn = hashlib.sha256(prompt.text.encode()).digest()
    letters = _OPTION.findall(prompt.text)
    if not letters:
        seen = _FINDINGS[drawn[0] % len(_FINDINGS)]
        text = f"Reasoning: The image shows {seen}.\nAnswer: {seen}"
        return Reply(text, finish="stop", tokens_out=12)
    # What it says and what it holds likeliest are not always the same.
    top = None
    if prompt.decoding.top_logprobs:
        parts = [1 + byte for byte in drawn[2 : 2 + len(letters)]]
        top = tuple(
            (letter, math.log(part / sum(parts)))
            for letter, part in sorted(zip(letters, parts, strict=True), key=lambda one: -one[1])
        )[: prompt.decoding.top_logprobs]
    return Reply(letters[drawn[1] % len(letters)], logprobs=top, finish="stop", tokens_out=1)


def _scored(text: str) -> Reply:
    from overread.benchmarks.medcmr.verdict_parser import SCORERS
    from overread.case import Reply
    from overread.judging.lexical import judged

    return Reply(judged(text, SCORERS), finish="stop")


def draws() -> Letters:
    return Letters(_scored)


# ---------------------------------------------------------------- scores spoilt


def spoils() -> Letters:
    asked: Counter[str] = Counter()

    def verdict(text: str) -> Reply:
        from overread.benchmarks.medcmr.judged_questions import REMINDER
        from overread.judging.rubric import sections_of

        kind = _SPOIL.search(sections_of(text).get("question", ""))
        question = text.removesuffix(f"\n\n{REMINDER}")
        asked[question] += 1
        said = _scored(text)
        return said if kind is None else SPOILT[kind[1]](said, asked[question])

    return Letters(verdict)


def _lines(make: Callable[[list[str]], list[str]]) -> Callable[[Reply, int], Reply]:
    """A spoiling of the lines alone."""
    import msgspec

    def spoilt(said: Reply, turn: int) -> Reply:
        return msgspec.structs.replace(said, text="\n".join(make(said.text.splitlines())))

    return spoilt


def _score(place: int, number: str) -> Callable[[Reply, int], Reply]:
    """Another number in one line."""

    def changed(lines: list[str]) -> list[str]:
        name = lines[place].partition(":")[0]
        return [*lines[:place], f"{name}: [{number}]", *lines[place + 1 :]]

    return _lines(changed)


def _bare(lines: list[str]) -> list[str]:
    return [line.replace("[", "").replace("]", "") for line in lines]


def _told(lines: list[str]) -> list[str]:
    return ["I have read all of it twice.", *lines, "I hope that this is of use."]


def _twice(lines: list[str]) -> list[str]:
    first = "0" if "[1]" in lines[0] else "1"
    return [*lines, f"{lines[0].partition(':')[0]}: [{first}]"]


def _missing_once(said: Reply, turn: int) -> Reply:
    return SPOILT["missing"](said, turn) if turn == 1 else said


def _missing_twice(said: Reply, turn: int) -> Reply:
    return SPOILT["missing"](said, turn) if turn <= 2 else said


def _refusal(said: Reply, turn: int) -> Reply:
    from overread.case import Reply

    words = "I cannot score medical answers."
    return Reply(words, refusal=words, finish="stop")


def _error(said: Reply, turn: int) -> Reply:
    from overread.case import ReaderFailure

    raise ReaderFailure("this judgment is never acceptable", heals=False)


SPOILT: Mapping[str, Callable[[Reply, int], Reply]] = {
    "plain": _lines(list),
    "bare": _lines(_bare),
    "bold": _lines(lambda lines: [f"- **{line.replace(':', ':**', 1)}" for line in lines]),
    "reordered": _lines(lambda lines: lines[::-1]),
    "prose": _lines(_told),
    "repeated": _lines(lambda lines: [*lines, *lines]),
    "off-grid": _score(0, "0.7"),
    "between": _score(2, "2.5"),
    "out-of-scale": _score(3, "5"),
    "negative": _score(2, "-1"),
    "hundred": _score(3, "75/100"),
    "words": _score(3, "high"),
    "missing": _lines(lambda lines: lines[:-1]),
    "missing-once": _missing_once,
    "missing-twice": _missing_twice,
    "twice": _lines(_twice),
    "opinion": _lines(lambda lines: ["All in all the reader did rather well."]),
    "nothing": _lines(lambda lines: []),
    "refusal": _refusal,
    "error": _error,
}
