"""The matrix a page opens with: models down, questions across, in each cell what was found.

A cell is a word beside its sign, the number that decides with its interval as a bar on the scale of
its column, and n. Models of several runs have a row; a model of one run alone stands under its
question, so that nothing has to say that something was not asked. A cell leads to what it says in a
sentence, to the exhibits and to the cases behind it.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from math import isinf
from typing import Final, NamedTuple
from urllib.parse import quote, urlencode

import msgspec

from overread.benchmarks.exhibits.cells import interval, printed, unit_of
from overread.benchmarks.registry import questions
from overread.case import Headline, Measure, Said
from overread.measuring.units import Unit
from overread.report.gate import Gated, worst
from overread.report.markup import asset, shown, whole
from overread.report.reported import Exhibit, Reported

# A sign beside the word: never the colour alone.
SIGNS: Final = {
    "yes": ("yes", "✓"),
    "no": ("no", "✕"),
    "in part": ("part", "◐"),
    "cannot tell": ("open", "?"),
    "pass": ("yes", "✓"),
    "fail": ("no", "✕"),
    "skipped": ("open", "–"),
}
# Where a unit has no end, a column is drawn from here, or to here.
_FROM: Final = -1.0
_MOST_BEHIND: Final = 6
_LEAST_RIGHT: Final = 3
_FEW: Final = 5
_SHORT_NAME: Final = 3


class Column(NamedTuple):
    """A run as a column: its question, where it stands on the page, and the scale of its bars."""

    run: Reported
    place: str
    question: str
    low: float
    high: float
    unit: Unit
    measure: str  # what decides in every cell; empty where that differs


def run_names(runs: Sequence[Reported]) -> list[str]:
    """What each run is called in the page's addresses: its benchmark, and which run of it."""
    met: Counter[str] = Counter()
    names = []
    for run in runs:
        word = re.sub(r"[^\w-]", "-", run.record.benchmark)
        met[word] += 1
        names.append(f"{word}-{met[word]}" if met[word] > 1 else word)
    return names


def columns_of(runs: Sequence[Reported]) -> list[Column]:
    """The runs in the order of the page's questions; those of one benchmark in their own."""
    asked = questions(run.record.benchmark for run in runs)
    order = {name: number for number, name in enumerate(asked)}
    made = [
        Column(run, place, asked[run.record.benchmark], *_scale(run))
        for run, place in zip(runs, run_names(runs), strict=True)
    ]
    return sorted(made, key=lambda column: order[column.run.record.benchmark])


def _scale(run: Reported) -> tuple[float, float, Unit, str]:
    """From where to where the bars of a column go: what its numbers can be, or what they are."""
    records = [one.measure for one in run.headlines if one.measure.value is not None]
    units = [_unit(run, record) for record in records]
    if not units:
        return 0.0, 1.0, Unit(), ""
    values = [value for one in records for value in (one.value, one.high) if value is not None]
    lows = [unit.low for unit in units]
    highs = [max([0.0, *values]) if isinf(unit.high) else unit.high for unit in units]
    names = {called(record) for record in records}
    lowest = min(_FROM if isinf(low) else low for low in lows)
    return lowest, max(highs) or 1.0, units[0], names.pop() if len(names) == 1 else ""


def _unit(run: Reported, record: Measure) -> Unit:
    return run.units.get(record.measure) or unit_of(record)


# ---------------------------------------------------------------- the table


