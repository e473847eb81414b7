"""What is drawn, what is left to Vega, and what no name may do to a drawing."""

from __future__ import annotations

from typing import Any
from xml.etree.ElementTree import fromstring

import pytest
from hypothesis import given
from hypothesis import strategies as st

from overread import case
from overread.benchmarks.exhibits import style
from overread.case import Figure
from overread.drawing import NotDrawn, drawn
from overread.drawing.expressions import expression
from overread.drawing.scales import Number, nice, steps, tick_words, ticks
from overread.drawing.text import width


def lanes(*names: str, **more: Any) -> dict[str, Any]:
    rows = [{"shown": name, "value": 10.0 * place} for place, name in enumerate(names)]
    place = {"x": style.number_axis("value", "percent", 0, 100), "y": style.reader_axis(names)}
    parts = {"width": 200, "height": {"step": 24}, "mark": {"type": "point"}, "encoding": place}
    return style.figure_spec(rows, **parts | more)


def figure(spec: dict[str, Any]) -> Figure:
    return Figure(name="f", title="t", spec=spec, alt="words")


# ---------------------------------------------------------------- what is left to Vega


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ({"mark": "arc"}, "a mark of type arc"),
        ({"params": []}, "params of a view"),
        ({"transform": [{"window": []}]}, "the transform window"),
        ({"transform": [{"filter": "datum.x > toNumber('1')"}]}, "the expression"),
        ({"data": {"url": "http://127.0.0.1:9/data.csv"}}, "data that are not inside"),
        ({"config": {}}, "a axis whose looks are not all given"),
        ({"encoding": {"theta": {"field": "value"}}}, "the channel theta"),
        ({"encoding": {"x": {"field": "value", "type": "temporal"}}}, "values of type temporal"),
        ({"encoding": {"x": {"aggregate": "count"}}}, "channels that reckon"),
        ({"hconcat": []}, "a view that is mark and hconcat"),
        ({"data": {"values": "a,b"}}, "of another form"),
        ({"width": "container"}, "of another form"),
    ],
)
def test_what_it_does_not_know_it_does_not_draw(more, said):
    with pytest.raises(NotDrawn) as refused:
        drawn(lanes("a", "b") | more)
    assert said in str(refused.value)


def test_a_figure_beyond_it_is_drawn_by_vega(monkeypatch):
    asked: list[str] = []
    monkeypatch.setattr(case, "_drawn_by_vega", lambda spec: asked.append(spec) or "<svg/>")
    assert "<path" in figure(lanes("a", "b")).svg()
    assert not asked
    assert figure(lanes("a", "b") | {"mark": {"type": "arc"}}).svg() == "<svg/>"
    assert len(asked) == 1


# ---------------------------------------------------------------- names


@given(st.text(max_size=30))
def test_a_name_is_text_and_nothing_else(name):
    root = fromstring(drawn(lanes("plain", name, config=style.figure_spec([])["config"])))
    assert {element.tag.rpartition("}")[2] for element in root.iter()} <= {
        "svg", "g", "path", "line", "rect", "text",
    }  # fmt: skip


def test_the_same_figure_is_the_same_document():
    assert drawn(lanes("a", "b")) == drawn(lanes("a", "b"))


def test_a_picture_must_be_inside():
    there = {"x": {"value": 1}, "y": {"value": 1}, "url": {"field": "shown", "type": "nominal"}}
    spec = lanes("http://127.0.0.1/x.png", mark={"type": "image", "width": 9, "height": 9})
    spec |= {"encoding": there, "height": 20}
    with pytest.raises(NotDrawn, match="not inside"):
        drawn(spec)


def test_what_is_not_known_has_no_mark():
    spec = lanes("a", "b", "c")
    spec["data"]["values"][1]["value"] = None
    spec["data"]["values"][2]["value"] = float("nan")
    assert drawn(spec).count("<path") == 1


# ---------------------------------------------------------------- expressions


@pytest.mark.parametrize(
    ("text", "row", "found"),
    [
        ("datum.a === 'x' && !datum.b", {"a": "x", "b": False}, True),
        ("datum.a === 'it\\'s' || datum.b", {"a": "it's"}, True),
        ("isValid(datum.a) && datum.a >= 10", {"a": None}, False),
        ("isValid(datum.a)", {"a": float("nan")}, False),
        ("datum.a >= 2.5e1", {"a": 25}, True),
        ("datum.side === -1", {"side": -1}, True),
        ("datum.a !== 1", {"a": 2}, True),
        ("'n=' + datum.n", {"n": 2000}, "n=2000"),
        ("'n=' + datum.n", {"n": 12.0}, "n=12"),
        ("split(datum.label, ' ')", {"label": "a b"}, ["a", "b"]),
        ("(datum.a - 1) < 2 && true", {"a": 2}, True),
        ("datum.missing", {}, None),
    ],
)
def test_an_expression_says_what_it_says_to_vega(text, row, found):
    assert expression(text)(row) == found


@pytest.mark.parametrize(
    "text",
    ["datum.a ? 1 : 2", "datum['a']", "eval('1')", "datum.a ===", "a", "datum.a datum.b", "'", ""],
)
def test_other_expressions_are_not_known(text):
    with pytest.raises(NotDrawn):
        expression(text)({"a": 1})


# ---------------------------------------------------------------- scales


@pytest.mark.parametrize(
    ("low", "high", "count", "said"),
    [
        (0, 100, 6, ["0", "20", "40", "60", "80", "100"]),
        (40, 60, 6, ["40", "45", "50", "55", "60"]),
        (-40, 20, 6, ["\u221240", "\u221230", "\u221220", "\u221210", "0", "10", "20"]),
        (0, 1, 5, ["0.0", "0.2", "0.4", "0.6", "0.8", "1.0"]),
        (0, 2500, 5, ["0", "500", "1,000", "1,500", "2,000", "2,500"]),
        (-0.5, 23.5, 5, ["0", "5", "10", "15", "20"]),
    ],
)
def test_ticks_are_round(low, high, count, said):
    assert tick_words(ticks(low, high, count), low, high, count) == said


@given(st.floats(-1e6, 1e6), st.floats(0.001, 1e6), st.integers(2, 12))
def test_ticks_lie_within_and_nice_ends_without(low, span, count):
    found = ticks(low, low + span, count)
    assert all(low - span / 1e6 <= tick <= low + span * 1.000001 for tick in found)
    first, last = nice(low, low + span)
    assert first <= low + span / 1e6
    assert last >= low + span - span / 1e6


def test_numbers_and_names_have_places():
    assert Number(0, 10, 0, 200).at(2.5) == 50
    assert Number(1, 100, 0, 200, log=True).at(10) == pytest.approx(100)
    assert Number(1, 100, 0, 200, log=True).at(0) is None
    assert Number(0, 10, 0, 200).at("2") is None
    both = steps(["a", "b"], 40, 0.0, 0.0)
    assert (both.at("a"), both.at("b"), both.at("c")) == (10, 30, None)


def test_words_are_as_wide_as_arial_has_them():
    assert width("insufficient", 12) == pytest.approx(56.5, abs=1)
    assert width("放射", 10) == 20
    assert width("", 12) == 0
