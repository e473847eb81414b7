"""A set of synthetic hard cases on disk, packed as the Med-CMR release is.

Every patient is made up and every answer and caption is true of its picture by construction, so
anyone may share the set. It is for testing instruments, never for training or judging a clinical
model.
"""

from __future__ import annotations

import shutil
import zipfile
from pathlib import Path
from typing import Any, Final

import msgspec

from overread.benchmarks.medcmr.cases import ABILITIES, DIMENSIONS, LETTERS
from overread.benchmarks.medcmr.release import ARCHIVE, FILES, FOLDER
from overread.phantoms.set_folder import Card, write_once
from overread.phantoms.vignette_plan import LEAST, Plan, Vignette, plan_vignettes
from overread.phantoms.vignette_questions import VIEWS
from overread.phantoms.vignette_worker import make_pictures
from overread.phantoms.workers import worker_count

__all__ = ["LEAST", "VIGNETTE_REVISION", "write_vignette_set"]

VIGNETTE_REVISION = 1
"""Raised whenever the same seed would give other bytes."""

_IMAGES = f"{FOLDER}/imgs"
_STALE = 5
_FORK: Final = b"\x00\x05\x16\x07\x00\x02\x00\x00Mac OS X        "
"""How the files begin that a Macintosh adds to an archive."""


def write_vignette_set(
    folder: Path, n: int = 80, seed: int = 0, workers: int | None = None
) -> Path:
    """Write n items below `folder` and return the path of dataset.zip.

    The folder appears whole or not at all. A folder that already holds this very set is left as it
    is; one that holds anything else is refused.
    """
    plan = plan_vignettes(n, seed)
    hands = worker_count(workers, len(plan.pictures), share=12, drawn="pictures")

    def fill(staging: Path) -> None:
        loose = staging / "loose"
        loose.mkdir()
        make_pictures(loose, seed, plan.pictures, hands)
        _pack(staging / ARCHIVE, loose, plan)
        shutil.rmtree(loose)

    return write_once(folder, Card("vignette", ARCHIVE, n, seed, VIGNETTE_REVISION), fill)


def _row(vignette: Vignette, plan: Plan) -> dict[str, Any]:
    """An item with the fields of the release."""
    picture = plan.pictures[vignette.picture]
    view = VIEWS[picture.view]
    return {
        "index": vignette.index,
        "question": vignette.question,
        "image_path": f"{_IMAGES}/{picture.name}.png",
        **dict(zip(LETTERS, vignette.options, strict=False)),
        "answer": vignette.answer,
        "visual_description": view.caption(picture.facts),
        "task": _titled(DIMENSIONS[vignette.dimension]),
        "subtype": vignette.asked.subtype,
        "question type": _titled(ABILITIES[vignette.asked.ability]),
        "modality": view.modality,
        "organ system": view.system,
    }


def _titled(name: str) -> str:
    """Every word with a capital letter, but for "and"."""
    return name.title().replace(" And ", " and ")


def _pack(path: Path, loose: Path, plan: Plan) -> None:
    """The archive, with a stale copy and a Macintosh's own files, which no loader may read."""
    rows = {kind: [_row(one, plan) for one in plan.of(kind)] for kind in FILES}
    members = {f"{FOLDER}/{name}": _written(rows[kind]) for kind, name in FILES.items()}
    stale = [{**row, "answer": LETTERS[0]} for row in rows["mcq"][:_STALE]]
    members[f"{FOLDER}/{FILES['mcq']}.bak"] = _written(stale)
    members[f"__MACOSX/{FOLDER}/._{FILES['mcq']}"] = _FORK
    with zipfile.ZipFile(path, "w", zipfile.ZIP_STORED) as archive:
        for folder in (f"{FOLDER}/", f"{_IMAGES}/"):
            archive.writestr(_entry(folder), b"")
        for member, held in members.items():
            archive.writestr(_entry(member), held)
        for picture in sorted(one.name for one in plan.pictures):
            held = (loose / f"{picture}.png").read_bytes()
            archive.writestr(_entry(f"{_IMAGES}/{picture}.png"), held)
            archive.writestr(_entry(f"__MACOSX/{_IMAGES}/._{picture}.png"), _FORK)


def _written(rows: list[dict[str, Any]]) -> bytes:
    return msgspec.json.format(msgspec.json.encode(rows), indent=4) + b"\n"


def _entry(name: str) -> zipfile.ZipInfo:
    """A member that has the same bytes whenever it is written."""
    entry = zipfile.ZipInfo(name)
    entry.create_system = 3
    entry.external_attr = (0o40755 << 16 | 0x10) if name.endswith("/") else 0o100644 << 16
    return entry
