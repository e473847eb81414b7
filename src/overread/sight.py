"""Does a reader really receive pixels? Random digits, and what moves when they change.

Each picture is shown twice, so that what a reader's replies move by from one picture to another can
be set against what they move by on a repeat; and the question is put once without any picture.
From the replies comes one of four words, with the evidence for it.
"""

from __future__ import annotations

import io
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from random import Random
from statistics import median
from typing import Literal

import msgspec

from overread.case import Clip, ClipForm, Decoding, Inline, Message, Picture, Reply, Request, Trial
from overread.stats import binomial_tail, rank_sum_p

__all__ = [
    "ClipSight",
    "Sight",
    "ask_for_digits",
    "ask_for_frames",
    "digit_picture",
    "judge_clips",
    "judge_sight",
]

PICTURES = 12
DIGITS = 4
QUESTION = (
    f"The picture shows {DIGITS} digits in a row. Which are they? "
    f"Answer with the {DIGITS} digits only."
)


def digits_of(seed: int) -> list[str]:
    """The digits of every picture, drawn with the seed."""
    return _random_digits(f"sight:{seed}", PICTURES, DIGITS)


def _random_digits(seed: str, many: int, length: int) -> list[str]:
    draw = Random(seed)
    return ["".join(draw.choice("0123456789") for _ in range(length)) for _ in range(many)]


