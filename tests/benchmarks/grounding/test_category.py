"""One word per reader, and when it must not be given."""

from __future__ import annotations

import msgspec
import pytest

from overread.benchmarks.grounding.benchmark import Grounding
from overread.benchmarks.grounding.category import Findings, Tests, category, published_rule, sweep
from overread.benchmarks.grounding.conditions import PAPER
from overread.benchmarks.grounding.edition import AUTHORS, BOOK, CORRECTED, Edition
from overread.case import Measure
from overread.stats import paired_difference, wilson

POINTS = BOOK.edition("corrected", {"category": "points"})


def record(name: str, k: int, n: int) -> Measure:
    found = wilson(k, n)
    return Measure(
        reader="r", measure=name, value=found.point, k=k, n=n, low=found.low, high=found.high
    )


def findings(cgr, uar, stable, premium=None, stable_all=None) -> Findings:
    flips, n = cgr
    other = n - round(n * stable[0] / stable[1]) if stable[1] else 0
    table = premium or (0, flips, other, max(n - flips - other, 0))
    gsp = paired_difference(*table)
    return Findings(
        cgr=record("cgr", *cgr),
        uar=record("uar", *uar),
        is_=record("is", *stable),
        is_all=record("is_all", *(stable_all or stable)),
        gsp=Measure(
            reader="r", measure="gsp", value=gsp.point, low=gsp.low, high=gsp.high, n=gsp.n
        ),
    )


def said(given: Findings, rules: Edition, *, sees: bool = True) -> tuple[str | None, str | None]:
    made = category(Measure(reader="r", measure="category"), given, rules, sees=sees)
    return made.label, made.note


@pytest.mark.parametrize(
    ("given", "word"),
    [
        (findings((0, 150), (400, 400), (150, 150)), "ignores image"),
        (findings((60, 150), (300, 400), (147, 150)), "uses image"),
        (findings((60, 150), (300, 400), (104, 150)), "unstable"),
        (findings((60, 150), (300, 400), (105, 150)), "indeterminate"),
        (findings((60, 150), (300, 400), (134, 150)), "indeterminate"),
        (findings((60, 150), (300, 400), (135, 150)), "uses image"),
        (findings((0, 150), (399, 400), (150, 150)), "indeterminate"),
        (findings((0, 150), (400, 400), (149, 150)), "indeterminate"),
        (findings((0, 150), (400, 400), (100, 150)), "unstable"),
        # Fewer than 100 cases under any of the three: no word.
        (findings((0, 99), (400, 400), (150, 150)), "insufficient"),
        (findings((60, 150), (99, 99), (150, 150)), "insufficient"),
        (findings((60, 150), (300, 400), (10, 99)), "insufficient"),
        (findings((0, 0), (300, 400), (150, 150)), "insufficient"),
    ],
)
def test_the_sound_rule(given, word):
    """[D21]"""
    assert said(given, POINTS)[0] == word


def test_one_flip_more_than_none_is_no_use_of_the_image():
    """GROUNDING 10.3: a bound above zero at k = 1 is no evidence; the paired premium must be."""
    few = findings((4, 150), (390, 400), (147, 150))
    word, note = said(few, POINTS)
    assert word == "indeterminate"
    assert "the published rule says uses image" in note
    assert (
        said(few, BOOK.edition("corrected", {"category": "points", "category_needs_gsp": "no"}))[0]
        == "uses image"
    )


def test_the_published_word_needs_about_four_flips():
    lax = BOOK.edition("corrected", {"category": "points", "category_needs_gsp": "no"})
    for flips, published in ((3, "indeterminate"), (4, "uses image")):
        word, note = said(findings((flips, 150), (390, 400), (150, 150)), lax)
        assert word == "uses image"
        assert (note or "").count(f"the published rule says {published}") == (flips == 3)


def test_an_answer_that_follows_something_outside_the_box():
    word, note = said(findings((2, 150), (200, 400), (147, 150)), POINTS)
    assert word == "indeterminate"
    assert "the answer follows something outside the box" in note
    _, quiet = said(findings((0, 150), (400, 400), (149, 150)), POINTS)
    assert "outside the box" not in (quiet or "")


def test_insufficient_says_what_is_missing_and_what_the_paper_would_say():
    word, note = said(findings((40, 60), (300, 400), (60, 60)), POINTS)
    assert word == "insufficient"
    assert note == (
        "CGR stands on 60 cases, IS stands on 60 cases; 100 are needed; "
        "the published rule says uses image"
    )


def test_where_the_definition_of_stability_decides_it_is_said():
    """[D3]"""
    given = findings((60, 150), (300, 400), (147, 150), stable_all=(120, 200))
    assert "with IS over all parsed answers it would be unstable" in said(given, POINTS)[1]


