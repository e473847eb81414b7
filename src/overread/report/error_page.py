"""A page on which a person labels errors and saves them as the csv that measures read.

One file, no network: the policy in its head allows this page's own script and style and nothing
else. Texts of cases and models are escaped; the script only ever reads them as data.
"""

from __future__ import annotations

import re
from base64 import b64encode
from collections.abc import Iterable, Sequence
from hashlib import sha256
from html import escape
from typing import Final

import msgspec

from overread.benchmarks.base import ErrorRow, ErrorSheet
from overread.judging.sheet import guarded

_CONTROL: Final = re.compile("[\x00-\x08\x0b-\x1f\x7f\ud800-\udfff]")

_STYLE: Final = """
:root { color-scheme: light dark; --edge: #8886; --soft: #595959; --done: #1a7f4b; }
@media (prefers-color-scheme: dark) { :root { --soft: #b0b0b0; --done: #5fd39a; } }
* { box-sizing: border-box; }
body { font: 16px/1.5 system-ui, sans-serif; margin: 0 auto; max-width: 60rem;
  padding: 0 1rem 6rem; }
h1 { font-size: 1.4rem; margin: 1.5rem 0 .5rem; }
header { position: sticky; top: 0; background: Canvas; border-bottom: 1px solid var(--edge);
  padding: .6rem 0; display: flex; flex-wrap: wrap; gap: .5rem .8rem; align-items: center; }
header output { font-variant-numeric: tabular-nums; margin-right: auto; }
#told { flex-basis: 100%; margin: 0; font-size: .9rem; } #told:empty { display: none; }
button, select, textarea, .file { font: inherit; color: inherit; }
button, .file { border: 1px solid var(--edge); border-radius: .4rem; padding: .25rem .8rem;
  background: transparent; cursor: pointer; }
.file input { position: absolute; width: 1px; height: 1px; opacity: 0; }
.file:focus-within, button:focus-visible, select:focus-visible, textarea:focus-visible {
  outline: 2px solid #3b82f6; outline-offset: 2px; }
article { border: 1px solid var(--edge); border-left: 4px solid var(--edge); border-radius: .4rem;
  padding: .8rem 1rem; margin: 1rem 0; scroll-margin-top: 6.5rem; }
article.done { border-left-color: var(--done); }
h2 { font-size: 1rem; margin: 0 0 .4rem; overflow-wrap: anywhere; }
h2 small, .note, dt { color: var(--soft); font-weight: normal; font-size: .9rem; }
p, dl { margin: .4rem 0; } dd { margin: 0 0 .4rem; }
.text { white-space: pre-wrap; overflow-wrap: anywhere; }
.reply { max-height: 16rem; overflow: auto; border-left: 2px solid var(--edge);
  padding-left: .7rem; }
.fill { display: flex; flex-wrap: wrap; gap: .6rem; }
.fill label { display: flex; flex-direction: column; font-size: .9rem; flex: 1 1 14rem;
  min-width: 0; }
select { padding: .3rem; width: 100%; } textarea { width: 100%; min-height: 2.3rem; }
code { font-size: .72rem; overflow-wrap: anywhere; }
@media print { header { display: none; } .reply { max-height: none; } }
"""

