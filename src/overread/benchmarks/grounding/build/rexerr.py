"""ReXErr-v1, sentence level: sentences of reports with and without an injected error."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Final

from overread.benchmarks.files.tables import codes, filled, read_table
from overread.benchmarks.grounding.build.films import sentence_schema
from overread.benchmarks.grounding.build.identity import identifiers

if TYPE_CHECKING:
    import polars as pl

__all__ = ["read_sentences"]

# Stored as floats: 0 unchanged, 1 an error, 2 neutral, such as a reference to an earlier film.
_PRESENT: Final = {f"{code}{end}": code for code in (0, 1, 2) for end in ("", ".0")}


def read_sentences(path: str | Path) -> pl.DataFrame:
    """`ReXErr-sentence-level_test.csv` as a sentence table, its rows and their order untouched.

    `dicom_id` may be empty or list all films of the study; `original_sentence` is null where the
    error is an inserted sentence. What is not asked about is dropped by the sampling, with a count.
    """
    import polars as pl

    table = read_table(Path(path), tuple(sentence_schema()))
    filled(table, "study_id", "subject_id")
    present = codes(table, "error_present", _PRESENT, "it is 0, 1, 2 or empty", pl.Int8)
    ids = {name: identifiers(table.frame[name]) for name in ("study_id", "subject_id")}
    columns = {name: table.frame[name] for name in sentence_schema()} | ids
    return pl.DataFrame(columns | {"error_present": present}, schema=dict(sentence_schema()))
