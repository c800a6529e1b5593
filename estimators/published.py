"""Models as their sources have them."""

from __future__ import annotations

from typing import Any

from ..inference.warning import warn
from ..models.kernels import RBF
from .base import BaseDetector
from .names import meant
from .registry import MODELS, REGISTRY, Record


def as_published(name: str, **changes: Any) -> BaseDetector:
    r"""Return the unfitted estimator of a model as its source has it.

    ===========  =================================================  ===============================
    model        from the source                                    left open there: our choice
    ===========  =================================================  ===============================
    SVDD         the boundary is the sphere                         C = 1/(.1 n0)
    SVDD-M       the boundary is the sphere                         C = 1/(.1 n0), C2 = 1/(.1 n1)
    BDD          mean -(row sums)\ :sup:`nu`, posterior mode,       nu = .5, Sigma = I, c = .9 n0
                 :math:`d \le d_{(c)}` on training rows
    BDD-M        normal prior given the minority weights, which     means, Sigma, sampler, draws,
                 are normal on [0, 1]                               cutoff
    BSVDD        mean -(row sums), random-walk Metropolis,          Sigma = I, draws, tune, chains,
                 P(d <= D_opt) > .5, D_opt by cross-validation      criterion and folds of D_opt
    BSVDD-M      the same with normal tau and Beta minority         mean of tau, Sigma = I, draws,
                 weights                                            tune, chains, criterion, folds
    OCSVM        the boundary is f = 0                              nu = .1
    DSVM-CIL     density weights over the training set with k = 5,  C = 1
                 f = 0
    IDLSSVM-CIL  the same, and the ridge epsilon where d = 0        C = 1, epsilon = .001
    ===========  =================================================  ===============================

    The kernel is our choice for all models, ``kernels.RBF()`` with the modified mean criterion: the
    slides of Kim (2024) name none, nor a criterion of D_opt. Ours is that of ``Cutoff()`` on
    leave-one-out distances in closed form: the G-mean with minority rows, else a false-alarm rate
    of .1. Refitted folds, as in ``Cutoff("f1", cv=5)``, are cross-validation too, and take five
    further fits.

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
        The model is unknown, or is here for comparison, without a source that sets its parameters
        (SVM, LS-SVM and the yardsticks).
    TypeError
        The model has no parameter of that name.

    Warns
    -----
    UserWarning
        The source excludes a change.

    Examples
    --------
    >>> import numpy as np
    >>> from bsvdd import as_published
    >>> est = as_published("BDD")
    >>> est.sampler, est.prior, est.cutoff.rank
    ('map', RowSum(sd=1.0, exponent=0.5), 0.9)
    >>> X = np.random.default_rng(0).normal(size=(100, 2))
    >>> int((as_published("SVDD", outlier_fraction=0.2).fit(X).predict(X) == 1).sum())
    91
    """
    record = _record(name)
    source, known = record.published, record.parameters
    if source is None:
        having = ", ".join(r.name for r in REGISTRY.values() if r.published is not None)
        raise ValueError(
            f"{record.name} is here for comparison, and no source sets its parameters; "
            f"use bsvdd.{record.class_name}(), or one of {having}"
        )
    for change, value in changes.items():
        if change not in known:
            raise TypeError(
                f"{record.name} has no parameter {change!r}{meant(change, known)}; expected some "
                f"of {', '.join(known)}"
            )
        said = source.said.get(change)
        if said is not None and not said.agrees(value):
            warn(
                f"{change}={value!r}: {record.name} is no longer as published (the source: "
                f"{said.words}); use {change}={said.value!r}, or bsvdd.{record.class_name}(...)",
                UserWarning,
            )
    est: BaseDetector = record.estimator()(**{"kernel": RBF()} | source.parameters | changes)
    return est


def _record(name: str) -> Record:
    """Return the record of a name or of the name of a class; a ValueError if there is none."""
    by_name = {**{r.class_name: r for r in MODELS.values()}, **MODELS}
    if name not in by_name:
        raise ValueError(
            f"unknown model {name!r}{meant(str(name), by_name)}; expected one of "
            f"{', '.join(REGISTRY)}"
        )
    return by_name[name]
