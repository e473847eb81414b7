"""A page on which a person labels errors and saves them as the csv that measures read.

One file, no network: the policy in its head allows this page's own script and style and nothing
else. Texts of cases and models are escaped; the script only ever reads them as data.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from html import escape
from typing import Final

import msgspec

from overread.benchmarks.base import ErrorRow, ErrorSheet
from overread.judging.sheet import guarded
from overread.report.markup import as_json, asset, hash_of

_CONTROL: Final = re.compile("[\x00-\x08\x0b-\x1f\x7f\ud800-\udfff]")


def error_page(sheet: ErrorSheet, rows: Sequence[ErrorRow], signature: str) -> str:
    """The page for these errors; labels and notes they already have are filled in."""
    words = "".join(
        f"<dt>{escape(word)}</dt><dd>{escape(is_)}</dd>" for word, is_ in sheet.words.items()
    )
    script, style = f"\n{asset('errors.js')}", f"\n{asset('errors.css')}"
    data = {
        "columns": ErrorRow.__struct_fields__,
        "rows": [[guarded(cell) for cell in msgspec.structs.astuple(row)] for row in rows],
        "file": sheet.file,
        "spellings": list(sheet.spellings.items()),
    }
    policy = (
        f"default-src 'none'; script-src {hash_of(script)}; style-src {hash_of(style)}; "
        "base-uri 'none'; form-action 'none'"
    )
    cards = [_card(number, row, sheet.words) for number, row in enumerate(rows, start=1)]
    return asset("errors.html").format(
        policy=policy,
        style=style,
        most=len(sheet.words),
        words=words,
        cards="\n".join(cards),
        signature=_shown(signature),
        data=as_json(data),
        script=script,
    )


def _card(number: int, row: ErrorRow, words: Iterable[str]) -> str:
    chosen = "".join(
        f'<option value="{word}"{" selected" if word == row.label else ""}>{place} {word}</option>'
        for place, word in enumerate(words, start=1)
    )
    about = ", ".join(part for part in (row.dimension, row.reader) if part)
    told = msgspec.structs.asdict(row) | {"about": about}
    told["given"] = row.given or "no option that could be read"
    cells = {name: _shown(text) for name, text in told.items()}
    return asset("error.html").strip().format(number=number, chosen=chosen, **cells)


def _shown(text: str) -> str:
    return escape(_CONTROL.sub("\ufffd", text.replace("\r\n", "\n").replace("\r", "\n")))
