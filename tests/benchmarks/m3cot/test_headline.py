"""Does it reason as a clinician would? The sentence, and the rule behind its one word."""

from __future__ import annotations

import msgspec
import pytest

from overread.benchmarks.m3cot import M3CoT
from overread.benchmarks.m3cot.headline import QUESTION
from overread.case import Measure, Traits
from overread.judging.fitness import NOT_CHECKED, UNFIT
from support.m3_everything import everything_measured
from support.m3_odd_runs import READERS, odd_run

BENCH = M3CoT.of_run("set@1", "open", words={"boot": "100"})
MADE_UP = M3CoT.of_run("phantom-question-26-0-r1@1", "open", words={"boot": "100"})


def rated(name, low, value, high, *, label=None, reader="r", n=60, **by):
    return Measure(
        reader=reader, measure=name, by=by, value=value, low=low, high=high, n=n, label=label
    )


def measured(
    f1=(0.6, 0.7, 0.8), p=(0.6, 0.7, 0.8), r=(0.6, 0.7, 0.8), a=(0.6, 0.7, 0.8), labels=None
):
    labels = labels or {}
    parts = {"f1": f1, "precision": p, "recall": r}
    found = [rated(name, *ends, label=labels.get(name)) for name, ends in parts.items()]
    if a is not None:
        found.append(rated("accuracy", *a, mode="cot", label=labels.get("accuracy")))
    return found


def told(measures, bench=BENCH):
    (headline,) = bench.headlines(measures)
    assert headline.question == QUESTION
    assert headline.measure in measures
    return headline


def test_yes_needs_steps_and_answers_surely_above_one_half():
    found = told(measured())
    assert found.answer == "yes"
    assert found.measure.measure == "f1"
    for number in ("70.0 % (recall, 95 % interval 60.0 to 80.0, n = 60)", "F1 is 70.0 %"):
        assert number in found.sentence


@pytest.mark.parametrize("name", ["p", "r", "a"])
def test_it_is_in_part_where_one_of_them_is_not_shown(name):
    found = told(measured(**{name: (0.4, 0.55, 0.7)}))
    assert found.answer == "in part"
    assert "it is not shown that it" in found.sentence


def test_right_steps_and_wrong_answers_are_in_part():
    found = told(measured(a=(0.0, 0.05, 0.1)))
    assert found.answer == "in part"
    assert "most of its answers are wrong" in found.sentence


def test_it_is_no_where_all_of_f1_is_at_most_one_half():
    assert told(measured(f1=(0.3, 0.4, 0.5))).answer == "no"


def test_it_cannot_be_told_where_f1_holds_one_half():
    found = told(measured(f1=(0.5, 0.6, 0.7)))
    assert found.answer == "cannot tell"
    assert "holds one half" in found.sentence


@pytest.mark.parametrize(("label", "why"), [(UNFIT, "judge unfit"), (NOT_CHECKED, "not checked")])
@pytest.mark.parametrize("name", ["f1", "precision", "recall"])
def test_a_judge_of_steps_that_cannot_be_trusted_tells_nothing(label, why, name):
    found = told(measured(labels={name: label}))
    assert found.answer == "cannot tell"
    assert why in found.sentence


def test_answers_by_an_unfit_judge_cannot_make_it_a_yes():
    found = told(measured(labels={"accuracy": UNFIT}))
    assert found.answer == "in part"
    assert "counts for little" in found.sentence
    assert told(measured(a=None)).answer == "in part"


def test_one_item_is_too_few():
    found = told(measured(f1=(None, 1.0, None)))
    assert found.answer == "cannot tell"
    assert "Too few" in found.sentence
    assert "None" not in found.sentence


@pytest.mark.parametrize(
    ("flag", "why"),
    [("not_judged", "no judge judged"), ("not_asked", "not asked to reason")],
)
def test_without_verdicts_it_says_why(flag, why):
    found = told([Measure(reader="r", measure="f1", n=0, flags=(flag,))])
    assert found.answer == "cannot tell"
    assert why in found.sentence
    assert "n/a" not in found.sentence


