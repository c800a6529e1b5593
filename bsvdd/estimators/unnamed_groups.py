r"""Rows that are no rows for themselves, though ``fit`` has no ``groups``.

A row that is left out keeps those like it, and a new row may have none: copies
(:mod:`bsvdd.tables.copies`), rows of one group of a column, rows next to each other.

Rows of one group of a column are alike if the intraclass correlation of the other
columns is at least .1, and larger than under almost all permutations of the groups.
With the mean squares between and within k groups, summed over standardised columns, and
:math:`n_0 = (n - \sum_l n_l^2 / n) / (k - 1)`,

.. math:: \mathrm{ICC} = \frac{M_b - M_w}{M_b + (n_0 - 1) M_w}

(Donner 1986). A trend makes no groups: if the column has whole numbers, a cubic
polynomial of it is subtracted from the other columns first.

Rows are a series if their ranks :math:`z_i`, standardised in each of p columns, are
correlated with the next. Without an order and with C the correlations of the columns,

.. math:: \frac{\sum_i z_i^\top z_{i+1}}{\sqrt n\, \lVert C \rVert_F}

is about N(0, 1). n rows are as :math:`n / \tau` independent ones: :math:`\tau` is the
largest :math:`1 + 2 \sum_{l \le L} r_l` over L, with :math:`r_l` the correlation of
rows l apart, up to a lag of :math:`5 \tau` (Sokal 1997).

**References**

Donner, A. (1986). A review of inference procedures for the intraclass correlation
coefficient in the one-way random effects model. International Statistical Review 54,
67-82.

Sokal, A. (1997). Monte Carlo methods in statistical mechanics: foundations and new
algorithms. In Functional Integration, 131-192. Springer.
"""

from __future__ import annotations

import math
import shlex
from collections.abc import Hashable
from typing import cast

import numpy as np
import pandas as pd
from scipy import sparse
from scipy.stats import norm, rankdata

from ..base.messages import advised
from ..inference.cutoffs import FalseAlarm
from ..inference.fit import Fit
from ..models.signed import TINY
from ..tables.copies import Pairs
from ..tables.group_centres import group_texts
from ..tables.training import TrainingRows

PACKAGE = __name__.partition(".")[0]
FEWEST_GROUPS = 5
FEWEST_ROWS_OF_GROUPS = 30
SHARE_SHARED = 0.8  # of the groups that several rows have, at least
# share of rows that one number may have: zeros and flags are no groups
LARGEST_SHARE = 0.25
MOST_COMPARED = 2000  # rows
CORRELATED = 0.1  # intraclass correlation
P_VALUE = 0.02
PERMUTATIONS = 99
TREND = 3  # degree
TOO_OFTEN = 1.2  # rate of false alarms over that asked
MOST_ASKED = 500  # rows, of copies and of a series
DRIFTS = 0.001  # probability of a warning of drift by chance
SIGNIFICANT = 3.0  # standard deviations
# correlation with the next: rows sorted by class have less, and rates hardly suffer
LEAST_OF_SERIES = 0.5
LAGS = 5  # of the correlation time, over which it is summed
SHARE_OF_COPIES = 0.1  # of rows in groups with own centres, from which on it is said
BLOCK = 3  # correlation times: fewer leave too many rows near the ends of a block


def unnamed_groups(fit: Fit) -> str:
    """Return a warning that rows should not leave one by one; else ""."""
    training = cast("TrainingRows", fit.rows)
    kernel = fit.kernel
    if training.centres is not None:
        return of_copies_in_groups(training) or of_drift(training)
    if training.group_labels is not None or kernel.of_core or kernel.pairwise:
        return ""
    return of_copies(fit) or of_columns(fit) or of_order(fit)


