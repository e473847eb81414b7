"""The printed figures of a benchmark's paper, read once."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator
from functools import cache
from importlib.resources import files
from typing import Final

import msgspec

from overread.case import BadInput, Measure
from overread.published._printed import SYSTEMS, Figures, Part, Printed, System
from overread.published._reading import read_part

__all__ = ["BENCHMARKS", "figures", "published", "read_figures"]

BENCHMARKS: Final = ("grounding", "heartbeat", "m3cot", "medcmr")


class _File(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    benchmark: str
    paper: str
    cite: str
    cases: int
    comparing: dict[str, str]
    systems: tuple[System, ...]
    parts: tuple[Part, ...]


@cache
def figures(benchmark: str) -> Figures:
    """What the paper of a benchmark prints, with where each number stands."""
    if benchmark not in BENCHMARKS:
        raise BadInput(
            f'benchmark is "{benchmark}"; printed figures are kept of {", ".join(BENCHMARKS)}.'
        )
    text = (files("overread.published") / f"{benchmark}.toml").read_text(encoding="utf-8")
    return read_figures(text)


def read_figures(text: str) -> Figures:
    """A data file's figures. It is ours: a fault in it is no bad input."""
    found = msgspec.convert(tomllib.loads(text), _File)
    printed = (*_categories(found.systems), *(p for part in found.parts for p in read_part(part)))
    index = {
        (p.record.reader, p.record.measure, frozenset(p.record.by.items())): p
        for p in printed
        if not p.repeat
    }
    return Figures(
        benchmark=found.benchmark,
        paper=found.paper,
        cite=found.cite,
        cases=found.cases,
        comparing=found.comparing,
        systems=found.systems,
        parts=found.parts,
        printed=printed,
        index=index,
    )


def published(benchmark: str) -> list[Measure]:
    """The printed figures as records of measures.json: fractions, None where nothing is printed."""
    return [printed.record for printed in figures(benchmark).printed if not printed.repeat]


def _categories(systems: tuple[System, ...]) -> Iterator[Printed]:
    for system in systems:
        if not system.category:
            continue
        yield Printed(
            record=Measure(reader=system.name, measure="category", label=system.category),
            table=SYSTEMS,
            where="the headings of Tables 2 and 3",
            cell=system.category,
        )
