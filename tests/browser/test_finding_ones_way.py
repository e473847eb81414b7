"""The page answers in ten seconds: what the first screen shows, and where three actions lead."""

from __future__ import annotations

import json
import os
import re
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from support.chromium import Heard, Open
from support.small_runs import RUNS

if TYPE_CHECKING:
    from playwright.sync_api import Page

SCREEN = {"width": 1440, "height": 900}
REFERENCE = Path(__file__).with_name("first_screen.png")
REFERENCE_SIZE = (480, 300)
MODELS = [f"control:{name}" for _, controls, _, _ in RUNS.values() for name in controls]

TAB_STOPS = """() => {
    const stops = [...document.querySelectorAll("a[href], button, input, select, summary, [tabindex]")]
        .filter(one => one.tabIndex >= 0 && one.checkVisibility());
    return stops.indexOf(document.querySelector(".looked-at > summary"));
}"""


@pytest.fixture
def fresh(runs: Path, opened: Open) -> tuple[Page, Heard]:
    return opened(runs / "report.html", viewport=SCREEN)


@pytest.fixture(scope="module")
def untouched(runs: Path, module_opened: Open) -> tuple[Page, Heard]:
    """The same, for all who only look: a page is opened in a second."""
    return module_opened(runs / "report.html", viewport=SCREEN)


def arrived(page: Page, selector: str) -> None:
    """Until something is in sight, in the window."""
    page.wait_for_function(
        """selector => [...document.querySelectorAll(selector)].some(one => {
            const box = one.getBoundingClientRect();
            return one.checkVisibility() && box.bottom > 0 && box.top < innerHeight;
        })""",
        arg=selector,
    )


def cell(page: Page, model: str) -> None:
    """Press the cell of a model: one action."""
    page.locator(
        f"tr:has(th bdi:text-is('{model}')) a.cell, .one:has(bdi:text-is('{model}')) a.cell"
    ).first.click()
    arrived(page, ".found:target .lead")


def test_the_first_screen_has_every_answer_of_every_model(untouched: tuple[Page, Heard]) -> None:
    page, heard = untouched
    cells = page.locator(".matrix .cell")
    assert cells.count() == len(MODELS)
    boxes = [one.bounding_box() for one in cells.all()]
    assert all(box and box["y"] + box["height"] <= SCREEN["height"] for box in boxes)
    assert all(
        re.search(r"[✓✕◐?]\s+(yes|no|in part|cannot tell)", text)
        for text in cells.all_inner_texts()
    )
    words = page.locator(".matrix").inner_text()
    assert all(name in words for name in MODELS)
    assert "not asked" not in page.locator("body").inner_text()
    assert heard.trouble == []


def test_before_anything_is_unfolded_it_is_at_most_six_screens(
    untouched: tuple[Page, Heard],
) -> None:
    page, _ = untouched
    assert page.evaluate("document.documentElement.scrollHeight") <= 6 * SCREEN["height"]
    assert page.evaluate("document.documentElement.scrollWidth") <= SCREEN["width"]


def test_the_cases_are_within_sixty_stops_of_the_keyboard(untouched: tuple[Page, Heard]) -> None:
    assert 0 < untouched[0].evaluate(TAB_STOPS) < 60


def test_every_exhibit_says_in_a_line_what_it_shows(untouched: tuple[Page, Heard]) -> None:
    lines = untouched[0].locator(".exhibit > summary > .finding").all_inner_texts()
    told = [line for line in lines if re.search(r": |rows", line)]
    assert len(told) == len(lines) > 20
    assert sum(": " in line for line in lines) > 0.7 * len(lines)


