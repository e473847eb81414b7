"""A judge's words as yes or no, for judges that cannot write JSON.

The verdict stands at the end of a reply or at its very start, never in between: there a judge tells
what was asked and answered, in which yes and no are words of others.
"""

from __future__ import annotations

import re
from typing import Final

from overread.judging.spoken import spoken
from overread.judging.verdict import Read

__all__ = ["read_yes_no"]

_LONGEST: Final = 200_000
_SHORT: Final = 300  # characters of a line that are looked at
_MARKS: Final = r"[\s*_`\"'“”‘’()\[\]{}<>#|~]*"
_WORD: Final = r"(?P<said>yes|no)\b"
_END: Final = rf"{_MARKS}[.!]*{_MARKS}"
_LABEL: Final = (
    r"(?:(?:(?:the|my|final)\s+)*(?:answer|verdict|judge?ment|result|conclusion|match|same)\b"
    rf"{_MARKS}(?:is\b|[:=]){_MARKS})?"
)
_ALONE: Final = re.compile(rf"{_MARKS}{_LABEL}{_WORD}{_END}", re.IGNORECASE)
# "No. 3" is a number.
_OPENS: Final = re.compile(rf"{_MARKS}{_WORD}{_MARKS}[,.;:!—–-](?!\s*\d)", re.IGNORECASE)
_CLOSES: Final = re.compile(rf"[.!?]\s+{_MARKS}{_WORD}{_END}$", re.IGNORECASE)


def read_yes_no(text: str | None) -> Read:
    """True for yes, False for no, as the last line says it, else as the first line begins.

    `how` is `yesno` where the reply is nothing but the word, and `yesno+found` where it was found
    in others. What a judge thinks (`<think>`) or quotes (`> …`) is not its verdict.

    >>> read_yes_no("They differ.\\n**No**"), read_yes_no("Perhaps.").fault
    (Read(value=False, how='yesno+found', fault=''), 'neither yes nor no')
    """
    said = spoken(text[:_LONGEST]) if text else ""
    if said is None:
        return Read(how="yesno", fault="the reply ends in its thoughts")
    lines = [line for line in said.splitlines() if line.strip() and not line.startswith(">")]
    if not lines:
        return Read(how="yesno", fault="no reply")
    found = (
        _ALONE.fullmatch(lines[-1][:_SHORT])
        or _CLOSES.search(lines[-1][-_SHORT:])
        or _OPENS.match(lines[-1][:_SHORT])
        or _ALONE.fullmatch(lines[0][:_SHORT])
        or _OPENS.match(lines[0][:_SHORT])
    )
    if found is None:
        return Read(how="yesno", fault="neither yes nor no")
    bare = re.fullmatch(r"\W*\w+\W*", said) is not None
    return Read(found["said"].lower() == "yes", "yesno" if bare else "yesno+found")
