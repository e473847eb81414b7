"""Where the patient is on a chest film, and boxes of a given size that lie there.

A box in a corner often lies on air, where nothing is hidden. A matched box hides as much of the
patient as the box it is matched to, and nothing that is marked.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final, TypeAlias

import numpy as np
import numpy.typing as npt

from overread.case import Box

Grey: TypeAlias = npt.NDArray[np.uint8]
Mask: TypeAlias = npt.NDArray[np.bool_]
_Film: TypeAlias = npt.NDArray[np.float32]

INSIDE: Final = 95
"""Per cent of a matched box that lie inside the body, at least."""

# Tuned by eye on frontal films of two hospitals. Lengths are shares of the film's shorter side.
_BLUR = 1 / 112  # grain goes, the skin line stays
_CHINK = 1 / 56  # what joins lung and air through a thin chest wall is narrower than twice this
_LETTER = 1 / 40  # what is thinner than twice this is print, a tube or the edge of a cassette
_AIR = 0.22  # of the way from the darkest grey to that of tissue: below is air, or lung
_SHARP = 30.0  # grey levels a pixel: no part of a patient ends so suddenly over its whole length
_NEGATIVE = -0.2  # the film's likeness to a chest below which it is taken for a negative
_PLATE = 40.0  # grey levels from a plate's straight edge down to what lies beside it
_ALONG = 0.65  # the share of the film's width a plate's edge runs along
_TILTS = np.linspace(-0.08, 0.08, 17, dtype=np.float32)


def body_mask(pixels: Grey) -> Mask:
    """True where the patient is on a frontal chest film, lungs included.

    Air is what is dark and hangs together with the film's edge; a lung is as dark, but lies inside.
    Frames, plates and printed letters do not count, and a film in negative is turned first. The
    pixels are rows x columns of grey, at least 32 x 32; a film of one tone is all body.
    """
    from scipy import ndimage

    side = min(pixels.shape)
    film = pixels.astype(np.float32)
    if _likeness(film) < _NEGATIVE:
        film = 255.0 - film
    plates = _plates(film)
    film[plates] = film.min()
    smooth = ndimage.gaussian_filter(film, side * _BLUR)
    not_air = ~_air(smooth, side) & ~plates
    sharp = ndimage.gaussian_gradient_magnitude(film, 0.7) > _SHARP
    letter = _disc(side * _LETTER)
    thick = ndimage.binary_erosion(not_air & ~sharp, letter, border_value=1)
    pieces, count = ndimage.label(ndimage.binary_dilation(thick, letter))
    kept = np.ones(count + 1, np.bool_)
    kept[0] = False
    kept[_frames(pieces, smooth)] = False
    # The edges that cut the patient off from a frame belong to one of the two: give them back.
    body = ndimage.binary_dilation(kept[pieces], _disc(2)) & not_air
    return np.asarray(ndimage.binary_fill_holes(_main(body)), np.bool_)


def matched_boxes(
    box: Box, body: Mask, k: int, rng: np.random.Generator, avoid: Sequence[Box] = ()
) -> tuple[Box, ...]:
    """Up to k distinct boxes of the target's size, uniform over all that are allowed.

    Allowed is a box inside the film, at least 95 % of it inside the body, that neither overlaps nor
    touches the target or a box to avoid. Fewer than k, or none, where there is no room.
    """
    height, width = body.shape
    w, h = box.w, box.h
    if w > width or h > height or k < 1:
        return ()
    sums = np.pad(body.astype(np.int64).cumsum(0).cumsum(1), ((1, 0), (1, 0)))
    covered = sums[h:, w:] - sums[:-h, w:] - sums[h:, :-w] + sums[:-h, :-w]
    allowed = covered * 100 >= INSIDE * w * h
    for other in (box, *avoid):
        # The top left corners from which a box would lie on the other, or next to it: a
        # mask may be a row and a column larger than its box.
        top, left = max(0, other.y - h), max(0, other.x - w)
        bottom, right = max(0, other.y + other.h + 1), max(0, other.x + other.w + 1)
        allowed[top:bottom, left:right] = False
    free = np.flatnonzero(allowed)
    if not free.size:
        return ()
    drawn = rng.choice(free, min(k, free.size), replace=False)
    rows, columns = np.unravel_index(drawn, allowed.shape)
    return tuple(Box(int(x), int(y), w, h) for x, y in zip(columns, rows, strict=True))


# ---------------------------------------------------------------- air, frames, negatives


def _air(smooth: _Film, side: int) -> Mask:
    """What is dark and reaches the edge, less lungs that reach it: they also reach the middle."""
    from scipy import ndimage

    darkest, tissue = np.percentile(smooth, (1, 75))
    dark = smooth < darkest + _AIR * (tissue - darkest)
    chink = _disc(side * _CHINK)
    pieces, count = ndimage.label(ndimage.binary_erosion(dark, chink, border_value=1))
    everywhere, centre = np.ones(dark.shape, np.bool_), _centre(dark.shape)
    height, width = dark.shape
    y, x = np.ogrid[:height, :width]
    near_y, near_x = height // 16, width // 16
    rows = (y < near_y) | (y >= height - near_y)
    corners = rows & ((x < near_x) | (x >= width - near_x))
    areas, at_edge, central, cornered = (
        np.bincount(pieces[where], minlength=count + 1)
        for where in (everywhere, _edge(dark.shape), centre, corners)
    )
    lung = (4 * central >= areas) | ((cornered == 0) & (20 * central >= centre.sum()))
    outside = (at_edge > 0) & ~lung
    outside[0] = False
    return np.asarray(ndimage.binary_dilation(outside[pieces], _disc(side * _CHINK + 1)) & dark)


def _plates(film: _Film) -> Mask:
    """Bright frames and plates along a side: all beyond a straight, sharp, nearly level edge."""
    from scipy import ndimage

    found = np.zeros(film.shape, np.bool_)
    for turns in range(4):
        seen, beyond = np.rot90(film, turns), np.rot90(found, turns)  # views: the side is on top
        height, width = seen.shape
        smooth = ndimage.uniform_filter1d(seen, 3, axis=0)
        falls = np.zeros(seen.shape, np.bool_)
        falls[3:] = smooth[:-3] - smooth[3:] >= _PLATE
        across = np.arange(width)
        rows = np.arange(3, height // 3)[:, None]
        for tilt in _TILTS:
            line = np.rint(tilt * (across - (width - 1) / 2)).astype(np.intp)
            share = falls[np.clip(rows + line, 0, height - 1), across].mean(axis=1)
            if share.max() >= _ALONG:
                beyond |= np.arange(height)[:, None] <= rows[share.argmax()] + line
                break
    return found


def _frames(pieces: npt.NDArray[np.int32], smooth: _Film) -> npt.NDArray[np.intp]:
    """Pieces at the film's edge, away from its middle, that are brighter than tissue."""
    tissue = np.percentile(smooth, 75)
    at_edge = np.unique(pieces[_edge(pieces.shape)])
    central = np.unique(pieces[_centre(pieces.shape)])
    some = np.setdiff1d(at_edge[at_edge > 0], central)
    return np.array([n for n in some if np.median(smooth[pieces == n]) > tissue], np.intp)