def test_the_authors_have_no_minimum_and_no_insufficient():
    few = findings((2, 3), (3, 5), (3, 3))
    bounds = few.cgr.low
    assert bounds > 0
    assert said(few, AUTHORS)[0] == "uses image"
    none = findings((0, 0), (3, 5), (3, 3))
    assert said(none, AUTHORS)[0] == "indeterminate"
    assert said(few, BOOK.edition("authors", {"minimum_n": "100"})) == (
        "insufficient",
        "CGR stands on 3 cases, UAR stands on 5 cases, IS stands on 3 cases; 100 are needed; "
        "the published rule says uses image",
    )


def test_a_reader_without_pictures_is_said_to_be_one():
    word, note = said(findings((0, 150), (400, 400), (150, 150)), POINTS, sees=False)
    assert (word, note) == ("ignores image", "the model gets no picture")


@pytest.mark.parametrize(
    ("cgr", "low", "uar", "stable", "word"),
    [
        (None, 0.0, 100.0, 100.0, "indeterminate"),
        (10.0, None, 90.0, 95.0, "indeterminate"),
        (10.0, 5.0, None, 95.0, "indeterminate"),
        (10.0, 5.0, 90.0, None, "indeterminate"),
        (0.0, 0.0, 100.0, 69.99, "unstable"),
        (0.0, 0.0, 100.0, 100.0, "ignores image"),
        (10.0, 5.0, 90.0, 90.0, "uses image"),
        (10.0, 5.0, 90.0, 89.99, "indeterminate"),
        (10.0, 0.0, 90.0, 95.0, "indeterminate"),
        (0.0, 0.0, 99.9, 100.0, "indeterminate"),
    ],
)
def test_the_published_rule_on_percentages(cgr, low, uar, stable, word):
    """GROUNDING 9, first match wins."""
    assert published_rule(cgr, low, uar, stable) == word


def test_one_threshold_in_place_of_two():
    """105 of 150 keep their answer: 70 %, which is steady at 50, 60 and 70, unstable above."""
    words = dict(sweep(findings((90, 150), (300, 400), (105, 150)), POINTS))
    assert words == {
        50: "uses image",
        60: "uses image",
        70: "uses image",
        80: "unstable",
        90: "unstable",
    }


@pytest.mark.parametrize(
    ("kept", "word"), [(150, "uses image"), (130, "uses image"), (90, "indeterminate")]
)
def test_what_chance_flips_is_no_use_of_the_image(kept, word):
    """60 of 150 flip under the target mask; asked again, so many of 150 stay the same."""
    given = msgspec.structs.replace(
        findings((60, 150), (300, 400), (147, 150)), retest=record("retest", kept, 150)
    )
    found, note = said(given, POINTS)
    assert found == word
    words = "the target mask flips no more answers than asking again does"
    assert (words in (note or "")) == (word == "indeterminate")
    if word == "indeterminate":
        assert "the published rule says uses image" in note


def test_a_retest_without_an_interval_decides_nothing():
    once = Measure(reader="r", measure="retest", value=0.0, n=1, k=0)
    given = msgspec.structs.replace(findings((60, 150), (300, 400), (147, 150)), retest=once)
    assert said(given, POINTS) == ("uses image", None)


def test_a_premium_of_exactly_zero_at_its_lower_bound_is_not_above_it():
    given = findings((60, 150), (300, 400), (147, 150))
    for low, word in ((0.0, "indeterminate"), (1e-9, "uses image"), (None, "indeterminate")):
        premium = msgspec.structs.replace(given.gsp, low=low)
        assert said(msgspec.structs.replace(given, gsp=premium), POINTS)[0] == word


@pytest.mark.parametrize("without", ["cgr", "uar", "is"])
def test_a_rate_nobody_was_asked_for_is_not_one_of_nothing_changed(without):
    """0 of 0 kept is no reader that ignores the image, under either rule."""
    counts = {"cgr": (0, 150), "uar": (400, 400), "is": (150, 150)} | {without: (0, 0)}
    given = findings(counts["cgr"], counts["uar"], counts["is"], premium=(0, 0, 0, 1))
    word, note = said(given, POINTS)
    assert word == "insufficient"
    assert note.endswith("the published rule says indeterminate")
    lax = BOOK.edition("corrected", {"category": "points", "minimum_n": "0"})
    assert said(given, lax)[0] == "indeterminate"
    assert said(given, AUTHORS)[0] == "indeterminate"


# ---------------------------------------------------------------- the tested rule

SURE = Tests(control="matched", p=0.001, q=0.01, p_again=0.001, changed=0.3)


