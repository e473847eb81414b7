"""Right answers that stayed when the finding was hidden, for a person to look at.

Each was given for another reason than what the box shows: a prior, the rest of the film, or a box
that misses part of the finding. Which, only a person can tell.
"""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from overread.benchmarks.grounding.build.manifest import write_rows
from overread.benchmarks.grounding.edition import Edition, Options
from overread.benchmarks.grounding.facts import facts_of
from overread.benchmarks.grounding.marks import marks_at
from overread.benchmarks.grounding.prompts import question
from overread.case import BadInput
from overread.judging.sheet import guarded

if TYPE_CHECKING:
    import polars as pl

    from overread.benchmarks.benchmark import Tables

__all__ = ["ReviewRow", "ungrounded", "write_review"]


class ReviewRow(msgspec.Struct, frozen=True, kw_only=True):
    """One answer; the fields are the columns of the sheet, the last two for the person."""

    case: str
    reader: str
    finding: str
    view: str
    image: str
    # `x y w h` at the working resolution.
    box: str
    question: str
    reply: str
    reply_with_the_finding_hidden: str
    label: str = ""
    note: str = ""


def ungrounded(
    tables: Tables, reader: str, n: int, seed: int, edition: Edition, options: Options
) -> list[ReviewRow]:
    """The reader's correct Yes that the target mask left: at most n of each finding, by lot.

    The same run and seed give the same rows, and fewer rows are a part of more.
    """
    names = [one.name for one in tables.readers]
    if reader not in names:
        raise BadInput(f'reader is "{reader}"; the readers of this run are {", ".join(names)}.')
    if n < 1:
        raise BadInput(f"{n} answers of a finding are asked for; give 1 or more.")
    every = marks_at(tables, edition, facts_of(tables.cases, edition), options.px, options.phrasing)
    marks = every[names.index(reader)]
    yes = marks.facts.boxed & (marks.truth == 1) & (marks.original == 1)
    stayed = yes & (marks.target_mask == 1)
    replies = _replies(tables, reader, options)
    pools: dict[str, list[dict[str, Any]]] = {}
    for row, left in zip(tables.cases.iter_rows(named=True), stayed, strict=True):
        if left:
            pools.setdefault(row["finding"] or "", []).append(row)

    def lot(row: dict[str, Any]) -> bytes:
        return blake2b(f"{seed}|{row['case']}".encode(), digest_size=16).digest()

    return [
        ReviewRow(
            case=row["case"],
            reader=reader,
            finding=finding,
            view=row["view"] or "",
            image=row["image_path"],
            box=" ".join(str(row[f"box_{side}"]) for side in "xywh"),
            question=question(row["source"], finding, None, options.phrasing),
            reply=replies.get((row["case"], "original"), ""),
            reply_with_the_finding_hidden=replies.get((row["case"], "target_mask"), ""),
        )
        for finding in sorted(pools)
        for row in sorted(pools[finding], key=lot)[:n]
    ]


def _replies(tables: Tables, reader: str, options: Options) -> dict[tuple[str, str], str]:
    import polars as pl

    own: pl.DataFrame = tables.answers.filter(
        (pl.col("reader") == reader)
        & (pl.col("px") == options.px)
        & (pl.col("phrasing") == options.phrasing)
        & (pl.col("repeat") == 0)
    )
    rows = own.select("case", "image", pl.col("text").fill_null("")).iter_rows()
    return {(case, image): text for case, image, text in rows}


def write_review(path: Path, rows: Sequence[ReviewRow]) -> None:
    columns = ReviewRow.__struct_fields__
    write_rows(path, columns, ([guarded(getattr(row, name)) for name in columns] for row in rows))
