"""SVDD, without and with minority rows: the smallest ball around the majority."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from numbers import Real
from typing import Any, ClassVar, cast, override

import numpy as np
from sklearn.utils._param_validation import Interval, StrOptions

from ..inference.center import Center
from ..inference.draws import Draws
from ..inference.learned import Data, Learned, Learner
from ..models import quadratic_program, svdd
from ..models.kernels import Kernel, Tabular
from .detector import Detector


@dataclass(frozen=True)
class Ball(Learner):
    """SVDD, with the largest weights C and C2, or the fractions that they follow from."""

    C: float | None
    outlier_fraction: float
    with_minority: bool = False
    C2: float | None = None
    minority_fraction: float = 0.1

    folds: ClassVar[int] = 10  # the other weights without a support vector are of another problem
    has_own: ClassVar[bool] = True

    @override
    def learn(self, data: Data) -> Learned:
        C = _largest_weight(self.C, data.gram.n0, self.outlier_fraction)
        bounds = {"C": C}
        if self.with_minority:
            bounds["C2"] = _largest_weight(self.C2, data.gram.n1, self.minority_fraction)
        w = svdd.solve(data.gram, *bounds.values()).weights
        return self.learned(Draws.of_weights(w, bounds), data)

    @override
    def learned(self, draws: Draws, data: Data) -> Learned:
        bounds = draws.solution
        sphere = svdd.describe(draws.weights[0], data.gram, bounds["C"], bounds.get("C2"))
        center = Center(draws.weights, data.gram, nonnegative=not self.with_minority)
        own = float(center.boundary_at(sphere.boundary).least[0])
        of_value = np.abs(draws.weights).sum() * data.gram.largest * quadratic_program.PRECISION
        tolerance = float(of_value / (np.exp(own) if center.logarithmic else 1.0))
        return Learned(center, draws, own=own, solution=sphere, tolerance=tolerance)


def _largest_weight(C: float | None, n: int, fraction: float) -> float:
    """Return C, or 1/(n fraction) if C is None (Tax and Duin 2004)."""
    return 1.0 / (n * fraction) if C is None else float(C)


@dataclass(kw_only=True, eq=False, repr=False)
class SVDD(Detector):
    r"""Support vector data description: the smallest ball around the majority.

    .. math:: \max_w \sum_i w_i K_{ii} - w^\top K w, \qquad \sum w_i = 1, \quad 0 \le w_i \le C

    Parameters
    ----------
    kernel : Kernel or callable, default=Tabular()
        As in :class:`BSVDD`.
    C : float, optional
        Largest weight, at least 1/n0. With C >= 1 no row lies outside. ``None`` is
        1/(n0 ``outlier_fraction``) (Tax and Duin 2004).
    outlier_fraction : float, default=0.1
        The largest share of majority rows that may lie outside; used if C is None.
    core : float or "auto", default="auto"
        The least share of the rows that the description rests on, as in :class:`BSVDD`.
    cutoff : Cutoff, object of bsvdd.cutoffs, float or None, default=None
        As in :class:`BSVDD`, with 10 refitted folds: deleting a support vector changes the other
        weights. Where rows repeat and at most 30 differ, each leaves alone, and its copies stay;
        equal rows have one left-out value, the mean of theirs. ``Own()`` is the sphere of the
        description, which excludes far more than ``outlier_fraction`` of new normal rows if the
        kernel is narrow or the columns are many.
    minor_label : optional
        Label of the minority in y, see :class:`BSVDD`.
    random_state : int, RandomState or None, default=0
        Seed of the folds that ``cutoff`` refits.

    Attributes
    ----------
    radius_ : float
        R, on the scale of d_z.
    weights_ : ndarray of shape (n0,)
    C_ : float
    kernel_, gram_, idata_, cutoff_
        As in :class:`BSVDD`; ``idata_`` has one draw, and P(normal) and intervals count the
        uncertainty of the cutoff and of rows that the sample has not shown, and not that of the
        centre: intervals of 90 % are too short.

    See Also
    --------
    BSVDD : the centre with a posterior.

    References
    ----------
    Tax, D. M. J. and Duin, R. P. W. (2004). Support vector data description. Machine
    Learning 54, 45-66. doi:10.1023/B:MACH.0000008084.60811.49

    Examples
    --------
    >>> import numpy as np
    >>> from bsvdd import SVDD, kernels
    >>> X = np.random.default_rng(0).normal(size=(100, 2))
    >>> SVDD(kernel=kernels.RBF("median")).fit(X).predict([[0.0, 0.0], [9.0, 9.0]])
    array([ 1, -1])
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **Detector._parameter_constraints,
        "C": [Interval(Real, 0, None, closed="neither"), None],
        "outlier_fraction": [Interval(Real, 0, 1, closed="right")],
        "core": [Interval(Real, 0, 1, closed="right"), StrOptions({"auto"})],
    }

    kernel: Kernel | Callable[..., Any] = Tabular()
    C: float | None = None
    outlier_fraction: float = 0.1
    core: float | str = "auto"

    @override
    def _learner(self) -> Learner:
        return Ball(self.C, self.outlier_fraction)

    @property
    def C_(self) -> float:
        """The largest weight of a majority row in the fit."""
        learner = cast("Ball", self.fit_.learner)
        return _largest_weight(learner.C, self.gram_.n0, learner.outlier_fraction)

    @property
    def weights_(self) -> np.ndarray:
        """The weights of the dictionary: majority rows first, then minority rows if it has them."""
        return self.fit_.learned.solution.weights

    @property
    def radius_(self) -> float:
        """The radius R, on the scale of d_z."""
        return self.fit_.learned.solution.radius

    @property
    def support_case_(self) -> np.ndarray:
        """Where each dictionary point lies: "inside", "on the sphere" or "outside"."""
        return self.fit_.learned.solution.case

    @property
    def kkt_residual_(self) -> float:
        """The largest violation of the optimality (KKT) conditions, on the scale of d^2."""
        return self.fit_.learned.solution.kkt_residual


