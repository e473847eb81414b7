"""A control is recovered where both editions find what they must, on the phantoms asked for."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from overread.benchmarks.base import Benchmark, PlainRules, Recovered
from overread.runs import _study


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, str]]:
    """Two editions that are never run: what they find is made up, what they were asked is kept."""
    asked = []

    class Bench(Benchmark):
        def __init__(self, name, cases, edition, settings):
            self.rules = PlainRules(name=edition)
            asked.append((cases, edition))

        def expected(self):
            return dict.fromkeys(("both", "ours", "theirs"), "word")

        def recovered(self, _):
            wrong = {"corrected": "theirs", "authors": "ours"}[self.edition]
            return [
                Recovered(control=c, expected="word", found=f"{self.edition} {c}", ok=c != wrong)
                for c in self.expected()
            ]

    def run(name, cases, readers, *, edition, **_):
        assert readers == ["control:both", "control:ours", "control:theirs"]
        return SimpleNamespace(records=[], record=SimpleNamespace(signature=f"of {edition}"))

    monkeypatch.setattr(_study, "open_cases", Bench)
    monkeypatch.setattr(_study, "run", run)
    return asked


def test_both_editions_must_find_a_control(asked: list[tuple[str, str]]) -> None:
    (found,) = _study.selfcheck("heartbeat")
    assert {one.control: one.recovered for one in found} == {
        "both": True,
        "ours": False,
        "theirs": False,
    }
    assert {(one.found, one.authors, one.signature) for one in found} == {
        (f"corrected {c}", f"authors {c}", "of corrected") for c in ("both", "ours", "theirs")
    }


def test_the_phantoms_follow_the_seed(asked: list[tuple[str, str]]) -> None:
    list(_study.selfcheck("heartbeat", seed=7))
    assert asked == [("phantom:40:7", "corrected"), ("phantom:40:7", "authors")]
