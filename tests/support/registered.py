"""What benchmarks declare, as tests go through it: their metrics, and the tables of their rules."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from overread.benchmarks.registry import BENCHMARKS, class_of
from overread.benchmarks.rules import Rulebook
from overread.plugins import at


def metrics() -> Iterator[tuple[str, Any]]:
    """Every registered metric of every benchmark as (benchmark, metric), for the law tests."""
    for name in sorted(BENCHMARKS):
        if place := class_of(name).metrics:
            found = at(place)
            for metric in found.values() if isinstance(found, Mapping) else found:
                yield name, metric


def rules_table(book: Rulebook[Any, Any]) -> list[str]:
    """The rows of docs/editions.md that list the rules."""
    return _table(
        ("rule", "authors", "corrected", "decides"),
        (
            (name, _word(rule.authors), _word(rule.corrected), rule.why)
            for name, rule in book.rules.items()
        ),
    )


def options_table(book: Rulebook[Any, Any]) -> list[str]:
    """The rows of docs/editions.md that list the options."""
    standard = book.settings("corrected")[1]
    return _table(
        ("option", "default", "says"),
        (
            (name, option.written or _word(getattr(standard, name)), option.why)
            for name, option in book.options.items()
        ),
    )


def _table(titles: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    """A table of Markdown whose cells but the last are code."""
    lines = [f"| {' | '.join(titles)} |", f"|{'---|' * len(titles)}"]
    for *cells, last in rows:
        code = [cell if cell == _UNSET else f"`{cell}`" for cell in cells]
        lines.append(f"| {' | '.join([*code, last])} |")
    return lines


_UNSET = "–"


def _word(value: Any) -> str:
    if value in (None, ()):
        return _UNSET
    return ",".join(str(one) for one in value) if isinstance(value, tuple) else str(value)
