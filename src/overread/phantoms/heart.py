"""A set of synthetic four-chamber echo clips on disk, with a csv that `clip_folder` reads.

Every heart is made up, so its volume in every frame is exact and anyone may share it. The clips are
for testing instruments, never for training or judging a clinical model.
"""

from __future__ import annotations

import io
import zipfile
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import numpy.typing as npt

from overread.imaging import lossless_clip
from overread.phantoms.heart_body import (
    Motion,
    Patient,
    Rhythm,
    Volumes,
    cavity,
    motion,
    opening,
    patient,
    rhythm,
    volumes,
)
from overread.phantoms.heart_echo import Frames, echo
from overread.phantoms.sets import Job, SetMaker, write_csv

CLIPS, MASKS, VOLUMES = "clips", "masks", "volumes"
_TRIES = 40


class Heart(msgspec.Struct, frozen=True):
    """A clip and its truth. Volumes are in pixels cubed."""

    person: Patient
    rhythm: Rhythm
    frames: Frames
    masks: npt.NDArray[np.bool_]
    volumes: Volumes


class Made(msgspec.Struct, frozen=True):
    """What is known of a finished clip."""

    name: str
    sex: str
    age: int
    frames: int
    fps: int
    heart_rate: float
    ed: int
    es: int
    ed_volume: float
    es_volume: float
    # Every beat whose two phases are both in the clip, as pairs.
    beats: tuple[tuple[int, int], ...]

    @property
    def ef(self) -> float:
        return 100 * (self.ed_volume - self.es_volume) / self.ed_volume


class Order(msgspec.Struct, frozen=True):
    """One clip to make: `number` seeds it."""

    number: int
    name: str


def heart(rng: np.random.Generator) -> Heart:
    """One clip of one new patient."""
    person = patient(rng)
    beats = rhythm(rng, person.ef)
    moved = _placed(rng, person, beats)
    frames = echo(rng, person, moved, opening(beats))
    return Heart(person, beats, frames, cavity(person, moved), moved.volume)


def _placed(rng: np.random.Generator, person: Patient, beats: Rhythm) -> Motion:
    """A place on the grid of pixels at which the mask is largest and smallest where the volume is.

    Pixels are coarse beside one frame's change of a weak heart, so that a place may by bad luck
    give the next frame a pixel more; such a place is drawn again, at last without any sway.
    """
    shares = volumes(beats)
    ed, es = beats.phases
    # Farther than the published windows reach; beyond it another beat may begin.
    part = slice(ed - (es - ed), es + (es - ed) + 1)
    for tried in range(_TRIES):
        moved = motion(rng, person, shares, still=tried > _TRIES // 2)
        areas = cavity(person, moved.part(part)).sum(axis=(1, 2))
        ends = (np.flatnonzero(areas == end).tolist() for end in (areas.max(), areas.min()))
        if list(ends) == [[ed - part.start], [es - part.start]]:
            return moved
    raise AssertionError("no place shows the phases; the curve is too flat")


# ---------------------------------------------------------------- files


def _clip(folder: Path, seed: int, order: Order) -> Made:
    one = heart(np.random.default_rng([seed, 1, order.number]))
    # FFV1: lossless, so that every frame decodes to the very pixels drawn, and any FFmpeg has it.
    film = lossless_clip(list(one.frames), one.rhythm.fps)
    (folder / CLIPS / f"{order.name}.mkv").write_bytes(film)
    (folder / MASKS / f"{order.name}.npz").write_bytes(_packed(one.masks))
    lines = (f"{k},{volume:.3f}\n" for k, volume in enumerate(one.volumes))
    text = "frame,volume\n" + "".join(lines)
    (folder / VOLUMES / f"{order.name}.csv").write_text(text, encoding="utf-8", newline="\n")
    beats = one.rhythm
    ed, es = beats.phases
    held = zip(beats.ed, beats.es, strict=True)
    return Made(
        name=order.name,
        sex=one.person.sex,
        age=one.person.age,
        frames=beats.frames,
        fps=beats.fps,
        heart_rate=beats.heart_rate,
        ed=ed,
        es=es,
        ed_volume=float(one.volumes[ed]),
        es_volume=float(one.volumes[es]),
        beats=tuple((first, last) for first, last in held if first >= 0 and last < beats.frames),
    )


def _packed(masks: npt.NDArray[np.bool_]) -> bytes:
    """An npz of `lv`, each frame's pixels packed to bits, and `shape`; numpy's own has the time."""
    arrays: dict[str, npt.NDArray[Any]] = {
        "lv": np.packbits(masks.reshape(len(masks), -1), axis=1),
        "shape": np.asarray(masks.shape, np.int64),
    }
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, array in arrays.items():
            held = io.BytesIO()
            np.lib.format.write_array(held, array, allow_pickle=False)
            entry = zipfile.ZipInfo(f"{name}.npy")
            entry.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(entry, held.getvalue())
    return file.getvalue()


JOB = Job("clip", __name__, Order, Made, _clip, "clips", share=4)


# ---------------------------------------------------------------- the set

COLUMNS = (
    "case_id", "clip", "ed", "es", "frames", "fps", "ef", "ed_volume", "es_volume", "patient",
    "view", "sex", "age", "split", "mask", "volumes",
)  # fmt: skip
"""Columns of cases.csv; volumes in pixels cubed. The split is EchoNet's word for what is asked."""

_TRUTH = ("case_id", "beat", "ed", "es", "annotated", "heart_rate")


def plan_hearts(n: int, seed: int) -> tuple[Order, ...]:
    """Names are in no order of anything, so that they say nothing."""
    names = np.random.default_rng([seed, 0]).permutation(n)
    return tuple(Order(number, f"heart_{name:05d}") for number, name in enumerate(names))


def _write(folder: Path, plan: Sequence[Order], made: Sequence[Made]) -> None:
    named = sorted(made, key=lambda one: one.name)
    write_csv(folder / "cases.csv", COLUMNS, _cases(named))
    write_csv(folder / "phantom_truth.csv", _TRUTH, _truths(named))


def _cases(made: Sequence[Made]) -> Iterable[dict[str, object]]:
    for one in made:
        yield {
            "case_id": one.name,
            "clip": f"{CLIPS}/{one.name}.mkv",
            "ed": one.ed,
            "es": one.es,
            "frames": one.frames,
            "fps": one.fps,
            "ef": f"{one.ef:.1f}",
            "ed_volume": f"{one.ed_volume:.3f}",
            "es_volume": f"{one.es_volume:.3f}",
            "patient": f"p_{one.name}",
            "view": "A4C",
            "sex": one.sex,
            "age": one.age,
            "split": "VAL",
            "mask": f"{MASKS}/{one.name}.npz",
            "volumes": f"{VOLUMES}/{one.name}.csv",
        }


def _truths(made: Sequence[Made]) -> Iterable[dict[str, object]]:
    """Every beat that is in a clip with both its phases."""
    for one in made:
        for beat, (ed, es) in enumerate(one.beats):
            yield {
                "case_id": one.name,
                "beat": beat,
                "ed": ed,
                "es": es,
                "annotated": int(ed == one.ed),
                "heart_rate": f"{one.heart_rate:.1f}",
            }


write_heart_set = SetMaker(
    kind="heart",
    index="cases.csv",
    revision=2,
    standard=100,
    least=1,
    cases="clips",
    plan=plan_hearts,
    orders=lambda plan: plan,
    job=JOB,
    folders=(CLIPS, MASKS, VOLUMES),
    write=_write,
)
write_phantoms = write_heart_set.below
