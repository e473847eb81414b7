"""What words and answers say to the lexical judge.

Words are folded, singular, one word per meaning, with negations kept. Whether the final answer of a
reply is the right one goes by letters, truth words and normalised tokens. The tables stand in
lexicon.toml.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache
from pathlib import Path
from typing import Final

import msgspec


class _Tables(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    empty: frozenset[str]
    negations: frozenset[str]
    ends: frozenset[str]
    modalities: frozenset[str]
    opposites: tuple[tuple[str, str], ...]
    phrases: dict[str, tuple[str, ...]]
    words: dict[str, tuple[str, ...]]
    irregular: dict[str, str]
    hints: dict[str, tuple[str, ...]]
    cues: dict[str, tuple[str, ...]]
    parts: dict[str, tuple[str, ...]]


TABLES: Final = msgspec.toml.decode(Path(__file__).with_suffix(".toml").read_bytes(), type=_Tables)
# By phrase and by word, the common meaning.
_PHRASES: Final = {name: one for one, named in TABLES.phrases.items() for name in named}
_WORDS: Final = {name: one for one, named in TABLES.words.items() for name in named}
_OPPOSITES: Final = (*TABLES.opposites, *((that, this) for this, that in TABLES.opposites))
_ENDS: Final = frozenset(".;:!?\n") | TABLES.ends
_REACH: Final = 4  # content words that one negation reaches
_TOKEN: Final = re.compile(r"\d+(?:\.\d+)?|[^\W\d_]+(?:\d+)?|[.;:!?\n]")
_PHRASE: Final = re.compile(
    rf"\b({'|'.join(map(re.escape, sorted(_PHRASES, key=len, reverse=True)))})s?\b"
)


def any_of(parts: Iterable[str]) -> re.Pattern[str]:
    """Finds whole words or phrases, each a part of a regular expression, in capitals or not."""
    return re.compile(rf"\b(?:{'|'.join(parts)})\b", re.IGNORECASE)


@lru_cache(maxsize=16_384)
def content(text: str) -> frozenset[str]:
    """What a text says, as a set of words; those a negation reaches begin with `¬`.

    >>> sorted(content("There are no fractures in the X-rays."))
    ['xray', '¬fracture']
    """
    return frozenset(_tokens(text))


def share(one: frozenset[str], two: frozenset[str]) -> float:
    """The words that two texts share over the words of the shorter: the overlap coefficient."""
    shorter = min(len(one), len(two))
    return len(one & two) / shorter if shorter else 0.0


def contradict(one: frozenset[str], two: frozenset[str]) -> bool:
    """Whether two texts cannot both hold: left and right, 3 and 5, a thing and no such thing."""
    if any(f"¬{token}" in two for token in one) or any(f"¬{token}" in one for token in two):
        return True
    numbers = [{token for token in words if token[0].isdigit()} for words in (one, two)]
    if all(numbers) and not (numbers[0] <= numbers[1] or numbers[1] <= numbers[0]):
        return True
    mine, theirs = one - two, two - one
    return any(this in mine and that in theirs for this, that in _OPPOSITES)


def opposites(word: str) -> Iterator[str]:
    """What a word excludes: right for left."""
    return (that for this, that in _OPPOSITES if this == word)


def _tokens(text: str) -> Iterator[str]:
    folded = text.casefold().replace("-", " ").replace("’", "'")
    folded = _PHRASE.sub(lambda match: _PHRASES[match[1]], folded)
    reach = 0
    for match in _TOKEN.finditer(folded.replace("_", "\u00b7")):
        raw = match[0]
        if raw in _ENDS:
            reach = 0
        elif raw in TABLES.negations:
            reach = _REACH
        else:
            for token in _meaning(raw):
                yield f"¬{token}" if reach else token
                reach = max(0, reach - 1)


def _meaning(raw: str) -> Iterator[str]:
    for known in _WORDS.get(raw, _WORDS.get(_singular(raw), raw)).split():
        one = _singular(known)
        if one not in TABLES.empty and (len(one) > 1 or not one.isascii() or one.isdigit()):
            yield one


def _singular(token: str) -> str:
    """A plain plural as its singular; Latin and Greek endings by the table."""
    if token in TABLES.irregular:
        return TABLES.irregular[token]
    if len(token) < 4 or not token.endswith("s") or token.endswith(("ss", "us", "is", "oss")):
        return token
    if token.endswith("ies") and len(token) > 4:
        return token[:-3] + "y"
    if token.endswith(("ches", "shes", "xes", "sses", "zes")):
        return token[:-2]
    return token[:-1]


# ---------------------------------------------------------------- the final answer of a reply

_MARKER: Final = re.compile(
    r"(?:\bfinal\s+answer|\bcorrect\s+answer|\bcorrect\s+option|\bthe\s+answer|\bmy\s+answer|"
    r"^\W{0,4}answer)\W{0,4}\s*(?:(?:is|are|would\s+be|:|=|-)\W{0,4})+",
    re.IGNORECASE | re.MULTILINE,
)
_BOXED: Final = re.compile(r"\\boxed\{([^{}]{1,400})\}")
_SENTENCE: Final = re.compile(r"(?<=[.!?])\s+")
_YES_NO: Final = ("true", "false", "yes", "no", "correct", "incorrect")
_LONG: Final = 5  # of so many words an answer may lack one in five
_ASIDE: Final = re.compile(rf"{any_of(TABLES.parts['asides']).pattern}|\(", re.IGNORECASE)
_LIST: Final = re.compile(r"[,;/\n]|\b(?:or|and|versus|vs)\b", re.IGNORECASE)
_DISEASE: Final = re.compile(rf"^(?!¬).*(?:{'|'.join(TABLES.parts['diseases'])})$")
_LISTED: Final = 3  # other things that make a list, whatever they are
_OPPOSED: Final = 2  # words of a part that is an alternative by an opposite: "right kidney"
_HEAD: Final = 2_000


def final_answer(reply: str) -> str:
    """What a reply gives as its answer: behind the last mark of one, else its last sentence.

    >>> final_answer("1. It is round.\\nFinal answer: **B**")
    'B'
    """
    text = reply.strip()
    boxed = _BOXED.findall(text)
    if boxed:
        return _bare(boxed[-1])
    marks = list(_MARKER.finditer(text))
    if marks:
        return _bare(text[marks[-1].end() :].lstrip().partition("\n")[0])
    return _bare(_SENTENCE.split(text.rpartition("\n")[2].strip())[-1])


def same_answer(question: str, gold: str, reply: str) -> tuple[bool, str]:
    """Whether the reply's final answer is the gold one, and what it is."""
    final, wanted = final_answer(reply), gold.casefold().strip(" .\t\n")
    options = options_of(question) if wanted not in ("true", "false") else {}
    right = chosen(gold, options) if options else frozenset()
    if right:
        return chosen(final, options) == right, final
    if wanted in _YES_NO:
        final = final_answer(without_json(reply))
        return truth_of(final) is truth_of(wanted), final
    return bool(final) and _alike(gold, final), final


