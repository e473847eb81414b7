"""Did it look at the image? The sentence follows the category, and has its numbers."""

from __future__ import annotations

import re

import msgspec
import pytest

from overread.benchmarks.benchmark import Headlined
from overread.benchmarks.exhibits.cells import percent
from overread.benchmarks.grounding import Grounding
from overread.benchmarks.grounding.edition import AUTHORS, CORRECTED
from overread.benchmarks.grounding.report_sentences import QUESTION, headlines
from overread.case import Measure, Traits

TEXT = Traits(modality="text")
VISION = Traits(modality="vision")


def found(bench, original, swap, target, irrelevant, edition="corrected", traits=None, n=120):
    """The headline of one reader that gives these answers to n cases, each a boxed finding."""
    names = [f"c{i:03d}" for i in range(n)]
    given = {"original": original, "swap": swap, "target_mask": target}
    given["irrelevant_mask"] = irrelevant
    answers = {
        image: {name: mark(i) for i, name in enumerate(names)}
        for image, mark in given.items()
        if mark is not None
    }
    tables = bench.tables(
        [bench.case(name) for name in names], {"r": answers}, traits and {"r": traits}
    )
    made = Grounding.of_run("set@0", "open", edition, {"boot": "100"})
    measures = made.measure(tables)
    (headline,) = made.headlines(measures)
    assert headline.measure in measures
    assert headline.question == QUESTION
    return headline


def always(mark):
    return lambda place: mark


def one_in(k, then, other):
    return lambda place: then if place % k == 0 else other


YES, NO = always(1), always(0)


def test_it_is_a_headlined_benchmark():
    assert isinstance(Grounding.of_run("set@0", "open"), Headlined)


def test_a_reader_whose_answer_hangs_on_the_finding_looked(bench):
    told = found(bench, YES, YES, NO, YES)
    assert told.answer == "yes"
    assert told.measure.measure == "cgr"
    assert "covering the finding changed 100.0 % (CGR, 95 % interval" in told.sentence
    assert "n = 120" in told.sentence
    assert "points (GSP, 95 % interval +" in told.sentence


def test_a_reader_that_nothing_changes_did_not(bench):
    told = found(bench, YES, YES, YES, YES)
    assert told.answer == "no"
    assert told.measure.measure == "uar"
    assert "a like image of another patient left 100.0 % (UAR, 95 % interval" in told.sentence


def test_of_an_unstable_reader_it_cannot_be_told_and_the_reason_is_said(bench):
    told = found(bench, YES, YES, NO, one_in(2, 0, 1))
    assert told.answer == "cannot tell"
    assert told.measure.measure == "is"
    assert "unstable" in told.sentence
    assert "left 50.0 % (IS, 95 % interval" in told.sentence


@pytest.mark.parametrize(
    ("swap", "target", "irrelevant", "said"),
    [
        (one_in(3, 0, 1), YES, YES, "but not with the finding"),
        (YES, one_in(12, 0, 1), one_in(12, 0, 1), "needs a GSP surely above 0"),
        (YES, one_in(2, 0, 1), one_in(5, 0, 1), "needs an IS of at least 90 %"),
    ],
)
def test_what_is_indeterminate_cannot_be_told_and_the_rule_not_met_is_named(
    bench, swap, target, irrelevant, said
):
    told = found(bench, YES, swap, target, irrelevant)
    assert told.answer == "cannot tell"
    assert said in told.sentence
    assert told.measure.value is not None


def test_too_few_cases_cannot_tell_and_say_how_many_are_needed(bench):
    told = found(bench, YES, YES, NO, YES, n=12)
    assert told.answer == "cannot tell"
    assert "CGR on 12, UAR on 12 and IS on 12 of the 100 cases needed" in told.sentence


def test_the_published_rule_tells_from_as_few(bench):
    told = found(bench, YES, YES, NO, YES, edition="authors", n=12)
    assert told.answer == "yes"
    assert "GSP, no interval as the authors' rules give it)" in told.sentence


def test_an_interval_without_width_is_said_to_be_the_authors(bench):
    words = "95 % interval 100.0 to 100.0 as the authors' rules give it, n = 12"
    for traits in (None, TEXT):
        assert words in found(bench, YES, YES, YES, YES, "authors", traits, n=12).sentence
    wide = found(bench, YES, YES, one_in(2, 0, 1), YES, "authors", n=40).sentence
    assert re.search(r"CGR, 95 % interval [\d.]+ to [\d.]+, n = 40", wide)
    assert "authors" not in found(bench, YES, YES, YES, YES).sentence
    assert "authors" not in found(bench, YES, None, None, None, n=1).sentence


@pytest.mark.parametrize("edition", ["corrected", "authors"])
@pytest.mark.parametrize("n", [3, 120])
def test_a_reader_without_images_cannot_have_looked_however_few_the_cases(bench, edition, n):
    told = found(bench, YES, YES, YES, YES, edition=edition, traits=TEXT, n=n)
    assert told.answer == "no"
    assert "no image (text only)" in told.sentence
    assert "(accuracy, 95 % interval" in told.sentence
    assert told.measure.measure == "accuracy"


@pytest.mark.parametrize("edition", ["corrected", "authors"])
@pytest.mark.parametrize("traits", [None, TEXT, VISION])
@pytest.mark.parametrize(
    "marks",
    [
        (always(-1), None, None, None),
        (always(-2), always(-3), always(-1), always(-2)),
        (always(-3), None, always(1), None),
        (YES, None, None, None),
        (NO, YES, NO, NO),
        (None, YES, NO, None),
    ],
)
def test_odd_answers_never_raise(bench, marks, traits, edition):
    told = found(bench, *marks, edition=edition, traits=traits, n=7)
    assert told.answer in ("no", "cannot tell")
    assert told.sentence.endswith(".")
    assert "None" not in told.sentence
    assert "n/a" not in told.sentence


def test_no_category_no_headline():
    lone = Measure(reader="r", measure="accuracy", value=0.5, n=3)
    assert list(headlines([lone], CORRECTED)) == []
    assert list(headlines([], AUTHORS)) == []


def test_every_number_of_the_golden_study_is_that_of_a_record(study):
    made = study("corrected", boot="100")
    measures = made.benchmark.measure(made.tables)
    told = list(made.benchmark.headlines(measures))
    assert [one.reader for one in told] == [r.name for r in made.tables.readers]
    for one in told:
        own = [m for m in measures if m.reader == one.reader and not m.by and m.value is not None]
        values = {(percent(m.value, signed=m.measure == "gsp"), f"n = {m.n}") for m in own}
        numbers = re.findall(r"([+-]?[\d.]+)(?: %| points) \(.*?(n = \d+)\)", one.sentence)
        assert numbers
        assert set(numbers) <= values
        category = next(m for m in own + measures if m.reader == one.reader and m.label)
        if "gets no picture" not in (category.note or ""):
            assert (one.answer == "yes") == (category.label == "uses image")


def test_a_name_in_a_sentence_is_left_as_it_is(bench):
    """Whoever shows it escapes it; here nothing is read as a template."""
    hostile = "<script>{0}%s"
    measures = Grounding.of_run("s@0", "open", words={"boot": "100"}).measure(
        bench.tables([bench.case("c")], {hostile: {"original": {"c": 1}}})
    )
    (told,) = headlines(measures, msgspec.structs.replace(CORRECTED, boot=100))
    assert told.reader == hostile
