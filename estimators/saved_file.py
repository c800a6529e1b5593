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
from collections.abc import Callable, Mapping
from dataclasses import replace
from operator import attrgetter
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

FORMAT = 4

NONE = type(None)
PLAIN = (str, int, float, bool)
FINITE = sys.float_info.max

Place = str | Callable[[Any], Any] | None
Group = dict[str, np.ndarray]


class UnreadableFileError(ValueError):
    """The file is not a saved bsvdd estimator, or it is damaged."""


# what a file has: where each value stands in a fitted estimator, and what it must be


class Entry(NamedTuple):
    """A value of the header: one of ``types``, with items of the types ``items``.

    ``of`` is its path of attributes from the estimator, or a function of the estimator. Numbers are
    at least ``low``, and less than ``below``.
    """

    of: Place
    types: tuple[type, ...]
    items: tuple[type, ...] = ()
    low: float = -FINITE
    below: float = math.inf


class Tensor(NamedTuple):
    """An array, or, if its name ends with ``*``, a dict of arrays whose names follow.

    ``of`` is as in :class:`Entry`, and an array that is None is not saved. ``kinds`` are the kinds
    of its dtype. ``shape`` has a symbol for each length; the same symbol is the same length, and
    ``...`` any further ones. Values are at least ``low`` and less than ``below``, a number or a
    symbol. Unless ``finite`` is False, they are finite.
    """

    of: Place
    kinds: str
    shape: str
    low: float = -math.inf
    below: float | str = math.inf
    finite: bool = True


def _parameters(est: Any) -> dict[str, Any]:
    parameters = est.get_params(deep=False) | {"kernel": kernels.as_kernel(est.kernel)}
    return {name: encode(name, value) for name, value in parameters.items()}


def _dates(est: Any) -> dict[str, list[str]]:
    return {str(column): [d.origin, d.form] for column, d in est.fit_.data.dates.items()}


def _map(est: Any, variables: Group) -> WeightMap | None:
    """Return the map of the variables of a file to the weights, which are then not in it."""
    found: WeightMap | None = est._weight_map(variables)
    return found if found is not None and set(found.inputs) <= set(variables) else None


def _variables(est: Any) -> Group:
    """Return draws; those of many numbers in single precision, far finer than their error."""
    draws: Draws = est.fit_.draws
    kept = draws if _map(est, draws.variables) is None else draws.without("w")
    return {
        name: v.astype(np.float32)
        if draws.is_posterior and v.ndim > 2 and v.dtype.kind == "f"
        else v
        for name, v in kept.variables.items()
    }


def _by_draw(group: str) -> Callable[[Any], Group]:
    def of(est: Any) -> Group:
        draws: Draws = est.fit_.draws
        return {name: v.reshape(draws.shape) for name, v in getattr(draws, group).items()}

    return of


def _of_landmarks(path: str) -> Callable[[Any], np.ndarray | None]:
    return lambda est: (
        None if est.fit_.data.dictionary.points_are_rows else attrgetter(path)(est.fit_.data)
    )


def _views(est: Any) -> Group:
    """Return the files of the estimators that a fit joins, as bytes."""
    return {
        name: np.frombuffer(_content(view), np.uint8)
        for name, view in getattr(est, "views_", {}).items()
    }


