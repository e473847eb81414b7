"""Checklists for authors: what a run's record says for each item, and nothing that nobody wrote."""

from __future__ import annotations

import csv
import io
import re
from pathlib import Path
from typing import Any

import msgspec
import pytest

from overread.case import BadInput, Decoding, Measure, Traits
from overread.records import JudgeEntry, Machine, ReaderEntry
from overread.report import Reported, StudyRead
from overread.report.checklists import (
    LEFT,
    SUFFIXES,
    known_checklists,
    named_checklist,
    write_checklist,
)
from overread.report.checklists.facts import FACTS
from overread.report.checklists.filled import said_of
from support.page import HOSTILE, record_of, run_of, seen_in

SERVED = ReaderEntry(
    name="big",
    spec="openai:maker/big@https://models.example.org/v1",
    identity="openai:maker/big@https://models.example.org/v1",
    traits=Traits(system="Think of the patient."),
    asked=10,
    unanswered=1,
    decoding=Decoding(max_tokens=10, temperature=None, seed=3),
    first_reply="2026-03-01 10:00:00 UTC",
    last_reply="2026-03-02 11:00:00 UTC",
    models=("big-2026-02",),
    fingerprints=("fp_1",),
)
PERSON = ReaderEntry(name="anna", spec="human:chest/anna", identity="human")


def a_run(**more: Any) -> Reported:
    given: dict[str, Any] = {
        "record": record_of(
            "phantom-x@1", readers=(SERVED, PERSON), machine=Machine(system="Linux", cores=2)
        ),
        "methods": ("It was carried out.", "They were asked so.", "It was counted so."),
        "asked": ("They were asked so.",),
        "limitations": ("It cannot tell.",),
        "share_right": "accuracy",
        "diagnostic": ("sensitivity",),
        "steady": "retest",
        "measures": (
            Measure(reader="big", measure="accuracy", value=0.5, n=9, k=4, low=0.2, high=0.8),
            Measure(reader="big", measure="accuracy", by={"sex": "F"}, value=1.0, n=4),
            Measure(reader="big", measure="unparsed", by={"condition": "a"}, value=0, n=5, k=1),
            Measure(reader="big", measure="unparsed", by={"condition": "b"}, value=0, n=5, k=2),
            Measure(reader="big", measure="sensitivity", value=None, n=0),
            Measure(reader="big", measure="retest", value=1.0, n=6, low=0.6, high=1.0),
        ),
        "studies": {
            "anna": StudyRead(
                name="chest",
                readers=3,
                sessions=2,
                washout_days=28,
                seed=4,
                person="consultant, chest radiology, 12 years",
            )
        },
    }
    return Reported(**given | more)


def said(name: str, number: str, run: Reported) -> str:
    (item,) = [one for one in named_checklist(name).item if one.number == number]
    return " ".join(f"{', '.join(one.models)}: {one.text}" for one in said_of(item, run))


@pytest.mark.parametrize(
    ("name", "items", "rows"),
    [("mi-clear-llm", 8, 8), ("claim", 44, 44), ("stard-ai", 40, 48)],
)
def test_each_has_as_many_items_as_the_statement_and_in_its_order(name, items, rows) -> None:
    numbers = [one.number for one in named_checklist(name).item]
    whole = [int(re.sub("[a-d]$", "", number)) for number in numbers]
    assert len(numbers) == len(set(numbers)) == rows
    assert list(dict.fromkeys(whole)) == list(range(1, items + 1))
    assert numbers == sorted(numbers, key=lambda one: (int(re.sub(r"\D", "", one)), one))


def test_every_fact_that_fills_an_item_is_there_and_each_is_used() -> None:
    items = [one for name in known_checklists() for one in named_checklist(name).item]
    assert {fact for one in items for fact in one.filled_by} == set(FACTS)
    assert all((one.asks and not one.rest) or one.filled_by for one in items)


def test_a_name_that_is_not_known_is_refused_with_those_that_are() -> None:
    with pytest.raises(BadInput, match='"consort": known are claim, mi-clear-llm, stard-ai'):
        named_checklist("consort")


def test_the_record_says_who_was_asked_when_where_and_how() -> None:
    run = a_run()
    models = said("mi-clear-llm", "1", run)
    assert "it calls itself big-2026-02; fingerprint fp_1." in models
    assert "big: replies given 2026-03-01 10:00:00 UTC to 2026-03-02 11:00:00 UTC." in models
    access = said("mi-clear-llm", "2", run)
    assert "big: by an interface for programs (OpenAI's protocol), at models.example.org." in access
    assert "anna: a person who read in a study." in access
    assert "system message: “Think of the patient.”" in said("mi-clear-llm", "4", run)
    chance = said("mi-clear-llm", "7", run)
    assert "temperature left to the server, at most 10 new tokens, seed 3" in chance
    assert "big: the same answer when asked again: 100.0 [60.0, 100.0] n=6." in chance


