"""The same two readers on the same cases: a run and `compare` say the same, whatever is compared."""

from __future__ import annotations

from pathlib import Path

import pytest

import overread as ov
from overread.benchmarks.registry import BENCHMARKS
from overread.case import Measure
from overread.runs import compare

pytestmark = pytest.mark.usefixtures("no_pages")

JUDGE = ("control:lexical-judge",)
# Cases, controls, judges, settings, and the differences of readers that both have.
RUNS: dict[str, tuple[str, tuple[str, ...], tuple[str, ...], dict[str, str], set[str]]] = {
    "grounding": (
        "phantom:48", ("looks", "prior", "always-yes", "unstable"), (), {},
        {"diff_accuracy", "diff_uar", "diff_cgr", "diff_is"},
    ),
    "heartbeat": (
        "phantom:8", ("area", "first-frame"), (), {"seeds": "2020", "passes": "1"}, set(),
    ),
    "m3cot": (
        "phantom:26", ("clinician", "rambler", "contradicts"), JUDGE, {},
        {"diff_accuracy_cot", "diff_accuracy_direct"},
    ),
    "medcmr": (
        "phantom:28", ("oracle", "letter-a", "format-breaker"), JUDGE, {},
        {"diff_accuracy", "diff_score"},
    ),
    "pairs": (
        "phantom:24", ("looks", "prior", "first-option"), (), {},
        {"diff_accuracy", "diff_set_accuracy", "diff_confusion"},
    ),
}  # fmt: skip


def same(own: Measure, other: Measure, sign: int) -> bool:
    ends = (other.low, other.high)
    if sign < 0 and other.low is not None and other.high is not None:
        ends = (-other.high, -other.low)
    value = None if other.value is None else sign * other.value
    return (own.value, own.n, own.p, own.low, own.high) == pytest.approx(
        (value, other.n, other.p, *ends), abs=1e-9
    )


def test_every_benchmark_that_compares_readers_is_here() -> None:
    assert set(RUNS) == set(BENCHMARKS)


@pytest.mark.parametrize(
    "benchmark",
    RUNS,
)
def test_a_run_and_compare_say_the_same_of_two_readers(benchmark: str, workspace: Path) -> None:
    cases, controls, judges, settings, measures = RUNS[benchmark]
    readers = [f"control:{name}" for name in controls]
    done = ov.run(
        benchmark, cases, readers, judges=judges, out=workspace / "run",
        store=workspace / "s.sqlite", settings=settings,
    )  # fmt: skip
    (compared,) = compare([workspace / "run"])
    theirs = {(one.measure, one.reader, one.by["versus"]): one for one in compared.differences}
    met: set[str] = set()
    for own in done.records:
        # What `compare` gives by a name of its own, a run may give by a key.
        name = "_".join((own.measure, *([own.by["mode"]] if "mode" in own.by else [])))
        for sign, pair in (
            (1, (own.reader, own.by.get("versus"))),
            (-1, (own.by.get("versus"), own.reader)),
        ):
            if (other := theirs.get((name, *pair))) is not None:  # type: ignore[arg-type]
                assert same(own, other, sign), (own, other)
                met.add(name)
    assert met == measures
