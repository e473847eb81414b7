"""What the models said, and the times that the authors' runner took (M3COT 4)."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final, NamedTuple

from overread.benchmarks.m3cot.edition import MODES
from overread.benchmarks.m3cot.results.files import Result
from overread.benchmarks.m3cot.results.names import Named, brief, index_of, model_of, named
from overread.benchmarks.m3cot.timing import failed_text
from overread.case import BadInput

__all__ = ["Prediction", "Totals", "predictions_of", "totals_of"]

_LONGEST: Final = 1e9  # seconds
_FINAL_FAILURE: Final = re.compile(r"Final failure, tried \d+ times")


class Prediction(NamedTuple):
    """One record. Without a text nothing came back, and `reason` says why."""

    item: int
    text: str | None
    seconds: float | None = None
    reason: str = ""
    # The runner threw the reply away for a word in it; it may have been an answer.
    searched: bool = False


class Totals(NamedTuple):
    """Of one mode: the seconds of all successes, and how many these are."""

    seconds: float
    successes: int


def predictions_of(result: Result) -> tuple[Named, Iterator[Prediction]]:
    """Whose predictions a file holds, and these."""
    who = named(result.path, result.root)
    if who is None:
        raise BadInput(
            f"{result.shown} holds a list, and its name says neither model nor mode. Name it "
            "<model>_cot.json or <model>_direct.json, or leave it out."
        )
    return who, _read(result)


def _read(result: Result) -> Iterator[Prediction]:
    for number, entry in enumerate(result.holds, start=1):
        where = f"{result.shown} entry {number}"
        if not isinstance(entry, Mapping) or "prediction" not in entry:
            raise BadInput(
                f"{where} is no object with index and prediction. Fix the entry or leave it out."
            )
        index = index_of(entry.get("index"))
        if index is None:
            shown = brief(entry.get("index"))
            raise BadInput(f'{where}: index is "{shown}"; it is a whole number from 1. Fix it.')
        yield _prediction(entry, index, where)


def _prediction(entry: Mapping[str, Any], index: int, where: str) -> Prediction:
    text = entry["prediction"]
    if text is not None and not isinstance(text, str):
        raise BadInput(f"{where}: prediction is no text. Fix the entry.")
    status = entry.get("status", "success")
    if status not in ("success", "failed"):
        shown = brief(status)
        raise BadInput(f'{where}: status is "{shown}"; it is success or failed. Fix the entry.')
    seconds = _seconds(entry.get("duration_s"), where)
    if status == "failed" or _FINAL_FAILURE.match(text or ""):
        why = " ".join((text or "no reason kept").split())
        returned = why.partition("API returned explicit error message:")[2]
        return Prediction(index, None, None, f"failed: {why[:300]}", failed_text(returned))
    return Prediction(index, text or "", seconds)


def _seconds(said: Any, where: str) -> float | None:
    if said is None:
        return None
    number = isinstance(said, int | float) and not isinstance(said, bool)
    if not number or not 0 <= said < _LONGEST:  # a whole number may be beyond any float
        raise BadInput(f"{where}: duration_s is {brief(said)}; it is seconds from 0. Fix it.")
    return float(said)


def totals_of(result: Result) -> tuple[str, dict[str, Totals]]:
    """The model of a summary, and the totals of each mode it has."""
    model = model_of(result.path, "_summary")
    assert model is not None
    found = {}
    for mode, said in result.holds.items():
        if mode not in MODES:
            continue
        where = f"{result.shown}, {mode}"
        if not isinstance(said, Mapping):
            raise BadInput(f"{where} is no object of totals. Fetch the file again.")
        seconds = _seconds(said.get("total_successful_time_s"), where)
        successes = said.get("successful_item_count")
        if seconds is None or not isinstance(successes, int) or successes < 0:
            raise BadInput(
                f"{where} has no total_successful_time_s with a successful_item_count. Fetch the "
                "file again, or leave it out."
            )
        found[mode] = Totals(seconds, successes)
    return model, found
