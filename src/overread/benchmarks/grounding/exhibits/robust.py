"""Supplementary Tables 4 and 5: do the numbers depend on the wording or the resolution?"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from overread.benchmarks.exhibits.cells import cell, p_value, table
from overread.benchmarks.grounding.exhibits.index import Index
from overread.case import Measure, Table

__all__ = ["RATES", "phrasing", "resolution", "sizes"]

RATES: Final = (("cgr", "CGR"), ("accuracy", "accuracy"), ("uar", "UAR"), ("is", "IS"))


def phrasing(index: Index, signature: str) -> Table | None:
    """Parse rate first: an accuracy over few parsed answers is not one."""

    def accuracy(record: Measure | None) -> str:
        few = record is not None and (record.note or "").startswith("uninterpretable")
        return cell(record, "†" if few else "")

    return table(
        "phrasing",
        "Does it depend on the wording?",
        ("reader", "phrasing", "parse rate", "accuracy", "UAR"),
        (
            (
                reader,
                words,
                cell(index.get(reader, "parse_rate", phrasing=words)),
                accuracy(index.get(reader, "accuracy", phrasing=words)),
                cell(index.get(reader, "uar", phrasing=words)),
            )
            for reader in index.readers
            for words in index.groups("parse_rate", "phrasing")
        ),
        signature,
        (
            "Percent [95 % interval], on the same sub-sample of cases in every wording.",
            "† Fewer than 50 parsed answers: not to be interpreted.",
        ),
        facts=2,
    )


def sizes(index: Index) -> tuple[str, ...]:
    """The resolutions of a run, the headline's first; empty where there is only that one."""
    return index.groups("cgr", "px") or index.groups("accuracy", "px")


def resolution(index: Index, signature: str) -> Table | None:
    """Every rate at every resolution with the reader's rank, and the paired change."""
    px = sizes(index)
    if not px:
        return None
    base, *others = px
    columns = ["reader", "rate", f"{base} px", "rank"]
    for size in others:
        columns += [f"{size} px", "rank", "change"]
    return table(
        "resolution",
        "Does it depend on the resolution?",
        columns,
        (row for name, title in RATES for row in _rows(index, name, title, px)),
        signature,
        (
            "Percent [95 % interval]; the change in percentage points, on cases decided at both.",
            *_correlations(index),
        ),
        facts=2,
    )


def _rows(index: Index, name: str, title: str, px: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
    from overread.benchmarks.grounding.robustness import ranks

    if not any(index.any(name, px=size) for size in px):
        return
    ranked = {
        size: ranks(
            [
                r.value if (r := index.get(reader, name, px=size)) else None
                for reader in index.readers
            ]
        )
        for size in px
    }
    base, *others = px
    for at, reader in enumerate(index.readers):
        row = [reader, title, cell(index.get(reader, name, px=base)), _rank(ranked[base][at])]
        for size in others:
            change = index.get(reader, f"diff_{name}", px=size, versus=f"px={base}")
            row += [cell(index.get(reader, name, px=size)), _rank(ranked[size][at]), cell(change)]
        yield tuple(row)


def _rank(rank: int | None) -> str:
    return "" if rank is None else str(rank)


def _correlations(index: Index) -> Iterator[str]:
    for record in index.together("rho", "px", "of"):
        rate = dict(RATES).get(record.by["of"], record.by["of"])
        what = f"{rate} at {record.by['px'].replace(',', ' and ')} px"
        if record.value is None:
            yield f"{what}: no rank correlation; {record.note}."
        else:
            p = f"p {p_value(record.p)}, {record.method}"
            yield f"{what}: Spearman {record.value:.3f} over {record.n} readers ({p})."
