"""Ways to hide a box other than painting it with one given grey.

A black box is off the distribution of films: a reader may change its answer because the picture
became odd, not because evidence went. Each way here is odd in another manner, or hardly at all.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from PIL import Image, ImageFilter

from overread.case import Occlude

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Pixels = NDArray[np.uint8]
    Whole = NDArray[np.int64]


def occluded(image: Image.Image, occlude: Occlude) -> Image.Image:
    """The image with the box hidden. What of the box lies outside the image is ignored.

    Where the box leaves nothing of the picture, what should come from the rest (mean and spread)
    comes from the whole.
    """
    box = occlude.box
    left, top = max(box.x, 0), max(box.y, 0)
    right, bottom = min(box.x + box.w, image.width), min(box.y + box.h, image.height)
    if left >= right or top >= bottom:
        return image
    inside = (left, top, right, bottom)
    match occlude.how:
        case "mean":
            patch = _mean(image, inside)
        case "blur":
            patch = _blurred(image, inside, (box.w, box.h))
        case "noise":
            patch = _noise(image, inside, occlude.seed)
        case "inpaint":
            patch = _inpainted(image, inside)
    image.paste(patch, (left, top))
    return image


Inside = tuple[int, int, int, int]


def _rest(image: Image.Image, inside: Inside) -> Pixels:
    """Every pixel outside the box, one row each, its channels as columns."""
    import numpy as np

    array = _channels(image)
    left, top, right, bottom = inside
    outside = np.ones(array.shape[:2], dtype=bool)
    outside[top:bottom, left:right] = False
    rest: Pixels = array[outside]
    return rest if len(rest) else array.reshape(-1, array.shape[2])


def _channels(image: Image.Image) -> Pixels:
    import numpy as np

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


def _blurred(image: Image.Image, inside: Inside, sides: tuple[int, int]) -> Image.Image:
    """A Gaussian whose standard deviation along each axis is the box's side along it.

    Of a contrast that fills the box a seventh is left in its middle: erf(1 / sqrt 8)^2 = 0.147.
    """
    return image.filter(ImageFilter.GaussianBlur(sides)).crop(inside)


def _noise(image: Image.Image, inside: Inside, seed: int) -> Image.Image:
    """Every pixel on its own: Gaussian with the rest's mean and SD, rounded, clipped to 0-255."""
    import numpy as np

    rest = _rest(image, inside)
    left, top, right, bottom = inside
    # RandomState's stream is frozen by numpy; that of newer generators may change.
    draws = np.random.RandomState(seed).standard_normal((bottom - top, right - left, 1))
    patch = np.rint(rest.mean(axis=0) + rest.std(axis=0) * draws)
    return _image(np.clip(patch, 0, 255).astype(np.uint8), image.mode)


def _inpainted(image: Image.Image, inside: Inside) -> Image.Image:
    """Each pixel is an average over the four pixels just outside the box in its row and column.

    Their weights are one over the distance, so the fill joins its surroundings without an edge. Of
    each side not one pixel is taken but the mean of a window along it that is as long as the pixel
    is far away, so that grain of the border does not grow into streaks. A side that lies outside
    the image is left out. All in whole numbers.
    """
    import numpy as np

    array = _channels(image)
    left, top, right, bottom = inside
    rows, columns = np.arange(top, bottom), np.arange(left, right)
    sides: list[tuple[Whole, Whole]] = []  # (mean of the window, distance)
    for at, steps in ((left - 1, columns - left + 1), (right, right - columns)):
        if 0 <= at < image.width:
            far = np.broadcast_to(steps[None, :], (len(rows), len(columns)))
            sides.append((_windows(array[:, at], rows[:, None], far), far))
    for at, steps in ((top - 1, rows - top + 1), (bottom, bottom - rows)):
        if 0 <= at < image.height:
            far = np.broadcast_to(steps[:, None], (len(rows), len(columns)))
            sides.append((_windows(array[at], columns[None, :], far), far))
    if not sides:
        return _mean(image, inside)
    weights = [(_UNIT // far)[:, :, None] for _, far in sides]
    total = sum(weights)
    value = sum(w * mean for w, (mean, _) in zip(weights, sides, strict=True))
    patch = (2 * value + total * _PARTS) // (2 * total * _PARTS)
    return _image(np.asarray(patch, dtype=np.uint8), image.mode)


_UNIT = 1 << 24  # weights are whole parts of this
_PARTS = 256  # and means whole parts of a grey level over this


def _windows(line: Pixels, middle: Whole, far: Whole) -> Whole:
    """Means of a line of pixels over windows `far` long around `middle`, in 1/256 grey levels."""
    import numpy as np

    sums = np.concatenate([np.zeros((1, line.shape[1]), np.int64), line.cumsum(0, np.int64)])
    low = np.maximum(middle - far // 2, 0)
    high = np.minimum(middle + far // 2 + 1, len(line))
    means: Whole = (sums[high] - sums[low]) * _PARTS // (high - low)[:, :, None]
    return means


def _image(patch: Pixels, mode: str) -> Image.Image:
    return Image.fromarray(patch[:, :, 0] if mode == "L" else patch)
