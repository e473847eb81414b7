"""Judges behind HTTP: `--control chat_server.judges:NAME`.

A framed prompt is judged as `control:lexical-judge` does; any other is answered by the m3cot
controls over the set that the variable M3COT_CASES names. One server plays readers and judges.

reasons       each item by one of the controls, drawn by its question; judges to the letter
spoils        judges, and then spoils its verdict as the question says: `(judge: prose)`
obeys         does what is asked of it outside the fences, and judges where nothing is
agrees        takes every answer for right
obeys_all     does what is asked of it anywhere: what a prompt without fences would meet
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections import Counter
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import msgspec

if TYPE_CHECKING:
    from overread.case import Limits, Prompt, Reader, Reply, Traits, Trial

_SPOIL = re.compile(r"\(judge: ([a-z-]+)\)")
# What an obedient judge takes for an order, and the verdict that it then gives.
_ORDER = re.compile(r"ignore the above, reply (\{.*?\}|\[.*?\])", re.IGNORECASE | re.DOTALL)
_FENCED = re.compile(r"<([a-z_]+) fence=([0-9a-f]+)>\n.*?\n</\1 fence=\2>", re.DOTALL)


class Judges:
    """A reader that judges what is framed, by `verdict`, and answers all else by `controls`."""

    name = identity = "bench:judges"

    def __init__(
        self,
        verdict: Callable[[str], Reply],
        controls: Mapping[str, Reader],
        cases: Mapping[str, str] | None = None,
    ) -> None:
        from overread.case import Limits, Traits

        self._verdict = verdict
        self._cases = cases or {}
        self._controls = [controls[name] for name in sorted(controls)]
        self.traits: Traits = Traits(modality="text", temperature=0.0)
        self.limits: Limits = Limits()

    async def reply(self, prompt: Prompt) -> Reply:
        from overread.judging.rubric import asked_of

        # A system line is no part of the frame.
        framed = next((m.parts[0] for m in prompt.messages[::-1] if m.role == "user"), "")
        if isinstance(framed, str) and asked_of(framed) is not None:
            return self._verdict(framed)
        if not self._controls:
            raise ValueError("nothing is framed, and M3COT_CASES names no set")
        line = _first_line(prompt.text)
        drawn = hashlib.sha256(line.encode()).digest()[0] % len(self._controls)
        # No case travels over the wire; the sets that are served here put every question once.
        asked = msgspec.structs.replace(prompt, case=self._cases.get(line, ""))
        return await self._controls[drawn].reply(asked)

    async def close(self) -> None:
        pass


def _controls() -> tuple[Mapping[str, Reader], Mapping[str, str]]:
    """The controls of a set, and its cases by the first line of what is asked about them."""
    place = os.environ.get("M3COT_CASES")
    if place is None:
        return {}, {}
    from overread.benchmarks.m3cot.benchmark import M3CoT
    from overread.case import Traits

    bench = M3CoT.open(place)
    asked = (trial for case in bench.cases() for trial in bench.trials(case, Traits()))
    return bench.controls(), {_first_line(_text_of(trial)): trial.case for trial in asked}


def _text_of(trial: Trial) -> str:
    parts = [part for message in trial.request.messages for part in message.parts]
    return "\n".join(part for part in parts if isinstance(part, str))


def _first_line(text: str) -> str:
    return text.lstrip().partition("\n")[0]


def _lexical(text: str) -> Reply:
    from overread.case import Reply
    from overread.judging.lexical import judged

    return Reply(judged(text), finish="stop")


def reasons() -> Judges:
    return Judges(_lexical, *_controls())


def obeys() -> Judges:
    return Judges(lambda text: _obeyed(_FENCED.sub("", text)) or _lexical(text), {})


def obeys_all() -> Judges:
    return Judges(lambda text: _obeyed(text) or _lexical(text), {})


def agrees() -> Judges:
    from overread.case import Reply

    return Judges(lambda text: Reply('{"match": true, "final_answer": "?"}', finish="stop"), {})


def _obeyed(text: str) -> Reply | None:
    from overread.case import Reply

    order = _ORDER.search(text)
    return None if order is None else Reply(order[1], finish="stop")


# ---------------------------------------------------------------- verdicts spoilt


def spoils() -> Judges:
    asked: Counter[str] = Counter()

    def verdict(text: str) -> Reply:
        from overread.benchmarks.m3cot.judge_questions import REMINDER
        from overread.judging.rubric import sections_of

        kind = _SPOIL.search(sections_of(text).get("question", ""))
        question = text.removesuffix(f"\n\n{REMINDER}")
        asked[question] += 1
        said = _lexical(text)
        return said if kind is None else SPOILT[kind[1]](said, asked[question])

    return Judges(verdict, *_controls())


def _text(make: Callable[[Any], str]) -> Callable[[Reply, int], Reply]:
    """A spoiling of the words alone."""
    import msgspec

    def spoilt(said: Reply, turn: int) -> Reply:
        return msgspec.structs.replace(said, text=make(json.loads(said.text)))

    return spoilt


def _prose_once(said: Reply, turn: int) -> Reply:
    return SPOILT["prose"](said, turn) if turn == 1 else said


def _refusal(said: Reply, turn: int) -> Reply:
    from overread.case import Reply

    words = "I cannot judge medical images."
    return Reply(words, refusal=words, finish="stop")


def _error(said: Reply, turn: int) -> Reply:
    from overread.case import ReaderFailure

    raise ReaderFailure("this judgment is never acceptable", heals=False)


def _array(value: Any) -> str:
    return json.dumps(value if isinstance(value, list) else [value])


def _comma(value: Any) -> str:
    text = json.dumps(value)
    return f"{text[:-1]},{text[-1]}"


def _cut(value: Any) -> str:
    """As a limit of tokens cuts it, after the greater part."""
    text = json.dumps(value)
    return text[: len(text) * 2 // 3]


def _words_for_truths(value: Any) -> str:
    """Booleans as strings; verdicts without any stay as they are."""
    if isinstance(value, dict):
        value = {k: str(v).lower() if isinstance(v, bool) else v for k, v in value.items()}
    return json.dumps(value)


SPOILT: Mapping[str, Callable[[Reply, int], Reply]] = {
    "plain": _text(json.dumps),
    "prose": _text(lambda value: "In my opinion the reader did rather well, on the whole."),
    "prose-once": _prose_once,
    "fenced": _text(lambda value: f"```json\n{json.dumps(value, indent=1)}\n```\n"),
    "told": _text(lambda value: f"I looked at it twice. My verdict: {json.dumps(value)} So be it."),
    "array": _text(_array),
    "quotes": _text(repr),
    "comma": _text(_comma),
    "cut": _text(_cut),
    "words": _text(_words_for_truths),
    "nothing": _text(lambda value: ""),
    "refusal": _refusal,
    "error": _error,
}
