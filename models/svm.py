r"""SVM with a price for each row: class-weighted, and DSVM-CIL.

.. math::
    \max_\alpha \sum_i \alpha_i - \tfrac12 \sum_{ij} \alpha_i \alpha_j y_i y_j k(x_i, x_j), \qquad
    \sum_i y_i \alpha_i = 0, \quad 0 \le \alpha_i \le C_i,

y = +1 for the majority. The class-weighted SVM has :math:`C_i = C n / (2 n_{y_i})`; DSVM-CIL
(Hazarika and Gupta 2021) has :math:`C_i = C d_i` with the density weights d of
:mod:`.density`.
"""

from __future__ import annotations

import numpy as np
from sklearn.svm import SVC

from .gram import Gram


def labels(gram: Gram) -> np.ndarray:
    """Return y, +1 for majority and -1 for minority rows, in the order of the dictionary."""
    return np.repeat([1.0, -1.0], [gram.n_majority_points, gram.n1])


def class_prices(gram: Gram, C: float) -> np.ndarray:
    """Return C n / (2 n_y) for each row: both classes weigh the same."""
    n, m = gram.n_points, gram.n_majority_points
    return C * np.repeat([n / (2 * m), n / (2 * gram.n1)], [m, gram.n1])


def solve(gram: Gram, prices: np.ndarray) -> tuple[np.ndarray, float]:
    """Return signed weights w_i = y_i alpha_i, shape (n,), and the offset b, by libsvm."""
    priced = np.flatnonzero(prices > 0.0)  # libsvm numbers the rows without those of price 0
    svc = SVC(C=1.0, kernel="precomputed", tol=1e-6, cache_size=500)
    svc.fit(gram.K[np.ix_(priced, priced)], labels(gram)[priced], sample_weight=prices[priced])
    w = np.zeros(gram.n_points)
    w[priced[svc.support_]] = svc.dual_coef_[0]  # its second class is y = +1
    return w, float(svc.intercept_[0])
