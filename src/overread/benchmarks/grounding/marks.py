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

from overread.benchmarks.grounding.cases import BOXED_SOURCES, KEYED_BY_LABEL
from overread.benchmarks.grounding.edition import CONDITIONS, Edition, Options
from overread.benchmarks.grounding.prompts import NORMAL, SENTENCE_SOURCE
from overread.case import BadInput, Modality

if TYPE_CHECKING:
    import polars as pl

    from overread.benchmarks.benchmark import Tables

__all__ = ["NO_ROW", "REFUSED", "UNANSWERED", "UNPARSED", "Marks", "marks_of"]

Codes = NDArray[np.int8]
Mask = NDArray[np.bool_]

# An answer is 1 or 0; everything below is not an answer, and five different things.
UNPARSED: Final = -1
REFUSED: Final = -2
UNANSWERED: Final = -3
NO_ROW: Final = -4


class Marks(msgspec.Struct, frozen=True, kw_only=True):
    """One reader's answers (o, s, t, i in the protocol), the key y, and facts of the cases."""

    reader: str
    modality: Modality
    original: Codes
    swap: Codes
    target_mask: Codes
    irrelevant_mask: Codes
    truth: Codes
    boxed: Mask
    has_swap: Mask
    normal: Mask
    patients: NDArray[np.int64]
    # Where the cases stand in the reader's own file: the authors' bootstrap depends on it.
    order: NDArray[np.int64]

    def under(self, condition: str) -> Codes:
        """The answers under a condition."""
        codes: Codes = getattr(self, condition)
        return codes

    @property
    def correct(self) -> Mask:
        """C in the protocol: parsed, and right on the original."""
        right: Mask = (self.original >= 0) & (self.original == self.truth)
        return right


class _Facts(msgspec.Struct, frozen=True):
    truth: Codes
    boxed: Mask
    has_swap: Mask
    normal: Mask
    sentence: Mask
    patients: NDArray[np.int64]


def marks_of(tables: Tables, edition: Edition, options: Options) -> Iterator[Marks]:
    """The marks of every reader of a run, in the run's order."""
    answers = _indexed(tables, options)
    facts = _facts(tables.cases, edition)
    by_reader = {
        str(name): frame
        for (name,), frame in answers.partition_by(
            "reader", as_dict=True, maintain_order=True
        ).items()
    }
    for record in tables.readers:
        frame = by_reader.get(record.name, answers.clear())
        codes, order = _codes(frame, tables.cases.height, record.name)
        truth = facts.truth
        if record.traits.modality == "vision" and edition.vision_on_sentences == "no":
            # It answers "is the finding there", not "is the sentence right" [D23].
            for row in codes.values():
                row[facts.sentence] = NO_ROW
            order = order[~facts.sentence[order]]
            truth = np.where(facts.sentence, np.int8(-1), truth)
        yield Marks(
            reader=record.name,
            modality=record.traits.modality,
            truth=truth,
            boxed=facts.boxed,
            has_swap=facts.has_swap,
            normal=facts.normal,
            patients=facts.patients,
            order=order,
            **codes,
        )


def _indexed(tables: Tables, options: Options) -> pl.DataFrame:
    """The answers to the question that was asked, each with its case's place and its code."""
    import polars as pl

    asked = (
        (pl.col("phrasing") == options.phrasing)
        & (pl.col("px") == options.px)
        & (pl.col("repeat") == 0)
    )
    answers = tables.answers.filter(asked)
    if answers.is_empty() and not tables.answers.is_empty():
        raise BadInput(
            f"no answer was given to phrasing={options.phrasing} at px={options.px}. "
            "Measure with the settings the run was made with."
        )
    place = tables.cases.select("case").with_row_index("place")
    answers = answers.select("reader", "case", "image", "outcome", "answer", "recorded").join(
        place, on="case", how="left", maintain_order="left"
    )
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
) -> tuple[dict[str, Codes], NDArray[np.int64]]:
    """The codes by condition, and the places of the original answers in the order they stand."""
    import polars as pl

    codes: dict[str, Codes] = {}
    order = np.empty(0, dtype=np.int64)
    for condition in CONDITIONS:
        rows = answers.filter(pl.col("image") == condition)
        place = rows["place"].to_numpy().astype(np.int64)
        if np.unique(place).size != place.size:
            twice = rows.filter(pl.col("case").is_duplicated())["case"][0]
            raise BadInput(
                f'reader {reader} answers case "{twice}" more than once under {condition}. '
                "Keep one answer per case and condition."
            )
        codes[condition] = np.full(cases, NO_ROW, dtype=np.int8)
        codes[condition][place] = rows["code"].to_numpy()
        if condition == "original":
            # Our own replies come in as they are given; only a recorded file has an order.
            order = place if rows["recorded"].all() else np.sort(place)
    return codes, order


def _facts(cases: pl.DataFrame, edition: Edition) -> _Facts:
    """`truth` and `boxed` of cases.py, for all cases at once."""
    import polars as pl

    source = pl.col("source")
    sentence = source == SENTENCE_SOURCE
    normal = (pl.col("finding") == NORMAL).fill_null(False) & ~sentence
    label = pl.col("label")
    key = label if edition.normals == "yes" else pl.when(normal).then(1 - label).otherwise(label)
    has_box = pl.col("box_x").is_not_null()
    if edition.other_sources == "unkeyed":
        key = pl.when(source.is_in(list(KEYED_BY_LABEL))).then(key).otherwise(-1)
        has_box &= source.is_in(list(BOXED_SOURCES))
    key = pl.when(sentence).then(1 - pl.col("error_present")).otherwise(key)
    # A case without a patient's name counts as a patient of its own.
    patient = pl.coalesce("subject_id", pl.lit("\0") + pl.col("case"))
    frame = cases.select(
        truth=key.fill_null(-1).cast(pl.Int8),
        boxed=has_box,
        has_swap=pl.col("swap_image_path").is_not_null(),
        normal=normal,
        sentence=sentence,
        patients=patient.rank("dense").cast(pl.Int64),
    )
    columns: Mapping[str, NDArray[np.generic]] = {
        name: frame[name].to_numpy() for name in _Facts.__struct_fields__
    }
    return _Facts(**columns)  # type: ignore[arg-type]
