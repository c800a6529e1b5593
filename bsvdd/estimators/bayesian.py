"""Descriptions with a posterior of the weights: BSVDD, BSVDDM, BDD and BDDM."""

from __future__ import annotations

import inspect
import time
from dataclasses import dataclass, replace
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any, ClassVar, Self, cast, override

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted

from ..base import threads
from ..inference import sampling
from ..inference.draws import Draws
from ..inference.fit import PRIOR_DRAWS, Fit
from ..inference.sampling import TUNE, Sampler
from ..models import bdd, bdd_m, bsvdd, bsvdd_m
from ..models.calibrate import calibrated
from ..models.dictionary import Dictionary
from ..models.kernels.base import is_number
from ..models.priors import (
    Beta,
    EqualWeights,
    Flat,
    PriorLike,
    TruncatedNormal,
    describe,
)
from ..models.weights import Weights, with_rows
from ..tables.training import TrainingRows
from .description import Description, seed_of
from .of_rows import Constraints, clone

if TYPE_CHECKING:
    import pymc as pm
    import xarray as xr

CALIBRATED = "calibrated"
MODE = "mode"
SINGLE_NUMBERS = ("variance_ratio", "spread", "pull", "r_hat", "ess")  # of a summary
MOST_SCALE = 1e20  # above it, draws differ by less than the rounding of the weights
# more would fill memory, or never end
MOST_DRAWS = 10**6
MOST_CHAINS = 1000
Calibration = tuple[float, str]
SCALE = [Interval(Real, 0, MOST_SCALE, closed="right")]


