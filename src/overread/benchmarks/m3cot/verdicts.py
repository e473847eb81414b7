"""Judges' replies in canonical form: strict first, repaired second, and told how (M3COT 10).

answer     {"match": bool, "final_answer": str}
precision  [{"type", "judgment", "text"}] with the types of `STEPS`, restatement and other
recall     [bool per gold step]
order      {"modality", "feature", "conclusion", "others"}: the rank of each, 0 where it is absent

A judge that leaves something out has not judged: the reply is invalid, to be asked again, and the
reader does not pay for it. `how` tells what was rescued, as in `repaired+types=2`, and of an answer
that it was asked for as yes or no: `yesno`.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any, Final, Literal, TypeAlias

from overread.benchmarks.m3cot.cases import STEPS, WORDS
from overread.benchmarks.m3cot.edition import Edition
from overread.judging import Read
from overread.judging.reading import read_json

QUESTIONS: Final = ("answer", "precision", "recall", "order")
YES_NO: Final = "yesno"
"""The rubric that asks for a word in place of JSON, and what `how` then begins with."""

# The judge's names of the four content types, by ours; a restatement is the fifth (M3COT 6).
_TYPES: Final[Mapping[str, Sequence[str]]] = WORDS["step_types"]
STEP_NAMES: Final[Mapping[str, str]] = {_TYPES[step][0]: step for step in STEPS}
RESTATEMENT: Final = _TYPES["restatement"][0]
# The four categories of a path, in the sequence that decides ties (M3COT 7).
ORDERS: Final = ("modality", "feature", "conclusion", "others")
ORDER_KEYS: Final = (
    *(f"{name}_order" for name in ORDERS),
    *(f"{name}_subs" for name in ORDERS),
)
# Orders out of the authors' table, where a row says by this key whether the judge could be read;
# all its rows count in their script, and no others.
TABLE: Final = "table"
STATUS: Final = "parse_status"
UNREAD: Final = "the judge's reply could not be read"

# Readings that lose nothing of the reply.
_WHOLE: Final = ("strict", "fenced")
_WORDS: Final = {"true": True, "false": False}


def _spelt(meanings: Mapping[Any, Sequence[str]]) -> dict[str, Any]:
    """By each of its spellings, folded, what is meant."""
    return {word.casefold(): meant for meant, words in meanings.items() for word in words}


_JUDGMENTS: Final = _spelt(WORDS["judgments"])
_MATCHED: Final = {word: said == "true" for word, said in _spelt(WORDS["matched"]).items()}
# The types by all their spellings, and by our own short names.
_ALIASES: Final = {**{kind: kind for kind in _TYPES}, **_spelt(_TYPES)}


def read_verdict(question: str, text: str | None, edition: Edition, gold: int = 0) -> Read:
    """A judge's reply to one of `QUESTIONS`; `gold` counts the gold steps."""
    if question == "recall":
        return read_recall(text, gold)
    if question == "precision":
        return read_precision(text, folded=edition.step_types == "folded")
    if question == "order":
        return read_order(text)
    return read_answer(text, truthy=edition.match == "truthy")


def read_answer(text: str | None, *, truthy: bool = False) -> Read:
    """An object, or an array of one; `match` a boolean or its word, and nothing else."""
    read, found, marks = _read_object(text)
    if found is None:
        return Read(how=read.how, fault=read.fault or "expected an object with match")
    match, final = found.get("match"), found.get("final_answer")
    if isinstance(match, str) and _folded(match) in _WORDS:
        match = _WORDS[_folded(match)]
        marks.append("word")
    if truthy and match is not None:
        match = bool(match)
    if not isinstance(match, bool):
        return Read(how=read.how, fault="match is neither true nor false")
    if not isinstance(final, str):
        marks.append("final_answer")
        final = "" if final is None else str(final)
    value = {"match": match, "final_answer": clean_text(final.strip())}
    return Read(value, _how(read.how, marks))


