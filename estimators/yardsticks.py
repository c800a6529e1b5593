r"""Yardsticks: simple detectors of scikit-learn behind the cutoff of all models.

A yardstick is no model of this package. It shows when a simple method is enough: it goes through
the same protocol, cutoff, p-values and tables. Its score takes the place of minus the distance.
The references stand in the registry's records.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from numbers import Integral
from typing import Any, ClassVar, override

import numpy as np
from sklearn import covariance, ensemble, neighbors
from sklearn.base import clone
from sklearn.utils._param_validation import Interval

from ..inference.center import OfFunction
from ..inference.learned import Learned, Learner
from ..models.kernels import Kernel, Linear, Tabular
from .detector import Detector
from .training import Dictionary, NoPoints, TrainingData

COUNTS = ("n_neighbors", "n_estimators")  # parameters of yardsticks, positive whole numbers


@dataclass(frozen=True)
class Foreign(Learner):
    """A detector of another package, with ``fit``, that gives scores.

    Attributes
    ----------
    detector : callable
        Returns the detector for rows (n, p) and a seed, not yet fitted.
    score : callable
        Returns scores of rows by a fitted detector, larger for more normal rows.
    """

    detector: Callable[[np.ndarray, int], Any]
    score: Callable[[Any, np.ndarray], np.ndarray]

    folds: ClassVar[int] = 10

    @override
    def learn(self, data: TrainingData) -> Learned:
        rows = data.kernel.inputs(data.majority_rows)
        fitted = self.detector(rows, data.seed).fit(rows)
        return Learned(OfFunction(partial(self.score, fitted), data.kernel))


@dataclass(kw_only=True, eq=False, repr=False)
class Yardstick(Detector):
    """A detector of scikit-learn with the cutoff, p-values and files of all models.

    A subclass makes the detector in ``_detector`` and reads its score in ``_score_of_rows``.

    Parameters
    ----------
    kernel : Kernel, default=Tabular(Linear())
        Gives the coordinates of rows: see ``inputs`` of :class:`bsvdd.kernels.Kernel`.
    cutoff, minor_label, random_state
        As in :class:`bsvdd.BSVDD`; 10 folds are refitted.

    Examples
    --------
    >>> import numpy as np
    >>> from bsvdd.estimators.yardsticks import KDE, KNN, LOF
    >>> X = np.random.default_rng(0).normal(size=(100, 2))
    >>> [est.fit(X).predict([[0.0, 0.0], [9.0, 9.0]]).tolist() for est in (KNN(), LOF(), KDE())]
    [[1, -1], [1, -1], [1, -1]]
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **Detector._parameter_constraints,
        **{name: [Interval(Integral, 1, None, closed="left")] for name in COUNTS},
    }

    kernel: Kernel | Callable[..., Any] = Tabular(Linear())

    def _detector(self, rows: np.ndarray, seed: int) -> Any:
        """Return the detector of scikit-learn for ``rows``, not yet fitted."""
        raise NotImplementedError

    @staticmethod
    def _score_of_rows(fitted: Any, rows: np.ndarray) -> np.ndarray:
        """Return the scores of rows by the fitted detector, larger for more normal rows."""
        return np.asarray(fitted.score_samples(rows))

    @override
    def _dictionary(self, n_points: int) -> Dictionary:
        return NoPoints()

    @override
    def _learner(self) -> Learner:
        return Foreign(self._owned()._detector, self._score_of_rows)


@dataclass(kw_only=True, eq=False, repr=False)
class KNN(Yardstick):
    """The distance to the k-th nearest majority row (Ramaswamy, Rastogi and Shim 2000).

    ``n_neighbors``, 5 by default, is k; all rows if there are fewer.
    """

    n_neighbors: int = 5

    @override
    def _detector(self, rows: np.ndarray, seed: int) -> Any:
        return neighbors.NearestNeighbors(n_neighbors=min(self.n_neighbors, len(rows)))

    @staticmethod
    @override
    def _score_of_rows(fitted: Any, rows: np.ndarray) -> np.ndarray:
        return -np.asarray(fitted.kneighbors(rows)[0][:, -1])


@dataclass(kw_only=True, eq=False, repr=False)
class MeanKNN(KNN):
    """The mean distance to the k nearest majority rows (DTE-NP of Livernoche et al. 2024)."""

    @staticmethod
    @override
    def _score_of_rows(fitted: Any, rows: np.ndarray) -> np.ndarray:
        return -np.asarray(fitted.kneighbors(rows)[0].mean(axis=1))


@dataclass(kw_only=True, eq=False, repr=False)
class LOF(Yardstick):
    """The local outlier factor (Breunig, Kriegel, Ng and Sander 2000).

    ``n_neighbors`` is 20 by default; all other rows if there are fewer.
    """

    n_neighbors: int = 20

    @override
    def _detector(self, rows: np.ndarray, seed: int) -> Any:
        k = max(1, min(self.n_neighbors, len(rows) - 1))
        return neighbors.LocalOutlierFactor(n_neighbors=k, novelty=True)


@dataclass(kw_only=True, eq=False, repr=False)
class IsolationForest(Yardstick):
    """The isolation forest (Liu, Ting and Zhou 2008), of 100 trees (``n_estimators``)."""

    n_estimators: int = 100

    @override
    def _detector(self, rows: np.ndarray, seed: int) -> Any:
        return ensemble.IsolationForest(n_estimators=self.n_estimators, random_state=seed)


@dataclass(kw_only=True, eq=False, repr=False)
class RobustGaussian(Yardstick):
    """The Mahalanobis distance, by a robust covariance (Rousseeuw and Van Driessen 1999).

    Mean and covariance are those of the minimum covariance determinant, which needs more majority
    rows than columns: fewer are a ValueError.
    """

    @override
    def _detector(self, rows: np.ndarray, seed: int) -> Any:
        n, p = rows.shape
        if n <= p:
            raise ValueError(
                f"a robust covariance of {p} columns needs more than {p} majority rows, got {n}; "
                "use fewer columns, or another yardstick such as KNN"
            )
        return covariance.MinCovDet(random_state=seed)

    @staticmethod
    @override
    def _score_of_rows(fitted: Any, rows: np.ndarray) -> np.ndarray:
        return -np.asarray(fitted.mahalanobis(rows))


@dataclass(kw_only=True, eq=False, repr=False)
class KDE(Yardstick):
    """The log density of a Gaussian kernel estimate with Scott's bandwidth (Scott 1992)."""

    @override
    def _detector(self, rows: np.ndarray, seed: int) -> Any:
        return neighbors.KernelDensity(bandwidth="scott")


@dataclass(kw_only=True, eq=False, repr=False)
class Described(Yardstick):
    """Any detector with ``fit`` and ``score_samples``, such as those of scikit-learn.

    It gets the cutoff, p-values and decisions of all models, from refitted folds.

    Parameters
    ----------
    detector : object
        Not fitted; larger scores are more normal. A file cannot keep it.
    kernel, cutoff, minor_label, random_state
        As in :class:`Yardstick`.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.mixture import GaussianMixture
    >>> from bsvdd.estimators.yardsticks import Described
    >>> X = np.random.default_rng(0).normal(size=(100, 2))
    >>> est = Described(detector=GaussianMixture(2, random_state=0)).fit(X)
    >>> est.predict([[0.0, 0.0], [9.0, 9.0]])
    array([ 1, -1])
    """

    detector: Any

    @override
    def _detector(self, rows: np.ndarray, seed: int) -> Any:
        return clone(self.detector)
