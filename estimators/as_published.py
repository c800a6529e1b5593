"""Models as published: what each publication fixes, what it leaves open, and the estimator."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from ..inference.cutoff import Cutoff, as_cutoff
from ..inference.warning import warn
from ..models import priors
from ..models.kernels import RBF
from .detector import Detector
from .messages import did_you_mean
from .registry import MODELS, REGISTRY, Record


class Choice(NamedTuple):
    """The value of a parameter, in words, and which other values the publication allows.

    Attributes
    ----------
    value : object
    words : str
        What the publication says, and where; or what our choice means.
    allows : callable, optional
        Whether the publication allows another value too. Default: an equal value only.
    """

    value: Any
    words: str
    allows: Callable[[Any], bool] | None = None


class Publication(NamedTuple):
    """The parameters of a model, by name: those that its publication fixes, and our choices.

    The kernel is our choice for all models.
    """

    fixed: dict[str, Choice]
    open: dict[str, Choice]

    @property
    def parameters(self) -> dict[str, Any]:
        """The parameters of the estimator, without the kernel."""
        return {name: choice.value for name, choice in (self.fixed | self.open).items()}


def _row_sums(prior: Any) -> bool:
    return isinstance(prior, priors.RowSum) and prior.sd == 1


def _by_left_out_rows(cutoff: Any) -> bool:
    policy = as_cutoff(cutoff)
    by_rows = isinstance(policy.criterion, str) and policy.criterion != "model"
    return by_rows and policy.cv != "train" and policy.level == 0.5 and not policy.uncertain


_BOUNDARY = {
    "cutoff": Choice(
        "model",
        "the boundary is the model's own",
        lambda cutoff: as_cutoff(cutoff).criterion == "model",
    )
}
_LIKELIHOOD = {
    "likelihood_scale": Choice(1.0, "the likelihood has the weight 1"),
    "dictionary": Choice(None, "all rows are points of the centre", lambda value: value is None),
}
_ALL_ROWS = {"outlier_fraction": Choice(1.0, "all rows count with their squared distances")}
_METROPOLIS = {
    "sampler": Choice("metropolis", "random-walk Metropolis"),
    "cutoff": Choice(
        Cutoff("auto", cv="loo", uncertain=False),
        "P(d <= D_opt) > .5, D_opt by cross-validation (slide 20 of Kim 2024); the criterion and "
        "leave-one-out in closed form are ours",
        _by_left_out_rows,
    ),
}
_DRAWS = {
    "draws": Choice(5000, "draws per chain; see R-hat in idata_['diagnostics']"),
    "tune": Choice(5000, "draws per chain before them"),
    "chains": Choice(2, "so that R-hat compares chains"),
}
_DENSITY = {
    "neighbors": Choice(5, "k = 5"),
    "density": Choice("train", "neighbour and maximum over the whole training set, as printed"),
}
_COUNT = {"count_self": Choice(False, "the first neighbour of a row is another row")}

PUBLICATIONS: dict[str, Publication] = {
    "SVDD": Publication(
        _BOUNDARY,
        {
            "C": Choice(None, "C is 1/(n0 outlier_fraction)"),
            "outlier_fraction": Choice(0.1, "at most a tenth of the rows lies outside"),
        },
    ),
    "BDD": Publication(
        {
            **_LIKELIHOOD,
            "prior": Choice(
                priors.RowSum(exponent=0.5),
                "m_i = -(sum_j K_ij)^nu with 0 < nu < 1 (Ghasemi et al. 2012), Sigma = I "
                "(slide 14 of Kim 2024); nu = .5 is ours",
                lambda prior: _row_sums(prior) and prior.exponent < 1,
            ),
            "sampler": Choice("map", "the centre is that of the posterior mode"),
            "cutoff": Choice(
                Cutoff("rank", cv="train", rank=0.9, uncertain=False),
                "d <= d_(c), the c-th smallest training distance (slide 12 of Kim 2024); "
                "c = .9 n0 is ours",
                lambda cutoff: (
                    (as_cutoff(cutoff).criterion, as_cutoff(cutoff).cv) == ("rank", "train")
                    and not as_cutoff(cutoff).uncertain
                ),
            ),
        },
        {
            "simplex": Choice(
                False,
                "the weights are free: the mode has a closed form; the convex set, sum 1 and all "
                "in (0, 1), is quoted too (slide 14 of Kim 2024) and is simplex=True",
            ),
        },
    ),
    "BSVDD": Publication(
        {
            **_LIKELIHOOD,
            **_ALL_ROWS,
            "prior": Choice(
                priors.RowSum(),
                "m_i = -sum_j K_ij (Oh 2023), Sigma = I (slide 15 of Kim 2024)",
            ),
            **_METROPOLIS,
        },
        _DRAWS,
    ),
    "BSVDD-M": Publication(
        {
            **_LIKELIHOOD,
            **_ALL_ROWS,
            "prior": Choice(
                priors.RowSum(),
                "tau has the mean of BSVDD's beta, m_i = -sum_j K_ij, and Sigma = I (slide 24 of "
                "Kim 2024)",
            ),
            "minority_prior": Choice(
                priors.Beta(),
                "alpha1 is Beta(a, b); a = b = 1 is the default",
                lambda prior: isinstance(prior, priors.Beta) and prior.total is None,
            ),
            **_METROPOLIS,
        },
        {**_DRAWS, "minority_fraction": Choice(0.1, "used if outlier_fraction is below 1")},
    ),
    "SVDD-M": Publication(
        _BOUNDARY,
        {
            "C": Choice(None, "C is 1/(n0 outlier_fraction)"),
            "outlier_fraction": Choice(0.1, "used for C"),
            "C2": Choice(None, "C2 is 1/(n1 minority_fraction)"),
            "minority_fraction": Choice(0.1, "used for C2"),
        },
    ),
    "BDD-M": Publication(
        {
            **_LIKELIHOOD,
            "prior": Choice(
                priors.RowSum(exponent=0.5),
                "alpha0 given alpha1 is normal; the mean of BDD and Sigma = I are ours",
                lambda prior: isinstance(prior, priors.GaussianPrior),
            ),
            "minority_prior": Choice(
                priors.TruncatedNormal(),
                "alpha1 is normal on [0, 1]; mean 0 and Sigma = I are ours",
                lambda prior: isinstance(prior, priors.TruncatedNormal),
            ),
        },
        {
            "sampler": Choice("exact", "independent draws of alpha0 given alpha1"),
            "draws": Choice(1000, "draws per chain"),
            "tune": Choice(500, "draws of alpha1 per chain before them"),
            "chains": Choice(2, "so that R-hat compares chains"),
            "cutoff": Choice(
                Cutoff("rank", cv="train", rank=0.9, uncertain=False), "the rule of BDD"
            ),
        },
    ),
    "OCSVM": Publication(_BOUNDARY, {"nu": Choice(0.1, "at most a tenth of the rows lies beyond")}),
    "DSVM-CIL": Publication(
        {
            **_BOUNDARY,
            **_DENSITY,
            "balanced": Choice(False, "the size of a class is in no weight"),
        },
        {**_COUNT, "C": Choice(1.0, "the cost of an error")},
    ),
    "IDLSSVM-CIL": Publication(
        {**_BOUNDARY, **_DENSITY},
        {
            **_COUNT,
            "zero_weight": Choice("drop", "a row with d = 0, whose ridge is infinite, weighs 0"),
            "C": Choice(1.0, "the cost of an error"),
            "epsilon": Choice(1e-3, "added to the diagonal"),
        },
    ),
}


def as_published(name: str, **changes: Any) -> Detector:
    r"""Return the unfitted estimator of a model as published.

    ===========  =================================================  ===============================
    model        from the publication                               left open there: our choice
    ===========  =================================================  ===============================
    SVDD         the boundary is the sphere                         C = 1/(.1 n0)
    SVDD-M       the boundary is the sphere                         C = 1/(.1 n0), C2 = 1/(.1 n1)
    BDD          mean -(row sums)\ :sup:`nu`, Sigma = I,            nu = .5, c = .9 n0, free
                 posterior mode, :math:`d \le d_{(c)}` on           weights (or ``simplex=True``)
                 training rows
    BDD-M        normal prior given the minority weights, which     means, Sigma, sampler, draws,
                 are normal on [0, 1]                               cutoff
    BSVDD        mean -(row sums), Sigma = I, random-walk           draws, tune, chains, criterion
                 Metropolis, P(d <= D_opt) > .5, D_opt by           and folds of D_opt
                 cross-validation
    BSVDD-M      the same for tau, and Beta minority weights        a = b = 1, draws, tune, chains,
                                                                    criterion and folds
    OCSVM        the boundary is f = 0                              nu = .1
    DSVM-CIL     density weights over the training set with k = 5,  C = 1, no row is its own
                 f = 0                                              neighbour
    IDLSSVM-CIL  the same                                           the same, epsilon = .001, no
                                                                    weight where d = 0
    ===========  =================================================  ===============================

    The kernel is our choice for all models, ``kernels.RBF()`` with the modified mean criterion: the
    slides of Kim (2024) name none, nor a criterion of D_opt. Ours is that of ``Cutoff()`` on
    leave-one-out distances in closed form: the G-mean with minority rows, else a false-alarm rate
    of .1. Refitted folds, as in ``Cutoff("f1", cv=5, uncertain=False)``, are cross-validation too,
    and take five further fits. P(normal) is the share of draws with :math:`d_z \le D_{opt}`, each
    with the norm of its own centre (``uncertain=False``).

    Slide 14 quotes two sets of weights for BDD, free ones and the convex set of Ghasemi et al.
    (2012), so ``simplex=True`` is as published too.

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
        (SVM, LS-SVM and the yardsticks).
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
    >>> est.sampler, est.prior, est.cutoff.rank
    ('map', RowSum(sd=1.0, exponent=0.5), 0.9)
    >>> X = np.random.default_rng(0).normal(size=(100, 2))
    >>> int((as_published("SVDD", outlier_fraction=0.2).fit(X).predict(X) == 1).sum())
    91
    """
    record = _record(name)
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
        if choice and not (choice.allows(value) if choice.allows else value == choice.value):
            warn(
                f"{parameter}={value!r}: {record.name} is no longer as published (the source: "
                f"{choice.words}); use {parameter}={choice.value!r}, or "
                f"bsvdd.{record.class_name}(...)",
                UserWarning,
            )
    est: Detector = record.estimator()(**{"kernel": RBF()} | publication.parameters | changes)
    return est


def _record(name: str) -> Record:
    """Return the record of a name or of the name of a class; a ValueError if there is none."""
    by_name = {**{r.class_name: r for r in MODELS.values()}, **MODELS}
    if name not in by_name:
        raise ValueError(
            f"unknown model {name!r}{did_you_mean(name, by_name)}; expected one of "
            f"{', '.join(REGISTRY)}"
        )
    return by_name[name]
