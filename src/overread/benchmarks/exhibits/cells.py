"""Numbers as they are printed: percent with one decimal, the interval, and the n they stand on."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from overread.case import Measure, Table

__all__ = ["NOT_KNOWN", "cell", "fraction", "interval", "p_value", "percent", "table"]

NOT_KNOWN = "n/a"
_SIGNED = ("gsp", "diff_", "gap_", "text_gap")


def percent(value: float | None, *, signed: bool = False) -> str:
    """`0.332` -> `33.2`."""
    if value is None:
        return NOT_KNOWN
    text = f"{100 * value:{'+' if signed else ''}.1f}"
    return text[1:] if text in ("-0.0", "+0.0") else text


def interval(record: Measure) -> str:
    """` [28.7, 38.1]`, or nothing where there is no interval."""
    if record.low is None or record.high is None:
        return ""
    signed = record.measure.startswith(_SIGNED)
    return f" [{percent(record.low, signed=signed)}, {percent(record.high, signed=signed)}]"


def cell(record: Measure | None, mark: str = "") -> str:
    """`33.2 [28.7, 38.1] n=370`."""
    if record is None or record.value is None:
        return NOT_KNOWN
    value = percent(record.value, signed=record.measure.startswith(_SIGNED))
    text = f"{value}{mark}{interval(record)}"
    return text if record.n is None else f"{text} n={record.n}"


def fraction(record: Measure | None, mark: str = "") -> str:
    """`27.3 [15.1, 44.2] 9/33`, for cells that stand on few cases."""
    if record is None or record.value is None or record.k is None:
        return cell(record, mark)
    return f"{percent(record.value)}{mark}{interval(record)} {record.k}/{record.n}"


def p_value(value: float | None) -> str:
    """Three decimals; never a bare zero, and nothing where there was no test [D29]."""
    if value is None:
        return NOT_KNOWN
    return "<0.001" if value < 0.001 else f"{value:.3f}"


def table(
    name: str,
    title: str,
    columns: Sequence[str],
    rows: Iterable[Sequence[str]],
    signature: str,
    notes: Sequence[str] = (),
    *,
    facts: int = 1,
) -> Table | None:
    """A table, or None where no cell beyond the first `facts` of any row says anything."""
    kept = tuple(tuple(row) for row in rows)
    if not any(text not in ("", NOT_KNOWN) for row in kept for text in row[facts:]):
        return None
    return Table(
        name=name,
        title=title,
        columns=tuple(columns),
        rows=kept,
        signature=signature,
        notes=tuple(notes),
    )
