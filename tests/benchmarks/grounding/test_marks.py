"""Whose case it is, what its key is, and which groups it falls into."""

from __future__ import annotations

import random

import numpy as np
import pytest

from overread.benchmarks.grounding.cases import ERROR_GROUPS, error_name, group_of
from overread.benchmarks.grounding.edition import AUTHORS, BOOK, CORRECTED, Options
from overread.benchmarks.grounding.marks import Facts, Study, age_names, columns_of_cases, facts_of
from overread.case import Traits
from support.made_up import measured


@pytest.fixture
def facts(bench):
    def read(*cases, rules=CORRECTED) -> Facts:
        made = [bench.case(f"c{i}", **given) for i, given in enumerate(cases)]
        return facts_of(bench.tables(made, {"r": {"original": {}}}).cases, rules)

    return read


@pytest.fixture
def columns(bench):
    def read(*cases, rules=CORRECTED) -> dict[str, list[str]]:
        made = [bench.case(f"c{i}", **given) for i, given in enumerate(cases)]
        found = columns_of_cases(bench.tables(made, {"r": {"original": {}}}).cases, rules)
        return {name: words.tolist() for name, words in found.items()}

    return read


# ---------------------------------------------------------------- groups


@pytest.mark.parametrize(
    ("rules", "names"),
    [(CORRECTED, ("<50", "[50,70)", ">=70")), (AUTHORS, ("<50", "50-70", ">70"))],
)
def test_ages(columns, rules, names):
    """[D20] A film taken at exactly 70 stands in the third bin under both editions."""
    ages = (0.0, 49.99, 50.0, 69.99, 70.0, 199.0, 200.0, -1.0, None)
    found = columns(*({"age": age} for age in ages), rules=rules)["age"]
    young, middle, old = names
    assert age_names(rules) == names
    assert found == [young, young, middle, middle, old, old, "", "", ""]


def test_age_70_in_the_measures(bench):
    cases = [bench.case(f"c{i}", age=age) for i, age in enumerate((69.0, 70.0, 71.0))]
    tables = bench.tables(cases, {"r": {"original": {"c0": 1, "c1": 0, "c2": 1}}})
    assert measured(tables)("accuracy", "r", age=">=70").n == 2
    assert measured(tables)("accuracy", "r", age="[50,70)").n == 1
    masked = {
        "original": {f"c{i}": 1 for i in range(3)},
        "target_mask": {"c0": 1, "c1": 0, "c2": 1},
    }
    theirs = measured(bench.tables(cases, {"r": masked}), "authors")
    assert (theirs("cgr", "r", age=">70").k, theirs("cgr", "r", age=">70").n) == (1, 2)
    assert theirs("cgr", "r", age="50-70").n == 1


def test_what_is_not_known_of_a_case_puts_it_in_no_group(columns):
    given = (
        {"view": "PA", "gender": "M", "age": 20.0},
        {"view": "AP", "gender": "F", "age": None},
        {"view": "LATERAL", "gender": None, "age": 60.0},
        {"view": None, "gender": "O", "age": 80.0, "finding": None},
    )
    found = columns(*given)
    assert found["view"] == ["PA", "AP", "", ""]
    assert found["sex"] == ["M", "F", "", ""]
    assert found["finding"] == ["edema", "edema", "edema", ""]


def test_cases_of_no_group_count_overall_but_in_no_part(bench):
    cases = [bench.case(f"c{i}", gender=sex) for i, sex in enumerate(("M", "F", "F", None))]
    names = [case.case_id for case in cases]
    answers = {"original": dict.fromkeys(names, 1), "target_mask": dict.fromkeys(names, 0)}
    for rules in ("corrected", "authors"):
        found = measured(bench.tables(cases, {"r": answers}), rules)
        assert found("cgr", "r").n == 4
        assert [found("cgr", "r", sex=sex).n for sex in "MF"] == [1, 2]
        assert found.get("cgr", "r", view="PA").n == 0
        assert found("gap_cgr", "r", attribute="sex").n == 3


