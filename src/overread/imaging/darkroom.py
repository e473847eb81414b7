"""Small PNG files looked at by a program of its own: their names in keys, what is sent of them.

Most steps of it let go of the interpreter's lock and take it again, so that threads of a process
that asks hinder each other more than they help. `engine/darkroom.py` starts this module
(`beside.py`). It imports no numpy and no Pillow: it is there in a tenth of a second.
"""

from __future__ import annotations

import struct

import msgspec

from overread.beside import serve
from overread.case import BadInput, Operation, Shown, Source
from overread.imaging._budget import budgeted
from overread.imaging._files import digest_of, read_file
from overread.imaging._own_png import own_png

SMALL = 1 << 20  # bytes of a file; what takes longer is better shared among threads
# With two bytes of each in memory, of three colours: within the first share of a decoder's work, so
# that this process takes no more than that beside what the other one may.
_MOST_PIXELS = 8 << 20


class Order(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """A file below a folder; and where its own bytes may be what is sent, in which size."""

    root: str
    name: str
    sizing: tuple[Operation, ...] | None = None


class Looked(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """What a source of these bytes is called in keys, and the bytes to send as they stand, named.

    Empty where the file cannot be read, or is not what would be sent: whoever makes a picture of it
    says why. `size` and `mark` tell which file it was: another may stand there since it was named.
    """

    source: bytes = b""
    size: int = 0
    mark: int = 0
    own: bytes = b""
    digest: bytes = b""

    def shown(self) -> Shown:
        """The picture as it is sent, whose digest need not be taken again."""
        shown = Shown("image/png", self.own)
        shown.__dict__["digest"] = self.digest
        return shown


_orders = msgspec.msgpack.Decoder(list[Order])
_encode = msgspec.msgpack.Encoder().encode


def answer(message: bytes) -> bytes:
    """What came of each order of a message, in their order."""
    return _encode([looked_at(order) for order in _orders.decode(message)])


def looked_at(order: Order) -> Looked:
    try:
        return _looked_at(order)
    except BadInput:
        return Looked()


@budgeted
def _looked_at(order: Order) -> Looked:
    at, data = read_file(Source(order.root, order.name), SMALL)
    own = None
    if order.sizing is not None and _pixels(data) <= _MOST_PIXELS:
        own = own_png(data, order.name, order.sizing)
    digest = digest_of(data)
    if own is None:
        return Looked(digest, at.size, at.mark)
    return Looked(digest, at.size, at.mark, own, Shown("image/png", own).digest)


def _pixels(data: bytes) -> int:
    """How many a PNG says that it has; `own_png` says whether it is one."""
    width, height = struct.unpack_from(">LL", data, 16) if len(data) >= 24 else (0, 0)
    return int(width * height)


if __name__ == "__main__":
    serve(answer)
