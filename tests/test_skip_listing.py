"""The suite lists every skip, and in CI fails on one that is not allowed (conftest.py)."""

from __future__ import annotations

from pathlib import Path

import pytest

HERE = Path(__file__).parent
ALLOWED = "# a comment\n\nneeds a scanner.*\n"
PLAIN = ("-p", "no:hypothesispytest", "-p", "no:cacheprovider")  # quicker


@pytest.fixture
def suite(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> pytest.Pytester:
    """An empty suite with our conftest and a list of one allowed reason."""
    monkeypatch.delenv("CI", raising=False)
    monkeypatch.delenv("PYTEST_XDIST_WORKER", raising=False)
    pytester.makeconftest((HERE / "conftest.py").read_text(encoding="utf-8"))
    (pytester.path / "allowed_skips.txt").write_text(ALLOWED, encoding="utf-8")
    return pytester


def skipping(suite: pytest.Pytester, reason: str) -> None:
    suite.makepyfile(
        test_some=f"""
        import pytest

        def test_runs():
            pass

        @pytest.mark.parametrize("n", [1, 2])
        def test_skips(n):
            pytest.skip({reason!r})
        """
    )


def run(suite: pytest.Pytester, workers: int) -> pytest.RunResult:
    if workers:
        return suite.runpytest_subprocess(*PLAIN, "-n", str(workers))
    return suite.runpytest_inprocess(*PLAIN)


def test_no_skip_is_said(suite: pytest.Pytester) -> None:
    suite.makepyfile(test_some="def test_runs(): pass")
    result = run(suite, 0)
    result.stdout.fnmatch_lines(["skips: none"])
    assert result.ret == 0


@pytest.mark.parametrize(
    ("reason", "ci", "workers", "status"),
    [
        ("no patience", "", 0, 0),
        ("no patience", "true", 0, 1),
        ("no patience", "true", 2, 1),
        ("needs a scanner: not here", "true", 0, 0),
        ("this needs a scanner", "true", 0, 1),  # the whole reason must match
    ],
)
def test_in_ci_a_skip_must_be_allowed(
    suite: pytest.Pytester,
    monkeypatch: pytest.MonkeyPatch,
    reason: str,
    ci: str,
    workers: int,
    status: int,
) -> None:
    monkeypatch.setenv("CI", ci)
    skipping(suite, reason)
    result = run(suite, workers)
    result.stdout.fnmatch_lines(["*= skips =*", f"test_some.py::test_skips?1?: {reason}"])
    assert ("not in tests/allowed_skips.txt" in result.stdout.str()) == bool(status)
    assert result.ret == status


@pytest.mark.parametrize("workers", [0, 2])
def test_a_module_that_skips_as_a_whole_counts(
    suite: pytest.Pytester, monkeypatch: pytest.MonkeyPatch, workers: int
) -> None:
    monkeypatch.setenv("CI", "true")
    suite.makepyfile(
        test_whole="import pytest; pytest.importorskip('no_such_module')",
        test_some="def test_runs(): pass",
    )
    result = run(suite, workers)
    result.stdout.fnmatch_lines(["*= skips =*", "*no_such_module*"])
    assert result.ret == 1


def test_a_failure_stays_a_failure(suite: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CI", "true")
    suite.makepyfile(test_some="def test_fails(): assert False")
    assert run(suite, 0).ret == 1


def test_without_the_shared_folder_the_reason_is_allowed(
    suite: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CI", "true")
    (suite.path / "allowed_skips.txt").write_text(
        (HERE / "allowed_skips.txt").read_text(encoding="utf-8"), encoding="utf-8"
    )
    suite.makepyfile(test_some="def test_shared(shared): pass")
    result = run(suite, 0)
    result.stdout.fnmatch_lines(["*test_shared: needs ../shared: not here"])
    assert result.ret == 0
