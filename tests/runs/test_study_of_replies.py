"""People rank models' replies and label their errors; what they say is measured as sheets are."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest

import overread as ov
from overread import runs
from overread.benchmarks.people import Ask
from overread.case import BadInput
from overread.phantoms.vignette import LEAST
from overread.study import Candidate, Journal, open_key, open_study
from overread.study.consensus import said_of

MODELS = ("control:oracle", "control:longest-option", "control:format-breaker")
PARTS = ("clarity", "coherence", "visual", "truth")
STUDY = f"""
name = "replies"
benchmark = "medcmr"
cases = "phantom:{LEAST}"
readers = ["anna", "ben"]
washout_days = 0

[[task]]
kind = "ranks"
run = "run"
cases = 6
training = 0
repeat = 0

[[task]]
kind = "errors"
run = "run"
models = ["control:longest-option", "control:format-breaker"]
cases = 14
training = 0
repeat = 0
"""


@pytest.fixture(scope="module")
def place(phantom_cache, no_pages, tmp_path_factory):
    found = tmp_path_factory.mktemp("replies")
    ov.run(
        "medcmr", cases=f"phantom:{LEAST}", readers=MODELS, judges=["control:lexical-judge"],
        settings={"boot": "100", "checks": "2"}, out=found / "run", store=found / "store.sqlite",
    )  # fmt: skip
    (found / "study.toml").write_text(STUDY)
    runs.study_new(found / "study.toml", found / "first")
    return found


def ranking(facts, *order: str) -> str:
    """The letters of these models, best first."""
    letters = {model: letter for letter, model in facts.items() if len(letter) == 1}
    return " > ".join(" = ".join(letters[name] for name in tied.split("=")) for tied in order)


@pytest.fixture(scope="module")
def read(place):
    """Anna ranks all alike; Ben ties two; of errors they agree on all but one model's."""
    study, journal = open_study(place / "first"), Journal(place / "first")
    key = open_key(place / "first", "test")
    oracle, longest, breaker = MODELS
    for turn in study.schedule:
        shown, asks = key[turn.display], study.displays[turn.display].asks
        if shown.kind == "ranks":
            whose = {
                "anna": ranking(shown.facts, oracle, breaker, longest),
                "ben": ranking(shown.facts, f"{oracle}={breaker}", longest),
            }
            values = {ask.name: ask.checked(whose[turn.reader]) for ask in asks}
        else:
            own = {"anna": "reasoning", "ben": "knowledge"}[turn.reader]
            values = {"label": own if shown.facts["model"] == longest else "format"}
        journal.put(turn.reader, turn.display, values)
    journal.close()
    return runs.study_analyse(place / "first")


def one(found, measure, reader="", **by):
    (record,) = [m for m in found.measures if (m.measure, m.reader, m.by) == (measure, reader, by)]
    return record


def test_nobody_who_ranks_can_tell_whose_a_reply_is(place):
    """Not by a name, and not by its letter: that is another model's on another screen."""
    seen = "".join(
        (place / "first" / name).read_text() for name in ("displays.jsonl", "schedule.jsonl")
    )
    key = open_key(place / "first", "test").values()
    for secret in (*MODELS, *(name.partition(":")[2] for name in MODELS), *(k.case for k in key)):
        assert f'"{secret}' not in seen
        assert f" {secret}" not in seen
    assert len({k.facts["A"] for k in key if k.kind == "ranks"}) > 1


def test_errors_are_even_over_models_and_dimensions(place):
    errors = [k for k in open_key(place / "first", "test").values() if k.kind == "errors"]
    strata = [(k.facts["model"], k.facts["dimension"]) for k in errors]
    assert len(strata) == len(set(strata)) == 14
    # A case on which both erred is two screens, and both are read in one session.
    sessions = {t.session for t in open_study(place / "first").schedule}
    assert sessions == {1, 2}


