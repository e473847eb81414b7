"""The page: one file that opens from disk, asks no network and runs no script but its own."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from importlib.resources import files
from pathlib import Path
from typing import Final

import msgspec

from overread.report._exhibits import contents, section
from overread.report._text import as_json, shown
from overread.report.browser import browser
from overread.report.policy import allowed, content_security, warning
from overread.report.provenance import provenance
from overread.report.reader_cards import reader_cards, run_name, run_titles
from overread.report.reported import Reported
from overread.report.tables import grid, unfolding

DISCLAIMER: Final = "Evaluation software, not a medical device; a passed gate is not a clearance."

# A page stays below 8 MB: cards have what exhibits leave of this, and a little in any case.
_MOST_BYTES: Final = 7_200_000
_LEAST_FOR_CARDS: Final = 400_000


def write_report(path: Path, runs: Sequence[Reported], *, served: bool = False) -> None:
    """Write the page of one or more runs; `served`, it asks its server for the cases."""
    path.write_text(report_html(runs, served=served), encoding="utf-8", newline="\n")


def report_html(runs: Sequence[Reported], *, served: bool = False) -> str:
    """The page as text; the same bytes for the same runs."""
    assets = files("overread.report") / "assets"
    script = (assets / "report.js").read_text(encoding="utf-8")
    style = (assets / "report.css").read_text(encoding="utf-8")
    runs = [allowed(run) for run in runs]
    exhibited = [_exhibited(run, run_name(number)) for number, run in enumerate(runs, 1)]
    left = _MOST_BYTES - sum(len(part.encode(errors="replace")) for part in exhibited)
    room = max(left, _LEAST_FOR_CARDS) // max(1, len(runs))
    titles = run_titles(runs)
    parts = "\n".join(
        _part(
            run,
            number,
            titles[number - 1],
            part,
            browser(run, run_name(number), number, room, served=served),
        )
        for number, (run, part) in enumerate(zip(runs, exhibited, strict=True), 1)
    )
    title = f"Overread: {', '.join(titles)}"
    return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="{
        content_security(script, style, served=served)
    }">
<meta name="referrer" content="no-referrer">
<link rel="icon" href="data:,">
<title>{shown(title)}</title>
<style>{style}</style>
</head>
<body>
<a class="skip" href="#main">Skip to the readers</a>
<header>
<h1>{shown(title)}</h1>
<p class="note">{DISCLAIMER}</p>
{_runs(runs)}
</header>
<main id="main">
<section id="readers">
<h2>Readers</h2>
<div class="readers">
{reader_cards(runs)}
</div>
</section>
{parts}
</main>
<script type="application/json" id="headlines">{as_json(list(_headlines(runs)))}</script>
<script>{script}</script>
</body>
</html>
"""


def _runs(runs: Sequence[Reported]) -> str:
    """Every run with its edition and its data policy, in plain sight; links to their parts."""
    items = "\n".join(
        _run(run, number, title)
        for number, (run, title) in enumerate(zip(runs, run_titles(runs), strict=True), 1)
    )
    return f'<nav aria-label="runs"><ul class="runs">\n{items}\n</ul></nav>'


def _run(run: Reported, number: int, title: str) -> str:
    record = run.record
    pills = [f"edition {record.edition}", f"data {record.policy}", f"{record.n_cases} cases"]
    if record.partial:
        pills.append("partial: a sample of the set" if record.limit else "partial: chosen cases")
    if record.imported:
        pills.append("imported")
    told = warning(run)
    below = f'<p class="warning">{shown(told)}</p>' if told else ""
    link = f'<a href="#{run_name(number)}">{shown(title)}</a>'
    return f"<li>{link} {_pills(pills)}{below}</li>"


def _pills(words: Sequence[str]) -> str:
    return " ".join(f'<span class="pill">{shown(word)}</span>' for word in words)


def _headlines(runs: Sequence[Reported]) -> Iterator[dict[str, object]]:
    """What the cards at the top stand on, for whoever reads the page with a program."""
    for number, run in enumerate(runs, 1):
        for headline in run.headlines:
            yield {
                "run": run_name(number),
                "reader": headline.reader,
                "answer": headline.answer,
                "measure": msgspec.to_builtins(headline.measure),
            }


# ---------------------------------------------------------------- one run


def _part(run: Reported, number: int, title: str, exhibited: str, cases: str) -> str:
    """One run: what it is of, its exhibits, its cases, the paper's figures, what it stands on."""
    record, name = run.record, run_name(number)
    facts = (
        f"{record.n_cases} cases of {record.dataset} ({record.policy}), edition {record.edition}, "
        f"Overread {record.overread}."
    )
    remarks = "".join(f'<p class="note">{shown(line)}</p>\n' for line in record.remarks)
    return f"""<section class="run" id="{name}">
<h2>{shown(title)}</h2>
<p>{shown(facts)}</p>
{remarks}{exhibited}
{cases}
{_published(run, name)}
{_described(run, name)}
<section id="{name}-provenance">
<h3>Provenance</h3>
{provenance(record)}
</section>
</section>"""


def _exhibited(run: Reported, name: str) -> str:
    """The list of exhibits, and the exhibits."""
    sections = (section(exhibit, name, place) for place, exhibit in enumerate(run.exhibits, 1))
    return "\n".join([contents(run.exhibits, name), *sections])


def _published(run: Reported, name: str) -> str:
    """What the benchmark's paper prints, with the user's readers beside it."""
    if not run.published:
        return ""
    tables = []
    for table in run.published:
        notes = "".join(f'<p class="note">{shown(note)}</p>\n' for note in table.notes)
        inside = f"{grid(table.columns, table.rows, table.title)}\n{notes}"
        tables.append(f"<h4>{shown(table.title)}</h4>")
        tables.append(unfolding(len(table.rows), inside, folded=True))
    body = "\n".join(tables)
    return f'<section id="{name}-published">\n<h3>Published figures</h3>\n{body}\n</section>'


def _described(run: Reported, name: str) -> str:
    """Paragraphs an author may paste."""
    parts = [("Methods", run.methods), ("Limitations", run.limitations)]
    return "\n".join(
        f"""<section class="described" id="{name}-{title.lower()}">
<h3>{title}</h3>
<p class="paste">{shown(" ".join(sentences))}</p>
</section>"""
        for title, sentences in parts
        if sentences
    )
