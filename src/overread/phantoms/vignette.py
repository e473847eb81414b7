"""A set of synthetic hard cases on disk, packed as the Med-CMR release is.

Every patient is made up and every answer and caption is true of its picture by construction, so
anyone may share the set. It is for testing instruments, never for training or judging a clinical
model.
"""

from __future__ import annotations

import shutil
import zipfile
from collections.abc import Sequence
from itertools import count, repeat
from pathlib import Path
from typing import Any, Final

import msgspec
import numpy as np
from PIL import Image

from overread.benchmarks.letter_parser import LETTERS
from overread.benchmarks.medcmr.cases import ABILITIES, DIMENSIONS, KINDS, Kind
from overread.benchmarks.medcmr.loading import ARCHIVE, FILES, FOLDER
from overread.phantoms.sets import Job, SetMaker, one_of
from overread.phantoms.vignette_views import QUESTIONS, VIEWS, Question

# ---------------------------------------------------------------- which vignettes a set has
#
# The options of an item are drawn first and the true one last, evenly among them, and the picture
# is then made to fit: whoever sees only the text is right by chance, whatever rule he follows.

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
    rng = np.random.default_rng([seed, 0])
    # Record numbers are in no order of anything, so that they say nothing.
    records = iter((rng.permutation(n) + 10_000).tolist())
    # In random order, each once in every five.
    letters = (LETTERS[k] for _ in count() for k in rng.permutation(_OFFERED))
    drafts: list[_Draft] = []
    made: list[Vignette] = []
    for dimension, wanted in _wanted(n).items():
        ways = QUESTIONS[dimension]
        for k, kind in enumerate(wanted):
            asked = ways[k % len(ways)]
            said = list(dict.fromkeys(asked.answers.values()))
            drawn = [said[at] for at in rng.permutation(len(said))]
            options: tuple[str, ...] = ()
            truth = answer = drawn[0]
            if kind == "mcq":
                options, answer = tuple(drawn[:_OFFERED]), next(letters)
                truth = options[LETTERS.index(answer)]
            values = [value for value, said in asked.answers.items() if said == truth]
            place = _placed(rng, drafts, dimension, asked, one_of(rng, values))
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
    pictures: list[Picture] = []
    for number, draft in enumerate(drafts):
        # What no item asks for is drawn at random.
        facets = VIEWS[draft.view].facets.items()
        facts = {facet: draft.facts.get(facet) or one_of(rng, some) for facet, some in facets}
        pictures.append(Picture(number, f"vignette_{names[number]:05d}", draft.view, facts))
    numbered: list[Vignette] = []
    for kind in KINDS:  # each in random order, numbered from 1
        some = [one for one in made if one.kind == kind]
        for index, k in enumerate(rng.permutation(len(some)), start=1):
            numbered.append(msgspec.structs.replace(some[k], index=index))
    return Plan(tuple(numbered), tuple(pictures))


def _wanted(n: int) -> dict[str, list[Kind]]:
    """By dimension, the kinds of its items."""
    opened = max(EACH * len(DIMENSIONS), round(n / 4))
    counts: tuple[tuple[Kind, int], ...] = (("mcq", n - opened), ("open", opened))
    found: dict[str, list[Kind]] = {dimension: [] for dimension in DIMENSIONS}
    for kind, due in counts:
        each, more = divmod(due, len(DIMENSIONS))
        for place, dimension in enumerate(DIMENSIONS):
            found[dimension].extend(repeat(kind, each + (place < more)))
    return found


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


def _put(rng: np.random.Generator, asked: Question, record: int) -> str:
    """The question in words. `record` is unique within a set, and so is the question."""
    forms = (
        f"Record {record:05d}.",
        f"The image belongs to record {record:05d}.",
        f"Seen in clinic, record {record:05d}.",
    )
    ask = one_of(rng, asked.asks)
    return f"{one_of(rng, forms)} {ask}"


# ---------------------------------------------------------------- pictures


