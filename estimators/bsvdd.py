"""BSVDD, without and with minority rows: softmax weights with a posterior."""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Real
from typing import Any, ClassVar

from sklearn.utils._param_validation import Interval, StrOptions

from ..models import bsvdd, bsvdd_m
from ..models.model import CALIBRATED, Model
from ..models.priors import Beta, Flat, Prior
from .bayesian import SCALE, SCALE_OR_CALIBRATED, Bayesian


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
        (:mod:`bsvdd.models.calibration`). It is computed once, from the training rows, and does not
        depend on the prior, so fits with other priors can be compared. ``likelihood_scale_`` is its
        value. A number is taken as it is, and 1 is the published one; intervals of d_z then have no
        frequency meaning: they are often several times too wide or too narrow.
    dictionary : int, array of shape (M, p), "auto" or None, default="auto"
        The points of the centre. ``"auto"``: rows that are equal are one point; of up to 600
        different rows each is a point, and more are 500 or 1,000 groups of near rows, each the mean
        of its rows in kernel space (:mod:`bsvdd.models.groups`). A number: at most that many
        groups. None: every different row. An array: these points; the likelihood uses the rows.
        Priors of single rows, such as a covariance or a function of yours, make every row a
        point. More than 12,000 rows of a class (3,000 where rows are points) are described by a
        random sample of so many; a warning says so.
    core : float or "auto", default="auto"
        The least share of the rows that the description rests on. 1: all training rows are
        normal. Below 1, odd rows are among them, and nobody says which: the description rests on
        the core of the rows, those that are most alike (:mod:`bsvdd.models.core`), each other row
        is judged as a new one, and the default kernel is wide, with columns that are adjusted for
        each other. It is no share of normal rows that is expected. "auto" is 1 in ``fit`` and with
        labels, and .8 in ``fit_predict``.
    sampler : {"auto", "hmc", "nuts", "metropolis"}, default="auto"
        ``"auto"`` is ``"hmc"``, parallel chains without a compiler, and ``"nuts"`` for a model that
        has no density in numbers; ``idata_["posterior"].attrs`` has the sampler and the reason.
        See :mod:`bsvdd.inference.sampling`.
    draws, tune, chains : int, default=1000, 500, 2
        Draws per chain that are kept, draws per chain that only tune the sampler, and chains.
    cutoff : Cutoff, object of bsvdd.cutoffs, float or None, default=None
        How D_opt is chosen: an object of :mod:`bsvdd.cutoffs`, a :class:`Cutoff` that holds one,
        or D_opt itself. ``None`` is ``Best("g_mean")`` if y has minority rows, else
        ``FalseAlarm(0.1)``, on leave-one-out distances in closed form.
    minor_label : optional
        Label of the minority in y. Not needed for {-1, 1} (-1 is minority), {0, 1} (1 is minority)
        and booleans (True is minority).
    random_state : int, RandomState or None, default=0

    Attributes
    ----------
    idata_ : xarray.DataTree
        Groups ``posterior`` (``w`` and its parameters), ``sample_stats``, ``prior`` (effective
        support), ``distance`` (d of the training rows), ``log_likelihood`` (one sum over the
        majority rows, whose terms are in ``potential``), ``decision``, ``diagnostics``,
        ``constant_data``; see :mod:`bsvdd.estimators.tree`.
    model_ : pymc.Model
    gram_ : Gram
    cutoff_ : float
        D_opt, on the scale of d_z. A row is normal if P(normal) exceeds ``fit_.level``, where
        P(normal) counts the uncertainty of the cutoff too; with ``Cutoff(uncertain=False)`` it is
        the printed ``P(d_z <= cutoff_)``.
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

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **Bayesian._parameter_constraints,
        "likelihood_scale": SCALE_OR_CALIBRATED,
        "core": [Interval(Real, 0, 1, closed="right"), StrOptions({"auto"})],
    }

    _model: ClassVar[type[Model]] = bsvdd.Model

    prior: Prior = Flat(sd=1.5)
    likelihood_scale: float | str = CALIBRATED
    core: float | str = "auto"


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
    dictionary : int, array of shape (M, p), "auto" or None, default="auto"
        As in :class:`BSVDD`; up to 1,000 minority rows are points too.
    cutoff, minor_label, random_state : optional
        As in :class:`BSVDD`.
    core : float or "auto", default="auto"
        1, as there are labels.
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

    _learns_from_minority = True
    _model = bsvdd_m.Model
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **BSVDD._parameter_constraints,
        "likelihood_scale": SCALE,
    }

    prior: Prior = Flat(sd=0.83)
    likelihood_scale: float | str = 1.0
    minority_prior: Prior = Beta()
