"""M3CoT at its full size: 1,079 items, two modes and every judgment, over HTTP, however interrupted.

One loopback server plays the reader and the judge: a control draws its replies from the set, and
what is framed is judged by the words it shares.
"""

from __future__ import annotations

import json
import re
import signal
import sqlite3
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import polars as pl
import pytest

from integration.commands import overread, starting
from overread.benchmarks.m3cot.controls import CONTROLS
from overread.runs import Forecast, plan
from support.m3_trees import Item, write_m3cot
from support.served import Served, served
from support.warm import Forked

pytestmark = pytest.mark.slow

# How many items each label has in the published file (M3COT 1).
LABELLED = {
    "Diagnosis": 453,
    "Recognition": 193,
    "Treatment": 135,
    "Localization": 81,
    "Cause": 72,
    "Modality": 40,
    "Function": 31,
    "Refering Recognition": 22,
    "Prediction": 18,
    "Grading": 13,
    "Counting": 9,
    "Image Quality": 7,
    "Symptom": 5,
}
ITEMS = 1079
CHECKS = 20
# What a judge is asked about an item: both answers; precision, recall and order of the reasoning.
JUDGED = 5
# What it is asked about a control's reply: its answer, precision, recall and order.
CHECKED = 4
ORGANS = ("liver", "spleen", "kidney")


def items() -> Iterator[Item]:
    """Questions of all four types, no two alike, over few different images."""
    labels = (label for label, n in LABELLED.items() for _ in range(n))
    for index, label in enumerate(labels, start=1):
        organ = ORGANS[index % 3]
        letter = "ABC"[index % 3]
        options = "\nA. Liver\nB. Spleen\nC. Kidney"
        asked, answer = (
            (f"Specimen {index}: which organ is shown? (Select one option){options}", letter),
            (f"Specimen {index}: which are shown? (Select all that apply){options}", letter),
            (f"True or false: specimen {index} shows a {organ}.", "True"),
            (f"Which organ is specimen {index}?", organ),
        )[index % 4]
        yield Item(
            index,
            question=asked,
            answer=answer,
            modality=("CT scan", "MRI", "Ultrasound")[index % 3],
            feature="a large brown organ with a smooth edge",
            key_conclusion=f"it is the {organ}",
            additional_analysis="blood tests would be next" if index % 4 == 0 else None,
            label=label,
            size=(8, 8),
        )


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = write_m3cot(tmp_path_factory.mktemp("m3cot"), list(items()))
    (root / "dataset.toml").write_text('policy = "open"\n')
    return root


