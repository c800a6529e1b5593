"""BDD, without and with minority rows: free weights with a normal posterior."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar, override

import numpy as np
from sklearn.utils._param_validation import StrOptions

from ..inference.learners import Posterior
from ..inference.sampling import TUNE
from ..models import bdd, bdd_m
from ..models.priors import EqualWeights, TruncatedNormal
from .bayesian import SCALE, Bayesian

MODE = "mode"


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
    cutoff, minor_label, table, random_state : optional
        As in :class:`BSVDD`.
    prior : prior or callable, default=EqualWeights(sd=1.5)
        Prior of the weights.
    simplex : bool, default=False
        Use the posterior mode under sum w = 1, w >= 0 instead of draws. There is then one w, and
        P(normal) counts the uncertainty of the cutoff and of unseen rows only.
    sampler : {"auto", "mode", "nuts", "metropolis"}, default="auto"
        "auto" makes independent draws of the normal posterior; with a prior that is not normal it
        is as in :class:`BSVDD`. "mode" makes none: w is the mode, the centre of the source.

    Attributes
    ----------
    map_weights_ : ndarray of shape (M,)
        The mode of the normal posterior, for every sampler.
    idata_, model_, kernel_, gram_, cutoff_
        As in :class:`BSVDD`.

    Notes
    -----
    The mode solves :math:`(\lambda n_0 K + \Sigma^{-1}) w = \lambda r + \Sigma^{-1} m`. With
    ``sampler="mode"`` and ``Printed(FalseAlarm(r), of="training")`` a row is normal if
    :math:`d_z \le d_{(c)}`, the c-th smallest training distance, c = (1 - r) n0, the rule of BDD
    (slide 12 of Kim 2024). ``bsvdd.as_published("BDD")`` has both. New normal rows are farther than
    training rows, so more than the share 1 - c/n0 of them is abnormal.

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

    The centre and the rule of the source:

    >>> from bsvdd import cutoffs
    >>> rule = cutoffs.Printed(cutoffs.FalseAlarm(0.1), of="training")
    >>> mode = BDD(sampler="mode", cutoff=rule).fit(X)
    >>> int((mode.predict(X + 1e-9) == 1).sum())
    90

    The draws of the normal posterior do not sum to one:

    >>> w = BDD().fit(X).idata_["posterior"]["w"]
    >>> bool((abs(w.sum("point") - 1) > 1e-6).all())
    True
    """

    prior: Any = EqualWeights()
    simplex: bool = False

    _Model = bdd.BDD
    _most_points = 1000
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **Bayesian._parameter_constraints,
        "sampler": [StrOptions({MODE, *TUNE})],
        "simplex": ["boolean"],
    }

    @override
    def _learner(self, seed: int) -> Posterior:
        mode = "simplex_mode" if self.simplex else MODE if self.sampler == MODE else ""
        return replace(super()._learner(seed), mode=mode)

    @property
    def map_weights_(self) -> np.ndarray:
        """The mode of the normal posterior of free weights, shape (M,), for a normal prior."""
        found: np.ndarray = self.fit_.model.mode()
        return found


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
    cutoff : object of bsvdd.cutoffs or None, default=None
        As in :class:`BSVDD`.
    minor_label, table, random_state : optional
        As in :class:`BSVDD`.
    prior : prior, default=EqualWeights()
        Prior of alpha0, before the condition on its sum. With one that is not normal, alpha0 is
        shifted to this sum, in equal shares of units.
    minority_prior : prior or callable, default=TruncatedNormal(0, 1)
        Prior of alpha1.
    sampler : {"auto", "nuts", "metropolis"}, default="auto"
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

    prior: Any = EqualWeights()
    likelihood_scale: float | str = 1.0
    minority_prior: Any = TruncatedNormal()

    _learns_from_minority = True
    _most_points = 1000
    _Model = bdd_m.BDDM
    _priors = ("prior", "minority_prior")
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **Bayesian._parameter_constraints,
        "likelihood_scale": SCALE,
    }
