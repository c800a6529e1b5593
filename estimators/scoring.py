"""Scores and decisions of new rows: one number per row, from arrays, files or dask."""

from __future__ import annotations

import copy
import os
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import Any

import numpy as np
import xarray as xr
from sklearn.utils.validation import check_is_fitted

from ..inference.scoring import Limit, ScoringRule
from ..models.gram import Gram
from ..models.kernels import Kernel
from .fitting import FittingDetector
from .inputs import categorical_columns, validated
from .rows.files import tables
from .rows.source import is_lazy

Summary = Callable[[ScoringRule, np.ndarray], np.ndarray]  # one number per row, from a rule


class ScoringDetector(FittingDetector):
    """A fitted detector that scores new rows."""

    @property
    def _limit(self) -> Limit:
        return Limit(self.cutoff_, self.offset_, self.level_)

    @property
    def kernel_(self) -> Kernel:
        """The kernel with its bandwidth as a number."""
        return self._fit.data.kernel

    @property
    def gram_(self) -> Gram:
        """The Gram statistics of the training rows."""
        return self._fit.data.gram

    @property
    def support_(self) -> np.ndarray:
        """Indices of the dictionary points that scoring uses; all others count with weight 0."""
        return self._fit.rule.support

    def probability_normal(self, X: Any) -> np.ndarray:
        """Return ``P(d_z <= cutoff_ | data)`` for each row of X.

        Parameters
        ----------
        X : array-like of shape (n, p), path of a file, or dask collection
            As in ``fit``. A file is read in blocks. For a dask array or data frame, this method
            and the others with one number per row return lazy dask arrays. If the labels of the
            fit were a column of the file or data frame, this column is ignored.

        Returns
        -------
        ndarray of shape (n,)
            Share of the posterior draws of d_z at or below the cutoff, in [0, 1]. The squared
            norm of the centre, which all rows and the cutoff share, is held at its median: see
            ``distance(X, common_norm=True)``. For a model without a posterior it is 0 or 1.

        Raises
        ------
        ValueError
            X has another number of columns than in ``fit``, NaN or infinity.
        sklearn.exceptions.NotFittedError
        """
        check_is_fitted(self)
        return self._by_row(X, partial(_probability_normal, limit=self._limit))

    def score_samples(self, X: Any) -> np.ndarray:
        r"""Return the score of each row, shape (n,); larger is more normal.

        For a description it is the proximity of the row, or its logarithm,

        .. math:: c - d_z^2, \qquad c = k(z, z) + \|a\|^2,

        its quantile over the draws at ``level_`` (at level 0.5, the posterior median). c is the
        squared distance of a row that is similar to no training row; it cancels, so the proximity
        is :math:`2 \sum_j w_j k(u_j, z)`. In a draw the order of the scores is that of minus d_z,
        with all its digits: d_z itself tends to the root of c, and then has no digits left. The
        logarithm is taken where weights and kernel values are at least 0 (SVDD, BSVDD and the
        simplex of BDD, with an RBF or Laplacian kernel), and does not underflow. If k(z, z) differs
        between rows, it does not cancel. For the SVMs the score is f(z).

        A row is normal exactly if its score is at least ``offset_``, the score of the cutoff.
        X and errors are those of :meth:`probability_normal`.
        """
        check_is_fitted(self)
        return self._by_row(X, partial(_score, level=self.level_))

    def decision_function(self, X: Any) -> np.ndarray:
        """Return ``score_samples(X) - offset_``, shape (n,): at least 0 for normal rows."""
        return self.score_samples(X) - self.offset_

    def predict(self, X: Any) -> np.ndarray:
        """Return +1 (normal) where ``P(d_z <= cutoff_ | data) > level_``, else -1 (abnormal).

        Shape (n,). X and errors are those of :meth:`probability_normal`.
        """
        return np.where(self.score_samples(X) >= self.offset_, 1, -1)

    def fit_predict(self, X: Any, y: Any = None, **kwargs: Any) -> np.ndarray:
        """Return ``fit(X, y).predict(X)``."""
        return self.fit(X, y, **kwargs).predict(X)

    def _by_row(self, X: Any, summary: Summary) -> np.ndarray:
        """Return one number per row of X; for a dask collection, as a lazy array."""
        if is_lazy(X):
            from .rows.dask import by_block

            scorer = copy.copy(self)  # workers get the rule without the training rows
            scorer._fit, scorer.idata_ = self._fit.for_scoring(), xr.DataTree()
            lazy: Any = by_block(self._without_label(X), partial(_scores, scorer, summary=summary))
            return lazy
        return _scores(self, X, summary)

    def _new_rows(self, X: Any) -> Iterator[np.ndarray]:
        """Yield new rows in the form that the fit's kernel expects; a file's block by block."""
        check_is_fitted(self)
        blocks: Iterable[Any] = [X]
        if isinstance(X, str | os.PathLike):
            names = getattr(self, "feature_names_in_", None)
            categorical = [] if names is None else names[list(self.kernel_.categorical_columns)]
            blocks = tables(X, self._fit.data.label, list(categorical))
        for block in blocks:
            yield self._rows_for(self.kernel_, self._without_label(block))

    def _rows_for(self, kernel: Kernel, X: Any) -> np.ndarray:
        """Return new rows in the form that ``kernel``, resolved by a fit, expects."""
        categorical = categorical_columns(kernel, X, getattr(self, "feature_names_in_", None))
        X = validated(self, X, reset=False, pairwise=kernel.pairwise, categorical=categorical)
        return kernel.new_rows(X, self.n_features_in_)

    def _without_label(self, X: Any) -> Any:
        """Return X; without the column of the labels if it is a data frame with this column."""
        label = self._fit.data.label
        if label is not None and hasattr(X, "columns") and label in X.columns:
            return X[[name for name in X.columns if name != label]]
        return X


# functions of this module, which can be sent to workers


def _scores(est: ScoringDetector, X: Any, summary: Summary) -> np.ndarray:
    return np.concatenate([summary(est._fit.rule, rows) for rows in est._new_rows(X)])


def _probability_normal(rule: ScoringRule, rows: np.ndarray, limit: Limit) -> np.ndarray:
    return rule.probability_normal(rows, limit)


def _score(rule: ScoringRule, rows: np.ndarray, level: float) -> np.ndarray:
    return rule.scores(rows, level)
