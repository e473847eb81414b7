"""What a reply says apart from its thinking."""

from __future__ import annotations

import re
from typing import Final

__all__ = ["spoken"]

# As models are known to write it; `<think>` is the protocol's. One pass, so many tags cost no more.
# Of a reply in channels only the final one is said aloud: its tag ends the thinking.
_TAG: Final = re.compile(
    r"<(?P<end>/?)think(?:ing)?>|◁(?P<close>/?)think▷"
    r"|<\|channel\|>(?:analysis|commentary|(?P<final>final))<\|message\|>",
    re.IGNORECASE,
)


def spoken(text: str) -> str | None:
    """The reply without `<think>…</think>`; None if the thinking never ended.

    Some servers send the opening tag with the question, so that a reply holds only the closing
    one: what stands before it is thinking too. Where thinking was opened and never closed, nothing
    that was said counts, not even what stands before it: the reply was cut off before its answer.

    >>> spoken("<think>A? No.</think>B"), spoken("A? No.</think>B"), spoken("A <think>or B")
    ('B', 'B', None)
    """
    kept: list[str] = []
    at, thinking = 0, False
    for tag in _TAG.finditer(text):
        if tag["end"] or tag["close"] or tag["final"]:
            if not thinking:
                kept.clear()
            at, thinking = tag.end(), False
        elif not thinking:
            kept.append(text[at : tag.start()])
            thinking = True
    return None if thinking else "".join((*kept, text[at:]))
