"""Digests of image files, read once and kept by (path, size, mtime)."""

from __future__ import annotations

import os

from overread.case import Inline, Overlay, Picture, Request, Source
from overread.engine.store import Store
from overread.imaging import digest, locate

__all__ = ["Sources"]

_MOST = 100_000


class Sources:
    """Knows the digest of every source; reads a file only if neither memory nor store has it."""

    def __init__(self, store: Store, dataset: int) -> None:
        self._store = store
        self._dataset = dataset
        self._known: dict[Source | Inline, bytes] = {}
        self._fresh: list[tuple[str, int, int, bytes, int]] = []

    def __call__(self, source: Source | Inline) -> bytes:
        """The digest; reads the file if it must. Raises BadInput for a file that is not there."""
        kept = self._known.get(source)
        return kept if kept is not None else self._learn(source)

    def peek(self, source: Source | Inline) -> bytes | None:
        """The digest if it is known without reading the file."""
        if source in self._known:
            return self._known[source]
        if isinstance(source, Inline):
            return self._learn(source)
        path = locate(source)
        stat = os.stat(path)
        kept = self._store.source(str(path), stat.st_size, stat.st_mtime_ns)
        if kept is not None:
            self._known[source] = kept
        return kept

    def unchanged(self, picture: Picture) -> bool:
        """Whether the files of a picture are still those whose digests are in its key."""
        for source in _sources(picture):
            if isinstance(source, Source):
                path = locate(source)
                stat = os.stat(path)
                if self._store.source(str(path), stat.st_size, stat.st_mtime_ns) != self(source):
                    return False
        return True

    def unknown(self, requests: list[Request]) -> set[Source | Inline]:
        """Sources of these requests that are not in memory, each once."""
        known = self._known
        return {
            source
            for request in requests
            for message in request.messages
            for part in message.parts
            if isinstance(part, Picture)
            for source in _sources(part)
            if source not in known
        }

    def keep(self) -> None:
        """Commit what was learnt since the last call."""
        if self._fresh:
            rows, self._fresh = self._fresh, []
            self._store.keep_sources(rows)

    def _learn(self, source: Source | Inline) -> bytes:
        if isinstance(source, Inline):
            found = digest(source)
        else:
            path = locate(source)
            stat = os.stat(path)
            kept = self._store.source(str(path), stat.st_size, stat.st_mtime_ns)
            found = kept if kept is not None else digest(source)
            if kept is None:
                row = (str(path), stat.st_size, stat.st_mtime_ns, found, self._dataset)
                self._fresh.append(row)
        if len(self._known) >= _MOST:
            self._known.clear()  # flat memory; the store still knows them
        self._known[source] = found
        return found


def _sources(picture: Picture) -> list[Source | Inline]:
    masks = [o.mask for o in picture.operations if isinstance(o, Overlay)]
    return [picture.source, *masks]
