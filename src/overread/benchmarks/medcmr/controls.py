"""Readers whose behaviour is known by construction, and what they must be found to be."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final, Literal, TypeAlias

import msgspec

from overread.benchmarks.base import Recovered
from overread.benchmarks.draws import lot
from overread.benchmarks.medcmr.cases import LETTERS, MedCase
from overread.benchmarks.medcmr.trials import question_stem
from overread.case import Limits, Measure, Prompt, Reader, Reply, Traits
from overread.judging.fitness import UNFIT

__all__ = [
    "CONTROLS",
    "CRITERIA",
    "EXPECTED",
    "FIRST",
    "KNOWING",
    "NOTHING",
    "REVISION",
    "UNKNOWN",
    "Control",
    "ControlName",
    "Criterion",
    "Known",
    "folded",
    "known_of",
    "leaked",
    "letter_of",
    "longest_place",
    "mcq_reply",
    "medcmr_controls",
    "open_question",
    "open_reply",
    "recovered",
]


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
    return question_stem(case.question, case.options)


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


# ---------------------------------------------------------------- controls
# Controls: readers whose behaviour is known by construction, so the benchmark can be checked.
#
# They are made of the cases. Each gets the same prompt as any reader, is told by the engine which
# case it is about, and says what `control_replies` has for it: a set may put one question to many
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


class Known(msgspec.Struct, frozen=True):
    """The cases by their ids, and the digest of all that controls know of them."""

    by_id: dict[str, MedCase]
    digest: str


def known_of(cases: Iterable[MedCase]) -> Known:
    """What controls know of a set."""
    by_id = {case.case_id: case for case in sorted(cases, key=lambda case: case.case_id)}
    digest = hashlib.blake2b(digest_size=8)
    for case in by_id.values():
        facts = (case.case_id, case.kind, case.question, case.options, case.answer, case.caption)
        digest.update(msgspec.json.encode(facts))
    return Known(by_id, digest.hexdigest())


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


class Control(msgspec.Struct, frozen=True):
    """A reader that is a table: from what a prompt asks to what it says."""

    key: ControlName
    known: Known
    seed: int = 0

    @property
    def name(self) -> str:
        return f"control:{self.key}"

    @property
    def identity(self) -> str:
        # What it says depends on the cases, so that a corrected answer is asked for anew.
        return f"{self.name}:{REVISION}:{self.seed}:{self.known.digest}"

    @property
    def traits(self) -> Traits:
        # It does not look, so that blank and swapped images cost nothing.
        knows = self.key in KNOWING
        return Traits(modality="text", temperature=0.0, knows_truth=knows, told_case=True)

    @property
    def limits(self) -> Limits:
        return Limits(concurrency=4)

    async def reply(self, prompt: Prompt) -> Reply:
        # Everything a reader is told: a leak may stand in any turn.
        whole = "\n".join(
            part for turn in prompt.messages for part in turn.parts if isinstance(part, str)
        )
        case = self.known.by_id.get(prompt.case)
        return Reply(self._said(prompt.text, whole, case), finish="stop", model=self.identity)

    def _said(self, text: str, whole: str, case: MedCase | None) -> str:
        if self.key == "letter-a":
            told = folded(text)
            return "A" if told.rfind(_OPTIONS) > told.rfind(_OPEN) else FIRST
        if case is None:
            return UNKNOWN
        shown = _shown(case, text)
        leaks = self.key == "reads-caption" and leaked(whole, case, shown)
        key = "oracle" if leaks else self.key
        return mcq_reply(key, case, shown, self.seed) if shown else open_reply(key, case)

    async def close(self) -> None:
        pass


def medcmr_controls(cases: Iterable[MedCase], seed: int) -> Mapping[str, Reader]:
    """The five controls of a set, each by the word that follows `control:`."""
    known = known_of(cases)
    return {key: Control(key, known, seed) for key in CONTROLS}


# ---------------------------------------------------------------- what controls are found to be
# Whether a run's measures show each control for what it is.

EXPECTED: Final[Mapping[str, str]] = {
    "oracle": "right",
    "letter-a": "always the first",
    "longest-option": "goes by length",
    "reads-caption": "found nothing to read",
    "format-breaker": "cannot be read",
}
"""What each control is by construction."""

_By = tuple[tuple[str, str], ...]
_NOBODY: Final = "nothing was measured that tells"


class Criterion(msgspec.Struct, frozen=True):
    """A bound that a control's measure must keep.

    `needed` wherever multiple-choice items were asked: that it is not known then breaks it. Else it
    is looked at where there is such a measure.
    """

    measure: str
    least: float | None = None
    most: float | None = None
    by: _By = ()
    needed: bool = False
    reason: str = ""


# One item in a hundred may have a twin with another truth, which no control can tell.
_NEARLY: Final = 0.99
_FEW: Final = 0.01
_READ: Final = Criterion(
    "invalid_rate", most=_FEW, needed=True, reason="every reply is a letter and no more"
)
_BLIND: Final = tuple(
    Criterion(name, most=0.25, reason="its reply says nothing of the case")
    for name in ("visual", "truth")
)
_UNREAD: Final = (
    Criterion("invalid_rate", least=1, needed=True, reason="no reply names an option"),
    *(
        Criterion("invalid_rate", least=1, by=(("kind", kind),), reason="no reply has an answer")
        for kind in ("open", "reformulated")
    ),
)

CRITERIA: Final[Mapping[str, tuple[Criterion, ...]]] = {
    "oracle": (
        Criterion("accuracy", least=_NEARLY, needed=True, reason="every answer is right"),
        _READ,
        Criterion("order_consistency", least=_NEARLY, reason="right in every order"),
        Criterion("visual", least=0.75, reason="it says what the caption says"),
        Criterion("truth", least=0.75, reason="it gives the true answer"),
        Criterion("score", least=0.7, reason="both are high"),
    ),
    "letter-a": (
        Criterion(
            "position_share",
            least=1,
            by=(("position", "A"),),
            needed=True,
            reason="it knows one letter",
        ),
        _READ,
        *_BLIND,
    ),
    "longest-option": (
        Criterion("longest_rate", least=_NEARLY, needed=True, reason="it takes the longest option"),
        _READ,
        Criterion("order_consistency", least=_NEARLY, reason="order does not change length"),
        *_BLIND,
    ),
    "reads-caption": (
        Criterion(
            "accuracy", most=0, needed=True, reason="what it answers was given away by the prompt"
        ),
        *_UNREAD,
        *_BLIND,
    ),
    "format-breaker": (
        Criterion("accuracy", most=0, needed=True, reason="what cannot be read is wrong"),
        *_UNREAD,
    ),
}
"""What must hold of each control, whatever judge is fit."""

_Known = Mapping[tuple[str, str, _By], Measure]


def recovered(measures: Sequence[Measure]) -> list[Recovered]:
    """One line for each control that was asked.

    What an unfit judge says is not looked at. A control of which nothing else is known is not
    recovered.
    """
    known = {
        (m.reader.removeprefix("control:"), m.measure, tuple(sorted(m.by.items()))): m
        for m in measures
        if m.reader.startswith("control:")
    }
    asked = {reader for reader, _, _ in known}
    return [_judged(name, known) for name in EXPECTED if name in asked]


def _judged(name: str, known: _Known) -> Recovered:
    # Accuracy has a value wherever multiple-choice items were asked.
    lettered = _value(known.get((name, "accuracy", ()))) is not None
    kept: list[str] = []
    broken: list[str] = []
    for criterion in CRITERIA[name]:
        own = known.get((name, criterion.measure, criterion.by))
        found = _value(own)
        if found is None:
            if criterion.needed and lettered:
                broken.append(f"{_named(criterion)} is not known")
            continue
        if own is not None and own.label == UNFIT:
            continue
        ok = (criterion.least is None or found >= criterion.least) and (
            criterion.most is None or found <= criterion.most
        )
        said = f"{_named(criterion)} {found:.2f}"
        (kept if ok else broken).append(said if ok else f"{said} ({criterion.reason})")
    ok = bool(kept) and not broken
    return Recovered(
        control=name,
        expected=EXPECTED[name],
        found=EXPECTED[name] if ok else "; ".join(broken) or _NOBODY,
        ok=ok,
        note="; ".join(kept) if ok else None,
    )


def _value(measure: Measure | None) -> float | None:
    return None if measure is None or not measure.n else measure.value


def _named(criterion: Criterion) -> str:
    return " of ".join((criterion.measure, *(value for _, value in criterion.by)))
