"""Policies and gated runs, made up for tests."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from overread.case import Measure, Method
from overread.records import (
    Measures,
    ReaderEntry,
    RunRecord,
    write_measures,
    write_record,
)
from overread.report.gate import GatedRun
from overread.report.gate.policy import Policy, Rule
from overread.stats import wilson

__all__ = ["gated_run", "policy_of", "rule", "share", "write_run"]


def share(measure: str, k: int, n: int, reader: str = "a", **by: str) -> Measure:
    """A proportion with Wilson's interval, as benchmarks write it."""
    found = wilson(k, n)
    return Measure(
        reader=reader, measure=measure, by=by, value=found.point, n=n, k=k,
        low=found.low, high=found.high, method="wilson", how=Method(kind="wilson"),
    )  # fmt: skip


def rule(**fields: Any) -> Rule:
    """A rule as it stands after reading, with its defaults."""
    given: dict[str, Any] = {
        "name": "a rule", "why": "It is here for tests.", "benchmark": "grounding",
        "measure": "accuracy", "readers": "*", "edition": "corrected", "minimum_n": 1,
        "confidence": "interval",
    }  # fmt: skip
    return Rule(**given | fields)


def policy_of(*rules: Rule) -> Policy:
    return Policy(title="A gate", rule=rules)


def gated_run(
    measures: Sequence[Measure],
    *,
    benchmark: str = "grounding",
    edition: str = "corrected",
    folder: str = "run",
    readers: Sequence[str] | None = None,
    partial: bool = False,
    unanswered: int = 0,
) -> GatedRun:
    """A run of these measures; 100 trials were asked of every reader."""
    names = dict.fromkeys(one.reader for one in measures) if readers is None else readers
    signature = f"{benchmark}|edition:{edition}"
    record = RunRecord(
        benchmark=benchmark, edition=edition, answers_edition=edition, cases="manifest.csv",
        dataset="made-up@0", policy="open", n_cases=100, signature=signature,
        limit=100 if partial else None,
        readers=tuple(
            ReaderEntry(
                name=name, spec=f"imported:{name}", identity="imported",
                asked=100, unanswered=unanswered,
            )
            for name in names
        ),
    )  # fmt: skip
    kept = Measures(
        overread="0", benchmark=benchmark, edition=edition, signature=signature,
        measures=list(measures),
    )  # fmt: skip
    return GatedRun(folder=folder, record=record, measures=kept)


def write_run(folder: Path, run: GatedRun) -> Path:
    folder.mkdir(parents=True)
    write_record(folder / "run.toml", run.record)
    write_measures(folder / "measures.json", run.measures)
    return folder
