"""Agreement between judges, against counting by hand."""

from __future__ import annotations

import pytest

from overread.judging.agreement import pair_agreement


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
