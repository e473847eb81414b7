"""Laws that every measure keeps, contexts set beside each other, and values video by video."""

from __future__ import annotations

import math
import statistics

import msgspec
import numpy as np
import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from overread.benchmarks.heartbeat import Heartbeat
from overread.benchmarks.heartbeat.edition import AUTHORS, CORRECTED
from overread.benchmarks.heartbeat.marks import facts_of, marks_of
from overread.benchmarks.heartbeat.measures import COMPARED, SPECS, measure
from overread.case import BadInput, Measure
from overread.measuring.contrasts import with_q
from support.heart_answers import found, rows, tables_of, with_volumes

# -------- Laws that every measure keeps, and what each of the main ones says of readers made by hand

QUICK = [msgspec.structs.replace(edition, boot=60) for edition in (AUTHORS, CORRECTED)]
BY = {"task": "t1", "context": "original", "format": "edv", "phase": "ed"}
N = 12
# Made together with a registered measure.
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


@pytest.mark.slow
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


@pytest.mark.slow
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


@pytest.mark.slow
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
        assert record.measure in SPECS


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
    got = measure(tables, edition)
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
    got = measure(with_volumes(tables, **{"volumes": {}, given: volumes}), CORRECTED)
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


def test_every_spec_is_registered_once_and_says_what_it_is():
    assert all(spec.says and spec.name == name for name, spec in SPECS.items())
    assert {"mae", "skill", "accuracy", "order_bias", "ef_mae"} <= set(SPECS)


# ----------------------------------------------------------- Does the overlay help? Paired by video

KEY = {"task": "t1", "context": "segmented", "format": "edv", "phase": "ed", "versus": "original"}


def test_the_difference_is_of_the_same_videos():
    plain = rows([[[4]], [[9]], [[30]]], [[1], [2], [3]], context="original")
    red = rows([[[1]], [[3]], [[None]]], [[1], [2], [3]], context="segmented")
    got = found(measure(tables_of(plain + red), CORRECTED), "diff_mae", **KEY)
    assert got.value == pytest.approx(((0 - 3) + (1 - 7)) / 2)
    assert got.n == 2
    assert got.q is not None


def test_a_shift_of_every_video_is_found_and_its_interval_excludes_none():
    rng = np.random.default_rng(0)
    truth = [[int(t)] for t in rng.integers(5, 20, 30)]
    plain = rows([[[t[0] + int(rng.integers(4, 8))]] for t in truth], truth, context="original")
    red = rows([[[t[0] + int(rng.integers(0, 3))]] for t in truth], truth, context="segmented")
    words = rows([[[t[0] + 1]] for t in truth], truth, context="non_medical")
    got = measure(tables_of(plain + red + words), CORRECTED)
    helps = found(got, "diff_mae", **KEY)
    assert helps.high < 0
    assert helps.p < 0.001
    other = found(got, "diff_mae", **KEY | {"context": "non_medical", "versus": "segmented"})
    assert other.n == 30


def test_the_two_frame_task_has_its_own():
    plain = rows([[[0]], [[0]]], [[1], [0]], task="t2", context="original")
    red = rows([[[1]], [[0]]], [[1], [0]], task="t2", context="segmented")
    got = found(measure(tables_of(plain + red), CORRECTED), "diff_accuracy", **KEY | {"task": "t2"})
    assert got.value == pytest.approx(0.5)


def test_the_clips_of_a_patient_change_sign_together():
    plain = rows([[[9]] for _ in range(8)], [[1]] * 8, context="original")
    red = rows([[[1]] for _ in range(8)], [[1]] * 8, context="segmented")
    alone, pairs = (
        found(measure(tables_of(plain + red, patients), CORRECTED), "diff_mae", **KEY).p
        for patients in (None, list("aabbccdd"))
    )
    # All eight, or all four, on one side: 2 of 2^8, 2 of 2^4.
    assert alone == pytest.approx(2 / 2**8, rel=0.3)
    assert pairs == pytest.approx(2 / 2**4, rel=0.1)


def test_p_is_adjusted_within_its_family():
    """Benjamini and Hochberg by hand: two readers beside the same context, one beside another."""
    by = {"a": 0.01, "b": 0.04, "c": 0.03}
    records = [
        Measure(reader=name, measure="diff_mae", p=p, family="one" if name != "c" else "two")
        for name, p in by.items()
    ]
    got = {record.reader: record.q for record in with_q(records)}
    assert got == pytest.approx({"a": 0.02, "b": 0.04, "c": 0.03})


# ---------------------------------------------- Errors video by video: their means are the measures

COLUMNS = {"reader": pl.String, "case": pl.String, "cluster": pl.String, "value": pl.Float64}
MEASURED_CORRECTED = Heartbeat.of_run("set@0", "open", words={"boot": "100"})


def values(frame):
    assert dict(frame.schema) == COLUMNS
    return {(reader, case): value for reader, case, _, value in frame.iter_rows()}


