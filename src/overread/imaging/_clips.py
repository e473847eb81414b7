"""A clip's recipe -> the frames a reader receives, as images, as a sheet or as a video.

With it what it takes: frames of every kind of file by their number, and the masks laid over them.
"""

from __future__ import annotations

import io
import math
import threading
from collections import OrderedDict
from collections.abc import Collection, Hashable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np
from PIL import Image, ImageDraw, ImageFont

from overread.case import (
    BadInput,
    Clip,
    ClipMask,
    Inline,
    Operation,
    Overlay,
    Shown,
    ShownClip,
    Source,
)
from overread.imaging import _formats as formats
from overread.imaging._budget import budgeted, hold
from overread.imaging._dicom_file import looks_like_dicom
from overread.imaging._files import images_of, locate, name_of, read, stamp
from overread.imaging._nifti import decode_nifti, decode_nifti_masks, looks_like_nifti, nifti_shape
from overread.imaging._png import alike, pngs
from overread.imaging._render import (
    applied,
    blend,
    blended,
    check,
    encoded,
    jpeg_quality,
    open_mask,
)
from overread.imaging._video import container_of, decode_video, movie
from overread.imaging.darkroom import MOST_PIXELS

if TYPE_CHECKING:
    from numpy.typing import NDArray


@budgeted
def render_clip(clip: Clip, films: Films | None = None) -> ShownClip:
    """Decode the frames asked for, lay the masks over them, carry out the operations, encode.

    The recipe is checked before any file is opened. `films` keeps what was decoded for the next
    clip that needs it. As many frames are encoded as were asked for, or none.
    """
    quality = jpeg_quality(clip.wire)
    for operation in clip.operations:
        check(operation)
    if clip.mask is not None:
        check(Overlay(clip.mask.source, clip.mask.color, clip.mask.alpha))
    frames = clip_frames(clip, films if films is not None else Films(0))
    match clip.form:
        case "images" if quality is None:
            parts = [Shown("image/png", png) for png in pngs(frames)]
        case "images":
            parts = [encoded(image, quality) for image in map(Image.fromarray, frames)]
        case "sheet":
            parts = [encoded(contact_sheet(list(map(Image.fromarray, frames))), quality)]
        case "video":
            parts = [Shown("video/mp4", movie([_coloured(frame) for frame in frames]))]
    if len(frames) != len(clip.frames):
        raise BadInput(
            f"{name_of(clip.source)}: {len(frames)} of {len(clip.frames)} frames were encoded; all "
            "of them or none are shown. Report this."
        )
    return ShownClip(tuple(parts), len(frames), clip.form)


@budgeted
def clip_frames(clip: Clip, films: Films) -> list[NDArray[np.uint8]]:
    """The frames of a clip as they are shown, before they are encoded: copy them to change them."""
    name = name_of(clip.source)
    frames = films.frames(clip.source, clip.frames)
    hold(sum(frame.nbytes for frame in frames), name)
    shown: list[NDArray[np.uint8]] = []
    for frame in frames if clip.mask is None else _overlaid(frames, clip, clip.mask, films):
        shown.append(_after(clip.operations, frame))
        hold(shown[-1].nbytes, name)
    return shown


def _overlaid(
    frames: Sequence[NDArray[np.uint8]], clip: Clip, mask: ClipMask, films: Films
) -> Iterator[NDArray[np.uint8]]:
    """The frames with their masks over them, as `blended` lays them.

    A few at a time: most are made smaller afterwards.
    """
    height, width = frames[0].shape[:2]
    masks = masks_of(mask.source, clip.frames, (width, height), films)
    hold(sum(each.nbytes for each in masks), name_of(clip.source))
    table, left = bytes(blend(mask.color, mask.alpha)), iter(masks)
    for some in alike(frames):
        over = list(islice(left, len(some)))
        if any(each.shape != some.shape[1:3] for each in over):
            for frame, each in zip(some, over, strict=True):
                laid = Image.fromarray(each).convert("L")
                image = blended(Image.fromarray(frame), laid, mask.color, mask.alpha)
                yield np.asarray(image)
            continue
        made, where = np.empty((*some.shape[:3], 3), np.uint8), np.stack(over)
        for channel in range(3):
            below = some if some.ndim == 3 else some[..., channel]
            marked = below.tobytes().translate(table[256 * channel : 256 * (channel + 1)])
            made[..., channel] = below
            above = np.frombuffer(marked, np.uint8).reshape(where.shape)
            np.copyto(made[..., channel], above, where=where)
        yield from made


