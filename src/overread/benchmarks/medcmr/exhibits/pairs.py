"""Every reader against every other, and base models against their medical descendants."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import msgspec

from overread.benchmarks.exhibits.cells import p_value, table
from overread.benchmarks.exhibits.index import Index
from overread.benchmarks.exhibits.numbers import NOT_ASKED, cell, tested
from overread.benchmarks.medcmr.exhibits.columns import groups_of, interval_notes, judged_notes
from overread.case import Measure, Table

__all__ = ["base_table", "pairs_table"]

_COMPARED: Final = {"diff_accuracy": "accuracy", "diff_score": "S"}


def pairs_table(index: Index, signature: str) -> Table | None:
    """Differences with their intervals and tests."""
    rows = [
        (
            *(record.reader, record.by["versus"], said),
            *(cell(record), p_value(record.p), p_value(record.q)),
        )
        for record, said in _differences(index)
    ]
    return table(
        "pairs",
        "Which reader is better?",
        ("reader", "less", "measure", "difference", "p", "q"),
        rows,
        signature,
        (
            "Points on the same items, replies without an answer counted as wrong. An interval "
            "that holds 0: these items do not tell the two apart. q: Benjamini and Hochberg's.",
            *(judged_notes(index) if index.every("diff_score") else ()),
            *interval_notes(index, *_COMPARED),
        ),
        facts=3,
    )


def _differences(index: Index) -> Iterator[tuple[Measure, str]]:
    for name, said in _COMPARED.items():
        for record in index.all(name, "versus"):
            yield record, said
        for record in index.all(name, "kind", "versus"):
            if record.by["kind"] == "reformulated":
                yield record, f"{said}, reformulated"


def base_table(index: Index, signature: str) -> Table | None:
    """Items that only the base model has right, and only the medical one; then as open items."""
    pairs = dict.fromkeys(
        (record.by["versus"], record.reader)
        for name in ("only_base", "only_medical")
        for record in index.all(name, "versus")
    )
    rows = []
    for base, medical in pairs:
        for by in ({}, *({"dimension": name} for name in groups_of(index, "dimension"))):
            only = [
                index.get(medical, name, versus=base, **by)
                for name in ("only_base", "only_medical")
            ]
            if not any(only):
                continue
            own = [index.get(reader, "accuracy", **by) for reader in (base, medical)]
            tail = [NOT_ASKED] * 4
            if not by:
                score = [index.get(r, "score", kind="reformulated") for r in (base, medical)]
                tail = [
                    _tested(_less(index, "diff_accuracy", medical, base)),
                    *map(cell, score),
                    _tested(_less(index, "diff_score", medical, base, kind="reformulated")),
                ]
            group = by.get("dimension", "all items")
            rows.append((medical, base, group, *map(cell, (*own, *only)), *tail))
    return table(
        "base_against_medical",
        "Does medical fine-tuning help?",
        (
            *("medical reader", "base", "dimension", "accuracy, base", "accuracy, medical"),
            *("only base right", "only medical right", "medical less base"),
            *("S reformulated, base", "S reformulated, medical", "medical less base, S"),
        ),
        rows,
        signature,
        (
            "Where more items are right for the base alone than for the medical reader alone, the "
            "fine-tuning cost more than it gave.",
            "Only base, only medical: the share of multiple-choice items that this one has right "
            "and the other wrong. Reformulated: such items asked without their options, the text "
            "of the right option being the truth. Differences in points on the same items, with p "
            "and q.",
            *(judged_notes(index) if index.any("score", kind="reformulated") else ()),
            *interval_notes(index, "only_base", "diff_accuracy"),
        ),
        facts=3,
    )


def _tested(record: Measure | None) -> str:
    return NOT_ASKED if record is None else tested(record)


def _less(index: Index, name: str, reader: str, other: str, **by: str) -> Measure | None:
    """A reader less another; of the two orders records hold one."""
    found = index.get(reader, name, versus=other, **by)
    if found is not None:
        return found
    turned = index.get(other, name, versus=reader, **by)
    if turned is None or turned.value is None:
        return turned
    low, high = (None if end is None else -end for end in (turned.high, turned.low))
    return msgspec.structs.replace(turned, value=-turned.value, low=low, high=high)
