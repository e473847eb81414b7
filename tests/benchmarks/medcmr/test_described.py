"""Methods and limitations: sentences from rules, options and measures, and nothing made up."""

from __future__ import annotations

import re

import msgspec
import pytest

from overread.benchmarks.benchmark import Described
from overread.benchmarks.medcmr import MedCMR
from overread.case import Measure
from overread.judging.fitness import NOT_CHECKED, UNFIT
from support.med_odd_runs import odd_run
from support.medcmr_measures import everything_measured


def bench(edition="corrected", dataset="set@1", **words):
    return MedCMR.of_run(dataset, "open", edition, {"boot": "100", **words})


def methods(*args, asked_under=None, **words):
    return " ".join(bench(*args, **words).methods(asked_under))


def limits(records, **kwargs):
    return " ".join(bench(**kwargs).limitations(records))


def whole(sentences):
    return all(re.match(r".+[.”]$", one) and "None" not in one for one in sentences)


def test_it_is_described_in_whole_sentences():
    assert isinstance(bench(), Described)
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
    blind = msgspec.structs.replace(one, note="3 not in the answers; the reader gets no picture")
    assert "Without any picture, from the words alone, answered r." in limits([blind])


def test_the_published_set_and_made_up_ones_are_called_so():
    whole_set = Measure(reader="r", measure="unanswered_rate", by={"kind": "open"}, value=0.0, n=3_999)  # fmt: skip
    assert "3,999" in limits([whole_set])
    assert "made up" in limits([], dataset="phantom-vignette-42-0-r1@abc")
    assert "made up" not in limits([])


def test_odd_runs_never_raise():
    for seed in range(4):
        for judged in (True, False):
            assert whole(bench().limitations(bench().measure(odd_run(seed, judged=judged))))
    gone = dict.fromkeys(("value", "low", "high", "n", "k", "label", "note"))
    nothing = [msgspec.structs.replace(one, **gone) for one in everything_measured()]
    assert whole(bench().limitations(nothing))
