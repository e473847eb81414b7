"""The one line of an exhibit: made of declared measures, whoever made the exhibit."""

from __future__ import annotations

import pytest

from overread.benchmarks.exhibits.index import Index, Wording, Words, finding_of
from overread.case import Measure, Pooled


def record(
    reader: str, value: float | None, by: dict[str, str] | None = None, **more: object
) -> Measure:
    given = {"measure": "cgr", "n": 40} | more
    return Measure(reader=reader, value=value, by=by or {}, **given)  # type: ignore[arg-type]


def said(*records: Measure, **words: object) -> str:
    given = {"of": {"cgr": "CGR"}} | words
    return finding_of(Index(records), Words("t", **given))  # type: ignore[arg-type]


def test_the_lowest_and_the_highest_are_named() -> None:
    records = record("a", 0.25), record("b", 0.5, low=0.4, high=0.6), record("c", 0.25)
    assert said(*records) == "CGR: from 25.0 n=40 (a and 1 more) to 50.0 [40.0, 60.0] n=40 (b)"


def test_one_number_is_said_and_many_alike_once() -> None:
    assert said(record("a", 0.5)) == "CGR: 50.0 n=40"
    assert said(record("a", 0.5), record("b", 0.5)) == "CGR: 50.0 in all 2"


def test_it_goes_by_the_records_it_declares_and_no_others() -> None:
    records = (
        record("a", 0.1),
        record("a", 0.2, {"finding": "mass"}),
        record("a", 0.3, {"finding": "mass", "view": "AP"}),
        record("a", 0.4, {"finding": "mass", "view": "PA"}),
    )
    assert said(*records) == "CGR: 10.0 n=40"
    assert said(*records, by=("finding",)) == "CGR: 20.0 n=40"
    assert said(*records, by=("finding",), within={"view": "PA"}) == "CGR: 40.0 n=40"


def test_among_groups_the_pooled_number_decides() -> None:
    def pooled(value: float) -> Pooled:
        return Pooled(value=value, low=0.1, high=0.9, weight=0.5, mean=0.5, groups=2)

    few = record("a", 0.0, {"finding": "mass"}, pooled=pooled(0.4))
    many = record("a", 0.2, {"finding": "edema"}, pooled=pooled(0.3))
    line = said(few, many, by=("finding",))
    assert line.startswith("CGR: from pooled 30.0 [10.0, 90.0] (a, edema) to pooled 40.0")


def test_words_are_counted() -> None:
    records = [
        record(name, None, measure="category", label=label)
        for name, label in (("a", "uses image"), ("b", "unstable"), ("c", "unstable"))
    ]
    assert said(*records, of={"category": "category"}) == "category: unstable 2, uses image 1 of 3"


def test_differences_are_counted_by_what_is_told_apart() -> None:
    records = [
        record("a", 0.2, {"versus": name}, measure="diff_cgr", q=q)
        for name, q in (("b", 0.01), ("c", 0.2), ("d", None))
    ]
    line = said(*records, of={"diff_cgr": "CGR"})
    assert line == "CGR: 1 of 3 differences told apart (q < 0.05)"


def test_what_was_not_measured_says_nothing() -> None:
    assert said() == ""
    assert said(record("a", None)) == ""


def test_an_exhibit_has_its_line_and_its_measures() -> None:
    words = Words("t", columns=("reader", "x"), of={"cgr": "CGR"}, within={"phase": "{of}"})
    index = Index([record("a", 0.5, {"phase": "ed"})], "", Wording({"t": words}))
    made = index.whole_table("t", [("a", "1")], of="ed")
    assert (made.name, made.finding, made.measures) == ("t_ed", "CGR: 50.0 n=40", ("cgr",))


@pytest.mark.parametrize(("unit", "told"), [("skill", "-0.50 n=40"), ("frames", "-0.50 n=40")])
def test_a_unit_that_the_name_does_not_tell_is_declared(unit: str, told: str) -> None:
    assert said(record("a", -0.5), unit=unit) == f"CGR: {told}"
