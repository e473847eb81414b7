"""A miniature M3CoTBench: its files to the letter, the questions made up.

`write_m3cot` makes the folder a user would download. An `Item` says which traps it sets.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from openpyxl import Workbook
from PIL import Image

HEADER = (
    *("index", "question", "answer"),
    *("modality", "feature", "key_conclusion", "additional_analysis"),
)
# The labels of type.xlsx, as they are spelt there.
LABELS = (
    *("Diagnosis", "Recognition", "Treatment", "Localization", "Cause", "Modality", "Function"),
    *("Refering Recognition", "Prediction", "Grading", "Counting", "Image Quality", "Symptom"),
)


class Item(NamedTuple):
    """One row. Cells are what Excel would hold: texts, numbers, None for an empty one."""

    index: Any
    question: Any = "Which organ is shown? (Select one option)\nA. Liver\nB. Spleen"
    answer: Any = "A"
    modality: Any = "CT"
    feature: Any = "a large brown organ"
    key_conclusion: Any = "it is the liver"
    additional_analysis: Any = None
    # None: type.xlsx has no row of it.
    label: str | None = "Diagnosis"
    # The image's suffix; None: there is no image.
    suffix: str | None = ".png"
    size: tuple[int, int] = (20, 12)

    @property
    def cells(self) -> tuple[Any, ...]:
        return self[: len(HEADER)]


def write_sheet(path: Path, header: Sequence[Any], rows: Iterable[Sequence[Any]]) -> Path:
    """An xlsx with one sheet."""
    book = Workbook()
    sheet = book.active
    for row in (header, *rows):
        sheet.append(list(row))
    path.parent.mkdir(parents=True, exist_ok=True)
    book.save(path)
    return path


def write_image(path: Path, size: tuple[int, int] = (20, 12), grey: int = 90) -> Path:
    """An image of one grey, in the format of its suffix."""
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.new("L", size, grey % 256).save(path)
    return path


def write_m3cot(
    root: Path, items: Sequence[Item], folder: str = "", header: Sequence[Any] = HEADER
) -> Path:
    """The whole set below `root`, in `folder` of it."""
    home = root / folder
    write_sheet(home / "M3CoTBench.xlsx", header, [item.cells for item in items])
    typed = [(item.index, item.label) for item in items if item.label is not None]
    write_sheet(home / "type.xlsx", ("index", "analysis_type"), typed)
    for number, item in enumerate(items):
        if item.suffix is not None:
            write_image(home / "images" / f"{item.index}{item.suffix}", item.size, 40 + number)
    return root
