"""Habits that pass for seeing become numbers."""

from __future__ import annotations

import msgspec
import polars as pl
import pytest

from overread.benchmarks.heartbeat.edition import CORRECTED
from overread.benchmarks.heartbeat.measures import measure
from support.heart_answers import found, rows, tables_of

# Six videos of 21 frames, ED before ES in five of them.
TRUTHS = [(3, 12), (4, 14), (2, 13), (5, 16), (15, 4), (6, 17)]
COUNT = 21


def asked(answers, wanted, **more):
    """One seed, two passes: `answers(video, first)` gives (ed, es)."""
    said = [[[answers(v, wanted) for _ in range(2)]] for v in range(len(TRUTHS))]
    if wanted in ("edv", "esv"):
        said = [[[pair[wanted == "esv"] for pair in p] for p in seeds] for seeds in said]
    return rows(said, [[t] for t in TRUTHS], wanted=wanted, count=COUNT, **more)


def measured(answers, *formats, **more):
    some = [row for wanted in formats for row in asked(answers, wanted, **more)]
    return measure(tables_of(some), CORRECTED)


def by(**more):
    return {"task": "t1", "context": "original"} | more


def first_named_earlier(video, wanted):
    return (5, 15) if wanted == "edv_esv" else (15, 5)


def test_whoever_is_right_has_no_order_bias():
    got = measured(lambda v, _: TRUTHS[v], "edv_esv", "esv_edv")
    for wanted in ("edv_esv", "esv_edv"):
        one = found(got, "order_bias", **by(format=wanted))
        assert one.value == 0
        assert one.low < 0 < one.high
    assert found(got, "order_bias", **by()).value == 0


def test_whoever_puts_the_first_named_first_has_all_of_it():
    got = measured(first_named_earlier, "edv_esv", "esv_edv")
    # The truth has ED first in five of six.
    assert found(got, "order_bias", **by(format="edv_esv")).value == pytest.approx(1 / 6)
    assert found(got, "order_bias", **by(format="esv_edv")).value == pytest.approx(5 / 6)
    whole = found(got, "order_bias", **by())
    assert whole.value == pytest.approx(1 / 2)
    assert whole.low > 0


def test_whoever_ignores_the_question_has_none_over_both_orders():
    got = measured(lambda v, _: (18, 2), "edv_esv", "esv_edv")
    assert found(got, "order_bias", **by()).value == pytest.approx(0)


def test_both_orders_are_of_one_context():
    """The other order of another context, which is right, must not halve the bias."""
    some = [row for wanted in ("edv_esv", "esv_edv") for row in asked(first_named_earlier, wanted)]
    right = asked(lambda v, _: TRUTHS[v], "esv_edv", context="segmented")
    right += asked(lambda v, _: TRUTHS[v], "edv_esv", context="segmented")
    got = measure(tables_of(some + right), CORRECTED)
    assert found(got, "order_bias", **by()).value == pytest.approx(1 / 2)
    assert found(got, "order_bias", **by(context="segmented")).value == 0


def test_a_video_answered_in_one_order_alone_does_not_count_over_both():
    def sometimes(video, wanted):
        return first_named_earlier(video, wanted) if wanted == "edv_esv" or video < 4 else None

    got = found(measured(sometimes, "edv_esv", "esv_edv"), "order_bias", **by())
    assert (got.n, got.value) == (4, pytest.approx(1 / 2))


def test_one_frame_for_both_says_nothing_of_an_order():
    got = found(measured(lambda v, _: (7, 7), "edv_esv"), "order_bias", **by(format="edv_esv"))
    assert got.value is None
    assert got.note


def test_keeping_to_the_middle():
    middle = found(measured(lambda v, _: (10, 10), "edv"), "middle_bias",
                   **by(format="edv", phase="ed"))  # fmt: skip
    right = found(measured(lambda v, _: TRUTHS[v], "edv"), "middle_bias",
                  **by(format="edv", phase="ed"))  # fmt: skip
    edges = found(measured(lambda v, _: (0, 0), "edv"), "middle_bias",
                  **by(format="edv", phase="ed"))  # fmt: skip
    guess = sum(abs(k - 10) for k in range(COUNT)) / COUNT
    away = sum(abs(ed - 10) for ed, _ in TRUTHS) / len(TRUTHS)
    assert middle.value == pytest.approx(away / guess)
    assert right.value == pytest.approx(0)
    assert edges.value == pytest.approx((away - 10) / guess)


