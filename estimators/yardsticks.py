r"""Yardsticks: simple detectors of scikit-learn behind the cutoff of all models.

A yardstick is no model of this package. It shows when a simple method is enough: it goes through
the same protocol, cutoff, p-values and tables. Its score takes the place of minus the distance:

======================== =====================================================================
yardstick                score of z
======================== =====================================================================
:class:`KNN`             minus the distance to the k-th nearest majority row
:class:`MeanKNN`         minus the mean distance to the k nearest majority rows
:class:`LOF`             minus the local outlier factor
:class:`IsolationForest` minus the anomaly score of isolation trees
:class:`RobustGaussian`  minus the squared Mahalanobis distance, by a robust covariance
:class:`KDE`             the log density of a Gaussian kernel estimate
======================== =====================================================================
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from numbers import Integral
from typing import Any, ClassVar, override

import numpy as np
import xarray as xr
from sklearn import covariance, ensemble, neighbors
from sklearn.utils._param_validation import Interval

from ..inference.draws import Draws
from ..inference.scoring import SingleScore, supported
from ..models.gram import Gram
from ..models.kernels import Kernel, Linear
from .base import BaseDetector
from .dictionary import AllRows
from .training import Dictionary, FitState, TrainingData

DENSE_ROWS = 5000  # most rows for which est.gram_ has a kernel matrix (200 MB)

Score = Callable[[np.ndarray], np.ndarray]


@dataclass(frozen=True, eq=False)
class DetectorScore(SingleScore):
    """The score of a fitted detector of scikit-learn; the value of a row is minus its score.

    Attributes
    ----------
    score : callable
        Takes rows (n, p), in the coordinates of the kernel, and returns scores (n,).
    """

    score: Score

    @override
    def _raw(self, rows: np.ndarray, out: np.ndarray | None = None) -> np.ndarray:
        raw = -self.score(self.gram.kernel.inputs(rows))[:, None]
        if out is None:
            return raw
        out[:] = raw
        return out


@dataclass(kw_only=True, eq=False, repr=False)
class Yardstick(BaseDetector):
    """A detector of scikit-learn with the cutoff, p-values and files of all models.

    A subclass fits the detector in ``_score``. The kernel only says how the columns are scaled.
    """

    kernel: Kernel | Callable[..., Any] = Linear()

    _folds = 10
    _solution = ("seed",)

    def _score(self, rows: np.ndarray, seed: int) -> Score:
        """Return the score of the detector that is fitted to ``rows``."""
        raise NotImplementedError

    @override
    def _dictionary(self, n_points: int) -> Dictionary:
        # no kernel matrix is needed, so its size limits nothing
        return AllRows(with_minority=False, unlimited=True, matrix_free_above=DENSE_ROWS)

    @override
    def _draw(self, gram: Gram, seed: int) -> Draws:
        # all rows count alike; the seed lets a saved file fit the same detector
        return Draws.of_weights(np.full(gram.n_points, 1.0 / gram.n_points), {"seed": float(seed)})

    @override
    def _rule(self, draws: Draws, gram: Gram) -> DetectorScore:
        w, rows = draws.weights, gram.kernel.inputs(gram.points)
        return DetectorScore(w, gram, supported(w), self._score(rows, int(draws.solution["seed"])))

    @override
    def _state(self, data: TrainingData) -> FitState:
        return self._described(data, self._draw(data.gram, data.seed))

    def _described(self, data: TrainingData, draws: Draws) -> FitState:
        rule = self._rule(draws, data.gram)
        values = rule.values(data.rows)
        score = xr.Dataset({"score": ("obs", -values[0])}, {"obs": np.arange(len(data.rows))})
        groups = {"yardstick": score, "diagnostics": xr.Dataset()}
        return FitState(data=data, draws=draws, rule=rule, values=values, groups=groups)

    @override
    def _restored(self, data: TrainingData, tree: xr.DataTree) -> FitState:
        return self._described(data, Draws.from_tree(tree, self._solution))


_NEIGHBORS: dict[str, list[Any]] = {"n_neighbors": [Interval(Integral, 1, None, closed="left")]}


@dataclass(kw_only=True, eq=False, repr=False)
class KNN(Yardstick):
    """The distance to the k-th nearest majority row.

    Parameters
    ----------
    kernel : Kernel, default=Linear()
        Only the scaling of its columns is used, as of ``kernels.Standardized(kernels.Linear())``.
    n_neighbors : int, default=5
        k; all rows if there are fewer.
    cutoff, minor_label, random_state
        As in :class:`bsvdd.BSVDD`; 10 folds are refitted.

    References
    ----------
    Ramaswamy, S., Rastogi, R. and Shim, K. (2000). Efficient algorithms for mining outliers from
    large data sets. SIGMOD Record 29, 427-438. doi:10.1145/335191.335437

    Examples
    --------
    >>> import numpy as np
    >>> from bsvdd.estimators.yardsticks import KNN
    >>> X = np.random.default_rng(0).normal(size=(100, 2))
    >>> KNN().fit(X).predict([[0.0, 0.0], [9.0, 9.0]])
    array([ 1, -1])
    """

    n_neighbors: int = 5

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **Yardstick._parameter_constraints,
        **_NEIGHBORS,
    }

    @override
    def _score(self, rows: np.ndarray, seed: int) -> Score:
        k = min(self.n_neighbors, len(rows))
        return partial(_minus_last, neighbors.NearestNeighbors(n_neighbors=k).fit(rows))


@dataclass(kw_only=True, eq=False, repr=False)
class MeanKNN(KNN):
    """The mean distance to the k nearest majority rows (DTE-NP of Livernoche et al. 2024).

    Parameters
    ----------
    kernel, n_neighbors, cutoff, minor_label, random_state
        As in :class:`KNN`.

    References
    ----------
    Livernoche, V., Jain, V., Hezaveh, Y. and Ravanbakhsh, S. (2024). On diffusion modeling for
    anomaly detection. International Conference on Learning Representations.

    Examples
    --------
    >>> import numpy as np
    >>> from bsvdd.estimators.yardsticks import MeanKNN
    >>> X = np.random.default_rng(0).normal(size=(100, 2))
    >>> MeanKNN().fit(X).predict([[0.0, 0.0], [9.0, 9.0]])
    array([ 1, -1])
    """

    @override
    def _score(self, rows: np.ndarray, seed: int) -> Score:
        k = min(self.n_neighbors, len(rows))
        return partial(_minus_mean, neighbors.NearestNeighbors(n_neighbors=k).fit(rows))


@dataclass(kw_only=True, eq=False, repr=False)
class LOF(Yardstick):
    """The local outlier factor.

    Parameters
    ----------
    kernel, cutoff, minor_label, random_state
        As in :class:`KNN`.
    n_neighbors : int, default=20
        All other rows if there are fewer.

    References
    ----------
    Breunig, M. M., Kriegel, H.-P., Ng, R. T. and Sander, J. (2000). LOF: identifying density-based
    local outliers. SIGMOD Record 29, 93-104. doi:10.1145/335191.335388

    Examples
    --------
    >>> import numpy as np
    >>> from bsvdd.estimators.yardsticks import LOF
    >>> X = np.random.default_rng(0).normal(size=(100, 2))
    >>> LOF().fit(X).predict([[0.0, 0.0], [9.0, 9.0]])
    array([ 1, -1])
    """

    n_neighbors: int = 20

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **Yardstick._parameter_constraints,
        **_NEIGHBORS,
    }

    @override
    def _score(self, rows: np.ndarray, seed: int) -> Score:
        k = max(1, min(self.n_neighbors, len(rows) - 1))
        score: Score = (
            neighbors.LocalOutlierFactor(n_neighbors=k, novelty=True).fit(rows).score_samples
        )
        return score


@dataclass(kw_only=True, eq=False, repr=False)
class IsolationForest(Yardstick):
    """The isolation forest.

    Parameters
    ----------
    kernel, cutoff, minor_label, random_state
        As in :class:`KNN`.
    n_estimators : int, default=100
        Number of trees.

    References
    ----------
    Liu, F. T., Ting, K. M. and Zhou, Z.-H. (2008). Isolation forest. IEEE International Conference
    on Data Mining 8, 413-422. doi:10.1109/ICDM.2008.17

    Examples
    --------
    >>> import numpy as np
    >>> from bsvdd.estimators.yardsticks import IsolationForest
    >>> X = np.random.default_rng(0).normal(size=(100, 2))
    >>> IsolationForest(n_estimators=50).fit(X).predict([[0.0, 0.0], [9.0, 9.0]])
    array([ 1, -1])
    """

    n_estimators: int = 100

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **Yardstick._parameter_constraints,
        "n_estimators": [Interval(Integral, 1, None, closed="left")],
    }

    @override
    def _score(self, rows: np.ndarray, seed: int) -> Score:
        forest = ensemble.IsolationForest(n_estimators=self.n_estimators, random_state=seed)
        score: Score = forest.fit(rows).score_samples
        return score


@dataclass(kw_only=True, eq=False, repr=False)
class RobustGaussian(Yardstick):
    """The Mahalanobis distance, with mean and covariance by the minimum covariance determinant.

    Parameters
    ----------
    kernel, cutoff, minor_label, random_state
        As in :class:`KNN`.

    Raises
    ------
    ValueError
        There are not more majority rows than columns.

    References
    ----------
    Rousseeuw, P. J. and Van Driessen, K. (1999). A fast algorithm for the minimum covariance
    determinant estimator. Technometrics 41, 212-223. doi:10.1080/00401706.1999.10485670

    Examples
    --------
    >>> import numpy as np
    >>> from bsvdd.estimators.yardsticks import RobustGaussian
    >>> X = np.random.default_rng(0).normal(size=(100, 2))
    >>> RobustGaussian().fit(X).predict([[0.0, 0.0], [9.0, 9.0]])
    array([ 1, -1])
    """

    @override
    def _score(self, rows: np.ndarray, seed: int) -> Score:
        n, p = rows.shape
        if n <= p:
            raise ValueError(
                f"a robust covariance of {p} columns needs more than {p} majority rows, got {n}; "
                "use fewer columns, or another yardstick such as KNN"
            )
        return partial(_minus_mahalanobis, covariance.MinCovDet(random_state=seed).fit(rows))


@dataclass(kw_only=True, eq=False, repr=False)
class KDE(Yardstick):
    """The log density of a Gaussian kernel estimate with Scott's bandwidth.

    Parameters
    ----------
    kernel, cutoff, minor_label, random_state
        As in :class:`KNN`.

    References
    ----------
    Scott, D. W. (1992). Multivariate density estimation. Wiley. doi:10.1002/9780470316849

    Examples
    --------
    >>> import numpy as np
    >>> from bsvdd.estimators.yardsticks import KDE
    >>> X = np.random.default_rng(0).normal(size=(100, 2))
    >>> KDE().fit(X).predict([[0.0, 0.0], [9.0, 9.0]])
    array([ 1, -1])
    """

    @override
    def _score(self, rows: np.ndarray, seed: int) -> Score:
        score: Score = neighbors.KernelDensity(bandwidth="scott").fit(rows).score_samples
        return score


# functions of this module, which can be sent to workers


def _minus_last(index: neighbors.NearestNeighbors, rows: np.ndarray) -> np.ndarray:
    return -index.kneighbors(rows)[0][:, -1]


def _minus_mean(index: neighbors.NearestNeighbors, rows: np.ndarray) -> np.ndarray:
    return -index.kneighbors(rows)[0].mean(axis=1)


def _minus_mahalanobis(estimate: covariance.MinCovDet, rows: np.ndarray) -> np.ndarray:
    return -estimate.mahalanobis(rows)
