"""The ejection fraction at the frames a reader names (HEARTBEAT 7 and 9).

No code for it is published. Ours: per pass, volumes at the two named frames, in-range frames only,
negative values kept, the number of videos and of passes left out reported.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from overread.benchmarks.heartbeat.errors import Average, mean_over
from overread.benchmarks.heartbeat.marks import Floats, Marks
from overread.benchmarks.heartbeat.study import Draft, Metric, Study, draft, joined
from overread.case import Measure

__all__ = [
    "METRICS",
    "ejection_fraction",
    "frame_table",
    "specialist",
    "true_ef",
    "volume_table",
]


def ejection_fraction(ed_volume: Floats, es_volume: Floats) -> Floats:
    """100 (V_ED - V_ES) / V_ED in per cent; negative values stay, NaN where V_ED is not above 0."""
    safe = np.where(ed_volume > 0, ed_volume, np.nan)
    found: Floats = 100 * (ed_volume - es_volume) / safe
    return found


def true_ef(study: Study) -> tuple[Floats, str]:
    """The stated EF, else that of the traced volumes (both in the facts), else of these volumes."""
    facts = study.facts
    found = facts.ef.copy()
    table, lengths = volume_table(study)
    ed, es = (_at(table, lengths, frames) for frames in (facts.ed, facts.es))
    own = ejection_fraction(ed, es)
    filled = np.isnan(found) & ~np.isnan(own)
    found[filled] = own[filled]
    how = f"{int(filled.sum())} true EF from the volumes at the true frames" if filled.any() else ""
    return found, how


def volume_table(study: Study) -> tuple[Floats, NDArray[np.int64]]:
    """The volumes as one table, a row per video, NaN beyond its end."""
    return frame_table(study, "volumes", study.volumes)


def frame_table(
    study: Study, name: str, values: Mapping[str, Any]
) -> tuple[Floats, NDArray[np.int64]]:
    """A value per frame of each video as one table, NaN beyond its end, and the videos' lengths."""
    if name not in study.kept:
        rows = [np.asarray(values.get(case, ()), float) for case in study.facts.cases]
        lengths = np.array([row.size for row in rows], dtype=np.int64)
        table = np.full((len(rows), max(1, int(lengths.max(initial=0)))), np.nan)
        for place, row in enumerate(rows):
            table[place, : row.size] = row
        study.kept[name] = (table, lengths)
    found: tuple[Floats, NDArray[np.int64]] = study.kept[name]
    return found


def _at(table: Floats, lengths: NDArray[np.int64], frames: Floats) -> Floats:
    """The volume of each video at these absolute frames; NaN where there is none."""
    shape = (-1,) + (1,) * (frames.ndim - 1)
    there = (frames >= 0) & (frames < lengths.reshape(shape))
    place = np.where(there, frames, 0).astype(np.int64)
    video = np.arange(table.shape[0]).reshape(shape)
    return np.where(there, table[video, place], np.nan)


def _pair(marks: Marks, study: Study) -> tuple[Marks, Marks, str | None] | None:
    """Whose ED and whose ES: a pair format's own, or the two single formats' put together."""
    if len(marks.phases) == 2:
        return marks, marks, None
    if marks.format != "edv":
        return None
    for other in study.marks:
        same = (other.reader, other.task, other.context) == (
            marks.reader,
            marks.task,
            marks.context,
        )
        if same and other.format == "esv" and other.codes.shape == marks.codes.shape:
            return marks, other, "ED of edv and ES of esv, paired by seed and pass"
    return None


def _ef_mae(marks: Marks, study: Study) -> Iterator[Draft | Measure]:
    if not study.volumes:
        return
    pair = _pair(marks, study)
    if pair is None:
        return
    of_ed, of_es, how = pair
    truth, filled = true_ef(study)
    method = f"volumes: {study.volume_method}" if study.volume_method else None
    for name, clipped in (("ef_mae", False), ("ef_mae_clipped", True)):
        inside = of_ed.inside("ed") & of_es.inside("es")
        if clipped:
            ed, es = of_ed.clipped("ed"), of_es.clipped("es")
        else:
            ed = np.where(inside, of_ed.said["ed"], np.nan)
            es = np.where(inside, of_es.said["es"], np.nan)
        error = _errors(study, truth, marks.start, ed, es)
        told = ~(np.isnan(of_ed.said["ed"]) | np.isnan(of_es.said["es"]))
        lost = int((told & np.isnan(error)).sum())
        average = Average(mean_over(error, axis=2), study.over)
        note = joined(
            how,
            method,
            filled,
            f"{lost} of {int(told.sum())} passes out of range or without a volume" if lost else "",
            None if average.n else "no pass has a volume at both frames and a true EF",
        )
        record = Measure(reader=marks.reader, measure=name, by=marks.by(), note=note)
        yield draft(record, average, unit=1.0, limits=(0.0, np.inf))


def _errors(study: Study, truth: Floats, start: Floats, ed: Floats, es: Floats) -> Floats:
    """|EF at the named frames - true EF| of every pass, in percentage points."""
    table, lengths = volume_table(study)
    at_ed, at_es = (_at(table, lengths, start[:, :, None] + frames) for frames in (ed, es))
    return np.abs(ejection_fraction(at_ed, at_es) - truth[:, None, None])


def specialist(name: str, predicted: Mapping[str, float], study: Study) -> list[Measure]:
    """A model that predicts EF itself, beside the readers: its `ef_mae` over its videos."""
    said = np.array([predicted.get(case, np.nan) for case in study.facts.cases], dtype=float)
    truth, filled = true_ef(study)
    average = Average(np.abs(said - truth)[:, None], "videos")
    note = joined(filled, None if average.n else "no video has both EF")
    record = Measure(reader=name, measure="ef_mae", by={"task": "t1"}, note=note)
    made = draft(record, average, unit=1.0, limits=(0.0, np.inf))
    return study.finish([made])


METRICS: Final[tuple[Any, ...]] = (
    Metric(
        name="ef_mae",
        says="error of EF at the named frames, percentage points",
        tasks=("t1",),
        make=_ef_mae,
    ),
)
