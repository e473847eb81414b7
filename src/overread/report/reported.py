"""A run as the page takes it, and what the page may show of it by the policy of its data set."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import inf
from typing import Final, Literal, TypeAlias

import msgspec

from overread.case import Card, CardAnswer, Figure, Headline, Measure, Policy, Shown, Table
from overread.measuring.units import Unit
from overread.records import RunRecord

Exhibit: TypeAlias = Table | Figure

# What a parser made of a reply is short: Yes, 93.0 % sure.
_SHORT_LINE: Final = 60
_LEFT_OUT: Final = "(left out)"


class Metric(msgspec.Struct, frozen=True, kw_only=True):
    """What a benchmark declares of a measure: what it says, its unit and ends, which end is better.

    Of what is judged, the `questions` to judges and the `roles` of those who are asked them.
    """

    says: str = ""
    unit: str = ""
    low: float = -inf
    high: float = inf
    better: Literal["higher", "lower"] | None = None
    questions: tuple[str, ...] = ()
    roles: tuple[str, ...] = ()


class StudyRead(msgspec.Struct, frozen=True, kw_only=True):
    """The reader study in which a person read as models did, and who he is, where that is known."""

    name: str
    readers: int
    sessions: int
    washout_days: float
    seed: int
    person: str = ""


class Reported(msgspec.Struct, frozen=True, kw_only=True):
    """One run and everything its part of the page is made of.

    `cards` are those embedded, in the order in which they are paged through, out of `card_total`;
    `strata` says which they are, a line each, and `seed` what drew them. `slides` are rendered
    pictures by case and number of the slide on its card, in the size a reader was shown them, since
    boxes are in those pixels; the page shrinks them. A slide without one is named and not shown.
    `asked` are those of the methods that say what was asked and shown; `studies` are those in which
    people read, by their names as readers.
    `units` say what the measures of headlines are counted in, where their names do not;
    `share_right` is the measure that says how often a reader is right, `diagnostic` are others of
    its accuracy, and `steady` says how often the same was answered again.
    `facets` are the words cards may be filtered by; where there are none, those of the cards.
    `settings` are the rules and options it was made under, a table for a supplement.
    `metrics` is what is declared of the measures by their names. `include_images` says that whoever
    asked for the page may see pictures and texts of a set that is not open: without it the page
    leaves them out, whatever it is given.
    """

    record: RunRecord
    measures: Sequence[Measure] = ()
    metrics: Mapping[str, Metric] = {}
    exhibits: Sequence[Exhibit] = ()
    headlines: Sequence[Headline] = ()
    methods: Sequence[str] = ()
    asked: Sequence[str] = ()
    studies: Mapping[str, StudyRead] = {}
    limitations: Sequence[str] = ()
    settings: Table | None = None
    published: Sequence[Table] = ()
    cards: Sequence[Card] = ()
    card_total: int = 0
    seed: int = 0
    strata: Sequence[str] = ()
    slides: Mapping[tuple[str, int], Shown] = {}
    facets: Mapping[str, Sequence[str]] = {}
    units: Mapping[str, Unit] = {}
    share_right: str = ""
    diagnostic: tuple[str, ...] = ()
    steady: str = ""
    include_images: bool = False


def allowed(run: Reported) -> Reported:
    """The run without what its data policy keeps off a page.

    Pictures of a set that is not open, and texts of a credentialed one, what readers said about
    them with them, are shown only to whom asked for them by `include_images`.
    """
    policy = run.record.policy
    if policy == "open" or run.include_images:
        return run
    cards = [allowed_card(card, policy) for card in run.cards]
    return msgspec.structs.replace(run, slides={}, cards=cards)


def allowed_card(card: Card, policy: Policy) -> Card:
    """A card as it is shown to whom did not ask for pictures and texts; its slides are named.

    A title may be a question's own words, and a line may quote a reply.
    """
    if policy != "credentialed":
        return card
    said = tuple(
        msgspec.structs.replace(
            one,
            text="",
            answers=tuple(_allowed_answer(answer) for answer in one.answers),
            lines=tuple((label, _short(line)) for label, line in one.lines),
            steps=tuple(msgspec.structs.replace(step, text="") for step in one.steps),
        )
        for one in card.said
    )
    return msgspec.structs.replace(card, title=card.case, texts=(), options=(), steps=(), said=said)


def _allowed_answer(answer: CardAnswer) -> CardAnswer:
    # What was chosen is told by its key: an option's words are the set's.
    text = answer.option or _short(answer.text)
    return msgspec.structs.replace(answer, text=text, reply="")


def _short(line: str) -> str:
    return line if len(line) <= _SHORT_LINE else _LEFT_OUT


def warning(run: Reported) -> str | None:
    """What whoever holds the page should know of it: what it shows, or why it does not."""
    record = run.record
    if record.policy == "open":
        return None
    if run.include_images or record.pictures:
        return (
            f"This page shows pictures or texts of {record.dataset} ({record.policy}): keep it "
            "where the data set may be."
        )
    kept = "Pictures" if record.policy == "research" else "Pictures and texts"
    return (
        f"{kept} of {record.dataset} are left out, for the set is {record.policy}; "
        "--include-images puts them in, where they may be seen."
    )
