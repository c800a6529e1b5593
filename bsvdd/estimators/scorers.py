"""Scorers for scikit-learn's model selection; positive means minority, abnormal.

They are functions of a fitted estimator, rows and labels, for
``cross_val_score(scoring=...)`` and ``GridSearchCV(scoring=...)``. scikit-learn's own
scorers take the larger label for the positive class: for labels {0, 1} and booleans
this is the minority, while ``decision_function`` is large for normal rows, so their
values are reversed.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from sklearn.metrics import average_precision_score
from sklearn.pipeline import Pipeline

from ..inference.metrics import evaluate
from .description import LARGEST, Description
from .machines import Machine
from .protocols import RowScorer


@dataclass(frozen=True)
class Scorer:
    """A metric of a fitted estimator, larger for better.

    Parameters
    ----------
    name : {"roc_auc", "average_precision", "g_mean", "balanced_accuracy"}

    Examples
    --------
    >>> import numpy as np
    >>> from bsvdd import SVDD, scorers
    >>> from sklearn.model_selection import StratifiedKFold, cross_val_score
    >>> X = np.random.default_rng(0).normal(size=(100, 2))
    >>> y = np.linalg.norm(X, axis=1) > 2
    >>> folds = StratifiedKFold(3)
    >>> auc = cross_val_score(SVDD(), X, y, scoring=scorers.roc_auc, cv=folds)
    >>> bool((auc > 0.8).all())
    True
    """

    name: str

    def __call__(
        self, estimator: RowScorer, X: ArrayLike, y: ArrayLike | None = None
    ) -> float:
        """Return the metric for rows X with labels y.

        Parameters
        ----------
        estimator : estimator
            A fitted one of bsvdd, or a pipeline or a search that ends with one.
        X : array-like of shape (n, p)
        y : array-like of shape (n,)
            With the labels of ``fit``: a label of the minority, of any kind, means
            abnormal.

        Returns
        -------
        float

        Raises
        ------
        TypeError
            The estimator is not one of bsvdd.
        ValueError
            y has a label that ``fit`` has not seen, or one class only.
        """
        est = detector_in(estimator)
        flagged = np.asarray(estimator.predict(X)) == -1
        minority = est.minority_of(y, len(flagged))
        if minority.all() or not minority.any():
            only = "minority" if minority.all() else "majority"
            raise ValueError(
                f"{self.name} needs rows of both classes, got {len(minority)} {only} "
                "rows; scikit-learn's cross-validation splits rows without regard to "
                "their class unless told: cv=StratifiedKFold(5, shuffle=True)"
            )
        score = np.minimum(-np.asarray(estimator.decision_function(X)), LARGEST)
        if self.name == "average_precision":
            return float(average_precision_score(minority, score))
        metrics = evaluate(minority, flagged, score)
        return metrics["auc" if self.name == "roc_auc" else self.name]

    def __repr__(self) -> str:
        return f"scorers.{self.name}"


def detector_in(estimator: RowScorer) -> Description | Machine:
    """Return the estimator of bsvdd in a pipeline, a finished search or in views.

    Parameters
    ----------
    estimator : estimator

    Returns
    -------
    Description or Machine

    Raises
    ------
    TypeError
        It ends with another estimator.
    """
    if isinstance(estimator, Description | Machine):
        return estimator
    if views := getattr(estimator, "views_", None):
        return detector_in(next(iter(views.values())))
    if isinstance(estimator, Pipeline):
        return detector_in(estimator.steps[-1][1])
    if hasattr(estimator, "best_estimator_"):
        return detector_in(estimator.best_estimator_)
    raise TypeError(
        "these scorers are for estimators of bsvdd, alone or at the end of a pipeline, "
        f"got {type(estimator).__name__}"
    )


roc_auc = Scorer("roc_auc")
"""The area under the ROC curve: how well the scores order the rows."""

average_precision = Scorer("average_precision")
"""The mean precision over all cutoffs, for abnormal rows."""

g_mean = Scorer("g_mean")
"""The geometric mean of the shares of both classes that the decision has right."""

balanced_accuracy = Scorer("balanced_accuracy")
"""The mean of these two shares."""
