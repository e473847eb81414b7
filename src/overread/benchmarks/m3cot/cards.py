"""Questions one by one: the image, the gold steps, and what every reader made of them.

`right`: the answer given with reasoning about the item's own image (without reasoning, where none
was asked for) is the right one for more than half of the judges that could be read. A blank reply
and a refusal are not right; where there is no reply or no verdict, or judges are split, it cannot
be said. `flipped`: reasoning changes whether the answer is right, so that of the answers with and
without it one is right and one is not; it needs both.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

import msgspec
import numpy as np

from overread.benchmarks.exhibits.cells import cut
from overread.benchmarks.m3cot.cases import STEPS, cases_in
from overread.benchmarks.m3cot.edition import MODES
from overread.benchmarks.m3cot.marks import COT, DIRECT, Asking, Marks, facts_of, marks_of
from overread.case import Card, Said, Slide, Trial
from overread.measuring.estimates import Floats

if TYPE_CHECKING:
    import polars as pl

    from overread.benchmarks.base import Tables
    from overread.benchmarks.m3cot.cases import M3Case

__all__ = [
    "FACETS",
    "STEP_LABELS",
    "UNKNOWN",
    "Opened",
    "card_index",
    "cards",
    "rights_of",
    "said_of",
]

FACETS: Final = ("task", "kind")
"""What cards are filtered by."""
UNKNOWN: Final = "not known"
_TITLE_LENGTH: Final = 100
_SLIDE_LABELS: Final = {"original": "image", "blank": "black image", "swap": "another item's image"}

# The trials of the case of this name for a reader that sees, where the benchmark was opened.
Opened = Callable[[str], Sequence[Trial]]


def card_index(tables: Tables) -> pl.DataFrame:
    """A row for each case and reader that was asked about it: right, flipped and the facets."""
    import polars as pl

    facts = tables.cases.select("case", *(_facet_column(name) for name in FACETS)).unique(
        "case", keep="first", maintain_order=True
    )
    readers = pl.Series("reader", [r.name for r in tables.readers], dtype=pl.String)
    rights = rights_of(
        _main_answers(tables),
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


def _facet_column(name: str) -> pl.Expr:
    import polars as pl

    words = pl.col(name).cast(pl.String).fill_null("")
    return pl.when(words == "").then(pl.lit(UNKNOWN)).otherwise(words).alias(name)


def _main_answers(tables: Tables, among: pl.Expr | None = None) -> pl.DataFrame:
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
        answers=_main_answers(tables, among),
        verdicts=None if verdicts is None else verdicts.filter(among & pl.col("check").not_()),
    )
    told = {(row[0], row[1]): row[2:4] for row in card_index(own).iter_rows()}
    facts = facts_of(own.cases)
    readers = tuple(dict.fromkeys(reader.name for reader in tables.readers))
    every = marks_of(readers, facts, own.answers, own.verdicts)
    places = {case: place for place, case in enumerate(facts.cases)}
    cases = cases_in(own.cases)
    for name in names:
        if name not in cases:
            continue
        case = cases[name]
        yield Card(
            case=name,
            title=cut(case.question, _TITLE_LENGTH) or cut(name, _TITLE_LENGTH),
            facts={facet: getattr(case, facet) or UNKNOWN for facet in FACETS},
            texts=tuple(_card_texts(case)),
            slides=tuple(_card_slides(name, opened)),
            said=tuple(
                said_of(marks, places[name], case, *told[name, marks.reader])
                for marks in every
                if (name, marks.reader) in told
            ),
        )


def _card_texts(case: M3Case) -> Iterator[tuple[str, str]]:
    # Results made elsewhere may be known by their number alone.
    if case.question:
        yield "question", case.question
    if case.answer:
        yield "right answer", case.answer
    for number, step in enumerate(case.steps, start=1):
        yield f"gold step {number}, {STEP_LABELS[step.type]}", step.text


def _card_slides(name: str, opened: Opened | None) -> Iterator[Slide]:
    seen: set[str] = set()
    for trial in opened(name) if opened is not None else ():
        image = str(trial.condition["image"])
        if image not in seen:
            seen.add(image)
            for picture in trial.request.pictures:
                yield Slide(label=_SLIDE_LABELS.get(image, image), picture=picture)


STEP_LABELS: Final = {
    "modality": "examination",
    "feature": "image features",
    "conclusion": "key conclusion",
    "analysis": "additional analysis",
    "restatement": "the question again",
    "other": "of no known type",
}
_MOST_STEPS: Final = 20
_MOST_CHARACTERS: Final = 80
_MODE_LABELS: Final = {"cot": "with reasoning", "direct": "direct"}
_IMAGE_LABELS: Final = {"blank": "black image", "swap": "another item's image"}
_FOLLOW_LABELS: Final = {
    "truncated": "after half of its reasoning",
    "answer_first": "answer before reasoning",
}


def said_of(
    marks: Marks, place: int, case: M3Case, right: bool | None, flipped: bool | None
) -> Said:
    """The reader's answers in every mode, then its steps, as judges took them apart."""
    cells = sorted(marks.said, key=lambda cell: (not cell.plain, cell != COT, cell))
    asked = [cell for cell in cells if place in marks.said[cell]]
    lines = [(_line_name(cell), _answer_line(marks, cell, place)) for cell in asked]
    if COT in asked:
        lines.extend(_step_lines(marks, place, case))
    return Said(
        reader=marks.reader,
        lines=tuple(lines),
        text=_reply_text(marks, place),
        right=right,
        flipped=flipped,
    )


