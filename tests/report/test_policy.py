"""What a page may show of a data set: pictures and texts only where they may be seen."""

from __future__ import annotations

from io import BytesIO
from typing import Any

import pytest
from PIL import Image

from overread.case import (
    Card,
    CardAnswer,
    CardOption,
    CardStep,
    Inline,
    Picture,
    Said,
    Shown,
    Slide,
)
from overread.report import Reported, report_html
from overread.report.reported import allowed, warning
from support.page import record_of, run_of, seen_in

SECRET = "no focal consolidation was seen on this film of the fourth of May, 1962"


def run_with_secrets(policy: str, **more: Any) -> Reported:
    data = BytesIO()
    Image.new("L", (9, 9)).save(data, "PNG")
    card = Card(
        case="case-1",
        title=SECRET,
        facts={"finding": "edema"},
        texts=(("report", SECRET),),
        options=(CardOption(key="A", text=SECRET),),
        steps=(CardStep(kind="features", text=SECRET),),
        conditions=(("original", "original"),),
        slides=(Slide(label="original", picture=Picture(Inline(b""))),),
        said=(
            Said(
                reader="r",
                answers=(
                    CardAnswer(shown="original", text="Yes", reply=SECRET),
                    CardAnswer(shown="original", text="No focal thing", option="B"),
                    CardAnswer(shown="original", text=SECRET),
                ),
                lines=(("answer", "Yes, 93.0 % sure"), ("step", SECRET)),
                steps=(CardStep(kind="features", text=SECRET, mark="Match"),),
                text=SECRET,
            ),
        ),
    )
    slides = {("case-1", 0): Shown("image/png", data.getvalue())}
    record = record_of("set", "r", policy=policy)
    return run_of(record=record, cards=(card,), slides=slides, card_total=1, **more)


@pytest.mark.parametrize("policy", ["research", "credentialed"])
def test_without_leave_there_is_no_picture_of_a_closed_set(policy: str) -> None:
    page = report_html([run_with_secrets(policy)])
    assert "data:image" not in page
    assert f"of set are left out, for the set is {policy}" in seen_in(page).words
    assert seen_in(page).data["cards-grounding"]["cards"][0]["slides"][0]["label"] == "original"


def test_without_leave_there_is_no_text_of_a_credentialed_set() -> None:
    page = report_html([run_with_secrets("credentialed")])
    assert "focal" not in page
    (card,) = seen_in(page).data["cards-grounding"]["cards"]
    assert card["title"] == card["case"] == "case-1"
    assert card["facts"] == {"finding": "edema"}
    (said,) = card["said"]
    assert said["lines"] == [["answer", "Yes, 93.0 % sure"], ["step", "(left out)"]]
    assert [answer["text"] for answer in said["answers"]] == ["Yes", "B", "(left out)"]
    assert (card["options"], card["steps"]) == ([], [])


def test_texts_of_a_research_set_are_shown() -> None:
    assert SECRET in report_html([run_with_secrets("research")])


@pytest.mark.parametrize("policy", ["research", "credentialed"])
def test_with_leave_they_are_shown_and_the_page_says_so(policy: str) -> None:
    page = report_html([run_with_secrets(policy, include_images=True)])
    assert "data:image/webp" in page
    assert SECRET in page
    told = f"shows pictures or texts of set ({policy}): keep it where the data set may be."
    assert told in seen_in(page).words


def test_a_page_with_a_strip_of_a_closed_set_says_so_too() -> None:
    run = run_of(record=record_of("set", policy="research", pictures=True))
    assert "keep it where the data set may be" in (warning(run) or "")


def test_an_open_set_is_shown_without_a_word() -> None:
    run = run_with_secrets("open")
    assert allowed(run) is run
    assert warning(run) is None
    assert "data:image/webp" in report_html([run])
