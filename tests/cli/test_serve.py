"""`overread serve` as a user runs it: an address, a page behind it, and an end without noise."""

from __future__ import annotations

import http.client
import signal
import socket
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from urllib.parse import urlsplit

import pytest

import overread as ov
from support.commands import Overread
from support.warm import Forked, forked


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory, phantom_cache: Path) -> Path:
    folder = tmp_path_factory.mktemp("serve")
    return ov.run(
        "grounding",
        "phantom:16",
        ["control:looks"],
        out=folder / "run",
        store=folder / "store.sqlite",
        settings={"boot": "100"},
    ).folder


@contextmanager
def serving(run: Path, *words: str, files: int = 1024) -> Iterator[tuple[Forked, str]]:
    """The command as a process of its own that may open so many files; the address it prints."""
    code = (
        f"import resource; resource.setrlimit(resource.RLIMIT_NOFILE, ({files}, {files}))\n"
        "import sys; sys.stdout.reconfigure(line_buffering=True)\n"
        "from overread.cli import main; main()"
    )
    process = forked("serve", run, "--no-open", *words, code=code)
    try:
        yield process, process.stdout.readline().strip()
    finally:
        process.kill()
        process.communicate()


@pytest.mark.slow
def test_at_its_limit_of_open_files_it_refuses_quietly_and_goes_on(run: Path) -> None:
    with serving(run, files=64) as (process, url):
        place = urlsplit(url)
        assert place.port
        crowd = []
        for _ in range(150):
            with suppress(OSError):
                crowd.append(socket.create_connection(("127.0.0.1", place.port), timeout=0.2))
        assert len(crowd) > 64
        for one in crowd:
            one.close()
        asking = http.client.HTTPConnection("127.0.0.1", place.port, timeout=30)
        asking.request("GET", f"/?{place.query}")
        assert asking.getresponse().status == 303
        process.send_signal(signal.SIGTERM)
        out, err = process.communicate(timeout=20)
    assert (process.returncode, out) == (0, "")
    assert err.count("\n") <= 2
    assert "Traceback" not in err


@pytest.mark.slow
@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM])
def test_it_serves_until_it_is_told_to_stop(run: Path, how: signal.Signals) -> None:
    with serving(run) as (process, url):
        place = urlsplit(url)
        assert place.hostname == "127.0.0.1"
        assert place.port
        asking = http.client.HTTPConnection("127.0.0.1", place.port, timeout=20)
        asking.request("GET", f"/?{place.query}")
        answer = asking.getresponse()
        cookie = (answer.getheader("Set-Cookie") or "").partition(";")[0]
        assert (answer.status, answer.getheader("Location")) == (303, "/")
        answer.read()
        asking.request("GET", "/", headers={"Cookie": cookie})
        answer = asking.getresponse()
        assert answer.status == 200
        assert b"<title>Overread: " in answer.read()
        process.send_signal(how)  # with a connection still open
        out, err = process.communicate(timeout=20)
    assert (process.returncode, out, err) == (0, "", "overread: stopped.\n")


@pytest.mark.slow
def test_whoever_opens_it_to_others_is_warned(run: Path) -> None:
    with serving(run, "--host", "0.0.0.0") as (process, url):
        assert url.startswith("http://127.0.0.1:")
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=20)
    warning, stopped = err.splitlines()
    assert warning.startswith("overread: warning: ")
    assert stopped == "overread: stopped."


@pytest.mark.parametrize(
    ("words", "named"),
    [
        (["--port", "70000"], "--port 70000"),
        (["--host", ""], "--host"),
        (["--host", "no such host"], "no such host"),
        (["--port", "x"], "--port"),
    ],
)
def test_what_cannot_be_bound(
    overread: Overread, tmp_path: Path, words: list[str], named: str
) -> None:
    done = overread("serve", tmp_path, "--no-open", *words)
    assert done.code == 2
    assert named in done.complaint


def test_a_port_that_is_taken(overread: Overread, tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        done = overread("serve", tmp_path, "--no-open", "--port", taken.getsockname()[1])
    assert done.code == 2
    assert "in use" in done.complaint


def test_a_folder_that_is_no_run(overread: Overread, tmp_path: Path) -> None:
    done = overread("serve", tmp_path, "--no-open")
    assert done.code == 2
    assert "not a run folder" in done.complaint
