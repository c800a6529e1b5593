"""Detectors by the distance from a centre in kernel space: one centre, or a posterior of it."""

from __future__ import annotations

import copy
import math
from dataclasses import replace
from numbers import Real
from typing import Any, Self, override

import numpy as np
import xarray as xr
from sklearn.utils.validation import check_is_fitted

from ..inference import diagnostics
from ..inference.cutoff import Cutoff
from ..inference.draws import Draws
from ..inference.scoring import CenterDraws
from ..inference.warning import DataWarning, warn
from ..models.geometry import squared_distance_of_points
from ..models.gram import Gram
from ..models.potential import KernelLikelihood, Likelihood
from .base import BaseDetector
from .leave_out import LeaveOneOut, Renormalized
from .training import FitState, TrainingData

FEW_DIGITS = 1e-4  # of a squared distance: rounding from which on distances have few digits


class DataDescription(BaseDetector):
    """A detector whose distance is d_z, from the centre of the majority in kernel space."""

    @override
    def _rule(self, draws: Draws, gram: Gram) -> CenterDraws:
        norm = draws.flat("squared_norm") if "squared_norm" in draws.variables else None
        return CenterDraws.of(draws.weights, gram, norm)

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
        likelihood: Likelihood,
        prior: xr.Dataset | None = None,
    ) -> FitState:
        """Return the fit with these draws: distances of the rows, log-likelihood, diagnostics."""
        rule = self._rule(draws, data.gram)
        values = _distances_of_rows(data, draws, rule)
        draws = draws.without("Kw")  # the distances of the points have been made of it
        d, obs = draws.of_rows(values), np.arange(len(data.rows))
        majority = ~data.minority
        pointwise = likelihood.pointwise(d.values if majority.all() else d.values[..., majority])
        found = diagnostics.diagnose(draws, d.values, prior)
        groups = {
            "distance": xr.Dataset({"d": (d.dims, d.values)}, {"obs": obs}),
            "log_likelihood": xr.Dataset({"kernel": (d.dims, pointwise)}, {"obs": obs[majority]}),
            "diagnostics": found,
        }
        if prior is not None:
            groups["prior"] = prior
        for name, group in data.dictionary.report(data).items():
            groups[name] = groups[name].merge(group) if name in groups else group
        _warn_of_rounding(data, d.values)
        return FitState(data=data, draws=draws, rule=rule, values=values, groups=groups)

    @override
    def _restored(self, data: TrainingData, tree: xr.DataTree) -> FitState:
        draws = Draws.from_tree(tree, self._solution)
        rule = self._rule(draws, data.gram)
        if "pruning" in tree.children:
            kept = tree.children["pruning"].dataset["kept"].values
            rule = rule.restricted(np.flatnonzero(kept))
        names = ("prior", "distance", "log_likelihood", "diagnostics", "gram", "pruning")
        groups = {n: tree.children[n].to_dataset() for n in names if n in tree.children}
        d = groups["distance"]["d"].values
        attrs = tree.children["posterior"].attrs
        known = {*draws.report.attrs(), *draws.solution}
        return FitState(
            data=data,
            draws=draws,
            rule=rule,
            values=d.reshape(-1, d.shape[-1]),
            groups=groups,
            attrs={name: value for name, value in attrs.items() if name not in known},
        )

    @override
    def _check_policy(self, policy: Cutoff) -> None:
        super()._check_policy(policy)
        number = policy.criterion
        if not isinstance(number, str) and number < 0:
            raise ValueError(f"cutoff: a distance is at least 0, got {number!r}")

    def pruned(self, tolerance: float) -> Self:
        r"""Return this fitted estimator with fewer points to score by, so that it scores faster.

        Points leave the dictionary, those of the least weight first, as long as in every draw

        .. math:: |d_z - \tilde d_z| \le \|a - \tilde a\| \le
            \sum_{j \text{ dropped}} |w_j| \sqrt{k_{jj}} \le \text{tolerance}

        with :math:`\tilde d_z` the distance from the centre :math:`\tilde a` of the points kept,
        by the triangle inequality: no row's distance changes by more, wherever it lies.
        ``support_`` says which points are kept and ``pruning_error_`` the sum that was reached.

        Only scoring is by fewer points. The cutoff stays, and so does all that ``idata_`` says of
        the posterior and of the training rows, by which ``with_cutoff`` chooses as before
        pruning; ``with_prior`` fits anew and prunes nothing. A point whose
        weight is 0 in all draws, as most have in SVDD, is never used, with or without pruning.

        Parameters
        ----------
        tolerance : float
            At least 0, on the scale of d_z. What it saves depends on the posterior: weights
            spread over all points leave little to drop.

        Raises
        ------
        ValueError
            The tolerance is no number of at least 0.
        """
        check_is_fitted(self)
        given: Any = tolerance
        number = isinstance(given, Real) and not isinstance(given, bool)
        if not (number and 0 <= given < math.inf):
            raise ValueError(f"tolerance must be a number of at least 0, got {tolerance!r}")
        state = self._fit
        center = self._rule(state.draws, state.data.gram)
        dropped, bound = center.negligible(float(tolerance))
        kept = np.ones(state.data.gram.n_points, dtype=bool)
        kept[dropped] = False
        pruning = xr.Dataset({"kept": ("point", kept), "bound": bound})
        new = copy.copy(self)
        new._fit = replace(
            state,
            rule=center.restricted(np.flatnonzero(kept)),
            groups={**state.groups, "pruning": pruning},
        )
        new.idata_ = self.idata_.copy()
        new.idata_["pruning"] = pruning
        return new

    @property
    def pruning_error_(self) -> float:
        """The most that any d_z of this estimator is off by pruning, see :meth:`pruned`."""
        pruning = self._fit.groups.get("pruning")
        return 0.0 if pruning is None else float(pruning["bound"])

    def distance(self, X: Any) -> xr.DataArray:
        """Return the draws of d_z for each row of X.

        Parameters
        ----------
        X : array-like of shape (n, p), or path of a file

        Returns
        -------
        xarray.DataArray of dims (chain, draw, obs)
            d_z is a norm in kernel space: it has no units of X, and for a kernel with k(z, z) = 1
            and weights on the simplex it lies between 0 and the root of 2.

        Raises
        ------
        ValueError
            Another number of columns than in ``fit``, NaN or infinity.
        """
        rows = self._new_rows(X)
        return self._fit.draws.of_rows(self._fit.rule.values(rows))


