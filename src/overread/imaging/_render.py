"""A picture's recipe -> the bytes a reader receives."""

from __future__ import annotations

import io
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from PIL import Image

from overread.case import (
    BadInput,
    Fill,
    Mirror,
    Occlude,
    Operation,
    Overlay,
    Picture,
    Resize,
    Shown,
    Within,
)
from overread.imaging._budget import budgeted
from overread.imaging._files import name_of, read
from overread.imaging._formats import MOST_PIXELS
from overread.imaging._occlude import mirrored, occluded
from overread.imaging._open import open_image, open_mask

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

# Part of every reply's key: raise it whenever the same recipe gives other pixels. Where it does so
# of DICOM files alone, raise DICOM_RENDERER, which is part of their digests.
RENDERER = 1

# At 224 pixels level 1 costs a fifth of Pillow's level 6, for a few per cent more bytes.
_PNG_LEVEL = 1


@budgeted
def render(picture: Picture) -> Shown:
    """Read the source, carry out the operations in order, encode.

    The recipe is checked before any file is opened. The bytes hold no metadata and depend only on
    the recipe, the file and the codecs' versions.
    """
    quality = jpeg_quality(picture.wire)
    for operation in picture.operations:
        check(operation)
    image = open_image(read(picture.source), name_of(picture.source))
    for operation in picture.operations:
        image = applied(image, operation)
    return encoded(image, quality)


def pixels(shown: Shown) -> NDArray[np.uint8]:
    """What a reader sees: rows x columns of grey, or rows x columns x 3 of RGB."""
    import numpy as np

    return np.array(open_image(shown.data, "rendered picture"), dtype=np.uint8)


def jpeg_quality(wire: str) -> int | None:
    """The quality of "jpeg:QUALITY", None for "png"."""
    if wire == "png":
        return None
    kind, _, quality = wire.partition(":")
    if kind == "jpeg" and quality.isascii() and quality.isdigit() and 1 <= int(quality) <= 100:
        return int(quality)
    raise BadInput(
        f'wire format "{wire}" is not known. Use "png" or "jpeg:Q" with Q from 1 to 100.'
    )


def check(operation: Operation) -> None:
    match operation:
        case Resize(width, height):
            if width < 1 or height < 1 or width * height > MOST_PIXELS:
                raise BadInput(
                    f"resize to {width} x {height}: both must be above 0, and together at most "
                    f"{MOST_PIXELS} pixels. Mend the recipe."
                )
        case Within(px):
            if not 1 <= px <= MOST_PIXELS:
                raise BadInput(
                    f"shrinking to within {px} pixels; the longer side is 1 to {MOST_PIXELS}. "
                    "Mend the recipe."
                )
        case Fill(box, value):
            if box.w < 1 or box.h < 1:
                raise BadInput(
                    f"fill of a box {box.w} wide and {box.h} high; a box needs both above 0. "
                    "Mend the box."
                )
            if not 0 <= value <= 255:
                raise BadInput(f"fill with {value}; a grey value is 0 to 255. Mend the recipe.")
        case Mirror(boxes, apart):
            for box in (*boxes, *apart):
                if box.w < 1 or box.h < 1:
                    raise BadInput(
                        f"a box {box.w} wide and {box.h} high cannot be mirrored; it needs both "
                        "above 0. Mend the box."
                    )
        case Occlude(box, _, seed):
            if box.w < 1 or box.h < 1:
                raise BadInput(
                    f"a box {box.w} wide and {box.h} high cannot hide anything; it needs both "
                    "above 0. Mend the box."
                )
            if not 0 <= seed < 2**32:
                raise BadInput(
                    f"noise of seed {seed}; a seed is 0 to {2**32 - 1}. Mend the recipe."
                )
        case Overlay(_, color, alpha):
            if not 0 <= alpha <= 1 or not all(0 <= c <= 255 for c in color):
                raise BadInput(
                    f"overlay of colour {color} with alpha {alpha}; colours are 0 to 255 and "
                    "alpha 0 to 1. Mend the recipe."
                )


def applied(image: Image.Image, operation: Operation) -> Image.Image:
    match operation:
        case Resize(width, height):
            return image.resize((width, height), Image.Resampling.BILINEAR)
        case Within(px):
            return _within(image, px)
        case Fill(box, value):
            return _filled(image, box.x, box.y, box.x + box.w, box.y + box.h, value)
        case Occlude():
            return occluded(image, operation)
        case Mirror():
            return mirrored(image, operation)
        case Overlay():
            return _overlaid(image, operation)


def _within(image: Image.Image, px: int) -> Image.Image:
    longer = max(image.size)
    if longer <= px:
        return image
    scale = px / longer
    width, height = int(image.width * scale), int(image.height * scale)
    if width < 1 or height < 1:
        raise BadInput(
            f"a picture of {image.width} x {image.height} pixels within {px} would be {width} x "
            f"{height}; both must be above 0. Crop it, or allow more pixels."
        )
    return image.resize((width, height), Image.Resampling.LANCZOS)


def _filled(
    image: Image.Image, left: int, top: int, right: int, bottom: int, value: int
) -> Image.Image:
    left, top = max(left, 0), max(top, 0)
    right, bottom = min(right, image.width), min(bottom, image.height)
    if left < right and top < bottom:
        colour: Any = value if image.mode == "L" else (value, value, value)
        image.paste(colour, (left, top, right, bottom))
    return image


def _overlaid(image: Image.Image, overlay: Overlay) -> Image.Image:
    mask = open_mask(read(overlay.mask), name_of(overlay.mask))
    return blended(image, mask, overlay.color, overlay.alpha)


def blended(
    image: Image.Image, mask: Image.Image, color: tuple[int, int, int], alpha: float
) -> Image.Image:
    """floor((1 - alpha) v + alpha c + 1/2) where the mask is not zero; always RGB."""
    if mask.size != image.size:
        mask = mask.resize(image.size, Image.Resampling.NEAREST)
    image = image.convert("RGB")
    image.paste(image.point(_blend(color, alpha)), mask=mask)
    return image


@lru_cache(16)  # every frame of a clip has the same
def _blend(color: tuple[int, int, int], alpha: float) -> list[int]:
    return [int((1 - alpha) * v + alpha * c + 0.5) for c in color for v in range(256)]


def encoded(image: Image.Image, quality: int | None) -> Shown:
    image.info = {}  # Pillow's writers take metadata from here
    file = io.BytesIO()
    if quality is None:
        image.save(file, "PNG", compress_level=_PNG_LEVEL)
        return Shown("image/png", file.getvalue())
    image.save(file, "JPEG", quality=quality)
    return Shown("image/jpeg", file.getvalue())
