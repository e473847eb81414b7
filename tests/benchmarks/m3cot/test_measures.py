"""Laws that every measure keeps, and what each says of runs made by hand."""

from __future__ import annotations

import json
import math

import msgspec
import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from overread.benchmarks.m3cot.cases import STEPS
from overread.benchmarks.m3cot.edition import AUTHORS, CORRECTED
from overread.benchmarks.m3cot.measures import METRICS, measure
from overread.benchmarks.m3cot.verdicts import ORDERS, path_of
from support.m3_paths import pairs_in_task, score_task
from support.m3_tables import answer, case, found, tables_of, verdict, verdicts_of

QUICK = [msgspec.structs.replace(edition, boot=60) for edition in (AUTHORS, CORRECTED)]
OURS = QUICK[1]
EDITIONS = pytest.mark.parametrize("edition", QUICK, ids=["authors", "corrected"])
ALONGSIDE = {"path_likeness", "verdicts_invalid", "verdicts_unanswered", "verdicts_rescued"}
ALONGSIDE |= {f"diff_{name}" for name in ("accuracy", "precision", "recall", "f1", "consistency")}
CELLS = (("direct", "original", ""), ("cot", "original", ""), ("cot", "blank", ""))
CELLS += (("direct", "swap", ""), ("cot", "original", "truncated"))
laws = settings(max_examples=12, deadline=None, suppress_health_check=list(HealthCheck))


@st.composite
def runs(draw):
    """Two readers and two judges over a few items, with holes, silence and failed verdicts."""
    n = draw(st.integers(1, 6))
    kinds = st.sampled_from(["single", "multiple", "bool", "short"])
    some = st.lists(st.sampled_from(STEPS), min_size=1, max_size=4)
    cases = [
        case(
            draw(st.just(index)),
            draw(st.sampled_from(["Diagnosis", "Cause"])),
            draw(kinds),
            tuple(draw(some)),
            draw(st.sampled_from(["p", "q", None])),
        )
        for index in range(1, n + 1)
    ]
    texts = st.sampled_from(["a b c", "a b Error", "b", "", None, "REFUSED"])
    answers, verdicts = [], []
    for reader in ("one", "two"):
        for mode, image, follow in CELLS:
            for row in cases:
                if not draw(st.integers(0, 5)):
                    continue
                text = draw(texts)
                outcome = "refused" if text == "REFUSED" else "answered"
                where = {"mode": mode, "image": image, "follow": follow}
                told = {"outcome": "unanswered" if text is None else outcome}
                answers.append(answer(reader, row["index"], text=text, **where, **told))
                if image == "original" and not follow and draw(st.booleans()):
                    seconds = draw(st.floats(0.1, 9))
                    timed = {"timed": True, "seconds": seconds}
                    answers.append(
                        answer(reader, row["index"], text=text, **where, **told, **timed)
                    )
                verdicts.extend(_verdicts(draw, reader, row, where))
    return tables_of(cases, answers, ["one", "two"]), verdicts_of(verdicts)


def _verdicts(draw, reader, row, where):
    plain = where == {"mode": "cot", "image": "original", "follow": ""}
    for judge in ("j", "k"):
        for question in ("answer", "precision", "recall", "order"):
            if (question != "answer" and not plain) or not draw(st.integers(0, 4)):
                continue
            value = draw(_payload(question, len(row["steps"]))) if draw(st.integers(0, 4)) else None
            yield verdict(judge, question, reader, row["index"], value, **where)


def _payload(question, gold):
    if question == "answer":
        return st.fixed_dictionaries(
            {"match": st.booleans(), "final_answer": st.sampled_from(["A", "a.", "B"])}
        )
    if question == "precision":
        step = st.fixed_dictionaries(
            {
                "type": st.sampled_from([*STEPS, "restatement", "other"]),
                "judgment": st.sampled_from(["Match", "Wrong", "N/A"]),
                "text": st.just("x"),
            }
        )
        return st.lists(step, max_size=4)
    if question == "recall":
        return st.lists(st.booleans(), min_size=gold, max_size=gold)
    return st.fixed_dictionaries({name: st.integers(0, 3) for name in ORDERS})


