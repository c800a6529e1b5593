"""Models as published: what each publication fixes, what it leaves open, and the estimator.

The parameters stand in ``as_published.toml``.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from operator import attrgetter
from pathlib import Path
from typing import Any

import numpy as np

from ..inference.cutoff import as_cutoff
from ..inference.warning import warn
from ..models import kernels, priors
from .detector import Detector
from .encoding import decode
from .messages import did_you_mean
from .registry import REGISTRY

FILE = Path(__file__).with_suffix(".toml")


@dataclass(frozen=True, eq=False, kw_only=True)
class Choice:
    """The value of a parameter, in words, and which other values the publication allows.

    Without ``same``, ``never`` and ``like`` it allows an equal value only.

    Attributes
    ----------
    parameter : str
    models : sequence of str
        The models that have this value.
    words : str
        What the publication says, and where; or what our choice means.
    value : object
    same : sequence of str
        Other values of this type are allowed if these attributes are the same.
    never : dict
        Values of attributes that are not allowed.
    like : str
        All values of this class of :mod:`bsvdd.priors` or :mod:`bsvdd.kernels` are allowed, as are
        kernels that only scale the columns before it.
    """

    parameter: str
    models: Sequence[str]
    words: str
    value: Any = None
    same: Sequence[str] = ()
    never: Mapping[str, Any] = field(default_factory=dict)
    like: str = ""

    def allows(self, value: Any) -> bool:
        """Return whether the publication allows the value."""
        own = self.value
        if self.like:
            kind = getattr(priors, self.like, None) or getattr(kernels, self.like)
            return isinstance(getattr(value, "kernel", value), kind) and not self._excludes(value)
        if not self.same:
            return np.array_equal(value, own)
        if self.parameter == "cutoff":
            value, own = as_cutoff(value), as_cutoff(own)
        return (
            isinstance(value, type(own))
            and all(attrgetter(name)(value) == attrgetter(name)(own) for name in self.same)
            and not self._excludes(value)
        )

    def _excludes(self, value: Any) -> bool:
        """Return whether the value has an attribute that is not allowed."""
        return any(getattr(value, name, None) == other for name, other in self.never.items())


@dataclass(frozen=True)
class Publication:
    """The parameters of a model, by name: those that its publication fixes, and our choices."""

    fixed: dict[str, Choice]
    open: dict[str, Choice]

    @property
    def parameters(self) -> dict[str, Any]:
        """The parameters of the estimator, without the kernel."""
        return {name: choice.value for name, choice in (self.fixed | self.open).items()}


def _publications() -> dict[str, Publication]:
    kinds = {
        kind: [Choice(**each | {"value": decode(each.get("value"), {})}) for each in table]
        for kind, table in tomllib.loads(FILE.read_text(encoding="utf-8")).items()
    }
    of_models = {
        name: {
            kind: {choice.parameter: choice for choice in choices if name in choice.models}
            for kind, choices in kinds.items()
        }
        for name in REGISTRY
    }
    return {name: Publication(**found) for name, found in of_models.items() if found["fixed"]}


PUBLICATIONS = _publications()


def as_published(name: str, **changes: Any) -> Detector:
    r"""Return the unfitted estimator of a model as published.

    ===========  =================================================  ===============================
    model        from the publication                               left open there: our choice
    ===========  =================================================  ===============================
    SVDD         the boundary is the sphere                         C = 1/(.1 n0)
    SVDD-M       the boundary is the sphere                         C = 1/(.1 n0), C2 = 1/(.1 n1)
    BDD          mean -(row sums)\ :sup:`nu`, Sigma = I,            nu = .5, c = .9 n0
                 posterior mode on the convex set (sum 1, all in
                 (0, 1)), :math:`d \le d_{(c)}` on training rows
    BDD-M        normal prior given the minority weights, which     means, Sigma, sampler, draws,
                 are normal on [0, 1]                               cutoff
    BSVDD        mean -(row sums), Sigma = I, random-walk           draws, tune, chains, criterion
                 Metropolis, P(d <= D_opt) > .5, D_opt by           and folds of D_opt
                 cross-validation
    BSVDD-M      the same for tau, and minority weights that        draws, tune, chains, criterion
                 are Beta(1, 1); P(d <= D_opt) > .5                 and folds
    OCSVM        the boundary is f = 0                              nu = .1
    DSVM-CIL     density weights over the training set with k = 5,  C = 1, no row is its own
                 f = 0                                              neighbour
    IDLSSVM-CIL  the same, with an RBF kernel                       the same, epsilon = .001, no
                                                                    weight where d = 0
    ===========  =================================================  ===============================

    The kernel is our choice, ``kernels.RBF()`` with the modified mean criterion, but for the RBF
    kernel of IDLSSVM-CIL: the slides of Kim (2024) name none, nor a criterion of D_opt. Ours, on
    leave-one-out distances in closed form, is the G-mean with minority rows, without a limit of
    false alarms, else a false-alarm rate of .1. Means and covariances of the priors are those that
    the sources have without prior knowledge; other normal priors, and other a and b, are theirs
    too. Refitted folds, as in ``Cutoff(Best("f1", max_fpr=None), cv=5,
    uncertain=False)``, are cross-validation too, and take five further fits. P(normal) is the share
    of draws with :math:`d_z \le D_{opt}`, each with the norm of its own centre
    (``uncertain=False``).

    ``simplex=False`` has the mode of free weights of BDD, a linear system whose weights do not sum
    to one; slide 14 has the convex set.

    Metropolis needs many draws: with 5,000 after 5,000 of tuning, R-hat of d_z was 1.002 and 1.003
    at 50 and 150 rows. ``est.idata_["diagnostics"]`` has R-hat, and a fit warns above 1.01; then
    give more ``draws``. NUTS is faster, and samples the same posterior. The note on IDLSSVM-CIL
    adds the ridge to every entry of the matrix; the optimality conditions have it on the diagonal
    only, and so has this estimator.

    Parameters
    ----------
    name : str
        Name of the model, as in ``bsvdd models``, or of its class.
    **changes
        Other parameters of the estimator.

    Returns
    -------
    estimator

    Raises
    ------
    ValueError
        The model is unknown, or is here for comparison, and no publication sets its parameters
        (SVM and LS-SVM).
    TypeError
        The model has no parameter of that name.

    Warns
    -----
    UserWarning
        The publication excludes a change.

    Examples
    --------
    >>> import numpy as np
    >>> from bsvdd import as_published
    >>> est = as_published("BDD")
    >>> est.sampler, est.prior, est.cutoff.choose
    ('map', RowSum(sd=1.0, exponent=0.5), Rank(c=0.9))
    >>> X = np.random.default_rng(0).normal(size=(100, 2))
    >>> int((as_published("SVDD", outlier_fraction=0.2).fit(X).predict(X) == 1).sum())
    91
    """
    by_name = {**{r.class_name: r for r in REGISTRY.values()}, **REGISTRY}
    if name not in by_name:
        raise ValueError(
            f"unknown model {name!r}{did_you_mean(name, by_name)}; expected one of "
            f"{', '.join(REGISTRY)}"
        )
    record = by_name[name]
    publication, known = PUBLICATIONS.get(record.name), record.parameters
    if publication is None:
        raise ValueError(
            f"{record.name} is here for comparison, and no source sets its parameters; "
            f"use bsvdd.{record.class_name}(), or one of {', '.join(PUBLICATIONS)}"
        )
    for parameter, value in changes.items():
        if parameter not in known:
            raise TypeError(
                f"{record.name} has no parameter {parameter!r}{did_you_mean(parameter, known)}; "
                f"expected some of {', '.join(known)}"
            )
        choice = publication.fixed.get(parameter)
        if choice is not None and not choice.allows(value):
            warn(
                f"{parameter}={value!r}: {record.name} is no longer as published (the source: "
                f"{choice.words}); use {parameter}={choice.value!r}, or "
                f"bsvdd.{record.class_name}(...)",
                UserWarning,
            )
    parameters = {"kernel": kernels.RBF()} | publication.parameters | changes
    est: Detector = record.estimator()(**parameters)
    return est
