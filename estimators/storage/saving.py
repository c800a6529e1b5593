"""Saves fitted estimators as NetCDF files: numbers and JSON, nothing that is executed.

The file has ``idata_`` (training rows, draws, distances, decision), one attribute, ``bsvdd``, with
the estimator's parameters as JSON, and at the end the version of the format and a checksum
(:mod:`.container`; docs/format.md describes the format). Kernels, priors and cutoffs of this
package are stored as their name and fields. A user's own function is stored as its name only, and
must be given to :func:`.loading.load`.
"""

from __future__ import annotations

import io
import json
import os
from pathlib import Path
from typing import Any, BinaryIO

from sklearn.utils.validation import check_is_fitted

from ...models import kernels
from .atomic import atomic
from .container import inspect, seal
from .encoding import encode


def save(est: Any, path: str | os.PathLike[str]) -> None:
    """Write the fitted estimator ``est`` to ``path``, completely or not at all.

    Raises
    ------
    TypeError
        A parameter is an object that JSON cannot store.
    ValueError
        ``idata_`` has additions that the format cannot store, such as complex numbers.
    OSError
        The file cannot be written.
    """
    check_is_fitted(est)
    parameters = est.get_params(deep=False) | {"kernel": kernels.as_kernel(est.kernel)}
    header = {
        "estimator": type(est).__name__,
        "parameters": {name: encode(name, value) for name, value in parameters.items()},
        "kernel": encode("kernel", est.kernel_),
        "features": [str(f) for f in getattr(est, "feature_names_in_", [])],
        "seed": est.fit_.data.seed,
    }
    tree = est.idata_.copy()
    tree.attrs["bsvdd"] = json.dumps(header)
    text = {  # characters have a known length; strings of any length cannot be bounded in a check
        f"/{name}": {
            v: {"dtype": "S1"} for v in group.variables if group.dataset[v].dtype.kind in "OUT"
        }
        for name, group in tree.children.items()
    }
    # first into memory, because the HDF5 library crashes the process if the disk is full
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
            f"idata_ has content that cannot be saved: {error}; remove it from idata_ and save "
            "again"
        ) from error
