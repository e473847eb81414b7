"""Questions of the reasoning dimensions: courses, causes, rarities, several sources."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from overread.phantoms.vignette_blood import CONDITIONS
from overread.phantoms.vignette_brain import CHANGES
from overread.phantoms.vignette_chest import FINDINGS
from overread.phantoms.vignette_head import DISEASES, REGIONS
from overread.phantoms.vignette_pictures import OBJECTS
from overread.phantoms.vignette_question import PATIENT, Question, said
from overread.phantoms.vignette_rhythm import BEATS, BLOOD_AND_FILM, FILM_AND_STRIP
from overread.phantoms.vignette_strip import RHYTHMS
from overread.phantoms.vignette_view import numbers

__all__ = ["CAUSE", "RARE", "SEVERAL", "TIME"]

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


TIME: Final = (
    Question(
        subtype="Response to treatment",
        ability="TRE",
        view="followed",
        facet="change",
        asks=(
            "The left panel is from before treatment, the right one from after it. How did the "
            "lesion's diameter change?",
        ),
        says=said("It has {}", CHANGES),
    ),
    Question(
        subtype="Extrapolated course",
        ability="CDS",
        view="course",
        facet="next",
        asks=(
            "The panels are three months apart, the earlier on the left. If the number of "
            "calcified specks goes on changing by as many, how many will there be after three more "
            "months?",
        ),
        says=said("{} specks", numbers(7, 12)),
    ),
    Question(
        subtype="Change within a beat",
        ability="PA",
        view="beat",
        facet="ejected",
        asks=(
            "End-diastole is on the left and end-systole on the right. About what share of its "
            "volume does the left ventricle eject?",
        ),
        says=said("About {} percent", numbers(20, 70, 10)),
    ),
)
CAUSE: Final = (
    Question(
        subtype="Mechanism of a finding",
        ability="PA",
        view="film",
        facet="finding",
        asks=(
            "Apart from the clips, what brought about the abnormal appearance?",
            "Which process explains the abnormal part of this film? Ignore the metal.",
        ),
        says={finding: _mechanism(finding) for finding in FINDINGS},
    ),
    Question(
        subtype="Origin of a lesion",
        ability="PA",
        view="ct",
        facet="disease",
        asks=("Apart from the specks, what has happened here?",),
        says={disease: _ORIGINS[disease] for disease in DISEASES},
    ),
    Question(
        subtype="Electrical mechanism",
        ability="PA",
        view="rhythm",
        facet="rhythm",
        asks=("What drives the ventricles in this strip?", "What explains the strip's rhythm?"),
        says={name: _CURRENTS[name] for name in RHYTHMS},
    ),
    Question(
        subtype="Effect of an interval",
        ability="TRE",
        view="pace",
        facet="squares",
        asks=("A large square is 0.2 s. Which heart rate results under the present treatment?",),
        says=_RATES,
    ),
)
RARE: Final = (
    Question(
        subtype="Uncommon objects",
        ability="PRA",
        view="swallowed",
        facet="object",
        asks=("What has this person swallowed?", "Which object must the endoscopist remove?"),
        says=said("A {}", OBJECTS),
    ),
    Question(
        subtype="Single aberrant events",
        ability="DX",
        view="ectopic",
        facet="beat",
        asks=("Which complex from the left is not like the others?",),
        says=said("The {} one", BEATS),
    ),
    Question(
        subtype="Uncommon blood pictures",
        ability="CDS",
        view="blood",
        facet="condition",
        asks=("Which measure fits the blood picture best?",),
        says={condition: _STEPS[condition] for condition in CONDITIONS},
    ),
)
SEVERAL: Final = (
    Question(
        subtype="Two modalities of one organ",
        ability="SEE",
        view="ct and mri",
        facet="further",
        asks=(
            f"{PATIENT} CT is on the left and MRI on the right. In which lobe is the lesion that "
            "MRI alone shows?",
        ),
        says=said("{}", REGIONS),
    ),
    Question(
        subtype="Film and signal",
        ability="DX",
        view="film and strip",
        facet="both",
        asks=("What do the film and the rhythm strip show together?",),
        says=said("{}", FILM_AND_STRIP),
    ),
    Question(
        subtype="Microscopy and film",
        ability="DX",
        view="blood and film",
        facet="both",
        asks=("What do the blood film and the chest film show together?",),
        says=said("{}", BLOOD_AND_FILM),
    ),
)
