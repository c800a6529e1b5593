"""BDD, without and with minority rows: free weights with a normal posterior."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from numbers import Real
from typing import Any, ClassVar, override

import numpy as np
from sklearn.utils._param_validation import Interval, StrOptions

from ..inference.density import Density
from ..inference.draws import Draws, SamplerReport
from ..inference.learned import Data, Learned, Posterior
from ..inference.sampling import SAMPLERS
from ..models import bdd, bdd_m
from ..models.bdd import NormalPosterior
from ..models.model import CALIBRATED
from ..models.priors import EqualWeights, Prior, TruncatedNormal
from ..models.priors.base import describe
from .bayesian import SCALE_OR_CALIBRATED, Bayesian


@dataclass(frozen=True)
class NormalLearner(Posterior):
    """BDD, whose posterior has a closed form for a normal prior."""

    model: bdd.Model

    @property
    def _one_estimate(self) -> bool:
        return self.model.simplex or self.settings.sampler == "map"

    @override
    def learn(self, data: Data) -> Learned:
        gram, sampler = data.gram, self.settings.sampler
        if self._one_estimate:
            of_mode = NormalPosterior(gram, self.model.prior_of(gram), self.model.scale)
            w = of_mode.simplex_mode() if self.model.simplex else of_mode.mean
            return self.learned(Draws.of_weights(w), data)
        posterior = self.model.posterior(gram)
        if sampler not in ("auto", "exact") or (sampler == "auto" and posterior is None):
            return super().learn(data)
        if posterior is None:
            raise TypeError(
                "sampler='exact' needs the closed form of BDD, which exists for normal priors only "
                "(priors.Flat, RowSum, StandardizedRowSum, Normal, ...), got "
                f"prior={describe(self.model.prior)}; use sampler='auto' or 'nuts'"
            )
        self.check_size(data)
        settings, start = self.settings, time.perf_counter()
        rng = np.random.default_rng(data.seed)
        w = posterior.draw(settings.draws, settings.chains, rng)
        seconds = time.perf_counter() - start
        draws = Draws(
            {"w": w, "alpha0": w},
            SamplerReport("exact", why="the posterior is normal", seconds=seconds),
            {"alpha0": self.model.prior_of(gram).log_density(gram, w)},
            dims={"w": ("point",), "alpha0": ("point",)},
            coords={"point": np.arange(gram.n_points)},
        )
        return self.learned(draws, data)

    @override
    def learned(self, draws: Draws, data: Data, density: Density | None = None) -> Learned:
        found = super().learned(draws, data, density)
        return replace(found, density=None) if self._one_estimate else found  # its prior: no draws


@dataclass(kw_only=True, eq=False, repr=False)
class BDD(Bayesian):
    r"""Bayesian data description: a normal posterior of free weights.

    .. math::
        w \sim N(m, \Sigma), \qquad w \mid x \sim N(\Lambda^{-1}(\lambda r + \Sigma^{-1} m),
        \Lambda^{-1}), \qquad \Lambda = \lambda n_0 K + \Sigma^{-1}

    Parameters
    ----------
    likelihood_scale : float or "calibrated", default="calibrated"
        lambda, as in :class:`BSVDD`, calibrated under the default prior of this model. A single
        estimate, as with ``simplex=True``, has the same lambda.
    kernel, dictionary, draws, tune, chains : optional
        As in :class:`BSVDD`.
    cutoff, minor_label, random_state : optional
        As in :class:`BSVDD`.
    prior : prior or callable, default=EqualWeights(sd=1.5)
        Prior of the weights.
    simplex : bool, default=False
        Use the posterior mode under sum w = 1, w >= 0 instead of draws. There is then one w, and
        P(normal) counts the uncertainty of the cutoff and of unseen rows only.
    core : float or "auto", default="auto"
        The least share of the rows that the description rests on, as in :class:`BSVDD`.
    sampler : {"auto", "exact", "map", "hmc", "nuts", "metropolis"}, default="auto"
        ``"exact"`` makes independent draws of the normal posterior. ``"map"`` makes none: w is its
        mode, the centre of the source. ``"auto"`` is ``"exact"`` if the prior is normal, else as in
        :class:`BSVDD`.

    Attributes
    ----------
    map_weights_ : ndarray of shape (M,)
        The mode of the normal posterior, for every sampler.
    idata_, model_, kernel_, gram_, cutoff_
        As in :class:`BSVDD`.

    Notes
    -----
    The mode solves :math:`(\lambda n_0 K + \Sigma^{-1}) w = \lambda r + \Sigma^{-1} m`. With
    ``sampler="map"`` and ``Cutoff(Rank(c), cv="train", uncertain=False)`` a row is normal if
    :math:`d_z \le d_{(c)}`, the c-th smallest training distance, the rule of BDD (slide 12 of
    Kim 2024). ``bsvdd.as_published("BDD")`` has both. New normal rows are farther than training
    rows, so more than the share 1 - c/n0 of them is abnormal.

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

    The centre and the rule of the source, here with c = 90:

    >>> from bsvdd import Cutoff, cutoffs
    >>> rule = Cutoff(cutoffs.Rank(90), cv="train", uncertain=False)
    >>> mode = BDD(sampler="map", cutoff=rule).fit(X)
    >>> int((mode.predict(X) == 1).sum())
    90

    The draws of the normal posterior do not sum to one:

    >>> w = BDD().fit(X).idata_["posterior"]["w"]
    >>> bool((abs(w.sum("point") - 1) > 1e-6).all())
    True
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **Bayesian._parameter_constraints,
        "likelihood_scale": SCALE_OR_CALIBRATED,
        "sampler": [StrOptions({"exact", "map", *SAMPLERS})],
        "simplex": ["boolean"],
        "core": [Interval(Real, 0, 1, closed="right"), StrOptions({"auto"})],
    }

    _model = bdd.Model

    prior: Prior = EqualWeights()
    likelihood_scale: float | str = CALIBRATED
    simplex: bool = False
    core: float | str = "auto"

    @override
    def _learner(self) -> NormalLearner:
        found = super()._learner()
        assert isinstance(found.model, bdd.Model)
        return NormalLearner(found.model, found.settings)

    @property
    def map_weights_(self) -> np.ndarray:
        """The mode of the normal posterior, shape (M,), for a normal prior."""
        model = self.fit_.bayesian.model
        assert isinstance(model, bdd.Model)
        posterior = model.posterior(self.gram_)
        if posterior is None:
            raise AttributeError(
                "map_weights_ exists for a normal prior only, got "
                f"{model.prior!r}; use the mean of the draws, "
                "idata_['posterior']['w']"
            )
        return posterior.mean