def slow_error(said, truth):
    """Mean over seeds of |truth - mean of the parsed passes|, by video; pairs are (ed, es)."""
    out = {}
    for video, seeds in enumerate(said):
        for phase in (0, 1):
            offs = []
            for seed, passes in enumerate(seeds):
                there = [a[phase] for a in passes if isinstance(a, tuple)]
                if there:
                    offs.append(abs(truth[video][seed][phase] - statistics.fmean(there)))
            if offs:
                out[f"v{video:03d}", phase] = statistics.fmean(offs)
    return out


def slow_right(said, truth):
    """The share of seeds in which most parsed passes name the truth, of seeds with any reply."""
    out = {}
    for video, seeds in enumerate(said):
        hits = []
        for seed, passes in enumerate(seeds):
            if all(a == "unanswered" for a in passes):
                continue
            there = [a for a in passes if isinstance(a, int)]
            counts = {0: there.count(0), 1: there.count(1)}
            strange = len(there) - sum(counts.values())
            own = counts[truth[video][seed]]
            hits.append(own > max(counts[1 - truth[video][seed]], strange))
        if hits:
            out[f"v{video:03d}"] = statistics.fmean(hits)
    return out


@st.composite
def cubes(draw):
    videos, seeds, passes = (draw(st.integers(1, 4)) for _ in range(3))
    frame = st.integers(0, N - 1)
    pair = st.one_of(st.none(), st.sampled_from(["refused", "unanswered"]), st.tuples(frame, frame))
    vote = st.one_of(st.none(), st.just("unanswered"), st.integers(0, 2))

    def cube(of):
        line = st.lists(of, min_size=passes, max_size=passes)
        block = st.lists(line, min_size=seeds, max_size=seeds)
        return draw(st.lists(block, min_size=videos, max_size=videos))

    true = [[(draw(frame), draw(frame))] * seeds for _ in range(videos)]
    bits = [[draw(st.integers(0, 1)) for _ in range(seeds)] for _ in range(videos)]
    return cube(pair), true, cube(vote), bits


@pytest.mark.slow
@given(cubes())
@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_as_the_definitions_read(made):
    pairs, true, votes, bits = made
    some = rows(pairs, true, wanted="edv_esv", count=N)
    some += rows(pairs, true, wanted="esv_edv", context="segmented", count=N)
    some += rows(votes, bits, wanted="esv", task="t2")
    frames = MEASURED_CORRECTED.per_case(tables_of(some))
    assert set(frames) == {"mae_ed", "mae_es", "accuracy_es"}
    errors = slow_error(pairs, true)
    for at, phase in enumerate(("ed", "es")):
        want = {("r", case): off for (case, which), off in errors.items() if which == at}
        assert values(frames[f"mae_{phase}"]) == pytest.approx(want)
    want = {("r", case): share for case, share in slow_right(votes, bits).items()}
    assert values(frames["accuracy_es"]) == pytest.approx(want)


@pytest.mark.parametrize(("edition", "name"), [("corrected", "mae"), ("authors", "mae_videos")])
def test_means_are_the_measures(edition, name):
    said = [
        [[(3, 9), None], [(4, 8), (5, 9)]],
        [[(1, 2), (1, 3)], [None, None]],
        [[(0, 0)] * 2] * 2,
    ]
    true = [[(2, 8)] * 2, [(4, 9)] * 2, [(1, 7)] * 2]
    bits = [[0, 1], [1, 1], [0, 0]]
    votes = [[[0, 0], [1, 1]], [[0, 1], [1, 1]], [[1, 1], [0, 0]]]
    tables = tables_of(
        rows(said, true, wanted="edv_esv", count=N) + rows(votes, bits, wanted="edv", task="t2")
    )
    bench = Heartbeat.of_run("set@0", "open", edition, {"boot": "100"})
    assert bench.compared
    assert set(bench.higher_is_better) == {spec.name for spec in COMPARED}
    measures = measure(tables, bench.rules)
    frames = bench.per_case(tables)
    setting = {"task": "t1", "context": "original", "format": "edv_esv"}
    for phase in ("ed", "es"):
        record = found(measures, name, reader="r", phase=phase, **setting)
        assert frames[f"mae_{phase}"]["value"].mean() == pytest.approx(record.value)
        assert frames[f"mae_{phase}"].height == record.n
    record = found(
        measures, "accuracy", reader="r", task="t2", context="original", format="edv", phase="ed"
    )
    assert frames["accuracy_ed"]["value"].mean() == pytest.approx(record.value)


def test_single_formats_stand_in_for_a_pair():
    some = rows([[[4]]], [[3]], wanted="edv") + rows([[[4]]], [[9]], wanted="esv")
    frames = MEASURED_CORRECTED.per_case(tables_of(some))
    assert {name: frame["value"].to_list() for name, frame in frames.items()} == {
        "mae_ed": [1.0],
        "mae_es": [5.0],
    }


def test_a_cluster_is_the_patient_or_the_video():
    some = rows([[[1]]] * 4, [[1]] * 4, count=N)
    tables = tables_of(some, patients=["p", "p", None, "v002"])
    a, b, c, d = MEASURED_CORRECTED.per_case(tables)["mae_ed"]["cluster"]
    assert a == b
    assert len({a, c, d}) == 3


def test_nothing_asked_nothing_compared():
    assert MEASURED_CORRECTED.per_case(tables_of([])) == {}
