"""What is kept of the heartbeat paper, against the paper's own text and in the records of runs."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from overread.case import Measure
from overread.published import figures, printed_tables
from published.arithmetic import published

FOUND = figures("heartbeat")
CONTEXTS = ("original", "segmented", "non_medical")
FORMATS = ("edv_esv", "esv_edv", "edv", "esv")
MODELS = tuple(system.name for system in FOUND.systems if system.name != "EchoCLIP")


# ---------------------------------------------------------------- the records


def test_an_error_becomes_a_record_of_measures_json() -> None:
    by = {"task": "t1", "context": "original", "format": "edv_esv", "phase": "ed"}
    (record,) = (
        r for r in published("heartbeat") if (r.reader, r.measure, r.by) == ("Gemma-3n", "mae", by)
    )
    assert record == Measure(reader="Gemma-3n", measure="mae", by=by, value=7.65, sd_seeds=0.20)


def test_the_same_error_over_videos_has_the_other_spread() -> None:
    by = {"task": "t1", "context": "original", "format": "edv_esv", "phase": "ed"}
    found = FOUND.find("Gemma-3n", "mae_videos", by)
    assert found is not None
    assert (found.record.value, found.record.sd_videos) == (7.82, 3.14)
    assert found.record.sd_seeds is None


def test_measures_and_keys_are_those_runs_have() -> None:
    """The contract of measures.json, and what only a paper has."""
    keys: dict[str, set[frozenset[str]]] = {}
    for record in published("heartbeat"):
        keys.setdefault(record.measure, set()).add(frozenset(record.by))
    asked = frozenset({"task", "context", "format", "phase"})
    full = ("mae", "mae_videos", "r2", "accuracy")
    assert all(keys[name] == {asked} for name in full)
    # EchoCLIP gives EF whatever is asked for.
    assert keys["ef_mae"] == {asked - {"phase"}, frozenset({"task"})}
    assert set(keys) - {*full, "ef_mae"} == {
        *("ef_mae_videos", "chance_mae", "chance_accuracy"),
        *("shortest_window", "longest_window", "margin"),
    }
    values = {(k, w) for r in published("heartbeat") for k, w in r.by.items()}
    assert {w for k, w in values if k == "context"} == set(CONTEXTS)
    assert {w for k, w in values if k == "format"} == set(FORMATS)
    assert {w for k, w in values if k == "phase"} == {"ed", "es"}


def test_every_model_has_every_question() -> None:
    counts = Counter(record.measure for record in published("heartbeat"))
    phases = len(CONTEXTS) * 6  # two pairs and two single phases
    assert counts["mae"] == counts["mae_videos"] == counts["r2"] == len(MODELS) * phases
    assert counts["accuracy"] == len(MODELS) * len(CONTEXTS) * 2
    assert counts["chance_mae"] == len(CONTEXTS) * 2


def test_an_undefined_correlation_is_there_without_a_value() -> None:
    undefined = [r for r in published("heartbeat") if r.measure == "r2" and r.value is None]
    assert {record.reader for record in undefined} == {"Qwen3-VL-8B", "Qwen3-VL-32B"}


def test_the_reference_for_ef_is_kept_with_its_spread() -> None:
    plain = FOUND.find("EchoCLIP", "ef_mae", {"task": "t1"})
    over_videos = FOUND.find("EchoCLIP", "ef_mae_videos", {"task": "t1"})
    assert plain is not None
    assert over_videos is not None
    assert (plain.record.value, over_videos.record.sd_videos) == (8.54, 10.07)


def test_a_table_keeps_the_words_of_the_paper_and_says_its_unit() -> None:
    table, *_ = printed_tables("heartbeat", "3")
    assert table.rows[0][:3] == ("LLaVA-Interleave", "large_small", "11.87 ± 0.86")
    assert "MAE in frames, EF in percentage points" in table.notes[0]


def test_what_concerns_no_row_stands_below_the_first_part() -> None:
    first, *rest = printed_tables("heartbeat", "3")
    assert any("most models are said to surpass" in note for note in first.notes)
    assert not any("most models" in note for part in rest for note in part.notes)


# ---------------------------------------------------------------- against the paper itself


class Row(NamedTuple):
    reader: str
    asked: str
    cells: list[str]


WORDS = {
    "original video": "original",
    **dict(zip(("large_small", "small_large", "large", "small"), FORMATS, strict=True)),
}
ROW = re.compile(r"^([A-Z][\w.-]*)?\t([a-z_ ]+|-)\t(.*)$")


def rows_of(text: str, table: int) -> Iterator[Row]:
    """The lines between two captions that hold numbers, each with its reader's name."""
    end = text.index(f"\nTable {table}:")
    start = max(text.rfind(f"\nTable {number}:", 0, end) for number in range(1, 8))
    reader = ""
    for line in text[max(start, 0) : end].splitlines():
        found = ROW.match(re.sub(r"</?u>", "", line))
        if found is None:
            continue
        reader = found[1] or reader
        cells = [cell.strip().replace(",", "") for cell in found[3].split("\t")]
        if any(re.match(r"-?\d", cell) for cell in cells):
            yield Row(reader, WORDS.get(found[2], found[2]), cells)