def key(record):
    return record.reader, record.measure, tuple(sorted(record.by.items()))


def numbers(record):
    fields = ("value", "n", "k", "se", "sd_boot", "low", "high", "p", "q")
    return {field: getattr(record, field) for field in fields}


def assert_same(one, two):
    assert sorted(map(key, one)) == sorted(map(key, two))
    other = {key(record): record for record in two}
    for record in one:
        for field, value in numbers(record).items():
            want = getattr(other[key(record)], field)
            if value is None or want is None:
                assert value is want is None, (key(record), field)
            else:
                assert value == pytest.approx(want, rel=1e-6, abs=1e-6), (key(record), field)


@EDITIONS
@laws
@given(run=runs(), seed=st.integers(0, 99))
def test_the_order_of_the_rows_does_not_matter(edition, run, seed):
    tables, verdicts = run

    def shuffled(frame):
        return frame.sample(fraction=1, shuffle=True, seed=seed)

    other = msgspec.structs.replace(
        tables, answers=shuffled(tables.answers), cases=shuffled(tables.cases)
    )
    assert_same(measure(tables, verdicts, edition), measure(other, shuffled(verdicts), edition))


@EDITIONS
@laws
@given(run=runs())
def test_the_names_of_items_and_patients_do_not_matter(edition, run):
    tables, verdicts = run
    old = tables.cases["case"].to_list()
    new = {name: f"x{len(old) - place:03d}" for place, name in enumerate(old)}
    renamed = pl.col("case").replace(new)
    other = msgspec.structs.replace(
        tables,
        answers=tables.answers.with_columns(renamed),
        cases=tables.cases.with_columns(renamed, pl.col("patient").replace({"p": "z", "q": "a"})),
    )
    assert_same(
        measure(tables, verdicts, edition),
        measure(other, verdicts.with_columns(renamed), edition),
    )


@EDITIONS
@laws
@given(run=runs())
def test_every_record_is_sound(edition, run):
    records = measure(*run, edition)
    assert len({key(record) for record in records}) == len(records)
    for record in records:
        assert record.measure in METRICS or record.measure in ALONGSIDE
        for field, value in numbers(record).items():
            assert value is None or math.isfinite(value), (key(record), field)
        if record.value is None:
            assert record.note, key(record)
            assert record.low is record.high is record.p is None
            continue
        assert record.n is not None
        assert record.n > 0
        if record.measure not in ("efficiency", "latency", "seconds"):
            signed = record.measure.startswith(("diff_", "impact", "image_effect"))
            assert -signed <= record.value <= 1
        if record.low is not None:
            assert record.low <= record.value <= record.high
            assert record.low < record.high, key(record)
            assert record.method
        else:
            assert record.note, key(record)
        assert (record.p is None) is (record.family is None) is (record.q is None)
        if record.p is not None:
            assert 0 < record.p <= record.q + 1e-12 <= 1 + 1e-9


@EDITIONS
@laws
@given(run=runs())
def test_what_measures_say_of_each_other(edition, run):
    records = {key(record): record.value for record in measure(*run, edition)}
    for (reader, name, by), value in records.items():
        if value is None:
            continue
        if name == "f1":
            p, r = records[reader, "precision", by], records[reader, "recall", by]
            assert min(p, r) - 1e-4 <= value <= max(p, r) + 1e-4
        if name == ("consistency_mode" if edition.consistency == "pairs" else "consistency"):
            assert value <= records[reader, "consistency_medoid", by] + 1e-9
        if name == "precision" and (not by or by[0][0] != "step"):
            assert value <= records[reader, "precision_no_na", by] + 1e-9


@EDITIONS
@laws
@given(run=runs())
def test_verdicts_on_the_controls_of_a_judge_do_not_count(edition, run):
    tables, verdicts = run
    checks = verdicts.with_columns(check=pl.lit(True), judge=pl.lit("j"), reader=pl.lit("one"))
    assert_same(
        measure(tables, verdicts, edition), measure(tables, pl.concat([verdicts, checks]), edition)
    )


def mean(values):
    there = [value for value in values if value is not None]
    return sum(there) / len(there) if there else None


