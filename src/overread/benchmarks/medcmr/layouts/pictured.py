"""Hugging Face parquet files with the pictures inside: image, question, answer.

The form in which VQA-RAD and PathVQA are handed on. An image is called by its row, from 0. Nothing
says which questions are closed, so that every answer of yes or no makes one with these options.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Final

from overread.benchmarks.medcmr.gathering import Loaded, Stated, gather
from overread.benchmarks.medcmr.layouts.finding import Set, fields_of, one_of, records_of, sets_in
from overread.benchmarks.medcmr.layouts.stating import free, text_of

__all__ = ["find", "load"]

_NEEDED: Final = ("image", "question", "answer")
# A set with options must not be asked without them.
_OPTIONS: Final = frozenset({"options", "choices", "option_A", "Choice A", "A"})


def find(path: Path) -> Set | None:
    """The one such file at a path; its images stand in the file itself."""
    found = [
        file
        for file in sets_in(path, (".parquet",), _NEEDED)
        if not fields_of(file) & _OPTIONS and _holds_pictures(file)
    ]
    if not found:
        return None
    file, remarks = one_of(found, path)
    return Set((file,), file, remarks)


def _holds_pictures(file: Path) -> bool:
    import polars as pl

    kind = pl.read_parquet_schema(file)["image"]
    return isinstance(kind, pl.Struct) and any(field.name == "bytes" for field in kind.fields)


def load(found: Set, root: Path, seen: bool, modality: str | None = None) -> Loaded:
    """The rows as cases, all of one modality where the set has but one."""
    return gather(_stated(found.files[0], modality), root, seen=seen, remarks=found.remarks)


def _stated(file: Path, modality: str | None) -> Iterator[Stated]:
    for row, (where, record) in enumerate(records_of(file, _NEEDED)):
        question, answer = text_of(record, "question"), text_of(record, "answer")
        yield (
            where,
            free(str(row + 1), row + 1, question, answer, images=(str(row),), modality=modality),
        )
