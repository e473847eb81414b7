"""A small reader study of drawn pictures, and people who fill it."""

from __future__ import annotations

from io import BytesIO
from pathlib import Path
from random import Random

from PIL import Image

import overread.case as oc
from overread.benchmarks.people import Ask, ForPeople
from overread.study import Design, Journal, Task, make_study, open_key, open_study
from overread.study.packets import Opened

CONDITIONS = ("original", "target_mask", "irrelevant_mask")
SECRETS = ("patient-", "case-", "pneumonia", "cardiomegaly", *CONDITIONS)


def film(number: int) -> oc.Inline:
    image = Image.new("L", (64, 48), number % 251)
    data = BytesIO()
    image.save(data, "PNG")
    return oc.Inline(data.getvalue())


def screens(cases: int = 12) -> list[ForPeople]:
    """Half of the cases have the finding; two cases a patient; three conditions each."""
    ask = Ask(name="answer", text="Is it there?")
    sure = Ask(name="sure", text="How sure?", kind="scale", options=("1", "2", "3"), required=False)
    found = []
    for case in range(cases):
        finding = ("pneumonia", "cardiomegaly")[case % 2]
        for at, condition in enumerate(CONDITIONS):
            picture = oc.Picture(film(case * 3 + at))
            trial = oc.Trial(
                f"case-{case}",
                {"image": condition},
                oc.Request((oc.Message("user", (picture, "Is it there?")),)),
            )
            found.append(
                ForPeople(
                    case=f"case-{case}",
                    patient=f"patient-{case // 2}",
                    condition=condition,
                    slides=(oc.Slide(label="", picture=picture),),
                    asks=(ask, sure),
                    stratum=(finding, "yes" if case % 4 < 2 else "no"),
                    truth="yes" if case % 4 < 2 else "no",
                    facts={"finding": finding},
                    trial=trial,
                    said={"yes": "Yes", "no": "No"},
                )
            )
    return found


def rendered(picture: oc.Picture | oc.Clip) -> tuple[oc.Shown, int]:
    assert isinstance(picture, oc.Picture)
    assert isinstance(picture.source, oc.Inline)
    return oc.Shown("image/png", picture.source.data), 1


def design(**changed: object) -> Design:
    given = {
        "name": "chest",
        "readers": ["anna", "ben"],
        "task": [Task(kind="presence", cases=8, repeat=0.25, training=2)],
        "benchmark": "x",
        "cases": "x",
        "seed": 3,
        "washout_days": 28,
    }
    return Design(**{**given, **changed})  # type: ignore[arg-type]


def made(folder: Path, wanted: Design | None = None, cases: int = 12) -> Opened:
    wanted = wanted or design()
    tasks = [screens(cases) for _ in wanted.task]
    make_study(
        folder, wanted, tasks, "open", rendered, lambda one: f"request {one.case} {one.condition}"
    )
    return open_study(folder)


def filled(study: Opened, skill: dict[str, float], seed: int = 1) -> None:
    """Everybody answers everything, rightly as often as his skill; a masked finding is not seen."""
    key = open_key(study.folder, "test")
    journal = Journal(study.folder)
    draw = Random(seed)
    for turn in study.schedule:
        shown = key[turn.display]
        truth = "no" if shown.condition == "target_mask" else shown.truth
        right = draw.random() < skill[turn.reader]
        said = truth if right else {"yes": "no", "no": "yes"}[truth]
        journal.put(turn.reader, turn.display, {"answer": said, "sure": str(draw.randint(1, 3))})
    journal.close()
