"""The four judged scores and S: by hand, and against a slow, obvious reading of the protocol."""

from __future__ import annotations

from statistics import mean

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from overread.benchmarks.medcmr import scores
from overread.benchmarks.medcmr.edition import CORRECTED
from overread.benchmarks.medcmr.scores import score_comparisons
from overread.benchmarks.medcmr.study import Study
from overread.measuring.specs import made_by
from support.med_scores import scored_by, verdicts_of
from support.med_tables import found, mcq, opened, tables_of, wrote

QUICK = msgspec.structs.replace(CORRECTED, boot=200)


def measured(cases, answers, verdicts, labels=None, edition=QUICK, **other):
    study = Study(tables_of(cases, answers, **other), verdicts_of(verdicts), edition, labels=labels)
    made = (
        one
        for marks in study.marks
        for spec in scores.SCORE_SPECS
        for one in made_by(study, marks, spec)
    )
    return study.finish(made) + study.finish(score_comparisons(study))


def combined(clarity: float, coherence: float, visual: float, truth: float) -> float:
    """S = (con + coh + 4 vis + 4 gt) / 10 of components that all run from 0 to 1, or to 100."""
    return (clarity + coherence + 4 * visual + 4 * truth) / 10


def test_s_of_the_papers_first_row() -> None:
    assert round(combined(97.77, 88.86, 40.45, 34.65), 2) == 48.70
    assert combined(1, 1, 1, 1) == 1


def test_four_scores_and_s_by_hand() -> None:
    cases = [opened(1), opened(2), opened(3, "CR")]
    answers = [wrote("r", index) for index in (1, 2, 3)]
    verdicts = [
        scored_by("j", "r", 1, (1, 0.5, 2, 4)),
        scored_by("j", "r", 2, (0.5, 0.5, 1, 0)),
        scored_by("j", "r", 3, (1, 1, 4, 3)),
    ]
    records = measured(cases, answers, verdicts)
    for by in ({}, {"kind": "open"}, {"judge": "j"}, {"kind": "open", "judge": "j"}):
        assert found(records, "clarity", **by).value == pytest.approx(2.5 / 3)
        assert found(records, "coherence", **by).value == pytest.approx(2 / 3)
        assert found(records, "visual", **by).value == pytest.approx(7 / 12)
        assert found(records, "truth", **by).value == pytest.approx(7 / 12)
        # S of the items: 7.5, 2 and 9 tenths.
        assert found(records, "score", **by).value == pytest.approx(18.5 / 30)
        assert found(records, "score", **by).n == 3
    assert found(records, "score", dimension="SOD").value == pytest.approx(9.5 / 20)
    assert found(records, "score", family="reasoning").value == pytest.approx(0.9)
    assert found(records, "score_macro").value == pytest.approx((9.5 / 20 + 0.9) / 2)
    assert found(records, "judged_rate", kind="open").value == 1
    assert found(records, "score").flags == ("few",)


def test_what_is_not_said_scores_0_and_what_is_not_read_is_left_out() -> None:
    cases = [opened(index) for index in range(6)]
    answers = [
        wrote("r", 0),
        wrote("r", 1, None),
        wrote("r", 2, " \n", outcome="unparsed"),
        wrote("r", 3, "I cannot help.", outcome="refused"),
        wrote("r", 4),
        wrote("r", 5),
    ]
    verdicts = [
        scored_by("j", "r", 0, (1, 1, 4, 4)),
        # A verdict on a refusal counts for nothing.
        scored_by("j", "r", 3, (1, 1, 4, 4)),
        scored_by("j", "r", 4, None),
    ]
    records = measured(cases, answers, verdicts)
    for name in ("clarity", "coherence", "visual", "truth", "score"):
        record = found(records, name)
        assert (record.value, record.n) == (0.25, 4)
        told = "left out: 2 not judged; 1 refused, 2 unanswered counted as wrong"
        assert record.note == told
    rate = found(records, "judged_rate", kind="open")
    assert (rate.value, rate.k, rate.n) == (1 / 3, 1, 3)


