"""What the header of a DICOM film says that a probe set needs: size, view, sex and age.

Only these elements are read, as raw bytes: no name or date of a patient is ever decoded.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final, NamedTuple

from overread.benchmarks.files.tables import YEARS_OF
from overread.case import BadInput
from overread.files import whole

__all__ = ["DicomFacts", "dicom_facts"]

_SEX, _AGE, _VIEW = 0x00100040, 0x00101010, 0x00185101
_ROWS, _COLUMNS = 0x00280010, 0x00280011
_OLDEST: Final = 120


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

    from overread.imaging import header_file

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
    words = {tag: _text(raw[tag].value) for tag in (_SEX, _AGE, _VIEW) if tag in raw}
    sex = words.get(_SEX, "").upper()
    return DicomFacts(
        width=_short(raw.get(_COLUMNS), little),
        height=_short(raw.get(_ROWS), little),
        view=words.get(_VIEW, "").upper() or None,
        sex=sex if sex in ("M", "F") else None,
        age=_age(words.get(_AGE, "").upper()),
    )


def _text(value: object) -> str:
    text = value.decode("latin-1") if isinstance(value, bytes) else str(value or "")
    return text.strip(" \0")


def _short(element: object, little: bool) -> int | None:
    value = getattr(element, "value", None)
    if isinstance(value, bytes):
        return int.from_bytes(value[:2], "little" if little else "big") or None
    return value if isinstance(value, int) and value > 0 else None


def _age(word: str) -> float | None:
    """`058Y`, or as RSNA has it a bare number of years; nonsense (there is a 412) is None."""
    unit = word[-1:] if word[-1:] in YEARS_OF else "Y"
    digits = word.removesuffix(unit)
    number = whole(digits) if digits.isascii() and digits.isdecimal() else None
    if number is None:
        return None
    age = number * YEARS_OF[unit]
    return age if age <= _OLDEST else None
