"""Miniature sets of questions: the layouts to the letter, the questions made up.

`write_release` makes Med-CMR as it is published, as an archive or a folder; the `write_*` of other
sets make what a user would download. Images are a few pixels wide.
"""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from PIL import Image

from overread.benchmarks.medcmr.loading import SETS
from support.datasets import write_csv

MCQ = "cmed.copy.mcq_cate.cleaned.json"
OPEN = "cmed.copy.open_taged.cleaned.json"
DIMENSIONS = (
    *("Small-Object Detection", "fine detail discrimination", "SU", "temporal prediction"),
    *("Causal Reasoning", "Long-Tail Generalization", "multi-source integration"),
)


def png(grey: int = 90, size: tuple[int, int] = (12, 8)) -> bytes:
    """A picture of one grey."""
    data = io.BytesIO()
    Image.new("L", size, grey % 256).save(data, "png")
    return data.getvalue()


def item(index: int, /, **changes: Any) -> dict[str, Any]:
    """An open item as the release has it."""
    return {
        "index": index,
        "question": f"What is the likeliest cause of finding {index}?",
        "image_path": f"dataset/imgs/{index}.png",
        "answer": f"a cause {index}",
        "visual_description": f"A bright spot, number {index}, in the upper left of the picture.",
        "task": DIMENSIONS[index % len(DIMENSIONS)],
        "subtype": "small lesions",
        "question type": "diagnosis",
        "modality": "CT",
        "organ system": "Digestive",
        **changes,
    }


def mcq(index: int, /, **changes: Any) -> dict[str, Any]:
    """A multiple-choice item as the release has it."""
    options = {letter: f"option {letter.lower()} of {index}" for letter in "ABCDE"}
    return item(index) | options | {"answer": "ABCDE"[index % 5]} | changes


def release_files(
    mcqs: Sequence[Any] | None, opens: Sequence[Any] | None, without: Sequence[str] = ()
) -> dict[str, bytes]:
    """All files by their names; those of `without` are images that got lost."""
    files: dict[str, bytes] = {}
    for name, items in ((MCQ, mcqs), (OPEN, opens)):
        if items is None:
            continue
        files[f"dataset/{name}"] = json.dumps(items, ensure_ascii=False).encode()
        files[f"dataset/{name}.bak"] = b"an older list"
        files[f"__MACOSX/dataset/._{name}"] = b"\0\5\x16\7"
        for number, entry in enumerate(items):
            path = entry.get("image_path") if isinstance(entry, dict) else None
            if isinstance(path, str) and path.startswith("dataset/imgs/") and ".." not in path:
                files[path] = png(number)
    return {name: data for name, data in files.items() if name not in without}


def write_release(
    folder: Path,
    mcqs: Sequence[Any] | None,
    opens: Sequence[Any] | None,
    *,
    zipped: bool = True,
    without: Sequence[str] = (),
) -> Path:
    """`dataset.zip`, or the folder above `dataset/`; its path."""
    files = release_files(mcqs, opens, without)
    return write_zip(folder / "dataset.zip", files) if zipped else write_files(folder, files)


def write_files(folder: Path, files: Mapping[str, bytes]) -> Path:
    for name, data in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    return folder


def write_zip(path: Path, files: Mapping[str, bytes]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(path, "w") as archive:
        for name, data in files.items():
            archive.writestr(name, data)
    return path


def write_json(path: Path, holds: Any) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(holds, ensure_ascii=False), encoding="utf-8")
    return path


