"""SVDD, without and with minority rows: the smallest ball around the majority."""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Real
from typing import ClassVar, cast, override

import numpy as np
from sklearn.utils._param_validation import Interval

from ..inference.draws import Draws
from ..models.dictionary import Dictionary
from ..models.svdd import Sphere, solve
from .description import Description
from .of_rows import Constraints


@dataclass(kw_only=True, eq=False, repr=False)
class SVDD(Description):
    r"""Support vector data description: the smallest ball around the majority.

    .. math:: \max_w \sum_i w_i K_{ii} - w^\top K w, \qquad \sum w_i = 1, \quad
        0 \le w_i \le C

    Parameters
    ----------
    kernel : Kernel or callable, default=Tabular()
        As in :class:`BSVDD`.
    C : float, optional
        Largest weight, at least 1/n0. With C >= 1 no row lies outside. ``None`` is
        1/(n0 ``outlier_fraction``) (Tax and Duin 2004).
    outlier_fraction : float, default=0.1
        The largest share of majority rows that may lie outside; used if C is None.
    dictionary : optional
        As in :class:`BSVDD`; "auto" is 2,000 atoms.
    cutoff : object of bsvdd.cutoffs or None, default=None
        As in :class:`BSVDD`: a left-out row is compared with the sphere of the others.
        ``Printed(of="own")`` is the sphere of the description, which
        excludes far more than ``outlier_fraction`` of new normal rows if the kernel is
        narrow or the columns are many.
    minor_label : optional
        Label of the minority in y, see :class:`BSVDD`.
    table : Table, optional
        As in :class:`BSVDD`.

    Attributes
    ----------
    radius_ : float
        R, on the scale of d_z.
    weights_ : ndarray of shape (M,)
    sphere_ : Sphere
    kernel_, gram_, idata_, cutoff_
        As in :class:`BSVDD`; ``idata_`` has one draw. P(normal) and intervals count the
        uncertainty of the cutoff, of rows that the sample has not shown, and of the
        centre by a bootstrap of the rows near z, see :mod:`bsvdd.inference.boundary`.

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

    _default_atoms = 2000
    _parameter_constraints: ClassVar[Constraints] = {
        **Description._parameter_constraints,
        "C": [Interval(Real, 0, None, closed="neither"), None],
        "outlier_fraction": [Interval(Real, 0, 1, closed="right")],
    }

    C: float | None = None
    outlier_fraction: float = 0.1

    def _costs(self, dictionary: Dictionary) -> tuple[float, float | None]:
        """Return C and C2."""
        if self.C is not None:
            return self.C, None
        return 1.0 / (dictionary.n0 * self.outlier_fraction), None

    @override
    def _draws(self, dictionary: Dictionary, seed: int) -> Draws:
        sphere = solve(dictionary, *self._costs(dictionary))
        return Draws(sphere, sphere.weights[None])

    @property
    def sphere_(self) -> Sphere:
        """The solution: weights of atoms, their squared distances, and the radius."""
        return cast("Sphere", self.fit_.draws.model)

    @property
    def weights_(self) -> np.ndarray:
        """The weights of the atoms: of the majority first, then of minority rows."""
        return self.sphere_.weights

    @property
    def radius_(self) -> float:
        """The radius R, on the scale of d_z."""
        return float(np.sqrt(max(self.sphere_.squared_radius, 0.0)))


@dataclass(kw_only=True, eq=False, repr=False)
class SVDDM(SVDD):
    r"""Support vector data description with minority rows, which should lie outside.

    .. math::
        \max_w \sum_j w_j K_{jj} - w^\top K w, \qquad w = [\alpha_0, -\alpha_1], \quad
        \sum w_j = 1, \quad 0 \le \alpha_0 \le C, \quad 0 \le \alpha_1 \le C_2

    Parameters
    ----------
    kernel, dictionary, cutoff, minor_label, table : optional
        As in :class:`SVDD`.
    C : float, optional
        Cost of majority rows outside, at least 1/n0. ``None`` is 1/(n0
        ``outlier_fraction``).
    outlier_fraction : float, default=0.1
        Used if C is None. At most the share ``outlier_fraction`` (1 + sum(alpha1)) of
        majority rows lies outside, because each such row has weight C.
    C2 : float, optional
        Cost of minority rows inside. ``None`` is 1/(n1 ``minority_fraction``).
    minority_fraction : float, default=0.1
        Used if C2 is None. At most the share ``minority_fraction`` sum(alpha1) of
        minority rows lies inside.

    Attributes
    ----------
    radius_, weights_, sphere_, kernel_, gram_, idata_, cutoff_
        As in :class:`SVDD`; the minority rows are the last atoms.

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
    >>> est.predict([[-0.5, 0.0], [1.8, 0.0]])
    array([ 1, -1])
    """

    _learns_from_minority = True
    _parameter_constraints: ClassVar[Constraints] = {
        **SVDD._parameter_constraints,
        "C2": [Interval(Real, 0, None, closed="neither"), None],
        "minority_fraction": [Interval(Real, 0, 1, closed="right")],
    }

    C2: float | None = None
    minority_fraction: float = 0.1

    @override
    def _costs(self, dictionary: Dictionary) -> tuple[float, float | None]:
        C, _ = super()._costs(dictionary)
        n1 = float(dictionary.minority_weights.sum())
        if self.C2 is None and n1:
            return C, 1.0 / (n1 * self.minority_fraction)
        return C, self.C2
