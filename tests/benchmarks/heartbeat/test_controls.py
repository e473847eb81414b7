"""Controls: they answer any question in its own form, and are found to be what they are."""

from __future__ import annotations

import asyncio
import io
from functools import cache
from itertools import product

import msgspec
import numpy as np
import pytest
from PIL import Image

from overread.benchmarks.heartbeat.answers import parse_strict
from overread.benchmarks.heartbeat.authors.rules import authors_window
from overread.benchmarks.heartbeat.cases import HeartbeatCase, Window
from overread.benchmarks.heartbeat.controls import (
    EXPECTED,
    asked_of,
    expected,
    heartbeat_controls,
    recovered_controls,
)
from overread.benchmarks.heartbeat.edition import AUTHORS, CONTEXTS, CORRECTED, FORMATS
from overread.benchmarks.heartbeat.measures import measure
from overread.benchmarks.heartbeat.trials import FAMILIES, Numbers, fixed_window, question
from overread.benchmarks.heartbeat.volumes import (
    area_curve,
    cavity_areas,
    ejected,
    red_areas,
    smoothed,
)
from overread.case import Measure, Prompt, PromptMessage, Reader, Shown, ShownClip
from overread.imaging import pixels
from overread.phantoms.heart import echo
from overread.phantoms.heart_body import cavity, motion, opening, patient, rhythm, volumes
from support.heart_answers import rows, tables_of

CONTROLS = heartbeat_controls()
HEARTS = 40


def prompt_of(text, frames=(), digest=""):
    shown = tuple(f if isinstance(f, Shown) else _png(f) for f in frames)
    parts = (ShownClip(shown, len(shown), "images"), text) if shown else (text,)
    return Prompt((PromptMessage("user", parts),), digest=digest)


def _png(frame):
    file = io.BytesIO()
    Image.fromarray(frame).save(file, "PNG")
    return Shown("image/png", file.getvalue())


def said(name, prompt):
    return asyncio.run(CONTROLS[name].reply(prompt)).text


def ask(task="t1", context="original", output="edv_esv", count=24, high=None, family="structured",
        wording="clean"):  # fmt: skip
    numbers = Numbers(count, 0, count - 1 if high is None else high) if task == "t1" else None
    return question(task, context, output, numbers, family, wording).text


def every_question():
    for wording, family, context in product(("clean", "published"), FAMILIES, CONTEXTS):
        for output in FORMATS:
            yield "t1", context, output, family, wording
        for output in ("edv", "esv"):
            yield "t2", context, output, family, wording


# ---------------------------------------------------------------- questions


def test_every_question_is_understood_in_every_wording():
    for task, context, output, family, wording in every_question():
        asked = asked_of(ask(task, context, output, 31, 33, family, wording))
        assert asked.phases == tuple(output.upper().split("_"))
        limits = (31, 0, 33) if task == "t1" else (2, 0, 1)
        assert (asked.count, asked.low, asked.high) == limits


@pytest.mark.parametrize("name", CONTROLS)
def test_every_reply_has_the_form_that_was_asked_for(name):
    blank = [np.full((112, 112), 9, np.uint8)] * 2
    for task, context, output, family, wording in every_question():
        text = ask(task, context, output, 24, None, family, wording)
        reply = said(name, prompt_of(text, blank, digest="ab"))
        found = parse_strict(reply, output, context)
        named = [x for x in (found.ed, found.es) if x is not None]
        assert len(named) == len(output.split("_"))
        assert not found.outside(24 if task == "t1" else 2)
        wanted = "LARGEST_AREA_INDEX" if context == "non_medical" else "EDV"
        assert ("edv" in output) == (wanted in reply)
        assert reply.startswith("Frame: ") == (task == "t1")


@pytest.mark.parametrize("name", CONTROLS)
def test_a_question_for_no_frame_gets_none(name):
    assert not any(c.isdigit() for c in said(name, prompt_of("What number do you see?")))


def test_controls_are_readers_with_names_and_a_revision():
    assert set(CONTROLS) == set(EXPECTED)
    for key, control in CONTROLS.items():
        assert isinstance(control, Reader)
        assert control.name == f"control:{key}"
        assert control.identity == f"control:{key}:3"
        assert not control.traits.knows_truth
    # All but chance give one answer to one question, so that passes need not be repeated.
    assert [k for k, c in CONTROLS.items() if c.traits.temperature is None] == ["random"]


