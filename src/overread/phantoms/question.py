"""A set of synthetic medical questions on disk, with a jsonl that the m3cot loader reads.

Every patient is made up and every answer and step is true of its picture by construction, so anyone
may share the set. It is for testing instruments, never for training or judging a clinical model.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from string import ascii_uppercase
from typing import Any, Final, TypeAlias, TypeVar

import msgspec
import numpy as np
from PIL import Image

from overread.benchmarks.m3cot.cases import STEPS, TASKS, Kind, Step
from overread.phantoms import question_scenes as scenes
from overread.phantoms.question_scenes import FACTS, Pixels, Scene
from overread.phantoms.sets import Job, SetMaker, one_of
from overread.phantoms.smear import SIDE, WHITE_CELLS, Cell, Smear, smear

IMAGES = "images"

# ---------------------------------------------------------------- how a question is put
#
# The same truth as a choice, as several, as true or false, or open. Every question opens with a
# line on the patient whose record number no other has, so that no two questions of a set are alike.
# Steps keep to themselves: a feature names no examination and a conclusion no feature, so that
# their order can be told.


class Truth(scenes.Asked, frozen=True, kw_only=True):
    """What is true of a picture, before it is put as a question; of its words only the `{x}` of
    `claim` is left open."""

    right: tuple[str, ...]
    wrong: tuple[str, ...]


def _truth(form: str, right: Sequence[str], wrong: Sequence[str], **words: object) -> Truth:
    """The truth in the words of that form."""
    form_of = FACTS.asked[form]
    words = {"right": right[0], "x": "{x}", **words}
    return Truth(
        ask=tuple(text.format(**words) for text in form_of.ask),
        claim=form_of.claim.format(**words),
        right=tuple(right),
        wrong=tuple(wrong),
        told=tuple(text.format(**words) for text in form_of.told),
        every=form_of.every,
    )


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


def asked(rng: np.random.Generator, truth: Truth, kind: Kind, opened: str) -> tuple[str, str]:
    """The question of that kind, and its answer."""
    if kind == "bool":
        holds = bool(rng.integers(2))
        x = one_of(rng, truth.right if holds else truth.wrong)
        x = x[0].lower() + x[1:] if x[:2] != "It" and not truth.claim.startswith("{x}") else x
        return f"{opened} True or false: {truth.claim.format(x=x)}", str(holds)
    if kind == "short":
        return f"{opened} {one_of(rng, truth.ask)}", truth.right[0]
    if kind == "single":
        right, stem = truth.right[:1], f"{one_of(rng, truth.ask)} (Select one option)"
    else:
        right, stem = truth.right, f"{truth.every} (Select all that apply)"
    options = [*right, *truth.wrong[: 5 - len(right)]]
    order = rng.permutation(len(options))
    lines = [f"{letter}. {options[k]}" for letter, k in zip(ascii_uppercase, order, strict=False)]
    letters = [letter for letter, k in zip(ascii_uppercase, order, strict=False) if k < len(right)]
    return "\n".join((f"{opened} {stem}", *lines)), ", ".join(letters)


Item: TypeAlias = tuple[Scene, Truth]
MadeT = TypeVar("MadeT")
Builder: TypeAlias = Callable[[np.random.Generator], MadeT]


# ---------------------------------------------------------------- the heart


def _state(form: str, changed: str, rng: np.random.Generator) -> Item:
    """A heart in one of two states, the second of which is drawn by that option."""
    second = bool(rng.integers(2))
    names, looks, never = (FACTS.states[form][part] for part in ("names", "looks", "never"))
    scene = scenes.echo_scene(rng, **{changed: second})
    wrong = (names[not second], *never)
    return scene, _truth(form, [names[second]], wrong, look=looks[second])


def _function(scene: Scene, form: str, name: str, **words: str) -> Item:
    """What the thing of that name does."""
    others = [text for other, text in FACTS.functions.items() if other != name]
    return scene, _truth(form, [FACTS.functions[name]], others, **words)


def _chamber_referred(rng: np.random.Generator) -> Item:
    scene = scenes.echo_scene(rng)
    assert scene.heart is not None
    name = one_of(rng, tuple(FACTS.chambers))
    framed = scenes.marked(scene.pixels, scene.heart.chambers[name])
    others = [other for other in FACTS.chambers if other != name]
    truth = _truth("chamber", [name], others, place=FACTS.chambers[name])
    return msgspec.structs.replace(scene, pixels=framed), truth


# ---------------------------------------------------------------- cells: what, where and how many


def _with_one(rng: np.random.Generator) -> tuple[Smear, Cell]:
    """A field with a single white cell."""
    kind = one_of(rng, tuple(WHITE_CELLS))
    field = smear(rng, whites=[kind], platelets=int(rng.integers(2, 9)))
    return field, next(cell for cell in field.cells if cell.kind == kind)


def _cell_words(kind: str) -> dict[str, str]:
    a_cell = f"{'an' if kind[0] == 'e' else 'a'} {kind}"
    return {"look": FACTS.cells[kind], "a_cell": a_cell}


def _cell_named(form: str, kind: str) -> Truth:
    others = [other for other in WHITE_CELLS if other != kind]
    return _truth(form, [kind], others, **_cell_words(kind))


def _cell_recognised(rng: np.random.Generator) -> Item:
    field, cell = _with_one(rng)
    return scenes.blood(rng, field), _cell_named("cell", cell.kind)


def _cell_referred(rng: np.random.Generator) -> Item:
    kinds = [one_of(rng, tuple(WHITE_CELLS)) for _ in range(3)]
    field = smear(rng, whites=kinds, platelets=int(rng.integers(2, 9)))
    cell = next(cell for cell in field.cells if cell.kind in WHITE_CELLS)
    reach = 1.4 * cell.radius
    box = (cell.x - reach, cell.y - reach, cell.x + reach, cell.y + reach)
    framed = scenes.marked(field.pixels, box)
    scene = msgspec.structs.replace(scenes.blood(rng, field), pixels=framed)
    return scene, _cell_named("framed cell", cell.kind)


def _cell_function(rng: np.random.Generator) -> Item:
    field, cell = _with_one(rng)
    does = FACTS.functions[cell.kind].removeprefix("It ")
    words = _cell_words(cell.kind)
    return _function(scenes.blood(rng, field), "cell's function", cell.kind, does=does, **words)


def _cell_place(rng: np.random.Generator) -> Item:
    while True:
        field, cell = _with_one(rng)
        # A cell on a border between quarters has no quarter.
        if abs(cell.x - SIDE / 2) > cell.radius and abs(cell.y - SIDE / 2) > cell.radius:
            break
    quarters = [f"{v} {h} quarter" for v in ("upper", "lower") for h in ("left", "right")]
    place = quarters.pop(2 * (cell.y >= SIDE / 2) + (cell.x >= SIDE / 2))
    return scenes.blood(rng, field), _truth(
        "cell's place", [place], quarters, look=FACTS.cells[cell.kind]
    )


def _cells_counted(rng: np.random.Generator) -> Item:
    whites = [one_of(rng, tuple(WHITE_CELLS)) for _ in range(int(rng.integers(1, 7)))]
    platelets, sickled = int(rng.integers(2, 10)), int(rng.integers(3, 9))
    what = one_of(rng, ("white cells", "platelets", "sickled red cells"))
    crescents = sickled if what == "sickled red cells" else 0
    field = smear(rng, whites=whites, platelets=platelets, reds=50, sickled=crescents)
    count, look = {
        "white cells": (len(whites), "large bodies with violet nuclei"),
        "platelets": (platelets, "small violet flecks without a nucleus"),
        "sickled red cells": (sickled, "pointed crescents"),
    }[what]
    near = [str(count + d) for d in (1, -1, 3, 2) if count + d > 0]
    truth = _truth("count", [str(count)], near[:3], what=what, look=look)
    return scenes.blood(rng, field), truth


# ---------------------------------------------------------------- two pictures side by side


def _compared(
    rng: np.random.Generator, scene: Scene, other: Pixels, form: str, **words: int
) -> Item:
    """The scene's own picture is the one asked for, on either side."""
    here, there = ("left", "right") if rng.integers(2) == 0 else ("right", "left")
    pair = (scene.pixels, other) if here == "left" else (other, scene.pixels)
    right, wrong = [f"the {here} image"], [f"the {there} image"]
    truth = _truth(form, right, wrong, here=here, there=there, **words)
    return msgspec.structs.replace(scene, pixels=scenes.side_by_side(*pair)), truth


