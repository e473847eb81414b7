"""Can it follow a beating heart? One sentence per reader, from its skill in the standard setting.

The standard setting is the first context a reader was asked in, as a rule the clip as it is, and
the first format that asks for both phases; where none does, the formats of one phase each.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final, Literal, NamedTuple, TypeAlias

from overread.benchmarks.exhibits.index import Index
from overread.benchmarks.heartbeat.edition import CONTEXTS, FORMATS, OBSERVERS
from overread.benchmarks.heartbeat.exhibits.numbers import number
from overread.benchmarks.heartbeat.exhibits.settings import BASELINE, PHASES, readers_of
from overread.benchmarks.heartbeat.frames import CANNOT_TELL
from overread.benchmarks.heartbeat.marks import Phase, phases_of
from overread.benchmarks.reporting import listed, rate, stands
from overread.case import Headline, Measure

__all__ = ["QUESTION", "headlines"]

QUESTION: Final = "Can it follow a beating heart?"

Answer: TypeAlias = Literal["yes", "no", "in part", "cannot tell"]
_Told: TypeAlias = tuple[Answer, str, Measure]
_COIN: Final = 0.5
_SCALE: Final = "0 is no better than always naming one frame, 1 is perfect"


class _Cell(NamedTuple):
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


def headlines(measures: Sequence[Measure]) -> Iterator[Headline]:
    """One for each reader that was asked, in the run's order; guessers have none.

    Yes where the skill of every phase is surely above 0, in part where that of some is; no where
    none can be (its upper bound is at most 0, or one frame was named for every clip). It cannot be
    told of a phase whose best constant errs by less than observers do. In windows
    whose length gives the answer away a skill must also be surely above that of counting frames.
    Two frames alone (T2) can show no more than a part: nobody was asked to follow anything.
    """
    index = Index(measures)
    for reader in readers_of(index):
        told = _frames(index, reader) or _pairs(index, reader)
        if told is not None:
            answer, sentence, measure = told
            yield Headline(
                reader=reader, question=QUESTION, answer=answer, sentence=sentence, measure=measure
            )


def _records(index: Index, reader: str, task: str, measure: str) -> dict[Phase, Measure]:
    """The records of the standard setting, by phase."""
    for context in CONTEXTS:
        found: dict[str, dict[Phase, Measure]] = {}
        for wanted in FORMATS:
            by = {"task": task, "context": context, "format": wanted}
            there = {
                phase: record
                for phase in phases_of(wanted)
                if (record := index.get(reader, measure, phase=phase, **by)) is not None
            }
            if there:
                found[wanted] = there
        pair = next((there for there in found.values() if len(there) == 2), None)
        if pair is not None:
            return {phase: pair[phase] for phase in PHASES}
        if found:
            single = {phase: r for there in reversed(found.values()) for phase, r in there.items()}
            return {phase: single[phase] for phase in PHASES if phase in single}
    return {}


def _verdict(cells: Sequence[_Cell]) -> Answer:
    if all(cell.above for cell in cells):
        return "yes"
    if any(cell.above for cell in cells):
        return "in part"
    return "no" if all(cell.below for cell in cells) else "cannot tell"


# ---------------------------------------------------------------- finding the frames


def _frames(index: Index, reader: str) -> _Told | None:
    records = _records(index, reader, "t1", "skill")
    if not records:
        return None
    cells = [_skill_cell(index, reader, phase, record) for phase, record in records.items()]
    known = [cell for cell in cells if cell.record.value is not None]
    if not known:
        why = next((cell.record.note for cell in cells if cell.record.note), "")
        said = f"It cannot be told{f': {why}' if why else ''}."
        return "cannot tell", said, cells[0].record
    numbers = listed([f"{_skill(cell.record)} for {PHASES[cell.phase]}" for cell in known])
    answer = _verdict(cells)
    sentence = f"{_start(answer, cells)}: skill {numbers}; {_SCALE}{_untold(answer, cells)}."
    return answer, sentence, _deciding(answer, known)


def _skill_cell(index: Index, reader: str, phase: Phase, record: Measure) -> _Cell:
    low, high = record.low, record.high
    untold = record.label == CANNOT_TELL
    above = low is not None and low > 0 and not untold
    # Who counts the frames of the published windows knows both phases and has seen nothing.
    counting = index.known(f"{BASELINE}length", "skill", task="t1", phase=phase)
    leaks = above and counting is not None and (counting.low or 0) > 0
    if leaks and counting is not None and counting.high is not None and low is not None:
        leaks = low <= counting.high
    named = index.known(reader, "distinct", **record.by)
    constant = named is not None and named.value == 1 and (record.n or 0) > 1
    return _Cell(
        phase,
        record,
        above=above and not leaks,
        below=constant or (high is not None and high <= 0 and not untold),
        leaks=leaks,
        constant=constant,
        untold=untold,
    )


def _start(answer: Answer, cells: Sequence[_Cell]) -> str:
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


def _untold(answer: Answer, cells: Sequence[_Cell]) -> str:
    """Why a phase cannot be told, where that is for the constant and decides something."""
    phases = [PHASES[cell.phase] for cell in cells if cell.untold]
    if not phases or answer in ("yes", "no"):
        return ""
    least, most = OBSERVERS
    return (
        f"; of {listed(phases)} skill cannot tell, for the best constant errs by less than two "
        f"observers differ, {least} to {most} frames"
    )


def _deciding(answer: Answer, known: Sequence[_Cell]) -> Measure:
    """The record the answer hangs on: the weakest of a yes, the strongest of any other."""

    def bound(cell: _Cell) -> float:
        end = cell.record.high if answer == "no" else cell.record.low
        return end if end is not None else cell.record.value or 0.0

    return (min if answer == "yes" else max)(known, key=bound).record


def _skill(record: Measure) -> str:
    known = record.low is not None and record.high is not None
    interval = f"{number(record.low)} to {number(record.high)}" if known else ""
    return f"{number(record.value)} ({stands(record, '', interval)})"


# ---------------------------------------------------------------- which of two frames


def _pairs(index: Index, reader: str) -> _Told | None:
    records = _records(index, reader, "t2", "accuracy")
    if not records:
        return None
    cells = [
        _Cell(
            phase,
            record,
            above=record.low is not None and record.low > _COIN,
            below=record.high is not None and record.high <= _COIN,
        )
        for phase, record in records.items()
    ]
    known = [cell for cell in cells if cell.record.value is not None]
    if not known:
        return "cannot tell", "It cannot be told: nothing it said was counted.", cells[0].record
    numbers = listed([f"{rate(cell.record)} for {PHASES[cell.phase]}" for cell in known])
    verdict = _verdict(cells)
    answer: Answer = "in part" if verdict == "yes" else verdict
    start = {
        "yes": "Of two frames it knows which is which",
        "in part": "Of two frames it knows one phase, but not surely the other",
        "no": "Of two frames it knows no better than a coin which is which",
        "cannot tell": "The data do not tell whether it knows two frames apart better than a coin",
    }[verdict]
    sentence = f"{start}: accuracy {numbers}; a coin has 50 %. It was not asked to find a frame."
    return answer, sentence, _deciding(answer, known)
