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
    sentences_beside,
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
        start = f"It cannot be told{f': {why}' if why else ''}"
        return Told("cannot tell", f"{start}.", cells[0].record, start)
    numbers = listed([f"{_skill_words(cell.record)} for {PHASES[cell.phase]}" for cell in known])
    answer = _answer_of(cells)
    start, untold = _sentence_start(answer, cells), _untold_phases(answer, cells)
    sentence = f"{start}: skill {numbers}; {_SCALE}{untold}."
    return Told(answer, sentence, _deciding_record(answer, known), start)


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
        start = "It cannot be told: nothing it said was counted"
        return Told("cannot tell", f"{start}.", cells[0].record, start)
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
    return Told(answer, sentence, _deciding_record(answer, known), start)


# ------------------------------------------------------ methods: sentences that an author may paste

_PAPER: Final = "Can Vision Language Models Track a Heartbeat?"
_SAID: Final = sentences_beside(__file__)
_OBSERVED: Final = "{} to {}".format(*OBSERVERS)


def _phases_named(wanted: str) -> str:
    return " and ".join(PHASES[phase] for phase in phases_of(wanted))


def methods(rules: Edition, options: Options, asked_under: str | None = None) -> list[str]:
    """What was asked and shown, how replies were read, and how they were counted.

    `asked_under` is the edition the readers were asked under, where that is not `rules`; empty
    where somebody else asked them, so that what they were shown is not known here.
    """
    return [
        carried_out(f'The benchmark of "{_PAPER}" (MIDL 2026)', BOOK, rules),
        *asked(rules, options, asked_under),
        *_counted_sentences(rules, options),
    ]


# ---------------------------------------------------------------- what was asked


def asked(rules: Edition, options: Options, asked_under: str | None = None) -> Iterator[str]:
    """What was asked and shown, and how replies were decoded."""
    if asked_under == "":
        yield taken_over("answers", "clips, windows, questions and decoding")
        return
    shown = rules if asked_under is None else BOOK.asked_under(asked_under)
    tell = _SAID.under(shown, asked=options)
    split = f"of the split {options.split} " if options.split else ""
    yield tell(f"drawn_{shown.annotation}", split=split)
    if "t1" in options.tasks:
        alone = {wanted: " alone" * (len(phases_of(wanted)) == 1) for wanted in options.formats}
        formats = "; ".join(f"{_phases_named(wanted)}{only}" for wanted, only in alone.items())
        yield tell("t1", formats=formats)
        yield tell(f"window_{shown.window}")
    if "t2" in options.tasks:
        which = listed([_phases_named(wanted) for wanted in t2_formats(options)], "or")
        yield tell("t2", which=which)
    contexts = "; ".join(_SAID.words["contexts"][context] for context in options.contexts)
    yield tell("contexts", many=_so_many(len(options.contexts), "context"), contexts=contexts)
    yield tell("wording")
    plain, reasoning = (_decoding_of_a_trial(shown, options, thinks) for thinks in (False, True))
    yield tell(
        "decoding",
        seeds=f"{_so_many(len(options.seeds), 'seed')} ({_seed_span(options.seeds)})",
        passes=_so_many(options.passes, "pass", "passes"),
        how="the server's own sampling" if plain.temperature is None else "greedy decoding",
        plain=plain,
        reasoning=reasoning,
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


def _counted_sentences(rules: Edition, options: Options) -> Iterator[str]:
    tell = _SAID.under(rules, asked=options, observed=_OBSERVED)
    yield tell("reading")
    if "t1" in options.tasks:
        yield tell(f"seed_{rules.aggregation}")
    if "t2" in options.tasks:
        yield tell(f"t2_{rules.unparsed_t2}")
    if "t1" in options.tasks:
        yield tell("skill")
        if rules.beat == "nearest":
            yield tell("beats")
        if rules.observers:
            yield tell("observers")
    if "t2" in options.tasks:
        yield tell("accuracy")
    yield tell("intervals")
    if options.specialist is not None:
        yield tell("specialist")


# ----------------------------------------------- limitations: in any case, and as the measures show

_FEW_VIDEOS: Final = 100  # videos, as the paper has them
_WIDE_SKILL: Final = 0.5  # of skill, from end to end
_PARSED_ENOUGH: Final = 0.95


def limitations(measures: Sequence[Measure], edition: Edition, options: Options) -> list[str]:
    """Sentences an author may paste: those that always hold first, then this run's own."""
    index = HeartIndex(measures)
    return [*_standing_limitations(edition, options), *_run_limitations(index)]


def _standing_limitations(edition: Edition, options: Options) -> Iterator[str]:
    tell = _SAID.under(edition, asked=options, observed=_OBSERVED)
    yield tell("no_evidence")
    if "t1" in options.tasks:
        yield tell("one_truth")
        yield tell(f"limits_{edition.window}")
    yield tell("thinned")
    if len(options.contexts) == 1:
        yield tell("one_context", context=options.contexts[0].replace("_", "-"))
    if len(options.seeds) * options.passes == 1:
        yield tell("one_asking")


# ---------------------------------------------------------------- what the measures show


def _run_limitations(index: HeartIndex) -> Iterator[str]:
    def of(name: str) -> list[Measure]:
        return [record for record in index.every(name) if record.reader in index.asked]

    yield _SAID("sites")
    yield from _left_out_clips(index)
    yield from few_cases(of("mae"), _FEW_VIDEOS, "Errors stand", "video")
    if wide := wide_intervals(of("skill"), _WIDE_SKILL):
        yield _SAID("wide", most=number(_WIDE_SKILL), readers=readers_listed(wide))
    few = [r for r in of("parsed") if r.value is not None and r.value < _PARSED_ENOUGH]
    for reader in dict.fromkeys(record.reader for record in few):
        record = least(r for r in few if r.reader == reader)
        yield _SAID("unread", reader=reader, share=percent(record.value), n=record.n)
    troubled = {
        "outside": [r.reader for r in of("out_of_range") if r.value],
        "uncounted": [r.reader for r in (*of("mae"), *of("accuracy")) if r.value is None],
        "unanswered": [r.reader for r in of("unanswered") if r.k],
    }
    for name, readers in troubled.items():
        if readers:
            yield _SAID(name, readers=readers_listed(readers))
    counting = [r for r in index.every("skill") if r.reader == f"{BASELINE}length"]
    if leaks := [r for r in counting if r.low is not None and r.low > 0]:
        most = largest(leaks)
        ends = {"most": most.value, "low": most.low, "high": most.high}
        yield _SAID("counting", n=most.n, **{name: number(end) for name, end in ends.items()})


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
    yield _SAID("left_out", everyone=everyone, groups="".join(f"; {words}" for words in groups))