def test_no_step_right_at_all_is_no_and_stands_on_recall():
    nought = [rated(name, 0.0, 0.0, 0.06) for name in ("precision", "recall")]
    f1 = Measure(reader="r", measure="f1", n=60, note="precision and recall are both 0")
    found = told([f1, *nought])
    assert (found.answer, found.measure.measure) == ("no", "recall")


LEXICAL = "control:lexical-judge"


@pytest.mark.parametrize("name", ["precision", "recall"])
@pytest.mark.parametrize("f1", [(0.6, 0.7, 0.8), (0.3, 0.4, 0.5)])
def test_the_lexical_judge_tells_nothing_where_cases_are_not_made_up(name, f1):
    own = rated(name, 0.6, 0.7, 0.8, judge=LEXICAL)
    found = told([*measured(f1=f1), own])
    assert found.answer == "cannot tell"
    assert "a judge of its steps compares words and knows no medicine" in found.sentence
    made_up = told([*measured(f1=f1), own], MADE_UP)
    assert made_up.answer == told(measured(f1=f1)).answer
    assert "knows no medicine: fit for made-up cases alone." in made_up.sentence
    assert "knows no medicine" not in told(measured()).sentence
    # What another reader's judge is has no say.
    other = rated(name, 0.6, 0.7, 0.8, judge=LEXICAL, reader="other")
    assert told([*measured(), other]).answer == "yes"


def test_no_step_right_is_no_proof_by_the_lexical_judge():
    nought = [rated(name, 0.0, 0.0, 0.06) for name in ("precision", "recall")]
    f1 = Measure(reader="r", measure="f1", n=60, note="precision and recall are both 0")
    own = rated("recall", 0.0, 0.0, 0.06, judge=LEXICAL)
    assert told([f1, *nought, own]).answer == "cannot tell"
    assert told([f1, *nought, own], MADE_UP).answer == "no"


def test_answers_by_the_lexical_judge_alone_cannot_make_it_a_yes():
    own = rated("accuracy", 0.6, 0.7, 0.8, judge=LEXICAL, mode="cot")
    found = told([*measured(), own])
    assert found.answer == "in part"
    assert "a judge of its answers compares words" in found.sentence
    assert told([*measured(), own], MADE_UP).answer == "yes"


@pytest.mark.parametrize("bench", [BENCH, MADE_UP])
@pytest.mark.parametrize("f1", [(0.6, 0.7, 0.8), (0.3, 0.4, 0.5), (0.4, 0.5, 0.6)])
def test_a_reader_without_images_is_at_most_in_part_and_it_is_said(bench, f1):
    blind = Measure(reader="r", measure="answered", by={"mode": "cot"}, n=60, flags=("no_picture",))
    seeing, found = told(measured(f1=f1)), told([*measured(f1=f1), blind], bench)
    assert found.answer == ("in part" if seeing.answer == "yes" else seeing.answer)
    assert "it got no image (text only)" in found.sentence
    assert "no image" not in seeing.sentence


def test_who_gets_no_image_is_known_from_the_run_without_another_image_asked():
    tables = odd_run(0)
    readers = [
        msgspec.structs.replace(one, traits=Traits(modality="text")) for one in tables.readers
    ]
    for judged in (True, False):
        tables = msgspec.structs.replace(odd_run(0, judged=judged), readers=readers)
        records = [one for one in BENCH.measure(tables) if one.measure != "image_effect"]
        made = list(BENCH.headlines(records))
        assert made
        assert all("it got no image" in one.sentence for one in made)


def test_every_reader_gets_one_and_no_number_is_undefined():
    records = everything_measured()
    found = list(BENCH.headlines(records))
    assert [one.reader for one in found] == ["one", "two"]
    for seed in range(4):
        for judged in (True, False):
            tables = odd_run(seed, judged=judged)
            made = list(BENCH.headlines(BENCH.measure(tables)))
            assert [one.reader for one in made] == list(READERS)
            assert not any("n/a" in one.sentence or "None" in one.sentence for one in made)


def test_undefined_records_never_raise():
    gone = dict.fromkeys(("value", "low", "high", "k", "se", "p", "q", "label", "note"))
    nothing = [msgspec.structs.replace(one, n=0, **gone) for one in everything_measured()]
    assert {one.answer for one in BENCH.headlines(nothing)} == {"cannot tell"}
    assert list(BENCH.headlines([])) == []
