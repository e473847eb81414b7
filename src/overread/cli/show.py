"""Exhibits in a terminal, and the progress of a run."""

from __future__ import annotations

import os
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, TypeAlias

from overread.case import Table, printable

if TYPE_CHECKING:
    from rich.text import Text

    from overread.engine import Tally
    from overread.readers import ReaderSpec

Shown: TypeAlias = "list[tuple[str, Tally, int, ReaderSpec]]"


def print_table(table: Table) -> None:
    """Print an exhibit with its signature. Cells are text, never markup, and steer no terminal.

    A pipe gets the table as wide as it is; in a terminal too narrow for it, the columns are printed
    in groups, each led by the first column.
    """
    if not sys.stdout.isatty():  # to import what knows terminals takes longer than most commands
        print("\n".join(_plain_lines(table)))
        return
    from rich.console import Console
    from rich.table import Table as Grid

    console = Console(highlight=False)
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


def _plain_lines(table: Table) -> Iterator[str]:
    """The table for a pipe: every column as wide as its widest cell."""
    rows = [[_printable_lines(cell) for cell in row] for row in (table.columns, *table.rows)]
    columns = zip(*rows, strict=True)
    widths = [max(_width(line) for cell in column for line in cell) for column in columns]
    yield from _printable_lines(table.title)
    for row in rows:
        for at in range(max(map(len, row))):
            cells = [cell[at] if at < len(cell) else "" for cell in row]
            padded = (
                f"{one}{' ' * (to - _width(one))}" for one, to in zip(cells, widths, strict=True)
            )
            yield "  ".join(padded)
    for note in (*table.notes, table.signature):
        yield from _printable_lines(note)


def _printable_lines(text: str) -> list[str]:
    return [printable(line) for line in text.split("\n")]


def _width(text: str) -> int:
    """Columns of a terminal that a text takes: letters of some scripts take two, marks none."""
    if text.isascii():
        return len(text)
    from unicodedata import combining, east_asian_width

    return sum(0 if combining(one) else 1 + (east_asian_width(one) in "WF") for one in text)


def write_no_more() -> None:
    """What is still to be printed goes nowhere: who read our output had enough, or it failed."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)


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
def watch(shown: Shown, every: float = 10.0) -> Iterator[None]:
    """Show the tallies while readers are asked: bars in a terminal, plain lines elsewhere."""
    if sys.stderr.isatty():
        with _bars(shown):
            yield
    else:
        with _again_and_again(every, lambda: _print_line(shown)):
            yield


@contextmanager
def _again_and_again(every: float, show: Callable[[], None]) -> Iterator[None]:
    """Do it in a thread after so many seconds each, and once at the end."""
    finished = threading.Event()

    def keep_showing() -> None:
        while not finished.wait(every):
            show()

    thread = threading.Thread(target=keep_showing, daemon=True)
    thread.start()
    try:
        yield
    finally:
        finished.set()
        thread.join()
        show()


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

    def refresh() -> None:
        for number, (_, tally, _, _) in enumerate(shown):
            progress.update(progress.task_ids[number], completed=tally.settled)

    with progress, _again_and_again(0.2, refresh):
        yield


def _print_line(shown: Shown) -> None:
    """One line for all readers together: a log of many hours is read by a person."""
    said = [f"{name}: {describe(tally, total, spec)}" for name, tally, total, spec in shown]
    print(printable("; ".join(said)), file=sys.stderr, flush=True)


def describe(tally: Tally, total: int, spec: ReaderSpec) -> str:
    """One line: done of total, rate, errors, tokens, cost, time left."""
    elapsed = max(time.monotonic() - tally.began, 1e-9)
    rate = (tally.answered + tally.failed) / elapsed
    speed = f"{rate:,.0f}/s" if rate >= 10 else f"{rate:.1f}/s"
    tokens = tally.tokens_in + tally.tokens_out
    cost = spec.cost(tally.tokens_in, tally.tokens_out)
    said = {
        f"{tally.settled:,}/{total:,}": True,
        f"{tally.kept:,} kept": tally.kept,
        f"{tally.shared:,} shared": tally.shared,
        speed: tally.answered,
        f"{tally.failed:,} failed": tally.failed,
        f"{tally.retried:,} retries": tally.retried,
        f"{tokens:,} tokens": tokens,
        f"cost {cost:,.2f}" if cost is not None else "": cost is not None,
        "waiting for another process that asks the rest": tally.waiting,
    }
    parts = [words for words, holds in said.items() if holds]
    left = total - tally.settled
    if left > 0 and rate > 0:
        minutes, seconds = divmod(int(left / rate), 60)
        hours, minutes = divmod(minutes, 60)
        duration = f"{hours}:{minutes:02}" if hours else f"{minutes}"
        parts.append(f"{duration}:{seconds:02} left")
    return ", ".join(parts)
