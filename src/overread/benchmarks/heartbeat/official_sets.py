"""The published sets of echo clips, as they are handed out.

EchoNet-Dynamic: FileList.csv, VolumeTracings.csv and Videos/*.avi. EchoNet-Pediatric: the same per
view, with polygons for tracings. CAMUS: database_nifti/patientNNNN with Info_4CH.cfg and NIfTI
sequences, read by nibabel, which `pip install "overread[nifti]"` brings.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping
from pathlib import Path
from typing import Any, Final

import msgspec
import numpy as np
import polars as pl

from overread.benchmarks.base import Left
from overread.benchmarks.files import tables
from overread.benchmarks.heartbeat.authors.rules import positional
from overread.benchmarks.heartbeat.cases import (
    Drawn,
    HeartbeatCase,
    Phases,
    Traced,
    by_stem,
    case_of,
    draw_cases,
    groups_of,
    keyed,
    read_tracings,
    readings,
    sampled,
    stem,
)
from overread.benchmarks.heartbeat.edition import Edition, Options
from overread.case import BadInput
from overread.files import MOST_TOML, read_text, whole
from overread.imaging import Unplayable, probe_nifti

# ---------------------------------------------------------------- EchoNet-Dynamic

FILE_LIST: Final = "FileList.csv"
TRACINGS: Final = "VolumeTracings.csv"
VIDEOS: Final = "Videos"
_DYNAMIC_NUMBERS: Final = {
    "EF": "ef", "FrameHeight": "", "FrameWidth": "", "FPS": "fps", "NumberOfFrames": "frames",
}  # fmt: skip


def load_dynamic(folder: Path, edition: Edition, options: Options) -> Drawn:
    """Cases of an EchoNet-Dynamic folder, and the clips left out.

    `authors`: the first `videos` names of the tracings, of any split, labelled by their join.
    `corrected`: a seeded sample of the split's clips that have exactly two traced frames.
    """
    listed = _file_list(folder / FILE_LIST, _DYNAMIC_NUMBERS, {"Split": "split"})
    traced = read_tracings(folder / TRACINGS)
    theirs = edition.annotation == "positional"
    phases = by_stem(positional(traced) if theirs else keyed(traced))

    def read(name: str) -> HeartbeatCase | Left:
        found = phases[name]
        if isinstance(found, Left):
            return found
        facts = {"view": "A4C", **listed.get(name, {}), **msgspec.structs.asdict(found)}
        frames = facts.pop("frames", None)
        stated = None if frames is None else int(frames)
        clip = f"{VIDEOS}/{name}.avi"
        return case_of(folder, clip, case_id=name, stated=stated, **facts)

    if theirs:
        return draw_cases(list(phases), read, options.videos, None)
    names = in_split(listed, options.split, folder / FILE_LIST)
    usable, unusable = _parted(names, listed, phases)
    cases, left = draw_cases(usable, read, options.videos, edition.seed)
    return cases, [*left, *unusable]


def _parted(
    names: Iterable[str], listed: Container[str], phases: Mapping[str, Phases | Left]
) -> tuple[list[str], list[Left]]:
    """Clips of the split whose two phases are known, in the order of the list, and those without.

    Clips that are traced and not listed are among the latter.
    """
    untraced = "no frame is traced; two are needed"
    found = {name: phases.get(name, Left(name, untraced)) for name in names}
    usable = [name for name, one in found.items() if isinstance(one, Phases)]
    left = [one for one in found.values() if isinstance(one, Left)]
    unlisted = f"it is traced, but {FILE_LIST} does not list it"
    return usable, [*left, *(Left(name, unlisted) for name in phases if name not in listed)]


def in_split(listed: Mapping[str, Mapping[str, Any]], split: str | None, path: Path) -> list[str]:
    """The names of a split in the list's order, or all where none is asked for."""
    if split is None:
        return list(listed)
    names = [name for name, facts in listed.items() if facts["split"] == split]
    if not names:
        known = ", ".join(sorted({str(facts["split"]) for facts in listed.values()}))
        raise BadInput(f'{path} has no clip of the split "{split}"; its splits are {known}.')
    return names


