"""Right steps: precision, recall and F1 of the reasoning (M3COT 6); and time: efficiency, latency
and seconds of a reply, from replies asked one at a time (M3COT 8)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, Final

import msgspec
import numpy as np

from overread.benchmarks.m3cot.authors import failed_text
from overread.benchmarks.m3cot.cases import STEPS
from overread.benchmarks.m3cot.edition import MODES, Edition
from overread.benchmarks.m3cot.study import COT, Marks, Said, Study
from overread.case import Measure
from overread.measuring import estimates as est
from overread.measuring.estimates import Estimate, Floats, Mask, quotients
from overread.measuring.notes import NOT_JUDGED, noted, remarked
from overread.measuring.specs import PLAIN, Condition, Counted, Spec
from overread.measuring.units import AMOUNT, SECONDS, Unit

BOTH_ZERO: Final = "both_zero"
"""The flag of F1 where no step matches either way."""
Step = Mapping[str, Any]


def precision_of(
    steps: Sequence[Step], kind: str | None = None, *, na: bool = True, published: bool = False
) -> float | None:
    """Matched steps over steps of the four content types, or of one `kind`.

    Restatements and unknown types are in neither. N/A is in the denominator unless `na` is False.
    Without such a step it is 0: saying nothing earns nothing; for one `kind` it is 0 as published
    and otherwise None. As published, a step without a judgment makes it 0.
    """
    kept = [step for step in steps if step["type"] in (STEPS if kind is None else (kind,))]
    if published and any(step["judgment"] is None for step in kept):
        return 0.0
    if not na:
        kept = [step for step in kept if step["judgment"] != "N/A"]
    if not kept:
        return 0.0 if kind is None or published else None
    return sum(1 for step in kept if step["judgment"] == "Match") / len(kept)


def matched_of(matched: Sequence[bool], types: Sequence[str], kind: str | None) -> float | None:
    """Matched gold steps over gold steps, of all types or of one `kind`."""
    some = [hit for hit, step in zip(matched, types, strict=False) if kind in (None, step)]
    return sum(some) / len(some) if some else None


def f1_of(precision: float | None, recall: float | None, digits: int | None = None) -> float | None:
    """F1 of two averages; none without either, or where both are 0."""
    if precision is None or recall is None or precision + recall == 0:
        return None
    found = 2 * precision * recall / (precision + recall)
    return found if digits is None else round(found, digits)


def digits_of(edition: Edition) -> int | None:
    """The authors round averages to four decimals before they make F1 of them."""
    return 4 if edition.no_steps == "published" else None


def values_of(
    marks: Marks,
    study: Study,
    judges: Sequence[str],
    question: str,
    kind: str | None = None,
    *,
    na: bool = True,
) -> Floats:
    """P_i or R_i, NaN where not counted: items x judges.

    What a judge failed on is left out. An item without a reply counts 0, unless as published,
    where what has no verdict is left out (M3COT 10).
    """
    key = ("steps", marks.reader, question, kind, na, *judges)
    return study.once(key, lambda: _step_values(marks, study, judges, question, kind, na))


def _step_values(
    marks: Marks, study: Study, judges: Sequence[str], question: str, kind: str | None, na: bool
) -> Floats:
    published = study.edition.no_steps == "published"
    types = marks.facts.steps
    found = np.full((marks.facts.n, len(judges)), np.nan)
    for column, judge in enumerate(judges):
        # Precision of one type is over replies with such a step; recall over gold steps.
        over_all = kind is None or question == "recall"
        if not published and over_all and marks.readable(question, COT, judge):
            found[_without_reply(marks, question, judge), column] = 0.0
        for place, said in marks.given(question, COT, judge):
            if not published and marks.silent_at(COT, place):
                continue  # a verdict on nothing
            if question == "precision":
                one = precision_of(said, kind, na=na, published=published)
            else:
                one = matched_of(said, types[place], kind)
            found[place, column] = np.nan if one is None else one
    if question == "recall":
        # No gold step, or none of this type, is nothing to recall.
        found[[not any(kind in (None, step) for step in steps) for steps in types]] = np.nan
    return found


def _without_reply(marks: Marks, question: str, judge: str) -> Mask:
    """Items with nothing to judge: no reply, a blank one, or a refusal nobody was asked about."""
    judged = np.zeros(marks.facts.n, dtype=bool)
    judged[[place for place, _ in marks.given(question, COT, judge)]] = True
    found = marks.asked(COT) & ~judged & ~marks.missed(question, COT, judge)
    return found | (marks.asked(COT) & marks.silent(COT))


# ---------------------------------------------------------------- averages


def _judged_by(question: str) -> Callable[[Study, Marks, Condition], list[str] | None]:
    def judges(study: Study, marks: Marks, condition: Condition) -> list[str] | None:
        return study.judges(marks, question) if COT in marks.said else None

    return judges


def _mean_of_steps(record: Measure, counted: Counted, study: Any, unit: Unit) -> Estimate:
    """The mean over judges of each one's mean over items, rounded as published."""
    table, digits = counted.table, digits_of(study.edition)
    return est.estimated(
        record, est.columns_of(table), est.mean_of_columns, est.counted_in(table), digits=digits
    )


