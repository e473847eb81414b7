"""A process beside this one reads what it is told and answers; nothing of it is seen or left."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import IO, NamedTuple

import pytest

from overread.beside import started

ECHO = """
import os, sys, time

print("good morning")
os.write(2, b"a warning")

def main():
    with open(int(sys.argv[2]), "wb") as sent:
        for line in sys.stdin.buffer:
            print(line)
            os.write(1, b"from below")
            if line == b"wrong\\n":
                raise ValueError(line)
            if line == b"nap\\n":
                time.sleep(0.5)
            sent.write(line.strip()[::-1] + b"\\n")
            sent.flush()
"""


class Echo(NamedTuple):
    process: subprocess.Popen[bytes]
    orders: IO[bytes]
    answers: IO[bytes]

    def ask(self, line: bytes) -> bytes:
        self.orders.write(line + b"\n")
        self.orders.flush()
        return self.answers.readline()


@pytest.fixture
def echo(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Echo]:
    """A module that turns lines round, started."""
    (tmp_path / "turns_round.py").write_text(ECHO)
    monkeypatch.syspath_prepend(tmp_path)
    made = Echo(*started("turns_round"))
    yield made
    made.process.kill()
    made.process.wait()
    for pipe in made[1:]:
        pipe.close()


def gone(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return True
    return False


def test_it_answers_what_it_is_told(echo):
    long = bytes(range(65, 91)) * 20_000
    assert [echo.ask(one) for one in (b"", b"ab", long)] == [b"\n", b"ba\n", long[::-1] + b"\n"]


def test_it_ends_when_nobody_can_ask_any_more(echo):
    echo.orders.close()
    assert echo.process.wait(20) == 0
    assert echo.answers.read() == b""


def test_a_module_that_is_not_there_answers_nothing(capfd):
    process, orders, answers = started("overread.no_such_module")
    with orders, answers:
        assert answers.read() == b""
    assert process.wait(20) != 0
    assert capfd.readouterr() == ("", "")


def test_an_interrupt_is_for_whoever_asks_alone(echo):
    """Ctrl-C goes to a terminal's group of processes, and the process has a group of its own."""
    assert os.getpgid(echo.process.pid) != os.getpgid(0)


@pytest.mark.parametrize("odd", [None, "", "/usr/sbin/uwsgi"])
def test_a_program_that_is_no_python_is_not_started_again(odd, monkeypatch):
    monkeypatch.setattr(sys, "executable", odd)
    with pytest.raises(OSError, match="starts no Python"):
        started("overread.no_such_module")


def test_starting_it_in_vain_leaves_no_pipe_open(monkeypatch):
    monkeypatch.setattr(sys, "executable", "/no/such/python3")
    before = len(os.listdir("/proc/self/fd"))
    with pytest.raises(OSError):
        started("overread.no_such_module")
    assert len(os.listdir("/proc/self/fd")) == before


def test_nothing_of_it_is_seen_on_a_terminal(echo, capfd):
    """Neither what it prints, which is no answer either, nor its errors."""
    assert echo.ask(b"ab") == b"ba\n"
    assert echo.ask(b"wrong") == b""
    echo.process.wait(20)
    assert capfd.readouterr() == ("", "")


def test_it_imports_what_this_process_does(tmp_path):
    """Not what stands where the command is given, nor, isolated, what the environment names."""
    for folder in ("here", "named"):
        (tmp_path / folder / "overread").mkdir(parents=True)
        for module in ("__init__", "beside"):
            (tmp_path / folder / "overread" / f"{module}.py").write_text(
                f"open({str(tmp_path / 'taken')!r}, 'w')"
            )
    source = str(Path(__file__).parents[1] / "src")
    (tmp_path / "turns_round.py").write_text("import overread.beside\n" + ECHO)
    asked = (
        f"import sys; sys.path[1:1] = [{source!r}, {str(tmp_path)!r}]\n"
        "sys.path[:] = [one for one in sys.path if one]\n"
        "from overread.beside import started\n"
        "process, orders, answers = started('turns_round')\n"
        "orders.write(b'ab\\n'); orders.close()\n"
        "print(answers.read()); process.wait()"
    )
    environment = os.environ | {"PYTHONPATH": str(tmp_path / "named")}
    done = subprocess.run(
        [sys.executable, "-I", "-c", asked],
        cwd=tmp_path / "here",
        env=environment,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert (done.stdout, done.stderr) == ("b'ba\\n'\n", "")
    assert not (tmp_path / "taken").exists()


KILLED = """
import os, signal, sys
sys.path.insert(0, sys.argv[1])
from overread.beside import started
process, orders, answers = started("turns_round")
orders.write(b"ab\\n"); orders.flush(); answers.readline()
orders.write(b"nap\\n"); orders.flush()
print(process.pid, flush=True)
os.kill(os.getpid(), signal.SIGKILL)
"""


def test_it_ends_when_whoever_had_it_is_killed(tmp_path):
    """Also while it works: it finds out when it is done."""
    (tmp_path / "turns_round.py").write_text(ECHO)
    command = [sys.executable, "-c", KILLED, str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert done.stderr == ""
    process, ends = int(done.stdout), time.monotonic() + 20
    while not gone(process) and time.monotonic() < ends:
        time.sleep(0.05)
    assert gone(process)
