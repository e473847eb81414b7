"""Controls do what they were built to do, on films whose truth is known."""

from __future__ import annotations

import asyncio
import csv
import io
import math

import numpy as np
import pytest
from PIL import Image

from overread.benchmarks.grounding.controls import (
    COMMON,
    EXPECTED,
    REVISION,
    asked_finding,
    grounding_controls,
)
from overread.benchmarks.grounding.prompts import DISPLAY_NAMES, MSCXR_FINDINGS, PHRASINGS, question
from overread.case import Prompt, PromptMessage, Reader, Shown
from overread.phantoms.chest import write_chest_set

CONTROLS = grounding_controls()
# Pixels a side, wire format, and one film in how many: large pictures take long to make.
WIRES = [(224, "png", 1), (224, "jpeg", 2), (512, "png", 4)]


class Film:
    """One case: its pixels at any size, under any mask; a picture is made once for all controls."""

    def __init__(self, folder, row, marker):
        self.row, self.marker = row, marker
        self.source = Image.open(folder / row["image_path"])
        self.made = {}
        self.finding, self.label, self.view = row["finding"], int(row["label"]), row["view"]

    def pixels(self, mask=None, px=224):
        grey = np.array(self.source.resize((px, px), Image.Resampling.BILINEAR))
        if mask:
            x, y, w, h = (int(self.row[f"{mask}_{side}"]) * px // 224 for side in "xywh")
            grey[y : y + h, x : x + w] = 0
        return grey

    def shown(self, *how):
        if how not in self.made:
            mask, px, wire = how
            self.made[how] = shown(self.pixels(mask, px), wire)
        return self.made[how]


@pytest.fixture(scope="module")
def films(tmp_path_factory):
    folder = write_chest_set(tmp_path_factory.mktemp("chest") / "set", 48, seed=21).parent
    with (folder / "phantom_truth.csv").open(newline="") as file:
        marker = {row["case_id"]: row["marker"] == "1" for row in csv.DictReader(file)}
    with (folder / "manifest.csv").open(newline="") as file:
        return [Film(folder, row, marker[row["case_id"]]) for row in csv.DictReader(file)]


def shown(pixels, wire="png"):
    data = io.BytesIO()
    image = Image.fromarray(pixels)
    if wire == "png":
        image.save(data, "PNG", compress_level=1)
    else:
        image.convert("RGB").save(data, "JPEG", quality=75)
    return Shown(f"image/{wire}", data.getvalue())


def ask(name, finding, picture=None, phrasing="default"):
    text = question("phantom", finding, phrasing=phrasing)
    parts = (text,) if picture is None else (picture, text)
    return asyncio.run(CONTROLS[name].reply(Prompt((PromptMessage("user", parts),))))


def says(name, film, mask=None, px=224, wire="png"):
    return ask(name, film.finding, film.shown(mask, px, wire)).text


@pytest.mark.parametrize("name", list(CONTROLS))
def test_a_control_is_a_reader_like_any_other(name):
    control = CONTROLS[name]
    assert isinstance(control, Reader)
    assert control.name == f"control:{name}"
    assert control.identity == f"control:{name}:{REVISION}"
    assert not control.traits.knows_truth
    assert control.traits.modality == ("text" if name == "prior" else "multimodal")


def test_there_are_six():
    assert set(EXPECTED) == set(CONTROLS)
    assert set(CONTROLS) == {"always-yes", "prior", "looks", "global", "shortcut", "unstable"}


@pytest.mark.parametrize("phrasing", PHRASINGS)
@pytest.mark.parametrize("finding", list(DISPLAY_NAMES))
def test_the_finding_is_read_from_the_question(finding, phrasing):
    assert asked_finding(question("phantom", finding, phrasing=phrasing)) == finding


@pytest.mark.parametrize("phrasing", PHRASINGS)
def test_a_question_about_a_sentence_asks_for_no_finding(phrasing):
    text = question("rexerr", "edema", "Edema is present.", phrasing)
    assert asked_finding(text) is None


@pytest.mark.parametrize("name", ["looks", "global", "shortcut"])
def test_without_a_picture_nothing_is_seen(name):
    assert ask(name, "edema").text == "No"


def test_always_yes(films):
    assert {says("always-yes", film, px=64) for film in films[:4]} == {"Yes"}
    assert ask("always-yes", "edema").text == "Yes"


def test_prior_answers_from_the_name_alone(films):
    for finding in MSCXR_FINDINGS:
        answers = {ask("prior", finding, shown(f.pixels(px=64))).text for f in films[:3]}
        assert answers == {"Yes" if finding in COMMON else "No"} == {ask("prior", finding).text}
    assert len(COMMON & set(MSCXR_FINDINGS)) >= 3


def test_unstable_hangs_on_any_pixel(films):
    pixels = films[0].pixels()
    answers = []
    for k in range(32):
        touched = pixels.copy()
        touched[k, k] ^= 1
        answers.append(ask("unstable", "edema", shown(touched)).text)
    assert 6 <= answers.count("Yes") <= 26
    assert ask("unstable", "edema", shown(pixels)) == ask("unstable", "edema", shown(pixels))


@pytest.mark.slow
@pytest.mark.parametrize(("px", "wire", "every"), WIRES)
def test_global_follows_the_exposure_and_no_mask_moves_it(films, px, wire, every):
    for film in films[::every]:
        said = says("global", film, px=px, wire=wire)
        assert said == ("Yes" if film.view == "AP" else "No")
        if film.label:
            assert says("global", film, "box", px, wire) == said
            assert says("global", film, "irrelevant_box", px, wire) == said


@pytest.mark.slow
@pytest.mark.parametrize(("px", "wire", "every"), WIRES)
def test_shortcut_follows_the_marker_and_no_mask_moves_it(films, px, wire, every):
    for film in films[::every]:
        expected = "Yes" if film.marker else "No"
        assert says("shortcut", film, px=px, wire=wire) == expected
        if film.label:
            assert says("shortcut", film, "box", px, wire) == expected
            assert says("shortcut", film, "irrelevant_box", px, wire) == expected


@pytest.mark.slow
@pytest.mark.parametrize(("px", "wire", "every"), WIRES)
def test_looks_sees_the_finding_and_only_where_it_is(films, px, wire, every):
    films = films[::every]
    right = [(says("looks", f, px=px, wire=wire) == "Yes") == bool(f.label) for f in films]
    assert np.mean(right) >= 0.85
    seen = [f for f, ok in zip(films, right, strict=True) if ok and f.label]
    hidden = [says("looks", f, "box", px, wire) == "No" for f in seen]
    kept = [says("looks", f, "irrelevant_box", px, wire) == "Yes" for f in seen]
    assert np.mean(hidden) >= 0.9
    assert np.mean(kept) >= 0.9


def test_any_abnormality_is_the_likeliest_of_all(films):
    for film in films[:12]:
        picture = shown(film.pixels())
        each = [_p_yes(ask("looks", f, picture)) for f in MSCXR_FINDINGS]
        assert _p_yes(ask("looks", "no_finding", picture)) == pytest.approx(max(each))


@pytest.mark.parametrize("name", ["looks", "global"])
def test_graded_controls_report_probabilities_that_agree_with_the_word(films, name):
    for film in films[:12]:
        reply = ask(name, film.finding, shown(film.pixels()))
        assert reply.finish == "stop"
        assert sum(math.exp(p) for _, p in reply.logprobs) == pytest.approx(1.0)
        assert reply.text == max(reply.logprobs, key=lambda pair: pair[1])[0]


@pytest.mark.parametrize("name", ["always-yes", "prior", "shortcut", "unstable"])
def test_the_others_report_none(films, name):
    assert ask(name, "edema", shown(films[0].pixels(px=64))).logprobs is None


@pytest.mark.parametrize("finding", ["fracture", "support_devices"])
def test_looks_sees_nothing_it_has_no_measure_for(films, finding):
    assert ask("looks", finding, shown(films[0].pixels())).text == "No"


def _p_yes(reply):
    return math.exp(dict(reply.logprobs)["Yes"])
