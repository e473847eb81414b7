"""Masks of a clip's frames, however a data set keeps them."""

from __future__ import annotations

import io
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

from overread.case import BadInput, Inline, Source
from overread.imaging._budget import budgeted, hold
from overread.imaging._files import images_of, locate, name_of, read
from overread.imaging._films import Films
from overread.imaging._nifti import decode_nifti_masks, looks_like_nifti, nifti_shape
from overread.imaging._open import open_mask
from overread.imaging._plain import check_size, refuse_beyond, refuse_damaged
from overread.imaging._video import container_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

# Of a lossy video of masks: half way between black and white.
_WHITE = 128
# How far a saturated channel stands above green in EchoNet's overlay, after compression.
_SATURATED = 64
# 10,000 frames of 1,000 x 1,000 bits.
_MOST_BITS = 10_000_000_000
_MOST_ARRAYS = 8
_MOST_SHAPE = 4096  # bytes of an array of three numbers, its header included


@budgeted
def masks_of(
    source: Source | Inline, wanted: Sequence[int], size: tuple[int, int], films: Films
) -> list[NDArray[np.bool_]]:
    """The mask of each frame asked for; `size` is the width and height of the clip's frames.

    - npz: `lv`, bits packed along the second axis, with `shape` (frames, rows, columns); or one
      array of that shape, where not zero.
    - a folder: an image of each frame, numbered from 0 or 1, where not zero.
    - a video: where the brightest channel is at least 128. One twice as wide as the clip is
      EchoNet's output: the top right part holds the clip with red or blue saturated in the mask.
    - NIfTI: where the label is 1.
    """
    name = name_of(source)
    if not wanted:
        return []
    if isinstance(source, Source) and locate(source, folder=True).is_dir():
        return _from_folder(source, wanted)
    data = read(source)
    if container_of(data) is not None or data[128:132] == b"DICM":
        return [_of_frame(frame, size) for frame in films.frames(source, wanted)]
    if data[:2] == b"PK":
        return _packed(data, name, wanted)
    if looks_like_nifti(data):
        found = decode_nifti_masks(data, name, set(wanted))
        return [found[number] for number in wanted]
    refuse_unknown(name)


@budgeted
def mask_shape(source: Source) -> tuple[int, int, int] | None:
    """Frames, width and height of masks, by their headers; None of a video, which has its own."""
    path, name = locate(source, folder=True), source.name
    if path.is_dir():
        images = images_of(path, name)
        first = Source(source.root, f"{name.rstrip('/')}/{images[0].name}")
        return len(images), *open_mask(read(first), first.name).size
    with path.open("rb") as file:
        head = file.read(352)
    if container_of(head) is not None or head[128:132] == b"DICM":
        return None
    if head[:2] == b"PK":
        return _packed_shape(path, name)
    if looks_like_nifti(head):
        return nifti_shape(path, name)
    refuse_unknown(name)


def _packed_shape(path: Path, name: str) -> tuple[int, int, int]:
    """Of an npz: from `shape`, or from the header of its one array; the pixels stay where they are.

    What else may be wrong is said when they are read.
    """
    import zipfile

    try:
        with zipfile.ZipFile(path) as archive:
            members = [member for member in archive.namelist() if member.endswith(".npy")]
            stated = "shape.npy" in members
            if stated and archive.getinfo("shape.npy").file_size > _MOST_SHAPE:
                raise ValueError
            with archive.open("shape.npy" if stated else members[0]) as file:
                if stated:
                    shape = [int(s) for s in np.lib.format.read_array(file, allow_pickle=False)]
                else:
                    shape = _header_of(file)
    except Exception as error:  # zipfile, zlib and numpy each raise their own
        refuse_damaged(name, f"no npz that can be read: {type(error).__name__}")
    if len(shape) != 3:
        raise BadInput(f"{name}: its shape is {shape}; frames, rows and columns are needed.")
    return shape[0], shape[2], shape[1]


