"""Exhibits in a terminal, and the progress of a run."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from overread.case import Table, printable
from overread.engine import Tally
from overread.readers import ReaderSpec

if TYPE_CHECKING:
    from rich.text import Text

Shown = list[tuple[str, Tally, int, ReaderSpec]]


def print_table(table: Table) -> None:
    """Print an exhibit with its signature. Cells are text, never markup, and steer no terminal.

    A pipe gets the table as wide as it is; in a terminal too narrow for it, the columns are printed
    in groups, each led by the first column.
    """
    from rich.console import Console
    from rich.table import Table as Grid

    width = None if sys.stdout.isatty() else max(100, sum(_widths(table)))
    console = Console(highlight=False, width=width)
    console.print(_words(table.title, "bold"))
    for group in _groups(_widths(table), console.width):
        grid = Grid(box=None, pad_edge=False)
        for number in group:
            grid.add_column(_words(table.columns[number]), overflow="fold")
        for row in table.rows:
            grid.add_row(*(_words(row[number]) for number in group))
        console.print(grid)
    for note in table.notes:
        console.print(_words(note, "dim"), soft_wrap=True)
    console.print(_words(table.signature, "dim"), soft_wrap=True)


def _words(text: str, style: str = "") -> Text:
    """Text as it is, line by line, without what would steer a terminal."""
    from rich.text import Text

    return Text("\n".join(map(printable, text.split("\n"))), style=style)


def _widths(table: Table) -> list[int]:
    columns = zip(table.columns, *table.rows, strict=True)
    return [max(map(len, column)) + 2 for column in columns]


def _groups(widths: list[int], room: int) -> list[list[int]]:
    """Column numbers in groups that fit; the first column leads each."""
    groups, used = [[0]], widths[0]
    for number, width in enumerate(widths[1:], 1):
        if used + width > room and len(groups[-1]) > 1:
            groups.append([0])
            used = widths[0]
        groups[-1].append(number)
        used += width
    return groups


@contextmanager
def watch(shown: Shown) -> Iterator[None]:
    """Show the tallies while readers are asked: bars in a terminal, plain lines elsewhere."""
    if sys.stderr.isatty():
        with _bars(shown):
            yield
    else:
        with _lines(shown):
            yield


@contextmanager
def _bars(shown: Shown) -> Iterator[None]:
    from rich.console import Console
    from rich.progress import BarColumn, Progress, ProgressColumn, Task, TextColumn
    from rich.text import Text

    class Facts(ProgressColumn):
        def render(self, task: Task) -> Text:
            _, tally, total, spec = shown[int(task.id)]
            return Text(describe(tally, total, spec))

    progress = Progress(
        TextColumn("{task.description}", markup=False),
        BarColumn(bar_width=24),
        Facts(),
        console=Console(stderr=True),
        refresh_per_second=5,
    )
    for name, _, total, _ in shown:
        progress.add_task(printable(name), total=total)
    finished = threading.Event()

    def refresh() -> None:
        while not finished.wait(0.2):
            for number, (_, tally, _, _) in enumerate(shown):
                progress.update(progress.task_ids[number], completed=tally.settled)

    thread = threading.Thread(target=refresh, daemon=True)
    with progress:
        thread.start()
        try:
            yield
        finally:
            finished.set()
            thread.join()
            for number, (_, tally, _, _) in enumerate(shown):
                progress.update(progress.task_ids[number], completed=tally.settled)


@contextmanager
def _lines(shown: Shown, every: float = 10.0) -> Iterator[None]:
    finished = threading.Event()

    def report() -> None:
        while not finished.wait(every):
            _print_line(shown)

    thread = threading.Thread(target=report, daemon=True)
    thread.start()
    try:
        yield
    finally:
        finished.set()
        thread.join()
        _print_line(shown)


def _print_line(shown: Shown) -> None:
    """One line for all readers together: a log of many hours is read by a person."""
    said = [f"{name}: {describe(tally, total, spec)}" for name, tally, total, spec in shown]
    print(printable("; ".join(said)), file=sys.stderr, flush=True)


def describe(tally: Tally, total: int, spec: ReaderSpec) -> str:
    """One line: done of total, rate, errors, tokens, cost, time left."""
    elapsed = max(time.monotonic() - tally.began, 1e-9)
    rate = (tally.answered + tally.failed) / elapsed
    parts = [f"{tally.settled:,}/{total:,}"]
    if tally.kept:
        parts.append(f"{tally.kept:,} kept")
    if tally.shared:
        parts.append(f"{tally.shared:,} shared")
    if tally.answered:
        parts.append(f"{rate:,.0f}/s" if rate >= 10 else f"{rate:.1f}/s")
    if tally.failed:
        parts.append(f"{tally.failed:,} failed")
    if tally.retried:
        parts.append(f"{tally.retried:,} retries")
    if tally.tokens_in or tally.tokens_out:
        parts.append(f"{tally.tokens_in + tally.tokens_out:,} tokens")
    cost = spec.cost(tally.tokens_in, tally.tokens_out)
    if cost is not None:
        parts.append(f"cost {cost:,.2f}")
    if tally.waiting:
        parts.append("waiting for another process that asks the rest")
    left = total - tally.settled
    if left > 0 and rate > 0:
        parts.append(f"{_duration(left / rate)} left")
    return ", ".join(parts)


def _duration(seconds: float) -> str:
    minutes, rest = divmod(int(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"
