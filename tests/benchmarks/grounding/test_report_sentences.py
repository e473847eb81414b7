"""Did it look at the image? The sentence follows the category, and has its numbers."""

from __future__ import annotations

import re

import msgspec
import pytest

from overread.benchmarks.exhibits.cells import percent
from overread.benchmarks.grounding import Grounding
from overread.benchmarks.grounding.benchmark import MISPLACED
from overread.benchmarks.grounding.edition import AUTHORS, BOOK, CORRECTED
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


def test_a_reader_whose_answer_hangs_on_the_finding_looked(bench):
    told = found(bench, YES, YES, NO, YES)
    assert told.answer == "yes"
    assert told.measure.measure == "cgr"
    assert "covering the finding changed 100.0 % (CGR, 95 % interval" in told.sentence
    assert "n = 120" in told.sentence
    assert "points (GSP, 95 % interval +" in told.sentence


def test_a_reader_that_nothing_changes_did_not(bench):
    told = found(bench, YES, YES, YES, YES, n=150)
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
        (YES, one_in(2, 0, 1), one_in(5, 0, 1), "needs an IS surely of at least 90 %"),
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


@pytest.mark.slow
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


# ---------------------------------------------------------------- methods and limitations
# Methods and limitations: whole sentences, from the rules, the options and the measures.


def methods(edition="corrected", asked=None, **words):
    return " ".join(Grounding.of_run("set@0", "open", edition, words).methods(asked))


@pytest.mark.parametrize("edition", ["corrected", "authors"])
@pytest.mark.parametrize(
    "words", [{}, {"conditions": "all", "px": "224,512", "phrasing": "brief,default"}]
)
def test_every_method_is_a_whole_sentence(edition, words):
    for sentence in Grounding.of_run("set@0", "open", edition, words).methods():
        assert sentence[0].isupper()
        assert sentence.endswith(".")
        assert "\n" not in sentence


def test_methods_say_what_was_asked_and_how():
    said = methods()
    for part in (
        "Is [finding] present in this chest X-ray?",
        "224 x 224 pixels",
        "sent as PNG",
        "under 5 conditions",
        "at most 10 new tokens (2048 for reasoning models)",
        "below 100 cases",
        "10,000 times (seed 0)",
        'the rules "corrected"',
    ):
        assert part in said, part


def test_methods_follow_rules_and_options():
    said = methods("authors")
    for part in ("JPEG of quality 75", "as published", "percentile bootstraps", "Yes counts as"):
        assert part in said, part
    assert "which are those of the published code" in said
    said = methods(conditions="original,blank,blur,matched", draws="2", px="512,64", boot="200")
    for part in ("a black image", "(blur)", "2 drawn", "512 x 512", "at 64 pixels", "200 times"):
        assert part in said, part
    assert "(swap)" not in said
    assert 'rules "corrected+boot=200"' in said


@pytest.mark.parametrize("rule", sorted(set(BOOK.rules) - {"boot", "seed", "minimum_n", "wire"}))
def test_every_rule_that_is_not_the_published_one_is_named(rule):
    """In the supplement: the paragraph says how many there are, and names none."""
    ours, theirs = (Grounding.of_run("s@0", "open", e) for e in ("corrected", "authors"))
    listed = {one.name: one for one in ours.book.listing(ours.rules, ours.options)}
    differs = getattr(ours.rules, rule) != getattr(theirs.rules, rule)
    assert (listed[rule].value != listed[rule].published) == differs
    other = len(ours.book.departures(ours.rules))
    assert f"in {other} respects (see the supplement)" in methods()


def test_what_was_shown_is_that_of_the_edition_asked_under():
    said = methods("authors", "corrected+seed=3")
    assert "sent as PNG" in said
    assert "exactly the box" in said
    assert "percentile bootstraps" in said
    imported = methods("authors", "")
    assert "somebody else's scripts" in imported
    assert "JPEG" not in imported


@pytest.mark.parametrize("edition", ["corrected", "authors"])
def test_methods_do_not_claim_to_have_read_what_was_taken_over(edition):
    imported, own = methods(edition, ""), methods(edition)
    assert "Answers that those results record were kept as they are" in imported
    assert "A reply read here means Yes or No" in imported
    assert "A reply means Yes or No" not in imported
    assert "A reply means Yes or No" in own
    assert "record were kept" not in own


def test_a_sub_sample_is_no_more_than_there_is():
    assert "A sub-sample of up to 100 cases" in methods(px="224,512", subset="100")


# ---------------------------------------------------------------- limitations


def limitations(bench, answers, traits=None, edition="corrected", **facts):
    names = sorted({name for own in answers.values() for marks in own.values() for name in marks})
    tables = bench.tables([bench.case(name, **facts) for name in names], answers, traits)
    made = Grounding.of_run("set@0", "open", edition, {"boot": "100"})
    return " ".join(made.limitations(made.measure(tables)))


def marks(n, mark=1, lost=0, other=-1):
    return {f"c{at:03d}": other if at < lost else mark for at in range(n)}


