"""What is installed, which data folders and servers answer, and what to do about the rest."""

from __future__ import annotations

import platform
import sqlite3
from collections.abc import Sequence
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path
from typing import Literal

import msgspec

from overread import __version__
from overread.case import BadInput
from overread.engine import Store, is_network_mount
from overread.readers import parse_spec
from overread.runs._asking import run_async
from overread.runs._environment import default_store, environment, load_config
from overread.runs._opening import open_cases

__all__ = ["Finding", "examine"]

_CORE = ("aiohttp", "msgspec", "numpy", "pillow", "polars", "pydicom", "rich", "scipy", "typer")
_EXTRAS = {"dicom": ("pylibjpeg", "openjpeg", "gdcm")}
_PROXIES = ("HTTPS_PROXY", "https_proxy", "HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy")


class Finding(msgspec.Struct, frozen=True):
    """One thing looked at: fine, worth knowing, or wrong with what to do."""

    what: str
    state: Literal["ok", "note", "wrong"]
    detail: str


def examine(
    *, readers: Sequence[str], cases: Sequence[str], store: Path | None = None
) -> list[Finding]:
    """Look at everything a run would need. Sends no case and no key anywhere."""
    return [
        Finding("overread", "ok", f"{__version__} on Python {platform.python_version()}"),
        *(_package(name) for name in _CORE),
        *_extras(),
        *_environment(),
        _store(store),
        *(_cases(path) for path in cases),
        *(run_async(_server(spec)) for spec in readers),
    ]


def _package(name: str) -> Finding:
    try:
        return Finding(name, "ok", version(name))
    except PackageNotFoundError:
        return Finding(name, "wrong", "not installed; run pip install overread again")


def _extras() -> list[Finding]:
    findings = []
    for extra, modules in _EXTRAS.items():
        missing = [name for name in modules if find_spec(name) is None]
        if missing:
            does = "some compressed DICOM files cannot be decoded"
            detail = f'not installed, so {does}; pip install "overread[{extra}]"'
            findings.append(Finding(f"extra {extra}", "note", detail))
        else:
            findings.append(Finding(f"extra {extra}", "ok", "installed"))
    return findings


def _environment() -> list[Finding]:
    findings = []
    try:
        config = load_config()
    except BadInput as error:
        return [Finding("configuration", "wrong", str(error))]
    hosts = ", ".join(config.share_with) or "nobody outside this network"
    findings.append(Finding("credentialed data may go to", "ok", hosts))
    key = "set" if environment().get("OPENAI_API_KEY") else "not set (local servers need none)"
    findings.append(Finding("OPENAI_API_KEY", "ok", key))
    proxies = sorted({name for name in _PROXIES if environment().get(name)})
    if proxies:
        detail = "is set but never used by itself; give a reader the option proxy= if it needs one"
        findings.append(Finding(proxies[0], "note", detail))
    return findings


def _store(path: Path | None) -> Finding:
    try:
        place = path if path is not None else default_store(load_config())
    except BadInput:
        return Finding("store", "wrong", "its place is not known while the configuration is wrong")
    if is_network_mount(place):
        detail = (
            f"{place} lies on a network file system: one process at a time and slower commits; "
            "keep it on a local disk with --store if you can"
        )
        return Finding("store", "note", detail)
    if not place.exists():
        return Finding("store", "ok", f"{place} will be made by the first run")
    try:
        with Store(place) as kept:
            replies, size = kept.count(), place.stat().st_size / 1e6
            return Finding("store", "ok", f"{place}: {replies:,} replies, {size:,.1f} MB")
    except (BadInput, sqlite3.Error) as error:
        return Finding("store", "wrong", f"{place}: {str(error).removeprefix(f'{place}: ')}")


def _cases(path: str) -> Finding:
    from overread.case import Source, Traits
    from overread.imaging import locate

    try:
        bench = open_cases("grounding", path, "corrected", {})
        total = missing = 0
        for case in bench.cases():
            total += 1
            for picture in {
                p.source
                for trial in bench.trials(case, Traits())
                for p in trial.request.pictures
                if isinstance(p.source, Source)
            }:
                try:
                    locate(picture)
                except BadInput:
                    missing += 1
    except BadInput as error:
        return Finding(f"cases {path}", "wrong", str(error))
    if missing:
        detail = f"{total:,} cases, but {missing:,} pictures are not there; check --set root="
        return Finding(f"cases {path}", "wrong", detail)
    return Finding(f"cases {path}", "ok", f"{total:,} cases of {bench.dataset}, {bench.policy}")


async def _server(text: str) -> Finding:
    """Ask a server for its models: no case, no picture and no key is sent."""
    import aiohttp

    try:
        spec = parse_spec(text)
    except BadInput as error:
        return Finding("reader", "wrong", str(error))
    if spec.kind != "openai":
        return Finding(f"reader {spec.name}", "ok", "needs no server")
    url = spec.base_url.rstrip("/") + "/models"
    try:
        timeout = aiohttp.ClientTimeout(total=10)
        async with (
            aiohttp.ClientSession(timeout=timeout) as session,
            session.get(url, allow_redirects=False) as response,
        ):
            return Finding(f"reader {spec.name}", "ok", f"{url} answers (HTTP {response.status})")
    except (aiohttp.ClientError, TimeoutError, OSError) as error:
        detail = f"{url} does not answer ({error or type(error).__name__}); is the server up?"
        return Finding(f"reader {spec.name}", "wrong", detail)
