"""One self-contained page per run: tables and figures, what they stand on, and what they are not.

No script, no network, nothing from a model unescaped.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from html import escape
from pathlib import Path
from typing import Final, TypeAlias

from overread.case import Figure, Table
from overread.records import RunRecord
from overread.report._figures import inline_svg

__all__ = ["DISCLAIMER", "write_page"]

DISCLAIMER = "Evaluation software, not a medical device; a passed gate is not a clearance."

Exhibit: TypeAlias = Table | Figure

_PICTURES: Final = "This page shows pictures of the data set: keep it where the data set may be."

# A table of more rows is folded, unless it is the first thing on the page.
_FOLDED_FROM: Final = 25

# Longer cells are lines of text and wrap, unless they are numbers.
_LINE: Final = 40

# Value, spread, interval, n, p, q, and what the judges behind it are worth.
_NUMBER: Final = re.compile(
    r"([+-]?\d\S*)( ± \S+)?( \[[^]]*\])?( n=\d+†?| \d+/\d+†?)?"
    r"( p[=<]\S+)?( q[=<]\S+)?( †| judge [a-z ]+)?",
    flags=re.ASCII,
)

_STYLE = """
:root { color-scheme: light dark; }
body { font: 16px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 76rem; padding: 0 1rem; }
h1 { font-size: 1.6rem; } h2 { font-size: 1.2rem; margin: 3rem 0 .75rem; }
h2.run { font-size: 1.4rem; border-top: 2px solid #8886; padding-top: 1rem; }
nav ol { columns: 22rem; column-gap: 2.5rem; padding-left: 1.8rem; font-size: .9rem; }
nav a { color: inherit; }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; font-size: .93rem; }
th, td { text-align: left; padding: .35rem .9rem .35rem 0; border-bottom: 1px solid #8886;
  white-space: nowrap; vertical-align: top; }
th { font-weight: 600; white-space: normal; }
td.text { white-space: normal; overflow-wrap: anywhere; min-width: 15rem; max-width: 28rem; }
th:first-child, td:first-child { position: sticky; left: 0; background: Canvas;
  min-width: 12rem; white-space: normal; overflow-wrap: anywhere; }
.numbered th:first-child, .numbered td:first-child { min-width: 0; }
small { display: block; opacity: .75; }
figure { margin: 0; }
svg { display: block; max-width: 100%; height: auto; overflow: visible;
  font-family: Arial, "Liberation Sans", Helvetica, sans-serif; }
