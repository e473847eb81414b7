"""What is the authors' own: their random stream, and their master lists as film tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

from overread.benchmarks.files.tables import (
    FIX,
    Table,
    codes,
    filled,
    matching,
    numbers,
    read_table,
)
from overread.benchmarks.grounding.build.chexpert import SEXES, view_of
from overread.benchmarks.grounding.build.films import LABELS, film_frame, identifiers

if TYPE_CHECKING:
    import numpy as np
    import polars as pl
    from numpy.typing import NDArray

__all__ = ["Stream", "read_chexpert_list", "read_mimic_list"]

# ---------------------------------------------------------------- the stream
# The builder's random stream: every draw of a probe set comes from one seed (GROUNDING 2.1).


_SEEDS = 2**31


class Stream:
    """One PCG64 generator; each sample takes one integer from it as the seed of its own draw.

    A sample is what `DataFrame.sample(n, random_state=integer)` of pandas gives: the MT19937
    generator of that seed chooses positions without replacement. The order of the samples is part
    of the protocol, since each moves the stream on by one.
    """

    def __init__(self, seed: int) -> None:
        import numpy as np

        self._generator = np.random.default_rng(seed)

    def sample(self, available: int, size: int) -> NDArray[np.intp]:
        """Positions of min(size, available) rows out of `available`, in the order drawn.

        With nothing to sample the stream stays where it is.
        """
        import numpy as np

        size = min(size, available)
        if size <= 0:
            return np.empty(0, dtype=np.intp)
        seed = int(self._generator.integers(_SEEDS))
        chosen = np.random.RandomState(seed).choice(available, size=size, replace=False)
        return chosen.astype(np.intp, copy=False)

    def one(self, available: int) -> int:
        """The position of one row out of `available`, which is at least 1."""
        return int(self.sample(available, 1)[0])


# ---------------------------------------------------------------- master lists
# The authors' master lists, MIMIC's and CheXpert's, as film tables (GROUNDING 1.1).
#
# The lists are derivatives of the authors' own and unpublished; whoever has one, or makes an
# equivalent, gets their probe sets.


_MIMIC_COLUMNS: Final = (
    *("subject_id", "study_id", "jpg_rel_path", "report_rel_path"),
    *("view", "age", "gender", "split"),
)
_CHEXPERT_COLUMNS: Final = ("jpg_rel_path", "subject_id", "view", "AP_PA", "age", "gender", "split")
_SPLITS: Final = {"train": "train", "valid": "valid", "validate": "valid", "test": "test"}
_SIDES: Final = {"Frontal": "Frontal", "Lateral": "Lateral"}
_STUDY: Final = r"patient[^/]+/study[^/]+"


def read_mimic_list(path: str | Path) -> pl.DataFrame:
    """MIMIC's master list: label codes 0 to 3; gender M, F or empty; age a number or empty."""
    import polars as pl

    table = read_table(Path(path), (*_MIMIC_COLUMNS, *LABELS), remedy=FIX)
    filled(table, "subject_id", "study_id", "jpg_rel_path", "split")
    own = {
        "report_path": table.frame["report_rel_path"],
        "study_id": identifiers(table.frame["study_id"]),
        "view": table.frame["view"],
        "gender": codes(table, "gender", {"M": "M", "F": "F"}, "it is M, F or empty", pl.String),
    }
    return _listed_films(table, own, (0, 1, 2, 3))


def read_chexpert_list(path: str | Path) -> pl.DataFrame:
    """CheXpert's master list: label codes 0 to 2; gender Female, Male, Unknown or empty.

    A frontal without AP_PA is AP. The study is `patientN/studyM` of the path (GROUNDING 1.2, 2.6).
    """
    import polars as pl

    table = read_table(Path(path), (*_CHEXPERT_COLUMNS, *LABELS), remedy=FIX)
    filled(table, "jpg_rel_path", "subject_id", "view", "split")
    need = "a path ends in patientN/studyM/FILE"
    matching(table, "jpg_rel_path", f"(?:.*/)?{_STUDY}/[^/]+", need)
    sides = codes(table, "view", _SIDES, "it is Frontal or Lateral", pl.String)
    sexes = f"it is {', '.join(SEXES)} or empty"
    own = {
        "study_id": table.frame["jpg_rel_path"].str.extract(f"({_STUDY})/[^/]+$"),
        "view": view_of(sides, table.frame["AP_PA"]),
        "gender": codes(table, "gender", SEXES, sexes, pl.String),
    }
    return _listed_films(table, own, (0, 1, 2))


def _listed_films(
    table: Table, own: Mapping[str, pl.Series], label_codes: Sequence[int]
) -> pl.DataFrame:
    import polars as pl

    paths = table.frame["jpg_rel_path"]
    # Whole numbers, which pandas writes as 1.0 once a column has an empty cell.
    words = {f"{code}{end}": code for code in label_codes for end in ("", ".0")}
    need = f"a label is {', '.join(map(str, label_codes))} or empty"
    return film_frame(
        {
            **own,
            "image_path": paths,
            # The file's name without folder and ending (GROUNDING 1.1).
            "dicom_id": paths.str.extract(r"([^/]+?)(?:\.[^./]*)?$"),
            "subject_id": identifiers(table.frame["subject_id"]),
            "split": codes(table, "split", _SPLITS, "it is train, valid or test", pl.String),
            "age": numbers(table, "age", "an age is a number, 0 or more, or empty", least=0),
            **{label: codes(table, label, words, need, pl.Int8) for label in LABELS},
        }
    )
