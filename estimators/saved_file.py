"""Saved fits: one safetensors file of arrays and one JSON header; nothing in it is executed.

What follows from the fit, such as distances and the decision of the training rows, is not stored.
Kernels, priors and cutoffs of this package are stored as their name and fields
(:mod:`.encoding`). A user's own function is stored as its name only, and must be given to
:func:`load`. docs/format.md describes the format.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import stat
import sys
from collections.abc import Mapping
from dataclasses import fields, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from safetensors import SafetensorError
from safetensors import numpy as safetensors
from sklearn.utils.validation import check_is_fitted

from ..inference.center import Boundary
from ..inference.cutoff import as_cutoff
from ..inference.draws import Draws, SamplerReport
from ..models import kernels
from ..models.gram import Gram, Sums
from ..models.potential import WeightMap
from . import training
from .atomic import atomic
from .encoding import decode, encode, function_names
from .fit import Fit
from .labels import to_save
from .registry import ESTIMATORS
from .rows.columns import FORMS, Dates
from .training import TrainingData

FORMAT = 3
HDF5 = b"\x89HDF\r\n\x1a\n"  # how files of formats 1 and 2 begin


class UnreadableFileError(ValueError):
    """The file is not a saved bsvdd estimator, or it is damaged."""


class Tensor(NamedTuple):
    """What an array of a file must be.

    ``kinds`` are the kinds of its dtype. ``shape`` has a symbol for each length; the same symbol
    is the same length, and ``...`` any further ones. Values are at least ``low`` and less than
    ``below``, a number or a symbol. Unless ``finite`` is False, they are finite.
    """

    kinds: str
    shape: str
    low: float = -math.inf
    below: float | str = math.inf
    finite: bool = True


TENSORS = {
    "rows": Tensor("f", "n p"),
    "kind": Tensor("i", "n", 0, "kinds"),
    "unlabelled": Tensor("f", "u p"),
    "left_out": Tensor("f", "n", finite=False),
    "boundary/threshold": Tensor("f", "cut", finite=False),
    "boundary/reference": Tensor("f", "cut", finite=False),
    "boundary/log_whole": Tensor("f", "cut", finite=False),
    "gram/points": Tensor("f", "M p"),
    "gram/row_of_point": Tensor("i", "M", -1, "n"),
    "gram/r": Tensor("f", "M"),
    "posterior/w": Tensor("f", "chains draws M"),
    "posterior/squared_norm": Tensor("f", "chains draws"),
    "posterior/squared_radius": Tensor("f", "chains draws", 0),
    "posterior/*": Tensor("fiub", "chains draws ...", finite=False),
    "log_prior/*": Tensor("f", "chains draws", finite=False),
    "sample_stats/*": Tensor("fiub", "chains draws", finite=False),
    "sha256": Tensor("u", "digest"),
}
BOUNDARY = tuple(f"boundary/{each.name}" for each in fields(Boundary))
NEEDED = ("rows", "kind", "posterior/w", "sha256", *BOUNDARY)
OF_LANDMARKS = ("gram/points", "gram/row_of_point", "gram/r")

NONE = type(None)
PLAIN = (str, int, float, bool)
FINITE = sys.float_info.max


class Entry(NamedTuple):
    """What a value of the header must be: one of ``types``, with items of the types ``items``.

    Numbers are at least ``low``, and less than ``below``.
    """

    types: tuple[type, ...]
    items: tuple[type, ...] = ()
    low: float = -FINITE
    below: float = math.inf


HEADER = {
    "format": Entry((int,)),
    "estimator": Entry((str,)),
    "parameters": Entry((dict,)),
    "kernel": Entry((dict,)),
    "features": Entry((list,), (str,)),
    "seed": Entry((int,), (), 0, 2**31),
    "label": Entry((str, NONE)),
    "labels": Entry((list,), PLAIN),
    "kind_labels": Entry((list,), PLAIN),
    "names": Entry((list, NONE)),
    "dates": Entry((dict,), (list,)),
    "gram": Entry((dict, NONE)),
    "report": Entry((dict,), (str, int, float)),
    "calibrated_scale": Entry((float,), (), 0.0),
    "solution": Entry((dict,), (int, float)),
    "dims": Entry((dict,), (list,)),
    "coords": Entry((dict,), (list,)),
    "diagnostics": Entry((dict,), (int, float)),
    "cutoff": Entry((float,)),
    "level": Entry((float,), (), 0.0, 1.0),
    "cv": Entry((str, int)),
}
GRAM = {
    "T": Entry((float,)),
    "n0": Entry((int,), (), 1),
    "n1": Entry((int,), (), 0),
    "all_rows": Entry((bool,)),
}
ROWS = ("rows", "kind", "unlabelled")  # of a file of views, the same for all


# writing


def save(est: Any, path: str | os.PathLike[str]) -> None:
    """Write the fitted estimator ``est`` to ``path``, completely or not at all.

    Raises
    ------
    TypeError
        A parameter, or a value of a draw, is an object that cannot be stored.
    ValueError
        Names of rows are too long to be stored.
    OSError
        The file cannot be written.
    """
    check_is_fitted(est)
    header, tensors = _header(est), _tensors(est)
    if hasattr(est, "views_"):
        header |= {"views": {}, "failed": est.failed_}
    for i, (name, view) in enumerate(getattr(est, "views_", {}).items()):
        header["views"][name] = _header(view)
        of_view = {k: v for k, v in _tensors(view).items() if k not in ROWS}
        tensors |= {f"views/{i}/{key}": values for key, values in of_view.items()}
    text = json.dumps(header, default=_plain)
    tensors = {name: _contiguous(name, v) for name, v in tensors.items()}
    tensors["sha256"] = _digest(text, tensors)
    try:
        content = safetensors.save(tensors, {"bsvdd": text})
    except SafetensorError as error:
        raise ValueError(
            f"names of rows and columns and parameters take {len(text) / 1e6:.0f} MB, which is too "
            f"much ({error}); fit rows without names, X.reset_index(drop=True)"
        ) from error
    with atomic(Path(path)) as temporary:
        temporary.write_bytes(content)


def _header(est: Any) -> dict[str, Any]:
    fit: Fit = est.fit_
    data, draws = fit.data, fit.draws
    parameters = est.get_params(deep=False) | {"kernel": kernels.as_kernel(est.kernel)}
    gram = {"T": float(data.gram.T), "n0": data.gram.n0, "n1": data.gram.n1}
    return {
        "format": FORMAT,
        "estimator": type(est).__name__,
        "parameters": {name: encode(name, value) for name, value in parameters.items()},
        "kernel": encode("kernel", data.kernel),
        "features": [str(f) for f in getattr(est, "feature_names_in_", [])],
        "seed": data.seed,
        "label": data.label,
        "labels": to_save(data.labels),
        "kind_labels": to_save(data.kind_labels, True),
        "names": data.names,
        "dates": {str(column): [d.origin, d.form] for column, d in data.dates.items()},
        "gram": None if data.dictionary.points_are_rows else gram | {"all_rows": data.all_rows},
        "report": draws.report.attrs(),
        "calibrated_scale": getattr(est, "_calibrated_scale", 0.0),
        "solution": draws.solution,
        "dims": draws.dims,
        "coords": draws.coords,
        "diagnostics": dict(fit.diagnostics),
        "cutoff": float(fit.distance),
        "level": float(fit.level),
        "cv": fit.cv,
    }


def _tensors(est: Any) -> dict[str, np.ndarray]:
    fit: Fit = est.fit_
    data, draws, boundary = fit.data, fit.draws, fit.center.boundary
    variables = draws.variables
    if _map(est, variables) is not None:
        variables = draws.without("w").variables
    by_draw = {"log_prior": draws.log_prior, "sample_stats": draws.statistics}
    tensors = {
        "rows": data.rows,
        "kind": data.kind,
        "unlabelled": data.gram.unlabelled,
        "left_out": fit.left_out,
        **{f"boundary/{each.name}": getattr(boundary, each.name) for each in fields(boundary)},
        **{f"posterior/{name}": _single(draws, v) for name, v in variables.items()},
        **{
            f"{group}/{name}": v.reshape(draws.shape)
            for group, values in by_draw.items()
            for name, v in values.items()
        },
    }
    if not data.dictionary.points_are_rows:
        of_landmarks = data.gram.points, data.row_of_point, data.gram.r
        tensors |= dict(zip(OF_LANDMARKS, of_landmarks, strict=True))
    return {name: values for name, values in tensors.items() if values is not None}


def _map(est: Any, variables: Mapping[str, np.ndarray]) -> WeightMap | None:
    """Return the map of the variables of a file to the weights, which are then not in it."""
    found: WeightMap | None = est._weight_map(variables)
    return found if found is not None and set(found.inputs) <= set(variables) else None


def _single(draws: Draws, values: np.ndarray) -> np.ndarray:
    """Return draws of many numbers in single precision, far finer than their Monte Carlo error."""
    many = draws.is_posterior and values.ndim > 2 and values.dtype.kind == "f"
    return values.astype(np.float32) if many else values


def _contiguous(name: str, values: np.ndarray) -> np.ndarray:
    """Return values in C order, which safetensors takes for granted and never checks."""
    if values.dtype.kind not in "fiub":
        raise TypeError(f"{name} cannot be saved: expected numbers, got {values.dtype}")
    return np.ascontiguousarray(values, values.dtype.newbyteorder("<"))


def _plain(value: Any) -> Any:
    if isinstance(value, np.ndarray | np.generic):
        return value.tolist()
    raise TypeError(f"{value!r} cannot be saved; expected numbers and texts")


def _digest(text: str, tensors: Mapping[str, np.ndarray]) -> np.ndarray:
    """Return the SHA-256 of the header and of all other tensors, as bytes."""
    digest = hashlib.sha256(text.encode())
    for name in sorted(set(tensors) - {"sha256"}):
        values = tensors[name]
        digest.update(f"{name} {values.dtype.str} {values.shape}\n".encode())
        digest.update(values.tobytes())
    return np.frombuffer(digest.digest(), np.uint8)


# reading


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
    own_functions = dict(functions or {})
    try:
        header, tensors = _read(path)
        views = list(header.get("views", {}).values())
        stored = [header["parameters"], *(each["kernel"] for each in [header, *views])]
        needed = set(function_names(stored))
    except OSError:
        raise
    except Exception as error:
        raise UnreadableFileError(f"{path} cannot be read: {error}") from error
    if set(own_functions) != needed:
        names = ", ".join(sorted(needed)) or "no functions"
        raise ValueError(
            f"{path} was saved with {names}, which are not stored: give a dict with exactly these "
            f"names, load(path, {{name: function}}), got {sorted(own_functions) or 'none'}"
        )
    try:
        return _restored(header, tensors, own_functions)
    except Exception as error:
        raise UnreadableFileError(f"{path} cannot be read: {error}") from error


def _read(path: str | os.PathLike[str]) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """Return header and tensors of a file, after checks of its bytes and of the header."""
    if not stat.S_ISREG(os.stat(path).st_mode):  # reading a pipe would block
        raise ValueError("it is no saved bsvdd estimator, because it is not a file")
    content = Path(path).read_bytes()  # once: the file may change
    if content.startswith(HDF5):
        raise ValueError("it was saved by an older version; fit again")
    try:
        tensors = safetensors.load(content)
        start = content[8 : 8 + int.from_bytes(content[:8], "little")]
        text = json.loads(start, object_pairs_hook=_each_once)["__metadata__"]["bsvdd"]
        header = json.loads(text, object_pairs_hook=_each_once)
        version = header["format"]
    except Exception as error:
        raise ValueError(
            "it is no saved bsvdd estimator, or it is cut off or damaged; use a complete copy, or "
            f"save the fit again ({type(error).__name__}: {error})"
        ) from error
    if version != FORMAT:
        raise ValueError(
            f"it has format {version!r:.20}, and this version reads {FORMAT}; load it with the "
            "version of bsvdd that wrote it, or fit again"
        )
    if not np.array_equal(tensors.get("sha256", []), _digest(text, tensors)):
        raise ValueError(
            "it is damaged, because its SHA-256 is not the one that was saved; use a complete "
            "copy, or save the fit again"
        )
    views, failed = header.pop("views", None), header.pop("failed", None)
    for each in (header, *(views or {}).values()):
        _check_header(each)
    if views is not None:
        failed = {str(name): str(reason) for name, reason in failed.items()}
        header |= {"views": views, "failed": failed}
    return header, tensors


def _each_once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("a name occurs twice")
    return found


def _check_header(header: dict[str, Any]) -> None:
    """Raise a ValueError unless the header has its keys, types and ranges."""
    _check_entries("header", header, HEADER)
    if header["gram"] is not None:
        _check_entries("gram", header["gram"], GRAM)
    offset = header["solution"].get("offset", 0.0)
    if not math.isfinite(offset):
        raise ValueError(f"offset: expected a finite number, got {offset}")


def _check_entries(name: str, values: dict[str, Any], table: dict[str, Entry]) -> None:
    if set(values) != set(table):
        differ = ", ".join(sorted(set(values) ^ set(table)))
        raise ValueError(f"{name}: missing from it, or unknown: {differ:.80}")
    for key, (types, types_of_items, low, below) in table.items():
        value = values[key]
        items = value.values() if isinstance(value, dict) else value
        checked = [(value, types)]
        if types_of_items:
            checked += [(item, types_of_items) for item in items]
        for each, expected in checked:
            if type(each) not in expected:
                names = " or ".join(kind.__name__ for kind in expected)
                raise ValueError(f"{key}: got {each!r:.80}, expected {names}")
        if isinstance(value, int | float) and not low <= value < below:
            raise ValueError(f"{key}: expected at least {low} and less than {below}, got {value}")


def _check_tensors(tensors: Mapping[str, np.ndarray], needed: tuple[str, ...], kinds: int) -> None:
    """Raise a ValueError that names the first wrong tensor; there are ``kinds`` - 1 minorities."""
    for name in needed:
        if name not in tensors:
            raise ValueError(f"{name} is missing")
    sizes = {"kinds": kinds, "digest": 32}
    known = [name for name in TENSORS if name in tensors]
    for name in [*known, *sorted(set(tensors) - set(known))]:
        expected = TENSORS.get(name) or TENSORS.get(name[: name.find("/") + 1] + "*")
        if expected is None:
            raise ValueError(f"{name} is unknown")
        values = tensors[name]
        shape, open_, _ = expected.shape.partition(" ...")
        lengths = values.shape[: len(shape.split())] if open_ else values.shape
        symbols = shape.split()
        if (
            values.dtype.kind not in expected.kinds
            or len(lengths) != len(symbols)
            or any(
                length != sizes.setdefault(symbol, length)
                for symbol, length in zip(symbols, lengths, strict=True)
            )
        ):
            of = ", ".join(str(sizes.get(symbol, symbol)) for symbol in symbols)
            raise ValueError(
                f"{name}: expected values of kind {expected.kinds} and shape ({of}{open_}), got "
                f"{values.dtype} of shape {values.shape}"
            )
        below = sizes[expected.below] if isinstance(expected.below, str) else expected.below
        right = np.isfinite(values) & (values >= expected.low) & (values < below)
        if expected.finite and not right.all():
            raise ValueError(
                f"{name}: expected finite values from {expected.low} to below {below}, got "
                f"{values[~right][0]}"
            )


def _restored(
    header: dict[str, Any], tensors: dict[str, np.ndarray], functions: dict[str, Any]
) -> Any:
    """Return the estimator of a header and its tensors, after the remaining checks."""
    classes = {record.class_name: record for record in ESTIMATORS.values()}
    if header["estimator"] not in classes:
        raise ValueError(f"unknown estimator {header['estimator']!r:.80}")
    cls: Any = classes[header["estimator"]].estimator()
    parameters = {name: decode(v, functions) for name, v in header["parameters"].items()}
    if set(parameters) != set(cls._get_param_names()):  # a default would be a guess
        differ = ", ".join(sorted(set(parameters) ^ set(cls._get_param_names())))
        raise ValueError(f"parameters: missing from it, or unknown to {cls.__name__}: {differ:.80}")
    return _with_fit(cls(**parameters), header, tensors, functions)


def _with_fit(
    est: Any, header: dict[str, Any], tensors: dict[str, np.ndarray], functions: dict[str, Any]
) -> Any:
    """Return the estimator with the fit of a header and its tensors."""
    gram = header["gram"]
    of_views = {name: v for name, v in tensors.items() if name.startswith("views/")}
    tensors = _with_weights(est, {k: v for k, v in tensors.items() if k not in of_views})
    needed = NEEDED if gram is None else NEEDED + OF_LANDMARKS
    _check_tensors(tensors, needed, len(header["kind_labels"]) + 1)
    kernel = kernels.as_kernel(decode(header["kernel"], functions))
    n_columns = tensors["rows"].shape[1] - (2 if kernel.pairwise else 0)
    if header["features"] and len(header["features"]) != n_columns:
        raise ValueError(f"features: expected {n_columns} names")
    est._validate_params()
    est._check_policy(as_cutoff(est.cutoff))
    est.n_features_in_ = n_columns
    if header["features"]:
        est.feature_names_in_ = np.array(header["features"], dtype=object)
    # a file with statistics of its own is one of landmarks
    rule = est._dictionary(0 if gram is None else sys.maxsize)
    if rule.points_are_rows != (gram is None):
        raise ValueError("gram: expected with landmarks, and only then")
    data = _data(header, tensors, kernel, rule)
    draws = _draws(header, tensors)
    est._calibrated_scale = header["calibrated_scale"]
    if "views" in header:
        common = {name: tensors[name] for name in (*ROWS, "sha256") if name in tensors}
        unfitted, est.views_, est.failed_ = est._estimators(), {}, header["failed"]
        for i, (name, of_view) in enumerate(header["views"].items()):
            start = f"views/{i}/"
            own = {k.removeprefix(start): v for k, v in of_views.items() if k.startswith(start)}
            est.views_[name] = _with_fit(unfitted[name], of_view, common | own, functions)
        est._join(data)
    fit = Fit(
        data=data,
        draws=draws,
        center=est._score(draws, data.gram).deciding(
            Boundary(*(tensors[name] for name in BOUNDARY))
        ),
        diagnostics=header["diagnostics"],
        distance=header["cutoff"],
        level=header["level"],
        left_out=tensors.get("left_out"),
        cv=header["cv"],
        prior=est._prior_of(data),
        attrs=est._attrs(),
    )
    return est._set(fit)


def _with_weights(est: Any, tensors: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Return the tensors with the weights, if they follow from other draws."""
    draws = {
        name.removeprefix("posterior/"): v.astype(float) if v.dtype == np.float32 else v
        for name, v in tensors.items()
        if name.startswith("posterior/")
    }
    rule = _map(est, draws)
    if rule is not None:
        if "w" in draws:
            raise ValueError("posterior/w: expected no weights, which follow from other draws")
        inputs = [draws[name] for name in rule.inputs]
        with np.errstate(all="ignore"):  # values that are not finite are an error below
            w = rule.weights(*(v.reshape(-1, v.shape[-1]) for v in inputs))
        draws["w"] = w.reshape(*inputs[0].shape[:2], -1)
    return tensors | {f"posterior/{name}": v for name, v in draws.items()}


