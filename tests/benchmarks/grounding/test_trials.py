"""Trials: what a reader is asked about one case."""

from __future__ import annotations

import csv
from collections import Counter

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from overread.benchmarks.grounding.authors import any_sample
from overread.benchmarks.grounding.cases import load_cases, truth
from overread.benchmarks.grounding.conditions import FILLS, PAPER, WORDS, images_of
from overread.benchmarks.grounding.conditions import PAPER as CONDITIONS
from overread.benchmarks.grounding.edition import AUTHORS, BOOK, CORRECTED, Options
from overread.benchmarks.grounding.prompts import REASONING_SYSTEM_MESSAGE
from overread.benchmarks.grounding.trials import (
    BLANK,
    Candidate,
    Subset,
    askable,
    balanced_sample,
    robustness_subset,
    trials,
)
from overread.case import BadInput, Box, Fill, Mirror, Occlude, Picture, Resize, Source, Traits
from overread.imaging import pixels, render

MATCHED = (Box(90, 90, 60, 70), Box(95, 96, 60, 70))
SAMPLING = Traits(temperature=0.7)
CHOSEN = Subset(px=frozenset({"c"}), phrasing=frozenset({"c"}))


def ask(case, traits=None, rules=CORRECTED, subset=None, **options):
    found = trials(case, traits or Traits(), rules, Options(**options), "/data", subset or Subset())
    return list(found)


def full(bench, **facts):
    """A case that allows every condition, with two matched boxes."""
    return bench.case("c", matched_boxes=MATCHED, opposite_image_path="opposite.jpg", **facts)


def asked_as(asked):
    return [(t.condition["image"], t.condition["phrasing"], t.condition["px"]) for t in asked]


def picture(trial) -> Picture:
    (found,) = trial.request.pictures
    return found


def test_a_boxed_case_is_asked_under_four_conditions(bench):
    asked = ask(bench.case("c"))
    assert [t.condition["image"] for t in asked] == list(CONDITIONS)
    assert all(t.case == "c" and t.repeat == 0 for t in asked)
    assert asked[0].condition == {"image": "original", "phrasing": "default", "px": 224}
    resize = Resize(224, 224)
    assert picture(asked[0]) == Picture(Source("/data", "c.jpg"), (resize,), "png")
    assert picture(asked[1]) == Picture(Source("/data", "swap.jpg"), (resize,), "png")
    assert picture(asked[2]).operations == (resize, Fill(Box(10, 20, 60, 70)))
    assert picture(asked[3]).operations == (resize, Fill(Box(164, 154, 60, 70)))


def test_the_picture_comes_first_and_the_question_is_the_same_throughout(bench):
    asked = ask(bench.case("c"))
    for trial in asked:
        (message,) = trial.request.messages
        assert message.role == "user"
        shown, text = message.parts
        assert isinstance(shown, Picture)
        assert text == (
            "Is pulmonary edema present in this chest X-ray? Answer with a single word: Yes or No."
        )


def test_decoding_is_greedy_and_short(bench):
    (trial, *_) = ask(bench.case("c"))
    decoding = trial.request.decoding
    assert (decoding.max_tokens, decoding.temperature, decoding.top_logprobs) == (10, 0.0, 5)


def test_a_reasoning_reader_gets_room_and_a_system_message(bench):
    (trial, *_) = ask(bench.case("c"), Traits(reasoning=True))
    assert trial.request.decoding.max_tokens == 2048
    system, user = trial.request.messages
    assert system.role == "system"
    assert system.parts == (REASONING_SYSTEM_MESSAGE,)
    assert user.role == "user"


def test_the_authors_mask_is_a_row_and_a_column_larger_and_sent_as_jpeg(bench):
    """[D11], [D33]"""
    asked = ask(bench.case("c"), rules=AUTHORS)
    assert picture(asked[2]).operations[1] == Fill(Box(10, 20, 61, 71))
    assert picture(asked[0]).wire == "jpeg:75"
    assert picture(ask(bench.case("c"))[0]).wire == "png"


def test_at_512_the_box_is_scaled_first_and_closed_after(bench):
    case = bench.case("c", box=Box(100, 40, 60, 80))
    assert picture(ask(case, px=512)[2]).operations == (
        Resize(512, 512),
        Fill(Box(228, 91, 137, 182)),
    )
    closed = picture(ask(case, rules=AUTHORS, px=512)[2]).operations[1]
    assert closed == Fill(Box(228, 91, 138, 183))


