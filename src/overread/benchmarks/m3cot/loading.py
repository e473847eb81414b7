"""Cases from whatever lies at a path: the published set, or a csv or JSON lines of one's own.

M3CoTBench as it is published is `M3CoTBench.xlsx`, `type.xlsx` and `images/` (M3COT 1).

A set of one's own has the columns or fields `question`, `answer`, `image` (below the data root),
`task`; the steps; and, if they are known, `case_id`, `kind` (single, multiple, bool, short),
`patient` and `examination`. Steps stand in the columns or fields modality, feature, key_conclusion
and additional_analysis, of which some may be missing, or in one, `steps`, as JSON. There they are a
list of up to four texts by place, `["CT", null, "stroke"]`, or of up to 20 objects in their order,
`[{"type": "modality", "text": "CT"}]`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, NoReturn, TypeAlias

import msgspec

from overread.benchmarks.base import Left
from overread.benchmarks.files.card import Held, held_at, policy_of
from overread.benchmarks.files.jsonl import lines_of
from overread.benchmarks.files.sheets import rows_of
from overread.benchmarks.files.workbook import sheet_of
from overread.benchmarks.m3cot.cases import (
    KINDS,
    STEPS,
    TASKS,
    Kind,
    M3Case,
    Step,
    StepType,
    kind_of,
)
from overread.benchmarks.m3cot.edition import Options
from overread.case import BadInput, Policy, Source

__all__ = [
    "ITEMS_FILE",
    "OWN_SUFFIXES",
    "STEP_COLUMNS",
    "find_items",
    "find_own_set",
    "is_empty",
    "load",
    "load_official",
    "load_own_set",
    "policy_at",
    "root_of",
    "task_of",
]

ITEMS_FILE: Final = "M3CoTBench.xlsx"
TYPES_FILE: Final = "type.xlsx"
IMAGE_FOLDER: Final = "images"
# The README says `datasets`, most scripts `dataset`.
DATA_FOLDERS: Final = ("", "dataset", "datasets")
# In the order the authors' code tries them.
IMAGE_SUFFIXES: Final = (".jpg", ".png", ".jpeg", ".webp")
# The gold path, in the order of `STEPS`.
STEP_COLUMNS: Final = ("modality", "feature", "key_conclusion", "additional_analysis")
_LABEL: Final = "analysis_type"
_INDEX_WORD: Final = re.compile(r"[0-9]{1,9}")
# The words pandas takes for an empty cell, and with it the authors' code.
_EMPTY: Final = frozenset(
    {"#N/A N/A", "#NA", "-1.#IND", "-1.#QNAN", "-NaN", "-nan", "1.#IND", "1.#QNAN", "<NA>"}
    | {"N/A", "NA", "NULL", "NaN", "None", "n/a", "nan", "null", ""}
)


def find_items(folder: Path) -> Path | None:
    """The file of items in a folder, or in `dataset/` or `datasets/` below it."""
    places = (folder / name / ITEMS_FILE for name in DATA_FOLDERS)
    return next((place for place in places if place.is_file()), None)


def load_official(items: Path, root: Path, *, seen: bool = True) -> tuple[list[M3Case], list[Left]]:
    """The items in the order of their index, and those that cannot be asked about.

    Rows go by the column `index`, which must be 1 to N. `type.xlsx` may stand beside the items or
    one folder off; images stand below `root`. An item without question, answer, gold step, task or
    image is left out, with the row or file named. Unless anybody is to see them (`seen`), images
    may be absent.
    """
    rows = _rows_of_items(items)
    tasks = _tasks_by_index(items, rows)
    images = (
        _images_by_index(root) if seen else {index: f"{IMAGE_FOLDER}/{index}.png" for index in rows}
    )
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
        return f"{TYPES_FILE} names no task for its index"
    if image is None:
        named = "/".join((IMAGE_FOLDER, cells["index"].strip()))
        return f"there is no image {named} ({' '.join(IMAGE_SUFFIXES)}) below {root}"
    return None


RowsByIndex: TypeAlias = dict[int, tuple[int, dict[str, str]]]


def _rows_of_items(path: Path) -> RowsByIndex:
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


def _by_index(path: Path, needed: Sequence[str]) -> RowsByIndex:
    """(row, cells) of a sheet by index, each once."""
    found: RowsByIndex = {}
    for line, cells in sheet_of(path, needed):
        index = _index_in(path, line, cells["index"])
        if index in found:
            raise BadInput(
                f"{path.name} row {line}: index {index} stands in row {found[index][0]} already. "
                "Fetch the file again, or keep one of the rows."
            )
        found[index] = (line, cells)
    if not found:
        raise BadInput(f"{path} has a header and no rows. Fetch it again.")
    return found


def _index_in(path: Path, line: int, text: str) -> int:
    word = text.strip()
    if not _INDEX_WORD.fullmatch(word) or int(word) < 1:
        shown = " ".join(word.split())[:40]
        raise BadInput(
            f'{path.name} row {line}: index is "{shown}"; it is a whole number from 1. Fix the row.'
        )
    return int(word)


def _tasks_by_index(items: Path, rows: RowsByIndex) -> dict[int, str]:
    """The task of each index, by `type.xlsx`; else by a column of the items, if there is one."""
    home = items.parent
    near = [home, *(home / name for name in DATA_FOLDERS[1:])]
    if home.name in DATA_FOLDERS:
        near += [home.parent / name for name in DATA_FOLDERS]
    path = next((place / TYPES_FILE for place in near if (place / TYPES_FILE).is_file()), None)
    if path is not None:
        rows = _by_index(path, ("index", _LABEL))
    elif any(_LABEL in cells for _, cells in rows.values()):
        path = items
    else:
        raise BadInput(
            f"{home}: there is no {TYPES_FILE}, which says what task an item is of. Fetch it from "
            "the authors' repository (inference/datasets) and put it there."
        )
    return {
        index: _known_task(path, line, cells[_LABEL])
        for index, (line, cells) in rows.items()
        if cells[_LABEL].strip()
    }


def _known_task(path: Path, line: int, label: str) -> str:
    task = task_of(label.strip())
    if task is None:
        shown = " ".join(label.split())[:40]
        raise BadInput(
            f'{path.name} row {line}: {_LABEL} is "{shown}"; it is one of {", ".join(TASKS)}. '
            "Fix the row."
        )
    return task


def _images_by_index(root: Path) -> dict[int, str]:
    """The image of each index, below the root: the first suffix the authors' code would find."""
    found: dict[int, str] = {}
    for name in DATA_FOLDERS:
        folder = root / name / IMAGE_FOLDER
        try:
            there = {path.name for path in folder.iterdir()}
        except (FileNotFoundError, NotADirectoryError):
            continue
        except OSError as error:
            raise BadInput(f"{folder} cannot be read: {error.strerror}.") from None
        for suffix in IMAGE_SUFFIXES:
            for file in there:
                stem = file.removesuffix(suffix)
                plain = stem != file and _INDEX_WORD.fullmatch(stem) and stem == str(int(stem))
                if plain and (folder / file).is_file():
                    place = "/".join(part for part in (name, IMAGE_FOLDER, file) if part)
                    found.setdefault(int(stem), place)
    return found


