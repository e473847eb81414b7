"""`overread measure` on a study of the paper's size against ten cases, in time and memory.

2,575 cases, nine readers, four conditions, 10,000 resamples, all comparisons and tests. Starting
Python and drawing the figures cost the same on both; what is left is the measuring.
"""

from __future__ import annotations

import csv
import json
import random
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from bench.calibration import once

CASES, FEW, READERS = 2575, 10, 9
# As in the paper: boxed MS-CXR cases first, sentences last.
BOXED, SENTENCES = 452 / CASES, 723 / CASES
FINDINGS = (
    "atelectasis", "cardiomegaly", "consolidation", "edema", "lung_opacity", "pleural_effusion",
    "pneumonia", "pneumothorax",
)  # fmt: skip
ERRORS = ("Add typo", "Change location", "False negation")
FLIPS = {"original": 0.0, "swap": 0.2, "target_mask": 0.3, "irrelevant_mask": 0.05}
BOXES = ("box_x", "box_y", "box_w", "box_h")
COLUMNS = (
    "case_id", "source", "image_path", "subject_id", "view", "age", "gender", "finding", "label",
    *BOXES, "error_sentence", "error_type", "error_present", "swap_image_path",
    *(f"irrelevant_{side}" for side in BOXES),
)  # fmt: skip


def full_size() -> dict:
    """Seconds and megabytes of a measuring at full size, beside one of ten cases."""
    with tempfile.TemporaryDirectory() as scratch:
        runs = {n: imported(Path(scratch), n) for n in (FEW, CASES)}
        few, many = ([_measured(runs[n]) for _ in range(3)] for n in (FEW, CASES))
        authors = _measured(runs[CASES], "--edition", "authors")
    small, large = min(s for s, _ in few), min(s for s, _ in many)
    peak = max(mb for _, mb in many)
    return {
        "cases": CASES,
        "readers": READERS,
        "s": round(large, 2),
        "s_of_ten_cases": round(small, 2),
        "more_s": round(large - small, 2),
        "peak_mb": round(peak),
        "authors_s": round(authors[0], 1),
        "authors_peak_mb": round(authors[1]),
        "ok": large - small <= 2 and peak <= 400 and authors[0] <= 30,
    }


def _measured(run: Path, *more: str) -> tuple[float, float]:
    return once([sys.executable, "-m", "overread", "measure", run, *more])


def imported(scratch: Path, n: int, policy: str | None = None) -> Path:
    """Imported by a process of its own: a child's peak begins with what its parent holds."""
    source, out = scratch / f"made-{n}", scratch / f"run-{n}"
    make_results(source, n)
    if policy is not None:  # cases of others than an open set are not shown
        (source / "dataset.toml").write_text(f'policy = "{policy}"\n')
    command = [sys.executable, "-m", "overread", "import", "grounding", "--out", str(out)]
    command += ["--cases", str(source / "manifest.csv"), "--replies", str(source / "results")]
    command += ["--readers", str(source / "models.json")]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    return out


def make_results(folder: Path, n: int, readers: int = READERS, seed: int = 0) -> None:
    """Made-up results of nine readers in the authors' layout, two text-only, one vision-only."""
    chance = random.Random(seed)
    cases = list(_cases(n, chance))
    folder.mkdir(parents=True)
    _write(folder / "manifest.csv", COLUMNS, cases)
    models = {}
    for reader in range(readers):
        role = {3: "text_only", 7: "text_only", 8: "vision_only"}.get(reader, "multimodal")
        models[f"reader_{reader}"] = {"role": role, "reasoning_parser": False}
        right = 0.5 + 0.04 * reader
        said = [key if chance.random() < right else 1 - key for key in map(_key, cases)]
        for condition, flips in FLIPS.items():
            asked = [i for i, c in enumerate(cases) if "mask" not in condition or c["box_x"]]
            rows = (
                _answer(cases[i]["case_id"], said[i], 0 if role == "text_only" else flips, chance)
                for i in asked
            )
            place = folder / "results" / f"reader_{reader}"
            place.mkdir(parents=True, exist_ok=True)
            header = ("case_id", "raw_answer", "parsed_answer", "confidence")
            _write(place / f"{condition}.csv", header, rows)
    (folder / "models.json").write_text(json.dumps(models))


def _cases(n: int, chance: random.Random) -> Iterator[dict]:
    boxed, sentences = max(2, round(n * BOXED)), max(2, round(n * SENTENCES))
    for i in range(n):
        patient = chance.randrange(max(2, int(n * 0.8)))
        label = 1 if i < boxed else chance.randrange(2)
        case = {
            "case_id": f"c{i:05d}",
            "source": "ms_cxr" if i < boxed else "mimic_cxr" if i < n - sentences else "rexerr",
            "image_path": f"{i}.jpg",
            "subject_id": patient,
            "view": ("PA", "AP")[chance.randrange(2)],
            "age": 20 + patient % 70,
            "gender": "MF"[patient % 2],
            "finding": FINDINGS[i % len(FINDINGS)],
            "label": label,
            "swap_image_path": "s.jpg",
        }
        case |= dict.fromkeys((*BOXES, *(f"irrelevant_{side}" for side in BOXES)), "")
        if i < boxed:
            case |= dict(zip(BOXES, (10, 20, 60, 70), strict=True))
            case |= {f"irrelevant_{s}": v for s, v in zip(BOXES, (164, 154, 60, 70), strict=True)}
        if i >= n - sentences:
            wrong = {"error_type": ERRORS[i % 3], "error_present": label}
            case |= {"error_sentence": "a sentence", **wrong}
        yield case


def _key(case: dict) -> int:
    return 1 - case["error_present"] if case["source"] == "rexerr" else case["label"]


def _answer(case: str, said: int, flips: float, chance: random.Random) -> dict:
    answer = 1 - said if chance.random() < flips else said
    sure = min(max(chance.gauss(0.65 if answer else 0.35, 0.2), 0.001), 0.999)
    if chance.random() < 0.02:
        answer = -1
    word = {1: "Yes", 0: "No", -1: "Hm"}[answer]
    return {
        "case_id": case,
        "raw_answer": word,
        "parsed_answer": answer,
        "confidence": round(sure, 6),
    }


def _write(path: Path, columns: tuple[str, ...], rows: object) -> None:
    with path.open("w", newline="") as file:
        sheet = csv.DictWriter(file, columns, restval="")
        sheet.writeheader()
        sheet.writerows(rows)
