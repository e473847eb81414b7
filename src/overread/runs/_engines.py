"""Where trials are shown and asked: in this process, or by the actors of a Ray cluster."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Final

import msgspec

from overread.case import BadInput, Policy
from overread.readers import Guard, PythonReader
from overread.runs._environment import environment, load_config
from overread.runs._opening import Seat, Tell

if TYPE_CHECKING:
    from overread.engine.on_ray import Cluster

ENGINES: Final = ("local", "ray")
# Kinds whose model fills a device: each actor has its own. Others share a server.
_FILLS: Final = ("hf", "vllm")


class Engine(msgspec.Struct, frozen=True):
    """What a user says of it: which, and of Ray the address of a cluster and how many actors."""

    name: str = "local"
    address: str | None = None
    actors: int | None = None

    def check(self) -> None:
        """Raise BadInput where it is none, or is not there."""
        if self.name not in ENGINES:
            raise BadInput(f"--engine {self.name}: there are {' and '.join(ENGINES)}.")
        if self.name == "ray":
            from overread.engine.on_ray import check

            check(self.address, self.actors)
        elif self.address is not None or self.actors is not None:
            option = "--address" if self.address is not None else "--actors"
            raise BadInput(f"{option} goes with --engine ray. Give both, or leave it out.")

    def cluster(self, seats: Sequence[Seat], policy: Policy, tell: Tell | None) -> Cluster | None:
        """Who settles the trials of these readers and judges; None for this process."""
        self.check()
        if self.name == "local":
            return None
        from overread.engine.on_ray import Cluster, Seated

        seated = [
            Seated(
                name=seat.called,
                opens=seat.opens,
                variables=partial(_values, seat.variables),
                whole=seat.spec.kind in _FILLS or isinstance(seat.reader, PythonReader),
            )
            for seat in seats
            if seat.opens is not None
        ]
        guard = Guard(policy, load_config().share_with)
        return Cluster(seated, address=self.address, actors=self.actors, tell=tell, guard=guard)


LOCAL: Final = Engine()


def _values(names: Sequence[str]) -> Mapping[str, str]:
    """What stands in the environment under these names, looked up when it is sent."""
    return {name: environment()[name] for name in names if name in environment()}