def _alike(gold: str, final: str) -> bool:
    """All words of the gold answer are in the final one, one in five of a long one excepted."""
    wanted, said = content(gold), content(final)
    if not wanted:
        return gold.casefold().split() == final.casefold().split()
    if contradict(wanted, said):
        return False
    numbers = {token for token in wanted if token[0].isdigit()}
    if wanted == numbers:
        return {token for token in said if token[0].isdigit()} == numbers
    if len(wanted) < _LONG and _several(wanted, final):
        return False
    return numbers <= said and len(wanted - said) <= len(wanted) // _LONG


def _several(wanted: frozenset[str], final: str) -> bool:
    """Whether an answer names another thing besides the wanted one: "right or left", a list."""
    head = _ASIDE.split(final, maxsplit=1)[0][:_HEAD]
    parts = [part for part in map(content, _LIST.split(head)) if part]
    others = [
        part for part in parts if not part & wanted and not all(word[0] == "¬" for word in part)
    ]
    opposed = {other for word in wanted for other in opposites(word)} - wanted
    if any(part & opposed and len(part) <= _OPPOSED for part in parts):
        return len(parts) > 1
    if any(part <= wanted for part in parts) and re.search(r"\bor\b", head, re.IGNORECASE):
        return len(others) > 0
    return len(parts) > 1 and (
        len(others) >= _LISTED or any(_DISEASE.search(word) for part in others for word in part)
    )


