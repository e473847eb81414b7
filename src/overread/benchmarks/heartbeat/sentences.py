"""What a run says in sentences: its headlines, how its numbers came about, what they cannot tell.

Can it follow a beating heart? One sentence per reader, from its skill in the standard setting: the
first context a reader was asked in, as a rule the clip as it is, and the first format that asks for
both phases; where none does, the formats of one phase each.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

import msgspec

from overread.benchmarks.exhibits.cells import percent
from overread.benchmarks.heartbeat.cases import HeartbeatCase, Window
from overread.benchmarks.heartbeat.edition import (
    BOOK,
    OBSERVERS,
    Edition,
    Options,
)
from overread.benchmarks.heartbeat.exhibits.settings import (
    BASELINE,
    GROUPED,
    PHASES,
    HeartIndex,
    number,
)
from overread.benchmarks.heartbeat.frame_measures import CANNOT_TELL
from overread.benchmarks.heartbeat.marks import Phase, phases_of
from overread.benchmarks.heartbeat.trials import t2_formats, trials
from overread.benchmarks.sentences import (
    Answer,
    Told,
    carried_out,
    few_cases,
    largest,
    least,
    listed,
    rate,
    readers_listed,
    stands,
    taken_over,
    wide_intervals,
)
from overread.case import Decoding, Headline, Measure, Traits

# ---------------------------------------------------------------- headlines

QUESTION: Final = "Can it follow a beating heart?"

_COIN_ACCURACY: Final = 0.5
_SCALE: Final = "0 is no better than always naming one frame, 1 is perfect"


class _PhaseVerdict(NamedTuple):
    """One phase: its record, whether it is surely above what sees nothing, or surely not.

    `leaks`: it is above a constant, and so is who only counts the frames of the window. `untold`:
    the constant errs by less than observers do.
    """

    phase: Phase
    record: Measure
    above: bool
    below: bool
    leaks: bool = False
    constant: bool = False
    untold: bool = False


def headlines(measures: Sequence[Measure], dataset: str = "") -> Iterator[Headline]:
    """One for each reader that was asked, in the run's order; guessers have none.

    Yes where the skill of every phase is surely above 0, in part where that of some is; no where
    none can be (its upper bound is at most 0, or one frame was named for every clip). It cannot be
    told of a phase whose best constant errs by less than observers do. In windows
    whose length gives the answer away a skill must also be surely above that of counting frames.
    Two frames alone (T2) can show no more than a part: nobody was asked to follow anything.
    """
    index = HeartIndex(measures)
    for reader in index.asked:
        told = _frames_headline(index, reader) or _pairs_headline(index, reader)
        if told is not None:
            yield told.headline(reader, QUESTION)


def _standard_records(
    index: HeartIndex, reader: str, task: str, measure: str
) -> dict[Phase, Measure]:
    """The records of the standard setting, by phase."""
    first = index.first_setting(task, reader)
    if first is None:
        return {}
    asked = [phase for phase in PHASES if phase in first.formats]
    found = ((phase, index.get(reader, measure, **first.by(phase))) for phase in asked)
    return {phase: record for phase, record in found if record is not None}


def _answer_of(cells: Sequence[_PhaseVerdict]) -> Answer:
    if all(cell.above for cell in cells):
        return "yes"
    if any(cell.above for cell in cells):
        return "in part"
    return "no" if all(cell.below for cell in cells) else "cannot tell"


# ---------------------------------------------------------------- finding the frames


def _frames_headline(index: HeartIndex, reader: str) -> Told | None:
    records = _standard_records(index, reader, "t1", "skill")
    if not records:
        return None
    cells = [_skill_verdict(index, reader, phase, record) for phase, record in records.items()]
    known = [cell for cell in cells if cell.record.value is not None]
    if not known:
        why = next((cell.record.note for cell in cells if cell.record.note), "")
        said = f"It cannot be told{f': {why}' if why else ''}."
        return Told("cannot tell", said, cells[0].record)
    numbers = listed([f"{_skill_words(cell.record)} for {PHASES[cell.phase]}" for cell in known])
    answer = _answer_of(cells)
    start, untold = _sentence_start(answer, cells), _untold_phases(answer, cells)
    sentence = f"{start}: skill {numbers}; {_SCALE}{untold}."
    return Told(answer, sentence, _deciding_record(answer, known))


def _skill_verdict(index: HeartIndex, reader: str, phase: Phase, record: Measure) -> _PhaseVerdict:
    low, high = record.low, record.high
    untold = CANNOT_TELL in record.flags
    above = low is not None and low > 0 and not untold
    # Who counts the frames of the published windows knows both phases and has seen nothing.
    counting = index.known(f"{BASELINE}length", "skill", task="t1", phase=phase)
    leaks = above and counting is not None and (counting.low or 0) > 0
    if leaks and counting is not None and counting.high is not None and low is not None:
        leaks = low <= counting.high
    named = index.known(reader, "distinct", **record.by)
    constant = named is not None and named.value == 1 and (record.n or 0) > 1
    return _PhaseVerdict(
        phase,
        record,
        above=above and not leaks,
        below=constant or (high is not None and high <= 0 and not untold),
        leaks=leaks,
        constant=constant,
        untold=untold,
    )


def _sentence_start(answer: Answer, cells: Sequence[_PhaseVerdict]) -> str:
    said = {cell.phase: PHASES[cell.phase] for cell in cells}
    if answer == "yes":
        return f"It finds {listed(list(said.values()))} better than one constant answer would"
    if answer == "in part":
        found = [said[cell.phase] for cell in cells if cell.above]
        other = [said[cell.phase] for cell in cells if not cell.above]
        return (
            f"It finds {listed(found)} better than one constant answer would, {listed(other)} not "
            "surely so"
        )
    if answer == "no":
        if all(cell.constant for cell in cells):
            first, *other = said.values()
            also = "".join(f", and likewise one for {phase}" for phase in other)
            return f"It named the same frame of every clip for {first}{also}"
        return f"It finds {listed(list(said.values()))} no better than one constant answer would"
    if any(cell.leaks for cell in cells):
        return (
            "It does better than one constant answer, but these windows give the answer away to "
            "who only counts their frames"
        )
    return "The data do not tell whether it does better than one constant answer would"


def _untold_phases(answer: Answer, cells: Sequence[_PhaseVerdict]) -> str:
    """Why a phase cannot be told, where that is for the constant and decides something."""
    phases = [PHASES[cell.phase] for cell in cells if cell.untold]
    if not phases or answer in ("yes", "no"):
        return ""
    least, most = OBSERVERS
    return (
        f"; of {listed(phases)} skill cannot tell, for the best constant errs by less than two "
        f"observers differ, {least} to {most} frames"
    )


def _deciding_record(answer: Answer, known: Sequence[_PhaseVerdict]) -> Measure:
    """The record the answer hangs on: the weakest of a yes, the strongest of any other."""

    def bound(cell: _PhaseVerdict) -> float:
        end = cell.record.high if answer == "no" else cell.record.low
        return end if end is not None else cell.record.value or 0.0

    return (min if answer == "yes" else max)(known, key=bound).record


def _skill_words(record: Measure) -> str:
    known = record.low is not None and record.high is not None
    interval = f"{number(record.low)} to {number(record.high)}" if known else ""
    return f"{number(record.value)} ({stands(record, '', interval)})"


# ---------------------------------------------------------------- which of two frames


def _pairs_headline(index: HeartIndex, reader: str) -> Told | None:
    records = _standard_records(index, reader, "t2", "accuracy")
    if not records:
        return None
    cells = [
        _PhaseVerdict(
            phase,
            record,
            above=record.low is not None and record.low > _COIN_ACCURACY,
            below=record.high is not None and record.high <= _COIN_ACCURACY,
        )
        for phase, record in records.items()
    ]
    known = [cell for cell in cells if cell.record.value is not None]
    if not known:
        nothing = "It cannot be told: nothing it said was counted."
        return Told("cannot tell", nothing, cells[0].record)
    numbers = listed([f"{rate(cell.record)} for {PHASES[cell.phase]}" for cell in known])
    verdict = _answer_of(cells)
    answer: Answer = "in part" if verdict == "yes" else verdict
    start = {
        "yes": "Of two frames it knows which is which",
        "in part": "Of two frames it knows one phase, but not surely the other",
        "no": "Of two frames it knows no better than a coin which is which",
        "cannot tell": "The data do not tell whether it knows two frames apart better than a coin",
    }[verdict]
    sentence = f"{start}: accuracy {numbers}; a coin has 50 %. It was not asked to find a frame."
    return Told(answer, sentence, _deciding_record(answer, known))


# ------------------------------------------------------ methods: sentences that an author may paste

_PAPER: Final = "Can Vision Language Models Track a Heartbeat?"
_CONTEXT_WORDS: Final = {
    "original": "the clip as it is",
    "segmented": "the clip with the left ventricle marked in red",
    "non_medical": "the marked clip in words without medicine",
}


def _phases_named(wanted: str) -> str:
    return " and ".join(PHASES[phase] for phase in phases_of(wanted))


def methods(rules: Edition, options: Options, asked_under: str | None = None) -> list[str]:
    """What was asked and shown, how replies were read, and how they were counted.

    `asked_under` is the edition the readers were asked under, where that is not `rules`; empty
    where somebody else asked them, so that what they were shown is not known here.
    """
    return [
        carried_out(f'The benchmark of "{_PAPER}" (MIDL 2026)', BOOK, rules),
        *_asked_sentences(rules, options, asked_under),
        *_reading_sentences(rules, options),
        *_counting_sentences(rules, options),
    ]


# ---------------------------------------------------------------- what was asked


def _asked_sentences(rules: Edition, options: Options, asked_under: str | None) -> Iterator[str]:
    if asked_under == "":
        yield taken_over("answers", "clips, windows, questions and decoding")
        return
    shown = rules if asked_under is None else BOOK.asked_under(asked_under)
    split = f"of the split {options.split} " if options.split else ""
    keyed = shown.annotation == "keyed"
    drawn = f"by lot (seed {shown.seed})" if keyed else "in the order of the list"
    truth = "by the larger and the smaller traced volume" if keyed else "joined as published"
    yield (
        f"Up to {options.videos} clips {split}were taken {drawn}, each with one annotated frame of "
        f"end-diastole and one of end-systole ({truth})."
    )
    if "t1" in options.tasks:
        alone = {wanted: " alone" * (len(phases_of(wanted)) == 1) for wanted in options.formats}
        formats = "; ".join(f"{_phases_named(wanted)}{only}" for wanted, only in alone.items())
        yield f"T1 asked which frames of a window are the phases, in these formats: {formats}."
        yield _window_sentence(shown, options)
    if "t2" in options.tasks:
        asked = listed([_phases_named(wanted) for wanted in t2_formats(options)], "or")
        yield (
            "T2 showed the two annotated frames in an order decided by the seed and asked which of "
            f"them is {asked}."
        )
    contexts = "; ".join(_CONTEXT_WORDS[context] for context in options.contexts)
    yield f"Each was asked in {_so_many(len(options.contexts), 'context')}: {contexts}."
    words = (
        "one wording for all readers"
        if shown.wording == "clean"
        else f"the published words of the family {options.family}"
    )
    yield f"The questions had {words}; all frames asked for were sent, or none."
    plain, thinking = (
        _decoding_of_a_trial(shown, options, reasoning) for reasoning in (False, True)
    )
    how = "the server's own sampling" if plain.temperature is None else "greedy decoding"
    seeds = f"{_so_many(len(options.seeds), 'seed')} ({_seed_span(options.seeds)})"
    passes = _so_many(options.passes, "pass", "passes")
    yield (
        f"Each question was put in {seeds} of {passes} with {how} and at most {plain.max_tokens} "
        f"new tokens ({thinking.max_tokens} for reasoning readers), unless a reader's own settings "
        "say otherwise; a reader that decodes greedily was asked once for all of them."
    )


def _window_sentence(shown: Edition, options: Options) -> str:
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


def _decoding_of_a_trial(rules: Edition, options: Options, reasoning: bool) -> Decoding:
    """As a trial has it, so that no number stands here a second time."""
    case = HeartbeatCase(case_id="", clip="", frames=9, ed=1, es=7)
    window = Window(start=0, count=9, stated=9, ed=1, es=7)
    # The made-up clip has no masks, and is asked in `original` only.
    original = msgspec.structs.replace(options, contexts=("original",))
    traits = Traits(reasoning=reasoning)
    return next(trials(case, window, 0, traits, rules, original, "")).request.decoding


def _so_many(number: int, word: str, many: str | None = None) -> str:
    return f"{number} {word if number == 1 else many or f'{word}s'}"


def _seed_span(seeds: tuple[int, ...]) -> str:
    """`2020 to 2029`, or all of them where some are left out."""
    if len(seeds) > 2 and seeds[-1] - seeds[0] == len(seeds) - 1:
        return f"{seeds[0]} to {seeds[-1]}"
    return listed([str(seed) for seed in seeds])


# ---------------------------------------------------------------- how it was read and counted


def _reading_sentences(rules: Edition, options: Options) -> Iterator[str]:
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


def _counting_sentences(rules: Edition, options: Options) -> Iterator[str]:
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


# ----------------------------------------------- limitations: in any case, and as the measures show

_FEW_VIDEOS: Final = 100  # videos, as the paper has them
_WIDE_SKILL: Final = 0.5  # of skill, from end to end
_PARSED_ENOUGH: Final = 0.95


def limitations(measures: Sequence[Measure], edition: Edition, options: Options) -> list[str]:
    """Sentences an author may paste: those that always hold first, then this run's own."""
    index = HeartIndex(measures)
    return [*_standing_limitations(edition, options), *_run_limitations(index)]


