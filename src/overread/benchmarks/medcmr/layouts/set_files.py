"""Finding the files of a published set, and stating their items as cases."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any, Final, NamedTuple

from overread.benchmarks.files.jsonl import first_object, lines_of, list_of
from overread.benchmarks.files.sheets import rows_of
from overread.benchmarks.left import Left
from overread.benchmarks.medcmr.cases import LETTERS, MODALITIES, MedCase, modality_of
from overread.benchmarks.medcmr.edition import Options
from overread.benchmarks.medcmr.gathering import Loaded, Stated, answer_among, gather, same_text
from overread.case import BadInput
from overread.files import open_file

__all__ = [
    "MODALITY_PATHOLOGY",
    "Layout",
    "Set",
    "choice",
    "fields_of",
    "find_pictured",
    "free",
    "images_below",
    "load_pictured",
    "loader",
    "modality_named",
    "names_of",
    "one_of",
    "records_of",
    "sets_in",
    "text_of",
    "yes_or_no",
]


# ---------------------------------------------------------------- finding
# Finding a set by its files and their columns, whatever its folder is called.

# Where a download keeps its tables: beside the images, or as Hugging Face lays data sets out.
_FOLDERS: Final = ("", "data", "MM")
_LONGEST_HEADER: Final = 1 << 20


class Set(NamedTuple):
    """A set that was found: its files, and the folder (or parquet file) its images stand in."""

    files: tuple[Path, ...]
    root: Path
    remarks: tuple[str, ...] = ()


class Layout(NamedTuple):
    """How one published set lies on a disk.

    `fields` are what its items are known by. `find` gives the set at a path, or None for what is
    not this layout; `load` its items, with the images below the folder given.
    """

    name: str
    fields: tuple[str, ...]
    find: Callable[[Path], Set | None]
    load: Callable[[Set, Path, Options, bool], Loaded]


def loader(
    stated: Callable[[Path, Path], Iterable[Stated]],
) -> Callable[[Set, Path, Options, bool], Loaded]:
    """How a set of one file is loaded: `stated` gives its items, by the file and the root."""

    def load(found: Set, root: Path, options: Options, seen: bool) -> Loaded:
        items = stated(found.files[0], root)
        return gather(items, root, seen=seen, remarks=found.remarks)

    return load


def fields_of(path: Path) -> frozenset[str]:
    """The columns of a table, or the fields of its first object; nothing of an unreadable file."""
    try:
        found = path.stat()
    except OSError:
        return frozenset()
    return _fields_once(path, found.st_size, found.st_mtime_ns)


# Every layout looks at the same files.
@lru_cache(4096)
def _fields_once(path: Path, size: int, mtime_ns: int) -> frozenset[str]:
    suffix = path.suffix.lower()
    if suffix == ".parquet":
        import polars as pl

        try:
            open_file(path).close()
            return frozenset(pl.read_parquet_schema(path))
        except (BadInput, OSError, pl.exceptions.PolarsError):
            return frozenset()
    if suffix == ".csv":
        try:
            with open_file(path) as file:
                head = io.TextIOWrapper(file, "utf-8-sig", newline="").readline(_LONGEST_HEADER)
            return frozenset(name.strip() for name in next(csv.reader([head]), ()))
        except (BadInput, OSError, UnicodeError, csv.Error):
            return frozenset()
    return frozenset(first_object(path)) if suffix in (".json", ".jsonl") else frozenset()


def sets_in(path: Path, suffixes: Sequence[str], needed: Sequence[str]) -> list[Path]:
    """The files at a path, or in a folder, of these suffixes that have all of these fields."""
    if path.is_file():
        listed = [path]
    else:
        homes = (path / name for name in _FOLDERS)
        listed = [file for home in homes if home.is_dir() for file in sorted(home.iterdir())]
    return [
        file
        for file in listed
        if file.suffix.lower() in suffixes
        and not file.name.startswith(".")
        and file.is_file()
        and fields_of(file).issuperset(needed)
    ]


def one_of(found: Sequence[Path], path: Path) -> tuple[Path, tuple[str, ...]]:
    """The one file that is meant: the only one, or the only one of a test split."""
    tests = [file for file in found if file.stem.casefold().startswith("test")]
    if len(found) > 1 and len(tests) != 1:
        named = ", ".join(file.name for file in found[:6])
        raise BadInput(f"{path} holds several sets of questions: {named}. Give one of them.")
    if len(found) == 1:
        return found[0], ()
    others = ", ".join(file.name for file in found if file != tests[0])
    return tests[0], (f"the items are those of {tests[0].name}; not of {others}.",)


def records_of(path: Path, needed: Sequence[str]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Each item of a file as (where it stands, its fields)."""
    suffix = path.suffix.lower()
    if suffix == ".csv":
        for line, cells in rows_of(path, needed):
            yield f"{path.name} row {line}", cells
    elif suffix == ".parquet":
        yield from _parquet_rows(path)
    elif suffix == ".jsonl":
        for line, record in lines_of(path):
            yield f"{path.name} line {line}", record
    else:
        for place, record in list_of(path):
            yield f"{path.name} item {place}", record