OWN_SUFFIXES: Final = (".csv", ".jsonl")
OWN_COLUMNS: Final = ("question", "answer", "image", "task")
# What a type of step may be called: ours, and the official columns.
_STEP_TYPES: Final[Mapping[str, StepType]] = {
    **dict(zip(STEP_COLUMNS, STEPS, strict=True)),
    **{kind: kind for kind in STEPS},
}
_MOST_STEPS: Final = 20
_STEPS_ARE: Final = (
    "a JSON list of up to 4 texts (modality, feature, conclusion, analysis; null where there is "
    'none) or of up to 20 objects such as {"type": "modality", "text": "CT"}'
)


def find_own_set(folder: Path) -> Path | None:
    """The one csv or jsonl of a folder that has questions and answers; None where none has."""
    listed = sorted(path for path in folder.iterdir() if path.suffix.lower() in OWN_SUFFIXES)
    found = [path for path in listed if path.is_file() and _has_questions(path)]
    if len(found) > 1:
        named = ", ".join(path.name for path in found)
        raise BadInput(f"{folder}: {named} all have questions and answers. Give one of them.")
    return found[0] if found else None


def _has_questions(path: Path) -> bool:
    try:
        first = next(_own_rows(path), None)
    except BadInput:
        return False
    return first is not None and all(name in first[1] for name in OWN_COLUMNS)


