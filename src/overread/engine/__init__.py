"""Trials -> replies: the pipeline, the reply store and the pace."""

from overread.engine.ask import Given, Plan, Tally, ask, chunks, read_back
from overread.engine.keys import clip_digest, picture_digest, reply_key, request_digest
from overread.engine.pace import Pace, retry_delay
from overread.engine.store import Asker, Claimed, Enrolment, Listed, Store, moment
from overread.engine.store_file import is_network_mount, private_folder
from overread.engine.studio import Sources, Studio

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
