"""The films that probe sets offer for new items."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from overread.benchmarks.curated import Candidate, LabelledBox
from overread.case import Picture, Resize, Source

if TYPE_CHECKING:
    from overread.benchmarks.grounding.benchmark import Grounding
    from overread.benchmarks.grounding.cases import GroundingCase

_PRESENT, _ABSENT = 1, 0
_MODALITY, _SYSTEM = "X-ray & Fluoroscopy", "Respiratory"


def candidates(bench: Grounding) -> Iterator[Candidate]:
    """Each film once, with what all its cases say of it; boxes are in the pixels it is shown in."""
    films: dict[str, list[GroundingCase]] = {}
    for case in bench.cases():
        if case.finding and case.label in (_PRESENT, _ABSENT):
            films.setdefault(case.image_path, []).append(case)
    px = bench.options.px
    for image, cases in films.items():
        first = cases[0]
        labels = tuple(
            dict.fromkeys(
                f"{case.finding}" if case.label == _PRESENT else f"no {case.finding}"
                for case in cases
            )
        )
        facts = {"view": first.view, "sex": first.gender}
        yield Candidate(
            picture=Picture(Source(bench.root, image), (Resize(px, px),)),
            caption=f"Chest radiograph: {', '.join(labels)}.",
            labels=labels,
            boxes=tuple(
                LabelledBox(f"{case.finding}", box)
                for case in cases
                if case.label == _PRESENT
                for box in case.targets
            ),
            patient=first.subject_id or "",
            modality=_MODALITY,
            system=_SYSTEM,
            facts={name: value for name, value in facts.items() if value},
        )
