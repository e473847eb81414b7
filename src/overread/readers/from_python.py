"""Models that a program brings: a class with a name and a `reply`, called from a thread."""

from __future__ import annotations

import asyncio
from typing import Any, ClassVar

from overread.case import BadInput, Limits, Modality, Prompt, ReaderFailure, Reply, Traits


class Model:
    """A model of your own: subclass it, give it a `name`, and have `reply` return text.

    `revision` is part of what its replies are kept under: new weights, new revision. `modality`
    "text" gets no pictures. `concurrency` is how many calls may be under way at once, each in a
    thread of its own.

    Examples
    --------
    >>> class AlwaysYes(Model):
    ...     name = "always-yes"
    ...     def reply(self, prompt):
    ...         return "Yes"
    """

    name: ClassVar[str] = ""
    revision: ClassVar[str] = ""
    modality: ClassVar[Modality] = "multimodal"
    concurrency: ClassVar[int] = 1

    def reply(self, prompt: Prompt) -> str | Reply:
        """What it says to a prompt: `prompt.text`, and `prompt.pictures` as encoded bytes."""
        raise NotImplementedError

    def close(self) -> None:
        """Let go of what it holds; called once, when nobody asks any more."""


class PythonReader:
    """A `Model` as a reader."""

    def __init__(self, model: Model) -> None:
        self.name = model.name
        if not self.name or not isinstance(self.name, str):
            raise BadInput(f'{type(model).__name__}: it has no name. Give it one, name = "…".')
        self.identity = f"python:{model.name}@{model.revision}"
        self.traits = Traits(modality=model.modality)
        self.limits = Limits(concurrency=model.concurrency, attempts=1, timeout=86_400)
        self._model = model

    async def reply(self, prompt: Prompt) -> Reply:
        try:
            said: Any = await asyncio.to_thread(self._model.reply, prompt)
        except Exception as error:
            reason = " ".join(f"{type(error).__name__}: {error}".split())
            raise ReaderFailure(reason[:300], heals=False) from error
        if isinstance(said, str):
            return Reply(said)
        if isinstance(said, Reply):
            return said
        kind = type(said).__name__
        raise ReaderFailure(f"reply returned {kind}; it returns text or a Reply", heals=False)

    async def close(self) -> None:
        self._model.close()
