"""How large a film is as it will be shown, from the file's header alone."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from overread.benchmarks.grounding.build.dicom_facts import dicom_facts
from overread.case import BadInput
from overread.files import open_file

__all__ = ["film_size"]

_ORIENTATION: Final = 0x0112
# The turns by which width and height change places; showing applies them.
_ON_ITS_SIDE: Final = (5, 6, 7, 8)


def film_size(path: Path, name: str) -> tuple[int, int]:
    """Width and height; `name` is what an error calls the file. No pixel is decoded."""
    with open_file(path, named=name) as file:
        start = file.read(132)
    if start[128:] == b"DICM":
        facts = dicom_facts(path, name)
        if facts.width is None or facts.height is None:
            raise BadInput(f"{name} is a DICOM file without pixels. Leave it out.")
        return facts.width, facts.height
    from PIL import Image

    try:
        with Image.open(path) as image:
            width, height = image.size
            turned = image.getexif().get(_ORIENTATION) in _ON_ITS_SIDE
    except (OSError, SyntaxError, ValueError, Image.DecompressionBombError):
        raise BadInput(
            f"{name}: its size cannot be read; an image is a PNG, JPEG, TIFF, BMP or DICOM file. "
            "Fetch or convert it."
        ) from None
    return (height, width) if turned else (width, height)
