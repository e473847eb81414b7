"""Readers whose behaviour is known by construction, and what they must be found to be."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Final, Literal, TypeAlias, get_args

from overread.benchmarks.base import Recovered
from overread.benchmarks.controls import Control, Criterion, Known, Said, by_criteria, known_of
from overread.benchmarks.controls import recovered as recovered_by
from overread.benchmarks.draws import lot
from overread.benchmarks.letter_parser import LETTERS
from overread.benchmarks.medcmr.cases import MedCase
from overread.benchmarks.medcmr.trials import question_stem
from overread.case import Measure, Prompt, Reader, Traits
from overread.judging.fitness import UNFIT

# ---------------------------------------------------------------- what controls reply
# What each control says of a case, known by construction.
#
# oracle          the right letter; of an open question what the caption says, and the true answer
# letter-a        A, whatever is asked
# longest-option  the letter of the longest option, the first in the case's order among equals
# reads-caption   the right answer where the prompt gives it away, and else that it does not
# format-breaker  the right answer in forms that no reading may take for one

ControlName: TypeAlias = Literal[
    "oracle", "letter-a", "longest-option", "reads-caption", "format-breaker"
]
CONTROLS: Final[tuple[ControlName, ...]] = get_args(ControlName)
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
    # Put as an open question it is without options that are written into it.
    opened = question_stem(case.question, case.options)
    asked = sorted({_low(case.question), _low(opened)}, key=len)
    question = next((one for one in reversed(asked) if one and one in told), "")
    before, _, behind = told.partition(question) if question else ("", "", told)
    for own in sorted(map(_low, case.options), key=len, reverse=True):
        behind = behind.replace(own, "…", 1) if own else behind
    return f"{before}…{behind}"


def _low(text: str) -> str:
    return folded(text).casefold()


# ---------------------------------------------------------------- controls
# Controls: readers whose behaviour is known by construction, so the benchmark can be checked.
#
# They are made of the cases. Each gets the same prompt as any reader, is told by the engine which
# case it is about, and says what stands above for it: a set may put one question to many
# images. None looks at the image.
#
# `reads-caption` is the leak detector: it knows all captions and answers, and may use them only
# where the prompt holds them. It must end with every reply invalid.

REVISION: Final = 2
"""Raised whenever a control may answer differently; it enters the key of every reply."""
UNKNOWN: Final = "This question is new here."
_QUESTION: Final = "Question: "
_OPTIONS: Final = " Options: A) "
_OPEN: Final = " Think step by step"


def _shown(case: MedCase, text: str) -> tuple[str, ...]:
    """The options of a case in the order in which a prompt lists them; none where it is open."""
    if case.kind != "mcq":
        return ()
    told, asked = folded(text) + " ", f"{_QUESTION}{folded(case.question)}{_OPTIONS}"
    start = told.find(asked)
    if start < 0:
        return ()
    rest = told[start + len(asked) - len("A) ") :]
    own = tuple(map(folded, case.options))
    for shift in range(len(own)):
        turned = own[shift:] + own[:shift]
        listed = (f"{letter}) {option}" for letter, option in zip(LETTERS, turned, strict=False))
        if rest.startswith(" ".join(listed) + " "):
            return turned
    return case.options  # listed otherwise than the benchmark does: a leak may stand between them


def _says(key: ControlName, known: Known[MedCase], seed: int, prompt: Prompt) -> Said:
    """From what a prompt asks to what a control says; none looks at the image."""
    text = prompt.text
    if key == "letter-a":
        told = folded(text)
        return Said("A" if told.rfind(_OPTIONS) > told.rfind(_OPEN) else FIRST)
    case = known.by_id.get(prompt.case)
    if case is None:
        return Said(UNKNOWN)
    # Everything a reader is told: a leak may stand in any turn.
    whole = "\n".join(
        part for turn in prompt.messages for part in turn.parts if isinstance(part, str)
    )
    shown = _shown(case, text)
    leaks = key == "reads-caption" and leaked(whole, case, shown)
    acts = "oracle" if leaks else key
    return Said(mcq_reply(acts, case, shown, seed) if shown else open_reply(acts, case))


def medcmr_controls(cases: Sequence[MedCase], seed: int) -> Mapping[str, Reader]:
    """The five controls of a set, each by the word that follows `control:`."""
    known = known_of(
        cases,
        lambda case: (
            case.case_id, case.kind, case.question, case.options, case.answer, case.caption
        ),
    )  # fmt: skip
    return {
        key: Control(
            key=key,
            says=partial(_says, key, known, seed),
            revision=f"{REVISION}:{seed}:{known.digest}",
            # It does not look, so that blank and swapped images cost nothing.
            traits=Traits(
                modality="text", temperature=0.0, knows_truth=key in KNOWING, told_case=True
            ),
        )
        for key in CONTROLS
    }


# ---------------------------------------------------------------- what controls are found to be

EXPECTED: Final[Mapping[str, str]] = {
    "oracle": "right",
    "letter-a": "always the first",
    "longest-option": "goes by length",
    "reads-caption": "found nothing to read",
    "format-breaker": "cannot be read",
}
"""What each control is by construction."""

# One item in a hundred may have a twin with another truth, which no control can tell.
_NEARLY: Final = 0.99
_FEW: Final = 0.01
# Looked at wherever multiple-choice items were asked, and where there is such a measure.
_asked = partial(Criterion, needed_with="accuracy")
_known = partial(Criterion, needed=False)
_READ: Final = _asked(
    measure="invalid_rate", most=_FEW, reason="every reply is a letter and no more"
)
_BLIND: Final = tuple(
    _known(measure=name, most=0.25, reason="its reply says nothing of the case")
    for name in ("visual", "truth")
)
_UNREAD: Final = (
    _asked(measure="invalid_rate", least=1, reason="no reply names an option"),
    *(
        _known(
            measure="invalid_rate", least=1, by=(("kind", kind),), reason="no reply has an answer"
        )
        for kind in ("open", "reformulated")
    ),
)
_FIRST: Final = (("position", "A"),)

CRITERIA: Final[Mapping[str, tuple[Criterion, ...]]] = {
    "oracle": (
        _asked(measure="accuracy", least=_NEARLY, reason="every answer is right"),
        _READ,
        _known(measure="order_consistency", least=_NEARLY, reason="right in every order"),
        _known(measure="visual", least=0.75, reason="it says what the caption says"),
        _known(measure="truth", least=0.75, reason="it gives the true answer"),
        _known(measure="score", least=0.7, reason="both are high"),
    ),
    "letter-a": (
        _asked(measure="position_share", least=1, by=_FIRST, reason="it knows one letter"),
        _READ,
        *_BLIND,
    ),
    "longest-option": (
        _asked(measure="longest_rate", least=_NEARLY, reason="it takes the longest option"),
        _READ,
        _known(measure="order_consistency", least=_NEARLY, reason="order does not change length"),
        *_BLIND,
    ),
    "reads-caption": (
        _asked(measure="accuracy", most=0, reason="what it answers was given away by the prompt"),
        *_UNREAD,
        *_BLIND,
    ),
    "format-breaker": (
        _asked(measure="accuracy", most=0, reason="what cannot be read is wrong"),
        *_UNREAD,
    ),
}
"""What must hold of each control, whatever judge is fit."""


def recovered(measures: Sequence[Measure]) -> list[Recovered]:
    """One line for each control that was asked; what an unfit judge says is not looked at.

    Accuracy has a value wherever multiple-choice items were asked.
    """
    decide = by_criteria(CRITERIA, passed_over=lambda measure: measure.label == UNFIT)
    return recovered_by(measures, EXPECTED, decide)
