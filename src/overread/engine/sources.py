"""Digests of image files and clips, read once and kept by (path, size, times and inode).

A member of a zip archive is digested by the archive's index alone, which the store need not keep.
"""

from __future__ import annotations

import msgspec

from overread.case import BadInput, Clip, Inline, Overlay, Request, Source
from overread.engine.keys import Slot
from overread.engine.store import Store
from overread.imaging import Place, digest, is_archive, place, stamp

__all__ = ["Sources"]

_MOST = 100_000


class Sources:
    """Knows the digest of every source; reads a file only if neither memory nor store has it."""

    def __init__(self, store: Store, dataset: int) -> None:
        self._store = store
        self._dataset = dataset
        self._known: dict[Source | Inline, Place] = {}
        self._fresh: list[tuple[str, int, int, bytes, int]] = []

    def __call__(self, source: Source | Inline) -> bytes:
        """The digest; reads the file if it must. Raises BadInput for a file that is not there."""
        return self._file(source).digest

    def peek(self, source: Source | Inline) -> bytes | None:
        """The digest if it is known without reading the file."""
        known = self._known.get(source)
        if known is None:
            known = _held(source) if isinstance(source, Inline) else self._kept(place(source))
            if known is not None:
                self._remember(source, known)
        return known.digest if known is not None else None

    def unchanged(self, picture: Slot) -> bool:
        """Whether the files of a picture or clip are still those whose digests are in its key."""
        for source in _sources(picture):
            file = self._file(source)
            if file.path:
                try:
                    size, mark = stamp(file.path)
                    if (size, mark) == (file.size, file.mark):
                        continue
                    # A backup may touch a file; an archive that changed is another archive.
                    if file.path != file.kept_as or digest(source) != file.digest:
                        return False
                except (OSError, BadInput):  # gone since
                    return False
                self._remember(source, msgspec.structs.replace(file, size=size, mark=mark))
        return True

    def unknown(self, requests: list[Request]) -> set[Source | Inline]:
        """Sources of these requests that must be read or looked up, each once."""
        known = self._known
        return {
            source
            for request in requests
            for message in request.messages
            for part in message.parts
            if not isinstance(part, str)
            for source in _sources(part)
            if source not in known and not self._is_member(source)
        }

    def keep(self) -> None:
        """Commit what was learnt since the last call."""
        if self._fresh:
            rows, self._fresh = self._fresh, []
            self._store.keep_sources(rows)

    def _file(self, source: Source | Inline) -> Place:
        known = self._known.get(source)
        return known if known is not None else self._learn(source)

    def _is_member(self, source: Source | Inline) -> bool:
        """Learn a member of an archive, which costs less than asking a thread to."""
        if isinstance(source, Inline) or not is_archive(source.root):
            return False
        try:
            return self.peek(source) is not None
        except BadInput:  # said again when its trials are keyed
            return False

    def _learn(self, source: Source | Inline) -> Place:
        if isinstance(source, Inline):
            return self._remember(source, _held(source))
        file = place(source)
        known = self._kept(file)
        if known is None:
            known = msgspec.structs.replace(file, digest=digest(source))
            row = (known.kept_as, known.size, known.mark, known.digest, self._dataset)
            self._fresh.append(row)
        return self._remember(source, known)

    def _kept(self, file: Place) -> Place | None:
        if file.digest:  # by the index of its archive
            return file
        kept = self._store.source(file.kept_as, file.size, file.mark)
        return msgspec.structs.replace(file, digest=kept) if kept is not None else None

    def _remember(self, source: Source | Inline, file: Place) -> Place:
        if len(self._known) >= _MOST:
            self._known.clear()  # flat memory; the store still knows them
        self._known[source] = file
        return file


def _held(source: Inline) -> Place:
    return Place(digest=digest(source))


def _sources(picture: Slot) -> list[Source | Inline]:
    masks = [o.mask for o in picture.operations if isinstance(o, Overlay)]
    if isinstance(picture, Clip) and picture.mask is not None:
        masks.append(picture.mask.source)
    return [picture.source, *masks]
