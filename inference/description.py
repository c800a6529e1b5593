"""Detectors by the distance from a centre in kernel space: one centre, or a posterior of it."""

from __future__ import annotations

import copy
import functools
import math
from dataclasses import dataclass, replace
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any, ClassVar, Self, override

import numpy as np
import xarray as xr
from sklearn.base import clone
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted

from ..models.geometry import squared_distance
from ..models.gram import Gram
from ..models.kernels import Kernel
from ..models.landmarks import Landmarks, as_landmarks, choose, residual
from ..models.priors import Prior, StandardizedRowSum
from . import diagnostics
from .cutoff import as_cutoff
from .detector import Detector, Fit
from .distance import Center
from .rows import Rows
from .sampling import SAMPLERS, sample
from .warning import DataWarning, warn

if TYPE_CHECKING:
    import pymc as pm

MAX_POINTS = 20_000  # of which the kernel matrix takes 3.2 GB
RESIDUAL_ROWS = 1000  # whose mean Nystroem residual is reported
LARGE_RESIDUAL = 0.5  # from which on points that were given are warned of
KEPT_ROWS = 10_000  # of each class that a fit with a dictionary holds, drawn at random


class Description(Detector):
    """A detector whose distance is d_z, from the centre of the majority in kernel space."""

    @override
    def _rule(self, tree: xr.DataTree, gram: Gram, kernel: Kernel) -> Center:
        posterior = tree.children["posterior"].dataset
        w = posterior["w"].values
        norm = posterior["squared_norm"].values.ravel() if "squared_norm" in posterior else None
        center = Center.of(w.reshape(-1, w.shape[-1]), gram, kernel, norm)
        if "pruning" in tree.children:
            kept = tree.children["pruning"].dataset["kept"].values
            center = center.restricted(np.flatnonzero(kept))
        return center

    @override
    def _report(self, fit: Fit) -> Fit:
        fit = super()._report(fit)
        tree, obs, majority = fit.idata, np.arange(len(fit.rows)), ~fit.minority
        d = self._as_draws(tree, fit.rule.values(fit.rows))
        tree["distance"] = xr.Dataset({"d": (d.dims, d.values)}, {"obs": obs})
        scale = tree.children["posterior"].attrs.get("likelihood_scale", 1.0)
        log_likelihood = np.square(d.values[..., majority])
        log_likelihood *= -scale / 2
        tree["log_likelihood"] = xr.Dataset(
            {"kernel": (d.dims, log_likelihood)}, {"obs": obs[majority]}
        )
        tree["diagnostics"] = diagnostics.diagnose(tree)
        largest, typical = fit.gram.largest, float(np.median(d.values[:, ::10]))  # of a tenth
        differ = np.ptp(fit.rows[majority], axis=0).any()  # else nothing makes distances larger
        if differ and fit.gram.rounding > 1e-4 * typical**2:
            warn(
                f"kernel values of up to {largest:.3g} leave few digits to distances of "
                f"{typical:.3g}; centre the columns of X, for instance by "
                "kernels.Standardized(kernel)",
                DataWarning,
            )
        return fit

    @override
    def _training_values(self, fit: Fit) -> np.ndarray:
        d = fit.idata.children["distance"].dataset["d"].values
        return d.reshape(-1, d.shape[-1])

    @override
    def _held(self, minority: np.ndarray, seed: int) -> np.ndarray | slice:
        n = len(minority) if self._learns_from_minority else int((~minority).sum())
        if n > MAX_POINTS:
            raise ValueError(
                f"the kernel matrix of {n} rows needs {8e-9 * n * n:.1f} GB, and up to "
                f"{MAX_POINTS} rows are taken; give a Bayesian model such as BSVDD a dictionary, "
                "dictionary=500, or fit fewer rows"
            )
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
        """
        check_is_fitted(self)
        given: Any = tolerance
        number = isinstance(given, Real) and not isinstance(given, bool)
        if not (number and 0 <= given < math.inf):
            raise ValueError(f"tolerance must be a number of at least 0, got {tolerance!r}")
        center = self._rule(self._fit.idata, self.gram_, self.kernel_)
        dropped, bound = center.negligible(float(tolerance))
        kept = np.ones(self.gram_.n_points, dtype=bool)
        kept[dropped] = False
        tree = self._fit.idata.copy()
        tree["pruning"] = xr.Dataset({"kept": ("point", kept), "bound": bound})
        rule = self._rule(tree, self.gram_, self.kernel_)
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
    dictionary: int | Landmarks | Any | None = None
    progressbar: bool = False

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **Detector._parameter_constraints,
        "likelihood_scale": [Interval(Real, 0, None, closed="neither")],
        "sampler": [StrOptions(set(SAMPLERS))],
        "draws": [Interval(Integral, 1, None, closed="left")],
        "tune": [Interval(Integral, 0, None, closed="left")],
        "chains": [Interval(Integral, 1, None, closed="left")],
        "dictionary": [
            Interval(Integral, 1, MAX_POINTS, closed="both"),
            Landmarks,
            "array-like",
            None,
        ],
        "progressbar": ["boolean"],
    }

    def _build(self, gram: Gram) -> pm.Model:
        raise NotImplementedError

    @property
    @override
    def _has_dictionary(self) -> bool:
        return self.dictionary is not None

    @override
    def _held(self, minority: np.ndarray, seed: int) -> np.ndarray | slice:
        if not self._has_dictionary:
            return super()._held(minority, seed)
        held, rng = [], np.random.default_rng(seed)
        for members in (np.flatnonzero(~minority), np.flatnonzero(minority)):
            many = len(members) > KEPT_ROWS
            held.append(rng.choice(members, KEPT_ROWS, replace=False) if many else members)
        return np.sort(np.concatenate(held))

    @override
    def _statistics(
        self,
        kernel: Kernel,
        rows: np.ndarray,
        minority: np.ndarray,
        source: Rows,
        all_minority: np.ndarray,
        seed: int,
    ) -> tuple[Gram, np.ndarray]:
        if not self._has_dictionary:
            return super()._statistics(kernel, rows, minority, source, all_minority, seed)
        points, place, n1 = self._points(kernel, rows, minority, seed)
        sums = source.sums(kernel, points, all_minority, self.progressbar)
        return Gram.from_sums(kernel, sums, points, n1), place

    def _points(
        self, kernel: Kernel, rows: np.ndarray, minority: np.ndarray, seed: int
    ) -> tuple[np.ndarray, np.ndarray, int]:
        """Return the dictionary, which of ``rows`` its points are, and how many are minority."""
        given = as_landmarks(self.dictionary)
        members = np.flatnonzero(~minority)
        if isinstance(given, Landmarks):
            landmarks = given
            points, place = choose(kernel, rows[members], landmarks, seed)
            place = np.where(place < 0, -1, members[place])
        else:
            points = given
            place, landmarks = np.full(len(points), -1), Landmarks(len(points))
            if points.shape[1] != rows.shape[1]:
                raise ValueError(
                    f"dictionary has {points.shape[1]} columns, but X has {rows.shape[1]}"
                )
        if not self._learns_from_minority:
            return points, place, 0
        members = np.flatnonzero(minority)
        ours, at = rows[members], members
        if len(members) > landmarks.n:
            ours, at = choose(kernel, ours, landmarks, seed)
            at = np.where(at < 0, -1, members[at])
        return np.concatenate([points, ours]), np.concatenate([place, at]), len(ours)

    @override
    def _fold(self, fit: Fit, train: np.ndarray) -> Gram:
        if not self._has_dictionary:
            return super()._fold(fit, train)
        stays = (fit.place < 0) | np.isin(fit.place, train)  # a left-out row is no point
        m, points = fit.gram.n_majority_points, fit.gram.points
        majority = fit.rows[train][~fit.minority[train]]
        minority = points[m:][stays[m:]]
        gram = Gram.from_rows(fit.kernel, majority, minority, points[:m][stays[:m]])
        return replace(
            gram, place=np.flatnonzero(stays[:m]), minority_place=np.flatnonzero(stays[m:])
        )

    @property
    def model_(self) -> pm.Model:
        """The PyMC model of ``gram_`` and the priors, built anew at each access."""
        check_is_fitted(self)
        return self._build(self.gram_)

    @override
    def _draw(self, gram: Gram, kernel: Kernel, seed: int) -> xr.DataTree:
        tree = self._sample(gram, seed)
        tree["posterior"].attrs["likelihood_scale"] = float(self.likelihood_scale)
        return tree

    def _draws_exactly(self, closed_form: bool) -> bool:
        """Whether the posterior is drawn from its closed form, where there is one."""
        return self.sampler == "exact" or (self.sampler == "auto" and closed_form)

    def _sample(self, gram: Gram, seed: int) -> xr.DataTree:
        return sample(
            self._build(gram),
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
        sampled = fit.idata.children["posterior"].attrs["sampler"] != "none"
        if sampled:
            model = self._build(fit.gram)
            fit.idata["prior"] = diagnostics.prior_support(model, fit.seed)
        fit = super()._report(fit)
        if self._has_dictionary:
            self._report_dictionary(fit)
        sizes = fit.idata.children["posterior"].dataset.sizes
        found = fit.idata.children["diagnostics"].dataset
        if sampled:
            diagnostics.warn_of_draws(found, sizes["chain"], sizes["draw"], fit.gram.n1)
        diagnostics.warn_of_collapse(found, fit.gram.n_points)
        return fit

    def _report_dictionary(self, fit: Fit) -> None:
        """Add the statistics, which the rows that the fit holds do not give, to ``fit.idata``."""
        gram, majority = fit.gram, fit.rows[~fit.minority]
        fit.idata["gram"] = xr.Dataset(
            {
                "points": (("point", "feature"), gram.points),
                "place": ("point", fit.place),
                "r": ("point", gram.r),
                "T": gram.T,
                "n0": gram.n0,
                "n1": gram.n1,
                "whole": fit.whole,
            }
        )
        some = majority[:: max(1, len(majority) // RESIDUAL_ROWS)]
        share = residual(fit.kernel, gram.points[: gram.n_majority_points], some)
        fit.idata["diagnostics"] = fit.idata.children["diagnostics"].dataset.assign(
            nystroem_residual=share
        )
        if share > LARGE_RESIDUAL and not isinstance(as_landmarks(self.dictionary), Landmarks):
            warn(
                f"the points given as dictionary miss a share of {share:.3g} of the rows' images "
                "(nystroem_residual), so the centre can hardly lie amid the rows; give points in "
                "the columns and the scaling of X, such as some of its rows, or dictionary=500",
                DataWarning,
            )

    def with_dictionary(self, dictionary: Any, X: Any, y: Any = None) -> Self:
        """Return the estimator fitted to the same rows with another dictionary.

        The kernel stays, with its bandwidth, and so does all else; what the number of landmarks
        changes is shown by :func:`bsvdd.inference.approximation.change`.

        Parameters
        ----------
        dictionary : int, Landmarks, array or None
            As in the constructor.
        X, y
            The rows and labels of the fit, which itself holds a sample of them at most.
        """
        check_is_fitted(self)
        new = clone(self).set_params(kernel=self.kernel_, dictionary=dictionary)
        return new.fit(X, y)

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
        tree = new._draw(f.gram, f.kernel, f.seed)
        rule = new._rule(tree, f.gram, f.kernel)
        new._adopt(new._report(replace(f, rule=rule, idata=tree, label=self._label)))
        return new


def _distances_of_points(gram: Gram, named: dict[str, np.ndarray]) -> np.ndarray:
    """Return d (draws, points) of some dictionary points."""
    j = diagnostics.spread(gram.n_points)
    d2 = squared_distance(named["w"], named["squared_norm"], gram.K[j], np.diag(gram.K)[j])
    return np.sqrt(d2).T
