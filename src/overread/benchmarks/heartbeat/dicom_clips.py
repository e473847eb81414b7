"""Multi-frame DICOM: the frames, the size and the cine rate of its header, and nothing else.

No element that names a patient is decoded; who a clip belongs to is for the csv beside it to say.
"""

from __future__ import annotations

import math
import warnings
from pathlib import Path
from typing import Any, Final

from overread.benchmarks.heartbeat.footage import Footage, Unplayable, check_picture

__all__ = ["cine_rate", "is_dicom", "probe_dicom"]

_TAGS: Final = (
    *("NumberOfFrames", "Rows", "Columns", "SamplesPerPixel", "BitsAllocated"),
    *("PhotometricInterpretation", "FrameTime", "FrameTimeVector", "CineRate"),
    "RecommendedDisplayFrameRate",
)


def is_dicom(path: Path) -> bool:
    """By the mark after the preamble, or by the name where a file lacks it."""
    try:
        with path.open("rb") as file:
            marked = file.read(132)[128:] == b"DICM"
    except OSError:
        marked = False
    return marked or path.suffix.lower() in (".dcm", ".dicom")


def probe_dicom(path: Path) -> Footage:
    """The clip of a DICOM file, from its header; the pixels are not decoded."""
    import pydicom

    from overread.imaging import header_file

    if not path.is_file():
        raise Unplayable("the file is not there")
    if not path.stat().st_size:
        raise Unplayable("the file is empty (0 bytes)")
    try:
        with warnings.catch_warnings(), path.open("rb") as file:
            warnings.simplefilter("ignore")
            opened, deflated = header_file(file)
            header = pydicom.dcmread(
                opened, stop_before_pixels=True, specific_tags=list(_TAGS), force=True
            )
            frames = int(_number(header, "NumberOfFrames") or 1)
            height, width = (int(_number(header, name) or 0) for name in ("Rows", "Columns"))
            rate = cine_rate(header)
            least = 0 if deflated else _least_bytes(header, frames * height * width)
    except Exception as error:  # pydicom raises whatever a damaged header makes it stumble over
        raise Unplayable(f"the DICOM header cannot be read ({_said(error)})") from None
    if not width or not height:
        raise Unplayable("the DICOM file has no picture in it")
    check_picture(width, height)
    if frames < 1:
        raise Unplayable("the clip has no frames")
    size = path.stat().st_size
    if size < least:
        raise Unplayable(f"the file is cut short: {frames} frames need {least} bytes, not {size}")
    return Footage(frames, width, height, rate)


def cine_rate(header: Any) -> float | None:
    """Frames per second: FrameTime or FrameTimeVector (ms), else CineRate, else the display rate.

    FrameTime is how the clip was acquired; the other two are how it is meant to be played.
    """
    time = _number(header, "FrameTime")
    if time is not None and time > 0:
        return 1000 / time
    steps = [float(step) for step in _several(header, "FrameTimeVector")[1:]]
    if steps and sum(steps) > 0:
        return 1000 * len(steps) / sum(steps)
    for name in ("CineRate", "RecommendedDisplayFrameRate"):
        rate = _number(header, name)
        if rate is not None and rate > 0:
            return rate
    return None


def _least_bytes(header: Any, pixels: int) -> int:
    """What uncompressed frames take at least; compressed ones may take anything."""
    syntax = getattr(getattr(header, "file_meta", None), "TransferSyntaxUID", None)
    if syntax is None or syntax.is_compressed:
        return 0
    samples = int(_number(header, "SamplesPerPixel") or 1)
    bits = int(_number(header, "BitsAllocated") or 8)
    subsampled = header.get("PhotometricInterpretation") == "YBR_FULL_422"
    return pixels * (2 if subsampled else samples) * bits // 8


def _several(header: Any, name: str) -> list[Any]:
    value = header.get(name)
    if value is None:
        return []
    return [value] if isinstance(value, str | int | float) else list(value)


def _number(header: Any, name: str) -> float | None:
    values = _several(header, name)
    if not values or str(values[0]).strip() == "":
        return None
    number = float(values[0])
    return number if math.isfinite(number) else None


def _said(error: Exception) -> str:
    return " ".join(str(error).split())[:80] or type(error).__name__
