"""Table 1 and what stands beside it: one row per reader."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from overread.benchmarks.exhibits.cells import NOT_KNOWN, cell, percent, table
from overread.benchmarks.grounding.category import RULE_DIFFERS, SWEEP
from overread.benchmarks.grounding.exhibits.dot_plot import Index
from overread.case import Measure, Table

__all__ = ["conditions", "parse_rates", "summary", "summary_of", "thresholds", "worst_cases"]

_COLUMNS: Final = (
    ("accuracy", "accuracy"),
    ("sensitivity", "sensitivity"),
    ("specificity", "specificity"),
    ("cgr", "CGR"),
    ("uar", "UAR"),
    ("is", "IS"),
    ("retest", "retest"),
    ("gsp", "GSP"),
    ("parse_rate", "parse rate"),
)
_NOTES: Final = (
    "Percent [95 % interval]; n is the number of cases a rate stands on; GSP in percentage points.",
    "CGR: correct Yes the target mask flips. UAR: correct answers another patient's image of the "
    "same finding and label leaves. IS: correct answers a mask elsewhere leaves. GSP: CGR less the "
    "flips any mask causes.",
    "A category describes behaviour on these cases. It is no evidence of clinical safety.",
)
_RETEST: Final = (
    "Retest: answers given again when the same question is put again. What changes then is chance, "
    "and CGR, UAR and IS are to be read against it."
)
_STARRED: Final = "* The published rule gives this reader another category; its note says which."


def summary(measures: Sequence[Measure], signature: str) -> Table:
    """Category, accuracy and the causal triad of every reader, each with interval and n."""
    return summary_of(Index(measures), signature)


def summary_of(index: Index, signature: str) -> Table:
    """`summary` of records that are sorted already."""
    again = index.any("retest")
    columns = [(name, title) for name, title in _COLUMNS if again or name != "retest"]
    rows = tuple(
        (
            reader,
            _category_word(index, reader),
            *(cell(index.get(reader, name)) for name, _ in columns),
        )
        for reader in index.readers
    )
    starred = (_STARRED,) if any(row[1].endswith("*") for row in rows) else ()
    return Table(
        name="summary",
        title="Did it look at the image?",
        columns=("reader", "category", *(title for _, title in columns)),
        rows=rows,
        signature=signature,
        notes=(*_NOTES, *((_RETEST,) if again else ()), *starred, *_category_remarks(index)),
    )


def _category_word(index: Index, reader: str) -> str:
    record = index.get(reader, "category")
    if record is None or record.label is None:
        return NOT_KNOWN
    return record.label + ("*" if RULE_DIFFERS in record.flags else "")


def _category_remarks(index: Index) -> Iterator[str]:
    for reader in index.readers:
        record = index.get(reader, "category")
        if record is not None and record.note:
            yield f"{reader}: {record.note}."


# ---------------------------------------------------------------- beside it


def thresholds(index: Index, signature: str) -> Table | None:
    """Supplementary Table 13: the category were a reader unstable below another IS."""
    swept = [f"{threshold / 100:.2f}" for threshold in SWEEP]

    def word(reader: str, below: str) -> str:
        record = index.get(reader, "category", unstable_below=below)
        return (record.label if record is not None else None) or NOT_KNOWN

    return table(
        "thresholds",
        "Does the category depend on the threshold of stability?",
        ("reader", "IS", "category", *(f"below {percent(float(below))}" for below in swept)),
        (
            (
                reader,
                cell(index.get(reader, "is")),
                index.category(reader),
                *(word(reader, below) for below in swept),
            )
            for reader in index.readers
        ),
        signature,
        ("Unstable below this IS, and steady from it on; the rule itself has 70 and 90.",),
        facts=3,
    )


def parse_rates(index: Index, signature: str) -> Table | None:
    """Supplementary Table 12: replies in which an answer was found, by condition."""
    shown = index.groups("parse_rate", "condition")
    return table(
        "parse_rates",
        "How many replies held an answer?",
        ("reader", *(_spelled(image) for image in shown)),
        (
            (reader, *(cell(index.get(reader, "parse_rate", condition=c)) for c in shown))
            for reader in index.readers
        ),
        signature,
        ("Percent of replies [95 % interval]. A trial without a reply is not counted.",),
    )


def conditions(index: Index, signature: str) -> Table | None:
    """The triad under conditions the paper has not, beside the headline."""
    rows = (
        (
            reader,
            title,
            _spelled(image),
            cell(index.get(reader, name, condition=image)),
            cell(index.get(reader, name)),
        )
        for reader in index.readers
        for name, title in (("cgr", "CGR"), ("is", "IS"), ("gsp", "GSP"), ("uar", "UAR"))
        for image in index.groups(name, "condition")
    )
    return table(
        "conditions",
        "Does it depend on how the image is changed?",
        ("reader", "rate", "condition", "under it", "headline"),
        rows,
        signature,
        ("UAR with no image, or a black one: correct answers that need no image at all.",),
        facts=3,
    )


def worst_cases(index: Index, signature: str) -> Table | None:
    """The rates if all replies without an answer were misses, and if they were hits [D4]."""
    names = (
        ("accuracy", "accuracy"),
        ("cgr", "CGR"),
        ("uar", "UAR"),
        ("is", "IS"),
        ("is_all", "IS of all"),
    )

    def span(reader: str, name: str) -> str:
        low = index.known(reader, name, bound="low")
        high = index.known(reader, name, bound="high")
        if low is None or high is None:
            return NOT_KNOWN
        return f"{percent(low.value)} to {percent(high.value)} n={low.n}"

    return table(
        "worst_cases",
        "What could the replies without an answer change?",
        ("reader", *(title for _, title in names)),
        ((reader, *(span(reader, name) for name, _ in names)) for reader in index.readers),
        signature,
        ("Percent, were every reply without an answer a miss, and were it a hit.",),
    )


def _spelled(image: str) -> str:
    return image.replace("_", " ")
