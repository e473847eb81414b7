"""A drawing inside a page: only the elements and attributes of a drawing, everything escaped.

Pictures are let through where they are PNG files inside the drawing; a page that holds one must
allow `img-src data:`.

The renderer's document is read and written anew. Colours of text and ground become the page's own,
so that a drawing is as readable on a dark page; ids are renamed, since those of two drawings may be
the same. Where nearly every mark is some reader's, marks say whose they are, so that a page can set
one reader off from the others.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, Final
from xml.etree.ElementTree import Element, fromstring

import msgspec

from overread.case import Figure
from overread.report.markup import escaped, shown

_TAGS: Final = frozenset({
    "circle", "clipPath", "defs", "g", "image", "line", "linearGradient", "path", "rect",
    "stop", "svg", "text", "tspan",
})  # fmt: skip
_GEOMETRY: Final = frozenset({
    "cx", "cy", "d", "dx", "dy", "height", "r", "transform", "width", "x", "x1", "x2", "y",
    "y1", "y2",
})  # fmt: skip
_PAINT: Final = frozenset({"fill", "stroke", "clip-path"})
_PLAIN: Final = frozenset({
    "fill-opacity", "font-size", "font-style", "font-weight", "offset", "opacity",
    "preserveAspectRatio", "stop-color", "stop-opacity", "stroke-dasharray",
    "stroke-dashoffset", "stroke-linecap", "stroke-linejoin", "stroke-miterlimit",
    "stroke-opacity", "stroke-width", "text-anchor", "viewBox",
})  # fmt: skip
_WIDE: Final = 480
# A drawing grows by this much at most, up to the width that a wide window leaves for it.
_GROWN: Final = 1.3
_ROOM: Final = 1080
_COLOURS: Final = {Figure.INK: "currentColor", Figure.PAPER: "Canvas"}
_COLOUR: Final = re.compile(r"#?\w+|(rgb|hsl)a?\([\d.,%\s]+\)")
# The only thing a drawing may refer to: a PNG file inside it, which begins as every PNG does.
_PICTURE: Final = re.compile(r"data:image/png;base64,iVBORw0KGgo[A-Za-z0-9+/]+={0,2}")
# The field in which rows hold a reader's name as it is drawn, and the attribute of its marks.
_SHOWN: Final = "shown"
_READER: Final = "data-reader"
_LONG: Final = re.compile(r"-?\d+\.\d{3,}(?:e-?\d+)?")


_GROUND: Final = "transparent"


def _labelled(figure: Figure) -> Figure:
    """The figure as a page has it drawn: marks get labels that say what they show."""
    config = figure.spec.get("config", {}) | {"aria": True}
    return msgspec.structs.replace(figure, spec=figure.spec | {"config": config})


def inline_svg(figure: Figure, prefix: str) -> str:
    """The drawing as one `<svg>` element of a page; its ids begin with `prefix`."""
    root = fromstring(_labelled(figure).svg(_GROUND))  # noqa: S314 - written anew, tag by tag
    named = [element for element in root.iter() if "id" in element.attrib]
    ids = {element.attrib["id"]: f"{prefix}-{number}" for number, element in enumerate(named)}
    _mark_readers(root, figure)
    inside = "".join(part for child in root for part in _written(child, ids))
    width = float(root.get("width", "0"))
    for side in ("width", "height"):
        if width:  # as large as the page has room for, and its words no larger than a heading
            grown = float(root.get(side, "0")) * max(1.0, min(_GROWN, _ROOM / width))
            root.set(side, f"{grown:.0f}")
    size = "".join(f' {name}="{escaped(value)}"' for name, value in _attributes(root, ids))
    # What is wide may shrink on a small screen, but only while its words can be read.
    kinds = ["wide"] * (width > _WIDE) + ["shaded"] * _is_shaded(figure.spec)
    kind = f' class="{" ".join(kinds)}"' if kinds else ""
    return f'<svg{kind} role="img" aria-label="{shown(figure.alt)}"{size}>{inside}</svg>'


def _is_shaded(spec: Any) -> bool:
    """Whether shade is an amount somewhere in a drawing: then nothing is as light as the paper."""
    if isinstance(spec, dict):
        painted = (spec.get("color"), spec.get("fill"))
        if any(isinstance(one, dict) and one.get("type") == "quantitative" for one in painted):
            return True
        return any(_is_shaded(one) for key, one in spec.items() if key != "data")
    return isinstance(spec, list) and any(map(_is_shaded, spec))


def _mark_readers(root: Element, figure: Figure) -> None:
    """Number the marks by reader, in the order of the rows, where most are some reader's."""
    for element in root.iter():
        element.attrib.pop(_READER, None)
    drawn = (row.get(_SHOWN) for row in figure.rows)
    names = list(dict.fromkeys(name for name in drawn if isinstance(name, str)))
    # The longest first: a name may hold another, and what stands between them in a label.
    numbers = sorted(enumerate(names), key=lambda one: -len(one[1]))
    labelled = [
        element
        for element in root.iter()
        # An axis or a legend is a group, and names every reader.
        if element.get("role") == "graphics-symbol" and not element.tag.endswith("}g")
    ]
    whose: list[tuple[Element, str]] = []
    for element in labelled:
        label = f"; {element.get('aria-label', '')}; "
        own = [number for number, name in numbers if f"; {_SHOWN}: {name}; " in label]
        whose.extend((element, str(number)) for number in own[:1])
    if len({number for _, number in whose}) > 1 and 2 * len(whose) > len(labelled):
        for element, number in whose:
            element.set(_READER, number)