@pytest.mark.parametrize(
    ("facts", "conditions"),
    [
        ({"box": None, "irrelevant_box": None}, ["original", "swap"]),
        ({"swap_image_path": None}, ["original", "target_mask", "irrelevant_mask"]),
        ({"irrelevant_box": None}, ["original", "swap", "target_mask"]),
        ({"box": None}, ["original", "swap"]),
    ],
)
def test_only_what_the_case_allows_is_asked(bench, facts, conditions):
    assert [t.condition["image"] for t in ask(bench.case("c", **facts))] == conditions


def test_only_the_conditions_asked_for(bench):
    asked = ask(bench.case("c"), conditions=("original", "target_mask"))
    assert [t.condition["image"] for t in asked] == ["original", "target_mask"]


def test_the_phrasing_is_part_of_the_condition(bench):
    (trial, *_) = ask(bench.case("c"), phrasing="brief")
    assert trial.condition["phrasing"] == "brief"
    assert trial.request.messages[0].parts[1] == "Is pulmonary edema present? Yes or No."


def test_a_reader_without_text_is_asked_about_findings_only(bench):
    """[D23] It cannot judge a sentence; the authors score it as if it could."""
    vision = Traits(modality="vision")
    sentence = bench.case(
        "r", source="rexerr", error_sentence="x", error_present=0, box=None, irrelevant_box=None
    )
    assert ask(sentence, vision) == []
    assert len(ask(sentence, vision, AUTHORS)) == 2
    assert ask(bench.case("r", source="rexerr", finding=None), vision, AUTHORS) == []
    assert len(ask(bench.case("c"), vision)) == 4
    assert len(ask(sentence)) == 2


def test_a_text_reader_costs_one_call_per_case(bench):
    """[D30] Without pictures all four conditions are one request."""
    traits = Traits(modality="text")
    requests = {t.request.for_reader(traits) for t in ask(bench.case("c"), traits)}
    assert len(requests) == 1


def test_settings_reach_the_trials(bench):
    rules, options = BOOK.settings("corrected", {"masks": "closed", "px": "448"})
    found = list(trials(bench.case("c"), Traits(), rules, options, "/data"))
    assert picture(found[2]).operations[1] == Fill(Box(20, 40, 121, 141))


# ---------------------------------------------------------------- conditions beside the paper's


def test_every_condition_in_order(bench):
    asked = ask(full(bench), conditions=WORDS, repeat="always", draws=2)
    images = [t.condition["image"] for t in asked]
    assert images == [*images_of(WORDS, 2), "original"]
    assert [t.repeat for t in asked] == [0] * (len(asked) - 1) + [1]
    assert len({t.request for t in asked[:-1]}) == len(asked) - 1


def test_what_the_paper_asks_is_the_same_whatever_stands_beside_it(bench):
    case = full(bench)
    assert ask(case, conditions=WORDS, repeat="always")[:4] == ask(case)
    assert ask(case, more_px=(512,), more_phrasings=("brief",), subset=CHOSEN)[:4] == ask(case)


def test_an_opposite_swap_shows_the_opposite_film(bench):
    (_, opposite) = ask(full(bench), conditions=("original", "opposite_swap"))
    assert picture(opposite) == Picture(Source("/data", "opposite.jpg"), (Resize(224, 224),), "png")


def test_a_blank_is_one_black_picture_for_all_cases(bench):
    shown = set()
    for name in "ab":
        (_, blank) = ask(bench.case(name), conditions=("original", "blank"))
        assert picture(blank).source is BLANK
        shown.add(blank.request)
    (request,) = shown
    found = pixels(render(request.pictures[0]))
    assert found.shape == (224, 224)
    assert not found.any()


def test_no_image_is_the_question_alone(bench):
    (original, alone) = ask(bench.case("c"), conditions=("original", "no_image"))
    assert alone.request.messages[-1].parts == original.request.messages[-1].parts[1:]
    assert alone.condition == {"image": "no_image", "phrasing": "default", "px": 224}
    vision = Traits(modality="vision")  # one that reads no text has nothing to go by
    assert len(ask(bench.case("c"), vision, conditions=("original", "no_image"))) == 1


