"""How many cases a word of the category needs: the chance of it, by arithmetic.

The rule is that of `category`: tests against a box elsewhere and against asking again, the interval
of IS, and equivalence. Given how many answers the target mask flips, what the other images do is
independent, so that the chance of a word is a sum of products of binomial tails.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from typing import Any, Final, Literal, TypeAlias

import msgspec
import numpy as np
from numpy.typing import NDArray

from overread.benchmarks.base import Tables
from overread.benchmarks.grounding.cases import GroundingCase, boxed, truth
from overread.benchmarks.grounding.category import (
    IGNORES,
    INSUFFICIENT,
    LEVEL,
    STEADY_FROM,
    USES,
)
from overread.benchmarks.grounding.edition import CORRECTED, Edition, Options
from overread.benchmarks.grounding.marks import AGAIN, Marks, Study
from overread.stats import spread_of_mean, wilson_bounds

Word: TypeAlias = Literal["uses", "ignores"]
WORDS: Final = {"uses": USES, "ignores": IGNORES}
MEASURE: Final = "category"
MARGIN: Final = CORRECTED.margin
_LEAST: Final = CORRECTED.minimum_n
MOST: Final = 50_000
"""More independent cases than this are as good as none."""
# What a binomial can be but for a chance of one in ten million.
_TAIL: Final = 1e-7
# A word is reached from n cases on if it is at so many sizes in a row: chances of counts saw.
_IN_A_ROW: Final = 12


class Behaviour(msgspec.Struct, frozen=True):
    """What a reader does with the boxed cases that it answers right.

    The share that the target mask flips; those that a box elsewhere and asking again flip, of
    cases that the target mask flipped and of the others (`again` None: nothing is asked again); the
    share flipped by the irrelevant mask; and of cases that the target mask leaves, those that the
    irrelevant mask or another image changes.
    """

    target: float
    elsewhere: tuple[float, float]
    again: tuple[float, float] | None
    irrelevant: float
    otherwise: float

    @property
    def changed(self) -> float:
        """The share of answers that any changed image changes."""
        return self.target + (1 - self.target) * self.otherwise


def declared(uses: float, flips: float, *, again: bool = True) -> Behaviour:
    """A reader that uses a share of the images and changes a share of its answers by chance.

    An image that it uses changes its answer when the finding is hidden or the image another's; by
    chance it changes whatever is shown, each image and asking again by itself.

    Examples
    --------
    >>> declared(0.1, 0.0).changed
    0.1
    >>> round(declared(0.0, 0.01).changed, 4)
    0.0297
    """
    target = uses + (1 - uses) * flips
    both = flips, flips
    return Behaviour(target, both, both if again else None, flips, 1 - (1 - flips) ** 2)


def chance_of_use(n: int, reader: Behaviour, *, readers: int = 1, margin: float = MARGIN) -> float:
    """The chance that n boxed cases, answered right and of a patient each, give `uses image`.

    With T ~ Bin(n, t) the cases that the target mask flips, and given T the cases that a control
    flips among them, B₁ ~ Bin(T, c₁), and among the others, B₀ ~ Bin(n-T, c₀)::

        Σ_T P(T) P(T - B₁ >= b(B₀)) P(the same of asking again) P(k <= changed | T) · P(IS)

    where b is the least count that McNemar's exact one-sided test takes for more than B₀ at
    0.025 over the `readers` of the run (Holm's strictest step), k the most changed answers that
    still are `ignores image`, and P(IS) the chance that Wilson's interval of IS starts at 0.90.

    Parameters
    ----------
    n : int
        Fewer than `minimum_n` get no word whatever their chance (`cases_for_word`).
    reader : Behaviour
    readers : int, default 1
        That see a picture, in the same run.
    margin : float
        Of `ignores image`, which comes first.

    Returns
    -------
    float
        In [0, 1].

    References
    ----------
    Q. McNemar (1947), Psychometrika 12, 153-157. S. Holm (1979), Scandinavian Journal of Statistics
    6, 65-70.

    Examples
    --------
    >>> round(chance_of_use(110, declared(0.10, 0.0)), 3)
    0.969
    >>> round(chance_of_use(110, declared(0.10, 0.02)), 3)
    0.638
    """
    from overread.stats.special import bdtr, bdtrc

    least = _least_kept(n)
    if least > n:  # so few that no interval of IS starts there
        return 0.0
    flipped = _likely(n, reader.target)
    weight = _chance(flipped, n, reader.target) * _beaten(
        n, flipped, reader.elsewhere, LEVEL / readers
    )
    if reader.again is not None:
        weight = weight * _beaten(n, flipped, reader.again, LEVEL)
    # `ignores image` comes first, so there must be more changes than it allows.
    room = _most_changed(n, margin) - flipped
    more = bdtrc(np.maximum(room, 0), n - flipped, reader.otherwise)
    weight = weight * np.where(room < 0, 1.0, more)
    return float(weight.sum() * bdtr(n - least, n, reader.irrelevant))


def chance_of_ignoring(n: int, reader: Behaviour, *, margin: float = MARGIN) -> float:
    """The chance that n boxed cases of a patient each give `ignores image`.

    P(Bin(n, changed) <= k), k the most changed answers at which the exact upper 95 % bound
    (Clopper and Pearson) lies below the margin.

    References
    ----------
    C. J. Clopper and E. S. Pearson (1934), Biometrika 26, 404-413.

    Examples
    --------
    >>> chance_of_ignoring(149, declared(0.0, 0.0)), chance_of_ignoring(148, declared(0.0, 0.0))
    (1.0, 0.0)
    """
    from overread.stats.special import bdtr

    most = _most_changed(n, margin)
    return 0.0 if most < 0 else float(bdtr(most, n, reader.changed))


def cases_for_word(
    word: Word,
    reader: Behaviour,
    *,
    power: float = 0.8,
    effect: float = 1.0,
    readers: int = 1,
    margin: float = MARGIN,
) -> int | None:
    """The fewest cases from which on a word is reached with this power.

    Boxed cases: for `uses` those that are answered right, for `ignores` all. Several of a patient
    are worth n over the design effect.

    Returns
    -------
    int or None
        None where no number is enough: chance hides the use, or the margin is too narrow.

    Examples
    --------
    >>> cases_for_word("ignores", declared(0.0, 0.0)), cases_for_word("uses", declared(0.1, 0.02))
    (149, 136)
    >>> cases_for_word("ignores", declared(0.0, 0.02)) is None
    True
    """
    if (reader.changed >= margin) == (word == "ignores") or (word == "uses" and _hidden(reader)):
        return None
    if word == "uses":
        found = _fewest(lambda n: chance_of_use(n, reader, readers=readers, margin=margin), power)
    else:
        found = _fewest(lambda n: chance_of_ignoring(n, reader, margin=margin), power)
    return None if found is None else max(_LEAST, int(np.ceil(found * effect - 1e-9)))


def _hidden(reader: Behaviour) -> bool:
    """Whether no number of cases shows the use: chance or a box elsewhere flips too much."""
    controls = [reader.elsewhere, *([] if reader.again is None else [reader.again])]
    t = reader.target
    beaten = all(t * (1 - among) > (1 - t) * others for among, others in controls)
    return not beaten or reader.irrelevant >= 1 - STEADY_FROM / 100


def why_none(word: Word, reader: Behaviour, margin: float = MARGIN) -> str:
    """Why no number of cases gives a reader the word, and what would."""
    changed = f"{100 * reader.changed:.3g} % of its answers change when the image does"
    if word == "ignores":
        return (
            f"{changed}, which no number of cases shows to be below {100 * margin:g} %. Give a "
            "wider --margin, or a model that changes less."
        )
    if reader.changed < margin:
        return (
            f"{changed}, below the margin of {100 * margin:g} %: with enough cases it ignores the "
            "image. Give more use, or a narrower --margin."
        )
    return (
        f"{changed}, but no number of cases shows it beside what chance and other boxes change (IS "
        f"must be {STEADY_FROM} % or more). Give more use, or fewer flips."
    )


def notes_on(
    word: Word, reader: Behaviour, *, readers: int = 1, margin: float = MARGIN
) -> Iterator[str]:
    """What a number of cases stands on."""
    if word == "ignores":
        changed = f"Changed images change {100 * reader.changed:.3g} % of its answers"
        yield f"{changed}; fewer than {100 * margin:g} % are to be shown."
        return
    parts = [f"the target mask {100 * reader.target:.3g} %"]
    for name, given in (("a box elsewhere", reader.elsewhere), ("asking again", reader.again)):
        if given is not None:
            flips = reader.target * given[0] + (1 - reader.target) * given[1]
            parts.append(f"{name} {100 * flips:.3g} %")
    yield f"Of its right answers are flipped: by {', '.join(parts)}."
    if reader.again is None:
        yield "Nothing was asked again in the pilot, nor is it here."
    if readers > 1:
        yield f"The test is at {100 * LEVEL:g} % over {readers} models, Holm's strictest step."
    yield "Boxed cases count that it answers right; with --rate only that share of them does."


def smallest_use(
    cases: int, flips: float, *, power: float = 0.8, effect: float = 1.0
) -> float | None:
    """The least share of images used that so many cases show as `uses image` with this power.

    `cases` are boxed and answered right. `chance_of_use` solved for the use.

    Returns
    -------
    float or None
        In (0, 1]; None where the interval of IS is too wide, or chance hides all use.

    Examples
    --------
    >>> round(smallest_use(110, 0.0), 3), smallest_use(30, 0.0) is None
    (0.071, True)
    """
    n = int(cases / effect)

    def shown(uses: float) -> bool:
        return chance_of_use(n, declared(uses, flips)) >= power

    low, high = 0.0, 1.0
    if not shown(high):
        return None
    for _ in range(12):
        middle = (low + high) / 2
        low, high = (low, middle) if shown(middle) else (middle, high)
    return high


# ---------------------------------------------------------------- a set of cases

_FLIPS_TOLD: Final = (0.0, 0.02)


def reachable_words(
    cases: Sequence[GroundingCase],
    edition: Edition,
    options: Options,
    effect: Callable[[Sequence[GroundingCase]], float],
) -> Iterator[str]:
    """Which words these cases can give, to what use of the image, and what is asked for it.

    As if every case were answered right. `effect` is the design effect of some of the cases.
    """
    with_box = [case for case in cases if boxed(case, edition) and truth(case, edition) == 1]
    least = max(edition.minimum_n, 1)
    if len(with_box) < least:
        yield (
            f"Every model's category will be `{INSUFFICIENT}`: {len(with_box):,} boxed findings, "
            f"{least} are needed."
        )
        return
    asks = "matched" in options.conditions
    matched = [case for case in with_box if case.draws] if asks else []
    tested = matched or with_box
    clustering = effect(tested)
    shares = [smallest_use(len(tested), flips, effect=clustering) for flips in _FLIPS_TOLD]
    uses = [
        "no model" if one is None else f"a model that uses {100 * one:.2g} % of the images"
        for one in shares
    ]
    yield (
        f"{len(tested):,} boxed findings, all answered right, show `uses image` with 80 % power of "
        f"{uses[0]}, or of {uses[1]} if it flips {100 * _FLIPS_TOLD[1]:g} % by chance."
    )
    untouched, worth = declared(0.0, 0.0), int(len(with_box) / effect(with_box))
    if chance_of_ignoring(worth, untouched, margin=edition.margin):
        yield "A model that nothing changes is shown to be `ignores image`."
    else:
        needed = cases_for_word("ignores", untouched, margin=edition.margin)
        yield f"`ignores image` is out of reach: it needs {needed:,} independent boxed cases."
    if matched:
        yield (
            f"A box elsewhere in the body is asked of {len(matched):,} of the "
            f"{len(with_box):,} with a box ({options.draws} each; --set conditions=-matched leaves "
            "it out)."
        )
    else:
        yield (
            "No box elsewhere in the body is asked, only one in a corner: a model that any box "
            "over the body disturbs would be taken for one that looks."
        )


# ---------------------------------------------------------------- a pilot's reader


class Piloted(msgspec.Struct, frozen=True):
    """What a run says of one reader: its behaviour, of how many cases and patients, the design
    effect, and the share of the cases asked for that are such (boxed and answered right)."""

    behaviour: Behaviour
    cases: int
    patients: int
    effect: float
    counted: float


def piloted(word: Word, bench: Any, tables: Tables, reader: str) -> Piloted | None:
    """What a run of this benchmark says of one of its readers; None without two patients."""
    return piloted_by(word, Study(tables, bench.rules, bench.options).of(reader))


def piloted_by(word: Word, m: Marks) -> Piloted | None:
    """A reader's rates in a run, of the cases that the word stands on; None without two patients.

    For `uses`: the boxed cases that it answers Yes, rightly, and answered under both masks. For
    `ignores`: the boxed ones that have an answer to the original and to a changed image.
    """
    images = [m.under(name) for name in ("target_mask", "irrelevant_mask", "swap")]
    changes = [(codes >= 0) & (codes != m.original) for codes in images]
    elsewhere = m.matched or ["irrelevant_mask"]
    if word == "ignores":
        whole = m.facts.boxed
        counted = m.parsed & whole & np.any([codes >= 0 for codes in images], axis=0)
        each = np.any(changes, axis=0)
    else:
        whole = m.facts.boxed & (m.truth == 1)
        counted = m.said_yes & np.all([m.under(name) >= 0 for name in elsewhere], axis=0)
        counted &= (images[0] >= 0) & (images[1] >= 0)
        each = changes[0] * 1.0 - _flips(m, elsewhere)
    patients = m.facts.patients[counted]
    if np.unique(patients).size < 2:
        return None

    def share(of: NDArray[Any], among: NDArray[Any]) -> float:
        return float(of[among].mean()) if among.any() else 0.0

    def given_target(of: NDArray[Any]) -> tuple[float, float]:
        return share(of, counted & changes[0]), share(of, counted & ~changes[0])

    if word == "ignores":
        found = Behaviour(share(each, counted), (0.0, 0.0), None, 0.0, 0.0)
    else:
        found = Behaviour(
            share(changes[0], counted),
            given_target(_flips(m, elsewhere)),
            given_target(_flips(m, [AGAIN])) if m.asked(AGAIN) else None,
            share(changes[1], counted),
            given_target(changes[1] | changes[2])[1],
        )
    return Piloted(
        found,
        int(counted.sum()),
        int(np.unique(patients).size),
        spread_of_mean(each[counted], patients).effect,
        share(counted, whole),
    )


def _flips(m: Marks, images: list[str]) -> NDArray[np.float64]:
    """The share of these images that flip each case; what was not answered does not."""
    found = [(m.under(name) >= 0) & (m.under(name) != m.original) for name in images]
    shares: NDArray[np.float64] = np.mean(found, axis=0)
    return shares


# ---------------------------------------------------------------- arithmetic


def _fewest(chance: Callable[[int], float], power: float) -> int | None:
    """The least n from which on the chance is as large, for some sizes in a row."""
    low = high = 2
    while chance(high) < power:
        low, high = high, 2 * high
        if high > MOST:
            return None
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if chance(middle) >= power else (middle, high)
    start = n = low if chance(low) >= power else high
    while n - start < _IN_A_ROW:
        if chance(n) < power:
            start = n + 1
        n += 1
        if n > MOST:
            return None
    return start


def _likely(n: int, p: float) -> NDArray[np.int64]:
    """The counts that a binomial takes but for a chance as good as none."""
    from overread.stats.special import bdtrik

    if p <= 0 or p >= 1 or not n:
        return np.array([round(p * n)])
    ends = [int(np.clip(np.nan_to_num(bdtrik(q, n, p)), 0, n)) for q in (_TAIL, 1 - _TAIL)]
    return np.arange(ends[0], min(n, ends[1] + 1) + 1)


def _chance(k: Any, n: Any, p: float) -> Any:
    """P(Bin(n, p) = k), 0 beyond n."""
    from overread.stats.special import gammaln, xlog1py, xlogy

    left = np.maximum(n - k, 0)
    ways = gammaln(n + 1) - gammaln(k + 1) - gammaln(left + 1)
    return np.where(k > n, 0.0, np.exp(ways + xlogy(k, p) + xlog1py(left, -p)))


def _beaten(
    n: int, flipped: NDArray[np.int64], control: tuple[float, float], level: float
) -> NDArray[np.float64]:
    """By how many the target mask flips, the chance that it flips more than a control does."""
    from overread.stats.special import bdtr

    among, others = control
    # What the control flips of the others, whose number is largest where fewest are flipped.
    ends = [_likely(n - int(count), others) for count in (flipped[-1], flipped[0])]
    by_control = np.arange(int(ends[0][0]), int(ends[1][-1]) + 1)
    # So many of the flipped the control may flip too.
    room = flipped[:, None] - _least_to_beat(level, int(by_control[-1]))[by_control]
    beaten = np.where(room < 0, 0.0, bdtr(np.maximum(room, 0), flipped[:, None], among))
    weight = _chance(by_control, n - flipped[:, None], others)
    found: NDArray[np.float64] = (weight * beaten).sum(axis=1)
    return found


@lru_cache(maxsize=8)
def _beating(level: float, size: int) -> NDArray[np.int64]:
    """By the flips of a control alone, the least of the target mask alone that are more than it.

    b with P(Bin(b + c, 1/2) >= b) <= level: McNemar's exact test, one-sided.
    """
    from overread.stats.special import betainc

    c = np.arange(size)
    b = c + 1
    while (short := betainc(b, c + 1, 0.5) > level).any():
        b = b + short
    return b


def _least_to_beat(level: float, most: int) -> NDArray[np.int64]:
    """`_beating` up to this count, made for the next power of two so that it is made seldom."""
    return _beating(level, 1 << max(6, int(most).bit_length() + 1))


@lru_cache(maxsize=4096)
def _least_kept(n: int) -> int:
    """The fewest of n answers left alone at which Wilson's interval starts at STEADY_FROM."""
    kept = np.arange(n + 1)
    low = wilson_bounds(kept / n, np.full(n + 1, float(n)))[0]
    return int(np.argmax(100 * low >= STEADY_FROM)) if (100 * low >= STEADY_FROM).any() else n + 1


@lru_cache(maxsize=4096)
def _most_changed(n: int, margin: float) -> int:
    """The most of n changed answers whose upper 95 % bound lies below the margin; -1 if none."""
    from overread.stats.special import betaincinv

    k: NDArray[Any] = np.arange(int(margin * n) + 1)
    return int((betaincinv(k + 1, np.maximum(n - k, 1e-9), 0.95) < margin).sum()) - 1
