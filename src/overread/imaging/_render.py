"""A picture's recipe -> the bytes a reader receives: an image file opened as 8-bit grey or RGB, the
operations carried out, and the result encoded."""

from __future__ import annotations

import io
from functools import lru_cache
from itertools import takewhile
from typing import TYPE_CHECKING, Any

from PIL import Image, ImageChops, _imaging
from PIL.BmpImagePlugin import BmpImageFile
from PIL.JpegImagePlugin import JpegImageFile
from PIL.PngImagePlugin import PngImageFile
from PIL.TiffImagePlugin import TiffImageFile
from PIL.WebPImagePlugin import WebPImageFile

import overread.case as oc
from overread.case import BadInput, Shown
from overread.imaging import _formats as formats
from overread.imaging._budget import ClockedFile, LastUsed, budgeted, hold
from overread.imaging._dicom_file import looks_like_dicom
from overread.imaging._files import name_of, place, read
from overread.imaging._formats import Plain, damage_refused
from overread.imaging.darkroom import MOST_PIXELS, PNG

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray
    from PIL.ImageFile import ImageFile

# Part of every reply's key: raise it whenever the same recipe gives other pixels. Where it does so
# of DICOM files alone, raise DICOM_RENDERER, which is part of their digests.
RENDERER = 1
# Part of no key, for a reader sees pixels: raise it whenever the same pixels become other bytes.
# Runs record it. 1 was Pillow's writer.
ENCODER = 2

_MEGABYTE = 1_000_000
_MOST_OPENED = 256

# Pillow takes large images in blocks of 16 MB, which the C library may keep for the thread that
# freed them: eight threads held a gigabyte. What is over 32 MB it always gives back at once.
_imaging.set_block_size(64 << 20)


class Opened(LastUsed[Image.Image]):
    """Pictures opened last and brought to their size: the conditions of a case share them.

    They come one after another, so that few are needed at a time; one may be a large photograph.
    The smallest is an object of two kilobytes.
    """

    def __init__(self, most_bytes: int = 24 * _MEGABYTE) -> None:
        super().__init__(most_bytes, _size_in_memory, most=_MOST_OPENED)


def _size_in_memory(image: Image.Image) -> int:
    return image.width * image.height * (1 if image.mode == "L" else 4)


@budgeted
def render(picture: oc.Picture, opened: Opened | None = None) -> Shown:
    """Read the source, carry out the operations in order, encode.

    The recipe is checked before any file is opened. The bytes hold no metadata and depend only on
    the recipe, the file and the codecs' versions. A PNG that no operation changes is sent as it
    stands in its file. `opened` keeps what was opened for the next picture of the same file.
    """
    quality = jpeg_quality(picture.wire)
    for operation in picture.operations:
        check(operation)
    source, name = picture.source, name_of(picture.source)
    # Before it is read: what is overwritten meanwhile is kept under a mark that never comes again.
    at = place(source) if isinstance(source, oc.Source) and opened is not None else source
    sizing = tuple(takewhile(lambda o: isinstance(o, oc.Resize | oc.Within), picture.operations))
    rest = picture.operations[len(sizing) :]
    data = b""
    if may_stand(picture):
        from overread.imaging._own_png import own_png

        data = read(source)
        own = own_png(data, name, sizing)
        if own is not None:
            return Shown("image/png", own)

    def sized() -> Image.Image:
        image = open_image(data or read(source), name)
        for operation in sizing:
            image = applied(image, operation)
        return image

    if opened is None:
        image = sized()
    else:  # copied on the way out, and on the way in what a file made of itself: it holds the file
        kept = opened.get((at, sizing), lambda: _without_file(sized()))
        image = kept.copy() if rest else kept
    for operation in rest:
        image = applied(image, operation)
    return encoded(image, quality)


def _without_file(image: Image.Image) -> Image.Image:
    return image if type(image) is Image.Image else image.copy()


def may_stand(picture: oc.Picture) -> bool:
    """Whether its file may be what is sent of it: nothing but a size is asked for."""
    return picture.wire == "png" and all(
        isinstance(one, oc.Resize | oc.Within) for one in picture.operations
    )


def has_film(picture: oc.Picture) -> bool:
    """Whether `render_film` can show it: its operations are sizes and flat fills alone."""
    return all(isinstance(o, oc.Resize | oc.Within | oc.Fill) for o in picture.operations)


