"""Fitted estimators as NetCDF files: numbers and JSON, nothing that is executed.

The file is ``idata_`` (training rows, draws, distances, decision) plus one attribute,
``bsvdd``, with the version of this format and the estimator's parameters as JSON. Kernels,
priors and cutoffs of this package are written as their name and fields; in the place of a
user's own function stays a hole, which :func:`load` is told how to fill.
"""

from __future__ import annotations

import dataclasses
import json
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any
from uuid import uuid4

import numpy as np
import xarray as xr
from sklearn.utils.validation import check_is_fitted

from ..models import kernels, landmarks, priors
from ..models.gram import Gram, Sums
from ..models.registry import REGISTRY
from ..models.variable import is_foreign
from .cutoff import Cutoff

if TYPE_CHECKING:
    from .detector import Detector

FORMAT = 1
VALUES: dict[str, type] = {
    value.__name__: value
    for value in [*vars(kernels).values(), *vars(priors).values(), landmarks.Landmarks, Cutoff]
    if isinstance(value, type) and dataclasses.is_dataclass(value)
}


class UnreadableFileError(ValueError):
    """The file is no fitted bsvdd estimator, or is damaged."""


def save(est: Detector, path: str | os.PathLike[str]) -> None:
    """Write the fitted estimator ``est`` to ``path``, all or nothing.

    Raises
    ------
    TypeError
        A parameter is an object that JSON cannot hold.
    """
    check_is_fitted(est)
    parameters = est.get_params(deep=False) | {"kernel": kernels.as_kernel(est.kernel)}
    header = {
        "format": FORMAT,
        "estimator": type(est).__name__,
        "parameters": {name: _encode(name, value) for name, value in parameters.items()},
        "kernel": _encode("kernel", est.kernel_),
        "features": [str(f) for f in getattr(est, "feature_names_in_", [])],
        "seed": est._fit.seed,
    }
    tree = est.idata_.copy()
    tree.attrs["bsvdd"] = json.dumps(header)
    with atomic(Path(path)) as temporary:
        tree.to_netcdf(temporary, engine="h5netcdf")


@contextmanager
def atomic(path: Path) -> Iterator[Path]:
    """Give a temporary name beside ``path``, renamed to it when the block ends without error."""
    temporary = path.with_name(f".{path.name}.{uuid4().hex}.part")
    try:
        yield temporary
        os.replace(temporary, path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def load(path: str | os.PathLike[str], functions: Mapping[str, Any] | None = None) -> Any:
    """Return the fitted estimator that was saved in ``path``.

    Parameters
    ----------
    path : str or path
    functions : dict, optional
        The user's own functions among its parameters, by the names that the error without
        them gives: ``load(path, {"prior": my_prior})``.

    Raises
    ------
    UnreadableFileError
        The file is not what :func:`save` writes.
    ValueError
        A function is missing, or one is given that the file does not ask for.
    """
    try:
        with xr.open_datatree(path, engine="h5netcdf") as file:
            tree = file.load()
        header = json.loads(tree.attrs.pop("bsvdd"))
        version, holes = header["format"], set(_holes(header))
    except FileNotFoundError:
        raise
    except Exception as error:
        raise UnreadableFileError(f"{path} is no saved bsvdd estimator: {error}") from error
    if version != FORMAT:
        raise UnreadableFileError(
            f"{path} has format {version!r}, and this version reads {FORMAT}; load it with the "
            "version of bsvdd that wrote it"
        )
    given = dict(functions or {})
    if set(given) != holes:
        needs = ", ".join(sorted(holes)) or "no functions"
        raise ValueError(
            f"{path} was saved with {needs}, which are not stored: give a dict with just these "
            f"names, load(path, {{name: function}}), got {sorted(given) or 'none'}"
        )
    try:
        return _restore(tree, header, given)
    except Exception as error:
        raise UnreadableFileError(f"{path} is damaged: {error}") from error


def _restore(tree: xr.DataTree, header: dict[str, Any], functions: dict[str, Any]) -> Any:
    from .detector import Fit

    known = {record.class_name: record for record in REGISTRY.values()}
    if header["estimator"] not in known:
        raise ValueError(f"unknown estimator {header['estimator']!r}")
    parameters = {name: _decode(v, functions) for name, v in header["parameters"].items()}
    est = known[header["estimator"]].estimator()(**parameters)
    est._validate_params()
    kernel = _decode(header["kernel"], functions)
    constant = tree.children["constant_data"].dataset
    rows, minority = constant["X"].values, constant["minority"].values.astype(bool)
    est.n_features_in_ = rows.shape[1] - 2 if kernel.pairwise else rows.shape[1]
    if header["features"]:
        est.feature_names_in_ = np.array(header["features"], dtype=object)
    if "gram" in tree.children:  # they may be of more rows than are kept
        gram, place, whole = _statistics(tree.children["gram"].dataset, kernel)
    else:
        gram, place, whole = est._gram(kernel, rows, minority), est._place(minority), True
    decision = tree.children["decision"].dataset
    rule = est._rule(tree, gram, kernel)
    est._fit = Fit(
        kernel=kernel,
        rows=rows,
        minority=minority,
        gram=gram,
        place=place,
        seed=int(header["seed"]),
        whole=whole,
        rule=rule,
        idata=tree,
    )
    est.idata_ = tree
    est.cutoff_, est.level_ = float(decision["cutoff"]), float(decision["level"])
    est.offset_ = -est.cutoff_
    return est


def _statistics(kept: xr.Dataset, kernel: kernels.Kernel) -> tuple[Gram, np.ndarray, bool]:
    sums = Sums(int(kept["n0"]), float(kept["T"]), kept["r"].values)
    gram = Gram.from_sums(kernel, sums, kept["points"].values, int(kept["n1"]))
    return gram, kept["place"].values, bool(kept["whole"])


def _encode(name: str, value: Any) -> Any:
    """Return ``value`` as JSON; ``name`` is its place among the parameters."""
    if type(value) in VALUES.values():
        fields = {f.name: getattr(value, f.name) for f in dataclasses.fields(value)}
        encoded = {field: _encode(f"{name}.{field}", v) for field, v in fields.items()}
        return {"type": type(value).__name__, "fields": encoded}
    if isinstance(value, tuple):
        return {"type": "tuple", "items": [_encode(name, v) for v in value]}
    if isinstance(value, list | np.ndarray):
        return {"type": "array", "items": np.asarray(value, dtype=float).tolist()}
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if callable(value) or is_foreign(value):
        return {"type": "function", "name": name}
    raise TypeError(f"{name}={value!r} cannot be saved; expected a number, a string or None")


def _decode(value: Any, functions: dict[str, Any]) -> Any:
    if not isinstance(value, dict):
        return value
    if value["type"] == "function":
        return functions[value["name"]]
    if value["type"] == "array":
        return np.array(value["items"], dtype=float)
    if value["type"] == "tuple":
        return tuple(_decode(v, functions) for v in value["items"])
    fields = {name: _decode(v, functions) for name, v in value["fields"].items()}
    return VALUES[value["type"]](**fields)


def _holes(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        if value.get("type") == "function":
            yield value["name"]
        for v in value.values():
            yield from _holes(v)
    elif isinstance(value, list):
        for v in value:
            yield from _holes(v)
