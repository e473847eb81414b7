"""Which items are asked with another's images: drawn by seed, within kind and dimension."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping

from overread.benchmarks.draws import derangement
from overread.benchmarks.medcmr.cases import MedCase

__all__ = ["swap_remarks", "swaps"]


def swaps(cases: Iterable[MedCase], seed: int) -> dict[str, MedCase]:
    """The item whose images each item is shown in place of its own, by case id.

    Always one of the same kind and dimension (those without a dimension are one stratum) that
    shares no image with it, nor a patient where patients are known. Within a stratum every item
    lends once (a derangement), unless one image or patient has more than half of it. An item
    without an image, or whose stratum has no other, is not here.
    """
    strata: dict[tuple[str, str | None], list[MedCase]] = defaultdict(list)
    for case in cases:
        if case.images:
            strata[case.kind, case.dimension].append(case)
    return {
        case.case_id: lender
        for stratum in strata.values()
        for case, lender in derangement(stratum, seed, name=_name, links=_links)
    }


def _name(case: MedCase) -> str:
    return case.case_id


def _links(case: MedCase) -> tuple[str, ...]:
    images = tuple(f"image {image}" for image in case.images)
    return images if case.patient is None else (*images, f"patient {case.patient}")


def swap_remarks(cases: Iterable[MedCase], swapped: Mapping[str, MedCase]) -> tuple[str, ...]:
    """A line on the items that are not asked with another's images."""
    alone = [case for case in cases if case.case_id not in swapped]
    if not alone:
        return ()
    named = ", ".join(dict.fromkeys(case.dimension or "none" for case in alone))
    items = "1 item has" if len(alone) == 1 else f"{len(alone)} items have"
    return (f"{items} no other image in the same dimension ({named}): swap is not asked there.",)
