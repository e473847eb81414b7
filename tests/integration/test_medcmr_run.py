"""Med-CMR at its full size, from the archive it comes in: planned, asked and judged over HTTP.

20,654 items are planned from the archive's index; a stated part of them is asked, and killed in the
midst. That all of them run at the engine's rate with flat memory is what `python -m bench medcmr`
shows. One loopback server plays the reader and the judge.
"""

from __future__ import annotations

import json
import re
import shutil
import signal
import sqlite3
import time
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path

import polars as pl
import pytest

from integration.commands import overread, starting
from overread.case import BadInput
from overread.imaging import archive
from overread.runs import Forecast, plan
from support.served import ROOT, Served, served
from support.warm import Forked

pytestmark = pytest.mark.slow

MCQ, OPEN = 16_655, 3_999
ITEMS = MCQ + OPEN
# Of all of them so many are asked: a seeded sample, every kind and dimension in proportion.
LIMIT = 1_000
# Multiple-choice items that are planned as open ones too.
REFORMULATED = 2_000
CHECKS = 4
# Each is put to the judge with the replies of two controls.
CONTROLS = 2


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The archive in the layout of the release, with as many items."""
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(ROOT))
        from bench.items import write_release

        return write_release(tmp_path_factory.mktemp("release"))


@pytest.fixture(scope="module")
def hollow(whole: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same archive with the same index, and nothing but zeros where its images were."""
    folder = tmp_path_factory.mktemp("hollow")
    shutil.copy(whole.parent / "dataset.toml", folder)
    data = bytearray(whole.read_bytes())
    with zipfile.ZipFile(whole) as opened:
        images = [one for one in opened.infolist() if one.filename.startswith("dataset/imgs/")]
    for one in images:
        at = one.header_offset
        name, extra = (int.from_bytes(data[at + k : at + k + 2], "little") for k in (26, 28))
        start = at + 30 + name + extra
        data[start : start + one.compress_size] = bytes(one.compress_size)
    path = folder / "dataset.zip"
    path.write_bytes(data)
    assert len(images) == ITEMS
    return path


# ---------------------------------------------------------------- planned


@pytest.fixture(scope="module")
def forecasts(
    hollow: Path, tmp_path_factory: pytest.TempPathFactory
) -> tuple[list[Forecast], list[str]]:
    """What a plan says of an archive from which no image can be read."""
    store = tmp_path_factory.mktemp("none") / "store.sqlite"
    said: list[str] = []
    found = plan(
        "medcmr",
        hollow,
        ["openai:reader@http://127.0.0.1:1/v1"],
        judges=["openai:judge@http://127.0.0.1:1/v1?price_in=2.5&price_out=10"],
        store=store,
        settings={"reformulate": str(REFORMULATED)},
        tell=said.append,
    )
    assert not store.exists()
    return found, said


def test_an_image_of_the_hollow_archive_cannot_be_read(hollow: Path, whole: Path) -> None:
    """So that a plan which reads any would say that it is missing."""
    name = "dataset/imgs/000007.png"
    with zipfile.ZipFile(whole) as opened:
        assert archive(whole).read(name) == opened.read(name)
    with pytest.raises(BadInput, match=r"000007\.png"):
        archive(hollow).read(name)


def test_everything_is_planned_from_the_index_of_the_archive(
    forecasts: tuple[list[Forecast], list[str]],
) -> None:
    (reader, judge), said = forecasts
    trials = ITEMS + REFORMULATED
    assert (reader.trials, reader.answered, reader.missing) == (trials, 0, 0)
    # Every image is known by its digest, though none was read.
    assert reader.undigested == 0
    assert reader.calls == trials
    assert reader.pictures == ITEMS
    assert judge.judges
    checked = 20 * CONTROLS
    assert judge.calls == OPEN + REFORMULATED + checked
    assert judge.cost == pytest.approx((2.5 * judge.tokens_in + 10 * judge.tokens_out) / 1e6)
    assert any("3,999" in line and "3,998" in line for line in said)


# ---------------------------------------------------------------- asked