def test_absurd_answers_are_as_far_from_the_middle_as_the_last_frame():
    last, absurd = (
        found(measured(lambda v, _, far=far: (far, 0), "edv"), "middle_bias",
              **by(format="edv", phase="ed"))
        for far in (COUNT - 1, 10**7)
    )  # fmt: skip
    assert absurd.value == last.value


def test_distinct_answers_and_the_commonest():
    got = measured(lambda v, _: (0 if v < 5 else 9, 0), "edv")
    one = found(got, "distinct", **by(format="edv", phase="ed"))
    assert (one.value, one.n) == (2, 12)
    assert "0 is the answer of 83.3 %" in one.note


def test_parsed_and_out_of_range_are_counted_over_passes():
    said = [[[1, None, "refused"]], [[-1, 60, "unanswered"]]]
    some = rows(said, [[1], [1]], count=50)
    got = measure(tables_of(some), CORRECTED)
    parsed = found(got, "parsed", **by(format="edv", phase="ed"))
    assert (parsed.k, parsed.n) == (3, 5)
    assert (parsed.as_wrong["refused"], parsed.left_out) == (1, {"unanswered": 1})
    out = found(got, "out_of_range", **by(format="edv", phase="ed"))
    assert (out.k, out.n) == (2, 3)
    assert out.low < out.value < out.high


def test_seeds_that_agree_and_seeds_that_do_not():
    same = rows([[[3], [3]], [[5], [5]]], [[1, 1], [2, 2]])
    apart = rows([[[3], [7]], [[5], [5]]], [[1, 1], [2, 2]])
    key = by(format="edv", phase="ed")
    assert found(measure(tables_of(same), CORRECTED), "seed_sd", **key).value == 0
    got = found(measure(tables_of(apart), CORRECTED), "seed_sd", **key)
    assert got.value == pytest.approx(8**0.5 / 2)


def test_seeds_are_compared_by_their_errors_within_the_frames_shown():
    key = by(format="edv", phase="ed")
    # Windows drawn anew for every seed: the answers move as the truths do.
    moved = rows([[[3], [7]], [[5], [2]]], [[1, 5], [4, 1]], count=50)
    assert found(measure(tables_of(moved), CORRECTED), "seed_sd", **key).value == 0
    absurd = rows([[[49], [10**7]], [[5], [5]]], [[1, 1], [2, 2]], count=50)
    assert found(measure(tables_of(absurd), CORRECTED), "seed_sd", **key).value == 0


def test_what_only_the_lenient_reading_finds_is_counted_apart():
    some = rows([[[1, None, None]], [[2, 2, None]]], [[1], [2]])
    some[1] |= {"lenient_ed": 4}
    got = measure(tables_of(some), CORRECTED)
    strict, lenient = (
        found(got, name, **by(format="edv", phase="ed")) for name in ("parsed", "parsed_lenient")
    )
    assert (strict.k, strict.n, lenient.k, lenient.n) == (3, 6, 4, 6)


def test_agreement_of_seeds_on_which_frame():
    said = [[[1], [1], [0]], [[0], [0], [0]]]
    got = measure(tables_of(rows(said, [[1, 1, 1], [0, 0, 0]], task="t2")), CORRECTED)
    key = {"task": "t2", "context": "original", "format": "edv", "phase": "ed"}
    assert found(got, "seed_agreement", **key).value == pytest.approx((1 / 3 + 1) / 2)


def test_replies_that_the_limit_ended_are_counted_where_it_is_known_how_they_ended():
    some = rows([[[1, 2]], [[3, 4]]], [[1], [3]])
    by = {"task": "t1", "context": "original", "format": "edv"}
    tables = tables_of(some)
    assert not [m for m in measure(tables, CORRECTED) if m.measure == "cut_off"]
    ended = tables.answers.with_columns(cut_off=pl.Series([True, False, False, None]))
    got = found(measure(msgspec.structs.replace(tables, answers=ended), CORRECTED), "cut_off", **by)
    assert (got.value, got.k, got.n) == (0.25, 1, 4)
