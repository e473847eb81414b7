"""Cases one by one: the pictures side by side, and what every reader made of each.

`right`: the answer to the original is the right one under the edition. `flipped`: the target mask
changed the answer to the original, whatever was right. Both need answers that could be read, and
`right` a key; otherwise neither can be said. And right answers that stayed when the finding was
hidden, for a person to look at.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import msgspec

from overread.benchmarks.cards import (
    about_cases,
    deal,
    facet_values,
    index_of,
    rows_by_reader,
    with_changes,
)
from overread.benchmarks.grounding.answers import RECORDED
from overread.benchmarks.grounding.build.manifest import write_rows
from overread.benchmarks.grounding.cases import GroundingCase, boxed
from overread.benchmarks.grounding.conditions import FILLS, MOST_DRAWS
from overread.benchmarks.grounding.edition import Edition, Options
from overread.benchmarks.grounding.prompts import SENTENCE_SOURCE, display, question
from overread.case import BadInput, Card, CardAnswer, Said, Slide, Trial
from overread.imaging import at_resolution
from overread.typeset import guarded

if TYPE_CHECKING:
    import polars as pl

    from overread.benchmarks.base import Tables


FACETS: Final = ("finding", "view", "sex", "label", "source")
"""What cards are filtered by; `label` is the right answer under the edition."""

_LABELS: Final = {1: "Yes", 0: "No"}
_WORDS: Final = frozenset(_LABELS.values())
_IMAGE_NAMES: Final = {
    "original": "original",
    "target_mask": "finding covered",
    "irrelevant_mask": "covered elsewhere",
    **{
        f"matched_{draw}": "covered elsewhere in the body" + (f", {draw}" if draw > 1 else "")
        for draw in range(1, MOST_DRAWS + 1)
    },
    "swap": "another patient's image, same finding and label",
    "opposite_swap": "another patient's image, opposite label",
    "blank": "black image",
    "no_image": "no image",
    **{f"target_{fill}": f"finding covered: {fill}" for fill in FILLS},
    **{f"irrelevant_{fill}": f"covered elsewhere: {fill}" for fill in FILLS},
}
# What has no place for the finding's box.
_NOT_THE_FILM: Final = frozenset({"swap", "opposite_swap", "blank"})
_MOST_SLIDES: Final = 8
_SHORT_REPLY: Final = 20  # a reply shorter than this says no more than its answer

# The case of this name and its trials for a reader that sees, where the benchmark was opened.
Opened = Callable[[str], tuple[GroundingCase, Sequence[Trial]] | None]


def card_index(tables: Tables, edition: Edition, options: Options) -> pl.DataFrame:
    """A row for each case and reader that was asked about it: right, flipped and the facets."""
    import polars as pl

    asked = _headline_answers(tables, edition, options)
    code = pl.when(pl.col("outcome") == "answered").then(pl.col("answer"))
    keys = ("reader", "case")

    def under(image: str) -> pl.DataFrame:
        rows = asked.filter((pl.col("image") == image) & (pl.col("repeat") == 0))
        return rows.unique(keys, keep="first", maintain_order=True).select(*keys, code.alias(image))

    truth = tables.cases.select("case", truth=_keys(tables.cases, edition))
    told = asked.select(keys).unique().join(truth, on="case")
    for image in ("original", "target_mask"):
        told = told.join(under(image), on=keys, how="left")
    right = pl.when(pl.col("truth") >= 0).then(pl.col("original") == pl.col("truth"))
    flipped = pl.col("original") != pl.col("target_mask")
    told = told.select(*keys, right=right, flipped=flipped)
    return index_of(tables, _facets(tables.cases, edition), told, asked)


def _headline_answers(tables: Tables, edition: Edition, options: Options) -> pl.DataFrame:
    """The answers to the headline's question; a reader without text is not asked of sentences."""
    import polars as pl

    asked = tables.answers.filter(
        (pl.col("phrasing") == options.phrasing) & (pl.col("px") == options.px)
    )
    blind = [r.name for r in tables.readers if r.traits.modality == "vision"]
    if not blind or edition.vision_on_sentences == "yes":
        return asked
    sentences = tables.cases.filter(pl.col("source") == SENTENCE_SOURCE)["case"]
    of_them = pl.col("reader").is_in(blind) & pl.col("case").is_in(sentences.implode())
    return asked.filter(~of_them)


