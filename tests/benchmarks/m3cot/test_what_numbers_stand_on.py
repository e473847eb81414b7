"""How replies fared, whom a picture cannot move, and intervals that do not claim too much."""

from __future__ import annotations

from itertools import product

import msgspec
import numpy as np
import pytest

from overread.benchmarks.m3cot.benchmark import M3CoT
from overread.benchmarks.m3cot.cases import KINDS
from overread.benchmarks.m3cot.edition import CORRECTED
from overread.benchmarks.m3cot.judge_questions import RUBRICS, questions
from overread.benchmarks.m3cot.measures import agreement_measures, measure
from overread.benchmarks.m3cot.study import Study
from overread.case import Measure, Traits
from overread.measuring.estimates import Estimate
from overread.stats import clustered_share, wilson
from support.m3_tables import answer, case, found, tables_of, verdict, verdicts_of

OURS = msgspec.structs.replace(CORRECTED, boot=300)
PATH = {"modality": 1, "feature": 2, "conclusion": 3, "others": 0}
OTHER = PATH | {"modality": 2, "feature": 1}


def left_open(n):
    return wilson(0, n).high


def test_refused_empty_unanswered_and_cut_off_are_told_apart():
    cases = [case(index) for index in range(1, 9)]
    answers = [
        answer("r", 1, finish="stop"),
        answer("r", 2, finish="length"),
        answer("r", 3, text=" ", finish="length"),
        answer("r", 4, text="", finish="stop"),
        answer("r", 5, text="I cannot.", outcome="refused", finish="stop"),
        answer("r", 6, text="", outcome="refused", finish="stop"),
        answer("r", 7, text=None),
    ]
    records = measure(tables_of(cases, answers), None, OURS)
    counts = {"answered": 2, "refused": 2, "unparsed": 2, "unanswered": 2, "cut_off": 2}
    counts |= {"empty": 2, "truncated": 2}
    for name, k in counts.items():
        record = found(records, name, mode="cot")
        wanted, _ = clustered_share(np.arange(8) < k, range(8))
        assert (record.k, record.n, record.method) == (k, 8, "wilson"), name
        assert (record.value, record.low, record.high) == pytest.approx(
            (k / 8, wanted.low, wanted.high)
        )


def test_how_replies_ended_is_not_guessed():
    records = measure(tables_of([case(1)], [answer("r", 1)]), None, OURS)
    cut = found(records, "truncated", mode="cot")
    assert (cut.value, cut.note) == (None, "not known how replies ended")


def test_timed_replies_do_not_count_twice():
    rows = [answer("r", 1, finish="stop"), answer("r", 1, finish="length", timed=True)]
    cut = found(measure(tables_of([case(1)], rows), None, OURS), "truncated", mode="cot")
    assert (cut.k, cut.n) == (0, 1)


@pytest.mark.parametrize("modality", ["text", "vision"])
def test_who_gets_no_picture_cannot_depend_on_it(modality):
    cases = [case(index) for index in range(1, 7)]
    images = ("original", "blank")
    answers = [answer("r", index, image=image) for image in images for index in range(1, 7)]
    said = {"match": True, "final_answer": "A"}
    verdicts = verdicts_of(
        verdict("j", "answer", "r", index, said, image=image)
        for image in images
        for index in range(1, 7)
    )
    tables = tables_of(cases, answers)
    (reader,) = tables.readers
    reader = msgspec.structs.replace(reader, traits=Traits(modality=modality))
    records = measure(msgspec.structs.replace(tables, readers=(reader,)), verdicts, OURS)
    effect = found(records, "image_effect", mode="cot", image="blank")
    kept = found(records, "survives", image="blank")
    if modality == "vision":
        assert (effect.value, kept.value) == (0.0, 1.0)
        return
    for record in (effect, kept):
        assert (record.value, record.low, record.p) == (None, None, None)
        assert record.note == "the model gets no picture"


@pytest.mark.parametrize("strange", [0, 1])
def test_consistency_leaves_open_what_its_items_do_whether_or_not_all_agree(strange):
    n, tasks = 60, ("a", "b", "c", "d", "e", "f")
    cases = [case(index, tasks[index % 6]) for index in range(1, n + 1)]
    answers = [answer("r", index) for index in range(1, n + 1)]
    verdicts = verdicts_of(
        verdict("j", "order", "r", index, OTHER if index <= strange else PATH)
        for index in range(1, n + 1)
    )
    records = measure(tables_of(cases, answers), verdicts, OURS)
    pairs = found(records, "consistency")
    assert pairs.value - 2 * left_open(n) <= pairs.low <= 1 - left_open(n) + 1e-12
    for name in ("consistency_mode", "consistency_medoid", "consistency_items"):
        record = found(records, name)
        assert record.low <= record.value - left_open(n) + 1e-12
        assert record.low >= record.value - 2 * left_open(n)
        assert record.high == 1.0
        assert "wilson at 0" in record.method
    alone = found(records, "consistency", task="c")
    assert alone.low == pytest.approx(1 - left_open(10))


