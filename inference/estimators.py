"""The estimators: one class for each model, all with the interface of scikit-learn."""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Real
from typing import TYPE_CHECKING, Any, ClassVar, override

import numpy as np
import xarray as xr
from sklearn.utils._param_validation import Interval, StrOptions

from ..models import bdd, bsvdd, bsvdd_m, svdd
from ..models.gram import Gram
from ..models.priors import Beta, GaussianPrior, Prior
from .cutoff import Cutoff, as_cutoff
from .description import BayesianDescription, Description
from .detector import Fit
from .sampling import weights_tree

if TYPE_CHECKING:
    import pymc as pm


@dataclass(kw_only=True, eq=False, repr=False)
class SVDD(Description):
    r"""Support vector data description: the smallest ball around the majority.

    .. math:: \max_w \sum_i w_i K_{ii} - w^\top K w, \qquad \sum w_i = 1, \quad 0 \le w_i \le C

    Parameters
    ----------
    kernel : Kernel or callable, default=RBF()
        See :mod:`bsvdd.kernels`.
    C : float, optional
        Largest weight, at least 1/n0; from 1 on no row is left outside. ``None`` is
        1/(n0 ``outlier_fraction``) (Tax and Duin 2004).
    outlier_fraction : float, default=0.1
        The share of majority rows that may lie outside, at most; used when C is None.
    cutoff : Cutoff, str, float or None, default="model"
        ``"model"`` is the sphere of the description; the rest as in :class:`BSVDD`.
    minor_label : optional
        Label of the minority in y, see :class:`BSVDD`.
    random_state : int, RandomState or None, default=0
        Seed of the folds, where ``cutoff`` asks for folds.

    Attributes
    ----------
    radius_ : float
        R, on the scale of d_z.
    weights_ : ndarray of shape (n0,)
    C_ : float
    kernel_, gram_, idata_, cutoff_, level_
        As in :class:`BSVDD`; ``idata_`` has one draw, and P(normal) is 0 or 1.

    See Also
    --------
    BSVDD : the centre with a posterior.

    References
    ----------
    Tax, D. M. J. and Duin, R. P. W. (2004). Support vector data description. Machine
    Learning 54, 45-66. doi:10.1023/B:MACH.0000008084.60811.49

    Examples
    --------
    >>> import numpy as np
    >>> from bsvdd import SVDD, kernels
    >>> X = np.random.default_rng(0).normal(size=(100, 2))
    >>> SVDD(kernel=kernels.RBF("median")).fit(X).predict([[0.0, 0.0], [9.0, 9.0]])
    array([ 1, -1])
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **Description._parameter_constraints,
        "C": [Interval(Real, 0, None, closed="neither"), None],
        "outlier_fraction": [Interval(Real, 0, 1, closed="right")],
    }

    C: float | None = None
    outlier_fraction: float = 0.1
    cutoff: Cutoff | str | float | None = "model"

    @override
    def _draw(self, gram: Gram, seed: int) -> xr.DataTree:
        C = 1.0 / (gram.n0 * self.outlier_fraction) if self.C is None else float(self.C)
        return weights_tree(svdd.solve(gram, C)[None, None], sampler="none", C=C)

    @override
    def _own_cutoff(self, fit: Fit) -> float:
        C = fit.idata.children["posterior"].attrs["C"]
        return svdd.boundary(fit.center.weights[0], fit.gram, C)

    @property
    def C_(self) -> float:
        """The C that was used."""
        return float(self.idata_.children["posterior"].attrs["C"])

    @property
    def weights_(self) -> np.ndarray:
        """The weights of the majority rows, shape (n0,)."""
        return self._fit.center.weights[0]

    @property
    def radius_(self) -> float:
        """The radius R, on the scale of d_z."""
        return svdd.radius(self.weights_, self.gram_, self.C_)


@dataclass(kw_only=True, eq=False, repr=False)
class BSVDD(BayesianDescription):
    r"""Bayesian support vector data description.

    .. math::
        w = \mathrm{softmax}(\beta), \quad \beta \sim N(m, \Sigma), \quad
        \log p(x \mid w) = -\frac{\lambda}{2} \sum_i \|\phi(x_i) - \textstyle\sum_j w_j
        \phi(u_j)\|^2

    Parameters
    ----------
    kernel : Kernel or callable, default=RBF()
        See :mod:`bsvdd.kernels`.
    prior : prior or callable, default=StandardizedRowSum()
        Prior of beta, see :mod:`bsvdd.priors`.
    likelihood_scale : float, default=1
        lambda, the weight of the quasi-likelihood against the prior.
    sampler : {"nuts", "metropolis"}, default="nuts"
    draws, tune, chains : int, default=1000, 500, 2
    cutoff : Cutoff, str, float or None, default=None
        How D_opt is chosen: a :class:`Cutoff`, the name of a criterion, or D_opt itself.
        ``None`` takes the best G-mean where y has minority rows, else a false-alarm rate of
        0.1, by leave-one-out in closed form.
    minor_label : optional
        Label of the minority in y. Not needed for {-1, 1} (-1 is minority), {0, 1} and
        booleans (1 is minority).
    random_state : int, RandomState or None, default=0
    progressbar : bool, default=False

    Attributes
    ----------
    idata_ : xarray.DataTree
        Groups ``posterior`` (``w`` and its parameters), ``sample_stats``, ``prior`` (effective
        support), ``distance`` (d of the training rows), ``log_likelihood`` (pointwise, majority
        rows), ``decision``, ``diagnostics``, ``constant_data``.
    model_ : pymc.Model
    kernel_ : Kernel
        With its bandwidth as a number, and the criterion that it came from.
    gram_ : Gram
    cutoff_ : float
        D_opt, on the scale of d_z.
    level_ : float
        Normal is P(d_z <= cutoff_) > level_.
    n_features_in_, feature_names_in_
        As in scikit-learn.

    See Also
    --------
    BSVDDM : learns from minority rows too.

    References
    ----------
    Oh (2023), Bayesian support vector data description.

    Examples
    --------
    >>> import numpy as np
    >>> from bsvdd import BSVDD
    >>> X = np.random.default_rng(0).normal(size=(100, 2))
    >>> est = BSVDD().fit(X)
    >>> est.predict([[0.0, 0.0], [9.0, 9.0]])
    array([ 1, -1])
    """

    @override
    def _build(self, gram: Gram) -> pm.Model:
        return bsvdd.build(gram, self.prior, self.likelihood_scale)


@dataclass(kw_only=True, eq=False, repr=False)
class BSVDDM(BayesianDescription):
    r"""Bayesian support vector data description that learns from minority rows.

    .. math::
        w = [(1 + \textstyle\sum \alpha_1)\, \mathrm{softmax}(\tau), -\alpha_1], \quad
        \tau \sim N(m, \Sigma), \quad \alpha_{1j} \sim \mathrm{Beta}(a, b)

    Parameters
    ----------
    kernel, likelihood_scale, sampler, draws, tune, chains, cutoff, minor_label, random_state, \