def _line_name(cell: Asking) -> str:
    if cell.follow:
        return _FOLLOW_LABELS.get(cell.follow, cell.follow)
    mode = _MODE_LABELS.get(cell.mode, cell.mode)
    if cell.image == "original":
        return mode
    return f"{mode}, {_IMAGE_LABELS.get(cell.image, cell.image)}"


def _read_verdicts(marks: Marks, question: str, cell: Asking, place: int) -> dict[str, Any]:
    """What each judge that could be read said of this reply."""
    found = marks.verdicts.get((question, cell), {})
    return {
        judge: rows[place].value
        for judge, rows in sorted(found.items())
        if place in rows and rows[place].outcome == "judged"
    }


def _answer_line(marks: Marks, cell: Asking, place: int) -> str:
    """`right: "B"`; with several judges, for how many; or what became of the trial."""
    said = marks.said[cell][place]
    if said.outcome == "unanswered":
        return "unanswered"
    start = "refused; " if said.outcome == "refused" else ""
    if not said.text.strip():
        return f"{start}a blank reply: not right"
    found = _read_verdicts(marks, "answer", cell, place)
    if not found:
        return f"{start}not judged: {_quoted(said.text)}"
    hits = [bool(value["match"]) for value in found.values()]
    read = next(
        (str(v["final_answer"]) for v in found.values() if v.get("final_answer")), said.text
    )
    if all(hits) or not any(hits):
        word = "right" if hits[0] else "wrong"
    else:
        word = f"right for {sum(hits)} of {len(hits)} judges"
    return f"{start}{word}: {_quoted(read)}"


def _quoted(text: str) -> str:
    return f"“{cut(text, _MOST_CHARACTERS)}”"


def _step_lines(marks: Marks, place: int, case: M3Case) -> Iterator[tuple[str, str]]:
    """Each gold step, there or missing; then the reply's own steps with the judge's mark."""
    matched = _read_verdicts(marks, "recall", COT, place)
    given = _read_verdicts(marks, "precision", COT, place)
    if not matched and not given:
        yield "steps", "not judged"
        return
    for number, step in enumerate(case.steps, start=1):
        hits = [bool(value[number - 1]) for value in matched.values() if len(value) >= number]
        if hits:
            yield f"gold step {number}, {STEP_LABELS[step.type]}", _there_or_missing(hits)
    if given:
        judge, steps = next(iter(given.items()))
        yield "its own steps", _steps_counted(judge, steps)
        yield from _own_step_lines(steps)


