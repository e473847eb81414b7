"""Readers against readers, and a base against its medical fine-tune."""

from __future__ import annotations

import msgspec
import pytest

from overread.benchmarks.medcmr.edition import CORRECTED, Options
from overread.case import BadInput
from support.med_runs import chosen_measures, coin_p
from support.med_tables import chose, found, mcq, tables_of

OURS = msgspec.structs.replace(CORRECTED, boot=500)


def run(options=None, **letters):
    """Every reader's letters by item; right is A."""
    n = len(next(iter(letters.values())))
    cases = [mcq(index, dimension="SOD" if index % 2 else "TP") for index in range(n)]
    answers = [
        chose(reader, index, letter)
        for reader, said in letters.items()
        for index, letter in enumerate(said)
    ]
    return chosen_measures(tables_of(cases, answers), OURS, options)


def test_every_pair_once_in_the_runs_order():
    made = run(one="AA", two="AB", three="BB")
    pairs = [(r.reader, r.by["versus"]) for r in made if r.measure == "diff_accuracy"]
    assert pairs == [("one", "two"), ("one", "three"), ("two", "three")]


def test_a_difference_is_paired_and_its_p_exact():
    record = found(run(one="AAAAAAAABB", two="AABBBBBBAB"), "diff_accuracy", "one", versus="two")
    assert record.value == pytest.approx(0.5)
    assert record.p == coin_p(6, 1)
    assert record.family == "diff_accuracy"
    assert record.low < 0.5 < record.high
    assert record.method == "bootstrap of items:500:0"


def test_what_counts_as_wrong_is_noted_by_reader():
    record = found(run(one="A?", two="!B"), "diff_accuracy", "one", versus="two")
    assert record.value == 0.5
    assert record.note == ("one: 1 invalid counted as wrong; two: 1 refused counted as wrong")


def test_what_a_fine_tune_lost_and_won():
    made = run(Options(pairs=(("base", "med"),)), base="AAAABB", med="ABBBAB")
    lost = found(made, "only_base", "med", versus="base")
    won = found(made, "only_medical", "med", versus="base")
    assert (lost.k, lost.n, won.k, won.n) == (3, 6, 1, 6)
    assert lost.low < lost.value < lost.high
    assert found(made, "only_base", "med", versus="base", dimension="SOD").k == 2
    gap = found(made, "diff_accuracy", "base", versus="med")
    assert gap.value == pytest.approx(lost.value - won.value)


def test_a_pair_that_is_not_in_the_run_is_refused():
    with pytest.raises(BadInput, match="pairs=base>gone: the run has no reader gone; it has base"):
        run(Options(pairs=(("base", "gone"),)), base="AB")
