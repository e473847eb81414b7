"""Controls: readers whose behaviour is known by construction, so the benchmark can be checked.

They are made of the cases. Each gets the same prompt as any reader, is told by the engine which
case it is about, and says what `control_replies` has for it: a set may put one question to many
images. None looks at the image.

`reads-caption` is the leak detector: it knows all captions and answers, and may use them only where
the prompt holds them. It must end with every reply invalid.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from typing import Final

import msgspec

from overread.benchmarks.medcmr.cases import LETTERS, MedCase
from overread.benchmarks.medcmr.control_replies import (
    CONTROLS,
    FIRST,
    KNOWING,
    ControlName,
    folded,
    leaked,
    mcq_reply,
    open_reply,
)
from overread.case import Limits, Prompt, Reader, Reply, Traits

__all__ = [
    "REVISION",
    "UNKNOWN",
    "Control",
    "Known",
    "known_of",
    "medcmr_controls",
]

REVISION: Final = 2
"""Raised whenever a control may answer differently; it enters the key of every reply."""
UNKNOWN: Final = "This question is new here."
_QUESTION: Final = "Question: "
_OPTIONS: Final = " Options: A) "
_OPEN: Final = " Think step by step"


class Known(msgspec.Struct, frozen=True):
    """The cases by their ids, and the digest of all that controls know of them."""

    by_id: dict[str, MedCase]
    digest: str


def known_of(cases: Iterable[MedCase]) -> Known:
    """What controls know of a set."""
    by_id = {case.case_id: case for case in sorted(cases, key=lambda case: case.case_id)}
    digest = hashlib.blake2b(digest_size=8)
    for case in by_id.values():
        facts = (case.case_id, case.kind, case.question, case.options, case.answer, case.caption)
        digest.update(msgspec.json.encode(facts))
    return Known(by_id, digest.hexdigest())


def _shown(case: MedCase, text: str) -> tuple[str, ...]:
    """The options of a case in the order in which a prompt lists them; none where it is open."""
    if case.kind != "mcq":
        return ()
    told, asked = folded(text) + " ", f"{_QUESTION}{folded(case.question)}{_OPTIONS}"
    start = told.find(asked)
    if start < 0:
        return ()
    rest = told[start + len(asked) - len("A) ") :]
    own = tuple(map(folded, case.options))
    for shift in range(len(own)):
        turned = own[shift:] + own[:shift]
        listed = (f"{letter}) {option}" for letter, option in zip(LETTERS, turned, strict=False))
        if rest.startswith(" ".join(listed) + " "):
            return turned
    return case.options  # listed otherwise than the benchmark does: a leak may stand between them


class Control(msgspec.Struct, frozen=True):
    """A reader that is a table: from what a prompt asks to what it says."""

    key: ControlName
    known: Known
    seed: int = 0

    @property
    def name(self) -> str:
        return f"control:{self.key}"

    @property
    def identity(self) -> str:
        # What it says depends on the cases, so that a corrected answer is asked for anew.
        return f"{self.name}:{REVISION}:{self.seed}:{self.known.digest}"

    @property
    def traits(self) -> Traits:
        # It does not look, so that blank and swapped images cost nothing.
        knows = self.key in KNOWING
        return Traits(modality="text", temperature=0.0, knows_truth=knows, told_case=True)

    @property
    def limits(self) -> Limits:
        return Limits(concurrency=4)

    async def reply(self, prompt: Prompt) -> Reply:
        # Everything a reader is told: a leak may stand in any turn.
        whole = "\n".join(
            part for turn in prompt.messages for part in turn.parts if isinstance(part, str)
        )
        case = self.known.by_id.get(prompt.case)
        return Reply(self._said(prompt.text, whole, case), finish="stop", model=self.identity)

    def _said(self, text: str, whole: str, case: MedCase | None) -> str:
        if self.key == "letter-a":
            told = folded(text)
            return "A" if told.rfind(_OPTIONS) > told.rfind(_OPEN) else FIRST
        if case is None:
            return UNKNOWN
        shown = _shown(case, text)
        leaks = self.key == "reads-caption" and leaked(whole, case, shown)
        key = "oracle" if leaks else self.key
        return mcq_reply(key, case, shown, self.seed) if shown else open_reply(key, case)

    async def close(self) -> None:
        pass


def medcmr_controls(cases: Iterable[MedCase], seed: int) -> Mapping[str, Reader]:
    """The five controls of a set, each by the word that follows `control:`."""
    known = known_of(cases)
    return {key: Control(key, known, seed) for key in CONTROLS}
