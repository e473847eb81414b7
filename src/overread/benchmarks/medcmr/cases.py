"""One question about one or more images, whatever set it comes from (MEDCMR, "The release")."""

from __future__ import annotations

from typing import Final, Literal, TypeAlias

import msgspec

__all__ = ["KINDS", "LETTERS", "Kind", "MedCase"]

# `mcq`: options, one of which is right. `open`: a free answer that judges score.
Kind: TypeAlias = Literal["mcq", "open"]
KINDS: Final[tuple[Kind, ...]] = ("mcq", "open")
LETTERS: Final = "ABCDEFGHIJ"
"""What options are called; those of the release are A to E."""


class MedCase(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A question, its images below the data root, and what is true.

    `answer` is the right option's letter of a multiple-choice item and the true answer of an open
    one. `caption` is what experts wrote of the image (`visual_description`): judges see it, readers
    under test never do.
    """

    case_id: str
    # As the set numbers it; unique among the items of one kind.
    index: int
    kind: Kind
    question: str
    images: tuple[str, ...]
    # The options' texts in the order of their letters; none for an open item.
    options: tuple[str, ...] = ()
    answer: str
    caption: str | None = None
    # Facts a set may state. The names are those of `vocabulary`, where they were understood.
    dimension: str | None = None
    subtype: str | None = None
    ability: str | None = None
    modality: str | None = None
    system: str | None = None
    language: str | None = None
    patient: str | None = None

    @property
    def truth(self) -> str:
        """The true answer in words: the text of the right option, or the answer itself."""
        return self.options[LETTERS.index(self.answer)] if self.kind == "mcq" else self.answer
