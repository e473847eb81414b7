"""Cards as data: their pictures once and small, their boxes in a reader's pixels, as many as fit."""

from __future__ import annotations

from base64 import b64decode
from io import BytesIO
from typing import Any

import pytest
from PIL import Image

from overread.case import Box, Card, Clip, FrameMark, Inline, Picture, Said, Shown, Slide
from overread.report import Reported, report_html
from overread.report.browser import PAGE, Placed, browser, card_data, embedded
from support.page import card_of, record_of, run_of, seen_in


def png(width: int, height: int, grey: int = 90, mode: str = "L") -> Shown:
    data = BytesIO()
    Image.new(mode, (width, height), grey).save(data, "PNG")
    return Shown("image/png", data.getvalue())


def noise(seed: int, side: int = 440) -> Shown:
    import random

    data = BytesIO()
    picture = Image.frombytes("L", (side, side), random.Random(seed).randbytes(side * side))
    picture.save(data, "PNG")
    return Shown("image/png", data.getvalue())


def with_slides(case: str, count: int) -> Card:
    slide = Slide(
        label="original", picture=Picture(Inline(b"")), boxes=(("mass", Box(10, 20, 30, 40)),)
    )
    return Card(case=case, title=case, slides=(slide,) * count)


def data_of(run: Reported, most: int = 10**7, *, served: bool = False) -> Any:
    made = browser(run, "grounding", 1, most, served=served)
    return seen_in(made).data["cards-grounding"]


def test_a_picture_is_webp_of_its_size_and_stands_once() -> None:
    shown = png(224, 224)
    data = data_of(
        run_of(cards=(with_slides("a", 2), with_slides("b", 1)),
               slides={("a", 0): shown, ("a", 1): png(224, 224, 9), ("b", 0): png(224, 224)})
    )  # fmt: skip
    assert len(data["pictures"]) == 2
    assert [one["picture"] for card in data["cards"] for one in card["slides"]] == [0, 1, 0]
    kind, _, packed = data["pictures"][0].partition(",")
    assert kind == "data:image/webp;base64"
    with Image.open(BytesIO(b64decode(packed))) as picture:
        assert picture.size == (224, 224)


@pytest.mark.parametrize(("width", "height"), [(3000, 2000), (5000, 60), (448, 448), (1, 9000)])
def test_a_large_picture_shrinks_and_keeps_the_size_it_was_shown_in(
    width: int, height: int
) -> None:
    data = data_of(run_of(cards=(with_slides("a", 1),), slides={("a", 0): png(width, height)}))
    (slide,) = data["cards"][0]["slides"]
    assert (slide["width"], slide["height"]) == (width, height)
    assert slide["boxes"] == [["mass", 10, 20, 30, 40]]
    with Image.open(BytesIO(b64decode(data["pictures"][0].partition(",")[2]))) as picture:
        assert picture.width * picture.height <= 201_500
        assert max(picture.size) <= 1280


@pytest.mark.parametrize("mode", ["1", "L", "LA", "P", "RGB", "RGBA", "I;16", "CMYK"])
def test_any_kind_of_picture_is_taken(mode: str) -> None:
    data = BytesIO()
    Image.new(mode, (8, 8)).save(data, "TIFF" if mode == "CMYK" else "PNG")
    run = run_of(cards=(with_slides("a", 1),), slides={("a", 0): Shown("image/x", data.getvalue())})
    assert data_of(run)["cards"][0]["slides"][0]["picture"] == 0


def test_what_is_no_picture_is_named_and_not_shown() -> None:
    run = run_of(cards=(with_slides("a", 2),), slides={("a", 0): Shown("video/mp4", b"ftyp")})
    data = data_of(run)
    assert [slide["picture"] for slide in data["cards"][0]["slides"]] == [None, None]
    assert data["cards"][0]["slides"][0]["label"] == "original"
    assert data["pictures"] == []


def test_cards_that_have_no_room_are_left_out_and_counted() -> None:
    cards = tuple(with_slides(f"c{number}", 1) for number in range(6))
    slides = {(card.case, 0): noise(number) for number, card in enumerate(cards)}
    run = run_of(
        cards=cards, slides=slides, card_total=100, seed=7, strata=("flips: 6 of 50 shown",)
    )
    whole = data_of(run)
    assert len(whole["cards"]) == 6
    one = len(whole["pictures"][0])
    made = browser(run, "grounding", 1, 3 * one + 5000, served=False)
    data = seen_in(made).data["cards-grounding"]
    assert len(data["cards"]) == len(data["pictures"]) == 3
    assert "3 of 100 shown, sampled by seed 7: flips and errors first" in made
    assert "flips: 6 of 50 shown; 3 of those chosen had no room on the page" in made


