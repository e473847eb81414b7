"""Controls: readers whose behaviour is known by construction, so the benchmark can be checked.

They are made of the cases. Each gets the same prompt as any reader, finds its case by the question
and the options it is shown, and says what `control_replies` has for it. None looks at the image.

Items that a prompt does not tell apart (one question, another truth) get a sentence that says so
and nothing else, which is no answer; `told_apart` and `untold` name them. Only items that can be
told may serve to check judges.

`reads-caption` is the leak detector: it knows all captions and answers, and may use them only where
the prompt holds them. It must end with every reply invalid.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping
from typing import Final, NamedTuple

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
    open_question,
    open_reply,
)
from overread.case import Limits, Prompt, Reader, Reply, Traits

__all__ = [
    "REVISION",
    "SEVERAL",
    "UNKNOWN",
    "Control",
    "Known",
    "known_of",
    "medcmr_controls",
    "told_apart",
    "untold",
]

REVISION: Final = 1
"""Raised whenever a control may answer differently; it enters the key of every reply."""
UNKNOWN: Final = "This question is new here."
SEVERAL: Final = "Several cases come with this question."
_QUESTION: Final = "Question: "
_OPTIONS: Final = " Options: A) "
_OPEN: Final = " Think step by step"


class _Asked(NamedTuple):
    """What a prompt asks: in which form, of which cases it may be, and the options as shown."""

    form: str
    cases: tuple[MedCase, ...]
    shown: tuple[str, ...] = ()


class Known(msgspec.Struct, frozen=True):
    """The cases by their folded question, put with options and without; and all that is known.

    Those put with options have these beside them, folded.
    """

    mcq: dict[str, tuple[tuple[MedCase, tuple[str, ...]], ...]]
    open: dict[str, tuple[MedCase, ...]]
    digest: str

    def find(self, text: str) -> _Asked:
        """What a prompt asks; no cases where it is not known."""
        told = folded(text)
        start = told.find(_QUESTION)
        if start < 0:
            return _Asked("", ())
        start += len(_QUESTION)
        for end in _ends(told, _OPTIONS, start):
            alike = self.mcq.get(told[start:end], ())
            rest = told[end + len(_OPTIONS) - len("A) ") :] + " "
            fitting = [(case, shown) for case, own in alike if (shown := _shown(own, rest))]
            if fitting:
                return _Asked("mcq", tuple(case for case, _ in fitting), fitting[0][1])
            if alike:
                return _Asked("mcq", tuple(case for case, _ in alike))
        for end in _ends(told, _OPEN, start):
            opened = self.open.get(told[start:end], ())
            if opened:
                return _Asked("open", opened)
        return _Asked("mcq" if _OPTIONS in told else "open", ())

    def captioned_in(self, text: str) -> list[MedCase]:
        """The cases whose caption stands in a text, whatever is asked there."""
        told = folded(text).casefold()
        cases = [case for alike in self.mcq.values() for case, _ in alike]
        cases += [case for alike in self.open.values() for case in alike]
        return [case for case in cases if case.caption and folded(case.caption).casefold() in told]


def _ends(text: str, mark: str, start: int) -> Iterator[int]:
    end = text.find(mark, start)
    while end >= 0:
        yield end
        end = text.find(mark, end + 1)


def _shown(own: tuple[str, ...], rest: str) -> tuple[str, ...]:
    """Options in the order in which the text begins with them; none if it does not."""
    for shift, first in enumerate(own):
        if rest.startswith(f"A) {first} "):
            turned = own[shift:] + own[:shift]
            listed = (f"{letter}) {text}" for letter, text in zip(LETTERS, turned, strict=False))
            if rest.startswith(" ".join(listed) + " "):
                return turned
    return ()


def known_of(cases: Iterable[MedCase], reformulated: frozenset[str] | None = None) -> Known:
    """What controls know of a set; `reformulated` as for `medcmr_controls`."""
    mcq: dict[str, list[tuple[MedCase, tuple[str, ...]]]] = {}
    digest = hashlib.blake2b(digest_size=8)
    ordered = sorted(cases, key=lambda case: case.case_id)
    for case in ordered:
        if case.kind == "mcq":
            options = tuple(map(folded, case.options))
            mcq.setdefault(folded(case.question), []).append((case, options))
        facts = (case.case_id, case.kind, case.question, case.options, case.answer, case.caption)
        digest.update(msgspec.json.encode(facts))
    asked_open = [case for case in ordered if _asked_open(case, reformulated)]
    digest.update(msgspec.json.encode([case.case_id for case in asked_open]))
    open_ = _by_open_question(asked_open)
    return Known(
        {question: tuple(some) for question, some in mcq.items()}, open_, digest.hexdigest()
    )


def _asked_open(case: MedCase, reformulated: frozenset[str] | None) -> bool:
    return case.kind == "open" or reformulated is None or case.case_id in reformulated


def _by_open_question(cases: Iterable[MedCase]) -> dict[str, tuple[MedCase, ...]]:
    found: dict[str, list[MedCase]] = {}
    for case in cases:
        found.setdefault(folded(open_question(case)), []).append(case)
    return {question: tuple(some) for question, some in found.items()}


def _one_truth(form: str, alike: Iterable[MedCase]) -> bool:
    """Whether what a control says is right of each of these cases."""
    if form == "mcq":
        return len({(folded(case.truth)) for case in alike}) == 1
    return len({(folded(case.truth), folded(case.caption or "")) for case in alike}) == 1


def told_apart(cases: Iterable[MedCase]) -> frozenset[str]:
    """The ids of those that a control finds when each of them is put as an open question."""
    return frozenset(
        case.case_id
        for alike in _by_open_question(cases).values()
        if _one_truth("open", alike)
        for case in alike
    )


def untold(cases: Iterable[MedCase], reformulated: frozenset[str]) -> frozenset[str]:
    """The ids of those that a control cannot tell from others in some form they are asked in."""
    some = list(cases)
    if len({folded(case.question) for case in some}) == len(some) and not reformulated:
        return frozenset()  # the usual set, at a tenth of the cost
    asked_open = [case for case in some if _asked_open(case, reformulated)]
    found = {case.case_id for case in asked_open} - told_apart(asked_open)
    groups: dict[tuple[str, frozenset[str]], list[MedCase]] = {}
    for case in some:
        if case.kind == "mcq":
            options = frozenset(map(folded, case.options))
            groups.setdefault((folded(case.question), options), []).append(case)
    for alike in groups.values():
        if not _one_truth("mcq", alike):
            found |= {case.case_id for case in alike}
    return frozenset(found)


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
        return Traits(modality="text", temperature=0.0, knows_truth=self.key in KNOWING)

    @property
    def limits(self) -> Limits:
        return Limits(concurrency=4)

    async def reply(self, prompt: Prompt) -> Reply:
        # Everything a reader is told: a leak may stand in any turn.
        whole = "\n".join(
            part for turn in prompt.messages for part in turn.parts if isinstance(part, str)
        )
        return Reply(self._said(prompt.text, whole), finish="stop", model=self.identity)

    def _said(self, text: str, whole: str) -> str:
        if self.key == "letter-a":
            told = folded(text)
            return "A" if told.rfind(_OPTIONS) > told.rfind(_OPEN) else FIRST
        form, cases, shown = self.known.find(text)
        if self.key == "reads-caption":
            for case in cases or self.known.captioned_in(whole):
                if leaked(whole, case, shown):
                    return _right(form, case, shown)
        if not cases:
            return UNKNOWN
        if self.key in ("oracle", "format-breaker") and not _one_truth(form, cases):
            return SEVERAL
        if form == "mcq":
            return mcq_reply(self.key, cases[0], shown or cases[0].options, self.seed)
        return open_reply(self.key, cases[0])

    async def close(self) -> None:
        pass


def _right(form: str, case: MedCase, shown: tuple[str, ...]) -> str:
    if form == "mcq" and case.kind == "mcq":
        return mcq_reply("oracle", case, shown or case.options, 0)
    return open_reply("oracle", case)


def medcmr_controls(
    cases: Iterable[MedCase], seed: int, reformulated: frozenset[str] | None = None
) -> Mapping[str, Reader]:
    """The five controls of a set, each by the word that follows `control:`.

    `reformulated` are the multiple-choice items that are also asked as open ones; None: any may be.
    """
    known = known_of(cases, reformulated)
    return {key: Control(key, known, seed) for key in CONTROLS}
