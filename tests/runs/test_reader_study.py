"""People as readers, from a study file to numbers beside models."""

from __future__ import annotations

import json
import re
from pathlib import Path
from random import Random

import polars as pl
import pytest

import overread as ov
from overread import runs
from overread.case import BadInput
from overread.study import Journal, open_key, open_study

STUDY = """
name = "chest"
benchmark = "grounding"
cases = "phantom:24"
readers = ["anna", "ben", "cleo"]
washout_days = 0

[[reader]]
name = "anna"
years = 12
speciality = "chest radiology"

[[task]]
kind = "presence"
cases = 10
conditions = ["original", "target_mask", "irrelevant_mask"]
training = 0

[[task]]
kind = "boxes"
cases = 4
training = 0
"""


PAPER = """
name = "chest"
benchmark = "grounding"
edition = "authors"
cases = "phantom:60"
readers = ["anna", "ben"]
washout_days = 0

[[task]]
kind = "boxes"

[[task]]
kind = "presence"
run = "run"
cases = 12

[[task]]
kind = "failures"
run = "run"
"""


@pytest.fixture(scope="module")
def folder(phantom_cache, tmp_path_factory):
    """A study on phantoms, read by a person who is always right, one seldom, one who cannot tell."""
    place = tmp_path_factory.mktemp("people")
    (place / "study.toml").write_text(STUDY)
    runs.study_new(place / "study.toml", place / "chest")
    study = open_study(place / "chest")
    key, journal, draw = open_key(study.folder, "test"), Journal(study.folder), Random(0)
    for turn in study.schedule:
        shown = key[turn.display]
        if shown.kind == "boxes":
            journal.put(turn.reader, turn.display, {"rating": "accurate"})
            continue
        truth = "no" if shown.condition == "target_mask" else shown.truth
        said = {"anna": truth, "ben": draw.choice(["yes", "no"]), "cleo": "cannot tell"}
        journal.put(turn.reader, turn.display, {"answer": said[turn.reader]})
    journal.close()
    return study.folder


@pytest.fixture(scope="module")
def models(folder):
    place = folder.parent / "run"
    ov.run(
        "grounding", cases="phantom:24", readers=["control:looks", "control:prior"], out=place,
        store=folder.parent / "store.sqlite",
    )  # fmt: skip
    return place


def one(found, reader, measure, **by):
    (record,) = [m for m in found.measures if (m.reader, m.measure, m.by) == (reader, measure, by)]
    return record


def test_people_are_measured_as_models_are(folder):
    found = runs.study_analyse(folder)
    assert one(found, "anna", "accuracy").value == 1
    assert one(found, "anna", "cgr").value == 1
    assert one(found, "cleo", "parse_rate").value == 0
    assert one(found, "anna", "boxes_rating", answer="accurate").value == 1
    assert found.cannot_tell["cleo"] > 0
    kept = json.loads((folder / "analysis.json").read_text())
    assert len(kept["measures"]) == len(found.measures)


def test_what_is_known_of_readers_stands_with_their_numbers(folder):
    (rater,) = runs.study_analyse(folder).raters
    assert (rater.name, rater.in_words) == ("anna", "chest radiology, 12 years")
    (kept,) = json.loads((folder / "analysis.json").read_text())["raters"]
    assert kept["years"] == 12


def test_a_study_is_analysed_from_any_folder(phantom_cache, tmp_path, monkeypatch):
    from overread.runs._opening import case_file

    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "cases").symlink_to(case_file("grounding", "phantom:24").parent)
    name = case_file("grounding", "phantom:24").name
    (tmp_path / "a" / "study.toml").write_text(STUDY.replace("phantom:24", f"cases/{name}"))
    monkeypatch.chdir(tmp_path / "a")
    runs.study_new(Path("study.toml"), Path("chest"))
    study = open_study(Path("chest"))
    journal = Journal(study.folder)
    (turn, *_) = (t for t in study.schedule if study.displays[t.display].task == 1)
    journal.put(turn.reader, turn.display, {"answer": "yes"})
    journal.close()
    monkeypatch.chdir(tmp_path)
    assert runs.study_analyse(Path("a/chest"), early=True).readings == 1


