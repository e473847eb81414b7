"""Every frame of a DICOM clip is the picture that the frame alone would be, however it is stored."""

from __future__ import annotations

import io
import tempfile
from collections.abc import Callable
from pathlib import Path

import gdcm
import numpy as np
import pytest
from numpy.typing import NDArray
from PIL import Image
from pydicom import dcmread
from pydicom.dataset import Dataset, FileMetaDataset
from pydicom.encaps import encapsulate
from pydicom.pixels import pixel_array
from pydicom.uid import (
    UID,
    DeflatedExplicitVRLittleEndian,
    ExplicitVRBigEndian,
    ExplicitVRLittleEndian,
    ImplicitVRLittleEndian,
    JPEG2000Lossless,
    JPEGBaseline8Bit,
    JPEGLosslessSV1,
    JPEGLSLossless,
    RLELossless,
)

from overread.case import Clip, Inline
from overread.imaging import pixels, render_clip

pytestmark = pytest.mark.filterwarnings("error")

FRAMES, ROWS, COLUMNS = 5, 12, 16
NATIVE = (
    ExplicitVRLittleEndian,
    ImplicitVRLittleEndian,
    DeflatedExplicitVRLittleEndian,
    ExplicitVRBigEndian,
)
Encode = Callable[[NDArray[np.uint8], str], bytes]


def smooth(samples: int) -> NDArray[np.uint8]:
    """Frames that differ from each other, with no edge that a lossy codec would blur."""
    y, x = np.mgrid[0:ROWS, 0:COLUMNS]
    frames = [
        [40 * number + 3 * x + 2 * y + 17 * sample for sample in range(samples)]
        for number in range(FRAMES)
    ]
    made = np.moveaxis(np.array(frames), 1, -1).clip(0, 255).astype(np.uint8)
    return made[..., 0] if samples == 1 else made


def clip(syntax: str, photometric: str, body: bytes, samples: int, **more: object) -> bytes:
    ds = Dataset()
    ds.SOPClassUID, ds.SOPInstanceUID = "1.2.840.10008.5.1.4.1.1.3.1", "1.2.3"
    ds.NumberOfFrames, ds.Rows, ds.Columns = FRAMES, ROWS, COLUMNS
    ds.SamplesPerPixel, ds.PhotometricInterpretation = samples, photometric
    ds.BitsAllocated = ds.BitsStored = 8
    ds.HighBit, ds.PixelRepresentation = 7, 0
    if samples == 3:
        ds.PlanarConfiguration = 0
    for keyword, value in more.items():
        setattr(ds, keyword, value)
    ds.add_new("PixelData", "OB", body + b"\0" * (len(body) % 2))
    ds.file_meta = FileMetaDataset()
    ds.file_meta.TransferSyntaxUID = UID(syntax)
    ds["PixelData"].is_undefined_length = UID(syntax).is_encapsulated
    file = io.BytesIO()
    ds.save_as(file, enforce_file_format=True)
    return file.getvalue()


def native(syntax: str, photometric: str) -> bytes:
    samples = 1 if photometric in ("MONOCHROME1", "MONOCHROME2", "PALETTE COLOR") else 3
    stored, more = smooth(samples), {}
    body = stored.tobytes()
    if photometric == "YBR_FULL_422":  # Y Y Cb Cr of every two pixels
        y, cb, cr = (stored[..., sample] for sample in range(3))
        body = np.stack([y[..., ::2], y[..., 1::2], cb[..., ::2], cr[..., ::2]], -1).tobytes()
    if photometric == "PALETTE COLOR":
        for shift, channel in enumerate(("Red", "Green", "Blue")):
            entries = (np.arange(256, dtype=np.uint16) + shift) % 256 * 257
            more[f"{channel}PaletteColorLookupTableDescriptor"] = [256, 0, 16]
            order = ">u2" if syntax == ExplicitVRBigEndian else "<u2"
            more[f"{channel}PaletteColorLookupTableData"] = entries.astype(order).tobytes()
    return clip(syntax, photometric, body, samples, **more)


def by_planes(photometric: str) -> bytes:
    body = np.moveaxis(smooth(3), -1, 1).tobytes()
    return clip(ExplicitVRLittleEndian, photometric, body, 3, PlanarConfiguration=1)


def jpeg(frame: NDArray[np.uint8], photometric: str) -> bytes:
    """Stored as they are for RGB, else as JPEG does of itself: YCbCr."""
    file = io.BytesIO()
    options = {"keep_rgb": True} if photometric == "RGB" else {"subsampling": "4:2:2"}
    Image.fromarray(frame).save(file, "JPEG", quality=95, **options)
    return file.getvalue()


