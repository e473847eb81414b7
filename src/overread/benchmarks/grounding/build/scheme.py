"""The numbers of the sampling scheme, and the account of what each step leaves out."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Literal

import msgspec

from overread.benchmarks.grounding.boxes import MINIMUM_SIDE, RESOLUTION
from overread.benchmarks.grounding.build.films import Exclusion
from overread.benchmarks.grounding.prompts import FINDINGS
from overread.case import BadInput

if TYPE_CHECKING:
    import polars as pl

__all__ = ["FRONTAL", "Account", "Rules", "Sampling", "by_dicom", "complete"]

Rules = Literal["authors", "corrected"]
FRONTAL: Final = ("PA", "AP")


class Sampling(msgspec.Struct, frozen=True, kw_only=True):
    """How many cases of each kind, from which seed. The defaults are the paper's (GROUNDING 2)."""

    # The square all boxes stand in, and the least side of a box there, in pixels.
    resolution: int = RESOLUTION
    minimum_side: int = MINIMUM_SIDE
    # Boxes of one finding at most.
    mscxr_per_finding: int = 100
    # Half of them with the finding, half without; and films without any finding.
    mimic_per_finding: int = 100
    mimic_normals: int = 100
    chexpert_per_finding: int = 100
    chexpert_normals: int = 100
    # Sentences, and the shares of errors that need the image and of those that do not; the rest
    # are sentences without an error.
    rexerr_total: int = 800
    rexerr_image: float = 0.70
    rexerr_text: float = 0.15
    findings: tuple[str, ...] = FINDINGS
    seed: int = 42

    def __post_init__(self) -> None:
        counts = {
            field: getattr(self, field)
            for field in self.__struct_fields__
            if field.endswith(("_per_finding", "_normals", "_total"))
        }
        for field, value in {
            **counts,
            "seed": self.seed,
            "minimum_side": self.minimum_side,
        }.items():
            if value < 0:
                raise BadInput(f"{field} is {value}; it is 0 or more.")
        if not 0 < self.resolution <= 10_000:
            raise BadInput(f"resolution is {self.resolution}; it is from 1 to 10000 pixels.")
        shares = (self.rexerr_image, self.rexerr_text)
        if not (min(shares) >= 0 and sum(shares) <= 1):
            raise BadInput(
                f"rexerr_image and rexerr_text are {shares}; shares of at most 1 in all."
            )
        strange = [finding for finding in self.findings if finding not in FINDINGS]
        if strange or len(set(self.findings)) < len(self.findings):
            named = ", ".join(self.findings)
            raise BadInput(f"findings are {named}; each is one of {', '.join(FINDINGS)}, once.")


class Account:
    """What one source gives and loses: rows in = rows kept + rows of all exclusions."""

    def __init__(self, source: str) -> None:
        self.source = source
        self.exclusions: list[Exclusion] = []
        # Of each box, or each film's boxes that are hidden together, the largest shorter side at
        # the working resolution: what another minimum would keep.
        self.sides: list[float] = []

    def drop(self, reason: str, count: int) -> None:
        """Note rows left out; a step that leaves out nothing is not mentioned."""
        if count:
            self.exclusions.append(Exclusion(self.source, reason, count))

    def keep(self, frame: pl.DataFrame, condition: pl.Expr, reason: str) -> pl.DataFrame:
        """The rows for which the condition holds, in their order; the others are noted."""
        kept = frame.filter(condition)
        self.drop(reason, frame.height - kept.height)
        return kept


def complete() -> pl.Expr:
    """Whether a film's age and sex are known."""
    import polars as pl

    return pl.col("age").is_not_null() & pl.col("gender").is_not_null()


def by_dicom(films: pl.DataFrame) -> pl.DataFrame:
    """The first film with age and sex of each dicom_id: what boxes and sentences are joined to."""
    return films.filter(complete()).unique("dicom_id", keep="first", maintain_order=True)
