"""Who was asked what, as a run's measures show it, and how numbers are printed.

Readers, contexts and formats. Guessers (`baseline:NAME`) and models that give the ejection fraction
(`specialist:NAME`) have measures but were not asked: they are references beside the readers.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cached_property
from itertools import takewhile
from typing import Final, NamedTuple

from overread.benchmarks.exhibits.cells import printed
from overread.benchmarks.exhibits.index import Index, wording_beside
from overread.benchmarks.exhibits.style import shown
from overread.benchmarks.heartbeat.edition import CONTEXTS, FORMATS
from overread.benchmarks.heartbeat.marks import Phase, phases_of
from overread.benchmarks.heartbeat.study import ASKED
from overread.case import Measure
from overread.measuring.units import Unit

BASELINE: Final = "baseline:"
SPECIALIST: Final = "specialist:"
GROUPED: Final = {"ef": "by EF in per cent", "fps": "by frames a second"}
NAMES: Final = {"original": "original", "segmented": "segmented", "non_medical": "non-medical"}
PHASES: Final[dict[Phase, str]] = {"ed": "end-diastole", "es": "end-systole"}
FRAMES: Final = Unit(digits=2)
SIGNED_FRAMES: Final = Unit(digits=2, signed=True)
ACCURACY: Final = Unit(digits=3)
"""As the paper has them; no unit is printed."""
GUESSES: Final = "uniform guesses, one pass"
_TASK_MEASURES: Final = {"t1": ("mae", "skill"), "t2": ("accuracy",)}
_WORDING: Final = wording_beside(__file__)
_LONG_NAME: Final = 34  # what `shown` leaves whole


def number(value: float | None) -> str:
    """Two decimals, as of frames."""
    return printed(value, FRAMES)


class Setting(NamedTuple):
    """What one reader was asked in one way."""

    reader: str
    context: str
    format: str
    by: dict[str, str]

    @property
    def phases(self) -> tuple[Phase, ...]:
        return phases_of(self.format)


class First(NamedTuple):
    """One task's standard setting: its first context, and each phase's format there."""

    task: str
    context: str
    formats: dict[Phase, str]

    def by(self, phase: Phase) -> dict[str, str]:
        wanted = self.formats[phase]
        return {"task": self.task, "context": self.context, "format": wanted, "phase": phase}

    def __str__(self) -> str:
        formats = list(dict.fromkeys(self.formats.values()))
        plural = "s" * (len(formats) > 1)
        return f"context {NAMES[self.context]}, format{plural} {' and '.join(formats)}"


class HeartIndex(Index):
    """The measures of a run, and what they show of its asking."""

    def __init__(self, measures: Iterable[Measure], signature: str = "") -> None:
        super().__init__(measures, signature, _WORDING)

    @cached_property
    def asked(self) -> list[str]:
        """The readers that were asked, in the run's order."""
        return [name for name in self.readers if not name.startswith((BASELINE, SPECIALIST))]

    @cached_property
    def names(self) -> dict[str, str]:
        """Those readers as they are drawn."""
        return short_names(self.asked)

    def references(self, kind: str) -> list[str]:
        """The guessers or the specialists, in the run's order."""
        return [name for name in self.readers if name.startswith(kind)]

    def settings(self, task: str, *contexts: str) -> Iterator[Setting]:
        """What was asked in a task, in some contexts or all, in the paper's order."""
        for context in contexts or CONTEXTS:
            for reader in self.asked:
                for wanted in FORMATS:
                    by = {"task": task, "context": context, "format": wanted}
                    if any(
                        self.get(reader, measure, phase=phase, **by)
                        for measure in _TASK_MEASURES[task]
                        for phase in phases_of(wanted)
                    ):
                        yield Setting(reader, context, wanted, by)

    def first_setting(self, task: str, *readers: str) -> First | None:
        """The standard setting of some readers, or all: the first context they were asked in.

        There the first format that asks for both phases; without one, those of one phase each.
        """
        own = [one for one in self.settings(task) if not readers or one.reader in readers]
        here = [one for one in own if one.context == own[0].context]
        pair = [one.format for one in here if len(one.phases) == 2]
        formats = {one.phases[0]: one.format for one in here}
        formats = dict.fromkeys(PHASES, pair[0]) if pair else formats
        return First(task, own[0].context, formats) if own else None

    def contexts(self, task: str) -> list[str]:
        """The contexts somebody was asked in."""
        return list(dict.fromkeys(one.context for one in self.settings(task)))

    def reference(self, measure: str, task: str, context: str, phase: str) -> Measure | None:
        """What a guesser has in a context, from the reader whose videos are the most.

        Best constants and uniform guesses are measured on the videos each reader is judged on.
        """
        found = [
            record
            for one in self.settings(task, context)
            if (record := self.known(one.reader, measure, phase=phase, **one.by))
        ]
        return max(found, key=lambda record: record.n or 0, default=None)

    def how_many(self, what: str) -> int | None:
        """How many seeds, passes or frames of the longest window there are; None if not known."""
        found = self.known("", ASKED, of=what)
        return None if found is None else int(found.value or 0)

    def one_pass(self) -> tuple[str, ...]:
        """Why a mean over passes is not to be held against uniform guesses; nothing of one pass."""
        return () if self.how_many("passes") == 1 else (self.note("guessed_once"),)


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
