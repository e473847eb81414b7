"""The page that people read on, asked over HTTP: who gets what, and what is kept of what they say."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

import aiohttp
import pytest
from PIL import Image

from overread import runs
from overread.door import bound
from overread.study import Journal, Rater, open_key, open_study
from overread.study.app import Links, serving_study
from support.studies import SECRETS, design, made

JSON = {"Content-Type": "application/json"}


@pytest.fixture
def study(tmp_path):
    who = [Rater(name=name, years=31, speciality="neuroradiology") for name in ("anna", "ben")]
    return made(tmp_path / "study", design(welcome="Good morning <b>", reader=who))


def when_served(study, act: Callable[[Links, str], Awaitable[None]], clock=None) -> None:
    async def whole() -> None:
        at = bound("127.0.0.1", 0)
        journal = Journal(study.folder, **({"clock": clock} if clock else {}))
        async with serving_study(study, at, journal=journal) as links:
            await act(links, at.address.origin)

    asyncio.run(whole())


def client(**options) -> aiohttp.ClientSession:
    return aiohttp.ClientSession(cookie_jar=aiohttp.CookieJar(unsafe=True), **options)


async def let_in(session, link):
    async with session.get(link) as reply:
        assert reply.status == 200, await reply.text()


async def put(session, origin, display, values, **more):
    async with session.put(f"{origin}/display/{display}", json={"values": values, **more}) as reply:
        return reply.status, await reply.text()


async def state_of(session, origin):
    async with session.get(f"{origin}/state") as reply:
        return await reply.json()


def test_nothing_a_reader_receives_says_what_he_is_shown(study):
    key = open_key(study.folder, "test")
    cases = {one.case for one in key.values()}

    async def act(links, origin):
        async with client() as session:
            await let_in(session, links.readers["anna"])
            heard = []
            for path in ("/read", "/state", "/read.js", "/viewer.js"):
                async with session.get(origin + path) as reply:
                    heard += [await reply.text(), str(reply.url), str(dict(reply.headers))]
            for display in (await state_of(session, origin))["order"]:
                async with session.get(f"{origin}/display/{display}") as reply:
                    shown = await reply.json()
                    heard += [str(shown), str(dict(reply.headers))]
                async with session.get(origin + shown["pictures"][0]["src"]) as reply:
                    data = await reply.read()
                    heard += [str(dict(reply.headers)), data.decode("latin-1")]
                    # Pixels and nothing else: no text, no time, no profile.
                    assert not [
                        c for c in (b"tEXt", b"iTXt", b"zTXt", b"eXIf", b"tIME") if c in data
                    ]
            for secret in (*cases, *SECRETS, "neuroradiology"):
                assert not [text for text in heard if secret in text], secret

    when_served(study, act)


def test_a_link_opens_nothing_of_another_reader(study):
    theirs = {t.display for t in study.schedule if t.reader == "ben"}
    own = {t.display for t in study.schedule if t.reader == "anna"}

    async def act(links, origin):
        async with client() as anna, client() as ben:
            await let_in(anna, links.readers["anna"])
            await let_in(ben, links.readers["ben"])
            first = (await state_of(anna, origin))["order"][0]
            assert (await put(anna, origin, first, {"answer": "yes"}))[0] == 200
            async with ben.get(f"{origin}/display/{first}") as reply:
                assert "yes" not in str((await reply.json())["values"])
            for display in list(theirs - own)[:3]:
                async with anna.get(f"{origin}/display/{display}") as reply:
                    assert reply.status == 404
            async with anna.get(f"{origin}/organiser") as reply:
                assert reply.status == 404

    when_served(study, act)


def test_a_page_stays_its_reader_s_where_another_opens_his_link_in_the_same_browser(study):
    """Displays are the same for all: else anna's page would show ben's answers and add to them."""

    async def act(links, origin):
        async with client() as session:
            await let_in(session, links.readers["anna"])
            display = (await state_of(session, origin))["order"][0]
            await let_in(session, links.readers["ben"])
            assert (await put(session, origin, display, {"answer": "yes"}))[0] == 200
            session.headers["Overread-Reader"] = "anna"
            status, says = await put(session, origin, display, {"answer": "no"}, revision=1)
            assert (status, "Open your own again" in says) == (403, True)
            for path in ("/state", f"/display/{display}"):
                async with session.get(origin + path) as reply:
                    assert reply.status == 403

    when_served(study, act)
    journal = Journal(study.folder, read_only=True)
    assert [(one.reader, one.value) for one in journal.answers(every=True)] == [("ben", "yes")]


def test_a_link_may_be_clicked_on_a_page_of_mail(study):
    """A strict cookie is not sent where another site's page leads to, by way of a redirect too."""

    async def act(links, origin):
        link = links.readers["anna"]
        async with client() as session, session.get(link, allow_redirects=False) as reply:
            assert (reply.status, reply.headers["Location"]) == (303, "/read")
            assert "; HttpOnly; SameSite=Lax; Path=/" in reply.headers["Set-Cookie"]

    when_served(study, act)


