"""Hyperplane detectors in kernel space: the one-class SVM and the supervised SVMs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from numbers import Integral, Real
from typing import Any, ClassVar, override

import numpy as np
from sklearn.utils._param_validation import Interval, StrOptions

from ..inference.center import Hyperplane
from ..inference.cutoff import Cutoff
from ..inference.cutoffs import Chooser, Own
from ..inference.draws import Draws
from ..inference.learned import Data, Learned, Learner
from ..inference.warning import DataWarning, warn
from ..models import ls_svm, one_class_svm, quadratic_program, svm
from ..models.gram import Gram
from ..models.kernels import RBF, Kernel, Tabular
from .detector import Detector
from .training import AllRows, Dictionary

MAX_RESIDUAL = 1e-6  # of a linear system with 1 and -1 on its right-hand side
DENSE_ROWS = 10_000  # most rows for which the kernel matrix (800 MB) is formed


# what the machines learn


@dataclass(frozen=True)
class DensityWeights:
    """The share of each row in the cost of errors; less in sparse regions."""

    neighbors: int
    count_self: bool
    density: str

    def __call__(self, gram: Gram) -> np.ndarray:
        """Return the weights d of the points, shape (M,)."""
        rows, m, k = gram.kernel.inputs(gram.points.rows), gram.n_majority_points, self.neighbors
        if self.density == "train":
            d = svm.density_weights(rows, k, self.count_self, "the training set")
        else:
            parts = [svm.density_weights(part, k, self.count_self) for part in (rows[:m], rows[m:])]
            d = np.concatenate(parts)
        for name, part in (("majority", d[:m]), ("minority", d[m:])):
            if not part.any():
                raise ValueError(
                    f"the density weights of all {len(part)} {name} rows are zero with "
                    f"neighbors={k}; use another number of neighbors, or more rows"
                )
        return d


@dataclass(frozen=True)
class Costs:
    """What an error on a row costs: C, by the size of its class, and by its density weight."""

    C: float
    balanced: bool
    weighting: DensityWeights | None = None

    def __call__(self, gram: Gram, power: int = 1) -> np.ndarray:
        """Return the costs C d^power of the points, shape (n,); d is 1 without a weighting."""
        d = np.ones(gram.n_points) if self.weighting is None else self.weighting(gram) ** power
        return self.C * (svm.balanced(d, gram) if self.balanced else d)


class Machine(Learner):
    """A separating machine; a subclass computes its weights in ``solve``."""

    has_own = True

    def solve(self, gram: Gram) -> tuple[np.ndarray, dict[str, float]]:
        """Return the signed weights, and the numbers of the solver by name, such as ``offset``."""
        raise NotImplementedError

    @override
    def learn(self, data: Data) -> Learned:
        return self.learned(Draws.of_weights(*self.solve(data.gram)), data)

    @override
    def learned(self, draws: Draws, data: Data) -> Learned:
        score = Hyperplane(draws.weights, data.gram, draws.solution["offset"])
        found = {"support_vectors": int((draws.weights != 0.0).sum())}
        return Learned(score, own=0.0, draws=draws, diagnostics=found, tolerance=MAX_RESIDUAL)


@dataclass(frozen=True)
class OneClass(Machine):
    """The one-class SVM."""

    nu: float

    folds: ClassVar[int] = 10

    @override
    def solve(self, gram: Gram) -> tuple[np.ndarray, dict[str, float]]:
        plane = one_class_svm.solve(gram, self.nu)
        # in units of rho, f does not depend on the number of rows with alpha > 0, so that left-out
        # values of folds are comparable with those of the full fit
        unit = plane.rho if plane.norm > 0 and plane.rho > 0 else 1.0
        return plane.alpha / unit, {"offset": -plane.rho / unit, "unit": unit}

    @override
    def learned(self, draws: Draws, data: Data) -> Learned:
        weights = draws.weights[0] * draws.solution["unit"]
        plane = one_class_svm.describe(weights, data.gram, self.nu)
        tolerance = quadratic_program.PRECISION * data.gram.largest / draws.solution["unit"]
        return replace(super().learned(draws, data), solution=plane, tolerance=tolerance)

    @override
    def warn_of(self, learned: Learned) -> None:
        if not learned.solution.norm > 0:
            warn(
                "the origin of the kernel space lies among the majority rows, so no hyperplane "
                "separates them from it (w = 0) and f has no information; use kernels.RBF or "
                "SVDD, or do not centre the columns",
                DataWarning,
            )


@dataclass(frozen=True)
class SupportVectors(Machine):
    """The SVM with costs by class, and by density weights."""

    costs: Costs

    @override
    def solve(self, gram: Gram) -> tuple[np.ndarray, dict[str, float]]:
        w, offset = svm.solve(gram, self.costs(gram))
        return w, {"offset": offset}


@dataclass(frozen=True)
class LeastSquares(Machine):
    """The least-squares SVM with costs by class, and by squared density weights."""

    costs: Costs
    epsilon: float
    zero_weight: str = "drop"

    @override
    def solve(self, gram: Gram) -> tuple[np.ndarray, dict[str, float]]:
        solved = ls_svm.solve(gram, self.costs(gram, 2), self.epsilon, self.zero_weight)
        return solved.weights, {"offset": solved.offset, "kkt_residual": solved.residual}

    @override
    def warn_of(self, learned: Learned) -> None:
        assert learned.draws is not None  # of its weights
        residual = learned.draws.solution["kkt_residual"]
        name = "LSSVM" if self.costs.weighting is None else "IDLSSVM"
        if not residual <= MAX_RESIDUAL:
            warn(
                f"the solution of the linear system of {name} has a residual of {residual:.2g}, "
                "where y is 1 or -1: the system is nearly singular with "
                f"C={self.costs.C:g}; use a smaller C, epsilon > 0, or centre and scale the "
                "columns",
                DataWarning,
            )


# the estimators


@dataclass(kw_only=True, eq=False, repr=False)
class HyperplaneDetector(Detector):
    """A detector by f(z) = sum_j w_j k(u_j, z) + b, with -f(z) as the distance and cutoff 0."""

    # the union for all machines; scikit-learn ignores constraints of absent parameters
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **Detector._parameter_constraints,
        "nu": [Interval(Real, 0, 1, closed="right")],
        "C": [Interval(Real, 0, None, closed="neither")],
        "epsilon": [Interval(Real, 0, None, closed="left")],
        "balanced": ["boolean"],
        "neighbors": [Interval(Integral, 1, None, closed="left")],
        "count_self": ["boolean"],
        "density": [StrOptions({"class", "train"})],
        "zero_weight": [StrOptions({"drop", "epsilon"})],
        "core": [Interval(Real, 0, 1, closed="right"), StrOptions({"auto"})],
    }

    kernel: Kernel | Callable[..., Any] = Tabular()

    @property
    def weights_(self) -> np.ndarray:
        """The weights of the training rows: majority first, then minority if it has them."""
        return self.fit_.draws.weights[0] * self._unit

    @property
    def intercept_(self) -> float:
        """The offset b of the hyperplane with ``weights_``."""
        return self.fit_.draws.solution["offset"] * self._unit

    @property
    def _unit(self) -> float:
        """What f is divided by: rho of the one-class SVM."""
        return self.fit_.draws.solution.get("unit", 1.0)


@dataclass(kw_only=True, eq=False, repr=False)
class Separating(HyperplaneDetector):
    """A machine that separates the classes; its errors have a price by the size of the class."""

    _learns_from_minority = True

    kernel: Kernel | Callable[..., Any] = Tabular(RBF("median"))
    cutoff: Cutoff | Chooser | float | None = Own()
    C: float = 1.0
    balanced: bool = True

    def _costs(self) -> Costs:
        return Costs(self.C, self.balanced)


@dataclass(kw_only=True, eq=False, repr=False)
class DensityWeighted(Separating):
    """A machine whose errors cost less for rows in sparse regions; see :mod:`bsvdd.models.svm`."""

    neighbors: int = 5
    count_self: bool = False
    density: str = "class"

    @override
    def _costs(self) -> Costs:
        weighting = DensityWeights(self.neighbors, self.count_self, self.density)
        return Costs(self.C, self.balanced, weighting)


@dataclass(kw_only=True, eq=False, repr=False)
class OCSVM(HyperplaneDetector):
    r"""One-class SVM: the hyperplane farthest from the origin.

    .. math:: f(z) = \frac1\rho \sum_i \alpha_i k(x_i, z) - 1, \qquad \sum \alpha_i = 1, \quad
        0 \le \alpha_i \le 1/(\nu n)

    Parameters
    ----------
    kernel, minor_label, random_state
        As in :class:`bsvdd.BSVDD`.
    nu : float, default=0.1
        Upper bound on the share of margin errors, and lower bound on the share of support vectors.
    core : float or "auto", default="auto"
        The least share of the rows that the description rests on, as in :class:`BSVDD`.
    cutoff : Cutoff, object of bsvdd.cutoffs, float or None, default=None
        As in :class:`bsvdd.BSVDD`, with -f as the distance and 10 refitted folds; rows that repeat
        leave as in :class:`bsvdd.SVDD`. ``Own()`` is f = 0, which excludes far more than ``nu`` of
        new normal rows if the kernel is narrow or the columns are many.

    Attributes
    ----------
    plane_ : Plane
        ``rho``, ``norm`` (||w||) and ``distance_from_origin`` (rho/||w||); if the origin lies among
        the rows, they are 0, 0 and NaN, with a warning. ``case`` is ``"inside"``, ``"on the
        hyperplane"`` or ``"beyond"``, for each majority row; ``support_vector_share`` is at least
        ``nu``, and ``margin_error_share`` at most ``nu``.
    weights_, intercept_ : ndarray of shape (n0,), float
        alpha, and -rho.

    References
    ----------
    Schoelkopf, B. et al. (2001). Estimating the support of a high-dimensional distribution.
    Neural Computation 13, 1443-1471. doi:10.1162/089976601750264965

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
    core: float | str = "auto"

    @override
    def _learner(self) -> Learner:
        return OneClass(self.nu)

    @property
    def plane_(self) -> one_class_svm.Plane:
        """The hyperplane, with rho, ||w||, and the position of each majority row."""
        return self.fit_.learned.solution


