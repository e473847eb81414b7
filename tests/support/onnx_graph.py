"""A small ONNX graph, written by hand: the package that writes them is not needed for one."""

from __future__ import annotations

import struct


def _varint(number: int) -> bytes:
    out = b""
    while number > 127:
        out, number = out + bytes([number & 127 | 128]), number >> 7
    return out + bytes([number])


def _field(number: int, value: bytes | str | int) -> bytes:
    if isinstance(value, int):
        return _varint(number << 3) + _varint(value)
    data = value.encode() if isinstance(value, str) else value
    return _varint(number << 3 | 2) + _varint(len(data)) + data


def _tensor_type(name: str, *sides: int | str) -> bytes:
    dims = b"".join(_field(1, _field(1 if isinstance(s, int) else 2, s)) for s in sides)
    kind = _field(1, 1) + _field(2, dims)  # float32
    return _field(1, name) + _field(2, _field(1, kind))


def channels_as_tokens(side: int) -> bytes:
    """`pixels` (n, 3, side, side) in, `tokens` (n, 3, side * side) out: each channel a token."""
    shape = struct.pack("<3q", 0, 3, side * side)
    initial = _field(1, 3) + _field(2, 7) + _field(8, "shape") + _field(9, shape)
    node = _field(1, "pixels") + _field(1, "shape") + _field(2, "tokens") + _field(4, "Reshape")
    graph = _field(1, node) + _field(2, "graph") + _field(5, initial)
    graph += _field(11, _tensor_type("pixels", "n", 3, side, side))
    graph += _field(12, _tensor_type("tokens", "n", 3, side * side))
    return _field(1, 8) + _field(7, graph) + _field(8, _field(1, "") + _field(2, 13))
