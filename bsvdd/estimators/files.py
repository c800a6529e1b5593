"""Saved fits: one safetensors file of arrays, with JSON in its header; nothing in it is executed.

Rows, kernel, atoms, draws and boundary are stored, and what follows from them is not:
Gram statistics, answers, and the sphere of SVDD are computed again. Values of the
package are stored by the name of their class and their fields. A user's own function is
stored by its place only, and must be given to :func:`bsvdd.load`.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
import os
import stat
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any, cast

import numpy as np
from safetensors import numpy as safetensors
from scipy import sparse

from ..base import threads
from ..base.atomic import write
from ..inference import boundary, cutoffs
from ..inference.draws import Draws
from ..inference.fit import Fit
from ..models import kernels, priors
from ..models.dictionary import Dictionary
from ..models.kernels import decorrelated, tabular
from ..tables import columns
from ..tables.labels import to_save
from ..tables.table import Table
from ..tables.training import TrainingRows
from .of_rows import OfRows
from .registry import find

FORMAT = 3
CSR = ("data", "indices", "indptr", "shape")
ATOMS = ("distinct", "atom", "group_weights", "of_row")
DRAWS = ("w", "chains", "sampler", "stats", "uncalibrated", "squared_norm")
ANSWERS = ("boundary", "left_out_scores")  # of a fit, that take long to compute
SINGLE = "draws.w"  # in single precision
Tensors = dict[str, np.ndarray]


class UnreadableFileError(ValueError):
    """The file is not a saved bsvdd estimator, or it is damaged."""


@cache
def known_classes() -> dict[str, Any]:
    """Return the classes that a file may name."""
    rooms = (kernels, tabular, decorrelated, priors, cutoffs, boundary, columns)
    each = [v for room in rooms for v in vars(room).values()]
    each += [Table, TrainingRows]
    return {
        v.__name__: v
        for v in each
        if isinstance(v, type) and dataclasses.is_dataclass(v)
    }


# values as JSON


def encoded(value: Any, place: str, tensors: Tensors) -> Any:
    """Return a value as JSON, its arrays among the tensors; ``place`` names it in errors."""
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, np.ndarray):
        return _of_array(value, place, tensors)
    if isinstance(value, tuple | list | range):
        return {"tuple": [encoded(v, place, tensors) for v in value]}
    if isinstance(value, Mapping):
        return {
            "dict": [[k, encoded(v, f"{place}.{k}", tensors)] for k, v in value.items()]
        }
    if isinstance(value, sparse.csr_array):
        parts = [np.asarray(getattr(value, part)) for part in CSR]
        return {"csr": [encoded(v, place, tensors) for v in parts]}
    if type(value) is known_classes().get(type(value).__name__):
        fields = {f.name: getattr(value, f.name) for f in dataclasses.fields(value)}
        places = {
            n: place if n == "function" else f"{place}.{n}" for n in fields
        }  # of a Custom
        inner = {name: encoded(v, places[name], tensors) for name, v in fields.items()}
        return {type(value).__name__: inner}
    if callable(value) or hasattr(value, "to_pymc"):
        return {"function": place}
    raise TypeError(
        f"{place}={value!r} cannot be saved; expected a number, a string or None"
    )


def _of_array(value: np.ndarray, place: str, tensors: Tensors) -> Any:
    if value.dtype.kind not in "fiub":  # of texts
        return {"objects": value.tolist()}
    if place == SINGLE:
        value = value.astype(np.float32)
    name = next(
        (n for n, known in tensors.items() if known is value), str(len(tensors))
    )
    tensors[name] = value
    return {"array": name}


def decoded(tree: Any, tensors: Tensors, functions: Mapping[str, Any]) -> Any:
    """Return the value that :func:`encoded` has; ``functions`` are the user's, by their places."""
    if not isinstance(tree, dict):
        return tree
    ((name, inside),) = tree.items()
    if name == "array":
        found = tensors[inside]
        return found.astype(float) if found.dtype == np.float32 else found
    if name == "objects":
        return np.array(inside, dtype=object)
    if name == "function":
        return functions[inside]
    if name == "dict":
        return {k: decoded(v, tensors, functions) for k, v in inside}
    if name in ("tuple", "csr"):
        values = tuple(decoded(v, tensors, functions) for v in inside)
        return (
            values if name == "tuple" else sparse.csr_array(values[:3], shape=values[3])
        )
    if name not in known_classes():
        raise ValueError(f"unknown type {name!r:.80}")
    return known_classes()[name](
        **{k: decoded(v, tensors, functions) for k, v in inside.items()}
    )


