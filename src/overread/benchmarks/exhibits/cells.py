"""Numbers as they are printed: in their unit, with the interval, the n, and marks with one meaning.

A mark stands for one thing in every table:

    *  few cases: not to be read
    †  judges never tried on replies of known truth
    ‡  told apart: q below 0.05
    §  the published rule says otherwise
    °  a rough interval
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import msgspec

from overread.case import Measure, printable
from overread.judging.fitness import NOT_CHECKED, UNFIT
from overread.measuring.notes import FEW_CLUSTERS
from overread.measuring.units import AMOUNT, INDEX, POINTS, RATIO, SECONDS, SHARE, Unit
from overread.typeset import Cell

NOT_KNOWN: Final = "n/a"
"""There is a record, and it has no value."""
NOT_ASKED: Final = "-"
"""There is no record."""

FEW_MARK: Final = "*"
UNTRIED_MARK: Final = "†"
TOLD_APART_MARK: Final = "‡"
OTHER_RULE_MARK: Final = "§"
ROUGH_MARK: Final = "°"
_SURE_BELOW: Final = 0.05

# ---------------------------------------------------------------- units

_SIGNED: Final = ("diff_", "gap_", "gsp", "text_gap", "impact", "image_effect")
_UNITS: Final[Mapping[str, Unit]] = {
    "efficiency": RATIO, "latency": RATIO, "seconds": SECONDS,
    # Of a scale from 1 to 5, as people state them.
    "stated_confidence": AMOUNT, "failure_confidence": AMOUNT,
}  # fmt: skip


def unit_of(record: Measure) -> Unit:
    """What a record is counted in, by the name of its measure."""
    if record.measure in _UNITS:
        return _UNITS[record.measure]
    return POINTS if record.measure.startswith(_SIGNED) else SHARE


def printed(value: float | None, unit: Unit = SHARE, *, digits: int | None = None) -> str:
    """A number in its unit: `33.2` of a share of 0.332, `+3.1` of a difference, `4.14` frames.

    From ten thousand on in powers of ten, so that a column keeps its width. Nothing is minus zero.
    """
    if value is None:
        return NOT_KNOWN
    number, places = unit.scale * value, unit.digits if digits is None else digits
    if unit.significant:
        text = f"{number:#.{places}g}".rstrip(".")
        return text if 0.001 <= abs(number) < 1000 else f"{number:.{places - 1}g}"
    how = "e" if abs(number) >= 10_000 else "f"
    text = f"{number:{'+' if unit.signed else ''}.{places}{how}}"
    return text[1:] if text[0] in "+-" and float(text) == 0 else text


def percent(value: float | None, *, signed: bool = False) -> str:
    """`0.332` -> `33.2`."""
    return printed(value, POINTS if signed else SHARE)


def p_value(value: float | None) -> str:
    """Three decimals; never a bare zero, and nothing where there was no test [D29]."""
    if value is None:
        return NOT_KNOWN
    return "<0.001" if value < 0.001 else f"{value:.3f}"


# ---------------------------------------------------------------- what a number is worth


def judge_flags(record: Measure) -> frozenset[str]:
    """What is said of the judges behind a number: `unfit` on replies of known truth, `untried`."""
    flags = {"unfit": UNFIT, "untried": NOT_CHECKED}
    return frozenset(flag for flag, words in flags.items() if words in (record.label or ""))


def is_unfit(record: Measure) -> bool:
    """Whether a judge behind a number failed on replies of known truth."""
    return "unfit" in judge_flags(record)


def worth(record: Measure) -> str:
    """What is printed after a number: ` judge unfit`, a dagger, or nothing."""
    if is_unfit(record):
        return f" {UNFIT}"
    return UNTRIED_MARK if "untried" in judge_flags(record) else ""


def told_apart(record: Measure) -> str:
    """The mark of a difference whose q is below 0.05."""
    return TOLD_APART_MARK if record.q is not None and record.q < _SURE_BELOW else ""


# ---------------------------------------------------------------- cells


def interval(record: Measure, unit: Unit | None = None) -> str:
    """`[28.7, 38.1]`, marked where it is rough; nothing where there is no interval."""
    if record.low is None or record.high is None:
        return ""
    unit = unit or unit_of(record)
    mark = ROUGH_MARK if FEW_CLUSTERS in record.flags else ""
    return f"[{printed(record.low, unit)}, {printed(record.high, unit)}]{mark}"


def cell(
    record: Measure | None,
    mark: str = "",
    *,
    unit: Unit | None = None,
    spread: float | None = None,
    absent: str = NOT_KNOWN,
) -> str:
    """`33.2 [28.7, 38.1] n=370`, and `judge unfit` where it is so.

    `mark` stands behind the value; `spread` is a standard deviation that the table is about;
    `absent` is printed where there is no record at all.
    """
    if record is None:
        return absent
    if record.value is None:
        return NOT_KNOWN
    unit = unit or unit_of(record)
    text = printed(record.value, unit) + mark
    if spread is not None:
        text += f" ± {printed(spread, msgspec.structs.replace(unit, signed=False))}"
    return Cell(text, interval(record, unit), n=record.n, after=worth(record))


def with_pooled(text: str, record: Measure | None, unit: Unit | None = None) -> str:
    """The cell of a record, ` pooled 35.0 [30.2, 40.1]` behind it where it is one of many groups'.

    `unit` is that of the cell.
    """
    if record is None or record.pooled is None:
        return text
    unit, found = unit or unit_of(record), record.pooled
    ends = (printed(end, unit) for end in (found.low, found.high))
    pooled = f" pooled {printed(found.value, unit)} [{', '.join(ends)}]"
    return text.with_pooled(pooled) if isinstance(text, Cell) else text + pooled


def plain(record: Measure | None, *, decimals: int | None = None) -> str:
    """The value alone: `33.2` or `+3.1`, percent; `2.69` for a ratio."""
    if record is None:
        return NOT_KNOWN
    unit = unit_of(record)
    return printed(record.value, unit, digits=None if unit.significant else decimals)


def fraction(record: Measure | None, mark: str = "") -> str:
    """`27.3 [15.1, 44.2] 9/33`, for cells that stand on few cases."""
    if record is None or record.value is None or record.k is None:
        return cell(record, mark)
    return Cell(f"{percent(record.value)}{mark}", interval(record), n=record.n, k=record.k)


def with_tests(record: Measure | None, *, absent: str = NOT_ASKED) -> str:
    """A cell with its p and q."""
    if record is None or record.value is None:
        return cell(record, absent=absent)
    bare = msgspec.structs.replace(record, label=None)
    tests = f"p={p_value(record.p)} q={p_value(record.q)}".replace("=<", "<")
    return cell(bare) + f" {tests}{worth(record)}"


def coefficient(record: Measure | None) -> str:
    """`0.81 [0.76, 0.85]`, for what is no share: a correlation, or kappa."""
    if record is None or record.value is None:
        return NOT_KNOWN
    return Cell(printed(record.value, INDEX), interval(record, INDEX))


# ---------------------------------------------------------------- other people's words

CUT: Final = 240
"""Characters of a text that are shown; of a question twice as many."""


def cut(text: str, most: int = CUT) -> str:
    """Text on one line, without characters that do not print, and not too long.

    >>> cut("a\\u202eb\\n  c"), cut("abcdef", 4)
    ('a\\ufffdb c', 'abcd…')
    """
    plain_text = " ".join(text[: 8 * most].split())
    shown = printable(plain_text)
    return shown if len(shown) <= most and len(text) <= 8 * most else f"{shown[:most]}…"
