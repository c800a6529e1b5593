"""The models of a comparison by their names, and simple methods to compare with.

**References**

Breunig, M. M., Kriegel, H.-P., Ng, R. T. and Sander, J. (2000). LOF: identifying
density-based local outliers. SIGMOD Record 29. doi:10.1145/335191.335388

King, G. and Zeng, L. (2001). Logistic regression in rare events data. Political
Analysis 9. doi:10.1093/oxfordjournals.pan.a004868

Ledoit, O. and Wolf, M. (2004). A well-conditioned estimator for large-dimensional
covariance matrices. Journal of Multivariate Analysis 88.
doi:10.1016/S0047-259X(03)00096-4

Liu, F. T., Ting, K. M. and Zhou, Z.-H. (2008). Isolation forest. IEEE International
Conference on Data Mining 8. doi:10.1109/ICDM.2008.17

Ramaswamy, S., Rastogi, R. and Shim, K. (2000). Efficient algorithms for mining outliers
from large data sets. SIGMOD Record 29. doi:10.1145/335191.335437

Scott, D. W. (1992). Multivariate density estimation. Wiley. doi:10.1002/9780470316849
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Self, cast

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils import check_random_state

from ..estimators.protocols import RowScorer
from ..estimators.registry import REGISTRY, find
from ..inference.cutoffs import resolved
from ..models.kernels import Kernel, Linear, Tabular
from ..tables.missing import imputed
from ..tables.table import Table
from ..tables.training import TrainingTable
from .datasets import require_known

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from ..inference.cutoffs import Best, Cost, FalseAlarm

CUTOFF_FOLDS = 10
KNN_NEIGHBORS = 5
LOF_NEIGHBORS = 20
Scores = Callable[[np.ndarray], np.ndarray]

YARDSTICKS = "kNN", "mean kNN", "LOF", "isolation forest", "Gaussian", "KDE", "logistic"
NAMES = [*REGISTRY, *YARDSTICKS]


def method_scores(
    name: str, rows: np.ndarray, minority: np.ndarray, seed: int
) -> Scores:
    """Return the scores of a method of scikit-learn, larger for more normal rows.

    Parameters
    ----------
    name : str
        One of ``YARDSTICKS``.
    rows : ndarray of shape (n, p)
        Logistic regression learns from all rows, the others from the majority.
    minority : ndarray of bool, shape (n,)
    seed : int

    Returns
    -------
    callable
        From rows (m, p) to scores (m,).

    Raises
    ------
    ValueError
        Logistic regression has no minority rows.
    """
    from sklearn import covariance, ensemble, linear_model, neighbors

    normal = rows[~minority]
    n = len(normal)
    match name:
        case "kNN" | "mean kNN":
            k = min(KNN_NEIGHBORS, n)
            near = neighbors.NearestNeighbors(n_neighbors=k).fit(normal)
            # the last neighbour is the farthest
            some = slice(-1, None) if name == "kNN" else slice(None)
            return lambda Z: -near.kneighbors(Z)[0][:, some].mean(axis=1)
        case "Gaussian":
            gaussian = covariance.LedoitWolf().fit(normal)
            return lambda Z: -np.asarray(gaussian.mahalanobis(Z))
        case "logistic":
            if not minority.any():
                raise ValueError(
                    "logistic regression learns from minority rows, but there is none"
                )
            logistic = linear_model.LogisticRegression(
                class_weight="balanced", max_iter=1000
            ).fit(rows, minority)
            return lambda Z: -np.asarray(logistic.decision_function(Z))
        case "LOF":
            k = max(1, min(LOF_NEIGHBORS, n - 1))
            est = neighbors.LocalOutlierFactor(n_neighbors=k, novelty=True)
        case "isolation forest":
            est = ensemble.IsolationForest(random_state=seed)
        case _:
            est = neighbors.KernelDensity(bandwidth="scott")
    scores: Scores = est.fit(normal).score_samples
    return scores


@dataclass(eq=False, repr=False)
class Yardstick(BaseEstimator):
    """A simple method of scikit-learn, with a cutoff that is chosen as for a model.

    It learns from majority rows; the balanced logistic regression learns from both
    classes. Columns of numbers have the coordinates of a kernel, and a category is a
    column of 0 and 1. The cutoff is chosen by scores of rows that ten fits have left
    out.

    Parameters
    ----------
    name : str
        One of ``YARDSTICKS``.
    kernel : Kernel, default=Tabular(Linear())
        Gives the coordinates of numbers.
    cutoff : FalseAlarm, Best or Cost, optional
        As in :class:`bsvdd.BSVDD`.
    random_state : int, default=0
    table : Table, optional
        As in :class:`bsvdd.BSVDD`.

    Attributes
    ----------
    cutoff_ : float
        Minus the score of scikit-learn at the cutoff.

    Examples
    --------
    >>> import numpy as np
    >>> from bsvdd.comparison.models import Yardstick
    >>> X = np.random.default_rng(0).normal(size=(100, 2))
    >>> Yardstick("kNN").fit(X).predict([[0.0, 0.0], [9.0, 9.0]])
    array([ 1, -1])
    """

    name: str = "kNN"
    kernel: Kernel = Tabular(Linear())
    cutoff: FalseAlarm | Best | Cost | None = None
    random_state: int = 0
    table: Table | None = None

    def fit(self, X: ArrayLike, y: ArrayLike | None = None) -> Self:
        """Fit to rows.

        Parameters
        ----------
        X : array-like of shape (n, p)
        y : array-like of bool, shape (n,), optional
            True for the minority. By default all rows are majority.

        Returns
        -------
        self

        Raises
        ------
        ValueError
            The rows are too few for the method or for the cutoff.
        """
        from sklearn.model_selection import KFold, StratifiedKFold

        table = TrainingTable.read(X, self.table)
        self._table = table.table
        self._floats = table.floats
        rows = table.values.to_numpy(dtype=float)
        self._categories = list(self._table.categorical)
        minority = np.zeros(len(rows), bool) if y is None else np.asarray(y, bool)
        self._known = rows[~minority]
        rows = self._filled(rows)
        n1 = int(minority.sum())
        cutoff = resolved(self.cutoff, n1)
        seed = int(check_random_state(self.random_state).randint(2**31 - 1))
        self._score = self._learned(rows, minority, seed)
        both = self.name == "logistic"
        n = min(CUTOFF_FOLDS, len(rows) - n1, n1 if both else CUTOFF_FOLDS)
        folds = StratifiedKFold if both else KFold
        split = folds(max(2, n), shuffle=True, random_state=seed).split(rows, minority)
        values = np.empty(len(rows))
        for train, test in split:
            values[test] = self._learned(rows[train], minority[train], seed)(rows[test])
        choose = cast("FalseAlarm | Best | Cost", cutoff)
        cut = choose(values[None], np.ones((1, len(rows))), minority)
        self.cutoff_ = -float(cut[0])
        return self

    def _filled(self, rows: np.ndarray) -> np.ndarray:
        return imputed(rows, self._known, self._categories).X

    def _learned(self, rows: np.ndarray, minority: np.ndarray, seed: int) -> Scores:
        """Return the scores of rows (m, p), learnt from rows (n, p)."""
        columns = self._categories
        majority = self._table.coordinates(rows[~minority])
        numbers = np.delete(majority, columns, axis=1)
        n = len(numbers)
        kernel = self.kernel.fit(numbers, np.ones(n), np.arange(n))
        categories = [(c, np.unique(rows[:, c])) for c in columns]

        def coordinates(Z: np.ndarray) -> np.ndarray:
            Z = self._table.coordinates(Z)
            of_numbers = kernel.inputs(np.delete(Z, columns, axis=1))
            is_category = (Z[:, [c]] == known for c, known in categories)
            return np.column_stack([of_numbers, *is_category])

        score = method_scores(self.name, coordinates(rows), minority, seed)
        return lambda Z: score(coordinates(Z))

    def score_samples(self, X: ArrayLike) -> np.ndarray:
        """Return the scores of rows less the score at the cutoff; at least 0 is normal.

        Parameters
        ----------
        X : array-like of shape (n, p)

        Returns
        -------
        ndarray of shape (n,)
        """
        return self._score(self._filled(self._floats(X))) + self.cutoff_

    decision_function = score_samples

    def predict(self, X: ArrayLike) -> np.ndarray:
        """Return +1 (normal) or -1 (abnormal) for each row.

        Parameters
        ----------
        X : array-like of shape (n, p)

        Returns
        -------
        ndarray of shape (n,)
        """
        return np.where(self.score_samples(X) >= 0.0, 1, -1)


def model(name: str, **parameters: object) -> RowScorer:
    """Return the unfitted model ``name``, with the parameters that it has.

    Parameters
    ----------
    name : str
        A name in the table of models, one of ``YARDSTICKS``, or a class of yours that
        is imported.
    **parameters
        Such as ``cutoff`` and ``draws``. What is no parameter of the model is left out.

    Returns
    -------
    estimator

    Raises
    ------
    ValueError
        The model is unknown.

    Examples
    --------
    >>> from bsvdd.comparison import models
    >>> models.model("BDD", draws=200, C=1.0).draws
    200
    """
    record = find(name)
    if record is None:
        require_known("model", name, NAMES)
    est = Yardstick(name) if record is None else record.estimator()()
    own = est.get_params(deep=False)
    taken = {key: value for key, value in parameters.items() if key in own}
    return cast(RowScorer, est.set_params(**taken))


def by_name(names: Iterable[str] = NAMES, **parameters: object) -> dict[str, RowScorer]:
    """Return models by their names.

    Parameters
    ----------
    names : list of str
        Default: all.
    **parameters
        As in :func:`model`.

    Returns
    -------
    dict of str: estimator
    """
    return {name: model(name, **parameters) for name in names}


def needs_labels(name: str) -> bool:
    """Return whether a model learns from minority rows, beside choosing its cutoff.

    Parameters
    ----------
    name : str
        As in :func:`model`.

    Returns
    -------
    bool
    """
    record = None if name in YARDSTICKS else find(name)
    return name == "logistic" if record is None else record.needs_minority
