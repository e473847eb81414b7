"""`overread serve` in a browser: a token that becomes a cookie, and cases asked for by the page."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import parse_qs, urlsplit

import pytest

from support.chromium import Heard, Open, unfold
from support.served import running

if TYPE_CHECKING:
    from playwright.sync_api import Page, Response


@pytest.fixture(scope="module")
def address(runs: Path) -> Iterator[str]:
    folders = [str(runs / "hostile"), str(runs / "m3cot")]
    command = [sys.executable, "-m", "overread", "serve", *folders, "--no-open"]
    with running(command, "http", 60) as (_, rest):
        yield f"http{rest}"


@pytest.fixture(scope="module")
def served(address: str, module_opened: Open) -> tuple[Page, Heard]:
    page, heard = module_opened(address)
    unfold(page)
    page.wait_for_selector("#cases-medcmr .case")
    page.wait_for_selector("#cases-m3cot .case")
    return page, heard


def test_the_token_leaves_the_address_and_opens_nothing_twice(
    address: str, served: tuple[Page, Heard], opened: Open
) -> None:
    page, _ = served
    assert urlsplit(page.url).query == ""
    (cookie,) = page.context.cookies()
    assert cookie["httpOnly"]
    assert cookie["sameSite"] == "Strict"
    assert cookie["value"] not in address
    assert page.evaluate("document.cookie") == ""
    again, _ = opened(address)
    assert "it opens once" in again.locator("body").inner_text()


def test_the_page_asks_only_its_own_server_and_says_nothing(
    address: str, served: tuple[Page, Heard]
) -> None:
    page, heard = served
    home = urlsplit(address)._replace(path="", query="").geturl()
    assert all(url.startswith(f"{home}/") for url in heard.requests)
    assert heard.trouble == []
    assert page.evaluate("document.referrer") == ""


def test_filters_and_pages_are_asked_of_the_server(served: tuple[Page, Heard]) -> None:
    page, heard = served
    live = page.locator("#cases-m3cot .live")
    status = live.locator(".turn output")
    assert status.inner_text() == "1 to 20 of 26 cases"

    def cards(response: Response) -> bool:
        return "/cards?" in response.url

    with page.expect_response(cards) as waited:
        live.get_by_role("button", name="next page").click()
    assert parse_qs(urlsplit(waited.value.url).query) == {"run": ["2"], "page": ["1"]}
    live.locator("output", has_text="21 to 26 of 26 cases").wait_for()
    with page.expect_response(cards) as waited:
        live.locator("label", has_text="model").locator("select").select_option("control:rambler")
    with page.expect_response(cards) as waited:
        live.locator("label", has_text="answer").locator("select").select_option("no")
    asked = parse_qs(urlsplit(waited.value.url).query)
    assert asked == {"run": ["2"], "page": ["0"], "reader": ["control:rambler"], "right": ["no"]}
    count = waited.value.json()["count"]
    live.locator(f"output:has-text('of {count} case')").wait_for()
    assert live.locator(".worklist li").count() == min(count, 20)
    with page.expect_response(cards) as waited:
        live.get_by_role("searchbox").fill("Record")
    assert parse_qs(urlsplit(waited.value.url).query)["text"] == ["Record"]
    with page.expect_response(cards):
        live.get_by_role("button", name="Clear").click()
    assert heard.trouble == []


def test_pictures_come_from_the_server(served: tuple[Page, Heard]) -> None:
    page, heard = served
    # Sought anew each time: a case that was asked for before may still be drawn over.
    page.wait_for_function("""() => {
        const image = document.querySelector("#cases-m3cot .case img");
        image?.scrollIntoView();
        return image?.complete && image.naturalWidth > 0 && image.src.includes("/picture?");
    }""")
    assert heard.trouble == []


def test_a_case_is_asked_for_by_name_and_its_film_in_its_own_size(
    served: tuple[Page, Heard],
) -> None:
    page, heard = served
    with page.expect_response(lambda answer: "/cards?" in answer.url) as waited:
        page.evaluate("() => { location.hash = 'case-m3cot-question_00007'; }")
    assert parse_qs(urlsplit(waited.value.url).query) == {"run": ["2"], "case": ["question_00007"]}
    case = page.locator("#case-m3cot-question_00007")
    case.wait_for()
    with page.expect_response(lambda answer: "/film?" in answer.url) as fetched:
        case.locator(".frame").first.click()
    assert fetched.value.status == 200
    page.locator(".viewer-label", has_text="full size").wait_for()
    page.keyboard.press("Escape")
    assert heard.trouble == []


def test_hostile_words_are_as_harmless_over_http(served: tuple[Page, Heard]) -> None:
    page, heard = served
    live = page.locator("#cases-medcmr .live")
    assert "alert(" in live.inner_text()
    assert live.locator("script, style, a:not([href^='#']), iframe").count() == 0
    assert heard.trouble == []


def test_a_server_that_is_gone_is_told(served: tuple[Page, Heard]) -> None:
    page, heard = served
    page.context.set_offline(True)
    live = page.locator("#cases-m3cot .live")
    live.get_by_role("button", name="next page").click()
    live.locator("output", has_text="No cases:").wait_for()
    page.context.set_offline(False)
    assert heard.errors == heard.violations == []
