"""MedXpertQA, the multimodal part: expert examinations with several images and five options.

JSON lines or parquet (`MM/test.jsonl`: id, question, options by letter, label, images,
medical_task, body_system, question_type) and a folder `images/`. The question repeats the options
at its end (`Answer Choices: (A) ...`); that part is cut off where it holds every option, so that
options stand where the protocol puts them, and a question asked openly does not give them away.

`medical_task` is the ability (Diagnosis is DX), `body_system` the system, `question_type`
(Reasoning, Understanding) the subtype.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from overread.benchmarks.left import Left
from overread.benchmarks.medcmr.cases import LETTERS, MedCase
from overread.benchmarks.medcmr.gathering import Stated, below, same_text
from overread.benchmarks.medcmr.layouts.finding import (
    Layout,
    Set,
    images_below,
    loader,
    one_of,
    records_of,
    sets_in,
)
from overread.benchmarks.medcmr.layouts.stating import choice, names_of, text_of
from overread.benchmarks.medcmr.vocabulary import ability_of, system_of

__all__ = ["LAYOUT"]

_NEEDED: Final = ("question", "options", "label", "images")
_IMAGES: Final = ("images", "")


def find(path: Path) -> Set | None:
    found = sets_in(path, (".jsonl", ".parquet", ".json"), _NEEDED)
    if not found:
        return None
    file, remarks = one_of(found, path)
    # Images stand beside the folder MM.
    home = file.absolute().parent
    beside = (home / "images").is_dir() or not (home.parent / "images").is_dir()
    return Set((file,), home if beside else home.parent, remarks)


def _stated(file: Path, root: Path) -> Iterator[Stated]:
    items = list(records_of(file, _NEEDED))
    images = [_images(record) for _, record in items]
    folder = images_below(root, [name for names in images for name in names], _IMAGES)
    named = names_of([record for _, record in items], "id")
    for index, (where, record) in enumerate(items, start=1):
        yield where, _case(where, named[index - 1], index, record, folder, images[index - 1])


def _images(record: Mapping[str, Any]) -> tuple[str, ...]:
    given = record.get("images")
    names = given if isinstance(given, list) else [given]
    return tuple(name.strip() for name in names if isinstance(name, str) and name.strip())


def _case(
    where: str,
    case_id: str,
    index: int,
    record: Mapping[str, Any],
    folder: str,
    images: Sequence[str],
) -> MedCase | Left:
    options = _options(record.get("options"))
    if options is None:
        return Left(case_id, f"{where}: options are texts by their letters, from A without a gap")
    task, system = text_of(record, "medical_task").strip(), text_of(record, "body_system").strip()
    return choice(
        where,
        case_id,
        index,
        _stem(text_of(record, "question"), options),
        text_of(record, "label"),
        options,
        texts=False,
        images=tuple(below(folder, name) for name in images),
        ability=ability_of(task) or task or None,
        system=system_of(system) or system or None,
        subtype=text_of(record, "question_type").strip() or None,
    )


def _options(given: Any) -> list[str] | None:
    """The texts in the order of their letters; None of anything else."""
    if not isinstance(given, dict):
        return None
    # Of a parquet file, letters that an item has not are there and empty.
    kept = {str(letter).strip(): text for letter, text in given.items() if text is not None}
    letters = sorted(kept)
    if "".join(letters) != LETTERS[: len(letters)] or not letters:
        return None
    texts = [kept[letter] for letter in letters]
    plain = all(isinstance(text, str | int | float) for text in texts)
    return [str(text) for text in texts] if plain else None


def _stem(question: str, options: Sequence[str]) -> str:
    """The question without the list of options at its end."""
    marks = list(re.finditer(r"\s*\bAnswer Choices\s*:", question, re.IGNORECASE))
    if not marks:
        return question
    tail = same_text(question[marks[-1].end() :])
    whole = all(same_text(text) in tail for text in options)
    return question[: marks[-1].start()] if whole else question


LAYOUT: Final = Layout("MedXpertQA", find, loader(_stated))
