"""Do groups of patients differ, and what is a judged rate without its judge's errors?"""

from __future__ import annotations

import math
from collections import Counter
from typing import Final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from overread.stats._clusters import BELIEF, USUAL, Floats
from overread.stats._permutation import deals
from overread.stats._proportions import Z95, Interval, outcomes_of

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
    cases this holds for many patients only; p is then at least that of F with C - k degrees of
    freedom.

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
    from scipy.special import fdtrc

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
    found = float(_wald(seen[None])[0])
    p = (int((_wald(dealt) >= found * (1 - _TIE)).sum()) + 1) / (n_perm + 1)
    # Where patients differ in their number of cases, dealing them out is right for many only.
    rate, df = x.mean(), np.unique(owner).size - k
    if size.min() == size.max() or df < 1:
        return p
    return max(p, float(fdtrc(k - 1, df, found / (rate * (1 - rate)) / (k - 1))))


def _wald(sums: NDArray[np.int64]) -> Floats:
    """W of every deal: units, cases, hits and their products by group (deals x groups x 6)."""
    units, n, hits, nn, nh, hh = np.moveaxis(sums.astype(float), 2, 0)
    with np.errstate(all="ignore"):
        at = hits / n
        between = np.maximum(hh - 2 * at * nh + at * at * nn, 0.0)
        between *= units / np.maximum(units - 1, 1)
        mass, usual = n * at * (1 - at), 1 + USUAL * (nn / n - 1)
        weights = n / np.maximum((between + BELIEF * usual) / (mass + BELIEF), 1.0)
        centre = (weights * at).sum(axis=1, keepdims=True) / weights.sum(axis=1, keepdims=True)
        found: Floats = (weights * (at - centre) ** 2).sum(axis=1)
    return np.nan_to_num(found)


def corrected_rate(rate: Interval, sensitivity: Interval, specificity: Interval) -> Interval | None:
    """A judged rate as it would be without the judge's errors (Rogan and Gladen).

    A judge that calls a right reply right with chance se, and a wrong one wrong with chance sp,
    turns a rate π into a = π se + (1 - π)(1 - sp). Solved for π, with the errors of all three in
    the interval (delta method)::

        π̂   = (a + sp - 1) / (se + sp - 1)
        var = (v_a + π̂² v_se + (1 - π̂)² v_sp) / (se + sp - 1)²

    Parameters
    ----------
    rate : Interval
        The rate as judged, with its standard error in `sd`.
    sensitivity, specificity : Interval
        Of the judge, measured on replies of known truth.

    Returns
    -------
    Interval or None
        Within [0, 1]; None where the judge is no better than a coin (se + sp <= 1) or something
        was not measured.

    References
    ----------
    W. J. Rogan and B. Gladen (1978), American Journal of Epidemiology 107, 71-76.

    Examples
    --------
    >>> from overread.stats import wilson
    >>> found = corrected_rate(wilson(88, 100), wilson(92, 100), wilson(92, 100))
    >>> f"{found.point:.3f} [{found.low:.3f}, {found.high:.3f}]"
    '0.952 [0.855, 1.000]'
    """
    parts = [(one.point, one.sd) for one in (rate, sensitivity, specificity)]
    if any(point is None or sd is None for point, sd in parts):
        return None
    (a, sd_a), (se, sd_se), (sp, sd_sp) = ((float(p or 0), float(s or 0)) for p, s in parts)
    worth = se + sp - 1
    if worth <= 0:
        return None
    value = min(max((a + sp - 1) / worth, 0.0), 1.0)
    # A judge that made no mistake in m tries may yet make one: its share has a spread then, too.
    sd_se, sd_sp = _open(sensitivity, sd_se), _open(specificity, sd_sp)
    sd = math.sqrt(sd_a**2 + (value * sd_se) ** 2 + ((1 - value) * sd_sp) ** 2) / worth
    return Interval(value, max(0.0, value - Z95 * sd), min(1.0, value + Z95 * sd), sd, rate.n)


def _open(one: Interval, sd: float) -> float:
    if sd > 0 or one.low is None or one.high is None:
        return sd
    return (one.high - one.low) / (2 * Z95)