def _standing_limitations(edition: Edition, options: Options) -> Iterator[str]:
    yield (
        "A reader that finds the frames of one beat has not been shown to measure or to diagnose; "
        "the numbers describe these clips and are no evidence of clinical safety."
    )
    if "t1" in options.tasks:
        least, most = OBSERVERS
        yield (
            "The truth is one annotated frame for each phase; neighbouring frames look much alike, "
            f"and two observers differ by {least} to {most} frames."
        )
    if "t1" in options.tasks and edition.window == "fixed":
        yield (
            f"Windows of {options.frames} frames leave out clips whose phases lie too far apart or "
            "too close together; such hearts, and clips of few frames a second, are represented "
            "less."
        )
    if "t1" in options.tasks and edition.window == "two_thirds":
        yield (
            "The length of a published window gives both phases away to who counts its frames: a "
            "skill above 0 is no proof of having followed the heart."
        )
    yield (
        "What a server does with frames after they arrive, such as thinning a video, cannot be "
        "seen from here."
    )
    if len(options.contexts) == 1:
        yield f"One context was asked ({options.contexts[0].replace('_', '-')})."
    if len(options.seeds) * options.passes == 1:
        yield "Each question was put once; how a reader's own answers spread is not known."


# ---------------------------------------------------------------- what the measures show