def test_readers_are_held_against_themselves_under_another_condition(folder):
    """Who is always right loses every finding that is hidden, and none elsewhere."""
    found = runs.study_analyse(folder, margin=0.1)
    by = {"task": "presence", "versus": "original"}
    hidden = one(found, "anna", "diff_right", condition="target_mask", **by)
    key = open_key(folder, "test").values()
    masked = [k for k in key if k.condition == "target_mask" and not k.iteration]
    assert (hidden.value, hidden.n) == (-1, len(masked))
    assert one(found, "anna", "diff_right", condition="irrelevant_mask", **by).value == 0
    # Whoever could not tell has decided nothing; without him two are too few to speak of others.
    told = {m.reader for m in found.measures if m.measure == "diff_right"}
    assert told == {"anna", "ben"}


def test_cgr_is_restricted_to_boxes_that_readers_found_accurate(folder, models):
    found = runs.study_analyse(folder, run=models)
    accurate = one(found, "control:looks", "cgr", coverage="accurate")
    assert 0 < accurate.n <= 4 < one(found, "control:looks", "cgr", coverage="all").n
    assert one(found, "anna", "cgr", coverage="accurate").n <= 4
    sheet = (folder / "sheets" / "ratings.csv").read_text(encoding="utf-8-sig")
    assert sheet.count("accurate") == 4
    again = runs.measure(models, settings={"ratings": str(folder / "sheets" / "ratings.csv")})
    assert accurate in list(again.records)
    runs.measure(models)


def test_what_a_study_came_to_says_of_which_edition_run_and_margin(folder, models):
    found = runs.study_analyse(folder, run=models, margin=0.1)
    kept = json.loads((folder / "analysis.json").read_text())
    assert (kept["benchmark"], kept["edition"], kept["run"]) == (
        "grounding",
        "corrected",
        str(models),
    )
    assert (kept["margin"], kept["overread"]) == (0.1, ov.__version__)
    apart = next(table for table in runs.study_tables(found) if table.name == "differences")
    assert apart.columns[-1] == "margin 0.1"
    assert {row[-1] for row in apart.rows} <= {"", "equivalent", "not worse", "worse", "not shown"}
    assert "worse" in {row[-1] for row in apart.rows}
    apart = list(runs.study_tables(runs.study_analyse(folder, run=models)))
    assert all(table.columns[-1] != "margin 0.1" for table in apart)


def test_a_study_that_lacks_a_film_is_not_served(phantom_cache, tmp_path):
    (tmp_path / "study.toml").write_text(STUDY)
    runs.study_new(tmp_path / "study.toml", tmp_path / "chest")
    next((tmp_path / "chest" / "pictures").iterdir()).unlink()
    with pytest.raises(BadInput, match=r"pictures/\w+\.png is not there"):
        runs.study_serve(tmp_path / "chest", listens=lambda links: pytest.fail("served"))


def test_models_stand_beside_people_on_the_same_cases(folder, models):
    found = runs.study_analyse(folder, run=models)
    same = one(found, "control:looks", "diff_accuracy", versus="anna")
    assert (same.value, same.n) == (0, 10)
    assert {m.reader for m in found.measures if m.by.get("versus") == "anna"} >= {
        "control:looks",
        "control:prior",
    }


def test_a_run_over_other_cases_of_the_same_names_is_named(folder, models, tmp_path):
    """A film of one set can be called as one of another, and nothing else would tell."""
    assert not [r for r in runs.study_analyse(folder, run=models).remarks if "taken to be" in r]
    ov.run(
        "grounding", cases="phantom:24:7", readers=["control:looks"], out=tmp_path / "run",
        store=tmp_path / "store.sqlite",
    )  # fmt: skip
    found = runs.study_analyse(folder, run=tmp_path / "run")
    assert [r for r in found.remarks if "cases of one name are taken to be one" in r]


