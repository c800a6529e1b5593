"""Validates shapes, types and ranges in the tree of a loaded fit."""

from __future__ import annotations

import math

import numpy as np
import xarray as xr

from ...models.kernels import Kernel
from ..labels import labels_of_text

MAX_SEED = 2**31 - 1


def check(tree: xr.DataTree, kernel: Kernel) -> None:
    """Raise a ValueError that names the first invalid variable of ``tree``."""
    rows = _values(tree, "constant_data/X", (None, None))
    n, p = rows.shape
    minority = _values(tree, "constant_data/minority", (n,), "b")
    if not n or minority.all():
        raise ValueError("constant_data/minority: expected at least one majority row")
    if "kind" in tree.children["constant_data"].dataset:
        kind = _values(tree, "constant_data/kind", (n,), "i", 0)
        labels = labels_of_text(tree.children["constant_data"].attrs.get("kinds", "[]"))
        if kind.max() != len(labels) or not np.array_equal(kind > 0, minority):
            raise ValueError(
                f"constant_data/kind: expected 0 for majority rows and 1 to {len(labels)} for "
                f"minority rows, one for each name of the attribute kinds, got up to {kind.max()}"
            )
    if "name" in tree.children["constant_data"].dataset:
        names = tree.children["constant_data"].dataset["name"].values
        if names.shape != (n,) or not (
            names.dtype.kind in "iU" or all(isinstance(name, str) for name in names)
        ):
            raise ValueError(f"constant_data/name: expected {n} whole numbers or texts")
    if "unlabelled" in tree.children["constant_data"].dataset:
        _values(tree, "constant_data/unlabelled", (None, p))
    chains, draws, M = _values(tree, "posterior/w", (None, None, None)).shape
    if not chains * draws * M:
        raise ValueError("posterior/w: expected at least one draw of one weight")
    if "squared_norm" in tree.children["posterior"].dataset:
        _values(tree, "posterior/squared_norm", (chains, draws))
    if "squared_radius" in tree.children["posterior"].dataset:
        _values(tree, "posterior/squared_radius", (chains, draws), low=0.0)
    if "gram" in tree.children:
        points = _values(tree, "gram/points", (M, p))
        _values(tree, "gram/place", (M,), "i", -1, n - 1)
        _values(tree, "gram/r", (M,))
        _values(tree, "gram/T", ())
        _values(tree, "gram/n0", (), "i", 1)
        _values(tree, "gram/n1", (), "i", 0, M - 1)
        _values(tree, "gram/whole", (), "b")
        rows = np.concatenate([rows, points])
    if kernel.pairwise:  # the last entry of a row is its index among the columns
        index = rows[:, -1] if p > 2 else np.array([-1.0])
        if not np.isin(index, np.arange(p - 2)).all():
            raise ValueError(f"constant_data/X: expected rows of a kernel of {p - 2} columns")
    if "distance" in tree.children:
        _values(tree, "distance/d", (chains, draws, n), low=0.0)
        if tree.children["posterior"].attrs["sampler"] != "bootstrap":
            terms = _values(tree, "log_likelihood/kernel", (chains, draws, None)).shape[-1]
            n0 = int((~minority).sum())
            if terms not in (n0, n):  # minority rows have a term in some likelihoods only
                raise ValueError(
                    f"log_likelihood/kernel: expected values of {n0} majority rows, or of all {n} "
                    f"rows, got {terms}"
                )
    else:
        _values(tree, "score/f", (n,))
        attrs = tree.children["posterior"].attrs
        if "seed" in attrs and not (
            float(attrs["seed"]).is_integer() and 0 <= attrs["seed"] <= MAX_SEED
        ):
            raise ValueError(
                f"posterior: expected a seed of at most 2^31 - 1, got {attrs['seed']!r}"
            )
        if "offset" in attrs and not math.isfinite(float(attrs["offset"])):
            raise ValueError(f"posterior: expected a finite offset, got {attrs['offset']!r}")
    _values(tree, "decision/cutoff", ())
    _values(tree, "decision/level", (), low=0.0, high=np.nextafter(1.0, 0.0))
    _values(tree, "decision/probability_normal", (n,), low=0.0, high=1.0)
    _values(tree, "decision/normal", (n,), "b")


def _values(
    tree: xr.DataTree,
    name: str,
    shape: tuple[int | None, ...],
    kind: str = "f",
    low: float = -math.inf,
    high: float = math.inf,
) -> np.ndarray:
    """Return the finite values of ``group/variable``; None in ``shape`` is any length."""
    group, _, variable = name.partition("/")
    if group not in tree.children or variable not in tree.children[group].dataset:
        raise ValueError(f"{name} is missing")
    values: np.ndarray = tree.children[group].dataset[variable].values
    same_shape = len(values.shape) == len(shape) and all(
        expected in (None, length) for expected, length in zip(shape, values.shape, strict=True)
    )
    if not same_shape or values.dtype.kind != kind:
        lengths = ", ".join("any" if length is None else str(length) for length in shape)
        type_ = {"f": "float", "i": "integer", "b": "boolean"}[kind]
        raise ValueError(
            f"{name}: expected {type_} values of shape ({lengths}), got {values.dtype} "
            f"of shape {values.shape}"
        )
    wrong = ~(np.isfinite(values) & (values >= low) & (values <= high))
    if wrong.any():
        raise ValueError(
            f"{name}: expected finite values"
            + ("" if math.isinf(low) else f" from {low:g}")
            + ("" if math.isinf(high) else f" to {high:g}")
            + f", got {values[wrong][0]}"
        )
    return values
