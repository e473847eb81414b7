"""The demo: a run of every benchmark, and one page of all; patients are drawn ahead of the asking."""

from __future__ import annotations

import pytest

from overread.benchmarks.registry import class_of
from overread.case import BadInput
from overread.runs import _study

pytestmark = pytest.mark.slow
SIZES = {"pairs": 16, "medcmr": 28}


@pytest.fixture
def small(workspace, monkeypatch):
    """Two benchmarks, with few patients each."""
    import msgspec

    def few(name: str, size: int) -> type:
        whole = class_of(name)
        return type(whole.__name__, (whole,), {
            "phantoms": msgspec.structs.replace(whole.phantoms, size=size)
        })  # fmt: skip

    some = [few(name, size) for name, size in SIZES.items()]
    monkeypatch.setattr(_study, "with_phantoms", lambda tell=None: some)
    return workspace


def test_every_benchmark_has_its_run_and_all_have_one_page(small):
    done = list(_study.demo(small / "demo"))
    assert [run.record.benchmark for run in done] == list(SIZES)
    assert [run.record.n_cases for run in done] == list(SIZES.values())
    assert (small / "demo" / "report.html").stat().st_size > 10_000


def test_the_next_patients_are_drawn_while_the_first_are_asked_about(small, monkeypatch):
    begun = []
    draw = _study.phantom_cases
    monkeypatch.setattr(
        _study, "phantom_cases", lambda name, spec: begun.append(name) or draw(name, spec)
    )
    runs = _study.demo(small / "demo")
    next(runs)
    runs.close()
    assert begun == list(SIZES)


def test_patients_that_cannot_be_drawn_are_said_before_they_are_asked_about(small, monkeypatch):
    def refuse(name: str, spec: str) -> None:
        raise BadInput(f"{name}: no room.")

    monkeypatch.setattr(_study, "phantom_cases", refuse)
    with pytest.raises(BadInput, match="pairs: no room"):
        next(_study.demo(small / "demo"))
