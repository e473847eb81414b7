"""What people are asked about models' replies: rank them, and say why a wrong one is wrong.

Replies to an open item are ranked on the four components of the judge (MEDCMR, "Analyses" 4); wrong
answers to multiple-choice items are given a word (2). What they say becomes the sheets that
`ranks` and `errors` of measuring take.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Final

import overread.case as oc
from overread.benchmarks.base import Tables
from overread.benchmarks.letter_parser import LETTERS
from overread.benchmarks.medcmr.cases import MedCase
from overread.benchmarks.medcmr.people_sheets import ERRORS, replies_to_rank, sample_errors
from overread.benchmarks.medcmr.verdict_parser import COMPONENTS
from overread.benchmarks.people import CANNOT_TELL, Ask, Decided, ForPeople, PeopleMeasured
from overread.benchmarks.ranked import check_ranked, screen_of_replies

if TYPE_CHECKING:
    from overread.benchmarks.medcmr.benchmark import MedCMR

KINDS: Final = {
    "ranks": "replies of several models to an open item, ranked on four dimensions",
    "errors": "wrong answers to multiple-choice items, each with the reason why",
}
MEASURED: Final = {
    "ranks": PeopleMeasured(setting="ranks", measures=("win_ratio", "win_ratio_gap", "rho")),
    "errors": PeopleMeasured(setting="errors", measures=("error_share",)),
}
# The judge's four components (`rubrics.toml`), as one line for people.
_QUESTIONS: Final[Mapping[str, str]] = {
    "clarity": "Clarity: which can be understood best, whether right or wrong?",
    "coherence": "Coherence: whose reasoning holds together best, whether right or wrong?",
    "visual": "What is seen: which describes best what the image shows?",
    "truth": "Truth: which is nearest to the true answer?",
}


def for_people(
    bench: MedCMR, kind: str, tables: Tables | None, readers: Sequence[str]
) -> Iterator[ForPeople]:
    if tables is not None and kind == "ranks":
        yield from _ranked(bench, tables, readers)
    elif tables is not None and kind == "errors":
        yield from _wrong(bench, tables, readers)


def _ranked(bench: MedCMR, tables: Tables, readers: Sequence[str]) -> Iterator[ForPeople]:
    check_ranked(readers)
    for case, replies in replies_to_rank(tables, readers):
        texts = [("Question", case.question), ("Caption", case.caption or "")]
        yield screen_of_replies(
            case=case.case_id,
            patient=_patient(case),
            slides=_slides(bench, case),
            texts=[*texts, ("True answer", case.answer)],
            replies=replies,
            dimensions={part: _QUESTIONS[part] for part in COMPONENTS},
            seed=bench.rules.seed,
            stratum=case.dimension or "",
            facts={"dimension": case.dimension or ""},
        )


def _wrong(bench: MedCMR, tables: Tables, readers: Sequence[str]) -> Iterator[ForPeople]:
    """Every wrong answer is a screen of its own: one that shows the truth gives no other away."""
    meanings = "\n".join(f"{word}: {meaning}" for word, meaning in ERRORS.items())
    for letter, reader in zip(LETTERS, readers, strict=False):
        for row in sample_errors(tables, reader, n_per_dimension=2**31, seed=bench.rules.seed):
            case = bench.by_id.get(row.case)
            if case is None:
                continue
            texts = [("Question", row.question), ("Options", row.options), ("Right", row.right)]
            texts += [("Given", row.given or "none of them"), ("Reply", row.reply)]
            yield ForPeople(
                case=row.case,
                unit=f"{row.case} {letter}",
                patient=_patient(case),
                condition=letter,
                slides=_slides(bench, case),
                texts=(*((heading, text) for heading, text in texts if text), ("Words", meanings)),
                asks=(
                    Ask(
                        name="label",
                        text="Why is it wrong?",
                        kind="choice",
                        options=tuple(ERRORS),
                    ),
                ),
                stratum=(reader, row.dimension),
                facts={"model": reader, "dimension": row.dimension},
            )


def _patient(case: MedCase) -> str:
    return case.patient or next(iter(case.images), case.case_id)


def _slides(bench: MedCMR, case: MedCase) -> tuple[oc.Slide, ...]:
    """The item's own images as models were shown them."""
    for trial in bench.shown_of(case.case_id):
        if trial.condition["image"] == "original" and trial.request.pictures:
            return tuple(oc.Slide(label="", picture=one) for one in trial.request.pictures)
    return ()


def sheet_rows(kind: str, decided: Sequence[Decided]) -> list[tuple[str, ...]]:
    """A header and rows, as `read_ranks` and `read_error_sheet` take them."""
    rows: list[tuple[str, ...]] = []
    if kind == "errors":
        for one in decided:
            said = one.values.get("label", "")
            rows.append((one.case, one.facts["model"], "" if said == CANNOT_TELL else said))
        return [("case", "reader", "label"), *rows]
    for one in decided:
        ranks = {ask.name: ask.ranks(one.values.get(ask.name, "")) for ask in one.asks}
        for letter in one.asks[0].options:
            cells = (str(ranks.get(part, {}).get(letter, "")) for part in COMPONENTS)
            rows.append((one.case, one.facts[letter], *cells))
    return [("case", "reader", *COMPONENTS), *rows]
