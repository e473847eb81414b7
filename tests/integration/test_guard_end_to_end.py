"""A credentialed set goes to no public host, by whatever way it is asked for.

No test here sends anything beyond loopback: a name is resolved by the test, and a connection that
the guard lets through to a public address is recorded and led to a server of the test's own.
"""

from __future__ import annotations

import asyncio
import os
import shutil
import socket
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from integration.commands import overread
from overread.runs import Run, Unfinished, phantom_cases, run
from support.datasets import write_csv
from support.echo_trees import Heart, write_clips, write_echonet
from support.m3_trees import Item, write_image, write_m3cot
from support.medcmr_sets import item, mcq, write_lines, write_parquet, write_release, write_slake
from support.served import Served, served

PUBLIC = "8.8.8.8"
NAME = "models.example.org"


@pytest.fixture(scope="module")
def credentialed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The case file of a set that declares nothing about itself."""
    folder = tmp_path_factory.mktemp("set") / "films"
    made = phantom_cases("grounding", "phantom:48")
    shutil.copytree(made.parent, folder, ignore=shutil.ignore_patterns("dataset.toml"))
    return folder / made.name


@pytest.fixture
def command(credentialed: Path, tmp_path: Path) -> Callable[[str], list[object]]:
    """`overread run` over the set, with one reader."""

    def words(reader: str) -> list[object]:
        first = ["run", "grounding", "--cases", credentialed, "--limit", 8, "--reader", reader]
        return [*first, "--store", tmp_path / "store.sqlite", "--out", tmp_path / "run"]

    return words


@pytest.fixture
def connected(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, int]]:
    """Every address a socket was to be connected to. `NAME` resolves to a public one."""
    tried: list[tuple[str, int]] = []

    class Loop(asyncio.SelectorEventLoop):
        async def getaddrinfo(self, host: Any, port: Any, **_: Any) -> list[Any]:
            return [(socket.AF_INET, socket.SOCK_STREAM, 0, "", (PUBLIC, port))]

        async def sock_connect(self, sock: socket.socket, address: Any) -> None:
            tried.append(address)
            await super().sock_connect(sock, ("127.0.0.1", address[1]))

    monkeypatch.setattr("overread.runs._asking._fast_loop", lambda: Loop)
    return tried


@pytest.fixture
def ask(credentialed: Path, tmp_path: Path) -> Callable[[str], Run]:
    """The same run in this process, whose resolver and sockets the test holds."""

    def go(reader: str) -> Run:
        folders = {"out": tmp_path / "run", "store": tmp_path / "store.sqlite"}
        return run("grounding", credentialed, [reader], limit=8, **folders)

    return go


def share_with(monkeypatch: pytest.MonkeyPatch, folder: Path, *hosts: str) -> None:
    config = folder / "config.toml"
    config.write_text(f"share_with = {list(hosts)}\n")
    monkeypatch.setenv("OVERREAD_CONFIG", str(config))


def one_line(said: str) -> str:
    """The line a refused command ends with; progress may stand before it, a traceback never."""
    assert "Traceback" not in said
    line = said.splitlines()[-1]
    assert line.startswith("overread: ")
    return line


@pytest.mark.slow
def test_a_server_on_loopback_is_asked(
    command: Callable[[str], list[object]], tmp_path: Path
) -> None:
    with served(tally=True) as server:
        done = overread(*command(f"openai:m@{server.base_url}"))
        assert done.returncode == 0, done.stderr
        assert server.stats()["answered"] > 0
    kept = (tmp_path / "run", *(tmp_path / "run").iterdir(), tmp_path / "store.sqlite")
    assert {path.stat().st_mode & 0o077 for path in kept} == {0}, "others may read it"


@pytest.mark.slow
@pytest.mark.parametrize("host", [PUBLIC, "[2001:4860:4860::8888]"])
def test_a_public_address_is_refused_in_one_line(
    command: Callable[[str], list[object]], tmp_path: Path, host: str
) -> None:
    done = overread(*command(f"openai:m@http://{host}:9/v1?timeout=5"))
    line = one_line(done.stderr)
    assert done.returncode == 3
    assert "data-use guard: the data set is credentialed" in line
    assert "Nothing was sent." in line
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize(
    "proxied",
    [f"http://127.0.0.1:9/v1?proxy=http://{PUBLIC}:9", f"http://{NAME}/v1?proxy=http://10.0.0.1:9"],
)
def test_a_proxy_counts_as_a_host(
    command: Callable[[str], list[object]], tmp_path: Path, proxied: str
) -> None:
    done = overread(*command(f"openai:m@{proxied}"))
    assert done.returncode == 2
    assert "goes through a proxy" in one_line(done.stderr)
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize("host", [NAME, PUBLIC])
def test_a_public_address_gets_no_connection_by_whatever_name(
    ask: Callable[[str], Run], connected: list[tuple[str, int]], host: str
) -> None:
    with (
        served(tally=True) as server,
        pytest.raises(Unfinished, match=rf"data-use guard: .*{host} \(address {PUBLIC}\)"),
    ):
        ask(f"openai:m@http://{host}:{server.port}/v1")
    assert connected == []


def test_a_host_its_user_named_is_asked(
    ask: Callable[[str], Run],
    connected: list[tuple[str, int]],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    share_with(monkeypatch, tmp_path, NAME)
    with served(tally=True) as server:
        done = ask(f"openai:m@http://{NAME}:{server.port}/v1")
        assert set(connected) == {(PUBLIC, server.port)}
        assert done.unanswered == 0
        assert server.stats()["pictures"].keys() == {"1"}


def test_naming_one_host_names_no_other(
    ask: Callable[[str], Run],
    connected: list[tuple[str, int]],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    share_with(monkeypatch, tmp_path, "example.org", f"other.{NAME}", "")
    with pytest.raises(Unfinished, match="data-use guard"):
        ask(f"openai:m@http://{NAME}:9/v1")
    assert connected == []


def test_an_open_set_goes_anywhere(connected: list[tuple[str, int]], tmp_path: Path) -> None:
    """The same name, address and server: it is the data set that is guarded."""
    with served(tally=True) as server:
        reader = f"openai:m@http://{NAME}:{server.port}/v1"
        folders = {"out": tmp_path / "run", "store": tmp_path / "store.sqlite"}
        run("grounding", "phantom:48", [reader], limit=8, **folders)
        assert set(connected) == {(PUBLIC, server.port)}


@pytest.mark.slow
def test_a_redirect_is_not_followed(
    command: Callable[[str], list[object]], redirecting: Served
) -> None:
    done = overread(*command(f"openai:m@{redirecting.base_url}"))
    assert done.returncode == 3
    assert "HTTP 307" in one_line(done.stderr)
    assert redirecting.stats()["redirected"] == 0


@pytest.fixture
def redirecting() -> Any:
    with served("hostile", trouble=("redirect",), permanent_share=1.0) as server:
        yield server


@pytest.mark.parametrize("name", ["overread.toml", "config.toml", ".config/overread/config.toml"])
def test_a_file_in_the_working_folder_grants_nothing(
    ask: Callable[[str], Run],
    connected: list[tuple[str, int]],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    credentialed: Path,
    name: str,
) -> None:
    """A downloaded set must not bring its own permission to be sent away."""
    for folder in (tmp_path, credentialed.parent):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(f'share_with = ["{NAME}", "{PUBLIC}"]\n')
    monkeypatch.chdir(tmp_path)
    with pytest.raises(Unfinished, match="data-use guard"):
        ask(f"openai:m@http://{NAME}:9/v1")
    assert connected == []


# ---------------------------------------------------------------- what stands behind a link


def _questions(folder: Path, name: str) -> Path:
    """A csv or JSON lines of one's own that both benchmarks of questions read."""
    write_image(folder / "images" / "a.png")
    row = {"question": "Is it?", "answer": "yes", "image": "images/a.png", "task": "Diagnosis"}
    row |= {"modality": "CT", "key_conclusion": "It is."}
    if name.endswith(".csv"):
        return write_csv(folder / name, list(row), [list(row.values())])
    return write_lines(folder / name, [row])


