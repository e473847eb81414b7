"""`sight`, wired: the trials asked afresh, past any kept reply."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

import msgspec

from overread.case import BadInput, Reader, ReaderFailure, Reply, Trial
from overread.engine import Sources, Store, Studio, Tally, ask, read_back
from overread.readers import Guard, ReaderSpec, models_of, open_reader, parse_spec, unlisted
from overread.runs._asking import run_async
from overread.runs._environment import environment, load_config
from overread.runs._running import Unfinished
from overread.sight import (
    ClipSight,
    Sight,
    ask_for_digits,
    ask_for_frames,
    digits_of,
    frames_of,
    judge_clips,
    judge_sight,
)


def sight(spec: str, *, seed: int = 0) -> Sight:
    """Say whether a reader receives pixels. The digits are open data, so any host may see them."""
    parsed, reader = _served(spec)
    if reader.traits.modality == "text":
        told = "declared modality=text: no picture is ever sent to it"
        return Sight(reader=reader.name, verdict="does not arrive", evidence=(told,))
    heard = _heard(parsed, reader, list(ask_for_digits(seed, reasoning=reader.traits.reasoning)))
    found = judge_sight(
        reader.name, digits_of(seed), heard.first, heard.again, heard.others.get("none"), heard.why
    )
    return msgspec.structs.replace(found, evidence=found.evidence + heard.listed)


def sight_of_clips(spec: str, *, seed: int = 0) -> ClipSight:
    """Say whether every frame of a clip reaches a reader, in the form it takes clips."""
    parsed, reader = _served(spec)
    form = reader.traits.clips
    if reader.traits.modality == "text":
        told = "declared modality=text: no clip is ever sent to it"
        return ClipSight(reader=reader.name, form=form, verdict="does not arrive", evidence=(told,))
    heard = _heard(parsed, reader, list(ask_for_frames(seed, reasoning=reader.traits.reasoning)))
    found = judge_clips(
        reader.name, form, frames_of(seed), heard.first, heard.again, heard.others, heard.why
    )
    return msgspec.structs.replace(found, evidence=found.evidence + heard.listed)


class _Heard(NamedTuple):
    """Replies to what was shown by its number, the first time and again, and to all else by name.

    `why` is the first reason for which a reply is missing, `listed` a line on the server's models.
    """

    first: dict[int, Reply]
    again: dict[int, Reply]
    others: dict[str, Reply]
    why: str
    listed: tuple[str, ...]


def _heard(spec: ReaderSpec, reader: Reader, trials: Sequence[Trial]) -> _Heard:
    """Ask in a store of its own; where nothing at all is heard, say why."""
    first: dict[int, Reply] = {}
    again: dict[int, Reply] = {}
    others: dict[str, Reply] = {}
    reasons: list[str] = []
    with TemporaryDirectory() as scratch, Store(Path(scratch) / "store.sqlite") as store:
        dataset = store.dataset_id("sight", "digits", "open")
        studio = Studio(Sources(store, dataset))

        async def work() -> None:
            try:
                # That all pictures fail alike is a finding here, so nothing stops early.
                tally = Tally(stops_early=False)
                await ask(lambda: trials, reader, store, studio, dataset=dataset, tally=tally)
            finally:
                await reader.close()

        try:
            run_async(work())
            for trial, reply, reason in read_back(lambda: trials, reader, store, studio):
                (shown,) = trial.condition.values()  # which picture or clip
                if reply is None:
                    reasons.append(reason)
                elif isinstance(shown, str):
                    others.setdefault(shown, reply)
                else:
                    (again if trial.repeat else first)[shown] = reply
        finally:
            studio.close()
    listed = _listed(spec)
    if not first and "none" not in others:
        why = "; ".join((reasons[0] if reasons else "no reason was given", *listed))
        raise Unfinished(f"{reader.name} answered nothing: {why}. Mend that and ask again.")
    return _Heard(first, again, others, next(iter(reasons), ""), listed)


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


def _served(spec: str) -> tuple[ReaderSpec, Reader]:
    parsed = parse_spec(spec)
    if parsed.kind == "control":
        raise BadInput(f"{spec}: a control receives pixels by construction. Give a served model.")
    if parsed.attempts is None:
        parsed = msgspec.structs.replace(parsed, attempts=3)
    guard = Guard("open", load_config().share_with)
    return parsed, open_reader(parsed, guard=guard, environment=environment(), controls={})
