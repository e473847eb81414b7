"""Rates within groups: injected errors, groups of patients, and boxes that people rated."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

import msgspec
import numpy as np
from numpy.typing import NDArray

from overread.benchmarks.files.sheets import rows_of
from overread.benchmarks.grounding import proportions as pr
from overread.benchmarks.grounding.cases import CONTROL, ERROR_GROUPS
from overread.benchmarks.grounding.edition import Edition
from overread.benchmarks.grounding.marks import Done, Making, Marks, Mask, Metric, Study
from overread.case import BadInput, Measure
from overread.stats import (
    design_effect,
    exchangeable_groups_p,
    independent_difference,
    permutation_k_groups,
    permutation_two_groups,
    wilson,
)

__all__ = ["METRICS", "cgr_by_rating", "read_ratings"]

# ---------------------------------------------------------------- injected errors
# Injected report errors: does the verdict on a sentence change with the image? (GROUNDING 8)


# The names the published metrics look for: two types fewer, and its controls go by this word.
_PUBLISHED_ERRORS: Final = {
    "image_dependent": tuple(t for t in ERROR_GROUPS["image_dependent"] if t != "change_view"),
    "text_only": ("add_typo", "change_to_homophone"),
    CONTROL: ("not_applicable",),
}


def _make_rexerr(marks: Marks, study: Study, done: Done) -> Iterator[Measure]:
    if study.edition.error_groups == "published":
        yield from _published_rexerr(marks, study)
    else:
        yield from _rexerr_by_group(marks, study)


# ---------------------------------------------------------------- corrected


def _rexerr_by_group(marks: Marks, study: Study) -> Iterator[Measure]:
    """Flips over parsed swaps, cases pooled within a type and a group."""
    count = _verdict_count(marks)
    for key in ("error_group", "error_type"):
        grouping = marks.facts.groupings[key]
        for name in grouping.names:
            within = count.within(grouping.members(name))
            yield pr.proportion(marks, study.edition, _REXERR, within, {key: name})


def _verdict_count(marks: Marks) -> pr.Count:
    """Correct verdicts on a sentence, and which of them another image changes."""
    flipped = (marks.swap >= 0) & (marks.swap != marks.original)
    return pr.Count(marks.facts.sentence & marks.correct, marks.swap, flipped, "swap")


# ---------------------------------------------------------------- authors


def _published_rexerr(marks: Marks, study: Study) -> Iterator[Measure]:
    """Flips over all correct verdicts, swaps without an answer included; means of types."""
    column = study.tables.cases["error_type"]
    types = np.array([text or "" for text in column])
    count = _verdict_count(marks)
    rates: dict[str, float] = {}
    for name in sorted(set(types[marks.facts.sentence].tolist()) - {""}):
        record = _bare_rate(marks, count.population & (types == name), count.hits)
        record = msgspec.structs.replace(record, by={"error_type": name})
        if record.value is not None:
            rates[name] = record.value
            yield record
    for group, names in _PUBLISHED_ERRORS.items():
        found = [rates[name] for name in names if name in rates]
        yield Measure(
            reader=marks.reader,
            measure=_REXERR,
            by={"error_group": group},
            value=float(np.mean(found)) if found else None,
            method="mean of types" if found else None,
            note=None if found else "no error type has one of the published names",
        )


def _bare_rate(marks: Marks, population: Mask, hits: Mask) -> Measure:
    n, k = int(population.sum()), int((population & hits).sum())
    return Measure(
        reader=marks.reader,
        measure=_REXERR,
        value=k / n if n else None,
        n=n,
        k=k,
        note=None if n else "no correct answer to such a sentence",
    )


_REXERR: Final = "rexerr_sensitivity"
_REXERR_METRICS: Final = (
    Metric(
        name=_REXERR,
        says="correct verdicts on a sentence that another image changes",
        needs=("original", "swap"),
        make=_make_rexerr,
    ),
)


# ---------------------------------------------------------------- groups of patients
# Does image use differ between women and men, views, ages? Permutation tests (GROUNDING 11).


Whole = NDArray[np.int64]

# The published family of five, in its order, and the sixth that completes it [D35].
_GAP_TESTS: Final = {
    "five": (("sex", "cgr"), ("sex", "uar"), ("view", "cgr"), ("age", "cgr"), ("age", "uar")),
    "six": (
        ("sex", "cgr"),
        ("sex", "uar"),
        ("view", "cgr"),
        ("view", "uar"),
        ("age", "cgr"),
        ("age", "uar"),
    ),
}
_PERMUTATIONS: Final = {"cases": 1000, "patients": 2000}


def _gap_maker(metric: str) -> Making:
    def make(marks: Marks, study: Study, done: Done) -> Iterator[Measure]:
        for attribute, tested in _GAP_TESTS[study.edition.subgroup_tests]:
            if tested == metric:
                yield _gap_test(marks, study, attribute, metric)

    return make


def _gap_test(marks: Marks, study: Study, attribute: str, metric: str) -> Measure:
    """The gap between groups, with p; q is adjusted among the tests of one reader.

    Two groups: the first rate less the second, with an interval. More: the largest less the
    smallest, which has none.
    """
    count = pr.cgr(marks) if metric == "cgr" else pr.uar(marks)
    grouping = marks.facts.groupings[attribute]
    places = pr.ordered(marks, count.decided)
    codes, hits = grouping.codes[places], count.hits[places].astype(np.int64)
    parts = {name: hits[codes == at] for at, name in enumerate(grouping.names)}
    made = Measure(
        reader=marks.reader,
        measure=f"gap_{metric}",
        by={"attribute": attribute},
        n=int((codes >= 0).sum()),
        family=f"subgroups|{marks.reader}",
        note=", ".join(
            f"{name} {part.mean():.3f} (n={part.size})" if part.size else f"{name} n=0"
            for name, part in parts.items()
        ),
    )
    p = _permutation_p(parts, attribute, codes, hits, marks.facts.patients[places], study)
    if p is None:
        why = pr.joined("fewer than two groups of two", made.note)
        return msgspec.structs.replace(made, note=why, method=None)
    rates = [float(part.mean()) for part in parts.values() if part.size >= 2]
    made = msgspec.structs.replace(made, p=p[0], method=p[1])
    if len(grouping.names) > 2:
        return msgspec.structs.replace(made, value=max(rates) - min(rates))
    made = msgspec.structs.replace(made, value=rates[0] - rates[1])
    if study.edition.intervals == "bootstrap":
        return made
    intervals = []
    for at, part in enumerate(parts.values()):
        effect = design_effect(part, marks.facts.patients[places][codes == at])
        intervals.append(wilson(int(part.sum()), int(part.size), design_effect=effect))
    found = independent_difference(*intervals)
    return msgspec.structs.replace(made, low=found.low, high=found.high, se=found.sd)


def _permutation_p(
    parts: dict[str, Whole],
    attribute: str,
    codes: Whole,
    hits: Whole,
    patients: Whole,
    study: Study,
) -> tuple[float, str] | None:
    edition = study.edition
    times = _PERMUTATIONS[edition.permutations]
    if edition.permutations == "cases":
        groups = list(parts.values())
        if attribute == "age":
            p = permutation_k_groups(groups, times, edition.seed, exact_ties=False)
        else:
            p = permutation_two_groups(groups[0], groups[1], times, edition.seed, exact_ties=False)
        return None if p is None else (p, f"permutation:{times}:{edition.seed}")
    known = codes >= 0
    p = exchangeable_groups_p(
        hits[known], codes[known], patients[known], n_perm=times, seed=edition.seed
    )
    return None if p is None else (p, f"permutation of patients:{times}:{edition.seed}")


_GAP_METRICS: Final = tuple(
    Metric(
        name=f"gap_{metric}",
        says=f"{metric.upper()} of one group of patients less that of another",
        needs=("original", needed),
        make=_gap_maker(metric),
    )
    for metric, needed in (("cgr", "target_mask"), ("uar", "swap"))
)
METRICS: Final = (*_REXERR_METRICS, *_GAP_METRICS)


# ---------------------------------------------------------------- boxes that people rated
# CGR where the box really holds the finding, by what human readers said of the boxes.
#
# A box that covers a finding only in part leaves evidence outside the mask, and CGR looks lower
# than it is (GROUNDING 14). Ratings come from a reader's sheet: rated accurate, partial,
# inaccurate, or cannot tell.


# A rating is recognised by how it begins (GROUNDING 14).
_RATINGS: Final = {"acc": "accurate", "par": "partial", "inac": "inaccurate", "can": "cannot_tell"}
_RATED_SETS: Final[Mapping[str, tuple[str, ...]]] = {
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
        for case, rating in (
            _rating_packet(path) if path.is_dir() else _rating_sheet(path)
        ).items():
            found.setdefault(case, rating)
    if not found:
        raise BadInput(f"--set ratings={paths}: no case is rated there. Give the filled sheets.")
    return found


def _rating_sheet(path: Path) -> dict[str, str]:
    if not path.is_file():
        raise BadInput(f"--set ratings={path}: there is no such file or folder.")
    found: dict[str, str] = {}
    for line, cells in rows_of(path, ("case_id", "rating")):
        if rating := _read_rating(path, line, cells["rating"]):
            _add_rating(found, cells["case_id"].strip(), rating, f"{path.name} row {line}")
    return found


def _rating_packet(folder: Path) -> dict[str, str]:
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
        if rating := _read_rating(sheet, line, cells["rating"]):
            if display not in cases:
                raise BadInput(f'{sheet} row {line}: display_id "{display}" is not in the mapping.')
            _add_rating(found, cases[display], rating, f"{sheet.name} row {line}")
    return found


def _add_rating(found: dict[str, str], case: str, rating: str, where: str) -> None:
    if case in found:
        raise BadInput(f'{where}: case "{case}" is rated already. Keep one rating a reader.')
    found[case] = rating


def _read_rating(path: Path, line: int, text: str) -> str | None:
    word = text.strip().lower()
    if not word:
        return None
    for start, rating in _RATINGS.items():
        if word.startswith(start):
            return rating
    known = ", ".join(_RATINGS.values())
    raise BadInput(f'{path.name} row {line}: rating is "{text.strip()[:40]}"; it is {known}.')


# ---------------------------------------------------------------- measures


def cgr_by_rating(study: Study, ratings: Mapping[str, str]) -> Iterator[Measure]:
    """CGR on the cases of each rating, and by finding where the box was rated accurate."""
    names = study.tables.cases["case"]
    unknown = sorted(set(ratings) - set(names))
    if unknown:
        raise BadInput(f'the ratings name case "{unknown[0]}", which is not among the cases.')
    rated = np.array([ratings.get(name, "") for name in names])
    accurate = np.isin(rated, _RATED_SETS["accurate"])
    for marks in study.marks:
        count = _rated_count(marks, study.edition)
        yield _rated_record(marks, study.edition, count, {"coverage": "all"})
        for name, members in _RATED_SETS.items():
            within = count.within(np.isin(rated, members))
            yield _rated_record(marks, study.edition, within, {"coverage": name})
        findings = marks.facts.groupings["finding"]
        for finding in findings.names:
            within = count.within(accurate & findings.members(finding))
            if within.population.any():
                by = {"coverage": "accurate", "finding": finding}
                yield _rated_record(marks, study.edition, within, by)


def _rated_count(marks: Marks, edition: Edition) -> pr.Count:
    if edition.coverage_unparsed == "leave_out":
        return pr.cgr(marks)
    # The published script takes a mask answer that is not there for one that did not flip [D4],
    # and does not ask that the answer was Yes: on these cases a correct answer is.
    target = marks.target_mask
    flipped: Mask = (target >= 0) & (target != marks.original)
    population = marks.facts.boxed & marks.correct
    return pr.Count(population, np.where(population, 1, -1).astype(np.int8), flipped, "original")


def _rated_record(marks: Marks, edition: Edition, count: pr.Count, by: dict[str, str]) -> Measure:
    record = pr.proportion(marks, edition, "cgr", count, by, "none")
    if not record.n or record.k is None:
        return record
    low = f"only {record.n} cases" if record.n < _LOW_N else None
    spread = pr.clustered(count.hits[count.decided], marks.facts.patients[count.decided])
    if edition.intervals == "bootstrap":  # this one table of theirs has Wilson intervals
        interval = wilson(record.k, record.n)
        spread = {"se": interval.sd, "low": interval.low, "high": interval.high, "method": "wilson"}
    return msgspec.structs.replace(record, note=pr.joined(low, record.note), **spread)