def _data(
    header: dict[str, Any], tensors: dict[str, np.ndarray], kernel: kernels.Kernel, rule: Any
) -> TrainingData:
    rows, kind, gram_numbers = tensors["rows"], tensors["kind"], header["gram"]
    minority, M = kind > 0, tensors["posterior/w"].shape[-1]
    names = None if header["names"] is None else np.array(header["names"])
    if minority.all():
        raise ValueError("kind: expected at least one majority row")
    dates = {int(column): Dates(*texts) for column, texts in header["dates"].items()}
    for column, each in dates.items():
        if not 0 <= column < rows.shape[1] or each.form not in FORMS:
            raise ValueError(f"dates: no column of dates, {column}: {each!r:.80}")
        pd.Timestamp(each.origin)  # an error if it is no date
    if names is not None and (names.shape != minority.shape or names.dtype.kind not in "iU"):
        raise ValueError(f"names: expected {len(rows)} whole numbers or texts")
    points = tensors.get("gram/points", rows[:0])
    if kernel.pairwise:  # the last entry of a row is its index among the columns
        p, index = rows.shape[1] - 2, np.concatenate([rows, points])[:, -1:]
        if not np.isin(index, np.arange(p)).all():
            raise ValueError(f"rows: expected rows of a kernel of {p} columns")
    all_rows = True
    if gram_numbers is None:
        rule.held_rows(minority, 0)  # an error if the kernel matrix is too large
        gram, row_of_point = rule.statistics(kernel, rows, minority)
        if len(row_of_point) != M:
            raise ValueError(f"posterior/w: expected weights of the rows, got {M}")
    else:
        if M > 2 * training.MAX_POINTS:  # landmarks, and as many minority points
            raise ValueError(f"gram/r: expected up to {2 * training.MAX_POINTS} points, got {M}")
        if gram_numbers["n1"] >= M:
            raise ValueError(f"gram: expected n1 of less than {M}, got {gram_numbers['n1']}")
        sums = Sums(gram_numbers["n0"], gram_numbers["T"], tensors["gram/r"])
        gram = Gram.from_sums(kernel, sums, points, gram_numbers["n1"])
        row_of_point, all_rows = tensors["gram/row_of_point"], gram_numbers["all_rows"]
    rows.setflags(write=False)
    return TrainingData(
        rows=rows,
        minority=minority,
        gram=replace(gram, unlabelled=tensors.get("unlabelled")),
        row_of_point=row_of_point,
        dictionary=rule,
        seed=header["seed"],
        all_rows=all_rows,
        label=header["label"],
        labels=tuple(header["labels"]),
        kind=kind,
        kind_labels=tuple(header["kind_labels"]),
        names=names,
        dates=dates,
    )


def _draws(header: dict[str, Any], tensors: dict[str, np.ndarray]) -> Draws:
    def group(start: str) -> dict[str, np.ndarray]:
        return {name[len(start) :]: v for name, v in tensors.items() if name.startswith(start)}

    draws = Draws(
        group("posterior/"),
        SamplerReport(**header["report"]),
        group("log_prior/"),
        group("sample_stats/"),
        {name: tuple(dims) for name, dims in header["dims"].items()},
        header["coords"],
        header["solution"],
    )
    if not draws.w.size:
        raise ValueError("posterior/w: expected at least one draw of one weight")
    draws.check()
    return draws
