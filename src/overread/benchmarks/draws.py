"""Draws by seed that depend on names alone: the same on every machine, whatever the order."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from hashlib import blake2b
from typing import Any, TypeVar

T = TypeVar("T")
Stratum = TypeVar("Stratum", int, str)


def lot(purpose: str, seed: int, name: str) -> int:
    """A number of 128 bits that depends on these three alone, on every machine."""
    text = f"{purpose}|{seed}|{name}".encode("utf-8", "surrogatepass")
    return int.from_bytes(blake2b(text, digest_size=16).digest())


def derangement(
    items: Sequence[T],
    seed: int,
    *,
    name: Callable[[T], str],
    links: Callable[[T], Sequence[str]],
) -> Iterator[tuple[T, T]]:
    """Each item with the one that lends to it: never one that it is linked to.

    Items that share a link have one owner, whatever chain of links joins them; every item has at
    least one link. Each item lends once, unless one owner has more than half of them. An item
    without a stranger is left out.
    """
    if not items:
        return
    owner = _owners(items, name, links)
    drawn = sorted(
        items,
        key=lambda item: (
            lot("owner", seed, owner[name(item)]),
            owner[name(item)],
            lot("swap", seed, name(item)),
            name(item),
        ),
    )
    # Owners stand together, so a shift by the largest of them leads everyone to another owner.
    shift = max(Counter(owner.values()).values())
    strangers: dict[str, list[T]] = {}
    for place, item in enumerate(drawn):
        lender, own = drawn[(place + shift) % len(drawn)], owner[name(item)]
        if owner[name(lender)] == own:
            if own not in strangers:
                strangers[own] = [other for other in drawn if owner[name(other)] != own]
            others = strangers[own]
            if not others:
                return
            lender = others[lot("lender", seed, name(item)) % len(others)]
        yield item, lender


def _owners(
    items: Iterable[T], name: Callable[[T], str], links: Callable[[T], Sequence[str]]
) -> dict[str, str]:
    """By name: one link that stands for all that are joined to it."""
    above: dict[str, str] = {}

    def top(link: str) -> str:
        while above.setdefault(link, link) != link:
            # Halving the way up as it is gone keeps long chains short.
            above[link] = above[above[link]]
            link = above[link]
        return link

    known = {name(item): links(item) for item in items}
    for first, *rest in known.values():
        for link in rest:
            one, other = top(first), top(link)
            # The smaller leads, so that it does not matter which item comes first.
            above[max(one, other)] = min(one, other)
    return {called: top(first) for called, (first, *_) in known.items()}


def spread(
    items: Iterable[T],
    n: int,
    seed: int,
    *,
    purpose: str,
    name: Callable[[T], str],
    stratum: Callable[[T], Hashable],
) -> list[T]:
    """A sample of n items, or all where there are fewer, from every stratum in proportion.

    The order of the items does not matter, and a larger sample holds the smaller: all items have
    one order, in which those of a stratum stand at equal distances.
    """
    strata: dict[Hashable, list[tuple[int, str, T]]] = defaultdict(list)
    for item in items:
        called = name(item)
        strata[stratum(item)].append((lot(purpose, seed, called), called, item))
    placed = []
    for members in strata.values():
        members.sort(key=lambda member: member[:2])
        for rank, (drawn, called, item) in enumerate(members):
            # Exact, so that ties are ties: the middle of the rank's part of the stratum.
            placed.append((Fraction(2 * rank + 1, 2 * len(members)), drawn, called, item))
    placed.sort(key=lambda one: one[:3])
    return [item for *_, item in placed[: max(0, n)]]


def even_shares(n: int, sizes: Mapping[Stratum, int]) -> dict[Stratum, int]:
    """n places as evenly as sizes allow: the smallest first, each an equal part of what is left."""
    shares: dict[Stratum, int] = {}
    for k, key in enumerate(sorted(sizes, key=lambda key: (sizes[key], key))):
        shares[key] = min(sizes[key], (n - sum(shares.values())) // (len(sizes) - k))
    return shares


def lenders(
    cases: Iterable[Any],
    seed: int,
    *,
    stratum: Callable[[Any], Hashable],
    images: Callable[[Any], Sequence[str]],
) -> dict[str, Any]:
    """The case whose images each case is shown in place of its own, by case id.

    Always one of the same stratum that shares no image with it, nor a patient where patients are
    known. Within a stratum every case lends once (a derangement), unless one image or patient has
    more than half of it. A case without an image, or whose stratum has no other, is not here.
    """

    def links(case: Any) -> tuple[str, ...]:
        shown = tuple(f"image {image}" for image in images(case))
        return shown if case.patient is None else (*shown, f"patient {case.patient}")

    strata: dict[Hashable, list[Any]] = defaultdict(list)
    for case in cases:
        if images(case):
            strata[stratum(case)].append(case)
    return {
        case.case_id: lender
        for members in strata.values()
        for case, lender in derangement(members, seed, name=lambda c: str(c.case_id), links=links)
    }


def alone_remarks(
    cases: Iterable[Any], swapped: Mapping[str, Any], group: Callable[[Any], str], called: str
) -> tuple[str, ...]:
    """A line on the cases that no other of their group, which is so called, lends an image."""
    alone = [case for case in cases if case.case_id not in swapped]
    if not alone:
        return ()
    named = ", ".join(dict.fromkeys(map(group, alone)))
    items = "1 item has" if len(alone) == 1 else f"{len(alone)} items have"
    return (f"{items} no other image in the same {called} ({named}): swap is not asked there.",)
