"""Separating hyperplanes in kernel space: the one-class SVM, and SVMs of both classes.

They are estimators of scikit-learn: ``fit``, ``decision_function``, ``score_samples``,
``predict``. They have no centre, no posterior and no cutoff beside f = 0.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from numbers import Integral, Real
from typing import ClassVar, Self, override

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted

from ..base import threads
from ..base.warning import DataWarning, warn
from ..models import machines
from ..models.kernels import RBF, Kernel, Tabular
from ..models.machines import Classes, Plane
from ..tables import inputs
from ..tables.table import Table
from ..tables.training import TrainingRows
from .of_rows import Constraints, OfRows, clone

MOST_MATRIX_ROWS = 20_000  # whose matrix has 3.2 GB
MAX_RESIDUAL = 1e-6  # of a linear system with 1 and -1 on its right-hand side
ROUNDING_OF_F = 1e-12  # relative to the sum of its terms
BLOCK_VALUES = 2_000_000  # kernel values at once: 16 MB


@dataclass(frozen=True, eq=False)
class Solved:
    """What a machine was fitted to.

    Attributes
    ----------
    rows : TrainingRows
    kernel : Kernel
        Fitted.
    coordinates : ndarray of shape (n, q)
        Of the rows by the kernel, majority rows first.
    largest : float
        The largest k(u, u).
    """

    rows: TrainingRows
    kernel: Kernel
    coordinates: np.ndarray
    largest: float


@dataclass(kw_only=True, eq=False, repr=False)
class Machine(OfRows[Solved]):
    r"""A hyperplane, :math:`f(z) = \sum_j w_j k(u_j, z) + b`; normal rows have f >= 0.

    The score of a row z is f(z).

    Attributes
    ----------
    weights_, intercept_ : ndarray of shape (n,), float
        w of the training rows, majority rows first, and b.
    fit_ : Solved
    """

    kernel: Kernel | Callable[..., np.ndarray] = Tabular(RBF("median"))
    minor_label: object = None
    table: Table | None = None

    _learns_from_minority: ClassVar[bool] = True
    _fewest_rows: ClassVar[int] = 1
    # the union for all machines; scikit-learn ignores constraints of absent parameters
    _parameter_constraints: ClassVar[Constraints] = {
        "nu": [Interval(Real, 0, 1, closed="right")],
        "C": [Interval(Real, 0, None, closed="neither")],
        "epsilon": [Interval(Real, 0, None, closed="left")],
        "balanced": ["boolean"],
        "neighbors": [Interval(Integral, 1, None, closed="left")],
        "density": [StrOptions({"class", "train"})],
        "zero_weight": [StrOptions({"drop", "epsilon"})],
    }

    def _solve(self, rows: Classes) -> tuple[np.ndarray, float]:
        """Return the weights of the rows, and the offset."""
        raise NotImplementedError

    def fit(self, X: ArrayLike, y: ArrayLike | None = None) -> Self:
        """Fit the hyperplane.

        Parameters
        ----------
        X : array-like of shape (n, p), or data frame
            With ``kernels.Precomputed``, the kernel matrix (n, n).
        y : array-like of shape (n,), or name of a column of the data frame, optional
            Labels, as in :class:`bsvdd.BSVDD`. The one-class SVM leaves minority rows
            out.

        Returns
        -------
        self

        Raises
        ------
        ValueError
            As in :class:`bsvdd.BSVDD`, and more than 20,000 rows.
        """
        self._validate_params()
        own = clone(self)  # whose parameters nobody else can change
        training = TrainingRows.read(own, X, y)
        self._require_rows(training.minority, y is not None)
        with threads.one():
            kernel, rows = self._classes(training)
            self.weights_, self.intercept_ = self._solve(rows)
        self.fit_ = Solved(training, kernel, rows.Z, float(np.diag(rows.K).max()))
        return self

    @override
    def _require_rows(self, minority: np.ndarray, labelled: bool) -> None:
        super()._require_rows(minority, labelled)
        n = len(minority) if self._learns_from_minority else int((~minority).sum())
        if n > MOST_MATRIX_ROWS:
            raise ValueError(
                f"the kernel matrix of {n} rows needs {8e-9 * n * n:.1f} GB, and up to "
                f"{MOST_MATRIX_ROWS} rows are accepted; use a description such as "
                "BSVDD, or fit fewer rows"
            )

    def _classes(self, training: TrainingRows) -> tuple[Kernel, Classes]:
        """Return the kernel fitted to the majority, and the rows, majority first."""
        minority = training.minority
        majority = training.X[~minority]
        others = training.X[minority & self._learns_from_minority]
        inputs.warn_of_columns(training.kernel, majority, chosen=True)
        n = len(majority)
        kernel = training.kernel.fit(majority, np.ones(n), np.arange(n))
        Z = kernel.inputs(np.concatenate([majority, others]))
        K = kernel(Z, Z)
        y = np.repeat([1.0, -1.0], [n, len(others)])
        return kernel, Classes(Z, y, (K + K.T) / 2.0)

    @override
    def score_samples(self, X: ArrayLike) -> np.ndarray:
        check_is_fitted(self)
        fit = self.fit_
        used = np.flatnonzero(self.weights_)
        Z = fit.kernel.inputs(fit.rows.new(X).X)
        Y = fit.coordinates[used]
        blocks = np.array_split(Z, len(Z) * len(Y) // BLOCK_VALUES + 1)
        with threads.one():
            f = np.concatenate(
                [fit.kernel(block, Y) @ self.weights_[used] for block in blocks]
            )
        return f + self.intercept_

    @property
    @override
    def _rounding(self) -> float:
        terms = np.abs(self.weights_).sum() * self.fit_.largest + abs(self.intercept_)
        return ROUNDING_OF_F * terms


@dataclass(kw_only=True, eq=False, repr=False)
class OCSVM(Machine):
    r"""One-class SVM: the hyperplane farthest from the origin.

    .. math:: f(z) = \sum_i \alpha_i k(x_i, z) - \rho, \qquad \sum \alpha_i = 1, \quad
        0 \le \alpha_i \le 1/(\nu n)

    Parameters
    ----------
    kernel : Kernel or callable, default=Tabular(RBF("median"))
        As in :class:`bsvdd.BSVDD`. A narrower kernel may order rows better, but f = 0
        then flags most new normal rows.
    minor_label, table : optional
        As in :class:`bsvdd.BSVDD`.
    nu : float, default=0.1
        Upper bound on the share of margin errors, and lower bound on the share of
        support vectors.

    Attributes
    ----------
    plane_ : Plane
        ``rho``, ``norm`` (||w||) and ``distance_from_origin`` (rho/||w||); if the
        origin lies among the rows, they are 0, 0 and NaN, with a warning. ``case`` is
        ``"inside"``, ``"on the hyperplane"`` or ``"beyond"``, for each majority row;
        ``support_vector_share`` is at least ``nu``, and ``margin_error_share`` at most
        ``nu``.
    weights_, intercept_ : ndarray of shape (n0,), float
        alpha, and -rho.

    References
    ----------
    Schoelkopf, B. et al. (2001). Estimating the support of a high-dimensional
    distribution. Neural Computation 13, 1443-1471. doi:10.1162/089976601750264965

    Examples
    --------
    >>> import numpy as np
    >>> from bsvdd import OCSVM
    >>> X = np.random.default_rng(0).normal(size=(100, 2))
    >>> est = OCSVM(nu=0.2).fit(X)
    >>> bool(est.plane_.margin_error_share <= 0.2 <= est.plane_.support_vector_share)
    True
    """

    nu: float = 0.1

    _learns_from_minority = False

    def _solve(self, rows: Classes) -> tuple[np.ndarray, float]:
        self.plane_: Plane = machines.one_class_svm(rows, self.nu)
        if not self.plane_.norm > 0:
            warn(
                "the origin of the kernel space lies among the majority rows, so no "
                "hyperplane separates them from it (w = 0) and f has no information; "
                "use kernels.RBF or SVDD, or do not centre the columns",
                DataWarning,
            )
        return self.plane_.alpha, -self.plane_.rho


@dataclass(kw_only=True, eq=False, repr=False)
class SVM(Machine):
    r"""Class-weighted SVM, a supervised baseline.

    .. math:: f(z) = \sum_i y_i \alpha_i k(x_i, z) + b, \qquad
        0 \le \alpha_i \le C\, \frac{n}{2 n_{y_i}}

    Parameters
    ----------
    kernel : Kernel or callable, default=Tabular(RBF("median"))
        As in :class:`bsvdd.BSVDD`. A narrower kernel flags few new minority rows.
    minor_label, table : optional
        As in :class:`bsvdd.BSVDD`.
    C : float, default=1
    balanced : bool, default=True
        Whether the cost of an error is C n / (2 n_y), larger in the smaller class; else
        it is C.

    Attributes
    ----------
    weights_, intercept_ : ndarray of shape (n,), float
        y_i alpha_i, majority rows first, y = +1 for them; and b.

    References
    ----------
    Cortes, C. and Vapnik, V. (1995). Support-vector networks. Machine Learning 20,
    273-297. doi:10.1007/BF00994018

    Examples
    --------
    >>> import numpy as np
    >>> from bsvdd import SVM
    >>> X = np.random.default_rng(0).normal(size=(60, 2))
    >>> SVM().fit(X, X[:, 0] > 1).predict([[-1.0, 0.0], [1.5, 0.0]])
    array([ 1, -1])
    """

    C: float = 1.0
    balanced: bool = True

    def _costs(self, rows: Classes) -> np.ndarray:
        """Return the cost of an error on each row, (n,)."""
        d = self._density(rows)
        return self.C * (machines.balanced(d, rows.y) if self.balanced else d)

    def _density(self, rows: Classes) -> np.ndarray:
        """Return the density weight of each row in the costs, (n,)."""
        return np.ones(len(rows.y))

    def _solve(self, rows: Classes) -> tuple[np.ndarray, float]:
        return machines.svm(rows, self._costs(rows))


@dataclass(kw_only=True, eq=False, repr=False)
class DSVM(SVM):
    r"""Density-weighted SVM for class imbalance learning, DSVM-CIL.

    .. math:: 0 \le \alpha_i \le C\, \frac{n\, d_i}{2 \sum_{j: y_j = y_i} d_j}, \qquad
        d_i = 1 - \frac{\|x_i - x_i^{(k)}\|}{\max_j \|x_j - x_i^{(k)}\|}

    Parameters
    ----------
    kernel, C, minor_label, table : optional
        As in :class:`SVM`.
    balanced : bool, default=True
        Whether both classes have the same sum of costs; else the cost of a row is C
        d_i, as in the source.
    neighbors : int, default=5
        k. It needs k + 1 rows of each class.
    density : {"class", "train"}, default="class"
        Where neighbour and maximum are looked for: among the rows of the same class, or
        in the whole training set, as the note on IDLSSVM-CIL prints it. There, k + 1
        rows of both classes together are enough, and minority rows among the majority
        weigh more.

    Attributes
    ----------
    weights_, intercept_
        As in :class:`SVM`.
    density_weights_ : ndarray of shape (n,)
        d, majority rows first.

    References
    ----------
    Hazarika, B. B. and Gupta, D. (2021). Density-weighted support vector machines for
    binary class imbalance learning. Neural Computing and Applications 33.
    doi:10.1007/s00521-020-05240-8

    Examples
    --------
    >>> import numpy as np
    >>> from bsvdd import DSVM
    >>> X = np.random.default_rng(0).normal(size=(60, 2))
    >>> DSVM(C=10).fit(X, X[:, 0] > 1).predict([[-1.0, 0.0], [1.5, 0.0]])
    array([ 1, -1])
    """

    neighbors: int = 5
    density: str = "class"

    def _density(self, rows: Classes) -> np.ndarray:
        self.density_weights_ = machines.density_weights(
            rows, self.neighbors, within_class=self.density == "class"
        )
        return self.density_weights_


@dataclass(kw_only=True, eq=False, repr=False)
class LSSVM(SVM):
    r"""Least-squares SVM.

    .. math:: (K + \mathrm{diag}(1/C_i)) w + b 1 = y, \qquad 1^\top w = 0, \qquad
        f(z) = \sum_i w_i k(x_i, z) + b, \qquad C_i = C\, \frac{n}{2 n_{y_i}}

    Parameters
    ----------
    kernel, C, balanced, minor_label, table : optional
        As in :class:`SVM`; the error of a row is squared.
    epsilon : float, default=0
        Added to each element of the diagonal.

    Attributes
    ----------
    weights_, intercept_ : ndarray of shape (n,), float
        y_i alpha_i, majority rows first, y = +1 for them; and b.
    kkt_residual_ : float
        Largest violation of the linear system.
    slack_ : ndarray of shape (n,)
        phi_i = 1 - y_i f(x_i).

    References
    ----------
    Suykens, J. A. K. and Vandewalle, J. (1999). Least squares support vector machine
    classifiers. Neural Processing Letters 9, 293-300. doi:10.1023/A:1018628609742

    Examples
    --------
    >>> import numpy as np
    >>> from bsvdd import LSSVM
    >>> X = np.random.default_rng(0).normal(size=(60, 2))
    >>> est = LSSVM().fit(X, X[:, 0] > 1)
    >>> est.predict([[-1.0, 0.0], [1.5, 0.0]]), bool(abs(est.weights_.sum()) < 1e-9)
    (array([ 1, -1]), True)
    """

    epsilon: float = 0.0

    def _ridge(self, costs: np.ndarray) -> np.ndarray:
        """Return the ridge of each row, (n,), infinite for rows that cost nothing."""
        with np.errstate(divide="ignore"):
            return 1.0 / costs + self.epsilon

    def _solve(self, rows: Classes) -> tuple[np.ndarray, float]:
        solved = machines.least_squares(rows, self._ridge(self._costs(rows)))
        self.kkt_residual_ = solved.residual
        self.slack_ = solved.slack
        if not solved.residual <= MAX_RESIDUAL:
            warn(
                f"the solution of the linear system of {type(self).__name__} has a "
                f"residual of {solved.residual:.2g}, where y is 1 or -1: the system is "
                f"nearly singular with C={self.C:g}; use a smaller C, epsilon > 0, or "
                "centre and scale the columns",
                DataWarning,
            )
        return solved.weights, solved.offset


@dataclass(kw_only=True, eq=False, repr=False)
class IDLSSVM(LSSVM, DSVM):
    r"""Improved density-weighted least-squares SVM for class imbalance, IDLSSVM-CIL.

    .. math:: (K + \mathrm{diag}(1/C_i) + \epsilon I) w + b 1 = y, \qquad 1^\top w = 0,
        \qquad C_i = C\, \frac{n\, d_i^2}{2 \sum_{j: y_j = y_i} d_j^2},

    .. math:: d_i = 1 - \frac{\|x_i - x_i^{(k)}\|}{\max_j \|x_j - x_i^{(k)}\|}

    Parameters
    ----------
    kernel, C, epsilon, minor_label, table : optional
        As in :class:`LSSVM`.
    balanced : bool, default=True
        Whether both classes have the same sum of costs; else C_i = C d_i^2, as in the
        source.
    neighbors, density : optional
        As in :class:`DSVM`.
    zero_weight : {"drop", "epsilon"}, default="drop"
        What the sources leave open for a row with d = 0, whose ridge is infinite: it
        gets weight zero, or its ridge is only epsilon.

    Attributes
    ----------
    density_weights_ : ndarray of shape (n,)
        d, majority rows first.
    weights_, intercept_, kkt_residual_, slack_
        As in :class:`LSSVM`; the slack of a row with d > 0 is alpha_i/C_i where epsilon
        is 0.

    References
    ----------
    Hazarika, B. B. and Gupta, D. (2021). Density-weighted support vector machines for
    binary class imbalance learning. Neural Computing and Applications 33.
    doi:10.1007/s00521-020-05240-8

    Examples
    --------
    >>> import numpy as np
    >>> from bsvdd import IDLSSVM
    >>> X = np.random.default_rng(0).normal(size=(60, 2))
    >>> est = IDLSSVM(C=10).fit(X, X[:, 0] > 1)
    >>> est.predict([[-1.0, 0.0], [1.5, 0.0]])
    array([ 1, -1])
    >>> bool((est.density_weights_ <= 1).all())
    True
    """

    zero_weight: str = "drop"

    def _ridge(self, costs: np.ndarray) -> np.ndarray:
        ridge = super()._ridge(costs)
        zero = costs <= 0.0
        if self.zero_weight == "drop" or not zero.any():
            return ridge
        if self.epsilon == 0.0:
            raise ValueError(
                f"zero_weight='epsilon' gives {int(zero.sum())} row(s) with density "
                "weight 0 the ridge epsilon, which is 0; use epsilon > 0 or "
                "zero_weight='drop'"
            )
        return np.where(zero, self.epsilon, ridge)

    def _density(self, rows: Classes) -> np.ndarray:
        return super()._density(rows) ** 2