def _header_of(file: Any) -> list[int]:
    version = np.lib.format.read_magic(file)
    reader = (
        np.lib.format.read_array_header_1_0
        if version == (1, 0)
        else (np.lib.format.read_array_header_2_0)
    )
    return list(reader(file)[0])


def refuse_unknown(name: str) -> NoReturn:
    raise BadInput(
        f"{name}: unknown format; masks of a clip are npz, a folder of PNG, a video or NIfTI. "
        "Convert them to one of these."
    )


def _from_folder(source: Source, wanted: Sequence[int]) -> list[NDArray[np.bool_]]:
    images = images_of(locate(source, folder=True), source.name)
    refuse_beyond(source.name, wanted, len(images))
    found = []
    for number in wanted:
        image = Source(source.root, f"{source.name.rstrip('/')}/{images[number].name}")
        found.append(_one_mask(image))
        hold(found[-1].nbytes, source.name)
    return found


@budgeted
def _one_mask(image: Source) -> NDArray[np.bool_]:
    return np.asarray(open_mask(read(image), image.name)) > 0


def _of_frame(frame: NDArray[np.uint8], size: tuple[int, int]) -> NDArray[np.bool_]:
    width, height = size
    if frame.shape[1] != 2 * width or frame.shape[0] not in (height, 2 * height):
        brightest = frame if frame.ndim == 2 else frame.max(axis=2)
        return brightest >= _WHITE
    overlay = frame[:height, width:].astype(np.int16)
    if overlay.ndim == 2:  # grey throughout: nothing is marked
        return np.zeros((height, width), np.bool_)
    marked: NDArray[np.bool_] = (
        np.maximum(overlay[..., 0], overlay[..., 2]) - overlay[..., 1] > _SATURATED
    )
    return marked


def _packed(data: bytes, name: str, wanted: Sequence[int]) -> list[NDArray[np.bool_]]:
    try:
        with np.load(io.BytesIO(data), allow_pickle=False) as file:
            for member in file.zip.infolist()[:_MOST_ARRAYS]:
                hold(member.file_size, name)
            arrays: dict[str, Any] = {key: file[key] for key in file.files[:_MOST_ARRAYS]}
    except BadInput:
        raise
    except Exception as error:  # zipfile, zlib and numpy each raise their own
        refuse_damaged(name, f"no npz that can be read: {type(error).__name__}")
    stated = arrays.pop("shape", None)
    if len(arrays) > 1 and "lv" in arrays:
        arrays = {"lv": arrays["lv"]}
    if len(arrays) != 1:
        raise BadInput(
            f"{name}: holds {', '.join(sorted(arrays)) or 'nothing'}; masks are `lv` (packed bits) "
            "and `shape`, or one array. Write them so."
        )
    (array,) = arrays.values()
    if stated is None:
        if array.ndim != 3:
            raise BadInput(f"{name}: masks have {array.ndim} axes; frames, rows and columns are 3.")
        refuse_beyond(name, wanted, len(array))
        hold(len(wanted) * array[0].size, name)
        return [np.asarray(array[number] != 0) for number in wanted]
    shape = tuple(int(side) for side in np.ravel(stated)[:4])
    if len(shape) != 3 or min(shape) < 0 or shape[0] * shape[1] * shape[2] > _MOST_BITS:
        raise BadInput(f"{name}: its shape is {shape}; frames, rows and columns are needed.")
    check_size(shape[2], shape[1], name)
    bits = shape[1] * shape[2]
    if array.dtype != np.uint8 or array.ndim != 2 or array.shape != (shape[0], -(-bits // 8)):
        refuse_damaged(name, f"{array.shape} bytes cannot hold masks of {shape}")
    refuse_beyond(name, wanted, shape[0])
    hold(len(wanted) * bits, name)
    return [
        np.unpackbits(array[number], count=bits).reshape(shape[1:]).view(np.bool_)
        for number in wanted
    ]
