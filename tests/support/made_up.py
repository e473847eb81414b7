"""Studies made up at random, and the audit's rates counted one case at a time.

The counting follows the protocol's table (GROUNDING 8) word by word, with plain loops over plain
values, so that it shares nothing with the arrays it is compared with.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import msgspec
import polars as pl
from hypothesis import strategies as st

from overread.benchmarks.base import Tables
from overread.benchmarks.grounding import Grounding
from support.measured import Records

__all__ = ["MadeUp", "counts", "made_up", "measured", "premium", "regimes", "with_confidence"]

FOUR = ("original", "swap", "target_mask", "irrelevant_mask")


class MadeUp(NamedTuple):
    """Facts of the cases, and reader -> condition -> case -> mark; no mark is no row."""

    facts: Mapping[str, Mapping[str, Any]]
    answers: Mapping[str, Mapping[str, Mapping[str, int]]]
    sure: Mapping[str, float]

    def tables(self, bench: Any, traits: Any = None) -> Tables:
        cases = [bench.case(name, **facts) for name, facts in self.facts.items()]
        return with_confidence(bench.tables(cases, self.answers, traits), self.sure)


def with_confidence(tables: Tables, sure: Mapping[str, float]) -> Tables:
    """P(Yes) on every original, whatever became of it: recorded files have one beside a -1 too."""
    p_yes = pl.col("case").replace_strict(dict(sure), default=None, return_dtype=pl.Float64)
    first = (pl.col("image") == "original") & (pl.col("repeat") == 0)
    rows = tables.answers.with_columns(p_yes=pl.when(first).then(p_yes))
    return msgspec.structs.replace(tables, answers=rows)


def measured(tables: Tables, edition: str = "corrected", **words: str) -> Records:
    """The tables measured with few resamples."""
    words = {"boot": "100", **words}
    return Records(Grounding.of_run("made-up@0", "open", edition, words).measure(tables))


_MARK = st.sampled_from([1, 1, 1, 0, 0, 0, -1, -2, -3, None])


@st.composite
def made_up(draw: st.DrawFn, readers: int = 1, fewest: int = 1, most: int = 14) -> MadeUp:
    """Cases of all sources, few patients, everything that can be missing now and then missing."""
    facts = {f"c{i}": draw(_facts()) for i in range(draw(st.integers(fewest, most)))}
    boxed = [name for name, own in facts.items() if own.get("box", True) is not None]
    answers: dict[str, dict[str, dict[str, int]]] = {}
    for reader in range(readers):
        own = answers[f"r{reader}"] = {}
        agree = draw(st.booleans())
        first = draw(st.sampled_from([1, 0])) if agree else None
        for image in (*FOUR, "repeat"):
            asked = boxed if image.endswith("mask") else list(facts)
            marks = {c: first if agree else draw(_MARK) for c in asked}
            own[image] = {c: mark for c, mark in marks.items() if mark is not None}
    alike = draw(st.booleans())
    tenths = st.sampled_from([0.0, 0.05, 0.3, 0.5, 0.6, 0.75, 0.95, 1.0])
    sure = {c: 0.75 if alike else draw(tenths) for c in facts if draw(st.integers(0, 9))}
    return MadeUp(facts, answers, sure)


@st.composite
def _facts(draw: st.DrawFn) -> dict[str, Any]:
    source = draw(st.sampled_from(["ms_cxr", "ms_cxr", "mimic_cxr", "rexerr", "chexpert"]))
    facts: dict[str, Any] = {
        "source": source,
        "subject_id": draw(st.sampled_from(["p0", "p1", "p2", None])),
        "finding": draw(st.sampled_from(["edema", "pneumonia"])),
        "swap_match": draw(st.sampled_from(["label", "label", "any", None])),
        "gender": draw(st.sampled_from(["M", "F", None])),
        "view": draw(st.sampled_from(["PA", "AP", None])),
        "age": draw(st.sampled_from([20.0, 49.9, 50.0, 69.0, 70.0, None])),
    }
    if source == "ms_cxr":
        return facts
    facts |= {"box": None, "irrelevant_box": None, "label": draw(st.integers(0, 1))}
    if source == "rexerr":
        kind = draw(st.sampled_from(["Add typo", "Change location", "change_view"]))
        facts |= {"error_sentence": "x", "error_present": facts["label"], "error_type": kind}
        facts["finding"] = draw(st.sampled_from(["edema", None]))
    elif draw(st.booleans()):
        facts |= {"finding": "no_finding", "label": 1}
    return facts


# ---------------------------------------------------------------- one case at a time


class _Case(NamedTuple):
    name: str
    y: int
    ms: bool
    matched: bool
    o: int | None
    s: int | None
    t: int | None
    i: int | None
    again: int | None


def _parsed(answer: int | None) -> bool:
    return answer in (0, 1)


def _each(made: MadeUp, edition: str, reader: str) -> Iterator[_Case]:
    said = made.answers[reader]
    for name, facts in made.facts.items():
        y = facts.get("label", 1)
        if facts["source"] == "rexerr":
            y = 1 - facts["error_present"]
        elif facts["finding"] == "no_finding" and edition == "corrected":
            y = 1 - y
        matched = edition == "authors" or facts["swap_match"] != "any"
        answers = (said[image].get(name) for image in (*FOUR, "repeat"))
        yield _Case(name, y, facts["source"] == "ms_cxr", matched, *answers)


def counts(made: MadeUp, edition: str, reader: str = "r0") -> dict[str, tuple[int, int]]:
    """(hits, cases) of every proportion of GROUNDING 8."""
    found = dict.fromkeys(
        ("accuracy", "sensitivity", "specificity", "cgr", "uar", "is", "is_all", "retest"), (0, 0)
    )
    found["swap_consistency"] = (0, 0)

    def count(name: str, hit: bool) -> None:
        k, n = found[name]
        found[name] = (k + hit, n + 1)

    for c in _each(made, edition, reader):
        correct = _parsed(c.o) and c.o == c.y
        if _parsed(c.o):
            count("accuracy", c.o == c.y)
            count("sensitivity" if c.y == 1 else "specificity", c.o == c.y)
        if c.ms and c.y == 1 and c.o == 1 and _parsed(c.t):
            count("cgr", c.t != c.o)
        if correct and _parsed(c.s) and c.matched:
            count("uar", c.s == c.o)
        if c.ms and correct and _parsed(c.i):
            count("is", c.i == c.o)
        if c.ms and _parsed(c.o) and _parsed(c.i):
            count("is_all", c.i == c.o)
        if _parsed(c.o) and _parsed(c.s) and c.s != c.o and c.matched:
            count("swap_consistency", c.s == c.y)
        if _parsed(c.o) and _parsed(c.again):
            count("retest", c.again == c.o)
    return found


def premium(made: MadeUp, edition: str, reader: str = "r0") -> float | None:
    """GSP: the difference of two rates (authors), or case by case (corrected)."""
    if edition == "authors":
        (flips, n), (kept, m) = (counts(made, edition, reader)[name] for name in ("cgr", "is"))
        return flips / n - (1 - kept / m) if n and m else None
    changes = [
        (c.t != c.o) - (c.i != c.o)
        for c in _each(made, edition, reader)
        if c.ms and c.y == 1 and c.o == 1 and _parsed(c.t) and _parsed(c.i)
    ]
    return sum(changes) / len(changes) if changes else None


def regimes(made: MadeUp, edition: str, reader: str = "r0") -> dict[str, list[float]]:
    """P(Yes) of everybody in each regime (GROUNDING 8.2, figure and text)."""
    found: dict[str, list[float]] = {
        "grounded_correct": [],
        "ungrounded_correct": [],
        "incorrect": [],
    }
    for c in _each(made, edition, reader):
        if c.o is None or c.name not in made.sure:
            continue
        if edition == "corrected" and not _parsed(c.o):
            continue
        regime = "incorrect"
        if _parsed(c.o) and c.o == c.y:
            flips = c.t is not None and c.t != c.o
            if edition == "corrected":
                flips = _parsed(c.t) and c.t != c.o
            regime = "grounded_correct" if flips else "ungrounded_correct"
        found[regime].append(made.sure[c.name])
    return found
