"""The pictures of phantom vignettes: what other phantoms draw, heads and rhythm strips.

Every lesion and every wave is known.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final, TypeAlias

import msgspec
import numpy as np
import numpy.typing as npt
from PIL import Image, ImageDraw
from scipy import ndimage

from overread.phantoms.chest_body import FILM
from overread.phantoms.chest_film import film, stamp
from overread.phantoms.heart import echo
from overread.phantoms.heart_body import motion, patient
from overread.phantoms.question_scenes import Pixels, coloured, heart, marked, side_by_side

Field: TypeAlias = npt.NDArray[np.floating[Any]]

CORNERS: Final[Mapping[str, tuple[int, int]]] = {
    "upper left corner": (20, 20),
    "upper right corner": (FILM - 104, 20),
    "middle of the left edge": (20, FILM // 2 - 42),
    "middle of the right edge": (FILM - 104, FILM // 2 - 42),
    "lower left corner": (20, FILM - 104),
    "lower right corner": (FILM - 104, FILM - 104),
}
_WIDEST = 256
_METAL = 250


def reduced(pixels: Pixels, side: int = _WIDEST) -> Pixels:
    """The picture with its longer side at most so long."""
    image = Image.fromarray(pixels)
    image.thumbnail((side, side), Image.Resampling.LANCZOS)
    return np.asarray(image)


def panels(left: Pixels, right: Pixels) -> Pixels:
    """Two pictures of one height side by side, a white gap between them."""
    return side_by_side(coloured(left), coloured(right), gap=8)


# ---------------------------------------------------------------- films


def chest(
    rng: np.random.Generator,
    finding: str | None = None,
    side: str = "",
    *,
    clips: int = 0,
    swallowed: str = "",
    corner: str = "",
) -> Pixels:
    """A film of a finding on the patient's side, with metal on it and a lead marker."""
    while True:
        one = film(rng, view="PA", finding=finding)
        if side in ("", one.side):
            break
    pixels = stamp(one.pixels, CORNERS[corner]) if corner else one.pixels
    image = Image.fromarray(pixels)
    pen = ImageDraw.Draw(image)
    for x, y in _apart(rng, clips):
        turn = rng.uniform(0, np.pi)
        across, down = 15 * np.cos(turn), 15 * np.sin(turn)
        pen.line((x - across, y - down, x + across, y + down), _METAL, 9)
    if swallowed:
        _swallowed(pen, swallowed, rng)
    return reduced(np.asarray(image))


def _apart(rng: np.random.Generator, count: int) -> list[tuple[float, float]]:
    """Places within the lungs, well apart."""
    found: list[tuple[float, float]] = []
    while len(found) < count:
        x, y = rng.uniform(0.16, 0.36) * FILM, rng.uniform(0.25, 0.62) * FILM
        x = x if rng.integers(2) else FILM - x
        if all(np.hypot(x - a, y - b) > 80 for a, b in found):
            found.append((float(x), float(y)))
    return found


def _swallowed(pen: ImageDraw.ImageDraw, name: str, rng: np.random.Generator) -> None:
    """Metal in the stomach or the gullet."""
    x, y = 0.5 * FILM + rng.uniform(-25, 25), rng.uniform(0.28, 0.72) * FILM
    if name == "coin":
        pen.ellipse((x - 50, y - 50, x + 50, y + 50), _METAL)
    elif name == "finger ring":
        pen.ellipse((x - 48, y - 48, x + 48, y + 48), outline=_METAL, width=14)
    elif name == "sewing needle":
        pen.line((x - 20, y - 85, x + 20, y + 85), _METAL, 9)
    elif name == "fish hook":
        pen.line((x + 38, y - 80, x + 38, y + 30), _METAL, 13)
        pen.arc((x - 38, y - 10, x + 44, y + 74), 0, 190, _METAL, 13)
        pen.line((x - 34, y + 26, x - 14, y + 6), _METAL, 13)
    elif name == "screw":
        pen.rectangle((x - 38, y - 84, x + 38, y - 62), _METAL)
        pen.line((x, y - 70, x, y + 84), _METAL, 20)
        for k in range(5):
            pen.line((x - 26, y - 36 + 26 * k, x + 26, y - 24 + 26 * k), _METAL, 9)
    else:
        pen.ellipse((x - 36, y - 92, x + 36, y - 20), outline=_METAL, width=16)
        pen.line((x, y - 24, x, y + 88), _METAL, 15)
        pen.rectangle((x, y + 40, x + 32, y + 52), _METAL)
        pen.rectangle((x, y + 72, x + 38, y + 86), _METAL)


