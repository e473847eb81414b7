"""Runs on a page that asks this machine for their cases, a few at a time."""

from __future__ import annotations

import asyncio
import sys
import threading
from collections import OrderedDict
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final

import msgspec

from overread.benchmarks.base import Benchmark, Tables
from overread.case import BadInput, Card, Clip, Picture, Shown, Slide
from overread.runs import _reporting
from overread.runs._asking import on_interrupt
from overread.runs._environment import environment
from overread.runs._kept import Kept, kept_runs

if TYPE_CHECKING:
    import polars as pl

    from overread.door import Bound
    from overread.report import Reported
    from overread.report.serving import Browsable, Serving

_LOOPBACK: Final = "127.0.0.1"
_CARDS_KEPT: Final = 500
# A column of so few words says how something was asked, not what was answered.
_FEW_WORDS: Final = 24
_MOST_SETTINGS: Final = 5_000


class Served(msgspec.Struct, frozen=True, kw_only=True):
    """What is served: the page, and of each of its runs the cases, where they may be looked at."""

    page: str
    runs: list[Browsable | None]


def serve(
    folders: Sequence[str | Path],
    *,
    host: str | None = None,
    port: int = 0,
    include_images: bool = False,
    listens: Callable[[Serving], None],
    trouble: Callable[[str], None] = lambda line: None,
) -> None:
    """Serve the page of some runs with all of their cases, until interrupted or terminated.

    Only this machine may ask unless a `host` is given. `listens` is told the address when the
    server answers under it; `trouble` what went wrong while it did. What `report` leaves out of a
    page without `include_images` is left out here. A run that is under way is served as it goes.
    """
    from overread.door import bound
    from overread.runs._live import serve_live

    place = _LOOPBACK if host is None else host
    alone = Path(folders[0]) if len(folders) == 1 else None
    if alone and serve_live(alone, host=place, port=port, listens=listens, trouble=trouble):
        return

    # What cannot be bound is said before large runs are read.
    at = bound(place, port)
    with at.listening:
        made = served(folders, include_images=include_images)
        try:
            asyncio.run(_until_stopped(made, at, listens, trouble))
        except KeyboardInterrupt:  # where signals have no handlers
            return


async def _until_stopped(
    made: Served,
    at: Bound,
    listens: Callable[[Serving], None],
    trouble: Callable[[str], None],
) -> None:
    from overread.report.serving import serving

    stopped = asyncio.Event()
    with on_interrupt(stopped.set):
        async with serving(made.page, made.runs, at, trouble=trouble) as server:
            listens(server)
            await stopped.wait()


def served(folders: Sequence[str | Path], *, include_images: bool = False) -> Served:
    """The page of some runs, and their cases as they are looked for."""
    from overread.report import report_html

    pages: list[Reported] = []
    runs: list[Browsable | None] = []
    for found in kept_runs([Path(folder) for folder in folders]):
        kept, opened = _reporting.kept_today(found, include_images)
        # `reported` readies `opened` for the run's own cases.
        page = _reporting.reported(kept, opened, include_images=include_images, cards=0)
        shown = _reporting.may_show_texts(kept.record, include_images)
        run = browsable(kept, opened) if shown else None
        runs.append(run)
        pages.append(page if run is None else _with_cases(page, run))
    return Served(page=report_html(pages, served=True), runs=runs)


def _with_cases(page: Reported, run: Browsable) -> Reported:
    words = {facet: run.index[facet].drop_nulls().unique().sort().to_list() for facet in run.facets}
    pictured = page.record.pictures or run.picture is not None
    return msgspec.structs.replace(
        page,
        record=msgspec.structs.replace(page.record, pictures=pictured),
        card_total=len(run.cases),
        facets=words,
    )


# ---------------------------------------------------------------- the cases of a run


def browsable(kept: Kept, opened: Benchmark | None) -> Browsable | None:
    """The cases of a run, where the benchmark has cards; with pictures where it was opened."""
    import polars as pl

    from overread.report.serving import Browsable

    bench = kept.bench
    if not bench.facets:
        return None
    index = bench.card_index(kept.tables)
    desk = _Cards(bench, opened, kept)
    return Browsable(
        index=index.select(
            "case", "reader", "right", "flipped", pl.col(bench.facets).cast(pl.String)
        ),
        facets=bench.facets,
        cards=desk.cards,
        picture=None if desk.opened is None else desk.picture,
        film=None if desk.opened is None else desk.film,
        having=desk.having,
    )


