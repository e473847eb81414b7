"""A set of synthetic chest films on disk, in the form of a grounding manifest.

Every patient, finding and box is made up, so its truth is exact and anyone may share it. The films
are for testing instruments, never for training or judging a clinical model.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import msgspec
import numpy as np
from PIL import Image

from overread.benchmarks.grounding.build.manifest import write_manifest
from overread.benchmarks.grounding.cases import GroundingCase
from overread.case import Box
from overread.imaging import RESOLUTION, irrelevant_box, matched_boxes, rescale_box
from overread.phantoms.chest_body import FILM
from overread.phantoms.chest_film import FINDINGS, film
from overread.phantoms.sets import Job, SetMaker, one_of, write_csv

# ---------------------------------------------------------------- which films a set needs
#
# How many of what, under which names, decided before any is drawn. The standard set has 480 cases:
# for each of eight findings 40 films that show it and 20 healthy films that do not. Two things
# besides the finding go with the label, as in real archives, and a reader may lean on either
# instead of looking: the marker (seven films in eight agree with the label) and the view (bedside
# AP films are more often of the sick).

MARKER_AGREES = 0.875
AP_WHEN_PRESENT, AP_WHEN_ABSENT = 0.65, 0.35


class Order(msgspec.Struct, frozen=True):
    """One film to make. `number` seeds it; `name` is its file's stem and says nothing of it."""

    number: int
    name: str
    finding: str
    present: bool
    view: str
    marker: bool


class Planned(msgspec.Struct, frozen=True):
    """One case: its film, another patient's that agrees with it, and one that does not."""

    case_id: str
    film: Order
    swap: Order
    opposite: Order


class SetPlan(msgspec.Struct, frozen=True):
    """All films, and the cases in the order of their ids.

    Films that are no case are spare: the other patient where a finding has a single case.
    """

    seed: int
    films: tuple[Order, ...]
    cases: tuple[Planned, ...]


def plan_set(n: int, seed: int) -> SetPlan:
    """The plan for n cases; the same n and seed always give the same plan."""
    rng = np.random.default_rng([seed, 0])
    positives = round(n * 2 / 3)
    strata = [(f, True, k) for f, k in _shares(positives)]
    strata += [(f, False, k) for f, k in _shares(n - positives)]
    spares = [(f, True, 1) for f, present, k in strata if present and k == 1]

    kinds = [(f, present) for f, present, k in strata + spares for _ in range(k)]
    # Spare films have the marker, and are taken at the bedside.
    marker, bedside = (
        [
            *_spread(rng, strata, True, sick),
            *_spread(rng, strata, False, well),
            *[True] * len(spares),
        ]
        for sick, well in ((MARKER_AGREES, 1 - MARKER_AGREES), (AP_WHEN_PRESENT, AP_WHEN_ABSENT))
    )
    names = rng.permutation(len(kinds))
    films = tuple(
        Order(k, f"film_{names[k]:05d}", f, present, "AP" if bedside[k] else "PA", marker[k])
        for k, (f, present) in enumerate(kinds)
    )
    ids = rng.permutation(n)
    alike: dict[tuple[str, bool], list[Order]] = {}
    for one in films:
        alike.setdefault((one.finding, one.present), []).append(one)
    # A healthy film lacks every finding: any serves where a finding has too few of its own.
    healthy = [one for one in films if not one.present]
    # A stream of their own: what was planned before they were thought of stays as it was.
    others = np.random.default_rng([seed, 2])
    cases = []
    for k, one in enumerate(films[:n]):
        pool = alike[one.finding, one.present]
        swap = _another(rng, one, pool if len(pool) > 1 else healthy)
        opposite = one_of(others, alike.get((one.finding, not one.present), healthy))
        cases.append(Planned(f"phantom_{ids[k]:05d}", one, swap, opposite))
    return SetPlan(seed, films, tuple(sorted(cases, key=lambda case: case.case_id)))


def _shares(total: int) -> list[tuple[str, int]]:
    """As near to equal parts as whole numbers allow, the first findings taking what is over."""
    each, over = divmod(total, len(FINDINGS))
    return [(finding, each + (i < over)) for i, finding in enumerate(FINDINGS)]


