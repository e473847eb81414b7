"""Sentences that benchmarks share."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Literal

import pytest

import overread.benchmarks
from overread.benchmarks.base import ReaderRecord
from overread.benchmarks.exhibits.index import Index
from overread.benchmarks.rules import AskedOptions, EditionRules, Rulebook
from overread.benchmarks.sentences import (
    Sentences,
    Told,
    carried_out,
    decoded,
    edition_line,
    few_cases,
    gets_no_picture,
    judge_limits,
    listed,
    made_up,
    rate,
    readers_listed,
    reply_limits,
    sentences_beside,
    shift_limit,
    side_of,
    taken_over,
    tried_judges,
    unseeing_limit,
    unseeing_noted,
    wide_intervals,
)
from overread.case import Measure, Traits


def record(reader: str = "a", measure: str = "cgr", **facts: object) -> Measure:
    return Measure(reader=reader, measure=measure, **facts)


class Edition(EditionRules, frozen=True, kw_only=True):
    table = """
        rule   | authors | corrected | decides
        parser | 1       | 2         | Reading.
    """

    parser: Literal[1, 2]


class Options(AskedOptions, frozen=True, kw_only=True):
    pass


BOOK = Rulebook("toy", Edition, Options)


def test_a_rate_in_words() -> None:
    whole = record(value=0.612, low=0.55, high=0.67, n=370)
    assert rate(whole, "CGR") == "61.2 % (CGR, 95 % interval 55.0 to 67.0, n = 370)"
    bare = record(value=-0.1)
    assert rate(bare, signed=True) == "-10.0 points (no interval)"


def test_lists_in_words() -> None:
    assert [listed(list("abc")[:n]) for n in (1, 2, 3)] == ["a", "a and b", "a, b and c"]
    assert readers_listed(["a", "b", "a"]) == "a and b"
    assert readers_listed("abcde") == "5 models"


@pytest.mark.parametrize(
    ("low", "high", "side"),
    [(0.51, 0.9, "above"), (0.1, 0.5, "below"), (0.5, 0.9, "holds"), (None, 0.9, "")],
)
def test_an_interval_lies_on_a_side_or_holds_the_limit(low, high, side) -> None:
    assert side_of(record(value=0.5, low=low, high=high), 0.5) == side
    assert side_of(None, 0.5) == ""


def test_a_verdict_is_a_headline() -> None:
    told = Told("in part", "It does.", record(value=0.5)).headline("a", "Does it?")
    assert (told.reader, told.answer, told.sentence) == ("a", "in part", "It does.")


def test_who_gets_no_picture_is_flagged() -> None:
    readers = [ReaderRecord(name="a", traits=Traits(modality="text")), ReaderRecord(name="b")]
    records = [record(note="3 left"), record("b"), record(measure="other")]
    flagged = unseeing_noted(records, readers, "cgr")
    assert [gets_no_picture(one) for one in flagged] == [True, False, False]
    assert flagged[0].note == "3 left; the model gets no picture"
    assert list(unseeing_limit(flagged, "answered")) == [
        "Without any picture, from the words alone, answered a."
    ]
    assert list(unseeing_limit(records, "answered")) == []


def test_methods() -> None:
    told = carried_out('The audit of "X"', BOOK, BOOK.corrected)
    assert told == (
        'The audit of "X" was carried out under the rules "corrected" of Overread, which differ '
        "from those of the published code in one respect (see the supplement)."
    )
    assert carried_out("It", BOOK, BOOK.authors).endswith("which are those of the published code.")
    assert edition_line(BOOK.authors).endswith("edition “authors”.")
    assert taken_over().endswith("pictures, questions and decoding are theirs.")
    assert decoded(0.1, "9 tokens").startswith("replies were decoded at temperature 0.1 with at")
    assert "one that fails 90 % is labelled unfit" in tried_judges(9, "judged", "fails {}")


def test_limitations() -> None:
    assert made_up("phantom-cxr@1")
    assert not made_up("mine")
    rates = [record(r, "refused", value=v, n=10) for r, v in (("a", 0.1), ("b", 0.2), ("c", 0.0))]
    (told,) = reply_limits(Index(rates), {"refused": "refused some", "empty": "were blank"})
    assert (
        told
        == "a and b refused some: at most 20.0 % (no interval, n = 10) of what was asked in one way."
    )
    assert len(list(judge_limits(["control:lexical-judge"], "judged"))) == 2
    assert list(judge_limits(["j1", "j2"], "judged")) == []
    moved = Index([record("", "judge_shift", value=0.3, low=0.1, high=0.5, n=9)])
    assert "up to 30.0 %" in next(shift_limit(moved, "scores"))
    few = [record(value=0.5, n=3), record("b", value=0.5, n=9), record("c", value=0.5, n=100)]
    assert list(few_cases(few, 10, "CGR stands")) == [
        "CGR stands on 3 to 9 cases, fewer than 10, for a and b."
    ]
    assert list(few_cases(few[2:], 10, "CGR stands")) == []
    assert wide_intervals([record(value=0.5, low=0.1, high=0.9), few[0]], 0.5) == {"a": 0.8}


# ---------------------------------------------------------------- sentences kept in a file


def test_a_sentence_names_facts_rules_and_what_follows_from_them() -> None:
    words = {
        "said": {"how": "{n} {parser}, by {rules.name}."},
        "phrases": {"parser": {"2": "read as {rules.name} does"}},
        "limits": {"parser": {"1": "As published."}},
    }
    ours, theirs = BOOK.corrected, BOOK.authors
    said = Sentences(words)
    assert said.under(ours, n=1)("how", n=2) == "2 read as corrected does, by corrected."
    assert said.under(theirs)("how", n=1) == "1 , by authors."
    assert said.by_rule("limits", ours) == {"parser": ""}
    assert said.by_rule("limits", theirs) == {"parser": "As published."}


@pytest.mark.parametrize("name", ["heartbeat", "m3cot", "medcmr"])
def test_no_sentence_is_kept_that_nothing_says(name: str) -> None:
    path = Path(overread.benchmarks.__file__).parent / name / "sentences.py"
    code = path.read_text("utf-8")
    # Those of a rule's value, or of a kind, are found by it: `window_fixed` by `window_{...}`.
    begun = tuple(re.findall(r'f"(\w+_)\{', code))
    ended = tuple(re.findall(r'f"\{\w+\}(_\w+)"', code))
    unsaid = [
        one
        for one in sentences_beside(str(path)).words["said"]
        if f'"{one}"' not in code and not one.startswith(begun) and not one.endswith(ended)
    ]
    assert unsaid == []


WORDS = sorted(
    path
    for pattern in ("**/exhibits/words.toml", "*/sentences.toml", "*/report_sentences.toml")
    for path in Path(overread.benchmarks.__file__).parent.glob(pattern)
)


def said_in(told: object) -> Iterator[str]:
    """Every text of a file of words but the columns of tables, which are those of the files."""
    if isinstance(told, str):
        yield told
    elif isinstance(told, dict):
        for key, value in told.items():
            yield from () if key in ("columns", "headline") else said_in(value)
    elif isinstance(told, list):
        for value in told:
            yield from said_in(value)


@pytest.mark.parametrize("path", WORDS, ids=lambda path: "-".join(path.parts[-3:]))
def test_what_people_read_speaks_of_models(path: Path) -> None:
    """A reader is a person in a hospital; who was asked is a reader in the records alone."""
    told = [re.sub(r"\{[^}]*\}", "", text) for text in said_in(tomllib.loads(path.read_text()))]
    assert told
    assert [text for text in told if re.search(r"(?i)(?<!human )\breaders?\b", text)] == []
