"""Writes what the arithmetic finds to the data files: `PYTHONPATH=tests python -m published.arithmetic`."""

from __future__ import annotations

import json
from importlib.resources import as_file, files

import msgspec

from overread.published import BENCHMARKS, Flag, figures
from published.arithmetic import CHECKS

HEAD = """\
# What does not add up in the printed figures: where, in whose row, which tables it concerns, what is wrong,
# what was found and what was expected. Each is found by the check of tests/published/arithmetic that stands
# above it, and `PYTHONPATH=tests python -m published.arithmetic` writes this file.
"""


def lines(flag: Flag) -> list[str]:
    """A flag as TOML; JSON's strings and lists are TOML's too."""
    facts = msgspec.to_builtins(flag)
    names = ("where", "reader", "tables", "what", "found", "expected", "note")
    return [f"{n} = {json.dumps(facts[n], ensure_ascii=False)}" for n in names if facts[n]]


def main() -> None:
    for benchmark in BENCHMARKS:
        parts = [HEAD]
        for check in CHECKS[benchmark]:
            for flag in check(figures(benchmark)):
                parts.append("\n".join([f"# {check.__name__}", "[[flags]]", *lines(flag), ""]))
        with as_file(files("overread.published") / benchmark / "flags.toml") as place:
            place.write_text("\n".join(parts), encoding="utf-8")


if __name__ == "__main__":
    main()
