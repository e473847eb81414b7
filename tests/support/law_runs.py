"""One small run of each benchmark, widely asked, that all laws of measures are held to."""

from __future__ import annotations

import functools
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import polars as pl

import overread as ov
from overread import report as pages
from overread.benchmarks.registry import class_of
from overread.case import Measure
from overread.runs._kept import kept_runs, tables_of

__all__ = ["RUNS", "Measured", "by_key", "measured_runs", "mixed", "replace"]

JUDGE = ("control:lexical-judge",)
# Cases, controls, judges, settings: so that most that can be measured is.
RUNS: dict[str, tuple[str, tuple[str, ...], tuple[str, ...], dict[str, str]]] = {
    "grounding": (
        "phantom:48", ("looks", "prior", "always-yes", "unstable"), (),
        {"conditions": "+blank,+blur,+matched,+repeat", "px": "64,96", "subset": "20"},
    ),
    "heartbeat": (
        "phantom:8", ("area", "random", "first-frame"), (), {"seeds": "2020-2021", "passes": "1"},
    ),
    "m3cot": (
        "phantom:26", ("clinician", "rambler", "contradicts"), JUDGE,
        {"images": "original,blank", "follow": "truncated", "timing": "6"},
    ),
    "medcmr": (
        "phantom:28", ("oracle", "letter-a", "format-breaker"), JUDGE,
        {"images": "original,blank", "orders": "2", "reformulate": "6"},
    ),
    "pairs": ("phantom:24", ("looks", "prior", "first-option"), (), {}),
}  # fmt: skip


class Measured(NamedTuple):
    """A benchmark, the tables of its run and the records made of them."""

    bench: Any
    tables: Any
    records: list[Measure]


def measured_runs(home: Path) -> Callable[[str, str], Measured]:
    """A run of each benchmark, asked once, as an edition reads it."""

    @functools.cache
    def asked(name: str) -> Path:
        cases, controls, judges, settings = RUNS[name]
        write, pages.write_report = pages.write_report, lambda path, runs, **_: path.touch()
        try:
            ov.run(
                name, cases, [f"control:{control}" for control in controls], judges=judges,
                out=home / name, store=home / f"{name}.sqlite", settings=settings | {"boot": "100"},
            )  # fmt: skip
        finally:
            pages.write_report = write
        return home / name

    @functools.cache
    def measured(name: str, edition: str) -> Measured:
        (run,) = kept_runs([asked(name)])
        bench = class_of(name).of_run(run.record.dataset, "open", edition, run.record.settings)
        tables = mixed(tables_of(run.folder, bench, run.record))
        return Measured(bench, tables, bench.measure(tables))

    return measured


def mixed(tables: Any) -> Any:
    """Controls that are right here and wrong there: each says of every third case what the next one
    does. Where all of them get no picture, they are taken to get one."""
    names = [reader.name for reader in tables.readers]
    follower = dict(zip(names, names[1:] + names[:1], strict=True))
    third = pl.col("case").rank("dense").cast(pl.Int64) % 3 == 0

    def exchanged(frame: pl.DataFrame | None) -> pl.DataFrame | None:
        if frame is None:
            return None
        own = pl.lit(True) if "check" not in frame.columns else ~pl.col("check")
        lent = own & third
        others = frame.filter(lent).with_columns(
            pl.col("reader").replace({new: old for old, new in follower.items()})
        )
        return pl.concat([frame.filter(~lent), others])

    readers = tables.readers
    if all(reader.traits.modality == "text" for reader in readers):
        readers = tuple(
            replace(reader, traits=replace(reader.traits, modality="multimodal"))
            for reader in readers
        )
    return replace(
        tables,
        answers=exchanged(tables.answers),
        verdicts=exchanged(tables.verdicts),
        readers=readers,
    )


def by_key(records: list[Measure]) -> dict[str, Measure]:
    found = {f"{m.reader}|{m.measure}|{sorted(m.by.items())}": m for m in records}
    assert len(found) == len(records), "two records of one reader, measure and by"
    return found


def replace(thing: Any, **changes: Any) -> Any:
    return msgspec.structs.replace(thing, **changes)
