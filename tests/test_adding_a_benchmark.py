"""docs/adding-a-benchmark.md holds a benchmark that runs, from the command line to the page."""

from __future__ import annotations

import inspect
import json
import re
from importlib import import_module
from pathlib import Path

import pytest
from PIL import Image

from overread.benchmarks import registry
from overread.benchmarks.base import Phantoms
from support.commands import ROOT, Overread, overread, phantom_cache, workspace
from support.packages import install

__all__ = ["overread", "phantom_cache", "workspace"]
PAGE = (ROOT / "docs" / "adding-a-benchmark.md").read_text(encoding="utf-8")
(CODE,) = re.findall(r"^```python\n(.*?)^```", PAGE, re.M | re.S)
(ENTRY,) = re.findall(r"^(lights = \"\S+\")$", PAGE, re.M)
ENTRY = ENTRY.replace('"', "")


@pytest.fixture
def lights(workspace: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The page's code as an installed package, and eight cases for it."""
    place = workspace.parent / "packages"
    install(place, monkeypatch, "lights-of-the-page", CODE, benchmarks=ENTRY)
    return eight_cases(workspace)


def eight_cases(folder: Path) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    rows = []
    for number in range(8):
        side = ("left", "right")[number % 2]
        picture = Image.new("L", (100, 80), 10)
        picture.paste(200 + number, (0, 0, 50, 80) if side == "left" else (50, 0, 100, 80))
        picture.save(folder / f"{number}.png")
        rows.append({"case_id": f"c{number}", "image": f"{number}.png", "side": side})
    cases = folder / "lights.jsonl"
    cases.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return cases


def test_it_is_short() -> None:
    lines = [line for line in CODE.splitlines() if line.strip()]
    assert len(lines) < 105
    assert max(map(len, CODE.splitlines())) <= 100


def test_it_runs(lights: Path, overread: Overread) -> None:
    run = ("run", "lights", "--cases", lights, "--reader", "control:points")
    done = overread(*run, "--out", "run", "--json")
    assert done.code == 0
    found = json.loads(done.out)
    assert re.fullmatch(
        r"lights\|edition:corrected\|cases:8@\w{8}\|px:64\|parser:1\|overread:[\w.]+",
        found["signature"],
    )
    right = {m["by"]["image"]: (m["k"], m["n"], m["value"]) for m in found["measures"]}
    assert right == {"original": (8, 8, 1.0), "masked": (0, 8, 0.0)}
    assert "Which half is bright?" in Path("run/report.html").read_text(encoding="utf-8")


def test_everything_else_works_for_it_too(lights: Path, overread: Overread) -> None:
    words = ("lights", "--cases", lights, "--reader", "control:points")
    assert json.loads(overread("plan", *words, "--json").out)[0]["trials"] == 16
    assert overread("run", *words, "--out", "run", "--limit", "4").code == 0
    assert "|partial" in Path("run/measures.json").read_text(encoding="utf-8")
    lights.unlink()
    assert overread("measure", "run", "--edition", "authors").code == 0
    assert overread("report", "run", "--out", "page.html").code == 0
    page = Path("page.html").read_text(encoding="utf-8")
    assert "lights" in page


@pytest.mark.slow
def test_with_phantoms_it_joins_demo_and_selfcheck(
    lights: Path, overread: Overread, monkeypatch: pytest.MonkeyPatch
) -> None:
    module = import_module("lights_of_the_page")
    module.phantoms = lambda root, n, seed: eight_cases(root)
    made = Phantoms(maker="lights_of_the_page:phantoms", size=8)
    monkeypatch.setattr(module.Lights, "phantoms", made)
    monkeypatch.setattr(registry, "BENCHMARKS", {})
    done = overread("selfcheck")
    assert (done.code, "1 of 1 controls recovered" in done.out) == (0, True), done
    assert overread("demo", "--out", "demo").code == 0
    assert "Which half is bright?" in Path("demo/report.html").read_text(encoding="utf-8")
    assert overread("run", "lights", "--cases", "phantom:8", "--reader", "control:points").code == 0


def test_its_mistakes_are_named(lights: Path, overread: Overread) -> None:
    lights.write_text('{"case_id": "c", "image": "0.png", "side": "up"}\n', encoding="utf-8")
    done = overread("run", "lights", "--cases", lights, "--reader", "control:points")
    assert (done.code, "lights.jsonl row 1" in done.complaint) == (2, True)


def test_every_member_that_has_to_be_said_is_on_the_page() -> None:
    from overread.benchmarks.base import Benchmark

    table = PAGE.partition("| of the class |")[2].partition("## A whole one")[0]
    named = set(re.findall(r"`(\w+)`", PAGE))
    assert {name for name in vars(Benchmark) if "NotImplementedError" in source(name)} <= named
    assert set(re.findall(r"^\| `(\w+)`", table, re.M)) <= set(dir(Benchmark))
    (code,) = re.findall(r"^class Lights\(Benchmark\):\n(.*?)^\w", CODE, re.M | re.S)
    assert set(re.findall(r"^    (?:def )?(\w+)", code, re.M)) <= named


def source(name: str) -> str:
    """The code of a member; nothing of what has none."""
    from overread.benchmarks.base import Benchmark

    member = vars(Benchmark)[name]
    function = member.fget if isinstance(member, property) else member
    return inspect.getsource(function) if inspect.isfunction(function) else ""