@dataclass(kw_only=True, eq=False, repr=False)
class SVM(Separating):
    r"""Class-weighted SVM, a supervised baseline.

    .. math:: f(z) = \sum_i y_i \alpha_i k(x_i, z) + b, \qquad
        0 \le \alpha_i \le C\, \frac{n}{2 n_{y_i}}

    Parameters
    ----------
    kernel : Kernel or callable, default=Tabular(RBF("median"))
        As in :class:`bsvdd.BSVDD`. A narrower kernel flags few new minority rows.
    minor_label, random_state
        As in :class:`bsvdd.BSVDD`.
    C : float, default=1
    balanced : bool, default=True
        Whether the cost of an error is C n / (2 n_y), larger in the smaller class; else it is C.
    cutoff : Cutoff, object of bsvdd.cutoffs, float or None, default=Own()
        ``Own()`` is f = 0, with a warning if it flags no minority row that is left out; other
        values as in :class:`bsvdd.BSVDD`, with -f as the distance.

    Attributes
    ----------
    weights_, intercept_ : ndarray of shape (n,), float
        y_i alpha_i, majority rows first, y = +1 for them; and b.

    References
    ----------
    Cortes, C. and Vapnik, V. (1995). Support-vector networks. Machine Learning 20, 273-297.
    doi:10.1007/BF00994018

    Examples
    --------
    >>> import numpy as np
    >>> from bsvdd import SVM
    >>> X = np.random.default_rng(0).normal(size=(60, 2))
    >>> SVM().fit(X, X[:, 0] > 1).predict([[-1.0, 0.0], [1.5, 0.0]])
    array([ 1, -1])
    """

    @override
    def _learner(self) -> Learner:
        return SupportVectors(self._costs())