@pytest.mark.parametrize("rules", [CORRECTED, AUTHORS])
@pytest.mark.parametrize("fill", FILLS)
@pytest.mark.parametrize("px", [224, 512])
def test_another_fill_hides_the_very_boxes_of_the_masks(bench, rules, fill, px):
    words = ("original", "target_mask", "irrelevant_mask", fill)
    _, target, irrelevant, *others = ask(bench.case("c"), rules=rules, conditions=words, px=px)
    for mask, other in zip((target, irrelevant), others, strict=True):
        (resize, black), (same, occluder) = picture(mask).operations, picture(other).operations
        assert same == resize
        if fill == "mirror":
            assert isinstance(occluder, Mirror)
            assert occluder.boxes == (black.box,)
        else:
            assert isinstance(occluder, Occlude)
            assert (occluder.box, occluder.how) == (black.box, fill)
        assert picture(other).source == picture(mask).source


def test_noise_is_a_case_s_own_and_the_same_in_both_of_its_boxes(bench):
    seeds = []
    for name in ("c", "d", "c"):
        found = ask(bench.case(name), conditions=("original", "noise"))[1:]
        one, other = (picture(t).operations[1].seed for t in found)
        assert one == other
        seeds.append(one)
    assert seeds[0] == seeds[2] != seeds[1]
    assert all(0 <= seed < 2**32 for seed in seeds)
    blurred = ask(bench.case("c"), conditions=("original", "blur"))[1]
    assert picture(blurred).operations[1].seed == 0


def test_all_boxes_of_a_finding_are_hidden_not_what_lies_between(bench):
    more = (Box(140, 20, 50, 60),)
    case = bench.case(
        "c", more_boxes=more, more_irrelevant_boxes=(Box(0, 164, 50, 60),),
        matched_boxes=(Box(1, 1, 60, 70), Box(9, 9, 50, 60), Box(2, 2, 60, 70), Box(8, 8, 50, 60)),
    )  # fmt: skip
    words = ("original", "target_mask", "irrelevant_mask", "mean", "matched")
    shown = {t.condition["image"]: picture(t).operations[1:] for t in ask(case, conditions=words)}
    assert shown["target_mask"] == (Fill(case.box), Fill(more[0]))
    assert shown["irrelevant_mask"] == tuple(map(Fill, case.controls))
    assert [o.box for o in shown["target_mean"]] == [case.box, *more]
    assert shown["matched_1"] == (Fill(Box(1, 1, 60, 70)), Fill(Box(9, 9, 50, 60)))
    assert shown["matched_2"] == (Fill(Box(2, 2, 60, 70)), Fill(Box(8, 8, 50, 60)))
    assert "matched_3" not in shown


def test_the_other_side_fills_no_box_whose_other_side_is_hidden_too(bench):
    def asked(**facts):
        found = ask(bench.case("c", **facts), conditions=("original", "mirror"))
        return {t.condition["image"]: picture(t).operations[1] for t in found[1:]}

    alone = asked()
    assert alone["target_mirror"] == Mirror((Box(10, 20, 60, 70),))
    # Nor is the finding itself taken to fill a box elsewhere.
    assert alone["irrelevant_mirror"] == Mirror((Box(164, 154, 60, 70),), (Box(10, 20, 60, 70),))
    assert asked(box=Box(80, 20, 60, 70)).keys() == {"irrelevant_mirror"}  # in the middle
    both = asked(more_boxes=(Box(150, 20, 60, 70),), irrelevant_box=Box(0, 154, 60, 70))
    assert both.keys() == {"irrelevant_mirror"}  # one on either side
    assert not asked(box=Box(80, 20, 60, 70), irrelevant_box=Box(90, 154, 60, 70))


def test_matched_boxes_are_black_and_as_many_as_there_are(bench):
    asked = ask(full(bench), conditions=("original", "matched"), draws=5)
    assert [t.condition["image"] for t in asked[1:]] == ["matched_1", "matched_2"]
    assert [picture(t).operations[1] for t in asked[1:]] == [Fill(box) for box in MATCHED]
    assert len(ask(full(bench), conditions=("original", "matched"), draws=1)) == 2
    closed = ask(full(bench), rules=AUTHORS, conditions=("original", "matched"))[1]
    assert picture(closed).operations[1] == Fill(Box(90, 90, 61, 71))


