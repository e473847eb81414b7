"""`overread settings` and `options`: what can be set, as the program itself declares it."""

from __future__ import annotations

import json

import pytest

from overread.benchmarks.registry import benchmark_names, class_of
from overread.cli.app import COMMANDS
from overread.cli.completion import offered
from overread.readers.options import reader_options
from overread.readers.spec import ReaderSpec
from support.commands import Overread


@pytest.mark.parametrize("benchmark", benchmark_names())
def test_every_key_has_its_default_and_its_meaning(overread: Overread, benchmark: str) -> None:
    found = json.loads(overread("settings", benchmark, "--json").out)
    book = class_of(benchmark).book
    assert book is not None
    assert [one["name"] for one in found] == [*book.rules, *book.options]
    assert all(one["decides"] and one["takes"] for one in found)
    assert {one["name"] for one in found if one["shown"]} == book.shows
    for one in found:
        if one["published"] is not None:  # a rule's words are those that --set takes
            words = {"corrected": one["default"], "authors": one["published"]}
            for edition, word in words.items():
                own = book.edition(edition, {one["name"]: word})
                assert own == book.editions[edition]


def test_settings_fit_a_terminal(overread: Overread) -> None:
    done = overread("settings", "grounding")
    assert (done.code, done.err) == (0, "")
    assert max(map(len, done.out.splitlines())) <= 100
    assert "normals" in done.out


def test_a_benchmark_that_is_none_is_refused(overread: Overread) -> None:
    assert overread("settings", "frob").code == 2


def test_every_option_of_a_reader_is_listed_with_words() -> None:
    found = {one.name: one for one in reader_options()}
    assert set(found) == set(ReaderSpec.__struct_fields__) - {"kind", "model", "base_url"}
    assert [name for name, one in found.items() if not one.says] == []
    assert found["concurrency"].default == "64"
    assert found["clips"].takes == "images, sheet or video"
    assert found["revision"].replies
    assert not found["label"].replies


def test_options_are_printed_and_given_to_a_machine(overread: Overread) -> None:
    done = overread("options")
    assert "Kinds: openai:" in done.out
    assert max(map(len, done.out.splitlines())) <= 100
    assert json.loads(overread("options", "--json").out)[0]["name"] == "modality"


# ---------------------------------------------------------------- what a shell offers


BEGUN = "openai:m@http://127.0.0.1:1/v1?label=x&pri"


@pytest.mark.parametrize(
    ("line", "offers"),
    [
        (["mea"], ["measure"]),
        (["store", ""], ["forget", "list", "merge", "serve"]),
        (["run", "m"], ["m3cot", "medcmr"]),
        (["report", "--la"], ["--latex"]),
        (["run", "grounding", "--set", "nor"], ["normals="]),
        (["run", "study.toml", "--set", "nor"], []),
        (["run", "grounding", "--reader", "contr"], ["control:"]),
        (["run", "grounding", "--reader", BEGUN], [f"{BEGUN}ce_in=", f"{BEGUN}ce_out="]),
        (["completion", "b"], ["bash"]),
        (["run", "grounding", "--cases", ""], []),  # a file: the shell knows those
        (["frob", "x"], []),
    ],
)
def test_a_shell_is_offered_what_may_follow(line: list[str], offers: list[str]) -> None:
    assert offered(COMMANDS, line) == offers


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_each_shell_has_a_script_that_asks_the_program(overread: Overread, shell: str) -> None:
    assert "overread --complete" in overread("completion", shell).out


def test_another_shell_is_refused(overread: Overread) -> None:
    assert "there is one for bash, zsh, fish" in overread("completion", "csh").complaint
