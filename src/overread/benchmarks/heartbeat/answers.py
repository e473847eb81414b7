"""What a reply says of a clip: the frames it names, by both readings, beside the true ones.

The published grammar, and a lenient second reading (HEARTBEAT 6). Neither ever raises, and both
take time in proportion to the text, whatever a model says.
"""

from __future__ import annotations

import re
import unicodedata
from functools import cache
from typing import TYPE_CHECKING, Final, Literal, NamedTuple

import msgspec

from overread.benchmarks.heartbeat.cases import Window
from overread.benchmarks.heartbeat.edition import Edition
from overread.benchmarks.heartbeat.trials import AREAS, PHASES, ed_position
from overread.benchmarks.tables import Int32, joined_notes, notes_of, read_again
from overread.case import Condition, Outcome, Reply, Trial

if TYPE_CHECKING:
    import polars as pl

_BIGGEST: Final = 2**63 - 1  # what a table can hold
_DIGITS: Final = 19  # of that number


class Found(NamedTuple):
    """The frames a reply names for end-diastole and end-systole; None: not named, or not asked.

    `too_large` says that a number was there which no table can hold; the largest stands for it.
    """

    ed: int | None = None
    es: int | None = None
    too_large: bool = False

    @property
    def parsed(self) -> bool:
        return self.ed is not None or self.es is not None

    def outside(self, shown: int | None) -> bool | None:
        """Whether a number is outside 0 .. shown - 1; None where nothing was parsed or known."""
        named = [number for number in (self.ed, self.es) if number is not None]
        if not named or shown is None:
            return None
        return not all(0 <= number < shown for number in named)


NOTHING: Final = Found()

# ---------------------------------------------------------------- the published grammar


def parse_strict(text: str, output: str, context: str) -> Found:
    """The first place in the text that has the requested form, in any case of letters.

    A pair counts in the requested order only: both numbers or nothing. Digits of every script are
    digits. Numbers outside the window are kept. To a non-medical question either vocabulary is an
    answer; where both stand, the one asked for counts.
    """
    match = _pattern(output, areas=True).search(text) if context == "non_medical" else None
    match = match or _pattern(output, areas=False).search(text)
    if match is None:
        return NOTHING
    return _found_of(dict(zip(PHASES[output], match.groups(), strict=True)))


@cache
def _pattern(output: str, *, areas: bool) -> re.Pattern[str]:
    names = (AREAS[phase] if areas else phase for phase in PHASES[output])
    return re.compile(r"\s*,\s*".join(rf"{name}\s*=\s*(-?\d+)" for name in names), re.IGNORECASE)


_AREA_WORDS: Final = re.compile("|".join(AREAS.values()), re.IGNORECASE)
_PHASE_WORDS: Final = re.compile("|".join(AREAS), re.IGNORECASE)


def asked_words(text: str) -> Literal["areas", "phases"] | None:
    """Whose words a reply uses, those of the non-medical question or of the others; or neither."""
    if _AREA_WORDS.search(text):
        return "areas"
    return "phases" if _PHASE_WORDS.search(text) else None


def _found_of(numbers: dict[str, str]) -> Found:
    """The numbers by phase; for one too large stands the largest of its sign."""
    exact = {phase: _whole_number(number) for phase, number in numbers.items()}
    values = {phase: max(-_BIGGEST - 1, min(_BIGGEST, value)) for phase, value in exact.items()}
    return Found(values.get("EDV"), values.get("ESV"), too_large=values != exact)


def _whole_number(number: str) -> int:
    """The value of a sign and digits of any script; beyond 64 bits, some value beyond.

    By the digits and not by `int` alone: that refuses long numbers, be they all zeros.
    """
    sign = -1 if number[0] in "-\N{MINUS SIGN}" else 1
    digits = "".join(str(unicodedata.decimal(c)) for c in number.lstrip("+-\N{MINUS SIGN}"))
    digits = digits.lstrip("0")
    return sign * (int(digits or "0") if len(digits) <= _DIGITS else 2 * _BIGGEST)


