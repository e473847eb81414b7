"""Pictures enlarged and clips played, by hand and by keyboard alone."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from support.chromium import Heard, Open

if TYPE_CHECKING:
    from playwright.sync_api import Locator, Page

FOCUSED = "() => document.activeElement.className || document.activeElement.tagName"
# The middle pixel of the enlarged picture, and how often each grey occurs on the canvas.
MIDDLE = """canvas => [...canvas.getContext("2d")
    .getImageData(canvas.width >> 1, canvas.height >> 1, 1, 1).data]"""
GREYS = """canvas => {
    const bytes = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height).data;
    const counts = new Array(256).fill(0);
    for (let at = 0; at < bytes.length; at += 4) counts[bytes[at]]++;
    return counts;
}"""


class Looked:
    """The cases of one run, and the dialog over them."""

    def __init__(self, page: Page, run: str) -> None:
        self.page, self.run = page, run
        self.cards: list[dict[str, Any]] = json.loads(
            page.locator(f"#cards-{run}").text_content() or ""
        )["cards"]
        page.evaluate("id => { location.hash = id; }", f"cases-{run}")
        self.case: Locator = page.locator(f"#cases-{run} .case")
        self.dialog: Locator = page.locator("dialog.viewer")
        self.canvas: Locator = self.dialog.locator(".viewer-stage canvas")

    def open(self) -> None:
        self.case.focus()
        self.page.keyboard.press("Enter")
        self.dialog.wait_for()
        self.page.wait_for_function(
            "() => document.querySelector('.viewer-zoom').textContent !== ''"
        )

    def press(self, *keys: str) -> None:
        for key in keys:
            self.page.keyboard.press(key)

    def told(self, part: str) -> str:
        return self.dialog.locator(part).inner_text()


def unheard(heard: Heard) -> bool:
    """Nothing was said but that these tests look at pixels often."""
    return not [line for line in heard.trouble if "willReadFrequently" not in line]


@pytest.fixture(scope="module")
def own_page(module_opened: Open, runs: Path) -> tuple[Page, Heard]:
    return module_opened(runs / "report.html")


@pytest.fixture
def films(own_page: tuple[Page, Heard]) -> Iterator[Looked]:
    made = Looked(own_page[0], "grounding")
    yield made
    if made.dialog.count():
        made.press("Escape")
    assert unheard(own_page[1])


@pytest.fixture
def clips(own_page: tuple[Page, Heard]) -> Iterator[Looked]:
    made = Looked(own_page[0], "heartbeat")
    yield made
    if made.dialog.count():
        made.press("Escape")
    assert unheard(own_page[1])


def test_by_keyboard_alone_to_the_enlarged_picture_and_back(films: Looked) -> None:
    films.open()
    card = films.cards[0]
    assert films.dialog.get_attribute("aria-label") == card["title"]
    assert films.page.evaluate("document.activeElement.className") == "viewer-stage"
    count = len(card["slides"])
    assert films.told(".viewer-label").startswith(f"1 of {count}: original, 224 × 224")
    films.press("n", "n", "p")
    assert films.told(".viewer-label").startswith(f"2 of {count}: finding covered")
    # Beside the picture stand the answers that were given for it.
    answers = [
        said["reader"]
        for said in card["said"]
        for one in said["answers"]
        if one["shown"] == "target_mask"
    ]
    assert films.dialog.locator(".viewer-said .viewer-who").all_inner_texts() == answers
    films.press("Escape")
    films.dialog.wait_for(state="detached")
    assert films.page.evaluate(FOCUSED) == "frame"
    # From a picture itself, and back to that very one.
    films.press("Tab", "Enter")
    films.dialog.wait_for()
    films.press("Escape")
    films.dialog.wait_for(state="detached")
    assert films.case.locator(".frame").nth(1).evaluate("one => one === document.activeElement")


def test_window_and_level_change_the_pixels_as_they_say(films: Looked) -> None:
    """DICOM's linear function of the eight bits, to the digit."""
    films.open()
    films.press("1")  # one to one: no pixel is mixed with another
    before = films.canvas.evaluate(GREYS)
    films.press("W", "W", "W", "l")
    width, level = 256 - 48, 128 + 8
    assert films.told(".viewer-window") == f"W {width} L {level}"

    def shown(value: int) -> int:
        middle, rest = level - 0.5, width - 1
        if value <= middle - rest / 2:
            return 0
        if value > middle + rest / 2:
            return 255
        return round(((value - middle) / rest + 0.5) * 255)

    expected = [0] * 256
    for value, times in enumerate(before):
        expected[shown(value)] += times
    # The black around the film is no part of it.
    outside = before[0] and films.canvas.evaluate("c => c.width * c.height - 224 * 224")
    expected[shown(0)] -= outside
    expected[0] += outside
    assert films.canvas.evaluate(GREYS) == expected
    assert expected != before
    films.press("r", "1")
    assert films.canvas.evaluate(GREYS) == before
    middle = films.canvas.evaluate(MIDDLE)
    films.press("i")
    assert films.canvas.evaluate(MIDDLE)[:3] == [255 - value for value in middle[:3]]
    films.press("r")
    films.dialog.get_by_label("window width").fill("100")
    assert films.told(".viewer-window") == "W 100 L 128"


