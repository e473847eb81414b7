"""Did it look at the image? One sentence per reader, from its category and what decides it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final, Literal, TypeAlias

from overread.benchmarks.grounding.category import (
    IGNORES,
    INSUFFICIENT,
    STEADY_FROM,
    UNSTABLE,
    UNSTABLE_BELOW,
    USES,
)
from overread.benchmarks.grounding.edition import Edition
from overread.benchmarks.grounding.exhibits.index import Index
from overread.benchmarks.reporting import listed, rate
from overread.case import Headline, Measure

__all__ = ["QUESTION", "headlines"]

QUESTION: Final = "Did it look at the image?"

Answer: TypeAlias = Literal["yes", "no", "in part", "cannot tell"]
_Told: TypeAlias = tuple[Answer, str, Measure]
_SAID: Final = {
    "cgr": ("CGR", "covering the finding changed {} of its correct Yes answers"),
    "is": ("IS", "covering as much elsewhere left {} of its correct answers as they were"),
    "uar": ("UAR", "a like image of another patient left {} of its correct answers"),
    "gsp": ("GSP", "the cover of the finding changed {} more than the other"),
}
_AUTHORS: Final = "as the authors' rules give it"
_RATES: Final = (("cgr", "CGR"), ("uar", "UAR"), ("is", "IS"))


def headlines(measures: Sequence[Measure], edition: Edition) -> Iterator[Headline]:
    """One for each reader that has a category, in the run's order.

    A reader that gets no picture cannot have looked, whatever few cases or chance make of its
    category. The measure is the rate that decides, or the category where no rate is known.
    """
    index = Index(measures)
    for reader in index.readers:
        record = index.get(reader, "category")
        if record is None:
            continue
        answer, sentence, measure = _told(_Rates(index, reader, edition), record, edition)
        yield Headline(
            reader=reader, question=QUESTION, answer=answer, sentence=sentence, measure=measure
        )


class _Rates:
    """One reader's rates, with the words they are told in. A class, to look each up by name."""

    def __init__(self, index: Index, reader: str, edition: Edition) -> None:
        self._index = index
        self._edition = edition
        self._reader = reader
        self.sees: Final = index.sees(reader)

    def get(self, name: str) -> Measure | None:
        return self._index.known(self._reader, name)

    def n(self, name: str) -> int:
        record = self._index.get(self._reader, name)
        return (record.n if record is not None else None) or 0

    def said(self, *names: str) -> str:
        """These rates in words, those that are not known left out."""
        parts = []
        for name in names:
            record = self.get(name)
            if record is not None:
                title, words = _SAID[name]
                parts.append(words.format(self.rate(record, title)))
        return listed(parts) if parts else ""

    def rate(self, record: Measure, title: str) -> str:
        """A rate in words, which say whose interval it is where that is none or has no width."""
        signed = record.measure == "gsp"
        theirs = (
            self._edition.gsp == "difference" if signed else self._edition.intervals == "bootstrap"
        )
        return rate(
            record, title, signed=signed, by=_AUTHORS * (theirs and record.low == record.high)
        )


def _told(rates: _Rates, category: Measure, edition: Edition) -> _Told:
    if not rates.sees:
        return _text_only(rates, category)
    word = category.label
    if word == USES:
        said = rates.said("cgr", "is", "gsp")
        return "yes", f"It used the image: {said}.", rates.get("cgr") or category
    if word == IGNORES:
        said = rates.said("uar", "cgr", "is")
        start = "It gave the same answers whatever it was shown"
        return "no", f"{start}: {said}.", rates.get("uar") or category
    if word == UNSTABLE:
        return _unstable(rates, category)
    if word == INSUFFICIENT:
        return _insufficient(rates, category, edition)
    return _undecided(rates, category, edition)


def _text_only(rates: _Rates, category: Measure) -> _Told:
    start = "It got no image (text only), so it cannot have looked"
    right = rates.get("accuracy")
    if right is None:
        return "no", f"{start}.", category
    return (
        "no",
        f"{start}; it was still right in {rates.rate(right, 'accuracy')} of the cases.",
        right,
    )


def _unstable(rates: _Rates, category: Measure) -> _Told:
    said = rates.said("is", "cgr")
    why = (
        f"below {UNSTABLE_BELOW} % any black box changes answers, and what covering the finding "
        "changes is no sign of having looked"
    )
    sentence = f"Its answers are unstable: {said}; {why}."
    return "cannot tell", sentence, rates.get("is") or category


def _insufficient(rates: _Rates, category: Measure, edition: Edition) -> _Told:
    few = [
        f"{title} on {rates.n(name)}" for name, title in _RATES if rates.n(name) < edition.minimum_n
    ]
    known = [record for name, _ in _RATES if (record := rates.get(name)) is not None]
    stands = f"{listed(few)} of the {edition.minimum_n} cases needed" if few else ""
    said = rates.said("cgr", "is", "uar")
    start = f"Too few cases to tell ({stands})" if stands else "Too few cases to tell"
    measure = min(known, key=lambda record: record.n or 0) if known else category
    return "cannot tell", f"{start}: {said}." if said else f"{start}.", measure


def _undecided(rates: _Rates, category: Measure, edition: Edition) -> _Told:
    missing = [title for name, title in _RATES if rates.get(name) is None]
    if missing:
        said = rates.said("cgr", "is", "uar")
        start = f"It cannot be told without {listed(missing)}"
        known = [record for name, _ in _RATES if (record := rates.get(name)) is not None]
        measure = known[0] if known else category
        return "cannot tell", f"{start}: {said}." if said else f"{start}.", measure
    cgr = rates.get("cgr")
    assert cgr is not None
    sentence = f"The measures do not decide it: {_why(rates, category, edition)}."
    return "cannot tell", sentence, (rates.get("gsp") or cgr) if cgr.value else cgr


def _why(rates: _Rates, category: Measure, edition: Edition) -> str:
    """Which part of the rule for use of the image was not met, and by what numbers."""
    cgr, stable, gsp = rates.get("cgr"), rates.get("is"), rates.get("gsp")
    assert cgr is not None
    assert stable is not None
    if not cgr.value:
        numbers = rates.said("cgr", "uar", "is")
        return f"{numbers}, so that its answers may change, but not with the finding"
    said = [rates.said("cgr", "is", "gsp")]
    if stable.value is not None and 100 * stable.value < STEADY_FROM:
        said.append(f"use of the image needs an IS of at least {STEADY_FROM} %")
    if edition.category_needs_gsp == "yes" and (gsp is None or gsp.low is None or gsp.low <= 0):
        said.append("use of the image needs a GSP surely above 0")
    elif edition.category_needs_gsp == "no" and (cgr.low is None or cgr.low <= 0):
        said.append("use of the image needs a CGR surely above 0")
    again = rates.get("retest")
    chance = "no more answers than asking again"
    if again is not None and chance in (category.note or ""):
        said.append(f"asking again left only {rates.rate(again, 'retest')} as they were")
    return "; ".join(said)
