"""What was drawn for the last page of a run is not drawn again; and nothing kept is believed."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from overread import case
from overread.case import Figure
from overread.report import Drawings
from overread.report.drawings import DRAWINGS, inline_svg

START = Drawings._start  # which fixtures of other files may have replaced
PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="


def figure(value: float = 1.0, **spec: Any) -> Figure:
    drawn = {"data": {"values": [{"x": value}]}, "mark": "point"}
    drawn["encoding"] = {"x": {"field": "x", "type": "quantitative"}}
    return Figure(name="f", title="f", spec=drawn | spec, alt="a point")


@pytest.fixture
def drawn(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Every specification that the renderer is given."""
    given: list[str] = []
    draw = case._drawn.__wrapped__

    def counted(spec: str) -> str:
        given.append(spec)
        return draw(spec)

    monkeypatch.setattr(case, "_drawn", counted)
    return given


@pytest.fixture
def kept(tmp_path: Path, drawn: list[str]) -> str:
    """A figure as the first page of a run shows it; its drawing is kept in the folder."""
    page = Drawings.kept_in(tmp_path)
    made = inline_svg(figure(), "d", page)
    page.write(tmp_path)
    assert len(drawn) == 1
    return made


def test_the_same_figure_is_not_drawn_again(tmp_path, drawn, kept):
    assert inline_svg(figure(), "d", Drawings.kept_in(tmp_path)) == kept
    assert len(drawn) == 1


@pytest.mark.parametrize("other", [figure(2.0), figure(width=444)])
def test_another_value_or_another_look_is_drawn(tmp_path, drawn, kept, other):
    assert inline_svg(other, "d", Drawings.kept_in(tmp_path)) != kept
    assert len(drawn) == 2


def test_another_renderer_draws_anew(tmp_path, drawn, kept, monkeypatch):
    monkeypatch.setattr("overread.report.drawings.version", lambda name: "0.0.0")
    assert inline_svg(figure(), "d", Drawings.kept_in(tmp_path)) == kept
    assert len(drawn) == 2


def changed(folder: Path, **fields: str) -> None:
    (held,) = json.loads((folder / DRAWINGS).read_text())
    (folder / DRAWINGS).write_text(json.dumps([held | fields]))


@pytest.mark.parametrize("text", ["", "no json", "{}", '[{"of": 1}]', "[[[", "\udcff"])
def test_a_broken_file_is_as_none(tmp_path, drawn, kept, text):
    (tmp_path / DRAWINGS).write_text(text, errors="surrogateescape")
    assert inline_svg(figure(), "d", Drawings.kept_in(tmp_path)) == kept
    assert len(drawn) == 2


def test_a_drawing_that_was_changed_is_drawn_again(tmp_path, drawn, kept):
    changed(tmp_path, svg=json.loads((tmp_path / DRAWINGS).read_text())[0]["svg"] + " ")
    assert inline_svg(figure(), "d", Drawings.kept_in(tmp_path)) == kept
    assert len(drawn) == 2


def test_what_is_no_drawing_at_all_is_drawn_again(tmp_path, drawn, kept):
    from overread.report.drawings import _digest

    changed(tmp_path, svg="<svg", digest=_digest("<svg"))
    assert inline_svg(figure(), "d", Drawings.kept_in(tmp_path)) == kept
    assert len(drawn) == 2


def test_a_script_slipped_in_does_not_reach_the_page(tmp_path, kept):
    from overread.report.drawings import _digest

    svg = '<svg xmlns="http://www.w3.org/2000/svg" onload="x()"><script>x()</script><g/></svg>'
    changed(tmp_path, svg=svg, digest=_digest(svg))
    made = inline_svg(figure(), "d", Drawings.kept_in(tmp_path))
    assert "script" not in made
    assert "onload" not in made


def test_pictures_of_cases_are_not_kept(tmp_path, drawn):
    values = [{"x": 1, "picture": f"data:image/png;base64,{PNG}"}]
    shown = figure(data={"values": values}, mark={"type": "image", "width": 9, "height": 9})
    shown.spec["encoding"]["url"] = {"field": "picture"}
    page = Drawings()
    assert PNG in inline_svg(shown, "d", page)
    page.write(tmp_path)
    assert not (tmp_path / DRAWINGS).exists()


def test_only_what_the_last_page_took_is_kept(tmp_path, drawn, kept):
    page = Drawings.kept_in(tmp_path)
    inline_svg(figure(2.0), "d", page)
    page.write(tmp_path)
    assert len(json.loads((tmp_path / DRAWINGS).read_text())) == 1
    inline_svg(figure(2.0), "d", Drawings.kept_in(tmp_path))
    assert len(drawn) == 2


# ---------------------------------------------------------------- in a process of its own


@pytest.fixture
def elsewhere(monkeypatch: pytest.MonkeyPatch, drawn: list[str]) -> Drawings:
    """Drawings whose renderer runs in another process, as where none runs in this one."""
    monkeypatch.setattr(Drawings, "_start", START)
    page = Drawings()
    with pytest.MonkeyPatch.context() as patch:
        patch.delitem(sys.modules, "vl_convert", raising=False)
        page.warm_up()
    return page


@pytest.mark.slow
def test_another_process_draws_the_same(elsewhere, drawn):
    figures = [figure(float(value)) for value in range(3)]
    elsewhere.ahead([*figures, figures[0]])
    there = [inline_svg(one, "d", elsewhere) for one in figures]
    assert not drawn, "this process drew nothing"
    assert there == [inline_svg(one, "d") for one in figures]


@pytest.mark.slow
def test_where_it_cannot_draw_this_process_does(elsewhere, drawn):
    elsewhere._renderer._process.kill()
    elsewhere.ahead([figure()])
    assert inline_svg(figure(), "d", elsewhere) == inline_svg(figure(), "d")
    assert len(drawn) == 2


@pytest.mark.slow
def test_it_ends_with_the_page(elsewhere):
    process = elsewhere._renderer._process
    elsewhere.ahead([figure()])
    elsewhere._renderer = None
    assert process.wait(10) is not None
    assert process.stdin.closed


def test_nothing_is_started_where_a_renderer_runs_or_all_is_kept(tmp_path, kept, monkeypatch):
    monkeypatch.setattr(Drawings, "_start", START)
    page = Drawings()
    page.warm_up()
    page.ahead([figure()])
    assert "vl_convert" in sys.modules
    assert page._renderer is None
    monkeypatch.delitem(sys.modules, "vl_convert")
    page = Drawings.kept_in(tmp_path)
    page.warm_up()
    page.ahead([figure()])
    assert page._renderer is None
