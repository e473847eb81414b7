"""Clips of every kind by frame number, each decoded once for all who need its frames at a time."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Collection, Hashable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from overread.case import BadInput, Inline, Source
from overread.imaging._budget import budgeted
from overread.imaging._dicom_file import looks_like_dicom
from overread.imaging._files import locate, name_of, read, stamp
from overread.imaging._nifti import decode_nifti, looks_like_nifti
from overread.imaging._open import one_line
from overread.imaging._plain import refuse_damaged
from overread.imaging._video import container_of, decode_video

if TYPE_CHECKING:
    from numpy.typing import NDArray

_MEGABYTE = 1_000_000


def decode(data: bytes, name: str, wanted: Collection[int]) -> dict[int, NDArray[np.uint8]]:
    """Exactly the frames asked for of an AVI, MP4, MKV, multi-frame DICOM or NIfTI file."""
    if not wanted:
        raise BadInput(f"{name}: a clip of no frames was asked for. Name at least one frame.")
    if min(wanted) < 0:
        raise BadInput(f"{name}: there is no frame {min(wanted)}; frames are counted from 0.")
    if not data:
        raise BadInput(f"{name}: the file is empty (0 bytes). Fetch it again.")
    try:
        if container_of(data) is not None:
            return decode_video(data, name, wanted)
        if data[128:132] != b"DICM" and looks_like_nifti(data):
            return decode_nifti(data, name, wanted)
        if looks_like_dicom(data):
            from overread.imaging._dicom import decode_dicom

            return decode_dicom(data, name, wanted)
    except (BadInput, ImportError):
        raise
    except Exception as error:  # decoders meet hostile bytes: whatever they raise is one refusal
        refuse_damaged(name, one_line(error))
    raise BadInput(
        f"{name}: unknown format; a clip is an AVI, MP4, MKV, DICOM or NIfTI file. "
        "Convert it to AVI or MP4."
    )


class _Film:
    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.frames: dict[int, NDArray[np.uint8]] = {}
        self.size = 0  # bytes

    def keep(self, frames: dict[int, NDArray[np.uint8]]) -> None:
        """Frames that were not there before."""
        self.frames |= frames
        self.size += sum(frame.nbytes for frame in frames.values())


class Films:
    """Decoded frames of the clips used last.

    A class, for it guards locks: contexts and questions that show one clip's frames share their
    decoding, and a thread that needs a clip being decoded waits for it.
    """

    def __init__(self, most_bytes: int = 32 * _MEGABYTE) -> None:
        self._most = most_bytes
        self._kept: OrderedDict[Hashable, _Film] = OrderedDict()
        self._lock = threading.Lock()

    @property
    def held_bytes(self) -> int:
        with self._lock:
            return sum(film.size for film in self._kept.values())

    @budgeted
    def frames(self, source: Source | Inline, wanted: Sequence[int]) -> list[NDArray[np.uint8]]:
        """The frames asked for, in that order. They are shared: copy before changing them."""
        key = _identity(source)
        with self._lock:
            film = self._kept.setdefault(key, _Film())
            self._kept.move_to_end(key)
        try:
            with film.lock:
                missing = set(wanted) - film.frames.keys()
                if missing or not wanted:
                    film.keep(decode(read(source), name_of(source), missing))
                found = [film.frames[number] for number in wanted]
        finally:
            with self._lock:
                self._forget()
        return found

    def _forget(self) -> None:
        held = sum(film.size for film in self._kept.values())
        while held > self._most:
            _, oldest = self._kept.popitem(last=False)
            held -= oldest.size
        for key in [key for key, film in self._kept.items() if not film.frames]:
            if not self._kept[key].lock.locked():
                del self._kept[key]


def _identity(source: Source | Inline) -> Hashable:
    if isinstance(source, Inline):
        return source
    path = locate(source)
    return str(path), *stamp(path)
