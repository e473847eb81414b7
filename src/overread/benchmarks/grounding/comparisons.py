"""Rates compared: groups of patients, readers with each other, rated boxes, sizes and wordings.

Outcomes are those of accuracy, UAR, CGR and IS (GROUNDING 11). A difference stands on the shared
cases only; fewer than ten shared cases make no comparison.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Executor
from functools import partial
from pathlib import Path
from typing import Final, NamedTuple

import numpy as np
from msgspec.structs import replace

from overread import stats
from overread.benchmarks.files.sheets import rows_of
from overread.benchmarks.grounding import authors
from overread.benchmarks.grounding.category import FEW_PARSED
from overread.benchmarks.grounding.marks import NO_ROW, Marks, Study
from overread.benchmarks.grounding.rates import (
    BY_NAME,
    COMPARED,
    counted_rate,
    decided,
    hits,
    outcomes,
    overall,
    rated,
)
from overread.case import BadInput, Measure, Method
from overread.measuring.arrays import Group, Words
from overread.measuring.contrasts import paired, rank_correlation
from overread.measuring.estimates import Ints, Mask
from overread.measuring.notes import NOTHING, noted, remarked, with_method
from overread.measuring.specs import PLAIN, Counted, Spec, counted_once
from overread.measuring.units import POINTS

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

_PERMUTATIONS: Final = {"cases": 1000, "patients": 4_999}
_TESTED: Final = ("cgr", "uar")


def _attributes(run: Study, metric: str) -> Iterator[str]:
    for attribute in ("sex", "view", "age"):
        # The sixth test completes the published family of five [D35].
        sixth = (attribute, metric) == ("view", "uar")
        if run.edition.subgroup_tests == "six" or not sixth:
            yield attribute


def _gap_maker(metric: str) -> Callable[[Study, Marks], Iterator[Measure]]:
    def make(run: Study, m: Marks) -> Iterator[Measure]:
        for attribute in _attributes(run, metric):
            yield _gap_test(run, m, attribute, metric)

    return make


def begin_gap_tests(run: Study, beside: Executor) -> None:
    """Deal patients out in a thread beside the other measures: a third of all the time goes there.

    Drawing leaves the interpreter to others, and every test has a seed of its own.
    """
    if run.edition.permutations == "patients":
        for m in run.marks:
            for metric in _TESTED:
                for attribute in _attributes(run, metric):
                    _p_of_patients(run, m, attribute, metric, beside)


def _p_of_patients(
    run: Study, m: Marks, attribute: str, metric: str, beside: Executor | None = None
) -> Callable[[], float | None]:
    """What gives the p of a test, once it is asked for or as soon as it has been begun `beside`."""
    test = partial(_test_of_patients, run, m, attribute, metric)
    begun = test if beside is None else lambda: beside.submit(test()).result
    return run.once(("gap", m.reader, attribute, metric), begun)


def _test_of_patients(
    run: Study, m: Marks, attribute: str, metric: str
) -> Callable[[], float | None]:
    """What gives p of equal rates in the groups of an attribute, dealing patients out."""
    places, marks, words = _tested(run, m, attribute, metric)
    known, names = words != "", run.orders[attribute]
    codes = np.array([names.index(word) for word in words[known]], dtype=np.int64)
    return partial(
        stats.groups_p, marks[known], codes, run.clusters[places][known],
        n_perm=_PERMUTATIONS["patients"], seed=run.edition.seed,
    )  # fmt: skip


def _tested(run: Study, m: Marks, attribute: str, metric: str) -> tuple[Ints, Ints, Words]:
    """The cases a gap stands on, which of them are hits, and whose group each is in."""
    counted = _counted(run, m, metric)
    places = m.ordered(decided(counted))
    return places, hits(counted)[places].astype(np.int64), run.columns[attribute][places]


def _gap_test(run: Study, m: Marks, attribute: str, metric: str) -> Measure:
    """The gap between groups, with p; q is adjusted among the tests of one reader.

    Two groups: the first rate less the second, with Newcombe's interval of the two groups' own,
    which says of 0 what the test says (`_agreeing`). More: the largest less the smallest, which has
    none.
    """
    places, marks, words = _tested(run, m, attribute, metric)
    names, patients = run.orders[attribute], run.clusters[places]
    parts = {name: marks[words == name] for name in names}
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
    edition = run.edition
    times = _PERMUTATIONS[edition.permutations]
    of = "" if edition.permutations == "cases" else "patients"
    if not of:
        p = authors.permutation_of_cases(list(parts.values()), times, edition)
    else:
        p = _p_of_patients(run, m, attribute, metric)()
    if p is None:
        return noted(made, NOTHING, "fewer than two groups of two")
    rates = [float(part.mean()) for part in parts.values() if part.size >= 2]
    how = Method(kind="permutation", of=of, boot=times, seed=edition.seed)
    made = with_method(replace(made, p=p), how)
    if len(names) > 2:
        return replace(made, value=max(rates) - min(rates))
    made = replace(made, value=rates[0] - rates[1])
    if run.published:
        return made
    made = replace(made, against=0.0)
    two = (stats.clustered_share(part, patients[words == name])[0] for name, part in parts.items())
    found = stats.independent_difference(*two)
    low, high = _agreeing(found, p)
    return replace(made, low=low, high=high, se=found.sd)


def _agreeing(found: stats.Interval, p: float) -> tuple[float | None, float | None]:
    """The bounds of a gap, made to say of 0 what its test says.

    An interval that leaves 0 out beside p > 0.05 is stretched to it. One that holds 0 beside
    p <= 0.05 (as where patients are in both groups, which only the test makes use of) ends, on
    that side, at Miettinen's test-based limit, d (1 - z/z_p), z_p the normal quantile of p: the
    end that an interval of this d and this p has.

    References
    ----------
    O. S. Miettinen (1976), American Journal of Epidemiology 103, 226-235.
    """
    from overread.stats.special import ndtri

    d, low, high = found.point, found.low, found.high
    if d is None or low is None or high is None or (low <= 0 <= high) == (p > stats.LEVEL):
        return low, high
    if p > stats.LEVEL:
        return min(low, 0.0), max(high, 0.0)
    near = d * max(1 + stats.Z95 / float(ndtri(p / 2)), 0.001)
    return (near, high) if d > 0 else (low, near)


# ---------------------------------------------------------------- readers

_FEWEST: Final = 10
BASELINE: Final = "text_baseline"
PAIRWISE: Final = "pairwise"


class Comparison(NamedTuple):
    """Reader a less reader b on one measure, as one row of one family."""

    kind: str
    metric: str
    a: Marks
    b: Marks


def planned(run: Study) -> list[Comparison]:
    """Every comparison of the edition, before it is known which stand on enough cases."""
    baselines = run.text_only
    by_name = sorted(run.marks, key=lambda marks: marks.reader)
    pairs = [(a, b) for i, a in enumerate(by_name) for b in by_name[i + 1 :]]
    found: list[Comparison] = []
    if run.edition.families == "pooled":
        if not baselines:
            return []  # without a baseline the published table is empty
        for b in baselines:
            for a in run.marks:
                found.append(Comparison(BASELINE, "accuracy", a, b))
                if a.modality != "vision":  # skipped by name in the published code [D24]
                    found.append(Comparison(BASELINE, "uar", a, b))
        return found + [Comparison(PAIRWISE, "accuracy", a, b) for a, b in pairs]
    for metric in COMPARED:
        found += [
            Comparison(BASELINE, metric, a, b) for b in baselines for a in run.marks if a is not b
        ]
        found += [Comparison(PAIRWISE, metric, a, b) for a, b in pairs]
    return found


def _counted(run: Study, m: Marks, metric: str) -> Counted:
    return counted_once(run, m, BY_NAME[metric], PLAIN)


def _shared(run: Study, c: Comparison) -> Mask:
    both: Mask = decided(_counted(run, c.a, c.metric)) & decided(_counted(run, c.b, c.metric))
    return both


def compared(run: Study) -> list[Measure]:
    """The records of all comparisons; q comes later, by family."""
    kept = [c for c in planned(run) if int(_shared(run, c).sum()) >= _FEWEST]
    if not run.published:
        return [_difference(run, c) for c in kept]
    made = [(_difference_record(run, c), *_paired_outcomes(run, c)) for c in kept]
    return authors.paired_bootstraps(made, run.edition)


def _paired_outcomes(run: Study, c: Comparison) -> tuple[Ints, Ints]:
    """What both readers got, over the shared cases, in the order of the first one's file."""
    places = c.a.ordered(_shared(run, c))
    one, two = (hits(_counted(run, m, c.metric))[places].astype(np.int64) for m in (c.a, c.b))
    return one, two


