"""A checklist filled from runs: a page that opens from disk, Markdown, or csv.

Nothing is ticked, counted or scored. An item that the record says nothing of reads `left to the
authors`.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from importlib.resources import files
from pathlib import Path
from typing import Final

import msgspec

from overread.case import BadInput
from overread.files import parse_toml
from overread.report.checklists.facts import FACTS, Told, paragraphs
from overread.report.document import DISCLAIMER
from overread.report.markup import asset, hash_of, shown
from overread.report.matrix import run_names, title_of
from overread.report.reported import Reported
from overread.typeset import guarded

LEFT: Final = "left to the authors"
_ROOM: Final = "overread.report.checklists"
_INTRO: Final = (
    "For each item what the record of the run says; where it says nothing, the item is "
    f"{LEFT}. Items are named in words of ours and stand in for no statement: read the "
    "statement itself. Nothing here is ticked, counted or scored."
)
# What Markdown takes for marks of its own.
_MARKS: Final = re.compile(r"([\\`*_\[\]|~])")


class Item(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One item: what it asks in our own words, the facts that fill it, and what these never say."""

    number: str
    name: str
    asks: str
    section: str = ""
    filled_by: tuple[str, ...] = ()
    rest: str = ""


class Checklist(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A reporting guideline: where it stands, and how this list of its items was checked."""

    title: str
    about: str
    source: str
    checked: str
    item: tuple[Item, ...]


def known_checklists() -> tuple[str, ...]:
    """The names there are."""
    names = (path.name for path in files(_ROOM).iterdir())
    return tuple(sorted(name.removesuffix(".toml") for name in names if name.endswith(".toml")))


def named_checklist(name: str) -> Checklist:
    """The checklist of a name, or `BadInput` with those there are."""
    known = known_checklists()
    if name not in known:
        raise BadInput(f'--checklist "{name}": known are {", ".join(known)}.')
    path = files(_ROOM) / f"{name}.toml"
    return msgspec.convert(parse_toml(path.read_text(encoding="utf-8"), path.name), Checklist)


def said_of(item: Item, run: Reported) -> list[Told]:
    """What the run says for an item; nothing where it is left to the authors."""
    said = [one for name in item.filled_by for one in FACTS[name](run)]
    if said and item.rest:
        said.append(Told(f"{LEFT.capitalize()}: {item.rest}."))
    return said


# ---------------------------------------------------------------- writing


def write_checklist(path: Path, checklist: Checklist, runs: Sequence[Reported]) -> None:
    """Write a checklist as its suffix says."""
    text = SUFFIXES[path.suffix.lower()](checklist, runs)
    path.write_text(text, encoding="utf-8", errors="replace", newline="\n")


def _html(checklist: Checklist, runs: Sequence[Reported]) -> str:
    style = asset("matrix.css") + asset("report.css") + asset("checklist.css")
    rules = (
        f"default-src 'none'; style-src {hash_of(style)}; img-src data:; base-uri 'none'; "
        "form-action 'none'"
    )
    places = run_names(runs)
    parts = [
        f'<section id="{shown(place)}">\n<h2>{shown(_about(run, place))}</h2>\n'
        f"{_table(checklist, run, place)}\n{_paragraphs(run)}\n</section>"
        for run, place in zip(runs, places, strict=True)
    ]
    return asset("checklist.html").format(
        rules=rules,
        style=style,
        title=shown(f"{checklist.title}: {title_of(runs)}"),
        heading=shown(checklist.title),
        about=shown(f"A list of what to report on {checklist.about}. {_INTRO}"),
        source=shown(checklist.source),
        checked=shown(checklist.checked),
        parts="\n".join(parts),
        disclaimer=DISCLAIMER,
    )


def _about(run: Reported, place: str) -> str:
    record = run.record
    return f"{place}: {record.n_cases:,} cases of {record.dataset}, edition {record.edition}"


def _table(checklist: Checklist, run: Reported, place: str) -> str:
    rows: list[str] = []
    section = ""
    for item in checklist.item:
        if item.section != section:
            section = item.section
            rows.append(
                f'<tr class="section"><th colspan="3" scope="rowgroup">{shown(section)}</th></tr>'
            )
        said = "".join(map(_paragraph, said_of(item, run))) or f'<p class="left">{LEFT}</p>'
        rows.append(
            f'<tr><td class="at">{shown(item.number)}</td>'
            f'<th scope="row">{shown(item.name)}<small>{shown(item.asks)}</small></th>'
            f"<td>{said}</td></tr>"
        )
    return (
        f'<table class="checklist" aria-label="{shown(f"{checklist.title}, {place}")}">\n'
        '<thead><tr><th scope="col"></th><th scope="col">Item</th>'
        '<th scope="col">What the record says</th></tr></thead>\n<tbody>\n'
        + "\n".join(rows)
        + "\n</tbody></table>"
    )


def _paragraphs(run: Reported) -> str:
    said = paragraphs(run).items()
    return "\n".join(f"<h3>{shown(head)}</h3>\n<p>{shown(text)}</p>" for head, text in said)


def _paragraph(said: Told) -> str:
    who = f"<b><bdi>{shown(', '.join(said.models))}</bdi></b> " if said.models else ""
    return f"<p>{who}{shown(said.text)}</p>"


def _markdown(checklist: Checklist, runs: Sequence[Reported]) -> str:
    lines = [
        f"# Overread: {_plain(checklist.title)}",
        "",
        f"A list of what to report on {_plain(checklist.about)}. {_INTRO}",
        "",
        f"The statement: {_plain(checklist.source)}. {_plain(checklist.checked)}",
    ]
    for run, place in zip(runs, run_names(runs), strict=True):
        lines += ["", f"## {_plain(_about(run, place))}", ""]
        lines += ["| | item | what the record says |", "|---|---|---|"]
        for item in checklist.item:
            said = "<br>".join(
                f"**{_plain(', '.join(one.models))}** {_plain(one.text)}"
                if one.models
                else _plain(one.text)
                for one in said_of(item, run)
            )
            lines.append(f"| {item.number} | {_plain(item.name)} | {said or LEFT} |")
        for heading, text in paragraphs(run).items():
            lines += ["", f"### {heading}", "", _plain(text)]
    return "\n".join([*lines, "", DISCLAIMER, ""])


def _plain(text: str) -> str:
    """Text that is no mark, no tag and no second line of a table."""
    words = " ".join(shown(text).split()).replace("&#x27;", "'").replace("&quot;", '"')
    return _MARKS.sub(r"\\\1", words)


_COLUMNS: Final = ("checklist", "run", "section", "number", "item", "models", "record says")


def _csv(checklist: Checklist, runs: Sequence[Reported]) -> str:
    text = io.StringIO(newline="")
    sheet = csv.writer(text, lineterminator="\n")
    sheet.writerow(_COLUMNS)
    for run, place in zip(runs, run_names(runs), strict=True):
        for item in checklist.item:
            first = (checklist.title, place, item.section, item.number, item.name)
            for who, words in _cells(said_of(item, run)):
                sheet.writerow([guarded(one) for one in (*first, who, words)])
        for heading, words in paragraphs(run).items():
            sheet.writerow(
                [guarded(c) for c in (checklist.title, place, "", "", heading, "", words)]
            )
    return text.getvalue()


def _cells(said: Sequence[Told]) -> Iterator[tuple[str, str]]:
    yield from ((", ".join(one.models), one.text) for one in said)
    if not said:
        yield "", LEFT


SUFFIXES: Final[Mapping[str, Callable[[Checklist, Sequence[Reported]], str]]] = {
    ".html": _html,
    ".md": _markdown,
    ".csv": _csv,
}
"""What can be written, and what writes it."""
