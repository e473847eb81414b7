"""Exhibits in a terminal, and the progress of a run."""

from __future__ import annotations

import os
import re
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final, TypeAlias

from overread.case import Table, printable
from overread.typeset import Cell, count_of, fitted, heading_of, is_numeric, short

if TYPE_CHECKING:
    from rich.console import Console
    from rich.text import Text

    from overread.engine import Tally
    from overread.readers import ReaderSpec

Shown: TypeAlias = "list[tuple[str, Tally, int, ReaderSpec]]"


NARROW: Final = 100
"""Columns that everything fits where nobody says how many there are: a pipe, a log."""
# What a word of a verdict looks like in a terminal. The sign stands for those who see no colour.
_LOOKS: Final = {
    "yes": ("green", "✓"),
    "pass": ("green", "✓"),
    "PASS": ("green", "✓"),
    "ok": ("green", "✓"),
    "no": ("red", "✗"),
    "FAIL": ("red", "✗"),
    "WRONG": ("red", "✗"),
    "in part": ("yellow", "~"),
    "cannot tell": ("yellow", "?"),
    "CANNOT TELL": ("yellow", "?"),
    "THE DATA CANNOT TELL": ("yellow", "?"),
    "skipped": ("dim", "·"),
}


def print_table(table: Table, *, wide: bool = False) -> None:
    """Print an exhibit with its signature. Cells are text, never markup, and steer no terminal.

    As wide as the terminal, or 100 columns where there is none: the columns that tell most, with n
    in the head; what is left out is named. `wide` prints every column with every n: as wide as they
    are into a pipe, in groups that are each led by the first column in a terminal.
    """
    from rich.console import Console

    at_a_terminal = sys.stdout.isatty()
    room = None if at_a_terminal else sum(_widths(table)) if wide else NARROW
    console = Console(highlight=False, width=room and max(room, NARROW), emoji=False)
    console.print(_words(table.title, "bold"))
    left_out = _print_whole(console, table) if wide else _print_fitted(console, table)
    for note in (*left_out, *table.notes):
        console.print(_words(note, "dim"), soft_wrap=wide)
    for line in table.signature.split("\n"):
        signature = line if wide else "\n  ".join(_folded(line, console.width))
        console.print(_words(signature, "dim"), soft_wrap=True)


def _print_whole(console: Console, table: Table) -> list[str]:
    from rich.table import Table as Grid

    for group in _groups(_widths(table), console.width):
        grid = Grid(box=None, pad_edge=False)
        for number in group:
            grid.add_column(_words(heading_of(table.columns[number])), overflow="fold")
        for row in table.rows:
            grid.add_row(*(_words(row[number]) for number in group))
        console.print(grid)
    return []


def _print_fitted(console: Console, table: Table) -> list[str]:
    """The columns that fit; intervals stand below their numbers where more columns do so."""
    from rich.table import Table as Grid

    layout, stacked = fitted(table, console.width, len, gap=2), False
    if set(layout.left_out) & set(table.headline):
        tighter = fitted(table, console.width, len, gap=2, cell_width=_stacked_width)
        stacked = len(tighter.columns) > len(layout.columns)
        layout = tighter if stacked else layout
    grid = Grid(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    cells = list(zip(*table.rows, strict=True)) or [()] * len(table.columns)
    for place, width in zip(layout.columns, layout.widths, strict=True):
        lines = [*_wrapped(heading_of(table.columns[place]), int(width)), count_of(cells[place])]
        grid.add_column(
            _words("\n".join(line for line in lines if line)),
            justify="right" if is_numeric(cells[place]) else "left",
            width=int(width),
            overflow="fold",
        )
    for row in table.rows:
        grid.add_row(*(_shown(row[place], stacked=stacked) for place in layout.columns))
    console.print(grid)
    if not layout.left_out:
        return []
    return [f"Not shown: {', '.join(layout.left_out)}. --wide prints every column."]


def _shown(cell: str, *, stacked: bool) -> Text:
    """A cell, coloured and with a sign where it is a word of a verdict and somebody looks."""
    if stacked and isinstance(cell, Cell) and cell.interval:
        return _words(f"{cell.value}{cell.after}\n{cell.interval}")
    return verdict_word(cell) if cell in _LOOKS else _words(short(cell))


def verdict_word(word: str) -> Text:
    """`✓ pass` in green at a terminal; the word alone in a pipe, which others read."""
    colour, sign = _LOOKS.get(word, ("", ""))
    return _words(f"{sign} {word}" if sign and sys.stdout.isatty() else word, colour)


def print_verdict(word: str, rest: str) -> None:
    """A line that begins with a verdict."""
    from rich.console import Console

    console = Console(highlight=False, emoji=False, width=None if sys.stdout.isatty() else NARROW)
    console.print(verdict_word(word), _words(rest), sep="", soft_wrap=not sys.stdout.isatty())


def _stacked_width(cell: str) -> int:
    if isinstance(cell, Cell) and cell.interval:
        return max(len(cell.value + cell.after), len(cell.interval))
    return len(short(cell))


def _wrapped(heading: str, width: int) -> list[str]:
    from textwrap import wrap

    return wrap(heading, width) or [""]


def _folded(signature: str, width: int) -> list[str]:
    """A signature on lines that fit, broken between its parts."""
    lines: list[str] = [""]
    for part in re.split(r"(?<=[|,])", signature):
        if lines[-1] and len(lines[-1]) + len(part) > width - 2:
            lines.append("")
        lines[-1] += part
    return lines


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
