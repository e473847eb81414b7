"""Readers at the top: a question of each benchmark, answered in a sentence or not asked."""

from __future__ import annotations

import re

import pytest

from overread.benchmarks.registry import BENCHMARKS, questions
from overread.case import Measure
from overread.report.document import reader_cards
from support.page import HOSTILE, headline_of, record_of, run_of, seen_in


def cards_in(page: str) -> list[str]:
    return [seen_in(part).words for part in re.findall("<article.*?</article>", page, re.DOTALL)]


def test_every_reader_has_every_question() -> None:
    runs = [
        run_of(record=record_of("w", "a", "b"), headlines=(headline_of("a", "It looked."),)),
        run_of(record=record_of("w", "b", "c", benchmark="medcmr"), headlines=()),
    ]
    cards = cards_in(reader_cards(runs))
    assert [card.split()[0] for card in cards] == ["a", "b", "c"]
    for card in cards:
        assert all(question in card for question in questions(()).values())
    assert "Did it look? ◐ in part It looked." in cards[0]
    assert cards[0].count("not asked") == len(BENCHMARKS) - 1
    assert cards[1].count("not asked") == len(BENCHMARKS) - 2
    assert cards[1].count("asked, not answered in a sentence") == 2
    assert "Did it look? not asked" in cards[2]


@pytest.mark.parametrize("answer", ["yes", "no", "in part", "cannot tell"])
def test_an_answer_is_a_word_beside_its_sign(answer: str) -> None:
    run = run_of(record=record_of("w", "a"), headlines=(headline_of("a", answer=answer),))
    (card,) = cards_in(reader_cards([run]))
    assert re.search(rf"[✓✕◐?] {answer} It did\.", card)


def test_a_number_has_its_n_and_its_edition() -> None:
    measure = Measure(reader="a", measure="mae", by={"task": "t1"}, value=2.0, n=12)
    run = run_of(
        record=record_of("w", "a", benchmark="heartbeat", edition="authors+px=8"),
        headlines=(headline_of("a", measure=measure),),
    )
    page = reader_cards([run])
    assert "mae, task t1, n=12, edition authors+px=8" in cards_in(page)[0]
    assert 'href="#heartbeat"' in page


def test_two_runs_of_one_benchmark_are_both_answers() -> None:
    runs = [
        run_of(record=record_of("w", "a", edition=edition), headlines=(headline_of("a", edition),))
        for edition in ("corrected", "authors")
    ]
    (card,) = cards_in(reader_cards(runs))
    assert "◐ in part corrected cgr, n=7, edition corrected" in card
    assert "◐ in part authors cgr, n=7, edition authors" in card


def test_another_benchmark_has_a_question_of_its_own() -> None:
    run = run_of(record=record_of("w", "a", benchmark="halves"), headlines=(headline_of("a"),))
    (card,) = cards_in(reader_cards([run]))
    assert "halves ◐ in part It did." in card
    assert card.count("not asked") == len(BENCHMARKS)


@pytest.mark.parametrize("word", HOSTILE)
def test_names_and_sentences_are_text(word: str) -> None:
    def tags(name: str) -> list[str]:
        run = run_of(record=record_of("w", name), headlines=(headline_of(name, name),))
        return [tag for tag, _ in seen_in(reader_cards([run])).tags]

    assert tags(word) == tags("plain")
