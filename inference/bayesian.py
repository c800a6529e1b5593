"""Descriptions whose weights have a posterior, and what another prior makes of it."""

from __future__ import annotations

import copy
import functools
import inspect
from dataclasses import dataclass, replace
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any, ClassVar, Self, override

import numpy as np
import pandas as pd
import xarray as xr
from sklearn.base import clone
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted

from ..models.geometry import potential, squared_distance_of_points
from ..models.gram import Gram
from ..models.kernels import Kernel
from ..models.landmarks import Landmarks, as_landmarks, choose, residual
from ..models.priors import Prior, StandardizedRowSum
from ..models.variable import describe
from . import diagnostics, health, reweighting, sensitivity
from .description import MAX_POINTS, Description
from .detector import Detector, Fit
from .distance import Center
from .rows import Rows
from .sampling import SAMPLERS, by_name, log_prior, sample
from .warning import DataWarning, warn

if TYPE_CHECKING:
    import pymc as pm

RESIDUAL_ROWS = 1000  # whose mean Nystroem residual is reported
LARGE_RESIDUAL = 0.5  # from which on points that were given are warned of
MAX_DRAWN = 10**9  # values of an array of draws: 8 GB
KEPT_ROWS = 10_000  # of each class that a fit with a dictionary holds, drawn at random


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

    def __repr__(self, N_CHAR_MAX: int = 700) -> str:
        """Show the priors, and what other parameters are not the defaults."""
        defaults, priors = inspect.signature(type(self)).parameters, self._priors()
        shown = {
            name: describe(value) if name in priors else repr(value)
            for name, value in self.get_params(deep=False).items()
            if name in priors or repr(value) != repr(defaults[name].default)
        }
        return f"{type(self).__name__}({', '.join(f'{k}={v}' for k, v in shown.items())})"

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
    def _draw(self, gram: Gram, seed: int) -> xr.DataTree:
        self._check_draws(max(gram.n_points, min(gram.n0, KEPT_ROWS)))
        tree = self._sample(gram, seed)
        attrs = tree["posterior"].attrs
        attrs["likelihood_scale"] = float(self.likelihood_scale)
        attrs.update({name: describe(prior) for name, prior in self._priors().items()})
        return tree

    def _check_draws(self, n: int) -> None:
        """Raise a ValueError where draws of n weights or distances would fill the memory."""
        values = self.chains * max(self.draws, self.tune) * n
        if values > MAX_DRAWN:
            raise ValueError(
                f"draws={self.draws}, tune={self.tune} and chains={self.chains} make {values:.3g} "
                f"values of {n} points or rows, {8e-9 * values:.3g} GB, and up to {MAX_DRAWN:.0e} "
                "are taken; ask for fewer draws, or give a dictionary"
            )

    def _priors(self) -> dict[str, Any]:
        """Return the priors by the names of their parameters."""
        names = ("prior", "minority_prior")
        return {name: getattr(self, name) for name in names if hasattr(self, name)}

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
            fit.idata["prior"] = diagnostics.prior_draws(model, fit.seed)
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

        Raises
        ------
        ValueError
            Neither is given, or the prior does not go with the rows.
        TypeError
            It is no prior.

        Examples
        --------
        >>> import numpy as np
        >>> from bsvdd import BDD, priors
        >>> X = np.random.default_rng(0).normal(size=(50, 2))
        >>> est = BDD().fit(X)
        >>> other = est.with_prior(priors.Flat(sd=0.5))
        >>> other.prior, other.kernel_ == est.kernel_
        (Flat(sd=0.5), True)
        """
        new = self._with_priors(prior, minority_prior)
        return new._adopt_draws(new._draw(self.gram_, self._fit.seed))

    def reweighted(self, prior: Any = None, minority_prior: Any = None) -> Self:
        """Return this estimator with another prior by its draws at hand; nothing is fitted.

        The draws are drawn again by importance weights, the new prior's density over that of
        the old one, smoothed by a Pareto distribution (:mod:`.reweighting`). Cutoff and all else
        follow as from a fit. ``idata_["posterior"].attrs`` has ``pareto_k``, ``ess``, the effective
        sample size, and ``r_hat``, that of the draws before.

        Parameters
        ----------
        prior, minority_prior : prior, optional
            As in :meth:`with_prior`, which is right for any prior.

        Raises
        ------
        RefitNeededError
            The draws at hand do not reach where the new posterior lies (Pareto k is above 0.7, or
            there are fewer than 100 draws), or the new prior has other free variables, or makes
            other weights of the same ones, as ``Beta`` with another ``total`` does.
        """
        new = self._with_priors(prior, minority_prior)
        posterior, fit = self._posterior, self._fit
        if posterior.attrs["sampler"] == "reweighted":
            raise ValueError(
                "these draws are reweighted already; reweight those of the estimator that was "
                "fitted, or refit, with est.with_prior(...)"
            )
        old = fit.idata.children["log_prior"].dataset
        now = new._log_prior(posterior, fit.gram)
        weights = reweighting.Weights.of(reweighting.log_ratio(now, old))
        weights.check()
        groups = {"posterior": posterior, "log_prior": now}
        if "sample_stats" in fit.idata.children:  # divergent transitions stay marked
            groups["sample_stats"] = fit.idata.children["sample_stats"].dataset
        tree = xr.DataTree.from_dict(
            {name: reweighting.resampled(g, weights, fit.seed) for name, g in groups.items()}
        )
        found = self.idata_.children["diagnostics"].dataset
        tree["posterior"].attrs = {
            "likelihood_scale": posterior.attrs["likelihood_scale"],
            "sampler": "reweighted",
            "why": f"asked for; Pareto k {weights.pareto_k:.2f}",
            "pareto_k": weights.pareto_k,
            "r_hat": float(found["r_hat"]),
            "ess": float(found["ess"]) * weights.effective,
            **{name: describe(p) for name, p in new._priors().items()},
        }
        return new._adopt_draws(tree)

    def _with_priors(self, prior: Any, minority_prior: Any) -> Self:
        check_is_fitted(self)
        given = {"prior": prior, "minority_prior": minority_prior}
        changes = {name: p for name, p in given.items() if p is not None}
        if not changes:
            raise ValueError("another prior needs prior=..., minority_prior=..., or both")
        new = copy.copy(self)
        new.set_params(**changes)
        return new

    def _adopt_draws(self, tree: xr.DataTree) -> Self:
        """Take the draws in ``tree`` for this copy of a fitted estimator."""
        f = self._fit
        rule = self._rule(tree, f.gram)
        self._adopt(self._report(replace(f, rule=rule, idata=tree, label=self._label)))
        return self

    @property
    def _posterior(self) -> xr.Dataset:
        """The draws of the fit."""
        check_is_fitted(self)
        posterior = self._fit.idata.children["posterior"].dataset
        if posterior.attrs["sampler"] == "none":
            raise ValueError(f"{self!r} has one estimate of the weights and no posterior")
        return posterior

    def _log_prior(
        self, posterior: xr.Dataset, gram: Gram, part: slice = slice(None)
    ) -> xr.Dataset:
        """Return the log density of the priors in draws of a fit to ``gram``.

        Raises
        ------
        RefitNeededError
            The draws lack a free variable of the priors, or these make other weights of them; of
            the weights, ``part`` is compared.
        """
        from .compilation import Density

        density = Density(self._build(gram))
        lacking = set(density.free) - set(map(str, posterior.data_vars))
        if lacking:
            raise reweighting.RefitNeededError(
                f"the new prior has the free variable(s) {', '.join(sorted(lacking))}, of which "
                "the fit has no draws; refit, with est.with_prior(...)"
            )
        w = density.weights(by_name(posterior))
        given = posterior["w"].values.reshape(w.shape)
        if not np.allclose(w[:, part], given[:, part], rtol=1e-6, atol=1e-9):
            raise reweighting.RefitNeededError(
                "the new prior makes other weights of the same variables, as Beta with another "
                "total does, so the draws at hand are none of its weights; refit, with "
                "est.with_prior(...)"
            )
        return log_prior(density, posterior)

    def sensitivity(self, X: Any) -> pd.DataFrame:
        r"""Return how much the prior and the data weigh in d_z and P(normal), a row for each z.

        By power-scaling (:mod:`.sensitivity`): the posterior with a little more or less of the
        prior, or of the likelihood, by importance weights.

        Parameters
        ----------
        X : array-like of shape (n, p)
            The rows z; a few, as each takes some milliseconds.

        Returns
        -------
        pandas.DataFrame
            ``d_prior``, ``d_likelihood``: how far the posterior of d_z moves, by ``az.psense``
            (a distance between distributions for each doubling); above .05 is sensitive, and
            sensitive to the prior but not to the likelihood means that the prior decides.
            ``probability_normal`` at ``cutoff_``, which is held, and ``probability_prior``,
            ``probability_likelihood``: :math:`\mathrm d P / \mathrm d \log_2 \alpha`, about
            what a doubling of the prior's or the likelihood's weight adds to it.
        """
        posterior = self._posterior
        scale, w = posterior.attrs["likelihood_scale"], health.weights(posterior)
        ess = float(self.idata_.children["diagnostics"].dataset["ess"])
        d = self.distance(X)
        return sensitivity.power_scaling(
            d,
            self.cutoff_,
            self._fit.idata.children["log_prior"].dataset,
            potential(w, self.gram_, scale).reshape(d.shape[:2]),
            ess,
        )

    def prior_health(self) -> pd.DataFrame:
        """Return the prior and the posterior of what tells how weights and distances spread.

        Median and 90 % interval of ``effective_support``, ``largest_weight``, ``minority_total``
        (with minority points) and ``typical_distance``, the median of d over the majority's
        training rows; see :mod:`.health`. ``plots.plot_prior_health`` shows them.

        Returns
        -------
        pandas.DataFrame
            A row for each quantity, a column for each of (group, quantile).

        Raises
        ------
        ValueError
            The prior is improper, or there is no posterior.
        """
        return health.table({group: self.health_draws(group) for group in ("prior", "posterior")})

    def health_draws(self, group: str) -> dict[str, np.ndarray]:
        """Return the draws of what :meth:`prior_health` sums up, of "prior" or "posterior"."""
        fit, center = self._fit, self._center(group)
        return health.quantities(center, fit.gram.n1, fit.rows[~fit.minority])

    def _center(self, group: str) -> Center:
        """Return the centre of the weights in the ``prior`` or ``posterior`` group, unpruned."""
        posterior = self._posterior
        draws = posterior if group == "posterior" else self._fit.idata[group].dataset
        return Center.of(health.weights(draws), self.gram_)

    def prior_distance(
        self, X: Any, y: Any = None, Z: Any = None, draws: int = diagnostics.PRIOR_DRAWS
    ) -> xr.DataArray:
        """Return draws of d_z from the prior, dims (chain, draw, obs); nothing is fitted.

        Parameters
        ----------
        X, y
            Training rows and labels, as in ``fit``.
        Z : array-like of shape (m, p), optional
            The rows z; the training rows when left out.
        draws : int, default=200

        Raises
        ------
        ValueError
            The prior is improper.
        """
        new = clone(self)
        training = new._training(X, y)
        rows = training.rows if Z is None else new._rows_of(Z, training.kernel)
        prior = diagnostics.prior_draws(new._build(training.gram), training.seed, draws)
        center = Center.of(health.weights(prior), training.gram)
        return new._as_draws(xr.DataTree.from_dict({"posterior": prior}), center.values(rows))


def _distances_of_points(gram: Gram, named: dict[str, np.ndarray]) -> np.ndarray:
    """Return d (draws, points) of some dictionary points."""
    j = diagnostics.spread(gram.n_points)
    d2 = squared_distance_of_points(named["Kw"][:, j], named["squared_norm"], np.diag(gram.K)[j])
    return np.sqrt(d2)