def _larger_heart(rng: np.random.Generator) -> Item:
    """Two hearts, one ventricle dilated."""
    scene = scenes.echo_scene(rng, dilated=True)
    return _compared(rng, scene, scenes.heart(rng).pixels, "larger heart")


def _more_sickled(rng: np.random.Generator) -> Item:
    """Two fields, one with many crescents and one with few."""
    many, few = int(rng.integers(12, 17)), int(rng.integers(2, 5))
    fields = [smear(rng, sickled=k, platelets=int(rng.integers(3, 8))) for k in (many, few)]
    scene = scenes.blood(rng, fields[0])
    return _compared(rng, scene, fields[1].pixels, "sickling", many=many, few=few)


def _better_picture(source: str, rng: np.random.Generator) -> Item:
    """The same picture twice, once out of focus and noisy."""
    if source == "smear":
        field = smear(rng, whites=["neutrophil", "lymphocyte"], platelets=5)
        scene = scenes.blood(rng, field)
    else:
        scene = scenes.echo_scene(rng) if source == "heart" else scenes.film_of(rng)
    return _compared(rng, scene, scenes.degraded(rng, scene.pixels), "quality")


# ---------------------------------------------------------------- what is known of a condition

_SCENES: Final[Mapping[str, Builder[Scene]]] = {
    "chest": scenes.film_of,
    "heart": lambda rng: scenes.echo_scene(rng, opened=bool(rng.integers(2))),
    "smear": scenes.sick_blood,
}
_ADDED: Final = ("Action", "Cause", "Prediction", "Symptom")


