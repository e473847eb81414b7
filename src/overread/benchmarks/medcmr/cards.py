"""Items as a person looks at them: cards with what every reader said, and some for the page."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from hashlib import blake2b
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import msgspec

from overread.benchmarks import cards as shared
from overread.benchmarks.base import Tables
from overread.benchmarks.exhibits.cells import CUT, cut
from overread.benchmarks.letter_parser import LETTERS
from overread.benchmarks.medcmr.cases import MedCase, cases_in
from overread.benchmarks.medcmr.edition import Edition
from overread.benchmarks.medcmr.verdict_parser import COMPONENTS, COMPONENTS_OF, GRIDS
from overread.case import Card, CardAnswer, CardOption, CardScore, Said, Table, Trial

if TYPE_CHECKING:
    import polars as pl


# ---------------------------------------------------------------- what a reader said of an item

# By reader, case, form and image, and by judge: the raw scores; None where it cannot be read.
Given: TypeAlias = Mapping[str, Mapping[str, float] | None]
Scores: TypeAlias = Mapping[tuple[str, str, str, str], Given]
Row: TypeAlias = Mapping[str, Any]

IMAGES: Final = {
    "original": "image",
    "blank": "black image",
    "swap": "another item's image",
    "text": "no image",
}
_FORMS: Final = {"mcq": "choice", "open": "answer", "reformulated": "answer without options"}
_WORDS: Final = 20  # a reply shorter than this says no more than its letter
_OPTION: Final = 120


def scores_of(verdicts: pl.DataFrame | None) -> Scores:
    """What judges gave; checks and changed material are left out."""
    found: dict[tuple[str, str, str, str], dict[str, Mapping[str, float] | None]] = {}
    if verdicts is None:
        return found
    columns = ("judge", "reader", "case", "question", "about", "check", "outcome", "payload")
    rows = verdicts.select(columns).iter_rows()
    for judge, reader, case, question, told, check, outcome, payload in rows:
        about = msgspec.json.decode(told)
        if check or about.get("variant") or question not in COMPONENTS_OF:
            continue
        read = outcome == "judged" and payload is not None
        place = (reader, case, str(about.get("form", "")), str(about.get("image", "original")))
        found.setdefault(place, {})[judge] = msgspec.json.decode(payload) if read else None
    return found


def said_of(
    reader: str,
    case: MedCase,
    rows: Sequence[Row],
    scores: Scores,
    right: bool | None,
    flipped: bool | None,
) -> Said:
    """Every reply to the item: as the set has it first, then other images, then other orders."""
    ordered = sorted(
        rows,
        key=lambda row: (
            _place(row["form"], _FORMS),
            _place(row["image"], IMAGES),
            row["order"] or 0,
        ),
    )
    answers = [
        _choice(case, row)
        if row["form"] == "mcq"
        else _opened(row, scores.get((reader, case.case_id, row["form"], row["image"]), {}))
        for row in ordered
    ]
    return Said(
        reader=reader,
        answers=shared.with_changes(answers, "original", lambda one: one.option or None),
        right=right,
        flipped=flipped,
    )


def _place(word: str, known: Mapping[str, str]) -> int:
    return [*known, word].index(word)


def _way_asked(row: Row) -> str:
    """`choice`, `choice, options turned by 2`."""
    form, order = row["form"], row["order"]
    name = _FORMS.get(form, str(form))
    return f"{name}, options turned by {order}" if order else name


def _choice(case: MedCase, row: Row) -> CardAnswer:
    """The option in the case's own letters, whatever order it was shown in."""
    shown, asked, words = row["image"], _way_asked(row), (row["text"] or "").strip()
    if row["outcome"] == "answered" and row["choice"] is not None:
        letter = str(row["choice"])
        return CardAnswer(
            shown=shown,
            asked=asked,
            text=_chosen_option(case, letter, _OPTION)[0],
            option=letter,
            right=letter == case.answer,
            reply=words if len(words) >= _WORDS else "",
        )
    replied = row["outcome"] == "unparsed"
    text = "names no single option" if replied else str(row["outcome"])
    wrong = False if replied or row["outcome"] == "refused" else None
    return CardAnswer(shown=shown, asked=asked, text=text, right=wrong, reply=words)


