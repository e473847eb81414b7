"""No room outside a benchmark's own folder names a benchmark, or one of its measures."""

from __future__ import annotations

import io
import re
import subprocess
import sys
import tokenize
from collections.abc import Iterator
from pathlib import Path

import pytest

from overread.benchmarks.registry import BENCHMARKS, class_of
from support.registered import metrics

SOURCE = Path(__file__).parents[1] / "src" / "overread"
# The one table of our own benchmarks; the printed figures; and the patients that each set is made
# of, who stand where its benchmark says that they are made.
OWN = {"benchmarks/registry.py", *(f"benchmarks/{name}/" for name in BENCHMARKS), "published/"}
ORGANS = {
    made.maker.partition(":")[0].rpartition(".")[2]
    for name in BENCHMARKS
    if (made := class_of(name).phantoms) is not None
}
# A name that is a word of its own is looked for where modules are named.
ORDINARY = {"pairs"}
NAMES = re.compile(
    rf"\b(?:{'|'.join(set(BENCHMARKS) - ORDINARY)})\b|benchmarks\.(?:{'|'.join(ORDINARY)})\b"
)
# A process's sign of life; and whose way of drawing is reproduced, as it would be cited.
OTHER_SENSE = re.compile(r"heartbeat counts|as the grounding paper(?:'s code)? draws")


def rooms() -> Iterator[tuple[str, Path]]:
    for path in sorted(SOURCE.rglob("*.py")):
        where = path.relative_to(SOURCE).as_posix()
        organ = path.stem.partition("_")[0] if where.startswith("phantoms/") else ""
        if not where.startswith(tuple(OWN)) and organ not in ORGANS:
            yield where, path


def told(text: str) -> Iterator[tuple[int, str]]:
    """Lines that are no example: those of a docstring's `Example:` and `>>>` may name one."""
    for number, line in enumerate(text.splitlines(), 1):
        if "Example: overread" not in line and not line.strip().startswith(">>>"):
            yield number, OTHER_SENSE.sub("", line)


def test_no_room_names_a_benchmark() -> None:
    found = [
        f"{where}:{number}: {line.strip()}"
        for where, path in rooms()
        for number, line in told(path.read_text(encoding="utf-8"))
        if NAMES.search(line)
    ]
    assert found == []


def test_no_room_outside_names_a_measure() -> None:
    """As a text of its own; `accuracy` in a sentence names none."""
    names = {metric.name for _, metric in metrics()}
    # What rooms themselves make: shared records of coverage and of judges, and words of roles.
    shared = {"answered", "unparsed", "refused", "unanswered", "cut_off", "left_out", "score"}
    names = {name for name in names if not name.startswith("judge") and len(name) > 2} - shared
    found = []
    for where, path in rooms():
        if where.startswith(("measuring/", "stats/", "judging/", "benchmarks/")):
            continue  # they make measures, or stand beside the benchmarks
        text = path.read_text(encoding="utf-8")
        for token in tokenize.generate_tokens(io.StringIO(text).readline):
            if token.type == tokenize.STRING and token.string.strip("'\"") in names:
                found.append(f"{where}:{token.start[0]}: {token.string}")
    assert found == []


@pytest.mark.slow
@pytest.mark.parametrize("benchmark", BENCHMARKS)
def test_a_benchmark_loads_no_other(benchmark: str) -> None:
    """Nor does its page, or the page of errors."""
    others = [f"overread.benchmarks.{name}" for name in BENCHMARKS if name != benchmark]
    code = (
        "import sys; from overread.benchmarks.registry import class_of, questions\n"
        f"class_of({benchmark!r}); questions([{benchmark!r}])\n"
        "import overread.report, overread.report.document\n"
        "import overread.runs; overread.runs.report; overread.runs.run; overread.runs.gate\n"
        f"print([name for name in sys.modules if name.startswith(tuple({others!r}))])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"
