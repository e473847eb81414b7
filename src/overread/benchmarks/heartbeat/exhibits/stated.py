"""What a run's signature states of the asking: the windows' frames, the seeds and the passes."""

from __future__ import annotations

from typing import Final

__all__ = ["GUESSES", "longest_window", "one_pass", "part_of", "seeds_of"]

GUESSES: Final = "uniform guesses, one pass"
_GUESSED_ONCE: Final = (
    "Uniform guesses are one guess per video. A reader's answer is the mean of its passes, which "
    "as a rule errs less than one guess even where every pass is a guess."
)


def part_of(signature: str, name: str) -> str | None:
    """What stands after `name:` in a signature; None where nothing does."""
    start = f"{name}:"
    found = (part for part in signature.split("|") if part.startswith(start))
    return next((part.removeprefix(start) for part in found), None)


def longest_window(signature: str) -> int | None:
    """The frames of the longest window: 47 of `window:29-47`; None where none is known."""
    *_, last = (part_of(signature, "window") or "").split("-")
    return int(last) if _is_count(last) else None


def seeds_of(signature: str) -> tuple[int, int] | None:
    """Seeds and passes, of `seeds:10x3`."""
    seeds, _, passes = (part_of(signature, "seeds") or "").partition("x")
    return (int(seeds), int(passes)) if _is_count(seeds) and _is_count(passes) else None


def one_pass(signature: str) -> tuple[str, ...]:
    """Why a mean over passes is not to be held against uniform guesses; nothing of one pass."""
    asked = seeds_of(signature)
    return () if asked is not None and asked[1] == 1 else (_GUESSED_ONCE,)


def _is_count(text: str) -> bool:
    return text.isascii() and text.isdecimal() and int(text) > 0