def _added(task: str, source: str, rng: np.random.Generator) -> Item:
    """A question about what lies beyond the picture: four steps."""
    scene = _SCENES[source](rng)
    reason = task.lower()
    offered = FACTS.wrong[f"{reason}s"]
    wrong = [offered[int(k)] for k in rng.permutation(len(offered))]
    return scene, _truth(
        task,
        getattr(scene.condition, f"{reason}s"),
        wrong,
        look=scene.look,
        diagnosed=_diagnosed(rng, scene),
        reason=getattr(scene.condition, reason),
    )


def _diagnosed(rng: np.random.Generator, scene: Scene) -> str:
    assert scene.condition is not None
    name = scene.condition.name
    return one_of(rng, (f"The likely diagnosis is {name}.", f"The findings point to {name}."))


def _diagnosis(source: str, rng: np.random.Generator) -> Item:
    scene = _SCENES[source](rng)
    assert scene.condition is not None
    name = scene.condition.name
    known = FACTS.chest if source == "chest" else FACTS.smear
    others = [one.name for one in known.values() if one.name != name]
    others += [] if len(others) > 2 else ["polycythaemia vera", "malaria"]
    diagnosed = _diagnosed(rng, scene)
    return scene, _truth("diagnosis", [name], others, look=scene.look, diagnosed=diagnosed)


def _examination(source: str, rng: np.random.Generator) -> Item:
    shown = FACTS.examinations[source]
    others = [one.name for one in FACTS.examinations.values() if one is not shown]
    wrong = (*others, "colonoscopy", "dermoscopy")
    return _SCENES[source](rng), _truth("examination", [shown.name], wrong, look=shown.look)


