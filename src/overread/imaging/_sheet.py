"""Frames -> one contact sheet, each tile under its number."""

from __future__ import annotations

import math
from collections.abc import Sequence

from PIL import Image, ImageDraw, ImageFont

from overread.case import BadInput
from overread.imaging._plain import MOST_PIXELS

_GAP = 4
_INK, _GROUND = 255, 0


def contact_sheet(images: Sequence[Image.Image]) -> Image.Image:
    """Rows of tiles from the top left, numbered from 0 in a band above each.

    The numbers are places in the clip, as questions count them, and cover no pixel of a frame.
    """
    width = max(image.width for image in images)
    height = max(image.height for image in images)
    text = max(11, round(height / 9))
    band = text + _GAP
    across = max(1, round(math.sqrt(len(images) * (height + band) / width)))
    across = min(across, len(images))
    down = -(-len(images) // across)
    size = (across * (width + _GAP) + _GAP, down * (height + band + _GAP) + _GAP)
    if size[0] * size[1] > MOST_PIXELS:
        raise BadInput(
            f"a sheet of {len(images)} frames of {width} x {height} would have {size[0]} x "
            f"{size[1]} pixels. Resize the frames, or show them as images."
        )
    grey = all(image.mode == "L" for image in images)
    sheet = Image.new("L" if grey else "RGB", size, _GROUND)
    pen, font = ImageDraw.Draw(sheet), ImageFont.load_default(size=text)
    ink = _INK if grey else (_INK, _INK, _INK)
    for number, image in enumerate(images):
        left = _GAP + number % across * (width + _GAP)
        top = _GAP + number // across * (height + band + _GAP)
        pen.text((left + width / 2, top + band / 2), str(number), fill=ink, font=font, anchor="mm")
        sheet.paste(image if grey else image.convert("RGB"), (left, top + band))
    return sheet
