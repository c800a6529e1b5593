r"""The likelihoods: the kernel potential of a weighted centre, and SVDD's loss.

With a = sum_j w_j phi(u_j) the majority rows contribute

.. math::
    \log p(x \mid w) = -\frac{\lambda}{2} \sum_i \|\phi(x_i) - a\|^2
                     = -\frac{\lambda}{2} \left(T - 2 w^\top r + n_0 w^\top K w\right).

In kernel space N(a, I) has no density, so this is a quasi-likelihood; its weight lambda
against the prior is a choice (Ghasemi et al. 2012 and the later models take 1).

A model says its likelihood in numbers too (:meth:`bsvdd.models.model.Model.likelihood`), which give
the log-likelihood of single rows and of all rows. A model with another potential brings its own;
:class:`Likelihood` says what it must have, and :class:`WeightMap` what its map to the weights must.

**SVDD's loss.** The radius of the sphere is a parameter beside its centre.
SVDD minimises (Tax and Duin 2004), over the centre a and the squared radius R^2,

.. math::
    R^2 + C_1 \sum_i \left(d_i^2 - R^2\right)_+ + C_2 \sum_k \left(R^2 - d_k^2\right)_+, \qquad
    C_1 = \frac{1}{n_0 \nu}, \quad C_2 = \frac{1}{n_1 \mu}

with i the majority rows and k the minority rows, if there are any. Its quasi-likelihood is

.. math::
    \log p(x \mid w, R^2) = -\frac{\lambda n_0}{2} \Big(R^2
    + \frac{1}{\nu}\,\mathrm{mean}_i \left(d_i^2 - R^2\right)_+
    + \frac{1}{\mu}\,\mathrm{mean}_k \left(R^2 - d_k^2\right)_+\Big), \qquad
    R^2 \sim N^+(0, \sigma_R^2), \quad \sigma_R = 10 \left(\bar{d^2} + \frac{2}{\lambda n_0}\right)

with :math:`\bar{d^2}` the mean squared distance of the majority rows from their plain mean. The
half-normal prior is so wide that it is flat where the likelihood is not small: there it falls by
some .02. So the mode under a flat prior of the weights is SVDD's solution. Without minority rows
the least value over R^2 is the conditional value at risk of d^2, the mean of its largest share
:math:`\nu` (Rockafellar and Uryasev 2000). For :math:`\nu = 1` that is the mean of all d^2, the
kernel potential.

Rockafellar, R. T. and Uryasev, S. (2000). Optimization of conditional value-at-risk. Journal of
Risk 2, 21-41. doi:10.21314/JOR.2000.038

Tax, D. M. J. and Duin, R. P. W. (2004). Support vector data description. Machine Learning 54,
45-66. doi:10.1023/B:MACH.0000008084.60811.49
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, override

import numpy as np

from .gram import Gram
from .priors.numbers import Values, VariableDensity

if TYPE_CHECKING:
    import pymc as pm
    from pytensor.tensor.variable import TensorVariable


class NoDensityError(Exception):
    """A model has no density in numbers; the message says why."""


class Likelihood(Protocol):
    """What a model says of its likelihood, in numbers.

    ``potential`` is the name of its potential in the PyMC model; other potentials are of priors.
    A likelihood of more variables than the weights names the others in ``parameters``, a tuple of
    str, and all methods take their draws by these names. If minority rows have terms too, the
    method ``minority_pointwise`` gives them as ``pointwise`` does. With the method
    ``value_and_pull`` (see :class:`KernelLikelihood`) its model is sampled without a compiler.
    """

    @property
    def potential(self) -> str: ...  # noqa: D102

    def pointwise(self, *args: Any, **kwargs: Any) -> np.ndarray:
        """Return the log-likelihood of each majority row from its distance d, shape (..., n)."""
        ...

    def total(self, *args: Any, **kwargs: Any) -> np.ndarray:
        """Return the log-likelihood of all rows from w (..., M) and the Gram statistics, (...)."""
        ...


class WeightMap(Protocol):
    """What a model says of its map from variables to weights, in numbers.

    Attributes
    ----------
    inputs : tuple of str
        The variables that it takes.
    """

    @property
    def inputs(self) -> tuple[str, ...]: ...  # noqa: D102

    def weights(self, *args: Any, **kwargs: Any) -> np.ndarray:
        """Return the weights (S, M) of a batch of the variables, each of shape (S, ...)."""
        ...

    def pull(self, *args: Any, **kwargs: Any) -> tuple[np.ndarray, ...]:
        """Return J'g for each variable: from the weights w, a gradient g by w, the variables."""
        ...