def _file_list(
    path: Path, numeric: Mapping[str, str], texts: Mapping[str, str]
) -> dict[str, dict[str, Any]]:
    """FileList by name without `.avi`, in its order, under our names; one we have not is checked.

    Cells that say NaN are empty: what is not known of a clip does not keep it out.
    """
    table = tables.read_table(path, ("FileName", *numeric, *texts))
    words = (pl.col(name) for name in numeric)
    known = (pl.when(word.str.to_lowercase() != "nan").then(word) for word in words)
    table = msgspec.structs.replace(table, frame=table.frame.with_columns(known))
    _check_names(table)
    tables.filled(table, "Split")
    columns = {
        **{
            ours: tables.numbers(table, name, "it is a number", least=0)
            for name, ours in numeric.items()
        },
        **{ours: table.frame[name] for name, ours in texts.items()},
    }
    columns.pop("", None)
    rows = zip(table.frame["FileName"], *columns.values(), strict=True)
    return {stem(name): dict(zip(columns, row, strict=True)) for name, *row in rows}


def _check_names(table: tables.Table) -> None:
    """Every row names one file of the folder of videos, and no row names another's."""
    tables.filled(table, "FileName")
    tables.matching(
        table, "FileName", r"[^/\\\x00]*[^/\\.\x00][^/\\\x00]*", "it is a file's plain name"
    )
    tables.distinct(table, "FileName")
    names = table.frame["FileName"]
    again = names.str.ends_with(".avi") & names.str.strip_suffix(".avi").is_in(names.to_list())
    tables.refuse_first(table, again, "FileName", "it is listed without .avi as well")


# ---------------------------------------------------------------- EchoNet-Pediatric

PEDIATRIC_VIEWS: Final = ("A4C", "PSAX")


def has_polygons(folder: Path) -> bool:
    """Whether a folder's tracings are this set's, not EchoNet-Dynamic's chords."""
    path = folder / TRACINGS
    return path.is_file() and {"X", "Y"} <= set(tables.columns_of(path))


def load_pediatric(folder: Path, edition: Edition, options: Options) -> Drawn:
    """Cases of one view, from the whole set's folder or from the view's own.

    The whole set means its apical four-chamber clips, which is what the questions speak of. The
    polygon with the larger area is ED; an area is no volume, so none is given. Splits are ten
    folds, "0" to "9"; EchoNet-Dynamic's names of splits mean nothing here and take all of them.
    """
    inside, view = "A4C/", "A4C"
    if (folder / FILE_LIST).is_file():
        inside, own = "", folder.resolve().name
        view = own if own in PEDIATRIC_VIEWS else view
    home = folder / inside
    texts = {"Sex": "sex", "Split": "split"}
    listed = _file_list(home / FILE_LIST, {"EF": "ef", "Age": "age"}, texts)
    phases = by_stem(keyed(read_polygons(home / TRACINGS), "areas"))
    split = None if options.split in ("TRAIN", "VAL", "TEST") else options.split
    names = in_split(listed, split, home / FILE_LIST)

    def read(name: str) -> HeartbeatCase | Left:
        found = phases[name]
        if isinstance(found, Left):
            return found
        clip = f"{inside}{VIDEOS}/{name}.avi"
        facts = listed[name] | {"ed": found.ed, "es": found.es, "view": view}
        return case_of(folder, clip, case_id=name, **facts)

    usable, unusable = _parted(names, listed, phases)
    cases, left = sampled(usable, read, edition, options)
    return cases, [*left, *unusable]


def read_polygons(path: Path) -> list[Traced]:
    """Every traced frame with the area of its polygon, sorted by (file, frame).

    Rows whose Frame is not a whole number mark a phase that was not traced; they are passed over.
    """
    table = tables.read_table(path, ("FileName", "X", "Y", "Frame"))
    tables.filled(table, "FileName")
    kept = table.frame["Frame"].str.contains(r"^\d+$").fill_null(value=False)
    x, y = (readings(table, name).filter(kept).to_numpy() for name in ("X", "Y"))
    files = table.frame["FileName"].filter(kept).to_list()
    frames = table.frame["Frame"].filter(kept).cast(pl.Int64).to_numpy()
    found = []
    for (file, frame), rows in groups_of(files, frames):
        # The shoelace formula, about the first point so that nothing large cancels.
        px, py = x[rows] - x[rows[0]], y[rows] - y[rows[0]]
        area = abs(float(np.sum(px * np.roll(py, -1) - py * np.roll(px, -1)))) / 2
        found.append(Traced(file, frame, area, int(rows[0])))
    return found


# ---------------------------------------------------------------- CAMUS

