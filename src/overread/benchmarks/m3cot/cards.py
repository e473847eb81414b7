"""Questions one by one: the image, the gold steps, and what every reader made of them; and tables
of a case's gold steps beside a reader's own.

All words are other people's: they are cut, and shown without what would act on the text around
them. The page escapes them.

`right`: the answer given with reasoning about the item's own image (without reasoning, where none
was asked for) is the right one for more than half of the judges that could be read. A blank reply
and a refusal are not right; where there is no reply or no verdict, or judges are split, it cannot
be said. `flipped`: reasoning changes whether the answer is right, so that of the answers with and
without it one is right and one is not; it needs both.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from itertools import islice, zip_longest
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import msgspec

from overread.benchmarks import cards as shared
from overread.benchmarks.exhibits.cells import CUT, cut
from overread.benchmarks.m3cot.cases import FACETS, STEPS, cases_in
from overread.benchmarks.m3cot.edition import MODES, Edition
from overread.benchmarks.m3cot.judge_questions import questions
from overread.benchmarks.m3cot.steps import precision_of
from overread.benchmarks.m3cot.study import COT, Asking, Marks, facts_of, marks_of
from overread.benchmarks.m3cot.verdicts import path_of
from overread.case import Card, CardAnswer, CardStep, Said, Table, Trial
from overread.judging.question import reread

if TYPE_CHECKING:
    import polars as pl

    from overread.benchmarks.base import Tables
    from overread.benchmarks.m3cot.cases import M3Case

_SLIDE_LABELS: Final = {
    "original": "image",
    "blank": "black image",
    "swap": "another item's image",
}

# The trials of the case of this name for a reader that sees, where the benchmark was opened.
Opened = Callable[[str], Sequence[Trial]]


def card_index(tables: Tables) -> pl.DataFrame:
    """A row for each case and reader that was asked about it: right, flipped and the facets."""
    asked = _main_answers(tables)
    told = _told(_rights(asked, tables.verdicts))
    return shared.index_of(tables, shared.facets_of(tables, FACETS), told, asked)


def _main_answers(tables: Tables) -> pl.DataFrame:
    """The answers, without timed ones that only repeat what was asked untimed too.

    Results made elsewhere may be timed throughout: then the timed replies are the replies. Which
    it is goes by the whole run.
    """
    import polars as pl

    answers, timed = tables.answers, pl.col("timed").fill_null(False)
    if not answers.select(timed.any()).item():
        return answers
    asking = ["reader", "mode", "image", "follow"]
    known = pl.col("case").is_in(tables.cases["case"].implode())
    untimed = answers.filter(~timed & known).select(asking).unique()
    alone = answers.filter(timed).join(untimed, on=asking, how="anti", nulls_equal=True)
    return pl.concat([answers.filter(~timed), alone])


# ---------------------------------------------------------------- right answers


def _rights(answers: pl.DataFrame, verdicts: pl.DataFrame | None) -> pl.DataFrame:
    """By reader, case and mode whether the answer about the item as it is is right.

    Null where neither can be said; of two rows about one reply the last counts.
    """
    import polars as pl

    outcome, votes = pl.col("outcome"), pl.col("votes")
    rows = answers.filter(
        (pl.col("image") == "original")
        & (pl.col("follow").fill_null("") == "")
        & pl.col("mode").is_in(MODES)
    ).unique(["reader", "case", "mode"], keep="last", maintain_order=True)
    rows = rows.with_columns(pl.col("timed").fill_null(False))
    right = (
        pl.when(outcome == "unanswered")
        .then(None)
        .when(~pl.col("text").str.contains(r"\S").fill_null(False))
        .then(False)
        .when(votes == 0.5)
        .then(None)
        .when(votes.is_not_null())
        .then(votes > 0.5)
        .when(outcome == "refused")
        .then(False)
    )
    rows = rows.join(_votes(verdicts), on=["reader", "case", "mode", "timed"], how="left")
    return rows.select("reader", "case", "mode", right=right)


def _votes(verdicts: pl.DataFrame | None) -> pl.DataFrame:
    """By reply, of the judges that could be read the share for whom the answer is right."""
    import polars as pl

    if verdicts is None:
        columns = {"reader": pl.String, "case": pl.String, "mode": pl.String, "timed": pl.Boolean}
        return pl.DataFrame(schema=columns | {"votes": pl.Float64})

    def about(key: str, usual: str) -> pl.Expr:
        return pl.col("about").str.json_path_match(f"$.{key}").fill_null(usual)

    judged = verdicts.filter(
        (pl.col("question") == "answer")
        & (pl.col("outcome") == "judged")
        & ~pl.col("check").fill_null(False)
        & (about("image", "original") == "original")
        & (about("follow", "") == "")
        & (about("variant", "") == "")
    )
    match = pl.col("payload").str.json_path_match("$.match") == "true"
    reply = judged.group_by(
        "reader", "case", mode=about("mode", ""), timed=about("timed", "false") == "true"
    )
    return reply.agg(votes=match.fill_null(False).mean())


def _told(rights: pl.DataFrame) -> pl.DataFrame:
    """Where reasoning was asked for it decides, even if nothing can be said of it."""
    import polars as pl

    pair = ["reader", "case"]
    cot, direct = (
        rights.filter(pl.col("mode") == mode).select(*pair, pl.col("right").alias(mode))
        for mode in ("cot", "direct")
    )
    both = cot.with_columns(reasoned=True).join(direct, on=pair, how="full", coalesce=True)
    return both.select(
        *pair,
        right=pl.when(pl.col("reasoned").fill_null(False)).then("cot").otherwise("direct"),
        flipped=pl.col("cot") != pl.col("direct"),
    )


# ---------------------------------------------------------------- the cards


def cards(tables: Tables, chosen: Sequence[str], opened: Opened | None = None) -> Iterator[Card]:
    """The cards of these cases, in this order; a name that is no case's is passed over.

    Slides are what readers were shown: the item's own image, and the black and the other item's
    where these were asked.
    """
    own = shared.about_cases(msgspec.structs.replace(tables, answers=_main_answers(tables)), chosen)
    facts = facts_of(own.cases)
    readers = tuple(dict.fromkeys(reader.name for reader in tables.readers))
    marks = {one.reader: one for one in marks_of(readers, facts, own.answers, own.verdicts)}
    places = {case: place for place, case in enumerate(facts.cases)}
    return shared.deal(
        chosen,
        cases_in(own.cases),
        card_index(own),
        shared.facets_of(own, FACETS),
        title=lambda case: shared.title_of(case.question, case.case_id),
        texts=_card_texts,
        slides=lambda case: shared.slides_of(opened(case.case_id) if opened else (), _SLIDE_LABELS),
        said=lambda case, reader, right, flipped: _said_of(
            marks[reader], places[case.case_id], case, right, flipped
        ),
        conditions=_SLIDE_LABELS,
        steps=lambda case: (
            CardStep(kind=STEP_LABELS[step.type], text=step.text) for step in case.steps
        ),
    )


def _card_texts(case: M3Case) -> Iterator[tuple[str, str]]:
    # Results made elsewhere may be known by their number alone.
    if case.question:
        yield "question", case.question
    if case.answer:
        yield "right answer", case.answer


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
# Of the judge's words on a step; background is neither.
_RIGHT_MARKS: Final = {"Match": True, "Wrong": False}
_MODE_LABELS: Final = {"cot": "with reasoning", "direct": "direct"}
_FOLLOW_LABELS: Final = {
    "truncated": "after half of its reasoning",
    "answer_first": "answer before reasoning",
}


def _said_of(
    marks: Marks, place: int, case: M3Case, right: bool | None, flipped: bool | None
) -> Said:
    """The reader's answers in every mode, then its steps, as judges took them apart."""
    askings = sorted(marks.said, key=lambda asking: (not asking.plain, asking != COT, asking))
    asked = [asking for asking in askings if place in marks.said[asking]]
    given = [_answer_given(marks, asking, place) for asking in asked]
    gold, steps, lines = _steps_judged(marks, place, case) if COT in asked else ((), (), ())
    return Said(
        reader=marks.reader,
        # Words differ from reply to reply: an answer is another where it is right instead of wrong.
        answers=shared.with_changes(given, "original", lambda one: one.right),
        lines=lines,
        steps=steps,
        gold=gold,
        right=right,
        flipped=flipped,
    )


