"""The cases of a run: what they are filtered by, how they are gone through, what stands where."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from support.chromium import Open
from support.small_runs import RUNS

if TYPE_CHECKING:
    from playwright.sync_api import Locator, Page

Card = dict[str, Any]


class Browsed:
    """The browser of one run, and the cards it was given."""

    def __init__(self, page: Page, run: str) -> None:
        self.page = page
        self.run = run
        self.live: Locator = page.locator(f"#cases-{run} .live")
        self.data = json.loads(page.locator(f"#cards-{run}").text_content() or "")
        self.cards: list[Card] = self.data["cards"]
        page.evaluate("id => { location.hash = id; }", f"cases-{run}")

    def choose(self, **wanted: str) -> None:
        for label, value in wanted.items():
            self.live.locator("label", has_text=label).first.locator("select").select_option(value)

    def clear(self) -> None:
        self.live.get_by_role("button", name="Clear").click()

    @property
    def case(self) -> Locator:
        return self.live.locator(".case")

    @property
    def status(self) -> str:
        return self.live.locator(".turn output").inner_text()

    @property
    def listed(self) -> list[str]:
        return [one.text_content() or "" for one in self.live.locator(".worklist .title").all()]

    def said(self, count: int) -> str:
        if not count:
            return "No case fits."
        last = min(count, self.data["page"])
        return f"1 to {last} of {count} {'case' if count == 1 else 'cases'}"

    def fitting(
        self, model: str = "", answer: str = "", flips: str = "", **facts: str
    ) -> tuple[int, list[str]]:
        """How many cards fit, and the titles of the first page: the slow, plain way."""
        of_one: dict[str, Any] = {"reader": model} if model else {}
        of_one |= {"right": answer == "yes"} if answer else {}
        of_one |= {"flipped": flips == "yes"} if flips else {}
        kept = [
            card["title"]
            for card in self.cards
            if facts.items() <= card["facts"].items()
            and any(of_one.items() <= said.items() for said in card["said"])
        ]
        return len(kept), kept[: self.data["page"]]

    def expect(self, **chosen: str) -> int:
        """The status and the list are those of the cards that fit."""
        count, first = self.fitting(**chosen)
        assert (self.status, self.listed) == (self.said(count), first)
        return count


@pytest.fixture(params=list(RUNS))
def browsed(request: pytest.FixtureRequest, page: Page) -> Iterator[Browsed]:
    made = Browsed(page, request.param)
    yield made
    made.clear()


@pytest.fixture
def grounding(page: Page) -> Iterator[Browsed]:
    made = Browsed(page, "grounding")
    yield made
    made.clear()


def test_every_run_shows_a_case_with_a_row_for_every_model(browsed: Browsed) -> None:
    total = browsed.expect()
    assert total == len(browsed.cards) > 0
    card, shown = browsed.cards[0], browsed.case
    assert shown.count() == 1
    assert shown.locator("tbody tr").count() == len(browsed.data["readers"])
    columns = shown.locator("thead th .column").all_inner_texts()
    assert columns == [label for _, label in card["conditions"]]
    films = shown.locator(".frame img, .viewer-still")
    assert films.count() == len(card["slides"]) > 0
    assert all(one.get_attribute("alt") for one in shown.locator("img").all())
    for image in shown.locator("img").element_handles():
        browsed.page.wait_for_function(
            "image => image.complete && image.naturalWidth > 0", arg=image
        )


def test_an_answer_stands_under_the_picture_it_was_given_for(browsed: Browsed) -> None:
    card = browsed.cards[0]
    columns = [shown for shown, _ in card["conditions"]]
    for row, said in zip(browsed.case.locator("tbody tr").all(), card["said"], strict=True):
        cells = row.locator("td").all()
        assert len(cells) == len(columns)
        for shown, cell in zip(columns, cells, strict=True):
            own = [one for one in said["answers"] if one["shown"] == shown]
            assert cell.locator(".word bdi").all_inner_texts() == [one["text"] for one in own]
            # A sign and a word, not a colour alone.
            assert cell.locator(".turned").count() == sum(one.get("changed") is True for one in own)
            signs = "".join(cell.locator(".word").all_inner_texts())
            assert signs.count("✓") == sum(one.get("right") is True for one in own)
            assert signs.count("✕") == sum(one.get("right") is False for one in own)


def test_a_flip_is_marked_between_the_two_columns(grounding: Browsed) -> None:
    grounding.choose(flips="yes")
    turned = grounding.case.locator(".turned").first
    assert turned.inner_text() == "⇄ flipped"
    mark, cell = turned.bounding_box(), turned.locator("xpath=ancestor::td").bounding_box()
    assert mark is not None
    assert cell is not None
    assert mark["x"] < cell["x"] < mark["x"] + mark["width"]


# Every value of every filter, and of those on answers for every model, chosen as a hand would.
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
        titles: [...live.querySelectorAll(".worklist .title")].map(one => one.textContent),
    });
    const values = one => [...one.options].map(option => option.value).filter(Boolean);
    const model = selects.find(one => label(one) === "model");
    for (const one of selects.filter(one => label(one) !== "benchmark")) {
        for (const value of values(one)) {
            await set(one, value);
            look(one);
            if (!["answer", "flips"].includes(label(one))) continue;
            for (const name of values(model)) {
                await set(model, name);
                look(one, model);
            }
            await set(model, "");
        }
        await set(one, "");
    }
    return found;
}"""


