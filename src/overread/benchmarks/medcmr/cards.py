"""Items as a person looks at them: cards with what every reader said, and some for the page."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from hashlib import blake2b
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeAlias

import msgspec

from overread.benchmarks.cards import (
    about_cases,
    deal,
    facet_values,
    index_of,
    rows_by_reader,
    slides_of,
    title_of,
)
from overread.benchmarks.exhibits.cells import CUT, cut
from overread.benchmarks.letter_parser import LETTERS
from overread.benchmarks.medcmr.cases import MedCase, cases_in
from overread.benchmarks.medcmr.edition import Edition
from overread.benchmarks.medcmr.verdict_parser import COMPONENTS, COMPONENTS_OF, GRIDS
from overread.case import Card, Said, Table, Trial

if TYPE_CHECKING:
    import polars as pl

    from overread.benchmarks.base import Tables


# ---------------------------------------------------------------- what a reader said
# What one reader said about one item: its choices, or its reasoning and the scores it got.

# By reader, case, form and image, and by judge: the raw scores; None where it cannot be read.
Scores: TypeAlias = Mapping[tuple[str, str, str, str], Mapping[str, Mapping[str, float] | None]]

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
    for judge, reader, case, question, told, check, outcome, payload in verdicts.select(
        columns
    ).iter_rows():
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
    rows: Sequence[Mapping[str, Any]],
    scores: Scores,
    right: bool | None,
    flipped: bool | None,
) -> Said:
    """Every reply to the item: as the set has it first, then other images, then other orders."""
    ordered = sorted(rows, key=_rank)
    lines: list[tuple[str, str]] = []
    for row in ordered:
        if row["form"] == "mcq":
            lines.append((_named(row), _choice(case, row)))
        else:
            given = scores.get((reader, case.case_id, row["form"], row["image"]), {})
            lines.extend(_opened(row, given))
    return Said(
        reader=reader, lines=tuple(lines), text=_words(ordered), right=right, flipped=flipped
    )


def _rank(row: Mapping[str, Any]) -> tuple[int, int, int]:
    forms, images = [*_FORMS], [*IMAGES]
    return (
        forms.index(row["form"]) if row["form"] in forms else len(forms),
        images.index(row["image"]) if row["image"] in images else len(images),
        row["order"] or 0,
    )


def _named(row: Mapping[str, Any]) -> str:
    """`choice, black image`, `choice, options turned by 2`."""
    name = _FORMS.get(row["form"], str(row["form"]))
    image = row["image"]
    parts = [name, *([] if image == "original" else [IMAGES.get(image, str(image))])]
    return ", ".join([*parts, *([f"options turned by {row['order']}"] if row["order"] else [])])


def _choice(case: MedCase, row: Mapping[str, Any]) -> str:
    """The option in the case's own letters, whatever order it was shown in."""
    if row["outcome"] != "answered" or row["choice"] is None:
        outcome = row["outcome"]
        if outcome != "unparsed":
            return str(outcome)
        return f"names no single option: “{cut(row['text'] or '', _OPTION)}”"
    choice = str(row["choice"])
    place = LETTERS.find(choice)
    words = case.options[place] if 0 <= place < len(case.options) else ""
    mark = "right" if choice == case.answer else "wrong"
    return f"{choice}) {cut(words, _OPTION)}: {mark}"


def _opened(
    row: Mapping[str, Any], given: Mapping[str, Mapping[str, float] | None]
) -> Iterator[tuple[str, str]]:
    name = _named(row)
    spoken = row["outcome"] in ("answered", "unparsed") and (row["text"] or "").strip()
    if not spoken:
        word = "a blank reply" if row["outcome"] in ("answered", "unparsed") else row["outcome"]
        yield name, f"{word}: scores 0"
        return
    answer = row["answer"] if row["outcome"] == "answered" else None
    yield name, cut(answer) if answer else "no answer section"
    if not given:
        yield f"scores of {name}", "not judged"
    for judge, raw in sorted(given.items()):
        yield f"scores of {name} by {cut(judge, _OPTION)}", _scored(raw)


def _scored(raw: Mapping[str, float] | None) -> str:
    """`clarity 1 of 1, coherence 0.5 of 1, visual 3 of 4, truth 2 of 4; S = 65`.

    S is the sum of what was given, in tenths, for the weights are the scales; without a score of
    what was seen (no caption) there is none.
    """
    if raw is None:
        return "could not be read"
    parts = [f"{one} {raw[one]:g} of {GRIDS[one][-1]:g}" for one in COMPONENTS if one in raw]
    if len(parts) < len(COMPONENTS):
        return f"{', '.join(parts)}; no S"
    return f"{', '.join(parts)}; S = {10 * sum(raw[one] for one in COMPONENTS):g} of 100"


def _words(rows: Sequence[Mapping[str, Any]]) -> str:
    """The first reply to the item's own images, where it is more than a letter."""
    own = [row for row in rows if row["image"] == "original" and not row["order"]]
    for row in own:
        text = (row["text"] or "").strip()
        if text and not (row["form"] == "mcq" and len(text) < _WORDS):
            return text
    return ""


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