@dataclass(kw_only=True, eq=False, repr=False)
class Bayesian(Description):
    """A description with a posterior of the weights: a PyMC model and a sampler.

    A subclass names its model, ``_Model``; its priors are the parameters ``_priors``.

    Attributes
    ----------
    model_ : pymc.Model
        The model of ``gram_`` and the priors, built anew at each access.
    likelihood_scale_ : float
        lambda, the weight of the likelihood: the number that was given, or the
        calibrated one.
    """

    prior: PriorLike = Flat()
    likelihood_scale: float | str = CALIBRATED
    sampler: Sampler = "auto"
    draws: int = 500
    tune: int | None = None
    chains: int = 4
    random_state: int | np.random.RandomState | None = 0
    group_centres: bool = False

    _Model: ClassVar[type[Weights]]
    _priors: ClassVar[tuple[str, ...]] = ("prior",)

    _parameter_constraints: ClassVar[Constraints] = {
        **Description._parameter_constraints,
        "likelihood_scale": [*SCALE, StrOptions({CALIBRATED})],
        "sampler": [StrOptions(set(TUNE)), callable],
        "draws": [Interval(Integral, 1, MOST_DRAWS, closed="both")],
        "tune": [Interval(Integral, 0, MOST_DRAWS, closed="both"), None],
        "chains": [Interval(Integral, 1, MOST_CHAINS, closed="both")],
        "group_centres": ["boolean"],
    }

    def __repr__(self, N_CHAR_MAX: int = 700) -> str:
        """Show the priors, and the other parameters that differ from their defaults."""
        defaults = inspect.signature(type(self)).parameters
        shown = {name: describe(prior) for name, prior in self._own_priors().items()}
        for name, value in self.get_params(deep=False).items():
            if name not in shown and repr(value) != repr(defaults[name].default):
                shown[name] = repr(value)
        text = ", ".join(f"{name}={value}" for name, value in shown.items())
        return f"{type(self).__name__}({text})"

    def _own_priors(self) -> dict[str, PriorLike]:
        """Return the priors by the names of their parameters."""
        parameters = self.get_params(deep=False)
        return {name: parameters[name] for name in self._priors}

    def _calibration(self, dictionary: Dictionary) -> Calibration:
        """Return lambda, and why it is not calibrated, or an empty text."""
        if isinstance(self.likelihood_scale, str):
            return calibrated(dictionary, self._Model.on_simplex)
        return float(self.likelihood_scale), ""

    def _model(self, dictionary: Dictionary, calibration: Calibration) -> Weights:
        """Return the model of the weights."""
        scale, _ = calibration
        return self._Model(dictionary, likelihood_scale=scale, **self._own_priors())

    @override
    def _draws(
        self,
        dictionary: Dictionary,
        seed: int,
        calibration: Calibration | None = None,
    ) -> Draws:
        calibration = calibration or self._calibration(dictionary)
        draws = self._drawn(self._model(dictionary, calibration), seed)
        return replace(draws, uncalibrated=calibration[1])

    def _drawn(self, model: Weights, seed: int) -> Draws:
        """Return draws of a model."""
        how = (self.sampler, self.draws, self.tune, self.chains)
        return sampling.draw(model, *how, seed)

    # what was fitted

    @property
    def likelihood_scale_(self) -> float:
        """lambda, the weight of the likelihood, given or calibrated."""
        return cast("Weights", self.fit_.draws.model).likelihood_scale

    @property
    def model_(self) -> pm.Model:
        """The PyMC model of ``gram_`` and the priors, built anew at each access."""
        return cast("Weights", self.fit_.draws.model).build()

    def model_at(self, Z: ArrayLike) -> pm.Model:
        r"""Return the PyMC model with the distances of new rows as variables.

        .. math:: d_z^2 = k(z, z) - 2 \sum_g w_g k(u_g, z) + w^\top K w
            - \sum_g w_g^2 \kappa_g

        ``d``, of dims (obs,), is a Deterministic of ``K_new`` (obs, point), ``k_new``
        (obs,) and ``of_themselves`` (point,), the kappa of ``distance``; they are
        data that ``pm.set_data`` changes. So
        ``pm.sample_prior_predictive`` gives d before any data, and
        ``pm.sample_posterior_predictive(est.idata_, var_names=["d"])`` after them.

        Parameters
        ----------
        Z : array-like of shape (m, p), or data frame
            A missing cell has the middle one of its imputed values.

        Returns
        -------
        pymc.Model

        Raises
        ------
        ValueError
            As ``decision``.

        Examples
        --------
        >>> import numpy as np
        >>> from bsvdd import BSVDD
        >>> est = BSVDD().fit(np.random.default_rng(0).normal(size=(50, 2)))
        >>> model = est.model_at([[0.0, 0.0], [9.0, 9.0]])
        >>> model["d"].name, model.dim_lengths["obs"].eval().item()
        ('d', 2)
        """
        rows = self._new_rows(Z, warned=False)
        names = names_of_new(Z, len(rows.X)).tolist()
        with threads.one():
            found = self.gram_.new(rows.X)
        values = found.k * np.exp(found.L)[:, None]
        added = self.gram_.of_themselves * self.fit_.is_between
        return with_rows(self.model_, values, found.diag, added, names)

    # another prior

    def with_prior(
        self,
        prior: PriorLike | None = None,
        minority_prior: PriorLike | None = None,
        **others: PriorLike | None,
    ) -> Self:
        """Return the estimator fitted to the same rows with another prior.

        The cutoff is chosen anew; kernel and Gram statistics are used again. A cutoff
        by a metric, as the G-mean, gives each prior another rate of false alarms:
        ``with_cutoff(cutoffs.FalseAlarm(r))`` gives all the same.

        Parameters
        ----------
        prior : prior, optional
            Prior of the majority's weights. Default: the present one.
        minority_prior : prior, optional
            Prior of the minority's weights, for models that have one. Default: the
            present one.
        **others : prior
            Other priors of the model, by the names of their parameters.

        Returns
        -------
        estimator
            Fitted.

        Raises
        ------
        ValueError
            No prior is given, the model has no prior of that name, or the prior does
            not suit the rows.
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
        asked = {"prior": prior, "minority_prior": minority_prior, **others}
        changes = {name: value for name, value in asked.items() if value is not None}
        if not changes:
            needed = ", ".join(f"{name}=..." for name in self._priors)
            raise ValueError(f"another prior needs at least one of {needed}")
        if unknown := sorted(set(changes) - set(self._priors)):
            raise ValueError(
                f"{type(self).__name__} has no parameter {unknown[0]!r}; its priors "
                f"are {', '.join(self._priors)}"
            )
        with threads.one():
            fit = self.fit_
            own = self._of_fit(**changes)
            known = (self.likelihood_scale_, fit.draws.uncalibrated)
            start = time.process_time()
            draws = own._draws(fit.dictionary, fit.seed, known)
            seconds = time.process_time() - start
            return self._with(fit.changed(draws=draws, estimator=own, seconds=seconds))

    def with_draws(self, draws: Any) -> Self:
        """Return this estimator with draws of the weights that you made yourself.

        For instance ``pm.sample`` or nutpie drew them from ``est.model_``, to which you
        added a hierarchical prior. They give distances, cutoff, P(normal), decisions
        and ``idata_``. Rows, kernel and likelihood stay as they are. A row is left out
        by rescaling the other weights of each draw.

        Parameters
        ----------
        draws : xarray.DataTree, xarray.Dataset, data frame or array (draws, atoms)
            The weights ``w``, and other variables, which ``idata_`` keeps, but for
            names of what it computes itself, such as ``squared_norm``. A tree has them
            in the group ``posterior``, and divergences in ``sample_stats``. Atoms
            are matched by the names in the coordinate ``point``, or by the columns of a
            data frame, and by their order where there are none.

        Returns
        -------
        estimator
            ``with_cutoff`` keeps its draws, and ``with_prior`` samples anew.

        Raises
        ------
        ValueError, TypeError
            The draws have another shape or other atoms, are not finite, or do not sum
            to one though the model's weights do.

        Warns
        -----
        DiagnosticWarning
            Chains that disagree, few effective draws, divergences, collapsed weights,
            or another spread than samples of this size have.

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
        from .tree import with_draws

        with threads.one():
            return self._with(with_draws(self.fit_, draws))

    # diagnostics

    def summary(self) -> pd.DataFrame:
        """Return a short table of numbers that diagnose the posterior.

        Five quantities have the median of their prior, and the median and a 90 %
        interval of their posterior: ``effective_support``, ``largest_weight``,
        ``minority_total`` (with minority atoms), ``squared_norm`` of the centre, and
        ``typical_distance``, the median of d over the majority's training rows.
        ``idata_`` has them too, and ``az.plot_prior_posterior(est.idata_,
        var_names=[...])`` shows them.

        The others are one number each: ``variance_ratio`` (1: the posterior is its
        prior), ``spread`` (1: as wide as samples of this size vary), ``pull`` of the
        prior in posterior sd, ``r_hat`` and ``ess``. The formulas are in
        :mod:`bsvdd.estimators.facts`.

        Returns
        -------
        pandas.DataFrame
            A row for each quantity; the columns are ``prior``, ``posterior``, ``low``
            and ``high``. An improper prior has NaN, and a number without draws has
            ``posterior`` alone.

        Raises
        ------
        ValueError
            There is no posterior.

        Examples
        --------
        >>> import numpy as np
        >>> from bsvdd import BDD, priors
        >>> X = np.random.default_rng(0).normal(size=(50, 2))
        >>> est = BDD(prior=priors.Flat(sd=0.5)).fit(X)
        >>> table = est.summary()
        >>> bool(table.loc["effective_support", "posterior"] > 1)
        True
        >>> table.index[table["low"].isna()].tolist()
        ['variance_ratio', 'spread', 'pull', 'r_hat', 'ess']
        """
        from . import facts  # a fit needs no summary

        posterior = facts.facts(self).posterior
        if posterior is None:
            raise ValueError(
                f"{type(self).__name__} has one estimate of the weights and no "
                "posterior"
            )
        known = vars(posterior)
        numbers = {name: {"posterior": known[name]} for name in SINGLE_NUMBERS}
        table = pd.DataFrame.from_dict(posterior.quantities | numbers, orient="index")
        return table.rename_axis("quantity")


