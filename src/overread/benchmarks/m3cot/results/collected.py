"""What many files say together: replies and judgements of every model, and what does not fit."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Final

from overread.benchmarks.m3cot.results.files import Result
from overread.benchmarks.m3cot.results.judges import Judgement, judgements_of
from overread.benchmarks.m3cot.results.names import UNNAMED, brief
from overread.benchmarks.m3cot.results.predictions import (
    Prediction,
    Totals,
    predictions_of,
    totals_of,
)
from overread.benchmarks.texts import storable
from overread.case import BadInput

__all__ = ["NOT_KEPT", "Collected"]

# Stands for words that were judged and are in no file; a verdict on nothing would not count.
NOT_KEPT: Final = "(the reply is in none of the files)"
_SHARE: Final = "seconds: an equal share of the total in the summary"
# Durations are kept to four decimals, their total is not.
_ROUNDED: Final = 0.00005


class Collected:
    """Results as they come in. A class, for it grows; `totals` lets totals stand for times."""

    def __init__(self, *, totals: bool) -> None:
        self._totals = totals
        self.replies: Final[dict[tuple[str, str], dict[int, Prediction]]] = {}
        self.judgements: Final[list[Judgement]] = []
        self.warnings: Final[list[str]] = []
        self._summaries: dict[str, dict[str, Totals]] = {}
        self._files: dict[tuple[str, str, int], str] = {}
        self._judged: dict[tuple[str, str, str, str, int], str] = {}
        self._finished = False

    def add(self, result: Result) -> None:
        """Take in one file."""
        if result.kind == "predictions":
            self._add_predictions(result)
        elif result.kind == "summary":
            model, totals = totals_of(result)
            if model in self._summaries:
                raise BadInput(f"{result.shown}: there is another summary of {model}. Keep one.")
            self._summaries[model] = totals
        else:
            for one in judgements_of(result):
                self._add_judgement(one)

    def _add_predictions(self, result: Result) -> None:
        (model, mode), found = predictions_of(result)
        kept = self.replies.setdefault((model, mode), {})
        for one in found:
            first = self._files.setdefault((model, mode, one.item), result.shown)
            if one.item in kept:
                raise BadInput(
                    f"{result.shown}: index {one.item} stands in {first} already. Keep one."
                )
            text = None if one.text is None else storable(one.text)
            kept[one.item] = one._replace(text=text, reason=storable(one.reason))

    def _add_judgement(self, one: Judgement) -> None:
        key = (one.judge, one.question, one.model, one.mode, one.item)
        first = self._judged.setdefault(key, one.where)
        if first != one.where:
            raise BadInput(
                f"{one.where}: {brief(one.judge)} said something on {one.question} of "
                f"{brief(one.model)} {one.mode}, index {one.item}, in {first} already. Keep one."
            )
        reply = None if one.reply is None else storable(one.reply)
        self.judgements.append(one._replace(reply=reply))

    @property
    def models(self) -> list[str]:
        """Everybody with a reply or a verdict, by name."""
        self._finish()
        return sorted({model for model, _ in self.replies})

    @property
    def indices(self) -> set[int]:
        self._finish()
        return {index for kept in self.replies.values() for index in kept}

    def timed(self, model: str, mode: str) -> bool:
        """Whether these replies have times: the authors time every call, one after another."""
        kept = self.replies.get((model, mode), {})
        return any(one.seconds is not None for one in kept.values())

    def all_warnings(self) -> list[str]:
        self._finish()
        return self.warnings

    def _finish(self) -> None:
        """What only shows when every file is there."""
        if self._finished:
            return
        self._finished = True
        self.warnings.extend(self._oddities())
        self.warnings.extend(self._judged_texts())
        for model, totals in self._summaries.items():
            for mode, total in totals.items():
                self.warnings.extend(self._with_total(model, mode, total))
        unnamed = sum(one.judge == UNNAMED for one in self.judgements)
        if unnamed:
            self.warnings.append(
                f"{unnamed} verdicts have no judge's name and stand under {UNNAMED}. Put them "
                "below judges/<judge>/ to name it."
            )

    def _oddities(self) -> Iterator[str]:
        for (model, mode), kept in self.replies.items():
            failed = [one.item for one in kept.values() if one.text is None]
            searched = [one.item for one in kept.values() if one.searched]
            blank = [one.item for one in kept.values() if one.text is not None and not one.text]
            who = f"{model} {mode}"
            if failed:
                yield f"{who}: {_some(failed)} failed and have no reply."
            if searched:
                yield (
                    f"{who}: of these {_some(searched)} were thrown away for the word Error or "
                    "Failed in them; whether they were answers cannot be told."
                )
            if blank:
                yield f"{who}: {_some(blank)} have an empty reply."

    def _judged_texts(self) -> Iterator[str]:
        """Replies known from verdicts alone, and verdicts on other words than the reader's."""
        told: Counter[tuple[str, str]] = Counter()
        unknown: Counter[tuple[str, str]] = Counter()
        others: dict[tuple[str, str, str, str], list[int]] = {}
        given = {key: set(kept) for key, kept in self.replies.items()}
        for one in self.judgements:
            place = (one.model, one.mode)
            kept = self.replies.setdefault(place, {})
            known = one.item in given.get(place, ())
            if known and one.prediction is not None:
                if not _alike(kept[one.item].text, one.prediction):
                    key = (one.judge, one.question, *place)
                    others.setdefault(key, []).append(one.item)
            elif not known:
                before = kept.get(one.item)
                if one.prediction is not None and (before is None or before.text == NOT_KEPT):
                    kept[one.item] = Prediction(one.item, storable(one.prediction))
                elif before is None:
                    kept[one.item] = Prediction(one.item, NOT_KEPT)
        for place, kept in self.replies.items():
            for index, said in kept.items():
                if index not in given.get(place, ()):
                    (unknown if said.text == NOT_KEPT else told)[place] += 1
        for (model, mode), n in told.items():
            yield f"{model} {mode}: {n} replies are taken from the verdicts on them."
        for (model, mode), n in unknown.items():
            yield f"{model} {mode}: of {n} replies there are verdicts, and no words."
        for (judge, question, model, mode), indices in others.items():
            yield (
                f"{judge} on {question} of {model} {mode}: {_some(indices)} were judged by other "
                "words than the prediction's."
            )

    def _with_total(self, model: str, mode: str, total: Totals) -> Iterator[str]:
        """The total of a summary beside the items' own times, or in their place."""
        who, kept = f"{model}_summary.json, {mode}", self.replies.get((model, mode))
        if kept is None:
            yield f"{who}: there are no predictions it could be of; left out."
            return
        good = [one for one in kept.values() if one.text is not None]
        seconds = [one.seconds for one in good if one.seconds is not None]
        if seconds:
            off = abs(sum(seconds) - total.seconds)
            if off > _ROUNDED * len(seconds) + 1e-6 * total.seconds:
                yield (
                    f"{who}: total_successful_time_s is {total.seconds:.4f} and the items' own "
                    f"times add up to {sum(seconds):.4f}; the latter count."
                )
        elif not self._totals:
            yield (
                f"{who}: a total without any item's time counts under the authors' edition only; "
                "left out."
            )
        elif good and total.seconds > 0:
            for one in good:
                share = total.seconds / len(good)
                kept[one.item] = one._replace(seconds=share, reason=_SHARE)
            yield f"{who}: no item has its time; each gets an equal share of the total."


def _some(indices: list[int]) -> str:
    """`3 items (1, 5, 9)`."""
    shown = ", ".join(map(str, indices[:3])) + (", ..." if len(indices) > 3 else "")
    return f"{len(indices)} items ({shown})"


def _alike(one: str | None, other: str) -> bool:
    """Whether two texts are the same but for blanks and capitals, as after a table program."""
    return " ".join((one or "").split()).casefold() == " ".join(other.split()).casefold()