def _difference_record(run: Study, c: Comparison) -> Measure:
    one, two = (float(part.mean()) for part in _paired_outcomes(run, c))
    family = f"{c.kind}|{c.metric}"
    if run.edition.families != "pooled" and c.kind == BASELINE:
        family += f"|{c.b.reader}"
    return Measure(
        reader=c.a.reader,
        measure=f"diff_{c.metric}",
        by={"versus": c.b.reader, "comparison": c.kind},
        family=family,
        beside=(one, two),
        note=f"{one:.4f} against {two:.4f}",
    )


def _difference(run: Study, c: Comparison) -> Measure:
    """The difference over the cases both decided: estimate, interval and test of the same ones."""
    record = _difference_record(run, c)
    one, two = (outcomes(_counted(run, m, c.metric)) for m in (c.a, c.b))
    return paired(record, one, two, run.clusters, family=record.family)


# ---------------------------------------------------------------- the text-only gap


def _make_text_gap(run: Study, m: Marks) -> Iterator[Measure]:
    """Accuracy less that of the best text-only reader, on the cases both decided.

    Who is best is read off the same answers: where several are about as good, the best one's rate
    is a little too high, and the gap a little too small. Published: each on its own parsed cases.
    """
    if m.modality != "multimodal":
        return
    made = Measure(reader=m.reader, measure="text_gap")
    mine = overall(run, m, "accuracy")
    theirs = {one.reader: overall(run, one, "accuracy").value for one in run.text_only}
    known = {name: rate for name, rate in theirs.items() if rate is not None}
    if not known or mine.value is None:
        why = "no text-only model in this run" if not known else "no parsed answer with a key"
        yield noted(made, NOTHING, why)
        return
    best = max(known, key=lambda name: known[name])
    made = remarked(made, f"{best}: {known[best]:.4f}")
    if run.published:
        yield replace(made, value=mine.value - known[best], n=mine.n)
        return
    if len(known) > 1:
        made = remarked(made, f"the best of {len(known)} text-only models, by the same answers")
    one, two = (outcomes(_counted(run, marks, "accuracy")) for marks in (m, run.of(best)))
    yield paired(made, one, two, run.clusters)


