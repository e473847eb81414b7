"""A clip's recipe -> the frames a reader receives, as images, as a sheet or as a video."""

from __future__ import annotations

from collections.abc import Sequence

from PIL import Image

from overread.case import BadInput, Clip, Overlay, Shown, ShownClip
from overread.imaging._files import name_of
from overread.imaging._films import Films
from overread.imaging._masks import masks_of
from overread.imaging._movie import movie
from overread.imaging._render import applied, blended, check, encoded, jpeg_quality
from overread.imaging._sheet import contact_sheet


def render_clip(clip: Clip, films: Films | None = None) -> ShownClip:
    """Decode the frames asked for, lay the masks over them, carry out the operations, encode.

    The recipe is checked before any file is opened. `films` keeps what was decoded for the next
    clip that needs it. As many frames are encoded as were asked for, or none.
    """
    quality = jpeg_quality(clip.wire)
    for operation in clip.operations:
        check(operation)
    if clip.mask is not None:
        check(Overlay(clip.mask.source, clip.mask.color, clip.mask.alpha))
    images = clip_images(clip, films if films is not None else Films(0))
    shown = _shown(clip, images, quality)
    if shown.count != len(clip.frames):
        raise BadInput(
            f"{name_of(clip.source)}: {shown.count} of {len(clip.frames)} frames were encoded; all "
            "of them or none are shown. Report this."
        )
    return shown


def clip_images(clip: Clip, films: Films) -> list[Image.Image]:
    """The frames of a clip as they are shown, before they are encoded."""
    frames = films.frames(clip.source, clip.frames)
    images = [Image.fromarray(frame) for frame in frames]
    if clip.mask is not None:
        masks = masks_of(clip.mask.source, clip.frames, images[0].size, films)
        images = [
            blended(image, Image.fromarray(mask).convert("L"), clip.mask.color, clip.mask.alpha)
            for image, mask in zip(images, masks, strict=True)
        ]
    for operation in clip.operations:
        images = [applied(image, operation) for image in images]
    return images


def _shown(clip: Clip, images: Sequence[Image.Image], quality: int | None) -> ShownClip:
    match clip.form:
        case "images":
            parts = tuple(encoded(image, quality) for image in images)
            return ShownClip(parts, len(parts), clip.form)
        case "sheet":
            sheet = encoded(contact_sheet(images), quality)
            return ShownClip((sheet,), len(images), clip.form)
        case "video":
            import numpy as np

            video = movie([np.asarray(image.convert("RGB")) for image in images])
            return ShownClip((Shown("video/mp4", video),), len(images), clip.form)
