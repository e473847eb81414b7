"""Controls: readers whose behaviour is known by construction, and what they must be found to be.

A benchmark says what each control does with a prompt, what it is in a word, and by which bounds on
its measures that is seen. The reader itself, and the verdict on a run, are the same for all.
"""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from math import inf
from typing import Any, Generic, Literal, NamedTuple, TypeAlias, TypeVar

import msgspec

from overread.benchmarks.base import Recovered
from overread.benchmarks.exhibits.index import Index
from overread.benchmarks.packed import ByName, Named
from overread.case import Limits, Measure, Prompt, Reply, Traits

By: TypeAlias = tuple[tuple[str, str], ...]


class Said(NamedTuple):
    """What a control says, and the first token's alternatives where it gives any."""

    text: str
    logprobs: tuple[tuple[str, float], ...] | None = None


class Control(msgspec.Struct, frozen=True, kw_only=True):
    """A reader that is a function: from a prompt to what it says.

    `revision` is raised whenever it may answer differently, and holds the digest of whatever it
    knows; it enters the key of every reply.
    """

    key: str
    says: Callable[[Prompt], Said]
    revision: str
    traits: Traits = Traits()

    @property
    def name(self) -> str:
        return f"control:{self.key}"

    @property
    def identity(self) -> str:
        return f"{self.name}:{self.revision}"

    @property
    def limits(self) -> Limits:
        return Limits(concurrency=4)

    async def reply(self, prompt: Prompt) -> Reply:
        if prompt.pictures:  # decoding would hold the loop
            said = await asyncio.to_thread(self.says, prompt)
        else:
            said = self.says(prompt)
        return Reply(said.text, said.logprobs, finish="stop", model=self.identity)

    async def close(self) -> None:
        pass


# ---------------------------------------------------------------- what a control knows


C = TypeVar("C", bound=Named)


class Known(msgspec.Struct, Generic[C], frozen=True):
    """The cases by their ids, and the digest of all that controls know of them."""

    by_id: ByName[C]
    digest: str


def known_of(cases: Sequence[C], told: Callable[[C], Any]) -> Known[C]:
    """What controls know of a set: `told` are the facts of a case that they use.

    What such a control says depends on the cases, so that a corrected answer is asked for anew.
    """
    by_id = ByName(cases, ordered=True)
    digest = hashlib.blake2b(digest_size=8)
    for case in by_id.values():
        digest.update(msgspec.json.encode(told(case)))
    return Known(by_id, digest.hexdigest())


# ---------------------------------------------------------------- what must come out


class Criterion(msgspec.Struct, frozen=True, kw_only=True):
    """A bound that a control's measure must keep.

    `end` is the part of the measure it is laid on; without an interval that is its value. Beside a
    number, `versus` names a control whose other end must be above it too (its value where the bound
    is on a value), if it was asked. A measure that is not known breaks the bound where it is
    `needed`; `needed_with` names a measure without which it is not. `said` is what the verdict
    calls the measure, by its name and `by` where left out.
    """

    measure: str
    end: Literal["value", "low", "high"] = "value"
    least: float = -inf
    most: float = inf
    by: By = ()
    versus: str = ""
    needed: bool = True
    needed_with: str = ""
    reason: str = ""
    said: str = ""

    @property
    def called(self) -> str:
        return self.said or " of ".join((self.measure, *(value for _, value in self.by)))

    def kept(self, own: Measure, other: Measure | None) -> tuple[str, bool]:
        """What the measure is, in words, and whether it keeps to the bound."""
        found = _end_of(own, self.end)
        assert found is not None
        ok = self.least <= found <= self.most
        word = {"value": "", "low": " at least", "high": " at most"}[self.end]
        said = f"{self.called}{word} {found:.2f}"
        if other is not None:
            opposite = {"value": "value", "low": "high", "high": "low"}[self.end]
            against = _end_of(other, opposite)
            apart = against is not None and found < against
            ok = ok and apart
            said += f", {'below' if apart else 'not below'} {self.versus}'s"
        return (said, ok) if ok else (f"{said} ({self.reason})", ok)


def _end_of(measure: Measure, end: str) -> float | None:
    found: float | None = getattr(measure, end)
    return measure.value if found is None else found


class Verdict(NamedTuple):
    """What the measures say of a control, and whether they bear out what it is."""

    said: str
    ok: bool


Decide: TypeAlias = Callable[[str, Sequence[Measure]], Verdict]
_NOTHING_TELLS = "nothing was measured that tells"


def recovered(
    measures: Iterable[Measure], expected: Mapping[str, str], decide: Decide
) -> list[Recovered]:
    """Whether a run's measures show each control for what it is; one line for each that was asked.

    `expected` is what each control is by construction; `decide` looks at the measures of all
    controls, of readers named without `control:`, for one of them.
    """
    own = [
        msgspec.structs.replace(one, reader=one.reader.removeprefix("control:"))
        for one in measures
        if one.reader.startswith("control:")
    ]
    asked = {one.reader for one in own}
    found = []
    for control, word in expected.items():
        if control in asked:
            said, ok = decide(control, own)
            # Where the measures do not bear the word out, they are what was found.
            what, note = (word, said) if ok else (said, None)
            found.append(Recovered(control=control, expected=word, found=what, ok=ok, note=note))
    return found


def by_criteria(
    criteria: Mapping[str, Sequence[Criterion]],
    passed_over: Callable[[Measure], bool] = lambda measure: False,
) -> Decide:
    """Decide by bounds on measures; what is `passed_over`, as from an unfit judge, tells nothing.

    A control of which nothing is known is not recovered.
    """

    def decide(control: str, measures: Sequence[Measure]) -> Verdict:
        index = Index(one for one in measures if one.n != 0)
        kept: list[str] = []
        broken: list[str] = []
        for criterion in criteria[control]:
            name, by = criterion.measure, dict(criterion.by)
            own = index.known(control, name, **by)
            if own is None:
                there = index.known(control, criterion.needed_with) is not None
                if criterion.needed and (there or not criterion.needed_with):
                    broken.append(f"{criterion.called} is not known")
            elif not passed_over(own):
                said, ok = criterion.kept(own, index.get(criterion.versus, name, **by))
                (kept if ok else broken).append(said)
        ok = bool(kept) and not broken
        return Verdict("; ".join(kept if ok else broken) or _NOTHING_TELLS, ok)

    return decide
