"""Right or wrong: what is measured of multiple-choice replies, each measure declared once.

Accuracy and its plain mean over dimensions, chance, readers against readers and with against
without the image; replies that name nothing; the place of options; and what the first token's
probabilities say.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from functools import partial
from typing import Final, NamedTuple, TypeAlias

import numpy as np
from msgspec.structs import replace

from overread.benchmarks.letter_parser import LETTERS
from overread.benchmarks.medcmr.cases import DIMENSIONS
from overread.benchmarks.medcmr.study import GROUPS, MCQ, Asking, Marks, Study
from overread.case import Measure, Method
from overread.measuring import notes, specs
from overread.measuring.arrays import Group
from overread.measuring.estimates import Estimate, Floats, Ints, Mask, estimated, quotients, ratio
from overread.measuring.specs import OUTCOMES, PLAIN, Codes, Condition, Counted, Spec
from overread.measuring.units import AMOUNT, ANY, POINTS, SHARE

_NOT_ASKED: Final = OUTCOMES.index("not asked")
_NOBODY: Final = Measure(reader="", measure="")
AT_CHANCE: Final = "at_chance"
"""The flag of what cannot survive: no accuracy above chance with the item's own image."""
# Of letters given and right, and of outcomes drawn by what was stated.
_EXCHANGES: Final = 1_999
_Make: TypeAlias = Callable[[Study, Marks], Iterator[Estimate | Measure]]


# ---------------------------------------------------------------- accuracy


def _conditions(marks: Marks) -> list[Condition]:
    """The conditions besides the plain one that a reader was asked multiple-choice items in."""
    found = [*marks.changed("mcq"), *(["permuted"] if marks.permuted else [])]
    return [{"condition": one} for one in found]


def _askings(marks: Marks, condition: Condition) -> list[Asking]:
    """What a condition is made of; permuted, all orders asked, the set's own too."""
    image = condition.get("condition", "original")
    form = condition.get("kind", "mcq")
    askings = marks.orders() if image == "permuted" else [Asking(form, image)]
    return [asking for asking in askings if asking in marks.said]


def _replies(
    marks: Marks, condition: Condition, hit: Callable[[Asking], Mask]
) -> tuple[Floats, Codes]:
    """By item and asking: 1 where hit, NaN where not asked; and what became of each."""
    askings = _askings(marks, condition)
    value = np.full((marks.facts.n, max(len(askings), 1)), np.nan)
    why: Codes = np.full(value.shape, _NOT_ASKED, dtype=np.int8)
    for column, asking in enumerate(askings):
        asked = marks.asked(asking)
        value[asked, column] = hit(asking)[asked]
        why[asked, column] = marks.said[asking].outcome[asked]
    return value, why


def _choice_conditions(study: Study, marks: Marks) -> Iterator[Condition]:
    if any(asking.form == "mcq" for asking in marks.said):
        yield PLAIN
        if MCQ in marks.said:
            yield {"kind": "mcq"}
        yield from _conditions(marks)


def _right(study: Study, marks: Marks, condition: Condition) -> Counted:
    """Of the items asked, those whose right option was named; all else is wrong."""
    value, why = _replies(marks, condition, marks.right)
    asked: Mask = (why != _NOT_ASKED).any(axis=1)
    remark = "" if asked.any() else "not asked with the item's own image"
    # An order that an item was not asked in is nobody's fault.
    why = np.where(why == _NOT_ASKED, np.int8(0), why)
    return Counted(value, asked, why, wrong=True, remark=remark)


ACCURACY: Final = Spec(
    name="accuracy",
    says="share of multiple-choice items whose right option was named",
    of=_right,
    conditions=_choice_conditions,
    groups=GROUPS,
    groups_under=("dimension",),
    ungrouped=lambda condition: "kind" in condition,
    contrasts=(specs.READERS_PLAINLY,),
    by_case=True,
)


