"""Runs as a page takes them, without anybody having been asked."""

from __future__ import annotations

from collections.abc import Sequence

from overread.case import Figure, Measure, Table
from overread.records import RunRecord
from overread.report import Reported

__all__ = ["bars", "reported_of"]

SIGNATURE = "grounding|edition:corrected|cases:480@7ec2"


def reported_of(
    exhibits: Sequence[Table | Figure] = (),
    measures: Sequence[Measure] = (),
    published: Sequence[Table] = (),
) -> Reported:
    record = RunRecord(
        benchmark="grounding",
        edition="corrected",
        answers_edition="corrected",
        cases="manifest.csv",
        dataset="a@7ec2",
        policy="open",
        n_cases=480,
        signature=SIGNATURE,
    )
    return Reported(record=record, measures=measures, exhibits=exhibits, published=published)


def bars(name: str, rows: list[dict[str, object]]) -> Figure:
    """A drawing of `value` by `reader`."""
    spec = {
        "data": {"values": rows},
        "mark": "bar",
        "encoding": {
            "x": {"field": "value", "type": "quantitative"},
            "y": {"field": "reader", "type": "nominal"},
        },
    }
    return Figure(name=name, title="Bars", spec=spec, alt="One bar.", signature=SIGNATURE)