def _chosen_option(case: MedCase, letter: str, most: int) -> tuple[str, str]:
    """The option of a letter, cut, and whether it is right."""
    place = LETTERS.find(letter)
    words = case.options[place] if 0 <= place < len(case.options) else ""
    return f"{letter}) {cut(words, most)}", "right" if letter == case.answer else "wrong"


def _opened(row: Row, given: Given) -> CardAnswer:
    shown, asked, words = row["image"], _way_asked(row), (row["text"] or "").strip()
    replied = row["outcome"] in ("answered", "unparsed")
    if not replied or not words:
        text = "a blank reply" if replied else str(row["outcome"])
        return CardAnswer(shown=shown, asked=asked, text=text, note="scores 0")
    answer = row["answer"] if row["outcome"] == "answered" else None
    return CardAnswer(
        shown=shown,
        asked=asked,
        text=cut(answer) if answer else "no answer section",
        note="" if given else "not judged",
        reply=words,
        scores=tuple(_score(judge, raw) for judge, raw in sorted(given.items())),
    )


def _score(judge: str, raw: Mapping[str, float] | None) -> CardScore:
    """S is the sum of what was given, in tenths, for the weights are the scales; without a score of
    what was seen (no caption) there is none.
    """
    parts = [
        (one, float(raw[one]), float(GRIDS[one][-1])) for one in COMPONENTS if raw and one in raw
    ]
    whole = len(parts) == len(COMPONENTS)
    return CardScore(
        judge=cut(judge, _OPTION),
        parts=tuple(parts),
        total=10 * sum(value for _, value, _ in parts) if whole else None,
    )


# ---------------------------------------------------------------- cards
# Items one by one: images, question and options, and what every reader chose or wrote.
#
# `right`: of a multiple-choice item as the set has it, the right option was named. What names no
# single option and a refusal are not right; where no reply came it cannot be said, nor can it of an
# open item, which judges score and nobody calls right or wrong. `flipped`: the reader named another
# option when the image was black, another item's or left out, or when the options were turned;
# options are told by their texts, not by the letters they had. It needs an option named both ways.

FACETS: Final = ("kind", "dimension", "ability", "modality", "system")
"""What cards are filtered by."""

# The trials of the case of this name for a reader that sees, where the benchmark was opened.
Opened = Callable[[str], Sequence[Trial]]
_COLUMNS: Final = ("form", "image", "order", "outcome", "choice", "reasoning", "answer", "text")


def card_index(tables: Tables) -> pl.DataFrame:
    """A row for each case and reader that was asked about it: right, flipped and the facets."""
    import polars as pl

    truths = tables.cases.filter(pl.col("kind") == "mcq").select("case", truth="answer")
    truths = truths.unique("case", keep="first")
    asked = tables.scan("answers")

    def told(reader: str) -> pl.DataFrame:
        chosen = (
            asked.filter(reader=reader, form="mcq")
            .select(
                "case",
                "outcome",
                choice=pl.when(pl.col("outcome") == "answered").then(pl.col("choice")),
                own=(pl.col("image") == "original") & (pl.col("order").fill_null(0) == 0),
            )
            .collect()
        )
        own = chosen.filter("own").unique("case", keep="last", maintain_order=True)
        others = chosen.filter(~pl.col("own") & pl.col("choice").is_not_null())
        turned = (
            others.select("case", other="choice")
            .join(own.select("case", "choice").drop_nulls(), on="case", how="inner")
            .group_by("case")
            .agg(flipped=(pl.col("other") != pl.col("choice")).any())
        )
        replied = pl.col("outcome").is_in(["answered", "unparsed", "refused"])
        right = pl.col("choice").eq(pl.col("truth")).fill_null(False)
        return (
            own.join(truths, on="case", how="inner")
            .join(turned, on="case", how="left")
            .select("case", pl.when(replied).then(right).alias("right"), "flipped")
        )

    return shared.index_of(tables, shared.facets_of(tables, FACETS), told)