# ---------------------------------------------------------------- those that do not look


def test_what_each_says():
    both, turned = ask(), ask(output="esv_edv")
    assert said("first-frame", prompt_of(both)) == "Frame: EDV=0, ESV=0"
    assert said("middle-frame", prompt_of(both)) == "Frame: EDV=12, ESV=12"
    assert said("order-biased", prompt_of(both)) == "Frame: EDV=11, ESV=12"
    assert said("order-biased", prompt_of(turned)) == "Frame: ESV=11, EDV=12"
    assert said("order-biased", prompt_of(ask("t2", output="esv"))) == "ESV=0"
    assert said("order-biased", prompt_of(ask(count=1))) == "Frame: EDV=0, ESV=0"
    assert said("length-prior", prompt_of(ask("t2", output="esv"))) == "ESV=1"
    # l = 17: 11 frames before and 11 after.
    assert said("length-prior", prompt_of(ask(count=40))) == "Frame: EDV=11, ESV=28"


def test_random_goes_by_the_prompts_digest_and_is_uniform():
    text = ask(count=6)
    one = [said("random", prompt_of(text, digest=f"{k:x}")) for k in range(300)]
    assert one == [said("random", prompt_of(text, digest=f"{k:x}")) for k in range(300)]
    found = [parse_strict(reply, "edv_esv", "original") for reply in one]
    for phase in ("ed", "es"):
        counts = np.bincount([getattr(f, phase) for f in found], minlength=6)
        assert counts.size == 6
        assert counts.min() > 25
    assert 25 < sum(f.ed == f.es for f in found) < 80


def test_random_guesses_within_the_range_that_is_named_not_the_frames_that_are_shown():
    text = ask(count=4, high=7, wording="published")
    said_of = [said("random", prompt_of(text, digest=f"{k:x}")) for k in range(200)]
    found = {parse_strict(reply, "edv_esv", "original").ed for reply in said_of}
    assert found == set(range(8))


# ---------------------------------------------------------------- the one that does


@cache
def windows():
    """Fixed windows of new phantoms: frames, with the overlay, masks and where the phases are."""
    found = []
    seed = 0
    while len(found) < HEARTS:
        rng = np.random.default_rng([99, seed])
        seed += 1
        person = patient(rng)
        kept = rhythm(rng, person.ef)
        ed, es = kept.phases
        case = HeartbeatCase(case_id=f"h{seed}", clip="", frames=kept.frames, ed=ed, es=es)
        window = fixed_window(case, 24, 0)
        if not isinstance(window, Window):
            continue
        part = slice(window.start, window.start + window.count)
        moved = motion(rng, person, volumes(kept), still=False).part(part)
        frames = echo(rng, person, moved, opening(kept)[part])
        masks = cavity(person, moved)
        shown = [[_png(f) for f in some] for some in (frames, overlaid(frames, masks))]
        found.append((*shown, masks, window))
    return found


def overlaid(frames, masks):
    red = np.repeat(frames[..., None], 3, axis=3)
    red[masks] = (0.5 * red[masks] + (127.5, 0, 0)).astype(np.uint8)
    return red


def test_area_is_within_one_frame_without_the_overlay():
    right = 0
    for frames, _, _, window in windows():
        found = parse_strict(said("area", prompt_of(ask(), frames)), "edv_esv", "original")
        right += abs(found.ed - window.ed) <= 1 and abs(found.es - window.es) <= 1
    assert right >= 0.95 * HEARTS


def test_area_is_exact_with_the_overlay():
    for _, shown, masks, window in windows():
        text = ask(context="non_medical", output="esv_edv")
        reply = said("area", prompt_of(text, shown))
        areas = masks.sum(axis=(1, 2))
        assert reply == (
            f"Frame: SMALLEST_AREA_INDEX={areas.argmin()}, LARGEST_AREA_INDEX={areas.argmax()}"
        )
        assert np.array_equal(red_areas([pixels(f) for f in shown]), areas)
        assert (areas.argmax(), areas.argmin()) == (window.ed, window.es)


def test_area_tells_two_frames_apart():
    for frames, reds, _, window in windows():
        for order in ((window.ed, window.es), (window.es, window.ed)):
            at = order.index(window.es)
            plain = prompt_of(ask("t2", output="esv"), [frames[k] for k in order])
            assert said("area", plain) == f"ESV={at}"
            red = prompt_of(ask("t2", "segmented", "edv"), [reds[k] for k in order])
            assert said("area", red) == f"EDV={1 - at}"