@pytest.mark.parametrize(
    ("stable", "tests", "word"),
    [
        ((150, 150), SURE, "uses image"),
        ((150, 150), msgspec.structs.replace(SURE, p_again=None), "uses image"),
        ((150, 150), msgspec.structs.replace(SURE, p_again=0.03), "indeterminate"),
        ((150, 150), msgspec.structs.replace(SURE, q=0.026), "indeterminate"),
        ((150, 150), msgspec.structs.replace(SURE, q=None), "indeterminate"),
        ((150, 150), msgspec.structs.replace(SURE, changed=0.0199), "ignores image"),
        ((150, 150), msgspec.structs.replace(SURE, q=0.5, changed=0.02), "indeterminate"),
        # 0.90 of 150 may be less; 0.70 may be more.
        ((135, 150), SURE, "indeterminate"),
        ((144, 150), SURE, "uses image"),
        ((104, 150), SURE, "indeterminate"),
        ((80, 150), SURE, "unstable"),
        ((80, 99), SURE, "insufficient"),
    ],
)
def test_the_tested_rule(stable, tests, word):
    given = msgspec.structs.replace(findings((60, 150), (300, 400), stable), tests=tests)
    made = category(Measure(reader="r", measure="category"), given, CORRECTED)
    assert made.label == word
    assert (made.p, made.q, made.how.of) == (tests.p, tests.q, "matched")


@pytest.mark.parametrize(
    ("tests", "flags"),
    [
        (SURE, ()),
        (msgspec.structs.replace(SURE, control="irrelevant_mask"), ("corner_only",)),
        (msgspec.structs.replace(SURE, p_again=None), ("not_asked_again",)),
    ],
)
def test_a_use_of_the_image_says_what_it_was_not_held_against(tests, flags):
    given = msgspec.structs.replace(findings((60, 150), (300, 400), (150, 150)), tests=tests)
    made = category(Measure(reader="r", measure="category"), given, CORRECTED)
    assert (made.label, made.flags) == ("uses image", flags)
    assert ("a box in a corner alone" in (made.note or "")) == ("corner_only" in flags)
    undecided = msgspec.structs.replace(given, tests=msgspec.structs.replace(tests, q=0.5))
    assert category(Measure(reader="r", measure="category"), undecided, CORRECTED).flags == (
        "rule_differs",
    )


def test_cases_without_a_box_do_not_thin_out_what_a_mask_changes(bench):
    """Six of 200 findings flip under the target mask: 3 %, though but 0.75 % of all 800 cases."""
    boxed, others = [f"b{i:03d}" for i in range(200)], [f"u{i:03d}" for i in range(600)]
    answers = {image: dict.fromkeys([*boxed, *others], 1) for image in ("original", "swap")}
    answers["irrelevant_mask"] = dict.fromkeys(boxed, 1)
    cases = [bench.case(name) for name in boxed] + [bench.case(name, box=None) for name in others]

    def word(flipped):
        answers["target_mask"] = {name: int(i >= flipped) for i, name in enumerate(boxed)}
        made = Grounding.of_run("set@0", "open", "corrected", {"boot": "100"})
        measures = made.measure(bench.tables(cases, {"r": answers}))
        (found,) = (m for m in measures if m.measure == "category" and not m.by)
        return found.label

    assert (word(0), word(6)) == ("ignores image", "uses image")


# ---------------------------------------------------------------- other readers


def test_another_reader_changes_q_and_the_word_that_follows_and_nothing_else(bench):
    """Six cases in 120 flip under the target mask and none elsewhere: p is 1/64, enough alone."""
    names = [f"c{i:03d}" for i in range(120)]
    still = {image: dict.fromkeys(names, 1) for image in PAPER}
    looks = still | {"target_mask": {name: int(i >= 6) for i, name in enumerate(names)}}

    def told(readers):
        tables = bench.tables([bench.case(name) for name in names], readers)
        measures = Grounding.of_run("set@0", "open", "corrected", {"boot": "100"}).measure(tables)
        return [one for one in measures if one.reader == "looks" and "versus" not in one.by]

    alone, beside = told({"looks": looks}), told({"looks": looks, "still": still})
    (one,), (two,) = ([m for m in found if m.measure == "category" and not m.by]
                      for found in (alone, beside))  # fmt: skip
    assert (one.p, one.q, one.label) == (1 / 64, 1 / 64, "uses image")
    assert (two.p, two.q, two.label) == (1 / 64, 2 / 64, "indeterminate")
    own = ("value", "n", "k", "low", "high", "se", "p", "left_out")
    for first, second in zip(alone, beside, strict=True):
        assert first.measure == second.measure
        assert [getattr(first, name) for name in own] == [getattr(second, name) for name in own]
        if first.measure != "category":
            assert (first.label, first.flags) == (second.label, second.flags)
