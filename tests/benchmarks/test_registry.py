"""What holds of every benchmark there is."""

from __future__ import annotations

from pathlib import Path

from overread.benchmarks.registry import BENCHMARKS, class_of, importer
from support.registered import metrics

ROOT = Path(__file__).parents[2]


def test_every_benchmark_has_metrics_and_a_declared_importer_is_there():
    assert {name for name, _ in metrics()} == set(BENCHMARKS)
    declared = [name for name in BENCHMARKS if class_of(name).importer]
    assert len(declared) == 4
    assert all(callable(importer(name)) for name in declared)


def test_the_page_on_measures_names_every_one():
    page = (ROOT / "docs" / "measures.md").read_text("utf-8")
    assert [metric.name for _, metric in metrics() if f"`{metric.name}`" not in page] == []
