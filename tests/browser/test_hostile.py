"""Whatever a model or a data set said stands on the page as text, and does nothing."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from support.chromium import Heard, Open, unfold
from support.small_runs import HARD

if TYPE_CHECKING:
    from playwright.sync_api import Page

# How text is shown whose letters cannot be seen: elements.js and markup.py name them.
NAMED = {
    "\u202e": "⟨U+202E⟩", "\u202c": "⟨U+202C⟩", "\u2066": "⟨U+2066⟩", "\u2069": "⟨U+2069⟩",
    "\u200f": "⟨U+200F⟩", "\x00": "⟨U+0000⟩", "\x07": "⟨U+0007⟩", "\x9b": "⟨U+009B⟩",
}  # fmt: skip
SHOWN = [text.translate(str.maketrans(NAMED)) for text in HARD]

EVERY_PAGE = """async live => {
    const on = [...live.querySelectorAll(".turn button")][1], texts = [];
    for (;;) {
        for (const one of live.querySelectorAll(".worklist button")) {
            one.click();
            for (const fold of live.querySelectorAll(".pane details")) fold.open = true;
            texts.push(live.querySelector(".pane").innerText);
        }
        texts.push(live.querySelector(".worklist").innerText);
        if (on.disabled) return texts.join("\\n");
        on.click();
        await new Promise(done => setTimeout(done, 20));
    }
}"""
TAGS = (
    "() => [...new Set([...document.querySelectorAll('.browser .live *')].map(one => one.tagName))]"
)
OWN = {
    "A", "ARTICLE", "B", "BDI", "BUTTON", "DD", "DETAILS", "DIV", "DL", "DT", "FIGCAPTION",
    "FIGURE", "H4", "H5", "H6", "I", "IMG", "INPUT", "KBD", "LABEL", "LI", "NAV", "OL", "OPTION",
    "OUTPUT", "P", "SELECT", "SPAN", "SUMMARY", "TABLE", "TBODY", "TD", "TH", "THEAD", "TR", "UL",
    "WBR", "rect", "svg", "title",
}  # fmt: skip


@pytest.fixture(scope="module")
def shown(runs: Path, module_opened: Open) -> tuple[Page, Heard]:
    page, heard = module_opened(runs / "hostile.html", viewport={"width": 400, "height": 900})
    unfold(page)
    return page, heard


@pytest.fixture(scope="module")
def words(shown: tuple[Page, Heard]) -> str:
    """All cases, page by page, everything unfolded."""
    text: str = shown[0].locator(".browser .live").evaluate(EVERY_PAGE)
    return text


@pytest.mark.parametrize("text", SHOWN)
def test_it_is_read_as_it_was_said(words: str, text: str) -> None:
    assert text in words


def test_nothing_of_it_is_done(shown: tuple[Page, Heard], words: str) -> None:
    page, heard = shown
    assert words
    assert heard.trouble == []
    assert [url for url in heard.requests if not url.startswith(("data:", "file:"))] == []
    assert set(page.evaluate(TAGS)) <= OWN
    assert page.locator("a:not([href^='#'])").count() == 0
    assert page.locator("body").is_visible()
    assert page.evaluate("document.styleSheets.length") == 4
    assert page.evaluate("[...document.scripts].filter(one => one.type === '').length") == 4


def test_nothing_that_turns_text_round_is_left_in_it(shown: tuple[Page, Heard], words: str) -> None:
    assert not set(words) & set(NAMED)
    page, _ = shown
    assert (
        page.evaluate("""() => [...document.querySelectorAll(".words, .case bdi")]
        .filter(one => !["plaintext", "isolate"].includes(getComputedStyle(one).unicodeBidi)).length""")
        == 0
    )


def test_of_100_kb_the_beginning_is_shown_and_where_the_rest_is(words: str) -> None:
    assert "A" * 2000 in words
    assert "A" * 5000 not in words
    (rest,) = set(re.findall(r"… ([\d,]+) more characters?, see answers\.parquet", words))
    assert int(rest.replace(",", "")) > 90_000


def test_a_narrow_window_holds_it(shown: tuple[Page, Heard], words: str) -> None:
    page, _ = shown
    assert page.evaluate("document.documentElement.scrollWidth") <= 400
    assert page.locator(".case").first.bounding_box()["width"] <= 400  # type: ignore[index]


def test_a_spoilt_word_does_not_end_the_data(shown: tuple[Page, Heard]) -> None:
    page, _ = shown
    data: dict[str, Any] = json.loads(page.locator("#cards-medcmr").text_content() or "")
    texts = [text for card in data["cards"] for _, text, _ in card["texts"]]
    assert any(HARD[1] in text for text in texts)
    assert page.locator("#provenance-medcmr").is_visible()