# ---------------------------------------------------------------- hearts


def chambers(rng: np.random.Generator, names: Sequence[str], opened: bool) -> Pixels:
    """A four-chamber view with a red frame in each of these chambers."""
    one = heart(rng, opened=opened)
    pixels = one.pixels
    for name in names:
        pixels = marked(pixels, one.chambers[name])
    return reduced(pixels, 224)


def beat_pair(rng: np.random.Generator, ejected: float) -> Pixels:
    """End-diastole on the left and end-systole on the right, of a beat that ejects this share."""
    drawn = patient(rng)
    person = msgspec.structs.replace(drawn, ef=ejected, gain=rng.uniform(-3, 3))
    moved = motion(rng, person, np.asarray([1.0, 1.0 - ejected]), still=True)
    frames = echo(rng, person, moved, np.zeros(2))
    large = (
        Image.fromarray(frame).resize((124, 124), Image.Resampling.BICUBIC) for frame in frames
    )
    return panels(*map(np.asarray, large))


# ---------------------------------------------------------------- heads
#
# An axial slice, as CT or T2-weighted MRI shows it. Places are shares of the picture's side from
# its middle, x to the image's right and y down. The patient's right is on the image's left and the
# forehead is on top, as slices are shown.

HEAD = 256
"""Slices are squares of this side."""
MM = 1.25
"""Pixels of a millimetre."""

REGIONS: Final[Mapping[str, tuple[float, float]]] = {
    "right frontal lobe": (-0.15, -0.25),
    "left frontal lobe": (0.15, -0.25),
    "right temporal lobe": (-0.235, 0.03),
    "left temporal lobe": (0.235, 0.03),
    "right occipital lobe": (-0.14, 0.26),
    "left occipital lobe": (0.14, 0.26),
}
SHAPES: Final = (
    "round and solid",
    "ring-like with a dark centre",
    "elongated and oval",
    "spiculated like a star",
    "two-lobed like a dumbbell",
)
_WIDE, _HIGH, _BONE = 0.375, 0.455, 0.032  # the skull's outer half axes and its thickness
# Pixels levels: outside, scalp, bone, brain, fluid of the ventricles, a focus.
_CT: Final = (6, 88, 248, 112, 52, 232)
_MRI: Final = (6, 150, 18, 104, 226, 206)
_BLOOD, _DEAD = 186, 78
_TALL, _CUT = (124, 150), 22


class Focus(msgspec.Struct, frozen=True):
    """A lesion: its middle, its longest diameter in pixels, and one of SHAPES."""

    x: float
    y: float
    across: float
    shape: str = SHAPES[0]


def head(
    rng: np.random.Generator,
    *,
    mri: bool = False,
    disease: str = "",
    side: str = "",
    foci: Sequence[Focus] = (),
) -> Pixels:
    """One slice; `side` is the patient's."""
    air, scalp, bone, brain, fluid, bright = _MRI if mri else _CT
    at = (np.arange(HEAD) + 0.5) / HEAD - 0.5
    u, v = np.meshgrid(at, at)
    sway = 1 + rng.uniform(-0.015, 0.015, 2)
    inner = _inside(u, v, (_WIDE - _BONE) * sway[0], (_HIGH - _BONE) * sway[1])
    skull = _inside(u, v, _WIDE * sway[0], _HIGH * sway[1])
    skin = _inside(u, v, (_WIDE + 0.022) * sway[0], (_HIGH + 0.022) * sway[1])
    folds = ndimage.gaussian_filter(rng.standard_normal((HEAD, HEAD)), 3.0)
    folds = folds / folds.std() * np.clip((0.10 - inner) / 0.10, 0, 1)
    tissue = brain + (8 if mri else -6) * np.clip(folds, -0.5, 2)
    tissue = _over(tissue, -np.abs(u) + 0.004, brain - 20 if mri else brain + 30)  # the falx
    wide = 2.3 if disease == "hydrocephalus" else 1.0
    for hand in (-1, 1):  # a lateral ventricle on either side: a bent slender body
        bent = u * hand - 0.035 * wide**0.5 - 0.9 * v * v
        inside = _inside(bent, v + 0.01, 0.024 * wide, 0.125 * wide**0.35)
        tissue = _over(tissue, inside, fluid)
    if disease not in ("", "hydrocephalus"):
        tissue = _ill(tissue, disease, (-u if side == "right" else u), v, inner)
    shown = _over(np.full_like(u, air), skin, scalp)
    shown = _over(_over(shown, skull, bone), inner, tissue)
    for focus in foci:
        shown = _focus(shown, focus, u, v, bright, brain - 45)
    shown = ndimage.gaussian_filter(shown, 0.7) + rng.normal(0, 3.2, shown.shape)
    return np.asarray(np.clip(np.rint(shown), 0, 255), np.uint8)


