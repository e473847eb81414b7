"""Paths, their likeness and references; the path most items of a task take."""

from __future__ import annotations

import json
import shutil
from itertools import combinations, permutations
from pathlib import Path
from types import SimpleNamespace

import msgspec
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from overread.benchmarks.m3cot.authors import cells_of
from overread.benchmarks.m3cot.cases import TASKS
from overread.benchmarks.m3cot.consistency import (
    _added_by_items,
    hot,
    pairs_of,
    pairs_record,
    scores_of,
    seen_in,
    spoken,
)
from overread.benchmarks.m3cot.edition import AUTHORS, CORRECTED
from overread.benchmarks.m3cot.importing import import_results
from overread.benchmarks.m3cot.measures import measure
from overread.benchmarks.m3cot.verdicts import (
    ORDERS,
    lcs_length,
    mode_path,
    path_of,
    similarity,
)
from overread.case import Measure
from support.m3_paths import medoid_path, pairs_in_task, score_task
from support.m3_tables import answer, case, found, tables_of, verdict, verdicts_of

ALL = [path for n in range(5) for path in permutations(ORDERS, n)]
paths = st.sampled_from(ALL)
tasks = st.lists(paths, min_size=1, max_size=12)


def subsequences(path):
    return {some for n in range(len(path) + 1) for some in combinations(path, n)}


def test_there_are_65_paths():
    assert len(set(ALL)) == 65


@given(one=paths, two=paths)
def test_the_longest_common_subsequence(one, two):
    longest = max(len(some) for some in subsequences(one) & subsequences(two))
    assert lcs_length(one, two) == longest


@given(one=paths, two=paths)
def test_likeness_is_symmetric_from_0_to_1_and_1_of_equals_only(one, two):
    assert similarity(one, two) == similarity(two, one)
    assert 0 <= similarity(one, two) <= 1
    assert (similarity(one, two) == 1) is (one == two)


@given(ranks=st.lists(st.integers(-1, 6), min_size=4, max_size=4))
def test_a_path_names_each_category_above_0_once_in_order(ranks):
    path = path_of(dict(zip(ORDERS, ranks, strict=True)))
    assert set(path) == {name for name, rank in zip(ORDERS, ranks, strict=True) if rank > 0}
    told = [ranks[ORDERS.index(name)] for name in path]
    assert told == sorted(told)


def mean_likeness(reference, some):
    return sum(similarity(reference, path) for path in some) / len(some)


@given(some=tasks)
def test_the_medoid_is_the_best_observed_and_never_below_the_mode(some):
    best = max(mean_likeness(path, some) for path in some)
    assert score_task(some, "medoid").score == pytest.approx(best)
    assert mean_likeness(medoid_path(some), some) == pytest.approx(best)
    assert score_task(some, "mode").score <= best + 1e-12


@given(some=tasks)
def test_the_mode_is_the_first_of_the_most_frequent(some):
    most = max(some.count(path) for path in some)
    assert mode_path(some) == next(path for path in some if some.count(path) == most)


@given(some=tasks)
def test_set_apart_the_empty_path_is_no_reference_and_silence_no_consistency(some):
    for reference in ("mode", "medoid"):
        made = score_task(some, reference, apart=True)
        named = [path for path in some if path]
        assert bool(made.reference) is bool(named)
        if named:
            assert made.reference in named
        else:
            assert made.score == 0


@given(some=tasks, apart=st.booleans())
def test_counts_of_paths_score_like_the_paths_themselves(some, apart):
    seen = seen_in(*some)
    counts = hot(some, seen).sum(axis=0)[None, :]
    for reference in ("mode", "medoid"):
        one = scores_of(counts, seen, reference, apart=apart)
        assert one == pytest.approx([score_task(some, reference, apart=apart).score])


@given(
    some=st.lists(
        st.sampled_from([*permutations(("modality", "feature", "analysis"), 2), ()]),
        min_size=2,
        max_size=8,
    )
)
def test_pairs_are_of_two_different_items_and_silence_is_like_nothing(some):
    seen = seen_in(*some)
    counts = hot(some, seen).sum(axis=0)[None, :]
    pairs = [similarity(a, b) if a and b else 0.0 for a, b in combinations(some, 2)]
    assert pairs_of(counts, seen)[0] == pytest.approx(sum(pairs) / len(pairs))


