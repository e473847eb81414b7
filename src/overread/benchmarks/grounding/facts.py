"""The facts of a run's cases as arrays, and the groups its cases fall into.

Every array has one element per case, in the order of the cases.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Final

import msgspec
import numpy as np
from numpy.typing import NDArray

from overread.benchmarks.grounding.cases import BOXED_SOURCES, KEYED_BY_LABEL
from overread.benchmarks.grounding.edition import Edition
from overread.benchmarks.grounding.errors import (
    CONTROL,
    ERROR_GROUPS,
    error_name,
    group_of,
)
from overread.benchmarks.grounding.prompts import NORMAL, SENTENCE_SOURCE

if TYPE_CHECKING:
    import polars as pl

__all__ = ["Codes", "Facts", "Grouping", "Mask", "facts_of"]

Codes = NDArray[np.int8]
Mask = NDArray[np.bool_]

# (GROUNDING 8.) A film taken at exactly 70 stands in the third bin; the paper's label hides it.
_AGES: Final = (0, 50, 70, 200)
_AGE_NAMES: Final = {
    "published": ("<50", "50-70", ">70"),
    "exact": ("<50", "[50,70)", ">=70"),
}


class Grouping(msgspec.Struct, frozen=True):
    """One way of sorting cases into groups; -1 is a case that belongs to none."""

    key: str
    names: tuple[str, ...]
    codes: NDArray[np.int64]

    def members(self, name: str) -> Mask:
        found: Mask = self.codes == self.names.index(name)
        return found


class Facts(msgspec.Struct, frozen=True, kw_only=True):
    """What is true of the cases under one edition: the key y, who has a box, whose image it is."""

    truth: Codes
    label: Codes
    boxed: Mask
    has_swap: Mask
    # A swapped image that could not be matched on the label is another intervention [D22].
    swap_counts: Mask
    # An irrelevant box that hides some of the finding controls for nothing.
    control_counts: Mask
    normal: Mask
    sentence: Mask
    patients: NDArray[np.int64]
    groupings: Mapping[str, Grouping]

    @property
    def n(self) -> int:
        return int(self.truth.size)


def facts_of(cases: pl.DataFrame, edition: Edition) -> Facts:
    """`truth` and `boxed` of cases.py for all cases at once, and the groups."""
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
    # A case without a patient's name counts as a patient of its own.
    patient = pl.coalesce("subject_id", pl.lit("\0") + pl.col("case"))
    frame = cases.select(
        truth=key.fill_null(-1).cast(pl.Int8),
        label=label.cast(pl.Int8),
        boxed=has_box,
        has_swap=pl.col("swap_image_path").is_not_null(),
        swap_counts=matched,
        control_counts=clean,
        normal=normal,
        sentence=sentence,
        patients=patient.rank("dense").cast(pl.Int64) - 1,
    )
    arrays: Mapping[str, NDArray[np.generic]] = {
        name: frame[name].to_numpy() for name in frame.columns
    }
    return Facts(**arrays, groupings=_groupings(cases, edition))  # type: ignore[arg-type]


def _groupings(cases: pl.DataFrame, edition: Edition) -> dict[str, Grouping]:
    found = [
        _by_text("source", cases["source"]),
        _by_text("finding", cases["finding"]),
        _by_text("view", cases["view"], ("PA", "AP")),
        _by_text("sex", cases["gender"], ("M", "F")),
        _by_age(cases["age"], _AGE_NAMES[edition.age_names]),
        Grouping("label", ("1", "0"), (1 - cases["label"].to_numpy()).astype(np.int64)),
    ]
    return {grouping.key: grouping for grouping in (*found, *_by_error(cases))}


def _by_error(cases: pl.DataFrame) -> Iterator[Grouping]:
    """Sentences by the group of their error, and errors by their type under one name each."""
    pairs = list(zip(cases["error_type"], cases["error_present"], strict=True))
    known = {pair: group_of(*pair) for pair in set(pairs)}
    groups = [known[pair] for pair in pairs]
    yield _by_name("error_group", groups, (*ERROR_GROUPS, CONTROL))
    named = {text: error_name(text) for text, _ in set(pairs) if text}
    types = [
        named[text] if text and group not in (None, CONTROL) else None
        for (text, _), group in zip(pairs, groups, strict=True)
    ]
    yield _by_name("error_type", types, tuple(sorted({t for t in types if t})))


def _by_name(key: str, values: Sequence[str | None], names: tuple[str, ...]) -> Grouping:
    places = {name: place for place, name in enumerate(names)}
    codes = [-1 if value is None else places.get(value, -1) for value in values]
    return Grouping(key, names, np.array(codes, dtype=np.int64))


def _by_text(key: str, column: pl.Series, names: tuple[str, ...] | None = None) -> Grouping:
    """Groups by a text: those named, in their order, or all there are, in the alphabet's."""
    if names is None:
        names = tuple(sorted(column.drop_nulls().unique()))
    return _by_name(key, column.to_list(), names)


def _by_age(column: pl.Series, names: tuple[str, ...]) -> Grouping:
    ages = column.cast(float).fill_null(np.nan).to_numpy()
    codes = np.full(ages.size, -1, dtype=np.int64)
    for place, (low, high) in enumerate(pairwise(_AGES)):
        codes[(ages >= low) & (ages < high)] = place
    return Grouping("age", names, codes)