def _parquet_rows(path: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    """Rows of a parquet file without the pictures in them, which nobody needs yet."""
    import polars as pl

    try:
        schema = pl.read_parquet_schema(path)
        kept = [name for name, kind in schema.items() if not _holds_bytes(kind)]
        frame = pl.read_parquet(path, columns=kept)
    except (OSError, pl.exceptions.PolarsError) as error:
        told = " ".join(str(error).split())[:120]
        raise BadInput(f"{path} cannot be read as parquet: {told}. Fetch it again.") from None
    for place, record in enumerate(frame.iter_rows(named=True)):
        yield f"{path.name} row {place}", record


def _holds_bytes(kind: Any) -> bool:
    return "Binary" in str(kind)


def images_below(root: Path, names: Sequence[str], folders: Sequence[str]) -> str:
    """In which of these folders the images stand, with a slash: the first that has any of them."""
    for folder in folders:
        prefix = f"{folder}/" if folder else ""
        if any((root / (prefix + name)).is_file() for name in names[:20] if ".." not in name):
            return prefix
    there = next((folder for folder in folders if folder and (root / folder).is_dir()), folders[0])
    return f"{there}/" if there else ""


# ---------------------------------------------------------------- stating
# An item of a published set as a case: what the layouts have in common.

MODALITY_PATHOLOGY: Final = MODALITIES[0]
_YES_NO: Final[Mapping[str, tuple[str, tuple[str, str]]]] = {
    "yes": ("A", ("yes", "no")),
    "no": ("B", ("yes", "no")),
    "是": ("A", ("是", "否")),
    "是的": ("A", ("是", "否")),
    "否": ("B", ("是", "否")),
    "不是": ("B", ("是", "否")),
}
# How sets call their modalities, by the letters alone; the paper's names are known without.
_MODALITIES: Final[Mapping[str, str]] = {
    "xray": "X-ray & Fluoroscopy",
    "radiograph": "X-ray & Fluoroscopy",
    "ctcomputedtomography": "CT",
    "computedtomography": "CT",
    "mr": "MRI",
    "mrmagneticresonanceimaging": "MRI",
    "magneticresonanceimaging": "MRI",
    "dermoscopy": "Photography / Dermatology",
    "digitalphotography": "Photography / Dermatology",
    "fundusphotography": "Ophthalmology / Optical",
    "infraredreflectanceimaging": "Ophthalmology / Optical",
    "octopticalcoherencetomography": "Ophthalmology / Optical",
    "oct": "Ophthalmology / Optical",
    "microscopyimages": "Pathology / Microscopy",
    "microscopy": "Pathology / Microscopy",
    "histopathology": "Pathology / Microscopy",
    "colposcopy": "Endoscopy",
}


def text_of(record: Mapping[str, Any], name: str) -> str:
    """A field as text: a number as it is printed, nothing for null or for what is no text."""
    value = record.get(name)
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        return ""
    return str(value)


def modality_named(text: str) -> str | None:
    """The paper's name of a modality, else the set's own word; None where there is none.

    >>> modality_named("X-Ray"), modality_named("Thermography"), modality_named(" ")
    ('X-ray & Fluoroscopy', 'Thermography', None)
    """
    word = text.strip()
    plain = re.sub(r"[\W_]+", "", word.casefold())
    return modality_of(word) or _MODALITIES.get(plain) or word or None


def yes_or_no(answer: str) -> tuple[str, tuple[str, str]] | None:
    """The letter and the options of a question answered by yes or no; None of any other."""
    return _YES_NO.get(same_text(answer).rstrip("."))


def free(
    case_id: str, index: int, question: str, answer: str, *, closed: bool = True, **facts: Any
) -> MedCase:
    """A question without options: one of yes or no where it is `closed`, else an open one."""
    either = yes_or_no(answer) if closed else None
    letter, options = either or (answer.strip(), ())
    return MedCase(
        case_id=case_id,
        index=index,
        kind="mcq" if either else "open",
        question=question,
        answer=letter,
        options=options,
        **facts,
    )


def names_of(records: Sequence[Mapping[str, Any]], field: str) -> list[str]:
    """What items are called: by the set's own ids where each has its own, else by their places."""
    own = [text_of(record, field).strip() for record in records]
    if all(own) and len(set(own)) == len(own):
        return own
    return [str(place) for place in range(1, len(records) + 1)]


def choice(
    where: str,
    case_id: str,
    index: int,
    question: str,
    answer: str,
    options: Sequence[str],
    *,
    texts: bool = True,
    **facts: Any,
) -> MedCase | Left:
    """A question with options; left out where the answer is not exactly one of them.

    Letters that all options carry (`A. left`) are taken off: the prompt has its own.
    """
    letter, kept = answer_among(answer, options, texts=texts)
    if letter is None or len(kept) > len(LETTERS):
        shown = " ".join(answer.split())[:60]
        return Left(case_id, f'{where}: answer is "{shown}", not exactly one of its options')
    return MedCase(
        case_id=case_id,
        index=index,
        kind="mcq",
        question=question,
        answer=letter,
        options=kept,
        **facts,
    )


# ---------------------------------------------------------------- parquet files with pictures
# Hugging Face parquet files with the pictures inside: image, question, answer.
#
# The form in which VQA-RAD and PathVQA are handed on. An image is called by its row, from 0.
# Nothing says which questions are closed, so that every answer of yes or no makes one with these
# options.

_PICTURED_FIELDS: Final = ("image", "question", "answer")
# A set with options must not be asked without them.
_OPTION_FIELDS: Final = frozenset({"options", "choices", "option_A", "Choice A", "A"})


def find_pictured(path: Path) -> Set | None:
    """The one such file at a path; its images stand in the file itself."""
    found = [
        file
        for file in sets_in(path, (".parquet",), _PICTURED_FIELDS)
        if not fields_of(file) & _OPTION_FIELDS and _holds_pictures(file)
    ]
    if not found:
        return None
    file, remarks = one_of(found, path)
    return Set((file,), file, remarks)


def _holds_pictures(file: Path) -> bool:
    import polars as pl

    kind = pl.read_parquet_schema(file)["image"]
    return isinstance(kind, pl.Struct) and any(field.name == "bytes" for field in kind.fields)


def load_pictured(found: Set, root: Path, seen: bool, modality: str | None = None) -> Loaded:
    """The rows as cases, all of one modality where the set has but one."""
    return gather(_pictured_items(found.files[0], modality), root, seen=seen, remarks=found.remarks)


def _pictured_items(file: Path, modality: str | None) -> Iterator[Stated]:
    for row, (where, record) in enumerate(records_of(file, _PICTURED_FIELDS)):
        question, answer = text_of(record, "question"), text_of(record, "answer")
        yield (
            where,
            free(str(row + 1), row + 1, question, answer, images=(str(row),), modality=modality),
        )
