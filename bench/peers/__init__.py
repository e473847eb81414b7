"""`make bench-peers`: whole commands of other tools and ours, the same films and server, one run.

2,000 distinct films, one question each, 64 connections, everything from the command to its results.
Each peer stands in an environment of its own, `.peers/NAME`, and runs its own command over a task
written for it in its own terms, in this folder. Whatever it needs, it has done before it is timed:
every command is run over a few films first.
"""

from __future__ import annotations

import csv
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
from PIL import Image
from tests.support.served import Served, served

ROOT = Path(__file__).resolve().parents[2]
HERE = Path(__file__).resolve().parent
FILMS, FEW, CONNECTIONS, DELAY = 2000, 20, 64, 0.05
PATIENCE = 1200.0  # seconds for one command
QUESTION = "Is pneumonia present in this chest X-ray? Answer Yes or No."
# Columns of a manifest that these cases leave empty.
EMPTY = (
    "box_x", "box_y", "box_w", "box_h", "error_sentence", "error_present", "swap_image_path",
    "irrelevant_box_x", "irrelevant_box_y", "irrelevant_box_w", "irrelevant_box_h",
)  # fmt: skip

Command = Callable[
    [Path, str, Path], list[str]
]  # of a folder of films, a base URL, a place to write


def against_peers() -> dict:
    """Seconds of each command with a server that answers at once, and with one of 50 ms."""
    with tempfile.TemporaryDirectory() as scratch:
        few, whole = Path(scratch) / "few", Path(scratch) / "films"
        write_films(few, FEW)
        write_films(whole, FILMS)
        with served("instant") as server:
            first = {name: timed(name, each, few, FEW, server) for name, each in COMMANDS.items()}
        results = {f"{FEW} films": first}
        for label, mode, delay in (("instant", "instant", 0), ("50 ms", "slow", DELAY)):
            with served(mode, delay=delay) as server:
                results[label] = compared(whole, server, first)
    at_once = results["instant"]
    times = {name: found.get("over_overread") for name, found in at_once.items()}
    ran = [ratio for ratio in times.values() if ratio is not None]
    return {
        "films": FILMS,
        "connections": CONNECTIONS,
        **results,
        "ok": times["inspect_ai"] is not None and times["inspect_ai"] >= 30 and min(ran) >= 8,
    }


def compared(films: Path, server: Served, first: dict[str, dict]) -> dict:
    """Every command over all films; ours beside each of the others, and the median of ours."""
    ours, found = [], {}
    for name, command in COMMANDS.items():
        ours.append(timed("overread", overread, films, FILMS, server))
        if name != "overread":
            runs = "not_run" not in first[name]
            found[name] = timed(name, command, films, FILMS, server) if runs else first[name]
    seconds = round(statistics.median(run["seconds"] for run in ours), 2)
    cpu = round(statistics.median(run["cpu_s"] for run in ours), 2)
    for run in found.values():
        if "seconds" in run:
            run["over_overread"] = round(run["seconds"] / seconds, 1)
            run["cpu_over_overread"] = round(run["cpu_s"] / cpu, 1)
    rate = round(FILMS / seconds, 1)
    return {"overread": {"seconds": seconds, "cpu_s": cpu, "films_per_s": rate}, **found}


def timed(name: str, command: Command, films: Path, n: int, server: Served) -> dict:
    """One command from its start to its end; why not, where it cannot be run."""
    if name != "overread" and not (peer(name) / "bin" / "python").exists():
        return {"not_run": "not installed (make bench-peers installs it)"}
    before = server.stats()["answered"]
    with tempfile.TemporaryDirectory() as place:
        words = command(films, server.base_url, Path(place))
        environment = os.environ | ENVIRONMENT | {"FILMS_BASE_URL": server.base_url}
        environment |= {"HF_HOME": f"{place}/hf", "LMUData": f"{place}/lmu"}
        print(f"{name}, {n} films …", file=sys.stderr, flush=True)
        spent = resource.getrusage(resource.RUSAGE_CHILDREN)
        began = time.perf_counter()
        with open(Path(place) / "said.txt", "w+b") as said:
            done = subprocess.Popen(words, cwd=films, env=environment, stdout=said, stderr=said)
            # To wait with a time-out is to look every twentieth of a second.
            patience = threading.Timer(PATIENCE, done.kill)
            patience.start()
            done.wait()
            taken = time.perf_counter() - began
            patience.cancel()
            said.seek(0)
            lines = said.read().decode(errors="replace").strip().splitlines()
    if taken >= PATIENCE:
        return {"not_run": f"not done within {PATIENCE:g} s"}
    if done.returncode:
        return {"not_run": f"exit code {done.returncode}: {lines[-1] if lines else ''}"[:300]}
    answered = server.stats()["answered"] - before
    if answered < n:
        return {"not_run": f"asked {answered} of {n} questions"}
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = used.ru_utime + used.ru_stime - spent.ru_utime - spent.ru_stime
    return {"seconds": round(taken, 2), "cpu_s": round(cpu, 2), "films_per_s": round(n / taken, 1)}