def _macro(study: Study, marks: Marks) -> Iterator[Estimate | Measure]:
    """The plain mean over dimensions of the accuracy in each (those that have items)."""
    for condition in (PLAIN, *_conditions(marks)):
        counted = specs.counted_once(study, marks, ACCURACY, condition)
        if counted.population.any() and study.grouping("dimension"):
            record = Measure(reader=marks.reader, measure="accuracy_macro", by=dict(condition))
            yield _mean_of_dimensions(record, study, counted)


def _mean_of_dimensions(record: Measure, study: Study, counted: Counted) -> Estimate:
    right, asked = np.nansum(counted.table, axis=1), (~np.isnan(counted.table)).sum(axis=1)
    found = [one for one in study.grouping("dimension") if asked[one.members].any()]
    columns = np.zeros((study.n, 2 * len(found)))
    for at, one in enumerate(found):
        columns[one.members, 2 * at] = right[one.members]
        columns[one.members, 2 * at + 1] = asked[one.members]
    members: Mask = columns[:, 1::2].sum(axis=1) > 0
    missing = [one for one in DIMENSIONS if one not in {group.by["dimension"] for group in found}]
    record = notes.counted_as_wrong(record, specs.left_out_of(counted.within(members)))
    told = notes.remarked(record, f"no items of {', '.join(missing)}" if missing else None)
    made = estimated(told, columns, _plain_mean, members)
    if made.record.value is None:
        return made
    return replace(made, within=_room(study, made.record.value, counted, found))


def _plain_mean(totals: Floats) -> Floats:
    """The mean over dimensions; NaN where a resample holds nothing of one of them."""
    if not totals.shape[1]:
        return np.full(len(totals), np.nan)
    found: Floats = quotients(totals[:, 0::2], totals[:, 1::2]).mean(axis=1)
    return found


def _room(study: Study, value: float, counted: Counted, found: list[Group]) -> tuple[float, float]:
    """What resampling cannot see: a dimension whose replies are all right, or all wrong.

    Each leaves open what Wilson's bound does, its items of a cluster wholly alike; the rooms are
    independent, hence the root of the sum of their squares, over the number of dimensions.
    """
    below = above = 0.0
    for group in found:
        bound = specs.SHARE_OF(_NOBODY, counted.within(group.members), study, SHARE)
        # A single item of its dimension says next to nothing.
        low, high = (0.0, 1.0) if bound.low is None else (bound.low, bound.high or 0.0)
        below += (1 - low) ** 2 if bound.k == bound.n else 0.0
        above += high**2 if not bound.k else 0.0
    down, up = (math.sqrt(part) / len(found) for part in (below, above))
    return max(0.0, value - down), min(1.0, value + up)


def _longest(study: Study, marks: Marks, condition: Condition) -> Counted:
    """Of the replies that name an option, those that name the longest (the first of several, in
    the case's order)."""
    facts, chosen = study.facts, marks.said[MCQ].choice
    members = marks.asked(MCQ) & (chosen >= 0)
    k, n = int((facts.longest == facts.answer)[members].sum()), int(members.sum())
    remark = f"the right option is the longest in {k} of {n}" if n else ""
    return Counted((chosen == facts.longest).astype(float), members, remark=remark)


def _if_plain(study: Study, marks: Marks) -> tuple[Condition, ...]:
    return (PLAIN,) if MCQ in marks.said else ()


def chance(study: Study) -> Iterator[Measure]:
    """What guessing gets right: the mean over items of 1 / number of options; of no reader."""
    options = study.facts.options
    for group in study.groups("dimension"):
        # Sums of equal parts: what has five options throughout is 0.2 to the bit.
        sizes, items = np.unique(options[group.members & (options > 0)], return_counts=True)
        if n := int(items.sum()):
            parts = (int(m) / (int(size) * n) for size, m in zip(sizes, items, strict=True))
            total = math.fsum(parts)
            record = Measure(reader="", measure="chance", by=group.by, value=total, n=n)
            yield notes.with_method(record, Method(kind="exact"))


