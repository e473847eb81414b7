"""What a reader is asked, whose image is lent to whom, and the rows of what was said."""

from __future__ import annotations

import json
import time
from collections import Counter
from itertools import product
from pathlib import Path

import msgspec
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

from overread.benchmarks.m3cot.authors import options_of
from overread.benchmarks.m3cot.cases import (
    KINDS,
    STEPS,
    CaseRow,
    M3Case,
    Step,
    case_row,
)
from overread.benchmarks.m3cot.edition import AUTHORS, CORRECTED, FOLLOWS, IMAGES, MODES, Options
from overread.benchmarks.m3cot.trials import (
    ANSWER_FIRST,
    ANSWER_NOW,
    INSTRUCTIONS,
    REASONING_SO_FAR,
    Answer,
    answer_of,
    first_half,
    follow_ups,
    prompt_of,
    sentence_ends,
    swap_remarks,
    swaps,
    timed,
    timed_items,
    trials,
)
from overread.benchmarks.tables import CUT_OFF, frame_of, structs_in
from overread.case import Reply, Request, Traits, Trial
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
        assert text == prompt_of(item().question, AUTHORS, INSTRUCTIONS[trial.condition["mode"]])


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


PROMPTS = GOLDEN["prompts"]
CELLS = st.text(st.sampled_from("AZa.) \n\r\tx(Éß1"), max_size=60) | st.text(max_size=60)


@pytest.mark.parametrize("entry", PROMPTS, ids=lambda entry: entry["index"])
def test_the_authors_prompts_are_equal_to_the_letter(entry):
    cell = entry["question_as_read"]
    assert options_of(cell) == entry["options"]
    for mode in MODES:
        assert prompt_of(cell, AUTHORS, INSTRUCTIONS[mode]) == entry[mode]


@pytest.mark.parametrize("entry", PROMPTS, ids=lambda entry: entry["index"])
def test_ours_have_the_question_and_the_instruction_once(entry):
    cell = entry["question_as_read"]
    for mode in MODES:
        assert (
            prompt_of(cell, CORRECTED, INSTRUCTIONS[mode])
            == f"{cell.strip()}\n{INSTRUCTIONS[mode]}"
        )


def test_the_rule_alone_repeats_the_options():
    cell = "Pick\nA. x\nB. y"
    assert prompt_of(cell, AUTHORS, INSTRUCTIONS["cot"]).count("A. x") == 2
    assert prompt_of(cell, CORRECTED, INSTRUCTIONS["cot"]).count("A. x") == 1


@given(CELLS)
def test_whatever_the_cell_holds_the_instruction_comes_last(cell):
    for mode in MODES:
        for edition in (AUTHORS, CORRECTED):
            text = prompt_of(cell, edition, INSTRUCTIONS[mode])
            assert text.startswith(cell.strip())
            assert text.endswith("\n" + INSTRUCTIONS[mode])
    found = options_of(cell)
    assert all(len(letter) == 1 and letter.isascii() and letter.isupper() for letter in found)
    assert (
        prompt_of(cell, AUTHORS, INSTRUCTIONS["cot"]).count("\n")
        == cell.strip().count("\n") + len(found) + 1
    )


@given(CELLS, CELLS)
def test_what_follows_holds_the_question_and_the_reasoning(cell, reasoning):
    text = prompt_of(cell, CORRECTED, REASONING_SO_FAR, reasoning.strip(), ANSWER_NOW)
    rest = f"\n{REASONING_SO_FAR}\n{reasoning.strip()}\n{ANSWER_NOW}"
    assert text == cell.strip() + rest
    assert prompt_of(cell, CORRECTED, ANSWER_FIRST) == f"{cell.strip()}\n{ANSWER_FIRST}"


def test_what_follows_repeats_the_options_where_the_edition_does():
    cell = "Pick\nA. x"
    assert prompt_of(cell, AUTHORS, ANSWER_FIRST) == f"Pick\nA. x\nA. x\n{ANSWER_FIRST}"
    assert prompt_of(cell, AUTHORS, REASONING_SO_FAR, "It is.", ANSWER_NOW).startswith(
        f"Pick\nA. x\nA. x\n{REASONING_SO_FAR}"
    )


def sentences(text):
    ends = sentence_ends(text)
    return [text[a:b].strip() for a, b in zip([0, *ends], ends, strict=False)]


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("", []),
        (" \n ", []),
        ("One", ["One"]),
        ("One. Two.", ["One.", "Two."]),
        ("One! Two? Three…  Four", ["One!", "Two?", "Three…", "Four"]),
        ("It is 3.5 cm wide. So B.", ["It is 3.5 cm wide.", "So B."]),
        ("1. A CT.\n2. A mass, e.g. a cyst.", ["1. A CT.", "2. A mass, e.g. a cyst."]),
        ("**Step 1.** Look.\n\n- **A. Liver**\n", ["**Step 1.** Look.", "- **A. Liver**"]),
        ("Options: A. Liver or B. Spleen.", ["Options: A. Liver or B. Spleen."]),
        ('He said "no." Then left.', ['He said "no."', "Then left."]),
        ("肝脏。脾脏。", ["肝脏。", "脾脏。"]),
        ("a\r\nb\rc", ["a", "b", "c"]),
        ("It is A.\nBecause.", ["It is A.", "Because."]),
        ("A tumour? No. A cyst.", ["A tumour?", "No.", "A cyst."]),
        ("Hm... So.", ["Hm...", "So."]),
    ],
)
def test_sentences(text, parts):
    assert sentences(text) == parts


