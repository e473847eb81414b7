"""Laws that every measure keeps, and what each of the main ones says of readers made by hand."""

from __future__ import annotations

import math

import msgspec
import numpy as np
import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from overread.benchmarks.heartbeat.edition import AUTHORS, CORRECTED
from overread.benchmarks.heartbeat.marks import facts_of, marks_of
from overread.benchmarks.heartbeat.measures import METRICS, measure
from overread.case import BadInput
from support.heart_answers import found, rows, tables_of

QUICK = [msgspec.structs.replace(edition, boot=60) for edition in (AUTHORS, CORRECTED)]
BY = {"task": "t1", "context": "original", "format": "edv", "phase": "ed"}
N = 12
# Made together with a registered measure.
ALONGSIDE = {"recall", "f1", "parsed_lenient", "ef_mae_clipped"}


SOME = st.integers(1, 6)


@st.composite
def runs(draw, videos=SOME):
    """Answers to T1 and T2 of a few videos, with holes, refusals and absurd numbers."""
    many, seeds, passes = draw(videos), draw(st.integers(1, 3)), draw(st.integers(1, 3))
    frames = st.integers(0, N - 1)
    answer = st.one_of(
        st.none(), st.sampled_from(["refused", "unanswered"]), frames, st.integers(-3, 10**7)
    )

    def cube(of):
        line = st.lists(of, min_size=passes, max_size=passes)
        block = st.lists(line, min_size=seeds, max_size=seeds)
        return draw(st.lists(block, min_size=many, max_size=many))

    pair = st.one_of(st.none(), st.tuples(frames, frames))
    true = [[(draw(frames), draw(frames))] * seeds for _ in range(many)]
    some = rows(cube(answer), true, wanted="edv", count=N)
    some += rows(cube(pair), true, wanted="edv_esv", count=N)
    some += rows(cube(pair), true, wanted="edv_esv", context="segmented", count=N)
    bits = [[draw(st.integers(0, 1)) for _ in range(seeds)] for _ in range(many)]
    vote = st.one_of(st.none(), st.integers(-1, 2), st.just("unanswered"))
    some += rows(cube(vote), bits, wanted="edv", task="t2")
    patients = draw(st.lists(st.sampled_from(["p", "q", None]), min_size=many, max_size=many))
    return tables_of(some, patients, ed=[t[0][0] + 5 for t in true], es=[t[0][1] + 5 for t in true])


def key(record):
    return record.reader, record.measure, tuple(sorted(record.by.items()))


def numbers(record):
    fields = ("value", "n", "k", "se", "sd_boot", "sd_seeds", "sd_videos", "low", "high", "p", "q")
    return {field: getattr(record, field) for field in fields}


def assert_same(one, two):
    assert sorted(map(key, one)) == sorted(map(key, two))
    other = {key(record): record for record in two}
    for record in one:
        for field, value in numbers(record).items():
            want = getattr(other[key(record)], field)
            if value is None or want is None:
                assert value is want is None, (key(record), field)
            else:
                assert value == pytest.approx(want, rel=1e-6, abs=1e-6), (key(record), field)


laws = settings(max_examples=12, deadline=None, suppress_health_check=[HealthCheck.too_slow])


@pytest.mark.parametrize("edition", QUICK, ids=["authors", "corrected"])
@laws
@given(tables=runs(), seed=st.integers(0, 99))
def test_the_order_of_the_rows_does_not_matter(edition, tables, seed):
    shuffled = msgspec.structs.replace(
        tables,
        answers=tables.answers.sample(fraction=1, shuffle=True, seed=seed),
        cases=tables.cases.sample(fraction=1, shuffle=True, seed=seed),
    )
    assert_same(measure(tables, edition), measure(shuffled, edition))


