"""Saved fits: a safetensors file of arrays with a header of JSON, and no code.

Rows, kernel, atoms, draws and boundary are stored. Gram statistics, answers, and the
sphere of SVDD follow from them and are computed again. Values of the package are stored
by their fields and the name of their class. A user's own function is stored by its
place only, and must be given to :func:`bsvdd.load`.
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
from ..inference.draws import Draws, Variables
from ..inference.fit import Fit
from ..models import kernels, priors
from ..models.dictionary import Dictionary
from ..models.kernels import decorrelated, tabular
from ..models.weights import Weights
from ..tables import columns
from ..tables.labels import to_save
from ..tables.table import Table
from ..tables.training import TrainingRows
from .of_rows import OfRows
from .registry import find

FORMAT = 3
ATOMS = ("distinct", "atom", "group_weights", "of_row")
SINGLE = ("draws.w", "draws.variables.")  # in single precision
Tensors = dict[str, np.ndarray]


class UnreadableFileError(ValueError):
    """The file is not a saved bsvdd estimator, or it is damaged."""


@cache
def known_classes() -> dict[str, Any]:
    """Return the classes that a file may name."""
    rooms = (kernels, tabular, decorrelated, priors, cutoffs, boundary, columns)
    values = [v for room in rooms for v in vars(room).values()]
    classes = [v for v in [*values, Table, TrainingRows] if isinstance(v, type)]
    return {cls.__name__: cls for cls in classes if dataclasses.is_dataclass(cls)}


# values as JSON


def encoded(value: Any, place: str, tensors: Tensors) -> Any:
    """Return a value as JSON, its arrays among the tensors; errors name its place."""
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, np.ndarray):
        return _of_array(value, place, tensors)
    if isinstance(value, tuple | list | range):
        return {"tuple": [encoded(v, place, tensors) for v in value]}
    if isinstance(value, Mapping):
        items = value.items()
        return {"dict": [[k, encoded(v, f"{place}.{k}", tensors)] for k, v in items]}
    if isinstance(value, sparse.csr_array):
        parts = [value.data, value.indices, value.indptr, np.asarray(value.shape)]
        return {"csr": [encoded(v, place, tensors) for v in parts]}
    if type(value) is known_classes().get(type(value).__name__):
        inner = {}
        for name in (field.name for field in dataclasses.fields(value)):
            # the function of a Custom kernel has the place of the kernel
            at = place if name == "function" else f"{place}.{name}"
            inner[name] = encoded(vars(value)[name], at, tensors)
        return {type(value).__name__: inner}
    if callable(value) or isinstance(value, priors.PrelizPrior):
        return {"function": place}
    raise TypeError(
        f"{place}={value!r} cannot be saved; expected a number, a string or None"
    )


def _of_array(value: np.ndarray, place: str, tensors: Tensors) -> dict[str, object]:
    if value.dtype.kind not in "fiub":  # of texts
        texts = value.astype(str) if value.dtype.kind in "mM" else value
        return {"objects": to_save(tuple(texts.tolist()))}
    if place.startswith(SINGLE) and value.dtype.kind == "f":
        value = value.astype(np.float32)
    same = (name for name, known in tensors.items() if known is value)
    name = next(same, str(len(tensors)))
    tensors[name] = value
    return {"array": name}


def decoded(tree: Any, tensors: Tensors, functions: Mapping[str, object]) -> Any:
    """Return the value of JSON; ``functions`` are the user's, by their places."""
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
        is_csr = name == "csr"
        return sparse.csr_array(values[:3], shape=values[3]) if is_csr else values
    if name not in known_classes():
        raise ValueError(f"unknown type {name!r:.80}")
    fields = {k: decoded(v, tensors, functions) for k, v in inside.items()}
    return known_classes()[name](**fields)


