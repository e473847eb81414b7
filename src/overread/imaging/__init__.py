"""Pixels: open an image file, carry out a picture's recipe, encode what a reader will see.

This room knows nothing of models or benchmarks. A `Picture` goes in and a `Shown` comes out; only
pixels pass through, never the metadata of the file they came from.

Pillow, numpy and pydicom are imported on first use, so that `import overread.imaging` is quick.
"""

from typing import TYPE_CHECKING, Any

__all__ = ["RENDERER", "Cache", "digest", "locate", "open_image", "pixels", "render"]

if TYPE_CHECKING:
    from overread.imaging._cache import Cache
    from overread.imaging._files import digest, locate
    from overread.imaging._open import open_image
    from overread.imaging._render import RENDERER, pixels, render

_HOME = {
    "Cache": "_cache",
    "digest": "_files",
    "locate": "_files",
    "open_image": "_open",
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
