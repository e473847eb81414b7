"""A whole study in a real browser: two readers, two sessions, a server killed in the middle."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from overread.study import Journal, Task, open_key
from support.studies import design, made

CONDITIONS = ["original", "target_mask"]


@pytest.fixture(scope="module")
def study(tmp_path_factory):
    """Two cases, two conditions: two sessions of two displays, and one display to practise on."""
    task = Task(kind="presence", cases=2, conditions=CONDITIONS, repeat=0, training=1)
    wanted = design(task=[task], washout_days=0, welcome="Good morning.")
    return made(tmp_path_factory.mktemp("study") / "s", wanted)


@contextmanager
def served(folder: Path, port: int = 0) -> Iterator[tuple[subprocess.Popen[str], dict[str, str]]]:
    start = "from overread.cli import main; main()"
    command = [sys.executable, "-c", start, "study", "serve", str(folder)]
    with subprocess.Popen(
        [*command, "--port", str(port)], stdout=subprocess.PIPE, text=True, env=os.environ
    ) as process:
        try:
            assert process.stdout is not None
            lines = [process.stdout.readline().strip() for _ in range(3)]
            yield process, dict(line.split(": ", 1) for line in lines)
        finally:
            process.kill()


def answer(page, key: str) -> None:
    """Answer what is in front by one key, go on by another, and wait for what follows."""
    before = page.inner_text("#place")
    page.keyboard.press(key)
    page.keyboard.press("Enter")
    page.wait_for_function(
        "before => document.getElementById('place').textContent !== before", arg=before
    )


def begin(page) -> None:
    page.wait_for_selector("#notice button")
    page.keyboard.press("Enter")
    page.wait_for_selector("#form fieldset")


def test_a_study_is_read_by_keys_and_survives_its_server(study, opened):
    with served(study.folder) as (process, links):
        port = int(links["anna"].rsplit(":", 1)[1].split("/")[0])
        page, _ = opened(links["anna"])
        begin(page)  # practice
        answer(page, "y")
        begin(page)  # the first session
        answer(page, "y")
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
        page.keyboard.press("n")
        page.keyboard.press("Enter")
        page.wait_for_selector("#saved.trouble")
    with served(study.folder, port) as (process, links):
        # The page goes on by itself: what was said while nobody answered is kept now.
        page.wait_for_selector("#notice button")
        assert "Session 2" in page.inner_text("#place")
        begin(page)
        answer(page, "c")
        page.reload()
        page.wait_for_selector("#form fieldset")
        assert "case 2 of 2" in page.inner_text("#place")
        # Back within the session, another answer, and on again.
        page.keyboard.press("Backspace")
        page.wait_for_function(
            "() => document.getElementById('place').textContent.includes('case 1')"
        )
        assert page.is_checked("input[value='cannot tell']")
        answer(page, "n")
        answer(page, "y")
        assert "Everything is read" in page.inner_text("#notice")

        other, _ = opened(links["ben"])
        begin(other)
        answer(other, "n")
        for _ in range(2):
            begin(other)
            answer(other, "n")
            answer(other, "n")
        assert "Everything is read" in other.inner_text("#notice")
    key = open_key(study.folder, "test")
    journal = Journal(study.folder, read_only=True)
    given = [one for one in journal.answers() if not key[one.display].training]
    journal.close()
    assert Counter(one.reader for one in given) == {"anna": 4, "ben": 4}
    assert Counter(one.value for one in given if one.reader == "anna") == {"yes": 2, "no": 2}
    assert all(one.seconds is not None and one.visible is not None for one in given)


def test_the_next_display_is_there_when_the_key_is_let_go(study, opened):
    """Pictures are fetched ahead: between two displays the page asks for no picture."""
    fresh = made(study.folder.parent / "fresh", study.design)
    with served(fresh.folder) as (_, links):
        page, _ = opened(links["anna"])
        begin(page)
        answer(page, "y")
        begin(page)
        page.wait_for_load_state("networkidle")
        asked: list[str] = []
        page.on("request", lambda request: asked.append(request.url))
        answer(page, "y")
        page.wait_for_selector("canvas")
        assert not [url for url in asked if "/picture/" in url]


def test_keys_choose_what_they_say_and_nothing_chosen_is_lost(study, opened):
    fresh = made(study.folder.parent / "keys", study.design)
    with served(fresh.folder) as (_, links):
        page, _ = opened(links["anna"])
        begin(page)
        answer(page, "y")
        begin(page)
        # Arrows move the picture; they choose no answer.
        page.keyboard.press("ArrowDown")
        page.keyboard.press("Space")
        assert page.locator("input:checked").count() == 0
        answer(page, "y")
        # What was chosen on the second case is there after a look back at the first.
        page.keyboard.press("n")
        page.keyboard.press("Backspace")
        page.wait_for_function(
            "() => document.getElementById('place').textContent.includes('case 1')"
        )
        assert page.is_checked("input[value=yes]")
        # A button that keys reached is pressed by Enter; one that was clicked is not.
        page.focus(".note summary")
        page.keyboard.press("Shift+Tab")
        page.keyboard.press("Tab")
        page.keyboard.press("Enter")
        assert page.is_visible(".note textarea")
        assert "case 1" in page.inner_text("#place")
        page.click("#pause")
        page.click("#pause")
        page.keyboard.press("Enter")
        page.wait_for_function(
            "() => document.getElementById('place').textContent.includes('case 2')"
        )
        assert page.is_checked("input[value=no]")
        # While an answer is on its way, nothing else can be chosen.
        page.route("**/display/*", lambda route: route.abort())
        page.keyboard.press("Enter")
        page.wait_for_selector("#saved.trouble")
        page.keyboard.press("y")
        assert page.is_checked("input[value=no]")
        page.unroute("**/display/*")
        page.wait_for_selector("#notice button")
    journal = Journal(fresh.folder, read_only=True)
    given = [one.value for one in journal.answers("anna", every=True)]
    journal.close()
    assert given == ["yes", "yes", "no"]
