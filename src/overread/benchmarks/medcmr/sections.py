"""The sections of an open reply: its reasoning and its answer (MEDCMR, "Reading the reply")."""

from __future__ import annotations

import re
from typing import Final, NamedTuple

from overread.judging.spoken import spoken

__all__ = ["Sections", "read_sections"]

# A section starts a line: emphasis, a heading's hashes, a quote's or list's mark and a number may
# stand before its name; a colon follows, or a heading or emphasised name stands alone on its line.
_BEFORE: Final = r"^[ \t]*+(?P<marks>(?:[#>*_`\-+]|\d{1,2}[.)])?[#>*_`\-+ \t]*+)"
_NAME: Final = r"(?:(?:final|short|my|the)[ \t]+)?(?P<name>reasoning|answer)(?:[ \t]+process)?"
_AFTER: Final = r"[ \t*_`]*+(?:(?P<colon>[:：])[ \t*_`]*+|$)"
_SECTION: Final = re.compile(_BEFORE + _NAME + _AFTER, re.IGNORECASE | re.MULTILINE)
# Where no line begins with it, an answer may stand behind a tag, emphasised, or after a full stop.
_TAG: Final = re.compile(r"<(?P<name>reasoning|answer)>", re.IGNORECASE)
_OPENED: Final = re.compile(r"^<(?:reasoning|answer)>", re.IGNORECASE)
_CLOSED: Final = re.compile(r"</(?:reasoning|answer)>", re.IGNORECASE)
_INLINE: Final = re.compile(
    r"(?:(?<![*_\w])[*_]{1,3}|(?P<stop>(?<=[.!?。！？])[\"')\]*_]{0,4}(?:[ \t]++|(?<=[。！？]))))"
    r"(?P<head>(?:(?:final|short|my|the)[ \t]+)?answer)[ \t*_`]*+[:：][ \t*_`]*+",
    re.IGNORECASE,
)
_EMPHASIS: Final = " \t\r\n*_`"


class Sections(NamedTuple):
    """What stands under each name, None where the reply has no such section; `lead` before all."""

    reasoning: str | None
    answer: str | None
    lead: str = ""


class _Head(NamedTuple):
    """A section's name: where it starts, where its text does, and whether it is the answer's."""

    start: int
    body: int
    answer: bool


def read_sections(text: str) -> Sections:
    """The reasoning and the answer of an open reply, apart from thinking.

    Names count in any case of letters, with markdown's emphasis or as headings (`## Answer`), at
    the start of a line. Where no line has the answer, it is what stands in `<answer>`, else behind
    the last "Answer:" that is emphasised or begins a sentence; in the midst of one it is a word. Of
    several sections of a name the last that is not empty counts. Words before the first
    name belong to no section.

    >>> read_sections("**Reasoning:** round and dense.\\n**Answer:** a nodule")
    Sections(reasoning='round and dense.', answer='a nodule', lead='')
    """
    said = spoken(text)
    if said is None:
        return Sections(None, None)
    said = said.replace("\r\n", "\n").replace("\r", "\n")
    heads = _heads(said)
    reasoning: str | None = None
    answer: str | None = None
    ends = [head.start for head in heads[1:]] + [len(said)]
    for head, end in zip(heads, ends, strict=False):
        body = _plain(said[head.body : end])
        if head.answer:
            answer = body if body or answer is None else answer
        elif body or reasoning is None:
            reasoning = body
    return Sections(reasoning, answer, _plain(said[: heads[0].start] if heads else said))


def _heads(said: str) -> list[_Head]:
    """The sections' names in their order; one of the answer only where one is told."""
    lines = [found for found in _SECTION.finditer(said) if found["colon"] or _marked(found)]
    heads = [_head(found) for found in lines]
    if any(head.answer for head in heads):
        return heads
    heads = sorted([*heads, *map(_head, _TAG.finditer(said))])
    if any(head.answer for head in heads):
        return heads
    inline = [
        found
        for found in _INLINE.finditer(said)
        if found["stop"] is None or found["head"][0].isupper()
    ]
    last = [_Head(found.start(), found.end(), answer=True) for found in inline[-1:]]
    return sorted([*heads, *last])


def _head(found: re.Match[str]) -> _Head:
    return _Head(found.start(), found.end(), found["name"].lower() == "answer")


def _marked(head: re.Match[str]) -> bool:
    """Whether a name without a colon is set off as a heading or by emphasis."""
    return bool(set(head["marks"]) & set("#*_"))


def _plain(body: str) -> str:
    """Without outer blanks, the emphasis that a section's name left open, and what a tag ended."""
    body = _OPENED.sub("", body.strip(_EMPHASIS), count=1)
    return _CLOSED.split(body, maxsplit=1)[0].strip(_EMPHASIS)