def test_the_server_is_known_by_all_of_its_names(study):
    async def act(links, origin):
        named = origin.replace("127.0.0.1", "localhost")
        async with client() as session:
            await let_in(session, links.readers["anna"].replace(origin, named))
            (display, *_) = (await state_of(session, named))["order"]
            status, _ = await put(session, named, display, {"answer": "yes"})
            assert status == 200

    when_served(study, act)


def test_displays_of_another_session_are_as_if_they_were_not_there(study):
    later = [t for t in study.schedule if t.reader == "anna" and t.session == 2]

    async def act(links, origin):
        async with client() as session:
            await let_in(session, links.readers["anna"])
            for turn in later[:3]:
                status, _ = await put(session, origin, turn.display, {"answer": "yes"})
                assert status == 404
                name = study.displays[turn.display].pictures[0].file
                async with session.get(f"{origin}/picture/{name}") as reply:
                    assert reply.status == 404

    when_served(study, act)


def test_no_file_goes_out_through_a_link_among_the_pictures(study, tmp_path):
    (tmp_path / "private.png").write_bytes(b"private")

    async def act(links, origin):
        async with client() as session:
            await let_in(session, links.readers["anna"])
            display = (await state_of(session, origin))["order"][0]
            name = study.displays[display].pictures[0].file
            (study.folder / "pictures" / name).unlink()
            (study.folder / "pictures" / name).symlink_to(tmp_path / "private.png")
            async with session.get(f"{origin}/picture/{name}") as reply:
                assert (reply.status, "private" in await reply.text()) == (404, False)

    when_served(study, act)


@pytest.mark.parametrize(
    "path",
    [
        "/picture/../key/mapping.jsonl",
        "/picture/%2e%2e/key/links.json",
        "/display/../../study.toml",
        "/key/mapping.jsonl",
        "/answers.sqlite",
        "/state?reader=ben",
    ],
)
def test_what_is_not_his_is_not_served(study, path):
    async def act(links, origin):
        import yarl

        async with client() as session:
            await let_in(session, links.readers["anna"])
            async with session.get(yarl.URL(origin + path, encoded=True)) as reply:
                assert reply.status in (400, 404)

    when_served(study, act)


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"Origin": "http://evil.example"}, 403),
        ({"Origin": "null"}, 403),
        ({"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "no-cors"}, 403),
        ({"Sec-Fetch-Site": "same-site", "Sec-Fetch-Mode": "cors"}, 403),
        ({"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate"}, 200),
        ({"Sec-Fetch-Site": "same-origin", "Sec-Fetch-Mode": "cors"}, 200),
        ({"Host": "evil.example"}, 421),
    ],
)
def test_another_site_s_page_reads_nothing_and_may_lead_here(study, headers, status):
    async def act(links, origin):
        async with client() as session:
            await let_in(session, links.readers["anna"])
            picture = study.displays[(await state_of(session, origin))["order"][0]].pictures[0]
            for path in ("/read", "/state", f"/picture/{picture.file}"):
                async with session.get(origin + path, headers=headers) as reply:
                    assert reply.status == status
        async with client() as session:
            link = links.readers["anna"]
            async with session.get(link, headers=headers, allow_redirects=False) as reply:
                assert reply.status == (303 if status == 200 else status)

    when_served(study, act)