def test_half_is_the_smaller_half_and_none_of_one():
    assert first_half("One. Two. Three. Four.") == "One. Two."
    assert first_half("One. Two. Three.") == "One."
    assert first_half("One. Two.") == "One."
    assert first_half("One.") is None
    assert first_half("") is None


@given(st.text(st.sampled_from("ab1A.!? \n\r\t。)\"'*e.g"), max_size=80) | st.text(max_size=80))
def test_it_is_what_the_text_begins_with(text):
    ends = sentence_ends(text)
    assert ends == sorted(set(ends))
    assert all(part for part in sentences(text))
    assert bool(ends) == bool(text.strip())
    assert not ends or ends[-1] == len(text)
    half = first_half(text)
    if half is None:
        assert len(ends) < 2
    else:
        assert text.startswith(half)
        assert 0 < len(half.strip()) < len(text.strip())
        assert len(sentence_ends(half)) == len(ends) // 2


@pytest.mark.parametrize("run", [" ", "\t", ".", "*", ". ", ".*", "a ", "。", '."', "\n"])
def test_a_long_run_of_anything_is_read_at_once(run):
    """A model that repeats itself to its token limit must not hang a run."""
    text = "It is. " + run * 200_000 + " So."
    started = time.perf_counter()
    assert first_half(text) is not None
    assert time.perf_counter() - started < 5


def item_of(number, task="Diagnosis", image=None, patient=None):
    return M3Case(
        case_id=str(number),
        index=number,
        question="What?",
        answer="A",
        kind="short",
        task=task,
        image=image or f"images/{number}.png",
        steps=(Step("modality", "CT"),),
        patient=patient,
    )


UNIQUE = st.lists(st.sampled_from(["Cause", "Grading", "Symptom"]), max_size=30).map(
    lambda tasks: [item_of(n, task) for n, task in enumerate(tasks, start=1)]
)
SHARED = st.lists(
    st.tuples(
        st.sampled_from(["Cause", "Grading"]),
        st.integers(0, 5),
        st.sampled_from([None, None, "p", "q", "r"]),
    ),
    max_size=25,
).map(
    lambda rows: [item_of(n, t, f"images/{i}.png", p) for n, (t, i, p) in enumerate(rows, start=1)]
)
SEEDS = st.integers(0, 2**32 - 1)


@given(UNIQUE, SEEDS)
def test_where_images_are_unique_each_is_lent_once_within_its_task(cases, seed):
    lent = swaps(cases, seed)
    sizes = Counter(case.task for case in cases)
    assert set(lent) == {case.case_id for case in cases if sizes[case.task] > 1}
    for case in cases:
        if case.case_id in lent:
            assert lent[case.case_id].task == case.task
            assert lent[case.case_id].image != case.image
    assert len({lender.case_id for lender in lent.values()}) == len(lent)


def kin(case, cases):
    """All items of the task that are linked to one by images and patients."""
    found = [case]
    while True:
        more = [
            other
            for other in cases
            if other.task == case.task
            and other not in found
            and any(
                other.image == one.image
                or (one.patient is not None and other.patient == one.patient)
                for one in found
            )
        ]
        if not more:
            return found
        found += more


@given(SHARED, SEEDS)
def test_another_image_and_another_patient_wherever_the_task_has_one(cases, seed):
    lent = swaps(cases, seed)
    for case in cases:
        own = kin(case, cases)
        strangers = [other for other in cases if other.task == case.task and other not in own]
        lender = lent.get(case.case_id)
        assert lender in strangers if strangers else lender is None
    for task in {case.task for case in cases}:
        items = [case for case in cases if case.task == task]
        if all(2 * len(kin(case, cases)) <= len(items) for case in items):
            assert len({lent[case.case_id].case_id for case in items}) == len(items)


@given(SHARED, SEEDS, st.randoms())
def test_the_draw_knows_no_order(cases, seed, random):
    shuffled = random.sample(cases, len(cases))
    assert swaps(shuffled, seed) == swaps(cases, seed)


def test_the_seed_matters():
    cases = [item_of(n) for n in range(1, 40)]
    assert swaps(cases, 0) == swaps(cases, 0) != swaps(cases, 1)


