"""An image file's bytes -> an 8-bit grey or RGB image."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PIL import (
    BmpImagePlugin,
    Image,
    ImageChops,
    JpegImagePlugin,
    PngImagePlugin,
    TiffImagePlugin,
    WebPImagePlugin,
)

from overread.case import BadInput
from overread.imaging._budget import ClockedFile, budgeted, hold
from overread.imaging._formats import (
    JPEG,
    PNG,
    TIFF,
    Plain,
    check_size,
    is_webp,
    refuse_damaged,
    strip_jpeg,
    strip_png,
    strip_tiff,
    strip_webp,
)

if TYPE_CHECKING:
    from PIL.ImageFile import ImageFile

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
    if not data:
        raise BadInput(f"{name}: the file is empty (0 bytes). Fetch it again.")
    try:
        opened = _decode(data, name)
        if opened is None:
            return _open_dicom(data, name)
        return _eight_bits(*opened, name)
    except (BadInput, ImportError):
        raise
    except Exception as error:  # decoders meet hostile bytes: whatever they raise is one refusal
        refuse_damaged(name, one_line(error))


@budgeted
def open_mask(data: bytes, name: str) -> Image.Image:
    """Open a mask: 255 where the *stored* value is not zero, else 0.

    Stored, because label masks keep small numbers in 16 bits, which scaling would turn to 0.
    """
    if not data:
        raise BadInput(f"{name}: the mask is empty (0 bytes). Fetch it again.")
    try:
        opened = _decode(data, name)
        if opened is None:
            raise BadInput(f"{name}: a mask is a PNG, JPEG, TIFF or BMP. Convert it to PNG.")
        stored, plain = opened
        if _is_deep(stored):
            from overread.imaging._grey import not_zero

            image = _turned(not_zero(stored), plain)
        else:
            image = _eight_bits(stored, plain, name)
    except (BadInput, ImportError):
        raise
    except Exception as error:
        refuse_damaged(name, one_line(error))
    if image.mode == "RGB":
        red, green, blue = image.split()
        image = ImageChops.lighter(ImageChops.lighter(red, green), blue)
    return image.point([0] + [255] * 255)


def one_line(error: BaseException) -> str:
    """What a decoder said, on one line."""
    return (" ".join(str(error).split()) or type(error).__name__)[:200].rstrip(".")


def _decode(data: bytes, name: str) -> tuple[ImageFile, Plain] | None:
    """Decode with exactly the plug-in its first bytes ask for; None if no plug-in of ours does.

    `Image.open` would try its plug-ins in turn and check for bombs by a warning.
    """
    kind: type[ImageFile]
    if data[128:132] == b"DICM":  # first of all: its preamble may be a TIFF's
        return None
    if data.startswith(PNG):
        plain, kind = strip_png(data, name), PngImagePlugin.PngImageFile
    elif data.startswith(JPEG):
        plain, kind = strip_jpeg(data, name), JpegImagePlugin.JpegImageFile
    elif data.startswith(TIFF):
        plain, kind = strip_tiff(data, name), TiffImagePlugin.TiffImageFile
    elif data.startswith(b"BM"):
        plain, kind = Plain(data), BmpImagePlugin.BmpImageFile
    elif is_webp(data):
        plain, kind = strip_webp(data, name), WebPImagePlugin.WebPImageFile
    else:
        return None
    hold(2 * len(plain.data), name)
    image = kind(ClockedFile(plain.data, name))
    check_size(*image.size, name)
    hold(_cost(image), name)
    if kind is JpegImagePlugin.JpegImageFile:
        # In one piece: between pieces the interpreter's lock is taken again, and threads wait.
        image.decodermaxblock = max(len(plain.data), image.decodermaxblock)
    image.load()
    return image, plain


# Bytes a pixel takes from the decoder to the 8-bit image, all copies on the way that are there at
# once counted; and those of a row and a column (pointers, and what resampling looks up).
_A_PIXEL = {"1": 3, "L": 3, "P": 15, "RGB": 8, "I;16": 9, "I;16B": 9, "I;16L": 9}
_ANY_PIXEL, _A_ROW, _A_COLUMN = 16, 120, 80


def _cost(image: Image.Image) -> int:
    width, height = image.size
    pixel = _A_PIXEL.get(image.mode, _ANY_PIXEL)
    return width * height * pixel + height * _A_ROW + width * _A_COLUMN


def _open_dicom(data: bytes, name: str) -> Image.Image:
    from overread.imaging._dicom_file import looks_like_dicom

    if looks_like_dicom(data):
        from overread.imaging._dicom import open_dicom

        return open_dicom(data, name)
    raise BadInput(
        f"{name}: unknown format; an image is a PNG, JPEG, TIFF, BMP or DICOM file. "
        "Convert it to PNG."
    )


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
        shown = flat.getchannel(0) if _grey_palette(image) else flat
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


def _grey_palette(image: Image.Image) -> bool:
    colours = image.getpalette("RGB") or []
    return colours[0::3] == colours[1::3] == colours[2::3]


def _turned(image: Image.Image, plain: Plain) -> Image.Image:
    turn = _TURNS.get(plain.orientation)
    return image if turn is None else image.transpose(turn)
