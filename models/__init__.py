"""What each model is: kernels, Gram statistics, priors, and one file for each model."""

from . import bandwidth, bdd, bsvdd, bsvdd_m, kernels, potential, priors, qp, svdd
from .gram import Gram

__all__ = [
    "Gram",
    "bandwidth",
    "bdd",
    "bsvdd",
    "bsvdd_m",
    "kernels",
    "potential",
    "priors",
    "qp",
    "svdd",
]
