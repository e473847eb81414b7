"""docs/editions.md and docs/measures.md say of every benchmark what its code has."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from overread.benchmarks.registry import BENCHMARKS, class_of
from overread.benchmarks.rules import Rulebook
from overread.case import Measure
from support.registered import metrics, options_table, rules_table

ROOT = Path(__file__).parents[2]
LOOSE = "–"  # an option that is not set
# Whose section of editions.md names a test in every paragraph.
TABLED = ("heartbeat", "m3cot", "medcmr")


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


def book_of(benchmark: str) -> Rulebook[Any, Any]:
    book = class_of(benchmark).book
    assert book is not None
    return book


# ---------------------------------------------------------------- editions


@pytest.mark.parametrize("benchmark", BENCHMARKS)
def test_the_page_on_editions_names_every_rule(benchmark: str) -> None:
    book = book_of(benchmark)
    differ = [
        rule for rule in book.rules if getattr(book.authors, rule) != getattr(book.corrected, rule)
    ]
    assert differ
    told = section("editions.md", benchmark)
    # In the words that open a paragraph, so that a name in passing does not count.
    opened = " ".join(re.findall(r"^\*\*[^*]+\*\*([^.]*)\.", told, re.MULTILINE))
    assert [rule for rule in differ if f"`{rule}`" not in opened] == []


@pytest.mark.parametrize("benchmark", BENCHMARKS)
def test_the_page_on_editions_names_tests_that_exist(benchmark: str) -> None:
    named = re.findall(r"`(test_\w+)`", section("editions.md", benchmark))
    book = book_of(benchmark)
    assert len(named) >= len(book.departures(book.corrected))
    sources = "".join(path.read_text("utf-8") for path in (ROOT / "tests").rglob("test_*.py"))
    assert [name for name in named if f"def {name}(" not in sources] == []


@pytest.mark.parametrize("benchmark", TABLED)
def test_every_departure_has_its_test(benchmark: str) -> None:
    told = section("editions.md", benchmark)
    paragraphs = [part for part in told.split("\n\n") if part.startswith("**")]
    assert len(paragraphs) >= len(book_of(benchmark).rules)
    assert [part for part in paragraphs if "`test_" not in part] == []


@pytest.mark.parametrize("benchmark", BENCHMARKS)
def test_the_page_on_editions_has_the_tables_of_the_rulebook(benchmark: str) -> None:
    book = book_of(benchmark)
    told = section("editions.md", benchmark)
    for table in (rules_table(book), options_table(book)):
        assert "\n".join(table) in told, "\n".join(["put this into docs/editions.md:", *table])
    standard = book.settings("corrected")[1]
    words = {row[0]: row[1] for row in rows(told, "option") if row[1] != LOOSE}
    assert book.settings("corrected", words)[1] == standard


def test_every_golden_file_of_m3cot_is_said_to_be_reproduced() -> None:
    golden = ROOT / "tests" / "golden" / "m3cot"
    told = {row[0]: row[1] for row in rows(section("editions.md", "m3cot"), "golden file")}
    assert set(told) == {path.name for path in golden.iterdir()}
    tests = [path.read_text("utf-8") for path in (ROOT / "tests").rglob("test_*.py")]
    for name, cell in told.items():
        named = re.findall(r"test_\w+", cell)
        assert named
        for test in named:
            # The test stands in a file that reads the golden one.
            assert any(f"def {test}(" in text and name in text for text in tests), (name, test)


def test_the_page_says_what_measuring_medcmr_again_cannot_undo() -> None:
    book = book_of("medcmr")
    assert book.shows & set(book.rules) == {"reask"}
    assert set(book.options) - book.shows == {"errors", "ranks", "people", "pairs"}
    told = section("editions.md", "medcmr").split("cannot undo\n")[1]
    assert (
        "`reask` and all options are refused but `errors`,\n`ranks`, `people` and `pairs`" in told
    )


def test_the_page_says_what_measuring_again_cannot_undo() -> None:
    book = book_of("m3cot")
    # All options but one and these rules; the page names the latter.
    assert book.shows == {"options", "reask", *book.options} - {"people"}
    told = section("editions.md", "m3cot").split("cannot undo\n")[1]
    assert "`options`, `reask` and all options are\nrefused but `people`" in told


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
    from overread.benchmarks.heartbeat.guessers import BASELINES

    told = section("measures.md", "heartbeat")
    assert [name for name in BASELINES if f"`baseline:{name}`" not in told] == []
    assert "`specialist:NAME`" in told
    assert "`ef_mae_clipped`" in told


def test_the_page_on_measures_names_what_m3cot_measures_beside_its_metrics() -> None:
    from overread.benchmarks.m3cot.measures import VERDICT_MEASURES
    from overread.judging.fitness import LIMIT, NOT_CHECKED, UNFIT
    from support.m3_everything import everything_measured

    told = section("measures.md", "m3cot")
    judged = sorted({one.measure for one in everything_measured() if not one.reader})
    compared = ("accuracy", "precision", "recall", "f1", "consistency")
    differences = [f"diff_{name}" for name in compared]
    names = [
        *judged,
        *differences,
        *VERDICT_MEASURES.values(),
        "verdicts_rescued",
        "seconds",
    ]
    assert [name for name in names if f"`{name}`" not in told] == []
    assert [label for label in (UNFIT, NOT_CHECKED) if f"`{label}`" not in told] == []
    assert f"{LIMIT:.0%}".replace("%", " %") in told


def test_the_page_on_measures_names_every_key_of_m3cot() -> None:
    """The keys of the table are those of a run in which everything was asked and judged."""
    from overread.benchmarks.m3cot.cases import KINDS, STEPS
    from overread.benchmarks.m3cot.edition import FOLLOWS, IMAGES, MODES
    from overread.benchmarks.m3cot.verdicts import QUESTIONS
    from support.m3_everything import everything_measured

    table = rows(section("measures.md", "m3cot"), "`by`")
    by = {name: row[1] for row in table for name in row[0].split("` `")}
    found = {key for record in everything_measured() for key in record.by}
    assert set(by) == found
    known = {"mode": MODES, "image": IMAGES[1:], "follow": FOLLOWS, "step": STEPS}
    known |= {"question": QUESTIONS, "kind": KINDS}
    for key, values in known.items():
        assert [value for value in values if value not in re.findall(r"\w+", by[key])] == []


def told_keys(benchmark: str) -> dict[str, set[str]]:
    """By measure, the keys that the tables of its section name."""
    told: dict[str, set[str]] = {}
    before: set[str] = set()
    for line in section("measures.md", benchmark).splitlines():
        cells = [cell.strip() for cell in line.strip("|").split(" | ")]
        if not line.startswith("| `") or len(cells) != 3:
            continue
        keys = before if cells[2] == "as above" else set(re.findall(r"`(\w+)`", cells[2]))
        before = keys
        told |= dict.fromkeys(re.findall(r"`(\w+)`", cells[0]), keys)
    return told


def keys_of(records: Iterable[Measure]) -> dict[str, set[str]]:
    found: dict[str, set[str]] = {}
    for record in records:
        found.setdefault(record.measure, set()).update(record.by)
    return found


def test_the_page_on_measures_says_by_what_each_is_given() -> None:
    """Every key of every record stands in the row of its measure."""
    from support.m3_everything import everything_measured

    assert told_keys("m3cot") == keys_of(everything_measured())


def test_the_page_on_measures_says_by_what_each_of_medcmr_is_given() -> None:
    from overread.benchmarks.medcmr.edition import CORRECTED
    from support.med_runs import chosen_measures, random_run
    from support.medcmr_measures import LONG, everything_measured

    told = told_keys("medcmr")
    shown = keys_of(everything_measured(LONG[:3]))
    # Whatever an exhibit shows is there, and what is there has a source.
    metrics_too = {metric.name for owner, metric in metrics() if owner == "medcmr"}
    assert set(told) == set(shown) | metrics_too
    counted = keys_of(chosen_measures(random_run(1), CORRECTED))
    assert {"accuracy", "survives", "order_consistency"} <= set(counted)
    for found in (shown, counted):
        assert {name: keys - told[name] for name, keys in found.items() if keys - told[name]} == {}


def test_the_page_on_measures_names_every_key_of_medcmr() -> None:
    from overread.benchmarks.medcmr.cases import ABILITIES, DIMENSIONS
    from overread.benchmarks.medcmr.people_sheets import ERRORS
    from overread.benchmarks.medcmr.verdict_parser import COMPONENTS, QUESTIONS

    table = rows(section("measures.md", "medcmr"), "`by`")
    by = {name: row[1] for row in table for name in row[0].split("` `")}
    assert set(by) == set().union(*told_keys("medcmr").values())
    known = {"dimension": DIMENSIONS, "ability": ABILITIES, "component": COMPONENTS}
    known |= {"question": QUESTIONS, "error": ERRORS}
    for key, values in known.items():
        assert [value for value in values if value not in re.findall(r"\w+", by[key])] == []
