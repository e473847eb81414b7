"""What the header of a film says of it, without a pixel being decoded: size, view, sex and age.

Of a DICOM file only these elements are read, as raw bytes: no name or date of a patient is ever
decoded.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final, NamedTuple

from overread.case import BadInput
from overread.files import open_file, whole

__all__ = ["YEARS_OF", "DicomFacts", "dicom_facts", "film_size"]

YEARS_OF: Final = {"Y": 1.0, "M": 1 / 12, "W": 7 / 365.25, "D": 1 / 365.25}
"""Years of a unit of age, as DICOM names units."""
_SEX, _AGE, _VIEW = 0x00100040, 0x00101010, 0x00185101
_ROWS, _COLUMNS = 0x00280010, 0x00280011
_OLDEST_AGE: Final = 120


class DicomFacts(NamedTuple):
    """What is not said, or not sensibly, is None."""

    width: int | None = None
    height: int | None = None
    view: str | None = None
    sex: str | None = None
    age: float | None = None


def dicom_facts(path: Path, name: str) -> DicomFacts:
    """Read the header up to the pixels; `name` is what an error calls the file."""
    import pydicom
    from pydicom.errors import InvalidDicomError

    from overread.imaging._dicom_file import header_file

    tags = [_SEX, _AGE, _VIEW, _ROWS, _COLUMNS]
    try:
        with path.open("rb") as file:
            found = pydicom.dcmread(
                header_file(file)[0], stop_before_pixels=True, specific_tags=tags
            )
            raw = {tag: found.get_item(tag) for tag in tags if tag in found}
    except InvalidDicomError:
        raise BadInput(f"{name} is no DICOM file. Fetch it again.") from None
    except OSError as error:
        raise BadInput(f"{name} cannot be read: {error.strerror or error}.") from None
    except Exception as error:  # pydicom meets hostile bytes: whatever it raises is one refusal
        raise BadInput(f"{name} is a damaged DICOM file: {error}. Fetch it again.") from None
    little = found.original_encoding[1] is not False
    words = {tag: _header_text(raw[tag].value) for tag in (_SEX, _AGE, _VIEW) if tag in raw}
    sex = words.get(_SEX, "").upper()
    return DicomFacts(
        width=_header_number(raw.get(_COLUMNS), little),
        height=_header_number(raw.get(_ROWS), little),
        view=words.get(_VIEW, "").upper() or None,
        sex=sex if sex in ("M", "F") else None,
        age=_age_of_word(words.get(_AGE, "").upper()),
    )


def _header_text(value: object) -> str:
    text = value.decode("latin-1") if isinstance(value, bytes) else str(value or "")
    return text.strip(" \0")


def _header_number(element: object, little: bool) -> int | None:
    value = getattr(element, "value", None)
    if isinstance(value, bytes):
        return int.from_bytes(value[:2], "little" if little else "big") or None
    return value if isinstance(value, int) and value > 0 else None


def _age_of_word(word: str) -> float | None:
    """`058Y`, or as RSNA has it a bare number of years; nonsense (there is a 412) is None."""
    unit = word[-1:] if word[-1:] in YEARS_OF else "Y"
    digits = word.removesuffix(unit)
    number = whole(digits) if digits.isascii() and digits.isdecimal() else None
    if number is None:
        return None
    age = number * YEARS_OF[unit]
    return age if age <= _OLDEST_AGE else None


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
