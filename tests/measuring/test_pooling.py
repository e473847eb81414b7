"""Which records are pooled with which, and that nothing else of them moves."""

from __future__ import annotations

import msgspec
import numpy as np

from overread.case import Measure, Method
from overread.measuring.estimates import clustered_share
from overread.measuring.notes import ONE_CLUSTER
from overread.measuring.specs import Spec, with_pooled
from overread.measuring.units import FRAMES

SPECS = (
    Spec(name="rate", says="", groups=("task", "kind", "task/kind"), groups_under=("task",)),
    Spec(name="error", says="", unit=FRAMES, groups=("task",)),
    Spec(name="bare", says=""),
)


def share(k: int, n: int, reader: str = "a", measure: str = "rate", **by: str) -> Measure:
    hits = np.arange(n) < k
    return clustered_share(Measure(reader=reader, measure=measure, by=by), hits, np.arange(n))


def tasks(reader: str = "a", **by: str) -> list[Measure]:
    counts = {"one": (3, 10), "two": (9, 12), "three": (20, 40), "four": (0, 5), "five": (1, 1)}
    return [share(k, n, reader, task=task, **by) for task, (k, n) in counts.items()]


def bare(record: Measure) -> Measure:
    return msgspec.structs.replace(record, pooled=None)


def test_nothing_but_the_pooled_number_is_new():
    records = [share(30, 70), *tasks(), share(5, 9, measure="bare", task="one")]
    made = with_pooled(records, SPECS)
    assert [bare(one) for one in made] == records
    assert [one.pooled is not None for one in made] == [False, *[True] * 5, False]
    assert {one.pooled.groups for one in made if one.pooled} == {5}


def test_another_reader_changes_nothing():
    alone = with_pooled(tasks("a"), SPECS)
    among = with_pooled(
        [*tasks("b", mode="cot"), *tasks("a"), share(1, 40, "c", task="one")], SPECS
    )
    assert [one for one in among if one.reader == "a"] == alone


def test_conditions_and_columns_are_pooled_apart():
    kinds = [share(k, 20, kind=str(k)) for k in (3, 5, 15, 19)]
    within = [share(k, 9, task="one", kind=str(k)) for k in range(5)]
    records = [*tasks(), *tasks(mode="cot"), *kinds, *within]
    made = with_pooled(records, SPECS)
    apart = [
        one
        for some in (tasks(), tasks(mode="cot"), kinds, within)
        for one in with_pooled(some, SPECS)
    ]
    assert made == apart


def test_fewer_than_four_groups_and_records_of_all_readers_are_not_pooled():
    assert with_pooled(tasks()[:3], SPECS) == tasks()[:3]
    assert with_pooled(tasks(""), SPECS) == tasks("")


def test_groups_without_a_value_are_in_no_pool():
    empty = Measure(reader="a", measure="rate", by={"task": "six"}, n=0)
    made = with_pooled([*tasks(), empty], SPECS)
    assert made[:-1] == with_pooled(tasks(), SPECS)
    assert made[-1] == empty


def test_one_case_is_drawn_furthest_and_has_an_interval_by_pooling():
    made = with_pooled(tasks(), SPECS)
    assert ONE_CLUSTER in made[4].flags
    assert made[4].low is None
    assert made[4].pooled.weight == min(one.pooled.weight for one in made)
    assert made[4].pooled.low < made[4].pooled.value < made[4].pooled.high


def test_a_design_effect_makes_cases_worth_less():
    records = tasks()
    assert records[2].se is not None
    wider = msgspec.structs.replace(
        records[2], se=2 * records[2].se, how=Method(kind="wilson", effect=4.0)
    )
    plain, clustered = (
        with_pooled([*records[:2], one, *records[3:]], SPECS)[2].pooled
        for one in (records[2], wider)
    )
    assert clustered.weight < plain.weight


def test_amounts_stay_above_nothing():
    records = [
        Measure(reader="a", measure="error", by={"task": str(value)}, value=value, n=4, se=1.0)
        for value in (0.1, 0.5, 2.0, 3.0, 9.0)
    ]
    made = with_pooled(records, SPECS)
    assert min(one.pooled.low for one in made) == 0
    assert made[4].pooled.high > 9
