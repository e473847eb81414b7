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
    most = len(sheet.words)
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
    cards = "\n".join(_card(number, row, sheet.words) for number, row in enumerate(rows, start=1))
    return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<title>Overread: errors to label</title>
<style>{style}</style>
</head>
<body>
<h1>Errors to label</h1>
<p>Give each wrong answer the one word that says best why it is wrong. The keys 1 to {most}
choose it, Enter goes on and Shift Enter back. Nothing leaves this page: save the csv, and
load it again to go on.</p>
<details><summary>The words</summary><dl>{words}</dl></details>
<header><output id="count"></output>
<button type="button" id="next">Next open</button>
<label class="file">Load csv<input type="file" id="load" accept=".csv,text/csv"></label>
<button type="button" id="save">Save csv</button>
<p id="told" role="status"></p></header>
<main>
{cards}
</main>
<p class="note"><code>{_shown(signature)}</code></p>
<script type="application/json" id="data">{as_json(data)}</script>
<script>{script}</script>
</body>
</html>
"""


def _card(number: int, row: ErrorRow, words: Iterable[str]) -> str:
    chosen = "".join(
        f'<option value="{word}"{" selected" if word == row.label else ""}>{place} {word}</option>'
        for place, word in enumerate(words, start=1)
    )
    about = ", ".join(part for part in (row.dimension, row.reader) if part)
    return f"""<article>
<h2>{number}. {_shown(row.case)} <small>{_shown(about)}</small></h2>
<p class="text">{_shown(row.question)}</p>
<p class="text">{_shown(row.options)}</p>
<dl><dt>Image</dt><dd class="text">{_shown(row.images)}</dd>
<dt>Right</dt><dd class="text">{_shown(row.right)}</dd>
<dt>Given</dt><dd class="text">{_shown(row.given or "no option that could be read")}</dd>
<dt>Reply</dt><dd class="text reply" tabindex="0">{_shown(row.reply)}</dd></dl>
<div class="fill"><label>Error<select name="label"><option value="">not labelled</option>{chosen}
</select></label>
<label>Note<textarea name="note" rows="1" maxlength="2000">{_shown(row.note)}</textarea></label>
</div>
</article>"""


def _shown(text: str) -> str:
    return escape(_CONTROL.sub("\ufffd", text.replace("\r\n", "\n").replace("\r", "\n")))
