"""Rates within groups: findings, patients, sentences, rated boxes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from overread.benchmarks.exhibits.cells import (
    NOT_KNOWN,
    cell,
    fraction,
    interval,
    p_value,
    percent,
    table,
)
from overread.benchmarks.grounding.exhibits.index import Index
from overread.case import Measure, Table

__all__ = ["FEW", "coverage", "coverage_findings", "findings", "sentences", "subgroups"]

FEW: Final = 10
"""Below so many cases a rate by finding is printed and not to be read (Supplementary Table 2)."""
_FEW_NOTE: Final = f"† Fewer than {FEW} cases: not to be interpreted."
_SETS: Final = (
    ("all", "all boxes"),
    ("accurate", "box rated accurate"),
    ("accurate_or_partial", "accurate or partial"),
)


def _few(record: Measure | None) -> str:
    return "†" if record is not None and 0 < (record.n or 0) < FEW else ""


def findings(index: Index, signature: str) -> Table | None:
    """Supplementary Table 2: CGR by finding."""
    named = [name for name in index.groups("cgr", "finding") if index.any("cgr", finding=name)]

    def of(reader: str, finding: str) -> str:
        record = index.get(reader, "cgr", finding=finding)
        return fraction(record, _few(record))

    return table(
        "findings",
        "Which findings does it look for? CGR by finding",
        ("reader", *(name.replace("_", " ") for name in named)),
        ((reader, *(of(reader, name) for name in named)) for reader in index.readers),
        signature,
        ("Percent [95 % interval] and flips / correct Yes.", _FEW_NOTE),
    )


def subgroups(index: Index, signature: str) -> Table | None:
    """Table 2: CGR and UAR by sex, view and age, with the test between the groups."""
    return table(
        "subgroups",
        "Does image use differ between patients?",
        ("reader", "rate", "by", "groups", "gap", "p", "q"),
        _tests(index),
        signature,
        (
            "Percent. The gap is the first group less the second, or the largest less the smallest "
            "of three, in percentage points [95 % interval].",
            "p by permutation; q is adjusted among the tests of one reader (Benjamini–Hochberg). "
            "† q < 0.05.",
        ),
        facts=3,
    )


def _tests(index: Index) -> Iterator[tuple[str, ...]]:
    for reader in index.readers:
        for name, title in (("cgr", "CGR"), ("uar", "UAR")):
            for attribute in index.groups(f"gap_{name}", "attribute"):
                test = index.get(reader, f"gap_{name}", attribute=attribute)
                if test is None:
                    continue
                rates = (
                    (group, index.known(reader, name, **{attribute: group}))
                    for group in index.groups(name, attribute)
                )
                said = ", ".join(
                    f"{group} {percent(r.value)} (n={r.n})" for group, r in rates if r is not None
                )
                gap = percent(test.value, signed=True)
                mark = "†" if test.q is not None and test.q < 0.05 else ""
                yield (
                    reader,
                    title,
                    attribute,
                    said or NOT_KNOWN,
                    gap + interval(test) if test.value is not None else NOT_KNOWN,
                    p_value(test.p),
                    p_value(test.q) + mark,
                )


def sentences(index: Index, signature: str) -> Table | None:
    """Verdicts on report sentences that another image changes, by kind of injected error."""
    name = "rexerr_sensitivity"
    kinds = [("error_group", group) for group in index.groups(name, "error_group")]
    kinds += [("error_type", kind) for kind in index.groups(name, "error_type")]
    return table(
        "sentences",
        "Does the verdict on a sentence change with the image?",
        ("reader", *(kind.replace("_", " ") for _, kind in kinds)),
        (
            (reader, *(cell(index.get(reader, name, **{key: kind})) for key, kind in kinds))
            for reader in index.readers
        ),
        signature,
        (
            "Percent of correct verdicts another patient's image of the same finding and label "
            "changes, of any where the sentence names no finding [95 % interval]; first by what it "
            "takes to notice the error, then by its type.",
        ),
    )


def coverage(index: Index, signature: str) -> Table | None:
    """Supplementary Table 7: CGR where human readers said the box holds the finding."""
    return table(
        "coverage",
        "Do boxes that miss part of a finding explain a low CGR?",
        ("reader", *(title for _, title in _SETS)),
        (
            (reader, *(fraction(index.get(reader, "cgr", coverage=name)) for name, _ in _SETS))
            for reader in index.readers
        ),
        signature,
        ("CGR in percent [95 % interval] and flips / correct Yes.",),
    )


def coverage_findings(index: Index, signature: str) -> Table | None:
    """The same by finding, on boxes rated accurate."""
    records = index.all("cgr", "coverage", "finding")
    named = list(dict.fromkeys(record.by["finding"] for record in records))

    def of(reader: str, finding: str) -> str:
        record = index.get(reader, "cgr", coverage="accurate", finding=finding)
        return fraction(record, _few(record))

    return table(
        "coverage_findings",
        "CGR by finding on boxes rated accurate",
        ("reader", *(name.replace("_", " ") for name in named)),
        ((reader, *(of(reader, name) for name in named)) for reader in index.readers),
        signature,
        ("Percent [95 % interval] and flips / correct Yes.", _FEW_NOTE),
    )
