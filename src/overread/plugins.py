"""What can be named on the command line: our own, and what installed packages add.

A package adds a benchmark or a kind of reader by an entry point, in its pyproject.toml:

    [project.entry-points."overread.benchmarks"]
    lights = "lights_package:Lights"

Nothing of a package is imported before its name is used.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from functools import cache
from importlib import import_module
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from overread.case import BadInput, printable

if TYPE_CHECKING:
    from importlib.metadata import Distribution

OWN: Final = "overread"
_GROUPS: Final = "[overread."


class Named(NamedTuple):
    """Something that a name stands for: "module:attribute", and the package it comes from."""

    name: str
    place: str
    origin: str = OWN


def named(group: str, own: Mapping[str, str]) -> dict[str, tuple[Named, ...]]:
    """Everything of a group by its name, our own first.

    A name that two packages claim has two; it is refused when it is used, and no other is.
    """
    found: dict[str, tuple[Named, ...]] = {
        name: (Named(name, place),) for name, place in own.items()
    }
    for one in _installed(group, tuple(sys.path)):
        if one not in found.get(one.name, ()):
            found[one.name] = (*found.get(one.name, ()), one)
    return found


@cache
def _installed(group: str, path: tuple[str, ...]) -> tuple[Named, ...]:
    """What packages on the path add, by the order of their names."""
    found = {
        Named(point.name, point.value, f"{package.name} {package.version}")
        for package in _adding(path)
        for point in package.entry_points.select(group=group)
    }
    return tuple(sorted(found))


@cache
def _adding(_path: tuple[str, ...]) -> tuple[Distribution, ...]:
    """The packages that add anything to us, each as it is found first.

    Looked for in the text of their entry points: to take all of them apart takes ten times as long.
    """
    from importlib.metadata import distributions

    found: dict[str, Distribution] = {}
    for package in distributions():
        if _GROUPS in (package.read_text("entry_points.txt") or ""):
            found.setdefault(package.name, package)
    return tuple(found.values())


def known_words(found: Mapping[str, tuple[Named, ...]]) -> str:
    """`one and two of overread; lights of some-package 1.0`; names alone where all are ours."""
    by_origin: dict[str, list[str]] = {}
    for several in found.values():
        for one in several:
            by_origin.setdefault(one.origin, []).append(one.name)
    parts = [f"{_joined(names)} of {origin}" for origin, names in by_origin.items()]
    return "; ".join(parts) if len(by_origin) > 1 else ", ".join(found)


def _joined(names: list[str]) -> str:
    *most, last = names
    return f"{', '.join(most)} and {last}" if most else last


def only(what: str, name: str, found: Mapping[str, tuple[Named, ...]]) -> Named:
    """What a name stands for; `what` is what such a thing is called, as "benchmark"."""
    several = found.get(name, ())
    if not several:
        raise BadInput(f'{what} is "{name}"; the {what}s are {known_words(found)}.')
    if len(several) > 1:
        origins = _joined([one.origin for one in several])
        raise BadInput(f'{what} "{name}" comes from {origins}. Uninstall one of the two packages.')
    return several[0]


def load(what: str, name: str, found: Mapping[str, tuple[Named, ...]]) -> Any:
    """The same, imported."""
    one = only(what, name, found)
    if one.origin == OWN:
        return at(one.place)
    try:
        return at(one.place)
    except (Exception, SystemExit) as error:  # whatever somebody else's module raises
        raise broken(what, one, "cannot be imported", error) from error


def broken(what: str, one: Named, does: str, error: BaseException) -> BadInput:
    """The one line for a package's thing that raised what it should not."""
    said = printable(" ".join(f"{type(error).__name__}: {error}".split()))[:200]
    return BadInput(
        f'{what} "{one.name}" of the package {one.origin} {does} ({said}). Mend or uninstall '
        f"{one.origin.split()[0]}."
    )


def at(place: str) -> Any:
    """The thing at "module:attribute"."""
    module, _, attribute = place.partition(":")
    return attrgetter(attribute)(import_module(module))
