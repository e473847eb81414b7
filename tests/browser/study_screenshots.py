"""Pictures of everything that readers of a study meet, to be looked at.

    python -m tests.browser.study_screenshots FOLDER [presence ranks …]

makes a study of every kind of task from phantoms and writes FOLDER/presence-desk.png and so on:
on a desk and on a tablet held upright, light and dark; with names, only those.
"""

from __future__ import annotations

import argparse
import csv
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import msgspec
from PIL import Image, ImageDraw

# The rooms of the tests are found from here, as pytest finds them.
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import overread as ov
from browser.test_study import begin, served
from overread import runs
from overread.study import Candidate, Journal, open_study
from support.chromium import chromium
from support.clip_files import numbered

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

DESK, TABLET = {"width": 1300, "height": 900}, {"width": 820, "height": 1180}
VIEWS: dict[str, dict[str, Any]] = {
    "desk": {"viewport": DESK},
    "desk-dark": {"viewport": DESK, "color_scheme": "dark"},
    "tablet": {"viewport": TABLET},
    "tablet-dark": {"viewport": TABLET, "color_scheme": "dark"},
    "tablet-flat": {"viewport": {"width": 1180, "height": 820}},
}
HEAD = (
    'name = "{name}"\nreaders = ["anna", "ben"]\nwashout_days = {washout}\nwelcome = "{welcome}"\n'
)
WELCOME = "Thank you for reading. Some films have a part hidden; say what you see."
CHEST = 'benchmark = "grounding"\ncases = "phantom:24"\n'
REPLIES = 'benchmark = "medcmr"\ncases = "phantom:84"\n'
ONCE = "cases = 2\nrepeat = 0\ntraining = 0\n"
QUESTIONS = """questions = [
  { name = "there", text = "Is there an effusion?" },
  { name = "side", text = "On which side?", kind = "choice", options = ["left", "right", "both"], where = ["there", "yes"] },
  { name = "quality", text = "How good is this film?", kind = "scale", options = ["1", "2", "3", "4", "5"] },
  { name = "signs", text = "Which two signs are clearest?", kind = "several", options = ["blunted angle", "meniscus", "opacity", "shift"], least = 2, most = 2 },
  { name = "ribs", text = "How many ribs are above the dome?", kind = "number", most = 14 },
  { name = "order", text = "Rank the views you would want next", kind = "ranking", options = ["lateral", "decubitus", "ultrasound"] },
  { name = "why", text = "Why?", kind = "text", required = false },
  { name = "words", text = "Mend the report", kind = "edit", given = "There is a small effusion on the left. The heart is not enlarged." },
]
"""
LONG = "The picture shows a rounded mass of even density with a sharp edge. " * 6


