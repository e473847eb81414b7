"""What a run says of itself while it goes on."""

from __future__ import annotations

import time

import pytest

from overread.cli import show
from overread.engine import Tally
from overread.readers import parse_spec


def test_off_a_terminal_all_readers_share_one_line(
    capsys: pytest.CaptureFixture[str],
) -> None:
    shown = [
        (name, Tally(answered=n, failed=1), 40, parse_spec(f"control:{name}"))
        for name, n in (("one", 4), ("two", 20))
    ]
    with show.watch(shown, every=0.05):
        time.sleep(0.5)
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) >= 2
    for line in lines:
        assert line.startswith("one: 5/40, ")
        assert "; two: 21/40, " in line
        assert line.count("1 failed") == 2


def test_no_label_steers_the_terminal_while_it_is_asked(capsys: pytest.CaptureFixture[str]) -> None:
    spec = parse_spec({"kind": "control", "model": "looks", "label": "control:looks red \x1b[31m"})
    with show.watch([(spec.name, Tally(), 3, spec)]):
        pass
    told = capsys.readouterr().err
    assert "red \ufffd[31m" in told
    assert "\x1b" not in told
