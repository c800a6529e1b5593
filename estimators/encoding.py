"""Parameters of estimators as JSON: kernels, priors, cutoffs and estimators by name and fields."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from typing import Any

import numpy as np

from ..inference import cutoffs
from ..inference.cutoff import Cutoff
from ..models import kernels, priors
from ..models.kernels.tabular import Column, LongSide
from ..models.priors.base import is_foreign
from .registry import find

VALUES: dict[str, type] = {
    value.__name__: value
    for value in [
        *vars(kernels).values(),
        *vars(priors).values(),
        *vars(cutoffs).values(),
        Cutoff,
        Column,
        LongSide,
    ]
    if isinstance(value, type) and dataclasses.is_dataclass(value)
}


def _class_of(name: str) -> Any:
    """Return the class whose values are stored by their fields; None for another name."""
    record = None if name in VALUES else find(name)
    return VALUES.get(name) if record is None else record.estimator()


def encode(name: str, value: Any) -> Any:
    """Return ``value`` as JSON; ``name`` is the name of the parameter, for errors and functions."""
    if type(value) is _class_of(type(value).__name__):
        fields = {f.name: getattr(value, f.name) for f in dataclasses.fields(value)}
        encoded = {field: encode(f"{name}.{field}", v) for field, v in fields.items()}
        return {"type": type(value).__name__, "fields": encoded}
    if isinstance(value, dict):
        items = {key: encode(f"{name}.{key}", v) for key, v in value.items()}
        return {"type": "dict", "fields": items}
    if isinstance(value, tuple | range) or _are_labels(value):
        return {"type": "tuple", "items": [encode(name, v) for v in value]}
    if isinstance(value, list | np.ndarray) and np.asarray(value).dtype.kind in "fiub":
        return {"type": "array", "items": np.asarray(value, dtype=float).tolist()}
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if callable(value) or is_foreign(value):
        return {"type": "function", "name": name}
    raise TypeError(f"{name}={value!r} cannot be saved; expected a number, a string or None")


def _are_labels(value: Any) -> bool:
    """Return whether a list or an array has texts or whole numbers, which floats would change."""
    if isinstance(value, np.ndarray):
        value = value.tolist() if value.ndim == 1 else []
    return isinstance(value, list) and any(isinstance(v, str | int) for v in value)


def decode(value: Any, functions: dict[str, Any]) -> Any:
    """Return the value that :func:`encode` encoded; ``functions`` are the user's, by name."""
    if isinstance(value, list):
        raise ValueError("a list has no type; expected a dict with type and items")
    if not isinstance(value, dict):
        return value
    if value["type"] == "function":
        return functions[value["name"]]
    if value["type"] == "array":
        return np.array(value["items"], dtype=float)
    if value["type"] == "tuple":
        return tuple(decode(v, functions) for v in value["items"])
    fields = {name: decode(v, functions) for name, v in value["fields"].items()}
    if value["type"] == "dict":
        return fields
    cls = _class_of(value["type"])
    if cls is None:
        raise ValueError(f"unknown type {value['type']!r}")
    return cls(**fields)


def function_names(value: Any) -> Iterator[str]:
    """Yield the names of the user's functions in encoded ``value``, which are not stored."""
    if isinstance(value, dict):
        if value.get("type") == "function":
            yield value["name"]
        for v in value.values():
            yield from function_names(v)
    elif isinstance(value, list):
        for v in value:
            yield from function_names(v)