def _after(operations: Sequence[Operation], frame: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """A frame with every operation carried out."""
    if not operations:
        return frame
    image = Image.fromarray(frame)
    for operation in operations:
        image = applied(image, operation)
    return np.asarray(image)


def _coloured(frame: NDArray[np.uint8]) -> NDArray[np.uint8]:
    return frame if frame.ndim == 3 else np.repeat(frame[..., None], 3, axis=2)


def bare_sheet(images: Sequence[Image.Image]) -> Image.Image:
    """Frames of one size side by side without gaps or numbers, the root of their count in a row.

    For programs that take the frames out again: the last row may be short.
    """
    width, height = images[0].size
    across = math.ceil(math.sqrt(len(images)))
    grey = all(image.mode == "L" for image in images)
    size = (across * width, -(-len(images) // across) * height)
    if size[0] * size[1] > MOST_PIXELS:
        raise BadInput(f"{len(images)} frames of {width} x {height} are too many for one sheet.")
    sheet = Image.new("L" if grey else "RGB", size)
    for number, image in enumerate(images):
        place = (number % across * width, number // across * height)
        sheet.paste(image if grey else image.convert("RGB"), place)
    return sheet


@budgeted
def render_frames(clip: Clip, films: Films | None = None) -> Shown:
    """All frames of a clip on one bare sheet, for a page that plays them."""
    frames = clip_frames(clip, films if films is not None else Films(0))
    return encoded(bare_sheet(list(map(Image.fromarray, frames))), None)


# ----------------------------------------- Frames -> one contact sheet, each tile under its number

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


# ---- Clips of every kind by frame number, each decoded once for all who need its frames at a time

_MEGABYTE = 1_000_000


def decode(data: bytes, name: str, wanted: Collection[int]) -> dict[int, NDArray[np.uint8]]:
    """Exactly the frames asked for of an AVI, MP4, MKV, multi-frame DICOM or NIfTI file."""
    if not wanted:
        raise BadInput(f"{name}: a clip of no frames was asked for. Name at least one frame.")
    if min(wanted) < 0:
        raise BadInput(f"{name}: there is no frame {min(wanted)}; frames are counted from 0.")
    formats.refuse_empty(data, name)
    with formats.damage_refused(name):
        if container_of(data) is not None:
            return decode_video(data, name, wanted)
        if data[128:132] != b"DICM" and looks_like_nifti(data):
            return decode_nifti(data, name, wanted)
        if looks_like_dicom(data):
            from overread.imaging._dicom import decode_dicom

            return decode_dicom(data, name, wanted)
    raise BadInput(
        f"{name}: unknown format; a clip is an AVI, MP4, MKV, DICOM or NIfTI file. "
        "Convert it to AVI or MP4."
    )


class _Film:
    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.frames: dict[int, NDArray[np.uint8]] = {}
        self.size = 0  # bytes


class Films:
    """Decoded frames of the clips used last.

    A class, for it guards locks: contexts and questions that show one clip's frames share their
    decoding, and a thread that needs a clip being decoded waits for it.
    """

    def __init__(self, most_bytes: int = 32 * _MEGABYTE) -> None:
        self._most = most_bytes
        self.held_bytes = 0
        self._kept: OrderedDict[Hashable, _Film] = OrderedDict()
        self._lock = threading.Lock()

    @budgeted
    def frames(self, source: Source | Inline, wanted: Sequence[int]) -> list[NDArray[np.uint8]]:
        """The frames asked for, in that order. They are shared: copy before changing them."""
        key: Hashable = source
        if isinstance(source, Source):
            path = locate(source)
            key = str(path), *stamp(path)
        with self._lock:
            film = self._kept.setdefault(key, _Film())
            self._kept.move_to_end(key)
        try:
            with film.lock:
                missing = set(wanted) - film.frames.keys()
                if missing or not wanted:
                    decoded = decode(read(source), name_of(source), missing)
                    film.frames |= decoded
                    film.size += sum(frame.nbytes for frame in decoded.values())
                found = [film.frames[number] for number in wanted]
        finally:
            with self._lock:
                self._forget()
        return found

    def _forget(self) -> None:
        self.held_bytes = sum(film.size for film in self._kept.values())
        while self.held_bytes > self._most:
            _, oldest = self._kept.popitem(last=False)
            self.held_bytes -= oldest.size
        for key, film in list(self._kept.items()):
            if not film.frames and not film.lock.locked():
                del self._kept[key]


# ----------------------------------------- Masks of a clip's frames, however a data set keeps them

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
    if isinstance(source, Source) and (folder := locate(source, folder=True)).is_dir():
        images = images_of(folder, name)
        formats.refuse_beyond(name, wanted, len(images))
        drawn = []
        for number in wanted:
            image = Source(source.root, f"{name.rstrip('/')}/{images[number].name}")
            drawn.append(_one_mask(image))
            hold(drawn[-1].nbytes, name)
        return drawn
    data = read(source)
    if container_of(data) is not None or data[128:132] == b"DICM":
        return [_of_frame(frame, size) for frame in films.frames(source, wanted)]
    if data[:2] == b"PK":
        return _packed(data, name, wanted)
    if looks_like_nifti(data):
        found = decode_nifti_masks(data, name, set(wanted))
        return [found[number] for number in wanted]
    _refuse_unknown(name)


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
    _refuse_unknown(name)


def _packed_shape(path: Path, name: str) -> tuple[int, int, int]:
    """Of an npz: from `shape`, or from the header of its one array; the pixels stay where they are.

    What else may be wrong is said when they are read.
    """
    import zipfile

    with formats.damage_refused(name, "npz"), zipfile.ZipFile(path) as archive:
        members = [member for member in archive.namelist() if member.endswith(".npy")]
        stated = "shape.npy" in members
        if stated and archive.getinfo("shape.npy").file_size > _MOST_SHAPE:
            raise ValueError
        with archive.open("shape.npy" if stated else members[0]) as file:
            if stated:
                shape = [int(s) for s in np.lib.format.read_array(file, allow_pickle=False)]
            else:
                first = np.lib.format.read_magic(file) == (1, 0)
                held = np.lib.format
                reader = held.read_array_header_1_0 if first else held.read_array_header_2_0
                shape = list(reader(file)[0])
    if len(shape) != 3:
        raise BadInput(f"{name}: its shape is {shape}; frames, rows and columns are needed.")
    return shape[0], shape[2], shape[1]


def _refuse_unknown(name: str) -> NoReturn:
    raise BadInput(
        f"{name}: unknown format; masks of a clip are npz, a folder of PNG, a video or NIfTI. "
        "Convert them to one of these."
    )


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
    red_or_blue = np.maximum(overlay[..., 0], overlay[..., 2])
    return np.asarray(red_or_blue - overlay[..., 1] > _SATURATED)


def _packed(data: bytes, name: str, wanted: Sequence[int]) -> list[NDArray[np.bool_]]:
    opened = formats.damage_refused(name, "npz")
    with opened, np.load(io.BytesIO(data), allow_pickle=False) as file:
        for member in file.zip.infolist()[:_MOST_ARRAYS]:
            hold(member.file_size, name)
        arrays: dict[str, Any] = {key: file[key] for key in file.files[:_MOST_ARRAYS]}
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
        formats.refuse_beyond(name, wanted, len(array))
        hold(len(wanted) * array[0].size, name)
        return [np.asarray(array[number] != 0) for number in wanted]
    shape = tuple(int(side) for side in np.ravel(stated)[:4])
    if len(shape) != 3 or min(shape) < 0 or shape[0] * shape[1] * shape[2] > _MOST_BITS:
        raise BadInput(f"{name}: its shape is {shape}; frames, rows and columns are needed.")
    formats.check_size(shape[2], shape[1], name)
    bits = shape[1] * shape[2]
    if array.dtype != np.uint8 or array.ndim != 2 or array.shape != (shape[0], -(-bits // 8)):
        formats.refuse_damaged(name, f"{array.shape} bytes cannot hold masks of {shape}")
    formats.refuse_beyond(name, wanted, shape[0])
    hold(len(wanted) * bits, name)
    return [
        np.unpackbits(array[number], count=bits).reshape(shape[1:]).view(np.bool_)
        for number in wanted
    ]
