"""Models of one's own in a run, and what a notebook shows of it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import overread as ov

PAGE = (Path(__file__).parents[2] / "docs" / "python.md").read_text("utf-8")


class Says(ov.Model):
    name = "says"


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"readers": "control:looks"}, "readers is of the type str; give a list"),
        ({"readers": [Says]}, "a reader is the class Says itself"),
        ({"readers": [object()]}, "a reader is of the type object"),
        ({"cases": 3}, "cases is of the type int; give a path"),
        ({"readers": [ov.Model()]}, "Model: it has no name"),
    ],
)
def test_a_wrong_type_is_one_clear_line(
    tmp_path: Path, phantom_cache: Path, given: dict, said: str
) -> None:
    words = {"cases": "phantom:16", "readers": ["control:looks"], "out": tmp_path / "run"} | given
    with pytest.raises(ov.BadInput, match=re.escape(said)) as refused:
        ov.run("grounding", **words, store=tmp_path / "store.sqlite")
    assert "\n" not in str(refused.value)


@pytest.mark.slow
def test_the_eight_lines_of_the_page_are_a_model(tmp_path: Path, phantom_cache: Path) -> None:
    (block,) = re.findall(r"```python\n(import io.*?)```", PAGE, re.S)
    body = [line for line in block.splitlines() if line.strip()]
    assert len(body) <= 8
    room: dict[str, object] = {}
    exec(block, room)  # the page's own text
    run = ov.run(
        "grounding", "phantom:16", [room["Mine"]()], out=tmp_path / "run",  # type: ignore[operator]
        store=tmp_path / "store.sqlite", limit=6,
    )  # fmt: skip
    assert run.unanswered == 0
    assert repr(run) == f"<Run of grounding in {tmp_path / 'run'}: my-model>"
    html = run._repr_html_()
    assert len(html) < 60_000
    assert "my-model" in html
    assert repr(run.exhibits["summary"]).startswith("<Table summary:")
    figure = next(one for name, one in run.exhibits.items() if name == "triad")
    assert figure._repr_svg_().startswith("<svg")
    again = ov.load(tmp_path / "run")
    assert [one.answer for one in again.headlines] == [one.answer for one in run.headlines]
