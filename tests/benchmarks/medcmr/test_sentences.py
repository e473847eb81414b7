"""Headline, methods and limitations: sentences from rules and measures, and nothing made up."""

from __future__ import annotations

import re

import msgspec
import pytest

from overread.benchmarks.medcmr import MedCMR
from overread.benchmarks.medcmr.sentences import QUESTION
from overread.case import Measure
from overread.judging.fitness import NOT_CHECKED, UNFIT
from support.med_odd_runs import READERS, odd_run
from support.med_tables import chose, mcq, tables_of
from support.medcmr_measures import everything_measured

# ---------------------------------------------------------------- headline
# Can it integrate evidence on hard cases? The sentence, and the rule behind its one word.

BENCH = MedCMR.of_run("set@1", "open", words={"boot": "100"})
CHANCE = Measure(reader="", measure="chance", value=0.2, n=100, method="exact")


def rated(name, low, value, high, *, label=None, n=100, **by):
    return Measure(
        reader="r", measure=name, by=by, value=value, low=low, high=high, n=n, label=label
    )


def right(low, value, high):
    return rated("accuracy", low, value, high)


def without(low, value, high, condition="blank"):
    return rated("diff_accuracy", low, value, high, condition=condition, versus="original")


def told(*measures):
    (headline,) = BENCH.headlines([CHANCE, *measures])
    assert headline.question == QUESTION
    assert headline.measure in measures
    return headline


FALLS = without(-0.5, -0.4, -0.3)
STAYS = without(-0.05, -0.01, 0.03)
MOSTLY = right(0.6, 0.7, 0.8)


@pytest.mark.parametrize(
    ("answer", "accuracy", "picture"),
    [
        ("yes", MOSTLY, FALLS),
        ("in part", MOSTLY, STAYS),
        ("in part", MOSTLY, without(-0.2, -0.1, 0.0)),
        ("in part", right(0.5, 0.6, 0.7), FALLS),
        ("in part", right(0.25, 0.3, 0.35), FALLS),
        ("cannot tell", right(0.2, 0.3, 0.4), FALLS),
        ("cannot tell", right(0.1, 0.2, 0.3), STAYS),
        ("no", right(0.05, 0.1, 0.2), STAYS),
    ],
)
def test_accuracy_chance_and_the_picture_decide(answer, accuracy, picture):
    assert told(accuracy, picture).answer == answer


def test_the_sentence_has_accuracy_chance_invalid_and_what_the_picture_does():
    invalid = rated("invalid_rate", 0.01, 0.04, 0.1)
    left = rated("accuracy", 0.2, 0.3, 0.4, condition="blank")
    said = told(MOSTLY, invalid, FALLS, left).sentence
    for words in (
        "70.0 % (accuracy, 95 % interval 60.0 to 80.0, n = 100)",
        "guessing gets 20.0 %",
        "4.0 % (invalid, 95 % interval 1.0 to 10.0, n = 100)",
        "-40.0 points (difference, 95 % interval -50.0 to -30.0, n = 100)",
        "to 30.0 %",
    ):
        assert words in said


def test_it_is_never_yes_where_the_picture_was_not_asked_about():
    found = told(MOSTLY)
    assert found.answer == "in part"
    assert "was not asked" in found.sentence


def test_a_reader_without_pictures_is_never_yes():
    unseen = Measure(
        reader="r",
        measure="diff_accuracy",
        by={"condition": "blank", "versus": "original"},
        n=0,
        flags=("no_picture",),
    )
    found = told(MOSTLY, unseen)
    assert found.answer == "in part"
    assert "got no picture" in found.sentence
    blind = tables_of(
        [mcq(i) for i in range(40)],
        [chose("r", i, "A", image=image) for i in range(40) for image in ("original", "blank")],
        blind=("r",),
    )
    (made,) = BENCH.headlines(BENCH.measure(blind))
    assert (made.answer, "got no picture" in made.sentence) == ("in part", True)


