"""The page: one file that opens from disk, asks no network and runs no script but its own.

At the top what each reader was found to be, then each run: its exhibits, its cases, the paper's
figures, paragraphs to paste, and what it stands on. And a page on which errors are labelled.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from html import escape
from pathlib import Path
from typing import Any, Final

import msgspec

from overread.benchmarks.base import ErrorRow, ErrorSheet
from overread.benchmarks.registry import questions
from overread.case import Figure, Headline
from overread.records import RunRecord
from overread.report.browser import browser
from overread.report.drawings import Drawings, inline_svg
from overread.report.markup import (
    as_json,
    asset,
    content_security,
    grid,
    hash_of,
    scripts,
    shown,
    styles,
    unfolding,
)
from overread.report.reported import Exhibit, Reported, allowed, warning
from overread.typeset import guarded

DISCLAIMER: Final = "Evaluation software, not a medical device; a passed gate is not a clearance."

# A page stays below 8 MB: cards have what exhibits leave of this, and a little in any case.
_MOST_BYTES: Final = 7_200_000
_LEAST_FOR_CARDS: Final = 400_000
# A sign beside the word: never the colour alone.
_ANSWERS: Final = {
    "yes": ("yes", "✓"),
    "no": ("no", "✕"),
    "in part": ("part", "◐"),
    "cannot tell": ("open", "?"),
}
_ASKED: Final = (
    "reader", "spec", "modality", "clips as", "temperature", "answered", "replies given", "model",
)  # fmt: skip


def write_report(path: Path, runs: Sequence[Reported], *, served: bool = False) -> None:
    """Write the page of one or more runs; `served`, it asks its server for the cases."""
    path.write_text(report_html(runs, served=served), encoding="utf-8", newline="\n")


def report_html(runs: Sequence[Reported], *, served: bool = False) -> str:
    """The page as text; the same bytes for the same runs."""
    runs = [allowed(run) for run in runs]
    places = run_names(runs)
    exhibited = [_exhibited(run, place) for run, place in zip(runs, places, strict=True)]
    left = _MOST_BYTES - sum(len(part.encode(errors="replace")) for part in exhibited)
    room = max(left, _LEAST_FOR_CARDS) // max(1, len(runs))
    names = [run.record.benchmark for run in runs]
    titles = [
        f"{name}, run {number}" if names.count(name) > 1 else name
        for number, name in enumerate(names, 1)
    ]
    listed, parts = [], []
    for number, (run, place, name, part) in enumerate(
        zip(runs, places, titles, exhibited, strict=True), 1
    ):
        cases = browser(run, place, number, room, served=served)
        listed.append(_listed(run, place, name))
        parts.append(_part(run, place, name, part, cases))
    return asset("report.html").format(
        rules=content_security(served=served),
        title=shown(f"Overread: {', '.join(titles)}"),
        disclaimer=DISCLAIMER,
        listed="\n".join(listed),
        readers=reader_cards(runs),
        parts="\n".join(parts),
        headlines=as_json(list(_headlines(runs))),
        styles=styles(),
        scripts=scripts(),
    )


def run_names(runs: Sequence[Reported]) -> list[str]:
    """What each run is called in the page's addresses: its benchmark, and which run of it."""
    met: Counter[str] = Counter()
    names = []
    for run in runs:
        word = re.sub(r"[^\w-]", "-", run.record.benchmark)
        met[word] += 1
        names.append(f"{word}-{met[word]}" if met[word] > 1 else word)
    return names


def _listed(run: Reported, place: str, title: str) -> str:
    """A run with its edition and its data policy, in plain sight; a link to its part."""
    record = run.record
    words = [f"edition {record.edition}", f"data {record.policy}", f"{record.n_cases} cases"]
    if record.partial:
        words.append("partial: a sample of the set" if record.limit else "partial: chosen cases")
    if record.imported:
        words.append("imported")
    pills = " ".join(f'<span class="pill">{shown(word)}</span>' for word in words)
    told = warning(run)
    below = f'<p class="warning">{shown(told)}</p>' if told else ""
    return f'<li><a href="#{place}">{shown(title)}</a> {pills}{below}</li>'


def _headlines(runs: Sequence[Reported]) -> Iterator[dict[str, object]]:
    """What the cards at the top stand on, for whoever reads the page with a program."""
    for place, run in zip(run_names(runs), runs, strict=True):
        for headline in run.headlines:
            yield {
                "run": place,
                "reader": headline.reader,
                "answer": headline.answer,
                "measure": msgspec.to_builtins(headline.measure),
            }


# ---------------------------------------------------------------- readers


def reader_cards(runs: Sequence[Reported]) -> str:
    """A card for each reader of any run, in the order the runs name them."""
    names = dict.fromkeys(reader.name for run in runs for reader in run.record.readers)
    asked = questions(run.record.benchmark for run in runs).items()
    cards = []
    for reader in names:
        rows = ("".join(_answers(reader, *one, runs)) for one in asked)
        answers = "\n".join(f'<div class="asked">{row}</div>' for row in rows)
        cards.append(f"""<article class="reader">
<h3><bdi>{shown(reader)}</bdi></h3>
<dl>
{answers}
</dl>
</article>""")
    return "\n".join(cards)


