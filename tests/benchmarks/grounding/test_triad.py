"""CGR, UAR, IS and GSP against a count by hand, their worst cases, and what stands beside them."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.special
from hypothesis import given, settings

from overread.benchmarks.grounding.edition import CORRECTED, Options
from overread.benchmarks.grounding.marks import Study
from overread.benchmarks.grounding.rates import overall
from overread.case import Box, Traits
from overread.stats import wilson
from support.made_up import MadeUp, counts, made_up, measured, premium

EDITIONS = pytest.mark.parametrize("edition", ["corrected", "authors"])
HEADLINE = ("accuracy", "cgr", "uar", "is", "is_all", "gsp", "category", "image_contingent")


# ---------------------------------------------------------------- against the slow count


@pytest.mark.slow
@EDITIONS
@settings(max_examples=25)
@given(made=made_up())
def test_every_proportion_is_what_counting_case_by_case_gives(bench, edition, made):
    found = measured(made.tables(bench), edition)
    for name, (k, n) in counts(made, edition).items():
        assert (found(name, "r0").k, found(name, "r0").n) == (k, n), name
        assert found(name, "r0").value == (k / n if n else None)


@pytest.mark.slow
@EDITIONS
@settings(max_examples=25)
@given(made=made_up(fewest=8))
def test_the_premium_is_what_counting_case_by_case_gives(bench, edition, made):
    record, wanted = measured(made.tables(bench), edition)("gsp", "r0"), premium(made, edition)
    assert record.value == (None if wanted is None else pytest.approx(wanted, abs=1e-12))
    assert record.value is not None or record.note


@EDITIONS
@settings(max_examples=15)
@given(made=made_up())
def test_groups_are_counts_over_their_members(bench, edition, made):
    """A rate by sex, view, age is the rate of a study that holds these cases only."""
    found = measured(made.tables(bench), edition)
    keys = {"sex": "gender", "view": "view"}
    for record in found.measures:
        (key,) = record.by if len(record.by) == 1 else ("",)
        if key not in keys or record.measure not in ("cgr", "uar", "accuracy", "is"):
            continue
        members = {
            name: facts for name, facts in made.facts.items() if facts[keys[key]] == record.by[key]
        }
        own = counts(MadeUp(members, made.answers, {}), edition)
        assert (record.k, record.n) == own[record.measure]


@pytest.mark.slow
@settings(max_examples=60)
@given(made=made_up(readers=2, most=12))
def test_no_interval_of_the_sound_edition_has_zero_width(bench, made):
    """Readers that agree with themselves throughout, one patient, one confidence for all."""
    traits = {"r1": Traits(modality="text")}
    for record in measured(made.tables(bench, traits)).measures:
        assert (record.low is None) == (record.high is None)
        if record.low is not None:
            assert record.low < record.high, record
            assert record.low - 1e-12 <= record.value <= record.high + 1e-12, record
            assert record.method
        if record.p is not None:
            assert 0 < record.p <= 1
        if record.k is not None and record.n == 1:
            assert record.low is None or "bound" in record.by


@pytest.mark.parametrize("patients", [2, 4, 12])
def test_twelve_cases_on_which_nothing_ever_differs(bench, patients):
    cases = [bench.case(f"c{i}", subject_id=f"p{i % patients}") for i in range(12)]
    every = {case.case_id: 1 for case in cases}
    answers = dict.fromkeys(("original", "swap", "target_mask", "irrelevant_mask", "repeat"), every)
    found = measured(bench.tables(cases, {"r": answers}))
    for name in ("accuracy", "cgr", "uar", "is", "retest", "gsp"):
        record = found(name, "r")
        assert record.low < record.high
    # Films of one patient are taken to be alike by half (`stats.spread_of_mean`), and the few
    # patients that say so have a Student's t.
    effect = 1 + 0.5 * (12 / patients - 1)
    added = (1 - 1 / effect) ** 2 / (patients - 1)
    z = scipy.special.stdtrit(1 / added, 0.975) if added else 1.959964
    width = found("cgr", "r").high
    assert width == pytest.approx(z**2 / (z**2 + 12 / effect), abs=1e-3)


# ---------------------------------------------------------------- further conditions


EXTRA = (
    "blank",
    "no_image",
    "opposite_swap",
    "target_blur",
    "irrelevant_blur",
    "matched_1",
    "matched_2",
)


@pytest.mark.slow
@EDITIONS
@settings(max_examples=15)
@given(made=made_up(), more=made_up())
def test_further_conditions_leave_every_other_record_alone(bench, edition, made, more):
    """All records there were before are there afterwards, to the last digit."""
    marks = list(more.answers["r0"]["original"].values()) or [1]
    boxed = [c for c, facts in made.facts.items() if facts["source"] == "ms_cxr"]
    further = {
        image: {c: marks[(at + len(image)) % len(marks)] for at, c in enumerate(boxed)}
        for image in EXTRA
    }
    answers = {"r0": {**made.answers["r0"], **further}}
    before = measured(made.tables(bench), edition)
    after = measured(made._replace(answers=answers).tables(bench), edition)
    for record in before.measures:
        if record.measure != "category":  # matched boxes are a better control, and are used
            assert after(record.measure, record.reader, **record.by) == record
    if boxed:
        assert len(after.measures) > len(before.measures)


@pytest.mark.slow
@EDITIONS
@settings(max_examples=15)
@given(made=made_up(readers=2))
def test_asking_again_leaves_every_other_record_alone(bench, edition, made):
    """Its resamples are the same too: what is asked beside the headline comes after it."""
    once = {
        reader: {image: marks for image, marks in own.items() if image != "repeat"}
        for reader, own in made.answers.items()
    }
    before = measured(made._replace(answers=once).tables(bench), edition)
    after = measured(made.tables(bench), edition)
    for record in before.measures:
        if record.measure not in ("retest", "category"):  # the word may fall, and says why
            assert after(record.measure, record.reader, **record.by) == record


def test_each_further_condition_has_its_own_record(bench):
    cases = [bench.case(f"c{i}") for i in range(6)]
    row = {
        "original": (1, 1, 1, 1, 1, 0),
        "target_mask": (0, 0, 0, 1, 1, 1),
        "irrelevant_mask": (1, 1, 1, 1, 0, 1),
        "target_blur": (0, 1, 1, 1, 1, 1),
        "irrelevant_blur": (1, 1, 1, 0, 0, 1),
        "blank": (0, 0, 1, 1, 1, 0),
        "no_image": (1, 1, 1, 1, 0, 0),
        "opposite_swap": (0, 1, 1, -1, 1, 0),
        "matched_1": (1, 1, 0, 1, 1, 0),
        "matched_2": (1, 0, 0, -2, 1, 0),
    }
    answers = {image: {f"c{i}": m for i, m in enumerate(marks)} for image, marks in row.items()}
    found = measured(bench.tables(cases, {"r": answers}))

    def kn(measure, condition):
        record = found(measure, "r", condition=condition)
        return record.k, record.n

    assert kn("cgr", "target_blur") == (1, 5)
    assert kn("is", "irrelevant_blur") == (3, 5)
    assert kn("uar", "blank") == (3, 5)
    assert kn("uar", "no_image") == (4, 5)
    assert kn("uar", "opposite_swap") == (3, 4)
    # Every draw counts: 4 of 5 and 2 of 4.
    assert kn("is", "matched") == (6, 9)
    assert found("is", "r", condition="matched").note == "2 draws; n counts draws"
    # (flips, shakes): 1 - 2 of 5 under blur. Of the matched boxes' draws each case has its mean:
    # shaken 0, 1/2, 1, 0, 0 of the five, of whom three flip.
    assert found("gsp", "r", condition="blur").value == pytest.approx((1 - 2) / 5)
    drawn = found("gsp", "r", condition="matched")
    assert (drawn.value, drawn.n) == (pytest.approx((3 - 1.5) / 5), 5)
    assert found("parse_rate", "r", condition="matched_2").k == 5  # a refusal is no answer
    assert found("parse_rate", "r", condition="opposite_swap").k == 5


def test_draws_of_one_case_are_not_more_cases(bench):
    """Ten matched boxes of ten patients say less than a hundred patients would."""
    cases = [bench.case(f"c{i}") for i in range(20)]
    every = {case.case_id: 1 for case in cases}
    shaky = {c: int(i % 4 > 0) for i, c in enumerate(every)}
    draws = {f"matched_{k}": shaky for k in range(1, 6)}
    one = measured(bench.tables(cases, {"r": {"original": every, "matched_1": shaky}}))
    five = measured(bench.tables(cases, {"r": {"original": every, **draws}}))
    narrow, wide = (found("is", "r", condition="matched") for found in (one, five))
    assert (narrow.n, wide.n) == (20, 100)
    assert wide.high - wide.low == pytest.approx(narrow.high - narrow.low, rel=0.1)


# ---------------------------------------------------------------- worst cases


@EDITIONS
def test_worst_cases_of_unparsed_and_refused_replies(bench, edition):
    """[D4] A reply without an answer may have been either; what was never answered is not ours."""
    cases = [bench.case(f"c{i}") for i in range(8)]
    every = {f"c{i}": 1 for i in range(8)}
    masked = dict(zip(every, (0, 0, 1, 1, -1, -2, -3), strict=False))  # c7 not asked
    swapped = dict(zip(every, (1, 1, 1, 0, -1, -1, -2, -3), strict=True))
    answers = {
        "original": every,
        "target_mask": masked,
        "irrelevant_mask": {**every, "c0": -1},
        "swap": swapped,
    }
    found = measured(bench.tables(cases, {"r": answers}), edition)
    for measure, low, high in (
        ("cgr", (2, 6), (4, 6)),
        ("uar", (3, 7), (6, 7)),
        ("is", (7, 8), (8, 8)),
        ("is_all", (7, 8), (8, 8)),
        ("accuracy", (8, 8), (8, 8)),
    ):
        for bound, (k, n) in (("low", low), ("high", high)):
            record = found(measure, "r", bound=bound)
            assert (record.k, record.n, record.value) == (k, n, k / n)
            assert record.low is None
        assert low[0] / low[1] <= found(measure, "r").value <= high[0] / high[1]
    assert "counted as misses" in found("cgr", "r", bound="low").note
    assert found("sensitivity", "r") is not None
    assert found.get("sensitivity", "r", bound="low") is None


def test_without_the_condition_there_is_no_worst_case(bench):
    tables = bench.tables([bench.case("c")], {"r": {"original": {"c": 1}}})
    assert measured(tables).get("cgr", "r", bound="low") is None


# ---------------------------------------------------------------- retest, image use


def reader(cases, flips, shakes=0, chance=0):
    """Yes throughout, but for so many flips under each mask and on being asked again.

    The flips of the masks start at the front, those by chance at the back.
    """
    names = [case.case_id for case in cases]
    answers = {
        "original": dict.fromkeys(names, 1),
        "swap": {c: int(i >= 10) for i, c in enumerate(names)},
        "target_mask": {c: int(i >= flips) for i, c in enumerate(names)},
        "irrelevant_mask": {c: int(i < len(names) - shakes) for i, c in enumerate(names)},
    }
    if chance is not None:
        answers["repeat"] = {c: int(i < len(names) - chance) for i, c in enumerate(names)}
    return answers


@pytest.fixture(scope="module")
def hundred(bench):
    return [bench.case(f"c{i:03}") for i in range(120)]


def test_retest_stands_beside_the_triad(bench, hundred):
    found = measured(bench.tables(hundred, {"r": reader(hundred, 30, chance=6)}))
    record = found("retest", "r")
    assert (record.k, record.n) == (114, 120)
    assert record.low < 0.95 < record.high
    assert {"cgr", "uar", "is", "retest"} <= {r.measure for r in found.measures if not r.by}
    assert found("parse_rate", "r", condition="repeat").value == 1


def test_without_a_second_asking_retest_is_null(bench, hundred):
    found = measured(bench.tables(hundred, {"r": reader(hundred, 30, chance=None)}))
    record = found("retest", "r")
    assert (record.value, record.note) == (None, "nothing to count")
    assert found.get("parse_rate", "r", condition="repeat") is None
    assert found("category", "r").label == "uses image"


@pytest.mark.parametrize(
    ("flips", "chance", "word"),
    [
        (30, 0, "uses image"),
        (30, 10, "uses image"),
        (30, 24, "indeterminate"),
        (30, 30, "indeterminate"),
        # Of the same cases 34 flip under the mask only, 24 when asked again only: p = 0.12.
        (34, 24, "indeterminate"),
        (41, 24, "uses image"),
    ],
)
def test_flips_that_chance_makes_too_are_no_use_of_the_image(bench, hundred, flips, chance, word):
    record = measured(bench.tables(hundred, {"r": reader(hundred, flips, 0, chance)}))(
        "category", "r"
    )
    assert record.label == word
    by_chance = "the target mask flips no more answers than asking again does"
    assert (by_chance in (record.note or "")) == (word != "uses image")


def test_four_flips_suffice_for_the_published_rule_but_not_for_ours(bench, hundred):
    """GROUNDING 9: their percentile bound of CGR is above 0 from k = 4, whatever n."""
    tables = bench.tables(hundred, {"r": reader(hundred, 4, 1, None)})
    theirs, ours = measured(tables, "authors", boot="2000"), measured(tables)
    assert theirs("category", "r").label == "uses image"
    assert theirs("cgr", "r").low > 0
    assert ours("gsp", "r").low < 0
    assert ours("category", "r").label == "indeterminate"
    assert "the published rule says uses image" in ours("category", "r").note
    fewer = bench.tables(hundred, {"r": reader(hundred, 3, 0, None)})
    assert measured(fewer, "authors", boot="2000")("category", "r").label == "indeterminate"


def test_where_the_premium_is_above_zero_both_rules_agree_and_say_so_once(bench, hundred):
    tables = bench.tables(hundred, {"r": reader(hundred, 60, 3, None)})
    record = measured(tables)("category", "r")
    assert measured(tables)("gsp", "r").low > 0
    assert (record.label, record.n) == ("uses image", 120)
    assert "published rule" not in (record.note or "")


def test_the_word_at_other_thresholds_of_stability(bench, hundred):
    """120 cases, 30 shaken: IS 75 %. By its interval, 66 to 82 %, two thresholds are open."""
    tables = bench.tables(hundred, {"r": reader(hundred, 80, 30, None)})
    tested = measured(tables)
    assert [
        tested("category", "r", unstable_below=at).label for at in ("0.60", "0.70", "0.90")
    ] == [
        "uses image",
        "indeterminate",
        "unstable",
    ]
    found = measured(tables, category="points")
    words = {
        at: found("category", "r", unstable_below=at).label
        for at in ("0.50", "0.60", "0.70", "0.80", "0.90")
    }
    assert words == {
        "0.50": "uses image",
        "0.60": "uses image",
        "0.70": "uses image",
        "0.80": "unstable",
        "0.90": "unstable",
    }
    assert found("category", "r").label == "indeterminate"


# ---------------------------------------------------------------- swaps that match nothing


def test_unmatched_swaps_are_left_out_of_uar_and_counted_in_its_note(bench):
    """[D22]"""
    matches = ["label"] * 4 + ["any"] * 3 + [None]
    cases = [
        bench.case(f"c{i}", swap_match=match, gender="MF"[i % 2]) for i, match in enumerate(matches)
    ]
    answers = {
        "original": {**{f"c{i}": 1 for i in range(8)}, "c6": 0},
        "swap": dict(zip((f"c{i}" for i in range(8)), (1, 0, 1, -1, 0, 0, 1, 1), strict=True)),
    }
    tables = bench.tables(cases, {"r": answers})
    ours, theirs = measured(tables), measured(tables, "authors")
    assert (ours("uar", "r").k, ours("uar", "r").n) == (3, 4)
    assert (theirs("uar", "r").k, theirs("uar", "r").n) == (3, 6)
    for name in ("uar", "image_contingent"):
        assert "1 unparsed, 2 swapped to an unmatched image" in ours(name, "r").note
    assert "2 swapped to an unmatched image" not in (theirs("uar", "r").note or "")
    assert "1 swapped to an unmatched image" in ours("uar", "r", sex="F").note  # c5; c4 is M
    kept = measured(tables, fallback_swaps="count")
    assert kept("uar", "r").n == 6
    # Changed answers: c1 (matched), and c4, c5, c6 (not).
    assert (ours("swap_consistency", "r").n, theirs("swap_consistency", "r").n) == (1, 4)
    assert ours("uar", "r", bound="high").n == 5


# ---------------------------------------------------------------- controls that control nothing


def test_a_control_on_the_finding_is_left_out_of_is_and_gsp_and_counted(bench):
    """[GROUNDING 2.7]"""
    target = Box(40, 40, 150, 150)
    cases = [
        bench.case(
            f"c{i}", **({"box": target, "irrelevant_box": Box(74, 74, 150, 150)} if i < 2 else {})
        )
        for i in range(6)
    ]
    names = [f"c{i}" for i in range(6)]
    answers = {
        "original": dict.fromkeys(names, 1),
        "target_mask": dict.fromkeys(names, 0),
        "irrelevant_mask": dict(zip(names, (0, 0, 1, 1, 0, -1), strict=True)),
        "irrelevant_mean": dict.fromkeys(names, 1),
        "matched_1": dict.fromkeys(names, 1),
    }
    tables = bench.tables(cases, {"r": answers})
    ours, theirs = measured(tables), measured(tables, "authors")
    assert (ours("is", "r").k, ours("is", "r").n) == (2, 3)
    assert (theirs("is", "r").k, theirs("is", "r").n) == (2, 5)
    covered = "2 whose irrelevant box covers some of the finding"
    for name in ("is", "is_all"):
        assert f"left out: 1 unparsed, {covered}" in ours(name, "r").note
    assert ours("gsp", "r").n == 3
    assert f"1 without an answer under both masks, {covered}" in ours("gsp", "r").note
    assert ours("cgr", "r").n == theirs("cgr", "r").n == 6  # the target mask is sound
    assert ours("is", "r", condition="irrelevant_mean").n == 4
    assert ours("is", "r", condition="matched").n == 6  # drawn off the target
    kept = measured(tables, overlapping_controls="count")
    assert (kept("is", "r").n, kept("gsp", "r").n) == (5, 5)


# ---------------------------------------------------------------- text-only and single readers


def test_a_study_of_one_reader_is_measured_without_comparisons(bench, hundred):
    for edition in ("corrected", "authors"):
        found = measured(bench.tables(hundred, {"r": reader(hundred, 30)}), edition)
        assert not [r for r in found.measures if r.measure.startswith("diff_")]
        assert found("text_gap", "r").note == "no text-only model in this run"


def test_a_reader_without_pictures_is_said_to_be_one(bench, hundred):
    blind = reader(hundred, 0, chance=None)
    tables = bench.tables(
        hundred, {"r": {**blind, "swap": blind["original"]}}, {"r": Traits(modality="text")}
    )
    record = measured(tables, category="points")("category", "r")
    assert (record.label, record.note) == ("ignores image", "the model gets no picture")
    # By construction, though of 120 cases without a change as many as 2.5 % may change.
    tested = measured(tables)("category", "r")
    assert (tested.label, tested.note) == ("ignores image", "the model gets no picture")


def test_who_is_shown_pictures_ignores_them_only_within_the_margin(bench, hundred):
    still = reader(hundred, 0, chance=None)
    tables = bench.tables(hundred, {"r": {**still, "swap": still["original"]}})
    few, wide = measured(tables)("category", "r"), measured(tables, margin="0.03")("category", "r")
    assert (few.label, wide.label) == ("indeterminate", "ignores image")
    assert wide.note.startswith("changed images change at most 0.0247 of its answers")


def test_the_other_key_of_normal_films_is_in_the_note(bench):
    """[D1]"""
    normal = {"source": "mimic_cxr", "finding": "no_finding", "box": None, "irrelevant_box": None}
    cases = [bench.case("a"), *(bench.case(f"n{i}", **normal) for i in range(3))]
    tables = bench.tables(cases, {"r": {"original": {"a": 1, "n0": 1, "n1": 0, "n2": 0}}})
    ours, theirs = measured(tables)("accuracy", "r"), measured(tables, "authors")("accuracy", "r")
    assert (ours.k, theirs.k) == (3, 2)
    assert ours.note.startswith("with key yes for normal films 0.5000")
    assert theirs.note == "with key no for normal films 0.7500"


# ---------------------------------------------------------------- IS as the paper words it


def test_where_stability_is_taken_over_all_answers_everything_of_it_is(bench):
    """[D3] The rate, its spread, further conditions and comparisons follow one definition."""
    cases = [bench.case(f"c{i:02}") for i in range(40)]
    names = [case.case_id for case in cases]
    answers = {
        "original": {c: int(i < 20) for i, c in enumerate(names)},
        "irrelevant_mask": {c: int(i % 4 > 0) for i, c in enumerate(names)},
    }
    answers |= dict.fromkeys(("irrelevant_blur", "matched_1"), answers["irrelevant_mask"])
    tables = bench.tables(cases, {"a": answers, "b": answers})
    found = measured(tables, stability="all")
    both = found("is", "a"), found("is_all", "a")
    assert [(r.k, r.n, r.low, r.sd_boot) for r in both] == [
        (20, 40, both[0].low, both[0].sd_boot)
    ] * 2
    for condition in ("irrelevant_blur", "matched"):
        assert found("is", "a", condition=condition).n == 40
    assert found("diff_is", "a", versus="b", comparison="pairwise").n == 40
    assert measured(tables)("is", "a").n == 20
    assert measured(tables)("is", "a", condition="matched").n == 20


# ---------------------------------------------------------------- do intervals hold the truth?


def test_intervals_of_uar_hold_the_truth_when_patients_repeat(bench):
    """Films of one patient mostly go the same way: 95 % intervals that knew nothing of patients
    would hold the true rate, 0.75, far less often than they say.
    """
    chance = np.random.default_rng(3)
    sizes = chance.integers(1, 7, 50)
    patient = np.repeat(np.arange(50), sizes)
    cases = [bench.case(f"c{i}", subject_id=f"p{who}") for i, who in enumerate(patient)]
    names = [case.case_id for case in cases]
    # A patient's own rate is drawn from a beta distribution with mean 0.75.
    rates = chance.beta(1.5, 0.5, size=(300, 50))[:, patient]
    kept = (chance.random(rates.shape) < rates).astype(int)
    answers = {
        f"r{at}": {
            "original": dict.fromkeys(names, 1),
            "swap": dict(zip(names, row.tolist(), strict=True)),
        }
        for at, row in enumerate(kept)
    }
    tables = bench.tables(cases, answers)
    held = {"patients": 0, "cases": 0}
    run = Study(tables, CORRECTED, Options())
    for marks in run.marks:
        record = overall(run, marks, "uar")
        alone = wilson(record.k, record.n)
        held["patients"] += record.low <= 0.75 <= record.high
        held["cases"] += alone.low <= 0.75 <= alone.high
    assert held["patients"] / 300 >= 0.92
    assert held["cases"] / 300 <= 0.85


def test_a_further_condition_needs_none_of_the_papers_masks(bench):
    cases = [bench.case(f"c{i}") for i in range(4)]
    every = {f"c{i}": 1 for i in range(4)}
    answers = {"original": every, "target_blur": {**every, "c0": 0}, "irrelevant_blur": every}
    found = measured(bench.tables(cases, {"r": answers}))
    assert found("cgr", "r").value is None
    assert (
        found("cgr", "r", condition="target_blur").k,
        found("gsp", "r", condition="blur").n,
    ) == (
        1,
        4,
    )
    assert found("is", "r", condition="irrelevant_blur").k == 4


def test_repeated_patients_widen_the_premium(bench):
    """Twenty films of five patients, whose films flip together."""
    widths = []
    for patients in (20, 5):
        cases = [bench.case(f"c{i}", subject_id=f"p{i % patients}") for i in range(20)]
        every = {case.case_id: 1 for case in cases}
        flipped = {c: int(i % 5 > 1) for i, c in enumerate(every)}
        answers = {"original": every, "target_mask": flipped, "irrelevant_mask": every}
        record = measured(bench.tables(cases, {"r": answers}))("gsp", "r")
        assert record.value == pytest.approx(0.4)
        widths.append(record.high - record.low)
    assert widths[1] > 1.5 * widths[0]


def test_an_unparsed_answer_to_a_case_without_a_key_is_not_correct(bench):
    """The published code has no key for a source it does not know, and -1 is not its answer."""
    cases = [bench.case("a"), bench.case("b", source="elsewhere")]
    answers = {"original": {"a": 1, "b": -1}, "swap": {"a": 1, "b": 0}}
    record = measured(bench.tables(cases, {"r": answers}), "authors")("uar", "r")
    assert (record.k, record.n) == (1, 1)