@pytest.mark.parametrize(
    ("facts", "lost"),
    [
        ({}, {"opposite_swap", "matched_1", "matched_2", "matched_3"}),
        ({"box": None}, {i for i in images_of(WORDS) if "_" in i} - {"no_image"}),
        (
            {"irrelevant_box": None, "matched_boxes": MATCHED, "opposite_image_path": "o.jpg"},
            {"matched_3", "irrelevant_mask", *(f"irrelevant_{fill}" for fill in FILLS)},
        ),
    ],
)
def test_what_a_case_lacks_is_not_asked(bench, facts, lost):
    images = [t.condition["image"] for t in ask(bench.case("c", **facts), conditions=WORDS)]
    assert images == [image for image in images_of(WORDS) if image not in lost]


# ---------------------------------------------------------------- asking again


def test_the_original_is_asked_again_when_replies_are_drawn_by_chance(bench):
    case = bench.case("c")
    *once, again = ask(case, SAMPLING)
    assert asked_as(once) == asked_as(ask(case))
    assert (again.condition, again.repeat) == (once[0].condition, 1)
    assert again.request == once[0].request
    assert len(ask(case, Traits(temperature="server"))) == 5
    assert len(ask(case, Traits(temperature=0.0))) == len(ask(case)) == 4


def test_unless_it_was_not_asked_for(bench):
    case = bench.case("c")
    assert len(ask(case, SAMPLING, repeat="never")) == 4
    for words, n in (({}, 5), ({"conditions": "original,swap"}, 2), ({"conditions": "+blank"}, 6)):
        rules, options = BOOK.settings("corrected", words)
        assert len(list(trials(case, SAMPLING, rules, options, "/data"))) == n
    rules, options = BOOK.settings("authors")
    assert len(list(trials(case, SAMPLING, rules, options, "/data"))) == 4


def test_a_greedy_reader_is_asked_again_if_that_was_chosen(bench):
    *_, again = ask(bench.case("c"), conditions=(*PAPER, "repeat"), repeat="always")
    assert again.repeat == 1


def test_no_condition_but_repeat_costs_a_text_reader_a_call(bench):
    """[D30] Whatever is shown, it sees none of it."""
    for traits in (Traits(modality="text"), Traits(modality="text", temperature=0.7)):
        asked = ask(
            full(bench), traits, conditions=WORDS, repeat="always", more_px=(512,), subset=CHOSEN
        )
        assert len({(t.request.for_reader(traits), t.repeat) for t in asked}) == 2


# ---------------------------------------------------------------- further sizes and phrasings


def test_further_sizes_and_phrasings_come_last_and_only_in_the_sub_sample(bench):
    """[D14, D15] All masks and the swap at every size; the swap in every phrasing."""
    more = {"more_px": (448, 512), "more_phrasings": ("brief",)}
    case = bench.case("c")
    assert ask(case, **more) == ask(case)
    asked = ask(case, subset=CHOSEN, **more)
    assert asked_as(asked[4:]) == [
        *((image, "default", px) for px in (448, 512) for image in PAPER),
        ("original", "brief", 224),
        ("swap", "brief", 224),
    ]
    assert asked[8].request == ask(case, px=512)[0].request
    assert asked[-2].request == ask(case, phrasing="brief")[0].request


def test_the_authors_ask_less_of_them(bench):
    asked = ask(
        bench.case("c"), rules=AUTHORS, subset=CHOSEN, more_px=(512,), more_phrasings=("brief",)
    )
    assert asked_as(asked[4:]) == [
        ("original", "default", 512),
        ("target_mask", "default", 512),
        ("original", "brief", 224),
    ]


def test_each_sub_sample_counts_for_itself(bench):
    more = {"more_px": (512,), "more_phrasings": ("brief",)}
    only_px = ask(bench.case("c"), subset=Subset(px=frozenset({"c"})), **more)
    assert {t.condition["phrasing"] for t in only_px} == {"default"}
    only_words = ask(bench.case("c"), subset=Subset(phrasing=frozenset({"c"})), **more)
    assert {t.condition["px"] for t in only_words} == {224}
    assert len(only_px) == 8
    assert len(only_words) == 6


def test_a_condition_left_out_is_left_out_there_too(bench):
    asked = ask(
        bench.case("c"),
        subset=CHOSEN,
        conditions=("original", "target_mask"),
        more_px=(512,),
        more_phrasings=("brief",),
    )
    assert asked_as(asked[2:]) == [
        ("original", "default", 512),
        ("target_mask", "default", 512),
        ("original", "brief", 224),
    ]


