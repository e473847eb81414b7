"""One self-contained page per run: the tables, what they stand on, and what they are not.

No script, no network, nothing from a model unescaped.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from html import escape
from pathlib import Path

from overread.case import Table
from overread.records import RunRecord

__all__ = ["DISCLAIMER", "write_page"]

DISCLAIMER = "Evaluation software, not a medical device; a passed gate is not a clearance."

_STYLE = """
:root { color-scheme: light dark; }
body { font: 16px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 76rem; padding: 0 1rem; }
h1 { font-size: 1.6rem; } h2 { font-size: 1.2rem; margin-top: 2.5rem; }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; }
th, td { text-align: left; padding: .35rem .9rem .35rem 0; border-bottom: 1px solid #8886;
  white-space: nowrap; vertical-align: top; }
th { font-weight: 600; }
small { display: block; opacity: .7; }
code { font-size: .85em; overflow-wrap: anywhere; }
.note { color: #666; font-size: .9em; max-width: 60rem; }
@media (prefers-color-scheme: dark) { .note { color: #aaa; } }
"""


def write_page(path: Path, record: RunRecord, tables: Sequence[Table]) -> None:
    """Write `report.html` for one run."""
    path.write_text(_page(record, tables), encoding="utf-8")


def _page(record: RunRecord, tables: Sequence[Table]) -> str:
    facts = (
        f"{record.n_cases} cases of {record.dataset} ({record.policy}), edition {record.edition}, "
        f"Overread {record.overread}."
    )
    body = "\n".join(_table(table) for table in tables)
    return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy"
  content="default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'">
<title>Overread: {escape(record.benchmark)}</title>
<style>{_STYLE}</style>
</head>
<body>
<h1>Overread: {escape(record.benchmark)}</h1>
<p>{escape(facts)}</p>
<p class="note">{DISCLAIMER}</p>
{body}
</body>
</html>
"""


def _table(table: Table) -> str:
    head = "".join(f'<th scope="col">{escape(column)}</th>' for column in table.columns)
    rows = "\n".join(
        "<tr>" + "".join(f"<td>{_cell(cell)}</td>" for cell in row) + "</tr>" for row in table.rows
    )
    notes = "".join(f'<p class="note">{escape(note)}</p>' for note in table.notes)
    return f"""<h2>{escape(table.title)}</h2>
<div class="scroll"><table>
<thead><tr>{head}</tr></thead>
<tbody>
{rows}
</tbody>
</table></div>
{notes}
<p><code>{escape(table.signature)}</code></p>"""


def _cell(text: str) -> str:
    """A number with its interval and n below it, so that a row of ten measures fits a screen."""
    number = re.fullmatch(r"(\S+) (\[[^]]*\]) (n=\d+)", text)
    if not number:
        return escape(text)
    value, interval, n = (escape(part) for part in number.groups())
    return f"{value}<small>{interval}</small><small>{n}</small>"
