"""Descriptions with a posterior of the weights, and the effect of another prior."""

from __future__ import annotations

import inspect
from dataclasses import dataclass
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any, ClassVar, Self, override

import pandas as pd
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted

from ..inference import threads
from ..inference.learners import CALIBRATED, Posterior
from ..inference.sampling import TUNE
from ..models.priors import describe
from .description import Description

if TYPE_CHECKING:
    import pymc as pm

MOST_SCALE = 1e20  # above it, draws differ by less than the rounding of the weights
MOST_DRAWS, MOST_CHAINS = 10**6, 1000  # more would fill memory, or never end
SCALE = [Interval(Real, 0, MOST_SCALE, closed="right")]
SCALE_OR_CALIBRATED = [*SCALE, StrOptions({CALIBRATED})]


@dataclass(kw_only=True, eq=False, repr=False)
class Bayesian(Description):
    """A description with a posterior of the weights: a PyMC model and a sampler.

    A subclass names its model, ``_Model``; its priors are the parameters ``_priors``.

    Attributes
    ----------
    model_ : pymc.Model
        The model of ``gram_`` and the priors, built anew at each access.
    likelihood_scale_ : float
        lambda, the weight of the likelihood: the number that was given, or the calibrated one.
    """

    prior: Any = None
    likelihood_scale: float | str = CALIBRATED
    sampler: str = "auto"
    draws: int = 500
    tune: int | None = None
    chains: int = 4
    random_state: Any = 0

    _Model: ClassVar[Any]
    _priors: ClassVar[tuple[str, ...]] = ("prior",)

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **Description._parameter_constraints,
        "likelihood_scale": SCALE_OR_CALIBRATED,
        "sampler": [StrOptions(set(TUNE))],
        "draws": [Interval(Integral, 1, MOST_DRAWS, closed="both")],
        "tune": [Interval(Integral, 0, MOST_DRAWS, closed="both"), None],
        "chains": [Interval(Integral, 1, MOST_CHAINS, closed="both")],
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

    @override
    def _learner(self, seed: int) -> Posterior:
        names = ("sampler", "draws", "tune", "chains")
        how = {name: getattr(self, name) for name in names} | {"seed": seed}
        priors = tuple(getattr(self, name) for name in self._priors)
        return Posterior(self._Model, priors, self.likelihood_scale, how)

    # what was fitted

    @property
    def likelihood_scale_(self) -> float:
        """lambda, the weight of the likelihood: the number that was given, or the calibrated."""
        scale = self.fit_.learned.scale
        assert scale is not None  # of a posterior
        return scale.scale

    @property
    def model_(self) -> pm.Model:
        """The PyMC model of ``gram_`` and the priors, built anew at each access."""
        model: pm.Model = self.fit_.model.build()
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
        given = {"prior": prior, "minority_prior": minority_prior, **others}
        changes = {name: value for name, value in given.items() if value is not None}
        if not changes:
            needed = ", ".join(f"{name}=..." for name in self._priors)
            raise ValueError(f"another prior needs at least one of {needed}")
        if unknown := sorted(set(changes) - set(self._priors)):
            raise ValueError(
                f"{type(self).__name__} has no parameter {unknown[0]!r}; its priors are "
                f"{', '.join(self._priors)}"
            )
        with threads.one():
            return self._with(self.fit_.changed(**changes).sampled())

    def with_draws(self, draws: Any) -> Self:
        """Return this estimator with draws of the weights that you made yourself.

        For instance of ``est.model_`` with a hierarchical prior that you added, by ``pm.sample`` or
        nutpie. Distances, cutoff, P(normal), decisions and ``idata_`` are those of your draws. The
        rows, the kernel and the likelihood are those of the fit. A row is left out by rescaling
        the other weights of each draw.

        Parameters
        ----------
        draws : xarray.DataTree, xarray.Dataset or array of shape (draws, points)
            The weights ``w``. Of a tree, that of the group ``posterior``, and divergences in
            ``sample_stats``. Points are matched by their coordinate ``point``, and by their order
            where there is none.

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
        from .own_draws import fitted

        with threads.one():
            return self._with(fitted(self.fit_, draws))

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