def places_of_functions(tree: Any) -> Iterator[str]:
    """Yield the places of the user's functions in JSON."""
    if isinstance(tree, dict):
        if isinstance(tree.get("function"), str):
            yield tree["function"]
        yield from places_of_functions(list(tree.values()))
    elif isinstance(tree, list):
        for each in tree:
            yield from places_of_functions(each)


# files


def save(est: OfRows, path: str | os.PathLike[str]) -> None:
    """Write a fitted estimator to one file; see ``est.save``."""
    fit = est.fit_
    rows = cast("TrainingRows", fit.rows)
    labels = tuple(to_save(rows.labels))
    draws = None
    if fit.draws.model.likelihood_scale is not None:
        draws = {name: getattr(fit.draws, name) for name in DRAWS}
    parts = {
        "kernel": fit.dictionary.kernel,
        "rows": dataclasses.replace(rows, labels=labels, kernel=cast(Any, None)),
        "atoms": [getattr(fit.dictionary, name) for name in ATOMS],
        "draws": draws,
        "likelihood_scale": fit.draws.model.likelihood_scale,
        "cutoff": fit.cutoff,
        **{name: getattr(fit, name) for name in ANSWERS},
    }
    tensors: Tensors = {}
    parameters = fit.estimator.get_params(deep=False)
    header = {
        "format": FORMAT,
        "estimator": type(est).__name__,
        "parameters": {k: encoded(v, k, tensors) for k, v in parameters.items()},
        **{name: encoded(value, name, tensors) for name, value in parts.items()},
        "seed": fit.seed,
        "seconds": None if np.isnan(fit.seconds) else fit.seconds,
    }
    text = json.dumps(header)
    whole = {name: np.ascontiguousarray(value) for name, value in tensors.items()}
    about = {"bsvdd": text, "sha256": digest(text, whole)}
    write(Path(path), safetensors.save(whole, about))


def digest(text: str, tensors: Tensors) -> str:
    """Return a hash of the JSON and of the arrays of a file."""
    found = hashlib.sha256(text.encode())
    for name in sorted(tensors):
        found.update(f"{name} {tensors[name].dtype} {tensors[name].shape}".encode())
        found.update(tensors[name].tobytes())
    return found.hexdigest()


def load(
    path: str | os.PathLike[str], functions: Mapping[str, Any] | None = None
) -> Any:
    """Return the fitted estimator that was saved in ``path``.

    Parameters
    ----------
    path : str or path
    functions : dict, optional
        The user's own functions among the parameters, for instance
        ``load(path, {"prior": my_prior})``. Without them, the error names those that
        are needed.

    Returns
    -------
    estimator
        A fitted estimator of the class that was saved. Its draws are in single
        precision.

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
    ...     est.save(Path(folder) / "model.safetensors")
    ...     same = bsvdd.load(Path(folder) / "model.safetensors")
    >>> same.cutoff_ == est.cutoff_
    True
    """
    own = dict(functions or {})
    try:
        header, tensors = _read(path)
        needed = set(places_of_functions([header["parameters"], header["kernel"]]))
    except OSError:
        raise
    except Exception as error:
        raise UnreadableFileError(f"{path} cannot be read: {error}") from error
    if set(own) != needed:
        names = ", ".join(sorted(needed)) or "no functions"
        raise ValueError(
            f"{path} was saved with {names}, which are not stored: give a dict with "
            "exactly these names, load(path, {name: function}), got "
            f"{sorted(own) or 'none'}"
        )
    try:
        with threads.one():
            return _estimator(header, tensors, own)
    except Exception as error:
        raise UnreadableFileError(f"{path} cannot be read: {error}") from error


