"""Miniature trees of the echo datasets: the formats to the letter, the hearts made up.

Each `write_*` makes the files a user would download. Clips are a few pixels wide: a bright disc
that is large at end-diastole and small at end-systole. A `Heart` says which traps it sets.
"""

from __future__ import annotations

import gzip
import math
import struct
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import av
import numpy as np

from support.datasets import write_csv, write_text

SIDE = 32
FILE_LIST = (
    *("FileName", "EF", "ESV", "EDV", "FrameHeight", "FrameWidth", "FPS"),
    *("NumberOfFrames", "Split"),
)
TRACINGS = ("FileName", "X1", "Y1", "X2", "Y2", "Frame")


class Heart(NamedTuple):
    """One clip: where its phases are, how many frames its file and its list have, its traps."""

    name: str
    ed: int = 10
    es: int = 26
    frames: int = 60
    # What FileList says; None is the truth.
    stated: int | None = None
    split: str = "VAL"
    # None: no file; otherwise its bytes are spoilt in this way.
    video: str | None = "good"
    # Frames traced beyond the two, or other ones altogether: (frame, radius).
    traced: tuple[tuple[int, float], ...] | None = None
    # Which frame stands first in VolumeTracings.
    small_first: bool = False

    @property
    def tracings(self) -> tuple[tuple[int, float], ...]:
        if self.traced is not None:
            return self.traced
        rows = ((self.ed, 12.0), (self.es, 8.0))
        return rows[::-1] if self.small_first else rows


# ---------------------------------------------------------------- clips


def beating(frames: int, ed: int = 10, es: int = 26, side: int = SIDE) -> np.ndarray:
    """T x side x side x 3: a disc whose radius goes up and down between the phases."""
    y, x = np.ogrid[:side, :side]
    away = np.hypot(y - side / 2, x - side / 2)
    time = (np.arange(frames) - ed) / max(1, abs(es - ed))
    radii = side * (0.3 + 0.08 * np.cos(math.pi * time))
    grey = np.where(away[None] < radii[:, None, None], 200, 30).astype(np.uint8)
    return np.repeat(grey[..., None], 3, axis=3)


