"""What people said, as measures: shares of labelled errors, scores and rankings beside judges'."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from itertools import combinations
from typing import NamedTuple

import numpy as np
from msgspec.structs import replace

from overread.benchmarks.base import Tables
from overread.benchmarks.files.sheets import as_filled
from overread.benchmarks.medcmr import people_sheets
from overread.benchmarks.medcmr.edition import Options
from overread.benchmarks.medcmr.people_sheets import ERRORS, Rank
from overread.benchmarks.medcmr.scores import SCORES, asking_of, scored
from overread.benchmarks.medcmr.study import MCQ, OPEN, REFORMULATED, Marks, Study
from overread.benchmarks.medcmr.verdict_parser import COMPONENTS, GRIDS
from overread.case import BadInput, Measure
from overread.judging.checking import CheckedReply, checked_by_people
from overread.measuring import estimates
from overread.measuring.contrasts import against_half
from overread.measuring.estimates import Estimate, Floats, Ints, Mask
from overread.measuring.notes import joined
from overread.measuring.specs import Condition

# ---------------------------------------------------------------- labelled errors
# Why readers are wrong, as people labelled it: shares of five kinds (MEDCMR, "Analyses" 2).


def error_measures(study: Study, tables: Tables, options: Options) -> list[Measure]:
    """`error_share` of each reader that has labelled errors; none without `errors`.

    The share of the labelled errors that have the label, over all and by dimension. Over all they
    stand as they were sampled, dimensions alike, not as often as the reader makes them.
    """
    if not options.errors:
        return []
    rows = _rows(study, tables, options)
    return [one for reader in study.readers for one in _of_reader(study, reader, rows[reader])]


def _of_reader(
    study: Study, reader: str, rows: Sequence[tuple[int, str, bool]]
) -> Iterator[Measure]:
    """Of rows of an item's place, its label and whether it is an error; none without any."""
    if not rows:
        return
    at, said, wrong = (np.array(column) for column in zip(*rows, strict=True))
    for by, members in study.groups("dimension"):
        inside = members[at]
        if by and not inside.any():
            continue
        counted = inside & wrong & (said != "")
        left = {
            "not labelled": int((inside & wrong & (said == "")).sum()),
            "right under these rules, left out": int((inside & ~wrong).sum()),
        }
        note = joined(*(f"{n} {what}" for what, n in left.items() if n))
        clusters = study.clusters[at[counted]]
        for error in ERRORS:
            by_error = {**by, "error": error}
            record = Measure(reader=reader, measure="error_share", by=by_error, note=note)
            hit = said[counted] == error
            yield estimates.clustered_share(record, hit, clusters, robust=study.robust)


def _rows(
    study: Study, tables: Tables, options: Options
) -> Mapping[str, list[tuple[int, str, bool]]]:
    """What the sheets say by reader, each row matched with the run."""
    places = {as_filled(case): place for place, case in enumerate(study.cases)}
    readers = {as_filled(name): name for name in study.readers}
    asked = people_sheets.choices_of(tables, study.readers)
    right = {marks.reader: marks.right(MCQ) for marks in study.marks}
    found: dict[str, list[tuple[int, str, bool]]] = {reader: [] for reader in study.readers}
    seen: dict[tuple[str, str], str] = {}
    sheets = map(people_sheets.read_error_sheet, options.sheets("errors"))
    for label in (one for sheet in sheets for one in sheet):
        reader = people_sheets.reader_named(label.where, label.reader, readers)
        place, short = places.get(label.case), people_sheets.short
        if place is None or (study.cases[place], reader) not in asked:
            raise BadInput(
                f'{label.where}: case is "{short(label.case)}", which is no multiple-choice item '
                f"that {short(reader)} was asked in this run. Give the run the errors are of."
            )
        people_sheets.refuse_same(seen, label.case, reader, label.where)
        found[reader].append((place, label.error or "", not right[reader][place]))
    return found


# ---------------------------------------------------------------- scores that people gave too


def checked_scores(
    study: Study, records: Sequence[Measure], people: Mapping[CheckedReply, str]
) -> list[Measure]:
    """`clarity_checked` and so on: the judges' scores put right by those that people gave.

    S counts where people gave a reply all four.
    """

    def given(name: str, marks: Marks, condition: Condition) -> Floats:
        if name == "score":
            tops = np.array([GRIDS[part][-1] for part in COMPONENTS])
            every = np.stack([given(part, marks, condition) for part in COMPONENTS], axis=1)
            total: Floats = every @ tops / tops.sum()
            return total
        found = np.full(study.n, np.nan)
        rows = study.replies(marks.reader, asking_of(condition))
        for place, text in rows.select("place", "text").iter_rows():
            word = people.get(CheckedReply(name, marks.reader, study.cases[place], text or ""))
            if word is not None:
                found[place] = float(word) / GRIDS[name][-1]
        return found

    return [
        one
        for name, spec in SCORES.items()
        for one in checked_by_people(study, study.marks, spec, records, partial(given, name))
    ]


