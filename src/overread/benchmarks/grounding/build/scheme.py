"""The numbers of the sampling scheme, and the account of what each step leaves out."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final, Literal

import msgspec

from overread.benchmarks.grounding.build.authors import Stream
from overread.benchmarks.grounding.build.films import ABSENT, PRESENT, Exclusion
from overread.benchmarks.grounding.cases import GroundingCase
from overread.benchmarks.grounding.prompts import FINDINGS, NORMAL, SENTENCE_SOURCE
from overread.case import BadInput
from overread.imaging import MINIMUM_SIDE, RESOLUTION

if TYPE_CHECKING:
    import numpy as np
    import polars as pl
    from numpy.typing import NDArray

__all__ = [
    "FILM_FACTS",
    "FRONTAL",
    "Account",
    "Rules",
    "Sampling",
    "SwapPool",
    "by_dicom",
    "complete",
    "film_facts",
    "with_opposites",
    "with_swaps",
]

Rules = Literal["authors", "corrected"]
FRONTAL: Final = ("PA", "AP")
FILM_FACTS: Final = ("report_path", "dicom_id", "subject_id", "study_id", "view", "age", "gender")


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


def film_facts(row: Mapping[str, Any]) -> dict[str, Any]:
    """What a case says of its film, beyond where its image is."""
    return {name: row[name] for name in FILM_FACTS}


def complete() -> pl.Expr:
    """Whether a film's age and sex are known."""
    import polars as pl

    return pl.col("age").is_not_null() & pl.col("gender").is_not_null()


def by_dicom(films: pl.DataFrame) -> pl.DataFrame:
    """The first film with age and sex of each dicom_id: what boxes and sentences are joined to."""
    return films.filter(complete()).unique("dicom_id", keep="first", maintain_order=True)


# ---------------------------------------------------------------- swaps
# Another patient's film for every case: one of the same label, and one of the opposite label.
#
# The first is the swap of GROUNDING 2.5; the second is ours and disturbs none of the paper's draws.


class SwapPool:
    """The films a case may be swapped to, found by label and patient without searching again.

    All frontals with age and sex, of every split, those of the probe set included.
    """

    def __init__(self, films: pl.DataFrame) -> None:
        import numpy as np

        self._films = films
        self._paths = films["image_path"]
        self._codes: dict[str, int] = {}
        codes = (self._codes.setdefault(s, len(self._codes)) for s in films["subject_id"])
        self._patients = np.fromiter(codes, dtype=np.int32, count=films.height)
        self._found: dict[tuple[str, int], NDArray[np.intp]] = {}
        self._all = np.arange(films.height)

    def path(self, place: np.intp) -> str:
        found: str = self._paths[int(place)]
        return found

    def labelled(self, finding: str, value: int, subject: str | None) -> NDArray[np.intp]:
        """Places of the films with that value of a finding, but for one patient's."""
        key = (finding, value)
        if key not in self._found:
            self._found[key] = _flagged_places(self._films[finding] == value)
        return self._others(self._found[key], subject)

    def abnormal(self, subject: str | None) -> NDArray[np.intp]:
        """Places of the films with any finding present, but for one patient's."""
        import polars as pl

        key = ("any finding", PRESENT)
        if key not in self._found:
            some = pl.any_horizontal(pl.col(FINDINGS) == PRESENT).alias("some")
            self._found[key] = _flagged_places(self._films.select(some)["some"])
        return self._others(self._found[key], subject)

    def any(self, subject: str | None) -> NDArray[np.intp]:
        """Places of all films but for one patient's."""
        return self._others(self._all, subject)

    def _others(self, places: NDArray[np.intp], subject: str | None) -> NDArray[np.intp]:
        code = self._codes.get(subject or "")
        return places if code is None else places[self._patients[places] != code]


def _flagged_places(flags: pl.Series) -> NDArray[np.intp]:
    import numpy as np

    return flags.arg_true().to_numpy().astype(np.intp)


def with_swaps(
    cases: list[GroundingCase], pool: SwapPool, stream: Stream, rules: Rules
) -> list[GroundingCase]:
    """Give each case its swap: one draw per case, in manifest order.

    `authors` match the finding on `label`, which for a sentence says whether it holds an error, so
    that one without an error goes to a film without its finding [D2]. `corrected` matches on the
    label of the case's own film [D22]. With no match, or no finding, any other patient's film.

    `swap_match` is "label" where the swap keeps the case's label, "free" where the case has no
    finding to match (a sentence about none), else "any".
    """
    swapped = []
    for case in cases:
        value = case.label if rules == "authors" else case.label_value
        matched = False
        candidates = None
        if case.finding is not None and value is not None:
            candidates = pool.labelled(case.finding, value, case.subject_id)
            matched = candidates.size > 0 and _keeps_label(case, value)
        if candidates is None or not candidates.size:
            candidates = pool.any(case.subject_id)
        if candidates.size:
            path = pool.path(candidates[stream.one(candidates.size)])
            match = "label" if matched else "any" if case.finding is not None else "free"
            case = msgspec.structs.replace(case, swap_image_path=path, swap_match=match)
        swapped.append(case)
    return swapped


def _keeps_label(case: GroundingCase, value: int) -> bool:
    """Whether films of that value say what the case's own says, not mentioned counting as absent.

    False for the authors' sentences without an error only [D2].
    """
    return value == case.label_value or (value == ABSENT and case.label_value != PRESENT)


def with_opposites(cases: list[GroundingCase], pool: SwapPool, seed: int) -> list[GroundingCase]:
    """Give each case another patient's film of the opposite label, where there is one.

    Present: a film without the finding (0, never one that does not mention it). Absent: one with
    it. Normal: one with any finding. A sentence has no opposite. From a generator of its own, so
    that the paper's draws stay as they are.
    """
    import numpy as np

    generator = np.random.default_rng([seed, 1])
    given = []
    for case in cases:
        if case.source != SENTENCE_SOURCE and case.finding is not None:
            if case.finding == NORMAL:
                candidates = pool.abnormal(case.subject_id)
            else:
                opposite = ABSENT if case.label == 1 else PRESENT
                candidates = pool.labelled(case.finding, opposite, case.subject_id)
            if candidates.size:
                path = pool.path(candidates[generator.integers(candidates.size)])
                case = msgspec.structs.replace(case, opposite_image_path=path)
        given.append(case)
    return given
