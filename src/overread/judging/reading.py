"""A judge's words as a verdict: as JSON, or as yes or no, without what it thinks aloud.

JSON is read strictly first, then out of fences and prose, then repaired (M3COT 10). Nothing
here raises, whatever the text holds, and nothing takes long: a judge is a model, and what it read
was written by another one.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Sequence
from typing import Any, Final, Literal, SupportsIndex, TypeAlias

from overread.judging import Read

Shape: TypeAlias = Literal["any", "object", "array"]
_KINDS: Final = {"any": (dict, list), "object": (dict,), "array": (list,)}

LONGEST: Final = 200_000
"""Characters of a reply at most; a verdict of 4096 tokens has about 20,000."""
DEEPEST: Final = 40
"""Levels of nesting at most; a verdict has three."""

_FENCE: Final = re.compile(r"```[ \t]*[A-Za-z0-9_+-]*[ \t]*\r?\n?(.*?)```", re.DOTALL)
_OPENING: Final = re.compile(r"```[ \t]*[A-Za-z0-9_+-]*[ \t]*\r?\n?")
_MARKS: Final = re.compile(r'[\[\]{}"\\]')
_PROSE: Final = ("found", "repaired")
_CLOSING: Final = {"[": "]", "{": "}"}
_BRACKET: Final = re.compile(r"[\[{]")
_BEGUN: Final = re.compile(r"\[\s*[{\"']|\{\s*[\"']")
# Brackets, quotes and backslashes looked at in a reply, again and again ones counted.
_LOOKS: Final = 400_000


def read_json(text: str, shape: Shape = "any") -> Read:
    """The verdict in a reply: an object or an array, as `shape` says, and how it was read.

    `strict`: the whole reply is JSON. `fenced`: what stands in its last code fence is. `found`: the
    last JSON in its prose; a judge may quote before it judges, and what it quotes may be a verdict
    that the judged reply has planted. Objects with nothing but commas between them are an array.
    `repaired`: what json-repair makes of the text from the last fence or bracket on, with its
    backslashes as they are. For `object`, an array of one object is that object.
    """
    if not text.strip():
        return Read(fault="no reply")
    if len(text) > LONGEST:
        return Read(fault=f"a reply of more than {LONGEST} characters")
    fault = "no JSON in the reply"
    for how, value in _values(text):
        if shape == "object" and isinstance(value, list) and len(value) == 1:
            value = value[0]
        if isinstance(value, _KINDS[shape]) and not (how in _PROSE and _is_citation(value)):
            return _checked(value, how)
        fault = f"no JSON{'' if shape == 'any' else f' {shape}'} in the reply"
    return Read(fault=fault)


def _values(text: str) -> Iterator[tuple[str, Any]]:
    """What the text may mean, the surest reading first."""
    whole = _strict(text)
    if whole is not None:
        yield "strict", whole
        return
    for body in reversed(_FENCE.findall(text)):
        value = _strict(body)
        if value is not None:
            yield "fenced", value
    spans = _spans(text)
    for value in reversed(_runs(text, spans)):
        yield "found", value
    for start in _starts(text, spans):
        value = repaired(text[start:], DEEPEST)
        if value is not None:
            yield "repaired", value


def _strict(text: str) -> Any | None:
    """An object or array by the letter of the standard, else None."""
    try:
        value = json.loads(text, parse_constant=_no_constant)
    except (ValueError, RecursionError):  # a number of 5000 digits is a ValueError
        return None
    return value if isinstance(value, dict | list) else None


def _no_constant(name: str) -> None:
    raise ValueError(name)


def _spans(text: str) -> list[tuple[int, int, bool]]:
    """From each outermost bracket to the one that closes it; whether one does.

    Quotes count between brackets only, since prose has apostrophes and single quotes of its own. A
    bracket that is never closed is prose, and reading starts again behind it; unless JSON has begun
    there: what it holds is then part of something broken and no verdict by itself.
    """
    spans: list[tuple[int, int, bool]] = []
    looks = _LOOKS
    begun = _BRACKET.search(text)
    while begun is not None and looks > 0:
        start = begun.start()
        end, looked = _close_of(text, start, looks)
        looks -= looked
        spans.append((start, len(text) if end is None else end, end is not None))
        if end is None and _BEGUN.match(text, start):
            break
        begun = _BRACKET.search(text, start + 1 if end is None else end)
    return spans


def _close_of(text: str, start: int, looks: int) -> tuple[int | None, int]:
    """Behind the bracket that closes the one at `start`, and how many marks were looked at.

    None where none closes it, or a wrong one, or where the nest is too deep for a verdict.
    """
    waiting: list[str] = []
    quoted, skip, looked = False, -1, 0
    for mark in _MARKS.finditer(text, start):
        sign, at = mark[0], mark.start()
        looked += 1
        if at == skip:
            continue
        if sign == "\\":
            skip = at + 1
        elif sign == '"':
            quoted = not quoted
        elif quoted:
            continue
        elif sign in _CLOSING:
            waiting.append(_CLOSING[sign])
        elif waiting.pop() != sign:
            break
        if not waiting:
            return at + 1, looked
        if len(waiting) > DEEPEST or looked > looks:
            break
    return None, looked


def _runs(text: str, spans: Sequence[tuple[int, int, bool]]) -> list[Any]:
    """The JSON of each closed span; objects that follow one another at once are one array."""
    runs: list[list[Any]] = []
    behind: int | None = None
    for start, end, closed in spans:
        value = _strict(text[start:end]) if closed else None
        if value is None:
            continue
        near = behind is not None and not text[behind:start].strip(" \t\r\n,")
        if near and isinstance(value, dict) and isinstance(runs[-1][-1], dict):
            runs[-1].append(value)
        else:
            runs.append([value])
        behind = end
    return [run if len(run) > 1 else run[0] for run in runs]


def _starts(text: str, spans: Sequence[tuple[int, int, bool]]) -> Iterator[int]:
    """Where repair may begin: in the last fence; at the last span; at the first bracket."""
    openings = [match.end() for match in _OPENING.finditer(text)]
    fenced = [at for at in openings if text[at : at + 200].lstrip()[:1] in "[{"]
    outer: list[int] = []  # where spans begin that lie in no other
    reach = -1
    for start, end, _ in spans:
        if start >= reach:
            outer.append(start)
            reach = end
    for at in dict.fromkeys((*fenced[-1:], *outer[-1:], *outer[:1])):
        if text[at:].strip():
            yield at


def _is_citation(value: Any) -> bool:
    """`[1]` or `[]` in prose is no verdict."""
    return isinstance(value, list) and not any(isinstance(part, dict | str) for part in value)


def _checked(value: Any, how: str) -> Read:
    """Values that any writer takes: no lone surrogates, no infinite numbers, no deep nests."""
    try:
        return Read(_clean(value, DEEPEST), how)
    except ValueError as error:
        return Read(how=how, fault=str(error))


def _clean(value: Any, depth: int) -> Any:
    if depth < 0:
        raise ValueError(f"JSON nested more than {DEEPEST} deep")
    if isinstance(value, dict):
        return {_plain(str(key)): _clean(part, depth - 1) for key, part in value.items()}
    if isinstance(value, list):
        return [_clean(part, depth - 1) for part in value]
    if isinstance(value, str):
        return _plain(value)
    if isinstance(value, float) and not math.isfinite(value):
        raise ValueError("a number that is not finite")
    if isinstance(value, int) and abs(value) > 2**53:
        raise ValueError("a number beyond 2^53")
    return value


def _plain(text: str) -> str:
    return text.encode("utf-8", "replace").decode("utf-8")


# --------------------------------------------------- Broken JSON mended by json-repair, on a leash
#
# The package is a parser with look-ahead: quotes and brackets without end cost it minutes and deep
# nests its stack. It gets a text that counts how often it is looked at, and is stopped by count and
# not by the clock, so that the same text is always read the same way.

LONGEST_MENDED: Final = 24_000
"""Characters of broken JSON at most; a verdict of 4096 tokens has about 20,000."""
LOOKS: Final = 10
"""How often each character may be looked at on average; broken verdicts need about two."""
ESCAPES: Final = 8_000_000
"""Backslashes times characters at most: for each escape json-repair walks the string again."""

_BRACKETS: Final = re.compile(r"[\[\](){}]")


class _TooMany(Exception):
    pass


class _Watched(str):
    """Text that raises when it has been looked at too often; its parts share the count."""

    left: list[int]

    def of(self, left: list[int]) -> _Watched:
        self.left = left
        return self

    def __getitem__(self, at: SupportsIndex | slice) -> str:
        if isinstance(at, slice):
            part = str.__getitem__(self, at)
            self._look(1 + len(part) // 16)
            return _Watched(part).of(self.left)
        self._look(1)
        return str.__getitem__(self, at)

    def __add__(self, other: str) -> str:
        self._look(1 + len(other) // 16)
        return _Watched(str.__add__(self, other)).of(self.left)

    def _look(self, count: int) -> None:
        self.left[0] -= count
        if self.left[0] < 0:
            raise _TooMany


def repaired(text: str, deepest: int) -> Any | None:
    """What json-repair makes of a text: an object or an array, or None."""
    size = len(text)
    if size > LONGEST_MENDED or text.count("\\") * size > ESCAPES or _depth(text) > deepest:
        return None
    import json_repair

    try:
        value: Any = json_repair.loads(
            _Watched(text).of([LOOKS * (size + 1000)]), skip_json_loads=True
        )
    # Whatever a parser of broken text raises (recursion, indices), the text is not mended.
    except (_TooMany, RecursionError, ArithmeticError, LookupError, TypeError, ValueError):
        return None
    return _thawed(value) if isinstance(value, dict | list) and value else None


def _depth(text: str) -> int:
    """The deepest nest of brackets, those in strings counted too."""
    depth = deepest = 0
    for match in _BRACKETS.finditer(text):
        depth = max(0, depth + (1 if match[0] in "[({" else -1))
        deepest = max(deepest, depth)
    return deepest


def _thawed(value: Any) -> Any:
    """Plain strings in place of watched ones."""
    if isinstance(value, dict):
        return {str.__str__(key): _thawed(part) for key, part in value.items()}
    if isinstance(value, list):
        return [_thawed(part) for part in value]
    return "".join(value) if isinstance(value, str) else value


# ------------------------------------------------------- What a reply says apart from its thinking

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


# --------------------------------- A judge's words as yes or no, for judges that cannot write JSON
#
# The verdict stands at the end of a reply or at its very start, never in between: there a judge
# tells what was asked and answered, in which yes and no are words of others.

_SHORT: Final = 300  # characters of a line that are looked at
_DRESS: Final = r"[\s*_`\"'“”‘’()\[\]{}<>#|~]*"
_WORD: Final = r"(?P<said>yes|no)\b"
_END: Final = rf"{_DRESS}[.!]*{_DRESS}"
_LABEL: Final = (
    r"(?:(?:(?:the|my|final)\s+)*(?:answer|verdict|judge?ment|result|conclusion|match|same)\b"
    rf"{_DRESS}(?:is\b|[:=]){_DRESS})?"
)
_ALONE: Final = re.compile(rf"{_DRESS}{_LABEL}{_WORD}{_END}", re.IGNORECASE)
# "No. 3" is a number.
_OPENS: Final = re.compile(rf"{_DRESS}{_WORD}{_DRESS}[,.;:!—–-](?!\s*\d)", re.IGNORECASE)
_CLOSES: Final = re.compile(rf"[.!?]\s+{_DRESS}{_WORD}{_END}$", re.IGNORECASE)


def read_yes_no(text: str | None) -> Read:
    """True for yes, False for no, as the last line says it, else as the first line begins.

    `how` is `yesno` where the reply is nothing but the word, and `yesno+found` where it was found
    in others. What a judge thinks (`<think>`) or quotes (`> …`) is not its verdict.

    >>> read_yes_no("They differ.\\n**No**"), read_yes_no("Perhaps.").fault
    (Read(value=False, how='yesno+found', fault=''), 'neither yes nor no')
    """
    said = spoken(text[:LONGEST]) if text else ""
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
