"""A clip's recipe -> the frames a reader receives, as images, as a sheet or as a video."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from PIL import Image

from overread.case import BadInput, Clip, Overlay, Shown, ShownClip
from overread.imaging._budget import budgeted, check_time, hold
from overread.imaging._files import name_of
from overread.imaging._films import Films
from overread.imaging._masks import masks_of
from overread.imaging._movie import movie
from overread.imaging._render import applied, blended, check, encoded, jpeg_quality
from overread.imaging._sheet import contact_sheet

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


@budgeted
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


@budgeted
def clip_images(clip: Clip, films: Films) -> list[Image.Image]:
    """The frames of a clip as they are shown, before they are encoded."""
    name = name_of(clip.source)
    frames = films.frames(clip.source, clip.frames)
    hold(sum(frame.nbytes for frame in frames), name)
    masks: list[NDArray[np.bool_]] = []
    if clip.mask is not None:
        height, width = frames[0].shape[:2]
        masks = masks_of(clip.mask.source, clip.frames, (width, height), films)
        hold(sum(mask.nbytes for mask in masks), name)
    images = []
    for number, frame in enumerate(frames):  # one after another: most are made smaller
        image = Image.fromarray(frame)
        if clip.mask is not None:
            mask = Image.fromarray(masks[number]).convert("L")
            image = blended(image, mask, clip.mask.color, clip.mask.alpha)
        for operation in clip.operations:
            image = applied(image, operation)
        images.append(image)
        hold(image.width * image.height * len(image.getbands()), name)
        check_time(name)
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