def of_copies(fit: Fit) -> str:
    """Return a warning that rows have copies; else ""."""
    training = cast("TrainingRows", fit.rows)
    rows = training.majority
    categorical = training.table.categorical
    pairs = Pairs.of(training.observed[rows], categorical, MOST_ASKED)
    if not len(pairs.copy):
        return ""
    other = np.ones((len(pairs.asked), len(rows)), dtype=bool)
    other[pairs.place, pairs.copy] = False
    rate, text = beyond_text(fit, rows, pairs.asked, other)
    if rate < TOO_OFTEN * rate_asked(fit):
        return ""
    share = len(np.unique(pairs.place)) / len(pairs.asked)
    how = advised("copies", f"fit(X, groups={PACKAGE}.copies(X))")
    return (
        f"{share:.0%} of the rows have copies, equal or nearly: if new rows have none, "
        f"{text}; {how} lets copies leave together"
    )


def of_copies_in_groups(training: TrainingRows) -> str:
    """Return a warning that rows have copies in groups with own centres; else ""."""
    rows = training.majority
    # groups are clumps of rows, and residuals of rounded numbers are not rounded
    of_rows = Pairs.of(training.observed[rows], training.table.categorical, MOST_ASKED)
    pairs = Pairs.of(training.X[rows], (), MOST_ASKED)
    share = len(np.intersect1d(of_rows.place, pairs.place)) / len(pairs.asked)
    if share < SHARE_OF_COPIES:
        return ""
    return (
        f"{share:.0%} of the rows have copies, equal or nearly, in their groups. A "
        "centre without a row still has its copies, so more new rows than asked lie "
        "beyond the cutoff: keep one row of each"
    )


