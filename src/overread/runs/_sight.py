"""`sight`, wired: the trials asked afresh, past any kept reply."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

import msgspec

from overread.case import BadInput, Reader, ReaderFailure, Reply, Trial
from overread.engine import Plan, Sources, Store, Studio, Tally, ask, read_back
from overread.readers import (
    Guard,
    ReaderSpec,
    models_of,
    open_reader,
    parse_spec,
    unlisted,
)
from overread.runs._asking import run_async
from overread.runs._environment import environment, load_config
from overread.runs._running import Unfinished
from overread.sight import (
    ClipSight,
    Parts,
    Sight,
    ask_for_digits,
    ask_for_frames,
    judge_clips,
    judge_sight,
)
from overread.sight.digits import digits_of, frames_of


def sight(spec: str, *, seed: int = 0) -> Sight:
    """Say whether a reader receives pixels. The digits are open data, so any host may see them."""
    parsed, reader = _served(spec)
    if reader.traits.modality == "text":
        told = "declared modality=text: no picture is ever sent to it"
        return Sight(reader=reader.name, verdict="does not arrive", evidence=(told,))
    first: dict[int, Reply] = {}
    again: dict[int, Reply] = {}
    bare: Reply | None = None

    def plan() -> list[Trial]:
        return list(ask_for_digits(seed, reasoning=reader.traits.reasoning))

    replies, reasons = _asked(plan, reader)
    for trial, reply in replies:
        number = trial.condition["picture"]
        if isinstance(number, str):
            bare = bare or reply
        else:
            (again if trial.repeat else first)[number] = reply
    listed = _listed(parsed)
    _refuse_silence(reader, bool(first) or bare is not None, reasons, listed)
    why = next(iter(reasons), "")
    found = judge_sight(reader.name, digits_of(seed), first, again, bare, why)
    return msgspec.structs.replace(found, evidence=found.evidence + listed)


def sight_of_clips(spec: str, *, seed: int = 0) -> ClipSight:
    """Say whether every frame of a clip reaches a reader, in the form it takes clips."""
    parsed, reader = _served(spec)
    form = reader.traits.clips
    if reader.traits.modality == "text":
        told = "declared modality=text: no clip is ever sent to it"
        return ClipSight(reader=reader.name, form=form, verdict="does not arrive", evidence=(told,))
    first: dict[int, Reply] = {}
    again: dict[int, Reply] = {}
    parts: dict[str, Reply] = {}
    trials = list(ask_for_frames(seed, reasoning=reader.traits.reasoning))
    replies, reasons = _asked(lambda: trials, reader)
    for trial, reply in replies:
        number = trial.condition["clip"]
        if isinstance(number, str):
            parts[number] = reply
        else:
            (again if trial.repeat else first)[number] = reply
    listed = _listed(parsed)
    _refuse_silence(reader, bool(first) or "none" in parts, reasons, listed)
    why = next(iter(reasons), "")
    found = judge_clips(reader.name, form, frames_of(seed), first, again, Parts(**parts), why)
    return msgspec.structs.replace(found, evidence=found.evidence + listed)


def _listed(spec: ReaderSpec) -> tuple[str, ...]:
    """A line where the server lists models and not this one."""
    if spec.kind != "openai":
        return ()
    try:
        _, names = run_async(models_of(spec, environment()))
    except ReaderFailure:
        return ()
    missing = unlisted(spec.model, names)
    return (f"the server answers, but {missing}",) if missing else ()


def _asked(plan: Plan, reader: Reader) -> tuple[list[tuple[Trial, Reply]], list[str]]:
    """Ask in a store of its own; the replies, and why the others are missing."""
    replies: list[tuple[Trial, Reply]] = []
    reasons: list[str] = []
    with TemporaryDirectory() as scratch, Store(Path(scratch) / "store.sqlite") as store:
        dataset = store.dataset_id("sight", "digits", "open")
        studio = Studio(Sources(store, dataset))

        async def work() -> None:
            try:
                # That all pictures fail alike is a finding here, so nothing stops early.
                tally = Tally(stops_early=False)
                await ask(plan, reader, store, studio, dataset=dataset, tally=tally)
            finally:
                await reader.close()

        try:
            run_async(work())
            for trial, reply, reason in read_back(plan, reader, store, studio):
                if reply is None:
                    reasons.append(reason)
                else:
                    replies.append((trial, reply))
        finally:
            studio.close()
    return replies, reasons


def _refuse_silence(
    reader: Reader, heard: bool, reasons: list[str], listed: tuple[str, ...]
) -> None:
    if not heard:
        why = "; ".join((reasons[0] if reasons else "no reason was given", *listed))
        raise Unfinished(f"{reader.name} answered nothing: {why}. Mend that and ask again.")


def _served(spec: str) -> tuple[ReaderSpec, Reader]:
    parsed = parse_spec(spec)
    if parsed.kind == "control":
        raise BadInput(f"{spec}: a control receives pixels by construction. Give a served model.")
    return parsed, _open(parsed)


def _open(spec: ReaderSpec) -> Reader:
    if spec.attempts is None:
        spec = msgspec.structs.replace(spec, attempts=3)
    guard = Guard("open", load_config().share_with)
    return open_reader(spec, guard=guard, environment=environment(), controls={})