def test_labels_and_sources(columns):
    found = columns(
        {"label": 1},
        {"label": 0, "source": "chexpert", "box": None},
        {"label": 1, "source": "mimic_cxr", "box": None},
    )
    assert found["label"] == ["1", "0", "1"]
    assert found["source"] == ["ms_cxr", "chexpert", "mimic_cxr"]


# ---------------------------------------------------------------- key, boxes, swaps, patients


def test_the_key(facts):
    """[D1] and GROUNDING 4.3."""
    given = (
        {"label": 1},
        {"label": 0, "source": "mimic_cxr", "box": None},
        {"label": 1, "source": "mimic_cxr", "finding": "no_finding", "box": None},
        {"label": 1, "source": "rexerr", "error_present": 1, "error_sentence": "x", "box": None},
        {"label": 0, "source": "rexerr", "error_present": 0, "error_sentence": "x", "box": None},
        {"label": 1, "source": "elsewhere"},
    )
    assert facts(*given).truth.tolist() == [1, 0, 0, 0, 1, 1]
    assert facts(*given, rules=AUTHORS).truth.tolist() == [1, 0, 1, 0, 1, -1]
    assert facts(*given).boxed.tolist() == [True, False, False, False, False, True]
    assert facts(*given, rules=AUTHORS).boxed.tolist() == [True] + [False] * 5
    assert facts(*given).normal.tolist() == [False, False, True, False, False, False]
    assert facts(*given).sentence.tolist() == [False, False, False, True, True, False]


def test_a_sentence_of_a_normal_film_keeps_its_own_key(facts):
    given = {
        "source": "rexerr",
        "finding": "no_finding",
        "label": 0,
        "error_present": 0,
        "error_sentence": "x",
        "box": None,
    }
    assert facts(given).truth.tolist() == [1]
    assert not facts(given).normal.any()


def test_swaps_that_match_nothing_do_not_count(facts):
    """[D22] A manifest that does not say how it matched is taken at its word."""
    given = ({"swap_match": "label"}, {"swap_match": "any"}, {"swap_match": None})
    assert facts(*given).swap_counts.tolist() == [True, False, True]
    assert facts(*given, rules=AUTHORS).swap_counts.tolist() == [True] * 3
    lax = BOOK.edition("corrected", {"fallback_swaps": "count"})
    assert facts(*given, rules=lax).swap_counts.tolist() == [True] * 3


def test_a_case_without_a_patient_is_a_patient_of_its_own(facts):
    subjects = ("p1", None, "p0", "p1", None, "c1")
    found = facts(*({"subject_id": subject} for subject in subjects)).patients
    assert found[0] == found[3]
    assert np.unique(found).tolist() == [0, 1, 2, 3, 4]


# ---------------------------------------------------------------- injected errors


def test_error_types_have_one_name_each():
    """[D34] The builder's raw names and the published metrics' names are the same types."""
    for text in ("Change location", "change_location", " CHANGE-LOCATION "):
        assert error_name(text) == "change_location"
    assert {name for names in ERROR_GROUPS.values() for name in names} >= {
        "add_repetition",
        "change_view",
    }


def test_which_group_an_error_belongs_to():
    assert group_of("Change view", 1) == "image_dependent"
    assert group_of("Add repetition", 1) == "text_only"
    assert group_of("Add repetition", 0) == "control"
    assert group_of(None, 0) == "control"
    assert group_of("Invented", 1) is None
    assert group_of(None, 1) is None
    assert group_of("Add typo", None) is None


def test_errors_as_groups(columns):
    sentence = {"source": "rexerr", "error_sentence": "x", "box": None}
    found = columns(
        {**sentence, "error_type": "Add typo", "error_present": 1},
        {**sentence, "error_type": "add_typo", "error_present": 1},
        {**sentence, "error_type": "Add typo", "error_present": 0},
        {**sentence, "error_type": "Invented", "error_present": 1},
        {},
    )
    assert found["error_group"] == ["text_only", "text_only", "control", "", ""]
    assert found["error_type"] == ["add_typo", "add_typo", "", "", ""]


# ---------------------------------------------------------------- a study
# Patients resampled once for all measures: the same as resampling them the slow way.


