"""The authors' own numbers from the authors' own inputs."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import msgspec
import pytest

from overread.benchmarks.files.sheets import sheet_of
from overread.benchmarks.m3cot.authors import cells_of, failed_text, read_precision, read_recall
from overread.benchmarks.m3cot.cases import STEPS
from overread.benchmarks.m3cot.edition import AUTHORS
from overread.benchmarks.m3cot.measures import measure
from overread.benchmarks.m3cot.steps import f1_of, precision_of
from overread.benchmarks.m3cot.verdicts import ORDERS, STEP_NAMES, lcs_length, path_of, similarity
from support.m3_paths import medoid_path, score_task
from support.m3_tables import answer, case, found, read, tables_of, verdict, verdicts_of

GOLDEN = Path(__file__).parents[2] / "golden" / "m3cot"
QUICK = msgspec.structs.replace(AUTHORS, boot=50)
EXACT = {"rel": 1e-12, "abs": 1e-12}


def load(name):
    return json.loads((GOLDEN / name).read_text("utf-8"))


ACCURACY = load("m3cot_accuracy.json")
PR = load("m3cot_precision_recall.json")
PAIRS = load("m3cot_lcs_pairs.json")
ORDER = load("m3cot_step_order.json")
TIMING = load("m3cot_timing.json")
PATHS = load("m3cot_consistency/expected.json")
# Their names of the four categories, as their paths print them.
NAMES = {key.removesuffix("_order"): name for key, name in PAIRS["label_map"].items()}


def theirs(path):
    return [NAMES[step] for step in path]


def ids(entry):
    return entry["name"]


def test_accuracy():
    items = ACCURACY["items"]
    cases = [case(item["index"], kind=item["question_type"]) for item in items]
    answers = [answer("r", item["index"], "direct", item["prediction"]) for item in items]
    rows = verdicts_of(
        [
            read("j", "answer", "r", item["index"], item["judge_output"], QUICK, mode="direct")
            for item in items
            if item["asked"]
        ]
    )
    summary, all_items = ACCURACY["summary"], ACCURACY["intention_to_treat"]
    record = found(measure(tables_of(cases, answers), rows, QUICK), "accuracy", mode="direct")
    assert (record.k, record.n) == (summary["correct"], summary["total"])
    assert record.value == pytest.approx(summary["accuracy"], **EXACT)
    over_all = msgspec.structs.replace(QUICK, denominator="all")
    record = found(measure(tables_of(cases, answers), rows, over_all), "accuracy", mode="direct")
    assert record.n == all_items["denominator"]
    assert record.value == pytest.approx(all_items["accuracy_if_uncounted_are_wrong"], **EXACT)


@pytest.mark.parametrize("item", [i for i in PR["precision_items"] if i["counted"]], ids=ids)
def test_precision_of_one_item(item):
    steps = read_precision(item["judge_output"]).value
    assert precision_of(steps, published=True) == pytest.approx(item["precision"], **EXACT)
    for name, score in item["type_scores"].items():
        one = precision_of(steps, STEP_NAMES[name], published=True)
        assert one == pytest.approx(score, **EXACT), name


@pytest.mark.parametrize("item", PR["version_dependent"], ids=ids)
def test_the_pinned_json_repair_decides(item):
    from importlib.metadata import version

    expected = item["precision_by_json_repair_version"][version("json-repair")]
    steps = read_precision(item["judge_output"]).value
    assert precision_of(steps, published=True) == pytest.approx(expected, **EXACT)


@pytest.mark.parametrize("item", [i for i in PR["recall_items"] if i["counted"]], ids=ids)
def test_recall_of_one_item(item):
    gold = sum(bool((step or "").strip()) for step in item["key_annotation_steps"].values())
    matched = read_recall(item["judge_output"], gold).value
    assert sum(matched) == item["matched"]
    assert sum(matched) / gold == pytest.approx(item["recall"], **EXACT)


def test_averages_of_precision_and_recall():
    gold = {item["index"]: _types(item["key_annotation_steps"]) for item in PR["recall_items"]}
    indices = sorted({item["index"] for item in PR["precision_items"]} | set(gold))
    cases = [case(index, steps=gold.get(index, STEPS)) for index in indices]
    answers = [answer("r", index) for index in indices]
    rows = [
        read("j", question, "r", item["index"], item["judge_output"], QUICK, gold=n)
        for question in ("precision", "recall")
        for item in PR[f"{question}_items"]
        for n in [len(gold.get(item["index"], STEPS))]
    ]
    records = measure(tables_of(cases, answers), verdicts_of(rows), QUICK)
    expected = PR["aggregate"]
    for name in ("precision", "recall", "f1"):
        assert found(records, name).value == expected["quality"][name]
    assert found(records, "precision").value == expected["precision"]["average_precision"]
    for name, type_metrics in expected["type_metrics"].items():
        record = found(records, "precision", step=STEP_NAMES[name])
        assert record.value == type_metrics["average_precision"], name
    matched = sum(sum(json.loads(row["payload"])) for row in rows if _counted(row, "recall"))
    assert matched == expected["recall"]["total_matched_steps"]


def _types(steps):
    held = zip(STEPS, steps.values(), strict=True)
    return tuple(kind for kind, text in held if (text or "").strip())


def _counted(row, question):
    return row["question"] == question and row["outcome"] == "judged"


@pytest.mark.parametrize("entry", PR["f1"], ids=str)
def test_f1(entry):
    assert f1_of(entry["p"], entry["r"], 4) == entry["f1"]


@pytest.mark.parametrize("pair", PAIRS["similarity"], ids=ids)
def test_similarity(pair):
    one, two = tuple(pair["p1"]), tuple(pair["p2"])
    assert lcs_length(one, two) == pair["lcs_length"]
    assert similarity(one, two) == pytest.approx(pair["similarity"], **EXACT)


@pytest.mark.parametrize("entry", PAIRS["order_fields_to_path"], ids=ids)
def test_orders_to_path(entry):
    orders = {key.removesuffix("_order"): value for key, value in entry["fields"].items()}
    assert theirs(path_of(orders)) == entry["path"]


def _csv_paths(model):
    """index -> path, as their analyser reads the file."""
    with (GOLDEN / "m3cot_consistency" / f"{model}.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    cells = cells_of([{name: row[f"{name}_order"] for name in ORDERS} for row in rows])
    return {int(row["index"]): path_of(cell) for row, cell in zip(rows, cells, strict=True)}


def _tasks():
    sheet = sheet_of(GOLDEN / "m3cot_consistency" / "type.xlsx", ("index", "analysis_type"))
    return {int(float(row["index"])): row["analysis_type"] for _, row in sheet}


@pytest.mark.parametrize("model", PATHS["expected"])
def test_consistency_of_made_up_models(model):
    expected, formula = PATHS["expected"][model], PATHS["paper_formula"][model]
    tasks, paths = _tasks(), _csv_paths(model)
    by_task = {}
    for index, path in sorted(paths.items()):
        if index in tasks:
            by_task.setdefault(tasks[index], []).append(path)
    assert set(by_task) == set(expected["per_task"])
    scores, medoids = [], []
    for task, want in expected["per_task"].items():
        made = score_task(by_task[task], "mode")
        assert (made.n, theirs(made.reference)) == (want["n"], want["reference_path"])
        assert made.share == pytest.approx(want["mode_ratio"], **EXACT)
        assert made.score == pytest.approx(want["score"], **EXACT)
        scores.append(made.score)
        medoid = score_task(by_task[task], "medoid")
        assert medoid.reference == medoid_path(by_task[task])
        assert medoid.score == pytest.approx(
            formula["medoid_over_observed"]["per_task"][task], **EXACT
        )
        medoids.append(medoid.score)
    assert len(scores) == expected["n_tasks"]
    assert sum(scores) / len(scores) == pytest.approx(expected["overall"], **EXACT)
    assert sum(medoids) / len(medoids) == pytest.approx(
        formula["medoid_over_observed"]["overall"], **EXACT
    )


def test_the_measure_says_the_same_of_the_made_up_models():
    tasks = _tasks()
    for model, expected in PATHS["expected"].items():
        paths = _csv_paths(model)
        if set(paths) != set(tasks):
            continue  # a file with rows taken out by hand: a run has them all
        with (GOLDEN / "m3cot_consistency" / f"{model}.csv").open(newline="") as file:
            rows = [
                _order_row(model, int(row["index"]), row)
                for row in csv.DictReader(file)
                if row["modality_order"] != ""
            ]
        cases = [case(index, task) for index, task in tasks.items()]
        answers = [answer(model, index) for index in tasks]
        # Where every row failed, the judge was asked all the same.
        rows = rows or [_order_row(model, min(tasks), None)]
        records = measure(tables_of(cases, answers), verdicts_of(rows), QUICK)
        assert found(records, "consistency").value == pytest.approx(expected["overall"], **EXACT)
        for task, want in expected["per_task"].items():
            record = found(records, "consistency", task=task)
            assert record.n == want["n"]
            assert record.value == pytest.approx(want["score"], **EXACT)
        medoid = PATHS["paper_formula"][model]["medoid_over_observed"]["overall"]
        assert found(records, "consistency_medoid").value == pytest.approx(medoid, **EXACT)


def _order_row(model, index, row):
    whole = {f"{n}_order": int(row[f"{n}_order"]) for n in ORDERS} if row else {}
    text = json.dumps(whole | {f"{name}_subs": [] for name in ORDERS})
    return read("j", "order", model, index, text, QUICK)


@pytest.mark.parametrize("name", [key for key in ORDER if key.startswith("end_to_end")])
def test_step_order_end_to_end(name):
    run = ORDER[name]
    replies = {reply["name"]: reply["raw"] for reply in ORDER["replies"]}
    cases = [case(int(index), task) for index, task in run["tasks"].items()]
    answers = [answer("r", int(p["index"]), text=p["prediction"]) for p in run["predictions"]]
    rows = [
        read("j", "order", "r", index, replies[run["reply_name_by_index"][str(index)]], QUICK)
        for index in run["indices_sent_to_judge"]
    ]
    told = {int(row["case"][1:]): row for row in rows}
    for row in run["csv_rows"]:
        kept = told.get(int(row["index"]))
        judged = kept is not None and kept["outcome"] == "judged"
        assert judged is (row["parse_status"] == "true")
        payload = json.loads(kept["payload"]) if judged else {}
        for key in ORDERS:
            said = payload.get(key)
            assert ("" if said is None else str(said)) == row[f"{key}_order"]
    records = measure(tables_of(cases, answers), verdicts_of(rows), QUICK)
    expected = run["expected"]
    assert found(records, "consistency").value == pytest.approx(expected["overall"], **EXACT)
    for task, want in expected["per_task"].items():
        record = found(records, "consistency", task=task)
        assert record.n == want["n"]
        assert record.value == pytest.approx(want["score"], **EXACT), task


def test_timing():
    """Attempts fail by an error or by a word; the first that succeeds is timed, as it is stored."""
    seconds = []
    for item, want in zip(TIMING["scenario"], TIMING["results"], strict=True):
        good = [one for one in item["attempts"] if not _failed(one["outcome"])]
        assert bool(good) is (want["status"] == "success")
        assert round(good[0]["seconds"] if good else 0.0, 4) == want["duration_s"]
        seconds += [good[0]["seconds"]] if good else []
    assert sum(seconds) == pytest.approx(TIMING["stats"]["total_successful_time_s"])
    assert len(seconds) == TIMING["stats"]["successful_item_count"]


def _failed(outcome):
    return failed_text(outcome) or (outcome is not None and outcome.startswith("raises "))


def test_efficiency_and_latency_are_ratios_of_totals():
    told = TIMING["derived"]["example"]
    answers = [
        answer("r", 1, mode, "said", timed=True, seconds=told[f"T_{mode}"])
        for mode in ("direct", "cot")
    ]
    matched = verdict("j", "recall", "r", 1, [True] * told["matched"], timed=True)
    records = measure(tables_of([case(1)], answers), verdicts_of([matched]), QUICK)
    assert found(records, "latency").value == pytest.approx(told["L"], **EXACT)
    assert found(records, "efficiency").value == pytest.approx(told["E"], **EXACT)