HEADER = {
    "format": Entry(lambda est: FORMAT, (int,)),
    "estimator": Entry(lambda est: type(est).__name__, (str,)),
    "parameters": Entry(_parameters, (dict,)),
    "kernel": Entry(lambda est: encode("kernel", est.kernel_), (dict,)),
    "features": Entry(
        lambda est: [str(name) for name in getattr(est, "feature_names_in_", [])], (list,), (str,)
    ),
    "seed": Entry("fit_.data.seed", (int,), (), 0, 2**31),
    "label": Entry("fit_.data.label", (str, NONE)),
    "labels": Entry(lambda est: to_save(est.labels_), (list,), PLAIN),
    "kind_labels": Entry(lambda est: to_save(est.fit_.data.kind_labels), (list,), PLAIN),
    "names": Entry("fit_.data.names", (list, NONE)),
    "dates": Entry(_dates, (dict,), (list,)),
    "all_rows": Entry("fit_.data.all_rows", (bool,)),
    "n0": Entry("gram_.n0", (int,), (), 1),
    "n1": Entry("gram_.n1", (int,), (), 0),
    "T": Entry(lambda est: float(est.gram_.T), (float,)),
    "report": Entry(lambda est: est.fit_.draws.report.attrs(), (dict,), (str, int, float)),
    "calibrated_scale": Entry(
        lambda est: getattr(est, "_calibrated_scale", 0.0), (float,), (), 0.0
    ),
    "solution": Entry("fit_.draws.solution", (dict,), (int, float)),
    "dims": Entry("fit_.draws.dims", (dict,), (list,)),
    "coords": Entry("fit_.draws.coords", (dict,), (list,)),
    "diagnostics": Entry(lambda est: dict(est.fit_.diagnostics), (dict,), (int, float)),
    "cutoff": Entry(lambda est: float(est.cutoff_), (float,)),
    "level": Entry(lambda est: float(est.fit_.level), (float,), (), 0.0, 1.0),
    "cv": Entry("fit_.cv", (str, int)),
    "failed": Entry(lambda est: getattr(est, "failed_", {}), (dict,), (str,)),
}
TENSORS = {
    "rows": Tensor("fit_.data.rows", "f", "n p"),
    "kind": Tensor("fit_.data.kind", "i", "n", 0, "kinds"),
    "unlabelled": Tensor("gram_.unlabelled", "f", "u p"),
    "left_out": Tensor("fit_.left_out", "f", "n", finite=False),
    "boundary/*": Tensor(lambda est: vars(est.fit_.center.boundary), "f", "cut", finite=False),
    "gram/points": Tensor(_of_landmarks("gram.points"), "f", "M p"),
    "gram/row_of_point": Tensor(_of_landmarks("row_of_point"), "i", "M", -1, "n"),
    "gram/r": Tensor(_of_landmarks("gram.r"), "f", "M"),
    "posterior/w": Tensor(None, "f", "chains draws M"),
    "posterior/squared_norm": Tensor(None, "f", "chains draws"),
    "posterior/squared_radius": Tensor(None, "f", "chains draws", 0),
    "posterior/*": Tensor(_variables, "fiub", "chains draws ...", finite=False),
    "log_prior/*": Tensor(_by_draw("log_prior"), "f", "chains draws", finite=False),
    "sample_stats/*": Tensor(_by_draw("statistics"), "fiub", "chains draws", finite=False),
    "views/*": Tensor(_views, "u", "..."),
    "sha256": Tensor(None, "u", "digest"),
}
NEEDED = ("rows", "kind", "posterior/w", "sha256")
OF_LANDMARKS = ("gram/points", "gram/row_of_point", "gram/r")


def _value(est: Any, of: Place) -> Any:
    return attrgetter(of)(est) if isinstance(of, str) else of and of(est)


def _group(tensors: Group, start: str) -> Group:
    return {name.removeprefix(start): v for name, v in tensors.items() if name.startswith(start)}


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
    content = _content(est)
    with atomic(Path(path)) as temporary:
        temporary.write_bytes(content)


def _content(est: Any) -> bytes:
    header = {name: _value(est, entry.of) for name, entry in HEADER.items()}
    text, tensors = json.dumps(header, default=_plain), {}
    for name, tensor in TENSORS.items():
        found = _value(est, tensor.of)
        for key, values in (found if isinstance(found, dict) else {"": found}).items():
            if values is not None:
                place = name.removesuffix("*") + key
                tensors[place] = _contiguous(place, values)
    tensors["sha256"] = _digest(text, tensors)
    try:
        return safetensors.save(tensors, {"bsvdd": text})
    except SafetensorError as error:
        raise ValueError(
            f"names of rows and columns and parameters take {len(text) / 1e6:.0f} MB, which is too "
            f"much ({error}); fit rows without names, X.reset_index(drop=True)"
        ) from error


