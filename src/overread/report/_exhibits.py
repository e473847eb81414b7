"""The exhibits of a run: each a section with notes and signature; a figure with its rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from overread.case import Figure, Table
from overread.report._figures import inline_svg
from overread.report._text import as_json, shown
from overread.report.reported import Exhibit
from overread.report.tables import grid, unfolding


def contents(exhibits: Sequence[Exhibit], run: str) -> str:
    """Links to the exhibits, where there is more than one."""
    if len(exhibits) < 2:
        return ""
    links = "\n".join(
        f'<li><a href="#{run}-{number}">{shown(exhibit.title)}</a></li>'
        for number, exhibit in enumerate(exhibits, 1)
    )
    return f'<nav class="contents" aria-label="exhibits of {run}"><ol>\n{links}\n</ol></nav>'


def section(exhibit: Exhibit, run: str, number: int) -> str:
    """One exhibit under its title; the first of a run is never folded."""
    place = f"{run}-{number}"
    if isinstance(exhibit, Figure):
        made = _figure(exhibit, run, place)
    else:
        made = _table(exhibit, folded=number > 1)
    return f"""<section class="exhibit" id="{place}">
<h3>{shown(exhibit.title)}</h3>
{made}
</section>"""


def _table(table: Table, *, folded: bool) -> str:
    inside = grid(table.columns, table.rows, table.title)
    return unfolding(len(table.rows), f"{inside}\n{_beneath(table)}", folded=folded)


def _figure(figure: Figure, run: str, place: str) -> str:
    rows = [{name: _plain(value) for name, value in row.items()} for row in figure.rows]
    data = ""
    if rows:
        data = f"""
<details class="data" data-rows="data-{place}"><summary>data ({len(rows)} rows)</summary>
<p class="note">The rows are drawn as a table where scripts run.</p></details>
<script type="application/json" id="data-{place}" data-run="{run}" \
data-exhibit="{shown(figure.name)}">{as_json(rows)}</script>"""
    return f"""<figure>
<div class="scroll" tabindex="0" role="region" aria-label="{shown(figure.title)}">\
{inline_svg(figure, f"drawing-{place}")}</div>
<figcaption>{_beneath(figure)}</figcaption>
</figure>{data}"""


def _plain(value: Any) -> Any:
    """A picture is in the drawing already."""
    return "(picture)" if isinstance(value, str) and value.startswith("data:") else value


def _beneath(exhibit: Exhibit) -> str:
    notes = "".join(f'<p class="note">{shown(note)}</p>\n' for note in exhibit.notes)
    return f'{notes}<p class="note"><code>{shown(exhibit.signature)}</code></p>'
