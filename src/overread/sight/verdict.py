"""From replies to one of four words, with the evidence for it."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Literal

import msgspec

from overread.case import Reply
from overread.sight.digits import DIGITS
from overread.stats import binomial_tail, rank_sum_p

__all__ = ["ALPHA", "Sight", "judge_sight", "movement", "movement_line"]

Verdict = Literal["arrives and reads", "arrives", "does not arrive", "cannot tell"]
ALPHA = 0.01


class Sight(msgspec.Struct, frozen=True, kw_only=True):
    """What was found of one reader.

    `p_read` is the exact binomial chance of reading so many digits blindly (1 in 10 each);
    `p_move` the exact rank-sum chance that replies to different pictures differ more than replies
    to the same one; `tokens_a_picture` what a picture adds to the prompt tokens reported.
    """

    reader: str
    verdict: Verdict
    digits_read: int = 0
    digits_shown: int = 0
    p_read: float | None = None
    p_move: float | None = None
    tokens_a_picture: float | None = None
    evidence: tuple[str, ...] = ()


def judge_sight(
    reader: str,
    digits: Sequence[str],
    first: Mapping[int, Reply],
    again: Mapping[int, Reply],
    bare: Reply | None,
    refused: str = "",
) -> Sight:
    """Weigh what the replies show.

    `first` and `again` are replies by picture number; `bare` the reply without a picture;
    `refused` why pictures got no reply at all, where the bare question did.
    """
    if not first and bare is not None:
        told = f"every picture was refused while the bare question was answered: {refused}"
        return Sight(reader=reader, verdict="does not arrive", evidence=(told,))
    shown = DIGITS * len(first)
    read = sum(_matches(digits[number], reply.text) for number, reply in first.items())
    p_read = binomial_tail(read, shown, 0.1)
    p_move, measured_by = movement(first, again)
    extra = _extra_tokens(first, bare)
    evidence = [
        f"digits read: {read} of {shown} (chance of that blindly: p = {p_read:.2g})",
        movement_line(p_move, measured_by, len(first)),
        "prompt tokens a picture adds: "
        + ("not reported" if extra is None else f"{extra:.0f} on average"),
    ]
    verdict: Verdict
    if p_read < ALPHA:
        verdict = "arrives and reads"
    elif p_move is not None and p_move < ALPHA:
        verdict = "arrives"
    elif extra == 0 or (measured_by == "log-probabilities" and extra is None):
        verdict = "does not arrive"
    else:
        verdict = "cannot tell"
        evidence.append(_doubt(extra, measured_by))
    return Sight(
        reader=reader,
        verdict=verdict,
        digits_read=read,
        digits_shown=shown,
        p_read=p_read,
        p_move=p_move,
        tokens_a_picture=extra,
        evidence=tuple(evidence),
    )


def _doubt(extra: float | None, measured_by: str) -> str:
    if extra is not None:
        return "tokens are counted for pictures, yet nothing the reader says moves with them"
    return f"neither tokens nor log-probabilities are reported, and its {measured_by} do not move"


def _matches(digits: str, text: str) -> int:
    """How many digits stand in their places in the last run of as many digits that was said."""
    text = re.sub(r"<think>.*?</think>", " ", text, flags=re.DOTALL)
    runs = re.findall(rf"(?<!\d)\d(?:[ ,.-]{{0,2}}\d){{{DIGITS - 1}}}(?!\d)", text)
    said = re.sub(r"\D", "", runs[-1]) if runs else ""
    return sum(a == b for a, b in zip(digits, said, strict=False))


def movement(first: Mapping[int, Reply], again: Mapping[int, Reply]) -> tuple[float | None, str]:
    """Do replies to different pictures differ more than replies to the same picture?"""
    numbers = sorted(set(first) & set(again))
    with_logprobs = all(r.logprobs for m in (first, again) for r in m.values())
    measured_by = "log-probabilities" if with_logprobs else "replies"
    distance = _logprob_distance if with_logprobs else _text_distance
    if len(numbers) < 2:
        return None, measured_by
    same = [distance(first[n], again[n]) for n in numbers]
    neighbours = zip(numbers, numbers[1:] + numbers[:1], strict=True)
    other = [distance(first[n], again[m]) for n, m in neighbours]
    return rank_sum_p(other, same), measured_by


def _text_distance(a: Reply, b: Reply) -> float:
    return float(a.text.strip() != b.text.strip())


def _logprob_distance(a: Reply, b: Reply) -> float:
    """The largest change of a log-probability both replies list, or of the list itself."""
    one, two = dict(a.logprobs or ()), dict(b.logprobs or ())
    shared = one.keys() & two.keys()
    moved = max((abs(one[t] - two[t]) for t in shared), default=0.0)
    # Rounded: the last bits of a log-probability change with a server's batching.
    return round(moved + 10.0 * (len(one.keys() ^ two.keys()) > 0), 4)


def _extra_tokens(first: Mapping[int, Reply], bare: Reply | None) -> float | None:
    counts = [r.tokens_in for r in first.values() if r.tokens_in is not None]
    if not counts or bare is None or bare.tokens_in is None:
        return None
    return sum(counts) / len(counts) - bare.tokens_in


def movement_line(p: float | None, measured_by: str, n: int) -> str:
    if p is None:
        return "movement: too few replies to tell"
    verdict = "move" if p < ALPHA else "do not move"
    return f"{measured_by} {verdict} with the picture beyond a repeat (p = {p:.2g}, n = {n})"
