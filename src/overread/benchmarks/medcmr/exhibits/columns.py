"""The columns that several exhibits have, the groups in their order, and what stands below."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from overread.benchmarks.exhibits.cells import FEW_MARK
from overread.benchmarks.exhibits.index import Column, Index
from overread.benchmarks.exhibits.judges import (
    AGREEMENT,
    SENSITIVITY,
    SPECIFICITY,
    Part,
    notes_on_judges,
)
from overread.benchmarks.medcmr.cases import ABILITIES, DIMENSIONS, MODALITIES, SYSTEMS

ACCURACY: Final = Column("accuracy", "accuracy")
# The paper's abbreviations are those of its Table 2: Con, Coh, VA, GT.
COMPONENTS: Final = (
    Column("Con", "clarity", question="clarity"),
    Column("Coh", "coherence", question="coherence"),
    Column("VA", "visual", question="visual"),
    Column("GT", "truth", question="truth"),
)
SCORE: Final = Column("S", "score", question="score")
FEW: Final = 10
"""Groups of fewer items are marked."""

COMPONENT_WORDS: Final = {
    "clarity": "clarity",
    "coherence": "coherence",
    "visual": "visual accuracy",
    "truth": "agreement with the truth",
}
_OPEN_WORDS: Final = (
    "Con: clarity of language; Coh: coherence of the reasoning; VA: agreement with the experts' "
    "description of the image; GT: agreement with the true answer. S: (Con + Coh + 4 VA + 4 GT) / "
    "10. All from 0 to 100, as judges score them."
)
_ORDERS: Final = {
    "dimension": tuple(DIMENSIONS),
    "ability": tuple(ABILITIES),
    "modality": MODALITIES,
    "system": SYSTEMS,
}
_WORDS: Final = {"dimension": DIMENSIONS, "ability": ABILITIES}


def groups_of(index: Index, key: str) -> list[str]:
    """The groups under a key: those the paper names in its order, then a set's own by name."""
    found = {
        group
        for column in (ACCURACY, *COMPONENTS, SCORE)
        for group in index.groups(column.measure, key)
    }
    known = [name for name in _ORDERS[key] if name in found]
    return known + sorted(found - set(known))


def spelled(key: str, groups: Sequence[str]) -> str:
    """`SOD small-object detection; FDD …`."""
    words = _WORDS[key]
    return "; ".join(f"{group} {words[group]}" for group in groups if group in words)


def worded(name: str) -> str:
    """A dimension in words with its abbreviation; a set's own as it is."""
    return f"{DIMENSIONS[name]}, {name}" if name in DIMENSIONS else name


def parts_of(index: Index, *, every: bool = False) -> list[Part]:
    """What judges score; the questions without a caption too, where one was tried (or `every`)."""
    asked = {
        record.by.get("question")
        for name in (SENSITIVITY, SPECIFICITY, AGREEMENT)
        for record in index.every(name)
    }
    questions = [name for name in ("score", "score_uncaptioned") if every or name in asked]
    if not every:
        # Below other tables one line per component will do: that of the question most were asked.
        questions = questions[:1] or ["score"]
    return [
        Part(
            said if question == "score" else f"{said} (no description of the image)",
            component,
            {"question": question, "component": component},
        )
        for question in questions
        for component, said in COMPONENT_WORDS.items()
        if question == "score" or component != "visual"
    ]


def judged_notes(index: Index) -> Iterator[str]:
    """What the judged columns mean, and who judged; nothing where no open answer was asked for."""
    if not any(index.all(column.measure) for column in (*COMPONENTS, SCORE)):
        return
    yield _OPEN_WORDS
    yield from notes_on_judges(index, parts_of(index))


def chance_line(index: Index) -> float | None:
    """What an option drawn by lot gets right of all items, in percent."""
    found = index.known("", "chance")
    return None if found is None else 100 * (found.value or 0)


def marked(name: str, n: int) -> str:
    """A group's name, with a star where it has few items."""
    return f"{name} {FEW_MARK}" if n < FEW else name
