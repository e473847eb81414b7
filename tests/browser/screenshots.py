"""Pictures of a whole page, to be looked at: wide, narrow, dark and on paper.

    python -m tests.browser.screenshots report.html FOLDER [cases-grounding …]

writes FOLDER/wide-00.png and so on from the top of the page down; with ids, only those parts.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tests.support.chromium import chromium

if TYPE_CHECKING:
    from playwright.sync_api import Browser

VIEWS: dict[str, dict[str, Any]] = {
    "wide": {"viewport": {"width": 1300, "height": 1000}},
    "dark": {"viewport": {"width": 1300, "height": 1000}, "color_scheme": "dark"},
    "narrow": {"viewport": {"width": 400, "height": 900}},
    "print": {"viewport": {"width": 760, "height": 1080}},
}
HEIGHTS = {"wide": 2000, "dark": 2000, "narrow": 3000, "print": 2160}


def shoot(browser: Browser, page: Path, folder: Path, only: list[str]) -> None:
    for view, options in VIEWS.items():
        tall = {"width": options["viewport"]["width"], "height": HEIGHTS[view]}
        context = browser.new_context(**options | {"viewport": tall}, reduced_motion="reduce")
        tab = context.new_page()
        tab.goto(page.resolve().as_uri())
        if view == "print":
            tab.emulate_media(media="print")
            tab.evaluate("dispatchEvent(new Event('beforeprint'))")
        for name in only:
            tab.evaluate("id => document.getElementById(id).scrollIntoView()", name)
            tab.wait_for_timeout(200)
            tab.screenshot(path=folder / f"{view}-{name}.png")
        number = top = 0
        # What is above the window may become longer or shorter when it is drawn: measured anew.
        while not only and top < tab.evaluate("document.documentElement.scrollHeight"):
            tab.evaluate("top => scrollTo(0, top)", top)
            tab.wait_for_timeout(200)
            tab.screenshot(path=folder / f"{view}-{number:02d}.png")
            number, top = number + 1, top + HEIGHTS[view]
        if view == "print":
            (folder / "print.pdf").write_bytes(tab.pdf())
        context.close()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("page", type=Path)
    parser.add_argument("folder", type=Path)
    parser.add_argument("only", nargs="*")
    given = parser.parse_args()
    given.folder.mkdir(parents=True, exist_ok=True)
    with chromium() as browser:
        shoot(browser, given.page, given.folder, given.only)


if __name__ == "__main__":
    main()
