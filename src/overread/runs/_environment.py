"""The one place that reads the environment: the user's configuration, keys, caches, machine."""

from __future__ import annotations

import os
import platform
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final, TypeGuard

import msgspec

from overread.case import BadInput
from overread.files import read_toml
from overread.records import Machine

WORKSPACE = ".overread"

_KEYS: Final = 'It may hold share_with = ["HOST"], batch_with = ["HOST"] and store = "FILE".'


class Config(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The user's own settings: `$OVERREAD_CONFIG`, else ~/.config/overread/config.toml.

    Never a file of the working folder: a downloaded data set must not bring its own permission to
    be sent away.
    """

    share_with: tuple[str, ...] = ()
    # Of those, who may keep credentialed data for a batch.
    batch_with: tuple[str, ...] = ()
    store: str | None = None


def environment() -> Mapping[str, str]:
    """The process's environment, for whoever may look a key up in it."""
    return os.environ


class LookedUp(Mapping[str, str]):
    """An environment that remembers which of its variables somebody looked up."""

    def __init__(self, environment: Mapping[str, str]) -> None:
        self._environment = environment
        self.names: dict[str, None] = {}

    def __getitem__(self, name: str) -> str:
        self.names[name] = None
        return self._environment[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._environment)

    def __len__(self) -> int:
        return len(self._environment)


def load_config(environment: Mapping[str, str] | None = None) -> Config:
    """Read the user's configuration; a file that is not there is an empty one."""
    env = os.environ if environment is None else environment
    named = env.get("OVERREAD_CONFIG")
    base = Path(env.get("XDG_CONFIG_HOME") or Path.home() / ".config")
    place = Path(named) if named else base / "overread" / "config.toml"
    if not place.is_file():
        if named:
            raise BadInput(f"OVERREAD_CONFIG={named}: no such file. Make it or unset it.")
        return Config()
    try:
        config = msgspec.convert(read_toml(place), Config)
    except BadInput as error:
        raise BadInput(f"{error} {_KEYS}") from None
    except msgspec.ValidationError as error:
        raise BadInput(f"{place}: {error}. {_KEYS}") from None
    shared, kept = (
        tuple(host.lower().strip() for host in hosts)
        for hosts in (config.share_with, config.batch_with)
    )
    return msgspec.structs.replace(config, share_with=shared, batch_with=kept)


def default_store(named: str | Path | None = None) -> Path | str:
    """The reply store: the one a user names, the configuration's, or the workspace's.

    The link of one that is served stays text.
    """
    place = load_config().store or Path(WORKSPACE) / "store.sqlite" if named is None else named
    return place if is_link(place) else Path(place)


def is_link(place: str | Path) -> TypeGuard[str]:
    """Whether a store is named by a link, behind which another process serves it."""
    return isinstance(place, str) and place.lower().startswith(("http://", "https://"))


def store_token() -> str | None:
    """What opens a served store whose link does not hold it."""
    return os.environ.get("OVERREAD_STORE_TOKEN")


def array_task() -> tuple[int, int] | None:
    """Which task of a Slurm array this is, counted from 1, and of how many; None outside of one.

    A part of an array (one task, or some that are left out) does not tell which part of a run it
    is: most often it is what failed of a whole one, and is sent again.
    """
    names = ("ID", "COUNT", "MIN", "MAX", "STEP")
    found = {name: os.environ.get(f"SLURM_ARRAY_TASK_{name}") for name in names}
    if found["ID"] is None or found["COUNT"] is None:
        return None
    said = " ".join(f"{name}={word}" for name, word in found.items() if word is not None)
    try:
        task, count = int(found["ID"]), int(found["COUNT"])
        first, step = int(found["MIN"] or 1), int(found["STEP"] or 1)
        last = int(found["MAX"] or first + step * (count - 1))
    except ValueError:
        raise BadInput(f"SLURM_ARRAY_TASK_*: {said}; expected numbers. Give --shard I/N.") from None
    place, odd = divmod(task - first, step) if step > 0 else (-1, 1)
    if count < 2 or odd or not 0 <= place < count or last != first + step * (count - 1):
        raise BadInput(
            f"SLURM_ARRAY_TASK_*: {said}: which part of a run this is cannot be told. Give "
            "--shard I/N, or --shard 1/1 for everything."
        )
    return place + 1, count


def cache_folder() -> Path:
    """Where phantoms are kept: `$OVERREAD_CACHE`, else in the workspace."""
    cache = os.environ.get("OVERREAD_CACHE")
    return Path(cache) if cache else Path(WORKSPACE) / "phantoms"


def machine() -> Machine:
    """System, processor, cores and memory, as far as the system tells them."""
    return Machine(
        system=f"{platform.system()} {platform.release()} {platform.machine()}",
        processor=_processor(),
        cores=os.cpu_count() or 0,
        memory_gb=_memory(),
    )


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text("utf-8", "replace").splitlines()
    except OSError:
        return platform.processor()
    named = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(named, platform.processor())


def _memory() -> float:
    try:
        pages, size = os.sysconf("SC_PHYS_PAGES"), os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, ValueError, OSError):
        return 0.0
    return round(pages * size / 1e9, 1)


def give_back() -> None:
    """Have the C library give back to the system what was let go of, where it can be asked to.

    Between the steps of a command: what is freed among things that stay is kept otherwise, and the
    next step would be laid on top of it. It takes some milliseconds.
    """
    import ctypes

    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
    if trim is not None:
        trim(0)
