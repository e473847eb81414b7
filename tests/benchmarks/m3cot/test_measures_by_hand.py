"""What each measure says of small runs worked out by hand."""

from __future__ import annotations

import msgspec
import numpy as np
import pytest

from overread.benchmarks.m3cot.accuracy import kept_share, same_answer
from overread.benchmarks.m3cot.edition import AUTHORS, CORRECTED
from overread.benchmarks.m3cot.measures import METRICS, measure
from overread.benchmarks.m3cot.steps import precision_of
from overread.stats import difference_p, sign_flip_p
from support.m3_tables import answer, case, found, tables_of, verdict, verdicts_of

OURS = msgspec.structs.replace(CORRECTED, boot=200)
THEIRS = msgspec.structs.replace(AUTHORS, boot=200)
CASES = [case(index) for index in range(1, 9)]


def right(said, final="A"):
    return {"match": said, "final_answer": final}


def judged(reader, mode, said, judge="j", **where):
    """Verdicts on items 1, 2, …: 1 right, 0 wrong, None unreadable, "" not sent."""
    return [
        verdict(judge, "answer", reader, index, None if one is None else right(bool(one)), mode=mode, **where)
        for index, one in enumerate(said, 1)
        if one != ""
    ]  # fmt: skip


def both(reader, texts=("said",) * 8, **where):
    return [
        answer(reader, index, mode, text, **where)
        for mode in ("direct", "cot")
        for index, text in enumerate(texts, 1)
    ]


def test_every_metric_says_what_it_is():
    assert all(metric.says and metric.name == name for name, metric in METRICS.items())
    wanted = "precision precision_no_na recall f1 accuracy impact efficiency latency"
    wanted += " consistency consistency_medoid consistency_items"
    assert set(wanted.split()) <= set(METRICS)


def test_the_unanswered_and_the_unjudged_are_wrong_or_left_out():
    answers = both("r", ["said"] * 6 + ["", None])
    rows = verdicts_of(judged("r", "cot", [1, 1, 0, 0, 1, None]))
    ours = found(measure(tables_of(CASES, answers), rows, OURS), "accuracy", mode="cot")
    assert (ours.value, ours.k, ours.n) == (3 / 8, 3, 8)
    assert ours.as_wrong == {"unparsed": 1, "unanswered": 1, "not judged": 1}
    assert ours.note == "1 unparsed, 1 unanswered, 1 not judged counted as wrong"
    theirs = found(measure(tables_of(CASES, answers), rows, THEIRS), "accuracy", mode="cot")
    assert (theirs.value, theirs.k, theirs.n) == (3 / 5, 3, 5)
    assert theirs.left_out == ours.as_wrong


def test_a_reader_that_says_nothing_gains_nothing():
    answers = both("talks") + both("silent", [""] * 8)
    order = {"modality": 1, "feature": 2, "conclusion": 0, "others": 0}
    rows = judged("talks", "cot", [1] * 8)
    for index in range(1, 9):
        rows.append(verdict("j", "recall", "talks", index, [True, False]))
        rows.append(verdict("j", "precision", "talks", index, []))
        rows.append(verdict("j", "order", "talks", index, order))
    records = measure(tables_of(CASES, answers), verdicts_of(rows), OURS)
    assert found(records, "accuracy", "silent", mode="cot").value == 0
    for name in ("precision", "recall", "consistency"):
        assert found(records, name, "silent").value == 0
    assert found(records, "precision", "talks").value == 0
    assert found(records, "consistency", "talks").value == 1
    published = measure(tables_of(CASES, answers), verdicts_of(rows), THEIRS)
    assert found(published, "consistency", "silent").value == 1  # their fault, kept


def test_the_panel_is_the_mean_of_its_judges():
    rows = judged("r", "cot", [1] * 8) + judged("r", "cot", [1, 0] * 4, judge="k")
    records = measure(tables_of(CASES, both("r")), verdicts_of(rows), OURS)
    assert found(records, "accuracy", mode="cot").value == 0.75
    assert found(records, "accuracy", mode="cot", judge="j").value == 1
    assert found(records, "accuracy", mode="cot", judge="k").value == 0.5


def test_impact_by_mcnemar_for_a_judge_and_by_sign_flips_for_the_panel():
    cot, direct = [1, 1, 1, 1, 1, 1, 0, 0], [0, 0, 0, 0, 0, 1, 1, 0]
    rows = judged("r", "cot", cot) + judged("r", "direct", direct)
    rows += judged("r", "cot", cot[::-1], judge="k") + judged("r", "direct", direct, judge="k")
    records = measure(tables_of(CASES, both("r")), verdicts_of(rows), OURS)
    one = found(records, "impact", judge="j")
    assert one.value == pytest.approx(4 / 8)
    assert one.p == difference_p(5, 1)
    panel = np.add(cot, cot[::-1]) - 2 * np.array(direct)
    whole = found(records, "impact")
    assert whole.value == pytest.approx(panel.mean() / 2)
    assert whole.p == sign_flip_p(panel, np.arange(8))
    assert whole.low < whole.value < whole.high


