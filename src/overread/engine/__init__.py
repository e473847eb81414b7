"""Trials -> replies: the pipeline, the reply store and the pace."""

from overread.engine.ask import Tally, ask
from overread.engine.keys import clip_digest, picture_digest, reply_key, request_digest
from overread.engine.mounts import is_network_mount
from overread.engine.pace import Pace, retry_delay
from overread.engine.plans import Given, Plan, chunks, read_back
from overread.engine.sources import Sources
from overread.engine.store import Asker, Claimed, Enrolment, Listed, Store, moment
from overread.engine.store_file import private_folder
from overread.engine.studio import Studio

__all__ = [
    "Asker",
    "Claimed",
    "Enrolment",
    "Given",
    "Listed",
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
    "moment",
    "picture_digest",
    "private_folder",
    "read_back",
    "reply_key",
    "request_digest",
    "retry_delay",
]
