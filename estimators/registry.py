"""One record for each model: its name, its class, what it learns from, and its reference.

Nothing heavy is imported, so that a list of models is there at once.
"""

from __future__ import annotations

import inspect
import pkgutil
from collections import ChainMap
from dataclasses import dataclass
from typing import Any

SHARED = ("kernel", "cutoff", "minor_label", "random_state")
BAYESIAN = (
    *("prior", "likelihood_scale", "sampler", "draws", "tune", "chains", "dictionary"),
    "progressbar",
)


@dataclass(frozen=True)
class Record:
    """The record of a model.

    Attributes
    ----------
    name : str
        The name in tables and figures.
    path : str
        Place of its estimator, "module:class".
    title, reference : str
    year : int
        Year of the reference.
    needs_minority : bool
        Whether the weights depend on minority rows. They can tune the cutoff of any model.
    bayesian : bool
        Whether the weights have a posterior. Unlabelled rows enter through its prior.
    own : tuple of str
        The parameters beside those of all models (``SHARED``) and of all Bayesian ones
        (``BAYESIAN``).
    doi : str or None
    formula : str or None
        The module whose docstring has the formula. Default: the module of the estimator.
    """

    name: str
    path: str
    title: str
    reference: str
    year: int
    needs_minority: bool = False
    bayesian: bool = False
    own: tuple[str, ...] = ()
    doi: str | None = None
    formula: str | None = None

    @property
    def class_name(self) -> str:
        """Name of the estimator's class, also in :mod:`bsvdd`."""
        return self.path.partition(":")[2]

    @property
    def module(self) -> str:
        """The module whose docstring has the model's formula and reference."""
        return self.formula or self.path.partition(":")[0]

    @property
    def learns_from(self) -> tuple[str, ...]:
        """The rows that the weights depend on."""
        minority = ("minority",) if self.needs_minority else ()
        return ("majority", *minority, *(("unlabelled",) if self.bayesian else ()))

    def estimator(self) -> Any:
        """Import and return the estimator's class."""
        return pkgutil.resolve_name(self.path)

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

