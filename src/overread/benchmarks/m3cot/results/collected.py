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
    prediction_in,
    predictions_of,
    totals_of,
)
from overread.benchmarks.m3cot.timing import failed_text
from overread.benchmarks.texts import storable
from overread.case import BadInput

__all__ = ["NOT_KEPT", "Collected"]

# Stands for words that were judged and are in no file; a verdict on nothing would not count.
NOT_KEPT: Final = "(the reply is in none of the files)"
_SHARE: Final = "seconds: a share of the total that the script kept"
# Durations are kept to four decimals, their total is not.
_ROUNDED: Final = 0.00005


class Collected:
    """Results as they come in. A class, for it grows; with `totals` these decide over times."""

    def __init__(self, *, totals: bool) -> None:
        self._totals = totals
        self.replies: Final[dict[tuple[str, str], dict[int, Prediction]]] = {}
        self.judgements: Final[list[Judgement]] = []
        self.warnings: Final[list[str]] = []
        self._summaries: dict[str, tuple[str, dict[str, float]]] = {}
        self._files: dict[tuple[str, str, int], str] = {}
        self._judged: dict[tuple[str, str, str, str, int], str] = {}
        self._finished = False

    def add(self, result: Result) -> None:
        """Take in one file."""
        if result.kind == "predictions":
            self._add_predictions(result)
        elif result.kind == "totals":
            model, totals = totals_of(result)
            first, _ = self._summaries.setdefault(model, (result.shown, totals))
            if first != result.shown:
                raise BadInput(f"{result.shown}: times of {model} stand in {first}. Keep one.")
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
        for model, (file, totals) in self._summaries.items():
            for mode, total in totals.items():
                self.warnings.extend(self._with_total(model, mode, total, f"{file}, {mode}"))
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
                words = kept[one.item].text
                if words is not None and not _alike(words, one.prediction):
                    key = (one.judge, one.question, *place)
                    others.setdefault(key, []).append(one.item)
            elif not known:
                before = kept.get(one.item)
                if one.prediction is not None and (before is None or before.text == NOT_KEPT):
                    made = prediction_in(one.item, one.prediction)
                    text = None if made.text is None else storable(made.text)
                    kept[one.item] = made._replace(text=text, reason=storable(made.reason))
                elif before is None and place not in given:
                    kept[one.item] = Prediction(one.item, NOT_KEPT)
                elif before is None:  # the predictions are there, and this one is not among them
                    kept[one.item] = prediction_in(one.item, "")
        for place, kept in self.replies.items():
            for index, said in kept.items():
                if index not in given.get(place, ()) and said.text is not None:
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

    def _with_total(self, model: str, mode: str, total: float, who: str) -> Iterator[str]:
        """A total beside the items' own times; under the authors' rules they are made to fit it."""
        kept = self.replies.get((model, mode))
        if kept is None:
            yield f"{who}: there are no predictions it could be of; left out."
            return
        good = [one for one in kept.values() if one.text is not None]
        seconds = [one.seconds for one in good if one.seconds is not None]
        off = abs(sum(seconds) - total) > _ROUNDED * len(seconds) + 1e-6 * total
        if not seconds and not self._totals:
            yield (
                f"{who}: a total without any item's time counts under the authors' edition only; "
                "left out."
            )
        elif seconds and off:
            yield (
                f"{who}: the total is {total:.4f} s and the items' own times add up to "
                f"{sum(seconds):.4f}; {'the total counts' if self._totals else 'the latter count'}."
            )
        # What the authors' rules take for a failure has no part in it.
        counted = [one for one in good if not failed_text(one.text)]
        if not self._totals or not counted or total <= 0:
            return
        own = sum(one.seconds or 0.0 for one in counted)
        if not own:
            yield f"{who}: no item has its time; each gets an equal share of the total."
        for one in counted:
            share = total * (one.seconds or 0.0) / own if own else total / len(counted)
            kept[one.item] = one._replace(seconds=share, reason=_SHARE if off else one.reason)


def _some(indices: list[int]) -> str:
    """`3 items (1, 5, 9)`."""
    shown = ", ".join(map(str, indices[:3])) + (", ..." if len(indices) > 3 else "")
    return f"{len(indices)} items ({shown})"


def _alike(one: str | None, other: str) -> bool:
    """Whether two texts are the same but for blanks and capitals, as after a table program."""
    return " ".join((one or "").split()).casefold() == " ".join(other.split()).casefold()