def read_precision(text: str | None, *, folded: bool = True) -> Read:
    """Steps with their types and judgments; an empty list says that there are no steps.

    Types are trimmed, case-folded and looked up among `_ALIASES`. Those still unknown are `other`
    and in neither numerator nor denominator; a reply of nothing else is invalid, and so is one
    that leaves a step unjudged.
    """
    read = _read(text)
    found = _list_in(read.value)
    if not read.valid or found is None:
        return Read(how=read.how, fault=read.fault or "expected an array of steps")
    said = text or ""
    told_of_more = said.count("{") > said.count("}") or said.count("step_type") > len(found)
    if read.how not in _WHOLE and told_of_more:
        return Read(how=read.how, fault="the steps are cut off")
    counts = {"types": 0, "judgments": 0, "unknown": 0}
    steps = []
    for step in found:
        if not isinstance(step, dict) or "step_type" not in step:
            return Read(how=read.how, fault="a step without step_type")
        spelt = step["step_type"] if isinstance(step["step_type"], str) else ""
        exact = spelt in STEP_NAMES or spelt == RESTATEMENT
        kind = _ALIASES.get(_folded(spelt), "other") if folded or exact else "other"
        counts["types"] += kind != "other" and not exact
        counts["unknown"] += kind == "other"
        judgment = _judged(step.get("judgment"), _JUDGMENTS)
        if judgment is None and kind in STEP_NAMES.values():
            return Read(how=read.how, fault="a step without a judgment that can be read")
        counts["judgments"] += judgment is not None and judgment != step.get("judgment")
        words = step.get("Step information", "")
        steps.append({"type": kind, "judgment": judgment, "text": clean_text(str(words))})
    if steps and counts["unknown"] == len(steps):
        return Read(how=read.how, fault="no step has a type that is known")
    return Read(steps, _how(read.how, [f"{name}={n}" for name, n in counts.items() if n]))


def read_recall(text: str | None, gold: int) -> Read:
    """Whether each gold step is matched: by `step_index` where it names each, else by position.

    An empty array matches none. One that leaves gold steps out is invalid.
    """
    read = _read(text)
    found = _list_in(read.value)
    if gold == 0:
        return Read(how=read.how, fault="no gold steps")
    if not read.valid or found is None:
        return Read(how=read.how, fault=read.fault or "expected an array of judgments")
    if not found:
        return Read([False] * gold, _how(read.how, ["empty"]))
    marks = []
    if all(isinstance(entry, str | bool) for entry in found):
        found = [{"judgment": entry} for entry in found]
        marks.append("words")
    if not all(isinstance(entry, dict) for entry in found):
        return Read(how=read.how, fault="an entry that is no object")
    chosen = _in_order([entry.get("step_index") for entry in found], gold)
    if chosen is None:
        return Read(how=read.how, fault=f"{len(found)} judgments for {gold} gold steps")
    if len(found) > gold:
        marks.append("extra")
    matched = [_judged(found[place].get("judgment"), _MATCHED) for place in chosen]
    if any(one is None for one in matched):
        return Read(how=read.how, fault="a judgment that cannot be read")
    if any(found[place]["judgment"] not in ("Matched", "Unmatched") for place in chosen):
        marks.append("judgments")
    return Read(matched, _how(read.how, marks))


def read_order(text: str | None) -> Read:
    """The rank of each category; null is absent. Only the four orders are needed for a path."""
    read, found, marks = _read_object(text)
    if found is None:
        return Read(how=read.how, fault=read.fault or "expected an object with four orders")
    if STATUS in found:  # whether the authors' script could read the judge on this row
        status = found[STATUS]
        read_by_them = status is None or str(status).strip().casefold() in ("true", "1")
        if not read_by_them or all(found.get(f"{name}_order") is None for name in ORDERS):
            return Read(how=TABLE, fault=UNREAD)
    ranks = {}
    for name in ORDERS:
        if f"{name}_order" not in found:
            return Read(how=read.how, fault=f"{name}_order is missing")
        said = found[f"{name}_order"]
        rank = _rank(said)
        if rank is None:
            return Read(how=read.how, fault=f"{name}_order is no rank")
        if rank is not said:
            marks.append(name)
        ranks[name] = rank
    if any(f"{name}_subs" not in found for name in ORDERS):
        marks.append("subs")
    return Read(ranks, _how(TABLE if STATUS in found else read.how, marks))


def rescued(how: str | None) -> bool:
    """Whether something had to be rescued: anything but what was asked for, and in its words."""
    return how not in (None, "", "strict", "published", TABLE, YES_NO)


def _read(text: str | None) -> Read:
    return Read(fault="no reply") if not text or not text.strip() else read_json(text)


