"""Do groups of patients differ, and what is each of many worth?

Many groups are pooled in part: each one's number is drawn towards the mean of all, by as much of
its distance as chance explains.
"""

from __future__ import annotations

import math
from collections import Counter
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from overread.stats._permutation import deals
from overread.stats._proportions import outcomes_of
from overread.stats._spread import BELIEF, USUAL, Floats

FEWEST_GROUPS: Final = 4
"""Fewer groups say too little about how far groups lie apart: drawing them together can harm."""
_LEVEL: Final = 0.95
_MOST_STEPS: Final = 100
# The unit variance of a case of which nothing is known between two limits, taken as 0 and 1; it
# weighs as much as one case.
_UNKNOWN: Final = 0.25
_TIE: Final = 1e-9


def groups_p(
    values: ArrayLike, groups: ArrayLike, clusters: ArrayLike, n_perm: int = 9_999, seed: int = 0
) -> float | None:
    """P of equal means in k >= 2 groups: patients change groups, and their cases within them.

    The statistic is studentised, so that groups whose patients have unlike numbers of cases, or
    spread unlike, are no reason to reject::

        W = Σ_g w_g (x̄_g - x̄)²,   w_g = n_g / effect_g,   x̄ = Σ w_g x̄_g / Σ w_g

    with the design effect of the group's own patients (`spread_of_mean`); were the means equal, so
    would be the variances of single cases. Patients of one group could then be of any other: they
    are dealt out anew, each group keeping its number of them. Whoever has cases in several groups
    keeps them together: the names of that patient's groups are exchanged among themselves, and
    only what differs within patients is told from chance. Where patients have unlike numbers of
    cases this holds for many patients only; p is then at least that of W / (x̄ (1-x̄)) / (k-1), which
    is F with C - k degrees of freedom. With x̄, the mean by what cases are worth: were the rate that
    of all cases, patients with many who all agree would make it too sure (6.9 % rejected at 5 %).

    Parameters
    ----------
    values : array of shape (n,)
        0 or 1.
    groups, clusters : arrays of shape (n,)
        The group and the patient of each; any sortable labels.
    n_perm, seed : int
        Random deals, and the seed of the legacy generator.

    Returns
    -------
    float or None
        (c + 1)/(n_perm + 1) with c deals of at least the W seen, ties included; 1 when all values
        agree. Groups of fewer than 2 cases are left out; None when fewer than two remain.

    References
    ----------
    E. Chung and J. P. Romano (2013), Annals of Statistics 41, 484-507. B. Phipson and G. K. Smyth
    (2010), Statistical Applications in Genetics and Molecular Biology 9, 39.

    Examples
    --------
    >>> groups_p([1] * 8 + [0] * 8, list("A" * 8 + "B" * 8), range(16), n_perm=199)
    0.005
    >>> groups_p([1, 1, 0, 0], list("AABB"), list("ppqq"))
    1.0
    """
    from overread.stats.special import fdtrc

    x = outcomes_of(values)
    if not x.shape == np.shape(groups) == np.shape(clusters):
        sizes = np.size(groups), np.size(clusters)
        raise ValueError(f"{x.size} outcomes, {sizes[0]} groups, {sizes[1]} clusters")
    _, group = np.unique(np.asarray(groups), return_inverse=True)
    _, owner = np.unique(np.asarray(clusters), return_inverse=True)
    kept = np.bincount(group)[group] >= 2
    if np.unique(group[kept]).size < 2:
        return None
    x, owner = x[kept], owner[kept]
    group = np.unique(group[kept], return_inverse=True)[1]
    if x.min() == x.max():
        return 1.0
    # A unit is what one patient has in one group: its cases and hits, and their products.
    k = int(group.max()) + 1
    keys, unit = np.unique(owner * k + group, return_inverse=True)
    size, hits = np.bincount(unit), np.bincount(unit, weights=x).astype(np.int64)
    patient, place = keys // k, keys % k
    units = np.column_stack((np.ones_like(size), size, hits, size**2, size * hits, hits**2))
    alone = np.bincount(patient)[patient] == 1
    seen = np.array([units[place == g].sum(axis=0) for g in range(k)])
    dealt = np.zeros((n_perm, k, units.shape[1]), np.int64)
    if alone.any():
        numbers = [int((alone & (place == g)).sum()) for g in range(k)]
        dealt += deals(units[alone], numbers, n_perm, seed)
    draw = np.random.RandomState(seed)
    several = [np.flatnonzero(patient == one) for one in np.unique(patient[~alone])]
    # By content, so that no names decide what is drawn; patients alike are drawn together.
    kinds = Counter((tuple(place[own]), tuple(map(tuple, units[own].tolist()))) for own in several)
    for (names, held), count in sorted(kinds.items()):
        own = np.array(held)
        if len(names) == 2:
            stays = draw.binomial(count, 0.5, n_perm)[:, None]
            dealt[:, names[0]] += stays * own[0] + (count - stays) * own[1]
            dealt[:, names[1]] += stays * own[1] + (count - stays) * own[0]
            continue
        for _ in range(count):
            given = np.array(names)[draw.random_sample((n_perm, len(names))).argsort(axis=1)]
            for g in names:
                dealt[:, g] += (given == g).astype(np.int64) @ own
    found, (common,) = (each[0] for each in _wald(seen[None]))
    p = (int((_wald(dealt)[0] >= found * (1 - _TIE)).sum()) + 1) / (n_perm + 1)
    # Where patients differ in their number of cases, dealing them out is right for many only.
    df = np.unique(owner).size - k
    if size.min() == size.max() or df < 1:
        return p
    return max(p, float(fdtrc(k - 1, df, found / (common * (1 - common)) / (k - 1))))