def _way_asked(asking: Asking) -> str:
    if asking.follow:
        return _FOLLOW_LABELS.get(asking.follow, asking.follow)
    return _MODE_LABELS.get(asking.mode, asking.mode)


def _answer_given(marks: Marks, asking: Asking, place: int) -> CardAnswer:
    """The final answer as a judge read it, and for how many it is right; or what became of it."""
    said = marks.said[asking][place]
    answer = partial(CardAnswer, shown=asking.image, asked=_way_asked(asking))
    words = said.text.strip()
    if said.outcome == "unanswered":
        return answer(text="unanswered")
    refused = "refused" if said.outcome == "refused" else ""
    if not words:
        return answer(text="a blank reply", right=False, note=refused)
    found = marks.judged_at("answer", asking, place)
    if not found:
        note = ", ".join(filter(None, (refused, "not judged")))
        return answer(text=cut(words, _MOST_CHARACTERS), note=note, reply=words)
    hits = [bool(value["match"]) for value in found.values()]
    read = next((str(v["final_answer"]) for v in found.values() if v.get("final_answer")), words)
    share, text = sum(hits) / len(hits), cut(read, _MOST_CHARACTERS)
    split = "" if share in (0, 1) else f"right for {sum(hits)} of {len(hits)} judges"
    return answer(
        text=text,
        right=None if share == 0.5 else share > 0.5,
        note=", ".join(filter(None, (refused, split))),
        reply=words if words != text else "",
    )