def test_of_results_got_elsewhere_only_their_names_are_known() -> None:
    record = record_of("x", "big", "small", imported=True)
    run = Reported(record=record)
    assert said("mi-clear-llm", "1", run).startswith("big, small: named so in the results.")
    assert said("mi-clear-llm", "2", run) == ""


def test_judges_are_named_with_what_they_judged() -> None:
    judge = JudgeEntry(
        name="wise", spec="wise", identity="wise@x", roles=("steps",), asked=9, invalid=2
    )
    run = Reported(record=record_of("x", judges=(judge,)))
    words = "wise: a judge of steps; wise@x; 2 of 9 replies could not be read."
    for name, number in (("mi-clear-llm", "6"), ("claim", "28"), ("stard-ai", "18")):
        assert words in said(name, number, run)


def test_what_was_not_answered_or_not_read_is_counted_over_all_that_was_asked() -> None:
    assert "big: 1 of 10 questions unanswered; unparsed 3 of 10." in said("claim", "12", a_run())


def test_numbers_stand_with_their_interval_and_n_and_people_with_their_study() -> None:
    words = said("stard-ai", "31", a_run())
    assert "big: accuracy 50.0 [20.0, 80.0] n=9." in words
    assert (
        "anna: a person of the study chest (3 readers, 2 sessions, 28 days apart, seed 4)." in words
    )
    assert "anna: consultant, chest radiology, 12 years." in words
    assert "how long these people have read" not in words
    unknown = a_run(studies={"anna": msgspec.structs.replace(a_run().studies["anna"], person="")})
    assert "anna: left to the authors: how long" in said("stard-ai", "31", unknown)
    assert "by sex, with intervals" in said("stard-ai", "23", a_run())


def test_what_the_record_does_not_say_is_left_to_the_authors(tmp_path: Path) -> None:
    bare = Reported(record=record_of("x", readers=(), imported=True))
    page = tmp_path / "list.csv"
    write_checklist(page, named_checklist("claim"), [bare])
    rows = {row["number"]: row["record says"] for row in csv.DictReader(page.open())}
    for number in ("1", "9", "12", "14", "16", "25", "28", "30", "36", "37", "38", "39", "44"):
        assert rows[number] == LEFT == "left to the authors"


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_nothing_is_ticked_scored_or_said_to_be_complete(tmp_path: Path, suffix: str) -> None:
    for name in known_checklists():
        path = tmp_path / f"{name}{suffix}"
        write_checklist(path, named_checklist(name), [a_run()])
        text = path.read_text()
        assert not re.search(r"[✓✔☑☒✗✘]|\[[x ]\]|checkbox", text)
        assert not re.search(r"\b\d+ of (8|40|44|48) items|\bcomplete(ness)?\b", text)
        assert text.lower().count(LEFT) >= 1


def test_the_same_runs_make_the_same_bytes(tmp_path: Path) -> None:
    for place in ("a.html", "b.html"):
        write_checklist(tmp_path / place, named_checklist("claim"), [a_run(), a_run()])
    assert (tmp_path / "a.html").read_bytes() == (tmp_path / "b.html").read_bytes()


@pytest.mark.parametrize("word", HOSTILE)
def test_a_page_is_text_and_asks_for_nothing(tmp_path: Path, word: str) -> None:
    def tags(word: str) -> list[str]:
        path = tmp_path / "list.html"
        run = run_of(word, asked=(word,), methods=(word, "More."))
        write_checklist(path, named_checklist("stard-ai"), [run])
        return [tag for tag, _ in seen_in(path.read_text()).tags]

    assert tags(word) == tags("plain")
    assert not {"script", "a", "img"} & set(tags(word))


def test_in_markdown_and_csv_no_word_breaks_out_of_its_cell(tmp_path: Path) -> None:
    word = "=1+1 | [a](http://x) <b> `c`\n| second"
    run = run_of(word, limitations=(word,))
    made = {}
    for suffix in (".md", ".csv"):
        path = tmp_path / f"list{suffix}"
        write_checklist(path, named_checklist("claim"), [run])
        made[suffix] = path.read_text()
    (line,) = [line for line in made[".md"].splitlines() if line.startswith("| 40 |")]
    assert line == (
        "| 40 | Limitations | =1+1 \\| \\[a\\](http://x) &lt;b&gt; \\`c\\` \\| second |"
    )
    rows = list(csv.reader(io.StringIO(made[".csv"])))
    assert {len(row) for row in rows} == {7}
    assert not any(cell.startswith("=") for row in rows for cell in row)