def write_lines(path: Path, rows: Sequence[Any]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def write_images(folder: Path, *names: str) -> None:
    write_files(folder, {name: png(number) for number, name in enumerate(names)})


# ---------------------------------------------------------------- sets of others


def write_parquet(path: Path, rows: Sequence[tuple[str, str]]) -> Path:
    """image, question, answer with the pictures inside, as Hugging Face keeps them."""
    import polars as pl

    frame = pl.DataFrame(
        {
            "image": [{"bytes": png(n), "path": f"{n}.png"} for n in range(len(rows))],
            "question": [question for question, _ in rows],
            "answer": [answer for _, answer in rows],
        }
    )
    path.parent.mkdir(parents=True, exist_ok=True)
    frame.write_parquet(path)
    return path


def write_vqa_rad(folder: Path, changes: Sequence[Mapping[str, Any]] = ({},)) -> Path:
    base = {
        "qid": 1,
        "image_name": "synpic1.jpg",
        "image_organ": "HEAD",
        "answer": "Yes",
        "answer_type": "CLOSED ",
        "question_type": "PRES",
        "question": "Is there a bleed?",
        "phrase_type": "freeform",
    }
    rows = [base | {"qid": n} | dict(change) for n, change in enumerate(changes, start=1)]
    write_images(folder / "VQA_RAD Image Folder", "synpic1.jpg")
    return write_json(folder / "VQA_RAD Dataset Public.json", rows).parent


def write_slake(folder: Path, changes: Sequence[Mapping[str, Any]] = ({},)) -> Path:
    base = {
        "img_id": 1,
        "img_name": "xmlab1/source.jpg",
        "question": "Does the picture contain a lung?",
        "answer": "No",
        "q_lang": "en",
        "location": "Abdomen",
        "modality": "X-Ray",
        "answer_type": "CLOSED",
        "base_type": "vqa",
        "content_type": "Organ",
        "triple": ["vhead", "_", "_"],
        "qid": 0,
    }
    rows = [base | {"qid": n} | dict(change) for n, change in enumerate(changes)]
    write_images(folder / "imgs", "xmlab1/source.jpg")
    write_json(folder / "train.json", rows)
    return write_json(folder / "test.json", rows).parent


def write_pmc_vqa(folder: Path, changes: Sequence[Mapping[str, Any]] = ({},)) -> Path:
    base = {
        "index": "7",
        "Figure_path": "PMC1_fig1.jpg",
        "Caption": "Axial CT with a mass in the liver.",
        "Question": " What organ holds the mass? ",
        "Choice A": " A: Liver ",
        "Choice B": " B: Spleen ",
        "Choice C": " C: Lung ",
        "Choice D": " D: Heart ",
        "Answer": "A",
        "split": "test",
    }
    rows = [base | dict(change) for change in changes]
    write_images(folder / "figures", "PMC1_fig1.jpg")
    header = list(dict.fromkeys(name for row in rows for name in row))
    cells = [[row.get(name, "") for name in header] for row in rows]
    return write_csv(folder / "test_2.csv", header, cells).parent


def write_omnimed(folder: Path, changes: Sequence[Mapping[str, Any]] = ({},)) -> Path:
    base = {
        "dataset": "Made Up",
        "question_id": "Made Up_0",
        "question_type": "Disease Diagnosis",
        "question": "What is seen here?",
        "gt_answer": "Tumour",
        "image_path": "Images/Made Up/a.png",
        "option_A": "Normal",
        "option_B": "Tumour",
        "option_C": "Cyst",
        "option_D": "Stone",
        "modality_type": "MR (Mag-netic Resonance Imaging)",
    }
    rows = [base | {"question_id": f"Made Up_{n}"} | dict(c) for n, c in enumerate(changes)]
    write_images(folder / "Images" / "Made Up", "a.png")
    write_json(folder / "QA_information" / "Open-access" / "Made Up.json", rows)
    return folder


def write_medxpert(folder: Path, changes: Sequence[Mapping[str, Any]] = ({},)) -> Path:
    options = {letter: f"{letter.lower()} thing" for letter in "ABCDE"}
    tail = " ".join(f"({letter}) {text}" for letter, text in options.items())
    base = {
        "id": "MM-1",
        "question": f"What comes next?\nAnswer Choices: {tail}",
        "options": options,
        "label": "C",
        "images": ["MM-1-a.jpeg", "MM-1-b.jpeg"],
        "medical_task": "Diagnosis",
        "body_system": "Nervous",
        "question_type": "Reasoning",
    }
    rows = [base | {"id": f"MM-{n}"} | dict(c) for n, c in enumerate(changes, start=1)]
    write_images(folder / "images", "MM-1-a.jpeg", "MM-1-b.jpeg")
    return write_lines(folder / "MM" / "test.jsonl", rows).parents[1]


def load(path, options, *, seen=True):
    """What lies at a path, under these options."""
    return SETS.load(path, options, options.root, seen=seen)


def policy_at(path, options):
    return SETS.policy_at(path, options.root)


def root_of(path, options):
    return SETS.root_of(path, options.root)