def _steps_judged(
    marks: Marks, place: int, case: M3Case
) -> tuple[tuple[CardStep, ...], tuple[CardStep, ...], tuple[tuple[str, str], ...]]:
    """Each gold step, there or missing; the reply's own with the judge's mark; what to know."""
    matched = marks.judged_at("recall", COT, place)
    given = marks.judged_at("precision", COT, place)
    if not matched and not given:
        return (), (), (("steps", "not judged"),)
    gold = []
    for number, step in enumerate(case.steps if matched else (), start=1):
        hits = [bool(value[number - 1]) for value in matched.values() if len(value) >= number]
        mark = _by_judges(hits, "there", "missing") if hits else "not judged"
        one_voice = hits and len(set(hits)) == 1
        gold.append(
            CardStep(kind=STEP_LABELS[step.type], mark=mark, right=hits[0] if one_voice else None)
        )
    if not given:
        return tuple(gold), (), ()
    judge, steps = next(iter(given.items()))
    counted = [step for step in steps if step["type"] in STEPS]
    match = sum(step["judgment"] == "Match" for step in counted)
    own = tuple(
        CardStep(
            kind=STEP_LABELS.get(str(step["type"]), STEP_LABELS["other"]),
            text=cut(str(step["text"])),
            mark=_mark(step, "no mark"),
            right=_RIGHT_MARKS.get(str(step["judgment"])),
        )
        for step in steps[:_MOST_STEPS]
    )
    who = cut(judge, _MOST_CHARACTERS)
    lines = [("its own steps", f"{match} of {len(counted)} match, as {who} took the reply apart")]
    if len(steps) > _MOST_STEPS:
        lines.append(("further steps", f"{len(steps) - _MOST_STEPS} are left out"))
    return tuple(gold), own, tuple(lines)


def _by_judges(hits: Sequence[bool], yes: str, no: str) -> str:
    """What judges say of one thing; of judges who differ, for how many it is so."""
    if all(hits) or not any(hits):
        return yes if hits[0] else no
    return f"{yes} for {sum(hits)} of {len(hits)} judges"


def _mark(step: Mapping[str, Any], unmarked: str) -> str:
    """The judge's word; steps that restate the question are in neither count."""
    said = step["judgment"]
    return unmarked if said is None else cut(str(said), 20)


# ---------------------------------------------------------------- gold steps beside a reader's own

_READERS: Final = 3
_WHICH: Final = {"best": 1.0, "middle": 0.5, "worst": 0.0}