def test_a_reader_that_says_nothing_at_all_scores_0_by_whoever_judges_the_others() -> None:
    cases = [opened(1), opened(2)]
    answers = [wrote("mute", i, None) for i in (1, 2)] + [wrote("r", i) for i in (1, 2)]
    verdicts = [scored_by("j", "r", i, (1, 1, 4, 4)) for i in (1, 2)]
    records = measured(cases, answers, verdicts)
    assert found(records, "score", "mute").value == 0
    assert found(records, "judged_rate", "mute", kind="open").value is None
    assert found(records, "diff_score", "mute", versus="r").value == -1


def test_without_a_caption_there_is_no_visual_score_and_no_s() -> None:
    cases = [opened(1), opened(2, caption=None), opened(3, caption=" ")]
    answers = [wrote("r", 1), wrote("r", 2), wrote("r", 3, None)]
    verdicts = [scored_by("j", "r", 1, (1, 1, 2, 2)), scored_by("j", "r", 2, (0.5, 1, 4))]
    records = measured(cases, answers, verdicts)
    assert (found(records, "truth").value, found(records, "truth").n) == (0.5, 3)
    for name, value in (("visual", 0.5), ("score", 0.6)):
        record = found(records, name)
        assert (record.value, record.n) == (pytest.approx(value), 1)
        assert record.left_out["without a caption"] == 2
        assert record.low is None, "one item has no interval"


def test_several_judges_are_averaged_within_the_item_first() -> None:
    cases, answers = [opened(1), opened(2)], [wrote("r", 1), wrote("r", 2)]
    verdicts = [
        scored_by("j", "r", 1, (1, 1, 4, 4)),
        scored_by("k", "r", 1, (0, 0, 0, 0)),
        scored_by("j", "r", 2, (1, 1, 4, 4)),
        scored_by("k", "r", 2, None),
    ]
    records = measured(cases, answers, verdicts)
    assert found(records, "score").value == 0.75  # and not the judges' mean of means, 1/2
    assert found(records, "score").left_out == {"not judged": 1}
    assert found(records, "score", judge="j").value == 1
    assert found(records, "score", judge="k").value == 0
    assert found(records, "score", judge="k").left_out == {"not judged": 1}
    assert found(records, "judged_rate", kind="open").value == 0.75
    assert found(records, "judged_rate", kind="open", judge="k").value == 0.5


def test_reformulated_items_and_conditions_stand_apart() -> None:
    cases = [opened(1), opened(2), mcq(1, caption="seen"), mcq(2, caption="seen")]
    answers = [
        *(wrote("r", i) for i in (1, 2)),
        *(wrote("r", i, image="blank") for i in (1, 2)),
        wrote("r", 1, form="reformulated"),
    ]
    verdicts = [
        *(scored_by("j", "r", i, (1, 1, 4, 4)) for i in (1, 2)),
        *(scored_by("j", "r", i, (1, 1, 0, i), image="blank") for i in (1, 2)),
        scored_by("j", "r", 1, (1, 1, 2, 0), form="reformulated"),
        # Judged with a change, or to test the judge: no part of any score.
        scored_by("j", "r", 1, (0, 0, 0, 0), about='{"form":"open","image":"original","order":0,"variant":"length"}'),
        scored_by("j", "r", 2, (0, 0, 0, 0), check=True),
    ]  # fmt: skip
    records = measured(cases, answers, verdicts)
    assert found(records, "score").value == 1
    assert found(records, "score", kind="reformulated").value == 0.4
    assert found(records, "score", kind="reformulated", judge="j").n == 1
    assert found(records, "score", condition="blank").value == pytest.approx(0.35)
    assert found(records, "score", condition="blank", dimension="SOD").n == 2
    assert found(records, "score_macro", condition="blank").value == pytest.approx(0.35)
    difference = found(records, "diff_score", condition="blank", versus="original")
    assert difference.value == pytest.approx(-0.65)
    assert difference.family == "diff_score blank"


def test_a_reader_without_pictures_cannot_miss_them() -> None:
    cases = [opened(1), opened(2)]
    answers = [wrote("r", i, image=im) for i in (1, 2) for im in ("original", "blank")]
    verdicts = [
        scored_by("j", "r", i, (1, 1, 4, 4), image=im)
        for i in (1, 2)
        for im in ("original", "blank")
    ]
    records = measured(cases, answers, verdicts, blind=("r",))
    record = found(records, "diff_score", condition="blank", versus="original")
    assert (record.value, record.note) == (None, "the model gets no picture")


