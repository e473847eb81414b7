"""Controls asked about phantoms without an engine: a benchmark over its cases, and its tables."""

from __future__ import annotations

import asyncio
import functools
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import polars as pl

from overread.benchmarks.base import ReaderRecord, Tables
from overread.benchmarks.registry import class_of
from overread.case import Picture, Prompt, PromptMessage, Request
from overread.imaging import render, render_clip
from overread.plugins import at

__all__ = ["phantom_asked", "rendered"]


def phantom_asked(
    name: str,
    folder: Path,
    n: int,
    controls: Sequence[str],
    edition: str = "corrected",
    words: Mapping[str, str] | None = None,
) -> tuple[Any, Tables]:
    """The benchmark over n phantoms, and what these controls answered to every trial."""
    place = at(class_of(name).phantoms.maker)(folder, n, 0)
    bench: Any = class_of(name).open(place, edition, words)
    asked = bench.controls()
    rows, readers = [], []
    for control in controls:
        reader = asked[control]
        readers.append(ReaderRecord(name=reader.name, traits=reader.traits))
        for case in bench.cases():
            for trial in bench.trials(case, reader.traits):
                prompt = rendered(trial.request.for_reader(reader.traits), trial.case)
                reply = asyncio.run(reader.reply(prompt))
                rows.append((reader.name, *bench.answer(trial, reply, reader.traits)))
    cases = pl.DataFrame(
        [bench.case_row(case) for case in bench.cases()],
        schema=dict(bench.case_schema),
        orient="row",
    )
    schema = {"reader": pl.String, **bench.answer_schema}
    answers = pl.DataFrame(rows, schema=schema, orient="row")
    tables = Tables(cases=cases, answers=answers, readers=tuple(readers), asked_under=bench.edition)
    return bench, tables


@functools.lru_cache(64)
def _shown(part: Any) -> Any:
    if isinstance(part, str):
        return part
    return render(part) if isinstance(part, Picture) else render_clip(part)


def rendered(request: Request, digest: str) -> Prompt:
    messages = tuple(
        PromptMessage(message.role, tuple(_shown(part) for part in message.parts))
        for message in request.messages
    )
    return Prompt(messages, request.decoding, digest)
