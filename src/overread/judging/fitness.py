"""Is a judge fit? It judges replies whose truth is known before it judges any other.

And does a verdict hang on what should not matter: the order of the material, the reply's length?
The same judgment is asked for twice, the second time with one harmless thing changed.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import product
from typing import TYPE_CHECKING, Any, Final

import msgspec

from overread.case import Measure, Method
from overread.judging.question import Label, Question, Verdict, verdicts_in
from overread.judging.rubric import CHANGES, Change
from overread.measuring.notes import noted, with_method

if TYPE_CHECKING:
    import polars as pl

    from overread.stats import Interval

UNFIT: Final = "judge unfit"
NOT_CHECKED: Final = "judge not checked"
LIMIT: Final = 0.9
"""Sensitivity and specificity below which a judge is unfit."""
ENOUGH: Final = 10
"""Truths on either side without which a judge is not checked."""
SHIFT: Final = "judge_shift"
JUDGE_ERRORS: Final = "judge_errors"
"""The flag of a rate from which a judge's measured errors are taken."""
COIN: Final = "judge_is_a_coin"
"""The flag of a rate that a judge's errors leave nothing of."""
_CONTROL: Final = "control:"


class Check(msgspec.Struct, frozen=True):
    """One verdict on a control's reply: what is true, and what the judge said (None: nothing)."""

    judge: str
    question: str
    truth: bool
    said: bool | None
    # Which part of the verdict is meant, where it has several: a score of four.
    part: str = ""


class Fitness(msgspec.Struct, frozen=True, kw_only=True):
    """Sensitivity and specificity of one judge at one question, with Wilson's intervals.

    Sensitivity: of what is right, the share it calls right. Specificity: of what is wrong, the
    share it calls wrong. A verdict that cannot be read is neither, and counts against both;
    `unread` of them there were.
    """

    judge: str
    question: str
    sensitivity: Interval
    specificity: Interval
    unread: int
    part: str = ""

    @property
    def label(self) -> str | None:
        """`judge unfit` below the limit either way; `judge not checked` on too few truths.

        Of fewer than `ENOUGH` on a side, only a share that lies below the limit with its whole
        interval says anything: unfit.
        """
        sides = (self.sensitivity, self.specificity)
        # k/n is rounded to the nearest double, and so is the limit: equal ones compare equal.
        told = [side.point if side.n >= ENOUGH else side.high for side in sides]
        if any(share is not None and share < LIMIT for share in told):
            return UNFIT
        return NOT_CHECKED if any(side.n < ENOUGH for side in sides) else None


def fitness_of(checks: Iterable[Check]) -> list[Fitness]:
    """The fitness of each judge at each question and part of it, in the order they come."""
    tried: dict[tuple[str, str, str], list[Check]] = {}
    for check in checks:
        tried.setdefault((check.judge, check.question, check.part), []).append(check)
    return [
        Fitness(
            judge=judge,
            question=question,
            sensitivity=_share([check.said is True for check in own if check.truth]),
            specificity=_share([check.said is False for check in own if not check.truth]),
            unread=sum(check.said is None for check in own),
            part=part,
        )
        for (judge, question, part), own in tried.items()
    ]


def fitness_measures(found: Sequence[Fitness]) -> Iterator[Measure]:
    """Sensitivity and specificity of each judge at each question; no reader is measured here."""
    for one in found:
        shares = {"judge_sensitivity": one.sensitivity, "judge_specificity": one.specificity}
        by = {"judge": one.judge, "question": one.question}
        for name, share in shares.items():
            record = Measure(
                reader="",
                measure=name,
                by=by | ({"component": one.part} if one.part else {}),
                value=share.point,
                n=share.n,
                k=None if share.point is None else round(share.point * share.n),
                low=share.low,
                high=share.high,
                label=one.label,
                as_wrong={"unreadable": one.unread} if one.unread else {},
                note=f"{one.unread} verdicts could not be read" if one.unread else None,
            )
            yield with_method(record, Method(kind="wilson"))


def corrected_for_errors(
    records: Iterable[Measure], found: Iterable[Fitness], measure: str, question: str
) -> Iterator[Measure]:
    """A judged rate as it would be without the judge's errors: `MEASURE_corrected`.

    Of each record of `measure` that one judge alone decided (`by` names it), where that judge's
    errors at `question` were measured on enough replies. What counts as wrong unjudged is no
    judge's error, so only the m of n that were judged are corrected (Rogan and Gladen)::

        π = m/n · (a + sp - 1)/(se + sp - 1), a = k/m

    `beside` are the rate as judged and this one; the interval holds the errors of all three.

    References
    ----------
    W. J. Rogan and B. Gladen (1978), American Journal of Epidemiology 107, 71-76.

    Examples
    --------
    >>> from overread.stats import wilson
    >>> judge = {"judge": "j"}
    >>> rate = Measure(reader="r", measure="accuracy", by=judge, value=0.88, n=100, se=0.0325)
    >>> fit = Fitness(judge="j", question="answer", sensitivity=wilson(92, 100),
    ...               specificity=wilson(92, 100), unread=0)
    >>> (one,) = corrected_for_errors([rate], [fit], "accuracy", "answer")
    >>> one.measure, f"{one.value:.3f} [{one.low:.3f}, {one.high:.3f}]", one.flags
    ('accuracy_corrected', '0.952 [0.855, 1.000]', ('judge_errors',))
    """
    from overread.stats import Z95, Interval, corrected_rate

    fit = {one.judge: one for one in found if one.question == question and not one.part}
    for record in records:
        judge = fit.get(record.by.get("judge", ""))
        judged = (record.n or 0) - sum(record.as_wrong.values())
        if record.measure != measure or judge is None or record.value is None or not judged:
            continue
        if record.se is None or min(judge.sensitivity.n, judge.specificity.n) < ENOUGH:
            continue
        share = judged / (record.n or 1)
        # Where all agree the interval still leaves something open: as much as it does either way.
        sd = record.se or ((record.high or 0.0) - (record.low or 0.0)) / (2 * Z95)
        rate = Interval(record.value / share, None, None, sd / share, judged)
        bare = Measure(
            reader=record.reader,
            measure=f"{measure}_corrected",
            by=record.by,
            n=record.n,
            label=record.label,
            as_wrong=record.as_wrong,
        )
        real = corrected_rate(rate, judge.sensitivity, judge.specificity)
        if real is None or real.point is None or real.low is None or real.high is None:
            yield noted(bare, COIN, f"{judge.judge} tells right from wrong no better than a coin")
            continue
        told = (
            f"without the errors of {judge.judge}: sensitivity {judge.sensitivity.point:.3f}, "
            f"specificity {judge.specificity.point:.3f}"
        )
        made = msgspec.structs.replace(
            bare,
            value=share * real.point,
            se=None if real.sd is None else share * real.sd,
            low=share * real.low,
            high=share * real.high,
            beside=(record.value, share * real.point),
        )
        yield noted(with_method(made, Method(kind="rogan and gladen")), JUDGE_ERRORS, told)


