"""VQA-RAD: radiographs and slices, questions by clinicians.

The official form is one JSON list (`VQA_RAD Dataset Public.json`: qid, image_name, image_organ,
answer, answer_type, question_type, question) beside a folder of images; the Hugging Face form a
parquet file with image, question and answer. Questions that are closed and answered by yes or no
have these two options; without an answer_type every answer of yes or no is closed.

`question_type` (PRES, MODALITY, ...) is the subtype and `image_organ` (HEAD, CHEST, ABD) the
system, both as given; the modality is not stated.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Final

from overread.benchmarks.medcmr.edition import Options
from overread.benchmarks.medcmr.gathering import Loaded, Stated, below, gather
from overread.benchmarks.medcmr.layouts import pictured
from overread.benchmarks.medcmr.layouts.finding import (
    Layout,
    Set,
    images_below,
    one_of,
    records_of,
    sets_in,
)
from overread.benchmarks.medcmr.layouts.stating import free, names_of, text_of

__all__ = ["LAYOUT"]

_NEEDED: Final = ("image_name", "question", "answer", "answer_type", "image_organ")
_IMAGES: Final = ("VQA_RAD Image Folder", "images", "imgs", "")


def find(path: Path) -> Set | None:
    found = sets_in(path, (".json",), _NEEDED)
    if found:
        file, remarks = one_of(found, path)
        return Set((file,), file.parent, remarks)
    return pictured.find(path)


def load(found: Set, root: Path, options: Options, seen: bool) -> Loaded:
    (file,) = found.files
    if file.suffix.lower() == ".parquet":
        return pictured.load(found, root, seen)
    return gather(_stated(file, root), root, seen=seen, remarks=found.remarks)


def _stated(file: Path, root: Path) -> Iterator[Stated]:
    items = list(records_of(file, _NEEDED))
    images = [text_of(record, "image_name").strip() for _, record in items]
    folder = images_below(root, images, _IMAGES)
    named = names_of([record for _, record in items], "qid")
    for index, (where, record) in enumerate(items, start=1):
        image = images[index - 1]
        yield (
            where,
            free(
                named[index - 1],
                index,
                text_of(record, "question"),
                text_of(record, "answer"),
                closed=text_of(record, "answer_type").strip().upper() == "CLOSED",
                images=(below(folder, image),) if image else (),
                subtype=text_of(record, "question_type").strip() or None,
                system=text_of(record, "image_organ").strip() or None,
            ),
        )


LAYOUT: Final = Layout("VQA-RAD", find, load)