def all_four(n, **more):
    images = ("original", "swap", "target_mask", "irrelevant_mask")
    return {image: marks(n) for image in images} | more


def test_a_sound_run_has_only_what_always_holds(bench):
    said = limitations(bench, {"r": all_four(300)})
    assert "no evidence of clinical safety" in said
    assert "one source (ms_cxr)" in said
    for part in ("stands on", "wider than", "held an answer", "no reply", "no image", "undefined"):
        assert part not in said, part


def test_each_cause_that_is_there_is_said(bench):
    assert "CGR stands on 12 cases, fewer than 100, for r." in limitations(
        bench, {"r": all_four(12)}
    )
    assert "The interval of UAR is wider than 20.0 points" in limitations(bench, {"r": all_four(5)})
    said = limitations(bench, {"r": all_four(200, original=marks(200, lost=20))})
    assert "Only 90.0 % (95 % interval" in said
    assert "accuracy would be 90.0 or 100.0 %" in said
    said = limitations(bench, {"r": all_four(200, original=marks(200, lost=3, other=-3))})
    assert "3 original questions to r got no reply" in said
    said = limitations(bench, {"r": all_four(200, original=marks(200, lost=2, other=-2))})
    assert "2 original questions to r were refused" in said
    said = limitations(bench, {"r": all_four(200)}, {"r": Traits(modality="text")})
    assert "r got no image" in said
    assert "CGR is undefined for r" in limitations(bench, {"r": all_four(9, original=marks(9, 0))})


def test_nothing_is_said_of_what_an_import_was_asked_at():
    """The sizes of somebody else's pictures are not known; that no others were compared is."""
    made = Grounding.of_run("set@0", "open")
    said = " ".join(made.limitations([]))
    assert "hold at another resolution or in another phrasing was not tested" in said
    assert "224" not in said
    both = Grounding.of_run("s@0", "open", words={"px": "224,512", "phrasing": "default,brief"})
    assert "another" not in " ".join(both.limitations([])).replace("another patient", "")
    sized = Grounding.of_run("s@0", "open", words={"px": "224,512"})
    assert "hold in another phrasing was not tested" in " ".join(sized.limitations([]))


def test_many_readers_are_counted_and_not_listed(bench):
    said = limitations(bench, {f"r{k}": all_four(12) for k in range(6)})
    assert "for 6 models." in said
    assert "r3" not in said


@pytest.mark.parametrize("edition", ["corrected", "authors"])
def test_no_measures_leave_what_always_holds(edition):
    made = Grounding.of_run("set@0", "open", edition)
    assert made.limitations([])
    odd = Measure(reader="r", measure="accuracy", note="left out: many unparsed; 3 unanswered")
    assert made.limitations([odd])


def test_the_published_rules_are_limits_of_their_own():
    said = " ".join(Grounding.of_run("set@0", "open", "authors").limitations([]))
    assert "favours models that always say Yes" in said
    assert "GSP has no interval" in said


# ---------------------------------------------------------------- controls away from phantoms


def test_controls_on_films_are_said_to_be_made_for_phantoms_everywhere(bench):
    tables = bench.tables(
        [bench.case("c")],
        {"control:looks": {"original": {"c": 1}}, "model": {"original": {"c": 1}}},
    )
    for dataset, said in (("nih@0", True), ("phantom-480@0", False)):
        made = Grounding.of_run(dataset, "open")
        measures = made.measure(tables)
        shown = list(made.exhibits(measures, "signed"))
        assert shown
        assert all((MISPLACED in each.notes) is said for each in shown)
        assert (MISPLACED in made.limitations(measures)) is said
        told = {headline.reader: headline.sentence for headline in made.headlines(measures)}
        assert (MISPLACED in told["control:looks"]) is said
        assert MISPLACED not in told["model"]
        (card,) = made.cards(tables, ["c"])
        lines = {one.reader: one.lines for one in card.said}
        assert (("control", "made for phantoms") in lines["control:looks"]) is said
        assert ("control", "made for phantoms") not in lines["model"]


def test_no_caption_takes_the_swapped_image_for_any_other(bench):
    """It is of the same finding and label: a reader that sees both keeps its answer."""
    answers = {"original": {"c": 1}, "swap": {"c": 1}}
    tables = bench.tables([bench.case("c")], {"model": answers})
    made = Grounding.of_run("nih@0", "open")
    measures = made.measure(tables)
    texts = [
        text
        for each in made.exhibits(measures, "signed")
        for text in (each.title, getattr(each, "alt", ""), *each.notes)
    ]
    texts += [*made.methods(), *(headline.sentence for headline in made.headlines(measures))]
    (card,) = made.cards(tables, ["c"])
    texts += [words for _, words in card.conditions]
    swaps = [text for text in texts if "another patient" in text]
    assert len(swaps) >= 5
    for text in swaps:
        assert "same finding and label" in text or "like image of another patient" in text, text
    assert not any("this patient's image" in text for text in texts)