def _main(body: Mask) -> Mask:
    """The connected part with the most of the film's middle; all there is where there is none."""
    from scipy import ndimage

    parts, count = ndimage.label(body)
    if not count:
        return np.ones(body.shape, np.bool_)
    central = np.bincount(parts[_centre(body.shape)], minlength=count + 1)
    central[0] = 0
    return np.asarray(parts == central.argmax())


def _likeness(film: _Film) -> float:
    """The correlation of a film with a drawing of a chest: dark lungs and shoulders' corners, a
    bright middle and belly. Near 0.7 for a film, near -0.7 for its negative.
    """
    height, width = film.shape
    y, x = np.ogrid[:height, :width]
    y, x = (y + 0.5) / height, (x + 0.5) / width
    aside = abs(x - 0.5)
    lungs = ((aside - 0.21) / 0.13) ** 2 + ((y - 0.42) / 0.26) ** 2 < 1
    corners = (y < 0.15) & (aside > 0.35)
    middle = ((aside < 0.08) & (y > 0.15)) | ((aside < 0.35) & (y > 0.8))
    bright, dark = film[middle], film[lungs | corners]
    spread = float(np.concatenate((bright, dark)).std())
    if spread == 0:
        return 0.0
    n, m = bright.size, dark.size
    difference: float = bright.mean() - dark.mean()
    return float(difference / spread * math.sqrt(n * m) / (n + m))


def _edge(shape: tuple[int, ...]) -> Mask:
    edge = np.ones(shape, np.bool_)
    edge[1:-1, 1:-1] = False
    return edge


def _centre(shape: tuple[int, ...]) -> Mask:
    height, width = shape
    centre = np.zeros(shape, np.bool_)
    centre[int(0.3 * height) : int(0.7 * height), width // 4 : -(width // 4)] = True
    return centre


def _disc(radius: float) -> Mask:
    reach = int(radius)
    y, x = np.ogrid[-reach : reach + 1, -reach : reach + 1]
    return np.asarray(x * x + y * y <= reach * reach + 0.5)
