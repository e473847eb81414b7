"""Drawing by lot: which films, without regard to the order they are listed in."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    import polars as pl

__all__ = ["Pairs", "by_lot", "paired", "shares"]


class Pairs(NamedTuple):
    """Images in the order of their lots; `unpaired` of those present have no counterpart."""

    present: list[str]
    absent: list[str]
    unpaired: int


def by_lot(films: pl.DataFrame, seed: int, about: str) -> pl.DataFrame:
    """One film per `patient`, boxed ones first, in the order of a lot.

    The lot of a film is a digest of the seed, of what is drawn for, and of `image_path`: it stays
    the same when rows move, and films join or leave.
    """
    import polars as pl

    start = hashlib.sha256(f"{seed}|{about}|".encode())

    def lot(name: str) -> bytes:
        digest = start.copy()
        digest.update(name.encode())
        return digest.digest()

    lots = pl.Series([lot(name) for name in films["image_path"]], dtype=pl.Binary)
    ordered = films.with_columns(lot=lots).sort(["boxed", "lot"], descending=[True, False])
    return ordered.unique("patient", keep="first", maintain_order=True)


def shares(total: int, room: Mapping[str, int]) -> dict[str, int]:
    """A total spread over strata as evenly as their room allows."""
    given = dict.fromkeys(room, 0)
    left = min(total, sum(room.values()))
    while left:
        for name in room:
            if left and given[name] < room[name]:
                given[name] += 1
                left -= 1
    return given


def paired(films: pl.DataFrame, most: int) -> Pairs:
    """Films of `label` 1 and 0, as many of each within every view, at most `most` of each label.

    `films` has `image_path`, `view`, `label` and `boxed`, in the order of their lots. Boxed films
    that found no counterpart are added to those present while there are fewer than `most`.
    """
    import polars as pl

    columns = films.select("image_path", pl.col("view").fill_null(""), "label", "boxed")
    strata: dict[str, tuple[list[str], list[str]]] = {}
    boxed: list[str] = []
    for image, view, label, has_box in columns.iter_rows():
        absent, present = strata.setdefault(view, ([], []))
        (present if label else absent).append(image)
        if has_box and label:
            boxed.append(image)
    names = sorted(strata)
    quota = shares(most, {view: min(map(len, strata[view])) for view in names})
    chosen = [
        {image for view in names for image in strata[view][one][: quota[view]]} for one in (0, 1)
    ]
    paired_only = len(chosen[1])
    for image in boxed:
        if len(chosen[1]) < most:
            chosen[1].add(image)
    order = columns["image_path"].to_list()
    absent, present = ([image for image in order if image in kept] for kept in chosen)
    return Pairs(present, absent, len(present) - paired_only)
