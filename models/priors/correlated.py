"""Normal priors of weights that vary smoothly over the rows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, override

import numpy as np
import scipy

from ..gram import Gram
from ..kernels import Kernel, as_kernel
from .base import CorrelatedPrior, inverse, require_positive


@dataclass(frozen=True)
class GaussianProcess(CorrelatedPrior):
    r"""Weights that vary smoothly over the rows, with a covariance from a kernel.

    .. math:: m = 0, \qquad \Sigma = \sigma^2 (C + \varepsilon I), \qquad C_{jl} = c(u_j, u_l)

    Parameters
    ----------
    sd : float, default=1
        sigma.
    kernel : Kernel or callable, optional
        c, with its bandwidth as a number or as the name of a criterion; by default the kernel of
        the model. A wider kernel makes the weights of neighbours more alike.
    nugget : float, default=1e-6
        epsilon, the variance of an independent part of each weight, as a share of sigma^2. It
        also keeps Sigma nonsingular where rows are equal.

    Raises
    ------
    ValueError
        The nugget is not positive, or the kernel needs rows and the kernel of the model is
        precomputed.

    References
    ----------
    Rasmussen, C. E. and Williams, C. K. I. (2006). Gaussian processes for machine learning. MIT
    Press.

    Examples
    --------
    >>> import numpy as np
    >>> from bsvdd import kernels, priors
    >>> from bsvdd.models import Gram
    >>> gram = Gram.from_rows(kernels.RBF(1.0), np.array([[0.0], [1.0], [9.0]]))
    >>> priors.GaussianProcess(kernel=kernels.RBF(2.0), nugget=0.1).covariance(gram).round(2)
    array([[1.1 , 0.88, 0.  ],
           [0.88, 1.1 , 0.  ],
           [0.  , 0.  , 1.1 ]])
    """

    kernel: Kernel | Callable[..., Any] | None = None
    nugget: float = 1e-6

    def __post_init__(self) -> None:
        super().__post_init__()
        require_positive(self, "nugget", self.nugget)
        if self.kernel is not None and as_kernel(self.kernel).pairwise:
            raise ValueError(
                "GaussianProcess: kernel must be a function of rows, got a precomputed kernel; "
                "omit it to use the kernel of the model, precomputed or not, or use "
                "priors.Normal(sigma=...)"
            )

    @override
    def covariance(self, gram: Gram) -> np.ndarray:
        n = gram.n_majority_points
        if self.kernel is None:
            C = gram.K[:n, :n]
        elif gram.kernel.pairwise:
            raise ValueError(
                "GaussianProcess: kernel needs the rows, but the kernel of the model is "
                "precomputed and has none; omit kernel to use the kernel of the model"
            )
        else:
            rows = gram.points.rows[:n]
            C = as_kernel(self.kernel).resolve(rows)(rows)
        return float(self.sd) ** 2 * (C + self.nugget * np.eye(n))


@dataclass(frozen=True)
class GraphLaplacian(CorrelatedPrior):
    r"""Semi-supervised prior: neighbours, labelled or not, have similar weights.

    With L the Laplacian of the k-nearest-neighbour graph (in kernel space) over the majority
    rows and the unlabelled rows,

    .. math:: \Sigma = \sigma^2 \left[(\kappa L + I)^{-1}\right]_{\text{majority}}, \qquad m = 0,

    the covariance, at the majority rows, of a smooth function on all rows. With kappa = 0 it is
    :class:`bsvdd.priors.Flat`.

    Parameters
    ----------
    sd : float, default=1
        sigma.
    unlabelled : tuple of tuple of float, default=()
        Rows without a label, in the columns of the kernel; a list of rows or an array. The rows
        that have no label in the y of ``fit`` come after them.
    neighbors : int, default=5
        k.
    smoothness : float, default=1
        kappa.

    Raises
    ------
    ValueError
        A number is out of its range, the unlabelled rows have another number of columns, or there
        are no more rows than neighbours.

    References
    ----------
    Ghasemi, A., Rabiee, H. R., Manzuri, M. T. and Rohban, M. H. (2012). A Bayesian approach to
    the data description problem. AAAI Conference on Artificial Intelligence 26.
    doi:10.48550/arXiv.1602.07507

    Zhu, X., Ghahramani, Z. and Lafferty, J. (2003). Semi-supervised learning using Gaussian
    fields and harmonic functions. ICML 20.

    Examples
    --------
    >>> import numpy as np
    >>> from bsvdd import BDD, priors
    >>> rng = np.random.default_rng(0)
    >>> X, unlabelled = rng.normal(size=(30, 2)), rng.normal(size=(60, 2))
    >>> est = BDD(prior=priors.GraphLaplacian(unlabelled=unlabelled)).fit(X)
    >>> est.predict([[0.0, 0.0], [9.0, 9.0]])
    array([ 1, -1])

    The same rows, as rows of X without a label:

    >>> y = [1] * 30 + [None] * 60
    >>> same = BDD(prior=priors.GraphLaplacian(), minor_label=-1)
    >>> same.fit(np.concatenate([X, unlabelled]), y).cutoff_ == est.cutoff_
    True
    """

    unlabelled: tuple[tuple[float, ...], ...] = ()
    neighbors: int = 5
    smoothness: float = 1.0

    def __post_init__(self) -> None:
        super().__post_init__()
        if int(self.neighbors) != self.neighbors or self.neighbors < 1:
            raise ValueError(f"GraphLaplacian: neighbors must be at least 1, got {self.neighbors}")
        if not 0 <= self.smoothness < np.inf:
            raise ValueError(
                f"GraphLaplacian: smoothness must be at least 0 and finite, got {self.smoothness}"
            )
        rows = np.asarray(self.unlabelled, dtype=float)
        if rows.size and (rows.ndim != 2 or not np.isfinite(rows).all()):
            raise ValueError(
                "GraphLaplacian: unlabelled must be a table of finite numbers, got an array of "
                f"{rows.ndim} dimension(s)"
            )
        object.__setattr__(self, "unlabelled", tuple(map(tuple, rows.tolist())))

    @override
    def covariance(self, gram: Gram) -> np.ndarray:
        unlabelled = [np.array(self.unlabelled)] if self.unlabelled else []
        if gram.unlabelled is not None:
            unlabelled.append(gram.unlabelled)
        if unlabelled and gram.kernel.pairwise:
            raise ValueError(
                "GraphLaplacian: a precomputed kernel has no values between unlabelled rows; use "
                "a kernel of rows such as kernels.RBF, or a function of two arrays"
            )
        n = gram.n_majority_points
        rows = gram.points.rows[:n]
        if self.unlabelled and unlabelled[0].shape[1] != rows.shape[1]:
            raise ValueError(
                f"GraphLaplacian: unlabelled has {unlabelled[0].shape[1]} columns, but the "
                f"majority rows have {rows.shape[1]}"
            )
        rows = np.concatenate([rows, *unlabelled])
        if self.neighbors >= len(rows):
            raise ValueError(
                f"GraphLaplacian: neighbors={self.neighbors} needs more than that many rows, got "
                f"{len(rows)}"
            )
        from sklearn.neighbors import NearestNeighbors

        k = gram.kernel.diag(rows)
        distance = np.sqrt(np.maximum(k[:, None] + k[None, :] - 2 * gram.kernel(rows), 0.0))
        np.fill_diagonal(distance, 0.0)
        search = NearestNeighbors(n_neighbors=self.neighbors, metric="precomputed").fit(distance)
        graph = search.kneighbors_graph()
        L = scipy.sparse.csgraph.laplacian(graph.maximum(graph.T)).toarray()
        return float(self.sd) ** 2 * inverse(self.smoothness * L + np.eye(len(rows)))[:n, :n]