# ---------------------------------------------------------------- what replies became
# Of all that was asked, by kind of question and condition: answered, unparsed, refused and
# unanswered add up to 1. The names that end in _rate are those of earlier versions.


def _kinds_asked(study: Study, marks: Marks) -> list[Condition]:
    return [{"kind": asking.form} for asking in marks.plainly]


def _asked_conditions(study: Study, marks: Marks) -> list[Condition]:
    return _kinds_asked(study, marks) + _conditions(marks)


def _outcome(study: Study, marks: Marks, condition: Condition) -> tuple[Mask, Codes]:
    why = _replies(marks, condition, marks.asked)[1]
    return (why != _NOT_ASKED).any(axis=1), why


def _unanswered(study: Study, marks: Marks, condition: Condition) -> Counted:
    asked, why = _outcome(study, marks, condition)
    missing = sum(
        int((marks.asked(asking) & ~marks.said[asking].rows).sum())
        for asking in _askings(marks, condition)
    )
    remark = f"{missing} not in the answers" if missing else ""
    return Counted((why == OUTCOMES.index("unanswered")).astype(float), asked, remark=remark)


def _cut_off(study: Study, marks: Marks, condition: Condition) -> Counted:
    """Of the replies of which it is known how they ended, those that the token limit ended."""
    (asking,) = _askings(marks, condition)
    said = marks.said[asking]
    known = marks.asked(asking) & said.ended
    remark = "" if known.any() else "not known how replies ended"
    return Counted(said.cut.astype(float), known, remark=remark)


_COVERAGE: Final = specs.coverage_specs(_asked_conditions, _outcome)
_CUT_OFF: Final = Spec(
    name="cut_off",
    says="share of replies that the token limit ended",
    of=_cut_off,
    conditions=_kinds_asked,
    better="lower",
)
_OUTCOME_SPECS: Final = (
    replace(
        _COVERAGE[1],
        name="invalid_rate",
        says="share of items asked whose reply could not be read as an answer",
        conditions=lambda study, marks: [
            *_if_plain(study, marks),
            *_asked_conditions(study, marks),
        ],
        groups=("dimension",),
    ),
    replace(
        _COVERAGE[2],
        name="refused_rate",
        says="share of items asked whose reply is a refusal",
        conditions=_kinds_asked,
    ),
    replace(
        _CUT_OFF,
        name="unanswered_rate",
        says="share of items asked that have no reply",
        of=_unanswered,
    ),
    replace(_CUT_OFF, name="cut_off_rate"),
    *_COVERAGE,
    _CUT_OFF,
)


# ---------------------------------------------------------------- readers against readers


def gained_and_lost(study: Study) -> Iterator[Measure]:
    """What a medical fine-tune unlearned and learned: of the items asked of both, the share right
    for the base alone, and the share right for the medical reader alone."""
    marks = {one.reader: one for one in study.marks}
    study.options.check_pairs(study.readers)
    for base, medical in study.options.pairs:
        one, two = marks[base], marks[medical]
        both = one.asked(MCQ) & two.asked(MCQ)
        sides = {
            "only_base": one.right(MCQ) & ~two.right(MCQ),
            "only_medical": two.right(MCQ) & ~one.right(MCQ),
        }
        for group in study.groups("dimension"):
            members = group.members & both
            if group.by and not members.any():
                continue
            for name, hit in sides.items():
                by = {"versus": base, **group.by}
                yield study.share(Measure(reader=medical, measure=name, by=by), hit, members)


# ---------------------------------------------------------------- image dependence
# What of the accuracy is left with a blank image, another one, or none. Paired: over the items
# asked with the item's own image and under the condition.


class _ImagePair(NamedTuple):
    """With the changed image and with the item's own, over the items that both have."""

    image: str
    group: Group
    changed: Counted
    own: Counted


_Fill: TypeAlias = Callable[[Study, Measure, _ImagePair], Estimate | Measure]


