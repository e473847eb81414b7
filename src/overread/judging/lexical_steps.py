"""Steps of a reply beside gold steps: split, typed by keywords, matched by the words they share."""

from __future__ import annotations

import json
import re
from typing import Final

import msgspec

from overread.judging.lexicon import MODALITIES, content, contradict, share

__all__ = [
    "CATEGORIES",
    "LOOSE",
    "STEP_TYPES",
    "STRICT",
    "GoldStep",
    "Said",
    "category",
    "gold_steps",
    "matches",
    "split_steps",
]

CATEGORIES: Final = ("modality", "feature", "conclusion", "others")
STEP_TYPES: Final = {
    "modality": "modality or examination types",
    "feature": "image feature description",
    "conclusion": "key conclusions",
    "others": "additional analysis",
}
"""The protocol's names of the types, by category; `others` of a path is `additional analysis`."""
LOOSE: Final = 0.6
"""The share of words that makes a feature or an analysis match: most of them (M3COT 6)."""
STRICT: Final = 0.8
"""The share that makes a conclusion or an examination match."""

_NAMES: Final = {
    **{name: kind for kind, name in STEP_TYPES.items()},
    **{kind: kind for kind in CATEGORIES},
    "analysis": "others",
    "key_conclusion": "conclusion",
    "additional_analysis": "others",
}
_BULLET: Final = re.compile(
    r"\s*(?:#{1,6}\s*)?(?:[*_]{0,3})(?:(?:step|reason)\s*\d{1,3}\s*[.:)-]*|\(?\d{1,3}[.):]|[-•–*+])"
    r"(?=\s|\*|$)[\s*_]*",
    re.IGNORECASE,
)
_LABEL: Final = re.compile(
    r"[\s*_#]*(?P<label>[A-Za-z][A-Za-z /&-]{2,40}?)[\s*_]*:[\s*_]*(?P<rest>.*)", re.DOTALL
)
_HINTS: Final = (
    ("modality", ("modality", "examination", "exam type", "imaging type")),
    ("feature", ("feature", "observation", "image description", "visual", "finding")),
    ("conclusion", ("conclusion", "diagnosis", "impression", "interpretation")),
    (
        "others",
        ("analysis", "treatment", "cause", "option", "reasoning", "knowledge", "management"),
    ),
)
_FINAL: Final = re.compile(
    r"[\s*_#]*(?:the\s+)?(?:final\s+|correct\s+|my\s+)?answer\b[\s*_]*(?:is\b|:|=|-|$)",
    re.IGNORECASE,
)
_SENTENCE: Final = re.compile(r"(?<=[.!?。])\s+(?=[A-Z(\"“'*]|$)")

# Cues of each category, as beginnings of folded words or as phrases.
_CUES: Final = {
    "modality": re.compile(
        r"\b(?:x-?rays?|radiograph\w*|ct|computed tomograph\w*|mri|magnetic resonance|ultrasound|"
        r"ultrasonograph\w*|sonogra\w*|echocardiogra\w*|microscop\w*|histolog\w*|histopatholog\w*|"
        r"smear|stain(?:ed)?|h&e|dermoscop\w*|endoscop\w*|colonoscop\w*|gastroscop\w*|fundus|oct|"
        r"mammogra\w*|angiogra\w*|scintigra\w*|projection|modality|examination is|acquired|"
        r"four-chamber view|weighted|photograph\w*)\b",
        re.IGNORECASE,
    ),
    "feature": re.compile(
        r"\b(?:opaci\w*|densit\w*|lucen\w*|line|markings?|border\w*|margin\w*|edges?|rim|shape\w*|"
        r"shaped|round|oval|pointed|curved|crescents?|discs?|granul\w*|lobes?|lobed|bilobed|nucle\w*"
        r"|cytoplasm|pallor|pale|pink|violet|orange|blue|grey|gray|white\w*|black|dark|bright|haze|"
        r"hazy|cloudy|blurred|sharp|indistinct|homogeneous|patchy|confluent|meniscus|blunted|wider|"
        r"silhouette|ratio|leaflets?|cavit\w*|sector|speckled|slender|bulging|scattered|lesion|mass|"
        r"irregular|texture|intensity|hyper\w+|hypo\w+|echogenic|visible|seen|appear\w*|bodies|"
        r"microcytic|symmetric|level|within the frame|frame lies|largest chamber|signal)\b",
        re.IGNORECASE,
    ),
    "conclusion": re.compile(
        r"\b(?:diagnos[ie]s|conclusion|conclude\w*|points? to|consistent with|"
        r"indicat\w+ (?:a|an|of)|suggestive of|suggests?|"
        r"therefore|thus|recogni[sz]ed as|identified as|is located|"
        r"is (?:a|an|the) [a-z]+\.?$|(?:structure|cell|valve) is|lies on|count of|number of|"
        r"more severe|severity|quality is|grade|impression|amounts? to|proven|speaks? for|must be|"
        r"stage)\b",
        re.IGNORECASE,
    ),
    "others": re.compile(
        r"\b(?:treat\w*|therap\w*|surg\w*|antibiotic\w*|diuretic\w*|oxygen|iron|acid|drug\w*|dose|"
        r"prescribed|cause[sd]?|causing|because|due to|leads? to|brings?|gives?|drives?|makes|made|"
        r"can|may|tends?|risk|progno\w*|complicat\w*|recur\w*|symptom\w*|pain|fever|cough|fatigue|"
        r"breath\w*|swollen|felt|function\w*|attacks|engulfs|kills|enters|becomes|keeps|stops|"
        r"settles|restores|clears|option|incorrect|typically|usually|commonly|management|follow-up|"
        r"sampled|relieves?|worked up|looked for|sought|irritate\w*|gathers|this kind|"
        r"enlarge under|returns|compresses|infection|should|"
        r"recommended|customary|usual|deserves|raises|"
        r"harms?|trigger\w*)\b",
        re.IGNORECASE,
    ),
}
_WEIGHTS: Final = {"modality": 3, "feature": 2, "conclusion": 4, "others": 2}


