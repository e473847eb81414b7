"""What is kept, having it forgotten, and what the doctor says."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from support.commands import GOLDEN, Overread
from support.served import served

RUN = ("run", "grounding", "--cases", "phantom:16", "--reader", "control:looks")


def doctor(overread: Overread, *words: object) -> tuple[int, dict[str, dict]]:
    done = overread("doctor", *words, "--json")
    assert done.err == ""
    return done.code, {finding["what"]: finding for finding in json.loads(done.out)}


def test_list_and_forget(overread: Overread) -> None:
    overread(*RUN, "--out", "run")
    (kept,) = json.loads(overread("store", "list", "--json").out)
    assert (kept["benchmark"], kept["policy"], kept["replies"]) == ("grounding", "open", 48)
    assert kept["dataset"] in overread("store", "list").out
    forgotten = overread("store", "forget", "phantom-chest", "--json")
    assert json.loads(forgotten.out) == {"datasets": [kept["dataset"]], "removed": 48}
    assert json.loads(overread("store", "list", "--json").out) == []
    assert overread("measure", "run").code == 0  # a run folder stands by itself


def test_what_is_forgotten_is_gone_from_the_file(overread: Overread) -> None:
    Path("r.jsonl").write_text('{"request": "a", "text": "x"}\n')
    with served(control="looks") as server:
        reader = f"openai:m@{server.base_url}?identity=FindMeInTheFile"
        overread("run", "grounding", "--cases", "phantom:16", "--reader", reader, "--out", "run")
    store = Path(".overread/store.sqlite")
    size = store.stat().st_size
    assert overread("store", "forget", "phantom-chest").code == 0
    assert store.stat().st_size < size
    assert b"phantom-chest" not in store.read_bytes()


def test_a_healthy_place(overread: Overread) -> None:
    code, found = doctor(overread, "--cases", "phantom:16", "--reader", "control:looks")
    assert code == 0
    assert {f["state"] for f in found.values()} <= {"ok", "note"}
    assert "will be made" in found["store"]["detail"]
    assert "16 cases" in found["cases phantom:16"]["detail"]
    assert not Path(".overread").exists()


def test_a_server_is_asked_for_its_models_only(
    overread: Overread, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "hidden")
    with served("instant", tally=True) as server:
        code, found = doctor(overread, "--reader", f"openai:m@{server.base_url}")
        stats = server.stats()
    assert (code, found["reader m"]["state"]) == (0, "ok")
    assert (stats["requests"], stats["authorized"]) == (0, 0)
    assert "hidden" not in json.dumps(found)


@pytest.mark.parametrize(
    ("words", "what", "detail"),
    [
        (("--reader", "openai:m@http://127.0.0.1:1/v1"), "reader m", "is the server up?"),
        (("--reader", "frob"), "reader", "expected one of"),
        (("--cases", "nope.csv"), "cases nope.csv", "no such file"),
        (("--cases", str(GOLDEN / "mimic")), f"cases {GOLDEN / 'mimic'}", "root="),
        (("--store", "."), "store", "a folder stands there"),
    ],
)
def test_what_is_wrong_is_said_with_what_to_do(
    overread: Overread, words: tuple[str, ...], what: str, detail: str
) -> None:
    code, found = doctor(overread, *words)
    assert (code, found[what]["state"]) == (1, "wrong")
    assert detail in found[what]["detail"]


def test_a_damaged_store_is_a_finding(overread: Overread) -> None:
    overread(*RUN, "--out", "run")
    store = Path(".overread/store.sqlite")
    damaged = bytearray(store.read_bytes())
    damaged[6000:26000] = b"\xff" * 20000
    store.write_bytes(damaged)
    code, found = doctor(overread)
    assert (code, found["store"]["state"]) == (1, "wrong")


def test_a_wrong_configuration_is_a_finding(
    overread: Overread, monkeypatch: pytest.MonkeyPatch
) -> None:
    Path("config.toml").write_text("share_with = 3")
    monkeypatch.setenv("OVERREAD_CONFIG", "config.toml")
    code, found = doctor(overread)
    assert (code, found["configuration"]["state"], found["store"]["state"]) == (1, "wrong", "wrong")


def test_a_proxy_in_the_environment_is_mentioned(
    overread: Overread, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HTTPS_PROXY", "http://proxy:3128")
    code, found = doctor(overread)
    assert (code, found["HTTPS_PROXY"]["state"]) == (0, "note")
