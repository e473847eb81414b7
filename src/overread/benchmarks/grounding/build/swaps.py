"""Another patient's film for every case: one of the same label, and one of the opposite label.

The first is the swap of GROUNDING 2.5; the second is ours and disturbs none of the paper's draws.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from overread.benchmarks.grounding.build.films import ABSENT, PRESENT
from overread.benchmarks.grounding.build.scheme import Rules
from overread.benchmarks.grounding.build.stream import Stream
from overread.benchmarks.grounding.cases import GroundingCase
from overread.benchmarks.grounding.prompts import FINDINGS, NORMAL, SENTENCE_SOURCE

if TYPE_CHECKING:
    import numpy as np
    import polars as pl
    from numpy.typing import NDArray

__all__ = ["SwapPool", "with_opposites", "with_swaps"]


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
            self._found[key] = _places(self._films[finding] == value)
        return self._others(self._found[key], subject)

    def abnormal(self, subject: str | None) -> NDArray[np.intp]:
        """Places of the films with any finding present, but for one patient's."""
        import polars as pl

        key = ("any finding", PRESENT)
        if key not in self._found:
            some = pl.any_horizontal(pl.col(FINDINGS) == PRESENT).alias("some")
            self._found[key] = _places(self._films.select(some)["some"])
        return self._others(self._found[key], subject)

    def any(self, subject: str | None) -> NDArray[np.intp]:
        """Places of all films but for one patient's."""
        return self._others(self._all, subject)

    def _others(self, places: NDArray[np.intp], subject: str | None) -> NDArray[np.intp]:
        code = self._codes.get(subject or "")
        return places if code is None else places[self._patients[places] != code]


def _places(flags: pl.Series) -> NDArray[np.intp]:
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
