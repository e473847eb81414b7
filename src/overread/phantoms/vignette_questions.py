"""What phantom vignettes ask: by dimension, questions about one facet of a kind of picture."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

import msgspec

from overread.phantoms import vignette_views as views
from overread.phantoms.vignette_pictures import CORNERS, DISEASES, OBJECTS, REGIONS, RHYTHMS, SHAPES
from overread.phantoms.vignette_views import capitalized, numbers

_PATIENT: Final = "The patient's left is on the right of the image."


class Question(msgspec.Struct, frozen=True):
    """One way to ask for a facet of a view.

    `says` gives, value by value, the answer that is then true; values it leaves out are not asked
    for. Each answer is wrong for every value that has another. `asks` are forms of the question,
    none of which hints at the answer.
    """

    subtype: str
    ability: str
    view: str
    facet: str
    says: Mapping[str, str]
    asks: tuple[str, ...]


def _said(form: str, values: Iterable[str]) -> dict[str, str]:
    return {value: capitalized(form.format(value)) for value in values}


# ---------------------------------------------------------------- what is known

_MECHANISMS: Final[Mapping[str, str]] = {
    "pneumothorax": "Air has entered the space between the layers of the pleura",
    "pleural effusion": "Fluid has gathered between the layers of the pleura",
    "pneumonia": "Inflammation has filled part of the alveoli of one lung with exudate",
    "atelectasis": "Part of one lung has collapsed and lost its volume",
    "pulmonary edema": "Raised pressure drives water out of the capillaries of both lungs",
    "cardiomegaly": "The chambers of the heart have widened over a long time",
}
_CURRENTS: Final[Mapping[str, str]] = {
    "sinus rhythm": "The sinus node paces the atria, and each impulse reaches the ventricles",
    "atrial fibrillation": "Many wandering wavelets excite the atria without any order",
    "2:1 atrioventricular block": "Every other impulse of the atria fails to pass the node",
    "ventricular bigeminy": "A focus in a ventricle fires after every single normal beat",
    "ventricular tachycardia": "A circuit in the ventricles drives them fast on its own",
}
_ORIGINS: Final[Mapping[str, str]] = {
    "subdural haematoma": "Bridging veins tore and blood spread beneath the dura",
    "epidural haematoma": "A meningeal artery tore and blood stripped the dura off the bone",
    "intracerebral haemorrhage": "A small deep artery burst within the tissue of the brain",
    "territorial infarct": "A cerebral artery was blocked and the tissue beyond it died",
    "hydrocephalus": "Cerebrospinal fluid could not drain and stretched its spaces",
}
_STEPS: Final[Mapping[str, str]] = {
    "sickle cell disease": "Hydroxyurea together with folic acid",
    "iron deficiency": "Oral iron and a search for blood loss",
    "eosinophilia": "Stool examination for parasites",
    "lymphocytosis": "A test for the Epstein-Barr virus",
    "monocytosis": "Cultures for tuberculosis and endocarditis",
}
_RATES: Final = {str(k): f"About {300 // k} beats per minute" for k in range(2, 7)}


def _mechanism(finding: str) -> str:
    return _MECHANISMS[finding.removeprefix("left ").removeprefix("right ")]


# ---------------------------------------------------------------- the questions

# Small things, fine differences, places.
_SMALL: Final = (
    Question(
        *("Counting small objects", "DX", "blood", "platelets"),
        _said("{} platelets", numbers(2, 9)),
        ("How many platelets does the field hold?", "What is the number of platelets?"),
    ),
    Question(
        *("Foreign material", "PRA", "film", "clips"),
        _said("{} of them", numbers(1, 6)),
        (
            "How many metal clips lie over the lungs?",
            "Before the next operation: how many metal clips are seen over the lungs?",
        ),
    ),
    Question(
        *("Tiny calcifications", "SEE", "ct", "specks"),
        _said("{} in all", numbers(1, 6)),
        ("How many calcified specks are there within the skull?",),
    ),
    Question(
        *("Small markers", "PRA", "swallowed", "corner"),
        _said("In the {} of the film", CORNERS),
        ("Where on the film does the lead marker stand?",),
    ),
)
_FINE: Final = (
    Question(
        *("Cell morphology", "DX", "two white cells", "pair"),
        _said("{}", views.PAIRS),
        (
            "Of which kinds are the two white cells?",
            "Judging by nucleus and granules, what are the two white cells?",
        ),
    ),
    Question(
        *("Lesion morphology", "DX", "mri", "shape"),
        _said("{}", SHAPES),
        ("What is the shape of the bright lesion?", "How is the lesion's form best described?"),
    ),
    Question(
        *("Waveform detail", "SEE", "pace", "segment"),
        _said("{}", views.SHIFTS),
        ("Where does the segment right after each narrow complex lie?",),
    ),
    Question(
        *("Measured size", "SEE", "mri", "across"),
        _said("About {} mm", numbers(8, 24, 4)),
        ("By the bar of 20 mm, what is the longest diameter of the bright lesion?",),
    ),
)
_SPACE: Final = (
    Question(
        *("Region of a lesion", "SEE", "mri", "region"),
        _said("{}", REGIONS),
        (f"{_PATIENT} In which lobe does the bright lesion lie?",),
    ),
    Question(
        *("Marked structures", "PRA", "chambers", "pair"),
        _said("{}", views.CHAMBERS),
        ("Which two chambers of the heart do the red frames mark?",),
    ),
    Question(
        *("Place in the field", "DX", "one white cell", "place"),
        _said("In the {}", views.PLACES),
        ("Where in the field is the white cell?",),
    ),
    Question(
        *("Side of a finding", "SEE", "film", "finding"),
        _said("{}", views.SITED),
        (f"{_PATIENT} What does the film show, and on which of the patient's sides?",),
    ),
)
# Courses, causes, rarities, several sources.
_TIME: Final = (
    Question(
        *("Response to treatment", "TRE", "followed", "change"),
        _said("It has {}", views.CHANGES),
        (
            "The left panel is from before treatment, the right one from after it. How did the "
            "lesion's diameter change?",
        ),
    ),
    Question(
        *("Extrapolated course", "CDS", "course", "next"),
        _said("{} specks", numbers(7, 12)),
        (
            "The panels are three months apart, the earlier on the left. If the number of "
            "calcified specks goes on changing by as many, how many will there be after three more "
            "months?",
        ),
    ),
    Question(
        *("Change within a beat", "PA", "beat", "ejected"),
        _said("About {} percent", numbers(20, 70, 10)),
        (
            "End-diastole is on the left and end-systole on the right. About what share of its "
            "volume does the left ventricle eject?",
        ),
    ),
)
_CAUSE: Final = (
    Question(
        *("Mechanism of a finding", "PA", "film", "finding"),
        {finding: _mechanism(finding) for finding in views.FINDINGS},
        (
            "Apart from the clips, what brought about the abnormal appearance?",
            "Which process explains the abnormal part of this film? Ignore the metal.",
        ),
    ),
    Question(
        *("Origin of a lesion", "PA", "ct", "disease"),
        {disease: _ORIGINS[disease] for disease in DISEASES},
        ("Apart from the specks, what has happened here?",),
    ),
    Question(
        *("Electrical mechanism", "PA", "rhythm", "rhythm"),
        {name: _CURRENTS[name] for name in RHYTHMS},
        ("What drives the ventricles in this strip?", "What explains the strip's rhythm?"),
    ),
    Question(
        *("Effect of an interval", "TRE", "pace", "squares"),
        _RATES,
        ("A large square is 0.2 s. Which heart rate results under the present treatment?",),
    ),
)
_RARE: Final = (
    Question(
        *("Uncommon objects", "PRA", "swallowed", "object"),
        _said("A {}", OBJECTS),
        ("What has this person swallowed?", "Which object must the endoscopist remove?"),
    ),
    Question(
        *("Single aberrant events", "DX", "ectopic", "beat"),
        _said("The {} one", views.BEATS),
        ("Which complex from the left is not like the others?",),
    ),
    Question(
        *("Uncommon blood pictures", "CDS", "blood", "condition"),
        {condition: _STEPS[condition] for condition in views.CONDITIONS},
        ("Which measure fits the blood picture best?",),
    ),
)
_SEVERAL: Final = (
    Question(
        *("Two modalities of one organ", "SEE", "ct and mri", "further"),
        _said("{}", REGIONS),
        (
            f"{_PATIENT} CT is on the left and MRI on the right. In which lobe is the lesion that "
            "MRI alone shows?",
        ),
    ),
    Question(
        *("Film and signal", "DX", "film and strip", "both"),
        _said("{}", views.FILM_AND_STRIP),
        ("What do the film and the rhythm strip show together?",),
    ),
    Question(
        *("Microscopy and film", "DX", "blood and film", "both"),
        _said("{}", views.BLOOD_AND_FILM),
        ("What do the blood film and the chest film show together?",),
    ),
)

QUESTIONS: Final[Mapping[str, tuple[Question, ...]]] = {
    "SOD": _SMALL,
    "FDD": _FINE,
    "SU": _SPACE,
    "TP": _TIME,
    "CR": _CAUSE,
    "LTG": _RARE,
    "MSI": _SEVERAL,
}
"""By dimension, the questions, which take turns."""
