"""A run under way: its note, what another process makes of it, and the page it serves."""

from __future__ import annotations

import asyncio
import json
import os
import time
from pathlib import Path

import aiohttp
import msgspec
import pytest

import overread as ov
from overread.door import bound
from overread.report.live import Asked, Live, SoFar, live_html, watching
from overread.runs._live import Note, Onlooker, _Desk, note_of, read_note
from support.page import seen_in

RECIPE = {"benchmark": "grounding", "cases": "phantom:24", "edition": "corrected", "settings": {},
          "limit": None, "only": None, "policy": "open"}  # fmt: skip


def note(**more: object) -> Note:
    now = time.time()
    told = {"process": os.getpid(), "began": now - 10, "written": now, "store": "s.sqlite",
            "readers": [], "asked": []}  # fmt: skip
    return Note(**(RECIPE | told | more))  # type: ignore[arg-type]


@pytest.fixture
def seen(tmp_path: Path, phantom_cache: Path) -> list[Note]:
    """What the note of a small run said when it began and while it was measured."""
    found: list[Note] = []

    def live(folder: Path) -> None:
        assert note_of(folder).stat().st_mode & 0o777 == 0o600
        found.append(msgspec.json.decode(note_of(folder).read_bytes(), type=Note))

    ov.run("grounding", "phantom:24", ["control:looks"], out=tmp_path / "run",
           store=tmp_path / "s.sqlite", settings={"boot": "100"}, live=live)  # fmt: skip
    return found


@pytest.mark.slow
def test_a_run_leaves_a_note_while_it_goes_and_none_after(tmp_path: Path, seen: list[Note]) -> None:
    (first,) = seen
    assert (first.benchmark, first.cases, first.process) == ("grounding", "phantom:24", os.getpid())
    assert [one.name for one in first.readers] == ["control:looks"]
    assert [path.name for path in tmp_path.iterdir() if path.name.startswith(".run")] == []


@pytest.mark.slow
def test_another_process_finds_the_numbers_of_the_run_in_its_store(
    tmp_path: Path, seen: list[Note]
) -> None:
    (first,) = seen
    found = Onlooker(first).measured()
    assert found.cases == 24
    table = next(iter(ov.load(tmp_path / "run").exhibits.values()))
    assert [str(cell) for cell in table.rows[0]] == list(found.rows[0])
    assert found.columns == table.columns
    assert {one.reader for one in found.last} == {"control:looks"}
    assert [one.at for one in found.last] == sorted((one.at for one in found.last), reverse=True)
    msgspec.json.encode(found)  # as the page gets it
    hidden = Onlooker(msgspec.structs.replace(first, policy="credentialed")).measured()
    assert (hidden.last, hidden.rows) == ([], found.rows)


def test_what_cannot_be_measured_is_said_and_stops_nobody() -> None:
    found = Onlooker(note(cases="/no/such/file.csv")).measured()
    assert found.rows == ()
    assert found.note.startswith("Numbers cannot be made yet: /no/such/file.csv")


def test_a_note_of_a_process_that_is_gone_is_none(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    for gone in (note(written=time.time() - 60), note(process=2**22 + 1)):
        note_of(folder).write_bytes(msgspec.json.encode(gone))
        assert read_note(folder) is None
    note_of(folder).write_bytes(b"{")
    assert read_note(folder) is None
    note_of(folder).write_bytes(msgspec.json.encode(note()))
    assert read_note(folder) is not None


def test_it_is_finished_if_the_folder_is_this_runs(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    counts = {"name": "m", "total": 10, "answered": 4, "failed": 1, "cost": 0.5,
              "reasons": {"HTTP 400": 1}}  # fmt: skip
    note_of(folder).write_bytes(msgspec.json.encode(note(asked=[counts])))
    going = _Desk(folder, note(asked=[counts]))
    told = going.state()
    assert (told.state, told.cost, told.rate) == ("asking", 0.5, pytest.approx(0.5, abs=0.01))
    assert told.left == pytest.approx(10, abs=0.5)
    assert going.report() is None
    note_of(folder).unlink()
    assert going.state().state == "ended"
    folder.mkdir()
    (folder / "report.html").write_text("<title>Overread: x</title>")
    os.utime(folder / "report.html", (1, 1))  # of an earlier run
    assert _Desk(folder, note()).state().state == "ended"
    os.utime(folder / "report.html")
    done = _Desk(folder, note())
    assert done.state().state == "finished"
    assert done.report() == b"<title>Overread: x</title>"


def test_the_page_is_served_behind_the_same_door() -> None:
    live = Live(title="t", state="asking", seconds=1.0, asked=[Asked(name="<b>", total=3)])
    delivered: list[bool] = []

    async def look() -> None:
        at = bound("127.0.0.1", 0)
        pages = iter([None, b"<title>done</title>"])
        async with watching(
            "t", lambda: live, lambda: next(pages), at, delivered=lambda: delivered.append(True)
        ) as server:
            home = server.url.partition("/?")[0]
            jar = aiohttp.CookieJar(unsafe=True)
            async with aiohttp.ClientSession(cookie_jar=jar) as session:

                async def status(path: str, **more: object) -> int:
                    async with session.get(home + path, **more) as answer:  # type: ignore[arg-type]
                        return answer.status

                assert await status("/state") == 403
                assert await status("/", headers={"Host": "elsewhere.example"}) == 421
                assert await status(server.url.removeprefix(home)) == 200
                assert await status("/state", headers={"Sec-Fetch-Site": "cross-site"}) == 403
                assert await status("/report") == 404
                assert delivered == []
                assert await status("/report") == 200
                assert delivered == [True]
                assert await status("/../run.toml") == 404
                async with session.get(f"{home}/state") as answer:
                    told = json.loads(await answer.read())
                    assert told["asked"][0]["name"] == "<b>"
                    assert "sandbox" in answer.headers["Content-Security-Policy"]

    asyncio.run(look())


def test_a_name_is_text_on_the_page() -> None:
    page = live_html("</title><script>alert(1)</script>")
    assert [tag for tag, _ in seen_in(page).tags].count("script") == 2
    assert SoFar().rows == ()


def test_a_study_is_watched_run_by_run(overread: object, tmp_path: Path) -> None:
    done = overread("run", tmp_path / "s.toml", "--watch")  # type: ignore[operator]
    assert done.code == 2
    assert "--watch does not go with a study file" in done.err