def matrix(runs: Sequence[Reported], gated: Gated | None = None, *, links: bool = True) -> str:
    """The matrix of some runs; without `links`, for a place where there is nothing to lead to."""
    columns = columns_of(runs)
    asked = _asked(columns)
    rows = [name for name, of in asked.items() if len(of) > 1 or len(columns) == 1]
    alone = {
        column.place: [name for name, of in asked.items() if of == [column.place]]
        for column in (columns if len(columns) > 1 else [])
    }
    heads = "\n".join(_head(column, links) for column in columns)
    first = '<th scope="col" class="model">model</th>' if rows else ""
    last = '<th scope="col" class="gate">gate</th>' if gated and rows else ""
    body = [_row(name, columns, gated, links) for name in rows]
    if any(alone.values()):
        told = f'<th scope="row" class="model">{"asked one question" if rows else ""}</th>'
        under = "\n".join(
            f'<td data-question="{shown(column.question)}">'
            + "\n".join(_alone(name, column, gated, links) for name in alone[column.place])
            + "</td>"
            for column in columns
        )
        body.append(
            f'<tr class="alone">{told if rows else ""}{under}{"<td></td>" if last else ""}</tr>'
        )
    return f"""<table class="matrix{" one" if len(columns) == 1 else ""}">
<caption class="aside">What was found of each model, by question</caption>
<thead><tr>{first}{heads}{last}</tr></thead>
<tbody>
{"".join(f"{row}{chr(10)}" for row in body)}</tbody>
</table>"""


def matrix_html(runs: Sequence[Reported]) -> str:
    """The matrix with its own style, for a notebook: no script, no link, nothing fetched."""
    style = asset("matrix.css").replace(":root", ".overread")
    return f'<div class="overread"><style>{style}</style>\n{matrix(runs, links=False)}</div>'


def _asked(columns: Sequence[Column]) -> dict[str, list[str]]:
    """The models in the order the runs name them, each with the runs that it is in."""
    found: dict[str, list[str]] = {}
    for column in columns:
        for reader in column.run.record.readers:
            found.setdefault(reader.name, []).append(column.place)
    return found


def _head(column: Column, links: bool) -> str:
    record = column.run.record
    facts = [f"{record.n_cases} cases", f"edition {record.edition}", f"data {record.policy}"]
    if record.partial:
        facts.append("partial: a sample of the set" if record.limit else "partial: chosen cases")
    if record.imported:
        facts.append("imported")
    question = shown(column.question)
    asked = f'<a href="#{column.place}">{question}</a>' if links else question
    low, high = (printed(end, column.unit, digits=0) for end in (column.low, column.high))
    ends = (low, column.measure, f"{high}{column.unit.suffix}")
    scale = "".join(f"<span>{shown(end)}</span>" for end in ends)
    scale = f'<span class="scale">{scale}</span>'
    return (
        f'<th scope="col"><span class="question">{asked}</span>'
        f"<small>{shown(column.place)}: {shown(', '.join(facts))}</small>{scale}</th>"
    )


def _row(name: str, columns: Sequence[Column], gated: Gated | None, links: bool) -> str:
    cells = "".join(
        f'<td data-question="{shown(column.question)}">{_found(name, column, links)}</td>'
        for column in columns
    )
    ruled = f"<td>{_ruled(name, gated)}</td>" if gated else ""
    return f'<tr><th scope="row" class="model"><bdi>{shown(name)}</bdi></th>{cells}{ruled}</tr>'


def _alone(name: str, column: Column, gated: Gated | None, links: bool) -> str:
    ruled = _ruled(name, gated, brief=True) if gated else ""
    return (
        f'<div class="one"><span class="model"><bdi>{shown(name)}</bdi>{ruled}</span>'
        f"{_found(name, column, links)}</div>"
    )


def _ruled(name: str, gated: Gated, *, brief: bool = False) -> str:
    """The worst that the gate says of a model."""
    outcomes = [ruling.outcome for ruling in gated.rulings if ruling.reader == name]
    if not outcomes:
        return ""
    outcome = worst(outcomes)
    if not brief:
        return word(outcome)
    kind, sign = SIGNS[outcome]
    return f'<span class="ruled {kind}">{sign} gate<span class="aside">: {outcome}</span></span>'


def word(said: str) -> str:
    """A word beside its sign."""
    kind, sign = SIGNS[said]
    return f'<span class="answer {kind}"><span aria-hidden="true">{sign}</span> {said}</span>'


def _found(name: str, column: Column, links: bool) -> str:
    """The cell of a model: one answer, or more where a benchmark gives more."""
    own = [(n, one) for n, one in enumerate(column.run.headlines, 1) if one.reader == name]
    if own:
        return "".join(_cell(column, number, headline, links) for number, headline in own)
    if all(reader.name != name for reader in column.run.record.readers):
        return ""
    told = "in its tables"
    return f'<a class="cell" href="#{column.place}">{told}</a>' if links else told


