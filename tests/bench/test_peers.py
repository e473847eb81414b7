"""Other tools are compared only where they have done the work; why not is said."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import bench.peers
import pytest
from bench.peers import COMMANDS, timed, write_films

from support.served import served

ASKS = """
import sys, urllib.request
for _ in range(int(sys.argv[2])):
    urllib.request.urlopen(sys.argv[1] + "/chat/completions", b"{}").read()
"""


@pytest.fixture
def films(tmp_path: Path) -> Path:
    write_films(tmp_path / "films", 3)
    return tmp_path / "films"


def asking(times: int):
    return lambda films, base_url, place: [sys.executable, "-c", ASKS, base_url, str(times)]


def test_the_same_questions_are_written_for_every_tool(films: Path) -> None:
    rows = [json.loads(line) for line in (films / "films.jsonl").read_text().splitlines()]
    sheet = [line.split("\t") for line in (films / "films.tsv").read_text().splitlines()[1:]]
    cases = [line.split(",") for line in (films / "manifest.csv").read_text().splitlines()[1:]]
    assert len(rows) == len(sheet) == len(cases) == 3
    for row, told, case in zip(rows, sheet, cases, strict=True):
        assert told == [
            *(str(row["index"]), str(films / row["image"])),
            *(row["question"], row["answer"]),
        ]
        assert case[2] == row["image"]
        assert case[5] == str(int(row["answer"] == "Yes"))
    pictures = {(films / row["image"]).read_bytes() for row in rows}
    assert len(pictures) == 3


@pytest.mark.slow
def test_a_command_is_timed_only_if_it_asked_everything(films: Path, monkeypatch, tmp_path) -> None:
    with served("instant") as server:
        assert timed("overread", asking(3), films, 3, server)["seconds"] > 0
        fewer = timed("overread", asking(2), films, 3, server)
        assert fewer == {"not_run": "asked 2 of 3 questions"}
        broken = timed(
            "overread", lambda *_: [sys.executable, "-c", "exit('why')"], films, 3, server
        )
        assert broken == {"not_run": "exit code 1: why"}
        monkeypatch.setattr(bench.peers, "ROOT", tmp_path)
        missing = timed("inspect_ai", COMMANDS["inspect_ai"], films, 3, server)
        assert "not installed" in missing["not_run"]


@pytest.mark.slow
def test_our_own_command_asks_them_all(films: Path) -> None:
    with served("instant") as server:
        assert timed("overread", COMMANDS["overread"], films, 3, server)["seconds"] > 0