# ---------------------------------------------------------------- the lenient reading


def parse_lenient(text: str, task: str, output: str, context: str) -> Found:
    """What the strict grammar finds, or else what the reply plainly says in another form.

    Thinking is left out. Read from left to right, a number belongs to the phase named before it
    ("ESV: 30", "the EDV frame is 12"), or to the one named after it ("frame 12 is ED"), with
    nothing but small words between; a phase keeps its first number, and a pair needs both, in
    either order. A reply of bare numbers counts in the requested order. Ranges, decimals, ordinals
    and numbers with a unit are no frames: "EDV: 120 mL" is a volume. In T2 "first" is 0 and
    "second" 1.
    """
    found = parse_strict(text, output, context)
    if found.parsed:
        return found
    said = spoken(text)
    asked = PHASES[output]
    # A reply that is nothing but numbers, as many as were asked for.
    if match := _BARE_REPLY[len(asked)].fullmatch(said):
        numbers = dict(zip(asked, match.groups(), strict=True))
    else:
        numbers = _numbers_of_phases(said, two_frames=task == "t2")
    if not all(phase in numbers for phase in asked):
        return found
    return _found_of({phase: numbers[phase] for phase in asked})


def spoken(text: str) -> str:
    """What was said apart from `<think>…</think>`; nothing if the thinking never ended.

    Some servers send the opening tag with the question, so that a reply holds only the closing
    one: what stands before it is thinking too. By `find`, so that many tags cost no more than one.
    """
    kept, at = [], 0
    while (start := text.find("<think>", at)) >= 0:
        end = text.find("</think>", start)
        if end < 0:
            return ""
        kept.append(text[at:start])
        at = end + len("</think>")
    return ("".join(kept) + text[at:]).rpartition("</think>")[2]


_SIGNED_NUMBER: Final = r"(?:(?<![\w.])[+\-\N{MINUS SIGN}])?\d++"
_AROUND: Final = r"[\s*_`'\"()\[\]{}<>.]*+"
_LABEL: Final = r"(?:(?:frames?|ind(?:ex|ices)|images?|answer)\b[\s:=#]*+)*+"
_BARE_REPLY: Final = {
    1: re.compile(rf"{_AROUND}{_LABEL}{_AROUND}({_SIGNED_NUMBER}){_AROUND}", re.IGNORECASE),
    2: re.compile(
        rf"{_AROUND}{_LABEL}{_AROUND}({_SIGNED_NUMBER})"
        rf"(?:\s*+(?:[,;/&|]|and\b)\s*+|\s++(?=\d))({_SIGNED_NUMBER}){_AROUND}",
        re.IGNORECASE,
    ),
}


# One pass over the text. `odd` is a number that is no frame index; order matters.
_TOKEN: Final = re.compile(
    r"""
      (?P<EDV> (?<![^\W_]) (?: (?:LV)?EDV | (?-i:ED) | (?:end[\s\-]?)?diastol(?:e|ic)
                             | largest(?:_area(?:_index)?)? ) (?![^\W_]) )
    | (?P<ESV> (?<![^\W_]) (?: (?:LV)?ESV | (?-i:ES) | (?:end[\s\-]?)?systol(?:e|ic)
                             | smallest(?:_area(?:_index)?)? ) (?![^\W_]) )
    | (?P<odd> \d++ (?: [.,]\d | \s*+(?:[-–—/±~]|to\b|or\b|and\b)\s*+\d | [^\S\n]++\d
                      | (?:st|nd|rd|th)\b
                      | \s*+(?: % | (?:ms|m?l|mls?|s|secs?|seconds?|mm|cm|fps|hz|bpm|frames)\b ) )
             [\d.,]*+ )
    | (?P<number> (?:(?<![\w.])[+\-−])?\d++ )
    | (?P<word> [^\W\d_]++ )
    | (?P<mark> \S )
    """,
    re.IGNORECASE | re.VERBOSE,
)


def _word_set(text: str) -> frozenset[str]:
    return frozenset(text.split())


