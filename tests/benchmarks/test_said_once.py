"""What two benchmarks need is lifted, never written twice: no long run of lines of one shape."""

from __future__ import annotations

import keyword
import re
from collections.abc import Iterator
from pathlib import Path

import overread.benchmarks

ROOM = Path(overread.benchmarks.__file__).parent
FOLDERS = ("grounding", "heartbeat", "m3cot", "medcmr", "pairs")
MOST = 11
# What is no logic: imports and docstrings, comments, lists of bare names, texts and numbers.
IMPORTS = re.compile(r"^\s*(?:from|import) [^(\n]*(?:\([^)]*\))?$", re.MULTILINE)
DOCSTRINGS = re.compile(r'""".*?"""', re.DOTALL)
PASSED_OVER = re.compile(r'#.*|[^\w"]*|(?:(?:name|0|""(?:: (?:name|0|""))?),\s*)+')


def shapes(code: str) -> Iterator[tuple[str, str]]:
    """Each line that says something, and its shape: names, texts and numbers are all alike."""
    for line in DOCSTRINGS.sub("", IMPORTS.sub("", code)).splitlines():
        shape = re.sub(r"\"[^\"]*\"|'[^']*'", '""', line.strip())
        shape = re.sub(r"\b\d[\d_.]*\b", "0", shape)
        shape = re.sub(
            r"[^\W\d]\w*", lambda word: word[0] if keyword.iskeyword(word[0]) else "name", shape
        )
        if shape and not PASSED_OVER.fullmatch(shape):
            yield shape, line


def test_no_two_benchmarks_share_a_dozen_lines() -> None:
    places: dict[tuple[str, ...], tuple[str, str]] = {}
    twice = []
    for folder in FOLDERS:
        for path in sorted((ROOM / folder).rglob("*.py")):
            said = list(shapes(path.read_text(encoding="utf-8")))
            for at in range(len(said) - MOST):
                run = tuple(shape for shape, _ in said[at : at + MOST + 1])
                here = f"{path.relative_to(ROOM)} at {said[at][1].strip()!r}"
                first, where = places.setdefault(run, (folder, here))
                if first != folder:
                    twice.append(f"{where} and {here}")
    assert not twice, "lift what they share:\n" + "\n".join(twice)