@dataclass(frozen=True)
class KernelLikelihood:
    r"""The likelihood of the kernel potential, :math:`-\tfrac{\lambda}{2} d_i^2` for row i.

    Parameters
    ----------
    scale : float, default=1
        lambda.
    """

    scale: float = 1.0

    potential: ClassVar[str] = "kernel"

    def pointwise(self, d: np.ndarray) -> np.ndarray:
        """Return the log-likelihood of each row from its distance, shape (..., n)."""
        value = np.square(d)
        value *= -self.scale / 2
        return value

    def total(self, w: np.ndarray, gram: Gram) -> np.ndarray:
        """Return the log-likelihood of all rows from the weights, shape (..., M) -> (...)."""
        return self.value_and_pull(w, gram)[0]

    def value_and_pull(self, w: np.ndarray, gram: Gram) -> tuple[np.ndarray, np.ndarray]:
        r"""Return the log-likelihood (...) of weights (..., M), and its gradient by them.

        .. math:: \mathrm{pull} = \lambda \left(r - n_0 K w\right)
        """
        pull = w @ gram.K
        pull *= -gram.n0 * self.scale
        pull += self.scale * gram.r  # lambda (r - n0 K w)
        value = np.vecdot(w, pull) + self.scale * (w @ gram.r - gram.T)
        return value / 2.0, pull


