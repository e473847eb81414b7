"""Readings that benchmarks share, and tables of rules and options that everything follows from."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import Annotated, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from overread.benchmarks.base import Benchmark
from overread.benchmarks.registry import BENCHMARKS, class_of
from overread.benchmarks.rules import (
    AskedOptions,
    Boot,
    EditionRules,
    Folder,
    Rulebook,
    Seed,
    check_variants,
    files,
    folder,
    number,
    one_of,
    read_words,
    some_of,
    whole,
)
from overread.case import BadInput
from support.registered import options_table, rules_table

READINGS = {
    "rule": one_of("a", "b"),
    "parser": one_of(1, 2),
    "list": some_of("x", "y", "z"),
    "maybe": some_of("x", "y", none="none"),
    "count": whole(1, 100),
    "heat": number(0, 2),
    "root": folder,
}


def read(**words):
    return read_words("m3cot", words, READINGS, tuple(READINGS))


@pytest.mark.parametrize(
    ("name", "word", "value"),
    [
        ("rule", "b", "b"),
        ("rule", " a ", "a"),
        ("parser", "2", 2),
        ("list", "z, x", ("x", "z")),
        ("maybe", "none", ()),
        ("maybe", "y", ("y",)),
        ("count", "100", 100),
        ("heat", "0.10", 0.1),
        ("heat", "2", 2.0),
        ("root", "here", str(Path("here").absolute())),
    ],
)
def test_a_word_becomes_its_value(name, word, value):
    assert read(**{name: word}) == {name: value}


@pytest.mark.parametrize(
    ("name", "word", "told"),
    [
        ("rule", "c", "a or b"),
        ("rule", "", "a or b"),
        ("parser", "3", "1 or 2"),
        ("list", "x,x", "one or more of x, y, z, joined by commas, each once"),
        ("list", "", "one or more of"),
        ("list", "none", "one or more of"),
        ("maybe", "none,x", "each once, or none"),
        ("count", "0", "a whole number from 1 to 100"),
        ("count", "1.0", "a whole number"),
        ("count", "²", "a whole number"),
        ("count", "9" * 5000, "a whole number"),
        ("heat", "nan", "a number from 0 to 2"),
        ("heat", "-0.1", "a number from 0 to 2"),
        ("heat", "inf", "a number"),
        ("heat", "warm", "a number"),
        ("root", "", "a folder"),
    ],
)
def test_any_other_word_is_refused_in_one_line(name, word, told):
    with pytest.raises(BadInput) as caught:
        read(**{name: word})
    assert str(caught.value).startswith(f"--set {name}={word}: {name} is ")
    assert told in str(caught.value)


def test_an_unknown_setting_lists_the_known_ones():
    with pytest.raises(BadInput, match='m3cot has no "hue"; it has rule, parser, list'):
        read(hue="1")


@pytest.mark.parametrize("benchmark", sorted(BENCHMARKS))
def test_every_setting_that_a_benchmark_reads_as_a_path_is_recorded_absolute(benchmark):
    book = class_of(benchmark).book
    here, found = str(Path().absolute()), set()
    for name, option in book.options.items():
        with suppress(ValueError):
            value = option.reads("some.csv")
            if isinstance(value, str) and value.startswith(here):
                assert book.absolute({name: "some.csv"}) == {name: value}
                found.add(name)
    assert found == book.places
    assert "root" in found


def test_words_that_name_no_path_are_recorded_as_they_are():
    book = class_of("medcmr").book
    for plain in ({"reformulate": "none"}, {"reformulate": "12"}, {"root": ""}, {"ranks": "a,,b"}):
        assert book.absolute(plain) == plain
    assert Benchmark.absolute(None) == {}


@given(st.sampled_from(sorted(READINGS)), st.text(max_size=20))
def test_a_word_is_read_or_refused(name, word):
    told = ""
    try:
        assert set(read(**{name: word})) == {name}
    except BadInput as error:
        told = str(error)
    assert not told or f"{name} is " in told


# ---------------------------------------------------------------- the table


class Edition(EditionRules, frozen=True, kw_only=True):
    table = """
        rule    | authors | corrected | decides
        parser  | 1       | 2         | How a reply is
            read.
        masks * | closed  | open      | Masks.
        boot    | 10000   | 10000     | Resamples.
        seed    | 0       | 0         | Seed of every bootstrap.
    """

    parser: Literal[1, 2]
    masks: Literal["closed", "open"]
    boot: Boot
    seed: Seed


class Options(AskedOptions, frozen=True, kw_only=True):
    table = """
        option       | kind           | says
        px           |                | The longer side.
        images = a,b |                | Pictures.
        checks       | judges         | Items judged first.
        ratings      | measured files | Sheets.
        root         | files          | Where pictures stand.
    """

    px: Annotated[int, whole(1, 100)] = 5
    images: Annotated[tuple[str, ...], some_of("a", "b")] = ("a", "b")
    twice: bool = False
    checks: Annotated[int, whole(0, 9)] = 3
    ratings: Annotated[str | None, files("a csv")] = None
    root: Folder = None


def complete(name, words, given):
    return Options(**given, twice=name == "corrected" and words.get("images") == "a")


BOOK = Rulebook("toy", Edition, Options, complete)


def test_the_editions_have_the_values_of_the_table():
    same = {"boot": 10_000, "seed": 0}
    assert BOOK.corrected == Edition(parser=2, masks="open", **same)
    assert BOOK.authors == Edition(name="authors", parser=1, masks="closed", **same)
    assert BOOK.departures(BOOK.authors) == []
    assert BOOK.departures(BOOK.corrected) == ["parser", "masks"]


def test_a_changed_rule_stands_in_the_label_and_an_option_does_not():
    rules, options = BOOK.settings("corrected", {"seed": "3", "parser": "1", "px": "9"})
    assert rules.label == "corrected+parser=1+seed=3"
    assert BOOK.asked_under(rules.label) == rules
    assert options == Options(px=9)
    assert BOOK.settings("authors")[0].label == "authors"


def test_a_field_that_no_word_sets_follows_from_the_others():
    assert BOOK.settings("corrected", {"images": "a"})[1].twice
    assert not BOOK.settings("authors", {"images": "a"})[1].twice
    with pytest.raises(BadInput, match='toy has no "twice"; it has parser, masks, boot, seed, px'):
        BOOK.settings("corrected", {"twice": "True"})


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ({"parser": "3"}, "--set parser=3: parser is 1 or 2."),
        ({"boot": "1"}, "--set boot=1: boot is a whole number from 100 to 10000000."),
        ({"root": ""}, "--set root=: root is a folder."),
    ],
)
def test_a_wrong_word_is_refused_by_its_field(words, told):
    with pytest.raises(BadInput) as caught:
        BOOK.settings("corrected", words)
    assert str(caught.value) == told


def test_an_unknown_edition_lists_the_known_ones():
    with pytest.raises(BadInput, match='edition is "mine"; the editions are corrected, authors'):
        BOOK.edition("mine")


def test_what_is_shown_what_judges_are_asked_and_what_names_files():
    assert BOOK.shows == {"masks", "px", "images", "checks", "root"}
    assert BOOK.for_judges == {"checks"}
    assert BOOK.places == {"ratings", "root"}
    here = str(Path().absolute())
    given = {"root": " a ", "ratings": "r.csv, s.csv", "px": "5", "boot": "200"}
    made = {"root": f"{here}/a", "ratings": f"{here}/r.csv,{here}/s.csv", "px": "5", "boot": "200"}
    assert BOOK.absolute(given) == made
    assert BOOK.absolute({"ratings": "a,,b"}) == {"ratings": "a,,b"}


def test_the_tables_of_the_page():
    assert rules_table(BOOK)[1:4] == [
        "|---|---|---|---|",
        "| `parser` | `1` | `2` | How a reply is read. |",
        "| `masks` | `closed` | `open` | Masks. |",
    ]
    assert options_table(BOOK)[2:] == [
        "| `px` | `5` | The longer side. |",
        "| `images` | `a,b` | Pictures. |",
        "| `checks` | `3` | Items judged first. |",
        "| `ratings` | – | Sheets. |",
        "| `root` | – | Where pictures stand. |",
    ]


def test_more_variants_than_checks_are_refused():
    check_variants({}, 3, 3)
    with pytest.raises(BadInput, match="--set variants=4: variants are made of the items of check"):
        check_variants({"variants": "4"}, 4, 3)
