"""A figure is saved as what its name says, from characters anybody may have typed."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from PIL import Image

from overread.case import BadInput, Figure

ROWS: list[dict[str, Any]] = [
    {"reader": "a, b", "value": 1.5},
    {"reader": "c", "value": None, "n": 3},
]


def figure(**more: Any) -> Figure:
    spec = {
        "data": {"values": ROWS},
        "width": 100,
        "height": 50,
        "mark": "point",
        "encoding": {
            "x": {"field": "value", "type": "quantitative"},
            "y": {"field": "reader", "type": "nominal"},
        },
    }
    return Figure(name="f", title="A title", spec=spec | more, alt="in words")


def test_the_suffix_says_how(tmp_path: Path) -> None:
    for suffix in ("svg", "png", "pdf", "json", "csv", "SVG"):
        figure().save(tmp_path / f"f.{suffix}")
    root = ElementTree.parse(tmp_path / "f.svg").getroot()
    assert root.tag.endswith("svg")
    assert (tmp_path / "f.SVG").read_bytes() == (tmp_path / "f.svg").read_bytes()
    assert (tmp_path / "f.pdf").read_bytes().startswith(b"%PDF")
    assert json.loads((tmp_path / "f.json").read_text()) == figure().spec | {"background": "white"}


def test_a_png_has_three_hundred_dots_to_the_inch(tmp_path: Path) -> None:
    figure().save(tmp_path / "f.png")
    points = float(ElementTree.fromstring(figure().svg()).get("width", "0"))
    with Image.open(tmp_path / "f.png") as drawn:
        assert drawn.width == pytest.approx(points * 300 / 72, abs=2)
        assert drawn.convert("RGB").getpixel((0, 0)) == (255, 255, 255)


def test_the_numbers_behind_it_are_a_csv(tmp_path: Path) -> None:
    figure().save(tmp_path / "f.csv")
    read = list(csv.DictReader(io.StringIO((tmp_path / "f.csv").read_text())))
    assert read == [
        {"reader": "a, b", "value": "1.5", "n": ""},
        {"reader": "c", "value": "", "n": "3"},
    ]


@pytest.mark.parametrize("name", ["f.gif", "f", "f.svg.gz", ".svg"])
def test_another_suffix_is_refused_in_one_line(name: str, tmp_path: Path) -> None:
    with pytest.raises(BadInput) as refused:
        figure().save(tmp_path / name)
    said = str(refused.value)
    assert name in said
    assert ".svg, .png, .pdf, .json, .csv" in said
    assert "\n" not in said
    assert not list(tmp_path.iterdir())


def test_a_place_that_cannot_be_written_is_refused_in_one_line(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="there is no folder"):
        figure().save(tmp_path / "nowhere" / "f.csv")
    (tmp_path / "f.csv").mkdir()
    with pytest.raises(BadInput, match="Give a file that can be written"):
        figure().save(tmp_path / "f.csv")


@pytest.mark.parametrize("letter", ["\x00", "\x1b", "\x0b", "\ufffe", "\ud800"])
def test_a_character_no_drawing_can_hold_is_replaced(letter: str, tmp_path: Path) -> None:
    """In a label it would end the process inside the renderer, past any `except`."""
    odd = figure(data={"values": [{"reader": f"a{letter}b", "value": 1}]}, title=letter)
    for suffix in ("svg", "png", "pdf", "json", "csv"):
        odd.save(tmp_path / f"f.{suffix}")
    assert "a\ufffdb" in (tmp_path / "f.svg").read_text(encoding="utf-8")


def test_nothing_is_fetched(tmp_path: Path) -> None:
    (tmp_path / "secret.csv").write_text("reader,value\nx,1\n")
    for url in ("http://127.0.0.1:9/data.csv", f"file://{tmp_path / 'secret.csv'}"):
        try:
            drawn = figure(data={"url": url}).svg()
        except ValueError:
            continue
        assert ">x<" not in drawn
