"""Values item by item: what readers are compared by."""

from __future__ import annotations

import json
from itertools import product

import msgspec
import polars as pl
import pytest

from overread.benchmarks.m3cot import M3CoT
from overread.benchmarks.m3cot.measures import COMPARED
from support.m3_odd_runs import odd_run
from support.m3_tables import answer, case, found, tables_of, verdict, verdicts_of

COLUMNS = ["reader", "case", "cluster", "value"]
TYPES = ("modality", "feature", "conclusion", "analysis")


def bench(edition="corrected"):
    return M3CoT.of_run("set@1", "open", edition, {"boot": "100"})


def slowly(tables):
    """The frames of `corrected` as a loop: by name, the values by reader and case."""
    cases = {row["case"]: row for row in tables.cases.to_dicts()}
    readers = [one.name for one in tables.readers]
    answers = [row for row in tables.answers.to_dicts() if row["case"] in cases]
    verdicts = [row for row in tables.verdicts.to_dicts() if not row["check"]]

    def asked(reader, mode):
        rows = [
            a for a in answers if (a["reader"], a["mode"], a["image"]) == (reader, mode, "original")
        ]
        timed = all(row["timed"] for row in rows)
        return timed, {row["case"]: row for row in rows if row["timed"] == timed}

    def given(reader, mode, question):
        timed, _ = asked(reader, mode)
        out = {}
        for v in verdicts:
            about = json.loads(v["about"])
            told = (v["reader"], v["question"], about["mode"], about["image"], about["timed"])
            if told == (reader, question, mode, "original", timed):
                value = None if v["payload"] is None else json.loads(v["payload"])
                out.setdefault(v["judge"], {})[v["case"]] = value
        return out

    def silent(row):
        return row is None or row["outcome"] == "unanswered" or not (row["text"] or "").strip()

    values = {}
    for name, mode, questions in (
        ("accuracy_cot", "cot", ["answer"]),
        ("accuracy_direct", "direct", ["answer"]),
        ("step_f1", "cot", ["precision", "recall"]),
    ):
        panels = [set(given(r, mode, q)) for r in readers for q in questions]
        judges = sorted(set.intersection(*panels))
        if not judges:
            continue
        values[name] = {}
        for reader in readers:
            rows = asked(reader, mode)[1]
            told = [given(reader, mode, question) for question in questions]
            for item, facts in cases.items():
                each = []
                for judge in judges:
                    said = [by_judge[judge].get(item, "nothing") for by_judge in told]
                    row = rows.get(item)
                    if name != "step_f1":
                        verdict_ = said[0]
                        right = isinstance(verdict_, dict) and verdict_["match"]
                        # A judge that cannot be read says nothing of who is better.
                        unasked = verdict_ == "nothing" and row and row["outcome"] == "refused"
                        if silent(row) or unasked or isinstance(verdict_, dict):
                            each.append(float(right and not silent(row)))
                        continue
                    parts = []
                    for question, one in zip(questions, said, strict=True):
                        if silent(row) or (one == "nothing" and row["outcome"] == "refused"):
                            parts.append(0.0)
                        elif one in (None, "nothing"):
                            parts.append(None)
                        elif question == "recall":
                            parts.append(sum(one) / len(facts["steps"]))
                        else:
                            kept = [s for s in one if s["type"] in TYPES]
                            hits = sum(s["judgment"] == "Match" for s in kept)
                            parts.append(hits / len(kept) if kept else 0.0)
                    if None not in parts:
                        p, r = parts
                        each.append(2 * p * r / (p + r) if p + r else 0.0)
                if each:
                    values[name][reader, item] = sum(each) / len(each)
    return values


@pytest.mark.parametrize("seed", range(8))
def test_every_value_is_what_a_loop_finds(seed):
    tables = odd_run(seed)
    frames = bench().per_case(tables)
    expected = slowly(tables)
    assert set(frames) == set(expected)
    for name, frame in frames.items():
        assert frame.columns == COLUMNS
        made = {(row[0], row[1]): row[3] for row in frame.iter_rows()}
        assert made == pytest.approx(expected[name], abs=1e-12)


@pytest.mark.parametrize("edition", ["corrected", "authors"])
def test_the_mean_over_items_is_the_measure_where_one_judge_judged_all(edition):
    answers = [answer(r, i, m) for r in "ab" for i in range(1, 7) for m in ("cot", "direct")]
    verdicts = [
        verdict("j", "answer", r, i, {"match": (i + len(m)) % (2 if r == "a" else 3) == 0}, mode=m)
        for r in "ab"
        for i in range(1, 7)
        for m in ("cot", "direct")
    ]
    tables = msgspec.structs.replace(
        tables_of([case(i) for i in range(1, 7)], answers), verdicts=verdicts_of(verdicts)
    )
    frames, records = bench(edition).per_case(tables), bench(edition).measure(tables)
    for mode in ("cot", "direct"):
        means = frames[f"accuracy_{mode}"].group_by("reader").agg(pl.col("value").mean())
        for reader, mean in means.iter_rows():
            assert found(records, "accuracy", reader, mode=mode).value == pytest.approx(mean)


def test_nobody_is_compared_across_judges():
    answers = [answer("a", 1), answer("b", 1)]
    hit = {"match": True}
    apart = [verdict("j", "answer", "a", 1, hit), verdict("k", "answer", "b", 1, hit)]
    tables = tables_of([case(1)], answers)
    assert bench().per_case(msgspec.structs.replace(tables, verdicts=verdicts_of(apart))) == {}
    both = [*apart, verdict("j", "answer", "b", 1, {"match": False})]
    frames = bench().per_case(msgspec.structs.replace(tables, verdicts=verdicts_of(both)))
    assert frames["accuracy_cot"]["value"].to_list() == [1.0, 0.0]