# a model that learns from both classes has no calibrated lambda
OF_BOTH = {**Bayesian._parameter_constraints, "likelihood_scale": SCALE}


def prior_draws(
    est: Bayesian,
    X: ArrayLike,
    y: ArrayLike | None = None,
    Z: ArrayLike | None = None,
    draws: int = PRIOR_DRAWS,
    **of_rows: ArrayLike | None,
) -> xr.Dataset:
    """Return draws from the prior and what they say of rows, without a fit.

    Parameters
    ----------
    est : estimator with a posterior
        Its parameters count; it need not be fitted.
    X : array-like of shape (n, p), or data frame
        Training rows, as in ``fit``.
    y : array-like of shape (n,), or name of a column, optional
        Labels, as in ``fit``.
    Z : array-like of shape (m, p), optional
        The rows z. Default: the training rows.
    draws : int, default=1000
    **of_rows : array-like of shape (n,), or name of a column
        ``sample_weight`` and ``groups``, as in ``fit``.

    Returns
    -------
    xarray.Dataset
        The variables of the model and ``w``, as ``est.idata_["prior"]`` has them;
        ``d`` and ``s``, distances and similarities of z, of dims (chain, draw, obs);
        and ``probability_normal`` (obs,), of the decisions that the prior alone makes,
        with a cutoff from left-out training rows. Of training rows, d is their distance
        in the centre, and the others are without them.

    Raises
    ------
    TypeError
        The estimator has no prior.

    Examples
    --------
    >>> import numpy as np
    >>> import bsvdd
    >>> X = np.random.default_rng(0).normal(size=(50, 2))
    >>> prior = bsvdd.prior_draws(bsvdd.BSVDD(), X)
    >>> prior["w"].dims, bool(np.allclose(prior["w"].sum("point"), 1.0))
    (('chain', 'draw', 'point'), True)
    """
    import xarray as xr

    from .tree import by_draw, of_variables

    if not isinstance(est, Bayesian):
        raise TypeError(
            f"{type(est).__name__} has no prior; use BSVDD, BDD, BSVDDM or BDDM"
        )
    if not is_number(draws) or draws < 1 or draws % 1:
        raise ValueError(f"draws must be a whole number of at least 1, got {draws!r}")
    est = clone(est)
    est._validate_params()
    seed = seed_of(est)
    training = TrainingRows.read(est, X, y, seed=seed, **of_rows)
    est._require_rows(training.minority & (training.weight > 0.0), y is not None)
    new = None if Z is None else training.new(Z)
    with threads.one():
        most = est._most_atoms(training.n_groups)
        minority = est._learns_from_minority
        dictionary = Dictionary.of(training.kernel, training, minority, most)
        model = est._model(dictionary, est._calibration(dictionary))
        prior = sampling.draw_prior(model, draws, seed)
        fit = Fit.of(prior, est.cutoff)
        d = fit.distances(training.X if new is None else new.X)
        log_s = by_draw(prior, fit.log_similarity(new), "obs")
        probability = fit.probability_normal(new)
    names = training.unique_names if Z is None else names_of_new(Z, d.shape[1])
    found = {
        "d": by_draw(prior, d, "obs"),
        "s": np.exp(log_s),
        "probability_normal": ("obs", probability),
    }
    return xr.Dataset(of_variables(prior) | found).assign_coords(obs=names)


