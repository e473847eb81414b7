"""The instrument checked against readers whose behaviour is known by construction."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

import msgspec

from overread.case import Measure
from overread.runs._measuring import measure
from overread.runs._opening import open_cases
from overread.runs._running import Watch, run

__all__ = ["STANDARD_PHANTOMS", "Recovered", "selfcheck"]

# The set of `demo`, `selfcheck` and the tests with a real model.
STANDARD_PHANTOMS = "phantom:480"


class Recovered(msgspec.Struct, frozen=True, kw_only=True):
    """What one control is, what it was found to be, and what the published rule calls it."""

    control: str
    expected: str
    found: str
    authors: str
    note: str | None = None
    recovered: bool


def selfcheck(*, seed: int = 0, watch: Watch | None = None) -> tuple[list[Recovered], str]:
    """Run every grounding control over fresh phantoms with an empty store.

    The published rule is read off the same answers, so that a control it misplaces is seen.
    """
    cases = f"{STANDARD_PHANTOMS}:{seed}"
    bench = open_cases("grounding", cases, "corrected", {})
    expected = bench.expected()
    with TemporaryDirectory() as scratch:
        place = Path(scratch)
        done = run(
            "grounding",
            cases,
            [f"control:{name}" for name in expected],
            out=place / "run",
            store=place / "store.sqlite",
            watch=watch,
        )
        published = measure(done.folder, edition="authors")
    ours, theirs = _categories(done.records), _categories(published.records)
    findings = [
        Recovered(
            control=name,
            expected=word,
            found=ours[f"control:{name}"].label or "",
            authors=theirs[f"control:{name}"].label or "",
            note=ours[f"control:{name}"].note,
            recovered=ours[f"control:{name}"].label == word,
        )
        for name, word in expected.items()
    ]
    return findings, done.record.signature


def _categories(records: list[Measure]) -> dict[str, Measure]:
    return {r.reader: r for r in records if r.measure == "category" and not r.by}
