"""What each reader was found to be: four questions, each answered in a sentence."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from overread.benchmarks.registry import questions
from overread.case import Headline
from overread.report._text import shown
from overread.report.reported import Reported

# A sign beside the word: never the colour alone.
_ANSWERS: Final = {
    "yes": ("yes", "✓"),
    "no": ("no", "✕"),
    "in part": ("part", "◐"),
    "cannot tell": ("open", "?"),
}


def run_name(number: int) -> str:
    """What the run is called in the page's addresses."""
    return f"run-{number}"


def run_titles(runs: Sequence[Reported]) -> list[str]:
    """What each run is called: its benchmark, with its number where several are of that one."""
    names = [run.record.benchmark for run in runs]
    return [
        f"{name}, run {number}" if names.count(name) > 1 else name
        for number, name in enumerate(names, 1)
    ]


def reader_cards(runs: Sequence[Reported]) -> str:
    """A card for each reader of any run, in the order the runs name them."""
    names = dict.fromkeys(reader.name for run in runs for reader in run.record.readers)
    asked = questions(run.record.benchmark for run in runs)
    return "\n".join(_card(name, runs, asked) for name in names)


def _card(reader: str, runs: Sequence[Reported], asked: Mapping[str, str]) -> str:
    rows = "\n".join(
        f'<div class="asked">{"".join(_answers(reader, benchmark, question, runs))}</div>'
        for benchmark, question in asked.items()
    )
    return f"""<article class="reader">
<h3><bdi>{shown(reader)}</bdi></h3>
<dl>
{rows}
</dl>
</article>"""


def _answers(reader: str, benchmark: str, question: str, runs: Sequence[Reported]) -> Iterator[str]:
    """The question, and what each run of its benchmark answers."""
    yield f"<dt>{shown(question)}</dt>"
    asked = [
        (number, run)
        for number, run in enumerate(runs, 1)
        if run.record.benchmark == benchmark
        and any(entry.name == reader for entry in run.record.readers)
    ]
    if not asked:
        yield '<dd class="none">not asked</dd>'
    for number, run in asked:
        own = [headline for headline in run.headlines if headline.reader == reader]
        if not own:
            link = f'<a href="#{run_name(number)}">its tables</a>'
            yield f'<dd class="none">asked, not answered in a sentence: see {link}</dd>'
        for headline in own:
            yield _answer(headline, run, number, f", run {number}" if len(asked) > 1 else "")


def _answer(headline: Headline, run: Reported, number: int, which: str = "") -> str:
    kind, sign = _ANSWERS[headline.answer]
    measure = headline.measure
    by = "".join(f", {key} {value}" for key, value in measure.by.items())
    n = "n unknown" if measure.n is None else f"n={measure.n}"
    stands = f"{measure.measure}{by}, {n}, edition {run.record.edition}{which}"
    return (
        f'<dd><span class="answer {kind}"><span aria-hidden="true">{sign}</span> '
        f"{headline.answer}</span> {shown(headline.sentence)} "
        f'<a class="stands" href="#{run_name(number)}">{shown(stands)}</a></dd>'
    )