def _average(name: str, says: str, question: str, *groups: str, na: bool = True) -> Spec:
    """A mean of P_i or R_i: overall, by these groups and judge, and by type of step."""

    def of(study: Study, marks: Marks, condition: Condition) -> Counted:
        judges, kind = study.judges(marks, question), condition.get("step")
        values = values_of(marks, study, judges, question, kind, na=na)
        if kind is not None:
            return Counted(values, study.everyone)
        return Counted(values, marks.items(COT), marks.outcomes_judged(question, COT, judges))

    def conditions(study: Study, marks: Marks) -> Iterator[Condition]:
        yield PLAIN
        for kind in STEPS:
            if not np.isnan(of(study, marks, {"step": kind}).value).all():
                yield {"step": kind}

    return Spec(
        name=name,
        says=says,
        of=of,
        conditions=conditions,
        judges=_judged_by(question),
        questions=(question,),
        each_judge=lambda condition: not condition,
        groups=groups,
        bare_groups=False,
        estimate=_mean_of_steps,
    )


# ---------------------------------------------------------------- F1


def _f1_judges(study: Study, marks: Marks, condition: Condition) -> list[str] | None:
    if COT not in marks.said:
        return None
    panels = [study.judges(marks, question) for question in ("precision", "recall")]
    return sorted({*panels[0], *panels[1]}) if all(panels) else []


def _f1(study: Study, marks: Marks, condition: Condition) -> Counted:
    """2PR/(P+R) of the averages P and R: what each item has of both."""
    judges = _f1_judges(study, marks, condition) or []
    both = [values_of(marks, study, judges, question) for question in ("precision", "recall")]
    return Counted(np.stack(both, axis=2), study.everyone)


def harmonic(totals: Floats, width: int) -> Floats:
    """F1 of the judges' means of the first `width` columns and of the others."""
    p, r = est.mean_of_columns(totals[:, :width]), est.mean_of_columns(totals[:, width:])
    return quotients(2 * p * r, p + r)


def item_f1(precision: Floats, recall: Floats) -> Floats:
    """What each item adds to F1 of the averages: their mean over items is F1.

    F1 = 2PR/(P + R) grows by as much as both averages do, so (Euler) it is the sum of each average
    times its slope. With N items of which N_P have a precision and N_R a recall::

        f_i = N/N_P · 2R²/(P+R)² · p_i + N/N_R · 2P²/(P+R)² · r_i

    NaN of an item without either, and throughout where P + R = 0.

    References
    ----------
    B. Efron (1982), The Jackknife, the Bootstrap and Other Resampling Plans, 6 (the delta method).

    Examples
    --------
    >>> found = item_f1(np.array([0.5, 1.0]), np.array([0.25, 0.5]))
    >>> float(found.mean()), f1_of(0.75, 0.375)
    (0.5, 0.5)
    """
    there = np.stack([~np.isnan(precision), ~np.isnan(recall)])
    counts, counted = there.sum(axis=1), there.any(axis=0)
    p, r = np.nan_to_num(precision), np.nan_to_num(recall)
    mean_p, mean_r = (
        float(side.sum()) / max(int(n), 1) for side, n in zip((p, r), counts, strict=True)
    )
    if not mean_p + mean_r > 0:
        return np.full(p.shape, np.nan)
    slopes = 2 * np.array([mean_r, mean_p]) ** 2 / (mean_p + mean_r) ** 2
    weights = int(counted.sum()) * slopes / np.maximum(counts, 1)
    return np.where(counted, weights[0] * p + weights[1] * r, np.nan)


