"""Reply stores as users name them: a file, or the link of one that another host serves."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from overread.case import BadInput
from overread.engine import ReplyStore, Store, is_network_mount
from overread.runs._environment import WORKSPACE, default_store, is_link, store_token
from overread.runs._opening import Tell

if TYPE_CHECKING:
    from overread.door import Bound


def open_store(named: str | Path | None = None, tell: Tell | None = None) -> ReplyStore:
    """The store that a user names, the configuration's, or the workspace's."""
    place = default_store(named)
    if not is_link(place):
        return Store(place, tell)
    from overread.engine.store_served import ServedStore

    return ServedStore(place, token=store_token(), tell=tell, digests=_digests)


def _digests(make: bool) -> Store | None:
    """Where digests of this machine's files are kept when replies are not kept here.

    In the workspace, unless it lies where one process at a time may have it open.
    """
    place = Path(WORKSPACE) / "store.sqlite"
    try:
        return Store(place) if (make or place.exists()) and not is_network_mount(place) else None
    except BadInput:
        return None


def serve_store(
    store: str | Path | None = None,
    *,
    host: str = "127.0.0.1",
    port: int = 0,
    names: Sequence[str] = (),
    cert: Path | None = None,
    key: Path | None = None,
    listens: Callable[[str, str], None],
    tell: Tell,
) -> None:
    """Serve a store to other hosts of this network until interrupted or terminated.

    `listens` is told the address and the token.
    """
    from overread.door import certificate_of
    from overread.engine.store_door import bound_privately, token_of

    place = default_store(store)
    if is_link(place):
        raise BadInput("--store: a served store is served already. Give the file of one.")
    certificate = certificate_of(cert, key)
    at = bound_privately(host, port, tuple(names), tls=certificate is not None)
    with at.listening, Store(place, tell) as kept:
        token = token_of(Path(place))
        if at.address.public and certificate is None:
            tell(
                f"replies and the token cross the network of {at.address.ip} in the clear. "
                "--tls-cert and --tls-key hide them."
            )
        try:
            asyncio.run(_until_stopped(kept, token, at, certificate, listens, tell))
        except KeyboardInterrupt:
            return


async def _until_stopped(
    store: Store,
    token: str,
    at: Bound,
    certificate: Any,
    listens: Callable[[str, str], None],
    tell: Tell,
) -> None:
    from overread.engine.store_door import serving_store
    from overread.runs._asking import on_interrupt

    stopped = asyncio.Event()
    with on_interrupt(stopped.set):
        async with serving_store(store, token, at, certificate=certificate, trouble=tell):
            listens(at.address.origin, token)
            await stopped.wait()