def test_small_tasks_score_no_higher_by_pairs_for_being_small():
    draw = np.random.default_rng(0)
    seen = seen_in(("modality", "feature"), ("modality",), ("feature", "modality"))
    means = {}
    for items in (3, 20):
        counts = draw.multinomial(items, [0.6, 0.2, 0.2], size=20_000).astype(float)
        means[items] = (
            pairs_of(counts, seen).mean(),
            scores_of(counts, seen, "mode", apart=True).mean(),
        )
    assert means[3][0] == pytest.approx(means[20][0], abs=0.01)
    assert means[3][1] > means[20][1] + 0.01


def test_no_paths_no_score():
    seen = seen_in(("modality",))
    assert np.isnan(scores_of(np.zeros((1, 1)), seen, "mode", apart=True)).all()
    with pytest.raises(ValueError, match="without paths"):
        score_task([], "mode")


def row(*orders):
    return dict(zip(ORDERS, orders, strict=True))


def test_numbers_come_back_from_the_file_as_numbers():
    rows = [row(1, 2.0, 3, 0), None, row("2", 1, None, 0), row(1.5, 0, 0, 0)]
    told = [path_of(cells) for cells in cells_of(rows)]
    assert told == [
        ("modality", "feature", "conclusion"),
        (),
        ("feature", "modality"),
        ("modality",),
    ]


def test_one_word_makes_its_whole_column_text_and_only_its_own():
    rows = [row("first", 2, 3, 0), row(1.0, 2.0, 3.0, 4.0), row(1, 2.0, 3, 0)]
    told = [path_of(cells) for cells in cells_of(rows)]
    assert told == [(), (), ("modality", "feature", "conclusion")]
    alone = [path_of(cells) for cells in cells_of(rows[1:])]
    assert alone[0] == ("modality", "feature", "conclusion", "others")


def test_truths_are_numbers_only_in_a_column_of_truths():
    assert path_of(cells_of([row(True, 0, 0, 0), row(False, 1, 0, 0)])[0]) == ("modality",)
    assert path_of(cells_of([row(True, 0, 0, 0), row(2, 1, 0, 0)])[0]) == ()


GOLDEN = Path(__file__).parents[2] / "golden" / "m3cot" / "m3cot_consistency"
EXPECTED = json.loads((GOLDEN / "expected.json").read_text("utf-8"))["expected"]
OURS = msgspec.structs.replace(CORRECTED, boot=200)
THEIRS = msgspec.structs.replace(AUTHORS, boot=200)
# The authors' words for what we call by the judge's.
OUR_WORDS = {"observation": "feature", "knowledge": "others"}
ORDERS = ("modality", "feature", "conclusion", "others")


def ours_of(path):
    return tuple(OUR_WORDS.get(step, step) for step in path)


@pytest.fixture
def golden(tmp_path):
    for name in EXPECTED:
        shutil.copy(GOLDEN / f"{name}.csv", tmp_path)
    shutil.copy(GOLDEN / "type.xlsx", tmp_path)
    tables = import_results(None, tmp_path, edition="authors").tables
    return measure(tables, tables.verdicts, THEIRS)


def test_the_modes_and_their_shares_are_the_authors(golden):
    for name, model in EXPECTED.items():
        for label, want in model["per_task"].items():
            by = {"task": TASKS.get(label, label), "judge": "unnamed-judge"}
            path = spoken(ours_of(want["reference_path"]))
            record = found(golden, "mode_share", name, **by, path=path)
            assert (record.value, record.n) == (pytest.approx(want["mode_ratio"]), want["n"])


