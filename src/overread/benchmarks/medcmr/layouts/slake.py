"""SLAKE: questions in English and Chinese about slices and radiographs.

A JSON list (`test.json`: img_name, question, answer, q_lang, location, modality, answer_type,
content_type, qid) beside `imgs/<img_name>`. `language` keeps the items of one language; all are
kept by default. Closed questions answered by yes or no have these two options; other closed ones
(`left`, `CT`) are open, for the set lists no options.

`q_lang` is the language, `modality` the modality, `location` the system as given, and
`content_type` (Organ, Abnormality, ...) the subtype.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Final

from overread.benchmarks.medcmr.edition import Options
from overread.benchmarks.medcmr.gathering import Loaded, Stated, below, gather
from overread.benchmarks.medcmr.layouts.finding import (
    Layout,
    Set,
    images_below,
    one_of,
    records_of,
    sets_in,
)
from overread.benchmarks.medcmr.layouts.stating import free, modality_named, names_of, text_of

__all__ = ["LAYOUT"]

_NEEDED: Final = ("img_name", "question", "answer", "q_lang", "answer_type")
_IMAGES: Final = ("imgs", "images", "")


def find(path: Path) -> Set | None:
    found = sets_in(path, (".json",), _NEEDED)
    if not found:
        return None
    file, remarks = one_of(found, path)
    return Set((file,), file.parent, remarks)


def load(found: Set, root: Path, options: Options, seen: bool) -> Loaded:
    stated = _stated(found.files[0], root, options.language)
    return gather(stated, root, seen=seen, remarks=found.remarks)


def _stated(file: Path, root: Path, language: str) -> Iterator[Stated]:
    items = list(records_of(file, _NEEDED))
    images = [text_of(record, "img_name").strip() for _, record in items]
    folder = images_below(root, images, _IMAGES)
    named = names_of([record for _, record in items], "qid")
    for index, (where, record) in enumerate(items, start=1):
        spoken = text_of(record, "q_lang").strip().lower()
        if language not in ("all", spoken):
            continue
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
                language=spoken or None,
                modality=modality_named(text_of(record, "modality")),
                system=text_of(record, "location").strip() or None,
                subtype=text_of(record, "content_type").strip() or None,
            ),
        )


LAYOUT: Final = Layout("SLAKE", find, load)
