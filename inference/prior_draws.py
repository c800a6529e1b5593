"""Draws of the weights from their prior, by a function compiled once per structure and process.

The draws are those of ``pm.draw`` with the same seed, which compiles at each call. Two models have
the same structure if the graphs of their weights, with all random variables, are equal up to their
data, the lengths of their dims and their generators of random numbers: the density alone says
nothing of how a user's distribution draws.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

import numpy as np
import pytensor
from pymc.pytensorf import collect_default_updates, compile, reseed_rngs
from pytensor.compile.sharedvalue import SharedVariable
from pytensor.graph.basic import Variable, equal_computations
from pytensor.graph.replace import clone_replace
from pytensor.graph.traversal import graph_inputs
from pytensor.tensor.random.type import RandomType

from .compiled import MAX_STRUCTURES, lock

if TYPE_CHECKING:
    import pymc as pm


@dataclass(frozen=True, eq=False)
class _Structure:
    """The weights as a random expression, its data and its generators of random numbers."""

    w: Variable
    data: list[SharedVariable]
    generators: list[SharedVariable]

    @classmethod
    def of(cls, model: pm.Model) -> Self:
        w = model["w"]
        shared = [v for v in graph_inputs([w]) if isinstance(v, SharedVariable)]
        generators = [v for v in shared if isinstance(v.type, RandomType)]
        return cls(w, [v for v in shared if v not in generators], generators)

    def equals(self, other: _Structure) -> bool:
        mine, theirs = [*self.data, *self.generators], [*other.data, *other.generators]
        return (
            len(self.data) == len(other.data)
            and len(mine) == len(theirs)
            and all(
                a.name == b.name and a.type == b.type for a, b in zip(mine, theirs, strict=True)
            )
            and equal_computations([self.w], [other.w], in_xs=mine, in_ys=theirs)
        )

    def compiled(self) -> tuple[Callable[..., np.ndarray], list[SharedVariable]]:
        """Return the function of the data that draws once, and the generators that it uses."""
        inputs = [v.type(name=v.name) for v in self.data]
        own = [pytensor.shared(np.random.default_rng(), name=v.name) for v in self.generators]
        replacements = zip([*self.data, *self.generators], [*inputs, *own], strict=True)
        w = clone_replace(self.w, dict(replacements))
        function = compile(inputs, w, mode="FAST_COMPILE", on_unused_input="ignore")
        return function, list(collect_default_updates(inputs=inputs, outputs=[w]))


_compiled: list[tuple[_Structure, Callable[..., np.ndarray], list[SharedVariable]]] = []


def draw(model: pm.Model, draws: int, seed: int | None = None) -> np.ndarray:
    """Return draws of the weights ``w`` of ``model`` from their prior, shape (draws, M).

    Raises
    ------
    NotImplementedError
        The prior is improper, so it has no draws.
    """
    structure = _Structure.of(model)
    with lock:
        i = next((i for i, known in enumerate(_compiled) if known[0].equals(structure)), None)
        # the most recently used last
        _compiled.append((structure, *structure.compiled()) if i is None else _compiled.pop(i))
        del _compiled[:-MAX_STRUCTURES]
        _, function, generators = _compiled[-1]
        reseed_rngs(generators, seed)
        data = [v.get_value(borrow=True) for v in structure.data]
        return np.stack([function(*data) for _ in range(draws)])
