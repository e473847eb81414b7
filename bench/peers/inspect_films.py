"""The films as a task of inspect_ai: `inspect eval inspect_films.py -T films=FILMS.jsonl`."""

import json
from pathlib import Path

from inspect_ai import Task, task
from inspect_ai.dataset import MemoryDataset, Sample
from inspect_ai.model import ChatMessageUser, ContentImage, ContentText, GenerateConfig
from inspect_ai.scorer import match
from inspect_ai.solver import generate


@task
def films(films: str) -> Task:
    place = Path(films)
    samples = []
    for line in place.read_text().splitlines():
        row = json.loads(line)
        shown = ContentImage(image=str(place.parent / row["image"]))
        asked = ChatMessageUser(content=[shown, ContentText(text=row["question"])])
        samples.append(Sample(input=[asked], target=row["answer"], id=row["index"]))
    return Task(
        dataset=MemoryDataset(samples),
        solver=generate(),
        scorer=match(location="begin"),
        config=GenerateConfig(temperature=0.0, max_tokens=10),
    )
