"""Items of a user's own: a csv, JSON lines or a JSON list.

Columns or fields: `question`, `image` (below the data root; several as a list in `images`, in a
csv as JSON or by semicolons), `answer`; and, if they are known, `caption`, `dimension`, `subtype`,
`ability`, `modality`, `system`, `language`, `patient`, `case_id`, `kind` (mcq, open).

Options stand in the columns A to J, of which the last may be empty, or in one, `options`: a list
of texts, or an object of texts by their letters. An item with options is a multiple-choice one;
its answer is the letter, or the text of exactly one option. Letters that all options carry (`A. x`)
are taken off. Any other item is open.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final, NoReturn

import msgspec

from overread.benchmarks.files.jsonl import JSON_ERRORS, lines_of, list_of
from overread.benchmarks.files.sheets import rows_of
from overread.benchmarks.medcmr.cases import (
    LETTERS,
    MedCase,
    ability_of,
    dimension_of,
    modality_of,
    system_of,
)
from overread.benchmarks.medcmr.gathering import Loaded, Stated, answer_among, gather, lack_of
from overread.benchmarks.medcmr.layouts.set_files import fields_of
from overread.case import BadInput

__all__ = ["SUFFIXES", "find", "load"]

SUFFIXES: Final = (".csv", ".jsonl", ".json")
_NEEDED: Final = ("question", "answer")
_OPTIONS_ARE: Final = (
    f"a list of 2 to {len(LETTERS)} texts, or an object of texts by letters from A"
)


def find(path: Path) -> Path | None:
    """A file, or the one file of a folder, that has questions, answers and images."""
    if path.is_file():
        return path if path.suffix.lower() in SUFFIXES else None
    listed = sorted(file for file in path.iterdir() if file.suffix.lower() in SUFFIXES)
    found = [file for file in listed if file.is_file() and _has_questions(file)]
    if len(found) > 1:
        named = ", ".join(file.name for file in found[:6])
        raise BadInput(f"{path}: {named} all have questions and answers. Give one of them.")
    return found[0] if found else None


def _has_questions(path: Path) -> bool:
    fields = fields_of(path)
    return fields.issuperset(_NEEDED) and bool(fields & {"image", "images"})


def load(path: Path, root: Path, *, language: str = "all", seen: bool = True) -> Loaded:
    """Items in their order, and those whose image is not there; any other fault names its line.

    Unless anybody is to see them (`seen`), images may be absent.
    """
    stated: list[Stated] = []
    taken: dict[str, str] = {}
    for index, (where, fields) in enumerate(_fields(path), start=1):
        case = _Row(where, fields).case(index)
        first = taken.setdefault(case.case_id, where)
        if first != where:
            raise BadInput(
                f'{where}: the case "{case.case_id}" stands in {first} already. Give each item its '
                "own case_id."
            )
        if case.language is None or language in ("all", case.language):
            stated.append((where, case))
    if not taken:
        raise BadInput(f"{path} has no items. Give one for each question.")
    return gather(stated, root, seen=seen)


def _fields(path: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    suffix, name = path.suffix.lower(), path.name
    if suffix == ".jsonl":
        return ((f"{name} line {line}", fields) for line, fields in lines_of(path))
    if suffix == ".json":
        return ((f"{name} item {place}", fields) for place, fields in list_of(path))
    return ((f"{name} row {line}", cells) for line, cells in rows_of(path, _NEEDED))


class _Row(msgspec.Struct):
    """An item; every complaint names its file and place."""

    where: str
    fields: dict[str, Any]

    def case(self, index: int) -> MedCase:
        options = self.options()
        answer = self.text("answer").strip()
        kind = self.text("kind").strip().lower() or ("mcq" if options else "open")
        if kind not in ("mcq", "open"):
            self.wrong("kind", "it is mcq, open or empty")
        if kind == "open" and options:
            self.wrong("kind", "an open item has no options")
        if kind == "mcq":
            if not 2 <= len(options) <= len(LETTERS):
                self.wrong("options", f"an item of kind mcq has {_OPTIONS_ARE}")
            letter, options = answer_among(answer, options)
            if letter is None:
                last = LETTERS[len(options) - 1]
                need = f"it is a letter, A to {last}, or the text of exactly one option"
                self.wrong("answer", need)
            answer = letter
        dimension = self.fact("dimension")
        known = None if dimension is None else dimension_of(dimension)
        ability, modality = self.fact("ability"), self.fact("modality")
        system = self.fact("system")
        case = MedCase(
            case_id=self.fact("case_id") or str(index),
            index=index,
            kind="mcq" if kind == "mcq" else "open",
            question=self.text("question"),
            images=self.images(),
            options=options,
            answer=answer,
            caption=self.fact("caption"),
            dimension=known or dimension,
            subtype=self.fact("subtype"),
            ability=(ability_of(ability) if ability else None) or ability,
            modality=(modality_of(modality) if modality else None) or modality,
            system=(system_of(system) if system else None) or system,
            language=self.fact("language"),
            patient=self.fact("patient"),
        )
        lack = lack_of(case)
        # An unsafe name is an image that cannot be had, as one that is not there.
        if lack is not None and not lack.startswith("its image "):
            raise BadInput(f"{self.where}: {lack}. Fix it.")
        return case

    def text(self, name: str) -> str:
        """A field as text: JSON may have a number or a truth value, or null for nothing."""
        value = self.fields.get(name)
        if value is None:
            return ""
        if not isinstance(value, str | int | float):
            self.wrong(name, "it is a text")
        return str(value)

    def fact(self, name: str) -> str | None:
        return self.text(name).strip() or None

    def images(self) -> tuple[str, ...]:
        listed = self.fields.get("images")
        if listed is None or listed == "":
            return tuple(name for name in (self.text("image").strip(),) if name)
        if isinstance(listed, str):  # a cell of a csv
            cell = listed.strip()
            listed = self.decoded("images", cell) if cell.startswith("[") else cell.split(";")
        if not isinstance(listed, list) or not all(isinstance(name, str) for name in listed):
            self.wrong("images", "it is a list of names")
        return tuple(name.strip() for name in listed if name.strip())

    def options(self) -> tuple[str, ...]:
        given = self.fields.get("options")
        if isinstance(given, str):  # a cell of a csv
            given = self.decoded("options", given) if given.strip() else None
        if given is None:
            given = {letter: self.text(letter) for letter in LETTERS}
            while given and not given[LETTERS[len(given) - 1]].strip():
                del given[LETTERS[len(given) - 1]]
        if isinstance(given, dict):
            letters = sorted(given)
            if "".join(letters) != LETTERS[: len(letters)]:
                self.wrong("options", f"it is {_OPTIONS_ARE}")
            given = [given[letter] for letter in letters]
        if not isinstance(given, list) or not all(_is_text(text) for text in given):
            self.wrong("options", f"it is {_OPTIONS_ARE}")
        return tuple(str(text).strip() for text in given)

    def decoded(self, name: str, cell: str) -> Any:
        try:
            return msgspec.json.decode(cell)
        except JSON_ERRORS:
            self.wrong(name, "it is no JSON")

    def wrong(self, name: str, need: str) -> NoReturn:
        value = self.fields.get(name)
        shown = " ".join(("" if value is None else str(value)).split())
        shown = shown if len(shown) <= 40 else shown[:40] + "…"
        raise BadInput(f'{self.where}: {name} is "{shown}"; {need}. Fix it.')


def _is_text(value: Any) -> bool:
    return isinstance(value, str | int | float) and not isinstance(value, bool)
