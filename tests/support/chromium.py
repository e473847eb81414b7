"""Debian's Chromium, driven by Playwright: never a browser that Playwright fetched itself."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page, Request

__all__ = ["Heard", "Open", "chromium", "heard_from", "unfold", "why_not"]

# `opened(page or address, **options of the context)`: a tab of its own, and what it does.
Open = Callable[..., tuple["Page", "Heard"]]

NAMES = ("chromium", "chromium-browser", "google-chrome")
FLAGS = [
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
]  # fmt: skip


def unfold(page: Page) -> None:
    """Open everything that the page folds under a line, but nothing inside it."""
    page.evaluate(
        "document.querySelectorAll('.fold, .exhibit').forEach(one => { one.open = true; })"
    )


def _path() -> str | None:
    return next(filter(None, map(shutil.which, NAMES)), None)


def why_not() -> str | None:
    """What is missing; None where a browser can be driven."""
    if _path() is None:
        return "needs Chromium: not here (Debian: apt-get install chromium)"
    if find_spec("playwright") is None:
        return "needs Playwright: not here (pip install playwright)"
    return None


@contextmanager
def chromium() -> Iterator[Browser]:
    """A browser of its own. While it is there, this thread has a running event loop."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=_path(), args=FLAGS)
        try:
            yield browser
        finally:
            browser.close()


class Heard:
    """What a page did beside being shown: lines of its console, errors, requests that left it,
    dialogs, and what its Content-Security-Policy stopped."""

    def __init__(self) -> None:
        self.console: list[str] = []
        self.errors: list[str] = []
        self.requests: list[str] = []
        self.dialogs: list[str] = []
        self.violations: list[str] = []

    @property
    def trouble(self) -> list[str]:
        return [*self.console, *self.errors, *self.dialogs, *self.violations]


_LISTEN = """addEventListener("securitypolicyviolation",
  event => stopped(`${event.violatedDirective} ${event.blockedURI}`))"""


def heard_from(page: Page) -> Heard:
    """Listens from before the page is opened."""
    heard = Heard()

    def dialog(shown: Any) -> None:
        heard.dialogs.append(f"{shown.type}: {shown.message}")
        shown.dismiss()

    def never_left(request: Request) -> None:
        if request.failure == "csp":
            heard.requests.remove(request.url)

    page.on("console", lambda line: heard.console.append(f"{line.type}: {line.text}"))
    page.on("pageerror", lambda error: heard.errors.append(str(error)))
    page.on("request", lambda request: heard.requests.append(request.url))
    page.on("requestfailed", never_left)
    page.on("dialog", dialog)
    page.expose_function("stopped", lambda rule: heard.violations.append(rule))
    page.add_init_script(_LISTEN)
    return heard