def _wald(sums: NDArray[np.int64]) -> tuple[Floats, Floats]:
    """W of every deal, and x̄, of units, cases, hits and their products (deals x groups x 6)."""
    units, n, hits, nn, nh, hh = np.moveaxis(sums.astype(float), 2, 0)
    with np.errstate(all="ignore"):
        at = hits / n
        between = np.maximum(hh - 2 * at * nh + at * at * nn, 0.0)
        between *= units / np.maximum(units - 1, 1)
        mass, usual = n * at * (1 - at), 1 + USUAL * (nn / n - 1)
        weights = n / np.maximum((between + BELIEF * usual) / (mass + BELIEF), 1.0)
        centre = (weights * at).sum(axis=1, keepdims=True) / weights.sum(axis=1, keepdims=True)
        found: Floats = (weights * (at - centre) ** 2).sum(axis=1)
    return np.nan_to_num(found), centre


# ---------------------------------------------------------------- many groups


class PooledGroups(NamedTuple):
    """Of every group the pooled value, its interval and the weight of its own number in it.

    `mean` is what all are drawn towards, `tau2` the variance of true values between groups.
    """

    value: Floats
    low: Floats
    high: Floats
    weight: Floats
    mean: float
    tau2: float


def pooled_groups(
    values: ArrayLike,
    variances: ArrayLike,
    cases: ArrayLike,
    limits: tuple[float, float] = (-math.inf, math.inf),
) -> PooledGroups | None:
    """Partial pooling of G groups by a normal model with random groups: empirical Bayes.

    True values θ_g vary about μ with variance τ², the numbers y_g about θ_g with variance v_g. All
    groups get the variance of a case that they have on average, s²: a rate of 0 or 1 has none of
    its own, and rates of small groups would be drawn towards those that happen to vary less::

        s²   = Σ m_g (m_g var_g) / Σ m_g,   v_g = s² / m_g
        τ²   : Σ (y_g - μ)² / (v_g + τ²) = G - 1, or 0 where that has no solution (Paule-Mandel)
        μ    = Σ w_g y_g / Σ w_g,           w_g = 1 / (v_g + τ²)
        B_g  = (G - 3)/(G - 1) · v_g / (v_g + τ²)
        θ̂_g  = B_g μ + (1 - B_g) y_g
        V_g  = v_g (1 - B_g) + B_g² / Σ w + 2/(G - 3) B_g² (y_g - μ)² (v̄ + τ²)/(v_g + τ²)

    The factor of B is Efron and Morris's: with equal v the estimate is James and Stein's about the
    mean, which has a smaller squared error over all groups than the raw numbers whatever the truth.
    The three parts of V are what remains of chance, the uncertainty of μ and that of τ² (Morris).

    Between two limits, taken as 0 and 1, one case of variance 1/4 is added to s², and the interval
    is Clopper and Pearson's for θ̂ at Σ m θ̂(1-θ̂) / Σ m / V cases, as Korn and Graubard have it
    for surveys. It is never without width and holds where true values crowd at a limit, which
    Wilson's does not (0.85 instead of 0.95 by simulation). Otherwise it is θ̂ ± t sqrt(V), t at
    Σ m - G degrees of freedom, and not beyond a limit.

    Parameters
    ----------
    values : array of shape (G,)
    variances : array of shape (G,)
        Squared standard errors, by cluster where cases come in clusters; 0 where all cases agree,
        NaN where nothing is known (one case).
    cases : array of shape (G,)
        How many independent cases each stands on: n over its design effect, above 0.
    limits : (float, float)
        The values they can take.

    Returns
    -------
    PooledGroups or None
        `value` between the raw one and `mean`, within the limits and the interval; `weight` in
        (0, 1]. None with fewer than four groups, and without limits where nothing varies.

    References
    ----------
    B. Efron and C. Morris (1975), JASA 70, 311-319. C. N. Morris (1983), JASA 78, 47-55.
    R. C. Paule and J. Mandel (1982), J. Res. Nat. Bureau of Standards 87, 377-385. R. DerSimonian
    and N. Laird (1986), Controlled Clinical Trials 7, 177-188. H. Bühlmann and E. Straub (1970),
    Bull. Swiss Assoc. Actuaries 70, 111-133. E. L. Korn and B. I. Graubard (1998), Survey
    Methodology 24, 193-201.

    Examples
    --------
    Of six findings the one with 4 cases is drawn furthest towards the others:

    >>> rates, n = np.array([0.60, 0.66, 0.45, 0.70, 0.55, 1.00]), np.array([50, 50, 40, 40, 20, 4])
    >>> found = pooled_groups(rates, rates * (1 - rates) / n, n, (0.0, 1.0))
    >>> [f"{value:.2f}" for value in found.value]
    ['0.60', '0.65', '0.49', '0.68', '0.57', '0.80']
    >>> [f"{weight:.2f}" for weight in found.weight]
    ['0.80', '0.80', '0.76', '0.76', '0.66', '0.48']
    >>> f"{found.low[5]:.2f} to {found.high[5]:.2f}, all towards {found.mean:.2f}"
    '0.33 to 0.99, all towards 0.61'
    """
    from overread.stats.special import stdtrit

    low, high = limits
    bounded = math.isfinite(low) and math.isfinite(high)
    start, width = (low, high - low) if bounded else (0.0, 1.0)
    y: Floats = (np.asarray(values, dtype=float) - start) / width
    own: Floats = np.asarray(variances, dtype=float) / width**2
    m: Floats = np.asarray(cases, dtype=float)
    count = y.size
    if count < FEWEST_GROUPS:
        return None
    known, more = ~np.isnan(own), 1.0 if bounded else 0.0
    weighed = float(m[known].sum()) + more
    unit = (float((m[known] ** 2) @ own[known]) + _UNKNOWN * more) / weighed if weighed else 0.0
    if not unit > 0:
        return None
    v = unit / m
    tau2 = _paule_mandel(y, v)
    w = 1 / (v + tau2)
    mean = float(w @ y / w.sum())
    drawn = (count - 3) / (count - 1) * v * w
    value = drawn * mean + (1 - drawn) * y
    of_tau = 2 / (count - 3) * drawn**2 * (y - mean) ** 2 * (v.mean() + tau2) * w
    spread = v * (1 - drawn) + drawn**2 / w.sum() + of_tau
    if bounded:
        value = np.clip(value, 0.0, 1.0)
        common = (float(m @ (value * (1 - value))) + _UNKNOWN) / (float(m.sum()) + 1)
        ends = _exact_ends(value, common / spread)
    else:
        half = stdtrit(max(float(m.sum()) - count, 1.0), (1 + _LEVEL) / 2) * np.sqrt(spread)
        ends = np.maximum(value - half, low), np.minimum(value + half, high)
    lower, upper = (start + width * end for end in ends)
    return PooledGroups(
        start + width * value, lower, upper, 1 - drawn, start + width * mean, width**2 * tau2
    )


