"""The printed tables as exhibits, with what is wrong beside them; the paper's headline with the
readers of runs below it, and what may be compared of them.

`beside.toml` in a paper's folder declares the last two: tables laid out as the paper has them, and
words about a run by how it was asked and counted. A paper without a layout takes that of our
summary.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from itertools import chain, compress
from typing import Final, TypeAlias

import msgspec

from overread.case import BadInput, Measure, Table
from overread.published._figures import (
    SYSTEMS,
    Column,
    Figures,
    Flag,
    Part,
    figures,
    inconsistencies,
    paper_file,
)

_NOT_ASKED: Final = "-"
_NOT_KNOWN: Final = "n/a"
_JUDGED: Final = "! what the judges of the run are worth is in its own report."


# ---------------------------------------------------------------- tables as they are printed


def printed_tables(benchmark: str, name: str) -> list[Table]:
    """A table of the paper, in as many parts as it has kinds of rows."""
    found = figures(benchmark)
    if name not in found.tables:
        raise BadInput(
            f"--table {name}: {found.cite} has none that is kept here by that name. "
            f"The names are {', '.join(found.tables)}."
        )
    flags = [flag for flag in inconsistencies(benchmark) if name in flag.tables]
    if name == SYSTEMS:
        return [_systems(found, flags)]
    parts = [part for part in found.parts if part.table == name]
    inside = {reader for part in parts for reader in _readers(part)}
    # What concerns no row of the table stands below its first part.
    others = [flag for flag in flags if flag.reader not in inside] if inside else []
    return [
        _table(found, part, flags, others if number == 0 else [])
        for number, part in enumerate(parts)
    ]


def marked(reader: str, flags: Sequence[Flag], tables: Sequence[str] = ()) -> str:
    """The numbers of the flags that concern a row, of some tables or of all."""
    return ", ".join(
        str(number)
        for number, flag in enumerate(flags, 1)
        if flag.reader == reader and (not tables or not set(tables).isdisjoint(flag.tables))
    )


def numbered(flags: Sequence[Flag]) -> Iterator[str]:
    """The flags as notes, by the numbers that stand beside the rows."""
    for number, flag in enumerate(flags, 1):
        yield f"[{number}] {flag}"


def _readers(part: Part) -> list[str]:
    """The readers of a part's rows; none where cases are counted."""
    if "reader" not in part.keys:
        return []
    return [line[part.keys.index("reader")] for line in part.lines]


def _table(found: Figures, part: Part, flags: Sequence[Flag], others: Sequence[Flag]) -> Table:
    lines, headings = part.lines, (*part.keys, *map(_heading, part.columns))
    if "reader" not in part.keys:
        columns, rows, own = headings, tuple(map(tuple, lines)), list(flags)
    else:
        readers = _readers(part)
        own = [flag for flag in flags if flag.reader in readers or flag in others]
        columns = (*headings, "flags")
        rows = tuple(
            (*line, marked(reader, own)) for line, reader in zip(lines, readers, strict=True)
        )
    return Table(
        name=part.table,
        title=f"{part.where}: {part.title}",
        columns=columns,
        rows=rows,
        notes=(_unit(part), *numbered(own)),
        signature=f"printed in {found.cite}",
    )


def _heading(column: Column) -> str:
    of = "" if column.reader is None else f" of {column.reader}"
    facts = "".join(f" {key} {word}" for key, word in column.by.items() if key != "versus")
    groups = "" if column.over is None else f" {column.over} {'/'.join(column.groups)}"
    return f"{column.measure}{of}{facts}{groups}"


def _unit(part: Part) -> str:
    if all(column.measure == "cases" for column in part.columns):
        return "Cases, as printed."
    if part.note:
        return f"As printed. {part.note}"
    percent = any((column.unit or part.unit) == "percent" for column in part.columns)
    return "Percent, as printed." if percent else "As printed."