def test_zoom_and_pan_by_wheel_drag_and_keys(films: Looked) -> None:
    films.open()
    fitted = films.told(".viewer-zoom")
    place = films.canvas.bounding_box()
    assert place is not None
    x, y = place["x"] + place["width"] / 2, place["y"] + place["height"] / 2
    films.page.mouse.move(x, y)
    middle = films.canvas.evaluate(MIDDLE)
    films.page.mouse.wheel(0, -300)
    films.page.wait_for_function(
        "was => document.querySelector('.viewer-zoom').textContent !== was", arg=fitted
    )
    assert films.canvas.evaluate(MIDDLE) == pytest.approx(middle, abs=12)
    assert int(films.told(".viewer-zoom").split()[0]) > int(fitted.split()[0])
    view = films.dialog.locator(".viewer-stage svg").get_attribute("viewBox")
    films.page.mouse.down()
    films.page.mouse.move(x + 80, y + 40)
    films.page.mouse.up()
    dragged = films.dialog.locator(".viewer-stage svg").get_attribute("viewBox")
    assert dragged != view
    films.press("ArrowLeft")
    assert films.dialog.locator(".viewer-stage svg").get_attribute("viewBox") != dragged
    # The right button changes the window.
    films.page.mouse.move(x, y)
    films.page.mouse.down(button="right")
    films.page.mouse.move(x - 60, y + 20)
    films.page.mouse.up(button="right")
    assert films.told(".viewer-window") == "W 196 L 148"
    films.press("r")
    assert films.told(".viewer-zoom") == fitted
    films.press("+", "-", "f")
    assert films.told(".viewer-zoom") == fitted


def test_boxes_go_and_come(films: Looked) -> None:
    films.open()
    box = films.dialog.locator(".viewer-stage rect.over").first
    assert box.is_visible()
    # It lies on the film where the card says.
    _, x, y, w, h = films.cards[0]["slides"][0]["boxes"][0]
    drawn = {key: float(box.get_attribute(key) or "") for key in ("x", "y", "width", "height")}
    assert drawn == {"x": x, "y": y, "width": w, "height": h}
    films.press("b")
    assert not box.is_visible()
    assert films.dialog.get_by_role("button", name="boxes").get_attribute("aria-pressed") == "false"
    films.press("b")
    assert box.is_visible()


def test_two_fingers_zoom(opened: Open, runs: Path) -> None:
    page, heard = opened(
        runs / "report.html", has_touch=True, viewport={"width": 400, "height": 800}
    )
    looked = Looked(page, "grounding")
    looked.case.locator(".frame").first.tap()
    looked.dialog.wait_for()
    page.wait_for_function("() => document.querySelector('.viewer-zoom').textContent !== ''")
    fitted = int(looked.told(".viewer-zoom").split()[0])
    place = looked.canvas.bounding_box()
    assert place is not None
    x, y = place["x"] + place["width"] / 2, place["y"] + place["height"] / 2
    touch = page.context.new_cdp_session(page)

    def fingers(kind: str, apart: float) -> None:
        points = [{"x": x - apart, "y": y, "id": 0}, {"x": x + apart, "y": y, "id": 1}]
        touch.send(
            "Input.dispatchTouchEvent",
            {"type": kind, "touchPoints": [] if kind == "touchEnd" else points},
        )

    fingers("touchStart", 40)
    for apart in (60, 90, 120):
        fingers("touchMove", apart)
    fingers("touchEnd", 0)
    assert int(looked.told(".viewer-zoom").split()[0]) > 2 * fitted
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    assert heard.trouble == []


