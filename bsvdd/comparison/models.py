"""The models of a comparison by their names, and simple methods beside which they are measured.

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
from typing import Any, Self, cast

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils import check_random_state

from ..estimators.registry import REGISTRY, find
from ..inference.cutoffs import resolved
from ..models.kernels import Kernel, Linear, Tabular
from ..tables.missing import imputed
from ..tables.table import Table
from ..tables.training import TrainingTable
from .datasets import require_known

FOLDS = 10
# neighbours of kNN and mean kNN, and of LOF
NEAREST = 5
LOCAL = 20
Scores = Callable[[np.ndarray], np.ndarray]


YARDSTICKS = "kNN", "mean kNN", "LOF", "isolation forest", "Gaussian", "KDE", "logistic"
NAMES = [*REGISTRY, *YARDSTICKS]


def of_method(name: str, rows: np.ndarray, minority: np.ndarray, seed: int) -> Scores:
    """Return how a method of scikit-learn scores rows, larger for more normal ones.

    It learns from rows (n, p), of which all but the logistic regression take the
    majority.
    """
    from sklearn import covariance, ensemble, linear_model, neighbors

    normal = rows[~minority]
    found = cast(Any, None)
    n = int((~minority).sum())
    match name:
        case "kNN" | "mean kNN":
            found = neighbors.NearestNeighbors(n_neighbors=min(NEAREST, n)).fit(normal)
            reduced: Any = np.max if name == "kNN" else np.mean
            return lambda Z: -reduced(found.kneighbors(Z)[0], axis=1)
        case "Gaussian":
            found = covariance.LedoitWolf().fit(normal)
            return lambda Z: -np.asarray(found.mahalanobis(Z))
        case "logistic":
            if not minority.any():
                raise ValueError(
                    "logistic regression learns from minority rows, but there is none"
                )
            found = linear_model.LogisticRegression(
                class_weight="balanced", max_iter=1000
            )
            found.fit(rows, minority)
            return lambda Z: -np.asarray(found.decision_function(Z))
        case "LOF":
            k = max(1, min(LOCAL, n - 1))
            found = neighbors.LocalOutlierFactor(n_neighbors=k, novelty=True)
        case "isolation forest":
            found = ensemble.IsolationForest(random_state=seed)
        case "KDE":
            found = neighbors.KernelDensity(bandwidth="scott")
    scores: Scores = found.fit(normal).score_samples
    return scores


@dataclass(eq=False, repr=False)
class Yardstick(BaseEstimator):
    """A simple method of scikit-learn, whose cutoff is chosen as that of a model.

    It learns from majority rows, the balanced logistic regression from both classes, in
    the coordinates that a kernel has of columns of numbers; a category is a column of 0
    and 1. The cutoff is chosen by scores of rows that ten fits have left out.

    Parameters
    ----------
    name : str
        Of ``YARDSTICKS``.
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
    cutoff: Any = None
    random_state: int = 0
    table: Table | None = None

    def fit(self, X: Any, y: Any = None) -> Self:
        """Fit to rows whose labels are True for the minority, all majority without y; return self.

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
        kinds = enumerate(table.kinds.values())
        self._categories = [i for i, kind in kinds if kind == "category"]
        minority = (
            np.zeros(len(rows), dtype=bool) if y is None else np.asarray(y, dtype=bool)
        )
        self._known = rows[~minority]
        rows = self._filled(rows)
        rule = resolved(self.cutoff, n1 := int(minority.sum()))
        seed = int(check_random_state(self.random_state).randint(2**31 - 1))
        self._score = self._learned(rows, minority, seed)
        both = self.name == "logistic"
        n = min(FOLDS, len(rows) - n1, n1 if both else FOLDS)
        split = (StratifiedKFold if both else KFold)(
            max(2, n), shuffle=True, random_state=seed
        )
        values = np.empty(len(rows))
        for train, test in split.split(rows, minority):
            values[test] = self._learned(rows[train], minority[train], seed)(rows[test])
        self.cutoff_ = -float(rule(values[None], np.ones((1, len(rows))), minority)[0])
        return self

    def _filled(self, rows: np.ndarray) -> np.ndarray:
        return imputed(rows, self._known, self._categories).rows

    def _learned(self, rows: np.ndarray, minority: np.ndarray, seed: int) -> Scores:
        """Return the scores of rows (m, p), learnt from rows (n, p)."""
        categories = self._categories
        of_columns = self._table.coordinates
        majority = of_columns(rows[~minority])
        numbers = np.delete(majority, categories, axis=1)
        kernel = self.kernel.fit(
            numbers, np.ones(len(numbers)), np.arange(len(numbers))
        )
        levels = [(c, np.unique(rows[:, c])) for c in categories]

        def coordinates(Z: np.ndarray) -> np.ndarray:
            Z = of_columns(Z)
            of_numbers = kernel.inputs(np.delete(Z, categories, axis=1))
            return np.column_stack(
                [of_numbers, *(Z[:, [c]] == known for c, known in levels)]
            )

        score = of_method(self.name, coordinates(rows), minority, seed)
        return lambda Z: score(coordinates(Z))

    def score_samples(self, X: Any) -> np.ndarray:
        """Return the scores of rows less that of the cutoff, shape (n,): at least 0 is normal."""
        return self._score(self._filled(self._floats(X))) + self.cutoff_

    def decision_function(self, X: Any) -> np.ndarray:
        """Return ``score_samples(X)``."""
        return self.score_samples(X)

    def predict(self, X: Any) -> np.ndarray:
        """Return +1 (normal) or -1 (abnormal) for each row, shape (n,)."""
        return np.where(self.score_samples(X) >= 0.0, 1, -1)


def model(name: str, **parameters: Any) -> Any:
    """Return the unfitted model ``name``, with those of the parameters that it has.

    Parameters
    ----------
    name : str
        A name in the table of models, of ``YARDSTICKS``, or of a class of yours that is
        imported.
    **parameters
        Such as ``cutoff`` and ``draws``; those that the model has not are left out.

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
    return est.set_params(
        **{key: value for key, value in parameters.items() if key in own}
    )


def by_name(names: Iterable[str] = NAMES, **parameters: Any) -> dict[str, Any]:
    """Return models by their names, as :func:`model` gives them."""
    return {name: model(name, **parameters) for name in names}


def needs_labels(name: str) -> bool:
    """Return whether a model learns from minority rows, beside choosing its cutoff by them."""
    record = None if name in YARDSTICKS else find(name)
    return name == "logistic" if record is None else record.needs_minority