# ---------------------------------------------------------------- rankings beside judges
# Does the judge rank replies as people do? (MEDCMR, "Analyses" 4).


class _Sides(NamedTuple):
    """Of one component, items x readers: how good people and judges find a reply.

    More is better, whole numbers, NaN where one of the two sides has none; so both are compared on
    the same replies.
    """

    human: Floats
    judge: Floats
    left_out: int


def alignment_measures(study: Study, tables: Tables, options: Options) -> list[Measure]:
    """`win_ratio`, `win_ratio_gap` and `rho` of people and judges; none without `ranks`.

    Judges rank replies by the mean of their scores of a component, an item's all by the same
    judges: those read on each that any was read on. A reply wins 1 over another
    that is ranked below it, 1/2 at a tie; a win ratio is the mean over items. Without `versus` it
    is the mean over a reader's opponents, as in the paper's Figure 4.
    """
    if not options.ranks:
        return []
    ranked = people_sheets.read_ranks(options.sheets("ranks"), tables)
    named = {rank.reader for rank in ranked}
    readers = [reader for reader in study.readers if reader in named]
    judges = _judges(study, ranked, readers)
    made: list[Estimate | Measure] = []
    for component in COMPONENTS:
        sides = _sides(study, ranked, readers, judges, component)
        label = study.label(judges, component) if judges else None
        clusters = study.clusters if study.robust else None
        made.extend(_of_component(component, readers, sides, label, clusters, judged=bool(judges)))
    return study.finish(made)


def _of_component(
    component: str,
    readers: Sequence[str],
    sides: _Sides,
    label: str | None,
    clusters: Ints | None,
    *,
    judged: bool,
) -> Iterator[Estimate | Measure]:
    """`clusters` are given where win ratios of two readers are tested, not as published."""
    by = {"component": component}
    said = f"{sides.left_out} ranked replies without a judge in common left out"
    record = Measure(reader="", measure="win_ratio", note=said if sides.left_out else None)
    raters = {"human": sides.human, **({"judge": sides.judge} if judged else {})}
    everyone = range(len(readers))
    # Every pair of readers, then each reader against all others.
    against = [(one, [two], {"versus": readers[two]}) for one, two in combinations(everyone, 2)]
    against += [(one, [two for two in everyone if two != one], {}) for one in everyone]
    ratios: dict[tuple[str, ...], dict[str, float | None]] = {}
    for rater, table in raters.items():
        worth = label if rater == "judge" else None
        for one, others, versus in against:
            if not others:
                continue
            own = {**by, **versus, "rater": rater}
            told = replace(record, reader=readers[one], by=own, label=worth)
            # 1 where the first is better, 1/2 at a tie, 0 where it is worse.
            points = (np.sign(table[:, [one]] - table[:, others]) + 1) / 2
            if versus and clusters is not None:
                tried = against_half(told, points[:, 0], clusters, f"win_ratio {rater}")
                ratios.setdefault((readers[one], *versus.values()), {})[rater] = tried.value
                yield tried
                continue
            columns, counted = estimates.columns_of(points), estimates.counted_in(points)
            made = estimates.estimated(told, columns, estimates.mean_of_columns, counted)
            ratios.setdefault((readers[one], *versus.values()), {})[rater] = made.record.value
            yield made
    for of, size in (({}, 2), ({"of": "reader"}, 1)):
        some = {names: found for names, found in ratios.items() if len(names) == size}
        yield _gap({**by, **of}, some, label, judged=judged)
    yield _rho({**by, "with": "human"}, sides, label, judged=judged)


def _gap(
    by: dict[str, str],
    ratios: Mapping[tuple[str, ...], Mapping[str, float | None]],
    label: str | None,
    *,
    judged: bool,
) -> Measure:
    """The largest difference between people's and judges' win ratios, and whose it is."""
    record = Measure(reader="", measure="win_ratio_gap", by=by, label=label)
    gaps = {
        names: abs(human - judge)
        for names, found in ratios.items()
        if (human := found.get("human")) is not None and (judge := found.get("judge")) is not None
    }
    if not gaps:
        why = "no reply is both ranked and judged" if judged else "not judged"
        return replace(record, n=0, note=why)
    widest = max(gaps, key=lambda names: gaps[names])
    whose = f"largest of {len(gaps)}: {' against '.join(widest)}; no interval"
    return replace(record, value=gaps[widest], n=len(gaps), note=whose)


