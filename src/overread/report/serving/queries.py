"""What a browser asks for, read strictly: whatever is odd is refused in one line."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final
from urllib.parse import parse_qsl

from overread.report.serving.browsable import Browsable, Filter

_MOST_FIELDS: Final = 32
_MOST_DIGITS: Final = 7
_YES: Final = {"yes": True, "no": False}
_FACT: Final = "fact:"

Runs = Sequence[Browsable | None]


class Refused(Exception):
    """A request that is not answered: a status and a line that says nothing of the server."""

    def __init__(self, status: int, line: str) -> None:
        super().__init__(line)
        self.status, self.line = status, line


def cards_wanted(query: str, runs: Runs) -> tuple[int, int, Filter]:
    """Run, page and filter of `run=1&page=0&reader=…&right=yes&flipped=no&fact:NAME=…`."""
    fields = _fields(query)
    run = _run(fields, runs)
    found = runs[run - 1]
    if found is None:
        raise Refused(404, "The cases of this run are not shown.")
    page = _number(fields, "page")
    reader = fields.pop("reader", None)
    if reader is not None and reader not in found.readers:
        raise Refused(400, "reader: the run has none of this name.")
    right, flipped = (_yes_or_no(fields, name) for name in ("right", "flipped"))
    facts = {
        name.removeprefix(_FACT): fields.pop(name)
        for name in list(fields)
        if name.startswith(_FACT)
    }
    if not set(facts) <= set(found.facets):
        raise Refused(400, "fact: cases of the run are not told apart by this.")
    _nothing_left(fields)
    return run, page, Filter(reader=reader, right=right, flipped=flipped, facts=facts)


def picture_wanted(query: str, runs: Runs) -> tuple[int, str, int]:
    """Run, case and number of the slide of `run=1&case=…&n=2`."""
    fields = _fields(query)
    run = _run(fields, runs)
    case, number = fields.pop("case", None), _number(fields, "n")
    _nothing_left(fields)
    if case is None:
        raise Refused(400, "case: say which.")
    found = runs[run - 1]
    if found is None or found.picture is None or case not in found.cases:
        raise Refused(404, "There is no such picture.")
    return run, case, number


def _fields(query: str) -> dict[str, str]:
    try:
        pairs = parse_qsl(
            query,
            keep_blank_values=True,
            strict_parsing=True,
            errors="strict",
            max_num_fields=_MOST_FIELDS,
        )
    except ValueError:  # a UnicodeDecodeError is one
        raise Refused(400, "The query cannot be read.") from None
    fields = dict(pairs)
    if len(fields) < len(pairs):
        raise Refused(400, "The query says something twice.")
    return fields


def _run(fields: dict[str, str], runs: Runs) -> int:
    run = _number(fields, "run")
    if not 1 <= run <= len(runs):
        raise Refused(404, "There is no such run.")
    return run


def _number(fields: dict[str, str], name: str) -> int:
    word = fields.pop(name, "")
    if not (word.isascii() and word.isdigit() and len(word) <= _MOST_DIGITS):
        raise Refused(400, f"{name}: expected a whole number.")
    return int(word)


def _yes_or_no(fields: dict[str, str], name: str) -> bool | None:
    word = fields.pop(name, None)
    if word is not None and word not in _YES:
        raise Refused(400, f"{name}: expected yes or no.")
    return None if word is None else _YES[word]


def _nothing_left(fields: dict[str, str]) -> None:
    if fields:
        raise Refused(400, "The query has a field that means nothing here.")
