"""CAMUS: database_nifti/patientNNNN with Info_4CH.cfg and NIfTI sequences.

NIfTI is read by nibabel, which `pip install "overread[nifti]"` brings.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

from overread.benchmarks.heartbeat.cases import HeartbeatCase, Left
from overread.benchmarks.heartbeat.clips import case_of
from overread.benchmarks.heartbeat.edition import Edition
from overread.benchmarks.heartbeat.footage import Footage, Unplayable, bare
from overread.benchmarks.heartbeat.sampling import draw, take
from overread.case import BadInput
from overread.files import MOST_TOML, read_text, whole

__all__ = ["DATABASE", "load", "patients_of", "probe_nifti"]

DATABASE: Final = "database_nifti"
_SPLITS: Final = "database_split"
_SUBGROUPS: Final = {"TRAIN": "training", "VAL": "validation", "TEST": "testing"}


def patients_of(folder: Path) -> list[Path]:
    """The folders of the patients, of the whole set or of its database_nifti."""
    home = folder / DATABASE if (folder / DATABASE).is_dir() else folder
    return sorted(path for path in home.glob("patient*") if path.is_dir())


def load(
    folder: Path,
    edition: Edition,
    *,
    split: str | None,
    videos: int,
    seed: int,
    view: str = "4CH",
) -> tuple[list[HeartbeatCase], list[Left]]:
    """Cases of the four-chamber sequences, and the patients left out.

    The cfg's frames are counted from 1 and name the phases, so nothing has to be decided. The
    sequences are half cycles: from one phase to the other, rarely more. TRAIN, VAL and TEST are
    the lists in database_split; where these are missing every patient is taken.
    """
    from overread.imaging import nifti_package

    nifti_package(str(folder))  # without it no patient could be opened
    patients = {path.name: path for path in patients_of(folder)}
    if not patients:
        raise BadInput(f"{folder} has no folder patient0001 or the like. Give CAMUS's own folder.")
    chosen = _subgroup(folder, split)
    names = [name for name in patients if chosen is None or name in chosen]
    if not names:
        raise BadInput(f'{folder} has no patient of the split "{split}". Give another split.')

    def read(name: str) -> HeartbeatCase | Left:
        return _case(folder, patients[name], view, split if chosen is not None else None)

    if edition.name == "authors":
        return take(names, read, videos)
    return draw(names, read, videos, seed)


def probe_nifti(path: Path) -> Footage:
    """Frames and size from the header; the array's axes are x, y, t."""
    from overread.imaging import nifti_shape

    if not path.is_file():
        raise Unplayable("the file is not there")
    try:
        return Footage(*nifti_shape(path, path.name))
    except BadInput as error:
        raise Unplayable(bare(error, path.name)) from None


def _case(folder: Path, patient: Path, view: str, split: str | None) -> HeartbeatCase | Left:
    case_id = f"{patient.name}_{view}"
    sequence = patient / f"{case_id}_half_sequence.nii.gz"
    masks = patient / f"{case_id}_half_sequence_gt.nii.gz"
    clip = sequence.relative_to(folder).as_posix()
    try:
        facts = _info(patient / f"Info_{view}.cfg")
        footage = probe_nifti(sequence)
    except Unplayable as why:
        return Left(case_id, f"{clip}: {why}")
    if footage.frames != facts["frames"]:
        return Left(
            case_id,
            f"{clip}: Info_{view}.cfg says {facts['frames']} frames and the sequence has "
            f"{footage.frames}",
        )
    return case_of(
        folder,
        clip,
        case_id=case_id,
        ed=facts["ED"] - 1,
        es=facts["ES"] - 1,
        footage=footage,
        fps=facts["fps"],
        patient=patient.name,
        view={"4CH": "A4C", "2CH": "A2C"}.get(view, view),
        sex=facts["sex"],
        age=facts["age"],
        ef=facts["ef"],
        split=split,
        mask=masks.relative_to(folder).as_posix() if masks.is_file() else None,
    )


def _info(path: Path) -> dict[str, Any]:
    """The lines `name: value` of a cfg."""
    try:
        lines = read_text(path, at_most=MOST_TOML).splitlines()
    except BadInput:
        raise Unplayable(f"its {path.name} cannot be read") from None
    cells = {key.strip(): value.strip() for key, _, value in (x.partition(":") for x in lines)}
    stated: dict[str, Any] = {}
    for name in ("ED", "ES", "NbFrame"):
        value = cells.get(name, "")
        number = whole(value) if value.isascii() and value.isdigit() else None
        if number is None or number < 1:
            raise Unplayable(f'{path.name}: {name} is "{value[:40]}"; it is a whole number from 1')
        stated[name] = number
    return {
        "ED": stated["ED"],
        "ES": stated["ES"],
        "frames": stated["NbFrame"],
        "sex": cells.get("Sex") or None,
        **{ours: _number(cells.get(name)) for ours, name in _OPTIONAL.items()},
    }


_OPTIONAL: Final = {"age": "Age", "ef": "EF", "fps": "FrameRate"}


def _number(text: str | None) -> float | None:
    try:
        return float(text) if text else None
    except ValueError:
        return None


def _subgroup(folder: Path, split: str | None) -> set[str] | None:
    """The patients of a split, or None where all are meant."""
    lists = next((p / _SPLITS for p in (folder, folder.parent) if (p / _SPLITS).is_dir()), None)
    if split is None or lists is None:
        return None
    path = lists / f"subgroup_{_SUBGROUPS.get(split, split)}.txt"
    if not path.exists():
        known = ", ".join(_SUBGROUPS)
        raise BadInput(f'{lists} has no {path.name}: split is "{split}"; give {known}.')
    return set(read_text(path).split())