def _facets(cases: pl.DataFrame, edition: Edition) -> pl.DataFrame:
    """The facets of the cases as words; `label` is the key."""
    import polars as pl

    label = _keys(cases, edition).replace_strict(_LABELS, default="no key", return_dtype=pl.String)
    columns = {name: name for name in FACETS} | {"sex": "gender", "label": "key"}
    return facet_values(cases.with_columns(key=label), columns)


def _keys(cases: pl.DataFrame, edition: Edition) -> pl.Series:
    """The right answer to each case; -1 where there is no key."""
    import polars as pl

    from overread.benchmarks.grounding.marks import facts_of

    return pl.Series("key", facts_of(cases, edition).truth)


# ---------------------------------------------------------------- the cards


def cards(
    tables: Tables,
    chosen: Sequence[str],
    edition: Edition,
    options: Options,
    opened: Opened,
    misplaced: frozenset[str],
) -> Iterator[Card]:
    """The cards of these cases, in this order; a name that is no case's is passed over.

    Slides are what readers were shown, the conditions of the paper first. `misplaced` are controls
    that were shown films they were not made for.
    """
    own = about_cases(tables, chosen)
    facets = _facets(own.cases, edition)
    labels = dict(facets.select("case", "label").iter_rows())
    columns = ("image", "repeat", "outcome", "answer", "p_yes", "p_reason", "text")
    answers = rows_by_reader(_headline_answers(own, edition, options), columns)

    def said(row: dict[str, Any], reader: str, right: bool | None, flipped: bool | None) -> Said:
        lines = (("control", "made for phantoms"),) if reader in misplaced else ()
        given = _answers_given(answers[row["case"], reader], labels[row["case"]])
        return Said(reader=reader, answers=given, lines=lines, right=right, flipped=flipped)

    return deal(
        chosen,
        {row["case"]: row for row in own.cases.iter_rows(named=True)},
        card_index(own, edition, options),
        facets,
        title=_card_title,
        texts=lambda row: _card_texts(row, labels[row["case"]], options),
        slides=lambda row: _slides(row["case"], edition, options, opened),
        said=said,
        conditions=_IMAGE_NAMES,
    )


def _card_title(row: dict[str, Any]) -> str:
    if row["source"] == SENTENCE_SOURCE:
        return "a sentence of a report"
    return display(row["finding"]) if row["finding"] else row["case"]


def _card_texts(row: dict[str, Any], label: str, options: Options) -> Iterator[tuple[str, str]]:
    if row["finding"] or row["source"] == SENTENCE_SOURCE:
        words = row["error_sentence"]
        yield "question", question(row["source"], row["finding"], words, options.phrasing)
    yield "right answer", label
    for column, name in (("error_type", "injected error"), ("original_sentence", "the report has")):
        if row[column]:
            yield name, row[column]


def _answers_given(rows: Sequence[dict[str, Any]], label: str) -> tuple[CardAnswer, ...]:
    """What a reader answered under each condition, and to the original when it was asked again."""
    first = {row["image"]: row for row in reversed(rows) if row["repeat"] == 0}
    others = sorted(set(first) - set(_IMAGE_NAMES))
    order = [image for image in (*_IMAGE_NAMES, *others) if image in first]
    # Another patient's image has a key of its own; what is covered keeps that of the film.
    given = [_answer(first[image], label if image == "original" else None) for image in order]
    again = next((row for row in rows if row["repeat"] > 0 and row["image"] == "original"), None)
    if again is not None:
        given.append(_answer(again, None, "asked again"))
    return with_changes(given, "original", lambda one: one.text if one.text in _WORDS else None)


def _answer(row: dict[str, Any], label: str | None, asked: str = "") -> CardAnswer:
    """The answer and how sure it was of it, where it said so; else what became of the trial."""
    answer, text = row["answer"], (row["text"] or "").strip()
    shown = str(row["image"])
    if row["outcome"] != "answered" or answer is None:
        # An answer that is none is unparsed, as it is in the measures.
        word = "unparsed" if row["outcome"] == "answered" else str(row["outcome"])
        return CardAnswer(shown=shown, text=word, asked=asked, reply=text)
    word, sure = _LABELS.get(answer, str(answer)), None
    if row["p_yes"] is not None and row["p_reason"] in (None, RECORDED):
        sure = row["p_yes"] if answer == 1 else 1 - row["p_yes"]
    return CardAnswer(
        shown=shown,
        text=word,
        asked=asked,
        sure=sure,
        right=word == label if label in _WORDS else None,
        reply="" if len(text) < _SHORT_REPLY else text,
    )


