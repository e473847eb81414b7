"""Right or wrong: accuracy by mode, what reasoning changes, what the image changes (M3COT 5).

And beyond the paper: does the reasoning depend on the image, and the answer on the reasoning?
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

import numpy as np

from overread.benchmarks.m3cot.study import COT, DIRECT, Asking, Marks, Study, asking_of
from overread.case import Measure
from overread.judging.checking import CheckedReply
from overread.measuring.contrasts import difference_of_means, exact_p, paired, tested
from overread.measuring.estimates import Estimate, Floats, defined_mean
from overread.measuring.notes import unseen
from overread.measuring.specs import MEAN_OF_JUDGES, PLAIN, Condition, Counted, Spec
from overread.measuring.units import POINTS, Unit

_WORD: Final = re.compile(r"\w+")
_LETTER: Final = re.compile(r"\b[a-z]\b")
_ANSWER: Final = ("answer",)


def asked_of(study: Study, marks: Marks) -> list[Condition]:
    """All that the reader was asked, in order."""
    return [asking.by for asking in sorted(marks.said)]


def as_in_paper(condition: Condition) -> bool:
    """Whether the item's own image was shown, and nothing followed."""
    return asking_of(condition).plain


def right_of(marks: Marks, study: Study, asking: Asking, judges: Sequence[str]) -> Floats:
    """1 right, 0 wrong, NaN not counted: items x judges.

    Judged only, as the authors count; or every item asked, what is unanswered or could not be
    judged being wrong (M3COT 10).
    """

    def make() -> Floats:
        every = study.edition.denominator == "all"
        found = np.full((marks.facts.n, len(judges)), np.nan)
        if every:
            found[marks.asked(asking)] = 0.0
        for column, judge in enumerate(judges):
            for place, said in marks.given("answer", asking, judge):
                if not (every and marks.silent_at(asking, place)):  # a verdict on nothing
                    found[place, column] = float(said["match"])
        return found

    return study.once(("right", marks.reader, asking, *judges), make)


def right_where_judged(marks: Marks, study: Study, asking: Asking, judges: Sequence[str]) -> Floats:
    """The same, for differences: a reply that a judge could not be read on is no reader's fault.

    As published, what `right_of` counts.
    """
    right = right_of(marks, study, asking, judges)
    if not study.robust or not judges:
        return right
    missed = np.stack([marks.missed("answer", asking, judge) for judge in judges], axis=1)
    return np.where(missed, np.nan, right)


def right_by_people(
    study: Study, people: Mapping[CheckedReply, str], marks: Marks, condition: Condition
) -> Floats:
    """1 where people call the answer right, 0 where wrong, NaN where they did not look."""
    found = np.full(study.n, np.nan)
    for place, said in marks.said[asking_of(condition)].items():
        word = people.get(CheckedReply("answer", marks.reader, study.cases[place], said.text))
        if word is not None:
            found[place] = float(word == "right")
    return found


def _accuracy(study: Study, marks: Marks, condition: Condition) -> Counted:
    asking = asking_of(condition)
    judges = study.judges(marks, "answer", asking)
    return Counted(
        right_of(marks, study, asking, judges),
        marks.items(asking),
        marks.outcomes_judged("answer", asking, judges),
    )


def over_both(one: Floats, two: Floats) -> tuple[Floats, Floats]:
    """Each item's mean over the judges that gave both sides (items x judges), NaN without any.

    A judge that could be read on one side alone says nothing of a difference.
    """
    both = ~(np.isnan(one) | np.isnan(two))
    first, second = (defined_mean(np.where(both, side, np.nan)) for side in (one, two))
    return first, second


