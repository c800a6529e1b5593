"""Fitted estimators as NetCDF files: numbers and JSON, nothing that is executed.

The file is ``idata_`` (training rows, draws, distances, decision) plus one attribute,
``bsvdd``, with the version of this format and the estimator's parameters as JSON. Kernels,
priors and cutoffs of this package are written as their name and fields; a user's own
function cannot be written, and is given to :func:`load` again.
"""

from __future__ import annotations

import dataclasses
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any
from uuid import uuid4

import numpy as np
import xarray as xr
from sklearn.utils.validation import check_is_fitted

from ..models import kernels, priors
from .cutoff import Cutoff

if TYPE_CHECKING:
    from .base import Description

FORMAT = 1

_DESCRIPTIONS: dict[str, type] = {
    c.__name__: c
    for c in (
        kernels.RBF,
        kernels.Laplacian,
        kernels.Linear,
        kernels.Polynomial,
        kernels.Precomputed,
        kernels.Standardized,
        priors.Flat,
        priors.RowSum,
        priors.StandardizedRowSum,
        priors.Beta,
        Cutoff,
    )
}


class UnreadableFileError(ValueError):
    """The file is no fitted bsvdd estimator, or is damaged."""


def save(est: Description, path: str | os.PathLike[str]) -> None:
    """Write the fitted estimator ``est`` to ``path``, all or nothing.

    Raises
    ------
    TypeError
        A parameter is a function or another object that JSON cannot hold.
    """
    check_is_fitted(est)
    header = {
        "format": FORMAT,
        "estimator": type(est).__name__,
        "parameters": {name: _encode(name, v) for name, v in est.get_params(deep=False).items()},
        "kernel": _encode("kernel", est.kernel_),
        "features": [str(f) for f in getattr(est, "feature_names_in_", [])],
        "seed": est._seed,
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


def load(path: str | os.PathLike[str], **functions: Any) -> Any:
    """Return the fitted estimator that was saved in ``path``.

    Parameters
    ----------
    path : str or path
    **functions
        Parameters that were functions of the user's, by name: ``load(path, prior=my_prior)``.

    Raises
    ------
    UnreadableFileError
        The file is not what :func:`save` writes.
    """
    from . import estimators

    try:
        tree = xr.open_datatree(path, engine="h5netcdf").load()
        tree.close()
        header = json.loads(tree.attrs.pop("bsvdd"))
    except FileNotFoundError:
        raise
    except (OSError, KeyError, ValueError, TypeError) as error:
        raise UnreadableFileError(f"{path} is no saved bsvdd estimator: {error}") from error
    if header.get("format") != FORMAT:
        raise UnreadableFileError(
            f"{path} has format {header.get('format')!r}, and this version reads {FORMAT}; "
            "load it with the version of bsvdd that wrote it"
        )
    classes = {name: getattr(estimators, name) for name in ("SVDD", "BDD", "BSVDD", "BSVDDM")}
    if header["estimator"] not in classes:
        raise UnreadableFileError(f"{path}: unknown estimator {header['estimator']!r}")
    parameters = {}
    for name, value in header["parameters"].items():
        parameters[name] = functions[name] if name in functions else _decode(path, name, value)
    est = classes[header["estimator"]](**parameters)
    est._validate_params()
    est._seed = header["seed"]
    rows = tree["constant_data"]
    est._rows, est._minority = rows["X"].values, rows["minority"].values.astype(bool)
    if "kernel" in functions:
        est.kernel_ = kernels.as_kernel(est.kernel).resolve(est._rows[~est._minority])
    else:
        est.kernel_ = _decode(path, "kernel", header["kernel"])
    est.n_features_in_ = len(est._rows) if est.kernel_.pairwise else est._rows.shape[1]
    if header["features"]:
        est.feature_names_in_ = np.array(header["features"], dtype=object)
    est.idata_ = tree
    est.gram_ = est._statistics(est._rows, est._minority)
    est._restore()
    return est


def _encode(name: str, value: Any) -> Any:
    if type(value).__name__ in _DESCRIPTIONS and type(value) in _DESCRIPTIONS.values():
        fields = {
            f.name: _encode(f.name, getattr(value, f.name)) for f in dataclasses.fields(value)
        }
        return {"type": type(value).__name__, "fields": fields}
    if isinstance(value, tuple):
        return {"type": "tuple", "items": [_encode(name, v) for v in value]}
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if callable(value):
        return {"type": "function", "repr": repr(value)}
    raise TypeError(f"{name}={value!r} cannot be saved; expected a number, a string or None")


def _decode(path: Any, name: str, value: Any) -> Any:
    if not isinstance(value, dict):
        return value
    if value.get("type") == "function":
        raise ValueError(
            f"{path}: {name} was a function, {value.get('repr')}, which is not stored; give it "
            f"again: load(path, {name}=...)"
        )
    if value.get("type") == "tuple":
        return tuple(_decode(path, name, v) for v in value["items"])
    if value.get("type") not in _DESCRIPTIONS:
        raise UnreadableFileError(f"{path}: {name} has the unknown type {value.get('type')!r}")
    try:
        fields = {field: _decode(path, name, v) for field, v in value["fields"].items()}
        return _DESCRIPTIONS[value["type"]](**fields)
    except (TypeError, ValueError, KeyError) as error:
        raise UnreadableFileError(f"{path}: {name} cannot be read: {error}") from error
