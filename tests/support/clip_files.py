"""Small clips whose every frame says its number, in each kind of file."""

from __future__ import annotations

import io
from pathlib import Path

import av
import numpy as np
from numpy.typing import NDArray
from PIL import Image
from pydicom.dataset import Dataset, FileMetaDataset
from pydicom.uid import ExplicitVRLittleEndian

from overread.case import Source
from overread.imaging import Films, masks_of
from overread.imaging._clips import mask_shape

SIZE = 32


def frame(number: int, size: int = SIZE) -> NDArray[np.uint8]:
    """Grey of 40 + 5 n on the left, black on the right: survives any codec within a few greys."""
    made = np.zeros((size, size), np.uint8)
    made[:, : size // 2] = 40 + 5 * number
    return made


def number_of(pixels: NDArray[np.uint8]) -> int:
    """The number a decoded frame shows."""
    left = pixels[:, : pixels.shape[1] // 2].astype(float)
    return round((float(left.mean()) - 40) / 5)


def video(
    frames: list[NDArray[np.uint8]], container: str = "avi", codec: str = "mjpeg", gop: int = 12
) -> bytes:
    """The frames as a video file, grey or RGB."""
    pixels = {"mjpeg": "yuvj420p", "ffv1": "bgr0", "libx264": "yuv420p", "mpeg4": "yuv420p"}[codec]
    file = io.BytesIO()
    with av.open(file, "w", format=container) as out:
        stream = out.add_stream(codec, rate=50)
        stream.height, stream.width = frames[0].shape[:2]
        stream.pix_fmt = pixels
        stream.codec_context.gop_size = gop
        if codec != "ffv1":
            stream.bit_rate = 4_000_000
        if codec == "mjpeg":
            stream.codec_context.flags |= av.codec.context.Flags.qscale
            stream.codec_context.global_quality = 118  # of lambda: about quality 95
        for one in frames:
            kind = "gray" if one.ndim == 2 else "rgb24"
            out.mux(stream.encode(av.VideoFrame.from_ndarray(one, format=kind)))
        out.mux(stream.encode())
    return file.getvalue()


def numbered(n: int, container: str = "avi", codec: str = "mjpeg", size: int = SIZE) -> bytes:
    """A video of n frames that show their numbers."""
    return video([frame(number, size) for number in range(n)], container, codec)


def write(folder: Path, name: str, data: bytes) -> str:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    return name


def dicom(stored: NDArray[np.uint8], photometric: str = "MONOCHROME2", **more: object) -> bytes:
    """A multi-frame DICOM file around frames x rows x columns (x 3)."""
    ds = Dataset()
    ds.SOPClassUID, ds.SOPInstanceUID = "1.2.840.10008.5.1.4.1.1.3.1", "1.2.3"
    ds.PatientName, ds.PatientID = "Doe^Jane", "MRN-4711"
    ds.NumberOfFrames, ds.Rows, ds.Columns = stored.shape[:3]
    ds.SamplesPerPixel = 1 if stored.ndim == 3 else 3
    ds.PhotometricInterpretation = photometric
    ds.BitsAllocated = ds.BitsStored = 8
    ds.HighBit, ds.PixelRepresentation = 7, 0
    if stored.ndim == 4:
        ds.PlanarConfiguration = 0
    for keyword, value in more.items():
        setattr(ds, keyword, value)
    data = stored.tobytes()
    ds.add_new("PixelData", "OB", data + b"\0" * (len(data) % 2))
    ds.file_meta = FileMetaDataset()
    ds.file_meta.TransferSyntaxUID = ExplicitVRLittleEndian
    file = io.BytesIO()
    ds.save_as(file, enforce_file_format=True)
    return file.getvalue()


def pydicom_frame(data: bytes, number: int) -> NDArray[np.uint8]:
    """What pydicom makes of a frame, in RGB where it is in colour."""
    from pydicom.pixels import pixel_array

    return np.asarray(pixel_array(io.BytesIO(data), index=number))


def png(pixels: NDArray[np.uint8]) -> bytes:
    file = io.BytesIO()
    Image.fromarray(pixels).save(file, "PNG")
    return file.getvalue()


__all__ = [
    "SIZE", "dicom", "frame", "number_of", "numbered", "png", "pydicom_frame", "video",
    "write",
]  # fmt: skip


def masks_at(path: Path) -> NDArray[np.bool_]:
    """Every mask of a file, as the product reads them."""
    source = Source(str(path.parent), path.name)
    shape = mask_shape(source)
    assert shape is not None
    frames, width, height = shape
    return np.stack(masks_of(source, range(frames), (width, height), Films(0)))
