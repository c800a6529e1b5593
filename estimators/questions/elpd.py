r"""How well a description predicts rows that it has not seen: the left-out log predictive density.

Weights of at least 0 that sum to one and an RBF kernel make the centre a density of the rows, a
mixture of normal ones. Without row i,

.. math::
    \ell_i = \log \operatorname{mean}_t \frac{\sum_{j \ne i} w_j^{(t)} k(x_j, x_i)}{1 - w_i^{(t)}}
    - \frac p2 \log 2 \pi s^2 ,

over the draws t of the posterior of all rows. The last term is there for ``kernels.RBF`` on p
columns as they are, whose bandwidths s can be compared. With ``kernels.Tabular`` the scale of the
columns has a part in the density, so it is left out, and the sums compare priors under one kernel.

``az.loo`` on the likelihood of the model answers another question. The likelihood of the centre is
no density of the rows: a narrow prior and a wide kernel make its terms large, whatever rows it
would predict.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.special import logsumexp

from ...models.kernels import RBF
from ..description import Description
from ..fitted import require_one_fit

if TYPE_CHECKING:
    from arviz import ELPDData

GOOD_K = 0.7  # of Pareto k, which nothing has here


def elpd(est: Description) -> ELPDData:
    """Return the expected log predictive density of a row, by rows that are left out.

    Differences between priors, or between bandwidths of ``kernels.RBF`` on the same columns, say
    which description predicts new normal rows better, in nats; see the module for the formula.
    With ``kernels.Tabular`` compare priors under one kernel only. A difference within two of its
    standard errors, ``dse`` of ``az.compare``, orders nothing: with 150 rows, the order of
    neighbouring bandwidths is often noise. Row i stays in the posterior of the weights of the
    others: against refits to 40 rows the sum was .1 nats off for flat priors.

    Parameters
    ----------
    est : fitted BSVDD
        Or another model with a posterior of weights of at least 0 that sum to one.

    Returns
    -------
    arviz.ELPDData
        For ``az.compare({"a": elpd(a), "b": elpd(b)})``. ``elpd_i`` has the described rows; ``p``
        is NaN, as a density at its own points says nothing, and there is no Pareto k, as no draw
        has an importance weight.

    Raises
    ------
    ValueError
        There is no posterior, weights may be negative, or the kernel is no RBF kernel.

    References
    ----------
    Vehtari, A., Gelman, A. and Gabry, J. (2017). Practical Bayesian model evaluation using
    leave-one-out cross-validation and WAIC. Statistics and Computing 27, 1413-1432.

    Examples
    --------
    >>> import numpy as np
    >>> import bsvdd
    >>> from bsvdd import BSVDD, priors
    >>> est = BSVDD().fit(np.random.default_rng(0).normal(size=(100, 2)))
    >>> other = est.with_prior(priors.Flat(sd=2.0))
    >>> bool(abs(bsvdd.elpd(est).elpd - bsvdd.elpd(other).elpd) < 2)
    True
    """
    import xarray as xr
    from arviz import ELPDData

    require_one_fit(est, "elpd")
    normalizer, values = _log_normalizer(est), est.log_similarity()
    constant = est.idata_["constant_data"]
    rows = np.flatnonzero(~constant["minority"].to_numpy() & (constant["weight"].to_numpy() > 0.0))
    found = logsumexp(values[:, rows], axis=0) - math.log(len(values)) - normalizer
    return ELPDData(
        elpd=float(found.sum()),
        se=float(np.sqrt(len(found) * found.var())),
        p=math.nan,
        n_samples=len(values),
        n_data_points=len(found),
        scale="log",
        warning=False,
        good_k=GOOD_K,
        elpd_i=xr.DataArray(found, {"obs": est.table_.frame.index[rows]}, "obs"),
    )


def _log_normalizer(est: Description) -> float:
    """Return (p/2) log(2 pi s^2), or 0 for scaled columns; an error for what is no density."""
    w: Any = est.idata_["posterior"]["w"].to_numpy()
    kernel, model = est.kernel_, type(est).__name__
    if w[..., 0].size == 1:
        raise ValueError(f"{model} has one estimate of the weights and no posterior")
    inner: Any = getattr(kernel, "kernel", kernel)
    if not isinstance(inner, RBF):
        raise ValueError(
            "elpd needs an RBF kernel, such as kernels.RBF() or kernels.Tabular(), under which the "
            f"centre is a density; got {kernel!r}"
        )
    if w.min() < 0.0 or not np.allclose(w.sum(axis=-1), 1.0):
        raise ValueError(
            "elpd needs weights of at least 0 that sum to one, as BSVDD has, so that the centre "
            f"is a density; {model} has others"
        )
    if inner is not kernel:
        return 0.0
    return est.n_features_in_ / 2.0 * math.log(2.0 * math.pi * float(inner.bandwidth) ** 2)
