"""Do the numbers of one set of cases hold on another? (GROUNDING 12, Figure 6)

Two runs of the same readers over different cases: each reader's UAR and accuracy side by side, and
the rank correlation over the readers, with and without those that see but do not read, since a
vision-only probe may have been trained on one of the sets [D25].
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from overread.benchmarks.grounding.robustness import rank_correlation
from overread.case import Measure, Table

__all__ = ["TRANSFERRED", "side_by_side", "transfer", "transfer_table"]

TRANSFERRED: Final = ("uar", "accuracy", "cgr", "is")


def transfer(
    first: Sequence[Measure],
    second: Sequence[Measure],
    vision_only: frozenset[str],
    *,
    exact: bool = True,
) -> list[Measure]:
    """One record per measure and set of readers: `rho` with its p and the readers' values.

    `exact` permutes the ranks for p, as it should be; otherwise the published t approximation,
    over rates rounded to four decimals as their tables are.
    """
    found = []
    for name in TRANSFERRED:
        ours, theirs = _overall(first, name), _overall(second, name)
        shared = [reader for reader in ours if reader in theirs]
        if not shared:
            continue
        found.append(_rho(name, shared, ours, theirs, "all", exact))
        seeing = [reader for reader in shared if reader not in vision_only]
        if len(seeing) < len(shared):
            found.append(_rho(name, seeing, ours, theirs, "without_vision_only", exact))
    return found


def _overall(measures: Sequence[Measure], name: str) -> dict[str, float]:
    return {
        record.reader: record.value
        for record in measures
        if record.measure == name and not record.by and record.value is not None
    }


def _rho(
    name: str,
    readers: Sequence[str],
    ours: Mapping[str, float],
    theirs: Mapping[str, float],
    which: str,
    exact: bool,
) -> Measure:
    x, y = [ours[r] for r in readers], [theirs[r] for r in readers]
    if not exact:
        x, y = [round(v, 4) for v in x], [round(v, 4) for v in y]
    by = {"of": name, "readers": which}
    return rank_correlation(list(zip(x, y, strict=True)), by, exact=exact)


def side_by_side(
    first: Sequence[Measure], second: Sequence[Measure]
) -> Iterator[tuple[str, str, Measure, Measure]]:
    """(reader, measure, its record in the first run, its record in the second)."""
    for name in TRANSFERRED:
        others = {r.reader: r for r in second if r.measure == name and not r.by}
        for record in first:
            if record.measure == name and not record.by and record.reader in others:
                yield record.reader, name, record, others[record.reader]


def transfer_table(
    pairs: Sequence[tuple[str, str, Measure, Measure]],
    correlations: Sequence[Measure],
    names: tuple[str, str],
    signature: str,
) -> Table:
    """One row per reader and measure, and a note per correlation."""
    return Table(
        name="transfer",
        title="Do the numbers hold on other cases?",
        columns=("reader", "measure", *names),
        rows=tuple((reader, name, _cell(x), _cell(y)) for reader, name, x, y in pairs),
        signature=signature,
        notes=tuple(_said(record) for record in correlations),
    )


def _cell(record: Measure) -> str:
    if record.value is None:
        return "n/a"
    interval = ""
    if record.low is not None and record.high is not None:
        interval = f" [{100 * record.low:.1f}, {100 * record.high:.1f}]"
    return f"{100 * record.value:.1f}{interval} n={record.n}"


def _said(record: Measure) -> str:
    over = "all readers" if record.by["readers"] == "all" else "readers that read"
    what = f"{record.by['of']} over {over} (n={record.n})"
    if record.value is None:
        return f"{what}: no rank correlation; {record.note}."
    return f"{what}: Spearman {record.value:.3f}, p {record.p:.4g} ({record.method})."