def _films(folder: Path) -> Path:
    made = phantom_cases("grounding", "phantom:48")
    shutil.copytree(made.parent, folder, ignore=shutil.ignore_patterns("dataset.toml"))
    return folder / made.name


# The benchmark; what makes a set in a folder; the file that its items stand in.
SETS: dict[str, tuple[str, Callable[[Path], object], str]] = {
    "grounding, csv": ("grounding", _films, "manifest.csv"),
    "heartbeat, csv": ("heartbeat", lambda at: write_clips(at, [Heart("a")]), "cases.csv"),
    "heartbeat, EchoNet": ("heartbeat", lambda at: write_echonet(at, [Heart("a")]), "FileList.csv"),
    "m3cot, xlsx": ("m3cot", lambda at: write_m3cot(at, [Item(1)]), "M3CoTBench.xlsx"),
    "m3cot, csv": ("m3cot", lambda at: _questions(at, "q.csv"), "q.csv"),
    "m3cot, jsonl": ("m3cot", lambda at: _questions(at, "q.jsonl"), "q.jsonl"),
    "medcmr, zip": ("medcmr", lambda at: write_release(at, [mcq(1)], [item(1)], zipped=True),
                    "dataset.zip"),
    "medcmr, csv": ("medcmr", lambda at: _questions(at, "q.csv"), "q.csv"),
    "medcmr, SLAKE": ("medcmr", write_slake, "test.json"),
    "medcmr, parquet": ("medcmr", lambda at: write_parquet(at / "test.parquet", [("Is it?", "a")]),
                        "test.parquet"),
}  # fmt: skip
BESIDE = [name for name in SETS if name not in ("medcmr, zip", "medcmr, parquet")]


