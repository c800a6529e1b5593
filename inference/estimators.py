"""The estimators: one class for each model, all with the interface of scikit-learn."""

from __future__ import annotations

import time
from dataclasses import dataclass
from numbers import Real
from typing import TYPE_CHECKING, Any, ClassVar, override

import numpy as np
import xarray as xr
from sklearn.utils._param_validation import Interval, StrOptions

from ..models import bdd, bdd_m, bdd_m_left_out, bsvdd, bsvdd_m, svdd
from ..models.gram import Gram
from ..models.priors import Beta, GaussianPrior, Prior, TruncatedNormal
from . import diagnostics
from .bayesian import BayesianDescription
from .cutoff import Cutoff
from .decision import decisive_distance, weighted_decisive_distance
from .description import Description
from .detector import Fit
from .sampling import SAMPLERS, by_draw, weights_tree

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

    def _prices(self, gram: Gram) -> tuple[float, float | None]:
        """Return C1, and C2 where minority rows are learnt from."""
        return _tax(self.C, gram.n0, self.outlier_fraction), None

    @override
    def _draw(self, gram: Gram, seed: int) -> xr.DataTree:
        C1, C2 = self._prices(gram)
        w = svdd.solve(gram, C1, C2).weights
        prices = {"C": C1} if C2 is None else {"C": C1, "C2": C2}
        return weights_tree(w[None, None], sampler="none", **prices)

    @override
    def _own_cutoff(self, fit: Fit) -> float:
        return self._sphere(fit).boundary

    @staticmethod
    def _sphere(fit: Fit) -> svdd.Sphere:
        prices = fit.idata.children["posterior"].attrs
        return svdd.describe(fit.rule.weights[0], fit.gram, prices["C"], prices.get("C2"))

    @property
    def C_(self) -> float:
        """The C that was used, of the majority rows."""
        return float(self.idata_.children["posterior"].attrs["C"])

    @property
    def weights_(self) -> np.ndarray:
        """The weights of the dictionary: the majority rows, then minority rows if learnt from."""
        return self._fit.rule.weights[0]

    @property
    def radius_(self) -> float:
        """The radius R, on the scale of d_z."""
        return self._sphere(self._fit).radius

    @property
    def support_case_(self) -> np.ndarray:
        """Where each dictionary point lies: "inside", "on the sphere" or "outside"."""
        return self._sphere(self._fit).case

    @property
    def kkt_residual_(self) -> float:
        """The largest violation of the optimality conditions, on the scale of d^2."""
        return self._sphere(self._fit).kkt_residual


