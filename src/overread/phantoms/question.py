"""A set of synthetic medical questions on disk, with a jsonl that the m3cot loader reads.

Every patient is made up and every answer and step is true of its picture by construction, so anyone
may share the set. It is for testing instruments, never for training or judging a clinical model.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import msgspec
import numpy as np
from PIL import Image

from overread.benchmarks.m3cot.cases import STEPS, TASKS, Kind, Step
from overread.phantoms.question_items import BUILDERS, asked, kinds_of, opening
from overread.phantoms.sets import Job, SetMaker

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


def _item(folder: Path, seed: int, order: Order) -> Made:
    rng = np.random.default_rng([seed, 1, order.number])
    scene, truth = BUILDERS[order.task][order.way](rng)
    opened = opening(rng, order.record, scene.sex, scene.age)
    question, answer = asked(rng, truth, order.kind, opened)
    told = zip(STEPS, (scene.modality, *truth.told), strict=False)
    image = f"{IMAGES}/{order.name}.png"
    # Fast compression: grain hardly compresses, and the set is made while somebody waits.
    Image.fromarray(scene.pixels).save(folder / image, compress_level=1)
    return Made(
        order.name,
        question,
        answer,
        image,
        order.task,
        tuple(Step(which, text) for which, text in told),
        order.kind,
        f"{order.record:05d}",
        scene.examination,
    )


JOB = Job("question", __name__, Order, Made, _item, "pictures")


# ---------------------------------------------------------------- the set

EACH = 2
"""Items of the smallest task: as many as a swap within the task needs."""
LEAST = EACH * len(TASKS)

_INDEX = "questions.jsonl"
# Items of the published set (M3COT 1); tasks beyond their two grow with the square root of these.
_PUBLISHED: Final = (453, 193, 135, 81, 72, 40, 31, 22, 18, 13, 9, 7, 5)


def plan_questions(n: int, seed: int) -> tuple[Order, ...]:
    """Which items a set of n has; the same n and seed always give the same plan."""
    rng = np.random.default_rng([seed, 0])
    # Names and record numbers are in no order of anything, so that they say nothing.
    names, records = rng.permutation(n), rng.permutation(n) + 10_000
    orders: list[Order] = []
    for place, (task, share) in enumerate(_shares(n).items()):
        ways, kinds = len(BUILDERS[task]), kinds_of(task)
        turn = math.lcm(ways, len(kinds))  # after which every kind has met other ways
        for k in range(share):
            number = len(orders)
            orders.append(
                Order(
                    number,
                    f"question_{names[number]:05d}",
                    int(records[number]),
                    task,
                    k % ways,
                    kinds[(k + k // turn + place) % len(kinds)],
                )
            )
    return tuple(orders)


def _shares(n: int) -> dict[str, int]:
    """Two of each task, and the rest by largest remainders of the square roots."""
    tasks = list(TASKS.values())
    weights = np.sqrt(np.asarray(_PUBLISHED, float))
    due = (n - LEAST) * weights / weights.sum()
    given = np.floor(due).astype(int)
    late = np.argsort(given - due, kind="stable")[: n - LEAST - int(given.sum())]
    given[late] += 1
    return {task: EACH + int(extra) for task, extra in zip(tasks, given, strict=True)}


def _write(folder: Path, plan: Sequence[Order], made: Sequence[Made]) -> None:
    """The items in the order of their names."""
    items = sorted(made, key=lambda one: one.case_id)
    (folder / _INDEX).write_bytes(b"".join(msgspec.json.encode(one) + b"\n" for one in items))


write_question_set = SetMaker(
    kind="question",
    index=_INDEX,
    revision=1,
    standard=60,
    least=LEAST,
    cases="items",
    plan=plan_questions,
    orders=lambda plan: plan,
    job=JOB,
    folders=(IMAGES,),
    write=_write,
)
write_phantoms = write_question_set.below
