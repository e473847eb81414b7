"""EchoNet-Dynamic: FileList.csv, VolumeTracings.csv and Videos/*.avi as Stanford hands them out."""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import msgspec

from overread.benchmarks.files.tables import (
    Table,
    distinct,
    filled,
    matching,
    numbers,
    read_table,
    refuse_first,
)
from overread.benchmarks.heartbeat.annotation import (
    Phases,
    by_stem,
    keyed,
    positional,
    read_tracings,
    stem,
)
from overread.benchmarks.heartbeat.cases import HeartbeatCase, Left
from overread.benchmarks.heartbeat.clips import case_of
from overread.benchmarks.heartbeat.edition import Edition
from overread.benchmarks.heartbeat.sampling import draw, take
from overread.case import BadInput

__all__ = [
    "FILE_LIST",
    "TRACINGS",
    "VIDEOS",
    "check_names",
    "in_split",
    "load",
    "unusable",
    "usable",
    "without_nan",
]

FILE_LIST: Final = "FileList.csv"
TRACINGS: Final = "VolumeTracings.csv"
VIDEOS: Final = "Videos"
_NUMBERS: Final = ("EF", "FrameHeight", "FrameWidth", "FPS", "NumberOfFrames")


def load(
    folder: Path, edition: Edition, *, split: str | None, videos: int, seed: int
) -> tuple[list[HeartbeatCase], list[Left]]:
    """Cases of an EchoNet-Dynamic folder, and the clips left out.

    `authors`: the first `videos` names of the tracings, of any split, labelled by their join.
    `corrected`: a seeded sample of the split's clips that have exactly two traced frames.
    """
    listed = _listed(folder / FILE_LIST)
    traced = read_tracings(folder / TRACINGS)

    def read(name: str) -> HeartbeatCase | Left:
        found = phases[name]
        if isinstance(found, Left):
            return found
        return _case(folder, name, found, listed.get(name, {}))

    if edition.annotation == "positional":
        phases = by_stem(positional(traced))
        return take(list(phases), read, videos)
    phases = by_stem(keyed(traced))
    names = in_split(listed, split, folder / FILE_LIST)
    cases, left = draw(usable(names, phases), read, videos, seed)
    return cases, [*left, *unusable(names, listed, phases)]


def usable(names: Iterable[str], phases: Mapping[str, Phases | Left]) -> list[str]:
    """Clips whose two phases are known, in the order of the list."""
    return [name for name in names if isinstance(phases.get(name), Phases)]


def unusable(
    names: Iterable[str], listed: Container[str], phases: Mapping[str, Phases | Left]
) -> list[Left]:
    """Clips of the split whose tracings do not say which frame is which, and clips not listed."""
    nothing = "no frame is traced; two are needed"
    found = (phases.get(name, Left(name, nothing)) for name in names)
    unlisted = (
        Left(name, f"it is traced, but {FILE_LIST} does not list it")
        for name in phases
        if name not in listed
    )
    return [*(each for each in found if isinstance(each, Left)), *unlisted]


def in_split(listed: Mapping[str, Mapping[str, Any]], split: str | None, path: Path) -> list[str]:
    """The names of a split in the list's order, or all where none is asked for."""
    if split is None:
        return list(listed)
    names = [name for name, facts in listed.items() if facts["split"] == split]
    if not names:
        known = ", ".join(sorted({str(facts["split"]) for facts in listed.values()}))
        raise BadInput(f'{path} has no clip of the split "{split}"; its splits are {known}.')
    return names


def _case(
    folder: Path, name: str, phases: Phases, facts: Mapping[str, Any]
) -> HeartbeatCase | Left:
    return case_of(
        folder,
        f"{VIDEOS}/{name}.avi",
        case_id=name,
        ed=phases.ed,
        es=phases.es,
        stated=facts.get("frames"),
        ed_volume=phases.ed_volume,
        es_volume=phases.es_volume,
        fps=facts.get("fps"),
        ef=facts.get("ef"),
        split=facts.get("split"),
        view="A4C",
    )


def _listed(path: Path) -> dict[str, dict[str, Any]]:
    """FileList by name without `.avi`, in its order."""
    table = without_nan(read_table(path, ("FileName", *_NUMBERS, "Split")), _NUMBERS)
    check_names(table)
    filled(table, "Split")
    ef, _, _, fps, frames = (numbers(table, name, "it is a number", least=0) for name in _NUMBERS)
    return {
        stem(name): {"ef": e, "fps": f, "frames": None if n is None else int(n), "split": s}
        for name, e, f, n, s in zip(
            *(table.frame["FileName"], ef, fps, frames, table.frame["Split"]), strict=True
        )
    }


def without_nan(table: Table, columns: Sequence[str]) -> Table:
    """Cells that say NaN are empty: what is not known of a clip does not keep it out."""
    import polars as pl

    words = (pl.col(name) for name in columns)
    frame = table.frame.with_columns(
        pl.when(word.str.to_lowercase() != "nan").then(word) for word in words
    )
    return msgspec.structs.replace(table, frame=frame)


def check_names(table: Table) -> None:
    """Every row names one file of the folder of videos, and no row names another's."""
    filled(table, "FileName")
    matching(table, "FileName", r"[^/\\\x00]*[^/\\.\x00][^/\\\x00]*", "it is a file's plain name")
    distinct(table, "FileName")
    names = table.frame["FileName"]
    again = names.str.ends_with(".avi") & names.str.strip_suffix(".avi").is_in(names.to_list())
    refuse_first(table, again, "FileName", "it is listed without .avi as well")
