r"""The weights of atoms from those of rows, for priors that a user wrote.

With C the weight of the rows of each part of an atom (rows of one group), and
:math:`\beta` the log weights of the parts, the log weight of atom g is :math:`\log
\sum_{i \in g} C_i e^{\beta_i}`. Weights that are no logarithms have the sum
:math:`\sum_{i \in g} C_i \alpha_i`.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy import sparse

from .dictionary import AtomParts
from .priors import Pull
from .signed import TINY


@dataclass(frozen=True, eq=False)
class Pooled:
    """The map from parts of m atoms to the atoms, of log weights or of weights."""

    parts: AtomParts
    m: int
    logs: bool

    @cached_property
    def sums(self) -> sparse.csr_array:
        """C by atom and part, (m, q)."""
        atom = self.parts.atom
        each = np.arange(len(atom))
        return sparse.csr_array((self.parts.weight, (atom, each)), (self.m, len(atom)))

    def of(self, x: Any) -> Any:
        """Return the values of the atoms (m,), in PyTensor, of those of parts (q,)."""
        import pytensor.tensor as pt

        shift = pt.max(x) if self.logs else 0.0
        terms = self.parts.weight * (pt.exp(x - shift) if self.logs else x)
        total = pt.zeros(self.m)[self.parts.atom].inc(terms)
        return pt.log(pt.maximum(total, TINY)) + shift if self.logs else total

    def in_numbers(self, x: np.ndarray) -> tuple[np.ndarray, Pull]:
        """Return the values of the atoms (S, m), and the pull of a gradient by them."""
        atom = self.parts.atom
        weight = self.parts.weight
        if not self.logs:
            return (self.sums @ x.T).T, lambda g: g[:, atom] * weight
        shift = x.max(axis=1, keepdims=True)
        e = np.exp(x - shift)
        total = np.maximum((self.sums @ e.T).T, TINY)
        pull = lambda g: (g / total)[:, atom] * weight * e  # noqa: E731
        return np.log(total) + shift, pull
