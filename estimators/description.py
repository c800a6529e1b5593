"""Data descriptions: detectors by the distance from a centre in kernel space."""

from __future__ import annotations

import copy
import math
from dataclasses import replace
from typing import Any, Self, override

import numpy as np
import xarray as xr
from sklearn.utils.validation import check_is_fitted

from ..inference import conformal, diagnostics
from ..inference.cutoff import Cutoff
from ..inference.draws import Draws
from ..inference.scoring import CenterDraws
from ..inference.warning import DataWarning, warn
from ..models.geometry import squared_distance_of_points
from ..models.gram import Gram
from ..models.kernels.base import is_number
from ..models.potential import KernelLikelihood, Likelihood, parameters_of
from . import explanation, p_values
from .base import BaseDetector
from .inputs import row_names
from .leave_out import LeaveOneOut, Renormalized
from .rows.source import is_lazy
from .training import FitState, TrainingData

FEW_DIGITS = 1e-4  # rounding error, relative to a squared distance, that leaves few digits


class DataDescription(BaseDetector):
    """A detector whose distance d_z is that from the majority's centre in kernel space."""

    @override
    def _rule(self, draws: Draws, gram: Gram) -> CenterDraws:
        norm = draws.flat("squared_norm") if "squared_norm" in draws.variables else None
        return CenterDraws.of(draws.weights, gram, norm, self._nonnegative)

    @property
    def _nonnegative(self) -> bool:
        """Whether the model has no negative weights."""
        return False

    @override
    def _full_rule(self, state: FitState) -> CenterDraws:
        if "pruning" not in state.groups:
            rule: Any = state.rule
            return rule
        return self._rule(state.draws, state.data.gram)

    @property
    @override
    def _has_loo(self) -> bool:
        return True

    @override
    def _leave_one_out(self, data: TrainingData) -> LeaveOneOut | None:
        return Renormalized()

    @override
    def _state(self, data: TrainingData) -> FitState:
        return self._described(data, self._draw(data.gram, data.seed), KernelLikelihood())

    def _described(
        self,
        data: TrainingData,
        draws: Draws,
        likelihood: Likelihood | None,
        prior: xr.Dataset | None = None,
    ) -> FitState:
        """Return the fit with these draws, its distances, log-likelihood and diagnostics.

        Draws that are not those of a posterior have no likelihood.
        """
        rule = self._rule(draws, data.gram)
        values = _distances_of_rows(data, draws, rule)
        Kw = draws.flat("Kw") if "Kw" in draws.variables else None
        draws = draws.without("Kw")
        d = draws.of_rows(values)
        groups = {
            "distance": d.to_dataset(),
            "diagnostics": diagnostics.diagnose(draws, d.values, prior),
        }
        if likelihood is not None:
            groups["log_likelihood"] = _log_likelihood(likelihood, draws, d, data)
        if prior is not None:
            groups["prior"] = prior
        for name, group in data.dictionary.report(data).items():
            groups[name] = groups[name].merge(group) if name in groups else group
        _warn_of_rounding(data, d.values)
        return FitState(data=data, draws=draws, rule=rule, values=values, groups=groups, Kw=Kw)

    @override
    def _restored(self, data: TrainingData, tree: xr.DataTree) -> FitState:
        draws = Draws.from_tree(tree, self._solution)
        rule = self._rule(draws, data.gram)
        if "pruning" in tree.children:
            is_kept = tree.children["pruning"].dataset["kept"].values
            rule = rule.restricted(np.flatnonzero(is_kept))
        names = ("prior", "distance", "log_likelihood", "diagnostics", "gram", "pruning")
        groups = {n: tree.children[n].to_dataset() for n in names if n in tree.children}
        d = groups["distance"]["d"].values
        attrs = tree.children["posterior"].attrs
        attrs_of_draws = {*draws.report.attrs(), *draws.solution}
        return FitState(
            data=data,
            draws=draws,
            rule=rule,
            values=d.reshape(-1, d.shape[-1]),
            groups=groups,
            attrs={str(name): v for name, v in attrs.items() if name not in attrs_of_draws},
        )

    @override
    def _set_fitted(self, state: FitState, tree: xr.DataTree) -> None:
        super()._set_fitted(state, tree)
        if "pruning" in state.groups and not state.rule.has_few_digits(self._limit):
            # the same distance, from a centre with another norm
            self.offset_ = state.rule.score_of(self.cutoff_)

    @override
    def _check_policy(self, policy: Cutoff) -> None:
        super()._check_policy(policy)
        number = policy.criterion
        if not isinstance(number, str) and number < 0:
            raise ValueError(f"cutoff: a distance is at least 0, got {number!r}")

    def pruned(self, tolerance: float) -> Self:
        r"""Return this fitted estimator with fewer points, so that it scores faster.

        Points are dropped, those with the smallest weights first, as long as in every draw

        .. math:: |d_z - \tilde d_z| \le \|a - \tilde a\| \le
            \sum_{j \text{ dropped}} |w_j| \sqrt{k_{jj}} \le \text{tolerance}

        with :math:`\tilde d_z` the distance from the centre :math:`\tilde a` of the remaining
        points. By the triangle inequality, no distance of any row changes by more than the
        tolerance. ``support_`` has the remaining points, and ``pruning_error_`` the largest sum.

        Only the scores of new rows use fewer points. The cutoff does not change, nor do the
        posterior and the training rows in ``idata_``, so ``with_cutoff`` chooses as before
        pruning. ``with_prior`` fits again, without pruning. A point with weight 0 in all draws,
        like most points in SVDD, is never used, with or without pruning.

        Parameters
        ----------
        tolerance : float
            At least 0, on the scale of d_z. If the weights are spread over all points, few points
            can be dropped.

        Raises
        ------
        ValueError
            The tolerance is not a number of at least 0.
        """
        check_is_fitted(self)
        if not (is_number(tolerance) and 0 <= tolerance < math.inf):
            raise ValueError(f"tolerance must be a number of at least 0, got {tolerance!r}")
        state = self._fit
        center = self._rule(state.draws, state.data.gram)
        dropped, bound = center.negligible(float(tolerance))
        is_kept = np.ones(state.data.gram.n_points, dtype=bool)
        is_kept[dropped] = False
        new, rule = copy.copy(self), center.restricted(np.flatnonzero(is_kept))
        pruning = xr.Dataset({"kept": ("point", is_kept), "bound": bound})
        tree = self.idata_.copy()
        tree["pruning"] = pruning
        groups = {**state.groups, "pruning": pruning}
        new._set_fitted(replace(state, rule=rule, groups=groups), tree)
        return new

    @property
    def pruning_error_(self) -> float:
        """A bound on the error of any d_z by pruning, see :meth:`pruned`."""
        pruning = self._fit.groups.get("pruning")
        return 0.0 if pruning is None else float(pruning["bound"])

    def distance(self, X: Any, common_norm: bool = False) -> xr.DataArray:
        r"""Return the draws of d_z for each row of X.

        .. math:: d_z^2 = k(z, z) - 2 \sum_j w_j k(u_j, z) + \|a\|^2

        Parameters
        ----------
        X : array-like of shape (n, p), or path of a file
        common_norm : bool, default=False
            Whether :math:`\|a\|^2 = w^\top K w` of every draw is replaced by its median. All rows
            share this term, so it says nothing of one of them. The decision does not depend on it:
            P(normal) is the share of these draws at or below ``cutoff_``.

        Returns
        -------
        xarray.DataArray of dims (chain, draw, obs)
            d_z is a norm in kernel space, so it does not have the units of X. For a kernel with
            values in [0, 1], k(z, z) = 1 and weights on the simplex, it lies between 0 and the
            square root of 2.

        Raises
        ------
        ValueError
            X has another number of columns than in ``fit``, NaN or infinity.
        """
        rows = np.concatenate(list(self._new_rows(X)))
        rule: Any = self._fit.rule  # of a description, CenterDraws
        return self._fit.draws.of_rows(rule.values(rows, common_norm))

    def predict_idata(self, X: Any) -> xr.DataTree:
        r"""Return ``idata_`` with the group ``predictions``: d_z and the decision for new rows.

        Parameters
        ----------
        X : array-like of shape (n, p), or path of a file

        Returns
        -------
        xarray.DataTree
            A copy; ``idata_`` stays as it is. The group has ``d`` and ``d_common_norm`` of dims
            (chain, draw, obs), as :meth:`distance` without and with ``common_norm``;
            ``probability_normal``, ``normal`` and ``score`` of dims (obs), as ``decision``;
            and the numbers ``cutoff`` and ``level``. obs has the index of X if X is a data frame
            (tuples for several levels), else the numbers of the rows.

        Raises
        ------
        ValueError
            X has another number of columns than in ``fit``, NaN or infinity, or no rows (a file).
        TypeError
            X is a dask collection.
        sklearn.exceptions.NotFittedError

        Examples
        --------
        >>> import numpy as np, pandas as pd
        >>> from bsvdd import BDD
        >>> X = pd.DataFrame(np.random.default_rng(0).normal(size=(50, 2)), columns=["a", "b"])
        >>> new = pd.DataFrame({"a": [0.0, 9.0], "b": [0.0, 9.0]}, index=["near", "far"])
        >>> tree = BDD().fit(X).predict_idata(new)
        >>> bool(tree["predictions"]["normal"].sel(obs="near"))
        True
        >>> dict(tree["predictions"]["d"].sizes)
        {'chain': 2, 'draw': 1000, 'obs': 2}
        """
        check_is_fitted(self)
        if is_lazy(X):
            raise TypeError(
                "X is a dask collection, but predict_idata computes all draws at once; use "
                "probability_normal, score_samples or predict, which return lazy dask arrays, or "
                "give few rows as an array"
            )
        rows = np.concatenate(list(self._new_rows(X)))
        rule: Any = self._fit.rule  # of a description, CenterDraws
        values = rule.values(rows)
        score, probability = rule.decision(rows, self._limit)
        d, common = (
            self._fit.draws.of_rows(each).drop_vars("obs")
            for each in (values, rule.with_common_norm(values))
        )
        predictions = xr.Dataset(
            {
                "d": d,
                "d_common_norm": common,
                "probability_normal": ("obs", probability),
                "normal": ("obs", score >= self.offset_),
                "score": ("obs", score),
                "cutoff": self.cutoff_,
                "level": self.level_,
            },
            {"obs": row_names(X, len(rows))},
        )
        tree = self.idata_.copy()
        tree["predictions"] = predictions
        return tree

    @override
    def explain(
        self,
        X: Any,
        prob: float = 0.9,
        draws: int = 50,
        top: int = 5,
        changes: bool = True,
    ) -> explanation.Explanation:
        r"""Return why rows are abnormal: shares of columns and training rows, and what to change.

        With weights of at least 0 and an RBF or Laplacian kernel, the surprise of z is a sum of
        terms of the columns and of the concentration, exactly and for each draw,

        .. math:: -\log \sum_j w_j k(u_j, z) = \sum_f E_q[-\log k_f(u_f, z_f)] +
            \mathrm{KL}(q \,\|\, w), \qquad q_j \propto w_j k(u_j, z),

        and q are the shares of the training rows. For RBF the term of column f is
        :math:`E_q[(z_f - u_f)^2] / (2 s^2)`. Other kernels and signed weights have
        :math:`d_z^2 - D^2` as a sum of terms of training rows,
        :math:`-2 w_j (k(u_j, z) - \kappa_j)` with :math:`\kappa_j` the mean over normal rows. See
        :mod:`bsvdd.inference.explanation`, and for the change
        :mod:`bsvdd.inference.counterfactual`.

        Parameters
        ----------
        X : array-like of shape (n, p), or path of a file
            Rows inside the description are explained too.
        prob : float, default=0.9
            Probability of the equal-tailed posterior intervals.
        draws : int, default=50
            Number of draws over all chains, evenly spaced among those of the fit, that the means
            and intervals are of. The decision is by all draws.
        top : int, default=5
            Number of training rows in ``points`` and ``nearest``.
        changes : bool, default=True
            Whether to search for the smallest change that makes an abnormal row normal. It takes
            about as long as a few scores for RBF with weights of at least 0. Other kernels
            and signed weights take about .02 s for each abnormal row, Laplacian .2 s.

        Returns
        -------
        Explanation
            See :class:`bsvdd.estimators.explanation.Explanation`. ``obs`` is the index of X if X is
            a data frame, else the numbers of the rows.

        Raises
        ------
        ValueError
            The kernel is precomputed; X has another number of columns than in ``fit``, NaN or
            infinity, or no rows; prob, draws or top is out of its range.
        TypeError
            X is a dask collection.
        sklearn.exceptions.NotFittedError

        References
        ----------
        Donsker, M. D. and Varadhan, S. R. S. (1975). Asymptotic evaluation of certain Markov
        process expectations for large time, I. Communications on Pure and Applied Mathematics 28,
        1-47. doi:10.1002/cpa.3160280102

        Examples
        --------
        >>> import numpy as np, pandas as pd
        >>> from bsvdd import BSVDD
        >>> X = np.random.default_rng(0).normal(size=(99, 3))
        >>> est = BSVDD().fit(pd.DataFrame(X, columns=["a", "b", "c"]))
        >>> why = est.explain(pd.DataFrame({"a": [0.0], "b": [6.0], "c": [0.0]}, index=["odd"]))
        >>> why.top_columns(1)["column_1"].tolist()
        ['b']
        >>> str(abs(why.changes["change"]).sel(obs="odd").idxmax().item())
        'b'
        """
        check_is_fitted(self)
        if self.kernel_.pairwise:
            raise ValueError(
                "explain needs the rows, and a precomputed kernel has only kernel values: there "
                "are no columns to share the surprise, and none to change; fit with a kernel of "
                "rows such as kernels.RBF"
            )
        if is_lazy(X):
            raise TypeError(
                "X is a dask collection, but explain computes its result at once; give few rows as "
                "an array"
            )
        conformal.check_rate("prob", prob)
        for name, number in (("draws", draws), ("top", top)):
            if not (is_number(number) and int(number) == number and number >= 1):
                raise ValueError(f"{name} must be a whole number of at least 1, got {number!r}")
        rows = np.concatenate(list(self._new_rows(X)))
        rule: Any = self._fit.rule  # of a description, CenterDraws
        chains, n_draws = self._fit.draws.shape
        kept = p_values.thinned(n_draws, max(1, draws // chains))
        numbers = (np.arange(chains)[:, None] * n_draws + kept).ravel()
        names = getattr(self, "feature_names_in_", np.arange(rows.shape[1]))
        return explanation.explain(
            self._fit,
            rule.of_draws(rule.weights[numbers]),
            self._limit,
            self.idata_.children["decision"].dataset["normal"].values,
            rows,
            row_names(X, len(rows)),
            list(names),
            prob,
            top,
            changes,
        )

    def training_distance(self) -> xr.DataArray:
        """Return ``distance(X, common_norm=True)`` of the training rows, without pruning."""
        check_is_fitted(self)
        rule = self._full_rule(self._fit)
        return self._fit.draws.of_rows(rule.with_common_norm(self._fit.values))

    def p_value_draws(self, X: Any, draws: int = 100) -> xr.DataArray:
        """Return draws of the conformal p-value for each row of X: its posterior.

        In each draw, a new row and the left-out training rows are compared under the centre of
        that draw. The mean over draws is the posterior mean of the p-value, and its quantiles are
        an interval.

        Parameters
        ----------
        X : array-like of shape (n, p), or path of a file
        draws : int, default=100
            Number of draws over all chains, evenly spaced among those of the fit.

        Returns
        -------
        xarray.DataArray of dims (chain, draw, obs)

        Raises
        ------
        ValueError
            The model leaves rows out by refits only, so that a draw has no left-out rows; X as in
            ``probability_normal``.

        Examples
        --------
        >>> import numpy as np
        >>> from bsvdd import BSVDD
        >>> est = BSVDD().fit(np.random.default_rng(0).normal(size=(99, 2)))
        >>> p = est.p_value_draws([[9.0, 9.0]])
        >>> p.mean(("chain", "draw")).round(2).values
        array([0.01])
        >>> p.quantile([0.05, 0.95], ("chain", "draw")).shape
        (2, 1)
        """
        check_is_fitted(self)
        data, (chains, n_draws) = self._fit.data, self._fit.draws.shape
        loo = self._leave_one_out(data)
        if loo is None:
            raise ValueError(
                f"{self!r} leaves rows out by refits only, so there are no p-values of single "
                "draws; use p_value(X)"
            )
        kept = p_values.thinned(n_draws, max(1, draws // chains))
        numbers = (np.arange(chains)[:, None] * n_draws + kept).ravel()
        rows = np.concatenate(list(self._new_rows(X)))
        p = p_values.by_draw(
            self._full_rule(self._fit),
            data,
            lambda weights: loo.kernel_sums(weights, data)[0],
            numbers,
            rows,
        )
        return xr.DataArray(
            p.reshape(chains, len(kept), -1),
            dims=("chain", "draw", "obs"),
            coords={"chain": np.arange(chains), "draw": kept, "obs": np.arange(len(rows))},
        )


def _distances_of_rows(data: TrainingData, draws: Draws, rule: CenterDraws) -> np.ndarray:
    """Return d (draws, n) of the training rows."""
    if "Kw" not in draws.variables or not (data.all_rows and data.dictionary.points_are_rows):
        return rule.values(data.rows)
    of_points = squared_distance_of_points(
        draws.flat("Kw").copy(), rule.squared_norm, np.diag(data.gram.K)
    )
    np.sqrt(of_points, out=of_points)
    if np.array_equal(data.row_of_point, np.arange(len(data.rows))):
        return of_points
    d, others = np.empty((len(of_points), len(data.rows))), np.ones(len(data.rows), dtype=bool)
    others[data.row_of_point] = False
    d[:, data.row_of_point] = of_points
    d[:, others] = rule.values(data.rows[others])
    return d


def _log_likelihood(
    likelihood: Likelihood, draws: Draws, d: xr.DataArray, data: TrainingData
) -> xr.Dataset:
    """Return the log-likelihood of the majority rows, and of minority rows if they have terms."""
    parameters = {name: draws.variables[name] for name in parameters_of(likelihood)}
    obs, majority = np.arange(len(data.rows)), ~data.minority
    rows = d.values if majority.all() else d.values[..., majority]
    values = likelihood.pointwise(rows, **parameters)
    of_minority = getattr(likelihood, "minority_pointwise", None)
    if of_minority is None or not data.gram.n1:
        return xr.Dataset({"kernel": (d.dims, values)}, {**d.coords, "obs": obs[majority]})
    every = np.empty(d.shape)
    every[..., majority] = values
    every[..., data.minority] = of_minority(d.values[..., data.minority], **parameters)
    return xr.Dataset({"kernel": (d.dims, every)}, d.coords)


def _warn_of_rounding(data: TrainingData, d: np.ndarray) -> None:
    """Warn if kernel values are so large that distances (chains, draws, n) have few digits."""
    largest, typical = data.gram.largest, float(np.median(d[:, ::10]))  # every tenth draw
    differ = np.ptp(data.majority_rows, axis=0).any()  # else all distances are 0
    if differ and data.gram.rounding >= FEW_DIGITS * typical**2:
        warn(
            f"kernel values of up to {largest:.3g} leave few digits to distances of "
            f"{typical:.3g}; centre the columns of X, for instance by "
            "kernels.Standardized(kernel)",
            DataWarning,
        )
