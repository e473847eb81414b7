"""The page served to one browser, with every case of its runs behind it.

It answers one browser that was given the token (`overread.door`). What that browser asks for is
read strictly: whatever is odd is refused in one line. Importing it takes aiohttp: do so where it
serves.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Collection, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from functools import cached_property
from typing import TYPE_CHECKING, Final
from urllib.parse import parse_qsl, urlencode

import msgspec
from aiohttp import web

from overread.case import Card, Picture, Shown
from overread.door import Bound, Door, Refused, line, listening, made
from overread.imaging import Cache, has_film
from overread.report.browser import PAGE, Placed, card_data
from overread.report.markup import as_json, content_security

if TYPE_CHECKING:
    import polars as pl

_THREADS: Final = 2
_MOST_PICTURES: Final = 120_000_000  # bytes, with what is kept beside them
_IMAGES: Final = ("image/png", "image/jpeg", "image/webp")
_MOST_FIELDS: Final = 32
_MOST_DIGITS: Final = 7
_YES: Final = {"yes": True, "no": False, None: None}
_FACT: Final = "fact:"
_LONGEST_SEARCH: Final = 200

# ---------------------------------------------------------------- the cases of a run


class Browsable(msgspec.Struct, frozen=True, kw_only=True, dict=True):
    """One run, where its cases may be looked at.

    `index` has a row for each case and reader: case, reader, right, flipped (null where neither can
    be said) and the facets, in the order in which cases are paged through. `cards` makes the cards
    of these cases, in this order; `picture` the picture of a case's slide, or None where there is
    none; `film` the same in the size of its file. `having` are the cases in whose texts or replies
    some words stand. All may be called from any thread.
    """

    index: pl.DataFrame
    facets: Sequence[str]
    cards: Callable[[Sequence[str]], list[Card]]
    picture: Callable[[str, int], Shown | None] | None = None
    film: Callable[[str, int], Shown | None] | None = None
    having: Callable[[str], Collection[str]] | None = None

    @cached_property
    def cases(self) -> frozenset[str]:
        return frozenset(self.index["case"])

    @cached_property
    def readers(self) -> frozenset[str]:
        return frozenset(self.index["reader"])


class Filter(msgspec.Struct, frozen=True, kw_only=True):
    """Which cases: those with these facts that this reader, or any, got right or wrong, and of
    which its answer flipped or did not; among these, those whose texts have some words. Nothing
    given, nothing left out. `case` asks for the page that this case is on, and leaves nothing out.
    """

    reader: str | None = None
    right: bool | None = None
    flipped: bool | None = None
    facts: Mapping[str, str] = {}
    text: str = ""
    case: str | None = None


def find(
    index: pl.DataFrame,
    wanted: Filter,
    page: int,
    size: int,
    having: Callable[[str], Collection[str]] | None = None,
) -> tuple[int, list[str]]:
    """How many cases fit, and those of one page of `size`, from 0; beyond the last it is empty."""
    import polars as pl

    told = ("reader", "right", "flipped")
    asked = {name: getattr(wanted, name) for name in told} | dict(wanted.facts)
    # What cannot be said is neither yes nor no: null equals nothing.
    kept = [pl.col(name) == pl.lit(value) for name, value in asked.items() if value is not None]
    if wanted.text and having is not None:
        kept.append(pl.col("case").is_in(list(having(wanted.text))))
    rows = index.filter(kept) if kept else index
    cases = rows["case"].unique(maintain_order=True)
    return len(cases), cases.slice(page * size, size).to_list()


# ---------------------------------------------------------------- queries

Runs = Sequence[Browsable | None]


def cards_wanted(query: str, runs: Runs) -> tuple[int, int, Filter]:
    """Run, page and filter of `run=1&page=0&reader=…&right=yes&flipped=no&fact:NAME=…&text=…`, or
    of `run=1&case=…`: then the page is the one that has this case."""
    run, fields = _read(query, runs)
    found = runs[run - 1]
    if found is None:
        raise Refused(404, "The cases of this run are not shown.")
    if "case" in fields:
        case = fields.pop("case")
        _nothing_left(fields)
        if case not in found.cases:
            raise Refused(404, "There is no such case.")
        return run, 0, Filter(case=case)
    page = _number(fields, "page")
    text = fields.pop("text", "")
    if len(text) > _LONGEST_SEARCH:
        raise Refused(400, f"text: at most {_LONGEST_SEARCH} characters.")
    reader = fields.pop("reader", None)
    if reader is not None and reader not in found.readers:
        raise Refused(400, "reader: the run has none of this name.")
    told = {name: fields.pop(name, None) for name in ("right", "flipped")}
    for name, word in told.items():
        if word not in _YES:
            raise Refused(400, f"{name}: expected yes or no.")
    facts = [name.removeprefix(_FACT) for name in fields if name.startswith(_FACT)]
    if not set(facts) <= set(found.facets):
        raise Refused(400, "fact: cases of the run are not told apart by this.")
    wanted = {name: fields.pop(_FACT + name) for name in facts}
    _nothing_left(fields)
    right, flipped = (_YES[word] for word in told.values())
    return run, page, Filter(reader=reader, right=right, flipped=flipped, facts=wanted, text=text)


def picture_wanted(query: str, runs: Runs) -> tuple[int, str, int]:
    """Run, case and number of the slide of `run=1&case=…&n=2`."""
    run, fields = _read(query, runs)
    case, number = fields.pop("case", None), _number(fields, "n")
    _nothing_left(fields)
    if case is None:
        raise Refused(400, "case: say which.")
    found = runs[run - 1]
    if found is None or found.picture is None or case not in found.cases:
        raise Refused(404, "There is no such picture.")
    return run, case, number


def _read(query: str, runs: Runs) -> tuple[int, dict[str, str]]:
    """The number of the run, and what else a query says."""
    try:
        pairs = parse_qsl(
            query, True, strict_parsing=True, errors="strict", max_num_fields=_MOST_FIELDS
        )
    except ValueError:  # a UnicodeDecodeError is one
        raise Refused(400, "The query cannot be read.") from None
    fields = dict(pairs)
    if len(fields) < len(pairs):
        raise Refused(400, "The query says something twice.")
    run = _number(fields, "run")
    if not 1 <= run <= len(runs):
        raise Refused(404, "There is no such run.")
    return run, fields


def _number(fields: dict[str, str], name: str) -> int:
    word = fields.pop(name, "")
    if not (word.isascii() and word.isdigit() and len(word) <= _MOST_DIGITS):
        raise Refused(400, f"{name}: expected a whole number.")
    return int(word)


def _nothing_left(fields: dict[str, str]) -> None:
    if fields:
        raise Refused(400, "The query has a field that means nothing here.")


# ---------------------------------------------------------------- serving


class Serving(msgspec.Struct, frozen=True, kw_only=True):
    """A server that listens: the address with its token, and whether others may reach it."""

    url: str
    port: int
    public: bool


@asynccontextmanager
async def serving(
    page: str,
    runs: Sequence[Browsable | None],
    at: Bound,
    *,
    trouble: Callable[[str], None] = lambda line: None,
) -> AsyncIterator[Serving]:
    """Serve a page and the cases of its runs until the context is left.

    `runs` are those of the page in its order, None where a run's cases may not be shown. `trouble`
    is told in a line what went wrong here; whoever asked is only told that something did.
    """
    door = Door(at.address)
    threads = ThreadPoolExecutor(_THREADS, "overread-serving")
    desk = _Desk(page, runs, door, threads)
    try:
        async with listening(desk.answer, at, trouble):
            yield Serving(url=door.url, port=at.address.port, public=at.address.public)
    finally:
        threads.shutdown(wait=False, cancel_futures=True)


class _Desk:
    """Answers requests. A class, for it holds what all of them need."""

    def __init__(
        self,
        page: str,
        runs: Sequence[Browsable | None],
        door: Door,
        threads: ThreadPoolExecutor,
    ) -> None:
        self._page = page.encode(errors="replace")
        rules = f"{content_security(served=True)}; frame-ancestors 'none'"
        self._rules = {"Content-Security-Policy": rules}
        self._runs, self._door = runs, door
        self._threads = threads
        self._pictures = Cache(_MOST_PICTURES)

    async def answer(self, request: web.BaseRequest) -> web.StreamResponse:
        """The answer, to whom may have one."""
        if request.method not in ("GET", "HEAD"):
            return line(405, "Only GET and HEAD.", {"Allow": "GET, HEAD"})
        path, _, query = request.raw_path.partition("?")
        if self._door.knows(request.cookies):
            return await self._routed(request, path, query)
        cookie = self._door.opens(query) if (request.method, path) == ("GET", "/") else None
        if cookie is None:
            raise Refused(403, "Open the address that `overread serve` printed; it opens once.")
        return line(303, "See /.", {"Location": "/", "Set-Cookie": cookie})

    async def _routed(self, request: web.BaseRequest, path: str, query: str) -> web.StreamResponse:
        if path == "/":
            if query:  # the printed address, opened again
                return line(303, "See /.", {"Location": "/"})
            return made(self._page, "text/html", "utf-8", self._rules)
        # Pages of other ports of this machine are of the same site, and their requests bring the
        # cookie; what they get is of no use to them, and this way they get nothing.
        if request.headers.get("Sec-Fetch-Site", "none") not in ("same-origin", "none"):
            raise Refused(403, "Only the page itself may ask this.")
        loop = asyncio.get_running_loop()
        if path == "/cards":
            wanted = cards_wanted(query, self._runs)
            data = await loop.run_in_executor(self._threads, _cards, self._runs, *wanted)
            return made(data, "application/json", "utf-8")
        if path in ("/picture", "/film"):
            place = picture_wanted(query, self._runs)
            picture = await loop.run_in_executor(self._threads, self._picture, path, *place)
            return made(picture.data, picture.media_type)
        raise Refused(404, "There is nothing here.")

    def _picture(self, path: str, run: int, case: str, number: int) -> Shown:
        found = self._runs[run - 1]
        make = found and (found.picture if path == "/picture" else found.film)

        def drawn() -> Shown:
            picture = make(case, number) if make else None
            if picture is None or picture.media_type not in _IMAGES:
                raise Refused(404, "There is no such picture.")
            return picture

        picture = self._pictures.get((path, run, case, number), drawn)
        assert isinstance(picture, Shown)
        return picture


def _cards(runs: Sequence[Browsable | None], run: int, page: int, wanted: Filter) -> bytes:
    found = runs[run - 1]
    assert found is not None
    if wanted.case is not None:
        page = found.index["case"].unique(maintain_order=True).to_list().index(wanted.case) // PAGE
    total, cases = find(found.index, wanted, page, PAGE, found.having)

    def place(card: Card, number: int) -> Placed | None:
        if found.picture is None:
            return None
        query = urlencode({"run": run, "case": card.case, "n": number})
        picture = card.slides[number].picture
        # A film is asked for only where there is one to be had.
        full = found.film is not None and isinstance(picture, Picture) and has_film(picture)
        return Placed(f"picture?{query}", full=f"film?{query}" if full else None)

    cards = found.cards(cases) if cases else []
    data = [card_data(card, place) for card in cards]
    return as_json({"count": total, "page": page, "cards": data}).encode()