def _paule_mandel(y: Floats, v: Floats) -> float:
    """τ² at which the groups lie as far apart as they should; 0 where chance alone explains it.

    What is to be 0 falls ever less steeply in τ²: Newton's steps from 0 rise to its root.
    """
    tau2 = 0.0
    for _ in range(_MOST_STEPS):
        w = 1 / (v + tau2)
        off = (y - w @ y / w.sum()) ** 2
        beyond = float(w @ off) - (y.size - 1)
        if beyond <= 1e-12 * y.size:
            break
        tau2 += beyond / float(w**2 @ off)
    return tau2


def _exact_ends(p: Floats, n: Floats) -> tuple[Floats, Floats]:
    """Clopper and Pearson's bounds for shares p of n cases each; n need not be whole."""
    from overread.stats.special import betaincinv

    hits, misses, tail = p * n, (1 - p) * n, (1 - _LEVEL) / 2
    tiny = np.finfo(float).tiny
    low = np.where(hits > 0, betaincinv(np.maximum(hits, tiny), misses + 1, tail), 0.0)
    high = np.where(misses > 0, betaincinv(hits + 1, np.maximum(misses, tiny), 1 - tail), 1.0)
    low = np.where(low > 1e-12, low, 0.0)  # what is nearly no hit has a bound of no meaning
    return np.minimum(low, p), np.maximum(high, p)
