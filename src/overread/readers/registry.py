"""One registry of readers: a spec in, a reader out."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Protocol, runtime_checkable

from overread.case import BadInput, Prompt, Reader, Reply
from overread.readers.guard import Guard
from overread.readers.secret import Secret
from overread.readers.spec import ReaderSpec, parse_spec

__all__ = ["Served", "open_reader"]


@runtime_checkable
class Served(Reader, Protocol):
    """A reader whose server can be asked what it serves."""

    async def listed(self) -> str: ...


def open_reader(
    spec: str | Mapping[str, Any] | ReaderSpec,
    *,
    guard: Guard,
    environment: Mapping[str, str],
    controls: Mapping[str, Reader],
) -> Reader:
    """Make the reader a spec describes.

    `controls` are the running benchmark's; `environment` is where keys may be; `guard` decides
    where this reader's questions may go. Nothing is connected yet.
    """
    parsed = spec if isinstance(spec, ReaderSpec) else parse_spec(spec)
    makers: dict[str, Callable[[], Reader]] = {
        "openai": lambda: _openai(parsed, guard, environment),
        "control": lambda: _control(parsed, controls),
        "recorded": lambda: _recorded(parsed),
    }
    return makers[parsed.kind]()


def _openai(spec: ReaderSpec, guard: Guard, environment: Mapping[str, str]) -> Reader:
    from overread.readers.openai_http import OpenAIReader

    variable = spec.key_env or "OPENAI_API_KEY"
    value = environment.get(variable, "").strip()  # keys read from files end in a line break
    if not value.isprintable():
        raise BadInput(f"reader {spec.name}: {variable} holds a control character. Set it anew.")
    if spec.key_env and not value:
        raise BadInput(
            f"reader {spec.name}: the variable {variable} named by key_env is not set. "
            f"Set it, or leave key_env out for a server that needs no key."
        )
    return OpenAIReader(spec, guard, Secret(value) if value else None)


def _control(spec: ReaderSpec, controls: Mapping[str, Reader]) -> Reader:
    if spec.model not in controls:
        raise BadInput(
            f'reader "control:{spec.model}": there is no such control here. '
            f"Controls of this benchmark are: {', '.join(sorted(controls)) or 'none'}."
        )
    if spec != ReaderSpec(kind="control", model=spec.model, label=spec.label):
        raise BadInput(f'reader "control:{spec.model}": a control takes no option but label=.')
    control = controls[spec.model]
    return Renamed(control, spec.label) if spec.label else control


class Renamed:
    """A reader under another name, all else as it is."""

    def __init__(self, reader: Reader, name: str) -> None:
        self.name = name
        self.identity = reader.identity
        self.traits = reader.traits
        self.limits = reader.limits
        self._reader = reader

    async def reply(self, prompt: Prompt) -> Reply:
        return await self._reader.reply(prompt)

    async def close(self) -> None:
        await self._reader.close()


def _recorded(spec: ReaderSpec) -> Reader:
    from overread.readers.recorded import RecordedReader

    return RecordedReader(spec)
