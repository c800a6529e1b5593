"""Descriptions with a posterior of the weights, and the effect of another prior."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable
from dataclasses import dataclass, fields
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any, ClassVar, Self, override

import numpy as np
import pandas as pd
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted

from ..inference import sampling
from ..inference.draws import SamplerSettings
from ..inference.learned import Posterior
from ..models.groups import SHARE, SHARE_OF_FREE
from ..models.kernels import Kernel, Tabular
from ..models.model import CALIBRATED, Model
from ..models.priors import Prior, StandardizedRowSum
from ..models.priors.base import describe
from . import fitting, own_draws
from .detector import Detector, owned
from .training import MAX_POINTS, AllRows, Dictionary, GivenPoints, GroupedRows, as_points

if TYPE_CHECKING:
    import pymc as pm

MOST_SCALE = 1e20  # above it, draws differ by less than the rounding of the weights
SCALE = [Interval(Real, 0, MOST_SCALE, closed="right")]
SCALE_OR_CALIBRATED = [*SCALE, StrOptions({CALIBRATED})]
AUTO = "auto"  # a dictionary: rows, and groups of rows if there are many
MANY_POINTS = 3000  # rows of a sample that are points where they cannot be grouped


@dataclass(kw_only=True, eq=False, repr=False)
class Bayesian(Detector):
    """A description with a posterior of the weights: a PyMC model and a sampler.

    A subclass names its model, ``_model``, whose fields are parameters of the subclass.

    Attributes
    ----------
    model_ : pymc.Model
        The model of ``gram_`` and the priors, built anew at each access.
    likelihood_scale_ : float
        lambda, the weight of the likelihood: the number that was given, or the calibrated one.
    """

    kernel: Kernel | Callable[..., Any] = Tabular()
    prior: Prior = StandardizedRowSum()
    likelihood_scale: float | str = 1.0
    sampler: str = "auto"
    draws: int = 1000
    tune: int = 500
    chains: int = 2
    dictionary: int | Any | None = AUTO

    _model: ClassVar[type[Model]]

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **Detector._parameter_constraints,
        "likelihood_scale": SCALE,
        "sampler": [StrOptions(set(sampling.SAMPLERS))],
        "draws": [Interval(Integral, 1, None, closed="left")],
        "tune": [Interval(Integral, 0, None, closed="left")],
        "chains": [Interval(Integral, 1, None, closed="left")],
        "dictionary": [
            Interval(Integral, 1, MAX_POINTS, closed="both"),
            "array-like",
            StrOptions({AUTO}),
            None,
        ],
    }

    def __repr__(self, N_CHAR_MAX: int = 700) -> str:
        """Show the priors, and the other parameters that differ from their defaults."""
        defaults = inspect.signature(type(self)).parameters
        parameters = self.get_params(deep=False)
        priors = sorted((p for p in parameters if p.endswith("prior")), key=lambda p: p != "prior")
        shown = {name: describe(parameters[name]) for name in priors} | {
            name: repr(value)
            for name, value in parameters.items()
            if name not in priors and repr(value) != repr(defaults[name].default)
        }
        return f"{type(self).__name__}({', '.join(f'{k}={v}' for k, v in shown.items())})"

    # the model and its points

    @override
    def _learner(self) -> Posterior:
        parameters = self.get_params(deep=False)
        own = {f.name: parameters[f.name] for f in fields(self._model) if f.name in parameters}
        names = ("sampler", "draws", "tune", "chains")
        settings = SamplerSettings(**{name: parameters[name] for name in names})
        return Posterior(self._model(**own), settings)

    @override
    def _dictionary(self, n_points: int) -> Dictionary:
        asked, with_minority = self.dictionary, self._learns_from_minority
        number = None
        if isinstance(asked, int | np.integer) and not isinstance(asked, bool):
            number = int(asked)
        if not (asked is None or number is not None or isinstance(asked, str)):
            return GivenPoints(with_minority, as_points(asked))
        model = self._learner().model
        if model.groups_rows:
            share = SHARE if model.on_simplex else SHARE_OF_FREE
            return GroupedRows(with_minority, sys.maxsize if asked is None else number, share)
        if asked is None or getattr(self.kernel, "pairwise", False):
            return super()._dictionary(n_points)
        return AllRows(with_minority, most=number or MANY_POINTS)

    # what was fitted

    @property
    def likelihood_scale_(self) -> float:
        """lambda, the weight of the likelihood: the number that was given, or the calibrated."""
        scale: float = self.fit_.bayesian.model.scale
        return scale

    @property
    def model_(self) -> pm.Model:
        """The PyMC model of ``gram_`` and the priors, built anew at each access."""
        model: pm.Model = self.fit_.bayesian.model.build(self.gram_)
        return model

    # another prior

    def with_prior(self, prior: Any = None, minority_prior: Any = None, **others: Any) -> Self:
        """Return the estimator fitted to the same rows with another prior.

        It is a fresh fit to these rows with that prior: the cutoff is chosen anew by its rule.
        Kernel and Gram statistics are used again. Where the rule compares the classes, as the
        G-mean does, ``with_cutoff(cutoffs.FalseAlarm(r))`` gives fits with several priors the same
        rate of false alarms.

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
        fit, learner = self.fit_, self.fit_.bayesian
        priors = {"prior": prior, "minority_prior": minority_prior, **others}
        changes = {name: owned(value) for name, value in priors.items() if value is not None}
        names = list(learner.model.priors)
        if not changes:
            needed = ", ".join(f"{name}=..." for name in names)
            raise ValueError(f"another prior needs at least one of {needed}")
        if unknown := sorted(set(changes) - set(names)):
            raise ValueError(
                f"{type(self).__name__} has no parameter {unknown[0]!r}; its priors are "
                f"{', '.join(names)}"
            )
        spec, other, data = fit.spec.changed(**changes), learner.with_prior(**changes), fit.data
        if other.model.groups_rows != learner.model.groups_rows:
            asked: Self = spec.estimator(**spec.parameters)
            data = data.with_points(asked._asked().dictionary_for(data.minority))
        return self._with_fit(fitting.fitted(spec, other, data, fit.cutoff))

    def with_draws(self, draws: Any) -> Self:
        """Return this estimator with draws of the weights that you made yourself.

        For instance of ``est.model_`` with a hierarchical prior that you added, by ``pm.sample`` or
        nutpie. Distances, cutoff, P(normal), decisions and ``idata_`` are those of your draws. The
        rows, the kernel and the likelihood are those of the fit. A row is left out by rescaling
        the other weights of each draw.

        Parameters
        ----------
        draws : xarray.DataTree, xarray.Dataset or array of shape (draws, points)
            With ``w``, or with the variables of the model from which w follows (``beta`` of
            BSVDD). Of a tree, the group ``posterior``, and divergences in ``sample_stats``. Points
            are matched by their coordinate ``point`` (``majority``, ``minority``), and by their
            order where there is none.

        Returns
        -------
        estimator
            ``with_cutoff`` keeps its draws, and ``with_prior`` samples anew.

        Raises
        ------
        ValueError, TypeError
            The draws have another shape or other points, are not finite, or are weights that do
            not sum to one where those of the model do.

        Warns
        -----
        DiagnosticWarning
            Chains that disagree, few effective draws, divergences, collapsed weights, or a spread
            that is not that of samples of this size.

        Examples
        --------
        >>> import numpy as np
        >>> from bsvdd import BSVDD
        >>> est = BSVDD().fit(np.random.default_rng(0).normal(size=(50, 2)))
        >>> w = np.random.default_rng(1).dirichlet(np.ones(50), size=1000)
        >>> own = est.with_draws(w)
        >>> own.predict([[0.0, 0.0], [9.0, 9.0]])
        array([ 1, -1])
        """
        check_is_fitted(self)
        return self._with_fit(own_draws.fitted(self.fit_, draws))

    # what the posterior is worth

    def summary(self) -> pd.DataFrame:
        """Return what the posterior is worth: a short table of numbers.

        Median of the prior, median and 90 % interval of the posterior of ``effective_support``,
        ``largest_weight``, ``minority_total`` (with minority points), ``squared_norm`` of the
        centre and ``typical_distance`` (the median of d over the majority's training rows), which
        are variables of ``idata_`` too; and one number for ``variance_ratio`` (1: the posterior is
        its prior), ``spread`` (1: as wide as samples of this size vary), ``pull`` of the prior in
        posterior sd, ``r_hat`` and ``ess``. See
        :mod:`bsvdd.estimators.questions.facts` for the formulas;
        ``az.plot_prior_posterior(est.idata_, var_names=[...])`` shows them.

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
        from .questions import facts  # a fit needs no summary

        return facts.summary(facts.of_fit(self.fit_))