# What may stand between a phase and the number after it, and between a number and its phase.
_BETWEEN_PHASE_AND_NUMBER: Final = _word_set(
    "frame index idx image number no is was be at as in of the for with has left ventricle "
    "ventricular lv cavity volume area region red phase occurs appears happens seen shown value"
)
_BETWEEN_NUMBER_AND_PHASE: Final = _word_set(
    "is was as at the a for to with being has shows marks represents corresponds frame image"
)
_FRAME_WORDS: Final = _word_set("frame image")  # words that alone link nothing
_LINKING_MARKS: Final = frozenset("=:(→>")
_NEUTRAL_MARKS: Final = frozenset("*_`'\"<[{|#-–")
_CLOSING_MARKS: Final = frozenset(")]}")
_JOINING: Final = frozenset((",", "/", "&", "and", "or"))
_ORDINALS: Final = {"first": "0", "second": "1"}


def _numbers_of_phases(text: str, *, two_frames: bool) -> dict[str, str]:
    """The first number of each phase. One pass; what is named or given waits for its other half."""
    numbers: dict[str, str] = {}
    phase: str | None = None  # named, and waiting for its number
    number: str | None = None  # given, and waiting for its phase
    linked = joined = False  # what follows: a number's own words, or another phase in a list
    for match in _TOKEN.finditer(text):
        kind, token = match.lastgroup, match[0].lower()
        if two_frames and token in _ORDINALS:
            kind, token = "number", _ORDINALS[token]
        if kind in ("EDV", "ESV"):
            if number is not None and linked:
                numbers.setdefault(kind, number)
                phase = None
            else:
                # "EDV and ESV: 12 …": both stand before the number, so whose it is is not said.
                joined = joined or phase not in (None, kind, *numbers)
                phase = None if joined else kind
            number, joined = None, False
        elif kind == "number":
            if phase is not None:
                numbers.setdefault(phase, token)
                phase = number = None
            else:
                number, linked = token, False
            joined = False
        elif token in _JOINING:
            joined = phase is not None and phase not in numbers
            phase = number = None
        elif kind == "word":
            phase = phase if token in _BETWEEN_PHASE_AND_NUMBER else None
            number = number if token in _BETWEEN_NUMBER_AND_PHASE else None
            linked, joined = token not in _FRAME_WORDS or linked, False
        elif kind == "mark" and token in _LINKING_MARKS:
            linked = True
        elif kind == "mark" and token in _CLOSING_MARKS:
            number = None
        elif kind == "odd" or token not in _NEUTRAL_MARKS:
            phase = number = None
    return numbers


# ---------------------------------------------------------------- answers

_TOO_LARGE: Final = "a number in the reply is beyond 64 bits; the largest stands for it"


class AnswerReading(msgspec.Struct, frozen=True, kw_only=True):
    """What a reply means under an edition: the columns that are read again from the kept text.

    `pred` is the strict reading, `lenient` the second one: equal where the strict one found an
    answer. `out_of_range`: no frame shown bears that index; None where nothing was parsed.
    """

    outcome: Outcome
    pred_ed: int | None = None
    pred_es: int | None = None
    lenient_ed: int | None = None
    lenient_es: int | None = None
    out_of_range: bool | None = None
    note: str | None = None


class Answer(msgspec.Struct, frozen=True, kw_only=True, rename={"pass_": "pass"}):
    """One row of the answers table: a trial, what was read of its reply, and the truth.

    True frames are counted as the question counts them: local indices of a window in T1, positions
    0 or 1 in T2, where no window starts. `stated` is how many frames the question's range names,
    `count` how many were shown. `recorded` answers were taken over from somebody else's file.
    """

    case: str
    task: str
    context: str
    format: str
    seed: int
    pass_: Int32
    outcome: Outcome
    pred_ed: int | None = None
    pred_es: int | None = None
    lenient_ed: int | None = None
    lenient_es: int | None = None
    truth_ed: Int32
    truth_es: Int32
    start: Int32 | None = None
    count: Int32
    stated: Int32
    out_of_range: bool | None = None
    text: str | None = None
    reasoning: str | None = None
    refused: bool = False
    note: str | None = None
    recorded: bool = False
    # Whether the token limit ended the reply; None where it is not known how it ended.
    cut_off: bool | None = None


