"""One clip with its two annotated frames, whatever dataset it comes from."""

from __future__ import annotations

import msgspec

__all__ = ["HeartbeatCase", "Left"]


class HeartbeatCase(msgspec.Struct, frozen=True, kw_only=True):
    """A clip of a beating heart. Frames are absolute and start at 0; `ed` has the larger volume."""

    case_id: str
    # The clip's file below the data root; several frames of one file (DICOM, NIfTI) count as one.
    clip: str
    frames: int
    ed: int
    es: int
    fps: float | None = None
    width: int | None = None
    height: int | None = None
    patient: str | None = None
    view: str | None = None
    sex: str | None = None
    age: float | None = None
    split: str | None = None
    # Per cent, as the dataset states it.
    ef: float | None = None
    # The volumes of the traced frames, in the dataset's or the tracing's own unit.
    ed_volume: float | None = None
    es_volume: float | None = None
    # Masks of the ventricle, one per frame: npz, a folder of PNG, a video of masks, or EchoNet's
    # side-by-side output; below the data root.
    mask: str | None = None
    # A csv `frame,volume` (any unit), one row per frame, below the data root.
    volumes: str | None = None

    @property
    def length(self) -> int:
        """l: frames between the two phases."""
        return abs(self.ed - self.es)


class Left(msgspec.Struct, frozen=True):
    """A clip that is not asked about, and why; printed with the run."""

    clip: str
    reason: str
