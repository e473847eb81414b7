"""Small runs of all benchmarks with a few controls, and one page of them, as the demo has it."""

from __future__ import annotations

from pathlib import Path

import polars as pl

import overread as ov
from overread import report as pages
from overread.runs import report
from support.kept_runs import changed_on_purpose

__all__ = ["HARD", "HOSTILE", "RUNS", "make"]

JUDGE = ("control:lexical-judge",)
# In the order of the page.
RUNS: dict[str, tuple[str, tuple[str, ...], tuple[str, ...], dict[str, str]]] = {
    "grounding": ("phantom:48", ("looks", "prior", "always-yes", "unstable"), (), {}),
    "heartbeat": (
        "phantom:8", ("area", "random", "first-frame"), (), {"seeds": "2020-2021", "passes": "1"},
    ),
    "m3cot": ("phantom:26", ("clinician", "rambler", "contradicts"), JUDGE, {}),
    "medcmr": ("phantom:28", ("oracle", "letter-a", "format-breaker"), JUDGE, {}),
}  # fmt: skip

HARD = [
    "<script>alert(1)</script>",
    "</script><script>alert(2)</script>",
    "</style><style>body { display: none }</style>",
    "<img src=x onerror=alert(3)>",
    '<a href="javascript:alert(4)">press</a>',
    "[press](javascript:alert(5))",
    "\u202egnp.exe\u202c \u2066isolated\u2069 \u200fmarked",
    "\u0634\u0628\u06a9\u0647 \u05e9\u05dc\u05d5\u05dd",
    "nothing\x00 here\x07 \x9b31m",
    "<!--<script>",
    "]]></svg></table></body></html>",
    "https://overread.invalid/picture.png",
]
HOSTILE = "hostile"


def make(folder: Path) -> None:
    """One folder per run, `report.html` of the four, and `hostile` with `hostile.html`."""
    folder.mkdir()
    # A run's own page is not what is looked at here, and half of the time.
    write, pages.write_report = pages.write_report, lambda path, runs, **_: path.touch()
    try:
        for name in RUNS:
            ran(name, folder)
    finally:
        pages.write_report = write
    spoil(folder / "medcmr", folder / HOSTILE)
    report([folder / HOSTILE], folder / f"{HOSTILE}.html")
    report([folder / name for name in RUNS], folder / "report.html")


def ran(name: str, folder: Path) -> None:
    cases, controls, judges, settings = RUNS[name]
    ov.run(
        name,
        cases,
        [f"control:{control}" for control in controls],
        judges=judges,
        out=folder / name,
        store=folder / f"{name}.sqlite",
        settings=settings | {"boot": "200"},
    )


def spoil(run: Path, folder: Path) -> None:
    """The same run, as if its reader had said, and its set asked, the worst that can be said."""
    folder.mkdir()
    for file in run.iterdir():
        (folder / file.name).write_bytes(file.read_bytes())
    (folder / "report.html").unlink()
    answers = pl.read_parquet(folder / "answers.parquet")
    words = [*HARD, "".join(HARD) + "A" * 100_000]
    said = pl.Series([words[at % len(words)] for at in range(answers.height)])
    answers.with_columns(text=said, reasoning=said, answer=said).write_parquet(
        folder / "answers.parquet"
    )
    cases = pl.read_parquet(folder / "cases.parquet")
    asked = pl.Series([f"{HARD[at % len(HARD)]} #{at}" for at in range(cases.height)])
    choice = pl.col("kind") == "mcq"  # a letter stays one, and there are as many options
    cases.with_columns(
        question=asked,
        caption=asked,
        answer=pl.when(choice).then(pl.col("answer")).otherwise(asked),
        options=pl.col("options").list.eval(pl.element() + f" {HARD[1]} {HARD[6]}"),
    ).write_parquet(folder / "cases.parquet")
    changed_on_purpose(folder)
