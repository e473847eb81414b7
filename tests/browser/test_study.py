"""A whole study in a real browser: two readers, two sessions, a server killed in the middle."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from io import BytesIO
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

import overread.case as oc
from overread import runs
from overread.benchmarks.people import Ask, ForPeople
from overread.study import Candidate, Journal, Task, make_study, open_key
from support.clip_files import numbered
from support.studies import design, made, rendered

CONDITIONS = ["original", "target_mask"]


@pytest.fixture(scope="module")
def study(tmp_path_factory):
    """Two cases, two conditions: two sessions of two displays, and one display to practise on."""
    task = Task(kind="presence", cases=2, conditions=CONDITIONS, repeat=0, training=1)
    wanted = design(task=[task], washout_days=0, welcome="Good morning.")
    return made(tmp_path_factory.mktemp("study") / "s", wanted)


CHEST = """
name = "chest"
benchmark = "grounding"
cases = "phantom:16"
readers = ["anna", "ben"]
washout_days = 0

[[task]]
kind = "presence"
cases = 2
conditions = ["original", "target_mask"]
repeat = 0
training = 1
"""


@pytest.fixture(scope="module")
def chest(phantom_cache, tmp_path_factory):
    """The same of phantom films: what is read of it can be measured."""
    place = tmp_path_factory.mktemp("chest")
    (place / "study.toml").write_text(CHEST)
    runs.study_new(place / "study.toml", place / "chest")
    return place / "chest"


@contextmanager
def served(
    folder: Path, port: int = 0, lines: int = 3
) -> Iterator[tuple[subprocess.Popen[str], dict[str, str]]]:
    start = "from overread.cli import main; main()"
    command = [sys.executable, "-c", start, "study", "serve", str(folder)]
    with subprocess.Popen(
        [*command, "--port", str(port)], stdout=subprocess.PIPE, text=True, env=os.environ
    ) as process:
        try:
            assert process.stdout is not None
            said = [process.stdout.readline().strip() for _ in range(lines)]
            yield process, dict(line.split(": ", 1) for line in said)
        finally:
            process.kill()


def in_front(page) -> None:
    """Every picture of the display is there: before that nothing is answered."""
    page.wait_for_function(
        "() => [...document.querySelectorAll('#pictures .viewer-zoom')].every(one => one.textContent)"
    )


def answer(page, key: str) -> None:
    """Answer what is in front by one key, go on by another, and wait for what follows."""
    before = page.inner_text("#place")
    in_front(page)
    page.keyboard.press(key)
    page.keyboard.press("Enter")
    page.wait_for_function(
        "before => document.getElementById('place').textContent !== before", arg=before
    )


def begin(page) -> None:
    page.wait_for_selector("#notice button")
    page.keyboard.press("Enter")
    page.wait_for_selector("#form fieldset")


def test_a_study_is_read_by_keys_survives_its_server_and_is_analysed(chest, opened, tmp_path):
    with served(chest) as (process, links):
        port = int(links["anna"].rsplit(":", 1)[1].split("/")[0])
        page, _ = opened(links["anna"])
        begin(page)  # practice
        answer(page, "y")
        begin(page)  # the first session
        answer(page, "y")
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
        in_front(page)
        page.keyboard.press("n")
        page.keyboard.press("Enter")
        page.wait_for_selector("#saved.trouble")
    with served(chest, port) as (process, links):
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
    key = open_key(chest, "test")
    journal = Journal(chest, read_only=True)
    given = [one for one in journal.answers() if not key[one.display].training]
    journal.close()
    assert Counter(one.reader for one in given) == {"anna": 4, "ben": 4}
    assert Counter(one.value for one in given if one.reader == "anna") == {"yes": 2, "no": 2}
    assert all(one.seconds is not None and one.visible is not None for one in given)

    # Whatever is made of it counts every answer once.
    assert runs.study_export(chest, tmp_path / "chest.imrmc", imrmc=True) == 8
    lines = (tmp_path / "chest.imrmc").read_text().partition("BEGIN DATA:")[2].split("\n")
    assert Counter(line.split(",")[0] for line in lines if line)["anna"] == 4
    found = runs.study_analyse(chest)
    assert (found.people, found.readings) == (("anna", "ben"), 8)
    right = [one for one in found.measures if one.measure == "accuracy" and not one.by]
    assert {one.reader: one.n for one in right} == {"anna": 2, "ben": 2}


# Milliseconds from Enter until the frame with the next picture is drawn, and whether that picture
# was decoded before: a bitmap is, an <img> may be decoded when it is drawn.
WATCH = """() => {
  window.took = [];
  window.bitmaps = 0;
  let from = 0;
  document.addEventListener("keydown", event => { if (event.key === "Enter") from = performance.now(); }, true);
  const draw = CanvasRenderingContext2D.prototype.drawImage;
  CanvasRenderingContext2D.prototype.drawImage = function (...given) {
    draw.apply(this, given);
    const began = from;
    from = 0;
    if (!began) return;
    window.bitmaps += given[0] instanceof ImageBitmap;
    const painted = new MessageChannel();
    painted.port1.onmessage = () => window.took.push(performance.now() - began);
    requestAnimationFrame(() => painted.port2.postMessage(null));
  };
}"""


def large_film(number: int) -> oc.Inline:
    """2,048 x 2,500 with the grain of a film: some megabytes, and slow to decode."""
    grain = np.random.default_rng(number).normal(128, 6, (2500, 2048)).astype("uint8")
    data = BytesIO()
    Image.fromarray(grain).save(data, "PNG", compress_level=1)
    return oc.Inline(data.getvalue())


def test_the_next_film_is_there_when_the_key_is_let_go(tmp_path, opened, capsys):
    """Fetched and decoded ahead: between two displays the page asks for no picture."""
    cases = 20
    films = [large_film(number) for number in range(2)]
    shown = [
        ForPeople(
            case=f"case-{at}",
            patient=f"case-{at}",
            slides=(oc.Slide(label="", picture=oc.Picture(films[at % 2])),),
            asks=(Ask(name="answer", text="Is it there?"),),
        )
        for at in range(cases)
    ]
    task = Task(kind="presence", repeat=0, training=0)
    wanted = design(task=[task], readers=["anna"], washout_days=0)
    make_study(tmp_path / "large", wanted, [shown], "open", rendered, lambda one: "")
    asked: list[str] = []
    with served(tmp_path / "large", lines=2) as (_, links):
        page, _ = opened(links["anna"])
        page.on("request", lambda one: asked.extend([one.url] if "/picture/" in one.url else []))
        begin(page)
        page.evaluate(WATCH)
        for number in range(1, cases):  # one hand is enough: digits and Enter
            page.wait_for_load_state("networkidle")
            assert len(asked) == len(set(asked)) >= number + 1
            answer(page, str(1 + number % 2))
            page.wait_for_function("n => window.took.length === n", arg=number)
        took = sorted(page.evaluate("window.took"))
        assert page.evaluate("window.bitmaps") == cases - 1
    with capsys.disabled():
        middle, most = took[len(took) // 2], took[-1]
        print(f"\nEnter to the next film of 2,048 x 2,500: median {middle:.0f} ms, most {most:.0f}")
    # The machine may be busy with other things; what the page itself takes is the least.
    assert took[0] < 150


# A drag with the right button, a step a frame: milliseconds of each until it is drawn, and how many
# pixels were read of a canvas meanwhile.
DRAG = """async steps => {
  window.read = [];
  const get = CanvasRenderingContext2D.prototype.getImageData;
  CanvasRenderingContext2D.prototype.getImageData = function (x, y, width, height) {
    window.read.push(width * height);
    return get.call(this, x, y, width, height);
  };
  const stage = document.querySelector(".viewer-stage"), took = [];
  stage.setPointerCapture = () => {};
  const tell = (type, x, y) => stage.dispatchEvent(
    new PointerEvent(type, {pointerId: 1, button: 2, clientX: x, clientY: y, bubbles: true}));
  tell("pointerdown", 300, 300);
  for (let step = 1; step <= steps; step++) {
    const began = performance.now(), painted = new MessageChannel();
    tell("pointermove", 300 - 4 * step, 300 + step);
    await new Promise(done => {
      painted.port1.onmessage = done;
      requestAnimationFrame(() => painted.port2.postMessage(null));
    });
    took.push(performance.now() - began);
  }
  tell("pointerup", 0, 0);
  return [took, window.read];
}"""
SHOWN = """() => {
  const canvas = document.querySelector(".viewer-stage canvas");
  return [...canvas.getContext("2d").getImageData(canvas.width / 2 - 50, 300, 100, 1).data].filter((_, at) => at % 4 === 0);
}"""
BESIDE = """() => [...document.querySelector(".viewer-stage canvas").getContext("2d")
  .getImageData(2, 300, 1, 1).data]"""
SETTLED = "() => window.read.some(pixels => pixels === 2048 * 2500)"


def test_a_window_is_dragged_without_reading_the_whole_film(tmp_path, opened, capsys):
    """While it changes only what is in sight is windowed; when it rests, the film to the digit."""
    shown = ForPeople(
        case="case",
        patient="case",
        slides=(oc.Slide(label="", picture=oc.Picture(large_film(1))),),
        asks=(Ask(name="answer", text="Is it there?"),),
    )
    task = Task(kind="presence", repeat=0, training=0)
    wanted = design(task=[task], readers=["anna"], washout_days=0)
    make_study(tmp_path / "large", wanted, [[shown]], "open", rendered, lambda one: "")
    with served(tmp_path / "large", lines=2) as (_, links):
        page, _ = opened(links["anna"])
        begin(page)
        in_front(page)
        page.click("[aria-label='one to one']")
        before = page.evaluate(SHOWN)
        took, read = page.evaluate(DRAG, 20)
        assert page.inner_text(".viewer-window") == "W 176 L 148"
        assert len(read) == 1  # what is in sight, once
        assert read[0] < 2048 * 2500 / 4
        quick = page.evaluate(SHOWN)
        page.wait_for_function(SETTLED)
        assert quick == page.evaluate(SHOWN)  # one to one: no pixel is mixed with another
        windowed = [(value - 147.5) / 175 + 0.5 for value in before]
        assert quick == [round(255 * min(1, max(0, value))) for value in windowed]
        # Scaled it is nearly the same, and inverting turns nothing outside of the film.
        page.click("[aria-label='fit']")
        page.keyboard.press("i")
        quick = page.evaluate(SHOWN)
        assert page.evaluate(BESIDE) == [0, 0, 0, 255]
        page.evaluate("window.read = []")
        page.keyboard.press("l")
        page.keyboard.press("L")
        page.wait_for_function(SETTLED)
        assert max(abs(a - b) for a, b in zip(quick, page.evaluate(SHOWN), strict=True)) <= 4
    with capsys.disabled():
        middle, most = sorted(took)[len(took) // 2], max(took)
        print(f"\nA step of a window on 2,048 x 2,500: median {middle:.0f} ms, most {most:.0f}")
    # The machine may be busy with other things; what the page itself takes is the least.
    assert min(took) < 50


def test_a_picture_that_did_not_come_is_fetched_again_and_not_answered_before(study, opened):
    fresh = made(study.folder.parent / "lost", study.design)
    with served(fresh.folder) as (_, links):
        page, _ = opened(links["anna"])
        page.route("**/picture/*", lambda route: route.abort())
        begin(page)
        page.wait_for_function(
            "() => document.querySelector('.viewer-label').textContent.includes('cannot be shown')"
        )
        # Until then it is not answered either.
        page.keyboard.press("y")
        page.keyboard.press("Enter")
        assert "The picture is not here yet" in page.inner_text("#saved")
        assert not list(Journal(fresh.folder, read_only=True).answers())
        page.unroute("**/picture/*")
        answer(page, "y")


def test_keys_choose_what_they_say_and_nothing_chosen_is_lost(study, opened):
    fresh = made(study.folder.parent / "keys", study.design)
    with served(fresh.folder) as (_, links):
        page, _ = opened(links["anna"])
        begin(page)
        answer(page, "y")
        begin(page)
        in_front(page)
        # Arrows move the picture; they choose no answer.
        for key in ("ArrowDown", "Space", "Enter", "ArrowDown", "Space"):
            page.keyboard.press(key)
        assert "Still open" in page.inner_text("#saved")
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
        in_front(page)
        page.keyboard.press("Enter")
        page.wait_for_function(
            "() => document.getElementById('place').textContent.includes('case 2')"
        )
        assert page.is_checked("input[value=no]")
        in_front(page)
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


def test_a_second_tab_is_told_what_stands_and_why(study, opened):
    """What it chose is not kept, and it would else see its answer change by itself."""
    fresh = made(study.folder.parent / "tabs", study.design)
    with served(fresh.folder) as (_, links):
        page, _ = opened(links["anna"])
        begin(page)
        other = page.context.new_page()
        other.goto(links["anna"])
        begin(other)
        answer(page, "y")
        in_front(other)
        other.keyboard.press("n")  # the practice, which the first tab has ended
        other.keyboard.press("Enter")
        begin(other)
        assert "ended elsewhere" in other.inner_text("#saved")
        begin(page)
        in_front(other)
        answer(page, "y")
        other.keyboard.press("n")
        other.keyboard.press("Enter")
        other.wait_for_selector("#form input[value=yes]:checked")
        other.wait_for_load_state("networkidle")
        assert "answered elsewhere" in other.inner_text("#saved")
        answer(other, "n")
        assert "elsewhere" not in other.inner_text("#saved")
    journal = Journal(fresh.folder, read_only=True)
    given = [one.value for one in journal.answers("anna", every=True)]
    journal.close()
    assert given == ["yes", "yes", "no"]


EVERYTHING = """async () => {
  const text = async path => (await fetch(path)).text(), state = await text("/state");
  const shown = await Promise.all(JSON.parse(state).order.map(id => text(`/display/${id}`)));
  return [document.documentElement.outerHTML, state, ...shown].join(" ");
}"""


HEIGHTS = "() => [...document.querySelectorAll('.viewer-stage')].map(one => one.clientHeight)"


def test_items_are_reviewed_ranked_and_played_by_keys(tmp_path, opened):
    """Every kind of question and picture there is, in one session; nothing says which item it is."""
    Image.new("L", (40, 30), 90).save(tmp_path / "secret.png")
    (tmp_path / "secret.avi").write_bytes(numbered(6))
    rank = Ask(name="best", text="Which is best?", kind="ranking", options=("A", "B", "C"))
    two = Ask(
        name="two", text="Choose two", kind="several", options=("x", "y", "z"), least=2, most=2
    )
    items = [
        Candidate(
            id="secret-1", pictures=("secret.png",), question="What?", options=("<b>a</b>", "b"),
            answer="b", steps=("It is <i>grey</i>.",), about={"dimension": "secret-fact"},
            texts=(("Caption", "Much is to be read. " * 300),),
        ),
        Candidate(
            id="secret-2", pictures=("secret.png", "secret.png"), boxes=((5, 5, 9, 9),),
            asks=(rank, two),
        ),
        Candidate(id="secret-3", pictures=("secret.avi",), asks=(Ask(name="seen", text="Moves?"),)),
    ]  # fmt: skip
    runs.study_of_candidates(tmp_path / "s", items, "review", ["anna"], root=tmp_path)
    heard: list[str] = []
    with served(tmp_path / "s", lines=2) as (_, links):
        page, _ = opened(links["anna"])

        page.on("response", lambda one: heard.append(f"{one.url} {one.headers}"))
        page.reload()
        begin(page)
        heard.append(page.evaluate(EVERYTHING))
        for number in (1, 2, 3):
            page.wait_for_selector("#form fieldset")
            page.wait_for_function("() => document.querySelector('.viewer-zoom')?.textContent")
            if page.query_selector("[data-ask=decision]"):
                assert "<b>a</b>" in page.inner_text("#form")
                page.keyboard.press("j")  # scrolls what is beside the pictures, and k back
                assert page.evaluate("document.querySelector('.shown').scrollTop") > 100
                page.keyboard.press("k")
                page.keyboard.press("Enter")
                assert "Still open" in page.inner_text("#saved")
                page.keyboard.press("3")
                hints = page.locator("[data-ask=decision] kbd").all_inner_texts()
                assert hints == ["1", "2", "3", "C 4"]
                assert page.is_hidden("[data-ask=question_text]")
                page.click("[data-ask=decision] label:has-text('fix')")
                assert page.is_visible("[data-ask=question_text]")
                page.keyboard.press("s")
                for key in "132":
                    page.keyboard.press(key)
                page.keyboard.press("3")
                page.fill("[data-ask=step_1_text] textarea", "It is dark.")
                page.keyboard.press("Escape")
            elif page.query_selector("[data-ask=best]"):
                assert page.locator("canvas").count() == 2
                assert len(set(page.evaluate(HEIGHTS))) == 1  # level, though one has boxes
                for key in "3120":  # ranked, taken back, and ranked anew
                    page.keyboard.press(key)
                page.keyboard.press("Shift+S")
                for key in "0211":
                    page.keyboard.press(key)
                page.keyboard.press("1")
                assert "1 of 2 chosen" in page.inner_text("[data-ask=two]")
                page.keyboard.press("Enter")
                assert "Still open: Choose two" in page.inner_text("#saved")
                page.keyboard.press("3")
                if number > 1:  # what was begun is there after a look back
                    page.keyboard.press("0")
                    page.keyboard.press("2")
                    page.keyboard.press("Backspace")
                    page.wait_for_selector("#form fieldset:not([data-ask=best])")
                    in_front(page)
                    page.keyboard.press("Enter")
                    page.wait_for_selector("[data-ask=best]")
                    for key in "11":
                        page.keyboard.press(key)
            else:
                frame = page.locator(".viewer-frame")
                page.keyboard.press("ArrowRight")
                assert frame.inner_text() == "1 / 5"
                page.keyboard.press("Space")
                page.wait_for_function(
                    "() => document.querySelector('.viewer-frame').textContent !== '1 / 5'"
                )
                page.keyboard.press("Space")
                page.locator("input[aria-label=frame]").fill("4")
                assert frame.inner_text() == "4 / 5"
                page.keyboard.press("c")
            page.keyboard.press("Enter")
            page.wait_for_function(
                "n => !document.getElementById('place').textContent.includes(`case ${n} of`)",
                arg=number,
            )
        assert "Everything is read" in page.inner_text("#notice")
    assert len(heard) > 10
    assert not [text for text in heard if "secret" in text]
    said = {(one.case, one.question): one.value for one in runs.study_answers(tmp_path / "s")}
    assert said == {
        ("secret-1", "decision"): "fix",
        ("secret-1", "reasons"): "ambiguous\nanswer wrong",
        ("secret-1", "step_1_text"): "It is dark.",
        ("secret-2", "best"): "B = C > A",
        ("secret-2", "two"): "x\nz",
        ("secret-3", "seen"): "cannot tell",
    }
