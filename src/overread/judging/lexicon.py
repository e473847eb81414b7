"""Words as the lexical judge compares them: folded, singular, one word per meaning, negations kept.

Small tables on purpose. They hold what replies to medical questions say often; what they lack
counts as a different word.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Final


def _by_meaning(words: Mapping[str, str]) -> dict[str, str]:
    return {word: meaning for meaning, named in words.items() for word in named.split(", ")}


def _pairs(words: str) -> list[tuple[str, str]]:
    found = (pair.partition(" ") for pair in words.split(", "))
    return [(one, two) for one, _, two in found]


# Several words that are one, then single words. Both by their common meaning.
_PHRASES: Final = _by_meaning(
    {
        "mri": "magnetic resonance imaging, magnetic resonance, mr imaging",
        "ct": (
            "computed tomography, computed tomographic, computerised tomography, "
            "computerized tomography, cat scan"
        ),
        "octa": "optical coherence tomography angiography",
        "oct": "optical coherence tomography",
        "pet": "positron emission tomography",
        "he_stain": "hematoxylin and eosin, haematoxylin and eosin, h and e, h&e, h e stain",
        "ffa": "fluorescein angiography",
        "slo": "scanning laser ophthalmoscopy",
        "slitlamp": "slit lamp",
        "chest xray": "chest x ray",
        "xray": "x ray",
        "myocardial infarction": "heart attack",
        "hypertension": "high blood pressure",
        "pulmonary edema": "water on the lung",
        "pneumothorax": "collapsed lung",
        "erythrocyte": "red blood cell",
        "leukocyte": "white blood cell",
        "cardiomegaly": "enlarged heart, heart enlargement, cardiac enlargement",
        "none_above": "none of the above",
        "all_above": "all of the above",
    }
)
_WORDS: Final = _by_meaning(
    {
        "xray": "xrays, radiograph, radiography, radiographic, roentgenogram",
        "chest xray": "cxr",
        "mri": "mr",
        "ultrasound": (
            "echo, echocardiography, echocardiogram, echocardiographic, sonography, "
            "sonogram, sonographic, ultrasonography, ultrasonographic, us, usg"
        ),
        "histology": "histopathology, histopathological, histological",
        "dermoscopy": "dermatoscopy, dermoscopic",
        "endoscopy": "endoscopic",
        "colonoscopy": "colonoscopic",
        "gastroscopy": "gastroscopic",
        "microscopy": "microscopic, microscope",
        "cytology": "cytological",
        "tumor": "tumour, neoplasm",
        "edema": "oedema",
        "hemorrhage": "haemorrhage, bleeding, bleed",
        "hematoma": "haematoma",
        "anemia": "anaemia",
        "esophagus": "oesophagus",
        "leukocyte": "leucocyte, wbc",
        "erythrocyte": "rbc",
        "kidney": "renal",
        "liver": "hepatic",
        "heart": "cardiac",
        "lung": "pulmonary",
        "brain": "cerebral",
        "stomach": "gastric",
        "cancer": "malignant, malignancy, carcinoma",
        "opacity": "opacification",
        "large": "bigger, enlarged, enlargement, larger",
        "small": "smaller",
        "larvae": "larva",
        "gray": "grey",
        "color": "colour",
        "center": "centre",
        "0": "zero",
        "1": "one",
        "2": "two",
        "3": "three",
        "4": "four",
        "5": "five",
        "6": "six",
        "7": "seven",
        "8": "eight",
        "9": "nine",
        "10": "ten",
        "": "i",
    }
)
_IRREGULAR: Final = dict(
    _pairs(
        "diagnoses diagnosis, metastases metastasis, vertebrae vertebra, bronchi bronchus, "
        "nuclei nucleus, bacteria bacterium, indices index, biopsies biopsy, children child, "
        "feet foot, teeth tooth, lice louse, atria atrium, septa septum, axes axis, "
        "calculi calculus, lens lens"
    )
)


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
_OPPOSITES: Final = _pairs(
    "left right, upper lower, open closed, increased decreased, higher lower, large small, "
    "dilated normal, normal abnormal, benign cancer, anterior posterior, medial lateral, "
    "true false, acute chronic"
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
