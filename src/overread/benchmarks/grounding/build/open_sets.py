"""Probe sets from films that carry boxes: NIH, RSNA, or a hospital's own (GROUNDING 2, adapted).

For each finding, films that have it and as many that do not, both alike in their views: portable
AP films are of sicker people, so a reader that only tells AP from PA would look as if it saw the
finding. Films with a usable box come first among those that have it; they alone can be masked.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final, NamedTuple

import msgspec

from overread.benchmarks.grounding.boxes import MINIMUM_SIDE, RESOLUTION, irrelevant_boxes
from overread.benchmarks.grounding.build.films import (
    ABSENT,
    LABELS,
    NOT_MENTIONED,
    PRESENT,
    UNCERTAIN,
    Built,
    film_schema,
)
from overread.benchmarks.grounding.build.films_read import FilmsRead
from overread.benchmarks.grounding.build.lots import by_lot, paired, shares
from overread.benchmarks.grounding.build.open_boxes import Boxed, usable_boxes
from overread.benchmarks.grounding.build.scheme import FRONTAL, Account, Rules
from overread.benchmarks.grounding.build.swaps import SwapPool
from overread.benchmarks.grounding.cases import GroundingCase
from overread.benchmarks.grounding.prompts import NORMAL
from overread.case import BadInput

if TYPE_CHECKING:
    import polars as pl

__all__ = ["boxed_probe_set"]

_FACTS: Final = ("report_path", "dicom_id", "subject_id", "study_id", "view", "age", "gender")


class _Drawn(NamedTuple):
    """One case to be."""

    image: str
    finding: str
    label: int
    boxed: Boxed | None = None


def boxed_probe_set(
    read: FilmsRead,
    *,
    edition: Rules = "corrected",
    seed: int = 42,
    per_label: int = 100,
    normals: int = 100,
    findings: Sequence[str] | None = None,
    resolution: int = RESOLUTION,
    minimum_side: int = MINIMUM_SIDE,
) -> Built:
    """At most `per_label` films with and without each finding, then `normals` without any.

    A patient gives one film to a finding, by lot, a boxed one if there is one. Films with and
    without the finding are paired within each view; boxed films left over come in unpaired, up to
    `per_label`, since masks need no counterpart. Which films are drawn depends on their names and
    the seed alone, not on the order of the rows.

    `corrected` takes as absent only what is known to be (0), and masks all boxes of a finding at
    once: with another box in sight an answer that stays is right. `authors` fills absent
    films up with those that do not mention the finding [D22], and makes a case of each box (2.2).
    """
    import polars as pl

    account = Account(read.name)
    frontal = pl.col("view").is_in(FRONTAL) | pl.col("view").is_null()
    films = account.keep(read.films, frontal, "view not PA or AP").sort("image_path")
    # Where patients are unknown each film counts as one.
    films = films.with_columns(patient=pl.coalesce("subject_id", "image_path"))
    boxes = usable_boxes(read, films, account, edition, resolution, minimum_side)
    drawn: list[_Drawn] = []
    unpaired = 0
    for finding in _asked(films, findings):
        if finding == NORMAL:
            drawn += _normals(films, normals, seed)
            continue
        uncertain = int((films[finding] == UNCERTAIN).sum())
        account.drop(f"{finding}: uncertain", uncertain)
        found, alone = _draw(films, boxes.get(finding, {}), finding, per_label, edition, seed)
        drawn += found
        unpaired += alone
    if not drawn:
        lost = "; ".join(f"{each.reason}, {each.count}" for each in account.exclusions)
        raise BadInput(
            f"{read.name}: no case can be drawn ({lost or 'no film is labelled with a finding'}). "
            "Give films with and without a finding, or with boxes."
        )
    cases = _cases(read.name, drawn, films, resolution)
    used = len({case.image_path for case in cases})
    account.drop("not drawn (one film per patient, caps, views)", films.height - used)
    cases = _swapped(cases, films, seed)
    return Built(
        name=read.name,
        policy=read.policy,
        cases=cases,
        exclusions=[*read.exclusions, *account.exclusions],
        provenance=[*read.provenance, *_notes(cases, films, unpaired)],
        sides=account.sides,
    )


def _asked(films: pl.DataFrame, findings: Sequence[str] | None) -> list[str]:
    """The findings that some film has; normal films last."""
    own = [name for name in films.columns if name not in film_schema() and name != "patient"]
    known = [*(name for name in LABELS if name != NORMAL), *own, NORMAL]
    strange = [name for name in findings or () if name not in known]
    if strange:
        raise BadInput(f'"{strange[0]}" is no finding of these films; {", ".join(known)} are.')
    chosen = known if findings is None else [name for name in known if name in findings]
    return [name for name in chosen if (films[name] == PRESENT).any()]


# ---------------------------------------------------------------- cases


def _draw(
    films: pl.DataFrame,
    boxes: dict[str, list[Boxed]],
    finding: str,
    per_label: int,
    edition: Rules,
    seed: int,
) -> tuple[list[_Drawn], int]:
    """Films with the finding, then films without it; and how many of the first are unpaired."""
    import polars as pl

    value = pl.col(finding)
    few = films.filter(value == ABSENT)["patient"].n_unique() < per_label
    codes = [PRESENT, ABSENT] + [NOT_MENTIONED] * (edition == "authors" and few)
    pool = films.filter(value.is_in(codes)).select(
        "image_path",
        "patient",
        "view",
        label=(value == PRESENT).cast(pl.Int8),
        boxed=pl.col("image_path").is_in(list(boxes)),
    )
    pairs = paired(by_lot(pool, seed, finding), per_label)
    drawn: list[_Drawn] = []
    for image in pairs.present:
        spots: list[Boxed | None] = [*boxes.get(image, ())] or [None]
        drawn += [_Drawn(image, finding, 1, spot) for spot in spots]
    return drawn + [_Drawn(image, finding, 0) for image in pairs.absent], pairs.unpaired


def _normals(films: pl.DataFrame, most: int, seed: int) -> list[_Drawn]:
    """Films without any finding, spread over the views."""
    import polars as pl

    pool = films.filter(pl.col(NORMAL) == PRESENT)
    pool = pool.select("image_path", "patient", pl.col("view").fill_null(""), boxed=False)
    drawn = by_lot(pool, seed, NORMAL)
    room = dict(sorted(Counter(drawn["view"]).items()))
    left = shares(most, room)
    kept = []
    for image, view in drawn.select("image_path", "view").iter_rows():
        if left[view]:
            left[view] -= 1
            kept.append(_Drawn(image, NORMAL, 1))
    return kept


def _cases(
    source: str, drawn: list[_Drawn], films: pl.DataFrame, resolution: int
) -> list[GroundingCase]:
    import polars as pl

    images = list({each.image for each in drawn})
    rows = films.filter(pl.col("image_path").is_in(images)).to_dicts()
    film_of = {row["image_path"]: row for row in rows}
    cases = []
    for number, each in enumerate(drawn):
        film = film_of[each.image]
        boxed = each.boxed
        case = GroundingCase(
            case_id=f"{source}_{number:05d}",
            source=source,
            image_path=each.image,
            finding=each.finding,
            label=each.label,
            label_value=film[each.finding],
            **{name: film[name] for name in _FACTS},
        )
        if boxed is not None:
            target, *more = boxed.boxes
            control, *elsewhere = irrelevant_boxes(boxed.boxes, resolution)
            case = msgspec.structs.replace(
                case,
                label_text=boxed.label_text,
                box=target,
                irrelevant_box=control,
                more_boxes=tuple(more),
                more_irrelevant_boxes=tuple(elsewhere),
            )
        cases.append(case)
    return cases


def _swapped(cases: list[GroundingCase], films: pl.DataFrame, seed: int) -> list[GroundingCase]:
    """Another patient's film of the same label (2.5), and one of the opposite label, by lot."""
    import numpy as np
    import polars as pl

    generator = np.random.default_rng([seed, 2])
    pool = SwapPool(films.with_columns(subject_id=pl.col("patient")))
    given = []
    for case in cases:
        assert case.finding is not None
        assert case.label_value is not None
        patient = case.subject_id or case.image_path
        matching = pool.labelled(case.finding, case.label_value, patient)
        others = matching if matching.size else pool.any(patient)
        opposite = pool.labelled(case.finding, ABSENT if case.label else PRESENT, patient)
        # Two numbers for every case, used or not, so that one case does not move the next.
        first, second = generator.random(2)
        given.append(
            msgspec.structs.replace(
                case,
                swap_image_path=pool.path(others[int(first * others.size)])
                if others.size
                else None,
                swap_match=("label" if matching.size else "any") if others.size else None,
                opposite_image_path=(
                    pool.path(opposite[int(second * opposite.size)]) if opposite.size else None
                ),
            )
        )
    return given


def _notes(cases: list[GroundingCase], films: pl.DataFrame, unpaired: int) -> list[str]:
    counts = {
        "with a box that can be masked": sum(case.box is not None for case in cases),
        "with a box and no film without the finding in the same view": unpaired,
        "labelled 0, of films that do not mention the finding [D22]": sum(
            case.label_value == NOT_MENTIONED for case in cases
        ),
        "with a swap that was not matched on their label [D22]": sum(
            case.swap_match != "label" for case in cases
        ),
        "without an image of the opposite label": sum(
            case.opposite_image_path is None for case in cases
        ),
        "of films whose view is not known": sum(case.view is None for case in cases),
        "of films whose patient is not known": sum(case.subject_id is None for case in cases),
    }
    return [
        f"Swaps come from {films.height} frontal films.",
        *(f"Cases {what}: {count} of {len(cases)}." for what, count in counts.items() if count),
    ]
