"""Frames and accuracies as they are printed: the value, its spread, its interval and its n."""

from __future__ import annotations

from typing import Final

from overread.benchmarks.exhibits.cells import NOT_KNOWN
from overread.case import Measure

__all__ = ["NOT_ASKED", "accuracy", "frames", "number"]

NOT_ASKED: Final = "-"


def number(value: float | None, *, signed: bool = False) -> str:
    """Two decimals; from ten thousand on in powers of ten, so that a column keeps its width."""
    if value is None:
        return NOT_KNOWN
    sign = "+" if signed else ""
    text = f"{value:{sign}.2e}" if abs(value) >= 10_000 else f"{value:{sign}.2f}"
    return text[1:] if text in ("-0.00", "+0.00") else text


def frames(record: Measure | None, *, sd: float | None = None, signed: bool = False) -> str:
    """`4.14 ± 1.25 [3.41, 4.91] n=10`; `sd` is the spread the table is about."""
    if record is None or record.value is None:
        return NOT_KNOWN
    text = number(record.value, signed=signed)
    if sd is not None:
        text += f" ± {number(sd)}"
    if record.low is not None and record.high is not None:
        low, high = (number(bound, signed=signed) for bound in (record.low, record.high))
        text += f" [{low}, {high}]"
    return text if record.n is None else f"{text} n={record.n}"


def accuracy(record: Measure | None, *, sd: float | None = None) -> str:
    """`0.711 ± 0.022 [0.62, 0.79] n=1000`, three decimals as the paper has them."""
    if record is None or record.value is None:
        return NOT_KNOWN
    text = f"{record.value:.3f}"
    if sd is not None:
        text += f" ± {sd:.3f}"
    if record.low is not None and record.high is not None:
        text += f" [{record.low:.3f}, {record.high:.3f}]"
    return text if record.n is None else f"{text} n={record.n}"