@pytest.mark.parametrize("path", ["/read", "/state", "/read.js", "/picture/0123456789abcdef.png"])
def test_nothing_but_a_display_is_written(study, path):
    async def act(links, origin):
        async with client() as session:
            await let_in(session, links.readers["anna"])
            async with session.put(origin + path, data="{}", headers=JSON) as reply:
                assert (reply.status, reply.headers["Allow"]) == (405, "GET, HEAD")

    when_served(study, act)


def test_without_a_link_nothing_is_served(study):
    async def act(links, origin):
        async with client() as session:
            for path in ("/read", "/state", "/organiser", "/r/", "/r/guess"):
                async with session.get(origin + path) as reply:
                    assert reply.status == 403
        async with (
            client(cookies={"overread-study-1": "anna.00"}) as session,
            session.get(f"{origin}/state") as reply,
        ):
            assert reply.status == 403

    when_served(study, act)


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({**JSON, "Origin": "http://evil.example"}, 403),
        ({**JSON, "Sec-Fetch-Site": "cross-site"}, 403),
        ({**JSON, "Sec-Fetch-Site": "same-site"}, 403),
        ({"Content-Type": "text/plain"}, 415),
        ({**JSON, "Host": "evil.example"}, 421),
    ],
)
def test_only_the_page_itself_may_write(study, headers, status):
    async def act(links, origin):
        async with client() as session:
            await let_in(session, links.readers["anna"])
            display = (await state_of(session, origin))["order"][0]
            async with session.put(
                f"{origin}/display/{display}", data='{"values": {"answer": "yes"}}', headers=headers
            ) as reply:
                assert reply.status == status

    when_served(study, act)


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"[]",
        b'{"values": {"answer": "maybe"}}',
        b'{"values": {"truth": "yes"}}',
        b'{"values": {"answer": 1}}',
        b'{"values": {"note": "a\\u0000b"}}',
        b'{"values": {"note": "\\ud800"}}',
        b'{"values": {"answer": "yes"}, "reader": "ben"}',
        b"[" * 100_000,
    ],
)
def test_odd_answers_are_refused_and_nothing_is_kept(study, body):
    async def act(links, origin):
        async with client() as session:
            await let_in(session, links.readers["anna"])
            display = (await state_of(session, origin))["order"][0]
            async with session.put(f"{origin}/display/{display}", data=body, headers=JSON) as reply:
                assert reply.status == 400
                assert "\n" not in (await reply.text()).rstrip("\n")
            assert (await state_of(session, origin))["done"] == []

    when_served(study, act)


def test_an_answer_sent_many_times_at_once_is_kept_once(study):
    async def act(links, origin):
        async with client() as session:
            await let_in(session, links.readers["anna"])
            display = (await state_of(session, origin))["order"][0]
            said = await asyncio.gather(
                *(put(session, origin, display, {"answer": "yes"}, revision=0) for _ in range(20))
            )
            assert {status for status, _ in said} == {200}
            assert (await put(session, origin, display, {"answer": "no"}, revision=0))[0] == 409
            assert (await put(session, origin, display, {"answer": "no"}, revision=1))[0] == 200

    when_served(study, act)
    journal = Journal(study.folder, read_only=True)
    assert [one.value for one in journal.answers(every=True)] == ["yes", "no"]


