"""One registry of readers: a spec in, a reader out; and readers whose replies are in a file."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Protocol, TypeAlias, runtime_checkable

import msgspec

from overread.case import (
    BadInput,
    Fact,
    Limits,
    Prompt,
    Reader,
    ReaderFailure,
    Reply,
    Traits,
    printable,
)
from overread.files import open_file, size_words
from overread.plugins import OWN, broken, load, only
from overread.readers.guard import Guard
from overread.readers.secret import Secret
from overread.readers.spec import ReaderSpec, holds, known_kinds, parse_spec

if TYPE_CHECKING:
    from overread.readers.openai_http import OpenAIReader

# What opens a kind of reader, our own or a package's.
Opener: TypeAlias = Callable[[ReaderSpec, Guard, Mapping[str, str]], Reader]
_KIND: Final = "kind of reader"
# Shorter keys are words for servers that need none ("EMPTY", "lm-studio"), which a spec may hold.
_REAL = 12


@runtime_checkable
class Served(Reader, Protocol):
    """A reader whose server can be asked what it serves."""

    async def listed(self) -> str: ...


@runtime_checkable
class Attesting(Reader, Protocol):
    """A reader that says how its replies of this process came about: facts for the record, and
    remarks for the user.
    """

    @property
    def facts(self) -> Mapping[str, Fact]: ...
    @property
    def remarks(self) -> tuple[str, ...]: ...


def open_reader(
    spec: str | Mapping[str, Any] | ReaderSpec,
    *,
    guard: Guard,
    environment: Mapping[str, str],
    controls: Mapping[str, Reader],
) -> Reader:
    """Make the reader a spec describes.

    `controls` are the running benchmark's; `environment` is where keys may be; `guard` decides
    where this reader's questions may go. Nothing is connected yet. What a kind names, our
    own or a package's, is called with the spec, the guard and the environment.
    """
    parsed = spec if isinstance(spec, ReaderSpec) else parse_spec(spec)
    kinds = known_kinds()
    named = only(_KIND, parsed.kind, kinds)
    if parsed.kind == "control":
        return _control(parsed, controls)
    opener: Opener = load(_KIND, parsed.kind, kinds)
    if named.origin == OWN:
        return opener(parsed, guard, environment)
    try:
        opened = opener(parsed, guard, environment)
    except BadInput:
        raise
    except Exception as error:  # whatever somebody else's code raises
        raise broken(_KIND, named, "cannot be opened", error) from error
    if not isinstance(opened, Reader):
        wanted = TypeError("it has to have name, identity, traits, limits, reply and close")
        raise broken(_KIND, named, "makes no reader", wanted)
    return OfPackage(opened, named.origin)


async def models_of(
    spec: ReaderSpec, environment: Mapping[str, str] | None
) -> tuple[int, list[str]]:
    """The status and the models with which a server answers; no case is sent to it.

    Without an environment no key is sent either. Raises ReaderFailure where it does not answer.
    """
    spec = msgspec.structs.replace(spec, timeout=10.0)
    if environment is None:
        spec = msgspec.structs.replace(spec, key_env=None)
    reader = open_served(spec, Guard("open"), environment or {})
    try:
        return await reader.models()
    finally:
        await reader.close()


def unlisted(model: str, names: Sequence[str]) -> str:
    """What to say of a model that its server does not list; nothing where it does, or lists none.

    Not an error: some servers answer to any name.
    """
    if not names or model in names:
        return ""
    from difflib import get_close_matches

    near = get_close_matches(model, names, 3, 0.4) or names[:3]
    more = f" and {len(names) - len(near):,} more" if len(names) > len(near) else ""
    return f"it does not list {model}, but {', '.join(near)}{more}; check the model's name"


def open_served(spec: ReaderSpec, guard: Guard, environment: Mapping[str, str]) -> OpenAIReader:
    from overread.readers.openai_http import OpenAIReader

    variable = spec.key_env or "OPENAI_API_KEY"
    value = environment.get(variable, "").strip()  # keys read from files end in a line break
    if not value.isprintable():
        raise BadInput(f"reader {spec.name}: {variable} holds a control character. Set it anew.")
    if spec.key_env and not value:
        # Only what looks like a variable is repeated: a key may have been given in its place.
        shown = variable if variable.isupper() and len(variable) <= 40 else "…"
        raise BadInput(
            f"reader {spec.name}: the variable {shown} named by key_env is not set. "
            f"Set it, or leave key_env out for a server that needs no key."
        )
    if len(value) >= _REAL and holds(spec, value):
        raise BadInput(
            f"reader …: it holds the value of {variable}, and keys are taken from the environment "
            "only. Take it out."
        )
    return OpenAIReader(spec, guard, Secret(value) if value else None)


def open_recorded(spec: ReaderSpec, guard: Guard, environment: Mapping[str, str]) -> Reader:
    return RecordedReader(spec)


def open_human(spec: ReaderSpec, guard: Guard, environment: Mapping[str, str]) -> Reader:
    """A person of a study, `human:STUDY/READER`: what he said, as `study analyse` wrote it."""
    study, _, reader = spec.model.rpartition("/")
    path = Path(study) / "readings" / f"{reader}.jsonl"
    if not study or not path.is_file():
        raise BadInput(
            f'reader "human:{spec.model}": expected human:STUDY/READER of a study that was '
            "analysed. See overread study analyse --help."
        )
    return RecordedReader(
        msgspec.structs.replace(spec, model=str(path), label=spec.label or reader)
    )


def _control(spec: ReaderSpec, controls: Mapping[str, Reader]) -> Reader:
    if spec.model not in controls:
        raise BadInput(
            f'reader "control:{spec.model}": there is no such control here. '
            f"Controls of this benchmark are: {', '.join(sorted(controls)) or 'none'}."
        )
    if spec != ReaderSpec(kind="control", model=spec.model, label=spec.label):
        raise BadInput(f'reader "control:{spec.model}": a control takes no option but label=.')
    control = controls[spec.model]
    return Altered(control, spec.label) if spec.label else control


class Altered:
    """A reader under another name, or with other limits; all else as it is."""

    def __init__(self, reader: Reader, name: str = "", **limits: Any) -> None:
        self.name = name or reader.name
        self.identity = reader.identity
        self.traits = reader.traits
        self.limits: Limits = msgspec.structs.replace(reader.limits, **limits)
        self._reader = reader

    async def reply(self, prompt: Prompt) -> Reply:
        return await self._reader.reply(prompt)

    async def close(self) -> None:
        await self._reader.close()


class OfPackage(Altered):
    """A reader of a package: whatever else its code raises or returns fails one trial."""

    def __init__(self, reader: Reader, origin: str) -> None:
        super().__init__(reader)
        self._origin = origin

    async def reply(self, prompt: Prompt) -> Reply:
        try:
            said = await self._reader.reply(prompt)
        except (ReaderFailure, BadInput):
            raise
        except Exception as error:
            words = printable(" ".join(f"{type(error).__name__}: {error}".split()))[:200]
            raise ReaderFailure(f"{words} ({self._origin})", heals=False) from error
        if not isinstance(said, Reply):
            kind = type(said).__name__
            raise ReaderFailure(f"no Reply: {self._origin} returned {kind}", heals=False)
        return said


# -------------------- `recorded:` readers: replies from a file, found by the digest of the request
#
# A request never names its case, so a recorded reply is filed under the request's digest: the one
# that `overread plan --requests FILE` writes beside each request's text and picture recipe.

_LONGEST_LINE: Final = 1 << 26


class _Line(Reply, frozen=True, kw_only=True):
    """A reply and the digest of the request it answers."""

    request: str


class RecordedReader:
    """Replies kept in a JSON-lines file: `{"request": DIGEST, "text": …}`, one a line."""

    def __init__(self, spec: ReaderSpec) -> None:
        self.name = spec.name
        self.traits: Traits = spec.traits
        self.limits = Limits(concurrency=4, attempts=1)
        self._path = Path(spec.model)
        self._replies, digest = _load(self._path)
        self.identity = f"recorded:{digest}"

    async def reply(self, prompt: Prompt) -> Reply:
        found = self._replies.get(prompt.digest)
        if found is None:
            raise ReaderFailure(f"not recorded: {self._path} has no line for it", heals=False)
        return found

    async def close(self) -> None:
        pass


def _load(path: Path) -> tuple[dict[str, Reply], str]:
    from hashlib import blake2b

    decode = msgspec.json.Decoder(_Line).decode
    replies: dict[str, Reply] = {}
    digest = blake2b(digest_size=8)
    with open_file(path, named=f"recorded replies {path}") as lines:
        for number, raw in enumerate(iter(lambda: lines.readline(_LONGEST_LINE), b""), 1):
            if len(raw) == _LONGEST_LINE:
                raise BadInput(
                    f"{path} line {number} has over {size_words(_LONGEST_LINE)}. Mend it."
                )
            digest.update(raw)
            raw = raw.removeprefix(b"\xef\xbb\xbf") if number == 1 else raw
            if not raw.strip():
                continue
            try:
                line = decode(raw)
            except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
                raise BadInput(
                    f"{path} line {number}: {error}. Expected "
                    '{"request": DIGEST, "text": …} as `overread plan --requests` names them.'
                ) from None
            if line.request in replies:
                raise BadInput(
                    f"{path} line {number}: request {line.request} is there twice. Keep one."
                )
            replies[line.request] = Reply(
                **{name: getattr(line, name) for name in Reply.__struct_fields__}
            )
    return replies, digest.hexdigest()
