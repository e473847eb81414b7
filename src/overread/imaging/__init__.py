"""Pixels: open an image file, carry out a picture's recipe, encode what a reader will see.

This room knows nothing of models or benchmarks. A `Picture` goes in and a `Shown` comes out, a
`Clip` and a `ShownClip`; only pixels pass through, never the metadata of the file they came from.

Pillow, numpy, pydicom and PyAV are imported on first use, so that `import overread.imaging` is
quick.
"""

from typing import TYPE_CHECKING, Any

__all__ = [
    "MOST_PIXELS",
    "RENDERER",
    "Archive",
    "Cache",
    "Entry",
    "Feed",
    "Films",
    "Place",
    "archive",
    "budgeted",
    "check_there",
    "check_time",
    "clip_images",
    "container_of",
    "digest",
    "header_file",
    "is_archive",
    "limit_video",
    "locate",
    "lossless_clip",
    "mask_shape",
    "masks_of",
    "movie_frames",
    "nifti_package",
    "nifti_shape",
    "open_image",
    "pixels",
    "place",
    "render",
    "render_clip",
    "stamp",
]

if TYPE_CHECKING:
    from overread.imaging._archive import Archive, Entry, archive, is_archive
    from overread.imaging._budget import budgeted, check_time
    from overread.imaging._cache import Cache
    from overread.imaging._clips import clip_images, render_clip
    from overread.imaging._dicom_file import header_file
    from overread.imaging._files import Place, check_there, digest, locate, place, stamp
    from overread.imaging._films import Films
    from overread.imaging._masks import mask_shape, masks_of
    from overread.imaging._movie import lossless_clip, movie_frames
    from overread.imaging._nifti import nifti_package, nifti_shape
    from overread.imaging._open import open_image
    from overread.imaging._plain import MOST_PIXELS
    from overread.imaging._render import RENDERER, pixels, render
    from overread.imaging._video import Feed, container_of, limit_video

_HOME = {
    "Archive": "_archive",
    "Entry": "_archive",
    "archive": "_archive",
    "is_archive": "_archive",
    "budgeted": "_budget",
    "check_time": "_budget",
    "Cache": "_cache",
    "header_file": "_dicom_file",
    "Place": "_files",
    "check_there": "_files",
    "digest": "_files",
    "locate": "_files",
    "place": "_files",
    "stamp": "_files",
    "Films": "_films",
    "lossless_clip": "_movie",
    "mask_shape": "_masks",
    "masks_of": "_masks",
    "nifti_package": "_nifti",
    "nifti_shape": "_nifti",
    "movie_frames": "_movie",
    "clip_images": "_clips",
    "render_clip": "_clips",
    "open_image": "_open",
    "MOST_PIXELS": "_plain",
    "Feed": "_video",
    "container_of": "_video",
    "limit_video": "_video",
    "RENDERER": "_render",
    "pixels": "_render",
    "render": "_render",
}


def __getattr__(name: str) -> Any:
    """Import on first use, and keep what was found."""
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    found = getattr(import_module(f"{__name__}.{_HOME[name]}"), name)
    globals()[name] = found
    return found
