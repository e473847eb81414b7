"""The page that people read on: one display at a time, every answer committed before the next.

Each reader has a link of his own; it opens what he is to read now, and nothing else. Nothing that
is sent says which case, condition or model a display shows: the key is not opened here. Importing
this takes aiohttp: do so where it serves.
"""

from __future__ import annotations

import asyncio
import hmac
import re
import ssl
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from html import escape
from importlib.resources import files
from typing import Any, Final

import msgspec
from aiohttp import web

from overread import viewer
from overread.benchmarks.people import Ask
from overread.case import BadInput
from overread.door import Bound, Refused, line, listening, made, same
from overread.files import read_bytes
from overread.study.design import NOTE, ORGANISER
from overread.study.journal import Conflict, Journal, Standing
from overread.study.packets import TRAINING, Display, Opened, links_of

_MOST_BODY: Final = 200_000
_MOST_SECONDS: Final = 86_400.0
_NOTE: Final = Ask(name=NOTE, text="", kind="text")
# By which a page says whose it is, once it knows.
_PAGE_OF: Final = "Overread-Reader"
_NAME: Final = re.compile(r"[0-9a-f]{16}")
_PICTURE: Final = re.compile(r"[0-9a-f]{16}\.(png|jpg)")
# Studies of before all pictures were written as PNG have others too.
_TYPES: Final = {"png": "image/png", "jpg": "image/jpeg"}
# Its own scripts, styles and pictures; nobody else's, and nothing inline.
_RULES: Final = {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' blob:; "
        "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    )
}


