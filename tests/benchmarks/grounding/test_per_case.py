"""The headline rates case by case: their means are the rates."""

from __future__ import annotations

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from overread.benchmarks.benchmark import Compared
from overread.benchmarks.grounding import Grounding
from overread.benchmarks.grounding.cases import boxed, truth
from overread.benchmarks.grounding.measures import HIGHER
from overread.case import Traits

COLUMNS = {"reader": pl.String, "case": pl.String, "cluster": pl.String, "value": pl.Float64}
RATES = {"accuracy", "cgr", "uar", "is"}
IMAGES = ("original", "swap", "target_mask", "irrelevant_mask")


def slowly(cases, answers, rules):
    """The definitions read aloud, one case at a time."""
    found = {name: {} for name in RATES}
    for reader, conditions in answers.items():
        for case in cases:
            name, key = case.case_id, truth(case, rules)
            o, s, t, i = (conditions.get(image, {}).get(name, -4) for image in IMAGES)
            if key >= 0 and o >= 0:
                found["accuracy"][reader, name] = float(o == key)
            right = o >= 0 and o == key
            matched = case.swap_match != "any" or rules.fallback_swaps == "count"
            if right and s >= 0 and matched:
                found["uar"][reader, name] = float(s == o)
            if right and boxed(case, rules) and i >= 0:
                found["is"][reader, name] = float(i == o)
            if right and boxed(case, rules) and o == 1 and t >= 0:
                found["cgr"][reader, name] = float(t != o)
    return found


MARKS = st.sampled_from([1, 0, 1, 0, -1, -2, -3])
FACTS = st.fixed_dictionaries(
    {},
    optional={
        "label": st.integers(0, 1),
        "subject_id": st.sampled_from(["p", "q", None]),
        "box": st.none(),
        "swap_match": st.sampled_from(["any", "label"]),
        "finding": st.sampled_from(["edema", "no_finding"]),
        "source": st.sampled_from(["ms_cxr", "chexpert", "mine"]),
    },
)


@pytest.mark.parametrize("edition", ["corrected", "authors"])
@given(data=st.data())
@settings(max_examples=40)
def test_as_the_definitions_read(bench, edition, data):
    facts = data.draw(st.lists(FACTS, max_size=6))
    cases = [bench.case(f"c{at}", **fact) for at, fact in enumerate(facts)]
    names = [case.case_id for case in cases]
    answers = {
        reader: {
            image: data.draw(st.fixed_dictionaries({}, optional=dict.fromkeys(names, MARKS)))
            for image in IMAGES
        }
        for reader in ("a", "b")
    }
    made = Grounding.of_run("set@0", "open", edition)
    found = made.per_case(bench.tables(cases, answers))
    want = slowly(cases, answers, made.rules)
    assert set(found) == RATES
    for name, frame in found.items():
        assert dict(frame.schema) == COLUMNS
        rows = {(reader, case): value for reader, case, _, value in frame.iter_rows()}
        assert len(rows) == frame.height
        assert rows == want[name]


@pytest.mark.parametrize("edition", ["corrected", "authors"])
def test_means_of_the_golden_study_are_its_rates(study, edition):
    made = study(edition, boot="100")
    measures = made.benchmark.measure(made.tables)
    rates = {(m.reader, m.measure): m for m in measures if not m.by and m.measure in RATES}
    assert isinstance(made.benchmark, Compared)
    seen = 0
    for name, frame in made.benchmark.per_case(made.tables).items():
        for reader, n, mean in (
            frame.group_by("reader").agg(pl.len(), pl.col("value").mean()).iter_rows()
        ):
            record = rates[reader, name]
            assert n == record.n
            assert mean == pytest.approx(record.value)
            seen += 1
    assert seen == sum(bool(record.n) for record in rates.values())


def test_of_uar_it_is_not_said_whether_more_is_better():
    """The swapped image has the same finding and label: who looks keeps its answer too."""
    assert Grounding.of_run("set@0", "open").higher_is_better == HIGHER
    assert set(HIGHER) == RATES - {"uar"}


def test_a_cluster_is_the_patient_or_the_image(bench):
    cases = [
        bench.case("a", subject_id="7"),
        bench.case("b", subject_id="7"),
        bench.case("c", subject_id=None, image_path="x.jpg"),
        bench.case("d", subject_id=None, image_path="7"),
    ]
    tables = bench.tables(cases, {"r": {"original": dict.fromkeys("abcd", 1)}})
    frame = Grounding.of_run("set@0", "open").per_case(tables)["accuracy"]
    a, b, c, d = frame["cluster"]
    assert a == b
    assert len({a, c, d}) == 3


def test_a_reader_without_text_has_no_sentences(bench):
    cases = [bench.case("a"), bench.case("s", source="rexerr", error_present=0, box=None)]
    tables = bench.tables(
        cases, {"r": {"original": {"a": 1, "s": 1}}}, {"r": Traits(modality="vision")}
    )
    found = Grounding.of_run("set@0", "open").per_case(tables)["accuracy"]
    assert found["case"].to_list() == ["a"]
