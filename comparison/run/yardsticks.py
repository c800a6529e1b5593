"""Yardsticks: simple detectors of scikit-learn, beside which the models are measured.

A yardstick learns from majority rows, in the coordinates that a kernel has of their columns. Its
cutoff is chosen as those of the models are: from the scores of majority rows by fits to nine tenths
of them, and from the scores of minority rows, which it never learns from.

**References**

Breunig, M. M., Kriegel, H.-P., Ng, R. T. and Sander, J. (2000). LOF: identifying density-based
local outliers. SIGMOD Record 29. doi:10.1145/335191.335388

Liu, F. T., Ting, K. M. and Zhou, Z.-H. (2008). Isolation forest. IEEE International Conference on
Data Mining 8. doi:10.1109/ICDM.2008.17

Livernoche, V., Jain, V., Hezaveh, Y. and Ravanbakhsh, S. (2024). On diffusion modeling for anomaly
detection. International Conference on Learning Representations.

Ramaswamy, S., Rastogi, R. and Shim, K. (2000). Efficient algorithms for mining outliers from large
data sets. SIGMOD Record 29. doi:10.1145/335191.335437

Rousseeuw, P. J. and Van Driessen, K. (1999). A fast algorithm for the minimum covariance
determinant estimator. Technometrics 41. doi:10.1080/00401706.1999.10485670

Scott, D. W. (1992). Multivariate density estimation. Wiley. doi:10.1002/9780470316849
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple, Self

import numpy as np
from sklearn.utils import check_random_state

from ...inference.cutoffs import Printed, resolved
from ...models.kernels import Kernel, Linear, Tabular

FOLDS = 10
NEAREST, LOCAL = 5, 20  # neighbours of kNN and mean kNN, and of LOF
Scores = Callable[[np.ndarray], np.ndarray]


class Method(NamedTuple):
    """A detector of scikit-learn.

    ``learn`` takes rows (n, p) and a seed. It returns a function that scores rows, larger for more
    normal ones.
    """

    title: str
    learn: Callable[[np.ndarray, int], Scores]


def _of_nearest(rows: np.ndarray) -> Callable[[np.ndarray], np.ndarray]:
    """Return a function of the distances of rows to the nearest ones, (n, 5), in their order."""
    from sklearn import neighbors  # slow

    found = neighbors.NearestNeighbors(n_neighbors=min(NEAREST, len(rows))).fit(rows)
    return lambda Z: np.asarray(found.kneighbors(Z)[0])


def _kth(rows: np.ndarray, seed: int) -> Scores:
    distances = _of_nearest(rows)
    return lambda Z: -distances(Z)[:, -1]


def _mean(rows: np.ndarray, seed: int) -> Scores:
    distances = _of_nearest(rows)
    return lambda Z: -distances(Z).mean(axis=1)


def _local(rows: np.ndarray, seed: int) -> Scores:
    from sklearn import neighbors  # slow

    k = max(1, min(LOCAL, len(rows) - 1))
    found: Any = neighbors.LocalOutlierFactor(n_neighbors=k, novelty=True).fit(rows)
    return found.score_samples


def _forest(rows: np.ndarray, seed: int) -> Scores:
    from sklearn import ensemble  # slow

    found: Any = ensemble.IsolationForest(random_state=seed).fit(rows)
    return found.score_samples


def _mahalanobis(rows: np.ndarray, seed: int) -> Scores:
    from sklearn import covariance  # slow

    n, p = rows.shape
    if n <= p:
        raise ValueError(
            f"a robust covariance of {p} columns needs more than {p} majority rows, got {n}; use "
            "fewer columns, or another yardstick such as kNN"
        )
    found = covariance.MinCovDet(random_state=seed).fit(rows)
    return lambda Z: -np.asarray(found.mahalanobis(Z))


def _density(rows: np.ndarray, seed: int) -> Scores:
    from sklearn import neighbors  # slow

    found: Any = neighbors.KernelDensity(bandwidth="scott").fit(rows)
    return found.score_samples


YARDSTICKS = {
    "kNN": Method("Distance to the 5th nearest neighbour, 2000", _kth),
    "mean kNN": Method("Mean distance to the 5 nearest neighbours, 2024", _mean),
    "LOF": Method("Local outlier factor, 2000", _local),
    "isolation forest": Method("Isolation forest, 2008", _forest),
    "robust Gaussian": Method("Mahalanobis distance with a robust covariance, 1999", _mahalanobis),
    "KDE": Method("Kernel density estimate with Scott's bandwidth, 1992", _density),
}


@dataclass(eq=False)
class Yardstick:
    """A yardstick with its cutoff, for the studies.

    Parameters
    ----------
    name : str
        Of ``YARDSTICKS``.
    kernel : Kernel, default=Tabular(Linear())
        Gives the coordinates of rows: see ``inputs`` of :class:`bsvdd.kernels.Kernel`.
    cutoff : object of bsvdd.cutoffs or None, default=None
        As in :class:`bsvdd.BSVDD`.
    random_state : int, default=0

    Attributes
    ----------
    kernel_ : Kernel
        With the scales of the majority rows.
    cutoff_ : float
        Minus the score of scikit-learn at the cutoff, as a distance.

    Examples
    --------
    >>> import numpy as np
    >>> from bsvdd.comparison.run.yardsticks import Yardstick
    >>> X = np.random.default_rng(0).normal(size=(100, 2))
    >>> Yardstick("kNN").fit(X).predict([[0.0, 0.0], [9.0, 9.0]])
    array([ 1, -1])
    """

    name: str
    kernel: Kernel = Tabular(Linear())
    cutoff: Any = None
    random_state: int = 0

    def fit(self, X: Any, y: Any = None) -> Self:
        """Fit to the rows whose label is not 1, all without y; return self.

        Raises
        ------
        ValueError
            The rows are too few for the method or for the cutoff.
        """
        from sklearn.model_selection import KFold

        X = np.asarray(X, dtype=float)
        minority = np.zeros(len(X), dtype=bool) if y is None else np.asarray(y) == 1
        rule = self.rule(minority)
        seed = int(check_random_state(self.random_state).randint(2**31 - 1))
        majority, values = X[~minority], np.empty(len(X))
        self.kernel_, self._score = self._learned(majority, seed)
        left_out = np.empty(len(majority))
        folds = KFold(min(FOLDS, len(majority)), shuffle=True, random_state=seed)
        for train, test in folds.split(majority):
            left_out[test] = self._learned(majority[train], seed)[1](majority[test])
        values[~minority] = left_out
        if minority.any():
            values[minority] = self._score(X[minority])
        self.cutoff_ = -float(rule(values[None], np.ones((1, len(X))), minority)[0])
        return self

    def rule(self, minority: np.ndarray) -> Any:
        """Return the rule of the cutoff; a ValueError if it cannot be, for rows of these classes.

        ``Printed`` has one number, as every yardstick, so it is the rule within.
        """
        rule = resolved(self.cutoff, int(minority.sum()))
        if not isinstance(rule, Printed):
            return rule
        if rule.of != "left-out" or isinstance(rule.rule, int | float):
            raise ValueError(
                f"a yardstick has no distances in kernel space, and its cutoff is chosen on "
                f"left-out rows: use {rule!r} for descriptions only"
            )
        return rule.rule

    def _learned(self, rows: np.ndarray, seed: int) -> tuple[Kernel, Scores]:
        kernel = self.kernel.fit(rows, np.ones(len(rows)), np.arange(len(rows)))
        score = YARDSTICKS[self.name].learn(kernel.inputs(rows), seed)
        return kernel, lambda Z: score(kernel.inputs(Z))

    def score_samples(self, X: Any) -> np.ndarray:
        """Return the scores of rows less that of the cutoff, shape (n,): at least 0 is normal."""
        return self._score(np.asarray(X, dtype=float)) + self.cutoff_

    decision_function = score_samples

    def predict(self, X: Any) -> np.ndarray:
        """Return +1 (normal) or -1 (abnormal) for each row, shape (n,)."""
        return np.where(self.score_samples(X) >= 0.0, 1, -1)