def test_items_alone_in_their_task_are_told():
    cases = [item_of(1, "Cause"), item_of(2, "Cause"), item_of(3, "Symptom"), item_of(4, "Grading")]
    (line,) = swap_remarks(cases, swaps(cases, 0))
    assert "2 items have no other image in the same task (Symptom, Grading)" in line
    assert swap_remarks(cases[:2], swaps(cases[:2], 0)) == ()
    (line,) = swap_remarks(cases[:3], swaps(cases[:3], 0))
    assert line.startswith("1 item has")


@given(UNIQUE, st.integers(0, 40), SEEDS, st.randoms())
def test_timed_items_are_a_sample_in_the_cases_order(cases, n, seed, random):
    found = timed_items(cases, n, seed)
    assert len(found) == min(n, len(cases))
    assert list(found) == [case for case in cases if case in found]
    assert set(timed_items(cases, n + 3, seed)) >= set(found)
    assert set(timed_items(random.sample(cases, len(cases)), n, seed)) == set(found)


ANY = st.text(st.characters(exclude_categories=()), max_size=40)


def trial(mode="cot", image="original", follow="", timed=False):
    told = {"mode": mode, "image": image, "follow": follow, "timed": timed}
    return Trial("7", told, Request(()))


def row(reply, reason="", **told):
    return msgspec.structs.asdict(answer_of(trial(**told), reply, reason))


def kept(*rows):
    return frame_of(Answer, rows)


def test_a_reply_is_a_row():
    reply = Reply("It is A.", finish="stop", seconds=1.5, tokens_out=12)
    assert row(reply, mode="direct", image="blank") == {
        "case": "7",
        "mode": "direct",
        "image": "blank",
        "follow": "",
        "timed": False,
        "outcome": "answered",
        "text": "It is A.",
        "finish": "stop",
        "seconds": 1.5,
        "tokens_out": 12,
        "reason": None,
    }
    assert row(reply, follow="truncated", timed=True)["timed"] is True


def test_no_reply_is_unanswered_with_its_reason():
    found = row(None, "the server is down")
    assert (found["outcome"], found["reason"]) == ("unanswered", "the server is down")
    assert [found[name] for name in ("text", "finish", "seconds", "tokens_out")] == [None] * 4


@pytest.mark.parametrize(
    "reply", [Reply("no", refusal="I cannot."), Reply("A", finish="content_filter")]
)
def test_a_refusal_is_no_answer_and_keeps_its_words(reply):
    found = row(reply)
    assert (found["outcome"], found["text"]) == ("refused", reply.text)
    assert found["reason"] == (f"refusal: {reply.refusal}" if reply.refusal else None)


def test_an_empty_reply_is_a_reply_and_a_cut_one_says_so():
    assert (row(Reply(""))["outcome"], row(Reply(""))["text"]) == ("answered", "")
    assert row(Reply("It", finish="length"))["reason"] == CUT_OFF


def test_error_words_are_only_words():
    assert row(Reply("Refractive Error. Failed accommodation."))["outcome"] == "answered"


@given(
    st.builds(
        Reply,
        text=ANY,
        refusal=st.none() | ANY,
        finish=st.none() | ANY,
        tokens_out=st.none() | st.integers(),
        seconds=st.floats() | st.integers(0, 9),
    )
    | st.none(),
    ANY,
)
def test_whatever_is_said_can_be_stored(reply, reason):
    frame = kept(answer_of(trial(), reply, reason))
    frame.write_ipc(None).getvalue()
    assert frame["outcome"].item() in ("answered", "refused", "unanswered")
    if reply is not None:
        assert len(frame["text"].item()) == len(reply.text)


CASES = st.builds(
    M3Case,
    case_id=st.text(max_size=9),
    index=st.integers(1, 2**40),
    question=st.text(max_size=20),
    answer=st.text(max_size=20),
    kind=st.sampled_from(KINDS),
    task=st.text(max_size=9),
    image=st.text(max_size=9),
    steps=st.lists(st.builds(Step, st.sampled_from(STEPS), st.text(max_size=20)), max_size=4).map(
        tuple
    ),
    modality=st.none() | st.text(max_size=9),
    patient=st.none() | st.text(max_size=9),
)


@given(st.lists(CASES, max_size=4))
def test_cases_come_back_as_they_were(cases):
    rows = [case_row(case, other) for case, other in zip(cases, [None, *cases], strict=False)]
    frame = frame_of(CaseRow, rows)
    assert frame.columns[0] == "case"
    assert structs_in(frame, M3Case) == cases
    assert frame["swap"].to_list() == [None, *(case.case_id for case in cases)][: len(cases)]


@given(ANY)
def test_odd_texts_of_a_case_can_be_stored(text):
    case = M3Case(
        case_id=text,
        index=1,
        question=text,
        answer=text,
        kind="short",
        task=text,
        image=text,
        steps=(Step("feature", text),),
        patient=text,
    )
    frame_of(CaseRow, [case_row(case, case)]).write_ipc(None)
