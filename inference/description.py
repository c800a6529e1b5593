"""Detectors by the distance from a centre in kernel space: one centre, or a posterior of it."""

from __future__ import annotations

import copy
import functools
from dataclasses import dataclass
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any, ClassVar, Self, override

import numpy as np
import xarray as xr
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted

from ..models.geometry import squared_distance
from ..models.gram import Gram
from ..models.kernels import Kernel
from ..models.priors import Prior, StandardizedRowSum
from . import diagnostics
from .cutoff import as_cutoff
from .detector import Detector, Fit
from .distance import Center
from .sampling import SAMPLERS, sample
from .warning import DataWarning, warn

if TYPE_CHECKING:
    import pymc as pm


class Description(Detector):
    """A detector whose distance is d_z, from the centre of the majority in kernel space."""

    @override
    def _rule(self, tree: xr.DataTree, gram: Gram, kernel: Kernel) -> Center:
        posterior = tree.children["posterior"].dataset
        w = posterior["w"].values
        norm = posterior["squared_norm"].values.ravel() if "squared_norm" in posterior else None
        return Center.of(w.reshape(-1, w.shape[-1]), gram, kernel, norm)

    @override
    def _report(self, fit: Fit) -> Fit:
        fit = super()._report(fit)
        tree, obs, majority = fit.idata, np.arange(len(fit.rows)), ~fit.minority
        d = self._as_draws(tree, fit.rule.values(fit.rows))
        tree["distance"] = xr.Dataset({"d": (d.dims, d.values)}, {"obs": obs})
        scale = tree.children["posterior"].attrs.get("likelihood_scale", 1.0)
        tree["log_likelihood"] = xr.Dataset(
            {"kernel": (d.dims, -scale / 2 * d.values[..., majority] ** 2)},
            {"obs": obs[majority]},
        )
        tree["diagnostics"] = diagnostics.diagnose(tree)
        largest, middle = fit.gram.largest, float(np.median(d))
        if np.finfo(float).eps * largest * fit.gram.n_points > 1e-4 * middle**2:
            warn(
                f"kernel values of up to {largest:.3g} leave few digits to distances of "
                f"{middle:.3g}; centre the columns of X, for instance by "
                "kernels.Standardized(kernel)",
                DataWarning,
            )
        return fit

    @override
    def _training_values(self, fit: Fit) -> np.ndarray:
        d = fit.idata.children["distance"].dataset["d"].values
        return d.reshape(-1, d.shape[-1])

    @override
    def _check_cutoff(self, minority: np.ndarray) -> None:
        super()._check_cutoff(minority)
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

    def distance(self, X: Any) -> xr.DataArray:
        """Return the draws of d_z for each row of X, dims (chain, draw, obs).

        d_z is a norm in kernel space: it has no units of X, and for a kernel with k(z, z) = 1
        and weights on the simplex it lies between 0 and the root of 2.
        """
        rows = self._new_rows(X)
        return self._as_draws(self.idata_, self._fit.rule.values(rows))


@dataclass(kw_only=True, eq=False, repr=False)
class BayesianDescription(Description):
    """A description whose weights have a posterior: a PyMC model and a sampler."""

    prior: Prior = StandardizedRowSum()
    likelihood_scale: float = 1.0
    sampler: str = "auto"
    draws: int = 1000
    tune: int = 500
    chains: int = 2
    progressbar: bool = False

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **Detector._parameter_constraints,
        "likelihood_scale": [Interval(Real, 0, None, closed="neither")],
        "sampler": [StrOptions(set(SAMPLERS))],
        "draws": [Interval(Integral, 1, None, closed="left")],
        "tune": [Interval(Integral, 0, None, closed="left")],
        "chains": [Interval(Integral, 1, None, closed="left")],
        "progressbar": ["boolean"],
    }

    def _build(self, gram: Gram) -> pm.Model:
        raise NotImplementedError

    @property
    def model_(self) -> pm.Model:
        """The PyMC model of ``gram_`` and the priors, built anew at each access."""
        check_is_fitted(self)
        return self._build(self.gram_)

    @override
    def _draw(self, gram: Gram, kernel: Kernel, seed: int) -> xr.DataTree:
        model = self._build(gram)
        tree = self._sample(model, gram, seed)
        tree["posterior"].attrs["likelihood_scale"] = float(self.likelihood_scale)
        return tree

    def _sample(self, model: pm.Model, gram: Gram, seed: int) -> xr.DataTree:
        return sample(
            model,
            self.sampler,
            draws=self.draws,
            tune=self.tune,
            chains=self.chains,
            seed=seed,
            progressbar=self.progressbar,
            watch=functools.partial(_distances_of_points, gram),
        )

    @override
    def _report(self, fit: Fit) -> Fit:
        if fit.idata.children["posterior"].attrs["sampler"] != "none":
            model = self._build(fit.gram)
            fit.idata["prior"] = diagnostics.prior_support(model, fit.seed)
        fit = super()._report(fit)
        sizes = fit.idata.children["posterior"].dataset.sizes
        found = fit.idata.children["diagnostics"].dataset
        diagnostics.warn_of(found, sizes["chain"], sizes["draw"], fit.gram.n_points)
        return fit

    def with_prior(self, prior: Any = None, minority_prior: Any = None) -> Self:
        """Return the estimator fitted to the same rows with another prior.

        Kernel and Gram statistics stay; where only numbers change, so does the compiled model.

        Parameters
        ----------
        prior : prior, optional
            Of the majority's weights; the present one when left out.
        minority_prior : prior, optional
            Of the minority's weights, for models that have one.
        """
        check_is_fitted(self)
        given = {"prior": prior, "minority_prior": minority_prior}
        changes = {name: p for name, p in given.items() if p is not None}
        if not changes:
            raise ValueError("with_prior needs prior=..., minority_prior=..., or both; got neither")
        new = copy.copy(self)
        new.set_params(**changes)
        f = self._fit
        new._adopt(new._report(new._infer(f.kernel, f.rows, f.minority, f.gram, f.seed)))
        return new


def _distances_of_points(gram: Gram, named: dict[str, np.ndarray]) -> np.ndarray:
    """Return d (draws, points) of some dictionary points."""
    j = diagnostics.spread(gram.n_points)
    d2 = squared_distance(named["w"], named["squared_norm"], gram.K[j], np.diag(gram.K)[j])
    return np.sqrt(d2).T
