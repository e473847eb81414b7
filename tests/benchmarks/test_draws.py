"""Draws that depend on names and a seed alone."""

from __future__ import annotations

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from overread.benchmarks.draws import derangement, lot, spread

SEEDS = st.integers(0, 2**32 - 1)
# Names with what they are linked by: a first link, and perhaps more.
ITEMS = st.lists(
    st.lists(st.sampled_from("pqrstuvw"), min_size=1, max_size=3).map(tuple), max_size=20
).map(lambda rows: [(str(place), links) for place, links in enumerate(rows)])


def deranged(items, seed):
    found = derangement(items, seed, name=lambda item: item[0], links=lambda item: item[1])
    return {item[0]: lender for item, lender in found}


def kin(item, items):
    """All items that a chain of links joins to one."""
    found = [item]
    while True:
        held = {link for _, links in found for link in links}
        more = [other for other in items if other not in found and held & set(other[1])]
        if not more:
            return found
        found += more


def test_lots_are_the_same_everywhere():
    assert lot("swap", 0, "1") == 0x2F18DDFD614116DE98710C01ADBFD88F
    assert len({lot(purpose, seed, "1") for purpose in "ab" for seed in (0, 1)}) == 4
    assert lot("swap", 3, "\ud800") == lot("swap", 3, "\ud800")


@given(ITEMS, SEEDS)
def test_everyone_with_a_stranger_has_one_as_lender(items, seed):
    lent = deranged(items, seed)
    for item in items:
        strangers = [other for other in items if other not in kin(item, items)]
        assert lent[item[0]] in strangers if strangers else item[0] not in lent
    if items and all(2 * len(kin(item, items)) <= len(items) for item in items):
        assert len({lender[0] for lender in lent.values()}) == len(items)


@given(ITEMS, SEEDS, st.randoms())
def test_a_derangement_knows_no_order(items, seed, random):
    assert deranged(random.sample(items, len(items)), seed) == deranged(items, seed)


def test_long_chains_of_links_are_one_owner():
    items = [(f"{n:05}", (f"{n:05}", f"{n + 1:05}")) for n in range(20_000)]
    assert deranged(items, 0) == {}
    assert len(deranged([*items, ("x", ("x",))], 0)) == 20_001


MEMBERS = st.lists(st.sampled_from([None, "SOD", "CR", "TP"]), max_size=40).map(
    lambda strata: [(str(place), stratum) for place, stratum in enumerate(strata)]
)


def sample(items, n, seed=0):
    return spread(
        items, n, seed, purpose="test", name=lambda item: item[0], stratum=lambda item: item[1]
    )


@given(MEMBERS, st.integers(0, 50), SEEDS)
def test_every_stratum_has_its_share(items, n, seed):
    found = sample(items, n, seed)
    assert len(set(found)) == len(found) == min(n, len(items))
    had, drawn = Counter(s for _, s in items), Counter(s for _, s in found)
    for stratum, size in had.items():
        # Half an item for its own rounding, and its part of what the others' rounding moves.
        slack = 0.5 + len(had) / 2 * size / len(items)
        assert abs(drawn[stratum] - len(found) * size / len(items)) <= slack + 1e-9


@given(MEMBERS, st.integers(0, 50), st.integers(0, 9), SEEDS, st.randoms())
def test_a_larger_sample_holds_the_smaller_in_any_order(items, n, more, seed, random):
    assert set(sample(items, n, seed)) <= set(sample(items, n + more, seed))
    assert sample(random.sample(items, len(items)), n, seed) == sample(items, n, seed)


def test_the_seed_matters():
    items = [(str(n), None) for n in range(100)]
    assert sample(items, 10, 0) != sample(items, 10, 1)
    assert deranged([(name, (name,)) for name, _ in items], 0) != deranged(
        [(name, (name,)) for name, _ in items], 1
    )
