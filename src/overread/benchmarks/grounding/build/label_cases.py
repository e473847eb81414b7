"""Cases from labels alone: MIMIC-CXR and CheXpert (GROUNDING 2.3, 2.6).

For each finding films with and without it, then films that are normal; one film per patient and
finding. One film may serve several findings.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from overread.benchmarks.grounding.build.films import ABSENT, NOT_MENTIONED, PRESENT
from overread.benchmarks.grounding.build.stream import Stream
from overread.benchmarks.grounding.cases import GroundingCase
from overread.benchmarks.grounding.prompts import NORMAL

if TYPE_CHECKING:
    import polars as pl

__all__ = ["draw_by_label"]


def draw_by_label(
    pool: pl.DataFrame,
    stream: Stream,
    *,
    source: str,
    prefix: str,
    findings: tuple[str, ...],
    per_finding: int,
    normals: int,
    pad: bool,
) -> list[GroundingCase]:
    """Present then absent films of each finding, half of `per_finding` each, then the normals.

    With `pad`, films that do not mention a finding join those without it where these are of too
    few patients; the draw is from both together, and both are labelled 0 [D22]. `label_value`
    keeps the code.
    """
    half = per_finding // 2
    drawn: list[tuple[str, int, dict[str, Any]]] = []
    for finding in findings:
        present = _one_per_patient(pool, finding, PRESENT)
        drawn += [(finding, 1, row) for row in _sample(present, half, stream)]
        absent = _one_per_patient(pool, finding, ABSENT)
        if pad and absent.height < half:
            unmentioned = _one_per_patient(pool, finding, NOT_MENTIONED)
            absent = _first_of_each(absent.vstack(unmentioned))
        drawn += [(finding, 0, row) for row in _sample(absent, half, stream)]
    normal = _one_per_patient(pool, NORMAL, PRESENT)
    drawn += [(NORMAL, 1, row) for row in _sample(normal, normals, stream)]
    return [
        GroundingCase(
            case_id=f"{prefix}_{number:05d}",
            source=source,
            image_path=row["image_path"],
            report_path=row["report_path"],
            dicom_id=row["dicom_id"],
            subject_id=row["subject_id"],
            study_id=row["study_id"],
            view=row["view"],
            age=row["age"],
            gender=row["gender"],
            finding=finding,
            label=label,
            label_value=row[finding],
        )
        for number, (finding, label, row) in enumerate(drawn)
    ]


def _sample(films: pl.DataFrame, size: int, stream: Stream) -> list[dict[str, Any]]:
    return films[stream.sample(films.height, size)].to_dicts()


def _one_per_patient(pool: pl.DataFrame, finding: str, value: int) -> pl.DataFrame:
    import polars as pl

    return _first_of_each(pool.filter(pl.col(finding) == value))


def _first_of_each(films: pl.DataFrame) -> pl.DataFrame:
    return films.unique("subject_id", keep="first", maintain_order=True)
