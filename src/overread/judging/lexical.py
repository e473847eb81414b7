"""`control:lexical-judge`: a judge that compares words, so that everything runs with no server.

It reads the material out of the frame and answers in the very JSON that each question asks for. It
knows no medicine beyond a small table of synonyms: its numbers are not comparable with published
ones, and every table says so.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar, Final

import msgspec

from overread.case import Limits, Prompt, Reply, Traits
from overread.judging import lexicon
from overread.judging.lexicon import TABLES, any_of, content, contradict, share
from overread.judging.rubric import asked_of, sections_of

REVISION = 2
"""Raised whenever it may judge differently; it enters the key of every verdict."""

_LONGEST: Final = 100_000  # characters of a reply that are read
_RESTATED: Final = 0.8


class LexicalJudge(msgspec.Struct, frozen=True):
    """A reader that judges by words. `more` answers questions that others define."""

    more: Mapping[str, Callable[[Mapping[str, str]], Any]] = {}

    name: ClassVar[str] = "control:lexical-judge"
    identity: ClassVar[str] = f"{name}:{REVISION}"
    traits: ClassVar[Traits] = Traits(modality="text", temperature=0.0)
    limits: ClassVar[Limits] = Limits(concurrency=4)

    async def reply(self, prompt: Prompt) -> Reply:
        return Reply(judged(prompt.text, self.more), finish="stop", model=self.identity)

    async def close(self) -> None:
        pass


def judged(text: str, more: Mapping[str, Callable[[Mapping[str, str]], Any]] = {}) -> str:
    """The verdict on a framed text; a plain sentence where it asks nothing known.

    As JSON; what a question answers with text is given out as it is.
    """
    known = {**QUESTIONS, **more}
    question, sections = asked_of(text), sections_of(text)
    if question not in known:
        return "I was not asked for a judgment."
    cut = {name: words[:_LONGEST] for name, words in sections.items()}
    said = known[question](cut)
    return said if isinstance(said, str) else json.dumps(said, ensure_ascii=False)


def _answer(sections: Mapping[str, str]) -> dict[str, Any]:
    asked, gold = sections.get("question", ""), sections.get("answer", "")
    match, final = lexicon.same_answer(asked, gold, sections.get("reply", ""))
    return {"match": match, "final_answer": final}


def _precision(sections: Mapping[str, str]) -> list[dict[str, str]]:
    gold, asked = gold_steps(sections.get("steps", "")), content(sections.get("question", ""))
    steps = []
    for said in _steps(sections):
        words = content(said.text)
        found = next((step for step in gold if matches(said.text, step)), None)
        if found is not None:
            kind, judgment = STEP_TYPES[found.category or said.category], "Match"
        elif 2 < len(words) <= len(asked) and share(words, asked) >= _RESTATED:
            kind, judgment = "Restatement of the question", "N/A"
        else:
            kind, judgment = STEP_TYPES[said.category], "Wrong"
        steps.append({"step_type": kind, "Step information": said.text, "judgment": judgment})
    return steps


def _steps(sections: Mapping[str, str]) -> list[Said]:
    """Steps of reasoning, each once; the line that states the answer is judged elsewhere."""
    seen: dict[str, Said] = {}
    for said in split_steps(sections.get("reply", "")):
        if not said.final and content(said.text):
            seen.setdefault(said.text.casefold(), said)
    # A bare answer is no step of reasoning.
    lone = len(seen) == 1 and len(content(next(iter(seen)))) < 3 and "." not in next(iter(seen))
    return [] if lone else list(seen.values())


def _recall(sections: Mapping[str, str]) -> list[dict[str, Any]]:
    said = split_steps(sections.get("reply", ""))
    return [
        {
            "step_index": step.index,
            "step_type": STEP_TYPES[step.category or "others"],
            "judgment": "Matched" if any(matches(one.text, step) for one in said) else "Unmatched",
        }
        for step in gold_steps(sections.get("steps", ""))
    ]


def _order(sections: Mapping[str, str]) -> dict[str, Any]:
    """The rank of each category's first appearance, and the words it appears in."""
    steps = split_steps(sections.get("reply", ""))
    seen = list(dict.fromkeys(said.category for said in steps))
    ranks = {f"{kind}_order": seen.index(kind) + 1 if kind in seen else 0 for kind in CATEGORIES}
    return ranks | {
        f"{kind}_subs": [said.text for said in steps if said.category == kind]
        for kind in CATEGORIES
    }


QUESTIONS: Final[Mapping[str, Callable[[Mapping[str, str]], Any]]] = {
    "answer": _answer,
    "answer_yes_or_no": lambda sections: "Yes" if _answer(sections)["match"] else "No",
    "precision": _precision,
    "recall": _recall,
    "order": _order,
}
"""What it can judge; a benchmark with other questions passes its own as `more`."""


# ----------------------- Steps of a reply: split, typed by keywords, matched to gold steps by words

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
_FINAL: Final = re.compile(
    r"[\s*_#]*(?:the\s+)?(?:final\s+|correct\s+|my\s+)?answer\b[\s*_]*(?:is\b|:|=|-|$)",
    re.IGNORECASE,
)
_SENTENCE: Final = re.compile(r"(?<=[.!?。])\s+(?=[A-Z(\"“'*]|$)")

_CUES: Final = {kind: any_of(parts) for kind, parts in TABLES.cues.items()}
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
        for part in [words] if bullet else _SENTENCE.split(words):
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
    hints = TABLES.hints.items()
    return next((kind for kind, words in hints if any(word in said for word in words)), None)