def test_a_reader_without_pictures_is_known_where_no_other_was_asked():
    items, said = [mcq(i) for i in range(40)], [chose("r", i, "A") for i in range(40)]
    (blind,) = BENCH.headlines(BENCH.measure(tables_of(items, said, blind=("r",))))
    assert (blind.answer, "it got no picture" in blind.sentence) == ("in part", True)
    assert "was not asked" not in blind.sentence
    (seeing,) = BENCH.headlines(BENCH.measure(tables_of(items, said)))
    assert "it got no picture" not in seeing.sentence
    assert "was not asked" in seeing.sentence


def test_the_black_image_decides_before_another_or_none():
    assert told(MOSTLY, without(-0.3, -0.2, -0.1, "text"), STAYS).answer == "in part"
    assert told(MOSTLY, without(-0.3, -0.2, -0.1, "swap")).answer == "yes"
    assert told(MOSTLY, without(-0.3, -0.2, -0.1, "text")).answer == "yes"


def test_too_few_items_and_no_chance_tell_nothing():
    assert told(right(None, 1.0, None), FALLS).answer == "cannot tell"
    (found,) = BENCH.headlines([MOSTLY])
    assert found.answer == "cannot tell"


def test_the_score_of_open_answers_is_told_with_what_its_judges_are_worth():
    score = rated("score", 0.4, 0.5, 0.6, label=UNFIT)
    assert "S = 50.0 %" in told(MOSTLY, FALLS, score).sentence
    assert UNFIT in told(MOSTLY, FALLS, score).sentence
    lexical = rated("score", 0.4, 0.5, 0.6, judge="control:lexical-judge")
    assert "knows no medicine" in told(MOSTLY, FALLS, score, lexical).sentence


def test_the_score_of_the_lexical_judge_counts_for_nothing_where_cases_are_not_made_up():
    high = rated("score", 0.9, 0.95, 1.0)
    lexical = rated("score", 0.9, 0.95, 1.0, judge="control:lexical-judge")
    words = "which counts for nothing outside made-up cases"
    for some in ((MOSTLY, FALLS), (MOSTLY, STAYS), (right(0.1, 0.2, 0.3), FALLS)):
        found = told(*some, high, lexical)
        assert found.answer == told(*some).answer
        assert words in found.sentence
    assert told(high, lexical).answer == "cannot tell"
    made_up = MedCMR.of_run("phantom-vignette-42-0-r1@1", "open", words={"boot": "100"})
    (found,) = made_up.headlines([CHANCE, MOSTLY, FALLS, high, lexical])
    assert words not in found.sentence
    assert "knows no medicine" in found.sentence


def test_open_answers_alone_cannot_tell():
    score = rated("score", 0.8, 0.9, 1.0)
    found = told(score)
    assert (found.answer, found.measure) == ("cannot tell", score)
    assert "no level of chance" in found.sentence
    nobody = Measure(reader="r", measure="score", n=0, note="not judged")
    assert "nobody judged" in told(nobody).sentence


@pytest.mark.slow
def test_every_reader_gets_one_and_no_number_is_undefined():
    for seed in range(4):
        for judged in (True, False):
            made = list(BENCH.headlines(BENCH.measure(odd_run(seed, judged=judged))))
            assert [one.reader for one in made] == list(READERS)
            assert not any("n/a" in one.sentence or "None" in one.sentence for one in made)


def test_undefined_records_never_raise():
    gone = dict.fromkeys(("value", "low", "high", "k", "se", "p", "q", "label", "note"))
    records = list(everything_measured())
    assert list(BENCH.headlines(records))
    nothing = [msgspec.structs.replace(one, n=0, **gone) for one in records]
    assert {one.answer for one in BENCH.headlines(nothing)} == {"cannot tell"}
    assert list(BENCH.headlines([])) == []


# ---------------------------------------------------------------- described
# Methods and limitations: sentences from rules, options and measures, and nothing made up.


def bench(edition="corrected", dataset="set@1", **words):
    return MedCMR.of_run(dataset, "open", edition, {"boot": "100", **words})


def methods(*args, asked_under=None, **words):
    return " ".join(bench(*args, **words).methods(asked_under))


def limits(records, **kwargs):
    return " ".join(bench(**kwargs).limitations(records))


def whole(sentences):
    return all(re.match(r".+[.”]$", one) and "None" not in one for one in sentences)


