"""The structure of random expressions: their graph, up to data and generators of random numbers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Self

from pytensor.compile.sharedvalue import SharedVariable
from pytensor.graph.basic import Variable, equal_computations
from pytensor.graph.traversal import graph_inputs
from pytensor.tensor.random.type import RandomType

MAX_STRUCTURES = 32  # kept in memory: the lambdas of a notebook could pile up


def recalled[T](known: list[T], is_it: Callable[[T], bool], make: Callable[[], T]) -> T:
    """Return what is known, or else made, as the last of ``known``: the most recently used.

    The caller holds a lock. Only ``MAX_STRUCTURES`` are kept.
    """
    i = next((i for i, each in enumerate(known) if is_it(each)), None)
    known.append(make() if i is None else known.pop(i))
    del known[:-MAX_STRUCTURES]
    return known[-1]


@dataclass(frozen=True, eq=False)
class Structure:
    """Random expressions, their data and their generators of random numbers.

    The data are ``pm.Data`` and the lengths of dims.
    """

    outputs: list[Variable]
    data: list[SharedVariable]
    generators: list[SharedVariable]

    @classmethod
    def of(cls, outputs: list[Variable]) -> Self:
        """Return the structure of ``outputs``."""
        shared = [v for v in graph_inputs(outputs) if isinstance(v, SharedVariable)]
        generators = [v for v in shared if isinstance(v.type, RandomType)]
        return cls(outputs, [v for v in shared if v not in generators], generators)

    def equals(self, other: Structure) -> bool:
        """Return whether the graphs are equal up to their data and generators."""
        mine, theirs = [*self.data, *self.generators], [*other.data, *other.generators]
        return (
            len(self.data) == len(other.data)
            and len(mine) == len(theirs)
            and len(self.outputs) == len(other.outputs)
            and all(
                a.name == b.name and a.type == b.type
                for a, b in zip([*mine, *self.outputs], [*theirs, *other.outputs], strict=True)
            )
            and equal_computations(self.outputs, other.outputs, in_xs=mine, in_ys=theirs)
        )