def test_a_reader_without_text_is_asked_in_one_phrasing(bench):
    """The authors ask it in all; its answers cannot differ."""
    vision = Traits(modality="vision")
    more = {"more_phrasings": ("brief", "clinical"), "subset": CHOSEN}
    assert len(ask(bench.case("c"), vision, **more)) == 4
    assert len(ask(bench.case("c"), vision, AUTHORS, **more)) == 6


# ---------------------------------------------------------------- what can be asked
# A condition that no case allows is refused before anything is asked.


MATCHED_BOXES = (Box(90, 90, 60, 70), Box(91, 90, 60, 70), Box(92, 90, 60, 70))


def check(cases, rules=CORRECTED, **options):
    return list(askable(cases, rules, Options(**options), "manifest.csv"))


def test_cases_pass_through(bench):
    cases = [bench.case("a"), bench.case("b", box=None)]
    assert check(cases) == cases
    assert check([cases[1]]) == [cases[1]]  # the paper's masks are left out quietly, as ever


@pytest.mark.parametrize(
    ("facts", "options", "says"),
    [
        ({}, {"conditions": ("original", "matched")}, "matched_boxes is empty throughout"),
        ({}, {"conditions": ("original", "opposite_swap")}, "opposite_image_path is empty"),
        ({"box": None}, {"conditions": ("original", "mean", "blur")}, "Leave mean, blur out"),
        (
            {"matched_boxes": MATCHED_BOXES},
            {"conditions": ("original", "matched"), "draws": 5},
            "no case has more than 3 matched boxes. Use --set draws=3",
        ),
        ({"box": None}, {"more_px": (448, 512)}, "--set px=224,448,512"),
    ],
)
def test_what_fits_no_case_is_one_clear_line(bench, facts, options, says):
    with pytest.raises(BadInput) as error:
        check([bench.case("a", **facts)], **options)
    said = str(error.value)
    assert said.startswith("manifest.csv: ")
    assert says in said
    assert "\n" not in said


def test_what_nobody_named_is_asked_where_it_can_be_and_refuses_nothing(bench):
    unnamed = {"conditions": (*PAPER, "matched"), "where_there": ("matched",), "draws": 1}
    without, having = bench.case("a"), bench.case("b", matched_boxes=MATCHED_BOXES)
    assert check([without], **unnamed) == [without]
    assert [t.condition["image"] for t in ask(without, **unnamed)] == list(PAPER)
    assert [t.condition["image"] for t in ask(having, **unnamed)] == [*PAPER, "matched_1"]


def test_one_case_is_enough(bench):
    every = {
        "conditions": ("original", "opposite_swap", "mean", "matched"),
        "more_px": (512,),
    }
    with_all = bench.case("a", matched_boxes=MATCHED_BOXES, opposite_image_path="o.jpg")
    assert len(check([bench.case("b", box=None), with_all], **every)) == 2


def test_boxes_the_edition_does_not_count_do_not_help(bench):
    case = bench.case("a", source="elsewhere", matched_boxes=MATCHED_BOXES)
    chosen = {"conditions": ("original", "matched")}
    assert check([case], **chosen)
    with pytest.raises(BadInput, match="matched_boxes is empty"):
        check([case, bench.case("b", box=None)], AUTHORS, **chosen)


def test_cases_without_any_key_are_refused(bench):
    """The authors' code has none for other sources: every number would be undefined."""
    other = bench.case("a", source="elsewhere")
    assert check([other])
    assert check([other, bench.case("b")], AUTHORS)
    with pytest.raises(BadInput, match='no key for "elsewhere".*--set other_sources=label'):
        check([other], AUTHORS)
    keyed = msgspec.structs.replace(AUTHORS, other_sources="label")
    assert check([other], keyed)


# ---------------------------------------------------------------- the sub-sample
# Whom further resolutions and phrasings are asked of.


def ids_of(path):
    with path.open(newline="", encoding="utf-8") as file:
        return [row["case_id"] for row in csv.DictReader(file)]


# ---------------------------------------------------------------- authors


