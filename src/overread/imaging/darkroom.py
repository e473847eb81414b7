"""Small PNG files looked at by a program of its own: their names in keys, what is sent of them.

Most steps of it let go of the interpreter's lock and take it again, so that threads of a process
that asks hinder each other more than they help. `engine/darkroom.py` starts this module
(`beside.py`). It imports no numpy and no Pillow: it is there in a tenth of a second.
"""

from __future__ import annotations

import msgspec

from overread.beside import serve
from overread.case import BadInput, Operation, Shown, Source
from overread.imaging._budget import budgeted
from overread.imaging._files import digest_of, read
from overread.imaging._own_png import own_png


class Order(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """A file below a folder; and where its own bytes may be what is sent, in which size."""

    root: str
    name: str
    sizing: tuple[Operation, ...] | None = None


class Looked(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """What a source of these bytes is called in keys, and the bytes to send as they stand, named.

    Empty where the file cannot be read, or is not what would be sent: whoever makes a picture of it
    says why.
    """

    source: bytes = b""
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
    data = read(Source(order.root, order.name))
    own = None if order.sizing is None else own_png(data, order.name, order.sizing)
    if own is None:
        return Looked(digest_of(data))
    return Looked(digest_of(data), own, Shown("image/png", own).digest)


if __name__ == "__main__":
    serve(answer)
