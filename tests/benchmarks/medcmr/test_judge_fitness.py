"""What judges are worth: on replies of known truth, against each other, under harmless changes."""

from __future__ import annotations

import itertools

import msgspec
import pytest

from overread.benchmarks.medcmr.answers import read_sections
from overread.benchmarks.medcmr.cases import MedCase, cases_in
from overread.benchmarks.medcmr.controls import open_reply
from overread.benchmarks.medcmr.edition import AUTHORS, CORRECTED
from overread.benchmarks.medcmr.judged_questions import CHECKED, KNOWN, check_truth, questions
from overread.benchmarks.medcmr.measures import agreement_measures
from overread.benchmarks.medcmr.verdict_parser import (
    COMPONENTS,
    GRIDS,
    SCORERS,
    lexical_judge,
    read_verdict,
)
from overread.judging.fitness import (
    NOT_CHECKED,
    UNFIT,
    fitness_in,
    fitness_measures,
    labels_of,
    shift_measures,
)
from overread.judging.question import by_name
from overread.stats import percent_agreement, weighted_kappa
from support.med_tables import found, opened, tables_of, wrote
from support.med_verdicts import scored, verdicts_of

CASE = MedCase(
    case_id="open-1",
    index=1,
    kind="open",
    question="What is it?",
    images=("1.png",),
    answer="lung cancer",
    caption="A round opacity in the left upper lobe.",
)
ASKED = questions(CORRECTED)
N = 20
CASES = {f"open-{n}": msgspec.structs.replace(CASE, case_id=f"open-{n}", index=n) for n in range(N)}
RIGHT, WRONG = (1, 1, 4, 4), (1, 0, 0, 0)


def checks(oracle=RIGHT, letter=WRONG, judge="j", question="score", n=N):
    return [
        scored(judge, f"control:{control}", f"open-{k}", scores, check=True, question=question)
        for control, scores in (("oracle", oracle), ("letter-a", letter))
        for k in range(n)
    ]


def fitness(rows):
    return {one.part: one for one in fitness_in(ASKED, verdicts_of(rows), CASES)}


def labels(rows, judged=(("j", "score"),)):
    own = verdicts_of([scored(j, "r", "open-1", RIGHT, question=q) for j, q in judged])
    return labels_of(ASKED, own, fitness_in(ASKED, verdicts_of(rows), CASES))


# ---------------------------------------------------------------- what is true of controls


def test_vision_and_truth_are_known_and_nothing_else():
    for control, part in itertools.product(CHECKED, COMPONENTS):
        known = check_truth(control, CASE, part)
        assert known is ((control == "oracle") if part in KNOWN else None)
    assert check_truth("format-breaker", CASE, "truth") is None


@pytest.mark.parametrize("part", KNOWN)
def test_three_is_high_one_is_low_and_two_is_neither(part):
    value = dict.fromkeys(COMPONENTS, 0)
    for score in GRIDS[part]:
        told = value | {part: score}
        high, low = (
            {one.part: one.said for one in by_name(ASKED)["score"].deserved(control, CASE, told)}
            for control in ("oracle", "letter-a")
        )
        assert high[part] is (score >= 3)
        assert low[part] is (score > 1)


@pytest.mark.parametrize(
    ("truth", "known"),
    [("A", None), ("blood group A", None), ("A mass", False), ("a vitamin", False), ("(A)", None)],
)
def test_a_truth_that_names_the_letter_is_no_test_of_letter_a(truth, known):
    case = msgspec.structs.replace(CASE, answer=truth)
    assert check_truth("letter-a", case, "truth") is known
    assert check_truth("letter-a", case, "visual") is False


# ---------------------------------------------------------------- fitness and labels


def test_a_judge_that_tells_them_apart_is_fit():
    made = fitness(checks())
    assert set(made) == set(KNOWN)
    for one in made.values():
        assert (one.sensitivity.point, one.specificity.point) == (1, 1)
        assert (one.sensitivity.n, one.specificity.n) == (N, N)
        assert one.label is None


@pytest.mark.parametrize("scores", list(itertools.product([0, 2, 4], repeat=2)))
def test_a_constant_judge_is_unfit(scores):
    said = (1, 1, *scores)
    assert {one.label for one in fitness(checks(said, said)).values()} == {UNFIT}


