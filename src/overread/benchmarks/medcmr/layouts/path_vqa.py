"""PathVQA: pathology from textbooks and a digital library.

The Hugging Face form is a parquet file with image, question and answer; else a csv, JSON list or
JSON lines with the same columns, where `image` is a file of a folder `images/`, with or without
its suffix. Since other sets have these columns too, the path must also hold the set's name. All
items are of pathology. Answers of yes or no make a question with these two options.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from overread.benchmarks.medcmr.edition import Options
from overread.benchmarks.medcmr.gathering import Loaded, Stated, below, gather
from overread.benchmarks.medcmr.layouts import pictured
from overread.benchmarks.medcmr.layouts.finding import (
    Layout,
    Set,
    fields_of,
    images_below,
    one_of,
    records_of,
    sets_in,
)
from overread.benchmarks.medcmr.layouts.stating import MODALITY_PATHOLOGY, free, text_of

__all__ = ["LAYOUT"]

_NEEDED: Final = ("image", "question", "answer")
# Columns that PathVQA has not: a set of one's own is read as such.
_OTHERS: Final = frozenset({"options", "A", "kind", "dimension", "caption", "case_id"})
_NAMES: Final = ("pathvqa", "pvqa")
_IMAGES: Final = ("images", "images/test", "images/val", "images/train", "")


def find(path: Path) -> Set | None:
    if not _named(path):
        return None
    found = pictured.find(path)
    if found is not None:
        return found
    files = sets_in(path, (".csv", ".json", ".jsonl"), _NEEDED)
    files = [file for file in files if not fields_of(file) & _OTHERS]
    if not files:
        return None
    file, remarks = one_of(files, path)
    return Set((file,), file.parent, remarks)


def _named(path: Path) -> bool:
    """Whether the file or one of the three folders above it is called after the set."""
    parts = path.absolute().parts[-4:]
    plain = (re.sub(r"[\W_]+", "", part.casefold()) for part in parts)
    return any(name in part for part in plain for name in _NAMES)


def load(found: Set, root: Path, options: Options, seen: bool) -> Loaded:
    (file,) = found.files
    if file.suffix.lower() == ".parquet":
        return pictured.load(found, root, seen, MODALITY_PATHOLOGY)
    return gather(_stated(file, root), root, seen=seen, remarks=found.remarks)


def _stated(file: Path, root: Path) -> Iterator[Stated]:
    items = list(records_of(file, _NEEDED))
    named = [text_of(record, "image").strip() for _, record in items]
    images = [name if not name or Path(name).suffix else f"{name}.jpg" for name in named]
    folder = images_below(root, images, _IMAGES)
    for index, (where, record) in enumerate(items, start=1):
        image = images[index - 1]
        yield (
            where,
            free(
                str(index),
                index,
                text_of(record, "question"),
                text_of(record, "answer"),
                images=(below(folder, image),) if image else (),
                modality=MODALITY_PATHOLOGY,
            ),
        )


LAYOUT: Final = Layout("PathVQA", find, load)
