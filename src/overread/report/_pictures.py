"""Rendered pictures as a page embeds them: small, and each once."""

from __future__ import annotations

from base64 import b64encode
from io import BytesIO
from typing import Final, NamedTuple

from overread.case import Shown

# A film of 224 pixels a side stays as it is; a sheet of frames may be long.
_MOST_PIXELS: Final = 200_000
_LONGEST: Final = 1280
_QUALITY: Final = 80


class Embedded(NamedTuple):
    """A picture inside the page, and the size it was shown in, for boxes are in those pixels."""

    address: str
    width: int
    height: int


def embedded(shown: Shown) -> Embedded | None:
    """The picture as WebP, shrunk where it is large; None where it is no picture."""
    from PIL import Image

    try:
        with Image.open(BytesIO(shown.data)) as opened:
            picture = opened.convert("L" if opened.mode in ("1", "L", "I;16") else "RGB")
    except (OSError, ValueError, Image.DecompressionBombError):
        return None
    width, height = picture.size
    scale = min(1.0, (_MOST_PIXELS / (width * height)) ** 0.5, _LONGEST / max(width, height))
    if scale < 1:
        size = (max(1, round(width * scale)), max(1, round(height * scale)))
        picture = picture.resize(size, Image.Resampling.LANCZOS)
    data = BytesIO()
    picture.save(data, "WEBP", quality=_QUALITY, method=2)
    return Embedded(f"data:image/webp;base64,{b64encode(data.getvalue()).decode()}", width, height)