def _contiguous(name: str, values: np.ndarray) -> np.ndarray:
    """Return values in C order, which safetensors takes for granted and never checks."""
    if values.dtype.kind not in "fiub":
        raise TypeError(f"{name} cannot be saved: expected numbers, got {values.dtype}")
    return np.ascontiguousarray(values, values.dtype.newbyteorder("<"))


def _plain(value: Any) -> Any:
    if isinstance(value, np.ndarray | np.generic):
        return value.tolist()
    raise TypeError(f"{value!r} cannot be saved; expected numbers and texts")


def _digest(text: str, tensors: Group) -> np.ndarray:
    """Return the SHA-256 of the header and of all other tensors, as bytes."""
    digest = hashlib.sha256(text.encode())
    for name in sorted(set(tensors) - {"sha256"}):
        values = tensors[name]
        digest.update(f"{name} {values.dtype.str} {values.shape}\n".encode())
        digest.update(values.tobytes())
    return np.frombuffer(digest.digest(), np.uint8)


# reading


class Parsed(NamedTuple):
    """A file: its header and tensors, and the files of the views in it."""

    header: dict[str, Any]
    tensors: Group
    views: dict[str, Parsed]


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
        if not stat.S_ISREG(os.stat(path).st_mode):  # reading a pipe would block
            raise ValueError("it is no saved bsvdd estimator, because it is not a file")
        parsed = _parsed(Path(path).read_bytes())  # once: the file may change
        files = [parsed, *parsed.views.values()]
        stored = [parsed.header["parameters"], *(each.header["kernel"] for each in files)]
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
        return _fitted(_unfitted(parsed.header, own_functions), parsed, own_functions)
    except Exception as error:
        raise UnreadableFileError(f"{path} cannot be read: {error}") from error


def _parsed(content: bytes) -> Parsed:
    """Return header and tensors of a file, after checks of its bytes and of the header."""
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
    _check_header(header)
    views = _group(tensors, "views/")
    return Parsed(header, tensors, {name: _parsed(v.tobytes()) for name, v in views.items()})


def _each_once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("a name occurs twice")
    return found


def _check_header(header: dict[str, Any]) -> None:
    """Raise a ValueError unless the header has its keys, types and ranges."""
    if set(header) != set(HEADER):
        differ = ", ".join(sorted(set(header) ^ set(HEADER)))
        raise ValueError(f"header: missing from it, or unknown: {differ:.80}")
    for key, (_, types, types_of_items, low, below) in HEADER.items():
        value = header[key]
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


def _check_tensors(tensors: Group, needed: tuple[str, ...], kinds: int) -> None:
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
        values, symbols = tensors[name], expected.shape.removesuffix("...").split()
        lengths = values.shape[: len(symbols)] if "..." in expected.shape else values.shape
        if (
            values.dtype.kind not in expected.kinds
            or len(lengths) != len(symbols)
            or any(n != sizes.setdefault(s, n) for s, n in zip(symbols, lengths, strict=True))
        ):
            of = expected.shape.split()
            raise ValueError(
                f"{name}: expected values of kind {expected.kinds} and shape "
                f"({', '.join(str(sizes.get(symbol, symbol)) for symbol in of)}), got "
                f"{values.dtype} of shape {values.shape}"
            )
        below = sizes[expected.below] if isinstance(expected.below, str) else expected.below
        right = np.isfinite(values) & (values >= expected.low) & (values < below)
        if expected.finite and not right.all():
            raise ValueError(
                f"{name}: expected finite values from {expected.low} to below {below}, got "
                f"{values[~right][0]}"
            )


def _unfitted(header: dict[str, Any], functions: dict[str, Any]) -> Any:
    """Return the estimator of a header, not fitted."""
    classes = {record.class_name: record for record in ESTIMATORS.values()}
    if header["estimator"] not in classes:
        raise ValueError(f"unknown estimator {header['estimator']!r:.80}")
    cls: Any = classes[header["estimator"]].estimator()
    parameters = {name: decode(v, functions) for name, v in header["parameters"].items()}
    if set(parameters) != set(cls._get_param_names()):  # a default would be a guess
        differ = ", ".join(sorted(set(parameters) ^ set(cls._get_param_names())))
        raise ValueError(f"parameters: missing from it, or unknown to {cls.__name__}: {differ:.80}")
    return cls(**parameters)


