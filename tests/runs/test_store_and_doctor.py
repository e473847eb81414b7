"""What is kept, having it forgotten, and what the doctor says."""

from __future__ import annotations

import io
import json
import os
from pathlib import Path

import numpy as np
import pytest

from overread.runs import _doctor
from support.answering import raw_server, response
from support.clip_files import numbered, write
from support.commands import GOLDEN, Overread
from support.served import served

pytestmark = pytest.mark.usefixtures("no_pages")

RUN = ("run", "grounding", "--cases", "phantom:16", "--reader", "control:looks")


def doctor(overread: Overread, *words: object) -> tuple[int, dict[str, dict]]:
    done = overread("doctor", *words, "--json")
    assert done.err == ""
    return done.code, {finding["what"]: finding for finding in json.loads(done.out)}


def test_list_and_forget(overread: Overread) -> None:
    overread(*RUN, "--out", "run")
    (kept,) = json.loads(overread("store", "list", "--json").out)
    assert (kept["benchmark"], kept["policy"], kept["replies"]) == ("grounding", "open", 57)
    assert kept["dataset"] in overread("store", "list").out
    forgotten = overread("store", "forget", "phantom-chest", "--json")
    assert json.loads(forgotten.out) == {"datasets": [kept["dataset"]], "removed": 57}
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
        code, found = doctor(
            overread, "--reader", f"openai:overread-bench@{server.base_url}?label=m"
        )
        stats = server.stats()
    assert (code, found["reader m"]["state"]) == (0, "ok")
    assert found["reader m"]["detail"].endswith("answers (HTTP 200) and lists overread-bench")
    assert (stats["requests"], stats["authorized"]) == (0, 0)
    assert "hidden" not in json.dumps(found)


def test_a_model_that_is_not_listed_is_named_with_the_nearest(overread: Overread) -> None:
    """Some servers answer to any name, so it is a note."""
    with served("instant") as server:
        code, found = doctor(overread, "--reader", f"openai:overread-bnch@{server.base_url}")
    assert (code, found["reader overread-bnch"]["state"]) == (0, "note")
    said = "it does not list overread-bnch, but overread-bench; check the model's name"
    assert said in found["reader overread-bnch"]["detail"]


@pytest.mark.parametrize(
    ("status", "state", "says"),
    [(401, "ok", "with a key only"), (404, "note", "most base URLs end in /v1")],
)
def test_a_server_that_lists_no_models(
    overread: Overread, status: int, state: str, says: str
) -> None:
    with raw_server(lambda _, wire: wire.write(response(b"{}", status))) as url:
        code, found = doctor(overread, "--reader", f"openai:m@{url}")
    assert (code, found["reader m"]["state"]) == (0, state)
    assert says in found["reader m"]["detail"]


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


# ---------------------------------------------------------------- clips


def clips(folder: Path, **masks: bytes) -> str:
    """Five clips: one good, one not there, one cut, two whose beats are too short."""
    whole = numbered(40)
    files = {"good": whole, "cut": whole[: len(whole) // 2], "short": whole, "brief": whole}
    for name, data in files.items():
        write(folder, f"{name}.avi", data)
    for name, data in masks.items():
        write(folder, f"{name}.npz", data)
    listed = {
        "good": (10, 26),
        "gone": (10, 26),
        "cut": (10, 26),
        "short": (9, 13),
        "brief": (9, 15),
    }
    rows = [
        f"{name},{name}.avi,{ed},{es},40,{name + '.npz' if name in masks else ''}"
        for name, (ed, es) in listed.items()
    ]
    text = "\n".join(["case_id,clip,ed,es,frames,mask", *rows])
    (folder / "cases.csv").write_text(text)
    return str(folder)


def test_clips_are_opened_and_what_is_left_out_is_told_by_reason(
    overread: Overread, tmp_path: Path
) -> None:
    folder = clips(tmp_path / "set")
    done = overread("doctor", "--cases", folder)
    found, *told = [line for line in done.out.splitlines() if f"cases {folder}" in line]
    left = [line for line in told if line.startswith(f"note   cases {folder}, left out: ")]
    assert done.code == 0
    assert found.startswith(f"ok     cases {folder}: 3 cases of set@")  # two of them in T2 only
    assert found.endswith("for heartbeat")
    # The commonest reason first, with one clip that has it.
    assert "left out: 2, such as short: its phases are 4 frames apart" in left[0]
    assert any("1, such as gone: gone.avi: the file is not there" in line for line in left)
    assert any("1, such as cut: cut.avi: " in line for line in left)
    assert any(line.startswith(f"note   cases {folder}, asked: no clip has masks") for line in told)


def test_masks_that_cannot_be_laid_over_a_clip_are_wrong(
    overread: Overread, tmp_path: Path
) -> None:
    """Their header is right, their bits are damaged: only laying them over a frame tells."""
    masks = io.BytesIO()
    np.savez(masks, lv=np.full((40, 128), 85, np.uint8), shape=np.array([40, 32, 32]))
    damaged = masks.getvalue().replace(b"U" * 64, b"U" * 63 + b"V", 1)
    folder = clips(tmp_path / "set", good=damaged)
    code, found = doctor(overread, "--cases", folder)
    assert (code, found[f"cases {folder}"]["state"]) == (1, "wrong")
    assert "1 clips cannot be shown; the first: good.npz" in found[f"cases {folder}"]["detail"]


def test_a_benchmark_may_be_named_and_settings_given(overread: Overread, tmp_path: Path) -> None:
    folder = clips(tmp_path / "set")
    asked = ("--cases", folder, "--benchmark")
    code, found = doctor(overread, *asked, "grounding")
    assert (code, "manifest.csv" in found[f"cases {folder}"]["detail"]) == (1, True)
    done = overread("doctor", *asked, "heartbeat", "--set", "frames=12")
    assert done.code == 0
    assert "left out: 1, such as good: its phases are 16 frames apart" in done.out
    code, found = doctor(overread, *asked, "frob")
    assert (code, "the benchmarks are" in found[f"cases {folder}"]["detail"]) == (1, True)


def test_what_no_benchmark_takes_is_refused_by_each(overread: Overread, tmp_path: Path) -> None:
    code, found = doctor(overread, "--cases", tmp_path)
    detail = found[f"cases {tmp_path}"]["detail"]
    assert code == 1
    assert "grounding: " in detail
    assert "heartbeat: " in detail
    assert "--benchmark" in detail


def test_packages_and_extras(overread: Overread, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_doctor, "find_spec", lambda name: None if name == "nibabel" else name)
    code, found = doctor(overread)
    assert code == 0
    assert {"av", "vl-convert-python"} <= found.keys()
    assert (found["extra dicom"]["state"], found["extra nifti"]["state"]) == ("ok", "note")
    assert 'pip install "overread[nifti]"' in found["extra nifti"]["detail"]


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


@pytest.mark.slow
def test_the_workspace_is_its_owners_alone_though_phantoms_were_made_first(
    overread: Overread, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("OVERREAD_CACHE")
    before = os.umask(0)
    try:
        overread("plan", "grounding", "--cases", "phantom:16", "--reader", "control:looks")
        assert [path.name for path in Path(".overread").iterdir()] == ["phantoms"]
        assert Path(".overread").stat().st_mode & 0o777 == 0o700
        Path(".overread").chmod(0o755)  # as earlier versions made it
        overread("run", "grounding", "--cases", "phantom:16", "--reader", "control:looks")
    finally:
        os.umask(before)
    assert Path(".overread/store.sqlite").stat().st_mode & 0o777 == 0o600
    assert Path(".overread").stat().st_mode & 0o777 == 0o700
