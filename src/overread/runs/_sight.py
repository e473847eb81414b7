"""`sight`, wired: the trials asked afresh, past any kept reply."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

import msgspec

from overread.case import BadInput, Reader, Reply, Trial
from overread.engine import Sources, Store, Studio, Tally, ask, read_back
from overread.readers import Guard, ReaderSpec, open_reader, parse_spec
from overread.runs._asking import run_async
from overread.runs._environment import environment, load_config
from overread.runs._running import Unfinished
from overread.sight import Sight, ask_for_digits, judge_sight
from overread.sight.digits import digits_of

__all__ = ["sight"]


def sight(spec: str, *, seed: int = 0) -> Sight:
    """Say whether a reader receives pixels. The digits are open data, so any host may see them."""
    parsed = parse_spec(spec)
    if parsed.kind == "control":
        raise BadInput(f"{spec}: a control receives pixels by construction. Give a served model.")
    reader = _open(parsed)
    if reader.traits.modality == "text":
        told = "declared modality=text: no picture is ever sent to it"
        return Sight(reader=reader.name, verdict="does not arrive", evidence=(told,))
    first: dict[int, Reply] = {}
    again: dict[int, Reply] = {}
    bare: Reply | None = None
    reasons: list[str] = []

    def plan() -> list[Trial]:
        return list(ask_for_digits(seed, reasoning=reader.traits.reasoning))

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
                number = trial.condition["picture"]
                if reply is None:
                    reasons.append(reason)
                elif isinstance(number, str):
                    bare = bare or reply
                else:
                    (again if trial.repeat else first)[number] = reply
        finally:
            studio.close()
    if not first and bare is None:
        why = reasons[0] if reasons else "no reason was given"
        raise Unfinished(f"{reader.name} answered nothing: {why}. Mend that and ask again.")
    return judge_sight(reader.name, digits_of(seed), first, again, bare, next(iter(reasons), ""))


def _open(spec: ReaderSpec) -> Reader:
    if spec.attempts is None:
        spec = msgspec.structs.replace(spec, attempts=3)
    guard = Guard("open", load_config().share_with)
    return open_reader(spec, guard=guard, environment=environment(), controls={})