def _answers(reader: str, benchmark: str, question: str, runs: Sequence[Reported]) -> Iterator[str]:
    """The question, and what each run of its benchmark answers."""
    yield f"<dt>{shown(question)}</dt>"
    asked = [
        (number, place, run)
        for number, (place, run) in enumerate(zip(run_names(runs), runs, strict=True), 1)
        if run.record.benchmark == benchmark
        and any(entry.name == reader for entry in run.record.readers)
    ]
    if not asked:
        yield '<dd class="none">not asked</dd>'
    for number, place, run in asked:
        own = [headline for headline in run.headlines if headline.reader == reader]
        if not own:
            link = f'<a href="#{place}">its tables</a>'
            yield f'<dd class="none">asked, not answered in a sentence: see {link}</dd>'
        for headline in own:
            yield _answer(headline, run, place, f", run {number}" if len(asked) > 1 else "")


def _answer(headline: Headline, run: Reported, place: str, which: str = "") -> str:
    kind, sign = _ANSWERS[headline.answer]
    measure = headline.measure
    by = "".join(f", {key} {value}" for key, value in measure.by.items())
    n = "n unknown" if measure.n is None else f"n={measure.n}"
    stands = f"{measure.measure}{by}, {n}, edition {run.record.edition}{which}"
    return (
        f'<dd><span class="answer {kind}"><span aria-hidden="true">{sign}</span> '
        f"{headline.answer}</span> {shown(headline.sentence)} "
        f'<a class="stands" href="#{place}">{shown(stands)}</a></dd>'
    )


# ---------------------------------------------------------------- one run


def _part(run: Reported, name: str, title: str, exhibited: str, cases: str) -> str:
    """One run: what it is of, its exhibits, its cases, the paper's figures, what it stands on."""
    record = run.record
    facts = (
        f"{record.n_cases} cases of {record.dataset} ({record.policy}), edition {record.edition}, "
        f"Overread {record.overread}."
    )
    return f"""<section class="run" id="{name}">
<h2>{shown(title)}</h2>
<p>{shown(facts)}</p>
{_notes(record.remarks)}{exhibited}
{cases}
{_published(run, name)}
{_described(run, name)}
<section id="provenance-{name}">
<h3>Provenance</h3>
{provenance(record)}
</section>
</section>"""


def _published(run: Reported, name: str) -> str:
    """What the benchmark's paper prints, with the user's readers beside it."""
    if not run.published:
        return ""
    tables = []
    for table in run.published:
        inside = f"{grid(table.columns, table.rows, table.title)}\n{_notes(table.notes)}"
        tables.append(f"<h4>{shown(table.title)}</h4>")
        tables.append(unfolding(len(table.rows), inside, folded=True))
    body = "\n".join(tables)
    return f'<section id="published-{name}">\n<h3>Published figures</h3>\n{body}\n</section>'


def _described(run: Reported, name: str) -> str:
    """Paragraphs an author may paste."""
    parts = [("Methods", run.methods), ("Limitations", run.limitations)]
    return "\n".join(
        f"""<section class="described" id="{title.lower()}-{name}">
<h3>{title}</h3>
<p class="paste">{shown(" ".join(sentences))}</p>
</section>"""
        for title, sentences in parts
        if sentences
    )


def _notes(lines: Sequence[str]) -> str:
    return "".join(f'<p class="note">{shown(line)}</p>\n' for line in lines)


# ---------------------------------------------------------------- exhibits


def _exhibited(reported: Reported, run: str) -> str:
    """Links to the exhibits, where there is more than one; then each under its title."""
    exhibits, drawings = reported.exhibits, reported.drawings
    links = "\n".join(
        f'<li><a href="#{run}-{shown(exhibit.name)}">{shown(exhibit.title)}</a></li>'
        for exhibit in exhibits
    )
    nav = f'<nav class="contents" aria-label="exhibits of {run}"><ol>\n{links}\n</ol></nav>'
    sections = [_exhibit(one, run, number, drawings) for number, one in enumerate(exhibits, 1)]
    return "\n".join([nav if len(exhibits) > 1 else "", *sections])


def _exhibit(exhibit: Exhibit, run: str, number: int, drawings: Drawings) -> str:
    """One exhibit with notes and signature; the first of a run is never folded."""
    place = f"{run}-{exhibit.name}"
    beneath = f'{_notes(exhibit.notes)}<p class="note"><code>{shown(exhibit.signature)}</code></p>'
    if isinstance(exhibit, Figure):
        made = _figure(exhibit, run, place, beneath, drawings)
    else:
        inside = f"{grid(exhibit.columns, exhibit.rows, exhibit.title)}\n{beneath}"
        made = unfolding(len(exhibit.rows), inside, folded=number > 1)
    return f"""<section class="exhibit" id="{shown(place)}">
<h3>{shown(exhibit.title)}</h3>
{made}
</section>"""


