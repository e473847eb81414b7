"""What a page is made of: text that is never markup and hides nothing, tables, scripts by hash.

What changes the direction of text, or has no shape, is named instead: ⟨U+202E⟩. Tables can be read
as they are; report.js makes their columns sort and long ones filter.
"""

from __future__ import annotations

import re
from base64 import b64encode
from collections.abc import Sequence
from hashlib import sha256
from html import escape
from importlib.resources import files
from typing import Any, Final

import msgspec

from overread import viewer
from overread.typeset import heading_of

# Controls but tab and line feed, changes of direction, marks without width, halves of characters.
# Joiners are left alone: Persian and Indic words are written with them. elements.js has the same.
_HIDDEN: Final = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u2069\ufeff"
    "\ufff9-\ufffb\ud800-\udfff]"
)
_MARKUP: Final = re.compile("[&<>\"']")
_HALVES: Final = re.compile("[\ud800-\udfff]")
# A table of so many rows has a field that filters them.
LONG_FROM: Final = 25

_PLAIN: Final = re.compile(r"[<>]?[+-]?\d[\d,]*(\.\d+)?(e[+-]?\d+)?[°†‡*§!%]?$", re.ASCII)
_NUMBERS: Final = ' class="num"'
# What stands where there is no number.
_NO_NUMBER: Final = frozenset({"n/a", "-"})

# Longer cells are lines of text and wrap, unless they are numbers.
_LINE: Final = 40

# Value, spread, interval, n, p, q, what the judges behind it are worth, and the pooled number.
_NUMBER: Final = re.compile(
    r"([+-]?\d\S*)( ± \S+)?( \[[^]]*\]°?)?( n=\d+†?| \d+/\d+†?)?"
    r"( p[=<]\S+)?( q[=<]\S+)?( †| judge [a-z ]+)?(?:( pooled \S+)( \[[^]]*\]))?",
    flags=re.ASCII,
)


def shown(text: str) -> str:
    """Text for an element or a quoted attribute."""
    plain = text.replace("\r\n", "\n")
    return escaped(_HIDDEN.sub(lambda found: f"⟨U+{ord(found[0]):04X}⟩", plain))


def escaped(text: str) -> str:
    """Text without the characters that markup is made of; most of a page has none of them."""
    return escape(text) if _MARKUP.search(text) else text


def as_json(value: Any) -> str:
    """JSON that cannot end the script element it stands in."""
    try:
        written = msgspec.json.encode(value).decode()
    except (UnicodeEncodeError, TypeError):  # halves of characters, or a text that is more
        written = msgspec.json.encode(whole(value)).decode()
    return re.sub("[<>&\u2028\u2029]", lambda found: f"\\u{ord(found[0]):04x}", written)


def whole(value: Any) -> Any:
    """The same without halves of characters, which no encoding has."""
    if isinstance(value, str):
        return _HALVES.sub("\ufffd", value)
    if isinstance(value, dict):
        return {whole(key): whole(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [whole(one) for one in value]
    return value


# ---------------------------------------------------------------- scripts and styles


def asset(name: str) -> str:
    """The text of one of our scripts and styles."""
    return (files("overread.report") / "assets" / name).read_text(encoding="utf-8")


def hash_of(text: str) -> str:
    """How a policy names a script or a style that stands in the page."""
    return f"'sha256-{b64encode(sha256(text.encode()).digest()).decode()}'"


def _scripts() -> list[str]:
    """In the order in which they run: report.js last, for it opens the place an address names."""
    return [asset("elements.js"), viewer.script(), asset("cases.js"), asset("report.js")]


def _styles() -> list[str]:
    return [asset("matrix.css"), asset("report.css"), viewer.style(), asset("cases.css")]


def scripts() -> str:
    """The report's own scripts, each an element."""
    return "\n".join(f"<script>{text}</script>" for text in _scripts())


def styles() -> str:
    """The report's own styles, each an element."""
    return "\n".join(f"<style>{text}</style>" for text in _styles())


def content_security(*, served: bool) -> str:
    """Nothing but the report's own scripts and styles, and pictures inside it.

    A served page may also ask the server it came from, for cards and pictures of cases.
    """
    own = " 'self'" if served else ""
    rules = [
        "default-src 'none'",
        f"script-src {' '.join(map(hash_of, _scripts()))}",
        f"style-src {' '.join(map(hash_of, _styles()))}",
        f"img-src data:{own}",
        *(["connect-src 'self'"] if served else []),
        "base-uri 'none'",
        "form-action 'none'",
    ]
    return "; ".join(rules)


# ---------------------------------------------------------------- tables


def grid(columns: Sequence[str], rows: Sequence[Sequence[str]], label: str) -> str:
    """A table that scrolls by itself where the window is narrow; `label` names it."""
    numbers = [
        bool(rows) and all(_is_number(row[at]) for row in rows if at < len(row))
        for at in range(len(columns))
    ]
    head = "".join(
        f'<th scope="col"{_NUMBERS if number else ""}>{shown(heading_of(column))}</th>'
        for column, number in zip(columns, numbers, strict=True)
    )
    body = "\n".join("<tr>" + "".join(map(_cell, row)) + "</tr>" for row in rows)
    numbered = all(row[0].isdecimal() for row in rows if row)
    kind = "sorts numbered" if numbered else "sorts"
    long = " long" if len(rows) >= LONG_FROM else ""
    return f"""<div class="scroll{long}" tabindex="0" role="region" aria-label="{shown(label)}">
<table class="{kind}">
<thead><tr>{head}</tr></thead>
<tbody>
{body}
</tbody>
</table></div>"""


def _is_number(text: str) -> bool:
    """Whether a cell stands to the right in a column of numbers: one, or that there is none."""
    found = _NUMBER.fullmatch(text)
    return text in _NO_NUMBER or (found is not None and _PLAIN.match(found[1]) is not None)


def _cell(text: str) -> str:
    """A number with what it stands on below it, so that ten measures fit a screen; or text."""
    number = _NUMBER.fullmatch(text)
    if not number or text == number[1]:
        if _is_number(text):
            return f"<td{_NUMBERS}>{shown(text)}</td>"
        wraps = ' class="text"' if len(text) > _LINE else ""
        return f"<td{wraps}>{shown(text)}</td>"
    value, *below = (shown(part.strip()) for part in number.groups(default=""))
    return (
        f"<td{_NUMBERS}>{value}{''.join(f'<small>{part}</small>' for part in below if part)}</td>"
    )
