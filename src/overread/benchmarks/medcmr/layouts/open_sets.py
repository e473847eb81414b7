"""Published sets of open and yes-no questions: PathVQA, SLAKE, VQA-RAD."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from overread.benchmarks.medcmr.edition import Options
from overread.benchmarks.medcmr.gathering import Loaded, Stated, below, gather
from overread.benchmarks.medcmr.layouts import set_files
from overread.benchmarks.medcmr.layouts.set_files import (
    MODALITY_PATHOLOGY,
    Layout,
    Set,
    fields_of,
    free,
    images_below,
    modality_named,
    names_of,
    one_of,
    records_of,
    sets_in,
    text_of,
)

__all__ = [
    "PATH_VQA",
    "SLAKE",
    "VQA_RAD",
]


# ---------------------------------------------------------------- PathVQA
# PathVQA: pathology from textbooks and a digital library.
#
# The Hugging Face form is a parquet file with image, question and answer; else a csv, JSON list or
# JSON lines with the same columns, where `image` is a file of a folder `images/`, with or without
# its suffix. Since other sets have these columns too, the path must also hold the set's name. All
# items are of pathology. Answers of yes or no make a question with these two options.

_PATH_VQA_FIELDS: Final = ("image", "question", "answer")
# Columns that PathVQA has not: a set of one's own is read as such.
_NOT_PATH_VQA: Final = frozenset({"options", "A", "kind", "dimension", "caption", "case_id"})
_PATH_VQA_NAMES: Final = ("pathvqa", "pvqa")
_PATH_VQA_FOLDERS: Final = ("images", "images/test", "images/val", "images/train", "")


def find_path_vqa(path: Path) -> Set | None:
    if not _named_path_vqa(path):
        return None
    found = set_files.find_pictured(path)
    if found is not None:
        return found
    files = sets_in(path, (".csv", ".json", ".jsonl"), _PATH_VQA_FIELDS)
    files = [file for file in files if not fields_of(file) & _NOT_PATH_VQA]
    if not files:
        return None
    file, remarks = one_of(files, path)
    return Set((file,), file.parent, remarks)


def _named_path_vqa(path: Path) -> bool:
    """Whether the file or one of the three folders above it is called after the set."""
    parts = path.absolute().parts[-4:]
    plain = (re.sub(r"[\W_]+", "", part.casefold()) for part in parts)
    return any(name in part for part in plain for name in _PATH_VQA_NAMES)


def load_path_vqa(found: Set, root: Path, options: Options, seen: bool) -> Loaded:
    (file,) = found.files
    if file.suffix.lower() == ".parquet":
        return set_files.load_pictured(found, root, seen, MODALITY_PATHOLOGY)
    return gather(_path_vqa_items(file, root), root, seen=seen, remarks=found.remarks)


def _path_vqa_items(file: Path, root: Path) -> Iterator[Stated]:
    items = list(records_of(file, _PATH_VQA_FIELDS))
    named = [text_of(record, "image").strip() for _, record in items]
    images = [name if not name or Path(name).suffix else f"{name}.jpg" for name in named]
    folder = images_below(root, images, _PATH_VQA_FOLDERS)
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


PATH_VQA: Final = Layout("PathVQA", _PATH_VQA_FIELDS, find_path_vqa, load_path_vqa)


# ---------------------------------------------------------------- SLAKE
# SLAKE: questions in English and Chinese about slices and radiographs.
#
# A JSON list (`test.json`: img_name, question, answer, q_lang, location, modality, answer_type,
# content_type, qid) beside `imgs/<img_name>`. `language` keeps the items of one language; all are
# kept by default. Closed questions answered by yes or no have these two options; other closed ones
# (`left`, `CT`) are open, for the set lists no options.
#
# `q_lang` is the language, `modality` the modality, `location` the system as given, and
# `content_type` (Organ, Abnormality, ...) the subtype.

_SLAKE_FIELDS: Final = ("img_name", "question", "answer", "q_lang", "answer_type")
_SLAKE_FOLDERS: Final = ("imgs", "images", "")


def find_slake(path: Path) -> Set | None:
    found = sets_in(path, (".json",), _SLAKE_FIELDS)
    if not found:
        return None
    file, remarks = one_of(found, path)
    return Set((file,), file.parent, remarks)


def load_slake(found: Set, root: Path, options: Options, seen: bool) -> Loaded:
    stated = _slake_items(found.files[0], root, options.language)
    return gather(stated, root, seen=seen, remarks=found.remarks)


def _slake_items(file: Path, root: Path, language: str) -> Iterator[Stated]:
    items = list(records_of(file, _SLAKE_FIELDS))
    images = [text_of(record, "img_name").strip() for _, record in items]
    folder = images_below(root, images, _SLAKE_FOLDERS)
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


SLAKE: Final = Layout("SLAKE", _SLAKE_FIELDS, find_slake, load_slake)


# ---------------------------------------------------------------- VQA-RAD
# VQA-RAD: radiographs and slices, questions by clinicians.
#
# The official form is one JSON list (`VQA_RAD Dataset Public.json`: qid, image_name, image_organ,
# answer, answer_type, question_type, question) beside a folder of images; the Hugging Face form a
# parquet file with image, question and answer. Questions that are closed and answered by yes or no
# have these two options; without an answer_type every answer of yes or no is closed.
#
# `question_type` (PRES, MODALITY, ...) is the subtype and `image_organ` (HEAD, CHEST, ABD) the
# system, both as given; the modality is not stated.

_VQA_RAD_FIELDS: Final = ("image_name", "question", "answer", "answer_type", "image_organ")
_VQA_RAD_FOLDERS: Final = ("VQA_RAD Image Folder", "images", "imgs", "")


def find_vqa_rad(path: Path) -> Set | None:
    found = sets_in(path, (".json",), _VQA_RAD_FIELDS)
    if found:
        file, remarks = one_of(found, path)
        return Set((file,), file.parent, remarks)
    return set_files.find_pictured(path)


def load_vqa_rad(found: Set, root: Path, options: Options, seen: bool) -> Loaded:
    (file,) = found.files
    if file.suffix.lower() == ".parquet":
        return set_files.load_pictured(found, root, seen)
    return gather(_vqa_rad_items(file, root), root, seen=seen, remarks=found.remarks)


def _vqa_rad_items(file: Path, root: Path) -> Iterator[Stated]:
    items = list(records_of(file, _VQA_RAD_FIELDS))
    images = [text_of(record, "image_name").strip() for _, record in items]
    folder = images_below(root, images, _VQA_RAD_FOLDERS)
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


VQA_RAD: Final = Layout("VQA-RAD", _VQA_RAD_FIELDS, find_vqa_rad, load_vqa_rad)