def test_the_last_answer_of_a_session_may_be_sent_again(study):
    """Its first sending may have been committed and never acknowledged."""

    async def act(links, origin):
        async with client() as session:
            await let_in(session, links.readers["anna"])
            for _ in range(2):  # practice, then the first session
                for display in (await state_of(session, origin))["order"]:
                    await put(session, origin, display, {"answer": "yes", "sure": ""})
            again = await put(session, origin, display, {"answer": "yes", "sure": ""}, revision=0)
            assert again == (200, '{"revision":1}')
            for values, revision in (
                ({"answer": "no"}, 0),
                ({"answer": "yes"}, 1),
                ({"answer": "yes", "note": "more"}, 0),
                ({}, 0),
            ):
                assert (await put(session, origin, display, values, revision=revision))[0] == 404

    when_served(study, act)
    journal = Journal(study.folder, read_only=True)
    assert {one.value for one in journal.answers(every=True)} == {"yes"}


def test_a_session_that_waits_shows_when_it_opens_and_nothing_else(study):
    now = [1_000_000.0]

    async def act(links, origin):
        async with client() as session:
            await let_in(session, links.readers["anna"])
            for _ in range(2):  # practice, then the first session
                for display in (await state_of(session, origin))["order"]:
                    await put(session, origin, display, {"answer": "yes"})
            state = await state_of(session, origin)
            assert (state["session"], state["order"]) == (2, [])
            assert state["waits"].startswith("1970-02-09")
            now[0] += 28 * 86_400
            assert (await state_of(session, origin))["order"]

    when_served(study, act, lambda: now[0])


def test_the_organiser_sees_how_far_readers_are_and_no_answer(study):
    async def act(links, origin):
        async with client() as session:
            await let_in(session, links.readers["anna"])
            display = (await state_of(session, origin))["order"][0]
            await put(session, origin, display, {"answer": "cannot tell", "note": "a word"})
        async with client() as session:
            async with session.get(links.organiser) as reply:
                page = await reply.text()
            assert "1 of" in page
            assert "cannot tell" not in page
            assert display not in page
            async with session.get(f"{origin}/state") as reply:
                assert reply.status == 404

    when_served(study, act)


def test_pages_name_no_script_but_their_own(study):
    async def act(links, origin):
        async with client() as session, session.get(links.readers["anna"]) as reply:
            rules = reply.headers["Content-Security-Policy"]
            assert "default-src 'none'" in rules
            assert "unsafe" not in rules
            assert "<script>" not in await reply.text()

    when_served(study, act)


def test_what_another_answer_makes_no_question_is_taken_back(tmp_path):
    """Reasons for a drop do not stay behind when it is kept after all."""
    from overread.study.candidates import Candidate

    Image.new("L", (8, 8)).save(tmp_path / "a.png")
    one = Candidate(
        id="secret", pictures=("a.png",), question="What?", options=("a", "b"), answer="a"
    )
    runs.study_of_candidates(tmp_path / "s", [one], "review", ["anna"], root=tmp_path)
    study = open_study(tmp_path / "s")
    (display,) = study.displays

    async def act(links, origin):
        async with client() as session:
            await let_in(session, links.readers["anna"])
            assert (await state_of(session, origin))["done"] == []
            await put(session, origin, display, {"decision": "fix"})
            assert (await state_of(session, origin))["done"] == []
            fixed = {"reasons": "other", "question_text": "Which?"}
            await put(session, origin, display, fixed, revision=1)
            assert (await state_of(session, origin))["session"] is None

    when_served(study, act)
    journal = Journal(study.folder)
    journal.put("anna", display, {"decision": ""})  # as if the session were still open
    journal.close()

    async def again(links, origin):
        async with client() as session:
            await let_in(session, links.readers["anna"])
            assert (await put(session, origin, display, {"decision": "keep"}, revision=3))[0] == 200

    when_served(study, again)
    journal = Journal(study.folder, read_only=True)
    given = {one.question: one.value for one in journal.answers()}
    assert given == {"decision": "keep", "reasons": "", "question_text": ""}