@pytest.mark.slow
def test_nine_readers_with_long_replies_stay_below_eight_megabytes() -> None:
    readers = [f"reader {number}" for number in range(9)]
    cards = [
        Card(
            case=f"c{case}",
            title="t",
            said=tuple(Said(reader=name, text="€" * 100_000) for name in readers),
            slides=with_slides("x", 4).slides,
        )
        for case in range(60)
    ]
    slides = {
        (f"c{case}", number): noise(case * 4 + number) for case in range(8) for number in range(4)
    }
    run = run_of(record=record_of("w", *readers), cards=cards, slides=slides, card_total=2575)
    assert len(report_html([run]).encode()) < 8_000_000


def test_all_cases_are_called_all() -> None:
    made = browser(run_of(card_total=1), "grounding", 1, 10**6, served=False)
    assert "All 1 cases of the run." in made
    assert "sampled" not in made


def test_a_run_without_cases_to_show_has_no_browser() -> None:
    assert browser(run_of(cards=(), card_total=0), "grounding", 1, 10**6, served=False) == ""


def test_facets_are_the_cards_own_or_those_given() -> None:
    cards = tuple(card_of(case, facts={"finding": finding}) for case, finding in ("ab", "ba", "cb"))
    assert data_of(run_of(cards=cards))["facets"] == {"finding": ["a", "b"]}
    given = data_of(run_of(cards=cards, facets={"view": ("PA", "AP")}))
    assert given["facets"] == {"view": ["PA", "AP"]}


@pytest.mark.parametrize("value", [True, False, None])
def test_it_offers_to_filter_by_what_can_be_said(value: bool | None) -> None:
    said = (Said(reader="r", right=value, flipped=None),)
    data = data_of(run_of(cards=(Card(case="c", title="c", said=said),)))
    assert data["right"] is (value is not None)
    assert data["flipped"] is False


def test_a_served_page_holds_no_cards_and_asks_for_pages_of_them() -> None:
    data = data_of(run_of(card_total=2575), served=True)
    assert data["cards"] == data["pictures"] == []
    assert (data["served"], data["page"], data["total"], data["run"]) == (True, PAGE, 2575, 1)


def test_a_server_says_where_its_pictures_are() -> None:
    data = card_data(
        with_slides("a", 2), lambda card, number: Placed(f"slides?{card.case}&{number}", full="f")
    )
    assert [slide["picture"] for slide in data["slides"]] == ["slides?a&0", "slides?a&1"]
    assert (data["slides"][0]["width"], data["slides"][0]["full"]) == (None, "f")


def test_frames_of_a_sheet_shrink_one_by_one_and_stay_apart() -> None:
    """A white frame beside a black one keeps its edge, whatever the size."""
    frames, side = 7, 400
    sheet = Image.new("L", (3 * side, 3 * side))
    sheet.paste(255, (side, 0, 2 * side, side))
    data = BytesIO()
    sheet.save(data, "PNG")
    made = embedded(Shown("image/png", data.getvalue()), frames)
    assert made is not None
    assert made[1:] == (side, side)
    with Image.open(BytesIO(b64decode(made[0].partition(",")[2]))) as small:
        assert small.width * small.height <= 340_000
        assert small.width % 3 == small.height % 3 == 0
        third, grey = small.width // 3, small.convert("L")
        near = [grey.getpixel((third + by, third // 2)) for by in (-3, 2)]
    assert near[0] < 20
    assert near[1] > 235


def test_a_clip_says_how_many_frames_it_has_and_which_are_true() -> None:
    clip = Clip(Inline(b""), tuple(range(7)))
    slide = Slide(label="clip", picture=clip, shown="clip", marks=(FrameMark("systole", 3),))
    said = Said(reader="r", marks=(FrameMark("systole", 4, 2),))
    card = Card(case="c", title="c", slides=(slide,), said=(said,), conditions=(("clip", "clip"),))
    data = card_data(card, lambda card, number: Placed("x"))
    assert (data["slides"][0]["frames"], data["slides"][0]["marks"]) == (7, [["systole", 3, 1]])
    assert data["said"][0]["marks"] == [["systole", 4, 2]]


def test_without_scripts_a_note_remains() -> None:
    seen = seen_in(report_html([run_of()]))
    assert "scripts do not run here" in seen.words
    assert "The case browser is not printed." in seen.words
