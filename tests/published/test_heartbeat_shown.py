"""What is said of a run beside the heartbeat paper: what it showed, apart from how it counts."""

from __future__ import annotations

import pytest

from overread.published import comparison, remarks_of

ALIKE, DIFFER = "every window has 24 frames", "windows of 29 to 47 frames"
RUN_AGAIN = "overread run heartbeat --edition authors"
COUNT_AGAIN = "`overread measure my-run --edition authors`"


def said(edition: str, window: str, asked: str, wording: str = "clean") -> str:
    signature = f"heartbeat|edition:{edition}|window:{window}|wording:{wording}|boot:9:0"
    return " ".join(remarks_of("heartbeat", "my-run", edition, asked, signature, command="my-run"))


def test_a_run_of_ours_is_told_of_its_windows_its_words_and_both_ways_nearer() -> None:
    text = said("corrected", "24", "corrected")
    assert ALIKE in text
    assert "a clean wording" in text
    assert RUN_AGAIN in text
    assert COUNT_AGAIN in text


def test_counting_as_the_authors_do_changes_no_window() -> None:
    text = said("authors", "24", "corrected", "published:structured")
    assert ALIKE in text
    assert "a clean wording" in text
    assert RUN_AGAIN in text
    assert COUNT_AGAIN not in text


@pytest.mark.parametrize("asked", ["authors", "authors+boot=200"])
def test_a_run_of_the_authors_windows_is_never_said_to_have_ours(asked: str) -> None:
    """Measured under the corrected edition, only the counting is another."""
    text = said("corrected", "29-47", asked)
    assert DIFFER in text
    assert "the published wording" in text
    assert COUNT_AGAIN in text
    assert RUN_AGAIN not in text
    assert "give the answer away" not in text


def test_all_as_the_authors_have_it_leaves_no_advice() -> None:
    text = said("authors", "29-47", "authors", "published:structured")
    assert DIFFER in text
    assert "`" not in text


def test_one_rule_changed_is_seen() -> None:
    assert DIFFER in said("corrected+window=two_thirds", "29-47", "corrected+window=two_thirds")
    assert "published wording" in said(
        "corrected+wording=published", "24", "corrected+boot=9+wording=published"
    )
    assert RUN_AGAIN in said("authors+window=fixed", "24", "authors+window=fixed")


def test_the_authors_windows_may_be_equally_long() -> None:
    text = said("authors", "30", "authors", "published:structured")
    assert "windows of 30 frames" in text
    assert RUN_AGAIN not in text


def test_of_an_import_only_the_windows_are_known() -> None:
    text = said("authors", "29-47", "", "theirs")
    assert DIFFER in text
    assert "the records do not say" in text
    assert "reaches the reader" not in text


def test_two_frames_alone_have_no_window() -> None:
    text = said("corrected", "-", "corrected")
    assert "window" not in text
    assert COUNT_AGAIN in text


def test_how_it_is_counted_says_nothing_of_windows() -> None:
    for edition in ("authors", "corrected"):
        words = comparison("heartbeat").editions[edition]
        assert "window" not in words
        assert "frame" not in words
