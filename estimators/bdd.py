"""BDD, without and with minority rows: free weights with a normal posterior."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, override

import numpy as np
from sklearn.utils._param_validation import StrOptions

from ..inference.draws import Draws
from ..inference.left_out import leave_one_out
from ..inference.sampling import SAMPLERS
from ..models import bdd, bdd_m
from ..models.bdd import NormalPosterior
from ..models.gram import Gram
from ..models.potential import WeightMap
from ..models.priors import EqualWeights, GaussianPrior, Prior, TruncatedNormal
from .bayesian import CALIBRATED, SCALE_OR_CALIBRATED, Bayesian
from .training import TrainingData

if TYPE_CHECKING:
    import pymc as pm


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
    cutoff, minor_label, random_state, progressbar : optional
        As in :class:`BSVDD`.
    prior : prior or callable, default=EqualWeights(sd=1.5)
        Prior of the weights.
    simplex : bool, default=False
        Use the posterior mode under sum w = 1, w >= 0 instead of draws. There is then one w, and
        P(normal) counts the uncertainty of the cutoff and of unseen rows only.
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
    }

    _on_simplex: ClassVar[bool] = False

    prior: Prior = EqualWeights()
    likelihood_scale: float | str = CALIBRATED
    simplex: bool = False

    @property
    @override
    def _nonnegative(self) -> bool:
        return self.simplex

    @override
    def _build(self, gram: Gram) -> pm.Model:
        return bdd.build(gram, self.prior, self._scale)

    @override
    def _weight_map(self, variables: Mapping[str, np.ndarray]) -> WeightMap | None:
        return bdd.Identity()

    @override
    def _closed_form(self, gram: Gram) -> NormalPosterior | None:
        if not isinstance(self.prior, GaussianPrior):
            return None
        return NormalPosterior(gram, self.prior, self._scale)

    @property
    @override
    def _one_estimate(self) -> bool:
        return self.simplex or self.sampler == "map"

    @override
    def _draw(self, gram: Gram, seed: int) -> Draws:
        if not self._one_estimate:
            return super()._draw(gram, seed)
        posterior = NormalPosterior(gram, self.prior, self._scale)
        return Draws.of_weights(posterior.simplex_mode() if self.simplex else posterior.mean)

    @property
    @override
    def _leaves_out(self) -> str:
        if self.simplex:
            return "rescaled"
        # without a closed form only refits, as the weights do not sum to one
        return "closed form" if isinstance(self.prior, GaussianPrior) else "refits"

    @override
    def _left_out_sums(
        self, data: TrainingData, weights: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray | None] | None:
        gram, posterior = data.gram, self._closed_form(data.gram)
        if self.simplex or posterior is None:
            return super()._left_out_sums(data, weights)
        if self.sampler == "map":  # the mode without each row
            modes, _ = posterior.left_out()
            return (gram.K_left_out.T * modes).sum(axis=0)[None], None
        return posterior.leave_one_out(weights, np.random.default_rng(data.seed))

    @property
    def map_weights_(self) -> np.ndarray:
        """The mode of the normal posterior, shape (M,), for a normal prior."""
        posterior = self._closed_form(self.gram_)
        if posterior is None:
            raise AttributeError(
                f"map_weights_ exists for a normal prior only, got {self.prior!r}; use the mean "
                "of the draws, idata_['posterior']['w']"
            )
        return posterior.mean


@dataclass(kw_only=True, eq=False, repr=False)
class BDDM(Bayesian):
    r"""Bayesian data description with minority rows, for one target class.

    .. math::
        w = [\alpha_0, -\alpha_1], \quad \alpha_1 \sim N(m_2, \Sigma_2) \text{ on } [0, 1]^{n_1},
        \quad \alpha_0 \mid \alpha_1 \sim N(m_1, \Sigma_1), \quad \sum w_j = 1

    Parameters
    ----------
    kernel, likelihood_scale, dictionary, sampler, draws, tune, chains : optional
        As in :class:`BSVDDM`: lambda is 1.
    cutoff, minor_label, random_state, progressbar : optional
        As in :class:`BSVDD`.
    prior : GaussianPrior or preliz.Normal, default=StandardizedRowSum()
        Prior of alpha0, before the condition on its sum. It must be normal.
    minority_prior : prior or callable, default=TruncatedNormal(0, 1)
        Prior of alpha1.

    Attributes
    ----------
    idata_, model_, kernel_, gram_, cutoff_
        As in :class:`BSVDDM`.

    Notes
    -----
    The prior of alpha0 is conditional on alpha1, so it leaves that of alpha1 as it is. The free
    variable ``x`` of the model is alpha0 before the condition on its sum
    (:mod:`bsvdd.models.bdd_m`). A left-out row leaves the centre, as in :class:`BSVDDM`.

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
    _leaves_out = "closed form"  # alpha0 may be negative, so s_z is not rescaled draw by draw

    minority_prior: Prior = TruncatedNormal()

    @override
    def _build(self, gram: Gram) -> pm.Model:
        return bdd_m.build(gram, self.prior, self.minority_prior, self._scale)

    @override
    def _left_out_sums(
        self, data: TrainingData, weights: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray | None] | None:
        return leave_one_out(weights, data.gram.K_left_out, data.gram.n1), None
