"""Made-up cases and answers, and the golden study read once."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from overread.benchmarks.base import Imported, ReaderRecord, Tables
from overread.benchmarks.grounding.answers import Answer
from overread.benchmarks.grounding.cases import CaseRow, GroundingCase, row_of
from overread.benchmarks.grounding.importing import import_results
from overread.benchmarks.tables import frame_of, schema_of
from overread.case import Box, Measure, Traits
from support.measured import Records

GOLDEN = Path(__file__).parents[2] / "golden" / "grounding"
with (GOLDEN / "mimic" / "manifest.csv").open(encoding="utf-8") as _manifest:
    COLUMNS = _manifest.readline().strip().split(",")
GOOD = {
    "case_id": "c1",
    "source": "ms_cxr",
    "image_path": "a/b.jpg",
    "subject_id": "p1",
    "view": "PA",
    "age": "61.0",
    "gender": "F",
    "finding": "edema",
    "label": "1",
    "box_x": "10.0",
    "box_y": "20",
    "box_w": "60",
    "box_h": "70.0",
    "swap_image_path": "a/s.jpg",
    "irrelevant_box_x": "164",
    "irrelevant_box_y": "154",
    "irrelevant_box_w": "60",
    "irrelevant_box_h": "70",
}


@pytest.fixture(scope="session")
def golden() -> Path:
    return GOLDEN


@pytest.fixture(scope="session")
def study(golden: Path) -> Callable[..., Imported]:
    """The golden study imported under an edition."""

    def read(edition: str, reparse: bool = False, **settings: str) -> Imported:
        mimic = golden / "mimic"
        return import_results(
            mimic / "manifest.csv",
            mimic / "responses",
            golden / "models.json",
            edition,
            settings,
            reparse,
        )

    return read


@pytest.fixture(scope="session")
def expected(golden: Path) -> Callable[..., Any]:
    """What the authors' code wrote: `expected("category")`, `expected("summary_table", "chexpert")`."""

    def read(name: str, part: str = "mimic") -> Any:
        folder = golden / part
        path = folder / "expected" / f"{name}.json"
        return json.loads((path if path.is_file() else folder / f"{name}.json").read_text("utf-8"))

    return read


@pytest.fixture(scope="session")
def as_published(study: Callable[..., Imported]) -> Imported:
    return study("authors")


@pytest.fixture(scope="session")
def authors(as_published: Imported) -> Records:
    """The golden study measured as published, with all its resamples: the slow part, done once."""
    return Records(as_published.benchmark.measure(as_published.tables))


@pytest.fixture(scope="session")
def authors_key(study: Callable[..., Imported]) -> Records:
    """`corrected`, but with the authors' key of normals and vision-only readers on sentences."""
    found = study("corrected", normals="yes", vision_on_sentences="yes")
    return Records(found.benchmark.measure(found.tables))


@pytest.fixture(scope="session")
def chexpert(golden: Path) -> Callable[[str], Records]:
    """The second golden set, measured under an edition."""
    kept: dict[str, Records] = {}

    def read(edition: str) -> Records:
        if edition not in kept:
            folder = golden / "chexpert"
            found = import_results(
                folder / "manifest.csv", folder / "responses", golden / "models.json", edition
            )
            kept[edition] = Records(found.benchmark.measure(found.tables))
        return kept[edition]

    return read


@pytest.fixture
def manifest(tmp_path: Path) -> Callable[..., Path]:
    """Write a manifest: each row is the good row with some cells changed."""

    def write(*rows: Mapping[str, str], columns: Sequence[str] = COLUMNS, **card: str) -> Path:
        text = io.StringIO(newline="")
        sheet = csv.DictWriter(text, columns, restval="", extrasaction="ignore")
        sheet.writeheader()
        sheet.writerows(
            {**GOOD, "case_id": f"c{i}", "subject_id": f"p{i}", **row} for i, row in enumerate(rows)
        )
        path = tmp_path / "manifest.csv"
        path.write_text(text.getvalue(), "utf-8", newline="")
        if card:
            lines = (f'{key} = "{value}"\n' for key, value in card.items())
            (tmp_path / "dataset.toml").write_text("".join(lines), "utf-8")
        return path

    return write


WORDS = {-1: "unparsed", -2: "refused", -3: "unanswered"}


class Bench:
    """Tables of a run from lists of answers: 1, 0, or what else became of the trial."""

    def case(self, name: str, **facts: Any) -> GroundingCase:
        given: dict[str, Any] = {
            "source": "ms_cxr",
            "image_path": f"{name}.jpg",
            "label": 1,
            "finding": "edema",
            "subject_id": name,
            "swap_image_path": "swap.jpg",
            "box": Box(10, 20, 60, 70),
            "irrelevant_box": Box(164, 154, 60, 70),
        }
        return GroundingCase(case_id=name, **{**given, **facts})

    def row(
        self, reader: str, case: str, image: str, mark: int, p_yes: float | None = None
    ) -> tuple[Any, ...]:
        again = image == "repeat"
        image = "original" if again else image
        outcome = WORDS.get(mark, "answered")
        answer = mark if mark >= 0 else None
        text = {1: "Yes", 0: "No", -1: "Hm"}.get(mark)
        reading = (outcome, answer, None, p_yes if mark >= 0 else None, None)
        said = (text, None, None, None, mark == -2, False, None)
        return (reader, case, image, "default", 224, int(again), *reading, *said)

    def tables(
        self,
        cases: Sequence[GroundingCase],
        answers: Mapping[str, Mapping[str, Mapping[str, int]]],
        traits: Mapping[str, Traits] | None = None,
        p_yes: Mapping[str, float] | None = None,
    ) -> Tables:
        """answers: reader -> condition -> case -> mark; p_yes: case -> P(Yes) of every reader."""
        rows = [
            self.row(reader, case, image, mark, (p_yes or {}).get(case))
            for reader, conditions in answers.items()
            for image, marks in conditions.items()
            for case, mark in marks.items()
        ]
        schema = {"reader": pl.String, **schema_of(Answer)}
        return Tables(
            cases=frame_of(CaseRow, map(row_of, cases)),
            answers=pl.DataFrame(rows, schema=schema, orient="row"),
            readers=tuple(
                ReaderRecord(name=name, traits=(traits or {}).get(name, Traits()))
                for name in answers
            ),
        )


@pytest.fixture(scope="session")
def bench() -> Bench:
    return Bench()


@pytest.fixture(scope="session")
def by_name() -> Callable[[Sequence[Measure]], dict[tuple[str, str], Measure]]:
    """Overall records by (reader, measure); of one condition by (reader, measure@condition)."""

    def index(records: Sequence[Measure]) -> dict[tuple[str, str], Measure]:
        return {(r.reader, "@".join((r.measure, *r.by.values()))): r for r in records}

    return index