def cards(tables: Tables, chosen: Sequence[str], opened: Opened | None = None) -> Iterator[Card]:
    """The cards of these cases, in this order; a name that is no case's is passed over.

    Slides are what readers were shown: the item's own images, and the black ones and another
    item's where these were asked. The caption is on the card, though no reader saw it.
    """
    own = shared.about_cases(tables, chosen)
    scores = scores_of(own.verdicts)
    rows = shared.rows_by_reader(own.answers, _COLUMNS)

    def said(case: MedCase, reader: str, right: bool | None, flipped: bool | None) -> Said:
        return said_of(reader, case, rows[case.case_id, reader], scores, right, flipped)

    return shared.deal(
        chosen,
        cases_in(own.cases),
        card_index(own),
        shared.facets_of(own, FACETS),
        title=lambda case: shared.title_of(case.question, case.case_id),
        texts=_texts,
        slides=lambda case: shared.slides_of(opened(case.case_id) if opened else (), IMAGES),
        said=said,
        conditions=IMAGES,
        options=lambda case: (
            CardOption(key=letter, text=text, right=letter == case.answer)
            for letter, text in zip(LETTERS, case.options, strict=False)
        ),
    )


def _texts(case: MedCase) -> Iterator[tuple[str, str]]:
    yield "question", case.question
    if case.kind == "open":
        yield "true answer", case.answer
    if case.caption:
        yield "what experts wrote of the image (not shown to those who answered)", case.caption


# ---------------------------------------------------------------- some items on the page
# A handful of items with what readers said of them: errors first.
#
# All words are other people's: they are cut, and shown without what would act on the text around
# them. The page escapes them.

ITEMS: Final = 6
"""Items of each kind that are shown."""
_FIRST_READERS: Final = 6
_SHOWN_OPTION: Final = 80
_HEADS: Final = {"clarity": "Con", "coherence": "Coh", "visual": "VA", "truth": "GT"}
# The score of truth below which an open answer is an error.
_RIGHT: Final = GRIDS["truth"][-1] / 2


# How items of each kind are shown: the title, columns, what an error is, and notes.
_KINDS: Final = {
    "mcq": (
        "Some multiple-choice items, errors first",
        ("item", "question", "options", "right", "reader", "chose", "so it is"),
        "chose another option",
        (),
    ),
    "open": (
        "Some open items, errors first",
        ("item", "question", "true answer", "reader", "reasoning", "answer", "scores"),
        "had less than half of the truth",
        ("Scores: Con, Coh, VA, GT, each from 0 to 100, as the judge gave them.",),
    ),
}


def case_views(tables: Tables, edition: Edition, signature: str) -> Iterator[Table]:
    """Multiple-choice items, then open ones; those that the first reader errs on come first."""
    import polars as pl

    readers = [reader.name for reader in tables.readers][:_FIRST_READERS]
    left = len(tables.readers) - len(readers)
    plainly = (
        pl.col("image").eq("original")
        & pl.col("order").eq(0)
        & pl.col("form").ne("reformulated")
        & pl.col("reader").is_in(readers)
    )
    # Texts are looked at of the few that are drawn, and of no other.
    read = ("reader", "case", "form", "outcome", "choice")
    asked = tables.scan("answers").filter(plainly).select(read).collect()
    for kind, (title, columns, error, told) in _KINDS.items():
        own = asked.filter(form=kind)
        items = tables.cases.filter(
            pl.col("kind") == kind, pl.col("case").is_in(own["case"].implode())
        )
        first_said = own.filter(reader=readers[0]) if readers else own
        right = _right_on(kind, items, first_said, tables.verdicts)
        drawn = _drawn(items["case"].to_list(), right, edition.seed)
        few = shared.about_cases(tables, drawn)
        said = _rows_said(few.answers.filter(plainly))
        scores, cases = scores_of(few.verdicts), cases_in(few.cases)
        rows: list[tuple[str, ...]] = []
        for case in (cases[name] for name in drawn):
            # What is of the case stands in its first row.
            first = (_facts_of(case), cut(case.question, 2 * CUT), *_case_cells(case))
            for reader in readers:
                if (row := said.get((reader, case.case_id, kind))) is not None:
                    given = scores.get((reader, case.case_id, "open", "original"), {})
                    rows.append((*first, reader, *_reply_cells(case, row, given)))
                    first = ("",) * len(first)
        if rows:
            yield Table(
                name=f"cases_{kind}",
                title=title,
                columns=columns,
                rows=tuple(rows),
                signature=signature,
                notes=(*told, *_notes(error, left)),
            )


