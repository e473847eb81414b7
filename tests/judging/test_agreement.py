"""Agreement between judges, against counting by hand."""

from __future__ import annotations

from itertools import combinations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from overread.judging.agreement import agreements, pair_agreement
from overread.stats import cohen_kappa

LABELS = st.sampled_from(["yes", "no", None])
ROWS = st.lists(st.tuples(LABELS, LABELS, LABELS, st.sampled_from("xy")), max_size=20)


@settings(max_examples=40)
@given(ROWS)
def test_each_pair_overall_and_in_each_group_over_what_both_said(
    rows: list[tuple[str | None, str | None, str | None, str]],
) -> None:
    labels = {name: [row[at] for row in rows] for at, name in enumerate("abc")}
    groups = [row[3] for row in rows]
    found = {
        (one.first, one.second, one.group): one for one in agreements(labels, groups, n_boot=50)
    }
    assert set(found) == {
        (a, b, group) for a, b in combinations("abc", 2) for group in (None, *set(groups))
    }
    for (a, b, group), one in found.items():
        places = [at for at, own in enumerate(groups) if group in (None, own)]
        both = [(labels[a][at], labels[b][at]) for at in places]
        both_said = [pair for pair in both if None not in pair]
        assert (one.n, one.missing) == (len(both_said), len(both) - len(both_said))
        if both_said:
            assert one.percent.point == sum(x == y for x, y in both_said) / len(both_said)
            assert one.kappa.point == cohen_kappa(*map(list, zip(*both_said, strict=True)))
        else:
            assert one.percent.point is None
        assert (one.kappa.low is None) or one.kappa.low < (one.kappa.high or 0)
        assert (one.kappa.low is not None) or one.note


def test_labels_may_be_paths() -> None:
    paths = [("modality", "feature"), ("feature",), ()]
    found = pair_agreement("a", "b", paths, [paths[0], paths[1], paths[1]])
    assert found.n == 3
    assert found.percent.point == pytest.approx(2 / 3)


def test_agreement_on_one_thing_only_has_no_kappa_and_perfect_agreement_no_interval() -> None:
    one = pair_agreement("a", "b", ["yes"] * 4, ["yes"] * 4)
    assert (one.kappa.point, one.note) == (None, "both said one thing only")
    perfect = pair_agreement("a", "b", ["yes", "no"] * 4, ["yes", "no"] * 4)
    assert perfect.kappa.point == 1
    assert perfect.kappa.low is None
    assert perfect.percent.low is not None
    assert perfect.percent.low < 1


def test_labels_that_are_not_aligned_are_refused() -> None:
    with pytest.raises(ValueError, match="not aligned"):
        agreements({"a": ["yes"], "b": []})
