"""Forms: questions of one's own about pictures and clips of one's own, a screen for each row."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Final

import msgspec

import overread.case as oc
from overread.benchmarks.files.sheets import rows_of
from overread.benchmarks.people import ForPeople
from overread.case import BadInput
from overread.study.design import Task

if TYPE_CHECKING:
    from overread.imaging import Footage

_HIDDEN: Final = ("case", "image", "patient", "stratum")
_MOST_PIXELS: Final = 32_000_000
_VIDEOS: Final = (".avi", ".mp4", ".m4v", ".mov", ".mkv", ".webm", ".mpg", ".mpeg", ".wmv")
_VOLUMES: Final = (".nii", ".nii.gz")


def screens_of(task: Task, number: int) -> Iterator[ForPeople]:
    """A screen for each row, with the image's name and whatever the questions name in braces."""
    table = Path(task.table)
    root = table.absolute().parent
    for line, row in rows_of(table, ("case", "image")):
        asks = tuple(
            msgspec.structs.replace(
                one.ask(f"task {number}"),
                text=_filled_in(one.text, row, table, line),
                given=_filled_in(one.given, row, table, line),
            )
            for one in task.questions
        )
        names = [name.strip() for name in row["image"].split(";") if name.strip()]
        yield ForPeople(
            case=row["case"],
            patient=row.get("patient") or row["case"],
            condition=row.get("condition", ""),
            slides=tuple(
                oc.Slide(label="", picture=pictured(root, name, task.frames)) for name in names
            ),
            asks=asks,
            stratum=(row.get("stratum", ""),),
            facts={name: cell for name, cell in row.items() if name not in _HIDDEN},
        )


def _filled_in(text: str, row: Mapping[str, str], table: Path, line: int) -> str:
    """`{column}` in a question, or in a text to be mended, by the row's cell.

    Braces that name no column are refused.
    """

    def cell(found: re.Match[str]) -> str:
        if found[1] not in row:
            raise BadInput(f'{table} row {line}: a question names "{found[1]}", no column of it.')
        return row[found[1]]

    return re.sub(r"\{(\w+)\}", cell, text)


def pictured(root: Path, name: str, most_frames: int) -> oc.Picture | oc.Clip:
    """A file as a picture; a video, a DICOM of several frames or a NIfTI sequence as a clip.

    Of a clip at most so many frames, the first and the last and those evenly between them: a reader
    gets them all at once, so that playing waits for nothing. Of large ones fewer, as many as a
    browser holds.
    """
    source = oc.Source(str(root), name)
    clip = _footage(root / name)
    if clip is None or clip.frames < 2:
        return oc.Picture(source)
    shown = max(2, min(clip.frames, most_frames, _MOST_PIXELS // max(1, clip.width * clip.height)))
    return oc.Clip(source, tuple(at * (clip.frames - 1) // (shown - 1) for at in range(shown)))


def _footage(path: Path) -> Footage | None:
    from overread.imaging import Unplayable, is_dicom, probe_dicom, probe_nifti, probe_video

    # In an archive or a table, not there, or above the root: said where it is opened.
    if not path.is_file() or ".." in path.parts:
        return None
    name = path.name.lower()
    try:
        if name.endswith(_VIDEOS):
            return probe_video(path)
        if name.endswith(_VOLUMES):
            return probe_nifti(path)
        return probe_dicom(path) if is_dicom(path) else None
    except Unplayable as error:
        raise BadInput(f"{path}: {error}. Mend the file, or take its row out.") from None
