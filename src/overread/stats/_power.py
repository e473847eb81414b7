"""How many cases a claim needs, so that a study is not started that cannot answer its question.

All sizes are of cases. Where a patient has several, `effect` is the design effect (1 + (m - 1) ρ
for m cases a patient with correlation ρ): the cases needed grow by it.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final

from overread.stats._proportions import Z95

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

MOST: Final = 10**9
"""More cases than this are as good as none."""
MOST_LISTED: Final = 1_000
"""With more cases that differ a formula is as good as summing over all tables."""
LEAST_DISCORDANT: Final = 6
"""With fewer cases, or patients, that differ no exact paired test is below 0.05: 2/2⁵ is 0.0625."""


def half_width(rate: float, cases: float, *, effect: float = 1.0) -> float:
    """Half the width of Wilson's interval about a rate of so many cases.

    With m = cases / effect::

        half(m) = z sqrt(p(1-p)/m + z²/4m²) / (1 + z²/m)

    References
    ----------
    E. B. Wilson (1927), JASA 22, 209-212.

    Examples
    --------
    >>> f"{half_width(0.5, 100):.3f} {half_width(0.5, 100, effect=2):.3f}"
    '0.096 0.134'
    """
    m, z2 = cases / effect, Z95 * Z95
    return Z95 * math.sqrt(rate * (1 - rate) / m + z2 / (4 * m * m)) / (1 + z2 / m)


def cases_for_half_width(rate: float, half: float, *, effect: float = 1.0) -> int | None:
    """The fewest cases at which Wilson's interval about a rate is at most twice `half` wide.

    `half_width` solved for the cases.

    Parameters
    ----------
    rate, half : float
        In [0, 1]; half above 0.
    effect : float, default 1
        The design effect.

    References
    ----------
    E. B. Wilson (1927), JASA 22, 209-212.

    Examples
    --------
    >>> cases_for_half_width(0.8, 0.05)
    245
    >>> cases_for_half_width(0.8, 0.05, effect=2)
    489
    """
    if not 0 <= rate <= 1 or not 0 < half < 1 or effect < 1:
        raise ValueError(f"a rate of {rate}, a half-width of {half} and an effect of {effect}")
    low, high = 1.0, 1.0
    while half_width(rate, high) > half:
        high *= 2
        if high > MOST:
            return None
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if half_width(rate, middle) > half else (low, middle)
    return whole_cases(high * effect)


def cases_to_settle(
    rate: float, bound: float, *, power: float = 0.8, effect: float = 1.0
) -> int | None:
    """The cases at which an interval about this true rate leaves the bound out with this power.

    ::

        n = ((z sqrt(b(1-b)) + z_power sqrt(p(1-p))) / (p - b))²

    Returns
    -------
    int or None
        None where no number is enough: the rate is the bound, or all but.

    References
    ----------
    J. L. Fleiss, B. Levin and M. C. Paik (2003), Statistical Methods for Rates and Proportions,
    2.6.

    Examples
    --------
    >>> cases_to_settle(0.9, 0.8)
    108
    >>> cases_to_settle(0.9, 0.8, power=0.5)
    62
    """
    away = abs(rate - bound)
    if not away:
        return None
    spread = Z95 * math.sqrt(bound * (1 - bound)) + _beyond(power) * math.sqrt(rate * (1 - rate))
    ratio = spread / away  # squared by a product: a power that overflows raises
    return whole_cases(ratio * ratio * effect)


def cases_to_tell_apart(
    first: float,
    second: float,
    *,
    discordant: float | None = None,
    power: float = 0.8,
    effect: float = 1.0,
) -> int | None:
    """The common cases at which McNemar's test tells two readers of these rates apart.

    With δ = p1 - p2 and ψ the share of cases that only one of them gets right::

        n = (z sqrt(ψ) + z_power sqrt(ψ - δ²))² / δ² + 1/|δ|, at least 6/ψ

    since no exact test rejects on fewer than 6 cases that differ.

    Parameters
    ----------
    first, second : float
        The true rates.
    discordant : float, optional
        ψ; as for readers that err independently, p1(1-p2) + p2(1-p1), where it is not known.
    power, effect : float

    References
    ----------
    R. J. Connor (1987), Biometrics 43, 207-211. J. L. Fleiss, A. Tytun and H. K. Ury (1980),
    Biometrics 36, 343-346.

    Examples
    --------
    >>> cases_to_tell_apart(0.85, 0.80)
    929
    >>> cases_to_tell_apart(0.85, 0.80, discordant=0.10)
    332
    """
    apart = abs(first - second)
    if not apart:
        return None
    psi = _discordant(first, second, discordant)
    spread = Z95 * math.sqrt(psi) + _beyond(power) * math.sqrt(psi - apart**2)
    # An exact test goes in steps, and loses half of one to either side: Fleiss' correction.
    needed = (spread / apart) ** 2 + 1 / apart
    return whole_cases(max(needed, LEAST_DISCORDANT / psi) * effect)


def smallest_difference(cases: int, *, power: float = 0.8, effect: float = 1.0) -> float | None:
    """The least difference of two readers that so many common cases show with this power.

    Of rates that lie about one half and readers that err independently, for whom it is largest:
    readers that find the same cases hard are told apart by less. `cases_to_tell_apart` solved for
    the difference.

    Returns
    -------
    float or None
        In (0, 1); None where even one that is always right and one that never is are too alike.

    Examples
    --------
    >>> round(smallest_difference(480), 3), round(smallest_difference(480, effect=2), 3)
    (0.092, 0.13)
    >>> smallest_difference(2) is None
    True
    """

    def enough(apart: float) -> bool:
        needed = cases_to_tell_apart(0.5 + apart / 2, 0.5 - apart / 2, power=power, effect=effect)
        return needed is not None and needed <= cases

    low, high = 0.0, 1.0
    if not enough(high):
        return None
    for _ in range(40):
        middle = (low + high) / 2
        low, high = (low, middle) if enough(middle) else (middle, high)
    return high


def cases_within_margin(
    first: float,
    second: float,
    margin: float,
    *,
    discordant: float | None = None,
    both_sides: bool = False,
    power: float = 0.8,
    effect: float = 1.0,
) -> int | None:
    """The common cases at which a reader is shown to be no worse than another by a margin.

    With δ = p1 - p2 (more is better) and ψ as for `cases_to_tell_apart`, it is the first n at which
    Newcombe's interval of the difference leaves the margin out with this chance, summed over the
    tables there can be: looked for between steps of a tenth, from half of::

        n = (z + z_power)² (ψ - δ²) / (margin + δ)²

    which is itself given where thousands of cases differ. `both_sides` asks for equivalence: the
    interval must leave both margins out, and z_power is that of half the chance to miss.

    References
    ----------
    J.-P. Liu and others (2002), Statistics in Medicine 21, 231-245. K. F. Phillips (1990), Journal
    of Pharmacokinetics and Biopharmaceutics 18, 137-144.

    Examples
    --------
    >>> cases_within_margin(0.85, 0.85, 0.05, discordant=0.10)
    330
    >>> cases_within_margin(0.85, 0.85, 0.05, discordant=0.10, both_sides=True)
    441
    >>> cases_within_margin(0.70, 0.80, 0.05) is None
    True
    """
    delta = first - second
    room = margin - abs(delta) if both_sides else margin + delta
    if room <= 0:
        return None
    psi = _discordant(first, second, discordant)
    reach = (Z95 + _beyond(1 - (1 - power) / 2 if both_sides else power)) / room
    least = max(reach**2 * (psi - delta**2), Z95**2 * (1 - room) / room) / 2
    most = MOST_LISTED / psi if psi else math.inf
    found = whole_cases(2 * least)
    if found is None or found > most:
        return found if found is None else whole_cases(found * effect)

    def enough(n: int) -> bool:
        found = _chance_within(n, first, delta, psi, margin, both_sides=both_sides)
        return found >= power

    few = n = math.ceil(least)
    while not enough(n):
        few, n = n, max(n + 1, math.ceil(1.1 * n))
    while n - few > 1:
        middle = (few + n) // 2
        few, n = (few, middle) if enough(middle) else (middle, n)
    return whole_cases(n * effect)


def _chance_within(
    n: int, first: float, delta: float, psi: float, margin: float, *, both_sides: bool
) -> float:
    """The chance that Newcombe's interval of n cases leaves the margin out, or both."""
    import numpy as np

    from overread.stats._clusters import wilson_bounds
    from overread.stats.special import gammaln, xlog1py, xlogy

    better, worse = (psi + delta) / 2, (psi - delta) / 2
    ways = [np.arange(n + 1), np.arange(n + 1)]
    for side, share in enumerate((better, worse)):
        away = 7 * math.sqrt(n * share * (1 - share)) + 7
        ways[side] = ways[side][np.abs(ways[side] - n * share) <= away]
    won, lost = (part.ravel() for part in np.meshgrid(*ways, indexing="ij"))
    kept = won + lost <= n
    won, lost = won[kept], lost[kept]
    both = n - won - lost
    ways_each = gammaln(n + 1) - gammaln(won + 1) - gammaln(lost + 1) - gammaln(both + 1)
    chance = np.exp(ways_each + xlogy(won, better) + xlogy(lost, worse) + xlog1py(both, -psi))
    # Cases on which both agree are split as the rates say.
    right = both * ((first - better) / (1 - psi) if psi < 1 else 0.0)
    p1, p2 = (right + won) / n, (right + lost) / n
    (low1, high1), (low2, high2) = (wilson_bounds(p, np.array(float(n))) for p in (p1, p2))
    cross = right * (both - right) - won * lost
    cross = np.where(cross > 0, np.maximum(cross - n / 2, 0.0), cross)
    margins = n**4 * p1 * (1 - p1) * p2 * (1 - p2)
    phi = np.where(margins > 0, cross / np.sqrt(np.maximum(margins, 1e-300)), 0.0)

    def reach(one: NDArray[np.float64], two: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.sqrt(np.maximum(one**2 - 2 * phi * one * two + two**2, 0.0))

    held = p1 - p2 - reach(p1 - low1, high2 - p2) >= -margin
    if both_sides:
        held &= p1 - p2 + reach(high1 - p1, p2 - low2) <= margin
    return float(chance[held].sum())


def grown_for_power(n: int, half: float, away: float, *, power: float = 0.8) -> int | None:
    """The cases at which an interval that narrows with the root of n leaves a bound out.

    `half` is how far the interval reaches from the value towards the bound at n cases, `away` how
    far the bound is: the value's own chance is added to the half-width, as `power` says.

    Examples
    --------
    >>> grown_for_power(100, 0.2, 0.1, power=0.5), grown_for_power(100, 0.2, 0.1)
    (400, 818)
    """
    if not away or n < 1:
        return None
    ratio = half / away * (1 + _beyond(power) / Z95)
    return whole_cases(n * ratio * ratio)


def _discordant(first: float, second: float, given: float | None) -> float:
    if given is None:
        return first * (1 - second) + second * (1 - first)
    low, high = discordant_limits(first, second)
    if not low - 1e-9 <= given <= high + 1e-9:
        raise ValueError(f"{given} discordant cases do not go with rates of {first} and {second}")
    return max(given, low)


def discordant_limits(first: float, second: float) -> tuple[float, float]:
    """The least and the largest share of cases that only one of two readers can have right.

    Examples
    --------
    >>> discordant_limits(0.75, 0.5)
    (0.25, 0.75)
    """
    return abs(first - second), min(first + second, 2 - first - second)


def _beyond(power: float) -> float:
    from overread.stats.special import ndtri

    if not 0.5 <= power < 1:
        raise ValueError(f"a power of {power}; give 0.5 or more, below 1")
    return float(ndtri(power))


def whole_cases(cases: float) -> int | None:
    """A number of cases, rounded up; None where it is beyond all reason."""
    if not cases <= MOST:  # infinite, too
        return None
    # A hair above a whole number is rounding, not another case.
    return max(1, math.ceil(cases - 1e-9 * max(1.0, cases)))