def said(cell: str) -> tuple[float | None, float | None]:
    value, _, spread = cell.partition(" ± ")
    return (None if value == "-" else float(value)), (float(spread) if spread else None)


def kept(reader: str, measure: str, spread: str, by: dict[str, str]) -> tuple[float | None, ...]:
    """What we have for a cell; a cell that was not asked for is a dash in the paper."""
    found = FOUND.find(reader, measure, by)
    if found is None:
        return None, None
    return found.record.value, getattr(found.record, spread)


@pytest.fixture(scope="module")
def paper(shared: Path) -> str:
    return (shared / "papers" / "heartbeat.txt").read_text(encoding="utf-8")


@pytest.mark.parametrize(("table", "context"), [*enumerate(CONTEXTS, 1), *enumerate(CONTEXTS, 5)])
def test_every_error_is_the_papers(paper: str, table: int, context: str) -> None:
    over_seeds = table < 5
    columns = (
        [("mae", "ed"), ("r2", "ed"), ("mae", "es"), ("r2", "es"), ("ef_mae", "")]
        if over_seeds
        else [("mae_videos", "ed"), ("mae_videos", "es"), ("ef_mae_videos", "")]
    )
    spread = "sd_seeds" if over_seeds else "sd_videos"
    rows = {(row.reader, row.asked): row.cells for row in rows_of(paper, table)}
    guesses = rows.pop(("Random", "-"))
    assert set(rows) - {("EchoCLIP", "-")} == {(m, f) for m in MODELS for f in FORMATS}
    for (reader, wanted), cells in rows.items():
        for (measure, phase), cell in zip(columns, cells, strict=True):
            by = {"task": "t1"}
            if reader != "EchoCLIP":
                by |= {"context": context, "format": wanted} | ({"phase": phase} if phase else {})
            elif phase:
                continue
            assert kept(reader, measure, spread, by) == said(cell), (reader, wanted, measure, phase)
    for (measure, phase), cell in zip(columns, guesses, strict=True):
        if measure.startswith("mae"):
            by = {"task": "t1", "context": context, "phase": phase}
            assert kept("Random", "chance_mae", spread, by) == said(cell)


def test_every_accuracy_is_the_papers(paper: str) -> None:
    rows = {(row.reader, row.asked): row.cells for row in rows_of(paper, 4)}
    assert set(rows) == {(model, context) for model in MODELS for context in CONTEXTS}
    for (reader, context), cells in rows.items():
        for wanted, phase, cell in zip(("edv", "esv"), ("ed", "es"), cells, strict=True):
            by = {"task": "t2", "context": context, "format": wanted, "phase": phase}
            assert kept(reader, "accuracy", "sd_seeds", by) == said(cell)


@pytest.mark.parametrize(
    "words",
    [
        "lengths of the subsequence range from 21 to 64 frames",
        r"$\frac{1}{3}\ell$ frames before the earlier annotated frame",
        r"[0, \ell_i + 1)",
        "the random baseline of 0.5",
        "a subset containing 100 videos",
        "Qwen3-VL-32B reaches an accuracy of 0.711",
        "MAE of 8.54%",
        "exceeding 6 frames on average in our single-phase",
        "most of the models surpassed the random baselines",
        "we ran ten different random seeds",
        FOUND.paper,
        "MIDL 2026",
    ],
)
def test_what_the_flags_quote_stands_in_the_text(paper: str, words: str) -> None:
    assert words in re.sub(r"\s+", " ", paper)