def _cell(column: Column, number: int, headline: Headline, links: bool) -> str:
    record = headline.measure
    unit = _unit(column.run, record)
    n = "" if record.n is None else f'<span class="n">n={record.n}</span>'
    value = printed(record.value, unit)
    if not column.measure:
        value = f"{called(record)} {value}"
    said = f'{word(headline.answer)}<span class="number">{shown(value)}</span>'
    inside = f'<span class="told">{said}</span>{_bar(column, record)}{n}'
    if not links:
        return f'<span class="cell">{inside}</span>'
    to = f"answer-{column.place}-{number}"
    return f'<a class="cell" href="#{to}" aria-controls="{to}">{inside}</a>'


def called(record: Measure) -> str:
    """A measure as people call it: CGR, F1, set accuracy."""
    name = record.measure.replace("_", " ")
    return name.upper() if len(name) <= _SHORT_NAME else name


def _bar(column: Column, record: Measure) -> str:
    """The interval and the value on the scale of the column; an arrow where they leave it."""
    if record.value is None:
        return '<svg class="bar" aria-hidden="true" viewBox="0 0 104 10"></svg>'

    def at(value: float) -> float:
        share = (value - column.low) / (column.high - column.low)
        return 2 + 100 * min(1.0, max(0.0, share))

    low, high = (record.value if end is None else end for end in (record.low, record.high))
    left, right, middle = at(low), at(high), at(record.value)
    out = '<path d="M0 5l5 -4v8z"></path>' if record.value < column.low else ""
    return (
        '<svg class="bar" aria-hidden="true" viewBox="0 0 104 10" preserveAspectRatio="none">'
        '<rect class="track" x="2" y="4.2" width="100" height="1.6"></rect>'
        f'<rect class="spread" x="{left:.1f}" y="2.5" width="{max(1.0, right - left):.1f}" '
        f'height="5"></rect><rect x="{middle - 1.2:.1f}" y="0" width="2.4" height="10"></rect>'
        f"{out}</svg>"
    )


# ---------------------------------------------------------------- what a cell leads to


def answers(runs: Sequence[Reported], *, served: bool = False) -> str:
    """What each cell leads to: a sentence, the exhibits and the cases behind it."""
    return "\n".join(
        _answer(column, number, headline, served)
        for column in columns_of(runs)
        for number, headline in enumerate(column.run.headlines, 1)
    )


def _answer(column: Column, number: int, headline: Headline, served: bool) -> str:
    record, run = headline.measure, column.run
    unit = _unit(run, record)
    n = "n unknown" if record.n is None else f"n={record.n}"
    by = "".join(f", {key} {value}" for key, value in record.by.items())
    decides = f"{called(record)} {printed(record.value, unit)} {interval(record, unit)}".rstrip()
    stands = f"{decides}{by}, {n}, edition {run.record.edition}."
    short, rest = headline.lead, headline.sentence
    if not short:
        short, rest = rest, ""
    folded = f"<details><summary>In full</summary><p>{shown(rest)}</p></details>\n" if rest else ""
    place = f"answer-{column.place}-{number}"
    return f"""<section class="found" id="{place}" tabindex="-1" aria-labelledby="{place}-head">
<h3 id="{place}-head"><bdi>{shown(headline.reader)}</bdi>: {shown(column.question)} \
{word(headline.answer)}</h3>
<p class="lead">{shown(short.rstrip("."))}. <span class="stands">{shown(stands)}</span></p>
{folded}{_worst_groups(column, headline.reader, served)}{_behind(column, headline)}\
{_cases(column, headline.reader, served)}\
<p><a class="back" href="#models">Back to the matrix</a></p>
</section>"""


def _behind(column: Column, headline: Headline) -> str:
    """Links to the exhibits that show the number: the first of the run is always among them."""
    exhibits = column.run.exhibits
    chosen = [
        one
        for number, one in enumerate(exhibits)
        if not number or headline.measure.measure in one.measures
    ][:_MOST_BEHIND]
    if not chosen:
        return ""
    links = ", ".join(link_to(one, column.place) for one in chosen)
    every = f'<a href="#{column.place}">all {len(exhibits)} exhibits</a>'
    return f"<p>Exhibits behind it: {links}; {every}.</p>\n"