@dataclass(kw_only=True, eq=False, repr=False)
class DSVM(DensityWeighted, SVM):
    r"""Density-weighted SVM for class imbalance learning, DSVM-CIL.

    .. math:: 0 \le \alpha_i \le C\, \frac{n\, d_i}{2 \sum_{j: y_j = y_i} d_j}, \qquad
        d_i = 1 - \frac{\|x_i - x_i^{(k)}\|}{\max_j \|x_j - x_i^{(k)}\|}

    Parameters
    ----------
    kernel, C, cutoff, minor_label, random_state
        As in :class:`SVM`.
    balanced : bool, default=True
        Whether both classes have the same sum of costs; else the cost of a row is C d_i, as in the
        source.
    neighbors : int, default=5
        k. It needs k + 1 rows of each class, also in each fold that a cutoff refits.
    count_self : bool, default=False
        Whether a row is its own first neighbour, which the sources do not say; k rows of each
        class are then enough.
    density : {"class", "train"}, default="class"
        Where neighbour and maximum are looked for: among the rows of the same class, or in the
        whole training set, as the note on IDLSSVM-CIL prints it. There, k + 1 rows of both classes
        together are enough, and minority rows among the majority weigh more.

    Attributes
    ----------
    weights_, intercept_
        As in :class:`SVM`.

    References
    ----------
    Hazarika, B. B. and Gupta, D. (2021). Density-weighted support vector machines for binary
    class imbalance learning. Neural Computing and Applications 33.
    doi:10.1007/s00521-020-05240-8

    Examples
    --------
    >>> import numpy as np
    >>> from bsvdd import DSVM
    >>> X = np.random.default_rng(0).normal(size=(60, 2))
    >>> DSVM(C=10).fit(X, X[:, 0] > 1).predict([[-1.0, 0.0], [1.5, 0.0]])
    array([ 1, -1])
    """