def narrow_slice(pixels: Pixels) -> Pixels:
    """A slice as one of two panels."""
    image = Image.fromarray(pixels[:, _CUT:-_CUT])
    return np.asarray(image.resize(_TALL, Image.Resampling.LANCZOS))


def ruled(pixels: Pixels, mm: int) -> Pixels:
    """The slice with a bar of so many millimetres in its lower left corner."""
    found = pixels.copy()
    found[HEAD - 12 : HEAD - 9, 8 : 8 + round(mm * MM)] = 255
    return found


def specks(rng: np.random.Generator, count: int) -> list[Focus]:
    """So many dots of a few pixels in the brain, apart from each other and from the ventricles."""
    found: list[tuple[float, float]] = []
    while len(found) < count:
        x, y = rng.uniform(-0.27, 0.27), rng.uniform(-0.36, 0.36)
        free = (x / 0.28) ** 2 + (y / 0.37) ** 2 < 1 and (abs(x) > 0.12 or abs(y) > 0.22)
        if free and abs(x) > 0.03 and all(np.hypot(x - a, y - b) > 0.075 for a, b in found):
            found.append((float(x), float(y)))
    return [Focus(x, y, rng.uniform(5.5, 7.0)) for x, y in found]


# ---------------------------------------------------------------- shapes, as shares inside


def _inside(u: Field, v: Field, wide: float, high: float) -> Field:
    """About how far inside an ellipse."""
    return np.asarray((1 - np.hypot(u / wide, v / high)) * min(wide, high))


def _over(below: Field, inside: Field, above: Field | float) -> Field:
    """One field laid on another where `inside` is above 0, with a ramp of a pixel."""
    share = np.clip(inside * HEAD + 0.5, 0, 1)
    return np.asarray(below * (1 - share) + above * share)


def _ill(tissue: Field, disease: str, u: Field, v: Field, inner: Field) -> Field:
    """The disease at u > 0."""
    if disease == "territorial infarct":
        wedge = np.minimum(0.62 - np.abs(np.arctan2(v, u) - 0.2), (np.hypot(u, v) - 0.14)) * 0.3
        return _over(tissue, wedge, _DEAD)
    if disease == "subdural haematoma":
        away = _inside(u + 0.06, v - 0.01, _WIDE - _BONE, _HIGH - _BONE)
        blood = np.minimum(-away, inner)
    elif disease == "epidural haematoma":
        blood = 0.17 - np.hypot(u - 0.43, (v + 0.04) * 0.9)
    else:  # an intracerebral haemorrhage
        wave = 0.008 * np.cos(3 * np.arctan2(v - 0.02, u - 0.18) + 0.7)
        blood = 0.075 + wave - np.hypot(u - 0.18, v - 0.02)
    return _over(tissue, blood, _BLOOD)


def _focus(shown: Field, focus: Focus, u: Field, v: Field, bright: float, dark: float) -> Field:
    radius = focus.across / HEAD / 2
    x, y = u - focus.x, v - focus.y
    far = np.hypot(x, y)
    _, ring, oval, star, dumbbell = SHAPES
    inside = radius - far
    if focus.shape == oval:
        inside = _inside(x, y, 0.45 * radius, radius)
    elif focus.shape == star:
        inside = radius * (0.38 + 0.62 * np.abs(np.cos(3 * np.arctan2(y, x))) ** 2.5) - far
    elif focus.shape == dumbbell:
        half = 0.5 * radius
        inside = half - np.minimum(np.hypot(x, y - half), np.hypot(x, y + half))
    shown = _over(shown, inside, bright)
    return _over(shown, 0.55 * radius - far, dark) if focus.shape == ring else shown


# ---------------------------------------------------------------- rhythm strips
#
# A large square is ten pixels, 0.2 s wide and 5 mm high, as on paper of 25 mm/s.

_WIDTH, _HEIGHT, _SQUARE = 256, 128, 10
_FINE = 4
_SECOND, _MM = 5 * _SQUARE, _SQUARE / 5  # in pixels