@pytest.mark.parametrize("edition", QUICK, ids=["authors", "corrected"])
@laws
@given(tables=runs())
def test_the_names_of_videos_and_patients_do_not_matter(edition, tables):
    old = tables.cases["case"].to_list()
    new = {name: f"x{len(old) - place:03d}" for place, name in enumerate(old)}
    people = {"p": "z", "q": "a"}
    renamed = msgspec.structs.replace(
        tables,
        answers=tables.answers.with_columns(pl.col("case").replace(new)),
        cases=tables.cases.with_columns(
            pl.col("case").replace(new), pl.col("patient").replace(people)
        ),
    )
    one, two = measure(tables, edition), measure(renamed, edition)
    if edition.name == "authors":
        # Their Monte Carlo draws video by video, so its last digits go by the order of the set.
        one, two = ([m for m in some if not m.measure.startswith("chance")] for some in (one, two))
    assert_same(one, two)


@pytest.mark.parametrize("edition", QUICK, ids=["authors", "corrected"])
@laws
@given(tables=runs())
def test_every_record_is_sound(edition, tables):
    for record in measure(tables, edition):
        for field, value in numbers(record).items():
            assert value is None or math.isfinite(value), (key(record), field)
        if record.value is None:
            assert record.note, key(record)
            assert record.low is record.high is None, key(record)
        if record.low is not None or record.high is not None:
            assert record.low < record.high, key(record)
            if not record.measure.startswith("chance"):
                assert record.low <= record.value <= record.high, key(record)
            assert record.method, key(record)
        if record.k is not None and record.value is not None:
            assert record.value == record.k / record.n
        assert record.measure in METRICS or record.measure in ALONGSIDE


@pytest.mark.parametrize("edition", QUICK, ids=["authors", "corrected"])
@laws
@given(tables=runs(videos=st.just(1)))
def test_one_video_has_no_interval(edition, tables):
    for record in measure(tables, edition):
        if not record.measure.startswith("chance"):
            assert record.low is record.high is record.p is None, key(record)


# ---------------------------------------------------------------- readers made by hand

TRUTH = [3, 9, 4, 8, 2, 7, 5, 6]


def one(answers, edition=CORRECTED, name="mae", seeds=2, **more):
    said = [[[a] * 3 for _ in range(seeds)] for a in answers]
    tables = tables_of(rows(said, [[t] * seeds for t in TRUTH], count=N, **more))
    return found(measure(tables, edition), name, reader="r", **BY)


def test_a_perfect_reader():
    mae, skill, r = (one(TRUTH, name=name) for name in ("mae", "skill", "r"))
    assert (mae.value, skill.value, mae.low, skill.high) == (0, 1, 0, 1)
    assert mae.high > 0
    assert 0.5 < skill.low < 1
    assert r.value == pytest.approx(1)


def test_a_constant_reader():
    mae, r, skill = (one([5] * 8, name=name) for name in ("mae", "r", "skill"))
    assert mae.value == pytest.approx(np.mean([abs(t - 5) for t in TRUTH]))
    assert r.value is None
    assert "constant" in r.note
    assert skill.value == pytest.approx(1 - mae.value / one([5] * 8, name="constant_mae").value)


def test_the_sign_of_a_correlation_is_kept():
    assert one([11 - t for t in TRUTH], name="r").value == pytest.approx(-1)
    assert one([11 - t for t in TRUTH], name="r2").value == pytest.approx(1)


def test_two_videos_always_correlate_so_ours_has_no_such_number():
    tables = tables_of(rows([[[4]], [[9]]], [[3], [5]], count=N))
    authors, ours = (found(measure(tables, edition), "r2", **BY) for edition in QUICK)
    assert (authors.value, ours.value) == (pytest.approx(1), None)


def test_one_absurd_answer_moves_the_mean_and_not_the_others():
    absurd = [*TRUTH[:-1], 10**7]
    assert one(absurd).value > 10**6
    assert one(absurd, name="mae_clipped").value == pytest.approx((N - 1 - TRUTH[-1]) / 8)
    assert one(absurd, name="mae_median").value == 0


