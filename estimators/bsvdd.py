"""BSVDD, without and with minority rows: softmax weights with a posterior."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from ..models import bsvdd, bsvdd_m
from ..models.priors import Beta, Flat
from .bayesian import SCALE, Bayesian


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
        How rows resemble each other, see :class:`bsvdd.kernels.Tabular` and :mod:`bsvdd.kernels`.
    prior : prior or callable, default=Flat(sd=1.5)
        Prior of beta, see :mod:`bsvdd.priors`.
    likelihood_scale : float or "calibrated", default="calibrated"
        lambda, the weight of the quasi-likelihood relative to the prior. ``"calibrated"`` is the
        lambda at which, under the default prior, the posterior spread of the similarity of rows
        near the cutoff is that of samples of this size from the population
        (:mod:`bsvdd.models.calibrate`). It is computed once, from the training rows, and does not
        depend on the prior, so fits with other priors can be compared. ``likelihood_scale_`` is its
        value. A number is taken as it is, and 1 is the published one; intervals of d_z then have no
        frequency meaning: they are often several times too wide or too narrow.
    dictionary : "auto", "all" or int, default="auto"
        The points of the centre. Rows that are equal are one point, and so are rows of one batch.
        "auto": of up to 600 distinct rows (batches) each is a point; more are so many means of
        near rows in kernel space, in which every row counts. "all": each distinct row is a point.
        A number: at most so many. Of more than 12,000 rows a random sample of so many is described,
        and the others are answered as new rows; a warning says so.
    sampler : {"auto", "nuts", "metropolis"}, default="auto"
        "auto" is the package's Hamiltonian Monte Carlo (without a compiler), or independent draws
        where the posterior is normal; "nuts" is nutpie, and "metropolis" PyMC's random walk, both
        of ``model_``. See :mod:`bsvdd.inference.sampling`.
    draws, chains : int, default=500, 4
        Draws per chain that are kept, and chains.
    tune : int, optional
        Draws (trajectories) per chain that only tune the sampler. By default what it needs: 100 for
        "auto", 500 for "nuts", 1,000 for "metropolis".
    cutoff : object of bsvdd.cutoffs or None, default=None
        How the cutoff is chosen, from left-out training rows. ``None`` is ``Best("g_mean")`` with
        20 minority rows or more, else ``FalseAlarm(0.1)``.
    minor_label : optional
        Label of the minority in y. Not needed for {-1, 1} (-1 is minority), {0, 1} (1 is minority)
        and booleans (True is minority).
    table : Table, optional
        How columns are read, beside what they say themselves, see :class:`bsvdd.Table`.
    random_state : int, RandomState or None, default=0

    Attributes
    ----------
    idata_ : xarray.DataTree
        Groups ``posterior`` (``w`` and its parameters), ``sample_stats``, ``prior`` (the
        same), ``distance`` (d of the training rows), ``log_likelihood`` (one sum over the
        majority rows, whose terms are in ``potential``), ``decision``, ``diagnostics``,
        ``constant_data``; see :mod:`bsvdd.estimators.tree`.
    model_ : pymc.Model
    gram_ : Gram
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
    Oh (2023), 이상치 탐지를 위한 베이지안 Support vector data description (our translation:
    Bayesian support vector data description for outlier detection). Master's thesis.

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

    prior: Any = Flat(sd=1.5)

    _Model: ClassVar[Any] = bsvdd.BSVDD


@dataclass(kw_only=True, eq=False, repr=False)
class BSVDDM(BSVDD):
    r"""Bayesian support vector data description that learns from minority rows.

    .. math::
        w = [(1 + \textstyle\sum \alpha_1)\, \mathrm{softmax}(\tau), -\alpha_1], \quad
        \tau \sim N(m, \Sigma), \quad \alpha_{1j} \sim \mathrm{Beta}(a, b)

    Parameters
    ----------
    likelihood_scale : float, default=1
        lambda. A large lambda switches the labels off: the optimum of the published likelihood is
        the mean of the majority rows. With many minority rows 1 may be too large for the spread
        that samples have; then the fit warns.
    kernel, sampler, draws, tune, chains : optional
        As in :class:`BSVDD`.
    dictionary : "auto", "all" or int, default="auto"
        As in :class:`BSVDD`; up to 1,000 minority rows are points too.
    cutoff, minor_label, table, random_state : optional
        As in :class:`BSVDD`.
    prior : prior or callable, default=Flat(sd=0.83)
        Prior of tau. With this sd, about the square root of log 2, the weights have the variance
        that a bootstrap gives them, so that the posterior has about the spread of samples of this
        size.
    minority_prior : prior or callable, default=Beta(1, 1)
        Prior of the minority weights, as published. Their total can grow with n1; ``Beta(total=1)``
        bounds it. With the published prior of tau, ``RowSum()``, and a wide kernel, the posterior
        can have several modes, between which chains rarely move; then the fit warns (``python -m
        benchmarks.modes``).

    Attributes
    ----------
    idata_, model_, kernel_, gram_, cutoff_
        As in :class:`BSVDD`. Minority rows are the last dictionary points; their weights, at most
        0, come last in ``w``.

    See Also
    --------
    BSVDD : learns from majority rows only.

    Notes
    -----
    It needs y, so scikit-learn does not count it as an outlier detector (its checks fit without
    y), although it has the methods of one.

    References
    ----------
    Bae (2024), Minor class를 이용한 베이지안 Support vector data description (our translation:
    Bayesian support vector data description that uses the minor class). Master's thesis.

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

    prior: Any = Flat(sd=0.83)
    likelihood_scale: float | str = 1.0
    minority_prior: Any = Beta()

    _learns_from_minority = True
    _Model = bsvdd_m.BSVDDM
    _priors = ("prior", "minority_prior")
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **BSVDD._parameter_constraints,
        "likelihood_scale": SCALE,
    }
