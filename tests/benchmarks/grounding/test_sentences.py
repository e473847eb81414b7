"""Injected report errors, by group and type, under the names people really write them with."""

from __future__ import annotations

import pytest

from overread.case import Traits
from support.made_up import measured

NAME = "rexerr_sensitivity"


@pytest.fixture(scope="module")
def sentences(bench):
    """One sentence per row of (error type, error present, verdict, verdict on the swap)."""

    def make(*rows, traits=None):
        cases = [
            bench.case(
                f"c{i}",
                source="rexerr",
                label=present,
                box=None,
                irrelevant_box=None,
                error_sentence="x",
                error_type=kind,
                error_present=present,
            )
            for i, (kind, present, _, _) in enumerate(rows)
        ]
        answers = {
            "original": {f"c{i}": o for i, (_, _, o, _) in enumerate(rows)},
            "swap": {f"c{i}": s for i, (_, _, _, s) in enumerate(rows) if s is not None},
        }
        return bench.tables([*cases, bench.case("film")], {"r": answers}, traits)

    return make


# An error is found by answering No; a control is right with Yes.
RAW = (
    ("Change location", 1, 0, 1),
    ("Change location", 1, 0, 0),
    ("Change view", 1, 0, 1),
    ("False negation", 1, 0, -1),
    ("False negation", 1, 0, 1),
    ("False negation", 1, 1, 0),  # wrong on the original: not counted
    ("Add typo", 1, 0, 0),
    ("Add repetition", 1, 0, 1),
    ("No error", 0, 1, 1),
    ("No error", 0, 1, 0),
)
SNAKE = tuple(
    ("not_applicable" if kind == "No error" else kind.lower().replace(" ", "_"), *rest)
    for kind, *rest in RAW
)


def kn(record):
    return record.k, record.n


def test_groups_hold_all_their_types_whatever_the_spelling(sentences):
    """[D34]"""
    for rows in (RAW, SNAKE):
        found = measured(sentences(*rows))
        assert kn(found(NAME, "r", error_group="image_dependent")) == (3, 4)
        assert kn(found(NAME, "r", error_group="text_only")) == (1, 2)
        assert kn(found(NAME, "r", error_group="control")) == (1, 2)
        assert kn(found(NAME, "r", error_type="change_location")) == (1, 2)
        assert kn(found(NAME, "r", error_type="false_negation")) == (1, 1)
        assert kn(found(NAME, "r", error_type="change_view")) == (1, 1)
        assert "left out: 1 unparsed" in found(NAME, "r", error_type="false_negation").note
        group = found(NAME, "r", error_group="image_dependent")
        assert group.low < group.value < group.high


def test_the_builders_own_names_give_no_groups_as_published(sentences):
    """[D34] Type names differ between the published builder and the published metrics."""
    found = measured(sentences(*RAW), "authors")
    for group in ("image_dependent", "text_only", "control"):
        record = found(NAME, "r", error_group=group)
        assert (record.value, record.method) == (None, None)
        assert record.note == "no error type has one of the published names"
    assert found(NAME, "r", error_type="Change location").value == pytest.approx(1 / 2)


def test_as_published_a_group_is_the_mean_of_its_types(sentences):
    """Over all correct verdicts, swaps without an answer included; two types are not there."""
    found = measured(sentences(*SNAKE), "authors")
    assert kn(found(NAME, "r", error_type="false_negation")) == (1, 2)
    image = found(NAME, "r", error_group="image_dependent")
    assert image.value == pytest.approx((1 / 2 + 1 / 2) / 2)  # without change_view
    assert image.method == "mean of types"
    assert found(NAME, "r", error_group="text_only").value == 0  # without add_repetition
    assert found(NAME, "r", error_group="control").value == pytest.approx(1 / 2)


def test_a_swap_that_was_never_asked(sentences):
    rows = (("add_typo", 1, 0, None), ("add_typo", 1, 0, 1))
    assert kn(measured(sentences(*rows))(NAME, "r", error_type="add_typo")) == (1, 1)
    assert kn(measured(sentences(*rows), "authors")(NAME, "r", error_type="add_typo")) == (1, 2)


def test_a_type_nobody_got_right(sentences):
    rows = (("add_typo", 1, 1, 1), ("change_location", 1, 0, 1))
    ours, theirs = measured(sentences(*rows)), measured(sentences(*rows), "authors")
    assert ours(NAME, "r", error_type="add_typo").value is None
    assert theirs.get(NAME, "r", error_type="add_typo") is None
    assert theirs(NAME, "r", error_group="text_only").value is None


def test_films_are_not_sentences(sentences, bench):
    found = measured(
        bench.tables([bench.case("a")], {"r": {"original": {"a": 1}, "swap": {"a": 0}}})
    )
    for group in ("image_dependent", "text_only", "control"):
        assert kn(found(NAME, "r", error_group=group)) == (0, 0)


def test_a_reader_without_text_has_no_verdict_on_a_sentence(sentences):
    """[D23]"""
    tables = sentences(*RAW, traits={"r": Traits(modality="vision")})
    assert measured(tables)(NAME, "r", error_group="control").value is None
    assert measured(tables, "authors")(NAME, "r", error_type="No error").n == 2
