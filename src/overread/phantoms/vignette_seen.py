"""Questions of the visual dimensions: small things, fine differences, places."""

from __future__ import annotations

from typing import Final

from overread.phantoms.vignette_blood import PAIRS, PLACES
from overread.phantoms.vignette_chest import CHAMBERS, SITED
from overread.phantoms.vignette_head import REGIONS, SHAPES
from overread.phantoms.vignette_pictures import CORNERS
from overread.phantoms.vignette_question import PATIENT, Question, said
from overread.phantoms.vignette_rhythm import SHIFTS
from overread.phantoms.vignette_view import numbers

__all__ = ["FINE", "SMALL", "SPACE"]

SMALL: Final = (
    Question(
        subtype="Counting small objects",
        ability="DX",
        view="blood",
        facet="platelets",
        asks=("How many platelets does the field hold?", "What is the number of platelets?"),
        says=said("{} platelets", numbers(2, 9)),
    ),
    Question(
        subtype="Foreign material",
        ability="PRA",
        view="film",
        facet="clips",
        asks=(
            "How many metal clips lie over the lungs?",
            "Before the next operation: how many metal clips are seen over the lungs?",
        ),
        says=said("{} of them", numbers(1, 6)),
    ),
    Question(
        subtype="Tiny calcifications",
        ability="SEE",
        view="ct",
        facet="specks",
        asks=("How many calcified specks are there within the skull?",),
        says=said("{} in all", numbers(1, 6)),
    ),
    Question(
        subtype="Small markers",
        ability="PRA",
        view="swallowed",
        facet="corner",
        asks=("Where on the film does the lead marker stand?",),
        says=said("In the {} of the film", CORNERS),
    ),
)
FINE: Final = (
    Question(
        subtype="Cell morphology",
        ability="DX",
        view="two white cells",
        facet="pair",
        asks=(
            "Of which kinds are the two white cells?",
            "Judging by nucleus and granules, what are the two white cells?",
        ),
        says=said("{}", PAIRS),
    ),
    Question(
        subtype="Lesion morphology",
        ability="DX",
        view="mri",
        facet="shape",
        asks=(
            "What is the shape of the bright lesion?",
            "How is the lesion's form best described?",
        ),
        says=said("{}", SHAPES),
    ),
    Question(
        subtype="Waveform detail",
        ability="SEE",
        view="pace",
        facet="segment",
        asks=("Where does the segment right after each narrow complex lie?",),
        says=said("{}", SHIFTS),
    ),
    Question(
        subtype="Measured size",
        ability="SEE",
        view="mri",
        facet="across",
        asks=("By the bar of 20 mm, what is the longest diameter of the bright lesion?",),
        says=said("About {} mm", numbers(8, 24, 4)),
    ),
)
SPACE: Final = (
    Question(
        subtype="Region of a lesion",
        ability="SEE",
        view="mri",
        facet="region",
        asks=(f"{PATIENT} In which lobe does the bright lesion lie?",),
        says=said("{}", REGIONS),
    ),
    Question(
        subtype="Marked structures",
        ability="PRA",
        view="chambers",
        facet="pair",
        asks=("Which two chambers of the heart do the red frames mark?",),
        says=said("{}", CHAMBERS),
    ),
    Question(
        subtype="Place in the field",
        ability="DX",
        view="one white cell",
        facet="place",
        asks=("Where in the field is the white cell?",),
        says=said("In the {}", PLACES),
    ),
    Question(
        subtype="Side of a finding",
        ability="SEE",
        view="film",
        facet="finding",
        asks=(f"{PATIENT} What does the film show, and on which of the patient's sides?",),
        says=said("{}", SITED),
    ),
)