def _of_images(name: str, fill: _Fill, *, by_dimension: bool = True) -> _Make:
    """Records of every changed image, and by dimension; no value of who gets no picture."""

    def make(study: Study, marks: Marks) -> Iterator[Estimate | Measure]:
        for pair in _image_pairs(study, marks):
            by = {"condition": pair.image, **pair.group.by, "versus": "original"}
            if not by_dimension:
                by = {"image": pair.image}
            if by_dimension or not pair.group.by:
                record = Measure(reader=marks.reader, measure=name, by=by)
                sees = marks.reader not in study.unseeing
                yield fill(study, record, pair) if sees else notes.unseen(marks.reader, name, by)

    return make


def _image_pairs(study: Study, marks: Marks) -> Iterator[_ImagePair]:
    for image in marks.changed("mcq") if MCQ in marks.said else ():
        changed, own = (
            specs.counted_once(study, marks, ACCURACY, at) for at in ({"condition": image}, PLAIN)
        )
        for group in study.groups("dimension"):
            both = group.members & changed.population & own.population
            if not group.by or both.any():
                yield _ImagePair(image, group, changed.within(both), own.within(both))


def _image_difference(study: Study, record: Measure, pair: _ImagePair) -> Estimate | Measure:
    """Accuracy under the condition less that with the item's own image: below 0 it is missed."""
    family = "diff_accuracy by image" + " and dimension" * bool(pair.group.by)
    both, sides = (pair.changed, pair.own), (pair.image, "original")
    return specs.difference_of(study, record, both, ACCURACY, family, sides)


def _image_effect(study: Study, record: Measure, pair: _ImagePair) -> Estimate | Measure:
    """Accuracy with the item's own image less that with the changed one: above 0 it is used."""
    both, sides = (pair.own, pair.changed), ("original", pair.image)
    return specs.difference_of(study, record, both, ACCURACY, "image_effect", sides)


def _survives(study: Study, record: Measure, pair: _ImagePair) -> Estimate | Measure:
    """What part of the score stands without the picture: right under the condition over right with
    the item's own image. Above 1 where the picture harms, undefined where none is right with it.

    Guessing alone gets 1/m of m options: but as published, that much is taken off both. `beside`
    are then the plain ratio and that of guessing; 0 is what guessing leaves, and below it less.
    """
    left, own = (np.nan_to_num(side.table[:, 0]) for side in (pair.changed, pair.own))
    members, k = pair.own.population, int(own.sum())
    n = int(members.sum())
    if not k:
        words = "nothing right with the item's own image" if n else "no items in both"
        return notes.noted(replace(record, n=n), "nothing_right", words)
    if study.robust:
        return _survives_above_chance(study, record, left, own, members)
    columns = np.stack([left, own], axis=1)
    # One item more right under the condition moves the ratio by 1 / k, not by 1 / n.
    return estimated(record, columns, ratio, members, limits=AMOUNT.limits, step=n / k)


def _survives_above_chance(
    study: Study, record: Measure, left: Floats, own: Floats, members: Mask
) -> Estimate | Measure:
    guessed = np.where(members, 1 / np.maximum(study.facts.options, 1), 0.0)
    beside = float(left.sum() / own.sum()), float(guessed.sum() / own.sum())
    record = replace(record, beside=beside)
    skill = study.share(_NOBODY, own == 1, members)
    if skill.low is None or skill.low * int(members.sum()) <= guessed.sum():
        words = "not surely above chance with the item's own image"
        return notes.noted(replace(record, n=int(members.sum())), AT_CHANCE, words)
    columns = np.stack([left - guessed, own - guessed], axis=1)
    return estimated(record, columns, ratio, members, limits=ANY.limits)


# ---------------------------------------------------------------- the place of options
# Letters given, and what other orders of the options change. Over the replies to all orders asked
# with the item's own image. Orders are rotations, so where the option named stood tells where the
# right one stood.


