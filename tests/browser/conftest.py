"""A real Chromium and the pages it is shown; without one, every test here skips and says so."""

from __future__ import annotations

import fcntl
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from support.chromium import Heard, Open, chromium, heard_from, unfold, why_not
from support.commands import phantom_cache
from support.small_runs import make

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

__all__ = ["phantom_cache"]


@pytest.fixture(scope="package")
def browser() -> Iterator[Browser]:
    """One for these tests only: beside it no other test could run an event loop."""
    missing = why_not()
    if missing:
        pytest.skip(missing)
    with chromium() as started:
        yield started


@pytest.fixture(scope="session")
def runs(phantom_cache: Path) -> Path:
    """The folder of `support.small_runs`; the first worker that needs it makes it for all."""
    missing = why_not()
    if missing:
        pytest.skip(missing)
    folder = phantom_cache.parent / "small-runs"
    with (phantom_cache.parent / "small-runs.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (folder / "report.html").exists():
            # Where a browser is driven, this thread has a running event loop.
            with ThreadPoolExecutor(1) as another:
                another.submit(make, folder).result()
    return folder


def _opener(browser: Browser) -> Iterator[Open]:
    contexts = []

    def opened(address: str | Path, **options: Any) -> tuple[Page, Heard]:
        context = browser.new_context(
            **{"viewport": {"width": 1300, "height": 900}, "reduced_motion": "reduce"} | options
        )
        contexts.append(context)
        page = context.new_page()
        page.set_default_timeout(10_000)
        heard = heard_from(page)
        page.goto(address.as_uri() if isinstance(address, Path) else address)
        return page, heard

    yield opened
    for context in contexts:
        context.close()


@pytest.fixture
def opened(browser: Browser) -> Iterator[Open]:
    yield from _opener(browser)


@pytest.fixture(scope="module")
def module_opened(browser: Browser) -> Iterator[Open]:
    yield from _opener(browser)


@pytest.fixture(scope="package")
def page(runs: Path, browser: Browser) -> Iterator[Page]:
    """The page of the four runs, opened once and unfolded: whoever changes it puts it back."""
    for opened in _opener(browser):
        made, _ = opened(runs / "report.html")
        unfold(made)
        yield made
