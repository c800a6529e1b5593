"""Data descriptions with a posterior of the weights, and the effect of another prior."""

from __future__ import annotations

import copy
import functools
import inspect
import math
import time
from dataclasses import dataclass, fields, is_dataclass, replace
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any, ClassVar, Self, override

import numpy as np
import pandas as pd
import xarray as xr
from sklearn.base import clone
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted

from ..inference import diagnostics, elicitation, sampling, sensitivity, weight_summaries
from ..inference.cutoff import as_cutoff
from ..inference.draws import Draws, SamplerReport, SamplerSettings
from ..inference.scoring import CenterDraws
from ..inference.warning import DiagnosticWarning, warn
from ..models import bootstrap
from ..models.checks import is_number
from ..models.closed_form import ClosedForm
from ..models.gram import Gram
from ..models.landmarks import Landmarks
from ..models.potential import KernelLikelihood, Likelihood, likelihood_of, parameters_of
from ..models.priors import GraphLaplacian, Normal, Prior, StandardizedRowSum
from ..models.priors.variable import describe
from . import prior_swapping
from .base import BaseDetector
from .description import DataDescription
from .dictionary import KEPT_ROWS, MAX_POINTS, LandmarkPoints
from .fitting import owned
from .training import Dictionary, FitState, TrainingData

if TYPE_CHECKING:
    import pymc as pm

MAX_DRAWN = 10**9  # values in an array of draws: 8 GB


MOST_SCALE = 1e20  # above it, draws differ by less than the rounding of the weights
CALIBRATED = "calibrated"  # a likelihood_scale
AUTO = "auto"  # a dictionary: all rows, or landmarks if there are many
MANY_POINTS = 3000  # largest number of rows that are all points, unless asked for
AUTO_LANDMARKS = 500


