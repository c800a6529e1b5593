"""Loads fitted estimators from NetCDF files; see :mod:`.saving`."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Mapping
from typing import Any

import numpy as np
import xarray as xr

from ...inference.cutoff import as_cutoff
from ...inference.draws import Draws
from ...models import kernels
from ..dictionary import restored_data
from ..fit import Fit
from ..registry import MODELS
from . import schema
from .container import UnreadableFileError, unsealed
from .encoding import decode, function_names

KEYS = {"estimator", "parameters", "kernel", "features", "seed"}


def load(path: str | os.PathLike[str], functions: Mapping[str, Any] | None = None) -> Any:
    """Return the fitted estimator that was saved in ``path``.

    Parameters
    ----------
    path : str or path
    functions : dict, optional
        The user's own functions among the parameters, for instance
        ``load(path, {"prior": my_prior})``. Without them, the error names those that are needed.

    Returns
    -------
    estimator
        A fitted estimator of the class that was saved.

    Raises
    ------
    UnreadableFileError
        The file is not one that ``est.save`` wrote, or it is damaged.
    ValueError
        A function is missing, or a function is given that the file does not need.

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
    with unsealed(path) as file:  # the file that was checked: a path may change
        try:
            with xr.open_datatree(file, engine="h5netcdf") as opened:
                tree = opened.load()
            header = _checked_header(json.loads(tree.attrs.pop("bsvdd")))
            needed = set(function_names(header))
        except Exception as error:
            raise UnreadableFileError(f"{path} is damaged: {error}") from error
    own_functions = dict(functions or {})
    if set(own_functions) != needed:
        names = ", ".join(sorted(needed)) or "no functions"
        raise ValueError(
            f"{path} was saved with {names}, which are not stored: give a dict with exactly these "
            f"names, load(path, {{name: function}}), got {sorted(own_functions) or 'none'}"
        )
    try:
        return _restore(tree, header, own_functions)
    except Exception as error:
        raise UnreadableFileError(f"{path} is damaged: {error}") from error


def _checked_header(header: Any) -> dict[str, Any]:
    """Return the header if its keys, types and values are valid."""
    if not isinstance(header, dict) or set(header) != KEYS:
        raise ValueError(f"expected a header of {', '.join(sorted(KEYS))}")
    features, seed = header["features"], header["seed"]
    if not isinstance(header["parameters"], dict):
        raise ValueError("parameters: expected their values by name")
    if not (isinstance(features, list) and all(isinstance(name, str) for name in features)):
        raise ValueError("features: expected a list of names")
    if type(seed) is not int or not 0 <= seed <= schema.MAX_SEED:
        raise ValueError(f"seed: expected a whole number of at most 2^31 - 1, got {seed!r}")
    return header


def _restore(tree: xr.DataTree, header: dict[str, Any], functions: dict[str, Any]) -> Any:
    """Return the estimator of a tree and a header, after checks of both."""
    classes = {record.class_name: record for record in MODELS.values()}
    if header["estimator"] not in classes:
        raise ValueError(f"unknown estimator {header['estimator']!r}")
    cls: Any = classes[header["estimator"]].estimator()
    parameters = {name: decode(v, functions) for name, v in header["parameters"].items()}
    if set(parameters) != set(cls._get_param_names()):  # a default would be a guess
        differ = ", ".join(sorted(set(parameters) ^ set(cls._get_param_names())))
        raise ValueError(f"parameters: missing from it, or unknown to {cls.__name__}: {differ}")
    kernel = kernels.as_kernel(decode(header["kernel"], functions))
    schema.check(tree, kernel)
    rows = tree.children["constant_data"].dataset["X"].values
    n_columns = rows.shape[1] - 2 if kernel.pairwise else rows.shape[1]
    names = header["features"]
    if names and len(names) != n_columns:
        raise ValueError(f"features: expected {n_columns} names")
    est = cls(**parameters)
    est._validate_params()
    est._check_policy(as_cutoff(est.cutoff))
    est.n_features_in_ = n_columns
    if names:
        est.feature_names_in_ = np.array(names, dtype=object)
    return _with_fit(est, tree, kernel, int(header["seed"]))


def _with_fit(est: Any, tree: xr.DataTree, kernel: kernels.Kernel, seed: int) -> Any:
    """Set the fit of a saved tree, and return the estimator."""
    # a file with statistics of its own is one of landmarks
    dictionary = est._dictionary(sys.maxsize if "gram" in tree.children else 0)
    data = restored_data(dictionary, tree, kernel, seed)
    draws = Draws.from_tree(tree, est._solution)
    decision = tree.children["decision"].dataset
    cv = decision.attrs.get("cv", "auto")
    est._calibrated_scale = draws.solution.get("calibrated_scale", 1.0)
    fit = Fit(
        data=data,
        draws=draws,
        center=est._score(draws, data.gram),
        diagnostics={str(n): float(v) for n, v in tree["diagnostics"].dataset.items()},
        cutoff=float(decision["offset"]),
        level=float(decision["level"]),
        left_out=decision["left_out_score"].values if "left_out_score" in decision else None,
        cv=int(cv) if cv.isdigit() else cv,
        prior=tree["prior"].to_dataset() if "prior" in tree.children else None,
        likelihood=est._prior_and_likelihood(data, draws)[1],
        attrs=est._attrs(),
    )
    est._set(fit, float(decision["cutoff"]))
    est.idata_ = tree
    return est