def _spread(
    rng: np.random.Generator, strata: Sequence[tuple[str, bool, int]], present: bool, share: float
) -> Iterator[bool]:
    """True for a share of each stratum, exact over all strata together, shuffled within each."""
    given = seen = 0
    for _, stratum, k in strata:
        if stratum is present:
            seen += k
            due = round(share * seen) - given
            yield from rng.permutation(np.arange(k) < due).tolist()
            given += due


def _another(rng: np.random.Generator, one: Order, pool: Sequence[Order]) -> Order:
    """Another patient's film out of some, uniform over all but the film itself."""
    other = pool[int(rng.integers(len(pool) - 1))]
    return pool[-1] if other is one else other


# ---------------------------------------------------------------- films

QUALITY = 95


class Made(msgspec.Struct, frozen=True):
    """What is known of a finished film; `box` in source pixels."""

    name: str
    sex: str
    age: int
    phrase: str
    box: Box | None


def _film(folder: Path, seed: int, order: Order) -> Made:
    one = film(
        np.random.default_rng([seed, 1, order.number]),
        view=order.view,
        finding=order.finding if order.present else None,
        marker=order.marker,
    )
    Image.fromarray(one.pixels).save(folder / _path(order), "JPEG", quality=QUALITY)
    return Made(order.name, one.person.sex, one.person.age, one.phrase, one.box)


JOB = Job("film", Order, Made, _film, "films", share=24)


# ---------------------------------------------------------------- masks that should not matter
#
# Boxes of a finding's size elsewhere. Where a patient's trunk is need not be found: it is known.

DRAWS = 5
TRUNK = Box(27, 43, 170, 181)
"""Inside every patient's outline at 224, below the shoulders and clear of where markers stand."""


def on_the_trunk(rng: np.random.Generator, target: Box) -> tuple[Box, ...]:
    """Up to five different boxes of the target's size, drawn evenly from all places there are.

    A target as large as the heart of a cardiomegaly leaves no room for any.
    """
    trunk = np.zeros((RESOLUTION, RESOLUTION), np.bool_)
    trunk[TRUNK.y : TRUNK.y + TRUNK.h, TRUNK.x : TRUNK.x + TRUNK.w] = True
    return matched_boxes(target, trunk, DRAWS, rng)


# ---------------------------------------------------------------- the set


def _write(folder: Path, plan: SetPlan, made: Sequence[Made]) -> None:
    films = {one.name: one for one in made}
    cases = [_case(number, one, films, plan.seed) for number, one in enumerate(plan.cases)]
    write_manifest(folder / "manifest.csv", cases)
    boxes = [films[case.film.name].box for case in plan.cases]
    truths = [
        {
            "case_id": case.case_id,
            "marker": int(case.film.marker),
            "view": case.film.view,
            **({f"box_{side}": getattr(box, side) for side in "xywh"} if box else {}),
        }
        for case, box in zip(plan.cases, boxes, strict=True)
    ]
    columns = ("case_id", "marker", "view", "box_x", "box_y", "box_w", "box_h")
    write_csv(folder / "phantom_truth.csv", columns, truths)


def _case(number: int, planned: Planned, made: Mapping[str, Made], seed: int) -> GroundingCase:
    order = planned.film
    shown = made[order.name]
    case = GroundingCase(
        case_id=planned.case_id,
        source="phantom",
        image_path=_path(order),
        dicom_id=order.name,
        subject_id=str(10_000_000 + number),
        study_id=str(50_000_000 + number),
        view=order.view,
        age=shown.age,
        gender=shown.sex,
        finding=order.finding,
        label=int(order.present),
        label_text=shown.phrase,
        swap_image_path=_path(planned.swap),
        label_value=int(order.present),
        swap_match="label",
        opposite_image_path=_path(planned.opposite),
    )
    source = shown.box
    if source is None:
        return case
    box = rescale_box(source.x, source.y, source.w, source.h, FILM, FILM)
    assert box is not None, "a film's box is large enough by construction"
    matched = on_the_trunk(np.random.default_rng([seed, 3, order.number]), box)
    return msgspec.structs.replace(
        case, box=box, irrelevant_box=irrelevant_box(box), matched_boxes=matched
    )


def _path(order: Order) -> str:
    return f"images/{order.name}.jpg"


write_chest_set = SetMaker(
    kind="chest",
    index="manifest.csv",
    revision=2,
    standard=480,
    least=16,
    cases="cases",
    plan=plan_set,
    orders=lambda plan: plan.films,
    job=JOB,
    folders=("images",),
    write=_write,
)
write_phantoms = write_chest_set.below
