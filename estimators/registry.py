"""One record for each model: its name, its class, and what its source says."""

from __future__ import annotations

import inspect
import pkgutil
from collections import ChainMap
from dataclasses import dataclass
from typing import Any, Literal

from ..inference.cutoff import Cutoff
from ..models import priors
from .declared import PACKAGE, declared
from .sources import (
    BOUNDARY,
    DENSITY,
    DRAWN,
    LIKELIHOOD,
    Open,
    Said,
    Source,
    is_cross_validated,
    is_normal,
    is_power_of_row_sums,
    is_row_sums,
    is_training_rank,
    is_truncated_normal,
    is_unbounded_beta,
)

Class = Literal["majority", "minority", "unlabelled"]


@dataclass(frozen=True)
class Record:
    """The record of a model; its other properties are read from its class.

    Attributes
    ----------
    name : str
        The name in tables and figures.
    path : str
        Place of its estimator, "module:class".
    title, reference : str
    year : int
        Year of the reference.
    since : str
        First version of bsvdd that has it.
    doi : str or None
    formula : str or None
        The module whose docstring has the formula. Default: the module of the estimator.
    published : Source or None
        What the source says of the parameters; None for a yardstick.
    """

    name: str
    path: str
    title: str
    reference: str
    year: int
    since: str = "0.1"
    doi: str | None = None
    formula: str | None = None
    published: Source | None = None

    @property
    def class_name(self) -> str:
        """Name of the estimator's class, also in :mod:`bsvdd`."""
        return self.path.partition(":")[2]

    @property
    def module(self) -> str:
        """The module whose docstring has the model's formula and reference."""
        return self.formula or self.path.partition(":")[0]

    def estimator(self) -> Any:
        """Import and return the estimator's class."""
        return pkgutil.resolve_name(self.path)

    @property
    def learns_from(self) -> tuple[Class, ...]:
        """The rows that the weights depend on.

        Minority rows can tune the cutoff of any model. Unlabelled rows enter through a prior.
        """
        if self._is_ours:
            learns = declared(self.path)["_learns_from_minority"]
        else:
            learns = self.estimator()._learns_from_minority
        minority: tuple[Class, ...] = ("minority",) if learns else ()
        unlabelled: tuple[Class, ...] = ("unlabelled",) if self.bayesian else ()
        return ("majority", *minority, *unlabelled)

    @property
    def bayesian(self) -> bool:
        """Whether the weights have a posterior."""
        return "prior" in self.parameter_names

    @property
    def parameter_names(self) -> list[str]:
        """The names of the estimator's parameters; a class of this package is not imported."""
        if self._is_ours:
            return [name for name in declared(self.path) if not name.startswith("_")]
        return list(self.parameters)

    @property
    def _is_ours(self) -> bool:
        return self.path.startswith(f"{PACKAGE}.")

    @property
    def parameters(self) -> dict[str, Any]:
        """The estimator's parameters and their defaults, by name; imports the class."""
        signature = inspect.signature(self.estimator())
        return {name: p.default for name, p in signature.parameters.items()}


_HYPERPLANES = "bsvdd.estimators.svm:"
_TAX = "Tax and Duin, Support vector data description, Machine Learning 54"
_TAX_DOI = "10.1023/B:MACH.0000008084.60811.49"
_HAZARIKA = (
    "Hazarika and Gupta, Density-weighted support vector machines for binary class imbalance "
    "learning, Neural Computing and Applications 33"
)
_HAZARIKA_DOI = "10.1007/s00521-020-05240-8"
_CROSS_VALIDATED = Said(
    Cutoff("auto", cv="loo"),
    "P(d <= D_opt) > .5, D_opt by cross-validation (slide 20 of Kim 2024); the criterion and "
    "leave-one-out in closed form are ours",
    is_cross_validated,
)

_ALL_ROWS = {"outlier_fraction": Said(1.0, "all rows count with their squared distances")}

