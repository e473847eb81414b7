"""The page: how soon a browser has it, what it costs to make, and how soon `serve` answers.

The demo's page in Chromium; a page of the paper's size (nine readers, 2,575 cases); pages of cases
out of 200,000 answers. Each in a process of its own, as a user would.
"""

from __future__ import annotations

import http.client
import json
import random
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from urllib.parse import urlencode, urlsplit

from bench.calibration import once
from bench.measuring import CASES, FINDINGS, READERS, imported
from tests.support.chromium import chromium, why_not
from tests.support.served import running

OPENED, ASKED = 5, 200
# Two conditions of every case and two of those with a box make 200,000 answers of nine readers.
SERVED_CASES = 9_480
OPEN_S, REPORT_S, REPORT_MB, SERVE_MS = 1.5, 15, 500, 200


def of_all_sizes() -> dict:
    """Seconds, megabytes and milliseconds, each beside what it may be."""
    with tempfile.TemporaryDirectory() as scratch:
        place = Path(scratch)
        opened = _opened(place / "demo")
        seconds, peak, size = _reported(imported(place, CASES, "open"), place / "page.html")
        asked = _served(imported(place, SERVED_CASES, "open"))
    p95 = asked["p95_ms"]
    return {
        "demo": opened,
        "report": {
            "readers": READERS,
            "cases": CASES,
            "s": round(seconds, 2),
            "peak_mb": round(peak),
            "page_mb": round(size, 2),
        },
        "serve": asked,
        "ok": opened["median_s"] < OPEN_S
        and seconds < REPORT_S
        and peak < REPORT_MB
        and size < 8
        and p95 < SERVE_MS,
    }


# ---------------------------------------------------------------- the demo's page in a browser


def _opened(out: Path) -> dict:
    """From the address being given to the first cases of every run being drawn."""
    missing = why_not()
    if missing:
        raise RuntimeError(missing)
    command = [sys.executable, "-m", "overread", "demo", "--out", str(out)]
    # Its store goes into the working folder.
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    subprocess.run(command, check=True, cwd=out.parent, **quiet)
    page = out / "report.html"
    taken = []
    with chromium() as browser:
        for _ in range(OPENED):
            context = browser.new_context(viewport={"width": 1300, "height": 900})
            tab = context.new_page()
            began = time.perf_counter()
            tab.goto(page.as_uri())
            tab.wait_for_function(
                "[...document.querySelectorAll('.browser')].every(x => x.querySelector('.case'))"
            )
            taken.append(time.perf_counter() - began)
            context.close()
    return {
        "page_mb": round(page.stat().st_size / 1e6, 2),
        "median_s": round(sorted(taken)[OPENED // 2], 2),
        "longest_s": round(max(taken), 2),
    }


# ---------------------------------------------------------------- a page of the paper's size


def _reported(run: Path, page: Path) -> tuple[float, float, float]:
    """Seconds, the most memory the process held by the kernel's account, megabytes of page."""
    command = [sys.executable, "-m", "overread", "report", run, "--out", page]
    return *once(command), page.stat().st_size / 1e6


# ---------------------------------------------------------------- pages of cases


def _served(run: Path) -> dict:
    """Milliseconds of a page of cases, asked for one after another with all kinds of filters."""
    import polars as pl

    answers = pl.scan_parquet(run / "answers.parquet").select(pl.len()).collect().item()
    command = [sys.executable, "-m", "overread", "serve", str(run), "--no-open"]
    began = time.perf_counter()
    with running(command, "http", 120) as (_, rest):
        ready = time.perf_counter() - began
        address = urlsplit(f"http{rest}")
        connection = http.client.HTTPConnection(address.hostname or "", address.port, timeout=30)
        connection.request("GET", f"/?{address.query}")
        entered = connection.getresponse()
        entered.read()
        cookie = (entered.headers["Set-Cookie"] or "").partition(";")[0]
        taken, counts = [], []
        for query in _queries(random.Random(0)):
            sent = time.perf_counter()
            connection.request("GET", f"/cards?{query}", headers={"Cookie": cookie})
            answer = connection.getresponse()
            body = answer.read()
            taken.append(1000 * (time.perf_counter() - sent))
            if answer.status != 200:
                raise RuntimeError(f"/cards?{query} was answered with {answer.status}")
            counts.append(json.loads(body)["count"])
        connection.close()
    taken.sort()
    return {
        "answers": answers,
        "ready_s": round(ready, 1),
        "asked": len(taken),
        "matched": [min(counts), max(counts)],
        "median_ms": round(taken[len(taken) // 2], 1),
        "p95_ms": round(taken[int(0.95 * len(taken))], 1),
        "longest_ms": round(taken[-1], 1),
    }


def _queries(chance: random.Random) -> list[str]:
    """Pages near the beginning and deep inside, of all cases, one reader's, one finding's."""
    found = []
    for _ in range(ASKED):
        query = {"run": 1, "page": chance.choice([0, 1, 2, chance.randrange(SERVED_CASES // 10)])}
        if chance.random() < 0.6:
            query["reader"] = f"reader_{chance.randrange(READERS)}"
        for name in ("right", "flipped"):
            if chance.random() < 0.3:
                query[name] = chance.choice(["yes", "no"])
        if chance.random() < 0.3:
            query["fact:finding"] = chance.choice(FINDINGS)
        found.append(urlencode(query))
    return found