@pytest.mark.parametrize(
    "subset", ["resolution/manifest_512.csv", "prompt_sensitivity/manifest_subset.csv"]
)
def test_the_authors_sample_is_theirs_in_their_order(golden, subset):
    expected = ids_of(golden / subset)
    cases = list(load_cases(golden / "mimic" / "manifest.csv", AUTHORS))
    boxed = [c.case_id for c in cases if c.source == "ms_cxr" and c.box is not None]
    assert list(any_sample(boxed, len(expected))) == expected
    found = robustness_subset(cases, AUTHORS, len(expected))
    assert found.px == found.phrasing == frozenset(expected)


def test_fewer_than_asked_for_are_all_taken():
    ids = [f"c{k}" for k in range(7)]
    assert set(any_sample(ids, 100)) == set(any_sample(ids, 0)) == set(ids)
    assert any_sample([], 100) == ()
    assert set(balanced_sample([Candidate(i, 1, "edema") for i in ids], 100)) == set(ids)
    assert balanced_sample([], 100) == ()


# ---------------------------------------------------------------- corrected

candidates = st.lists(
    st.tuples(st.integers(0, 1), st.sampled_from("abcde")), min_size=1, max_size=60
).map(lambda kinds: [Candidate(f"c{k}", *kind) for k, kind in enumerate(kinds)])


@given(candidates, st.integers(0, 80), st.integers(0, 9))
def test_a_balanced_sample_is_as_even_as_can_be(pool, n, seed):
    kinds = {c.case: (c.answer, c.finding) for c in pool}
    chosen = balanced_sample(pool, n, seed)
    assert len(chosen) == len(set(chosen)) == (min(n, len(pool)) if n else len(pool))
    assert set(chosen) <= set(kinds)
    for part in (lambda kind: kind[0], lambda kind: kind):
        held = Counter(part(kind) for kind in kinds.values())
        taken = Counter(dict.fromkeys(held, 0))
        taken.update(part(kinds[case]) for case in chosen)
        for few in held:
            for many in held:
                same_answer = isinstance(few, int) or few[0] == many[0]
                if same_answer and taken[many] > taken[few] + 1:
                    assert taken[few] == held[few]  # it had no more to give


@given(candidates, st.integers(1, 80), st.randoms(use_true_random=False))
def test_the_order_of_the_cases_does_not_matter(pool, n, random):
    shuffled = random.sample(pool, len(pool))
    assert set(balanced_sample(pool, n)) == set(balanced_sample(shuffled, n))


def test_another_seed_draws_others():
    pool = [Candidate(f"c{k}", k % 2, "edema") for k in range(400)]
    one, other = (set(balanced_sample(pool, 100, seed)) for seed in (0, 1))
    assert one == set(balanced_sample(pool, 100, 0))
    assert 5 < len(one & other) < 60


def test_phrasings_are_asked_of_both_answers_and_resolutions_of_boxed_cases(golden):
    cases = {c.case_id: c for c in load_cases(golden / "mimic" / "manifest.csv")}
    boxed = [c for c in cases.values() if c.box is not None]
    n = len(boxed) // 2
    found = robustness_subset(cases.values(), CORRECTED, n)
    assert len(found.px) == len(found.phrasing) == n
    assert found.px < {c.case_id for c in boxed}
    assert all(cases[case].source != "rexerr" for case in found.phrasing)
    answers = Counter(truth(cases[case], CORRECTED) for case in found.phrasing)
    assert answers[0]
    assert answers[1]
    assert robustness_subset(cases.values(), CORRECTED, 0).px == {c.case_id for c in boxed}


def test_a_normal_film_counts_as_a_no(bench):
    """[D1] Its label says that it is normal; the question is whether anything is not."""
    normals = [bench.case(f"n{k}", finding="no_finding", box=None) for k in range(9)]
    sick = [bench.case(f"s{k}") for k in range(9)]
    found = robustness_subset([*normals, *sick], CORRECTED, 6)
    assert Counter(case[0] for case in found.phrasing) == {"n": 3, "s": 3}
    assert all(case[0] == "s" for case in found.px)


def test_the_rule_can_be_tried_alone(bench):
    cases = [bench.case(f"c{k}", label=k % 2) for k in range(20)]
    rules = msgspec.structs.replace(CORRECTED, robustness="boxed")
    found = robustness_subset(cases, rules, 8)
    assert found == robustness_subset(cases, AUTHORS, 8)
