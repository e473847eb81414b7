"""Templates: ours are whole, a user's own are checked line by line."""

from __future__ import annotations

from pathlib import Path

import pytest

from overread.benchmarks.m3cot.cases import TASKS
from overread.benchmarks.medcmr.cases import DIMENSIONS
from overread.case import BadInput
from overread.curate.templates import load_templates, slots_of

MINE = """
[Mine]
about = "what I test"
answer = "a word"
task = "Diagnosis"
[Mine.questions]
01 = "What is the {finding}?"
"""


def test_ours_have_ten_to_twenty_questions_for_every_dimension_and_task() -> None:
    groups = load_templates()
    assert {group.dimension for group in groups} >= set(DIMENSIONS)
    assert {group.task for group in groups} >= set(TASKS.values())
    names = {group.name for group in groups}
    assert names >= set(DIMENSIONS)
    assert names >= set(TASKS.values())
    for group in groups:
        assert 10 <= len(group.questions) <= 20, group.name
        assert all(text.endswith("?") for text in group.questions.values())


def test_words_in_braces_are_filled_once() -> None:
    (group, *_) = load_templates()
    number = next(n for n, text in group.questions.items() if slots_of(text) == ["place"])
    assert group.filled(number, {"place": "{place} {x}"}) is not None
    assert "{place} {x}" in str(group.filled(number, {"place": "{place} {x}"}))
    assert group.filled(number, {}) is None


def test_a_file_of_ones_own_replaces_ours(tmp_path: Path) -> None:
    file = tmp_path / "mine.toml"
    file.write_text(MINE)
    (group,) = load_templates(file)
    assert group.filled("01", {"finding": "shadow"}) == "What is the shadow?"


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ('answer = "a word"', "", r"\[Mine\]: .*missing required field `answer`.*"),
        ('task = "Diagnosis"', 'task = "Magic"', r'task is "Magic"; it is one of Diagnosis, '),
        ('task = "Diagnosis"', 'tusk = "x"', r"unknown field `tusk`"),
        ("{finding}", "{Find ing}", r"question 01 has braces around \['Find ing'\]"),
        ("{finding}", "{finding", r"question 01 has braces"),
        ("the {finding}?", "{a} {a}?", r"same word in braces twice"),
        ("What is the {finding}?", " ", r"question 01 is one line of 1 to 300"),
        ('01 = "What is the {finding}?"', "", r"it has 0 questions"),
        ("[Mine", "[M/ine", r"not TOML"),
    ],
)
def test_what_is_wrong_in_a_file_is_said_in_a_line(
    tmp_path: Path, old: str, new: str, said: str
) -> None:
    file = tmp_path / "mine.toml"
    file.write_text(MINE.replace(old, new))
    with pytest.raises(BadInput, match=said) as error:
        load_templates(file)
    assert "\n" not in str(error.value)
    assert str(file) in str(error.value)


def test_an_empty_file_has_no_questions(tmp_path: Path) -> None:
    (tmp_path / "empty.toml").write_text("")
    with pytest.raises(BadInput, match="holds no group"):
        load_templates(tmp_path / "empty.toml")
