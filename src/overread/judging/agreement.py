"""Do judges agree? Each pair of them, over the verdicts both gave."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from functools import partial
from itertools import chain, combinations
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import msgspec
import numpy as np

from overread.case import Measure
from overread.judging.question import Label, Question, Verdict, verdicts_in
from overread.measuring.estimates import Estimate, Floats, Mask, quotients, ratio
from overread.measuring.notes import remarked
from overread.stats import Interval, bootstrap_kappa, wilson

if TYPE_CHECKING:
    import polars as pl

# Reader, case and condition of a reply.
_Place: TypeAlias = tuple[str, str, str]


class Agreement(msgspec.Struct, frozen=True, kw_only=True):
    """How two judges agree, overall (`group` None) or within one group.

    `n` counts verdicts that both gave, `missing` those that one or both did not. `kappa` is None
    where it has no value, and its bounds are None where resampling cannot tell; `note` says why.
    """

    first: str
    second: str
    group: str | None
    n: int
    missing: int
    percent: Interval
    kappa: Interval
    note: str = ""


def pair_agreement(
    first: str,
    second: str,
    one: Sequence[Hashable | None],
    two: Sequence[Hashable | None],
    *,
    group: str | None = None,
    n_boot: int = 10_000,
    seed: int = 0,
) -> Agreement:
    """How two that judged the same agree; percent with Wilson's interval, kappa resampled."""
    both = [(a, b) for a, b in zip(one, two, strict=True) if a is not None and b is not None]
    # Labels by number: any label may be compared, and the order of the numbers does not matter.
    numbers = {label: place for place, label in enumerate(dict.fromkeys(chain(*both)))}
    mine, theirs = [numbers[a] for a, _ in both], [numbers[b] for _, b in both]
    kappa, note = Interval(None, None, None, None, len(both)), "no verdict of both"
    if both:
        kappa = bootstrap_kappa(mine, theirs, n_boot=n_boot, seed=seed)
        note = "" if kappa.defined else "both said one thing only"
    if kappa.low is not None and kappa.low == kappa.high:
        # No resample differs: that is no certainty, so no interval is claimed.
        kappa = Interval(kappa.point, None, None, None, kappa.n)
        note = "no interval: every resample agrees alike"
    return Agreement(
        first=first,
        second=second,
        group=group,
        n=len(both),
        missing=len(one) - len(both),
        percent=wilson(sum(a == b for a, b in both), len(both)),
        kappa=kappa,
        note=note,
    )


class JudgeCount(Estimate, frozen=True, kw_only=True):
    """How two judges agree at one thing, label by label, before an interval is made.

    `columns` and `again` are None where there is no value. `cases` is the case of each label; what
    is said of one case, or of one patient, is to be resampled whole. `counted` are the labels that
    both gave. Counts of one pair of judges have the same `cases` as long as every verdict has one
    label a part.
    """

    judges: tuple[str, str]
    cases: tuple[str, ...]
    counted: Mask


class _Thing(NamedTuple):
    """What is compared: a part of verdicts, or a question as a whole."""

    by: dict[str, str]
    levels: tuple[float, ...]
    # By judge, what it said of each reply that it was asked about.
    said: dict[str, dict[_Place, Sequence[Label]]]


def judge_counts(
    questions: Sequence[Question],
    verdicts: pl.DataFrame,
    cases: Mapping[str, Any],
    *,
    groups: Mapping[str, str],
    grouped_by: str,
    among: Callable[[Mapping[str, Any]], bool] | None = None,
) -> Iterator[tuple[JudgeCount, JudgeCount]]:
    """`judge_agreement` and `judge_kappa` of each pair of judges, thing by thing.

    A thing is a part of the verdicts, over all questions that have it, or else a question. Pairs of
    judges follow each other within a thing; each pair over all cases first, then over those of each
    group, `groups` naming the group of a case (`grouped_by` is what they are called); cases without
    one are in the whole only. Agreement is the share of labels that are the same; Cohen's kappa has
    quadratic weights where the part has levels.

    `among` says of a reply's condition whether verdicts on it are compared at all. A label that
    neither judge was asked for is not missing.
    """
    if verdicts["judge"].n_unique() < 2:
        return
    compared = [
        one
        for one in verdicts_in(questions, verdicts, cases, checks=False)
        if not one.variant and (among is None or among(msgspec.json.decode(one.about)))
    ]
    asked: dict[str, set[_Place]] = {}
    for one in compared:
        asked.setdefault(one.judge, set()).add((one.reader, one.case, one.about))
    for thing in _things(questions, compared):
        width: dict[_Place, int] = {}
        for given in thing.said.values():
            for place, labels in given.items():
                width[place] = max(width.get(place, 1), len(labels))
        for judges in combinations(sorted(thing.said), 2):
            places = sorted(asked[judges[0]] | asked[judges[1]])
            rows = [(place, at) for place in places for at in range(width.get(place, 1))]
            of = tuple(place[1] for place, _ in rows)
            first, second = (thing.said[judge] for judge in judges)
            pairs = [(_label(first, *row), _label(second, *row)) for row in rows]
            due = np.array([place in first or place in second for place, _ in rows], dtype=bool)
            group_of = np.array([groups.get(case) or "" for case in of])
            for group in ("", *sorted(set(group_of[due].tolist()) - {""})):
                members: Mask = due & (group_of == group) if group else due
                by = {"judges": " / ".join(judges), **thing.by}
                by |= {grouped_by: group} if group else {}
                yield _counts(judges, by, of, pairs, members, thing.levels)