def test_nothing_is_made_up_where_nobody_judged() -> None:
    records = measured([opened(1), opened(2)], [wrote("r", 1), wrote("r", 2)], [])
    assert found(records, "score").note == "not judged"
    assert all(record.value is None for record in records)
    assert measured([mcq(1)], [], [], readers=["r"]) == []


def test_a_judge_that_is_not_fit_is_said_beside_the_number() -> None:
    cases, answers = [opened(1), opened(2)], [wrote("r", 1), wrote("r", 2)]
    verdicts = [scored_by(j, "r", i, (1, 1, 4, 4)) for i in (1, 2) for j in ("j", "k")]
    labels = {("k", "score"): "judge unfit", ("j", "clarity"): "judge not checked"}
    records = measured(cases, answers, verdicts, labels)
    assert found(records, "score").label == "judge unfit"
    assert found(records, "score", judge="j").label is None
    assert found(records, "clarity", judge="j").label == "judge not checked"


RAW = st.tuples(
    st.sampled_from((0, 0.5, 1)),
    st.sampled_from((0, 0.5, 1)),
    st.integers(0, 4),
    st.integers(0, 4),
)
# By item: the reply's outcome, and what each of three judges gave.
ITEMS = st.lists(
    st.tuples(st.sampled_from(("answered", "unparsed", "refused", "unanswered")),
              st.tuples(*[st.none() | RAW] * 3)),
    min_size=1, max_size=8,
)  # fmt: skip


@pytest.mark.slow
@settings(max_examples=40, deadline=None)
@given(ITEMS, ITEMS)
def test_as_a_slow_reading_of_the_protocol_has_it(mine, theirs) -> None:
    size = min(len(mine), len(theirs))
    both = {"r": mine[:size], "s": theirs[:size]}
    answers = [
        wrote(reader, at, None if outcome == "unanswered" else "x", outcome=outcome)
        for reader, items in both.items()
        for at, (outcome, _) in enumerate(items)
    ]
    verdicts = [
        scored_by(f"j{j}", reader, at, raw)
        for reader, items in both.items()
        for at, (outcome, given_) in enumerate(items)
        if outcome in ("answered", "unparsed")
        for j, raw in enumerate(given_)
    ]
    records = measured([opened(at) for at in range(size)], answers, verdicts)

    def slow(reader, at):
        outcome, raws = both[reader][at]
        if outcome in ("refused", "unanswered"):
            return 0.0
        read = [combined(r[0], r[1], r[2] / 4, r[3] / 4) for r in raws if r is not None]
        return mean(read) if read else None

    values = {reader: [slow(reader, at) for at in range(size)] for reader in both}
    if not verdicts:
        return
    for reader, each in values.items():
        counted = [value for value in each if value is not None]
        record = found(records, "score", reader)
        assert record.n == len(counted)
        assert record.value == (pytest.approx(mean(counted)) if counted else None)
        if record.low is not None:
            assert 0 <= record.low <= record.value <= record.high <= 1
            assert record.low < record.high

    def sums(reader, at):
        """By judge, its S; None where it could not be read."""
        outcome, raws = both[reader][at]
        if outcome in ("refused", "unanswered"):
            return [0.0] * 3
        return [r and combined(r[0], r[1], r[2] / 4, r[3] / 4) for r in raws]

    # Judge by judge, those that were read on both sides of the item.
    gaps = [
        [a - b for a, b in zip(sums("r", at), sums("s", at), strict=True) if None not in (a, b)]
        for at in range(size)
    ]
    pairs = [mean(each) for each in gaps if each]
    difference = found(records, "diff_score", "r", versus="s")
    assert difference.value == (pytest.approx(mean(pairs)) if pairs else None)
    assert difference.n == len(pairs)


def test_readers_are_compared_on_the_items_both_have_with_a_p_that_others_do_not_move() -> None:
    size = 40
    cases = [opened(at) for at in range(size)]
    readers = ("r", "s", "t")
    answers = [wrote(reader, at) for reader in readers for at in range(size)]
    verdicts = [
        scored_by("j", reader, at, None if (reader, at) == ("r", 0) else (1, 1, 2 + lift, at % 5))
        for lift, reader in enumerate(readers)
        for at in range(size)
    ]
    records = measured(cases, answers, verdicts)
    record = found(records, "diff_score", "r", versus="s")
    assert (record.value, record.n) == (pytest.approx(-0.1), size - 1)
    assert record.p == 1 / 10_000
    assert record.note == "left out: 1 not judged in both"
    alone = measured(
        cases,
        [row for row in answers if row["reader"] != "t"],
        [row for row in verdicts if row["reader"] != "t"],
    )
    assert found(alone, "diff_score", "r", versus="s") == record