def test_the_likeness_of_modes_is_that_of_the_authors_script(golden):
    names = sorted(EXPECTED)
    for label in EXPECTED[names[0]]["per_task"]:
        by = {"task": TASKS.get(label, label), "judge": "unnamed-judge"}
        every = []
        for place, one in enumerate(names):
            for two in names[place + 1 :]:
                modes = [
                    ours_of(EXPECTED[name]["per_task"][label]["reference_path"])
                    for name in (one, two)
                    if label in EXPECTED[name]["per_task"]
                ]
                if len(modes) == 2:
                    every.append(similarity(*modes))
                    record = found(golden, "path_likeness", one, **by, versus=two)
                    assert record.value == pytest.approx(every[-1])
        assert found(golden, "path_likeness", "", **by).value == pytest.approx(
            sum(every) / len(every)
        )


def ranks(*path):
    return {name: path.index(name) + 1 if name in path else 0 for name in ORDERS}


def run(one, two, tasks=("Cause",) * 6):
    """Two readers whose replies to items 1, 2, ... take these paths; None is not judged."""
    cases = [case(index, task) for index, task in enumerate(tasks, 1)]
    answers, rows = [], []
    for reader, paths in (("a", one), ("b", two)):
        for index, path in enumerate(paths, 1):
            answers.append(answer(reader, index))
            value = None if path is None else ranks(*path)
            rows.append(verdict("j", "order", reader, index, value))
    return tables_of(cases, answers), verdicts_of(rows)


M, F, C = "modality", "feature", "conclusion"


def test_a_mode_is_named_with_its_share_and_its_interval():
    tables, verdicts = run([(M, F)] * 4 + [(F,), None], [(M, F, C)] * 6)
    records = measure(tables, verdicts, OURS)
    record = found(records, "mode_share", "a", task="Cause", judge="j", path="modality > feature")
    assert (record.value, record.k, record.n) == (4 / 5, 4, 5)
    assert record.low < 0.8 < record.high
    likeness = found(records, "path_likeness", "a", task="Cause", versus="b", judge="j")
    assert (likeness.value, likeness.n) == (pytest.approx(2 / 3), 5)
    assert likeness.low < likeness.value <= likeness.high
    whole = found(records, "path_likeness", "a", versus="b", judge="j")
    assert whole.value == pytest.approx(2 / 3)


def test_saying_nothing_is_no_likeness_in_ours():
    tables, verdicts = run([()] * 6, [()] * 6)
    assert not [r for r in measure(tables, verdicts, OURS) if r.measure == "path_likeness"]
    theirs = measure(tables, verdicts, THEIRS)
    assert found(theirs, "path_likeness", "a", task="Cause", versus="b", judge="j").value == 1


def test_the_mean_over_tasks_weighs_them_alike():
    tasks = ("Cause",) * 2 + ("Symptom",) * 4
    tables, verdicts = run([(M, F)] * 2 + [(C,)] * 4, [(M,)] * 2 + [(C,)] * 4, tasks)
    records = measure(tables, verdicts, OURS)
    assert found(records, "path_likeness", "a", versus="b", judge="j").value == pytest.approx(0.75)


def recalled(names, edition):
    cases = [case(index, steps=("modality", "feature")) for index in range(1, 5)]
    for row, name in zip(cases, names, strict=True):
        row["steps"] = [{"type": "modality", "text": name}, {"type": "feature", "text": "f"}]
    rows = [verdict("j", "recall", "r", i, [i % 2 == 1, i < 4]) for i in range(1, 5)]
    answers = [answer("r", index) for index in range(1, 5)]
    return measure(tables_of(cases, answers), verdicts_of(rows), edition)


def test_recall_by_examination_goes_by_the_letter_for_the_authors_alone():
    names = ["CT", "ct ", "MRI (FLAIR)", "CT"]
    ours = recalled(names, OURS)
    record = found(ours, "recall", modality="CT")
    assert (record.value, record.n) == (pytest.approx((1 + 0.5 + 0) / 3), 3)
    assert record.low < record.value < record.high
    assert found(ours, "recall", modality="MRI (FLAIR)").value == 1
    theirs = recalled(names, THEIRS)
    assert found(theirs, "recall", modality="CT").value == 0.5
    assert found(theirs, "recall", modality="ct ").n == 1


