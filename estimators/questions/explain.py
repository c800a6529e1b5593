"""Why rows are abnormal: the question, to a description or to several views."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from ...models.kernels.base import is_number
from .. import inputs
from ..detector import Detector
from ..joined import Joined
from ..known import Rows
from ..p_values import check_rate
from .explanation import Asked, Explanation, explained_by
from .views import ViewsExplanation, explained


def explain(
    est: Detector,
    X: Any = None,
    prob: float = 0.9,
    draws: int = 50,
    top: int = 5,
    changes: bool = True,
    *,
    rows: Any = None,
) -> Explanation | ViewsExplanation:
    r"""Return why rows are abnormal: shares of columns and training rows, and what to change.

    With weights of at least 0 and an RBF or Laplacian kernel, the surprise of z is a sum of
    terms of the columns and of the concentration, exactly and for each draw,

    .. math:: \log \frac{s_{\mathrm{cut}}}{s_z} = \log s_{\mathrm{cut}} + \sum_f
        E_q[-\log k_f(u_f, z_f)] + \mathrm{KL}(q \,\|\, w), \qquad q_j \propto w_j k(u_j, z),

    and q are the shares of the training rows. For RBF the term of column f is
    :math:`E_q[(z_f - u_f)^2] / (2 s^2)`, in the coordinates of the kernel. Other kernels and
    signed weights have :math:`d_z^2 - D^2` as a sum of terms of training rows,
    :math:`-2 w_j (k(u_j, z) - \kappa_j)` with :math:`\kappa_j` the mean over normal rows. See
    :mod:`bsvdd.estimators.questions.terms`, and for the change
    :mod:`bsvdd.estimators.questions.smallest_change`.

    Parameters
    ----------
    est : Detector
        Fitted; a description or :class:`bsvdd.Views`.
    X : array-like of shape (n, p), optional
        Rows inside the description are explained too. By default the training rows are explained,
        each left out: its own weight leaves the sums, and its values leave the ranks of the
        columns.
    prob : float, default=0.9
        Probability of the equal-tailed posterior intervals.
    draws : int, default=50
        Number of draws over all chains, evenly spaced among those of the fit, that the means
        and intervals are of. The decision is by all draws.
    top : int, default=5
        Number of training rows in ``points`` and ``nearest``.
    changes : bool, default=True
        Whether to search for the change of few columns that makes an abnormal row normal. It
        takes some milliseconds for each abnormal row (500 training rows, 10 columns), and
        grows with the square of the number of columns.
    rows : sequence of int, optional
        Positions of the training rows to explain, without X. Default: all.

    Returns
    -------
    Explanation
        See :class:`bsvdd.estimators.questions.explanation.Explanation`; for views a
        :class:`bsvdd.estimators.questions.views.ViewsExplanation`. ``obs`` is the index of
        X if X is a data frame, else the numbers of the rows; of training rows, their names.

    Raises
    ------
    ValueError
        The kernel is precomputed, or the model has no centre; X has another number of columns
        than in ``fit``, NaN or infinity, or no rows; prob, draws or top is out of its range;
        ``rows`` are no positions of training rows, or are given beside X.
    sklearn.exceptions.NotFittedError

    References
    ----------
    Donsker, M. D. and Varadhan, S. R. S. (1975). Asymptotic evaluation of certain Markov
    process expectations for large time, I. Communications on Pure and Applied Mathematics 28,
    1-47. doi:10.1002/cpa.3160280102

    Examples
    --------
    >>> import numpy as np, pandas as pd
    >>> import bsvdd
    >>> X = np.random.default_rng(0).normal(size=(99, 3))
    >>> est = bsvdd.BSVDD().fit(pd.DataFrame(X, columns=["a", "b", "c"]))
    >>> why = bsvdd.explain(est, pd.DataFrame({"a": [0.0], "b": [6.0], "c": [0.0]}, index=["odd"]))
    >>> why.top_columns(1)["column_1"].tolist()
    ['b']
    >>> str(abs(why.changes["change"]).sel(obs="odd").idxmax().item())
    'b'
    >>> bsvdd.explain(est, rows=[0, 1], changes=False).rows.index.tolist()  # of training
    [0, 1]
    """
    check_is_fitted(est)
    fit = est.fit_
    check_rate("prob", prob)
    for name, number in (("draws", draws), ("top", top)):
        if not (is_number(number) and int(number) == number and number >= 1):
            raise ValueError(f"{name} must be a whole number of at least 1, got {number!r}")
    if X is not None and rows is not None:
        raise ValueError("rows are positions of training rows; give them without X")
    if fit.data.kernel.pairwise:
        raise ValueError(
            "explain needs the rows, and a precomputed kernel has only kernel values: there "
            "are no columns to share the surprise, and none to change; fit with a kernel of "
            "rows such as kernels.RBF"
        )
    if X is None:
        place = fit.positions(rows)
        asked_rows, names = Rows(fit.data.rows[place]), fit.data.row_names[place]
    else:
        asked_rows = fit.asked(*inputs.completed(fit.data, X))
        names, place = inputs.row_names(X, len(asked_rows)), np.full(len(asked_rows), -1)
    asked = Asked(X, asked_rows, place, names, prob, draws, top, changes)
    if isinstance(fit.score, Joined):
        return explained(fit, asked)
    return explained_by(fit, asked)
