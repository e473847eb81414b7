"""Whether each answer is right, for all cases and readers at once.

A run may have a million verdicts: replies are numbered by case, reader, mode and whether they were
timed, and everything said of them is added up by that number.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

import msgspec
import numpy as np

from overread.benchmarks.m3cot.edition import MODES
from overread.benchmarks.m3cot.marks import Floats

if TYPE_CHECKING:
    import polars as pl

__all__ = ["rights_of"]

# What became of a reply, beside nothing at all.
_UNANSWERED, _BLANK, _REFUSED, _SPOKEN = range(4)
_NONE: Final = -1


def rights_of(
    answers: pl.DataFrame, verdicts: pl.DataFrame | None, cases: pl.Series, readers: pl.Series
) -> pl.DataFrame:
    """A row for each case and reader with an answer: case, reader, direct, cot, reasoned.

    `direct` and `cot` are true or false where the answer about the item's own image is right or
    wrong, null where neither can be said; `reasoned` where it was asked for with reasoning. Timed
    replies count where there are no others.
    """
    import polars as pl

    shape = (len(cases), len(readers), len(MODES), 2)
    asked = _numbered(answers, cases, readers)
    there = np.zeros(shape[:2], dtype=bool).reshape(-1)
    there[asked["pair"].to_numpy()] = True
    state = _states(asked, shape)
    timed_only = ~(state[..., 0] != _NONE).any(axis=0)
    main = np.where(timed_only, state[..., 1], state[..., 0])
    votes = _votes(verdicts, cases, readers, shape)
    told = _right(main, np.where(timed_only, votes[..., 1], votes[..., 0]))
    at = np.flatnonzero(there)
    case, reader = at // max(len(readers), 1), at % max(len(readers), 1)
    right = told[case, reader]
    found = pl.DataFrame({"case": cases.gather(case), "reader": readers.gather(reader)})
    return found.with_columns(
        *(
            pl.Series(mode, right[:, place], dtype=pl.Float64).fill_nan(None).cast(pl.Boolean)
            for place, mode in enumerate(MODES)
        ),
        pl.Series("reasoned", main[case, reader, MODES.index("cot")] != _NONE),
    )


def _numbered(frame: pl.DataFrame, cases: pl.Series, readers: pl.Series) -> pl.DataFrame:
    """The rows about these cases and readers, with the number of their `pair`."""
    import polars as pl

    case, reader = (
        pl.col(own.name).cast(pl.Enum(own), strict=False).to_physical().cast(pl.Int64)
        for own in (cases, readers)
    )
    return frame.with_columns(pair=case * len(readers) + reader).filter(
        pl.col("pair").is_not_null()
    )


def _states(asked: pl.DataFrame, shape: tuple[int, ...]) -> np.ndarray[Any, np.dtype[np.int8]]:
    """What became of each reply about the item as it is; of two rows the last."""
    import polars as pl

    outcome = pl.col("outcome")
    rows = asked.filter(
        (pl.col("image") == "original")
        & (pl.col("follow").fill_null("") == "")
        & pl.col("mode").is_in(MODES)
    ).select(
        _slot(pl.col("mode"), pl.col("timed").fill_null(False)).alias("slot"),
        pl.when(outcome == "unanswered")
        .then(_UNANSWERED)
        .when(~pl.col("text").str.contains(r"\S").fill_null(False))
        .then(_BLANK)
        .when(outcome == "refused")
        .then(_REFUSED)
        .otherwise(_SPOKEN)
        .alias("state"),
    )
    found = np.full(int(np.prod(shape)), _NONE, dtype=np.int8)
    found[rows["slot"].to_numpy()] = rows["state"].to_numpy()
    return found.reshape(shape)


def _slot(mode: pl.Expr, timed: pl.Expr) -> pl.Expr:
    import polars as pl

    place = (mode == MODES[1]).cast(pl.Int64)
    return (pl.col("pair") * len(MODES) + place) * 2 + timed.cast(pl.Int64)


def _votes(
    verdicts: pl.DataFrame | None, cases: pl.Series, readers: pl.Series, shape: tuple[int, ...]
) -> Floats:
    """Of the judges that could be read, the share for whom the answer is right; NaN without any."""
    import polars as pl

    size = int(np.prod(shape))
    if verdicts is None:
        return np.full(shape, np.nan)
    judged = verdicts.filter(
        (pl.col("question") == "answer")
        & (pl.col("outcome") == "judged")
        & ~pl.col("check").fill_null(False)
    )
    # Conditions are few: each is read once.
    about = [(one, *_about(one)) for one in judged["about"].unique().drop_nulls()]
    plain = {told: (mode, timed) for told, mode, timed, own in about if own and mode in MODES}
    rows = _numbered(judged.filter(pl.col("about").is_in(list(plain))), cases, readers).select(
        _slot(
            pl.col("about").replace_strict(
                {told: mode for told, (mode, _) in plain.items()}, return_dtype=pl.String
            ),
            pl.col("about").replace_strict(
                {told: timed for told, (_, timed) in plain.items()}, return_dtype=pl.Boolean
            ),
        ).alias("slot"),
        # Quotes within a text are escaped, so that only the key itself is found.
        pl.col("payload").str.contains(r'"match": ?true').fill_null(False).alias("match"),
    )
    slots = rows["slot"].to_numpy()
    total = np.bincount(slots, minlength=size).astype(float)
    hits = np.bincount(slots[rows["match"].to_numpy()], minlength=size)
    share = np.full(size, np.nan)
    np.divide(hits, total, out=share, where=total > 0)
    return share.reshape(shape)


def _about(told: str) -> tuple[str, bool, bool]:
    """The mode, whether it was timed, and whether it is about the item as it is."""
    about: Mapping[str, Any] = msgspec.json.decode(told)
    plain = about.get("image", "original") == "original" and not about.get("follow")
    own = plain and not about.get("variant")
    return str(about.get("mode", "")), bool(about.get("timed")), own


def _right(state: np.ndarray[Any, np.dtype[np.int8]], votes: Floats) -> Floats:
    """1 right, 0 not, NaN where neither can be said."""
    found: Floats = np.full(state.shape, np.nan)
    found[state == _REFUSED] = 0.0
    judged = (state >= _REFUSED) & ~np.isnan(votes)
    found[judged] = np.where(votes == 0.5, np.nan, (votes > 0.5).astype(float))[judged]
    found[state == _BLANK] = 0.0
    return found
