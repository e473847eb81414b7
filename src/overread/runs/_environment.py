"""The one place that reads the environment: the user's configuration, keys, caches, machine."""

from __future__ import annotations

import os
import platform
from collections.abc import Mapping
from pathlib import Path
from typing import Final

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


def default_store(named: str | Path | None = None) -> Path:
    """The reply store: the one a user names, the configuration's, or the workspace's."""
    place = load_config().store or Path(WORKSPACE) / "store.sqlite" if named is None else named
    return Path(place)


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