REGISTRY: dict[str, Record] = {
    record.name: record
    for record in [
        Record(
            "SVDD",
            "bsvdd.estimators.svdd:SVDD",
            "Support vector data description",
            _TAX,
            2004,
            own=("C", "outlier_fraction"),
            doi=_TAX_DOI,
            formula="bsvdd.models.svdd",
        ),
        Record(
            "BDD",
            "bsvdd.estimators.bdd:BDD",
            "Bayesian data description",
            "Ghasemi, Rabiee, Manzuri and Rohban, A Bayesian approach to the data description "
            "problem, AAAI Conference on Artificial Intelligence 26",
            2012,
            bayesian=True,
            own=("simplex",),
            doi="10.48550/arXiv.1602.07507",
            formula="bsvdd.models.bdd",
        ),
        Record(
            "BSVDD",
            "bsvdd.estimators.bsvdd:BSVDD",
            "Bayesian support vector data description",
            "Oh, 이상치 탐지를 위한 베이지안 Support vector data description, master's thesis",
            2023,
            bayesian=True,
            own=("outlier_fraction",),
            formula="bsvdd.models.bsvdd",
        ),
        Record(
            "BSVDD-M",
            "bsvdd.estimators.bsvdd:BSVDDM",
            "Bayesian support vector data description with minority rows",
            "Bae, Minor class를 이용한 베이지안 Support vector data description, master's thesis",
            2024,
            needs_minority=True,
            bayesian=True,
            own=("outlier_fraction", "minority_prior", "minority_fraction"),
            formula="bsvdd.models.bsvdd_m",
        ),
        Record(
            "SVDD-M",
            "bsvdd.estimators.svdd:SVDDM",
            "Support vector data description with minority rows",
            _TAX,
            2004,
            needs_minority=True,
            own=("C", "outlier_fraction", "C2", "minority_fraction"),
            doi=_TAX_DOI,
            formula="bsvdd.models.svdd",
        ),
        Record(
            "BDD-M",
            "bsvdd.estimators.bdd:BDDM",
            "Bayesian data description with minority rows",
            "Turkoz and Kim, Multi-class Bayesian support vector data description with anomalies, "
            "Annals of Operations Research; here one target class",
            2022,
            needs_minority=True,
            bayesian=True,
            own=("minority_prior",),
            formula="bsvdd.models.bdd_m",
        ),
        Record(
            "OCSVM",
            _HYPERPLANES + "OCSVM",
            "One-class support vector machine",
            "Schoelkopf et al., Estimating the support of a high-dimensional distribution, "
            "Neural Computation 13",
            2001,
            own=("nu",),
            doi="10.1162/089976601750264965",
            formula="bsvdd.models.one_class_svm",
        ),
        Record(
            "SVM",
            _HYPERPLANES + "SVM",
            "Class-weighted support vector machine",
            "Cortes and Vapnik, Support-vector networks, Machine Learning 20",
            1995,
            needs_minority=True,
            own=("C", "balanced"),
            doi="10.1007/BF00994018",
            formula="bsvdd.models.svm",
        ),
        Record(
            "DSVM-CIL",
            _HYPERPLANES + "DSVM",
            "Density-weighted support vector machine for class imbalance learning",
            _HAZARIKA,
            2021,
            needs_minority=True,
            own=("C", "balanced", "neighbors", "count_self", "density"),
            doi=_HAZARIKA_DOI,
            formula="bsvdd.models.svm",
        ),
        Record(
            "LS-SVM",
            _HYPERPLANES + "LSSVM",
            "Least-squares support vector machine",
            "Suykens and Vandewalle, Least squares support vector machine classifiers, Neural "
            "Processing Letters 9",
            1999,
            needs_minority=True,
            own=("C", "epsilon"),
            doi="10.1023/A:1018628609742",
            formula="bsvdd.models.ls_svm",
        ),
        Record(
            "IDLSSVM-CIL",
            _HYPERPLANES + "IDLSSVM",
            "Improved density-weighted least-squares support vector machine for class imbalance "
            "learning",
            _HAZARIKA + "; note by A. Mohite",
            2021,
            needs_minority=True,
            own=("C", "epsilon", "neighbors", "count_self", "density", "zero_weight"),
            doi=_HAZARIKA_DOI,
            formula="bsvdd.models.ls_svm",
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
            own=("n_neighbors",),
            doi="10.1145/335191.335437",
        ),
        Record(
            "mean kNN",
            _YARDSTICKS + "MeanKNN",
            "Mean distance to the 5 nearest neighbours",
            "Livernoche, Jain, Hezaveh and Ravanbakhsh, On diffusion modeling for anomaly "
            "detection, International Conference on Learning Representations",
            2024,
            own=("n_neighbors",),
        ),
        Record(
            "LOF",
            _YARDSTICKS + "LOF",
            "Local outlier factor",
            "Breunig, Kriegel, Ng and Sander, LOF: identifying density-based local outliers, "
            "SIGMOD Record 29",
            2000,
            own=("n_neighbors",),
            doi="10.1145/335191.335388",
        ),
        Record(
            "isolation forest",
            _YARDSTICKS + "IsolationForest",
            "Isolation forest",
            "Liu, Ting and Zhou, Isolation forest, IEEE International Conference on Data Mining 8",
            2008,
            own=("n_estimators",),
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

# What is made of other estimators; no study fits it
JOINED: dict[str, Record] = {
    "Views": Record(
        "Views",
        "bsvdd.estimators.views:Views",
        "Several views of the same rows, joined by the harmonic mean of their p-values",
        "Wilson, The harmonic mean p-value for combining dependent tests, Proceedings of the "
        "National Academy of Sciences 116",
        2019,
        own=("estimator", "views", "weights"),
        doi="10.1073/pnas.1814092116",
    )
}

ESTIMATORS = ChainMap(REGISTRY, YARDSTICKS, JOINED)  # all that a file can have