def names_of_new(Z: ArrayLike, n: int) -> np.ndarray:
    """Return the index of n new rows, or their numbers."""
    if not isinstance(Z, pd.DataFrame):
        return np.arange(n)
    return (Z.index.map(str) if Z.index.nlevels > 1 else Z.index).to_numpy()


@dataclass(kw_only=True, eq=False, repr=False)
class BSVDD(Bayesian):
    r"""Bayesian support vector data description.

    .. math::
        w = \mathrm{softmax}(\beta), \quad \beta \sim N(m, \Sigma), \quad
        \log p(x \mid w) = -\frac{\lambda}{2} \sum_i \|\phi(x_i) - \textstyle\sum_j w_j
        \phi(u_j)\|^2

    Parameters
    ----------
    kernel : Kernel or callable, default=Tabular()
        How rows resemble each other, see :class:`bsvdd.kernels.Tabular` and
        :mod:`bsvdd.kernels`.
    prior : prior or callable, default=Flat(sd=1.5)
        Prior of beta, see :mod:`bsvdd.priors`.
    likelihood_scale : float or "calibrated", default="calibrated"
        lambda, the weight of the quasi-likelihood relative to the prior. With the
        calibrated lambda and the default prior, the similarity of rows near the cutoff
        has the same spread in the posterior as between samples of this size
        (:mod:`bsvdd.models.calibrate`). It is computed once, from the training rows,
        and does not depend on the prior, so fits with other priors can be compared.
        ``likelihood_scale_`` is its value. A number is taken as it is, and 1 is the
        published one; intervals of d_z then have no frequency meaning: they are often
        several times too wide or too narrow.
    dictionary : "auto", "all" or int, default="auto"
        The atoms of the centre. Equal rows are one atom, and so are the rows of one
        group. "auto": each of up to 600 distinct rows (groups) is an atom; of more
        rows, 600 means of near rows in kernel space are the atoms, and every row
        counts. "all": each distinct row is an atom. A number: at most so many atoms. Of
        more than 12,000 rows a random sample of 12,000 is described, and the others are
        answered as new rows; a warning says so.
    sampler : {"auto", "nuts", "metropolis"} or callable, default="auto"
        "auto" is the package's Hamiltonian Monte Carlo (without a compiler), or
        independent draws where the posterior is normal; "nuts" is nutpie, and
        "metropolis" PyMC's random walk, both of ``model_``. A function takes the PyMC
        model and returns its draws, as ``lambda model: pm.sample(model=model,
        nuts_sampler="numpyro")``. See :mod:`bsvdd.inference.sampling`.
    draws, chains : int, default=500, 4
        Draws per chain that are kept, and chains.
    tune : int, optional
        Draws (trajectories) per chain that only tune the sampler. By default what it
        needs: 100 for "auto", 500 for "nuts", 1,000 for "metropolis".
    cutoff : object of bsvdd.cutoffs or None, default=None
        How the cutoff is chosen, from left-out training rows. ``None`` is
        ``Best("g_mean")`` with 20 minority rows or more, else ``FalseAlarm(0.1)``.
    minor_label : optional
        Label of the minority in y. Not needed for {-1, 1} (-1 is minority), {0, 1} (1
        is minority) and booleans (True is minority).
    table : Table, optional
        How columns are read, beside what they say themselves, see :class:`bsvdd.Table`.
    random_state : int, RandomState or None, default=0
    group_centres : bool, default=False
        Whether each group of ``fit(X, groups=...)`` has its own centre, shrunk to that
        of all: rows are described as residuals from it, and a new row of a known group
        is normal if it is normal for this group, see
        :mod:`bsvdd.tables.group_centres`.

    Attributes
    ----------
    idata_ : xarray.DataTree
        Groups ``posterior`` (``w`` and its parameters), ``sample_stats``, ``prior``
        (the same), ``distance`` (d of the training rows), ``log_prior``,
        ``log_likelihood`` (two terms, ``similarity`` and ``norm``), ``decision``,
        ``diagnostics``, ``constant_data``; see :mod:`bsvdd.estimators.tree`.
    model_ : pymc.Model
    gram_ : Dictionary
    cutoff_ : float
        The median of D_opt over the draws, on the scale of d_z.
    likelihood_scale_ : float
        lambda.
    n_features_in_, feature_names_in_
        As in scikit-learn.

    See Also
    --------
    BSVDDM : learns from minority rows too.

    References
    ----------
    Oh (2023), 이상치 탐지를 위한 베이지안 Support vector data description (our
    translation: Bayesian support vector data description for outlier detection).
    Master's thesis.

    Tax, D. M. J. and Duin, R. P. W. (2004). Support vector data description. Machine
    Learning 54, 45-66. doi:10.1023/B:MACH.0000008084.60811.49

    Examples
    --------
    >>> import numpy as np
    >>> from bsvdd import BSVDD
    >>> X = np.random.default_rng(0).normal(size=(100, 2))
    >>> est = BSVDD().fit(X)
    >>> est.predict([[0.0, 0.0], [9.0, 9.0]])
    array([ 1, -1])
    """

    prior: PriorLike = Flat(sd=1.5)

    _Model: ClassVar[type[Weights]] = bsvdd.BSVDD