BOOT = 4000


@pytest.fixture(scope="module")
def made(bench):
    """60 cases of 22 patients, who have one to six; two readers, one of them right more often."""
    chance = random.Random(11)
    patients = [f"p{chance.randrange(22)}" for _ in range(60)]
    luck = {patient: chance.random() for patient in patients}
    cases = [bench.case(f"c{i}", subject_id=patient) for i, patient in enumerate(patients)]
    answers = {
        name: {
            image: {
                f"c{i}": int(chance.random() < ease * (0.25 + 0.75 * (luck[patient] > 0.4)))
                for i, patient in enumerate(patients)
            }
            for image in ("original", "swap", "target_mask", "irrelevant_mask")
        }
        for name, ease in (("a", 0.95), ("b", 0.6))
    }
    sure = {f"c{i}": round(chance.random(), 3) for i in range(60)}
    traits = {"b": Traits(modality="text")}
    return bench.tables(cases, answers, traits, sure), answers, patients, sure


def _cases_of(patients):
    cases: dict[str, list[int]] = {}
    for i, patient in enumerate(patients):
        cases.setdefault(patient, []).append(i)
    return cases


def slowly(patients, estimate, times=BOOT):
    """Draw as many patients as there are, with replacement, take all their cases, and estimate."""
    chance = random.Random(0)
    cases = _cases_of(patients)
    names = sorted(cases)
    found = []
    for _ in range(times):
        drawn = [i for name in chance.choices(names, k=len(names)) for i in cases[name]]
        value = estimate(drawn)
        if value is not None:
            found.append(value)
    return np.array(found)


def assert_alike(record, drawn) -> None:
    """The variance by patient is that of drawing patients, but that no design effect is below 1."""
    spread = drawn.std(ddof=1)
    assert 0.9 * spread < record.se < 1.4 * spread
    low, high = np.percentile(drawn, [2.5, 97.5])
    assert 0.9 * (high - low) < record.high - record.low < 1.8 * (high - low)


def test_a_rates_spread(made):
    tables, answers, patients, _ = made
    o, t = (list(answers["a"][image].values()) for image in ("original", "target_mask"))

    def cgr(drawn):
        said_yes = [i for i in drawn if o[i] == 1]
        return sum(t[i] != 1 for i in said_yes) / len(said_yes) if said_yes else None

    record = measured(tables, boot=str(BOOT))("cgr", "a")
    assert_alike(record, slowly(patients, cgr))
    independent = np.sqrt(record.value * (1 - record.value) / record.n)
    assert record.se > 1.05 * independent  # these patients are alike within themselves


def test_the_premiums_spread(made):
    tables, answers, patients, _ = made
    images = ("original", "target_mask", "irrelevant_mask")
    o, t, i = (list(answers["a"][image].values()) for image in images)

    def gsp(drawn):
        yes = [c for c in drawn if o[c] == 1]
        return sum((t[c] != 1) - (i[c] != 1) for c in yes) / len(yes) if yes else None

    record = measured(tables, boot=str(BOOT))("gsp", "a")
    assert record.value == pytest.approx(gsp(range(60)))
    assert_alike(record, slowly(patients, gsp))


def test_a_difference_of_two_readers(made):
    tables, answers, patients, _ = made
    a, b = (list(answers[name]["original"].values()) for name in "ab")
    record = measured(tables, boot=str(BOOT))(
        "diff_accuracy", "a", versus="b", comparison="pairwise"
    )
    drawn = slowly(patients, lambda some: sum(a[i] - b[i] for i in some) / len(some))
    assert_alike(record, drawn)
    sums = np.array([sum(a[i] - b[i] for i in own) for own in _cases_of(patients).values()])
    coins = np.random.default_rng(3).choice((-1, 1), size=(20_000, sums.size))
    far = np.abs(coins @ sums) >= abs(sums.sum())
    assert record.p == pytest.approx(far.mean(), abs=0.01)


