"""The server: aiohttp's HTTP, our own few answers, and the same headers on every one of them."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from functools import partial
from importlib.resources import files
from typing import Any, Final, TypeVar
from urllib.parse import urlencode

import msgspec
from aiohttp import web

from overread.case import Card, Shown
from overread.report._text import as_json
from overread.report.browser import PAGE, Placed, card_data
from overread.report.policy import content_security
from overread.report.serving.browsable import Browsable, Filter, find
from overread.report.serving.door import Bound, Door
from overread.report.serving.pictures import PicturesMadeLast
from overread.report.serving.queries import Refused, cards_wanted, picture_wanted

_T = TypeVar("_T")
_THREADS: Final = 2
_LONGEST_LINE: Final = 8190
_MOST_HEADERS: Final = 64
_PATIENCE: Final = 1.0  # seconds that an answer under way has when the server ends
# What a browser opens at once is six; beyond these, whoever connects is let go of at once.
_MOST_CONNECTIONS: Final = 128
_BACKLOG: Final = 16
_IMAGES: Final = ("image/png", "image/jpeg", "image/webp")

_NOTHING: Final = (
    "default-src 'none'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'; sandbox"
)
_HEADERS: Final = {
    "Cache-Control": "no-store",
    "Content-Security-Policy": _NOTHING,
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "Server": "overread",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
}

_quiet: Final = logging.getLogger("overread.serving")
_quiet.addHandler(logging.NullHandler())
_quiet.propagate = False


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
    listening, address = at
    door = Door(address)
    threads = ThreadPoolExecutor(_THREADS, "overread-serving")
    desk = _Desk(page, runs, door, threads, trouble)
    server = _Server(
        desk.answer,
        access_log=None,
        logger=_quiet,
        max_line_size=_LONGEST_LINE,
        max_field_size=_LONGEST_LINE,
        max_headers=_MOST_HEADERS,
        lingering_time=0,
    )
    server.most = _most_connections()
    runner = web.ServerRunner(server, handle_signals=False, shutdown_timeout=_PATIENCE)
    loop = asyncio.get_running_loop()
    before = loop.get_exception_handler()
    loop.set_exception_handler(_told_once(trouble))
    try:
        await runner.setup()
        await web.SockSite(runner, listening, backlog=_BACKLOG).start()
        yield Serving(url=door.url, port=address.port, public=address.public)
    finally:
        await runner.cleanup()
        loop.set_exception_handler(before)
        listening.close()
        threads.shutdown(wait=False, cancel_futures=True)


def _told_once(
    trouble: Callable[[str], None],
) -> Callable[[asyncio.AbstractEventLoop, dict[str, Any]], None]:
    """Troubles of the loop itself, each kind said once: asyncio repeats itself for every try."""
    said: set[str] = set()

    def handle(_: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        error = context.get("exception")
        line = (
            error.strerror if isinstance(error, OSError) and error.strerror else context["message"]
        )
        if line not in said:
            said.add(line)
            trouble(f"{line}; some requests are not taken until others end.")

    return handle


def _most_connections() -> int:
    """Half of the files this process may open, so that pictures can be read for whoever is in."""
    import resource

    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return _MOST_CONNECTIONS if soft < 0 else max(8, min(_MOST_CONNECTIONS, soft // 2))


class _Desk:
    """Answers requests. A class, for it holds what all of them need."""

    def __init__(
        self,
        page: str,
        runs: Sequence[Browsable | None],
        door: Door,
        threads: ThreadPoolExecutor,
        trouble: Callable[[str], None],
    ) -> None:
        self._page = page.encode(errors="replace")
        self._rules = {"Content-Security-Policy": _page_rules()}
        self._runs, self._door = runs, door
        self._threads, self._trouble = threads, trouble
        self._pictures = PicturesMadeLast()

    async def answer(self, request: web.BaseRequest) -> web.StreamResponse:
        try:
            return await self._admitted(request)
        except Refused as refused:
            return _line(refused.status, refused.line)
        except Exception as error:
            self._trouble(f"a request could not be answered ({type(error).__name__}).")
            return _line(500, "This could not be made.")

    async def _admitted(self, request: web.BaseRequest) -> web.StreamResponse:
        """The answer, to whom may have one."""
        named = request.headers.getall("Host", [])
        if len(named) != 1 or not self._door.address.is_named(named[0]):
            raise Refused(421, "This server is not the one you named. Use the address it printed.")
        if request.method not in ("GET", "HEAD"):
            return _line(405, "Only GET and HEAD.", {"Allow": "GET, HEAD"})
        path, _, query = request.raw_path.partition("?")
        if self._door.knows(request.cookies):
            return await self._routed(request, path, query)
        cookie = self._door.opens(query) if (request.method, path) == ("GET", "/") else None
        if cookie is None:
            raise Refused(403, "Open the address that `overread serve` printed; it opens once.")
        return _line(303, "See /.", {"Location": "/", "Set-Cookie": cookie})

    async def _routed(self, request: web.BaseRequest, path: str, query: str) -> web.StreamResponse:
        if path == "/":
            if query:  # the printed address, opened again
                return _line(303, "See /.", {"Location": "/"})
            return _made(self._page, "text/html", "utf-8", self._rules)
        # Pages of other ports of this machine are of the same site, and their requests bring the
        # cookie; what they get is of no use to them, and this way they get nothing.
        if request.headers.get("Sec-Fetch-Site", "none") not in ("same-origin", "none"):
            raise Refused(403, "Only the page itself may ask this.")
        if path == "/cards":
            run, page, wanted = cards_wanted(query, self._runs)
            found = self._runs[run - 1]
            assert found is not None
            data = await self._in_thread(lambda: _cards(found, run, wanted, page))
            return _made(data, "application/json", "utf-8")
        if path == "/picture":
            picture = await self._in_thread(
                partial(self._picture, *picture_wanted(query, self._runs))
            )
            if picture is None or picture.media_type not in _IMAGES:
                raise Refused(404, "There is no such picture.")
            return _made(picture.data, picture.media_type)
        raise Refused(404, "There is nothing here.")

    def _picture(self, run: int, case: str, number: int) -> Shown | None:
        found = self._runs[run - 1]
        if found is None or found.picture is None:
            return None
        return self._pictures.get((run, case, number), partial(found.picture, case, number))

    async def _in_thread(self, make: Callable[[], _T]) -> _T:
        return await asyncio.get_running_loop().run_in_executor(self._threads, make)


def _page_rules() -> str:
    assets = files("overread.report") / "assets"
    script, style = (
        (assets / name).read_text(encoding="utf-8") for name in ("report.js", "report.css")
    )
    return f"{content_security(script, style, served=True)}; frame-ancestors 'none'"


def _cards(found: Browsable, run: int, wanted: Filter, page: int) -> bytes:
    total, cases = find(found.index, wanted, page, PAGE)
    pictured = found.picture is not None

    def place(case: str, number: int) -> Placed | None:
        if not pictured:
            return None
        return f"picture?{urlencode({'run': run, 'case': case, 'n': number})}", None, None

    cards: list[Card] = found.cards(cases) if cases else []
    return as_json({"count": total, "cards": [card_data(card, place) for card in cards]}).encode()


# ---------------------------------------------------------------- HTTP


def _made(
    data: bytes, kind: str, charset: str | None = None, more: Mapping[str, str] | None = None
) -> web.Response:
    return web.Response(
        body=data, content_type=kind, charset=charset, headers={**_HEADERS, **(more or {})}
    )


def _line(status: int, line: str, more: Mapping[str, str] | None = None) -> web.Response:
    return web.Response(
        status=status,
        text=f"{line}\n",
        content_type="text/plain",
        headers={**_HEADERS, **(more or {})},
    )


class _Protocol(web.RequestHandler):
    """HTTP that cannot be read is refused in a line too: aiohttp would say what it stumbled on."""

    __slots__ = ()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        super().connection_made(transport)
        manager = self._manager
        if isinstance(manager, _Server) and len(manager.connections) > manager.most:
            transport.close()

    def handle_error(
        self,
        request: web.BaseRequest,
        status: int = 500,
        exc: BaseException | None = None,
        message: str | None = None,
    ) -> web.StreamResponse:
        refused = _line(
            status, "This is no request." if status < 500 else "This could not be made."
        )
        refused.force_close()
        return refused


class _Server(web.Server):
    most = _MOST_CONNECTIONS

    def __call__(self) -> _Protocol:
        return _Protocol(self, loop=self._loop, **self._kwargs)
