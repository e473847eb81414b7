"""Items of M3CoTBench as it is published: `M3CoTBench.xlsx`, `type.xlsx`, `images/` (M3COT 1)."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final, TypeAlias

from overread.benchmarks.left import Left
from overread.benchmarks.m3cot.cases import STEPS, TASKS, M3Case, Step, kind_of
from overread.benchmarks.m3cot.workbook import sheet_of
from overread.case import BadInput

__all__ = ["ITEMS", "STEP_COLUMNS", "find_items", "is_empty", "load", "task_of"]

ITEMS: Final = "M3CoTBench.xlsx"
TYPES: Final = "type.xlsx"
IMAGES: Final = "images"
# The README says `datasets`, most scripts `dataset`.
FOLDERS: Final = ("", "dataset", "datasets")
# In the order the authors' code tries them.
SUFFIXES: Final = (".jpg", ".png", ".jpeg", ".webp")
# The gold path, in the order of `STEPS`.
STEP_COLUMNS: Final = ("modality", "feature", "key_conclusion", "additional_analysis")
_LABEL: Final = "analysis_type"
_INDEX: Final = re.compile(r"[0-9]{1,9}")
# The words pandas takes for an empty cell, and with it the authors' code.
_EMPTY: Final = frozenset(
    {"#N/A N/A", "#NA", "-1.#IND", "-1.#QNAN", "-NaN", "-nan", "1.#IND", "1.#QNAN", "<NA>"}
    | {"N/A", "NA", "NULL", "NaN", "None", "n/a", "nan", "null", ""}
)


def find_items(folder: Path) -> Path | None:
    """The file of items in a folder, or in `dataset/` or `datasets/` below it."""
    places = (folder / name / ITEMS for name in FOLDERS)
    return next((place for place in places if place.is_file()), None)


def load(items: Path, root: Path, *, seen: bool = True) -> tuple[list[M3Case], list[Left]]:
    """The items in the order of their index, and those that cannot be asked about.

    Rows go by the column `index`, which must be 1 to N. `type.xlsx` may stand beside the items or
    one folder off; images stand below `root`. An item without question, answer, gold step, task or
    image is left out, with the row or file named. Unless anybody is to see them (`seen`), images
    may be absent.
    """
    rows = _items(items)
    tasks = _tasks(items, rows)
    images = _images(root) if seen else {index: f"{IMAGES}/{index}.png" for index in rows}
    cases: list[M3Case] = []
    left: list[Left] = []
    for index, (line, cells) in rows.items():
        steps = tuple(
            Step(kind, cells[column].strip())
            for kind, column in zip(STEPS, STEP_COLUMNS, strict=True)
            if not is_empty(cells[column])
        )
        found = tasks.get(index)
        image = images.get(index)
        lack = _lack(cells, steps, found, image, root)
        if lack is not None or found is None or image is None:
            left.append(Left(str(index), f"{items.name} row {line}: {lack}"))
            continue
        question = cells["question"]
        case = M3Case(
            case_id=str(index),
            index=index,
            question=question,
            answer=cells["answer"].strip(),
            kind=kind_of(question),
            task=found,
            image=image,
            steps=steps,
        )
        cases.append(case)
    return cases, left


def is_empty(text: str) -> bool:
    """Whether a cell holds nothing, as pandas reads it."""
    return text.strip() in _EMPTY


def task_of(label: str) -> str | None:
    """The paper's name of a label; its own names are known too."""
    if label in TASKS:
        return TASKS[label]
    return label if label in TASKS.values() else None


def _lack(
    cells: Mapping[str, str],
    steps: Sequence[Step],
    task: str | None,
    image: str | None,
    root: Path,
) -> str | None:
    """What an item lacks."""
    for column in ("question", "answer"):
        if not cells[column].strip():
            return f"{column} is empty"
    if not steps:
        return f"no gold step: {', '.join(STEP_COLUMNS)} are all empty"
    if task is None:
        return f"{TYPES} names no task for its index"
    if image is None:
        named = "/".join((IMAGES, cells["index"].strip()))
        return f"there is no image {named} ({' '.join(SUFFIXES)}) below {root}"
    return None