def test_filters_of_every_run(browsed: Browsed) -> None:
    found = browsed.live.evaluate(FILTERS)
    asked = {name for one in found for name in one["chosen"]}
    many = {fact for fact, values in browsed.data["facets"].items() if len(values) > 1}
    says = {name for name, key in (("answer", "right"), ("flips", "flipped")) if browsed.data[key]}
    assert asked == {"model", *many, *says}
    kept = set()
    for one in found:
        count, first = browsed.fitting(**one["chosen"])
        kept.add(count)
        assert (one["status"], one["titles"]) == (browsed.said(count), first), one["chosen"]
    assert len(kept) > 1
    browsed.expect()


def test_filters_join_and_models_that_do_not_fit_are_folded(grounding: Browsed) -> None:
    grounding.choose(answer="no", flips="yes")
    kept = grounding.expect(answer="no", flips="yes")
    assert 0 < kept < len(grounding.cards)
    marks = grounding.case.locator("tbody:not([hidden]) th").all_inner_texts()
    assert marks
    assert all("✕ wrong" in text and "⇄ flipped" in text for text in marks)
    grounding.case.get_by_role("button", name="other model").click()
    assert grounding.case.locator("tbody tr:visible").count() == len(grounding.data["readers"])


def test_words_are_looked_for_in_titles_texts_and_replies(page: Page) -> None:
    browsed = Browsed(page, "m3cot")
    sought = browsed.cards[3]["case"].upper()
    browsed.live.get_by_role("searchbox").fill(sought)
    browsed.live.locator("output", has_text="1 to 1 of 1 case").wait_for()
    assert browsed.listed == [browsed.cards[3]["title"]]
    browsed.live.get_by_role("searchbox").fill("no such words anywhere")
    browsed.live.locator("output", has_text="No case fits.").wait_for()
    browsed.clear()
    browsed.expect()


def test_pages_turn_and_keys_go_on_over_their_ends(grounding: Browsed) -> None:
    size, count = grounding.data["page"], len(grounding.cards)
    assert count > size
    page, shown = grounding.page, [card["case"] for card in grounding.cards]

    def at() -> str:
        return grounding.case.evaluate("one => one.id.replace('case-grounding-', '')")

    grounding.case.focus()
    for key, expected in (("j", 1), ("j", 2), ("k", 1)):
        page.keyboard.press(key)
        assert at() == shown[expected]
        assert grounding.case.evaluate("one => one === document.activeElement")
    for _ in range(size - 1):
        page.keyboard.press("j")
    assert at() == shown[size]
    assert grounding.status.startswith(f"{size + 1} to ")
    page.keyboard.press("k")
    assert at() == shown[size - 1]
    back = grounding.live.get_by_role("button", name="previous page")
    assert back.is_disabled()
    # In a field the keys are the field's own.
    grounding.live.get_by_role("searchbox").press("j")
    assert at() == shown[size - 1]


