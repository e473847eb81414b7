"""The page: one file that opens from disk, asks no network and runs no script but its own.

It opens with the matrix of models and questions. Then cases, for each run its exhibits, folded
under a line that says what each shows, and the paper's figures; at the end what may not be
concluded, paragraphs to paste, and what the runs stand on. And a page on which errors are labelled.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from html import escape
from pathlib import Path
from typing import Any, Final

import msgspec

from overread.benchmarks.base import ErrorRow, ErrorSheet
from overread.case import Figure
from overread.records import RunRecord
from overread.report.browser import browser
from overread.report.drawings import inline_svg
from overread.report.gate import Gated, rulings_tables, verdict
from overread.report.markup import (
    as_json,
    asset,
    content_security,
    grid,
    hash_of,
    scripts,
    shown,
    styles,
)
from overread.report.matrix import (
    answers,
    headlines_of,
    link_to,
    matrix,
    run_names,
    title_of,
    word,
)
from overread.report.reported import Exhibit, Reported, allowed, warning
from overread.typeset import guarded

DISCLAIMER: Final = "Evaluation software, not a medical device; a passed gate is not a clearance."

# A page stays below 8 MB: cards have what exhibits leave of this, and a little in any case.
_MOST_BYTES: Final = 7_200_000
_LEAST_FOR_CARDS: Final = 400_000
_ASKED: Final = (
    "model", "spec", "modality", "clips as", "temperature", "answered", "replies given",
    "name it gives",
)  # fmt: skip


def write_report(path: Path, runs: Sequence[Reported], **more: Any) -> None:
    """Write the page of one or more runs; see `report_html`."""
    path.write_text(report_html(runs, **more), encoding="utf-8", newline="\n")


def report_html(
    runs: Sequence[Reported], *, served: bool = False, title: str = "", gated: Gated | None = None
) -> str:
    """The page as text; the same bytes for the same runs.

    `served`, it asks its server for the cases. `gated` is what a policy says of the runs.
    """
    runs = [allowed(run) for run in runs]
    places = run_names(runs)
    parts = [_part(run, place) for run, place in zip(runs, places, strict=True)]
    left = _MOST_BYTES - sum(len(part.encode(errors="replace")) for part in parts)
    room = max(left, _LEAST_FOR_CARDS) // max(1, len(runs))
    browsers = [
        (place, run, browser(run, place, number, room, served=served))
        for number, (run, place) in enumerate(zip(runs, places, strict=True), 1)
    ]
    title = title or title_of(runs)
    return asset("report.html").format(
        rules=content_security(served=served),
        title=shown(title),
        disclaimer=DISCLAIMER,
        warnings="\n".join(map(_warned, runs)),
        gate=_gate(gated),
        side=_side(runs, places, browsers, gated),
        matrix=matrix(runs, gated),
        answers=answers(runs, served=served),
        cases=_cases(browsers),
        parts="\n".join(parts),
        limits=_limits(runs, places),
        methods=_methods(runs, places),
        provenance=_provenances(runs, places),
        headlines=as_json(headlines_of(runs)),
        styles=styles(),
        scripts=scripts(),
    )


def _warned(run: Reported) -> str:
    told = warning(run)
    return f'<p class="warning">{shown(told)}</p>' if told else ""


# ---------------------------------------------------------------- finding one's way


def _side(
    runs: Sequence[Reported],
    places: Sequence[str],
    browsers: Sequence[tuple[str, Reported, str]],
    gated: Gated | None,
) -> str:
    """What stays beside the page: its parts, and folded under each run its exhibits."""
    links = ['<li><a href="#models">Models and questions</a></li>']
    if gated is not None:
        links.append('<li><a href="#gate">Gate</a></li>')
    if any(made for _, _, made in browsers):
        links.append('<li><a href="#cases">Cases</a></li>')
    for run, place in zip(runs, places, strict=True):
        inside = "\n".join(f"<li>{link_to(one, place)}</li>" for one in run.exhibits)
        folded = (
            f'<details><summary aria-label="exhibits of {place}">{len(run.exhibits)}</summary>'
            f"<ol>\n{inside}\n</ol></details>"
            if run.exhibits
            else ""
        )
        links.append(f'<li class="of"><a href="#{place}">{shown(place)}</a>{folded}</li>')
    if any(run.limitations for run in runs):
        links.append('<li><a href="#limits">What may I not conclude?</a></li>')
    if any(run.methods for run in runs):
        links.append('<li><a href="#methods">Methods</a></li>')
    links.append('<li><a href="#provenance">Provenance</a></li>')
    return "\n".join(links)


def _fold(place: str, heading: str, finding: str, inside: str, *, kind: str, level: int = 3) -> str:
    """Something folded under its title and a line that says what it shows."""
    told = f'<span class="finding">{finding}</span>' if finding else ""
    return f"""<details class="{kind}" id="{place}">