@laws
@given(run=runs())
def test_corrected_numbers_by_slow_loops(run):
    """Every item is asked; the unanswered are wrong and without steps; failed verdicts are wrong
    answers, and are left out of steps and paths."""
    tables, verdicts = run
    records = measure(tables, verdicts, OURS)
    cases = tables.cases.sort("index").to_dicts()
    said = {
        (row["reader"], row["case"], row["mode"], row["image"], row["follow"]): row
        for row in tables.answers.sort("timed", descending=True).to_dicts()
        if not row["timed"]
    }
    told = {}
    for row in verdicts.to_dicts():
        about = json.loads(row["about"])
        where = (about["mode"], about["image"], about["follow"])
        payload = json.loads(row["payload"]) if row["payload"] else None
        told[row["judge"], row["question"], row["reader"], row["case"], *where] = payload

    def judges(question, reader, cell):
        own = {k[0] for k in told if k[1:3] == (question, reader) and k[4:] == cell}
        mute = all(silent(reader, one["case"], cell) for one in cases)
        return sorted({k[0] for k in told if k[1] == question} if mute and not own else own)

    def silent(reader, case, cell):
        row = said.get((reader, case, *cell))
        return row is None or row["outcome"] == "unanswered" or not row["text"].strip()

    def heard(judge, question, reader, cell):
        mute = all(silent(reader, one["case"], cell) for one in cases)
        return mute or any(
            v is not None
            for k, v in told.items()
            if k[:3] == (judge, question, reader) and k[4:] == cell
        )

    def verdict_on(judge, question, reader, case, cell):
        """(whether anything is counted, the payload)."""
        if silent(reader, case, cell):
            return True, None
        at = (judge, question, reader, case, *cell)
        if at in told:
            return told[at] is not None, told[at]
        return said[reader, case, *cell]["outcome"] == "refused", None

    for reader in ("one", "two"):
        for mode in ("direct", "cot"):
            cell = (mode, "original", "")
            if not any(k[0] == reader and k[2:] == cell for k in said):
                continue
            accuracies = []
            for judge in judges("answer", reader, cell):
                right = 0
                for one in cases:
                    _, payload = verdict_on(judge, "answer", reader, one["case"], cell)
                    right += bool(payload and payload["match"])
                accuracies.append(right / len(cases))
            record = found(records, "accuracy", reader, mode=mode)
            assert record.value == (pytest.approx(mean(accuracies)) if accuracies else None)
        cot = ("cot", "original", "")
        if not any(k[0] == reader and k[2:] == cot for k in said):
            continue
        for name, question in (("precision", "precision"), ("recall", "recall")):
            averages = []
            for judge in judges(question, reader, cot):
                each = []
                for one in cases:
                    counted, payload = verdict_on(judge, question, reader, one["case"], cot)
                    each.append(_item(question, payload) if counted else None)
                averages.append(mean(each) if heard(judge, question, reader, cot) else None)
            want = mean(averages)
            got = found(records, name, reader).value
            assert got == (None if want is None else pytest.approx(want))
        overall = {"consistency_mode": [], "consistency": []}
        for judge in judges("order", reader, cot):
            by_task = {}
            for one in cases:
                counted, payload = verdict_on(judge, "order", reader, one["case"], cot)
                if counted:
                    by_task.setdefault(one["task"], []).append(path_of(payload or {}))
            by_name = {
                "consistency_mode": [
                    score_task(paths, "mode", apart=True).score for paths in by_task.values()
                ],
                "consistency": [
                    pairs_in_task(paths) for paths in by_task.values() if len(paths) > 1
                ],
            }
            for name, scores in by_name.items():
                overall[name].append(mean(scores) if heard(judge, "order", reader, cot) else None)
        for name, averages in overall.items():
            want = mean(averages)
            got = found(records, name, reader).value
            assert got == (None if want is None else pytest.approx(want))


def _item(question, payload):
    if not payload:
        return 0.0
    if question == "recall":
        return sum(payload) / len(payload)
    kept = [step for step in payload if step["type"] in STEPS]
    return sum(step["judgment"] == "Match" for step in kept) / len(kept) if kept else 0.0