REGISTRY: dict[str, Record] = {
    record.name: record
    for record in [
        Record(
            "SVDD",
            "bsvdd.estimators.svdd:SVDD",
            "Support vector data description",
            _TAX,
            2004,
            formula="bsvdd.models.svdd",
            doi=_TAX_DOI,
            published=Source(
                BOUNDARY,
                {
                    "C": Open(None, "C is 1/(n0 outlier_fraction)"),
                    "outlier_fraction": Open(0.1, "at most a tenth of the rows lies outside"),
                },
            ),
        ),
        Record(
            "BDD",
            "bsvdd.estimators.bdd:BDD",
            "Bayesian data description",
            "Ghasemi, Rabiee, Manzuri and Rohban, A Bayesian approach to the data description "
            "problem, AAAI Conference on Artificial Intelligence 26",
            2012,
            formula="bsvdd.models.bdd",
            doi="10.48550/arXiv.1602.07507",
            published=Source(
                {
                    **LIKELIHOOD,
                    "prior": Said(
                        priors.RowSum(exponent=0.5),
                        "m_i = -(sum_j K_ij)^nu with 0 < nu < 1; nu = .5 and Sigma = I are ours",
                        is_power_of_row_sums,
                    ),
                    "sampler": Said("map", "the centre is that of the posterior mode"),
                    "simplex": Said(False, "the weights are free"),
                    "cutoff": Said(
                        Cutoff("rank", cv="train", rank=0.9),
                        "d <= d_(c), the c-th smallest training distance (slide 12 of Kim 2024); "
                        "c = .9 n0 is ours",
                        is_training_rank,
                    ),
                }
            ),
        ),
        Record(
            "BSVDD",
            "bsvdd.estimators.bsvdd:BSVDD",
            "Bayesian support vector data description",
            "Oh, Bayesian support vector data description",
            2023,
            formula="bsvdd.models.bsvdd",
            published=Source(
                {
                    **LIKELIHOOD,
                    **_ALL_ROWS,
                    "prior": Said(
                        priors.RowSum(), "m_i = -sum_j K_ij; Sigma = I is ours", is_row_sums
                    ),
                    "sampler": Said("metropolis", "random-walk Metropolis"),
                    "cutoff": _CROSS_VALIDATED,
                },
                DRAWN,
            ),
        ),
        Record(
            "BSVDD-M",
            "bsvdd.estimators.bsvdd:BSVDDM",
            "Bayesian support vector data description with minority rows",
            "Bae, Bayesian support vector data description with minority rows",
            2024,
            formula="bsvdd.models.bsvdd_m",
            published=Source(
                {
                    **LIKELIHOOD,
                    **_ALL_ROWS,
                    "prior": Said(
                        priors.RowSum(),
                        "tau is normal; the mean of BSVDD and Sigma = I are ours",
                        is_normal,
                    ),
                    "minority_prior": Said(
                        priors.Beta(),
                        "alpha1 is Beta(a, b); a = b = 1 is the default",
                        is_unbounded_beta,
                    ),
                    "sampler": Said("metropolis", "random-walk Metropolis"),
                    "cutoff": _CROSS_VALIDATED,
                },
                {**DRAWN, "minority_fraction": Open(0.1, "used if outlier_fraction is below 1")},
            ),
        ),
        Record(
            "SVDD-M",
            "bsvdd.estimators.svdd:SVDDM",
            "Support vector data description with minority rows",
            _TAX,
            2004,
            formula="bsvdd.models.svdd",
            doi=_TAX_DOI,
            published=Source(
                BOUNDARY,
                {
                    "C": Open(None, "C is 1/(n0 outlier_fraction)"),
                    "outlier_fraction": Open(0.1, "used for C"),
                    "C2": Open(None, "C2 is 1/(n1 minority_fraction)"),
                    "minority_fraction": Open(0.1, "used for C2"),
                },
            ),
        ),
        Record(
            "BDD-M",
            "bsvdd.estimators.bdd:BDDM",
            "Bayesian data description with minority rows",
            "Turkoz and Kim, Bayesian data description with minority rows, one target class",
            2022,
            formula="bsvdd.models.bdd_m",
            published=Source(
                {
                    **LIKELIHOOD,
                    "prior": Said(
                        priors.RowSum(exponent=0.5),
                        "alpha0 given alpha1 is normal; the mean of BDD and Sigma = I are ours",
                        is_normal,
                    ),
                    "minority_prior": Said(
                        priors.TruncatedNormal(),
                        "alpha1 is normal on [0, 1]; mean 0 and Sigma = I are ours",
                        is_truncated_normal,
                    ),
                },
                {
                    "sampler": Open("exact", "independent draws of alpha0 given alpha1"),
                    "draws": Open(1000, "draws per chain"),
                    "tune": Open(500, "draws of alpha1 per chain before them"),
                    "chains": Open(2, "so that R-hat compares chains"),
                    "cutoff": Open(Cutoff("rank", cv="train", rank=0.9), "the rule of BDD"),
                },
            ),
        ),
        Record(
            "OCSVM",
            _HYPERPLANES + "OCSVM",
            "One-class support vector machine",
            "Schoelkopf et al., Estimating the support of a high-dimensional distribution, "
            "Neural Computation 13",
            2001,
            formula="bsvdd.models.one_class_svm",
            doi="10.1162/089976601750264965",
            published=Source(
                BOUNDARY, {"nu": Open(0.1, "at most a tenth of the rows lies beyond")}
            ),
        ),
        Record(
            "SVM",
            _HYPERPLANES + "SVM",
            "Class-weighted support vector machine",
            "Cortes and Vapnik, Support-vector networks, Machine Learning 20",
            1995,
            formula="bsvdd.models.svm",
            doi="10.1007/BF00994018",
        ),
        Record(
            "DSVM-CIL",
            _HYPERPLANES + "DSVM",
            "Density-weighted support vector machine for class imbalance learning",
            _HAZARIKA,
            2021,
            formula="bsvdd.models.svm",
            doi=_HAZARIKA_DOI,
            published=Source(
                {
                    **BOUNDARY,
                    **DENSITY,
                    "balanced": Said(False, "the size of a class is in no weight"),
                },
                {"C": Open(1.0, "the cost of an error")},
            ),
        ),
        Record(
            "LS-SVM",
            _HYPERPLANES + "LSSVM",
            "Least-squares support vector machine",
            "Suykens and Vandewalle, Least squares support vector machine classifiers, Neural "
            "Processing Letters 9",
            1999,
            formula="bsvdd.models.ls_svm",
            doi="10.1023/A:1018628609742",
        ),
        Record(
            "IDLSSVM-CIL",
            _HYPERPLANES + "IDLSSVM",
            "Improved density-weighted least-squares support vector machine for class imbalance "
            "learning",
            _HAZARIKA + "; note by A. Mohite",
            2021,
            formula="bsvdd.models.ls_svm",
            doi=_HAZARIKA_DOI,
            published=Source(
                {
                    **BOUNDARY,
                    **DENSITY,
                    "zero_weight": Said(
                        "epsilon", "a row with d = 0 has the ridge epsilon only, in the code"
                    ),
                },
                {
                    "C": Open(1.0, "the cost of an error"),
                    "epsilon": Open(1e-3, "added to the diagonal"),
                },
            ),
        ),
    ]
}