def _bare(text: str) -> str:
    return text.strip().strip("*_`\"' \t").rstrip(".").strip("*_`\"' \t")


# ---------------------- Options of a question, by letter or number, and those that an answer names

_ROMAN: Final = ("I", "II", "III", "IV", "V", "VI", "VII", "VIII", "IX", "X")
# How options may be labelled, and the place of a label in its row.
_STYLES: Final[tuple[tuple[str, Callable[[str], int]], ...]] = (
    ("[A-Z]", lambda label: ord(label) - 64),
    ("[a-z]", lambda label: ord(label) - 96),
    (r"\d{1,2}", int),
    ("[IVX]{1,4}", lambda label: _ROMAN.index(label) + 1 if label in _ROMAN else 0),
    ("[ivx]{1,4}", lambda label: _ROMAN.index(label.upper()) + 1 if label.upper() in _ROMAN else 0),
)
_BEFORE: Final = 120  # characters before a word in which it may be denied


def options_of(question: str) -> dict[str, str]:
    """The options a question offers, by letter (a capital) or number; fewer than two are none.

    >>> options_of("Which organ? 1. Liver 2. Spleen")
    {'1': 'Liver', '2': 'Spleen'}
    """
    for label, place in _STYLES:
        pattern = (
            rf"(?:^|\n|[ \t])\(?({label})[.):][ \t]*([^\n]*?)"
            rf"(?=[ \t]+\(?{label}[.):][ \t]|\n|$)"
        )
        # Those whose labels follow one another from the first on; one may be missing.
        found: dict[str, str] = {}
        last = 0
        for own, text in re.findall(pattern, question):
            if last < place(own) <= last + 2:
                last = place(own)
                found[own.upper()] = text.strip()
        if len(found) > 1:
            return found
    return {}


def chosen(answer: str, options: dict[str, str]) -> frozenset[str]:
    """The labels an answer names, by themselves or by what the options say."""
    bare = answer.strip()
    labels = "|".join(sorted(options, key=len, reverse=True))
    letters = all(len(label) == 1 and label.isalpha() for label in options)
    between = r"(?:\s|,|;|/|&|\+|\band\b)" + ("*" if letters else "+")
    alone = rf"\(?(?:{labels})\)?(?:{between}\(?(?:{labels})\)?)*[.)]?"
    if len(bare) <= 200 and re.fullmatch(alone, bare, re.IGNORECASE):
        return frozenset(re.findall(labels, re.sub(r"\band\b", "", bare.lower()).upper()))
    if not letters:
        # A number before the last line may count steps, so that words come first.
        return _worded(bare, options) or _labelled(bare, labels, r"(?:^|(?<=[;,]\s))")
    return _labelled(bare, labels, r"(?<![A-Za-z])") or _worded(bare, options)


def _labelled(bare: str, labels: str, start: str) -> frozenset[str]:
    pattern = re.compile(
        rf"{start}\(?({labels}|(?i:{labels})(?=\)))[.):](?=\s|$)"
        rf"|\b[Oo]ption\s+\(?((?i:{labels}))\b|\(((?i:{labels}))\)"
    )
    named = []
    for found in pattern.finditer(bare):
        before = bare[max(0, found.start() - _BEFORE) : found.start()]
        if not NEGATED.search(before):
            named.append(next(filter(None, found.groups())).upper())
    return frozenset(named)