@dataclass(kw_only=True, eq=False, repr=False)
class BSVDDM(BSVDD):
    r"""Bayesian support vector data description that learns from minority rows.

    .. math::
        w = [(1 + \textstyle\sum \alpha_1)\, \mathrm{softmax}(\tau), -\alpha_1], \quad
        \tau \sim N(m, \Sigma), \quad \alpha_{1j} \sim \mathrm{Beta}(a, b)

    Parameters
    ----------
    likelihood_scale : float, default=1
        lambda. A large lambda switches the labels off: the optimum of the published
        likelihood is the mean of the majority rows. With many minority rows 1 may be
        too large for the spread that samples have; then the fit warns.
    kernel, sampler, draws, tune, chains : optional
        As in :class:`BSVDD`.
    dictionary : "auto", "all" or int, default="auto"
        As in :class:`BSVDD`; up to 1,000 minority rows are atoms too.
    cutoff, minor_label, table, random_state, group_centres : optional
        As in :class:`BSVDD`.
    prior : prior or callable, default=Flat(sd=0.83)
        Prior of tau. With this sd, about the square root of log 2, the weights have the
        variance that a bootstrap gives them, so that the posterior has about the spread
        of samples of this size.
    minority_prior : prior or callable, default=Beta(1, 1)
        Prior of the minority weights, as published. Their total can grow with n1. Where
        minority rows lie amid the majority, they then outweigh it there, the posterior
        can have several modes, between which chains rarely move, and few minority rows
        are found; then the fit warns. ``Beta(total=1)`` bounds the total.

    Attributes
    ----------
    idata_, model_, kernel_, gram_, cutoff_
        As in :class:`BSVDD`. Minority rows are the last atoms; their weights, at most
        0, come last in ``w``.

    See Also
    --------
    BSVDD : learns from majority rows only.

    Notes
    -----
    It needs y, so scikit-learn does not count it as an outlier detector (its checks fit
    without y), although it has the methods of one.

    References
    ----------
    Bae (2024), Minor class를 이용한 베이지안 Support vector data description (our
    translation: Bayesian support vector data description that uses the minor class).
    Master's thesis.

    Examples
    --------
    >>> import numpy as np
    >>> from bsvdd import BSVDDM
    >>> X = np.random.default_rng(0).normal(size=(60, 2))
    >>> y = X[:, 0] > 1.2
    >>> est = BSVDDM().fit(X, y)
    >>> est.predict([[-0.5, 0.0], [1.8, 0.0]])
    array([ 1, -1])
    """

    prior: PriorLike = Flat(sd=0.83)
    likelihood_scale: float | str = 1.0
    minority_prior: PriorLike = Beta()

    _learns_from_minority = True
    _Model = bsvdd_m.BSVDDM
    _priors = ("prior", "minority_prior")
    _parameter_constraints = OF_BOTH


