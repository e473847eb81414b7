"""The paper's tables and figures, from one run's measures."""

from __future__ import annotations

from functools import cache

import numpy as np

from overread.benchmarks.heartbeat.edition import AUTHORS, CONTEXTS, CORRECTED, FORMATS
from overread.benchmarks.heartbeat.exhibits import exhibits
from overread.benchmarks.heartbeat.exhibits.tables import number
from overread.benchmarks.heartbeat.marks import phases_of
from overread.benchmarks.heartbeat.measures import measure
from overread.case import Figure, Table
from support.heart_answers import rows, tables_of

VIDEOS, SEEDS = 6, 2


def whole_run(readers=("looks", "guesses")):
    rng = np.random.default_rng(3)
    truth = [(int(a), int(a) + 9) for a in rng.integers(1, 12, VIDEOS)]
    some = []
    for reader in readers:
        wide = 2 if reader == "looks" else 20
        for context in CONTEXTS:
            for wanted in FORMATS:
                off = rng.integers(-wide, wide + 1, (VIDEOS, SEEDS, 2, 2))
                said = [
                    [
                        [_said(truth[v], off[v, s, p], wanted) for p in range(2)]
                        for s in range(SEEDS)
                    ]
                    for v in range(VIDEOS)
                ]
                kind = {"wanted": wanted, "context": context, "reader": reader, "count": 24}
                some += rows(said, [[t] * SEEDS for t in truth], **kind)
            for wanted in ("edv", "esv"):
                bits = rng.integers(0, 2, (VIDEOS, SEEDS)).tolist()
                said = [[[b] if reader == "looks" else [0] for b in line] for line in bits]
                kind = {"wanted": wanted, "context": context, "reader": reader, "task": "t2"}
                some += rows(said, bits, **kind)
    ed, es = zip(*truth, strict=True)
    return tables_of(some, ed=list(ed), es=list(es), ef=[60.0] * VIDEOS)


def _said(true, off, wanted):
    both = tuple(int(t + o) for t, o in zip(true, off, strict=True))
    return both if len(phases_of(wanted)) == 2 else both[wanted == "esv"]


@cache
def shown(edition="corrected"):
    rules = CORRECTED if edition == "corrected" else AUTHORS
    volumes = {f"v{n:03d}": 50 + 20 * np.cos(np.arange(40) / 3 + n) for n in range(VIDEOS)}
    measures = measure(whole_run(), rules, volumes=volumes, volume_method="discs")
    return {one.name: one for one in exhibits(measures, "heartbeat|test")}


def test_every_table_of_the_paper_is_there():
    for edition in ("corrected", "authors"):
        names = set(shown(edition))
        assert {f"{kind}_{c}" for kind in ("frames", "videos") for c in CONTEXTS} <= names
        assert {"summary", "accuracy_t2", "contexts", "habits"} <= names


def test_every_figure_of_the_paper_is_there_and_can_be_drawn():
    figures = [one for one in shown().values() if isinstance(one, Figure)]
    names = {figure.name for figure in figures}
    assert {"mae_ed", "mae_es", "accuracy_two_frames", "scatter_ed_looks"} <= names
    for figure in figures:
        assert figure.rows
        assert figure.alt
        assert figure.svg().startswith("<svg")


def test_the_summary_comes_first_even_of_nothing():
    (only,) = exhibits([], "s")
    assert (only.name, only.rows) == ("summary", ())
    assert next(iter(shown())) == "summary"


def test_readers_whose_names_differ_in_a_sign_keep_their_own_figures():
    measures = measure(whole_run(("a/b", "a:b")), CORRECTED)
    names = [one.name for one in exhibits(measures, "s")]
    assert len(set(names)) == len(names)


def test_tables_are_square_and_signed():
    for one in shown().values():
        assert one.signature == "heartbeat|test"
        if isinstance(one, Table):
            assert all(len(row) == len(one.columns) for row in one.rows)


def test_a_phase_that_was_not_asked_is_no_unknown():
    table = shown()["frames_original"]
    row = next(r for r in table.rows if r[:2] == ("looks", "esv"))
    assert row[2:4] == ("-", "-")
    assert "±" in row[4]


def test_guesses_stand_in_the_first_row_and_the_baselines_in_the_summary():
    assert shown()["frames_original"].rows[0][0] == "Random"
    assert any(row[0] == "baseline:middle" for row in shown()["summary"].rows)


def test_numbers_keep_their_width():
    assert [number(x) for x in (None, 4.138, 7538.39, 6.7e9)] == [
        "n/a",
        "4.14",
        "7538.39",
        "6.70e+09",
    ]
    assert number(-0.001, signed=True) == "0.00"
