"""Records found by what they are about."""

from __future__ import annotations

from overread.benchmarks.exhibits.index import Index
from overread.case import Measure


def record(reader, measure="cgr", value=None, by=None, **facts):
    return Measure(reader=reader, measure=measure, value=value, by=by or {}, **facts)


RECORDS = [
    record("b", value=0.1),
    record("a", value=0.3),
    record("c"),
    record("b", value=0.2, by={"finding": "edema"}),
    record("a", by={"finding": "mass"}),
    record("a", value=0.2, by={"finding": "edema", "coverage": "all"}),
    record("", "rho", 0.9, {"px": "224,512", "of": "cgr"}),
    record("", value=0.5, by={"finding": "nobody"}),
]


def test_readers_have_the_order_of_the_records():
    assert Index(RECORDS).readers == ("b", "a", "c")


def test_a_record_has_exactly_the_groups_asked_for():
    index = Index(RECORDS)
    assert index.get("b", "cgr").value == 0.1
    assert index.get("b", "cgr", finding="edema").value == 0.2
    assert index.get("a", "cgr", finding="edema") is None
    assert index.get("a", "cgr", finding="mass") is not None
    assert index.known("a", "cgr", finding="mass") is None


def test_groups_are_those_of_readers():
    assert Index(RECORDS).groups("cgr", "finding") == ("edema", "mass")
    assert Index(RECORDS).groups("cgr", "sex") == ()


def test_readers_and_all_of_them_together_are_apart():
    index = Index(RECORDS)
    assert [r.reader for r in index.all("cgr", "finding")] == ["b", "a"]
    assert [r.reader for r in index.all("cgr", "coverage", "finding")] == ["a"]
    assert index.all("rho", "px", "of") == []
    assert [r.value for r in index.together("rho", "of", "px")] == [0.9]


def test_ranked_by_falling_value_with_the_unknown_last():
    index = Index([*RECORDS, record("d", value=0.1)])
    assert index.ranked("cgr") == ["a", "b", "d", "c"]
    assert index.ranked("cgr", ["c", "d"]) == ["d", "c"]
