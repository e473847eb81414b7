"""Options of an item: their form, their places, and which wrong ones stand beside the right one."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Sequence
from difflib import SequenceMatcher
from itertools import combinations
from typing import Final, Literal, TypeAlias

import msgspec

from overread.benchmarks.curated import Item
from overread.benchmarks.draws import lot
from overread.curate.form import words_of
from overread.judging.lexicon import content, share

MOST_OPTIONS: Final = 10
LONGEST: Final = 160
_NEAR: Final = 0.85
_SHARED: Final = 0.8
_MARK: Final = re.compile(r"^\s*(?:[-*•]\s+|\(?[A-Ja-j0-9]{1,2}[.)]\s+)")
_OTHERS: Final = re.compile(
    r"\b(?:(?:all|none|both|neither|any)\s+of\s+(?:the\s+)?(?:above|these|them|others?|options)"
    r"|cannot\s+be\s+(?:told|determined)|not\s+enough\s+information)\b",
    re.IGNORECASE,
)
Exclusion: TypeAlias = Literal[
    "no_words", "too_long", "speaks_of_options", "same_as_answer", "near_answer", "part_of_answer",
    "said_in_caption", "same_as_another",
]  # fmt: skip


class Proposal(msgspec.Struct, frozen=True):
    """A wrong answer that somebody proposed, and by whom (a place among the proposers)."""

    text: str
    by: int = 0


def bare_option(text: str, like: str = "") -> str:
    """An option without letter, mark or final stop, its first letter as that of another is.

    >>> bare_option("B) Pleural effusion.", like="pneumonia")
    'pleural effusion'
    >>> bare_option("E. coli", like="C. difficile")
    'E. coli'
    """
    words = " ".join(text.split()).rstrip(" .;,")
    # Where the answer itself begins so, it is no letter of an option but a genus.
    if not _MARK.match(like):
        words = _MARK.sub("", words)
    first, _, _ = words.partition(" ")
    # "CT" and "T2-weighted" are no words that begin with a capital.
    if like and first[1:].islower() and first.isalpha():
        upper = like[:1].isupper()
        words = (words[:1].upper() if upper else words[:1].lower()) + words[1:]
    return words


def kept_proposals(
    proposals: Iterable[Proposal], answers: Sequence[str], caption: str = ""
) -> tuple[list[Proposal], dict[Exclusion, int]]:
    """The proposals that may stand beside the answers, and how many were excluded for what.

    Excluded is what equals an answer or another proposal but for capitals, blanks, plurals, order
    of words and synonyms; what is a few letters off the answer, holds it or is held by it; what the
    caption says, for it may be true; and what speaks of other options.
    """
    kept: list[Proposal] = []
    excluded: dict[Exclusion, int] = defaultdict(int)
    for one in proposals:
        text = bare_option(one.text, like=answers[0])
        reason = _exclusion(text, answers, caption)
        if reason is None and any(same_option(text, other.text) for other in kept):
            reason = "same_as_another"
        if reason is None:
            kept.append(Proposal(text, one.by))
        else:
            excluded[reason] += 1
    return kept, dict(excluded)


def _exclusion(text: str, answers: Sequence[str], caption: str) -> Exclusion | None:
    if not content(text):
        return "no_words"
    if len(text) > LONGEST:
        return "too_long"
    if _OTHERS.search(text):
        return "speaks_of_options"
    for answer in answers:
        if same_option(text, answer):
            return "same_as_answer"
        mine, right = content(text), content(answer)
        if mine <= right or right <= mine:
            return "part_of_answer"
        if _near(text, answer):
            return "near_answer"
    # All its words, close together: captions hold many words that an option may use.
    if _told(text, caption):
        return "said_in_caption"
    return None


def same_option(one: str, other: str) -> bool:
    """Whether two options say the same but for capitals, blanks, plurals, order and synonyms."""
    return words_of(one) == words_of(other) or content(one) == content(other)


def _near(text: str, answer: str) -> bool:
    """A few letters off, or nearly all words shared; "left" for "right" is not near."""
    mine, right = content(text), content(answer)
    differing = mine ^ right
    if len(differing) == 2 and len(mine) == len(right):
        # One word for another: near only where it is the same word, spelt or bent otherwise.
        one, other = differing
        return SequenceMatcher(None, one, other, autojunk=False).ratio() >= _NEAR
    return share(mine, right) > _SHARED


def _told(text: str, caption: str) -> bool:
    return any(content(text) <= content(part) for part in re.split(r"[.;\n]", caption) if part)


# ---------------------------------------------------------------- which four


def chosen(
    pool: Sequence[Proposal], answers: Sequence[str], many: int, rank: int, seed: int, name: str
) -> list[str]:
    """So many of a pool, so that form tells nothing of the answer.

    The answer's length is to have a certain rank among all (0 is the shortest), which is drawn for
    every item, so that over a set the right option is the longest no more often than chance. Among
    the choices that come nearest to it, the one with the most proposers and the evenest lengths is
    taken, and by lot among equals.
    """
    longest = max(len(answer) for answer in answers)
    tried = pool[:12]

    def cost(picked: tuple[Proposal, ...]) -> tuple[float, int, int, int]:
        lengths = [len(one.text) for one in picked]
        below = sum(length < longest for length in lengths)
        level = sum(length == longest for length in lengths)
        off = max(below - rank, rank - below - level, 0)
        spread = max(*lengths, longest) - min(*lengths, longest)
        names = "|".join(one.text for one in picked)
        return off, -len({one.by for one in picked}), spread // 8, lot("chosen", seed, name + names)

    best = min(combinations(tried, many), key=cost)
    return [one.text for one in best]


def drawn_ranks(names: Sequence[str], ranks: int, seed: int) -> dict[str, int]:
    """A rank for each name, every rank equally often over all of them."""
    turn = sorted(names, key=lambda name: (lot("rank", seed, name), name))
    start = lot("first rank", seed, "") % ranks
    return {name: (start + place) % ranks for place, name in enumerate(turn)}


# ---------------------------------------------------------------- places


def placed(items: Sequence[Item], seed: int) -> list[Item]:
    """The items with their options in an order drawn by seed, right ones in every place alike.

    Items of a pair, which have the same options, get them in the same order, so that whoever does
    not look says the same to both.
    """
    sets: dict[tuple[str, str], list[int]] = defaultdict(list)
    for at, item in enumerate(items):
        if len(item.options) > 1:
            sets["pair" if item.pair else "item", item.pair or str(at)].append(at)
    names = {key: items[ats[0]].id for key, ats in sets.items()}
    turn = sorted(sets, key=lambda key: (lot("place", seed, names[key]), names[key]))
    seen: dict[int, int] = defaultdict(int)
    found = list(items)
    for key in turn:
        first = items[sets[key][0]]
        many = len(first.options)
        order = sorted(
            first.options, key=lambda text: (lot(f"option {text}", seed, names[key]), text)
        )
        right = first.answers[0] if len(first.answers) == 1 else None
        if right in order:
            # The n-th of equally many options has its answer at the n-th place, round and round.
            order.remove(right)
            order.insert(seen[many] % many, right)
            seen[many] += 1
        for at in sets[key]:
            found[at] = msgspec.structs.replace(items[at], options=tuple(order))
    return found
