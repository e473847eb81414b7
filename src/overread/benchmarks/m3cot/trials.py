"""Trials: all that a reader is asked about one item, and the row its reply becomes (M3COT 2, 3).

Questions go to the letter of the published code, or with the options once. Which items are asked
with another's image and which are timed is drawn by seed, in no order. What a reply means, judges
say.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final

import msgspec

import overread.case as oc
from overread.benchmarks.draws import alone_remarks, lenders, lot
from overread.benchmarks.m3cot.authors import options_of
from overread.benchmarks.m3cot.cases import M3Case
from overread.benchmarks.m3cot.edition import MODES, Edition, Options
from overread.benchmarks.tables import joined_notes, notes_of, tokens_of

# The strings of the published code, by mode; the paper prints slightly different ones.
INSTRUCTIONS: Final = {
    "direct": "Please directly provide the final answer without any other output.",
    "cot": (
        "Please generate a step by step answer, include all your intermediate reasoning process, "
        "and provide the final answer at the end."
    ),
}
# Beyond the paper, so the words are ours. A control knows by them what it is asked.
ANSWER_FIRST: Final = (
    "Please state the final answer first, in one line, and only then explain the reasoning behind "
    "it step by step."
)
REASONING_SO_FAR: Final = "Your reasoning so far:"
ANSWER_NOW: Final = (
    "Please stop here and provide the final answer now, from this reasoning, without any further "
    "reasoning."
)


def prompt_of(text: str, edition: Edition, *rest: str) -> str:
    """The prompt: the question, in `authors` its options a second time, the instruction.

    `text` is the question as the file has it: the authors look for options before they strip it.
    """
    again = options_of(text) if edition.options == "repeated" else {}
    options = (f"{letter}. {option}" for letter, option in again.items())
    return "\n".join((text.strip(), *options, *rest))


# A line's end, or a mark of the end of a sentence with what closes it and the blanks behind it.
# The Chinese and Japanese marks need no blank.
_SENTENCE_END: Final = re.compile(r"[\r\n]\s*|[.!?…][\"'”’)\]*_]*(?:\s+|$)|[。！？]+[”’）]*\s*")
_LINE_BREAK: Final = re.compile(r"[\r\n]")
# What ends in a full stop and no sentence: a list's mark (`2.`, `A.`), an abbreviation.
_NO_SENTENCE_END: Final = re.compile(
    r"(?:^|[\s(\[*_\"'“‘])(?:\d{1,3}|[A-Za-z]|e\.g|i\.e|vs|cf|ca|approx|Dr|Mr|Mrs|Prof|Fig|Figs)$"
)


def sentence_ends(text: str) -> list[int]:
    """Where each sentence of a text ends, blanks behind it included; the last is the text's end.

    A line break ends one, and so does a full stop, exclamation or question mark before a blank. A
    list's mark belongs to what follows it.
    """
    ends: list[int] = []
    start = 0
    for found in _SENTENCE_END.finditer(text):
        before = text[max(start, found.start() - 12) : found.start()]
        stop = found.group()
        if stop[0] == "." and not _LINE_BREAK.search(stop) and _NO_SENTENCE_END.search(before):
            continue
        if text[start : found.end()].strip():
            ends.append(found.end())
            start = found.end()
    if text[start:].strip():
        ends.append(len(text))
    elif ends:
        ends[-1] = len(text)
    return ends


def first_half(text: str) -> str | None:
    """The first half of a text's sentences, the smaller one; None where there are fewer than two.

    It is what the text begins with, to the letter.
    """
    ends = sentence_ends(text)
    return text[: ends[len(ends) // 2 - 1]].rstrip() if len(ends) >= 2 else None


def swaps(cases: Iterable[M3Case], seed: int) -> dict[str, M3Case]:
    """The item of the same task whose image each item is shown in its place, by case id."""
    return lenders(cases, seed, stratum=lambda case: case.task, images=lambda case: (case.image,))


def swap_remarks(cases: Iterable[M3Case], swapped: Mapping[str, M3Case]) -> tuple[str, ...]:
    """A line on the items that are not asked with another's image."""
    return alone_remarks(cases, swapped, lambda case: case.task, "task")


def timed_items(cases: Iterable[M3Case], n: int, seed: int) -> tuple[M3Case, ...]:
    """A sample of n items, or all where there are fewer, in their own order.

    Each item's lot depends on its name and the seed, so the sample does not change with the order
    of the cases, and a larger one holds the smaller.
    """
    known = list(cases)
    drawn = sorted(known, key=lambda case: (lot("timing", seed, case.case_id), case.case_id))[:n]
    chosen = {case.case_id for case in drawn}
    return tuple(case for case in known if case.case_id in chosen)


