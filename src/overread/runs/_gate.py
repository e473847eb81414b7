"""Run folders held against a policy. Nobody is asked, nothing is measured again."""

from __future__ import annotations

import os
from collections.abc import Sequence
from errno import EISDIR
from hashlib import sha256
from pathlib import Path

from overread import __version__
from overread.case import BadInput
from overread.records import RUN_FILES, read_measures, read_record
from overread.report import DISCLAIMER
from overread.report.gate import (
    EXIT_CODES,
    OUTCOMES,
    Gated,
    GatedRun,
    judge,
    junit,
    policy_bytes,
    read_policy,
    worst,
)
from overread.scratch import scratch_folder


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
    held = policy_bytes(rules)  # once: what is hashed is what was judged by
    found = read_policy(rules, held)
    runs = _opened([Path(folder) for folder in folders])
    if junit_file is not None:
        _check_junit(Path(junit_file), rules, runs)
    rulings = judge(found, runs, readers)
    outcomes = [ruling.outcome for ruling in rulings]
    outcome = worst(outcomes)
    gated = Gated(
        title=found.title,
        policy=str(policy),
        policy_sha256=sha256(held).hexdigest(),
        overread=__version__,
        outcome=outcome,
        exit_code=EXIT_CODES[outcome],
        counts={name: outcomes.count(name) for name in OUTCOMES},
        rulings=rulings,
        disclaimer=DISCLAIMER,
    )
    if junit_file is not None:
        _write(Path(junit_file), junit(gated))
    return gated


def _opened(folders: Sequence[Path]) -> list[GatedRun]:
    if not folders:
        raise BadInput("no run was given. Give at least one run folder.")
    runs = []
    seen: set[Path] = set()
    for folder in folders:
        record, measures = read_record(folder), read_measures(folder)
        if folder.resolve() in seen:
            raise BadInput(f"{folder}: the run is given twice. Give it once.")
        seen.add(folder.resolve())
        about = (measures.benchmark, measures.edition, measures.signature)
        if about != (record.benchmark, record.edition, record.signature):
            raise BadInput(
                f"{folder}: run.toml and measures.json are of different measurings. "
                f"Run `overread measure {folder}`."
            )
        runs.append(GatedRun(folder=str(folder), record=record, measures=measures))
    return runs


def _check_junit(place: Path, policy: Path, runs: Sequence[GatedRun]) -> None:
    """Refuse a place that is not a JUnit file of ours, before anything is judged."""
    try:
        whole = place.resolve()
        folders = {Path(run.folder).resolve() for run in runs}
        of_a_run = whole.parent in folders or (whole.parent / "run.toml").exists()
        if whole == policy.resolve() or (of_a_run and whole.name in RUN_FILES):
            raise BadInput(f"--junit {place}: it would replace what is judged. Give another file.")
        if place.is_dir():
            raise IsADirectoryError(EISDIR, os.strerror(EISDIR))
        if place.exists():
            # Only a file is opened: a pipe without another end would keep us for ever.
            if not place.is_file():
                raise BadInput(f"--junit {place}: it is no file. Give another name.")
            with place.open("rb") as file:
                start = file.read(_MARK_WITHIN)
            if not start.startswith(b"<?xml") or b"<testsuites" not in start:
                raise BadInput(
                    f"--junit {place}: another file stands there. Move it away, or give another "
                    "name."
                )
    except (OSError, RuntimeError) as error:  # the second is a loop of links
        raise _unwritable(place, error) from None


def _write(place: Path, data: bytes) -> None:
    """Beside its place, and moved there whole."""
    try:
        with scratch_folder(place.parent) as scratch:
            (scratch / place.name).write_bytes(data)
            os.replace(scratch / place.name, place)
    except OSError as error:
        raise _unwritable(place, error) from None


def _unwritable(place: Path, error: OSError | RuntimeError) -> BadInput:
    said = error.strerror if isinstance(error, OSError) else error
    return BadInput(f"--junit {place}: {said}. Give a file that can be written.")


_MARK_WITHIN = 4096
