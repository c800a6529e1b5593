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
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, cast

import numpy as np
from safetensors import numpy as safetensors
from scipy import sparse

from ..base import threads
from ..base.atomic import write
from ..inference.boundary import Boundary
from ..inference.cutoffs import AnyCutoff
from ..inference.draws import Draws, Variables
from ..inference.fit import Fit
from ..models import kernels, priors
from ..models.dictionary import Dictionary
from ..models.weights import Weights
from ..tables.group_centres import group_texts
from ..tables.labels import to_save
from ..tables.training import TrainingRows
from .of_rows import OfRows
from .registry import find
from .saved_values import ANEW, Saved, Tensors, hints_of, known_classes, require

FORMAT = 4
NORMS = "squared_norm", "norm_between"  # of the draws: a fit is loaded without K
UNKNOWN = kernels.Linear()  # in the place of a kernel that has its own part
SINGLE = ("draws.w", "draws.variables.")  # in single precision


class UnreadableFileError(ValueError):
    """The file is not a saved bsvdd estimator, or it is damaged."""


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
        texts = group_texts(value) if value.dtype.kind in "mM" else value
        return {"objects": to_save(tuple(texts.tolist()))}
    if place.startswith(SINGLE) and value.dtype.kind == "f":
        value = value.astype(np.float32)
    same = (name for name, known in tensors.items() if known is value)
    name = next(same, str(len(tensors)))
    tensors[name] = value
    return {"array": name}


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
    atoms = fit.dictionary
    C = atoms.group_weights.tocoo()
    parts = {
        "kernel": fit.kernel,
        "rows": dataclasses.replace(rows, labels=labels, kernel=UNKNOWN),
        "atoms": {
            "distinct": atoms.distinct,
            "atom": atoms.atom,
            "of_row": atoms.of_row,
            "weight": C.data,
            "weight_of": C.row,
            "weight_in": C.col,
        },
        "draws": None if scale is None else stored_draws(fit.draws),
        "likelihood_scale": scale,
        "cutoff": fit.cutoff,
        "boundary": fit.boundary,
        "left_out_scores": fit.left_out_scores,
        "seed": fit.seed,
        "seconds": None if np.isnan(fit.seconds) else fit.seconds,
    }
    tensors: Tensors = {}
    parameters = fit.estimator.get_params(deep=False)
    header = {
        "format": FORMAT,
        "estimator": type(est).__name__,
        "parameters": {
            "dict": [[k, encoded(v, k, tensors)] for k, v in parameters.items()]
        },
        **{name: encoded(value, name, tensors) for name, value in parts.items()},
    }
    text = json.dumps(header)
    whole = {name: np.ascontiguousarray(value) for name, value in tensors.items()}
    about = {"bsvdd": text, "sha256": digest(text, whole)}
    write(Path(path), safetensors.save(whole, about))


def stored_draws(draws: Draws) -> dict[str, Any]:
    """Return the parts of draws, but for the model; a sphere is computed again."""
    names = [field.name for field in dataclasses.fields(draws)][1:]
    found = {name: vars(draws)[name] for name in names}
    if follows(draws):
        found["w"] = None
    return found | {norm: getattr(draws, norm) for norm in NORMS}


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
            return _estimator(Saved(header, tensors, own))
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


def _estimator(saved: Saved) -> OfRows[Fit]:
    """Return the estimator of a file."""
    name = saved.part("estimator", str)
    record = find(name)
    if record is None:
        raise ValueError(f"unknown estimator {name!r:.80}")
    make = record.estimator()
    parameters = saved.part("parameters", dict)
    unfitted = make(**parameters)
    unfitted._validate_params()
    kernel = as_asked = saved.part("kernel", kernels.Kernel)
    if isinstance(kernel, kernels.Tabular):
        as_asked = dataclasses.replace(kernel, columns=None)
    rows = dataclasses.replace(saved.part("rows", TrainingRows), kernel=as_asked)
    saved.sizes["groups"] = rows.n_groups
    atoms = saved.part("atoms", dict[str, np.ndarray])
    of_groups = (atoms["weight_of"], atoms["weight_in"])
    shape = (len(atoms["distinct"]), rows.n_groups)
    C = sparse.csr_array((atoms["weight"], of_groups), shape)
    places = (atoms["distinct"], atoms["atom"], C, atoms["of_row"])
    dictionary = Dictionary.fitted(kernel, rows, *places)
    draws = _draws(unfitted, dictionary, saved)
    saved.sizes["boundary"] = draws.n_boundary
    seconds = saved.part("seconds", float | None)
    more = (saved.part("seed", int), np.nan if seconds is None else seconds)
    est = make(**parameters)
    est.fit_ = Fit(draws, saved.part("cutoff", AnyCutoff), unfitted, *more)
    known = {"boundary": Boundary, "left_out_scores": np.ndarray}  # they take long
    vars(est.fit_).update({name: saved.part(name, of) for name, of in known.items()})
    return est


def _draws(unfitted: Any, dictionary: Dictionary, saved: Saved) -> Draws:
    """Return the stored draws; of a sphere, its solution."""
    scale = saved.part("likelihood_scale", float | None)
    if scale is None:
        return cast("Draws", unfitted._draws(dictionary, saved.part("seed", int)))
    model = unfitted._model(dictionary, (scale, ""))
    saved.sizes.update({dim: len(names) for dim, names in model.coords.items()})
    shapes = {}
    if ["w", None] in saved.header["draws"]["dict"]:  # it follows from variables
        dims = model.dims.items()
        shapes = {f"draws.variables.{v}.1": f"finite draws {dim}" for v, dim in dims}
    stored = saved.part("draws", dict, **shapes)
    norms = {norm: stored.pop(norm) for norm in NORMS}
    if shapes:
        stored["w"] = weights_of(model, stored["variables"])
    for name, value in stored.items():
        require(value, hints_of(Draws)[name], f"draws.{name}")
    draws = Draws(model, **stored)
    size = len(draws.w)
    if draws.chains < 1 or size % draws.chains:
        raise ValueError(
            f"draws.chains must divide {size} draws, and is {draws.chains}; {ANEW}"
        )
    vars(draws).update(norms)
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