def trials(
    case: M3Case,
    traits: oc.Traits,
    edition: Edition,
    options: Options,
    root: str,
    swap: M3Case | None = None,
) -> Iterator[oc.Trial]:
    """Every image in every mode; `swap` is the item whose image is lent, if there is one.

    A reader without text cannot be asked.
    """
    if traits.modality == "vision":
        return
    for image in options.images:
        shown = swap if image == "swap" else case
        for mode in options.modes if shown is not None else ():
            text = prompt_of(case.question, edition, INSTRUCTIONS[mode])
            yield _trial(case, condition(mode, image), text, options, root, shown)


def follow_ups(
    case: M3Case,
    said: Sequence[tuple[oc.Trial, oc.Reply]],
    traits: oc.Traits,
    edition: Edition,
    options: Options,
    root: str,
) -> Iterator[oc.Trial]:
    """What is asked once the reader has reasoned about the original image.

    `truncated`: the same question with the first half of its own reasoning, by sentences, and a
    request for the answer now; not asked where it refused or said less than two sentences.
    `answer_first`: the answer demanded before any reasoning.
    """
    for follow in options.follow if traits.modality != "vision" else ():
        rest: tuple[str, ...] = (ANSWER_FIRST,)
        if follow == "truncated":
            wanted = condition("cot", "original")
            replies = (
                r for trial, r in said if (trial.case, trial.condition) == (case.case_id, wanted)
            )
            reply = next(replies, None)
            half = None if reply is None or reply.refused else first_half(reply.text)
            if half is None:
                continue
            rest = (REASONING_SO_FAR, half.strip(), ANSWER_NOW)
        text = prompt_of(case.question, edition, *rest)
        yield _trial(case, condition("cot", "original", follow), text, options, root)


def timed(
    case: M3Case, traits: oc.Traits, edition: Edition, options: Options, root: str
) -> Iterator[oc.Trial]:
    """Both modes of a timed item, one after the other, asked anew.

    Which comes first is drawn for each item: a server may still have the image of the first.
    """
    modes = MODES if lot("first", edition.seed, case.case_id) % 2 else MODES[::-1]
    for mode in modes if traits.modality != "vision" else ():
        text = prompt_of(case.question, edition, INSTRUCTIONS[mode])
        yield _trial(case, condition(mode, "original", timed=True), text, options, root)


def condition(mode: str, image: str, follow: str = "", *, timed: bool = False) -> oc.Condition:
    """What a trial is called in every table."""
    return {"mode": mode, "image": image, "follow": follow, "timed": timed}


def _trial(
    case: M3Case,
    asked: oc.Condition,
    text: str,
    options: Options,
    root: str,
    shown: M3Case | None = None,
) -> oc.Trial:
    """The text below an image within `px` pixels, which is black throughout where it is `blank`."""
    operations: tuple[oc.Operation, ...] = (oc.Within(options.px),)
    if asked["image"] == "blank":
        operations += (oc.Fill(oc.Box(0, 0, options.px, options.px)),)
    picture = oc.Picture(oc.Source(root, (shown or case).image), operations)
    decoding = oc.Decoding(max_tokens=options.max_tokens, temperature=options.temperature)
    request = oc.Request((oc.Message("user", (picture, text)),), decoding)
    # What is timed is asked anew: a reply from the store took no time.
    return oc.Trial(case.case_id, asked, request, repeat=int(bool(asked["timed"])))


class Answer(msgspec.Struct, frozen=True, kw_only=True):
    """One row of the answers table; the run puts the column `reader` before these."""

    case: str
    mode: str
    image: str
    follow: str
    timed: bool
    outcome: oc.Outcome
    text: str | None = None
    finish: str | None = None
    seconds: float | None = None
    tokens_out: int | None = None
    reason: str | None = None


def answer_of(trial: oc.Trial, reply: oc.Reply | None, reason: str = "") -> Answer:
    """What a reader said about an item.

    A refusal is no answer, whatever its words, and keeps them. Without a reply there is no text;
    `reason` says why. An empty reply is a reply: its text is empty.
    """
    asked = trial.condition
    unanswered = Answer(
        case=trial.case,
        mode=str(asked["mode"]),
        image=str(asked["image"]),
        follow=str(asked["follow"]),
        timed=bool(asked["timed"]),
        outcome="unanswered",
        reason=joined_notes(notes_of(reply, reason)),
    )
    if reply is None:
        return unanswered
    return msgspec.structs.replace(
        unanswered,
        outcome="refused" if reply.refused else "answered",
        text=reply.text,
        finish=reply.finish,
        seconds=float(reply.seconds),
        tokens_out=tokens_of(reply),
    )
