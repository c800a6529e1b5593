"""What a saved fit may hold: values and shapes of its arrays, types of its fields."""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Callable, Mapping
from fnmatch import fnmatchcase
from functools import cache
from types import UnionType
from typing import Any, get_args, get_origin, get_type_hints

import numpy as np

from ..inference import boundary, cutoffs
from ..models import kernels, priors
from ..models.kernels import decorrelated, tabular
from ..tables import columns
from ..tables.table import Table
from ..tables.training import TrainingRows

Tensors = dict[str, np.ndarray]
hints_of = cache(get_type_hints)
ANEW = "save the fit anew with est.save"
# By place: the values, and the size of each axis by its name, the same in all arrays.
# Values are "finite", "missing" (finite or NaN), "flags", "any", or places below the
# size of that name, from -1 on.
ARRAYS = {
    "kernel.columns.*": "finite *",
    "rows.X": "finite rows coordinates",
    "rows.minority": "flags rows",
    "rows.weight": "finite rows",
    "rows.group": "rows rows",
    "rows.rank": "rows rows",
    "rows.copies": "finite copies incomplete coordinates",
    "rows.incomplete": "rows incomplete",
    "rows.table.columns": "any columns",
    "rows.observed": "missing rows columns",
    "rows.group_labels": "any rows",
    "rows.names": "any rows",
    "atoms.distinct": "rows distinct",
    "atoms.atom": "distinct distinct",
    "atoms.of_row": "distinct rows",
    "atoms.weight": "finite weights",
    "atoms.weight_of": "distinct weights",
    "atoms.weight_in": "groups weights",
    "draws.w": "finite draws point",
    "draws.squared_norm": "finite draws",
    "draws.norm_between": "finite draws",
    "draws.stats.*": "any chains chain",
    "draws.variables.*": "any draws",
    "draws.coords.*": "any",
    "boundary.*": "finite boundary",
    "left_out_scores": "missing rows",
    "*": "any",
}
# the kinds of type, and which values are right
VALUES: dict[str, tuple[str, Callable[[np.ndarray], Any]]] = {
    "finite": ("f", np.isfinite),
    "missing": ("f", lambda x: ~np.isinf(x)),
    "flags": ("b", np.isfinite),
    "any": ("biufO", lambda x: True),
}


@cache
def known_classes() -> dict[str, Any]:
    """Return the classes that a file may name."""
    rooms = (kernels, tabular, decorrelated, priors, cutoffs, boundary, columns)
    values = [v for room in rooms for v in vars(room).values()]
    classes = [v for v in [*values, Table, TrainingRows] if isinstance(v, type)]
    return {cls.__name__: cls for cls in classes if dataclasses.is_dataclass(cls)}


@dataclasses.dataclass(frozen=True, eq=False)
class Saved:
    """The JSON and the arrays of a file, and the user's functions by their places.

    ``sizes`` are those of axes, as far as they are known.
    """

    header: dict[str, Any]
    tensors: Tensors
    functions: Mapping[str, object]
    sizes: dict[str, int] = dataclasses.field(default_factory=dict)

    def part(self, name: str, hint: Any, **shapes: str) -> Any:
        """Return a part of the file, after checks by ``hint``, ``shapes`` and ARRAYS.

        Raises
        ------
        ValueError
            The part or an array is missing, or a value is not as it must be.
        """
        if name not in self.header:
            raise ValueError(f"{name} is missing; {ANEW}")
        arrays: Tensors = {}
        found = self._decoded(self.header[name], name, arrays)
        require(found, hint, name)
        self._check(arrays, shapes | ARRAYS)
        return found

    def _decoded(self, tree: Any, place: str, arrays: Tensors) -> Any:
        """Return the value of JSON; ``arrays`` takes its arrays by their places."""
        if not isinstance(tree, dict):
            return tree
        ((name, inside),) = tree.items()
        if name == "array":
            if inside not in self.tensors:
                raise ValueError(f"its array {place} is missing; {ANEW}")
            found = arrays[place] = self.tensors[inside]
            return found.astype(float) if found.dtype == np.float32 else found
        if name == "objects":
            arrays[place] = np.array(inside, dtype=object)
            return arrays[place]
        if name == "function":
            return self.functions[inside]
        if name == "dict":
            return {k: self._decoded(v, f"{place}.{k}", arrays) for k, v in inside}
        if name == "tuple":
            if inside and place in ARRAYS:
                arrays[place] = np.empty(len(inside), dtype=object)
            each = enumerate(inside)
            return tuple(self._decoded(v, f"{place}.{i}", arrays) for i, v in each)
        if name not in known_classes():
            raise ValueError(f"{place}: unknown type {name!r:.80}")
        cls = known_classes()[name]
        hints = hints_of(cls)
        fields = {}
        for k, v in inside.items():
            fields[k] = self._decoded(v, f"{place}.{k}", arrays)
            require(fields[k], hints[k], f"{place}.{k}")
        return cls(**fields)

    def _check(self, arrays: Tensors, known: Mapping[str, str]) -> None:
        """Raise a ValueError for an array that has other values or another shape.

        A size that is not known yet is the one that most arrays have.
        """
        votes: Counter[tuple[str, int]] = Counter()
        expected = {}
        for place, x in arrays.items():
            text = next(v for k, v in known.items() if fnmatchcase(place, k))
            values, *axes = text.replace("*", place.rpartition(".")[0]).split()
            expected[place] = values, axes
            votes.update(zip(axes, x.shape, strict=False))
        for (axis, n), _ in votes.most_common():
            self.sizes.setdefault(axis, n)
        for place, (values, axes) in expected.items():
            x = arrays[place]
            shape = tuple(self.sizes.get(axis, 1) for axis in axes)
            known_shape = x.shape[: len(shape)] if values == "any" else x.shape
            if known_shape != shape or not self._right(x, values):
                named = ", ".join(axes)
                raise ValueError(
                    f"its array {place} must be of shape ({named}) = {shape} with "
                    f"values that are {values}, and is {x.dtype} of shape {x.shape}"
                    f"{' with others' * (known_shape == shape)}; {ANEW}"
                )

    def _right(self, x: np.ndarray, values: str) -> bool:
        """Return whether an array has the right type and values."""
        if values in VALUES:
            kinds, right = VALUES[values]
            return x.dtype.kind in kinds and bool(np.all(right(x)))
        places = x.dtype.kind in "iu"
        return places and bool(((x >= -1) & (x < self.sizes[values])).all())


def require(value: object, hint: Any, place: str) -> None:
    """Raise a ValueError for a value of another type than the hint of its field."""
    if not suits(value, hint):
        says = getattr(hint, "__name__", hint)
        raise ValueError(f"{place} must be {says}, and is {value!r:.80}; {ANEW}")


def suits(value: Any, hint: Any) -> bool:
    """Return whether a value has the type of a hint; a number is not NaN."""
    kind = get_origin(hint) or hint
    if kind is UnionType:
        return any(suits(value, each) for each in get_args(hint))
    if kind is float:
        return isinstance(value, int | float) and value < np.inf
    return kind is Any or isinstance(value, kind)
