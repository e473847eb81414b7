"""Read in the dark, in a narrow window, on paper, by keyboard, by ear, and without scripts."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from support.chromium import Heard, Open
from support.small_runs import RUNS

if TYPE_CHECKING:
    from playwright.sync_api import Page

NARROW = {"width": 400, "height": 800}

# The contrast of WCAG 2.2 of every text with the ground behind it; below 4.5 it is told.
FAINT = """() => {
    const canvas = Object.assign(document.createElement("canvas"), {width: 1, height: 1});
    const draw = canvas.getContext("2d", {willReadFrequently: true});
    const channels = colour => {
        draw.clearRect(0, 0, 1, 1);
        draw.fillStyle = colour;
        draw.fillRect(0, 0, 1, 1);
        return [...draw.getImageData(0, 0, 1, 1).data];
    };
    const known = new Map();
    const colours = colour => {
        if (!known.has(colour)) known.set(colour, channels(colour));
        return known.get(colour);
    };
    const light = ([r, g, b]) => [r, g, b].map(one => one / 255)
        .map(one => one <= 0.04045 ? one / 12.92 : ((one + 0.055) / 1.055) ** 2.4)
        .reduce((sum, one, at) => sum + one * [0.2126, 0.7152, 0.0722][at], 0);
    const ground = one => {
        for (let at = one; at; at = at.parentElement) {
            const found = colours(getComputedStyle(at).backgroundColor);
            if (found[3] === 255) return found;
        }
        return colours("Canvas");
    };
    const seen = new Map();
    const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    while (walker.nextNode()) {
        const one = walker.currentNode.parentElement;
        if (!walker.currentNode.textContent.trim() || one.closest("script, noscript, svg, :disabled")) continue;
        const colour = getComputedStyle(one).color, behind = ground(one);
        const [a, b] = [light(colours(colour)), light(behind)].sort((x, y) => y - x);
        seen.set(`${one.tagName}.${one.className} ${colour} on ${behind}`, (a + 0.05) / (b + 0.05));
    }
    return [seen.size, [...seen].filter(([, ratio]) => ratio < 4.5)];
}"""

# Text drawn in figures, by the paint that was chosen for it.
INK = """() => [...document.querySelectorAll(".exhibit svg text")].filter(
    one => one.textContent.trim() && getComputedStyle(one).fill === getComputedStyle(document.body).backgroundColor
).length"""

WIDER = """() => [...document.body.querySelectorAll("*")].filter(one =>
    one.getBoundingClientRect().right > innerWidth + 1 && !one.closest(".scroll, .skip, .words, svg")
).map(one => `${one.tagName}.${one.className}#${one.id}`).slice(0, 10)"""


OPEN = "document.querySelectorAll('details:not(.data)').forEach(one => { one.open = true; })"


@pytest.fixture(scope="module")
def unfolded(runs: Path, module_opened: Open) -> tuple[Page, Heard]:
    """Everything open but the rows of figures, of which one stands for all."""
    page, heard = module_opened(runs / "report.html")
    page.evaluate(OPEN)
    page.locator("details.data > summary").first.click()
    return page, heard


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_every_text_stands_out_from_its_ground(unfolded: tuple[Page, Heard], scheme: str) -> None:
    page, heard = unfolded
    page.emulate_media(color_scheme=scheme)  # type: ignore[arg-type]
    kinds, faint = page.evaluate(FAINT)
    assert kinds > 20
    assert faint == []
    assert page.evaluate(INK) == 0
    dark = page.evaluate("""() => {
        const [r, g, b] = getComputedStyle(document.body).backgroundColor.match(/[\\d.]+/g).map(Number);
        return r + g + b < 384;
    }""")
    assert dark == (scheme == "dark")
    assert heard.trouble == []


def test_a_narrow_window_scrolls_only_within_tables_and_figures(
    unfolded: tuple[Page, Heard],
) -> None:
    page, heard = unfolded
    page.set_viewport_size(NARROW)
    assert page.evaluate("document.documentElement.scrollWidth") <= NARROW["width"]
    assert page.evaluate(WIDER) == []
    # Parts that are drawn when they are reached are as narrow.
    for name in RUNS:
        page.locator(f"#provenance-{name}").scroll_into_view_if_needed()
        assert page.evaluate("document.documentElement.scrollWidth") <= NARROW["width"]
    assert heard.trouble == []


def test_words_of_a_wide_figure_can_be_read_in_a_narrow_window(
    unfolded: tuple[Page, Heard],
) -> None:
    page, _ = unfolded
    page.set_viewport_size(NARROW)
    scales = page.locator(".exhibit svg").evaluate_all(
        "all => all.map(one => one.getBoundingClientRect().width / one.viewBox.baseVal.width)"
    )
    assert min(scales) > 0.7


def test_on_paper_what_was_unfolded_is_printed_and_what_needs_a_hand_is_gone(
    runs: Path, opened: Open
) -> None:
    page, heard = opened(runs / "report.html", viewport={"width": 800, "height": 1100})
    page.emulate_media(media="print")
    assert (
        page.evaluate("""() => [
        ...document.querySelectorAll(".tools, .skip, .side, .top, details.data, .browser .live")
    ].filter(one => one.checkVisibility()).length""")
        == 0
    )
    assert page.evaluate("document.documentElement.scrollWidth") <= 800
    chosen = page.locator(".exhibit:has(table)").first
    chosen.evaluate("one => { one.open = true; }")
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    assert chosen.locator("tbody tr").first.is_visible()
    assert page.locator(".exhibit[open]").count() == 1
    assert page.locator("#limits details:not([open]), #methods details:not([open])").count() == 0
    assert page.locator(".exhibit .finding").last.is_visible()
    page.evaluate("dispatchEvent(new Event('afterprint'))")
    assert page.locator("#methods details[open]").count() == 0
    assert heard.trouble == []


def test_every_figure_and_picture_has_a_text_that_says_the_same(page: Page) -> None:
    figures = page.locator(".exhibit svg[role=img]")
    assert figures.count() > len(RUNS)
    for said in figures.evaluate_all("all => all.map(one => one.getAttribute('aria-label'))"):
        assert len(said.split()) > 5
    assert page.locator(".exhibit svg:not([role=img])").count() == 0
    assert page.locator("img:not([alt]), img[alt='']").count() == 0


def test_whoever_listens_finds_names_and_headings_in_order(page: Page) -> None:
    assert page.locator("html").get_attribute("lang") == "en"
    assert (
        page.evaluate("""() => {
        const levels = [...document.querySelectorAll("h1, h2, h3, h4, h5")].map(one => Number(one.tagName[1]));
        return levels.filter((one, at) => at && one > levels[at - 1] + 1).length;
    }""")
        == 0
    )
    assert (
        page.evaluate("""() => [...document.querySelectorAll("button, select, input, [role=region]")]
        .filter(one => !(one.textContent.trim() && one.tagName === "BUTTON") && !one.getAttribute("aria-label")
            && !one.closest("label")?.textContent.trim())
        .map(one => one.outerHTML.slice(0, 80))""")
        == []
    )
    assert page.locator("table thead th:not([scope])").count() == 0


def test_the_first_stop_of_the_keyboard_skips_to_the_models(runs: Path, opened: Open) -> None:
    page, _ = opened(runs / "report.html")
    page.keyboard.press("Tab")
    skip = page.locator(":focus")
    assert skip.get_attribute("class") == "skip"
    box = skip.bounding_box()
    assert box is not None
    assert box["x"] >= 0
    page.keyboard.press("Enter")
    assert page.url.endswith("#models")
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.closest('#models') !== null")


def test_the_keyboard_reaches_tables_figures_and_cases_and_the_focus_is_seen(page: Page) -> None:
    """In the order of the page, from the first exhibit on."""
    page.locator("#grounding-summary > summary").focus()
    met, unseen = [], []
    for _ in range(40):
        page.keyboard.press("Tab")
        tag, kind, seen = page.evaluate("""() => {
            const one = document.activeElement, style = getComputedStyle(one);
            const seen = style.outlineStyle !== "none" && parseFloat(style.outlineWidth) >= 2;
            return [one.tagName, one.className || one.closest("th, figure, details")?.tagName || "", seen];
        }""")
        met.append((tag, kind))
        if not seen:
            unseen.append((tag, kind))
    assert unseen == []
    for stop in (("DIV", "scroll"), ("BUTTON", "TH"), ("SELECT", "FIGURE"), ("SUMMARY", "DETAILS")):
        assert stop in met
    order = page.evaluate("""() => [...document.querySelectorAll("[tabindex]")]
        .filter(one => one.tabIndex > 0).length""")
    assert order == 0


def test_without_scripts_the_exhibits_are_there(runs: Path, opened: Open) -> None:
    page, heard = opened(runs / "report.html", java_script_enabled=False)
    assert page.locator(".matrix .cell").count() > len(RUNS)
    page.locator(".matrix .cell").first.click()
    assert page.locator(".found .lead").first.is_visible()
    for name, inside in (("summary", "tbody tr"), ("triad", "svg")):
        page.locator(f"#grounding-{name} > summary").click()
        assert page.locator(f"#grounding-{name} {inside}").first.is_visible()
    page.locator("#grounding-looked-at > summary").click()
    assert "scripts do not run here" in page.locator("#cases-grounding").inner_text()
    assert page.locator("th button, .tools").count() == 0
    assert heard.console == heard.errors == []


@pytest.mark.parametrize("width", [1300, 400])
def test_a_link_leads_to_its_place(runs: Path, opened: Open, width: int) -> None:
    page, heard = opened(runs / "report.html", viewport={"width": width, "height": 900})
    for place in ("heartbeat", "provenance-medcmr", "cases-grounding"):
        page.evaluate("place => { location.hash = place; }", place)
        page.wait_for_function(
            """place => {
              const top = document.getElementById(place).getBoundingClientRect().top;
              const end = scrollY + innerHeight >= document.documentElement.scrollHeight - 2;
              return Math.abs(top) < 120 || (end && top >= 0 && top < innerHeight);
            }""",
            arg=place,
            timeout=8000,
        )
    assert heard.trouble == []
