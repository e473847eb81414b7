"""What people are asked about models' reasoning: whose is best, on four dimensions.

The first two are what judges count of steps (M3COT 3, precision and recall), in one line for
people; what the image shows and what is superfluous they judge too.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Final

import overread.case as oc
from overread.benchmarks.base import Tables
from overread.benchmarks.m3cot.cases import M3Case
from overread.benchmarks.people import ForPeople
from overread.benchmarks.ranked import check_ranked, screen_of_replies
from overread.case import BadInput

if TYPE_CHECKING:
    from overread.benchmarks.m3cot.benchmark import M3CoT

KINDS: Final = {"ranks": "the reasoning of several models on an item, ranked on four dimensions"}
DIMENSIONS: Final[Mapping[str, str]] = {
    "correctness": "Correctness: whose steps are right?",
    "completeness": "Completeness: whose steps leave out least of what is needed?",
    "visual": "What is seen: whose steps describe best what the image shows?",
    "brevity": "Brevity: whose reasoning has least that leads nowhere?",
}


def for_people(
    bench: M3CoT, kind: str, tables: Tables | None, readers: Sequence[str]
) -> Iterator[ForPeople]:
    if kind != "ranks" or tables is None:
        return
    check_ranked(readers)
    replies = _reasoning(tables, readers)
    cases = bench.by_id
    if not replies.keys() & cases.keys():
        raise BadInput(f"There is no item on which all of {', '.join(readers)} reasoned.")
    for name, own in replies.items():
        case = cases.get(name)
        if case is not None:
            steps = "\n".join(f"{at}. {step.text}" for at, step in enumerate(case.steps, 1))
            texts = [("Question", case.question), ("True answer", case.answer), ("Steps", steps)]
            yield screen_of_replies(
                case=name,
                patient=case.patient or case.image,
                slides=_slides(bench, case),
                texts=texts,
                replies=own,
                dimensions=DIMENSIONS,
                seed=bench.rules.seed,
                stratum=case.task,
                facts={"task": case.task},
            )


def _reasoning(tables: Tables, readers: Sequence[str]) -> dict[str, dict[str, str]]:
    """What each said of the item's own image when asked to reason; of items that all answered."""
    import polars as pl

    rows = tables.answers.filter(
        (pl.col("mode") == "cot")
        & (pl.col("image") == "original")
        & (pl.col("follow") == "")
        & ~pl.col("timed")
        & pl.col("reader").is_in(list(readers))
        & (pl.col("text").fill_null("").str.strip_chars() != "")
    )
    said: dict[str, dict[str, str]] = {}
    for case, who, text in rows.select("case", "reader", "text").iter_rows():
        said.setdefault(case, {})[who] = text
    return {case: own for case, own in said.items() if len(own) == len(readers)}


def _slides(bench: M3CoT, case: M3Case) -> tuple[oc.Slide, ...]:
    """The item's own image as models were shown it."""
    for trial in bench.shown_of(case.case_id):
        if trial.condition["image"] == "original" and trial.request.pictures:
            return tuple(oc.Slide(label="", picture=one) for one in trial.request.pictures)
    return ()
