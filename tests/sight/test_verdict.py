"""From replies to one of four words: each word, what decides it, and how often it errs."""

from __future__ import annotations

from random import Random

import pytest

from overread.case import Reply
from overread.sight import DIGITS, PICTURES, Sight, digits_of, judge_sight

SHOWN = digits_of(0)
BARE = Reply("none", tokens_in=20)


def judged(
    first: list[Reply], again: list[Reply] | None = None, bare: Reply | None = BARE
) -> Sight:
    twice = first if again is None else again
    return judge_sight("r", SHOWN, dict(enumerate(first)), dict(enumerate(twice)), bare)


def said(text: str, tokens: int | None = 20, **logprobs: float) -> Reply:
    return Reply(text, logprobs=tuple(logprobs.items()) or None, tokens_in=tokens)


# ---------------------------------------------------------------- the four words


def test_who_says_the_digits_reads_them() -> None:
    found = judged([said(digits) for digits in SHOWN])
    assert (found.verdict, found.digits_read) == ("arrives and reads", PICTURES * DIGITS)


def test_who_says_them_without_reporting_tokens_reads_them_too() -> None:
    assert judged([said(d, None) for d in SHOWN], bare=None).verdict == "arrives and reads"


def test_replies_that_follow_the_picture_arrive() -> None:
    found = judged([said(f"a picture, number {n}", 84) for n in range(PICTURES)])
    assert (found.verdict, found.digits_read, found.tokens_a_picture) == ("arrives", 0, 64)


def test_log_probabilities_that_follow_the_picture_arrive() -> None:
    found = judged([said("7", 84, a=-0.1 * n, b=-3.0) for n in range(PICTURES)])
    assert found.verdict == "arrives"
    assert "log-probabilities move" in found.evidence[1]


def test_no_token_and_no_movement_does_not_arrive() -> None:
    assert judged([said("1234")] * PICTURES).verdict == "does not arrive"


def test_still_log_probabilities_do_not_arrive_where_tokens_are_not_reported() -> None:
    assert judged([said("7", None, a=-0.5)] * PICTURES).verdict == "does not arrive"


def test_log_probabilities_that_mean_nothing_do_not_speak_against_a_reader() -> None:
    """A server that fills in 0 and -9999 would else be found blind, whatever its replies show."""
    found = judged([said(f"number {n}", None, a=0.0, b=-9999.0) for n in range(PICTURES)])
    assert found.verdict == "arrives"
    assert "replies move" in found.evidence[1]


def test_pictures_refused_while_text_is_answered_do_not_arrive() -> None:
    found = judge_sight("r", SHOWN, {}, {}, BARE, "HTTP 400: images are not supported")
    assert found.verdict == "does not arrive"
    assert "images are not supported" in found.evidence[0]


def test_tokens_without_movement_cannot_tell() -> None:
    found = judged([said("I cannot help.", 84)] * PICTURES)
    assert found.verdict == "cannot tell"
    assert "tokens are counted" in found.evidence[-1]


def test_one_word_and_no_numbers_cannot_tell() -> None:
    assert judged([said("No.", None)] * PICTURES).verdict == "cannot tell"


# ---------------------------------------------------------------- what is read


@pytest.mark.parametrize(
    "form",
    [
        "{}", "The digits are {}.", "{0[0]} {0[1]} {0[2]} {0[3]}", "{0[0]}, {0[1]}, {0[2]}, {0[3]}",
        "{0[0]}-{0[1]}-{0[2]}-{0[3]}", "<think>1111? no, 2222</think>{}", "first 0000, no: {}",
    ],
)  # fmt: skip
def test_the_last_four_digits_count_however_they_are_said(form: str) -> None:
    found = judged([said(form.format(digits)) for digits in SHOWN])
    assert found.digits_read == PICTURES * DIGITS


def test_digits_inside_longer_numbers_do_not_count() -> None:
    assert judged([said(f"9{digits}9") for digits in SHOWN]).digits_read == 0


def test_a_digit_counts_in_its_place() -> None:
    assert judged([said(digits[:2] + "xx") for digits in SHOWN]).digits_read == 0
    halves = [
        said(d[:2] + d[2:].translate(str.maketrans("0123456789", "1234567890"))) for d in SHOWN
    ]
    assert judged(halves).digits_read == 2 * PICTURES


# ---------------------------------------------------------------- what moves


def test_replies_that_never_repeat_prove_nothing() -> None:
    first = [said(f"one {n}", 84) for n in range(PICTURES)]
    again = [said(f"two {n}", 84) for n in range(PICTURES)]
    found = judged(first, again)
    assert (found.verdict, found.p_move) == ("cannot tell", 1.0)


def test_a_change_of_the_last_bits_is_no_movement() -> None:
    replies = [said("7", a=-0.5 + 1e-6 * n) for n in range(PICTURES)]
    assert judged(replies).verdict == "does not arrive"


def test_two_pictures_are_too_few_to_tell_movement() -> None:
    few = {0: said("a", 84), 1: said("b", 84)}
    assert judge_sight("r", SHOWN, few, few, BARE).verdict == "cannot tell"
    one = {0: said("a", 84)}
    found = judge_sight("r", SHOWN, one, one, BARE)
    assert (found.p_move, found.verdict) == (None, "cannot tell")


def test_nothing_answered_twice_is_no_movement() -> None:
    first = dict(enumerate(said(f"picture {n}", 84) for n in range(PICTURES)))
    assert judge_sight("r", SHOWN, first, {}, BARE).p_move is None


# ---------------------------------------------------------------- how often it errs


@pytest.mark.parametrize("greedy", [False, True], ids=["guesses anew", "repeats its guess"])
def test_a_blind_guesser_is_rarely_believed(greedy: bool) -> None:
    """At a level of 0.01 for reading and for movement, few of 400 blind readers pass."""
    believed = 0
    for seed in range(400):
        draw = Random(f"blind:{seed}")

        def guess(draw: Random = draw) -> list[Reply]:
            return [said("".join(draw.choices("0123456789", k=4)), 84) for _ in SHOWN]

        one = "".join(draw.choices("0123456789", k=4))
        first = [said(one, 84)] * PICTURES if greedy else guess()
        again = first if greedy else guess()
        found = judge_sight(
            "r", digits_of(seed), dict(enumerate(first)), dict(enumerate(again)), BARE
        )
        believed += found.verdict.startswith("arrives")
    assert believed <= 12  # 8 expected at most; P(13 or more of 400 at 0.01 + 0.01) < 0.07


def test_sampled_log_probabilities_of_a_blind_reader_are_rarely_believed() -> None:
    believed = 0
    for seed in range(300):
        draw = Random(f"blind:{seed}")
        first, again = (
            [said("no", 84, a=draw.gauss(-1, 0.5), b=-2.0) for _ in SHOWN] for _ in range(2)
        )
        believed += judged(first, again).verdict.startswith("arrives")
    assert believed <= 9  # 0.01 each: 3 expected
