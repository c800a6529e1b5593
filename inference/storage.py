"""Fitted estimators as NetCDF files: numbers and JSON, nothing that is executed.

The file is ``idata_`` (training rows, draws, distances, decision), one attribute, ``bsvdd``,
with the estimator's parameters as JSON, and at its end the version of the format and a checksum
(:mod:`.sealing`; docs/format.md describes it all). Kernels, priors and cutoffs of this package
are written as their name and fields; in the place of a user's own function stays a hole, which
:func:`load` is told how to fill.
"""

from __future__ import annotations

import dataclasses
import io
import json
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

import numpy as np
import xarray as xr
from sklearn.utils.validation import check_is_fitted

from ..models import kernels, landmarks, priors
from ..models.gram import Gram, Sums
from ..models.registry import REGISTRY
from ..models.variable import is_foreign
from . import consistency
from .cutoff import Cutoff, as_cutoff
from .files import atomic
from .sealing import UnreadableFileError, inspect, seal, unsealed

if TYPE_CHECKING:
    from .detector import Detector

KEYS = {"estimator", "parameters", "kernel", "features", "seed"}
VALUES: dict[str, type] = {
    value.__name__: value
    for value in [*vars(kernels).values(), *vars(priors).values(), landmarks.Landmarks, Cutoff]
    if isinstance(value, type) and dataclasses.is_dataclass(value)
}


def save(est: Detector, path: str | os.PathLike[str]) -> None:
    """Write the fitted estimator ``est`` to ``path``, all or nothing.

    Raises
    ------
    TypeError
        A parameter is an object that JSON cannot hold.
    ValueError
        ``idata_`` was given something that the format has no place for, such as complex numbers.
    OSError
        It cannot be written there.
    """
    check_is_fitted(est)
    parameters = est.get_params(deep=False) | {"kernel": kernels.as_kernel(est.kernel)}
    header = {
        "estimator": type(est).__name__,
        "parameters": {name: _encode(name, value) for name, value in parameters.items()},
        "kernel": _encode("kernel", est.kernel_),
        "features": [str(f) for f in getattr(est, "feature_names_in_", [])],
        "seed": est._fit.seed,
    }
    tree = est.idata_.copy()
    tree.attrs["bsvdd"] = json.dumps(header)
    text = {  # as characters: strings of any length could not be bounded before they are read
        f"/{name}": {
            v: {"dtype": "S1"} for v in group.variables if group.dataset[v].dtype.kind in "OUT"
        }
        for name, group in tree.children.items()
    }
    # first into memory, as on a full disk the HDF5 library takes the whole process with it
    content = io.BytesIO()
    tree.to_netcdf(content, engine="h5netcdf", encoding=text)
    with atomic(Path(path)) as temporary:
        temporary.write_bytes(content.getvalue())
        seal(temporary)
        with open(temporary, "rb") as file:
            _check_that_it_loads(file)


def _check_that_it_loads(file: BinaryIO) -> None:
    try:
        inspect(file)
    except ValueError as error:
        raise ValueError(
            f"idata_ holds what no saved file may hold: {error}; take it out of idata_ and save "
            "again"
        ) from error


def load(path: str | os.PathLike[str], functions: Mapping[str, Any] | None = None) -> Any:
    """Return the fitted estimator that was saved in ``path``.

    Parameters
    ----------
    path : str or path
    functions : dict, optional
        The user's own functions among its parameters, by the names that the error without
        them gives: ``load(path, {"prior": my_prior})``.

    Returns
    -------
    estimator
        Fitted, of the class that was saved.

    Raises
    ------
    UnreadableFileError
        The file is not what ``est.save`` writes.
    ValueError
        A function is missing, or one is given that the file does not ask for.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import numpy as np
    >>> import bsvdd
    >>> X = np.random.default_rng(0).normal(size=(50, 2))
    >>> est = bsvdd.SVDD().fit(X)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     est.save(Path(folder) / "model.nc")
    ...     same = bsvdd.load(Path(folder) / "model.nc")
    >>> same.cutoff_ == est.cutoff_
    True
    """
    with unsealed(path) as file:  # a file that is open cannot become another one, or an address
        try:
            with xr.open_datatree(file, engine="h5netcdf") as opened:
                tree = opened.load()
            header = _checked_header(json.loads(tree.attrs.pop("bsvdd")))
            holes = set(_holes(header))
        except Exception as error:
            raise UnreadableFileError(f"{path} is damaged: {error}") from error
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