def _worded(bare: str, options: dict[str, str]) -> frozenset[str]:
    said = content(bare)
    named = {label: content(text) for label, text in options.items() if content(text)}
    equal = [label for label, words in named.items() if words == said]
    if equal:
        return frozenset(equal[:1])
    held = {label for label, words in named.items() if words <= said}
    # An option whose words are all in another's that is named too was not meant.
    return frozenset(
        label for label in held if not any(named[label] < named[other] for other in held)
    )


# ------------- What a reply says to a yes-or-no question: true, false, or nothing that can be told

_HOLDS: Final = frozenset({"true", "yes", "correct", "right"})
# "No" and "right" are often no answer ("no effusion on the right"), nor is "the correct side".
_STOPS: Final = (
    r"(?=\W*$|\s*[.,;:!?)*_\"—–-]|\s+(?:because|since|as|that|and|but|for|given|here|based|due)\b)"
)
_TRUTH: Final = re.compile(
    rf"\b(true|false|untrue|yes)\b|\b(correct|incorrect|wrong)\b{_STOPS}"
    rf"|(?<!\bthe )\b(right)\b{_STOPS}"
    r"|(?:^|(?<=[.,;:!?] ))\W{0,4}(no)\b(?=\W*$|\s*[.,;:!?*_—–-])",
    re.IGNORECASE,
)
_BOTH: Final = re.compile(r"\b(?:true\s+or\s+false|yes\s+or\s+no)\b", re.IGNORECASE)
_CLAUSE: Final = re.compile(
    r"[.,;:!?\n]|\b(?:but|however|so|therefore|thus|hence)\b", re.IGNORECASE
)
_FILLERS: Final = "|".join(TABLES.parts["fillers"])
NEGATED: Final = re.compile(
    r"(?:\b(?:not|never|neither|nor|cannot|rather than|instead of|excluding|except)\b|n['’]t\b)"
    rf"(?:\s+(?:{_FILLERS})\b)*\s*\W?$",
    re.IGNORECASE,
)
"""Found in the words before a thing, it says that the thing is denied."""
_UNSURE: Final = re.compile(
    r"\b(?:unsure|uncertain|unclear|unknown|whether)\b"
    r"|(?:\b(?:not|cannot)|n['’]t)(?:\s+(?:be|entirely|quite|completely|really))*"
    r"\s+(?:sure|certain|clear|tell|say|determine|know|decide|judge|possible)\b(?!\s+that)",
    re.IGNORECASE,
)
_OBJECT: Final = re.compile(r"(?<![\w\\])\{\s*[\"'“]?\w{1,40}[\"'”]?\s*:")
_BRACE: Final = re.compile(r"[{}]")
_PAIR: Final = re.compile(
    r"[\"“']\w{1,40}[\"”']\s*:\s*[\"“']?(?:true|false|yes|no)\b", re.IGNORECASE
)


def truth_of(text: str) -> bool | None:
    """What a text answers: its first word if that is an answer, else what all such words say.

    >>> truth_of("It isn't true"), truth_of("I am not sure whether it is true")
    (False, None)
    """
    text = _BOTH.sub("", text)
    said: list[bool] = []
    for found in _TRUTH.finditer(text):
        before = text[max(0, found.start() - _BEFORE) : found.start()]
        clause = _CLAUSE.split(before)[-1]
        if _UNSURE.search(clause):
            continue
        word = next(filter(None, found.groups())).casefold()
        holds = (word in _HOLDS) != bool(NEGATED.search(clause))
        if not text[: found.start()].strip("*_`\"'( \t\n"):
            return holds
        said.append(holds)
    return said[0] if len(set(said)) == 1 else None


def without_json(text: str) -> str:
    """A text without what looks like a JSON object, closed or not: a verdict is no answer."""
    kept, at = [], 0
    while (start := _OBJECT.search(text, at)) is not None:
        kept.append(text[at : start.start()])
        depth, at = 0, len(text)
        for brace in _BRACE.finditer(text, start.start()):
            depth += 1 if brace[0] == "{" else -1
            if not depth:
                at = brace.end()
                break
    return _PAIR.sub(" ", " ".join([*kept, text[at:]]))