def digit_picture(digits: str, size: int = 336) -> bytes:
    """A PNG with large black digits on white."""
    from PIL import Image, ImageDraw, ImageFont

    image = Image.new("L", (size, size), 255)
    font = ImageFont.load_default(size=size // 3)
    pen = ImageDraw.Draw(image)
    left, top, right, bottom = pen.textbbox((0, 0), digits, font=font)
    place = ((size - right - left) / 2, (size - bottom - top) / 2)
    pen.text(place, digits, fill=0, font=font)
    file = io.BytesIO()
    image.save(file, "PNG")
    return file.getvalue()


def ask_for_digits(seed: int, *, reasoning: bool = False) -> Iterator[Trial]:
    """Every trial of a check: pictures twice each, then the bare question twice."""
    decoding = Decoding(max_tokens=2048 if reasoning else 16, temperature=0.0, top_logprobs=5)
    shown = [Picture(Inline(digit_picture(digits))) for digits in digits_of(seed)]
    for repeat in range(2):
        for number, picture in enumerate(shown):
            request = Request((Message("user", (picture, QUESTION)),), decoding)
            yield Trial(f"{number:02}", {"picture": number}, request, repeat)
        bare = Request((Message("user", (QUESTION,)),), decoding)
        yield Trial("bare", {"picture": "none"}, bare, repeat)


# ---------------------- Clips whose frames each show a random digit, and the trials that show them
#
# Each clip is shown twice, as pictures are. Half of a clip, its first frame alone and the bare
# question are asked besides, so that prompt tokens tell how many frames were counted.

CLIPS = 5
# As many as a window of the published study holds, and more than servers take by default (32).
FRAMES = 40
HALF = FRAMES // 2
FRAMES_QUESTION = (
    "These are the frames of a clip in order. Each frame shows one digit. How many frames are "
    "there, and which digit does each of them show? Answer in one line, exactly as: "
    "FRAMES=<number> DIGITS=<the digits of all frames in order>"
)


def frames_of(seed: int) -> list[str]:
    """The digits of every clip, one a frame, drawn with the seed."""
    return _random_digits(f"sight clips:{seed}", CLIPS, FRAMES)


def digit_clip(digits: str) -> bytes:
    """A lossless video, one large digit a frame."""
    import numpy as np
    from PIL import Image

    from overread.imaging import lossless_clip

    drawn = {d: np.asarray(Image.open(io.BytesIO(digit_picture(d, 112)))) for d in set(digits)}
    return lossless_clip([drawn[digit] for digit in digits])


def ask_for_frames(seed: int, *, reasoning: bool = False) -> Iterator[Trial]:
    """Every trial of a check: clips twice each; then half a clip, a frame, and no clip."""
    tokens = 4096 if reasoning else 3 * FRAMES + 32
    decoding = Decoding(max_tokens=tokens, temperature=0.0, top_logprobs=5)
    sources = [Inline(digit_clip(digits)) for digits in frames_of(seed)]
    whole = [Clip(source, tuple(range(FRAMES))) for source in sources]
    for repeat in range(2):
        for number, clip in enumerate(whole):
            request = Request((Message("user", (clip, FRAMES_QUESTION)),), decoding)
            yield Trial(f"{number:02}", {"clip": number}, request, repeat)
    for name, frames in (("half", HALF), ("one", 1)):
        part = Clip(sources[0], tuple(range(frames)))
        request = Request((Message("user", (part, FRAMES_QUESTION)),), decoding)
        yield Trial(name, {"clip": name}, request)
    yield Trial("none", {"clip": "none"}, Request((Message("user", (FRAMES_QUESTION,)),), decoding))


# ------------------------------------------ From replies to one of four words, with the evidence

SightVerdict = Literal["arrives and reads", "arrives", "does not arrive", "cannot tell"]
ALPHA = 0.01
_THOUGHT = re.compile(r"<think>.*?</think>", re.DOTALL)


class Sight(msgspec.Struct, frozen=True, kw_only=True):
    """What was found of one reader.

    `p_read` is the exact binomial chance of reading so many digits blindly (1 in 10 each);
    `p_move` the exact rank-sum chance that replies to different pictures differ more than replies
    to the same one; `tokens_a_picture` what a picture adds to the prompt tokens reported.
    """

    reader: str
    verdict: SightVerdict
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
    read = sum(_digits_read(digits[number], reply.text) for number, reply in first.items())
    p_read = binomial_tail(read, shown, 0.1)
    p_move, measured_by = movement(first, again)
    extra = _tokens(first.values(), bare)
    evidence = [
        f"digits read: {read} of {shown} (chance of that blindly: p = {p_read:.2g})",
        movement_line(p_move, measured_by, len(first)),
        "prompt tokens a picture adds: "
        + ("not reported" if extra is None else f"{extra:.0f} on average"),
    ]
    verdict: SightVerdict
    if p_read < ALPHA:
        verdict = "arrives and reads"
    elif p_move is not None and p_move < ALPHA:
        verdict = "arrives"
    elif extra == 0 or (measured_by == "log-probabilities" and extra is None):
        verdict = "does not arrive"
    else:
        verdict = "cannot tell"
        evidence.append(
            f"neither tokens nor log-probabilities are reported, and its {measured_by} do not move"
            if extra is None
            else "tokens are counted for pictures, yet nothing the model says moves with them"
        )
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


def _digits_read(digits: str, text: str) -> int:
    """How many digits stand in their places in the last run of as many digits that was said."""
    run_of_digits = rf"(?<!\d)\d(?:[ ,.-]{{0,2}}\d){{{DIGITS - 1}}}(?!\d)"
    runs = re.findall(run_of_digits, _THOUGHT.sub(" ", text))
    return _in_place(digits, re.sub(r"\D", "", runs[-1]) if runs else "")


def movement(first: Mapping[int, Reply], again: Mapping[int, Reply]) -> tuple[float | None, str]:
    """Do replies to different pictures differ more than replies to the same picture?"""
    numbers = sorted(set(first) & set(again))
    replies = [reply for mapping in (first, again) for reply in mapping.values()]
    with_logprobs = all(r.logprobs for r in replies) and not all(r.certain for r in replies)
    measured_by = "log-probabilities" if with_logprobs else "replies"
    distance = _logprob_distance if with_logprobs else lambda a, b: a.text.strip() != b.text.strip()
    if len(numbers) < 2:
        return None, measured_by
    same = [distance(first[n], again[n]) for n in numbers]
    neighbours = zip(numbers, numbers[1:] + numbers[:1], strict=True)
    other = [distance(first[n], again[m]) for n, m in neighbours]
    return rank_sum_p(other, same), measured_by


def _logprob_distance(a: Reply, b: Reply) -> float:
    """The largest change of a log-probability both replies list, or of the list itself."""
    one, two = dict(a.logprobs or ()), dict(b.logprobs or ())
    shared = one.keys() & two.keys()
    moved = max((abs(one[t] - two[t]) for t in shared), default=0.0)
    # Rounded: the last bits of a log-probability change with a server's batching.
    return round(moved + 10.0 * (len(one.keys() ^ two.keys()) > 0), 4)


def _tokens(replies: Iterable[Reply | None], bare: Reply | None) -> float | None:
    """What a reply has more prompt tokens than the bare question, on average."""
    counts = [r.tokens_in for r in replies if r is not None and r.tokens_in is not None]
    if not counts or bare is None or bare.tokens_in is None:
        return None
    return sum(counts) / len(counts) - bare.tokens_in


def movement_line(p: float | None, measured_by: str, n: int) -> str:
    if p is None:
        return "movement: too few replies to tell"
    verdict = "move" if p < ALPHA else "do not move"
    return f"{measured_by} {verdict} with the picture beyond a repeat (p = {p:.2g}, n = {n})"


# ------------------------------- From replies to clips to one of four words: do all frames arrive?

ClipVerdict = Literal["all frames arrive", "thinned", "does not arrive", "cannot tell"]
# Prompt tokens hold some for the turn itself, and patches are merged: a tenth may be lost in that.
_NEARLY = 0.9
# Which frames are left, as it is said.
_SPREAD, _CUT = "evenly spread over", "the first of"


class ClipSight(msgspec.Struct, frozen=True, kw_only=True):
    """What was found of one reader.

    `frames_arrived` is the number that the replies or the tokens speak for. `p_read` is the exact
    binomial chance of so many digits of the later half in their places blindly.
    """

    reader: str
    verdict: ClipVerdict
    form: ClipForm = "images"
    frames_shown: int = FRAMES
    frames_arrived: float | None = None
    frames_said: float | None = None
    digits_read: int = 0
    digits_shown: int = 0
    p_read: float | None = None
    p_move: float | None = None
    tokens_a_frame: float | None = None
    evidence: tuple[str, ...] = ()


def judge_clips(
    reader: str,
    form: ClipForm,
    digits: Sequence[str],
    first: Mapping[int, Reply],
    again: Mapping[int, Reply],
    others: Mapping[str, Reply],
    refused: str = "",
) -> ClipSight:
    """Weigh what the replies show. `first` and `again` are replies by the number of the clip,
    `others` those to "half" a clip, to "one" frame, and to the bare question ("none").

    Reading decides: digits of the later half in their places mean that no frame was left out, and
    fewer digits that fit evenly spread frames, or the first so many where that is how many a reply
    says there are, mean that the rest was. Else tokens decide, which
    can only show that frames are missing unless replies also move with the clip.
    """
    bare = others.get("none")
    if not first and bare is not None:
        told = f"every clip was refused while the bare question was answered: {refused}"
        return ClipSight(reader=reader, form=form, verdict="does not arrive", evidence=(told,))
    said = {number: said_of(reply.text) for number, reply in first.items()}
    counts = [count for count, _ in said.values() if count is not None]
    late = sum(_in_place(digits[n][HALF:], d[HALF:]) for n, (_, d) in said.items())
    read = sum(_in_place(digits[n], d) for n, (_, d) in said.items())
    p_read = binomial_tail(late, (FRAMES - HALF) * len(said), 0.1)
    thin, p_thin, how = _thinned(digits, said)
    p_move, measured_by = movement(first, again)
    extra = _tokens([first[min(first)]] if first else [], bare)
    counted = _counted(form, extra, others)
    evidence = [
        f"digits read in their places: {read} of {FRAMES * len(said)}, of the later half {late} of "
        f"{(FRAMES - HALF) * len(said)} (chance of that blindly: p = {p_read:.2g})",
        f"frames it says it sees: {median(counts):g} of {FRAMES}" if counts else "frames: not said",
        movement_line(p_move, measured_by, len(first)).replace("the picture", "the clip"),
        "prompt tokens a clip adds: " + ("not reported" if extra is None else f"{extra:.0f}"),
    ]
    moves = p_move is not None and p_move < ALPHA
    verdict: ClipVerdict = "cannot tell"
    arrived: float | None = None
    cut = counted is None and p_thin < ALPHA and how == _CUT and thin < _NEARLY * FRAMES
    if p_read < ALPHA and not cut and (counted is None or counted >= _NEARLY * FRAMES):
        verdict, arrived = "all frames arrive", float(FRAMES)
    elif p_thin < ALPHA:
        verdict, arrived = "thinned", thin
        evidence.append(f"what it reads fits {thin:g} frames, {how} {FRAMES}")
    elif extra == 0 or (extra is None and measured_by == "log-probabilities" and not moves):
        verdict = "does not arrive"
    elif counted is not None and counted < _NEARLY * FRAMES:
        verdict, arrived = "thinned", counted
        evidence.append(f"the tokens counted are those of {counted:.0f} of {FRAMES} frames")
    elif counted is not None and form == "images" and moves:
        verdict, arrived = "all frames arrive", float(FRAMES)
        evidence.append("the digits are not read, yet tokens are counted for every frame")
    else:
        evidence.append("the digits are not read, and the tokens do not settle it")
    return ClipSight(
        reader=reader,
        verdict=verdict,
        form=form,
        frames_arrived=arrived,
        frames_said=float(median(counts)) if counts else None,
        digits_read=read,
        digits_shown=FRAMES * len(said),
        p_read=p_read,
        p_move=p_move,
        tokens_a_frame=None if extra is None else extra / FRAMES,
        evidence=tuple(evidence),
    )


def said_of(text: str) -> tuple[int | None, str]:
    """How many frames a reply says there are, and the digits it gives them."""
    text = _THOUGHT.sub(" ", text)
    count = re.findall(r"FRAMES\W{0,3}(\d{1,6})(?!\d)", text, re.IGNORECASE)
    rest = re.sub(r"FRAMES\W{0,3}\d+", " ", text, flags=re.IGNORECASE)
    runs = re.findall(r"\d(?:[ ,.;-]{0,2}\d)*", rest)
    digits = re.sub(r"\D", "", max(runs, key=len)) if runs else ""
    return (int(count[-1]) if count else None), digits


def _in_place(shown: str, said: str) -> int:
    return sum(a == b for a, b in zip(shown, said, strict=False))


def _thinned(
    digits: Sequence[str], said: Mapping[int, tuple[int | None, str]]
) -> tuple[float, float, str]:
    """How many frames were read where fewer were than shown, the chance of that blindly, and which.

    Servers spread the frames they keep from the first to the last, take every so manieth, or stop
    after so many. A reader may stop as well: that counts only where it says there were no more.
    """
    few = {number: d for number, (_, d) in said.items() if 1 < len(d) < FRAMES}
    if not few:
        return 0.0, 1.0, ""
    shown = sum(len(d) for d in few.values())
    spreads: list[tuple[Callable[[int, int], int], str]] = [
        (lambda at, count: round(at * (FRAMES - 1) / (count - 1)), _SPREAD),
        (lambda at, count: at * FRAMES // count, _SPREAD),
    ]
    if all(said[number][0] == len(d) for number, d in few.items()):
        spreads.append((lambda at, count: at, _CUT))

    def fitting(frame: Callable[[int, int], int]) -> int:
        return sum(
            digits[number][frame(at, len(d))] == digit
            for number, d in few.items()
            for at, digit in enumerate(d)
        )

    best, how = max((fitting(frame), how) for frame, how in spreads)
    p = len(spreads) * binomial_tail(best, shown, 0.1)  # so many ways were tried
    return float(median(len(d) for d in few.values())), min(1.0, p), how


def _counted(form: ClipForm, extra: float | None, others: Mapping[str, Reply]) -> float | None:
    """Of how many frames the tokens speak; None where they do not.

    Images are counted by the tokens of one. Videos have a least length, so a clip is set against
    its half, which says only whether the second half added as much as the first. A sheet's tokens
    follow its size.
    """
    if not extra or form == "sheet":
        return None
    part = others.get("one" if form == "images" else "half")
    less = _tokens([part], others.get("none"))
    if not less or less < 0:
        return None
    return min(float(FRAMES), extra / less * (1 if form == "images" else HALF))
