"""docs/editions.md and docs/measures.md say of every benchmark what its code has."""

from __future__ import annotations

import re
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from overread.benchmarks.registry import BENCHMARKS, metrics

ROOT = Path(__file__).parents[2]
LOOSE = "–"  # an option that is not set


def page(name: str) -> str:
    return (ROOT / "docs" / name).read_text("utf-8")


def section(name: str, benchmark: str) -> str:
    """What a page says of one benchmark."""
    (found,) = (part for part in page(name).split("\n## ")[1:] if part.startswith(f"{benchmark}\n"))
    return found


def rows(text: str, first: str) -> list[list[str]]:
    """The rows of the table whose header begins with this cell, without their backticks."""
    _, found = text.split(f"\n| {first} |", 1)
    lines = found.split("\n\n")[0].split("\n")[2:]
    return [[cell.strip().strip("`") for cell in line.strip("|").split(" | ")] for line in lines]


def rules_of(benchmark: str) -> Any:
    return import_module(f"overread.benchmarks.{benchmark}.edition")


# ---------------------------------------------------------------- editions


@pytest.mark.parametrize("benchmark", BENCHMARKS)
def test_the_page_on_editions_names_every_rule(benchmark: str) -> None:
    rules = rules_of(benchmark)
    differ = [
        rule
        for rule in rules.RULES
        if getattr(rules.AUTHORS, rule) != getattr(rules.CORRECTED, rule)
    ]
    assert differ
    told = section("editions.md", benchmark)
    # In the words that open a paragraph, so that a name in passing does not count.
    opened = " ".join(re.findall(r"^\*\*[^*]+\*\*([^.]*)\.", told, re.MULTILINE))
    assert [rule for rule in differ if f"`{rule}`" not in opened] == []


@pytest.mark.parametrize("benchmark", BENCHMARKS)
def test_the_page_on_editions_names_tests_that_exist(benchmark: str) -> None:
    named = re.findall(r"`(test_\w+)`", section("editions.md", benchmark))
    assert len(named) >= 15
    sources = "".join(path.read_text("utf-8") for path in (ROOT / "tests").rglob("test_*.py"))
    assert [name for name in named if f"def {name}(" not in sources] == []


def test_every_departure_of_heartbeat_has_its_test() -> None:
    told = section("editions.md", "heartbeat")
    paragraphs = [part for part in told.split("\n\n") if part.startswith("**")]
    assert len(paragraphs) >= len(rules_of("heartbeat").RULES)
    assert [part for part in paragraphs if "`test_" not in part] == []


def test_the_table_of_rules_has_the_values_of_both_editions() -> None:
    rules = rules_of("heartbeat")
    told = {
        row[0].partition("`")[0]: tuple(row[1:])
        for row in rows(section("editions.md", "heartbeat"), "rule")
    }
    assert told == {
        rule: (str(getattr(rules.AUTHORS, rule)), str(getattr(rules.CORRECTED, rule)))
        for rule in rules.RULES
    }


def test_the_table_of_options_has_their_defaults() -> None:
    rules = rules_of("heartbeat")
    told = {row[0]: row[1] for row in rows(section("editions.md", "heartbeat"), "option")}
    assert list(told) == list(rules.Options.__struct_fields__)
    words = {name: default for name, default in told.items() if default != LOOSE}
    assert rules.settings("corrected", words)[1] == rules.Options()
    unset = [name for name, default in told.items() if default == LOOSE]
    assert all(getattr(rules.Options(), name) is None for name in unset)


# ---------------------------------------------------------------- measures


@pytest.mark.parametrize("benchmark", BENCHMARKS)
def test_the_page_on_measures_names_every_one_in_its_section(benchmark: str) -> None:
    told = section("measures.md", benchmark)
    names = [metric.name for owner, metric in metrics() if owner == benchmark]
    assert names
    assert [name for name in names if f"`{name}`" not in told] == []


def test_the_page_on_measures_lists_the_fields_of_a_record() -> None:
    from overread.case import Measure

    assert f"`{', '.join(Measure.__struct_fields__)}`" in page("measures.md")


def test_the_page_on_measures_names_the_guessers() -> None:
    from overread.benchmarks.heartbeat.baselines import BASELINES

    told = section("measures.md", "heartbeat")
    assert [name for name in BASELINES if f"`baseline:{name}`" not in told] == []
    assert "`specialist:NAME`" in told
    assert "`ef_mae_clipped`" in told
