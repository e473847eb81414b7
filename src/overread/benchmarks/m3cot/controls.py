"""Controls: readers whose behaviour is known by construction, so the benchmark can be checked.

Unlike most controls these know the truth: they are made of the cases. Each gets the same prompt as
any reader, finds its case by the question it is asked, and says what `control_replies` has for it.
None looks at the image: under a blank or another's image it says the very same, which is what a
reader would that reasons from the text alone.

Items that share a question but not its answer or steps cannot be told apart by the text. There a
control says so and nothing else, which no judge takes for right; `told_apart` names the items
without that fault; only those may serve to check judges or controls. The phantom set has no such
item.
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
    "told_apart",
]

REVISION = 1
"""Raised whenever a control may answer differently; it enters the key of every reply."""

UNKNOWN: Final = "I do not know this question."
SEVERAL: Final = "I was asked this about several images and cannot tell which one this is."


class Known(msgspec.Struct, frozen=True):
    """The cases by their question, and the digest of all that controls know of them."""

    # By the first line of the question, the cases that begin so, longer questions first.
    by_line: dict[str, tuple[M3Case, ...]]
    digest: str

    def find(self, text: str) -> M3Case | str:
        """The case that a prompt begins with, or what to say in its place."""
        line = text.split("\n", 1)[0]
        for case in self.by_line.get(line.strip(), ()):
            asked = case.question.strip()
            if text.strip() == asked or text.lstrip().startswith(asked + "\n"):
                return SEVERAL if case.case_id in self._unclear(asked) else case
        return UNKNOWN

    def _unclear(self, asked: str) -> frozenset[str]:
        line = asked.split("\n", 1)[0].strip()
        alike = [case for case in self.by_line[line] if case.question.strip() == asked]
        return _unclear(alike)


def known_of(cases: Iterable[M3Case]) -> Known:
    """What controls know of a set."""
    lines: dict[str, list[M3Case]] = {}
    digest = hashlib.blake2b(digest_size=8)
    for case in sorted(cases, key=lambda case: case.case_id):
        lines.setdefault(case.question.strip().split("\n", 1)[0].strip(), []).append(case)
        digest.update(msgspec.json.encode((case.question, case.answer, case.kind, case.steps)))
    by_line = {
        line: tuple(sorted(some, key=lambda case: (-len(case.question.strip()), case.case_id)))
        for line, some in lines.items()
    }
    return Known(by_line, digest.hexdigest())


def _unclear(alike: Iterable[M3Case]) -> frozenset[str]:
    """Cases of one question, if what is true of them differs."""
    found = list(alike)
    truths = {(case.answer, case.kind, case.steps) for case in found}
    return frozenset(case.case_id for case in found) if len(truths) > 1 else frozenset()


def told_apart(cases: Iterable[M3Case]) -> frozenset[str]:
    """The ids of the cases that a control finds by their question alone."""
    asked: dict[str, list[M3Case]] = {}
    for case in cases:
        asked.setdefault(case.question.strip(), []).append(case)
    return frozenset(
        case.case_id for alike in asked.values() if not _unclear(alike) for case in alike
    )


class Control(msgspec.Struct, frozen=True):
    """A reader that is a table: from a question and what is wanted to what it says."""

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
        return Traits(modality="text", temperature=0.0, knows_truth=True)

    @property
    def limits(self) -> Limits:
        return Limits(concurrency=4)

    async def reply(self, prompt: Prompt) -> Reply:
        text = prompt.text
        case = self.known.find(text)
        said = case if isinstance(case, str) else reply_of(self.key, case, wanted_of(text))
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