svg.wide { min-width: 30rem; }
summary { cursor: pointer; padding: .35rem 0; }
code { font-size: .72rem; overflow-wrap: anywhere; }
.note, figcaption { color: #595959; font-size: .9rem; max-width: 60rem; margin: .3rem 0; }
@media (prefers-color-scheme: dark) { .note, figcaption { color: #b0b0b0; } }
@media (max-width: 40rem) {
  th:first-child, td:first-child { min-width: 7.5rem; }
  td.text { min-width: 11rem; }
}
@media print { details > * { display: block; } nav { display: none; } }
"""


def write_page(path: Path, runs: Sequence[tuple[RunRecord, Sequence[Exhibit]]]) -> None:
    """Write `report.html` of one or more runs, each with its exhibits."""
    path.write_text(_page(runs), encoding="utf-8")


def _page(runs: Sequence[tuple[RunRecord, Sequence[Exhibit]]]) -> str:
    title = f"Overread: {', '.join(record.benchmark for record, _ in runs)}"
    alone = len(runs) == 1
    first, parts = 1, []
    for record, exhibits in runs:
        parts.append(_part(record, exhibits, first, alone=alone))
        first += len(exhibits)
    body = "\n".join(parts)
    return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; img-src data:;
  style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'">
<title>{escape(title)}</title>
<style>{_STYLE}</style>
</head>
<body>
<h1>{escape(title)}</h1>
<p class="note">{DISCLAIMER}</p>
{body}
</body>
</html>
"""


def _part(record: RunRecord, exhibits: Sequence[Exhibit], first: int, *, alone: bool) -> str:
    """One run: what it stands on, what a reader should know, a list of exhibits, the exhibits."""
    facts = (
        f"{record.n_cases} cases of {record.dataset} ({record.policy}), edition {record.edition}, "
        f"Overread {record.overread}."
    )
    lines = [*record.remarks, *([_PICTURES] if record.pictures and record.policy != "open" else [])]
    remarks = "".join(f'<p class="note">{escape(line)}</p>\n' for line in lines)
    heading = "" if alone else f'<h2 class="run">{escape(record.benchmark)}</h2>\n'
    body = "\n".join(
        _section(number, exhibit, folded=number > first)
        for number, exhibit in enumerate(exhibits, first)
    )
    return f"""{heading}<p>{escape(facts)}</p>
{remarks}{_readers(record)}{_contents(exhibits, first)}
{body}"""


def _readers(record: RunRecord) -> str:
    """How each reader was asked: what it was shown, and how it decoded."""
    rows = []
    for reader in record.readers:
        traits = reader.traits
        heat = "the benchmark's" if traits.temperature is None else str(traits.temperature)
        clips = traits.clips if traits.modality != "text" else "none"
        asked = f"{reader.asked - reader.unanswered} of {reader.asked}"
        rows.append((reader.name, reader.spec, traits.modality, clips, heat, asked))
    if not rows:
        return ""
    columns = ("reader", "spec", "modality", "clips as", "temperature", "answered")
    head = "".join(f'<th scope="col">{column}</th>' for column in columns)
    body = "\n".join("<tr>" + "".join(map(_cell, row)) + "</tr>" for row in rows)
    return f"""<details class="asked"><summary>How {len(rows)} readers were asked</summary>
<div class="scroll" tabindex="0"><table>
<thead><tr>{head}</tr></thead>
<tbody>
{body}
</tbody>
</table></div>
<p class="note">Whether pictures and frames really arrive, overread sight tells.</p>
</details>
"""


def _contents(exhibits: Sequence[Exhibit], first: int) -> str:
    """Links to the exhibits, where there is more than one."""
    if len(exhibits) < 2:
        return ""
    links = "\n".join(
        f'<li><a href="#exhibit-{number}">{escape(exhibit.title)}</a></li>'
        for number, exhibit in enumerate(exhibits, first)
    )
    return f"<nav><ol>\n{links}\n</ol></nav>"


def _section(number: int, exhibit: Exhibit, *, folded: bool) -> str:
    made = _figure(exhibit, number) if isinstance(exhibit, Figure) else _table(exhibit, folded)
    return f"""<section id="exhibit-{number}">
<h2>{escape(exhibit.title)}</h2>
{made}
</section>"""


def _beneath(exhibit: Exhibit) -> str:
    notes = "".join(f'<p class="note">{escape(note)}</p>\n' for note in exhibit.notes)
    return f'{notes}<p class="note"><code>{escape(exhibit.signature)}</code></p>'


def _figure(figure: Figure, number: int) -> str:
    return f"""<figure>
<div class="scroll" tabindex="0">{inline_svg(figure, f"drawing-{number}")}</div>
<figcaption>{_beneath(figure)}</figcaption>
</figure>"""


def _table(table: Table, folded: bool) -> str:
    head = "".join(f'<th scope="col">{escape(column)}</th>' for column in table.columns)
    rows = "\n".join("<tr>" + "".join(map(_cell, row)) + "</tr>" for row in table.rows)
    numbered = all(row[0].isdecimal() for row in table.rows)
    grid = f"""<div class="scroll" tabindex="0"><table{' class="numbered"' if numbered else ""}>
<thead><tr>{head}</tr></thead>
<tbody>
{rows}
</tbody>
</table></div>
{_beneath(table)}"""
    if not folded or len(table.rows) < _FOLDED_FROM:
        return grid
    return f"<details><summary>{len(table.rows)} rows</summary>\n{grid}\n</details>"


def _cell(text: str) -> str:
    """A number with what it stands on below it, so that ten measures fit a screen; or text."""
    number = _NUMBER.fullmatch(text)
    if not number or text == number[1]:
        wraps = ' class="text"' if len(text) > _LINE else ""
        return f"<td{wraps}>{escape(text)}</td>"
    value, *below = (escape(part.strip()) for part in number.groups(default=""))
    return f"<td>{value}{''.join(f'<small>{part}</small>' for part in below if part)}</td>"