@dataclass(kw_only=True, eq=False, repr=False)
class BayesianDataDescription(DataDescription):
    """A data description with a posterior of the weights: a PyMC model and a sampler.

    A subclass builds its model in ``_build``. The parameters whose names end with "prior" are
    priors. If the posterior has a closed form, ``_closed_form`` returns it.
    """

    prior: Prior = StandardizedRowSum()
    likelihood_scale: float | str = 1.0
    sampler: str = "auto"
    draws: int = 1000
    tune: int = 500
    chains: int = 2
    dictionary: int | Landmarks | Any | None = AUTO
    progressbar: bool = False

    _solution = ("calibrated_scale", "variance_ratio", "prior_pull")
    _calibrated_scale = 1.0  # replaced by a fit that calibrates

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **BaseDetector._parameter_constraints,
        "likelihood_scale": [Interval(Real, 0, MOST_SCALE, closed="right")],
        "sampler": [StrOptions(set(sampling.SAMPLERS))],
        "draws": [Interval(Integral, 1, None, closed="left")],
        "tune": [Interval(Integral, 0, None, closed="left")],
        "chains": [Interval(Integral, 1, None, closed="left")],
        "dictionary": [
            Interval(Integral, 1, MAX_POINTS, closed="both"),
            Landmarks,
            "array-like",
            StrOptions({AUTO}),
            None,
        ],
        "progressbar": ["boolean"],
    }

    def __repr__(self, N_CHAR_MAX: int = 700) -> str:
        """Show the priors, and the other parameters that differ from their defaults."""
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
        """Return the posterior in closed form, or None if it needs a sampler."""
        return None

    def _model(self, gram: Gram) -> pm.Model | None:
        """Return the model that a fit samples, or None for a single estimate."""
        return self._build(gram)

    @classmethod
    def _prior_names(cls) -> list[str]:
        """Return the names of the parameters that are priors."""
        return [name for name in cls._get_param_names() if name.endswith("prior")]

    def _priors(self) -> dict[str, Any]:
        """Return the priors by the names of their parameters; the majority's comes first."""
        names = sorted(self._prior_names(), key=lambda name: name != "prior")
        return {name: getattr(self, name) for name in names}

    @property
    @override
    def _takes_unlabelled(self) -> bool:
        return isinstance(self.prior, GraphLaplacian)

    @override
    def _dictionary(self, n_points: int) -> Dictionary:
        automatic = isinstance(self.dictionary, str)
        if self.dictionary is None or (
            automatic and (n_points <= MANY_POINTS or self._reason_for_all_rows() is not None)
        ):
            return super()._dictionary(n_points)
        landmarks = AUTO_LANDMARKS if automatic else self.dictionary
        return LandmarkPoints(landmarks, self._learns_from_minority, self.progressbar, automatic)

    def _reason_for_all_rows(self) -> str | None:
        """Return why landmarks cannot take the place of many rows, or None if they can."""
        if getattr(self.kernel, "pairwise", False):
            return "a precomputed kernel has no rows"
        if self.likelihood_scale == CALIBRATED:
            return "likelihood_scale='calibrated' needs every majority row as a point"
        if any(isinstance(p, Normal) and (p.m or p.sigma) for p in self._priors().values()):
            return "priors.Normal has a number for each majority row"
        return None

    # the weight of the likelihood

    def _mode(self, gram: Gram, scale: float) -> np.ndarray:
        """Return the weights at the posterior mode; for models that can be calibrated."""
        raise NotImplementedError

    def _reason_against(self, gram: Gram) -> str | None:
        """Return why lambda cannot be calibrated, or None if it can."""
        return bootstrap.reason_against(gram, self.prior)

    @property
    def _scale(self) -> float:
        """The weight of the likelihood as a number, in a fit or before it."""
        if self.likelihood_scale == CALIBRATED:
            return self._calibrated_scale
        return float(self.likelihood_scale)

    @property
    def likelihood_scale_(self) -> float:
        """The weight of the likelihood as a number; the calibrated one, if it was asked for."""
        check_is_fitted(self)
        return self._scale

    @override
    def _validate_params(self) -> None:
        super()._validate_params()
        if self.likelihood_scale == CALIBRATED and self.sampler != "auto":
            raise ValueError(
                "likelihood_scale='calibrated' has draws of the bootstrap instead of a sampler's, "
                f"so it needs sampler='auto', got {self.sampler!r}; give a number, or 'auto'"
            )

    @property
    def model_(self) -> pm.Model:
        """The PyMC model of ``gram_`` and the priors, built anew at each access."""
        check_is_fitted(self)
        return self._build(self.gram_)

    # the fit

    def _settings(self, seed: int) -> SamplerSettings:
        return SamplerSettings(
            self.sampler, self.draws, self.tune, self.chains, seed, self.progressbar
        )

    @override
    def _state(self, data: TrainingData) -> FitState:
        if self.likelihood_scale == CALIBRATED:
            return self._calibrated_state(data)
        model = self._model(data.gram)
        self._likelihood(model)  # raises an error before anything is sampled
        return self._described_by(data, self._draw(data.gram, data.seed, model), model)

    def _calibrated_state(self, data: TrainingData) -> FitState:
        """Return the fit whose draws are those of the bootstrap, or the one with lambda = 1."""
        reason = self._reason_against(data.gram)
        if reason is not None:
            warn(
                f"likelihood_scale='calibrated' cannot be used here: {reason}; the fit has "
                "likelihood_scale=1",
                DiagnosticWarning,
            )
        self._calibrated_scale = 1.0
        draws = self._draw(data.gram, data.seed)
        self._calibrated_scale = draws.solution.get("calibrated_scale", 1.0)
        return self._described_by(data, draws, self._model(data.gram))

    @override
    def _restored(self, data: TrainingData, tree: xr.DataTree) -> FitState:
        state = super()._restored(data, tree)
        self._calibrated_scale = state.draws.solution.get("calibrated_scale", 1.0)
        return state

    @override
    def _draw(self, gram: Gram, seed: int, model: pm.Model | None = None) -> Draws:
        self._check_draws(max(gram.n_points, min(gram.n0, KEPT_ROWS)))
        if self.likelihood_scale == CALIBRATED and self._reason_against(gram) is None:
            return self._draw_calibrated(gram, seed)
        closed_form, settings = self._closed_form(gram), self._settings(seed)
        if self.sampler == "exact" or (self.sampler == "auto" and closed_form is not None):
            return self._draw_exactly(closed_form, settings)
        model = model or self._build(gram)
        return sampling.draw(model, settings)

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

    def _draw_calibrated(self, gram: Gram, seed: int) -> Draws:
        """Return draws of the bootstrap, with the calibrated weight of the likelihood."""
        start, rng = time.perf_counter(), np.random.default_rng(seed)
        mode = functools.partial(self._mode, gram)
        calibrated = bootstrap.Calibrated.of(gram, mode, self._nonnegative)
        if not calibrated.pull <= bootstrap.PULL:
            warn(
                f"likelihood_scale='calibrated': with lambda = {calibrated.scale:.3g} the prior "
                f"still moves d_z^2 by {calibrated.pull:.2g} standard errors, and up to "
                f"{bootstrap.PULL} were asked for, so intervals of d_z may miss the distance from "
                "the population's centre; use another prior, or another kernel",
                DiagnosticWarning,
            )
        shape = (self.chains, self.draws)
        variables = {
            name: values.reshape(*shape, *values.shape[1:])
            for name, values in calibrated.draw(self.chains * self.draws, rng).items()
        }
        why = "likelihood_scale='calibrated'"
        return Draws(
            variables,
            SamplerReport("bootstrap", why=why, seconds=time.perf_counter() - start),
            dims={"w": ("point",)},
            coords={"point": np.arange(gram.n_points)},
            solution={
                "calibrated_scale": calibrated.scale,
                "variance_ratio": calibrated.ratio,
                "prior_pull": calibrated.pull,
            },
        )

    def _check_draws(self, n: int) -> None:
        """Raise a ValueError if draws of n weights or distances would fill the memory."""
        values = self.chains * max(self.draws, self.tune) * n
        if values > MAX_DRAWN:
            raise ValueError(
                f"draws={self.draws}, tune={self.tune} and chains={self.chains} make {values:.3g} "
                f"values for {n} points or rows, {8e-9 * values:.3g} GB, and up to {MAX_DRAWN:.0e} "
                "are accepted; use fewer draws, or a dictionary"
            )

    def _likelihood(self, model: pm.Model | None) -> Likelihood:
        """Return the likelihood of the model as a function of numbers."""
        return KernelLikelihood(self._scale) if model is None else likelihood_of(model)

    def _described_by(self, data: TrainingData, draws: Draws, model: pm.Model | None) -> FitState:
        """Return the fit with these draws, and warn if they are unreliable."""
        is_bootstrap = draws.report.sampler == "bootstrap"  # whose terms az.loo cannot use
        likelihood = None if is_bootstrap else self._likelihood(model)
        prior = None
        if draws.is_posterior and model is not None:
            prior = diagnostics.prior_draws(model, data.seed)
        state = self._described(data, draws, likelihood, prior)
        values = state.groups["diagnostics"]
        if draws.is_posterior:
            diagnostics.warn_of_draws(values, *draws.shape, data.gram.n1)
        diagnostics.warn_of_collapse(values, data.gram.n_points)
        attrs: dict[str, Any] = {"likelihood_scale": self._scale}
        if draws.is_posterior:
            attrs |= {name: describe(prior) for name, prior in self._priors().items()}
        return replace(state, attrs=attrs)

    def with_dictionary(self, dictionary: Any, X: Any, y: Any = None) -> Self:
        """Return the estimator fitted to the same rows with another dictionary.

        The kernel with its bandwidth and all other parameters stay the same. See
        :func:`bsvdd.estimators.approximation.change` for the effect of the number of landmarks.

        Parameters
        ----------
        dictionary : int, Landmarks, array or None
            As in the constructor.
        X, y
            The rows and labels of the fit, which holds at most a sample of them.
        """
        check_is_fitted(self)
        new = clone(self).set_params(kernel=self.kernel_, dictionary=dictionary)
        return new.fit(X, y)

    def with_prior(self, prior: Any = None, minority_prior: Any = None, **others: Any) -> Self:
        """Return the estimator fitted to the same rows with another prior.

        Kernel and Gram statistics are used again, and so is the compiled model if the new prior
        differs in its numbers only.

        Parameters
        ----------
        prior : prior, optional
            Prior of the majority's weights. Default: the present one.
        minority_prior : prior, optional
            Prior of the minority's weights, for models that have one. Default: the present one.
        **others : prior
            Other priors of the model, by the names of their parameters.

        Raises
        ------
        ValueError
            No prior is given, the model has no prior of that name, or the prior does not suit the
            rows.
        TypeError
            The argument is not a prior.

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
        new = self._with_priors(prior=prior, minority_prior=minority_prior, **others)
        new._finish(new._state(self._fit.data), as_cutoff(self.cutoff))
        return new

    def reweighted(self, prior: Any = None, minority_prior: Any = None, **others: Any) -> Self:
        """Return this estimator with another prior, by reweighting its draws instead of a refit.

        The draws are resampled by importance weights: the density of the new prior over that of
        the old one, smoothed by a Pareto distribution (:mod:`.reweighting`). The cutoff and all
        other results follow as in a fit. ``idata_["posterior"].attrs`` has ``pareto_k``, the
        effective sample size ``ess``, and ``r_hat`` of the original draws.

        Parameters
        ----------
        prior, minority_prior, **others : prior, optional
            As in :meth:`with_prior`, which works for any prior.

        Raises
        ------
        RefitNeededError
            The draws do not cover the new posterior (Pareto k is above 0.7, or there are fewer
            than 100 draws), or the new prior has other free variables, or makes other weights of
            the same variables, as ``Beta`` with another ``total`` does.
        ValueError
            The draws are reweighted already, or there is no posterior.
        """
        new = self._with_priors(prior=prior, minority_prior=minority_prior, **others)
        draws, data = self._posterior_draws, self._fit.data
        if draws.report.sampler == "reweighted":
            raise ValueError(
                "these draws are reweighted already; reweight the draws of the fitted estimator, "
                "or refit, with est.with_prior(...)"
            )
        model = new._build(data.gram)
        log_prior = new._log_prior(draws, data.gram, model)
        draws = prior_swapping.reweighted_draws(
            draws, log_prior, self._fit.groups["diagnostics"], data.seed
        )
        new._finish(new._described_by(data, draws, model), as_cutoff(self.cutoff))
        return new

    def _with_priors(self, **priors: Any) -> Self:
        check_is_fitted(self)
        names = list(self._priors())
        changes = prior_swapping.changed_priors(priors, names, type(self).__name__)
        new = copy.copy(self)
        own = {name: owned(prior) for name, prior in changes.items()}  # the caller may change them
        new.set_params(**own)
        return new

    @property
    def _draws(self) -> Draws:
        """The draws of the posterior; a ValueError for a single estimate."""
        check_is_fitted(self)
        if not self._fit.draws.is_posterior:
            raise ValueError(f"{self!r} has one estimate of the weights and no posterior")
        return self._fit.draws

    @property
    def _posterior_draws(self) -> Draws:
        """The draws of the posterior; a ValueError for those of the bootstrap."""
        if self._draws.report.sampler == "bootstrap":
            raise ValueError(
                "with likelihood_scale='calibrated' the draws are those of the bootstrap, and "
                "importance weights need draws of the posterior; refit with a number, such as "
                "likelihood_scale=1, or with another prior by est.with_prior(...)"
            )
        return self._draws

    def _log_prior(self, draws: Draws, gram: Gram, model: pm.Model) -> dict[str, np.ndarray]:
        """Return the log density of these priors in draws of a fit to ``gram``, by variable.

        Errors as in :func:`.prior_swapping.log_prior`.
        """
        closed_form = self._closed_form(gram)
        if closed_form is not None:
            return closed_form.log_prior(draws.w)
        return prior_swapping.log_prior(draws, model)

    def sensitivity(self, X: Any) -> pd.DataFrame:
        r"""Return the sensitivity of d_z and P(normal) to prior and likelihood, a row for each z.

        By power-scaling (:mod:`.sensitivity`): importance weights give the posterior under a
        slightly stronger or weaker prior or likelihood.

        Parameters
        ----------
        X : array-like of shape (n, p)
            The rows z. Give few rows, because each takes some milliseconds.

        Returns
        -------
        pandas.DataFrame
            ``d_prior``, ``d_likelihood``: the change of the posterior of
            ``distance(X, common_norm=True)`` by ``az.psense``, a distance between distributions per
            doubling. Values above .05 are sensitive; if only
            the prior's value is, the prior decides. ``d_prior_noise``, ``d_likelihood_noise``:
            about the value without any sensitivity. ``probability_normal``: P(normal) at
            ``cutoff_``, which is held fixed. ``probability_prior``, ``probability_likelihood``:
            :math:`\mathrm d P / \mathrm d \log_2 \alpha`, about the change of P(normal) if
            the weight of the prior or the likelihood is doubled, with the cutoff and the median of
            :math:`\|a\|^2` as they are; with standard errors (``_se``). A refit has its own
            median and chooses its own cutoff. For BDD this can change P(normal) more.
        """
        draws, state = self._posterior_draws, self._fit
        likelihood = self._likelihood(self._model(self.gram_))
        parameters = {name: draws.flat(name) for name in parameters_of(likelihood)}
        d = self.distance(X, common_norm=True)
        return sensitivity.power_scaling(
            d,
            self.cutoff_,
            draws.log_prior,
            likelihood.total(draws.weights, self.gram_, **parameters).reshape(d.shape[:2]),
            float(state.groups["diagnostics"]["ess"]),
        )

    def prior_health(self) -> pd.DataFrame:
        """Return the same summaries of weights and distances for the prior and the posterior.

        Median and 90 % interval of ``effective_support``, ``largest_weight``, ``minority_total``
        (with minority points) and ``typical_distance``, the median of d over the majority's
        training rows; see :mod:`.weight_summaries`. ``plots.plot_prior_health`` plots them.

        Returns
        -------
        pandas.DataFrame
            A row for each quantity, a column for each (group, quantile).

        Raises
        ------
        ValueError
            The prior is improper, or there is no posterior.
        """
        return weight_summaries.table(
            {group: self.health_draws(group) for group in ("prior", "posterior")}
        )

    def health_draws(self, group: str) -> dict[str, np.ndarray]:
        """Return the draws that :meth:`prior_health` summarizes, of "prior" or "posterior"."""
        data = self._fit.data
        return weight_summaries.quantities(self._center(group), data.gram.n1, data.majority_rows)

    def _center(self, group: str) -> CenterDraws:
        """Return the centre under the prior or the posterior, without pruning."""
        draws = self._draws
        if group == "posterior":
            return self._rule(draws, self.gram_)
        return CenterDraws.of(weight_summaries.weights(self._fit.groups[group]), self.gram_)

    def elicit_prior(
        self,
        X: Any,
        y: Any = None,
        *,
        effective_support: float | None = None,
        largest_weight: float | None = None,
        typical_distance: float | None = None,
        draws: int = diagnostics.PRIOR_DRAWS,
    ) -> Prior:
        """Return this estimator's prior with the numbers that imply what is stated, without a fit.

        One statement sets ``sd``. Two set ``sd`` and the prior's other number, such as ``power`` of
        ``priors.InverseRowSum``. It takes about half a second for each of 10 to 40 evaluations.

        Parameters
        ----------
        X, y
            Training rows and labels, as in ``fit``.
        effective_support : float, optional
            The prior median of the effective number of support points, above 1.
        largest_weight : float, optional
            The weight that no row exceeds in 95 % of the draws of the prior, such as 0.05.
        typical_distance : float, optional
            The prior median of the median distance of the majority rows.
        draws : int, default=200
            Of the prior; all evaluations have the same random numbers.

        Returns
        -------
        prior
            For ``est.set_params(prior=...)`` or ``est.with_prior(...)``.

        Raises
        ------
        ValueError
            Nothing is stated, or more than the prior has numbers for; no numbers give what is
            stated, and the message says the nearest that do; the prior is improper.
        TypeError
            The prior is not one of ``bsvdd.priors`` with an ``sd``.

        Examples
        --------
        >>> import numpy as np
        >>> from bsvdd import BSVDD, priors
        >>> X = np.random.default_rng(0).normal(size=(60, 2))
        >>> est = BSVDD(prior=priors.Flat())
        >>> prior = est.elicit_prior(X, largest_weight=0.05)
        >>> w = est.set_params(prior=prior).prior_weights(X)
        >>> bool(0.9 < (w.max("point") <= 0.05).mean() <= 1.0)
        True
        """
        stated = {
            "effective_support": effective_support,
            "largest_weight": largest_weight,
            "typical_distance": typical_distance,
        }
        asked = {name: value for name, value in stated.items() if value is not None}
        prior_type = type(self.prior).__name__
        if not (is_dataclass(self.prior) and hasattr(self.prior, "sd")):
            raise TypeError(
                "elicit_prior finds numbers of a prior of bsvdd.priors that has an sd, got "
                f"{describe(self.prior)}"
            )
        names = [each.name for each in fields(self.prior)]
        numbers = [number for name, number in elicitation.NUMBERS.items() if name in names]
        if not asked or len(asked) > len(numbers):
            raise ValueError(
                f"state 1 to {len(numbers)} of {', '.join(stated)}, as many as {prior_type} has "
                f"numbers ({', '.join(n.name for n in numbers)}); got {len(asked)}"
            )
        for name, value in asked.items():
            if not (is_number(value) and 0 < value < math.inf):
                raise ValueError(f"{name} must be a positive number, got {value!r}")
        present: Any = self.prior  # a dataclass, as it has numbers
        new = clone(self)
        data = new._training_data(X, y, as_cutoff(self.cutoff))

        def quantities(values: dict[str, float]) -> dict[str, np.ndarray]:
            center = new._prior_center(replace(present, **values), data, draws)
            return weight_summaries.quantities(center, data.gram.n1, data.majority_rows)

        found = elicitation.solve(quantities, numbers[: len(asked)], asked, prior_type)
        prior: Prior = replace(present, **found)
        return prior

    def _prior_center(self, prior: Prior, data: TrainingData, draws: int) -> CenterDraws:
        """Return draws of the centre from ``prior``."""
        model = copy.copy(self).set_params(prior=prior)._build(data.gram)
        drawn = diagnostics.prior_draws(model, data.seed, draws)
        return CenterDraws.of(weight_summaries.weights(drawn), data.gram)

    def prior_weights(
        self, X: Any, y: Any = None, draws: int = diagnostics.PRIOR_DRAWS
    ) -> xr.DataArray:
        """Return draws of the weights from the prior, dims (chain, draw, point), without a fit.

        Parameters
        ----------
        X, y
            Training rows and labels, as in ``fit``.
        draws : int, default=200

        Raises
        ------
        ValueError
            The prior is improper.

        Examples
        --------
        >>> import numpy as np
        >>> from bsvdd import BSVDD
        >>> w = BSVDD().prior_weights(np.random.default_rng(0).normal(size=(50, 2)))
        >>> w.dims, bool(np.allclose(w.sum("point"), 1.0))
        (('chain', 'draw', 'point'), True)
        """
        new = clone(self)
        data = new._training_data(X, y, as_cutoff(self.cutoff))
        prior = diagnostics.prior_draws(new._build(data.gram), data.seed, draws)
        weight_summaries.weights(prior)  # an error for an improper prior
        return prior["w"]

    def prior_distance(
        self, X: Any, y: Any = None, Z: Any = None, draws: int = diagnostics.PRIOR_DRAWS
    ) -> xr.DataArray:
        """Return draws of d_z from the prior, dims (chain, draw, obs), without a fit.

        Parameters
        ----------
        X, y
            Training rows and labels, as in ``fit``.
        Z : array-like of shape (m, p), optional
            The rows z. Default: the training rows.
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
