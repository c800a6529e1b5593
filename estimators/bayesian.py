"""Descriptions with a posterior of the weights, and the effect of another prior."""

from __future__ import annotations

import copy
import inspect
import time
from dataclasses import dataclass, replace
from functools import partial
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any, ClassVar, Self, override

import numpy as np
import pandas as pd
import xarray as xr
from sklearn.base import clone
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted

from ..inference import diagnostics, sampling
from ..inference.center import Center
from ..inference.density import PRIOR_DRAWS, LazyPrior, prior_draws, proper
from ..inference.draws import Draws, SamplerReport, SamplerSettings
from ..inference.warning import DiagnosticWarning, warn
from ..models import calibration
from ..models.gram import Gram
from ..models.landmarks import Landmarks
from ..models.potential import ClosedForm, likelihood_of
from ..models.priors import Normal, Prior, StandardizedRowSum
from ..models.priors.base import describe
from . import inputs
from .detector import Detector, owned
from .fit import Fit
from .questions import elicitation, summary
from .training import KEPT_ROWS, MAX_POINTS, Dictionary, LandmarkPoints, TrainingData

if TYPE_CHECKING:
    import pymc as pm

MAX_DRAWN = 10**9  # values in an array of draws: 8 GB
MOST_SCALE = 1e20  # above it, draws differ by less than the rounding of the weights
CALIBRATED = "calibrated"  # a likelihood_scale
SCALE = [Interval(Real, 0, MOST_SCALE, closed="right")]
SCALE_OR_CALIBRATED = [*SCALE, StrOptions({CALIBRATED})]
AUTO = "auto"  # a dictionary: all rows, or landmarks if there are many
MANY_POINTS = 3000  # largest number of rows that are all points, unless asked for
AUTO_LANDMARKS = 500


