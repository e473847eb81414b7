"""Right answers that stayed when the finding was hidden, on a sheet for a person."""

from __future__ import annotations

import csv

import pytest

from overread.benchmarks.benchmark import Reviewed
from overread.benchmarks.grounding import Grounding
from overread.case import BadInput


@pytest.fixture
def tables(bench):
    findings = ["edema", "edema", "edema", "pneumonia", "pneumonia", "pneumonia", "edema"]
    cases = [bench.case(f"c{n}", finding=finding) for n, finding in enumerate(findings)]
    cases.append(bench.case("unboxed", box=None, irrelevant_box=None))
    cases.append(bench.case("absent", label=0))
    names = [case.case_id for case in cases]
    answers = {
        # c3 is wrong, c4 flips, c5 is unparsed under the mask.
        "original": dict(zip(names, (1, 1, 1, 0, 1, 1, 1, 1, 0), strict=True)),
        "target_mask": dict(zip(names, (1, 1, 1, 0, 0, -1, 1, 1, 0), strict=True)),
    }
    return bench.tables(cases, {"r": answers})


def test_it_has_the_correct_yes_that_the_mask_left_and_no_other(tables, tmp_path):
    made = Grounding.of_run("nih@0", "open")
    assert isinstance(made, Reviewed)
    rows = made.review(tables, "r", 100, 0)
    assert {row.case for row in rows} == {"c0", "c1", "c2", "c6"}
    made.write_review(tmp_path / "sheet.csv", rows)
    with (tmp_path / "sheet.csv").open(encoding="utf-8", newline="") as file:
        first = next(iter(csv.DictReader(file)))
    assert first["finding"] == "edema"
    assert first["box"] == "10 20 60 70"
    assert (first["reply"], first["reply_with_the_finding_hidden"]) == ("Yes", "Yes")
    assert (
        first["question"].startswith("Is pulmonary edema present") or "edema" in first["question"]
    )
    assert (first["label"], first["note"]) == ("", "")


def test_fewer_rows_are_a_part_of_more_and_a_seed_gives_the_same(tables):
    made = Grounding.of_run("nih@0", "open")
    most, few = (made.review(tables, "r", n, 3) for n in (4, 2))
    assert few == most[:2] == made.review(tables, "r", 2, 3)
    orders = {tuple(row.case for row in made.review(tables, "r", 4, seed)) for seed in range(8)}
    assert len(orders) > 1


def test_who_is_not_there_and_how_many_is_none_are_said(tables):
    made = Grounding.of_run("nih@0", "open")
    with pytest.raises(BadInput, match='reader is "s"; the readers of this run are r'):
        made.review(tables, "s", 1, 0)
    with pytest.raises(BadInput, match="give 1 or more"):
        made.review(tables, "r", 0, 0)