def _things(questions: Sequence[Question], compared: Sequence[Verdict]) -> list[_Thing]:
    things: dict[str, _Thing] = {}
    for question in questions:
        for part in question.parts:
            by = {"component": part} if part else {"question": question.name}
            things.setdefault(part or question.name, _Thing(by, question.levels.get(part, ()), {}))
    for one in compared:
        labels = {} if one.payload is None else one.question.compared_by(one.payload)
        for part in one.question.parts:
            given = things[part or one.question.name].said.setdefault(one.judge, {})
            given[one.reader, one.case, one.about] = labels.get(part, ())
    return list(things.values())


def _label(given: Mapping[_Place, Sequence[Label]], place: _Place, at: int) -> Label:
    labels = given.get(place, ())
    return labels[at] if at < len(labels) else None


def _counts(
    judges: tuple[str, str],
    by: dict[str, str],
    cases: tuple[str, ...],
    labels: Sequence[tuple[Label, Label]],
    members: Mask,
    levels: tuple[float, ...],
) -> tuple[JudgeCount, JudgeCount]:
    known = levels or dict.fromkeys(chain(*labels))
    codes: dict[Label, int] = {label: code for code, label in enumerate(known)} | {None: -1}
    mine, theirs = np.array(
        [[codes.get(one, -1) for one in pair] for pair in labels], dtype=np.int64
    ).T
    both: Mask = members & (mine >= 0) & (theirs >= 0)
    missing = int(members.sum() - both.sum())

    def count(name: str, made: Floats, again: Callable[[Floats], Floats], fault: str) -> JudgeCount:
        record = Measure(
            reader="",
            measure=name,
            by=dict(by),
            n=int(both.sum()),
            left_out={"without a verdict": missing} if missing else {},
            note=f"{missing} without a verdict of both" if missing else None,
        )
        value = float(again(made.sum(axis=0)[None, :])[0])
        if np.isnan(value):
            record = remarked(record, fault if both.any() else "no verdict of both")
            return JudgeCount(record=record, judges=judges, cases=cases, counted=both)
        return JudgeCount(
            record=msgspec.structs.replace(record, value=value),
            judges=judges,
            cases=cases,
            counted=both,
            columns=made,
            again=again,
        )

    alike = np.stack([(mine == theirs) & both, both], axis=1).astype(float)
    agreement = count("judge_agreement", alike, ratio, "")
    size = len(codes)  # with a place for nothing, that no label is
    apart = np.subtract.outer(np.arange(size), np.arange(size))
    weights = (apart**2 if levels else apart != 0).astype(float)
    table = np.hstack([weights[mine, theirs][:, None], np.eye(size)[mine], np.eye(size)[theirs]])
    table *= both[:, None]
    kappas = partial(_kappas, weights=weights)
    found = count("judge_kappa", table, kappas, "both said one thing only")
    return agreement, msgspec.structs.replace(found, limits=(-1.0, 1.0), step=None)


def _kappas(totals: Floats, weights: Floats) -> Floats:
    """Cohen's kappa of each row: how far apart in sum, and how often each judge gave each label.

    kappa = 1 - n Σ w O / Σ w (row x column totals); NaN where the latter is 0.
    """
    size = len(weights)
    rows, columns = totals[:, 1 : 1 + size], totals[:, 1 + size :]
    # All whole numbers: what agrees always by chance has exactly 0 below the line.
    chance = np.einsum("bi,ij,bj->b", rows, weights, columns)
    return quotients(chance - rows.sum(axis=1) * totals[:, 0], chance)