def _letters_given(study: Study, marks: Marks) -> tuple[Ints, Ints]:
    """By item and order: the places of the letter given and of the right one; -1 if not valid."""

    def make() -> tuple[Ints, Ints]:
        facts, orders = marks.facts, marks.orders()
        given, right = np.full((2, facts.n, len(orders)), -1)
        for column, asking in enumerate(orders):
            said = marks.said[asking]
            valid = marks.asked(asking) & (said.choice >= 0) & (said.shown >= 0)
            at = np.flatnonzero(valid & (facts.answer >= 0))
            given[at, column] = said.shown[at]
            right[at, column] = (facts.answer - said.choice + said.shown)[at] % facts.options[at]
        return given, right

    return study.at_hand(marks.reader, ("letters given",), make)


def _letters(study: Study, marks: Marks) -> list[Condition]:
    most = int(study.facts.options.max(initial=0)) if marks.orders() else 0
    return [{"position": letter} for letter in LETTERS[:most]]


def _letter_share(study: Study, marks: Marks, condition: Condition) -> Counted:
    """Of the letters given, those that are this one; the note has how often it was right."""
    given, right = _letters_given(study, marks)
    place, valid = LETTERS.index(condition["position"]), given >= 0
    remark = f"{int((right == place).sum())} right letters" if valid.any() else ""
    return Counted(np.where(valid, given == place, np.nan), valid.sum(axis=1) > 0, remark=remark)


def _letter_bias(study: Study, marks: Marks) -> Iterator[Estimate | Measure]:
    """Total variation distance between the shares of letters given and of right letters, over the
    same valid replies: half the sum of absolute differences. 0 is none; chance alone is above 0.

    So there is no interval, which would never hold 0, but a test: were letters given as often as
    they are right, the two could be exchanged, all of a cluster's replies together. P is the share
    of exchanges with as large a distance; `beside` are the distance and its mean over exchanges,
    what chance alone gives. As published, resamples centred on the value.
    """
    if not marks.orders():
        return
    given, right = _letters_given(study, marks)
    replies = (given >= 0).sum(axis=1)
    apart = [
        (given == place).sum(axis=1) - (right == place).sum(axis=1)
        for place in range(int(study.facts.options.max(initial=0)))
    ]
    columns = np.stack([*apart, replies], axis=1).astype(float)

    def distance(totals: Floats) -> Floats:
        return quotients(np.abs(totals[:, :-1]).sum(axis=1) / 2, totals[:, -1])

    record = Measure(reader=marks.reader, measure="position_bias")
    made = estimated(record, columns, distance, replies > 0)
    if study.robust:
        yield _exchanged_letters(study, replace(made.record, n=int(replies.sum())), columns[:, :-1])
        return
    yield replace(made, record=replace(made.record, n=int(replies.sum())), centred=True)


def _exchanged_letters(study: Study, record: Measure, apart: Floats) -> Measure:
    """With p, letters given and right (in `apart`, one less the other) exchanged by cluster."""
    if record.value is None:
        return record
    sums = np.zeros((int(study.clusters.max()) + 1, apart.shape[1]))
    np.add.at(sums, study.clusters, apart)
    sums = sums[sums.any(axis=1)]
    first = sums[np.arange(len(sums)), (sums != 0).argmax(axis=1)]
    # Clusters of one kind are drawn together, so that neither names nor the order of items matter;
    # the legacy generator's stream is frozen.
    kinds, counts = np.unique(sums * np.sign(first)[:, None], axis=0, return_counts=True)
    draw = np.random.RandomState(study.edition.seed)
    heads = draw.binomial(counts, 0.5, size=(_EXCHANGES, counts.size))
    drawn = np.abs((2 * heads - counts) @ kinds).sum(axis=1) / 2
    far = int((drawn >= np.abs(sums.sum(axis=0)).sum() / 2).sum())
    by_chance = float(drawn.mean()) / (record.n or 1)
    made = replace(
        record,
        p=(1 + far) / (1 + _EXCHANGES),
        family="position_bias",
        beside=(record.value, by_chance),
    )
    how = Method(
        kind="exchanges", of="letters given and right", boot=_EXCHANGES, seed=study.edition.seed
    )
    return notes.with_method(made, how)