def _run_limitations(index: HeartIndex) -> Iterator[str]:
    def of(name: str) -> list[Measure]:
        return [record for record in index.every(name) if record.reader in index.asked]

    yield "Whether the numbers hold at other sites than those of the clips was not tested."
    yield from _left_out_clips(index)
    yield from few_cases(of("mae"), _FEW_VIDEOS, "Errors stand", "video")
    if wide := wide_intervals(of("skill"), _WIDE_SKILL):
        yield (
            f"In some settings the interval of skill is wider than {number(_WIDE_SKILL)} for "
            f"{readers_listed(wide)}."
        )
    few = [r for r in of("parsed") if r.value is not None and r.value < _PARSED_ENOUGH]
    for reader in dict.fromkeys(record.reader for record in few):
        record = least(r for r in few if r.reader == reader)
        yield (
            f"Of the replies of {reader} in some setting only {percent(record.value)} % (n = "
            f"{record.n}) could be read; in T1 its errors are those of the readable ones alone."
        )
    if outside := [r.reader for r in of("out_of_range") if r.value]:
        yield (
            f"{readers_listed(outside)} named frames that were not shown; the raw error counts "
            "them as they are."
        )
    if none := [r.reader for r in (*of("mae"), *of("accuracy")) if r.value is None]:
        yield f"In some settings nothing could be counted of {readers_listed(none)}."
    if failed := [r.reader for r in of("unanswered") if r.k]:
        yield f"Some questions to {readers_listed(failed)} got no reply and are in no number."
    counting = [r for r in index.every("skill") if r.reader == f"{BASELINE}length"]
    if leaks := [r for r in counting if r.low is not None and r.low > 0]:
        most = largest(leaks)
        yield (
            f"Counting the frames of the windows has itself a skill of up to {number(most.value)} "
            f"(95 % interval {number(most.low)} to {number(most.high)}, n = {most.n})."
        )


def _left_out_clips(index: HeartIndex) -> Iterator[str]:
    """Whom the windows leave out, by group, where they leave anybody out."""
    (everyone,) = index.together("left_out", "task") or (None,)
    if everyone is None or not everyone.k:
        return
    groups = [
        f"{words}: {', '.join(f'{r.by[key]} {r.k} of {r.n}' for r in found)}"
        for key, words in GROUPED.items()
        if (found := index.together("left_out", "task", key))
    ]
    yield (
        f"No window fits {everyone.k} of {everyone.n} clips"
        f"{'; ' * bool(groups)}{'; '.join(groups)}."
    )