def _image_name(image: str) -> str:
    return _IMAGE_NAMES.get(image, image.replace("_", " "))


# ---------------------------------------------------------------- the pictures


def _slides(name: str, edition: Edition, options: Options, opened: Opened) -> Iterator[Slide]:
    found = opened(name)
    if found is None:
        return
    case, trials = found
    pictures = {
        str(trial.condition["image"]): trial.request.pictures
        for trial in trials
        if trial.condition["px"] == options.px
        and trial.condition["phrasing"] == options.phrasing
        and trial.repeat == 0
    }
    targets = case.targets if boxed(case, edition) else ()
    findings = tuple(("finding", at_resolution(box, options.px)) for box in targets)
    known = [image for image in _IMAGE_NAMES if image in pictures]
    others = sorted(set(pictures) - set(known))
    for image in (*known, *others)[:_MOST_SLIDES]:
        for picture in pictures[image]:
            boxes = () if image in _NOT_THE_FILM else findings
            yield Slide(label=_image_name(image), picture=picture, boxes=boxes, shown=image)


# ---------------------------------------------------------------- answers for a person to look at
# Each was given for another reason than what the box shows: a prior, the rest of the film, or a box
# that misses part of the finding. Which, only a person can tell.


class ReviewRow(msgspec.Struct, frozen=True, kw_only=True):
    """One answer; the fields are the columns of the sheet, the last two for the person."""

    case: str
    reader: str
    finding: str
    view: str
    image: str
    # `x y w h` at the working resolution.
    box: str
    question: str
    reply: str
    reply_with_the_finding_hidden: str
    label: str = ""
    note: str = ""


def ungrounded(
    tables: Tables, reader: str, n: int, seed: int, edition: Edition, options: Options
) -> list[ReviewRow]:
    """The reader's correct Yes that the target mask left: at most n of each finding, by lot.

    The same run and seed give the same rows, and fewer rows are a part of more.
    """
    import polars as pl

    from overread.benchmarks.grounding.marks import facts_of, marks_at

    names = [one.name for one in tables.readers]
    if reader not in names:
        raise BadInput(f'reader is "{reader}"; the readers of this run are {", ".join(names)}.')
    if n < 1:
        raise BadInput(f"{n} answers of a finding are asked for; give 1 or more.")
    every = marks_at(tables, edition, facts_of(tables.cases, edition), options.px, options.phrasing)
    marks = every[names.index(reader)]
    stayed = marks.said_yes & (marks.target_mask == 1)
    own = (pl.col("reader") == reader) & (pl.col("repeat") == 0)
    said = _headline_answers(tables, edition, options).filter(own).select("case", "image", "text")
    replies = {(case, image): text or "" for case, image, text in said.iter_rows()}
    pools: dict[str, list[dict[str, Any]]] = {}
    for row, left in zip(tables.cases.iter_rows(named=True), stayed, strict=True):
        if left:
            pools.setdefault(row["finding"] or "", []).append(row)

    def by_lot(row: dict[str, Any]) -> bytes:
        return blake2b(f"{seed}|{row['case']}".encode(), digest_size=16).digest()

    return [
        ReviewRow(
            case=row["case"],
            reader=reader,
            finding=finding,
            view=row["view"] or "",
            image=row["image_path"],
            box=" ".join(str(row[f"box_{side}"]) for side in "xywh"),
            question=question(row["source"], finding, None, options.phrasing),
            reply=replies.get((row["case"], "original"), ""),
            reply_with_the_finding_hidden=replies.get((row["case"], "target_mask"), ""),
        )
        for finding in sorted(pools)
        for row in sorted(pools[finding], key=by_lot)[:n]
    ]


def write_review(path: Path, rows: Sequence[ReviewRow]) -> None:
    columns = ReviewRow.__struct_fields__
    write_rows(path, columns, ([guarded(getattr(row, name)) for name in columns] for row in rows))
