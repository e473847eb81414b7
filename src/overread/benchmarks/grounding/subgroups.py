"""Rates within groups: injected errors, groups of patients, and boxes that people rated."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Final

import numpy as np
from msgspec.structs import replace

from overread.benchmarks.files.sheets import rows_of
from overread.benchmarks.grounding import authors
from overread.benchmarks.grounding.marks import Marks, Study
from overread.benchmarks.grounding.rates import BY_NAME, counted_rate, decided, hits, rated
from overread.case import BadInput, Measure, Method
from overread.measuring.arrays import Group
from overread.measuring.estimates import Ints, clustered_share
from overread.measuring.notes import NOTHING, noted, with_method
from overread.measuring.specs import PLAIN, Counted, Spec, counted_once
from overread.measuring.units import POINTS
from overread.stats import design_effect, exchangeable_groups_p, independent_difference, wilson

# ---------------------------------------------------------------- injected errors
# Does the verdict on a sentence change with the image? (GROUNDING 8)

_REXERR: Final = "rexerr_sensitivity"


def _make_rexerr(run: Study, m: Marks) -> Iterator[Measure]:
    """Correct verdicts on a sentence, and which of them another image changes.

    Flips over parsed swaps, cases pooled within a type and a group.
    """
    flipped = (m.swap >= 0) & (m.swap != m.original)
    counted = counted_rate(m.facts.sentence & m.correct, m.swap, flipped)
    if run.edition.error_groups == "published":
        yield from authors.error_group_means(m, run, counted, _REXERR)
        return
    for group in (*run.grouping("error_group"), *run.grouping("error_type")):
        yield rated(run, m, _REXERR, counted.within(group.members), group.by)


# ---------------------------------------------------------------- groups of patients
# Does image use differ between women and men, views, ages? Permutation tests (GROUNDING 11).

_PERMUTATIONS: Final = {"cases": 1000, "patients": 2000}


def _gap_maker(metric: str) -> Callable[[Study, Marks], Iterator[Measure]]:
    def make(run: Study, m: Marks) -> Iterator[Measure]:
        for attribute in ("sex", "view", "age"):
            # The sixth test completes the published family of five [D35].
            sixth = (attribute, metric) == ("view", "uar")
            if run.edition.subgroup_tests == "six" or not sixth:
                yield _gap_test(run, m, attribute, metric)

    return make


def _gap_test(run: Study, m: Marks, attribute: str, metric: str) -> Measure:
    """The gap between groups, with p; q is adjusted among the tests of one reader.

    Two groups: the first rate less the second, with an interval. More: the largest less the
    smallest, which has none.
    """
    counted = counted_once(run, m, BY_NAME[metric], PLAIN)
    places = m.ordered(decided(counted))
    names, words = run.orders[attribute], run.columns[attribute][places]
    outcomes, patients = hits(counted)[places].astype(np.int64), run.clusters[places]
    parts = {name: outcomes[words == name] for name in names}
    made = Measure(
        reader=m.reader,
        measure=f"gap_{metric}",
        by={"attribute": attribute},
        n=int((words != "").sum()),
        family=f"subgroups|{m.reader}",
        note=", ".join(
            f"{name} {part.mean():.3f} (n={part.size})" if part.size else f"{name} n=0"
            for name, part in parts.items()
        ),
    )
    codes = np.array([names.index(word) if word else -1 for word in words], dtype=np.int64)
    tested = _permutation_p(run, list(parts.values()), codes, outcomes, patients)
    if tested is None:
        return noted(made, NOTHING, "fewer than two groups of two")
    rates = [float(part.mean()) for part in parts.values() if part.size >= 2]
    made = with_method(replace(made, p=tested[0]), tested[1])
    if len(names) > 2:
        return replace(made, value=max(rates) - min(rates))
    made = replace(made, value=rates[0] - rates[1])
    if run.published:
        return made
    intervals = []
    for name, part in parts.items():
        effect = design_effect(part, patients[words == name])
        intervals.append(wilson(int(part.sum()), int(part.size), design_effect=effect))
    found = independent_difference(*intervals)
    return replace(made, low=found.low, high=found.high, se=found.sd)


def _permutation_p(
    run: Study, parts: list[Ints], codes: Ints, outcomes: Ints, patients: Ints
) -> tuple[float, Method] | None:
    edition = run.edition
    times = _PERMUTATIONS[edition.permutations]
    of, known = "", codes >= 0
    if edition.permutations == "cases":
        p = authors.permutation_of_cases(parts, times, edition, two=len(parts) == 2)
    else:
        of = "patients"
        p = exchangeable_groups_p(
            outcomes[known], codes[known], patients[known], n_perm=times, seed=edition.seed
        )
    how = Method(kind="permutation", of=of, boot=times, seed=edition.seed)
    return None if p is None else (p, how)


SPECS: Final = (
    Spec(
        name=_REXERR,
        says="correct verdicts on a sentence that another image changes",
        make=_make_rexerr,
    ),
    *(
        Spec(
            name=f"gap_{metric}",
            says=f"{metric.upper()} of one group of patients less that of another",
            unit=POINTS,
            better=None,
            make=_gap_maker(metric),
        )
        for metric in ("cgr", "uar")
    ),
)

# ---------------------------------------------------------------- boxes that people rated
# CGR where the box really holds the finding, by what human readers said of the boxes.
#
# A box that covers a finding only in part leaves evidence outside the mask, and CGR looks lower
# than it is (GROUNDING 14). Ratings come from a reader's sheet: rated accurate, partial,
# inaccurate, or cannot tell.

# A rating is recognised by how it begins (GROUNDING 14).
_RATINGS: Final = {"acc": "accurate", "par": "partial", "inac": "inaccurate", "can": "cannot_tell"}
_LOW_N: Final = 10
FEW_RATED: Final = "few_rated"
"""Flag of a rate on so few rated boxes that it says little."""


def read_ratings(paths: str) -> dict[str, str]:
    """The rating of each case. Where several readers rated one, the first path's reader decides.

    A path is a csv with the columns case_id and rating, or a folder that holds `cases.csv` (with
    display_id and rating) and `case_mapping.csv` (display_id to case_id), as a packet comes back.
    """
    found: dict[str, str] = {}
    for part in paths.split(","):
        found = _ratings_in(Path(part.strip())) | found
    if not found:
        raise BadInput(f"--set ratings={paths}: no case is rated there. Give the filled sheets.")
    return found


def _ratings_in(path: Path) -> dict[str, str]:
    """The ratings of one reader."""
    sheet, column, cases = path, "case_id", None
    if path.is_dir():
        sheet, mapping, column = path / "cases.csv", path / "case_mapping.csv", "display_id"
        for name in (sheet.name, mapping.name):
            if not (path / name).is_file():
                raise BadInput(f"{path} has no {name}. Give the packet as it came back, whole.")
        rows = rows_of(mapping, ("display_id", "case_id"))
        cases = {cells["display_id"].strip(): cells["case_id"].strip() for _, cells in rows}
    elif not path.is_file():
        raise BadInput(f"--set ratings={path}: there is no such file or folder.")
    found: dict[str, str] = {}
    for line, cells in rows_of(sheet, (column, "rating")):
        where = f"{sheet.name} row {line}"
        said, case = cells["rating"].strip(), cells[column].strip()
        if not said:
            continue
        rating = next((r for start, r in _RATINGS.items() if said.lower().startswith(start)), None)
        if rating is None:
            known = ", ".join(_RATINGS.values())
            raise BadInput(f'{where}: rating is "{said[:40]}"; it is {known}.')
        if cases is not None:
            if case not in cases:
                raise BadInput(f'{sheet} row {line}: display_id "{case}" is not in the mapping.')
            case = cases[case]
        if case in found:
            raise BadInput(f'{where}: case "{case}" is rated already. Keep one rating a reader.')
        found[case] = rating
    return found


def cgr_by_rating(run: Study, ratings: Mapping[str, str]) -> Iterator[Measure]:
    """CGR on the cases of each rating, and by finding where the box was rated accurate."""
    unknown = sorted(set(ratings) - set(run.cases))
    if unknown:
        raise BadInput(f'the ratings name case "{unknown[0]}", which is not among the cases.')
    rated_as = np.array([ratings.get(name, "") for name in run.cases])
    accurate = Group({"coverage": "accurate"}, rated_as == "accurate")
    either = np.isin(rated_as, ("accurate", "partial"))
    groups = (
        Group({"coverage": "all"}, run.everyone),
        accurate,
        Group({"coverage": "accurate_or_partial"}, either),
    )
    for m in run.marks:
        counted = counted_once(run, m, BY_NAME["cgr"], PLAIN)
        if run.edition.coverage_unparsed == "no_flip":
            counted = authors.flips_of_rated_boxes(m)
        for group in groups:
            yield _rated_record(run, m, counted.within(group.members), group.by)
        for finding in run.grouping("finding"):
            within = counted.within(accurate.members & finding.members)
            if within.population.any():
                yield _rated_record(run, m, within, {**accurate.by, **finding.by})


def _rated_record(run: Study, m: Marks, counted: Counted, by: Mapping[str, str]) -> Measure:
    record = rated(run, m, "cgr", counted, by)
    if not record.n:
        return record
    some = decided(counted)
    record = replace(record, sd_boot=None)
    if run.published:
        record = authors.plain_wilson(record)
    else:
        record = clustered_share(record, hits(counted)[some], run.clusters[some])
    if (record.n or 0) < _LOW_N:
        record = noted(record, FEW_RATED, f"only {record.n} cases")
    return record