def test_rankings_are_measured_as_a_sheet_of_ranks_is(place, read):
    oracle, longest, breaker = MODELS
    assert (
        one(read, "win_ratio", oracle, component="truth", versus=longest, rater="human").value == 1
    )
    # Of two readers one says it is better, the other that both are alike: it leads.
    half = {"component": "truth", "versus": breaker, "rater": "human"}
    assert one(read, "win_ratio", oracle, **half).value == 1
    assert one(read, "rho", component="truth", **{"with": "human"}).n == 6
    again = runs.measure(place / "run", settings={"ranks": str(place / "first/sheets/ranks.csv")})
    names = ("win_ratio", "win_ratio_gap", "rho")
    assert [m for m in again.records if m.measure in names] == [
        m for m in read.measures if m.measure in names
    ]
    with (place / "first/sheets/ranks-ben.csv").open(encoding="utf-8-sig") as file:
        rows = list(csv.DictReader(file))
    assert {row["truth"] for row in rows if row["reader"] != longest} == {"1"}
    assert {row["truth"] for row in rows if row["reader"] == longest} == {"3"}


def test_labels_that_readers_share_are_counted_and_others_are_not(read):
    _, longest, breaker = MODELS
    shared = one(read, "error_share", breaker, error="format")
    assert (shared.value, shared.n) == (1, 7)
    assert "7 not labelled" in one(read, "error_share", longest, error="reasoning").note
    # They are no forms as well.
    assert not [m for m in read.measures if m.measure == "errors_label"]


def test_rankings_are_compared_pair_by_pair(read):
    by = {"task": "ranks", "question": "truth", "versus": "ben"}
    agreed = one(read, "agreement", "anna", **by)
    assert (agreed.value, agreed.n) == (pytest.approx(2 / 3), 18)
    assert one(read, "agreement", "anna", task="errors", question="label", versus="ben").n == 14


def test_what_an_auditor_decides_stands(place, read):
    runs.study_audit(place / "audit", place / "first", ["carla"])
    study, journal = open_study(place / "audit"), Journal(place / "audit")
    key = open_key(place / "audit", "test")
    assert {k.audits for k in key.values()} == {1, 2}
    seen = (place / "audit" / "displays.jsonl").read_text()
    assert "anna" not in seen
    oracle, longest, breaker = MODELS
    for turn in study.schedule:
        shown = key[turn.display]
        values = {"label": "question"}
        if shown.audits == 1:
            values = dict.fromkeys(PARTS, ranking(shown.facts, breaker, oracle, longest))
        journal.put(turn.reader, turn.display, values)
    assert {said.task for said in said_of(study, journal.answers(), key)} == {1, 2}
    journal.close()
    found = runs.study_analyse(place / "first", audit=place / "audit")
    assert one(found, "error_share", longest, error="question").value == 1
    half = {"component": "truth", "versus": breaker, "rater": "human"}
    assert one(found, "win_ratio", oracle, **half).value == 0


def test_a_model_that_the_run_has_not_is_refused(place):
    text = STUDY.replace('"control:format-breaker"]', '"gpt"]')
    (place / "odd.toml").write_text(text)
    with pytest.raises(
        BadInput, match='task 2: models: "gpt"; those of .* are control:oracle'
    ) as no:
        runs.study_new(place / "odd.toml", place / "odd")
    assert "\n" not in str(no.value)
    assert not Path(place / "odd").exists()


def test_a_run_of_another_benchmark_is_refused_and_one_of_other_cases_is_named(place):
    text = STUDY.replace('"medcmr"', '"m3cot"').replace(f"phantom:{LEAST}", "phantom:26")
    text = text.partition('\n[[task]]\nkind = "errors"')[0]
    (place / "odd.toml").write_text(text)
    with pytest.raises(BadInput, match=r"task 1: .* is a run of medcmr, and the study of m3cot"):
        runs.study_new(place / "odd.toml", place / "odd")
    other = f"phantom:{LEAST}:7"
    (place / "odd.toml").write_text(STUDY.replace(f"phantom:{LEAST}", other))
    made = runs.study_new(place / "odd.toml", place / "other")
    assert [one for one in made.remarks if "cases of one name are taken to be one" in one]


