"""One question about one image, with its gold steps, whatever set it comes from; and its row.

Cases are read from whatever lies at a path: the published set, or a csv or JSON lines of one's own.
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
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias

import msgspec

from overread.benchmarks.base import Left
from overread.benchmarks.files.fields import Fields, read_fields
from overread.benchmarks.files.layouts import Contents, FoundSet, Layout, SetReader, own_set
from overread.benchmarks.m3cot.edition import Options
from overread.benchmarks.tables import structs_in
from overread.case import BadInput
from overread.files import read_toml

if TYPE_CHECKING:
    import polars as pl

Kind: TypeAlias = Literal["single", "multiple", "bool", "short"]
KINDS: Final[tuple[Kind, ...]] = ("single", "multiple", "bool", "short")
StepType: TypeAlias = Literal["modality", "feature", "conclusion", "analysis"]
# In the order of the gold path: modality, feature, key_conclusion, additional_analysis.
STEPS: Final[tuple[StepType, ...]] = ("modality", "feature", "conclusion", "analysis")

FACETS: Final = ("task", "kind")
"""What cards are filtered by, and a sample keeps in proportion."""
WORDS: Final = read_toml(Path(__file__).with_name("words.toml"))
TASKS: Final[Mapping[str, str]] = WORDS["tasks"]
"""The paper's names of the 13 tasks, by the label in type.xlsx (M3COT 1)."""


class Step(msgspec.Struct, frozen=True):
    """One gold step."""

    type: StepType
    text: str


class M3Case(msgspec.Struct, frozen=True, kw_only=True):
    """A question, its image below the data root, its answer and one to four gold steps in order."""

    case_id: str
    # The position in the authors' file, from 1; a user's own set counts its rows.
    index: int
    question: str
    answer: str
    kind: Kind
    task: str
    image: str
    steps: tuple[Step, ...]
    # Facts a set may state: the examination (one of 24 names), the patient.
    modality: str | None = None
    patient: str | None = None


def kind_of(question: str) -> Kind:
    """The type of a question by its words, lower-cased; the first that is found (M3COT 1)."""
    text = question.lower()
    if "select all that apply" in text:
        return "multiple"
    if "select one option" in text:
        return "single"
    return "bool" if "true or false" in text else "short"


class CaseRow(M3Case, frozen=True, kw_only=True):
    """The columns of `cases.parquet`: a case, and the case whose image is lent to it."""

    swap: str | None = None


def case_row(case: M3Case, swap: M3Case | None = None) -> CaseRow:
    """A case with the one whose image is lent."""
    return CaseRow(**msgspec.structs.asdict(case), swap=None if swap is None else swap.case_id)


def cases_in(cases: pl.DataFrame) -> dict[str, M3Case]:
    """The cases of a kept table, by their ids."""
    return {case.case_id: case for case in structs_in(cases, M3Case)}


ITEMS_FILE: Final = "M3CoTBench.xlsx"
TYPES_FILE: Final = "type.xlsx"
IMAGE_FOLDER: Final = "images"
# The README says `datasets`, most scripts `dataset`.
DATA_FOLDERS: Final = ("", "dataset", "datasets")
# In the order the authors' code tries them.
IMAGE_SUFFIXES: Final = (".jpg", ".png", ".jpeg", ".webp")
# The gold path, in the order of `STEPS`.
STEP_COLUMNS: Final = ("modality", "feature", "key_conclusion", "additional_analysis")
TASK_COLUMN: Final = "analysis_type"
_INDEX_WORD: Final = re.compile(r"[0-9]{1,9}")


def is_empty(text: str) -> bool:
    """Whether a cell holds nothing, as pandas reads it, and with it the authors' code."""
    return text.strip() in WORDS["missing_cells"]


def task_of(label: str) -> str | None:
    """The paper's name of a label; its own names are known too."""
    if label in TASKS:
        return TASKS[label]
    return label if label in TASKS.values() else None


# ---------------------------------------------------------------- as it is published


def _find_official(path: Path) -> FoundSet | None:
    """The file of items: itself, in a folder, or in `dataset/` or `datasets/` below it."""
    if not path.is_dir():
        return FoundSet((path,), path.parent) if path.suffix.lower() == ".xlsx" else None
    places = (path / name / ITEMS_FILE for name in DATA_FOLDERS)
    items = next((place for place in places if place.is_file()), None)
    return None if items is None else FoundSet((items,), path)


def _read_official(found: FoundSet, root: Path, options: Options, seen: bool) -> Contents[M3Case]:
    """The items in the order of their index, and those that cannot be asked about.

    Rows go by the column `index`, which must be 1 to N. `type.xlsx` may stand beside the items or
    one folder off; images stand below `root`. An item without question, answer, gold step, task or
    image is left out, with the row or file named.
    """
    (items,) = found.files
    rows = _rows_of_items(items)
    tasks = _tasks_by_index(items, rows)
    nowhere = {index: f"{IMAGE_FOLDER}/{index}.png" for index in rows}
    images = _images_by_index(root) if seen else nowhere
    return Contents(
        [
            (row.where, _official_case(index, row, tasks.get(index), images.get(index), root))
            for index, row in rows.items()
        ]
    )