@budgeted
def render_film(picture: oc.Picture) -> Shown:
    """The picture in the size of its file, for a person to look at: never what a reader was shown.

    Nothing is made smaller, and boxes that are filled are brought to the film's own pixels.
    """
    if not has_film(picture):
        raise BadInput(f"{name_of(picture.source)}: it can only be shown as a reader saw it.")
    image = open_image(read(picture.source), name_of(picture.source))
    shown = Image.new("1", image.size)
    for operation in picture.operations:
        check(operation)
        if not isinstance(operation, oc.Fill):
            shown = applied(shown, operation)
            continue
        across, down = image.width / shown.width, image.height / shown.height
        box = operation.box
        left, top = round(box.x * across), round(box.y * down)
        right, bottom = round((box.x + box.w) * across), round((box.y + box.h) * down)
        at_size = oc.Box(left, top, max(1, right - left), max(1, bottom - top))
        image = applied(image, oc.Fill(at_size, operation.value))
    return encoded(image, None)


def pixels(shown: Shown) -> NDArray[np.uint8]:
    """What a reader sees: rows x columns of grey, or rows x columns x 3 of RGB."""
    import numpy as np

    return np.array(open_image(shown.data, "rendered picture"), dtype=np.uint8)


@budgeted
def by_pixels(shown: Shown) -> tuple[Shown, tuple[int, int]]:
    """The same picture in bytes that its pixels alone decide, and its width and height.

    One is sent as its file has it, another was written anew, a third is a JPEG: whoever counts
    bytes or reads a header could tell them apart. Here all are PNGs of one writer, grey where every
    pixel is.
    """
    image = open_image(shown.data, "rendered picture")
    if image.mode == "RGB":
        red, green, blue = (channel.tobytes() for channel in image.split())
        image = image.getchannel(0) if red == green == blue else image
    return encoded(image, None), image.size


def jpeg_quality(wire: str) -> int | None:
    """The quality of "jpeg:QUALITY", None for "png"."""
    if wire == "png":
        return None
    kind, _, quality = wire.partition(":")
    if kind == "jpeg" and quality.isascii() and quality.isdigit() and 1 <= int(quality) <= 100:
        return int(quality)
    raise BadInput(
        f'wire format "{wire}" is not known. Use "png" or "jpeg:Q" with Q from 1 to 100.'
    )


def check(operation: oc.Operation) -> None:
    """Refuse what cannot be carried out."""
    match operation:
        case oc.Resize(width, height):
            if width < 1 or height < 1 or width * height > MOST_PIXELS:
                raise BadInput(
                    f"resize to {width} x {height}: both must be above 0, and together at most "
                    f"{MOST_PIXELS} pixels. Mend the recipe."
                )
        case oc.Within(px):
            if not 1 <= px <= MOST_PIXELS:
                raise BadInput(
                    f"shrinking to within {px} pixels; the longer side is 1 to {MOST_PIXELS}. "
                    "Mend the recipe."
                )
        case oc.Fill(box, value):
            _check_box(box, "fill of a box {} wide and {} high; a box needs both")
            if not 0 <= value <= 255:
                raise BadInput(f"fill with {value}; a grey value is 0 to 255. Mend the recipe.")
        case oc.Mirror(boxes, apart):
            for box in (*boxes, *apart):
                _check_box(box, "a box {} wide and {} high cannot be mirrored; it needs both")
        case oc.Occlude(box, _, seed):
            _check_box(box, "a box {} wide and {} high cannot hide anything; it needs both")
            if not 0 <= seed < 2**32:
                raise BadInput(
                    f"noise of seed {seed}; a seed is 0 to {2**32 - 1}. Mend the recipe."
                )
        case oc.Overlay(_, color, alpha):
            if not 0 <= alpha <= 1 or not all(0 <= c <= 255 for c in color):
                raise BadInput(
                    f"overlay of colour {color} with alpha {alpha}; colours are 0 to 255 and "
                    "alpha 0 to 1. Mend the recipe."
                )


def _check_box(box: oc.Box, said: str) -> None:
    if box.w < 1 or box.h < 1:
        raise BadInput(f"{said.format(box.w, box.h)} above 0. Mend the box.")


def applied(image: Image.Image, operation: oc.Operation) -> Image.Image:
    """The image with one operation carried out."""
    match operation:
        case oc.Resize(width, height):
            return image.resize((width, height), Image.Resampling.BILINEAR)
        case oc.Within(px):
            return _within(image, px)
        case oc.Fill(box, value):
            left, top = max(box.x, 0), max(box.y, 0)
            right, bottom = min(box.x + box.w, image.width), min(box.y + box.h, image.height)
            if left < right and top < bottom:
                colour: Any = value if image.mode == "L" else (value, value, value)
                image.paste(colour, (left, top, right, bottom))
            return image
        case oc.Occlude() | oc.Mirror():
            from overread.imaging import _occlude

            if isinstance(operation, oc.Mirror):
                return _occlude.mirrored(image, operation)
            return _occlude.occluded(image, operation)
        case oc.Overlay(source, color, alpha):
            return blended(image, open_mask(read(source), name_of(source)), color, alpha)


