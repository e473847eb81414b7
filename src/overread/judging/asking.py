"""Questions to judges: which reply was judged, and how one is asked again."""

from __future__ import annotations

import msgspec

from overread.case import Message, Trial


def variant_of(about: str) -> str:
    """What was changed before it was judged; empty where nothing was."""
    return str(msgspec.json.decode(about).get("variant", ""))


def reminded(trial: Trial, attempt: int, reminder: str) -> Trial:
    """The question with a reminder at its end: asked alike, a judge without chance says the same.

    A trial that was reminded before is not reminded twice.
    """
    *before, last = trial.request.messages
    text = "\n".join(str(part) for part in last.parts).removesuffix(f"\n\n{reminder}")
    messages = (*before, Message(last.role, (f"{text}\n\n{reminder}",)))
    request = msgspec.structs.replace(trial.request, messages=messages)
    return msgspec.structs.replace(trial, request=request, repeat=attempt)