def _written(element: Element, ids: dict[str, str]) -> list[str]:
    """An element as parts of text; none of one that may not be there or shows nothing."""
    tag = element.tag.rpartition("}")[2]
    if tag not in _TAGS or element.get("display") == "none" or _invisible(element):
        return []
    picture = _picture(element) if tag == "image" else None
    if tag == "image" and picture is None:
        return []
    children: list[str] = []
    for child in element:
        children += _written(child, ids)
    if tag == "g" and not children:
        return []
    parts = [f"<{tag}"]
    parts += [f' {name}="{escaped(value)}"' for name, value in _attributes(element, ids)]
    if tag == "image":
        parts.append(f' href="{picture}"')
    text = shown((element.text or "") if tag in ("text", "tspan") else "")
    return [*parts, f">{text}", *children, f"</{tag}>"]


def _picture(element: Element) -> str | None:
    """The picture inside an `image` element; None for whatever lies elsewhere or is no PNG."""
    given = [value for name, value in element.items() if name.rpartition("}")[2] == "href"]
    return given[0] if len(given) == 1 and _PICTURE.fullmatch(given[0]) else None


def _invisible(element: Element) -> bool:
    """Vega draws a path without paint behind every group."""
    if element.get("fill") != "transparent" and element.get("class") != "background":
        return False
    return {element.get("fill"), element.get("stroke")} <= {None, "none", "transparent"}


def _attributes(element: Element, ids: dict[str, str]) -> Iterator[tuple[str, str]]:
    for name, value in element.attrib.items():
        if name == "id":
            yield name, ids[value]
        elif name in _PAINT:
            yield name, _paint(value, ids)
        elif name in _GEOMETRY:
            yield name, _LONG.sub(lambda found: f"{float(found[0]):.2f}", value)
        elif name in _PLAIN or name == _READER:
            yield name, value


def _paint(value: str, ids: dict[str, str]) -> str:
    """A colour, or a reference to something that this very drawing defines."""
    found = re.fullmatch(r"url\(#([^)]+)\)", value)
    if found:
        return f"url(#{ids[found[1]]})" if found[1] in ids else "none"
    return _COLOURS.get(value.lower(), value) if _COLOUR.fullmatch(value) else "none"