def _reached(
    kind: str, cases: Path, connected: list[tuple[str, int]], out: Path
) -> list[tuple[str, int]]:
    """The addresses that a run over these cases, with a reader at a public host, connected to."""
    with served(tally=True) as server, suppress(Unfinished):
        reader = f"openai:m@http://{NAME}:{server.port}/v1?attempts=1"
        folders = {"out": out / "run", "store": out / "store.sqlite"}
        run(SETS[kind][0], cases, [reader], limit=1, settings={"boot": "100"}, **folders)
    return connected


@pytest.mark.slow
@pytest.mark.parametrize("whole", [True, False])
@pytest.mark.parametrize("kind", SETS)
def test_a_link_in_an_open_folder_opens_nothing(
    connected: list[tuple[str, int]], tmp_path: Path, kind: str, whole: bool
) -> None:
    """The file of the items is a link out of the open folder; images may be in either."""
    _, make, items = SETS[kind]
    make(tmp_path / "closed")
    if kind in BESIDE:
        shutil.copytree(tmp_path / "closed", tmp_path / "open")
        (tmp_path / "open" / items).unlink()
    else:
        (tmp_path / "open").mkdir()
    (tmp_path / "open" / "dataset.toml").write_text('policy = "open"\n')
    os.symlink(tmp_path / "closed" / items, tmp_path / "open" / items)
    given = tmp_path / "open" if whole else tmp_path / "open" / items
    if kind == "heartbeat, EchoNet":
        given = tmp_path / "open"
    assert _reached(kind, given, connected, tmp_path) == []
    # Where both folders are open it is asked, or this would show nothing.
    (tmp_path / "closed" / "dataset.toml").write_text('policy = "open"\n')
    assert {host for host, _ in _reached(kind, given, connected, tmp_path / "second")} == {PUBLIC}


@pytest.mark.slow
@pytest.mark.parametrize("given", ["absolute", "relative"])
@pytest.mark.parametrize("kind", BESIDE)
def test_a_folder_of_images_may_be_closed_within_an_open_set(
    connected: list[tuple[str, int]],
    tmp_path: Path,
    kind: str,
    given: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    cases = tmp_path / "set" if given == "absolute" else Path("set")
    SETS[kind][1](tmp_path / "set")
    (tmp_path / "set" / "dataset.toml").write_text('policy = "open"\n')
    pictures = (".png", ".jpg", ".avi")
    (folder,) = {
        path.parent for path in (tmp_path / "set").rglob("*") if path.suffix in pictures
    }  # fmt: skip
    assert folder != tmp_path / "set"
    (folder / "dataset.toml").write_text('policy = "credentialed"\n')
    assert _reached(kind, cases, connected, tmp_path) == []
