"""The exhibits that follow from declared measures alone: a summary, groups, differences, dots."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from overread.benchmarks.exhibits.cells import TOLD_APART_MARK, table
from overread.benchmarks.exhibits.dot_plot import Lane, Panel, dot_figure, lane_rows
from overread.benchmarks.exhibits.index import Column, Index
from overread.benchmarks.exhibits.style import cast_of
from overread.benchmarks.exhibits.tables import (
    difference_rows,
    differences,
    group_sizes,
    groups_table,
    interval_notes,
    kept_columns,
    readers_table,
    remarks_on,
)
from overread.case import Figure, Measure, Table
from overread.measuring.specs import Spec


def exhibits_of(
    specs: Sequence[Spec], measures: Sequence[Measure], signature: str, title: str
) -> Iterator[Table | Figure]:
    """`summary`, `by_KEY` for every grouping, `profile` and `pairs`, as far as there is any."""
    index = Index(measures)
    columns = kept_columns(index, [_column(spec) for spec in specs])
    groups = list(dict.fromkeys(key for spec in specs for key in spec.groups))
    for made in (
        _summary(index, signature, title, columns, specs),
        _profile(index, signature, title, [c for c in columns if c.unit and c.unit.of_shares]),
        *(_grouped(index, signature, key, columns) for key in groups),
        _pairs(index, signature, specs),
    ):
        if made is not None:
            yield made


def _column(spec: Spec) -> Column:
    return Column(spec.name.replace("_", " "), spec.name, unit=spec.unit)


def _summary(
    index: Index, signature: str, title: str, columns: Sequence[Column], specs: Sequence[Spec]
) -> Table | None:
    says = {spec.name: spec.says for spec in specs}
    meanings = (f"{column.heading}: {says[column.measure]}." for column in columns)
    notes = (
        *meanings,
        *interval_notes(index, *(column.measure for column in columns)),
        *remarks_on(index, columns),
    )
    return readers_table(index, signature, "summary", title, columns, notes)


def _grouped(index: Index, signature: str, key: str, columns: Sequence[Column]) -> Table | None:
    sizes = group_sizes(index, key, columns)
    printed = {group: f"{group} (n = {n})" for group, n in sizes.items()}
    some = kept_columns(index, columns, **{key: list(sizes)}) if sizes else []
    title = f"By {key}"
    return groups_table(index, signature, f"by_{key}", title, key, printed, some)


def _profile(index: Index, signature: str, title: str, columns: Sequence[Column]) -> Figure | None:
    panel = Panel("all cases")
    cast = cast_of(index, columns)
    lanes = [Lane(column.heading, column=column) for column in columns]
    return dot_figure(
        "profile",
        title,
        lane_rows(index, lanes, [panel], cast),
        [panel],
        cast,
        signature,
        says="Measures of every reader in percent:",
        keys=("measure",),
        before=["Bars: 95 % intervals."],
    )


def _pairs(index: Index, signature: str, specs: Sequence[Spec]) -> Table | None:
    named = {f"diff_{spec.name}": spec.name.replace("_", " ") for spec in specs}
    rows = difference_rows(differences(index, named), beside=True, marked=True)
    headings = ("reader", "versus", "measure", "difference", "rates", "p", "q")
    notes = (
        "Paired over the cases of both; p exact or by sign flips, q Benjamini and Hochberg's "
        f"within each measure. {TOLD_APART_MARK}: q < 0.05.",
    )
    return table("pairs", "Readers against each other", headings, rows, signature, notes, facts=3)
