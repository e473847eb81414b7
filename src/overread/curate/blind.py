"""Items that are answered without the picture: which, how many, and how many of these by luck.

Each of m readers without pictures answers an item in r orders of its options. An item is *flagged*
where they are right more often than chance allows: the exact binomial tail of the right replies
among all that name an option, at a false-discovery rate of q over the set (Benjamini, Hochberg).
To drop whatever any blind reader gets right, as B-Clean does, would drop 1 - 0.8³ = 49 % of sound
items of five options with three readers by chance alone.

Orders of one reader are no independent tries: who has a liking for one option takes it in every
order, and is right by luck in one of five. So a flag says that these readers answer the item blind,
not why, and two numbers stand beside it. `by_luck` is how many flags the same replies would give on
average if any option might be right: flags beyond that are what the words of the set give away.
And `p` of the set is exact whatever readers like: with replies as they are, the right option is any
of them with equal chance if the words tell nothing. Items of a pair put the same words twice and
have different answers, so no blind reader solves a pair; they are not flagged.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Final, NamedTuple

import msgspec

from overread.benchmarks.curated import Item
from overread.benchmarks.exhibits.cells import percent
from overread.case import Table
from overread.curate.form import owners_of, shown_options

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

PICKS: Final = "blind_picks"
"""The fact of an item with how often each of its options was taken, in their order."""
FLAG: Final = "blind_solvable"


class Picks(NamedTuple):
    """How often blind readers took each option of an item; `right` is the place of the answer."""

    counts: tuple[int, ...]
    right: int

    @property
    def tries(self) -> int:
        return sum(self.counts)

    def p(self, place: int | None = None) -> float:
        """The chance of so many replies for an option, the right one if none is said."""
        from overread.stats import binomial_tail

        at = self.right if place is None else place
        return binomial_tail(self.counts[at], self.tries, 1 / len(self.counts))


class BlindReport(msgspec.Struct, frozen=True, kw_only=True):
    """How a set is answered without its pictures.

    Of `n` items with blind replies, `accuracy` is the mean share of right replies, an item counting
    once however often it was asked, with its interval over pictures; `chance` what guessing gives,
    `above` the share (accuracy - chance) / (1 - chance). `p` is exact. `flagged` items are solved
    blind, of which `by_luck` would be if the words told nothing. `pairs` have both their items
    among the `n`.
    """

    n: int
    replies: int = 0
    accuracy: float | None = None
    low: float | None = None
    high: float | None = None
    chance: float | None = None
    above: float | None = None
    p: float | None = None
    flagged: int = 0
    by_luck: float | None = None
    pairs: int = 0


def told(picks: Sequence[int]) -> str:
    """Picks as a fact of an item: "3 0 1"."""
    return " ".join(map(str, picks))


def picks_of(item: Item) -> Picks | None:
    """What blind readers took, as the item says it; None where nobody was asked or replied."""
    options, fact = shown_options(item), item.facts.get(PICKS)
    if not isinstance(fact, str) or len(item.answers) != 1 or item.answers[0] not in options:
        return None
    words = fact.split()
    if len(words) != len(options) or not all(word.isdecimal() for word in words):
        return None
    picks = Picks(tuple(map(int, words)), options.index(item.answers[0]))
    return picks if picks.tries else None


def solved_blind(items: Iterable[Item], rate: float) -> set[str]:
    """The ids of the items that are flagged at this false-discovery rate."""
    return set(_flagged(list(items), rate)[0])


def _flagged(items: Sequence[Item], rate: float) -> tuple[list[str], float]:
    """Ids of the flagged items, and the largest p among them."""
    from overread.stats import benjamini_hochberg

    paired = pairs_of(items)
    tested = [
        (item.id, picks)
        for item in items
        if item.pair not in paired and (picks := picks_of(item)) is not None
    ]
    p = [picks.p() for _, picks in tested]
    adjusted = benjamini_hochberg(p)
    names = [name for (name, _), q in zip(tested, adjusted, strict=True) if q <= rate]
    return names, max((own for own, q in zip(p, adjusted, strict=True) if q <= rate), default=0.0)


def pairs_of(items: Sequence[Item]) -> dict[str, list[Item]]:
    """The pairs of which both items are there, and still pairs."""
    found: dict[str, list[Item]] = defaultdict(list)
    for item in items:
        if item.pair:
            found[item.pair].append(item)
    return {pair: two for pair, two in found.items() if len(two) == 2 and are_pair(*two)}


def are_pair(one: Item, other: Item) -> bool:
    """Whether two ask the same and differ in the answer: reviewers may have mended one of them."""
    same = (one.question, one.options) == (other.question, other.options)
    return same and not set(one.answers) & set(other.answers)


def blind_report(items: Iterable[Item], rate: float = 0.1) -> BlindReport:
    """What the items' facts say of the whole set."""
    from overread.stats import clustered_mean

    known = sorted(items, key=lambda item: item.id)
    own = [(item, picks) for item in known if (picks := picks_of(item)) is not None]
    if not own:
        return BlindReport(n=0)
    shares = [picks.counts[picks.right] / picks.tries for _, picks in own]
    chance = sum(1 / len(picks.counts) for _, picks in own) / len(own)
    accuracy = sum(shares) / len(own)
    owners = dict(zip((item.id for item in known), owners_of(known), strict=True))
    low = high = None
    if len({owners[item.id] for item, _ in own}) > 1:
        interval, _ = clustered_mean(
            accuracy, shares, [owners[item.id] for item, _ in own], (0.0, 1.0)
        )
        low, high = interval.low, interval.high
    names, largest = _flagged(known, rate)
    paired = pairs_of([item for item, _ in own])
    # Those that could be flagged: one whose partner has no replies is not.
    never = pairs_of(known)
    alone = [picks for item, picks in own if item.pair not in never]
    return BlindReport(
        n=len(own),
        replies=sum(picks.tries for _, picks in own),
        accuracy=accuracy,
        low=low,
        high=high,
        chance=chance,
        above=(accuracy - chance) / (1 - chance),
        p=_exchanged(own, paired),
        flagged=len(names),
        by_luck=_by_luck(alone, largest) if names else 0.0,
        pairs=len(paired),
    )