def _difference_maker(name: str) -> Callable[[Study, Marks], Iterator[Measure]]:
    def make(run: Study, m: Marks) -> Iterator[Measure]:
        for record in run.once(("compared",), lambda: compared(run)):
            if (record.reader, record.measure) == (m.reader, name):
                yield record

    return make


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
        for metric in _TESTED
    ),
    Spec(
        name="text_gap",
        says="accuracy less that of the best text-only model",
        unit=POINTS,
        make=_make_text_gap,
    ),
    *(
        Spec(
            name=f"diff_{metric}",
            says=f"{metric} of a model less that of another, on the cases both decided",
            unit=POINTS,
            better=BY_NAME[metric].better,
            make=_difference_maker(f"diff_{metric}"),
        )
        for metric in COMPARED
    ),
)

# ---------------------------------------------------------------- resolutions and wordings
# Does a number depend on the resolution or on the wording? (GROUNDING 12)
#
# Further sizes and phrasings are asked of a sub-sample. `corrected` compares them with the
# headline's answers to the same cases, case by case; the published code compares CGR at 512 pixels
# with CGR at 224 over all cases [D15]. Their paired p is not reproduced: it pairs cases that are
# not the same.

# What is given at every size, and the image it needs.
_AT_SIZE: Final = {
    "accuracy": "original",
    "cgr": "target_mask",
    "uar": "swap",
    "is": "irrelevant_mask",
}
# Below this many parsed answers an accuracy says nothing (GROUNDING 12).
_FEWEST_PARSED: Final = 50


