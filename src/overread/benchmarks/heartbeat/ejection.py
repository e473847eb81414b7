"""The ejection fraction at the frames a reader names (HEARTBEAT 7 and 9).

No code for it is published. Ours: per pass, volumes at the two named frames, in-range frames only,
negative values kept, the number of videos and of passes left out reported. Models that predict the
ejection fraction themselves stand beside the readers.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Final, Literal

import numpy as np
from numpy.typing import NDArray

from overread.benchmarks.files.fields import read_fields
from overread.benchmarks.files.tables import columns_of
from overread.benchmarks.heartbeat.marks import (
    Average,
    Marks,
    ejection_fraction,
    filled_up,
    mean_over,
)
from overread.benchmarks.heartbeat.study import HeartRun, made_spec, mean_estimate
from overread.case import BadInput, Measure
from overread.measuring.estimates import Estimate, Floats
from overread.measuring.notes import joined
from overread.measuring.units import AMOUNT

if TYPE_CHECKING:
    import polars as pl

# ---------------------------------------- sheets of models that predict it themselves (HEARTBEAT 7)

_CASE_COLUMNS: Final = ("case", "case_id", "clip", "FileName", "filename", "Filename", "video")
_EF_COLUMNS: Final = ("ef", "EF", "predicted_ef", "prediction", "pred")

SpecialistRows = list[tuple[str, str, str, float]]
"""Of a sheet: model, video, where it stands, and EF in per cent."""


def read_specialists(paths: str) -> SpecialistRows:
    """The rows of one or more csv files: a column of videos, one of EF, perhaps one of `model`.

    Without the column `model` the file's name is the model's. EF is in per cent; a file whose
    values all lie between 0 and 1 is refused rather than multiplied by a guess.
    """
    found: SpecialistRows = []
    for path in (Path(part.strip()) for part in paths.split(",")):
        found.extend(_specialist_sheet(path))
    return found


def _specialist_sheet(path: Path) -> SpecialistRows:
    if not path.is_file():
        raise BadInput(f"--set specialist={path}: there is no such file.")
    header = columns_of(path)
    case, ef = (_one_column(path, header, names) for names in (_CASE_COLUMNS, _EF_COLUMNS))
    found: SpecialistRows = []
    need = "EF is a number in per cent, or empty"
    for row in read_fields(path, (case, ef)):
        video = row.required(case, "it names a video")
        if row.fact(ef) is not None:
            value = row.number(ef, need, low=-100, high=100)
            found.append((row.fact("model") or path.stem, video, row.where, value))
    if not found:
        raise BadInput(f"--set specialist={path}: no EF stands there. Give a row per video.")
    if all(0 <= row[3] <= 1 for row in found):
        raise BadInput(
            f"--set specialist={path}: every {ef} lies between 0 and 1; EF is in per cent, as 55.2."
        )
    return found


def _one_column(path: Path, header: Iterable[str], names: tuple[str, ...]) -> str:
    found = [name for name in names if name in header]
    if len(found) != 1:
        have = " and ".join(found) or "none"
        raise BadInput(
            f"--set specialist={path}: it needs one column of {', '.join(names)}; it has {have}."
        )
    return found[0]


def predicted_ef(rows: SpecialistRows, cases: pl.DataFrame) -> dict[str, dict[str, float]]:
    """Each model's EF by case.

    A video is known by its case, its path, its file's name, or that without the ending. A sheet may
    hold more videos than the run has; one that names none of them is refused. A video with several
    cases (beats) gives its EF to each.
    """
    known: dict[str, set[str]] = {}
    for case, clip in cases.select("case", "clip").iter_rows():
        path = PurePosixPath(clip)
        for name in {case, clip, path.name, path.stem}:
            known.setdefault(name, set()).add(case)
    found: dict[str, dict[str, float]] = {}
    for model, video, where, ef in rows:
        own = found.setdefault(model, {})
        for case in sorted(known.get(video, ())):
            if own.setdefault(case, ef) != ef:
                raise BadInput(f'{where}: {model} has two EF of "{video}". Keep one.')
    for model, own in found.items():
        if not own:
            raise BadInput(
                f"--set specialist: {model} names no video of this run. Name them as the cases are."
            )
    return found


# ---------------------------------------------------------------- at the frames a reader names


def true_ef(run: HeartRun) -> tuple[Floats, str]:
    """The stated EF, else that of the traced volumes (both in the facts), else of these volumes."""
    facts = run.facts
    found = facts.ef.copy()
    own = ejection_fraction(*(_volume_at(run, frames) for frames in (facts.ed, facts.es)))
    filled = np.isnan(found) & ~np.isnan(own)
    found[filled] = own[filled]
    how = f"{int(filled.sum())} true EF from the volumes at the true frames" if filled.any() else ""
    return found, how


def frame_table(run: HeartRun, of: Literal["volumes", "areas"]) -> tuple[Floats, NDArray[np.int64]]:
    """A value per frame of each video as one table, NaN beyond its end, and the videos' lengths."""
    values = run.volumes if of == "volumes" else run.areas

    def made() -> tuple[Floats, NDArray[np.int64]]:
        rows = [np.asarray(values.get(case, ()), float) for case in run.cases]
        lengths = np.array([row.size for row in rows], dtype=np.int64)
        return filled_up(rows, least=1), lengths

    return run.once((of,), made)