def _in_orders(marks: Marks) -> tuple[Mask, Codes]:
    """By order and item: whether it was asked, and the option chosen. Several orders count."""
    orders = marks.orders()
    asked = np.array([marks.asked(asking) for asking in orders])
    return asked, np.array([marks.said[asking].choice for asking in orders])


def _same_option(study: Study, marks: Marks, condition: Condition) -> Counted:
    """Items in which every order got the same option; a reply that names none is no agreement."""
    asked, chosen = _in_orders(marks)
    least = np.where(asked, chosen, len(LETTERS)).min(axis=0)
    most = np.where(asked, chosen, -1).max(axis=0)
    return Counted(((least == most) & (least >= 0)).astype(float), asked.sum(axis=0) > 1)


def _always_right(study: Study, marks: Marks, condition: Condition) -> Counted:
    """Items that were right in every order."""
    asked, _ = _in_orders(marks)
    right = np.array([marks.right(asking) for asking in marks.orders()])
    return Counted((right | ~asked).all(axis=0).astype(float), asked.sum(axis=0) > 1)


# ---------------------------------------------------------------- probabilities
# What the first token's say: accuracy by the likeliest option, and calibration.

_BINS: Final = 10


class _Known(NamedTuple):
    """Items with probabilities, the likeliest option (-1 where two tie), and its probability."""

    items: Ints
    table: Floats
    likeliest: Ints
    confidence: Floats
    right: Mask


def _known(study: Study, marks: Marks) -> _Known | None:
    """None where the reader gave no probabilities."""

    def make() -> _Known | None:
        table = marks.said[MCQ].probabilities if MCQ in marks.said else None
        if table is None:
            return None
        known = marks.asked(MCQ) & (marks.facts.answer >= 0) & ~np.isnan(table[:, 0])
        items = np.flatnonzero(known)
        found = np.nan_to_num(table[items])
        confidence = found.max(axis=1)
        tied = (found == confidence[:, None]).sum(axis=1) > 1
        likeliest = np.where(tied, -1, found.argmax(axis=1))
        right = likeliest == marks.facts.answer[items]
        return _Known(items, found, likeliest, confidence, right)

    return study.at_hand(marks.reader, ("known",), make)


def _accuracy_by_probabilities(study: Study, marks: Marks) -> Iterator[Estimate | Measure]:
    """Of the items with probabilities, the share whose likeliest option is right; of two equally
    likely, none is chosen."""
    known = _known(study, marks)
    if known is None:
        return
    ties = int((known.likeliest < 0).sum())
    without = int(marks.asked(MCQ).sum()) - known.items.size
    record = Measure(reader=marks.reader, measure="accuracy_logprobs")
    record = notes.remarked(record, f"{ties} ties counted as wrong" if ties else None)
    record = notes.leaving_out(record, {"without probabilities": without})
    right, members = np.zeros((2, study.n), dtype=bool)
    right[known.items], members[known.items] = known.right, True
    yield study.share(record, right, members)


