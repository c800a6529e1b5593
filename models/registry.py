"""One record for each model: what it is called, where it comes from, what it learns from."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Class = Literal["majority", "minority", "unlabelled"]


@dataclass(frozen=True)
class Record:
    """A model of the collection.

    Attributes
    ----------
    name : str
        As tables and figures show it.
    estimator : str
        Class of :mod:`bsvdd`.
    title, reference : str
    year : int
        Of the reference.
    learns_from : tuple of {"majority", "minority", "unlabelled"}
        Rows that its weights depend on; minority rows may tune the cutoff of any model.
    bayesian : bool
        Whether its weights have a posterior.
    since : str
        First version of bsvdd that has it.
    doi : str or None
    """

    name: str
    estimator: str
    title: str
    reference: str
    year: int
    learns_from: tuple[Class, ...]
    bayesian: bool
    since: str
    doi: str | None = None


REGISTRY: dict[str, Record] = {
    record.name: record
    for record in [
        Record(
            "SVDD",
            "SVDD",
            "Support vector data description",
            "Tax and Duin, Support vector data description, Machine Learning 54",
            2004,
            ("majority",),
            bayesian=False,
            since="0.1",
            doi="10.1023/B:MACH.0000008084.60811.49",
        ),
        Record(
            "BDD",
            "BDD",
            "Bayesian data description",
            "Ghasemi et al., a Bayesian approach to data description",
            2012,
            ("majority",),
            bayesian=True,
            since="0.1",
        ),
        Record(
            "BSVDD",
            "BSVDD",
            "Bayesian support vector data description",
            "Oh, Bayesian support vector data description",
            2023,
            ("majority",),
            bayesian=True,
            since="0.1",
        ),
        Record(
            "BSVDD-M",
            "BSVDDM",
            "Bayesian support vector data description with minority rows",
            "Bae, Bayesian support vector data description with minority rows",
            2024,
            ("majority", "minority"),
            bayesian=True,
            since="0.1",
        ),
    ]
}