class _Cards:
    """Makes cards of a few cases out of a large run, and the pictures on them.

    A class, for it keeps the slides of the cards made last: their pictures are asked for next.
    """

    def __init__(self, bench: Benchmark, opened: Benchmark | None, kept: Kept) -> None:
        from overread.imaging import Films

        record = kept.record
        as_asked = record.edition == record.answers_edition and not record.measured
        # Under the same rules both make the same cards, and one of them is enough.
        self.bench = opened if opened is not None and as_asked else bench
        self.opened = opened
        self._tables = kept.tables
        self._settings = _a_row_of_each_setting(kept.tables.answers)
        self._slides: OrderedDict[str, tuple[Slide, ...]] = OrderedDict()
        self._lock = threading.Lock()
        self._films = Films()

    def cards(self, cases: Sequence[str]) -> list[Card]:
        tables = self._about(cases)
        made = list(_reporting.cards_with_slides(self.bench, self.opened, tables, cases))
        with self._lock:
            for card in made:
                self._slides[card.case] = card.slides
                self._slides.move_to_end(card.case)
            while len(self._slides) > _CARDS_KEPT:
                self._slides.popitem(last=False)
        return made

    def picture(self, case: str, number: int) -> Shown | None:
        """A slide's picture as a reader was shown it."""
        return self._drawn(case, number, lambda one: _reporting.rendered(one, self._films))

    def film(self, case: str, number: int) -> Shown | None:
        """A slide's picture in the size of its file; None where it cannot be had so."""
        from overread.imaging import render_film

        return self._drawn(
            case, number, lambda one: render_film(one) if isinstance(one, Picture) else None
        )

    def _drawn(
        self, case: str, number: int, draw: Callable[[Picture | Clip], Shown | None]
    ) -> Shown | None:
        with self._lock:
            slides = self._slides.get(case)
        if slides is None:
            slides = next((card.slides for card in self.cards([case])), ())
        if number >= len(slides):
            return None
        try:
            return draw(slides[number].picture)
        except BadInput:  # the file is no longer what it was
            return None

    def having(self, words: str) -> set[str]:
        """The cases in whose texts, or in replies about them, these words stand, in any case."""
        import polars as pl

        found: set[str] = set()
        for table in (self._tables.cases, self._tables.answers):
            texts = [name for name, kind in table.schema.items() if kind == pl.String]
            there = (pl.col(name).str.to_lowercase().str.contains(words.lower(), literal=True)
                     for name in texts if name != "reader")  # fmt: skip
            found.update(table.filter(pl.any_horizontal(there))["case"])
        return found

    def _about(self, cases: Sequence[str]) -> Tables:
        """The run's tables, of these cases alone."""
        import polars as pl

        among = pl.col("case").is_in(list(cases))
        tables = self._tables
        verdicts = tables.verdicts
        return msgspec.structs.replace(
            tables,
            cases=tables.cases.filter(among),
            answers=pl.concat([tables.answers.filter(among), self._settings.filter(~among)]),
            verdicts=None if verdicts is None else verdicts.filter(among),
        )


def _a_row_of_each_setting(answers: pl.DataFrame) -> pl.DataFrame:
    """A row of everything that was asked in some way of its own.

    A benchmark may choose what a card shows by what the whole run asked: it has to see the whole
    run's settings beside the rows of a few cases.
    """
    import polars as pl

    texts = [
        name
        for name, kind in answers.schema.items()
        if kind == pl.String and name not in ("case", "reader", "outcome")
    ]
    few = [name for name in texts if answers[name].n_unique() <= _FEW_WORDS]
    found = answers.unique(few, keep="first", maintain_order=True) if few else answers.clear()
    return found if found.height <= _MOST_SETTINGS else answers


# ---------------------------------------------------------------- a browser


def open_in_browser(url: str) -> None:
    """Show the page, where there is a screen; a browser of the terminal would take it away."""
    import webbrowser

    screens = ("DISPLAY", "WAYLAND_DISPLAY")
    if sys.platform in ("darwin", "win32") or any(environment().get(name) for name in screens):
        threading.Thread(target=partial(webbrowser.open, url), daemon=True).start()
