"""One part of a run asked: its replies are kept, and nothing is measured."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from overread.case import Reader
from overread.runs import _asking, _opening
from overread.runs._engines import Engine
from overread.runs._opening import Tell
from overread.runs._running import Asking, Watch, prepared
from overread.runs._shards import Part, store_of


class PartAsked(msgspec.Struct, frozen=True, kw_only=True):
    """What became of a reader's or judge's questions in a part."""

    reader: str
    trials: int
    answered: int
    kept: int
    shared: int
    failed: int
    reasons: dict[str, int]


class PartDone(msgspec.Struct, frozen=True, kw_only=True):
    """A part that was asked: where its replies are, and who failed to answer. No measures."""

    benchmark: str
    part: str
    store: str
    asked: list[PartAsked]

    @property
    def failed(self) -> int:
        return sum(one.failed for one in self.asked)


def run_part(
    benchmark: str,
    cases: str | Path,
    readers: Sequence[str | Mapping[str, Any] | Reader],
    *,
    part: Part,
    judges: Sequence[str | Mapping[str, Any] | Reader] = (),
    edition: str = "corrected",
    store: str | Path | None = None,
    limit: int | None = None,
    only: str | Path | None = None,
    settings: Mapping[str, str] | None = None,
    concurrency: int | None = None,
    fresh: bool = False,
    engine: str = "local",
    address: str | None = None,
    actors: int | None = None,
    watch: Watch | None = None,
    tell: Tell | None = None,
) -> PartDone:
    """Ask one part of a run, readers and judges, and keep the replies. Nothing is measured.

    When all parts are asked their stores are merged; then `run` finds everything answered.
    """
    chosen_engine = Engine(engine, address, actors)
    chosen_engine.check()
    ready = prepared(
        benchmark, cases, readers, judges,
        edition=edition, limit=limit, only=only, settings=settings, concurrency=concurrency,
    )  # fmt: skip
    bench, chosen = ready.bench, ready.chosen.cases
    who = _opening.enrolments(ready.seats)
    if tell is not None:
        for line in _opening.remarks_of(bench):
            tell(line)
    with _asking.work_on(bench, chosen, store_of(part, store), tell, part) as work:
        asking = Asking(work, ready.seats, engine=chosen_engine)
        asking.ask(who, watch, tell, fresh=fresh)
        asked = [
            PartAsked(
                reader=name,
                trials=tally.planned,
                answered=tally.answered,
                kept=tally.kept,
                shared=tally.shared,
                failed=tally.failed,
                reasons=dict(tally.reasons),
            )
            for name, tally in asking.tallies.items()
        ]
        return PartDone(benchmark=bench.name, part=str(part), store=work.store.shown, asked=asked)