# ---------------------------------------------------------------- the commands


def peer(name: str) -> Path:
    return ROOT / ".peers" / name


def installed() -> bool:
    """Whether any of the other tools is there."""
    return any((peer(name) / "bin" / "python").exists() for name in COMMANDS)


def python(name: str) -> tuple[str, str]:
    return str(peer(name) / "bin" / "python"), str(HERE / "without_cuda.py")


def overread(films: Path, base_url: str, place: Path) -> list[str]:
    reader = f"openai:bench@{base_url}?concurrency={CONNECTIONS}"
    return [
        *(sys.executable, "-m", "overread", "run", "grounding", "--cases", "manifest.csv"),
        *("--set", "conditions=original", "--reader", reader),
        *("--out", str(place / "run"), "--store", str(place / "store.sqlite")),
    ]


def inspect_ai(films: Path, base_url: str, place: Path) -> list[str]:
    task = os.path.relpath(HERE / "inspect_films.py", films)  # it takes no absolute path
    return [
        *(str(peer("inspect_ai") / "bin" / "inspect"), "eval", task),
        *("-T", f"films={films / 'films.jsonl'}", "--model", "openai-api/films/bench"),
        *("--max-connections", str(CONNECTIONS), "--max-samples", str(CONNECTIONS)),
        *("--display", "none", "--log-dir", str(place / "logs")),
    ]


def lmms_eval(films: Path, base_url: str, place: Path) -> list[str]:
    model = f"model=bench,base_url={base_url},api_key=none,num_concurrent={CONNECTIONS}"
    return [
        *(*python("lmms_eval"), "lmms_eval", "eval"),
        *("--model", "openai", "--model_args", model, "--tasks", "film_questions"),
        *("--include_path", str(HERE / "lmms_eval"), "--batch_size", "1"),
        *("--log_samples", "--output_path", str(place / "results")),
    ]


def vlmeval(films: Path, base_url: str, place: Path) -> list[str]:
    script = str(HERE / "vlmeval_films.py")
    return [*python("vlmeval"), script, "films.tsv", base_url, str(CONNECTIONS), str(place)]


COMMANDS: dict[str, Command] = {
    "overread": overread,
    "inspect_ai": inspect_ai,
    "lmms_eval": lmms_eval,
    "vlmeval": vlmeval,
}
ENVIRONMENT = {
    "FILMS_API_KEY": "none",
    "HF_HUB_OFFLINE": "1",
    "HF_DATASETS_OFFLINE": "1",
}


# ---------------------------------------------------------------- the films


def write_films(folder: Path, n: int) -> None:
    """n grey films of 224 pixels with their questions, as each command reads them."""
    (folder / "films").mkdir(parents=True)
    rng = np.random.default_rng(0)
    y, x = np.mgrid[0:224, 0:224] / 224
    rows = []
    for number in range(n):
        shade = 120 + 80 * np.sin(3 * x + rng.uniform(0, 6)) * np.cos(2 * y + rng.uniform(0, 6))
        film = np.clip(shade + rng.normal(0, 8, shade.shape), 0, 255).astype(np.uint8)
        name = f"films/{number:04}.png"
        Image.fromarray(film).save(folder / name)
        rows.append((number, name, ("Yes", "No")[number % 2]))
    with (folder / "films.jsonl").open("w") as file:
        for number, name, answer in rows:
            row = {"index": number, "image": name, "question": QUESTION, "answer": answer}
            file.write(json.dumps(row) + "\n")
    _write_table(
        folder / "films.tsv",
        "\t",
        ("index", "image_path", "question", "answer"),
        [(number, folder / name, QUESTION, answer) for number, name, answer in rows],
    )
    blank = ("",) * len(EMPTY)
    _write_table(
        folder / "manifest.csv",
        ",",
        ("case_id", "source", "image_path", "subject_id", "finding", "label", *EMPTY),
        [
            (f"film {number}", "bench", name, number, "pneumonia", int(answer == "Yes"), *blank)
            for number, name, answer in rows
        ],
    )
    (folder / "dataset.toml").write_text('name = "bench"\npolicy = "open"\n')


def _write_table(place: Path, delimiter: str, header: tuple, rows: list[tuple]) -> None:
    with place.open("w", newline="") as file:
        table = csv.writer(file, delimiter=delimiter, lineterminator="\n")
        table.writerow(header)
        table.writerows(rows)
