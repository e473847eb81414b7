"""A set of synthetic chest films on disk, in the form of a grounding manifest.

Every patient, finding and box is made up, so its truth is exact and anyone may share it. The films
are for testing instruments, never for training or judging a clinical model.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

import numpy as np

from overread.benchmarks.grounding.boxes import irrelevant_box, rescale_box
from overread.benchmarks.grounding.cases import EXTRA_COLUMNS
from overread.case import Box
from overread.phantoms.chest_matched import on_the_trunk
from overread.phantoms.chest_plan import Order, SetPlan, plan_set
from overread.phantoms.chest_shapes import FILM
from overread.phantoms.chest_worker import Made, make_films
from overread.phantoms.set_folder import Card, write_csv, write_once
from overread.phantoms.workers import worker_count

__all__ = ["COLUMNS", "REVISION", "write_chest_set"]

REVISION = 2
"""Raised whenever the same seed would give other bytes."""

COLUMNS = (
    "case_id", "source", "image_path", "report_path", "dicom_id", "subject_id", "study_id", "view",
    "age", "gender", "finding", "label", "label_text", "box_x", "box_y", "box_w", "box_h",
    "original_sentence", "error_sentence", "error_type", "error_present", "swap_image_path",
    "irrelevant_box_x", "irrelevant_box_y", "irrelevant_box_w", "irrelevant_box_h",
    *EXTRA_COLUMNS,
)  # fmt: skip
"""The manifest's columns: the paper's 26 (GROUNDING 1.2), and what a builder knows besides."""


def write_chest_set(folder: Path, n: int = 480, seed: int = 0, workers: int | None = None) -> Path:
    """Write n cases below `folder` and return the manifest's path.

    The folder appears whole or not at all. A folder that already holds this very set is left as it
    is; one that holds anything else is refused.
    """
    plan = plan_set(n, seed)
    hands = worker_count(workers, len(plan.films), share=12, drawn="films")

    def fill(staging: Path) -> None:
        images = staging / "images"
        images.mkdir()
        made = make_films(images, seed, plan.films, hands)
        write_csv(staging / "manifest.csv", COLUMNS, _manifest(plan, made, seed))
        write_csv(staging / "phantom_truth.csv", _TRUTH, _truths(plan, made))

    return write_once(folder, Card("chest", "manifest.csv", n, seed, REVISION), fill)


# ---------------------------------------------------------------- tables

_TRUTH = ("case_id", "marker", "view", "box_x", "box_y", "box_w", "box_h")


def _manifest(plan: SetPlan, made: Mapping[str, Made], seed: int) -> Iterable[dict[str, object]]:
    for number, case in enumerate(plan.cases):
        order = case.film
        shown = made[order.name]
        yield {
            "case_id": case.case_id,
            "source": "phantom",
            "image_path": _path(order),
            "dicom_id": order.name,
            "subject_id": 10_000_000 + number,
            "study_id": 50_000_000 + number,
            "view": order.view,
            "age": shown.age,
            "gender": shown.sex,
            "finding": order.finding,
            "label": int(order.present),
            "label_text": shown.phrase,
            "swap_image_path": _path(case.swap),
            "label_value": int(order.present),
            "swap_match": "label",
            "opposite_image_path": _path(case.opposite),
            **_boxes(shown.box, np.random.default_rng([seed, 3, order.number])),
        }


def _truths(plan: SetPlan, made: Mapping[str, Made]) -> Iterable[dict[str, object]]:
    for case in plan.cases:
        box = made[case.film.name].box
        yield {
            "case_id": case.case_id,
            "marker": int(case.film.marker),
            "view": case.film.view,
            **(_sides("box", box) if box else {}),
        }


def _path(order: Order) -> str:
    return f"images/{order.name}.jpg"


def _sides(prefix: str, box: Box) -> dict[str, int]:
    return {f"{prefix}_{side}": getattr(box, side) for side in ("x", "y", "w", "h")}


def _boxes(source: Box | None, rng: np.random.Generator) -> dict[str, object]:
    if source is None:
        return {}
    box = rescale_box(source.x, source.y, source.w, source.h, FILM, FILM)
    assert box is not None, "a film's box is large enough by construction"
    matched = ";".join(f"{m.x} {m.y} {m.w} {m.h}" for m in on_the_trunk(rng, box))
    boxes = _sides("box", box) | _sides("irrelevant_box", irrelevant_box(box))
    return {**boxes, "matched_boxes": matched}
