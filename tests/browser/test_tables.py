"""Tables sort by mouse and keyboard, long ones filter, and figures give up their rows."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from playwright.sync_api import Locator, Page

FIRST = "#grounding-summary table"


def column(table: Locator, at: int) -> list[str]:
    """The cells of a column as they stand, each without what stands below it."""
    cells: list[str] = table.evaluate(
        """(table, at) => [...table.tBodies[0].rows].map(
            row => row.cells[at].firstChild?.textContent.trim() ?? "")""",
        at,
    )
    return cells


def head(table: Locator, at: int) -> Locator:
    return table.locator("thead th").nth(at)


def numeric_column(table: Locator) -> int:
    """The first column of at least two different numbers."""
    for at in range(1, table.locator("thead th").count()):
        cells = [cell for cell in column(table, at) if cell != "n/a"]
        try:
            if len({float(cell) for cell in cells}) > 1:
                return at
        except ValueError:
            continue
    raise AssertionError("no column of numbers")


def absent_last(cells: list[str]) -> list[float]:
    known = [float(cell) for cell in cells if cell != "n/a"]
    assert cells[len(known) :] == ["n/a"] * (len(cells) - len(known))
    return known


def test_numbers_sort_as_numbers_and_a_third_press_restores(page: Page) -> None:
    table = page.locator(FIRST)
    at = numeric_column(table)
    before = column(table, at)
    button = head(table, at).locator("button")
    button.click()
    assert head(table, at).get_attribute("aria-sort") == "ascending"
    rising = absent_last(column(table, at))
    assert rising == sorted(rising)
    button.click()
    assert head(table, at).get_attribute("aria-sort") == "descending"
    falling = absent_last(column(table, at))
    assert falling == sorted(falling, reverse=True)
    button.click()
    assert table.locator("th[aria-sort]").count() == 0
    assert column(table, at) == before


def test_nine_comes_before_ten_and_minus_before_nought(page: Page) -> None:
    """Over every table of the page: no column of numbers is sorted as words."""
    wrong = page.evaluate("""() => {
        const wrong = [];
        for (const table of document.querySelectorAll("table.sorts")) {
            [...table.tHead.rows[0].cells].forEach((head, at) => {
                const button = head.querySelector("button");
                if (!button) return;
                const cells = () => [...table.tBodies[0].rows].map(row => row.cells[at].firstChild?.textContent ?? "");
                if (!cells().every(cell => /^[+-]?\\d+(\\.\\d+)?$/.test(cell))) return;
                button.click();
                const found = cells().map(Number);
                if (found.some((one, at) => at && one < found[at - 1])) wrong.push(found);
                button.click();
                button.click();
            });
        }
        return wrong;
    }""")
    assert wrong == []


@pytest.mark.parametrize("key", ["Enter", "Space"])
def test_a_column_sorts_from_the_keyboard(page: Page, key: str) -> None:
    table = page.locator(FIRST)
    button = head(table, 0).locator("button")
    before = column(table, 0)
    button.focus()
    page.keyboard.press(key)
    assert head(table, 0).get_attribute("aria-sort") == "ascending"
    assert column(table, 0) == sorted(before)
    page.keyboard.press(key)
    page.keyboard.press(key)
    assert column(table, 0) == before


def test_one_column_at_a_time_says_that_it_is_sorted(page: Page) -> None:
    table = page.locator(FIRST)
    head(table, 0).locator("button").click()
    head(table, 1).locator("button").click()
    assert table.locator("th[aria-sort]").count() == 1
    head(table, 1).locator("button").click()
    head(table, 1).locator("button").click()


def test_a_long_table_filters(page: Page) -> None:
    fold = page.locator(".exhibit:has(.scroll.long)").first
    rows = fold.locator("tbody tr")
    many = rows.count()
    word = rows.first.locator("td").first.inner_text()
    fold.locator("input[type=search]").fill(word.upper())
    kept = fold.locator("tbody tr:visible")
    assert 0 < kept.count() < many
    assert all(word.lower() in text.lower() for text in kept.all_inner_texts())
    assert fold.locator("output").inner_text() == f"{kept.count()} of {many} rows"
    fold.locator("input[type=search]").fill("")
    assert fold.locator("tbody tr:visible").count() == many


def test_the_rows_of_a_figure_unfold_sort_and_are_saved_as_csv(page: Page) -> None:
    fold = page.locator("details.data").first
    rows = json.loads(page.locator(f"#{fold.get_attribute('data-rows')}").text_content() or "")
    fold.locator("summary").click()
    # The browser says that a fold was opened a moment after it was.
    fold.locator("tbody tr").nth(len(rows) - 1).wait_for()
    assert fold.locator("tbody tr").count() == len(rows)
    assert fold.locator("thead th").all_inner_texts() == list(rows[0])
    with page.expect_download() as waited:
        fold.get_by_role("button", name="Save as csv").click()
    assert waited.value.suggested_filename == "triad.csv"
    sheet = csv.DictReader(io.StringIO(Path(waited.value.path()).read_text(encoding="utf-8")))
    for read, row in zip(sheet, rows, strict=True):
        for name, value in row.items():
            if isinstance(value, bool) or value is None or isinstance(value, str):
                assert read[name] == {True: "true", False: "false", None: ""}.get(value, value)
            else:
                assert float(read[name]) == value
    fold.locator("summary").click()


def test_no_spreadsheet_runs_what_a_saved_csv_holds(page: Page) -> None:
    """The page's own csv guards as the files do: full-width signs and control letters too."""
    fold = page.locator("details.data").nth(1)
    signs = ["=1", "+1", "-x", "@x", "\uff1d1", "\uff20x", "\x07=1", "\t=1", " =1", "plain"]
    page.locator(f"#{fold.get_attribute('data-rows')}").evaluate(
        "(held, rows) => { held.textContent = JSON.stringify(rows) }",
        [{"a": sign} for sign in signs],
    )
    fold.locator("summary").click()
    with page.expect_download() as waited:
        fold.get_by_role("button", name="Save as csv").click()
    _, *rows = csv.reader(io.StringIO(Path(waited.value.path()).read_text(encoding="utf-8")))
    assert [row[0][0] for row in rows] == ["'"] * (len(signs) - 1) + ["p"]


def test_one_reader_can_be_set_off(page: Page) -> None:
    part = page.locator(".exhibit:has(svg [data-reader])").first
    select = part.locator("label:has-text('Set off one model') select")
    select.select_option(index=1)
    lit, dim = part.locator("svg.lit .on"), part.locator("svg.lit [data-reader]:not(.on)")
    assert lit.count() > 0
    assert dim.count() > 0
    assert float(dim.first.evaluate("one => getComputedStyle(one).opacity")) < 0.5
    select.select_option(index=0)
    assert part.locator("svg.lit").count() == 0


def test_paragraphs_are_copied(page: Page) -> None:
    part = page.locator("#methods-grounding")
    text = part.locator(".paste").text_content()
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    part.get_by_role("button", name="Copy").click()
    part.locator("output", has_text="copied").wait_for()
    assert page.evaluate("navigator.clipboard.readText()") == text
    # Where a browser keeps the clipboard to itself, the paragraph is selected.
    page.evaluate(
        "() => { navigator.clipboard.writeText = () => Promise.reject(new Error('no')); }"
    )
    part.get_by_role("button", name="Copy").click()
    part.locator("output", has_text="selected").wait_for()
    assert page.evaluate("getSelection().toString()").strip() == (text or "").strip()