def test_items_of_one_patient_are_one_cluster():
    cases = [case(1, patient="p"), case(2, patient="p"), case(3), case(4, patient="m3")]
    answers = [answer("r", i) for i in range(1, 5)]
    verdicts = [verdict("j", "answer", "r", i, {"match": True}) for i in range(1, 5)]
    tables = msgspec.structs.replace(tables_of(cases, answers), verdicts=verdicts_of(verdicts))
    frame = bench().per_case(tables)["accuracy_cot"]
    assert frame["cluster"].to_list() == ["patient:p", "patient:p", "item:m3", "patient:m3"]


def test_without_judges_or_answers_there_is_nothing_to_compare():
    assert bench().per_case(odd_run(0, judged=False)) == {}
    assert bench().per_case(tables_of([case(1)], [], ["r"])) == {}
    empty = msgspec.structs.replace(odd_run(0), verdicts=verdicts_of([]))
    assert bench().per_case(empty) == {}


def test_it_says_which_way_is_better():
    assert bench().compared
    assert bench().higher_is_better == {one.name: True for one in COMPARED}
    frames = [bench().per_case(odd_run(seed)) for seed in range(8)]
    assert set().union(*frames) == {one.name for one in COMPARED}


def test_identical_readers_differ_by_nothing_however_many_verdicts_cannot_be_read():
    steps = [
        [{"type": "feature", "judgment": "Match" if i % 3 else "Wrong", "text": "x"}] * 2
        for i in range(40)
    ]
    orders = [{"modality": 1, "feature": 2 + i % 2, "conclusion": 3 - i % 2} for i in range(40)]

    def judged(reader, judge, index, *, read):
        said = {
            "answer": {"match": index % 4 > 0, "final_answer": "A"},
            "precision": steps[index],
            "recall": [True, index % 5 > 1],
            "order": orders[index],
        }
        for question, payload in said.items():
            yield verdict(judge, question, reader, index, payload if read else None)
        direct = {"match": index % 3 > 0, "final_answer": "A"}
        yield verdict(judge, "answer", reader, index, direct, mode="direct")

    items = range(40)
    answers = [answer(r, i, m) for r in "ab" for i in items for m in ("cot", "direct")]
    verdicts = [
        row
        for reader, judge, index in product("ab", "jk", items)
        for row in judged(reader, judge, index, read=reader == "a" or index >= 20 or judge == "k")
    ]
    # Judge k is the stricter one: alone on some items of one reader it would drag that one down.
    strict = {"match": False, "final_answer": "A"}
    verdicts = [
        row | {"payload": msgspec.json.encode(strict).decode()}
        if (row["judge"], row["question"]) == ("k", "answer")
        else row
        for row in verdicts
    ]
    tables = msgspec.structs.replace(
        tables_of([case(i) for i in items], answers), verdicts=verdicts_of(verdicts)
    )
    records = bench().measure(tables)
    for name in ("precision", "recall", "f1", "consistency"):
        record = found(records, f"diff_{name}", "a", versus="b")
        assert (record.value, record.p) == (0.0, 1.0), name
        # Of consistency every draw gives 0: there is no interval.
        assert name == "consistency" or record.low <= 0 <= record.high, name
    right = found(records, "diff_accuracy", "a", mode="cot", versus="b")
    assert (right.value, right.p, right.n) == (0.0, 1.0, 40)
    # Both lose as much by reasoning, on the items that both modes were judged on.
    assert found(records, "impact", "b").n == 40


def test_differences_of_steps_are_over_the_items_of_both_and_interval_and_test_agree():
    for seed in range(8):
        tables = odd_run(seed)
        for record in bench().measure(tables):
            if (
                record.measure.startswith(("diff_", "impact", "image_effect"))
                and record.low is not None
            ):
                assert (record.low <= 0 <= record.high) == (record.p > 0.05), record


def test_f1_is_worked_out_anew_in_every_exchange_of_replies():
    """Against all 2¹⁰ exchanges listed. Readers that differ in one item alone are never told apart,
    though by their own averages every matched item would add more to the F1 of one of them."""
    items, alike = range(1, 11), (1, 1, 1, 1, 1, 1, 1, 1, 0)
    marks = {"a": (*alike, 0), "b": (*alike, 2)}
    verdicts = [
        verdict("j", question, reader, item, value)
        for reader, hits in marks.items()
        for item, hit in zip(items, hits, strict=True)
        for question, value in (
            ("recall", [hit > 0, hit > 1]),
            ("precision", [{"type": "feature", "judgment": "Match" if hit else "Mismatch"}]),
        )
    ]
    tables = tables_of([case(i) for i in items], [answer(r, i) for r in marks for i in items])
    tables = msgspec.structs.replace(tables, verdicts=verdicts_of(verdicts))
    record = found(bench().measure(tables), "diff_f1", "a", versus="b")

    def f1(hits):
        p, r = sum(hit > 0 for hit in hits) / 10, sum(hits) / 20
        return 2 * p * r / (p + r) if p + r else 0.0

    gaps = []
    for swapped in product((False, True), repeat=10):
        pairs = zip(*marks.values(), swapped, strict=True)
        sides = zip(*((b, a) if swap else (a, b) for a, b, swap in pairs), strict=True)
        first, second = map(f1, sides)
        gaps.append(abs(first - second))
    listed = sum(gap >= abs(record.value) - 1e-9 for gap in gaps) / len(gaps)
    assert (record.p, listed) == (1, 1)
    assert record.low <= 0 <= record.high
