"""Models that are known by their random graph, so that PyMC need not derive the same again.

PyMC derives a log density and compiles an initial point in some 20 ms, as long as all searches for
a mode of 300 weights. Both follow from the random graph and the transforms of its free variables,
unless a variable is observed or has an initial value of its own.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from pymc.initial_point import make_initial_point_expression
from pymc.pytensorf import compile
from pytensor.compile.sharedvalue import SharedVariable
from pytensor.graph.replace import clone_replace

from .compiled import CompiledFunctions, Graph, compiled, lock, without_c
from .structure import Structure, recalled

if TYPE_CHECKING:
    import pymc as pm


@dataclass(frozen=True, eq=False)
class _KnownModel:
    """What a model has in common with those that differ from it in their data only.

    Attributes
    ----------
    structure : Structure
        Of all variables.
    transforms : list
        To the unconstrained parameters, of each free variable.
    functions : CompiledFunctions
    places : list of int
        Which of the structure's data the functions take, in their order.
    start : callable or None
        The initial point as a function of the structure's data; None if it is a draw of the prior.
    """

    structure: Structure
    transforms: list[Any]
    functions: CompiledFunctions
    places: list[int]
    start: Callable[..., list[np.ndarray]] | None

    @classmethod
    def of(cls, model: pm.Model, structure: Structure, transforms: list[Any]) -> Self:
        """Return a model of this structure that was not known."""
        graph = Graph.of(model)
        places = [structure.data.index(v) for v in graph.shared]
        expressions = make_initial_point_expression(
            free_rvs=model.free_RVs,
            rvs_to_transforms=model.rvs_to_transforms,
            initval_strategies={},
            return_transformed=True,
        )
        found, start = Structure.of(expressions), None
        if not found.generators:
            inputs = {id(v.container): v.type(name=v.name) for v in structure.data}
            own = {v: inputs[id(v.container)] for v in found.data}  # PyMC makes copies of the data
            with without_c():
                start = compile(
                    list(inputs.values()),
                    clone_replace(expressions, own),
                    mode="FAST_COMPILE",
                    on_unused_input="ignore",
                )
        return cls(structure, transforms, compiled(graph), places, start)

    def equals(self, structure: Structure, transforms: list[Any]) -> bool:
        """Return whether a model of this structure differs in its data only."""
        return (
            len(transforms) == len(self.transforms)
            and all(a is b for a, b in zip(transforms, self.transforms, strict=True))
            and structure.equals(self.structure)
        )


_known: list[_KnownModel] = []


def compiled_model(
    model: pm.Model,
) -> tuple[CompiledFunctions, list[SharedVariable], dict[str, np.ndarray]]:
    """Return the functions of a model, its data in the order of their inputs, its initial point."""
    if model.observed_RVs or any(v is not None for v in model.rvs_to_initial_values.values()):
        graph = Graph.of(model)
        return compiled(graph), graph.shared, model.initial_point()
    structure = Structure.of([*model.free_RVs, *model.deterministics, *model.potentials])
    transforms = [model.rvs_to_transforms[v] for v in model.free_RVs]
    with lock:
        known = recalled(
            _known,
            lambda each: each.equals(structure, transforms),
            lambda: _KnownModel.of(model, structure, transforms),
        )
        shared = [structure.data[place] for place in known.places]
        if known.start is None:
            return known.functions, shared, model.initial_point()
        values = known.start(*(v.get_value(borrow=True) for v in structure.data))
    names = [v.name for v in known.functions.graph.values]
    return known.functions, shared, dict(zip(names, values, strict=True))
