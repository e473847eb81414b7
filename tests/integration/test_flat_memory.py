"""Four times as many trials need no more memory: plans, replies and tables are streamed."""

from __future__ import annotations

import itertools
import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from overread.engine import Store
from overread.runs import phantom_cases
from support.answering import raw_server, response
from support.served import ROOT

# The kernel's own peak of this program: `ru_maxrss` would begin with that of the test process.
MEASURED = """
import json, pathlib, sys
from bench.million import run
told = run(int(sys.argv[1]), pathlib.Path(sys.argv[2]))
lines = pathlib.Path("/proc/self/status").read_text().splitlines()
told["peak_mb"] = next(int(line.split()[1]) for line in lines if line.startswith("VmHWM")) / 1024
print(json.dumps(told))
"""


def measured(n: int, folder: Path) -> dict[str, Any]:
    folder.mkdir()
    command = [sys.executable, "-c", MEASURED, str(n), str(folder)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    told: dict[str, Any] = json.loads(done.stdout)
    return told


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_forty_thousand_distinct_trials_stay_in_flat_memory(tmp_path: Path) -> None:
    few = measured(10_000, tmp_path / "few")["peak_mb"]
    many = measured(40_000, tmp_path / "many")["peak_mb"]
    if many - few >= 20:  # the less of two: on a busy machine more waits to be committed
        many = min(many, measured(40_000, tmp_path / "again")["peak_mb"])
    with Store(tmp_path / "many" / "store.sqlite") as store:
        assert store.count() == 40_000
    answers = pl.read_parquet(tmp_path / "many" / "answers.parquet")
    assert answers["case"].to_list() == [f"case {number}" for number in range(40_000)]
    assert answers["text"].null_count() == 0
    # Measured: 6 to 10 MB more, for SQLite's page cache and one group of the table's rows, which
    # stop growing; a plan held as a list takes 17 MB on top of that, kept replies or rows more.
    # Both tables are joined of parts, for which polars takes 10 MB however long they are.
    assert many - few < 20


ITS_PEAK = """
import atexit, pathlib, sys
def told():
    lines = pathlib.Path("/proc/self/status").read_text().splitlines()
    print(next(line for line in lines if line.startswith("VmHWM")), file=sys.stderr)
atexit.register(told)
from overread.cli import main
main()
"""


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_a_hundred_replies_of_five_megabytes_do_not_fill_the_memory(tmp_path: Path) -> None:
    """Every other one is short enough to be kept, and all of them come at once."""
    kept = {"content": "Yes " + "x" * 900_000}
    endless = {"content": "Yes " + "x" * 5_000_000}
    bodies = [json.dumps({"choices": [{"message": m}]}).encode() for m in (kept, endless)]
    answers = itertools.cycle(map(response, bodies))
    cases = phantom_cases("grounding", "phantom:48")
    place = ["--store", str(tmp_path / "store.sqlite"), "--out", str(tmp_path / "run")]
    with raw_server(lambda _, wire: wire.write(next(answers))) as url:
        words = ["run", "grounding", "--cases", str(cases), "--reader", f"openai:m@{url}", *place]
        command = [sys.executable, "-c", ITS_PEAK, *words]
        done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert done.returncode == 3, done.stderr
    refused = int(re.findall(r"too long × (\d+)", done.stderr)[-1])
    with Store(tmp_path / "store.sqlite") as store:
        assert store.count() + refused == 140
    assert refused > 40  # a connection that a busy machine dropped is asked again, out of turn
    # Measured: 330 MB, most of it to draw the page; 3,600 MB while only their number was bounded.
    assert int(done.stderr.split("VmHWM:")[1].split()[0]) < 900_000
