"""Trials -> replies: the pipeline, the reply store and the pace."""

from overread.engine.ask import Tally, ask
from overread.engine.keys import clip_digest, picture_digest, reply_key, request_digest
from overread.engine.mounts import is_network_mount
from overread.engine.pace import Pace, retry_delay
from overread.engine.plans import Plan, chunks, read_back
from overread.engine.sources import Sources
from overread.engine.store import Claimed, Store
from overread.engine.studio import Studio

__all__ = [
    "Claimed",
    "Pace",
    "Plan",
    "Sources",
    "Store",
    "Studio",
    "Tally",
    "ask",
    "chunks",
    "clip_digest",
    "is_network_mount",
    "picture_digest",
    "read_back",
    "reply_key",
    "request_digest",
    "retry_delay",
]
