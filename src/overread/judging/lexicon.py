"""Words as the lexical judge compares them: folded, singular, one word per meaning, negations kept.

Small tables on purpose. They hold what replies to medical questions say often; what they lack
counts as a different word.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import Final

__all__ = ["MODALITIES", "content", "contradict", "modalities", "opposites", "share"]

# Several words that are one, longest first; then single words. Both by their common meaning.
_PHRASES: Final = {
    "magnetic resonance imaging": "mri",
    "magnetic resonance": "mri",
    "mr imaging": "mri",
    "computed tomography": "ct",
    "computed tomographic": "ct",
    "computerised tomography": "ct",
    "computerized tomography": "ct",
    "cat scan": "ct",
    "optical coherence tomography angiography": "octa",
    "optical coherence tomography": "oct",
    "positron emission tomography": "pet",
    "hematoxylin and eosin": "he_stain",
    "haematoxylin and eosin": "he_stain",
    "h and e": "he_stain",
    "h&e": "he_stain",
    "h e stain": "he_stain",
    "fluorescein angiography": "ffa",
    "scanning laser ophthalmoscopy": "slo",
    "slit lamp": "slitlamp",
    "chest x ray": "chest xray",
    "x ray": "xray",
    "heart attack": "myocardial infarction",
    "high blood pressure": "hypertension",
    "water on the lung": "pulmonary edema",
    "collapsed lung": "pneumothorax",
    "red blood cell": "erythrocyte",
    "white blood cell": "leukocyte",
    "enlarged heart": "cardiomegaly",
    "heart enlargement": "cardiomegaly",
    "cardiac enlargement": "cardiomegaly",
    "none of the above": "none_above",
    "all of the above": "all_above",
}
_WORDS: Final = {
    "xrays": "xray",
    "radiograph": "xray",
    "radiography": "xray",
    "radiographic": "xray",
    "roentgenogram": "xray",
    "cxr": "chest xray",
    "mr": "mri",
    "echo": "ultrasound",
    "echocardiography": "ultrasound",
    "echocardiogram": "ultrasound",
    "echocardiographic": "ultrasound",
    "sonography": "ultrasound",
    "sonogram": "ultrasound",
    "sonographic": "ultrasound",
    "ultrasonography": "ultrasound",
    "ultrasonographic": "ultrasound",
    "us": "ultrasound",
    "usg": "ultrasound",
    "histopathology": "histology",
    "histopathological": "histology",
    "histological": "histology",
    "dermatoscopy": "dermoscopy",
    "dermoscopic": "dermoscopy",
    "endoscopic": "endoscopy",
    "colonoscopic": "colonoscopy",
    "gastroscopic": "gastroscopy",
    "microscopic": "microscopy",
    "microscope": "microscopy",
    "cytological": "cytology",
    "tumour": "tumor",
    "neoplasm": "tumor",
    "oedema": "edema",
    "haemorrhage": "hemorrhage",
    "bleeding": "hemorrhage",
    "bleed": "hemorrhage",
    "haematoma": "hematoma",
    "anaemia": "anemia",
    "oesophagus": "esophagus",
    "leucocyte": "leukocyte",
    "rbc": "erythrocyte",
    "wbc": "leukocyte",
    "renal": "kidney",
    "hepatic": "liver",
    "cardiac": "heart",
    "pulmonary": "lung",
    "cerebral": "brain",
    "gastric": "stomach",
    "malignant": "cancer",
    "malignancy": "cancer",
    "carcinoma": "cancer",
    "opacification": "opacity",
    "bigger": "large",
    "enlarged": "large",
    "enlargement": "large",
    "larger": "large",
    "smaller": "small",
    "larva": "larvae",
    "grey": "gray",
    "colour": "color",
    "centre": "center",
    "zero": "0",
    "one": "1",
    "two": "2",
    "three": "3",
    "four": "4",
    "five": "5",
    "six": "6",
    "seven": "7",
    "eight": "8",
    "nine": "9",
    "ten": "10",
    "i": "",
}
_IRREGULAR: Final = {
    "diagnoses": "diagnosis",
    "metastases": "metastasis",
    "vertebrae": "vertebra",
    "bronchi": "bronchus",
    "nuclei": "nucleus",
    "bacteria": "bacterium",
    "indices": "index",
    "biopsies": "biopsy",
    "children": "child",
    "feet": "foot",
    "teeth": "tooth",
    "lice": "louse",
    "atria": "atrium",
    "septa": "septum",
    "axes": "axis",
    "calculi": "calculus",
    "lens": "lens",
}


def _set(words: str) -> frozenset[str]:
    return frozenset(words.split())


# Words that say nothing of what is shown. Negations and numbers are no such words.
_EMPTY: Final = _set(
    "a an the this that these those it its there here is are was were be been being am do does did "
    "has have had can could may might will would shall should must of in on at to for from by with "
    "as and or but if then than so such which who whose what when where how we you they he she our "
    "your their his her my me us also very just only both each some any all more most image images "
    "picture photo photograph scan figure show shows showing shown see seen seem seems appear "
    "appears depict depicts display displays demonstrate demonstrates reveal reveals indicate "
    "indicates suggest suggests because since due therefore thus hence based given option answer "
    "final step first second third finally next question correct choice select please view type "
    "examination exam imaging modality feature features conclusion key additional analysis "
    "observation finding findings visible present presence evident diagnosis likely point points "
    "ask asks asked asking "
    "consistent recognised recognized located lies lie marked structure patient"
)
_NEGATIONS: Final = _set(
    "no not without absent never neither nor none negative cannot denies lacks lacking free "
    "excluded unlikely absence isn aren doesn wasn hasn don didn"
)
_OPPOSITES: Final = (
    ("left", "right"),
    ("upper", "lower"),
    ("open", "closed"),
    ("increased", "decreased"),
    ("higher", "lower"),
    ("large", "small"),
    ("dilated", "normal"),
    ("normal", "abnormal"),
    ("benign", "cancer"),
    ("anterior", "posterior"),
    ("medial", "lateral"),
    ("true", "false"),
    ("acute", "chronic"),
)
# What ends the reach of a negation: "no fracture in the X-ray" denies no X-ray.
_ENDS: Final = frozenset(".;:!?\n") | _set("but although however in on at within with behind")
_REACH: Final = 4  # content words that one negation reaches
_TOKEN: Final = re.compile(r"\d+(?:\.\d+)?|[^\W\d_]+(?:\d+)?|[.;:!?\n]")
_PHRASE: Final = re.compile(
    r"\b("
    + "|".join(re.escape(phrase) for phrase in sorted(_PHRASES, key=len, reverse=True))
    + r")s?\b"
)

MODALITIES: Final = _set(
    "xray ct mri ultrasound oct octa pet ffa slo slitlamp fundus fluoroscopy mammography "
    "angiography scintigraphy spect histology he_stain cytology microscopy dermoscopy endoscopy "
    "colonoscopy gastroscopy bronchoscopy laparoscopy fetoscopy capsule intraoral infrared smear "
    "t1 t2 flair dwi adc stir fluorescence"
)
"""Words that name an examination, or a sequence or stain, which are told apart (M3COT 6)."""


@lru_cache(maxsize=16_384)
def content(text: str) -> frozenset[str]:
    """What a text says, as a set of words; those a negation reaches begin with `¬`.

    >>> sorted(content("There are no fractures in the X-rays."))
    ['xray', '¬fracture']
    """
    return frozenset(_tokens(text))


def modalities(text: str) -> frozenset[str]:
    """The examinations a text names."""
    return content(text) & MODALITIES


def share(one: frozenset[str], two: frozenset[str]) -> float:
    """The words that two texts share over the words of the shorter: the overlap coefficient."""
    shorter = min(len(one), len(two))
    return len(one & two) / shorter if shorter else 0.0


def contradict(one: frozenset[str], two: frozenset[str]) -> bool:
    """Whether two texts cannot both hold: left and right, 3 and 5, a thing and no such thing."""
    if any(f"¬{token}" in two for token in one) or any(f"¬{token}" in one for token in two):
        return True
    numbers = [{token for token in words if token[0].isdigit()} for words in (one, two)]
    if all(numbers) and not (numbers[0] <= numbers[1] or numbers[1] <= numbers[0]):
        return True
    for this, that in _OPPOSITES:
        for a, b in ((this, that), (that, this)):
            if a in one and b in two and a not in two and b not in one:
                return True
    return False


def opposites(word: str) -> Iterator[str]:
    """What a word excludes: right for left."""
    for this, that in _OPPOSITES:
        if word in (this, that):
            yield that if word == this else this


def _tokens(text: str) -> Iterator[str]:
    folded = text.casefold().replace("-", " ").replace("’", "'")
    folded = _PHRASE.sub(lambda match: _PHRASES[match[1]], folded)
    reach = 0
    for match in _TOKEN.finditer(folded.replace("_", "\u00b7")):
        raw = match[0]
        if raw in _ENDS:
            reach = 0
        elif raw in _NEGATIONS:
            reach = _REACH
        else:
            for token in _meaning(raw):
                yield f"¬{token}" if reach else token
                reach = max(0, reach - 1)


def _meaning(raw: str) -> Iterator[str]:
    for known in _WORDS.get(raw, _WORDS.get(_singular(raw), raw)).split():
        one = _singular(known)
        if one not in _EMPTY and (len(one) > 1 or not one.isascii() or one.isdigit()):
            yield one


def _singular(token: str) -> str:
    """A plain plural as its singular; Latin and Greek endings by the table."""
    if token in _IRREGULAR:
        return _IRREGULAR[token]
    if len(token) < 4 or not token.endswith("s") or token.endswith(("ss", "us", "is", "oss")):
        return token
    if token.endswith("ies") and len(token) > 4:
        return token[:-3] + "y"
    if token.endswith(("ches", "shes", "xes", "sses", "zes")):
        return token[:-2]
    return token[:-1]
