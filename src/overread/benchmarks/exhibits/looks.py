"""How readers are told apart in a drawing: a colour and a shape each, six at most."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

from overread.benchmarks.exhibits.columns import Column
from overread.benchmarks.exhibits.index import Index
from overread.benchmarks.exhibits.style import BLUE, INK, VERMILLION, Spec, shown
from overread.case import Measure
from overread.judging.fitness import UNFIT

__all__ = ["LOOKS", "Cast", "cast_of", "point_row", "spoken", "told", "unfit_note"]


class Look(NamedTuple):
    """A colour that people of any colour vision tell from the others, and a shape."""

    colour: str
    shape: str


LOOKS: Final = (
    Look(BLUE, "circle"),
    Look(VERMILLION, "square"),
    Look("#009e73", "diamond"),
    Look("#cc79a7", "triangle-up"),
    Look("#e69f00", "triangle-down"),
    Look(INK, "cross"),
)


class Cast(NamedTuple):
    """The readers of a drawing by the names they have there, and those there was no room for."""

    names: dict[str, str]
    left_out: int

    @property
    def notes(self) -> tuple[str, ...]:
        if not self.left_out:
            return ()
        return (f"The first {len(self.names)} readers; {self.left_out} more are in the tables.",)


def cast_of(index: Index, columns: Sequence[Column]) -> Cast:
    """The first readers with any of these numbers."""
    some = [
        reader for reader in index.readers if any(column.known(index, reader) for column in columns)
    ]
    kept = some[: len(LOOKS)]
    return Cast(shown(kept), len(some) - len(kept))


def told(cast: Cast) -> tuple[Spec, Spec]:
    """The scales of colour and shape."""
    names = list(cast.names.values())
    ranges = ([look.colour for look in LOOKS], [look.shape for look in LOOKS])
    colour, shape = (
        {
            "field": "shown",
            "type": "nominal",
            "scale": {"domain": names, "range": values[: len(names)]},
            "legend": {"columns": 3},
        }
        for values in ranges
    )
    return colour, shape


def point_row(reader: str, name: str, column: str, record: Measure, **more: object) -> Spec:
    """One number of one reader, in percent."""
    assert record.value is not None

    def percent(value: float | None) -> float | None:
        return None if value is None else 100 * value

    return {
        "reader": reader,
        "shown": name,
        "measure": column,
        "value": percent(record.value),
        "low": percent(record.low),
        "high": percent(record.high),
        "n": record.n,
        "unfit": UNFIT in (record.label or ""),
        **more,
    }


def unfit_note(rows: Sequence[Spec]) -> tuple[str, ...]:
    return (f"Open marks: {UNFIT}.",) if any(row["unfit"] for row in rows) else ()


def spoken(rows: Sequence[Spec], *keys: str) -> str:
    """The numbers in words."""
    said = []
    for row in rows:
        where = " ".join(str(row[key]) for key in keys)
        unfit = f", {UNFIT}" if row["unfit"] else ""
        said.append(f"{row['reader']} {where} {row['value']:.1f}{unfit}")
    return "; ".join(said)