Rows: TypeAlias = dict[int, tuple[int, dict[str, str]]]


def _items(path: Path) -> Rows:
    """Rows of the items by their index, which is 1 to N: a gap is an item somebody lost."""
    found = _by_index(path, ("index", "question", "answer", *STEP_COLUMNS))
    missing = next((number for number in range(1, len(found) + 1) if number not in found), None)
    if missing is not None:
        raise BadInput(
            f"{path.name}: there is no row of index {missing}, and there are {len(found)} rows up "
            f"to index {max(found)}; an index is 1 to N. Fetch the file again; a part of it can be "
            "given as csv."
        )
    return {index: found[index] for index in sorted(found)}


def _by_index(path: Path, needed: Sequence[str]) -> Rows:
    """(row, cells) of a sheet by index, each once."""
    found: Rows = {}
    for line, cells in sheet_of(path, needed):
        index = _index(path, line, cells["index"])
        if index in found:
            raise BadInput(
                f"{path.name} row {line}: index {index} stands in row {found[index][0]} already. "
                "Fetch the file again, or keep one of the rows."
            )
        found[index] = (line, cells)
    if not found:
        raise BadInput(f"{path} has a header and no rows. Fetch it again.")
    return found


def _index(path: Path, line: int, text: str) -> int:
    word = text.strip()
    if not _INDEX.fullmatch(word) or int(word) < 1:
        shown = " ".join(word.split())[:40]
        raise BadInput(
            f'{path.name} row {line}: index is "{shown}"; it is a whole number from 1. Fix the row.'
        )
    return int(word)


def _tasks(items: Path, rows: Rows) -> dict[int, str]:
    """The task of each index, by `type.xlsx`; else by a column of the items, if there is one."""
    home = items.parent
    near = [home, *(home / name for name in FOLDERS[1:])]
    if home.name in FOLDERS:
        near += [home.parent / name for name in FOLDERS]
    path = next((place / TYPES for place in near if (place / TYPES).is_file()), None)
    if path is not None:
        rows = _by_index(path, ("index", _LABEL))
    elif any(_LABEL in cells for _, cells in rows.values()):
        path = items
    else:
        raise BadInput(
            f"{home}: there is no {TYPES}, which says what task an item is of. Fetch it from the "
            "authors' repository (inference/datasets) and put it there."
        )
    return {
        index: _task(path, line, cells[_LABEL])
        for index, (line, cells) in rows.items()
        if cells[_LABEL].strip()
    }


def _task(path: Path, line: int, label: str) -> str:
    task = task_of(label.strip())
    if task is None:
        shown = " ".join(label.split())[:40]
        raise BadInput(
            f'{path.name} row {line}: {_LABEL} is "{shown}"; it is one of {", ".join(TASKS)}. '
            "Fix the row."
        )
    return task


def _images(root: Path) -> dict[int, str]:
    """The image of each index, below the root: the first suffix the authors' code would find."""
    found: dict[int, str] = {}
    for name in FOLDERS:
        folder = root / name / IMAGES
        try:
            there = {path.name for path in folder.iterdir()}
        except (FileNotFoundError, NotADirectoryError):
            continue
        except OSError as error:
            raise BadInput(f"{folder} cannot be read: {error.strerror}.") from None
        for suffix in SUFFIXES:
            for file in there:
                stem = file.removesuffix(suffix)
                plain = stem != file and _INDEX.fullmatch(stem) and stem == str(int(stem))
                if plain and (folder / file).is_file():
                    place = "/".join(part for part in (name, IMAGES, file) if part)
                    found.setdefault(int(stem), place)
    return found