@dataclass(kw_only=True, eq=False, repr=False)
class Bayesian(Detector):
    """A description with a posterior of the weights: a PyMC model and a sampler.

    A subclass builds its model in ``_build``. The parameters whose names end with "prior" are
    priors. If the posterior has a closed form, ``_closed_form`` returns it.

    Attributes
    ----------
    model_ : pymc.Model
        The model of ``gram_`` and the priors, built anew at each access.
    likelihood_scale_ : float
        lambda, the weight of the likelihood: the number that was given, or the calibrated one.
    """

    prior: Prior = StandardizedRowSum()
    likelihood_scale: float | str = 1.0
    sampler: str = "auto"
    draws: int = 1000
    tune: int = 500
    chains: int = 2
    dictionary: int | Landmarks | Any | None = AUTO
    progressbar: bool = False

    _calibrated_scale = 0.0  # lambda of the rows that were read; 0 if a number was given
    _on_simplex: ClassVar[bool] = True  # whether lambda is calibrated for weights on the simplex

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **Detector._parameter_constraints,
        "likelihood_scale": SCALE,
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

    # hooks of the models

    def _build(self, gram: Gram) -> pm.Model:
        """Return the PyMC model of the weights ``w``."""
        raise NotImplementedError

    def _closed_form(self, gram: Gram) -> ClosedForm | None:
        """Return the posterior in closed form, or None if it needs a sampler."""
        return None

    @property
    def _one_estimate(self) -> bool:
        """Whether there is one estimate of the weights and no posterior."""
        return False

    def _priors(self) -> dict[str, Any]:
        """Return the priors by the names of their parameters; the majority's comes first."""
        names = [name for name in self._get_param_names() if name.endswith("prior")]
        return {name: getattr(self, name) for name in sorted(names, key=lambda n: n != "prior")}

    # the points of the centre

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
        if any(isinstance(p, Normal) and (p.m or p.sigma) for p in self._priors().values()):
            return "priors.Normal has a number for each majority row"
        return None

    # the weight of the likelihood

    @property
    def _scale(self) -> float:
        """The weight of the likelihood as a number, for the rows that were read."""
        if self.likelihood_scale != CALIBRATED:
            return float(self.likelihood_scale)
        return self._calibrated_scale

    @override
    def _learn(self, gram: Gram, data: TrainingData) -> None:
        self._calibrated_scale = 0.0
        if self.likelihood_scale != CALIBRATED:
            return
        rows = is_point = None
        if not data.dictionary.points_are_rows:
            majority = np.flatnonzero(~data.minority)
            rows, is_point = data.rows[majority], np.isin(majority, data.row_of_point)
        found = calibration.calibrated(gram, rows, is_point, self._on_simplex)
        if found.reason is not None:
            warn(
                f"likelihood_scale='calibrated': {found.reason}, so lambda is {found.scale:.3g}, "
                "and intervals of d_z need not have the width that samples of this size have; to "
                "choose it yourself, give a number, such as likelihood_scale=1",
                DiagnosticWarning,
            )
        self._calibrated_scale = found.scale

    @property
    def likelihood_scale_(self) -> float:
        """lambda, the weight of the likelihood: the number that was given, or the calibrated."""
        check_is_fitted(self)
        scale: float = self.fit_.attrs["likelihood_scale"]
        return scale

    @property
    def model_(self) -> pm.Model:
        """The PyMC model of ``gram_`` and the priors, built anew at each access."""
        check_is_fitted(self)
        return self._build(self.gram_)

    # the draws

    @override
    def _draw(self, gram: Gram, seed: int) -> Draws:
        self._check_draws(max(gram.n_points, min(gram.n0, KEPT_ROWS)))
        closed_form = self._closed_form(gram)
        settings = SamplerSettings(
            self.sampler, self.draws, self.tune, self.chains, seed, self.progressbar
        )
        if self.sampler == "exact" or (self.sampler == "auto" and closed_form is not None):
            return self._draw_exactly(closed_form, settings)
        model = self._build(gram)
        likelihood_of(model)  # an error before anything is sampled
        return sampling.draw(model, settings)

    def _draw_exactly(self, closed_form: ClosedForm | None, settings: SamplerSettings) -> Draws:
        if closed_form is None:
            priors = ", ".join(f"{name}={describe(p)}" for name, p in self._priors().items())
            raise TypeError(
                f"sampler='exact' needs the closed form of {type(self).__name__}, which exists "
                "for normal priors only (priors.Flat, RowSum, StandardizedRowSum, Normal, ...), "
                f"got {priors}; use sampler='auto' or 'nuts'"
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
        """Raise a ValueError if draws of n weights or distances would fill the memory."""
        values = self.chains * max(self.draws, self.tune) * n
        if values > MAX_DRAWN:
            raise ValueError(
                f"draws={self.draws}, tune={self.tune} and chains={self.chains} make {values:.3g} "
                f"values for {n} points or rows, {8e-9 * values:.3g} GB, and up to {MAX_DRAWN:.0e} "
                "are accepted; use fewer draws, or a dictionary"
            )

    # what the fit says of the draws

    @override
    def _model_of(self, data: TrainingData) -> dict[str, Any]:
        if self._one_estimate:
            return {"attrs": {"likelihood_scale": self._scale}}
        own = copy.copy(self)  # with these parameters, whatever becomes of the estimator
        own.__dict__ = self.get_params(deep=False) | {"_calibrated_scale": self._calibrated_scale}
        priors = {name: describe(prior) for name, prior in self._priors().items()}
        return {
            "prior": LazyPrior(partial(own._build, data.gram), data.seed),
            "attrs": {"likelihood_scale": self._scale, **priors},
        }

    @override
    def _warn_of(self, fit: Fit) -> None:
        if not self._one_estimate:
            diagnostics.warn_of_draws(fit.diagnostics, *fit.draws.shape, fit.data.gram.n1)
        support = (lambda: np.nan) if fit.prior is None else fit.prior.effective_support
        diagnostics.warn_of_collapse(fit.diagnostics, fit.data.gram.n_points, support)
        # with minority rows a large lambda would switch the labels off, which is worse
        lazy = None if self._learns_from_minority else fit.prior
        if lazy is not None and (prior := lazy.draws) is not None:
            rows = summary.near_rows(fit, self._leaves_out == "rescaled")
            ratio = summary.variance_ratio(rows, fit.draws.weights, prior.weights)
            diagnostics.warn_of_prior(ratio, self.likelihood_scale == CALIBRATED)
        super()._warn_of(fit)

    # another prior

    def with_prior(self, prior: Any = None, minority_prior: Any = None, **others: Any) -> Self:
        """Return the estimator fitted to the same rows with another prior.

        Kernel and Gram statistics are used again.

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
        check_is_fitted(self)
        priors = {"prior": prior, "minority_prior": minority_prior, **others}
        changes = {name: owned(value) for name, value in priors.items() if value is not None}
        names = list(self._priors())
        if not changes:
            needed = ", ".join(f"{name}=..." for name in names)
            raise ValueError(f"another prior needs at least one of {needed}")
        if unknown := sorted(set(changes) - set(names)):
            raise ValueError(
                f"{type(self).__name__} has no parameter {unknown[0]!r}; its priors are "
                f"{', '.join(names)}"
            )
        new, data = copy.copy(self).set_params(**changes), self.fit_.data
        if not new._calibrated_scale:  # that of other settings was a number
            new._learn(data.gram, data)
        return new._described(data, new._draw(data.gram, data.seed))

    # what the prior says

    def summary(self) -> pd.DataFrame:
        """Return what the posterior is worth: a short table of numbers.

        Median of the prior, median and 90 % interval of the posterior of ``effective_support``,
        ``largest_weight``, ``minority_total`` (with minority points), ``squared_norm`` of the
        centre, ``typical_distance`` (the median of d over the majority's training rows) and
        ``radius`` (if there is one), which are variables of ``idata_`` too; and one number for
        ``variance_ratio`` (1: the posterior is its prior), ``spread`` (1: as wide as samples of
        this size vary), ``pull`` of the prior in posterior sd, ``r_hat`` and ``ess``. See
        :mod:`bsvdd.estimators.questions.summary` for the formulas. ``plots.plot_prior_check`` plots
        prior and posterior.

        Returns
        -------
        pandas.DataFrame
            A row for each quantity; the columns are ``prior``, ``posterior``, ``low`` and ``high``.
            An improper prior has NaN, and a number without draws has ``posterior`` alone.

        Raises
        ------
        ValueError
            There is no posterior.

        Examples
        --------
        >>> import numpy as np
        >>> from bsvdd import BDD, priors
        >>> est = BDD(prior=priors.Flat(sd=0.5)).fit(np.random.default_rng(0).normal(size=(50, 2)))
        >>> table = est.summary()
        >>> bool(table.loc["effective_support", "posterior"] > 1)
        True
        >>> table.index[table["low"].isna()].tolist()
        ['variance_ratio', 'spread', 'pull', 'r_hat', 'ess']
        """
        check_is_fitted(self)
        return summary.table(self)

    def prior_draws(
        self, X: Any, y: Any = None, Z: Any = None, draws: int = PRIOR_DRAWS
    ) -> xr.Dataset:
        """Return draws of the weights and of d_z from the prior, without a fit.

        Parameters
        ----------
        X, y
            Training rows and labels, as in ``fit``.
        Z : array-like of shape (m, p), optional
            The rows z. Default: the training rows.
        draws : int, default=200

        Returns
        -------
        xarray.Dataset
            ``w`` of dims (chain, draw, point), ``d`` of dims (chain, draw, obs), and the free
            variables of the model.

        Raises
        ------
        ValueError
            The prior is improper.

        Examples
        --------
        >>> import numpy as np
        >>> from bsvdd import BSVDD
        >>> prior = BSVDD().prior_draws(np.random.default_rng(0).normal(size=(50, 2)))
        >>> prior["w"].dims, bool(np.allclose(prior["w"].sum("point"), 1.0))
        (('chain', 'draw', 'point'), True)
        """
        new = clone(self)
        data = new._read(X, y)
        rows = data.rows if Z is None else inputs.expected(new, data.kernel, Z, data.dates)
        drawn = proper(prior_draws(new._build(data.gram), draws, data.seed))
        d = Center.of(drawn.weights, data.gram).distances(rows)
        return drawn.datasets()["posterior"].assign(d=drawn.of_rows(d))

    def elicit_prior(
        self,
        X: Any,
        y: Any = None,
        *,
        effective_support: float | None = None,
        largest_weight: float | None = None,
        typical_distance: float | None = None,
        draws: int = PRIOR_DRAWS,
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
        >>> w = est.set_params(prior=prior).prior_draws(X)["w"]
        >>> bool(0.9 < (w.max("point") <= 0.05).mean() <= 1.0)
        True
        """
        stated = {
            "effective_support": effective_support,
            "largest_weight": largest_weight,
            "typical_distance": typical_distance,
        }
        asked = {name: value for name, value in stated.items() if value is not None}
        numbers = elicitation.numbers_of(self.prior, asked)
        present: Any = self.prior  # a dataclass, as it has numbers
        new = clone(self)
        data = new._read(X, y)

        def quantities(values: dict[str, float]) -> dict[str, np.ndarray]:
            own = copy.copy(new).set_params(prior=replace(present, **values))
            drawn = proper(prior_draws(own._build(data.gram), draws, data.seed))
            return summary.quantities(Center.of(drawn.weights, data.gram), data)

        found = elicitation.solve(quantities, numbers, asked, type(present).__name__)
        prior: Prior = replace(present, **found)
        return prior