# ---------------------------------------------------------------- clips


def test_a_clip_plays_and_steps_by_keyboard(clips: Looked) -> None:
    clips.open()
    last = clips.cards[0]["slides"][0]["frames"] - 1
    true = clips.cards[0]["slides"][0]["marks"]
    first = true[0][1]
    assert clips.told(".viewer-frame") == f"{first} / {last}"
    clips.press("Home", "ArrowRight", "ArrowRight", "ArrowLeft")
    assert clips.told(".viewer-frame") == f"1 / {last}"
    one = clips.canvas.evaluate(GREYS)
    clips.press("End")
    assert clips.told(".viewer-frame") == f"{last} / {last}"
    assert clips.canvas.evaluate(GREYS) != one
    clips.press("ArrowLeft", "Home", "ArrowRight")
    assert clips.canvas.evaluate(GREYS) == one
    clips.press(">", ">", " ")
    assert clips.dialog.get_by_role("button", name="pause").count() == 1
    clips.page.wait_for_function(
        "() => Number.parseInt(document.querySelector('dialog .viewer-frame').textContent) > 3"
    )
    clips.press(" ")
    assert clips.dialog.get_by_role("button", name="play").count() == 1
    clips.dialog.get_by_label("frame", exact=True).fill("5")
    assert clips.told(".viewer-frame") == f"5 / {last}"


def test_truth_and_answers_are_marked_at_their_frames(clips: Looked) -> None:
    clips.open()
    card = clips.cards[0]
    (slide,) = card["slides"]
    rows = {"truth": slide["marks"]} | {one["reader"]: one["marks"] for one in card["said"]}
    drawn = clips.dialog.locator(".viewer-row").all()
    assert [row.locator(".viewer-who").inner_text() for row in drawn] == [
        who for who, marks in rows.items() if marks
    ]
    for row in drawn:
        marks = rows[row.locator(".viewer-who").inner_text()]
        track = row.locator(".viewer-track").bounding_box()
        assert track is not None
        places = row.locator(".viewer-mark").all()
        for place, (phase, frame, _) in zip(places, marks, strict=True):
            assert (place.get_attribute("aria-label") or "").startswith(f"{phase}, frame {frame}")
            box = place.bounding_box()
            assert box is not None
            share = (box["x"] + box["width"] / 2 - track["x"]) / track["width"]
            assert share * slide["frames"] == pytest.approx(frame + 0.5, abs=0.3)
    clips.press("Home", "m")
    named = sorted({frame for marks in rows.values() for _, frame, _ in marks if frame > 0})
    assert clips.told(".viewer-frame").startswith(f"{named[0]} / ")
    drawn[0].locator(".viewer-mark").nth(1).click()
    assert clips.told(".viewer-frame").startswith(f"{slide['marks'][1][1]} / ")


def test_a_clip_plays_on_the_page_itself(clips: Looked) -> None:
    part = clips.case.locator(".viewer-clip")
    part.locator(".viewer-still").wait_for()
    told = part.locator(".viewer-frame")
    part.get_by_role("button", name="next frame").click()
    stepped = told.inner_text()
    part.get_by_role("button", name="play").click()
    clips.page.wait_for_function(
        "was => document.querySelector('.case .viewer-frame').textContent !== was", arg=stepped
    )
    part.get_by_role("button", name="pause").click()
    # The keys of the clip are not those of the list.
    part.locator(".viewer-open").focus()
    before = clips.case.get_attribute("id")
    was = int(told.inner_text().split()[0])
    last = int(told.inner_text().split()[-1])
    clips.press("ArrowRight")
    assert int(told.inner_text().split()[0]) == (was + 1) % (last + 1)
    assert clips.case.get_attribute("id") == before


def test_words_of_models_are_text_in_the_dialog_too(opened: Open, runs: Path) -> None:
    page, heard = opened(runs / "hostile.html")
    (run,) = page.eval_on_selector_all(".browser", "all => all.map(one => one.dataset.run)")
    looked = Looked(page, run)
    looked.open()
    assert looked.dialog.locator("script, style, a, iframe, img").count() == 0
    assert "‮" not in looked.dialog.inner_text()
    assert looked.dialog.locator(".viewer-said").inner_text()
    assert heard.trouble == []
