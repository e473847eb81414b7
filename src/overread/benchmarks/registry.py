"""The benchmarks there are. Adding one is a folder and a line here, or a package of one's own."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from overread.case import BadInput
from overread.plugins import Named, at, load, named

if TYPE_CHECKING:
    from overread.benchmarks.base import Benchmark, Imported


class BuiltIn(NamedTuple):
    """Where a benchmark's class stands, and what the page asks of a reader that never met it."""

    place: str
    question: str


# The name on the command line, and what is known before the class is imported. In the order in
# which the page asks.
BENCHMARKS: Final[Mapping[str, BuiltIn]] = {
    "grounding": BuiltIn("overread.benchmarks.grounding:Grounding", "Did it look?"),
    "m3cot": BuiltIn("overread.benchmarks.m3cot:M3CoT", "Does it reason?"),
    "heartbeat": BuiltIn("overread.benchmarks.heartbeat:Heartbeat", "Can it follow a heart?"),
    "medcmr": BuiltIn("overread.benchmarks.medcmr:MedCMR", "Can it integrate?"),
    "pairs": BuiltIn("overread.benchmarks.pairs:Pairs", "Does it tell pictures apart?"),
}


def known() -> dict[str, tuple[Named, ...]]:
    """Every benchmark by its name, our own and those of installed packages."""
    return named(
        "overread.benchmarks", {name: BENCHMARKS[name].place for name in sorted(BENCHMARKS)}
    )


def benchmark_names() -> list[str]:
    """The names of all benchmarks; nothing is imported for it."""
    return list(known())


def class_of(name: str) -> type[Benchmark]:
    """A benchmark's class: what it declares is known before any set is opened."""
    from overread.benchmarks.base import Benchmark

    found = load("benchmark", name, known())
    if not (isinstance(found, type) and issubclass(found, Benchmark)) or found.name != name:
        (one,) = known()[name]
        raise BadInput(
            f'benchmark "{name}" of the package {one.origin} is no benchmark of that name: '
            f"{one.place} has to be a subclass of overread.benchmarks.base.Benchmark, "
            f'with name = "{name}".'
        )
    return found


def importer(name: str) -> Callable[..., Imported]:
    """What reads results made with the paper's own scripts.

    It takes (cases or None, replies, readers or None, edition, settings, reparse, also).
    """
    place = class_of(name).importer
    if not place:
        raise BadInput(f"{name} has no results to import. Use overread run.")
    found: Callable[..., Imported] = at(place)
    return found


def classes(tell: Callable[[str], None] | None = None) -> Iterator[type[Benchmark]]:
    """Every benchmark that can be imported; `tell` gets a line on a package's that cannot."""
    for name in benchmark_names():
        try:
            yield class_of(name)
        except BadInput as error:
            if tell is not None:
                tell(str(error))


def with_phantoms(tell: Callable[[str], None] | None = None) -> Iterator[type[Benchmark]]:
    """Every benchmark that has synthetic cases."""
    return (one for one in classes(tell) if one.phantoms is not None)


def with_topics() -> list[str]:
    """Every benchmark that can ask readers which take no words."""
    return [one.name for one in classes() if one.topics]


def benchmarks_for_items() -> tuple[str, ...]:
    """Every benchmark that takes the items that curation makes."""
    return tuple(one.name for one in classes() if one.curated.row)


def benchmarks_for_pairs() -> tuple[str, ...]:
    """Every benchmark that takes two items as one."""
    return tuple(one.name for one in classes() if one.curated.pair)


def builder(name: str) -> Any:
    """The module with `Recipe` and `build` that makes a benchmark's sets of official files."""
    place = class_of(name).builder
    if not place:
        have = [one.name for one in classes() if one.builder]
        who = "benchmarks that have one are" if len(have) > 1 else "benchmark that has one is"
        raise BadInput(f'"{name}" has no builder. The {who} {", ".join(have)}.')
    return import_module(place)


def word_power() -> tuple[type[Benchmark], Any]:
    """The benchmark that gives readers a word, and its module that says how many cases it needs."""
    giver = next(one for one in classes() if one.word_power)
    return giver, import_module(giver.word_power)


def questions(names: Iterable[str]) -> dict[str, str]:
    """What a page asks of a reader: of our own benchmarks, and of these.

    Only these are imported; whatever cannot be is asked by its name.
    """
    found = {name: one.question for name, one in BENCHMARKS.items()}
    for name in names:
        if name not in found:
            try:
                found[name] = class_of(name).question or name
            except BadInput:
                found[name] = name
    return found
