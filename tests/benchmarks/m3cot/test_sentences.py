"""Methods and limitations: sentences from rules, options and measures, and nothing made up."""

from __future__ import annotations

import re

import msgspec
import pytest

from overread.benchmarks.m3cot import M3CoT
from overread.benchmarks.m3cot.sentences import QUESTION
from overread.benchmarks.m3cot.trials import INSTRUCTIONS
from overread.case import Measure, Traits
from overread.judging.fitness import NOT_CHECKED, UNFIT
from support.m3_everything import everything_measured
from support.m3_odd_runs import READERS, odd_run


def bench(edition="corrected", dataset="set@1", **words):
    return M3CoT.of_run(dataset, "open", edition, {"boot": "100", **words})


def methods(*args, asked_under=None, **words):
    return " ".join(bench(*args, **words).methods(asked_under))


def limits(records, **kwargs):
    return " ".join(bench(**kwargs).limitations(records))


def whole(sentences):
    return all(re.match(r".+[.”]$", one) and "None" not in one for one in sentences)


def test_it_is_described_in_whole_sentences():
    for edition in ("corrected", "authors"):
        assert whole(bench(edition).methods())
    assert whole(bench().limitations(everything_measured()))


def test_methods_say_what_was_asked_and_how():
    said = methods(px="512", temperature="0.3", max_tokens="77", seed="9")
    assert "512 pixels" in said
    assert "temperature 0.3" in said
    assert "77 tokens" in said
    assert "100 bootstrap resamples" in said
    assert "seed 9" in said
    assert "corrected+boot=100+seed=9" in said
    assert all(words in said for words in INSTRUCTIONS.values())


def test_methods_name_only_what_was_asked():
    assert INSTRUCTIONS["direct"] not in methods(modes="cot")
    assert "all-black" not in methods()
    beyond = methods(images="original,blank,swap", follow="truncated", timing="4", variants="3")
    for words in (
        "all-black",
        "another item of the same task",
        "first half",
        "Up to 4 items",
        "For at most 3 of",
    ):
        assert words in beyond
    assert "known truth" not in methods(checks="0")
    assert "known truth (up to 7 items)" in methods(checks="7")


def test_the_editions_are_told_apart():
    ours, theirs = methods(), methods("authors")
    assert "second time" in theirs
    assert "second time" not in ours
    assert "counts as wrong" in ours
    assert "items that were judged" in theirs


def test_what_readers_were_shown_goes_by_the_edition_they_were_asked_under():
    assert "second time" in methods(asked_under="authors+boot=100")
    taken = methods(asked_under="")
    assert "somebody else's scripts" in taken
    assert "768" not in taken


def test_limitations_come_from_causes_in_the_measures():
    said = limits(everything_measured())
    assert "not asked" not in said
    assert "10 items only" in said
    assert "No judge" not in said
    bare = limits(bench().measure(odd_run(0, judged=False)))
    assert "No judge was asked" in bare
    assert "whether the answer follows" in bare.lower()


@pytest.mark.parametrize("label", [UNFIT, NOT_CHECKED])
def test_what_a_judge_is_worth_is_said(label):
    one = Measure(reader="r", measure="recall", value=0.5, n=9, label=label, by={"judge": "j"})
    said = limits([one])
    assert "Judges of the gold steps" in said
    assert label in said
    assert "single judge" in said
    assert "lexical" not in said
    lexical = msgspec.structs.replace(one, by={"judge": "control:lexical-judge"})
    assert "knows no medicine" in limits([lexical])


def test_no_number_stands_without_its_interval_and_n():
    refused = Measure(reader="r", measure="refused", by={"mode": "cot"}, value=0.25, low=0.2, high=0.3, n=80)  # fmt: skip
    assert "25.0 % (95 % interval 20.0 to 30.0, n = 80)" in limits([refused])
    none = msgspec.structs.replace(refused, value=0.0)
    assert "refused" not in limits([none])


def test_readers_without_pictures_are_named_though_no_other_image_was_asked():
    one = Measure(reader="r", measure="answered", by={"mode": "cot"}, value=1.0, n=200)
    assert "Without any picture" not in limits([one])
    blind = msgspec.structs.replace(one, flags=("no_picture",))
    assert "Without any picture, from the words alone, reasoned r." in limits([blind])


def test_made_up_cases_are_called_so():
    assert "made up" in limits([], dataset="phantom-question-26-0-r1@abc")
    assert "made up" not in limits([])


@pytest.mark.slow
def test_odd_runs_never_raise():
    for seed in range(4):
        for judged in (True, False):
            assert whole(bench().limitations(bench().measure(odd_run(seed, judged=judged))))
    gone = dict.fromkeys(("value", "low", "high", "n", "k", "label", "note"))
    assert whole(
        bench().limitations([msgspec.structs.replace(one, **gone) for one in everything_measured()])
    )


# ---------------------------------------------------------------- Does it reason as a clinician would? The sentence, and the r


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


@pytest.mark.slow
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
