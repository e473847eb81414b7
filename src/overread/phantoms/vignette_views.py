"""Kinds of pictures: what may be true of one, how it is drawn, what is written and asked of it.

The words stand in vignette_facts.toml.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import cached_property
from itertools import combinations, combinations_with_replacement, product
from typing import Any, Final, TypeAlias

import msgspec
import numpy as np
import numpy.typing as npt

from overread.phantoms import vignette_pictures as pictures
from overread.phantoms.question_scenes import Pixels
from overread.phantoms.sets import read_facts
from overread.phantoms.smear import SIDE, WHITE_CELLS, Cell, smear

# Facet by facet, what is true of one picture.
Facts: TypeAlias = Mapping[str, str]


class _ViewWords(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """`seen` is what an expert writes, with facets in braces."""

    modality: str
    system: str
    seen: str


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

    What an expert writes and what `draw` shows both follow from the facts alone. `also` gives
    further words for what is written.
    """

    name: str
    facets: Mapping[str, tuple[str, ...]]
    draw: Callable[[np.random.Generator, Facts], npt.NDArray[Any]]
    also: Callable[[Facts], dict[str, str]] = lambda facts: {}

    @property
    def words(self) -> _ViewWords:
        return _FACTS.views[self.name]

    def caption(self, facts: Facts) -> str:
        """What is seen: a thing that has looks by its looks, anything else by its name.

        `{pair_1}` and `{pair_2}` are the two things that the facet `pair` names.
        """
        words: dict[str, str] = {}
        for facet, value in facts.items():
            words[facet] = LOOKS.get(value, value).format(**facts)
            for place, part in enumerate(re.split(" and | with ", value), 1):
                words[f"{facet}_{place}"] = LOOKS.get(part, part)
        return self.words.seen.format(**words | self.also(facts))


def _numbers(first: int, last: int, step: int = 1) -> tuple[str, ...]:
    """Whole numbers as words of a facet, both ends included."""
    return tuple(map(str, range(first, last + 1, step)))


def capitalized(text: str) -> str:
    """With a capital letter at its beginning."""
    return text[0].upper() + text[1:]


# ---------------------------------------------------------------- what may be true

_KINDS: Final = _FACTS.looks
PAIRS: Final = tuple(
    " and ".join(two) for two in combinations_with_replacement(sorted(WHITE_CELLS), 2)
)
PLACES: Final[Mapping[str, tuple[float, float]]] = {
    f"{down} {across}" if (down, across) != ("middle", "centre") else "very centre": (x, y)
    for down, y in (("upper", 0.17), ("middle", 0.5), ("lower", 0.83))
    for across, x in (("left", 0.17), ("centre", 0.5), ("right", 0.83))
}
_SIDES: Final = ("left", "right")
_SITED: Final = {
    f"{side} {kind}": look.format(side=side)
    for kind, look in _KINDS["sited"].items()
    for side in _SIDES
}
LOOKS: Final[Mapping[str, str]] = {
    value: look
    for kind, looks in _KINDS.items()
    if kind != "sited"
    for value, look in looks.items()
} | _SITED
"""What is seen of a thing; `{side}` is another facet of the picture."""
_CHAMBERS: Final = tuple(
    " and ".join(two)
    for two in combinations(("left ventricle", "right ventricle", "left atrium", "right atrium"), 2)
)
CHANGES: Final = _FACTS.changes
BEATS: Final = ("second", "third", "fourth", "fifth", "sixth")
SHIFTS: Final = _FACTS.shifts
_THREE_FINDINGS: Final = ("left pneumothorax", "right pleural effusion", "cardiomegaly")
_THREE_RHYTHMS: Final = ("sinus rhythm", "atrial fibrillation", "ventricular tachycardia")
_THREE_CONDITIONS: Final = ("sickle cell disease", "iron deficiency", "lymphocytosis")
_FEW: Final = _numbers(2, 9)
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
    odd = 1 + BEATS.index(facts["beat"])
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

_VIEWS: Final = (
    View(
        "two white cells",
        {"pair": PAIRS, "platelets": _FEW},
        lambda rng, facts: _blood(rng, facts["platelets"], whites=facts["pair"].split(" and ")),
    ),
    View("one white cell", {"place": tuple(PLACES), "platelets": _FEW}, _one_cell),
    View(
        "blood",
        {"condition": tuple(_KINDS["condition"]), "platelets": _FEW},
        lambda rng, facts: _blood(rng, facts["platelets"], **_FACTS.cells[facts["condition"]]),
        lambda facts: {"condition": capitalized(LOOKS[facts["condition"]])},
    ),
    View(
        "film",
        {"finding": (*_SITED, *_KINDS["unsited"]), "clips": _numbers(1, 6)},
        lambda rng, facts: _finding(rng, facts["finding"], int(facts["clips"])),
        lambda facts: {"lie": "clip lies" if facts["clips"] == "1" else "clips lie"},
    ),
    View(
        "swallowed",
        {"object": tuple(_KINDS["metal"]), "corner": tuple(pictures.CORNERS)},
        lambda rng, facts: pictures.chest(rng, swallowed=facts["object"], corner=facts["corner"]),
    ),
    View(
        "chambers",
        {"pair": _CHAMBERS, "valve": ("open", "shut")},
        lambda rng, facts: pictures.chambers(
            rng, facts["pair"].split(" and "), facts["valve"] == "open"
        ),
    ),
    View(
        "beat",
        {"ejected": _numbers(20, 70, 10)},
        lambda rng, facts: pictures.beat_pair(rng, int(facts["ejected"]) / 100),
    ),
    View(
        "ct",
        {"disease": tuple(_KINDS["head"]), "side": _SIDES, "specks": _numbers(1, 6)},
        _ct,
        lambda facts: {"specks": _dots(facts["specks"])},
    ),
    View("mri", {"region": _REGIONS, "shape": pictures.SHAPES, "across": _numbers(8, 24, 4)}, _mri),
    View("followed", {"change": tuple(CHANGES), "region": _REGIONS}, _followed),
    View(
        "course",
        {"next": _numbers(7, 12), "step": _numbers(1, 3)},
        _course,
        lambda facts: dict(zip(("earlier", "later"), map(_dots, _counted(facts)), strict=True)),
    ),
    View(
        "rhythm",
        {"rhythm": tuple(_KINDS["rhythm"])},
        lambda rng, facts: pictures.rhythm(rng, facts["rhythm"]),
    ),
    View("pace", {"squares": _numbers(2, 6), "segment": tuple(SHIFTS)}, _pace),
    View("ectopic", {"beat": BEATS}, _ectopic),
    View(
        "film and strip",
        {"both": tuple(map(" with ".join, product(_THREE_FINDINGS, _THREE_RHYTHMS)))},
        _film_strip,
    ),
    View(
        "blood and film",
        {"both": tuple(map(" with ".join, product(_THREE_CONDITIONS, _THREE_FINDINGS)))},
        _blood_film,
    ),
    View(
        "ct and mri",
        {"further": _REGIONS, "turn": _numbers(1, 5)},
        _scans,
        lambda facts: {"shared": _shared(facts)},
    ),
)
VIEWS: Final[Mapping[str, View]] = {view.name: view for view in _VIEWS}
