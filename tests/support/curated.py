"""Folders of a set under way, and steps that ask, for tests of curation."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import msgspec

from overread.benchmarks.curated import Candidate, Item, Step
from overread.case import Picture, Source
from overread.curate.folder import write_step
from overread.curate.questions import Question, Steps, user
from overread.curate.records import record
from overread.curate.wanted import Wanted

ROLES = ("writer",)

CURATE = 'name = "made-up"\n[models]\nwriter = "openai:writer@http://127.0.0.1:9/v1"\n'


def set_folder(at: Path, n: int = 3, text: str = CURATE) -> Path:
    """A folder whose `ask` made items of so many small open pictures."""
    at.mkdir(parents=True, exist_ok=True)
    (at / "curate.toml").write_text(text)
    pictures = at / "pictures"
    pictures.mkdir()
    (pictures / "dataset.toml").write_text('policy = "open"\n')
    candidates = [candidate_at(pictures, number) for number in range(n)]
    write_step(at, "collect", [record(one, parents=()) for one in candidates])
    items = [item_of(one) for one in candidates]
    made = zip(items, candidates, strict=True)
    write_step(at, "ask", [record(item, parents=[one]) for item, one in made])
    return at


def candidate_at(folder: Path, number: int) -> Candidate:
    """A small picture of its own shade."""
    from PIL import Image

    Image.new("L", (24, 24), 40 + number).save(folder / f"{number}.png")
    return Candidate(
        picture=Picture(Source(str(folder), f"{number}.png")),
        source=f"{number:032x}",
        collection="shades",
        licence="CC0-1.0",
        caption=f"a patch of shade {number}",
        labels=(f"shade {number}",),
        modality="X-ray",
    )


def item_of(candidate: Candidate) -> Item:
    return Item(
        candidates=(candidate.id,),
        pictures=(candidate.picture,),
        question="Which shade is it?",
        kind="short",
        answers=candidate.labels,
        caption=candidate.caption,
        task="Recognition",
        dimension="FDD",
        licences=(candidate.licence,),
    )


def explain(items: Sequence[Item], wanted: Wanted) -> Steps:
    """A step of two rounds, as the docstring of `overread.curate` has it."""
    (writer,) = wanted.seats("writer")
    heard = yield [
        Question(
            to=writer,
            item=item.id,
            about={"ask": "why"},
            messages=user(*item.pictures, f"Why is it {item.answers[0]}? One line."),
        )
        for item in items
    ]
    long = [one for one in heard if one.text is not None and "\n" in one.text.strip()]
    mended = yield [one.question.again(one.text or "", "One line only.") for one in long]
    said = {one.question.item: one for one in (*heard, *mended)}
    records = []
    for item in items:
        one = said[item.id]
        if one.text is None:
            records.append(record(item, by=[one.by], verdict="dropped", reason=one.lack))
        else:
            step = Step("analysis", one.text.strip())
            better = msgspec.structs.replace(item, steps=(*item.steps, step))
            records.append(record(better, parents=[item], by=[one.by]))
    return records