def _rho(
    by: dict[str, str], sides: _Sides, label: str | None, *, judged: bool
) -> Estimate | Measure:
    """Spearman's rho of people's and judges' rankings.

    Readers are ranked within each item, ties by mid-ranks, and the ranks of all items pooled::

        rho = Σ (R - R̄)(S - S̄) / sqrt(Σ (R - R̄)² Σ (S - S̄)²)

    over all (item, reader), with R̄ and S̄ the item's mean ranks, (k + 1)/2 of k readers.
    """
    record = Measure(reader="", measure="rho", by=by, label=label)
    if not judged:
        return replace(record, n=0, note="not judged")
    human, judge = (_centred(table) for table in (sides.human, sides.judge))
    columns = np.stack([(human * judge).sum(1), (human**2).sum(1), (judge**2).sum(1)], axis=1)
    counted: Mask = (~np.isnan(sides.human)).sum(axis=1) > 1
    pairs = int((~np.isnan(sides.human[counted])).sum())
    made = estimates.estimated(
        replace(record, note=f"{pairs} replies ranked within their items"),
        columns,
        pooled_rho,
        counted,
        limits=(-1.0, 1.0),
        step=None,
    )
    if made.record.value is None:
        why = "people or judges see no difference anywhere" if pairs else "nothing in common"
        return replace(record, n=int(counted.sum()), note=why)
    return made


def pooled_rho(totals: Floats) -> Floats:
    """rho of each row of totals (ΣRS, ΣR², ΣS²); NaN where either side never differs."""
    spread = totals[:, 1] * totals[:, 2]
    found: Floats = np.full(len(totals), np.nan)
    np.divide(totals[:, 0], np.sqrt(spread), out=found, where=spread > 0)
    return np.clip(found, -1.0, 1.0)


def _centred(table: Floats) -> Floats:
    """Twice the mid-ranks within each row less their mean, k + 1; 0 where there is none."""
    there = ~np.isnan(table)
    ranks = doubled_ranks(table) - (there.sum(axis=1, keepdims=True) + 1)
    return np.where(there, ranks, 0.0)


def doubled_ranks(table: Floats) -> Floats:
    """Twice the mid-rank of each value within its row, 2 the least; NaN stays out.

    A value's mid-rank is 1 + those below it + half of the others equal to it.
    """
    value, other = table[:, :, None], table[:, None, :]
    below, same = (other < value).sum(axis=2), (other == value).sum(axis=2)
    return np.where(np.isnan(table), np.nan, 1.0 + 2 * below + same)


def _judges(study: Study, ranked: Sequence[Rank], readers: Sequence[str]) -> list[str]:
    """Who judged all these readers' replies: means over different judges are not compared."""
    kinds = dict(zip(study.cases, study.facts.kinds.tolist(), strict=True))
    marks = {one.reader: one for one in study.marks}
    used = {(rank.reader, OPEN if kinds[rank.case] == "open" else REFORMULATED) for rank in ranked}
    found = [
        set(scored(study, marks[reader], asking).judges)
        for reader, asking in sorted(used)
        if reader in readers and asking in marks[reader].said
    ]
    return sorted(set.intersection(*found)) if found else []


def _sides(
    study: Study,
    ranked: Sequence[Rank],
    readers: Sequence[str],
    judges: Sequence[str],
    component: str,
) -> _Sides:
    places = {case: place for place, case in enumerate(study.cases)}
    column = {reader: at for at, reader in enumerate(readers)}
    marks = {one.reader: one for one in study.marks}
    human = np.full((study.n, len(readers)), np.nan)
    for rank in ranked:
        if component in rank.doubled:
            # Rank 1 is best.
            human[places[rank.case], column[rank.reader]] = -rank.doubled[component]
    judge = np.full_like(human, np.nan)
    if not judges:
        return _Sides(human, judge, 0)
    # An item is open, or asked in open form: a reader's scores of it are in one asking only.
    askings = [
        (at, given)
        for reader, at in column.items()
        for asking in (OPEN, REFORMULATED)
        if asking in marks[reader].said
        and set(judges) <= set((given := scored(study, marks[reader], asking)).judges)
    ]
    gave = np.zeros((*human.shape, len(judges)), dtype=bool)
    for at, given in askings:
        gave[:, at] |= given.gave(component, judges)
    # Replies are ranked by the judges who scored all of an item's replies that anybody scored, or
    # a kinder one would lift those that another could not be read on.
    gave &= ~np.isnan(human)[:, :, None]
    same = np.all(gave | ~np.any(gave, axis=2, keepdims=True), axis=1)
    for at, given in askings:
        units, _ = given.units(component, judges, same)
        judge[:, at] = np.where(np.isnan(units), judge[:, at], units)
    there = ~np.isnan(human) & ~np.isnan(judge)
    left_out = int((~np.isnan(human) & ~there).sum())
    return _Sides(np.where(there, human, np.nan), np.where(there, judge, np.nan), left_out)
