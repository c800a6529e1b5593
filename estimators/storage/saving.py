"""Fitted estimators as NetCDF files: numbers and JSON, nothing that is executed.

The file is ``idata_`` (training rows, draws, distances, decision), one attribute, ``bsvdd``,
with the estimator's parameters as JSON, and at its end the version of the format and a checksum
(:mod:`.sealing`; docs/format.md describes it all). Kernels, priors and cutoffs of this package
are written as their name and fields; in the place of a user's own function stays a hole, which
:func:`load` is told how to fill.
"""

from __future__ import annotations

import io
import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

from sklearn.utils.validation import check_is_fitted

from ...models import kernels
from .atomic import atomic
from .container import inspect, seal
from .encoding import encode

if TYPE_CHECKING:
    from ..base import BaseDetector


def save(est: BaseDetector, path: str | os.PathLike[str]) -> None:
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
        "parameters": {name: encode(name, value) for name, value in parameters.items()},
        "kernel": encode("kernel", est.kernel_),
        "features": [str(f) for f in getattr(est, "feature_names_in_", [])],
        "seed": est._fit.data.seed,
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