def test_it_is_described_in_whole_sentences():
    for edition in ("corrected", "authors"):
        assert whole(bench(edition).methods())
    assert whole(bench().limitations(list(everything_measured())))


def test_methods_say_what_was_asked_and_how():
    said = methods(px="512", temperature="0.3", letter_tokens="7", open_tokens="99", seed="9")
    for words in ("512 pixels", "temperature 0.3", "7 tokens for a letter", "99 for an open"):
        assert words in said
    assert "100 bootstrap resamples with seed 9" in said
    assert "corrected+boot=100+seed=9" in said


def test_methods_name_only_what_was_asked():
    choices = methods(kinds="mcq")
    assert "judges" not in choices
    assert "open" not in choices
    assert "multiple-choice" not in methods(kinds="open")
    assert "all-black" not in methods()
    beyond = methods(images="original,blank,swap,text", orders="2", reformulate="5")
    for words in ("all-black", "another item of the dimension", "no image", "2 further orders", "asked as open"):  # fmt: skip
        assert words in beyond
    assert "1 further order at most" in methods(orders="1")
    assert "known truth" not in methods(checks="0")
    assert "known truth (up to 7 items)" in methods(checks="7")
    assert "most probable letter" in methods(letters="logprobs")


def test_the_editions_are_told_apart():
    assert "share an image or a patient taken together" in methods()
    assert "scripts are not public" in methods("authors")
    assert "each item by itself" in methods("authors")


def test_what_readers_were_shown_goes_by_whoever_asked():
    taken = methods(asked_under="")
    assert "somebody else's scripts" in taken
    assert "temperature" not in taken
    assert "seed 4, to see" in methods(images="original,swap", asked_under="corrected+seed=4")


def test_limitations_come_from_causes_in_the_measures():
    bare = limits(bench().measure(odd_run(0, judged=False)))
    assert "No judge was asked" in bare
    assert "depends on the picture was not asked" not in bare
    assert "15 multiple-choice items only" in bare
    plain = Measure(reader="r", measure="accuracy", value=0.5, low=0.4, high=0.6, n=500)
    said = limits([plain])
    assert "depends on the picture was not asked" in said
    assert "one order alone" in said
    assert "caption" not in said
    assert "3,999" not in said


@pytest.mark.parametrize("label", [UNFIT, NOT_CHECKED])
def test_what_a_judge_is_worth_is_said(label):
    one = Measure(reader="r", measure="score", value=0.5, n=9, label=label, by={"judge": "j"})
    said = limits([one])
    assert label in said
    assert "single judge" in said
    assert "lexical" not in said
    lexical = msgspec.structs.replace(one, by={"judge": "control:lexical-judge"})
    assert "knows no medicine" in limits([lexical])


def test_no_number_stands_without_its_interval_and_n():
    invalid = Measure(reader="r", measure="invalid_rate", value=0.25, low=0.2, high=0.3, n=80)
    assert "25.0 % (95 % interval 20.0 to 30.0, n = 80)" in limits([invalid])
    assert "could not be read" not in limits([msgspec.structs.replace(invalid, value=0.0)])


def test_readers_without_pictures_are_named_though_no_other_image_was_asked():
    one = Measure(reader="r", measure="unanswered_rate", by={"kind": "mcq"}, value=0.0, n=200)
    assert "Without any picture" not in limits([one])
    blind = msgspec.structs.replace(one, flags=("no_picture",))
    assert "Without any picture, from the words alone, answered r." in limits([blind])


def test_the_published_set_and_made_up_ones_are_called_so():
    whole_set = Measure(reader="r", measure="unanswered_rate", by={"kind": "open"}, value=0.0, n=3_999)  # fmt: skip
    assert "3,999" in limits([whole_set])
    assert "made up" in limits([], dataset="phantom-vignette-42-0-r1@abc")
    assert "made up" not in limits([])


@pytest.mark.slow
def test_odd_runs_never_raise():
    for seed in range(4):
        for judged in (True, False):
            assert whole(bench().limitations(bench().measure(odd_run(seed, judged=judged))))
    gone = dict.fromkeys(("value", "low", "high", "n", "k", "label", "note"))
    nothing = [msgspec.structs.replace(one, **gone) for one in everything_measured()]
    assert whole(bench().limitations(nothing))