def test_readers_are_compared_by_the_judges_both_have() -> None:
    cases = [opened(1), opened(2)]
    answers = [wrote(reader, at) for reader in ("r", "s", "t") for at in (1, 2)]
    verdicts = [scored_by("j", reader, at, (1, 1, 2, 2)) for reader in "rs" for at in (1, 2)]
    verdicts += [scored_by("k", reader, at, (1, 1, 4, 4)) for reader in "rt" for at in (1, 2)]
    records = measured(cases, answers, verdicts)
    assert found(records, "diff_score", "r", versus="s").value == 0
    assert found(records, "diff_score", "r", versus="t").value == 0
    assert not [one for one in records if one.reader == "s" and one.by.get("versus") == "t"]


def test_the_same_judges_count_on_both_sides_of_an_item() -> None:
    cases = [opened(1), opened(2)]
    kind, strict = (1, 1, 4, 4), (1, 1, 0, 0)
    answers = [
        wrote(reader, at, image=image)
        for reader, image in (("r", "original"), ("s", "original"), ("s", "blank"))
        for at in (1, 2)
    ]

    def given(reader, at, image="original", **told):
        each = {"kind": kind, "strict": strict, **told}
        return [scored_by(judge, reader, at, raw, image=image) for judge, raw in each.items()]

    # Both readers' replies are worth the same to either judge; one verdict could not be read.
    verdicts = [
        *given("r", 1, strict=None), *given("r", 2), *given("s", 1), *given("s", 2),
        *given("s", 1, "blank", kind=None), *given("s", 2, "blank"),
    ]  # fmt: skip
    records = measured(cases, answers, verdicts)
    assert found(records, "score", "r").value == pytest.approx(0.8)
    assert found(records, "score", "s").value == pytest.approx(0.6)
    between = found(records, "diff_score", "r", versus="s")
    without = found(records, "diff_score", "s", condition="blank", versus="original")
    for record in (between, without):
        assert (record.value, record.n) == (0, 2)
        assert record.note == "1 verdicts on one of both left out"
    # No judge was read on both sides: the item does not count.
    verdicts = [*given("r", 1, strict=None), *given("s", 1, kind=None), *given("r", 2), *given("s", 2)]  # fmt: skip
    records = measured(cases, [row for row in answers if "blank" not in row["image"]], verdicts)
    record = found(records, "diff_score", "r", versus="s")
    assert (record.value, record.n) == (0, 1)
    assert record.left_out == {"not judged in both": 1}


@pytest.mark.parametrize("size", [2, 3, 5, 9])
def test_few_items_leave_more_open_the_more_they_differ(size) -> None:
    cases = [opened(at) for at in range(size)]
    answers = [wrote("r", at) for at in range(size)]
    widths = []
    for step in (0, 1, 2):
        verdicts = [
            scored_by("j", "r", at, (1, 1, 2 + step * (-1) ** at * (at < size // 2 * 2), 2))
            for at in range(size)
        ]
        record = found(measured(cases, answers, verdicts), "visual")
        assert record.value == 0.5
        # At least what one more item, as far off as can be, would make of it.
        assert record.low <= 0.5 * size / (size + 1) + 1e-12
        assert record.high >= 0.5 + 0.5 / (size + 1) - 1e-12
        assert record.method == f"variance by cluster, t of {size - 1}"
        widths.append(record.high - record.low)
    # Of two items at either end nothing but two marks is left, whose interval is Wilson's.
    assert widths == sorted(widths) or (size == 2 and widths[0] == min(widths))


def test_a_verdict_on_what_was_not_asked_counts_for_nothing() -> None:
    answers = [wrote("r", at) for at in (1, 2)] + [wrote("r", 1, image="blank")]
    verdicts = [
        scored_by("j", "r", at, (1, 1, 4, 4), image=image)
        for at in (1, 2)
        for image in ("original", "blank")
    ]
    records = measured([opened(1), opened(2)], answers, verdicts)
    assert found(records, "score", condition="blank").n == 1
