"""Methods and limitations: sentences from rules, options and measures, and nothing made up."""

from __future__ import annotations

import re

import msgspec
import pytest

from overread.benchmarks.m3cot import M3CoT
from overread.benchmarks.m3cot.trials import INSTRUCTIONS
from overread.case import Measure
from overread.judging.fitness import NOT_CHECKED, UNFIT
from support.m3_everything import everything_measured
from support.m3_odd_runs import odd_run


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
    assert "8 items only" in said
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


def test_odd_runs_never_raise():
    for seed in range(4):
        for judged in (True, False):
            assert whole(bench().limitations(bench().measure(odd_run(seed, judged=judged))))
    gone = dict.fromkeys(("value", "low", "high", "n", "k", "label", "note"))
    assert whole(
        bench().limitations([msgspec.structs.replace(one, **gone) for one in everything_measured()])
    )
