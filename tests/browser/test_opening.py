"""The page opens from disk, asks for nothing, and runs no script but its own."""

from __future__ import annotations

import re
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from support.chromium import Heard, Open
from support.small_runs import RUNS

if TYPE_CHECKING:
    from playwright.sync_api import Page

SECONDS = 6.0  # of a busy machine; `make bench` has the claim


def settled(page: Page) -> None:
    """Until every run's cases are drawn."""
    page.wait_for_function(
        "n => document.querySelectorAll('.browser .case:first-child').length === n", arg=len(RUNS)
    )


def test_it_opens_at_once_without_a_word_and_asks_for_nothing(
    runs: Path, opened: Open, capsys: pytest.CaptureFixture[str]
) -> None:
    began = time.perf_counter()
    page, heard = opened(runs / "report.html")
    settled(page)
    taken = time.perf_counter() - began
    # What is drawn only when it comes into sight is drawn too.
    page.evaluate("scrollTo(0, document.body.scrollHeight)")
    page.evaluate("document.querySelectorAll('details').forEach(one => { one.open = true; })")
    page.wait_for_timeout(100)
    assert heard.trouble == []
    assert [url for url in heard.requests if not url.startswith("data:")] == [
        (runs / "report.html").as_uri()
    ]
    with capsys.disabled():
        print(f" opened in {taken:.2f} s", end="")
    assert taken < SECONDS


def test_every_part_is_there_once(page: Page) -> None:
    for name in RUNS:
        assert page.locator(f"#{name} > h2").text_content() == name
        for part in ("cases", "published", "methods", "limitations", "provenance"):
            assert page.locator(f"#{part}-{name}").count() == 1, (name, part)
    assert (
        page.evaluate("""() => {
        const ids = [...document.querySelectorAll("[id]")].map(one => one.id);
        return ids.filter((one, at) => ids.indexOf(one) !== at);
    }""")
        == []
    )
    assert (
        page.evaluate("""() => [...document.querySelectorAll("a[href^='#']")]
        .filter(one => !document.getElementById(one.hash.slice(1).split("?")[0])).map(one => one.hash)""")
        == []
    )


def test_the_policy_names_its_script_and_style_by_hash_and_nothing_unsafe(page: Page) -> None:
    policy = page.locator("meta[http-equiv='Content-Security-Policy']").get_attribute("content")
    assert policy is not None
    rules = dict(rule.strip().split(" ", 1) for rule in policy.split(";"))
    assert rules["default-src"] == "'none'"
    for kind in ("script-src", "style-src"):
        assert re.fullmatch(r"('sha256-[A-Za-z0-9+/]{43}=' ?)+", rules[kind])
    assert rules["img-src"] == "data:"
    assert "connect-src" not in rules
    assert "unsafe" not in policy


# In a task of the page's own: what the driver itself runs is above the policy.
INTRUSIONS = {
    "an inline script": """() => {
        const made = document.createElement("script");
        made.textContent = "window.intruded = true";
        document.body.append(made);
    }""",
    "a script from elsewhere": """() => {
        const made = document.createElement("script");
        made.src = "https://overread.invalid/x.js";
        document.body.append(made);
    }""",
    "a handler in markup": """() => {
        document.body.insertAdjacentHTML("beforeend", "<b onclick='window.intruded = true'>x</b>");
        document.body.lastElementChild.click();
    }""",
    "eval": "() => setTimeout(() => { try { eval('window.intruded = true'); } catch {} })",
    "Function": "() => setTimeout(() => { try { Function('window.intruded = true')(); } catch {} })",
    "a timer with text": "() => { setTimeout('window.intruded = true'); }",
    "a style": """() => {
        const made = document.createElement("style");
        made.textContent = "body { outline: 7px solid red }";
        document.head.append(made);
    }""",
    "a picture from elsewhere": "() => { new Image().src = 'https://overread.invalid/x.png'; }",
    "a request": "() => { fetch('https://overread.invalid/').catch(() => null); }",
    "a frame": """() => {
        const made = document.createElement("iframe");
        made.src = "https://overread.invalid/";
        document.body.append(made);
    }""",
    "a base": "() => { document.head.append(Object.assign(document.createElement('base'), {href: 'https://overread.invalid/'})); }",
}


@pytest.fixture(scope="module")
def besieged(runs: Path, module_opened: Open) -> tuple[Page, Heard]:
    return module_opened(runs / "hostile.html")


@pytest.mark.parametrize("way", INTRUSIONS)
def test_the_policy_is_in_force_against(way: str, besieged: tuple[Page, Heard]) -> None:
    page, heard = besieged
    stopped, asked = len(heard.violations), len(heard.requests)
    page.evaluate(INTRUSIONS[way])
    page.wait_for_timeout(60)
    assert page.evaluate("window.intruded") is None
    assert page.evaluate("getComputedStyle(document.body).outlineWidth") != "7px"
    assert heard.requests[asked:] == []
    assert len(heard.violations) > stopped
