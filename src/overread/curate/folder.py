"""A set's folder: a file of records for each step, what each was made of, and by whom.

A file is written beside its place and moved there, so that it is whole or not there. `made.json`
says which file a step read and what it wrote, by digests: what was made of another file than is
there now, or was changed by hand since, is known.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from hashlib import blake2b
from pathlib import Path
from typing import Any, Final

import msgspec

from overread import __version__
from overread.case import BadInput
from overread.curate.records import Record, lines_of, records_in
from overread.curate.steps import WITH_ITEMS
from overread.files import read_bytes
from overread.scratch import scratch_folder

MADE: Final = "made.json"
STORE: Final = "store.sqlite"


class Model(msgspec.Struct, frozen=True, kw_only=True):
    """A model that a step asked: its seats, what its server called itself, and when it replied."""

    identity: str
    name: str
    seats: tuple[str, ...]
    served: tuple[str, ...] = ()
    replies: int = 0
    unanswered: int = 0
    first: str = ""
    last: str = ""


class Made(msgspec.Struct, frozen=True, kw_only=True):
    """How the file of a step came to be."""

    # The step before it, and the digest of its file; empty for `collect`.
    upstream: str = ""
    read: str = ""
    wrote: str
    models: tuple[Model, ...] = ()
    overread: str = __version__


def file_of(folder: Path, step: str) -> Path:
    return folder / f"{step}.jsonl"


def read_step(folder: Path, step: str) -> list[Record]:
    """The records of a step."""
    path = file_of(folder, step)
    if not path.is_file():
        raise BadInput(f"{folder}: {step} was not run yet. Run overread curate {step} {folder}.")
    return records_in(read_bytes(path), str(path))


def steps_there(folder: Path) -> list[str]:
    """The steps whose files are there, in their order."""
    return [step for step in WITH_ITEMS if file_of(folder, step).is_file()]


def upstream_of(folder: Path, step: str) -> str:
    """The newest step before this one whose file is there."""
    before = WITH_ITEMS[: WITH_ITEMS.index(step)] if step in WITH_ITEMS else WITH_ITEMS
    found = [one for one in before if file_of(folder, one).is_file()]
    least = "collect" if step == "ask" else "ask"
    if least not in found:
        raise BadInput(
            f"{folder}: {step} needs what {least} makes. Run overread curate {least} {folder}."
        )
    return found[-1]


def made_in(folder: Path) -> dict[str, Made]:
    """How each file came to be, as far as that is known."""
    path = folder / MADE
    if not path.is_file():
        return {}
    try:
        return msgspec.json.decode(read_bytes(path), type=dict[str, Made])
    except msgspec.MsgspecError as error:
        raise BadInput(f"{path}: {error}. Remove it and run the steps again.") from None


def write_step(
    folder: Path, step: str, records: Iterable[Record], models: Sequence[Model] = ()
) -> None:
    """Put the records of a step into their place, and note what they were made of."""
    data = lines_of(records)
    upstream = "" if step == WITH_ITEMS[0] else upstream_of(folder, step)
    made = Made(
        upstream=upstream,
        read=digest_in(folder, upstream) if upstream else "",
        wrote=_digest(data),
        models=tuple(models),
    )
    # First the note: whoever is killed in between leaves a note of a file that is not there yet.
    put(folder, MADE, to_json({**made_in(folder), step: made}))
    put(folder, file_of(folder, step).name, data)


def put(folder: Path, name: str, data: bytes) -> None:
    """Write a file of the folder, whole or not at all; its owner's alone, as the store is."""
    with scratch_folder(folder) as scratch:
        (scratch / name).write_bytes(data)
        (scratch / name).chmod(0o600)  # captions may be credentialed
        os.replace(scratch / name, folder / name)


def to_json(value: Any) -> bytes:
    """JSON for people and machines, always the same bytes for the same value."""
    return msgspec.json.format(msgspec.json.encode(value, order="deterministic"), indent=2) + b"\n"


def digest_in(folder: Path, step: str) -> str:
    """The digest of the file of a step as it is now."""
    return _digest(read_bytes(file_of(folder, step)))


def _digest(data: bytes) -> str:
    return blake2b(data, digest_size=8).hexdigest()


def stale(folder: Path, steps: Sequence[str] | None = None) -> list[str]:
    """A line for each file that was made of another than is there now, or changed since."""
    found, made = [], made_in(folder)
    there = steps_there(folder)
    for step in there if steps is None else steps:
        note = made.get(step)
        if note is None or note.wrote != digest_in(folder, step):
            found.append(f"{step}.jsonl was changed after `curate {step}` wrote it")
        elif note.upstream:
            before = upstream_of(folder, step)
            if note.upstream != before or note.read != digest_in(folder, before):
                found.append(
                    f"{step}.jsonl was not made of the {before}.jsonl that is there: "
                    f"run overread curate {step} {folder} again"
                )
    return found