def _there_or_missing(hits: Sequence[bool]) -> str:
    if all(hits) or not any(hits):
        return "there" if hits[0] else "missing"
    return f"there for {sum(hits)} of {len(hits)} judges"


def _steps_counted(judge: str, steps: Sequence[Mapping[str, Any]]) -> str:
    counted = [step for step in steps if step["type"] in STEPS]
    match = sum(step["judgment"] == "Match" for step in counted)
    return (
        f"{match} of {len(counted)} match, as {cut(judge, _MOST_CHARACTERS)} took the reply apart"
    )


def _own_step_lines(steps: Sequence[Mapping[str, Any]]) -> Iterator[tuple[str, str]]:
    for number, step in enumerate(steps[:_MOST_STEPS], start=1):
        kind = STEP_LABELS.get(str(step["type"]), STEP_LABELS["other"])
        mark = "no mark" if step["judgment"] is None else cut(str(step["judgment"]), 20)
        yield f"step {number}, {kind}", f"{mark}: {cut(str(step['text']))}"
    if len(steps) > _MOST_STEPS:
        yield "further steps", f"{len(steps) - _MOST_STEPS} are left out"


def _reply_text(marks: Marks, place: int) -> str:
    """The reasoning; or the direct reply, where none was asked for."""
    for cell in (COT, DIRECT):
        said = marks.said.get(cell, {}).get(place)
        if said is not None:
            return said.text.strip()
    return ""


# What became of a reply, beside nothing at all.
_UNANSWERED, _BLANK, _REFUSED, _SPOKEN = range(4)
_NO_REPLY: Final = -1


def rights_of(
    answers: pl.DataFrame, verdicts: pl.DataFrame | None, cases: pl.Series, readers: pl.Series
) -> pl.DataFrame:
    """A row for each case and reader with an answer: case, reader, direct, cot, reasoned.

    `direct` and `cot` are true or false where the answer about the item's own image is right or
    wrong, null where neither can be said; `reasoned` where it was asked for with reasoning. Timed
    replies count where there are no others.
    """
    import polars as pl

    shape = (len(cases), len(readers), len(MODES), 2)
    asked = _with_pair(answers, cases, readers)
    there = np.zeros(shape[:2], dtype=bool).reshape(-1)
    there[asked["pair"].to_numpy()] = True
    state = _reply_states(asked, shape)
    timed_only = ~(state[..., 0] != _NO_REPLY).any(axis=0)
    main = np.where(timed_only, state[..., 1], state[..., 0])
    votes = _votes_for(verdicts, cases, readers, shape)
    told = _right_by_votes(main, np.where(timed_only, votes[..., 1], votes[..., 0]))
    at = np.flatnonzero(there)
    case, reader = at // max(len(readers), 1), at % max(len(readers), 1)
    right = told[case, reader]
    found = pl.DataFrame({"case": cases.gather(case), "reader": readers.gather(reader)})
    return found.with_columns(
        *(
            pl.Series(mode, right[:, place], dtype=pl.Float64).fill_nan(None).cast(pl.Boolean)
            for place, mode in enumerate(MODES)
        ),
        pl.Series("reasoned", main[case, reader, MODES.index("cot")] != _NO_REPLY),
    )


def _with_pair(frame: pl.DataFrame, cases: pl.Series, readers: pl.Series) -> pl.DataFrame:
    """The rows about these cases and readers, with the number of their `pair`."""
    import polars as pl

    case, reader = (
        pl.col(own.name).cast(pl.Enum(own), strict=False).to_physical().cast(pl.Int64)
        for own in (cases, readers)
    )
    return frame.with_columns(pair=case * len(readers) + reader).filter(
        pl.col("pair").is_not_null()
    )


