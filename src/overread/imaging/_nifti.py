"""NIfTI sequences (x, y, t), through the optional package nibabel."""

from __future__ import annotations

import gzip
import io
import logging
import math
import zlib
from collections.abc import Collection
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from overread.case import BadInput
from overread.imaging._depth import fraction_of, range_of, to_bytes
from overread.imaging._plain import check_size, refuse_beyond, refuse_damaged

if TYPE_CHECKING:
    from numpy.typing import NDArray

_MOST_INFLATED = 1 << 30
# CAMUS: 1 is the cavity of the left ventricle, 2 its wall, 3 the atrium.
_VENTRICLE = 1


def looks_like_nifti(data: bytes) -> bool:
    return data[:2] == b"\x1f\x8b" or data[344:348] in (b"n+1\0", b"ni1\0")


def decode_nifti(data: bytes, name: str, wanted: Collection[int]) -> dict[int, NDArray[np.uint8]]:
    """Grey frames. Eight bits stay as they are; else the range of the sequence becomes 0 to 255."""
    values = _values(data, name)
    refuse_beyond(name, wanted, values.shape[2])
    if values.dtype == np.uint8:
        return {n: np.ascontiguousarray(values[:, :, n].T) for n in wanted}
    ends = range_of(values)
    return {n: to_bytes(fraction_of(np.ascontiguousarray(values[:, :, n].T), ends)) for n in wanted}


def decode_nifti_masks(
    data: bytes, name: str, wanted: Collection[int]
) -> dict[int, NDArray[np.bool_]]:
    """Where the label is 1, the cavity of the left ventricle."""
    values = _values(data, name)
    refuse_beyond(name, wanted, values.shape[2])
    return {n: np.ascontiguousarray(np.rint(values[:, :, n].T) == _VENTRICLE) for n in wanted}


def nifti_shape(path: Path, name: str) -> tuple[int, int, int]:
    """Frames, width and height from the header, and whether the file is as long as it says."""
    package = nifti_package(name)
    if not path.stat().st_size:
        raise BadInput(f"{name}: the file is empty (0 bytes). Fetch it again.")
    try:
        image = package.load(path)  # its header only
        shape = tuple(int(side) for side in image.shape)
        needed = int(image.dataobj.offset) + math.prod(shape) * image.get_data_dtype().itemsize
    except Exception as error:  # nibabel raises many kinds for a damaged header
        refuse_damaged(name, f"no NIfTI that can be read: {type(error).__name__}")
    if len(shape) != 3:
        raise BadInput(f"{name}: its array has {len(shape)} axes; x, y and t are needed. Cut it.")
    check_size(shape[0], shape[1], name)
    if needed > _MOST_INFLATED:
        raise BadInput(f"{name}: takes {needed} bytes, more than {_MOST_INFLATED}. Crop it.")
    held = _length(path, needed, name)
    if held < needed:
        refuse_damaged(name, f"{shape[2]} frames need {needed} bytes and it holds {held}")
    return shape[2], shape[0], shape[1]


def _length(path: Path, needed: int, name: str) -> int:
    """How many bytes a file holds, inflated. Where the last four say so, it is not inflated."""
    with path.open("rb") as file:
        packed = file.read(2) == b"\x1f\x8b"
        file.seek(-4, io.SEEK_END)
        stated = int.from_bytes(file.read(4), "little")
    if not packed:
        return path.stat().st_size
    if stated == needed:
        return stated
    held = 0
    try:
        with gzip.open(path) as inflated:
            while held < needed and (part := inflated.read(1 << 20)):
                held += len(part)
    except (OSError, EOFError, zlib.error) as error:
        refuse_damaged(name, " ".join(str(error).split())[:120].rstrip("."))
    return held


def nifti_package(name: str) -> Any:
    """The package that reads NIfTI, or one line that says how to get it."""
    try:
        package = import_module("nibabel")
    except ImportError:
        raise BadInput(
            f'{name} is NIfTI, which needs a package more: pip install "overread[nifti]".'
        ) from None
    # It writes to stderr what it thinks of a header, before it raises what we say in one line.
    logging.getLogger("nibabel.global").setLevel(logging.CRITICAL + 1)
    return package


def _values(data: bytes, name: str) -> NDArray[Any]:
    values: NDArray[Any]
    package = nifti_package(name)
    try:
        if data[:2] == b"\x1f\x8b":
            with gzip.open(io.BytesIO(data)) as file:
                data = file.read(_MOST_INFLATED + 1)
            if len(data) > _MOST_INFLATED:
                raise BadInput(f"{name}: inflates to more than {_MOST_INFLATED} bytes. Crop it.")
        values = np.asanyarray(package.Nifti1Image.from_bytes(data).dataobj)
    except BadInput:
        raise
    except (OSError, EOFError, zlib.error) as error:
        refuse_damaged(name, " ".join(str(error).split())[:120].rstrip("."))
    except Exception as error:  # nibabel raises many kinds for a damaged header
        refuse_damaged(name, f"no NIfTI that can be read: {type(error).__name__}")
    if values.ndim == 2:
        values = values[:, :, None]
    if values.ndim != 3:
        raise BadInput(f"{name}: its array has {values.ndim} axes; x, y and t are needed. Cut it.")
    check_size(values.shape[0], values.shape[1], name)
    return values