def test_each_score_has_a_label_of_its_own():
    found_labels = labels(checks(oracle=(1, 1, 0, 4)))
    assert found_labels == {
        ("j", "clarity"): NOT_CHECKED,
        ("j", "coherence"): NOT_CHECKED,
        ("j", "visual"): UNFIT,
        ("j", "score"): UNFIT,
    }


def test_clarity_and_coherence_are_said_to_be_unchecked_even_of_a_fit_judge():
    assert labels(checks()) == {
        ("j", "clarity"): NOT_CHECKED,
        ("j", "coherence"): NOT_CHECKED,
    }


def test_without_checks_or_on_too_few_nothing_is_checked():
    everything = {("j", part): NOT_CHECKED for part in (*COMPONENTS, "score")}
    assert labels([]) == everything
    assert labels(checks(n=9)) == everything
    assert labels(checks(judge="k")) == everything


def test_a_judge_is_worth_its_worst_question():
    both = (("j", "score"), ("j", "score_uncaptioned"))
    assert labels(checks(), both)["j", "truth"] == NOT_CHECKED
    bad = checks(oracle=(1, 1, None, 0), letter=(1, 1, None, 0), question="score_uncaptioned")
    found_labels = labels(checks() + bad, both)
    assert found_labels["j", "truth"] == found_labels["j", "score"] == UNFIT
    assert ("j", "visual") not in found_labels


def test_what_cannot_be_read_counts_against_the_judge():
    made = fitness(checks(oracle=None))
    assert {one.label for one in made.values()} == {UNFIT}
    assert {one.unread for one in made.values()} == {N}


def test_variants_and_other_readers_are_no_checks():
    rows = checks()
    rows += [r | {"about": r["about"][:-1] + ', "variant": "length"}'} for r in checks(WRONG)]
    rows += [scored("j", "control:format-breaker", "open-1", WRONG, check=True)]
    rows += [scored("j", "control:oracle", "open-99", WRONG, check=True)]
    assert {one.sensitivity.point for one in fitness(rows).values()} == {1.0}
    assert {one.sensitivity.n for one in fitness(rows).values()} == {N}


def test_fitness_is_measured_by_judge_question_and_score():
    records = list(
        fitness_measures(fitness_in(ASKED, verdicts_of(checks(letter=(1, 1, 2, 0))), CASES))
    )
    assert len(records) == 4
    one = found(records, "judge_specificity", judge="j", question="score", component="visual")
    assert (one.value, one.k, one.n, one.label) == (0, 0, N, UNFIT)
    other = found(records, "judge_sensitivity", judge="j", question="score", component="truth")
    assert (other.value, other.label, other.reader) == (1, None, "")


def test_the_lexical_judge_is_fit_on_plain_cases():
    told = {"question": CASE.question, "caption": CASE.caption, "truth": CASE.truth}
    for control in CHECKED:
        own = read_sections(open_reply(control, CASE))
        said = SCORERS["score"](told | {"reasoning": own.reasoning, "answer": own.answer})
        read = read_verdict("score", said)
        assert read.how == "lines"
        pairs = list(by_name(ASKED)["score"].deserved(control, CASE, read.value))
        assert pairs
        assert all(one.truth is one.said for one in pairs)
    assert set(lexical_judge().more) == {"score", "score_uncaptioned"}


# ---------------------------------------------------------------- harmless changes


def test_a_score_that_changes_with_what_should_not_matter_is_counted():
    rows = checks(n=2)
    rows += [
        scored("j", "control:oracle", f"open-{k}", (1, 1, 4, 4 - k), check=True, variant="length")
        for k in range(2)
    ]
    records = list(shift_measures(ASKED, verdicts_of(rows), CASES))
    assert len(records) == len(COMPONENTS)
    by = {"judge": "j", "question": "score", "change": "length"}
    truth = found(records, "judge_shift", component="truth", **by)
    assert (truth.value, truth.k, truth.n) == (0.5, 1, 2)
    assert found(records, "judge_shift", component="visual", **by).value == 0
    lost = [*rows, scored("j", "control:letter-a", "open-0", None, check=True, variant="length")]
    again = list(shift_measures(ASKED, verdicts_of(lost), CASES))
    assert found(again, "judge_shift", component="truth", **by).note == (
        "1 without a verdict both times"
    )