class Truth(msgspec.Struct, frozen=True):
    """The true frames as a question counts them, and the frames shown."""

    truth_ed: int
    truth_es: int
    start: int | None
    count: int
    stated: int


def truth_of(condition: Condition, window: Window | None, place: int) -> Truth:
    """The truth of a trial; `place` is the clip's in the set. T2 needs no window."""
    if condition["task"] == "t2":
        position = ed_position(place, int(condition["seed"]))
        return Truth(position, 1 - position, None, 2, 2)
    assert window is not None
    return Truth(window.ed, window.es, window.start, window.count, window.stated)


def read_text(
    edition: Edition,
    text: str,
    task: str,
    context: str,
    output: str,
    shown: int | None,
    *,
    refused: bool,
) -> AnswerReading:
    """Read a reply. A refusal is no answer, whatever its words; numbers out of range are kept."""
    if refused:
        return AnswerReading(outcome="refused")
    if edition.thinking == "removed":
        text = spoken(text)
    found = parse_strict(text, output, context)
    second = found if found.parsed else parse_lenient(text, task, output, context)
    return reading_of(found, second, shown)


def reading_of(found: Found, second: Found, shown: int | None) -> AnswerReading:
    """Both readings of a reply to which this many frames were shown."""
    return AnswerReading(
        outcome="answered" if found.parsed else "unparsed",
        pred_ed=found.ed,
        pred_es=found.es,
        lenient_ed=second.ed,
        lenient_es=second.es,
        out_of_range=found.outside(shown),
        note=_TOO_LARGE if found.too_large or second.too_large else None,
    )


def answer_of(
    trial: Trial, reply: Reply | None, truth: Truth, edition: Edition, reason: str = ""
) -> Answer:
    """What a reply to a trial is worth under an edition; None went unanswered, for the reason."""
    condition = trial.condition
    task, context, output = (str(condition[key]) for key in ("task", "context", "format"))
    read = AnswerReading(outcome="unanswered")
    if reply is not None:
        shown = truth.count
        read = read_text(edition, reply.text, task, context, output, shown, refused=reply.refused)
    return Answer(
        case=trial.case,
        task=task,
        context=context,
        format=output,
        seed=int(condition["seed"]),
        pass_=int(condition["pass"]),
        text=None if reply is None else reply.text,
        reasoning=None if reply is None else reply.reasoning,
        refused=reply is not None and reply.refused,
        cut_off=None if reply is None or reply.finish is None else reply.finish == "length",
        **msgspec.structs.asdict(truth),
        **msgspec.structs.asdict(read)
        | {"note": joined_notes([*notes_of(reply, reason), read.note])},
    )


class _Kept(msgspec.Struct, frozen=True, kw_only=True):
    """What is looked at to read a kept reply again."""

    task: str
    context: str
    format: str
    count: Int32 | None
    stated: Int32 | None
    refused: bool
    text: str | None
    recorded: bool
    note: str | None


def reread(answers: pl.DataFrame, edition: Edition, *, reparse: bool = False) -> pl.DataFrame:
    """The answers table with every kept text read again under an edition.

    Answers taken over from somebody else's file (`recorded`) stay unless `reparse`.
    """

    def again(row: _Kept) -> AnswerReading | None:
        if row.text is None or (row.recorded and not reparse):
            return None
        shown = row.stated if row.count is None else row.count
        asked = (row.task, row.context, row.format)
        read = read_text(edition, row.text, *asked, shown, refused=row.refused)
        # What this reading has to say stands in place of what an earlier one had.
        own = (row.note or "").removesuffix(_TOO_LARGE).removesuffix("; ")
        return msgspec.structs.replace(read, note=joined_notes([own, read.note]))

    return read_again(answers, _Kept, AnswerReading, again)