def _facets(tables: Tables) -> pl.DataFrame:
    return facet_values(tables.cases, dict(zip(FACETS, FACETS, strict=True)))


def card_index(tables: Tables) -> pl.DataFrame:
    """A row for each case and reader that was asked about it: right, flipped and the facets."""
    import polars as pl

    keys = ["reader", "case"]
    truths = tables.cases.filter(pl.col("kind") == "mcq").select("case", truth="answer")
    chosen = tables.answers.filter(pl.col("form") == "mcq").select(
        *keys,
        "outcome",
        choice=pl.when(pl.col("outcome") == "answered").then(pl.col("choice")),
        own=(pl.col("image") == "original") & (pl.col("order").fill_null(0) == 0),
    )
    own = chosen.filter("own").unique(keys, keep="last", maintain_order=True)
    others = chosen.filter(~pl.col("own") & pl.col("choice").is_not_null())
    turned = (
        others.select(*keys, other="choice")
        .join(own.select(*keys, "choice").drop_nulls(), on=keys, how="inner")
        .group_by(keys)
        .agg(flipped=(pl.col("other") != pl.col("choice")).any())
    )
    replied = pl.col("outcome").is_in(["answered", "unparsed", "refused"])
    right = pl.col("choice").eq(pl.col("truth")).fill_null(False)
    told = (
        own.join(truths.unique("case", keep="first"), on="case", how="inner")
        .join(turned, on=keys, how="left")
        .select(*keys, pl.when(replied).then(right).alias("right"), "flipped")
    )
    return index_of(tables, _facets(tables), told)


def cards(tables: Tables, chosen: Sequence[str], opened: Opened | None = None) -> Iterator[Card]:
    """The cards of these cases, in this order; a name that is no case's is passed over.

    Slides are what readers were shown: the item's own images, and the black ones and another
    item's where these were asked. The caption is on the card, though no reader saw it.
    """
    own = about_cases(tables, chosen)
    scores, rows = scores_of(own.verdicts), rows_by_reader(own.answers, _COLUMNS)

    def said(case: MedCase, reader: str, right: bool | None, flipped: bool | None) -> Said:
        return said_of(reader, case, rows[case.case_id, reader], scores, right, flipped)

    return deal(
        chosen,
        {case.case_id: case for case in cases_in(own.cases)},
        card_index(own),
        _facets(own),
        title=lambda case: title_of(case.question, case.case_id),
        texts=_texts,
        slides=lambda case: slides_of(opened(case.case_id) if opened else (), IMAGES),
        said=said,
    )


def _texts(case: MedCase) -> Iterator[tuple[str, str]]:
    yield "question", case.question
    for letter, text in zip(LETTERS, case.options, strict=False):
        yield f"option {letter}{' (right)' if letter == case.answer else ''}", text
    if case.kind == "open":
        yield "true answer", case.answer
    if case.caption:
        yield "what experts wrote of the image (no reader saw it)", case.caption


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


_RowsSaid = Mapping[tuple[str, str, str], Mapping[str, Any]]
_Told = Callable[[MedCase, str, Mapping[str, Any]], tuple[str, ...]]


class _View(NamedTuple):
    """What the tables are made of: the first readers, what they said, and how it was scored."""

    readers: Sequence[str]
    said: _RowsSaid
    scores: Scores
    signature: str
    left: int

    def table(
        self,
        name: str,
        title: str,
        columns: Sequence[str],
        cases: Sequence[MedCase],
        head: Callable[[MedCase], tuple[str, ...]],
        told: _Told,
        notes: Iterable[str],
    ) -> Table:
        """A row for each case and reader; what is of the case stands in its first."""
        rows = []
        for case in cases:
            first = (_facts_of(case), cut(case.question, 2 * CUT), *head(case))
            for reader in self.readers:
                row = self.said.get((reader, case.case_id, case.kind))
                if row is not None:
                    rows.append((*first, reader, *told(case, reader, row)))
                    first = ("",) * len(first)
        return Table(
            name=name,
            title=title,
            columns=("item", "question", *columns),
            rows=tuple(rows),
            signature=self.signature,
            notes=tuple(notes),
        )


def case_views(tables: Tables, edition: Edition, signature: str) -> Iterator[Table]:
    """Multiple-choice items, then open ones; those that the first reader errs on come first."""
    readers = [reader.name for reader in tables.readers][:_FIRST_READERS]
    said = _rows_said(tables.answers, readers)
    left = len(tables.readers) - len(readers)
    view = _View(readers, said, scores_of(tables.verdicts), signature, left)
    cases = cases_in(tables.cases)
    for kind, make in (("mcq", _choices), ("open", _opens)):
        own = [
            case
            for case in cases
            if case.kind == kind and any((r, case.case_id, kind) in said for r in readers)
        ]
        if own:
            yield make(view, _chosen(view, own, edition.seed))