def places_of_functions(tree: object) -> Iterator[str]:
    """Yield the places of the user's functions in JSON."""
    if isinstance(tree, dict):
        if isinstance(tree.get("function"), str):
            yield tree["function"]
        yield from places_of_functions(list(tree.values()))
    elif isinstance(tree, list):
        for each in tree:
            yield from places_of_functions(each)


# files


def save(est: OfRows[Fit], path: str | os.PathLike[str]) -> None:
    """Write a fitted estimator to one file; see ``est.save``."""
    fit = est.fit_
    rows = cast("TrainingRows", fit.rows)
    labels = tuple(to_save(rows.labels))
    scale = fit.draws.model.likelihood_scale
    draws = None
    if scale is not None:  # a sphere is computed again
        names = [field.name for field in dataclasses.fields(fit.draws)][1:]
        draws = {name: vars(fit.draws)[name] for name in names}
        if follows(fit.draws):
            draws["w"] = None
        draws["squared_norm"] = fit.draws.squared_norm
    parts = {
        "kernel": fit.kernel,
        "rows": dataclasses.replace(rows, labels=labels, kernel=cast("Any", None)),
        "atoms": [vars(fit.dictionary)[name] for name in ATOMS],
        "draws": draws,
        "likelihood_scale": scale,
        "cutoff": fit.cutoff,
        "boundary": fit.boundary,
        "left_out_scores": fit.left_out_scores,
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
    path: str | os.PathLike[str], functions: Mapping[str, object] | None = None
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
        end = 8 + int.from_bytes(content[:8], "little")
        about = json.loads(content[8:end])["__metadata__"]
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
    header: dict[str, Any], tensors: Tensors, functions: Mapping[str, object]
) -> OfRows[Fit]:
    """Return the estimator of a file."""
    record = find(header["estimator"])
    if record is None:
        raise ValueError(f"unknown estimator {header['estimator']!r:.80}")
    make = record.estimator()

    def part(name: str) -> Any:
        return decoded(header[name], tensors, functions)

    parameters = {
        k: decoded(v, tensors, functions) for k, v in header["parameters"].items()
    }
    unfitted = make(**parameters)
    unfitted._validate_params()
    kernel = as_asked = part("kernel")
    if isinstance(kernel, kernels.Tabular):
        as_asked = dataclasses.replace(kernel, columns=None)
    rows = dataclasses.replace(part("rows"), kernel=as_asked)
    dictionary = Dictionary.fitted(kernel, rows, *part("atoms"))
    draws = _draws(unfitted, dictionary, header["seed"], part)
    _require_weights(draws.w, len(dictionary.sizes))
    est = make(**parameters)
    seconds = np.nan if header["seconds"] is None else header["seconds"]
    est.fit_ = Fit(draws, part("cutoff"), unfitted, header["seed"], seconds)
    known = ("boundary", "left_out_scores")  # they take long to compute
    vars(est.fit_).update({name: part(name) for name in known})
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
    model = unfitted._model(dictionary, calibration)
    if stored["w"] is None:
        stored["w"] = weights_of(model, stored["variables"])
    draws = Draws(model, **stored)
    vars(draws)["squared_norm"] = squared_norm
    return draws


def weights_of(model: Weights, variables: Variables) -> np.ndarray:
    """Return w (S, M) of the variables of a model."""
    return model.of_variables(*(variables[name][1] for name in model.variables))


def follows(draws: Draws) -> bool:
    """Return whether the weights follow from the variables that are known."""
    model = cast("Weights", draws.model)
    if not set(model.variables) <= set(draws.variables):
        return False
    return bool(np.allclose(weights_of(model, draws.variables), draws.w, atol=1e-9))


def _require_weights(w: np.ndarray, atoms: int) -> None:
    """Raise a ValueError for weights that are not of so many atoms, or not finite."""
    if w.ndim != 2 or w.shape[1] != atoms or not len(w):
        raise ValueError(f"weights: expected draws of {atoms} weights, got {w.shape}")
    if not np.isfinite(w).all():
        raise ValueError("weights: expected finite ones")
