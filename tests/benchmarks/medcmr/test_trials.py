"""What a reader is asked: orders, swaps, reformulated items, prompts to the letter, trials."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise

import msgspec
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

from overread.benchmarks.letter_parser import LETTERS
from overread.benchmarks.medcmr.cases import MedCase
from overread.benchmarks.medcmr.edition import AUTHORS, CORRECTED, IMAGES, Options
from overread.benchmarks.medcmr.trials import (
    REASONED_TOKENS,
    mcq_prompt,
    open_prompt,
    orders_of,
    question_stem,
    reformulated_items,
    shown_order,
    swap_remarks,
    swaps,
    trials,
)
from overread.case import BadInput, Picture, Traits
from overread.imaging import pixels, render

# ---------------------------------------------------------------- orders
# Orders of options: turned, distinct, drawn by seed.


def item_of_options(n=5, name="mcq-1", options=None):
    texts = options or tuple(f"option {place}" for place in range(n))
    return MedCase(
        case_id=name, index=1, kind="mcq", question="?", images=(), options=texts, answer="A"
    )


SIZES = st.integers(2, 10)


def test_order_0_is_the_sets_own():
    assert shown_order(item_of_options(5), 0) == (0, 1, 2, 3, 4)


@given(SIZES)
def test_all_orders_put_every_option_once_in_each_place(n):
    orders = [shown_order(item_of_options(n), order) for order in range(n)]
    for places in (*orders, *zip(*orders, strict=True)):
        assert sorted(places) == list(range(n))


@pytest.mark.parametrize("order", [-1, 5, 9])
def test_there_are_as_many_orders_as_options(order):
    with pytest.raises(ValueError, match=f"order {order} of 5 options"):
        shown_order(item_of_options(5), order)


@given(SIZES, st.integers(0, 9), st.integers(0, 2**32 - 1), st.text(max_size=9))
def test_further_orders_are_distinct_and_more_hold_the_fewer(n, orders, seed, name):
    found = orders_of(item_of_options(n, name), orders, seed)
    assert found[0] == 0
    assert len(set(found)) == len(found) == min(orders, n - 1) + 1
    assert set(found) <= set(range(n))
    assert orders_of(item_of_options(n, name), orders + 1, seed)[: len(found)] == found


def test_which_orders_are_asked_is_drawn_for_each_item():
    first = [orders_of(item_of_options(name=f"mcq-{n}"), 1, 0)[1] for n in range(400)]
    assert {order: first.count(order) > 60 for order in set(first)} == dict.fromkeys(
        (1, 2, 3, 4), True
    )
    assert first != [orders_of(item_of_options(name=f"mcq-{n}"), 1, 1)[1] for n in range(400)]


@pytest.mark.parametrize(
    "text",
    [
        "None of the above",
        "all of these",
        "Both A and B",
        "A and C",
        "A, B",
        "both of the above",
        "A, B and D",
        "only A",
        "B only",
        "Options A and C",
        "Same as A",
        "Option B",
        "(A) & (C)",
        "Neither A nor B",
        "Both a and c",
        "A and B are correct",
        "All except C",
        "A和C",
        "All of them",
        "None of the other options",
        "none of the others",
        "All of the above.",
        "None of the choices",
        "All above",
        "以上都不是",
        "上述选项均正确",
    ],
)
def test_options_that_speak_of_others_stay_where_they_are(text):
    assert orders_of(item_of_options(options=("x", "y", text)), 2, 0) == (0,)


@pytest.mark.parametrize(
    "text",
    [
        "Hepatitis A and fever",
        "Vitamin B",
        "Both lungs",
        "Above it",
        "Hepatitis B and C",
        "Vitamin A and D deficiency",
        "Influenza A or B",
        "A",
        "I and II",
        "All of the lobes",
        "None",
        "Both above and below the diaphragm",
        "Only a cyst",
        "B-cell lymphoma",
        "Grade A or B",
        "膈肌以上",
    ],
)
def test_other_options_are_turned(text):
    assert len(orders_of(item_of_options(options=("x", "y", text)), 2, 0)) == 3


# ---------------------------------------------------------------- swaps
# Whose images an item is shown in place of its own.


def item_shown(number, kind="mcq", dimension="SOD", images=None, patient=None):
    return MedCase(
        case_id=f"{kind}-{number}",
        index=number,
        kind=kind,
        question="?",
        images=(f"{number}.png",) if images is None else images,
        options=("x", "y") if kind == "mcq" else (),
        answer="A",
        dimension=dimension,
        patient=patient,
    )


ITEMS_SHOWN = st.lists(
    st.tuples(
        st.sampled_from(["mcq", "open"]),
        st.sampled_from(["SOD", "CR", None]),
        st.lists(st.integers(0, 9).map("{}.png".format), max_size=3, unique=True).map(tuple),
        st.sampled_from([None, None, "p", "q"]),
    ),
    max_size=25,
).map(lambda rows: [item_shown(number, *row) for number, row in enumerate(rows)])
SEEDS = st.integers(0, 2**32 - 1)


@given(ITEMS_SHOWN, SEEDS)
def test_another_item_of_the_same_kind_and_dimension_and_no_image_in_common(cases, seed):
    for name, lender in swaps(cases, seed).items():
        (case,) = (case for case in cases if case.case_id == name)
        assert (lender.kind, lender.dimension) == (case.kind, case.dimension)
        assert lender.images
        assert not set(lender.images) & set(case.images)
        assert case.patient is None or lender.patient != case.patient


@given(ITEMS_SHOWN, SEEDS)
def test_every_item_with_an_image_and_a_stranger_has_one(cases, seed):
    lent = swaps(cases, seed)
    for case in cases:
        others = [
            other
            for other in cases
            if (other.kind, other.dimension) == (case.kind, case.dimension) and other.images
        ]
        if not case.images:
            assert case.case_id not in lent
        elif all(len(other.images) == 1 and other.patient is None for other in others):
            assert (case.case_id in lent) == any(other.images != case.images for other in others)


def test_each_item_lends_once_where_images_are_unique():
    cases = [
        item_shown(n, kind, d) for n in range(60) for kind in ("mcq", "open") for d in ("TP", None)
    ]
    cases = [item_shown(place, case.kind, case.dimension) for place, case in enumerate(cases)]
    lent = swaps(cases, 0)
    assert sorted(lender.case_id for lender in lent.values()) == sorted(
        case.case_id for case in cases
    )


@given(ITEMS_SHOWN, SEEDS, st.randoms())
def test_the_draw_knows_no_order_and_the_seed_matters(cases, seed, random):
    assert swaps(random.sample(cases, len(cases)), seed) == swaps(cases, seed)
    many = [item_shown(n) for n in range(40)]
    assert swaps(many, seed) != swaps(many, seed + 1)


def test_items_that_cannot_be_swapped_are_told():
    cases = [
        item_shown(1),
        item_shown(2),
        item_shown(3, "open", "CR"),
        item_shown(4, dimension=None),
    ]
    (line,) = swap_remarks(cases, swaps(cases, 0))
    assert line.startswith("2 items have no other image in the same dimension (CR, none)")
    assert swap_remarks(cases[:2], swaps(cases[:2], 0)) == ()
    assert swap_remarks(cases[:3], swaps(cases[:3], 0))[0].startswith("1 item has")


# ---------------------------------------------------------------- reformulated
# Which multiple-choice items are asked as open ones too.


def item_of(number, kind="mcq", dimension="SOD"):
    options = ("x", "y") if kind == "mcq" else ()
    return MedCase(
        case_id=f"{kind}-{number}",
        index=number,
        kind=kind,
        question="?",
        images=("1.png",),
        options=options,
        answer="A",
        dimension=dimension,
    )


ITEMS = [
    *(item_of(n) for n in range(60)),
    *(item_of(n, dimension="CR") for n in range(60, 90)),
    *(item_of(n, dimension=None) for n in range(90, 100)),
    *(item_of(n, "open") for n in range(50)),
]


def found(words, seed=0, cases=ITEMS):
    return reformulated_items(cases, Options(reformulate=words), seed)


def listed(tmp_path, text):
    (tmp_path / "items.csv").write_text(text, "utf-8")
    return found(str(tmp_path / "items.csv"))


def test_none_of_them():
    assert found("none") == frozenset()


def test_a_sample_has_every_dimension_in_proportion():
    dimension = {case.case_id: case.dimension for case in ITEMS}
    assert Counter(dimension[name] for name in found("10")) == {"SOD": 6, "CR": 3, None: 1}
    assert all(name.startswith("mcq-") for name in found("1000"))
    assert len(found("1000")) == 100


def test_a_larger_sample_holds_the_smaller_whatever_the_order():
    sizes = [found(str(n)) for n in (1, 7, 20, 99)]
    assert sizes == sorted(sizes, key=len)
    assert all(small < large for small, large in pairwise(sizes))
    assert found("20", cases=ITEMS[::-1]) == found("20") != found("20", seed=1)


def test_those_of_a_csv(tmp_path):
    text = "\ufeffcase,why\nmcq-3,base right\n mcq-5 ,\nmcq-3,again\n\n"
    assert listed(tmp_path, text) == {"mcq-3", "mcq-5"}


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (
            "case\nmcq-3\nmcq-777\nnobody\n",
            r'items.csv: "mcq-777" is no item of the set \(and 1 more',
        ),
        ("case\nopen-3\n", '"open-3" is an open item. Name multiple-choice items'),
        ("case\n", "its column case is empty"),
        ("item\nmcq-3\n", "has no column case"),
    ],
)
def test_a_bad_list_is_told_in_one_line(tmp_path, text, words):
    with pytest.raises(BadInput, match=words) as told:
        listed(tmp_path, text)
    assert "\n" not in str(told.value)


def test_a_list_that_is_not_there(tmp_path):
    with pytest.raises(BadInput, match="there is no such file"):
        found(str(tmp_path / "no.csv"))


# ---------------------------------------------------------------- prompts
# The questions as readers get them: to the letter.

WORDS = st.text(st.characters(categories=["L", "N", "P", "S"]), min_size=1, max_size=12)


def test_a_multiple_choice_item():
    assert mcq_prompt("What is it?", ("cat", "dog", "hen", "ox", "ant")) == (
        "Please carefully observe this medical image and answer the following question:\n"
        "Question: What is it?\n"
        "Options:\n"
        "A) cat\n"
        "B) dog\n"
        "C) hen\n"
        "D) ox\n"
        "E) ant\n"
        "Answer only with the option letter (A–E)."
    )


def test_an_open_item():
    assert open_prompt("What is it?") == (
        "Please carefully observe this medical image and answer the following question:\n"
        "Question: What is it?\n"
        "Think step by step, integrating both visual features and medical knowledge to reach your "
        "conclusion. Then provide the final answer to the question in one short sentence or a "
        "single medical term.\n"
        "Output format (Must follow strictly):\n"
        "Reasoning: <visual and diagnostic reasoning process>\n"
        "Answer: <final answer to the question>"
    )


@given(st.lists(WORDS, min_size=2, max_size=10))
def test_the_last_letter_is_that_of_the_last_option(options):
    lines = mcq_prompt("?", options).split("\n")
    last = LETTERS[len(options) - 1]
    assert lines[-1] == f"Answer only with the option letter (A–{last})."
    assert lines[3:-1] == [f"{x}) {text}" for x, text in zip(LETTERS, options, strict=False)]


def test_braces_are_text():
    assert "{question} {0}" in mcq_prompt("{question} {0}", ("{A}", "b"))
    assert "{question}" in open_prompt("{question}")


@pytest.mark.parametrize(
    "question",
    [
        "What is it? A. cat B. dog",
        "What is it?\nA) cat\nB) dog",
        "What is it?\nOptions: (A) Cat; (B) dog.",
        "What is it?",
    ],
)
def test_the_stem_has_no_options(question):
    assert question_stem(question, ("cat", "dog")) == "What is it?"


@pytest.mark.parametrize(
    "question",
    [
        "Is it a cat or a dog?",
        "A. cat is seen. What else?",
        "What is A. cat B. dogma?",
        "B. dog A. cat?",
    ],
)
def test_a_stem_that_lists_no_options_stays(question):
    assert question_stem(question, ("cat", "dog")) == question


@given(st.text(max_size=80), st.lists(st.text(max_size=9), max_size=6))
def test_a_stem_never_grows(question, options):
    assert len(question_stem(question, options)) <= len(question)


# ---------------------------------------------------------------- trials
# What a reader is asked: forms, images, orders; and that nothing true travels with it.

READER = Traits()
ALL = Options(images=IMAGES, orders=2)


def choice(number=1, **fields):
    known = {
        "case_id": f"mcq-{number}",
        "index": number,
        "kind": "mcq",
        "question": "What is it?",
        "images": (f"imgs/{number}.png",),
        "options": ("unum", "duo", "tria", "quattuor", "quinque"),
        "answer": "C",
        "caption": "arcanum",
        "dimension": "SOD",
    }
    return MedCase(**known | fields)


def free(number=1, **fields):
    known = {"case_id": f"open-{number}", "kind": "open", "options": (), "answer": "veritas"}
    return choice(number, **known | fields)


LENDER = choice(9, images=("imgs/9a.png", "imgs/9b.png"), answer="B", caption="mysterium")


def asked(
    case, traits=READER, options=ALL, edition=CORRECTED, root="/data", swap=LENDER, also=False
):
    return list(trials(case, traits, edition, options, root, swap, also))


def named(trial):
    assert list(trial.condition) == ["form", "image", "order"]
    return tuple(trial.condition.values())


def parts(trial):
    (message,) = trial.request.messages
    assert message.role == "user"
    *pictures, text = message.parts
    assert all(isinstance(picture, Picture) for picture in pictures)
    return pictures, text


# ---------------------------------------------------------------- what is asked


def test_a_multiple_choice_item_is_asked_with_every_image_and_in_further_orders():
    found = [named(trial) for trial in asked(choice(), also=True)]
    orders = [order for form, image, order in found if (form, image) == ("mcq", "original")]
    assert orders[0] == 0
    assert len(set(orders)) == 3
    assert [told for told in found if told[:2] != ("mcq", "original")] == [
        ("reformulated", "original", 0),
        ("mcq", "blank", 0),
        ("mcq", "swap", 0),
        ("mcq", "text", 0),
    ]


def test_an_open_item_is_asked_with_every_image():
    assert [named(trial) for trial in asked(free())] == [("open", image, 0) for image in IMAGES]


def test_by_default_the_own_image_in_the_sets_order():
    assert [named(trial) for trial in asked(choice(), options=Options())] == [
        ("mcq", "original", 0)
    ]
    assert [named(trial) for trial in asked(free(), options=Options())] == [("open", "original", 0)]


def test_further_orders_and_open_form_are_asked_with_the_own_image_alone():
    options = Options(images=("blank", "text"), orders=3)
    found = [named(trial) for trial in asked(choice(), options=options, also=True)]
    assert found == [("mcq", "blank", 0), ("mcq", "text", 0)]


@pytest.mark.parametrize(("kind", "forms"), [("mcq", {"mcq"}), ("open", {"open"})])
def test_a_kind_that_was_not_asked_for_is_not_asked(kind, forms):
    options = Options(kinds=(kind,))
    found = [trial for case in (choice(), free()) for trial in asked(case, options=options)]
    assert {trial.condition["form"] for trial in found} == forms


def test_no_more_orders_than_options():
    two = choice(options=("unum", "duo"), answer="A")
    assert [named(t)[2] for t in asked(two, options=Options(orders=9))] == [0, 1]


def test_an_item_without_a_stranger_has_no_swap():
    assert "swap" not in {trial.condition["image"] for trial in asked(choice(), swap=None)}


def test_an_item_without_images_has_nothing_to_hide_or_swap():
    found = asked(choice(images=()), options=Options(images=IMAGES))
    assert [named(trial)[1] for trial in found] == ["original", "text"]
    assert found[0].request == found[1].request


def test_a_reader_without_text_is_not_asked():
    assert asked(choice(), traits=Traits(modality="vision")) == []


def test_to_a_text_only_reader_all_images_are_one_request():
    deaf = Traits(modality="text")
    for case in (choice(), free()):
        found = asked(case, traits=deaf, options=Options(images=IMAGES))
        assert len({trial.request.for_reader(deaf) for trial in found}) == 1


# ---------------------------------------------------------------- what is shown


def test_images_first_then_the_question_word_for_word():
    case = choice(images=("a.png", "b.png"))
    for trial in asked(case, also=True):
        form, image, order = named(trial)
        pictures, text = parts(trial)
        shown = {"swap": LENDER.images, "text": ()}.get(image, case.images)
        assert [picture.source.name for picture in pictures] == list(shown)
        assert {picture.wire for picture in pictures} <= {"png"}
        if form == "mcq":
            options = [case.options[place] for place in shown_order(case, order)]
            assert text == mcq_prompt(case.question, options)
        else:
            assert text == open_prompt(case.question)


@given(st.integers(2, 10), st.integers(0, 9), st.integers(0, 99))
def test_every_order_shows_every_option_once(n, orders, seed):
    case = choice(options=tuple(f"<{place}>" for place in range(n)), answer="A")
    edition = msgspec.structs.replace(CORRECTED, seed=seed)
    firsts = set()
    for trial in asked(case, options=Options(orders=orders), edition=edition):
        lines = parts(trial)[1].split("\n")[3:-1]
        assert [line[:3] for line in lines] == [f"{letter}) " for letter in LETTERS[:n]]
        assert sorted(line[3:] for line in lines) == sorted(case.options)
        firsts.add(lines[0])
    assert len(firsts) == min(orders, n - 1) + 1


def test_decoding():
    (letter,) = asked(choice(), options=Options())
    assert letter.request.decoding == msgspec.structs.replace(
        letter.request.decoding, max_tokens=16, temperature=0.0, top_logprobs=10
    )
    (opened,) = asked(free(), options=Options())
    assert (opened.request.decoding.max_tokens, opened.request.decoding.top_logprobs) == (2048, 0)
    own = Options(letter_tokens=3, open_tokens=99, temperature=0.5, logprobs=4)
    (letter,), (opened,) = asked(choice(), options=own), asked(free(), options=own)
    assert msgspec.structs.astuple(letter.request.decoding)[:3] == (3, 0.5, 4)
    assert msgspec.structs.astuple(opened.request.decoding)[:3] == (99, 0.5, 0)


def test_a_reasoning_reader_has_room_to_think():
    thinker = Traits(reasoning=True)
    (trial,) = asked(choice(), traits=thinker, options=Options())
    assert msgspec.structs.astuple(trial.request.decoding)[:3] == (REASONED_TOKENS, 0.0, 0)
    (trial,) = asked(choice(), traits=thinker, options=Options(letter_tokens=9000))
    assert trial.request.decoding.max_tokens == 9000


@pytest.mark.parametrize("px", [0, 40])
def test_blank_is_black_of_the_same_size(tmp_path, px):
    Image.new("RGB", (100, 50), (200, 100, 50)).save(tmp_path / "7.png")
    case = choice(images=("7.png",))
    options = Options(images=("original", "blank"), px=px)
    found = asked(case, options=options, root=str(tmp_path))
    original, blank = (pixels(render(trial.request.pictures[0])) for trial in found)
    size = (20, 40) if px else (50, 100)
    assert original.shape[:2] == blank.shape[:2] == size
    assert np.array_equal(np.unique(blank), [0])
    assert original.min() > 0


# ---------------------------------------------------------------- what never travels


def assert_nothing_leaks(case, lender):
    """Walk every trial of a case under every setting: the wire holds no truth.

    A multiple-choice prompt may show the options and nothing that marks the right one: it is the
    same whichever of them is right.
    """
    settings = (READER, Traits(reasoning=True), Traits(modality="text"))
    for traits in settings:
        for edition in (CORRECTED, AUTHORS):
            found = asked(case, traits, ALL, edition, swap=lender, also=True)
            assert found
            for trial in found:
                wire = msgspec.json.encode(trial.request.for_reader(traits)).decode()
                hidden = [case.caption, lender.caption]
                if trial.condition["form"] != "mcq":
                    hidden += [case.truth, *case.options, *lender.options]
                assert not [text for text in hidden if text and text in wire]
            if case.kind == "mcq":
                for letter in LETTERS[: len(case.options)]:
                    other = msgspec.structs.replace(case, answer=letter, caption=None)
                    again = asked(other, traits, ALL, edition, swap=lender, also=True)
                    assert [t.request for t in again] == [t.request for t in found]


@pytest.mark.parametrize(
    "case",
    [
        choice(),
        choice(question="What is it?\nA) unum\nB) duo\nC) tria\nD) quattuor\nE) quinque"),
        choice(images=()),
        free(),
    ],
    ids=["mcq", "options in the question", "no image", "open"],
)
def test_neither_answer_nor_caption_ever_reaches_a_reader(case):
    assert_nothing_leaks(case, LENDER)


def test_the_walk_finds_a_leak():
    with pytest.raises(AssertionError):
        assert_nothing_leaks(free(question="Is it veritas?"), LENDER)
    with pytest.raises(AssertionError):
        assert_nothing_leaks(choice(question="Of arcanum, what is it?"), LENDER)