@dataclass(frozen=True)
class SVDDLikelihood:
    r"""The likelihood of SVDD's loss, in numbers.

    Parameters
    ----------
    outlier_fraction : float
        nu.
    minority_fraction : float
        mu.
    scale : float, default=1
        lambda.
    weight : float, default=1
        n0 / n1, of a minority row.
    """

    outlier_fraction: float
    minority_fraction: float
    scale: float = 1.0
    weight: float = 1.0

    parameters: ClassVar[tuple[str, ...]] = ("squared_radius",)
    potential: ClassVar[str] = "svdd"

    def pointwise(self, d: np.ndarray, squared_radius: np.ndarray) -> np.ndarray:
        r"""Return the log-likelihood of majority rows, shape (..., n), for R^2 of shape (...).

        .. math:: -\frac{\lambda}{2} \left(R^2 + \left(d_i^2 - R^2\right)_+ / \nu\right)
        """
        R2 = squared_radius[..., None]
        return -self.scale / 2 * (R2 + np.maximum(d**2 - R2, 0.0) / self.outlier_fraction)

    def minority_pointwise(self, d: np.ndarray, squared_radius: np.ndarray) -> np.ndarray:
        r"""Return the log-likelihood of minority rows, shape (..., n), for R^2 of shape (...).

        .. math:: -\frac{\lambda}{2} \frac{n_0}{n_1 \mu} \left(R^2 - d_k^2\right)_+
        """
        cost = self.weight / self.minority_fraction
        return -self.scale / 2 * cost * np.maximum(squared_radius[..., None] - d**2, 0.0)

    def total(self, w: np.ndarray, gram: Gram, squared_radius: np.ndarray) -> np.ndarray:
        """Return the log-likelihood of all rows, (..., M) and (...) -> (...)."""
        return self.value_and_pull(w, gram, squared_radius)[0]

    def value_and_pull(
        self, w: np.ndarray, gram: Gram, squared_radius: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        r"""Return the log-likelihood (...), and its gradients by w (..., M) and by R^2 (...).

        With :math:`c_j = C_j y_j` for points on the wrong side of the sphere, and 0 for others,
        they are

        .. math::
            \lambda n_0 \left(K c - \textstyle\sum_j c_j\, K w\right), \qquad
            -\frac{\lambda n_0}{2} \left(1 - \textstyle\sum_j c_j\right).
        """
        m = gram.n_majority_points
        Kw = w @ gram.K
        d2 = np.diag(gram.K) - 2.0 * Kw + np.vecdot(w, Kw)[..., None]
        costs = [1.0 / self.outlier_fraction, self.weight / self.minority_fraction]
        cost = np.repeat(costs, [m, gram.n1]) / m
        side = np.repeat([1.0, -1.0], [m, gram.n1])
        slack = np.maximum(side * (d2 - squared_radius[..., None]), 0.0)
        half = -self.scale * m / 2
        c = np.where(slack > 0.0, cost * side, 0.0)
        total = c.sum(axis=-1)
        pull = -2.0 * half * (c @ gram.K - total[..., None] * Kw)
        return half * (squared_radius + slack @ cost), pull, half * (1.0 - total)


@dataclass(frozen=True, eq=False)
class SquaredRadius(VariableDensity):
    """The squared radius of a sphere, with a wide half-normal prior; x is its log.

    Attributes
    ----------
    initial : float
    sd : float
    """

    initial: float
    sd: float
    name = "squared_radius"

    @property
    @override
    def start(self) -> np.ndarray:
        return np.log([self.initial])

    @override
    def deterministics(self, free: Values) -> Values:
        return {"radius": np.sqrt(free[self.name])}

    @override
    def free(self, x: np.ndarray) -> np.ndarray:
        return np.exp(x[:, 0])

    @override
    def slope(self, x: np.ndarray) -> np.ndarray | float:
        return np.exp(x)

    @override
    def value_and_gradient(self, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        R2 = np.exp(x)
        return self.log_prior({self.name: R2[:, 0]}) + x[:, 0], 1.0 - (R2 / self.sd) ** 2

    @override
    def log_prior(self, free: Values) -> np.ndarray:
        from scipy.stats import halfnorm

        density: np.ndarray = halfnorm.logpdf(free[self.name], scale=self.sd)
        return density

    @override
    def draw(self, n: int, rng: np.random.Generator) -> Values:
        return {self.name: np.abs(self.sd * rng.standard_normal(n))}


def kernel_potential(w: TensorVariable, gram: Gram, likelihood_scale: float = 1.0) -> None:
    r"""Add the potential of the weights ``w`` to the PyMC model in context.

    The statistics become ``pm.Data`` (``K``, ``r``, ``T``, ``n0``, ``likelihood_scale``).
    ``squared_norm`` is :math:`\|a\|^2 = w^\top K w`.
    """
    import pymc as pm

    # K is read only: no copy
    K, r = pm.Data("K", gram.K, borrow=True), pm.Data("r", gram.r, dims="point")
    T, n0 = pm.Data("T", float(gram.T)), pm.Data("n0", float(gram.n0))
    scale = pm.Data("likelihood_scale", float(likelihood_scale))
    norm = pm.Deterministic("squared_norm", w @ K @ w)
    pm.Potential("kernel", -scale / 2 * (T - 2 * (w @ r) + n0 * norm))


def svdd_potential(
    w: TensorVariable,
    gram: Gram,
    outlier_fraction: float,
    minority_fraction: float = 0.1,
    likelihood_scale: float = 1.0,
) -> None:
    r"""Add R^2 and the potential of SVDD's loss to the PyMC model in context.

    For nu = 1 it is :func:`kernel_potential`, which needs no R^2.

    ``squared_radius`` is R^2 and ``radius`` is R. With ``penalty`` C_j and ``side`` y_j = 1 for
    majority and -1 for minority points, the potential is

    .. math:: -\frac{\lambda n_0}{2} \Big(R^2
        + \sum_j C_j \left(y_j \left(d_j^2 - R^2\right)\right)_+\Big).

    These numbers are ``pm.Data``. The density takes one product with K and its gradient one more.
    ``squared_norm`` is :math:`w^\top K w`.

    Parameters
    ----------
    w : TensorVariable
    gram : Gram
        Its majority points are all majority rows, in any order, and its minority points are all
        minority rows.
    outlier_fraction, minority_fraction : float
        nu and mu, in (0, 1].
    likelihood_scale : float, default=1
        lambda.

    Raises
    ------
    ValueError
        A fraction lies outside (0, 1], or the majority points are not the majority rows.
    """
    if outlier_fraction == 1:
        return kernel_potential(w, gram, likelihood_scale)
    import pymc as pm

    fractions = {"outlier_fraction": outlier_fraction, "minority_fraction": minority_fraction}
    for name, value in fractions.items():
        if not 0 < value <= 1:
            raise ValueError(f"{name} must lie in (0, 1], got {value!r}")
    m, n1 = gram.n_majority_points, max(gram.n1, 1)  # without minority rows, C2 has no row
    if m != gram.n0 or not np.allclose(gram.r, gram.K[:, :m].sum(axis=1)):
        raise ValueError(
            "outlier_fraction below 1 needs the distance of every training row, so every row must "
            f"be a point of the centre, but a dictionary of {m} points stands for {gram.n0} "
            "majority rows; use dictionary=None, or outlier_fraction=1"
        )
    C1, C2 = 1.0 / (m * outlier_fraction), 1.0 / (n1 * minority_fraction)
    K, diagonal = pm.Data("K", gram.K), pm.Data("diagonal", np.diag(gram.K), dims="point")
    penalty = pm.Data("penalty", np.repeat([C1, C2], [m, gram.n1]), dims="point")
    side = pm.Data("side", np.repeat([1.0, -1.0], [m, gram.n1]), dims="point")
    n0, scale = pm.Data("n0", float(m)), pm.Data("likelihood_scale", float(likelihood_scale))
    of_radius = radius(gram, outlier_fraction, likelihood_scale)["squared_radius"]
    sd = pm.Data("squared_radius_sd", of_radius.sd)
    R2 = pm.HalfNormal("squared_radius", sd, initval=of_radius.initial)
    pm.Deterministic("radius", pm.math.sqrt(R2))
    Kw = K @ w
    norm = pm.Deterministic("squared_norm", w @ Kw)
    d2 = diagonal - 2.0 * Kw + norm
    slack = pm.math.maximum(side * (d2 - R2), 0.0)
    pm.Potential("svdd", -scale * n0 / 2 * (R2 + pm.math.sum(penalty * slack)))


def svdd_likelihood(
    gram: Gram,
    outlier_fraction: float,
    minority_fraction: float = 0.1,
    likelihood_scale: float = 1.0,
) -> Likelihood:
    """Return what :func:`svdd_potential` adds, in numbers."""
    if outlier_fraction == 1:
        return KernelLikelihood(float(likelihood_scale))
    weight = gram.n_majority_points / max(gram.n1, 1)
    fractions = float(outlier_fraction), float(minority_fraction)
    return SVDDLikelihood(*fractions, float(likelihood_scale), weight)


def radius(gram: Gram, outlier_fraction: float, likelihood_scale: float) -> dict[str, Any]:
    """Return R^2 in numbers, by its name; nothing for the kernel potential, which has none."""
    if outlier_fraction == 1:
        return {}
    m = gram.n_majority_points
    # the mean d^2 of the majority rows from their plain mean; equal rows have d = 0
    mean = (gram.T - float(gram.r[:m].sum()) / m) / m
    start = max(mean, gram.rounding) or 1.0
    return {"squared_radius": SquaredRadius(start, 10.0 * (start + 2.0 / (likelihood_scale * m)))}


def parameters_of(likelihood: Likelihood) -> tuple[str, ...]:
    """Return the names of the variables, beside the weights, that ``likelihood`` takes."""
    return getattr(likelihood, "parameters", ())


def prior_potentials(model: pm.Model, likelihood: Likelihood) -> list[TensorVariable]:
    """Return the potentials that priors have added: those that are not the likelihood's."""
    return [p for p in model.potentials if p.name != likelihood.potential]
