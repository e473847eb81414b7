"""Tables made of columns: readers down, readers within groups, and pairs of readers.

And all exhibits that follow from declared measures alone (`exhibits_of`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import msgspec

from overread.benchmarks.exhibits import cells
from overread.benchmarks.exhibits.cells import NOT_KNOWN, cell
from overread.benchmarks.exhibits.figures import Lane, Panel, dot_figure, lane_rows
from overread.benchmarks.exhibits.index import Column, Index, Wording, Words
from overread.benchmarks.exhibits.style import cast_of
from overread.case import Figure, Measure, Method, Table

if TYPE_CHECKING:
    from overread.measuring.specs import Spec

Shows = Callable[[Measure | None], str]
_MOST_REMARKS = 6
_PAIRS = Words(
    "Models against each other",
    columns=("reader", "versus", "measure", "difference", "rates", "p", "q"),
    headline=("difference", "q", "p"),
    notes=(
        "Paired over the cases of both; p exact or by sign flips, q Benjamini and Hochberg's "
        f"within each measure. {cells.TOLD_APART_MARK}: q < 0.05.",
    ),
)
_PROFILE = "Measures of every model in percent: {said}."


def kept_columns(index: Index, columns: Sequence[Column], **by: Sequence[str]) -> list[Column]:
    """The columns in which some reader has a value, overall or in one of some groups.

    `by` is a key and its groups: `kept_columns(index, columns, task=tasks)`.
    """
    if not by:
        return [column for column in columns if column.stands(index)]
    ((key, groups),) = by.items()
    return [
        column
        for column in columns
        if any(column.known(index, r, **{key: group}) for r in index.readers for group in groups)
    ]


def reader_rows(
    index: Index,
    columns: Sequence[Column],
    *,
    readers: Iterable[str] | None = None,
    shows: Shows | None = None,
    absent: str = NOT_KNOWN,
) -> list[tuple[str, ...]]:
    """A row per reader: its name, and a cell in each column."""
    return [
        (reader, *_cells(index, columns, reader, {}, shows, absent))
        for reader in (index.readers if readers is None else readers)
    ]


def _cells(
    index: Index,
    columns: Sequence[Column],
    reader: str,
    by: Mapping[str, str],
    shows: Shows | None,
    absent: str,
) -> Iterator[str]:
    for column in columns:
        record = column.of(index, reader, **by)
        text = shows(record) if shows else cell(record, unit=column.unit, absent=absent)
        yield cells.with_pooled(text, record, column.unit)


def readers_table(
    index: Index,
    name: str,
    columns: Sequence[Column],
    *notes: str,
    readers: Iterable[str] | None = None,
    shows: Shows | None = None,
    absent: str = NOT_KNOWN,
    only_asked: bool = False,
    more: Iterable[Sequence[str]] = (),
    **facts: Any,
) -> Table | None:
    """Readers down, measures across; None where nobody has any of them.

    `shows` prints a record where that is not `cell`; `only_asked` leaves out readers without any
    record; `more` are rows below the readers'.
    """
    rows = reader_rows(index, columns, readers=readers, shows=shows, absent=absent)
    if only_asked:
        rows = [row for row in rows if set(row[1:]) != {absent}]
    among = index.readers if readers is None else readers
    shown = (column.of(index, reader) for reader in among for column in columns)
    notes = (*notes, *many_groups(index, shown))
    headings = ("reader", *(column.heading for column in columns))
    made = index.table(name, rows, *notes, columns=headings, absent=absent, **facts)
    return made and msgspec.structs.replace(made, rows=(*made.rows, *map(tuple, more)))


def groups_table(
    index: Index,
    name: str,
    key: str,
    groups: Mapping[str, str] | Sequence[str],
    columns: Sequence[Column],
    *notes: str,
    heading: str | None = None,
    shows: Shows | None = None,
    absent: str = NOT_KNOWN,
) -> Table | None:
    """Groups down, every reader within each, measures across.

    `groups` may say how each is printed; `heading` heads their column, the key where left out.
    """
    printed = groups if isinstance(groups, Mapping) else {group: group for group in groups}
    rows = (
        (said, reader, *_cells(index, columns, reader, {key: group}, shows, absent))
        for group, said in printed.items()
        for reader in index.readers
    )
    headings = (heading or key, "reader", *(column.heading for column in columns))
    shown = (
        column.of(index, reader, **{key: group})
        for column in columns
        for reader in index.readers
        for group in printed
    )
    notes = (*notes, *many_groups(index, shown))
    return index.table(name, rows, *notes, columns=headings, first=2, absent=absent)


def group_sizes(
    index: Index, key: str, columns: Iterable[Column], readers: Iterable[str] | None = None
) -> dict[str, int]:
    """The most cases that any of the readers has in each group under a key, in these columns."""
    among = set(index.readers if readers is None else readers)
    sizes: dict[str, int] = {}
    for column in columns:
        for record in index.all(column.measure, key, *(name for name, _ in column.by)):
            own = record.reader in among
            if own and all(record.by[name] == value for name, value in column.by):
                group = record.by[key]
                sizes[group] = max(sizes.get(group, 0), record.n or 0)
    return sizes


# ---------------------------------------------------------------- pairs of readers


def differences(
    index: Index,
    named: Mapping[str, str],
    key: str = "",
    said: Callable[[str, str], str | None] = lambda name, group: f"{name} {group}",
) -> Iterator[tuple[Measure, str]]:
    """The records of each difference between two readers, with what they are of.

    `named` are measures and what each is a difference of; those by one more `key` follow, named by
    `said` from the measure's name and the group, or left out where it gives None.
    """
    for measure, name in named.items():
        for record in index.all(measure, "versus"):
            yield record, name
        for record in index.all(measure, key, "versus") if key else ():
            words = said(name, record.by[key])
            if words is not None:
                yield record, words


def difference_rows(
    found: Iterable[tuple[Measure, str]],
    *,
    beside: bool = False,
    marked: bool = False,
    absent: str = cells.NOT_ASKED,
) -> list[tuple[str, ...]]:
    """A row for each: reader, the other, what of, the difference, p and q.

    `beside` adds the two rates themselves, `marked` the mark of a q below 0.05.
    """
    return [
        (
            record.reader,
            record.by["versus"],
            said,
            cell(record, absent=absent),
            *([both_rates(record)] if beside else []),
            cells.p_value(record.p),
            cells.p_value(record.q) + (cells.told_apart(record) if marked else ""),
        )
        for record, said in found
    ]


def both_rates(record: Measure) -> str:
    """The two rates that a difference stands beside, in percent: `66.2 against 60.5`."""
    if record.beside is None:
        return NOT_KNOWN
    first, second = record.beside
    return f"{100 * first:.1f} against {100 * second:.1f}"


# ---------------------------------------------------------------- below a table


def remarks_on(index: Index, columns: Iterable[Column]) -> Iterator[str]:
    """What was counted as wrong, as nothing, or left out: the records' notes, each once."""
    kept, said = list(columns), dict[str, None]()
    for reader in index.readers:
        for column in kept:
            record = column.known(index, reader)
            if record is not None and record.note:
                said.setdefault(f"{reader}, {column.heading}: {record.note}")
    if said:
        more = len(said) - _MOST_REMARKS
        rest = f"; and {more} more, in measures.json" if more > 0 else ""
        yield f"{'; '.join(list(said)[:_MOST_REMARKS])}{rest}."


