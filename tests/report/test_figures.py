"""A drawing inside a page: only a drawing, in the page's own colours, its ids its own."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from overread.case import Figure
from overread.report.drawings import inline_svg

ALLOWED = {
    "svg", "g", "path", "text", "tspan", "line", "rect", "circle", "defs", "clippath",
    "lineargradient", "stop",
}  # fmt: skip


class Seen(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.ends: list[str] = []
        self.text: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        self.ends.append(tag)

    def handle_data(self, data: str) -> None:
        self.text.append(data)


def seen_in(drawn: str) -> Seen:
    seen = Seen()
    seen.feed(drawn)
    return seen


def figure(name: str = "a reader", **more: Any) -> Figure:
    """Marks that are clipped, and coloured by a gradient with a legend: both need ids."""
    spec = {
        "data": {"values": [{"reader": name, "x": 1, "v": 2}, {"reader": "b", "x": 3, "v": 9}]},
        "width": 120,
        "height": 60,
        "mark": {"type": "rect", "clip": True},
        "encoding": {
            "x": {"field": "x", "type": "quantitative"},
            "y": {"field": "reader", "type": "nominal", "axis": {"labelColor": Figure.INK}},
            "color": {"field": "v", "type": "quantitative"},
            "stroke": {"value": Figure.PAPER},
        },
    }
    return Figure(name="f", title="t", spec=spec | more, alt=f"{name} has 2 & b has 9")


def test_it_is_one_image_with_its_words_for_those_who_do_not_see_it() -> None:
    seen = seen_in(inline_svg(figure('"quoted" <b>'), "d"))
    (tag, given), *_ = seen.tags
    assert tag == "svg"
    assert given["role"] == "img"
    assert given["aria-label"] == '"quoted" <b> has 2 & b has 9'
    assert [tag for tag, _ in seen.tags].count("svg") == 1


def test_only_elements_of_a_drawing_are_left() -> None:
    seen = seen_in(inline_svg(figure(), "d"))
    assert {tag for tag, _ in seen.tags} <= ALLOWED
    assert sorted(tag for tag, _ in seen.tags) == sorted(seen.ends)
    attributes = {name for _, given in seen.tags for name in given}
    assert not attributes & {"style", "href", "xlink:href", "xmlns", "font-family"}
    assert not [name for name in attributes if name.startswith("on")]


@pytest.mark.parametrize(
    "name",
    ["<script>alert(1)</script>", "</style>", "</svg>", '"onload="x', "&lt;b&gt;", "]]>", "a\x00b"],
)
def test_a_name_is_text_and_nothing_else(name: str) -> None:
    plain, odd = seen_in(inline_svg(figure(), "d")), seen_in(inline_svg(figure(name), "d"))
    assert [tag for tag, _ in odd.tags] == [tag for tag, _ in plain.tags]
    assert name.replace("\x00", "\ufffd") in odd.text


def test_whatever_a_renderer_may_write_only_the_drawing_comes_through(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    document = """<svg xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink"
      width="10" height="10" viewBox="0 0 10 10" onload="alert(1)" style="color:red">
      <script>alert(1)</script><style>* { fill: url(http://127.0.0.1/) }</style>
      <a xlink:href="javascript:alert(1)"><text>inside a link</text></a>
      <image href="http://127.0.0.1/x.png"/><use href="#x"/>
      <foreignObject><b>html</b></foreignObject>
      <text fill="url(http://127.0.0.1/#x)" onclick="alert(1)" class="x" x="1.23456">kept &lt;b></text>
      <path d="M0,0h1" fill="expression(alert(1))" stroke="url(#nowhere)"/></svg>"""
    monkeypatch.setattr(Figure, "svg", lambda self, background: document)
    assert inline_svg(figure(), "d") == (
        '<svg class="shaded" role="img" aria-label="a reader has 2 &amp; b has 9" width="13" '
        'height="13" viewBox="0 0 10 10"><text fill="none" x="1.23">kept &lt;b&gt;</text>'
        '<path d="M0,0h1" fill="none" stroke="none"></path></svg>'
    )


def test_ids_are_the_drawing_s_own() -> None:
    drawn = {prefix: inline_svg(figure(), prefix) for prefix in ("one", "two")}
    ids = {prefix: set(re.findall(r'\bid="([^"]+)"', svg)) for prefix, svg in drawn.items()}
    assert all(ids.values())
    assert not ids["one"] & ids["two"]
    for prefix, svg in drawn.items():
        used = set(re.findall(r"url\(#([^)]+)\)", svg))
        assert used
        assert used <= ids[prefix]


def test_drawn_twice_it_is_the_same() -> None:
    """The renderer counts its ids through the life of the process."""
    assert inline_svg(figure(), "d") == inline_svg(figure(), "d")


def test_text_and_ground_take_the_page_s_colours() -> None:
    drawn = inline_svg(figure(), "d")
    assert Figure.INK not in drawn
    assert Figure.PAPER not in drawn
    assert 'fill="currentColor"' in drawn
    assert 'stroke="Canvas"' in drawn
    assert Figure.INK in figure().svg()  # a file keeps its own
    ground = [given for tag, given in seen_in(drawn).tags if given.get("fill") == "transparent"]
    assert not ground


def test_colours_between_two_colours_are_kept() -> None:
    assert re.search(r'fill="rgb\([\d, ]+\)"', inline_svg(figure(), "d"))


def test_every_label_is_as_in_the_file(tmp_path: Path) -> None:
    words = re.findall(r"<text[^>]*>([^<]+)</text>", figure().svg())
    assert words
    assert [text for text in seen_in(inline_svg(figure(), "d")).text if text.strip()] == words


def test_only_a_wide_drawing_may_be_kept_from_shrinking() -> None:
    assert 'class="wide' not in inline_svg(figure(), "d")
    assert 'class="wide' in inline_svg(figure(width=700), "d")


def test_a_drawing_takes_the_room_there_is_and_no_more() -> None:
    for width in (120, 700, 1500):
        _, given = seen_in(inline_svg(figure(width=width), "d")).tags[0]
        drawn = float((given["viewbox"] or "").split()[2])
        assert float(given["width"] or 0) == pytest.approx(
            max(drawn, min(1.3 * drawn, 1080)), abs=1
        )


def test_shade_that_is_an_amount_is_turned_over_on_a_dark_page() -> None:
    plain = figure(encoding={"color": {"field": "reader", "type": "nominal"}})
    assert "shaded" in inline_svg(figure(), "d")
    assert "shaded" not in inline_svg(plain, "d")


# ---------------------------------------------------------------- whose marks they are


def lanes(*names: str) -> Figure:
    values = [{"shown": name, "x": place} for place, name in enumerate(names)]
    encoding = {
        "x": {"field": "x", "type": "quantitative"},
        "y": {"field": "shown", "type": "nominal"},
    }
    spec = {"data": {"values": values}, "mark": "point", "encoding": encoding}
    return Figure(name="f", title="t", spec=spec, alt="lanes")


def readers_in(drawn: str) -> list[str | None]:
    return [given["data-reader"] for _, given in seen_in(drawn).tags if "data-reader" in given]


def test_marks_say_whose_they_are_in_the_order_of_the_rows() -> None:
    assert readers_in(inline_svg(lanes("b", "a", "c; shown: a"), "d")) == ["0", "1", "2"]
    assert readers_in(inline_svg(lanes("gpt", "gpt-5"), "d")) == ["0", "1"]


def test_a_figure_of_one_reader_or_of_none_sets_nobody_off() -> None:
    assert readers_in(inline_svg(lanes("a"), "d")) == []
    assert readers_in(inline_svg(figure(), "d")) == []
    values = [{"shown": True, "x": 1}, {"shown": False, "x": 2}, {"x": 3}]
    other = figure(data={"values": values})
    assert readers_in(inline_svg(other, "d")) == []


def test_what_the_renderer_says_of_a_mark_stays_out_of_the_page() -> None:
    assert inline_svg(lanes("a", "b"), "d").count("aria-label") == 1


# ---------------------------------------------------------------- pictures in a drawing

# One grey pixel.
PNG = (
    "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAAAAAA6fptVAAAACklEQVR42mOoBwAAgQCA"
    "i3TuygAAAABJRU5ErkJggg=="
)


def with_picture(url: str) -> Figure:
    spec = {
        "data": {"values": [{"x": 1, "url": url}]},
        "mark": {"type": "image", "width": 20, "height": 20},
        "encoding": {
            "x": {"field": "x", "type": "quantitative"},
            "url": {"field": "url", "type": "nominal"},
        },
    }
    return Figure(name="f", title="t", spec=spec, alt="a picture")


def test_a_png_inside_the_drawing_is_kept_as_it_is() -> None:
    seen = seen_in(inline_svg(with_picture(PNG), "d"))
    (given,) = [given for tag, given in seen.tags if tag == "image"]
    assert given["href"] == PNG
    assert {"width", "height"} <= set(given)
    assert not set(given) - {
        "href",
        "width",
        "height",
        "x",
        "y",
        "transform",
        "preserveaspectratio",
    }


@pytest.mark.parametrize(
    "attribute",
    [
        'href="http://127.0.0.1/x.png"',
        'xlink:href="//127.0.0.1/x.png"',
        'href="data:image/svg+xml;base64,PHN2Zy8+"',
        'href="data:text/html;base64,PGI+"',
        'href="data:image/png;base64,PHNjcmlwdD4="',  # says PNG, and is none
        'href="data:image/png,%89PNG"',
        f'href=" {PNG}"',
        f'href="{PNG}&quot; onload=&quot;x"',
        f'href="{PNG}" xlink:href="http://127.0.0.1/x.png"',
        f'src="{PNG}"',
        "",
    ],
)
def test_any_other_picture_is_left_out(attribute: str, monkeypatch: pytest.MonkeyPatch) -> None:
    document = (
        '<svg xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink" '
        f'width="9" height="9"><image {attribute} width="5" height="5"/><text>kept</text></svg>'
    )
    monkeypatch.setattr(Figure, "svg", lambda self, background: document)
    drawn = inline_svg(figure(), "d")
    assert "<image" not in drawn
    assert "href" not in drawn
    assert "<text>kept</text>" in drawn


def test_only_a_picture_refers_to_one(monkeypatch: pytest.MonkeyPatch) -> None:
    document = f'<svg xmlns="http://www.w3.org/2000/svg" width="9"><rect href="{PNG}"/></svg>'
    monkeypatch.setattr(Figure, "svg", lambda self, background: document)
    assert "href" not in inline_svg(figure(), "d")