def load_own_set(path: Path, root: Path, *, seen: bool = True) -> tuple[list[M3Case], list[Left]]:
    """Items in their order, and those whose image is not there; any other fault names its line.

    Unless anybody is to see them (`seen`), images may be absent.
    """
    from overread.imaging import locate

    cases: list[M3Case] = []
    left: list[Left] = []
    taken: dict[str, int] = {}
    for index, (line, fields) in enumerate(_own_rows(path), start=1):
        case = _OwnRow(path, line, fields).case(index)
        first = taken.setdefault(case.case_id, line)
        if first != line:
            raise BadInput(
                f'{path.name} line {line}: the case "{case.case_id}" stands in line {first} '
                "already. Give each item its own case_id."
            )
        try:
            if seen:
                locate(Source(str(root), case.image))
        except BadInput as error:
            left.append(Left(case.case_id, f"{path.name} line {line}: {str(error).rstrip('.')}"))
        else:
            cases.append(case)
    if not taken:
        raise BadInput(f"{path} has no rows. Give a row for each question.")
    return cases, left


def _own_rows(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    return lines_of(path) if path.suffix.lower() == ".jsonl" else iter(rows_of(path, OWN_COLUMNS))


class _OwnRow(msgspec.Struct):
    """A row; every complaint names its file and line."""

    path: Path
    line: int
    fields: dict[str, Any]

    def case(self, index: int) -> M3Case:
        question, answer, image, task = (self.text(name) for name in OWN_COLUMNS)
        for name, text in zip(OWN_COLUMNS, (question, answer, image, task), strict=True):
            if not text.strip():
                self.wrong(name, "every row needs one")
        return M3Case(
            case_id=self.text("case_id").strip() or str(index),
            index=index,
            question=question,
            answer=answer.strip(),
            kind=self.kind(question),
            task=task_of(task.strip()) or task.strip(),
            image=image.strip(),
            steps=self.steps(),
            modality=self.text("examination").strip() or None,
            patient=self.text("patient").strip() or None,
        )

    def text(self, name: str) -> str:
        """A field as text: JSON may have a number or a truth value, or null for nothing."""
        value = self.fields.get(name)
        if value is None:
            return ""
        if not isinstance(value, str | int | float):
            self.wrong(name, "it is a text")
        return str(value)

    def kind(self, question: str) -> Kind:
        word = self.text("kind").strip()
        if not word:
            return kind_of(question)
        found = next((kind for kind in KINDS if kind == word), None)
        return found or self.wrong("kind", f"it is {', '.join(KINDS)}, or empty")

    def steps(self) -> tuple[Step, ...]:
        listed = self.fields.get("steps")
        if isinstance(listed, str):  # a cell of a csv
            try:
                listed = msgspec.json.decode(listed) if listed.strip() else None
            except (msgspec.MsgspecError, UnicodeError, RecursionError):
                self.wrong("steps", f"it is {_STEPS_ARE}")
        if listed is None:
            listed = [self.text(column) for column in STEP_COLUMNS]
        if not isinstance(listed, list):
            self.wrong("steps", f"it is {_STEPS_ARE}")
        if len(listed) > _MOST_STEPS:
            self.wrong("steps", f"it has {len(listed)} steps and may have {_MOST_STEPS}")
        by_place = all(step is None or isinstance(step, str) for step in listed)
        if by_place and len(listed) <= len(STEPS):
            pairs = zip(STEPS, listed, strict=False)
            found = [Step(kind, text.strip()) for kind, text in pairs if _is_step(text)]
        else:
            found = [self.step(step) for step in listed]
        if not found:
            self.wrong("steps", "an item needs one gold step at least")
        return tuple(found)

    def step(self, given: Any) -> Step:
        if not isinstance(given, dict):
            self.wrong("steps", f"it is {_STEPS_ARE}")
        word, text = given.get("type"), given.get("text")
        kind = _STEP_TYPES.get(word.strip()) if isinstance(word, str) else None
        if kind is None or not isinstance(text, str) or not text.strip():
            self.wrong("steps", f"a step has a text and a type, {', '.join(STEPS)}")
        return Step(kind, text.strip())

    def wrong(self, name: str, need: str) -> NoReturn:
        value = self.fields.get(name)
        shown = " ".join(("" if value is None else str(value)).split())
        shown = shown if len(shown) <= 40 else shown[:40] + "…"
        raise BadInput(f'{self.path.name} line {self.line}: {name} is "{shown}"; {need}. Fix it.')


def _is_step(text: str | None) -> bool:
    return text is not None and not is_empty(text)


_SETS_EXPECTED: Final = (
    f"{ITEMS_FILE} with type.xlsx and images/, or a csv or jsonl with question, answer, image, "
    "task and steps"
)


def root_of(path: str | Path, options: Options) -> Path:
    """The folder that images stand below."""
    if options.root is not None:
        return Path(options.root)
    found = Path(path)
    return found if found.is_dir() else found.parent


def policy_at(path: str | Path, options: Options, images: Iterable[str] = ()) -> Policy:
    """Who may see the set: the strictest card where its items and these images stand.

    That of the folder named by `root=` counts too, whatever stands there.
    """
    place = Path(path)
    folder = place if place.is_dir() else place.parent
    items = (find_items(place) or find_own_set(place)) if place.is_dir() else place
    root = root_of(path, options)
    return policy_of(
        Held(folder, () if items is None else (items.absolute(),)),
        held_at(root, images if options.root is None else ("", *images)),
    )


def load(
    path: str | Path, options: Options, *, seen: bool = True
) -> tuple[list[M3Case], list[Left]]:
    """The cases at a path, and the items left out, each with its reason.

    Where nobody is to see them (an import), images may be absent.
    """
    cases, left = _load_set(Path(path), root_of(path, options), seen)
    if not cases:
        first = f"; the first is {left[0].case}: {left[0].reason}" if left else ""
        raise BadInput(f"{path}: no item can be asked about, {len(left)} are left out{first}.")
    return cases, left


def _load_set(path: Path, root: Path, seen: bool) -> tuple[list[M3Case], list[Left]]:
    if path.is_dir():
        items = find_items(path)
        if items is not None:
            return load_official(items, root, seen=seen)
        own = find_own_set(path)
        if own is None:
            raise BadInput(f"{path} holds no set of questions. Expected {_SETS_EXPECTED}.")
        return load_own_set(own, root, seen=seen)
    if not path.is_file():
        raise BadInput(f"{path}: there is no such file or folder. Expected {_SETS_EXPECTED}.")
    if path.suffix.lower() in OWN_SUFFIXES:
        return load_own_set(path, root, seen=seen)
    if path.suffix.lower() == ".xlsx":
        return load_official(path, root, seen=seen)
    raise BadInput(f"{path} is no set of questions. Expected {_SETS_EXPECTED}.")
