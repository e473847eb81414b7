"""Run folders held against a policy. Nobody is asked, nothing is measured again."""

from __future__ import annotations

import os
from collections.abc import Sequence
from errno import EISDIR
from hashlib import sha256
from pathlib import Path

from overread import __version__
from overread.case import BadInput
from overread.records import RUN_FILES
from overread.report import DISCLAIMER
from overread.report import gate as rules_of
from overread.report.gate import Gated, GatedRun
from overread.runs._kept import records_of
from overread.runs._reporting import check_ours, file_being_written, writing_to


def gate(
    folders: Sequence[str | Path],
    policy: str | Path,
    *,
    readers: Sequence[str] = (),
    junit_file: str | Path | None = None,
) -> Gated:
    """Hold the measures of some runs against a policy file.

    `readers` are the only ones that "*" in the policy then stands for. With `junit_file` the
    rulings are written there, too. Its `exit_code` is 0 if every rule is met, 1 if one is broken,
    and 4 if none is broken but the data cannot tell of one.
    """
    rules = Path(policy)
    held = rules_of.policy_bytes(rules)  # once: what is hashed is what was judged by
    found = rules_of.read_policy(rules, held)
    runs = [
        GatedRun(folder=str(folder), record=record, measures=measures)
        for folder, record, measures in records_of([Path(folder) for folder in folders])
    ]
    if junit_file is not None:
        _check_junit(Path(junit_file), rules, runs)
    rulings = rules_of.judge(found, runs, readers)
    outcomes = [ruling.outcome for ruling in rulings]
    outcome = rules_of.worst(outcomes)
    gated = Gated(
        title=found.title,
        policy=str(policy),
        policy_sha256=sha256(held).hexdigest(),
        overread=__version__,
        outcome=outcome,
        exit_code=rules_of.EXIT_CODES[outcome],
        counts={name: outcomes.count(name) for name in rules_of.OUTCOMES},
        rulings=rulings,
        disclaimer=DISCLAIMER,
    )
    if junit_file is not None:
        called, data = f"--junit {junit_file}", rules_of.junit(gated)
        with file_being_written(called, Path(junit_file)) as made, writing_to(called):
            made.write_bytes(data)
    return gated


def _check_junit(place: Path, policy: Path, runs: Sequence[GatedRun]) -> None:
    """Refuse a place that is not a JUnit file of ours, before anything is judged."""
    called = f"--junit {place}"
    with writing_to(called):
        whole = place.resolve()
        folders = {Path(run.folder).resolve() for run in runs}
        of_a_run = whole.parent in folders or (whole.parent / "run.toml").exists()
        if whole == policy.resolve() or (of_a_run and whole.name in RUN_FILES):
            raise BadInput(f"{called}: it would replace what is judged. Give another file.")
        if place.is_dir():
            raise IsADirectoryError(EISDIR, os.strerror(EISDIR))
        check_ours(called, place, lambda start: start[:5] == b"<?xml" and b"<testsuites" in start)