def _f1_estimate(record: Measure, counted: Counted, study: Any, unit: Unit) -> Estimate:
    precision, recall = np.moveaxis(counted.table, 2, 0)
    columns = np.hstack([est.columns_of(precision), est.columns_of(recall)])
    again = partial(harmonic, width=2 * precision.shape[1])
    made = est.estimated(record, columns, again, est.counted_in(precision, recall))
    if made.record.value is None:
        if np.isnan(precision).all() or np.isnan(recall).all():
            return made
        bare = msgspec.structs.replace(record, n=made.record.n)
        return Estimate(record=noted(bare, BOTH_ZERO, "precision and recall are both 0"))
    made = msgspec.structs.replace(made, within=_bounds_where_alike(study, precision, recall))
    digits = digits_of(study.edition)
    if digits is None:
        return made
    p, r = (round(_mean(table), digits) for table in (precision, recall))
    record = msgspec.structs.replace(made.record, value=f1_of(p, r, digits))
    return msgspec.structs.replace(made, record=record)


def _bounds_where_alike(
    study: Study, precision: Floats, recall: Floats
) -> tuple[float, float] | None:
    """The bounds of F1 where all items agree on an average: resampling takes it for certain.

    F1 of that average's own bounds and of the other's value; of both bounds where both agree.
    """
    if not (_one_value(precision) or _one_value(recall)):
        return None
    ends = [_ends_where_alike(study, table) for table in (precision, recall)]
    low, high = (f1_of(ends[0][side], ends[1][side]) or 0.0 for side in (0, 1))
    return low, high


def _ends_where_alike(study: Study, table: Floats) -> tuple[float, float]:
    """The bounds of an average, those of its record where all items agree on it; else itself."""
    from overread.stats import clustered_mean

    value, counted = _mean(table), est.counted_in(table)
    if not _one_value(table):
        return value, value
    if not study.robust:
        room = study.resampling.left_open(counted)
        return max(value - room, 0.0), min(value + room, 1.0)
    each, owners = np.full(int(counted.sum()), value), study.clusters[counted]
    found, _ = clustered_mean(value, each, owners, (0.0, 1.0))
    return (value, value) if found.low is None or found.high is None else (found.low, found.high)


def _one_value(table: Floats) -> bool:
    """Whether each judge has one value for all items it counts."""
    some = (column[~np.isnan(column)] for column in table.T)
    return all(not est.apart(values.min(), values.max()) for values in some if values.size)


def _mean(table: Floats) -> float:
    return float(est.mean_of_columns(est.columns_of(table).sum(axis=0)[None, :])[0])


# ---------------------------------------------------------------- time

NOT_TIMED: Final = "not_timed"
"""The flag of a time that nobody took."""
_WHY_NOT: Final = "not timed: time under load is queueing"
_BACKENDS: Final = "not comparable across backends"


def seconds_of(said: Mapping[int, Said], n: int, *, searched: bool) -> Floats:
    """Seconds of each reply that succeeded, NaN where none did.

    `searched`, as published: any text with Error or Failed counts as a failed attempt, and an
    empty one as a success.
    """
    found = np.full(n, np.nan)
    for place, one in said.items():
        failed = failed_text(one.text) if searched else one.silent
        if not failed and one.outcome != "unanswered" and one.seconds is not None:
            found[place] = one.seconds
    return found


def _seconds_in(study: Study, marks: Marks, mode: str) -> Floats:
    searched = study.edition.error_text == "searched"
    return seconds_of(marks.timed.get(mode, {}), marks.facts.n, searched=searched)


def _seconds_of_modes(study: Study, marks: Marks) -> tuple[Floats, Floats]:
    """Seconds of cot and of direct: of all successes as published, else of those in both modes."""
    cot, direct = (_seconds_in(study, marks, mode) for mode in ("cot", "direct"))
    if study.edition.error_text != "searched":
        both = ~(np.isnan(cot) | np.isnan(direct))
        cot, direct = (np.where(both, one, np.nan) for one in (cot, direct))
    return cot, direct


def _not_timed(marks: Marks, name: str, **by: str) -> Measure:
    return noted(Measure(reader=marks.reader, measure=name, by=by, n=0), NOT_TIMED, _WHY_NOT)