def category(text: str) -> str:
    """What kind of step a sentence is, by the cues it has; without any, additional analysis."""
    scores = {kind: _WEIGHTS[kind] * len(_CUES[kind].findall(text)) for kind in CATEGORIES}
    best = max(("conclusion", *CATEGORIES), key=scores.__getitem__)  # the first of equal ones
    return best if scores[best] else "others"


def matches(said: str, gold: GoldStep) -> bool:
    """Whether words of a reply say what a gold step says: most of the shorter text's words.

    Examinations must be the very same; conclusions share nearly all; nothing may contradict.
    """
    one, two = content(said), content(gold.text)
    if not one or not two or contradict(one, two):
        return False
    if gold.category == "modality":
        names = one & TABLES.modalities, two & TABLES.modalities
        if all(names):
            return names[0] == names[1] and share(one, two) >= LOOSE
    if len(one & two) < 2:
        return one == two
    return share(one, two) >= (LOOSE if gold.category in ("feature", "others", None) else STRICT)


# ----------------- Scores by shared words: how much of a caption and of a true answer a reply says
#
# Vision and truth go by the words that are there, clarity and coherence by plain rules of language.
# Only the material is looked at, and only its words: what a reply claims of itself raises nothing.

# The share of words from which on a score is given, highest first.
_SAID: Final = ((0.8, 4), (0.6, 3), (0.35, 2), (0.15, 1))
_NEAR: Final = 0.3  # of the true answer's words, somewhere: slight overlap
_SENTENCE_END: Final = re.compile(r"(?<=[.!?。！？])\s*|\n+")
_WORD: Final = re.compile(r"\w+")
_HEDGES: Final = any_of(TABLES.parts["hedges"])
_LINKS: Final = any_of(TABLES.parts["links"])
_CJK: Final = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")
_HEDGED: Final = 3  # words of doubt that leave a text vague
_LONG: Final = 80  # words of a sentence nobody follows
_REPEATED: Final = 0.3  # of the words different: the rest is babble
_ENOUGH: Final = 30  # words from which on repetition tells


def scores(sections: Mapping[str, str]) -> dict[str, float]:
    """Clarity, coherence, vision (where there is a caption) and truth of reasoning and answer."""
    reasoning, answer = sections.get("reasoning", ""), sections.get("answer", "")
    found: dict[str, float] = {
        "clarity": _clarity(f"{reasoning}\n{answer}"),
        "coherence": _coherence(reasoning, answer),
    }
    if "caption" in sections:
        found["visual"] = _graded(covered(sections["caption"], f"{reasoning}\n{answer}"))
    found["truth"] = _truth(sections.get("truth", ""), reasoning, answer)
    return found


def covered(gold: str, said: str) -> float:
    """The share of what `gold` says that `said` says too, less the share that it denies.

    >>> covered("A round mass in the left lung.", "The left lung holds a round mass.")
    1.0
    >>> covered("A round mass in the left lung.", "The right lung holds a round mass.")
    0.5
    """
    wanted, there = _words(gold), _words(said)
    if not wanted:
        plain, other = (_WORD.findall(text.casefold()) for text in (gold, said))
        return 1.0 if plain and plain == other else 0.0
    lacking = wanted - there
    denied = sum(any(other in there for other in _against(word)) for word in lacking)
    return max(0.0, (len(wanted) - len(lacking) - denied) / len(wanted))


def _truth(gold: str, reasoning: str, answer: str) -> int:
    """By the answer, where it says enough; else by what the whole reply has of the truth."""
    in_answer, anywhere = covered(gold, answer), covered(gold, f"{reasoning}\n{answer}")
    direct = _graded(in_answer)
    if direct >= 3:
        return direct
    if answer.strip():
        # What stands in the reasons and not in the answer is no more than partly right.
        return max(direct, 2 if anywhere >= 0.8 else 1 if anywhere >= _NEAR else 0)
    return min(3, _graded(anywhere))


def _graded(share: float) -> int:
    return next((score for least, score in _SAID if share >= least - 1e-9), 0)


def _clarity(text: str) -> float:
    words = [word.casefold() for word in _WORD.findall(text)]
    babble = len(words) >= _ENOUGH and len(set(words)) < _REPEATED * min(len(words), 300)
    if len(words) < 2 or babble:
        return 0
    vague = len(_HEDGES.findall(text)) >= _HEDGED
    longest = max(len(_WORD.findall(sentence)) for sentence in _sentences(text))
    return 0.5 if vague or longest > _LONG else 1


def _coherence(reasoning: str, answer: str) -> float:
    """Reasons that have to do with the answer, or are joined to each other, hold together."""
    if not _words(reasoning):
        return 0
    joined = bool(_LINKS.search(reasoning)) or len(_sentences(reasoning)) > 1
    shared = bool(_words(reasoning) & _words(answer))
    return 1 if joined and (shared or not answer.strip()) else 0.5


def _sentences(text: str) -> Sequence[str]:
    return [part for part in _SENTENCE_END.split(text) if part.strip()] or [""]


def _words(text: str) -> frozenset[str]:
    """The words of a text; scripts without blanks by pairs of characters."""
    found: set[str] = set()
    for word in content(text):
        if _CJK.search(word) and len(word) > 2:
            found.update(word[at : at + 2] for at in range(len(word) - 1))
        else:
            found.add(word)
    return frozenset(found)


def _against(word: str) -> Sequence[str]:
    """What denies a word: the same negated, or its opposite."""
    turned = word.removeprefix("¬") if word.startswith("¬") else f"¬{word}"
    return (turned, *lexicon.opposites(word))
