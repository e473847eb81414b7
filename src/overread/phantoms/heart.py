"""A set of synthetic four-chamber echo clips on disk, with a csv that `clip_folder` reads.

Every heart is made up, so its volume in every frame is exact and anyone may share it. The clips are
for testing instruments, never for training or judging a clinical model.
"""

from __future__ import annotations

import io
import zipfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any, TypeAlias

import msgspec
import numpy as np
import numpy.typing as npt
from scipy import ndimage

from overread.imaging import lossless_clip
from overread.phantoms import heart_body as body
from overread.phantoms.heart_body import SIDE, Axes, Field, Motion, Patient, Rhythm, profile
from overread.phantoms.sets import Job, SetMaker, write_csv

# ---------------------------------------------------------------- what ultrasound makes of a heart
#
# An apical four-chamber view, frame by frame, in grey: apex at the top, the left ventricle on the
# image's right, the atria below. Tissue answers with speckle that moves with it; blood hardly
# answers at all. Echoes are compressed by their logarithm, as every machine does before it shows
# them.

Frames: TypeAlias = npt.NDArray[np.uint8]

_BLOOD = 0.006
_RING = 0.8  # the mitral ring's radius as a share of the ventricle's
_GRAIN = 3  # samples of speckle per pixel
_AT_ONCE = 12  # frames: their fields stay in the processor's cache
_MARGIN = 40  # pixels of tissue around the picture that may move in


def echo(
    rng: np.random.Generator, person: Patient, moved: Motion, valves: npt.NDArray[np.float64]
) -> Frames:
    """The frames of a clip; `valves` says how far they stand open."""
    rows, columns, depth, beside = _sector(person)
    grain = _grain(rng)
    reach = _reach(rng, person, depth, beside)
    noise = rng.standard_normal((len(valves), SIDE, SIDE), np.float32)
    shown = np.zeros((len(valves), SIDE, SIDE), np.uint8)
    for start in range(0, len(valves), _AT_ONCE):
        part = slice(start, start + _AT_ONCE)
        now = moved.part(part)
        place = body.axes(person, now, rows, columns)
        tissue = _speckle(grain, person, now, place)
        strength = _chambers(person, now, place, tissue)
        strength += _leaflets(person, now, place, valves[part]) * (0.4 + 0.6 * tissue)
        decibels = 20 * np.log10(strength * reach + np.float32(1e-4)) + person.gain
        grey = np.zeros((len(now.x), SIDE, SIDE), np.float32)
        grey[:, rows, columns] = np.clip(255 + 255 / person.range * decibels, 0, 255)
        # Blurred by the beam, which is wider than it is deep, and with the receiver's noise.
        grey = ndimage.gaussian_filter1d(grey, 0.7, axis=2, truncate=3)
        grey = ndimage.gaussian_filter1d(grey, 0.5, axis=1, truncate=3)
        rough = ndimage.uniform_filter1d(noise[part], 2, axis=2) * np.float32(1.4 * person.noise)
        made = np.clip(grey + rough * (0.35 + grey / 160), 0, 255).astype(np.uint8)
        shown[part, rows, columns] = made[:, rows, columns]
    # The machine's own sign of which side the probe's mark is on.
    x, y = round(person.tip[0] + 8), max(1, round(person.tip[1] - 3))
    shown[:, y : y + 2, x : x + 2] = 200
    shown[:, y + 1, x + 2] = 120
    return shown


# ---------------------------------------------------------------- the sector


def _sector(person: Patient) -> tuple[npt.NDArray[np.intp], npt.NDArray[np.intp], Field, Field]:
    """Rows and columns of the pixels in the sector, their depth and how far they are to a side."""
    rows, columns = np.indices((SIDE, SIDE))
    right, down = columns - person.tip[0], rows - person.tip[1]
    depth, angle = np.hypot(right, down), np.arctan2(right, np.maximum(down, 1e-6))
    held = (np.abs(angle) < person.half_angle) & (depth < person.depth) & (down > 1.5)
    beside = angle[held] / person.half_angle
    return *np.nonzero(held), depth[held].astype(np.float32), beside.astype(np.float32)


