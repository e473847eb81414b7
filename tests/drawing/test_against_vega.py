"""Our drawings are those of the renderer of the whole language: every mark of every figure.

`figures.json` has a specification of each kind of figure that benchmarks make. Places are compared
within a plot, since the room around plots hangs on how wide a font is taken to be.
"""

from __future__ import annotations

import functools
import json
import re
from collections import Counter
from itertools import pairwise
from math import hypot
from pathlib import Path
from typing import Any, NamedTuple
from xml.etree.ElementTree import Element, fromstring

import pytest
from vl_convert import vegalite_to_svg

from overread.drawing import drawn

SPECS: dict[str, Any] = json.loads(Path(__file__).with_name("figures.json").read_text())
CONFIG = SPECS.pop("config")
KINDS = sorted(SPECS)
# Vega draws each box in five parts, with words of its own.
MARKS = [kind for kind in KINDS if kind != "seeds_t1"]
MOVE = re.compile(r"translate\(([-\d.e]+),([-\d.e]+)\)")
NUMBER = re.compile(r"-?\d+\.?\d*(?:e-?\d+)?")


class Mark(NamedTuple):
    """A mark: what it is, what it says it shows, where it stands, and how it looks."""

    kind: str
    label: str
    place: tuple[float, float]
    shape: tuple[float, ...]
    looks: tuple[str | None, ...]


def spec_of(kind: str) -> dict[str, Any]:
    spec = {"config": CONFIG} | SPECS[kind]
    return spec | {"config": spec["config"] | {"aria": True}, "background": "white"}


@functools.cache
def by_vega(kind: str) -> str:
    return vegalite_to_svg(spec_of(kind))


def marks_of(document: str) -> list[Mark]:
    found: list[Mark] = []

    def look(element: Element, x: float, y: float) -> None:
        moved = MOVE.search(element.get("transform") or "")
        if moved:
            x, y = x + float(moved[1]), y + float(moved[2])
        kind = element.tag.rpartition("}")[2]
        shows = element.get("role") == "graphics-symbol" and kind != "g"
        if shows and (kind != "text" or element.text):
            found.append(mark(element, kind, x, y))
        for child in element:
            look(child, x, y)

    look(fromstring(document), 0, 0)
    return found


def mark(element: Element, kind: str, x: float, y: float) -> Mark:
    shape: tuple[float, ...] = ()
    if kind == "path":
        shape = tuple(round(float(n), 2) for n in NUMBER.findall(element.get("d") or ""))
    if kind == "line":  # from either end
        right, down = (float(element.get(name) or 0) for name in ("x2", "y2"))
        x, y = min(x, x + right), min(y, y + down)
        shape = (round(abs(right), 1), round(abs(down), 1))
    # Between two colours Vega takes another way: nowhere further from ours than eight of 255.
    fill = element.get("fill") or ""
    if fill.startswith("rgb"):
        shape += tuple(int(n) / 100 for n in NUMBER.findall(fill))
    opacity = element.get("opacity")
    looks = (
        *(colour(element.get(name)) for name in ("fill", "stroke")),
        None if opacity in (None, "1") else opacity,
        element.get("stroke-dasharray"),
        element.text,
    )
    return Mark(kind, element.get("aria-label") or "", (x, y), shape, looks)


def colour(said: str | None) -> str | None:
    if said in (None, "none", "transparent"):
        return None
    return "a shade" if said.startswith("rgb") else said


@pytest.fixture(scope="module", params=MARKS)
def both(request) -> tuple[list[Mark], list[Mark]]:
    """A figure as we draw it and as Vega does, in the order of what marks say."""
    kind = request.param
    ours, theirs = marks_of(drawn(spec_of(kind))), marks_of(by_vega(kind))
    # Vega reads a picture's whole address out, and draws lines of no length to what is not known.
    seen = [
        [one for one in some if one.kind != "image" and one.shape != (0.0, 0.0)]
        for some in (ours, theirs)
    ]
    return seen[0], seen[1]


def test_the_same_marks_say_the_same(both):
    ours, theirs = both
    assert ours
    assert Counter((m.kind, *sorted(set(m.label.split("; ")))) for m in ours) == Counter(
        (m.kind, *sorted(set(m.label.split("; ")))) for m in theirs
    )


def test_they_have_the_same_form_and_colours(both):
    for one, other in zip(*both, strict=True):
        assert one.shape == pytest.approx(other.shape, abs=0.11), (one, other)
        assert one.looks == other.looks, (one, other)


def test_they_stand_in_the_same_places_of_their_plots(both):
    """Plots lie a few pixels elsewhere; marks that follow each other are as far apart."""
    ours, theirs = both
    moved = [
        (one.place[0] - other.place[0], one.place[1] - other.place[1])
        for one, other in zip(ours, theirs, strict=True)
    ]
    jumps = [hypot(b[0] - a[0], b[1] - a[1]) for a, b in pairwise(moved)]
    assert max(map(abs, (n for place in moved for n in place))) <= 50
    # Within a plot nothing is moved; from one plot to the next a few pixels.
    assert sum(jump > 0.51 for jump in jumps) <= 16


@pytest.mark.parametrize("kind", KINDS)
def test_a_drawing_has_the_size_of_theirs(kind):
    ours, theirs = map(fromstring, (drawn(spec_of(kind)), by_vega(kind)))
    for side in ("width", "height"):
        assert float(ours.get(side)) == pytest.approx(float(theirs.get(side)), rel=0.1, abs=12)


def words_of(document: str) -> set[str]:
    """Every line that is written, but those that Vega keeps invisible."""
    return {
        line.text
        for text in fromstring(document).iter("{http://www.w3.org/2000/svg}text")
        if text.get("opacity") != "0"
        for line in (text, *text)
        if line.text and line.text.strip()
    }


@pytest.mark.parametrize("kind", KINDS)
def test_axes_legends_and_titles_have_the_same_words(kind):
    assert words_of(drawn(spec_of(kind))) == words_of(by_vega(kind))
