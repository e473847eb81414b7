"""What a fill leaves of a finding, on phantoms: their film without it can be drawn."""

from __future__ import annotations

import io
from collections.abc import Iterator
from typing import Any

import numpy as np
from PIL import Image

from overread.case import Box, Fill, Inline, Mirror, Occlude, Operation, Picture
from overread.imaging import pixels, render, rescale_box
from overread.phantoms.chest_body import layers, patient
from overread.phantoms.chest_film import FILM, FINDINGS, changed_box, developed, exposed, grain

__all__ = ["filled", "left", "pairs"]

PX = 224


def pairs(finding: str, count: int) -> Iterator[tuple[Any, Any, Box]]:
    """Films of 224 pixels without and with a finding of the same patient, and its box."""
    for number in range(count):
        rng = np.random.default_rng([5, number, *finding.encode()])
        person = patient(rng, view=("AP", "PA")[number % 2])
        healthy, noise = layers(person), grain(rng)
        attenuation = healthy.attenuation()
        middle = float(np.median(attenuation[::4, ::4]))
        plain = exposed(attenuation, person, middle)
        scaled = None
        while scaled is None:
            sick = FINDINGS[finding](healthy, person, rng).layers.attenuation()
            having = exposed(sick, person, middle)
            box = changed_box(plain, having, noise)
            if box is not None:
                scaled = rescale_box(box.x, box.y, box.w, box.h, FILM, FILM)
        yield _small(developed(plain, noise)), _small(developed(having, noise)), scaled


def filled(film: Any, boxes: tuple[Box, ...], fill: str) -> Any:
    """The film with its boxes hidden, as a reader is shown it."""
    hidden: tuple[Operation, ...]
    if fill == "black":
        hidden = tuple(map(Fill, boxes))
    elif fill == "mirror":
        hidden = (Mirror(boxes),)
    else:
        hidden = tuple(Occlude(box, fill, 7) for box in boxes)  # type: ignore[arg-type]
    file = io.BytesIO()
    Image.fromarray(film).save(file, "PNG")
    return pixels(render(Picture(Inline(file.getvalue()), hidden)))


def left(plain: Any, having: Any, box: Box, fill: str) -> float:
    """How much of the finding is left: 1 all of it, 0 nothing, below 0 more than it was is gone."""
    from scipy import ndimage

    shown = filled(having, (box,), fill)
    inside = np.s_[box.y : box.y + box.h, box.x : box.x + box.w]
    smooth = [
        ndimage.gaussian_filter(each.astype(float), 3)[inside] for each in (plain, having, shown)
    ]
    finding, rest = smooth[1] - smooth[0], smooth[2] - smooth[0]
    return float((rest * finding).sum() / (finding * finding).sum())


def _small(film: Any) -> Any:
    return np.asarray(Image.fromarray(film).resize((PX, PX), Image.Resampling.BILINEAR))