class _View(NamedTuple):
    """A reply and what one judge made of it."""

    case: M3Case
    judge: str
    place: int
    steps: Sequence[Mapping[str, Any]]
    matched: Sequence[bool]

    @property
    def score(self) -> float:
        """The mean of precision and recall."""
        recall = sum(self.matched) / len(self.matched) if self.matched else 0.0
        return (recall + (precision_of(self.steps) or 0.0)) / 2


def case_views(tables: Tables, edition: Edition, signature: str) -> Iterator[Table]:
    """For the first readers, the case it did best on, one in the middle, and the worst."""
    if tables.verdicts is None or tables.verdicts.is_empty():
        return
    cases = cases_in(tables.cases)
    verdicts = reread(questions(edition), tables.verdicts, cases)
    readers = tuple(reader.name for reader in tables.readers)
    every = marks_of(readers, facts_of(tables.cases), tables.answers, verdicts)
    judged = ((marks, views) for marks in every if (views := _views(marks, cases)))
    for number, (marks, views) in enumerate(islice(judged, _READERS), start=1):
        chosen: dict[int, str] = {}
        for which, share in _WHICH.items():  # few cases are shown once each
            chosen.setdefault(round(share * (len(views) - 1)), which)
        for place, which in chosen.items():
            yield _table(f"case-{number}-{which}", which, views[place], marks, signature)


def _views(marks: Marks, cases: Mapping[str, M3Case]) -> list[_View]:
    """Replies that one judge, the first who did, judged both ways; the worst first."""
    for judge in marks.judges("precision", COT):
        steps = dict(marks.given("precision", COT, judge))
        matched = dict(marks.given("recall", COT, judge))
        views = [
            _View(cases[marks.facts.cases[place]], judge, place, steps[place], matched[place])
            for place in sorted(steps.keys() & matched.keys())
            if not marks.silent_at(COT, place)
        ]
        if views:
            return sorted(views, key=lambda view: (view.score, view.place))
    return []


def _table(name: str, which: str, view: _View, marks: Marks, signature: str) -> Table:
    case = view.case
    gold = [
        (STEP_LABELS[step.type], cut(step.text), "there" if hit else "missing")
        for step, hit in zip_longest(case.steps, view.matched[: len(case.steps)], fillvalue=False)
        if not isinstance(step, bool)
    ]
    other = STEP_LABELS["other"]
    own = [
        (STEP_LABELS.get(str(step["type"]), other), cut(str(step["text"])), _mark(step, "none"))
        for step in view.steps[:_MOST_STEPS]
    ]
    blank = ("", "", "")
    rows = [
        (str(number), *left, *right)
        for number, (left, right) in enumerate(zip_longest(gold, own, fillvalue=blank), start=1)
    ]
    return Table(
        name=name,
        title=f"Case {cut(case.case_id, 60)}, {which} of {marks.reader}: its steps beside the gold",
        columns=(
            *("", "gold step", "gold", "in the reply?"),
            *("reply's step", f"as {view.judge} took it apart", "mark"),
        ),
        rows=tuple(rows),
        signature=signature,
        notes=tuple(_notes(view, marks)),
    )


def _notes(view: _View, marks: Marks) -> Iterator[str]:
    case = view.case
    yield f"{case.task or 'No task'}, {case.kind}: {cut(case.question, 2 * CUT)}"
    read = [
        f"{judge} reads {cut(str(found['final_answer']), _MOST_CHARACTERS)!r}: "
        f"{'right' if found['match'] else 'wrong'}"
        for judge, found in marks.judged_at("answer", COT, view.place).items()
    ]
    answers = f"{'; '.join(read)}." if read else "Nobody judged the answer."
    yield f"Gold answer: {cut(case.answer)}. {answers}"
    paths = [
        f"{' > '.join(path_of(found)) or 'no category'} ({judge})"
        for judge, found in marks.judged_at("order", COT, view.place).items()
    ]
    if paths:
        yield f"Order of the reply: {'; '.join(paths)}."
    yield f"The reply begins: {cut(marks.said[COT][view.place].text)}"
    left = len(view.steps) - _MOST_STEPS
    more = f" {left} more steps are left out." if left > 0 else ""
    yield (
        f"Texts are cut after {CUT} characters, the question after {2 * CUT}. Match, Wrong and "
        f"N/A (background) are the judge's words.{more}"
    )
