"""Rows about pictures, wherever they stand, as candidates.

A source is a table (csv, jsonl, json or parquet) with the names of pictures, a folder with one such
table or of pictures alone, or a set that a benchmark reads. Of pictures alone the folder's name is
the label, and a text file of the same name the caption.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Final, NamedTuple

import msgspec

from overread.benchmarks.curated import Candidate, LabelledBox
from overread.benchmarks.files.fields import Fields, fields_of, read_fields
from overread.benchmarks.files.layouts import unsafe_name
from overread.benchmarks.registry import class_of
from overread.case import BadInput, Box, Picture, Source
from overread.curate.wanted import Pictures, Wanted
from overread.files import read_text
from overread.plugins import at

# Where cases of a benchmark stand, which may have to be made first.
CaseFile = Callable[[str, str], Path]

_TABLES: Final = (".csv", ".jsonl", ".json", ".parquet")
_PICTURES: Final = (".png", ".jpg", ".jpeg", ".tif", ".tiff", ".bmp", ".dcm", ".webp")
# What a table may call its columns, the first that it has.
_NAMED: Final[Mapping[str, tuple[str, ...]]] = {
    "image": ("image", "image_path", "path", "file", "file_name", "filename"),
    "caption": ("caption", "description", "report", "text", "visual_description"),
    "labels": ("labels", "label", "finding", "class"),
    "patient": ("patient", "patient_id", "subject_id"),
    "modality": ("modality",),
    "examination": ("examination",),
    "system": ("system", "organ system"),
    "licence": ("licence", "license"),
    "origin": ("origin", "source_url", "url"),
    "mask": ("mask", "mask_path"),
    "box_label": ("box_label",),
}
_BOX: Final = ("box_x", "box_y", "box_w", "box_h")
_LONGEST_FACT: Final = 200
_MOST_FACTS: Final = 40
_MOST_PIXELS: Final = 1_000_000


class Lost(NamedTuple):
    """A row of which no candidate can be made, and why (a code, and a line for people)."""

    candidate: Candidate
    reason: str
    line: str


def candidates_of_source(
    source: Pictures, wanted: Wanted, case_file: CaseFile
) -> Iterator[Candidate | Lost]:
    """The candidates of one of `[[sources]]`, in its order, as its rows have them."""
    name = source.name or Path(source.path).stem
    if source.benchmark:
        found: Iterator[Candidate | Lost] = _of_benchmark(source, wanted, case_file)
    else:
        place = wanted.place(source.path)
        table = _table_at(place)
        found = _of_table(source, wanted, table) if table is not None else _of_folder(place)
    for one in found:
        if isinstance(one, Lost):
            yield one._replace(candidate=_with(one.candidate, source, name))
        else:
            yield _with(one, source, name)


def _with(one: Candidate, source: Pictures, name: str) -> Candidate:
    """A candidate with what its source declares of all, where its row says nothing."""
    return msgspec.structs.replace(
        one,
        collection=name,
        licence=one.licence or source.licence,
        caption=one.caption or source.caption,
        modality=one.modality or source.modality,
        examination=one.examination or source.examination,
        system=one.system or source.system,
        origin=one.origin or source.origin,
    )


def _of_benchmark(source: Pictures, wanted: Wanted, case_file: CaseFile) -> Iterator[Candidate]:
    offered = class_of(source.benchmark).curated.candidates
    if not offered:
        raise BadInput(
            f'{wanted.file}: benchmark "{source.benchmark}" offers no pictures for new items.'
        )
    phantoms = source.path.startswith("phantom:")
    path = source.path if phantoms else str(wanted.place(source.path))
    bench = class_of(source.benchmark).open(case_file(source.benchmark, path))
    yield from at(offered)(bench)


def _table_at(place: Path) -> Path | None:
    """The table that a path is or a folder has; None of a folder of pictures."""
    if place.is_file():
        if place.suffix.lower() not in _TABLES:
            raise BadInput(f"{place}: a source is a folder or {', '.join(_TABLES)}.")
        return place
    if not place.is_dir():
        raise BadInput(f"{place}: there is no such file or folder. Mend path of the source.")
    files = sorted(file for file in place.iterdir() if file.suffix.lower() in _TABLES)
    found = [file for file in files if _column(fields_of(file), "image") and file.is_file()]
    manifests = [file for file in found if file.stem == "manifest"]
    found = manifests or found
    if len(found) > 1:
        named = ", ".join(file.name for file in found[:6])
        raise BadInput(f"{place} holds several tables of pictures: {named}. Give one of them.")
    return found[0] if found else None


def _column(there: frozenset[str], ours: str, theirs: str | None = None) -> str:
    """What a table calls one of our fields; empty where it has none."""
    known = (theirs,) if theirs else _NAMED[ours]
    return next((name for name in known if name in there), "")


def _of_folder(place: Path) -> Iterator[Candidate | Lost]:
    for file in sorted(place.rglob("*")):
        if file.suffix.lower() not in _PICTURES or file.name.startswith("."):
            continue
        name = file.relative_to(place).as_posix()
        said = file.with_suffix(".txt")
        # As a picture, a caption is no link that leaves the folder.
        has_caption = said.is_file() and said.resolve().is_relative_to(place.resolve())
        yield Candidate(
            picture=Picture(Source(str(place.absolute()), name)),
            caption=read_text(said).strip() if has_caption else "",
            labels=(file.parent.name,) if file.parent != place else (),
        )


def _of_table(source: Pictures, wanted: Wanted, table: Path) -> Iterator[Candidate | Lost]:
    there = fields_of(table)
    missing = [name for name in (*source.columns.values(), *source.where) if name not in there]
    strange = [ours for ours in source.columns if ours not in _NAMED]
    if missing or strange:
        what = f'has no column "{missing[0]}"' if missing else f'columns has "{strange[0]}"'
        raise BadInput(f"{wanted.file}: {table.name} {what}. Ours are {', '.join(_NAMED)}.")
    named = {ours: _column(there, ours, source.columns.get(ours)) for ours in _NAMED}
    embedded = table.suffix.lower() == ".parquet" and not source.root
    if not named["image"] and not embedded:
        raise BadInput(
            f"{table}: no column names pictures ({', '.join(_NAMED['image'])}). "
            'Write columns = { image = "THEIRS" }.'
        )
    root = str((wanted.place(source.root) if source.root else table.parent).absolute())
    boxes = _boxes(wanted.place(source.boxes)) if source.boxes else {}
    for number, row in enumerate(read_fields(table)):
        if any(row.lenient(name).strip() != word for name, word in source.where.items()):
            continue
        if embedded:  # pictures stand in the file, each named by its row
            yield _candidate(row, named, Source(str(table.absolute()), str(number)), boxes)
            continue
        name = row.lenient(named["image"]).strip()
        mask = row.lenient(named["mask"]).strip() if named["mask"] else ""
        lack = unsafe_name(name) or (unsafe_name(mask) if mask else None)
        picture = Source(root, "" if lack else name)
        made = _candidate(row, named, picture, boxes)
        yield Lost(made, "no_picture", f"{row.where}: {lack}") if lack else made


def _candidate(
    row: Fields, named: Mapping[str, str], picture: Source, boxes: Mapping[str, list[LabelledBox]]
) -> Candidate:
    def text(ours: str) -> str:
        return row.lenient(named[ours]).strip() if named[ours] else ""

    labels: tuple[str, ...] = ()
    if named["labels"]:
        given = row.raw(named["labels"])
        cell = str(given) if isinstance(given, str | int) else ""
        parts = given if isinstance(given, list) else cell.replace("|", ";").split(";")
        # One line each: labels become options, which stand below each other.
        words = (" ".join(part.split()) for part in parts if isinstance(part, str))
        labels = tuple(filter(None, words))
    used = {*named.values(), *_BOX}
    facts = {
        name: row.lenient(name).strip()
        for name in row.cells
        if name not in used and 0 < len(row.lenient(name).strip()) <= _LONGEST_FACT
    }
    own = boxes.get(picture.name, [])
    return Candidate(
        picture=Picture(picture),
        caption=text("caption"),
        labels=labels,
        boxes=tuple(own or _box_of(row, " ".join(text("box_label").split()) or "; ".join(labels))),
        mask=Source(picture.root, text("mask")) if text("mask") else None,
        patient=text("patient"),
        modality=text("modality"),
        examination=text("examination"),
        system=text("system"),
        licence=text("licence"),
        origin=text("origin"),
        facts=dict(list(facts.items())[:_MOST_FACTS]),
    )


def _box_of(row: Fields, label: str) -> list[LabelledBox]:
    """The box of a row that has its four columns as numbers above 0."""
    if any(not row.lenient(side).strip() for side in _BOX):
        return []
    x, y, w, h = (_pixels(row, side) for side in _BOX)
    return [LabelledBox(label, Box(x, y, w, h))] if w > 0 and h > 0 else []


def _boxes(table: Path) -> dict[str, list[LabelledBox]]:
    """Boxes by picture, of a table with image, label, x, y, w and h."""
    found: dict[str, list[LabelledBox]] = defaultdict(list)
    for row in read_fields(table, ("image", "label", "x", "y", "w", "h")):
        x, y, w, h = (_pixels(row, side) for side in "xywh")
        if w > 0 and h > 0:
            label = " ".join(row.text("label").split())
            found[row.text("image")].append(LabelledBox(label, Box(x, y, w, h)))
    return found


def _pixels(row: Fields, side: str) -> int:
    need = f"it is a number of pixels, at most {_MOST_PIXELS:,}"
    return round(row.number(side, need, low=-_MOST_PIXELS, high=_MOST_PIXELS))