# ---------------------------------------------------------------- agreement

MADE = [opened(n, dimension="SOD" if n % 2 else "CR") for n in range(12)]
TABLES = tables_of(MADE, [wrote("r", n) for n in range(12)])
KNOWN_CASES = cases_in(TABLES.cases)
QUICK = {"boot": 200}


def agreed(rows, edition=CORRECTED):
    rules = msgspec.structs.replace(edition, **QUICK)
    return list(agreement_measures(TABLES.cases, verdicts_of(rows), rules, ASKED, KNOWN_CASES))


def two_judges(first, second):
    return [
        scored(judge, "r", f"open-{n}", one)
        for judge, given in (("a", first), ("b", second))
        for n, one in enumerate(given)
    ]


@pytest.mark.parametrize("edition", [AUTHORS, CORRECTED])
def test_agreement_is_the_share_alike_and_kappa_weighs_the_distance(edition):
    mine = [n % 5 for n in range(12)]
    theirs = [(n + (n % 3 == 0)) % 5 for n in range(12)]
    rows = two_judges([(1, 1, x, 4) for x in mine], [(1, 0.5, x, 4) for x in theirs])
    records = agreed(rows, edition)
    same = found(records, "judge_agreement", judges="a / b", component="visual")
    assert same.value == percent_agreement(mine, theirs)
    assert same.n == 12
    assert same.low < same.value < same.high
    kappa = found(records, "judge_kappa", judges="a / b", component="visual")
    assert kappa.value == pytest.approx(weighted_kappa(mine, theirs, levels=range(5)))
    assert kappa.low < kappa.high
    never = found(records, "judge_agreement", judges="a / b", component="coherence")
    assert never.value == 0
    always = found(records, "judge_agreement", judges="a / b", component="truth")
    assert (always.value, always.high) == (1, 1)
    assert always.low < 1
    alone = found(records, "judge_kappa", judges="a / b", component="truth")
    assert (alone.value, alone.note) == (None, "both said one thing only")
    part = found(records, "judge_agreement", judges="a / b", component="visual", dimension="SOD")
    odd = [n for n in range(12) if n % 2]
    assert part.value == percent_agreement([mine[n] for n in odd], [theirs[n] for n in odd])


def test_replies_without_the_image_are_no_part_of_agreement():
    blank = '{"form":"open","image":"blank","order":0}'
    rows = two_judges([RIGHT] * 12, [RIGHT] * 12)
    others = [{**row, "about": blank} for row in two_judges([RIGHT] * 12, [(0, 0, 0, 0)] * 12)]
    assert agreed([*rows, *others]) == agreed(rows)


def test_what_one_of_them_could_not_be_read_on_is_left_out_and_counted():
    rows = two_judges([RIGHT] * 12, [None, *[RIGHT] * 11])
    records = agreed(rows)
    one = found(records, "judge_agreement", judges="a / b", component="truth")
    assert (one.n, one.note) == (11, "1 without a verdict of both")
    records = agreed(two_judges([RIGHT] * 12, [None] * 12))
    one = found(records, "judge_kappa", judges="a / b", component="truth")
    assert one.value is None
    assert "no verdict of both" in one.note


def test_vision_that_was_not_asked_for_is_not_missing():
    rows = [
        scored(judge, "r", f"open-{n}", (1, 1, None if n < 4 else 3, 4), question=question)
        for judge in "ab"
        for n in range(12)
        for question in ["score_uncaptioned" if n < 4 else "score"]
    ]
    one = found(agreed(rows), "judge_agreement", judges="a / b", component="visual")
    assert (one.n, one.note) == (8, None)


def test_one_judge_agrees_with_nobody_and_checks_are_left_out():
    assert agreed([scored("a", "r", "open-1", RIGHT)]) == []
    assert agreed([*two_judges([RIGHT], []), scored("b", "r", "open-1", RIGHT, check=True)]) == []
