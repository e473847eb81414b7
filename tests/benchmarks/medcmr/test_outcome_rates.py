"""Invalid, refused, unanswered and cut off are four things."""

from __future__ import annotations

import msgspec
import pytest

from overread.benchmarks.medcmr.edition import CORRECTED
from support.med_runs import chosen_measures
from support.med_tables import chose, found, mcq, opened, tables_of, wrote

OURS = msgspec.structs.replace(CORRECTED, boot=200)
CASES = [mcq(1), mcq(2), mcq(3, dimension="TP"), mcq(4, dimension="TP"), mcq(5), opened(1)]
SAID = [
    chose("one", 1, "?", finish="length"),
    chose("one", 2, "!"),
    chose("one", 3, "?"),
    chose("one", 4, "A"),
    chose("one", 1, "?", image="swap"),
    chose("one", 2, "B", image="swap"),
    wrote("one", 1, outcome="unparsed", finish=None),
    wrote("one", 1, form="reformulated"),
    wrote("one", 2, None, form="reformulated"),
]
MADE = chosen_measures(tables_of(CASES, SAID), OURS)


@pytest.mark.parametrize(
    ("measure", "by", "k", "n"),
    [
        ("invalid_rate", {}, 2, 5),
        ("invalid_rate", {"kind": "mcq"}, 2, 5),
        ("invalid_rate", {"kind": "open"}, 1, 1),
        ("invalid_rate", {"kind": "reformulated"}, 0, 2),
        ("invalid_rate", {"dimension": "TP"}, 1, 2),
        ("invalid_rate", {"condition": "swap"}, 1, 2),
        ("refused_rate", {"kind": "mcq"}, 1, 5),
        ("unanswered_rate", {"kind": "mcq"}, 1, 5),
        ("unanswered_rate", {"kind": "reformulated"}, 1, 2),
        ("cut_off_rate", {"kind": "mcq"}, 1, 4),
    ],
)
def test_each_is_a_share_of_what_was_asked(measure, by, k, n):
    record = found(MADE, measure, "one", **by)
    assert (record.k, record.n, record.value) == (k, n, k / n)


def test_items_without_a_row_are_said_to_be_missing():
    assert found(MADE, "unanswered_rate", "one", kind="mcq").note == "1 not in the answers"


def test_where_it_is_not_known_how_replies_ended_nothing_is_said():
    record = found(MADE, "cut_off_rate", "one", kind="open")
    assert (record.value, record.n) == (None, 0)
    assert record.note == "not known how replies ended"


def test_what_was_not_asked_has_no_record():
    made = chosen_measures(tables_of([mcq(1), opened(1)], [chose("one", 1, "A")]), OURS)
    assert {record.by["kind"] for record in made if "kind" in record.by} == {"mcq"}