def _by_luck(alone: Sequence[Picks], largest: float) -> float:
    """How many items would be flagged on average if any option might be the right one."""
    found = 0.0
    for picks in alone:
        places = range(len(picks.counts))
        found += sum(picks.p(place) <= largest for place in places) / len(picks.counts)
    return found


def _exchanged(own: Sequence[tuple[Item, Picks]], paired: Mapping[str, Sequence[Item]]) -> float:
    """The chance of as many right replies if the right option were any of them.

    The sum of independent draws, one for each item or pair, convolved: no shuffling, no seed. The
    two of a pair are drawn together, for their answers differ.
    """
    import numpy as np

    by_id = {item.id: picks for item, picks in own}
    total = sum(picks.counts[picks.right] for _, picks in own)
    pmf = np.ones(1)
    for item, picks in own:
        two = paired.get(item.pair)
        if two is None:
            pmf = np.convolve(pmf, _counts(picks.counts))
        elif item.id == two[0].id:
            other = by_id[two[1].id].counts
            sums = [
                one + another
                for at, one in enumerate(picks.counts)
                for to, another in enumerate(other)
                if at != to
            ]
            pmf = np.convolve(pmf, _counts(sums))
    return min(1.0, float(pmf[total:].sum()))


def _counts(values: Sequence[int]) -> NDArray[np.float64]:
    import numpy as np

    found: NDArray[np.float64] = np.bincount(values) / len(values)
    return found


def blind_table(report: BlindReport, name: str) -> Table:
    """How a set is answered without its pictures, as it is printed."""
    row = (
        f"{report.n:,}",
        f"{report.replies:,}",
        percent(report.accuracy),
        f"{percent(report.low)}–{percent(report.high)}",
        percent(report.chance),
        percent(report.above),
        "–" if report.p is None else f"{report.p:.2g}",
        f"{report.flagged:,}",
        "–" if report.by_luck is None else f"{report.by_luck:.1f}",
    )
    return Table(
        name="blind",
        title=f"What is answered of {name} without looking",
        columns=("items", "replies", "right", "95 %", "by chance", "above", "p", "flagged",
                 "by luck"),
        rows=(row,) if report.n else (),
        notes=(
            "Flagged items are answered by readers without pictures more often than chance allows; "
            "so many would be by luck if the words told nothing, since who likes an option takes "
            f"it in every order. {report.pairs:,} pairs cannot be solved so.",
        ),
        headline=("items", "right", "by chance", "p", "flagged", "by luck"),
    )  # fmt: skip
