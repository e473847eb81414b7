"""Vectors kept by the picture they are of: one `.npy` file and the names of its rows.

A folder of one encoder. Rows are only ever added, by one writer at a time; the names are written
last, so that a writer who is killed leaves rows that nobody finds, and the next one overwrites
them. No pickles.
"""

from __future__ import annotations

import io
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING, Final

import msgspec

from overread.case import BadInput, Source
from overread.readers.probe.encoders import Encoder

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from overread.readers.probe.encoders import Pixels

NAME_BYTES: Final = 16
_ROWS, _NAMES, _CARD = "rows.npy", "names.bin", "encoder.txt"


def features_folder(environment: Mapping[str, str]) -> Path:
    """Where vectors are kept: `$OVERREAD_CACHE`, else the workspace."""
    return Path(environment.get("OVERREAD_CACHE") or ".overread") / "features"


def picture_name(source: Source, px: int) -> bytes:
    """What a film at a size is called, by its file's bytes; it need not be opened for it."""
    from overread.imaging import RENDERER, digest

    recipe = ("film", RENDERER, digest(source), px)
    return blake2b(msgspec.msgpack.encode(recipe), digest_size=NAME_BYTES).digest()


class Vectors:
    """An encoder's vectors of pictures by their names, each encoded once and kept."""

    def __init__(self, encoder: Encoder, below: Path) -> None:
        self._encoder = encoder
        named = f"{encoder.identity}, {encoder.runs_as}"
        self._kept = {part: Features(below, f"{named}, {part}") for part in ("whole", "local")}

    def knows(self, name: bytes) -> bool:
        return all(kept.at(name) is not None for kept in self._kept.values())

    def learn(self, names: Sequence[bytes], pictures: Sequence[Pixels]) -> None:
        """Encode these pictures and keep their vectors."""
        encoded = self._encoder.encode(pictures)
        for part, kept in self._kept.items():
            kept.add(names, getattr(encoded, part))

    def taken(
        self, part: str, names: Sequence[bytes]
    ) -> Callable[[NDArray[np.int64]], NDArray[np.float32]]:
        """What copies the vectors of pictures that are known, by their places among the names."""
        import numpy as np

        kept = self._kept[part]
        rows = np.array([kept.row(name) for name in names], np.int64)
        return lambda places: kept.rows(rows[places])


class Features:
    """Rows of one kind in a folder of their own."""

    def __init__(self, below: Path, identity: str) -> None:
        name = blake2b(identity.encode(), digest_size=8).hexdigest()
        self.folder = below / name
        self._identity = identity
        self._at: dict[bytes, int] = {}
        self._read = 0
        self._look()

    def at(self, name: bytes) -> int | None:
        """The row of a picture, None where it has none."""
        return self._at.get(name)

    def row(self, name: bytes) -> int:
        """The row of a picture that has one."""
        return self._at[name]

    def rows(self, at: Sequence[int] | NDArray[np.int64]) -> NDArray[np.float32]:
        """These rows, copied out of the file."""
        import numpy as np

        kept = np.load(self.folder / _ROWS, mmap_mode="r", allow_pickle=False)
        found: NDArray[np.float32] = np.asarray(kept[np.asarray(at, np.int64)])
        return found

    def add(self, names: Sequence[bytes], rows: NDArray[np.float32]) -> None:
        """Keep a row for each name; one that another process kept meanwhile stays as it is."""
        import numpy as np

        with self._writing():
            self._look()
            first = {name: n for n, name in reversed(list(enumerate(names)))}
            fresh = sorted(n for name, n in first.items() if name not in self._at)
            if not fresh:
                return
            before = self._read
            data = np.ascontiguousarray(rows[fresh], np.float32)
            if before and self.rows([0]).shape[1] != data.shape[1]:
                raise BadInput(
                    f"{self.folder}: its rows are not of {data.shape[1]} numbers. Remove it."
                )
            with open(self.folder / _ROWS, "r+b" if before else "w+b") as file:
                file.seek(len(_header(before, data.shape[1])) + before * data.shape[1] * 4)
                file.truncate()
                file.write(data.tobytes())
                file.seek(0)
                file.write(_header(before + len(data), data.shape[1]))
                file.flush()
                os.fsync(file.fileno())
            with open(self.folder / _NAMES, "r+b" if before else "w+b") as file:
                file.seek(before * NAME_BYTES)
                file.truncate()
                file.write(b"".join(names[n] for n in fresh))
            self._look()

    def _look(self) -> None:
        """Learn the names that were added since."""
        try:
            with open(self.folder / _NAMES, "rb") as file:
                file.seek(self._read * NAME_BYTES)
                data = file.read()
        except FileNotFoundError:
            return
        for start in range(0, len(data) - NAME_BYTES + 1, NAME_BYTES):
            self._at[data[start : start + NAME_BYTES]] = self._read
            self._read += 1

    @contextmanager
    def _writing(self) -> Iterator[None]:
        import fcntl

        self.folder.mkdir(parents=True, exist_ok=True)
        card = self.folder / _CARD
        if not card.exists():
            card.write_text(f"{self._identity}\n", encoding="utf-8")
        with card.open("rb") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield


def _header(rows: int, width: int) -> bytes:
    """The head of an `.npy` file; numpy leaves room in it for more rows, so its length stays."""
    from numpy.lib import format as npy

    said = {"descr": "<f4", "fortran_order": False, "shape": (rows, width)}
    head = io.BytesIO()
    npy.write_array_header_1_0(head, said)
    return head.getvalue()
