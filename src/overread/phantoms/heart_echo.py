"""What ultrasound makes of a heart: an apical four-chamber view, frame by frame, in grey.

Apex at the top, the left ventricle on the image's right, the atria below. Tissue answers with
speckle that moves with it; blood hardly answers at all. Echoes are compressed by their logarithm,
as every machine does before it shows them.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from overread.phantoms.heart_body import SIDE, Axes, Field, Motion, Patient, axes, profile

Frames = npt.NDArray[np.uint8]

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
        place = axes(person, now, rows, columns)
        tissue = _speckle(grain, person, now, place)
        strength = _chambers(person, now, place, tissue)
        strength += _leaflets(person, now, place, valves[part]) * (0.4 + 0.6 * tissue)
        decibels = 20 * np.log10(strength * reach + np.float32(1e-4)) + person.gain
        grey = np.zeros((len(now.x), SIDE, SIDE), np.float32)
        grey[:, rows, columns] = np.clip(255 + 255 / person.range * decibels, 0, 255)
        shown[part, rows, columns] = _displayed(grey, noise[part], person)[:, rows, columns]
    return _marked(shown, person)


def _displayed(grey: Field, noise: Field, person: Patient) -> Frames:
    """Blurred by the beam, which is wider than it is deep, and with the receiver's noise."""
    from scipy import ndimage

    grey = ndimage.gaussian_filter1d(grey, 0.7, axis=2, truncate=3)
    grey = ndimage.gaussian_filter1d(grey, 0.5, axis=1, truncate=3)
    rough = ndimage.uniform_filter1d(noise, 2, axis=2) * np.float32(1.4 * person.noise)
    found: Frames = np.clip(grey + rough * (0.35 + grey / 160), 0, 255).astype(np.uint8)
    return found


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
    from scipy import ndimage

    share = depth / person.depth
    beams = ndimage.gaussian_filter1d(rng.standard_normal(64), 2.5)
    beams = np.exp(0.35 * beams / beams.std())
    streak = np.interp(beside, np.linspace(-1, 1, 64), beams)
    fade = np.exp(-0.7 * share**2) * (1 - 0.55 * np.abs(beside) ** 3)
    found: Field = (fade * streak ** (0.4 + share)).astype(np.float32)
    return found


def _marked(frames: Frames, person: Patient) -> Frames:
    """The machine's own sign of which side the probe's mark is on."""
    x, y = round(person.tip[0] + 8), max(1, round(person.tip[1] - 3))
    frames[:, y : y + 2, x : x + 2] = 200
    frames[:, y + 1, x + 2] = 120
    return frames


# ---------------------------------------------------------------- speckle


def _grain(rng: np.random.Generator) -> Field:
    """Tissue at rest: the envelope of a random echo, brighter here and darker there."""
    from scipy import ndimage

    side = (SIDE + 2 * _MARGIN) * _GRAIN
    parts = [
        ndimage.gaussian_filter(rng.standard_normal((side, side), np.float32), (2.3, 3.9))
        for _ in range(2)
    ]
    grain = np.hypot(*parts)
    coarse = rng.standard_normal((side // 12 + 1, side // 12 + 1), np.float32)
    patches = ndimage.zoom(ndimage.gaussian_filter(coarse, 1.6), 12, order=1)[:side, :side]
    found: Field = grain * np.exp(0.75 * patches / patches.std()) / grain.mean()
    return found


def _speckle(grain: Field, person: Patient, moved: Motion, place: Axes) -> Field:
    """The tissue's own pattern at every pixel: it is looked up where the tissue was at ED.

    The wall moves in with the cavity's edge, less so farther out, and up with the mitral plane.
    """
    from scipy import ndimage

    length, radius = moved.sizes
    shape = profile(place.share)
    outward = np.abs(place.across) - radius * shape
    fall = np.clip(1 - outward / np.float32(3.2 * person.wall), 0, 1)
    shift = np.sign(place.across) * (person.radius - radius) * shape * fall
    below = np.clip(1 - (place.y - length) / person.atrial_height, 0, 1)
    lift = (person.length - length) * np.clip(place.share, 0, 1) * below
    where = [(place.y + lift + _MARGIN) * _GRAIN, (place.x + shift + SIDE / 2 + _MARGIN) * _GRAIN]
    found: Field = ndimage.map_coordinates(
        grain, np.asarray(where, np.float32), order=1, mode="grid-wrap"
    )
    return found


# ---------------------------------------------------------------- the heart


def _soft(distance: Field, width: float = 1.6) -> Field:
    """0 outside, 1 inside, a ramp of `width` pixels at the edge."""
    found: Field = np.clip(distance * np.float32(1 / width) + 0.5, 0, 1)
    return found


def _chambers(person: Patient, moved: Motion, place: Axes, tissue: Field) -> Field:
    """Echo strength of walls, blood and what lies around them."""
    length, radius = moved.sizes
    x, y, across, share = place.x, place.y, place.across, place.share
    squeeze = 1 - radius / person.radius
    wall = person.wall
    outer = person.radius * (1 - 0.25 * squeeze) + wall
    outside = outer * profile(
        (y + wall) / (length + wall)
    )  # the ventricle's outer side, from x = 0

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
    around = _around(person, outside, length, place)
    solid = around * (1 - muscle) + strength * muscle
    solid = solid * (1 - right_side) + 0.45 * right_side
    solid = solid * (1 - partition) + 0.75 * partition
    blood = np.maximum(ventricle, np.maximum(left * (1 - muscle), atria * (1 - partition)))
    near = person.haze * np.exp(-np.clip(y + 6, 0, None) / 11)
    quiet: Field = solid * tissue * (1 - blood) + (_BLOOD + near * (0.3 + 0.7 * tissue)) * blood
    return quiet


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


def _around(person: Patient, outside: Field, length: Field, place: Axes) -> Field:
    """Beyond the heart: a bright sac beside and below it, fading outwards."""
    away = np.abs(place.across) - np.maximum(outside, person.atrium)
    away = np.where(place.x < 0, away - person.right, away)
    low = np.clip((place.share - 0.35) / 0.5, 0, 1)
    bright = person.beyond * np.exp(-np.clip(away - 1, 0, None) / 6) * low
    found: Field = 0.03 + bright * _soft(away + 6, 8.0)
    return found


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
    found: Field = 0.55 * np.exp(-square / 0.9)
    return found
