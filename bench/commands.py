"""What commands cost, from their start to their end, against limits in beats of this machine.

Measuring ten cases and the paper's 2,575 of nine readers; their page; a run of 2,000 pictures whose
replies are all kept; 20,654 items planned with a judge, and measured with nine readers' verdicts;
the demo.
"""

from __future__ import annotations

import csv
import json
import random
import subprocess
import sys
import tempfile
from functools import partial
from pathlib import Path

import numpy as np
from bench.calibration import Spent, spent
from bench.items import MCQ, OPEN, PROSE, write_release
from bench.measuring import CASES, COLUMNS, FEW, FINDINGS, imported
from PIL import Image
from tests.support.served import served

# Seconds on two idle cores of the machine that limits were set on.
LIMITS = {
    "measure_ten_cases": 0.8,
    "measure_paper_size": 1.5,
    "report_paper_size": 3.0,
    "run_of_2000_kept": 1.5,
    "plan_20654_with_judge": 2.0,
    "measure_20654_with_verdicts": 6.0,
    "demo": 45.0,
}
# What ten times the items may cost in memory, and what 2,000 small pictures may when asked about.
MORE_MB = 60
ASKING_MB = 250
PICTURES, READERS = 2_000, 9
OVERREAD = (sys.executable, "-m", "overread")


def against_the_loop() -> dict:
    """Every command beside its limit; and what ten times the items cost in memory."""
    found: dict[str, Spent] = {}
    with tempfile.TemporaryDirectory() as scratch:
        place = Path(scratch)
        runs = {n: imported(place, n, policy="open") for n in (FEW, CASES)}
        for name, n in (("measure_ten_cases", FEW), ("measure_paper_size", CASES)):
            found[name] = spent([*OVERREAD, "measure", runs[n]])
        page = [*OVERREAD, "report", runs[CASES], "--out", place / "page.html"]
        found["report_paper_size"] = spent(page)
        asking, found["run_of_2000_kept"] = _kept(place)
        plans = _planned(place)
        found["plan_20654_with_judge"] = plans["whole"]
        judged = {}
        for name in ("whole", "tenth"):
            out = place / f"judged-{name}"
            asked = [sys.executable, "-m", "bench.commands", place / name, out]
            subprocess.run(list(map(str, asked)), check=True, stdout=subprocess.DEVNULL)
            judged[name] = spent([*OVERREAD, "measure", out])
        found["measure_20654_with_verdicts"] = judged["whole"]
        (place / "demo").mkdir()
        found["demo"] = spent([*OVERREAD, "demo"], times=1, cwd=place / "demo")
    more = {
        name: round(one["whole"].mb - one["tenth"].mb)
        for name, one in (("plan", plans), ("measure", judged))
    }
    return {
        **{name: one.told(LIMITS[name]) for name, one in found.items()},
        "more_mb": more,
        "asking_2000_mb": round(asking.mb),
        "ok": max(more.values()) <= MORE_MB
        and asking.mb <= ASKING_MB
        and all(one.within(LIMITS[name]) for name, one in found.items()),
    }


def _kept(place: Path) -> tuple[Spent, Spent]:
    """A run of so many distinct pictures, and the same a second time: nobody is asked."""
    manifest = _write_pictures(place / "pictures")
    with served("instant") as server:
        command = [*OVERREAD, "run", "grounding", "--cases", manifest, "--out", place / "kept"]
        command += ["--reader", f"openai:bench@{server.base_url}?concurrency=64"]
        command += ["--set", "conditions=original", "--store", place / "kept.sqlite"]
        return spent(command, times=1), spent(command)


def _write_pictures(folder: Path) -> Path:
    """Distinct pictures of 224 pixels a side, and the manifest that asks about them."""
    folder.mkdir()
    chance = np.random.default_rng(0)
    rows = []
    for number in range(PICTURES):
        grey = chance.integers(0, 256, (56, 56), dtype=np.uint8).repeat(4, 0).repeat(4, 1)
        Image.fromarray(grey).save(folder / f"{number}.png", compress_level=1)
        rows.append({
            "case_id": f"c{number:05d}",
            "source": "mimic_cxr",
            "image_path": f"{number}.png",
            "subject_id": number // 2,
            "view": "PA",
            "age": 40 + number % 40,
            "gender": "MF"[number % 2],
            "finding": FINDINGS[number % len(FINDINGS)],
            "label": number // 8 % 2,
            "swap_image_path": f"{(number + 8) % PICTURES}.png",
        })  # fmt: skip
    (folder / "dataset.toml").write_text('policy = "open"\n')
    with (folder / "manifest.csv").open("w", newline="") as file:
        sheet = csv.DictWriter(file, COLUMNS, restval="")
        sheet.writeheader()
        sheet.writerows(rows)
    return folder / "manifest.csv"


def _planned(place: Path) -> dict[str, Spent]:
    """A plan with a judge of all items, and of a tenth of them."""
    found = {}
    for name, part in (("whole", 1), ("tenth", 10)):
        cases = write_release(place / name, MCQ // part, OPEN // part)
        command = [*OVERREAD, "plan", "medcmr", "--cases", cases, "--json"]
        command += ["--reader", "openai:bench@http://127.0.0.1:9/v1"]
        command += ["--judge", "openai:judge@http://127.0.0.1:9/v1"]
        found[name] = spent([*command, "--store", place / "none.sqlite"])
    return found


def ask_nine(cases: str, out: str) -> None:
    """A run of nine readers that guess, with verdicts of the lexical judge."""
    from overread.benchmarks.controls import Control, Said
    from overread.case import Prompt
    from overread.runs import run

    def says(reader: int, prompt: Prompt) -> Said:
        chance = random.Random(f"{reader} {prompt.text}")
        if "Reasoning" not in prompt.text:
            return Said(chance.choice("ABCDE") if chance.random() < 0.97 else "Hm")
        start = chance.randrange(7_000)
        return Said(
            f"Reasoning: {PROSE[start : start + 200]}\nAnswer: {PROSE[start + 100 : start + 140]}"
        )

    readers = [
        Control(key=f"guesses-{number}", says=partial(says, number), revision="1")
        for number in range(READERS)
    ]
    store = f"{out}.sqlite"
    made = run(
        "medcmr", f"{cases}/dataset.zip", readers,
        judges=["control:lexical-judge"], out=out, store=store,
    )  # fmt: skip
    print(json.dumps({"records": len(made.records)}))


if __name__ == "__main__":
    ask_nine(*sys.argv[1:])
