"""How a phantom question is put: the same truth as a choice, as several, as true or false, or open.

Every question opens with a line on the patient whose record number no other has, so that no two
questions of a set are alike.
"""

from __future__ import annotations

from collections.abc import Sequence
from string import ascii_uppercase
from typing import TypeVar

import msgspec
import numpy as np

from overread.benchmarks.m3cot.cases import STEPS, Kind, Step

__all__ = ["Asked", "Truth", "asked", "one_of", "opening", "steps"]

T = TypeVar("T")


class Truth(msgspec.Struct, frozen=True, kw_only=True):
    """What is true of a picture, before it is put as a question.

    `ask` asks for one answer and `all` for every one; `claim` states one answer `{x}`.
    """

    ask: tuple[str, ...]
    claim: str
    right: tuple[str, ...]
    wrong: tuple[str, ...]
    steps: tuple[Step, ...]
    every: str = ""


class Asked(msgspec.Struct, frozen=True):
    """A question and its answer."""

    question: str
    answer: str


def one_of(rng: np.random.Generator, choices: Sequence[T]) -> T:
    return choices[int(rng.integers(len(choices)))]


def steps(*texts: str) -> tuple[Step, ...]:
    """Two to four texts as gold steps: modality, feature, conclusion, analysis."""
    return tuple(Step(which, text) for which, text in zip(STEPS, texts, strict=False))


def opening(rng: np.random.Generator, record: int, sex: str, age: int) -> str:
    """Who the patient is. `record` is unique within a set."""
    who = f"{age}-year-old {'woman' if sex == 'F' else 'man'}"
    a = "an" if str(age)[0] == "8" else "a"
    forms = (
        f"Record {record:05d}: {a} {who}.",
        f"The image belongs to record {record:05d}, of {a} {who}.",
        f"Patient of record {record:05d} ({who}).",
    )
    return one_of(rng, forms)


def asked(rng: np.random.Generator, truth: Truth, kind: Kind, opened: str) -> Asked:
    """The question of that kind, and what is true."""
    if kind == "bool":
        holds = bool(rng.integers(2))
        x = one_of(rng, truth.right if holds else truth.wrong)
        x = x[0].lower() + x[1:] if x[:2] != "It" and not truth.claim.startswith("{x}") else x
        return Asked(f"{opened} True or false: {truth.claim.format(x=x)}", str(holds))
    if kind == "short":
        return Asked(f"{opened} {one_of(rng, truth.ask)}", truth.right[0])
    if kind == "single":
        right, stem = truth.right[:1], f"{one_of(rng, truth.ask)} (Select one option)"
    else:
        right, stem = truth.right, f"{truth.every} (Select all that apply)"
    options = [*right, *truth.wrong[: 5 - len(right)]]
    order = rng.permutation(len(options))
    lines = [f"{letter}. {options[k]}" for letter, k in zip(ascii_uppercase, order, strict=False)]
    letters = [letter for letter, k in zip(ascii_uppercase, order, strict=False) if k < len(right)]
    return Asked("\n".join((f"{opened} {stem}", *lines)), ", ".join(letters))