def test_patients_that_come_twice_are_drawn_and_flipped_together():
    cases = [case(index, patient=f"p{index // 2}") for index in range(1, 9)]
    cot = [1, 1, 1, 1, 1, 1, 0, 0]
    rows = verdicts_of(judged("r", "cot", cot) + judged("r", "direct", [0] * 8))
    record = found(measure(tables_of(cases, both("r")), rows, OURS), "impact", judge="j")
    assert record.p == sign_flip_p(cot, [index // 2 for index in range(1, 9)])


STEPS = [
    {"type": "modality", "judgment": "Match", "text": ""},
    {"type": "feature", "judgment": "N/A", "text": ""},
    {"type": "conclusion", "judgment": "Wrong", "text": ""},
    {"type": "restatement", "judgment": "Match", "text": ""},
]


def test_precision_with_and_without_background():
    assert precision_of(STEPS) == 1 / 3
    assert precision_of(STEPS, na=False) == 1 / 2
    assert precision_of(STEPS, "modality") == 1
    assert precision_of(STEPS, "analysis") is None
    assert precision_of(STEPS, "analysis", published=True) == 0
    assert precision_of([], na=False) == precision_of([STEPS[3]]) == 0


def test_recall_of_a_step_type_is_over_the_gold_steps_of_that_type():
    cases = [case(1), case(2, steps=("feature", "conclusion"))]
    rows = [verdict("j", "recall", "r", 1, [True, False]), verdict("j", "recall", "r", 2, [True, True])]  # fmt: skip
    answers = [answer("r", 1), answer("r", 2)]
    records = measure(tables_of(cases, answers), verdicts_of(rows), OURS)
    assert found(records, "recall").value == 0.75
    assert found(records, "recall", step="feature").value == 0.5
    assert found(records, "recall", step="conclusion").n == 1
    assert all(record.by.get("step") != "analysis" for record in records)


def test_a_failed_judge_is_left_out_of_steps_and_told():
    rows = [verdict("j", "precision", "r", index, STEPS) for index in range(1, 8)]
    rows.append(verdict("j", "precision", "r", 8, None))
    records = measure(tables_of(CASES, both("r")), verdicts_of(rows), OURS)
    record = found(records, "precision")
    assert (record.value, record.n, record.note) == (
        pytest.approx(1 / 3),
        7,
        "left out: 1 not judged",
    )
    where = {"question": "precision", "mode": "cot", "judge": "j"}
    assert found(records, "verdicts_invalid", **where).k == 1
    assert found(records, "verdicts_judged", **where).k == 7


def test_rescued_verdicts_are_counted_by_how():
    rows = [
        verdict("j", "answer", "r", index, right(True), how=how)
        for index, how in enumerate(["strict", "fenced", "fenced", "strict+word"], 1)
    ]
    records = measure(tables_of(CASES, both("r")), verdicts_of(rows), OURS)
    record = found(records, "verdicts_rescued", question="answer", mode="cot", judge="j")
    assert (record.k, record.n, record.flags) == (3, 4, ("few",))
    assert record.note == "fenced: 2, strict+word: 1"


def test_time_under_load_is_no_time():
    rows = verdicts_of([verdict("j", "recall", "r", index, [True, True]) for index in range(1, 9)])
    answers = both("r", seconds=1.0)
    for edition in (OURS, THEIRS):
        records = measure(tables_of(CASES, answers), rows, edition)
        for name in ("efficiency", "latency"):
            record = found(records, name)
            assert record.value is None
            assert record.note == "not timed: time under load is queueing"


def test_efficiency_and_latency_of_timed_replies():
    rows = verdicts_of([verdict("j", "recall", "r", index, [True, False]) for index in range(1, 9)])
    answers = both("r")
    for index, text in enumerate(["fine", "an Error here", "fine", None], 1):
        answers.append(answer("r", index, "cot", text, timed=True, seconds=4.0))
        answers.append(answer("r", index, "direct", "fine", timed=True, seconds=1.0))
    ours = measure(tables_of(CASES, answers), rows, OURS)
    assert found(ours, "latency").value == pytest.approx(12 / 3)
    assert found(ours, "efficiency").value == pytest.approx(3 / 12)
    theirs = measure(tables_of(CASES, answers), rows, THEIRS)
    assert found(theirs, "latency").value == pytest.approx(8 / 4)
    assert found(theirs, "efficiency").value == pytest.approx(4 / 8)


def test_replies_timed_throughout_are_the_replies():
    answers = both("r", timed=True, seconds=2.0)
    rows = verdicts_of(judged("r", "cot", [1] * 8, timed=True))
    records = measure(tables_of(CASES, answers), rows, OURS)
    assert found(records, "accuracy", mode="cot").value == 1
    assert found(records, "latency").value == 1


def test_the_same_items_without_their_image():
    answers = both("r", ["one two three four"] * 8)
    answers += [answer("r", index, "cot", "one two, five", image="blank") for index in range(1, 5)]
    rows = judged("r", "cot", [1] * 8) + judged("r", "cot", [1, 0, 0, 0], image="blank")
    records = measure(tables_of(CASES, answers), verdicts_of(rows), OURS)
    blank = found(records, "accuracy", mode="cot", image="blank")
    assert (blank.value, blank.n) == (1 / 4, 4)
    effect = found(records, "image_effect", mode="cot", image="blank")
    assert (effect.value, effect.p) == (pytest.approx(3 / 4), difference_p(3, 0))
    survives = found(records, "survives", image="blank")
    assert (survives.value, survives.n) == (0.5, 4)
    assert survives.low < 0.5 < survives.high
    assert found(records, "survives_chance").value == 1


def test_words_that_survive():
    assert kept_share("The MRI, the scan", "an mri of the knee") == 2 / 4
    assert kept_share("a b", "") == 0
    assert kept_share("...", "a") is None


def test_whether_the_answer_stays_when_the_reasoning_is_cut():
    answers = both("r")
    answers += [answer("r", index, "cot", "x", follow="truncated") for index in range(1, 5)]
    full, cut = [1, 1, 0, 0], [1, 0, 0, 0]
    finals = ["A", "A", "B", "B"], ["a", "B", "b.", "C"]
    rows = [
        verdict("j", "answer", "r", index, right(bool(said), final), follow=follow)
        for follow, saids, words in (("", full, finals[0]), ("truncated", cut, finals[1]))
        for index, (said, final) in enumerate(zip(saids, words, strict=True), 1)
    ]
    records = measure(tables_of(CASES, answers), verdicts_of(rows), OURS)
    where = {"mode": "cot", "follow": "truncated"}
    assert found(records, "answer_kept", **where).value == 2 / 4
    assert found(records, "accuracy", **where).value == 1 / 4


@pytest.mark.parametrize(
    ("one", "two", "kind", "same"),
    [
        ("A", "A. Liver", "single", True),
        ("A, C", "C and A", "multiple", True),
        ("A", "B", "single", False),
        ("liver", "A. liver", "single", False),
        ("Left  lobe.", "left lobe", "short", True),
        ("a", "A", "short", True),
    ],
)
def test_final_answers_that_say_the_same(one, two, kind, same):
    assert same_answer(one, two, kind) is same


def test_labels_of_unfit_judges_stand_beside_their_numbers():
    rows = judged("r", "cot", [1] * 8) + judged("r", "cot", [1] * 8, judge="k")
    labels = {("j", "answer"): "judge unfit", ("k", "answer"): None, ("j", "recall"): "other"}
    records = measure(tables_of(CASES, both("r")), verdicts_of(rows), OURS, labels=labels)
    assert found(records, "accuracy", mode="cot").label == "judge unfit"
    assert found(records, "accuracy", mode="cot", judge="j").label == "judge unfit"
    assert found(records, "accuracy", mode="cot", judge="k").label is None


def test_without_judges_nothing_is_claimed():
    for verdicts in (None, verdicts_of([])):
        for record in measure(tables_of(CASES, both("r")), verdicts, OURS):
            assert record.value is None or record.measure in (
                "answered",
                "unparsed",
                "refused",
                "unanswered",
                "empty",
            )


def test_readers_are_compared_on_the_same_items():
    order = {"modality": 1, "feature": 2, "conclusion": 3, "others": 0}
    mixed = [order | {"modality": rank} for rank in (1, 3, 0, 3, 1, 0, 3, 4)]
    rows = judged("a", "cot", [1] * 7 + [0]) + judged("b", "cot", [0] * 8)
    for index in range(1, 9):
        rows.append(verdict("j", "order", "a", index, order))
        rows.append(verdict("j", "order", "b", index, mixed[index - 1]))
        for reader, hit in (("a", True), ("b", False)):
            rows.append(verdict("j", "recall", reader, index, [hit, True]))
            rows.append(verdict("j", "precision", reader, index, STEPS[: 1 + index % 3]))
    records = measure(tables_of(CASES, both("a") + both("b")), verdicts_of(rows), OURS)
    accuracy = found(records, "diff_accuracy", "a", mode="cot", versus="b")
    assert (accuracy.value, accuracy.p) == (pytest.approx(7 / 8), difference_p(7, 0))
    assert accuracy.family == "diff_accuracy cot"
    recall = found(records, "diff_recall", "a", versus="b")
    assert recall.value == pytest.approx(0.5)
    assert recall.p == pytest.approx(2 / 2**8, abs=0.005)
    same = found(records, "diff_precision", "a", versus="b")
    assert (same.value, same.p, same.q) == (pytest.approx(0), 1, 1)
    paths = found(records, "diff_consistency", "a", versus="b")
    assert paths.value == found(records, "consistency", "a").value - found(records, "consistency", "b").value  # fmt: skip
    assert paths.value > 0
    assert 0 < paths.p <= 1