def _fitted(est: Any, parsed: Parsed, functions: dict[str, Any]) -> Any:
    """Return the estimator with the fit of a file, after the remaining checks."""
    header, tensors = parsed.header, _with_weights(est, parsed.tensors)
    landmarks = any(name in tensors for name in OF_LANDMARKS)
    needed = NEEDED + OF_LANDMARKS if landmarks else NEEDED
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
    rule = est._dictionary(sys.maxsize if landmarks else 0)
    if rule.points_are_rows == landmarks:
        raise ValueError("gram/r: expected with landmarks, and only then")
    data = _data(header, tensors, kernel, rule)
    draws = _draws(header, tensors)
    est._calibrated_scale = header["calibrated_scale"]
    if parsed.views:
        unfitted, est.failed_ = est._estimators(), header["failed"]
        est.views_ = {
            name: _fitted(each, parsed.views[name], functions)
            for name, each in unfitted.items()
            if name in parsed.views
        }
        est._join(data)
    boundary = Boundary(**_group(tensors, "boundary/"))
    fit = Fit(
        data=data,
        draws=draws,
        center=est._score(draws, data.gram).deciding(boundary),
        diagnostics=header["diagnostics"],
        distance=header["cutoff"],
        level=header["level"],
        left_out=tensors.get("left_out"),
        cv=header["cv"],
        **est._model_of(data),
    )
    return est._set(fit)


def _with_weights(est: Any, tensors: Group) -> Group:
    """Return the tensors with the weights, if they follow from other draws."""
    draws = {
        name: v.astype(float) if v.dtype == np.float32 else v
        for name, v in _group(tensors, "posterior/").items()
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
    header: dict[str, Any], tensors: Group, kernel: kernels.Kernel, rule: Any
) -> TrainingData:
    rows, kind, M = tensors["rows"], tensors["kind"], tensors["posterior/w"].shape[-1]
    minority = kind > 0
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
    if rule.points_are_rows:
        rule.held_rows(minority, 0)  # an error if the kernel matrix is too large
        gram, row_of_point = rule.statistics(kernel, rows, minority)
        if len(row_of_point) != M:
            raise ValueError(f"posterior/w: expected weights of the rows, got {M}")
    else:
        if M > 2 * training.MAX_POINTS:  # landmarks, and as many minority points
            raise ValueError(f"gram/r: expected up to {2 * training.MAX_POINTS} points, got {M}")
        if header["n1"] >= M:
            raise ValueError(f"n1: expected less than {M}, got {header['n1']}")
        sums = Sums(header["n0"], header["T"], tensors["gram/r"])
        gram = Gram.from_sums(kernel, sums, points, header["n1"])
        row_of_point = tensors["gram/row_of_point"]
    rows.setflags(write=False)
    return TrainingData(
        rows=rows,
        gram=replace(gram, unlabelled=tensors.get("unlabelled")),
        row_of_point=row_of_point,
        dictionary=rule,
        seed=header["seed"],
        all_rows=header["all_rows"],
        label=header["label"],
        labels=tuple(header["labels"]),
        kind=kind,
        kind_labels=tuple(header["kind_labels"]),
        names=names,
        dates=dates,
    )


def _draws(header: dict[str, Any], tensors: Group) -> Draws:
    draws = Draws(
        _group(tensors, "posterior/"),
        SamplerReport(**header["report"]),
        _group(tensors, "log_prior/"),
        _group(tensors, "sample_stats/"),
        {name: tuple(dims) for name, dims in header["dims"].items()},
        header["coords"],
        header["solution"],
    )
    if not draws.w.size:
        raise ValueError("posterior/w: expected at least one draw of one weight")
    if not np.isfinite(list(draws.solution.values())).all():
        raise ValueError(f"solution: expected finite numbers, got {draws.solution}")
    draws.check()
    return draws