def _chest_place(rng: np.random.Generator) -> Item:
    scene = scenes.film_of(rng, "pneumothorax", "pleural_effusion", "pneumonia")
    assert scene.condition is not None
    other = "left" if scene.side == "right" else "right"
    return scene, _truth(
        "finding's place",
        [f"the patient's {scene.side} side"],
        [f"the patient's {other} side", "both sides"],
        look=scene.look,
        finding=scene.condition.name,
    )


BUILDERS: Final[Mapping[str, tuple[Builder[Item], ...]]] = {
    "Diagnosis": (
        partial(_diagnosis, "chest"),
        partial(_diagnosis, "smear"),
        partial(_state, "ventricle", "dilated"),
    ),
    "Recognition": (_cell_recognised, partial(_state, "valve", "opened")),
    "Action": (partial(_added, "Action", "chest"), partial(_added, "Action", "smear")),
    "Localization": (_chest_place, _cell_place),
    "Cause": (partial(_added, "Cause", "smear"), partial(_added, "Cause", "chest")),
    "Examination Type": tuple(partial(_examination, of) for of in ("heart", "smear", "chest")),
    "Function": (
        _cell_function,
        lambda rng: _function(scenes.echo_scene(rng), "valve's function", "mitral valve"),
    ),
    "Referring Recognition": (_chamber_referred, _cell_referred),
    "Prediction": (partial(_added, "Prediction", "chest"), partial(_added, "Prediction", "smear")),
    "Grading": (_larger_heart, _more_sickled),
    "Counting": (_cells_counted,),
    "Image Quality": tuple(partial(_better_picture, of) for of in ("heart", "chest", "smear")),
    "Symptom": (partial(_added, "Symptom", "smear"), partial(_added, "Symptom", "chest")),
}
"""By task, the ways to make an item, which take turns."""


def kinds_of(task: str) -> tuple[Kind, ...]:
    """The kinds of question a task may be put as, which take turns."""
    if task in _ADDED:  # open questions have one answer; of these there are several as good
        return ("multiple", "bool", "single")
    if task == "Function":
        return ("multiple", "bool", "single", "short")
    return ("single", "short", "bool")


# ---------------------------------------------------------------- the set


class Order(msgspec.Struct, frozen=True):
    """One item to make: `number` seeds it; `way` is which of the task's ways to make one."""

    number: int
    name: str
    record: int
    task: str
    way: int
    kind: Kind


def _item(folder: Path, seed: int, order: Order) -> dict[str, Any]:
    """A finished item: one line of questions.jsonl."""
    rng = np.random.default_rng([seed, 1, order.number])
    scene, truth = BUILDERS[order.task][order.way](rng)
    opened = opening(rng, order.record, scene.sex, scene.age)
    question, answer = asked(rng, truth, order.kind, opened)
    told = zip(STEPS, (scene.modality, *truth.told), strict=False)
    image = f"{IMAGES}/{order.name}.png"
    # Fast compression: grain hardly compresses, and the set is made while somebody waits.
    Image.fromarray(scene.pixels).save(folder / image, compress_level=1)
    return {
        "case_id": order.name,
        "question": question,
        "answer": answer,
        "image": image,
        "task": order.task,
        "steps": [Step(which, text) for which, text in told],
        "kind": order.kind,
        "patient": f"{order.record:05d}",
        "examination": scene.examination,
    }


JOB = Job("question", Order, dict[str, Any], _item, "pictures", share=16)


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
            name, record = f"question_{names[number]:05d}", int(records[number])
            kind = kinds[(k + k // turn + place) % len(kinds)]
            orders.append(Order(number, name, record, task, k % ways, kind))
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


def _write(folder: Path, plan: Sequence[Order], made: Sequence[dict[str, Any]]) -> None:
    """The items in the order of their names."""
    items = sorted(made, key=lambda one: str(one["case_id"]))
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
