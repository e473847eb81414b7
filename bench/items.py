"""A set of questions in the layout of the Med-CMR release, made up, of its size."""

from __future__ import annotations

import json
import random
import struct
import zipfile
import zlib
from collections.abc import Iterator
from pathlib import Path

from overread.benchmarks.medcmr.cases import ABILITIES, DIMENSIONS, MODALITIES, SYSTEMS

MCQ, OPEN = 16_655, 3_999
_WORDS = (
    "lesion", "opacity", "margin", "contrast", "shows", "which", "finding", "most", "likely",
    "lower", "upper", "left", "right", "lobe", "vessel", "wall", "density", "signal", "diffuse",
    "focal", "acute", "chronic", "patient", "history", "of", "the", "with", "after", "nodule",
    "edema", "septal", "cortical", "enhancement", "stenosis", "follow", "therapy", "stage",
    "marked", "no", "mild",
)  # fmt: skip
PROSE = " ".join(random.Random(0).choices(_WORDS, k=8_000))


def write_release(folder: Path, mcq: int = MCQ, openly: int = OPEN) -> Path:
    """`dataset.zip` with both files of questions, an image for each, and what macOS left in it."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "dataset.toml").write_text('policy = "open"\n')
    chance = random.Random(mcq)
    path = folder / "dataset.zip"
    asked = {"mcq_cate": _items(mcq, 0, chance), "open_taged": _items(openly, mcq, chance)}
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as made:
        for kind, items in asked.items():
            rows = [row | (_options(chance) if kind == "mcq_cate" else {}) for row in items]
            text = json.dumps(rows, ensure_ascii=False)
            made.writestr(f"dataset/cmed.copy.{kind}.cleaned.json", text)
            made.writestr(f"dataset/cmed.copy.{kind}.cleaned.json.bak", text[: len(text) // 2])
            for row in rows:
                image = row["image_path"]
                made.writestr(image, _image(chance), zipfile.ZIP_STORED)
                note = image.replace("imgs/", "imgs/._")
                made.writestr(f"__MACOSX/{note}", bytes(120), zipfile.ZIP_STORED)
    return path


def _items(n: int, first_image: int, chance: random.Random) -> Iterator[dict]:
    for index in range(n):
        yield {
            "index": index,
            "question": f"Item {index}: {_prose(200, 700, chance)}?",
            "image_path": f"dataset/imgs/{first_image + index:06}.png",
            "answer": _prose(10, 60, chance),
            "visual_description": _prose(280, 320, chance),
            "task": chance.choice(list(DIMENSIONS.values())),
            "subtype": f"subtype {chance.randrange(5)}",
            "question type": chance.choice(list(ABILITIES)),
            "modality": chance.choice(MODALITIES),
            "organ system": chance.choice(SYSTEMS),
        }


def _options(chance: random.Random) -> dict[str, str]:
    options = {letter: f"{_prose(30, 100, chance)} ({letter.lower()})" for letter in "ABCDE"}
    return options | {"answer": chance.choice("ABCDE")}


def _prose(fewest: int, most: int, chance: random.Random) -> str:
    start = chance.randrange(len(PROSE) - most)
    return PROSE[start : start + chance.randint(fewest, most)].strip()


def _image(chance: random.Random) -> bytes:
    """A picture of its own, so small that what is measured is not the codec."""
    rows = bytearray(chance.randbytes(24 * 25))
    rows[::25] = bytes(24)  # every row begins with how it is filtered: not at all
    parts = {
        b"IHDR": struct.pack(">IIBBBBB", 24, 24, 8, 0, 0, 0, 0),
        b"IDAT": zlib.compress(rows, 1),
        b"IEND": b"",
    }
    return b"\x89PNG\r\n\x1a\n" + b"".join(
        struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))
        for name, data in parts.items()
    )