@dataclass(kw_only=True, eq=False, repr=False)
class SVDDM(SVDD):
    r"""Support vector data description with minority rows, which are to lie outside.

    .. math::
        \max_w \sum_j w_j K_{jj} - w^\top K w, \qquad w = [\alpha_0, -\alpha_1], \quad
        \sum w_j = 1, \quad 0 \le \alpha_0 \le C, \quad 0 \le \alpha_1 \le C_2

    Parameters
    ----------
    kernel, cutoff, minor_label, random_state
        As in :class:`SVDD`.
    C : float, optional
        Price of majority rows outside, at least 1/n0. ``None`` is 1/(n0 ``outlier_fraction``).
    outlier_fraction : float, default=0.1
        Used when C is None. At most the share ``outlier_fraction`` (1 + sum(alpha1)) of majority
        rows lies outside, as each takes C of the sum of their weights.
    C2 : float, optional
        Price of minority rows inside. ``None`` is 1/(n1 ``minority_fraction``).
    minority_fraction : float, default=0.1
        Used when C2 is None. At most the share ``minority_fraction`` sum(alpha1) of minority rows
        lies inside.

    Attributes
    ----------
    radius_, weights_, support_case_, kkt_residual_, C_, kernel_, gram_, idata_, cutoff_, level_
        As in :class:`SVDD`; the minority rows are the last dictionary points.

    References
    ----------
    Tax, D. M. J. and Duin, R. P. W. (2004). Support vector data description. Machine
    Learning 54, 45-66. doi:10.1023/B:MACH.0000008084.60811.49

    Examples
    --------
    >>> import numpy as np
    >>> from bsvdd import SVDDM, kernels
    >>> X = np.random.default_rng(0).normal(size=(60, 2))
    >>> y = (X[:, 0] > 1.2).astype(int)
    >>> est = SVDDM(kernel=kernels.RBF("median")).fit(X, y)
    >>> sorted(set(est.support_case_.tolist()))
    ['inside', 'on the sphere', 'outside']
    """

    _learns_from_minority = True
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **SVDD._parameter_constraints,
        "C2": [Interval(Real, 0, None, closed="neither"), None],
        "minority_fraction": [Interval(Real, 0, 1, closed="right")],
    }

    C2: float | None = None
    minority_fraction: float = 0.1

    @override
    def _prices(self, gram: Gram) -> tuple[float, float | None]:
        C1, _ = super()._prices(gram)
        return C1, _tax(self.C2, gram.n1, self.minority_fraction)


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
    dictionary : int, Landmarks, array of shape (M, p) or None, default=None
        The points that the centre is made of: None takes the majority rows themselves; a number
        draws that many of them, :class:`Landmarks` says how. The likelihood counts all rows all
        the same, in one pass over blocks, so their number is no limit. The rest (bandwidth,
        landmarks, cutoff, what ``idata_`` tells of rows) comes from the rows, or from a random
        sample of 10,000 of each class that has more. A row that is no point of the dictionary
        enters by its share of r and T only, and its distance counts as left out.
    sampler : {"auto", "laplace", "nuts", "metropolis"}, default="auto"
        ``"auto"`` takes draws by Laplace's approximation where they are safe, else NUTS; which
        and why stands in ``idata_["posterior"].attrs``. See :mod:`bsvdd.inference.sampling`.
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
        rows), ``decision`` (with ``left_out``, the left-out distances that the cutoff was chosen
        by), ``diagnostics``, ``constant_data``.
    model_ : pymc.Model
    kernel_ : Kernel
        With its bandwidth as a number, and the criterion that it came from.
    gram_ : Gram
    cutoff_ : float
        D_opt, on the scale of d_z.
    level_ : float
        Normal is ``P(d_z <= cutoff_) > level_``.
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
    kernel, likelihood_scale, sampler, draws, tune, chains : optional
        As in :class:`BSVDD`.
    dictionary : int, Landmarks, array of shape (M, p) or None, default=None
        As in :class:`BSVDD`; minority rows join it, up to M of them.
    cutoff, minor_label, random_state, progressbar : optional
        As in :class:`BSVDD`.
    prior : prior or callable, default=StandardizedRowSum()
        Prior of tau.
    minority_prior : prior or callable, default=Beta(1, 1)
        Prior of the minority weights. The published Beta(1, 1) lets their total grow with n1;
        its posterior often has several modes, between which chains hardly go, and a fit warns
        of that. ``Beta(total=1)`` bounds it, and mixes better (``python -m benchmarks.modes``).

    Attributes
    ----------
    idata_, model_, kernel_, gram_, cutoff_, level_
        As in :class:`BSVDD`; minority rows are the last dictionary points, and their weights, at
        most 0, the last of ``w``.

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

    Examples
    --------
    >>> import numpy as np
    >>> from bsvdd import BSVDDM, priors
    >>> X = np.random.default_rng(0).normal(size=(60, 2))
    >>> y = X[:, 0] > 1.2
    >>> est = BSVDDM(minority_prior=priors.Beta(total=1)).fit(X, y)
    >>> est.predict([[-0.5, 0.0], [1.8, 0.0]])
    array([ 1, -1])
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
    kernel, likelihood_scale, dictionary, draws, tune, chains : optional
        As in :class:`BSVDD`.
    cutoff, minor_label, random_state, progressbar : optional
        As in :class:`BSVDD`.
    prior : prior or callable, default=StandardizedRowSum()
        Prior of the weights.
    simplex : bool, default=False
        Take the posterior mode under sum w = 1, w >= 0 instead of draws: one w, and P(normal)
        is 0 or 1.
    sampler : {"auto", "exact", "laplace", "nuts", "metropolis"}, default="auto"
        ``"exact"`` takes independent draws of the normal posterior; ``"auto"`` does where the
        prior is normal, and else as in :class:`BSVDD`.

    Attributes
    ----------
    idata_, model_, kernel_, gram_, cutoff_, level_
        As in :class:`BSVDD`.

    Notes
    -----
    The published cutoff is the c-th smallest training distance:
    ``Cutoff("false_alarm", cv="train", false_alarm_rate=1 - c / n0)``.

    References
    ----------
    Ghasemi, A., Rabiee, H. R., Manzuri, M. T. and Rohban, M. H. (2012). A Bayesian approach to
    the data description problem. AAAI Conference on Artificial Intelligence 26.
    doi:10.48550/arXiv.1602.07507

    Examples
    --------
    >>> import numpy as np
    >>> from bsvdd import BDD
    >>> X = np.random.default_rng(0).normal(size=(100, 2))
    >>> est = BDD(simplex=True).fit(X)
    >>> est.predict([[0.0, 0.0], [9.0, 9.0]])
    array([ 1, -1])

    The draws of the normal posterior do not sum to one:

    >>> w = BDD().fit(X).idata_["posterior"]["w"]
    >>> bool((abs(w.sum("point") - 1) > 1e-6).all())
    True
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **BayesianDescription._parameter_constraints,
        "sampler": [StrOptions({"exact", *SAMPLERS})],
        "simplex": ["boolean"],
    }

    simplex: bool = False

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
    def _sample(self, gram: Gram, seed: int) -> xr.DataTree:
        if not self._draws_exactly(isinstance(self.prior, GaussianPrior)):
            return super()._sample(gram, seed)
        mean, upper = bdd.posterior(gram, self.prior, self.likelihood_scale)
        rng = np.random.default_rng(seed)
        w = bdd.draw(mean, upper, self.chains * self.draws, rng)
        w = w.reshape(self.chains, self.draws, -1)
        tree = weights_tree(w, sampler="exact", why="the posterior is normal")
        tree["posterior"]["alpha"] = tree["posterior"]["w"]
        tree["log_prior"] = self._log_prior(tree["posterior"].dataset, gram)
        return tree

    @override
    def _log_prior(
        self, posterior: xr.Dataset, gram: Gram, part: slice = slice(None)
    ) -> xr.Dataset:
        if not isinstance(self.prior, GaussianPrior):
            return super()._log_prior(posterior, gram, part)
        found = {"alpha": self.prior.log_density(gram, posterior["alpha"].values)}
        return by_draw(found, posterior)

    @property
    @override
    def _leaves_out_in_closed_form(self) -> bool:
        return self.simplex or isinstance(self.prior, GaussianPrior)

    @override
    def _points_left_out(self, fit: Fit, level: float) -> np.ndarray:
        if self.simplex:
            return super()._points_left_out(fit, level)
        if not isinstance(self.prior, GaussianPrior):  # then only rows that are no points tell
            return np.full(fit.gram.n_points, np.nan)
        w, rng = fit.rule.weights, np.random.default_rng(fit.seed)
        d = bdd.leave_one_out(fit.gram, self.prior, self.likelihood_scale, w, rng)
        return decisive_distance(d, level)