@dataclass(kw_only=True, eq=False, repr=False)
class BDD(Bayesian):
    r"""Bayesian data description: a normal posterior of free weights.

    .. math::
        w \sim N(m, \Sigma), \qquad
        w \mid x \sim N(\Lambda^{-1}(\lambda r + \Sigma^{-1} m), \Lambda^{-1}), \qquad
        \Lambda = \lambda n_0 K + \Sigma^{-1}

    Parameters
    ----------
    likelihood_scale : float or "calibrated", default="calibrated"
        lambda, as in :class:`BSVDD`, calibrated under the default prior of this model.
        A single estimate, as with ``simplex=True``, has the same lambda.
    kernel, dictionary, draws, tune, chains : optional
        As in :class:`BSVDD`.
    cutoff, minor_label, table, random_state, group_centres : optional
        As in :class:`BSVDD`.
    prior : prior or callable, default=EqualWeights(sd=1.5)
        Prior of the weights.
    simplex : bool, default=False
        Use the posterior mode under sum w = 1, w >= 0 instead of draws. There is then
        one w, whose error P(normal) counts as that of SVDD.
    sampler : {"auto", "mode", "nuts", "metropolis"} or callable, default="auto"
        "auto" makes independent draws of the normal posterior; with a prior that is not
        normal it is as in :class:`BSVDD`. "mode" makes none: w is the mode, the centre
        of the source.

    Attributes
    ----------
    map_weights_ : ndarray of shape (M,)
        The mode of the normal posterior, for every sampler.
    idata_, model_, kernel_, gram_, cutoff_
        As in :class:`BSVDD`.

    Notes
    -----
    The mode solves :math:`(\lambda n_0 K + \Sigma^{-1}) w = \lambda r + \Sigma^{-1} m`.
    With ``sampler="mode"`` and ``Printed(FalseAlarm(r), of="training")`` a row is
    normal if :math:`d_z \le d_{(c)}`, the c-th smallest training distance, c = (1 - r)
    n0, as in BDD (slide 12 of Kim 2024). ``bsvdd.as_published("BDD")`` has both. New
    normal rows are farther than training rows, so more than the share 1 - c/n0 of them
    is abnormal.

    References
    ----------
    Ghasemi, A., Rabiee, H. R., Manzuri, M. T. and Rohban, M. H. (2012). A Bayesian
    approach to the data description problem. AAAI Conference on Artificial Intelligence
    26. doi:10.48550/arXiv.1602.07507

    Examples
    --------
    >>> import numpy as np
    >>> from bsvdd import BDD
    >>> X = np.random.default_rng(0).normal(size=(100, 2))
    >>> est = BDD(simplex=True).fit(X)
    >>> est.predict([[0.0, 0.0], [9.0, 9.0]])
    array([ 1, -1])

    The centre and the cutoff of the source:

    >>> from bsvdd import cutoffs
    >>> cutoff = cutoffs.Printed(cutoffs.FalseAlarm(0.1), of="training")
    >>> mode = BDD(sampler="mode", cutoff=cutoff).fit(X)
    >>> int((mode.predict(X + 1e-9) == 1).sum())
    90

    The draws of the normal posterior do not sum to one:

    >>> w = BDD().fit(X).idata_["posterior"]["w"]
    >>> bool((abs(w.sum("point") - 1) > 1e-6).all())
    True
    """

    prior: PriorLike = EqualWeights()
    simplex: bool = False

    _Model = bdd.BDD
    _default_atoms = 1000
    _parameter_constraints: ClassVar[Constraints] = {
        **Bayesian._parameter_constraints,
        "sampler": [StrOptions({MODE, *TUNE}), callable],
        "simplex": ["boolean"],
    }

    @override
    def _drawn(self, model: Weights, seed: int) -> Draws:
        if self.simplex:
            return Draws(model, cast("bdd.BDD", model).simplex_mode()[None])
        if self.sampler == MODE:
            return Draws(model, cast("bdd.BDD", model).mode()[None])
        return super()._drawn(model, seed)

    @property
    def map_weights_(self) -> np.ndarray:
        """The mode (M,) of the normal posterior of free weights, for a normal prior."""
        return cast("bdd.BDD", self.fit_.draws.model).mode()