@pytest.fixture(scope="module")
def log(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("log") / "answered.log"


@pytest.fixture(scope="module")
def server(log: Path) -> Iterator[Served]:
    with served(control="chat_server.letters:draws", log=log) as running:
        yield running


def recipe(cases: Path, server: Served, folder: Path, limit: int) -> list[object]:
    reader, judge = (f"openai:{name}@{server.base_url}" for name in ("reader", "judge"))
    asked = ["run", "medcmr", "--cases", cases, "--reader", reader, "--judge", judge]
    # Few resamples: what is shown here is who is asked what.
    settings = ["--set", "boot=100", "--set", f"checks={CHECKS}", "--limit", limit]
    return [*asked, *settings, "--store", folder / "store.sqlite", "--out", folder / "run"]


@pytest.fixture(scope="module")
def calm(whole: Path, server: Served, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run that nobody interrupts."""
    folder = tmp_path_factory.mktemp("calm")
    began = time.monotonic()
    done = overread(*recipe(whole, server, folder, LIMIT))
    print(f"{time.monotonic() - began:.1f} s\n{done.stdout}")
    assert done.returncode == 0, done.stderr
    return folder / "run"


def test_every_item_is_asked_once_and_every_open_reply_judged_once(
    calm: Path, server: Served
) -> None:
    cases = pl.read_parquet(calm / "cases.parquet")
    answers = pl.read_parquet(calm / "answers.parquet")
    assert cases.height == answers.height == LIMIT
    # In proportion, to the item.
    opened = answers.filter(form="open").height
    assert abs(opened - LIMIT * OPEN / ITEMS) <= 7
    assert cases["dimension"].n_unique() == 7
    assert set(answers["outcome"]) == {"answered"}
    verdicts = pl.read_parquet(calm / "verdicts.parquet")
    assert set(verdicts["outcome"]) == {"judged"}
    assert set(verdicts["attempts"]) == {1}
    assert verdicts["check"].sum() == CHECKS * CONTROLS
    assert verdicts.height == opened + CHECKS * CONTROLS
    assert set(verdicts.filter(~pl.col("check"))["case"]) == set(
        answers.filter(form="open")["case"]
    )
    stats = server.stats()
    assert set(stats["histogram"]) == {"1"}, "a body was asked twice"
    assert stats["pictures"] == {"1": LIMIT, "0": verdicts.height}


def test_its_numbers_are_of_a_reader_that_draws_lots(calm: Path) -> None:
    found = json.loads((calm / "measures.json").read_text())["measures"]
    whole = {m["measure"]: m for m in found if m["reader"] == "reader" and not m["by"]}
    assert 0.15 < whole["accuracy"]["value"] < 0.25
    assert whole["accuracy"]["n"] + whole["score"]["n"] == LIMIT
    assert 0 < whole["score"]["value"] < 0.5
    assert whole["accuracy_logprobs"]["n"] == whole["accuracy"]["n"]
    named = {m["by"]["dimension"] for m in found if m["measure"] == "accuracy" and "dimension" in m["by"]}  # fmt: skip
    assert named == {"SOD", "FDD", "SU", "TP", "CR", "LTG", "MSI"}


# ---------------------------------------------------------------- killed


def committed(store: Path) -> int:
    connection = sqlite3.connect(store)
    try:
        return int(connection.execute("SELECT count(*) FROM replies").fetchone()[0])
    finally:
        connection.close()


def kill_after(process: Forked, answered: Callable[[], int], many: int) -> None:
    """Kill it when the server has answered so many."""
    deadline = time.monotonic() + 120
    while answered() < many and process.poll() is None and time.monotonic() < deadline:
        time.sleep(0.002)
    assert process.poll() is None, "it ended before it was killed"
    process.send_signal(signal.SIGKILL)
    process.wait(10)
    assert process.returncode == -signal.SIGKILL


def test_killed_while_the_reader_is_asked_it_goes_on_where_it_was(
    whole: Path, server: Served, calm: Path, log: Path, tmp_path: Path
) -> None:
    calmly = set(server.bodies())
    log.write_text("")  # the server appends
    lost = _killed(recipe(whole, server, tmp_path, LIMIT), log, tmp_path, LIMIT // 2)
    bodies = log.read_text().split()
    assert len(bodies) - len(set(bodies)) == lost, "more was asked twice than a kill lost"
    assert set(bodies) == calmly, "it asked something else than the calm run"
    _alike(tmp_path / "run", calm)


def test_killed_while_the_judge_is_asked_it_goes_on_where_it_was(
    server: Served, log: Path, tmp_path: Path
) -> None:
    """Open items alone, so that judging is half of the work."""
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(ROOT))
        from bench.items import write_release

        small = write_release(tmp_path / "small", 5, 300)
    calm, folder = tmp_path / "calm", tmp_path / "killed"
    log.write_text("")
    done = overread(*recipe(small, server, calm, 305), "--set", "kinds=open")
    assert done.returncode == 0, done.stderr
    calmly = log.read_text().split()
    log.write_text("")
    folder.mkdir()
    command = [*recipe(small, server, folder, 305), "--set", "kinds=open"]
    lost = _killed(command, log, folder, 400)
    bodies = log.read_text().split()
    assert len(bodies) - len(set(bodies)) == lost, "more was asked twice than a kill lost"
    assert set(bodies) == set(calmly)
    _alike(folder / "run", calm / "run")


def _killed(command: list[object], log: Path, folder: Path, many: int) -> int:
    """Kill the command when so many are answered, and give it again; how many a kill lost."""

    def answered() -> int:
        return log.stat().st_size // 65  # a digest and a line's end

    with starting(*command) as process:
        kill_after(process, answered, many)
    time.sleep(0.2)  # the server may still be answering what nobody hears
    before = answered()
    lost = before - (committed(folder / "store.sqlite") - CHECKS * CONTROLS)
    assert 0 <= lost < before
    assert not (folder / "run").exists()
    resumed = overread(*command)
    assert resumed.returncode == 0, resumed.stderr
    return lost


_TIME = rb"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC"
# With its cell, which is another where the first and the last reply came in one second.
_CELL = rb'(?:<td(?: class="text")?>)?'
_WHEN = re.compile(_CELL + _TIME + rb"(?: to " + _TIME + rb")?|\b[0-9a-f]{64}\b")


def _alike(one: Path, other: Path) -> None:
    for name in ("measures.json", "report.html"):  # but for when the replies came
        first, second = (_WHEN.sub(b"WHEN", (run / name).read_bytes()) for run in (one, other))
        assert first == second, name
    for name in ("answers.parquet", "verdicts.parquet", "cases.parquet"):
        first, second = (_plain(folder / name) for folder in (one, other))
        assert first.equals(second), name


def _plain(path: Path) -> pl.DataFrame:
    """A table without what the clock decides."""
    table = pl.read_parquet(path)
    return table.drop("seconds") if "seconds" in table.columns else table