def pictures_in(place: Path) -> None:
    for number, wide in enumerate((640, 900)):
        image = Image.new("L", (wide, 600), 40)
        drawn = ImageDraw.Draw(image)
        drawn.ellipse((wide // 4, 120, wide // 2, 420), fill=170 + 30 * number)
        image.save(place / f"{number}.png")
    (place / "clip.avi").write_bytes(numbered(40))
    with (place / "items.csv").open("w", newline="") as out:
        csv.writer(out).writerows([("case", "image"), ("a", "0.png"), ("b", "clip.avi")])
    items = [
        Candidate(
            id=name,
            pictures=("0.png",),
            boxes=((150, 110, 190, 320),),
            question="Which of these is the most likely diagnosis, given what the picture shows?",
            options=("cyst", "abscess", "haemangioma", "metastasis", "lipoma", "fibroma"),
            answer="cyst",
            steps=("There is a rounded mass in the left half.", "It has a sharp edge.", LONG),
            texts=(("Caption", LONG),),
            flags=("answered without the picture",),
        )
        for name in ("i1", "i2")
    ]
    pairs = [msgspec.structs.replace(one, pictures=("0.png", "1.png")) for one in items]
    for name, some in (("items", items), ("pairs", pairs)):
        lines = b"".join(msgspec.json.encode(one) + b"\n" for one in some)
        (place / f"{name}.jsonl").write_bytes(lines)


def studies(place: Path) -> dict[str, str]:
    """The study file of each kind; runs and tables that they need are made beside them."""
    pictures_in(place)
    store = place / "store.sqlite"
    models = ["control:looks", "control:prior"]
    ov.run("grounding", cases="phantom:24", readers=models, out=place / "chest-run", store=store)
    ov.run(
        "medcmr",
        cases="phantom:84",
        readers=["control:oracle", "control:longest-option", "control:format-breaker"],
        judges=["control:lexical-judge"],
        out=place / "replies-run",
        store=store,
    )
    tasks = {
        "presence": f'{CHEST}[[task]]\nkind = "presence"\nconditions = ["original", "target_mask"]\n',
        "boxes": f'{CHEST}[[task]]\nkind = "boxes"\n',
        "failures": f'{CHEST}[[task]]\nkind = "failures"\nrun = "chest-run"\n',
        "form": f'[[task]]\nkind = "form"\ntable = "items.csv"\n{QUESTIONS}',
        "ranks": f'{REPLIES}[[task]]\nkind = "ranks"\nrun = "replies-run"\n',
        "errors": f'{REPLIES}[[task]]\nkind = "errors"\nrun = "replies-run"\n'
        'models = ["control:longest-option"]\n',
    }
    for kind in ("review", "same", "usable", "pick", "steps"):
        table = "pairs.jsonl" if kind == "same" else "items.jsonl"
        tasks[kind] = f'[[task]]\nkind = "{kind}"\ntable = "{table}"\npick = 3\n'
    return {
        name: HEAD.format(name=name, washout=0, welcome=WELCOME) + text + ONCE
        for name, text in tasks.items()
    }


def make(place: Path, name: str, text: str) -> Path:
    (place / f"{name}.toml").write_text(text)
    return runs.study_new(place / f"{name}.toml", place / name).folder


def audited(place: Path, first: Path) -> Path:
    """What two readers of a review do not agree on."""
    study, journal = open_study(first), Journal(first)
    for turn in study.schedule:
        said = {"anna": "keep", "ben": "drop"}[turn.reader]
        extra = {"reasons": "ambiguous"} if said == "drop" else {}
        journal.put(turn.reader, turn.display, {"decision": said, **extra})
    journal.close()
    made = runs.study_audit(place / "audit", first, ["anna"])
    assert made is not None
    return made.folder


def look(page: Page, place: Path, name: str) -> None:
    page.wait_for_timeout(400)
    page.screenshot(path=place / f"{name}.png")


def shoot(browser: Browser, study: Path, out: Path, *, all_of_it: bool) -> None:
    """The first two displays of a study; or also what is before, between and after them."""
    name = study.name
    readers = len(open_study(study).design.readers)
    with served(study, lines=readers + 1) as (_, links):
        for view, options in VIEWS.items():
            page = browser.new_context(**options, reduced_motion="reduce").new_page()
            page.goto(links["anna"])
            page.wait_for_selector("#notice button, #form fieldset")
            if all_of_it:
                look(page, out, f"welcome-{view}")
            if page.is_visible("#notice"):
                begin(page)
            page.wait_for_function("() => document.querySelector('.viewer-zoom')?.textContent")
            look(page, out, f"{name}-{view}")
            page.keyboard.press("Enter")
            page.evaluate("document.querySelector('#form .asked').scrollTop = 1e6")
            page.evaluate("form => { form.scrollTop = 1e6; }", page.query_selector("#form"))
            look(page, out, f"{name}-open-{view}")
            if all_of_it:
                page.keyboard.press("Escape")
                page.keyboard.press("p")
                look(page, out, f"paused-{view}")
                page.goto(links["organiser"])
                look(page, out, f"organiser-{view}")
            page.context.close()


def ends(browser: Browser, study: Path, out: Path) -> None:
    """Where a session waits, and where everything is read."""
    journal, opened = Journal(study), open_study(study)
    for turn in opened.schedule:
        if turn.reader == "ben" or turn.session == 1:
            journal.put(turn.reader, turn.display, {"answer": "yes"})
    journal.close()
    with served(study) as (_, links):
        for view, options in VIEWS.items():
            page = browser.new_context(**options).new_page()
            for who, state in (("anna", "waits"), ("ben", "finished"), ("organiser", "progress")):
                page.goto(links[who])
                look(page, out, f"{state}-{view}")
            page.context.close()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("only", nargs="*")
    given = parser.parse_args()
    given.folder.mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory() as scratch, chromium() as browser:
        place = Path(scratch)
        texts = studies(place)
        for name, text in texts.items():
            if not given.only or name in given.only:
                shoot(browser, make(place, name, text), given.folder, all_of_it=name == "presence")
        if not given.only or "audit" in given.only:
            first = make(place, "first", texts["review"].replace('"review"', '"first"', 1))
            shoot(browser, audited(place, first), given.folder, all_of_it=False)
        if not given.only or "ends" in given.only:
            text = texts["presence"].replace("washout_days = 0", "washout_days = 28")
            ends(
                browser, make(place, "ends", text.replace('"presence"', '"ends"', 1)), given.folder
            )


if __name__ == "__main__":
    main()