class GoldStep(msgspec.Struct, frozen=True):
    """A gold step and its category; None where the prompt does not say."""

    index: int
    category: str | None
    text: str


class Said(msgspec.Struct, frozen=True):
    """One step of a reply: its words, its category, and whether it is the final answer."""

    text: str
    category: str
    final: bool = False


def gold_steps(text: str) -> list[GoldStep]:
    """The gold steps of a prompt: JSON strings or objects with `content`, else one a line."""
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        found = [line for line in text.splitlines() if line.strip()]
    steps = []
    for place, entry in enumerate(found if isinstance(found, list) else []):
        if isinstance(entry, dict):
            words = next((entry[key] for key in ("content", "text") if key in entry), "")
            kind = entry.get("step_type", entry.get("type"))
            index = entry.get("step_index", place)
        else:
            words, kind, index = entry, None, place
        known = _NAMES.get(kind.strip().casefold()) if isinstance(kind, str) else None
        steps.append(GoldStep(index if isinstance(index, int) else place, known, str(words)))
    return steps


def split_steps(reply: str) -> list[Said]:
    """The steps of a reply: numbered and bulleted lines whole, other lines by their sentences.

    A line that is only a heading says what the steps below it are.
    """
    steps: list[Said] = []
    hint: str | None = None
    for line in reply.splitlines():
        if not line.strip(" \t*_#-=`"):
            continue
        if _FINAL.match(line):
            steps.append(Said(line.strip(), "conclusion", final=True))
            continue
        bullet = _BULLET.match(line)
        words = line[bullet.end() :] if bullet else line
        own, words = _labelled(words)
        if not words.strip(" \t*_#-=:"):
            hint = own
            continue
        parts = [words] if bullet else _SENTENCE.split(words)
        for part in parts:
            text = part.strip().strip("*_ ")
            if _FINAL.match(text):
                steps.append(Said(text, "conclusion", final=True))
            elif text:
                steps.append(Said(text, own or hint or category(text)))
    return steps


def _labelled(words: str) -> tuple[str | None, str]:
    """The category that a label such as `Modality:` gives, and the words without it."""
    found = _LABEL.fullmatch(words)
    if found is None:
        heading = words.strip().startswith("#")
        return (_hinted(words), "") if heading else (None, words)
    kind = _hinted(found["label"])
    return (None, words) if kind is None else (kind, found["rest"])


def _hinted(label: str) -> str | None:
    said = label.casefold()
    return next((kind for kind, words in _HINTS if any(word in said for word in words)), None)


def category(text: str) -> str:
    """What kind of step a sentence is, by the cues it has; without any, additional analysis."""
    scores = {kind: _WEIGHTS[kind] * len(_CUES[kind].findall(text)) for kind in CATEGORIES}
    best = max(scores.values())
    return (
        next(kind for kind in ("conclusion", *CATEGORIES) if scores[kind] == best)
        if best
        else ("others")
    )


def matches(said: str, gold: GoldStep) -> bool:
    """Whether words of a reply say what a gold step says: most of the shorter text's words.

    Examinations must be the very same; conclusions share nearly all; nothing may contradict.
    """
    one, two = content(said), content(gold.text)
    if not one or not two or contradict(one, two):
        return False
    if gold.category == "modality":
        names = one & MODALITIES, two & MODALITIES
        if all(names):
            return names[0] == names[1] and share(one, two) >= LOOSE
    if len(one & two) < 2:
        return one == two
    return share(one, two) >= (LOOSE if gold.category in ("feature", "others", None) else STRICT)