def test_seeds_are_not_videos():
    """Ten times the seeds bring no narrower interval."""
    answers = [t + shift for t, shift in zip(TRUTH, (1, 3, 0, 2, 5, 1, 0, 4), strict=True)]
    few, many = (one(answers, seeds=seeds) for seeds in (1, 10))
    assert (few.low, few.high) == pytest.approx((many.low, many.high))


def test_patients_with_several_clips_are_resampled_whole():
    answers = [t + shift for t, shift in zip(TRUTH, (0, 0, 6, 6, 1, 1, 9, 9), strict=True)]
    some = rows([[[a]] for a in answers], [[t] for t in TRUTH], count=N)
    alone = found(measure(tables_of(some), CORRECTED), "mae", **BY)
    pairs = tables_of(some, ["a", "a", "b", "b", "c", "c", "d", "d"])
    together = found(measure(pairs, CORRECTED), "mae", **BY)
    assert together.value == alone.value
    assert together.high - together.low > 1.2 * (alone.high - alone.low)


def test_the_same_seed_gives_the_same_interval_and_another_nearly_the_same():
    answers = [t + shift for t, shift in zip(TRUTH, (1, 3, 0, 2, 5, 1, 0, 4), strict=True)]
    first, again = one(answers), one(answers)
    assert first == again
    other = one(answers, msgspec.structs.replace(CORRECTED, seed=5))
    assert (other.low, other.high) == pytest.approx((first.low, first.high), abs=0.3)


def test_the_interval_of_the_mean_against_the_textbook():
    rng = np.random.default_rng(1)
    off = rng.integers(0, 9, 60)
    truth = [[20]] * 60
    some = rows([[[20 + int(x)]] for x in off], truth, count=50)
    got = found(measure(tables_of(some), CORRECTED), "mae", **BY)
    half = 1.96 * off.std(ddof=1) / 60**0.5
    assert (got.low, got.high) == pytest.approx((off.mean() - half, off.mean() + half), abs=0.1)


def test_a_constant_answer_to_which_of_two_gives_the_papers_row():
    """Table 4: Gemma-3n, 100 videos and seeds 2020-2029, 0.514 with SD 0.061."""
    from overread.benchmarks.heartbeat.authors.rules import t2_orders

    orders = np.array([t2_orders(100, seed) for seed in range(2020, 2030)]).T
    for answer in (0, 1):
        said = [[[answer] * 3 for _ in range(10)] for _ in range(100)]
        tables = tables_of(rows(said, orders.tolist(), task="t2"))
        got = [
            found(measure(tables, edition), "accuracy", **BY | {"task": "t2"}) for edition in QUICK
        ]
        want = 0.514 if answer == 0 else 0.486
        for record in got:
            assert round(max(record.value, 1 - record.value), 3) == 0.514
            assert round(record.sd_seeds, 3) == 0.061
        assert {round(record.value, 3) for record in got} <= {want, round(1 - want, 3)}


# ---------------------------------------------------------------- guessers


def guesser(tables, name, measure_name, phase, edition=CORRECTED):
    got = measure(tables, edition, volumes=getattr(tables, "volumes", None))
    return found(got, measure_name, reader=f"baseline:{name}", task="t1", phase=phase)


