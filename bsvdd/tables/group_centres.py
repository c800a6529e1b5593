r"""Known groups have their own centres: rows as residuals from them.

A number of row i in group g is :math:`x_{gi} = \mu + b_g + e_{gi}`, with the variances
:math:`\tau^2` between groups and :math:`\sigma^2` within them. A row z of a group of
which m rows J are known becomes the residual

.. math:: r = \frac{z - \mu - L (\bar x_J - \mu)}{\sqrt{\sigma_J^2 + \tau^2 (1 - L)}},
    \qquad L = \frac{\tau^2}{\tau^2 + \sigma_J^2 / m},
    \qquad \sigma_J^2 = \frac{\nu \sigma^2 + SS_J}{\nu + m - 1},

with the mean 0 and the variance 1 whatever m is: the best linear prediction (Henderson
1975) and its variance. So training rows, each with J the others of its group, are one
table, which a description takes as any other. A row of an unknown group has m = 0. The
moments are those of one-way analysis of variance. :math:`\nu`, by which scales of
groups are shrunk to the common one, maximises the left-out normal likelihood.

A category l becomes :math:`\max_k \log v_k - \log v_l`, with :math:`v_l = \kappa q_l +
n_{gl}` of its share q among all rows and the counts n of the group's rows: by how much
its surprisal exceeds that of the group's main category, as a Dirichlet prior predicts.
:math:`\kappa` maximises the left-out likelihood; if infinite, v is q: groups say
nothing, as where each has the same number of rows of each category.

In a column in which three quarters of the numbers equal the median of their group, as
of heights, doses or rare flags, such a number has the residual 0, and so has any of
which less than half a standard deviation is left: else what is left by shrinkage would
make the scale.

The residual of a row whose group has no other is multiplied by the ratio, 1 at most, of
two mean sizes of the residuals of training rows: as they are, and as if each was of a
new group. So a value that all rows of a group share, such as a sex or a height, says
nothing against a new group. A category that no training row has keeps its residual.

A centre of few rows is uncertain. Draws of it, given its rows and the row itself, move
the residual, see :meth:`GroupCentres.moves`: the intervals and P(normal) of a row count
them, and its decision does not.

Weights count in means, and m is an effective number (Kish 1965). Wild values, more than
10 interquartile ranges beyond the quartiles, count in none.

**References**

Henderson, C. R. (1975). Best linear unbiased estimation and prediction under a
selection model. Biometrics 31, 423-447. doi:10.2307/2529430
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Self

import numpy as np
import pandas as pd
from scipy.special import gammaincinv

from ..models.signed import TINY
from .columns import text_of

SCALES = (2.0, 4.0, 8.0, 16.0, 32.0, 64.0, np.inf)  # nu
POOLED = (*np.geomspace(0.02, 1e4, 24), np.inf)  # kappa
WILD = 10.0  # interquartile ranges beyond the quartiles
DRAWS = 1000  # of centres of groups
MOVES = 8  # of the residual of a row
UNSEEN = 0.5  # rows that a category has which no row has
STEADY = 0.75  # numbers that equal the median of their group
SMALL = 0.5  # residuals that are 0 in columns of such numbers
NO_WEIGHT = 1e-9
ROUNDED = 1e-12  # difference from a centre, relative to the value
NEW = -1  # the group of a row whose group is not known


def group_texts(groups: object) -> np.ndarray:
    """Return labels of groups as texts, as they are compared."""
    cells = pd.Series(np.asarray(groups)).astype(object)  # dates as pandas shows them
    return cells.map(text_of).to_numpy(dtype=object)


def checked_labels(groups: object, n: int) -> np.ndarray:
    """Return the labels of n new rows; a ValueError for one that is missing."""
    labels = np.asarray(groups)
    if labels.shape != (n,):
        raise ValueError(
            f"groups must be {n} labels, one for each row, got {labels.shape}"
        )
    if (missing := pd.isna(labels)).any():
        raise ValueError(
            f"groups: row {missing.argmax()} has no group; name its group, or give it "
            "a label that the fit has not, such as 'new'"
        )
    return labels


def require_centres(
    groups: np.ndarray, minority: np.ndarray, weight: np.ndarray
) -> None:
    """Raise a ValueError for groups of training rows that can have no centres.

    Parameters
    ----------
    groups : ndarray of shape (n,)
        Labels.
    minority : ndarray of bool, shape (n,)
    weight : ndarray of shape (n,)

    Raises
    ------
    ValueError
        Each row is a group, or a group has rows of both classes.
    """
    labels = group_texts(groups)
    normal = pd.Index(labels[~minority & (weight > 0.0)])
    if normal.is_unique:
        raise ValueError(
            f"group_centres=True: groups names each of {len(normal)} rows, and a "
            "centre of a group needs two rows of some groups; name the column of "
            "patients (machines, sites), or fit without group_centres"
        )
    both = normal.intersection(labels[minority])
    if len(both):
        raise ValueError(
            f"group_centres=True: group {both[0]!r} has rows of both classes "
            f"({both.nunique()} such groups), and its centre is of normal rows: give "
            "its minority rows a group of their own, or leave them out"
        )


@dataclass(frozen=True, eq=False)
class Levels:
    """The categories of a column, by groups.

    Attributes
    ----------
    codes : ndarray of shape (K,)
    counts : ndarray of shape (G + 1, K + 1)
        By group, and of no group; the last category is one that no row has.
    share : ndarray of shape (K + 1,)
        q.
    kappa : float
    """

    codes: np.ndarray
    counts: np.ndarray
    share: np.ndarray
    kappa: float = 1.0

    @classmethod
    def of(cls, x: np.ndarray, group: np.ndarray, weight: np.ndarray, n: int) -> Self:
        """Return the categories of codes x in n groups, with kappa."""
        known = ~np.isnan(x) & (weight > 0.0)
        codes, code = np.unique(x[known], return_inverse=True)
        counts = np.zeros((n + 1, len(codes) + 1))
        np.add.at(counts, (group[known], code), weight[known])
        share = counts.sum(axis=0) + UNSEEN
        found = cls(codes, counts, share / share.sum())
        some = known & (counts.sum(axis=1)[group] > weight)
        t = weight[some]

        def surprisal(kappa: float) -> float:
            p = replace(found, kappa=kappa).evidence(x[some], group[some], t)
            return float(t @ np.log(p.sum(axis=1) / own_of(p, found.code(x[some]))))

        return replace(found, kappa=float(min(POOLED[::-1], key=surprisal)))

    def code(self, x: np.ndarray) -> np.ndarray:
        """Return the places (m,) of categories, -1 for one that no row has."""
        return np.asarray(pd.Index(self.codes).get_indexer(x))

    def evidence(
        self, x: np.ndarray, group: np.ndarray, weight: np.ndarray
    ) -> np.ndarray:
        """Return kappa q + n of all categories (m, K + 1), each row without itself.

        With an infinite kappa it is q.
        """
        own = self.counts[group]
        if np.isinf(self.kappa):
            return np.broadcast_to(self.share, own.shape)
        own[np.arange(len(x)), self.code(x)] -= weight * ~np.isnan(x)
        return np.asarray(np.maximum(self.kappa * self.share + own, TINY))

    def excess(
        self, x: np.ndarray, group: np.ndarray, weight: np.ndarray
    ) -> np.ndarray:
        """Return the excess (m,) of the surprisal of codes; each without itself."""
        p = self.evidence(x, group, weight)
        found = np.log(p.max(axis=1) / own_of(p, self.code(x)))
        return np.where(np.isnan(x), np.nan, found)

    def has_rows(self, group: np.ndarray, weight: np.ndarray) -> np.ndarray:
        """Return which rows (m,) are of a group with others, each without itself."""
        return np.asarray(self.counts[group].sum(axis=1) - weight > NO_WEIGHT)

    def moves(self, x: np.ndarray, group: np.ndarray, weight: np.ndarray) -> np.ndarray:
        """Return moves of the excess (MOVES, m), of draws of Dirichlet(kappa q + n).

        No draw of an evidence is below that of a group without rows.
        """
        if np.isinf(self.kappa):
            return np.zeros((MOVES, len(x)))
        p = self.evidence(x, group, weight)
        u = np.random.default_rng(0).uniform(size=(MOVES // 2, p.shape[1]))
        some, place = np.unique(p, axis=0, return_inverse=True)
        drawn = gammaincinv(some, np.concatenate([u, 1.0 - u])[:, None])
        drawn = drawn[:, place.reshape(-1)]
        drawn = np.maximum(drawn, np.maximum(self.kappa * self.share, TINY))
        own = drawn[:, np.arange(len(x)), self.code(x)]
        found = np.log(drawn.max(axis=2) / own) - self.excess(x, group, weight)
        return np.where(self.has_rows(group, weight) & ~np.isnan(x), found, 0.0)


def own_of(values: np.ndarray, code: np.ndarray) -> np.ndarray:
    """Return the value (m,) of each row at its category."""
    return np.asarray(values[np.arange(len(values)), code])


@dataclass(frozen=True, eq=False)
class GroupCentres:
    """The centres of known groups, and what residuals are made of.

    Attributes
    ----------
    labels : pandas.Index
        The groups, as texts.
    mu, tau2, sigma2, low, high : ndarray of shape (p,)
        Of the moments, and the values beyond which one is wild.
    sums : ndarray of shape (4, G + 1, p)
        By group, and of no group: sums of the weights t, and of t^2, t x, t x^2.
    levels : dict of int to Levels
        By the positions of categories.
    steady : ndarray of shape (G + 1, p)
        The medians of groups in columns that hardly vary within them; else NaN.
    nu : float
    of_new : ndarray of shape (p,)
        The factors of residuals of rows whose group has no other.
    """

    labels: pd.Index
    mu: np.ndarray
    tau2: np.ndarray
    sigma2: np.ndarray
    low: np.ndarray
    high: np.ndarray
    sums: np.ndarray
    levels: dict[int, Levels]
    steady: np.ndarray
    nu: float = np.inf
    of_new: np.ndarray | float = 1.0

    @classmethod
    def of(
        cls,
        X: np.ndarray,
        labels: np.ndarray,
        weight: np.ndarray,
        categorical: Collection[int] = (),
    ) -> Self:
        """Return the centres of groups of training rows.

        Parameters
        ----------
        X : ndarray of shape (n, p)
            NaN for missing cells.
        labels : ndarray of shape (n,)
            Of groups, as texts.
        weight : ndarray of shape (n,)
            0 for rows that are in no centre.
        categorical : collection of int
            Positions of categories.

        Returns
        -------
        GroupCentres
        """
        names = pd.Index(np.unique(labels[weight > 0.0].astype(str)), dtype=object)
        group = names.get_indexer(labels)
        t = weight / weight[weight > 0.0].mean()
        G = len(names)
        levels = {f: Levels.of(X[:, f], group, t, G) for f in categorical}
        q1, q3 = np.nanpercentile(X[t > 0.0], [25, 75], axis=0)
        reach = np.where(q3 > q1, WILD * (q3 - q1), np.inf)
        nothing = np.zeros(X.shape[1])
        middle = np.nan_to_num((q1 + q3) / 2.0)  # squares of large values cancel
        ends = (q1 - reach, q3 + reach)
        steady = steady_values(X, np.where(t > 0.0, group, NEW), G, list(categorical))
        found = cls(names, middle, nothing, nothing, *ends, nothing, levels, steady)
        sums = found._sums(X, group, t, G)
        mu, tau2, sigma2 = variances(*sums[:, :G])
        found = replace(found, mu=middle + mu, tau2=tau2, sigma2=sigma2)
        found = replace(found, sums=found._sums(X, group, t, G))
        rows = np.flatnonzero(t > 0.0)

        def likelihood(nu: float) -> float:
            own = replace(found, nu=nu)
            r, sd, m = own._numbers(X[rows], group[rows], t[rows])
            terms = -(r**2) / 2.0 - np.log(sd)
            terms[:, list(categorical)] = 0.0
            return float(t[rows] @ np.where(m > 0.0, np.nan_to_num(terms), 0.0).sum(1))

        found = replace(found, nu=max(SCALES[::-1], key=likelihood))
        return replace(found, of_new=found._of_new(X[rows], group[rows], t[rows]))

    @cached_property
    def is_steady(self) -> np.ndarray:
        """Which columns (p,) of numbers hardly vary within groups."""
        return ~np.isnan(self.steady).all(axis=0)

    def _of_new(self, X: np.ndarray, group: np.ndarray, t: np.ndarray) -> np.ndarray:
        """Return the factors (p,) of residuals of new groups, by training rows."""
        X = np.clip(X, self.low, self.high)
        own, has_others = self._residuals(X, group, t)
        new, _ = self._residuals(X, np.full(len(X), NEW), np.zeros(len(X)))
        some = has_others & ~np.isnan(X)
        sums = [
            (t[:, None] * np.where(some, np.abs(r), 0.0)).sum(axis=0)
            for r in (own, new)
        ]
        return np.where(sums[0] < sums[1], sums[0] / np.maximum(sums[1], TINY), 1.0)

    def _terms(self, X: np.ndarray, t: np.ndarray) -> np.ndarray:
        """Return t, t^2, t x, t x^2 of cells, (4, m, p); 0 if missing or wild."""
        counts = (self.low <= X) & (self.high >= X)
        x = np.where(counts, X - self.mu, 0.0)
        t = t[:, None] * counts
        return np.stack([t, t**2, t * x, t * x**2])

    def _sums(
        self, X: np.ndarray, group: np.ndarray, t: np.ndarray, G: int
    ) -> np.ndarray:
        """Return the sums over the rows of each group, and of none, (4, G + 1, p)."""
        found = np.zeros((4, G + 1, X.shape[1]))
        rows = np.flatnonzero(t > 0.0)
        at: Any = (slice(None), group[rows])
        np.add.at(found, at, self._terms(X[rows], t[rows]))
        return found

    def groups(self, labels: np.ndarray) -> np.ndarray:
        """Return the numbers (m,) of groups by their labels; -1 for unknown ones."""
        return np.asarray(self.labels.get_indexer(labels))

    def shrunk(
        self, group: np.ndarray, own: np.ndarray | float = 0.0
    ) -> tuple[np.ndarray, ...]:
        """Return m, L, the predicted value and its variance within groups, (m, p).

        ``own`` (4, m, p) are the terms of rows that leave their group.
        """
        W, W2, S, Q = self.sums[:, group] - own
        some = W > NO_WEIGHT
        m = np.where(some, W**2 / np.maximum(W2, TINY), 0.0)
        mean = np.where(some, S / np.maximum(W, NO_WEIGHT), 0.0)
        s2 = np.broadcast_to(self.sigma2, m.shape)
        if np.isfinite(self.nu):
            ss = np.maximum(Q - W * mean**2, 0.0) * m / np.maximum(W, NO_WEIGHT)
            s2 = (self.nu * s2 + ss) / (self.nu + np.maximum(m - 1.0, 0.0))
        between = m * self.tau2
        L = between / np.maximum(between + s2, TINY)
        return m, L, self.mu + L * mean, s2

    def _numbers(
        self, X: np.ndarray, group: np.ndarray, t: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return residuals, their standard deviations before, and m, (m, p) each."""
        m, L, centre, s2 = self.shrunk(group, self._terms(X, t))
        sd = np.sqrt(np.maximum(s2 + self.tau2 * (1.0 - L), TINY))
        off = X - centre
        off[np.abs(off) <= ROUNDED * np.abs(X)] = 0.0
        off[self.steady[group] == X] = 0.0
        return off / sd, sd, m

    def moves(
        self, X: np.ndarray, group: np.ndarray, weight: np.ndarray | None = None
    ) -> np.ndarray:
        r"""Return by how much residuals move if their centres do, (MOVES, m, p).

        The sd of a centre, of whose rows the row is one more, is :math:`\sigma_J \tau
        \sqrt{1 - L} / d`, with d the divisor of the residual; that of a move is this,
        divided by d. A row of an unknown group is answered for the population, and
        stays, as a steady number does. The arguments are those of :meth:`residuals`.
        """
        t = np.zeros(len(X)) if weight is None else weight
        m, L, _, s2 = self.shrunk(group, self._terms(X, t))
        of_centre = self.tau2 * (1.0 - L)
        share = np.sqrt(of_centre * s2) / np.maximum(s2 + of_centre, TINY)
        half = np.random.default_rng(0).normal(size=(MOVES // 2, X.shape[1]))
        half /= np.sqrt((half**2).mean(axis=0))
        normal = np.concatenate([half, -half])
        stays = (m == 0.0) | np.isnan(X) | (self.steady[group] == X)
        found = normal[:, None] * np.where(stays, 0.0, share)
        for f, levels in self.levels.items():
            found[:, :, f] = levels.moves(X[:, f], group, t)
        return np.asarray(found)

    def summary(self, labels: np.ndarray) -> pd.DataFrame:
        """Return what is known of each group, those that differ most first.

        Parameters
        ----------
        labels : ndarray of shape (n,)
            Of the training rows that count.

        Returns
        -------
        pandas.DataFrame
            ``rows``; ``borrowed``, the mean of 1 - L over the columns of numbers that
            vary within groups, NaN without any; ``distance`` of the group from the
            population, the root mean square of b / sigma over these columns, with the
            ends ``low`` and ``high`` of its 90 % interval under b ~ N(L (mean - mu),
            tau^2 (1 - L)).
        """
        number = np.setdiff1d(np.flatnonzero(~self.is_steady), list(self.levels))
        group = np.arange(len(self.labels))
        _, L, centre, s2 = (v[:, number] for v in self.shrunk(group))
        sd = np.sqrt(self.tau2[number] * (1.0 - L))
        rng = np.random.default_rng(0)
        b = centre - self.mu[number] + sd * rng.normal(size=(DRAWS, *sd.shape))
        square = (b**2 / np.maximum(s2, TINY)).sum(axis=2) / (len(number) or np.nan)
        low, middle, high = np.sqrt(np.quantile(square, [0.05, 0.5, 0.95], axis=0))
        found = {
            "rows": pd.Series(labels).value_counts().reindex(self.labels).to_numpy(),
            "borrowed": (1.0 - L).sum(axis=1) / (len(number) or np.nan),
            "distance": middle,
            "low": low,
            "high": high,
        }
        index = pd.Index(self.labels, name="group")
        table = pd.DataFrame(found, index)
        return table.sort_values("distance", ascending=False, kind="stable")

    def residuals(
        self, X: np.ndarray, group: np.ndarray, weight: np.ndarray | None = None
    ) -> np.ndarray:
        """Return rows as residuals from the centres of their groups.

        Parameters
        ----------
        X : ndarray of shape (m, p)
            NaN for missing cells.
        group : ndarray of int, shape (m,)
            -1 for a group that is not known.
        weight : ndarray of shape (m,), optional
            Of training rows, each of which leaves its group. New rows have none.

        Returns
        -------
        ndarray of shape (m, p)
        """
        t = np.zeros(len(X)) if weight is None else weight
        found, keeps = self._residuals(X, group, t)
        found = np.where(keeps, found, found * self.of_new)
        return np.where(self.is_steady & (np.abs(found) < SMALL), 0.0, found)

    def _residuals(
        self, X: np.ndarray, group: np.ndarray, t: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return residuals (m, p), and which of them the group's other rows make.

        Those of categories that no row has count as such.
        """
        found, _, m = self._numbers(X, group, t)
        of_others = m > 0.0
        for f, levels in self.levels.items():
            x = X[:, f]
            found[:, f] = levels.excess(x, group, t)
            of_others[:, f] = levels.has_rows(group, t) | (levels.code(x) < 0)
        return found, of_others


def variances(
    W: np.ndarray, W2: np.ndarray, S: np.ndarray, Q: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return mu, tau^2 and sigma^2 of each column, from the sums (G, p) of groups."""
    some = W > 0.0
    m = np.where(some, W**2 / np.maximum(W2, TINY), np.inf)
    mean = S / np.maximum(W, TINY)
    G = np.maximum(some.sum(axis=0), 1)
    mu = (mean * some).sum(axis=0) / G
    within = np.maximum(Q - W * mean**2, 0.0).sum(axis=0)
    df = np.where(some, W - W2 / np.maximum(W, TINY), 0.0).sum(axis=0)
    of_means = (some * (mean - mu) ** 2).sum(axis=0) / np.maximum(G - 1, 1)
    sigma2 = np.where(df > NO_WEIGHT, within / np.maximum(df, NO_WEIGHT), of_means)
    tau2 = np.maximum(of_means - sigma2 * (1.0 / m).sum(axis=0) / G, 0.0)
    return mu, tau2, sigma2


def steady_values(
    X: np.ndarray, group: np.ndarray, n: int, categorical: list[int]
) -> np.ndarray:
    """Return the medians (n + 1, p) of n groups in columns of steady numbers, else NaN.

    Rows of the group -1 do not count, nor do groups of one row.
    """
    rows = pd.DataFrame(X[group >= 0]).groupby(group[group >= 0])
    medians = rows.median().reindex(range(n + 1)).to_numpy()
    others = rows.transform("count").to_numpy() > 1
    equal = (X[group >= 0] == medians[group[group >= 0]]) & others
    share = equal.sum(axis=0) / np.maximum(others.sum(axis=0), 1)
    share[categorical] = 0.0
    return np.where(share >= STEADY, medians, np.nan)
