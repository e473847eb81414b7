"""The reader: a picture is encoded, and the head of what is asked about says how likely it is.

It takes no words: a request reaches it as its picture and the name of what is asked about, so that
no phrasing can change an answer.
"""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

import msgspec

from overread.case import BadInput, Fact, Prompt, Reader, ReaderFailure, Reply, Shown, Traits
from overread.readers.guard import Guard
from overread.readers.in_process import InProcessReader
from overread.readers.probe.encoders import open_encoder
from overread.readers.probe.features import Vectors, features_folder
from overread.readers.probe.heads import Card, Heads, read
from overread.readers.spec import ReaderSpec

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

# What the paper's probe writes where a finding has no head.
UNAVAILABLE: Final = "probe_unavailable"
# A probability of exactly 0 or 1 is none that a logistic head means.
_LEAST: Final = 1e-12
_NOT_FOR_IT: Final = ("system", "before", "after", "max_tokens", "temperature", "logprobs", "extra")


def open_reader(spec: ReaderSpec, guard: Guard, environment: Mapping[str, str]) -> Reader:
    """Read the heads and find the encoder; it is loaded by the first question.

    The guard has nothing to watch: no picture leaves this process.
    """
    given = [name for name in _NOT_FOR_IT if getattr(spec, name)]
    if given or spec.modality == "text":
        what = f"{given[0]}=" if given else "modality=text"
        raise BadInput(f"reader {spec.name}: a probe takes no words, so no {what}. Leave it out.")
    folder = Path(spec.model).expanduser()
    try:
        card, heads, digest = read(folder)
        encoder = open_encoder(card.encoder, spec.device)
    except BadInput as error:
        raise BadInput(f"reader {spec.name}: {error}") from None
    if encoder.identity != card.encoder_identity:
        raise BadInput(
            f"reader {spec.name}: its heads were fitted on {card.encoder_identity}, and "
            f"{card.encoder} is {encoder.identity} now. Fit the probe again, or bring back the "
            "encoder."
        )
    batch = spec.batch or encoder.batch
    parts = ("probe", spec.identity or digest, spec.revision, encoder.runs_as, batch)
    identity = msgspec.json.encode(parts)
    traits = Traits(modality="vision", told_topic=True)

    def load() -> Probe:
        return Probe(card, heads, Vectors(encoder, features_folder(environment)))

    return InProcessReader(spec, identity.decode(), batch, load, traits)


class Probe:
    """An encoder with its heads."""

    def __init__(self, card: Card, heads: Heads, vectors: Vectors) -> None:
        self._card, self._heads, self._kept = card, heads, vectors
        self._stopped = threading.Event()
        self.facts: dict[str, Fact] = {
            "encoder": card.encoder_identity,
            "part": card.part,
            "edition": card.edition,
            "heads": len(heads.findings),
            "missing_heads": ", ".join(one.finding for one in card.missing),
            "train": card.train,
            "train_patients": card.patients,
            "excluded_patients": card.excluded_patients,
        }

    def stop(self) -> None:
        self._stopped.set()

    def answer(self, prompts: Sequence[Prompt]) -> list[Reply]:
        if self._stopped.is_set():
            raise ReaderFailure("stopped: the reader was closed", heals=True)
        began = time.monotonic()
        for prompt in prompts:
            if len(prompt.pictures) != 1 or prompt.clips:
                raise ReaderFailure("a probe is asked about one picture", heals=False)
        vectors = self._vectors([prompt.pictures[0] for prompt in prompts])
        seconds = round(time.monotonic() - began, 6)
        return [
            self._reply(prompt, vector, seconds)
            for prompt, vector in zip(prompts, vectors, strict=True)
        ]

    def _vectors(self, shown: Sequence[Shown]) -> NDArray[np.float32]:
        import numpy as np

        from overread.imaging import pixels

        fresh = {one.digest: one for one in shown if not self._kept.knows(one.digest)}
        if fresh:
            self._kept.learn(list(fresh), [pixels(one) for one in fresh.values()])
        names = [one.digest for one in shown]
        return self._kept.taken(self._card.part, names)(np.arange(len(names)))

    def _reply(self, prompt: Prompt, vector: NDArray[np.float32], seconds: float) -> Reply:
        if vector.size != self._heads.mean.size:
            raise ReaderFailure("the encoder's vectors are of another length", heals=False)
        p = self._heads.probability(prompt.topic, vector)
        model = self._card.encoder_identity
        if p is None:
            return Reply(UNAVAILABLE, finish="stop", seconds=seconds, model=model)
        p = min(max(p, _LEAST), 1 - _LEAST)
        return Reply(
            "Yes" if p >= 0.5 else "No",
            logprobs=(("Yes", math.log(p)), ("No", math.log1p(-p))),
            finish="stop",
            seconds=seconds,
            sent=prompt.pictures[0].digest.hex(),
            model=model,
        )