def _read_object(text: str | None) -> tuple[Read, dict[str, Any] | None, list[str]]:
    """A reply that is an object, or an array of one, and what was rescued."""
    read = _read(text)
    found, marks = read.value, []
    if isinstance(found, list) and len(found) == 1:
        found, marks = found[0], ["array"]
    return read, found if read.valid and isinstance(found, dict) else None, marks


def _how(how: str, marks: Sequence[str]) -> str:
    return "+".join((how, *marks))


def _list_in(found: Any) -> list[Any] | None:
    """An array; or the only one that an object holds."""
    if isinstance(found, dict):
        if "judgment" in found:
            return [found]
        lists = [value for value in found.values() if isinstance(value, list)]
        return lists[0] if len(lists) == 1 else None
    if not isinstance(found, list):
        return None
    if found and all(isinstance(entry, list) for entry in found):
        return [entry for some in found for entry in some]
    return found


def _judged(said: Any, words: dict[str, Any]) -> Any:
    if isinstance(said, bool):
        return words["match"] if said else words["wrong"]
    return words.get(_folded(said)) if isinstance(said, str) else None


def _in_order(said: Sequence[Any], gold: int) -> list[int] | None:
    """The place of the entry on each gold step, counted from 0 or from 1, or by position."""
    whole = [one for one in said if isinstance(one, int) and not isinstance(one, bool)]
    if len(set(whole)) == len(said):
        for first in (0, 1):
            if set(range(first, first + gold)) <= set(whole) and min(whole) == first:
                return [whole.index(step) for step in range(first, first + gold)]
        return None
    return list(range(gold)) if len(said) == gold else None


def _rank(said: Any) -> int | None:
    if isinstance(said, str) and re.fullmatch(r"\s*\d{1,3}(\.0*)?\s*", said):
        said = float(said)
    if isinstance(said, float) and math.isfinite(said) and said == int(said):
        said = int(said)
    if said is None:
        return 0
    whole = isinstance(said, int) and not isinstance(said, bool) and 0 <= said < 1000
    return said if whole else None


def _folded(said: str) -> str:
    return " ".join(said.casefold().split()).strip(" .:;\"'`*")


def clean_text(text: str) -> str:
    """Text that any writer takes: lone surrogates replaced."""
    return text.encode("utf-8", "replace").decode("utf-8")


# ---------------------------------------------------------------- paths
# Reasoning paths: the order in which a reply first names each category (M3COT 7).
#
# A path is a tuple of categories, each at most once: 65 are possible, the empty one among them.
# sim(P, Q) = LCS length / the longer length; 1 if both are empty, 0 if one is.

Path: TypeAlias = tuple[str, ...]
Reference: TypeAlias = Literal["mode", "medoid"]


def path_of(orders: Mapping[str, Any]) -> Path:
    """Categories with an order above 0, by their order; ties in the sequence of `ORDERS`.

    Orders are truncated to whole numbers and None is 0. One that cannot be converted makes the
    whole path empty.
    """
    ranks = []
    for name in ORDERS:
        rank = _whole_rank(orders.get(name))
        if rank is None:
            return ()
        ranks.append(rank)
    named = [(rank, place) for place, rank in enumerate(ranks) if rank > 0]
    return tuple(ORDERS[place] for _, place in sorted(named))


def _whole_rank(said: Any) -> int | None:
    if said is None or said != said:
        return 0
    try:
        return int(said)
    except (ValueError, TypeError, OverflowError):
        return None


@lru_cache(maxsize=8192)
def lcs_length(one: Path, two: Path) -> int:
    """The length of the longest common subsequence."""
    row = [0] * (len(two) + 1)
    for step in one:
        before = 0
        for place, other in enumerate(two, 1):
            here = row[place]
            row[place] = before + 1 if step == other else max(here, row[place - 1])
            before = here
    return row[-1]


def similarity(one: Path, two: Path) -> float:
    """LCS length over the longer length, in [0, 1]; two empty paths are alike."""
    longer = max(len(one), len(two))
    return lcs_length(one, two) / longer if longer else 1.0


def mode_path(paths: Sequence[Path], *, apart: bool = False) -> Path:
    """The most frequent path; the first seen wins a tie. `apart`: not the empty one, if others."""
    counts = Counter(path for path in paths if path or not apart)
    # Counter keeps the order of first sight, and max the first of equals.
    return max(counts, key=counts.__getitem__) if counts else ()
