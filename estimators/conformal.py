"""P-values of rows, and what they say of a batch: discoveries, and bounds of their number."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from ..inference import conformal
from ..inference.cutoff import Cutoff
from ..inference.scoring import ScoringRule
from . import leave_out, p_values
from .rows.source import is_lazy
from .scoring import ScoringDetector, Summary


class ConformalDetector(ScoringDetector):
    """A fitted detector whose left-out rows calibrate the scores of new ones."""

    def p_value(self, X: Any, method: str = "left-out") -> np.ndarray:
        r"""Return the conformal p-value of "this row is normal" for each row of X.

        .. math:: p(z) = \frac{1 + \#\{j : s_j \le s_z\}}{n + 1}

        with :math:`s_z` the score of z and :math:`s_j` those of n left-out normal rows. A row with
        :math:`p(z) \le \alpha` is abnormal at a false-alarm rate of :math:`\alpha`. With the
        cutoff ``Cutoff("false_alarm", false_alarm_rate=alpha)`` and the method "left-out", these
        are exactly the rows that ``predict`` calls abnormal (without pruning).

        Parameters
        ----------
        X : array-like of shape (n, p), path of a file, or dask collection
            As in :meth:`probability_normal`; for a dask collection the result is lazy.
        method : {"left-out", "jackknife+", "cross", "full", "split"}, default="left-out"
            How rows are left out. For a normal row, :math:`P(p(z) \le \alpha)` is

            - "left-out": about :math:`\alpha`, with the left-out scores that choose the cutoff;
            - "jackknife+": below a small :math:`\alpha`, because p is a mean over draws, and such a
              mean is seldom small; z is compared with each row under the centre without this
              row. For BSVDD, BSVDD-M and BDD on the simplex;
            - "cross": at most :math:`2 \alpha + \sqrt{2 / n}`, and about :math:`\alpha`; 10 folds
              are refitted;
            - "full": at most :math:`\alpha` for a given bandwidth; BDD with an independent normal
              prior is refitted to the rows and z, in :math:`O(n^2)` a row;
            - "split": at most :math:`\alpha`; the model is refitted to half of the majority rows,
              and the other half is left out.

        Returns
        -------
        ndarray of shape (n,)
            At least 1/(n + 1), at most 1. It is the same for all cutoffs of one level.

        Raises
        ------
        ValueError
            An unknown method, or a model or prior that the method does not suit; X as in
            :meth:`probability_normal`.

        Notes
        -----
        All methods need training rows that are normal, and new normal rows from the same
        distribution. Abnormal rows among the training rows make p-values too large, and drift makes
        them too small. "left-out", "jackknife+" and "full" use bandwidth, scaling and row sums of
        all rows, which the bounds do not cover; see :mod:`bsvdd.estimators.p_values`.

        References
        ----------
        Vovk, V., Gammerman, A. and Shafer, G. (2005). Algorithmic learning in a random world.
        Springer.

        Barber, R. F., Candes, E. J., Ramdas, A. and Tibshirani, R. J. (2021). Predictive inference
        with the jackknife+. Annals of Statistics 49, 486-507. doi:10.1214/20-AOS1965

        Examples
        --------
        >>> import numpy as np
        >>> from bsvdd import BSVDD
        >>> X = np.random.default_rng(0).normal(size=(99, 2))
        >>> BSVDD().fit(X).p_value([[9.0, 9.0]])
        array([0.01])
        """
        check_is_fitted(self)
        return self._by_row(X, self._p_values(method))

    def _p_values(self, method: str) -> Summary:
        """Return the method of :meth:`p_value` for this fit."""
        data, level = self._fit.data, self.level_
        if method == "left-out":
            scores = self.left_out_scores()
            left_out = scores[~data.minority & ~np.isnan(scores)]
            # left-out scores are those of the rule without pruning
            full = self._full_rule(self._fit)
            rule = None if full is self._fit.rule else full
            return p_values.ByScores(np.sort(left_out), level, rule)

        if method == "jackknife+":
            if not isinstance(self._leave_one_out(data), leave_out.Renormalized):
                raise ValueError(
                    "method='jackknife+' is for BSVDD, BSVDD-M and the simplex of BDD, whose other "
                    f"weights are rescaled when a point leaves; {type(self).__name__} has "
                    "method='left-out', 'cross' and 'split'"
                )
            return p_values.Jackknife.of(self._full_rule(self._fit), data)
        if method == "cross":
            return p_values.cross(data, self._fold_rule, level)
        if method == "split":
            return p_values.split(data.rows, data.minority, self._fold_rule, level, data.seed)
        if method == "full":
            return self._full_conformal()
        raise ValueError(
            f"method must be one of {', '.join(map(repr, p_values.METHODS))}, got {method!r}"
        )

    def _fold_rule(self, train: np.ndarray) -> ScoringRule:
        """Return the rule of a fit to the training rows ``train``, with its own bandwidth."""
        return self._refit(self._fit.data, train, own_kernel=True)[1]

    def _full_conformal(self) -> Summary:
        """Return the full conformal method."""
        raise ValueError(
            f"method='full' is for BDD, whose posterior mean has a closed form; "
            f"{type(self).__name__} has method='left-out', 'cross' and 'split'"
        )

    def left_out_scores(self) -> np.ndarray:
        """Return the score that each training row would have as a new row, shape (n,).

        Larger is more normal, as in :meth:`score_samples`; NaN if a row cannot be left out. They
        come from leave-one-out in closed form if the model has it, else from refitted folds, at
        most once for a fit.

        Examples
        --------
        >>> import numpy as np
        >>> from bsvdd import BSVDD
        >>> est = BSVDD().fit(np.random.default_rng(0).normal(size=(99, 2)))
        >>> int((est.left_out_scores() < est.offset_).sum())  # false alarms, .10 of 99 asked
        9
        """
        check_is_fitted(self)
        if self._left_out is None:
            self._left_out = self._left_out_scores(self._fit, Cutoff(level=self.level_))
        return self._left_out.copy()  # the caller may change them

    def select(self, X: Any, fdr: float = 0.1, method: str = "left-out") -> np.ndarray:
        """Return the rows of a batch to call abnormal, with the false discovery rate held.

        Benjamini and Hochberg's procedure on the p-values of X, or on e-values: the expected share
        of normal rows among the rows that are called abnormal is at most ``fdr``. Rows of one
        batch are decided together: a row can be called abnormal in one batch and not in another.

        Parameters
        ----------
        X : array-like of shape (n, p), or path of a file
        fdr : float, default=0.1
        method : str, default="left-out"
            As in :meth:`p_value`, or "e-values": the mean of e-values over 10 splits, each with a
            fit of its own, so that the answer does not hang on one split (Bashari et al. 2023).
            There is a theorem for "split" (Bates et al. 2023) and for "e-values"; for the other
            methods the rate was measured (docs/guide/measurements.md) and not proved.

        Returns
        -------
        ndarray of bool, shape (n,)

        Raises
        ------
        ValueError
            fdr does not lie between 0 and 1; X and method as in :meth:`p_value`.

        References
        ----------
        Bates, S., Candes, E., Lei, L., Romano, Y. and Sesia, M. (2023). Testing for outliers with
        conformal p-values. Annals of Statistics 51, 149-178. doi:10.1214/22-AOS2244

        Bashari, M., Epstein, A., Romano, Y. and Sesia, M. (2023). Derandomized novelty detection
        with FDR control via conformal e-values. Advances in Neural Information Processing Systems
        36.

        Examples
        --------
        >>> import numpy as np
        >>> from bsvdd import BSVDD
        >>> rng = np.random.default_rng(0)
        >>> est = BSVDD().fit(rng.normal(size=(99, 2)))
        >>> batch = np.concatenate([rng.normal(size=(20, 2)) / 2, np.full((3, 2), 9.0)])
        >>> np.flatnonzero(est.select(batch, fdr=0.1)).tolist()
        [20, 21, 22]
        """
        conformal.check_rate("fdr", fdr)
        if method == "e-values":
            return conformal.discoveries_by_e_values(self._e_values(X, fdr), fdr)
        return conformal.discoveries(self._batch_p_values(X, method), fdr)

    def _e_values(self, X: Any, fdr: float) -> np.ndarray:
        """Return the means of the e-values of the rows of X over splits."""
        check_is_fitted(self)
        data, level, e = self._fit.data, self.level_, []
        for seed in range(data.seed, data.seed + p_values.SPLITS):
            split = p_values.split(data.rows, data.minority, self._fold_rule, level, seed)
            scores = _computed(self._by_row(X, split.scores))
            # half the rate for each split, so that their mean can reach the whole (Bashari et al.)
            e.append(conformal.e_values(scores, split.left_out, fdr / 2.0))
        return np.mean(e, axis=0)

    def abnormal_at_least(self, X: Any, confidence: float = 0.9, method: str = "left-out") -> int:
        """Return a lower bound, with confidence, of the number of abnormal rows in a batch.

        By closed testing with Simes' tests on the p-values of X, see
        :func:`bsvdd.inference.conformal.abnormal_at_least`.

        Parameters
        ----------
        X : array-like of shape (n, p), or path of a file
        confidence : float, default=0.9
        method : str, default="left-out"
            As in :meth:`select`.

        Raises
        ------
        ValueError
            The confidence does not lie between 0 and 1; X and method as in :meth:`p_value`.
        """
        conformal.check_rate("confidence", confidence)
        return conformal.abnormal_at_least(self._batch_p_values(X, method), confidence)

    def _batch_p_values(self, X: Any, method: str) -> np.ndarray:
        return _computed(self.p_value(X, method))


def _computed(values: Any) -> np.ndarray:
    """Return the values; those of a dask collection are lazy."""
    computed: np.ndarray = values.compute() if is_lazy(values) else values
    return computed