class Put(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What a page sends when a display is answered."""

    values: dict[str, str]
    revision: int = 0
    visible: float | None = None


class Links(msgspec.Struct, frozen=True):
    """Where each reader, and the organiser, begins."""

    readers: dict[str, str]
    organiser: str


@asynccontextmanager
async def serving_study(
    study: Opened,
    at: Bound,
    *,
    certificate: ssl.SSLContext | None = None,
    trouble: Callable[[str], None] = lambda line: None,
    journal: Journal | None = None,
) -> AsyncIterator[Links]:
    """Serve a study until the context is left; yields everybody's links."""
    kept = journal or Journal(study.folder)
    secret, tokens = links_of(study.folder)
    desk = _Desk(study, kept, at, secret, tokens)
    origin = at.address.origin
    links = {name: f"{origin}/r/{token}" for name, token in tokens.items()}
    organiser = links.pop(ORGANISER)
    try:
        async with listening(desk.answer, at, trouble, certificate):
            yield Links(links, organiser)
    finally:
        kept.close()


class _Desk:
    """Answers requests. A class, for it holds what all of them need.

    SQLite is called in the loop's own thread: a commit takes milliseconds, readers are few, and no
    two answers of a reader can overtake each other.
    """

    def __init__(
        self, study: Opened, journal: Journal, at: Bound, secret: str, tokens: Mapping[str, str]
    ) -> None:
        self._study, self._journal, self._secret = study, journal, secret
        self._tokens = dict(tokens)
        self._secure = "; Secure" if at.address.tls else ""
        self._cookie = f"overread-study-{at.address.port}"
        self._owners: dict[str, str] = {}
        for display in study.displays.values():
            for picture in display.pictures:
                self._owners[picture.file] = display.id
        self._assets = {
            "/read.js": (_asset("read.js"), "text/javascript"),
            "/read.css": (_asset("read.css"), "text/css"),
            "/viewer.js": (viewer.script().encode(), "text/javascript"),
            "/viewer.css": (viewer.style().encode(), "text/css"),
        }

    # ------------------------------------------------------------ who asks

    async def answer(self, request: web.BaseRequest) -> web.StreamResponse:
        path, _, query = request.raw_path.partition("?")
        if query:
            raise Refused(400, "Nothing here takes a query.")
        self._check_asker(request)
        if request.method == "GET" and path.startswith("/r/"):
            return self._let_in(path.removeprefix("/r/"))
        if path == "/favicon.ico":  # browsers ask for it unasked
            return web.Response(status=204)
        reader = self._known(request)
        if reader is None:
            raise Refused(403, "Open the link that you were given.")
        # Readers may share a browser: a page stays that of the reader who opened it.
        if request.headers.get(_PAGE_OF, reader) != reader:
            raise Refused(403, "Another reader's link was opened here since. Open your own again.")
        writes = request.method == "PUT" and path.startswith("/display/")
        if request.method not in ("GET", "HEAD") and not writes:
            return line(405, "Only GET and HEAD.", {"Allow": "GET, HEAD"})
        if writes:
            self._own_page(request)
        if path in self._assets:
            data, kind = self._assets[path]
            return made(data, kind, "utf-8")
        if reader == ORGANISER:
            if request.method == "GET" and path == "/organiser":
                return made(self._progress().encode(), "text/html", "utf-8", _RULES)
            raise Refused(404, "There is nothing here.")
        return await self._routed(request, reader, path)

    def _let_in(self, token: str) -> web.Response:
        found = None
        for name, own in self._tokens.items():
            if same(token, own):
                found = name
        if found is None:
            raise Refused(403, "This link opens nothing. Ask whoever sent it.")
        # Lax: links are clicked on a page of mail, and from another site a strict cookie would not
        # go along to /read. What writes is the page itself all the same (`_own_page`).
        cookie = (
            f"{self._cookie}={found}.{self._seal(found)}; HttpOnly; SameSite=Lax; Path=/; "
            f"Max-Age=31536000{self._secure}"
        )
        place = "/organiser" if found == ORGANISER else "/read"
        return line(303, f"See {place}.", {"Location": place, "Set-Cookie": cookie})

    def _seal(self, reader: str) -> str:
        return hmac.new(bytes.fromhex(self._secret), reader.encode(), "sha256").hexdigest()

    def _known(self, request: web.BaseRequest) -> str | None:
        reader, _, seal = request.cookies.get(self._cookie, "").rpartition(".")
        return reader if reader in self._tokens and same(seal, self._seal(reader)) else None

    def _check_asker(self, request: web.BaseRequest) -> None:
        """Another site's page gets nothing, not even with a reader's cookie; a link of it may be
        followed."""
        own = request.headers.get("Host", "")
        origin = request.headers.get("Origin", f"//{own}")
        site = request.headers.get("Sec-Fetch-Site", "none")
        followed = request.method == "GET" and request.headers.get("Sec-Fetch-Mode") == "navigate"
        strange = site not in ("same-origin", "none") and not followed
        if strange or origin.rpartition("//")[2] != own:
            raise Refused(403, "Only the page itself may ask this.")

    def _own_page(self, request: web.BaseRequest) -> None:
        """Whoever writes must be the page itself: another site's cannot send these together."""
        if request.headers.get("Sec-Fetch-Site", "same-origin") != "same-origin":
            raise Refused(403, "Only the page itself may say this.")
        if request.headers.get("Content-Type", "").partition(";")[0] != "application/json":
            raise Refused(415, "Expected JSON.")

    # ------------------------------------------------------------ what they may see

    async def _routed(self, request: web.BaseRequest, reader: str, path: str) -> web.StreamResponse:
        if path in ("/", "/read"):
            return made(_page(self._study).encode(), "text/html", "utf-8", _RULES)
        parts = path.removeprefix("/").split("/")
        answers = request.method == "PUT" and parts[0] == "display" and len(parts) == 2
        put = await _body(request) if answers else Put({})
        standing = self._journal.standing(self._study, reader)
        if path == "/state":
            return _json(self._state(reader, standing))
        if parts[0] == "picture" and len(parts) == 2 and _PICTURE.fullmatch(parts[1]):
            return await self._picture(parts[1], standing)
        if parts[0] == "display" and len(parts) in (2, 3) and _NAME.fullmatch(parts[1]):
            if answers and self._stands(reader, parts[1], put):
                return _json({"revision": put.revision + 1})
            display = self._open_display(parts[1], standing)
            if request.method == "PUT" and parts[2:] == ["shown"]:
                self._journal.show(reader, display.id)
                return _json({})
            if answers:
                return _json(self._take(reader, display, put))
            if request.method != "PUT" and len(parts) == 2:
                return _json(self._shown(reader, display))
        raise Refused(404, "There is nothing here.")

    def _open_display(self, name: str, standing: Standing) -> Display:
        """A display of the session that is open; of another it is as if it were not there."""
        if standing.waits is not None or all(turn.display != name for turn in standing.turns):
            raise Refused(404, "There is nothing here.")
        return self._study.displays[name]

    async def _picture(self, name: str, standing: Standing) -> web.Response:
        self._open_display(self._owners.get(name, ""), standing)
        path = self._study.folder / "pictures" / name
        if path.is_symlink():  # a study may come from somebody else: no file of ours goes out
            raise Refused(404, "There is nothing here.")
        data = await asyncio.get_running_loop().run_in_executor(None, read_bytes, path)
        return made(data, _TYPES[name.rpartition(".")[2]])

    def _state(self, reader: str, standing: Standing) -> dict[str, Any]:
        """Where the reader stands, in numbers and display ids; a session that waits shows none."""
        own = sorted({turn.session for turn in self._study.schedule if turn.reader == reader})
        # Counted from 1 in his own: with a cap some sessions may have nothing for him.
        counted = [session for session in own if session != TRAINING]
        session = standing.session
        open_now = standing.waits is None
        return {
            "title": self._study.design.name,
            "welcome": self._study.design.welcome,
            "reader": reader,
            "session": counted.index(session) + 1 if session in counted else session,
            "first": own[:1] == [session],
            "practice": session == TRAINING,
            "sessions": len(counted),
            "order": [turn.display for turn in standing.turns] if open_now else [],
            "done": sorted(standing.done) if open_now else [],
            "waits": None
            if standing.waits is None
            else datetime.fromtimestamp(standing.waits, UTC).isoformat(timespec="minutes"),
        }

    def _shown(self, reader: str, display: Display) -> dict[str, Any]:
        given = self._journal.of_display(reader, display.id)
        return {
            "id": display.id,
            "task": display.task,
            "texts": display.texts,
            "asks": [{**msgspec.to_builtins(ask), "answers": ask.answers} for ask in display.asks],
            "pictures": [
                {
                    "src": f"/picture/{picture.file}",
                    "frames": picture.frames,
                    "width": picture.width,
                    "height": picture.height,
                    "boxes": [["", *box] for box in picture.boxes],
                }
                for picture in display.pictures
            ],
            "values": {question: one.value for question, one in given.items()},
            "revision": max((one.revision for one in given.values()), default=0),
        }

    def _stands(self, reader: str, display: str, put: Put) -> bool:
        """Whether this was committed by the page's last try, whose answer it never got.

        The last display of a session is no longer open then.
        """
        given = self._journal.of_display(reader, display)
        newest = max((one.revision for one in given.values()), default=0)
        return (
            bool(put.values)
            and newest == put.revision + 1
            and all(
                value == (given[question].value if question in given else "")
                for question, value in put.values.items()
            )
        )

    def _take(self, reader: str, display: Display, put: Put) -> dict[str, Any]:
        asks = {ask.name: ask for ask in display.asks}
        if set(put.values) - set(asks) - {NOTE}:
            raise Refused(400, "There is no such question.")
        try:
            values = {
                name: asks.get(name, _NOTE).checked(value) for name, value in put.values.items()
            }
        except BadInput as error:
            raise Refused(400, str(error)) from None
        stood = {
            name: one.value for name, one in self._journal.of_display(reader, display.id).items()
        }
        for name, ask in asks.items():  # what another answer has made no question any more
            if not ask.is_asked(stood | values) and (stood | values).get(name):
                values[name] = ""
        visible = put.visible
        if visible is not None and not 0 <= visible <= _MOST_SECONDS:
            visible = None
        try:
            revision = self._journal.put(
                reader, display.id, values, revision=put.revision, visible=visible
            )
        except Conflict:
            raise Refused(409, "This was answered elsewhere, in another tab perhaps.") from None
        return {"revision": revision}

    # ------------------------------------------------------------ the organiser

    def _progress(self) -> str:
        rows = []
        for reader, done, total, last in self._journal.progress(self._study):
            standing = self._journal.standing(self._study, reader)
            where = "finished" if standing.session is None else f"session {standing.session}"
            if standing.session == TRAINING:
                where = "practice"
            if standing.waits is not None:
                day = datetime.fromtimestamp(standing.waits, UTC).strftime("%Y-%m-%d")
                where = f"waits until {day} for session {standing.session}"
            when = "" if last is None else f"{datetime.fromtimestamp(last, UTC):%Y-%m-%d %H:%M} UTC"
            cells = (reader, f"{done} of {total}", where, when)
            rows.append("<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in cells) + "</tr>")
        return (
            _text("organiser.html")
            .replace("{{title}}", escape(self._study.design.name))
            .replace("{{rows}}", "\n".join(rows))
        )


def _page(study: Opened) -> str:
    return _text("read.html").replace("{{title}}", escape(study.design.name))


async def _body(request: web.BaseRequest) -> Put:
    data = await request.content.read(_MOST_BODY + 1)
    while data and len(data) <= _MOST_BODY and not request.content.at_eof():
        data += await request.content.read(_MOST_BODY + 1 - len(data))
    if len(data) > _MOST_BODY:
        raise Refused(413, "This is too long.")
    try:
        return msgspec.json.decode(data, type=Put)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        raise Refused(400, "This cannot be read.") from None


def _json(data: Mapping[str, Any]) -> web.Response:
    return made(msgspec.json.encode(data), "application/json", "utf-8")


def _text(name: str) -> str:
    return (files("overread.study") / "assets" / name).read_text(encoding="utf-8")


def _asset(name: str) -> bytes:
    return _text(name).encode()