@dataclass(kw_only=True, eq=False, repr=False)
class BDDM(Bayesian):
    r"""Bayesian data description with minority rows, for one target class.

    .. math::
        w = [\alpha_0, -\alpha_1], \quad \alpha_1 \sim N(m_2, \sigma_2^2 I) \text{ on }
        [0, 1]^{n_1}, \quad \alpha_0 \mid \alpha_1 \sim N(m_1, \Sigma_1), \quad \sum w_j = 1

    Parameters
    ----------
    kernel, likelihood_scale, dictionary, draws, tune, chains : optional
        As in :class:`BSVDDM`: lambda is 1.
    cutoff : Cutoff, object of bsvdd.cutoffs, float or None, default=None
        As in :class:`BSVDD`.
    minor_label, random_state : optional
        As in :class:`BSVDD`.
    prior : GaussianPrior or preliz.Normal, default=EqualWeights()
        Prior of alpha0, before the condition on its sum. It must be normal.
    minority_prior : prior or callable, default=TruncatedNormal(0, 1)
        Prior of alpha1.
    sampler : {"auto", "hmc", "nuts", "metropolis"}, default="auto"
        As in :class:`BSVDD`.

    Attributes
    ----------
    idata_, model_, kernel_, gram_, cutoff_
        As in :class:`BSVDDM`.

    Notes
    -----
    The prior of alpha0 is conditional on alpha1, so it leaves that of alpha1 as it is. Rows leave
    the centre by rescaling the other weights, as in BSVDDM.

    References
    ----------
    Turkoz and Kim (2022), Multi-class Bayesian support vector data description with anomalies.
    Annals of Operations Research.

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
    _model = bdd_m.Model

    prior: Prior = EqualWeights()
    minority_prior: Prior = TruncatedNormal()