@dataclass(kw_only=True, eq=False, repr=False)
class LSSVM(Separating):
    r"""Least-squares SVM.

    .. math:: (K + \mathrm{diag}(1/C_i)) w + b 1 = y, \qquad 1^\top w = 0, \qquad
        f(z) = \sum_i w_i k(x_i, z) + b, \qquad C_i = C\, \frac{n}{2 n_{y_i}}

    Above 10,000 rows the kernel matrix is not formed, and conjugate gradients solve the system.

    Parameters
    ----------
    kernel, C, balanced, cutoff, minor_label, random_state
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
    >>> est.predict([[-1.0, 0.0], [1.5, 0.0]])
    array([ 1, -1])
    >>> est.kkt_residual_ < 1e-9
    True
    """

    epsilon: float = 0.0

    @override
    def _dictionary(self, n_points: int) -> Dictionary:
        return AllRows(with_minority=True, unlimited=True, matrix_free_above=DENSE_ROWS)

    @override
    def _learner(self) -> Learner:
        return LeastSquares(self._costs(), self.epsilon)

    @property
    def kkt_residual_(self) -> float:
        """The largest violation of the linear system."""
        return self.fit_.draws.solution["kkt_residual"]

    @property
    def slack_(self) -> np.ndarray:
        """The slack 1 - y f(x) of each training row, majority first."""
        f = self.fit_.score.values(self.gram_.points.rows)
        return 1.0 - svm.labels(self.gram_) * f


@dataclass(kw_only=True, eq=False, repr=False)
class IDLSSVM(DensityWeighted, LSSVM):
    r"""Improved density-weighted least-squares SVM for class imbalance learning, IDLSSVM-CIL.

    .. math:: (K + \mathrm{diag}(1/C_i) + \epsilon I) w + b 1 = y, \qquad 1^\top w = 0,
        \qquad C_i = C\, \frac{n\, d_i^2}{2 \sum_{j: y_j = y_i} d_j^2},

    .. math:: d_i = 1 - \frac{\|x_i - x_i^{(k)}\|}{\max_j \|x_j - x_i^{(k)}\|}

    Parameters
    ----------
    kernel, C, epsilon, cutoff, minor_label, random_state
        As in :class:`LSSVM`.
    balanced : bool, default=True
        Whether both classes have the same sum of costs; else C_i = C d_i^2, as in the source.
    neighbors, count_self, density
        As in :class:`DSVM`; they need the same number of rows of each class.
    zero_weight : {"drop", "epsilon"}, default="drop"
        How a row with d = 0, whose ridge is infinite, is treated, for which the sources have no
        rule: it gets weight zero, or its ridge is only epsilon.

    Attributes
    ----------
    density_weights_ : ndarray of shape (n,)
        d, majority rows first.
    weights_, intercept_, kkt_residual_, slack_
        As in :class:`LSSVM`; the slack of a row with d > 0 is alpha_i/C_i where epsilon is 0.

    References
    ----------
    Hazarika, B. B. and Gupta, D. (2021). Density-weighted support vector machines for binary
    class imbalance learning. Neural Computing and Applications 33.
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

    @override
    def _learner(self) -> Learner:
        return LeastSquares(self._costs(), self.epsilon, self.zero_weight)

    @property
    def density_weights_(self) -> np.ndarray:
        """The density weights of the training rows, majority first."""
        learner: Any = self.fit_.learner
        weights: np.ndarray = learner.costs.weighting(self.gram_)
        return weights
