"""Numbers as they are printed, with what the judges behind them are worth."""

from __future__ import annotations

from typing import Final

import msgspec

from overread.benchmarks.exhibits.cells import NOT_KNOWN, p_value
from overread.case import Measure
from overread.judging.fitness import NOT_CHECKED, UNFIT

__all__ = ["LIMITED", "NOT_ASKED", "cell", "coefficient", "plain", "ratio", "tested", "worth"]

NOT_ASKED: Final = "-"
# Marks a number whose judges were never tried on replies of known truth.
LIMITED: Final = "†"
_SIGNED: Final = ("impact", "image_effect", "diff_")
_RATIOS: Final = ("efficiency", "latency", "seconds")


def worth(record: Measure) -> str:
    """What is printed after a number: ` judge unfit`, a dagger, or nothing."""
    label = record.label or ""
    if UNFIT in label:
        return f" {UNFIT}"
    return LIMITED if NOT_CHECKED in label else ""


def plain(record: Measure | None, *, decimals: int = 1) -> str:
    """`33.2` or `+3.1`, percent; `2.69` for a ratio."""
    if record is None or record.value is None:
        return NOT_KNOWN
    return _value(record, record.value, decimals)


def _value(record: Measure, value: float, decimals: int = 1) -> str:
    if record.measure in _RATIOS:
        return ratio(value)
    sign = "+" if record.measure.startswith(_SIGNED) else ""
    text = f"{100 * value:{sign}.{decimals}f}"
    return text[1:] if float(text) == 0 and text[0] in "+-" else text


def ratio(value: float) -> str:
    """Three significant digits, so that 0.154 and 93.9 both say something."""
    return f"{value:#.3g}".rstrip(".") if 0.001 <= abs(value) < 1000 else f"{value:.2g}"


def cell(record: Measure | None) -> str:
    """`33.2 [28.7, 38.1] n=370`, and `judge unfit` where it is so."""
    if record is None:
        return NOT_ASKED
    if record.value is None:
        return NOT_KNOWN
    text = _value(record, record.value)
    if record.low is not None and record.high is not None:
        text += f" [{_value(record, record.low)}, {_value(record, record.high)}]"
    if record.n is not None:
        text += f" n={record.n}"
    return text + worth(record)


def tested(record: Measure | None) -> str:
    """A cell with its p and q."""
    if record is None or record.value is None:
        return cell(record)
    bare = msgspec.structs.replace(record, label=None)
    tests = f"p={p_value(record.p)} q={p_value(record.q)}".replace("=<", "<")
    return f"{cell(bare)} {tests}{worth(record)}"


def coefficient(record: Measure | None) -> str:
    """`0.81 [0.76, 0.85]`, for what is no share: a correlation, or kappa."""
    if record is None or record.value is None:
        return NOT_KNOWN
    text = _hundredths(record.value)
    if record.low is not None and record.high is not None:
        text += f" [{_hundredths(record.low)}, {_hundredths(record.high)}]"
    return text


def _hundredths(value: float) -> str:
    text = f"{value:.2f}"
    return "0.00" if text == "-0.00" else text
