"""A process beside this one answers what it is sent, in order; where it is gone nothing hangs."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from overread.beside import Beside

ECHO = """
import os, sys, time
from overread.beside import serve

print("good morning")
os.write(2, b"a warning")

def answer(message):
    print(message)
    os.write(1, b"from below")
    if message == b"wrong":
        raise ValueError(message)
    if message == b"die":
        raise SystemExit(3)
    if message == b"sleep":
        time.sleep(60)
    if message == b"nap":
        time.sleep(0.5)
    return message[::-1]

serve(answer)
"""


def turning_round(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Beside:
    """A module that turns messages round, started."""
    (tmp_path / "turns_round.py").write_text(ECHO)
    monkeypatch.syspath_prepend(tmp_path)
    return Beside("turns_round")


@pytest.fixture
def echo(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Beside:
    return turning_round(tmp_path, monkeypatch)


def gone(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return True
    return False


def test_answers_come_in_the_order_of_messages_however_long_they_are(echo: Beside) -> None:
    messages = [b"", b"one", bytes(range(256)) * 20_000, b"two"]
    answers = [echo.ask(message) for message in messages]
    assert [answer.result(20) for answer in answers] == [message[::-1] for message in messages]


@pytest.mark.parametrize("end", ["by itself", "killed"])
def test_what_a_process_that_is_gone_was_to_answer_is_empty(echo: Beside, end: str) -> None:
    assert echo.ask(b"ab").result(20) == b"ba"
    if end == "killed":
        os.kill(echo._process.pid, signal.SIGKILL)
    answers = [echo.ask(message) for message in (b"die", b"ab", b"cd" * 1_000_000)]
    assert [answer.result(20) for answer in answers] == [b"", b"", b""]


def test_a_module_that_is_not_there_answers_nothing(capfd: pytest.CaptureFixture[str]) -> None:
    nobody = Beside("overread.no_such_module")
    assert nobody.ask(b"ab").result(20) == b""
    assert capfd.readouterr() == ("", "")


def test_closing_ends_a_process_that_still_works(echo: Beside) -> None:
    waiting = echo.ask(b"sleep")
    began = time.monotonic()
    echo.close()
    assert time.monotonic() - began < 20
    assert waiting.cancelled() or waiting.result(1) == b""
    assert gone(echo._process.pid)


def test_it_ends_with_whoever_had_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    echo = turning_round(tmp_path, monkeypatch)
    process = echo._process.pid
    assert echo.ask(b"ab").result(20) == b"ba"
    del echo
    assert gone(process)


def test_an_interrupt_is_for_whoever_asks_alone(echo: Beside) -> None:
    """Ctrl-C goes to a terminal's group of processes, and the process has a group of its own."""
    assert os.getpgid(echo._process.pid) != os.getpgid(0)


@pytest.mark.parametrize("odd", [None, "", "/usr/sbin/uwsgi"])
def test_a_program_that_is_no_python_is_not_started_again(
    odd: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "executable", odd)
    with pytest.raises(OSError, match="starts no Python"):
        Beside("overread.no_such_module")


def test_starting_it_in_vain_leaves_no_pipe_open(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "executable", "/no/such/python3")
    before = len(os.listdir("/proc/self/fd"))
    with pytest.raises(OSError):
        Beside("overread.no_such_module")
    assert len(os.listdir("/proc/self/fd")) == before


def test_nothing_of_it_is_seen_on_a_terminal(
    echo: Beside, capfd: pytest.CaptureFixture[str]
) -> None:
    """Neither what it prints, which is no answer either, nor its errors."""
    assert [echo.ask(b"ab").result(20), echo.ask(b"wrong").result(20)] == [b"ba", b""]
    echo.close()
    assert capfd.readouterr() == ("", "")


def test_it_imports_what_this_process_does(tmp_path: Path) -> None:
    """Not what stands where the command is given, nor, isolated, what the environment names."""
    for folder in ("here", "named"):
        (tmp_path / folder / "overread").mkdir(parents=True)
        for module in ("__init__", "beside"):
            (tmp_path / folder / "overread" / f"{module}.py").write_text(
                f"open({str(tmp_path / 'taken')!r}, 'w')"
            )
    source = str(Path(__file__).parents[1] / "src")
    (tmp_path / "turns_round.py").write_text(ECHO)
    asked = (
        f"import sys; sys.path[1:1] = [{source!r}, {str(tmp_path)!r}]\n"
        "sys.path[:] = [one for one in sys.path if one]\n"
        "from overread.beside import Beside\n"
        "echo = Beside('turns_round')\n"
        "print(echo.ask(b'ab').result(20))"
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
    assert (done.stdout, done.stderr) == ("b'ba'\n", "")
    assert not (tmp_path / "taken").exists()


KILLED = """
import os, signal, sys
sys.path.insert(0, sys.argv[1])
from overread.beside import Beside
beside = Beside("turns_round")
beside.ask(b"ab").result(20)
beside.ask(b"nap")
print(beside._process.pid, flush=True)
os.kill(os.getpid(), signal.SIGKILL)
"""


def test_it_ends_when_whoever_had_it_is_killed(tmp_path: Path) -> None:
    """Also while it works: it finds out when it is done."""
    (tmp_path / "turns_round.py").write_text(ECHO)
    command = [sys.executable, "-c", KILLED, str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert done.stderr == ""
    process, ends = int(done.stdout), time.monotonic() + 20
    while not gone(process) and time.monotonic() < ends:
        time.sleep(0.05)
    assert gone(process)


def test_its_own_thread_may_let_go_of_it_last(echo: Beside) -> None:
    """As the collector of garbage does, in whichever thread it comes to run."""
    process = echo._process.pid
    done = echo.ask(b"ab")
    ended = echo._reader.submit(echo.close)
    assert done.result(20) == b"ba"
    ended.result(20)
    assert gone(process)
