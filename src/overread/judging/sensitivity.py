"""Does a verdict hang on what should not matter: the order of the material, the reply's length?

The same judgment is asked for twice, the second time with one harmless thing changed.
"""

from __future__ import annotations

import json
from collections.abc import Hashable, Mapping, Sequence
from typing import Final, Literal, TypeAlias, TypeVar

import msgspec

from overread.case import Measure
from overread.judging.rubric import Rubric
from overread.stats import Interval, wilson

T = TypeVar("T")
Change: TypeAlias = Literal["sections", "steps", "length"]
SHIFT: Final = "judge_shift"
CHANGES: Final[tuple[Change, ...]] = ("sections", "steps", "length")

# Polite words that say nothing of the case; they stand first, so that the answer stays last.
_PADDING: Final = (
    "Thank you for this question. I will go through it with care and in plain words. I will say "
    "what I think and why I think so, and I will then come to the point."
)


class Variant(msgspec.Struct, frozen=True):
    """The material with one thing changed.

    `steps` gives, for each gold step as it now stands, its place before.
    """

    change: Change
    sections: dict[str, str]
    steps: tuple[int, ...] = ()


class Sensitivity(msgspec.Struct, frozen=True):
    """How many of n verdicts changed, with Wilson's interval; `missing` pairs lack one verdict."""

    change: Change
    changed: int
    n: int
    missing: int
    share: Interval


def variants(rubric: Rubric, sections: Mapping[str, str], reply: str = "reply") -> list[Variant]:
    """Each change that can be made to this material; those that would change nothing are left out.

    `sections`: in reverse order, unless the template says where each goes. `steps`: the gold steps
    in reverse. `length`: the reply, which is the section of that name, behind a paragraph that says
    nothing.
    """
    made = []
    names = list(sections)
    if not rubric.ordered and len(names) > 1:
        made.append(Variant("sections", {name: sections[name] for name in reversed(names)}))
    turned = _turned(sections.get("steps", ""))
    if turned is not None:
        text, places = turned
        made.append(Variant("steps", {**sections, "steps": text}, places))
    if sections.get(reply, "").strip():
        padded = f"{_PADDING}\n\n{sections[reply]}"
        made.append(Variant("length", {**sections, reply: padded}))
    return made


def _turned(text: str) -> tuple[str, tuple[int, ...]] | None:
    """Gold steps in reverse, counted anew; None where they are not a JSON list of two or more."""
    try:
        steps = json.loads(text)
    except (ValueError, RecursionError):
        return None
    if not isinstance(steps, list) or len(steps) < 2:
        return None
    places = tuple(reversed(range(len(steps))))
    told = [
        {**steps[place], "step_index": index}
        if isinstance(steps[place], dict) and "step_index" in steps[place]
        else steps[place]
        for index, place in enumerate(places)
    ]
    return json.dumps(told, ensure_ascii=text.isascii()), places


def restored(verdicts: Sequence[T], variant: Variant) -> list[T]:
    """A verdict for each gold step in the order before, from those in the variant's order."""
    if len(verdicts) != len(variant.steps):
        raise ValueError(f"{len(verdicts)} verdicts on {len(variant.steps)} steps")
    back = dict(zip(variant.steps, verdicts, strict=True))
    return [back[place] for place in range(len(verdicts))]


def changed(
    change: Change, before: Sequence[Hashable | None], after: Sequence[Hashable | None]
) -> Sensitivity:
    """The share of verdicts that are not the same after the change; None is no verdict."""
    pairs = list(zip(before, after, strict=True))
    both = [(a, b) for a, b in pairs if a is not None and b is not None]
    hits = sum(a != b for a, b in both)
    return Sensitivity(change, hits, len(both), len(pairs) - len(both), wilson(hits, len(both)))


def shift_measure(by: Mapping[str, str], found: Sensitivity) -> Measure:
    """`judge_shift`: that share, of the judge and the question that `by` names."""
    return Measure(
        reader="",
        measure=SHIFT,
        by={**by, "change": found.change},
        value=found.share.point,
        n=found.n,
        k=found.changed,
        low=found.share.low,
        high=found.share.high,
        method="wilson" if found.n else None,
        note=f"{found.missing} without a verdict both times" if found.missing else None,
    )
