"""The heartbeat paper's errors and accuracies side by side, with the readers of runs below them.

The paper has a table per context; what it asks is whether a context helps. So a row here is a
reader and what it was asked for, and the contexts stand beside each other. Our own summary is of
skill, which needs a constant's error that the paper does not print.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final, NamedTuple

from overread.case import Measure, Table
from overread.published._flag import Flag
from overread.published._printed import Figures
from overread.published.heartbeat._rows import CONTEXTS, FORMATS, PHASES

__all__ = ["headline"]

_NOT_ASKED: Final = "-"
_NOT_KNOWN: Final = "n/a"
_FRAMES: Final = ("1", "2", "3")
# Six numbers of a reader fit a terminal of 100 columns.
_SHORT: Final = ("orig.", "segm.", "non-med.")
_ONE_PHASE: Final = {"ed": "edv", "es": "esv"}


class _Source(NamedTuple):
    """The paper, or a run: what its rows are called after the reader, and its records."""

    suffix: str
    records: Mapping[tuple[str, str, frozenset[tuple[str, str]]], Measure]

    def value(self, reader: str, measure: str, by: Mapping[str, str]) -> float | None:
        found = self.records.get((reader, measure, frozenset(by.items())))
        return None if found is None else found.value

    def asked(self, reader: str, measure: str, by: Mapping[str, str]) -> bool:
        return (reader, measure, frozenset(by.items())) in self.records

    @property
    def readers(self) -> list[str]:
        """Those that were asked, in the order of the records."""
        return list(
            dict.fromkeys(
                reader
                for reader, measure, by in self.records
                if measure in ("mae", "accuracy") and "context" in dict(by)
            )
        )


def headline(
    figures: Figures, beside: Sequence[tuple[str, Sequence[Measure]]], flags: Sequence[Flag]
) -> list[Table]:
    """Errors in frames, accuracies on two frames, and what follows from the frames.

    `beside` are runs by name with their measures. The last column has the numbers of `flags`.
    """
    sources = [_source("", [printed.record for printed in figures.index.values()])]
    sources += [_source(f" ({name})", measures) for name, measures in beside]
    cite = f"As printed in {figures.cite}"
    return [
        Table(
            name="frames",
            title=f"How many frames off? (T1, Tables 1-3) {cite}",
            columns=("reader, format", *_columns("ED", "ES"), *_parsed_column(beside), "flags"),
            rows=tuple(_frames(sources, flags, with_parsed=bool(beside))),
            notes=(
                "Mean absolute error in frames; Random: one uniform guess per video, while a "
                "reader's answer is the mean of its passes, which as a rule errs less than one "
                "guess even where every pass is a guess. The format says what was "
                "asked for, in which order; - was not. Clips as they are; the ventricle red; the "
                "red region without medical words. Human readers differ by 2 to 4 frames "
                "(Zolgharni 2017, cited there).",
            ),
        ),
        Table(
            name="two_frames",
            title=f"Which of two frames? (T2, Table 4) {cite}",
            columns=("reader", *_columns("ED", "ES"), *_parsed_column(beside), "flags"),
            rows=tuple(_two_frames(sources, flags, with_parsed=bool(beside))),
            notes=("Share of right answers; Random: a coin.",),
        ),
        Table(
            name="following",
            title=f"Do the answers follow the clip, and what EF do they give? {cite}",
            columns=("reader, format", *_columns("R² ED", "R² ES", "EF")),
            rows=tuple(_following(sources)),
            notes=(
                "R²: squared correlation of answers and truths, n/a where it is not defined. EF: "
                "mean absolute error of the ejection fraction, percentage points. Spreads are in "
                "the tables: 1-4 over seeds, 5-7 over videos.",
            ),
        ),
    ]


def _source(suffix: str, measures: Sequence[Measure]) -> _Source:
    return _Source(
        suffix,
        {(one.reader, one.measure, frozenset(one.by.items())): one for one in measures},
    )


def _columns(*names: str) -> tuple[str, ...]:
    return tuple(f"{name} {context}" for name in names for context in _SHORT)


def _parsed_column(beside: Sequence[object]) -> tuple[str, ...]:
    return ("parsed",) if beside else ()


def _frames(
    sources: Sequence[_Source], flags: Sequence[Flag], *, with_parsed: bool
) -> Iterator[tuple[str, ...]]:
    for source in sources:
        guesses = [_chance(source, phase, context) for phase in PHASES for context in CONTEXTS]
        marks = "" if source.suffix else _marks("Random", _FRAMES, flags)
        yield (f"Random{source.suffix}", *guesses, *[""] * with_parsed, marks)
        for reader in source.readers:
            for wanted, phases in FORMATS.items():
                by = {"task": "t1", "format": wanted}
                cells = [
                    _number(source, reader, "mae", by | {"context": context, "phase": phase})
                    if phase in phases
                    else _NOT_ASKED
                    for phase in PHASES
                    for context in CONTEXTS
                ]
                if set(cells) <= {_NOT_ASKED, _NOT_KNOWN}:
                    continue
                parsed = [_parsed(source, reader, by)] * with_parsed
                own = "" if source.suffix else _marks(reader, _FRAMES, flags)
                yield (f"{reader}{source.suffix} {wanted}", *cells, *parsed, own)


def _two_frames(
    sources: Sequence[_Source], flags: Sequence[Flag], *, with_parsed: bool
) -> Iterator[tuple[str, ...]]:
    for source in sources:
        for reader in ("Random", *source.readers):
            cells = []
            for phase, wanted in _ONE_PHASE.items():
                for context in CONTEXTS:
                    by = {"task": "t2", "context": context, "format": wanted, "phase": phase}
                    if reader == "Random":
                        cells.append(_coin(source, by))
                    else:
                        cells.append(_number(source, reader, "accuracy", by, places=3))
            if set(cells) == {_NOT_KNOWN}:
                continue
            by = {"task": "t2"}
            parsed = ["" if reader == "Random" else _parsed(source, reader, by)] * with_parsed
            own = "" if source.suffix else _marks(reader, ("4",), flags)
            yield (f"{reader}{source.suffix}", *cells, *parsed, own)


def _following(sources: Sequence[_Source]) -> Iterator[tuple[str, ...]]:
    for source in sources:
        for reader in source.readers:
            for wanted, phases in FORMATS.items():
                by = {"task": "t1", "format": wanted}
                cells = [
                    _number(source, reader, "r2", by | {"context": context, "phase": phase})
                    if phase in phases
                    else _NOT_ASKED
                    for phase in PHASES
                    for context in CONTEXTS
                ]
                cells += [
                    _number(source, reader, "ef_mae", by | {"context": context})
                    if source.asked(reader, "ef_mae", by | {"context": context})
                    else _NOT_ASKED
                    for context in CONTEXTS
                ]
                if not set(cells) <= {_NOT_ASKED, _NOT_KNOWN}:
                    yield (f"{reader}{source.suffix} {wanted}", *cells)
        for reader, measure, facts in source.records:
            if measure == "ef_mae" and dict(facts) == {"task": "t1"}:
                value = _number(source, reader, measure, dict(facts))
                yield (f"{reader}{source.suffix}", *[_NOT_ASKED] * 6, value, *[_NOT_ASKED] * 2)


def _number(
    source: _Source, reader: str, measure: str, by: Mapping[str, str], places: int = 2
) -> str:
    value = source.value(reader, measure, by)
    return _NOT_KNOWN if value is None else f"{value:,.{places}f}"


def _chance(source: _Source, phase: str, context: str) -> str:
    """Uniform guesses: one row of the paper, and the same for all readers of a run."""
    for (_, measure, by), record in source.records.items():
        known = dict(by)
        same = (known.get("phase"), known.get("context")) == (phase, context)
        if measure == "chance_mae" and same and record.value is not None:
            return f"{record.value:.2f}"
    return _NOT_KNOWN


def _coin(source: _Source, by: Mapping[str, str]) -> str:
    """The paper has one coin for all; a run has one for every question."""
    for (_, measure, facts), record in source.records.items():
        if measure == "chance_accuracy" and set(facts) <= set(by.items()):
            return _NOT_KNOWN if record.value is None else f"{record.value:.1f}"
    return _NOT_KNOWN


def _parsed(source: _Source, reader: str, by: Mapping[str, str]) -> str:
    """The smallest and the largest share of replies with an answer; the paper prints none."""
    shares = [
        record.value
        for (who, measure, facts), record in source.records.items()
        if (who, measure) == (reader, "parsed")
        and set(by.items()) <= set(facts)
        and record.value is not None
    ]
    if not shares:
        return _NOT_KNOWN
    low, high = (f"{100 * share:.1f}" for share in (min(shares), max(shares)))
    return f"{low} %" if low == high else f"{low}-{high} %"


def _marks(reader: str, tables: Sequence[str], flags: Sequence[Flag]) -> str:
    return ", ".join(
        str(number)
        for number, flag in enumerate(flags, 1)
        if flag.reader == reader and not set(tables).isdisjoint(flag.tables)
    )