@pytest.mark.parametrize("edition", [OURS, THEIRS])
def test_of_a_set_that_is_not_open_no_examination_is_told_in_free_words(edition):
    names = ["CT", "Axial T2-weighted MRI of the brain.", "CT of John Doe", "portable film, ward 7"]
    names += ["Wood's lamp"] * 5
    cases = [
        case(index, patient=f"p{index}") | {"modality": name} for index, name in enumerate(names, 1)
    ]
    rows = [verdict("j", "recall", "r", i, [True, i == 3]) for i in range(1, len(names) + 1)]
    answers = [answer("r", index) for index in range(1, len(names) + 1)]
    tables = tables_of(cases, answers)
    records = measure(tables, verdicts_of(rows), edition, veiled=True)
    told = {r.by["modality"]: r for r in records if r.measure == "recall" and "modality" in r.by}
    assert set(told) == {*names[:2], "other", "Wood's lamp"}
    assert (told["other"].value, told["other"].n) == (0.75, 2)
    whole = measure(tables, verdicts_of(rows), edition)
    assert {r.by["modality"] for r in whole if "modality" in r.by} == set(names)
    # The same words five times, of one patient: he may be named.
    one = [row | {"patient": "p"} for row in cases]
    records = measure(tables_of(one, answers), verdicts_of(rows), edition, veiled=True)
    assert {r.by["modality"] for r in records if "modality" in r.by} == {*names[:2], "other"}


def test_the_examination_a_set_states_counts_before_the_words_of_the_step():
    cases = [case(index) | {"modality": "ultrasound"} for index in range(1, 4)]
    rows = [verdict("j", "recall", "r", i, [True, False]) for i in range(1, 4)]
    answers = [answer("r", index) for index in range(1, 4)]
    records = measure(tables_of(cases, answers), verdicts_of(rows), OURS)
    assert found(records, "recall", modality="ultrasound").n == 3
    assert [r.by for r in records if "modality" in r.by] == [{"modality": "ultrasound"}]


def test_what_items_add_is_what_leaving_each_out_changes():
    """Of one task the jackknife's pseudo-values, by hand."""
    paths = [("modality", "feature"), ("modality",), ("modality", "feature"), (), ("feature",)]
    study = SimpleNamespace(n=5, facts=SimpleNamespace(tasks=np.array(["t"] * 5)))
    whole = pairs_in_task(paths)
    without = [pairs_in_task([*paths[:at], *paths[at + 1 :]]) for at in range(5)]
    wanted = [4 * (whole - one) * (5 / 4) ** 0.5 / 5 for one in without]
    assert _added_by_items(study, paths, ["t"]) == pytest.approx(wanted)
    assert _added_by_items(study, [*paths, None][:1] + [None] * 4, ["t"]) is None


@pytest.mark.slow
@pytest.mark.parametrize("each", [1, 5])
def test_the_interval_of_pairs_holds_the_truth(each):
    """Of 50 items in three tasks; patients whose items take one path in half of the cases."""
    menu = [("m", "f", "c"), ("m", "f"), ("m", "c", "f"), ("f", "m", "c")]
    chances, seen = np.array([0.6, 0.2, 0.15, 0.05]), seen_in(*menu)
    truth = float(chances @ seen.likeness @ chances)
    owners, draw, held = np.repeat(np.arange(50 // each), each), np.random.default_rng(2), 0
    for _ in range(200):
        own = draw.choice(4, 50 // each, p=chances)[owners]
        copied = draw.random(50) < (0.55 if each > 1 else 0.0)
        paths = [menu[at] for at in np.where(copied, own, draw.choice(4, 50, p=chances))]
        tasks = draw.integers(0, 3, 50).astype(str)
        study = SimpleNamespace(n=50, facts=SimpleNamespace(tasks=tasks), clusters=owners)
        by_task = [[p for p, t in zip(paths, tasks, strict=True) if t == task] for task in "012"]
        value = float(np.mean([pairs_in_task(some) for some in by_task]))
        everyone = np.ones(50, dtype=bool)
        record = pairs_record(
            Measure(reader="r", measure="c"), study, value, everyone, [paths], ["0", "1", "2"]
        )
        held += record.low <= truth <= record.high
    assert 0.9 <= held / 200 <= 0.99
