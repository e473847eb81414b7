"""What a reader is asked: modes, images, what follows its reasoning, and what is timed."""

from __future__ import annotations

import json
from itertools import product
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from overread.benchmarks.m3cot.cases import M3Case, Step
from overread.benchmarks.m3cot.edition import AUTHORS, CORRECTED, FOLLOWS, IMAGES, MODES, Options
from overread.benchmarks.m3cot.prompts import ANSWER_FIRST, ANSWER_NOW, INSTRUCTIONS, question
from overread.benchmarks.m3cot.trials import follow_ups, timed, trials
from overread.case import Reply, Traits
from overread.imaging import pixels, render

GOLDEN = json.loads(
    (Path(__file__).parents[2] / "golden" / "m3cot" / "m3cot_prompts.json").read_text("utf-8")
)
ALL = Options(images=IMAGES, follow=FOLLOWS)
READER = Traits()


def item(number=7, **fields):
    known = {
        "case_id": str(number),
        "index": number,
        "question": "Which? (Select one option)\nA. secretum\nB. y",
        "answer": "A",
        "kind": "single",
        "task": "Cause",
        "image": f"images/{number}.png",
        "steps": (Step("modality", "arcanum"), Step("conclusion", "mysterium")),
    }
    return M3Case(**known | fields)


LENDER = item(8)


def asked(case=None, traits=READER, edition=CORRECTED, options=ALL, root="/data", swap=LENDER):
    return list(trials(case or item(), traits, edition, options, root, swap))


def named(trial):
    return tuple(trial.condition.values())


def test_every_image_in_every_mode():
    found = asked()
    assert [named(trial) for trial in found] == [
        (mode, image, "", False) for image, mode in product(IMAGES, MODES)
    ]
    assert list(found[0].condition) == ["mode", "image", "follow", "timed"]
    assert {trial.case for trial in found} == {"7"}


def test_an_item_alone_in_its_task_has_no_swap():
    assert {trial.condition["image"] for trial in asked(swap=None)} == {"original", "blank"}


def test_one_user_turn_with_the_image_before_the_text():
    for trial in asked(edition=AUTHORS):
        (message,) = trial.request.messages
        picture, text = message.parts
        assert message.role == "user"
        assert picture.wire == "png"
        lent = trial.condition["image"] == "swap"
        assert picture.source.name == ("images/8.png" if lent else "images/7.png")
        assert text == question(item().question, trial.condition["mode"], AUTHORS)


def test_no_request_holds_the_answer_or_a_gold_step():
    case = item(answer="veritas")
    said = [(t, Reply("One. Two.")) for t in asked(case)]
    rest = [*follow_ups(case, said, READER, CORRECTED, ALL, "/data")]
    for trial in (*asked(case), *rest, *timed(case, READER, CORRECTED, ALL, "/data")):
        assert not {"veritas", "arcanum", "mysterium"} & set(str(trial.request).split("'"))
        assert "veritas" not in str(trial.request)


def test_decoding_is_the_papers_unless_the_reader_has_its_own():
    (first, *_) = asked()
    assert (first.request.decoding.max_tokens, first.request.decoding.temperature) == (3000, 0.1)
    own = Traits(max_tokens=128, temperature=0.7)
    seen = first.request.for_reader(own).decoding
    assert (seen.max_tokens, seen.temperature) == (128, 0.7)
    (other, *_) = asked(options=Options(max_tokens=9, temperature=0.0))
    assert (other.request.decoding.max_tokens, other.request.decoding.temperature) == (9, 0.0)


def test_a_reader_without_text_is_not_asked():
    blind = Traits(modality="vision")
    assert asked(traits=blind) == []
    assert list(timed(item(), blind, CORRECTED, ALL, "/data")) == []
    assert list(follow_ups(item(), [], blind, CORRECTED, ALL, "/data")) == []


def test_to_a_text_only_reader_all_images_are_one_request():
    deaf = Traits(modality="text")
    seen = {(t.condition["mode"], t.request.for_reader(deaf)) for t in asked(traits=deaf)}
    assert len(seen) == len(MODES)


# ---------------------------------------------------------------- pixels


@pytest.mark.parametrize(
    "entry",
    [entry for entry in GOLDEN["image_sizes"] if not isinstance(entry["max_768"], str)],
    ids=lambda entry: f"{entry['width']}x{entry['height']}",
)
def test_pictures_have_the_authors_size_and_blank_is_black_of_that_size(tmp_path, entry):
    size = (entry["width"], entry["height"])
    Image.new("RGB", size, (200, 100, 50)).save(tmp_path / "7.png", compress_level=1)
    case = item(image="7.png")
    found = asked(
        case, options=Options(modes=("cot",), images=("original", "blank")), root=str(tmp_path)
    )
    original, blank = (pixels(render(trial.request.pictures[0])) for trial in found)
    assert original.shape[1::-1] == blank.shape[1::-1] == tuple(entry["max_768"])
    assert np.array_equal(np.unique(blank), [0])
    assert original.min() > 0


def test_the_cap_is_an_option(tmp_path):
    Image.new("L", (100, 50), 9).save(tmp_path / "7.png")
    options = Options(modes=("cot",), px=40)
    (trial,) = asked(item(image="7.png"), options=options, root=str(tmp_path))
    assert pixels(render(trial.request.pictures[0])).shape == (20, 40)


# ---------------------------------------------------------------- what follows


def following(text, options=ALL, **reply):
    said = [
        (
            trial,
            Reply(text, **reply)
            if named(trial) == ("cot", "original", "", False)
            else Reply("X. Y. Z."),
        )
        for trial in asked()
    ]
    return list(follow_ups(item(), said, READER, CORRECTED, options, "/data"))


def test_the_reader_is_asked_again_with_half_of_its_own_reasoning():
    first, second = following("A CT. A mass. A cyst. So A.")
    assert named(first) == ("cot", "original", "truncated", False)
    assert named(second) == ("cot", "original", "answer_first", False)
    _, text = first.request.messages[0].parts
    assert text.startswith(item().question)
    assert "A CT. A mass.\n" in text
    assert "A cyst" not in text
    assert text.endswith(ANSWER_NOW)
    assert INSTRUCTIONS["cot"] not in text
    assert second.request.messages[0].parts[1] == f"{item().question}\n{ANSWER_FIRST}"
    assert first.request.pictures == second.request.pictures == asked()[0].request.pictures


def test_no_reasoning_no_half():
    for found in (following("A."), following(""), following("One. Two.", refusal="no")):
        assert [named(trial)[2] for trial in found] == ["answer_first"]
    unanswered = follow_ups(item(), [], READER, CORRECTED, ALL, "/data")
    assert [named(trial)[2] for trial in unanswered] == ["answer_first"]


def test_only_what_was_chosen_follows():
    assert following("One. Two.", Options()) == []
    (only,) = following("One. Two.", Options(follow=("truncated",)))
    assert named(only)[2] == "truncated"


# ---------------------------------------------------------------- timing


def test_both_modes_are_timed_in_turn_and_asked_anew():
    orders = set()
    for number in range(1, 30):
        case = item(number)
        found = list(timed(case, READER, CORRECTED, Options(modes=("cot",)), "/data"))
        orders.add(tuple(trial.condition["mode"] for trial in found))
        usual = {named(t)[0]: t for t in asked(case, options=Options())}
        for trial in found:
            assert named(trial)[1:] == ("original", "", True)
            assert trial.request == usual[named(trial)[0]].request
            assert trial.repeat != usual[named(trial)[0]].repeat
    # Neither mode always finds the image warm.
    assert orders == {MODES, MODES[::-1]}