def test_the_first_screen_looks_as_it_did(fresh: tuple[Page, Heard]) -> None:
    """Within what fonts and the day in the title change. OVERREAD_NEW_PICTURE=1 keeps a new one."""
    from PIL import Image, ImageChops, ImageFilter, ImageStat

    page, _ = fresh
    page.evaluate("document.querySelector('h1').textContent = 'Some models'")
    drawn = Image.open(BytesIO(page.screenshot())).convert("L")
    drawn = drawn.resize(REFERENCE_SIZE, Image.Resampling.LANCZOS)
    if os.environ.get("OVERREAD_NEW_PICTURE"):
        drawn.quantize(16).save(REFERENCE, optimize=True)
    kept = Image.open(REFERENCE).convert("L")
    soft = [one.filter(ImageFilter.GaussianBlur(3)) for one in (drawn, kept)]
    apart = ImageChops.difference(*soft)
    assert ImageStat.Stat(apart).mean[0] < 4
    assert apart.getextrema()[1] < 110


# ---------------------------------------------------------------- five questions, three actions


def test_which_models_look_at_the_image(untouched: tuple[Page, Heard]) -> None:
    page, _ = untouched
    # No action: the column of the question.
    text = page.locator(".matrix td[data-question='Did it look?']").inner_text()
    told = json.loads(page.locator("#headlines").text_content() or "")
    of_it = {one["reader"]: one["answer"] for one in told if one["run"] == "grounding"}
    assert of_it["control:prior"] == "no"
    for model, answer in of_it.items():
        assert re.search(rf"{model}\s+[✓✕?]\s+{answer}", text)


def test_a_case_where_hiding_the_finding_changed_the_answer(fresh: tuple[Page, Heard]) -> None:
    page, heard = fresh
    cell(page, "control:looks")
    page.locator(".found:target a", has_text="where its answer changed").click()
    arrived(page, "#cases-grounding .case")
    case = page.locator("#cases-grounding .case").first
    assert "control:looks" in case.inner_text()
    assert "flipped" in case.inner_text()
    assert heard.trouble == []


def test_what_it_got_wrong_most(fresh: tuple[Page, Heard]) -> None:
    page, _ = fresh
    cell(page, "control:unstable")
    line = page.locator(".found:target p", has_text="Right least often")
    assert re.search(r"Right least often: \w+ .* % of \d+; ", line.inner_text())
    line.locator("a").first.click()
    arrived(page, "#cases-grounding .case")
    assert "wrong" in page.locator("#cases-grounding .case").first.inner_text()


def test_is_the_judge_to_be_trusted(fresh: tuple[Page, Heard]) -> None:
    page, _ = fresh
    page.get_by_label("search the page").fill("judge")
    page.locator(".found-here a", has_text="Are the judges fit?").first.click()
    arrived(page, "#m3cot-judge_fitness table, #medcmr-judge_fitness table")
    assert "sensitivity" in page.locator("details[open].exhibit .finding").first.inner_text()


def test_what_may_i_not_conclude(fresh: tuple[Page, Heard]) -> None:
    page, _ = fresh
    page.locator(".side a", has_text="What may I not conclude?").click()
    arrived(page, "#limits li")
    assert "no number here says anything of clinical use" in page.locator("#limits").inner_text()


# ---------------------------------------------------------------- by keyboard, and by address


def test_the_keyboard_goes_from_cell_to_cell_and_back_to_it(fresh: tuple[Page, Heard]) -> None:
    page, _ = fresh
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")  # skips to the models
    while page.evaluate("!document.activeElement.matches('.matrix a.cell')"):
        page.keyboard.press("Tab")
    first = page.evaluate("document.activeElement.hash")
    page.keyboard.press("ArrowDown")
    second = page.evaluate("document.activeElement.hash")
    assert first != second
    assert page.evaluate("document.activeElement.getAttribute('aria-expanded')") == "false"
    page.keyboard.press("Enter")
    arrived(page, ".found:target .lead")
    assert page.evaluate("`#${document.activeElement.id}`") == second
    assert page.locator(f"a.cell[href='{second}']").get_attribute("aria-expanded") == "true"
    page.keyboard.press("Escape")
    assert page.evaluate("document.activeElement.hash") == second
    assert page.locator(".found:visible").count() == 0


