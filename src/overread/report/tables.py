"""Tables of a page: cells escaped, numbers above what they stand on, long ones folded.

They can be read as they are; report.js makes their columns sort and long ones filter.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from overread.report._text import shown

# A table of more rows is folded, unless it is the first of its run.
FOLDED_FROM: Final = 25

# Longer cells are lines of text and wrap, unless they are numbers.
_LINE: Final = 40

# Value, spread, interval, n, p, q, and what the judges behind it are worth.
_NUMBER: Final = re.compile(
    r"([+-]?\d\S*)( ± \S+)?( \[[^]]*\])?( n=\d+†?| \d+/\d+†?)?"
    r"( p[=<]\S+)?( q[=<]\S+)?( †| judge [a-z ]+)?",
    flags=re.ASCII,
)


def grid(columns: Sequence[str], rows: Sequence[Sequence[str]], label: str) -> str:
    """A table that scrolls by itself where the window is narrow; `label` names it."""
    head = "".join(f'<th scope="col">{shown(column)}</th>' for column in columns)
    body = "\n".join("<tr>" + "".join(map(_cell, row)) + "</tr>" for row in rows)
    numbered = all(row[0].isdecimal() for row in rows if row)
    kind = "sorts numbered" if numbered else "sorts"
    return f"""<div class="scroll" tabindex="0" role="region" aria-label="{shown(label)}">
<table class="{kind}">
<thead><tr>{head}</tr></thead>
<tbody>
{body}
</tbody>
</table></div>"""


def unfolding(rows: int, inside: str, *, folded: bool) -> str:
    """The same, folded where it is long."""
    if not folded or rows < FOLDED_FROM:
        return inside
    return f'<details class="long"><summary>{rows} rows</summary>\n{inside}\n</details>'


def _cell(text: str) -> str:
    """A number with what it stands on below it, so that ten measures fit a screen; or text."""
    number = _NUMBER.fullmatch(text)
    if not number or text == number[1]:
        wraps = ' class="text"' if len(text) > _LINE else ""
        return f"<td{wraps}>{shown(text)}</td>"
    value, *below = (shown(part.strip()) for part in number.groups(default=""))
    return f"<td>{value}{''.join(f'<small>{part}</small>' for part in below if part)}</td>"