def test_the_ventricle_is_found_in_pictures_of_another_size():
    frames, _, _, window = windows()[0]
    large = [np.asarray(Image.fromarray(pixels(f)).resize((336, 336))) for f in frames]
    curve = area_curve(large)
    assert abs(int(curve.argmax()) - window.ed) <= 1
    assert abs(int(curve.argmin()) - window.es) <= 1


def test_pictures_without_a_ventricle_have_no_area():
    rng = np.random.default_rng(0)
    assert not cavity_areas(np.full((5, 112, 112), 7, np.uint8)).any()
    sizes = [np.zeros((8, 8), np.uint8), np.zeros((9, 9), np.uint8)]
    assert not area_curve(sizes).any()
    # Any picture at all gets a number.
    for shape in ((3, 1, 1), (2, 5, 300), (1, 112, 112)):
        assert np.isfinite(cavity_areas(rng.integers(0, 256, shape, np.uint8))).all()


@pytest.mark.parametrize("side", [-1, 1], ids=["left", "right"])
def test_a_wall_that_moves_on_either_side_changes_the_area(side):
    y, x = np.mgrid[:112, :112]
    heart = (y - 44) ** 2 + (x - 64) ** 2 < 15**2
    frames = []
    for out in (0, 2, 4, 6):
        away = ((y - 44) / 15) ** 2 + ((x - 64) / (15 + out)) ** 2 < 1
        grown = heart | (away & ((x - 64) * side > 0))
        frames.append(np.where(grown, 20, 160).astype(np.uint8))
    areas = cavity_areas(np.stack(frames))
    assert (np.diff(areas) > 0).all()


def test_what_is_red_stands_out_from_green_and_blue():
    faint, plain, purple = ([140, 90, 90], [128, 0, 0], [200, 40, 190])
    shown = [np.full((4, 4, 3), colour, np.uint8) for colour in (faint, plain, purple)]
    assert red_areas(shown).tolist() == [16, 16, 0]


def test_smoothing_keeps_a_line_and_halves_a_spike():
    assert smoothed(np.array([0.0, 0, 8, 0, 0])).tolist() == [0, 2, 4, 2, 0]
    line = np.arange(9.0)
    assert smoothed(line)[1:-1].tolist() == line[1:-1].tolist()
    assert smoothed(np.array([3.0, 1])).tolist() == [3, 1]


# ---------------------------------------------------------------- recovery


@cache
def run(edition):
    """A run of every control over phantoms' windows; the authors' are shown to none."""
    some = []
    for name, output in product(CONTROLS, ("edv_esv", "esv_edv")):
        answers, truths, counts = [], [], []
        for number in range(HEARTS):
            shown, _, _, window = windows()[number]
            if edition is AUTHORS:
                window = authors_window(200, 200 + window.es - window.ed, 1000)
                shown = ()
            text = ask(output=output, count=window.count)
            asked = prompt_of(text, shown if name == "area" else (), digest=f"{number:x}")
            found = parse_strict(said(name, asked), output, "original")
            answers.append([[(found.ed, found.es)]])
            truths.append([(window.ed, window.es)])
            counts.append(window.count)
        reader = f"control:{name}"
        some += rows(answers, truths, wanted=output, reader=reader, count=counts)
    rules = msgspec.structs.replace(edition, boot=500)
    return measure(tables_of(some), rules)


def test_every_control_is_recovered_in_windows_of_one_length():
    found = recovered_controls(run(CORRECTED))
    assert [one.control for one in found] == list(EXPECTED)
    assert all(one.ok for one in found), found
    assert {one.control: one.expected for one in found} == EXPECTED


def test_the_length_gives_the_answer_away_in_the_authors_windows_alone():
    authors = {one.control: one for one in recovered_controls(run(AUTHORS), "two_thirds")}
    assert authors["length-prior"].ok
    assert authors["length-prior"].expected != EXPECTED["length-prior"]
    assert all(one.ok for name, one in authors.items() if name != "area"), authors
    # Whoever is taken for another is not recovered_controls.
    wrong = {one.control: one for one in recovered_controls(run(AUTHORS), "fixed")}
    assert not wrong["length-prior"].ok
    wrong = {one.control: one for one in recovered_controls(run(CORRECTED), "two_thirds")}
    assert not wrong["length-prior"].ok


