"""A run as the page takes it: what others found and chose, ready to be shown."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeAlias

import msgspec

from overread.case import Card, Figure, Headline, Measure, Shown, Table
from overread.records import RunRecord

Exhibit: TypeAlias = Table | Figure


class Reported(msgspec.Struct, frozen=True, kw_only=True):
    """One run and everything its part of the page is made of.

    `cards` are those embedded, in the order in which they are paged through, out of `card_total`;
    `strata` says which they are, a line each, and `seed` what drew them. `slides` are rendered
    pictures by case and number of the slide on its card, in the size a reader was shown them, since
    boxes are in those pixels; the page shrinks them. A slide without one is named and not shown.
    `facets` are the words cards may be filtered by; where there are none, those of the cards.
    `include_images` says that whoever asked for the page may see pictures and texts of a set that
    is not open: without it the page leaves them out, whatever it is given.
    """

    record: RunRecord
    measures: Sequence[Measure] = ()
    exhibits: Sequence[Exhibit] = ()
    headlines: Sequence[Headline] = ()
    methods: Sequence[str] = ()
    limitations: Sequence[str] = ()
    published: Sequence[Table] = ()
    cards: Sequence[Card] = ()
    card_total: int = 0
    seed: int = 0
    strata: Sequence[str] = ()
    slides: Mapping[tuple[str, int], Shown] = {}
    facets: Mapping[str, Sequence[str]] = {}
    include_images: bool = False
