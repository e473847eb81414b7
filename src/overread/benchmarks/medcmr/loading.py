"""Cases from whatever lies at a path: the release, a set of another layout, or one's own.

Items of a user's own: a csv, JSON lines or a JSON list.

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
from typing import Any, Final

from overread.benchmarks.files.fields import Fields, fields_of, read_fields, refuse_twice
from overread.benchmarks.files.layouts import Contents, FoundSet, Layout, SetReader, Stated
from overread.benchmarks.letter_parser import LETTERS
from overread.benchmarks.medcmr.cases import (
    MedCase,
    ability_of,
    answer_among,
    dimension_of,
    lack_of,
    modality_of,
    remarks_on,
    system_of,
)
from overread.benchmarks.medcmr.edition import Options
from overread.benchmarks.medcmr.published_sets import PUBLISHED_SETS
from overread.benchmarks.medcmr.release import ARCHIVE, RELEASE
from overread.case import BadInput

_SUFFIXES: Final = (".csv", ".jsonl", ".json")
_NEEDED: Final = ("question", "answer")
_OPTIONS_ARE: Final = (
    f"a list of 2 to {len(LETTERS)} texts, or an object of texts by letters from A"
)


def _find_own(path: Path) -> FoundSet | None:
    """A file, or the one file of a folder, that has questions, answers and images."""
    if path.is_file():
        own = path.suffix.lower() in _SUFFIXES
        return FoundSet((path,), path.parent) if own else None
    listed = sorted(file for file in path.iterdir() if file.suffix.lower() in _SUFFIXES)
    found = [file for file in listed if file.is_file() and _has_questions(file)]
    if len(found) > 1:
        named = ", ".join(file.name for file in found[:6])
        raise BadInput(f"{path}: {named} all have questions and answers. Give one of them.")
    return FoundSet((found[0],), path) if found else None


def _has_questions(path: Path) -> bool:
    fields = fields_of(path)
    return fields.issuperset(_NEEDED) and bool(fields & {"image", "images"})


def _read_own(found: FoundSet, root: Path, options: Options, seen: bool) -> Contents[MedCase]:
    """The items of a file; a damaged one is refused, with its file and place."""
    (path,) = found.files
    return Contents(list(_own_items(path, options.language)))


def _own_items(path: Path, language: str) -> Iterator[Stated[MedCase]]:
    taken: dict[str, str] = {}
    for index, row in enumerate(read_fields(path, _NEEDED), start=1):
        case = _own_case(row, index)
        refuse_twice(taken, case.case_id, row.where, "Give each item its own case_id.")
        if case.language is None or language in ("all", case.language):
            yield row.where, case
    if not taken:
        raise BadInput(f"{path} has no items. Give one for each question.")


def _own_case(row: Fields, index: int) -> MedCase:
    options = _own_options(row)
    answer = row.text("answer").strip()
    kind = row.text("kind").strip().lower() or ("mcq" if options else "open")
    if kind not in ("mcq", "open"):
        row.wrong("kind", "it is mcq, open or empty")
    if kind == "open" and options:
        row.wrong("kind", "an open item has no options")
    if kind == "mcq":
        if not 2 <= len(options) <= len(LETTERS):
            row.wrong("options", f"an item of kind mcq has {_OPTIONS_ARE}")
        letter, options = answer_among(answer, options)
        if letter is None:
            last = LETTERS[len(options) - 1]
            need = f"it is a letter, A to {last}, or the text of exactly one option"
            row.wrong("answer", need)
        answer = letter
    dimension, ability = row.fact("dimension"), row.fact("ability")
    modality, system = row.fact("modality"), row.fact("system")
    case = MedCase(
        case_id=row.fact("case_id") or str(index),
        index=index,
        kind="mcq" if kind == "mcq" else "open",
        question=row.text("question"),
        images=_own_images(row),
        options=options,
        answer=answer,
        caption=row.fact("caption"),
        dimension=dimension_of(dimension or "") or dimension,
        subtype=row.fact("subtype"),
        ability=ability_of(ability or "") or ability,
        modality=modality_of(modality or "") or modality,
        system=system_of(system or "") or system,
        language=row.fact("language"),
        patient=row.fact("patient"),
    )
    lack = lack_of(case)
    # An unsafe name is an image that cannot be had, as one that is not there.
    if lack is not None and not lack.startswith("its image "):
        raise BadInput(f"{row.where}: {lack}. {row.remedy}")
    return case


def _own_images(row: Fields) -> tuple[str, ...]:
    if row.raw("images") in (None, ""):
        return tuple(name for name in (row.fact("image"),) if name)
    return row.texts("images")


def _own_options(row: Fields) -> tuple[str, ...]:
    given = row.decoded("options")
    if given is None:
        given = {letter: row.text(letter) for letter in LETTERS}
        while given and not given[LETTERS[len(given) - 1]].strip():
            del given[LETTERS[len(given) - 1]]
    if isinstance(given, dict):
        letters = sorted(given)
        if "".join(letters) != LETTERS[: len(letters)]:
            row.wrong("options", f"it is {_OPTIONS_ARE}")
        given = [given[letter] for letter in letters]
    if not isinstance(given, list) or not all(_is_text(text) for text in given):
        row.wrong("options", f"it is {_OPTIONS_ARE}")
    return tuple(str(text).strip() for text in given)


def _is_text(value: Any) -> bool:
    return isinstance(value, str | int | float) and not isinstance(value, bool)


SETS: Final = SetReader(
    layouts=(RELEASE, *PUBLISHED_SETS, Layout("own", _find_own, _read_own)),
    expected=(
        f"{ARCHIVE} of Med-CMR or its folder; "
        f"{', '.join(sorted(layout.name for layout in PUBLISHED_SETS))} as published; or a csv, "
        "jsonl or json with question, image and answer"
    ),
    images=lambda case: case.images,
    name=lambda case: case.case_id,
    lack=lack_of,
    remarks=remarks_on,
)
"""Everything that may be given as `--cases`, in the order in which it is tried."""