def windows(lengths):
    """Windows of the authors' kind, ED first."""
    margins = [2 * between // 3 for between in lengths]
    truth = [[(m, m + between)] for m, between in zip(margins, lengths, strict=True)]
    counts = [between + 2 * m + 1 for m, between in zip(margins, lengths, strict=True)]
    return rows([[[None]] for _ in lengths], truth, wanted="edv_esv", count=counts)


def test_the_length_of_a_window_gives_the_answer_away():
    tables = tables_of(windows([9, 12, 17, 20, 23]))
    for phase in ("ed", "es"):
        assert guesser(tables, "length", "mae", phase).value == 0
        assert guesser(tables, "length", "skill", phase).value == 1


def test_whichever_phase_most_videos_have_first_the_length_says_first():
    margins = [(between, 2 * between // 3) for between in (9, 12, 17, 20, 23)]
    truth = [[(m + between, m)] for between, m in margins]
    counts = [between + 2 * m + 1 for between, m in margins]
    some = rows([[[None]] for _ in truth], truth, wanted="edv_esv", count=counts)
    for phase in ("ed", "es"):
        assert guesser(tables_of(some), "length", "mae", phase).value == 0


def test_guessers_answer_every_window_that_any_setting_shows():
    truth = [[(3, 9)], [(4, 8)], [(1, 7)]]
    part = rows([[[None]]] * 2, truth, wanted="edv_esv", count=12)
    whole = rows([[[None]]] * 3, truth, wanted="edv_esv", context="segmented", count=12)
    got = guesser(tables_of(part + whole), "first", "mae", "ed")
    assert (got.n, got.value) == (3, pytest.approx((3 + 4 + 1) / 3))


def test_windows_of_one_length_give_nothing_away():
    truth = [[(a, a + 9)] for a in (1, 4, 2, 8, 5, 3)]
    tables = tables_of(rows([[[None]]] * 6, truth, wanted="edv_esv", count=24))
    assert guesser(tables, "length", "skill", "ed").value == 0
    assert guesser(tables, "middle", "mae", "ed").value == np.mean([12 - t[0][0] for t in truth])
    assert guesser(tables, "first", "mae", "ed").value == np.mean([t[0][0] for t in truth])


@pytest.mark.parametrize(("name", "given"), [("area", "areas"), ("volume", "volumes")])
def test_the_largest_and_the_smallest_of_the_window(name, given):
    truth = [[(1, 5)], [(2, 6)]]
    tables = tables_of(
        rows([[[None]]] * 2, truth, wanted="edv_esv", count=[8, 12]), ed=[4, 9], es=[8, 13]
    )
    volumes = {"v000": np.full(20, 50.0), "v001": np.full(30, 50.0)}
    # The largest of all lie before the window and behind it.
    volumes["v000"][[0, 4, 8, 11]] = 99, 70, 20, 98
    volumes["v001"][[9, 14]] = 80, 10
    got = measure(tables, CORRECTED, **{given: volumes})
    by = {"reader": f"baseline:{name}", "task": "t1"}
    assert found(got, "mae", phase="ed", **by).value == 0
    assert found(got, "mae", phase="es", **by).value == 0.5


# ---------------------------------------------------------------- what cannot be measured


def test_an_answer_to_an_unknown_case_is_refused():
    tables = tables_of(rows([[[1]]], [[1]]))
    with pytest.raises(BadInput, match="v000"):
        marks_of(tables.answers, facts_of(tables.cases.clear()))


def test_two_answers_to_one_pass_are_refused():
    tables = tables_of(rows([[[1]]], [[1]]))
    with pytest.raises(BadInput, match="twice"):
        marks_of(pl.concat([tables.answers] * 2), facts_of(tables.cases))


def test_passes_of_one_seed_share_their_truth():
    some = rows([[[1, 2]]], [[1]])
    some[1]["truth_ed"] = 7
    tables = tables_of(some)
    with pytest.raises(BadInput, match="truth_ed"):
        marks_of(tables.answers, facts_of(tables.cases))


def test_a_case_never_joins_the_patient_of_its_name():
    tables = tables_of(rows([[[1]], [[2]]], [[1], [2]]), [None, "v000"])
    assert len(set(facts_of(tables.cases).patients.tolist())) == 2


def test_every_metric_is_registered_once_and_says_what_it_is():
    assert all(metric.says and metric.name == name for name, metric in METRICS.items())
    assert {"mae", "skill", "accuracy", "order_bias", "ef_mae"} <= set(METRICS)
