"""Descriptions whose weights have a posterior, and the effect of another prior on it."""

from __future__ import annotations

import copy
import functools
import inspect
import time
from dataclasses import dataclass, replace
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any, ClassVar, Self, override

import numpy as np
import pandas as pd
import xarray as xr
from sklearn.base import clone
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted

from ..inference import diagnostics, reweighting, sampling, sensitivity, weight_summaries
from ..inference.cutoff import as_cutoff
from ..inference.draws import Draws, SamplerReport, SamplerSettings
from ..inference.scoring import CenterDraws
from ..models.closed_form import ClosedForm
from ..models.geometry import squared_distance_of_points
from ..models.gram import Gram
from ..models.landmarks import Landmarks
from ..models.potential import KernelLikelihood, Likelihood, likelihood_of
from ..models.priors import Prior, StandardizedRowSum
from ..models.priors.variable import describe
from .base import BaseDetector
from .description import DataDescription
from .dictionary import KEPT_ROWS, MAX_POINTS, Dictionary, LandmarkPoints
from .training import FitState, TrainingData

if TYPE_CHECKING:
    import pymc as pm

MAX_DRAWN = 10**9  # values of an array of draws: 8 GB


@dataclass(kw_only=True, eq=False, repr=False)
class BayesianDataDescription(DataDescription):
    """A description whose weights have a posterior: a PyMC model and a sampler.

    A subclass builds its model in ``_build``. Priors are the parameters whose names end with
    "prior". Where the posterior is known in closed form, ``_closed_form`` returns it.
    """

    prior: Prior = StandardizedRowSum()
    likelihood_scale: float = 1.0
    sampler: str = "auto"
    draws: int = 1000
    tune: int = 500
    chains: int = 2
    dictionary: int | Landmarks | Any | None = None
    progressbar: bool = False

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **BaseDetector._parameter_constraints,
        "likelihood_scale": [Interval(Real, 0, None, closed="neither")],
        "sampler": [StrOptions(set(sampling.SAMPLERS))],
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
        """Return the PyMC model of the weights ``w``."""
        raise NotImplementedError

    def _closed_form(self, gram: Gram) -> ClosedForm | None:
        """Return the posterior in closed form, or None where a sampler is needed."""
        return None

    def _model(self, gram: Gram) -> pm.Model | None:
        """Return the model that a fit samples, or None for a single estimate."""
        return self._build(gram)

    @classmethod
    def _prior_names(cls) -> list[str]:
        """Return the names of the parameters that are priors."""
        return [name for name in cls._get_param_names() if name.endswith("prior")]

    def _priors(self) -> dict[str, Any]:
        """Return the priors by the names of their parameters, that of the majority first."""
        names = sorted(self._prior_names(), key=lambda name: name != "prior")
        return {name: getattr(self, name) for name in names}

    @override
    def _dictionary(self) -> Dictionary:
        if self.dictionary is None:
            return super()._dictionary()
        return LandmarkPoints(self.dictionary, self._learns_from_minority, self.progressbar)

    @property
    def model_(self) -> pm.Model:
        """The PyMC model of ``gram_`` and the priors, built anew at each access."""
        check_is_fitted(self)
        return self._build(self.gram_)

    # from the rows to a fit

    def _settings(self, seed: int) -> SamplerSettings:
        return SamplerSettings(
            self.sampler, self.draws, self.tune, self.chains, seed, self.progressbar
        )

    @override
    def _state(self, data: TrainingData) -> FitState:
        model = self._model(data.gram)
        return self._described_by(data, self._draw(data.gram, data.seed, model), model)

    @override
    def _draw(self, gram: Gram, seed: int, model: pm.Model | None = None) -> Draws:
        self._check_draws(max(gram.n_points, min(gram.n0, KEPT_ROWS)))
        closed_form, settings = self._closed_form(gram), self._settings(seed)
        if self.sampler == "exact" or (self.sampler == "auto" and closed_form is not None):
            return self._draw_exactly(closed_form, settings)
        monitor = functools.partial(_distances_of_points, gram)
        return sampling.draw(model or self._build(gram), settings, monitor)

    def _draw_exactly(self, closed_form: ClosedForm | None, settings: SamplerSettings) -> Draws:
        if closed_form is None:
            priors = ", ".join(f"{name}={describe(p)}" for name, p in self._priors().items())
            raise TypeError(
                f"sampler='exact' needs the closed form of {type(self).__name__}, which exists "
                "for normal priors only (priors.Flat, RowSum, StandardizedRowSum, Normal, ...; "
                "priors.TruncatedNormal for the minority of BDD-M), got "
                f"{priors}; use sampler='auto' or 'nuts'"
            )
        start, rng = time.perf_counter(), np.random.default_rng(settings.seed)
        variables = closed_form.draw(settings.draws, settings.tune, settings.chains, rng)
        report = SamplerReport("exact", why=closed_form.reason, seconds=time.perf_counter() - start)
        return Draws(
            variables,
            report,
            closed_form.log_prior(variables["w"]),
            dims=closed_form.dims,
            coords={"point": np.arange(variables["w"].shape[-1])},
        )

    def _check_draws(self, n: int) -> None:
        """Raise a ValueError where draws of n weights or distances would fill the memory."""
        values = self.chains * max(self.draws, self.tune) * n
        if values > MAX_DRAWN:
            raise ValueError(
                f"draws={self.draws}, tune={self.tune} and chains={self.chains} make {values:.3g} "
                f"values of {n} points or rows, {8e-9 * values:.3g} GB, and up to {MAX_DRAWN:.0e} "
                "are taken; ask for fewer draws, or give a dictionary"
            )

    def _likelihood(self, model: pm.Model | None) -> Likelihood:
        """Return the likelihood of the model, in numbers."""
        return KernelLikelihood(self.likelihood_scale) if model is None else likelihood_of(model)

    def _described_by(self, data: TrainingData, draws: Draws, model: pm.Model | None) -> FitState:
        """Return the fit with these draws, and warn of what is wrong with them."""
        likelihood, prior = self._likelihood(model), None
        if draws.is_posterior and model is not None:
            prior = diagnostics.prior_draws(model, data.seed)
        state = self._described(data, draws, likelihood, prior)
        found = state.groups["diagnostics"]
        if draws.is_posterior:
            diagnostics.warn_of_draws(found, *draws.shape, data.gram.n1)
        diagnostics.warn_of_collapse(found, data.gram.n_points)
        attrs = {"likelihood_scale": float(self.likelihood_scale)}
        if draws.is_posterior:
            attrs |= {name: describe(prior) for name, prior in self._priors().items()}
        return replace(state, attrs=attrs)

    def with_dictionary(self, dictionary: Any, X: Any, y: Any = None) -> Self:
        """Return the estimator fitted to the same rows with another dictionary.

        The kernel stays, with its bandwidth, and so does all else; what the number of landmarks
        changes is shown by :func:`bsvdd.estimators.approximation.change`.

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

    def with_prior(self, prior: Any = None, minority_prior: Any = None, **others: Any) -> Self:
        """Return the estimator fitted to the same rows with another prior.

        Kernel and Gram statistics stay; where only numbers change, so does the compiled model.

        Parameters
        ----------
        prior : prior, optional
            Of the majority's weights; the present one when left out.
        minority_prior : prior, optional
            Of the minority's weights, for models that have one.
        **others : prior
            Further priors of the model, by the names of their parameters.

        Raises
        ------
        ValueError
            No prior is given, the model has no prior of that name, or the prior does not go with
            the rows.
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
        new, data = (
            self._with_priors(prior=prior, minority_prior=minority_prior, **others),
            self._fit.data,
        )
        new._take(new._state(data), as_cutoff(self.cutoff))
        return new

    def reweighted(self, prior: Any = None, minority_prior: Any = None, **others: Any) -> Self:
        """Return this estimator with another prior by its draws at hand; nothing is fitted.

        The draws are drawn again by importance weights, the new prior's density over that of
        the old one, smoothed by a Pareto distribution (:mod:`.reweighting`). Cutoff and all else
        follow as from a fit. ``idata_["posterior"].attrs`` has ``pareto_k``, ``ess``, the effective
        sample size, and ``r_hat``, that of the draws before.

        Parameters
        ----------
        prior, minority_prior, **others : prior, optional
            As in :meth:`with_prior`, which is right for any prior.

        Raises
        ------
        RefitNeededError
            The draws at hand do not reach where the new posterior lies (Pareto k is above 0.7, or
            there are fewer than 100 draws), or the new prior has other free variables, or makes
            other weights of the same ones, as ``Beta`` with another ``total`` does.
        """
        new, state = (
            self._with_priors(prior=prior, minority_prior=minority_prior, **others),
            self._fit,
        )
        draws, data = self._draws, state.data
        if draws.report.sampler == "reweighted":
            raise ValueError(
                "these draws are reweighted already; reweight those of the estimator that was "
                "fitted, or refit, with est.with_prior(...)"
            )
        model = new._build(data.gram)
        log_prior = new._log_prior(draws, data.gram, model)
        weights = reweighting.Weights.of(reweighting.log_ratio(log_prior, draws.log_prior))
        weights.check()
        found = state.groups["diagnostics"]
        report = SamplerReport(
            "reweighted",
            why=f"asked for; Pareto k {weights.pareto_k:.2f}",
            pareto_k=weights.pareto_k,
            r_hat=float(found["r_hat"]),
            ess=float(found["ess"]) * weights.effective,
        )
        draws = replace(draws, log_prior=log_prior, report=report)
        draws = reweighting.resampled(draws, weights, data.seed)
        new._take(new._described_by(data, draws, model), as_cutoff(self.cutoff))
        return new

    def _with_priors(self, **priors: Any) -> Self:
        check_is_fitted(self)
        changes = {name: prior for name, prior in priors.items() if prior is not None}
        names = self._prior_names()
        if not changes:
            needed = ", ".join(f"{name}=..." for name in self._priors())
            raise ValueError(f"another prior needs at least one of {needed}")
        if unknown := sorted(set(changes) - set(names)):
            raise ValueError(
                f"{type(self).__name__} has no parameter {unknown[0]!r}; its priors are "
                f"{', '.join(self._priors())}"
            )
        new = copy.copy(self)
        new.set_params(**changes)
        return new

    @property
    def _draws(self) -> Draws:
        """The draws of the fit; a ValueError for a single estimate."""
        check_is_fitted(self)
        if not self._fit.draws.is_posterior:
            raise ValueError(f"{self!r} has one estimate of the weights and no posterior")
        return self._fit.draws

    def _log_prior(
        self, draws: Draws, gram: Gram, model: pm.Model, compared: slice = slice(None)
    ) -> dict[str, np.ndarray]:
        """Return the log density of the priors in draws of a fit to ``gram``, by variable.

        Raises
        ------
        RefitNeededError
            The draws lack a free variable of the priors, or these priors make other weights of
            the same variables; of the weights, the points ``compared`` are compared.
        """
        closed_form = self._closed_form(gram)
        if closed_form is not None:
            return closed_form.log_prior(draws.w)
        from ..inference.log_density import LogDensity

        density = LogDensity(model)
        lacking = sorted(set(density.free) - set(draws.variables))
        if lacking:
            raise reweighting.RefitNeededError(
                f"the new prior has the free variable(s) {', '.join(lacking)}, of which the fit "
                "has no draws; refit, with est.with_prior(...)"
            )
        flat = {name: draws.flat(name) for name in draws.variables}
        w = density.weights(flat)[:, compared]
        if not np.allclose(w, draws.weights[:, compared], rtol=1e-6, atol=1e-9):
            raise reweighting.RefitNeededError(
                "the new prior makes other weights of the same variables, as Beta with another "
                "total does, so the draws are no draws of its weights; refit, with "
                "est.with_prior(...)"
            )
        return sampling.log_prior(density, draws)

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
        draws, state = self._draws, self._fit
        likelihood = self._likelihood(self._model(self.gram_))
        d = self.distance(X)
        return sensitivity.power_scaling(
            d,
            self.cutoff_,
            draws.log_prior,
            likelihood.total(draws.weights, self.gram_).reshape(d.shape[:2]),
            float(state.groups["diagnostics"]["ess"]),
        )

    def prior_health(self) -> pd.DataFrame:
        """Return the prior and the posterior of what tells how weights and distances spread.

        Median and 90 % interval of ``effective_support``, ``largest_weight``, ``minority_total``
        (with minority points) and ``typical_distance``, the median of d over the majority's
        training rows; see :mod:`.weight_summaries`. ``plots.plot_prior_health`` shows them.

        Returns
        -------
        pandas.DataFrame
            A row for each quantity, a column for each of (group, quantile).

        Raises
        ------
        ValueError
            The prior is improper, or there is no posterior.
        """
        return weight_summaries.table(
            {group: self.health_draws(group) for group in ("prior", "posterior")}
        )

    def health_draws(self, group: str) -> dict[str, np.ndarray]:
        """Return the draws that :meth:`prior_health` sums up, of "prior" or "posterior"."""
        data = self._fit.data
        return weight_summaries.quantities(self._center(group), data.gram.n1, data.majority_rows)

    def _center(self, group: str) -> CenterDraws:
        """Return the centre of the weights of the prior or the posterior, unpruned."""
        draws = self._draws
        if group == "posterior":
            return CenterDraws.of(draws.weights, self.gram_)
        return CenterDraws.of(weight_summaries.weights(self._fit.groups[group]), self.gram_)

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
        data = new._training_data(X, y, as_cutoff(self.cutoff))
        rows = data.rows if Z is None else new._rows_for(data.kernel, Z)
        prior = diagnostics.prior_draws(new._build(data.gram), data.seed, draws)
        w = weight_summaries.weights(prior)
        center = CenterDraws.of(w, data.gram)
        return Draws({"w": w[None]}, SamplerReport("prior")).of_rows(center.values(rows))


def _distances_of_points(gram: Gram, named: dict[str, np.ndarray]) -> np.ndarray:
    """Return d (draws, points) of some dictionary points."""
    j = diagnostics.spread(gram.n_points)
    d2 = squared_distance_of_points(named["Kw"][:, j], named["squared_norm"], np.diag(gram.K)[j])
    return np.sqrt(d2)