@dataclass(kw_only=True, eq=False, repr=False)
class BDDM(Bayesian):
    r"""Bayesian data description with minority rows, for one target class.

    .. math::
        w = [\alpha_0, -\alpha_1], \quad \alpha_1 \sim N(m_2, \sigma_2^2 I) \text{ on }
        [0, 1]^{n_1}, \quad \alpha_0 \mid \alpha_1 \sim N(m_1, \Sigma_1), \quad
        \sum w_j = 1

    Parameters
    ----------
    kernel, likelihood_scale, dictionary, draws, tune, chains : optional
        As in :class:`BSVDDM`: lambda is 1.
    cutoff : object of bsvdd.cutoffs or None, default=None
        As in :class:`BSVDD`.
    minor_label, table, random_state, group_centres : optional
        As in :class:`BSVDD`.
    prior : prior, default=EqualWeights()
        Prior of alpha0, before the condition on its sum. With one that is not normal,
        alpha0 is shifted to this sum, in equal shares of groups.
    minority_prior : prior or callable, default=TruncatedNormal(0, 1)
        Prior of alpha1.
    sampler : {"auto", "nuts", "metropolis"} or callable, default="auto"
        As in :class:`BSVDD`.

    Attributes
    ----------
    idata_, model_, kernel_, gram_, cutoff_
        As in :class:`BSVDDM`.

    Notes
    -----
    The prior of alpha0 is conditional on alpha1, and does not change the prior of
    alpha1.
    Rows leave the centre by rescaling the other weights, as in BSVDDM.

    References
    ----------
    Turkoz and Kim (2022), Multi-class Bayesian support vector data description with
    anomalies. Annals of Operations Research.

    Examples
    --------
    >>> import numpy as np
    >>> from bsvdd import BDDM
    >>> X = np.random.default_rng(0).normal(size=(60, 2))
    >>> y = X[:, 0] > 1.2
    >>> est = BDDM().fit(X, y)
    >>> est.predict([[-0.5, 0.0], [1.8, 0.0]])
    array([ 1, -1])
    >>> float(est.idata_["posterior"]["w"].sum("point").mean().round(6))
    1.0
    """

    prior: PriorLike = EqualWeights()
    likelihood_scale: float | str = 1.0
    minority_prior: PriorLike = TruncatedNormal()

    _learns_from_minority = True
    _default_atoms = 1000
    _Model = bdd_m.BDDM
    _priors = ("prior", "minority_prior")
    _parameter_constraints = OF_BOTH
