"""Draws of the weights from their prior, by a function compiled once per structure and process.

The draws are those of ``pm.draw`` with the same seed, which compiles at each call. Two models have
the same structure if the graphs of their weights, with all random variables, are equal up to their
data, the lengths of their dims and their generators of random numbers: the density alone says
nothing of how a user's distribution draws.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np
import pytensor
from pymc.pytensorf import collect_default_updates, compile, reseed_rngs
from pytensor.compile.sharedvalue import SharedVariable
from pytensor.graph.replace import clone_replace

from .compiled import lock, without_c
from .structure import Structure, recalled

if TYPE_CHECKING:
    import pymc as pm


def _compile(structure: Structure) -> tuple[Callable[..., np.ndarray], list[SharedVariable]]:
    """Return the function of the data that draws once, and the generators that it uses."""
    inputs = [v.type(name=v.name) for v in structure.data]
    own = [pytensor.shared(np.random.default_rng(), name=v.name) for v in structure.generators]
    replacements = zip([*structure.data, *structure.generators], [*inputs, *own], strict=True)
    w = clone_replace(structure.outputs[0], dict(replacements))
    with without_c():
        function = compile(inputs, w, mode="FAST_COMPILE", on_unused_input="ignore")
    return function, list(collect_default_updates(inputs=inputs, outputs=[w]))


_compiled: list[tuple[Structure, Callable[..., np.ndarray], list[SharedVariable]]] = []


def draw(model: pm.Model, draws: int, seed: int | None = None) -> np.ndarray:
    """Return draws of the weights ``w`` of ``model`` from their prior, shape (draws, M).

    Raises
    ------
    NotImplementedError
        The prior is improper, so it has no draws.
    """
    structure = Structure.of([model["w"]])
    with lock:
        _, function, generators = recalled(
            _compiled,
            lambda known: known[0].equals(structure),
            lambda: (structure, *_compile(structure)),
        )
        reseed_rngs(generators, seed)
        data = [v.get_value(borrow=True) for v in structure.data]
        return np.stack([function(*data) for _ in range(draws)])
