"""A handful of items with what readers said of them: errors first.

All words are other people's: they are cut, and shown without what would act on the text around
them. The page escapes them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from hashlib import blake2b
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from overread.benchmarks.exhibits.cells import CUT, cut
from overread.benchmarks.letter_parser import LETTERS
from overread.benchmarks.medcmr.cards import Scores, scores_of
from overread.benchmarks.medcmr.cases import MedCase, cases_in
from overread.benchmarks.medcmr.edition import Edition
from overread.benchmarks.medcmr.verdict_parser import GRIDS
from overread.case import Table

if TYPE_CHECKING:
    import polars as pl

    from overread.benchmarks.base import Tables


ITEMS: Final = 6
"""Items of each kind that are shown."""
_READERS: Final = 6
_OPTION: Final = 80
_HEADS: Final = {"clarity": "Con", "coherence": "Coh", "visual": "VA", "truth": "GT"}
# The score of truth below which an open answer is an error.
_RIGHT: Final = GRIDS["truth"][-1] / 2


_Said = Mapping[tuple[str, str, str], Mapping[str, Any]]
_Told = Callable[[MedCase, str, Mapping[str, Any]], tuple[str, ...]]


class _View(NamedTuple):
    """What the tables are made of: the first readers, what they said, and how it was scored."""

    readers: Sequence[str]
    said: _Said
    scores: Scores
    signature: str
    left: int

    def table(
        self,
        name: str,
        title: str,
        columns: Sequence[str],
        cases: Sequence[MedCase],
        head: Callable[[MedCase], tuple[str, ...]],
        told: _Told,
        notes: Iterable[str],
    ) -> Table:
        """A row for each case and reader; what is of the case stands in its first."""
        rows = []
        for case in cases:
            first = (_facts(case), cut(case.question, 2 * CUT), *head(case))
            for reader in self.readers:
                row = self.said.get((reader, case.case_id, case.kind))
                if row is not None:
                    rows.append((*first, reader, *told(case, reader, row)))
                    first = ("",) * len(first)
        return Table(
            name=name,
            title=title,
            columns=("item", "question", *columns),
            rows=tuple(rows),
            signature=self.signature,
            notes=tuple(notes),
        )


def case_views(tables: Tables, edition: Edition, signature: str) -> Iterator[Table]:
    """Multiple-choice items, then open ones; those that the first reader errs on come first."""
    readers = [reader.name for reader in tables.readers][:_READERS]
    said = _said(tables.answers, readers)
    left = len(tables.readers) - len(readers)
    view = _View(readers, said, scores_of(tables.verdicts), signature, left)
    cases = cases_in(tables.cases)
    for kind, make in (("mcq", _choices), ("open", _opens)):
        own = [
            case
            for case in cases
            if case.kind == kind and any((r, case.case_id, kind) in said for r in readers)
        ]
        if own:
            yield make(view, _chosen(view, own, edition.seed))


def _said(answers: pl.DataFrame, readers: Sequence[str]) -> _Said:
    """What was said to the item as the set has it: by reader, case and form."""
    own = answers.filter(
        (answers["image"] == "original")
        & (answers["order"] == 0)
        & (answers["form"] != "reformulated")
        & answers["reader"].is_in(list(readers))
    )
    columns = ("reader", "case", "form", "outcome", "choice", "reasoning", "answer", "text")
    return {
        (row["reader"], row["case"], row["form"]): row
        for row in own.select(columns).iter_rows(named=True)
    }


def _chosen(view: _View, cases: Sequence[MedCase], seed: int) -> list[MedCase]:
    """A handful by lot: two thirds errors of the first reader, as far as there are any."""

    def lot(case: MedCase) -> bytes:
        return blake2b(f"{seed}|{case.case_id}".encode(), digest_size=8).digest()

    drawn = sorted(cases, key=lot)
    errors = [case for case in drawn if not _right(view, case)]
    others = [case for case in drawn if _right(view, case)]
    most = max(ITEMS - len(others), ITEMS - ITEMS // 3)
    kept = errors[:most]
    return [*kept, *others[: ITEMS - len(kept)]]


def _right(view: _View, case: MedCase) -> bool:
    """Whether the first reader is."""
    reader = view.readers[0]
    row = view.said.get((reader, case.case_id, case.kind))
    if row is None or row["outcome"] not in ("answered", "unparsed"):
        return False
    if case.kind == "mcq":
        return bool(row["choice"] == case.answer)
    given = view.scores.get((reader, case.case_id, "open", "original"), {}).values()
    truths = [one["truth"] for one in given if one is not None and "truth" in one]
    # Where nobody judged, nothing is known to be an error.
    return not truths or sum(truths) / len(truths) >= _RIGHT


def _facts(case: MedCase) -> str:
    said = [one for one in (case.dimension, case.modality, case.system) if one]
    return f"{cut(case.case_id, 60)}{': ' if said else ''}{', '.join(cut(s, 60) for s in said)}"


def _choices(view: _View, cases: Sequence[MedCase]) -> Table:
    def head(case: MedCase) -> tuple[str, ...]:
        options = " ".join(
            f"{letter}) {cut(text, _OPTION)}"
            for letter, text in zip(LETTERS, case.options, strict=False)
        )
        return options, f"{case.answer}) {cut(case.truth, _OPTION)}"

    return view.table(
        "cases_mcq",
        "Some multiple-choice items, errors first",
        ("options", "right", "reader", "chose", "so it is"),
        cases,
        head,
        lambda case, reader, row: _choice(case, row),
        _notes("chose another option", view.left),
    )


def _choice(case: MedCase, row: Mapping[str, Any]) -> tuple[str, str]:
    choice = row["choice"]
    if choice is None:
        text = cut(row["text"] or "", _OPTION)
        return text or "nothing", "invalid" if row["outcome"] == "unparsed" else row["outcome"]
    place = LETTERS.find(choice)
    words = case.options[place] if 0 <= place < len(case.options) else ""
    return f"{choice}) {cut(words, _OPTION)}", "right" if choice == case.answer else "wrong"


def _opens(view: _View, cases: Sequence[MedCase]) -> Table:
    def told(case: MedCase, reader: str, row: Mapping[str, Any]) -> tuple[str, ...]:
        reasoning = row["reasoning"] or ("" if row["answer"] else row["text"]) or ""
        words = (cut(reasoning), cut(row["answer"] or ""))
        if row["outcome"] not in ("answered", "unparsed"):
            words = ("", row["outcome"])
        return *words, _scored(view.scores.get((reader, case.case_id, "open", "original"), {}))

    return view.table(
        "cases_open",
        "Some open items, errors first",
        ("true answer", "reader", "reasoning", "answer", "scores"),
        cases,
        lambda case: (cut(case.answer),),
        told,
        (
            "Scores: Con, Coh, VA, GT, each from 0 to 100, as the judge gave them.",
            *_notes("had less than half of the truth", view.left),
        ),
    )


def _scored(given: Mapping[str, Mapping[str, float] | None]) -> str:
    """`judge: Con 100, Coh 50, VA 25, GT 0`."""
    said = [
        f"{judge}: "
        + ", ".join(
            f"{head} {100 * raw[name] / GRIDS[name][-1]:.0f}"
            for name, head in _HEADS.items()
            if raw.get(name) is not None
        )
        for judge, raw in given.items()
        if raw is not None
    ]
    return "; ".join(said) or "not judged"


def _notes(error: str, left: int) -> Iterator[str]:
    yield (
        f"Up to {ITEMS} items by lot, first those on which the first reader {error}: they show "
        "what its errors look like, not how many there are. Who gets the page gets these items."
    )
    if left > 0:
        yield f"The first {_READERS} readers; {left} more are left out."
    yield (
        f"Texts are cut after {CUT} characters, the question after {2 * CUT}, options after "
        f"{_OPTION}."
    )