def test_by_keyboard_from_the_matrix_to_an_enlarged_picture_and_back(
    fresh: tuple[Page, Heard],
) -> None:
    page, heard = fresh
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")  # skips to the models
    while page.evaluate("!document.activeElement.matches('.matrix a.cell')"):
        page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    arrived(page, ".found:target .lead")
    while page.evaluate("!document.activeElement.hash?.startsWith('#cases-grounding?')"):
        page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    arrived(page, "#cases-grounding .case")
    page.wait_for_function("() => document.activeElement.closest('#cases-grounding')")
    page.keyboard.press("Enter")
    page.wait_for_selector("dialog[open]")
    page.keyboard.press("Escape")
    page.wait_for_selector("dialog[open]", state="detached")
    assert page.evaluate("document.activeElement.closest('#cases-grounding') !== null")
    page.go_back()
    arrived(page, ".found:target .lead")
    page.keyboard.press("Escape")
    assert page.evaluate("document.activeElement.matches('.matrix a.cell')")
    assert heard.trouble == []


@pytest.mark.parametrize(
    ("address", "opens"),
    [
        ("#grounding-triad", "#grounding-triad svg"),
        ("#answer-m3cot-1", "#answer-m3cot-1 .lead"),
        ("#provenance-medcmr", "#provenance-medcmr table"),
        ("#cases-grounding?reader=control%3Alooks&flipped=yes", "#cases-grounding .case"),
    ],
)
def test_a_link_that_was_kept_opens_what_it_points_at(
    runs: Path, opened: Open, address: str, opens: str
) -> None:
    page, heard = opened((runs / "report.html").as_uri() + address, viewport=SCREEN)
    arrived(page, opens)
    assert heard.trouble == []


def test_search_finds_exhibits_models_and_cases(fresh: tuple[Page, Heard]) -> None:
    page, _ = fresh
    field = page.get_by_label("search the page")
    for sought, found in (
        ("sensitivity", "exhibit"),
        ("control:oracle", "answer"),
        ("phantom_000", "case"),
    ):
        field.fill(sought)
        links = page.locator(".found-here a")
        assert links.count() > 0, sought
        targets = links.evaluate_all("all => all.map(one => one.hash)")
        kinds = {"answer": "#answer-", "case": "#case-", "exhibit": "#"}
        assert any(target.startswith(kinds[found]) for target in targets), sought
    field.fill("no such thing anywhere")
    assert page.locator(".found-here output").inner_text() == "nothing found"


def test_the_print_for_a_board_has_two_pages(runs: Path, opened: Open, tmp_path: Path) -> None:
    from overread.runs import report

    policy = tmp_path / "gate.toml"
    policy.write_text(
        'title = "Before clinicians see it"\n[[rule]]\nname = "looks"\nwhy = "It must look."\n'
        'benchmark = "grounding"\nmeasure = "category"\nlabel = "uses image"\n'
    )
    folders = [runs / name for name in RUNS]
    board = tmp_path / "board.html"
    done = report(folders, tmp_path / "p.html", cards=0, policy=policy, board=board)
    assert done.gate == "fail"
    page, heard = opened(board)
    printed = page.pdf(prefer_css_page_size=True)
    assert len(re.findall(rb"/Type\s*/Page\b", printed)) == 2
    assert "What may I not conclude?" in page.locator("body").inner_text()
    # Nothing that stands on a sheet reaches into its foot.
    assert page.evaluate("""() => [...document.querySelectorAll(".sheet")].every(sheet => {
        const foot = sheet.querySelector(".foot").getBoundingClientRect().top;
        return [...sheet.querySelectorAll("table, ul, p:not(.foot)")]
            .every(one => one.getBoundingClientRect().bottom <= foot);
    })""")
    assert heard.trouble == []
