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

from ..models.geometry import squared_distance_of_points
from ..models.gram import Gram
from . import diagnostics
from .cutoff import as_cutoff
from .detector import Detector, Fit
from .distance import Center
from .warning import DataWarning, warn

MAX_POINTS = 20_000  # of which the kernel matrix takes 3.2 GB


def check_size(n: int) -> None:
    """Raise a ValueError where the kernel matrix of n rows would be too large."""
    if n > MAX_POINTS:
        raise ValueError(
            f"the kernel matrix of {n} rows needs {8e-9 * n * n:.1f} GB, and up to "
            f"{MAX_POINTS} rows are taken; give a Bayesian model such as BSVDD a dictionary, "
            "dictionary=500, or fit fewer rows"
        )


class Description(Detector):
    """A detector whose distance is d_z, from the centre of the majority in kernel space."""

    @override
    def _rule(self, tree: xr.DataTree, gram: Gram) -> Center:
        posterior = tree.children["posterior"].dataset
        w = posterior["w"].values
        norm = posterior["squared_norm"].values.ravel() if "squared_norm" in posterior else None
        center = Center.of(w.reshape(-1, w.shape[-1]), gram, norm)
        if "pruning" in tree.children:
            kept = tree.children["pruning"].dataset["kept"].values
            center = center.restricted(np.flatnonzero(kept))
        return center

    @override
    def _report(self, fit: Fit) -> Fit:
        fit = super()._report(fit)
        tree, obs, majority = fit.idata, np.arange(len(fit.rows)), ~fit.minority
        d = self._as_draws(tree, self._distances_of_rows(fit))
        tree["distance"] = xr.Dataset({"d": (d.dims, d.values)}, {"obs": obs})
        scale = tree.children["posterior"].attrs.get("likelihood_scale", 1.0)
        log_likelihood = np.square(d.values if majority.all() else d.values[..., majority])
        log_likelihood *= -scale / 2
        tree["log_likelihood"] = xr.Dataset(
            {"kernel": (d.dims, log_likelihood)}, {"obs": obs[majority]}
        )
        tree["diagnostics"] = diagnostics.diagnose(tree)
        largest, typical = fit.gram.largest, float(np.median(d.values[:, ::10]))  # of a tenth
        differ = np.ptp(fit.rows[majority], axis=0).any()  # else nothing makes distances larger
        if differ and fit.gram.rounding >= 1e-4 * typical**2:
            warn(
                f"kernel values of up to {largest:.3g} leave few digits to distances of "
                f"{typical:.3g}; centre the columns of X, for instance by "
                "kernels.Standardized(kernel)",
                DataWarning,
            )
        return fit

    def _distances_of_rows(self, fit: Fit) -> np.ndarray:
        """Return d (draws, n) of the training rows; those of points by Kw, which then leaves."""
        rule: Any = fit.rule
        posterior = fit.idata.children["posterior"].dataset
        if "Kw" not in posterior:
            return rule.values(fit.rows)
        fit.idata["posterior"] = posterior.drop_vars("Kw")
        if fit.whole and not self._has_dictionary:
            Kw = posterior["Kw"].values.reshape(rule.weights.shape)
            at = squared_distance_of_points(Kw, rule.squared_norm, np.diag(fit.gram.K))
            np.sqrt(at, out=at)
            if np.array_equal(fit.place, np.arange(len(fit.rows))):
                return at
            d, others = np.empty((len(at), len(fit.rows))), np.ones(len(fit.rows), dtype=bool)
            others[fit.place] = False
            d[:, fit.place] = at
            d[:, others] = rule.values(fit.rows[others])
            return d
        return rule.values(fit.rows)

    @override
    def _training_values(self, fit: Fit) -> np.ndarray:
        d = fit.idata.children["distance"].dataset["d"].values
        return d.reshape(-1, d.shape[-1])

    @override
    def _held(self, minority: np.ndarray, seed: int) -> np.ndarray | slice:
        check_size(len(minority) if self._learns_from_minority else int((~minority).sum()))
        return slice(None)

    @override
    def _check_cutoff(self, minority: np.ndarray, whole: bool) -> None:
        super()._check_cutoff(minority, whole)
        number = as_cutoff(self.cutoff).criterion
        if not isinstance(number, str) and number < 0:
            raise ValueError(f"cutoff: a distance is at least 0, got {number!r}")

    @staticmethod
    def _as_draws(tree: xr.DataTree, d: np.ndarray) -> xr.DataArray:
        """Return distances (draws, rows) as an array with the chains of ``tree``."""
        posterior = tree.children["posterior"].dataset
        chain, draw = posterior["chain"].values, posterior["draw"].values
        return xr.DataArray(
            d.reshape(len(chain), len(draw), -1),
            dims=("chain", "draw", "obs"),
            coords={"chain": chain, "draw": draw, "obs": np.arange(d.shape[1])},
            name="d",
        )

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
        center = self._rule(self._fit.idata, self.gram_)
        dropped, bound = center.negligible(float(tolerance))
        kept = np.ones(self.gram_.n_points, dtype=bool)
        kept[dropped] = False
        tree = self._fit.idata.copy()
        tree["pruning"] = xr.Dataset({"kept": ("point", kept), "bound": bound})
        rule = self._rule(tree, self.gram_)
        new = copy.copy(self)
        new._fit, new.idata_ = replace(self._fit, rule=rule, idata=tree), tree.copy()
        new.idata_["decision"] = self.idata_.children["decision"].dataset
        return new

    @property
    def pruning_error_(self) -> float:
        """The most that any d_z of this estimator is off by pruning, see :meth:`pruned`."""
        pruning = self.idata_.children.get("pruning")
        return 0.0 if pruning is None else float(pruning.dataset["bound"])

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
        return self._as_draws(self.idata_, self._fit.rule.values(rows))