def _official_case(
    index: int, row: Fields, task: str | None, image: str | None, root: Path
) -> M3Case | Left:
    question, answer = row.text("question"), row.text("answer").strip()
    steps = tuple(
        Step(kind, text.strip())
        for kind, text in zip(STEPS, map(row.text, STEP_COLUMNS), strict=True)
        if not is_empty(text)
    )
    lack = None
    if not question.strip() or not answer:
        lack = f"{'answer' if question.strip() else 'question'} is empty"
    elif not steps:
        lack = f"no gold step: {', '.join(STEP_COLUMNS)} are all empty"
    elif task is None:
        lack = f"{TYPES_FILE} names no task for its index"
    elif image is None:
        named = f"{IMAGE_FOLDER}/{row.text('index').strip()}"
        lack = f"there is no image {named} ({' '.join(IMAGE_SUFFIXES)}) below {root}"
    if lack is not None or task is None or image is None:
        return Left(str(index), f"{row.where}: {lack}")
    return M3Case(
        case_id=str(index),
        index=index,
        question=question,
        answer=answer,
        kind=kind_of(question),
        task=task,
        image=image,
        steps=steps,
    )


def _rows_of_items(path: Path) -> dict[int, Fields]:
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


def _by_index(path: Path, needed: Sequence[str]) -> dict[int, Fields]:
    """The rows of a sheet by index, each once."""
    found: dict[int, Fields] = {}
    for row in read_fields(path, needed):
        word = row.text("index").strip()
        if not _INDEX_WORD.fullmatch(word) or int(word) < 1:
            row.wrong("index", "it is a whole number from 1")
        index = int(word)
        if index in found:
            first = found[index].where.removeprefix(f"{path.name} ")
            raise BadInput(
                f"{row.where}: index {index} stands in {first} already. "
                "Fetch the file again, or keep one of the rows."
            )
        found[index] = row
    if not found:
        raise BadInput(f"{path} has a header and no rows. Fetch it again.")
    return found


def _tasks_by_index(items: Path, rows: Mapping[int, Fields]) -> dict[int, str]:
    """The task of each index, by `type.xlsx`; else by a column of the items, if there is one."""
    home = items.parent
    near = [home, *(home / name for name in DATA_FOLDERS[1:])]
    if home.name in DATA_FOLDERS:
        near += [home.parent / name for name in DATA_FOLDERS]
    path = next((place / TYPES_FILE for place in near if (place / TYPES_FILE).is_file()), None)
    if path is not None:
        rows = _by_index(path, ("index", TASK_COLUMN))
    elif not any(TASK_COLUMN in row.cells for row in rows.values()):
        raise BadInput(
            f"{home}: there is no {TYPES_FILE}, which says what task an item is of. Fetch it from "
            "the authors' repository (inference/datasets) and put it there."
        )
    need = f"it is one of {', '.join(TASKS)}"
    return {
        index: task_of(label) or row.wrong(TASK_COLUMN, need)
        for index, row in rows.items()
        if (label := row.text(TASK_COLUMN).strip())
    }


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


# ---------------------------------------------------------------- a set of one's own

OWN_COLUMNS: Final = ("question", "answer", "image", "task")
# What a type of step may be called: ours, and the official columns.
_STEP_TYPES: Final[Mapping[str, StepType]] = {
    **dict(zip(STEP_COLUMNS, STEPS, strict=True)),
    **{kind: kind for kind in STEPS},
}
_MOST_STEPS: Final = 20
_STEPS_ARE: Final = (
    "it is a JSON list of up to 4 texts (modality, feature, conclusion, analysis; null where there "
    'is none) or of up to 20 objects such as {"type": "modality", "text": "CT"}'
)


def _own_case(row: Fields, index: int) -> M3Case:
    _, answer, image, task = (row.required(name) for name in OWN_COLUMNS)
    question = row.text("question")
    kind = row.choice("kind", KINDS, f"it is {', '.join(KINDS)}, or empty")
    return M3Case(
        case_id=row.fact("case_id") or str(index),
        index=index,
        question=question,
        answer=answer,
        kind=kind or kind_of(question),
        task=task_of(task) or task,
        image=image,
        steps=_own_steps(row),
        modality=row.fact("examination"),
        patient=row.fact("patient"),
    )


def _own_steps(row: Fields) -> tuple[Step, ...]:
    listed = row.decoded("steps", _STEPS_ARE)
    if listed is None:
        listed = [row.text(column) for column in STEP_COLUMNS]
    if not isinstance(listed, list):
        row.wrong("steps", _STEPS_ARE)
    if len(listed) > _MOST_STEPS:
        row.wrong("steps", f"it has {len(listed)} steps and may have {_MOST_STEPS}")
    if all(step is None or isinstance(step, str) for step in listed) and len(listed) <= len(STEPS):
        pairs = zip(STEPS, listed, strict=False)
        found = [Step(kind, text.strip()) for kind, text in pairs if text and not is_empty(text)]
    else:
        found = [_own_step(row, step) for step in listed]
    if not found:
        row.wrong("steps", "an item needs one gold step at least")
    return tuple(found)


def _own_step(row: Fields, given: Any) -> Step:
    if not isinstance(given, dict):
        row.wrong("steps", _STEPS_ARE)
    word, text = given.get("type"), given.get("text")
    kind = _STEP_TYPES.get(word.strip()) if isinstance(word, str) else None
    if kind is None or not isinstance(text, str) or not text.strip():
        row.wrong("steps", f"a step has a text and a type, {', '.join(STEPS)}")
    return Step(kind, text.strip())


READER: Final = SetReader(
    layouts=(
        Layout("M3CoTBench", _find_official, _read_official),
        own_set(
            (".csv", ".jsonl", ".parquet"),
            OWN_COLUMNS,
            _own_case,
            called="rows. Give a row",
            folder="m3cot",
        ),
    ),
    case=M3Case,
    expected=f"{ITEMS_FILE} with {TYPES_FILE} and {IMAGE_FOLDER}/, or a csv or jsonl with "
    "question, answer, image, task and steps",
    images=lambda case: (case.image,),
    name=lambda case: case.case_id,
)