def of_order(fit: Fit) -> str:
    """Return a warning that rows near each other in their order are alike; else ""."""
    training = cast("TrainingRows", fit.rows)
    rows = np.sort(training.majority)
    n = len(rows)
    r, tau = correlation_time(training.X[rows])
    if r < LEAST_OF_SERIES:
        return ""
    asked = np.arange(n)[:: math.ceil(n / MOST_ASKED)]
    length = math.ceil(BLOCK * tau * len(training.X) / n)
    apart = np.abs(rows[asked][:, None] - rows) >= min(length, n // 3)
    rate, text = beyond_text(fit, rows, asked, apart)
    of = rate_asked(fit)
    if rate < TOO_OFTEN * of:
        return ""
    longest = max(math.floor(len(training.X) * of / (1.0 - of)), 1)
    size = min(length, longest)
    how = advised("blocks", f"fit(X, groups=np.arange(len(X)) // {size})", size)
    how += " asks of rows of a new block"
    if length > longest:
        how = (
            f"blocks of {length} rows would hold it, but they are too few, and shorter "
            f"ones only come nearer: {how}"
        )
    return (
        f"each row is like the next (correlation {r:.2f}), and {n} rows are as about "
        f"{n / tau:.0f} independent ones: if new rows come later in this order, "
        f"{text}; if the rows were only sorted, the rate holds; {how}"
    )


def of_drift(training: TrainingRows) -> str:
    """Return a warning that rows drift within groups that have own centres; else ""."""
    rows = np.sort(training.majority)
    labels = group_texts(training.group_labels)
    group, _ = pd.factorize(labels[rows])
    columns = training.table.columns
    dates = [f for f, column in enumerate(columns) if column.kind == "dates"]
    known = ~np.isnan(training.observed[rows]).any(axis=0)
    by = next((f for f in dates if known[f]), None)
    others = np.setdiff1d(np.arange(len(columns)), dates)
    if not len(others):
        return ""
    order = rankdata(rows if by is None else training.observed[rows, by])
    columns_and_weight = np.column_stack(
        [training.X[rows][:, others], training.weight[rows]]
    )
    r, z = correlation_with_order(columns_and_weight, group, order)
    of_columns, of_weight = z[:-1], z[-1]
    first = int(np.argmax(np.abs(of_columns)))
    if of_weight > norm.isf(DRIFTS):  # recent rows count more already
        return ""
    if np.abs(z[first]) <= norm.isf(DRIFTS / (2.0 * len(of_columns))):
        return ""
    names = training.table.labels
    name = names[others[first]]
    of = "order in the table" if by is None else f"dates in {str(names[by])!r}"
    how = advised("recent", "fit(X, groups=..., sample_weight=...)")
    return (
        f"rows drift within their groups: column {str(name)!r} has a correlation of "
        f"{r[first]:.2f} with their {of}. The rate holds for a row like "
        f"the others, not for the next one: let recent rows count more, {how}"
    )


def correlation_with_order(
    X: np.ndarray, group: np.ndarray, order: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    r"""Return the correlation of columns with an order (n,) within groups, (p,).

    And its size z (p,) in standard deviations of permutations within groups, whose
    variance is :math:`\sum_g SS_g(\text{order}) SS_g(x) / (n_g - 1)`.
    """
    n = np.bincount(group)

    def centred(x: np.ndarray) -> np.ndarray:
        means = np.stack([np.bincount(group, each) / n for each in x.T], axis=1)
        return x - means[group]

    def sums(x: np.ndarray) -> np.ndarray:
        return np.stack([np.bincount(group, each) for each in x.T], axis=1)

    order = centred(order[:, None])
    order /= np.maximum(n, 1)[group][:, None]
    x = centred(X)
    ss = sums(order**2) * sums(x**2)
    variance = (ss / np.maximum(n - 1, 1)[:, None]).sum(axis=0)
    both = (order * x).sum(axis=0)
    length = np.sqrt((order**2).sum() * (x**2).sum(axis=0))
    return both / (length + TINY), both / np.sqrt(variance + TINY)


def of_columns(fit: Fit) -> str:
    """Return a warning that rows of one group of a column are alike; else ""."""
    training = cast("TrainingRows", fit.rows)
    asked = fit.cutoff.rate
    kernel = fit.kernel
    if training.table.names is None or asked is None:
        return ""
    rows = training.majority
    if len(rows) > MOST_COMPARED:
        rng = np.random.default_rng(0)
        rows = np.sort(rng.choice(rows, MOST_COMPARED, replace=False))
    columns: dict[Hashable, np.ndarray] = {}
    for place, name in enumerate(training.table.labels):
        group = groups_of(training, place, rows)
        if group is not None and alike(others(training, place, rows, group), group):
            columns[name] = group
    if not columns:
        return ""
    Z = kernel.inputs(training.X[rows])
    k = kernel(Z, Z)
    np.fill_diagonal(k, 0.0)
    rates = {
        name: rate_beyond(k, group[:, None] != group, asked)
        for name, group in columns.items()
    }
    known = {name: r for name, r in rates.items() if r >= TOO_OFTEN * asked}
    if not known:
        return ""
    # a finer one explains a coarser one
    name = max(known, key=lambda each: (int(columns[each].max()), known[each]))
    how = advised("group", f"fit(X, groups={name!r})", shlex.quote(str(name)))
    return (
        f"rows of one {str(name)!r} are alike: if new rows come from new ones, about "
        f"{known[name]:.2f} of them will be called abnormal at {asked:g} asked; "
        f"{how} asks of rows of a new one"
    )


def groups_of(
    training: TrainingRows, place: int, rows: np.ndarray
) -> np.ndarray | None:
    """Return the group (n,) of rows by a column, from 0; None if it has no groups.

    The column has categories or whole numbers: at least 5, of which four fifths come
    again.
    """
    x = training.observed[rows, place]
    known = x[~np.isnan(x)]
    kind = training.table.columns[place].kind
    if kind in ("dates", "names") or (known % 1.0).any():
        return None
    values, count = np.unique(known, return_counts=True)
    if len(rows) < FEWEST_ROWS_OF_GROUPS or len(values) < FEWEST_GROUPS:
        return None
    if (count > 1).mean() < SHARE_SHARED:
        return None
    if kind == "numbers" and count.max() > LARGEST_SHARE * len(rows):
        return None
    return np.searchsorted(values, np.where(np.isnan(x), values[0], x))


def others(
    training: TrainingRows, place: int, rows: np.ndarray, group: np.ndarray
) -> np.ndarray:
    """Return the other columns of numbers, standardised.

    Missing cells have the mean, and trends are subtracted.
    """
    apart = {place, *training.table.categorical}
    numbers = [j for j in range(training.n_columns) if j not in apart]
    X = training.observed[np.ix_(rows, numbers)]
    X = np.where(np.isnan(X), np.nanmean(X, axis=0), X)
    if training.table.columns[place].kind == "numbers":
        z = np.vander((group - group.mean()) / group.std(), TREND + 1)
        X = X - z @ np.linalg.lstsq(z, X)[0]
    sd = X.std(axis=0)
    return (X - X.mean(axis=0))[:, sd > 0.0] / sd[sd > 0.0]


def alike(X: np.ndarray, group: np.ndarray) -> bool:
    """Return whether rows X (n, q) of one group (n,) are alike, and not by chance."""
    if not X.shape[1] or (own := correlation(X, group)) < CORRELATED:
        return False
    rng = np.random.default_rng(0)
    by_chance = [correlation(X, rng.permutation(group)) for _ in range(PERMUTATIONS)]
    return (1 + sum(each >= own for each in by_chance)) / (PERMUTATIONS + 1) <= P_VALUE


def correlation(X: np.ndarray, group: np.ndarray) -> float:
    """Return the intraclass correlation of standardised columns X (n, q)."""
    n = len(X)
    size = np.bincount(group)
    k = int((size > 0).sum())
    sums = sparse.csr_array((np.ones(n), (group, np.arange(n)))) @ X
    between = float((sums**2 / np.maximum(size, 1)[:, None]).sum())
    within = (float((X**2).sum()) - between) / (n - k)
    between /= k - 1
    n_0 = (n - (size**2).sum() / n) / (k - 1)
    return (between - within) / (between + (n_0 - 1.0) * within)


def correlation_time(X: np.ndarray) -> tuple[float, float]:
    """Return the correlation of rows X (n, p) with the next, and tau; 0 by chance."""
    n = len(X)
    z = rankdata(X[:, np.ptp(X, axis=0) > 0.0], axis=0)
    z = (z - z.mean(axis=0)) / z.std(axis=0)
    p = z.shape[1]
    by_chance = float(np.linalg.norm(z.T @ z)) / math.sqrt(n)  # standard deviation
    if not p or (z[1:] * z[:-1]).sum() < SIGNIFICANT * by_chance:
        return 0.0, 0.0
    tau = 1.0
    correlations: list[float] = []
    while len(correlations) < min(LAGS * tau, n - 1):
        lag = len(correlations) + 1
        correlations.append(float((z[lag:] * z[:-lag]).sum() / (n * p)))
        tau = max(tau, 1.0 + 2.0 * sum(correlations))
    return correlations[0], tau


def rate_asked(fit: Fit) -> float:
    """Return the rate of false alarms that the cutoff asks for, or the default."""
    return fit.cutoff.rate or FalseAlarm().rate


def beyond_text(
    fit: Fit, rows: np.ndarray, places: np.ndarray, other: np.ndarray
) -> tuple[float, str]:
    """Return the share of rows at ``places`` beyond the cutoff, and it in words.

    Only the ``other`` (s, n) of all the rows count for each.
    """
    Z = fit.kernel.inputs(fit.rows.X[rows])
    k = fit.kernel(Z[places], Z)
    k[np.arange(len(places)), places] = 0.0
    asked = rate_asked(fit)
    rate = rate_beyond(k, other, asked)
    return rate, f"about {rate:.2f} of them lie beyond a cutoff for {asked:g}"


def rate_beyond(k: np.ndarray, other: np.ndarray, asked: float) -> float:
    """Return the share of rows beyond the cutoff if only ``other`` rows stay.

    The score is the mean similarity to the other rows, of similarities k (s, n).
    """
    cutoff = np.quantile(k.sum(axis=1) / (k.shape[1] - 1), asked)
    mean = (k * other).sum(axis=1) / np.maximum(other.sum(axis=1), 1)
    return float((mean < cutoff).mean())