def _rows_said(answers: pl.DataFrame, readers: Sequence[str]) -> _RowsSaid:
    """What was said to the item as the set has it: by reader, case and form."""
    own = answers.filter(
        (answers["image"] == "original")
        & (answers["order"] == 0)
        & (answers["form"] != "reformulated")
        & answers["reader"].is_in(list(readers))
    )
    columns = ("reader", "case", "form", "outcome", "choice", "reasoning", "answer", "text")
    return {
        (row["reader"], row["case"], row["form"]): row
        for row in own.select(columns).iter_rows(named=True)
    }


def _chosen(view: _View, cases: Sequence[MedCase], seed: int) -> list[MedCase]:
    """A handful by lot: two thirds errors of the first reader, as far as there are any."""

    def lot(case: MedCase) -> bytes:
        return blake2b(f"{seed}|{case.case_id}".encode(), digest_size=8).digest()

    drawn = sorted(cases, key=lot)
    errors = [case for case in drawn if not _right(view, case)]
    others = [case for case in drawn if _right(view, case)]
    most = max(ITEMS - len(others), ITEMS - ITEMS // 3)
    kept = errors[:most]
    return [*kept, *others[: ITEMS - len(kept)]]


def _right(view: _View, case: MedCase) -> bool:
    """Whether the first reader is."""
    reader = view.readers[0]
    row = view.said.get((reader, case.case_id, case.kind))
    if row is None or row["outcome"] not in ("answered", "unparsed"):
        return False
    if case.kind == "mcq":
        return bool(row["choice"] == case.answer)
    given = view.scores.get((reader, case.case_id, "open", "original"), {}).values()
    truths = [one["truth"] for one in given if one is not None and "truth" in one]
    # Where nobody judged, nothing is known to be an error.
    return not truths or sum(truths) / len(truths) >= _RIGHT


def _facts_of(case: MedCase) -> str:
    said = [one for one in (case.dimension, case.modality, case.system) if one]
    return f"{cut(case.case_id, 60)}{': ' if said else ''}{', '.join(cut(s, 60) for s in said)}"


def _choices(view: _View, cases: Sequence[MedCase]) -> Table:
    def head(case: MedCase) -> tuple[str, ...]:
        options = " ".join(
            f"{letter}) {cut(text, _SHOWN_OPTION)}"
            for letter, text in zip(LETTERS, case.options, strict=False)
        )
        return options, f"{case.answer}) {cut(case.truth, _SHOWN_OPTION)}"

    return view.table(
        "cases_mcq",
        "Some multiple-choice items, errors first",
        ("options", "right", "reader", "chose", "so it is"),
        cases,
        head,
        lambda case, reader, row: _choice_cells(case, row),
        _notes("chose another option", view.left),
    )


def _choice_cells(case: MedCase, row: Mapping[str, Any]) -> tuple[str, str]:
    choice = row["choice"]
    if choice is None:
        text = cut(row["text"] or "", _SHOWN_OPTION)
        return text or "nothing", "invalid" if row["outcome"] == "unparsed" else row["outcome"]
    place = LETTERS.find(choice)
    words = case.options[place] if 0 <= place < len(case.options) else ""
    return f"{choice}) {cut(words, _SHOWN_OPTION)}", "right" if choice == case.answer else "wrong"


def _opens(view: _View, cases: Sequence[MedCase]) -> Table:
    def told(case: MedCase, reader: str, row: Mapping[str, Any]) -> tuple[str, ...]:
        reasoning = row["reasoning"] or ("" if row["answer"] else row["text"]) or ""
        words = (cut(reasoning), cut(row["answer"] or ""))
        if row["outcome"] not in ("answered", "unparsed"):
            words = ("", row["outcome"])
        return *words, _scores_in_percent(
            view.scores.get((reader, case.case_id, "open", "original"), {})
        )

    return view.table(
        "cases_open",
        "Some open items, errors first",
        ("true answer", "reader", "reasoning", "answer", "scores"),
        cases,
        lambda case: (cut(case.answer),),
        told,
        (
            "Scores: Con, Coh, VA, GT, each from 0 to 100, as the judge gave them.",
            *_notes("had less than half of the truth", view.left),
        ),
    )


def _scores_in_percent(given: Mapping[str, Mapping[str, float] | None]) -> str:
    """`judge: Con 100, Coh 50, VA 25, GT 0`."""
    said = [
        f"{judge}: "
        + ", ".join(
            f"{head} {100 * raw[name] / GRIDS[name][-1]:.0f}"
            for name, head in _HEADS.items()
            if raw.get(name) is not None
        )
        for judge, raw in given.items()
        if raw is not None
    ]
    return "; ".join(said) or "not judged"


def _notes(error: str, left: int) -> Iterator[str]:
    yield (
        f"Up to {ITEMS} items by lot, first those on which the first reader {error}: they show "
        "what its errors look like, not how many there are. Who gets the page gets these items."
    )
    if left > 0:
        yield f"The first {_FIRST_READERS} readers; {left} more are left out."
    yield (
        f"Texts are cut after {CUT} characters, the question after {2 * CUT}, options after "
        f"{_SHOWN_OPTION}."
    )
