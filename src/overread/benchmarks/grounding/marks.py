"""A run as arrays: the facts of its cases, and the answers of each reader laid out over them.

Every array has one element per case, in the order of the cases. A metric is then a mask and a
comparison, as its definition reads (GROUNDING 8).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Final

import msgspec
import numpy as np
from numpy.typing import NDArray

from overread.benchmarks.grounding.cases import (
    BOXED_SOURCES,
    CONTROL,
    ERROR_GROUPS,
    KEYED_BY_LABEL,
    error_name,
    group_of,
)
from overread.benchmarks.grounding.conditions import PAPER, image_of
from overread.benchmarks.grounding.edition import Edition, Options
from overread.benchmarks.grounding.prompts import NORMAL, SENTENCE_SOURCE
from overread.case import BadInput, Modality
from overread.measuring.arrays import Group, RunArrays, Words
from overread.measuring.estimates import Floats, Ints, Mask, Resampling
from overread.stats import Interval

if TYPE_CHECKING:
    import polars as pl

    from overread.benchmarks.base import ReaderRecord, Tables


Codes = NDArray[np.int8]

# ---------------------------------------------------------------- the cases

# (GROUNDING 8.) A film taken at exactly 70 stands in the third bin; the paper's label hides it.
_AGES: Final = (0, 50, 70, 200)
_AGE_NAMES: Final = {
    "published": ("<50", "50-70", ">70"),
    "exact": ("<50", "[50,70)", ">=70"),
}
_VIEWS: Final = ("PA", "AP")
_SEXES: Final = ("M", "F")


class Facts(msgspec.Struct, frozen=True, kw_only=True):
    """What is true of the cases under one edition: the key y, who has a box, whose image it is."""

    truth: Codes
    boxed: Mask
    has_swap: Mask
    # A swapped image that could not be matched on the label is another intervention [D22].
    swap_counts: Mask
    # An irrelevant box that hides some of the finding controls for nothing.
    control_counts: Mask
    normal: Mask
    sentence: Mask
    patients: Ints

    @property
    def n(self) -> int:
        return int(self.truth.size)


def facts_of(cases: pl.DataFrame, edition: Edition) -> Facts:
    """`truth` and `boxed` of cases.py for all cases at once."""
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
    matched = pl.lit(True)
    if edition.fallback_swaps == "leave_out":
        matched = (pl.col("swap_match") != "any").fill_null(True)
    clean = pl.lit(True)
    if edition.overlapping_controls == "leave_out":
        clean = (pl.col("overlap") == 0).fill_null(True)
    # Without a patient's name an image is a patient of its own; as published, every case is.
    own = pl.col("image_path" if edition.robust else "case")
    patient = pl.coalesce("subject_id", pl.lit("\0") + own)
    frame = cases.select(
        truth=key.fill_null(-1).cast(pl.Int8),
        boxed=has_box,
        has_swap=pl.col("swap_image_path").is_not_null(),
        swap_counts=matched,
        control_counts=clean,
        normal=normal,
        sentence=sentence,
        patients=patient.rank("dense").cast(pl.Int64) - 1,
    )
    return Facts(**{name: frame[name].to_numpy() for name in frame.columns})


def age_names(edition: Edition) -> tuple[str, ...]:
    """What the edition calls the three bins of age."""
    return _AGE_NAMES[edition.age_names]


def columns_of_cases(cases: pl.DataFrame, edition: Edition) -> dict[str, Words]:
    """What rates are given by: a word for each case, "" where it is of no group."""
    pairs = list(zip(cases["error_type"], cases["error_present"], strict=True))
    groups = [group_of(*pair) for pair in pairs]
    # Errors by their type under one name each.
    types = [
        error_name(text) if text and group not in (None, CONTROL) else None
        for (text, _), group in zip(pairs, groups, strict=True)
    ]
    ages = cases["age"].cast(float).fill_null(np.nan).to_numpy()
    bins = np.full(ages.size, "", dtype="<U16")
    for name, (low, high) in zip(age_names(edition), pairwise(_AGES), strict=True):
        bins[(ages >= low) & (ages < high)] = name
    return {
        "source": _words(cases["source"]),
        "finding": _words(cases["finding"]),
        "view": _words(cases["view"], _VIEWS),
        "sex": _words(cases["gender"], _SEXES),
        "age": bins,
        "label": _words(cases["label"].cast(str)),
        "error_group": _words(groups),
        "error_type": _words(types),
    }


def _words(values: pl.Series | Sequence[str | None], known: tuple[str, ...] | None = None) -> Words:
    kept = [value if value and (known is None or value in known) else "" for value in values]
    return np.array(kept, dtype=np.str_)


# ---------------------------------------------------------------- the answers of a reader

# An answer is 1 or 0; everything below is not an answer, and four different things.
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
    p_yes: Floats
    facts: Facts
    # Where the cases stand in the reader's own file: the authors' bootstrap depends on it.
    order: Ints
    # Published bootstraps drawn beforehand, all at once, by the outcomes they are of.
    drawn: dict[bytes, Interval] = msgspec.field(default_factory=dict)

    def under(self, image: str) -> Codes:
        """The answers to an image, or to the original asked again ("repeat")."""
        found = self.codes.get(image)
        return np.full(self.truth.size, NO_ROW, dtype=np.int8) if found is None else found

    def asked(self, image: str) -> bool:
        return bool((self.under(image) > NO_ROW).any())

    def ordered(self, eligible: Mask) -> Ints:
        """The places that count, in the order of the reader's original answers."""
        return self.order[eligible[self.order]]

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
    def parsed(self) -> Mask:
        found: Mask = self.original >= 0
        return found

    @property
    def correct(self) -> Mask:
        """C in the protocol: parsed, and right on the original."""
        right: Mask = (self.original >= 0) & (self.original == self.truth)
        return right

    @property
    def said_yes(self) -> Mask:
        """Correct Yes on a boxed finding: whom CGR and GSP are about."""
        found: Mask = self.facts.boxed & (self.truth == 1) & (self.original == 1)
        return found