def link_to(exhibit: Exhibit, place: str) -> str:
    return f'<a href="#{shown(f"{place}-{exhibit.name}")}">{shown(exhibit.title)}</a>'


def filtered(place: str, **wanted: str) -> str:
    """The address of a run's cases that fit, as cases.js reads it."""
    return shown(f"#cases-{place}?{urlencode(whole(wanted), quote_via=quote)}")


def _cases(column: Column, reader: str, served: bool) -> str:
    """Links to the cases behind it: those it got wrong, and those where its answer flipped."""
    run = column.run
    if not max(run.card_total, len(run.cards)):
        return ""
    kinds: Mapping[str, tuple[str, dict[str, str]]] = {
        "flipped": ("where its answer changed with what was shown", {"flipped": "yes"}),
        "right": ("it got wrong", {"right": "no"}),
        "": ("all", {}),
    }
    links = []
    for kind, (words, wanted) in kinds.items():
        count = sum(1 for one in _said_by(run, reader) if not kind or _is(one, kind))
        if count or served:
            many = "" if served else f" ({count} on this page)"
            to = filtered(column.place, reader=reader, **wanted)
            links.append(f'<a href="{to}">{words}</a>{many}')
    return f"<p>Cases: {', '.join(links)}.</p>\n" if links else ""


def _said_by(run: Reported, reader: str) -> Iterator[Said]:
    return (one for card in run.cards for one in card.said if one.reader == reader)


def _is(said: Said, kind: str) -> bool:
    return said.flipped is True if kind == "flipped" else said.right is False


def _worst_groups(column: Column, reader: str, served: bool) -> str:
    """The groups of cases that a model gets right least often, with the cases of each."""
    run = column.run
    keys = dict.fromkeys([*run.facets, *(key for card in run.cards for key in card.facts)])
    records = [
        one
        for one in run.measures
        if one.reader == reader
        and one.measure == run.share_right
        and one.value is not None
        and (one.n or 0) >= _FEW
        and len(one.by) == 1
        and next(iter(one.by)) in keys
    ]
    if len(records) < 2:
        return ""
    least = sorted(records, key=lambda one: (one.value or 0.0, -(one.n or 0)))[:_LEAST_RIGHT]
    told = []
    for one in least:
        ((key, group),) = one.by.items()
        words = shown(f"{key} {group}".replace("_", " "))
        wanted = {"reader": reader, "right": "no", f"fact:{key}": group}
        there = served or any(
            card.facts.get(key) == group and said.reader == reader and said.right is False
            for card in run.cards
            for said in card.said
        )
        words = f'<a href="{filtered(column.place, **wanted)}">{words}</a>' if there else words
        told.append(f"{words} {shown(printed(one.value, _unit(run, one)))} % of {one.n}")
    return f"<p>Right least often: {'; '.join(told)}.</p>\n"


def title_of(runs: Iterable[Reported]) -> str:
    """The title of a page that was given none: models, data sets, and the day they were asked."""
    records = [run.record for run in runs]
    models = list(dict.fromkeys(one.name for record in records for one in record.readers))
    sets = list(dict.fromkeys(record.dataset.partition("@")[0] for record in records))
    days = [one.last_reply[:10] for record in records for one in record.readers if one.last_reply]
    who = ", ".join(models) if 0 < len(models) <= 2 else f"{len(models)} models"
    what = ", ".join(sets) if len(sets) <= 2 else f"{len(sets)} data sets"
    return f"{who} on {what}{f', {max(days)}' if days else ''}"


def headlines_of(runs: Sequence[Reported]) -> list[dict[str, object]]:
    """What the matrix stands on, for whoever reads the page with a program."""
    return [
        {
            "run": place,
            "reader": headline.reader,
            "answer": headline.answer,
            "measure": msgspec.to_builtins(headline.measure),
        }
        for place, run in zip(run_names(runs), runs, strict=True)
        for headline in run.headlines
    ]