def _reply_states(
    asked: pl.DataFrame, shape: tuple[int, ...]
) -> np.ndarray[Any, np.dtype[np.int8]]:
    """What became of each reply about the item as it is; of two rows the last."""
    import polars as pl

    outcome = pl.col("outcome")
    rows = asked.filter(
        (pl.col("image") == "original")
        & (pl.col("follow").fill_null("") == "")
        & pl.col("mode").is_in(MODES)
    ).select(
        _slot_of(pl.col("mode"), pl.col("timed").fill_null(False)).alias("slot"),
        pl.when(outcome == "unanswered")
        .then(_UNANSWERED)
        .when(~pl.col("text").str.contains(r"\S").fill_null(False))
        .then(_BLANK)
        .when(outcome == "refused")
        .then(_REFUSED)
        .otherwise(_SPOKEN)
        .alias("state"),
    )
    found = np.full(int(np.prod(shape)), _NO_REPLY, dtype=np.int8)
    found[rows["slot"].to_numpy()] = rows["state"].to_numpy()
    return found.reshape(shape)


def _slot_of(mode: pl.Expr, timed: pl.Expr) -> pl.Expr:
    import polars as pl

    place = (mode == MODES[1]).cast(pl.Int64)
    return (pl.col("pair") * len(MODES) + place) * 2 + timed.cast(pl.Int64)


def _votes_for(
    verdicts: pl.DataFrame | None, cases: pl.Series, readers: pl.Series, shape: tuple[int, ...]
) -> Floats:
    """Of the judges that could be read, the share for whom the answer is right; NaN without any."""
    import polars as pl

    size = int(np.prod(shape))
    if verdicts is None:
        return np.full(shape, np.nan)
    judged = verdicts.filter(
        (pl.col("question") == "answer")
        & (pl.col("outcome") == "judged")
        & ~pl.col("check").fill_null(False)
    )
    # Conditions are few: each is read once.
    about = [(one, *_about_parts(one)) for one in judged["about"].unique().drop_nulls()]
    plain = {told: (mode, timed) for told, mode, timed, own in about if own and mode in MODES}
    rows = _with_pair(judged.filter(pl.col("about").is_in(list(plain))), cases, readers).select(
        _slot_of(
            pl.col("about").replace_strict(
                {told: mode for told, (mode, _) in plain.items()}, return_dtype=pl.String
            ),
            pl.col("about").replace_strict(
                {told: timed for told, (_, timed) in plain.items()}, return_dtype=pl.Boolean
            ),
        ).alias("slot"),
        # Quotes within a text are escaped, so that only the key itself is found.
        pl.col("payload").str.contains(r'"match": ?true').fill_null(False).alias("match"),
    )
    slots = rows["slot"].to_numpy()
    total = np.bincount(slots, minlength=size).astype(float)
    hits = np.bincount(slots[rows["match"].to_numpy()], minlength=size)
    share = np.full(size, np.nan)
    np.divide(hits, total, out=share, where=total > 0)
    return share.reshape(shape)


def _about_parts(told: str) -> tuple[str, bool, bool]:
    """The mode, whether it was timed, and whether it is about the item as it is."""
    about: Mapping[str, Any] = msgspec.json.decode(told)
    plain = about.get("image", "original") == "original" and not about.get("follow")
    own = plain and not about.get("variant")
    return str(about.get("mode", "")), bool(about.get("timed")), own


def _right_by_votes(state: np.ndarray[Any, np.dtype[np.int8]], votes: Floats) -> Floats:
    """1 right, 0 not, NaN where neither can be said."""
    found: Floats = np.full(state.shape, np.nan)
    found[state == _REFUSED] = 0.0
    judged = (state >= _REFUSED) & ~np.isnan(votes)
    found[judged] = np.where(votes == 0.5, np.nan, (votes > 0.5).astype(float))[judged]
    found[state == _BLANK] = 0.0
    return found