_YARDSTICKS = "bsvdd.estimators.yardsticks:"

# Simple methods of scikit-learn beside which the models are measured
YARDSTICKS: dict[str, Record] = {
    record.name: record
    for record in [
        Record(
            "kNN",
            _YARDSTICKS + "KNN",
            "Distance to the 5th nearest neighbour",
            "Ramaswamy, Rastogi and Shim, Efficient algorithms for mining outliers from large data "
            "sets, SIGMOD Record 29",
            2000,
            doi="10.1145/335191.335437",
        ),
        Record(
            "mean kNN",
            _YARDSTICKS + "MeanKNN",
            "Mean distance to the 5 nearest neighbours",
            "Livernoche, Jain, Hezaveh and Ravanbakhsh, On diffusion modeling for anomaly "
            "detection, International Conference on Learning Representations",
            2024,
        ),
        Record(
            "LOF",
            _YARDSTICKS + "LOF",
            "Local outlier factor",
            "Breunig, Kriegel, Ng and Sander, LOF: identifying density-based local outliers, "
            "SIGMOD Record 29",
            2000,
            doi="10.1145/335191.335388",
        ),
        Record(
            "isolation forest",
            _YARDSTICKS + "IsolationForest",
            "Isolation forest",
            "Liu, Ting and Zhou, Isolation forest, IEEE International Conference on Data Mining 8",
            2008,
            doi="10.1109/ICDM.2008.17",
        ),
        Record(
            "robust Gaussian",
            _YARDSTICKS + "RobustGaussian",
            "Mahalanobis distance with a robust covariance",
            "Rousseeuw and Van Driessen, A fast algorithm for the minimum covariance determinant "
            "estimator, Technometrics 41",
            1999,
            doi="10.1080/00401706.1999.10485670",
        ),
        Record(
            "KDE",
            _YARDSTICKS + "KDE",
            "Kernel density estimate",
            "Scott, Multivariate density estimation, Wiley",
            1992,
            doi="10.1002/9780470316849",
        ),
    ]
}

MODELS = ChainMap(REGISTRY, YARDSTICKS)  # all that a study or a table can name
