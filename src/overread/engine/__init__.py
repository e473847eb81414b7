"""Trials -> replies: the pipeline, the reply store and the pace."""

from overread.engine.ask import (
    NOT_ASKED,
    Given,
    Lacking,
    Plan,
    ask,
    chunks,
    lacking,
    read_back,
)
from overread.engine.crew import Crew, Tally
from overread.engine.reply_store import Asker, Claimed, Enrolment, Kept, Listed, ReplyStore
from overread.engine.store import Store, moment
from overread.engine.store_file import is_network_mount, private_folder
from overread.engine.store_merge import Merged, merge
from overread.engine.studio import Sources, Studio, reply_key, request_digest

__all__ = [
    "NOT_ASKED",
    "Asker",
    "Claimed",
    "Crew",
    "Enrolment",
    "Given",
    "Kept",
    "Lacking",
    "Listed",
    "Merged",
    "Plan",
    "ReplyStore",
    "Sources",
    "Store",
    "Studio",
    "Tally",
    "ask",
    "chunks",
    "is_network_mount",
    "lacking",
    "merge",
    "moment",
    "private_folder",
    "read_back",
    "reply_key",
    "request_digest",
]