def test_f1_is_no_surer_than_an_average_on_which_all_items_agree():
    n = 40
    cases = [case(index) for index in range(1, n + 1)]
    steps = [
        {"type": "feature", "judgment": judgment, "text": "x"}
        for judgment in ("Match", *["Wrong"] * 7)
    ]
    rows = []
    for index in range(1, n + 1):
        rows.append(verdict("j", "precision", "r", index, steps))
        rows.append(verdict("j", "recall", "r", index, [True, index > 2]))
    answers = [answer("r", index) for index in range(1, n + 1)]
    records = measure(tables_of(cases, answers), verdicts_of(rows), OURS)
    p, r, f1 = (found(records, name) for name in ("precision", "recall", "f1"))
    # What one more item, as far off as can be, would make of what all agree on.
    assert (p.value, p.low) == (1 / 8, pytest.approx(n / 8 / (n + 1)))
    assert r.method.startswith("variance by cluster")

    def harmonic(one, two):
        return 2 * one * two / (one + two)

    assert f1.value == pytest.approx(harmonic(p.value, r.value))
    assert f1.low <= harmonic(p.low, r.value) + 1e-12
    assert f1.high >= harmonic(p.high, r.value) - 1e-12
    # Nor does it leave open what neither average does.
    assert harmonic(p.low, r.low) <= f1.low
    assert f1.high <= harmonic(p.high, r.high)
    assert f1.method.endswith("at least wilson at 0")


def pairs_of(readers, n, same):
    """Verdicts of two judges on the replies of some readers, alike of one item or not."""
    for index, reader in product(range(1, n + 1), readers):
        for judge in ("j", "k"):
            match = index % 2 == 0 if judge == "j" or same(index) else index % 2 == 1
            said = {"match": match, "final_answer": "A"}
            yield verdict(judge, "answer", reader, index, said)


def test_agreement_on_one_item_of_many_readers_is_one_item():
    n = 30
    tables = tables_of([case(index) for index in range(1, n + 1)], [answer("a", 1)])
    few, many = (
        list(agreement_measures(questions(OURS), tables.cases, verdicts_of(pairs_of(readers, n, lambda i: i % 5)), OURS))
        for readers in ("a", "abcdefgh")
    )  # fmt: skip
    for name in ("judge_agreement", "judge_kappa"):
        by = {"judges": "j / k", "question": "answer"}
        one, other = found(few, name, **by), found(many, name, **by)
        assert other.n == 8 * one.n
        assert other.value == one.value
        # Nearly: the design effect that so few who differ show is drawn towards what is usual.
        assert (other.low, other.high) == pytest.approx((one.low, one.high), abs=0.02)
        assert one.low < one.value < one.high
        assert one.method.startswith("variance by cluster")


def test_items_of_one_patient_are_drawn_together():
    n = 30
    rows = verdicts_of(pairs_of("a", n, lambda index: index > 15))
    widths = []
    for patients in (range(n), [index // 5 for index in range(n)]):
        cases = [case(index + 1, patient=f"p{patients[index]}") for index in range(n)]
        tables = tables_of(cases, [answer("a", 1)])
        records = list(agreement_measures(questions(OURS), tables.cases, rows, OURS))
        record = found(records, "judge_agreement", judges="j / k", question="answer")
        widths.append(record.high - record.low)
    assert widths[1] > 1.5 * widths[0]


def test_judges_that_always_agree_are_not_certain_to():
    tables = tables_of([case(index) for index in range(1, 13)], [answer("a", 1)])
    rows = verdicts_of(pairs_of("ab", 12, lambda index: True))
    records = list(agreement_measures(questions(OURS), tables.cases, rows, OURS))
    by = {"judges": "j / k", "question": "answer"}
    share, kappa = (found(records, name, **by) for name in ("judge_agreement", "judge_kappa"))
    # Two readers' replies to an item are as alike as is usual: more than 12 of them, fewer than 24.
    assert (share.value, share.high) == (1.0, 1.0)
    assert 1 - left_open(12) < share.low < 1 - left_open(24)
    assert kappa.value == 1.0
    assert kappa.low < 1.0


def signed(rows):
    tables = tables_of([case(1)], [answer("r", 1)])
    opened = M3CoT.of_run("set@12345678", "open")
    signature = opened.signature(msgspec.structs.replace(tables, verdicts=verdicts_of(rows)))
    return next(part for part in signature.split("|") if part.startswith("judges:"))


def asked(question, kind):
    row = verdict("j", question, "r", 1)
    return row | {"prompt": RUBRICS[question][kind].digest}


def test_the_same_words_have_the_same_digest_whichever_kinds_come_up():
    one, *others = ([asked("answer", kind)] for kind in KINDS)
    every = [asked("answer", kind) for kind in KINDS]
    assert {signed(rows) for rows in (one, *others, every)} == {signed(one)}
    steps = [signed([asked("recall", "short")]), signed([asked("precision", "bool")])]
    assert steps[0] == steps[1] != signed(one)


def test_other_words_have_another_digest_and_others_words_have_none():
    own = asked("answer", "short") | {"prompt": "0123abcd"}
    assert signed([own]) != signed([asked("answer", "short")])
    assert signed([verdict("j", "answer", "r", 1)]) == "judges:j@theirs"


def test_what_only_rounding_holds_off_0_is_0():
    made = Estimate(
        record=Measure(reader="r", measure="diff_recall", value=-2.2e-16, n=12),
        columns=np.ones((12, 1)),
        again=lambda totals: np.where(np.arange(len(totals)) % 3, -5.55e-17, 0.5),
        counted=np.ones(12, dtype=bool),
        limits=(-1.0, 1.0),
        step=None,
        jumps=True,  # so that it is drawn
    )
    tables = tables_of([case(index) for index in range(1, 13)], [answer("r", 1)])
    (record,) = Study(tables, None, OURS).finish([made])
    assert (record.value, record.low) == (0.0, 0.0)
    assert record.high > 0.5
    assert str(record.low) == "0.0"