def _within(image: Image.Image, px: int) -> Image.Image:
    longer = max(image.size)
    if longer <= px:
        return image
    scale = px / longer
    width, height = int(image.width * scale), int(image.height * scale)
    if width < 1 or height < 1:
        raise BadInput(
            f"a picture of {image.width} x {image.height} pixels within {px} would be {width} x "
            f"{height}; both must be above 0. Crop it, or allow more pixels."
        )
    return image.resize((width, height), Image.Resampling.LANCZOS)


def blended(
    image: Image.Image, mask: Image.Image, color: tuple[int, int, int], alpha: float
) -> Image.Image:
    """floor((1 - alpha) v + alpha c + 1/2) where the mask is not zero; always RGB."""
    if mask.size != image.size:
        mask = mask.resize(image.size, Image.Resampling.NEAREST)
    image = image.convert("RGB")
    image.paste(image.point(blend(color, alpha)), mask=mask)
    return image


@lru_cache(16)  # every frame of a clip has the same
def blend(color: tuple[int, int, int], alpha: float) -> list[int]:
    """What each value of red, of green and of blue becomes where the mask is."""
    return [int((1 - alpha) * v + alpha * c + 0.5) for c in color for v in range(256)]


def encoded(image: Image.Image, quality: int | None) -> Shown:
    if quality is None:
        from overread.imaging._png import png

        return Shown("image/png", png(image))
    image.info = {}  # Pillow's writer takes metadata from here
    file = io.BytesIO()
    image.save(file, "JPEG", quality=quality)
    return Shown("image/jpeg", file.getvalue())


# ---------------------------------------------------------------- opening a file

# Bytes a pixel takes from the decoder to the 8-bit image, all copies on the way that are there at
# once counted; and those of a row and a column (pointers, and what resampling looks up).
_A_PIXEL = {"1": 3, "L": 3, "P": 15, "RGB": 8, "I;16": 9, "I;16B": 9, "I;16L": 9}
_ANY_PIXEL, _A_ROW, _A_COLUMN = 16, 120, 80
_TURNS = {
    2: Image.Transpose.FLIP_LEFT_RIGHT,
    3: Image.Transpose.ROTATE_180,
    4: Image.Transpose.FLIP_TOP_BOTTOM,
    5: Image.Transpose.TRANSPOSE,
    6: Image.Transpose.ROTATE_270,
    7: Image.Transpose.TRANSVERSE,
    8: Image.Transpose.ROTATE_90,
}


@budgeted
def open_image(data: bytes, name: str) -> Image.Image:
    """Open PNG, JPEG, TIFF, BMP, WebP or DICOM as an 8-bit image of mode "L" or "RGB".

    What is grey stays "L". Otherwise:

    - 1 bit becomes 0 and 255. Grey of 2 to 16 unsigned bits is scaled from the *full range of its
      type* (16 bits: v / 257, rounded), so two files of one set stay comparable. 32-bit and signed
      integers and floats have no such range: smallest to largest finite value becomes 0 to 255, a
      constant image becomes 0, and NaN becomes 0. 16-bit *colour* keeps the high byte (Pillow's).
    - Alpha is dropped onto black: v * alpha / 255, rounded. A palette becomes its colours, and
      grey if all of them are grey.
    - CMYK becomes RGB by Pillow's formula (255 - c)(255 - k) / 255. There is no colour management.
    - The EXIF or TIFF orientation is applied. Nothing else of the metadata is kept.
    - Several pages or frames are refused, as are damaged files, more than 89 million pixels, and
      what would take more memory or time than is given to a file (`_budget`).

    Every refusal is a `BadInput` of one line that names `name`. Safe to call from many threads.
    """
    formats.refuse_empty(data, name)
    with damage_refused(name):
        opened = _decode(data, name)
        if opened is not None:
            return _eight_bits(*opened, name)
        if looks_like_dicom(data):
            from overread.imaging._dicom import open_dicom

            return open_dicom(data, name)
    raise BadInput(
        f"{name}: unknown format; an image is a PNG, JPEG, TIFF, BMP or DICOM file. "
        "Convert it to PNG."
    )


