"""The command as a process of its own: streams, locales, and what it imports."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from overread.runs import phantom_cases

OVERREAD = (sys.executable, "-c", "from overread.cli import main; main()")
PLAN = ("plan", "grounding", "--cases", "films", "--reader", "control:looks")
COMMANDS = (
    "demo", "run", "plan", "power", "measure", "build", "import", "transfer", "published", "selfcheck",
    "sight", "doctor", "judge-sample", "error-sample", "rank-sample", "report", "compare",
    "gate", "serve",
)  # fmt: skip


@pytest.fixture
def films(workspace: Path) -> None:
    """Phantoms in the working folder: a process that finds them need not know how they are made."""
    (workspace / "films").symlink_to(phantom_cases("grounding", "phantom:16").parent)


def process(*words: str, **options: object) -> subprocess.CompletedProcess[str]:
    given = {"capture_output": True, "text": True, "timeout": 60, **options}
    return subprocess.run([*OVERREAD, *words], check=False, **given)  # type: ignore[call-overload,no-any-return]


@pytest.mark.parametrize("words", [("--help",), ("--version",), ("run", "--help"), ()])
def test_help_imports_nothing_slow(words: tuple[str, ...]) -> None:
    code = (
        "import sys; from overread.cli import main\n"
        "try: main()\n"
        "finally: print(*sys.modules, file=sys.stderr)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, *words], capture_output=True, text=True, check=True
    )
    loaded = {name.partition(".")[0] for name in done.stderr.split()}
    assert "overread" in loaded
    assert not {"numpy", "scipy", "polars", "aiohttp", "PIL", "pydicom"} & loaded


def test_a_bad_command_is_one_line_and_2(workspace: Path) -> None:
    done = process("measure", "nope")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("overread: nope: not a run folder")
    assert done.stderr.count("\n") == 1


@pytest.mark.parametrize("words", [PLAN, (*PLAN, "--json"), ("doctor",), ("--help",)], ids=" ".join)
def test_a_reader_that_had_enough_is_no_failure(films: None, words: tuple[str, ...]) -> None:
    ours, theirs = os.pipe()
    os.close(ours)
    try:
        done = process(*words, stdout=theirs, stderr=subprocess.PIPE, capture_output=False)
    finally:
        os.close(theirs)
    assert (done.returncode, done.stderr) == (0, "")


def test_a_full_disk_is_said(films: None) -> None:
    with open("/dev/full", "w") as full:
        done = process(*PLAN, stdout=full, stderr=subprocess.PIPE, capture_output=False)
    assert done.returncode == 2
    assert done.stderr == (
        "overread: No space left on device. Mend that and run the same command again.\n"
    )


@pytest.mark.parametrize("closed", ["<&-", ">&-", "2>&-", "<&- >&- 2>&-"])
def test_closed_streams(films: None, closed: str) -> None:
    command = f'"$@" {closed}'
    done = subprocess.run(
        ["bash", "-c", command, "-", *OVERREAD, *PLAN], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")


PLAIN = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0", "PYTHONIOENCODING": "ascii"}


def test_a_locale_without_utf8(workspace: Path) -> None:
    words = ("plan", "grounding", "--cases", "phantom:16", "--reader", "control:looks")
    done = process(*words, env=os.environ | PLAIN)
    assert (done.returncode, done.stderr) == (0, "")
    assert "What a run would ask" in done.stdout


def test_an_argument_the_locale_cannot_read(workspace: Path) -> None:
    done = process(*PLAN, "--reader", "openai:Röntgen@http://h/v1", env=os.environ | PLAIN)
    assert done.returncode == 2
    assert done.stderr == (
        "overread: an argument is not UTF-8. Use a UTF-8 locale, as LC_ALL=C.UTF-8.\n"
    )


@pytest.mark.parametrize("command", [*COMMANDS, "store list", "store forget"])
def test_every_command_has_help_with_an_example(overread, command: str) -> None:
    done = overread(*command.split(), "--help")
    assert done.code == 0
    assert f"Example: overread {command}" in done.out


def test_without_words_there_is_help(overread) -> None:
    assert overread() == overread("--help")
    assert overread("store").out.startswith("Usage:")