@dataclass(kw_only=True, eq=False, repr=False)
class BDDM(BayesianDescription):
    r"""Bayesian data description with minority rows, for one target class.

    .. math::
        w = [\alpha_0, -\alpha_1], \quad \alpha_1 \sim N(m_2, \Sigma_2) \text{ on } [0, 1]^{n_1},
        \quad \alpha_0 \mid \alpha_1 \sim N(m_1, \Sigma_1), \quad \sum w_j = 1

    Parameters
    ----------
    kernel, likelihood_scale, dictionary, draws, tune, chains : optional
        As in :class:`BSVDDM`.
    cutoff : Cutoff, str, float or None, default=None
        As in :class:`BSVDD`. The default is by leave-one-out of the posterior itself, from the
        draws of the one fit: see Notes. It needs a ``TruncatedNormal`` minority prior; with
        another 5 folds are refitted, and where the fit holds a sample of the rows, points are
        left out of the centre as in BSVDDM, an approximation.
    minor_label, random_state, progressbar : optional
        As in :class:`BSVDD`.
    prior : GaussianPrior, default=StandardizedRowSum()
        Of alpha0, before the condition on its sum.
    minority_prior : prior or callable, default=TruncatedNormal(0, 1)
        Of alpha1.
    sampler : {"auto", "exact", "laplace", "nuts", "metropolis"}, default="auto"
        ``"exact"`` draws alpha1 from its truncated normal posterior by exact Hamiltonian Monte
        Carlo, and alpha0 given alpha1 independently from its normal one; ``"auto"`` does where
        the minority prior is ``TruncatedNormal``, and else as in :class:`BSVDD`.

    Attributes
    ----------
    map_weights_ : ndarray of shape (M,)
        The posterior mode, by a quadratic program; for a ``TruncatedNormal`` minority prior.
    idata_, model_, kernel_, gram_, cutoff_, level_
        As in :class:`BSVDDM`.

    Notes
    -----
    Leave-one-out takes row j from the dictionary, and a majority row from the likelihood too. Each
    draw keeps its alpha1 (a minority row's own weight becomes 0), gets alpha0 from its normal
    posterior without row j, and counts by the ratio of the densities of alpha1 without and with
    row j. Means and covariances of the priors stay those of all rows.

    References
    ----------
    Turkoz and Kim (2022), Bayesian data description with minority rows.

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

    _learns_from_minority = True

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **BayesianDescription._parameter_constraints,
        "sampler": [StrOptions({"exact", *SAMPLERS})],
    }

    minority_prior: Prior = TruncatedNormal()

    @override
    def _build(self, gram: Gram) -> pm.Model:
        return bdd_m.build(gram, self.prior, self.minority_prior, self.likelihood_scale)

    @override
    def _sample(self, gram: Gram, seed: int) -> xr.DataTree:
        if not self._draws_exactly(isinstance(self.minority_prior, TruncatedNormal)):
            tree = super()._sample(gram, seed)
            tree["posterior"] = tree["posterior"].dataset.drop_vars("x")  # which alpha0 is made of
            tree["log_prior"] = self._log_prior(tree["posterior"].dataset, gram)
            return tree
        start = time.perf_counter()
        found = bdd_m.posterior(gram, self.prior, self.minority_prior, self.likelihood_scale)
        rng = np.random.default_rng(seed)
        w = bdd_m.draw(found, self.draws, self.tune, self.chains, rng)
        why = "the posterior is normal on a cube"
        tree = weights_tree(w, sampler="exact", why=why, seconds=time.perf_counter() - start)
        alpha1 = -w[..., gram.n_majority_points :]
        tree["posterior"]["alpha1"] = xr.DataArray(alpha1, dims=("chain", "draw", "minority"))
        tree["log_prior"] = self._log_prior(tree["posterior"].dataset, gram)
        return tree

    @override
    def _log_prior(
        self, posterior: xr.Dataset, gram: Gram, part: slice = slice(None)
    ) -> xr.Dataset:
        """Return the log density of alpha0 given alpha1, and of what alpha1 is made of."""
        w, m = posterior["w"].values, gram.n_majority_points
        found = by_draw({"alpha0": bdd_m.log_prior_of_majority(gram, self.prior, w)}, posterior)
        if isinstance(self.minority_prior, TruncatedNormal):
            alpha1 = bdd_m.log_prior_of_minority(gram, self.minority_prior, w)
            return found.assign(by_draw({"alpha1": alpha1}, posterior))
        x = xr.DataArray(np.zeros((*w.shape[:2], m)), dims=("chain", "draw", "majority"))
        others = super()._log_prior(posterior.assign(x=x), gram, slice(m, None))
        return found.assign(others.drop_vars("x"))

    @property
    @override
    def _leaves_out_in_closed_form(self) -> bool:
        return isinstance(self.minority_prior, TruncatedNormal)

    @override
    def _points_left_out(self, fit: Fit, level: float) -> np.ndarray:
        prior, minority_prior = self.prior, self.minority_prior
        if not (isinstance(prior, GaussianPrior) and isinstance(minority_prior, TruncatedNormal)):
            return super()._points_left_out(fit, level)
        w, rng = fit.rule.weights, np.random.default_rng(fit.seed)
        d, log_weight = bdd_m_left_out.leave_one_out(
            fit.gram, prior, minority_prior, self.likelihood_scale, w, rng
        )
        diagnostics.warn_of_weights(log_weight[:, fit.place >= 0])
        return weighted_decisive_distance(d, log_weight, level)

    @property
    def map_weights_(self) -> np.ndarray:
        """The posterior mode, by a quadratic program; for a ``TruncatedNormal`` minority prior."""
        if not isinstance(self.minority_prior, TruncatedNormal):
            raise AttributeError(
                "map_weights_ is there for minority_prior=priors.TruncatedNormal(...) only, got "
                f"{self.minority_prior!r}; take a mean of the draws idata_['posterior']['w']"
            )
        return bdd_m.map_weights(self.gram_, self.prior, self.minority_prior, self.likelihood_scale)


def _tax(C: float | None, n: int, fraction: float) -> float:
    """Return C, or 1/(n fraction) where it is not given (Tax and Duin 2004)."""
    return 1.0 / (n * fraction) if C is None else float(C)