def test_the_list_is_one_stop_of_the_tab_key_and_goes_by_arrows(grounding: Browsed) -> None:
    buttons = grounding.live.locator(".worklist button")
    assert grounding.live.locator(".worklist button[tabindex='0']").count() == 1
    buttons.first.focus()
    grounding.page.keyboard.press("ArrowDown")
    assert buttons.nth(1).get_attribute("aria-current") == "true"
    assert grounding.case.get_attribute("id") == f"case-grounding-{grounding.cards[1]['case']}"


def test_the_address_is_that_of_the_case_and_opens_it_cold(
    grounding: Browsed, runs: Path, opened: Open
) -> None:
    grounding.case.focus()
    for _ in range(grounding.data["page"] + 3):
        grounding.page.keyboard.press("j")
    case = grounding.cards[grounding.data["page"] + 3]
    address = grounding.page.url
    assert address.endswith(f"#case-grounding-{case['case']}")
    cold, heard = opened(address)
    there = cold.locator(f"[id='case-grounding-{case['case']}']")
    there.wait_for()
    assert there.evaluate("one => one.getBoundingClientRect().top < innerHeight")
    assert there.evaluate("one => one === document.activeElement")
    lost, _ = opened(f"{(runs / 'report.html').as_uri()}#case-grounding-nobody")
    lost.locator("#cases-grounding output", has_text="not on this page").wait_for()
    assert heard.trouble == []


def test_a_link_may_name_a_filter(page: Page, opened: Open, runs: Path) -> None:
    wanted = Browsed(page, "grounding")
    count, first = wanted.fitting(model="control:looks", flips="yes")
    query = "reader=control%3Alooks&flipped=yes"
    cold, _ = opened(f"{(runs / 'report.html').as_uri()}#cases-grounding?{query}")
    cold.locator("#cases-grounding output", has_text=wanted.said(count)).wait_for()
    assert cold.locator("#cases-grounding .worklist .title").all_inner_texts() == first


def test_a_box_lies_where_the_case_says(grounding: Browsed) -> None:
    at, slide = next(
        (number, slide)
        for number, slide in enumerate(grounding.cards[0]["slides"])
        if slide["boxes"]
    )
    drawn = grounding.case.locator(".slide").nth(at)
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


def test_options_are_one_list_with_who_chose_what(page: Page) -> None:
    browsed = Browsed(page, "medcmr")
    card = browsed.cards[0]
    assert card["options"]
    rows = browsed.case.locator(".options li").all()
    for row, option in zip(rows, card["options"], strict=True):
        chose = [
            said["reader"]
            for said in card["said"]
            if any(one.get("option") == option["key"] for one in said["answers"])
        ]
        assert row.locator(".chip").all_inner_texts() == chose
        assert ("✓ right" in row.inner_text()) is option.get("right", False)


def test_gold_and_given_steps_stand_side_by_side_with_the_judges_marks(page: Page) -> None:
    browsed = Browsed(page, "m3cot")
    card = browsed.cards[0]
    part = browsed.case.locator(".steps details[open] .beside")
    gold, own = part.locator(":scope > div").all()
    said = card["said"][0]
    assert gold.locator("li").count() == len(card["steps"]) == len(said["gold"])
    assert own.locator("li").count() == len(said["steps"]) > 0
    marks = [f"✓ {step['mark']}" if step["right"] else f"✕ {step['mark']}" for step in said["gold"]]
    assert gold.locator(".mark").all_inner_texts() == marks
    left, right = gold.bounding_box(), own.bounding_box()
    assert left is not None
    assert right is not None
    assert left["y"] == right["y"]
    assert left["x"] < right["x"]