def drawn(seed: int, picture: Picture) -> np.ndarray[tuple[int, ...], np.dtype[np.uint8]]:
    """The pixels of a picture; the same seed and facts always give the same."""
    rng = np.random.default_rng([seed, 1, picture.number])
    return VIEWS[picture.view].draw(rng, picture.facts)


def _picture(folder: Path, seed: int, picture: Picture) -> str:
    # Fast compression: grain hardly compresses, and the set is made while somebody waits.
    image = Image.fromarray(drawn(seed, picture))
    image.save(folder / _LOOSE / f"{picture.name}.png", compress_level=1)
    return picture.name


JOB = Job("vignette", Picture, str, _picture, "pictures", share=30)


# ---------------------------------------------------------------- the set

_LOOSE = "loose"
_IMAGES = f"{FOLDER}/imgs"
_STALE = 5
_FORK: Final = b"\x00\x05\x16\x07\x00\x02\x00\x00Mac OS X        "
"""How the files begin that a Macintosh adds to an archive."""


def _row(vignette: Vignette, plan: Plan) -> dict[str, Any]:
    """An item with the fields of the release."""
    picture = plan.pictures[vignette.picture]
    view = VIEWS[picture.view]
    return {
        "index": vignette.index,
        "question": vignette.question,
        "image_path": f"{_IMAGES}/{picture.name}.png",
        **dict(zip(LETTERS, vignette.options, strict=False)),
        "answer": vignette.answer,
        "visual_description": view.caption(picture.facts),
        "task": _titled(DIMENSIONS[vignette.dimension]),
        "subtype": vignette.asked.subtype,
        "question type": _titled(ABILITIES[vignette.asked.ability]),
        "modality": view.words.modality,
        "organ system": view.words.system,
    }


def _titled(name: str) -> str:
    """Every word with a capital letter, but for "and"."""
    return name.title().replace(" And ", " and ")


def _write(folder: Path, plan: Plan, made: Sequence[str]) -> None:
    """The archive, with a stale copy and a Macintosh's own files, which no loader may read."""
    rows = {kind: [_row(one, plan) for one in plan.of(kind)] for kind in FILES}
    members = {f"{FOLDER}/{name}": _written(rows[kind]) for kind, name in FILES.items()}
    stale = [{**row, "answer": LETTERS[0]} for row in rows["mcq"][:_STALE]]
    members[f"{FOLDER}/{FILES['mcq']}.bak"] = _written(stale)
    members[f"__MACOSX/{FOLDER}/._{FILES['mcq']}"] = _FORK
    with zipfile.ZipFile(folder / ARCHIVE, "w", zipfile.ZIP_STORED) as archive:
        for name in (f"{FOLDER}/", f"{_IMAGES}/"):
            archive.writestr(_entry(name), b"")
        for member, held in members.items():
            archive.writestr(_entry(member), held)
        for picture in sorted(made):
            held = (folder / _LOOSE / f"{picture}.png").read_bytes()
            archive.writestr(_entry(f"{_IMAGES}/{picture}.png"), held)
            archive.writestr(_entry(f"__MACOSX/{_IMAGES}/._{picture}.png"), _FORK)
    shutil.rmtree(folder / _LOOSE)


def _written(rows: list[dict[str, Any]]) -> bytes:
    return msgspec.json.format(msgspec.json.encode(rows), indent=4) + b"\n"


def _entry(name: str) -> zipfile.ZipInfo:
    """A member that has the same bytes whenever it is written."""
    entry = zipfile.ZipInfo(name)
    entry.create_system = 3
    entry.external_attr = (0o40755 << 16 | 0x10) if name.endswith("/") else 0o100644 << 16
    return entry


write_vignette_set = SetMaker(
    kind="vignette",
    index=ARCHIVE,
    revision=1,
    standard=80,
    least=LEAST,
    cases="items",
    plan=plan_vignettes,
    orders=lambda plan: plan.pictures,
    job=JOB,
    folders=(_LOOSE,),
    write=_write,
)
write_phantoms = write_vignette_set.below
