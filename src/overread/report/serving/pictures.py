"""Pictures made last, kept while there is room for them."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable
from typing import Final

from overread.case import Shown

_MOST_BYTES: Final = 48 * 1024 * 1024

Key = tuple[int, str, int]


class PicturesMadeLast:
    """Rendered pictures by run, case and number of the slide.

    A class, for it guards a lock: pictures are made in threads.
    """

    def __init__(self, most_bytes: int = _MOST_BYTES) -> None:
        self._most = most_bytes
        self._kept: OrderedDict[Key, Shown] = OrderedDict()
        self._lock = threading.Lock()
        self._held = 0

    @property
    def held_bytes(self) -> int:
        with self._lock:
            return self._held

    def get(self, key: Key, make: Callable[[], Shown | None]) -> Shown | None:
        """The picture, made if it is not there; one larger than all the room is not kept."""
        with self._lock:
            if key in self._kept:
                self._kept.move_to_end(key)
                return self._kept[key]
        made = make()
        if made is None or len(made.data) > self._most:
            return made
        with self._lock:
            if key not in self._kept:
                self._kept[key] = made
                self._held += len(made.data)
            while self._held > self._most:
                _, oldest = self._kept.popitem(last=False)
                self._held -= len(oldest.data)
        return made