def _volume_at(run: HeartRun, frames: Floats) -> Floats:
    """The volume of each video at these absolute frames; NaN where there is none."""
    table, lengths = frame_table(run, "volumes")
    shape = (-1,) + (1,) * (frames.ndim - 1)
    there = (frames >= 0) & (frames < lengths.reshape(shape))
    place = np.where(there, frames, 0).astype(np.int64)
    video = np.arange(table.shape[0]).reshape(shape)
    return np.where(there, table[video, place], np.nan)


def _pair_of_phases(marks: Marks, run: HeartRun) -> tuple[Marks, Marks, str | None] | None:
    """Whose ED and whose ES: a pair format's own, or the two single formats' put together."""
    if len(marks.phases) == 2:
        return marks, marks, None
    other = run.like(marks, format="esv") if marks.format == "edv" else None
    if other is None or other.codes.shape != marks.codes.shape:
        return None
    return marks, other, "ED of edv and ES of esv, paired by seed and pass"


def _ef_mae(run: HeartRun, marks: Marks) -> Iterator[Estimate]:
    pair = _pair_of_phases(marks, run) if run.volumes and marks.task == "t1" else None
    if pair is None:
        return
    of_ed, of_es, how = pair
    truth, filled = true_ef(run)
    inside = of_ed.inside("ed") & of_es.inside("es")
    for name in ("ef_mae", "ef_mae_clipped"):
        if name == "ef_mae":
            ed = np.where(inside, of_ed.said["ed"], np.nan)
            es = np.where(inside, of_es.said["es"], np.nan)
        else:
            ed, es = of_ed.clipped("ed"), of_es.clipped("es")
        # Of every pass, in percentage points.
        at = (_volume_at(run, marks.start[:, :, None] + frames) for frames in (ed, es))
        error = np.abs(ejection_fraction(*at) - truth[:, None, None])
        told = ~(np.isnan(of_ed.said["ed"]) | np.isnan(of_es.said["es"]))
        lost = int((told & np.isnan(error)).sum())
        note = joined(
            how,
            f"volumes: {run.volume_method}" if run.volume_method else None,
            filled,
            f"{lost} of {int(told.sum())} passes out of range or without a volume" if lost else "",
        )
        yield mean_estimate(
            Measure(reader=marks.reader, measure=name, by=marks.by(), note=note),
            Average(mean_over(error, axis=2), run.over),
            AMOUNT.limits,
            nothing="no pass has a volume at both frames and a true EF",
        )


def specialist_measures(name: str, predicted: Mapping[str, float], run: HeartRun) -> list[Measure]:
    """A model that predicts EF itself, beside the readers: its `ef_mae` over its videos."""
    said = np.array([predicted.get(case, np.nan) for case in run.cases], dtype=float)
    truth, filled = true_ef(run)
    made = mean_estimate(
        Measure(reader=name, measure="ef_mae", by={"task": "t1"}, note=filled or None),
        Average(np.abs(said - truth)[:, None], "videos"),
        AMOUNT.limits,
        nothing="no video has both EF",
    )
    return run.finish([made])


_CLIPPED: Final = "the same with answers moved into the frames shown"

EF_SPECS: Final = (
    made_spec(
        "ef_mae", "error of EF at the named frames, percentage points", _ef_mae, AMOUNT, "lower"
    ),
    made_spec("ef_mae_clipped", _CLIPPED, unit=AMOUNT, better="lower"),  # made with it
)