def write_video(
    path: Path, pixels: np.ndarray, codec: str = "mjpeg", fps: int = 50, pix_fmt: str = "yuvj420p"
) -> Path:
    """An AVI or MP4, by its suffix; H.264 where the codec says so."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with av.open(str(path), "w") as container:
        stream = container.add_stream(codec, rate=fps)
        stream.width, stream.height, stream.pix_fmt = pixels.shape[2], pixels.shape[1], pix_fmt
        for picture in pixels:
            frame = av.VideoFrame.from_ndarray(picture, format="rgb24")
            container.mux(stream.encode(frame))
        container.mux(stream.encode())
    return path


def write_mp4(path: Path, pixels: np.ndarray, fps: int = 50) -> Path:
    """With frames that refer to later ones, as cameras write them."""
    return write_video(path, pixels, "libx264", fps, "yuv420p")


def write_heart(path: Path, heart: Heart) -> None:
    """The clip of a heart, or what its trap makes of it."""
    if heart.video is None:
        return
    write_video(path, beating(max(1, heart.frames), heart.ed, heart.es))
    data = path.read_bytes()
    if heart.video == "noise":
        path.write_bytes(bytes(range(256)) * 20)
    elif heart.video == "empty":
        path.write_bytes(b"")
    elif heart.video == "header":  # a container and no frame in it
        path.write_bytes(data[: data.index(b"movi") + 4])
    elif heart.video == "half":
        path.write_bytes(data[: len(data) // 2])
    else:
        assert heart.video == "good", heart.video


def write_dicom(path: Path, pixels: np.ndarray, **elements: Any) -> Path:
    """A multi-frame RGB ultrasound clip; `elements` are set as they come, None is left out."""
    from pydicom.dataset import FileDataset, FileMetaDataset
    from pydicom.uid import ExplicitVRLittleEndian, generate_uid

    meta = FileMetaDataset()
    meta.MediaStorageSOPClassUID = "1.2.840.10008.5.1.4.1.1.3.1"
    meta.MediaStorageSOPInstanceUID = generate_uid(entropy_srcs=[path.name])
    meta.TransferSyntaxUID = ExplicitVRLittleEndian
    clip = FileDataset(str(path), {}, file_meta=meta, preamble=b"\0" * 128)
    frames, rows, columns, _ = pixels.shape
    described = {
        "SOPClassUID": meta.MediaStorageSOPClassUID,
        "SOPInstanceUID": meta.MediaStorageSOPInstanceUID,
        "Modality": "US",
        "PatientID": "made-up",
        "NumberOfFrames": frames,
        "Rows": rows,
        "Columns": columns,
        "SamplesPerPixel": 3,
        "PhotometricInterpretation": "RGB",
        "PlanarConfiguration": 0,
        "BitsAllocated": 8,
        "BitsStored": 8,
        "HighBit": 7,
        "PixelRepresentation": 0,
        "PixelData": pixels.tobytes(),
    }
    for name, value in (described | elements).items():
        if value is not None:
            setattr(clip, name, value)
    path.parent.mkdir(parents=True, exist_ok=True)
    clip.save_as(path, enforce_file_format=True)
    return path


def write_nifti(path: Path, array: np.ndarray) -> Path:
    """A NIfTI-1 file of bytes, gzipped; axes as they are (x, y, t), first fastest."""
    dims = [array.ndim, *array.shape, *[1] * (7 - array.ndim)]
    header = struct.pack("<i36x8h14xhhh8f", 348, *dims, 2, 8, 0, 1, *[1.0] * 7)
    header += struct.pack("<f", 352.0)
    data = header.ljust(344, b"\0") + b"n+1\0" + b"\0" * 4 + array.astype(np.uint8).tobytes("F")
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(gzip.compress(data, mtime=0))
    return path


# ---------------------------------------------------------------- tracings


def chords(radius: float, count: int = 20) -> list[tuple[float, float, float, float]]:
    """The long axis of a disc of this radius, then its chords, as EchoNet traces them."""
    middle, height = SIDE / 2, 2 * radius / count
    lines = [(middle, middle - radius, middle, middle + radius)]
    for number in range(count):
        y = -radius + (number + 0.5) * height
        half = math.sqrt(radius**2 - y**2)
        lines.append((middle - half, middle + y, middle + half, middle + y))
    return lines


def circle(radius: float, points: int = 40) -> list[tuple[float, float]]:
    turns = [2 * math.pi * n / points for n in range(points)]
    return [(SIDE / 2 + radius * math.cos(t), SIDE / 2 + radius * math.sin(t)) for t in turns]


# ---------------------------------------------------------------- trees


def write_echonet(root: Path, hearts: Sequence[Heart]) -> Path:
    """EchoNet-Dynamic: the tracings' names end in .avi, the list's do not."""
    for heart in hearts:
        write_heart(root / "Videos" / f"{heart.name}.avi", heart)
    write_csv(root / "FileList.csv", FILE_LIST, (_listed(heart) for heart in hearts))
    rows = (
        (f"{heart.name}.avi", *(round(v, 4) for v in line), frame)
        for heart in hearts
        for frame, radius in heart.tracings
        for line in chords(radius)
    )
    write_csv(root / "VolumeTracings.csv", TRACINGS, rows)
    return root


def _listed(heart: Heart) -> Sequence[object]:
    stated = heart.frames if heart.stated is None else heart.stated
    return (heart.name, 60.5, 40.0, 101.3, SIDE, SIDE, 50, stated, heart.split)


def write_pediatric(root: Path, hearts: Sequence[Heart], view: str = "A4C") -> Path:
    """EchoNet-Pediatric: names with .avi in both files; a phase may be marked and not traced."""
    home = root / view
    for heart in hearts:
        write_heart(home / "Videos" / f"{heart.name}.avi", heart)
    header = ("FileName", "EF", "Sex", "Age", "Weight", "Height", "Split")
    listed = ((f"{heart.name}.avi", 62.1, "F", 9, 30.5, 130, heart.split) for heart in hearts)
    write_csv(home / "FileList.csv", header, listed)
    rows: list[Sequence[object]] = [
        (f"{heart.name}.avi", round(x, 3), round(y, 3), frame)
        for heart in hearts
        for frame, radius in heart.tracings
        for x, y in circle(radius)
    ]
    rows.append((f"{hearts[0].name}.avi", 0, 0, "No Systolic"))
    write_csv(home / "VolumeTracings.csv", ("FileName", "X", "Y", "Frame"), rows)
    return root


def write_camus(root: Path, hearts: Sequence[Heart], view: str = "4CH") -> Path:
    """CAMUS: frames counted from 1 in the cfg, arrays with the axes x, y, t."""
    for heart in hearts:
        home = root / "database_nifti" / heart.name
        stated = heart.frames if heart.stated is None else heart.stated
        lines = (f"ED: {heart.ed + 1}", f"ES: {heart.es + 1}", f"NbFrame: {stated}", "Sex: F")
        more = ("Age: 56", "ImageQuality: Good", "EF: 54", "FrameRate: 48.5")
        write_text(home / f"Info_{view}.cfg", "\n".join((*lines, *more)) + "\n")
        if heart.video is None:
            continue
        grey = beating(heart.frames, heart.ed, heart.es)[..., 0]
        stem = home / f"{heart.name}_{view}_half_sequence"
        write_nifti(Path(f"{stem}.nii.gz"), grey.transpose(2, 1, 0)[:, : SIDE - 4])
        write_nifti(Path(f"{stem}_gt.nii.gz"), (grey > 100).transpose(2, 1, 0)[:, : SIDE - 4])
        if heart.video != "good":
            Path(f"{stem}.nii.gz").write_bytes(b"no nifti")
    groups = {"TRAIN": "training", "VAL": "validation", "TEST": "testing"}
    for split, group in groups.items():
        names = "".join(f"{heart.name}\n" for heart in hearts if heart.split == split)
        write_text(root / "database_split" / f"subgroup_{group}.txt", names)
    return root


def write_masks(path: Path, masks: np.ndarray) -> Path:
    """Packed bits with their shape, as the sample set has them."""
    path.parent.mkdir(parents=True, exist_ok=True)
    packed = np.packbits(masks.reshape(len(masks), -1), axis=1)
    np.savez_compressed(path, lv=packed, shape=np.array(masks.shape))
    return path


def write_clips(root: Path, hearts: Iterable[Heart], name: str = "cases.csv") -> Path:
    """A folder of clips with the smallest csv there is."""
    hearts = list(hearts)
    for heart in hearts:
        write_heart(root / "clips" / f"{heart.name}.avi", heart)
    rows = ((f"clips/{heart.name}.avi", heart.ed, heart.es) for heart in hearts)
    return write_csv(root / name, ("clip", "ed", "es"), rows)