def test_a_difference_on_shared_cases_only(made):
    """UAR of both on the cases both got right: the denominators move with the resamples."""
    tables, answers, patients, _ = made
    o, s = (
        {name: list(answers[name][image].values()) for name in "ab"}
        for image in ("original", "swap")
    )

    def diff(drawn):
        both = [i for i in drawn if o["a"][i] == 1 == o["b"][i]]
        return sum((s["a"][i] == 1) - (s["b"][i] == 1) for i in both) / len(both) if both else None

    record = measured(tables, boot=str(BOOT))("diff_uar", "a", versus="b", comparison="pairwise")
    assert record.n == sum(x == 1 == y for x, y in zip(o["a"], o["b"], strict=True))
    assert_alike(record, slowly(patients, diff))


def test_the_gap_to_the_text_only_reader(made):
    tables, answers, patients, _ = made
    a, b = (list(answers[name]["original"].values()) for name in "ab")
    record = measured(tables, boot=str(BOOT))("text_gap", "a")
    drawn = slowly(
        patients, lambda some: (sum(a[i] for i in some) - sum(b[i] for i in some)) / len(some)
    )
    assert_alike(record, drawn)


def test_a_single_patient_has_no_spread_over_resamples(bench):
    cases = [bench.case(f"c{i}", subject_id="p") for i in range(20)]
    answers = {"original": {f"c{i}": int(i % 3 > 0) for i in range(20)}}
    record = measured(bench.tables(cases, {"r": answers}))("accuracy", "r")
    assert (record.sd_boot, record.low) == (None, None)
    assert "one_cluster" in record.flags


def test_text_only_readers_are_the_baselines(made):
    tables, *_ = made
    study = Study(tables, BOOK.edition("corrected"), Options())
    assert [marks.reader for marks in study.text_only] == ["b"]
    assert [marks.reader for marks in study.marks] == ["a", "b"]


def test_a_study_without_readers(bench):
    tables = bench.tables([bench.case("c")], {})
    for rules in ("corrected", "authors"):
        assert measured(tables, rules).measures == []
        assert measured(tables, rules, px="224,512", phrasing="default,brief").measures == []


def test_boxes_of_one_film_without_a_patient_are_of_one_patient(facts):
    """As `compare` has it; the published code takes every case by itself."""
    film = {"subject_id": None, "image_path": "a.png"}
    given = (film, film, {"subject_id": None, "image_path": "b.png"}, {"subject_id": "p"})
    for rules, patients in ((CORRECTED, 3), (AUTHORS, 4)):
        assert np.unique(facts(*given, rules=rules).patients).size == patients


# ---------------------------------------------------------------- coverage of an interval


@pytest.mark.slow
def test_intervals_of_a_difference_hold_the_truth_when_patients_repeat(bench):
    """Two equally good readers; every patient has four cases that go wrong together.

    Of 95 % intervals by patient about 95 % hold the true difference, 0. Were the cases taken for
    independent, with the same resamples, they would be half as wide and hold it in about 70 %.
    """
    chance = np.random.default_rng(5)
    patients, films, times = 40, 4, 120
    cases = [bench.case(f"c{i}", subject_id=f"p{i // films}") for i in range(patients * films)]
    alone = [bench.case(f"c{i}", subject_id=f"c{i}") for i in range(patients * films)]
    held = {"patients": 0, "cases": 0}
    for _ in range(times):
        right = chance.random((2, patients)) < 0.6
        answers = {
            name: {
                "original": {f"c{i}": int(right[row, i // films]) for i in range(patients * films)}
            }
            for row, name in enumerate("ab")
        }
        for unit, given in (("patients", cases), ("cases", alone)):
            record = _difference(bench.tables(given, answers))
            held[unit] += record.low <= 0 <= record.high
    assert held["patients"] / times >= 0.9
    assert held["cases"] / times <= 0.85


def _difference(tables):
    """Only the comparison, without the measures it does not need."""
    from overread.benchmarks.grounding import comparisons

    study = Study(tables, BOOK.edition("corrected", {"boot": "300"}), Options())
    records = [one for one in comparisons.compared(study) if one.measure == "diff_accuracy"]
    (found,) = (record for record in records if record.by["comparison"] == "pairwise")
    return found
