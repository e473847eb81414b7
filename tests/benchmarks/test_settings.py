"""Readings that benchmarks share: a value, or one line that says what the setting is."""

from __future__ import annotations

from contextlib import suppress
from importlib import import_module
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from overread.benchmarks.registry import BENCHMARKS
from overread.benchmarks.settings import (
    absolute,
    folder,
    number,
    one_of,
    read_words,
    some_of,
    whole,
)
from overread.case import BadInput

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


def test_words_that_name_a_path_are_recorded_absolute():
    here = str(Path().absolute())
    given = {"root": " a,b ", "ratings": "r.csv, s.csv", "reformulate": "c.csv", "px": "512"}
    made = absolute(given)
    assert made == {
        "root": f"{here}/a,b",
        "ratings": f"{here}/r.csv,{here}/s.csv",
        "reformulate": f"{here}/c.csv",
        "px": "512",
    }
    assert absolute(made) == made
    for plain in ({"reformulate": "none"}, {"reformulate": "12"}, {"root": ""}, {"ranks": "a,,b"}):
        assert absolute(plain) == plain


@pytest.mark.parametrize("benchmark", sorted(BENCHMARKS))
def test_every_setting_that_a_benchmark_reads_as_a_path_is_one_of_them(benchmark):
    edition = import_module(f"overread.benchmarks.{benchmark}.edition")
    here, found = str(Path().absolute()), set()
    for name, reading in {**edition.RULES, **edition._OPTIONS}.items():
        with suppress(ValueError):
            value = reading("some.csv")
            if isinstance(value, str) and value.startswith(here):
                assert absolute({name: "some.csv"}) == {name: value}
                found.add(name)
    assert "root" in found


@given(st.sampled_from(sorted(READINGS)), st.text(max_size=20))
def test_a_word_is_read_or_refused(name, word):
    told = ""
    try:
        assert set(read(**{name: word})) == {name}
    except BadInput as error:
        told = str(error)
    assert not told or f"{name} is " in told