<summary><h{level}>{heading}</h{level}>{told}</summary>
<div class="inside">
{inside}
</div>
</details>"""


# ---------------------------------------------------------------- the gate


def _gate(gated: Gated | None) -> str:
    """What a policy says of the runs, in a line; its rulings folded."""
    if gated is None:
        return ""
    tables = "\n".join(
        f"<h4>{shown(table.title)}</h4>\n{grid(table.columns, table.rows, table.title)}\n"
        f"{_notes(table.notes)}"
        for table in rulings_tables(gated)
    )
    heading = f"Gate: {shown(gated.title)} {word(gated.outcome)}"
    policy = f"policy {Path(gated.policy).name}, sha256 {gated.policy_sha256[:12]}"
    told = shown(f"{verdict(gated)} By {policy}.")
    return f"""<section id="gate" aria-label="gate">
{_fold("gate-rulings", heading, told, tables, kind="fold gate", level=2)}
</section>"""


# ---------------------------------------------------------------- cases


def _cases(browsers: Sequence[tuple[str, Reported, str]]) -> str:
    """The browser of each run, folded."""
    parts = []
    for place, run, made in browsers:
        if made:
            total = max(run.card_total, len(run.cards))
            told = f"{total} cases: what was shown, asked and true, and what every model said"
            heading = f"{shown(place)}: look at cases"
            parts.append(_fold(f"{place}-looked-at", heading, told, made, kind="fold looked-at"))
    if not parts:
        return ""
    return '<section id="cases">\n<h2>Cases</h2>\n' + "\n".join(parts) + "\n</section>"


# ---------------------------------------------------------------- one run


def _part(run: Reported, place: str) -> str:
    """One run: what it is of, its exhibits, and the paper's figures."""
    record = run.record
    facts = (
        f"{record.n_cases} cases of {record.dataset} ({record.policy}), edition {record.edition}, "
        f"Overread {record.overread}."
    )
    exhibits = "\n".join(_exhibit(one, place) for one in run.exhibits)
    signature = (
        "<details><summary>Signature: what every number of this run stands on</summary>"
        f"<p><code>{shown(record.signature)}</code></p></details>\n"
    )
    return f"""<section class="run" id="{place}">
<h2>{shown(place)}</h2>
<p class="note">{shown(facts)}</p>
{signature}{_notes(record.remarks)}{exhibits}
{_published(run, place)}
</section>"""


def _published(run: Reported, place: str) -> str:
    """What the benchmark's paper prints, with the user's models beside it."""
    if not run.published:
        return ""
    body = "\n".join(
        f"<h4>{shown(table.title)}</h4>\n{grid(table.columns, table.rows, table.title)}\n"
        f"{_notes(table.notes)}"
        for table in run.published
    )
    told = f"{len(run.published)} tables of its paper, your models beside them"
    return _fold(f"published-{place}", "Published figures", told, body, kind="fold")


def _notes(lines: Sequence[str]) -> str:
    return "".join(f'<p class="note">{shown(line)}</p>\n' for line in lines)


