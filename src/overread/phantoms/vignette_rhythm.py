"""Views of rhythm strips, and of two sources side by side."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import product
from typing import Final

import msgspec
import numpy as np

from overread.phantoms.vignette_blood import CONDITIONS, condition_field
from overread.phantoms.vignette_brain import focus_in, half
from overread.phantoms.vignette_chest import finding_film, seen_of
from overread.phantoms.vignette_head import REGIONS, head
from overread.phantoms.vignette_pictures import panels, reduced
from overread.phantoms.vignette_strip import RHYTHMS, paper, regular, rhythm
from overread.phantoms.vignette_view import Facts, Pixels, View, numbers

__all__ = ["BEATS", "BLOOD_AND_FILM", "FILM_AND_STRIP", "RHYTHM", "SHIFTS", "SOURCES"]

BEATS: Final = ("second", "third", "fourth", "fifth", "sixth")
SHIFTS: Final[Mapping[str, int]] = {
    "4 mm below the line": -4,
    "2 mm below the line": -2,
    "level with the line": 0,
    "2 mm above the line": 2,
    "4 mm above the line": 4,
}
_LOOKS: Final[Mapping[str, str]] = {
    "sinus rhythm": "narrow complexes at even distances, each after a small rounded wave",
    "atrial fibrillation": "narrow complexes at uneven distances on a finely trembling baseline "
    "without rounded waves before them",
    "2:1 atrioventricular block": "narrow complexes at even distances and two small rounded waves "
    "for each of them",
    "ventricular bigeminy": "narrow and wide complexes in turn, a pause after each wide one",
    "ventricular tachycardia": "wide complexes of one shape, fast, without a flat baseline between",
}
_FINDINGS: Final = ("left pneumothorax", "right pleural effusion", "cardiomegaly")
_RHYTHMS: Final = ("sinus rhythm", "atrial fibrillation", "ventricular tachycardia")
_CONDITIONS: Final = ("sickle cell disease", "iron deficiency", "lymphocytosis")
FILM_AND_STRIP: Final = tuple(" with ".join(two) for two in product(_FINDINGS, _RHYTHMS))
BLOOD_AND_FILM: Final = tuple(" with ".join(two) for two in product(_CONDITIONS, _FINDINGS))


def _strip(rng: np.random.Generator, facts: Facts) -> Pixels:
    return rhythm(rng, facts["rhythm"])


def _strip_seen(facts: Facts) -> str:
    return f"Rhythm strip on ruled paper, a thin sharp line: {_LOOKS[facts['rhythm']]}."


def _pace(rng: np.random.Generator, facts: Facts) -> Pixels:
    gap, shift = 0.2 * int(facts["squares"]), SHIFTS[facts["segment"]]
    return paper(rng, regular(gap, st=shift, first=rng.uniform(0.3, 0.5)))


def _pace_seen(facts: Facts) -> str:
    return (
        "Rhythm strip on ruled paper, a thin sharp line: narrow complexes at even distances of "
        f"{facts['squares']} large squares, each after a small rounded wave. The segment after "
        f"each complex is {facts['segment']}."
    )


def _ectopic(rng: np.random.Generator, facts: Facts) -> Pixels:
    beats = [beat for beat in regular(0.7, first=0.35) if beat.at > 0]
    odd = 1 + BEATS.index(facts["beat"])
    early = msgspec.structs.replace(beats[odd], at=beats[odd].at - 0.16, wide=True, wave=False)
    return paper(rng, [*beats[:odd], early, *beats[odd + 1 :]])


def _ectopic_seen(facts: Facts) -> str:
    return (
        "Rhythm strip on ruled paper, a thin sharp line: narrow complexes, each after a small "
        f"rounded wave, but the {facts['beat']} complex is wide, early and of another shape, and a "
        "pause comes after it."
    )


# ---------------------------------------------------------------- two sources


def _film_strip(rng: np.random.Generator, facts: Facts) -> Pixels:
    finding, name = facts["both"].split(" with ")
    return panels(reduced(finding_film(rng, finding), 124), rhythm(rng, name)[:124, :124])


def _film_strip_seen(facts: Facts) -> str:
    finding, name = facts["both"].split(" with ")
    return (
        f"On the left a frontal chest film with {seen_of(finding)}. On the right a rhythm strip: "
        f"{_LOOKS[name]}."
    )


def _blood_film(rng: np.random.Generator, facts: Facts) -> Pixels:
    condition, finding = facts["both"].split(" with ")
    left = reduced(condition_field(rng, condition, 5), 124)
    return panels(left, reduced(finding_film(rng, finding), 124))


def _blood_film_seen(facts: Facts) -> str:
    condition, finding = facts["both"].split(" with ")
    look = CONDITIONS[condition]
    return (
        f"On the left a stained blood film: {look[0].lower()}{look[1:]}. On the right a frontal "
        f"chest film with {seen_of(finding)}."
    )


def _shared(facts: Facts) -> str:
    """The region in which both slices have a lesion: another than the one of MRI alone."""
    regions = tuple(REGIONS)
    return regions[(regions.index(facts["further"]) + int(facts["turn"])) % len(regions)]


def _scans(rng: np.random.Generator, facts: Facts) -> Pixels:
    both, alone = focus_in(_shared(facts), 20), focus_in(facts["further"], 20)
    return panels(half(head(rng, foci=[both])), half(head(rng, mri=True, foci=[both, alone])))


def _scans_seen(facts: Facts) -> str:
    return (
        "One head, axial CT on the left and T2-weighted MRI on the right. Both show a round lesion "
        f"of high density or signal with a sharp boundary in the {_shared(facts)}; on the MRI "
        f"alone there is another in the {facts['further']}."
    )


_PAPER: Final = {"modality": "Physiologic Signals", "system": "Cardiovascular"}
RHYTHM: Final[Mapping[str, View]] = {
    "rhythm": View(facets={"rhythm": RHYTHMS}, draw=_strip, caption=_strip_seen, **_PAPER),
    "pace": View(
        facets={"squares": numbers(2, 6), "segment": tuple(SHIFTS)},
        draw=_pace,
        caption=_pace_seen,
        **_PAPER,
    ),
    "ectopic": View(facets={"beat": BEATS}, draw=_ectopic, caption=_ectopic_seen, **_PAPER),
}
SOURCES: Final[Mapping[str, View]] = {
    "film and strip": View(
        modality="X-ray & Fluoroscopy",
        system="Cardiovascular",
        facets={"both": FILM_AND_STRIP},
        draw=_film_strip,
        caption=_film_strip_seen,
    ),
    "blood and film": View(
        modality="Pathology / Microscopy",
        system="Respiratory",
        facets={"both": BLOOD_AND_FILM},
        draw=_blood_film,
        caption=_blood_film_seen,
    ),
    "ct and mri": View(
        modality="MRI",
        system="Nervous",
        facets={"further": tuple(REGIONS), "turn": numbers(1, 5)},
        draw=_scans,
        caption=_scans_seen,
    ),
}
