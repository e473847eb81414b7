"""What people are asked: the cases that models get, on a screen of their own.

A benchmark makes `ForPeople` of its cases; the study deals them to readers, shows them without what
would give an answer away, and takes the answers. Here are the nouns both share.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final, Literal

import msgspec

import overread.case as oc
from overread.case import BadInput

CANNOT_TELL = "cannot tell"
"""An answer of its own to every yes-or-no and choice: neither missing nor wrong."""
_LONGEST_TEXT = 10_000
ORDER_MARKS: Final = (">", "=")
"""What stands between what is ranked, best first, and between what is tied."""

AskKind = Literal["yesno", "choice", "several", "scale", "number", "ranking", "text", "edit"]


class Ask(msgspec.Struct, frozen=True, kw_only=True):
    """One question of a form.

    `options` are the words of a choice, the levels of a scale from least to most, or what is
    ranked. Of `several` options at least `least` and at most `most` are chosen (0: all); a number
    is whole and from 1 to `most`. An `edit` begins with the text `given`; left empty, that text
    stands. What is not `required` may be left empty. `where` names an earlier question and some of
    its answers: only where one of them was given is this question asked.

    Answers are texts: of several options each on a line of its own, in the options' order; a
    ranking as `B > A = C`, best first, ties with equal signs; an edit as the whole text it made, or
    nothing where that is what was given.
    """

    name: str
    text: str
    kind: AskKind = "yesno"
    options: tuple[str, ...] = ()
    least: int = 0
    most: int = 0
    given: str = ""
    where: tuple[str, ...] = ()
    required: bool = True

    @property
    def answers(self) -> tuple[str, ...]:
        """Every answer there is, where one of a few words is it."""
        if self.kind == "yesno":
            return ("yes", "no", CANNOT_TELL)
        if self.kind == "choice":
            return (*self.options, CANNOT_TELL)
        return self.options if self.kind == "scale" else ()

    @property
    def decides(self) -> bool:
        """Whether two readers who answer differently must come to one mind.

        Why somebody decided as he did, and how sure he is, may differ.
        """
        return self.kind == "edit" or (self.required and not self.where and self.kind != "text")

    def checked(self, value: Any) -> str:
        """An answer as it is kept; `BadInput` where it is none. Empty is no answer."""
        if not isinstance(value, str) or len(value) > _LONGEST_TEXT or "\0" in value:
            raise BadInput(f"{self.name}: expected a text of at most {_LONGEST_TEXT:,} letters.")
        said = value.replace("\r\n", "\n").strip()
        if self.kind == "edit" and said == self.given.strip():
            return ""
        if not said or self.kind in ("text", "edit"):
            return said
        if self.kind == "number":
            # Python reads no number of thousands of digits.
            whole = said.isascii() and said.isdecimal() and len(said) < 20
            if not (whole and 1 <= int(said) <= self.most):
                raise BadInput(f'{self.name}: "{said[:40]}"; expected 1 to {self.most}.')
            return str(int(said))
        if self.kind == "several":
            return self._several(said)
        if self.kind == "ranking":
            return " > ".join(" = ".join(tied) for tied in self._order(said))
        return self._known(said, self.answers)

    def _known(self, said: str, words: Sequence[str]) -> str:
        known = {word.lower(): word for word in words}
        if said.lower() not in known:
            expected = ", ".join(words)
            raise BadInput(f'{self.name}: "{said[:40]}"; expected one of {expected}.')
        return known[said.lower()]

    def _several(self, said: str) -> str:
        known = {option.lower() for option in self.options}
        # On a sheet they may stand on one line.
        mark = ";" if "\n" not in said and said.lower() not in known else "\n"
        parts = [part.strip() for part in said.split(mark)]
        named = {self._known(part, self.options) for part in parts if part}
        most = self.most or len(self.options)
        if not self.least <= len(named) <= most:
            wanted = str(most) if self.least == most else f"{self.least} to {most}"
            raise BadInput(f"{self.name}: {len(named)} are chosen; expected {wanted}.")
        return "\n".join(option for option in self.options if option in named)

    def chosen(self, value: str) -> tuple[str, ...]:
        """The options of an answer of `several` that was checked."""
        return tuple(value.split("\n")) if value else ()

    def _order(self, said: str) -> list[list[str]]:
        order = [
            sorted(
                (self._known(word.strip(), self.options) for word in tied.split("=")),
                key=self.options.index,
            )
            for tied in said.split(">")
        ]
        named = [word for tied in order for word in tied]
        if sorted(named) != sorted(self.options):
            example = " > ".join(self.options)
            raise BadInput(f'{self.name}: "{said[:40]}"; expected each once, as {example}.')
        return order

    def ranks(self, value: str) -> dict[str, int]:
        """The rank of each option in an answer that was checked: 1 is best, ties share the best."""
        found: dict[str, int] = {}
        for tied in self._order(value) if value else ():
            found |= dict.fromkeys(tied, len(found) + 1)
        return found

    def is_asked(self, values: Mapping[str, str]) -> bool:
        """Whether this question is asked of whoever has answered the others so."""
        return not self.where or values.get(self.where[0], "") in self.where[1:]


def is_whole(asks: Sequence[Ask], values: Mapping[str, str]) -> bool:
    """Whether everything that must be answered of these questions is."""
    asked = [ask for ask in asks if ask.is_asked(values)]
    return bool(values) and all(values.get(ask.name) for ask in asked if ask.required)


class Decided(msgspec.Struct, frozen=True, kw_only=True):
    """What people came to of one screen: the values of its questions, and what it was about."""

    case: str
    facts: dict[str, str]
    asks: tuple[Ask, ...]
    values: dict[str, str]


class PeopleMeasured(msgspec.Struct, frozen=True, kw_only=True):
    """What becomes of one kind's answers: a sheet that measuring takes under `setting`.

    `measures` are made of it; where they are made without it too, those whose `by` has this key.
    """

    setting: str
    measures: tuple[str, ...]
    by: str = ""


class ForPeople(msgspec.Struct, frozen=True, kw_only=True):
    """One screen for a person, and beside it what only analysts may know.

    People see `slides` (their labels and boxes too), `texts` and `asks`. `stratum` is what a sample
    is balanced by; `truth` is the right answer, in the words of the first question; `facts` are
    finding, model and the like. `trial` is what a model is asked in the same place, where there is
    one; `said` turns an answer into the words of a reply to it. Screens of one `unit` (of one case,
    where it has none) are drawn together and never meet in a session. `audits` is the task of
    another study that the screen is from. A `session` says that its study was drawn already: which
    session it is in, in the order in which screens come.
    """

    case: str
    unit: str = ""
    audits: int = 0
    session: int = 0
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
