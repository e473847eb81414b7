"""The answers of one reader laid out over the cases, ready to be counted.

Every array has one element per case, in the order of the cases. A metric is then a mask and a
comparison, as its definition reads (GROUNDING 8).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Final

import msgspec
import numpy as np
from numpy.typing import NDArray

from overread.benchmarks.grounding.conditions import PAPER, image_of
from overread.benchmarks.grounding.edition import Edition, Options
from overread.benchmarks.grounding.facts import Codes, Facts, Mask, facts_of
from overread.case import BadInput, Modality
from overread.stats import Interval

if TYPE_CHECKING:
    import polars as pl

    from overread.benchmarks.benchmark import Tables

__all__ = [
    "AGAIN",
    "NO_ROW",
    "REFUSED",
    "UNANSWERED",
    "UNPARSED",
    "Marks",
    "marks_at",
    "marks_of",
]

# An answer is 1 or 0; everything below is not an answer, and five different things.
UNPARSED: Final = -1
REFUSED: Final = -2
UNANSWERED: Final = -3
NO_ROW: Final = -4

# The original asked again stands under this name.
AGAIN: Final = "repeat"


class Marks(msgspec.Struct, frozen=True, kw_only=True):
    """One reader's answers (o, s, t, i in the protocol), the key y, and facts of the cases."""

    reader: str
    modality: Modality
    codes: Mapping[str, Codes]
    truth: Codes
    # P(Yes) on the original; NaN where the reader gave none.
    p_yes: NDArray[np.float64]
    facts: Facts
    # Where the cases stand in the reader's own file: the authors' bootstrap depends on it.
    order: NDArray[np.int64]
    # Published bootstraps drawn beforehand, all at once, by the outcomes they are of.
    drawn: dict[bytes, Interval] = msgspec.field(default_factory=dict)

    def under(self, image: str) -> Codes:
        """The answers to an image, or to the original asked again ("repeat")."""
        found = self.codes.get(image)
        return np.full(self.truth.size, NO_ROW, dtype=np.int8) if found is None else found

    def asked(self, image: str) -> bool:
        return bool((self.under(image) > NO_ROW).any())

    @property
    def further(self) -> list[str]:
        """The images beyond the paper's four that were asked about."""
        return sorted(set(self.codes) - {*PAPER, AGAIN})

    @property
    def matched(self) -> list[str]:
        """The draws of a matched box among them."""
        return [image for image in self.further if image_of(image).kind == "matched"]

    @property
    def original(self) -> Codes:
        return self.under("original")

    @property
    def swap(self) -> Codes:
        return self.under("swap")

    @property
    def target_mask(self) -> Codes:
        return self.under("target_mask")

    @property
    def irrelevant_mask(self) -> Codes:
        return self.under("irrelevant_mask")

    @property
    def correct(self) -> Mask:
        """C in the protocol: parsed, and right on the original."""
        right: Mask = (self.original >= 0) & (self.original == self.truth)
        return right


def marks_of(tables: Tables, edition: Edition, options: Options) -> Iterator[Marks]:
    """The marks of every reader at the headline's resolution and phrasing, in the run's order."""
    found = marks_at(tables, edition, facts_of(tables.cases, edition), options.px, options.phrasing)
    if not any(marks.codes for marks in found) and not tables.answers.is_empty():
        raise BadInput(
            f"no answer was given to phrasing={options.phrasing} at px={options.px}. "
            "Measure with the settings the run was made with."
        )
    yield from found


def marks_at(tables: Tables, edition: Edition, facts: Facts, px: int, phrasing: str) -> list[Marks]:
    """The marks of every reader at one resolution and phrasing."""
    answers = _indexed(tables, px, phrasing)
    by_reader = {
        str(name): frame
        for (name,), frame in answers.partition_by(
            "reader", as_dict=True, maintain_order=True
        ).items()
    }
    return [
        _marks(record.name, record.traits.modality, by_reader.get(record.name), edition, facts)
        for record in tables.readers
    ]


def _marks(
    reader: str, modality: Modality, answers: pl.DataFrame | None, edition: Edition, facts: Facts
) -> Marks:
    codes: dict[str, Codes] = {}
    order = np.empty(0, dtype=np.int64)
    p_yes = np.full(facts.n, np.nan)
    if answers is not None:
        codes, order, p_yes = _codes(answers, facts.n, reader)
    truth = facts.truth
    if modality == "vision" and edition.vision_on_sentences == "no":
        # It answers "is the finding there", not "is the sentence right" [D23].
        for row in codes.values():
            row[facts.sentence] = NO_ROW
        order = order[~facts.sentence[order]]
        truth = np.where(facts.sentence, np.int8(-1), truth)
    return Marks(
        reader=reader,
        modality=modality,
        codes=codes,
        truth=truth,
        p_yes=p_yes,
        facts=facts,
        order=order,
    )


def _indexed(tables: Tables, px: int, phrasing: str) -> pl.DataFrame:
    """The answers to the question that was asked, each with its case's place and its code."""
    import polars as pl

    asked = (pl.col("phrasing") == phrasing) & (pl.col("px") == px) & (pl.col("repeat") <= 1)
    again = pl.col("repeat") == 1
    answers = tables.answers.filter(asked & (~again | (pl.col("image") == "original")))
    place = tables.cases.select("case").with_row_index("place")
    answers = answers.select(
        "reader",
        "case",
        "outcome",
        "answer",
        "recorded",
        "p_yes",
        image=pl.when(again).then(pl.lit(AGAIN)).otherwise(pl.col("image")),
    ).join(place, on="case", how="left", maintain_order="left")
    lost = answers.filter(pl.col("place").is_null())
    if not lost.is_empty():
        raise BadInput(f'the answers name case "{lost["case"][0]}", which is not among the cases.')
    code = pl.lit(UNANSWERED)
    for outcome, value in (("refused", REFUSED), ("unparsed", UNPARSED)):
        code = pl.when(pl.col("outcome") == outcome).then(value).otherwise(code)
    code = pl.when(pl.col("outcome") == "answered").then(pl.col("answer")).otherwise(code)
    return answers.with_columns(code.fill_null(UNPARSED).cast(pl.Int8).alias("code"))


def _codes(
    answers: pl.DataFrame, cases: int, reader: str
) -> tuple[dict[str, Codes], NDArray[np.int64], NDArray[np.float64]]:
    """The codes by image, the places of the original answers as they stand, and their P(Yes)."""
    codes: dict[str, Codes] = {}
    order = np.empty(0, dtype=np.int64)
    p_yes = np.full(cases, np.nan)
    parts = answers.partition_by("image", as_dict=True, maintain_order=True)
    for (image,), rows in parts.items():
        place = rows["place"].to_numpy().astype(np.int64)
        if np.unique(place).size != place.size:
            twice = rows["case"].filter(rows["case"].is_duplicated())[0]
            raise BadInput(
                f'reader {reader} answers case "{twice}" more than once under {image}. '
                "Keep one answer per case and condition."
            )
        codes[str(image)] = np.full(cases, NO_ROW, dtype=np.int8)
        codes[str(image)][place] = rows["code"].to_numpy()
        if image == PAPER[0]:
            # Our own replies come in as they are given; only a recorded file has an order.
            order = place if rows["recorded"].all() else np.sort(place)
            p_yes[place] = rows["p_yes"].fill_null(np.nan).to_numpy()
    return codes, order, p_yes