def _systems(found: Figures, flags: Sequence[Flag]) -> Table:
    def parameters(total: float | None, active: float | None) -> str:
        if total is None:
            return "undisclosed"
        return f"{total:g}" + ("" if active is None else f" ({active:g} active)")

    facts: dict[str, list[str]] = {
        "reader": [system.name for system in found.systems],
        "class": [system.group for system in found.systems],
        "modality": [str(system.modality) for system in found.systems],
        "parameters (billion)": [parameters(s.params_b, s.active_b) for s in found.systems],
        "category": [system.category for system in found.systems],
        "flags": [marked(system.name, flags) for system in found.systems],
    }
    if all(system.params_b is None for system in found.systems):
        del facts["parameters (billion)"]  # in no table of the paper
    if not any(facts["category"]):
        del facts["category"]
    return Table(
        name=SYSTEMS,
        title="The systems",
        columns=tuple(facts),
        rows=tuple(zip(*facts.values(), strict=True)),
        notes=tuple(numbered(flags)),
        signature=f"printed in {found.cite}",
    )


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

_Key: TypeAlias = tuple[str, frozenset[tuple[str, str]]]
_Records: TypeAlias = Mapping[_Key, Measure]


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
    # What follows the names of readers, and their records: the paper's first, then each run's.
    sources = [("", _by_reader(one.record for one in found.index.values()))]
    sources += [(f" ({name})", _by_reader(measures)) for name, measures in beside]
    labelled = any(one.label for _, measures in beside for one in measures)
    made = []
    for layout in comparison(found.benchmark).layouts:
        share = layout.share.heading if layout.share else ""
        headings = (column.heading for column in layout.columns)
        columns = (layout.first, *headings, share, "judges", "flags")
        behind = (beside and share, beside and layout.judges, layout.tables)
        there = [*[True] * (1 + len(layout.columns)), *map(bool, behind)]
        rows = [row for source in sources for row in _rows(layout, *source, flags)]
        made.append(
            Table(
                name=layout.name,
                title=f"{layout.title} As printed in {found.cite}",
                columns=tuple(compress(columns, there)),
                rows=tuple(tuple(compress(row, there)) for row in rows),
                notes=(*layout.notes, *[_JUDGED] * (layout.judges and labelled)),
            )
        )
    return made


def _by_reader(measures: Iterable[Measure]) -> dict[str, dict[_Key, Measure]]:
    readers: dict[str, dict[_Key, Measure]] = {}
    for one in measures:
        if one.reader:
            readers.setdefault(one.reader, {})[one.measure, frozenset(one.by.items())] = one
    return readers


def _rows(
    layout: Layout, suffix: str, readers: Mapping[str, _Records], flags: Sequence[Flag]
) -> Iterator[tuple[str, ...]]:
    """A row's name, its numbers, and behind them shares, judges and flags, shown or not."""

    def marks(reader: str) -> str:
        return "" if suffix else marked(reader, flags, layout.tables)

    if guess := layout.guess:
        cells = [_guessed(readers, guess, column) for column in layout.columns]
        if guess.always or set(cells) != {_NOT_KNOWN}:
            yield (f"{guess.reader}{suffix}", *cells, "", "", marks(guess.reader))
    for reader, records in readers.items():
        for row in layout.rows:
            cells = [_cell(layout, column, row, records) for column in layout.columns]
            if set(cells) <= {_NOT_ASKED, _NOT_KNOWN}:
                continue
            labels = (records.get(_key(column, row)) for column in layout.columns)
            judges = dict.fromkeys(one.label for one in labels if one is not None and one.label)
            name = f"{reader}{suffix}" + (f" {row.words}" if row.words else "")
            share = _shares(layout.share, row, records)
            yield (name, *cells, share, "; ".join(judges), marks(reader))


def _key(column: LayoutColumn, row: LayoutRow) -> _Key:
    by = row.by if row.alone else column.by | row.by
    return column.measure, frozenset(by.items())


def _cell(layout: Layout, column: LayoutColumn, row: LayoutRow, records: _Records) -> str:
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


def _guessed(readers: Mapping[str, _Records], guess: Guess, column: LayoutColumn) -> str:
    """The first record that contradicts the column in nothing.

    The paper has one row of guesses for all readers; a run has one for every question.
    """
    for record in chain.from_iterable(records.values() for records in readers.values()):
        agrees = all(column.by.get(key, word) == word for key, word in record.by.items())
        if record.measure == guess.measure and agrees and record.value is not None:
            return f"{record.value:{guess.format}}"
    return _NOT_KNOWN


def _shares(share: Share | None, row: LayoutRow, records: _Records) -> str:
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
