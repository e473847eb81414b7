"""What each control says of a case, known by construction.

oracle          the right letter; of an open question what the caption says, and the true answer
letter-a        A, whatever is asked
longest-option  the letter of the longest option, the first in the case's order among equals
reads-caption   the right answer where the prompt gives it away, and else that it does not
format-breaker  the right answer in forms that no reading may take for one
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Final, Literal, TypeAlias

from overread.benchmarks.draws import lot
from overread.benchmarks.medcmr.cases import LETTERS, MedCase
from overread.benchmarks.medcmr.prompts import stem

__all__ = [
    "CONTROLS",
    "FIRST",
    "KNOWING",
    "NOTHING",
    "ControlName",
    "folded",
    "leaked",
    "letter_of",
    "longest_place",
    "mcq_reply",
    "open_question",
    "open_reply",
]

ControlName: TypeAlias = Literal[
    "oracle", "letter-a", "longest-option", "reads-caption", "format-breaker"
]
CONTROLS: Final[tuple[ControlName, ...]] = (
    "oracle",
    "letter-a",
    "longest-option",
    "reads-caption",
    "format-breaker",
)
KNOWING: Final = frozenset({"oracle", "reads-caption", "format-breaker"})
"""Those that know what is true."""
NOTHING: Final = "The caption is missing here, and so is any mark."
"""What reads-caption says where it found nothing to read: no letter, no option, no section."""

FIRST: Final = "Reasoning: It is the first letter.\nAnswer: A"
"""What letter-a says to whatever is no choice of letters."""
_LONGEST: Final = "Reasoning: Length is all that counts.\nAnswer: By length."
_ORDINALS: Final = (
    "first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth", "tenth",
)  # fmt: skip
# What the paper shows as a reply that is none.
_SLASH: Final = "/S"
_WORDS: Final = 4  # of so many words a caption is looked for in the question too
_MARKED: Final = (
    r"\b(?:answer|truth|correct|gold|label|key|solution)s?\b"
    r"(?:\W{{0,4}}\b(?:is|option|letter|answer|choice)\b|\W{{0,3}}[:=]){{1,3}}\W{{0,4}}(?:{})(?!\w)"
)
_TICKED: Final = r"{}\s*(?:[(\[]\s*correct(?:\s+answer)?\s*[)\]]|✓|✔)"


def mcq_reply(control: ControlName, case: MedCase, shown: Sequence[str], seed: int) -> str:
    """What a control says to options in this order, where it has not found anything to read."""
    if control == "letter-a":
        return "A"
    if control == "longest-option":
        return letter_of(case, longest_place(case), shown)
    if control == "reads-caption":
        return NOTHING
    right = letter_of(case, LETTERS.index(case.answer), shown)
    return right if control == "oracle" else _broken(case, right, shown, seed)


def open_reply(control: ControlName, case: MedCase) -> str:
    """What a control says to an open question, where it has not found anything to read."""
    if control == "letter-a":
        return FIRST
    if control == "longest-option":
        return _LONGEST
    if control == "reads-caption":
        return NOTHING
    # On one line, so that no word of theirs begins a section.
    truth, caption = folded(case.truth), folded(case.caption or "")
    if control == "format-breaker":
        return f"It is this: {truth}"
    seen = f"{caption.rstrip('.')}. This points to {truth}." if caption else f"It is {truth}."
    return f"Reasoning: {seen}\nAnswer: {truth}"


def letter_of(case: MedCase, place: int, shown: Sequence[str]) -> str:
    """The letter under which an option of the case is shown; of equal texts, by the rotation."""
    n = len(case.options)
    told, own = [folded(text) for text in shown], [folded(text) for text in case.options]
    for shift in range(n):
        if told == own[shift:] + own[:shift]:
            return LETTERS[(place - shift) % n]
    return LETTERS[told.index(own[place])] if own[place] in told else LETTERS[place]


def open_question(case: MedCase) -> str:
    """The case's question put as an open one: without options that are written into it."""
    return stem(case.question, case.options)


def longest_place(case: MedCase) -> int:
    """The place of the longest option, the first of several."""
    lengths = [len(text) for text in case.options]
    return lengths.index(max(lengths))


def folded(text: str) -> str:
    """The text on one line, with single blanks."""
    return " ".join(text.split())


# ---------------------------------------------------------------- forms that cannot be read


def _broken(case: MedCase, right: str, shown: Sequence[str], seed: int) -> str:
    """One of the forms, drawn for each item; none that names an option by its text."""
    forms = list(_forms(case, right, shown))
    start = lot("format-breaker", seed, case.case_id) % len(forms)
    taken = [folded(text).casefold() for text in shown if text.strip()]
    for form in forms[start:] + forms[:start]:
        said = folded(form).casefold()
        if not any(option in said for option in taken):
            return form
    return _SLASH


def _forms(case: MedCase, right: str, shown: Sequence[str]) -> Iterator[str]:
    yield _SLASH
    place = LETTERS.index(right)
    yield f"Counted from the top, the {_ORDINALS[place]}."
    if len(shown) > 1:
        other = LETTERS[(place + 1) % len(shown)]
        yield f"{right} or {other}"
        yield f"Answer: {other}\nAnswer: {right}"
        yield rf"\boxed{{{right}}} and \boxed{{{other}}}"
    words = folded(case.truth).split()
    if len(words) > 2 and not any(len(word.strip(".,;()")) < 2 for word in words):
        yield "Backwards: " + " ".join(reversed(words))


# ---------------------------------------------------------------- what a prompt gives away


def leaked(text: str, case: MedCase, shown: Sequence[str]) -> bool:
    """Whether a prompt gives the case away: by its caption, or by an answer that is marked.

    The question and the options are the case's own words: what stands there is no leak, but for a
    whole caption of several words.
    """
    told, caption = _low(text), _low(case.caption or "")
    if caption and len(caption.split()) >= _WORDS and caption in told:
        return True
    truth, rest = _low(case.truth), _without_own_words(told, case)
    if caption and re.search(rf"(?<!\w){re.escape(caption)}(?!\w)", rest):
        return True
    truths = {truth}
    if case.kind == "mcq":
        if truth and re.search(_TICKED.format(re.escape(truth)), told):
            return True
        right = letter_of(case, LETTERS.index(case.answer), shown)
        truths |= {right.casefold(), case.answer.casefold()}
    listed = "|".join(map(re.escape, sorted(truths - {""})))
    return bool(listed) and re.search(_MARKED.format(listed), rest) is not None


def _without_own_words(told: str, case: MedCase) -> str:
    """A folded prompt without the question, and without the options that stand behind it."""
    asked = sorted({_low(case.question), _low(open_question(case))}, key=len)
    question = next((one for one in reversed(asked) if one and one in told), "")
    before, _, behind = told.partition(question) if question else ("", "", told)
    for own in sorted(map(_low, case.options), key=len, reverse=True):
        behind = behind.replace(own, "…", 1) if own else behind
    return f"{before}…{behind}"


def _low(text: str) -> str:
    return folded(text).casefold()
