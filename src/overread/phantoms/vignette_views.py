"""Kinds of pictures: what may be true of one, how it is drawn, what is written and asked of it.

The words, and what may be true, stand in vignette_facts.toml.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from functools import cached_property
from typing import Any, Final, TypeAlias

import msgspec
import numpy as np

from overread.phantoms import vignette_pictures as pictures
from overread.phantoms.question_scenes import Pixels
from overread.phantoms.sets import read_facts
from overread.phantoms.smear import SIDE, Cell, smear

# Facet by facet, what is true of one picture.
Facts: TypeAlias = Mapping[str, str]
Draw: TypeAlias = Callable[[np.random.Generator, Facts], Pixels]


class _ViewWords(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """`seen` is what an expert writes, with facets in braces.

    Facets have values, or the name of a table that has them.
    """

    modality: str
    system: str
    seen: str
    facets: dict[str, str | tuple[str, ...]]


class Question(msgspec.Struct, frozen=True, forbid_unknown_fields=True, dict=True):
    """One way to ask for a facet of a view.

    `says` gives, value by value, the answer that is then true, or the form of all answers; values
    in `but` are not asked for. Each answer is wrong for every value that has another. `asks` are
    forms of the question, none of which hints at the answer.
    """

    subtype: str
    ability: str
    view: str
    facet: str
    says: str | dict[str, str]
    asks: tuple[str, ...]
    but: tuple[str, ...] = ()

    @cached_property
    def answers(self) -> dict[str, str]:
        """By value, the answer."""
        values = [x for x in VIEWS[self.view].facets[self.facet] if x not in self.but]
        if isinstance(self.says, str):
            return {value: capitalized(self.says.format(value)) for value in values}
        # An answer may go for both sides.
        sides = re.compile("^(left|right) ")
        return {x: self.says.get(x) or self.says[sides.sub("", x)] for x in values}


class _VignetteFacts(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    looks: dict[str, dict[str, str]]
    cells: dict[str, dict[str, Any]]
    changes: dict[str, float]
    shifts: dict[str, int]
    views: dict[str, _ViewWords]
    questions: dict[str, tuple[Question, ...]]


_FACTS: Final = read_facts("vignette_facts.toml", _VignetteFacts)
QUESTIONS: Final[Mapping[str, tuple[Question, ...]]] = _FACTS.questions
"""By dimension, the questions, which take turns."""


class View(msgspec.Struct, frozen=True):
    """Facets are independent: any value of one goes with any value of another.

    What an expert writes and what `draw` shows both follow from the facts alone.
    """

    name: str
    words: _ViewWords
    facets: Mapping[str, tuple[str, ...]]

    @property
    def draw(self) -> Draw:
        return _DRAWN[self.name]

    def caption(self, facts: Facts) -> str:
        """What is seen: a thing that has looks by its looks, anything else by its name.

        `{pair_1}` and `{pair_2}` are the two things that the facet `pair` names.
        """
        words: dict[str, str] = {}
        for facet, value in facts.items():
            words[facet] = LOOKS.get(value, value).format(**facts)
            for place, part in enumerate(re.split(" and | with ", value), 1):
                words[f"{facet}_{place}"] = LOOKS.get(part, part)
        also = _ALSO[self.name](facts) if self.name in _ALSO else {}
        return self.words.seen.format(**words | also)


def capitalized(text: str) -> str:
    """With a capital letter at its beginning."""
    return text[0].upper() + text[1:]


# ---------------------------------------------------------------- what may be true

_KINDS: Final = _FACTS.looks
PLACES: Final[Mapping[str, tuple[float, float]]] = {
    f"{down} {across}" if (down, across) != ("middle", "centre") else "very centre": (x, y)
    for down, y in (("upper", 0.17), ("middle", 0.5), ("lower", 0.83))
    for across, x in (("left", 0.17), ("centre", 0.5), ("right", 0.83))
}
_SITED: Final = {
    f"{side} {kind}": look.format(side=side)
    for kind, look in _KINDS["sited"].items()
    for side in ("left", "right")
}
LOOKS: Final[Mapping[str, str]] = {
    value: look
    for kind, looks in _KINDS.items()
    if kind != "sited"
    for value, look in looks.items()
} | _SITED
"""What is seen of a thing; `{side}` is another facet of the picture."""
CHANGES: Final = _FACTS.changes
SHIFTS: Final = _FACTS.shifts
_REGIONS: Final = tuple(pictures.REGIONS)
_BAR: Final = 20  # millimetres of the bar on slices that have one


# ---------------------------------------------------------------- the pictures


def _blood(rng: np.random.Generator, platelets: str, **cells: Any) -> Pixels:
    return pictures.reduced(smear(rng, platelets=int(platelets), reds=60, **cells).pixels)


def _one_cell(rng: np.random.Generator, facts: Facts) -> Pixels:
    # About that place, in shares of the field's side.
    x, y = (share * SIDE + rng.uniform(-22, 22) for share in PLACES[facts["place"]])
    return _blood(rng, facts["platelets"], placed=[Cell("lymphocyte", float(x), float(y), 29.0)])


def _finding(rng: np.random.Generator, finding: str, clips: int = 0) -> Pixels:
    side, _, kind = finding.partition(" ") if finding in _SITED else ("", "", finding)
    # What the films' generator calls it.
    name = "edema" if kind == "pulmonary edema" else kind.replace(" ", "_")
    return pictures.chest(rng, name, side, clips=clips)


def _focus(region: str, mm: float, shape: str = pictures.SHAPES[0]) -> pictures.Focus:
    return pictures.Focus(*pictures.REGIONS[region], mm * pictures.MM, shape)


def _ct(rng: np.random.Generator, facts: Facts) -> Pixels:
    dots = pictures.specks(rng, int(facts["specks"]))
    return pictures.head(rng, disease=facts["disease"], side=facts["side"], foci=dots)


def _dots(count: str | int) -> str:
    return f"{count} tiny round dot{'s' * (str(count) != '1')}"


def _mri(rng: np.random.Generator, facts: Facts) -> Pixels:
    focus = _focus(facts["region"], int(facts["across"]), facts["shape"])
    return pictures.ruled(pictures.head(rng, mri=True, foci=[focus]), _BAR)


def _followed(rng: np.random.Generator, facts: Facts) -> Pixels:
    ratio = CHANGES[facts["change"]]
    # Whatever the change, the larger of the two diameters fits its lobe and says nothing.
    larger = rng.uniform(24, 28)
    sizes = (larger, larger * ratio) if ratio <= 1 else (larger / ratio, larger)
    foci = (_focus(facts["region"], mm) for mm in sizes)
    return pictures.panels(
        *(pictures.narrow_slice(pictures.head(rng, mri=True, foci=[focus])) for focus in foci)
    )


def _counted(facts: Facts) -> tuple[int, int]:
    """Dots of the earlier and of the later slice, which a line through both continues."""
    step = int(facts["step"])
    return int(facts["next"]) - 2 * step, int(facts["next"]) - step


def _course(rng: np.random.Generator, facts: Facts) -> Pixels:
    slices = (pictures.head(rng, foci=pictures.specks(rng, count)) for count in _counted(facts))
    return pictures.panels(*map(pictures.narrow_slice, slices))


def _pace(rng: np.random.Generator, facts: Facts) -> Pixels:
    gap, shift = 0.2 * int(facts["squares"]), SHIFTS[facts["segment"]]
    return pictures.paper(rng, pictures.regular(gap, st=shift, first=rng.uniform(0.3, 0.5)))


def _ectopic(rng: np.random.Generator, facts: Facts) -> Pixels:
    beats = [beat for beat in pictures.regular(0.7, first=0.35) if beat.at > 0]
    odd = 1 + VIEWS["ectopic"].facets["beat"].index(facts["beat"])
    early = msgspec.structs.replace(beats[odd], at=beats[odd].at - 0.16, wide=True, wave=False)
    return pictures.paper(rng, [*beats[:odd], early, *beats[odd + 1 :]])


def _film_strip(rng: np.random.Generator, facts: Facts) -> Pixels:
    finding, name = facts["both"].split(" with ")
    return pictures.panels(
        pictures.reduced(_finding(rng, finding), 124), pictures.rhythm(rng, name)[:124, :124]
    )


def _blood_film(rng: np.random.Generator, facts: Facts) -> Pixels:
    condition, finding = facts["both"].split(" with ")
    left = pictures.reduced(_blood(rng, "5", **_FACTS.cells[condition]), 124)
    return pictures.panels(left, pictures.reduced(_finding(rng, finding), 124))


def _shared(facts: Facts) -> str:
    """The region in which both slices have a lesion: another than the one of MRI alone."""
    return _REGIONS[(_REGIONS.index(facts["further"]) + int(facts["turn"])) % len(_REGIONS)]


def _scans(rng: np.random.Generator, facts: Facts) -> Pixels:
    both, alone = _focus(_shared(facts), 20), _focus(facts["further"], 20)
    ct, mri = pictures.head(rng, foci=[both]), pictures.head(rng, mri=True, foci=[both, alone])
    return pictures.panels(pictures.narrow_slice(ct), pictures.narrow_slice(mri))


# ---------------------------------------------------------------- the views

# How each is drawn, and further words for what is written of it.
_DRAWN: Final[Mapping[str, Draw]] = {
    "two white cells": lambda rng, facts: _blood(
        rng, facts["platelets"], whites=facts["pair"].split(" and ")
    ),
    "one white cell": _one_cell,
    "blood": lambda rng, facts: _blood(rng, facts["platelets"], **_FACTS.cells[facts["condition"]]),
    "film": lambda rng, facts: _finding(rng, facts["finding"], int(facts["clips"])),
    "swallowed": lambda rng, facts: pictures.chest(
        rng, swallowed=facts["object"], corner=facts["corner"]
    ),
    "chambers": lambda rng, facts: pictures.chambers(
        rng, facts["pair"].split(" and "), facts["valve"] == "open"
    ),
    "beat": lambda rng, facts: pictures.beat_pair(rng, int(facts["ejected"]) / 100),
    "ct": _ct,
    "mri": _mri,
    "followed": _followed,
    "course": _course,
    "rhythm": lambda rng, facts: pictures.rhythm(rng, facts["rhythm"]),
    "pace": _pace,
    "ectopic": _ectopic,
    "film and strip": _film_strip,
    "blood and film": _blood_film,
    "ct and mri": _scans,
}
_ALSO: Final[Mapping[str, Callable[[Facts], dict[str, str]]]] = {
    "blood": lambda facts: {"condition": capitalized(LOOKS[facts["condition"]])},
    "film": lambda facts: {"lie": "clip lies" if facts["clips"] == "1" else "clips lie"},
    "ct": lambda facts: {"specks": _dots(facts["specks"])},
    "course": lambda facts: dict(
        zip(("earlier", "later"), map(_dots, _counted(facts)), strict=True)
    ),
    "ct and mri": lambda facts: {"shared": _shared(facts)},
}
# What a facet's values are the names of, where they stand in a table.
_NAMED: Final[Mapping[str, Iterable[str]]] = {
    **_KINDS,
    "finding": (*_SITED, *_KINDS["unsited"]),
    "place": PLACES,
    "corner": pictures.CORNERS,
    "region": pictures.REGIONS,
    "shape": pictures.SHAPES,
    "change": CHANGES,
    "shift": SHIFTS,
}
VIEWS: Final[Mapping[str, View]] = {
    name: View(
        name,
        words,
        {
            facet: tuple(_NAMED[values]) if isinstance(values, str) else values
            for facet, values in words.facets.items()
        },
    )
    for name, words in _FACTS.views.items()
}
