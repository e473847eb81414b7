"""Which vignettes a set has, before any picture is drawn.

The options of an item are drawn first and the true one last, evenly among them, and the picture is
then made to fit: whoever sees only the text is right by chance, whatever rule he follows.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import repeat

import msgspec
import numpy as np

from overread.benchmarks.medcmr.cases import DIMENSIONS, KINDS, LETTERS, Kind
from overread.case import BadInput
from overread.phantoms.vignette_questions import QUESTIONS, VIEWS, Question

__all__ = ["EACH", "LEAST", "Picture", "Plan", "Vignette", "plan_vignettes"]

EACH = 2
"""Items of each kind that every dimension has at least: as many as a swap needs."""
LEAST = 2 * EACH * len(DIMENSIONS)
_OFFERED = 5
_SHARED = 0.25  # of the items look for a picture that another item has


class Picture(msgspec.Struct, frozen=True):
    """A picture to draw: `number` seeds it, and `facts` say all that is true of it."""

    number: int
    name: str
    view: str
    facts: dict[str, str]


class Vignette(msgspec.Struct, frozen=True, kw_only=True):
    """One item; `picture` is its place among the pictures."""

    index: int
    kind: Kind
    dimension: str
    asked: Question
    question: str
    options: tuple[str, ...]
    answer: str
    truth: str
    picture: int


class Plan(msgspec.Struct, frozen=True):
    """The items of both kinds in the order of their files, and the pictures."""

    vignettes: tuple[Vignette, ...]
    pictures: tuple[Picture, ...]

    def of(self, kind: Kind) -> tuple[Vignette, ...]:
        return tuple(one for one in self.vignettes if one.kind == kind)


class _Draft(msgspec.Struct):
    """A picture as far as items have fixed it."""

    view: str
    facts: dict[str, str]
    dimensions: set[str]


def plan_vignettes(n: int, seed: int) -> Plan:
    """A quarter of the items open, the others multiple choice; the dimensions in equal parts."""
    if n < LEAST:
        raise BadInput(f"a vignette set of {n} items is too small; ask for at least {LEAST}.")
    if seed < 0:
        raise BadInput(f"seed {seed} is negative; use 0 or above.")
    rng = np.random.default_rng([seed, 0])
    # Record numbers are in no order of anything, so that they say nothing.
    records = iter((rng.permutation(n) + 10_000).tolist())
    letters = _deck(rng)
    drafts: list[_Draft] = []
    made: list[Vignette] = []
    for dimension, wanted in _wanted(n).items():
        ways = QUESTIONS[dimension]
        for k, kind in enumerate(wanted):
            asked = ways[k % len(ways)]
            options, answer, truth = _answers(rng, asked, kind, letters)
            values = [value for value, said in asked.says.items() if said == truth]
            place = _placed(rng, drafts, dimension, asked, values[int(rng.integers(len(values)))])
            made.append(
                Vignette(
                    index=0,
                    kind=kind,
                    dimension=dimension,
                    asked=asked,
                    question=_put(rng, asked, next(records)),
                    options=options,
                    answer=answer,
                    truth=truth,
                    picture=place,
                )
            )
    names = rng.permutation(len(drafts))
    pictures = tuple(_finished(rng, k, int(names[k]), draft) for k, draft in enumerate(drafts))
    return Plan(tuple(_numbered(rng, made)), pictures)


def _wanted(n: int) -> dict[str, list[Kind]]:
    """By dimension, the kinds of its items."""
    opened = max(EACH * len(DIMENSIONS), round(n / 4))
    counts: tuple[tuple[Kind, int], ...] = (("mcq", n - opened), ("open", opened))
    found: dict[str, list[Kind]] = {dimension: [] for dimension in DIMENSIONS}
    for kind, count in counts:
        each, more = divmod(count, len(DIMENSIONS))
        for place, dimension in enumerate(DIMENSIONS):
            found[dimension].extend(repeat(kind, each + (place < more)))
    return found


def _deck(rng: np.random.Generator) -> Iterator[str]:
    """Letters in random order, each once in every five."""
    while True:
        yield from (LETTERS[k] for k in rng.permutation(_OFFERED))


def _answers(
    rng: np.random.Generator, asked: Question, kind: Kind, letters: Iterator[str]
) -> tuple[tuple[str, ...], str, str]:
    """The options, the answer as a file has it, and the truth in words."""
    said = list(dict.fromkeys(asked.says.values()))
    drawn = [said[k] for k in rng.permutation(len(said))]
    if kind == "open":
        return (), drawn[0], drawn[0]
    letter = next(letters)
    options = tuple(drawn[:_OFFERED])
    return options, letter, options[LETTERS.index(letter)]


def _placed(
    rng: np.random.Generator, drafts: list[_Draft], dimension: str, asked: Question, value: str
) -> int:
    """The place of the item's picture: now and then one that an item of another dimension has."""
    if rng.random() < _SHARED:
        for place, draft in enumerate(drafts):
            fits = draft.view == asked.view and asked.facet not in draft.facts
            if fits and len(draft.dimensions) == 1 and dimension not in draft.dimensions:
                draft.facts[asked.facet] = value
                draft.dimensions.add(dimension)
                return place
    drafts.append(_Draft(asked.view, {asked.facet: value}, {dimension}))
    return len(drafts) - 1


def _finished(rng: np.random.Generator, number: int, name: int, draft: _Draft) -> Picture:
    """What no item asks for is drawn at random."""
    facets: Mapping[str, tuple[str, ...]] = VIEWS[draft.view].facets
    facts = {
        facet: draft.facts.get(facet) or values[int(rng.integers(len(values)))]
        for facet, values in facets.items()
    }
    return Picture(number, f"vignette_{name:05d}", draft.view, facts)


def _put(rng: np.random.Generator, asked: Question, record: int) -> str:
    """The question in words. `record` is unique within a set, and so is the question."""
    forms = (
        f"Record {record:05d}.",
        f"The image belongs to record {record:05d}.",
        f"Seen in clinic, record {record:05d}.",
    )
    ask = asked.asks[int(rng.integers(len(asked.asks)))]
    return f"{forms[int(rng.integers(len(forms)))]} {ask}"


def _numbered(rng: np.random.Generator, made: list[Vignette]) -> Iterator[Vignette]:
    """Each kind in random order, numbered from 1."""
    for kind in KINDS:
        some = [one for one in made if one.kind == kind]
        for index, k in enumerate(rng.permutation(len(some)), start=1):
            yield msgspec.structs.replace(some[k], index=index)
