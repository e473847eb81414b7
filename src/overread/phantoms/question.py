"""A set of synthetic medical questions on disk, with a jsonl that the m3cot loader reads.

Every patient is made up and every answer and step is true of its picture by construction, so anyone
may share the set. It is for testing instruments, never for training or judging a clinical model.
"""

from __future__ import annotations

import math
from pathlib import Path
from typing import Final

import msgspec
import numpy as np

from overread.benchmarks.m3cot.cases import TASKS
from overread.case import BadInput
from overread.phantoms.question_items import BUILDERS, kinds_of
from overread.phantoms.question_worker import IMAGES, Order, make_items
from overread.phantoms.set_folder import Card, write_once
from overread.phantoms.workers import worker_count

__all__ = ["LEAST", "QUESTION_REVISION", "plan_questions", "write_question_set"]

QUESTION_REVISION = 1
"""Raised whenever the same seed would give other bytes."""

EACH = 2
"""Items of the smallest task: as many as a swap within the task needs."""
LEAST = EACH * len(TASKS)

_INDEX = "questions.jsonl"
# Items of the published set (M3COT 1); tasks beyond their two grow with the square root of these.
_PUBLISHED: Final = (453, 193, 135, 81, 72, 40, 31, 22, 18, 13, 9, 7, 5)


def write_question_set(
    folder: Path, n: int = 60, seed: int = 0, workers: int | None = None
) -> Path:
    """Write n items below `folder` and return the path of questions.jsonl.

    The folder appears whole or not at all. A folder that already holds this very set is left as it
    is; one that holds anything else is refused.
    """
    orders = plan_questions(n, seed)
    hands = worker_count(workers, n, share=12, drawn="pictures")

    def fill(staging: Path) -> None:
        (staging / IMAGES).mkdir()
        made = make_items(staging, seed, orders, hands)
        lines = b"".join(msgspec.json.encode(one) + b"\n" for one in made)
        (staging / _INDEX).write_bytes(lines)

    return write_once(folder, Card("question", _INDEX, n, seed, QUESTION_REVISION), fill)


def plan_questions(n: int, seed: int) -> tuple[Order, ...]:
    """Which items a set of n has; the same n and seed always give the same plan."""
    if n < LEAST:
        raise BadInput(f"a question set of {n} items is too small; ask for at least {LEAST}.")
    if seed < 0:
        raise BadInput(f"seed {seed} is negative; use 0 or above.")
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