def difference(
    record: Measure, study: Study, one: Floats, two: Floats, family: str
) -> Estimate | Measure:
    """one - two, means of the judges, with its interval and test (`contrasts.paired`).

    As published, the difference of the judges' means; its test is exact and two-sided, of 0/1
    values: McNemar's of one judge where no patient comes twice; else signs are flipped, an item's
    (a patient's) verdicts of all judges together.
    """
    if study.robust:
        return paired(record, *over_both(one, two), study.clusters, family=family)
    both = ~(np.isnan(one) | np.isnan(two))
    there = both.any(axis=1)
    each = np.where(both, one - two, 0.0).sum(axis=1)[there].astype(np.int64)
    p = exact_p(each, study.clusters[there])
    return tested(difference_of_means(record, one, two), p, family)


def _impact_judges(study: Study, marks: Marks, condition: Condition) -> list[str] | None:
    if COT not in marks.said or DIRECT not in marks.said:
        return None
    return study.both_judge("answer", (marks, COT), (marks, DIRECT))


def _impact(study: Study, marks: Marks, condition: Condition) -> Counted:
    """I = Acc of cot - Acc of direct: whether each answer is right, in both modes."""
    judges = study.both_judge("answer", (marks, COT), (marks, DIRECT))
    both = [right_where_judged(marks, study, asking, judges) for asking in (COT, DIRECT)]
    return Counted(np.stack(both, axis=2), study.everyone)


def _impact_estimate(
    record: Measure, counted: Counted, study: Any, unit: Unit
) -> Estimate | Measure:
    key, family = next(iter(record.by), ""), "impact"
    if key:
        family = "impact by judge" if key == "judge" else f"impact by {key}: {record.reader}"
    cot, direct = np.moveaxis(counted.table, 2, 0)
    return difference(record, study, cot, direct, family)


def _image_effect(study: Study, marks: Marks) -> Iterator[Estimate | Measure]:
    """Accuracy with the item's own image less accuracy without it, on the items asked in both."""
    for asking in sorted(marks.said):
        own = Asking(asking.mode)
        judges = study.both_judge("answer", (marks, own), (marks, asking))
        if asking.image == "original" or asking.follow or own not in marks.said or not judges:
            continue
        if marks.reader in study.unseeing:
            yield unseen(marks.reader, "image_effect", asking.by)
            continue
        one, two = (right_where_judged(marks, study, at, judges) for at in (own, asking))
        one = np.where(marks.asked(asking)[:, None], one, np.nan)
        label = study.label(judges, "answer")
        record = Measure(reader=marks.reader, measure="image_effect", by=asking.by, label=label)
        yield difference(record, study, one, two, "image_effect")


SPECS: Final = (
    Spec(
        name="accuracy",
        says="share of items answered rightly, the mean of the judges",
        of=_accuracy,
        conditions=asked_of,
        judges=lambda study, marks, by: study.judges(marks, "answer", asking_of(by)),
        questions=_ANSWER,
        groups=("task", "kind"),
        plain=as_in_paper,
        bare_groups=False,
        estimate=MEAN_OF_JUDGES,
    ),
    Spec(
        name="impact",
        says="accuracy with reasoning less accuracy without",
        unit=POINTS,
        of=_impact,
        judges=_impact_judges,
        questions=_ANSWER,
        groups=("task", "kind"),
        bare_groups=False,
        estimate=_impact_estimate,
    ),
    Spec(
        name="image_effect",
        says="accuracy with the image less accuracy with a blank or another one",
        unit=POINTS,
        better=None,
        make=_image_effect,
    ),
)

# ---------------------------------------------------------------- beyond the paper


def kept_share(before: str, after: str) -> float | None:
    """The share of the words of one text that another has too, each as often as it stands there."""
    one, two = (Counter(_WORD.findall(text.casefold())) for text in (before, after))
    return (one & two).total() / one.total() if one else None


def _without_image(study: Study, marks: Marks) -> list[Condition]:
    """The other images that reasoning was asked with."""
    return [
        {"image": asking.image}
        for asking in sorted(marks.said)
        if asking.mode == "cot" and asking.image != "original" and not asking.follow
        if COT in marks.said
    ]