CAMUS_DATABASE: Final = "database_nifti"
_CAMUS_SPLITS: Final = "database_split"
_CAMUS_SUBGROUPS: Final = {"TRAIN": "training", "VAL": "validation", "TEST": "testing"}


def camus_patients(folder: Path) -> list[Path]:
    """The folders of the patients, of the whole set or of its database_nifti."""
    home = folder / CAMUS_DATABASE if (folder / CAMUS_DATABASE).is_dir() else folder
    return sorted(path for path in home.glob("patient*") if path.is_dir())


def load_camus(folder: Path, edition: Edition, options: Options) -> Drawn:
    """Cases of the four-chamber sequences, and the patients left out.

    The cfg's frames are counted from 1 and name the phases, so nothing has to be decided. The
    sequences are half cycles: from one phase to the other, rarely more. TRAIN, VAL and TEST are
    the lists in database_split; where these are missing every patient is taken.
    """
    from overread.imaging import nifti_package

    nifti_package(str(folder))  # without it no patient could be opened
    patients = {path.name: path for path in camus_patients(folder)}
    if not patients:
        raise BadInput(f"{folder} has no folder patient0001 or the like. Give CAMUS's own folder.")
    split = options.split
    chosen = _camus_subgroup(folder, split)
    names = [name for name in patients if chosen is None or name in chosen]
    if not names:
        raise BadInput(f'{folder} has no patient of the split "{split}". Give another split.')
    known_split = None if chosen is None else split

    def read(name: str) -> HeartbeatCase | Left:
        return _camus_case(folder, patients[name], known_split)

    return sampled(names, read, edition, options)


def _camus_case(folder: Path, patient: Path, split: str | None) -> HeartbeatCase | Left:
    case_id = f"{patient.name}_4CH"
    sequence = patient / f"{case_id}_half_sequence.nii.gz"
    masks = patient / f"{case_id}_half_sequence_gt.nii.gz"
    clip = sequence.relative_to(folder).as_posix()
    try:
        facts = _read_cfg(patient / "Info_4CH.cfg")
        footage = probe_nifti(sequence)
        if footage.frames != (stated := facts.pop("frames")):
            words = f"Info_4CH.cfg says {stated} frames and the sequence has {footage.frames}"
            raise Unplayable(words)
    except Unplayable as why:
        return Left(case_id, f"{clip}: {why}")
    return case_of(
        folder,
        clip,
        case_id=case_id,
        footage=footage,
        patient=patient.name,
        view="A4C",
        split=split,
        mask=masks.relative_to(folder).as_posix() if masks.is_file() else None,
        **facts,
    )


def _read_cfg(path: Path) -> dict[str, Any]:
    """The lines `name: value` of a cfg, under our names; frames from 0, as ours are."""
    try:
        lines = read_text(path, at_most=MOST_TOML).splitlines()
    except BadInput:
        raise Unplayable(f"its {path.name} cannot be read") from None
    cells = {key.strip(): value.strip() for key, _, value in (x.partition(":") for x in lines)}
    found: dict[str, Any] = {"sex": cells.get("Sex") or None}
    for ours, name in {"ed": "ED", "es": "ES", "frames": "NbFrame"}.items():
        value = cells.get(name, "")
        number = whole(value) if value.isascii() and value.isdigit() else None
        if number is None or number < 1:
            raise Unplayable(f'{path.name}: {name} is "{value[:40]}"; it is a whole number from 1')
        found[ours] = number if ours == "frames" else number - 1
    for ours, name in {"age": "Age", "ef": "EF", "fps": "FrameRate"}.items():
        try:
            found[ours] = float(cells.get(name) or "nothing")
        except ValueError:
            found[ours] = None
    return found


def _camus_subgroup(folder: Path, split: str | None) -> set[str] | None:
    """The patients of a split, or None where all are meant."""
    lists = next(
        (p / _CAMUS_SPLITS for p in (folder, folder.parent) if (p / _CAMUS_SPLITS).is_dir()), None
    )
    if split is None or lists is None:
        return None
    path = lists / f"subgroup_{_CAMUS_SUBGROUPS.get(split, split)}.txt"
    if not path.exists():
        known = ", ".join(_CAMUS_SUBGROUPS)
        raise BadInput(f'{lists} has no {path.name}: split is "{split}"; give {known}.')
    return set(read_text(path).split())
