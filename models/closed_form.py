"""Posteriors that are known in closed form: a model has one, or has none."""

from __future__ import annotations

from typing import ClassVar, Protocol

import numpy as np


class ClosedForm(Protocol):
    """The posterior of the weights where it needs no general sampler.

    Attributes
    ----------
    reason : str
        Why the posterior is known.
    dims : dict of tuple of str
        Dimensions of the variables that are drawn.
    """

    reason: ClassVar[str]
    dims: ClassVar[dict[str, tuple[str, ...]]]

    def draw(
        self, draws: int, tune: int, chains: int, rng: np.random.Generator
    ) -> dict[str, np.ndarray]:
        """Return draws of the model's variables and of w, each (chains, draws, length)."""
        ...

    def log_prior(self, w: np.ndarray) -> dict[str, np.ndarray]:
        """Return the log prior densities of weights (..., M) by variable, each (...)."""
        ...

    def leave_one_out(
        self, w: np.ndarray, rng: np.random.Generator
    ) -> tuple[np.ndarray, np.ndarray | None]:
        r"""Return the kernel sum of each point with the posterior centre without it.

        Parameters
        ----------
        w : ndarray of shape (draws, M)
            Draws of the posterior of all rows.
        rng : Generator

        Returns
        -------
        tuple
            Kernel sums :math:`f_j = \langle \varphi_j, a_{-j} \rangle`, shape (draws, M), and the
            log importance weights of the draws (draws, M), or None where all draws count the same.
        """
        ...