@pytest.fixture(scope="module")
def log(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("log") / "answered.log"


@pytest.fixture(scope="module")
def server(tree: Path, log: Path) -> Iterator[Served]:
    environment = {"M3COT_CASES": str(tree)}
    control = "chat_server.judges:reasons"
    with served(control=control, log=log, env=environment) as running:
        yield running


def recipe(tree: Path, server: Served, folder: Path) -> list[object]:
    reader, judge = (f"openai:{name}@{server.base_url}" for name in ("reader", "judge"))
    asked = ["run", "m3cot", "--cases", tree, "--reader", reader, "--judge", judge]
    # Few resamples: what is shown here is who is asked what.
    kept = ["--set", "boot=200", "--store", folder / "store.sqlite", "--out", folder / "run"]
    return [*asked, *kept]


@pytest.fixture(scope="module")
def forecasts(
    tree: Path, server: Served, tmp_path_factory: pytest.TempPathFactory
) -> list[Forecast]:
    """What a plan says before anybody is asked."""
    before = server.stats()["requests"]
    store = tmp_path_factory.mktemp("none") / "store.sqlite"
    reader = f"openai:reader@{server.base_url}"
    judge = f"openai:judge@{server.base_url}?price_in=2.5&price_out=10"
    found = plan("m3cot", tree, [reader], judges=[judge], store=store)
    assert server.stats()["requests"] == before == 0
    assert not store.exists()
    return found


@pytest.fixture(scope="module")
def calm(
    tree: Path, server: Served, forecasts: list[Forecast], tmp_path_factory: pytest.TempPathFactory
) -> Path:
    """A run that nobody interrupts."""
    folder = tmp_path_factory.mktemp("calm")
    began = time.monotonic()
    done = overread(*recipe(tree, server, folder))
    print(f"{time.monotonic() - began:.1f} s\n{done.stdout}")
    assert done.returncode == 0, done.stderr
    return folder / "run"


def test_every_item_is_asked_in_both_modes_and_every_reply_judged_once(
    calm: Path, server: Served
) -> None:
    answers = pl.read_parquet(calm / "answers.parquet")
    assert answers.height == 2 * ITEMS
    assert set(answers["outcome"]) == {"answered"}
    assert dict(answers.group_by("mode").len().iter_rows()) == {"direct": ITEMS, "cot": ITEMS}
    verdicts = pl.read_parquet(calm / "verdicts.parquet")
    assert verdicts["check"].sum() == CHECKS * len(CONTROLS) * CHECKED
    asked = dict(verdicts.filter(~pl.col("check")).group_by("question").len().iter_rows())
    assert asked == {"answer": 2 * ITEMS, "precision": ITEMS, "recall": ITEMS, "order": ITEMS}
    assert set(verdicts["outcome"]) == {"judged"}
    assert set(verdicts["attempts"]) == {1}
    stats = server.stats()
    assert set(stats["histogram"]) == {"1"}, "a body was asked twice"
    assert stats["pictures"]["1"] == 2 * ITEMS


def test_its_numbers_are_of_the_controls_that_answered(calm: Path) -> None:
    """Four controls of five are right directly, three when they reason; all tasks have items."""
    found = json.loads((calm / "measures.json").read_text())["measures"]
    whole = {
        (m["measure"], m.get("by", {}).get("mode")): m for m in found if len(m.get("by", {})) < 2
    }
    direct, cot = (whole["accuracy", mode]["value"] for mode in ("direct", "cot"))
    assert 0.7 < direct < 0.9
    assert 0.5 < cot < 0.7
    fit = [m for m in found if m["measure"] in ("judge_sensitivity", "judge_specificity")]
    assert {m["by"]["question"] for m in fit} == {"answer", "precision", "recall", "order"}
    assert all(m["value"] >= 0.9 and m.get("label") is None for m in fit)


def test_the_plan_states_what_the_judge_costs(forecasts: list[Forecast], calm: Path) -> None:
    reader, judge = forecasts
    assert (reader.trials, reader.calls, reader.judges) == (2 * ITEMS, 2 * ITEMS, False)
    assert judge.judges
    verdicts = pl.read_parquet(calm / "verdicts.parquet")
    assert judge.calls == verdicts.height == ITEMS * JUDGED + CHECKS * len(CONTROLS) * CHECKED
    assert judge.tokens_in > 0
    assert judge.cost is not None
    price = (2.5 * judge.tokens_in + 10 * judge.tokens_out) / 1e6
    assert judge.cost == pytest.approx(price)


# ---------------------------------------------------------------- interrupted


def committed(store: Path) -> int:
    connection = sqlite3.connect(store)
    try:
        return int(connection.execute("SELECT count(*) FROM replies").fetchone()[0])
    finally:
        connection.close()


def send_after(
    process: Forked, answered: Callable[[], int], many: int, sign: signal.Signals
) -> None:
    """Send a signal when the server has answered so many."""
    deadline = time.monotonic() + 120
    while answered() < many and process.poll() is None and time.monotonic() < deadline:
        time.sleep(0.005)
    assert process.poll() is None, "it ended before it was interrupted"
    process.send_signal(sign)


def test_interrupted_and_killed_it_goes_on_where_it_was(
    tree: Path, server: Served, calm: Path, log: Path, tmp_path: Path
) -> None:
    log.write_text("")  # the server appends
    command = recipe(tree, server, tmp_path)
    store = tmp_path / "store.sqlite"

    def answered() -> int:
        return log.stat().st_size // 65  # a digest and a line's end

    # While the reader is asked: calls under way finish and are kept.
    with starting(*command) as process:
        send_after(process, answered, ITEMS // 2, signal.SIGINT)
        _, said = process.communicate(timeout=60)
    assert process.returncode == 3, said
    assert "Run the same command again to resume." in said
    first = answered()
    assert ITEMS // 2 <= first < 2 * ITEMS, "the judge was asked already"
    assert not (tmp_path / "run").exists()

    # While the judge is asked: killed, what was under way is lost and nothing else.
    with starting(*command) as process:
        send_after(process, answered, 2 * ITEMS + ITEMS // 2, signal.SIGKILL)
        process.wait(10)
    assert process.returncode == -signal.SIGKILL
    before = -1
    while before != (before := answered()):  # the server may still answer what nobody hears
        time.sleep(0.5)
    controls = 2 * CHECKS * len(CONTROLS)
    lost = before - (committed(store) - controls)
    assert 0 <= lost < ITEMS
    assert not (tmp_path / "run").exists()

    resumed = overread(*command)
    assert resumed.returncode == 0, resumed.stderr
    bodies = log.read_text().split()
    assert len(bodies) - len(set(bodies)) == lost, "more was asked twice than a kill lost"
    assert set(bodies) == set(server.bodies()), "it asked something else than the calm run"
    for name in ("measures.json", "report.html"):
        assert _same(tmp_path / "run" / name, calm / name), name
    for name in ("answers.parquet", "verdicts.parquet"):
        one, other = (_plain(folder / name) for folder in (tmp_path / "run", calm))
        assert one.equals(other), name


_TIME = rb"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC"
# With its cell, which is another where the first and the last reply came in one second.
_CELL = rb'(?:<td(?: class="text")?>)?'
_WHEN = re.compile(_CELL + _TIME + rb"(?: to " + _TIME + rb")?|\b[0-9a-f]{64}\b")


def _same(one: Path, other: Path) -> bool:
    """But for when the replies came, and the digests of tables that hold how long each took."""
    first, second = (_WHEN.sub(b"WHEN", path.read_bytes()) for path in (one, other))
    return first == second


def _plain(path: Path) -> pl.DataFrame:
    """A table without what the clock decides."""
    table = pl.read_parquet(path)
    return table.drop("seconds") if "seconds" in table.columns else table
