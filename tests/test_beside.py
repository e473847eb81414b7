"""A process beside this one answers what it is sent, in order; where it is gone nothing hangs."""

import os
import signal
import sys
import time
from pathlib import Path

import pytest

from overread.beside import Beside

ECHO = """
import time
from overread.beside import serve

def answer(message):
    if message == b"die":
        raise SystemExit(3)
    if message == b"sleep":
        time.sleep(60)
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
    assert Beside("overread.no_such_module").ask(b"ab").result(20) == b""


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