def _figure(figure: Figure, run: str, place: str, beneath: str, drawings: Drawings) -> str:
    """A drawing with the rows behind it; a picture among them is in the drawing already."""
    rows = [
        {
            name: "(picture)" if str(value).startswith("data:") else value
            for name, value in row.items()
        }
        for row in figure.rows
    ]
    data = ""
    if rows:
        data = f"""
<details class="data" data-rows="data-{place}"><summary>data ({len(rows)} rows)</summary>
<p class="note">The rows are drawn as a table where scripts run.</p></details>
<script type="application/json" id="data-{place}" data-run="{run}" \
data-exhibit="{shown(figure.name)}">{as_json(rows)}</script>"""
    return f"""<figure>
<div class="scroll" tabindex="0" role="region" aria-label="{shown(figure.title)}">\
{inline_svg(figure, f"drawing-{place}", drawings)}</div>
<figcaption>{beneath}</figcaption>
</figure>{data}"""


# ---------------------------------------------------------------- what a run stands on


def provenance(record: RunRecord) -> str:
    """How each reader was asked; then the whole record, folded."""
    entries = list(_entries(msgspec.to_builtins(record), ""))
    left = f"<p>{record.left_out} left out: see left_out.csv.</p>\n" if record.left_out else ""
    return f"""{_readers(record)}{left}<p class="note">Every number stands in measures.json of the \
run, and every answer in answers.parquet.</p>
<details><summary>The whole record (run.toml)</summary>
{grid(("entry", "value"), entries, "the whole record")}
</details>"""


def _readers(record: RunRecord) -> str:
    """How each reader was asked: what it was shown, and how it decoded."""
    rows = []
    for reader in record.readers:
        traits = reader.traits
        heat = "the benchmark's" if traits.temperature is None else str(traits.temperature)
        clips = traits.clips if traits.modality != "text" else "none"
        asked = f"{reader.asked - reader.unanswered} of {reader.asked}"
        when = " to ".join(dict.fromkeys(filter(None, (reader.first_reply, reader.last_reply))))
        model = ", ".join(reader.models) or reader.model or ""
        rows.append((reader.name, reader.spec, traits.modality, clips, heat, asked, when, model))
    if not rows:
        return ""
    count = "1 reader was" if len(rows) == 1 else f"{len(rows)} readers were"
    return f"""<details class="asked"><summary>How {count} asked</summary>
{grid(_ASKED, rows, "how readers were asked")}
<p class="note">Whether pictures and frames really arrive, overread sight tells.</p>
</details>
"""


def _entries(value: Any, name: str) -> Iterator[tuple[str, str]]:
    """Every entry below this one, under the name it has in the file."""
    if isinstance(value, dict) and (value or not name):
        for key, one in value.items():
            yield from _entries(one, f"{name}.{key}" if name else key)
    elif isinstance(value, list | tuple) and any(isinstance(one, dict) for one in value):
        for number, one in enumerate(value, 1):
            yield from _entries(one, f"{name}[{number}]")
    elif isinstance(value, list | tuple):
        yield name, "; ".join(map(str, value)) or "none"
    elif isinstance(value, dict):
        yield name, "none"
    elif value is not None:
        yield name, str(value)


# ---------------------------------------------------------------- errors to label

_CONTROL: Final = re.compile("[\x00-\x08\x0b-\x1f\x7f\ud800-\udfff]")


def error_page(sheet: ErrorSheet, rows: Sequence[ErrorRow], signature: str) -> str:
    """A page on which a person labels errors and saves them as the csv that measures read.

    Labels and notes they already have are filled in. One file, no network: the policy in its head
    allows this page's own script and style and nothing else. Texts of cases and models are escaped;
    the script only ever reads them as data.
    """
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
    cards = [_error(number, row, sheet.words) for number, row in enumerate(rows, start=1)]
    return asset("errors.html").format(
        policy=policy,
        style=style,
        most=len(sheet.words),
        words=words,
        cards="\n".join(cards),
        signature=_kept_text(signature),
        data=as_json(data),
        script=script,
    )


def _error(number: int, row: ErrorRow, words: Iterable[str]) -> str:
    chosen = "".join(
        f'<option value="{word}"{" selected" if word == row.label else ""}>{place} {word}</option>'
        for place, word in enumerate(words, start=1)
    )
    about = ", ".join(part for part in (row.dimension, row.reader) if part)
    told = msgspec.structs.asdict(row) | {"about": about}
    told["given"] = row.given or "no option that could be read"
    cells = {name: _kept_text(text) for name, text in told.items()}
    return asset("error.html").strip().format(number=number, chosen=chosen, **cells)


def _kept_text(text: str) -> str:
    """As the csv keeps it: nothing is named that would then be saved."""
    return escape(_CONTROL.sub("\ufffd", text.replace("\r\n", "\n").replace("\r", "\n")))