@budgeted
def open_mask(data: bytes, name: str) -> Image.Image:
    """Open a mask: 255 where the *stored* value is not zero, else 0.

    Stored, because label masks keep small numbers in 16 bits, which scaling would turn to 0.
    """
    formats.refuse_empty(data, name, "mask")
    with damage_refused(name):
        opened = _decode(data, name)
        if opened is None:
            raise BadInput(f"{name}: a mask is a PNG, JPEG, TIFF or BMP. Convert it to PNG.")
        stored, plain = opened
        if _is_deep(stored):
            from overread.imaging._grey import not_zero

            image = _turned(not_zero(stored), plain)
        else:
            image = _eight_bits(stored, plain, name)
    if image.mode == "RGB":
        red, green, blue = image.split()
        image = ImageChops.lighter(ImageChops.lighter(red, green), blue)
    return image.point([0] + [255] * 255)


def _decode(data: bytes, name: str) -> tuple[Image.Image, Plain] | None:
    """Decode with exactly the plug-in its first bytes ask for; None if no plug-in of ours does.

    `Image.open` would try its plug-ins in turn and check for bombs by a warning.
    """
    kind: type[ImageFile]
    if data[128:132] == b"DICM":  # first of all: its preamble may be a TIFF's
        return None
    if data.startswith(PNG):
        plain, kind = formats.strip_png(data, name), PngImageFile
    elif data.startswith(formats.JPEG):
        plain, kind = formats.strip_jpeg(data, name), JpegImageFile
    elif data.startswith(formats.TIFF):
        plain, kind = formats.strip_tiff(data, name), TiffImageFile
    elif data.startswith(b"BM"):
        plain, kind = Plain(data), BmpImageFile
    elif data[:4] == b"RIFF" and data[8:15] == b"WEBPVP8":
        plain, kind = formats.strip_webp(data, name), WebPImageFile
    else:
        return None
    hold(2 * len(plain.data), name)
    if plain.common is not None:
        _hold_pixels(*plain.common, name)
        drawn = _common_jpeg(*plain.common, plain.data)
        if drawn is not None:
            return drawn, plain
    image = kind(ClockedFile(plain.data, name))
    formats.check_size(*image.size, name)
    if plain.common is None:
        _hold_pixels(image.mode, image.size, name)
    if kind is JpegImageFile:
        # In one piece: between pieces the interpreter's lock is taken again, and threads wait.
        image.decodermaxblock = max(len(plain.data), image.decodermaxblock)
    image.load()
    return image, plain


def _hold_pixels(mode: str, size: tuple[int, int], name: str) -> None:
    width, height = size
    pixel = _A_PIXEL.get(mode, _ANY_PIXEL)
    hold(width * height * pixel + height * _A_ROW + width * _A_COLUMN, name)


def _common_jpeg(mode: str, size: tuple[int, int], data: bytes) -> Image.Image | None:
    """A JPEG by Pillow's decoder alone; None where anything is wrong, which its plug-in can name.

    The plug-in reads the header once more, little by little, and makes tables that nobody needs.
    """
    try:
        return Image.frombytes(mode, size, data, "jpeg", mode, "")
    except (ValueError, OSError):
        return None


def _is_deep(image: Image.Image) -> bool:
    return image.mode in ("I", "F") or image.mode.startswith("I;")


def _eight_bits(image: Image.Image, plain: Plain, name: str) -> Image.Image:
    mode = image.mode
    shown = image
    if mode in ("L", "RGB"):
        pass
    elif _is_deep(image):
        from overread.imaging._grey import scaled

        shown = scaled(image, plain)
    elif mode == "1":
        shown = image.convert("L")
    elif mode == "P":
        see_through = "transparency" in image.info
        flat = _onto_black(image.convert("RGBA")) if see_through else image.convert("RGB")
        colours = image.getpalette("RGB") or []
        grey = colours[0::3] == colours[1::3] == colours[2::3]
        shown = flat.getchannel(0) if grey else flat
    elif mode in ("LA", "PA", "RGBA"):
        flat = _onto_black(image.convert("RGBA") if mode == "PA" else image)
        shown = flat.getchannel(0) if plain.grey and flat.mode == "RGB" else flat
    elif mode in ("CMYK", "YCbCr", "RGBX"):
        shown = (ImageChops.invert(image) if plain.inverted else image).convert("RGB")
    else:
        raise BadInput(f"{name}: colours stored as {mode} are not read. Convert it to RGB PNG.")
    shown = _turned(shown, plain)
    shown.info = {}
    return shown


def _onto_black(image: Image.Image) -> Image.Image:
    colours = image.mode[:-1]
    black = Image.new(colours, image.size)
    black.paste(image.convert(colours), mask=image.getchannel("A"))
    return black


def _turned(image: Image.Image, plain: Plain) -> Image.Image:
    turn = _TURNS.get(plain.orientation)
    return image if turn is None else image.transpose(turn)
