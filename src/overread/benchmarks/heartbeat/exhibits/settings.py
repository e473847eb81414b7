"""Who was asked what, as a run's measures show it, and how numbers are printed.

Readers, contexts and formats. Guessers (`baseline:NAME`) and models that give the ejection fraction
(`specialist:NAME`) have measures but were not asked: they are references beside the readers.
"""

from __future__ import annotations

from itertools import takewhile
from typing import Final

from overread.benchmarks.exhibits.cells import NOT_KNOWN
from overread.benchmarks.exhibits.index import Index
from overread.benchmarks.exhibits.style import shown
from overread.benchmarks.heartbeat.edition import CONTEXTS, FORMATS
from overread.benchmarks.heartbeat.marks import Phase, phases_of
from overread.benchmarks.heartbeat.study import ASKED
from overread.case import Measure

__all__ = [
    "BASELINE",
    "GROUPED",
    "GUESSES",
    "NAMES",
    "NOT_ASKED",
    "PHASES",
    "SPECIALIST",
    "accuracy_cell",
    "asked",
    "asked_formats",
    "contexts_of",
    "frames_cell",
    "how_many",
    "number",
    "one_pass",
    "readers_of",
    "reference",
    "references",
    "short_names",
]

BASELINE: Final = "baseline:"
SPECIALIST: Final = "specialist:"
GROUPED: Final = {"ef": "by EF in per cent", "fps": "by frames a second"}
NAMES: Final = {"original": "original", "segmented": "segmented", "non_medical": "non-medical"}
PHASES: Final[dict[Phase, str]] = {"ed": "end-diastole", "es": "end-systole"}
_TASK_MEASURE: Final = {"t1": "mae", "t2": "accuracy"}
_LONG_NAME: Final = 34  # what `shown` leaves whole


def readers_of(index: Index) -> list[str]:
    """The readers that were asked, in the run's order."""
    return [name for name in index.readers if not name.startswith((BASELINE, SPECIALIST))]


def references(index: Index, kind: str) -> list[str]:
    """The guessers or the specialists, in the run's order."""
    return [name for name in index.readers if name.startswith(kind)]


def asked(index: Index, task: str, context: str) -> list[tuple[str, str]]:
    """The readers and formats of a task and context, in the paper's order."""
    return [
        (reader, wanted)
        for reader in readers_of(index)
        for wanted in FORMATS
        if any(
            index.get(
                reader, _TASK_MEASURE[task], task=task, context=context, format=wanted, phase=phase
            )
            for phase in phases_of(wanted)
        )
    ]


def contexts_of(index: Index, task: str) -> list[str]:
    """The contexts somebody was asked in."""
    return [context for context in CONTEXTS if asked(index, task, context)]


def asked_formats(index: Index, task: str, context: str) -> list[str]:
    """The formats somebody was asked for in a context."""
    there = {wanted for _, wanted in asked(index, task, context)}
    return [wanted for wanted in FORMATS if wanted in there]


def reference(index: Index, measure: str, task: str, context: str, phase: str) -> Measure | None:
    """What a guesser has in a context, from the reader whose videos are the most.

    Best constants and uniform guesses are measured on the videos each reader is judged on.
    """
    found = [
        record
        for reader, wanted in asked(index, task, context)
        if (
            record := index.known(
                reader, measure, task=task, context=context, format=wanted, phase=phase
            )
        )
    ]
    return max(found, key=lambda record: record.n or 0, default=None)


def short_names(readers: list[str]) -> dict[str, str]:
    """The names as they are drawn: what all long ones begin with alike is left out of them.

    Cut only where a part of the name ends, so that `32b` is not drawn as `2b`.
    """
    long = [name for name in readers if len(name) > _LONG_NAME]
    same = takewhile(lambda letters: len(set(letters)) == 1, zip(*long, strict=False))
    alike = "".join(letters[0] for letters in same) if len(long) > 1 else ""
    cut = 1 + max(alike.rfind(sign) for sign in "/:-_ ")
    plain = {name: f"…{name[cut:]}" if cut and name in long else name for name in readers}
    if len(set(plain.values())) < len(plain):
        return shown(readers)
    drawn = shown(list(plain.values()))
    return {name: drawn[plain[name]] for name in readers}


# ------------------------- frames and accuracies as they are printed: value, spread, interval and n

NOT_ASKED: Final = "-"


def number(value: float | None, *, signed: bool = False) -> str:
    """Two decimals; from ten thousand on in powers of ten, so that a column keeps its width."""
    if value is None:
        return NOT_KNOWN
    sign = "+" if signed else ""
    text = f"{value:{sign}.2e}" if abs(value) >= 10_000 else f"{value:{sign}.2f}"
    return text[1:] if text in ("-0.00", "+0.00") else text


def frames_cell(record: Measure | None, *, sd: float | None = None, signed: bool = False) -> str:
    """`4.14 ± 1.25 [3.41, 4.91] n=10`; `sd` is the spread the table is about."""
    if record is None or record.value is None:
        return NOT_KNOWN
    text = number(record.value, signed=signed)
    if sd is not None:
        text += f" ± {number(sd)}"
    if record.low is not None and record.high is not None:
        low, high = (number(bound, signed=signed) for bound in (record.low, record.high))
        text += f" [{low}, {high}]"
    return text if record.n is None else f"{text} n={record.n}"


def accuracy_cell(record: Measure | None, *, sd: float | None = None) -> str:
    """`0.711 ± 0.022 [0.62, 0.79] n=1000`, three decimals as the paper has them."""
    if record is None or record.value is None:
        return NOT_KNOWN
    text = f"{record.value:.3f}"
    if sd is not None:
        text += f" ± {sd:.3f}"
    if record.low is not None and record.high is not None:
        text += f" [{record.low:.3f}, {record.high:.3f}]"
    return text if record.n is None else f"{text} n={record.n}"


# ---------------------------------------------------------------- how much was asked

GUESSES: Final = "uniform guesses, one pass"
_GUESSED_ONCE: Final = (
    "Uniform guesses are one guess per video. A reader's answer is the mean of its passes, which "
    "as a rule errs less than one guess even where every pass is a guess."
)


def how_many(index: Index, what: str) -> int | None:
    """How many seeds, passes or frames of the longest window a run has; None where not known."""
    found = index.known("", ASKED, of=what)
    return None if found is None else int(found.value or 0)


def one_pass(index: Index) -> tuple[str, ...]:
    """Why a mean over passes is not to be held against uniform guesses; nothing of one pass."""
    return () if how_many(index, "passes") == 1 else (_GUESSED_ONCE,)
