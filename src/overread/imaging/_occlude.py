"""Ways to hide a box other than painting it with one given grey.

A black box is off the distribution of films: a reader may change its answer because the picture
became odd, not because evidence went. Each way here is odd in another manner; what each leaves of a
finding is measured in docs/measures.md.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageFilter

from overread.case import Box, Mirror, Occlude

Pixels: TypeAlias = NDArray[np.uint8]
Whole: TypeAlias = NDArray[np.int64]
Mask: TypeAlias = NDArray[np.bool_]
Inside: TypeAlias = tuple[int, int, int, int]


def occluded(image: Image.Image, occlude: Occlude) -> Image.Image:
    """The image with the box hidden. What of the box lies outside the image is ignored.

    Where the box leaves nothing of the picture, what should come from the rest (mean and spread)
    comes from the whole.
    """
    box = occlude.box
    inside = _inside(box, image.size)
    if inside is None:
        return image
    match occlude.how:
        case "mean":
            patch = _mean(image, inside)
        case "blur":
            # A Gaussian whose standard deviation along each axis is the box's side along it. Of a
            # contrast that fills the box a seventh is left in its middle: erf(1 / sqrt 8)^2, 0.147.
            patch = image.filter(ImageFilter.GaussianBlur((box.w, box.h))).crop(inside)
        case "noise":
            # Every pixel on its own: Gaussian with the rest's mean and SD, rounded, clipped. The
            # stream of RandomState is frozen by numpy; that of newer generators may change.
            rest = _rest(image, inside)
            shape = (inside[3] - inside[1], inside[2] - inside[0], 1)
            draws = np.random.RandomState(occlude.seed).standard_normal(shape)
            noise = np.rint(rest.mean(axis=0) + rest.std(axis=0) * draws)
            patch = _image(np.clip(noise, 0, 255).astype(np.uint8), image.mode)
        case "inpaint":
            # Each pixel is an average over the four pixels just outside the box in its row and
            # column. It joins its surroundings without an edge, and looks like them: a box amid an
            # opacity stays white.
            array = _channels(image)
            surface = _surface(array, np.ones(array.shape[:2], bool), inside)
            if surface is None:
                patch = _mean(image, inside)
            else:
                patch = _image(surface.rounded.astype(np.uint8), image.mode)
    image.paste(patch, inside[:2])
    return image


def _inside(box: Box, size: tuple[int, int]) -> Inside | None:
    """What of a box lies in the picture: left, top, right, bottom."""
    left, top = max(box.x, 0), max(box.y, 0)
    right, bottom = min(box.x + box.w, size[0]), min(box.y + box.h, size[1])
    return None if left >= right or top >= bottom else (left, top, right, bottom)


def _rest(image: Image.Image, inside: Inside) -> Pixels:
    """Every pixel outside the box, one row each, its channels as columns."""
    array = _channels(image)
    left, top, right, bottom = inside
    outside = np.ones(array.shape[:2], dtype=bool)
    outside[top:bottom, left:right] = False
    rest: Pixels = array[outside]
    return rest if len(rest) else array.reshape(-1, array.shape[2])


def _channels(image: Image.Image) -> Pixels:
    array = np.asarray(image, dtype=np.uint8)
    return array[:, :, None] if array.ndim == 2 else array


def _mean(image: Image.Image, inside: Inside) -> Image.Image:
    """floor(mean + 1/2) of the rest, per channel."""
    rest = _rest(image, inside)
    n = len(rest)
    level = [(2 * int(total) + n) // (2 * n) for total in rest.sum(axis=0, dtype="int64")]
    left, top, right, bottom = inside
    colour = level[0] if len(level) == 1 else tuple(level)
    return Image.new(image.mode, (right - left, bottom - top), colour)


_UNIT = 1 << 24  # weights are whole parts of this
_PARTS = 256  # and means whole parts of a grey level over this


class _Surface(NamedTuple):
    """What lies between a box's sides: the sum of weighted means, and that of the weights.

    Where nothing around the box is known, the weight is 0.
    """

    sums: Whole
    weights: Whole

    @property
    def rounded(self) -> Whole:
        """Grey levels, halves up."""
        total = self.weights * _PARTS
        levels: Whole = (2 * self.sums + total) // (2 * total)
        return levels

    def faded(self, left: Whole, of: int) -> Whole:
        """The same times `left` parts `of` so many, nothing where less than none is left."""
        total = self.weights.clip(1) * _PARTS * of
        levels: Whole = (2 * self.sums * left.clip(0)[:, :, None] + total) // (2 * total)
        return levels


def _surface(values: Pixels | Whole, known: Mask, inside: Inside) -> _Surface | None:
    """Between the pixels just outside the box, whose weights are one over the distance.

    Of each side not one pixel is taken but the mean of a window along it that is as long as the
    pixel is far away, so that grain of the border does not grow into streaks. What is not known,
    and a side outside the picture, is left out; None where all four are outside. All in whole
    numbers.
    """
    sides = _sides(inside, known.shape)
    if not sides:
        return None
    left, top, right, bottom = inside
    along = (np.arange(left, right)[None, :], np.arange(top, bottom)[:, None])
    sums = np.zeros((bottom - top, right - left, values.shape[2]), np.int64)
    weights = np.zeros((bottom - top, right - left, 1), np.int64)
    for axis, at, far in sides:
        line = np.s_[at] if axis == 0 else np.s_[:, at]
        means, counts = _windows(values[line], known[line], along[axis], far)
        weight = np.where(counts > 0, (_UNIT // far)[:, :, None], 0)
        sums += weight * means
        weights += weight
    return _Surface(sums, weights)


def _sides(inside: Inside, shape: tuple[int, ...]) -> list[tuple[int, int, Whole]]:
    """The rows (axis 0) and columns (axis 1) of the picture just outside a box's sides.

    Beside each, how far every pixel of the box is from it, from 1. Where the box reaches the
    picture's own side there is none.
    """
    left, top, right, bottom = inside
    rows, columns = np.arange(top, bottom)[:, None], np.arange(left, right)[None, :]
    lines = (
        (1, left - 1, columns - left + 1),
        (1, right, right - columns),
        (0, top - 1, rows - top + 1),
        (0, bottom, bottom - rows),
    )
    size = (bottom - top, right - left)
    return [(n, at, np.broadcast_to(far, size)) for n, at, far in lines if 0 <= at < shape[n]]


def _windows(line: Pixels | Whole, known: Mask, middle: Whole, far: Whole) -> tuple[Whole, Whole]:
    """Means of what is known of a line over windows `far` long around `middle`, and how many.

    In 1/256 grey levels; 0 where nothing is known.
    """

    def sums(column: Pixels | Whole | Mask) -> Whole:
        nothing = np.zeros((1, column.shape[1]), np.int64)
        return np.concatenate([nothing, column.cumsum(0, np.int64)])

    seen = known[:, None]
    totals, counts = sums(line * seen), sums(seen)
    low = np.maximum(middle - far // 2, 0)
    high = np.minimum(middle + far // 2 + 1, len(line))
    number: Whole = counts[high] - counts[low]
    means: Whole = (totals[high] - totals[low]) * _PARTS // np.maximum(number, 1)
    return means, number


# ---------------------------------------------------------------- the other side of the picture

_RIM = 6  # the seam is blended over one part in so many of a box's shorter side


def mirrored(image: Image.Image, mirror: Mirror) -> Image.Image:
    """The boxes hidden behind the other side of the picture, which is sought and fitted first.

    A film's two sides are alike but for the finding, and for the heart: a box beside it gets a
    piece of it, or loses one. The step at a box's border fades out towards its middle, so that no
    edge shows and what is bright around the box does not spread into it. All in whole numbers.
    """
    array = _channels(image).astype(np.int64)
    known = np.ones(array.shape[:2], bool)
    for box in (*mirror.boxes, *mirror.apart):
        if (inside := _inside(box, image.size)) is not None:
            left, top, right, bottom = inside
            known[top:bottom, left:right] = False
    grey = array.sum(axis=2)
    columns = _axis(grey, known)
    across = columns - np.arange(image.width)
    for box in mirror.boxes:
        if (inside := _inside(box, image.size)) is None:
            continue
        down = np.arange(image.height) + _lift(grey, known, columns, inside)
        there = (down >= 0) & (down < image.height), (across >= 0) & (across < image.width)
        place = np.ix_(down.clip(0, image.height - 1), across.clip(0, image.width - 1))
        usable = there[0][:, None] & there[1] & known[place]
        patch = _blended(array, array[place], known, usable, inside)
        filled = _mean(image, inside) if patch is None else _image(patch, image.mode)
        image.paste(filled, inside[:2])
    return image


def _blended(
    array: Whole, other: Whole, known: Mask, usable: Mask, inside: Inside
) -> Pixels | None:
    """The other side in the box, at the level of its border there; None if nothing is known."""
    left, top, right, bottom = inside
    box = np.s_[top:bottom, left:right]
    step = _surface(array - other, known & usable, inside)
    smooth = _surface(array, known, inside)
    if step is None or smooth is None or not smooth.weights.all():
        if not usable[box].all():
            return None
        smooth = None
    reach = max(1, min(right - left, bottom - top) // _RIM)
    found = other[box]
    if step is not None:  # there is a side, then: the nearest decides how deep a pixel lies
        depth = np.minimum.reduce([far for _, _, far in _sides(inside, known.shape)])
        found = found + step.faded(reach + 1 - depth, reach + 1)
    if smooth is not None:
        found = np.where(usable[box][:, :, None], found, smooth.rounded)
    patch: Pixels = np.clip(found, 0, 255).astype(np.uint8)
    return patch


def _axis(grey: Whole, known: Mask) -> int:
    """The s for which the other side of column x is column s - x: where the two differ least.

    First roughly, on blocks, then to the pixel.
    """
    height, width = grey.shape
    step = max(1, min(height, width) // 64)
    high, wide = height // step, width // step
    blocks = (slice(high * step), slice(wide * step))
    cut = (high, step, wide, step)
    rough = grey[blocks].reshape(cut).sum(axis=(1, 3))
    seen = known[blocks].reshape(cut).min(axis=(1, 3))
    axes = range(wide - 1 - wide // 5, wide + wide // 5)
    s = _least(axes, wide - 1, lambda s: _differ(rough, seen, s))
    # A block's mirror image is a block: its columns sum to (s + 1) steps less one.
    near = range(s * step - 1, (s + 2) * step)
    return _least(near, (s + 1) * step - 1, lambda s: _differ(grey, known, s, every=step))


def _lift(grey: Whole, known: Mask, s: int, inside: Inside) -> int:
    """How much lower the other side of a box lies than it does, at this axis: films are askew."""
    height = grey.shape[0]
    middle = s // 2 + 1
    side = slice(0, middle) if inside[0] + inside[2] <= s else slice(middle, None)
    every = max(1, min(grey.shape) // 64)
    lifts = range(-(height // 16), height // 16 + 1)
    return _least(lifts, 0, lambda d: _differ(grey, known, s, d, side, every))


def _least(
    values: Iterable[int], middle: int, differ: Callable[[int], tuple[int, int] | None]
) -> int:
    """The value whose two sides differ least; ties, and nothing to tell by, go to the middle."""
    best, found = None, middle
    for value in sorted(values, key=lambda value: abs(value - middle)):
        new = differ(value)
        if new is not None and (best is None or new[0] * best[1] < best[0] * new[1]):
            best, found = new, value
    return found


def _differ(
    grey: Whole, known: Mask, s: int, d: int = 0, side: slice = slice(None), every: int = 1
) -> tuple[int, int] | None:
    """By how much (x, y) and (s - x, y + d) differ in all, and at how many places.

    Over every so many rows of one side; None where too little is known to tell.
    """
    height, width = grey.shape
    # Mirrored at this axis, these columns are themselves in reverse.
    left, right = max(0, s - width + 1), min(width - 1, s) + 1
    here = slice(max(0, -d), height - max(0, d), every)
    there = slice(max(0, d), height - max(0, -d), every)
    both = known[here, left:right] & known[there, left:right][:, ::-1]
    apart = np.abs(grey[here, left:right] - grey[there, left:right][:, ::-1])
    kept = slice(*(None if end is None else max(0, end - left) for end in (side.start, side.stop)))
    both, apart = both[:, kept], apart[:, kept]
    count = int(both.sum())
    if count * every * 8 < height * width:
        return None
    return int(apart[both].sum()), count


def _image(patch: Pixels, mode: str) -> Image.Image:
    return Image.fromarray(patch[:, :, 0] if mode == "L" else patch)
