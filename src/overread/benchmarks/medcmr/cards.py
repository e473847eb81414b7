"""Cards: an item as a person looks at it, with what every reader said; and an index of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import msgspec

from overread.benchmarks.exhibits.cells import cut
from overread.benchmarks.medcmr.cases import LETTERS, MedCase, cases_in
from overread.benchmarks.medcmr.verdict_parser import COMPONENTS, COMPONENTS_OF, GRIDS
from overread.case import Card, Said, Slide, Trial

if TYPE_CHECKING:
    import polars as pl

    from overread.benchmarks.base import Tables
    from overread.benchmarks.medcmr.cases import MedCase

__all__ = [
    "FACETS",
    "IMAGES",
    "UNKNOWN",
    "Opened",
    "Scores",
    "card_index",
    "cards",
    "said_of",
    "scores_of",
]


# ---------------------------------------------------------------- what a reader said
# What one reader said about one item: its choices, or its reasoning and the scores it got.

# By reader, case, form and image, and by judge: the raw scores; None where it cannot be read.
Scores: TypeAlias = Mapping[tuple[str, str, str, str], Mapping[str, Mapping[str, float] | None]]

"""Characters of a reply on a card."""
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
UNKNOWN: Final = "not known"
_TITLE: Final = 100

# The trials of the case of this name for a reader that sees, where the benchmark was opened.
Opened = Callable[[str], Sequence[Trial]]


def card_index(tables: Tables) -> pl.DataFrame:
    """A row for each case and reader that was asked about it: right, flipped and the facets."""
    import polars as pl

    keys = ["reader", "case"]
    facts = tables.cases.select(
        "case",
        *(_facet(name) for name in FACETS),
        _answer=pl.when(pl.col("kind") == "mcq").then(pl.col("answer")),
    ).unique("case", keep="first", maintain_order=True)
    readers = pl.DataFrame(
        {"reader": [r.name for r in tables.readers]}, schema={"reader": pl.String}
    ).unique("reader", keep="first", maintain_order=True)
    index = tables.answers.select(keys).unique()
    index = index.join(readers.with_row_index("_reader"), on="reader", how="inner")
    index = index.join(facts.with_row_index("_case"), on="case", how="inner")
    chosen = tables.answers.filter(pl.col("form") == "mcq").select(
        *keys,
        "outcome",
        choice=pl.when(pl.col("outcome") == "answered").then(pl.col("choice")),
        own=(pl.col("image") == "original") & (pl.col("order").fill_null(0) == 0),
    )
    own = chosen.filter("own").unique(keys, keep="last", maintain_order=True).drop("own")
    others = chosen.filter(~pl.col("own") & pl.col("choice").is_not_null())
    turned = (
        others.select(*keys, other="choice")
        .join(own.select(*keys, "choice").drop_nulls(), on=keys, how="inner")
        .group_by(keys)
        .agg(flipped=(pl.col("other") != pl.col("choice")).any())
    )
    index = index.join(own, on=keys, how="left").join(turned, on=keys, how="left")
    replied = pl.col("outcome").is_in(["answered", "unparsed", "refused"])
    right = pl.col("choice").eq(pl.col("_answer")).fill_null(False)
    return index.sort("_case", "_reader").select(
        "case",
        "reader",
        pl.when(replied & pl.col("_answer").is_not_null()).then(right).alias("right"),
        "flipped",
        *FACETS,
    )


def _facet(name: str) -> pl.Expr:
    import polars as pl

    words = pl.col(name).cast(pl.String).fill_null("")
    return pl.when(words == "").then(pl.lit(UNKNOWN)).otherwise(words).alias(name)


# ---------------------------------------------------------------- the cards


def cards(tables: Tables, chosen: Sequence[str], opened: Opened | None = None) -> Iterator[Card]:
    """The cards of these cases, in this order; a name that is no case's is passed over.

    Slides are what readers were shown: the item's own images, and the black ones and another
    item's where these were asked. The caption is on the card, though no reader saw it.
    """
    import msgspec
    import polars as pl

    names = list(dict.fromkeys(chosen))
    among = pl.col("case").is_in(names)
    own = msgspec.structs.replace(
        tables,
        cases=tables.cases.filter(among),
        answers=tables.answers.filter(among),
        verdicts=None if tables.verdicts is None else tables.verdicts.filter(among),
    )
    told = {(row[0], row[1]): row[2:4] for row in card_index(own).iter_rows()}
    scores = scores_of(own.verdicts)
    rows: dict[tuple[str, str], list[dict[str, Any]]] = {}
    columns = (
        "reader", "case", "form", "image", "order", "outcome", "choice", "reasoning", "answer",
        "text",
    )  # fmt: skip
    for row in own.answers.select(columns).iter_rows(named=True):
        rows.setdefault((row["case"], row["reader"]), []).append(row)
    cases = {case.case_id: case for case in cases_in(own.cases)}
    readers = dict.fromkeys(reader.name for reader in tables.readers)
    for name in names:
        if name in cases:
            yield _card(cases[name], readers, rows, told, scores, opened)


def _card(
    case: MedCase,
    readers: dict[str, None],
    rows: dict[tuple[str, str], list[dict[str, Any]]],
    told: dict[tuple[Any, ...], tuple[Any, ...]],
    scores: Scores,
    opened: Opened | None,
) -> Card:
    name = case.case_id
    return Card(
        case=name,
        title=cut(case.question, _TITLE) or cut(name, _TITLE),
        facts={facet: getattr(case, facet) or UNKNOWN for facet in FACETS},
        texts=tuple(_texts(case)),
        slides=tuple(_slides(name, opened)),
        said=tuple(
            said_of(reader, case, rows[name, reader], scores, *told[name, reader])
            for reader in readers
            if (name, reader) in told
        ),
    )


def _texts(case: MedCase) -> Iterator[tuple[str, str]]:
    yield "question", case.question
    for letter, text in zip(LETTERS, case.options, strict=False):
        yield f"option {letter}{' (right)' if letter == case.answer else ''}", text
    if case.kind == "open":
        yield "true answer", case.answer
    if case.caption:
        yield "what experts wrote of the image (no reader saw it)", case.caption


def _slides(name: str, opened: Opened | None) -> Iterator[Slide]:
    seen: set[str] = set()
    for trial in opened(name) if opened is not None else ():
        image = str(trial.condition["image"])
        if image in seen:
            continue
        seen.add(image)
        pictures = trial.request.pictures
        for number, picture in enumerate(pictures, start=1):
            label = IMAGES.get(image, image)
            label = f"{label}, {number} of {len(pictures)}" if len(pictures) > 1 else label
            yield Slide(label=label, picture=picture)
