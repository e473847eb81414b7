"""The print for a board: what is on its two sheets. `tests/browser` counts its pages."""

from __future__ import annotations

import pytest

from overread.report.board import board_html
from support.page import HOSTILE, headline_of, record_of, run_of, seen_in


def test_it_has_the_matrix_the_gate_and_what_may_not_be_concluded() -> None:
    run = run_of(limitations=("It cannot tell.",))
    words = seen_in(board_html([run], title="For the board")).words
    assert words.startswith("Overread: For the board")
    assert "Did it look?" in words
    assert "No policy was given: nothing here is a release decision." in words
    assert "What may I not conclude?" in words
    assert "It cannot tell." in words


def test_what_has_no_room_is_counted() -> None:
    names = [f"m{number}" for number in range(60)]
    run = run_of(
        record=record_of("w", *names),
        headlines=[headline_of(name) for name in names],
        limitations=[f"limit {number} {'x' * 80}" for number in range(90)],
    )
    words = seen_in(board_html([run])).words
    assert "40 more models have no room here" in words
    shown = sum(f"limit {number} " in words for number in range(90))
    assert 0 < shown < 90
    assert f"and {90 - shown} more, on the page of the report" in words


def test_what_holds_of_every_run_is_said_once() -> None:
    runs = [
        run_of(record=record_of("w", benchmark=name), limitations=("Made up.", f"Only {name}."))
        for name in ("grounding", "medcmr")
    ]
    words = seen_in(board_html(runs)).words
    assert words.count("Made up.") == 1
    assert "Only medcmr." in words


@pytest.mark.parametrize("word", HOSTILE)
def test_it_is_text_and_asks_for_nothing(word: str) -> None:
    seen = seen_in(board_html([run_of(word)], title=word))
    assert [tag for tag, _ in seen.tags] == [
        tag for tag, _ in seen_in(board_html([run_of("plain")], title="plain")).tags
    ]
    assert not {"script", "a", "img"} & {tag for tag, _ in seen.tags}