def _rows_said(answers: pl.DataFrame) -> dict[tuple[str, str, str], Row]:
    """These answers by reader, case and form."""
    kept = answers.select("reader", "case", *_COLUMNS).iter_rows(named=True)
    return {(row["reader"], row["case"], row["form"]): row for row in kept}


def _drawn(cases: Sequence[str], right: Set[str], seed: int) -> list[str]:
    """A handful by lot: two thirds errors of the first reader, as far as there are any."""

    def lot(case: str) -> bytes:
        return blake2b(f"{seed}|{case}".encode(), digest_size=8).digest()

    drawn = sorted(cases, key=lot)
    errors = [case for case in drawn if case not in right]
    others = [case for case in drawn if case in right]
    kept = errors[: max(ITEMS - len(others), ITEMS - ITEMS // 3)]
    return [*kept, *others[: ITEMS - len(kept)]]


def _right_on(
    kind: str, items: pl.DataFrame, said: pl.DataFrame, verdicts: pl.DataFrame | None
) -> frozenset[str]:
    """The items of a kind that a reader's answers, one to each, are right on."""
    import polars as pl

    said = said.unique("case", keep="last").filter(
        pl.col("outcome").is_in(["answered", "unparsed"])
    )
    if kind == "mcq":
        both = said.join(items.select("case", "answer"), on="case")
        return frozenset(both.filter(pl.col("choice") == pl.col("answer"))["case"])
    right = frozenset(said["case"])
    if verdicts is None or said.is_empty():
        return right
    wrong = set()
    for (_, case, form, image), given in scores_of(
        verdicts.filter(reader=said["reader"][0])
    ).items():
        truths = [one["truth"] for one in given.values() if one is not None and "truth" in one]
        # Where nobody judged, nothing is known to be an error.
        low = bool(truths) and sum(truths) / len(truths) < _RIGHT
        if low and (form, image) == ("open", "original"):
            wrong.add(case)
    return right - wrong


def _facts_of(case: MedCase) -> str:
    said = [cut(one, 60) for one in (case.dimension, case.modality, case.system) if one]
    return f"{cut(case.case_id, 60)}{': ' if said else ''}{', '.join(said)}"


def _case_cells(case: MedCase) -> tuple[str, ...]:
    if case.kind == "open":
        return (cut(case.answer),)
    options = [_chosen_option(case, one, _SHOWN_OPTION)[0] for one in LETTERS[: len(case.options)]]
    return " ".join(options), _chosen_option(case, case.answer, _SHOWN_OPTION)[0]


def _reply_cells(case: MedCase, row: Row, given: Given) -> tuple[str, ...]:
    outcome, text, answer = row["outcome"], row["text"] or "", row["answer"] or ""
    if case.kind == "mcq":
        if row["choice"] is not None:
            return _chosen_option(case, row["choice"], _SHOWN_OPTION)
        said = cut(text, _SHOWN_OPTION) or "nothing"
        return said, "invalid" if outcome == "unparsed" else outcome
    scores = _scores_in_percent(given)
    if outcome not in ("answered", "unparsed"):
        return "", outcome, scores
    return cut(row["reasoning"] or ("" if answer else text)), cut(answer), scores


def _scores_in_percent(given: Given) -> str:
    """`judge: Con 100, Coh 50, VA 25, GT 0`."""
    said = []
    for judge, raw in given.items():
        if raw is not None:
            parts = [
                f"{head} {100 * raw[name] / GRIDS[name][-1]:.0f}"
                for name, head in _HEADS.items()
                if name in raw
            ]
            said.append(f"{judge}: {', '.join(parts)}")
    return "; ".join(said) or "not judged"


def _notes(error: str, left: int) -> Iterator[str]:
    yield (
        f"Up to {ITEMS} items by lot, first those on which the first model {error}: they show "
        "what its errors look like, not how many there are. Who gets the page gets these items."
    )
    if left > 0:
        yield f"The first {_FIRST_READERS} models; {left} more are left out."
    yield (
        f"Texts are cut after {CUT} characters, the question after {2 * CUT}, options after "
        f"{_SHOWN_OPTION}."
    )
