"""One record for each model: what it is called, where it comes from, what it learns from."""

from __future__ import annotations

import inspect
import pkgutil
from dataclasses import dataclass
from typing import Any, Literal

Class = Literal["majority", "minority", "unlabelled"]


@dataclass(frozen=True)
class Record:
    """A model of the collection.

    Attributes
    ----------
    name : str
        As tables and figures show it.
    path : str
        Where its estimator is, "module:class".
    title, reference : str
    year : int
        Of the reference.
    learns_from : tuple of {"majority", "minority", "unlabelled"}
        Rows that its weights depend on; minority rows may tune the cutoff of any model.
    bayesian : bool
        Whether its weights have a posterior.
    module : str
        Whose docstring is its page: formula and reference.
    since : str
        First version of bsvdd that has it.
    doi : str or None
    """

    name: str
    path: str
    title: str
    reference: str
    year: int
    learns_from: tuple[Class, ...]
    bayesian: bool
    module: str
    since: str
    doi: str | None = None

    @property
    def class_name(self) -> str:
        """Name of the estimator, in :mod:`bsvdd` too."""
        return self.path.partition(":")[2]

    def estimator(self) -> type:
        """Return the estimator's class; imports it."""
        return pkgutil.resolve_name(self.path)

    @property
    def parameters(self) -> dict[str, Any]:
        """The estimator's parameters and their defaults, by name; imports it."""
        signature = inspect.signature(self.estimator())
        return {name: p.default for name, p in signature.parameters.items()}


_CENTERS = "bsvdd.inference.estimators:"
_MACHINES = "bsvdd.inference.machines:"
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
            _CENTERS + "SVDD",
            "Support vector data description",
            _TAX,
            2004,
            ("majority",),
            bayesian=False,
            module="bsvdd.models.svdd",
            since="0.1",
            doi=_TAX_DOI,
        ),
        Record(
            "BDD",
            _CENTERS + "BDD",
            "Bayesian data description",
            "Ghasemi, Rabiee, Manzuri and Rohban, A Bayesian approach to the data description "
            "problem, AAAI Conference on Artificial Intelligence 26",
            2012,
            ("majority", "unlabelled"),
            bayesian=True,
            module="bsvdd.models.bdd",
            since="0.1",
            doi="10.48550/arXiv.1602.07507",
        ),
        Record(
            "BSVDD",
            _CENTERS + "BSVDD",
            "Bayesian support vector data description",
            "Oh, Bayesian support vector data description",
            2023,
            ("majority", "unlabelled"),
            bayesian=True,
            module="bsvdd.models.bsvdd",
            since="0.1",
        ),
        Record(
            "BSVDD-M",
            _CENTERS + "BSVDDM",
            "Bayesian support vector data description with minority rows",
            "Bae, Bayesian support vector data description with minority rows",
            2024,
            ("majority", "minority", "unlabelled"),
            bayesian=True,
            module="bsvdd.models.bsvdd_m",
            since="0.1",
        ),
        Record(
            "SVDD-M",
            _CENTERS + "SVDDM",
            "Support vector data description with minority rows",
            _TAX,
            2004,
            ("majority", "minority"),
            bayesian=False,
            module="bsvdd.models.svdd",
            since="0.1",
            doi=_TAX_DOI,
        ),
        Record(
            "BDD-M",
            _CENTERS + "BDDM",
            "Bayesian data description with minority rows",
            "Turkoz and Kim, Bayesian data description with minority rows, one target class",
            2022,
            ("majority", "minority", "unlabelled"),
            bayesian=True,
            module="bsvdd.models.bdd_m",
            since="0.1",
        ),
        Record(
            "OCSVM",
            _MACHINES + "OCSVM",
            "One-class support vector machine",
            "Schoelkopf et al., Estimating the support of a high-dimensional distribution, "
            "Neural Computation 13",
            2001,
            ("majority",),
            bayesian=False,
            module="bsvdd.models.ocsvm",
            since="0.1",
            doi="10.1162/089976601750264965",
        ),
        Record(
            "SVM",
            _MACHINES + "SVM",
            "Class-weighted support vector machine",
            "Cortes and Vapnik, Support-vector networks, Machine Learning 20",
            1995,
            ("majority", "minority"),
            bayesian=False,
            module="bsvdd.models.svm",
            since="0.1",
            doi="10.1007/BF00994018",
        ),
        Record(
            "DSVM-CIL",
            _MACHINES + "DSVM",
            "Density-weighted support vector machine for class imbalance learning",
            _HAZARIKA,
            2021,
            ("majority", "minority"),
            bayesian=False,
            module="bsvdd.models.svm",
            since="0.1",
            doi=_HAZARIKA_DOI,
        ),
        Record(
            "LS-SVM",
            _MACHINES + "LSSVM",
            "Least-squares support vector machine",
            "Suykens and Vandewalle, Least squares support vector machine classifiers, Neural "
            "Processing Letters 9",
            1999,
            ("majority", "minority"),
            bayesian=False,
            module="bsvdd.models.lssvm",
            since="0.1",
            doi="10.1023/A:1018628609742",
        ),
        Record(
            "IDLSSVM-CIL",
            _MACHINES + "IDLSSVM",
            "Improved density-weighted least-squares support vector machine for class imbalance "
            "learning",
            _HAZARIKA + "; note by A. Mohite",
            2021,
            ("majority", "minority"),
            bayesian=False,
            module="bsvdd.models.lssvm",
            since="0.1",
            doi=_HAZARIKA_DOI,
        ),
    ]
}