progressbar
        As in :class:`BSVDD`.
    prior : prior or callable, default=StandardizedRowSum()
        Prior of tau.
    minority_prior : prior or callable, default=Beta(1, 1)
        Prior of the minority weights. The published Beta(1, 1) lets their total grow with n1,
        and its chains do not always mix; ``Beta(total=1)`` bounds it.

    See Also
    --------
    BSVDD : needs no minority rows.

    Notes
    -----
    It needs y, and is thus no outlier detector by scikit-learn's book (whose checks fit
    without y); its methods are those of one all the same.

    References
    ----------
    Bae (2024), Bayesian support vector data description with minority rows.
    """

    _learns_from_minority = True

    minority_prior: Prior = Beta()

    @override
    def _build(self, gram: Gram) -> pm.Model:
        return bsvdd_m.build(gram, self.prior, self.minority_prior, self.likelihood_scale)


@dataclass(kw_only=True, eq=False, repr=False)
class BDD(BayesianDescription):
    r"""Bayesian data description: a normal posterior of free weights.

    .. math::
        w \sim N(m, \Sigma), \qquad w \mid x \sim N(\Lambda^{-1}(\lambda r + \Sigma^{-1} m),
        \Lambda^{-1}), \qquad \Lambda = \lambda n_0 K + \Sigma^{-1}

    Parameters
    ----------
    kernel, likelihood_scale, draws, tune, chains, cutoff, minor_label, random_state, progressbar
        As in :class:`BSVDD`.
    prior : prior or callable, default=StandardizedRowSum()
        Prior of the weights. One that is not normal needs ``sampler="nuts"``.
    simplex : bool, default=False
        Take the posterior mode under sum w = 1, w >= 0 instead of draws: one w, and P(normal)
        is 0 or 1.
    sampler : {"exact", "nuts", "metropolis"}, default="exact"
        ``"exact"`` takes independent draws of the normal posterior.

    Notes
    -----
    The published cutoff is the c-th smallest training distance:
    ``Cutoff("false_alarm", cv="train", false_alarm_rate=1 - c / n0)``.

    References
    ----------
    Ghasemi, A. et al. (2012), a Bayesian approach to data description.
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **BayesianDescription._parameter_constraints,
        "sampler": [StrOptions({"exact", "nuts", "metropolis"})],
        "simplex": ["boolean"],
    }

    simplex: bool = False
    sampler: str = "exact"

    @override
    def _build(self, gram: Gram) -> pm.Model:
        return bdd.build(gram, self.prior, self.likelihood_scale)

    @override
    def _draw(self, gram: Gram, seed: int) -> xr.DataTree:
        if not self.simplex:
            return super()._draw(gram, seed)
        w = bdd.simplex_map(gram, self.prior, self.likelihood_scale)
        scale = float(self.likelihood_scale)
        return weights_tree(w[None, None], sampler="none", likelihood_scale=scale)

    @override
    def _sample(self, model: pm.Model, gram: Gram, seed: int) -> xr.DataTree:
        if self.sampler != "exact":
            return super()._sample(model, gram, seed)
        mean, upper = bdd.posterior(gram, self.prior, self.likelihood_scale)
        rng = np.random.default_rng(seed)
        w = bdd.draw(mean, upper, self.chains * self.draws, rng)
        return weights_tree(w.reshape(self.chains, self.draws, -1), sampler="exact")

    @override
    def _check_cutoff(self, minority: np.ndarray) -> None:
        super()._check_cutoff(minority)
        policy = as_cutoff(self.cutoff)
        chosen = isinstance(policy.criterion, str) and policy.cv == "loo"
        drawn = not self.simplex and self.sampler != "exact"
        if chosen and drawn and not isinstance(self.prior, GaussianPrior):
            raise ValueError(
                "cutoff: BDD leaves rows out in closed form for a normal prior only, not for "
                f"{self.prior!r}; use Cutoff(cv=5)"
            )

    @override
    def _leave_one_out(self, fit: Fit, d: np.ndarray) -> np.ndarray:
        if self.simplex:
            return super()._leave_one_out(fit, d)
        d = d.copy()
        d[:, ~fit.minority] = bdd.leave_one_out(
            fit.gram, self.prior, self.likelihood_scale, len(d), np.random.default_rng(fit.seed)
        )
        return d
