"""Items of a user's own: a csv or JSON lines with question, answer, image, task and gold steps.

Columns or fields: `question`, `answer`, `image` (below the data root), `task`; the steps; and, if
they are known, `case_id`, `kind` (single, multiple, bool, short), `patient` and `examination`.

Steps stand in the columns or fields modality, feature, key_conclusion and additional_analysis, of
which some may be missing, or in one, `steps`, as JSON. There they are a list of up to four texts by
place, `["CT", null, "stroke"]`, or of up to 20 objects in their order,
`[{"type": "modality", "text": "CT"}]`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final, NoReturn

import msgspec

from overread.benchmarks.files.jsonl import lines_of
from overread.benchmarks.files.sheets import rows_of
from overread.benchmarks.left import Left
from overread.benchmarks.m3cot.cases import KINDS, STEPS, Kind, M3Case, Step, StepType, kind_of
from overread.benchmarks.m3cot.official import STEP_COLUMNS, is_empty, task_of
from overread.case import BadInput, Source

__all__ = ["SUFFIXES", "find_set", "load"]

SUFFIXES: Final = (".csv", ".jsonl")
NEEDED: Final = ("question", "answer", "image", "task")
# What a type of step may be called: ours, and the official columns.
_TYPES: Final[Mapping[str, StepType]] = {
    **dict(zip(STEP_COLUMNS, STEPS, strict=True)),
    **{kind: kind for kind in STEPS},
}
_MOST_STEPS: Final = 20
_STEPS_ARE: Final = (
    "a JSON list of up to 4 texts (modality, feature, conclusion, analysis; null where there is "
    'none) or of up to 20 objects such as {"type": "modality", "text": "CT"}'
)


def find_set(folder: Path) -> Path | None:
    """The one csv or jsonl of a folder that has questions and answers; None where none has."""
    listed = sorted(path for path in folder.iterdir() if path.suffix.lower() in SUFFIXES)
    found = [path for path in listed if path.is_file() and _has_questions(path)]
    if len(found) > 1:
        named = ", ".join(path.name for path in found)
        raise BadInput(f"{folder}: {named} all have questions and answers. Give one of them.")
    return found[0] if found else None


def _has_questions(path: Path) -> bool:
    try:
        first = next(_fields(path), None)
    except BadInput:
        return False
    return first is not None and all(name in first[1] for name in NEEDED)


def load(path: Path, root: Path, *, seen: bool = True) -> tuple[list[M3Case], list[Left]]:
    """Items in their order, and those whose image is not there; any other fault names its line.

    Unless anybody is to see them (`seen`), images may be absent.
    """
    from overread.imaging import locate

    cases: list[M3Case] = []
    left: list[Left] = []
    taken: dict[str, int] = {}
    for index, (line, fields) in enumerate(_fields(path), start=1):
        case = _Row(path, line, fields).case(index)
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


def _fields(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    return lines_of(path) if path.suffix.lower() == ".jsonl" else iter(rows_of(path, NEEDED))


class _Row(msgspec.Struct):
    """A row; every complaint names its file and line."""

    path: Path
    line: int
    fields: dict[str, Any]

    def case(self, index: int) -> M3Case:
        question, answer, image, task = (self.text(name) for name in NEEDED)
        for name, text in zip(NEEDED, (question, answer, image, task), strict=True):
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
        kind = _TYPES.get(word.strip()) if isinstance(word, str) else None
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
