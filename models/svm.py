r"""SVM with a penalty C_i for each row: class-weighted, and DSVM-CIL.

.. math::
    \max_\alpha \sum_i \alpha_i - \tfrac12 \sum_{ij} \alpha_i \alpha_j y_i y_j k(x_i, x_j), \qquad
    \sum_i y_i \alpha_i = 0, \quad 0 \le \alpha_i \le C_i,

with y = +1 for the majority. The class-weighted SVM has :math:`C_i = C n / (2 n_{y_i})`; DSVM-CIL
(Hazarika and Gupta 2021) has :math:`C_i = C d_i` with the density weights d of :mod:`.density`.
"""

from __future__ import annotations

import numpy as np
from sklearn.svm import SVC

from .gram import Gram


def labels(gram: Gram) -> np.ndarray:
    """Return y, +1 for majority and -1 for minority rows, in the order of the dictionary."""
    return np.repeat([1.0, -1.0], [gram.n_majority_points, gram.n1])


def class_prices(gram: Gram, C: float) -> np.ndarray:
    r"""Return :math:`C_i = C n / (2 n_{y_i})` of each row, so that both classes weigh the same."""
    n, m = gram.n_points, gram.n_majority_points
    return C * np.repeat([n / (2 * m), n / (2 * gram.n1)], [m, gram.n1])


def solve(gram: Gram, penalties: np.ndarray) -> tuple[np.ndarray, float]:
    """Return signed weights w_i = y_i alpha_i, shape (n,), and the offset b, by libsvm.

    Parameters
    ----------
    gram : Gram
        The dictionary is all rows, minority rows last.
    penalties : ndarray of shape (n,)
        C_i; a row with C_i = 0 has weight 0.
    """
    rows = np.flatnonzero(penalties > 0.0)  # libsvm drops the other rows and renumbers
    svc = SVC(C=1.0, kernel="precomputed", tol=1e-6, cache_size=500)
    svc.fit(gram.K[np.ix_(rows, rows)], labels(gram)[rows], sample_weight=penalties[rows])
    w = np.zeros(gram.n_points)
    w[rows[svc.support_]] = svc.dual_coef_[0]  # of its second class, y = +1
    return w, float(svc.intercept_[0])