def _survives(study: Study, marks: Marks, condition: Condition) -> Counted:
    """Reasoning with the item's image, and how much of it stands there without the image too."""
    asking = Asking("cot", condition["image"])
    found = np.full(marks.facts.n, np.nan)
    for place in marks.said[asking]:
        found[place] = _kept_between(marks, place, asking, place)
    return Counted(found, study.everyone)


def _survives_chance(study: Study, marks: Marks, condition: Condition) -> Counted:
    """The same between an item and the next of its task: what any two replies share."""
    found = np.full(marks.facts.n, np.nan)
    for task in study.tasks:
        members: list[int] = np.flatnonzero(marks.facts.tasks == task).tolist()
        for place, other in zip(members, members[1:] + members[:1], strict=True):
            if place != other:
                found[place] = _kept_between(marks, place, COT, other)
    return Counted(found, study.everyone)


def _kept_between(marks: Marks, place: int, asking: Asking, other: int) -> float:
    if marks.silent_at(COT, place) or marks.silent_at(asking, other):
        return np.nan
    share = kept_share(marks.said[COT][place].text, marks.said[asking][other].text)
    return np.nan if share is None else share


def same_answer(one: str, two: str, kind: str) -> bool:
    """Whether two final answers say the same: the options chosen where both name any, else words.

    >>> same_answer("A. Liver", "a", "single"), same_answer("left lobe", "Left lobe.", "short")
    (True, True)
    """
    first, second = one.casefold(), two.casefold()
    if kind in ("single", "multiple"):
        letters = [set(_LETTER.findall(text)) for text in (first, second)]
        if all(letters):
            return letters[0] == letters[1]
    return _WORD.findall(first) == _WORD.findall(second)


def _follow_judges(study: Study, marks: Marks, condition: Condition) -> list[str]:
    """Who judged the answer both after all of the reasoning and here."""
    asking = asking_of(condition)
    full = marks.judges("answer", asking._replace(follow=""))
    return [judge for judge in marks.judges("answer", asking) if judge in full]


def _answer_kept(study: Study, marks: Marks, condition: Condition) -> Counted:
    """Whether the answer after half of the reasoning, or before any, is that after all of it.

    Two right answers agree, a right and a wrong one do not, and two wrong ones by their words.
    """
    asking = asking_of(condition)
    judges = _follow_judges(study, marks, condition)
    found = np.full((marks.facts.n, len(judges)), np.nan)
    for column, judge in enumerate(judges):
        before = dict(marks.given("answer", asking._replace(follow=""), judge))
        for place, after in marks.given("answer", asking, judge):
            if place not in before:
                continue
            first, kind = before[place], str(marks.facts.kinds[place])
            if first["match"] or after["match"]:
                found[place, column] = first["match"] is after["match"]
            else:
                mine, then = (str(one["final_answer"]) for one in (first, after))
                found[place, column] = same_answer(mine, then, kind)
    return Counted(found, study.everyone)


DEPENDENCE: Final = (
    Spec(
        name="survives",
        says="share of the words of the reasoning that stand there without the image too",
        better=None,
        of=_survives,
        conditions=_without_image,
        sees=True,
        estimate=MEAN_OF_JUDGES,
    ),
    Spec(
        name="survives_chance",
        says="the same share between the replies to two items of a task",
        better=None,
        of=_survives_chance,
        # Once, where any reasoning was asked for without the item's image.
        conditions=lambda study, marks: (
            [PLAIN]
            if any(one.mode == "cot" and one.image != "original" for one in marks.said)
            else []
        ),
        estimate=MEAN_OF_JUDGES,
    ),
    Spec(
        name="answer_kept",
        says="share of answers that stay when reasoning is cut or comes after the answer",
        better=None,
        of=_answer_kept,
        conditions=lambda study, marks: [one.by for one in sorted(marks.said) if one.follow],
        judges=_follow_judges,
        questions=_ANSWER,
        each_judge=lambda condition: False,
        estimate=MEAN_OF_JUDGES,
    ),
)