# Cells come guarded from the page; what a person types is guarded here in the same way.
_SCRIPT: Final = r"""
"use strict";
const {columns, rows, file, spellings} = JSON.parse(document.getElementById("data").textContent);
const at = Object.fromEntries(columns.map((name, place) => [name, place]));
const cards = [...document.querySelectorAll("article")];
const labels = cards.map(card => card.querySelector("select"));
const notes = cards.map(card => card.querySelector("textarea"));
const count = document.getElementById("count"), told = document.getElementById("told");
let saved = true;

function show() {
  let done = 0;
  labels.forEach((label, place) => {
    cards[place].classList.toggle("done", label.value !== "");
    done += label.value !== "";
  });
  count.textContent = `${done} of ${labels.length} labelled`;
}
function guarded(text) {
  const plain = text.replace(/\r\n?/g, "\n").replace(/[\x00-\x08\x0b-\x1f\x7f]|\p{Cs}/gu, "\ufffd");
  return /^(?:[\s\ufffd]*[=+\-@\uff1d\uff0b\uff0d\uff20]|[\t\r])/.test(plain) ? "'" + plain : plain;
}
function quoted(cells) {
  return cells.map(cell => '"' + cell.replaceAll('"', '""') + '"').join(",") + "\n";
}
function csv() {
  let text = "\ufeff" + quoted(columns);
  rows.forEach((row, place) => {
    const cells = row.slice();
    cells[at.label] = labels[place].value;
    cells[at.note] = guarded(notes[place].value);
    text += quoted(cells);
  });
  return text;
}
function parsed(text) {
  const found = [];
  let row = [], cell = "", open = false;
  text = text.replace(/^\ufeff/, "").replace(/\r\n?/g, "\n");
  for (let place = 0; place < text.length; place++) {
    const mark = text[place];
    if (open) {
      if (mark !== '"') cell += mark;
      else if (text[place + 1] === '"') { cell += '"'; place++; }
      else open = false;
    } else if (mark === '"') open = true;
    else if (mark === ",") { row.push(cell); cell = ""; }
    else if (mark === "\n") { row.push(cell); found.push(row); row = []; cell = ""; }
    else cell += mark;
  }
  if (cell !== "" || row.length) { row.push(cell); found.push(row); }
  return found;
}
function load(text) {
  const [header = [], ...body] = parsed(text);
  const where = name => header.findIndex(cell => cell.trim() === name);
  const [id, reader, label, note] = ["case", "reader", "label", "note"].map(where);
  if (id < 0 || reader < 0 || label < 0) {
    told.textContent = "That file has no columns case, reader and label: nothing was loaded.";
    return;
  }
  const name = (one, two) => JSON.stringify([one.trim(), two.trim()]);
  const places = new Map(rows.map((row, place) => [name(row[at.case], row[at.reader]), place]));
  const words = new Map([...(labels[0]?.options ?? [])].map(one => [one.value, one.value]));
  spellings.forEach(([said, meant]) => words.set(said, meant));
  let taken = 0, strange = 0, unread = 0;
  for (const row of body) {
    if (!row.some(cell => cell.trim())) continue;
    const place = places.get(name(row[id] ?? "", row[reader] ?? ""));
    if (place === undefined) { strange++; continue; }
    const said = (row[label] ?? "").trim().replace(/^'/, "").toLowerCase().split(/\s+/).join(" ");
    if (words.has(said)) { labels[place].value = words.get(said); taken++; } else unread++;
    if (note >= 0 && row[note]) notes[place].value = row[note];
  }
  told.textContent = `${taken} rows loaded` + (strange ? `, ${strange} not on this page` : "") +
    (unread ? `, ${unread} with a label that is none of the words` : "") + ".";
  show();
}
document.getElementById("save").addEventListener("click", () => {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([csv()], {type: "text/csv;charset=utf-8"}));
  link.download = file;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10000);
  saved = true;
});
document.getElementById("load").addEventListener("change", async event => {
  const file = event.target.files[0];
  if (file) load(await file.text());
  event.target.value = "";
});
document.getElementById("next").addEventListener("click", () => {
  const open = labels.find(label => label.value === "");
  if (open) { open.focus(); open.closest("article").scrollIntoView(); }
});
labels.forEach((label, place) => {
  label.addEventListener("keydown", event => {
    const step = event.key === "Enter" ? (event.shiftKey ? -1 : 1) : 0;
    const other = step ? labels[place + step] : undefined;
    if (!other) return;
    event.preventDefault();
    other.focus();
    cards[place + step].scrollIntoView();
  });
});
document.addEventListener("input", () => { saved = false; show(); });
addEventListener("beforeunload", event => { if (!saved) event.preventDefault(); });
show();
"""


def error_page(sheet: ErrorSheet, rows: Sequence[ErrorRow], signature: str) -> str:
    """The page for these errors; labels and notes they already have are filled in."""
    words = "".join(
        f"<dt>{escape(word)}</dt><dd>{escape(is_)}</dd>" for word, is_ in sheet.words.items()
    )
    most = len(sheet.words)
    data = {
        "columns": ErrorRow.__struct_fields__,
        "rows": [[guarded(cell) for cell in msgspec.structs.astuple(row)] for row in rows],
        "file": sheet.file,
        "spellings": list(sheet.spellings.items()),
    }
    policy = (
        f"default-src 'none'; script-src {_hash(_SCRIPT)}; style-src {_hash(_STYLE)}; "
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
<style>{_STYLE}</style>
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
<script type="application/json" id="data">{_json(data)}</script>
<script>{_SCRIPT}</script>
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


def _json(data: object) -> str:
    """JSON that can end no script element and begin no other."""
    text = msgspec.json.encode(data).decode()
    for mark in "<>&":
        text = text.replace(mark, f"\\u{ord(mark):04x}")
    return text.replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")


def _hash(text: str) -> str:
    return f"'sha256-{b64encode(sha256(text.encode()).digest()).decode()}'"
