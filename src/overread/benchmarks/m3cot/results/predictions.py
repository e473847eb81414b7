"""What the models said, and the times that the authors' runner took (M3COT 4)."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from typing import Any, Final, NamedTuple

from overread.benchmarks.m3cot.edition import MODES
from overread.benchmarks.m3cot.results.files import Result
from overread.benchmarks.m3cot.results.names import Named, brief, index_of, model_of, named
from overread.benchmarks.m3cot.timing import failed_text
from overread.case import BadInput

__all__ = ["Prediction", "no_words", "prediction_in", "predictions_of", "totals_of"]

# What the scripts write where a model said nothing: the runner after its last attempt,
# HuatuoGPT-Vision's script after an error, LLaVA-Med's where there is no image.
_NOT_SAID: Final = re.compile(
    r"Final failure, tried \d+ times.*|SKIPPED due to error: .*|Image not found\s*", re.DOTALL
)
_NONE: Final = "no prediction"
_SUCCESSES: Final = "total_successful_time_s"
_WHOLE_LOOP: Final = "dataset_total_time_seconds"
_LONGEST: Final = 1e9  # seconds


class Prediction(NamedTuple):
    """One record. Without a text nothing came back, and `reason` says why."""

    item: int
    text: str | None
    seconds: float | None = None
    reason: str = ""
    # The runner threw the reply away for a word in it; it may have been an answer.
    searched: bool = False


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
        if not isinstance(entry, Mapping) or "index" not in entry:
            raise BadInput(
                f"{where} is no object with index and prediction. Fix the entry or leave it out."
            )
        index = index_of(entry.get("index"))
        if index is None:
            shown = brief(entry.get("index"))
            raise BadInput(f'{where}: index is "{shown}"; it is a whole number from 1. Fix it.')
        yield _prediction(entry, index, where)


def _prediction(entry: Mapping[str, Any], index: int, where: str) -> Prediction:
    text = entry.get("prediction")
    if not isinstance(text, str) and not no_words(text):
        raise BadInput(f"{where}: prediction is no text. Fix the entry.")
    status = entry.get("status", "success")
    if status not in ("success", "failed"):
        shown = brief(status)
        raise BadInput(f'{where}: status is "{shown}"; it is success or failed. Fix the entry.')
    seconds = _seconds(entry.get("duration_s"), "duration_s", where)
    words = text if isinstance(text, str) else ""
    if status == "failed" or _NOT_SAID.fullmatch(words):
        return _failed(index, words)
    # The runner calls an empty reply a success; without its word for it, nothing is no reply.
    if text != text or (text is None and "status" not in entry):
        return Prediction(index, None, reason=_NONE)
    return Prediction(index, words, seconds)


def prediction_in(index: int, text: str) -> Prediction:
    """What a table says that was judged; an empty cell is none."""
    if not text.strip():
        return Prediction(index, None, reason=_NONE)
    return _failed(index, text) if _NOT_SAID.fullmatch(text) else Prediction(index, text)


def _failed(index: int, words: str) -> Prediction:
    why = " ".join((words or "no reason kept").split())
    returned = why.partition("API returned explicit error message:")[2]
    return Prediction(index, None, None, f"failed: {why[:300]}", failed_text(returned))


def no_words(said: Any) -> bool:
    """Whether a file says that there is no prediction: null, or the NaN of a table program."""
    return said is None or (isinstance(said, float) and math.isnan(said))


def _seconds(said: Any, column: str, where: str) -> float | None:
    if said is None:
        return None
    number = isinstance(said, int | float) and not isinstance(said, bool)
    if not number or not 0 <= said < _LONGEST:  # a whole number may be beyond any float
        raise BadInput(f"{where}: {column} is {brief(said)}; it is seconds from 0. Fix it.")
    return float(said)


def totals_of(result: Result) -> tuple[str, dict[str, float]]:
    """The model of a file of totals, and the seconds of each mode it has.

    <model>_summary.json has the successes of the runner. timing_results/<model>.json of the three
    stand-alone scripts has whole loops under `modes`, and names the weights and not the model.
    """
    model, by_mode, column = model_of(result.path, "_summary"), result.holds, _SUCCESSES
    if model is None:
        model, by_mode, column = result.path.stem, result.holds["modes"], _WHOLE_LOOP
    found = {}
    for mode, said in by_mode.items():
        if mode not in MODES:
            continue
        where = f"{result.shown}, {mode}"
        if not isinstance(said, Mapping):
            raise BadInput(f"{where} is no object of totals. Fetch the file again.")
        seconds = _seconds(said.get(column), column, where)
        if seconds is None:
            raise BadInput(f"{where} has no {column}. Fetch the file again, or leave it out.")
        found[mode] = seconds
    return model, found