def _exhibit(exhibit: Exhibit, run: str) -> str:
    """One exhibit with its notes, folded under its title and its finding."""
    place = shown(f"{run}-{exhibit.name}")
    notes = _notes(exhibit.notes)
    if isinstance(exhibit, Figure):
        made = _figure(exhibit, run, place, notes)
    else:
        made = f"{grid(exhibit.columns, exhibit.rows, exhibit.title)}\n{notes}"
    told = shown(exhibit.finding) or _counted(exhibit)
    return _fold(place, shown(exhibit.title), told, made, kind="exhibit")


def _counted(exhibit: Exhibit) -> str:
    kind = "figure" if isinstance(exhibit, Figure) else "table"
    return f"{kind}, {len(exhibit.rows)} rows"


def _figure(figure: Figure, run: str, place: str, beneath: str) -> str:
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
{inline_svg(figure, f"drawing-{place}")}</div>
<figcaption>{beneath}</figcaption>
</figure>{data}"""


# ---------------------------------------------------------------- words about the runs


def _shared_limits(runs: Sequence[Reported]) -> list[str]:
    """What may not be concluded from any of the runs, each said once."""
    first, *others = ([*run.limitations] for run in runs)
    return [line for line in first if all(line in other for other in others)]


def _limits(runs: Sequence[Reported], places: Sequence[str]) -> str:
    """What may not be concluded: what holds of every run in sight, what is one run's folded."""
    if not any(run.limitations for run in runs):
        return ""
    shared = _shared_limits(runs)
    common = "".join(f"<li>{shown(line)}</li>\n" for line in shared)
    parts = [
        _described(f"limitations-{place}", f"Limitations: {place}", own, run.limitations)
        for run, place in zip(runs, places, strict=True)
        if (own := [line for line in run.limitations if line not in shared]) or run.limitations
    ]
    body = "\n".join(parts)
    lead = f"<ul>\n{common}</ul>\n" if common else ""
    return f"""<section id="limits">
<h2>What may I not conclude?</h2>
{lead}{body}
</section>"""


def _methods(runs: Sequence[Reported], places: Sequence[str]) -> str:
    """Paragraphs an author may paste."""
    parts = [
        _described(f"methods-{place}", f"Methods: {place}", run.methods, run.methods)
        for run, place in zip(runs, places, strict=True)
        if run.methods
    ]
    if not parts:
        return ""
    return '<section id="methods">\n<h2>Methods</h2>\n' + "\n".join(parts) + "\n</section>"


def _described(place: str, heading: str, lines: Sequence[str], whole: Sequence[str]) -> str:
    """A paragraph to paste, folded under its first line."""
    told = shown(lines[0]) if lines else ""
    more = f" and {len(lines) - 1} more" if len(lines) > 1 else ""
    inside = f'<p class="paste">{shown(" ".join(whole))}</p>'
    return _fold(place, shown(heading), f"{told}{more}", inside, kind="fold described")


# ---------------------------------------------------------------- what a run stands on


def _provenances(runs: Sequence[Reported], places: Sequence[str]) -> str:
    return "\n".join(
        _fold(
            f"provenance-{place}",
            f"Provenance: {shown(place)}",
            shown(f"{len(run.record.readers)} models asked; run.toml in full"),
            provenance(run.record),
            kind="fold",
        )
        for run, place in zip(runs, places, strict=True)
    )


def provenance(record: RunRecord) -> str:
    """How each model was asked; then the whole record."""
    entries = list(_entries(msgspec.to_builtins(record), ""))
    left = f"<p>{record.left_out} left out: see left_out.csv.</p>\n" if record.left_out else ""
    return f"""{_readers(record)}{left}<p class="note">Every number stands in measures.json of the \
run, and every answer in answers.parquet.</p>
<h4>The whole record (run.toml)</h4>
{grid(("entry", "value"), entries, "the whole record")}"""


def _readers(record: RunRecord) -> str:
    """How each model was asked: what it was shown, and how it decoded."""
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
    return f"""<h4>How they were asked</h4>
{grid(_ASKED, rows, "how models were asked")}
<p class="note">Whether pictures and frames really arrive, overread sight tells.</p>
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
