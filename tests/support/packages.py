"""Installed packages made up on the spot: a module and its metadata in a folder on the path."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from overread import plugins

__all__ = ["install"]


def install(
    place: Path,
    monkeypatch: pytest.MonkeyPatch,
    package: str,
    code: str,
    version: str = "1.0",
    **groups: str,
) -> None:
    """A package of one module; `benchmarks="lights = module:Lights"` is its entry points."""
    module = package.replace("-", "_")
    place.mkdir(exist_ok=True)
    (place / f"{module}.py").write_text(code, encoding="utf-8")
    info = place / f"{module}-{version}.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {package}\nVersion: {version}\n")
    lines = [f"[overread.{group}]\n{line}\n" for group, line in groups.items()]
    (info / "entry_points.txt").write_text("".join(lines))
    if str(place) not in sys.path:
        monkeypatch.syspath_prepend(place)
    monkeypatch.delitem(sys.modules, module, raising=False)
    plugins._installed.cache_clear()
