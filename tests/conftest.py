"""Every skip is listed with its reason; in CI a skip that nobody allowed fails the suite."""

from __future__ import annotations

import gc
import os
import re
import sys
from collections.abc import Iterator
from itertools import groupby
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings

pytest_plugins = "pytester"

HERE = Path(__file__).parent
# Where bytecode is not to be written, each worker and each process that a test starts would compile
# everything anew: a minute of the suite. It is kept with what else pytest keeps.
if sys.dont_write_bytecode:
    sys.dont_write_bytecode, os.environ["PYTHONDONTWRITEBYTECODE"] = False, ""
    sys.pycache_prefix = str(HERE.parent / ".pytest_cache" / "bytecode")
    os.environ["PYTHONPYCACHEPREFIX"] = sys.pycache_prefix

# Tests run side by side: threads of one that wait for each other by spinning take another's core.
for library in ("OPENBLAS", "OMP"):
    os.environ.setdefault(f"{library}_NUM_THREADS", "1")
os.environ.setdefault("POLARS_MAX_THREADS", "1")

# Chance draws others every time; OVERREAD_EXAMPLES=1000 tries harder. Without a stop-watch: a busy
# machine is no failure.
settings.register_profile(
    "suite", max_examples=int(os.environ.get("OVERREAD_EXAMPLES", "40")), deadline=None
)
settings.load_profile("suite")

# Part of the suite, and of no quick look: whole runs, servers, browsers and processes, and files in
# which nearly every test takes a third of a second or waits for something shared that does. A
# single test of that kind is marked where it stands.
SLOW = (
    "bench",
    "browser",
    "cli",
    "integration",
    "runs",
    "benchmarks/grounding/exhibits/test_exhibits.py",
    "benchmarks/grounding/exhibits/test_figures.py",
    "benchmarks/grounding/test_golden.py",
    "benchmarks/grounding/test_golden_calibration.py",
    "benchmarks/grounding/test_golden_robustness.py",
    "benchmarks/grounding/test_golden_wide.py",
    "benchmarks/heartbeat/exhibits/test_exhibits.py",
    "benchmarks/heartbeat/test_controls.py",
    "benchmarks/heartbeat/test_real_echo.py",
    "benchmarks/heartbeat/test_sets_end_to_end.py",
    "benchmarks/m3cot/test_judge_fitness.py",
    "benchmarks/m3cot/test_measures.py",
    "benchmarks/test_laws.py",
    "benchmarks/test_walk.py",
    "imaging/test_real_files.py",
    "phantoms/test_chest_set.py",
    "phantoms/test_heart_set.py",
    "phantoms/test_question_set.py",
    "phantoms/test_vignette_plan.py",
    "phantoms/test_vignette_set.py",
    "readers/test_framing.py",
    "report/test_numbers_on_the_page.py",
    "sight/test_clips.py",
    "sight/test_sight.py",
    "test_skip_listing.py",
)


@pytest.fixture(scope="session")
def shared() -> Path:
    """The folder beside the checkout with golden vectors and sample data, or a skip."""
    folder = HERE.parent.parent / "shared"
    if not folder.is_dir():
        pytest.skip("needs ../shared: not here")
    return folder


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """`make quick` leaves out what is marked slow, by hand or by the file or folder it stands in."""
    slow = {HERE / name for name in SLOW}
    for path, some in groupby(items, key=lambda item: item.path):
        if not slow.isdisjoint((path, *path.parents)):
            for item in some:
                item.add_marker(pytest.mark.slow)


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Iterator[object]:
    """What is imported and collected stays: Python need not look whether it is still used.

    It would look a hundred times while there is more and more of it, a quarter of the time.
    """
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


def _skips(config: pytest.Config) -> list[tuple[str, str]]:
    """(where, why) of every skip. xdist sends its workers' reports here, to the controller."""
    terminal = config.pluginmanager.get_plugin("terminalreporter")
    reports = terminal.stats.get("skipped", []) if terminal else []
    return [(report.nodeid, _reason(report.longrepr)) for report in reports]


def _reason(longrepr: Any) -> str:
    text = longrepr[2] if isinstance(longrepr, list | tuple) else str(longrepr)
    return text.removeprefix("Skipped: ").strip()


def _not_allowed(skips: list[tuple[str, str]]) -> list[tuple[str, str]]:
    lines = (HERE / "allowed_skips.txt").read_text(encoding="utf-8").splitlines()
    allowed = [re.compile(line) for line in lines if line.strip() and not line.startswith("#")]
    return [skip for skip in skips if not any(a.fullmatch(skip[1]) for a in allowed)]


def _in_ci() -> bool:
    return os.environ.get("CI") == "true"


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session: pytest.Session) -> None:
    if hasattr(session.config, "workerinput") or not _in_ci():
        return
    if session.exitstatus in (pytest.ExitCode.OK, pytest.ExitCode.NO_TESTS_COLLECTED) and (
        _not_allowed(_skips(session.config))
    ):
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


def pytest_terminal_summary(
    terminalreporter: pytest.TerminalReporter, config: pytest.Config
) -> None:
    skips = _skips(config)
    if not skips:
        terminalreporter.write_line("skips: none")
        return
    terminalreporter.section("skips")
    forbidden = set(_not_allowed(skips)) if _in_ci() else set()
    for skip in sorted(set(skips)):
        terminalreporter.write_line(f"{skip[0]}: {skip[1]}", red=skip in forbidden)
    if forbidden:
        terminalreporter.write_line(
            f"{len(forbidden)} of them not in tests/allowed_skips.txt: the suite fails. "
            "Make the test run, or allow its reason there.",
            red=True,
        )
