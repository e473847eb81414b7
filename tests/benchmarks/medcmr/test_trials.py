"""What a reader is asked: forms, images, orders; and that nothing true travels with it."""

from __future__ import annotations

import msgspec
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

from overread.benchmarks.medcmr.cases import LETTERS, MedCase
from overread.benchmarks.medcmr.edition import AUTHORS, CORRECTED, IMAGES, Options
from overread.benchmarks.medcmr.orders import shown_order
from overread.benchmarks.medcmr.prompts import mcq, open_ended
from overread.benchmarks.medcmr.trials import REASONED_TOKENS, trials
from overread.case import Picture, Traits
from overread.imaging import pixels, render

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
            assert text == mcq(case.question, options)
        else:
            assert text == open_ended(case.question)


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
