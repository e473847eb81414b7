"""A paper's headline with the readers of runs below it, and what may be compared of them.

`beside.toml` in a paper's folder declares both: tables laid out as the paper has them, and words
about a run by how it was asked and counted. A paper without a layout takes that of our summary.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from typing import Final, NamedTuple, TypeAlias

import msgspec

from overread.case import Measure, Table
from overread.published._figures import Figures, Flag, paper_file
from overread.published._printed_tables import marked

_NOT_ASKED: Final = "-"
_NOT_KNOWN: Final = "n/a"
_JUDGED: Final = "! what the judges of the run are worth is in its own report."


# ---------------------------------------------------------------- what the data files hold


class LayoutColumn(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The record that a column shows, what one is printed as, and how.

    `asked_where_known`: without a record it was not asked for, rather than is not known.
    """

    heading: str
    measure: str
    by: dict[str, str] = {}
    scale: float | None = None
    format: str = ""
    asked_where_known: bool = False


class LayoutRow(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A row of each reader: what follows its name, and what its records have beside the columns'.

    `asked` names, for a key of the columns, what this row was asked for. `alone` is the heading of
    the one column that has a number, whose record has no other key than those of `by`.
    """

    words: str = ""
    by: dict[str, str] = {}
    asked: dict[str, tuple[str, ...]] = {}
    alone: str = ""


class Guess(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The first row: what guessing gives, which is nobody's in a run; `always` if not known too."""

    reader: str
    measure: str
    format: str
    always: bool = False


class Share(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A column of runs only: the smallest and the largest share over all records like these."""

    heading: str
    measure: str
    by: dict[str, str] = {}


class Layout(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One table of a headline. `tables` are those of the paper whose flags it marks; `judges` adds
    a column with what a run's judges are worth."""

    name: str
    title: str
    notes: tuple[str, ...]
    columns: tuple[LayoutColumn, ...]
    tables: tuple[str, ...] = ()
    first: str = "reader"
    rows: tuple[LayoutRow, ...] = (LayoutRow(),)
    scale: float = 100.0
    format: str = ".2f"
    guess: Guess | None = None
    share: Share | None = None
    judges: bool = False


class Remark(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Words about a run of which one of `when` is true: each key is one of those words.

    `shown`: it says what the readers were shown, in one sentence with others.
    """

    words: str
    when: tuple[dict[str, tuple[str, ...]], ...]
    shown: bool = False


class Comparison(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What is said of the printed rows, and of a run beside them by its edition and by remarks.

    `shows` has what each edition shows its readers, which a label such as
    `corrected+window=two_thirds` changes; `frames` names the part of a run's signature that says
    how many frames were shown.
    """

    printed: str
    editions: dict[str, str]
    remarks: tuple[Remark, ...]
    shows: dict[str, dict[str, str]] = {}
    frames: str = ""
    layouts: tuple[Layout, ...] = ()


@cache
def comparison(benchmark: str) -> Comparison:
    """What a run may stand beside in a benchmark's paper, and how."""
    return msgspec.convert(tomllib.loads(paper_file(benchmark, "beside.toml")), Comparison)


# ---------------------------------------------------------------- words about a run


def remarks_of(
    benchmark: str, run: str, edition: str, asked: str, signature: str, *, command: str
) -> Iterator[str]:
    """What a run beside the paper showed, where that differs, and how to come nearer to the paper.

    `edition` is the label of the one it was measured under, `asked` of the one its readers were
    asked under, empty for an import; `command` is the run's name in a command.
    """
    kept = comparison(benchmark)
    facts = _facts(kept, edition, asked, signature)
    holding = [
        remark
        for remark in kept.remarks
        if any(all(facts.get(key) in words for key, words in one.items()) for one in remark.when)
    ]
    words = [(one.shown, one.words.format(run=command, **facts)) for one in holding]
    if shown := [text for in_sentence, text in words if in_sentence]:
        yield f"{run}, shown: {'; '.join(shown)}."
    yield from (text for in_sentence, text in words if not in_sentence)


def _facts(kept: Comparison, edition: str, asked: str, signature: str) -> dict[str, str]:
    name, *changed = asked.split("+")
    facts = dict(kept.shows.get(name, {}))
    facts |= dict(change.partition("=")[::2] for change in changed)
    facts |= {"measured": edition.partition("+")[0], "asked": "yes" if asked else "no"}
    if kept.frames:
        stated = dict(part.split(":", 1) for part in signature.split("|") if ":" in part)
        frames = stated.get(kept.frames, _NOT_ASKED)
        facts["frames"] = frames.replace("-", " to ")
        lengths = "one" if frames.isdecimal() else "several"
        facts["lengths"] = "none" if frames == _NOT_ASKED else lengths
    return facts


# ---------------------------------------------------------------- the headline

Records: TypeAlias = Mapping[tuple[str, frozenset[tuple[str, str]]], Measure]


class _Source(NamedTuple):
    """The paper, or a run: what follows its readers' names, and their records, reader by reader."""

    suffix: str
    readers: Mapping[str, Records]

    def of_measure(self, measure: str) -> Iterator[Measure]:
        for records in self.readers.values():
            yield from (one for one in records.values() if one.measure == measure)


def headline_tables(found: Figures) -> tuple[str, ...]:
    """The tables of the paper whose figures, and whose flags, its headline shows."""
    layouts = comparison(found.benchmark).layouts
    return tuple(name for layout in layouts for name in layout.tables) or found.tables[:1]


def headline_of(
    found: Figures, beside: Sequence[tuple[str, Sequence[Measure]]], flags: Sequence[Flag]
) -> list[Table]:
    """The paper's own headline with runs (name, measures) beside it; empty where it has none.

    The last column has the numbers of `flags`.
    """
    sources = [_source("", [one.record for one in found.index.values()])]
    sources += [_source(f" ({name})", measures) for name, measures in beside]
    labelled = any(one.label for _, measures in beside for one in measures)
    return [
        Table(
            name=layout.name,
            title=f"{layout.title} As printed in {found.cite}",
            columns=tuple(_headings(layout, with_runs=bool(beside))),
            rows=tuple(
                row
                for source in sources
                for row in _rows(layout, source, flags, with_runs=bool(beside))
            ),
            notes=(*layout.notes, *[_JUDGED] * (layout.judges and labelled)),
        )
        for layout in comparison(found.benchmark).layouts
    ]


def _source(suffix: str, measures: Sequence[Measure]) -> _Source:
    readers: dict[str, dict[tuple[str, frozenset[tuple[str, str]]], Measure]] = {}
    for one in measures:
        if one.reader:
            readers.setdefault(one.reader, {})[one.measure, frozenset(one.by.items())] = one
    return _Source(suffix, readers)


def _headings(layout: Layout, *, with_runs: bool) -> Iterator[str]:
    yield layout.first
    yield from (column.heading for column in layout.columns)
    if with_runs and layout.share is not None:
        yield layout.share.heading
    if with_runs and layout.judges:
        yield "judges"
    if layout.tables:
        yield "flags"


def _rows(
    layout: Layout, source: _Source, flags: Sequence[Flag], *, with_runs: bool
) -> Iterator[tuple[str, ...]]:
    def ended(reader: str, share: str, judges: str) -> tuple[str, ...]:
        """What stands behind the numbers of a row."""
        shares = [share] * (with_runs and layout.share is not None)
        labels = [judges] * (with_runs and layout.judges)
        marks = "" if source.suffix else marked(reader, flags, layout.tables)
        return (*shares, *labels, *[marks] * bool(layout.tables))

    if layout.guess is not None:
        guess = layout.guess
        cells = [_guessed(source, guess, column) for column in layout.columns]
        if guess.always or set(cells) != {_NOT_KNOWN}:
            yield (f"{guess.reader}{source.suffix}", *cells, *ended(guess.reader, "", ""))
    for reader, records in source.readers.items():
        for row in layout.rows:
            cells = [_cell(layout, column, row, records) for column in layout.columns]
            if set(cells) <= {_NOT_ASKED, _NOT_KNOWN}:
                continue
            labels = (records.get(_key(column, row)) for column in layout.columns)
            judges = dict.fromkeys(one.label for one in labels if one is not None and one.label)
            name = f"{reader}{source.suffix}" + (f" {row.words}" if row.words else "")
            share = _shares(layout.share, row, records)
            yield (name, *cells, *ended(reader, share, "; ".join(judges)))


def _key(column: LayoutColumn, row: LayoutRow) -> tuple[str, frozenset[tuple[str, str]]]:
    by = row.by if row.alone else column.by | row.by
    return column.measure, frozenset(by.items())


def _cell(layout: Layout, column: LayoutColumn, row: LayoutRow, records: Records) -> str:
    others = (row.alone or column.heading) != column.heading
    if others or any(column.by.get(key, words[0]) not in words for key, words in row.asked.items()):
        return _NOT_ASKED
    record = records.get(_key(column, row))
    if record is None and column.asked_where_known:
        return _NOT_ASKED
    if record is None or record.value is None:
        return _NOT_KNOWN
    scale = layout.scale if column.scale is None else column.scale
    return f"{scale * record.value:{column.format or layout.format}}{'!' if record.label else ''}"


def _guessed(source: _Source, guess: Guess, column: LayoutColumn) -> str:
    """The first record that contradicts the column in nothing.

    The paper has one row of guesses for all readers; a run has one for every question.
    """
    for record in source.of_measure(guess.measure):
        agrees = all(column.by.get(key, word) == word for key, word in record.by.items())
        if agrees and record.value is not None:
            return f"{record.value:{guess.format}}"
    return _NOT_KNOWN


def _shares(share: Share | None, row: LayoutRow, records: Records) -> str:
    """The paper prints none."""
    if share is None:
        return ""
    wanted = (share.by | row.by).items()
    shares = [
        record.value
        for record in records.values()
        if record.measure == share.measure and wanted <= record.by.items()
        if record.value is not None
    ]
    if not shares:
        return _NOT_KNOWN
    low, high = (f"{100 * part:.1f}" for part in (min(shares), max(shares)))
    return f"{low} %" if low == high else f"{low}-{high} %"