def test_a_person_is_a_reader_of_any_run(folder, models, tmp_path):
    runs.study_analyse(folder)
    run = ov.run(
        "grounding", cases="phantom:24", out=tmp_path / "run",
        readers=[f"human:{folder}/anna", f"human:{folder}/ben"],
        only=folder / "cases.txt", store=tmp_path / "store.sqlite",
        settings={"conditions": "original,target_mask,irrelevant_mask"},
    )  # fmt: skip
    first = run.measures.filter(pl.col("measure") == "accuracy").row(0, named=True)
    assert (first["reader"], first["value"], first["n"]) == ("anna", 1.0, 10)
    # And is held against others, and to a policy, as a model is.
    (compared,) = runs.compare([tmp_path / "run"], measures=["accuracy"])
    assert [(m.reader, m.by["versus"]) for m in compared.differences] == [("anna", "ben")]
    rule = '[[rule]]\nname = "right"\nwhy = "It must be right often enough."\nbenchmark = "grounding"\n'
    rule += 'measure = "accuracy"\nat_least = 0.6\n'
    (tmp_path / "gate.toml").write_text(f'title = "t"\n[defaults]\nminimum_n = 5\n{rule}')
    gated = runs.gate([tmp_path / "run"], tmp_path / "gate.toml")
    ruled = {one.reader: (one.value, one.says) for one in gated.rulings}
    assert ruled["anna"] == (1, "the run is partial: a sample of its cases was asked")
    listed = runs.checklist([tmp_path / "run"], "claim", tmp_path / "list.md").read_text()
    assert re.search(
        r"\*\*anna, ben\*\* a person of the study \S+ \(3 readers, \d+ sessions, ", listed
    )


def test_nothing_is_written_through_a_link_in_a_study_s_folder(folder, tmp_path):
    (tmp_path / "mine").write_text("mine")
    for name in ("analysis.json", "readings/anna.jsonl"):
        (folder / name).unlink(missing_ok=True)
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).symlink_to(tmp_path / "mine")
    runs.study_analyse(folder)
    assert (tmp_path / "mine").read_text() == "mine"
    assert json.loads((folder / "analysis.json").read_text())["people"] == ["anna", "ben", "cleo"]


def test_a_run_that_has_a_person_s_name_already_is_refused(folder, tmp_path):
    runs.study_analyse(folder)
    ov.run(
        "grounding", cases="phantom:24", readers=[f"human:{folder}/anna", "control:looks"],
        out=tmp_path / "run", store=tmp_path / "store.sqlite",
    )  # fmt: skip
    with pytest.raises(BadInput, match="has a reader called anna"):
        runs.study_analyse(folder, run=tmp_path / "run")


def test_a_run_of_another_benchmark_is_refused_with_the_key_shut(folder, models, tmp_path):
    record = (models / "run.toml").read_text()
    (tmp_path / "run.toml").write_text(
        record.replace('benchmark = "grounding"', 'benchmark = "medcmr"')
    )
    before = (folder / "key" / "opened.jsonl").read_text()
    with pytest.raises(BadInput, match="is a run of medcmr, and the study of grounding"):
        runs.study_analyse(folder, run=tmp_path)
    assert (folder / "key" / "opened.jsonl").read_text() == before


@pytest.mark.parametrize(
    "given", [{"margin": -1, "run": "r"}, {"margin": float("nan"), "run": "r"}]
)
def test_a_margin_that_means_nothing_is_refused(folder, given):
    with pytest.raises(BadInput, match="--margin"):
        runs.study_analyse(folder, **given)