def _calibration_error(study: Study, marks: Marks) -> Iterator[Estimate | Measure]:
    """Expected calibration error: ten bins of the likeliest option's probability c, and over them
    the mean of |mean c - share right|, weighted by their replies.

    Less what chance alone adds to it (`stats.debiased_ece`), with the p of a calibrated reader
    (`stats.calibrated_p`); `beside` are the plain error and this one. As published, the plain one,
    resamples centred on it.
    """
    from overread.stats import calibrated_p, debiased_ece, informative

    known = _known(study, marks)
    if known is None:
        return
    record = Measure(reader=marks.reader, measure="ece")
    if not informative(known.confidence):
        words = "the probabilities say no more than the letter"
        yield notes.noted(replace(record, n=int(known.items.size)), "uninformative", words)
        return
    bins = np.minimum(np.floor(_BINS * known.confidence), _BINS - 1).astype(np.int64)
    columns = np.zeros((study.n, _BINS + 1))
    columns[known.items, bins] = known.confidence - known.right
    columns[known.items, _BINS] = 1.0

    def gaps(totals: Floats) -> Floats:
        return quotients(np.abs(totals[:, :_BINS]).sum(axis=1), totals[:, _BINS])

    plain = estimated(record, columns, gaps, columns[:, _BINS] > 0)
    if not study.robust:
        yield replace(plain, centred=True)
        return
    owners, seed = study.clusters[known.items], study.edition.seed
    if np.unique(owners).size < 2:
        yield notes.noted(plain.record, notes.ONE_CLUSTER)
        return
    sides = known.confidence, known.right, owners
    value = debiased_ece(*sides, edges="floor")
    p = calibrated_p(*sides, edges="floor", times=_EXCHANGES, seed=seed)
    assert value is not None
    assert plain.record.value is not None
    told = replace(plain.record, value=value, p=p, family="ece", beside=(plain.record.value, value))
    how = Method(kind="consistency resampling", boot=_EXCHANGES, seed=seed)
    yield notes.with_method(told, how)


def _squared_distance(study: Study, marks: Marks, condition: Condition) -> Counted:
    """Half the squared distance of the options' probabilities from 1 for the right one and 0 for
    the others; 0 is perfect, 1 all on a wrong option."""
    known = _known(study, marks)
    assert known is not None
    truth = np.zeros_like(known.table)
    truth[np.arange(known.items.size), study.facts.answer[known.items]] = 1.0
    value = np.full(study.n, np.nan)
    value[known.items] = ((known.table - truth) ** 2).sum(axis=1) / 2
    return Counted(value, ~np.isnan(value))


_change = partial(Spec, unit=POINTS, better=None)
_ordered = partial(Spec, conditions=lambda study, marks: (PLAIN,) if marks.permuted else ())
CHOICE_SPECS: Final = (
    ACCURACY,
    Spec(
        name="accuracy_macro",
        says="plain mean over dimensions of the accuracy in each",
        make=_macro,
    ),
    Spec(
        name="longest_rate",
        says="share of replies naming an option that name the longest",
        of=_longest,
        conditions=_if_plain,
        better=None,
    ),
    *_OUTCOME_SPECS,
    Spec(
        name="position_share",
        says="share of each letter among the letters given, over all orders",
        of=_letter_share,
        conditions=_letters,
        better=None,
    ),
    Spec(
        name="position_bias",
        says="total variation distance of the letters given from the right letters",
        make=_letter_bias,
        better="lower",
    ),
    _ordered(
        name="order_consistency",
        says="share of items in which every order of the options got the same option",
        of=_same_option,
    ),
    _ordered(
        name="accuracy_all_orders",
        says="share of items that were right in every order of the options",
        of=_always_right,
    ),
    Spec(
        name="accuracy_logprobs",
        says="share of items whose likeliest option by the first token is right",
        make=_accuracy_by_probabilities,
    ),
    Spec(
        name="ece",
        says="expected calibration error of the likeliest option's probability, ten bins",
        make=_calibration_error,
        better="lower",
    ),
    Spec(
        name="brier",
        says="half the squared distance of the options' probabilities from the truth",
        of=_squared_distance,
        conditions=lambda study, marks: () if _known(study, marks) is None else (PLAIN,),
        estimate=specs.MEAN_OF_CASES,
        better="lower",
    ),
    _change(
        name="diff_accuracy",
        says="accuracy with a blank, another or no image less that with the item's own",
        make=_of_images("diff_accuracy", _image_difference),
    ),
    _change(
        name="image_effect",
        says="accuracy with the item's own image less that with a blank, another or no image",
        make=_of_images("image_effect", _image_effect, by_dimension=False),
    ),
    _change(
        name="survives",
        says="accuracy with a blank, another or no image over that with the item's own, "
        "both above chance",
        make=_of_images("survives", _survives),
        unit=ANY,
    ),
)
