"""How the numbers of a heartbeat run came about, in sentences that an author may paste."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from overread.benchmarks.heartbeat.cases import HeartbeatCase
from overread.benchmarks.heartbeat.caveats import limitations
from overread.benchmarks.heartbeat.edition import (
    AUTHORS,
    OBSERVERS,
    RULES,
    Edition,
    Options,
    edition,
)
from overread.benchmarks.heartbeat.trials import t2_formats, trials
from overread.benchmarks.reporting import departures, label_words, listed
from overread.case import Decoding, Traits

__all__ = ["limitations", "methods"]

_PAPER: Final = "Can Vision Language Models Track a Heartbeat?"
_CONTEXTS: Final = {
    "original": "the clip as it is",
    "segmented": "the clip with the left ventricle marked in red",
    "non_medical": "the marked clip in words without medicine",
}
_FORMATS: Final = {
    "edv_esv": "end-diastole and end-systole",
    "esv_edv": "end-systole and end-diastole",
    "edv": "end-diastole alone",
    "esv": "end-systole alone",
}
_PHASE: Final = {"edv": "end-diastole", "esv": "end-systole"}


def methods(rules: Edition, options: Options, asked_under: str | None = None) -> list[str]:
    """What was asked and shown, how replies were read, and how they were counted.

    `asked_under` is the edition the readers were asked under, where that is not `rules`; empty
    where somebody else asked them, so that what they were shown is not known here.
    """
    return [
        f'The benchmark of "{_PAPER}" (MIDL 2026) was carried out under the rules '
        f'"{rules.label}" of Overread{departures(rules, AUTHORS, RULES)}.',
        *_asked(rules, options, asked_under),
        *_read(rules, options),
        *_counted(rules, options),
    ]


# ---------------------------------------------------------------- what was asked


def _asked(rules: Edition, options: Options, asked_under: str | None) -> Iterator[str]:
    if asked_under == "":
        yield (
            "The answers were taken over from results that somebody else's scripts had written: "
            "clips, windows, questions and decoding are theirs."
        )
        return
    shown = rules if asked_under is None else edition(*label_words(asked_under))
    split = f"of the split {options.split} " if options.split else ""
    keyed = shown.annotation == "keyed"
    drawn = f"by lot (seed {shown.seed})" if keyed else "in the order of the list"
    truth = "by the larger and the smaller traced volume" if keyed else "joined as published"
    yield (
        f"Up to {options.videos} clips {split}were taken {drawn}, each with one annotated frame of "
        f"end-diastole and one of end-systole ({truth})."
    )
    if "t1" in options.tasks:
        formats = "; ".join(_FORMATS[wanted] for wanted in options.formats)
        yield f"T1 asked which frames of a window are the phases, in these formats: {formats}."
        yield _window(shown, options)
    if "t2" in options.tasks:
        asked = listed([_PHASE[wanted] for wanted in t2_formats(options)], "or")
        yield (
            "T2 showed the two annotated frames in an order decided by the seed and asked which of "
            f"them is {asked}."
        )
    contexts = "; ".join(_CONTEXTS[context] for context in options.contexts)
    yield f"Each was asked in {_some(len(options.contexts), 'context')}: {contexts}."
    words = (
        "one wording for all readers"
        if shown.wording == "clean"
        else f"the published words of the family {options.family}"
    )
    yield f"The questions had {words}; all frames asked for were sent, or none."
    plain, thinking = (_decoding(shown, options, reasoning) for reasoning in (False, True))
    how = "the server's own sampling" if plain.temperature is None else "greedy decoding"
    yield (
        f"Each question was put in {_some(len(options.seeds), 'seed')} ({_span(options.seeds)}) of "
        f"{_some(options.passes, 'pass', 'passes')} with {how} and at most {plain.max_tokens} new "
        f"tokens ({thinking.max_tokens} for reasoning readers), unless a reader's own settings say "
        "otherwise; a reader that decodes greedily was asked once for all of them."
    )


def _window(shown: Edition, options: Options) -> str:
    if shown.window == "fixed":
        return (
            f"Every window had {options.frames} frames and began at a place drawn evenly (seed "
            f"{shown.seed}) among those that hold both phases, so that its length says nothing; "
            f"clips whose phases do not fit, or lie less than 1/{options.reach:g} of a window "
            "apart, so that neighbouring beats would enter, were left out."
        )
    return (
        "Windows had a margin of two thirds of the distance between the phases on each side, as "
        "published."
    )


def _decoding(rules: Edition, options: Options, reasoning: bool) -> Decoding:
    """As a trial has it, so that no number stands here a second time."""
    from overread.benchmarks.heartbeat.windows import Window

    case = HeartbeatCase(case_id="", clip="", frames=9, ed=1, es=7)
    window = Window(start=0, count=9, stated=9, ed=1, es=7)
    traits = Traits(reasoning=reasoning)
    original = _with_original(options)
    return next(trials(case, window, 0, traits, rules, original, "")).request.decoding


def _with_original(options: Options) -> Options:
    """The made-up clip has no masks, and is asked in `original` only."""
    import msgspec

    return msgspec.structs.replace(options, contexts=("original",))


def _some(number: int, word: str, many: str | None = None) -> str:
    return f"{number} {word if number == 1 else many or f'{word}s'}"


def _span(seeds: tuple[int, ...]) -> str:
    """`2020 to 2029`, or all of them where some are left out."""
    if len(seeds) > 2 and seeds[-1] - seeds[0] == len(seeds) - 1:
        return f"{seeds[0]} to {seeds[-1]}"
    return listed([str(seed) for seed in seeds])


# ---------------------------------------------------------------- how it was read and counted


def _read(rules: Edition, options: Options) -> Iterator[str]:
    thinking = "thinking removed first" if rules.thinking == "removed" else "thinking read too"
    yield (
        "Replies were read by the published grammar (the asked names, =, whole numbers, a pair in "
        f"the asked order), {thinking}; a lenient reading is reported apart. Numbers out of the "
        "range shown are kept and counted."
    )
    if "t1" in options.tasks:
        cut = "" if rules.aggregation == "plain" else ", cut to a whole number as published"
        yield (
            f"The answer of a seed is in T1 the mean of its parsed passes{cut}; unparsed replies "
            "have no error."
        )
    if "t2" in options.tasks:
        yield (
            "In T2 it is their majority; a tie is wrong, and so are replies that name no frame."
            if rules.unparsed_t2 == "wrong"
            else "In T2 it is their mean cut to a whole number, and clips without a parsed pass "
            "are dropped, as published."
        )


def _counted(rules: Edition, options: Options) -> Iterator[str]:
    if "t1" in options.tasks:
        over = (
            "over videos of each video's mean over seeds"
            if rules.aggregation == "plain"
            else "over seeds of each seed's mean over videos"
        )
        yield (
            f"MAE is the mean {over} of the absolute error in frames. Skill is 1 - MAE / MAE of "
            "the best constant, the median of the other patients' true frames: 0 is no better than "
            "always naming one frame, 1 is perfect."
        )
        if rules.beat == "nearest":
            yield (
                "Where volumes or masks show a phase of a neighbouring beat in the window too, an "
                "answer, and likewise the constant, is held against the nearest frame of its phase."
            )
        if rules.observers:
            least, most = OBSERVERS
            yield (
                f"Where the best constant errs by less than {rules.observers:g} frames (two "
                f"observers differ by {least} to {most}), skill was taken to tell nothing."
            )
    if "t2" in options.tasks:
        yield "Accuracy is the share of pairs in which the asked frame was named; a coin has 50 %."
    yield (
        f"Intervals are 95 % and resample patients with all their videos {rules.boot:,} times "
        f"(seed {rules.seed}), never seeds or passes; shares have Wilson's interval with a design "
        "effect by patient."
    )
    if options.specialist is not None:
        yield "Models that predict the ejection fraction itself are set beside the readers."
