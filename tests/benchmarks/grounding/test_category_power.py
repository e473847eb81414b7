"""How many cases a word of the category needs, held against the rule itself."""

from __future__ import annotations

from itertools import product

import msgspec
import numpy as np
import pytest
from bench.category import Setting, share_of_words

from overread.benchmarks.grounding.category_power import (
    Behaviour,
    cases_for_word,
    chance_of_ignoring,
    chance_of_use,
    declared,
    piloted_by,
    reachable_words,
    smallest_use,
)
from overread.benchmarks.grounding.edition import BOOK
from overread.benchmarks.grounding.marks import Study
from overread.case import Box

TIMES = 700  # leaves 3 points open


@pytest.mark.slow
@pytest.mark.parametrize(
    ("word", "uses", "flips", "each", "power"),
    [
        ("uses", 0.10, 0.02, 1, 0.8),
        ("uses", 0.10, 0.02, 1, 0.9),
        ("uses", 0.05, 0.0, 1, 0.8),
        ("uses", 0.03, 0.02, 1, 0.8),
        ("uses", 0.10, 0.02, 2, 0.8),
        ("uses", 0.10, 0.02, 5, 0.8),
        ("ignores", 0.005, 0.0, 1, 0.8),
        ("ignores", 0.0, 0.002, 1, 0.9),
        ("ignores", 0.0, 0.002, 5, 0.8),
    ],
)
def test_the_simulated_power_at_that_size_is_the_one_asked_for(word, uses, flips, each, power):
    effect = 1 + 0.5 * (each - 1)
    n = cases_for_word(word, declared(uses, flips), power=power, effect=effect)
    share = share_of_words(Setting(-(-n // each) * each, uses, flips, each=each), TIMES)
    found = share.uses if word == "uses" else share.ignores
    # Counts saw, so that more than was asked for is reached at some sizes.
    assert power - 0.06 <= found <= power + 0.09


@pytest.mark.slow
def test_several_readers_need_what_holm_asks_of_the_first():
    n = cases_for_word("uses", declared(0.1, 0.0), readers=10, power=0.8)
    others = Setting(n, 0.1, 0.0, readers=1)
    assert cases_for_word("uses", declared(0.1, 0.0)) < n
    assert share_of_words(others, TIMES).uses >= 0.8


def test_the_chance_of_use_is_that_of_every_table_counted():
    """Few cases, each flipped or not by target, control and corner: all outcomes listed."""
    n, reader = 40, Behaviour(0.35, (0.1, 0.05), None, 0.0, 0.0)
    total = 0.0
    from scipy.stats import binom

    for t in range(n + 1):
        for both, alone in product(range(t + 1), range(min(n - t, 25) + 1)):
            wins, losses = t - both, alone
            if wins + losses and binom.sf(wins - 1, wins + losses, 0.5) <= 0.025:
                total += (
                    binom.pmf(t, n, 0.35) * binom.pmf(both, t, 0.1) * binom.pmf(alone, n - t, 0.05)
                )
    assert chance_of_use(n, reader) == pytest.approx(total, abs=1e-5)


def test_more_use_cases_and_fewer_flips_give_more_chance():
    chances = [chance_of_use(n, declared(0.1, 0.02)) for n in (100, 200, 400, 800)]
    assert chances == sorted(chances)
    assert chance_of_use(200, declared(0.2, 0.02)) > chance_of_use(200, declared(0.1, 0.02))
    assert chance_of_use(200, declared(0.1, 0.0)) > chance_of_use(200, declared(0.1, 0.02))
    assert chance_of_use(200, declared(0.1, 0.02), readers=5) < chances[1]
    assert chance_of_use(200, declared(0.1, 0.02, again=False)) > chances[1]


def test_a_reader_that_nothing_changes_needs_149_cases():
    assert [chance_of_ignoring(n, declared(0.0, 0.0)) for n in (148, 149)] == [0, 1]
    assert cases_for_word("ignores", declared(0.0, 0.0)) == 149
    assert cases_for_word("ignores", declared(0.0, 0.0), margin=0.05) == 100  # no word below
    assert cases_for_word("ignores", declared(0.0, 0.0), effect=2.0) == 298


@pytest.mark.parametrize(
    ("word", "uses", "flips"),
    [("ignores", 0.02, 0.0), ("ignores", 0.0, 0.01), ("uses", 0.01, 0.0), ("uses", 0.3, 0.1)],
)
def test_what_no_number_of_cases_shows(word, uses, flips):
    assert cases_for_word(word, declared(uses, flips)) is None


def test_the_smallest_use_is_the_one_those_cases_show():
    for n, flips in ((110, 0.0), (400, 0.02)):
        use = smallest_use(n, flips)
        assert chance_of_use(n, declared(use, flips)) >= 0.8
        assert chance_of_use(n, declared(0.95 * use, flips)) < 0.8
    assert smallest_use(400, 0.02, effect=2.0) > smallest_use(400, 0.02)


# ---------------------------------------------------------------- a pilot, a set


def test_a_pilots_reader_has_its_own_rates_and_patients(bench):
    names = [f"c{i:03d}" for i in range(40)]
    answers = {image: dict.fromkeys(names, 1) for image in ("original", "swap", "irrelevant_mask")}
    answers["target_mask"] = {name: int(i >= 10) for i, name in enumerate(names)}
    answers["matched_1"] = {name: int(i not in (0, 20)) for i, name in enumerate(names)}
    answers["original"]["c039"] = 0  # wrong, so that it does not count
    cases = [bench.case(name, subject_id=f"p{i // 2}") for i, name in enumerate(names)]
    rules, options = BOOK.settings("corrected", {})
    study = Study(bench.tables(cases, {"r": answers}), rules, options)
    found = piloted_by("uses", study.of("r"))
    assert found.behaviour == Behaviour(10 / 39, (0.1, 1 / 29), None, 0.0, 0.0)
    assert (found.cases, found.patients, found.counted) == (39, 20, 39 / 40)
    assert found.effect > 1
    whole = piloted_by("ignores", study.of("r"))
    # The wrong one changes with every image.
    assert whole.behaviour.changed == 11 / 40
    assert whole.cases == 40


def test_what_a_set_of_cases_can_show(bench):
    rules, options = BOOK.settings("corrected", {})
    matched = (Box(1, 1, 50, 50),)
    cases = [bench.case(f"c{i}", matched_boxes=matched) for i in range(200)]

    def said(some, options=options, effect=1.0):
        return " ".join(reachable_words(some, rules, options, lambda _: effect))

    whole = said(cases)
    assert f"uses {100 * smallest_use(200, 0.0):.2g} % of the images" in whole
    assert "is shown to be `ignores image`" in whole
    assert "asked of 200 of the 200 with a box (1 each; --set conditions=-matched" in whole
    without = [msgspec.structs.replace(case, matched_boxes=()) for case in cases]
    assert "only one in a corner" in said(without)
    assert "only one in a corner" in said(
        cases, BOOK.settings("corrected", {"conditions": "-matched"})[1]
    )
    assert "`ignores image` is out of reach: it needs 149 independent boxed cases" in said(
        cases, effect=2.0
    )
    assert said(cases[:99]) == (
        "Every model's category will be `insufficient`: 99 boxed findings, 100 are needed."
    )
    assert np.isfinite(smallest_use(200, 0.0))