def _matched_steps(marks: Marks, judges: list[str]) -> Floats:
    """Matched gold steps of each timed reply: items x judges.

    A timed reply that nobody judged has the verdict on the same question asked under load.
    """
    found = np.zeros((marks.facts.n, len(judges)))
    timed = marks.timed_verdicts.get(("recall", "cot"), {})
    plain = [
        rows
        for (question, asking), rows in marks.verdicts.items()
        if question == "recall" and asking.mode == "cot" and asking.plain
    ]
    for column, judge in enumerate(judges):
        for rows in (*plain, timed):
            for place, verdict in rows.get(judge, {}).items():
                if place in marks.timed.get("cot", {}) and verdict.outcome == "judged":
                    found[place, column] = sum(verdict.value)
    return found


def _efficiency(study: Study, marks: Marks) -> Iterator[Estimate | Measure]:
    """E = matched gold steps / seconds of cot."""
    cot, _ = _seconds_of_modes(study, marks)
    judges = sorted(
        {judge for key, rows in marks.verdicts.items() if key[0] == "recall" for judge in rows}
        | set(marks.timed_verdicts.get(("recall", "cot"), {}))
    )
    if np.isnan(cot).all():
        yield _not_timed(marks, "efficiency")
        return
    if not judges:
        yield noted(Measure(reader=marks.reader, measure="efficiency", n=0), NOT_JUDGED)
        return
    matched = _matched_steps(marks, judges)
    if study.edition.error_text != "searched":
        matched = np.where(np.isnan(cot)[:, None], 0.0, matched)
    every = range(len(judges))
    for by, columns in ({}, [*every]), *(({"judge": judges[at]}, [at]) for at in every):
        label = study.label([judges[at] for at in columns], "recall")
        record = Measure(reader=marks.reader, measure="efficiency", by=by, label=label)
        yield _ratio(record, matched[:, columns], cot)


def _latency(study: Study, marks: Marks) -> Iterator[Estimate | Measure]:
    """L = seconds of cot / seconds of direct."""
    cot, direct = _seconds_of_modes(study, marks)
    if np.isnan(cot).all() or np.isnan(direct).all():
        yield _not_timed(marks, "latency")
        return
    record = Measure(reader=marks.reader, measure="latency")
    yield _ratio(record, np.nan_to_num(cot)[:, None], direct)


def _ratio(record: Measure, over: Floats, under: Floats) -> Estimate:
    """The mean over judges of each one's total over the seconds."""
    return est.estimated(
        remarked(record, _BACKENDS),
        np.hstack([over, np.nan_to_num(under)[:, None]]),
        lambda totals: quotients(totals[:, :-1].mean(axis=1), totals[:, -1]),
        ~np.isnan(under) | (over > 0).any(axis=1),
        limits=AMOUNT.limits,
        step=None,
    )


def _seconds(study: Study, marks: Marks) -> Iterator[Estimate | Measure]:
    """Seconds of a reply by mode, as the paper's Table A2 has them."""
    for mode in MODES:
        found = _seconds_in(study, marks, mode)[:, None]
        if np.isnan(found).all():
            yield _not_timed(marks, "seconds", mode=mode)
            continue
        record = Measure(reader=marks.reader, measure="seconds", by={"mode": mode})
        record, columns = remarked(record, _BACKENDS), est.columns_of(found)
        counted, limits = est.counted_in(found), SECONDS.limits
        yield est.estimated(record, columns, est.mean_of_columns, counted, limits=limits, step=None)


SPECS: Final = (
    _average(
        "precision",
        "mean share of a reply's steps that match the gold steps; N/A in the denominator",
        "precision",
        *("task", "kind"),
    ),
    _average(
        "precision_no_na",
        "the same without steps of background (N/A)",
        "precision",
        *("task", "kind"),
        na=False,
    ),
    _average(
        "recall",
        "mean share of the gold steps that a reply has",
        "recall",
        *("task", "kind", "modality"),
    ),
    Spec(
        name="f1",
        says="harmonic mean of the averages of precision and recall",
        of=_f1,
        judges=_f1_judges,
        questions=("precision", "recall"),
        groups=("task", "kind"),
        bare_groups=False,
        estimate=_f1_estimate,
    ),
    Spec(
        name="efficiency",
        says="gold steps matched per second of reasoning, timed one at a time",
        unit=AMOUNT,
        make=_efficiency,
    ),
    Spec(
        name="latency",
        says="seconds with reasoning over seconds without, timed one at a time",
        unit=AMOUNT,
        better="lower",
        make=_latency,
    ),
    Spec(
        name="seconds",
        says="mean seconds of a reply that was asked alone, by mode",
        unit=SECONDS,
        better="lower",
        make=_seconds,
    ),
)