def robustness(run: Study) -> Iterator[Measure]:
    """Every measure at every further resolution and phrasing, beside the headline's."""
    sizes = {px: run.at(px, run.options.phrasing) for px in run.options.more_px}
    if sizes and run.marks:
        yield from _at_sizes(run, sizes)
    further = {name: run.at(run.options.px, name) for name in run.options.more_phrasings}
    if further and run.marks:
        yield from _in_phrasings(run, further)


def _asked_of(found: Iterable[Sequence[Marks]]) -> Mask:
    """The cases of the sub-sample: those anybody was asked about."""
    some: Mask = np.any([m.original > NO_ROW for marks in found for m in marks], axis=0)
    return some


def _of(run: Study, m: Marks, metric: str) -> Counted:
    """What a rate says of marks that need not be the headline's."""
    of = BY_NAME[metric].of
    assert of is not None
    return of(run, m, PLAIN)


def _at_sizes(run: Study, sizes: Mapping[int, Sequence[Marks]]) -> Iterator[Measure]:
    base = str(run.options.px)
    subset = _asked_of(sizes.values())
    same_cases = not run.published
    rates: dict[tuple[str, int], list[tuple[float | None, float | None]]] = {}
    for place, headline in enumerate(run.marks):
        for name, image in _AT_SIZE.items():
            found = {px: m for px, marks in sizes.items() if (m := marks[place]).asked(image)}
            if not found:
                continue
            here = _of(run, headline, name)
            here = here.within(subset) if same_cases else here
            at_base = rated(run, headline, name, here, {"px": base})
            yield at_base
            for px, marks in found.items():
                there = _of(run, marks, name)
                at_px = rated(run, marks, name, there, {"px": str(px)})
                yield at_px
                rates.setdefault((name, px), []).append((at_base.value, at_px.value))
                if same_cases:
                    yield _paired_change(marks, name, here, there, px, base)
    for (name, px), pairs in rates.items():
        if name == "cgr" or same_cases:
            yield rank_correlation(pairs, {"px": f"{base},{px}", "of": name}, exact=same_cases)


def _paired_change(
    m: Marks, name: str, here: Counted, there: Counted, px: int, base: str
) -> Measure:
    """The change of a rate with the resolution, over the cases both resolutions decided."""
    by = {"px": str(px), "versus": f"px={base}"}
    made = Measure(reader=m.reader, measure=f"diff_{name}", by=by)
    return paired(made, outcomes(there), outcomes(here), m.facts.patients)


def _in_phrasings(run: Study, further: Mapping[str, Sequence[Marks]]) -> Iterator[Measure]:
    """Parse rate first: an accuracy over few parsed answers is not one."""
    subset = _asked_of(further.values())
    for phrasing, found in {run.options.phrasing: run.marks, **further}.items():
        by = {"phrasing": phrasing}
        for m in found:
            if not m.asked("original"):
                continue
            yield rated(run, m, "parse_rate", _of(run, m, "parse_rate").within(subset), by)
            record = rated(run, m, "accuracy", _of(run, m, "accuracy").within(subset), by)
            if 0 < (record.n or 0) < _FEWEST_PARSED:
                few = f"uninterpretable: only {record.n} answers could be parsed"
                record = noted(record, FEW_PARSED, few)
            yield record
            if m.asked("swap") and not run.published:
                yield rated(run, m, "uar", _of(run, m, "uar").within(subset), by)


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
        counted = _counted(run, m, "cgr")
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
        record = run.share(record, hits(counted), some)
    if (record.n or 0) < _LOW_N:
        record = noted(record, FEW_RATED, f"only {record.n} cases")
    return record
