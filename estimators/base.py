"""The base of all estimators: they take rows and labels, and decide by a distance and a cutoff."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Self

import numpy as np
import pandas as pd
import xarray as xr
from sklearn.utils.validation import check_is_fitted

from ..inference import conformal
from ..inference.cutoff import as_cutoff
from ..inference.decision import (
    probability_error,
    three_way,
)
from ..models.kernels import Kernel
from . import kinds, p_values
from .conformal import ConformalDetector
from .dictionary import restored_data
from .explanation import Explanation
from .rows.source import is_lazy
from .storage.saving import save
from .training import FitState, TrainingData


class BaseDetector(ConformalDetector):
    """A detector that calls a row abnormal if its distance exceeds a cutoff.

    The modules ``fitting``, ``scoring`` and ``conformal`` have the fit, the scores of new rows and
    the p-values. Here are decisions, kinds, explanations, reports and files.
    """

    def decision(
        self, X: Any, quantiles: Sequence[float] = (), p_value: str | None = None
    ) -> pd.DataFrame:
        """Return the decision on each row, with its probability and distance, from one pass.

        Parameters
        ----------
        X : array-like of shape (n, p), or path of a file
        quantiles : sequence of float, default=()
            Also quantiles of the draws of ``distance(X, common_norm=True)``, for models with more
            than one draw.
        p_value : str, optional
            Also the p-values of this method of :meth:`p_value`; "left-out" needs no other pass.

        Returns
        -------
        pandas.DataFrame
            For new rows what ``idata_["decision"]`` has for the training rows. It has the index of
            X if X is a data frame, and the columns ``probability_normal``, as
            :meth:`probability_normal`; ``distance``, the quantile of
            ``distance(X, common_norm=True)`` at ``level_`` (at level 0.5, the posterior median);
            ``score``, as :meth:`score_samples`; ``cutoff`` and ``level``; and ``normal``, as
            :meth:`predict`. With ``Cutoff(undecided=(low, high))`` also ``probability_error``, the
            Monte Carlo standard error of P(normal), and ``decision``: "normal", "abnormal" or
            "undecided", see :func:`bsvdd.inference.decision.three_way`. The quantile .05 is the
            column ``distance_q05``, after ``distance``; the p-value is the column ``p_value``.

        Raises
        ------
        ValueError
            X has another number of columns than in ``fit``, NaN or infinity, or no rows (a file);
            a quantile does not lie in [0, 1]; p_value as in :meth:`p_value`.
        TypeError
            X is a dask collection; the methods with one number per row accept it, and are lazy.
        sklearn.exceptions.NotFittedError

        Examples
        --------
        >>> import numpy as np
        >>> from bsvdd import BDD
        >>> X = np.random.default_rng(0).normal(size=(100, 2))
        >>> BDD().fit(X).decision([[0.0, 0.0], [9.0, 9.0]])["normal"].tolist()
        [True, False]
        """
        check_is_fitted(self)
        if is_lazy(X):
            raise TypeError(
                "X is a dask collection, but decision computes its result at once; use "
                "probability_normal, score_samples or predict, which return lazy dask arrays"
            )
        if not all(0.0 <= share <= 1.0 for share in quantiles):
            raise ValueError(f"quantiles must be shares of the draws in [0, 1], got {quantiles!r}")
        method = None if p_value is None else self._p_values(p_value)
        rule, limit = self._fit.rule, self._limit
        shares = quantiles if len(rule.weights) > 1 else ()
        parts = [rule.decision(rows, limit, shares) for rows in self._new_rows(X)]
        score, probability, *between = np.concatenate(parts, axis=1)
        columns = {
            "probability_normal": probability,
            "distance": rule.value_of(score),
            **{
                f"distance_q{100 * share:02.12g}": d
                for share, d in zip(shares, between, strict=True)
            },
            "score": score,
            "cutoff": self.cutoff_,
            "level": limit.level,
            "normal": score >= limit.score,
        }
        undecided = as_cutoff(self.cutoff).undecided
        if undecided is not None:
            diagnostics = self.idata_.children["diagnostics"].dataset
            ess = float(diagnostics["ess"]) if "ess" in diagnostics else float("nan")
            error = probability_error(probability, ess)
            columns["probability_error"] = error
            columns["decision"] = three_way(probability, error, *undecided)
        if isinstance(method, p_values.ByScores) and method.rule is None:
            columns["p_value"] = method.of_scores(score)
        elif method is not None:
            columns["p_value"] = self._by_row(X, method)
        return pd.DataFrame(columns, X.index if isinstance(X, pd.DataFrame) else None)

    def explain(
        self,
        X: Any,
        prob: float = 0.9,
        draws: int = 50,
        top: int = 5,
        changes: bool = True,
    ) -> Explanation:
        """Raise a ValueError: only descriptions by a centre explain rows.

        See :meth:`bsvdd.estimators.description.DataDescription.explain`.
        """
        raise ValueError(
            f"{type(self).__name__} has no centre in kernel space, whose distance explain shares "
            "among columns and training rows; use a description such as BSVDD or SVDD"
        )

    def kinds(self, X: Any, background: float = 0.01) -> pd.DataFrame:
        r"""Return the probability that a row is normal, of each labelled kind, or of another kind.

        P(normal) follows from the score of this model, calibrated on left-out rows, and from the
        p-value of the row under a description of the normal class by BSVDD, which no minority row
        has part in: at the p-value ``background`` the odds of an unknown kind to normal are 1. A
        row that the score calls abnormal is of a labelled kind as far as it is like the rows of
        that kind. See :mod:`bsvdd.inference.kinds`.

        The shares of normal and labelled rows are taken to be those of the training rows. The
        p-value of a row far from all training rows is 1/(n0 + 1), so with fewer than
        1/``background`` normal rows it does not make a row more likely unknown than normal. With
        few labelled rows the score is not sure of them either, and a row in their midst that is
        far from all normal rows can be more likely unknown than known.

        Parameters
        ----------
        X : array-like of shape (n, p), or path of a file
        background : float, default=0.01
            The p-value at which a row is as likely of an unknown kind as normal, in [0, 1): about
            this share of normal rows is more likely unknown. With 0 no row is unknown: P(normal) is
            then the score alone, calibrated by Platt's sigmoid.

        Returns
        -------
        pandas.DataFrame
            A row for each row of X, with its index if X is a data frame. The columns are "normal",
            the labels of the minority, and "unknown"; each row sums to one.

        Raises
        ------
        ValueError
            The kernel is precomputed, a label is "normal" or "unknown", ``background`` is out of
            range, or X is invalid as in :meth:`probability_normal`.
        TypeError
            X is a dask collection.

        Warns
        -----
        DataWarning
            All rows of a kind are majority rows too.

        Examples
        --------
        >>> import numpy as np
        >>> from bsvdd import LSSVM
        >>> rng = np.random.default_rng(0)
        >>> X = np.concatenate([rng.normal(size=(150, 2)), rng.normal([5, 0], 0.5, (20, 2))])
        >>> est = LSSVM(minor_label="leak").fit(X, ["ok"] * 150 + ["leak"] * 20)
        >>> est.kinds([[0.0, 0.0], [5.0, 0.0], [-9.0, 9.0]]).idxmax(axis=1).tolist()
        ['normal', 'leak', 'unknown']
        """
        check_is_fitted(self)
        if is_lazy(X):
            raise TypeError(
                "X is a dask collection, but kinds returns a data frame in memory; give an array, "
                "or one partition after another"
            )
        if background != 0:
            conformal.check_rate("background", background)
        names = kinds.columns(self._fit.data)
        if self._kinds is None:
            self._kinds = kinds.rule_of(self._fit.data, self.left_out_scores())
        rule, full, kernel = self._kinds, self._full_rule(self._fit), self.kernel_
        parts = [
            rule.probabilities(kernel.inputs(rows), full.scores(rows, self.level_), background)
            for rows in self._new_rows(X)
        ]
        index = X.index if isinstance(X, pd.DataFrame) else None
        return pd.DataFrame(np.concatenate(parts), index, names)

    def report(self, path: Any, X: Any = None, y: Any = None, calibration: bool = True) -> Path:
        """Write a report of this fit as one HTML file, which needs no network.

        It says what was learnt from, and shows kernel and bandwidth, prior beside posterior,
        convergence in words, the cutoff with its realised false alarms, the distances of the rows,
        calibration, ROC and precision-recall where there are labels, the most abnormal rows with
        their explanation, and how to cite and to rerun.

        Parameters
        ----------
        path : str or path
            The file is complete or absent. Its folder must exist.
        X : array-like of shape (m, p), optional
            New rows to report. By default the training rows are reported: their ROC and their
            false alarms are those of left-out rows.
        y : array-like of shape (m,), optional
            Labels of X, with the rules of ``fit``. They are only compared with the decisions.
        calibration : bool, default=True
            Whether to refit the model five times, each time without a fifth of the rows, to show
            the p-values of left-out rows. Without it the report takes a few seconds. What
            takes longer than 3 seconds says on stderr what it does.

        Returns
        -------
        path

        Raises
        ------
        ValueError
            y is given without X; X and y as in :meth:`decision` and ``fit``.
        OSError
            The file cannot be written.

        Examples
        --------
        >>> import tempfile
        >>> from pathlib import Path
        >>> import numpy as np
        >>> from bsvdd import SVDD
        >>> est = SVDD().fit(np.random.default_rng(0).normal(size=(50, 2)))
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     page = est.report(Path(folder) / "model.html", calibration=False)
        ...     "What P(normal) is" in page.read_text(encoding="utf-8")
        True
        """
        from .report import report  # matplotlib and templates, which a fit does not need

        check_is_fitted(self)
        return report.write(self, Path(path), X, y, calibration)

    @property
    def labels_(self) -> tuple[Any, ...]:
        """The labels of y in ``fit``, those of the minority first; empty without y."""
        check_is_fitted(self)
        return self._fit.data.labels

    @property
    def _has_labels_of_predict(self) -> bool:
        return self._fit.data.labels in ((), (-1, 1))

    @property
    def classes_(self) -> np.ndarray:
        """The values of ``predict``, [-1, 1], for scikit-learn's scorers and calibration.

        Raises
        ------
        AttributeError
            y had other labels in ``fit``; scikit-learn's tools would read scores and decisions the
            wrong way round.
        """
        check_is_fitted(self)
        if not self._has_labels_of_predict:
            n_kinds = max(1, len(self._fit.data.kind_labels))
            minority, others = list(self.labels_[:n_kinds]), self.labels_[n_kinds:]
            shown = ", ".join(map(repr, others[:3])) + (", ..." if len(others) > 3 else "")
            named = ", ".join(map(repr, minority))
            where = f"y == {named}" if n_kinds == 1 else f"np.isin(y, {minority!r})"
            raise AttributeError(
                "scikit-learn's own scorers and calibration need the labels of predict, -1 for "
                f"abnormal and 1 for normal; this fit has {named} for abnormal and {shown} "
                "for normal, which they would read the wrong way round: use scoring="
                "scorers.roc_auc, or another of bsvdd.scorers, or fit with "
                f"np.where({where}, -1, 1)"
            )
        return np.array([-1, 1])

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "cutoff_")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = getattr(self.kernel, "pairwise", False)
        if self._learns_from_minority:
            tags.estimator_type = None  # scikit-learn's outlier detectors must fit without labels
            tags.target_tags.required = True
        if self.__sklearn_is_fitted__() and not self._has_labels_of_predict:
            tags.estimator_type = "classifier"  # so scikit-learn's scorers ask for classes_
        return tags

    def save(self, path: Any) -> None:
        """Write the fitted estimator to one NetCDF file; see :func:`bsvdd.load`.

        Parameters
        ----------
        path : str or path
            The file is complete or absent: it is written under another name and then renamed.

        Raises
        ------
        TypeError
            A parameter is an object that JSON cannot store.
        ValueError
            ``idata_`` has additions that the format cannot store.
        """
        save(self, path)

    @classmethod
    def from_state(
        cls,
        parameters: dict[str, Any],
        tree: xr.DataTree,
        kernel: Kernel,
        seed: int,
        columns: list[str] | int,
    ) -> Self:
        """Return the fitted estimator of a saved file.

        Parameters
        ----------
        parameters : dict
            Parameters of the constructor.
        tree : DataTree
            ``idata_``, already validated.
        kernel : Kernel
            Resolved kernel.
        seed : int
        columns : list of str or int
            Names of the columns of X, or their number.
        """
        est = cls(**parameters)
        est._validate_params()
        est._check_policy(as_cutoff(est.cutoff))
        # a file with statistics of its own is one of landmarks
        n_points = sys.maxsize if "gram" in tree.children else 0
        data = restored_data(est._dictionary(n_points), tree, kernel, seed)
        est.n_features_in_ = columns if isinstance(columns, int) else len(columns)
        if not isinstance(columns, int):
            est.feature_names_in_ = np.array(columns, dtype=object)
        est._set_fitted(est._restored(data, tree), tree)
        return est

    def _restored(self, data: TrainingData, tree: xr.DataTree) -> FitState:
        """Return the state of a saved fit from its DataTree."""
        raise NotImplementedError
