"""Pixels: open an image file, carry out a picture's recipe, encode what a reader will see.

This room knows nothing of models or benchmarks. A `Picture` goes in and a `Shown` comes out, a
`Clip` and a `ShownClip`; only pixels pass through, never the metadata of the file they came from.

Pillow, numpy, pydicom and PyAV are imported on first use, so that `import overread.imaging` is
quick.
"""

from __future__ import annotations

TYPE_CHECKING = False  # importing typing takes as long as all else that the darkroom does first
if TYPE_CHECKING:
    from typing import Any

__all__ = [
    "ENCODER",
    "MINIMUM_SIDE",
    "RENDERER",
    "RESOLUTION",
    "YEARS_OF",
    "Cache",
    "DicomFacts",
    "Films",
    "Footage",
    "Opened",
    "Place",
    "Unplayable",
    "archive",
    "at_resolution",
    "bare_message",
    "body_mask",
    "by_pixels",
    "check_masks",
    "check_there",
    "clip_frames",
    "closed",
    "dicom_facts",
    "digest",
    "film_size",
    "has_film",
    "irrelevant_box",
    "irrelevant_boxes",
    "is_archive",
    "is_dicom",
    "locate",
    "lossless_clip",
    "masks_of",
    "matched_boxes",
    "may_stand",
    "mirrored_share",
    "nifti_package",
    "open_image",
    "overlap",
    "overlap_fraction",
    "pixels",
    "place",
    "place_named",
    "probe_dicom",
    "probe_nifti",
    "probe_video",
    "render",
    "render_clip",
    "render_film",
    "render_frames",
    "rescale_box",
    "sizes",
    "stamp",
    "within_square",
]

if TYPE_CHECKING:
    from overread.imaging._archive import Place, archive, is_archive
    from overread.imaging._body import body_mask, matched_boxes
    from overread.imaging._boxes import (
        MINIMUM_SIDE,
        RESOLUTION,
        at_resolution,
        closed,
        irrelevant_box,
        irrelevant_boxes,
        mirrored_share,
        overlap,
        overlap_fraction,
        rescale_box,
        within_square,
    )
    from overread.imaging._budget import Cache
    from overread.imaging._clips import Films, clip_frames, masks_of, render_clip, render_frames
    from overread.imaging._files import check_there, digest, locate, place, place_named, stamp
    from overread.imaging._headers import (
        YEARS_OF,
        DicomFacts,
        Footage,
        Unplayable,
        bare_message,
        check_masks,
        dicom_facts,
        film_size,
        is_dicom,
        probe_dicom,
        probe_nifti,
        probe_video,
    )
    from overread.imaging._nifti import nifti_package
    from overread.imaging._own_png import sizes
    from overread.imaging._render import (
        ENCODER,
        RENDERER,
        Opened,
        by_pixels,
        has_film,
        may_stand,
        open_image,
        pixels,
        render,
        render_film,
    )
    from overread.imaging._video import lossless_clip

# What each module has for others.
_MODULES = {
    "_archive": "Place archive is_archive",
    "_body": "body_mask matched_boxes",
    "_boxes": "MINIMUM_SIDE RESOLUTION at_resolution closed irrelevant_box irrelevant_boxes "
    "mirrored_share overlap overlap_fraction rescale_box within_square",
    "_budget": "Cache",
    "_clips": "Films clip_frames masks_of render_clip render_frames",
    "_files": "check_there digest locate place place_named stamp",
    "_headers": "YEARS_OF DicomFacts Footage Unplayable bare_message check_masks dicom_facts "
    "film_size is_dicom probe_dicom probe_nifti probe_video",
    "_nifti": "nifti_package",
    "_own_png": "sizes",
    "_render": "ENCODER RENDERER Opened by_pixels has_film may_stand open_image pixels render "
    "render_film",
    "_video": "lossless_clip",
}
_HOME = {name: module for module, names in _MODULES.items() for name in names.split()}


def __getattr__(name: str) -> Any:
    """Import on first use, and keep what was found."""
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    found = getattr(import_module(f"{__name__}.{_HOME[name]}"), name)
    globals()[name] = found
    return found
