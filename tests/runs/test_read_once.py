"""A set is read once in a run, and one case is a walk through few modules."""

from __future__ import annotations

import sys
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

import overread as ov
from overread.benchmarks.grounding import benchmark as grounding
from overread.benchmarks.grounding import cases as grounding_cases
from overread.benchmarks.registry import class_of
from overread.case import Reply, Traits
from support.commands import phantom_cache, workspace
from support.phantom_asked import phantom_asked, rendered

__all__ = ["phantom_cache", "workspace"]
FEW = {
    "grounding": ("phantom:16", "control:looks", {"boot": "100"}),
    "heartbeat": ("phantom:8", "control:area", {"boot": "100", "seeds": "2020", "passes": "1"}),
    "m3cot": ("phantom:26", "control:clinician", {"boot": "100"}),
    "medcmr": ("phantom:28", "control:oracle", {"boot": "100"}),
}


@pytest.mark.parametrize("benchmark", FEW)
def test_a_set_is_loaded_once_in_a_run(
    workspace: Path, monkeypatch: pytest.MonkeyPatch, benchmark: str
) -> None:
    """Opened, asked, written and shown on a page of its own."""
    loaded = counted(monkeypatch, class_of(benchmark), "load")
    cases, control, settings = FEW[benchmark]
    ov.run(benchmark, cases, [control], settings=settings, out="run")
    assert loaded == [1]


def test_a_manifest_is_parsed_once(workspace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """But for its header, by which a list of films is told."""
    whole = counted(monkeypatch, grounding_cases, "read_fields")
    rows = counted(monkeypatch, grounding, "rows_of")
    cases, control, settings = FEW["grounding"]
    ov.run("grounding", cases, [control], settings=settings, out="run")
    assert (whole, rows) == ([1], [0])


def counted(monkeypatch: pytest.MonkeyPatch, place: Any, name: str) -> list[int]:
    count, found = [0], getattr(place, name)

    def counts(*words: Any, **more: Any) -> Any:
        count[0] += 1
        return found(*words, **more)

    monkeypatch.setattr(place, name, counts)
    return count


@pytest.mark.parametrize("benchmark", FEW)
def test_one_case_is_a_walk_through_few_modules(tmp_path: Path, benchmark: str) -> None:
    """From a file over its trial, its pixels and its parser to the numbers of a reader."""
    spec, control, settings = FEW[benchmark]
    n = int(spec.partition(":")[2])
    words = (benchmark, tmp_path, n, [control.partition(":")[2]], "corrected", settings)
    bench, tables = phantom_asked(*words)
    bench.measure(tables)  # whatever modules do when they are imported is no part of it
    again = class_of(benchmark)
    source, walked = str(Path(ov.__file__).parent), set()

    def trace(frame: FrameType, event: str, _: object) -> None:
        if event == "call" and frame.f_code.co_filename.startswith(source):
            walked.add(frame.f_code.co_filename)

    sys.setprofile(trace)
    try:
        opened = again.open(bench.path, "corrected", settings)
        case = next(iter(opened.cases()))
        trial = next(opened.trials(case, Traits()))
        rendered(trial.request, "")
        opened.answer(trial, Reply("Yes"), Traits())
        opened.case_row(case)
        opened.measure(tables)
    finally:
        sys.setprofile(None)
    assert len(walked) <= 45, sorted(name.removeprefix(source) for name in walked)
