"""What is printed while readers are asked."""

from __future__ import annotations

import pytest

from overread.cli.show import watch
from overread.engine import Tally
from overread.readers import parse_spec


def test_no_label_steers_the_terminal_while_it_is_asked(capsys: pytest.CaptureFixture[str]) -> None:
    spec = parse_spec({"kind": "control", "model": "looks", "label": "red \x1b[31m"})
    with watch([(spec.name, Tally(), 3, spec)]):
        pass
    told = capsys.readouterr().err
    assert "red \ufffd[31m" in told
    assert "\x1b" not in told
