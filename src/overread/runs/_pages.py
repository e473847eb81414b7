"""What a page takes of a run: exhibits, sentences, and cards of a sample of its cases.

`run`, `measure`, `demo`, `report` and `serve` make their pages of this alone.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Final

import msgspec

from overread.benchmarks.base import Benchmark, Tables
from overread.case import BadInput, Card, Clip, Inline, Picture, Shown, Source
from overread.records import RunRecord
from overread.runs._kept import Kept
from overread.runs._published import published_beside

if TYPE_CHECKING:
    from overread.imaging import Films
    from overread.report import Reported

CARDS: Final = 60
"""How many cases the page of `report` embeds, as far as there is room for them."""
OWN_CARDS: Final = 24
"""How many the page that a run writes of itself embeds: it should be there at once."""


def reported(
    kept: Kept,
    opened: Benchmark | None = None,
    *,
    include_images: bool = False,
    cards: int = OWN_CARDS,
    seed: int = 0,
) -> Reported:
    """Everything a page shows of one run.

    `opened` is the benchmark over its cases, where their pictures may be shown. Exhibits, headlines
    and paragraphs are made of the measures alone. Its `record` is the run's as the page may show
    it; its `pictures` says whether this page shows any.
    """
    from overread.report import Reported, choose

    bench, record, tables, measures = kept.bench, kept.record, kept.tables, kept.measures.measures
    exhibits = {x.name: x for x in bench.exhibits(measures, record.signature)}
    if opened is not None and opened is not bench and record.partial:
        opened.sample_from(frozenset(tables.cases["case"]))
    pictured = (
        {} if opened is None else {x.name: x for x in opened.pictured(tables, record.signature)}
    )
    shown: list[Card] = []
    strata: list[str] = []
    total = 0
    if bench.facets and cards > 0 and may_show_texts(record, include_images):
        index = bench.card_index(tables)
        total = index["case"].n_unique()
        chosen, strata = choose(index, cards, seed)
        shown = list(cards_with_slides(bench, opened, tables, chosen))
    slides = Pictures(shown)
    asked = tables.asked_under
    return Reported(
        record=msgspec.structs.replace(
            record,
            pictures=bool(pictured or slides),
            remarks=_remarks(record, include_images),
        ),
        measures=measures,
        exhibits=list((exhibits | pictured).values()),
        headlines=list(bench.headlines(measures)),
        methods=bench.methods(None if asked == bench.edition else asked),
        limitations=bench.limitations(measures),
        published=published_beside(record, kept.measures),
        cards=shown,
        card_total=total,
        seed=seed,
        strata=strata,
        slides=slides,
        include_images=include_images,
    )


def may_show_texts(record: RunRecord, include_images: bool) -> bool:
    """Whether questions, reports and replies may be shown: never a credentialed set's unasked."""
    return record.policy != "credentialed" or include_images


def _remarks(record: RunRecord, include_images: bool) -> tuple[str, ...]:
    """What a user should know of the set; a credentialed set's lines may name its cases."""
    if not record.remarks or may_show_texts(record, include_images):
        return record.remarks
    kept = "remarks that may name cases are in run.toml."
    if not record.left_out:
        return (kept[0].upper() + kept[1:],)
    return (f"{record.left_out} of the set are left out, wholly or in part; {kept}",)


# ---------------------------------------------------------------- cards


def cards_with_slides(
    bench: Benchmark, opened: Benchmark | None, tables: Tables, chosen: Sequence[str]
) -> Iterator[Card]:
    """Cards as this benchmark's edition reads them, with pictures as they were asked with.

    The two may be of different editions: what was shown stays what it was.
    """
    if opened is None or opened is bench:
        yield from bench.cards(tables, chosen)
        return
    try:
        slides = {card.case: card.slides for card in opened.cards(tables, chosen)}
    except BadInput:  # the files are no longer what they were
        slides = {}
    for card in bench.cards(tables, chosen):
        yield msgspec.structs.replace(card, slides=slides.get(card.case, ()))


class Pictures(Mapping[tuple[str, int], Shown]):
    """The pictures of cards by case and number of the slide, rendered when they are asked for.

    A class, for a page takes only as many as it has room for. One that cannot be rendered is not
    there. They have the size a reader was shown; several frames stand on one sheet.
    """

    def __init__(self, cards: Sequence[Card]) -> None:
        self._recipes: dict[tuple[str, int], Picture | Clip] = {
            (card.case, number): slide.picture
            for card in cards
            for number, slide in enumerate(card.slides)
        }
        # Frames of one film on one card, so that it is decoded once.
        self._together: dict[tuple[str, Source | Inline], set[int]] = {}
        for (case, _), picture in self._recipes.items():
            if isinstance(picture, Clip):
                self._together.setdefault((case, picture.source), set()).update(picture.frames)
        self._films: Films | None = None

    def __getitem__(self, key: tuple[str, int]) -> Shown:
        try:
            return self._rendered(key[0], self._recipes[key])
        except BadInput:
            raise KeyError(key) from None

    def __contains__(self, key: object) -> bool:
        return key in self._recipes

    def __iter__(self) -> Iterator[tuple[str, int]]:
        return iter(self._recipes)

    def __len__(self) -> int:
        return len(self._recipes)

    def _rendered(self, case: str, picture: Picture | Clip) -> Shown:
        from overread.imaging import Films

        self._films = self._films or Films()
        wanted = self._together.pop((case, picture.source), None)
        if wanted is not None:
            self._films.frames(picture.source, sorted(wanted))
        return rendered(picture, self._films)


def rendered(picture: Picture | Clip, films: Films) -> Shown:
    """A slide's picture in the size a reader was shown; several frames stand on one sheet."""
    from overread.imaging import render, render_clip

    if isinstance(picture, Picture):
        return render(picture)
    form = "images" if len(picture.frames) == 1 else "sheet"
    return render_clip(msgspec.structs.replace(picture, form=form), films).frames[0]