def _reach(rng: np.random.Generator, person: Patient, depth: Field, beside: Field) -> Field:
    """What gets there and back: less at depth and at the edges, in streaks along the beams."""
    share = depth / person.depth
    beams = ndimage.gaussian_filter1d(rng.standard_normal(64), 2.5)
    beams = np.exp(0.35 * beams / beams.std())
    streak = np.interp(beside, np.linspace(-1, 1, 64), beams)
    fade = np.exp(-0.7 * share**2) * (1 - 0.55 * np.abs(beside) ** 3)
    return np.asarray(fade * streak ** (0.4 + share), np.float32)


# ---------------------------------------------------------------- speckle


def _grain(rng: np.random.Generator) -> Field:
    """Tissue at rest: the envelope of a random echo, brighter here and darker there."""
    side = (SIDE + 2 * _MARGIN) * _GRAIN
    parts = [
        ndimage.gaussian_filter(rng.standard_normal((side, side), np.float32), (2.3, 3.9))
        for _ in range(2)
    ]
    grain = np.hypot(*parts)
    coarse = rng.standard_normal((side // 12 + 1, side // 12 + 1), np.float32)
    patches = ndimage.zoom(ndimage.gaussian_filter(coarse, 1.6), 12, order=1)[:side, :side]
    return np.asarray(grain * np.exp(0.75 * patches / patches.std()) / grain.mean())


def _speckle(grain: Field, person: Patient, moved: Motion, place: Axes) -> Field:
    """The tissue's own pattern at every pixel: it is looked up where the tissue was at ED.

    The wall moves in with the cavity's edge, less so farther out, and up with the mitral plane.
    """
    length, radius = moved.sizes
    shape = profile(place.share)
    outward = np.abs(place.across) - radius * shape
    fall = np.clip(1 - outward / np.float32(3.2 * person.wall), 0, 1)
    shift = np.sign(place.across) * (person.radius - radius) * shape * fall
    below = np.clip(1 - (place.y - length) / person.atrial_height, 0, 1)
    lift = (person.length - length) * np.clip(place.share, 0, 1) * below
    where = [(place.y + lift + _MARGIN) * _GRAIN, (place.x + shift + SIDE / 2 + _MARGIN) * _GRAIN]
    at = np.asarray(where, np.float32)
    return np.asarray(ndimage.map_coordinates(grain, at, order=1, mode="grid-wrap"))


# ---------------------------------------------------------------- the heart


def _soft(distance: Field, width: float = 1.6) -> Field:
    """0 outside, 1 inside, a ramp of `width` pixels at the edge."""
    ramp = distance * np.float32(1 / width)
    ramp += 0.5
    return np.asarray(np.clip(ramp, 0, 1, out=ramp))


def _chambers(person: Patient, moved: Motion, place: Axes, tissue: Field) -> Field:
    """Echo strength of walls, blood and what lies around them."""
    length, radius = moved.sizes
    x, y, across, share = place.x, place.y, place.across, place.share
    squeeze = 1 - radius / person.radius
    wall = person.wall
    outer = person.radius * (1 - 0.25 * squeeze) + wall
    # The ventricle's outer side, from x = 0.
    outside = outer * profile((y + wall) / (length + wall))

    ventricle = _soft(np.minimum(radius * profile(share) - np.abs(across), length - y))
    muscle = _soft(np.minimum(outside - np.abs(across), length + 1.5 - y))
    # Between the ring's ends there is blood: what parts the chambers is the leaflets.
    mouth = _soft(np.minimum(radius * _RING - np.abs(x), 3 - np.abs(y - length)))
    ventricle = np.maximum(ventricle, mouth)
    left, right_side = _right(person, length, outside, squeeze, place)
    atria, partition = _atria(person, length, place)

    lateral = _soft(x, 6.0)
    strength = person.septum * (1 - lateral) + person.lateral * lateral
    strength = strength * (0.45 + 0.55 * np.clip(share / 0.45, 0, 1))
    # Beyond the heart: a bright sac beside and below it, fading outwards.
    away = np.abs(across) - np.maximum(outside, person.atrium)
    away = np.where(x < 0, away - person.right, away)
    low = np.clip((share - 0.35) / 0.5, 0, 1)
    bright = person.beyond * np.exp(-np.clip(away - 1, 0, None) / 6) * low
    solid = (0.03 + bright * _soft(away + 6, 8.0)) * (1 - muscle) + strength * muscle
    solid = solid * (1 - right_side) + 0.45 * right_side
    solid = solid * (1 - partition) + 0.75 * partition
    blood = np.maximum(ventricle, np.maximum(left * (1 - muscle), atria * (1 - partition)))
    near = person.haze * np.exp(-np.clip(y + 6, 0, None) / 11)
    quiet = (_BLOOD + near * (0.3 + 0.7 * tissue)) * blood
    return np.asarray(solid * tissue * (1 - blood) + quiet)


def _right(
    person: Patient, length: Field, outside: Field, squeeze: Field, place: Axes
) -> tuple[Field, Field]:
    """The right ventricle's cavity and its free wall, left of the septum."""
    run = np.clip((place.share - 0.22) / 0.78, 0, 1.2)
    span = person.right * (1 - 0.45 * squeeze)
    width = span * np.sqrt(np.clip(run, 0, 1)) * (1.12 - 0.25 * run * run)
    edge = -place.across - outside
    ends = length - 3 - place.y
    cavity = _soft(np.minimum(np.minimum(edge, width - edge), ends))
    free = _soft(np.minimum(np.minimum(edge, width + 3 - edge), ends + 3)) * (run > 0)
    return cavity, free


def _atria(person: Patient, length: Field, place: Axes) -> tuple[Field, Field]:
    """Both atria, and the septum and the rings of the valves around them.

    Their far wall stays where it is: they fill as the mitral plane is drawn to the apex.
    """
    floor = np.float32(person.length + person.atrial_height)
    run = 0.14 + 0.86 * (place.y - length) / (floor - length)
    bulge = np.sqrt(np.clip(4 * run * (1 - run), 0, 1))
    left = person.atrium * bulge - np.abs(place.x - 1)
    centre = 1 - person.atrium - 3.2 - person.right_atrium
    right = person.right_atrium * bulge - np.abs(place.x - np.float32(centre))
    inside = place.y - length
    cavities = np.maximum(
        _soft(np.minimum(left, inside - 0.5)), _soft(np.minimum(right, inside + 2.5))
    )
    middle = np.float32(1 - person.atrium - 1.6)
    septum = _soft(1.7 - np.abs(place.x - middle)) * _soft(inside + 4) * _soft(floor - place.y)
    crux = np.exp(-((place.x - middle) ** 2 + (inside - 1) ** 2) / 14)
    rim = np.exp(-((place.x - np.float32(person.atrium + 3)) ** 2 + inside**2) / 16)
    return cavities, np.maximum(septum * 0.8, np.maximum(crux, rim))


# ---------------------------------------------------------------- valves


def _leaflets(
    person: Patient, moved: Motion, place: Axes, valves: npt.NDArray[np.float64]
) -> Field:
    """Four leaflets: shut, they meet just above the ring; open, they point into the ventricle."""
    opened = valves[:, None].astype(np.float32)
    length, radius = moved.sizes
    ring = radius * _RING
    found = np.zeros_like(place.x)
    shut_at = 0.12 * ring
    for side, reach in ((-1.0, 11.0), (1.0, 8.0)):
        start = side * ring
        tip = shut_at + (side * 0.62 * ring - shut_at) * opened
        rise = 3 + (reach - 3) * opened
        found += _line(place, start, length, tip, length - rise)
    hinge = -ring - person.wall
    span = 1.7 * person.right_atrium
    for side in (0.0, 1.0):
        start = hinge - side * span
        tip = hinge - span * (0.5 + (side - 0.5) * 0.7 * opened)
        found += _line(place, start, length - 3, tip, length - 5 - 5 * opened)
    return found


def _line(place: Axes, x0: Field, y0: Field, x1: Field, y1: Field) -> Field:
    """The echo of a thin strip from one point to another, in every frame."""
    along = (place.x - x0) * (x1 - x0) + (place.y - y0) * (y1 - y0)
    t = np.clip(along / ((x1 - x0) ** 2 + (y1 - y0) ** 2), 0, 1)
    square = (place.x - x0 - t * (x1 - x0)) ** 2 + (place.y - y0 - t * (y1 - y0)) ** 2
    return np.asarray(0.55 * np.exp(-square / 0.9))


# ---------------------------------------------------------------- a clip

CLIPS, MASKS, VOLUMES = "clips", "masks", "volumes"
_TRIES = 40


class Heart(msgspec.Struct, frozen=True):
    """A clip and its truth. Volumes are in pixels cubed."""

    person: Patient
    rhythm: Rhythm
    frames: Frames
    masks: npt.NDArray[np.bool_]
    volumes: body.Volumes


class Made(msgspec.Struct, frozen=True):
    """A finished clip: its row of cases.csv, and one of phantom_truth.csv for every beat that is in
    it with both its phases."""

    case: dict[str, str | int]
    beats: tuple[dict[str, str | int], ...]


class Order(msgspec.Struct, frozen=True):
    """One clip to make: `number` seeds it."""

    number: int
    name: str


def heart(rng: np.random.Generator) -> Heart:
    """One clip of one new patient."""
    person = body.patient(rng)
    beats = body.rhythm(rng, person.ef)
    moved = _placed(rng, person, beats)
    frames = echo(rng, person, moved, body.opening(beats))
    return Heart(person, beats, frames, body.cavity(person, moved), moved.volume)


def _placed(rng: np.random.Generator, person: Patient, beats: Rhythm) -> Motion:
    """A place on the grid of pixels at which the mask is largest and smallest where the volume is.

    Pixels are coarse beside one frame's change of a weak heart, so that a place may by bad luck
    give the next frame a pixel more; such a place is drawn again, at last without any sway.
    """
    shares = body.volumes(beats)
    ed, es = beats.phases
    # Farther than the published windows reach; beyond it another beat may begin.
    part = slice(ed - (es - ed), es + (es - ed) + 1)
    for tried in range(_TRIES):
        moved = body.motion(rng, person, shares, still=tried > _TRIES // 2)
        areas = body.cavity(person, moved.part(part)).sum(axis=(1, 2))
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
    ed_volume, es_volume = float(one.volumes[ed]), float(one.volumes[es])
    phases = zip(beats.ed, beats.es, strict=True)
    whole = [(first, last) for first, last in phases if first >= 0 and last < beats.frames]
    case: dict[str, str | int] = {
        "case_id": order.name,
        "clip": f"{CLIPS}/{order.name}.mkv",
        "ed": ed,
        "es": es,
        "frames": beats.frames,
        "fps": beats.fps,
        "ef": f"{100 * (ed_volume - es_volume) / ed_volume:.1f}",
        "ed_volume": f"{ed_volume:.3f}",  # in pixels cubed
        "es_volume": f"{es_volume:.3f}",
        "patient": f"p_{order.name}",
        "view": "A4C",
        "sex": one.person.sex,
        "age": one.person.age,
        "split": "VAL",  # EchoNet's word for what is asked
        "mask": f"{MASKS}/{order.name}.npz",
        "volumes": f"{VOLUMES}/{order.name}.csv",
    }
    truths: list[dict[str, str | int]] = [
        {
            "case_id": order.name,
            "beat": beat,
            "ed": first,
            "es": last,
            "annotated": int(first == ed),
            "heart_rate": f"{beats.heart_rate:.1f}",
        }
        for beat, (first, last) in enumerate(whole)
    ]
    return Made(case, tuple(truths))


def _packed(masks: npt.NDArray[np.bool_]) -> bytes:
    """An npz of `lv`, each frame's pixels packed to bits, and `shape`; numpy's own has the time."""
    arrays: dict[str, npt.NDArray[Any]] = {
        "lv": np.packbits(masks.reshape(len(masks), -1), axis=1),
        "shape": np.asarray(masks.shape, np.int64),
    }
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, array in arrays.items():
            with archive.open(f"{name}.npy", "w") as held:
                np.lib.format.write_array(held, array, allow_pickle=False)
    return file.getvalue()


JOB = Job("clip", Order, Made, _clip, "clips", share=5)


# ---------------------------------------------------------------- the set


def plan_hearts(n: int, seed: int) -> tuple[Order, ...]:
    """Names are in no order of anything, so that they say nothing."""
    names = np.random.default_rng([seed, 0]).permutation(n)
    return tuple(Order(number, f"heart_{name:05d}") for number, name in enumerate(names))


def _write(folder: Path, plan: Sequence[Order], made: Sequence[Made]) -> None:
    named = sorted(made, key=lambda one: one.case["case_id"])
    write_csv(folder / "cases.csv", named[0].case, [one.case for one in named])
    truths = [beat for one in named for beat in one.beats]
    write_csv(folder / "phantom_truth.csv", truths[0], truths)


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
