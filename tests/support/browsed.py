"""A made-up run to look through, and the page of it served to a client of these tests."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from io import BytesIO
from typing import Any, NamedTuple

import aiohttp
import polars as pl
from PIL import Image

from overread.case import Card, Inline, Picture, Said, Shown, Slide
from overread.door import bound
from overread.report.serving import Browsable, Serving, serving

__all__ = ["HOSTILE", "Row", "browsable", "frame_of", "picture_of", "served_to", "when_served"]

HOSTILE = "</script><script>alert(1)</script>\u202e\x00\ud7ff" + "long " * 2_000
PAGE = "<!doctype html><title>Overread: made up</title>"


class Row(NamedTuple):
    """A row of an index of cases."""

    case: str
    reader: str
    right: bool | None
    flipped: bool | None
    finding: str


def frame_of(rows: Sequence[Row]) -> pl.DataFrame:
    schema = {
        "case": pl.String,
        "reader": pl.String,
        "right": pl.Boolean,
        "flipped": pl.Boolean,
        "finding": pl.String,
    }
    return pl.DataFrame(rows, schema=schema, orient="row")


def browsable(rows: Sequence[Row], *, pictures: bool = True) -> Browsable:
    """A run of these rows, whose cards have two pictures and a hostile reply of every reader."""
    facts = {row.case: row.finding for row in rows}
    slides = tuple(
        Slide(label=f"slide {number}", picture=Picture(source=Inline(data=b"never opened")))
        for number in range(2)
    )

    def cards(cases: Sequence[str]) -> list[Card]:
        return [
            Card(
                case=case,
                title=HOSTILE,
                facts={"finding": facts[case]},
                texts=(("question", HOSTILE),),
                slides=slides,
                said=tuple(
                    Said(reader=row.reader, text=HOSTILE, right=row.right, flipped=row.flipped)
                    for row in rows
                    if row.case == case
                ),
            )
            for case in cases
        ]

    def picture(case: str, number: int) -> Shown | None:
        return picture_of(number) if number < len(slides) else None

    return Browsable(
        index=frame_of(rows),
        facets=("finding",),
        cards=cards,
        picture=picture if pictures else None,
    )


def picture_of(number: int) -> Shown:
    data = BytesIO()
    Image.new("L", (4, 3), 40 * number).save(data, "PNG")
    return Shown(media_type="image/png", data=data.getvalue())


def when_served(
    runs: Sequence[Browsable | None],
    look: Callable[[Serving, aiohttp.ClientSession], Awaitable[Any]],
    *,
    page: str = PAGE,
    admitted: bool = True,
    trouble: Callable[[str], None] = lambda line: None,
) -> Any:
    """Serve, let a client in if it should be, and return what `look` finds."""

    async def asked() -> Any:
        at = bound("127.0.0.1", 0)
        async with serving(page, runs, at, trouble=trouble) as server, _session(server) as session:
            if admitted:
                async with session.get(server.url) as answer:
                    assert answer.status == 200
            return await look(server, session)

    return asyncio.run(asked())


def served_to(server: Serving) -> str:
    """The server's address without its token."""
    return server.url.partition("/?")[0]


def _session(server: Serving) -> aiohttp.ClientSession:
    jar = aiohttp.CookieJar(unsafe=True)  # cookies of addresses, as browsers keep them
    return aiohttp.ClientSession(served_to(server), cookie_jar=jar)
