"""Results of the authors' scripts become tables; every oddity is told in one line."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from overread.benchmarks.m3cot.cases import TASKS
from overread.benchmarks.m3cot.edition import AUTHORS, CORRECTED
from overread.benchmarks.m3cot.importing import import_results
from overread.benchmarks.m3cot.measures import measure
from overread.case import BadInput
from overread.judging import VERDICT_COLUMNS
from support.m3_trees import LABELS, Item, write_m3cot, write_sheet

GOLDEN = Path(__file__).parents[2] / "golden" / "m3cot"
QUICK = msgspec.structs.replace(AUTHORS, boot=100)
OURS = msgspec.structs.replace(CORRECTED, boot=100)
ITEMS = [Item(n, label=label) for n, label in enumerate(LABELS[:6], start=1)]
GOOD = '{"match": true, "final_answer": "x"}'


def read_results(*args, **more):
    """The tables of an import, and what it says."""
    return import_results(*args, **more)[1:3]


def golden(name):
    return json.loads((GOLDEN / name).read_text("utf-8"))


def write(path, holds):
    path.parent.mkdir(parents=True, exist_ok=True)
    text = holds if isinstance(holds, str) else json.dumps(holds)
    path.write_text(text, encoding="utf-8")
    return path


def predictions(n=6, text="Step 1. ... A", **more):
    return [{"index": str(i), "prediction": f"{text} {i}", **more} for i in range(1, n + 1)]


@pytest.fixture
def cases(tmp_path):
    return write_m3cot(tmp_path / "set", ITEMS, "")


def refusal(*args, **more):
    with pytest.raises(BadInput) as caught:
        read_results(*args, **more)
    assert "\n" not in str(caught.value)
    return str(caught.value)


def value(tables, rules, name, reader=None, **by):
    return the(tables, rules, name, reader, **by).value


def the(tables, rules, name, reader=None, **by):
    for record in measure(tables, tables.verdicts, rules):
        if (record.measure, record.by) == (name, by) and reader in (None, record.reader):
            return record
    raise AssertionError(name)


# ---------------------------------------------------------------- predictions


def test_predictions_of_both_modes_become_answers(tmp_path, cases):
    out = tmp_path / "final_output"
    write(out / "M-7B" / "M-7B_cot.json", predictions(status="success", duration_s=2.5, attempts=1))
    write(out / "M-7B" / "M-7B_direct.json", predictions(status="success", duration_s=0.5))
    tables, warnings = read_results(cases, out)
    assert warnings == []
    assert [reader.name for reader in tables.readers] == ["M-7B"]
    assert tables.cases.height == len(ITEMS)
    rows = tables.answers.to_dicts()
    assert [row["mode"] for row in rows] == ["direct"] * 6 + ["cot"] * 6
    assert {row["seconds"] for row in rows if row["mode"] == "cot"} == {2.5}
    assert all(row["timed"] and row["outcome"] == "answered" for row in rows)
    assert tables.verdicts is None
    assert value(tables, CORRECTED, "latency") == pytest.approx(5.0)


@pytest.mark.parametrize(
    ("place", "model"),
    [
        ("HealthGPT/llava/demo/eval_outputs/predictions_cot.json", "HealthGPT"),
        ("LLaVA-CoT/LLaVA-CoT_cot.json", "LLaVA-CoT"),
        ("Qwen_8B_cot_20260101_101500.json", "Qwen_8B"),
        ("X_cot_shard3_20260101_101500.json", "X"),
    ],
)
def test_the_model_is_what_the_name_or_the_folder_says(tmp_path, cases, place, model):
    write(tmp_path / "res" / place, predictions())
    tables, _ = read_results(cases, tmp_path / "res")
    assert set(tables.answers["reader"]) == {model}
    assert not tables.answers["timed"].any()  # a stand-alone script keeps no times


def test_a_whole_set_of_a_stand_alone_script(tmp_path):
    """The shape of the one model whose outputs are published: 1,079 items, an index missing."""
    n = 1079
    listed = [entry for entry in predictions(n) if entry["index"] != "168"]
    write(tmp_path / "HealthGPT" / "predictions_direct.json", listed)
    write(tmp_path / "HealthGPT" / "predictions_cot.json", predictions(n))
    tables, warnings = read_results(None, tmp_path / "HealthGPT")
    assert warnings == []
    assert tables.cases.height == n
    assert tables.answers.height == 2 * n - 1


def test_what_the_runner_wrote_is_read_as_it_meant_it(tmp_path):
    timing = golden("m3cot_timing.json")
    write(tmp_path / "m_cot.json", timing["results"])
    write(tmp_path / "m_summary.json", {"cot": timing["stats"]})
    tables, warnings = read_results(None, tmp_path, edition="authors")
    rows = {int(row["case"]): row for row in tables.answers.to_dicts()}
    for entry in timing["results"]:
        row = rows[int(entry["index"])]
        failed = entry["status"] == "failed"
        assert row["outcome"] == ("unanswered" if failed else "answered")
        # Durations are kept with four decimals, and under the authors' rules add up to the total.
        own = None if failed else pytest.approx(entry["duration_s"], abs=5e-5)
        assert row["seconds"] == own
        assert row["text"] == (None if failed else entry["prediction"] or "")
    said = " ".join(warnings)
    assert "failed and have no reply" in said
    assert "thrown away for the word Error or Failed" in said
    assert "have an empty reply" in said
    assert "add up" not in said  # to the total, but for the rounding
    assert tables.answers["seconds"].sum() == pytest.approx(
        timing["stats"]["total_successful_time_s"], rel=1e-12
    )


def test_latency_is_that_of_the_totals_for_the_authors(tmp_path):
    timing = golden("m3cot_timing.json")
    half = [{**entry, "duration_s": 0.1} for entry in timing["results"]]
    write(tmp_path / "m_cot.json", timing["results"])
    write(tmp_path / "m_direct.json", half)
    total = timing["stats"]["total_successful_time_s"]
    summary = {"cot": timing["stats"], "direct": timing["stats"] | {"total_successful_time_s": 99}}
    write(tmp_path / "m_summary.json", summary)
    tables, warnings = read_results(None, tmp_path, edition="authors")
    assert value(tables, QUICK, "latency") == pytest.approx(total / 99, rel=1e-12)
    (line,) = [line for line in warnings if "add up" in line]
    assert "direct: the total is 99.0000 s" in line
    assert "the total counts" in line
    tables, warnings = read_results(None, tmp_path)
    assert any("the latter count" in line for line in warnings)
    # In ours items count that have a reply in both modes: six times 0.1 s, less two blank ones.
    assert value(tables, OURS, "latency") == pytest.approx((1.25 + 2 + 0.3 + 0.1235) / 0.4)


WHOLE_LOOPS = {
    "HealthGPT": lambda modes: {
        "model_name": "Phi-3-mini-4k-instruct",
        "modes": modes,
        "summary": {"modes_count": 2, "time_ratio": {"description": "cot/direct", "ratio": 4.0}},
        "last_updated": "2026-01-01 00:00:00",
    },
    "HuatuoGPT-Vision": lambda modes: {
        "model_name": "HuatuoGPT-Vision-7B",
        "modes": modes,
        "summary": {"total_time_seconds": 1.0, "time_ratio": {"ratio": 0}},
        "last_updated": "",
    },
    "LLaVA-Med": lambda modes: {"model_name": "llava-med-v1.5-mistral-7b", "modes": modes},
}


@pytest.mark.parametrize("model", WHOLE_LOOPS)
def test_whole_loops_of_the_stand_alone_scripts_are_timed(tmp_path, model):
    home = tmp_path / "out"
    if model == "HealthGPT":  # beside its predictions, which do not name it
        home = tmp_path / "HealthGPT" / "llava" / "demo" / "eval_outputs"
        names = ["predictions_cot.json", "predictions_direct.json"]
    else:
        names = [f"{model}/{model}_cot.json", f"{model}/{model}_direct.json"]
    for name in names:
        write(home / name, predictions(4))
    told = {"dataset_total_time_minutes": 1.0, "updated_at": "2026-01-01 00:00:00"}
    modes = {
        "cot": told | {"dataset_total_time_seconds": 9170.7},
        "direct": told | {"dataset_total_time_seconds": 644.17},
    }
    write(home / "timing_results" / f"{model}.json", WHOLE_LOOPS[model](modes))
    tables, warnings = read_results(None, tmp_path, edition="authors")
    assert value(tables, QUICK, "latency", model) == pytest.approx(9170.7 / 644.17, rel=1e-12)
    assert sum("equal share of the total" in line for line in warnings) == 2
    assert value(read_results(None, tmp_path)[0], OURS, "latency", model) is None


def test_times_that_are_none_are_refused(tmp_path):
    write(tmp_path / "m_cot.json", predictions(2))
    file = tmp_path / "timing_results" / "m.json"
    write(file, {"modes": {"cot": {"dataset_total_time_seconds": "long"}}})
    assert "dataset_total_time_seconds is long" in refusal(None, tmp_path)
    write(file, {"modes": {"cot": {}}})
    assert "has no dataset_total_time_seconds" in refusal(None, tmp_path)
    write(file, {"modes": {"cot": {"dataset_total_time_seconds": 1}}})
    write(tmp_path / "m_summary.json", {})
    assert "Keep one" in refusal(None, tmp_path)


def test_a_total_that_is_not_the_sum_is_told(tmp_path):
    timing = golden("m3cot_timing.json")
    stats = timing["stats"] | {"total_successful_time_s": 99.0}
    write(tmp_path / "m_cot.json", timing["results"])
    write(tmp_path / "m_summary.json", {"cot": stats, "direct": stats})
    said = " ".join(read_results(None, tmp_path)[1])
    assert "m_summary.json, cot: the total is 99.0000 s" in said
    assert "direct: there are no predictions" in said


def test_totals_alone_serve_the_authors_edition_only(tmp_path):
    write(tmp_path / "m_cot.json", predictions(4))
    write(tmp_path / "m_direct.json", predictions(4))
    stats = {"successful_item_count": 4, "total_successful_time_s": 12.0}
    half = stats | {"total_successful_time_s": 6.0}
    write(tmp_path / "m_summary.json", {"cot": stats, "direct": half})
    tables, warnings = read_results(None, tmp_path, edition="authors")
    assert value(tables, QUICK, "latency") == pytest.approx(2.0)
    assert sum("equal share of the total" in line for line in warnings) == 2
    tables, warnings = read_results(None, tmp_path)
    assert tables.answers["seconds"].null_count() == 8
    assert sum("left out" in line for line in warnings) == 2


# ---------------------------------------------------------------- judges


def test_replies_of_judges_in_every_layout(tmp_path, cases):
    out = tmp_path / "res"
    write(out / "m_cot.json", predictions())
    write(out / "m_direct.json", predictions())
    write(out / "judges" / "gpt" / "answer" / "m_cot" / "1.txt", GOOD)
    write(out / "judges" / "gpt" / "answer" / "m_direct" / "2.txt", "no JSON")
    write(out / "cache" / "recall" / "m" / "3.json", {"valid_outputs": "[]", "index": 3})
    lines = [
        {"judge": "g", "question": "precision", "model": "m", "index": "4", "reply": "[]"},
        {
            "judge": "g",
            "question": "answer",
            "model": "m",
            "mode": "cot",
            "index": 5,
            "reply": None,
        },
    ]
    write(out / "replies.jsonl", "\n".join(map(json.dumps, lines)) + "\n")
    results = [{"index": 6, "match": "false", "final_answer": "x", "prediction": "other"}]
    write(out / "m_cot_accuracy.json", {"summary": {"judge_model": "lama"}, "results": results})
    tables, warnings = read_results(cases, out)
    assert tuple(tables.verdicts.columns) == VERDICT_COLUMNS
    found = {
        (
            row["judge"],
            row["role"],
            row["question"],
            json.loads(row["about"])["mode"],
            row["case"],
        ): row["outcome"]
        for row in tables.verdicts.to_dicts()
    }
    assert found == {
        ("gpt", "answer", "answer", "cot", "1"): "judged",
        ("gpt", "answer", "answer", "direct", "2"): "invalid",
        ("unnamed-judge", "steps", "recall", "cot", "3"): "judged",
        ("g", "steps", "precision", "cot", "4"): "judged",
        ("g", "answer", "answer", "cot", "5"): "invalid",
        ("lama", "answer", "answer", "cot", "6"): "judged",
    }
    assert any("no judge's name" in line for line in warnings)
    assert any("judged by other words" in line for line in warnings)


def test_the_word_false_is_true_for_the_authors_alone(tmp_path, cases):
    results = [{"index": 1, "match": "false", "final_answer": "x"}]
    write(tmp_path / "r" / "m_cot.json", predictions())
    write(tmp_path / "r" / "m_cot_gpt.json", {"summary": {}, "results": results})
    payloads = [
        json.loads(read_results(cases, tmp_path / "r", edition=name)[0].verdicts["payload"][0])
        for name in ("authors", "corrected")
    ]
    assert [payload["match"] for payload in payloads] == [True, False]


def test_accuracies_are_those_of_the_authors_script(tmp_path):
    told = golden("m3cot_accuracy.json")
    items = told["items"]
    write(
        tmp_path / "r" / "m_direct.json",
        [{"index": item["index"], "prediction": item["prediction"]} for item in items],
    )
    lines = [
        {
            "judge": "gpt-4o",
            "question": "accuracy",
            "model": "m",
            "mode": "direct",
            "index": item["index"],
            "reply": item["judge_output"],
        }
        for item in items
        if item["asked"]
    ]
    write(tmp_path / "r" / "judges.jsonl", "\n".join(map(json.dumps, lines)))
    tables, _ = read_results(None, tmp_path / "r", edition="authors")
    expected = told["summary"]["accuracy"]
    assert value(tables, QUICK, "accuracy", mode="direct") == pytest.approx(expected)


@pytest.mark.parametrize("name", sorted(golden("m3cot_consistency/expected.json")["expected"]))
def test_consistency_from_the_authors_tables(tmp_path, name):
    expected = golden("m3cot_consistency/expected.json")["expected"][name]
    for file in (f"{name}.csv", "type.xlsx"):
        shutil.copy(GOLDEN / "m3cot_consistency" / file, tmp_path)
    tables, warnings = read_results(None, tmp_path, edition="authors")
    assert value(tables, QUICK, "consistency") == pytest.approx(expected["overall"])
    for label, task in expected["per_task"].items():
        by = {"task": TASKS.get(label, label)}
        assert value(tables, QUICK, "consistency", **by) == pytest.approx(task["score"])
    assert any("no words" in line for line in warnings)


def test_orders_with_their_predictions_need_no_other_file(tmp_path):
    header = (
        "model_name,index,prediction,modality_order,feature_order,conclusion_order,others_order,"
        "modality_subs,feature_subs,conclusion_subs,others_subs,parse_status\n"
    )
    rows = 'm_cot,1,"A, text",1,2,3,0,[],[],[],[],true\nm_cot,2,b,,,,,,,,,false\n'
    write(tmp_path / "judges" / "gemini" / "m_cot.csv", header + rows)
    tables, warnings = read_results(None, tmp_path)
    assert list(tables.answers["text"]) == ["A, text", "b"]
    assert list(tables.verdicts["judge"]) == ["gemini", "gemini"]
    assert list(tables.verdicts["outcome"]) == ["judged", "invalid"]
    assert json.loads(tables.verdicts["payload"][0]) == {
        "modality": 1,
        "feature": 2,
        "conclusion": 3,
        "others": 0,
    }
    assert warnings == ["m cot: 2 replies are taken from the verdicts on them."]


# ---------------------------------------------------------------- which items count

ORDER_COLUMNS = ("modality", "feature", "conclusion", "others")
HEADER = ",".join(("index", *(f"{name}_order" for name in ORDER_COLUMNS)))
# As the one model whose predictions are published: seven items are missing between others, and
# all beyond 1048.
REAL = sorted({*range(1, 1049)} - {168, 382, 383, 384, 385, 403, 974})
PATHS = ((1, 2, 3, 4), (1, 2, 3, 0), (0, 1, 2, 0), (0, 0, 0, 1), ("", "", "", ""))


def orders_of(index):
    return PATHS[(index * index + index // 9) % 5]


def tasks_of(root, n=1079):
    rows = [(index, LABELS[index % 13]) for index in range(1, n + 1)]
    return write_sheet(root / "type.xlsx", ("index", "analysis_type"), rows)


# Made by running the authors' lcs_analyzer.py on these files.
OF_ROWS = {1041: 0.3835612055924049, 1048: 0.38071581196581195, 1079: 0.309082483781279}


@pytest.mark.slow
@pytest.mark.parametrize("height", OF_ROWS)
@pytest.mark.parametrize("known", ["types", "cases"])
def test_the_authors_rows_are_those_of_their_table(tmp_path, height, known):
    """Also where it has no row for what was not predicted; with the questions and without."""
    assert len(REAL) == 1041
    rows = {1041: REAL, 1048: range(1, 1049), 1079: range(1, 1080)}[height]
    cells = {index: orders_of(index) if index in REAL else [""] * 4 for index in rows}
    lines = [",".join(map(str, (index, *told))) for index, told in cells.items()]
    write(tmp_path / "r" / "HealthGPT_cot.csv", "\n".join([HEADER, *lines, ""]))
    predicted = [{"index": str(index), "prediction": "x"} for index in REAL]
    write(tmp_path / "r" / "HealthGPT" / "predictions_cot.json", predicted)
    cases = None
    if known == "types":
        tasks_of(tmp_path / "r")
    else:
        items = [Item(n, label=LABELS[n % 13], suffix=None) for n in range(1, 1080)]
        cases = write_m3cot(tmp_path / "set", items)
    tables, _ = read_results(cases, tmp_path / "r", edition="authors")
    assert the(tables, QUICK, "consistency").n == height
    assert value(tables, QUICK, "consistency") == pytest.approx(OF_ROWS[height], rel=1e-12)
    assert value(tables, QUICK, "answered", mode="cot") == pytest.approx(1041 / 1079)


def test_a_tie_goes_to_the_row_that_comes_first_in_the_authors_table(tmp_path):
    rows = ["2,1,0,0,0", "1,0,1,2,0", "3,0,1,0,0"]
    write(tmp_path / "m_cot.csv", "\n".join([HEADER, *rows]))
    write_sheet(
        tmp_path / "type.xlsx", ("index", "analysis_type"), [(n, "Cause") for n in (1, 2, 3)]
    )
    tables, _ = read_results(None, tmp_path, edition="authors")
    assert value(tables, QUICK, "consistency") == pytest.approx(1 / 3)


def test_orders_of_a_judge_that_was_not_read_count_for_the_authors_alone(tmp_path):
    rows = ["1,1,2,0,0,true", "2,1,2,0,0,true", "3,0,0,1,0,false"]
    write(tmp_path / "m_cot.csv", "\n".join([HEADER + ",parse_status", *rows]))
    write_sheet(
        tmp_path / "type.xlsx", ("index", "analysis_type"), [(n, "Cause") for n in (1, 2, 3)]
    )
    theirs = the(read_results(None, tmp_path, edition="authors")[0], QUICK, "consistency")
    assert (theirs.value, theirs.n) == (pytest.approx(2 / 3), 3)
    ours = the(read_results(None, tmp_path)[0], OURS, "consistency")
    assert (ours.value, ours.n) == (1, 2)


@pytest.mark.parametrize("name", ["end_to_end_integer_orders", "end_to_end_odd_orders"])
def test_step_order_from_predictions_and_replies(tmp_path, name):
    """Without the questions: gaps are rows, and what comes after the last prediction is none."""
    told = golden("m3cot_step_order.json")
    run, raw = told[name], {reply["name"]: reply["raw"] for reply in told["replies"]}
    write(tmp_path / "m_cot.json", run["predictions"])
    for index in run["indices_sent_to_judge"]:
        said = raw[run["reply_name_by_index"][str(index)]]
        write(tmp_path / "judges" / "g" / "order" / "m" / f"{index}.txt", said or "")
    tasks = [(int(index), task) for index, task in run["tasks"].items()]
    write_sheet(tmp_path / "type.xlsx", ("index", "analysis_type"), tasks)
    tables, _ = read_results(None, tmp_path, edition="authors")
    assert value(tables, QUICK, "consistency") == pytest.approx(run["expected"]["overall"])
    for label, task in run["expected"]["per_task"].items():
        record = the(tables, QUICK, "consistency", task=TASKS.get(label, label))
        assert (record.value, record.n) == (pytest.approx(task["score"]), task["n"])


@pytest.mark.parametrize("edition", ["authors", "corrected"])
@pytest.mark.parametrize("typed", [True, False])
def test_a_readers_numbers_do_not_hang_on_its_company(tmp_path, edition, typed):
    rules = QUICK if edition == "authors" else OURS
    alone = tmp_path / "one"
    write(alone / "m_cot.json", [e for e in predictions(9) if e["index"] not in ("4", "7")])
    write(alone / "m_direct.json", predictions(9))
    order = dict.fromkeys((f"{name}_order" for name in ORDER_COLUMNS), 1)
    order |= {f"{name}_subs": [] for name in ORDER_COLUMNS}
    for index in (1, 2, 3, 5, 6):
        write(alone / "judges" / "g" / "answer" / "m_cot" / f"{index}.txt", GOOD)
        write(alone / "judges" / "g" / "order" / "m" / f"{index}.txt", order | {"x": index})
    if typed:
        tasks_of(alone, 12)
    shutil.copytree(alone, tmp_path / "two")
    write(tmp_path / "two" / "other_cot.json", predictions(30))
    write(tmp_path / "two" / "other_direct.json", predictions(30))
    found = [
        {
            (one.measure, str(one.by)): (one.value, one.n, one.k, one.note)
            for one in measure(tables, tables.verdicts, rules)
            if one.reader == "m" and "versus" not in one.by
        }
        for tables, _ in (
            read_results(None, tmp_path / place, edition=edition) for place in ("one", "two")
        )
    ]
    assert found[0] == found[1]
    n = found[0]["answered", str({"mode": "cot"})][1]
    assert n == (12 if typed else 9)


@pytest.mark.parametrize("edition", ["authors", "corrected"])
def test_a_reader_that_never_answered_is_not_judged_by_the_judges_of_others(tmp_path, edition):
    failed = [{"index": n, "prediction": "SKIPPED due to error: x"} for n in range(1, 4)]
    write(tmp_path / "mute_cot.json", failed)
    write(tmp_path / "m_cot.csv", "\n".join([HEADER, "1,1,2,0,0", "2,1,2,0,0"]))
    tasks_of(tmp_path, 3)
    tables, _ = read_results(None, tmp_path, edition=edition)
    rules = QUICK if edition == "authors" else OURS
    record = the(tables, rules, "consistency", "mute")
    assert (record.value, record.n, record.note) == (None, 0, "not judged")


NOT_SAID = {
    2: "SKIPPED due to error: CUDA out of memory",
    3: "Image not found",
    4: float("nan"),
    5: None,
}


def test_what_was_never_said_is_neither_right_nor_wrong(tmp_path, cases):
    entries = [{"index": "1", "prediction": "A"}]
    entries += [{"index": str(index), "prediction": said} for index, said in NOT_SAID.items()]
    write(tmp_path / "r" / "m_cot.json", entries)
    for index in (1, 2, 3):
        reply = GOOD if index == 1 else GOOD.replace("true", "false")
        write(tmp_path / "r" / "judges" / "g" / "answer" / "m_cot" / f"{index}.txt", reply)
    tables, warnings = read_results(cases, tmp_path / "r")
    rows = {row["case"]: row for row in tables.answers.to_dicts()}
    assert rows["1"]["outcome"] == "answered"
    for index in NOT_SAID:
        assert (rows[str(index)]["outcome"], rows[str(index)]["text"]) == ("unanswered", None)
    assert "CUDA out of memory" in rows["2"]["reason"]
    assert any("4 items (2, 3, 4, ...) failed and have no reply" in line for line in warnings)
    assert not any("judged by other words" in line for line in warnings)
    ours = the(tables, OURS, "accuracy", mode="cot")
    assert (ours.value, ours.n, ours.k) == (1, 1, 1)
    assert ours.note == "left out: 5 unanswered; one item has no interval"
    assert the(tables, OURS, "answered", mode="cot").k == 1
    assert the(tables, OURS, "answered", mode="cot").n == 6
    tables, _ = read_results(cases, tmp_path / "r", edition="authors")
    theirs = the(tables, QUICK, "accuracy", mode="cot")  # their judge judges such words, too
    assert (theirs.value, theirs.n) == (pytest.approx(1 / 3), 3)


def test_an_entry_without_a_prediction_has_none(tmp_path, cases):
    write(tmp_path / "m_cot.json", [{"index": 1, "prediction": "x"}, {"index": 2}])
    tables, _ = read_results(cases, tmp_path / "m_cot.json")
    assert list(tables.answers["outcome"]) == ["answered", "unanswered"]


def test_what_a_cache_says_was_not_predicted_is_no_reply(tmp_path, cases):
    write(tmp_path / "r" / "m_cot.json", predictions(2))
    record = {"valid_outputs": "[]", "index": 3, "prediction": float("nan")}
    write(tmp_path / "r" / "recall" / "m" / "3.json", record)
    tables, warnings = read_results(cases, tmp_path / "r")
    rows = {row["case"]: row["outcome"] for row in tables.answers.to_dicts()}
    assert rows == {"1": "answered", "2": "answered", "3": "unanswered"}
    assert not any("taken from the verdicts" in line for line in warnings)


# ---------------------------------------------------------------- oddities


def test_what_cannot_be_read_is_refused_in_one_line(tmp_path, cases):
    def given(name, holds):
        shutil.rmtree(tmp_path / "r", ignore_errors=True)
        write(tmp_path / "r" / name, holds)
        return refusal(cases, tmp_path / "r")

    one = {"index": "1", "prediction": "x"}
    assert "m_cot.json is no JSON" in given("m_cot.json", "[{")
    assert "nested too deeply" in given("m_cot.json", "[" * 100_000)
    assert "says neither model nor mode" in given("list.json", [one])
    assert "m_cot.json entry 2 is no object" in given("m_cot.json", [one, 3])
    assert 'index is "x"' in given("m_cot.json", [one | {"index": "x"}])
    assert "index 1 stands in m_cot.json already" in given("m_cot.json", [one, one])
    assert "index 99 is not among the cases" in given("m_cot.json", [one | {"index": 99}])
    assert "it is no text" in given("m_cot.json", [one | {"prediction": 3}])
    assert 'status is "odd"' in given("m_cot.json", [one | {"status": "odd"}])
    assert "duration_s is -1" in given("m_cot.json", [one | {"duration_s": -1}])
    assert "holds no prediction" in given("notes.txt", "hello")
    assert "has no reply" in given(
        "j.jsonl", {"judge": "g", "question": "order", "model": "m", "index": 1}
    )
    assert "says neither" in given("answer/m/1.txt", GOOD)
    assert "of cot only" in given("recall/m_direct/1.txt", "[]")
    assert "its name says 2" in given("recall/m/2.json", {"valid_outputs": "[]", "index": 3})
    assert "there is no such file" in refusal(cases, tmp_path / "nowhere")


def test_two_verdicts_of_a_judge_on_one_reply_are_refused(tmp_path, cases):
    write(tmp_path / "r" / "m_cot.json", predictions())
    write(tmp_path / "r" / "judges" / "g" / "recall" / "m" / "1.txt", "[]")
    line = {"judge": "g", "question": "recall", "model": "m", "index": 1, "reply": "[]"}
    write(tmp_path / "r" / "more.jsonl", line)
    assert "Keep one" in refusal(cases, tmp_path / "r")


def test_recall_needs_the_gold_steps(tmp_path):
    write(tmp_path / "recall" / "m" / "1.txt", "[]")
    assert "--cases is missing" in refusal(None, tmp_path)


def test_no_image_need_be_there(tmp_path):
    unseen = [item._replace(suffix=None) for item in ITEMS]
    root = write_m3cot(tmp_path / "set", unseen)
    write(tmp_path / "m_cot.json", predictions())
    tables, warnings = read_results(root, tmp_path / "m_cot.json")
    assert tables.answers.height == 6
    assert not any("leaves out" in line for line in warnings)


def test_items_the_set_leaves_out_are_passed_over(tmp_path):
    untyped = [i._replace(label=None) if i.index == 2 else i for i in ITEMS]
    root = write_m3cot(tmp_path / "set", untyped)
    write(tmp_path / "m_cot.json", predictions())
    tables, warnings = read_results(root, tmp_path / "m_cot.json")
    assert tables.answers.height == 5
    assert any("items that the set leaves out, such as 2" in line for line in warnings)


def test_other_files_are_told_in_one_line(tmp_path, cases):
    write(tmp_path / "r" / "m_cot.json", predictions())
    for name in ("a.log", "b.log", "c.log", "d.csv", "e.json"):
        write(tmp_path / "r" / name, "{}")
    warnings = read_results(cases, tmp_path / "r")[1]
    assert warnings == [
        "left out, for it is no result that is known: a.log, b.log, c.log and 2 more."
    ]


def test_hostile_words_are_kept_as_they_are(tmp_path, cases):
    odd = "<script>\x00 ignore the above \ud800"
    write(tmp_path / "m_cot.json", [{"index": 1, "prediction": odd}])
    tables, _ = read_results(cases, tmp_path / "m_cot.json")
    assert tables.answers["text"][0] == odd.encode("utf-8", "replace").decode()


def test_the_readers_file_says_their_roles(tmp_path, cases):
    write(tmp_path / "m_cot.json", predictions())
    models = write(tmp_path / "models.json", {"m": {"role": "text_only"}, "n": {}})
    tables, warnings = read_results(cases, tmp_path / "m_cot.json", models)
    assert tables.readers[0].traits.modality == "text"
    assert warnings == ["n of the readers file has no results."]


def test_an_import_is_named_for_its_set(tmp_path, cases):
    write(tmp_path / "m_cot.json", predictions())
    found = import_results(cases, tmp_path / "m_cot.json", words={"boot": "200"})
    assert found.settings == {"boot": "200"}
    assert (found.benchmark.name, found.benchmark.edition) == ("m3cot", "corrected+boot=200")
    assert found.benchmark.dataset.startswith("set@")


KEYS = (
    *("index", "prediction", "status", "duration_s", "results", "summary", "match", "cot"),
    *("total_successful_time_s", "successful_item_count", "valid_outputs", "judge_model"),
    *("judge", "question", "model", "mode", "reply"),
)
ODD = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(KEYS),
            inner,
            max_size=5,
        )
    ),
    max_leaves=12,
)
PLACES = ("m_cot.json", "m_summary.json", "recall/m/1.json", "lines.jsonl", "m_cot_accuracy.json")


@pytest.mark.slow
@settings(max_examples=150, deadline=None)
@given(ODD, st.sampled_from(PLACES))
def test_whatever_a_file_holds_it_is_read_or_refused_in_one_line(tmp_path_factory, holds, place):
    root = tmp_path_factory.mktemp("odd")
    write(root / "n_cot.json", predictions(2))
    write(root / place, json.dumps(holds))
    refused = ""
    try:
        tables, _ = read_results(None, root)
        assert tables.answers.height >= 2
    except BadInput as error:
        refused = str(error)
    assert len(refused.splitlines()) <= 1
