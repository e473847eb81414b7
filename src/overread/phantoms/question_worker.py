"""Questions and their pictures made to order."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import msgspec
import numpy as np
from PIL import Image

from overread.benchmarks.m3cot.cases import Kind, Step
from overread.phantoms.question_items import BUILDERS
from overread.phantoms.question_words import asked, opening
from overread.phantoms.workers import Job, make_all

__all__ = ["IMAGES", "Made", "Order", "make_items"]

IMAGES = "images"


class Order(msgspec.Struct, frozen=True):
    """One item to make: `number` seeds it; `way` is which of the task's ways to make one."""

    number: int
    name: str
    record: int
    task: str
    way: int
    kind: Kind


class Made(msgspec.Struct, frozen=True):
    """A finished item: one line of questions.jsonl."""

    case_id: str
    question: str
    answer: str
    image: str
    task: str
    steps: tuple[Step, ...]
    kind: Kind
    patient: str
    examination: str


def make_items(folder: Path, seed: int, orders: Sequence[Order], workers: int) -> list[Made]:
    """Write the picture of every item below `folder`; the items in the order of their names."""
    made = make_all(JOB, folder, seed, orders, workers)
    return sorted(made, key=lambda one: one.case_id)


def _item(folder: Path, seed: int, order: Order) -> Made:
    rng = np.random.default_rng([seed, 1, order.number])
    scene, truth = BUILDERS[order.task][order.way](rng)
    put = asked(rng, truth, order.kind, opening(rng, order.record, scene.sex, scene.age))
    image = f"{IMAGES}/{order.name}.png"
    # Fast compression: grain hardly compresses, and the set is made while somebody waits.
    Image.fromarray(scene.pixels).save(folder / image, compress_level=1)
    return Made(
        order.name,
        put.question,
        put.answer,
        image,
        order.task,
        truth.steps,
        order.kind,
        f"{order.record:05d}",
        scene.examination,
    )


JOB = Job("question", __name__, Order, Made, _item)