def marks_at(tables: Tables, edition: Edition, facts: Facts, px: int, phrasing: str) -> list[Marks]:
    """The marks of every reader at one resolution and phrasing."""
    parts = _indexed_answers(tables, px, phrasing).partition_by("reader", as_dict=True)
    return [
        _marks_of_reader(record, parts.get((record.name,)), edition, facts)
        for record in tables.readers
    ]


def _marks_of_reader(
    record: ReaderRecord, answers: pl.DataFrame | None, edition: Edition, facts: Facts
) -> Marks:
    """The codes by image, the places of the original answers as they stand, and their P(Yes)."""
    codes: dict[str, Codes] = {}
    order = np.empty(0, dtype=np.int64)
    p_yes = np.full(facts.n, np.nan)
    parts = {} if answers is None else answers.partition_by("image", as_dict=True)
    for (image,), rows in parts.items():
        place = rows["place"].to_numpy().astype(np.int64)
        if np.unique(place).size != place.size:
            twice = rows["case"].filter(rows["case"].is_duplicated())[0]
            raise BadInput(
                f'reader {record.name} answers case "{twice}" more than once under {image}. '
                "Keep one answer per case and condition."
            )
        codes[str(image)] = np.full(facts.n, NO_ROW, dtype=np.int8)
        codes[str(image)][place] = rows["code"].to_numpy()
        if image == PAPER[0]:
            # Our own replies come in as they are given; only a recorded file has an order.
            order = place if rows["recorded"].all() else np.sort(place)
            p_yes[place] = rows["p_yes"].fill_null(np.nan).to_numpy()
    truth, modality = facts.truth, record.traits.modality
    if modality == "vision" and edition.vision_on_sentences == "no":
        # It answers "is the finding there", not "is the sentence right" [D23].
        for row in codes.values():
            row[facts.sentence] = NO_ROW
        order = order[~facts.sentence[order]]
        truth = np.where(facts.sentence, np.int8(-1), truth)
    return Marks(
        reader=record.name,
        modality=modality,
        codes=codes,
        truth=truth,
        p_yes=p_yes,
        facts=facts,
        order=order,
    )


def _indexed_answers(tables: Tables, px: int, phrasing: str) -> pl.DataFrame:
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
    codes = {"refused": REFUSED, "unparsed": UNPARSED}
    code = pl.col("outcome").replace_strict(codes, default=UNANSWERED)
    code = pl.when(pl.col("outcome") == "answered").then(pl.col("answer")).otherwise(code)
    return answers.with_columns(code.fill_null(UNPARSED).cast(pl.Int8).alias("code"))


# ---------------------------------------------------------------- a study


class Study(RunArrays):
    """The readers of a run under one edition; patients are the independent units."""

    def __init__(self, tables: Tables, edition: Edition, options: Options) -> None:
        self.tables, self.edition, self.options = tables, edition, options
        self.facts: Final = facts_of(tables.cases, edition)
        patients = self.facts.patients
        super().__init__(
            tables.cases["case"].to_list(),
            patients,
            tables.readers,
            Resampling(
                patients,
                boot=edition.boot,
                seed=edition.seed,
                of="patients",
                by_content=True,
                robust=edition.robust,
            ),
            columns=columns_of_cases(tables.cases, edition),
            orders={
                "view": _VIEWS,
                "sex": _SEXES,
                "age": age_names(edition),
                "label": ("1", "0"),
                "error_group": (*ERROR_GROUPS, CONTROL),
            },
        )
        self.marks: Final = tuple(self.at(options.px, options.phrasing))
        if not any(marks.codes for marks in self.marks) and not tables.answers.is_empty():
            raise BadInput(
                f"no answer was given to phrasing={options.phrasing} at px={options.px}. "
                "Measure with the settings the run was made with."
            )

    def grouping(self, name: str) -> list[Group]:
        """The groups of a column; those that have an order whether anybody is in them or not."""
        if name not in self.orders:
            return super().grouping(name)
        return [Group({name: one}, self.columns[name] == one) for one in self.orders[name]]

    @property
    def published(self) -> bool:
        """Whether intervals are the published ones: bootstraps of cases, one stream for each."""
        return self.edition.intervals == "bootstrap"

    @property
    def text_only(self) -> list[Marks]:
        """The baselines: readers that never see a picture."""
        return [marks for marks in self.marks if marks.modality == "text"]

    def at(self, px: int, phrasing: str) -> list[Marks]:
        """The same readers at another resolution or phrasing."""
        return marks_at(self.tables, self.edition, self.facts, px, phrasing)

    def of(self, reader: str) -> Marks:
        """The marks of the reader of this name."""
        return self.marks[self.readers.index(reader)]
