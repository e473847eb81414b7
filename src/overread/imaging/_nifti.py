"""NIfTI sequences (x, y, t), through the optional package nibabel."""

from __future__ import annotations

import gzip
import io
import logging
import math
import zlib
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

import numpy as np

from overread.case import BadInput
from overread.files import is_gzip, open_file
from overread.imaging import _formats as formats
from overread.imaging._budget import GZIP, budgeted, check_time, hold, inflated, make_room
from overread.imaging._grey import fraction_of, range_of, to_bytes

if TYPE_CHECKING:
    from numpy.typing import NDArray

_HEAD, _HEAD_PACKED = 348, 1 << 12
_A_VALUE = 40  # bytes of a pixel of the frame that is worked on
# CAMUS: 1 is the cavity of the left ventricle, 2 its wall, 3 the atrium.
_VENTRICLE = 1


def looks_like_nifti(data: bytes) -> bool:
    return data[:2] == b"\x1f\x8b" or data[344:348] in (b"n+1\0", b"ni1\0")


def decode_nifti(data: bytes, name: str, wanted: Collection[int]) -> dict[int, NDArray[np.uint8]]:
    """Grey frames. Eight bits stay as they are; else the range of the sequence becomes 0 to 255."""
    values = _Values(data, name, wanted)
    if values.frame(0).dtype == np.uint8:
        return {n: values.frame(n) for n in wanted}
    ends = range_of(np.array([end for n in range(values.count) for end in values.ends(n)]))
    return {n: to_bytes(fraction_of(values.frame(n), ends)) for n in wanted}


def decode_nifti_masks(
    data: bytes, name: str, wanted: Collection[int]
) -> dict[int, NDArray[np.bool_]]:
    """Where the label is 1, the cavity of the left ventricle."""
    values = _Values(data, name, wanted)
    return {n: np.rint(values.frame(n)) == _VENTRICLE for n in wanted}


@budgeted
def nifti_shape(path: Path, name: str) -> tuple[int, int, int]:
    """Frames, width and height from the header, and whether the file is as long as it says."""
    package = nifti_package(name)
    with open_file(path, named=name) as file:
        start = file.read(_HEAD_PACKED)
        formats.refuse_empty(start, name)
        with formats.damage_refused(name, "NIfTI"):
            packed = is_gzip(start)
            head = zlib.decompressobj(GZIP).decompress(start, _HEAD) if packed else start[:_HEAD]
            header = package.Nifti1Header(head)  # of the header alone: what may follow has any size
            shape = tuple(int(side) for side in header.get_data_shape())
            length = math.prod(shape) * int(header.get_data_dtype().itemsize)
            needed = int(header.get_data_offset()) + length
        if len(shape) != 3:
            raise BadInput(
                f"{name}: its array has {len(shape)} axes; x, y and t are needed. Cut it."
            )
        formats.check_size(shape[0], shape[1], name)
        make_room(needed, name)
        held = _length(file, needed, name, packed=packed)
    if held < needed:
        formats.refuse_damaged(name, f"{shape[2]} frames need {needed} bytes and it holds {held}")
    return shape[2], shape[0], shape[1]


def _length(file: BinaryIO, needed: int, name: str, *, packed: bool) -> int:
    """How many bytes a file holds, inflated. Where the last four say so, it is not inflated."""
    size = file.seek(0, io.SEEK_END)
    if not packed:
        return size
    file.seek(-4, io.SEEK_END)
    if int.from_bytes(file.read(4), "little") == needed:
        return needed
    file.seek(0)
    held = 0
    with _cut_short_refused(name), gzip.open(file) as inflating:
        while held < needed and (part := inflating.read(1 << 20)):
            held += len(part)
            check_time(name)
    return held


@contextmanager
def _cut_short_refused(name: str) -> Iterator[None]:
    """What is wrong with a gzip file, as its reader says it."""
    try:
        yield
    except (OSError, EOFError, zlib.error) as error:
        formats.refuse_damaged(name, formats.one_line(error, 120))


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


class _Values:
    """The frames of a sequence, each taken out of the file when it is asked for."""

    def __init__(self, data: bytes, name: str, wanted: Collection[int]) -> None:
        package = nifti_package(name)
        self.name = name
        with formats.damage_refused(name, "NIfTI"), _cut_short_refused(name):
            file = inflated(data, GZIP, name) if is_gzip(data) else io.BytesIO(data)
            self._array = package.Nifti1Image.from_stream(file).dataobj
            shape = tuple(int(side) for side in self._array.shape)
        if len(shape) not in (2, 3):
            raise BadInput(
                f"{name}: its array has {len(shape)} axes; x, y and t are needed. Cut it."
            )
        formats.check_size(shape[0], shape[1], name)
        self.count = shape[2] if len(shape) == 3 else 1
        formats.refuse_beyond(name, wanted, self.count)
        hold((_A_VALUE + len(wanted)) * shape[0] * shape[1], name)

    def frame(self, number: int) -> NDArray[Any]:
        """Rows x columns, as the file scales them."""
        check_time(self.name)
        with formats.damage_refused(self.name, "NIfTI"):  # it may end before the frame does
            taken = self._array[:, :, number] if len(self._array.shape) == 3 else self._array[:, :]
        return np.ascontiguousarray(np.asanyarray(taken).T)

    def ends(self, number: int) -> tuple[float, ...]:
        """The least and the greatest finite value of a frame, if it has any."""
        found = self.frame(number)
        finite = found[np.isfinite(found)]
        return (float(finite.min()), float(finite.max())) if finite.size else ()
