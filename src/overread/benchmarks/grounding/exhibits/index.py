"""The measures of a grounding run, found by reader, name and group, and each reader's category."""

from __future__ import annotations

from typing import Final

from overread.benchmarks.exhibits.index import Index as Plain
from overread.benchmarks.grounding.category import INSUFFICIENT

__all__ = ["NO_PICTURE", "Index"]

NO_PICTURE: Final = "the reader gets no picture"
"""What a category's note says of a text-only reader; measures hold no modality."""


class Index(Plain):
    """The records by what they are about, with what every grounding exhibit says of a reader."""

    def category(self, reader: str) -> str:
        record = self.get(reader, "category")
        return (record.label if record is not None else None) or INSUFFICIENT

    def sees(self, reader: str) -> bool:
        """Whether the reader gets pictures at all."""
        record = self.get(reader, "category")
        return record is None or NO_PICTURE not in (record.note or "")