class Beat(msgspec.Struct, frozen=True):
    """Waves about an instant in seconds: a narrow or a wide complex, or a P wave alone.

    `st` is how far the segment after the complex lies off the line, in millimetres.
    """

    at: float
    wide: bool = False
    wave: bool = True
    complex: bool = True
    st: float = 0.0


def paper(rng: np.random.Generator, beats: list[Beat], tremble: float = 0.0) -> Pixels:
    """The strip of these beats; `tremble` is the height of a disordered baseline in millimetres."""
    x = np.arange(_WIDTH * _FINE) / _FINE
    height = _trace(x / _SECOND, beats)
    if tremble:
        phases = rng.uniform(0, 2 * np.pi, 4)
        paces = 2 * np.pi * np.asarray([5.3, 6.1, 7.4, 8.2])
        waves = np.sin(x[:, None] / _SECOND * paces + phases)
        height = height + tremble * waves.sum(axis=1) / 2
    height = height + rng.normal(0, 0.05, len(x))
    y = 0.64 * _HEIGHT - height * _MM
    image = Image.new("RGB", (_WIDTH * _FINE, _HEIGHT * _FINE), (255, 247, 244))
    pen = ImageDraw.Draw(image)
    for step, colour, width in ((2, (250, 226, 222), 2), (_SQUARE, (236, 168, 160), 4)):
        for at in range(0, _WIDTH, step):
            pen.line((at * _FINE, 0, at * _FINE, _HEIGHT * _FINE), colour, width)
            if at < _HEIGHT:
                pen.line((0, at * _FINE, _WIDTH * _FINE, at * _FINE), colour, width)
    pen.line(list(zip((x * _FINE).tolist(), (y * _FINE).tolist(), strict=True)), (25, 22, 35), 5)
    return np.asarray(image.reduce(_FINE))


def regular(interval: float, *, st: float = 0.0, first: float = 0.5) -> list[Beat]:
    """Beats at even intervals of seconds for all of the strip."""
    return [Beat(at, st=st) for at in _even(first - interval, interval)]


def rhythm(rng: np.random.Generator, name: str) -> Pixels:
    """A strip of the rhythm of that name."""
    first, tremble = rng.uniform(0.35, 0.55), 0.0
    if name == "sinus rhythm":
        beats = regular(rng.uniform(0.78, 0.92), first=first)
    elif name == "atrial fibrillation":
        gaps = rng.permutation([0.42, 0.5, 0.62, 0.75, 0.88, 1.0, 0.46, 0.7, 0.55])
        times = (first + np.cumsum(gaps) - gaps[0]).tolist()
        beats, tremble = [Beat(at, wave=False) for at in times], 0.7
    elif name == "2:1 atrioventricular block":
        times = _even(first, rng.uniform(0.56, 0.64))
        beats = [Beat(at, complex=k % 2 == 0) for k, at in enumerate(times)]
    elif name == "ventricular bigeminy":
        times = _even(first, rng.uniform(1.25, 1.4))
        pairs = [(Beat(at), Beat(at + 0.46, wide=True, wave=False)) for at in times]
        beats = [beat for pair in pairs for beat in pair]
    else:
        gap = rng.uniform(0.33, 0.37)
        beats = [Beat(at, wide=True, wave=False) for at in _even(first - gap, gap)]
    return paper(rng, beats, tremble)


def _even(first: float, gap: float) -> list[float]:
    """Instants at even distances for all of the strip."""
    return [float(at) for at in np.arange(first, _WIDTH / _SECOND + gap, gap)]


# ---------------------------------------------------------------- waves, in millimetres


def _trace(seconds: Field, beats: list[Beat]) -> Field:
    found: Field = np.zeros_like(seconds)
    for beat in beats:
        t = seconds - beat.at
        if beat.wave:
            found = found + 2.0 * _bump(t + 0.17, 0.028)
        if beat.complex and beat.wide:
            found = found + 15 * _bump(t, 0.05) - 7 * _bump(t - 0.16, 0.055)
        elif beat.complex:
            sharp = 13 * _bump(t, 0.011) - 3 * _bump(t - 0.032, 0.011) - 1.2 * _bump(t + 0.03, 0.01)
            plateau = (
                beat.st * np.clip((t - 0.035) / 0.015, 0, 1) * np.clip((0.24 - t) / 0.06, 0, 1)
            )
            found = found + sharp + plateau + 2.6 * _bump(t - 0.26, 0.042)
    return found


def _bump(t: Field, width: float) -> Field:
    return np.asarray(np.exp(-((t / width) ** 2) / 2))