REASONING = """
name = "reasoning"
benchmark = "m3cot"
cases = "phantom:26"
readers = ["anna", "ben"]
washout_days = 0

[[task]]
kind = "ranks"
run = "run"
cases = 6
training = 0
repeat = 0
"""


def test_models_reasoning_is_ranked_as_their_replies_are(phantom_cache, no_pages, tmp_path):
    """The dimensions are the benchmark's; no model is named, and each has its win ratio."""
    models = ("control:clinician", "control:rambler")
    ov.run(
        "m3cot", cases="phantom:26", readers=models, judges=["control:lexical-judge"],
        out=tmp_path / "run", store=tmp_path / "store.sqlite",
    )  # fmt: skip
    (tmp_path / "study.toml").write_text(REASONING)
    runs.study_new(tmp_path / "study.toml", tmp_path / "s")
    study, key = open_study(tmp_path / "s"), open_key(tmp_path / "s", "test")
    odd = set(sorted(one.case for one in key.values())[-2:])
    journal = Journal(study.folder)
    for turn in study.schedule:
        display = study.displays[turn.display]
        assert [ask.name for ask in display.asks] == [
            "correctness", "completeness", "visual", "brevity"
        ]  # fmt: skip
        assert not any("clinician" in text for _, text in display.texts)
        # Of four items they agree, and of the last two the auditor decides.
        best = models[::-1] if turn.reader == "ben" and key[turn.display].case in odd else models
        order = ranking(key[turn.display].facts, *best)
        journal.put(turn.reader, turn.display, {ask.name: order for ask in display.asks})
    journal.close()
    found = runs.study_analyse(tmp_path / "s")
    for rater, ratio in (("anna", 1), ("ben", 4 / 6), ("readers", 5 / 6)):
        won = one(found, "win_ratio", models[0], component="brevity", rater=rater)
        assert (won.value, won.n) == (pytest.approx(ratio), 6)

    runs.study_audit(tmp_path / "audit", tmp_path / "s", ["carla"])
    study, key = open_study(tmp_path / "audit"), open_key(tmp_path / "audit", "test")
    assert {one.case for one in key.values()} == odd
    journal = Journal(study.folder)
    for turn in study.schedule:
        order = ranking(key[turn.display].facts, *models[::-1])
        asks = study.displays[turn.display].asks
        journal.put(turn.reader, turn.display, {ask.name: order for ask in asks})
    journal.close()
    found = runs.study_analyse(tmp_path / "s", audit=tmp_path / "audit")
    for rater, ratio in (("anna", 1), ("ben", 4 / 6), ("readers", 4 / 6)):
        won = one(found, "win_ratio", models[0], component="brevity", rater=rater)
        assert (won.value, won.n) == (pytest.approx(ratio), 6)


def test_an_audit_that_settles_nothing_of_the_study_is_refused(place, read, tmp_path):
    with pytest.raises(BadInput, match="this is no audit"):
        runs.study_analyse(place / "first", audit=place / "first")
    item = Candidate(id="i1", asks=(Ask(name="seen", text="Is it there?"),))
    runs.study_of_candidates(tmp_path / "other", [item], "same", ["anna", "ben"], root=tmp_path)
    answered_by_all(tmp_path / "other", {"anna": "yes", "ben": "no"})
    runs.study_audit(tmp_path / "audit", tmp_path / "other", ["carla"])
    answered_by_all(tmp_path / "audit", {"carla": "yes"})
    with pytest.raises(BadInput, match=r"decides case i1, of which no reader of this study"):
        runs.study_analyse(place / "first", audit=tmp_path / "audit")


def answered_by_all(folder: Path, values: dict[str, str]) -> None:
    study, journal = open_study(folder), Journal(folder)
    for turn in study.schedule:
        (ask,) = study.displays[turn.display].asks
        journal.put(turn.reader, turn.display, {ask.name: values[turn.reader]})
    journal.close()