def many_groups(index: Index, shown: Iterable[Measure | None]) -> Iterator[str]:
    """How many of a table's intervals chance alone leads astray, and what pooled numbers are.

    Nothing where none of the records shown is pooled.
    """
    records = [record for record in shown if record is not None]
    if any(record.pooled is not None for record in records):
        count = sum(record.low is not None for record in records)
        missed = f"about {round(count / 20)}" if count >= 30 else "one or none"
        yield index.note("many_groups", cells=count, missed=missed)


def interval_notes(index: Index, *measures: str, shared: str = "images") -> Iterator[str]:
    """How the intervals of these measures were made; items may share what `shared` says."""
    records = [r for name in measures for r in index.every(name) if r.low is not None]
    said = dict.fromkeys(_method_words(r.how, shared) for r in records if r.how is not None)
    if said:
        yield f"[95 % interval]: {'; '.join(said)}."
    elif records:
        yield "[95 % interval] over items."


def _method_words(how: Method, shared: str) -> str:
    """How an interval was made, without what differs from cell to cell."""
    if how.kind == "alike":
        return f"Wilson's where all {how.of} agree"
    if how.kind == "wilson":
        wide = how.effect is not None and how.effect != 1
        return f"Wilson's, widened where items share {shared}" if wide else "Wilson's"
    return str(Method(kind=how.kind, of=how.of, boot=how.boot, seed=how.seed))


# ---------------------------------------------------------------- what declared measures give


def exhibits_of(
    specs: Sequence[Spec], measures: Sequence[Measure], signature: str, title: str
) -> Iterator[Table | Figure]:
    """`summary`, `profile`, `by_KEY` for every grouping and `pairs`, as far as there is any."""
    groups = dict.fromkeys(key for spec in specs for key in spec.groups)
    of = {spec.name: spec.name.replace("_", " ") for spec in specs}
    words = {f"by_{key}": Words(f"By {key}", of=of, by=(key,)) for key in groups}
    title = title.replace("{", "{{").replace("}", "}}")  # somebody's own question names no facts
    compared = {f"diff_{name}": said for name, said in of.items()}
    words |= {
        "summary": Words(title, of=of),
        "pairs": msgspec.structs.replace(_PAIRS, of=compared),
    }
    words["profile"] = Words(title, says=_PROFILE, notes=("Bars: 95 % intervals.",), of=of)
    index, says = (
        Index(measures, signature, Wording(words)),
        {spec.name: spec.says for spec in specs},
    )
    columns = [Column(of[spec.name], spec.name, unit=spec.unit) for spec in specs]
    columns = kept_columns(index, columns)
    notes = (
        *(f"{column.heading}: {says[column.measure]}." for column in columns),
        *interval_notes(index, *(column.measure for column in columns)),
        *remarks_on(index, columns),
    )
    pairs = differences(index, compared)
    made = (
        readers_table(index, "summary", columns, *notes),
        _profile(index, columns),
        *(_grouped(index, key, columns) for key in groups),
        index.table("pairs", difference_rows(pairs, beside=True, marked=True), first=3),
    )
    yield from (one for one in made if one is not None)


def _grouped(index: Index, key: str, columns: Sequence[Column]) -> Table | None:
    sizes = group_sizes(index, key, columns)
    printed = {group: f"{group} (n = {n})" for group, n in sizes.items()}
    some = kept_columns(index, columns, **{key: list(sizes)}) if sizes else []
    return groups_table(index, f"by_{key}", key, printed, some)


def _profile(index: Index, columns: Sequence[Column]) -> Figure | None:
    shares = [column for column in columns if column.unit and column.unit.of_shares]
    cast, panels = cast_of(index, shares), [Panel("all cases")]
    lanes = [Lane(column.heading, column=column) for column in shares]
    rows = lane_rows(index, lanes, panels, cast)
    return dot_figure(index, "profile", rows, panels, cast, keys=("measure",))
