"""A run under way on a page: progress, numbers so far, what failed, what was said last.

The page asks its server every second and draws what it is told as text. Served to one browser, as
the page of finished runs is. Importing it takes aiohttp: do so where it serves.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from typing import Any, Final, Literal

import msgspec
from aiohttp import web

from overread.door import Bound, Door, Refused, line, listening, made
from overread.report.markup import asset, hash_of, shown
from overread.report.serving import Serving

_SCRIPTS: Final = ("elements.js", "live.js")
_STYLE: Final = "live.css"


class Asked(msgspec.Struct, frozen=True, kw_only=True):
    """How far one reader is in one round: its counts, tokens, cost where it has prices, faults."""

    name: str
    total: int
    kept: int = 0
    shared: int = 0
    answered: int = 0
    failed: int = 0
    retried: int = 0
    slots: int = 0
    waiting: bool = False
    tokens_in: int = 0
    tokens_out: int = 0
    cost: float | None = None
    reasons: dict[str, int] = {}

    @property
    def settled(self) -> int:
        return self.kept + self.shared + self.answered + self.failed


class Heard(msgspec.Struct, frozen=True, kw_only=True):
    """A reply that just came: when, of whom, about what, in its own words."""

    at: int
    reader: str
    case: str
    condition: dict[str, Any]
    outcome: str
    text: str


class SoFar(msgspec.Struct, frozen=True, kw_only=True):
    """Numbers of what has been answered: the run's first table, from so many answers."""

    answers: int = 0
    cases: int = 0
    title: str = ""
    columns: Sequence[str] = ()
    rows: Sequence[Sequence[str]] = ()
    # Why there are none, or what they leave out.
    note: str = ""
    last: Sequence[Heard] = ()


class Live(msgspec.Struct, frozen=True, kw_only=True):
    """What the page is told. `rate` is in replies a second, `left` in seconds."""

    title: str
    state: Literal["asking", "measuring", "finished", "ended"]
    seconds: float
    asked: Sequence[Asked] = ()
    rate: float | None = None
    left: float | None = None
    cost: float | None = None
    so_far: SoFar = SoFar()


def live_html(title: str) -> str:
    """The page; it holds nothing but its title, and asks for the rest."""
    return asset("live.html").format(
        rules=_rules(),
        title=shown(f"Overread: {title}, under way"),
        style=asset(_STYLE),
        scripts="\n".join(f"<script>{asset(name)}</script>" for name in _SCRIPTS),
    )


def _rules() -> str:
    return "; ".join(
        [
            "default-src 'none'",
            f"script-src {' '.join(hash_of(asset(name)) for name in _SCRIPTS)}",
            f"style-src {hash_of(asset(_STYLE))}",
            "img-src data:",
            "connect-src 'self'",
            "base-uri 'none'",
            "form-action 'none'",
        ]
    )


@asynccontextmanager
async def watching(
    title: str,
    state: Callable[[], Live],
    report: Callable[[], bytes | None],
    at: Bound,
    *,
    delivered: Callable[[], None] = lambda: None,
    trouble: Callable[[str], None] = lambda line: None,
) -> AsyncIterator[Serving]:
    """Serve the page of a run under way until the context is left.

    `report` is the finished page, None as long as there is none; `delivered` is told when the
    browser has it, which then needs no server any more.
    """
    door = Door(at.address)
    page = live_html(title).encode(errors="replace")
    headers = {"Content-Security-Policy": f"{_rules()}; frame-ancestors 'none'"}

    async def answer(request: web.BaseRequest) -> web.StreamResponse:
        if request.method not in ("GET", "HEAD"):
            return line(405, "Only GET and HEAD.", {"Allow": "GET, HEAD"})
        path, _, query = request.raw_path.partition("?")
        if not door.knows(request.cookies):
            cookie = door.opens(query) if (request.method, path) == ("GET", "/") else None
            if cookie is None:
                raise Refused(403, "Open the address that was printed; it opens once.")
            return line(303, "See /.", {"Location": "/", "Set-Cookie": cookie})
        if path == "/":
            return (
                line(303, "See /.", {"Location": "/"})
                if query
                else made(page, "text/html", "utf-8", headers)
            )
        if request.headers.get("Sec-Fetch-Site", "none") not in ("same-origin", "none"):
            raise Refused(403, "Only the page itself may ask this.")
        if path == "/state":
            return made(msgspec.json.encode(state()), "application/json", "utf-8")
        if path == "/report":
            whole = await asyncio.get_running_loop().run_in_executor(None, report)
            if whole is None:
                raise Refused(404, "The run is not finished.")
            delivered()
            # The page brings its own policy; this one adds that nobody frames it.
            own = {"Content-Security-Policy": "frame-ancestors 'none'"}
            return made(whole, "text/html", "utf-8", own)
        raise Refused(404, "There is nothing here.")

    async with listening(answer, at, trouble):
        yield Serving(url=door.url, port=at.address.port, public=at.address.public)
