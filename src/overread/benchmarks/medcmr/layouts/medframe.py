"""MedFrameQA: several frames of teaching videos in one question.

JSON lines or a JSON list with question, options (a list of texts), correct_answer (a letter, or
the text of an option) and image_1 to image_5, files below the set's folder.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Final

from overread.benchmarks.left import Left
from overread.benchmarks.medcmr.gathering import Stated, below
from overread.benchmarks.medcmr.layouts.finding import (
    Layout,
    Set,
    images_below,
    loader,
    one_of,
    records_of,
    sets_in,
)
from overread.benchmarks.medcmr.layouts.stating import choice, modality_named, names_of, text_of

__all__ = ["LAYOUT"]

_NEEDED: Final = ("question", "options", "correct_answer", "image_1")
_FRAMES: Final = tuple(f"image_{number}" for number in range(1, 6))


def find(path: Path) -> Set | None:
    found = sets_in(path, (".json", ".jsonl"), _NEEDED)
    if not found:
        return None
    file, remarks = one_of(found, path)
    return Set((file,), file.parent, remarks)


def _stated(file: Path, root: Path) -> Iterator[Stated]:
    items = list(records_of(file, _NEEDED))
    frames = [
        [text for text in (text_of(record, name).strip() for name in _FRAMES) if text]
        for _, record in items
    ]
    folder = images_below(root, [name for names in frames for name in names], ("", "images"))
    named = names_of([record for _, record in items], "question_id")
    for index, (where, record) in enumerate(items, start=1):
        given, case_id = record.get("options"), named[index - 1]
        if not isinstance(given, list) or not all(isinstance(text, str) for text in given):
            yield where, Left(case_id, f"{where}: options are a list of texts")
            continue
        yield (
            where,
            choice(
                where,
                case_id,
                index,
                text_of(record, "question"),
                text_of(record, "correct_answer"),
                given,
                images=tuple(below(folder, name) for name in frames[index - 1]),
                modality=modality_named(text_of(record, "modality")),
            ),
        )


LAYOUT: Final = Layout("MedFrameQA", find, loader(_stated))
