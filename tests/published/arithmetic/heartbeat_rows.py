"""The rows of the heartbeat paper's tables: who was asked what, and where it is printed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from overread.published import Figures
from overread.published._figures import Printed

# The word of the contract, as a reader of the table sees it.
CONTEXTS: Final[Mapping[str, str]] = {
    "original": "original",
    "segmented": "segmented",
    "non_medical": "non-medical",
}
FORMATS: Final[Mapping[str, tuple[str, ...]]] = {
    "edv_esv": ("ed", "es"),
    "esv_edv": ("es", "ed"),
    "edv": ("ed",),
    "esv": ("es",),
}
PHASES: Final = ("ed", "es")
FRAME_TABLES: Final[Mapping[str, str]] = {"original": "1", "segmented": "2", "non_medical": "3"}
SEEDS: Final = 10
# What a flag rests on, where it is not the authors' code.
NUMBERS: Final = "from the printed numbers"


def errors(figures: Figures, measure: str = "mae") -> Iterator[tuple[Printed, float]]:
    """The errors in frames where each is printed in the first place."""
    for printed in figures.printed:
        record = printed.record
        if record.measure == measure and not printed.repeat and record.value is not None:
            yield printed, record.value


def r2_of(figures: Figures, error: Printed) -> Printed | None:
    """R² of the same answers."""
    return figures.find(error.record.reader, "r2", error.record.by)


def named(printed: Printed) -> str:
    """`ES, non-medical esv`, in the words of the contract."""
    by = printed.record.by
    phase = f"{by['phase'].upper()}, " if "phase" in by else ""
    return f"{phase}{CONTEXTS[by['context']]} {by['format']}"


def places(some: Sequence[Printed]) -> str:
    """`10.54 ± 0.00 (ED, segmented edv_esv)` for each."""
    return "; ".join(f"{printed.cell} ({named(printed)})" for printed in some)