def jpeg_2000(frame: NDArray[np.uint8], photometric: str) -> bytes:
    file = io.BytesIO()
    mct = int(photometric.startswith("YBR"))
    lossy = photometric == "YBR_ICT"
    Image.fromarray(frame).save(
        file, "JPEG2000", irreversible=lossy, no_jp2=True, mct=mct, num_resolutions=2
    )
    return file.getvalue()


def by_gdcm(syntax: str, photometric: str) -> bytes:
    """What another program makes of a native clip."""
    kind = {
        JPEGLosslessSV1: gdcm.TransferSyntax.JPEGLosslessProcess14_1,
        JPEGLSLossless: gdcm.TransferSyntax.JPEGLSLossless,
        RLELossless: gdcm.TransferSyntax.RLELossless,
    }[UID(syntax)]
    with tempfile.TemporaryDirectory() as folder:
        before, after = Path(folder, "a.dcm"), Path(folder, "b.dcm")
        before.write_bytes(native(ExplicitVRLittleEndian, photometric))
        reader = gdcm.ImageReader()
        reader.SetFileName(str(before))
        assert reader.Read()
        change = gdcm.ImageChangeTransferSyntax()
        change.SetTransferSyntax(gdcm.TransferSyntax(kind))
        change.SetInput(reader.GetImage())
        assert change.Change()
        writer = gdcm.ImageWriter()
        writer.SetFileName(str(after))
        writer.SetFile(reader.GetFile())
        writer.SetImage(change.GetOutput())
        assert writer.Write()
        return after.read_bytes()


def wrapped(syntax: str, photometric: str, encode: Encode) -> bytes:
    samples = 1 if photometric == "MONOCHROME2" else 3
    frames = [encode(frame, photometric) for frame in smooth(samples)]
    return clip(syntax, photometric, encapsulate(frames), samples)


CLIPS: dict[str, Callable[[], bytes]] = {
    **{
        f"{syntax.name}, {photometric}": lambda s=syntax, p=photometric: native(s, p)
        for syntax in NATIVE
        for photometric in (
            *("MONOCHROME1", "MONOCHROME2", "PALETTE COLOR", "RGB", "YBR_FULL", "YBR_FULL_422"),
        )
    },
    **{f"planes, {p}": lambda p=p: by_planes(p) for p in ("RGB", "YBR_FULL")},
    **{
        f"JPEG, {p}": lambda p=p: wrapped(JPEGBaseline8Bit, p, jpeg)
        for p in ("MONOCHROME2", "RGB", "YBR_FULL_422", "YBR_FULL")
    },
    **{
        f"JPEG 2000, {p}": lambda p=p: wrapped(
            JPEG2000Lossless if p != "YBR_ICT" else "1.2.840.10008.1.2.4.91", p, jpeg_2000
        )
        for p in ("MONOCHROME2", "RGB", "YBR_RCT", "YBR_ICT")
    },
    **{
        f"{syntax.name}, {p}": lambda s=syntax, p=p: by_gdcm(s, p)
        for syntax in (JPEGLosslessSV1, JPEGLSLossless, RLELossless)
        for p in ("MONOCHROME2", "RGB")
    },
    "RLE Lossless, YBR_FULL": lambda: by_gdcm(RLELossless, "YBR_FULL"),
}


def shown(data: bytes, wanted: tuple[int, ...]) -> list[NDArray[np.uint8]]:
    return [pixels(frame) for frame in render_clip(Clip(Inline(data), wanted)).frames]


@pytest.mark.parametrize("kind", CLIPS)
def test_a_frame_is_the_same_alone_and_among_others(kind: str) -> None:
    data = CLIPS[kind]()
    together = shown(data, tuple(range(FRAMES)))
    for number, found in enumerate(together):
        (alone,) = shown(data, (number,))
        assert np.array_equal(found, alone), f"frame {number}"
        stored = pixel_array(dcmread(io.BytesIO(data)), index=number)
        if "PALETTE" in kind:
            stored = np.stack([(stored.astype(int) + shift) % 256 for shift in range(3)], -1)
        assert np.array_equal(found, 255 - stored if "MONOCHROME1" in kind else stored), number
    assert len({frame.tobytes() for frame in together}) == FRAMES


@pytest.mark.parametrize("kind", [kind for kind in CLIPS if "RGB" in kind and "JPEG, " not in kind])
def test_colours_stored_without_loss_come_out_as_they_went_in(kind: str) -> None:
    for found, drawn in zip(shown(CLIPS[kind](), tuple(range(FRAMES))), smooth(3), strict=True):
        assert np.array_equal(found, drawn)
