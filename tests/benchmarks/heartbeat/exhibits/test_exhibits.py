"""All exhibits of a run, and where they are documented."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from overread.benchmarks.heartbeat.edition import CONTEXTS, CORRECTED
from overread.benchmarks.heartbeat.exhibits import exhibits, strips
from overread.case import Figure, Table

# ------------------------------------------ The paper's tables and figures, from one run's measures


@pytest.mark.parametrize("edition", ["corrected", "authors"])
def test_every_table_and_figure_of_the_paper_is_there(exhibited, edition):
    names = set(exhibited(edition))
    assert {f"{kind}_{c}" for kind in ("frames", "videos") for c in CONTEXTS} <= names
    assert {"summary", "skills", "accuracy_t2", "contexts", "habits"} <= names
    assert {"mae_ed", "mae_es", "accuracy_two_frames", "scatter_ed", "scatter_es"} <= names


def test_the_summary_comes_first_even_of_nothing(exhibited):
    (only,) = exhibits([], "s")
    assert (only.name, only.rows) == ("summary", ())
    assert next(iter(exhibited())) == "summary"


ODD_RUNS = [
    {"readers": ("looks",)},
    {"readers": ("steady", "looks")},
    {"contexts": ("segmented",)},
    {"formats": ("esv",), "tasks": ("t1",)},
    {"tasks": ("t2",)},
    {"readers": tuple(f"server:a-laboratory/a-very-long-name-{n}b-instruct" for n in range(9))},
    {"readers": ("<b>'\"", "a/b", "a:b", "x\\'y")},
]


@pytest.mark.parametrize(
    "run", ODD_RUNS, ids=lambda run: "-".join(f"{k}{len(v)}" for k, v in run.items())
)
def test_whatever_was_asked_is_shown_square_signed_and_drawn(exhibited, run):
    found = exhibited(**run)
    assert found["summary"].rows
    for one in found.values():
        assert one.signature == "heartbeat|test"
        if isinstance(one, Table):
            assert all(len(row) == len(one.columns) for row in one.rows)
        else:
            assert one.rows
            assert one.alt
            assert one.svg().startswith("<svg")


def test_nothing_is_made_of_what_was_not_asked(exhibited):
    assert set(exhibited(tasks=("t2",))) == {
        "summary",
        "accuracy_two_frames",
        "accuracy_t2",
        "contexts",
        "seeds_t2",
    }
    names = set(exhibited(contexts=("segmented",)))
    assert "frames_segmented" in names
    assert not names & {"frames_original", "videos_non_medical", "contexts"}


def test_references_are_never_drawn_as_readers(exhibited):
    for one in exhibited().values():
        if isinstance(one, Figure):
            told = {row["reader"] for row in one.rows if row.get("kind", "reader")}
            assert told == {"looks", "guesses"}, one.name
            assert "specialist" not in one.alt


def test_without_baselines_there_are_neither_lines_nor_rows(measured):
    lines = ("constant_mae", "chance_mae", "chance_accuracy")
    bare = [
        m for m in measured() if not m.reader.startswith("baseline:") and m.measure not in lines
    ]
    found = {one.name: one for one in exhibits(bare, "s")}
    assert {row[0] for row in found["summary"].rows} == {"looks", "guesses"}
    assert "To be beaten" not in " ".join(found["summary"].notes)
    assert "line" not in " ".join(found["mae_ed"].notes)
    assert "band" not in " ".join(found["accuracy_two_frames"].notes)
    assert found["mae_ed"].svg().startswith("<svg")


# ------------- docs/exhibits.md names every exhibit of the benchmark, what kind it is, and no other

PAGE = Path(__file__).parents[4] / "docs" / "exhibits.md"


def test_the_page_names_every_exhibit_in_its_order(exhibited, asked):
    tables = asked()
    answers = tables.answers.with_columns(start=pl.lit(0))
    frame = np.zeros((8, 8), np.uint8)
    drawn = strips(
        type(tables)(cases=tables.cases, answers=answers, readers=tables.readers),
        lambda case, start, count, context: [frame] * count,
        CORRECTED,
    )
    shown = [
        (made.name, "figure" if isinstance(made, Figure) else "table")
        for made in (*exhibited().values(), *drawn)
    ]
    section = PAGE.read_text("utf-8").split("\n## Heartbeat\n")[1].split("\n## ")[0]
    assert re.findall(r"^\| [^|]+ \| `([\w-]+)` \| (table|figure) \|", section, re.M) == shown
