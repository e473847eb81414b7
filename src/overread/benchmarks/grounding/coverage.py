"""CGR where the box really holds the finding, by what human readers said of the boxes.

A box that covers a finding only in part leaves evidence outside the mask, and CGR looks lower than
it is (GROUNDING 14). Ratings come from a reader's sheet: rated accurate, partial, inaccurate, or
cannot tell.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

import msgspec
import numpy as np

from overread.benchmarks.files.sheets import rows_of
from overread.benchmarks.grounding import proportions as pr
from overread.benchmarks.grounding.edition import Edition
from overread.benchmarks.grounding.facts import Mask
from overread.benchmarks.grounding.marks import Marks
from overread.benchmarks.grounding.study import Study
from overread.case import BadInput, Measure
from overread.stats import wilson

__all__ = ["coverage", "read_ratings"]

# A rating is recognised by how it begins (GROUNDING 14).
_RATINGS: Final = {"acc": "accurate", "par": "partial", "inac": "inaccurate", "can": "cannot_tell"}
_SETS: Final[Mapping[str, tuple[str, ...]]] = {
    "accurate": ("accurate",),
    "accurate_or_partial": ("accurate", "partial"),
}
_LOW_N: Final = 10


def read_ratings(paths: str) -> dict[str, str]:
    """The rating of each case. Where several readers rated one, the first path's reader decides.

    A path is a csv with the columns case_id and rating, or a folder that holds `cases.csv` (with
    display_id and rating) and `case_mapping.csv` (display_id to case_id), as a packet comes back.
    """
    found: dict[str, str] = {}
    for path in (Path(part.strip()) for part in paths.split(",")):
        for case, rating in (_packet(path) if path.is_dir() else _sheet(path)).items():
            found.setdefault(case, rating)
    if not found:
        raise BadInput(f"--set ratings={paths}: no case is rated there. Give the filled sheets.")
    return found


def _sheet(path: Path) -> dict[str, str]:
    if not path.is_file():
        raise BadInput(f"--set ratings={path}: there is no such file or folder.")
    found: dict[str, str] = {}
    for line, cells in rows_of(path, ("case_id", "rating")):
        if rating := _rating(path, line, cells["rating"]):
            _rate(found, cells["case_id"].strip(), rating, f"{path.name} row {line}")
    return found


def _packet(folder: Path) -> dict[str, str]:
    sheet, mapping = folder / "cases.csv", folder / "case_mapping.csv"
    for path in (sheet, mapping):
        if not path.is_file():
            raise BadInput(f"{folder} has no {path.name}. Give the packet as it came back, whole.")
    cases = {
        cells["display_id"].strip(): cells["case_id"].strip()
        for _, cells in rows_of(mapping, ("display_id", "case_id"))
    }
    found: dict[str, str] = {}
    for line, cells in rows_of(sheet, ("display_id", "rating")):
        display = cells["display_id"].strip()
        if rating := _rating(sheet, line, cells["rating"]):
            if display not in cases:
                raise BadInput(f'{sheet} row {line}: display_id "{display}" is not in the mapping.')
            _rate(found, cases[display], rating, f"{sheet.name} row {line}")
    return found


def _rate(found: dict[str, str], case: str, rating: str, where: str) -> None:
    if case in found:
        raise BadInput(f'{where}: case "{case}" is rated already. Keep one rating a reader.')
    found[case] = rating


def _rating(path: Path, line: int, text: str) -> str | None:
    word = text.strip().lower()
    if not word:
        return None
    for start, rating in _RATINGS.items():
        if word.startswith(start):
            return rating
    known = ", ".join(_RATINGS.values())
    raise BadInput(f'{path.name} row {line}: rating is "{text.strip()[:40]}"; it is {known}.')


# ---------------------------------------------------------------- measures


def coverage(study: Study, ratings: Mapping[str, str]) -> Iterator[Measure]:
    """CGR on the cases of each rating, and by finding where the box was rated accurate."""
    names = study.tables.cases["case"]
    unknown = sorted(set(ratings) - set(names))
    if unknown:
        raise BadInput(f'the ratings name case "{unknown[0]}", which is not among the cases.')
    rated = np.array([ratings.get(name, "") for name in names])
    accurate = np.isin(rated, _SETS["accurate"])
    for marks in study.marks:
        count = _count(marks, study.edition)
        yield _record(marks, study.edition, count, {"coverage": "all"})
        for name, members in _SETS.items():
            within = count.within(np.isin(rated, members))
            yield _record(marks, study.edition, within, {"coverage": name})
        findings = marks.facts.groupings["finding"]
        for finding in findings.names:
            within = count.within(accurate & findings.members(finding))
            if within.population.any():
                by = {"coverage": "accurate", "finding": finding}
                yield _record(marks, study.edition, within, by)


def _count(marks: Marks, edition: Edition) -> pr.Count:
    if edition.coverage_unparsed == "leave_out":
        return pr.cgr(marks)
    # The published script takes a mask answer that is not there for one that did not flip [D4],
    # and does not ask that the answer was Yes: on these cases a correct answer is.
    target = marks.target_mask
    flipped: Mask = (target >= 0) & (target != marks.original)
    population = marks.facts.boxed & marks.correct
    return pr.Count(population, np.where(population, 1, -1).astype(np.int8), flipped, "original")


def _record(marks: Marks, edition: Edition, count: pr.Count, by: dict[str, str]) -> Measure:
    record = pr.proportion(marks, edition, "cgr", count, by, "none")
    if not record.n or record.k is None:
        return record
    low = f"only {record.n} cases" if record.n < _LOW_N else None
    spread = pr.clustered(count.hits[count.decided], marks.facts.patients[count.decided])
    if edition.intervals == "bootstrap":  # this one table of theirs has Wilson intervals
        interval = wilson(record.k, record.n)
        spread = {"se": interval.sd, "low": interval.low, "high": interval.high, "method": "wilson"}
    return msgspec.structs.replace(record, note=pr.joined(low, record.note), **spread)
