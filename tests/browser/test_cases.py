"""The case browser: what it filters by, what it counts, and how it is paged through."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from playwright.sync_api import Locator, Page

Card = dict[str, Any]


class Browsed:
    """The browser of one run, and the cards it was given."""

    def __init__(self, page: Page, run: str) -> None:
        self.page = page
        self.live: Locator = page.locator(f"#cases-{run} .live")
        self.data = json.loads(page.locator(f"#cards-{run}").text_content() or "")
        self.cards: list[Card] = self.data["cards"]

    def choose(self, **wanted: str) -> None:
        for label, value in wanted.items():
            self.live.locator("label", has_text=label).first.locator("select").select_option(value)

    def clear(self) -> None:
        self.live.get_by_role("button", name="Clear").click()

    @property
    def status(self) -> str:
        return self.live.locator(".turn output").inner_text()

    @property
    def shown(self) -> list[str]:
        return [
            one.text_content() or ""
            for one in self.live.locator(".case > h4 > bdi:first-child").all()
        ]

    def said(self, count: int) -> str:
        if not count:
            return "No case fits."
        last = min(count, self.data["page"])
        return f"1 to {last} of {count} {'case' if count == 1 else 'cases'}"

    def fitting(
        self, reader: str = "", answer: str = "", flipped: str = "", **facts: str
    ) -> tuple[int, list[str]]:
        """How many cards fit, and the titles of the first page: the slow, plain way."""
        of_one: dict[str, Any] = {"reader": reader} if reader else {}
        of_one |= {"right": answer == "yes"} if answer else {}
        of_one |= {"flipped": flipped == "yes"} if flipped else {}
        kept = [
            card["title"]
            for card in self.cards
            if facts.items() <= card["facts"].items()
            and any(of_one.items() <= said.items() for said in card["said"])
        ]
        return len(kept), kept[: self.data["page"]]

    def expect(self, **chosen: str) -> int:
        """The status and the first page are those of the cards that fit."""
        count, first = self.fitting(**chosen)
        assert (self.status, self.shown) == (self.said(count), first)
        return count


@pytest.fixture(params=["grounding", "heartbeat", "m3cot", "medcmr"])
def browsed(request: pytest.FixtureRequest, page: Page) -> Iterator[Browsed]:
    made = Browsed(page, request.param)
    yield made
    made.clear()


@pytest.fixture
def grounding(page: Page) -> Iterator[Browsed]:
    made = Browsed(page, "grounding")
    yield made
    made.clear()


def test_every_run_shows_its_cases_with_who_said_what(browsed: Browsed) -> None:
    total = browsed.expect()
    assert total == len(browsed.cards) > 0
    first = browsed.live.locator(".case").first
    assert first.locator(".voice").count() == len(browsed.data["readers"])
    pictures = first.locator(".slide img")
    assert pictures.count() == len(browsed.cards[0]["slides"]) > 0
    pictures.first.scroll_into_view_if_needed()
    browsed.page.wait_for_function(
        "image => image.complete && image.naturalWidth > 0", arg=pictures.first.element_handle()
    )
    assert all(one.get_attribute("alt") for one in pictures.all())


# Every value of every filter, and of those on answers for every reader, chosen as a hand would.
FILTERS = """async live => {
    const selects = [...live.querySelectorAll(".tools select")];
    const label = one => one.parentElement.firstChild.textContent;
    const set = (one, value) => {
        one.value = value;
        one.dispatchEvent(new Event("change"));
        return new Promise(done => setTimeout(done));
    };
    const found = [];
    const look = (...chosen) => found.push({
        chosen: Object.fromEntries(chosen.map(one => [label(one), one.value])),
        status: live.querySelector(".turn output").textContent,
        titles: [...live.querySelectorAll(".case > h4 > bdi:first-child")].map(one => one.textContent),
    });
    const values = one => [...one.options].map(option => option.value).filter(Boolean);
    const reader = selects.find(one => label(one) === "reader");
    for (const one of selects) {
        for (const value of values(one)) {
            await set(one, value);
            look(one);
            if (!["answer", "flipped"].includes(label(one))) continue;
            for (const name of values(reader)) {
                await set(reader, name);
                look(one, reader);
            }
            await set(reader, "");
        }
        await set(one, "");
    }
    return found;
}"""


def test_filters_of_every_run(browsed: Browsed) -> None:
    found = browsed.live.evaluate(FILTERS)
    asked = {name for one in found for name in one["chosen"]}
    many = {fact for fact, values in browsed.data["facets"].items() if len(values) > 1}
    says = {
        name for name, key in (("answer", "right"), ("flipped", "flipped")) if browsed.data[key]
    }
    assert asked == {"reader", *many, *says}
    kept = set()
    for one in found:
        count, first = browsed.fitting(**one["chosen"])
        kept.add(count)
        assert (one["status"], one["titles"]) == (browsed.said(count), first), one["chosen"]
    assert len(kept) > 1
    browsed.expect()


def test_filters_join_and_readers_that_do_not_fit_are_folded(grounding: Browsed) -> None:
    grounding.choose(answer="no", flipped="yes")
    kept = grounding.expect(answer="no", flipped="yes")
    assert 0 < kept < len(grounding.cards)
    first = grounding.live.locator(".case").first
    marks = first.locator(":scope > .said .voice").all_inner_texts()
    assert marks
    assert all("wrong" in text and "⇄ flipped" in text for text in marks)
    assert "other reader" in first.locator(":scope > details > summary").inner_text()


def test_buttons_page(grounding: Browsed) -> None:
    back, on = (grounding.live.get_by_role("button", name=name) for name in ("Previous", "Next"))
    titles = [card["title"] for card in grounding.cards]
    assert back.is_disabled()
    seen = grounding.shown
    while on.is_enabled():
        on.click()
        seen += grounding.shown
    assert seen == titles
    assert grounding.status.endswith(f"to {len(titles)} of {len(titles)} cases")
    back.click()
    assert on.is_enabled()


def test_a_changed_filter_begins_at_the_first_page(grounding: Browsed) -> None:
    grounding.live.get_by_role("button", name="Next").click()
    grounding.choose(reader=grounding.data["readers"][0])
    assert grounding.status.startswith("1 to ")


def test_keys_go_from_case_to_case_and_turn_the_page(grounding: Browsed) -> None:
    page = grounding.page
    at = "() => [...document.querySelectorAll('#cases-grounding .case')].indexOf(document.activeElement)"
    grounding.live.focus()
    for key, expected in (("j", 0), ("j", 1), ("k", 0)):
        page.keyboard.press(key)
        assert page.evaluate(at) == expected
    page.keyboard.press("ArrowRight")
    assert grounding.status.startswith("11 to 20 of ")
    assert page.evaluate(at) == 0
    page.keyboard.press("ArrowLeft")
    assert grounding.status.startswith("1 to 10 of ")
    # In a field the keys are the field's own.
    grounding.live.locator("select").first.focus()
    page.keyboard.press("ArrowRight")
    assert grounding.status.startswith("1 to ")


def test_a_box_lies_where_the_case_says(grounding: Browsed) -> None:
    at, slide, card = next(
        (number, slide, card)
        for card in grounding.cards[: grounding.data["page"]]
        for number, slide in enumerate(card["slides"])
        if slide["boxes"]
    )
    drawn = (
        grounding.live.locator(".case").nth(grounding.cards.index(card)).locator(".slide").nth(at)
    )
    _, x, y, w, h = slide["boxes"][0]
    assert (
        drawn.locator("svg").get_attribute("viewBox") == f"0 0 {slide['width']} {slide['height']}"
    )
    drawn.scroll_into_view_if_needed()
    image, box = (
        drawn.locator("img").bounding_box(),
        drawn.locator("rect.over").first.bounding_box(),
    )
    assert image is not None
    assert box is not None
    scale = image["width"] / slide["width"]
    assert (box["x"] - image["x"], box["y"] - image["y"]) == pytest.approx(
        (x * scale, y * scale), abs=3
    )
    assert (box["width"], box["height"]) == pytest.approx((w * scale, h * scale), abs=6)
