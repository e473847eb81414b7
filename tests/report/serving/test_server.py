"""A real server on a free port, asked as a browser would ask it, and as others might."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from typing import Any
from urllib.parse import urlsplit

import aiohttp
import msgspec
import pytest
from yarl import URL

from overread.case import Card, Shown
from overread.report.browser import PAGE as CARDS_A_PAGE
from overread.report.serving import Browsable, Serving
from support.browsed import (
    HOSTILE,
    PAGE,
    Row,
    browsable,
    picture_of,
    served_to,
    when_served,
)

ROWS = [
    Row(f"case {number}/../é", reader, (number + place) % 3 == 0, None, f"f{number % 4}")
    for number in range(25)
    for place, reader in enumerate(("one", "<two>"))
]
SAFE = {
    "Cache-Control": "no-store",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
}
Session = aiohttp.ClientSession
Answer = tuple[int, dict[str, str], bytes]


async def get(session: Session, path: str, method: str = "GET", **more: Any) -> Answer:
    async with session.request(method, path, allow_redirects=False, **more) as answer:
        return answer.status, dict(answer.headers), await answer.read()


async def raw(server: Serving, request: bytes) -> bytes:
    reading, writing = await asyncio.open_connection("127.0.0.1", server.port)
    writing.write(request)
    answer = await asyncio.wait_for(reading.read(), 10)
    writing.close()
    return answer


# ---------------------------------------------------------------- who is let in


def test_the_token_moves_from_the_address_to_a_cookie() -> None:
    async def look(server: Serving, session: Session) -> None:
        path = server.url.removeprefix(served_to(server))
        assert path.startswith("/?token=")
        status, headers, body = await get(session, path)
        assert (status, headers["Location"]) == (303, "/")
        assert "HttpOnly; SameSite=Strict" in headers["Set-Cookie"]
        assert path.partition("=")[2].encode() not in body
        status, headers, body = await get(session, "/")
        assert (status, body.decode()) == (200, PAGE)
        # The address opened again by who was let in; by somebody else.
        assert (await get(session, path))[0] == 303
        async with Session(served_to(server)) as other:
            assert (await get(other, path))[0] == 403

    when_served([browsable(ROWS)], look, admitted=False)


@pytest.mark.parametrize("path", ["/", "/?token=", "/?token=x", "/cards?run=1&page=0", "/nothing"])
def test_nothing_without_the_cookie(path: str) -> None:
    async def look(server: Serving, session: Session) -> Answer:
        return await get(session, path, headers={"Cookie": f"overread-{server.port}=x; y"})

    status, headers, body = when_served([browsable(ROWS)], look, admitted=False)
    assert status == 403
    assert headers.items() >= SAFE.items()
    assert b"case" not in body
    assert len(body.splitlines()) == 1


def test_asking_only_for_the_head_does_not_use_the_token_up() -> None:
    async def look(server: Serving, session: Session) -> None:
        path = server.url.removeprefix(served_to(server))
        assert (await get(session, path, "HEAD"))[0] == 403
        assert (await get(session, path))[0] == 303

    when_served([browsable(ROWS)], look, admitted=False)


def test_a_name_that_was_pointed_here_is_refused_even_with_the_cookie() -> None:
    async def look(server: Serving, session: Session) -> list[int]:
        names = [f"evil.example:{server.port}", "127.0.0.1", f"localhost:{server.port}"]
        return [(await get(session, "/", headers={"Host": name}))[0] for name in names]

    assert when_served([browsable(ROWS)], look) == [421, 421, 200]


def test_two_names_or_none_are_refused() -> None:
    async def look(server: Serving, session: Session) -> list[bytes]:
        name = f"Host: 127.0.0.1:{server.port}\r\n".encode()
        end = b"Connection: close\r\n\r\n"
        return [
            await raw(server, b"GET / HTTP/1.0\r\n" + end),
            await raw(server, b"GET / HTTP/1.1\r\n" + name + b"Host: evil.example\r\n" + end),
        ]

    for answer in when_served([browsable(ROWS)], look):
        assert answer.split()[1] in (b"400", b"421")


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "PATCH", "OPTIONS", "TRACE"])
def test_only_get_and_head(method: str) -> None:
    async def look(server: Serving, session: Session) -> Answer:
        return await get(session, "/", method)

    status, headers, _ = when_served([browsable(ROWS)], look)
    assert (status, headers["Allow"]) == (405, "GET, HEAD")
    assert headers.items() >= SAFE.items()


def test_pages_of_other_ports_of_this_machine_get_no_cases() -> None:
    async def look(server: Serving, session: Session) -> list[int]:
        sites = ["same-origin", "none", "same-site", "cross-site"]
        return [
            (await get(session, "/cards?run=1&page=0", headers={"Sec-Fetch-Site": site}))[0]
            for site in sites
        ]

    assert when_served([browsable(ROWS)], look) == [200, 200, 403, 403]


# ---------------------------------------------------------------- what is answered


def test_the_page_may_run_its_own_script_and_ask_its_own_server_only() -> None:
    from overread.report import Reported, report_html
    from support.page import record_of

    page = report_html([Reported(record=record_of())], served=True)

    async def look(server: Serving, session: Session) -> Answer:
        return await get(session, "/")

    _, headers, body = when_served([None], look, page=page)
    rules = headers["Content-Security-Policy"].split("; ")
    assert {
        "default-src 'none'",
        "connect-src 'self'",
        "frame-ancestors 'none'",
        "base-uri 'none'",
        "form-action 'none'",
    } <= set(rules)
    assert "unsafe" not in headers["Content-Security-Policy"]
    assert headers.items() >= SAFE.items()
    for rule in rules[:-1]:  # the page itself says the same, as far as a page can
        assert rule.encode() in body


async def every_page(session: Session, query: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    for page in range(100):
        status, headers, body = await get(session, f"/cards?run=1&page={page}{query}")
        assert status == 200
        assert headers["Content-Type"] == "application/json; charset=utf-8"
        assert headers.items() >= SAFE.items()
        answer = json.loads(body)
        if not answer["cards"]:
            assert len(found) == answer["count"]
            return found
        assert len(answer["cards"]) <= CARDS_A_PAGE
        found.extend(answer["cards"])
    raise AssertionError("it never ends")


def test_paging_shows_every_case_once() -> None:
    async def look(server: Serving, session: Session) -> list[dict[str, Any]]:
        return await every_page(session, "")

    cards = when_served([browsable(ROWS)], look)
    assert [card["case"] for card in cards] == list(dict.fromkeys(row.case for row in ROWS))


def test_filters() -> None:
    async def look(server: Serving, session: Session) -> list[dict[str, Any]]:
        return await every_page(session, "&reader=%3Ctwo%3E&right=yes&fact%3Afinding=f2")

    cards = when_served([browsable(ROWS)], look)
    expected = [row.case for row in ROWS if row[1:3] == ("<two>", True) and row.finding == "f2"]
    assert [card["case"] for card in cards] == expected != []


def test_hostile_replies_come_back_as_data_and_cut() -> None:
    async def look(server: Serving, session: Session) -> Answer:
        return await get(session, "/cards?run=1&page=0")

    _, headers, body = when_served([browsable(ROWS)], look)
    said = json.loads(body)["cards"][0]["said"][0]
    assert HOSTILE.startswith(said["text"])
    assert said["text"].startswith("</script><script>")
    assert len(said["text"]) + said["more"] == len(HOSTILE)
    assert "sandbox" in headers["Content-Security-Policy"]
    assert len(body) < 1_000_000


def test_pictures_are_at_the_addresses_that_cards_name() -> None:
    async def look(server: Serving, session: Session) -> None:
        _, _, body = await get(session, "/cards?run=1&page=1")
        for card in json.loads(body)["cards"]:
            for number, slide in enumerate(card["slides"]):
                status, headers, data = await get(session, f"/{slide['picture']}")
                assert (status, data) == (200, picture_of(number).data)
                assert headers["Content-Type"] == "image/png"
                assert headers.items() >= SAFE.items()

    when_served([browsable(ROWS)], look)


def test_films_are_fetched_apart_by_the_same_rules() -> None:
    def film(case: str, number: int) -> Shown | None:
        return picture_of(5) if number == 0 else None

    made = msgspec.structs.replace(browsable(ROWS), film=film)

    async def look(server: Serving, session: Session) -> None:
        first = json.loads((await get(session, "/cards?run=1&page=0"))[2])["cards"][0]
        one, two = (slide["full"] for slide in first["slides"])
        assert one.startswith("film?")
        status, headers, data = await get(session, f"/{one}")
        assert (status, data) == (200, picture_of(5).data)
        assert headers.items() >= SAFE.items()
        assert (await get(session, f"/{two}"))[0] == 404
        assert (await get(session, "/film?run=1&case=../../etc/passwd&n=0"))[0] == 404
        assert (await get(session, f"/{one}", headers={"Sec-Fetch-Site": "cross-site"}))[0] == 403

    when_served([made], look)

    async def look_again(server: Serving, session: Session) -> None:
        assert (await get(session, "/film", params={"run": 1, "case": ROWS[0].case, "n": 0}))[
            0
        ] == 404

    when_served([browsable(ROWS, pictures=False)], look_again)


def test_a_case_is_found_on_its_page() -> None:
    async def look(server: Serving, session: Session) -> dict[str, Any]:
        wanted = list(dict.fromkeys(row.case for row in ROWS))[-1]
        found: dict[str, Any] = json.loads(
            (await get(session, "/cards", params={"run": 1, "case": wanted}))[2]
        )
        assert wanted in [card["case"] for card in found["cards"]]
        return found

    found = when_served([browsable(ROWS)], look)
    assert found["page"] == (found["count"] - 1) // CARDS_A_PAGE > 0


def test_runs_whose_pictures_or_cases_may_not_be_shown() -> None:
    async def look(server: Serving, session: Session) -> None:
        _, _, body = await get(session, "/cards?run=1&page=0")
        first = json.loads(body)["cards"][0]
        assert [slide["picture"] for slide in first["slides"]] == [None, None]
        assert (await get(session, "/picture", params={"run": 1, "case": ROWS[0].case, "n": 0}))[
            0
        ] == 404
        assert (await get(session, "/cards?run=2&page=0"))[0] == 404
        assert (await get(session, "/picture?run=2&case=a&n=0"))[0] == 404

    when_served([browsable(ROWS, pictures=False), None], look)


def test_only_images_are_shown() -> None:
    def page(case: str, number: int) -> Shown:
        return Shown(media_type="text/html", data=b"<script>")

    made = browsable(ROWS)
    runs = [Browsable(index=made.index, facets=(), cards=made.cards, picture=page)]

    async def look(server: Serving, session: Session) -> Answer:
        return await get(session, "/picture", params={"run": 1, "case": ROWS[0].case, "n": 0})

    assert when_served(runs, look)[0] == 404


def test_head_has_the_headers_and_nothing_else() -> None:
    async def look(server: Serving, session: Session) -> tuple[Answer, Answer]:
        path = "/cards?run=1&page=0"
        return await get(session, path), await get(session, path, "HEAD")

    whole, head = when_served([browsable(ROWS)], look)
    assert head[0] == 200
    assert head[2] == b""
    assert head[1]["Content-Length"] == str(len(whole[2]))


# ---------------------------------------------------------------- what is refused

PATHS = [
    "/../../../../etc/passwd",
    "/%2e%2e/%2e%2e/etc/passwd",
    "//etc/passwd",
    "/cards/../run.toml",
    "/answers.parquet",
    "/run.toml",
    "/report.html",
    "/favicon.ico",
    "/Cards?run=1&page=0",
    "/cards%00?run=1&page=0",
    "/picture/?run=1&case=a&n=0",
    "/picture?run=1&case=../../etc/passwd&n=0",
    "/picture?run=1&case=/etc/passwd&n=0",
]


@pytest.mark.parametrize("path", PATHS)
def test_nothing_is_served_by_path(path: str) -> None:
    async def look(server: Serving, session: Session) -> bytes:
        (cookie,) = session.cookie_jar.filter_cookies(URL(served_to(server))).values()
        lines = [
            f"GET {path} HTTP/1.1",
            f"Host: 127.0.0.1:{server.port}",
            f"Cookie: {cookie.key}={cookie.value}",
            "Connection: close",
        ]
        return await raw(server, "\r\n".join([*lines, "", ""]).encode())

    assert when_served([browsable(ROWS)], look).split()[1] in (b"404", b"400")


@pytest.mark.parametrize(
    "request_",
    [
        b"GARBAGE\r\n\r\n",
        b"FOO / HTTP/1.1\r\nHost: x\r\n\r\n",
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
        b"GET / HTTP/9.9\r\n\r\n",
        b"GET /" + b"a" * 100_000 + b" HTTP/1.1\r\nHost: x\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: x\r\nX: " + b"a" * 100_000 + b"\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: x\r\n" + b"X: a\r\n" * 10_000 + b"\r\n",
        b"GET / HTTP/1.1\r\nHost: <script>\r\nBad Name: x\r\n\r\n",
    ],
)
def test_what_is_no_request_is_told_so_in_one_line(request_: bytes) -> None:
    async def look(server: Serving, session: Session) -> bytes:
        answer = await raw(server, request_ + b"\r\n\r\n")
        assert (await get(session, "/"))[0] == 200  # and the server goes on
        return answer

    head, _, body = when_served([browsable(ROWS)], look).partition(b"\r\n\r\n")
    assert head.split()[1][:1] == b"4"
    assert b"no-referrer" in head
    assert b"nosniff" in head
    assert b"Python" not in head
    assert len(body.splitlines()) == 1
    assert b"script" not in body


def test_what_goes_wrong_here_is_not_told_to_who_asked() -> None:
    def cards(cases: Sequence[str]) -> list[Card]:
        raise RuntimeError("/secret/place")

    heard: list[str] = []
    made = browsable(ROWS)
    runs = [Browsable(index=made.index, facets=(), cards=cards)]

    async def look(server: Serving, session: Session) -> Answer:
        return await get(session, "/cards?run=1&page=0")

    status, headers, body = when_served(runs, look, trouble=heard.append)
    assert (status, body) == (500, b"This could not be made.\n")
    assert headers.items() >= SAFE.items()
    assert heard == ["a request could not be answered (RuntimeError)."]


def test_when_it_ends_nobody_listens() -> None:
    async def look(server: Serving, session: Session) -> str:
        return server.url

    port = urlsplit(when_served([browsable(ROWS)], look)).port

    async def knock() -> None:
        await asyncio.open_connection("127.0.0.1", port)

    with pytest.raises(OSError):
        asyncio.run(knock())
