"""What people are asked: the cases that models get, on a screen of their own.

A benchmark makes `ForPeople` of its cases; the study deals them to readers, shows them without what
would give an answer away, and takes the answers. Here are the nouns both share.
"""

from __future__ import annotations

from typing import Any, Literal

import msgspec

import overread.case as oc
from overread.case import BadInput

CANNOT_TELL = "cannot tell"
"""An answer of its own to every yes-or-no and choice: neither missing nor wrong."""
_LONGEST_TEXT = 10_000

AskKind = Literal["yesno", "choice", "scale", "number", "text"]


class Ask(msgspec.Struct, frozen=True, kw_only=True):
    """One question of a form.

    `options` are the words of a choice, or the levels of a scale from least to most; a number is
    whole and from 1 to `most`. What is not `required` may be left empty.
    """

    name: str
    text: str
    kind: AskKind = "yesno"
    options: tuple[str, ...] = ()
    most: int = 0
    required: bool = True

    @property
    def answers(self) -> tuple[str, ...]:
        """Every answer there is; empty of texts and numbers."""
        if self.kind == "yesno":
            return ("yes", "no", CANNOT_TELL)
        if self.kind == "choice":
            return (*self.options, CANNOT_TELL)
        return self.options if self.kind == "scale" else ()

    def checked(self, value: Any) -> str:
        """An answer as it is kept; `BadInput` where it is none. Empty is no answer."""
        if not isinstance(value, str) or len(value) > _LONGEST_TEXT or "\0" in value:
            raise BadInput(f"{self.name}: expected a text of at most {_LONGEST_TEXT:,} letters.")
        said = value.strip()
        if not said or self.kind == "text":
            return said
        if self.kind == "number":
            if not (said.isascii() and said.isdecimal() and 1 <= int(said) <= self.most):
                raise BadInput(f'{self.name}: "{said[:40]}"; expected 1 to {self.most}.')
            return str(int(said))
        known = {word.lower(): word for word in self.answers}
        if said.lower() not in known:
            words = ", ".join(self.answers)
            raise BadInput(f'{self.name}: "{said[:40]}"; expected one of {words}.')
        return known[said.lower()]


class ForPeople(msgspec.Struct, frozen=True, kw_only=True):
    """One screen for a person, and beside it what only analysts may know.

    People see `slides` (their labels and boxes too), `texts` and `asks`. `stratum` is what a sample
    is balanced by; `truth` is the right answer, in the words of the first question; `facts` are
    finding, model and the like. `trial` is what a model is asked in the same place, where there is
    one; `said` turns an answer into the words of a reply to it.
    """

    case: str
    patient: str
    condition: str = ""
    slides: tuple[oc.Slide, ...]
    texts: tuple[tuple[str, str], ...] = ()
    asks: tuple[Ask, ...]
    stratum: tuple[str, ...] = ()
    truth: str = ""
    facts: dict[str, str] = {}
    trial: oc.Trial | None = None
    said: dict[str, str] = {}
