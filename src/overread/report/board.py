"""Two pages for a board: the matrix and what the gate says, then what may not be concluded.

One file that opens from disk, made to be printed on two sheets of A4. What does not fit is not made
smaller: lines are left out, and the sheet says how many and where they are.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

from overread.report.document import DISCLAIMER
from overread.report.gate import Gated, verdict
from overread.report.markup import asset, hash_of, shown
from overread.report.matrix import columns_of, matrix, title_of, word
from overread.report.reported import Reported, allowed

# What a sheet has room for, in lines of its own print.
_ROWS: Final = 40
_RULINGS: Final = 5
_LIMIT_LINES: Final = 66
_LINE: Final = 88  # characters
_LONGEST: Final = 400


def write_board(
    path: Path, runs: Sequence[Reported], *, title: str = "", gated: Gated | None = None
) -> None:
    """Write the print of some runs."""
    path.write_text(board_html(runs, title=title, gated=gated), encoding="utf-8", newline="\n")


def board_html(runs: Sequence[Reported], *, title: str = "", gated: Gated | None = None) -> str:
    """The print as text; the same bytes for the same runs."""
    runs = [allowed(run) for run in runs]
    style = asset("matrix.css") + asset("board.css")
    policy = (
        f"default-src 'none'; style-src {hash_of(style)}; img-src data:; base-uri 'none'; "
        "form-action 'none'"
    )
    fits, left = _fitting(runs, _ROWS - (2 * _RULINGS if gated else 0))
    return asset("board.html").format(
        rules=policy,
        title=shown(title or title_of(runs)),
        style=style,
        gate=_gate(gated),
        matrix=matrix(fits, gated, links=False),
        left=_left(left, "models have no room here: they are on the page of the report"),
        limits="\n".join(_limits(runs)),
        runs=shown("; ".join(_facts(runs))),
        disclaimer=DISCLAIMER,
    )


def _fitting(runs: Sequence[Reported], room: int) -> tuple[list[Reported], int]:
    """The runs with as many models as a sheet has room for, in the order the runs name them."""
    from msgspec.structs import replace

    kept: list[Reported] = []
    names = list(dict.fromkeys(one.name for run in runs for one in run.record.readers))
    height: dict[str, int] = dict.fromkeys(names, 0)
    # A model of several runs has a row of two lines, one of a single run three under its question.
    columns = columns_of(runs)
    many = [name for name in names if _count(name, runs) > 1 or len(columns) == 1]
    fits = set[str]()
    for name in many:
        if room >= 2:
            fits.add(name)
            room -= 2
    for column in columns if len(columns) > 1 else []:
        used = 0
        for reader in column.run.record.readers:
            if reader.name not in many and used + 3 <= room:
                fits.add(reader.name)
                used += 3
    for run in runs:
        readers = tuple(one for one in run.record.readers if one.name in fits)
        headlines = [one for one in run.headlines if one.reader in fits]
        kept.append(replace(run, record=replace(run.record, readers=readers), headlines=headlines))
    return kept, len(height) - len(fits)


def _count(name: str, runs: Sequence[Reported]) -> int:
    return sum(any(one.name == name for one in run.record.readers) for run in runs)


def _left(count: int, words: str) -> str:
    return f'<p class="note">{count} more {words}.</p>' if count else ""


def _facts(runs: Sequence[Reported]) -> Iterator[str]:
    for run in runs:
        record = run.record
        yield (
            f"{record.benchmark}: {record.n_cases} cases of {record.dataset}, edition "
            f"{record.edition}, {len(record.readers)} models"
        )


def _gate(gated: Gated | None) -> str:
    """The verdict, and the rules that are not met, the worst first."""
    if gated is None:
        return '<p class="gate">No policy was given: nothing here is a release decision.</p>'
    unmet = [one for one in gated.rulings if one.outcome in ("fail", "cannot tell")]
    unmet.sort(key=lambda one: one.outcome != "fail")
    lines = "".join(
        f"<li>{word(one.outcome)} <bdi>{shown(one.reader)}</bdi>, {shown(one.rule)}: "
        f"{shown(one.found[:_LINE])}; demanded {shown(one.demanded[:_LINE])}</li>\n"
        for one in unmet[:_RULINGS]
    )
    rest = _left(len(unmet) - len(unmet[:_RULINGS]), "rulings are not met")
    return (
        f'<p class="gate">{word(gated.outcome)} <strong>{shown(gated.title)}</strong>: '
        f"{shown(verdict(gated))}</p>\n<ul>{lines}</ul>{rest}"
    )


def _limits(runs: Sequence[Reported]) -> Iterator[str]:
    """What may not be concluded: of all runs together, then run by run, as far as it fits."""
    said: dict[str, list[str]] = {}
    for run in runs:
        for line in run.limitations:
            said.setdefault(line, []).append(run.record.benchmark)
    room = _LIMIT_LINES
    # What holds of the most runs first; within that in the order in which they say it.
    order = sorted(said, key=lambda line: -len(set(said[line])))
    shared = [line for line in order if len(said[line]) == len(runs)]
    groups = [("Of all of it", shared)] if len(runs) > 1 and shared else []
    for run in runs:
        own = [line for line in run.limitations if not (groups and line in shared)]
        groups.append((run.record.benchmark, own))
    fair = max(1, room // max(1, len(groups)))
    for number, (name, lines) in enumerate(groups):
        # What one group does not need goes to those after it.
        allowance = max(fair, room // max(1, len(groups) - number))
        kept, used = [], 1
        for line in lines:
            height = 1 + min(len(line), _LONGEST) // _LINE
            if used + height <= allowance:
                kept.append(line)
                used += height
        room -= used
        items = "".join(f"<li>{shown(line[:_LONGEST])}</li>\n" for line in kept)
        more = len(lines) - len(kept)
        rest = f"<li>and {more} more, on the page of the report</li>" if more else ""
        if kept or more:
            yield f"<h3>{shown(name)}</h3>\n<ul>{items}{rest}</ul>"
