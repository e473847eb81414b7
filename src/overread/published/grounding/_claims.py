"""What the causal audit's running text and captions say of its tables."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from overread.published._arithmetic import percent
from overread.published._flag import Flag
from overread.published._printed import Figures

__all__ = ["CHECKS"]

# "Atelectasis and lung opacity are inert across the cohort, with CGR = 0 for four of the five image
# users and only Gemma-4-26B departing on atelectasis."
_INERT: Final = ("atelectasis", "lung_opacity")
_DEPARTING: Final = ("Gemma-4-26B", "atelectasis")
# "MedGemma-27B-text significantly outscores two of the five image users": these two.
_OUTSCORED: Final = ("MedGemma-1.5-4B", "LLaVA-Med-7B")
_USES: Final = "uses image"
# Supplementary Table 7's caption: "the three text-only models remain at 0.0".
_TEXT_ONLY: Final = 3


def inert_findings(figures: Figures) -> Iterator[Flag]:
    """No image user but the one named changes an answer where the finding is said to be inert."""
    for system in figures.systems:
        for finding in _INERT:
            printed = figures.find(system.name, "cgr", {"finding": finding})
            if system.category != _USES or (system.name, finding) == _DEPARTING or printed is None:
                continue
            if printed.record.value:
                yield Flag(
                    where="Text, findings that carry the signal",
                    what=f"{finding.replace('_', ' ')} is said to be inert, and only Gemma-4-26B "
                    "to depart, on atelectasis",
                    found=f"CGR {percent(printed.record.value)} of n={printed.record.n}",
                    expected="0.0",
                    reader=system.name,
                    tables=(printed.table,),
                )


def outscored_image_users(figures: Figures) -> Iterator[Flag]:
    """Who is called an image user is one of those sorted so."""
    for system in figures.systems:
        if system.name in _OUTSCORED and system.category != _USES:
            yield Flag(
                where="Text, image use and accuracy",
                what='one of "two of the five image users" that MedGemma-27B-text outscores',
                found=system.category,
                expected=f"{_USES}: it outscores one of them",
                reader=system.name,
                tables=("1",),
            )


def auroc_without_spread(figures: Figures) -> Iterator[Flag]:
    """Table 3's caption: AUROC is "given without a standard deviation"."""
    spread = [
        printed.record.reader
        for printed in figures.printed
        if printed.table == "3" and printed.record.measure == "auroc" and printed.spread is not None
    ]
    if spread:
        yield Flag(
            where="Table 3, caption",
            what="AUROC is said to be given without a standard deviation",
            found=f"± behind {len(spread)} of its values",
            expected="none",
            reader="all with an AUROC",
            tables=("3",),
        )


def text_only_at_zero(figures: Figures) -> Iterator[Flag]:
    """Supplementary Table 7's caption counts the text-only models that stay at 0."""
    zero = [
        system
        for system in figures.systems
        if (printed := figures.find(system.name, "cgr", {"coverage": "accurate"})) is not None
        and printed.record.value == 0
    ]
    text = [system.name for system in zero if system.modality == "text"]
    if len(text) != _TEXT_ONLY:
        others = [system.name for system in zero if system.modality != "text"]
        yield Flag(
            where="Supplementary Table 7, caption",
            what="three text-only models are said to remain at 0.0",
            found=f"{len(text)}: {', '.join(text)}; and {', '.join(others) or 'nobody else'}",
            expected=str(_TEXT_ONLY),
            reader=", ".join(others),
            tables=("S7",),
        )


CHECKS: Final = (inert_findings, outscored_image_users, auroc_without_spread, text_only_at_zero)
