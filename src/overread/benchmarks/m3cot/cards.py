"""Questions one by one: the image, the gold steps, and what every reader made of them.

`right`: the answer given with reasoning about the item's own image (without reasoning, where none
was asked for) is the right one for more than half of the judges that could be read. A blank reply
and a refusal are not right; where there is no reply or no verdict, or judges are split, it cannot
be said. `flipped`: reasoning changes whether the answer is right, so that of the answers with and
without it one is right and one is not; it needs both.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Final

import msgspec

from overread.benchmarks.exhibits.texts import cut
from overread.benchmarks.m3cot.card_rights import rights_of
from overread.benchmarks.m3cot.card_said import NAMES, said_of
from overread.benchmarks.m3cot.marks import facts_of, marks_of
from overread.benchmarks.m3cot.schemas import cases_in
from overread.case import Card, Slide, Trial

if TYPE_CHECKING:
    import polars as pl

    from overread.benchmarks.benchmark import Tables
    from overread.benchmarks.m3cot.cases import M3Case

__all__ = ["FACETS", "UNKNOWN", "Opened", "card_index", "cards"]

FACETS: Final = ("task", "kind")
"""What cards are filtered by."""
UNKNOWN: Final = "not known"
_TITLE: Final = 100
_SHOWN: Final = {"original": "image", "blank": "black image", "swap": "another item's image"}

# The trials of the case of this name for a reader that sees, where the benchmark was opened.
Opened = Callable[[str], Sequence[Trial]]


def card_index(tables: Tables) -> pl.DataFrame:
    """A row for each case and reader that was asked about it: right, flipped and the facets."""
    import polars as pl

    facts = tables.cases.select("case", *(_facet(name) for name in FACETS)).unique(
        "case", keep="first", maintain_order=True
    )
    readers = pl.Series("reader", [r.name for r in tables.readers], dtype=pl.String)
    rights = rights_of(
        _main(tables),
        tables.verdicts,
        facts["case"],
        readers.unique(maintain_order=True),
    )
    return (
        rights.with_columns(
            # Where reasoning was asked for it decides, even if nothing can be said of it.
            pl.when("reasoned").then(pl.col("cot")).otherwise(pl.col("direct")).alias("right"),
            (pl.col("cot") != pl.col("direct")).alias("flipped"),
        )
        .join(facts, on="case", how="left", maintain_order="left")
        .select("case", "reader", "right", "flipped", *FACETS)
    )


def _facet(name: str) -> pl.Expr:
    import polars as pl

    words = pl.col(name).cast(pl.String).fill_null("")
    return pl.when(words == "").then(pl.lit(UNKNOWN)).otherwise(words).alias(name)


def _main(tables: Tables, among: pl.Expr | None = None) -> pl.DataFrame:
    """Some of the answers, without timed ones that only repeat what was asked untimed too.

    Results made elsewhere may be timed throughout: then the timed replies are the replies. Which
    it is goes by the whole run, not by the cases chosen.
    """
    import polars as pl

    timed = pl.col("timed").fill_null(False)
    own = tables.answers if among is None else tables.answers.filter(among)
    if not own.select(timed.any()).item():
        return own
    cell = ["reader", "mode", "image", "follow"]
    known = pl.col("case").is_in(tables.cases["case"].implode())
    untimed = tables.answers.filter(~timed & known).select(cell).unique()
    alone = own.filter(timed).join(untimed, on=cell, how="anti", nulls_equal=True)
    return pl.concat([own.filter(~timed), alone])


# ---------------------------------------------------------------- the cards


def cards(tables: Tables, chosen: Sequence[str], opened: Opened | None = None) -> Iterator[Card]:
    """The cards of these cases, in this order; a name that is no case's is passed over.

    Slides are what readers were shown: the item's own image, and the black and the other item's
    where these were asked.
    """
    import polars as pl

    names = list(dict.fromkeys(chosen))
    among = pl.col("case").is_in(names)
    verdicts = tables.verdicts
    own = msgspec.structs.replace(
        tables,
        cases=tables.cases.filter(among),
        answers=_main(tables, among),
        verdicts=None if verdicts is None else verdicts.filter(among & pl.col("check").not_()),
    )
    told = {(row[0], row[1]): row[2:4] for row in card_index(own).iter_rows()}
    facts = facts_of(own.cases)
    readers = tuple(dict.fromkeys(reader.name for reader in tables.readers))
    every = marks_of(readers, facts, own.answers, own.verdicts)
    places = {case: place for place, case in enumerate(facts.cases)}
    cases = {case.case_id: case for case in cases_in(own.cases)}
    for name in names:
        if name not in cases:
            continue
        case = cases[name]
        yield Card(
            case=name,
            title=cut(case.question, _TITLE) or cut(name, _TITLE),
            facts={facet: getattr(case, facet) or UNKNOWN for facet in FACETS},
            texts=tuple(_texts(case)),
            slides=tuple(_slides(name, opened)),
            said=tuple(
                said_of(marks, places[name], case, *told[name, marks.reader])
                for marks in every
                if (name, marks.reader) in told
            ),
        )


def _texts(case: M3Case) -> Iterator[tuple[str, str]]:
    # Results made elsewhere may be known by their number alone.
    if case.question:
        yield "question", case.question
    if case.answer:
        yield "right answer", case.answer
    for number, step in enumerate(case.steps, start=1):
        yield f"gold step {number}, {NAMES[step.type]}", step.text


def _slides(name: str, opened: Opened | None) -> Iterator[Slide]:
    seen: set[str] = set()
    for trial in opened(name) if opened is not None else ():
        image = str(trial.condition["image"])
        if image not in seen:
            seen.add(image)
            for picture in trial.request.pictures:
                yield Slide(label=_SHOWN.get(image, image), picture=picture)
