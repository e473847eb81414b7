"""Controls: readers whose behaviour is known by construction, so the benchmark can be checked.

Unlike most controls these know the truth: they are made of the cases. Each gets the same prompt as
any reader, is told by the engine which case it is about, and says what `control_replies` has for
it: a set may put one question to many images. None looks at the image: under a blank or another's
image it says the very same, which is what a reader would that reasons from the text alone.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from typing import Final

import msgspec

from overread.benchmarks.m3cot.cases import M3Case
from overread.benchmarks.m3cot.control_replies import CONTROLS, ControlName, Wanted, reply_of
from overread.benchmarks.m3cot.prompts import ANSWER_FIRST, ANSWER_NOW, INSTRUCTIONS
from overread.benchmarks.m3cot.recovery import EXPECTED, recovered
from overread.case import Limits, Prompt, Reader, Reply, Traits

__all__ = [
    "EXPECTED",
    "REVISION",
    "Control",
    "Known",
    "m3cot_controls",
    "recovered",
]

REVISION = 2
"""Raised whenever a control may answer differently; it enters the key of every reply."""

UNKNOWN: Final = "I do not know this question."


class Known(msgspec.Struct, frozen=True):
    """The cases by their ids, and the digest of all that controls know of them."""

    by_id: dict[str, M3Case]
    digest: str


def known_of(cases: Iterable[M3Case]) -> Known:
    """What controls know of a set."""
    by_id = {case.case_id: case for case in sorted(cases, key=lambda case: case.case_id)}
    digest = hashlib.blake2b(digest_size=8)
    for case in by_id.values():
        told = (case.case_id, case.question, case.answer, case.kind, case.steps)
        digest.update(msgspec.json.encode(told))
    return Known(by_id, digest.hexdigest())


class Control(msgspec.Struct, frozen=True):
    """A reader that is a table: from a case and what is wanted to what it says."""

    key: ControlName
    known: Known

    @property
    def name(self) -> str:
        return f"control:{self.key}"

    @property
    def identity(self) -> str:
        # What it says depends on the cases, so that a corrected answer is asked for anew.
        return f"{self.name}:{REVISION}:{self.known.digest}"

    @property
    def traits(self) -> Traits:
        # It does not look, so that blank and swapped images cost nothing.
        return Traits(modality="text", temperature=0.0, knows_truth=True, told_case=True)

    @property
    def limits(self) -> Limits:
        return Limits(concurrency=4)

    async def reply(self, prompt: Prompt) -> Reply:
        case = self.known.by_id.get(prompt.case)
        said = UNKNOWN if case is None else reply_of(self.key, case, wanted_of(prompt.text))
        return Reply(said, finish="stop", model=self.identity)

    async def close(self) -> None:
        pass


def wanted_of(text: str) -> Wanted:
    """What a prompt wants, by how it ends."""
    end = text.rstrip()
    if end.endswith(INSTRUCTIONS["direct"]):
        return "direct"
    if end.endswith(ANSWER_NOW):
        return "truncated"
    return "answer_first" if end.endswith(ANSWER_FIRST) else "cot"


def m3cot_controls(cases: Iterable[M3Case]) -> Mapping[str, Reader]:
    """The five controls of a set, each by the word that follows `control:`."""
    known = known_of(cases)
    return {key: Control(key, known) for key in CONTROLS}