def test_a_control_that_is_not_what_it_should_be_is_seen():
    other = {"control:area": "control:random", "control:random": "control:area"}
    swapped = [
        msgspec.structs.replace(m, reader=other.get(m.reader, m.reader)) for m in run(CORRECTED)
    ]
    found = {one.control: one.ok for one in recovered_controls(swapped)}
    assert not found["area"]
    assert not found["random"]
    assert found["middle-frame"]
    assert recovered_controls([]) == []


def test_a_number_that_is_missing_recovers_nothing():
    lost = [
        msgspec.structs.replace(m, value=None, low=None)
        if (m.reader, m.measure) == ("control:area", "skill")
        else m
        for m in run(CORRECTED)
    ]
    assert not {one.control: one.ok for one in recovered_controls(lost)}["area"]


def of_control(name, **values):
    """Measures of T1 in two contexts: `mae=(0, 1)` is one value each, of `skill` the low bound."""
    made = []
    for key, both in values.items():
        for context, value in zip(("original", "segmented"), both, strict=True):
            by = {"task": "t1", "context": context}
            number = {"low": value, "value": 0.9} if key == "skill" else {"value": value}
            made.append(Measure(reader=f"control:{name}", measure=key, by=by, **number))
    return made


@pytest.mark.parametrize(
    ("name", "values", "ok"),
    [
        ("area", {"mae": (0, 1), "skill": (0.6, 0.9)}, True),
        ("area", {"mae": (0, 1.1), "skill": (0.6, 0.9)}, False),
        ("area", {"mae": (0, 1), "skill": (0.5, 0.9)}, False),
        ("area", {"mae": (0, None), "skill": (0.6, 0.9)}, False),
        ("area", {"mae": (0, 0), "skill": (0.6, None)}, False),
        ("random", {"mae": (8, 9), "skill": (-0.4, 0)}, True),
        ("random", {"mae": (8, 9), "skill": (-0.4, 0.01)}, False),
        ("random", {"mae": (8, None), "skill": (-0.4, 0)}, False),
        ("order-biased", {"mae": (8, 9), "skill": (-1, 0), "order_bias": (0.5, 0.46)}, True),
        ("order-biased", {"mae": (8, 9), "skill": (-1, 0), "order_bias": (0.5, 0.45)}, False),
        ("order-biased", {"mae": (8, 9), "skill": (-1, 0)}, True),
    ],
)
def test_every_context_must_bear_the_word_out(name, values, ok):
    (one,) = recovered_controls(of_control(name, **values))
    assert (one.control, one.ok) == (name, ok)
    assert (one.found == one.expected) == ok


@pytest.mark.parametrize(("worst", "ok"), [(0, True), (0.5, False)])
def test_who_reads_the_length_makes_no_error_at_all(worst, ok):
    made = of_control("length-prior", mae=(0, worst), skill=(0.9, 0.9))
    assert [one.ok for one in recovered_controls(made, "two_thirds")] == [ok]


def test_expectations_differ_by_the_window_in_one_control():
    fixed, authors = expected("fixed"), expected("two_thirds")
    assert {name for name in fixed if fixed[name] != authors[name]} == {"length-prior"}


# ---------------------------------------------------------------- where a curve turns


@pytest.mark.parametrize(
    ("curve", "largest", "smallest"),
    [
        ([5, 7, 9, 7, 5, 3, 1, 3, 5, 7], 2, 6),
        ([9, 8, 6, 4, 2, 1, 3, 5, 6, 6.5], 0, 5),  # the window begins with the largest
        ([1, 3, 5, 7, 9], 4, 0),  # it only rises: there is no turn to go by
        ([8, 9, 8.8, 7, 4, 1, 3, 6, 8, 9.5], 1, 5),  # filling nearly to the largest is no phase
        ([8, 9, 8, 7, 4, 1, 3, 6, 9, 13], 1, 5),  # nor is filling beyond it
        ([3, 2, 1, 3, 5, 7, 9, 8], 6, 2),  # end-systole first: the rise is the whole of the curve
        ([9, np.nan, 6, 4, 2, 1, np.nan, 5], 0, 5),  # what is not known is passed over
        ([4, 4, 4], 0, 0),
        ([2, 1], 0, 1),
    ],
)
def test_the_phases_are_where_the_ventricle_empties(curve, largest, smallest):
    assert ejected(np.array(curve, float)) == (largest, smallest)
