"""Images inside a parquet file of the Hugging Face layout: a column `image` of bytes and path."""

from __future__ import annotations

import functools
import os
import threading
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

import msgspec

from overread.case import BadInput
from overread.imaging._archive import MOST_BYTES, looked_at, mark_of, real_path
from overread.imaging._budget import budgeted, hold
from overread.imaging._parquet_pages import Page, pages_of

if TYPE_CHECKING:
    import polars as pl

# Rows are read in blocks of about so many bytes: neighbours are asked for one after another.
_BLOCK_BYTES = 16_000_000
_MOST_ROWS = 256


class Rows(msgspec.Struct, frozen=True, gc=False):
    """A parquet file of images as it was when it was opened."""

    path: str
    size: int
    mark: int
    count: int
    block: int
    pages: tuple[Page, ...]

    def number(self, name: str) -> int:
        """The row a source's name means. Raises BadInput if there is none."""
        if not (name.isascii() and name.isdigit() and len(name) < 16 and str(int(name)) == name):
            raise BadInput(
                f"{name!r}: an image in {self.path!r} is named by its row, 0 and up. Mend the name."
            )
        if int(name) >= self.count:
            raise BadInput(
                f"there is no row {name} in {self.path!r}, which has {self.count}. Fetch the whole "
                "file, or mend the number."
            )
        return int(name)

    @budgeted
    def read(self, name: str) -> bytes:
        """The bytes of the image in this row."""
        number = self.number(name)
        hold(self._cost(number), f"row {name} of {self.path!r}")
        with _reading:
            images = _block(self, number // self.block)
        data = images[number % self.block]
        if data is None:
            raise BadInput(
                f"row {name} of {self.path!r} holds no image bytes. Fetch a file with its images "
                "inside."
            )
        if len(data) > MOST_BYTES:
            raise BadInput(
                f"row {name} of {self.path!r}: {len(data)} bytes is too large for one picture (at "
                f"most {MOST_BYTES}). Name another row."
            )
        return data

    def _cost(self, number: int) -> int:
        """Bytes that reading the block of a row takes, with all copies that are there at once."""
        first = number // self.block * self.block
        end = first + self.block
        read = [page for page in self.pages if page.first < end and page.end > first]
        inflated = sum(page.size + page.shared for page in read)
        valued = self.block * max((page.shared for page in read), default=0)
        return sum({page.beside for page in read}) + 3 * (inflated + valued)


def is_rows(path: str | Path) -> bool:
    """Whether this is a parquet file: a regular file whose name ends in .parquet."""
    return looked_at(path, ".parquet") is not None


def rows(path: str | Path, found: os.stat_result | None = None) -> Rows:
    """The parquet file, opened once for as long as it does not change.

    `found` is its state, if the caller has just looked.
    """
    found = found or looked_at(path, ".parquet")
    if found is None:
        raise BadInput(
            f"{str(path)!r} is not there, or no parquet file. Name a file ending in .parquet."
        )
    real = real_path(path)
    with _reading:
        return _opened(real, found.st_size, mark_of(found))


_reading = threading.Lock()


@functools.lru_cache(16)
@budgeted
def _opened(path: str, size: int, mark: int) -> Rows:
    import polars as pl

    try:
        pages = tuple(pages_of(path, path))
        count = int(_images(path).select(pl.len()).collect().item())
    except BadInput:
        raise
    except Exception as error:  # hostile bytes: whatever the parser raises is one refusal
        _refuse(path, error)
    # The largest image that may be: any of the dictionary's, or the average of a page.
    large = max(
        (max(page.shared, page.size // max(1, page.end - page.first)) for page in pages), default=0
    )
    block = max(1, min(_MOST_ROWS, _BLOCK_BYTES // max(1, large)))
    return Rows(path, size, mark, count, block, pages)


@functools.lru_cache(3)
def _block(file: Rows, number: int) -> list[bytes | None]:
    found = os.stat(file.path)
    if (found.st_size, mark_of(found)) != (file.size, file.mark):
        raise BadInput(f"{file.path!r} changed while it was read. Run the same command again.")
    try:
        taken = _images(file.path).slice(number * file.block, file.block).collect()
    except Exception as error:
        _refuse(file.path, error)
    return taken["image"].to_list()


def _images(path: str) -> pl.LazyFrame:
    import polars as pl

    frame = pl.scan_parquet(path, glob=False)
    kind = frame.collect_schema().get("image")
    column = pl.col("image")
    if kind == pl.Binary:
        return frame.select(column)
    if isinstance(kind, pl.Struct) and pl.Field("bytes", pl.Binary) in kind.fields:
        return frame.select(column.struct.field("bytes").alias("image"))
    raise BadInput(
        f"{path!r} has no column `image` that holds bytes. Give a parquet file with its images "
        "inside."
    )


def _refuse(path: str, error: Exception) -> NoReturn:
    why = (" ".join(str(error).split()) or type(error).__name__)[:200].rstrip(".")
    raise BadInput(f"{path!r} cannot be read as parquet ({why}). Fetch it again.") from None