def _share(hits: Sequence[bool]) -> Interval:
    from overread.stats import wilson

    return wilson(sum(hits), len(hits))


def fitness_in(
    questions: Sequence[Question], verdicts: pl.DataFrame, cases: Mapping[str, Any]
) -> list[Fitness]:
    """How each judge did on the controls' replies, whose truth is known; variants are apart."""
    return fitness_of(
        Check(one.judge, one.question.name, truth, said, part)
        for one in verdicts_in(questions, verdicts, cases, checks=True)
        if not one.variant
        for truth, said, part in one.question.deserved(
            one.reader.removeprefix(_CONTROL), cases[one.case], one.payload
        )
        if truth is not None
    )


def labels_of(
    questions: Sequence[Question], verdicts: pl.DataFrame, found: Iterable[Fitness]
) -> dict[tuple[str, str], str]:
    """By judge and number, what stands beside the numbers it gave: nothing where it is fit.

    The worst of the questions that it was asked and of the parts that the number hangs on.
    """
    known = {(one.judge, one.question, one.part): one.label for one in found}
    labels: dict[tuple[str, str], list[str | None]] = {}
    for judge, name in verdicts.select("judge", "question").unique().iter_rows():
        for question in questions:
            if question.name != name:
                continue
            for number, parts in (question.numbers or {name: ("",)}).items():
                labels.setdefault((judge, number), []).extend(
                    known.get((judge, name, part), NOT_CHECKED) for part in parts
                )
    return {
        place: UNFIT if UNFIT in given else NOT_CHECKED
        for place, given in sorted(labels.items())
        if any(given)
    }


def shift_measures(
    questions: Sequence[Question], verdicts: pl.DataFrame, cases: Mapping[str, Any]
) -> Iterator[Measure]:
    """How often each judge's verdicts on the controls' replies change with what should not matter.

    Verdicts are compared by what two judges are compared by.
    """
    said: dict[tuple[str, str, str], dict[tuple[str, str, str], Verdict]] = {}
    for one in verdicts_in(questions, verdicts, cases, checks=True):
        own = said.setdefault((one.judge, one.question.name, one.variant), {})
        own[one.reader, one.case, one.about] = one
    judges = sorted({judge for judge, _, _ in said})
    for judge, question, change in product(judges, questions, CHANGES):
        before, after = (said.get((judge, question.name, which), {}) for which in ("", change))
        for part in question.parts if after else ():
            pairs = [
                pair
                for place, one in after.items()
                for pair in zip(
                    _labels(question, change, part, cases[one.case], before.get(place)),
                    _labels(question, change, part, cases[one.case], one),
                    strict=True,
                )
            ]
            by = {"judge": judge, "question": question.name}
            by |= {"component": part} if part else {}
            yield _shift_measure(by | {"change": change}, pairs)


def _shift_measure(by: dict[str, str], pairs: Sequence[tuple[Label, Label]]) -> Measure:
    """The share of verdicts that are not the same after a change; None is no verdict."""
    changed = [a != b for a, b in pairs if a is not None and b is not None]
    share, missing = _share(changed), len(pairs) - len(changed)
    record = Measure(
        reader="",
        measure=SHIFT,
        by=by,
        value=share.point,
        n=len(changed),
        k=sum(changed),
        low=share.low,
        high=share.high,
        left_out={"without a verdict": missing} if missing else {},
        note=f"{missing} without a verdict both times" if missing else None,
    )
    return with_method(record, Method(kind="wilson")) if changed else record


def _labels(
    question: Question, change: Change, part: str, case: Any, verdict: Verdict | None
) -> Sequence[Label]:
    """As many labels of a part as there should be; none of what a judge left incomplete."""
    found: Sequence[Label] = ()
    if verdict is not None and verdict.payload is not None:
        put_back = question.put_back.get(change) if verdict.variant else None
        payload = put_back(verdict.payload, case) if put_back else verdict.payload
        found = question.compared_after.get(change, question.compared_by)(payload).get(part, ())
    width = question.width(case)
    return found if len(found) == width else [None] * width
