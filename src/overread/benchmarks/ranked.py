"""Replies of several models to one open question, as people rank them: on named dimensions, by
letters that are dealt anew for every item."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

import overread.case as oc
from overread.benchmarks.draws import lot
from overread.benchmarks.letter_parser import LETTERS
from overread.benchmarks.people import Ask, ForPeople
from overread.case import BadInput

# A digit ranks, and nobody keeps more replies in mind.
_MOST_RANKED: Final = 9


def check_ranked(readers: Sequence[str]) -> None:
    """Refuse to rank one model, or more than anybody keeps in mind."""
    if not 2 <= len(readers) <= _MOST_RANKED:
        raise BadInput(
            f"models: it is {len(readers)}, and from 2 to {_MOST_RANKED} can be ranked. Name them: "
            "models = […]."
        )


def screen_of_replies(
    *,
    case: str,
    patient: str,
    slides: tuple[oc.Slide, ...],
    texts: Sequence[tuple[str, str]],
    replies: Mapping[str, str],
    dimensions: Mapping[str, str],
    seed: int,
    stratum: str = "",
    facts: Mapping[str, str] = {},
) -> ForPeople:
    """A question for each of `dimensions`, which says what it is called and how it is asked.

    `replies` are by model; no letter is always one model's, and `facts` of the screen say whose
    each is. Of `texts`, which stand before the replies, empty ones are left out.
    """
    order = sorted(replies, key=lambda who: lot("letters", seed, f"{case}|{who}"))
    named = dict(zip(LETTERS, order, strict=False))
    said = [(f"Reply {letter}", replies[who]) for letter, who in named.items()]
    return ForPeople(
        case=case,
        patient=patient,
        slides=slides,
        texts=tuple((heading, text) for heading, text in (*texts, *said) if text),
        asks=tuple(
            Ask(name=name, text=text, kind="ranking", options=tuple(named))
            for name, text in dimensions.items()
        ),
        stratum=(stratum,),
        facts={**named, **facts},
    )