def _read(path: str | os.PathLike[str]) -> tuple[dict[str, Any], Tensors]:
    """Return the header and the arrays of a file, after their checks."""
    if not stat.S_ISREG(os.stat(path).st_mode):  # reading a pipe would block
        raise ValueError("it is no saved bsvdd estimator, because it is not a file")
    content = Path(path).read_bytes()  # once: the file may change
    try:
        tensors = safetensors.load(content)
        about = json.loads(content[8 : 8 + int.from_bytes(content[:8], "little")])[
            "__metadata__"
        ]
        text = about["bsvdd"]
        known = about["sha256"]
    except Exception as error:
        raise ValueError(
            "it is no saved bsvdd estimator, or it is cut off or damaged; use a file "
            f"that est.save wrote ({type(error).__name__})"
        ) from error
    if digest(text, tensors) != known:
        raise ValueError(
            "its bytes are not those that were saved (SHA-256); it is damaged"
        )
    header: dict[str, Any] = json.loads(text)
    if header["format"] != FORMAT:
        raise ValueError(
            f"it has format {header['format']!r:.20}, and this version reads {FORMAT}; "
            "fit the model again"
        )
    return header, tensors


def _estimator(
    header: dict[str, Any], tensors: Tensors, functions: Mapping[str, Any]
) -> OfRows:
    """Return the estimator of a file."""
    record = find(header["estimator"])
    if record is None:
        raise ValueError(f"unknown estimator {header['estimator']!r:.80}")

    def part(name: str) -> Any:
        return decoded(header[name], tensors, functions)

    parameters = {
        k: decoded(v, tensors, functions) for k, v in header["parameters"].items()
    }
    unfitted = record.estimator()(**parameters)
    unfitted._validate_params()
    kernel = part("kernel")
    as_asked = kernel
    if isinstance(kernel, kernels.Tabular):
        as_asked = dataclasses.replace(kernel, columns=None)
    rows = dataclasses.replace(part("rows"), kernel=as_asked)
    dictionary = Dictionary.fitted(kernel, rows, *part("atoms"))
    draws = _draws(unfitted, dictionary, header["seed"], part)
    _require_weights(draws.w, len(dictionary.sizes))
    est: OfRows = record.estimator()(**parameters)
    seconds = np.nan if header["seconds"] is None else header["seconds"]
    est.fit_ = Fit(draws, part("cutoff"), unfitted, header["seed"], seconds)
    vars(est.fit_).update({name: part(name) for name in ANSWERS})
    return est


def _draws(
    unfitted: Any,
    dictionary: Dictionary,
    seed: int,
    part: Callable[[str], Any],
) -> Draws:
    """Return the stored draws; of a sphere, its solution."""
    stored = part("draws")
    if stored is None:
        return cast("Draws", unfitted._draws(dictionary, seed))
    calibration = (part("likelihood_scale"), stored["uncalibrated"])
    squared_norm = stored.pop("squared_norm")
    draws = Draws(unfitted._model(dictionary, calibration), **stored)
    vars(draws)["squared_norm"] = squared_norm
    return draws


def _require_weights(w: np.ndarray, atoms: int) -> None:
    """Raise a ValueError for weights that are not of so many atoms, or not finite."""
    if w.ndim != 2 or w.shape[1] != atoms or not len(w):
        raise ValueError(f"weights: expected draws of {atoms} weights, got {w.shape}")
    if not np.isfinite(w).all():
        raise ValueError("weights: expected finite ones")
