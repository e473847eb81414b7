"""Chest films made to order."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import msgspec
import numpy as np
from PIL import Image

from overread.case import Box
from overread.phantoms.chest_film import film
from overread.phantoms.chest_plan import Order
from overread.phantoms.workers import Job, make_all

__all__ = ["Made", "make_films"]

QUALITY = 95


class Made(msgspec.Struct, frozen=True):
    """What is known of a finished film; `box` in source pixels."""

    name: str
    sex: str
    age: int
    phrase: str
    box: Box | None


def make_films(folder: Path, seed: int, orders: Sequence[Order], workers: int) -> dict[str, Made]:
    """Write every film below `folder` as a JPEG, and say what each shows."""
    return {one.name: one for one in make_all(JOB, folder, seed, orders, workers)}


def _film(folder: Path, seed: int, order: Order) -> Made:
    one = film(
        np.random.default_rng([seed, 1, order.number]),
        view=order.view,
        finding=order.finding if order.present else None,
        marker=order.marker,
    )
    path = folder / f"{order.name}.jpg"
    Image.fromarray(one.pixels).save(path, "JPEG", quality=QUALITY)
    return Made(order.name, one.person.sex, one.person.age, one.phrase, one.box)


JOB = Job("film", __name__, Order, Made, _film)