def _distances_of_rows(data: TrainingData, draws: Draws, rule: CenterDraws) -> np.ndarray:
    """Return d (draws, n) of the training rows; those of points are made of Kw, in its place."""
    if "Kw" not in draws.variables or not (data.all_rows and data.dictionary.points_are_rows):
        return rule.values(data.rows)
    at = squared_distance_of_points(draws.flat("Kw"), rule.squared_norm, np.diag(data.gram.K))
    np.sqrt(at, out=at)
    if np.array_equal(data.row_of_point, np.arange(len(data.rows))):
        return at
    d, others = np.empty((len(at), len(data.rows))), np.ones(len(data.rows), dtype=bool)
    others[data.row_of_point] = False
    d[:, data.row_of_point] = at
    d[:, others] = rule.values(data.rows[others])
    return d


def _warn_of_rounding(data: TrainingData, d: np.ndarray) -> None:
    """Warn of kernel values so large that distances (chains, draws, n) have few digits."""
    largest, typical = data.gram.largest, float(np.median(d[:, ::10]))  # of a tenth of the draws
    differ = np.ptp(data.majority_rows, axis=0).any()  # else distances are 0, whatever the kernel
    if differ and data.gram.rounding >= FEW_DIGITS * typical**2:
        warn(
            f"kernel values of up to {largest:.3g} leave few digits to distances of "
            f"{typical:.3g}; centre the columns of X, for instance by "
            "kernels.Standardized(kernel)",
            DataWarning,
        )
