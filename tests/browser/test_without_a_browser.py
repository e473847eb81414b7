"""Where there is no browser these tests say so, and what must pass before a merge fails for it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from support import chromium

ALLOWED = Path(__file__).resolve().parents[1] / "allowed_skips.txt"


@pytest.mark.parametrize("missing", ["_path", "find_spec"])
def test_the_reason_is_said_and_allowed_nowhere(
    monkeypatch: pytest.MonkeyPatch, missing: str
) -> None:
    monkeypatch.setattr(chromium, "_path", lambda: "/usr/bin/chromium")
    monkeypatch.setattr(chromium, missing, lambda *_: None)
    reason = chromium.why_not()
    assert reason is not None
    assert reason.startswith("needs ")
    for line in ALLOWED.read_text(encoding="utf-8").splitlines():
        assert line.startswith("#") or not line or not re.fullmatch(line, reason)