def test_while_somebody_reads_the_key_stays_shut(phantom_cache, tmp_path):
    (tmp_path / "study.toml").write_text(STUDY)
    runs.study_new(tmp_path / "study.toml", tmp_path / "chest")
    with pytest.raises(BadInput, match="anna, ben, cleo have not read everything"):
        runs.study_analyse(tmp_path / "chest")
    with pytest.raises(BadInput, match="the key stays shut"):
        runs.study_export(tmp_path / "chest", tmp_path / "out.imrmc", imrmc=True)
    assert not (tmp_path / "chest" / "key" / "opened.jsonl").exists()


def test_what_the_paper_s_readers_filled_is_counted_beside_an_imported_run(tmp_path):
    here = Path(__file__).parents[1] / "golden" / "grounding"
    runs.import_results(
        "grounding", cases=here / "mimic" / "manifest.csv", replies=here / "mimic" / "responses",
        readers=here / "models.json", out=tmp_path / "run", edition="authors",
    )  # fmt: skip
    study = here / "reader_study"
    sheets = {"SZ": study / "reader1_filled_SZ", "LA": study / "reader2_filled_LA"}
    found = runs.study_sheets(tmp_path / "run", sheets)
    rows = json.loads((study / "expected" / "human_vs_model_paired.json").read_text())
    for row in rows:
        if row["metric"] == "CGR":
            record = one(found, row["model"], "diff_cgr", versus="SZ")
            assert (record.n, record.p) == (row["n_paired"], pytest.approx(row["p_value"]))
    # How sure people were is of a scale, and no percentage.
    forms = next(table for table in runs.study_tables(found) if table.name == "forms")
    sure = [float(str(row[3]).split()[0]) for row in forms.rows if row[1] == "stated_confidence"]
    assert sure
    assert max(sure) <= 5
    assert "reader minus model" in found.remarks[0]


def test_the_paper_s_own_sheets_are_written_filled_and_read_back(phantom_cache, tmp_path):
    """What readers answered on the page counts as if they had filled the paper's packets."""
    models = ["control:looks", "control:prior", "control:shortcut"]
    ov.run(
        "grounding", cases="phantom:60", readers=models, out=tmp_path / "run", edition="authors",
        store=tmp_path / "store.sqlite",
    )  # fmt: skip
    (tmp_path / "study.toml").write_text(PAPER)
    runs.study_new(tmp_path / "study.toml", tmp_path / "chest")
    study, key = open_study(tmp_path / "chest"), open_key(tmp_path / "chest", "test")
    journal = Journal(study.folder)
    for turn in study.schedule:
        shown = key[turn.display]
        said = {"boxes": {"rating": "accurate"}, "failures": {"mode": "Ambiguous"}}.get(shown.kind)
        truth = "no" if shown.condition == "target_mask" else "yes"
        journal.put(turn.reader, turn.display, said or {"answer": truth, "confidence": "4"})
    journal.close()
    out = tmp_path / "sheets"
    assert runs.study_export(study.folder, out, paper=True) == len(study.schedule)
    assert {path.name for path in (out / "anna").iterdir()} == {
        "task_A_box_validation", "task_B_finding_presence", "task_D_failure_taxonomy"
    }  # fmt: skip
    found = runs.study_sheets(tmp_path / "run", {name: out / name for name in ("anna", "ben")})
    asked = {one.case for one in key.values() if one.kind == "presence"}
    for reader in ("anna", "ben"):
        accuracy = one(found, reader, "accuracy")
        assert (accuracy.value, accuracy.n) == (1, len(asked))
        assert one(found, reader, "cgr").value == 1
    with pytest.raises(BadInput, match="something is there"):
        runs.study_export(study.folder, out, paper=True)


def test_only_a_paper_s_own_study_has_its_sheets(folder, tmp_path):
    with pytest.raises(BadInput, match="--paper is for a paper's own study"):
        runs.study_export(folder, tmp_path / "sheets", paper=True)
