"""Records found by what they are about."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import overread.benchmarks
from overread.benchmarks.exhibits.index import Index, Wording, Words, wording_beside
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


# ---------------------------------------------------------------- words

ROOM = Path(overread.benchmarks.__file__).parent
WORDED = ("grounding", "heartbeat", "m3cot", "medcmr")
WORDING = Wording(
    {"t": Words("Of {what}?", ("reader", "x"), "{what}: {said}.", ("Below {few}.",))},
    {"more": "{n} more."},
    {"few": 10},
)


def test_a_table_without_a_number_is_none():
    index = Index([], "s", WORDING)
    assert index.table("t", [("r", "n/a"), ("s", "")], what="it") is None
    assert index.table("t", [("r", "sex", "n/a")], first=2, what="it") is None
    assert index.table("t", [("r", "-")], absent="-", what="it") is None
    made = index.table("t", [("r", "n/a"), ("s", "1.0")], index.note("more", n=2), what="it")
    assert made is not None
    assert (made.name, made.title, made.signature) == ("t", "Of it?", "s")
    assert (made.rows, made.columns) == ((("r", "n/a"), ("s", "1.0")), ("reader", "x"))
    assert made.notes == ("Below 10.", "2 more.")
    assert index.whole_table("t", [], columns=("y",), what="it").columns == ("y",)


def test_a_figure_has_its_words_and_what_it_is_of():
    made = Index([], "s", WORDING).figure("t", {}, "a 1.0", "Note.", of="ed", what="it")
    assert (made.name, made.title, made.alt) == ("t_ed", "Of it?", "it: a 1.0.")
    assert (made.notes, made.signature) == (("Below 10.", "Note."), "s")


@pytest.mark.parametrize("name", WORDED)
def test_no_words_are_kept_that_nothing_says(name):
    folder = ROOM / name / "exhibits"
    facts = dict.fromkeys(("few", "few_mark", "told_apart", "other_rule", "question"), "")
    words = wording_beside(str(folder / "tables.py"), **facts)
    code = "".join(
        path.read_text("utf-8")
        for room in (folder, ROOM / "exhibits")
        for path in room.glob("*.py")
    )
    named = {*words.exhibits, *words.notes} - set(re.findall(r'"(\w+)"', code))
    # Those of a group have its name: `frames` of a context, `modality_lanes` of a key, a category.
    assert [
        one
        for one in named
        if not re.fullmatch(r"(tasks|kinds|\w+_lanes|seeds_t\d|means_\w+)", one)
    ] == []
    told = (folder / "words.toml").read_text("utf-8")
    assert [one for one in words.facts.keys() - facts if f"{{{one}}}" not in told] == []