@dataclass(kw_only=True, eq=False, repr=False)
class SVDDM(SVDD):
    r"""Support vector data description with minority rows, which should lie outside.

    .. math::
        \max_w \sum_j w_j K_{jj} - w^\top K w, \qquad w = [\alpha_0, -\alpha_1], \quad
        \sum w_j = 1, \quad 0 \le \alpha_0 \le C, \quad 0 \le \alpha_1 \le C_2

    Parameters
    ----------
    kernel, cutoff, minor_label, random_state
        As in :class:`SVDD`.
    C : float, optional
        Cost of majority rows outside, at least 1/n0. ``None`` is 1/(n0 ``outlier_fraction``).
    outlier_fraction : float, default=0.1
        Used if C is None. At most the share ``outlier_fraction`` (1 + sum(alpha1)) of majority
        rows lies outside, because each such row has weight C.
    core : float or "auto", default="auto"
        1, as there are labels.
    C2 : float, optional
        Cost of minority rows inside. ``None`` is 1/(n1 ``minority_fraction``).
    minority_fraction : float, default=0.1
        Used if C2 is None. At most the share ``minority_fraction`` sum(alpha1) of minority rows
        lies inside.

    Attributes
    ----------
    radius_, weights_, support_case_, kkt_residual_, C_, kernel_, gram_, idata_, cutoff_
        As in :class:`SVDD`; the minority rows are the last dictionary points.

    References
    ----------
    Tax, D. M. J. and Duin, R. P. W. (2004). Support vector data description. Machine
    Learning 54, 45-66. doi:10.1023/B:MACH.0000008084.60811.49

    Examples
    --------
    >>> import numpy as np
    >>> from bsvdd import SVDDM, kernels
    >>> X = np.random.default_rng(0).normal(size=(60, 2))
    >>> y = (X[:, 0] > 1.2).astype(int)
    >>> est = SVDDM(kernel=kernels.RBF("median")).fit(X, y)
    >>> sorted(set(est.support_case_.tolist()))
    ['inside', 'on the sphere', 'outside']
    """

    _learns_from_minority = True
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **SVDD._parameter_constraints,
        "C2": [Interval(Real, 0, None, closed="neither"), None],
        "minority_fraction": [Interval(Real, 0, 1, closed="right")],
    }

    C2: float | None = None
    minority_fraction: float = 0.1

    @override
    def _learner(self) -> Learner:
        return Ball(self.C, self.outlier_fraction, True, self.C2, self.minority_fraction)
