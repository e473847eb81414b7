"""Who was asked what: readers, contexts and formats of a run, as its measures show them.

Guessers (`baseline:NAME`) and models that give the ejection fraction (`specialist:NAME`) have
measures but were not asked: they are references beside the readers.
"""

from __future__ import annotations

from itertools import takewhile
from typing import Final

from overread.benchmarks.exhibits.index import Index
from overread.benchmarks.exhibits.style import shown
from overread.benchmarks.heartbeat.edition import CONTEXTS, FORMATS
from overread.benchmarks.heartbeat.marks import Phase, phases_of
from overread.case import Measure

__all__ = [
    "BASELINE",
    "GROUPED",
    "NAMES",
    "PHASES",
    "SPECIALIST",
    "asked",
    "asked_formats",
    "contexts_of",
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
_HEADLINE: Final = {"t1": "mae", "t2": "accuracy"}
_LONG: Final = 34  # what `shown` leaves whole


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
                reader, _HEADLINE[task], task=task, context=context, format=wanted, phase=phase
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
    long = [name for name in readers if len(name) > _LONG]
    same = takewhile(lambda letters: len(set(letters)) == 1, zip(*long, strict=False))
    alike = "".join(letters[0] for letters in same) if len(long) > 1 else ""
    cut = 1 + max(alike.rfind(sign) for sign in "/:-_ ")
    plain = {name: f"…{name[cut:]}" if cut and name in long else name for name in readers}
    if len(set(plain.values())) < len(plain):
        return shown(readers)
    drawn = shown(list(plain.values()))
    return {name: drawn[plain[name]] for name in readers}