def _checked_header(header: Any) -> dict[str, Any]:
    """Return the header, if it has all that it must have and nothing else."""
    if not isinstance(header, dict) or set(header) != KEYS:
        raise ValueError(f"expected a header of {', '.join(sorted(KEYS))}")
    features, seed = header["features"], header["seed"]
    if not isinstance(header["parameters"], dict):
        raise ValueError("parameters: expected their values by name")
    if not (isinstance(features, list) and all(isinstance(name, str) for name in features)):
        raise ValueError("features: expected a list of names")
    if type(seed) is not int or not 0 <= seed <= consistency.MAX_SEED:
        raise ValueError(f"seed: expected a whole number of at most 2^31 - 1, got {seed!r}")
    return header


def _restore(tree: xr.DataTree, header: dict[str, Any], functions: dict[str, Any]) -> Any:
    from .detector import Fit

    known = {record.class_name: record for record in REGISTRY.values()}
    if header["estimator"] not in known:
        raise ValueError(f"unknown estimator {header['estimator']!r}")
    cls: Any = known[header["estimator"]].estimator()
    parameters = {name: _decode(v, functions) for name, v in header["parameters"].items()}
    if set(parameters) != set(cls._get_param_names()):  # a default in its place would be a guess
        differ = ", ".join(sorted(set(parameters) ^ set(cls._get_param_names())))
        raise ValueError(f"parameters: missing from it, or unknown to {cls.__name__}: {differ}")
    est = cls(**parameters)
    est._validate_params()
    as_cutoff(est.cutoff)
    kernel = kernels.as_kernel(_decode(header["kernel"], functions))
    consistency.check(tree, kernel)
    constant = tree.children["constant_data"].dataset
    rows, minority = constant["X"].values, constant["minority"].values
    est.n_features_in_ = rows.shape[1] - 2 if kernel.pairwise else rows.shape[1]
    if header["features"]:
        if len(header["features"]) != est.n_features_in_:
            raise ValueError(f"features: expected {est.n_features_in_} names")
        est.feature_names_in_ = np.array(header["features"], dtype=object)
    if "gram" in tree.children:  # they may be of more rows than are kept
        gram, place, whole = _statistics(tree.children["gram"].dataset, kernel)
    else:
        place, w = est._place(minority), tree["posterior"]["w"]
        if est._has_dictionary or w.shape[-1] != len(place):
            raise ValueError(f"gram is missing, or the weights are not of {len(place)} points")
        est._held(minority, 0)  # refuses rows whose kernel matrix is too large
        gram, whole = est._gram(kernel, rows, minority), True
    decision = tree.children["decision"].dataset
    rule = est._rule(tree, gram)
    est._fit = Fit(
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
    from .description import MAX_POINTS

    if len(kept["r"]) > 2 * MAX_POINTS:  # a dictionary, and as many minority points
        raise ValueError(f"gram/r: expected up to {2 * MAX_POINTS} points, got {len(kept['r'])}")
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
    if isinstance(value, list):
        raise ValueError("a list has no type; expected a dict with type and items")
    if not isinstance(value, dict):
        return value
    if value["type"] == "function":
        return functions[value["name"]]
    if value["type"] == "array":
        return np.array(value["items"], dtype=float)
    if value["type"] == "tuple":
        return tuple(_decode(v, functions) for v in value["items"])
    if value["type"] not in VALUES:
        raise ValueError(f"unknown type {value['type']!r}")
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
